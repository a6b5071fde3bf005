"""A folder as SOURCE: what it mirrors, which files are models, and where it may be mounted."""
import ctypes
import errno
import mmap
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import time

import lib
from lib import SANITIZERS, SLOW, Mount, read, run
from mount import attempt

KIT = ('00.pmo', '01.ahi', '02.tmh')
MANY = 20000 if SANITIZERS else 100000
OPEN_MOST = 256
STEPS = 1500 if SANITIZERS else 6000
JOURNAL = ('.modelfs-journal', '.modelfs-lock', '.modelfs-new', '.modelfs-undo', '.modelfs-undo.1')


# ---------------------------------------------------------------- what others need

def model(t, name='00.pmo', pac=None):
    """The bytes of a model of the demo archive."""
    whole = os.path.join(t.tree, pac or t.kit, name, 'raw')
    return read(whole, next(n for n in os.listdir(whole) if n.startswith('whole.')))


def put(*path, data):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    with open(os.path.join(*path), 'wb') as f:
        f.write(data)


def furnished(t):
    """A folder with models, plain files, and all else that can lie in one."""
    folder = t.dir('folder')
    for name in KIT:
        put(folder, 'models', 'body.' + name[3:], data=model(t, name))
    put(folder, 'models', 'deep', 'er', 'Crate.PMO', data=model(t))
    put(folder, 'models', 'only contents tell.txt', data=model(t, '02.tmh'))
    put(folder, 'archive', 'kit.pac', data=read(t.tree, t.kit, 'raw', 'whole.pac'))
    put(folder, 'no model.pmo', data=b'text that is no model\n' * 9)
    put(folder, 'empty.pmo', data=b'')
    put(folder, 'short.tmh', data=b'.T')
    put(folder, 'ünï\\code "x" .bin', data=os.urandom(300000))
    put(folder, '.hidden', data=b'seen all the same')
    os.mkdir(os.path.join(folder, 'empty'))
    os.symlink('models/body.pmo', os.path.join(folder, 'link'))
    os.symlink('../outside', os.path.join(folder, 'out'))
    os.symlink('models', os.path.join(folder, 'to-models'))
    os.link(os.path.join(folder, '.hidden'), os.path.join(folder, 'second name'))
    os.mkfifo(os.path.join(folder, 'fifo'))
    s = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)
    s.bind('socket')
    os.chdir(here)
    s.close()
    os.chmod(os.path.join(folder, 'short.tmh'), 0o640)
    os.utime(os.path.join(folder, '.hidden'), (12345, 67890))
    return folder


def contents(root):
    """lib.snapshot() of a folder with all kinds of things in it."""
    out = {}
    for at, dirs, files in os.walk(root):
        for name in dirs + files:
            path = os.path.join(at, name)
            mode = os.lstat(path).st_mode
            p = os.path.relpath(path, root)
            out[p] = os.readlink(path) if stat.S_ISLNK(mode) else None if stat.S_ISDIR(mode) else \
                lib.digest(read(path)) if stat.S_ISREG(mode) else stat.S_IFMT(mode)
    return {p: v for p, v in out.items() if not os.path.basename(p).startswith('.modelfs-')}


MODELS = {'models/body.pmo', 'models/body.ahi', 'models/body.tmh', 'models/deep/er/Crate.PMO',
          'models/only contents tell.txt', 'archive/kit.pac'}


def all_of(folder):
    out = []
    for at, dirs, files in os.walk(folder):
        out += [os.path.relpath(os.path.join(at, n), folder) for n in dirs + files]
    return sorted(p for p in out if not os.path.basename(p).startswith('.modelfs-'))


def same_stat(a, b):
    keys = ('st_mode', 'st_ino', 'st_nlink', 'st_uid', 'st_gid', 'st_size', 'st_mtime_ns', 'st_ctime_ns', 'st_blocks')
    return [f'{k}: {getattr(a, k)}, in the folder {getattr(b, k)}' for k in keys if getattr(a, k) != getattr(b, k)]


# ---------------------------------------------------------------- the mirror

def mirrored(folder, point):
    """What differs outside models."""
    bad = []
    for p in all_of(folder):
        own, shown = os.path.join(folder, p), os.path.join(point, p)
        if p in MODELS:
            st = os.lstat(shown)
            if not stat.S_ISDIR(st.st_mode) or st.st_ino != os.lstat(own).st_ino:
                bad.append(f'{p}: is no directory, or another one')
            continue
        bad += [f'{p}: {x}' for x in same_stat(os.lstat(shown), os.lstat(own))]
        if os.path.islink(own) and os.readlink(own) != os.readlink(shown):
            bad.append(f'{p}: leads to {os.readlink(shown)}')
        if stat.S_ISREG(os.lstat(own).st_mode) and read(own) != read(shown):
            bad.append(f'{p}: other bytes')
        if stat.S_ISDIR(os.lstat(own).st_mode):
            have = {n: k for n, k, _, _ in lib.entries(shown)}
            want = {n: lib.DT_DIR if os.path.join(p, n) in MODELS else k for n, k, _, _ in lib.entries(own)}
            bad += [] if have == want else [f'{p}: lists {have}, expected {want}']
    return bad


def mirror(t):
    folder = furnished(t)
    for options in ((), ('ro',)):
        with Mount(t, folder, *options) as m:
            t.none(mirrored(folder, m.point), f'all is mirrored {options}')
            bad = {p: lib.differences(lib.snapshot(os.path.join(m.point, p)), alone(t, folder, p)) for p in MODELS}
            t.none([f'{p}: {x}' for p in bad for x in bad[p]], f'models show what they show alone {options}')
            t.ok(os.path.samefile(os.path.join(m.point, 'link'), os.path.join(m.point, 'models/body.pmo')),
                 'a link leads to the model')
            t.ok(os.path.isfile(os.path.join(m.point, 'to-models/body.pmo/header.yaml')), 'and through a folder')
            t.same(attempt(os.listdir, os.path.join(m.point, 'out')), errno.ENOENT, 'a link out leads where it leads')
            t.same(attempt(open, os.path.join(m.point, 'models/body.PMO')), errno.ENOENT, 'case counts')
            st, own = os.statvfs(m.point), os.statvfs(folder)
            t.same((st.f_blocks, st.f_files), (own.f_blocks, own.f_files), 'statfs')


def alone(t, folder, p):
    """A model's tree when it is SOURCE by itself; what lies beside it is found then too."""
    return lib.snapshot(t.extract(os.path.join(folder, p)))


def commands(t):
    folder = furnished(t)
    before = contents(folder)
    with Mount(t, folder, 'ro') as m:
        shown = {p: v for p, v in contents(m.point).items() if p not in ('fifo', 'socket')}
    to = os.path.join(t.dir('extract'), 'x')
    r = run('extract', folder, to)
    t.ok(r.returncode == 1 and r.stderr.count('neither a file nor a folder') == 2, 'extract names what it leaves out',
         r.stderr)
    t.none(lib.differences(contents(to), shown), 'extract copies what a mount shows')
    t.same(os.readlink(os.path.join(to, 'out')), '../outside', 'links too')
    listed = [x for x in run('ls', '-R', folder).stdout.decode().splitlines()]
    t.ok(all(os.path.basename(p) + ('/' if v is None else '') in listed for p, v in shown.items()), 'ls -R lists it')
    t.ok(any(x.startswith('p') and x.endswith(' fifo') for x in run('ls', '-l', folder).stdout.decode().splitlines()),
         'ls -l tells kinds')
    info = run('info', folder)
    text = info.stdout.decode()
    t.ok(info.returncode == 0 and re.search(r'format: folder\n', text) and re.search(r'kind: pmo\n  count: 2\n', text)
         and re.search(r'kind: pac\n  count: 1\n', text) and re.search(r'\nfiles: 6\n', text), 'info', text)
    r = run('verify', folder)
    t.ok(r.returncode == 0 and not r.stderr, 'verify', r.stderr)
    t.same(run('cat', folder, 'models/body.pmo/header.yaml').stdout, read(to, 'models/body.pmo/header.yaml'), 'cat')
    t.same(run('cat', folder, '.hidden').stdout, b'seen all the same', 'cat of a plain file')
    t.same(run('cat', folder, '../outside').returncode, 1, 'no way out')
    inside = os.path.join(folder, 'copy')
    t.ok(run('extract', folder, inside).returncode == 1 and not os.path.exists(os.path.join(inside, 'copy')),
         'a copy into the folder itself ends')
    shutil.rmtree(inside)
    t.none(lib.differences(contents(folder), before), 'nothing was changed')


def saved_by_commands(t):
    folder = furnished(t)
    name = 'models/body.pmo/materials.yaml'
    before, text = read(folder, 'models/body.pmo'), run('cat', folder, name).stdout
    edited = re.sub(rb'colour: \[\d+', b'colour: [78', text, count=1)
    r = run('put', folder, name, '-', data=edited)
    t.ok(r.returncode == 0 and run('cat', folder, name).stdout == edited, 'put', r.stderr)
    r = run('put', folder, '.hidden', '-', data=b'other text')
    t.ok(r.returncode == 0 and read(folder, '.hidden') == b'other text' == read(folder, 'second name'),
         'of a plain file', r.stderr)
    log = run('log', folder)
    t.ok(re.search(r'^1  .*  models/body.pmo/materials.yaml  1 byte changed', log.stdout.decode()), 'log', log.stdout)
    with Mount(t, folder):
        for command in (['put', folder, name, '-'], ['undo', folder]):
            r = run(*command, data=text)
            t.ok(r.returncode == 1 and 'is mounted writable' in r.stderr, command[0] + ' beside a mount', r.stderr)
    r = run('undo', folder)
    t.ok(r.returncode == 0 and read(folder, 'models/body.pmo') == before, 'undo', r.stderr)
    t.same(run('undo', folder).returncode, 1, 'nothing is left to undo')


# ---------------------------------------------------------------- names

def hidden_names(t):
    folder = furnished(t)
    put(folder, '.modelfs-undo.1', data=b'')
    with Mount(t, folder) as m:
        path = os.path.join(m.point, 'models/body.pmo/materials.yaml')
        text = re.sub(rb'colour: \[\d+', b'colour: [79', read(path), count=1)
        with open(path, 'wb') as f:
            f.write(text)
        own = {n for n in os.listdir(folder) if n.startswith('.modelfs-')}
        t.ok('.modelfs-undo' in own and '.modelfs-lock' in own, 'what modelfs keeps lies in the folder', own)
        t.none([n for n in os.listdir(m.point) if n.startswith('.modelfs-')], 'and is not listed')
        for name in JOURNAL:
            own, other = os.path.join(m.point, name), os.path.join(m.point, '.hidden')
            calls = [attempt(os.stat, own), attempt(os.unlink, own), attempt(os.rename, own, other + '2'),
                     attempt(os.open, own, os.O_RDONLY)]
            t.same(calls, [errno.ENOENT] * 4, name + ' is not there')
            calls = [attempt(os.open, own, os.O_CREAT | os.O_WRONLY), attempt(os.mkdir, own),
                     attempt(os.symlink, 'x', own),
                     attempt(os.link, other, own), attempt(os.rename, other, own)]
            t.same(calls, [errno.EPERM] * 5, name + ' cannot be made')


def models_by_writing(t):
    """Files that become models, and models that go."""
    folder = furnished(t)
    data, bank = model(t), model(t, '02.tmh')
    with Mount(t, folder) as m:
        at = lambda *p: os.path.join(m.point, *p)
        shutil.copy(os.path.join(folder, 'models/body.pmo'), at('new.pmo'))
        t.ok(os.path.isdir(at('new.pmo')) and read(at('new.pmo/raw/whole.pmo')) == data, 'cp makes a model')
        f = open(at('slow.pmo'), 'wb')
        f.write(data)
        f.flush()
        t.ok(os.path.isfile(at('slow.pmo')), 'while it is written it is a file')
        t.ok(stat.S_ISREG(os.fstat(f.fileno()).st_mode), 'also for who writes')
        f.close()
        t.ok(os.path.isdir(at('slow.pmo')), 'then it is a model')
        text = read(at('slow.pmo/materials.yaml'))
        t.same(attempt(os.rmdir, at('slow.pmo')), errno.EPERM, 'rmdir of a model')
        t.same(attempt(os.unlink, at('slow.pmo')), errno.EISDIR, 'unlink of one')
        os.rename(at('slow.pmo'), at('models/renamed.xyz'))
        t.ok(read(at('models/renamed.xyz/materials.yaml')) == text and read(folder, 'models/renamed.xyz') == data
             and not os.path.exists(at('slow.pmo')), 'a model is renamed, whatever it is called')
        t.same(attempt(os.rename, at('.hidden'), at('new.pmo')), errno.EISDIR, 'a file onto a model')
        t.same(attempt(os.rename, at('new.pmo'), at('.hidden')), errno.ENOTDIR, 'a model onto a file')
        os.chmod(at('models/renamed.xyz'), 0o710)
        os.utime(at('models/renamed.xyz'), (1e9, 2e9))
        who = (os.geteuid(), os.getegid()) if os.geteuid() else (12, 13)
        os.chown(at('models/renamed.xyz'), *who)
        own, shown = os.stat(os.path.join(folder, 'models/renamed.xyz')), os.stat(at('models/renamed.xyz'))
        t.same((stat.S_IMODE(own.st_mode), own.st_mtime, own.st_uid, own.st_gid, own.st_size),
               (0o600, 2e9, *who, len(data)), 'its attributes are set')
        t.same((stat.S_IMODE(shown.st_mode), shown.st_mtime, shown.st_uid), (0o700, 2e9, own.st_uid), 'and shown')
        put(folder, 'bank', data=bank)
        h = open(at('bank/header.yaml'))
        os.rename(at('new.pmo'), at('bank'))
        t.ok(read(folder, 'bank') == data and read(at('bank/raw/whole.pmo')) == data, 'a model onto a model')
        t.same(attempt(h.read), errno.ESTALE, 'what was open of it is gone')
        h.close()
        put(folder, 'a.tmh', data=bank)
        lib.LIBC.renameat2(-100, os.fsencode(at('a.tmh')), -100, os.fsencode(at('bank')), 2)
        t.ok(os.path.exists(at('bank/raw/whole.tmh')) and os.path.exists(at('a.tmh/raw/whole.pmo')),
             'two models change names')
        lib.LIBC.renameat2(-100, os.fsencode(at('.hidden')), -100, os.fsencode(at('bank')), 2)
        t.ok(os.path.isfile(at('bank')) and os.path.exists(at('.hidden/raw/whole.tmh')), 'a model and a file, too')
        os.rename(at('models'), at('moved'))
        t.same(read(at('moved/body.pmo/raw/whole.pmo')), data, 'a folder of models is renamed')
        view = at('moved/body.pmo/materials.yaml')
        t.same(attempt(os.rename, view, at('x.yaml')), errno.EXDEV, 'a view out of a model')
        t.same(attempt(os.rename, at('no model.pmo'), view), errno.EXDEV, 'a file into one')
        t.same(attempt(os.mkdir, at('moved/body.pmo/d')), errno.EPERM, 'no directories in models')
        t.same(attempt(os.open, at('moved/body.pmo/9.obj'), os.O_CREAT | os.O_WRONLY), errno.EPERM, 'nor lost views')
        put(at('moved/body.pmo/.temporary'), data=b'scratch')
        if shutil.which('rsync'):
            bank, brought = os.path.join(folder, 'a.tmh'), os.path.join(folder, 'empty/a.tmh')
            code, said = lib.other('rsync', '-a', os.path.join(folder, '.hidden'), bank, at('empty/'))
            t.same((code, os.stat(brought).st_mtime), (0, os.stat(bank).st_mtime), 'rsync brings a model')
        own = os.path.join(folder, 'moved', '.temporary')
        t.ok('.temporary' in os.listdir(at('moved/body.pmo')) and not os.path.exists(own),
             'temporary files of editors lie in memory')
        t.ok(lib.other('rm', '-r', at('moved/renamed.xyz'))[0] and read(folder, 'moved/renamed.xyz') == data,
             'rm -r deletes no model')
        put(at('.temporary'), data=b'real')
        t.same(read(folder, '.temporary'), b'real', 'outside models they are real')


# ---------------------------------------------------------------- where it is mounted

def mounted_over(t):
    folder = furnished(t)
    m = Mount(t, folder)
    m.point = m.args[-1] = folder
    with m:
        t.none([] if os.path.isdir(os.path.join(folder, 'models/body.pmo')) else ['no model'], 'over itself')
        put(folder, 'made', data=b'through the mount')
        t.ok(read(folder, 'models/body.pmo/raw/whole.pmo') == model(t), 'models are read')
        path = os.path.join(folder, 'models/body.pmo/materials.yaml')
        put(path, data=re.sub(rb'colour: \[\d+', b'colour: [80', read(path), count=1))
        t.ok(b'colour: [80' in read(path), 'and written')
    t.ok(read(folder, 'made') == b'through the mount' and read(folder, 'models/body.pmo') != model(t),
         'all of it in the folder')


def mounted_inside(t):
    folder = furnished(t)
    put(folder, 'empty', 'covered', data=b'')
    m = Mount(t, folder)
    m.point = m.args[-1] = os.path.join(folder, 'empty')
    with m:
        inner = os.path.join(m.point, 'empty')
        t.same(os.listdir(inner), [], 'the mount point in itself is empty')
        t.same([attempt(os.mkdir, inner + '/x'), attempt(os.open, inner + '/x', os.O_CREAT | os.O_WRONLY),
                attempt(os.rmdir, inner), attempt(os.rename, inner, inner + '2')],
               [errno.EROFS, errno.EROFS, errno.EBUSY, errno.EBUSY], 'and stays')
        t.ok(sum(1 for _ in lib.walk(folder)) > 60, 'a walk ends')
        t.ok(os.path.isdir(os.path.join(m.point, 'models/body.pmo')), 'the rest is there')
    t.same(os.listdir(os.path.join(folder, 'empty')), ['covered'], 'what it covered is there again')


def read_only(t):
    folder = furnished(t)
    before = all_of(folder)
    with Mount(t, folder, 'ro') as m:
        at = lambda *p: os.path.join(m.point, *p)
        t.same([attempt(os.mkdir, at('x')), attempt(os.unlink, at('.hidden')), attempt(os.truncate, at('.hidden'), 1),
                attempt(os.open, at('models/body.pmo/materials.yaml'), os.O_WRONLY),
                attempt(os.chmod, at('.hidden'), 0o600)],
               [errno.EROFS] * 5, 'mounted read-only')
    t.same(all_of(folder), before, 'nothing is left in it')


# ---------------------------------------------------------------- plain files

class Twin:
    """A file of the folder through a mount, and the same bytes in memory."""

    def __init__(self, own, path, rng):
        self.own, self.path, self.rng, self.now, self.fd = own, path, rng, bytearray(), None

    def opened(self):
        if self.fd is None:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT)
        return self.fd

    def write(self):
        at, data = self.rng.randrange(70000), self.rng.randbytes(self.rng.randrange(9000))
        self.now += bytes(max(0, at - len(self.now)) if data else 0)
        self.now[at:at + len(data)] = data
        os.pwrite(self.opened(), data, at)

    def append(self):
        self.now += b'more'
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, b'more')
        os.close(fd)

    def truncate(self):
        n = self.rng.randrange(80000)
        self.now = self.now[:n] + bytes(max(0, n - len(self.now)))
        os.ftruncate(self.opened(), n) if self.rng.random() < 0.5 else os.truncate(self.path, n)

    def map(self):
        if not self.now:
            return
        at = self.rng.randrange(len(self.now))
        data = self.rng.randbytes(min(5000, len(self.now) - at))
        with mmap.mmap(self.opened(), len(self.now)) as m:
            m[at:at + len(data)] = data
            if self.rng.random() < 0.5:
                m.flush()
        self.now[at:at + len(data)] = data

    def punch(self):
        at, n = self.rng.randrange(60000), self.rng.randrange(1, 20000)
        if lib.LIBC.fallocate(self.opened(), 3, ctypes.c_long(at), ctypes.c_long(n)):
            return                                 # not every file system can
        end = min(len(self.now), at + n)
        if at < end:
            self.now[at:end] = bytes(end - at)

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
        self.fd = None

    def by_others(self):
        """Behind the mount, while nobody has it open there."""
        self.close()
        at, data = self.rng.randrange(70000), self.rng.randbytes(self.rng.randrange(1, 3000))
        self.now += bytes(max(0, at - len(self.now)))
        self.now[at:at + len(data)] = data
        with open(self.own, 'r+b') as f:
            f.seek(at)
            f.write(data)

    def replaced(self):
        self.close()
        self.now = bytearray(self.rng.randbytes(self.rng.randrange(50000)))
        put(self.own + '.new', data=self.now)
        os.rename(self.own + '.new', self.own)

    def problem(self):
        if os.stat(self.path).st_size != len(self.now):
            return f'{os.stat(self.path).st_size} bytes, expected {len(self.now)}'
        have = read(self.path) if self.fd is None or self.rng.random() < 0.5 else os.pread(self.fd, 100000, 0)
        if have != self.now:
            return 'other bytes through the mount'
        return None if read(self.own) == self.now else 'other bytes in the folder'


def random_calls(t):
    folder = t.dir('folder')
    rng = random.Random(int(os.environ.get('MODELFS_SEED', '1')))
    with Mount(t, folder) as m:
        for name in ('one', 'two.pmo'):
            twin = Twin(os.path.join(folder, name), os.path.join(m.point, name), rng)
            twin.opened()
            calls = [twin.write] * 4 + [twin.append, twin.truncate, twin.map, twin.map, twin.punch, twin.close,
                                        twin.by_others, twin.replaced]
            bad = []
            for i in range(STEPS // 2):
                f = rng.choice(calls)
                f()
                why = twin.problem()
                if why:
                    bad.append(f'step {i}, {f.__name__}: {why}')
                    break
            twin.close()
            t.none(bad, f'{name}: {STEPS // 2} random calls')


# ---------------------------------------------------------------- many

def many_files(t):
    folder = t.dir('folder')
    data = model(t, '01.ahi')
    for i in range(MANY):
        with open(os.path.join(folder, f'f{i:06}'), 'wb') as f:
            f.write(data if i % 10 == 0 else b'plain text, %d times' % i)
    with Mount(t, folder) as m:
        began = time.monotonic()
        listed = lib.entries(m.point)
        took = time.monotonic() - began
        t.same(len(listed), MANY, 'as many are listed')
        t.none([n for n, k, _, _ in listed if (k == lib.DT_DIR) != (int(n[1:]) % 10 == 0)], 'with the right types')
        t.ok(took < 10 * SLOW, 'in one pass', f'{took:.1f} s')
        t.ok(m.memory() < (40 << 20) * (6 if SANITIZERS else 1), 'in little memory', m.memory())
        rest = {n for n, *_ in lib.entries(m.point, seek=listed[MANY // 2][3])}
        t.same(rest, {n for n, *_ in listed[MANY // 2 + 1:]}, 'a listing goes on where it was')


def few_descriptors(t):
    folder = t.dir('folder')
    data = model(t)
    count = 600
    for i in range(count):
        put(folder, f'{i % 7}', f'{i}.pmo', data=data)
    with Mount(t, folder) as m:
        most, want = 0, None
        for i in range(count):
            root = os.path.join(m.point, f'{i % 7}', f'{i}.pmo')
            if read(root, 'raw/whole.pmo') != data or not read(root, 'meshes/0.obj'):
                t.ok(False, f'{root} is read')
            if i % 50 == 0 or i > count - 5:
                most = max(most, len(os.listdir(f'/proc/{m.process.pid}/fd')))
        t.ok(most <= OPEN_MOST, f'{count} models read: {most} descriptors at most', most)
        opened = [os.open(os.path.join(m.point, f'{i % 7}', f'{i}.pmo', 'raw/whole.pmo'), os.O_RDONLY)
                  for i in range(count)]
        t.none([i for i, fd in enumerate(opened) if os.pread(fd, 1 << 20, 0) != data], 'all open at once')
        most = len(os.listdir(f'/proc/{m.process.pid}/fd'))
        t.ok(most <= OPEN_MOST, f'{most} descriptors then', most)
        for fd in opened:
            os.close(fd)


if __name__ == '__main__':
    lib.main(mirror, commands, saved_by_commands, hidden_names, models_by_writing, mounted_over, mounted_inside,
             read_only, random_calls, many_files, few_descriptors, needs_fuse=True)
