"""animations/*.glb: what a clip does to the bones at each frame is what the stored keys say, worked out here from the
corpus' numbers and the specification alone; the Khronos validator, Blender and assimp read them; looking makes none.
"""
import json
import math
import os
import random
import re
import struct

import gltf
import lib
from gltf import Glb
from lib import Mount, read

gltf.SEEDS = lib.CORPUS_SEEDS[:1]
MADE = {}


def corpus(t, *args):
    """Made once."""
    if args not in MADE:
        MADE[args] = gltf.corpus(t, *args)
    return MADE[args]


TURN, MOVE, SCALE = (8, 16, 32), (64, 128, 256), (512, 1024, 2048)
NEAR = 1e-4                                        # of the model's size


# ---------------------------------------------------------------- matrices: rows of 4 numbers, 3 rows

def times(a, b):
    return [[sum(a[r][k] * b[k][c] for k in range(3)) + (a[r][3] if c == 3 else 0) for c in range(4)] for r in range(3)]


def placed(move, turn, scale=(1, 1, 1)):
    return [[turn[r][c] * scale[c] for c in range(3)] + [move[r]] for r in range(3)]


def euler(x, y, z):
    """Rz * Ry * Rx."""
    (sx, cx), (sy, cy), (sz, cz) = ((math.sin(v), math.cos(v)) for v in (x, y, z))
    return [[cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx]]


def quaternion(x, y, z, w):
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]


def worlds(local, parents):
    out = []
    for m, p in zip(local, parents):
        out.append(times(out[p], m) if p is not None and p >= 0 else m)
    return out


def off(have, want, size):
    """How far apart two lists of matrices are, by the size of the model as it is posed: clips of the corpora make bones
    35 times as large, and those that hang on them again."""
    size = max([size] + [abs(m[r][3]) for m in want for r in range(3)])
    long = max([1] + [abs(m[r][c]) for m in want for r in range(3) for c in range(3)])
    return max((abs(x - y) / (size if c == 3 else long) for m, n in zip(have, want) for r, s in zip(m, n)
                for c, (x, y) in enumerate(zip(r, s))), default=0)


def extent(parents, moves):
    at = worlds([placed(m, euler(0, 0, 0)) for m in moves], parents)
    return max([1] + [abs(m[r][3]) for m in at for r in range(3)])


# ---------------------------------------------------------------- what a GLB says

def sampled(glb, sampler, path, t):
    if 'rows' not in sampler:
        sampler['rows'] = [r[0] for r in glb.rows(sampler['input'])], glb.rows(sampler['output'])
    times_, rows = sampler['rows']
    cubic = sampler['interpolation'] == 'CUBICSPLINE'
    if t <= times_[0] or t >= times_[-1]:
        i = 0 if t <= times_[0] else len(times_) - 1
        return rows[3 * i + 1 if cubic else i]
    i = max(k for k in range(len(times_)) if times_[k] <= t)
    span = times_[i + 1] - times_[i]
    s = (t - times_[i]) / span
    if cubic:
        p, m, q, n = rows[3 * i + 1], rows[3 * i + 2], rows[3 * i + 4], rows[3 * i + 3]
        return [(2 * s**3 - 3 * s**2 + 1) * a + span * (s**3 - 2 * s**2 + s) * b + (3 * s**2 - 2 * s**3) * c +
                span * (s**3 - s**2) * d for a, b, c, d in zip(p, m, q, n)]
    a, b = rows[i], rows[i + 1]
    if path != 'rotation':
        return [x + s * (y - x) for x, y in zip(a, b)]
    dot = sum(x * y for x, y in zip(a, b))
    b = b if dot >= 0 else [-y for y in b]
    angle = math.acos(min(1, abs(dot)))
    f, g = (1 - s, s) if angle < 1e-4 else (math.sin((1 - s) * angle) / math.sin(angle),
                                            math.sin(s * angle) / math.sin(angle))
    v = [f * x + g * y for x, y in zip(a, b)]
    n = math.sqrt(sum(x * x for x in v))
    return [x / n for x in v]


def animation(glb, name):
    return next(a for a in glb.doc.get('animations', []) if a['name'] == name)


def channels_of(glb, anim):
    return {(c['target']['node'], c['target']['path']): anim['samplers'][c['sampler']] for c in anim['channels']}


def local_of(glb, channels, node, seconds):
    n = glb.doc['nodes'][node]
    rest = {'translation': n.get('translation', [0, 0, 0]), 'rotation': n.get('rotation', [0, 0, 0, 1]),
            'scale': n.get('scale', [1, 1, 1])}
    for path in rest:
        if (node, path) in channels:
            rest[path] = sampled(glb, channels[node, path], path, seconds)
    return placed(rest['translation'], quaternion(*rest['rotation']), rest['scale'])


def shown_pose(glb, channels, bones, parents, seconds):
    return worlds([local_of(glb, channels, i, seconds) for i in range(bones)], parents)


# ---------------------------------------------------------------- what keys of a pack say

def curve(keys, frame):
    """[value, frame, in, out], ascending."""
    if frame <= keys[0][1] or frame >= keys[-1][1]:
        return keys[0][0] if frame <= keys[0][1] else keys[-1][0]
    i = max(k for k in range(len(keys)) if keys[k][1] <= frame)
    (x0, t0, _, m0), (x1, t1, m1, _) = keys[i], keys[i + 1]
    d = frame - t0
    s = d / (t1 - t0)
    return x0 * (1 - 3 * s**2 + 2 * s**3) + x1 * (3 * s**2 - 2 * s**3) + m0 * d * (1 - s)**2 + m1 * d * (s**2 - s)


def keyed(track, bits, unit, rest, frame):
    have = {c['bit']: c['keys'] for c in reversed(track)}
    return [curve(have[b], frame) * unit if have.get(b) else r for b, r in zip(bits, rest)]


def stored_places(bones, tracks, frame):
    """tracks: {bone: channels}. Of each bone in the space of its parent."""
    out = []
    for i, b in enumerate(bones):
        t = tracks.get(i, [])
        out.append(placed(keyed(t, MOVE, 1 / 16, b['offset'], frame),
                          euler(*keyed(t, TURN, math.pi / 8192, (0, 0, 0), frame)),
                          keyed(t, SCALE, 1 / 256, (1, 1, 1), frame)))
    return out


SKIPPED = {7: [21, 22], 40: [9, 10, 16, 17, 24, 31, 37, 38, 42, 47], 47: [17]}


def bones_of_part(skeleton, part):
    last = (skeleton['parameters'] + [0, 0])[1] or len(skeleton['bones'])
    return [i for i, b in enumerate(skeleton['bones'][:last]) if b['part'] == part]


def tracks_of(skeleton, clip, part, species):
    if skeleton['kind'] == 'mhfu':
        targets = bones_of_part(skeleton, part)
    else:
        targets = [2 + r for r in range(len(skeleton['bones'])) if r not in SKIPPED.get(species, [])]
    return {b: t for b, t in zip(targets, clip['tracks']) if b < len(skeleton['bones']) and any(c['keys'] for c in t)}


def last_frame(tracks):
    return max((k[1] for t in tracks.values() for c in t for k in c['keys']), default=0)


def clip_differs(glb, name, skeleton, tracks, fps=30):
    """What is wrong with an animation that should be these tracks."""
    bones, bad = skeleton['bones'], []
    parents = [b['parent'] for b in bones]
    known = any(c['bit'] in TURN + MOVE + SCALE for t in tracks.values() for c in t if c['keys'])
    if not known:
        return lib.unless(name not in [a['name'] for a in glb.doc.get('animations', [])], 'an animation without keys')
    channels = channels_of(glb, animation(glb, name))
    for (node, path), s in channels.items():
        bits = {'translation': MOVE, 'rotation': TURN, 'scale': SCALE}[path]
        have = [c for c in tracks.get(node, []) if c['bit'] in bits]
        bad += lib.unless(have, f'{path} of bone {node}, which has no keys')
    size, end = extent(parents, [b['offset'][:3] for b in bones]), last_frame(tracks)
    for frame in sorted({0, 1, end // 3, end // 2, end - 1, end, end + 5} & set(range(end + 6))):
        have = [local_of(glb, channels, i, frame / fps) for i in range(len(bones))]
        want = stored_places(bones, tracks, frame)
        far = [off([h], [w], size) for h, w in zip(have, want)]
        far.append(off(worlds(have, parents), worlds(want, parents), size))
        bad += lib.unless(max(far) < NEAR, f'frame {frame}: {max(far):.2g} of the size')
    for node, t in tracks.items():                 # between frames: places and scales, which are not baked
        frame = end / 2 + .4
        want = keyed(t, MOVE, 1 / 16, bones[node]['offset'], frame)
        have = [r[3] for r in local_of(glb, channels, node, frame / fps)]
        bad += lib.unless(max(abs(a - b) for a, b in zip(want, have)) < NEAR * size, f'bone {node} at {frame}')
    return bad


def motions(pack):
    """{number: [(clip, part)]} of the slots, and which numbers play the same."""
    streams, out = pack['streams'], {}
    fu = pack['kind'] == 'mhfu'
    each = max(100, -(-max(map(len, streams)) // 100) * 100)
    for n, slots in enumerate(streams):
        for i, clip in enumerate(slots):
            if clip is not None:
                out.setdefault((n % 2 if fu else n) * each + i, []).append((clip, n // 2 if fu else 0))
    groups = {}
    for number in sorted(out):
        groups.setdefault(tuple(out[number]), []).append(number)
    return {numbers[0]: (list(clips), numbers) for clips, numbers in groups.items()}


def pack_differs(where, skeleton, pack, species=None, fps=30):
    bad = []
    part = {c: n // 2 for n in range(len(pack['streams']) - 1, -1, -1) for c in pack['streams'][n] if c is not None}
    for i, clip in enumerate(pack['clips']):
        glb = Glb(read(where, f'{i:03}.glb'))
        tracks = tracks_of(skeleton, clip, part[i], species)
        bad += [f'{where} clip {i}: {x}' for x in clip_differs(glb, f'clip_{i:03}', skeleton, tracks, fps)[:2]]
        bad += lib.unless(not glb.doc.get('meshes'), f'{where} clip {i}: it has meshes')
    whole = Glb(read(where, 'all.glb'))
    want = motions(pack)
    for number, (clips, numbers) in want.items():
        name, tracks = f'slot_{number:03}', {}
        for clip, k in clips:
            tracks.update(tracks_of(skeleton, pack['clips'][clip], k, species))
        bad += [f'{where} {name}: {x}' for x in clip_differs(whole, name, skeleton, tracks, fps)[:2]]
        have = [a for a in whole.doc.get('animations', []) if a['name'] == name]
        bad += lib.unless(not have or have[0]['extras']['slots'] == numbers, f'{where} {name}: slots')
    names = [a['name'] for a in whole.doc.get('animations', [])]
    once = set(names) <= {f'slot_{n:03}' for n in want} and len(set(names)) == len(names)
    bad += lib.unless(once, f'{where}: {names}')
    return bad


def beside(parent, entry, what):
    name = entry.get('companions', {}).get(what)
    return next((x['truth'] for x in parent['entries'] if x['name'] == name), None) if name else None


def with_packs(parent, path):
    for entry in parent.get('entries', []):
        at = path + [entry['name']]
        pack, bones = beside(parent, entry, 'animations'), beside(parent, entry, 'skeleton')
        if pack and bones:
            yield os.path.join(*at, 'animations'), bones, pack
        yield from with_packs(entry, at)


def mhfu(t):
    for seed, where in corpus(t, 'mhp', 'mkmhp.py', 'OUT', '--what', 'pac').items():
        to, bad, n = t.extract(os.path.join(where, 'pac')), [], 0
        for path, bones, pack in with_packs(json.load(open(os.path.join(where, 'pac.expected.json'))), []):
            bad += pack_differs(os.path.join(to, path), bones, pack)
            n += 1
        t.none(bad, f'mhfu, seed {seed}: the poses of {n} packs are those of their keys')
        t.ok(n, 'there are packs')


def mhp3rd(t):
    for seed, where in corpus(t, 'mhp', 'mkmhp.py', 'OUT', '--what', 'mhp3rd').items():
        e, bad, n = json.load(open(os.path.join(where, 'mhp3rd.expected.json')))['entries'], [], 0
        archive = os.path.join(where, 'mhp3rd', 'DATA.BIN')
        for entry in e:
            if entry['type'] != 'anm':
                continue
            pac = next(x for x in e if int(x['name'][:5]) == int(entry['name'][:5]) - 2)
            bones = next(x['truth'] for x in pac['entries'] if x['type'] == 'ahi')
            path = os.path.join(pac['name'], '00.pmo', 'animations')
            bad += pack_differs(t.extract(archive, path), bones, entry['truth'])
            n += 1
            break
        t.none(bad, f'mhp3rd, seed {seed}: the poses of a moveset behind its model are those of its keys')
        t.ok(n, 'there is a moveset')


def made_monster(t, name, game='mhp3rd', tracks=60):
    """A model, skeleton and pack of that name in a folder, and the truth of both."""
    m, rng = lib.module('mkmhp'), random.Random(5)
    model = m.new_model(rng, '102' if game == 'mhp3rd' else '1.0', [1], 56, 1, tame=True)
    skeleton = m.new_skeleton(rng, game, 56)
    pack = m.new_anim(rng, game, 2, 4, tracks)
    folder = t.dir('monster')
    files = ('pmo', m.pmo_node(model).data), ('ahi', m.write_skeleton(skeleton)), ('anm', m.write_anim(pack))
    for ext, data in files:
        with open(os.path.join(folder, f'{name}.{ext}'), 'wb') as f:
            f.write(data)
    return folder, m.skeleton_truth(skeleton), m.anim_truth(pack)


def species(t):
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    for name, number in (('em040', 40), ('05171-EM007_m', 7), ('em047', 47), ('em003', None), ('stem040', None)):
        folder, bones, pack = made_monster(t, name)
        to = t.extract(folder)
        where = os.path.join(to, name + '.pmo', 'animations')
        t.none(pack_differs(where, bones, pack, number), f'{name}: the bones that species {number} moves')
        notes = {a.get('extras', {}).get('note', '')[:7] for a in Glb(read(where, 'all.glb')).doc['animations']}
        want = '' if number in (7, 47) else 'sources' if number else 'which b'
        t.same(notes, {want}, f'{name}: what is not known is said')


def options(t):
    """Frames per second, and keys left out within a tolerance."""
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    folder, bones, pack = made_monster(t, 'em047')
    at = os.path.join('em047.pmo', 'animations')
    to = os.path.join(t.dir('fps'), 'x')
    r = lib.run('extract', '-o', 'fps=24', folder, at, to)
    t.ok(not r.returncode, 'extract -o fps=24', r.stderr)
    t.none(pack_differs(to, bones, pack, 47, 24), 'frames are as long as told')
    plain, thin = t.extract(folder, at), os.path.join(t.dir('thin'), 'x')
    r = lib.run('extract', '-o', 'tolerance=2', folder, at, thin)
    bad, saved = [], 0
    for i in range(len(pack['clips'])):
        a, b = (Glb(read(x, f'{i:03}.glb')) for x in (plain, thin))
        saved += len(a.bin) - len(b.bin)
        for (node, path), s in channels_of(a, animation(a, f'clip_{i:03}')).items():
            u = channels_of(b, animation(b, f'clip_{i:03}'))[node, path]
            for (seconds,) in a.rows(s['input']) if path == 'rotation' else []:
                x, y = (sampled(g, v, path, seconds) for g, v in ((a, s), (b, u)))
                apart = 2 * math.acos(min(1, abs(sum(p * q for p, q in zip(x, y)))))
                bad += lib.unless(apart < math.radians(2) + 1e-3, f'clip {i}, bone {node}: {math.degrees(apart)}')
    t.none(bad, 'turns stay within the tolerance')
    t.ok(saved > 10000, f'which saves {saved} bytes', saved)
    for wrong in ('fps=0.0001', 'fps=-1', 'tolerance=-1', 'fps=x', 'size=3'):
        t.same(lib.run('ls', '-o', wrong, folder).returncode, 2, f'{wrong} is refused')


# ---------------------------------------------------------------- JOM

FLIP = (1, -1, -1)


def jom_pose(e, key):
    """In the file's own axes, then turned."""
    bones, local = e['bones'], []
    for i, b in enumerate(bones):
        up = bones[b['parent']]['pivot'] if 0 <= b['parent'] < i else (0, 0, 0)
        move = [(x - y + (r if not 0 <= b['parent'] < i else 0)) / 65536 for x, y, r in zip(b['pivot'], up, key[0])]
        local.append(placed(move, euler(*(a * math.pi / 32768 for a in key[1][i]))))
    at = worlds(local, [b['parent'] if 0 <= b['parent'] < i else None for i, b in enumerate(bones)])
    return [[[m[r][c] * FLIP[r] * (FLIP[c] if c < 3 else 1) for c in range(4)] for r in range(3)] for m in at]


def jom_clip_differs(glb, name, e, a):
    bones, bad = e['bones'], []
    parents = [b['parent'] if 0 <= b['parent'] < i else None for i, b in enumerate(bones)]
    channels = channels_of(glb, animation(glb, name))
    size = max([1] + [abs(x) / 65536 for b in bones for x in b['pivot']])
    bad += lib.unless({p for n, p in channels} == {'translation', 'rotation'} and
                      {n for n, p in channels} == set(range(len(bones))), 'channels')
    for i, key in enumerate(a['keys']) if a['key_ticks'] else [(0, a['keys'][-1])]:
        far = off(shown_pose(glb, channels, len(bones), parents, i * a['key_ticks'] / 60), jom_pose(e, key), size)
        bad += lib.unless(far < NEAR, f'key {i}: {far:.2g} of the size')
    loop = animation(glb, name).get('extras', {}).get('loop', False)
    return bad + lib.unless(loop == bool(a['flags'] & 1), 'loop')


def jom(t):
    for seed, where in corpus(t, 'jom', 'mkjom.py', '--out', 'OUT').items():
        to, bad, n = t.extract(os.path.join(where, 'files')), [], 0
        for e in json.load(open(os.path.join(where, 'expected.json')))['models']:
            at = os.path.join(to, e['file'], 'animations')
            if not e['animations'] or not e['bones']:
                bad += lib.unless(not os.path.isdir(at) or not [x for x in os.listdir(at) if x.endswith('.glb')], at)
                continue
            whole = Glb(read(at, 'all.glb'))
            names = [a['name'] for a in whole.doc['animations']]
            files = sorted(x[:-5] for x in os.listdir(at) if x.endswith('.yaml'))
            bad += lib.unless(sorted(names) == files and len(names) == len(e['animations']), f'{at}: {names} {files}')
            for name, a in zip(names, e['animations']):
                for glb in (whole, Glb(read(at, name + '.glb'))):
                    bad += [f'{at} {name}: {x}' for x in jom_clip_differs(glb, name, e, a)[:2]]
                n += 1
        t.none(bad, f'jom, seed {seed}: the poses of {n} animations are those of their keys')
        t.ok(n > 20, 'there are animations', n)


# ---------------------------------------------------------------- other programs

def all_animations(t, few=False):
    jom = corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[gltf.SEEDS[0]]
    mhp = corpus(t, 'mhp', 'mkmhp.py', 'OUT')[gltf.SEEDS[0]]
    sources = [os.path.join(jom, n) for n in ('files', 'bad')] + [os.path.join(mhp, n) for n in (
        'pac', 'bad', os.path.join('mhp3rd', 'DATA.BIN'), os.path.join('mhfu', 'DATA.BIN'))]
    out = []
    for s in sources[::2] if few else sources:
        to = os.path.join(t.dir('extract'), 'x')
        lib.run('extract', s, to)
        out += [os.path.join(to, p) for p in lib.files(to) if p.endswith('.glb') and f'animations{os.sep}' in p]
    to = t.extract(t.demo)
    out += [os.path.join(to, p) for p in lib.files(to) if p.endswith('.glb') and f'animations{os.sep}' in p]
    return [p for p in out if os.path.getsize(p)]


def valid(t):
    lib.need('node')
    code, _ = lib.other('node', '-e', "require('gltf-validator')")
    if code:
        raise lib.Skip('node does not find gltf-validator')
    files = all_animations(t)
    script, job = t.file('validate.js', gltf.VALIDATE.encode()), t.file('job.json', json.dumps(files).encode())
    code, said = lib.other('node', script, job, limit=lib.LIMIT * 5)
    lines = said.splitlines()
    t.ok(lines and lines[-1] == 'done' and not code, 'the validator ran', said[-400:])
    t.none(lines[:-1], f'the validator has no errors or warnings for {len(files)} files')
    t.ok(len(files) > 200, 'all corpora', len(files))


BLENDER = r'''
import bpy, json, sys, numpy
numpy.bool = bool
result = []
for path in json.load(open(sys.argv[-1])):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    try:
        bpy.ops.import_scene.gltf(filepath=path)
        tracks = {t.name for o in bpy.data.objects if o.animation_data for t in o.animation_data.nla_tracks}
        result.append(sorted(tracks))
    except Exception as e:
        result.append(repr(e))
json.dump(result, open(sys.argv[-1] + '.out', 'w'))
'''


def some_animations(t):
    files = all_animations(t, few=True)
    random.Random(1).shuffle(files)
    return [p for p in files if p.endswith('all.glb')][:3] + [p for p in files if not p.endswith('all.glb')][:4]


def blender(t):
    lib.need('blender')
    files = some_animations(t)
    bad = []
    for path, have in zip(files, lib.blender(t, BLENDER, files)):
        want = sorted(a['name'] for a in Glb(read(path)).doc.get('animations', []))
        bad += lib.unless(have == want, f'{path}: {have}, expected {want}')
    t.none(bad, f'Blender reads the animations of {len(files)} files')


def assimp(t):
    lib.need('assimp')
    bad, files = [], [p for p in some_animations(t) if p.endswith('all.glb')]
    for path in files:
        code, said = lib.other('assimp', 'info', path, '-r')
        have = dict(re.findall(r'^(Animations):\s+(\d+)', said, re.M))
        want = len(Glb(read(path)).doc.get('animations', []))
        bad += lib.unless(int(have.get('Animations', -1)) == want, f'{path}: {have or said[-200:]}, expected {want}')
    t.none(bad, f'assimp reads the animations of {len(files)} files')


THERE_AND_BACK = r'''
import bpy, json, sys, numpy
numpy.bool = bool
for path, to, fps in json.load(open(sys.argv[-1])):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = fps
    bpy.ops.import_scene.gltf(filepath=path)
    bpy.ops.export_scene.gltf(filepath=to, export_format='GLB', export_frame_range=False)
json.dump([], open(sys.argv[-1] + '.out', 'w'))
'''


def there_and_back(t):
    """Imported into Blender and exported, with bones turned as Blender likes them: no byte changes. Scales of these
    movesets go below zero and through it, which Blender says by half turns."""
    lib.need('blender')
    jom = os.path.join(corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[gltf.SEEDS[0]], 'files', 'SKEL4.JOM')
    mhp = corpus(t, 'mhp', 'mkmhp.py', 'OUT')[gltf.SEEDS[0]]
    pac, archive = (os.path.join(mhp, *n) for n in (('pac', 'monster_1.pac'), ('mhp3rd', 'DATA.BIN')))
    listed = lib.files(t.extract(archive))
    some = [(archive, p, 30, o) for p in listed if re.search(r'animations/00[0-3]\.glb$', p)
            for o in ((), ('-o', 'baked'))][:8]
    t.ok(len(some) == 8, 'there are movesets', some)
    jobs, saves = [], []
    for k, (source, path, fps, options) in enumerate([
            (jom, 'animations/all.glb', 60, ()), (pac, '01.pmo/animations/000.glb', 30, ()),
            (pac, '01.pmo/animations/001.glb', 30, ('-o', 'baked'))] + some):
        glb = t.file(f'in{k}.glb', lib.run('cat', *options, source, path).stdout)
        jobs.append([glb, os.path.join(t.folder, f'out{k}.glb'), fps])
        saves.append((source, path, options, jobs[-1][1]))
    lib.blender(t, THERE_AND_BACK, jobs)
    for source, path, options, glb in saves:
        here = t.file(os.path.basename(source), read(source))
        r = lib.run('put', *options, here, path, glb)
        t.ok(not r.returncode and read(here) == read(source),
             f'{path} of {os.path.basename(source)} {" ".join(options)}', r.stderr)


# ---------------------------------------------------------------- the mount

def mounted(t):
    """Sizes are told without making a file; names cost nothing; what changes in the pack or the bones changes here."""
    if lib.fuse_missing() or not os.path.isdir(lib.CORPUS):
        raise lib.Skip(lib.fuse_missing() or 'no corpus')
    folder, bones, pack = made_monster(t, 'em047')
    at, clips = os.path.join('em047.pmo', 'animations'), len(pack['clips'])
    with Mount(t, folder, 'ro', 'stats') as m:
        names = sorted(os.listdir(os.path.join(m.point, at)))
    want = sorted([f'{i:03}.{e}' for i in range(clips) for e in ('yaml', 'glb')] + ['all.glb'])
    t.ok(names == want and m.rendered() == 0, 'listing makes nothing', names)
    with Mount(t, folder, 'ro', 'stats') as m:
        sizes = {n: os.stat(os.path.join(m.point, at, n)).st_size for n in names
                 if n.endswith('.glb') and n != 'all.glb'}
    t.ok(m.rendered() == 0, 'nor do sizes of clips', m.rendered())
    with Mount(t, folder, 'fps=30') as m:
        bad = [n for n, size in sizes.items() if len(read(m.point, at, n)) != size]
        t.none(bad, 'they are those of the bytes')
        glb, whole = read(m.point, at, '000.glb'), read(m.point, at, 'all.glb')
        path = os.path.join(m.point, at, '000.yaml')
        text = read(path)
        edited = re.sub(rb'- \[-?\d+, 0,', b'- [77, 0,', text, count=1)
        with open(path, 'wb') as f:
            f.write(edited)
        after = [read(m.point, at, n) for n in ('000.glb', 'all.glb')]
        t.ok(edited != text and after[0] != glb and after[1] != whole, 'they follow an edited clip')
        path = os.path.join(m.point, 'em047.pmo', 'skeleton.yaml')
        text = read(path)
        with open(path, 'wb') as f:
            f.write(re.sub(rb'offset: \[[^,]*,', b'offset: [7.5,', text, count=1))
        t.ok(all(Glb(read(m.point, at, n)).doc['nodes'][0]['translation'][0] == 7.5 for n in ('000.glb', 'all.glb')),
             'and an edited bone')


# ---------------------------------------------------------------- written back

def glb_bytes(doc, blob):
    blob += bytes(-len(blob) % 4)
    doc['buffers'] = [{'byteLength': len(blob)}]
    text = json.dumps(doc).encode()
    text += b' ' * (-len(text) % 4)
    return struct.pack('<4s3I4s', b'glTF', 2, 28 + len(text) + len(blob), len(text), b'JSON') + text + \
        struct.pack('<I4s', len(blob), b'BIN\0') + blob


def with_channel(b, name, node, path, times_, rows):
    """A GLB in which an animation moves a node so: one row per time, straight between them."""
    glb = Glb(b)
    doc, blob = glb.doc, bytearray(glb.bin[:glb.doc['buffers'][0]['byteLength']])
    anim = animation(glb, name)

    def accessor(values, shape):
        flat = [x for v in values for x in v]
        doc['bufferViews'].append({'buffer': 0, 'byteOffset': len(blob), 'byteLength': 4 * len(flat)})
        blob.extend(struct.pack(f'<{len(flat)}f', *flat))
        doc['accessors'].append({'bufferView': len(doc['bufferViews']) - 1, 'componentType': 5126, 'count': len(values),
                                 'type': shape, 'min': [min(flat)], 'max': [max(flat)]})
        return len(doc['accessors']) - 1

    anim['samplers'].append({'input': accessor([[t] for t in times_], 'SCALAR'), 'interpolation': 'LINEAR',
                             'output': accessor(rows, 'VEC4' if path == 'rotation' else 'VEC3')})
    anim['channels'] = [c for c in anim['channels'] if (c['target']['node'], c['target']['path']) != (node, path)]
    anim['channels'].append({'sampler': len(anim['samplers']) - 1, 'target': {'node': node, 'path': path}})
    return glb_bytes(doc, bytes(blob))


def baked(b, name, node, path, frames, change, fps=30):
    """The same animation with one channel as change(frame, value) wants it."""
    glb = Glb(b)
    channels, n = channels_of(glb, animation(glb, name)), glb.doc['nodes'][node]
    rest = {'translation': [0, 0, 0], 'rotation': [0, 0, 0, 1], 'scale': [1, 1, 1]}[path]
    rows = []
    for f in range(frames):
        v = sampled(glb, channels[node, path], path, f / fps) if (node, path) in channels else n.get(path, rest)
        rows.append(list(change(f, list(v))))
    return with_channel(b, name, node, path, [f / fps for f in range(frames)], rows)


def turned_z(v, degrees):
    x, y, z, w = v
    s, c = math.sin(math.radians(degrees) / 2), math.cos(math.radians(degrees) / 2)
    return [c * x - s * y, c * y + s * x, c * z + s * w, c * w - s * z]


def put(t, source, path, data):
    return lib.run('put', '-g', source, path, t.file('put.glb', data))


def rows_of(yaml):
    """The keys of each channel: {(track, channel): [[value, frame, in, out]]}."""
    out, track, keys = {}, -1, None
    for line in yaml.decode().splitlines():
        if line.startswith('- channels'):
            track += 1
        elif 'channel:' in line:
            keys = out.setdefault((track, line.split(': ')[1].split()[0]), [])
        elif line.strip().startswith('- [') and keys is not None:
            keys.append(json.loads(line.strip()[2:]))
    return out


def unchanged(t):
    """Every GLB saved as it is changes no byte."""
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    pac = os.path.join(corpus(t, 'mhp', 'mkmhp.py', 'OUT', '--what', 'pac')[gltf.SEEDS[0]], 'pac')
    jom = os.path.join(corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[gltf.SEEDS[0]], 'files')
    monster = made_monster(t, 'em040')[0]
    bad, n = [], 0
    for folder in (pac, jom, monster):
        to, here = t.extract(folder), t.dir('copy')
        for name in os.listdir(folder):
            with open(os.path.join(here, name), 'wb') as f:
                f.write(read(folder, name))
        was = lib.snapshot(here)
        for path in lib.files(to):
            if f'animations{os.sep}' in path and path.endswith('.glb'):
                r = put(t, here, path, read(to, path))
                bad += lib.unless(not r.returncode and not r.stderr, f'{path}: {r.stderr}')
                n += 1
        bad += lib.differences(lib.snapshot(here), was)
    t.none(bad, f'{n} files saved as they are change no byte')


def edited(t):
    """What is moved in a program moves, and nothing else."""
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    folder, bones, pack = made_monster(t, 'em047')
    at = 'em047.pmo/animations/'
    name, glb = 'clip_000', lib.run('cat', folder, at + '000.glb').stdout
    tracks = tracks_of(bones, pack['clips'][0], 0, 47)
    end = last_frame(tracks)
    node = next(i for i, v in tracks.items() if {c['bit'] for c in v} & set(TURN) and
                {c['bit'] for c in v} & set(MOVE) and any(len(c['keys']) > 2 for c in v if c['bit'] in TURN))
    track = next(k for k, v in enumerate(pack['clips'][0]['tracks']) if v == tracks[node])

    def again():
        return lib.run('cat', folder, at + '000.glb').stdout, rows_of(lib.run('cat', folder, at + '000.yaml').stdout)

    def differs(have, want, what, edited_path):
        a, b = Glb(have), Glb(want)
        x, y = channels_of(a, animation(a, name)), channels_of(b, animation(b, name))
        bad = []
        for i in range(len(bones['bones'])):
            for f in range(end + 1):
                far = off([local_of(a, x, i, f / 30)], [local_of(b, y, i, f / 30)], 1)
                bad += lib.unless(far < (.15 if edited_path == 'translation' else 2e-3), f'bone {i} at {f}: {far}')
        t.none(bad, what)

    was = again()[1]
    want = baked(glb, name, node, 'rotation', end + 1, lambda f, v: turned_z(v, 20) if 5 <= f <= 9 else v)
    r = put(t, folder, at + '000.glb', want)
    t.ok(not r.returncode, 'some frames of a turn', r.stderr)
    have, now = again()
    differs(have, want, 'are as they were written', 'rotation')
    t.none([k for k in was if k[0] != track and was[k] != now[k]], 'other tracks keep their keys')
    kept = [k for key in was if key[0] == track for k in was[key] if k in now[key]]
    t.ok(kept, f'{len(kept)} keys outside of those frames stay', kept)
    glb, was = have, now
    r = put(t, folder, at + '000.glb', have)
    t.ok(not r.returncode and again()[0] == have, 'saved again nothing changes', r.stderr)
    want = baked(glb, name, node, 'translation', end + 1, lambda f, v: [v[0], v[1] + 3, v[2]])
    r = put(t, folder, at + '000.glb', want)
    have, now = again()
    t.ok(not r.returncode, 'a place', r.stderr)
    differs(have, want, 'is as it was written', 'translation')
    moved = {k for k in now if now[k] != was.get(k)}
    t.ok(moved == {(track, 'location_y')}, 'only y has other keys', moved)
    r = lib.run('undo', folder, '2')
    t.ok(not r.returncode, 'undo', r.stderr)
    free = next(i for i, v in tracks.items() if not {c['bit'] for c in v} & set(SCALE))
    want = baked(lib.run('cat', folder, at + '000.glb').stdout, name, free, 'scale', end + 1, lambda f, v: [2, 1, 1])
    r = put(t, folder, at + '000.glb', want)
    now = again()[1]
    k = next(k for k, v in enumerate(pack['clips'][0]['tracks']) if v == tracks[free])
    t.ok(not r.returncode and now.get((k, 'scale_x')) == [[512, 0, 0, 0]] and (k, 'scale_y') not in now,
         'a channel that was not there gets one key', [r.stderr, now.get((k, 'scale_x'))])


def said_otherwise(t):
    """The same pose by other numbers is no edit: a half turn for two scales below zero, any turn of what is scaled to
    nothing; and one that is turned besides keeps those scales."""
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    m, rng = lib.module('mkmhp'), random.Random(5)
    model, skeleton = m.new_model(rng, '102', [1], 8, 1, tame=True), m.new_skeleton(rng, 'mhp3rd', 8)
    pack = m.new_anim(rng, 'mhp3rd', 1, 1, 2)
    turn = [dict(bit=b, keys=[[v, 0, 0, 0], [v + 500, 9, 0, 0]]) for b, v in ((8, 300), (16, -700), (32, 1500))]
    pack['clips'][0]['tracks'] = [
        turn + [dict(bit=b, keys=[[v, 0, 0, 0]]) for b, v in scales]
        for scales in (((512, -300), (1024, -200), (2048, 400)), ((512, 0), (1024, 0)))]
    folder = t.dir('said')
    for ext, data in (('pmo', m.pmo_node(model).data), ('ahi', m.write_skeleton(skeleton)),
                      ('anm', m.write_anim(pack))):
        with open(os.path.join(folder, 'em047.' + ext), 'wb') as f:
            f.write(data)
    path, was = 'em047.pmo/animations/000.glb', read(folder, 'em047.anm')
    name, glb = 'clip_000', lib.run('cat', folder, path).stdout

    def first_z(v, degrees):
        x, y, z, w = v
        s, c = math.sin(math.radians(degrees) / 2), math.cos(math.radians(degrees) / 2)
        return [c * x + s * y, c * y - s * x, c * z + s * w, c * w - s * z]

    def other(b, node, degrees, scaled, extra=0):
        b = baked(b, name, node, 'rotation', 10,
                  lambda f, v: first_z(turned_z(v, extra if f == 9 else 0), degrees))
        return baked(b, name, node, 'scale', 10, lambda f, v: [x * y for x, y in zip(v, scaled)])
    for what, data in (('two scales below zero as a half turn', other(glb, 2, 180, (-1, -1, 1))),
                       ('a turn around what is left of a bone', other(glb, 3, 50, (1, 1, 1)))):
        r = put(t, folder, path, data)
        t.ok(not r.returncode and read(folder, 'em047.anm') == was, what, r.stderr)
    before = rows_of(lib.run('cat', folder, path[:-3] + 'yaml').stdout)
    r = put(t, folder, path, other(glb, 2, 180, (-1, -1, 1), 20))
    now = rows_of(lib.run('cat', folder, path[:-3] + 'yaml').stdout)
    t.ok(not r.returncode and {k for k in now if now[k] != before.get(k)} == {(0, 'rotation_z')},
         'turned by 20 degrees besides: only that channel has other keys', [r.stderr, now])
    t.ok(abs(now[0, 'rotation_z'][-1][0] - (2000 + 20 / 180 * 8192)) <= 1, 'by that much', now[0, 'rotation_z'])


def refused(t):
    if not os.path.isdir(lib.CORPUS):
        raise lib.Skip('no corpus')
    folder, bones, pack = made_monster(t, 'em047')
    path = 'em047.pmo/animations/000.glb'
    glb, whole = (lib.run('cat', folder, f'em047.pmo/animations/{n}.glb').stdout for n in ('000', 'all'))
    tracks = tracks_of(bones, pack['clips'][0], 0, 47)
    node = next(iter(tracks))
    was = lib.snapshot(folder)

    def no(data, says, path=path):
        r = put(t, folder, path, data)
        t.ok(r.returncode == 1 and all(x in r.stderr for x in says), f'refused: {" ".join(says)}', r.stderr)

    def renamed(data, old, new):
        g = Glb(data)
        for x in g.doc['nodes'] + g.doc['animations']:
            x['name'] = new if x.get('name') == old else x.get('name')
        return glb_bytes(g.doc, g.bin[:g.doc['buffers'][0]['byteLength']])

    bone = bones['bones'][node]['name']
    no(baked(glb, 'clip_000', 0, 'translation', 3, lambda f, v: [f, 0, 0]), ['bone NULL', 'no track'])
    no(baked(glb, 'clip_000', node, 'translation', 3, lambda f, v: [5000, 0, 0]), [bone, '5000', 'frame 0', '2047.94'])
    no(renamed(glb, bone, 'Cube'), [bone, 'missing'])
    no(renamed(glb, 'BD-30', bone), [bone, 'twice'])
    first = Glb(whole).doc['animations'][0]['name']
    no(renamed(whole, first, 'Wave'), ['Wave', 'none of those'], 'em047.pmo/animations/all.glb')
    no(b'glTF', [], path)
    no(baked(glb, 'clip_000', node, 'rotation', 2, lambda f, v: v, fps=1e-4), ['ends at frame 300000'])
    t.none(lib.differences(lib.snapshot(folder), was), 'refused files change nothing')
    folder, bones, pack = made_monster(t, 'em01', 'mhfu', 20)
    glb = lib.run('cat', folder, 'em01.pmo/animations/000.glb').stdout
    node = next(iter(tracks_of(bones, pack['clips'][0], 0, None)))
    no(baked(glb, 'clip_000', node, 'scale', 2, lambda f, v: [2, 2, 2]), ['bone_', 'scaled', 'Freedom Unite'],
       'em01.pmo/animations/000.glb')


def jom_edited(t):
    made = corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')
    folder = t.dir('jom')
    source = os.path.join(folder, 'SKEL4.JOM')
    with open(source, 'wb') as f:
        f.write(read(made[gltf.SEEDS[0]], 'files', 'SKEL4.JOM'))
    models = json.load(open(os.path.join(made[gltf.SEEDS[0]], 'expected.json')))['models']
    e = next(m for m in models if m['file'] == 'SKEL4.JOM')
    was, keys = read(source), e['animations'][0]['keys']
    at = e['animations'][0]['offset']
    glb = lib.run('cat', source, 'animations/WALK.glb').stdout

    def change(node, path, key, value):
        g = Glb(glb)
        s = channels_of(g, animation(g, 'WALK'))[node, path]
        rows = g.rows(s['output'])
        rows[key] = value
        return with_channel(glb, 'WALK', node, path, [r[0] for r in g.rows(s['input'])], rows)

    pivot = [x / 65536 for x in e['bones'][0]['pivot']]
    r = put(t, source, 'animations/WALK.glb', change(0, 'translation', 1, [pivot[0] + 1, -pivot[1] - 2, -pivot[2] - 3]))
    now = read(source)
    t.ok(not r.returncode, 'the root of a key', r.stderr)
    start = was.index(b'ANIM') + 8 + at + (12 + 6 * 4)
    have = struct.unpack('>3i', now[start:start + 12])
    t.ok(max(abs(a - b) for a, b in zip(have, (65536, 131072, 196608))) < 64, 'is as it was written', have)
    t.ok(now[:start] + now[start + 12:] == was[:start] + was[start + 12:], 'and nothing else is changed')
    lib.run('undo', source)
    r = put(t, source, 'animations/all.glb', lib.run('cat', source, 'animations/all.glb').stdout)
    t.ok(not r.returncode and read(source) == was, 'all of them, unchanged', r.stderr)
    turn = [0, 0, math.sin(math.pi / 8), math.cos(math.pi / 8)]
    r = put(t, source, 'animations/WALK.glb', change(2, 'rotation', 2, turn))
    now = read(source)
    start = was.index(b'ANIM') + 8 + at + 2 * (12 + 6 * 4) + 12 + 6 * 2
    have = [a % 65536 for a in struct.unpack('>3h', now[start:start + 6])]
    t.ok(not r.returncode and have in ([0, 0, 57344], [32768, 32768, 24576]), 'a turn of 45 degrees', [r.stderr, have])
    t.ok(now[:start] + now[start + 6:] == was[:start] + was[start + 6:], 'and nothing else')
    r = put(t, source, 'animations/WALK.glb', with_channel(glb, 'WALK', 2, 'translation', [0, 1], [[9, 9, 9]] * 2))
    t.ok(r.returncode == 1 and 'only roots' in r.stderr, 'bones that hang on others are not moved', r.stderr)


if __name__ == '__main__':
    lib.main(mhfu, mhp3rd, species, options, jom, valid, blender, assimp, there_and_back, mounted, unchanged, edited,
             said_otherwise, refused, jom_edited)
