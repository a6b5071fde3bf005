"""model.glb written over the view: as it was shown it changes no byte; an edited number is, for the corpus' own
readers, that number and nothing else; what cannot be is refused whole; all of a save is one commit; and Blender there
and back changes nothing, or the vertex that was moved."""
import json
import os
import random
import shutil
import struct
import sys
import zlib

import lib
from gltf import FORMATS, SHAPES, Glb, corpus, near
from lib import Mount, read, run

SEED = lib.CORPUS_SEEDS[0]


class Edit(Glb):
    """A GLB whose numbers and names can be changed."""

    def __init__(self, b):
        super().__init__(b)
        self.bin = bytearray(self.bin)

    def place(self, accessor, row):
        a = self.doc['accessors'][accessor]
        code, n = FORMATS[a['componentType']], SHAPES[a['type']]
        at = self.doc['bufferViews'][a['bufferView']]['byteOffset'] + row * n * struct.calcsize(code)
        return f'<{n}{code}', at

    def get(self, accessor, row):
        code, at = self.place(accessor, row)
        return list(struct.unpack_from(code, self.bin, at))

    def set(self, accessor, row, values):
        code, at = self.place(accessor, row)
        struct.pack_into(code, self.bin, at, *values)

    def add(self, data):
        """A new buffer view; its number."""
        self.bin += bytes(-len(self.bin) % 4)
        self.doc['bufferViews'].append({'buffer': 0, 'byteOffset': len(self.bin), 'byteLength': len(data)})
        self.bin += data
        self.doc['buffers'][0]['byteLength'] = len(self.bin)
        return len(self.doc['bufferViews']) - 1

    def primitive(self, mesh=0, part=0):
        return self.doc['meshes'][mesh]['primitives'][part]

    def node(self, name):
        return next(n for n in self.doc['nodes'] if n.get('name') == name)

    def bytes(self):
        text = json.dumps(self.doc, separators=(',', ':')).encode()
        text += b' ' * (-len(text) % 4)
        data = bytes(self.bin) + bytes(-len(self.bin) % 4)
        out = struct.pack('<I4s', len(text), b'JSON') + text + struct.pack('<I4s', len(data), b'BIN\0') + data
        return b'glTF' + struct.pack('<2I', 2, 12 + len(out)) + out


def copy(t, source):
    to = os.path.join(t.dir('copy'), os.path.basename(source))
    (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, to)
    return to


def state(source):
    """The bytes of a source, without what modelfs keeps beside it."""
    if os.path.isfile(source):
        return {'': read(source)}
    return {p: read(source, p) for p in lib.files(source) if not os.path.basename(p).startswith('.')}


def glbs(t, source):
    to = t.dir('extract') + '/x'
    run('extract', source, to)
    return to, sorted(p for p in lib.files(to) if p.endswith('model.glb'))


def put(t, source, path, glb, *options):
    return run('put', *options, source, path, t.file('model.glb', glb if isinstance(glb, bytes) else glb.bytes()))


def sources(t):
    mod3, jom = (corpus(t, 'mod3', 'mkmod3.py', 'OUT')[SEED], corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[SEED])
    mhp = corpus(t, 'mhp', 'mkmhp.py', 'OUT', '--what', 'pac')[SEED]
    out = [os.path.join(mod3, 'tree'), os.path.join(jom, 'files'), os.path.join(mhp, 'pac'), t.demo]
    ps3 = os.path.join(lib.SHARED, 'corpus', 'ps3', 'files')
    out += [ps3] if os.path.isdir(ps3) else []
    samples = os.path.join(lib.SHARED, 'samples')
    return out + [os.path.join(samples, n) for n in ('mod3', 'mhp') if os.path.isdir(os.path.join(samples, n))]


# ---------------------------------------------------------------- as it was shown

def unchanged(t):
    for source in sources(t):
        here = copy(t, source)
        before, bad = state(here), []
        to, paths = glbs(t, here)
        for p in paths:
            r = run('put', here, p, os.path.join(to, p))
            bad += lib.unless(not r.returncode, f'{p}: {r.stderr[-200:]}')
        t.none(bad, f'{len(paths)} models of {os.path.basename(source)} take what they show')
        t.ok(state(here) == before, 'and no byte is another one')


# ---------------------------------------------------------------- one number

def differences(a, b, at=()):
    """Paths of keys and numbers to what differs."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [d for k in {**a, **b} for d in differences(a.get(k), b.get(k), at + (k,))]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, at + (i,))]
    return [] if a == b or (a != a and b != b) else [at]


def script(family, name):
    folder = os.path.join(lib.SHARED, 'corpus', family)
    if not os.path.isdir(folder):
        raise lib.Skip(f'no corpus {family} beside the source')
    sys.path.append(folder)
    return __import__(name)


def edited(t, source, path, change, options=()):
    """A copy of source in which change(edit) was saved: its bytes by file before and after."""
    here = copy(t, source)
    before = state(here)
    glb = Edit(run('cat', here, path).stdout)
    change(glb)
    r = put(t, here, path, glb, *options)
    t.ok(not r.returncode, f'{path}: saved', r.stderr[-300:])
    return before, state(here), here


def mod3(t):
    reader = script('mod3', 'readmod3')
    tree = os.path.join(corpus(t, 'mod3', 'mkmod3.py', 'OUT')[SEED], 'tree')
    path = 'nativePC/em/em900/00/mod/em900_00.mod3'

    def one(what, change, allowed, check):
        before, after, _ = edited(t, tree, path + '/model.glb', change)
        was, now = reader.read_mod3(before[path]), reader.read_mod3(after[path])
        keys = {d[2] if d[0] == 'meshes' else d[0] + '.' + str(d[1]) if d[0] == 'header' else d[0]
                for d in differences(was, now) if d[0] != 'sha256'}
        t.ok(keys <= allowed and check(was, now), f'mod3: {what}', sorted(keys))
        t.ok(all(after[k] == before[k] for k in before if k != path), 'and no other file changes')

    bounds = {'header.' + k for k in ('sphere_centre', 'sphere_radius', 'aabb_min', 'aabb_max')} | {'envelopes'}

    def position(g):
        g.set(g.primitive()['attributes']['POSITION'], 2, [1.5, -2.25, 3])
    one('a position', position, bounds | {'positions'},
        lambda was, now: now['meshes'][0]['positions'][6:9] == [1.5, -2.25, 3] and
        now['meshes'][0]['positions'][9:] == was['meshes'][0]['positions'][9:])

    def uv(g):
        g.set(g.primitive()['attributes']['TEXCOORD_0'], 3, [0.25, 0.75])
    one('a texture coordinate', uv, {'uv', 'vt'}, lambda was, now: now['meshes'][0]['uv'][0][6:8] == [0.25, 0.75])

    def weights(g):
        a = g.primitive()['attributes']
        g.set(a['JOINTS_0'], 1, [1, 0, 0, 0])
        g.set(a['WEIGHTS_0'], 1, [1, 0, 0, 0])
    one('weights', weights, {'weights', 'envelopes', 'record'},
        lambda was, now: dict((b, w) for b, w in now['meshes'][0]['weights'][1] if w) == {1: 1.0} or
        dict((b, w) for b, w in now['meshes'][0]['weights'][1] if w) == {1: 1023})

    def bone(g):
        g.node('bone_2')['translation'] = [1, 2, 3]
    one('a bone', bone, {'bones', 'envelopes'},
        lambda was, now: now['bones'][2]['position'] == [1, 2, 3] and
        now['bones'][2]['local_matrix'][12:15] == [1, 2, 3] and
        all(now['bones'][i]['local_matrix'] == was['bones'][i]['local_matrix'] for i in (0, 1, 3, 4)))


def move(g, at, by):
    """All vertices of the file at one place: they are one point."""
    for m in g.doc['meshes']:
        for p in m['primitives']:
            a = p['attributes']['POSITION']
            for i in range(g.doc['accessors'][a]['count']):
                if g.get(a, i) == at:
                    g.set(a, i, [x + y for x, y in zip(at, by)])


def jom(t):
    reader = script('jom', 'readjom')
    files = os.path.join(corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[SEED], 'files')

    def one(what, name, change, allowed, check):
        before, after, _ = edited(t, files, name + '/model.glb', change)
        was, now = reader.read(before[name]), reader.read(after[name])
        keys = {d[0] for d in differences(was, now) if d[0] != 'warn'}
        t.ok(keys <= allowed and check(was, now), f'jom: {what}', sorted(keys))

    def point(g):
        move(g, g.get(g.primitive()['attributes']['POSITION'], 0), [0.5, -0.25, 0])

    def moved(was, now):
        other = [(a, b) for a, b in zip(was['points'], now['points']) if a != b]
        return len(was['points']) == len(now['points']) and len(other) == 1 and \
            [y - x for x, y in zip(*other[0])] == [32768, 16384, 0]
    one('a point, y turned round', 'CUBE.JOM', point, {'points', 'polygons', 'sphere_centre', 'sphere_radius'}, moved)

    def pivot(g):
        n = g.node('bone1')
        n['translation'] = [n['translation'][0] + 1, n['translation'][1], n['translation'][2]]
    one('a pivot, with what hangs on it', 'SKEL4.JOM', pivot, {'bones'},
        lambda was, now: [b['pivot'][0] - a['pivot'][0] for a, b in zip(was['bones'], now['bones'])] ==
        [0, 65536, 65536, 0] and all(a['pivot'][1:] == b['pivot'][1:] for a, b in zip(was['bones'], now['bones'])))

    def turned(g):
        g.node('bone1')['rotation'] = [0, 0, 0.6, 0.8]
    here = copy(t, files)
    glb = Edit(run('cat', here, 'SKEL4.JOM/model.glb').stdout)
    turned(glb)
    r = put(t, here, 'SKEL4.JOM/model.glb', glb)
    t.ok(r.returncode == 1 and 'bone bone1 is turned' in r.stderr, 'a bone that cannot be turned is refused by name',
         r.stderr)


def png(w, h, rgba):
    def chunk(tag, data):
        return struct.pack('>I', len(data)) + tag + data + struct.pack('>I', zlib.crc32(tag + data))
    rows = b''.join(b'\0' + bytes(rgba) * w for _ in range(h))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>2I5B', w, h, 8, 6, 0, 0, 0)) + \
        chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def repaint(g, image, rgba):
    view = g.doc['bufferViews'][g.doc['images'][image]['bufferView']]
    w, h = struct.unpack_from('>2I', g.bin, view['byteOffset'] + 16)
    g.doc['images'][image]['bufferView'] = g.add(png(w, h, rgba))


def mhp(t):
    """Mesh, skeleton and picture lie in three entries of a PAC, and change in one commit."""
    reader = script('mhp', 'readmhp')
    samples = os.path.join(lib.SHARED, 'samples', 'mhp')
    if not os.path.isdir(samples):
        raise lib.Skip('no samples')
    pac = os.path.join(samples, 'f_hair000_original.pac')
    kinds = [e['type'] for e in reader.facts('x', read(pac))['entries']]

    def change(g):
        a = g.primitive()['attributes']
        g.set(a['TEXCOORD_0'], 0, [0.5, 0.25])
        g.node('bone_0')['translation'] = [1, 2, 3]
        repaint(g, 0, [255, 0, 0, 255])
    before, after, here = edited(t, pac, f'{kinds.index("pmo"):02}.pmo/model.glb', change)
    was, now = (reader.facts('x', s[''])['entries'] for s in (before, after))
    found = {w['type']: {d[1] if d[0] == 'truth' else d[0] for d in differences(w, n) if d[0] != 'sha256'}
             for w, n in zip(was, now)}
    t.ok({k for k, v in found.items() if v} == {'pmo', 'ahi', 'tmh'}, 'mesh, skeleton and picture changed', found)
    t.ok(found['pmo'] == {'meshes'} and found['ahi'] == {'bones'}, 'and of them what was edited', found)
    bones = next(n for n in now if n['type'] == 'ahi')['truth']['bones']
    t.same(bones[0]['offset'][:3], [1, 2, 3], 'the bone lies where it was put')
    pmo = [next(x for x in e if x['type'] == 'pmo')['truth'] for e in (was, now)]
    keys = {d[3] if len(d) > 3 and isinstance(d[2], int) else d for d in [('x',) + d for d in differences(*pmo)]}
    t.ok(keys <= {'uv', 'vt'}, 'of the mesh only texture coordinates', keys)
    t.same(run('log', here).stdout.count(b'model.glb'), 1, 'as one commit')
    run('undo', here)
    t.ok(state(here) == before, 'which undo takes back')


def two_files(t):
    """A picture that lies in a file of its own changes together with the mesh."""
    reader = script('jom', 'readjom')
    files = os.path.join(corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[SEED], 'files')

    def change(g):
        move(g, g.get(g.primitive()['attributes']['POSITION'], 0), [0.5, -0.25, 0])
        repaint(g, 0, [255, 0, 0, 255])
    before, after, here = edited(t, files, 'LOOSE.JOM/model.glb', change)
    other = {k for k in before if before[k] != after[k]}
    t.ok(len(other) == 2 and 'LOOSE.JOM' in other, 'two files change', other)
    was, now = (reader.read(s['LOOSE.JOM']) for s in (before, after))
    t.ok({d[0] for d in differences(was, now)} <= {'points', 'polygons', 'sphere_centre', 'sphere_radius'},
         'the mesh where it was moved')
    t.same(run('log', here).stdout.count(b'model.glb'), 1, 'as one commit')
    run('undo', here)
    t.ok(state(here) == before, 'which undo takes back')

    def too_far(g):
        change(g)
        g.set(g.primitive()['attributes']['POSITION'], 1, [40000, 0, 0])
    glb = Edit(run('cat', here, 'LOOSE.JOM/model.glb').stdout)
    too_far(glb)
    r = put(t, here, 'LOOSE.JOM/model.glb', glb, '-g')
    t.ok(r.returncode == 1 and '40000.0 is outside' in r.stderr and state(here) == before,
         'and a mesh that cannot be leaves the picture alone', r.stderr[-300:])


def lone(t):
    """A source that is one file, with others of the model beside it: what lies in them changes in the same commit."""
    reader, maker = script('mhp', 'readmhp'), script('mhp', 'mkmhp')
    rng = random.Random(7)
    model = maker.pmo_node(maker.new_model(rng, '102', [2], 4, 1, companion=True))
    parts = {'m.pmo': model.data, 'm.geo': model.companion, 'm.tmh': maker.bank(rng, 1).data,
             'm.ahi': maker.write_skeleton(maker.new_skeleton(rng, 'mhp3rd', 4))}

    def facts(folder):
        b = {k: v for k, v in state(folder).items() if k in parts}
        return b, {'m.pmo': reader.pmo(b['m.pmo'], b['m.geo']), 'm.ahi': reader.ahi(b['m.ahi']),
                   'm.tmh': reader.tmh(b['m.tmh'])}

    def all_of_it(g):
        p = g.primitive()
        g.set(p['attributes']['TEXCOORD_0'], 0, [0.5, 0.25])
        g.doc['nodes'][0]['translation'] = [1, 2, 3]
        repaint(g, 0, [255, 0, 0, 255])

    def more_triangles(g):
        all_of_it(g)
        p = g.primitive()
        a = g.doc['accessors'][p['indices']]
        old = [g.get(p['indices'], i)[0] for i in range(a['count'])]
        new = old + [i for k in range(0, len(old), 3) for i in (old[k], old[k + 2], old[k + 1])]
        view = g.add(struct.pack(f'<{len(new)}{FORMATS[a["componentType"]]}', *new))
        g.doc['accessors'].append(dict(a, bufferView=view, byteOffset=0, count=len(new)))
        p['indices'] = len(g.doc['accessors']) - 1

    for what, change, files in (('numbers', all_of_it, {'m.geo', 'm.ahi', 'm.tmh'}),
                                ('triangles', more_triangles, set(parts))):
        folder = t.dir(what)
        for name, b in parts.items():
            t.file(f'{folder}/{name}', b)
        here = os.path.join(folder, 'm.pmo')
        before, was = facts(folder)
        glb = Edit(run('cat', here, 'model.glb').stdout)
        change(glb)
        r = put(t, here, 'model.glb', glb, '-g')
        after, now = facts(folder)
        t.ok(not r.returncode, f'{what} of a lone file: saved', r.stderr[-300:])
        t.same({k for k in parts if before[k] != after[k]}, files, 'and those files changed')
        t.same(now['m.ahi']['bones'][0]['offset'][:3], [1, 2, 3], 'the bone lies where it was put')
        faces = [sum(len(x['faces']) for x in v['m.pmo']['meshes']) for v in (was, now)]
        t.ok(faces[1] > faces[0] if what == 'triangles' else faces[1] == faces[0], 'the mesh has its triangles', faces)
        t.same(run('log', here).stdout.count(b'model.glb'), 1, 'as one commit')
        t.same(sorted(n for n in os.listdir(folder) if n not in parts), ['m.pmo.modelfs-undo'], 'of the lone file')
        run('undo', here)
        t.ok(facts(folder)[0] == before, 'which undo takes back in all of them')
        t.same(sorted(os.listdir(folder)), sorted(parts), 'and leaves nothing')


# ---------------------------------------------------------------- refusals

def refused(t):
    archive = t.file('DATA.BIN', read(t.demo))
    path, before = os.path.join(t.kit, '00.pmo', 'model.glb'), read(archive)
    shown = run('cat', archive, path).stdout

    def one(what, said, change):
        g = Edit(shown)
        change(g)
        r = put(t, archive, path, g)
        t.ok(r.returncode == 1 and said in r.stderr, f'refused: {what}', r.stderr[-300:])

    def rename(g, **names):
        for n in g.doc['nodes'] + g.doc['meshes']:
            n['name'] = names.get(n.get('name'), n.get('name'))
    one('a mesh of another name', 'mesh "Cube" is none of the model\'s: mesh_0', lambda g: rename(g, mesh_0='Cube'))

    def twice(g):
        g.doc['nodes'].append({**g.node('mesh_0'), 'name': 'mesh_0.001'})
    one('a mesh that is there twice', 'mesh mesh_0 is there twice, as "mesh_0" and as "mesh_0.001"', twice)
    one('a bone of another name', 'and the skeleton has no bone of that name', lambda g: rename(g, bone_0='Hand'))

    def far(g):
        g.set(g.primitive()['attributes']['POSITION'], 0, [1e6, 0, 0])
    one('a vertex that is too far away', 'mesh_0: vertex 0: x 1000000.0 is outside', far)

    def outside(g):
        g.doc['images'][0] = {'uri': 'a.png'}
    one('a picture in a file of its own', 'image 0 lies in a file of its own', outside)

    def small(g):
        g.doc['images'][0]['bufferView'] = g.add(png(3, 5, [0, 0, 0, 255]))
    one('a picture of another size', 'texture_', small)

    def both(g):
        g.set(g.primitive()['attributes']['POSITION'], 0, [1, 1, 1])
        small(g)
    one('a sound mesh with a picture that is not', 'texture_', both)

    def hang(g):
        g.doc['nodes'][0]['translation'] = [1, 'a', 2]
    one('a number that is none', 'translation is no list of 3 numbers', hang)
    r = put(t, archive, path, shown[:-5])
    t.ok(r.returncode == 1 and 'it was cut off' in r.stderr, 'refused: a file that was cut off', r.stderr[-200:])
    t.ok(read(archive) == before, 'and nothing of it is stored')

    renamed = Edit(shown)
    rename(renamed, mesh_0='mesh_0.001', bone_0='bone_0.001')
    r = put(t, archive, path, renamed)
    t.ok(not r.returncode and read(archive) == before, 'names with .001 behind them are the same', r.stderr[-200:])
    missing = Edit(shown)
    missing.doc['scenes'][0]['nodes'] = []
    missing.doc['nodes'] = [n for n in missing.doc['nodes'] if 'mesh' not in n]
    r = put(t, archive, path, missing)
    t.ok(not r.returncode and read(archive) == before, 'a mesh that is missing is left alone', r.stderr[-200:])


def mounted(t):
    """Through the mount: what was refused stays beside it, what was not is what is read."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    archive = t.file('DATA.BIN', read(t.demo))
    before = read(archive)
    with Mount(t, archive) as m:
        at = os.path.join(m.point, t.kit, '00.pmo')
        path = os.path.join(at, 'model.glb')
        good, bad = Edit(read(path)), Edit(read(path))
        vertex = good.get(good.primitive()['attributes']['TEXCOORD_0'], 0)
        good.set(good.primitive()['attributes']['TEXCOORD_0'], 0, [0.5, 0.25])
        bad.doc['nodes'] = [{**n, 'name': 'x'} for n in bad.doc['nodes']]
        bad.doc['meshes'] = [{**n, 'name': 'x'} for n in bad.doc['meshes']]
        try:
            with open(path, 'wb') as f:
                f.write(bad.bytes())
            t.ok(False, 'closing it fails')
        except OSError:
            t.ok(True, 'closing it fails')
        t.ok(read(path + '.rejected') == bad.bytes(), 'what was refused stays beside it')
        t.ok(b'model.glb: mesh "x"' in read(at, 'errors.txt'), 'and errors.txt says why', read(at, 'errors.txt')[:200])
        with open(path, 'wb') as f:
            f.write(good.bytes())
        now = Edit(read(path))
        t.ok(now.get(now.primitive()['attributes']['TEXCOORD_0'], 0) == [0.5, 0.25] != vertex, 'an edit is read back')
        t.ok(os.stat(path).st_size == len(read(path)), 'with its size')
        t.ok(not os.path.exists(path + '.rejected') and not os.path.exists(os.path.join(at, 'errors.txt')),
             'and what was refused is gone')
    t.ok(read(archive) != before, 'the edit is stored')
    t.ok(not run('undo', archive).returncode and read(archive) == before, 'undo takes it back')


# ---------------------------------------------------------------- Blender

SCRIPT = r'''
import bpy, json, sys, numpy
numpy.bool = bool                                  # the importer of this Blender was written for an older numpy
result = []
for source, to, move in json.load(open(sys.argv[-1])):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    moved = None
    try:
        bpy.ops.import_scene.gltf(filepath=source)
        meshes = sorted((o for o in bpy.data.objects if o.type == 'MESH' and o.data.polygons), key=lambda o: o.name)
        if move and meshes:
            mesh = meshes[0].data
            used = sorted({v for p in mesh.polygons for v in p.vertices})
            v = mesh.vertices[used[len(used) // 2]]
            moved = [meshes[0].name, v.co.x, v.co.z, -v.co.y]
            v.co.x *= 0.75
        bpy.ops.export_scene.gltf(filepath=to, export_format='GLB')
        result.append([None, moved])
    except Exception as e:
        result.append([repr(e), moved])
json.dump(result, open(sys.argv[-1] + '.out', 'w'))
'''


def trip(t, files, move):
    """Where Blender wrote each of the files, and which vertex it moved."""
    out = t.dir('blender')
    job = [[p, os.path.join(out, f'{i}.glb'), move] for i, p in enumerate(files)]
    result = lib.blender(t, SCRIPT, job)
    return [(j[1], moved) if not error else (error, None) for j, (error, moved) in zip(job, result)]


def has_mesh(path):
    return bool(Glb(read(path)).doc.get('meshes'))


def blender(t):
    """There and back: nothing changes."""
    lib.need('blender')
    for source in sources(t):
        here = copy(t, source)
        before, bad = state(here), []
        to, paths = glbs(t, here)
        paths = [p for p in paths if has_mesh(os.path.join(to, p))]
        paths = paths[::len(paths) // 20 + 1]              # it takes its time
        for p, (back, _) in zip(paths, trip(t, [os.path.join(to, p) for p in paths], False)):
            r = run('put', here, p, back) if os.path.exists(back) else None
            bad += lib.unless(r and not r.returncode, f'{p}: {r.stderr[-200:] if r else back}')
            now = state(here)
            bad += lib.unless(now == before, f'{p}: bytes changed')
            before = now
        t.none(bad, f'Blender there and back, {len(paths)} models of {os.path.basename(source)}')


def rows_of(glb, what):
    return {(m['name'], k): [tuple(r) for r in glb.rows(p['attributes'][what])]
            for m in glb.doc.get('meshes', []) for k, p in enumerate(m['primitives']) if what in p['attributes']}


def blender_moved(t):
    """One vertex moved: it alone lies elsewhere; normals around it may turn, and nothing else."""
    lib.need('blender')
    samples = os.path.join(lib.SHARED, 'samples')
    for source in [t.demo] + [os.path.join(samples, 'mod3') for _ in '1' if os.path.isdir(samples)]:
        here = copy(t, source)
        to, paths = glbs(t, here)
        bad, n = [], 0
        for p, (back, moved) in zip(paths, trip(t, [os.path.join(to, p) for p in paths], True)):
            r = run('put', here, p, back) if os.path.exists(back) else None
            if not r or r.returncode:
                bad.append(f'{p}: {r.stderr[-200:] if r else back}')
                continue
            was, now = Glb(read(to, p)), Glb(run('cat', here, p).stdout)
            other = [(k, i, a, b) for k, v in rows_of(was, 'POSITION').items()
                     for i, (a, b) in enumerate(zip(v, rows_of(now, 'POSITION')[k])) if a != b]
            n += len(other)
            bad += lib.unless(len(other) <= 1 and all(near(a, moved[1:], 1e-3) for _, _, a, _ in other),
                              f'{p}: {other[:3]}')
            same = [k for k in ('TEXCOORD_0', 'TEXCOORD_1', 'COLOR_0', 'JOINTS_0', 'WEIGHTS_0', 'TANGENT')
                    if rows_of(was, k) != rows_of(now, k)]
            bad += lib.unless(not same and was.matrices() == now.matrices(), f'{p}: {same}')
        t.none(bad, f'one vertex moved in Blender, {len(paths)} models of {os.path.basename(source)}')
        t.ok(n, 'and it is where it was put', n)


if __name__ == '__main__':
    lib.main(unchanged, mod3, jom, mhp, two_files, lone, refused, mounted, blender, blender_moved)
