"""A folder mount answers as the folder itself: the same calls, made in a folder and in a mounted one.

Each case is a function that makes calls in an empty directory, as root or as somebody else, and writes down what came
of them: values, names of errors, attributes, and which times moved. It is run in a directory of the file system the
mounted folder lies on, and in the mount; both must have the same to say. Times of access are left out: the kernel reads
from its pages without asking.

Groups: open, truncate, rename, unlink, mkdir, chmod, utimensat, and what goes with them. docs/calls.md lists where a
folder mount differs.
"""
import ctypes
import errno
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import time

import lib
from lib import LIBC, Mount

OTHER, THIRD = (65534, 65534), (65533, 65533)
TYPES = ('file', 'dir', 'fifo', 'block', 'char', 'socket', 'link')
AT_FDCWD, NOREPLACE, EXCHANGE = -100, 1, 2
UTIME_NOW, UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
CASES = []


def case(f):
    CASES.append(f)
    return f


class Timespec(ctypes.Structure):
    _fields_ = [('sec', ctypes.c_long), ('nsec', ctypes.c_long)]


def libc(name, *args):
    if getattr(LIBC, name)(*args) < 0:
        n = ctypes.get_errno()
        raise OSError(n, os.strerror(n))


class Calls:
    """What a case does and says. The current directory is its own."""

    def __init__(self):
        self.log = []

    def say(self, *what):
        self.log.append(list(what))

    def do(self, what, f, *args, **kw):
        """Makes one call; its error is what it says."""
        try:
            out = f(*args, **kw)
            self.say(what, out if isinstance(out, (int, str, type(None))) else 'ok')
            return out
        except OSError as e:
            self.say(what, errno.errorcode.get(e.errno, e.errno))
            return None

    def stat(self, path, follow=False):
        try:
            st = os.stat(path, follow_symlinks=follow)
        except OSError as e:
            self.say('stat', path, errno.errorcode[e.errno])
            return
        size = st.st_size if not stat.S_ISDIR(st.st_mode) else 0
        self.say('stat', path, oct(st.st_mode), st.st_nlink, st.st_uid, st.st_gid, size, st.st_rdev)

    def times(self, *paths):
        return {p: (os.stat(p, follow_symlinks=False).st_mtime_ns, os.stat(p, follow_symlinks=False).st_ctime_ns)
                for p in paths}

    def moved(self, before):
        """Which of the times are later than before; the clock of files ticks slowly."""
        for p, old in before.items():
            try:
                new = self.times(p)[p]
                self.say('moved', p, new[0] > old[0], new[1] > old[1])
            except OSError as e:
                self.say('moved', p, errno.errorcode[e.errno])

    def wait(self):
        time.sleep(0.012)

    def make(self, kind, name, mode=0o644):
        """A thing of some kind, made without the umask."""
        if kind == 'file':
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        elif kind == 'dir':
            os.mkdir(name, mode)
        elif kind == 'fifo':
            os.mkfifo(name, mode)
        elif kind in ('block', 'char'):
            os.mknod(name, mode | (stat.S_IFBLK if kind == 'block' else stat.S_IFCHR), os.makedev(1, 7))
        elif kind == 'socket':
            s = socket.socket(socket.AF_UNIX)
            s.bind(name)
            s.close()
            os.chmod(name, mode)
        else:
            os.symlink('nowhere', name)

    def remove(self, name):
        (os.rmdir if stat.S_ISDIR(os.lstat(name).st_mode) else os.unlink)(name)

    def be(self, who, f, groups=()):
        """Runs f as somebody else; what it says is said here."""
        r, w = os.pipe()
        pid = os.fork()
        if not pid:
            self.log = []
            try:
                os.setgroups(list(groups))
                os.setresgid(who[1], who[1], who[1])
                os.setresuid(who[0], who[0], who[0])
                f()
            except BaseException as e:
                self.say('raised', repr(e))
            with os.fdopen(w, 'w') as out:
                json.dump(self.log, out)
            os._exit(0)
        os.close(w)
        with os.fdopen(r) as said:
            self.log += [[f'as {who[0]}'] + x for x in json.load(said)]
        os.waitpid(pid, 0)

    def open(self, path, flags, mode=0o644):
        os.close(os.open(path, flags, mode))

    def renameat2(self, a, b, flags):
        libc('renameat2', AT_FDCWD, os.fsencode(a), AT_FDCWD, os.fsencode(b), flags)

    def utimens(self, path, a, m, flags=0):
        libc('utimensat', AT_FDCWD, os.fsencode(path), (Timespec * 2)(Timespec(*a), Timespec(*m)), flags)


# ---------------------------------------------------------------- errors of paths

def by_path(c):
    """Calls that take a path, each with the path as its last argument."""
    return {
        'open': lambda p: c.open(p, os.O_RDONLY),
        'open rw': lambda p: c.open(p, os.O_RDWR),
        'create': lambda p: c.open(p, os.O_CREAT | os.O_WRONLY),
        'create new': lambda p: c.open(p, os.O_CREAT | os.O_EXCL | os.O_WRONLY),
        'open dir': lambda p: c.open(p, os.O_RDONLY | os.O_DIRECTORY),
        'open nofollow': lambda p: c.open(p, os.O_RDONLY | os.O_NOFOLLOW),
        'truncate': lambda p: os.truncate(p, 5),
        'rename from': lambda p: os.rename(p, 'renamed'),
        'rename to': lambda p: os.rename('thing', p),
        'unlink': os.unlink,
        'rmdir': os.rmdir,
        'mkdir': os.mkdir,
        'mkfifo': os.mkfifo,
        'symlink': lambda p: os.symlink('x', p),
        'link': lambda p: os.link('thing', p),
        'link from': lambda p: os.link(p, 'linked', follow_symlinks=False),
        'readlink': os.readlink,
        'chmod': lambda p: os.chmod(p, 0o600),
        'chown': lambda p: os.chown(p, 0, 0),
        'lchown': lambda p: os.lchown(p, 0, 0),
        'utimensat': lambda p: c.utimens(p, (1, 2), (3, 4)),
        'stat': lambda p: os.stat(p) and None,
        'lstat': lambda p: os.lstat(p) and None,
        'listdir': lambda p: len(os.listdir(p)),
    }


def each_call(c, path, what=None):
    """All calls with a path, each in a directory as it was before."""
    there = os.path.lexists(path)
    for name, f in by_path(c).items():
        c.make('file', 'thing')
        c.do(f'{name} {what or path}', f, path)
        for left in ('renamed', 'linked', 'thing', *([] if there else [path])):
            if os.path.lexists(left):
                c.remove(left)


@case
def paths_not_there(c):
    for path in ('none', 'none/below', './none', '../none-at-all', '', 'none/', 'none/.', 'none/..'):
        each_call(c, path)


@case
def paths_through_files(c):
    for kind in TYPES:
        c.make(kind, 'way')
        if kind != 'dir':
            each_call(c, 'way/below', kind)
        c.remove('way')


@case
def paths_too_long(c):
    for n in (254, 255, 256):
        each_call(c, 'x' * n, f'{n} x')
    each_call(c, './' * 2047 + 'y', '4095 bytes')
    each_call(c, './' * 2048 + 'y', '4097 bytes')


@case
def paths_of_links(c):
    os.symlink('ring2', 'ring1')
    os.symlink('ring1', 'ring2')
    each_call(c, 'ring1/x')
    for f in ('open', 'truncate', 'chmod', 'chown', 'utimensat', 'stat', 'listdir', 'create'):
        c.do(f + ' ring1', by_path(c)[f], 'ring1')
    os.mkdir('real')
    os.symlink('real', 'to-dir')
    os.symlink('real/file', 'to-file')
    for path in ('to-dir/made', 'to-dir'):
        each_call(c, path)
    c.do('create through a link', c.open, 'to-file', os.O_CREAT | os.O_WRONLY)
    c.stat('real/file')
    c.do('create new through a link', c.open, 'to-file', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    c.do('nofollow', c.open, 'to-file', os.O_RDONLY | os.O_NOFOLLOW)
    c.do('readlink', os.readlink, 'to-file')
    os.symlink('y' * 4095, 'long')
    c.say(len(os.readlink('long')))
    c.do('link too long', os.symlink, 'y' * 4096, 'longer')


@case
def paths_denied(c):
    os.mkdir('mine', 0o755)
    os.chown('mine', *OTHER)

    def inside():
        os.chdir('mine')
        os.mkdir('shut', 0o755)
        for kind in ('file', 'dir'):
            c.make(kind, 'shut/' + kind)
        for mode in (0o666, 0o555, 0o000):
            os.chmod('shut', mode)
            for path in ('shut/file', 'shut/dir', 'shut/new'):
                each_call(c, path, f'{path} in {oct(mode)}')
            os.chmod('shut', 0o755)
            for kind in ('file', 'dir', 'new'):
                if os.path.lexists('shut/' + kind):
                    c.remove('shut/' + kind)
            for kind in ('file', 'dir'):
                c.make(kind, 'shut/' + kind)
    c.be(OTHER, inside)


# ---------------------------------------------------------------- open

@case
def open_modes(c):
    os.chmod('.', 0o777)
    for mode in (0o777, 0o151, 0o640, 0o000):
        for mask in (0o000, 0o022, 0o077):
            os.umask(mask)
            c.do('create', c.open, 'f', os.O_CREAT | os.O_WRONLY, mode)
            c.stat('f')
            c.be(OTHER, lambda: c.do('create', c.open, 'g', os.O_CREAT | os.O_RDWR, mode))
            c.stat('g')
            os.unlink('f')
            os.unlink('g')
    os.umask(0)


@case
def open_times(c):
    for name, there in (('new', False), ('old', True)):
        if there:
            c.make('file', name)
        before = c.times('.', *([name] if there else []))
        c.wait()
        c.do('open', c.open, name, os.O_CREAT | os.O_WRONLY)
        c.moved(before)
    with open('old', 'w') as f:
        f.write('text')
    before = c.times('.', 'old')
    c.wait()
    c.do('truncating', c.open, 'old', os.O_WRONLY | os.O_TRUNC)
    c.moved(before)
    c.stat('old')


@case
def open_rights(c):
    os.chmod('.', 0o777)
    for who, groups in ((OTHER, ()), ((65534, 65533), ()), (THIRD, ()), (THIRD, (65534,))):
        for mode in (0o700, 0o600, 0o400, 0o200, 0o100, 0o070, 0o060, 0o040, 0o020, 0o007, 0o006, 0o004, 0o002, 0):
            c.make('file', 'f')
            os.chown('f', *OTHER)
            os.chmod('f', mode)

            def tries():
                for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_TRUNC):
                    c.do(f'open {flags:o} of {mode:o} in {groups}', c.open, 'f', flags)
            c.be(who, tries, groups)
            c.remove('f')


@case
def open_kinds(c):
    for kind in TYPES:
        c.make(kind, 'x')
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_CREAT | os.O_EXCL | os.O_WRONLY, os.O_DIRECTORY,
                      os.O_TRUNC | os.O_WRONLY, os.O_NOFOLLOW, os.O_PATH, os.O_PATH | os.O_NOFOLLOW):
            if kind in ('block', 'char') and flags & os.O_TRUNC:
                continue
            c.do(f'open {kind} {flags:o}', c.open, 'x', flags | os.O_NONBLOCK)
            if os.path.lexists('nowhere'):
                c.stat('nowhere')
                os.unlink('nowhere')
        c.stat('x')
        c.remove('x')


@case
def open_contents(c):
    fd = os.open('f', os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600)
    c.do('write', os.write, fd, b'0123456789')
    c.do('pread', lambda: os.pread(fd, 5, 3).decode())
    c.do('read at the end', lambda: os.read(fd, 5).decode())
    a = os.open('f', os.O_WRONLY | os.O_APPEND)
    c.do('append', os.write, a, b'abc')
    os.write(fd, b'!')
    c.do('append again', os.write, a, b'def')
    c.do('all', lambda: os.pread(fd, 100, 0).decode())
    c.do('read of a writer', os.read, a, 1)
    r = os.open('f', os.O_RDONLY)
    c.do('write of a reader', os.write, r, b'x')
    c.do('seek', os.lseek, r, -3, os.SEEK_END)
    c.do('read', lambda: os.read(r, 100).decode())
    c.do('seek before', os.lseek, r, -300, os.SEEK_END)
    c.do('far', os.pwrite, fd, b'z', 1 << 33)
    c.stat('f')
    c.do('hole', lambda: os.pread(fd, 4, 1 << 32).decode())
    c.do('data', lambda: os.lseek(fd, 1 << 20, os.SEEK_DATA) >= 1 << 32)
    c.do('no data', os.lseek, fd, 1 << 40, os.SEEK_DATA)
    c.do('truncate', os.ftruncate, fd, 4)
    c.do('all', lambda: os.pread(fd, 100, 0).decode())
    for x in (a, r, fd):
        os.close(x)
    d = os.open('d', os.O_CREAT | os.O_WRONLY | os.O_SYNC | os.O_TRUNC)
    c.do('sync', os.write, d, b'synced')
    c.do('fsync', os.fsync, d)
    c.do('fdatasync', os.fdatasync, d)
    os.close(d)
    c.do('fsync of a directory', lambda: os.fsync(os.open('.', os.O_RDONLY)))


@case
def open_gone(c):
    """Files that are open and have no name any more."""
    fd = os.open('f', os.O_CREAT | os.O_RDWR, 0o640)
    os.write(fd, b'contents')
    os.link('f', 'g')
    c.do('unlink', os.unlink, 'f')
    c.say(os.fstat(fd).st_nlink)
    c.do('unlink', os.unlink, 'g')
    c.say(os.fstat(fd).st_nlink)
    c.do('read', lambda: os.pread(fd, 100, 0).decode())
    c.do('write', os.pwrite, fd, b'more', 8)
    c.do('ftruncate', os.ftruncate, fd, 10)
    c.do('fchmod', os.fchmod, fd, 0o4755)
    c.do('fchown', os.fchown, fd, 1, 2)
    c.do('futimens', os.utime, fd, (5, 6))
    st = os.fstat(fd)
    c.say(oct(st.st_mode), st.st_uid, st.st_gid, st.st_size, st.st_mtime)
    c.do('reopen', lambda: os.read(os.open(f'/proc/self/fd/{fd}', os.O_RDONLY), 100).decode())
    c.do('a new one', c.open, 'f', os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    c.stat('f')
    c.do('still', lambda: os.pread(fd, 100, 0).decode())
    os.close(fd)
    os.mkdir('d')
    here = os.open('.', os.O_RDONLY)
    gone = os.open('d', os.O_RDONLY)
    os.chdir('d')
    c.do('rmdir', os.rmdir, '../d')
    c.do('create in it', c.open, 'x', os.O_CREAT | os.O_WRONLY)
    c.do('list it', lambda: len(os.listdir('.')))
    c.do('stat it', lambda: os.fstat(gone).st_nlink)
    os.fchdir(here)


@case
def open_programs(c):
    """What runs cannot be written, and what is being written cannot run."""
    shutil.copy(shutil.which('sleep'), 'program')
    os.chmod('program', 0o755)
    p = subprocess.Popen(['./program', '30'])
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY, os.O_WRONLY | os.O_TRUNC):
        c.do(f'open {flags:o}', c.open, 'program', flags)
    c.do('truncate', os.truncate, 'program', 1)
    c.do('rename', os.rename, 'program', 'renamed')
    c.do('unlink', os.unlink, 'renamed')
    p.kill()
    p.wait()
    shutil.copy(shutil.which('true'), 'program')
    os.chmod('program', 0o755)
    fd = os.open('program', os.O_RDWR)
    c.do('run while open', lambda: subprocess.run(['./program']).returncode)
    os.close(fd)
    c.do('run', lambda: subprocess.run(['./program']).returncode)
    c.do('both ways', c.open, 'program', os.O_WRONLY | os.O_RDWR)


# ---------------------------------------------------------------- truncate

@case
def truncate(c):
    with open('f', 'wb') as f:
        f.write(b'0123456789')
    for n in (5, 20, 0, 1 << 20, 3):
        before = c.times('f', '.')
        c.wait()
        c.do(f'truncate {n}', os.truncate, 'f', n)
        c.moved(before)
        c.stat('f')
        with open('f', 'rb') as f:
            c.say(f.read(30).decode())
    c.do('less than nothing', os.truncate, 'f', -1)
    c.do('huge', os.truncate, 'f', (1 << 63) - 1)
    for kind in TYPES:
        if kind not in ('file', 'fifo', 'block', 'char'):
            c.make(kind, 'x')
            c.do('truncate a ' + kind, os.truncate, 'x', 3)
            c.remove('x')
    os.chmod('f', 0o666)

    def other():
        c.do('truncate', os.truncate, 'f', 2)
        c.do('truncate', os.truncate, 'g', 2)
        c.do('open to truncate', c.open, 'g', os.O_TRUNC | os.O_WRONLY)
    with open('g', 'w') as f:
        f.write('0123456789')
    os.chmod('g', 0o644)
    c.be(OTHER, other)
    for mode in (0o6777, 0o4711, 0o2755, 0o2644):
        os.chown('f', *OTHER)
        os.chmod('f', mode)
        c.be(THIRD, lambda: c.do('truncate', os.truncate, 'f', 1))
        c.stat('f')
        c.be(OTHER, lambda: c.do('truncate', os.truncate, 'f', 1))
        c.stat('f')
    fd = os.open('f', os.O_RDONLY)
    c.do('ftruncate of a reader', os.ftruncate, fd, 1)
    os.close(fd)


@case
def writes_take_bits(c):
    os.chmod('.', 0o777)
    for mode in (0o6777, 0o4777, 0o2777):
        c.make('file', 'f')
        os.chown('f', *OTHER)
        os.chmod('f', mode)

        def write():
            fd = os.open('f', os.O_WRONLY)
            c.do('write', os.write, fd, b'x')
            c.say(oct(os.fstat(fd).st_mode))
            os.close(fd)
        c.be(THIRD, write)
        c.stat('f')
        os.chmod('f', mode)
        write()
        c.stat('f')
        c.remove('f')


# ---------------------------------------------------------------- rename

@case
def rename_kinds(c):
    for kind in TYPES:
        c.make(kind, 'a')
        before = c.times('.')
        ino = os.lstat('a').st_ino
        c.wait()
        c.do('rename ' + kind, os.rename, 'a', 'b')
        c.moved(before)
        c.say('the same', os.lstat('b').st_ino == ino)
        c.stat('a')
        c.stat('b')
        os.mkdir('d')
        c.do('into another', os.rename, 'b', 'd/c')
        c.stat('d/c')
        c.stat('.')
        c.stat('d')
        c.remove('d/c')
        c.remove('d')


@case
def rename_onto(c):
    for kind in TYPES:
        for onto in TYPES:
            c.make(kind, 'a')
            c.make(onto, 'b')
            c.do(f'{kind} onto {onto}', os.rename, 'a', 'b')
            c.stat('a')
            c.stat('b')
            for name in ('a', 'b'):
                if os.path.lexists(name):
                    c.remove(name)
    os.mkdir('a')
    os.mkdir('full')
    c.make('file', 'full/x')
    c.do('onto one that is not empty', os.rename, 'a', 'full')
    c.do('into itself', os.rename, 'full', 'full/y')
    c.do('onto its own directory', os.rename, 'full/x', 'full')
    c.do('.', os.rename, '.', 'z')
    c.do('..', os.rename, 'full/..', 'z')
    c.do('full over empty', os.rename, 'full', 'a')
    c.say(sorted(os.listdir('a')))


@case
def rename_links(c):
    c.make('file', 'a')
    os.link('a', 'b')
    c.do('onto another name of it', os.rename, 'a', 'b')
    c.stat('a')
    c.stat('b')
    c.do('onto itself', os.rename, 'a', 'a')
    c.make('file', 'c')
    c.do('over a link', os.rename, 'c', 'b')
    c.stat('a')
    c.stat('b')
    fd = os.open('a', os.O_RDWR)
    os.write(fd, b'old')
    with open('new', 'w') as f:
        f.write('new')
    c.do('over what is open', os.rename, 'new', 'a')
    c.do('it stays', lambda: os.pread(fd, 10, 0).decode())
    c.say(os.fstat(fd).st_nlink, open('a').read())
    os.close(fd)


@case
def rename_flags(c):
    for kind in ('file', 'dir', 'link'):
        for onto in (None, 'file', 'dir', 'link'):
            c.make(kind, 'a')
            if onto:
                c.make(onto, 'b')
            for flags in (NOREPLACE, EXCHANGE, NOREPLACE | EXCHANGE):
                c.do(f'{kind} to {onto} {flags}', c.renameat2, 'a', 'b', flags)
                c.stat('a')
                c.stat('b')
            for name in ('a', 'b'):
                if os.path.lexists(name):
                    c.remove(name)
    os.mkdir('d')
    c.make('file', 'd/x')
    c.make('file', 'y')
    with open('y', 'w') as f:
        f.write('why')
    c.do('across', c.renameat2, 'd/x', 'y', EXCHANGE)
    c.stat('d/x')
    c.stat('y')


@case
def rename_rights(c):
    os.mkdir('theirs', 0o755)
    os.mkdir('sticky', 0o1777)
    os.mkdir('open', 0o777)
    os.chmod('sticky', 0o1777)
    os.chmod('open', 0o777)
    for kind in ('file', 'dir'):
        for owner in (OTHER, THIRD, (0, 0)):
            for place in ('theirs', 'sticky', 'open'):
                for to in ('open', 'sticky', 'theirs'):
                    c.make(kind, place + '/a')
                    os.chown(place + '/a', *owner)
                    c.be(OTHER, lambda: c.do(f'{kind} of {owner[0]} from {place} to {to}', os.rename, place + '/a',
                                             to + '/b'))
                    for name in (place + '/a', to + '/b'):
                        if os.path.lexists(name):
                            c.remove(name)
            c.make(kind, 'open/a')
            os.chown('open/a', *OTHER)
            c.make(kind, 'sticky/b')
            os.chown('sticky/b', *owner)
            c.be(OTHER, lambda: c.do(f'onto what is {owner[0]}s', os.rename, 'open/a', 'sticky/b'))
            for name in ('open/a', 'sticky/b'):
                if os.path.lexists(name):
                    c.remove(name)


@case
def rename_deep(c):
    os.makedirs('a/b/c')
    with open('a/b/c/f', 'w') as f:
        f.write('deep')
    fd = os.open('a/b/c/f', os.O_RDWR)
    at = os.open('a/b', os.O_RDONLY)
    c.do('a directory', os.rename, 'a', 'z')
    c.say(open('z/b/c/f').read())
    c.do('write below', os.write, fd, b'DEEP')
    c.say(open('z/b/c/f').read())
    c.do('by its descriptor', lambda: os.stat('c/f', dir_fd=at).st_size)
    c.do('up', lambda: sorted(os.listdir('z/b/../b')))
    c.do('deeper', os.rename, 'z/b', 'w')
    c.do('by its descriptor', lambda: os.stat('c/f', dir_fd=at).st_size)
    c.do('made by it', lambda: os.close(os.open('g', os.O_CREAT | os.O_WRONLY, dir_fd=at)))
    c.say(sorted(os.listdir('w')), sorted(os.listdir('z')))
    os.close(fd)
    os.close(at)


# ---------------------------------------------------------------- unlink, rmdir

@case
def unlink(c):
    for kind in TYPES:
        c.make(kind, 'x')
        before = c.times('.')
        c.wait()
        c.do('unlink ' + kind, os.unlink, 'x')
        c.moved(before)
        c.stat('x')
        if os.path.lexists('x'):
            c.remove('x')
    c.make('file', 'x')
    os.link('x', 'y')
    before = c.times('y')
    c.wait()
    c.do('one name of two', os.unlink, 'x')
    c.moved(before)
    c.stat('y')
    for path in ('.', '..', 'y/'):
        c.do('unlink ' + path, os.unlink, path)


@case
def unlink_rights(c):
    for mode in (0o777, 0o1777, 0o755, 0o1755, 0o733):
        for owner in ((0, 0), OTHER, THIRD):
            for kind in ('file', 'dir', 'link', 'fifo'):
                os.mkdir('d')
                os.chmod('d', mode)
                c.make(kind, 'd/x')
                os.chown('d/x', *owner, follow_symlinks=False)
                c.be(OTHER, lambda: c.do(f'{kind} of {owner[0]} in {mode:o}', os.rmdir if kind == 'dir' else os.unlink,
                                         'd/x'))
                if os.path.lexists('d/x'):
                    c.remove('d/x')
                os.rmdir('d')


@case
def rmdir(c):
    for kind in TYPES:
        c.make(kind, 'x')
        c.do('rmdir ' + kind, os.rmdir, 'x')
        if os.path.lexists('x'):
            c.remove('x')
        os.mkdir('d')
        c.make(kind, 'd/x')
        c.do('with a ' + kind, os.rmdir, 'd')
        c.remove('d/x')
        c.do('without', os.rmdir, 'd')
    os.mkdir('d')
    for path in ('d/.', 'd/..', '.'):
        c.do('rmdir ' + path, os.rmdir, path)
    before = c.times('.')
    c.wait()
    c.do('rmdir', os.rmdir, 'd')
    c.moved(before)
    c.stat('.')


# ---------------------------------------------------------------- mkdir and others that make

@case
def makes(c):
    os.chmod('.', 0o777)
    made = {'mkdir': os.mkdir, 'mkfifo': os.mkfifo,
            'mknod': lambda p, mode: os.mknod(p, mode | stat.S_IFREG),
            'device': lambda p, mode: os.mknod(p, mode | stat.S_IFCHR, os.makedev(1, 3)),
            'symlink': lambda p, mode: os.symlink('x', p)}
    for name, f in made.items():
        for mode in (0o755, 0o151, 0o7777, 0o000):
            for mask in (0, 0o077, 0o070):
                os.umask(mask)
                before = c.times('.')
                c.wait()
                c.do(name, f, 'x', mode)
                c.moved(before)
                c.stat('x')
                c.be(THIRD, lambda: c.do(name, f, 'y', mode))
                c.stat('y')
                for p in ('x', 'y'):
                    if os.path.lexists(p):
                        c.remove(p)
                os.umask(0)
        for kind in TYPES:
            c.make(kind, 'x')
            c.do(f'{name} where a {kind} is', f, 'x', 0o755)
            c.remove('x')
    os.mkdir('group', 0o777)
    os.chown('group', 0, 65533)
    os.chmod('group', 0o2777)
    for name, f in made.items():
        c.be(OTHER, lambda: c.do(name, f, 'group/x', 0o2755))
        c.stat('group/x')
        if os.path.lexists('group/x'):
            c.remove('group/x')
    c.be(OTHER, lambda: c.do('create', c.open, 'group/f', os.O_CREAT | os.O_WRONLY, 0o2770))
    c.stat('group/f')
    c.stat('.')


@case
def links(c):
    for kind in TYPES:
        c.make(kind, 'a')
        before = c.times('a', '.')
        c.wait()
        c.do('link ' + kind, os.link, 'a', 'b', follow_symlinks=False)
        c.moved(before)
        for name in ('a', 'b'):
            c.stat(name)
            if os.path.lexists(name):
                c.remove(name)
    with open('f', 'w') as f:
        f.write('shared')
    os.link('f', 'g')
    with open('g', 'a') as f:
        f.write(' by two')
    c.say(open('f').read(), os.stat('f').st_ino == os.stat('g').st_ino)
    a = os.open('f', os.O_RDWR)
    b = os.open('g', os.O_RDWR)
    os.pwrite(a, b'SHARED', 0)
    c.say(os.pread(b, 6, 0).decode())
    c.do('chmod', os.chmod, 'f', 0o601)
    c.stat('g')
    c.do('unlink', os.unlink, 'f')
    c.stat('g')
    c.do('link again', os.link, 'g', 'f')
    c.say(open('f').read())
    os.close(a)
    os.close(b)


# ---------------------------------------------------------------- chmod, chown

@case
def chmod(c):
    for kind in TYPES:
        if kind == 'link':
            continue
        c.make(kind, 'x')
        for mode in (0o111, 0o7777, 0, 0o4640):
            before = c.times('x', '.')
            c.wait()
            c.do(f'chmod {kind} {mode:o}', os.chmod, 'x', mode)
            c.moved(before)
            c.stat('x')
        c.remove('x')
    c.make('file', 'f')
    os.symlink('f', 'l')
    c.do('through a link', os.chmod, 'l', 0o321)
    c.stat('f')
    c.stat('l')
    os.chown('f', *OTHER)

    def tries(mode):
        before = c.times('f')
        c.wait()
        c.do(f'chmod {mode:o}', os.chmod, 'f', mode)
        c.moved(before)
        c.stat('f')
    for who, groups in ((OTHER, ()), (THIRD, ()), ((65534, 65533), ()), ((65534, 65533), (65534,)), ((65533, 65534), ())):
        for mode in (0o644, 0o4755, 0o2755, 0o1755, 0o2644):
            c.be(who, lambda: tries(mode), groups)
    os.mkdir('d')
    os.chown('d', *OTHER)
    for who in (OTHER, (65534, 65533), THIRD):
        for mode in (0o1777, 0o2755):
            c.be(who, lambda: c.do(f'directory {mode:o}', os.chmod, 'd', mode))
            c.stat('d')
    fd = os.open('f', os.O_RDONLY)
    c.do('fchmod', os.fchmod, fd, 0o700)
    c.say(oct(os.fstat(fd).st_mode))
    os.close(fd)


@case
def chown(c):
    for kind in TYPES:
        c.make(kind, 'x')
        for uid, gid in ((123, 456), (0, 0), (-1, 5), (7, -1), (-1, -1)):
            before = c.times('x')
            c.wait()
            c.do(f'lchown {kind} {uid} {gid}', os.chown, 'x', uid, gid, follow_symlinks=False)
            c.moved(before)
            c.stat('x')
        c.remove('x')
    for mode in (0o6777, 0o6644, 0o2755):
        c.make('file', 'f')
        os.chown('f', *OTHER)
        for who, groups in (((0, 0), ()), (OTHER, ()), (OTHER, (65533,)), (THIRD, ())):
            for uid, gid in ((65534, 65533), (65533, -1), (-1, 65534), (65534, 65534), (-1, -1)):
                os.chown('f', *OTHER)
                os.chmod('f', mode)
                c.be(who, lambda: c.do(f'chown {uid} {gid} of {mode:o}', os.chown, 'f', uid, gid), groups)
                c.stat('f')
        c.remove('f')


# ---------------------------------------------------------------- utimensat

@case
def utimensat(c):
    values = ((1, 2), (1 << 31, 999999999), (-5, 0), (0, UTIME_NOW), (0, UTIME_OMIT), (1 << 33, 1), (0, 1000000000))
    for kind in TYPES:
        c.make(kind, 'x')
        for a in values:
            for m in values:
                before = c.times('x')
                c.do(f'{kind} {a} {m}', c.utimens, 'x', a, m, 0x100)
                st = os.lstat('x')
                near = abs(st.st_mtime - time.time()) < 100
                c.say('now' if near else st.st_mtime_ns, 'now' if abs(st.st_atime - time.time()) < 100 else st.st_atime_ns)
                if m[1] == UTIME_OMIT:
                    c.say('left', before['x'][0] == st.st_mtime_ns)
        c.remove('x')
    c.make('file', 'f')
    os.symlink('f', 'l')
    c.do('through a link', c.utimens, 'l', (1, 1), (2, 2))
    c.say(os.stat('f').st_mtime, os.lstat('l').st_mtime > 1000)
    before = c.times('f', '.')
    c.wait()
    c.do('all left', c.utimens, 'f', (0, UTIME_OMIT), (0, UTIME_OMIT))
    c.moved(before)
    c.do('now', c.utimens, 'f', (0, UTIME_NOW), (0, UTIME_NOW))
    c.moved(before)
    os.chown('f', *OTHER)
    for mode in (0o644, 0o666, 0o444):
        os.chmod('f', mode)
        for who in (OTHER, THIRD):
            for a, m in (((1, 1), (2, 2)), ((0, UTIME_NOW), (0, UTIME_NOW)), ((0, UTIME_OMIT), (0, UTIME_NOW)),
                         ((0, UTIME_OMIT), (3, 3)), ((0, UTIME_OMIT), (0, UTIME_OMIT))):
                c.be(who, lambda: c.do(f'{mode:o} {a} {m}', c.utimens, 'f', a, m))


# ---------------------------------------------------------------- space

@case
def space(c):
    fd = os.open('f', os.O_CREAT | os.O_RDWR)
    os.write(fd, b'0123456789')
    c.do('fallocate', os.posix_fallocate, fd, 0, 100000)
    c.stat('f')
    c.do('kept', libc, 'fallocate', fd, 1, ctypes.c_long(0), ctypes.c_long(1 << 20))
    c.stat('f')
    c.do('punched', libc, 'fallocate', fd, 3, ctypes.c_long(2), ctypes.c_long(3))
    c.do('all', lambda: os.pread(fd, 10, 0).decode())
    c.do('room', lambda: os.fstat(fd).st_blocks * 512 >= 1 << 20)
    out = os.open('g', os.O_CREAT | os.O_RDWR)
    c.do('copied', os.copy_file_range, fd, out, 50, 0, 3)
    c.do('all', lambda: os.pread(out, 20, 0).decode())
    os.close(fd)
    os.close(out)
    v = os.statvfs('.')
    c.say(v.f_bsize, v.f_namemax)


# ---------------------------------------------------------------- both

def run_in(where, f):
    """In a process of its own: it changes its directory, umask and more."""
    os.mkdir(where, 0o755)
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        c = Calls()
        try:
            os.chdir(where)
            os.umask(0)
            f(c)
        except BaseException as e:
            c.say('raised', repr(e))
        with os.fdopen(w, 'w') as out:
            json.dump(c.log, out)
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as said:
        log = json.load(said)
    os.waitpid(pid, 0)
    return log


def compare(native, mounted):
    bad = []
    for i, (a, b) in enumerate(zip(native, mounted)):
        if a != b:
            bad.append(f'{i}: {b}, the folder itself: {a}')
    if len(native) != len(mounted):
        bad.append(f'{len(mounted)} lines, the folder itself {len(native)}')
    return bad


def same_answers(t):
    folder, beside = t.dir('folder'), t.dir('beside')
    with Mount(t, folder, 'allow_other', 'dev', 'suid') as m:
        for f in CASES:
            native = run_in(os.path.join(beside, f.__name__), f)
            mounted = run_in(os.path.join(m.point, f.__name__), f)
            t.ok(not any(x[-2:-1] == ['raised'] or x[0] == 'raised' for x in native), f.__name__ + ' can be asked',
                 [x for x in native if 'raised' in x][:1])
            t.none(compare(native, mounted), f'{f.__name__}: {len(native)} answers')
        t.same(sorted(os.listdir(folder)), sorted([f.__name__ for f in CASES] + ['.modelfs-lock']), 'all lies in the folder')


if __name__ == '__main__':
    if os.geteuid():
        print('skipped: only root can be somebody else')
        sys.exit(77)
    lib.main(same_answers, needs_fuse=True)
