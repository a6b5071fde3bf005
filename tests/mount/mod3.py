"""Edits of mod3 models, through `modelfs put`, against models that the corpus' maker builds from the edited
description: every byte has to be what it says, but for the last digits of inverted matrices and what rests on them."""
import lib
from lib import SHARED, Skip, run

import glob
import math
import os
import pickle
import random
import shutil
import struct
import sys

FOLDER = os.path.join(SHARED, 'corpus', 'mod3')
SAMPLES = os.path.join(SHARED, 'samples', 'mod3')
SEED = 7
NEAR = 2e-4                                        # of matrices, and of boxes in the space of a bone


def copied(description):
    """As copy.deepcopy(), which takes five times as long: some have 70,000 vertices."""
    return pickle.loads(pickle.dumps(description, -1))


class Corpus:
    """The scripts of the corpus, and its descriptions of models by short names."""

    def __init__(self):
        if not os.path.isfile(os.path.join(FOLDER, 'mkmod3.py')):
            raise Skip('no corpus in ' + FOLDER)
        sys.path.append(FOLDER)
        import mkmod3
        import readmod3
        self.mk, self.read = mkmod3, readmod3
        readmod3.LIMIT = 1 << 40
        self.names = {p if p.startswith('odd/') else os.path.basename(p): (p, f) for p, f in mkmod3.MODELS.items()}

    def describe(self, name, seed=SEED):
        path, make = self.names[name]
        return make(random.Random('%d/%s' % (seed, path)))

    def build(self, description):
        return self.mk.build(copied(description))[0]

    def view(self, data):
        return self.read.read_mod3(data)

    # ---- what the maker does not know: what an edit leaves

    def fix(self, d):
        """Keeps flags and envelopes as they are now, so that only what a test says of them changes."""
        inverse = self.inverses(d)
        for m in d['meshes']:
            self.build_places(d)
            record = self.mk.record(m, 1, 0)
            m.setdefault('record', {}).setdefault('flags', record['flags'])
            m['record'].setdefault('unknown_38', record['unknown_38'])
            m.setdefault('envelopes', self.mk.mesh_envelopes(m, inverse))
        if 'stale' in d:                           # trailOff is past the end, so it stays
            d.setdefault('header', {}).setdefault('trail_off', self.view(self.build(d))['header']['trail_off'])
        for i, m in enumerate(d['meshes']):
            m['record'].setdefault('mesh_number', i + 1)
        return d

    def build_places(self, d):
        self.mk.place(d['meshes'])

    def inverses(self, d):
        return [[self.mk.f32(x) for x in self.mk.invert(w)] for w in self.mk.worlds(d['bones'])]

    def own_bound(self, mesh, bone, inverse):
        """Envelope of a bone over the mesh's vertices, None when it moves none."""
        if bone == 255:
            points = [v['pos'] for v in mesh['vertices']]
        elif bone < len(inverse) and self.mk.BLOCKS[mesh['block']][1]:
            m = inverse[bone]
            points = [[self.mk.f32(sum(x * m[4 * k + c] for k, x in enumerate(v['pos'])) + m[12 + c]) for c in range(3)]
                      for v in mesh['vertices'] if any(b == bone and w for b, w in zip(v['bones'], v['weights']))]
        else:
            points = []
        return self.mk.envelope(bone, points) if points else None

    def follow(self, old, new, was=None, now=None):
        """The envelopes of mesh `new`, an edited copy of `old`, by the difference rule (views-mod3.md 13)."""
        was, now = was or self.inverse, now or self.inverse
        for e in new['envelopes']:
            a, b = self.own_bound(old, e['bone'], was), self.own_bound(new, e['bone'], now)
            if not b:
                continue
            for key in ('sphere_centre', 'aabb_min', 'aabb_max'):
                e[key] = [z if a and x == y else y for x, y, z in zip((a or b)[key], b[key], e[key])]
            if not a or a['sphere_radius'] != b['sphere_radius']:
                e['sphere_radius'] = b['sphere_radius']
            if not a or (a['aabb_min'], a['aabb_max']) != (b['aabb_min'], b['aabb_max']):
                e['obb_matrix'], e['obb_half_extents'] = b['obb_matrix'], b['obb_half_extents']
        have = {e['bone'] for e in new['envelopes']}
        for bone in range(len(now)) if new['envelopes'] else ():
            b = self.own_bound(new, bone, now)
            if b and bone not in have and not self.own_bound(old, bone, was):
                at = next((i for i, e in enumerate(new['envelopes']) if e['bone'] > bone), len(new['envelopes']))
                new['envelopes'].insert(at, b)


class Model:
    """A lone file that is edited. `want` is the description of what it should become."""

    def __init__(self, t, c, name, seed=SEED):
        self.t, self.c, self.name = t, c, name
        self.was = c.fix(c.describe(name, seed))
        self.want = copied(self.was)
        c.inverse = c.inverses(self.was)
        self.before = c.build(self.was)
        self.path = t.file(os.path.basename(name) + '.mod3', self.before)

    def cat(self, path):
        r = run('cat', self.path, path)
        if r.returncode:
            raise RuntimeError(f'cat {self.path} {path}: {r.stderr}')
        return r.stdout.decode()

    def put(self, path, text, *options):
        return run('put', *options, self.path, path, '-', data=text.encode())

    def bytes(self):
        with open(self.path, 'rb') as f:
            return f.read()

    def edit(self, what, path, change, near=False, said=None):
        """change: of the text; the file has to be what self.want is then."""
        old = self.cat(path)
        text = change(old)
        r = self.put(path, text, '-g')
        have, want = self.bytes(), self.c.build(self.want)
        if any(m.get('opaque') for m in self.was['meshes']):
            want = covering(want, have)
        bad = []
        if text == old:
            bad.append('the edit is none')
        if r.returncode:
            bad.append(f'exit {r.returncode}: {r.stderr}')
        if (said or '') not in r.stderr or (r.stderr.strip() and said is None):
            bad.append(f'said {r.stderr!r}, expected {said!r}')
        if have != want and not (near and self.is_near(have, want)):
            bad.append(f'{len(have)} bytes, expected {len(want)}, the first that differs is 0x%x' % next(
                (i for i, (a, b) in enumerate(zip(have, want)) if a != b), min(len(have), len(want))))
            try:
                bad.append(str(self.c.read.difference(self.c.view(want), self.c.view(have))))
            except Exception as e:
                bad.append(f'unreadable: {e!r}')
        self.t.none(bad, f'{self.name}: {what}')
        with open(self.path, 'wb') as f:
            f.write(self.before)
        self.want = copied(self.was)
        return not bad

    def is_near(self, have, want):
        """Equal, but for floats that are nearly so."""
        if len(have) != len(want):
            return False
        b = self.c.view(want)
        off = [b['sections'][s] for s in ('inverse_matrices', 'envelopes') if s in b['sections']]
        skip = sorted((at, at + n) for at, n in off)
        pos = 0
        for start, end in skip + [(len(have), len(have))]:
            if have[pos:start] != want[pos:start]:
                return False
            pos = end
        for start, end in skip:
            x = struct.unpack_from('<%df' % ((end - start) // 4), have, start)
            y = struct.unpack_from('<%df' % ((end - start) // 4), want, start)
            for p, q in zip(x, y):
                if p != q and not abs(p - q) <= NEAR * max(1, abs(q)) and not (math.isnan(p) and math.isnan(q)):
                    return False
        return True

    def refused(self, what, path, change, why, *options, code=1):
        r = self.put(path, change(self.cat(path)), *options)
        self.t.none(lib.unless(r.returncode == code and why in r.stderr, f'exit {r.returncode}: {r.stderr}')
                    + lib.unless(self.bytes() == self.before, 'the file changed'), f'{self.name}: {what}: refused')


def covering(want, have):
    """How far vertices lie that nobody can read is not known: the sphere of the model may be a little larger."""
    a, b = (struct.unpack_from('<f', x, 0x7c)[0] for x in (want, have))
    return want[:0x7c] + have[0x7c:0x80] + want[0x80:] if a <= b <= 1.1 * a else want


# ---------------------------------------------------------------- texts

def lines(text, key):
    return [i for i, s in enumerate(text.split('\n')) if s.startswith(key + ' ')]


def with_line(key, n, line):
    """The n-th line that starts with key becomes another one."""
    def change(text):
        rows = text.split('\n')
        rows[lines(text, key)[n]] = line
        return '\n'.join(rows)
    return change


def number(x):
    return repr(float(x)) if x == x else 'nan'


def three(key, v):
    return key + ' ' + ' '.join(number(x) for x in v)


def with_value(key, value, n=0):
    """The n-th `key: ...` of a YAML text, whatever is behind it."""
    def change(text):
        rows = text.split('\n')
        at = [i for i, s in enumerate(rows) if s.strip().removeprefix('- ').startswith(key + ':')][n]
        head = rows[at].index(key + ':') + len(key) + 1
        rows[at] = rows[at][:head] + ' ' + value
        return '\n'.join(rows)
    return change


def all_of(*changes):
    def change(text):
        for c in changes:
            text = c(text)
        return text
    return change


# ---------------------------------------------------------------- no-op saves

def sources(t, c):
    for path in sorted(glob.glob(os.path.join(SAMPLES, '*.mod3'))):
        yield path
    folder = t.dir('corpus')
    for name in c.names:
        if name == 'vbase':                        # long texts of nothing new
            continue
        path = os.path.join(folder, name.replace('/', '_') + '.mod3')
        with open(path, 'wb') as f:
            f.write(c.build(c.describe(name)))
        yield path


def unchanged(t):
    c = Corpus()
    step = 3 if lib.SANITIZERS else 1
    for turn, source in enumerate(sources(t, c)):
        path = os.path.join(t.dir('lone'), os.path.basename(source))
        shutil.copyfile(source, path)
        tree, was, bad, n = t.extract(path), open(path, 'rb').read(), [], 0
        for name in lib.files(tree)[turn % step::step]:
            if name.endswith('.mtl') or name in ('preview.png', 'errors.txt'):
                continue
            r = run('put', path, name, os.path.join(tree, name))
            n += 1
            if r.returncode or r.stderr:
                bad.append(f'{name}: exit {r.returncode}: {r.stderr}')
            if open(path, 'rb').read() != was:
                bad.append(f'{name}: the file changed')
                shutil.copyfile(source, path)
        t.none(bad + lib.unless(n > 5 // step, f'{n} files'), f'{os.path.basename(source)}: {n} files saved unchanged')


# ---------------------------------------------------------------- values of vertices

def moved(t):
    c = Corpus()
    for name in ('f_body900_0000', 'f_arm901_0000', 'vbase_small', 'rock', 'hair900', 'em901_00', 'em902_00', 'swo900',
                 'odd/skeleton', 'odd/values', 'em900_00'):
        m = Model(t, c, name)
        half = len(m.was['meshes']) // 2
        for i, k, to in ((0, 0, (12.5, -80.25, 3.0)), (-1, -1, (0.0, 0.5, -0.25)), (half, 1, None)):
            old, mesh = m.was['meshes'][i], m.want['meshes'][i]
            k %= len(mesh['vertices'])
            to = to or [c.mk.f32(x + 0.125) for x in old['vertices'][k]['pos']]
            mesh['vertices'][k]['pos'] = list(to)
            c.follow(old, mesh)
            colour = [v / 255 for v in mesh['vertices'][k]['colour'][:3]] if c.mk.BLOCKS[mesh['block']][2] else []
            m.edit(f'mesh {i}, vertex {k} moved', 'meshes/%d.obj' % (i % len(m.was['meshes'])),
                   with_line('v', k, three('v', list(to) + colour)))


def neighbours(t):
    """Indices that reach vertices of other meshes: these move with them, and nothing else can."""
    c = Corpus()
    m = Model(t, c, 'slg901_0000')
    for i, first, of, k in ((1, 9 - 3, 0, 7), (2, 0, 3, 1)):
        # Mesh 1 shows three vertices of mesh 0 before its own, mesh 2 three of mesh 3 behind its own.
        line = k - first if of < i else len(m.was['meshes'][i]['vertices']) + k
        old, mesh = m.was['meshes'][of], m.want['meshes'][of]
        mesh['vertices'][k]['pos'] = [100.0, 2.0, -3.5]
        c.follow(old, mesh)
        m.edit(f'a vertex of mesh {of} moved through mesh {i}', f'meshes/{i}.obj',
               with_line('v', line, 'v 100 2 -3.5'))
    add = lambda text: text.rstrip('\n') + '\nf 1/1/1 2/2/2 4/4/4\n'
    for i, why in ((1, 'mesh 1 uses vertices of other meshes'), (0, 'mesh 1 uses vertices of mesh 0'),
                   (3, 'mesh 2 uses vertices of mesh 3')):
        m.refused(f'a face added to mesh {i}', f'meshes/{i}.obj', add, why, '-g')
    m.refused('block type of mesh 0', 'meshes/0.yaml', with_value('block_type', 'IASkin8wt1UV'),
              'mesh 1 uses vertices of mesh 0', '-g')


def trunc(v):
    size = math.sqrt(sum(x * x for x in v))
    return [int(127 * (x / size)) for x in v]


def attributes(t):
    c = Corpus()
    for name, i in (('f_body900_0000', 0), ('f_body900_0000', 13), ('rock', 3), ('odd/values', 0)):
        m = Model(t, c, name)
        block = m.was['meshes'][i]['block']
        for n in ((0.6, -0.8, 0.0), (1.0, 1.0, -1.0), (0.0, 0.0, 2.5)):
            v = m.want['meshes'][i]['vertices'][2]
            v['normal'] = trunc(n) + v['normal'][3:]
            m.edit(f'mesh {i}, normal {n}', f'meshes/{i}.obj', with_line('vn', 2, three('vn', n)))
        for u, w in ((0.3, 0.7), (-2.25, 17.0), (1.00048828125, -0.99951171875)):
            m.want['meshes'][i]['vertices'][1]['uv'][0] = (c.mk.to_half(u), c.mk.to_half(1 - w))
            m.edit(f'mesh {i}, coordinates {u}, {w}', f'meshes/{i}.obj', with_line('vt', 1, f'vt {u} {w}'))
        if c.mk.BLOCKS[block][2]:
            v = m.want['meshes'][i]['vertices'][0]
            v['colour'] = [255, 0, 51] + v['colour'][3:]
            m.edit(f'mesh {i}, colour', f'meshes/{i}.obj', with_line('v', 0, three('v', v['pos'] + [1, 0, 0.2])))
            m.want['meshes'][i]['vertices'][0]['colour'] = [1, 2, 3, 4]
            m.edit(f'mesh {i}, colour of vertices.yaml', f'meshes/{i}.vertices.yaml',
                   lambda text: text.replace('colour: %s' % v_colour(m, i, 0), 'colour: [1, 2, 3, 4]', 1))
        else:
            m.edit(f'mesh {i}, colours without a place', f'meshes/{i}.obj',
                   lambda s: '\n'.join(r + ' 1 0.5 0' if r.startswith('v ') else r for r in s.split('\n')),
                   said=f'`block_type: {block}Color` in meshes/{i}.yaml')
        v = m.want['meshes'][i]['vertices'][3]
        v['tangent'] = [1, -128, 127, -127]
        m.edit(f'mesh {i}, tangent', f'meshes/{i}.vertices.yaml', row(3, tangent='[1, -128, 127, -127]'))
        m.refused(f'mesh {i}, a line less', f'meshes/{i}.vertices.yaml', lambda s: s[:s.rstrip().rindex('\n') + 1],
                  'expected %d' % len(m.was['meshes'][i]['vertices']))
    m = Model(t, c, 'f_body900_0000')
    m.want['meshes'][5]['vertices'][0]['uv'][2] = (c.mk.to_half(0.1), c.mk.to_half(-3))
    m.edit('third coordinate set', 'meshes/5.vertices.yaml', row(0, uv2='[0.1, -3.0]'))
    m.refused('coordinates that no half holds', 'meshes/5.obj', with_line('vt', 0, 'vt 70000 0'), '70000.0')
    m.refused('no direction', 'meshes/5.obj', with_line('vn', 0, 'vn 0 0 0'), 'has no direction')


def v_colour(m, i, k):
    return m.was['meshes'][i]['vertices'][k]['colour']


def row(n, **values):
    """Values of line n of vertices.yaml."""
    def change(text):
        rows = text.split('\n')
        at = [i for i, s in enumerate(rows) if s.startswith('- ')][n]
        for key, value in values.items():
            head, _, tail = rows[at].partition(key + ': [')
            rows[at] = head + key + ': ' + value + tail[tail.index(']') + 1:]
        return '\n'.join(rows)
    return change


# ---------------------------------------------------------------- weights

def weights(t):
    c = Corpus()
    for name, i, k, pairs, text in (
            ('hair900', 0, 3, [[2, 600], [1, 300], [0, 100], [3, 23]], None),
            ('hair900', 0, 9, [[5, 1023], [0, 0], [0, 0], [0, 0]], '[[5, 1023]]'),
            ('hair900', 0, 9, [[5, 1000], [4, 500], [3, 100], [2, -577]], None),
            ('hair900', 1, 2, [[0, 500], [1, 200], [2, 100], [3, 100], [4, 50], [5, 50], [0, 22], [1, 1]], None),
            ('hair900', 1, 2, [[0, 512], [1, 511], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]],
             '[[0, 0.5], [1, 0.5]]'),
            ('hair900', 0, 2, [[4, 341], [0, 341], [1, 341], [0, 0]], '[[4, 0.333333], [0, 0.333333], [1, 0.333333]]'),
            ('swo900', 0, 1, [[0, 1023], [0, 0], [0, 0], [0, 0]], '[[0, 1.0]]'),
            ('em901_00', 1, 0, [[3, 1000], [0, 23], [0, 0], [0, 0]], None),
            ('em901_00', 2, 5, [[3, 1000], [0, 23]] + [[0, 0]] * 6, None),
            ('em902_00', 0, 4, [[0, 256], [1, 256], [2, 256], [3, 255]], None)):
        m = Model(t, c, name)
        old, mesh = m.was['meshes'][i], m.want['meshes'][i]
        # 0.5 of 1023 is 511.5, which rounds to 512 twice; the largest gives one back.
        if text == '[[0, 0.5], [1, 0.5]]':
            pairs = [[0, 511], [1, 512]] + pairs[2:]
        mesh['vertices'][k].update(bones=[b for b, _ in pairs], weights=[w for _, w in pairs])
        c.follow(old, mesh)
        raise_weights(mesh)
        m.edit(f'mesh {i}, weights {text or pairs}', f'meshes/{i}.weights.yaml',
               with_line('-', k, f'- {text or pairs}'))
    m = Model(t, c, 'f_arm901_0000')
    old, mesh = m.was['meshes'][0], m.want['meshes'][0]
    for v in mesh['vertices']:                     # a bone loses all its vertices, another gets its first
        v.update(bones=[6, 0, 0, 0], weights=[1023, 0, 0, 0])
    c.follow(old, mesh)
    raise_weights(mesh)
    m.edit('all weights on one bone', 'meshes/0.weights.yaml',
           lambda s: '\n'.join('- [[6, 1023]]' if r.startswith('- ') else r for r in s.split('\n')))
    refused_weights(t, c)


def raise_weights(mesh):
    """weights_per_vertex only rises; a complement of +-1 does not count."""
    used = max(sum(1 for x in v['weights'][:-1] if x) + (abs(v['weights'][-1]) > 1) for v in mesh['vertices'])
    flags = mesh['record']['flags']
    mesh['record']['flags'] = flags & ~0xF8 | max(used, flags >> 3 & 31) << 3


def refused_weights(t, c):
    m = Model(t, c, 'hair900')
    for i, line, why in (
            (0, '[[0, 1000], [1, 22]]', 'line 6: the weights add up to 1022, expected 1023'),
            (0, '[]', 'line 6: the weights add up to 0, expected 1023'),
            (0, '[[6, 1023]]', 'line 6: bone 6 does not exist, the model has 6'),
            (0, '[[null, 1023]]', 'line 6: bone null'),
            (0, '[[0, 1100], [1, -77], [0, 0], [0, 0]]', 'line 6: weight 1100 is outside 0..1023'),
            (0, '[[0, 1000], [1, -77], [0, 100], [0, 0]]', 'line 6: weight -77 is outside 0..1023'),
            (0, '[[0, 1023], [1, 0], [2, 0], [3, 0], [4, 0]]', 'line 6: 5 pairs, a vertex of IASkin4wt2UVColor has 4'),
            (1, '[[0, 200], [1, 200], [2, 200], [3, 300], [4, 123]]',
             'line 6: weight 300 is outside 0..255, which slot 3 holds; put the largest weights first'),
            (1, '[[0, 0.1], [1, 0.1], [2, 0.1], [3, 0.7]]', 'put the largest weights first')):
        m.refused(f'weights {line}', f'meshes/{i}.weights.yaml', with_line('-', 4, '- ' + line), why)
    m.refused('a line less', 'meshes/0.weights.yaml', lambda s: s[:s.rstrip().rindex('\n') + 1],
              'weights of 15 vertices, the mesh has 16')


# ---------------------------------------------------------------- topology

def vertex_text(c, v, coloured):
    """v, vt and vn lines of a vertex."""
    colour = [x / 255 for x in v['colour'][:3]] if coloured else []
    u, w = (c.mk.half(x) for x in v['uv'][0])
    return (three('v', v['pos'] + colour), 'vt %s %s' % (number(u), number(c.mk.f32(1 - w))),
            three('vn', c.mk.unit(v['normal'][:3])))


def add_corner(c, m, i, to):
    """A copy of vertex 0 at another place, and a triangle with it."""
    mesh = m.want['meshes'][i]
    v = copied(mesh['vertices'][0])
    v['pos'] = to
    n = len(mesh['vertices'])
    mesh['vertices'].append(v)
    mesh['triangles'] = mesh['triangles'] + [(0, n, 1)]
    rows = vertex_text(c, v, c.mk.BLOCKS[mesh['block']][2])

    def change(text):
        out = text.rstrip('\n').split('\n')
        for key, line in zip(('v', 'vt', 'vn'), rows):
            out.insert([k for k, s in enumerate(out) if s.startswith(key + ' ')][-1] + 1, line)
        return '\n'.join(out + ['f 1/1/1 %d/%d/%d 2/2/2' % (n + 1, n + 1, n + 1)]) + '\n'
    return change


def grown(t):
    c = Corpus()
    for name in ('f_body900_0000', 'f_arm901_0000', 'vbase_small', 'rock', 'em901_00', 'em902_00', 'swo900',
                 'slg900_0000', 'odd/skeleton', 'odd/unknown_block', 'em900_00', 'names'):
        m = Model(t, c, name)
        n = len(m.was['meshes'])
        for i in sorted({0, n // 2, n - 1}):
            mesh = m.was['meshes'][i]
            if mesh.get('opaque') or not mesh['triangles']:
                continue
            x, y, z = mesh['vertices'][0]['pos']
            change = add_corner(c, m, i, [c.mk.f32(x - 0.25), c.mk.f32(y - 0.5), c.mk.f32(z - 0.125)])
            c.follow(mesh, m.want['meshes'][i])
            settle_stale(m, i)
            m.edit(f'mesh {i}, a vertex and a triangle more', f'meshes/{i}.obj', change,
                   said='1 new vertices took the weights')
            if name == 'f_arm901_0000':
                m.refused(f'mesh {i} grows without -g', f'meshes/{i}.obj', change, 'bytes are missing')


def settle_stale(m, i):
    """The edited mesh's own max_vertex is worked out anew; what was out of date elsewhere stays."""
    if m.name == 'swo900' and i == 0:
        m.want['meshes'][0]['record'].pop('max_vertex')
    if m.name == 'swo900' and i == 1:
        m.want['meshes'][1]['record'].pop('max_vertex')


def shrunk(t):
    c = Corpus()
    for name, i in (('f_body900_0000', 0), ('f_body900_0000', 6), ('f_arm901_0000', 1), ('vbase_small', 0), ('rock', 1),
                    ('slg900_0000', 0), ('odd/unknown_block', 2)):
        m = Model(t, c, name)
        old, mesh = m.was['meshes'][i], m.want['meshes'][i]
        gone = len(old['vertices']) - 1
        mesh['vertices'].pop()
        mesh['triangles'] = [f for f in old['triangles'] if gone not in f]
        c.follow(old, mesh)

        def change(text):
            rows = [r for r in text.split('\n') if not (r.startswith('f ') and f' {gone + 1}/' in r)]
            for key in ('v', 'vt', 'vn'):
                del rows[[k for k, s in enumerate(rows) if s.startswith(key + ' ')][-1]]
            return '\n'.join(rows)
        m.edit(f'mesh {i}, its last vertex gone', f'meshes/{i}.obj', change)
    m = Model(t, c, 'hair900')
    m.want['meshes'][0]['triangles'] = m.was['meshes'][0]['triangles'][1:]
    m.edit('a triangle less', 'meshes/0.obj', lambda s: s.replace(s.split('\n')[lines(s, 'f')[0]] + '\n', '', 1))
    m.refused('no triangle left', 'meshes/0.obj', lambda s: '\n'.join(r for r in s.split('\n') if r[:2] != 'f '),
              'no faces, the mesh has 18')


def split(t):
    """A corner with coordinates of its own makes a vertex more, right behind the one it was."""
    c = Corpus()
    m = Model(t, c, 'f_arm901_0000')
    mesh = m.want['meshes'][3]
    n = len(mesh['vertices'])
    faces = [k for k, f in enumerate(mesh['triangles']) if 2 in f]
    own = copied(mesh['vertices'][2])
    own['uv'] = [(c.mk.to_half(0.25), c.mk.to_half(1 - 0.75))]
    # The first face gets it, so of the two vertices that 2 becomes it is the first.
    mesh['vertices'].insert(2, own)
    mesh['triangles'] = [tuple(2 if v == 2 and k == faces[0] else v + (v >= 2) for v in f)
                         for k, f in enumerate(mesh['triangles'])]

    def change(text):
        rows = text.rstrip('\n').split('\n')
        at = lines(text, 'f')[faces[0]]
        rows[at] = rows[at].replace('3/3/3', f'3/{n + 1}/3')
        rows.insert(lines(text, 'vt')[-1] + 1, 'vt 0.25 0.75')
        return '\n'.join(rows) + '\n'
    m.edit('mesh 3, a seam', 'meshes/3.obj', change)


def long_run(t):
    """70,000 vertices in one run: one more in the first mesh moves vertexBase, and splits elsewhere."""
    if lib.SANITIZERS:
        raise Skip('most of the time is the maker of the corpus; test_mod3_layout has such runs too')
    c = Corpus()
    m = Model(t, c, 'vbase')
    mesh = m.was['meshes'][0]
    x, y, z = mesh['vertices'][0]['pos']
    change = add_corner(c, m, 0, [c.mk.f32(x - 0.5), y, z])
    c.follow(mesh, m.want['meshes'][0])
    m.edit('a vertex more', 'meshes/0.obj', change, said='1 new vertices')
    d = c.fix({'bones': [], 'materials': [b'a'], 'meshes': [c.mk.patch(random.Random(1), 'IANonSkin1UV', 255, 256),
                                                           c.mk.patch(random.Random(2), 'IANonSkin1UV', 51, 5)]})
    m.was, m.want, m.before, m.name = d, copied(d), c.build(d), '65280 + 255 vertices'
    m.path = t.file('full.mod3', m.before)
    c.inverse = []
    x, y, z = d['meshes'][0]['vertices'][0]['pos']
    change = add_corner(c, m, 0, [c.mk.f32(x - 0.5), y, z])
    c.follow(d['meshes'][0], m.want['meshes'][0])
    m.edit('one more than indices reach', 'meshes/0.obj', change, said='1 new vertices')
    full = lambda s: s.replace('\nvt ', '\n' + 'v 0 0 0\n' * 256 + 'vt ', 1).rstrip('\n') + '\nf 65281 65282 65536\n'
    m.refused('65536 vertices', 'meshes/0.obj', full, '65536 vertices are more than the 65535', '-g')


# ---------------------------------------------------------------- block types

def block_types(t):
    c = Corpus()
    m = Model(t, c, 'f_body900_0000')
    names = list(c.mk.BLOCKS)
    for i, old in enumerate(names):
        for new in names[i % 3::3]:                # a third of all pairs
            if new == old:
                continue
            uvs, slots, _ = c.mk.BLOCKS[new]
            mesh, lost, said = m.want['meshes'][i], None, None
            for k, v in enumerate(mesh['vertices']):
                v['uv'] = (v['uv'] + [(0, 0)] * 4)[:uvs]
                if not c.mk.BLOCKS[old][2]:
                    v['colour'] = [255] * 4
                had = v.get('weights', [])
                if slots and not had:
                    v.update(weights=[1023] + [0] * (slots - 1), bones=[0] * slots)
                elif slots:
                    lost = lost or next(((k, w) for w in had[slots:] if w), None)
                    v.update(weights=(had + [0] * 4)[:slots], bones=(v['bones'] + [0] * 4)[:slots])
            mesh['block'] = new
            mesh['record']['block_type'] = c.mk.jam(new.encode())
            change = with_value('block_type', new)
            if lost:
                m.want = copied(m.was)
                m.refused(f'mesh {i}, {old} to {new}', f'meshes/{i}.yaml', change,
                          f'vertex {lost[0]}: weight {lost[1]} of bone', '-g')
                continue
            if c.mk.BLOCKS[old][0] > uvs or c.mk.BLOCKS[old][2] > c.mk.BLOCKS[new][2] or bool(slots) != bool(
                    c.mk.BLOCKS[old][1]):
                said = f'mesh {i}: '
            m.edit(f'mesh {i}, {old} to {new}', f'meshes/{i}.yaml', change, said=said)
    m = Model(t, c, 'odd/unknown_block')
    m.refused('block type of an opaque mesh', 'meshes/1.yaml', with_value('block_type', 'IASkin8wt1UV'), 'unknown',
              '-g')
    m.refused('an unknown block type', 'meshes/0.yaml', with_value('block_type', '0x12345678'), 'none of the 14', '-g')
    m.refused('half a name', 'meshes/0.yaml', with_value('block_type', 'IASkin'), 'block_type', '-g')
    m = Model(t, c, 'rock')
    m.refused('weights without bones', 'meshes/0.yaml', with_value('block_type', 'IASkin4wt1UV'), 'no bones', '-g')


# ---------------------------------------------------------------- bones

def listed(v):
    return '[%s]' % ', '.join(number(x) for x in v)


def follow_bones(c, m):
    was, now = c.inverses(m.was), c.inverses(m.want)
    for old, new in zip(m.was['meshes'], m.want['meshes']):
        c.follow(old, new, was, now)


def bones(t):
    c = Corpus()
    for name, i in (('f_arm901_0000', 0), ('f_arm901_0000', 2), ('em900_00', 4), ('odd/skeleton', 11),
                    ('odd/skeleton', 7)):
        m = Model(t, c, name)
        bone = m.want['bones'][i]
        bone['local'][12:15] = [1.5, -2.25, 30.0]
        follow_bones(c, m)
        m.edit(f'bone {i}, position', 'skeleton.yaml', with_value('position', '[1.5, -2.25, 30]', i), near=True)
        bone = m.want['bones'][i]
        bone['local'][13] = 7.5
        follow_bones(c, m)
        m.edit(f'bone {i}, translation', 'skeleton.yaml', with_value('local_matrix', listed(bone['local']), i),
               near=True)
        bone = m.want['bones'][i]
        bone['local'] = [0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 3.0, 4.0, 0.0, 1.0]
        follow_bones(c, m)
        m.edit(f'bone {i}, both', 'skeleton.yaml', all_of(with_value('local_matrix', listed(bone['local']), i),
                                                          with_value('position', '[3, 4, 0]', i)), near=True)
    m = Model(t, c, 'f_arm901_0000')
    for i, parent in ((6, 0), (2, None), (5, 4)):
        if m.was['bones'][i]['parent'] == parent:
            continue
        m.want['bones'][i]['parent'] = parent
        follow_bones(c, m)
        m.edit(f'bone {i}, parent {parent}', 'skeleton.yaml',
               with_value('parent', 'null' if parent is None else str(parent), i), near=True)
    child = next(k for k, b in enumerate(m.was['bones']) if b['parent'] is not None)
    top = m.was['bones'][child]['parent']
    m.refused('a cycle', 'skeleton.yaml', with_value('parent', str(child), top), 'hangs on bone %d itself' % top)
    m.refused('its own parent', 'skeleton.yaml', with_value('parent', '1', 1), 'hangs on bone 1 itself')
    m.refused('no such parent', 'skeleton.yaml', with_value('parent', '7', 1), 'parent 7, the model has 7 bones')
    flat = listed(m.was['bones'][1]['local'][:12] + [9.0, 9.0, 9.0, 1.0])
    m.refused('two positions', 'skeleton.yaml', all_of(with_value('local_matrix', flat, 1),
                                                       with_value('position', '[8, 9, 9]', 1)), 'they are one value')
    m.refused('no inverse', 'skeleton.yaml', with_value('local_matrix', listed([0.0] * 15 + [1.0]), 1), 'no inverse')
    m.want['bones'][3]['function'] = 77
    m.edit('a function', 'skeleton.yaml', with_value('function', '77', 3))


# ---------------------------------------------------------------- real files

def real(t):
    """A vertex of the first meshes of each sample goes far away: what has to follow does, and no more."""
    c = Corpus()
    paths = sorted(glob.glob(os.path.join(SAMPLES, '*.mod3')))
    if not paths:
        raise Skip('no samples in ' + SAMPLES)
    for path in paths:
        with open(path, 'rb') as f:
            before = f.read()
        was, to, bad, n = c.view(before), t.file(os.path.basename(path), before), [], 0
        for i in range(min(3, len(was['meshes']))):
            if not was['meshes'][i].get('vertices'):
                continue
            text = run('cat', to, f'meshes/{i}.obj').stdout.decode()
            first = lines(text, 'v')[0]
            x, y, z = (float(s) for s in text.split('\n')[first].split()[1:4])
            r = run('put', to, f'meshes/{i}.obj', '-', data=with_line('v', 0, f'v {x + 500} {y} {z}')(text).encode())
            with open(to, 'rb') as f:
                after = f.read()
            with open(to, 'wb') as f:
                f.write(before)
            n += 1
            d = c.read.difference(one_moved(c, was, i, c.read.single(x + 500)), c.view(after))
            bad += [f'mesh {i}: exit {r.returncode}: {r.stderr}'] if r.returncode or r.stderr else []
            bad += [f'mesh {i}: {d}'] if d and not d.startswith('.sha256') else []
        t.none(bad + lib.unless(n, 'no mesh'), f'{os.path.basename(path)}: a vertex moved far away')


def one_moved(c, was, i, x):
    """The view `was` with another x of vertex 0 of mesh i."""
    want = copied(was)
    mesh, header = want['meshes'][i], want['header']
    mesh['positions'][0] = x
    old, new = (c.mk.bounds([m['positions'][k:k + 3] for m in v['meshes'] for k in range(0, len(m['positions']), 3)])
                for v in (was, want))
    for key in ('sphere_centre', 'aabb_min', 'aabb_max'):
        header[key] = [s if a == b else b for s, a, b in zip(header[key], old[key], new[key])]
    if old['sphere_radius'] != new['sphere_radius']:
        header['sphere_radius'] = new['sphere_radius']
    inverse = [b['inverse_matrix'] for b in was['bones']]
    a, b = described(was['meshes'][i]), described(mesh)
    c.follow(a, b, inverse, inverse)
    mesh['envelopes'] = b['envelopes']
    return want


def described(mesh):
    """A mesh of a view as the maker describes it."""
    p, w = mesh['positions'], mesh.get('weights')
    return {'block': mesh['record']['block_type'], 'envelopes': mesh['envelopes'],
            'vertices': [{'pos': p[3 * k:3 * k + 3], 'bones': [b for b, _ in w[k]] if w else [],
                          'weights': [x for _, x in w[k]] if w else []} for k in range(len(p) // 3)]}


if __name__ == '__main__':
    lib.main(unchanged, moved, neighbours, attributes, weights, grown, shrunk, split, long_run, block_types, bones,
             real)
