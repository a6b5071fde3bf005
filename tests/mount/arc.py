"""MT Framework archives: those of the public corpus by the corpus' own checker, and archives of models, which have to
show what the models show as files, and to keep every other byte when one is edited."""
import lib
from lib import Mount, Skip, run

import errno
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zlib

HERE = os.path.join(lib.SHARED, 'corpus', 'mod3')
SEEDS = (1, 2, 3, 4, 5)
MIB = 1 << 20


def script(name, *args):
    return lib.other(sys.executable, os.path.join(HERE, name + '.py'), *args)


def maker():
    if HERE not in sys.path:
        sys.path.append(HERE)
    import mkmod3
    import readmod3
    return mkmod3, readmod3


def corpus(t, seed):
    where = t.dir(f'mod3-{seed}')
    code, said = script('mkmod3', where, '--seed', str(seed), '--small')
    if code:
        raise Skip(f'no corpus of seed {seed}: {said[-200:]}')
    return where


# ---------------------------------------------------------------- the corpus

def only_arc(t, where):
    """The parts of expected.json and of the manifest that are about archives."""
    full = json.load(open(os.path.join(where, 'expected.json')))
    bad = json.load(open(os.path.join(where, 'bad', 'manifest.json')))
    good = t.file('expected.json', json.dumps({'arc': full['arc']}).encode())
    bad = {'bad': [b for b in bad['bad'] if b['path'].startswith('arc/')]}
    return good, t.file('manifest.json', json.dumps(bad).encode())


def shown(t):
    for seed in SEEDS:
        where = corpus(t, seed)
        for name, expected in zip(('tree', 'bad'), only_arc(t, where)):
            source, to = os.path.join(where, name), os.path.join(t.dir('extract'), 'x')
            run('extract', source, to)
            code, said = script('check_mount', to, expected)
            t.ok(not code and re.search(r'\d{2,} passed, 0 failed', said), f'seed {seed}: {name}, extracted', said)
            if lib.fuse_missing():
                t.skip('mounted: ' + lib.fuse_missing())
                continue
            with Mount(t, source) as m:
                code, said = script('check_mount', m.point, expected)
                t.ok(not code, f'seed {seed}: {name}, mounted', said)
        alone = [os.path.join(where, 'tree', 'nativePC', 'arc', n)
                 for n in os.listdir(os.path.join(where, 'tree', 'nativePC', 'arc'))]
        bad = [f'{p}: {r.stdout}{r.stderr}' for p in alone for r in [run('verify', p)] if r.returncode]
        t.none(bad, f'seed {seed}: {len(alone)} archives verified')


def damaged(t):
    """What is wrong stands in errors.txt, once, and verify says so."""
    where = os.path.join(corpus(t, 1), 'bad', 'arc')
    reasons = {
        'adler': 'bad/entry.gmd: zlib stream at 0x.*: incorrect data check',
        'bomb': 'bad/entry.gmd: zlib stream at 0x.*: it becomes more than 100 bytes, expected 100',
        'count': 'ARC table at 0x8: 65535 entries of 80 bytes end past the 595 of the file',
        'cut_data': 'ARC entry at 0x.*: bad/entry.gmd: 0x.* bytes at 0x.*, expected between',
        'cut_header': 'ARC header at 0x0: 6 bytes, expected 8',
        'cut_table': 'ARC table at 0x8: 2 entries of 80 bytes end past the 108 of the file',
        'not_zlib': 'bad/raw.gmd: zlib stream at 0x2 .*: incorrect header check',
        'offset_table': 'ARC entry at 0x.*: bad/entry.gmd: 0x.* bytes at 0x10, expected between',
        'offset_wild': 'ARC entry at 0x.*: bad/entry.gmd: 0x.* bytes at 0xfffffff0, expected between',
        'packed_huge': 'ARC entry at 0x.*: bad/entry.gmd: 0xffffffff bytes at 0x.*, expected between',
        'size_huge': 'ARC entry at 0x.*: bad/entry.gmd: 536870911 bytes, at most 268435456 are read',
        'size_small': 'bad/entry.gmd: zlib stream at 0x.*: it becomes more than 3 bytes, expected 3',
        'stream': 'bad/entry.gmd: zlib stream at 0x.*',
    }
    bad = []
    for name, reason in reasons.items():
        path, to = os.path.join(where, name + '.arc'), os.path.join(t.dir('extract'), 'x')
        r = run('extract', path, to)
        lines = lib.read(to, 'errors.txt').decode().splitlines()
        bad += lib.unless(r.returncode == 1 and len(lines) == 1 and re.match(reason, lines[0]),
                          (name, r.returncode, lines))
        r = run('verify', path)
        bad += lib.unless(r.returncode == 1, (name, r.stdout, r.stderr))
    t.none(bad, f'{len(reasons)} damaged archives')
    for name, reason in (('arcc', 'ARC at 0x0: ARCC: it is encrypted'),
                         ('lzx', 'ARC at 0x8: .* its data are packed with LZX')):
        r = run('info', os.path.join(where, name + '.arc'))
        t.ok(r.returncode == 1 and re.search(reason, r.stderr), f'{name}: info says why it is none', r)


def others(t):
    """Models of other games are plain files, and info names their versions."""
    make = maker()[0].arc
    mods = {'e6': b'MOD\0\xe6\0' + bytes(200), 'big': b'\0DOM\0\x99' + bytes(200), 'none': b'nothing' * 9}
    path = t.file('mods.arc', make([('m\\' + n, 'mod', b, 9) for n, b in mods.items()])[0])
    told = {'e6': 'MOD version at 0x4.*: 230, expected 237',
            'big': 'MOD version at 0x4.*: 153, big-endian, expected 237, little-endian'}

    def names_them(r, below):
        lines = [x for x in r.stdout.decode().splitlines() if x.startswith('# plain: ')]
        return r.returncode == 0 and len(lines) == 2 and all(
            any(re.fullmatch(f'# plain: {below}{n}.mod: {x}', line) for line in lines) for n, x in told.items())

    r = run('info', path)
    t.ok(names_them(r, 'm/'), 'in an archive', r)
    t.ok(b'kind: mod\n  count: 3\n' in r.stdout, 'counted')
    t.same(run('cat', path, 'm/e6.mod').stdout, mods['e6'], 'a plain file')
    folder = t.dir('mods')
    for n, b in mods.items():
        with open(os.path.join(folder, n + '.mod'), 'wb') as f:
            f.write(b)
    r = run('info', folder)
    t.ok(names_them(r, ''), 'in a folder', r)
    for n, x in told.items():
        r = run('info', os.path.join(folder, n + '.mod'))
        t.ok(r.returncode == 1 and re.search(x, r.stderr), f'{n} alone', r.stderr)


# ---------------------------------------------------------------- archives of models

EXTENSIONS = {'mod3': 'mod', 'mrl3': 'mrl', 'tex': 'tex'}


def models(where):
    """The corpus' models, libraries and textures as entries of an archive."""
    root, out = os.path.join(where, 'tree', 'nativePC'), []
    for name in sorted(lib.files(root)):
        stem, ext = name.rsplit('.', 1)
        if ext in EXTENSIONS and len(stem) <= 64:
            out.append((stem.replace('/', '\\'), EXTENSIONS[ext], lib.read(root, name), 9))
    return out


class Arc:
    """An archive, read by the layout of the spec alone."""

    def __init__(self, data, low=False):
        order = '>' if data[:4] == b'\0CRA' else '<'
        version, n = struct.unpack_from(order + 'HH', data, 4)
        self.head = 8 if version < 0x10 else 12
        self.entries = []
        for i in range(n):
            path, kind, packed, size, at = struct.unpack_from(order + '64s4I', data, self.head + 80 * i)
            stream = data[at:at + packed]
            size = size >> 3 if low else size & 0x1fffffff
            contents = zlib.decompress(stream) if packed else b''
            assert len(contents) == size, (path, len(contents), size)
            self.entries.append((path.rstrip(b'\0').decode('latin-1'), kind, at, stream, contents))

    def contents(self, path, kind=0x58a15856):
        return next(e[4] for e in self.entries if e[0] == path and e[1] == kind)


def like_files(t):
    """Models in archives show what they show in a folder, textures included."""
    where = corpus(t, 1)
    make = maker()[0].arc
    folder = os.path.join(t.dir('folder'), 'x')
    run('extract', os.path.join(where, 'tree'), folder)
    in_archive = lambda n: re.sub(r'\.(mod3|mrl3)/', lambda m: f'.{EXTENSIONS[m.group(1)]}/', n, count=1)
    want = {in_archive(n): lib.read(folder, 'nativePC', n)
            for n in lib.files(os.path.join(folder, 'nativePC')) if not n.startswith('arc/')}
    t.ok(sum('/textures/' in n for n in want) > 10, 'there are textures')
    entries = models(where)
    rooted = [('up\\nativePC\\' + p, *rest) for p, *rest in entries]
    inner = make(entries, 0x11)[0]
    for what, data, below in (('an archive', make(entries)[0], ''),
                              ('a folder nativePC in one', make(rooted)[0], 'up/nativePC'),
                              ('a big-endian one', make(entries, 8, True, True)[0], ''),
                              ('an archive in an archive', make([('in\\it', 'arc', inner, 6)])[0], 'in/it.arc')):
        to = os.path.join(t.dir('extract'), 'x')
        path = t.file('models.arc', data)
        r = run('extract', path, to)
        have = {n: lib.read(to, below, n) for n in lib.files(os.path.join(to, below)) if not n.startswith('raw/')}
        t.ok(not r.returncode and not r.stderr, f'{what}: extracted', r.stderr)
        t.none([n for n in sorted(set(have) ^ set(want))] + [n for n in want if have.get(n) != want[n]],
               f'{what}: {len(want)} files are those of the folder')
        t.ok(not run('verify', path).returncode, f'{what}: verified')


def outside(t):
    """A model in an archive finds its textures in the folder around it."""
    where = corpus(t, 1)
    make = maker()[0].arc
    entries = [e for e in models(where) if e[1] != 'tex']
    root = os.path.join(where, 'tree', 'nativePC')
    shutil.rmtree(os.path.join(root, 'arc'))
    os.makedirs(os.path.join(root, 'some', 'where'))
    with open(os.path.join(root, 'some', 'where', 'models.arc'), 'wb') as f:
        f.write(make(entries)[0])
    to = os.path.join(t.dir('extract'), 'x')
    run('extract', os.path.join(where, 'tree'), to)
    archive, folder = (os.path.join(to, 'nativePC', *x) for x in (('some', 'where', 'models.arc'), ()))
    pictures = [n for n in lib.files(archive) if '/textures/' in n]
    t.ok(len(pictures) > 10, 'textures', pictures)
    t.none([n for n in pictures if lib.read(archive, n) != lib.read(folder, n.replace('.mod/', '.mod3/'))],
           'are those of the folder')


# ---------------------------------------------------------------- edits

EDITS = [
    ('header.yaml', r'unknown_a0: .*', 'unknown_a0: 2.5'),
    ('header.yaml', r'aabb_min: .*', 'aabb_min: [-1.5, 0.0, 2.25, 0.0]'),
    ('materials.yaml', r'name: .*', 'name: "another_name"'),
    ('groups.yaml', r'id: .*', 'id: 77'),
    ('skeleton.yaml', r'reach: .*', 'reach: 3.25'),
    ('meshes/0.yaml', r'lod_mask: .*', 'lod_mask: 0x00ff'),
    ('meshes/0.obj', r'\nv \S+ ', '\nv 1.25 '),
    ('meshes/0.weights.yaml', r'\n- .*', '\n- [[0, 1023]]'),
]


def candidates(where):
    """Models that have all that is edited, smallest first."""
    root = os.path.join(where, 'tree', 'nativePC')
    found = []
    for name in lib.files(root):
        if name.endswith('.mod3') and len(name) < 69:
            listed = run('ls', '-R', os.path.join(root, name)).stdout.decode()
            if all(x in listed for x in ('groups.yaml', 'skeleton.yaml', '0.weights.yaml')):
                found.append((os.path.getsize(os.path.join(root, name)), name))
    return [n for _, n in sorted(found)]


def put_text(path, view, text):
    return run('put', path, view, '-', data=text)


def edited(t):
    """Each edit in an archive is what it is in the file alone; no other entry changes by a byte."""
    where = corpus(t, 1)
    make = maker()[0].arc
    name = candidates(where)[0]
    stem = name[:-5]
    lone = lib.read(where, 'tree', 'nativePC', name)
    entries = models(where)
    kinds = [('little-endian', make(entries)[0], False, ''), ('aligned', make(entries, 7, first=0x8000)[0], False, ''),
             ('flags low', make(entries, 8, True, True)[0], True, '')]
    for what, data, low, below in kinds:
        was = Arc(data, low)
        place = f'{stem}.mod'
        bad = []
        for view, old, new in EDITS:
            alone, path = t.file('alone.mod3', lone), t.file('models.arc', data)
            text = run('cat', alone, view).stdout
            text = re.sub(old.encode(), new.encode(), text, count=1)
            r = put_text(alone, view, text)
            bad += lib.unless(not r.returncode and lib.read(alone) != lone, f'{view}: alone: {r.stderr}')
            r = put_text(path, f'{place}/{view}', text)
            if r.returncode:
                bad.append(f'{view}: {r.stderr}')
                continue
            now = Arc(lib.read(path), low)
            for a, b in zip(was.entries, now.entries):
                mine = (a[0].replace('\\', '/'), a[1]) == (stem, 0x58a15856)
                bad += lib.unless(b[4] == lib.read(alone) if mine else a == b, f'{view}: {a[0]}')
                bad += lib.unless(a[2] == b[2], f'{view}: {a[0]} moved')
            bad += lib.unless(len(lib.read(path)) == len(data), f'{view}: another size')
            bad += lib.unless(not run('verify', path).returncode, f'{view}: verify')
            bad += lib.unless(not run('undo', path).returncode and lib.read(path) == data, f'{view}: undone')
        t.none(bad, f'{what}: {len(EDITS)} edits')


def nested(t):
    """An archive in an archive, and one more: each is packed again around the edit."""
    where = corpus(t, 2)
    mk, rd = maker()
    name = candidates(where)[0]
    data, path = mk.arc(models(where), 0x11)[0], name[:-5]
    for i in range(3):
        data = mk.arc([('other', 'gmd', b'beside', 9), (f'in\\n{i}', 'arc', data, 6)], 7)[0]
        path = f'in/n{i}.arc/' + path
    file = t.file('nested.arc', data)
    text = run('cat', file, path + '.mod/header.yaml').stdout
    r = run('put', file, path + '.mod/header.yaml', '-', data=re.sub(rb'unknown_a0: .*', b'unknown_a0: 2.5', text))
    t.ok(not r.returncode, 'saved', r.stderr)
    inner = Arc(lib.read(file))
    for i in (2, 1, 0):
        t.same(inner.entries[0][4], b'beside', f'level {i}')
        inner = Arc(inner.contents(f'in\\n{i}', 0x73850d05))
    truth = rd.read_mod3(inner.contents(name[:-5].replace('/', '\\')))
    t.same(truth['header']['unknown_a0'], 2.5, 'the independent reader finds it')
    t.ok(not run('verify', file).returncode, 'verified')


def textures(t):
    """Files that belong to a model are written where they lie, in the archive, whichever directory was written to."""
    where = corpus(t, 1)
    make = maker()[0].arc
    path = t.file('models.arc', make([(p, e, b, 0 if e == 'tex' else 9) for p, e, b, _ in models(where)])[0])
    to = t.extract(path)
    picture = next(n for n in sorted(lib.files(to)) if re.search(r'\.mod/textures/\d+\.png$', n) and
                   os.path.exists(os.path.join(to, n[:-3] + 'dds')))
    dds = picture[:-3] + 'dds'
    was, now = lib.read(to, dds), bytearray(lib.read(to, dds))
    now[-1] ^= 0xff
    r = run('put', path, dds, '-', data=bytes(now))
    t.ok(not r.returncode, 'a texture saved through a model', r.stderr)
    t.same(run('cat', path, dds).stdout, bytes(now), 'shows there')
    same = [n for n in lib.files(to) if n.endswith('.dds') and lib.read(to, n) == was and n != dds]
    t.ok(any(run('cat', path, n).stdout == bytes(now) for n in same), 'and in the directory of the texture', same)
    a, b = Arc(lib.read(to, 'raw/whole.arc')), Arc(lib.read(path))
    changed = [x[0] for x, y in zip(a.entries, b.entries) if x != y]
    t.ok(len(changed) == 1, 'one entry changed', changed)


def unchanged(t):
    """Every file saved as it is changes no byte."""
    where = corpus(t, 3)
    make = maker()[0].arc
    data = make([(p, e, b, 6) for p, e, b, _ in models(where)] + [('msg\\hello', 'gmd', b'hello', 9)], 7)[0]
    path = t.file('models.arc', data)
    to = t.extract(path)
    files = [n for n in sorted(lib.files(to)) if not n.endswith(('.mtl', 'preview.png'))]
    readonly = {n for n in files if n.endswith('.png')}
    bad = []
    random.Random(5).shuffle(files)
    for view in files[:150] + [n for n in files if n.startswith('raw/') or n.endswith('.gmd')]:
        r = run('put', path, view, os.path.join(to, view))
        bad += lib.unless((r.returncode == 0 or view in readonly) and lib.read(path) == data, f'{view}: {r.stderr}')
    t.none(bad, 'files saved unchanged change nothing')


def plain(t):
    """Entries that are no models: in their place, refused with the missing bytes, at the end with -o grow."""
    mk = maker()[0]
    rng = random.Random(4)
    entries = [('a\\one', 'gmd', rng.randbytes(500), 9), ('a\\two', 'gmd', b'two' * 50, 9),
               ('three', 'lmt', b'', 'empty'), ('end', 'gmd', b'end', 9)]
    data = mk.arc(entries, 0x10)[0]
    path = t.file('plain.arc', data)
    r = run('put', path, 'a/one.gmd', '-', data=rng.randbytes(499))
    t.ok(not r.returncode and len(Arc(lib.read(path)).entries[0][4]) == 499, 'a shorter one', r.stderr)
    r = run('put', path, 'a/two.gmd', '-', data=rng.randbytes(400))
    why = (r'a/two.gmd: the place of its stream has \d+ bytes, 411 are needed: \d+ bytes are missing; '
           '-o grow would let the archive grow')
    t.ok(r.returncode == 1 and re.search(why, r.stderr), 'a longer one', r.stderr)
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    was = lib.read(path)
    with Mount(t, path) as m:
        file = os.path.join(m.point, 'a', 'two.gmd')
        try:
            with open(file, 'wb') as f:
                f.write(rng.randbytes(400))
            code = 0
        except OSError as e:
            code = e.errno
        t.same(code, errno.ENOSPC, 'mounted: ENOSPC')
        t.ok('two.gmd.rejected' in os.listdir(os.path.join(m.point, 'a')), 'what was refused lies beside it')
        t.ok(b'bytes are missing' in lib.read(m.point, 'errors.txt'), 'errors.txt says why')
        t.same(lib.read(file), b'two' * 50, 'the old bytes stay')
    t.same(lib.read(path), was, 'nothing changed')
    with Mount(t, path, 'grow') as m:
        new = rng.randbytes(400)
        for name in ('a/two.gmd', 'three.lmt'):
            with open(os.path.join(m.point, name), 'wb') as f:
                f.write(new)
            t.same(lib.read(m.point, name), new, f'-o grow: {name}')
        with open(os.path.join(m.point, 'a', 'one.gmd'), 'wb') as f:
            f.write(b'one')
        t.same(os.stat(os.path.join(m.point, 'a', 'one.gmd')).st_size, 3, 'its size at once')
    now = Arc(lib.read(path))
    t.same([e[4] for e in now.entries], [b'one', new, new, b'end'], 'as the independent reader has it')
    t.ok(now.entries[1][2] == len(data) and now.entries[0][2] == Arc(data).entries[0][2], 'appended; the others stay')
    t.ok(not run('verify', path).returncode and not run('undo', path, '9').returncode and lib.read(path) == data,
         'verified, and undone to the first byte')


# ---------------------------------------------------------------- names

def names(t):
    """Folders of an archive are directories like any other."""
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    mk = maker()[0]
    order = ['z', 'b\\2', 'a', 'b\\1', 'b\\c\\9', 'raw\\x', 'errors', 'y']
    path = t.file('names.arc', mk.arc([(n, 'gmd', n.encode() * 9, 0) for n in order])[0])
    with Mount(t, path) as m:
        top = lib.entries(m.point)
        t.same([(n, kind == lib.DT_DIR) for n, kind, _, _ in top],
               [('z.gmd', False), ('b', True), ('a.gmd', False), ('raw~2', True), ('errors.gmd', False),
                ('y.gmd', False), ('raw', True)], 'listed in the order of the table')
        t.same([n for n, _, _, _ in lib.entries(os.path.join(m.point, 'b'))], ['2.gmd', '1.gmd', 'c'], 'so are folders')
        inodes = {n: os.stat(os.path.join(m.point, n)).st_ino for n in lib.files(m.point)}
        t.ok(len(set(inodes.values())) == len(inodes), 'each has a number of its own')
        t.same({n: os.stat(os.path.join(m.point, 'b', n)).st_ino for n in ('1.gmd', 'c')},
               {n: i for n, _, i, _ in lib.entries(os.path.join(m.point, 'b')) if n in ('1.gmd', 'c')}, 'as listed')
        up = os.path.join(m.point, 'b', 'c', '..', '..', 'a.gmd')
        t.same(os.path.realpath(up), os.path.join(m.point, 'a.gmd'), '..')
        for i in range(len(top)):
            rest = lib.entries(m.point, top[i][3])
            if [n for n, *_ in rest] != [n for n, *_ in top[i + 1:]]:
                t.ok(False, f'listing from position {i}', rest)
        folder = os.path.join(m.point, 'b', 'c')
        with open(os.path.join(folder, '.9.gmd.swp'), 'wb') as f:
            f.write(b'temporary')
        t.same(sorted(os.listdir(folder)), ['.9.gmd.swp', '9.gmd'], 'a temporary file in a folder')
        t.same(sorted(os.listdir(m.point)), sorted(n for n, *_ in top), 'is nowhere else')
        os.rename(os.path.join(folder, '.9.gmd.swp'), os.path.join(folder, '9.gmd'))
        t.same((os.listdir(folder), lib.read(folder, '9.gmd')), (['9.gmd'], b'temporary'), 'renamed over an entry')
        for what, call in (('a new entry', lambda: open(os.path.join(folder, 'new.gmd'), 'wb')),
                           ('a new folder', lambda: os.mkdir(os.path.join(folder, 'new'))),
                           ('to remove a folder', lambda: os.rmdir(folder))):
            try:
                call()
                t.ok(False, what)
            except OSError as e:
                t.ok(e.errno in (errno.EPERM, errno.ENOTEMPTY), what + ' is refused', e)
        subprocess.run(['sed', '-i', 's/b/c/', os.path.join(m.point, 'b', '1.gmd')], check=True)
        t.same(lib.read(m.point, 'b', '1.gmd'), b'c\\1' + b'b\\1' * 8, 'sed -i')
    with Mount(t, path) as m:
        again = {n: os.stat(os.path.join(m.point, n)).st_ino for n in lib.files(m.point)}
        t.same(again, inodes, 'the same numbers once more')


def table(t):
    """A name that is changed in the table is another file; what was open of the old one is gone."""
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    mk = maker()[0]
    path = t.file('names.arc', mk.arc([('a\\one', 'gmd', b'one', 9), ('a\\two', 'gmd', b'two', 9)])[0])
    with Mount(t, path) as m:
        raw = os.path.join(m.point, 'raw', 'entries.bin')
        held = os.open(os.path.join(m.point, 'a', 'one.gmd'), os.O_RDONLY)
        t.same(os.read(held, 9), b'one', 'before')
        text = lib.read(raw).replace(b'a\\one\0', b'b\\own\0')
        with open(raw, 'r+b') as f:
            f.write(text)
        t.same(sorted(n for n in lib.files(m.point) if not n.startswith('raw/')), ['a/two.gmd', 'b/own.gmd'], 'renamed')
        t.same(lib.read(m.point, 'b', 'own.gmd'), b'one', 'with its bytes')
        try:
            os.pread(held, 9, 0)
            t.ok(False, 'the old one is gone')
        except OSError as e:
            t.same(e.errno, errno.ESTALE, 'the old one is gone')
        os.close(held)
        t.same(lib.read(raw), text, 'the table')


# ---------------------------------------------------------------- what it costs

def unpacked(t, m):
    return int(re.search(r'unpacked: (\d+)', m.log).group(1))


def once(t):
    """No entry is unpacked twice while there is room; a look at the beginning of a long one unpacks no more than that."""
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    mk = maker()[0]
    rng = random.Random(8)
    path = t.file('once.arc', mk.arc([(f'd\\{i}', 'gmd', rng.randbytes(300000), 1) for i in range(20)])[0])
    with Mount(t, path, 'stats') as m:
        subprocess.run(['ls', '-lR', m.point], stdout=subprocess.DEVNULL, check=True)
    t.same(unpacked(t, m), 0, 'a listing unpacks nothing')
    short = t.file('short.arc', mk.arc([(f'd\\{i}', 'gmd', rng.randbytes(4096), 1) for i in range(20)])[0])
    with Mount(t, short, 'stats') as m:
        subprocess.run(['ls', '-lR', m.point], stdout=subprocess.DEVNULL, check=True)
        for i in range(20):
            lib.read(m.point, 'd', f'{i}.gmd')
    t.same(unpacked(t, m), 20, 'short ones are unpacked by the look at them')
    with Mount(t, path, 'stats', 'ro') as m:
        for _ in range(3):
            for i in range(20):
                lib.read(m.point, 'd', f'{i}.gmd')
    t.same(unpacked(t, m), 20, 'three times all of them')
    with Mount(t, path, 'stats', 'ro', 'cache=1') as m:
        with open(os.path.join(m.point, 'd', '7.gmd'), 'rb') as f:
            for i in (3, 4, 5, 6):
                lib.read(m.point, 'd', f'{i}.gmd')
            f.read()
    t.same(unpacked(t, m), 5, 'one that is open stays')


def bounded(t):
    """Bombs cost what they are declared to be, and what is too large for any stream of its length costs nothing."""
    if lib.fuse_missing():
        raise Skip(lib.fuse_missing())
    mk = maker()[0]
    packed = zlib.compress(bytes(600 * MIB), 9)
    data = bytearray(mk.arc([('bomb%d' % i, 'gmd', b'x', 9) for i in range(8)])[0])
    for i in range(8):                                             # all of them the same stream, in eight sizes
        size = (1, 100, 4096, MIB, 200 * MIB, 256 * MIB, 512 * MIB - 1, 64)[i]
        struct.pack_into('<3I', data, 8 + 80 * i + 0x44, len(packed), size | 0x40000000, len(data))
    path = t.file('bomb.arc', bytes(data) + packed)
    with Mount(t, path, 'cache=16') as m:
        bad = []
        for i in range(8):
            try:
                lib.read(m.point, f'bomb{i}.gmd')
                bad.append(i)
            except OSError as e:
                bad += lib.unless(e.errno == errno.EIO, (i, e))
        t.none(bad, 'eight bombs: EIO')
        t.same(len(os.listdir(m.point)), 10, 'all of them are listed, and errors.txt')
        most = m.memory() // MIB
        t.ok(most < (400 if not lib.SANITIZERS else 2000), 'memory', f'{most} MiB')
    nest = mk.arc([('n', 'gmd', b'the innermost', 9)])[0]
    for _ in range(15):                                            # 100 ** 15 files, those of an archive all the same
        stream = zlib.compress(nest, 9)
        nest = b'ARC\0' + struct.pack('<HH', 7, 100) + b''.join(
            struct.pack('<64s4I', b'%03d' % i, 0x73850d05, len(stream), len(nest) | 1 << 30, 8 + 8000)
            for i in range(100)) + stream
    path = t.file('nest.arc', nest)
    with Mount(t, path, 'cache=16') as m:
        found = subprocess.Popen(['find', m.point], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            found.wait(8)
        except subprocess.TimeoutExpired:
            found.kill()
            found.wait()
        most = m.memory() // MIB
        t.ok(most < (700 if not lib.SANITIZERS else 4000), f'archives in archives, {len(nest)} bytes: memory',
             f'{most} MiB')
        t.ok('raw' in os.listdir(os.path.join(m.point, '000.arc')), 'the mount lives')
    quick = t.file('quick.arc', bytes(data[:8 + 80 * 8]) + bytes(1000))
    t.ok(run('ls', '-lR', quick).returncode == 0, 'a table of nothing is listed')


if __name__ == '__main__':
    if not os.path.exists(os.path.join(HERE, 'check_mount.py')):
        print('skipped: no corpus beside the source')
        sys.exit(77)
    lib.main(shown, damaged, others, like_files, outside, edited, nested, textures, unchanged, plain, names, table,
             once, bounded)
