"""Cases of posix.py about what several share: maps, programs that run, locks, folders, the file system."""
import array
import ctypes
import fcntl
import mmap
import os
import resource
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

import lib
from both import OTHER, OWNER, ROOT, as_root, case, libc
from lib import LIBC


# ---------------------------------------------------------------- maps, programs

@case
def maps(s):
    with open('x', 'wb') as f:
        f.write(b'.' * 10000)
    os.link('x', 'y')
    fd = s.open('open', 'x', os.O_RDWR)
    view = mmap.mmap(fd, 10000, mmap.MAP_SHARED)
    view[5:8] = b'map'
    view[9000:9003] = b'far'
    s.call('msync', view.flush)
    s.read('by another name', 'y')
    s.read('from beneath', os.path.join(s.below, 'x'))
    s.call('pwrite', os.pwrite, fd, b'written', 20)
    s.note('in the map', bytes(view[18:30]))
    view[30:33] = b'two'
    s.call('read without msync', os.pread, fd, 40, 0)
    s.close(fd)
    view[40:45] = b'later'
    s.call('msync after close', view.flush)
    view[50:55] = b'still'
    view.close()
    s.call('read after munmap', lambda: lib.read('y')[:60])
    s.call('sync', lambda: os.sync())
    s.call('beneath after munmap and sync', lambda: lib.read(s.below, 'x')[:60])
    fd = s.open('open again', 'x', os.O_RDONLY)
    view = mmap.mmap(fd, 10000, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    view[0:3] = b'own'
    s.read('after a private map', 'y')
    s.call('a shared map for writing of a reader', lambda: mmap.mmap(fd, 100, mmap.MAP_SHARED, mmap.PROT_WRITE).close())
    writer = s.open('for writing', 'x', os.O_WRONLY)
    s.call('a map of a writer', lambda: mmap.mmap(writer, 100, mmap.MAP_SHARED, mmap.PROT_READ).close())
    os.truncate('x', 3000)
    s.note('a map after truncate', bytes(view[2990:3010]))
    view.close()

    code = ('import mmap, os; f = os.open("x", os.O_RDWR); m = mmap.mmap(f, 3000); os.ftruncate(f, 0); '
            'import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); print(m[5])')
    s.note('reading a map past the end', subprocess.run([sys.executable, '-c', code], stdout=subprocess.DEVNULL,
                                                       stderr=subprocess.DEVNULL).returncode)


@case
def programs(s):
    subprocess.run(['cp', '/bin/sleep', 'prog'], check=True)
    s.call('a program', lambda: subprocess.run(['./prog', '0']).returncode)
    p = subprocess.Popen(['./prog', '30'])
    try:
        lib.wait_for(lambda: os.readlink(f'/proc/{p.pid}/exe').endswith('prog'), 5)
        for what, flags in (('writing', os.O_WRONLY), ('O_TRUNC', os.O_WRONLY | os.O_TRUNC), ('both', os.O_RDWR)):
            s.open(f'open for {what} of a running one', 'prog', flags)
        s.call('truncate of a running one', os.truncate, 'prog', 5)
        s.call('rename of a running one', os.rename, 'prog', 'prog2')
        s.call('unlink of a running one', os.unlink, 'prog2')
        s.note('it runs', p.poll())
    finally:
        p.kill()
        p.wait()
    with open('script', 'w') as f:
        f.write('#!/bin/sh\nexit 7\n')
    s.call('a script without the bit', lambda: subprocess.run(['./script']).returncode)
    os.chmod('script', 0o755)
    s.call('a script', lambda: subprocess.run(['./script']).returncode)
    fd = s.open('open for writing', 'script', os.O_WRONLY)
    s.call('a script that is open for writing', lambda: subprocess.run(['./script']).returncode)
    s.close(fd)
    os.chmod('script', 0o711)
    if ROOT:
        s.as_user('a script that cannot be read', lambda: subprocess.run(['./script'],
                                                                         stderr=subprocess.DEVNULL).returncode)


@case
def a_running_program_that_is_cut(s):
    """O_TRUNC for reading only, which nobody should use: the kernel lets FUSE truncate before it sees who runs it."""
    subprocess.run(['cp', '/bin/sleep', 'prog'], check=True)
    p = subprocess.Popen(['./prog', '30'])
    s.open('open for reading with O_TRUNC', 'prog', os.O_TRUNC)
    s.note('it is empty then', os.stat('prog').st_size == 0)
    p.kill()
    p.wait()
    os.unlink('prog')


# ---------------------------------------------------------------- locks

LOCKER = '''
import fcntl, os, struct, sys
fd = os.open('x', os.O_RDWR)
def answer(f):
    try:
        f()
        return 'yes'
    except OSError as e:
        return os.strerror(e.errno)
def record(kind, command, start=0, n=0):
    return lambda: fcntl.fcntl(fd, command, struct.pack('hhqqi4x', kind, 0, start, n, 0))
for line in sys.stdin:
    words = line.split()
    kind = {'shared': 0, 'exclusive': 1, 'none': 2}[words[1]]
    if words[0] == 'flock':
        print(answer(lambda: fcntl.flock(fd, [fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN][kind] | fcntl.LOCK_NB)))
    else:
        command = {'posix': fcntl.F_SETLK, 'ofd': 37}[words[0]]
        print(answer(record(kind, command, *map(int, words[2:]))))
    sys.stdout.flush()
'''


class Locker:
    def __init__(self):
        self.p = subprocess.Popen([sys.executable, '-c', LOCKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)

    def ask(self, line):
        self.p.stdin.write(line + '\n')
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def end(self):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()


@case
def locks_between_processes(s):
    s.make('file', 'x')
    one, two = Locker(), Locker()
    for who, line in ((1, 'flock shared'), (2, 'flock shared'), (2, 'flock exclusive'), (1, 'flock none'),
                      (2, 'flock exclusive'),
                      (1, 'flock shared'), (2, 'flock none'), (1, 'flock exclusive'), (1, 'flock none'),
                      (1, 'posix shared 0 10'), (2, 'posix shared 0 10'), (2, 'posix exclusive 10 10'),
                      (1, 'posix exclusive 5 5'),
                      (1, 'posix exclusive 10 1'), (2, 'posix none 0 0'), (1, 'posix exclusive 0 0'),
                      (2, 'posix shared 100 1'),
                      (1, 'posix none 50 100'), (2, 'posix shared 100 1'), (2, 'posix shared 200 1'),
                      (1, 'posix none 0 0'),
                      (1, 'ofd exclusive 0 100'), (2, 'ofd shared 50 1'), (2, 'posix exclusive 99 1'),
                      (2, 'ofd exclusive 100 1'),
                      (1, 'ofd none 0 0'), (2, 'flock exclusive'), (1, 'posix exclusive 0 1'), (1, 'flock shared')):
        s.note(f'process {who}: {line}', (one if who == 1 else two).ask(line))
    two.end()
    s.note('process 1 after the other has ended', one.ask('flock exclusive'))
    fd = s.open('open', 'x', os.O_RDWR)
    lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)
    s.call('F_GETLK', lambda: struct.unpack('hhqqi4x', fcntl.fcntl(fd, fcntl.F_GETLK, lock))[:4])
    one.end()
    s.call('F_GETLK then', lambda: struct.unpack('hhqqi4x', fcntl.fcntl(fd, fcntl.F_GETLK, lock))[0])


@case
def locks_that_wait(s):
    s.make('file', 'x')
    for kind in ('flock', 'posix exclusive 0 0'):
        other = Locker()
        s.note('taken', other.ask(kind if ' ' in kind else 'flock exclusive'))
        fd = s.open('open', 'x', os.O_RDWR)
        threading.Timer(0.15, other.end).start()
        began = time.monotonic()
        if kind == 'flock':
            s.call('flock that waits', fcntl.flock, fd, fcntl.LOCK_EX)
        else:
            s.call('F_SETLKW', fcntl.lockf, fd, fcntl.LOCK_EX)
        s.note('it has waited', time.monotonic() - began > 0.1)
        s.close(fd)


@case
def locks_and_pipes_from_beneath(s):
    """Kernels keep these by the file they know, and a mount's file is another one."""
    s.make('file', 'x')
    fd, below = s.open('open', 'x', os.O_RDWR), s.open('open beneath', os.path.join(s.below, 'x'), os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    s.call('flock of what is locked in the mount', fcntl.flock, below, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.mkfifo('p')
    s.open('a fifo for reading', os.path.join(s.below, 'p'), os.O_RDONLY | os.O_NONBLOCK)
    s.open('the fifo for writing in the mount', 'p', os.O_WRONLY | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        home = os.getcwd()
        os.chdir(s.below)
        server.bind('sock')
        server.listen(1)
        os.chdir(home)
        s.call('connect in the mount to a socket', client.connect, 'sock')


def events(s, what, change, *args):
    """What inotify tells of the working folder."""
    fd = libc('inotify_init1', os.O_NONBLOCK)
    libc('inotify_add_watch', fd, '.', 0xfff)
    change(*args)
    try:
        data, out = os.read(fd, 4096), []
        while data:
            _, mask, _, n = struct.unpack_from('iIII', data)
            out.append((f'{mask:#x}', data[16:16 + n].rstrip(b'\0')))
            data = data[16 + n:]
        s.note(what, out)
    except BlockingIOError:
        s.note(what, 'nothing')
    finally:
        os.close(fd)


@case
def changes_that_are_told(s):
    def create(path):
        with open(path, 'w') as f:
            f.write('text')
    for what, f, *args in (('create', create, 'x'), ('chmod', os.chmod, 'x', 0o600), ('rename', os.rename, 'x', 'y'),
                           ('link', os.link, 'y', 'z'), ('mkdir', os.mkdir, 'd'), ('unlink', os.unlink, 'y'),
                           ('truncate', os.truncate, 'z', 2), ('rmdir', os.rmdir, 'd')):
        events(s, f'inotify of {what}', f, *args)
    events(s, 'inotify of a create beneath', create, os.path.join(s.below, 'b'))


# ---------------------------------------------------------------- folders

def names(path):
    return [n for n, _, _, _ in lib.entries(path)]


@case
def lists_of_names(s):
    for i, kind in enumerate(('file', 'folder', 'fifo', 'socket', 'link', 'dangling link')):
        s.make(kind, f'{i} {kind}')
    have = lib.entries('.')
    s.note('names and types', sorted((n, k) for n, k, _, _ in have))
    s.note('inodes are those of stat', [n for n, _, i, _ in have if os.lstat(n).st_ino != i])
    s.note('. and ..', sorted(n for n in subprocess.run(['ls', '-fa1'], stdout=subprocess.PIPE,
                                                        text=True).stdout.split()
                              if n.startswith('.')))
    s.note('inode of .', subprocess.run(['ls', '-id', '.'], stdout=subprocess.PIPE, text=True).stdout.split()[0] ==
           str(os.stat('.').st_ino))


@case
def positions_in_a_folder(s):
    count = 2000
    for i in range(count):
        os.close(os.open(f'file number {i:05d}', os.O_CREAT | os.O_WRONLY))
    have = lib.entries('.')
    all_names = [n for n, _, _, _ in have]
    s.note('number', (len(all_names), len(set(all_names))))
    bad = []
    for i in range(0, count - 1, 97):
        rest = [n for n, _, _, _ in lib.entries('.', seek=have[i][3])]
        if rest != all_names[i + 1:]:
            bad.append(i)
    s.note('seekdir to where telldir was gives the rest', bad)
    seen = []
    for i, e in enumerate(os.scandir('.')):
        seen.append(e.name)
        os.unlink(e.name)
    s.note('unlink of each while it is read: seen twice', len(seen) - len(set(seen)))
    s.note('unlink of each while it is read: left', len(os.listdir('.')))


@case
def a_folder_that_changes_while_it_is_read(s):
    for i in range(1000):
        os.close(os.open(f'stays {i:04d}', os.O_CREAT | os.O_WRONLY))
    d = LIBC.opendir(b'.')
    seen, n = [], 0
    while True:
        e = LIBC.readdir64(d)
        if not e:
            break
        seen.append(e.contents.name)
        n += 1
        if n % 20 == 0:
            os.close(os.open(f'comes {n}', os.O_CREAT | os.O_WRONLY))
            os.rename(f'comes {n}', f'goes {n}')
            os.unlink(f'goes {n}')
        if n > 10000:
            break
    s.note('those that stay are seen once each', sorted(x for x in seen if x.startswith(b'stays')) ==
           [b'stays %04d' % i for i in range(1000)])
    os.close(os.open('new', os.O_CREAT))
    LIBC.rewinddir(ctypes.c_void_p(d))
    again = set()
    while True:
        e = LIBC.readdir64(d)
        if not e:
            break
        again.add(e.contents.name)
    s.note('rewinddir shows what is new', b'new' in again)
    LIBC.closedir(d)
    fd = s.open('open', '.', os.O_RDONLY)
    s.call('its names by a descriptor', lambda: len(os.listdir(fd)))
    os.unlink('new')
    s.call('again', lambda: len(os.listdir(fd)))
    subprocess.run('rm -f stays*', shell=True, check=True)


@case
def many_open_files(s):
    """More than the daemon may keep open, half of them without a name."""
    low, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = 700
    if most < count + 100:
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(low, count + 100), most))
    fds = [os.open(f'f{i}', os.O_CREAT | os.O_RDWR) for i in range(count)]
    try:
        for i, fd in enumerate(fds):
            os.write(fd, b'text %d' % i)
        for i in range(0, count, 2):
            os.unlink(f'f{i}')
        for i in range(1, count, 4):
            os.rename(f'f{i}', f'g{i}')
        wrong = [i for i, fd in enumerate(fds) if os.pread(fd, 100, 0) != b'text %d' % i]
        s.note('texts that are wrong', wrong)
        for fd in fds:
            os.pwrite(fd, b'TEXT', 0)
        s.note('after writing', [i for i, fd in enumerate(fds) if os.pread(fd, 100, 0) != b'TEXT %d' % i])
        s.note('links', sorted({(i % 2, os.fstat(fd).st_nlink) for i, fd in enumerate(fds)}))
    finally:
        for fd in fds:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (low, most))
    s.call('then', lambda: len(os.listdir('.')))


# ---------------------------------------------------------------- the file system

@case
def file_system(s):
    a, b = os.statvfs('.'), os.statvfs(s.beneath)
    for key in ('f_bsize', 'f_frsize', 'f_blocks', 'f_files', 'f_namemax'):
        s.note(key, getattr(a, key) == getattr(b, key))
    s.note('free space', abs(a.f_bavail - b.f_bavail) * a.f_frsize < 64 << 20)
    s.note('read-only', a.f_flag & os.ST_RDONLY)
    s.note('block size of a file', os.stat('.').st_blksize == os.stat(s.beneath).st_blksize)
    s.call('pathconf NAME_MAX', os.pathconf, '.', 'PC_NAME_MAX')
    s.note('one device', os.stat('.').st_dev == os.stat('..').st_dev)


@case
def attributes_of_ones_own(s):
    s.make('file', 'x')
    os.mkdir('d')
    s.call('setxattr', os.setxattr, 'x', 'user.name', b'value')
    s.call('getxattr', os.getxattr, 'x', 'user.name')
    s.call('listxattr', lambda: sorted(n for n in os.listxattr('x') if n.startswith('user.')))
    s.call('setxattr with XATTR_CREATE', os.setxattr, 'x', 'user.name', b'other', os.XATTR_CREATE)
    s.call('setxattr with XATTR_REPLACE', os.setxattr, 'x', 'user.none', b'other', os.XATTR_REPLACE)
    s.call('setxattr of a folder', os.setxattr, 'd', 'user.name', b'value')
    s.call('removexattr', os.removexattr, 'x', 'user.name')
    s.call('getxattr of none', os.getxattr, 'x', 'user.name')
    s.call('getxattr of the security kind', lambda: os.getxattr('x', 'security.none'))


@case
def time_of_birth(s):
    s.make('file', 'x')
    r = subprocess.run(['stat', '-c', '%W', 'x'], stdout=subprocess.PIPE, text=True)
    s.note('is told', int(r.stdout) > 0)


@case
def names_of_modelfs_own(s):
    for name in ('.modelfs-journal', '.modelfs-'):
        s.open(f'create {name}', name, os.O_CREAT | os.O_WRONLY)
        s.call(f'mkdir {name}', os.mkdir, name)
        s.stat(f'stat {name}', name)
        s.remove(os.path.join(s.below, name))


@case
def access_lists(s):
    s.make('file', 'x')
    acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', tag, bits, who) for tag, bits, who in (
        (1, 6, 0xffffffff), (2, 4, OTHER), (4, 4, 0xffffffff), (16, 6, 0xffffffff), (32, 0, 0xffffffff)))
    s.call('set', os.setxattr, 'x', 'system.posix_acl_access', acl)


@case
def inode_flags(s):
    s.make('file', 'x')
    fd = s.open('open', 'x', os.O_RDWR)
    s.call('FS_IOC_GETFLAGS', lambda: bool(fcntl.ioctl(fd, 0x80086601, array.array('l', [0])) is not None))


@case
def clones(s):
    s.make('file', 'x')
    fd, to = s.open('open', 'x', os.O_RDWR), s.open('create', 'y', os.O_CREAT | os.O_RDWR)
    s.call('FICLONE', fcntl.ioctl, to, 0x40049409, fd)


@case
def pipes_and_sockets(s):
    os.mkfifo('p')
    r = s.open('fifo for reading', 'p', os.O_RDONLY | os.O_NONBLOCK)
    w = s.open('fifo for writing', 'p', os.O_WRONLY | os.O_NONBLOCK)
    s.call('write', os.write, w, b'through')
    s.call('read', os.read, r, 100)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        s.call('bind', server.bind, 'sock')
        server.listen(1)
        s.call('connect', client.connect, 'sock')
        s.call('bind again', lambda: socket.socket(socket.AF_UNIX).bind('sock'))
        s.call('chmod', os.chmod, 'sock', 0o600)
        if ROOT:
            s.as_user('connect as another', lambda: socket.socket(socket.AF_UNIX).connect('sock'))
        s.call('rename', os.rename, 'sock', 'sock2')
        with socket.socket(socket.AF_UNIX) as later:
            s.call('connect by its new name', later.connect, 'sock2')


@case
def whole_programs(s):
    """What people do all day, by its exit codes and what it leaves."""
    script = r'''
set -e; mkdir -p a/b/c; for i in 1 2 3 4 5; do echo "line $i" > a/b/$i.txt; done; cp -a a copy; cp -al a linked
mv copy moved; ln -s ../a moved/link; tar cf x.tar a; mkdir out; tar xf x.tar -C out; install -m 600 a/b/1.txt inst
install -m 755 a/b/2.txt inst; sed -i 's/line/LINE/' a/b/3.txt; grep -q LINE a/b/3.txt
touch -d '2001-02-03 04:05:06' a/b/4.txt; touch -r a/b/4.txt a/b/5.txt; chmod -R g-w,o-rwx out
find . -name '*.txt' | sort; rm -r out/a/b/c; rmdir linked/b/c; echo x >> a/b/1.txt; cat a/b/*.txt
cmp a/b/1.txt linked/b/1.txt; diff -r a linked || true; dd if=/dev/zero of=sparse bs=1 count=0 seek=1M 2>/dev/null
du -k sparse | cut -f1; truncate -s 100 sparse; split -b 30 sparse part.; rm -rf moved; ln a/b/1.txt hard
ln -f a/b/2.txt hard; mv -n hard inst; mv -f hard inst; ls -1R
'''
    r = subprocess.run(['sh', '-c', script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    s.note('exit code', r.returncode)
    for i, line in enumerate(r.stdout.splitlines()):
        s.note(f'line {i} printed', line)
    s.remove('x.tar')


@as_root
def space_of_others(s):
    """What root writes and whom it belongs to, when a user has the folder."""
    os.mkdir('d')
    os.chown('d', OWNER, OWNER)
    s.make('file', 'd/root')
    s.as_user('unlink of a file of root in one\'s own folder', os.unlink, 'd/root')
    s.as_user('create', lambda: os.close(os.open('d/own', os.O_CREAT | os.O_WRONLY, 0o600)))
    s.as_user('read by another', lambda: lib.read('d/own'), uid=OTHER)
    s.call('read by root', lambda: lib.read('d/own'))
    s.as_user('mkdir 0', os.mkdir, 'd/none', 0)
    s.as_user('create below it', lambda: os.close(os.open('d/none/x', os.O_CREAT)))
    s.call('create below it by root', lambda: os.close(os.open('d/none/x', os.O_CREAT)))
    os.mkdir('d/s')
    os.chown('d/s', OWNER, OTHER)
    os.chmod('d/s', 0o2770)
    s.as_user('mkdir in a setgid folder', os.mkdir, 'd/s/in', groups=[OWNER, OTHER])
    s.as_user('create with setgid there', lambda: os.close(os.open('d/s/f', os.O_CREAT, 0o2775)), groups=[OWNER])
    s.note('modes', [stat.S_IMODE(os.lstat(p).st_mode) for p in ('d/s/in', 'd/s/f') if os.path.lexists(p)])
