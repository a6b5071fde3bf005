"""What the tests of the whole program share: running it, mounting, reading and comparing trees, counting checks.

A test is a list of functions that take a Test. One that fails with an exception is a failed check, and the others still
run. Everything lies in one temporary folder; at the end nothing stays mounted below it, and the folder goes.
"""
import sys
sys.path.append(sys.path.pop(0))                   # copy.py here must not hide the standard library's

import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import tempfile
import time
import traceback
import zlib

PROGRAM = os.path.abspath(os.environ['MODELFS'])
SOURCE = os.environ.get('MODELFS_SOURCE') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
SHARED = os.path.abspath(os.environ.get('MODELFS_SHARED') or os.path.join(SOURCE, '..', 'shared'))
CORPUS = os.path.join(SHARED, 'corpus', 'mhp')
SAMPLES = os.path.join(SHARED, 'samples', 'mhp')
SANITIZERS = [n for n in ('asan', 'tsan', 'ubsan') if f'__{n}_'.encode() in open(PROGRAM, 'rb').read()]
SLOW = 20 if 'tsan' in SANITIZERS else 5 if SANITIZERS else 1     # by how much limits of time are stretched
LIMIT = 60 * SLOW                                                   # seconds after which a program counts as hanging
BLOCK = 2048
MODELS_PART = '\n# Models in a folder\n'                             # the part that folder_calls.py holds
CORPUS_SEEDS = [int(x) for x in os.environ.get('MODELFS_CORPUS_SEEDS', '1,2,3,4,5').split(',')]
MEMBERS_PART = '\n# Models of several files\n'                         # the part that members.py holds
DISC_PART = '\n# Files of a disc\n'                                # the part that media.py holds
PLAIN_PART = '\n# Plain files of a folder\n'                        # the part of docs/calls.md that posix.py holds
READERS = ('assimp', 'blender', 'node', 'pngcheck')                   # of what is written here, and slow
SHOWN = 6                                                           # details printed for one failed check


def room():
    """Where the temporary folder goes: into memory, when there is plenty; tests write a few hundred thousand files."""
    try:
        s = os.statvfs('/dev/shm')
        if not os.environ.get('TMPDIR') and os.access('/dev/shm', os.W_OK) and s.f_bavail * s.f_frsize > 1 << 30:
            return '/dev/shm'
    except OSError:
        pass
    return None


class Skip(Exception):
    """What a function needs is missing; the rest of it is skipped."""


class Test:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix='modelfs-', dir=room()))
        os.chmod(self.folder, 0o755)
        for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):     # a daemon has no standard error
            old = os.environ.get(name)
            os.environ[name] = (old + ':' if old else '') + 'log_path=' + os.path.join(self.folder, 'sanitizer')
        self._demo = self._tree = None
        self._made = {}

    # ---- checks

    def ok(self, good, what, why=''):
        if good:
            self.passed += 1
            print('ok      ' + what)
        else:
            self.failed += 1
            print(f'FAILED  {what}: {why}' if why != '' else 'FAILED  ' + what)
        sys.stdout.flush()
        return bool(good)

    def none(self, problems, what):
        """problems: a list of texts; none of them is wanted."""
        problems = list(problems)
        if not self.ok(not problems, what, f'{len(problems)} problems'):
            for line in problems[:SHOWN]:
                print('        ' + str(line))
        return not problems

    def same(self, have, want, what):
        return self.ok(have == want, what, f'{have!r}, expected {want!r}')

    def skip(self, why):
        self.skipped += 1
        print('skipped: ' + why, flush=True)

    # ---- files

    def dir(self, name):
        """A new, empty folder."""
        path = tempfile.mkdtemp(prefix=name + '-', dir=self.folder)
        os.chmod(path, 0o755)
        return path

    def file(self, name, data):
        path = os.path.join(self.dir('file'), name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def made(self, family, script, seed):
        """What a script of a corpus makes of a seed, made once."""
        if (script, seed) not in self._made:
            to = self._made[script, seed] = self.dir(family)
            subprocess.run([sys.executable, os.path.join(SHARED, 'corpus', family, script), '--seed', str(seed),
                            '--out', to], check=True, stdout=subprocess.DEVNULL)
        return self._made[script, seed]

    @property
    def demo(self):
        """The demo archive."""
        if not self._demo:
            path = os.path.join(self.folder, 'demo.bin')
            r = run('demo', path)
            if r.returncode:
                raise RuntimeError(f'modelfs demo: {r.stderr}')
            self._demo = path
        return self._demo

    @property
    def tree(self):
        """The demo archive, extracted."""
        if not self._tree:
            self._tree = self.extract(self.demo)
        return self._tree

    @property
    def kit(self):
        """Name of a PAC of the demo archive that holds 00.pmo, 01.ahi and 02.tmh."""
        return next(n for n in sorted(os.listdir(self.tree)) if all(
            os.path.isdir(os.path.join(self.tree, n, k)) for k in ('00.pmo', '01.ahi', '02.tmh')))

    def extract(self, *args, expect=0):
        to = os.path.join(self.dir('extract'), 'x')
        r = run('extract', *args, to)
        if r.returncode != expect:
            raise RuntimeError(f'extract {args}: exit {r.returncode}, expected {expect}: {r.stderr[-400:]}')
        return to


# What the search for leaks says when the program it stopped for that is killed meanwhile.
KILLED_WHILE_SEARCHED = re.compile(r'==\d+==Unable to get registers from thread \d+\.')


def sanitizer_reports(folder):
    texts = [open(os.path.join(folder, n), errors='replace').read().strip() for n in sorted(os.listdir(folder))
             if n.startswith('sanitizer.')]
    return [text for text in texts if not all(KILLED_WHILE_SEARCHED.fullmatch(line) for line in text.splitlines())]


def main(*functions, needs_fuse=False):
    why = fuse_missing() if needs_fuse else None
    if why:
        print('skipped: ' + why)
        sys.exit(77)
    t = Test()
    try:
        for f in functions:
            try:
                f(t)
            except Skip as e:
                t.skip(str(e))
            except Exception as e:
                traceback.print_exc(file=sys.stdout)
                t.ok(False, f.__name__, repr(e))
        left = [m[0] for m in mounts() if m[0].startswith(t.folder + '/') and m[1].startswith('fuse')]
        t.none(left, 'nothing is left mounted')
    finally:
        for p in reversed([p for p in mount_points() if p.startswith(t.folder + '/')]):
            force_unmount(p)
        reports = sanitizer_reports(t.folder)
        for text in reports[:3]:
            t.ok(False, f'one of {len(reports)} sanitizer reports', '\n'.join(text.splitlines()[:40]))
        shutil.rmtree(t.folder, ignore_errors=True)
        print(f'{t.passed} passed, {t.failed} failed, {t.skipped} skipped')
    sys.exit(1 if t.failed else 0 if t.passed else 77)


# ---------------------------------------------------------------- running

def run(*args, data=None, limit=LIMIT, **kw):
    """modelfs ARGS; standard output is bytes, standard error text."""
    kw.setdefault('stdout', subprocess.PIPE)
    r = subprocess.run([PROGRAM, *args], input=data, stdin=None if data is not None else subprocess.DEVNULL,
                       stderr=subprocess.PIPE, timeout=limit, **kw)
    r.stderr = r.stderr.decode(errors='replace')
    return r


def other(*args, limit=LIMIT, **kw):
    """Another program: exit code, and what it printed in the end, for messages."""
    r = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit,
                       **kw)
    return r.returncode, r.stdout.decode(errors='replace')


def blender(t, script, job):
    """Runs a script whose last argument is a file with the job in JSON: what it writes to that file's name + .out."""
    job, script = t.file('job.json', json.dumps(job).encode()), t.file('script.py', script.encode())
    code, said = other('blender', '-b', '-t', '1', '--factory-startup', '-noaudio', '--python', script, '--', job,
                       # Blender takes its libraries from the Python of the system.
                       env={**os.environ, 'HOME': t.dir('home'), 'PATH': os.defpath}, limit=LIMIT * 4)
    if not os.path.exists(job + '.out'):
        raise RuntimeError(f'blender: {code}: {said[-600:]}')
    with open(job + '.out') as f:
        return json.load(f)


def unless(good, problem):
    return [] if good else [problem]


def check_mount(family, root, expected):
    """What the checker of a corpus says of a mount or an extracted folder: problems."""
    code, text = other(sys.executable, os.path.join(SHARED, 'corpus', family, 'check_mount.py'), root, expected)
    lines = text.splitlines()
    good = not code and lines and re.fullmatch(r'\d{2,} passed, 0 failed', lines[-1])
    return [] if good else lines or [f'exit {code}']


def module(name):
    """One of the corpus' scripts."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(CORPUS, name + '.py'))
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Skip(p + ' is not installed')
        if p in READERS and SANITIZERS:
            raise Skip(p + ' reads the same files without the sanitizers')


# ---------------------------------------------------------------- mounting

def fuse_missing():
    """Why nothing can be mounted here, or None."""
    if not sys.platform.startswith('linux') or not os.path.exists('/dev/fuse'):
        return 'no /dev/fuse'
    if os.geteuid():
        helper = shutil.which('fusermount3')
        if not os.access('/dev/fuse', os.R_OK | os.W_OK):
            return '/dev/fuse is closed to this user'
        return None if helper and os.stat(helper).st_mode & stat.S_ISUID else 'no fusermount3 that a user could use'
    try:
        os.close(os.open('/dev/fuse', os.O_RDWR))
    except OSError as e:
        return f'/dev/fuse: {e.strerror}'
    caps = re.search(r'CapEff:\s*(\w+)', open('/proc/self/status').read())
    if caps and not int(caps.group(1), 16) >> 21 & 1:
        return 'mounting is not allowed here'
    return None


def mounts():
    """(mount point, type, source, options) of all, oldest first."""
    out = []
    for line in open('/proc/self/mounts'):
        source, point, kind, options = [re.sub(r'\\([0-7]{3})', lambda m: chr(int(m.group(1), 8)), x)
                                        for x in line.split()[:4]]
        out.append((point, kind, source, options))
    return out


def mount_points():
    return [m[0] for m in mounts()]


def force_unmount(point):
    args = ['umount', '-l', point] if not os.geteuid() else ['fusermount3', '-uz', point]
    subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds * SLOW
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Mount:
    """modelfs mount -f SOURCE, as long as the `with` lasts. Afterwards: code (exit code), log (standard error)."""

    def __init__(self, t, source, *options):
        self.point = t.dir('mount')
        self.log_path = self.point + '.log'
        self.args = [PROGRAM, 'mount', '-f'] + (['-o', ','.join(options)] if options else []) + [source, self.point]
        self.code = self.log = None

    def __enter__(self):
        with open(self.log_path, 'wb') as log:
            self.process = subprocess.Popen(self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: self.point in mount_points() or self.process.poll() is not None)
        if self.point not in mount_points():
            self.finish()
            raise RuntimeError(f'{" ".join(self.args)}: not mounted: {self.log}')
        return self

    def finish(self):
        try:
            self.code = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.code = self.process.wait()
        self.log = open(self.log_path, errors='replace').read()

    def __exit__(self, kind, value, trace):
        r = run('umount', self.point) if self.point in mount_points() else None
        if r is None or r.returncode:
            force_unmount(self.point)
        self.finish()
        if kind is None and r is not None and r.returncode:
            raise RuntimeError('modelfs umount: ' + r.stderr)
        if kind is None and self.code:
            raise RuntimeError(f'the mount ended with {self.code}: {self.log[-400:]}')

    def memory(self, key='VmHWM'):
        """Bytes the daemon has had at most."""
        line = re.search(key + r':\s*(\d+) kB', open(f'/proc/{self.process.pid}/status').read())
        return int(line.group(1)) << 10

    def rendered(self):
        """From -o stats, after the end: how many files were decoded."""
        line = re.search(r'rendered: (\d+)', self.log)
        return int(line.group(1)) if line else None


# ---------------------------------------------------------------- trees

class Dirent(ctypes.Structure):
    _fields_ = [('ino', ctypes.c_uint64), ('off', ctypes.c_int64), ('reclen', ctypes.c_ushort),
                ('type', ctypes.c_ubyte),
                ('name', ctypes.c_char * 256)]


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.opendir.restype = ctypes.c_void_p
LIBC.readdir64.restype = ctypes.POINTER(Dirent)
LIBC.readdir64.argtypes = LIBC.closedir.argtypes = LIBC.telldir.argtypes = [ctypes.c_void_p]
LIBC.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]
LIBC.telldir.restype = ctypes.c_long
DT_DIR, DT_REG = 4, 8


def entries(path, seek=None):
    """(name, type, inode, position behind it) as readdir gives them, from position `seek` on."""
    d = LIBC.opendir(os.fsencode(path))
    if not d:
        raise OSError(ctypes.get_errno(), 'opendir', path)
    try:
        if seek is not None:
            LIBC.seekdir(d, seek)
        out = []
        while True:
            e = LIBC.readdir64(d)
            if not e:
                return out
            if e.contents.name not in (b'.', b'..'):
                out.append((os.fsdecode(e.contents.name), e.contents.type, e.contents.ino, e.contents.off))
    finally:
        LIBC.closedir(d)


def walk(root, at=''):
    """(path below root, whether it is a directory) of all, in readdir's order, parents first. Never calls stat."""
    for name, kind, _, _ in entries(os.path.join(root, at)):
        path = os.path.join(at, name)
        yield path, kind == DT_DIR
        if kind == DT_DIR:
            yield from walk(root, path)


def files(root):
    return sorted(p for p, is_dir in walk(root) if not is_dir)


def read(*path):
    with open(os.path.join(*path), 'rb') as f:
        return f.read()


def snapshot(root):
    """{path: None for a directory, else (size, digest), or the error's name}"""
    out = {}
    for path, is_dir in walk(root):
        try:
            out[path] = None if is_dir else digest(read(root, path))
        except OSError as e:
            out[path] = os.strerror(e.errno)
    return out


def digest(b):
    return len(b), hashlib.blake2b(b, digest_size=16).hexdigest()


def differences(have, want):
    """Two snapshots."""
    out = [f'{p}: missing' for p in want if p not in have] + [f'{p}: not expected' for p in have if p not in want]
    return out + [f'{p}: {have[p]}, expected {want[p]}' for p in want if p in have and have[p] != want[p]]


def below(snap, folder):
    """The part of a snapshot below a folder."""
    return {p[len(folder) + 1:]: v for p, v in snap.items() if p.startswith(folder + '/')}


def plain_archive(parts):
    """A DATA.BIN that is not encrypted. The last part has bytes."""
    table = (4 * (len(parts) + 1) + BLOCK - 1) // BLOCK
    starts, body = [table], b''
    for p in parts:
        body += p + bytes(-len(p) % BLOCK)
        starts.append(table + len(body) // BLOCK)
    head = struct.pack(f'<{len(starts)}I', *starts)
    return head + bytes(table * BLOCK - len(head)) + body


# ---------------------------------------------------------------- what is in the files

NUMBER = re.compile(r'-?\d+(\.\d+)?(e[+-]\d\d)?')


def read_obj(b):
    """-> (v lines, lists of three v numbers from 0); ValueError when a program could stumble over it."""
    v, seen, faces = [], {'vt': 0, 'vn': 0}, []
    if b'\r' in b or b and not b.endswith(b'\n'):
        raise ValueError('line ends')
    for n, line in enumerate(b.decode('ascii').split('\n'), 1):
        word, *rest = line.split(' ')
        if word in ('v', 'vt', 'vn'):
            if len(rest) not in ((3, 6) if word == 'v' else (2,) if word == 'vt' else (3,)):
                raise ValueError(f'line {n}: {len(rest)} numbers')
            bad = [x for x in rest if not NUMBER.fullmatch(x)]
            if bad:
                raise ValueError(f'line {n}: {bad[0]!r} is no number')
            if word == 'v':
                v.append([float(x) for x in rest])
            else:
                seen[word] += 1
        elif word == 'f':
            corners = [(c.split('/') + ['', ''])[:3] for c in rest]
            for k, most in ((0, len(v)), (1, seen['vt']), (2, seen['vn'])):
                for c in corners:
                    if c[k] == '' and k:
                        continue
                    if not c[k].isdigit() or not 1 <= int(c[k]) <= most:
                        raise ValueError(f'line {n}: index {c[k]!r} of {most}')
            if len(corners) != 3:
                raise ValueError(f'line {n}: {len(corners)} corners')
            faces.append([int(c[0]) - 1 for c in corners])
        elif word not in ('', '#', 'o', 'g', 'usemtl', 'mtllib'):
            raise ValueError(f'line {n}: {word!r}')
    return v, faces


def png_problem(b):
    """What is wrong with a PNG: chunks, their checksums, the number of pixel bytes; None when nothing is."""
    if b[:8] != b'\x89PNG\r\n\x1a\n':
        return 'no signature'
    at, order, data, palette = 8, [], b'', 0
    while at < len(b):
        if at + 12 > len(b):
            return f'ends inside a chunk at {at}'
        n, tag = struct.unpack_from('>I4s', b, at)
        body = b[at + 8:at + 8 + n]
        if at + 12 + n > len(b) or zlib.crc32(tag + body) != struct.unpack_from('>I', b, at + 8 + n)[0]:
            return f'chunk {tag} at {at}: bad length or checksum'
        order.append(tag)
        if tag == b'IHDR':
            width, height, depth, colours, _, _, lace = struct.unpack('>2I5B', body)
        elif tag == b'PLTE':
            palette = n // 3
        elif tag == b'tRNS' and colours == 3 and n > palette:
            return f'{n} alphas for {palette} colours'
        elif tag == b'IDAT':
            data += body
        at += 12 + n
    if order[:1] != [b'IHDR'] or order[-1:] != [b'IEND'] or b'IDAT' not in order:
        return f'chunks {order}'
    if colours == 3 and not 0 < palette <= 1 << depth or lace:
        return f'{palette} colours at depth {depth}, interlace {lace}'
    row = (width * depth * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colours] + 7) // 8
    pixels = len(zlib.decompress(data))
    return None if width and height and pixels == height * (row + 1) else f'{pixels} bytes for {width} x {height}'


YAML_CHECK = r'''
import re, sys, yaml
Loader = getattr(yaml, 'CLoader', yaml.Loader)
WORD = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
SIMPLE = {
    'int': re.compile(r'-?(0|[1-9]\d*)|0x[0-9a-f]+'), 'float': re.compile(r'-?\d+\.\d+(e[+-]\d\d)?|-?\.inf'),
    'bool': re.compile('true|false'), 'null': re.compile('null'), 'str': WORD,
}
def look(node, out):
    if isinstance(node, yaml.ScalarNode):
        form = SIMPLE.get(node.tag.rsplit(':', 1)[-1])
        if node.style is None and not (form and form.fullmatch(node.value)):
            out.append('line %d: %r is %s' % (node.start_mark.line + 1, node.value, node.tag))
    elif isinstance(node, yaml.SequenceNode):
        for x in node.value:
            look(x, out)
    else:
        keys = [k.value for k, _ in node.value]
        twice = [k for k, _ in node.value if keys.count(k.value) > 1]
        out += ['line %d: %s given twice' % (k.start_mark.line + 1, k.value) for k in twice]
        for _, x in node.value:
            look(x, out)
for path in sys.stdin.read().split('\0'):
    if not path:
        continue
    out = []
    try:
        text = open(path, encoding='ascii').read()
        node = yaml.compose(text, Loader=Loader)
        if node is None:
            out.append('empty')
        else:
            look(node, out)
            yaml.load(text, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    except Exception as e:
        out.append(repr(e))
    for line in out[:3]:
        print(path + ': ' + line)
'''


def yaml_python():
    """A Python that has PyYAML, or None."""
    for p in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(p) and not other(p, '-c', 'import yaml')[0]:
            return p
    return None


def yaml_problems(paths):
    """Lines about YAML files that PyYAML does not read, or in which something that is not a word is no number to it."""
    p = yaml_python()
    if not p:
        raise Skip('PyYAML is not installed')
    r = subprocess.run([p, '-c', YAML_CHECK], input='\0'.join(paths).encode(), stdout=subprocess.PIPE,
                       timeout=LIMIT * 5)
    return r.stdout.decode().splitlines() + ([f'exit code {r.returncode}'] if r.returncode else [])
