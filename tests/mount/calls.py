"""docs/calls.md: each line of its tables is a call that is made here, with the answer that it says."""
import array
import ctypes
import errno
import fcntl
import mmap
import os
import re
import socket
import stat
import struct
import subprocess
import sys
import time

import lib
from lib import LIBC, read
from fresh import NEW, OLD, PAC, PMO, YAML, Saved, edit_bytes

CALLS = {}
MESHES = PMO + '/meshes/'
MTL = MESHES + '0.mtl'
WRITE = os.O_WRONLY | os.O_CREAT
AT_FDCWD, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT = -100, 1, 2, 4
FICLONE, FS_IOC_GETFLAGS = 0x40049409, 0x80086601
SIZE_MOST = 1 << 40


def call(f):
    """The function of a line: its name is the id. It gives nothing, or raises OSError."""
    CALLS[f.__name__.strip('_').replace('_', '-')] = f
    return f


def check(good, why):
    if not good:
        raise AssertionError(why)


def libc(name, *args):
    if getattr(LIBC, name)(*args) < 0:
        n = ctypes.get_errno()
        raise OSError(n, os.strerror(n))


def create(path, text=b'text', flags=WRITE):
    fd = os.open(path, flags, 0o644)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def scratch(m, name='some.tmp', text=b'text'):
    path = m.path(f'{PMO}/{name}')
    create(path, text)
    return path


def save(path, text, flags=os.O_WRONLY | os.O_TRUNC):
    create(path, text, flags)


def original(m, name=YAML):
    return read(m.t.tree, name)


def edited(m):
    return original(m).replace(OLD.encode(), NEW.encode())


def is_scratch(m, path):
    check(read(path) == b'text' and os.path.basename(path) in os.listdir(os.path.dirname(path)), path)


# ---------------------------------------------------------------- names

@call
def create_view(m):
    for name in ('foo.yaml', '9.obj', 'X.PNG', 'new.pac', 'new.tmh', 'a.mtl', 'a.glb', 'a.bin'):
        for folder in (PMO, PMO + '/meshes', PAC, ''):
            try:
                create(m.path(os.path.join(folder, name)))
                raise AssertionError(f'{folder}/{name} could be created')
            except OSError as e:
                check(e.errno == errno.EPERM, e)
    check(not any(n in os.listdir(m.path(PMO)) for n in ('foo.yaml', '9.obj')), 'they are there')
    raise OSError(errno.EPERM, '')


@call
def create_scratch(m):
    for name in ('4913', 'some.tmp', 'materials.yaml.bak', 'noext'):
        is_scratch(m, scratch(m, name))


@call
def create_temporary(m):
    for name in ('.materials.yaml', '#materials.yaml#', '~materials.yaml', 'materials.yaml~', '.x.obj', '.#0.png'):
        is_scratch(m, scratch(m, name))


@call
def create_root(m):
    for folder in ('', PAC):
        create(m.path(os.path.join(folder, 'some.tmp')))
        is_scratch(m, m.path(os.path.join(folder, 'some.tmp')))


@call
def create_there(m):
    os.close(os.open(scratch(m), os.O_RDONLY))
    for path in (m.path(), m.path(MTL), m.path(PMO + '/some.tmp')):
        try:
            os.close(os.open(path, WRITE | os.O_EXCL))
            raise AssertionError(path)
        except FileExistsError:
            pass
    raise OSError(errno.EEXIST, '')


@call
def create_long(m):
    create(m.path(PMO + '/' + 'x' * 251 + '.tmp'))
    create(m.path(PMO + '/' + 'x' * 252 + '.tmp'))


@call
def create_in_file(m):
    create(m.path(YAML + '/x'))


@call
def tmpfile(m):
    os.close(os.open(m.path(PMO), os.O_TMPFILE | os.O_RDWR, 0o600))


@call
def mkdir(m):
    os.mkdir(m.path(PMO + '/new'))


@call
def symlink(m):
    os.symlink('materials.yaml', m.path(PMO + '/.#materials.yaml'))


@call
def link_view(m):
    os.link(m.path(), m.path(YAML + '~'))


@call
def link_scratch(m):
    path = scratch(m)
    os.link(path, path + '2')


@call
def mknod_file(m):
    path = m.path(PMO + '/made.tmp')
    os.mknod(path, stat.S_IFREG | 0o600)
    check(os.stat(path).st_mode == stat.S_IFREG | 0o600 and not os.stat(path).st_size, os.stat(path))
    save(path, b'text')
    is_scratch(m, path)


@call
def mknod_view(m):
    os.mknod(m.path(PMO + '/made.yaml'), stat.S_IFREG | 0o600)


@call
def mkfifo(m):
    os.mkfifo(m.path(PMO + '/pipe'))


@call
def mknod_device(m):
    os.mknod(m.path(PMO + '/null'), stat.S_IFCHR | 0o600, os.makedev(1, 3))


@call
def bind(m):
    old = os.getcwd()
    os.chdir(m.path(PMO))                          # the path would be too long for a socket's
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.bind('sock')
    finally:
        os.chdir(old)


@call
def readlink(m):
    os.readlink(m.path())


# ---------------------------------------------------------------- removing

@call
def unlink_view(m):
    os.unlink(m.path())
    check(not os.path.exists(m.path()) and 'materials.yaml' not in os.listdir(m.path(PMO)), 'it is there')
    since = time.monotonic()
    lib.wait_for(lambda: os.path.exists(m.path()))
    check(time.monotonic() - since < 6, 'absent for too long')
    check(read(m.path()) == original(m), 'another text')


@call
def unlink_readonly(m):
    os.unlink(m.path(MTL))


@call
def unlink_dir(m):
    os.unlink(m.path(PMO))


@call
def unlink_scratch(m):
    path = scratch(m)
    with open(path, 'rb') as f:
        os.unlink(path)
        check(f.read() == b'text' and not os.path.exists(path), 'still there')


@call
def rmdir(m):
    os.rmdir(m.path(PMO + '/meshes'))


@call
def rmdir_file(m):
    os.rmdir(m.path())


# ---------------------------------------------------------------- renaming

def renameat2(old, new, flags):
    libc('renameat2', AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags)


@call
def rename_scratch(m):
    for to in (PMO + '/other', MESHES + 'other', 'other'):
        os.rename(scratch(m), m.path(to))
        is_scratch(m, m.path(to))
        check(not os.path.exists(m.path(PMO + '/some.tmp')), 'still there')


@call
def rename_save(m):
    path = scratch(m, text=edited(m))
    with open(path, 'rb') as f:
        os.rename(path, m.path())
        check(read(m.path()) == f.read() == edited(m), 'another text')
        check(os.fstat(f.fileno()).st_size == len(edited(m)) and not os.path.exists(path), 'the scratch file')
    m.want = edit_bytes(m.t)


@call
def rename_refused(m):
    path = scratch(m)
    try:
        os.rename(path, m.path())
    finally:
        is_scratch(m, path)


@call
def rename_away(m):
    os.rename(m.path(), m.path(YAML + '.bak'))
    check(not os.path.exists(m.path()) and read(m.path(YAML + '.bak')) == original(m), 'the copy')


@call
def rename_readonly(m):
    os.rename(m.path(MTL), m.path(MTL + '~'))


@call
def rename_onto_readonly(m):
    os.rename(scratch(m), m.path(MTL))


@call
def rename_views(m):
    os.rename(m.path(PMO + '/header.yaml'), m.path())


@call
def rename_lost(m):
    path = scratch(m)
    try:
        os.rename(path, m.path(PMO + '/new.yaml'))
    finally:
        is_scratch(m, path)


@call
def rename_lost_view(m):
    try:
        os.rename(m.path(), m.path(PMO + '/new.yaml'))
    finally:
        check(read(m.path()) == original(m), 'it is gone')


@call
def rename_dir(m):
    os.rename(m.path(PMO + '/meshes'), m.path(PMO + '/mashes'))


@call
def rename_onto_dir(m):
    os.rename(scratch(m), m.path(PMO + '/meshes'))


@call
def rename_out(m):
    os.rename(m.path(), m.archive + '.yaml')


@call
def rename_noreplace(m):
    renameat2(scratch(m), m.path(), RENAME_NOREPLACE)


@call
def rename_exchange(m):
    renameat2(scratch(m, text=edited(m)), m.path(), RENAME_EXCHANGE)


@call
def rename_whiteout(m):
    renameat2(scratch(m), m.path(PMO + '/other'), RENAME_WHITEOUT)


# ---------------------------------------------------------------- contents

@call
def open_readonly(m):
    os.open(m.path(MTL), os.O_RDWR)


@call
def open_errors(m):
    try:
        save(m.path(), b'- colour: red\n')
    except OSError:
        pass
    check(os.stat(m.path(PMO + '/errors.txt')).st_mode & 0o777 == 0o444, 'mode')
    os.open(m.path(PMO + '/errors.txt'), os.O_WRONLY | os.O_APPEND)


@call
def open_dir(m):
    os.open(m.path(PMO), os.O_RDWR)


@call
def open_trunc(m):
    os.close(os.open(m.path(), os.O_WRONLY | os.O_TRUNC))
    check(read(m.path()) == original(m), 'another text')


@call
def truncate(m):
    os.truncate(m.path(), 10)
    os.truncate(m.path(), 10000)
    check(read(m.path()) == original(m) and os.stat(m.path()).st_size == len(original(m)), 'another text')


@call
def ftruncate(m):
    with open(m.path(), 'r+b') as f:
        f.truncate(10)
        check(read(m.path()) == original(m)[:10], 'who reads')
    check(read(m.path()) == original(m), 'another text')


@call
def append(m):
    save(m.path(), b'# a comment\n', os.O_WRONLY | os.O_APPEND)
    check(read(m.path()) == original(m), 'another text')
    path = scratch(m)
    save(path, b' more', os.O_WRONLY | os.O_APPEND)
    check(read(path) == b'text more', read(path))


@call
def direct(m):
    name = PAC + '/raw/whole.pac'
    fd = os.open(m.path(name), os.O_RDONLY | os.O_DIRECT)
    room = mmap.mmap(-1, 1 << 16)
    n = os.readv(fd, [room])
    os.close(fd)
    check(room[:n] == original(m, name), f'{n} bytes')


@call
def write_refused(m):
    fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b'- colour: red\n')
    try:
        os.close(fd)
    except OSError:
        pass


@call
def close_refused(m):
    save(m.path(), b'- colour: red\n')


@call
def fsync_refused(m):
    fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
    os.write(fd, b'- colour: red\n')
    try:
        os.fsync(fd)
    except OSError:
        os.fsync(fd)
    finally:
        try:
            os.close(fd)
        except OSError:
            pass


@call
def write_far(m):
    fd = os.open(scratch(m), os.O_WRONLY)
    try:
        os.ftruncate(fd, SIZE_MOST)
        try:
            os.ftruncate(fd, SIZE_MOST + 1)
        except OSError as e:
            check(e.errno == errno.EFBIG, e)
        os.pwrite(fd, b'x', SIZE_MOST)
    finally:
        os.close(fd)


@call
def save_large(m):
    fd = os.open(m.path(), os.O_WRONLY)
    os.pwrite(fd, b'\n', 64 << 20)
    os.close(fd)


@call
def write_most(m):
    piece = bytes(1 << 20)
    free = os.statvfs(os.environ.get('TMPDIR') or '/tmp')
    if free.f_bavail * free.f_frsize < 2 << 30:
        raise lib.Skip('write-most: less than 2 GiB for temporary files')
    fd = os.open(scratch(m), os.O_WRONLY)
    try:
        for i in range(1025):
            os.pwrite(fd, piece, i << 20)
    finally:
        check(i >= 1000, f'after {i} MiB')
        os.close(fd)


@call
def raw_size(m):
    save(m.path(PMO + '/raw/materials.bin'), bytes(17))


@call
def entry_large(m):
    for name, n in (('00000.bin', 2049), (PAC + '/raw/whole.pac', 6145)):
        try:
            save(m.path(name), b'\1' * n)
            raise AssertionError(name)
        except OSError as e:
            check(e.errno == errno.ENOSPC, (name, e))
            if name != '00000.bin':
                raise


@call
def entry_small(m):
    text = original(m, '00000.bin')
    save(m.path('00000.bin'), text[:20])
    check(read(m.path('00000.bin')).rstrip(b'\0') == text[:20].rstrip(b'\0'), read(m.path('00000.bin')))
    m.want = None


@call
def mmap_(m):
    at = original(m).index(b'ambient') + 10
    fd = os.open(m.path(), os.O_RDWR)
    view = mmap.mmap(fd, 0, mmap.MAP_SHARED)
    view[at:at + 3] = b'105'
    view.flush()
    check(read(m.archive) != m.before and b'[105,' in read(m.path()), 'not saved')
    view.close()
    os.close(fd)
    m.want = edit_bytes(m.t, at0=105)


def fallocated(m, mode, size):
    fd = os.open(m.path(), os.O_RDWR)
    try:
        libc('fallocate', fd, mode, ctypes.c_long(0), ctypes.c_long(4096))
        check(os.fstat(fd).st_size == size, os.fstat(fd))
    finally:
        os.close(fd)
    check(read(m.path()) == original(m), 'another text')


@call
def fallocate(m):
    fallocated(m, 0, 4096)


@call
def fallocate_keep(m):
    fallocated(m, 1, len(original(m)))


@call
def fallocate_punch(m):
    for mode in (2 | 1, 8, 16, 16 | 1, 32):        # PUNCH_HOLE, COLLAPSE, ZERO, ZERO and KEEP_SIZE, INSERT
        try:
            fallocated(m, mode, 0)
            raise AssertionError(mode)
        except OSError as e:
            check(e.errno == errno.EOPNOTSUPP, (mode, e))
    raise OSError(errno.EOPNOTSUPP, '')


@call
def copy_range(m):
    size = len(original(m))
    with open(m.path(), 'rb') as f, open(m.path(YAML + '~'), 'wb') as g:
        check(os.copy_file_range(f.fileno(), g.fileno(), size) == size, 'less than all')
    check(read(m.path(YAML + '~')) == original(m), 'another text')


@call
def copy_range_out(m):
    if tuple(map(int, os.uname().release.split('.')[:2])) < (5, 19):
        raise lib.Skip('copy-range-out: the kernel is older than 5.19')
    with open(m.path(), 'rb') as f, open(m.archive + '.yaml', 'wb') as g:
        os.copy_file_range(f.fileno(), g.fileno(), 4096)


@call
def sendfile(m):
    with open(m.path(), 'rb') as f, open(m.path(YAML + '~'), 'wb') as g:
        check(os.sendfile(g.fileno(), f.fileno(), 0, 4096) == len(original(m)), 'sendfile')
    check(read(m.path(YAML + '~')) == original(m), 'another text')


@call
def seek_hole(m):
    with open(m.path(), 'rb', buffering=0) as f:
        check((f.seek(5, os.SEEK_DATA), f.seek(5, os.SEEK_HOLE)) == (5, len(original(m))), 'positions')


@call
def clone(m):
    with open(m.path(), 'rb') as f, open(m.path(YAML + '~'), 'wb') as g:
        fcntl.ioctl(g.fileno(), FICLONE, f.fileno())


@call
def ioctl(m):
    with open(m.path(), 'rb') as f:
        fcntl.ioctl(f.fileno(), FS_IOC_GETFLAGS, array.array('l', [0]))


@call
def fsync_dir(m):
    fd = os.open(m.path(PMO), os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


@call
def syncfs(m):
    fd = os.open(m.path(), os.O_WRONLY | os.O_TRUNC)
    os.write(fd, edited(m))
    libc('syncfs', fd)
    check(read(m.archive) == m.before, 'saved')
    os.close(fd)
    check(read(m.archive) != m.before, 'not saved')
    m.want = edit_bytes(m.t)


# ---------------------------------------------------------------- attributes and locks

def ignored(m, change):
    for name in (YAML, PMO, MTL, '00000.bin', ''):
        was = os.stat(m.path(name))
        change(m.path(name), was)
        now = os.stat(m.path(name))
        check((was.st_mode, was.st_uid, was.st_gid, was.st_mtime_ns) == (now.st_mode, now.st_uid, now.st_gid,
              now.st_mtime_ns), f'{name}: {now}')


@call
def chmod_view(m):
    ignored(m, lambda path, st: os.chmod(path, 0o700))


@call
def chown_view(m):
    ignored(m, lambda path, st: os.chown(path, st.st_uid, st.st_gid))


@call
def utimens_view(m):
    ignored(m, lambda path, st: os.utime(path, (1000, 2000)))


@call
def chmod_scratch(m):
    path = scratch(m)
    os.chmod(path, 0o640)
    os.utime(path, (1000, 2000))
    st = os.stat(path)
    check((st.st_mode & 0o7777, st.st_atime, st.st_mtime) == (0o640, 1000, 2000), st)


@call
def getxattr(m):
    os.getxattr(m.path(), 'user.x')


@call
def setxattr(m):
    os.setxattr(m.path(), 'user.x', b'1')


@call
def listxattr(m):
    os.listxattr(m.path())


@call
def removexattr(m):
    os.removexattr(m.path(), 'user.x')


@call
def acl(m):
    os.setxattr(m.path(), 'system.posix_acl_access',
                struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, 6, 0xffffffff) for tag in (1, 4, 32)))


LOCKED = '''
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    getattr(fcntl, sys.argv[2])(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(9)
'''


def locked(m, name):
    def tried():
        return subprocess.run([sys.executable, '-c', LOCKED, m.path(), name], timeout=lib.LIMIT).returncode
    with open(m.path(), 'r+b') as f:
        getattr(fcntl, name)(f.fileno(), fcntl.LOCK_EX)
        check(tried() == 9, 'locked twice')
        getattr(fcntl, name)(f.fileno(), fcntl.LOCK_UN)
        check(tried() == 0, 'not let go')


@call
def flock(m):
    locked(m, 'flock')


@call
def fcntl_lock(m):
    locked(m, 'lockf')
    with open(m.path(), 'r+b') as f, open(m.path(), 'r+b') as g:
        lock = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0)
        fcntl.fcntl(f.fileno(), fcntl.F_OFD_SETLK, lock)
        try:
            fcntl.fcntl(g.fileno(), fcntl.F_OFD_SETLK, lock)
            raise AssertionError('locked twice')
        except BlockingIOError:
            pass


@call
def statfs(m):
    have, disk = os.statvfs(m.point), os.statvfs(m.archive)
    check(have.f_blocks * have.f_frsize == disk.f_blocks * disk.f_frsize, (have, disk))
    check(not have.f_flag & os.ST_RDONLY, 'read-only')


# ---------------------------------------------------------------- all lines

def table(part=None):
    """[(id, first word of the answer)] of archives, or of another part."""
    text = open(os.path.join(lib.SOURCE, 'docs', 'calls.md')).read()
    if part:
        text = text.partition(part)[2].partition('\n# ')[0]
    else:
        text = text.partition(lib.MODELS_PART)[0]
    rows = [re.split(r'(?<!\\)\|', line.strip().strip('|')) for line in text.split('\n') if line.startswith('|')]
    rows = [[x.strip() for x in r] for r in rows]
    rows = [r for r in rows if r[0] != 'id' and not set(r[0]) <= set('-')]
    return [(r[0], re.match(r'`?(\w+)', r[2]).group(1)) for r in rows]


def answer(m, function):
    try:
        function(m)
        return 'works'
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
    except AssertionError as e:
        return f'AssertionError: {e}'


def lines(t):
    rows = table()
    t.none([i for i, _ in rows if i not in CALLS] + [i for i in CALLS if i not in dict(rows)],
           'docs/calls.md and the calls here are the same')
    t.same(sorted(set(i for i, _ in rows)), sorted(i for i, _ in rows), 'no line stands twice')
    for i, want in rows:
        if i not in CALLS:
            continue
        m = Saved(t)
        m.want = {}
        try:
            with m:
                have = answer(m, CALLS[i])
        except lib.Skip as e:
            t.skip(str(e))
            continue
        except RuntimeError as e:
            have = str(e)
        t.same('EOPNOTSUPP' if have == 'ENOTSUP' else have, want, i)
        if m.want is not None:
            changed = m.changes()
            t.ok(bool(changed) == bool(m.want), f'{i}: changes the archive' if m.want else f'{i}: no edit', changed[:9])
            if m.want:
                m.bytes_are(i, m.want)


CHANGES = ('create-scratch', 'mknod-file', 'unlink-view', 'rename-away', 'open-trunc', 'truncate', 'chmod-view',
           'utimens-view', 'mkdir', 'symlink', 'link-view', 'rmdir', 'setxattr')


def read_only(t):
    m = Saved(t, 'ro')
    with m:
        bad = {i: a for i in CHANGES if (a := answer(m, CALLS[i])) != 'EROFS'}
        t.same(bad, {}, f'-o ro: {len(CHANGES)} calls are EROFS')
    t.same(m.changes(), [], '-o ro: no edit')


if __name__ == '__main__':
    lib.main(lines, read_only, needs_fuse=True)
