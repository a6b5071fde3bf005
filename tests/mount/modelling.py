"""What people do to a model in Blender, saved over the view, is what the corpus' own readers find in the file: faces
pulled out, deleted, cut, added; bones moved in edit mode; keys of animations moved, and animations that came back
unedited. What a format cannot hold is refused, by name and number.
"""
import json
import math
import os
import random

import anim
import gltf
import lib
from gltf import Glb
from glbput import SEED, copy, corpus, differences, script, state
from lib import read, run

gltf.SEEDS = [SEED]
HEAD = r'''
import bpy, bmesh, json, sys, numpy
from mathutils import Matrix, Vector
numpy.bool = bool                                  # the importer of this Blender was written for an older numpy

def begin(path, fps=30):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = fps
    bpy.ops.import_scene.gltf(filepath=path)

def edit(o):
    bpy.context.view_layer.objects.active = o
    bpy.ops.object.mode_set(mode='EDIT')

def end(path):
    if bpy.context.object:
        bpy.ops.object.mode_set(mode='OBJECT')
    bpy.ops.export_scene.gltf(filepath=path, export_format='GLB', export_frame_range=False)
'''


def inputs(t, jobs):
    """A folder with a file for each (source, path, options) and one to write for each."""
    to, out = t.dir('blender'), []
    for k, (source, path, options) in enumerate(jobs):
        r = run('cat', *options, source, path)
        if r.returncode:
            raise RuntimeError(f'{path}: {r.stderr}')
        with open(os.path.join(to, f'{k}.in.glb'), 'wb') as f:
            f.write(r.stdout)
        out.append((os.path.join(to, f'{k}.in.glb'), os.path.join(to, f'{k}.glb')))
    return out


# ---------------------------------------------------------------- topology

TOPOLOGY = HEAD + r'''
def change(bm, how):
    bm.faces.ensure_lookup_table()
    f = bm.faces[len(bm.faces) // 2]
    if how == 'pull out':
        by = f.normal * max((v.co - f.calc_center_median()).length for v in f.verts) / 4
        for v in bmesh.ops.extrude_discrete_faces(bm, faces=[f])['faces'][0].verts:
            v.co -= by                             # inwards: there is room
    elif how == 'delete':
        bmesh.ops.delete(bm, geom=[f], context='FACES')
    elif how == 'cut':
        bmesh.ops.subdivide_edges(bm, edges=f.edges[:], cuts=1, use_grid_fill=True)
    elif how == 'add':
        at = Matrix.Translation(f.calc_center_median())
        bmesh.ops.create_cube(bm, size=f.calc_perimeter() / 40, matrix=at)
    else:
        bmesh.ops.subdivide_edges(bm, edges=bm.edges[:], cuts=4, use_grid_fill=True)

for source, to, name, how in json.load(open(sys.argv[-1])):
    begin(source)
    o = bpy.data.objects[name]
    edit(o)
    bm = bmesh.from_edit_mesh(o.data)
    change(bm, how)
    bmesh.update_edit_mesh(o.data)
    end(to)
json.dump([], open(sys.argv[-1] + '.out', 'w'))
'''


def triangles(points, corners):
    return [tuple(points[i] for i in c) for c in corners]


def threes(v):
    return [tuple(v[i:i + 3]) for i in range(0, len(v), 3)]


class Family:
    """Sources and how their files are read: meshes as {number: (triangles by places, all that is known of it)}."""

    def __init__(self, name, source, path, mesh, meshes, allowed=lambda n: False):
        self.name, self.source, self.path, self.mesh, self.meshes, self.allowed = (
            name, source, path, mesh, meshes, allowed)

    @property
    def number(self):
        return int(self.mesh[5:]) if self.mesh.startswith('mesh_') else 0


def mod3_family(source, name, mesh):
    reader = script('mod3', 'readmod3')

    def meshes(files):
        out = {}
        for i, m in enumerate(reader.read_mod3(files[name])['meshes']):
            known = {k: v for k, v in m.items() if k != 'record'}
            out[i] = triangles(threes(m['positions']), threes(m['faces'])), known
        return out
    return Family('mod3', source, name, mesh, meshes, lambda n: n == name)


def pmo_family(source, path, mesh):
    reader = script('mhp', 'readmhp')

    def meshes(files):
        truth = next(x for x in reader.facts('x', files[''])['entries'] if x['type'] == 'pmo')['truth']
        return {i: (triangles(m['v'], [f[1:] for f in m['faces']]), m) for i, m in enumerate(truth['meshes'])}
    return Family('PMO', source, path, mesh, meshes, lambda n: True)


def jom_family(source, name, mesh):
    reader = script('jom', 'readjom')

    def meshes(files):
        e, out = reader.read(files[name]), {}
        for n, polygons in enumerate(gltf.jom_polygons(e)):
            faces = []
            for k in polygons:
                *_, a, b, c, d, _ = e['polygons'][k]
                face = [gltf.turned(e['points'][p]) for p, _ in gltf.jom_face((a, b, c, d)) or []]
                face = face[:1] + face[:0:-1]      # the front is turned round
                faces += [(face[0], face[i], face[i + 1]) for i in range(1, len(face) - 1)]
            out[n] = faces, [[e['polygons'][k][0], *(e['points'][p] for p in e['polygons'][k][-5:-1])]
                             for k in polygons]
        return out
    return Family('JOM', source, name, mesh, meshes, lambda n: n == name)


def quartet_family(source, base, mesh):
    reader = script('ps3', 'readquartet')

    def meshes(files):
        names = {n.rpartition('.')[2]: n for n in files if n.rpartition('.')[0] == base}
        out = {}
        for i, m in enumerate(reader.read_bytes({k: files[n] for k, n in names.items()}, names, base)['meshes']):
            places = [tuple(map(reader.real, v[:3])) for v in m['vertices']]
            whole = [c for c in threes(m['indexes']) if len(set(c)) == 3]
            out[i] = triangles(places, whole), {k: m[k] for k in ('vertices', 'indexes', 'rows', 'submeshes')}
        return out
    return Family('quartet', source, base + '.mlp', mesh, meshes, lambda n: n.startswith(base + '.'))


def families(t):
    samples = os.path.join(lib.SHARED, 'samples')
    if not os.path.isdir(samples):
        raise lib.Skip('no corpora and samples beside the source')
    jom = os.path.join(corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[SEED], 'files')
    ps3 = os.path.join(lib.SHARED, 'corpus', 'ps3', 'files')
    return [mod3_family(os.path.join(samples, 'mod3'), 'swo001.mod3', 'mesh_0'),
            pmo_family(os.path.join(samples, 'mhp', 'f_hair000_original.pac'), '00.pmo', 'mesh_0'),
            jom_family(jom, 'CUBE.JOM', 'mesh_0'), jom_family(jom, 'SKEL4.JOM', 'part0'),
            quartet_family(ps3, 'one', 'mesh_0')]


def lost(want, have, step):
    """Triangles of the first list that are not in the second, wherever each begins. Step: how far corners may be off."""
    near, cells, out = (0, -1, 1), {}, []

    def cell(f):
        return [round(sum(p[k] for p in f) / 3 / (4 * step)) for k in range(3)]

    def same(f, g):
        return any(max(abs(a - b) for p, q in zip(f, g[r:] + g[:r]) for a, b in zip(p, q)) <= step for r in range(3))

    for f in have:
        cells.setdefault(tuple(cell(f)), []).append(f)
    for f in want:
        x, y, z = cell(f)
        around = (cells.get((x + i, y + j, z + k), []) for i in near for j in near for k in near)
        found = next(((c, g) for c in around for g in c if same(f, g)), None)
        if found:
            found[0].remove(found[1])
        else:
            out.append(f)
    return out


def shown(glb, number):
    """Triangles of a mesh in a file of Blender, whose mesh is called as ours was."""
    mesh = next(m for m in glb.doc['meshes'] if m['name'].split('.')[0] == f'mesh_{number}')
    return [f for p in glb.mesh(mesh['name']) for f in triangles(p['POSITION'], p['corners']) if len(set(f)) == 3]


def twice(t, here, path, glb, what):
    """The same file again changes nothing."""
    before = state(here)
    r = run('put', '-g', here, path, glb)
    t.ok(not r.returncode and state(here) == before, f'{what}: saved again nothing changes', r.stderr[-300:])


MORE = {'pull out': 6, 'delete': -1, 'add': 12}    # triangles; a cut depends on the faces around it


def topology(t):
    lib.need('blender')
    jobs = [(f, how) for f in families(t) for how in (*MORE, 'cut')]
    files = inputs(t, [(f.source, f.path + '/model.glb', ()) for f, _ in jobs])
    lib.blender(t, TOPOLOGY, [[*io, f.mesh, how] for io, (f, how) in zip(files, jobs)])
    for (_, glb), (f, how) in zip(files, jobs):
        here, what, path = copy(t, f.source), f'{f.name} {f.path}: {how}', f.path + '/model.glb'
        before = state(here)
        r = run('put', '-g', here, path, glb)
        if not t.ok(not r.returncode, what, r.stderr[-300:]):
            continue
        after = state(here)
        was, now = f.meshes(before), f.meshes(after)
        want, have = shown(Glb(read(glb)), f.number), now[f.number][0]
        grown = len(have) - len(was[f.number][0])
        t.ok(grown == MORE.get(how, grown) and len(have) == len(want), f'{what}: as many triangles as there should be',
             [grown, len(have), len(want)])
        step = max(abs(x) for tri in want for p in tri for x in p) / 16384
        t.none(lost(want, have, step), f'{what}: they lie where Blender has them')
        t.none([n for n in was if n != f.number and was[n][1] != now[n][1]], f'{what}: other meshes are what they were')
        t.none([n for n in before if before[n] != after[n] and not f.allowed(n)], f'{what}: and so are other files')
        if f.name == 'JOM':
            whole = [q for q in was[0][1] if len(set(map(tuple, q[1:]))) == 4]
            kept = [q for q in whole if any(sorted(q[1:]) == sorted(p[1:]) for p in now[0][1])]
            t.ok(len(kept) >= len(whole) - (4 if how == 'cut' else 1), f'{what}: other quads are quads',
                 [len(whole), len(kept)])
        twice(t, here, path, glb, what)


def weights(t):
    """What was added has no weights: it gets those of what is nearest."""
    lib.need('blender')
    family = families(t)[1]
    path = family.path + '/model.glb'
    io = inputs(t, [(family.source, path, ())])[0]
    lib.blender(t, TOPOLOGY, [[*io, family.mesh, 'add']])
    names = Glb(read(io[1])).names
    t.ok('neutral_bone' in names, 'Blender hangs it on a bone of its own', names[-3:])
    here = copy(t, family.source)
    was = family.meshes(state(here))[0][1]
    r = run('put', '-g', here, path, io[1])
    now = family.meshes(state(here))[0][1]
    old = {tuple(v) for v in was['v']}
    new = [i for i, v in enumerate(now['v']) if tuple(v) not in old]
    bad = []
    for i in new:
        far = [math.dist(v, now['v'][i]) for v in was['v']]
        near = [sorted(w) for w, d in zip(was['weights'], far) if d < min(far) + .02]
        bad += lib.unless(sorted(now['weights'][i]) in near, f'vertex {i}: {now["weights"][i]}, expected {near}')
    t.none(bad, f'{len(new)} new vertices have the weights of the nearest old one')
    t.ok(len(new) >= 8 and f'{len(now["v"]) - len(was["v"])} new vertices took the weights' in r.stderr,
         'which is said', r.stderr)


def too_many(t):
    lib.need('blender')
    some = families(t)[:2]
    some[0] = mod3_family(some[0].source, 'f_arm070_0000.mod3', 'mesh_1')
    files = inputs(t, [(f.source, f.path + '/model.glb', ()) for f in some])
    lib.blender(t, TOPOLOGY, [[*io, f.mesh, 'too many'] for io, f in zip(files, some)])
    for (_, glb), f, says in zip(files, some, (
            'mesh_1: 100272 vertices are more than the 65535 that a mesh may have',
            'mesh_0: group 1 would have 848 vertices, its indices of 1 byte count 256 at most')):
        here = copy(t, f.source)
        before = state(here)
        r = run('put', '-g', here, f.path + '/model.glb', glb)
        t.ok(r.returncode == 1 and says in r.stderr and state(here) == before, f'refused: {says}', r.stderr[-300:])


# ---------------------------------------------------------------- bones

BONES = HEAD + r'''
for source, to, names, by, degrees in json.load(open(sys.argv[-1])):
    begin(source)
    o = next(o for o in bpy.data.objects if o.type == 'ARMATURE')
    edit(o)
    for name in names:
        b = o.data.edit_bones[name]
        at, to_there = Matrix.Translation(b.head), Vector((by[0], -by[2], by[1]))
        if degrees:
            b.transform(at @ Matrix.Rotation(numpy.radians(degrees), 4, 'Z') @ at.inverted())
        b.head, b.tail = b.head + to_there, b.tail + to_there
    end(to)
json.dump([], open(sys.argv[-1] + '.out', 'w'))
'''


def bones(t):
    """Bone 3 of this sample rests elsewhere than the mesh is tied to it, which Blender does not keep: once it is moved,
    or what it hangs on, it does both at the one place that Blender has."""
    lib.need('blender')
    samples = os.path.join(lib.SHARED, 'samples', 'mod3')
    if not os.path.isdir(samples):
        raise lib.Skip('no samples')
    reader, name = script('mod3', 'readmod3'), 'swo001.mod3'
    source = t.file(name, read(samples, name))
    tied = reader.read_mod3(read(source))['bones'][3]['inverse_matrix']
    c, s = math.cos(math.radians(10)), math.sin(math.radians(10))
    t.ok(gltf.near([tied[0], tied[2], tied[5]], [c, s, 1], 1e-6), 'it is tied turned by 10 degrees', tied)
    place = [-sum(tied[4 * r + k] * tied[12 + k] for k in range(3)) for r in range(3)]
    jobs = ((['bone_3'], (1, 2, 3), 0), (['bone_1'], (1, 0, 0), 0), (['bone_3'], (1, 2, 3), 30),
            (['bone_2'], (0, 5, 0), 0))
    files = inputs(t, [(source, 'model.glb', ())] * len(jobs))
    lib.blender(t, BONES, [[*io, *job] for io, job in zip(files, jobs)])
    for (_, glb), (names, by, degrees) in zip(files, jobs):
        here, what = copy(t, source), f'{names[0]} moved by {by}, turned by {degrees}'
        was = reader.read_mod3(read(here))
        r = run('put', here, 'model.glb', glb)
        now = reader.read_mod3(read(here))
        t.ok(not r.returncode, what, r.stderr)
        a = math.radians(10 + degrees)
        if names != ['bone_2']:
            went = by if names == ['bone_3'] else (0, 0, 0)
            local, inverse = now['bones'][3]['local_matrix'], now['bones'][3]['inverse_matrix']
            at = [-sum(inverse[4 * r + k] * inverse[12 + k] for k in range(3)) for r in range(3)]
            up = now['bones'][1]['world'][12:15]
            t.ok(gltf.near([local[0], local[2], local[8]], [math.cos(a), -math.sin(a), math.sin(a)], 1e-5) and
                 gltf.near([x + y for x, y in zip(local[12:15], up)], [x + y for x, y in zip(place, went)], 1e-2),
                 f'{what}: it rests where it was put', local)
            t.ok(gltf.near(at, [x + y for x, y in zip(place, went)], 1e-2) and
                 gltf.near([inverse[0], inverse[2], inverse[5]], [math.cos(a), math.sin(a), 1], 1e-5),
                 f'{what}: and is tied there', inverse)
        said = '1 bones (bone_3) rested elsewhere than the model was tied to them' in r.stderr
        t.ok(said or names == ['bone_2'] or degrees, f'{what}: which is said', r.stderr)
        other = {d[0] for d in differences(was['bones'], now['bones'])}
        t.ok(other <= {'bone_1': {1, 2, 3}, 'bone_2': {2}, 'bone_3': {3}}[names[0]], f'{what}: no other bone is',
             other)
        t.none([i for i, (m, n) in enumerate(zip(was['meshes'], now['meshes'])) if any(
            m[k] != n[k] for k in ('positions', 'faces', 'weights', 'uv'))], f'{what}: meshes are what they were')
        twice(t, here, 'model.glb', glb, what)


# ---------------------------------------------------------------- animations

CLIPS = HEAD + r'''
for source, to, bone, prop, axis, frame, by in json.load(open(sys.argv[-1])):
    begin(source)
    for action in bpy.data.actions if bone else ():
        for c in action.fcurves:
            if (c.data_path, c.array_index) == (f'pose.bones["{bone}"].{prop}', axis):
                k = next(k for k in c.keyframe_points if round(k.co[0]) == frame)
                for v in k.co, k.handle_left, k.handle_right:
                    v[1] += by
                c.update()
    end(to)
json.dump([], open(sys.argv[-1] + '.out', 'w'))
'''
UNITS = {64: 16, 128: 16, 256: 16}                 # of places


def calm_monster(t, name, game, tracks):
    """A model, skeleton and pack with scales that a game could have: up to twice, and half."""
    m, rng = lib.module('mkmhp'), random.Random(5)
    model = m.new_model(rng, '102' if game == 'mhp3rd' else '1.0', [1], 56, 1, tame=True)
    skeleton, pack = m.new_skeleton(rng, game, 56), m.new_anim(rng, game, 2, 4, tracks)
    for channel in (c for clip in pack['clips'] for track in clip['tracks'] for c in track):
        low, high = (128, 512) if channel['bit'] >= 512 else (-900, 900) if channel['bit'] >= 64 else (-4000, 4000)
        for key in channel['keys']:
            key[0], key[2], key[3] = rng.randint(low, high), rng.randint(-4, 4), rng.randint(-4, 4)
    folder = t.dir('monster')
    for ext, data in (('pmo', m.pmo_node(model).data), ('ahi', m.write_skeleton(skeleton)),
                      ('anm', m.write_anim(pack))):
        with open(os.path.join(folder, f'{name}.{ext}'), 'wb') as f:
            f.write(data)
    return folder, m.skeleton_truth(skeleton), m.anim_truth(pack)


def moved_key(tracks):
    """(bone, frames of the keys of its place by channel): one with a key in between, and no scale."""
    for b, channels in tracks.items():
        place = {c['bit']: [k[1] for k in c['keys']] for c in channels if c['bit'] in UNITS}
        if any(len(k) > 2 for k in place.values()) and not [c for c in channels if c['bit'] >= 512]:
            return b, place
    raise RuntimeError('no bone is moved')


def clips(t):
    lib.need('blender')
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    for name, game, tracks, species in (('em047', 'mhp3rd', 60, 47), ('em01', 'mhfu', 20, None)):
        folder, skeleton, pack = calm_monster(t, name, game, tracks)
        at = f'{name}.pmo/animations/'
        of = anim.tracks_of(skeleton, pack['clips'][0], 0, species)
        bone, place = moved_key(of)
        track = next(k for k, v in enumerate(pack['clips'][0]['tracks']) if v == of[bone])
        own = next((bit, k[1]) for bit, k in place.items() if len(k) > 2)
        called = skeleton['bones'][bone]['name']
        plain = [('000.glb', ()), ('all.glb', ()), ('001.glb', ('-o', 'baked'))]
        files = inputs(t, [(folder, at + n, o) for n, o in plain] + [(folder, at + '000.glb', ())] * 3)
        lib.blender(t, CLIPS, [[*io, '', '', 0, 0, 0] for io in files[:3]] +
                    [[*io, called, 'location', axis, own[1], 3] for axis, io in enumerate(files[3:])])
        before = state(folder)
        for (n, options), (_, glb) in zip(plain, files):
            r = run('put', '-g', *options, folder, at + n, glb)
            t.ok(not r.returncode and not r.stderr and state(folder) == before,
                 f'{game}: {n} {" ".join(options)} unedited changes no byte', r.stderr)
        was, moved, told = anim.rows_of(run('cat', folder, at + '000.yaml').stdout), set(), 0
        for axis, (_, glb) in enumerate(files[3:]):
            here = copy(t, folder)
            r = run('put', '-g', here, at + '000.glb', glb)
            now = anim.rows_of(run('cat', here, at + '000.yaml').stdout)
            other = {k for k in {**was, **now} if was.get(k) != now.get(k)}
            changed = state(here)
            t.ok(not r.returncode and {k for k in before if before[k] != changed[k]} <= {name + '.anm'} and
                 len(other) <= 1 and {k[0] for k in other} <= {track},
                 f'{game}: axis {axis} of a key of {called} moved: no other channel is', [r.stderr, other])
            for key in other:
                a, b = ({k[1]: k[0] for k in v.get(key, [])} for v in (was, now))
                t.ok(own[1] not in a or abs(abs(b[own[1]] - a[own[1]]) - 48) <= 1,
                     f'{game}: it went 3 units', [a, b])
                moved |= other
            said = f'first one at frame {own[1]} of bone {called}' in r.stderr
            t.ok(bool(other) != said, f'{game}: or it is said that there is no key', [other, r.stderr])
            told += said
        bits = {64: 'location_x', 128: 'location_y', 256: 'location_z'}
        t.ok((track, bits[own[0]]) in moved and told + len(moved) == 3, f'{game}: the axis that has a key is moved',
             [moved, told])


if __name__ == '__main__':
    lib.main(topology, weights, too_many, bones, clips)
