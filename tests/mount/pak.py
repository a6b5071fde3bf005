"""PAK archives, and archives of unknown layout that are searched for models: those of the public corpus by the corpus'
own checker; then edits, in a place, beyond it, and where nothing may move, read back by its independent readers."""
import lib
from lib import Mount, Skip, run

import errno
import os
import random
import re
import struct
import subprocess
import sys
import time

PS3 = os.path.join(lib.SHARED, 'corpus', 'ps3')
if not os.path.isfile(os.path.join(PS3, 'mkpak.py')):
    print('skipped: no corpus of PAK archives')
    sys.exit(77)
sys.path[:0] = [PS3, os.path.join(lib.SHARED, 'corpus', 'lib')]
import mkpak
import readpak
import readquartet

SEED = 11
KILLS = 40
DT_UNKNOWN = 0


def made(t, seed):
    return t.made('ps3', 'mkpak.py', seed)


# ---------------------------------------------------------------- shown

def shown(t):
    fuse = not lib.fuse_missing()
    for seed in lib.CORPUS_SEEDS:
        where = made(t, seed)
        for part, expected in (('files', 'expected.json'), ('bad', 'bad/manifest.json')):
            source, expected = os.path.join(where, part), os.path.join(where, expected)
            to = t.extract(source, expect=int(part == 'bad'))
            t.none(lib.check_mount('ps3', to, expected), f'seed {seed}: {part}, extracted')
            if fuse:
                with Mount(t, source, 'ro') as m:
                    t.none(lib.check_mount('ps3', m.point, expected), f'seed {seed}: {part}, mounted')
        r = run('verify', os.path.join(where, 'files'))
        t.same((r.returncode, r.stderr), (0, ''), f'seed {seed}: verified')


def alone(t):
    """Each archive is by itself what it is in its folder."""
    where = os.path.join(made(t, lib.CORPUS_SEEDS[0]), 'files')
    all_of_them = lib.snapshot(t.extract(where))
    for name in sorted(os.listdir(where)):
        path = os.path.join(where, name)
        if name == 'zlib.pak':
            t.same(all_of_them[name], lib.digest(lib.read(path)), 'deflated models: a plain file')
            r = run('info', path)
            t.ok(r.returncode == 1 and 'no format modelfs knows: 1 deflated model libraries, at 0x64 (' in r.stderr,
                 'info names them', r.stderr)
            r = run('mount', path, t.dir('mount'))
            t.ok(r.returncode == 1 and 'no format modelfs knows: no PS3 model library lies in it' in r.stderr,
                 'mount', r)
            continue
        have = lib.snapshot(t.extract(path))
        t.none(lib.differences(have, lib.below(all_of_them, name)), f'{name} alone')
    r = run('info', where)
    t.ok(b'# plain: zlib.pak: 1 deflated model libraries, at 0x64 (' in r.stdout and not r.returncode,
         'info of the folder', r.stdout)


def damaged(t):
    """What is no PAK is a plain file, although models lie in it, and info says why; other damage costs an entry."""
    where = os.path.join(made(t, lib.CORPUS_SEEDS[0]), 'bad')
    to = t.extract(where, expect=1)
    size = os.path.getsize
    reasons = {
        'cut_header': 'PAK header at 0x0: 11 bytes, expected 12',
        'directory_cut': 'PAK directory at 0x4: 0x140 bytes at 0x[0-9a-f]+ end past the 0x[0-9a-f]+ of the file',
        'directory_past_the_end': 'PAK directory at 0x4: ',
        'directory_offset_wraps': 'PAK directory at 0x4: 0x140 bytes',
        'directory_size_not_a_multiple_of_64': 'PAK directory size at 0x8: 0x41 is no multiple of 64',
        'directory_size_huge': 'PAK directory at 0x4: 0xffffffc0 bytes',
    }
    bad = []
    told = run('info', where).stdout.decode()
    for name, reason in reasons.items():
        path = os.path.join(where, name + '.pak')
        bad += lib.unless(os.path.isfile(os.path.join(to, name + '.pak')), f'{name} is shown as a directory')
        r = run('info', path)
        bad += lib.unless(r.returncode == 1 and re.search(reason, r.stderr), f'{name}: {r.stderr}')
        bad += lib.unless(re.search(f'(?m)^# plain: {name}.pak: {reason}', told), f'{name}: info of the folder')
    t.none(bad, 'what is no PAK')
    entries = {
        'name_climbs_out': '_/_/etc/x.mlp'.replace('_', '__'), 'name_is_absolute': 'abs/x.mlp', 'name_is_empty': '_',
        'name_has_empty_parts': 'a/b/_/c.mlp', 'name_with_control_bytes': 'a__[0m.mlp', 'backslashes': 'a_b.mlp',
        'name_without_terminator': 'n' * 56, 'file_is_also_a_folder': 'b.txt/x.mlp', 'name_twice': 'one.mlp~2',
    }
    bad = [f'{n}: no {p}: {lib.files(os.path.join(to, n + ".pak"))}' for n, p in entries.items()
           if not os.path.lexists(os.path.join(to, n + '.pak', p))]
    bad += lib.unless(lib.read(to, 'file_is_also_a_folder.pak', 'b.txt~2') == b'hello', 'a file and a folder')
    t.none(bad, f'{len(entries)} names made safe')
    bad = []
    for name in ('entry_past_the_end', 'entry_size_huge', 'entry_offset_and_size_wrap'):
        path = os.path.join(where, name + '.pak')
        text = run('ls', '-l', path).stdout.decode()
        bad += lib.unless(re.search(r'(?m)^-\S+ +0 .* one\.mlp$', text), f'{name}: {text}')
        bad += lib.unless(run('cat', path, 'one.mlp').returncode == 1, f'{name}: read')
        bad += lib.unless(run('cat', path, 'b.txt').stdout == b'hello', f'{name}: the others')
        bad += lib.unless('one.mlp: 0x' in run('cat', path, 'errors.txt').stdout.decode(), f'{name}: errors.txt')
    t.none(bad, 'entries outside the file')
    t.ok(size(os.path.join(where, 'archive_in_itself.pak')) == 76 and
         len(lib.files(os.path.join(to, 'archive_in_itself.pak'))) == 1, 'an archive in itself ends')


# ---------------------------------------------------------------- who is searched

def searched(t):
    where = os.path.join(made(t, lib.CORPUS_SEEDS[0]), 'files')
    data = lib.read(where, 'carve1.pak')
    folder = t.dir('searched')
    for name in ('x.pak', 'X.PAK', 'x.bin'):
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(data)
    with open(os.path.join(folder, 'noise.pak'), 'wb') as f:
        f.write(random.Random(1).randbytes(100000))
    listed = lambda *a: sorted(run('ls', *a, folder).stdout.decode().split())
    t.same(listed(), ['X.PAK/', 'noise.pak', 'x.bin', 'x.pak/'], 'by name')
    t.same(listed('-c'), ['X.PAK/', 'noise.pak', 'x.bin/', 'x.pak/'], 'all with -c')
    path = os.path.join(folder, 'x.bin')
    view = next(n for n in lib.files(t.extract('-c', path)) if n.endswith('/header.yaml'))
    for args in (['info', path], ['ls', path], ['cat', path, view], ['extract', path, os.path.join(t.dir('x'), 'x')],
                 ['verify', path], ['put', path, view, os.devnull]):
        plain, carved = run(*args), run(args[0], '-c', *args[1:])
        good = args[0] == 'put' or not carved.returncode
        t.ok(plain.returncode == 1 and 'no format' in plain.stderr and good and 'no format' not in carved.stderr,
             args[0], (plain.stderr, carved.stderr))
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    with Mount(t, folder, 'ro') as m:
        kinds = lambda: {n: k for n, k, _, _ in lib.entries(m.point)}
        t.same(kinds(), {'x.pak': DT_UNKNOWN, 'X.PAK': DT_UNKNOWN, 'noise.pak': DT_UNKNOWN, 'x.bin': lib.DT_REG},
               'a listing searches nothing')
        t.same({n: os.path.isdir(os.path.join(m.point, n)) for n in os.listdir(m.point)},
               {'x.pak': True, 'X.PAK': True, 'noise.pak': False, 'x.bin': False}, 'a look does')
        time.sleep(0.05)
        t.same({n: os.path.isdir(os.path.join(m.point, n)) for n in os.listdir(m.point)},
               {'x.pak': True, 'X.PAK': True, 'noise.pak': False, 'x.bin': False}, 'another says the same')
        t.same(kinds(), {'x.pak': lib.DT_DIR, 'X.PAK': lib.DT_DIR, 'noise.pak': lib.DT_REG, 'x.bin': lib.DT_REG},
               'then it is known')
        t.same(lib.read(m.point, 'x.bin'), data, 'a plain file')
    with Mount(t, folder, 'ro', 'carve') as m:
        t.same(sorted(n for n in os.listdir(m.point) if os.path.isdir(os.path.join(m.point, n))),
               ['X.PAK', 'x.bin', 'x.pak'], '-o carve')
        t.same(lib.snapshot(os.path.join(m.point, 'x.bin')), lib.snapshot(os.path.join(m.point, 'x.pak')),
               'all the same')
    with Mount(t, path, 'carve') as m:
        t.same(len(os.listdir(m.point)), 2, 'a lone file, -o carve')


def changing(t):
    """An unknown archive that others change."""
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    where = os.path.join(made(t, lib.CORPUS_SEEDS[0]), 'files')
    folder = t.dir('changing')
    path = os.path.join(folder, 'x.pak')
    data = lib.read(where, 'carve1.pak')
    with Mount(t, folder) as m:
        seen = os.path.join(m.point, 'x.pak')

        def shows():
            return sorted(os.listdir(seen)) if os.path.isdir(seen) else lib.read(seen)

        for what, b in (('noise', random.Random(2).randbytes(60000)), ('two', data),
                        ('three', lib.read(where, 'carve2.pak')), ('none', b'none' * 999), ('two again', data)):
            with open(path, 'wb') as f:
                f.write(b)
            want = ['%08x.mlp' % x[0] for x in readpak.carve(b)] or b
            t.ok(lib.wait_for(lambda: shows() == want, 2), f'outside: {what}', shows())
        os.unlink(path)
        with open(seen, 'wb') as f:
            f.write(data[:1000])
            f.flush()
            t.ok(os.path.isfile(seen), 'through the mount: not while it is written')
            f.write(data[1000:])
        t.ok(os.path.isdir(seen) and len(os.listdir(seen)) == 2, 'but then')


# ---------------------------------------------------------------- places of a quartet in a file

class Quartet:
    """Where the members of a quartet lie in a file: {'mlp': (offset, size), ...}; read by the corpus' reader."""

    def __init__(self, places):
        self.places = places

    def parts(self, b):
        return {k: b[at:at + n] for k, (at, n) in self.places.items()}

    def read(self, b):
        parts = dict(dict(mgp=bytes(1 << 16)), **self.parts(b))
        return readquartet.read_bytes(parts, {k: 'x.' + k for k in parts}, 'x')

    def bounds(self, b):
        """Places of the boxes and spheres, which an edit may change too."""
        at, out = self.places['mlp'][0], set()
        word = lambda x: struct.unpack_from('>I', b, at + x)[0]
        for i in range(word(0x10)):
            meta = word(0x14) + word(0x1c + 28 * i + 4)
            out |= set(range(at + meta + 0x50, at + meta + 0x80))
            for k in range(word(meta + 0xa4)):
                sub = meta + word(meta + 0xa0) + 0x60 * k
                out |= set(range(at + sub, at + sub + 16))
        return out

    def vertex(self, b, mesh, k):
        at, mmp = self.places['mlp'][0], self.places['mmp'][0]
        word = lambda x: struct.unpack_from('>I', b, at + x)[0]
        rec = 0x1c + 28 * mesh
        meta = word(0x14) + word(rec + 4)
        return mmp + word(rec + 8) + word(meta + word(meta + 0x90) + 16) + 16 * k


def in_pak(b, stem):
    rows = {n: (o, s) for n, o, s in readpak.directory(b)}
    return Quartet({k: rows[f'{stem}.{k}'] for k in ('mlp', 'mmp', 'mgp', 'scp') if f'{stem}.{k}' in rows})


def in_noise(found):
    at, size, mmp, msize, mgp, gsize = found
    return Quartet({k: v for k, v in (('mlp', (at, size)), ('mmp', (mmp, msize)), ('mgp', (mgp, gsize)))
                    if v[0] is not None and v[1]})


def other_bytes(a, b):
    return {i for i, (x, y) in enumerate(zip(a, b)) if x != y} | set(range(min(len(a), len(b)), max(len(a), len(b))))


def move_vertex(text, k, x):
    """The text of an OBJ with another x of vertex k."""
    lines, seen = text.split(b'\n'), -1
    for i, line in enumerate(lines):
        if line.startswith(b'v '):
            seen += 1
            if seen == k:
                words = line.split()
                lines[i] = b' '.join([b'v', repr(x).encode()] + words[2:])
                return b'\n'.join(lines)
    raise AssertionError('no such vertex')


def moved(t, path, quartet, below, mesh, k, save, what, floats=(0.125, 1e6)):
    """Vertex k of a mesh: 4 bytes, and bounds, are another ones then; for each x."""
    bad = []
    for x in floats:
        was = lib.read(path)
        view = f'{below}/meshes/{mesh}.obj'
        save(view, move_vertex(run('cat', path, view).stdout, k, x))
        now, at = lib.read(path), quartet.vertex(was, mesh, k)
        bad += lib.unless(len(now) == len(was) and struct.unpack_from('>f', now, at)[0] == x, f'{x}: not there')
        strange = other_bytes(was, now) - set(range(at, at + 4)) - quartet.bounds(was)
        bad += [f'{x}: byte 0x{i:x} changed' for i in sorted(strange)]
        a, b = quartet.read(was)['meshes'], quartet.read(now)['meshes']
        for i, (m, n) in enumerate(zip(a, b)):
            if i == mesh:
                m['vertices'][k][0] = n['vertices'][k][0]
            bad += [f'{x}: mesh {i}: {key}' for key in ('vertices', 'indexes', 'rows', 'kind', 'id')
                    if m[key] != n[key]]
        bad += lib.unless(not run('verify', path).returncode, f'{x}: verify')
    t.none(bad, what)


def by_put(path, *flags):
    def save(view, data):
        r = run('put', *flags, path, view, '-', data=data)
        if r.returncode:
            raise RuntimeError(r.stderr)
    return save


def by_mount(point):
    def save(view, data):
        with open(os.path.join(point, view), 'wb') as f:
            f.write(data)
    return save


# ---------------------------------------------------------------- edits in PAKs

def in_place(t):
    """A vertex of a quartet in a PAK, by put and mounted; undone to the first byte."""
    where = os.path.join(made(t, SEED), 'files')
    for name, stem in (('plain.pak', 'one'), ('deep.pak', 'maps/level1/mixmgp'), ('scattered.pak', 'one'),
                       ('same_base.pak', 'y/one')):
        first = lib.read(where, name)
        path = t.file(name, first)
        quartet = in_pak(first, stem)
        mesh = next(i for i, m in enumerate(quartet.read(first)['meshes']) if m['kind'] == 'rigid')
        moved(t, path, quartet, stem + '.mlp', mesh, 1, by_put(path), f'{name}: put')
        if not lib.fuse_missing():
            with Mount(t, path) as m:
                moved(t, path, quartet, stem + '.mlp', mesh, 0, by_mount(m.point), f'{name}: mounted', (0.25, -7.0))
        t.ok(not run('undo', path, '99').returncode and lib.read(path) == first, f'{name}: undone')


def rows_but(b, *names):
    return [r for r in readpak.directory(b) if r[0] not in names]


def contents(b, but=()):
    return {n: b[o:o + s] for n, o, s in readpak.directory(b) if n not in but}


def plain_entries(t):
    """Shorter, longer in its place, beyond it without and with -o grow."""
    rng = random.Random(3)
    entries = [('a/one.txt', rng.randbytes(40)), ('a/two.txt', b'two' * 9), ('b/empty', b''), ('b/last', b'last')]
    for where in ('start', 'middle', 'end'):
        data, _ = mkpak.pack(entries, where, align=16, filler=rng)
        path = t.file('plain.pak', data)
        room = 28 if where == 'middle' else 32     # up to the directory, or the next multiple of 16
        bad = []
        for name, new in (('a/one.txt', b'short'), ('a/one.txt', rng.randbytes(40)), ('a/two.txt', rng.randbytes(room)),
                          ('a/one.txt', b''), ('a/one.txt', rng.randbytes(48))):
            was = lib.read(path)
            r = run('put', path, name, '-', data=new)
            now = lib.read(path)
            bad += lib.unless(not r.returncode and contents(now)[name] == new and len(now) == len(was),
                              (name, r.stderr))
            bad += lib.unless(contents(now, [name]) == contents(was, [name]), f'{name}: another entry changed')
            bad += lib.unless(rows_but(now, name) == rows_but(was, name), f'{name}: another record changed')
        t.none(bad, f'directory at the {where}: in its place')
        was = lib.read(path)
        r = run('put', path, 'a/two.txt', '-', data=bytes(37))
        t.ok(r.returncode == 1 and f'a/two.txt: its place has {room} bytes, 37 are needed: {37 - room} bytes are '
             'missing; -o grow' in r.stderr and lib.read(path) == was,
             'longer: refused with the bytes missing', r.stderr)
        new = rng.randbytes(5000)
        r = run('put', '-g', path, 'a/two.txt', '-', data=new)
        now = lib.read(path)
        row = next(x for x in readpak.directory(now) if x[0] == 'a/two.txt')
        record = next(i for i, x in enumerate(readpak.directory(was)) if x[0] == 'a/two.txt') * 64
        at = struct.unpack_from('<I', was, 4)[0] + record + 56
        t.same((r.returncode, row[1:], now[row[1]:]), (0, [(len(was) + 15) // 16 * 16, 5000], new), 'grown: at the end')
        t.ok(other_bytes(was, now[:len(was)]) <= set(range(at, at + 8)), 'only its record changed')
        t.ok(not run('undo', path, '99').returncode and lib.read(path) == data, 'undone')


def mounted_entries(t):
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    entries = [('a/one.txt', b'one' * 9), ('a/two.txt', b'two' * 9), ('same', b'x'), ('same', b'y')]
    data, _ = mkpak.pack(entries)
    path = t.file('plain.pak', data)
    with Mount(t, path) as m:
        file = os.path.join(m.point, 'a', 'one.txt')
        try:
            with open(file, 'wb') as f:
                f.write(bytes(100))
            code = 0
        except OSError as e:
            code = e.errno
        t.same(code, errno.ENOSPC, 'ENOSPC')
        errors = lib.read(m.point, 'errors.txt')
        t.ok(b'a/one.txt: its place has 28 bytes, 100 are needed: 72 bytes are missing' in errors,
             'errors.txt says why', errors)
        t.same((lib.read(file), lib.read(path)), (b'one' * 9, data), 'nothing changed')
        t.same(sorted(os.listdir(m.point)), ['a', 'errors.txt', 'same', 'same~2'], 'a name used twice')
        for name in ('new.txt', 'a/new.obj'):
            try:
                os.close(os.open(os.path.join(m.point, name), os.O_CREAT | os.O_WRONLY))
            except OSError as e:
                t.same(e.errno, errno.EPERM, f'{name}: not created')
    with Mount(t, path, 'grow') as m:
        for i in range(3):
            for name in ('a/one.txt', 'same~2'):
                with open(os.path.join(m.point, name), 'wb') as f:
                    f.write(bytes([i + 1]) * 100 * (i + 1))
                t.same(lib.read(m.point, name), bytes([i + 1]) * 100 * (i + 1), f'-o grow: {name}, {i}')
    rows = readpak.directory(lib.read(path))
    t.same([r[2] for r in rows], [300, 27, 1, 300], 'as the independent reader has it')
    t.ok(not run('undo', path, '99').returncode and lib.read(path) == data, 'undone')


def shared(t):
    """Entries that have bytes together are read and not written; nothing else suffers."""
    data, rows = mkpak.pack([('one.txt', b'0123456789'), ('two.txt', (14, 4)), ('self.pak', (0, 12)),
                             ('free.txt', b'free')])
    path = t.file('shared.pak', data)
    t.same([run('cat', path, n).stdout for n in ('one.txt', 'two.txt', 'free.txt')],
           [b'0123456789', b'2345', b'free'], 'read')
    bad = []
    for name in ('one.txt', 'two.txt'):
        r = run('put', path, name, '-', data=b'x')
        bad += lib.unless(r.returncode == 1 and 'Permission denied' in r.stderr, (name, r.stderr))
    t.none(bad, 'not written')
    text = run('info', path).stdout.decode()
    t.ok('shared_entries: 3' in text and
         '# read-only: two.txt: something else of the archive has bytes of it too' in text, 'info says which', text)
    t.same(lib.read(path), data, 'nothing changed')
    r = run('put', path, 'free.txt', '-', data=b'mine')
    t.ok(not r.returncode and contents(lib.read(path))['free.txt'] == b'mine', 'the others are', r.stderr)
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    with Mount(t, path, 'grow') as m:
        mode = {n: os.stat(os.path.join(m.point, n)).st_mode & 0o222 for n in ('one.txt', 'two.txt', 'free.txt')}
        t.same(mode, {'one.txt': 0, 'two.txt': 0, 'free.txt': 0o200}, 'no write bits')
        try:
            os.close(os.open(os.path.join(m.point, 'two.txt'), os.O_WRONLY))
            code = 0
        except OSError as e:
            code = e.errno
        t.same(code, errno.EACCES, 'opened for writing: EACCES')
    many, _ = mkpak.pack([('%d.pak' % i, (0, 12 + 64 * 40)) for i in range(40)], 'start')
    path = t.file('many.pak', many)
    began = time.monotonic()
    r = run('ls', '-R', path, limit=120)
    t.ok(r.stdout.count(b'.pak/\n') < 600000 and time.monotonic() - began < 60 * lib.SLOW,
         'an archive that holds itself many times', time.monotonic() - began)


def grown_quartet(t):
    """A face more: the MMP of a quartet needs more than its place, and only it moves."""
    where = os.path.join(made(t, SEED), 'files')
    first = lib.read(where, 'scattered.pak')
    path = t.file('scattered.pak', first)
    view = 'one.mlp/meshes/0.obj'
    text = run('cat', path, view).stdout
    face = next(x for x in text.split(b'\n') if x.startswith(b'f '))
    more = text.replace(face + b'\n', (face + b'\n') * 200, 1)
    r = run('put', path, view, '-', data=more)
    t.ok(r.returncode == 1 and
         re.search(r'one\.mmp: its place has \d+ bytes, \d+ are needed: \d+ bytes are missing', r.stderr),
         'refused with the bytes missing', r.stderr)
    t.same(lib.read(path), first, 'nothing changed')
    r = run('put', '-g', path, view, '-', data=more)
    now = lib.read(path)
    was, mesh = in_pak(first, 'one').read(first)['meshes'][0], in_pak(now, 'one').read(now)['meshes'][0]
    t.same((r.returncode, mesh['index_count']), (0, was['index_count'] + 3 * 199), 'saved with -o grow')
    t.same((mesh['vertices'], mesh['rows']), (was['vertices'], was['rows']), 'nothing else of the mesh changed')
    mine = ('one.mlp', 'one.mmp')
    t.same(contents(now, mine), contents(first, mine), 'nor another entry')
    t.same(rows_but(now, 'one.mmp'), rows_but(first, 'one.mmp'), 'nor another place')
    t.ok(not run('verify', path).returncode and not run('undo', path, '9').returncode and lib.read(path) == first,
         'verified, and undone')


# ---------------------------------------------------------------- edits in unknown bytes

def carved(t):
    where = os.path.join(made(t, SEED), 'files')
    for name in ('carve0.pak', 'carve1.pak', 'carve2.pak'):
        first = lib.read(where, name)
        path = t.file(name, first)
        for found in readpak.carve(first):
            quartet, below = in_noise(found), '%08x.mlp' % found[0]
            mesh = next(i for i, m in enumerate(quartet.read(first)['meshes']) if m['kind'] == 'rigid')
            moved(t, path, quartet, below, mesh, 1, by_put(path), f'{name}, {below}: put')
            if not lib.fuse_missing():
                with Mount(t, path) as m:
                    moved(t, path, quartet, below, mesh, 0, by_mount(m.point), f'{name}, {below}: mounted',
                          (0.25, -7.0))
        t.ok(not run('undo', path, '99').returncode and lib.read(path) == first, f'{name}: undone')


def carved_sizes(t):
    """No size can change; files saved as they are change nothing."""
    where = os.path.join(made(t, SEED), 'files')
    first = lib.read(where, 'carve1.pak')
    path = t.file('carve.pak', first)
    found = readpak.carve(first)[0]
    below = '%08x.mlp' % found[0]
    view = f'{below}/meshes/0.obj'
    text = run('cat', path, view).stdout
    face = next(x for x in text.split(b'\n') if x.startswith(b'f '))
    for flags in ([], ['-g']):
        r = run('put', *flags, path, view, '-', data=text.replace(face + b'\n', (face + b'\n') * 20, 1))
        t.ok(r.returncode == 1 and 'bytes are missing' in r.stderr, f'more faces {flags}', r.stderr)
        r = run('put', *flags, path, f'{below}/raw/whole.mlp', '-', data=bytes(found[1] + 7))
        t.ok(r.returncode == 1, f'a longer MLP {flags}', r.stderr)
    t.same(lib.read(path), first, 'nothing changed')
    to = t.extract(path)
    bad = []
    for view in sorted(lib.files(to)):
        if view.endswith(('.mtl', 'preview.png')):
            continue
        r = run('put', path, view, os.path.join(to, view))
        bad += lib.unless(r.returncode == 0 and lib.read(path) == first, f'{view}: {r.stderr}')
    t.none(bad, 'files saved unchanged change nothing')
    raw = bytearray(run('cat', path, f'{below}/raw/whole.mlp').stdout)
    raw[0] ^= 1
    r = run('put', path, f'{below}/raw/whole.mlp', '-', data=bytes(raw))
    t.ok(r.returncode == 1 and lib.read(path) == first, 'bytes that would be no model any more', r.stderr)


def killed(t):
    """kill -9 at any moment leaves the old bytes or the new ones."""
    # Who is killed while it looks for leaks leaves a report of that.
    no_leaks = {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}
    where = os.path.join(made(t, SEED), 'files')
    rng = random.Random(SEED)
    for name in ('plain.pak', 'carve1.pak'):
        first = lib.read(where, name)
        path = t.file(name, first)
        below = 'one.mlp' if name == 'plain.pak' else '%08x.mlp' % readpak.carve(first)[0][0]
        view, seen, bad, longest = f'{below}/meshes/0.obj', [0, 0], [], 0.05
        for i in range(KILLS):
            was = lib.read(path)
            text = t.file('text', move_vertex(run('cat', path, view).stdout, 1, rng.uniform(-2, 2)))
            other = t.file(name, was)
            began = time.monotonic()
            run('put', other, view, text)
            longest = max(longest, time.monotonic() - began) if not i else longest
            p = subprocess.Popen([lib.PROGRAM, 'put', path, view, text], stderr=subprocess.DEVNULL, env=no_leaks)
            time.sleep(rng.uniform(0, 1.2 * longest))
            p.kill()
            p.wait()
            r = run('log', path)               # recovers nothing, but the next writer does
            run('put', path, view, '-', data=run('cat', path, view).stdout)
            now = lib.read(path)
            bad += lib.unless(now in (was, lib.read(other)), f'kill {i}: neither old nor new')
            seen[now != was] += 1
        t.none(bad, f'{name}: {KILLS} kills: {seen}')
        r = run('undo', path, '999')
        t.ok(not r.returncode and lib.read(path) == first or not seen[1], f'{name}: undone', r.stderr)


# ---------------------------------------------------------------- large ones

def large(t):
    """Many entries; and a large file in which little lies."""
    n = 50000
    body = b''.join(b'entry%07d\n' % i for i in range(n))
    rows = b''.join(struct.pack('<56sII', b'd%02d/f%05d.txt' % (i // 1000, i), 12 + 13 * i, 13) for i in range(n))
    path = t.file('many.pak', struct.pack('<4sII', b'PACK', 12 + len(body), len(rows)) + body + rows)
    t.same(run('cat', path, 'd49/f49999.txt').stdout, b'entry0049999\n', f'the last of {n} entries')
    t.same(len(re.findall(rb'(?m)^f\d{5}\.txt$', run('ls', '-R', path).stdout)), n, 'all listed')
    path = t.file('large.pak', b'')
    rng = random.Random(5)
    quartet = mkpak.some(rng, ('mixmgp',))[0]
    size, want = 200 << 20, {}
    with open(path, 'wb') as f:
        f.truncate(size)
        for kind, at in (('mlp', 150 << 20), ('mmp', 190 << 20), ('mgp', 3 << 20)):
            f.seek(at)
            want[kind] = quartet.files[quartet.truth['members'][kind]['file']]
            f.write(want[kind])
    began = time.monotonic()
    to = t.extract(path)
    t.ok(time.monotonic() - began < 10 * lib.SLOW, 'a sparse file of 200 MiB', time.monotonic() - began)
    t.same({k: lib.read(to, '09600000.mlp', 'raw', 'whole.' + k) for k in ('mlp', 'mmp')},
           {k: want[k] for k in ('mlp', 'mmp')}, 'found where it lies')


lib.main(shown, alone, damaged, searched, changing, in_place, plain_entries, mounted_entries, shared, grown_quartet,
         carved, carved_sizes, killed, large)
