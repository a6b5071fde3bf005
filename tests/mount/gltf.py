"""model.glb: its numbers are the corpus' truth; the Khronos validator has nothing to say about any of them; Blender and
assimp read the same vertices, faces and bones; looking at a directory makes none of it.

The validator is the npm package gltf-validator, where node finds it (NODE_PATH).
"""
import hashlib
import json
import math
import os
import re
import struct
import sys

import lib
from lib import Mount, read, run

SEEDS = lib.CORPUS_SEEDS[:2]
FORMATS = {5121: 'B', 5123: 'H', 5125: 'I', 5126: 'f'}
SHAPES = {'SCALAR': 1, 'VEC2': 2, 'VEC3': 3, 'VEC4': 4, 'MAT4': 16}


class Glb:
    def __init__(self, b):
        magic, version, size, n, tag = struct.unpack_from('<4s3I4s', b)
        if (magic, version, size, tag) != (b'glTF', 2, len(b), b'JSON'):
            raise ValueError('no GLB of that length')
        self.doc = json.loads(b[20:20 + n])
        self.bin = b[28 + n:]
        self.names = [x.get('name') for x in self.doc.get('nodes', [])]

    def rows(self, accessor):
        a = self.doc['accessors'][accessor]
        view, n = self.doc['bufferViews'][a['bufferView']], SHAPES[a['type']]
        v = struct.unpack_from(f"<{a['count'] * n}{FORMATS[a['componentType']]}", self.bin, view['byteOffset'])
        return [v[i:i + n] for i in range(0, len(v), n)]

    def mesh(self, name):
        """The primitives of a mesh: each {attribute: rows, 'corners': triples}."""
        mesh = next((m for m in self.doc.get('meshes', []) if m['name'] == name), None)
        out = []
        for p in mesh['primitives'] if mesh else []:
            one = {k: self.rows(v) for k, v in p['attributes'].items()}
            flat = [r[0] for r in self.rows(p['indices'])] if 'indices' in p else []
            one['corners'] = [tuple(flat[i:i + 3]) for i in range(0, len(flat), 3)]
            one['raw'] = p
            out.append(one)
        return out

    def matrices(self):
        return self.rows(self.doc['skins'][0]['inverseBindMatrices']) if 'skins' in self.doc else []


def f32(x):
    return struct.unpack('<f', struct.pack('<f', x))[0]


def shown(x):
    """Numbers that are none are texts in the truth, and 0 in what is shown."""
    return x if isinstance(x, (int, float)) and math.isfinite(x) else 0


def near(a, b, most):
    return len(a) == len(b) and all(abs(x - y) <= most for x, y in zip(a, b))


def rotated(face):
    i = face.index(min(face))
    return tuple(face[i:] + face[:i])


def mapped(pairs):
    """What glTF holds of stored weights: each joint once, what is below zero taken from the largest, and a sum of 1."""
    out = {}
    for joint, weight in pairs:
        out[joint] = out.get(joint, 0) + weight
    debt = -sum(w for w in out.values() if w < 0)
    out = {j: max(w, 0) for j, w in out.items()}
    while debt > 0:
        j = max(out, key=out.get)
        taken = min(debt, out[j])
        out[j] -= taken
        debt -= taken
    total = sum(out.values())
    return {j: f32(w / total) for j, w in out.items() if f32(w / total) > 0}


def influences(prim, i):
    out, most = {}, sum(k.startswith('JOINTS') for k in prim)
    for n in range(most):
        for j, w in zip(prim[f'JOINTS_{n}'][i], prim[f'WEIGHTS_{n}'][i]):
            if w:
                out[j] = w
    return out


def corpus(t, family, script, *args):
    made = {}
    for seed in SEEDS:
        where = t.dir(f'{family}{seed}')
        code, said = lib.other(sys.executable, os.path.join(lib.SHARED, 'corpus', family, script), '--seed', str(seed),
                               *[a.replace('OUT', where) for a in args])
        if code:
            raise lib.Skip(f'no corpus {family}: {said[-200:]}')
        made[seed] = where
    return made


def unit(v):
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v] if length else None


# ---------------------------------------------------------------- MOD3

def digest(values):
    v = list(values)
    return {'count': len(v), 'sha256': hashlib.sha256(struct.pack(f'<{len(v)}f', *v)).hexdigest()}


def mod3_mesh(glb, number, m, bones):
    prims = glb.mesh(f'mesh_{number}')
    if m['opaque']:
        return lib.unless(f'mesh_{number}' not in glb.names, 'an opaque mesh')
    if not m['vertices'] or 'positions' not in m:
        return lib.unless(not prims and f'mesh_{number}' in glb.names, 'a mesh without vertices')
    p = prims[0]
    if isinstance(m['positions'], dict):               # a large one, of which a digest is known
        return lib.unless(digest(v for r in p['POSITION'] for v in r) == m['positions'] and
                          len(p['corners']) * 3 == m['faces']['count'], 'positions or faces')
    finite = [shown(x) for x in m['positions']]
    bad = lib.unless(len(prims) == 1 and [x for v in p['POSITION'] for x in v] == finite, 'positions')
    faces = [rotated(tuple(m['faces'][i:i + 3])) for i in range(0, len(m['faces']), 3)]
    bad += lib.unless([rotated(c) for c in p['corners']] == faces, 'faces')
    for n, uv in enumerate(m['uv']):
        want = [shown(x) for x in uv]
        bad += lib.unless([x for v in p[f'TEXCOORD_{n}'] for x in v] == want, f'texture coordinates {n}')
    bad += lib.unless(f"TEXCOORD_{len(m['uv'])}" not in p, 'too many texture coordinates')
    for i, (n, g) in enumerate(zip(p['NORMAL'], p.get('TANGENT', p['NORMAL']))):
        want = unit(m['normals'][4 * i:4 * i + 3])
        side = unit(m['tangents'][4 * i:4 * i + 3])
        bad += lib.unless(not want or near(n, want, 1e-6), f'normal {i}')
        if 'TANGENT' in p:
            hand = -1 if m['tangents'][4 * i + 3] < 0 else 1
            bad += lib.unless((not side or near(g[:3], side, 1e-6)) and g[3] == hand, f'tangent {i}')
    bad += lib.unless('TANGENT' in p or not p['corners'], 'tangents')
    want = [f32(x / 255) for x in m.get('colours', [])]
    bad += lib.unless([x for v in p.get('COLOR_0', []) for x in v] == want, 'colours')
    for i, pairs in enumerate(m.get('weights', [])):
        if all(j < bones for j, w in pairs):
            bad += lib.unless(influences(p, i) == mapped(pairs), f'weights of vertex {i}: {pairs} {influences(p, i)}')
    bad += lib.unless(('visible' in p['raw'].get('extras', {})) == (not m['record']['visible']), 'hidden')
    return bad


def mod3(t):
    for seed, where in corpus(t, 'mod3', 'mkmod3.py', 'OUT').items():
        to, bad = t.extract(os.path.join(where, 'tree')), []
        for e in json.load(open(os.path.join(where, 'expected.json')))['models']:
            glb = Glb(read(to, e['path'], 'model.glb'))
            bones = e['bones']
            bad += lib.unless(glb.names[:len(bones)] == [f'bone_{i}' for i in range(len(bones))], e['path'] + ': names')
            for i, (have, b) in enumerate(zip(glb.matrices(), bones)):
                want = [int(k == 15) if k % 4 == 3 else x for k, x in enumerate(b['inverse_matrix'])]
                if all(isinstance(x, (int, float)) and math.isfinite(x) for x in want):
                    bad += lib.unless(list(have) == want, f"{e['path']}: inverse matrix {i}")
                kids = glb.doc['nodes'][b['parent']].get('children', []) if b['parent'] is not None else [i]
                bad += lib.unless(i in kids or b['parent'] >= len(bones), f"{e['path']}: parent of bone {i}")
            for n, m in enumerate(e['meshes']):
                bad += [f"{e['path']} mesh {n}: {x}" for x in mod3_mesh(glb, n, m, len(bones))[:2]]
        t.none(bad, f'mod3, seed {seed}: vertices, weights and matrices are those of the file')


# ---------------------------------------------------------------- JOM

PLACE = {0: (0, 0), 1: (1, 0), 2: (1, 1), 3: (0, 1)}


def jom_face(q):
    """The corners that count of a polygon, in the file's order, with their places in the texture; None: no face."""
    kept = [i for i in range(4) if q[i] != q[i - 1]]
    if len(kept) < 3 or (len(kept) == 4 and (q[0] == q[2] or q[1] == q[3])):
        return None
    out = []
    for i in kept:
        both = [k for k in range(4) if q[k] == q[i]]
        out.append((q[i], tuple(sum(PLACE[k][n] for k in both) / len(both) for n in (0, 1))))
    return out


def whole_faces(prim):
    """Triangles back to quads, by their order alone: (a, b, c) (a, c, d) is one."""
    tri, i, out = prim['corners'], 0, []
    while i < len(tri):
        quad = i + 1 < len(tri) and tri[i + 1][0] == tri[i][0] and tri[i + 1][1] == tri[i][2]
        out.append(tri[i] + tri[i + 1][2:] if quad else tri[i])
        i += 1 + quad
    return out


def jom_polygons(e):
    """The polygons of each mesh, as lists of (material, points, places)."""
    grouped = set()
    runs = []
    for g in e['groups'] or []:
        r = range(g['first_polygon'], min(g['first_polygon'] + g['polygon_count'], len(e['polygons'])))
        grouped |= set(r)
        runs.append(list(r))
    rest = [k for k in range(len(e['polygons'])) if k not in grouped]
    return runs + ([rest] if rest or not runs else [])


def turned(p):
    return tuple(f32(x / 65536) for x in (p[0], -p[1], -p[2]))


def jom_mesh(glb, number, e, polygons):
    prims, bad, points = glb.mesh(f'mesh_{number}'), [], e['points']
    want = {}
    for k in polygons:
        *_, a, b, c, d, material = e['polygons'][k]
        face = jom_face((a, b, c, d))
        if face:
            face = face[:1] + face[:0:-1]                          # the front is turned round
            want.setdefault(material, []).append([(turned(points[p]), uv) for p, uv in face])
    drawn = [p for p in prims if p['corners']]
    bad += lib.unless(len(drawn) == len(want), f'{len(drawn)} primitives, {len(want)} materials')
    for p, (material, faces) in zip(prims, want.items()):
        have = [[(p['POSITION'][i], p['TEXCOORD_0'][i]) for i in f] for f in whole_faces(p)]
        bad += lib.unless(have == faces, f'faces of material {material}: {len(have)} {len(faces)}')
        bad += lib.unless(glb.doc['materials'][p['raw']['material']]['name'], 'material')
    return bad


def jom(t):
    for seed, where in corpus(t, 'jom', 'mkjom.py', '--out', 'OUT').items():
        to, bad, quads = t.extract(os.path.join(where, 'files')), [], 0
        for e in json.load(open(os.path.join(where, 'expected.json')))['models']:
            glb = Glb(read(to, e['file'], 'model.glb'))
            for n, polygons in enumerate(jom_polygons(e)):
                bad += [f"{e['file']} mesh {n}: {x}" for x in jom_mesh(glb, n, e, polygons)]
            bones = e['bones'] or []
            for i, (m, b) in enumerate(zip(glb.matrices(), bones)):
                at = [-x for x in turned(b['pivot'])]
                bad += lib.unless(list(m) == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, *at, 1], f"{e['file']}: bone {i}")
                move = glb.doc['nodes'][i].get('translation', [0, 0, 0])
                up = [x - y for x, y in zip(turned(b['pivot']), turned(bones[b['parent']]['pivot'])
                                            if 0 <= b['parent'] < i else (0, 0, 0))]
                bad += lib.unless(near(move, up, 1e-3), f"{e['file']}: place of bone {i}: {move} {up}")
                for g in [b['group']] if b['group'] < len(e['groups'] or []) else []:
                    for p in glb.mesh(f'mesh_{g}'):
                        bad += lib.unless({influences(p, k).popitem()[1] for k in range(len(p['POSITION']))} == {1.0},
                                          f"{e['file']}: mesh {g} hangs on one bone")
            quads += sum(len(f) == 4 for n in range(len(jom_polygons(e))) for p in glb.mesh(f'mesh_{n}')
                         for f in whole_faces(p))
        t.none(bad, f'jom, seed {seed}: points, faces, places in the texture and pivots are those of the file')
        t.ok(quads > 100, f'jom, seed {seed}: the order of the triangles gives {quads} quads back', quads)


# ---------------------------------------------------------------- MHP

def bones_beside(parent, entry):
    name = entry.get('companions', {}).get('skeleton')
    return next((x['truth'] for x in parent['entries'] if x['name'] == name), None) if name else None


def models(parent, path):
    for entry in parent.get('entries', []):
        at = path + [entry['name']]
        if entry.get('type') == 'pmo' and 'truth' in entry and not entry['truth'].get('companion'):
            yield os.path.join(*at), entry['truth'], bones_beside(parent, entry)
        yield from models(entry, at)


def pmo_mesh(glb, number, m, bones):
    prims, bad = glb.mesh(f'mesh_{number}'), []
    drawn = [k for k, g in enumerate(m['groups']) if any(f[0] == k for f in m['faces'])]
    bad += lib.unless(len([p for p in prims if p['corners']]) == len(drawn), f'{len(prims)} primitives')
    for k, p in zip(drawn, prims):
        first, n = m['groups'][k]['first_vertex'], m['groups'][k]['vertices']
        at = first if p['POSITION'][0] == tuple(map(f32, m['v'][first])) else None
        whole = at is not None and len(p['POSITION']) == n
        faces = [rotated(tuple(f[1:])) for f in m['faces'] if f[0] == k]
        # Vertices of other groups may stand before or behind; the corners tell.
        have = [[p['POSITION'][i] for i in rotated(c)] for c in p['corners']]
        want = [[tuple(f32(x) for x in m['v'][i]) for i in f] for f in faces]
        bad += lib.unless(sorted(map(sorted, have)) == sorted(map(sorted, want)), f'group {k}: faces')
        for i in range(n if whole else 0):
            v = first + i
            if p['POSITION'][i] != tuple(map(f32, m['v'][v])):
                bad.append(f'group {k}: vertex {i}')
            if m['uv'][v] and 'TEXCOORD_0' in p and any(p['TEXCOORD_0'][i]):
                bad += lib.unless(p['TEXCOORD_0'][i] == tuple(map(f32, m['uv'][v])), f'group {k}: uv of {i}')
            pairs = [[j, w] for j, w in m['weights'][v] if j is not None] if m.get('weights') else []
            if 'JOINTS_0' in p and pairs and bones and all(j < len(bones['bones']) for j, w in pairs) and \
                    len(pairs) == len(m['weights'][v]) and sum(w for j, w in pairs) > 0:
                have, want = influences(p, i), mapped(pairs)
                same = have.keys() == want.keys() and near(list(have.values()), [want[j] for j in have], 1e-7)
                bad += lib.unless(same, f'group {k}: weights of {i}: {pairs} {have}')
    return bad


def mhp(t):
    for seed, where in corpus(t, 'mhp', 'mkmhp.py', 'OUT', '--what', 'pac').items():
        to, bad, n = t.extract(os.path.join(where, 'pac')), [], 0
        for path, truth, bones in models(json.load(open(os.path.join(where, 'pac.expected.json'))), []):
            glb = Glb(read(to, path, 'model.glb'))
            n += 1
            sums = []
            for i, b in enumerate(bones['bones'] if bones else []):
                up = sums[b['parent']] if b['parent'] is not None else [0, 0, 0]
                sums.append([x + y for x, y in zip(up, b['offset'])])
                tie = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, *[-x for x in sums[i][:3]], 1]
                bad += lib.unless(glb.names[i] == b['name'] and near(glb.matrices()[i], tie, 2e-5), f'{path}: bone {i}')
                move = glb.doc['nodes'][i].get('translation', [0, 0, 0])
                bad += lib.unless([f32(x) for x in move] == [f32(x) for x in b['offset'][:3]], f'{path}: offset {i}')
            for k, m in enumerate(truth['meshes']):
                bad += [f'{path} mesh {k}: {x}' for x in pmo_mesh(glb, k, m, bones)[:2]]
        t.none(bad, f'mhp, seed {seed}: positions, weights and bones of {n} models are those of the file')


# ---------------------------------------------------------------- other programs

VALIDATE = r'''
const validator = require('gltf-validator'), fs = require('fs');
(async () => {
  for (const f of JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))) {
    const r = await validator.validateBytes(new Uint8Array(fs.readFileSync(f)), {maxIssues: 50});
    const bad = r.issues.messages.filter(m => m.severity < 2);
    if (r.issues.numErrors || r.issues.numWarnings)
      console.log(f, r.issues.numErrors, 'errors', r.issues.numWarnings, 'warnings', JSON.stringify(bad[0]));
  }
  console.log('done');
})();
'''


def all_models(t):
    """Every GLB of the corpora and samples, extracted, damaged models too."""
    sources = []
    for where in corpus(t, 'mod3', 'mkmod3.py', 'OUT').values():
        sources += [os.path.join(where, n) for n in ('tree', 'bad')]
    for where in corpus(t, 'jom', 'mkjom.py', '--out', 'OUT').values():
        sources += [os.path.join(where, n) for n in ('files', 'bad')]
    for where in corpus(t, 'mhp', 'mkmhp.py', 'OUT').values():
        sources += [os.path.join(where, n) for n in ('pac', 'single', 'bad')]
        sources += [os.path.join(where, n, 'DATA.BIN') for n in ('mhp2g', 'mhp3rd', 'mhfu', 'mhf2')]
    for where in corpus(t, 'ps3', 'mkquartet.py', '--out', 'OUT').values():
        sources += [os.path.join(where, n) for n in ('files', 'bad')]
    samples = os.path.join(lib.SHARED, 'samples')
    sources += [os.path.join(samples, n) for n in ('mod3', 'mhp')] if os.path.isdir(samples) else []
    out = []
    for s in sources:
        to = os.path.join(t.dir('extract'), 'x')
        run('extract', s, to)                              # damaged ones make it say so
        out += [os.path.join(to, p) for p in lib.files(to) if p.endswith('model.glb')]
    return out


def valid(t):
    lib.need('node')
    code, _ = lib.other('node', '-e', "require('gltf-validator')")
    if code:
        raise lib.Skip('node does not find gltf-validator')
    files = all_models(t)
    script, job = t.file('validate.js', VALIDATE.encode()), t.file('job.json', json.dumps(files).encode())
    code, said = lib.other('node', script, job, limit=lib.LIMIT * 5,
                           env={**os.environ, 'NODE_PATH': os.environ.get('NODE_PATH', '')})
    lines = said.splitlines()
    t.ok(lines and lines[-1] == 'done' and not code, 'the validator ran', said[-400:])
    t.none(lines[:-1], f'the validator has no errors or warnings for {len(files)} files')
    t.ok(len(files) > 500, 'all corpora', len(files))


BLENDER = r'''
import bpy, json, sys, numpy
numpy.bool = bool                                  # the importer of this Blender was written for an older numpy
result = []
for path in json.load(open(sys.argv[-1])):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        bpy.ops.import_scene.gltf(filepath=path)
        meshes = [o for o in bpy.data.objects if o.type == 'MESH']
        bones = [b.name for o in bpy.data.objects if o.type == 'ARMATURE' for b in o.data.bones]
        result.append([sum(len(o.data.vertices) for o in meshes), sum(len(o.data.polygons) for o in meshes),
                       sorted(bones), len(bpy.data.images)])
    except Exception as e:
        result.append(repr(e))
json.dump(result, open(sys.argv[-1] + '.out', 'w'))
'''


def used(glb):
    """Vertices of faces, faces, names of bones."""
    prims = [p for m in glb.doc.get('meshes', []) for p in glb.mesh(m['name']) if p['corners']]
    joints = glb.doc['skins'][0]['joints'] if 'skins' in glb.doc else []
    return [sum(len({i for c in p['corners'] for i in c}) for p in prims), sum(len(p['corners']) for p in prims),
            sorted(glb.names[j] for j in joints)]


def some_models(t):
    """Of the samples, and a few of the corpora: for programs that take a second for each."""
    out = []
    samples = os.path.join(lib.SHARED, 'samples')
    for n in ('mod3', 'mhp') if os.path.isdir(samples) else ():
        to = t.extract(os.path.join(samples, n))
        out += [os.path.join(to, p) for p in lib.files(to) if p.endswith('model.glb')]
    to = t.extract(os.path.join(corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[1], 'files'))
    out += [os.path.join(to, n, 'model.glb') for n in ('ALL.JOM', 'SKEL4.JOM', 'CUBE.JOM', 'CORNERS.JOM')]
    to = t.extract(t.demo)
    return out + [os.path.join(to, p) for p in lib.files(to) if p.endswith('model.glb')]


def blender(t):
    lib.need('blender')
    files = some_models(t)
    bad = []
    for path, have in zip(files, lib.blender(t, BLENDER, files)):
        glb = Glb(read(path))
        want = used(glb)
        bad += lib.unless(have == want + [len(glb.doc.get('images', []))], f'{path}: {have}, expected {want}')
    t.none(bad, f'Blender reads vertices, faces, bones and pictures of {len(files)} models')


def assimp(t):
    lib.need('assimp')
    bad, files = [], some_models(t)
    for path in files:
        glb = Glb(read(path))
        prims = [p for m in glb.doc.get('meshes', []) for p in glb.mesh(m['name'])]
        vertices, faces = sum(len(p['POSITION']) for p in prims), sum(len(p['corners']) for p in prims)
        code, said = lib.other('assimp', 'info', path, '-r')
        have = {k: int(v) for k, v in re.findall(r'^(Vertices|Faces):\s+(\d+)', said, re.M)}
        if not glb.doc.get('meshes'):
            continue
        bad += lib.unless(have.get('Faces') == faces and have.get('Vertices', 0) == vertices,
                          f'{path}: {have or said[-200:]}, expected {vertices} {faces}')
    t.none(bad, f'assimp reads vertices and faces of {len(files)} models')


# ---------------------------------------------------------------- sizes

def looked_at(t):
    """The size is told without making it; names and listings cost nothing."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    model = os.path.join(t.kit, '00.pmo')
    with Mount(t, t.demo, 'ro', 'stats') as m:
        lib.files(m.point)
    t.ok(m.rendered() == 0, 'listing everything makes nothing', m.rendered())
    with Mount(t, t.demo, 'ro', 'stats') as m:
        size = os.stat(os.path.join(m.point, model, 'model.glb')).st_size
    pictures = len(Glb(read(t.tree, model, 'model.glb')).doc.get('images', []))
    t.ok(m.rendered() == pictures, f'its size makes its {pictures} pictures only', m.rendered())
    t.same(size, len(read(t.tree, model, 'model.glb')), 'and is the one of its bytes')
    bad = []
    with Mount(t, t.demo, 'ro') as m:
        for p in lib.files(m.point):
            if p.endswith('model.glb'):
                stat, b = os.stat(os.path.join(m.point, p)).st_size, read(m.point, p)
                bad += lib.unless(stat == len(b) and b == read(t.tree, p), p)
    t.none(bad, 'each has the size it told, mounted and extracted alike')


def edited(t):
    """It follows what it was made from: mesh, skeleton, picture, material."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    archive = t.file('DATA.BIN', read(t.demo))
    with Mount(t, archive) as m:
        at = os.path.join(m.point, t.kit)
        glb, before = os.path.join(at, '00.pmo', 'model.glb'), read(at, '00.pmo', 'model.glb')

        def change(path, old, new, what):
            nonlocal before
            text = read(at, path)
            with open(os.path.join(at, path), 'wb') as f:
                f.write(re.sub(old, new, text, count=1))
            after = read(glb)
            t.ok(after != before and os.stat(glb).st_size == len(after), what)
            before = after

        change('00.pmo/materials.yaml', rb'colour: \[.*\]', b'colour: [1, 2, 3, 255]', 'a material')
        factor = Glb(before).doc['materials'][0]['pbrMetallicRoughness']['baseColorFactor']
        t.ok(near(factor, [1 / 255, 2 / 255, 3 / 255, 1], 1e-7), 'as it was written', factor)
        change('01.ahi/skeleton.yaml', rb'offset: \[[^,]*,', b'offset: [7.5,', 'a bone of the skeleton beside it')
        t.ok(Glb(before).doc['nodes'][0]['translation'][0] == 7.5, 'where it was put')
        change('00.pmo/meshes/0.yaml', rb'visible: true', b'visible: false', 'a hidden mesh')
        doc = Glb(before).doc
        t.ok(doc['meshes'][0]['extras'] == {'visible': False} and
             all(p['extras'] == {'visible': False} and 'indices' in p for p in doc['meshes'][0]['primitives']),
             'is marked, and has its faces')


if __name__ == '__main__':
    lib.main(mod3, jom, mhp, valid, blender, assimp, looked_at, edited)
