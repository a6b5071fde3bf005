"""Orders of system calls that programs use to save: what is committed, when, and what the file shows on the way."""
import ctypes
import errno
import mmap
import os
import time

import lib
from lib import LIBC, read, wait_for
from fresh import NEW, OLD, PMO, YAML, Saved, edit_bytes, offset

FALLOC_FL_KEEP_SIZE = 1
GONE = 5                                           # seconds that a view which was taken away is absent at most


def failure(function, *args):
    """Name of the errno a call fails with; 'ok'."""
    try:
        function(*args)
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]


def original(t, name=YAML):
    return read(t.tree, name)


def edited(t):
    return original(t).replace(OLD.encode(), NEW.encode())


class Sequence(Saved):
    """Ends with a check of the bytes that changed, if want says which, and of the names that the log calls lost."""

    def __init__(self, t, what, want, lost=()):
        super().__init__(t)
        self.what, self.want, self.gone = what, want, sorted(lost)

    def __exit__(self, kind, value, trace):
        super().__exit__(kind, value, trace)
        if not kind and self.want is not None:
            self.bytes_are(self.what, self.want)
        if not kind:
            self.t.same(self.lost(), self.gone, self.what + ': what the log says is gone')

    def now(self):
        """Whether the archive differs from what it was."""
        return read(self.archive) != self.before


def nothing_written(t):
    with Sequence(t, 'nothing written', {}) as m:
        names = m.list()
        for what, flags in (('read and write', os.O_RDWR), ('truncated', os.O_WRONLY | os.O_TRUNC),
                            ('append', os.O_WRONLY | os.O_APPEND)):
            fd = os.open(m.path(), flags)
            t.same(failure(os.fsync, fd), 'ok', f'opened, {what}: fsync')
            t.same(os.fstat(fd).st_size, 0 if flags & os.O_TRUNC else len(original(t)), f'opened, {what}: size')
            t.same(failure(os.close, fd), 'ok', f'opened, {what}: close')
            t.same(read(m.path()), original(t), f'opened, {what}: the text shows again')
        with open(m.path(), 'r+') as f:
            f.truncate(7)
            t.same(read(m.path()), original(t)[:7], 'truncated while open: who reads sees it')
        t.same(read(m.path()), original(t), 'truncated, nothing written: the text shows again')
        os.truncate(m.path(), 0)
        t.same((read(m.path()), os.stat(m.path()).st_size), (original(t), len(original(t))),
               'truncate by path is no edit')
        t.same(m.list(), names, 'no names come or go')


def flushes(t):
    with Sequence(t, 'flush before the write', edit_bytes(t)) as m:
        fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
        os.close(os.dup(fd))
        t.ok(not m.now(), 'flush before the write: nothing yet')
        os.write(fd, edited(t))
        t.ok(not m.now(), 'written: nothing yet')
        os.close(os.dup(fd))
        t.ok(m.now(), 'a duplicate closed: saved')
        t.same(failure(os.close, fd), 'ok', 'close')
    with Sequence(t, 'half a text', edit_bytes(t)) as m:
        fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, edited(t)[:60])
        t.same(failure(os.close, os.dup(fd)), 'EINVAL', 'half a text: the flush says so')
        t.ok(m.errors().startswith('materials.yaml: line '), 'half a text: errors.txt', m.errors())
        t.same(read(m.path(YAML + '.rejected')), edited(t)[:60], 'half a text: is kept')
        os.write(fd, edited(t)[60:])
        t.same(failure(os.close, fd), 'ok', 'the other half: close')
        t.same((m.errors(), m.path(YAML + '.rejected') in m.list()), ('', False), 'the other half: all is well')
    with Sequence(t, 'a half that is a text', edit_bytes(t)) as m:
        fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b'- colour: [9, 8, 7, 6]\n')
        t.same(failure(os.fsync, fd), 'ok', 'a half that is a text: fsync')
        t.ok(m.now(), 'a half that is a text: saved')
        os.write(fd, b'  ambient: [5, 127, 127, 64]\n')
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b'- leftover: 0x00000000')            # as long: what stood here is as if it had never been
        t.same(failure(os.close, fd), 'ok', 'a half that is a text: close')
    with Sequence(t, 'two who write', edit_bytes(t)) as m:
        a, b = os.open(m.path(), os.O_WRONLY | os.O_TRUNC), os.open(m.path(), os.O_RDWR)
        os.write(a, edited(t)[:60])
        os.pwrite(b, edited(t)[60:], 60)
        t.same(failure(os.close, b), 'ok', 'two who write: one closes')
        t.ok(m.now(), 'two who write: saved')
        t.same(read(m.path()), edited(t), 'two who write: the text')
        t.same(failure(os.close, a), 'ok', 'two who write: the other closes')


def errors_stay(t):
    """fsync and every close after it give the error again, until something is written."""
    with Sequence(t, 'an error stands', {}) as m:
        fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, b'- colour: [256, 0, 0, 0]\n')
        again = [failure(os.fsync, fd), failure(os.fsync, fd), failure(os.close, os.dup(fd)), failure(os.close, fd)]
        t.same(again, ['EINVAL'] * 4, 'an error stands: fsync, fsync, close, close')
        t.same(read(m.path()), original(t), 'an error stands: the file shows the archive again')


def taken_away(t):
    for what, away in (('renamed away', lambda m: os.rename(m.path(), m.path() + '~')),
                       ('removed', lambda m: os.unlink(m.path()))):
        left = ['materials.yaml~'] if what == 'renamed away' else []
        with Sequence(t, what + ', made anew', edit_bytes(t), left) as m:
            names = m.list()
            away(m)
            t.same(failure(os.stat, m.path()), 'ENOENT', f'{what}: absent')
            t.same(sorted(set(names) ^ set(m.list())), sorted(['materials.yaml'] + left), f'{what}: listed')
            with open(m.path(), 'xb') as f:
                f.write(edited(t))
                t.same(os.fstat(f.fileno()).st_size, 0, f'{what}: made anew, and empty')
            t.same(read(m.path()), edited(t), f'{what}: made anew')
            t.ok(m.now(), f'{what}: saved at close')
            for n in left:
                t.same(read(m.path(PMO), n), original(t), f'{what}: the backup shows the old text')
        with Sequence(t, what + ', and then nothing', {}, left) as m:
            away(m)
            since = time.monotonic()
            t.same(failure(os.stat, m.path()), 'ENOENT', f'{what}, and then nothing: absent')
            wait_for(lambda: os.path.exists(m.path()), 2 * GONE)
            took = time.monotonic() - since
            t.ok(took <= GONE + 1, f'{what}, and then nothing: there again', f'after {took:.1f} s')
            t.same(read(m.path()), original(t), f'{what}, and then nothing: the old text')
        with Sequence(t, what + ', made anew, closed empty', {}, left) as m:
            away(m)
            open(m.path(), 'x').close()
            t.same(read(m.path()), original(t), f'{what}, made anew, closed empty: the old text')
        with Sequence(t, what + ', something else put there', edit_bytes(t), left) as m:
            away(m)
            with open(m.path(PMO + '/new.tmp'), 'wb') as f:
                f.write(edited(t))
            os.rename(m.path(PMO + '/new.tmp'), m.path())
            t.same(read(m.path()), edited(t), f'{what}, another renamed there: the text')
    with Sequence(t, 'read while away', {}) as m:
        with open(m.path(), 'rb') as f:
            os.unlink(m.path())
            t.same(f.read(), original(t), 'removed while open: it reads on')
    with Sequence(t, 'back again', {}) as m:
        os.rename(m.path(), m.path() + '.old')
        os.rename(m.path() + '.old', m.path())
        t.same(read(m.path()), original(t), 'renamed away and back')


def renamed_over(t):
    with Sequence(t, 'renamed over', edit_bytes(t)) as m:
        with open(m.path(PMO + '/new.tmp'), 'w+b') as f:
            f.write(edited(t))
            f.flush()
            t.ok(not m.now(), 'renamed over: not before')
            os.rename(m.path(PMO + '/new.tmp'), m.path())
            t.ok(m.now(), 'renamed over: saved at once')
            t.same(os.fstat(f.fileno()).st_size, len(edited(t)), 'renamed over: its descriptor is the view')
            f.seek(0)
            t.same(f.read(), edited(t), 'renamed over: and reads it')
            os.posix_fallocate(f.fileno(), 0, 100)
            t.same(os.fstat(f.fileno()).st_size, len(edited(t)), 'renamed over: it has room already')
    at = original(t).index(b'ambient') + 10
    with Sequence(t, 'written after being renamed over', edit_bytes(t, at0=105)) as m:
        fd = os.open(m.path(PMO + '/new.tmp'), os.O_RDWR | os.O_CREAT)
        os.write(fd, original(t))
        os.rename(m.path(PMO + '/new.tmp'), m.path())
        os.pwrite(fd, b'105', at)
        t.same(failure(os.close, fd), 'ok', 'written after being renamed over: close')
    for what, first, want in (('saved before', os.fsync, edit_bytes(t)), ('not saved yet', lambda fd: None, {})):
        what = f'renamed over what another writes, {what}'
        with Sequence(t, what, want) as m:
            fd = os.open(m.path(), os.O_RDWR)
            os.pwrite(fd, original(t), 0)
            first(fd)
            with open(m.path(PMO + '/new.tmp'), 'wb') as f:
                f.write(edited(t))
            os.rename(m.path(PMO + '/new.tmp'), m.path())
            t.ok(m.now(), f'{what}: saved at once')
            if want:
                t.same(read(m.path()), edited(t), f'{what}: the text')
            t.same(failure(os.close, fd), 'ok', f'{what}: the other closes')
            t.same(read(m.path()), edited(t) if want else original(t), f'{what}: who saves last')
    with Sequence(t, 'a model replaced by a smaller one', None) as m:
        whole = '00012.pac/00.pmo/raw/whole.pmo'
        fd = os.open(m.path(os.path.dirname(whole) + '/new.tmp'), os.O_RDWR | os.O_CREAT)
        os.write(fd, read(t.tree, PMO + '/raw/whole.pmo'))
        gone = os.open(m.path('00012.pac/00.pmo/meshes/1.yaml'), os.O_RDONLY)
        os.rename(m.path(os.path.dirname(whole) + '/new.tmp'), m.path(whole))
        t.same(os.pread(fd, 640, 0), read(t.tree, PMO + '/raw/whole.pmo'), 'a smaller model: its descriptor')
        t.same((os.fstat(fd).st_size, os.stat(m.path(whole)).st_size), (640, 640), 'a smaller model: its size')
        t.same(failure(os.stat, m.path('00012.pac/00.pmo/meshes/1.yaml')), 'ENOENT', 'a smaller model: mesh 1 is gone')
        t.same(failure(os.pread, gone, 9, 0), 'ESTALE', 'a smaller model: what was open of mesh 1')
        t.same(read(m.path('00012.pac/00.pmo/meshes/0.obj')), original(t, PMO + '/meshes/0.obj'), 'mesh 0 is another')
        os.close(gone)
        os.close(fd)
    with Sequence(t, 'renamed over, refused', {}, ['new.tmp']) as m:
        with open(m.path(PMO + '/new.tmp'), 'wb') as f:
            f.write(b'- colour: red\n')
        t.same(failure(os.rename, m.path(PMO + '/new.tmp'), m.path()), 'EINVAL', 'renamed over, refused')
        t.same(read(m.path(PMO), 'new.tmp'), b'- colour: red\n', 'renamed over, refused: the file stays')
        t.ok('materials.yaml: line 1' in m.errors(), 'renamed over, refused: errors.txt', m.errors())


def mapped(t):
    at = original(t).index(b'ambient') + 10
    want = edit_bytes(t, at0=105)

    def change(m):
        fd = os.open(m.path(), os.O_RDWR)
        view = mmap.mmap(fd, 0, mmap.MAP_SHARED)
        return fd, view
    with Sequence(t, 'mapped, msync', want) as m:
        fd, view = change(m)
        view[at:at + 3] = b'105'
        t.ok(not m.now(), 'mapped: not before')
        view.flush()
        t.ok(m.now(), 'mapped: saved at msync')
        view.close()
        os.close(fd)
        t.ok(b'[105, 127' in read(m.path()), 'mapped: the text')
    with Sequence(t, 'mapped, close', want) as m:
        fd, view = change(m)
        view[at:at + 3] = b'105'
        view.close()
        os.close(fd)
        t.ok(wait_for(m.now), 'mapped: saved at close')
    with Sequence(t, 'mapped, closed, changed, unmapped', want) as m:
        fd, view = change(m)
        # Python's mmap keeps a descriptor of its own; this is the plain one, so that the map is all that is left.
        LIBC.mmap.restype, LIBC.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                                                                  ctypes.c_int, ctypes.c_int, ctypes.c_long]
        LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        view.close()
        p = LIBC.mmap(None, len(original(t)), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
        os.close(fd)
        ctypes.memmove(p + at, b'105', 3)
        t.ok(not m.now(), 'mapped, closed: not before')
        LIBC.munmap(p, len(original(t)))
        t.ok(wait_for(m.now), 'mapped, closed, changed: saved when the map goes')
    with Sequence(t, 'mapped, refused', {}) as m:
        fd, view = change(m)
        view[at:at + 3] = b'999'
        t.same(failure(view.flush), 'EINVAL', 'mapped, refused: msync')
        view.close()
        failure(os.close, fd)
        t.ok(wait_for(lambda: '999' in m.errors()), 'mapped, refused: errors.txt', m.errors())


def attributes_after(t):
    with Sequence(t, 'attributes after writing', edit_bytes(t)) as m:
        old = os.stat(m.path())
        fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, edited(t))
        os.fchmod(fd, 0o600)
        os.fchown(fd, old.st_uid, old.st_gid)
        os.utime(fd, (1000, 2000))
        t.same(failure(os.close, fd), 'ok', 'attributes after writing: close')
        os.chmod(m.path(), 0o640)
        os.utime(m.path(), (1000, 2000))
        new = os.stat(m.path())
        t.same((new.st_mode, new.st_uid), (old.st_mode, old.st_uid), 'mode and owner stay')
        t.ok(new.st_mtime_ns > old.st_mtime_ns, 'the time is that of the edit', (old.st_mtime_ns, new.st_mtime_ns))
    with Sequence(t, 'room asked for', edit_bytes(t)) as m:
        fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
        t.same(LIBC.fallocate(fd, FALLOC_FL_KEEP_SIZE, ctypes.c_long(0), ctypes.c_long(4096)), 0, 'room kept free')
        t.same(os.fstat(fd).st_size, 0, 'room kept free: the size stays')
        os.posix_fallocate(fd, 0, 4096)
        t.same(os.fstat(fd).st_size, 4096, 'room asked for: the size follows')
        os.write(fd, edited(t))
        os.ftruncate(fd, len(edited(t)))
        t.same(failure(os.close, fd), 'ok', 'room asked for: close')
    with Sequence(t, 'only room', {}) as m:
        fd = os.open(m.path(), os.O_WRONLY)
        os.posix_fallocate(fd, 0, 4096)
        os.close(fd)
        t.same(read(m.path()), original(t), 'only room, nothing written: no edit')


SCRATCH = ('.materials.yaml.swp', 'materials.yaml~', '4913', '#materials.yaml#', '.#materials.yaml', 'tmpab12cd',
           'materials.yaml.bak', 'materials.yaml.new', '.~lock.materials.yaml#', 'materials.yaml.lock', '.0.png.swp',
           'sedAb3xYz', '.materials.yaml.Ab3xYz', '.goutputstream-AB12CD', '.hidden', 'materials.yaml.orig', 'no ext')


def scratch(t):
    with Sequence(t, 'scratch files', {}, [n for n in SCRATCH] + [n for n in SCRATCH if n != '4913'] + ['moved']) as m:
        bad = []
        for folder in (PMO, PMO + '/meshes'):
            for n in SCRATCH:
                p, text = m.path(os.path.join(folder, n)), f'{folder} {n}'.encode()
                try:
                    with open(p, 'xb') as f:
                        f.write(text)
                    os.chmod(p, 0o600)
                    os.utime(p, (1000, 2000))
                except OSError as e:
                    bad.append(f'{n}: {e}')
                    continue
                st = os.stat(p)
                bad += lib.unless(read(p) == text and st.st_size == len(text) and st.st_mode & 0o7777 == 0o600
                                  and st.st_mtime == 2000, f'{n}: {st}, {read(p)}')
        t.none(bad, f'{len(SCRATCH)} names of programs, in two directories')
        old = sorted(os.listdir(os.path.join(t.tree, PMO)))
        names = [n for n, _, _, _ in lib.entries(m.path(PMO))]
        t.same((sorted(names[:len(old)]), sorted(names[len(old):])), (old, sorted(SCRATCH)), 'they are listed last')
        t.same(failure(os.open, m.path(PMO + '/4913'), os.O_CREAT | os.O_EXCL | os.O_WRONLY), 'EEXIST', 'O_EXCL')
        os.rename(m.path(PMO + '/4913'), m.path(PMO + '/meshes/moved'))
        t.same(read(m.path(PMO + '/meshes/moved')), f'{PMO} 4913'.encode(), 'renamed to another directory')
        t.same(failure(os.stat, m.path(PMO + '/4913')), 'ENOENT', 'renamed to another directory: not here any more')
        with open(m.path(PMO + '/open'), 'w+b') as f:
            f.write(b'abc')
            f.flush()
            os.unlink(m.path(PMO + '/open'))
            f.write(b'def')
            f.seek(0)
            t.same((f.read(), os.fstat(f.fileno()).st_size), (b'abcdef', 6), 'removed while open: it lasts')
            t.same(failure(os.stat, m.path(PMO + '/open')), 'ENOENT', 'removed while open: not there')
            with open(m.path(PMO + '/open'), 'xb') as g:
                g.write(b'other')
            f.seek(0)
            t.same((f.read(), read(m.path(PMO + '/open'))), (b'abcdef', b'other'), 'another one under its name')
            os.unlink(m.path(PMO + '/open'))
        with open(m.path(PMO + '/large'), 'w+b') as f:      # past what is held in memory
            f.truncate(40 << 20)
            for i in range(0, 40, 2):
                f.seek(i << 20)
                f.write(bytes([i]) * 70000)
            bad = []
            for i in range(0, 40, 2):
                f.seek(i << 20)
                got = f.read(1 << 20)
                bad += lib.unless(got == bytes([i]) * 70000 + bytes((1 << 20) - 70000), i)
            t.none(bad, 'a large one')
        os.unlink(m.path(PMO + '/large'))
    m = Sequence(t, 'scratch files, the next mount', {})
    with m:
        t.same(m.list(), sorted(os.listdir(os.path.join(t.tree, PMO))), 'the next mount has none of them')


def others_see(t):
    """Another name of the same bytes shows an edit when it is saved, and not before."""
    with Sequence(t, 'others see', edit_bytes(t)) as m:
        raw = PMO + '/raw/materials.bin'
        at = offset(t, 'materials.bin')
        with open(m.path(raw), 'rb', buffering=0) as other, open(m.path(), 'wb') as f:
            was = other.read()
            f.write(edited(t))
            f.flush()
            other.seek(0)
            t.same((other.read(), read(m.path())), (was, edited(t)), 'written: the file itself shows it')
            os.fsync(f.fileno())
            other.seek(0)
            want = was[:4] + bytes([5, 127, 127, 64]) + was[8:]
            t.same((other.read(), read(m.path(raw))), (want, want), f'saved: {at} shows it')


if __name__ == '__main__':
    lib.main(nothing_written, flushes, errors_stay, taken_away, renamed_over, mapped, attributes_after, scratch,
             others_see, needs_fuse=True)
