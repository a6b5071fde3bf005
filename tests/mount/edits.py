"""Edits of each kind, for an Editor (saving.py): what is written, and what may be other then.

A function makes its edits of one object, whatever the archive; where the places in a file are needed, they are worked
out here, by the format's description, from the file's own tables.
"""
import hashlib
import json
import os
import re
import struct
from collections import Counter

import lib
import saving
from saving import READER


# ---------------------------------------------------------------- texts

def put(text, pattern, new, nth=0):
    """The nth place that matches, replaced; its groups may stand in `new` as \\1."""
    m = list(re.finditer(pattern, text, re.M))[nth]
    return text[:m.start()] + m.expand(new) + text[m.end():]


def field(text, key, value, nth=0):
    return put(text, rf'^((?:- |  )?{key}): .*$', rf'\1: {value}', nth)


def rows(text, word):
    """Line numbers of an OBJ's lines of one kind."""
    return [i for i, line in enumerate(text.split('\n')) if line.split(' ')[0] == word]


def row(text, word, nth, new):
    """An OBJ with one line of a kind replaced; None: without it."""
    lines = text.split('\n')
    at = rows(text, word)[nth]
    lines[at:at + 1] = [] if new is None else [new]
    return '\n'.join(lines)


def near(want, within):
    """A check of a value in the facts: {path: numbers} that it must come near to."""
    def check(_, after):
        bad = []
        for path, numbers in want.items():
            have = saving.value_at(after, path)
            if len(have) != len(numbers) or any(abs(a - b) > within for a, b in zip(have, numbers)):
                bad.append(f'{path} is {have}, expected {numbers} within {within}')
        return bad
    return check


# ---------------------------------------------------------------- models

class Model:
    """A PMO of an Editor's source: texts, facts and places by short names."""

    def __init__(self, x, pac, name, facts='', base=0):
        self.x, self.pac, self.name = x, pac, name
        self.dir = os.path.join(pac, name)
        self.entry = f'{facts}entries/{int(name[:2])}'
        self.facts = self.entry + '/truth/'
        self.base = base                           # of the PAC in the archive
        self.geometry = None                       # where it begins there, when it is in another file
        self.too = []                              # facts of that file
        self.around = [facts + 'size']             # of what the PMO lies in

    def pac_bytes(self):
        return self.x.entry(self.pac) if self.pac else self.x.bytes()

    def entry_at(self, index):
        b = self.pac_bytes()
        at, size = saving.pac_entries(b)[index]
        return b[at:at + size], self.base + at

    def pmo(self):
        b, at = self.entry_at(int(self.name[:2]))
        return saving.Pmo(b, at, self.geometry)

    def path(self, *name):
        return os.path.join(self.dir, *name)

    def text(self, *name):
        return self.x.text(self.path(*name))

    def edit(self, what, name, new, facts=(), expect=None, **more):
        """Facts and expectations are those of the PMO."""
        self.x.edit(f'{self.name}: {what}', self.path(name), new, self.entry, ['truth/' + p for p in facts],
                    expect={'truth/' + p: v for p, v in (expect or {}).items()},
                    **{**more, 'facts_too': [*more.get('facts_too', ()), *self.too]})

    def value(self, path):
        return saving.value_at(self.x.facts(), self.facts + path)

    def scale(self, mesh):
        wide = self.pmo().wide
        text = self.text(f'meshes/{mesh}.yaml' if wide else 'header.yaml')
        return [float(v) for v in re.search(r'^scale: \[(.*?)\]', text, re.M)[1].split(', ')][:3]

    def groups(self, mesh):
        """(first vertex, vertices, vertex type, number among all groups) of each group that a mesh has."""
        text, first, out = self.text(f'meshes/{mesh}.yaml'), 0, []
        kinds = re.findall(r'vertex_type: (0x\w+).*\n\s+vertices: (\d+)', text)
        for k, (kind, n) in zip(self.pmo().groups_of(mesh), kinds):
            out.append((first, int(n), int(kind, 16), k))
            first += int(n)
        return out


def header(m):
    p, text = m.pmo(), m.text('header.yaml')
    m.edit('cull_radius', 'header.yaml', field(text, 'cull_radius', '123.25'), ['cull_radius'],
           {'cull_radius': 123.25}, spans=[p.header(0xc, 4)])
    text = m.text('header.yaml')
    wide = p.wide
    m.edit('scale', 'header.yaml', field(text, 'scale', '[64.0, 32.0, 96.5]'),
           [r'scale/\d'] + ([] if wide else [r'meshes/\d+/v/.*']), {'scale': [64.0, 32.0, 96.5]},
           spans=[p.header(0x10, 12)])


def material(m):
    p = m.pmo()
    for key, value, fact, span in (
            ('colour', '[1, 2, 3, 4]', [1, 2, 3, 4], (0, 4)), ('ambient', '[9, 8, 7, 6]', [9, 8, 7, 6], (4, 4)),
            ('texture', 'null', 255, (8, 1)), ('leftover', '0x12345678', 0x12345678, (12, 4))):
        m.edit(f'material {key}', 'materials.yaml', field(m.text('materials.yaml'), key, value),
               [rf'materials/0/{key}.*'], {f'materials/0/{key}': fact}, spans=[p.material(0, *span)])


def mesh_fields(m, mesh=0):
    p, name = m.pmo(), f'meshes/{mesh}.yaml'
    own = f'meshes/{mesh}/'
    bits = m.text(name)
    m.edit('mesh lighting', name, field(bits, 'lighting', '[lighting]'), [own + 'lighting'], spans=[p.mesh(mesh, 8, 4)],
           check=lambda b, a: [] if saving.value_at(a, m.facts + own + 'lighting') & 0xffff else ['lighting is 0'])
    m.edit('mesh blend', name, field(m.text(name), 'blend', '0x11223344'), [own + 'blend'], {own + 'blend': 0x11223344},
           spans=[p.mesh(mesh, 0xc, 4)])
    m.edit('mesh uv_scale', name, field(m.text(name), 'uv_scale', '[1.5, 0.75]'),
           [own + r'(uv_scale|uv|vt)/.*'], {own + 'uv_scale': [1.5, 0.75]},
           spans=[p.scales(mesh, 0x10, 8) if p.wide else p.mesh(mesh, 0, 8)])
    if p.wide:
        m.edit('mesh uv_offset', name, field(m.text(name), 'uv_offset', '[0.5, 0.125]'),
               [own + r'(uv_offset|uv|vt)/.*'], {own + 'uv_offset': [0.5, 0.125]}, spans=[p.scales(mesh, 0x18, 8)])
        m.edit('mesh scale', name, field(m.text(name), 'scale', '[40.0, 30.0, 50.0, 1.0]'),
               [own + r'(scale|v)/.*'], {own + 'scale': [40.0, 30.0, 50.0, 1.0]}, spans=[p.scales(mesh, 0, 16)])


def group_fields(m, mesh=0):
    """The mesh's remap has two materials at least."""
    p, name, own = m.pmo(), f'meshes/{mesh}.yaml', f'meshes/{mesh}/'
    first = p.groups_of(mesh)[0]
    run = [int(v) for v in re.search(r'^materials: \[(.*?)\]', m.text(name), re.M)[1].split(', ')]
    was = int(re.search(r'^- material: (\d+)', m.text(name), re.M)[1])
    m.edit('group material', name, put(m.text(name), r'^- material: \d+', f'- material: {1 - was if was < 2 else 0}'),
           [own + 'groups/0/material(_index)?'], {own + 'groups/0/material': 1 - was if was < 2 else 0},
           spans=[p.group(first, 0, 1)])
    new = [v for v in run[1:]] + [(run[0] + 1) % p.nmaterials]
    m.edit('materials of a mesh', name, field(m.text(name), 'materials', str(new)),
           [own + r'materials/\d+', own + r'groups/\d+/material_index'], {own + 'materials': new},
           spans=[p.remap(mesh)])
    pairs = re.search(r'palette: \[(\[.*?\])\]', m.text(name))[1]
    new = re.sub(r', (\d+)\]$', lambda x: f', {int(x[1]) ^ 1}]', pairs)
    m.edit('group palette', name, put(m.text(name), r'palette: \[\[.*\]$', f'palette: [{new}]'),
           [own + r'groups/0/palette/.*', r'meshes/\d+/weights/.*'],
           {own + 'groups/0/palette': json.loads(f'[{new}]')}, spans=[p.palette(first)])


def visible(m, mesh=0):
    """The bytes come back."""
    p, name, own = m.pmo(), f'meshes/{mesh}.yaml', f'meshes/{mesh}/'
    before, obj = m.x.bytes(), m.text(f'meshes/{mesh}.obj')
    m.edit('visible: false', name, field(m.text(name), 'visible', 'false'), [own + '.*'], {own + 'faces': []},
           spans=[p.geometry()])
    hidden = saving.changed(before, m.x.bytes())
    m.x.t.ok(all(before[i] == 4 and i % 4 == 3 for i in hidden) if not m.base else bool(hidden),
             f'{m.x.title}: only the commands of PRIM words change', saving.ranges(hidden)[:5])
    shown = m.text(f'meshes/{mesh}.obj')
    m.x.t.ok(all([z for z in shown.split('\n') if z.startswith(w)] == [z for z in obj.split('\n') if z.startswith(w)]
                 for w in ('v ', 'vt', 'vn')) and '\nf ' not in shown,
             f'{m.x.title}: a hidden mesh has vertices, no faces')
    m.edit('visible: true', name, field(m.text(name), 'visible', 'true'), [own + '.*'], spans=[p.geometry()])
    m.x.t.ok(m.x.bytes() == before, f'{m.x.title}: shown again: the old bytes')


def rescale(m, mesh=0):
    """The shape stays, within the step of what is stored."""
    p, wide = m.pmo(), m.pmo().wide
    name = f'meshes/{mesh}.yaml' if wide else 'header.yaml'
    old, text = m.scale(mesh), m.text(name)
    new = [2 * v for v in old]
    which = rf'meshes/{mesh}/' if wide else r'meshes/\d+/'

    def same_shape(before, after):
        a, b = (saving.value_at(f, m.facts + 'meshes') for f in (before, after))
        bad = []
        for i, (one, two) in enumerate(zip(a, b)):
            steps = [step_of(one, k, new) for k in range(3)]
            step = [v / 2 ** (7 if g['vertex_type'] >> 7 & 3 == 1 else 15) for v in new for g in one['groups']][:1]
            for u, v in zip(one['v'], two['v']):
                if any(abs(c - d) > 0.51 * s + 1e-5 for c, d, s in zip(u, v, steps)):
                    bad.append(f'mesh {i}: {u} became {v}')
        return bad

    line = f'rescale: [{", ".join(map(repr, new))}]\n'
    text = text + line if not wide else text.replace('uv_scale:', line + 'uv_scale:', 1)
    m.edit('rescale', name, text, [r'scale/\d', which + r'v/.*', which + r'scale/\d'], check=same_shape,
           spans=[p.scales(mesh, 0, 16) if wide else p.header(0x10, 12), p.geometry()])


def step_of(mesh, k, scale):
    """The coarsest step of a position's coordinate k."""
    return max(scale[k] / {1: 128, 2: 32768, 3: 1e9}[g['vertex_type'] >> 7 & 3] for g in mesh['groups'])


def vertices(m, mesh=0):
    """One number of one vertex at a time: only its bytes change."""
    name, own, scale = f'meshes/{mesh}.obj', f'meshes/{mesh}/', m.scale(mesh)
    done = set()
    for first, n, kind, k in m.groups(mesh):
        parts, i = saving.Vertex(kind).at, n // 2
        at, v = first + i, f'{first + i}'
        if 'p' not in done:
            old = [float(z) for z in m.text(name).split('\n')[rows(m.text(name), 'v')[at]].split(' ')[1:]]
            new = [0.25 * scale[0], -0.5 * scale[1], 0.125 * scale[2], *old[3:]]
            m.edit('one vertex moved', name, row(m.text(name), 'v', at, 'v ' + ' '.join(map(repr, new))),
                   [own + rf'v/{v}/\d'], spans=[m.pmo().vertex(k, kind, i, 'p')],
                   check=near({f'{m.facts}{own}v/{v}': new[:3]}, max(scale) / 100))
        if 't' in parts and 't' not in done:
            before = sum(c for f, c, w, _ in m.groups(mesh) if f < first and 't' in saving.Vertex(w).at) + i
            m.edit('one UV', name, row(m.text(name), 'vt', before, 'vt 1.25 0.5'), [own + rf'(uv|vt)/{v}/\d'],
                   spans=[m.pmo().vertex(k, kind, i, 't')], check=near({f'{m.facts}{own}vt/{v}': [1.25, 0.5]}, 0.02))
        if 'n' in parts and 'n' not in done:
            before = sum(c for f, c, w, _ in m.groups(mesh) if f < first and 'n' in saving.Vertex(w).at) + i
            m.edit('one normal', name, row(m.text(name), 'vn', before, 'vn 0.6 0.0 -0.8'), [own + rf'vn/{v}/\d'],
                   spans=[m.pmo().vertex(k, kind, i, 'n')],
                   check=near({f'{m.facts}{own}vn/{v}': [0.6, 0.0, -0.8]}, 0.02))
        if 'c' in parts and 'c' not in done:
            old = m.text(name).split('\n')[rows(m.text(name), 'v')[at]].split(' ')[:4]
            m.edit('one vertex colour', name, row(m.text(name), 'v', at, ' '.join(old + ['1.0', '0.0', '0.0'])),
                   [own + rf'rgba/{v}/\d'], spans=[m.pmo().vertex(k, kind, i, 'c')],
                   check=lambda b, a: lib.unless(saving.value_at(a, f'{m.facts}{own}rgba/{v}')[:3] == [255, 0, 0]
                                                 and saving.value_at(a, f'{m.facts}{own}rgba/{v}')[3] ==
                                                 saving.value_at(b, f'{m.facts}{own}rgba/{v}')[3], 'another colour'))
        if 'w' in parts and 'w' not in done:
            text = m.text(f'meshes/{mesh}.weights.yaml')
            line = [z for z in text.split('\n') if z.startswith('- ')][at]
            bones = re.findall(r'\[(\d+|null), ', line)
            half = [[int(z), 0.5 if q < 2 else 0.0] for q, z in enumerate(bones)]
            if len(half) > 1:
                new = put(text, r'^- .*$', f'- {half}', at)
                m.edit('weights of one vertex', f'meshes/{mesh}.weights.yaml', new, [own + rf'weights/{v}/.*'],
                       {own + f'weights/{v}': half}, spans=[m.pmo().vertex(k, kind, i, 'w')])
        done |= {key for key in parts if key != 'w' or saving.Vertex(kind).at['w'][1] > 1}
    return done


# ---------------------------------------------------------------- triangles

def triangles(m, mesh=0, places=None):
    """What the model shows is compared: triangles as material and corners. places: the bytes of the archive that may
    change; None: those of the PMO, with nothing moved."""
    name, own = f'meshes/{mesh}.obj', f'meshes/{mesh}/'

    def only(gone, new):
        def check(before, after):
            a, b = (saving.soup(saving.value_at(f, m.facts + own[:-1])) for f in (before, after))
            lost, won = list((Counter(a) - Counter(b)).elements()), list((Counter(b) - Counter(a)).elements())
            return lib.unless(len(lost) == gone and len(won) == new,
                              f'{len(lost)} triangles went, {len(won)} came, expected {gone} and {new}: {lost[:1]} '
                              f'{won[:1]}')
        return check

    def change(what, text, gone, new):
        p, b = m.pmo(), m.pac_bytes()
        spans = places(p) if places else [p.geometry(), *[p.group(k, 4, 12) for k in p.groups_of(mesh)]]
        m.edit(what, name, text, [own + '(groups|v|rgba|uv|vt|vn|weights|faces)/.*', 'size'], spans=spans,
               facts_too=[*m.around, m.entry + '/size'], check=only(gone, new), moves=m.pac if places else None)
        now = m.pac_bytes()
        for i, (one, two) in enumerate(zip(saving.pac_entries(b), saving.pac_entries(now))):
            if i != int(m.name[:2]) and b[one[0]:sum(one)] != now[two[0]:sum(two)]:
                m.x.t.ok(False, f'{m.x.title}: {what}', f'entry {i} has other bytes')

    text = m.text(name)
    change('a triangle removed', row(text, 'f', -1, None), 1, 0)
    text = m.text(name)
    last = text.split('\n')[rows(text, 'f')[-1]].split(' ')
    back = ' '.join([last[0], last[2], last[1], last[3]])
    change('a triangle added', row(text, 'f', -1, ' '.join(last) + '\n' + back), 0, 1)
    text = m.text(name)
    lines = text.rstrip('\n').split('\n')
    source, scale = last[1].split('/'), m.scale(mesh)
    own_v = lines[rows(text, 'v')[int(source[0]) - 1]].split(' ')
    added = ['v ' + ' '.join([repr(0.75 * scale[0]), repr(0.5 * scale[1]), repr(0.25 * scale[2]), *own_v[4:]])]
    corner = [str(len(rows(text, 'v')) + 1)]
    for word, k in (('vt', 1), ('vn', 2)):
        if len(source) > k:
            corner.append(str(len(rows(text, word)) + 1) if source[k] else '')
        if len(source) > k and source[k]:
            added.append(lines[rows(text, word)[int(source[k]) - 1]])
    added.append(' '.join(['f', '/'.join(corner), last[2], last[3]]))
    change('a vertex added', '\n'.join(lines + added) + '\n', 0, 1)


# ---------------------------------------------------------------- pictures

def gradient(w, h):
    return b''.join(bytes((255 * x // max(1, w - 1), 255 * y // max(1, h - 1), 255 * (x + y) // (w + h), 255))
                    for y in range(h) for x in range(w))


def stored_colour(fmt, c):
    """What a direct format makes of a colour that it can store."""
    bits = {0: (5, 6, 5, 0), 1: (5, 5, 5, 1), 2: (4, 4, 4, 4), 3: (8, 8, 8, 8)}[fmt]
    wide = {0: lambda v: 255, 1: lambda v: 255 * (v >> 7), 4: lambda v: (v >> 4) * 17, 5: lambda v: (v >> 3) * 33 >> 2,
            6: lambda v: (v >> 2) * 65 >> 4, 8: lambda v: v}
    return bytes(wide[n](v) for n, v in zip(bits, c))


def picture(x, k, what, new, spans, exact=True, within=0, dir='', entry='', base=0):
    """Image k of a texture bank becomes the picture `new`."""
    name = os.path.join(dir, f'{k}.png')
    w, h, _ = saving.pixels(lib.read(x.at(name)))
    x.edit(f'{k}.png: {what}', name, saving.png(w, h, new), entry, [f'truth/images/{k}/rgba_sha256'],
           {f'truth/images/{k}/rgba_sha256': hashlib.sha256(new).hexdigest()} if exact else None, spans)
    shown = saving.pixels(lib.read(x.at(name)))[2]
    same = not READER or hashlib.sha256(shown).hexdigest() == saving.value_at(
        x.facts(), (entry + '/' if entry else '') + f'truth/images/{k}/rgba_sha256')
    x.t.ok(same and saving.error(shown, new) <= within, f'{x.title}: {k}.png: {what}: the picture shown',
           (same, saving.error(shown, new)))


# ---------------------------------------------------------------- skeletons and clips

def skeleton(x, entry, b, at, through):
    """Fields of bones, through each of the paths in turn. b: the skeleton's bytes, at: their place in the archive."""
    paths = [os.path.join(p, 'skeleton.yaml') for p in through]
    bones = 12 + struct.unpack_from('<I', b, 20)[0]
    each = 0x10c if b[:4] == b'\0\0\0\xc0' else 0x5c
    bone = lambda i, off, n: (at + bones + i * each + off, at + bones + i * each + off + n)
    count = (len(b) - bones) // each
    for k, path in enumerate(paths):
        new = [1.5 + k, 2.5, -3.5, 1.0]
        x.edit(f'{path}: offset', path, field(x.text(path), 'offset', str(new), 2), entry, [r'truth/bones/2/offset/\d'],
               {'truth/bones/2/offset': new}, [bone(2, 0x3c, 16)])
    last = count - 1
    x.edit(f'{paths[0]}: parent', paths[0], field(x.text(paths[0]), 'parent', '0', last), entry,
           [rf'truth/bones/{last}/parent'], {f'truth/bones/{last}/parent': 0},
           [bone(i, 0x10, 12) for i in range(count)])
    if each == 0x5c:
        x.edit(f'{paths[0]}: name', paths[0], field(x.text(paths[0]), 'name', '"knee"', 1), entry,
               [r'truth/bones/1/name'], {'truth/bones/1/name': 'knee'}, [bone(1, 0x54, 8)])


KEY = r'^    - \[(-?\d+), (\d+), (-?\d+), (-?\d+)\]$'


def clips(x, paths, header, entry='', spans=None, shared=()):
    """paths: the directories that show the clips. Clip 0 has a track with two keys in its first channel."""
    truth = lambda f: saving.value_at(f, (entry + '/' if entry else '') + 'truth')
    for k, path in enumerate(paths):
        name = os.path.join(path, '000.yaml')
        n = next(i for i, c in enumerate(truth(x.facts())['clips'][0]['tracks']) if c and c[0]['keys']) if READER else 0
        where = f'truth/clips/0/tracks/{n}/0/keys'
        text = x.text(name)
        old = [int(v) for v in re.search(KEY, text, re.M).groups()]
        new = [1234 + k, old[1], -5, 6]
        x.edit(f'{name}: a key', name, put(text, KEY, f'    - {new}'), entry, [where + '/0/.*'],
               {where + '/0': new}, spans)
    keys = lambda: truth(x.facts())['clips'][0]['tracks'][n][0]['keys'] if READER else None
    text, before = x.text(name), keys()
    found = list(re.finditer(r'^  - channel: .*\n.*\n((?:    - .*\n)+)', text, re.M))[0]
    last = [int(v) for v in re.findall(r'\[(.*)\]', found[1])[-1].split(', ')]
    added = [77, last[1] + 3, 8, 9]
    x.edit(f'{name}: a key added', name, text[:found.end()] + f'    - {added}\n' + text[found.end():], entry,
           [where + '/.*', 'size'], {where: before + [added]} if READER else None, facts_too=shared, moves='')
    text = x.text(name)
    x.edit(f'{name}: a key removed', name, text.replace(f'    - {added}\n', '', 1), entry, [where + '/.*', 'size'],
           {where: before} if READER else None, facts_too=shared, moves='')
    text = x.text(name)
    track = list(re.finditer(r'^- channels:\n(?:  .*\n)+', text, re.M))[0]
    have = re.findall(r'channel: (\w+)', track[0])
    free = next(c for c in (f'{a}_{b}' for a in ('rotation', 'location') for b in 'xyz') if c not in have)
    more = f'  - channel: {free}\n    keys:\n    - [5, 0, 6, 7]\n'
    x.edit(f'{name}: a channel added', name, text[:track.end()] + more + text[track.end():], entry,
           [rf'truth/clips/0/tracks/{n}/{len(have)}/.*', 'size'], facts_too=shared, moves='',
           expect={f'truth/clips/0/tracks/{n}/{len(have)}/keys': [[5, 0, 6, 7]]})
    text = x.text(name)
    tracks = len(truth(x.facts())['clips'][0]['tracks']) if READER else 0
    more = '- channels:\n  - channel: rotation_x\n    keys:\n    - [5, 0, 6, 7]\n'
    x.edit(f'{name}: a track added', name, text + more,
           entry, [rf'truth/clips/0/tracks/{tracks}/.*', 'size'],
           expect={f'truth/clips/0/tracks/{tracks}/0/keys': [[5, 0, 6, 7]]}, facts_too=shared, moves='')
    text = x.text(header)
    streams = [json.loads(v) for v in re.findall(r'slots: (\[.*\])', text)]
    row = streams[0]
    i, j = [k for k, v in enumerate(row) if v is not None][0], row.index(None)
    row[j] = row[i]
    x.edit(f'{header}: slots', header, put(text, r'slots: \[.*\]', 'slots: ' + json.dumps(row)), entry,
           [r'truth/streams/.*', r'truth/clips/.*'] if j < i else [rf'truth/streams/0/{j}'],
           check=same_slots(truth, streams))
    text = x.text(header)
    streams = [json.loads(v) for v in re.findall(r'slots: (\[.*\])', text)]
    gone = max(v for r in streams for v in r if v is not None)
    left = [[None if v == gone else v for v in r] for r in streams]
    lines = iter(left)
    text = re.sub(r'slots: \[.*\]', lambda _: 'slots: ' + json.dumps(next(lines)), text)
    x.edit(f'{header}: a clip removed', header, text, entry, [r'truth/streams/.*', rf'truth/clips/{gone}/.*', 'size'],
           check=same_slots(truth, left), facts_too=shared, moves='')


def same_slots(truth, want):
    """Slots play the clips that they were given; which clip is compared by its contents."""
    def check(before, after):
        a, b = truth(before), truth(after)
        mean = [[None if v is None else a['clips'][v] for v in r] for r in want]
        have = [[None if v is None else b['clips'][v] for v in r] for r in b['streams']]
        return lib.unless(mean == have, 'slots play other clips')
    return check
