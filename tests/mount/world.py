"""Models of Monster Hunter World in folders, mounted and extracted: the public corpus and real files by the corpus' own
checker, damaged files, records written and read back by its independent reader, a model beside its library."""
import json
import os
import re
import sys

import lib
from lib import Mount, run

HERE = os.path.join(lib.SHARED, 'corpus', 'mod3')
SAMPLES = os.path.join(lib.SHARED, 'samples', 'mod3')
SEEDS = lib.CORPUS_SEEDS
ARM = 'nativePC/pl/f_equip/pl901_0000/arm/mod/f_arm901_0000'


def script(name, *args):
    return lib.other(sys.executable, os.path.join(HERE, name + '.py'), *args)


def reader():
    sys.path.insert(0, HERE)
    import readmod3
    sys.path.pop(0)
    return readmod3


def corpus(t, seed):
    where = t.dir(f'mod3-{seed}')
    code, said = script('mkmod3', where, '--seed', str(seed))
    if code:
        raise lib.Skip(f'no corpus of seed {seed}: {said[-200:]}')
    return where


def expected(t, truth):
    """The truth as a file."""
    return t.file('expected.json', json.dumps(truth).encode())


def load(*path):
    return json.loads(lib.read(*path))


def check(t, what, folder, want):
    code, said = script('check_mount', folder, want)
    t.ok(not code and re.search(r'\d{3,} passed, 0 failed', said), f'{what}: the corpus finds it right', said)


def in_both_ways(t, what, source, want, exit_code=0):
    to = os.path.join(t.dir('extract'), 'x')
    r = run('extract', source, to)
    t.ok(r.returncode == exit_code, f'{what}: extracted', r.stderr)
    check(t, what + ' extracted', to, want)
    if lib.fuse_missing():
        t.skip('mounted: ' + lib.fuse_missing())
        return
    with Mount(t, source, 'ro') as m:
        check(t, what + ' mounted', m.point, want)


def shown(t):
    for seed in SEEDS:
        where = corpus(t, seed)
        tree = os.path.join(where, 'tree')
        in_both_ways(t, f'seed {seed}', tree, expected(t, load(where, 'expected.json')))
        r = run('verify', tree)
        t.ok(r.returncode == 0, f'seed {seed}: all models can be encoded again', r.stdout + r.stderr.encode())


def real(t):
    if not os.path.isdir(SAMPLES):
        raise lib.Skip('no real models')
    truth = reader().scan(SAMPLES)
    in_both_ways(t, 'real models', SAMPLES, expected(t, truth))
    r = run('verify', SAMPLES)
    t.ok(r.returncode == 0, 'real models can be encoded again', r.stdout + r.stderr.encode())


def damaged(t):
    where = os.path.join(corpus(t, SEEDS[0]), 'bad')
    truth = load(where, 'manifest.json')
    in_both_ways(t, 'damaged', where, expected(t, truth), exit_code=1)
    bad = []
    for e in truth['bad']:
        if not e['path'].endswith('.mod3'):
            continue
        r = run('verify', os.path.join(where, e['path']))
        sound = e['expect'] == 'tolerated'
        bad += lib.unless(r.returncode == 1 - sound and (sound or r.stderr), (e['path'], e['why'], r.stdout, r.stderr))
    t.none(bad, 'verify finds what is damaged, and nothing else')


# ---------------------------------------------------------------- values written

# File of the model, what stands in it, what is written in its place, and what the bytes mean then.
EDITS = [
    ('header.yaml', r'edge_count: .*', 'edge_count: 7', {('header', 'edge_count'): 7}),
    ('header.yaml', r'creation_time: .*', 'creation_time: 0xffffffffffffffff',
     {('header', 'creation_time'): 0xffffffffffffffff}),
    ('header.yaml', r'sphere_radius: .*', 'sphere_radius: 2.5', {('header', 'sphere_radius'): 2.5}),
    ('header.yaml', r'aabb_min: .*', 'aabb_min: [1, 2, 3, 4]', {('header', 'aabb_min'): [1.0, 2.0, 3.0, 4.0]}),
    ('header.yaml', r'last_lod_level: .*', 'last_lod_level: 2', {('header', 'last_lod_level'): 2}),
    ('header.yaml', r'table: ....', 'table: ffff', {('header', 'table'): 'ffff'}),
    ('groups.yaml', r'id: .*', 'id: 70000', {('groups', 0, 'id'): 70000}),
    ('groups.yaml', r'filler: .*', 'filler: "000000000000000000000000"', {('groups', 0, 'filler'): '0' * 24}),
    ('groups.yaml', r'sphere_centre: .*', 'sphere_centre: [0.5, 0, -1]',
     {('groups', 0, 'sphere_centre'): [0.5, 0.0, -1.0]}),
    ('materials.yaml', r'name: .*', 'name: new',
     {('materials', 0): {'bytes': b'new'.hex(), 'hash': 0x941cbbba, 'mtl': 'new'}}),
    ('materials.yaml', r'name: .*', 'name: [229, 0, 1]',
     {('materials', 0): {'bytes': 'e50001', 'hash': 0xfd9d0685, 'mtl': '_'}}),
    ('meshes/2.yaml', r'draw_mode: .*', 'draw_mode: 0x00ff', {('meshes', 2, 'record', 'draw_mode'): 255}),
    ('meshes/2.yaml', r'group_id: .*', 'group_id: 12', {('meshes', 2, 'record', 'group_id'): 12}),
    ('meshes/2.yaml', r'material_index: .*', 'material_index: 1', {('meshes', 2, 'record', 'material_index'): 1}),
    ('meshes/2.yaml', r'lod_mask: .*', 'lod_mask: 3', {('meshes', 2, 'record', 'lod_mask'): 3}),
    ('meshes/2.yaml', r'lod_mask:', 'unknown_0a: 5\nlod_mask:', {('meshes', 2, 'record', 'unknown_0a'): 5}),
    ('meshes/2.yaml', r'visible: .*', 'visible: 0', {('meshes', 2, 'record', 'visible'): 0}),
    ('meshes/2.yaml', r'weights_per_vertex: .*', 'weights_per_vertex: 31',
     {('meshes', 2, 'record', 'weights_per_vertex'): 31}),
    ('meshes/2.yaml', r'alpha_priority: .*', 'alpha_priority: 200', {('meshes', 2, 'record', 'alpha_priority'): 200}),
    ('meshes/2.yaml', r'bridge: .*', 'bridge: 0', {('meshes', 2, 'record', 'bridge'): 0}),
    ('meshes/2.yaml', r'map_data: .*', 'map_data: [3, -4]', {('meshes', 2, 'record', 'map_data'): [3, -4]}),
    ('meshes/2.yaml', r'unknown_48: .*', 'unknown_48: 0x1d957295000',
     {('meshes', 2, 'record', 'unknown_48'): 0x1d957295000}),
    ('meshes/2.yaml', r'- bone: .*', '- bone: 255', {('meshes', 2, 'envelopes', 0, 'bone'): 255}),
    ('meshes/2.yaml', r'  obb_half_extents: .*', '  obb_half_extents: [1, 2, 3, 4]',
     {('meshes', 2, 'envelopes', 0, 'obb_half_extents'): [1.0, 2.0, 3.0, 4.0]}),
    ('skeleton.yaml', r'reach: .*', 'reach: 0.25', {('bones', 0, 'reach'): 0.25}),
    ('skeleton.yaml', r'symmetric_pair: .*', 'symmetric_pair: 4', {('bones', 0, 'symmetric_pair'): 4}),
    ('meshes/2.vertices.yaml', r'normal: \[[^]]*\]', 'normal: [3, 0, 4, 5]',
     {('meshes', 2, 'normals', 0): 3, ('meshes', 2, 'normals', 1): 0, ('meshes', 2, 'normals', 2): 4,
      ('meshes', 2, 'normals', 3): 5, ('meshes', 2, 'vn', 0): None, ('meshes', 2, 'vn', 1): None,
      ('meshes', 2, 'vn', 2): None}),
    ('meshes/4.vertices.yaml', r'uv1: \[[^]]*\]', 'uv1: [0.5, -2]',
     {('meshes', 4, 'uv', 1, 0): 0.5, ('meshes', 4, 'uv', 1, 1): -2.0}),
    ('meshes/4.vertices.yaml', r'colour: \[[^]]*\]', 'colour: [1, 2, 3, 4]',
     {('meshes', 4, 'colours', i): i + 1 for i in range(4)}),
    ('meshes/4.vertices.yaml', r'tangent: ', 'spare: 2, tangent: ', {('meshes', 4, 'spare'): [[0, 2]]}),
]

REFUSALS = [
    ('header.yaml', r'mesh_off: .*', 'mesh_off: 0x00000200', 'mesh_off follows from other data'),
    ('materials.yaml', r'name: .*', 'name: "%s"' % ('x' * 129), 'the text has 129 characters, at most 128 fit'),
    ('materials.yaml', r'hash: .*', 'hash: 0x00000001', 'hash follows from other data'),
    ('meshes/2.yaml', r'material_index: .*', 'material_index: 3', 'material 3 of 3'),
    ('meshes/2.yaml', r'stride: .*', 'stride: 44', 'stride follows from other data'),
    ('meshes/2.yaml', r'- bone: .*', '- bone: 7', 'bone 7 of 7 bones'),
    ('skeleton.yaml', r'symmetric_pair: .*', 'symmetric_pair: 7', 'symmetric_pair 7 of 7 bones'),
    ('skeleton.yaml', r'function: .*', 'function: 65536', '65536 is outside 0..65535'),
    ('meshes/2.vertices.yaml', r'normal: \[[^]]*\]', 'normal: [0, 0, 128, 0]', '128 is outside -128..127'),
    ('meshes/2.vertices.yaml', r'- .*\n', '', 'values found, expected'),
]


def put(path, name, pattern, new):
    text = run('cat', path, name).stdout.decode()
    return run('put', path, name, '-', data=re.sub(pattern, lambda _: new, text, count=1).encode())


def shown_as(truth, where, value):
    for key in where[:-1]:
        truth = truth[key]
    if where[-1] == 'table':
        value += truth['table'][len(value):]
    truth[where[-1]] = value


def edited(t):
    readmod3 = reader()
    data, bad = lib.read(corpus(t, SEEDS[0]), 'tree', ARM + '.mod3'), []
    for name, pattern, new, want in EDITS:
        path = t.file('model.mod3', data)
        truth = readmod3.read_mod3(data)
        r = put(path, name, pattern, new)
        now = readmod3.read_mod3(lib.read(path))
        bad += lib.unless(r.returncode == 0 and now['sha256'] != truth['sha256'], f'{name}: {new!r}: {r.stderr}')
        for where, value in want.items():
            for side in (truth, now) if value is None else (truth,):
                shown_as(side, where, value)
        truth['sha256'] = now['sha256']
        bad += lib.unless(now == truth, f'{name}: {new!r}: {readmod3.difference(truth, now)}')
        r = run('undo', path)
        bad += lib.unless(r.returncode == 0 and lib.read(path) == data, f'{name}: undo: {r.stderr}')
    t.none(bad, f'{len(EDITS)} edits mean what they say, and nothing else changed')
    bad = []
    for name, pattern, new, why in REFUSALS:
        path = t.file('model.mod3', data)
        r = put(path, name, pattern, new)
        bad += lib.unless(r.returncode == 1 and why in r.stderr and lib.read(path) == data,
                          f'{name}: {new!r}: exit {r.returncode}: {r.stderr}')
    t.none(bad, f'{len(REFUSALS)} texts are refused with a reason')


def functions(t):
    """The remap table follows the bones' functions."""
    readmod3 = reader()
    path = t.file('model.mod3', lib.read(corpus(t, SEEDS[0]), 'tree', ARM + '.mod3'))
    was = readmod3.read_mod3(lib.read(path))
    at = was['sections']['remap'][0]
    remap = bytearray(lib.read(path)[at:at + 512])
    old = was['bones'][0]['function']
    r = put(path, 'skeleton.yaml', r'function: .*', 'function: 300')
    remap[old], remap[300] = 255, 0
    t.ok(r.returncode == 0 and lib.read(path)[at:at + 512] == remap, 'a bone gets another function', r.stderr)
    r = put(path, 'skeleton.yaml', r'function: .*', 'function: 600')
    remap[300] = 255
    t.ok(r.returncode == 0 and lib.read(path)[at:at + 512] == remap, 'one that is not in the table', r.stderr)


def unchanged(t):
    """Every writable file of every model saved as it is, through a mount."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    folder = os.path.join(corpus(t, SEEDS[-1]), 'tree')
    before, bad, n = lib.snapshot(folder), [], 0
    with Mount(t, folder) as m:
        for view in lib.files(m.point):
            path = os.path.join(m.point, view)
            if '.mod3/' not in view or not os.stat(path).st_mode & 0o200:
                continue
            n += 1
            data = lib.read(path)
            try:
                with open(path, 'wb') as f:
                    f.write(data)
            except OSError as e:
                bad.append(f'{view}: {e}')
    t.none(bad, f'{n} files of models can be saved as they are')
    after = lib.snapshot(folder)
    t.none([p for p in before if before[p] != after.get(p)], 'and no file has changed')


def linked(t):
    """A library that is edited, and a material that gets another name, show in the model at once."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    folder = os.path.join(corpus(t, SEEDS[0]), 'tree')
    with Mount(t, folder) as m:
        model, library = (os.path.join(m.point, ARM + ext) for ext in ('.mod3', '.mrl3'))
        path = re.search(r'path: (.*)\n    image: 0', lib.read(model, 'materials.yaml').decode()).group(1)
        t.ok(os.path.exists(model + '/textures/0.dds'), 'the first texture is found')
        text = lib.read(library, 'textures.yaml').decode()
        with open(library + '/textures.yaml', 'w') as f:
            f.write(text.replace('path: ' + path, 'path: "no\\\\where"', 1))
        now = lib.read(model, 'materials.yaml').decode()
        t.ok('path: "no\\\\where"\n    image: null' in now and not os.path.exists(model + '/textures/0.dds'),
             'a texture of another path is not', now)
        with open(library + '/textures.yaml', 'w') as f:
            f.write(text)
        t.ok(os.path.exists(model + '/textures/0.dds'), 'and is again')
        text = lib.read(model, 'materials.yaml').decode()
        with open(model + '/materials.yaml', 'w') as f:
            f.write(re.sub('name: .*', 'name: other', text, count=1))
        now = lib.read(model, 'materials.yaml').decode()
        t.ok(now.startswith('- name: "other"\n') and 'mrl3: null  # derived\n  textures: []' in now,
             'a name that the library does not know has no textures', now)


if __name__ == '__main__':
    if not os.path.exists(os.path.join(HERE, 'check_mount.py')):
        print('skipped: no corpus beside the source')
        sys.exit(77)
    lib.main(shown, real, damaged, edited, functions, unchanged, linked)
