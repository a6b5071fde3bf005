"""PS3 quartets: the public corpus shown, then edits of each kind through `modelfs put` and a mount. What an edit leaves
is compared byte for byte with what design/views-ps3.md and spec/ps3-pak.md 9.2 and 9.4 say of the bytes before it,
worked out here; the corpus' own reader then has to take it without a warning that was not there."""
import lib
from lib import SHARED, Mount, run

import errno
import math
import os
import random
import shutil
import struct
import sys

PS3 = os.path.join(SHARED, 'corpus', 'ps3')
if not os.path.isfile(os.path.join(PS3, 'mkquartet.py')):
    print('skipped: no corpus of PS3 quartets')
    sys.exit(77)
sys.path[:0] = [PS3, os.path.join(SHARED, 'corpus', 'lib')]
import readquartet

NONE = 0xffffffff
EDIT_SEED = 7
ROUNDS = 4                                         # random edits of each mesh
EXT = ('mlp', 'mmp', 'mgp', 'scp')


def made(t, seed):
    return t.made('ps3', 'mkquartet.py', seed)


# ---------------------------------------------------------------- shown

def shown(t):
    """Everything, mounted and extracted; damaged quartets too."""
    fuse = not lib.fuse_missing()
    for seed in lib.CORPUS_SEEDS:
        where = made(t, seed)
        for part, expected in (('files', 'expected.json'), ('bad', 'bad/manifest.json')):
            source, expected = os.path.join(where, part), os.path.join(where, expected)
            to = t.extract(source, expect=int(part == 'bad'))
            t.none(lib.check_mount('ps3', to, expected), f'seed {seed}: {part}, extracted')
            if part == 'files':
                t.none([p for p in lib.files(to) if p.endswith('errors.txt')], f'seed {seed}: no errors.txt')
                r = run('verify', source)
                t.same((r.returncode, r.stderr), (0, ''), f'seed {seed}: verified')
            if fuse:
                with Mount(t, source, 'ro') as m:
                    t.none(lib.check_mount('ps3', m.point, expected), f'seed {seed}: {part}, mounted')
            shutil.rmtree(to)
    to = t.extract(os.path.join(PS3, 'files'))
    t.none(lib.check_mount('ps3', to, os.path.join(PS3, 'expected.json')), 'the public files')


def alone(t):
    """A quartet by its MLP, the other files beside it."""
    folder = os.path.join(made(t, lib.CORPUS_SEEDS[0]), 'files')
    have = lib.snapshot(t.extract(os.path.join(folder, 'golden.mlp')))
    want = lib.below(lib.snapshot(t.extract(folder)), 'golden.mlp')
    t.none(lib.differences(have, want), 'a quartet alone is what it is in its folder')


# ---------------------------------------------------------------- what edits have to leave

def word(b, at):
    return struct.unpack_from('>I', b, at)[0]


def f32(x):
    return struct.unpack('>f', struct.pack('>f', x))[0]


def bits(x):
    return struct.unpack('>I', struct.pack('>f', x))[0]


def real(w):
    return struct.unpack('>f', struct.pack('>I', w))[0]


class Bytes:
    """The files of a quartet, and what an edit makes of them."""

    def __init__(self, files):
        self.f = {k: bytearray(v) for k, v in files.items()}
        self.mlp = self.f['mlp']
        self.n, self.base = word(self.mlp, 0x10), word(self.mlp, 0x14)

    def rec(self, i, field):
        return word(self.mlp, 0x1c + 28 * i + 4 * ('id', 'metadata', 'mmp', 'mgp', 'metadata_size', 'mmp_size',
                                                  'mgp_size').index(field))

    def set_rec(self, i, field, v):
        at = 0x1c + 28 * i + 4 * ('id', 'metadata', 'mmp', 'mgp', 'metadata_size', 'mmp_size', 'mgp_size').index(field)
        self.mlp[at:at + 4] = struct.pack('>I', v)

    def meta(self, i):
        return self.base + self.rec(i, 'metadata')

    def put(self, at, *words):
        self.mlp[at:at + 4 * len(words)] = struct.pack('>%dI' % len(words), *words)

    def sub(self, i, k):
        return self.meta(i) + 0xc0 + 0x60 * k

    def desc(self, i):
        """Places of the descriptors: vertices, MGP rows (None), indices."""
        at = self.meta(i)
        rows = word(self.mlp, at + 0x94)
        return at + word(self.mlp, at + 0x90), None if rows == NONE else at + rows, at + word(self.mlp, at + 0x98)

    def shape(self, i):
        p, a, x = self.desc(i)
        m = self.f['mmp']
        at, nv, ni = self.rec(i, 'mmp'), word(self.mlp, p), word(self.mlp, x)
        v, ind = at + word(self.mlp, p + 16), at + word(self.mlp, x + 8)
        stride = word(self.mlp, a + 8) if a else 0
        g = self.rec(i, 'mgp')
        return dict(v=[[word(m, v + 16 * k + 4 * c) for c in range(4)] for k in range(nv)],
                    i=list(struct.unpack_from('>%dH' % ni, m, ind)), stride=stride,
                    rows=[bytes(self.f['mgp'][g + stride * k:g + stride * (k + 1)]) for k in range(nv)] if a else None,
                    runs=[[word(self.mlp, self.sub(i, k) + 0x20), word(self.mlp, self.sub(i, k) + 0x24)]
                          for k in range(word(self.mlp, self.meta(i) + 0xa4))])

    # ---- spec 9.4

    def sphere(self, at, points, box):
        stored = [real(word(self.mlp, at + 4 * k)) for k in range(4)]
        far = lambda c: max(math.dist(c, p) for p in points)
        if far(stored[:3]) <= stored[3] * (1 + 1e-6):
            return
        c = [f32((a + b) / 2) for a, b in zip(*box)]
        self.put(at, *[bits(x) for x in c], bits(f32(far(c))))

    def bounds(self, i, was, now):
        """was, now: shapes"""
        moved = [v[:3] for v in was['v']] != [v[:3] for v in now['v']]
        if not moved and len(was['i']) == len(now['i']):
            return
        points = [[real(x) for x in v[:3]] for v in now['v']]
        exact = [[f(p[k] for p in points) for k in range(3)] for f in (min, max)]
        at = self.meta(i)
        box = [[real(word(self.mlp, at + o + 4 * k)) for k in range(3)] for o in (0x60, 0x70)]
        if any(exact[0][k] < box[0][k] - .05 or exact[1][k] > box[1][k] + .05 for k in range(3)):
            box = exact
            self.put(at + 0x60, *[bits(x) for x in exact[0]], bits(1.0), *[bits(x) for x in exact[1]], bits(1.0))
        self.sphere(at + 0x50, points, box)
        for k, ((a, n), (c, m)) in enumerate(zip(was['runs'], now['runs'])):
            used = [points[x] for x in now['i'][c:c + m]]
            if [was['v'][x][:3] for x in was['i'][a:a + n]] == [now['v'][x][:3] for x in now['i'][c:c + m]]:
                continue
            self.sphere(self.sub(i, k), used, [[f(p[c] for p in used) for c in range(3)] for f in (min, max)])

    # ---- spec 9.2

    def replace(self, i, now):
        was = self.shape(i)
        self.bounds(i, was, now)
        p, a, x = self.desc(i)
        for k, (first, n) in enumerate(now['runs']):
            self.put(self.sub(i, k) + 0x20, first, n)
        verts = b''.join(struct.pack('>4I', *v) for v in now['v'])
        index = struct.pack('>%dH' % len(now['i']), *now['i'])
        rows = b''.join(now['rows']) if a else b''
        if (len(was['v']), len(was['i'])) == (len(now['v']), len(now['i'])):
            at, m = self.rec(i, 'mmp'), self.f['mmp']
            v, ind = at + word(self.mlp, p + 16), at + word(self.mlp, x + 8)
            m[v:v + len(verts)], m[ind:ind + len(index)] = verts, index
            if a:
                self.f['mgp'][self.rec(i, 'mgp'):self.rec(i, 'mgp') + len(rows)] = rows
            return
        for d, size in ((p, len(verts)), (a, len(rows))):
            if d:
                second = word(self.mlp, d + 4)
                self.put(d, len(now['v']), len(now['v']) if second == word(self.mlp, d) else second)
                self.put(d + 16, 0, size)
        self.put(x, len(now['i']))
        self.put(x + 8, len(verts), len(index))
        for name, new in (('mmp', verts + index), ('mgp', rows)):
            if name in self.f:
                self.place(name, i, new)

    def place(self, name, i, new):
        """Slices in the order of their places, each at the next multiple of 16."""
        order = sorted((self.rec(k, name), k) for k in range(self.n) if self.rec(k, name + '_size'))
        out = bytearray()
        for at, k in order:
            out += bytes(-len(out) % 16)
            self.set_rec(k, name, len(out))
            out += new if k == i else self.f[name][at:at + self.rec(k, name + '_size')]
        if any(k == i for _, k in order):
            self.set_rec(i, name + '_size', len(new))
        self.f[name] = out + bytes(-len(out) % 16)


# ---------------------------------------------------------------- texts

def pack(n):
    q = lambda v, step, top: max(-top, min(top - 1, math.floor(abs(v) * 32767 / step + .5) * (1 if v >= 0 else -1)))
    return q(n[0], 32, 1024) & 0x7ff | (q(n[1], 32, 1024) & 0x7ff) << 11 | (q(n[2], 64, 512) & 0x3ff) << 22


def unit(rng):
    while True:
        v = [rng.uniform(-1, 1) for _ in range(3)]
        if .1 < math.hypot(*v) < 1:
            return [x / math.hypot(*v) for x in v]


class Obj:
    """An OBJ of ours, as lines to change. faces: [group, (corner, corner, corner)]"""

    def __init__(self, text):
        self.v, self.vn, self.faces, self.mtl = [], [], [], {}
        self.head = text.split('\n')[:2]
        group = None
        for line in text.split('\n'):
            key, _, rest = line.partition(' ')
            if key == 'v':
                self.v.append(rest)
            elif key == 'vn':
                self.vn.append(rest)
            elif key == 'g':
                group = int(rest.rsplit('_', 1)[1])
            elif key == 'usemtl':
                self.mtl[group] = rest
            elif key == 'f':
                self.faces.append([group, tuple(int(c.split('/')[0]) - 1 for c in rest.split())])

    def text(self, groups=True):
        out, now = self.head + ['v ' + x for x in self.v] + ['vn ' + x for x in self.vn], None
        for g, c in self.faces:
            if g != now:
                out += (['g group_%d' % g] if groups else []) + ['usemtl ' + self.mtl[g]]
                now = g
            out.append('f ' + ' '.join('%d//%d' % (k + 1, k + 1) if self.vn else str(k + 1) for k in c))
        return ('\n'.join(out) + '\n').encode()

    def blender(self):
        """As Blender writes it: six decimals, four of normals, which have length 1 and stand there once, no groups."""
        normal, out, now = {}, ['# Blender', self.head[1]], None

        def vn(k):
            n = [float(x) for x in self.vn[k].split()]
            line = 'vn ' + ' '.join('%.4f' % (x / (math.hypot(*n) or 1)) for x in n)
            return normal.setdefault(line, len(normal) + 1)

        out += ['v ' + ' '.join('%.6f' % float(x) for x in v.split()) for v in self.v]
        for k in range(len(self.vn)):
            vn(k)
        out += normal
        for g, c in self.faces:
            if g != now:
                out.append('usemtl ' + self.mtl[g])
                now = g
            out.append('f ' + ' '.join(f'{k + 1}//{vn(k)}' if self.vn else str(k + 1) for k in c))
        return ('\n'.join(out) + '\n').encode()


# ---------------------------------------------------------------- edits

class Set:
    """The quartets of a seed in a folder of their own; edits go through `modelfs put`, or are saved in a mount."""

    def __init__(self, t, folder, names=None):
        self.t, self.folder = t, os.path.join(t.dir('set'), 'f')
        shutil.copytree(folder, self.folder)
        self.mount = None

    def path(self, base, ext):
        names = readquartet.members(self.folder, base)
        return os.path.join(self.folder, names[ext]) if ext in names else None

    def files(self, base):
        return {k: lib.read(self.path(base, k)) for k in EXT if self.path(base, k)}

    def all(self):
        return {n: lib.read(self.folder, n) for n in os.listdir(self.folder) if not n.startswith('.') and
                '.modelfs-' not in n}

    def read(self, base):
        return readquartet.read(self.folder, base)

    def tree(self, base):
        return os.path.basename(self.path(base, 'mlp'))

    def cat(self, base, path):
        if self.mount:
            return lib.read(self.mount.point, self.tree(base), path)
        r = run('cat', self.folder, f'{self.tree(base)}/{path}')
        if r.returncode:
            raise RuntimeError(f'{base} {path}: {r.stderr}')
        return r.stdout

    def put(self, base, path, data):
        """'' when it was taken, else why not."""
        if self.mount:
            try:
                with open(os.path.join(self.mount.point, self.tree(base), path), 'wb') as f:
                    f.write(data)
                return ''
            except OSError as e:
                return errno.errorcode[e.errno]
        r = run('put', '-gn', self.folder, f'{self.tree(base)}/{path}', '-', data=data)
        return r.stderr or f'exit {r.returncode}' if r.returncode else ''

    def expect(self, base, path, data, want, what, warns=False, again=True):
        """Saving data has to leave the files that `want` has, and no other file of the folder changes."""
        before, warned = self.all(), self.read(base)['warn']
        why = self.put(base, path, data)
        after = self.all()
        problems = [why] if why else []
        for k, b in want.f.items():
            name = os.path.basename(self.path(base, k))
            before[name] = bytes(b)
        for n in sorted(set(before) | set(after)):
            a, b = after.get(n, b''), before.get(n, b'')
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                problems.append(f'{n} at 0x{at:x}: {a[at:at + 8].hex()}, expected {b[at:at + 8].hex()}; '
                                f'{len(a)} bytes, expected {len(b)}')
        try:
            q = self.read(base)
            problems += [f'broken: {q["broken"]}'] if q['broken'] else []
            problems += [f'warns now: {w}' for w in set(q['warn']) - set(warned) if not warns]
        except readquartet.Refused as e:
            problems.append(f'the reader refuses it: {e}')
        again = self.put(base, path, data) if not problems and again else ''
        problems += [f'again: {again}'] if again else []
        if not problems and self.all() != after:
            problems.append('the same text again changes something')
        return self.t.none(problems, f'{base} {path}: {what}')

    def refused(self, base, path, data, words, what, code=None):
        before = self.all()
        why = self.put(base, path, data)
        good = why == code if self.mount else words in why
        self.t.ok(good, f'{base} {path}: {what}: refused', (why, code if self.mount else words))
        self.t.ok(self.all() == before, f'{base} {path}: {what}: nothing changed')


def rigid(q):
    return [i for i, m in enumerate(q['meshes']) if m and m['kind'] == 'rigid']


def bases(folder):
    return sorted(n[:-4] for n in os.listdir(folder) if n.lower().endswith('.mlp'))


def accepted(s, base):
    return s.read(base)['normals_accepted']


def nearest(was, p):
    """Number of the old vertex at p, else of the nearest."""
    places = [[real(x) for x in v[:3]] for v in was['v']]
    return min(range(len(places)), key=lambda k: (math.dist(p, places[k]), places[k], k))


def text_of(values):
    return ' '.join(repr(x) for x in values)


def same_faces(now, obj):
    """The indices of a shape after other faces of as many per submesh: flat ones stay where they are."""
    for k, (first, n) in enumerate(now['runs']):
        new = [c for g, c in obj.faces if g == k]
        out, old = [], [now['i'][a:a + 3] for a in range(first, first + n, 3)]
        for t in old:
            if len(set(t)) < 3:
                out += t
            elif new:
                out += new.pop(0)
        for c in new:
            out += c
        now.setdefault('parts', {})[k] = out
    order = sorted(range(len(now['runs'])), key=lambda k: now['runs'][k][0])
    index = []
    for k in order:
        now['runs'][k] = [len(index), len(now['parts'][k])]
        index += now['parts'][k]
    now['i'] = index
    del now['parts']


def move(rng, s, base, i, far):
    b = Bytes(s.files(base))
    now, obj = b.shape(i), Obj(s.cat(base, f'meshes/{i}.obj').decode())
    for k in rng.sample(range(len(obj.v)), min(3, len(obj.v))):
        p = [f32(real(x) + rng.uniform(-.01, .01) if not far else rng.uniform(-900, 900)) for x in now['v'][k][:3]]
        obj.v[k], now['v'][k][:3] = text_of(p), [bits(x) for x in p]
    if obj.vn:
        k = rng.randrange(len(obj.vn))
        n = unit(rng)
        obj.vn[k], now['v'][k][3] = text_of(n), pack(n)
    b.replace(i, now)
    s.expect(base, f'meshes/{i}.obj', obj.text(), b, 'vertices moved' + (' far' if far else ''))


def turn_faces(rng, s, base, i):
    b = Bytes(s.files(base))
    now, obj = b.shape(i), Obj(s.cat(base, f'meshes/{i}.obj').decode())
    if not obj.faces:
        return
    for f in rng.sample(obj.faces, min(2, len(obj.faces))):
        f[1] = tuple(rng.sample(range(len(obj.v)), 3))
    same_faces(now, obj)
    b.replace(i, now)
    s.expect(base, f'meshes/{i}.obj', obj.text(), b, 'other face corners')


def grow(rng, s, base, i):
    """Vertices at old places and at new ones, and faces that use them."""
    b = Bytes(s.files(base))
    now, obj = b.shape(i), Obj(s.cat(base, f'meshes/{i}.obj').decode())
    old = b.shape(i)
    for _ in range(rng.randrange(1, 4)):
        k = rng.randrange(len(old['v']))
        p = [real(x) for x in old['v'][k][:3]]
        if rng.random() < .5:
            p = [f32(x + rng.uniform(-3, 3)) for x in p]
        k = nearest(old, p)
        n = unit(rng)
        obj.v.append(text_of(p))
        now['v'].append([bits(x) for x in p] + [pack(n) if obj.vn else old['v'][k][3]])
        if obj.vn:
            obj.vn.append(text_of(n))
        if now['rows']:
            now['rows'].append(old['rows'][k])
    group = rng.randrange(len(now['runs']))
    at = max([k for k, f in enumerate(obj.faces) if f[0] <= group], default=-1) + 1
    obj.mtl.setdefault(group, 'mat_%08x' % word(b.mlp, b.sub(i, group) + 0x34))
    obj.faces[at:at] = [[group, tuple(rng.sample(range(len(obj.v)), 3))] for _ in range(rng.randrange(1, 4))]
    same_faces(now, obj)
    b.replace(i, now)
    s.expect(base, f'meshes/{i}.obj', obj.text(), b, 'vertices and faces added')


def shrink(rng, s, base, i):
    """Faces left out, and the last vertices if no other needs them."""
    b = Bytes(s.files(base))
    now, obj = b.shape(i), Obj(s.cat(base, f'meshes/{i}.obj').decode())
    count = len(obj.faces)
    for _ in range(rng.randrange(1, 4)):
        g = rng.choice(obj.faces)[0] if obj.faces else None
        of = [f for f in obj.faces if f[0] == g]
        if len(of) > 1:
            obj.faces.remove(rng.choice(of))
    if len(obj.faces) == count:                    # vertices that no face uses may be left out, and stay
        return
    flat = {x for a in range(0, len(now['i']), 3) if len(set(now['i'][a:a + 3])) < 3 for x in now['i'][a:a + 3]}
    used = {c for _, f in obj.faces for c in f} | flat
    while len(obj.v) > 3 and len(obj.v) - 1 not in used and rng.random() < .8:
        obj.v.pop(), now['v'].pop()
        obj.vn and obj.vn.pop()
        now['rows'] and now['rows'].pop()
    same_faces(now, obj)
    b.replace(i, now)
    s.expect(base, f'meshes/{i}.obj', obj.text(), b, 'faces removed')


def edit_rows(rng, s, base, i):
    b = Bytes(s.files(base))
    now, lines = b.shape(i), s.cat(base, f'meshes/{i}.attr.csv').decode().split('\n')
    for k in rng.sample(range(len(now['v'])), min(3, len(now['v']))):
        now['v'][k][3] = rng.randrange(1 << 32)
        row = bytes(rng.randrange(256) for _ in range(now['stride']))
        if now['rows']:
            now['rows'][k] = row
        lines[k + 1] = '%d,%08x,%s' % (k, now['v'][k][3], row.hex())
    body = lines[1:-1]
    rng.shuffle(body)                              # the number tells, not the line
    b.replace(i, now)
    s.expect(base, f'meshes/{i}.attr.csv', '\r\n'.join(lines[:1] + body).encode(), b, 'rows')


def edit_usemtl(rng, s, base, i):
    b = Bytes(s.files(base))
    obj = Obj(s.cat(base, f'meshes/{i}.obj').decode())
    if not obj.mtl:
        return
    k, new = rng.choice(sorted(obj.mtl)), rng.randrange(1 << 32)
    obj.mtl[k] = 'mat_%08X' % new
    b.put(b.sub(i, k) + 0x34, new)
    s.expect(base, f'meshes/{i}.obj', obj.text(), b, 'usemtl')


def geometry(t):
    """Random edits of every rigid mesh, one after the other."""
    rng = random.Random(EDIT_SEED)
    s = Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    for base in bases(s.folder):
        q = s.read(base)
        fixed = base == 'quirks'
        for i in rigid(q)[:6]:
            for _ in range(ROUNDS):
                edits = [lambda: move(rng, s, base, i, False), lambda: move(rng, s, base, i, True),
                         lambda: turn_faces(rng, s, base, i), lambda: edit_usemtl(rng, s, base, i)]
                if not fixed:
                    edits += [lambda: grow(rng, s, base, i), lambda: shrink(rng, s, base, i)] * 2
                rng.choice(edits)()
        for i in rigid(q)[:2]:
            edit_rows(rng, s, base, i)
    r = run('verify', s.folder)
    t.same((r.returncode, r.stderr), (0, ''), 'all of it verifies')


# ---------------------------------------------------------------- documents

FIELDS = dict(unknown_04=(0x04, 4), load_flags=(0x0a, 2), unknown_0c=(0x0c, 4), unknown_84=(0x84, 4),
              unknown_88=(0x88, 4), vertex_format_mask=(0x8c, 4), secondary_count=(0xa8, 4), flags=(0xb4, 4))
FLOATS = dict(local_matrix=(0x10, 16), bounding_sphere=(0x50, 4), aabb_min=(0x60, 4), aabb_max=(0x70, 4))


def line_with(text, start, new, nth=0):
    lines = text.split('\n')
    at = [k for k, x in enumerate(lines) if x.startswith(start)][nth]
    lines[at] = new
    return '\n'.join(lines).encode()


def documents(t):
    rng = random.Random(EDIT_SEED)
    s = Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    for base, i in (('one', 0), ('mixed', 1), ('tight', 5)):
        path = f'meshes/{i}.yaml'
        for key, (at, size) in FIELDS.items():
            b, v = Bytes(s.files(base)), rng.randrange(1, 1 << 8 * size)
            b.mlp[b.meta(i) + at:b.meta(i) + at + size] = v.to_bytes(size, 'big')
            s.expect(base, path, line_with(s.cat(base, path).decode(), key + ':', f'{key}: {v:#x}'), b, key, True)
        for key, (at, n) in FLOATS.items():
            b, v = Bytes(s.files(base)), [f32(rng.uniform(-9, 9)) for _ in range(n)]
            b.put(b.meta(i) + at, *map(bits, v))
            s.expect(base, path, line_with(s.cat(base, path).decode(), key + ':', f'{key}: {v}'), b, key, True)
        b = Bytes(s.files(base))
        b.put(b.meta(i) + 0xac, 1, 0xfffffffe)
        s.expect(base, path, line_with(s.cat(base, path).decode(), 'runtime_buffers:',
                                       'runtime_buffers: [1, 0xfffffffe]'), b, 'runtime_buffers')
        b = Bytes(s.files(base))
        b.mlp[b.meta(i) + 0xb8:b.meta(i) + 0xc0] = bytes(range(8))
        s.expect(base, path, line_with(s.cat(base, path).decode(), 'unknown_b8:', 'unknown_b8: "0001020304050607"'), b,
                 'unknown_b8')
        b = Bytes(s.files(base))
        b.put(b.desc(i)[0] + 4, 77)
        s.expect(base, path, line_with(s.cat(base, path).decode(), 'second_count:', 'second_count: 77'), b,
                 'second_count', True)
        k = word(b.mlp, b.meta(i) + 0xa4) - 1
        for key, at, n, text in (('material_id', 0x34, 4, '0x01020304'), ('uv_selectors', 0x38, 4, '[1, 2, 3, 4]'),
                                 ('unknown_2c', 0x2c, 4, '0x01020304'), ('unknown_30', 0x30, 4, '0x01020304')):
            b = Bytes(s.files(base))
            b.mlp[b.sub(i, k) + at:b.sub(i, k) + at + n] = bytes([1, 2, 3, 4])
            s.expect(base, path, line_with(s.cat(base, path).decode(), f'  {key}:', f'  {key}: {text}', k), b,
                     f'submesh {k} {key}')
    b = Bytes(s.files('one'))
    b.put(4, 0xabcdef01)
    s.expect('one', 'header.yaml', line_with(s.cat('one', 'header.yaml').decode(), 'unknown_04:',
                                             'unknown_04: 0xabcdef01'), b, 'unknown_04')


def materials(t):
    s = Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    q = s.read('many')
    ids = list(dict.fromkeys(x['material_id'] for m in q['meshes'] for x in m['submeshes']))

    def ids_are(change, what, again=True):
        b = Bytes(s.files('many'))
        for i, m in enumerate(q['meshes']):
            for k, x in enumerate(s.read('many')['meshes'][i]['submeshes']):
                b.put(b.sub(i, k) + 0x34, change.get(x['material_id'], x['material_id']))
        text = s.cat('many', 'materials.yaml').decode()
        for old, new in change.items():
            text = text.replace(f'id: 0x{old:08x}', f'id: 0x{new:08X}'.replace('0X', '0x'))
        s.expect('many', 'materials.yaml', text.encode(), b, what, again=again)

    ids_are({ids[1]: 0x12345678}, 'an id in all submeshes that have it')
    ids_are({ids[2]: 0x12345678}, 'an id that another material has', False)   # then there is one less


# ---------------------------------------------------------------- bytes

def raw(t):
    s = Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    for base, i in (('mixed', 0), ('skinned', 2)):
        for name in ('metadata', 'mmp', 'mgp'):
            path = f'raw/mesh-{i}/{name}.bin'
            b, data = Bytes(s.files(base)), bytearray(s.cat(base, path))
            at = b.meta(i) if name == 'metadata' else b.rec(i, name)
            where = 4 if name == 'metadata' else 12
            data[where:where + 4] = b'\1\2\3\4'
            b.f['mlp' if name == 'metadata' else name][at + where:at + where + 4] = b'\1\2\3\4'
            s.expect(base, path, bytes(data), b, 'bytes of a slice')
            s.refused(base, path, bytes(data) + b'\0', 'needed', 'another size')
    b = Bytes(s.files('mixed'))
    b.f['mmp'][12:16] = b'\4\3\2\1'
    s.expect('mixed', 'raw/whole.mmp', bytes(b.f['mmp']), b, 'bytes of the MMP')
    data = bytearray(s.cat('one', 'raw/whole.mlp'))
    data[0x14:0x18] = struct.pack('>I', 0x20)
    s.refused('one', 'raw/whole.mlp', bytes(data), 'data base', 'a table that is none')
    data = bytearray(s.cat('one', 'raw/whole.mmp'))
    data[0:4] = b'\x7f\xc0\0\0'
    s.refused('one', 'raw/whole.mmp', bytes(data), 'not finite', 'a position that is none')


# ---------------------------------------------------------------- refusals

def refusals(t, s=None):
    s = s or Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    base = next(b for b in bases(s.folder) if b == 'subs')
    obj, path = Obj(s.cat(base, 'meshes/0.obj').decode()), 'meshes/0.obj'
    text = obj.text().decode()
    n = len(obj.mtl)
    s.refused(base, path, text.replace('g group_0\n', f'g group_{n + 1}\n').encode(),
              f'group_{n + 1}: mesh 0 has 9 submeshes', 'another group', 'EINVAL')
    lines = text.split('\n')
    at = next(k for k, x in enumerate(lines) if x.startswith('f '))
    late = lines + []
    late[at] = 'f 1 2 3 4'
    s.refused(base, path, '\n'.join(late).encode(), f'line {at + 1}: 4 corners; only triangles', 'a polygon', 'EINVAL')
    gone = Obj(text)
    gone.faces = [f for f in gone.faces if f[0] != 1]
    s.refused(base, path, gone.text(), 'group_1 has no faces', 'a submesh without faces', 'EINVAL')
    early = lines + []
    first = next(k for k, x in enumerate(lines) if x.startswith('g '))
    early.insert(first, 'f 1//1 2//2 4//4')
    s.refused(base, path, '\n'.join(early).encode(), f'line {first + 1}: a face in no group; mesh 0 has 9 submeshes',
              'a face outside a group', 'EINVAL')
    late = lines + []
    late[2] = 'v nan 0 0'
    s.refused(base, path, '\n'.join(late).encode(), 'line 3', 'a position that is no number', 'EINVAL')
    many = Obj(text)
    many.v += ['1 2 3'] * 70000
    s.refused(base, path, many.text(), '16-bit indexes reach 65536', 'too many vertices', 'EINVAL')
    rows = s.cat(base, 'meshes/0.attr.csv').decode().split('\n')
    s.refused(base, 'meshes/0.attr.csv', '\n'.join(rows[:4] + [rows[4][:-2]] + rows[5:]).encode(),
              'line 5: row of 11 bytes, stride is 12', 'a short row', 'EINVAL')
    s.refused(base, 'meshes/0.attr.csv', '\n'.join(rows[:4] + rows[5:]).encode(), 'vertex 3 of 40 has no row',
              'a missing row', 'EINVAL')
    s.refused(base, 'meshes/0.attr.csv', '\n'.join(rows[:4] + [rows[3]] + rows[4:]).encode(),
              'line 5: vertex 2 has a row already, in line 4', 'a row twice', 'EINVAL')
    doc = s.cat(base, 'meshes/0.yaml').decode()
    s.refused(base, 'meshes/0.yaml', line_with(doc, 'id:', 'id: 0x00000001'), 'id follows from other data', 'an id',
              'EPERM')
    header = s.cat(base, 'header.yaml').decode()
    s.refused(base, 'header.yaml', header.rsplit('- [', 1)[0].encode(), 'meshes follows from other data', 'a mesh less',
              'EPERM')
    obj = Obj(s.cat('quirks', 'meshes/0.obj').decode())
    obj.faces.append([obj.faces[-1][0], (0, 1, 2)])
    s.refused('quirks', 'meshes/0.obj', obj.text(), 'holds data: sizes are fixed', 'more faces beside data in a gap',
              'EPERM')
    if not s.mount:
        s.refused('one', 'scene.refs.yaml', s.cat('one', 'scene.refs.yaml') + b'\n', '', 'the scene')


# ---------------------------------------------------------------- saved unchanged

def unchanged(t):
    """Every file that can be written, saved as it is, and OBJ as Blender would write them."""
    s = Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    before = s.all()
    with Mount(t, s.folder) as s.mount:
        problems, n = [], 0
        for path in lib.files(s.mount.point):
            full = os.path.join(s.mount.point, path)
            if not os.access(full, os.W_OK) or not os.stat(full).st_mode & 0o222:
                continue
            data = lib.read(full)
            texts = [data]
            if path.endswith('.obj'):
                texts.append(Obj(data.decode()).blender())
            for x in texts:
                n += 1
                try:
                    with open(full, 'wb') as f:
                        f.write(x)
                except OSError as e:
                    problems.append(f'{path}: {e.strerror}')
                if s.all() != before:
                    problems.append(f'{path}: something changed')
                    before = s.all()
        t.none(problems, f'{n} saves of what is there')
        t.ok(n > 700, 'there was something to save', n)
        scene = os.path.join(s.mount.point, 'one.mlp', 'scene.refs.yaml')
        t.same(os.stat(scene).st_mode & 0o222, 0, 'the scene has no write bits')


def mounted(t):
    """One edit of each kind, and the refusals, through a mount."""
    rng = random.Random(EDIT_SEED + 1)
    s = Set(t, os.path.join(made(t, EDIT_SEED), 'files'))
    with Mount(t, s.folder, 'grow') as s.mount:
        for base, i in (('subs', 0), ('mixmgp', 2), ('tight', 3), ('UPPER', 1), ('normals98', 0)):
            for edit in (lambda *a: move(*a, True), turn_faces, grow, shrink, edit_rows, edit_usemtl):
                edit(rng, s, base, i)
        refusals(t, s)
        s.mount.point and t.ok(os.path.exists(os.path.join(s.mount.point, 'subs.mlp', 'errors.txt')),
                               'what was refused stands in errors.txt')
    r = run('verify', s.folder)
    t.same((r.returncode, r.stderr), (0, ''), 'it verifies')
    first = made(t, EDIT_SEED)
    log = run('log', s.folder).stdout.decode().splitlines()
    r = run('undo', s.folder, str(len(log)))
    t.ok(r.returncode == 0 and s.all() == {n: lib.read(first, 'files', n) for n in os.listdir(
        os.path.join(first, 'files'))}, f'undo of {len(log)} edits: the first bytes', (r.returncode, r.stderr))


if __name__ == '__main__':
    fuse = [] if lib.fuse_missing() else [unchanged, mounted]
    lib.main(shown, alone, geometry, documents, materials, raw, refusals, *fuse)
