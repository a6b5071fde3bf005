"""Cases of posix.py: calls in any order, drawn by a number, and by several threads at once."""
import errno
import os
import random
import stat
import threading

from both import ROOT, attributes, case

SEEDS = [int(x) for x in os.environ.get('MODELFS_SEEDS', '1,2,3').split(',')]
STEPS = 1500
NAMES = ['a', 'b', 'c', 'name', 'other name', 'x.txt']
FEW_HANDLES = 12


class Walk:
    """Random calls; which ones depends on the numbers drawn and on answers that both sides must give alike."""

    def __init__(self, s, seed):
        self.s, self.seed, self.rng, self.handles, self.step = s, seed, random.Random(seed), {}, 0
        self.text = b''.join(b'%05d ' % i for i in range(2000))
        top = [('make', 10), ('write', 12), ('cut', 6), ('cut_open', 4), ('rename', 14), ('link', 6), ('symlink', 4),
               ('unlink', 8),
               ('mkdir', 8), ('rmdir', 4), ('open', 10), ('close', 6), ('read_open', 8), ('write_open', 8), ('look', 8),
               ('list', 4),
               ('read', 8), ('chmod', 4), ('times', 3), ('beneath', 6), ('fallocate', 2), ('seek', 2), ('stat_open', 4),
               ('exchange', 3)]
        self.kinds, self.weights = zip(*top)

    def path(self):
        depth = self.rng.choice((0, 0, 1, 1, 1, 2, 3))
        return '/'.join(self.rng.choice(NAMES) for _ in range(depth + 1))

    def handle(self):
        return self.rng.choice(sorted(self.handles)) if self.handles else None

    def run(self):
        for self.step in range(STEPS):
            kind = self.rng.choices(self.kinds, self.weights)[0]
            getattr(self, kind)()
        for key in list(self.handles):
            self.s.close(self.handles.pop(key))

    def call(self, words, f, *args, **more):
        return self.s.call(f'seed {self.seed}, step {self.step}: {words}', f, *args, **more)

    def piece(self):
        at, n = self.rng.randrange(9000), self.rng.choice((1, 10, 700, 4096, 5000))
        return at, self.text[at % 700:at % 700 + n]

    def make(self):
        path, mode = self.path(), self.rng.choice((0o644, 0o600, 0o666))
        self.call(f'create {path}', lambda: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)))

    def write(self):
        path, (_, text) = self.path(), self.piece()
        flags = self.rng.choice((os.O_TRUNC, os.O_APPEND, 0, os.O_CREAT | os.O_TRUNC, os.O_CREAT | os.O_APPEND))

        def f():
            fd = os.open(path, os.O_WRONLY | flags)
            try:
                return os.write(fd, text)
            finally:
                os.close(fd)
        self.call(f'write {path}, flags {flags:#x}', f)

    def cut(self):
        path, n = self.path(), self.rng.choice((0, 1, 100, 5000, 20000))
        self.call(f'truncate {path} to {n}', os.truncate, path, n)

    def cut_open(self):
        key, n = self.handle(), self.rng.choice((0, 1, 100, 5000, 20000))
        if key is not None:
            self.call(f'ftruncate handle {key} to {n}', os.ftruncate, self.handles[key], n)

    def rename(self):
        a, b = self.path(), self.path()
        self.call(f'rename {a} to {b}', os.rename, a, b)

    def exchange(self):
        from posixmove import EXCHANGE, renameat2
        a, b = self.path(), self.path()
        self.call(f'exchange {a} and {b}', renameat2, a, b, EXCHANGE)

    def link(self):
        a, b = self.path(), self.path()
        self.call(f'link {a} to {b}', os.link, a, b, follow_symlinks=False)

    def symlink(self):
        a, b = self.path(), self.path()
        self.call(f'symlink {b} to {a}', os.symlink, a, b)

    def unlink(self):
        path = self.path()
        self.call(f'unlink {path}', os.unlink, path)

    def mkdir(self):
        path = self.path()
        self.call(f'mkdir {path}', os.mkdir, path)

    def rmdir(self):
        path = self.path()
        self.call(f'rmdir {path}', os.rmdir, path)

    def open(self):
        path, flags = self.path(), self.rng.choice((os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT,
                                                    os.O_RDWR | os.O_APPEND))
        if len(self.handles) >= FEW_HANDLES:
            return self.close()
        fd = self.s.open(f'seed {self.seed}, step {self.step}: open {path}, flags {flags:#x}', path, flags)
        if fd is not None:
            self.handles[self.step] = fd

    def close(self):
        key = self.handle()
        if key is not None:
            self.s.close(self.handles.pop(key))

    def read_open(self):
        key, (at, text) = self.handle(), self.piece()
        if key is not None:
            self.call(f'read handle {key} at {at}', os.pread, self.handles[key], len(text), at)

    def write_open(self):
        key, (at, text) = self.handle(), self.piece()
        if key is not None:
            self.call(f'write handle {key} at {at}', os.pwrite, self.handles[key], text, at)

    def stat_open(self):
        key = self.handle()
        if key is not None:
            self.call(f'fstat handle {key}', os.fstat, self.handles[key])

    def look(self):
        path = self.path()
        self.call(f'lstat {path}', os.lstat, path)
        self.call(f'stat {path}', os.stat, path)

    def list(self):
        path = self.path()
        self.call(f'listdir {path}', lambda: sorted(os.listdir(path)))

    def read(self):
        path = self.path()
        self.s.read(f'seed {self.seed}, step {self.step}: read {path}', path)

    def chmod(self):
        path, mode = self.path(), self.rng.choice((0o755, 0o700, 0o777))
        self.call(f'chmod {path} {mode:o}', os.chmod, path, mode)

    def times(self):
        path, t = self.path(), self.rng.randrange(1 << 31)
        self.call(f'times {path}', os.utime, path, (t, t + 1))
        self.call(f'times {path}: then', lambda: os.stat(path).st_mtime)

    def fallocate(self):
        key, n = self.handle(), self.rng.choice((100, 9000))
        if key is not None:
            self.call(f'fallocate handle {key}, {n}', os.posix_fallocate, self.handles[key], 50, n)

    def seek(self):
        key = self.handle()
        if key is not None and stat.S_ISREG(os.fstat(self.handles[key]).st_mode):
            self.call(f'end of handle {key}', os.lseek, self.handles[key], 0, os.SEEK_END)

    def beneath(self):
        """Another program, in the folder itself."""
        a, b = self.path(), self.path()
        low = lambda path: os.path.join(self.s.below, str(self.seed), path)
        kind = self.rng.choice(('write', 'rename', 'unlink', 'mkdir', 'create', 'truncate', 'rmdir'))
        f = {'write': lambda: os.close(self.written(low(a))), 'rename': lambda: os.rename(low(a), low(b)),
             'unlink': lambda: os.unlink(low(a)), 'mkdir': lambda: os.mkdir(low(a)), 'rmdir': lambda: os.rmdir(low(a)),
             'create': lambda: os.close(os.open(low(a), os.O_CREAT | os.O_EXCL)),
             'truncate': lambda: os.truncate(low(a), 77)}[kind]
        self.call(f'beneath: {kind} {a} {b}', f)
        self.call(f'beneath: {kind} {a}: seen', os.lstat, a)

    def written(self, path):
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, b'from beneath', 3)
        return fd


@case
def calls_in_any_order(s):
    for seed in SEEDS:
        os.mkdir(str(seed))
        os.chdir(str(seed))
        Walk(s, seed).run()
        os.chdir('..')


FINE = (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR, errno.ENOTDIR, errno.EINVAL, errno.ELOOP,
        errno.EMLINK, errno.EBUSY, errno.EPERM) + (() if ROOT else (errno.EACCES,))


def scramble(seed, bad):
    rng = random.Random(seed)
    path = lambda: '/'.join(rng.choice('pqrs') for _ in range(rng.choice((1, 1, 2, 3))))
    for _ in range(600):
        a, b = path(), path()
        calls = (lambda: os.mkdir(a), lambda: os.rename(a, b), lambda: os.unlink(a), lambda: os.rmdir(a),
                 lambda: os.link(a, b),
                 lambda: os.listdir(a), lambda: os.lstat(a), lambda: os.truncate(a, 100), lambda: os.symlink(b, a),
                 lambda: write(a, rng), lambda: write(a, rng), lambda: os.chmod(a, 0o755))
        try:
            rng.choice(calls)()
        except OSError as e:
            if e.errno not in FINE:
                bad.append(f'{e}')


def write(path, rng):
    fd = os.open(path, os.O_CREAT | os.O_RDWR)
    try:
        text = b'%08d' % rng.randrange(10 ** 8) * rng.randrange(1, 2000)
        os.pwrite(fd, text, 0)
        os.ftruncate(fd, len(text))
    finally:
        os.close(fd)


@case
def many_at_once(s):
    """Threads that get in each other's way: only answers that a folder gives; in the end it is what lies beneath."""
    bad = []
    threads = [threading.Thread(target=scramble, args=(seed, bad)) for seed in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    s.note('answers that no folder gives', bad[:5])

    def tree(top):
        return sorted((os.path.relpath(p, top), attributes(os.lstat(p))) for at, folders, files in os.walk(top)
                      for p in [os.path.join(at, n) for n in folders + files])
    mine, beneath = tree('.'), tree(s.below)
    s.note('seen otherwise than from beneath', [x for x in mine if x not in beneath][:3] + [
        x for x in beneath if x not in mine][:3])
    for name in 'pqrs':
        s.remove(name)
