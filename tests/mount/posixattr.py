"""Cases of posix.py: modes, owners, times."""
import ctypes
import errno
import os
import time

from both import AT_FDCWD, KINDS, OTHER, OWNER, ROOT, as_root, case, libc

# ---------------------------------------------------------------- modes and owners

@case
def chmod_every_kind(s):
    s.make('file', 'target')
    for kind in KINDS:
        s.make(kind, 'x')
        for mode in (0, 0o111, 0o644, 0o777, 0o1777, 0o2755, 0o4711, 0o7777, 0o600):
            s.call(f'chmod {mode:o} of a {kind}', os.chmod, 'x', mode)
            s.stat(f'a {kind} after chmod {mode:o}', 'x')
        s.moved(f'chmod of a {kind}', 'target' if kind == 'link' else 'x', os.chmod, 'x', 0o755)
        s.remove('x')
    s.call('chmod of nothing', os.chmod, 'nothing', 0o600)
    s.call('chmod with a slash', os.chmod, 'target/', 0o600)
    fd = s.open('open', 'target', os.O_RDONLY)
    s.call('fchmod', os.fchmod, fd, 0o4750)
    s.call('fstat', os.fstat, fd)
    s.stat('by its name', 'target')
    path = s.open('open O_PATH', 'target', os.O_PATH)
    s.call('fchmod of O_PATH', os.fchmod, path, 0o600)
    s.call('chmod of O_PATH by /proc', os.chmod, f'/proc/self/fd/{path}', 0o640)


@as_root
def chmod_as_others(s):
    os.chmod('.', 0o777)
    for kind in ('file', 'folder', 'fifo'):
        for owner, group, groups in ((OWNER, OWNER, [OWNER]), (OWNER, OTHER, [OWNER]), (OWNER, OTHER, [OWNER, OTHER]),
                                     (0, OWNER, [OWNER]), (OTHER, OTHER, [OWNER])):
            s.make(kind, 'x')
            os.chown('x', owner, group)
            for mode in (0o600, 0o2755, 0o4755, 0o1777, 0o6777):
                what = f'{kind} of {owner}:{group}, chmod {mode:o} in groups {groups}'
                s.as_user(what, os.chmod, 'x', mode, groups=groups)
                s.stat(what + ': then', 'x')
            s.remove('x')


@as_root
def bits_that_a_write_clears(s):
    def through(what, f):
        def calls(s):
            fd = s.open('open', 'x', os.O_WRONLY)
            if fd is not None:
                s.call(what, f, fd)
                s.call('fstat', os.fstat, fd)
        return calls
    changes = {
        'write': through('write', lambda fd: os.write(fd, b'x')), 'writing nothing': through('write',
                                                                                             lambda fd: os.write(fd,
                                                                                                                 b'')),
        'ftruncate': through('ftruncate', lambda fd: os.ftruncate(fd, 4)),
        'fallocate': through('fallocate', lambda fd: os.posix_fallocate(fd, 0, 99)),
        'truncate': lambda s: s.call('truncate', os.truncate, 'x', 1),
        'open with O_TRUNC': lambda s: s.open('open', 'x', os.O_WRONLY | os.O_TRUNC),
        'chown to nobody else': lambda s: s.call('chown', os.chown, 'x', -1, -1),
        'chown to itself': lambda s: s.call('chown', os.chown, 'x', os.stat('x').st_uid, os.stat('x').st_gid),
    }
    for mode in (0o4777, 0o2777, 0o6777, 0o2767, 0o6755, 0o1777):
        for what, f in changes.items():
            for uid in (None, OWNER, OTHER):
                s.make('file', 'x')
                os.chown('x', OWNER, OWNER)
                os.chmod('x', mode)
                words = f'{what} by {uid or "root"} of {mode:o}'
                if uid:
                    s.user(words, f, uid=uid)
                else:
                    f(s)
                s.stat(words + ': then', 'x')
                s.close_all()
                s.remove('x')


@as_root
def chown_every_kind(s):
    s.make('file', 'target')
    for kind in KINDS:
        for uid, gid in ((OWNER, OTHER), (-1, OTHER), (OWNER, -1), (-1, -1), (0, 0)):
            s.make(kind, 'x')
            if 'link' not in kind:
                os.chmod('x', 0o6775)
            s.call(f'chown {uid}:{gid} of a {kind}', os.chown, 'x', uid, gid)
            s.stat(f'a {kind} after chown {uid}:{gid}', 'x')
            s.call(f'lchown {uid}:{gid} of a {kind}', os.lchown, 'x', uid, gid)
            s.stat(f'a {kind} after lchown {uid}:{gid}', 'x')
            s.moved(f'chown {uid}:{gid} of a {kind}', 'x', os.lchown, 'x', uid, gid)
            s.remove('x')
    s.stat('what the link leads to', 'target')
    for owner, groups in ((OWNER, [OWNER]), (OWNER, [OWNER, OTHER]), (0, [OWNER, OTHER])):
        for uid, gid in ((-1, OTHER), (-1, OWNER), (OTHER, -1), (OWNER, OWNER), (-1, 0), (-1, -1)):
            for mode in (0o755, 0o6755, 0o2765):
                s.make('file', 'x')
                os.chown('x', owner, owner)
                os.chmod('x', mode)
                what = f'of {owner}, mode {mode:o}: chown {uid}:{gid} by {OWNER} in {groups}'
                s.as_user(what, os.chown, 'x', uid, gid, groups=groups)
                s.stat(what + ': then', 'x')
                s.remove('x')


# ---------------------------------------------------------------- times

NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2


def utimens(path, at, mt, flags=0):
    times = (ctypes.c_long * 4)(*at, *mt)
    return libc('utimensat', AT_FDCWD, path, times, flags)


def times_of(s, what, path, floor=0):
    """Both times; those set to now are told as such."""
    st = os.lstat(path)
    s.note(what, ['now' if abs(time.time_ns() - t) < 100e9 else t for t in (st.st_atime_ns, st.st_mtime_ns)])


@case
def times_that_are_set(s):
    s.make('file', 'target')
    for kind in KINDS:
        s.make(kind, 'x')
        for at, mt in (((1, 0), (2, 0)), ((10**9, 123456789), (10**9, 987654321)), ((0, OMIT), (5, 5)),
                       ((5, 6), (0, OMIT)),
                       ((0, NOW), (7, 7)), ((7, 8), (0, NOW)), ((0, NOW), (0, NOW)), ((0, OMIT), (0, OMIT)),
                       ((-5, 1), (-9, 999999999)),
                       ((1 << 31, 1), (1 << 32, 2)), ((3, 1000000000), (3, 0)), ((3, -1), (3, 0))):
            what = f'times {at}, {mt} of a {kind}'
            s.call(what, utimens, 'x', at, mt, 0x100)
            times_of(s, what + ': then', 'x')
        s.call(f'times of a {kind}, followed', utimens, 'x', (77, 7), (88, 8))
        times_of(s, f'times of a {kind}, followed: then', 'x')
        s.moved(f'utimensat of a {kind}', 'x', utimens, 'x', (5, 5), (6, 6), 0x100)
        s.moved(f'utimensat with UTIME_OMIT of a {kind}', 'x', utimens, 'x', (0, OMIT), (0, OMIT), 0x100)
        s.remove('x')
    times_of(s, 'what the link leads to', 'target')
    fd = s.open('open', 'target', os.O_RDONLY)
    s.call('futimens', os.utime, fd, ns=(123456789123456789, 234567890234567890))
    times_of(s, 'futimens: then', 'target')
    for t in (1 << 33, 1 << 34, -(1 << 31), -(1 << 33), 1 << 40):
        s.call(f'time {t}', os.utime, 'target', (t, t))
        times_of(s, f'time {t}: then', 'target')
    s.call('nothing', os.utime, 'nothing')


@as_root
def times_as_others(s):
    for owner, mode in ((0, 0o644), (0, 0o666), (OWNER, 0o444), (OWNER, 0o000), (OTHER, 0o662)):
        s.make('file', 'x')
        os.chown('x', owner, owner)
        os.chmod('x', mode)
        for at, mt in (((1, 0), (2, 0)), ((0, NOW), (0, NOW)), ((0, OMIT), (0, NOW)), ((0, OMIT), (0, OMIT)),
                       ((0, NOW), (5, 0))):
            s.as_user(f'of {owner}, mode {mode:o}: times {at}, {mt} by {OWNER}', utimens, 'x', at, mt)
        s.remove('x')


@case
def times_that_move(s):
    s.make('file', 'x')
    fd = s.open('open', 'x', os.O_RDWR)
    for what, f in (('write', lambda: os.pwrite(fd, b'abc', 3)), ('write of nothing', lambda: os.pwrite(fd, b'', 3)),
                    ('ftruncate longer', lambda: os.ftruncate(fd, 50)), ('ftruncate shorter',
                                                                         lambda: os.ftruncate(fd, 5)),
                    ('ftruncate to its size', lambda: os.ftruncate(fd, 5)),
                    ('truncate to its size', lambda: os.truncate('x', 5)),
                    ('open with O_TRUNC', lambda: os.close(os.open('x', os.O_WRONLY | os.O_TRUNC))),
                    ('open with O_TRUNC of an empty one', lambda: os.close(os.open('x', os.O_WRONLY | os.O_TRUNC))),
                    ('open', lambda: os.close(os.open('x', os.O_RDWR))), ('read', lambda: os.pread(fd, 10, 0)),
                    ('fsync', lambda: os.fsync(fd)), ('fallocate', lambda: os.posix_fallocate(fd, 0, 100)),
                    ('chmod', lambda: os.chmod('x', 0o600)), ('rename', lambda: os.rename('x', 'y'))):
        s.moved(what, fd, f)
    times = os.fstat(fd)
    s.close(fd)
    s.order('close', times, os.lstat('y'))
    before = os.lstat('.').st_mtime_ns
    s.note('clock', abs(time.time_ns() - before) < 60e9)


@case
def a_time_that_was_set_stays(s):
    """What cp -p and tar do: write, set the times, close."""
    fd = s.open('create', 'x', os.O_CREAT | os.O_WRONLY)
    s.call('write', os.write, fd, b'x' * 100000)
    s.call('futimens', os.utime, fd, (1000, 2000))
    times_of(s, 'before close', 'x')
    s.close(fd)
    times_of(s, 'after close', 'x')
    fd = s.open('open', 'x', os.O_RDWR)
    s.call('write', os.pwrite, fd, b'y', 5)
    s.call('utimes by its name', os.utime, 'x', (3000, 4000))
    s.call('fsync', os.fsync, fd)
    s.close(fd)
    times_of(s, 'after fsync and close', 'x')
    errno_of = s.call('fchmod then read', lambda: (os.chmod('x', 0), os.lstat('x').st_mode & 0o777)[1])
    s.note('mode', errno_of in (0, errno.EACCES) and ROOT or errno_of)
