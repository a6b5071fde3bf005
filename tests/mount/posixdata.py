"""Cases of posix.py about what is in files: sizes, reading, writing, holes, copies."""
import ctypes
import fcntl
import mmap
import os
import resource
import select
import signal
import time

import lib
from both import case, libc

KEEP, PUNCH, COLLAPSE, ZERO, INSERT = 1, 2, 8, 16, 32
long = ctypes.c_long


# ---------------------------------------------------------------- sizes

@case
def truncate_and_ftruncate(s):
    s.make('file', 'x')
    fd = s.open('open', 'x', os.O_RDWR)
    reader = s.open('open for reading', 'x', os.O_RDONLY)
    for n in (0, 1, 5, 4095, 4096, 4097, 100000, 3, 1 << 32, 1 << 40, 0, 10):
        for what, f, target in (('truncate', os.truncate, 'x'), ('ftruncate', os.ftruncate, fd)):
            s.call(f'{what} to {n}', f, target, n)
            s.call(f'{what} to {n}: seen by a reader', lambda: os.fstat(reader).st_size)
            s.call(f'{what} to {n}: its end', os.pread, reader, 10, max(n - 5, 0))
            s.call(f'{what} to {n}: write', os.pwrite, fd, b'xyz', 1)
    for n in (-1, -(1 << 62)):
        s.call(f'truncate to {n}', libc, 'truncate64', 'x', long(n))
        s.call(f'ftruncate to {n}', libc, 'ftruncate64', fd, long(n))
    s.call('ftruncate of a reader', os.ftruncate, reader, 5)
    os.mkdir('d')
    s.call('truncate of a folder', os.truncate, 'd', 0)
    os.mkfifo('p')
    s.call('truncate of a fifo', os.truncate, 'p', 0)
    s.call('truncate of nothing', os.truncate, 'nothing', 0)
    s.call('truncate with a slash', os.truncate, 'x/', 0)


@case
def sizes_beyond_what_there_can_be(s):
    fd = s.open('create', 'x', os.O_CREAT | os.O_RDWR)
    most = (1 << 63) - 1
    for n in (most, most - 4096, 1 << 62, 1 << 60, 1 << 50, 1 << 46, 1 << 44):
        what = f'ftruncate to {n:#x}'
        try:
            os.ftruncate(fd, n)
            s.note(what, os.fstat(fd).st_size == n)
            os.ftruncate(fd, 0)
        except OSError as e:
            s.note(what, e.strerror)
        s.call(f'write at {n:#x}', os.pwrite, fd, b'x', n)
        os.ftruncate(fd, 0)
        s.call(f'read at {n:#x}', os.pread, fd, 5, n)


@case
def limits_of_a_process(s):
    """RLIMIT_FSIZE, in a process of its own."""
    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        fd = os.open('x', os.O_CREAT | os.O_RDWR)
        out = []
        for f in (lambda: os.write(fd, b'x' * 4000), lambda: os.write(fd, b'x' * 4000), lambda: os.write(fd, b'x'),
                  lambda: os.ftruncate(fd, 6000), lambda: os.truncate('x', 4999), lambda: os.fstat(fd).st_size):
            try:
                out.append(f())
            except OSError as e:
                out.append(e.errno)
        return repr(out).encode()
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(w, limited())
        os._exit(0)
    os.close(w)
    s.note('answers', os.read(r, 1000))
    os.close(r)
    os.waitpid(pid, 0)


# ---------------------------------------------------------------- reading and writing

@case
def read_and_write(s):
    fd = s.open('create', 'x', os.O_CREAT | os.O_RDWR)
    data = bytes(range(256)) * 2048                # 512 KiB
    s.call('write of 512 KiB', os.write, fd, data)
    for at, n in ((0, 10), (100, 5000), (4090, 12), (524280, 100), (524288, 1), (600000, 10), (131072, 131072),
                  (0, 1 << 20)):
        s.call(f'pread of {n} at {at}', os.pread, fd, n, at)
    for at, n in ((0, 1), (4095, 2), (100000, 131072), (524280, 100), (700000, 3)):
        s.call(f'pwrite of {n} at {at}', os.pwrite, fd, b'\xaa' * n, at)
        s.call(f'size after pwrite of {n} at {at}', lambda: os.fstat(fd).st_size)
    s.read('all', 'x')
    s.call('preadv', lambda: (lambda v: (os.preadv(fd, v, 7), bytes(b''.join(v))))([bytearray(3), bytearray(5000)]))
    s.call('pwritev', os.pwritev, fd, [b'ab', b'cd' * 3000], 699999)
    s.call('lseek to the end', os.lseek, fd, 0, os.SEEK_END)
    s.call('lseek before the start', os.lseek, fd, -1, os.SEEK_SET)
    s.call('lseek far', os.lseek, fd, 1 << 40, os.SEEK_SET)
    s.call('read there', os.read, fd, 10)
    s.call('pread at -1', libc, 'pread64', fd, ctypes.create_string_buffer(8), 8, long(-1))
    reader = s.open('for reading', 'x', os.O_RDONLY)
    writer = s.open('for writing', 'x', os.O_WRONLY)
    s.call('write through a reader', os.write, reader, b'x')
    s.call('read through a writer', os.read, writer, 1)
    s.call('write from nowhere', libc, 'write', writer, ctypes.c_void_p(8), 10)
    s.call('fsync', os.fsync, fd)
    s.call('fdatasync', os.fdatasync, reader)
    s.call('fadvise', os.posix_fadvise, fd, 0, 0, os.POSIX_FADV_DONTNEED)
    s.call('sync_file_range', libc, 'sync_file_range', fd, long(0), long(0), 7)
    s.call('syncfs', libc, 'syncfs', fd)
    s.note('poll', select.poll().register(fd, select.POLLIN | select.POLLOUT))
    p = select.poll()
    p.register(fd, select.POLLIN | select.POLLOUT)
    s.note('poll', [e for _, e in p.poll(0)])
    os.mkdir('d')
    d = s.open('a folder', 'd', os.O_RDONLY)
    s.call('read of a folder', os.read, d, 10)
    s.call('fsync of a folder', os.fsync, d)
    s.call('ftruncate of a folder', os.ftruncate, d, 0)


@case
def append(s):
    s.make('file', 'x')
    one = s.open('one', 'x', os.O_RDWR | os.O_APPEND)
    two = s.open('another', 'x', os.O_WRONLY | os.O_APPEND)
    three = s.open('one without', 'x', os.O_WRONLY)
    for i in range(4):
        s.call('append', os.write, one, b'one%d ' % i)
        s.call('append through another', os.write, two, b'two%d ' % i)
        s.call('where it is', os.lseek, two, 0, os.SEEK_CUR)
    s.call('pwrite with O_APPEND', os.pwrite, one, b'pwrite ', 0)
    s.call('write without', os.write, three, b'THREE')
    s.read('all', 'x')
    s.call('ftruncate', os.ftruncate, one, 3)
    s.call('append then', os.write, two, b'end')
    s.read('all then', 'x')
    with open(os.path.join(s.below, 'x'), 'ab') as f:
        f.write(b'+beneath')
    s.call('append after another way', os.write, one, b'+after')
    s.read('all in the end', 'x')
    s.call('F_SETFL without O_APPEND', lambda: fcntl.fcntl(one, fcntl.F_SETFL, 0))
    s.call('pwrite then', os.pwrite, one, b'P', 0)
    s.call('RWF_APPEND', os.pwritev, three, [b' rwf'], 0, 0x10)
    s.read('all then', 'x')


@case
def over_open_handles(s):
    s.make('file', 'x')
    reader = s.open('reader', 'x', os.O_RDONLY)
    writer = s.open('writer', 'x', os.O_WRONLY)
    s.call('read', os.pread, reader, 100, 0)
    s.call('O_TRUNC beside them', lambda: os.close(os.open('x', os.O_WRONLY | os.O_TRUNC)))
    s.call('read after O_TRUNC', os.pread, reader, 100, 0)
    s.call('write after O_TRUNC', os.pwrite, writer, b'abc', 5)
    s.call('read then', os.pread, reader, 100, 0)
    s.call('truncate beside them', os.truncate, 'x', 6)
    s.call('read after truncate', os.pread, reader, 100, 0)
    s.call('truncate longer', os.truncate, 'x', 9)
    s.call('read after that', os.pread, reader, 100, 0)
    s.call('chmod 0', os.chmod, 'x', 0)
    s.call('write after chmod', os.pwrite, writer, b'still', 0)
    s.call('read after chmod', os.pread, reader, 100, 0)
    s.call('rename', os.rename, 'x', 'y')
    s.call('write after rename', os.pwrite, writer, b'moved', 0)
    s.call('chmod back', os.chmod, 'y', 0o644)
    s.read('by its new name', 'y')
    os.mkdir('d')
    s.call('into another folder', os.rename, 'y', 'd/y')
    s.call('write after that', os.pwrite, writer, b'again', 0)
    s.call('rename of the folder', os.rename, 'd', 'e')
    s.call('write after that too', os.pwrite, writer, b'AGAIN', 3)
    s.read('in the end', 'e/y')
    s.read('by the reader', f'/proc/self/fd/{reader}')


@case
def seen_from_beneath(s):
    """What goes through the mount stands in the folder at once, and the other way round."""
    s.make('file', 'x')
    fd = s.open('open', 'x', os.O_RDWR)
    below = os.path.join(s.below, 'x')
    for i in range(3):
        s.call('write', os.pwrite, fd, b'W%d' % i, 2)
        s.read('read from beneath', below)
        with open(below, 'r+b') as f:
            f.seek(6)
            f.write(b'B%d' % i)
        s.call('read after a write beneath', os.pread, fd, 100, 0)
        time.sleep(0.02)
    with open(below, 'ab') as f:
        f.write(b' longer')
    s.call('size after one longer beneath', lambda: os.fstat(fd).st_size)
    s.call('read after it', os.pread, fd, 100, 0)
    s.read('by a new handle', 'x')
    os.truncate(below, 4)
    s.call('size after one shorter beneath', lambda: os.fstat(fd).st_size)
    s.call('read after it', os.pread, fd, 100, 0)
    with open(below + '.new', 'wb') as f:
        f.write(b'replaced')
    os.rename(below + '.new', below)
    s.read('one replaced beneath', 'x')
    s.call('the open handle', os.pread, fd, 100, 0)
    s.call('its links', lambda: os.fstat(fd).st_nlink)
    s.stat('attributes', 'x')
    os.mkdir(os.path.join(s.below, 'new folder'))
    s.call('a folder made beneath', lambda: sorted(os.listdir('.')))
    s.call('create in it', lambda: os.close(os.open('new folder/f', os.O_CREAT)))
    os.unlink(os.path.join(s.below, 'new folder/f'))
    s.stat('what was removed beneath', 'new folder/f')
    s.open('open of it', 'new folder/f', os.O_RDONLY)
    os.rename(os.path.join(s.below, 'new folder'), os.path.join(s.below, 'renamed'))
    s.call('after a rename beneath', lambda: sorted(os.listdir('.')))
    s.stat('the old name', 'new folder')
    s.call('create in the new one', lambda: os.close(os.open('renamed/g', os.O_CREAT)))
    os.unlink(below)
    os.mkdir(below)
    s.stat('a file that became a folder', 'x')
    s.call('mkdir in it', os.mkdir, 'x/y')
    os.rename(os.path.join(s.below, 'renamed'), below + '/moved')
    s.stat('one moved into it', 'x/moved/g')
    os.chmod(below, 0o700)
    s.stat('a mode changed beneath', 'x')


@case
def direct(s):
    room = mmap.mmap(-1, 1 << 17)
    room[:10] = b'0123456789'
    fd = s.open('create with O_DIRECT', 'x', os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    if fd is None:
        return
    for n, at in ((4096, 0), (8192, 4096), (1 << 17, 1 << 16)):
        s.call(f'write of {n} at {at}', os.pwritev, fd, [memoryview(room)[:n]], at)
        s.call(f'read of {n} at {at}', lambda: (os.preadv(fd, [memoryview(room)[:n]], at), bytes(room[:20])))
    s.call('read over the end', os.preadv, fd, [memoryview(room)], (1 << 17) + 4096)
    s.read('without it', 'x')
    s.call('an offset of 100', os.preadv, fd, [memoryview(room)[:4096]], 100)
    s.call('a length of 100', os.preadv, fd, [memoryview(room)[:100]], 0)
    with open('x', 'r+b', buffering=0) as f:
        f.seek(4096)
        f.write(b'through the cache')
        s.call('read of what another wrote', lambda: (os.preadv(fd, [memoryview(room)[:4096]], 4096), bytes(room[:17])))


# ---------------------------------------------------------------- holes

def ranges(s, what, fd):
    """The data of a file, as SEEK_DATA and SEEK_HOLE tell."""
    def look():
        out, at, end = [], 0, os.fstat(fd).st_size
        while at < end:
            try:
                a = os.lseek(fd, at, os.SEEK_DATA)
            except OSError:
                break
            b = os.lseek(fd, a, os.SEEK_HOLE)
            out.append((a, b))
            at = b
        return out
    s.call(what, look)


@case
def holes(s):
    fd = s.open('create', 'x', os.O_CREAT | os.O_RDWR)
    s.call('ftruncate', os.ftruncate, fd, 1 << 20)
    ranges(s, 'all hole', fd)
    for at in (1 << 16, 1 << 18, (1 << 20) - 4096):
        s.call('write', os.pwrite, fd, b'x' * 4096, at)
    os.fsync(fd)
    ranges(s, 'three pieces', fd)
    s.call('SEEK_DATA past the end', os.lseek, fd, 1 << 20, os.SEEK_DATA)
    s.call('SEEK_HOLE past the end', os.lseek, fd, 1 << 21, os.SEEK_HOLE)
    s.call('SEEK_HOLE at the end of data', os.lseek, fd, (1 << 20) - 1, os.SEEK_HOLE)
    s.note('blocks are few', os.fstat(fd).st_blocks <= 3 * 8 + 8)
    for mode, word in ((0, '0'), (KEEP, 'KEEP_SIZE'), (PUNCH | KEEP, 'PUNCH_HOLE'),
                       (PUNCH, 'PUNCH_HOLE without KEEP_SIZE'),
                       (ZERO, 'ZERO_RANGE'), (ZERO | KEEP, 'ZERO_RANGE, KEEP_SIZE'), (64 | KEEP, 'UNSHARE_RANGE'),
                       (1 << 20, 'an unknown mode')):
        for at, n in ((1 << 18, 4096), (0, 1 << 17), ((1 << 20) - 100, 8192), (5000, 100), (0, 0), (-1, 10),
                      (4096, -5)):
            s.call(f'fallocate {word} of {n} at {at}', libc, 'fallocate64', fd, mode, long(at), long(n))
            s.call(f'fallocate {word} of {n} at {at}: size', lambda: os.fstat(fd).st_size)
        ranges(s, f'after fallocate {word}', fd)
    s.read('contents', 'x')
    reader = s.open('reader', 'x', os.O_RDONLY)
    s.call('fallocate of a reader', libc, 'fallocate64', reader, 0, long(0), long(10))
    os.ftruncate(fd, 0)


@case
def holes_that_shift(s):
    with open('x', 'wb') as f:
        f.write(bytes(range(256)) * 256)
    fd = s.open('open', 'x', os.O_RDWR)
    s.call('COLLAPSE_RANGE', libc, 'fallocate64', fd, COLLAPSE, long(4096), long(8192))
    s.call('INSERT_RANGE', libc, 'fallocate64', fd, INSERT, long(4096), long(8192))


@case
def copies(s):
    s.make('file', 'a')
    with open('a', 'ab') as f:
        f.write(bytes(range(256)) * 1000)
    a = s.open('source', 'a', os.O_RDWR)
    b = s.open('copy', 'b', os.O_CREAT | os.O_RDWR)
    ap = s.open('copy with O_APPEND', 'c', os.O_CREAT | os.O_RDWR | os.O_APPEND)
    reader = s.open('copy for reading', 'b', os.O_RDONLY)
    d = s.open('a folder', '.', os.O_RDONLY)

    def all_of(*args):
        return os.copy_file_range(*args)
    for what, args in (('all', (a, b, 1 << 20, 0, 0)), ('a piece', (a, b, 1000, 5, 70000)),
                       ('past the end', (a, b, 10, 1 << 20, 0)),
                       ('within a file', (a, a, 1000, 0, 100000)), ('over itself', (a, a, 1000, 0, 500)),
                       ('nothing', (a, b, 0, 0, 0)),
                       ('to O_APPEND', (a, ap, 100)), ('to a reader', (a, reader, 100)), ('to a folder', (a, d, 100)),
                       ('from a folder', (d, b, 100)), ('without offsets', (a, b, 50))):
        s.call('copy_file_range, ' + what, all_of, *args)
    s.read('the copy', 'b')
    s.call('sendfile', os.sendfile, b, a, 0, 5000)
    r, w = os.pipe()
    s.call('splice in', os.splice, a, w, 1000, 100)
    s.call('splice out', os.splice, r, b, 1000, None, 300)
    os.close(r)
    os.close(w)
    s.read('the copy then', 'b')
    s.call('cp', lambda: lib.other('cp', '--reflink=auto', '--sparse=auto', '-p', 'a', 'e')[0])
    s.read('what cp copied', 'e')
