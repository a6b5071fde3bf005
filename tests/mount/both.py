"""The same calls in two folders, and what they answered: a folder as it is against a mount of another one.

A case is a function that takes a Side and makes its calls through it; its working directory is an empty folder. Every
answer goes into the side's log: a value, the name of an error, a file's attributes. Afterwards both logs must be the
same, line by line; the words of a line say which call it was. Times and inode numbers are compared by their order.
"""
import contextlib
import ctypes
import difflib
import errno
import hashlib
import os
import re
import socket
import stat
import time
import traceback

from lib import LIBC

ROOT = os.geteuid() == 0
AT_FDCWD, AT_SYMLINK_FOLLOW = -100, 0x400
OWNER, OTHER = 65534, 65533                        # two users who are not root, and groups of the same numbers
TICK = 2.5 * time.clock_getres(5)                  # CLOCK_REALTIME_COARSE: file systems' clocks go by steps
KINDS = ['file', 'folder', 'full folder', 'fifo', 'socket', 'link', 'dangling link'] + (
    ['character device', 'block device'] if ROOT else [])
LETTER = {stat.S_IFREG: 'file', stat.S_IFDIR: 'folder', stat.S_IFIFO: 'fifo', stat.S_IFSOCK: 'socket',
          stat.S_IFLNK: 'link', stat.S_IFCHR: 'character device', stat.S_IFBLK: 'block device'}
CASES = []


def case(f):
    CASES.append(f)
    return f


def as_root(f):
    """A case that needs users other than its own."""
    if ROOT:
        CASES.append(f)
    return f


def libc(name, *args):
    ctypes.set_errno(0)
    r = getattr(LIBC, name)(*[a.encode() if isinstance(a, str) else a for a in args])
    if r < 0:
        n = ctypes.get_errno()
        raise OSError(n, os.strerror(n))
    return r


def plain(value):
    """A value as it can be compared and printed."""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value) if len(value) < 60 else f'{len(value)} bytes {hashlib.md5(value).hexdigest()[:8]}'
    if isinstance(value, os.stat_result):
        return attributes(value)
    return value


def attributes(st):
    kind = LETTER[stat.S_IFMT(st.st_mode)]
    out = f'{kind} {st.st_mode & 0o7777:04o} {st.st_uid}:{st.st_gid} nlink {st.st_nlink}'
    if kind in ('file', 'link'):
        out += f' size {st.st_size}'
    return out + (f' {os.major(st.st_rdev)}:{os.minor(st.st_rdev)}' if 'device' in kind else '')


class Side:
    """One of the two folders. `beneath` is where the same files lie without a mount between."""

    def __init__(self, root, beneath):
        self.root, self.beneath = root, beneath
        self.log, self.open_fds, self.below = [], [], None

    def run(self, f):
        """-> the log of a case"""
        self.log, self.below = [], os.path.join(self.beneath, f.__name__)
        old_mask = os.umask(0o022)
        os.mkdir(self.below)
        os.chdir(os.path.join(self.root, f.__name__))
        try:
            f(self)
            self.tree('in the end')
        except Exception as e:
            self.log.append(('the case itself',
                             ''.join(traceback.format_exception_only(e)) + traceback.format_exc()[-900:]))
        finally:
            self.close_all()
            os.umask(old_mask)
            os.chdir('/')
        return self.log

    def note(self, what, value):
        self.log.append((what, plain(value)))

    def call(self, what, f, *args, **more):
        """Makes a call and notes what it answered; gives that, or None after an error."""
        try:
            value = f(*args, **more)
        except OSError as e:
            self.note(what, errno.errorcode.get(e.errno, str(e)))
            return None
        self.note(what, value)
        return value

    def open(self, what, path, flags, mode=0o666, **more):
        """As call; the descriptor is closed after the case, unless close() does it."""
        try:
            fd = os.open(path, flags, mode, **more)
        except OSError as e:
            self.note(what, errno.errorcode.get(e.errno, str(e)))
            return None
        self.note(what, 'open')
        self.open_fds.append(fd)
        return fd

    def close(self, fd):
        self.open_fds.remove(fd)
        os.close(fd)

    def close_all(self):
        for fd in self.open_fds:
            with contextlib.suppress(OSError):
                os.close(fd)
        self.open_fds = []

    def stat(self, what, path, **more):
        return self.call(what, os.stat, path, **{'follow_symlinks': False, **more})

    def same_inode(self, what, *stats):
        """Which of them are the same file."""
        first = {}
        self.note(what, [first.setdefault(st.st_ino, len(first)) for st in stats])

    def order(self, what, before, after):
        """Which of an earlier and a later stat's times moved."""
        sign = lambda a, b: '<' if a < b else '=' if a == b else '>'
        self.note(what, ' '.join(f'{k} {sign(getattr(before, n), getattr(after, n))}' for k, n in (
            ('modified', 'st_mtime_ns'), ('changed', 'st_ctime_ns'))))

    def moved(self, what, path, change, *args, **more):
        """The times of `path` (a name or descriptor) before and after a call that should, or should not, move them."""
        before = os.stat(path, follow_symlinks=False) if not isinstance(path, int) else os.fstat(path)
        time.sleep(TICK)
        self.call(what, change, *args, **more)
        after = os.stat(path, follow_symlinks=False) if not isinstance(path, int) else os.fstat(path)
        self.order(what + ': times', before, after)

    def read(self, what, path):
        def all_of():
            with open(path, 'rb') as f:
                return f.read()
        return self.call(what, all_of)

    def user(self, what, f, *args, uid=OWNER, groups=None):
        """The calls of f(side, *args) as another user. The process keeps the way back in its saved user."""
        groups = groups or [uid]
        log, self.log = self.log, []
        home = os.open('.', os.O_RDONLY)
        old_groups = os.getgroups()
        os.setgroups(groups)
        os.setresgid(groups[0], groups[0], 0)
        os.setresuid(uid, uid, 0)
        try:
            f(self, *args)
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(old_groups)
            os.fchdir(home)
            os.close(home)
            self.log = log + [(what + ': ' + line if what else line, answer) for line, answer in self.log]

    def as_user(self, what, f, *args, uid=OWNER, groups=None, **more):
        """One call as another user."""
        self.user('', lambda s: s.call(what, f, *args, **more), uid=uid, groups=groups)

    def make(self, kind, name):
        """A file of a kind. A link leads to `target`, which the case makes if it should be there."""
        if kind == 'file':
            with open(name, 'wb') as f:
                f.write(b'0123456789')
        elif kind in ('folder', 'full folder'):
            os.mkdir(name)
            if kind == 'full folder':
                os.close(os.open(os.path.join(name, 'inside'), os.O_CREAT))
        elif kind == 'fifo':
            os.mkfifo(name)
        elif kind == 'socket':
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(name)
        elif kind == 'link':
            os.symlink('target', name)
        elif kind == 'dangling link':
            os.symlink('nothing', name)
        elif kind == 'character device':
            os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        elif kind == 'block device':
            os.mknod(name, stat.S_IFBLK | 0o666, os.makedev(7, 250))

    def remove(self, name):
        try:
            st = os.lstat(name)
        except OSError:
            return
        if stat.S_ISDIR(st.st_mode):
            if not ROOT:
                os.chmod(name, 0o700)
            for n in os.listdir(name):
                self.remove(os.path.join(name, n))
            os.rmdir(name)
        else:
            os.unlink(name)

    def tree(self, what, top=b'.'):
        """Notes everything there is: names, attributes, contents, where links lead, in both ways to see it."""
        out = {}

        def look(at):
            for e in sorted(os.scandir(at), key=lambda e: e.name):
                st = os.lstat(e.path)
                kind = LETTER[stat.S_IFMT(st.st_mode)]
                more = ''
                if kind == 'link':
                    more = os.readlink(e.path)
                elif kind == 'file' and st.st_size < 1 << 20:
                    with contextlib.suppress(PermissionError), open(e.path, 'rb') as f:
                        more = f.read()
                out[os.fsencode(e.path)[2:]] = f'{attributes(st)} {plain(more)}'
                if kind == 'folder':
                    with contextlib.suppress(PermissionError):
                        look(e.path)
        look(top)
        if len(out) < 50:
            for path, line in out.items():
                self.note(f'{what}, {path!r}', line)
        else:
            self.note(what, plain(repr(out).encode()))
        self.note(f'{what}, names', plain(repr(sorted(out)).encode()))


def differences(native, mounted):
    """[(words, what native answered, what the mount answered)]"""
    out = []
    words = difflib.SequenceMatcher(None, [w for w, _ in native], [w for w, _ in mounted], autojunk=False)
    for kind, a, b, c, d in words.get_opcodes():
        if kind == 'equal':
            out += [(w, x, y) for (w, x), (_, y) in zip(native[a:b], mounted[c:d]) if x != y]
        else:
            out += [(w, x, 'was not asked') for w, x in native[a:b]] + [(w, 'was not asked', y) for w,
                                                                        y in mounted[c:d]]
    return out


class Exceptions:
    """Known differences, {id: pattern of 'case: words'}. One that no longer is one is told, too."""

    def __init__(self, table):
        self.table = {k: re.compile(pattern) for k, pattern in table.items()}
        self.seen = set()

    def known(self, text):
        found = {k for k, pattern in self.table.items() if pattern.fullmatch(text)}
        self.seen |= found
        return bool(found)


def compare(t, native, mounted, exceptions, cases):
    """Runs all cases on both sides."""
    for f in cases:
        name = f.__name__.replace('_', ' ')
        began = time.monotonic()
        a, b = native.run(f), mounted.run(f)
        bad = [f'{words}: native {x}, mount {y}' for words, x, y in differences(a, b)
               if not exceptions.known(f'{name}: {words}')]
        bad += [f'{words}: {x}' for words, x in a if words == 'the case itself']
        t.none(bad, f'{name}: {len(a)} answers')
        if os.environ.get('MODELFS_TIMES'):
            print(f'        {time.monotonic() - began:.2f} s')
