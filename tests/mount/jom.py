"""JOM models of the public corpus: what is shown, by the corpus' own checker and letter by letter as its reference view
has it; values written, as its independent reader finds them in the bytes."""
import json
import os
import re
import shutil
import sys

import lib
from lib import Mount, run

HERE = os.path.join(lib.SHARED, 'corpus', 'jom')
SEEDS = lib.CORPUS_SEEDS
TEXTS = ('.yaml', '.obj', '.mtl', '.bin', '.jom')


def script(name, *args):
    return lib.other(sys.executable, os.path.join(HERE, name + '.py'), *args)


def corpus(t, seed):
    where = t.dir(f'jom{seed}')
    code, said = script('mkjom', '--seed', str(seed), '--out', where)
    if code:
        raise lib.Skip(f'no corpus of seed {seed}: {said[-200:]}')
    return where


def models(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith('.JOM'))


def other_texts(have, want):
    """Files of the reference view, which has no GLB and no preview.png, whose text is another one here, and files that
    only one of them has."""
    a, b = [n for n in lib.files(have) if not n.endswith(('.glb', '/preview.png'))], lib.files(want)
    bad = [f'{n}: only in one of them' for n in sorted(set(a) ^ set(b))]
    return bad + [n for n in sorted(set(a) & set(b)) if n.endswith(TEXTS) and lib.read(have, n) != lib.read(want, n)]


def shown(t):
    for seed in SEEDS:
        where = corpus(t, seed)
        files, to, bad = os.path.join(where, 'files'), t.dir('extract'), []
        for name in os.listdir(files):
            if not name.endswith('.JOM'):
                shutil.copy(os.path.join(files, name), to)
                continue
            for r in (run('extract', os.path.join(files, name), os.path.join(to, name)),
                      run('verify', os.path.join(files, name))):
                bad += [f'{name}: {r.stderr}'] if r.returncode or r.stderr else []
        t.none(bad, f'seed {seed}: extracted and verified')
        code, said = script('check_mount', to, os.path.join(where, 'expected.json'))
        t.ok(not code and re.search(r'\d{4,} passed, 0 failed', said), f'seed {seed}: the corpus finds it right', said)
        view = os.path.join(t.dir('view'), 'x')
        code, said = script('viewjom', files, view)
        t.ok(not code, f'seed {seed}: reference view', said[-300:])
        t.none(other_texts(to, view), f'seed {seed}: the texts are those of the reference view')


def folders(t):
    """The same as folders, mounted and extracted; there a damaged model is a plain file."""
    where = corpus(t, SEEDS[0])
    for name, expected in (('files', 'expected.json'), ('bad', 'bad/manifest.json')):
        source, expected = os.path.join(where, name), os.path.join(where, expected)
        to = os.path.join(t.dir('extract'), 'x')
        r = run('extract', source, to)
        t.ok(r.returncode == (name == 'bad'), f'{name}: extracted', r.stderr)
        code, said = script('check_mount', to, expected)
        t.ok(not code, f'{name}: the corpus finds the extracted folder right', said)
        if lib.fuse_missing():
            t.skip('mounted: ' + lib.fuse_missing())
            continue
        with Mount(t, source) as m:
            code, said = script('check_mount', m.point, expected)
            t.ok(not code, f'{name}: the corpus finds the mounted folder right', said)


def loose(t):
    """A picture in a file of its own: whoever writes it, the model shows it; and the model can name another."""
    folder = t.dir('loose')
    files = os.path.join(corpus(t, SEEDS[0]), 'files')
    for name in ('LOOSE.JOM', 'WALL.BIN', 'TALL.BIN'):
        shutil.copy(os.path.join(files, name), folder)
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    with Mount(t, folder) as m:
        textures = os.path.join(m.point, 'LOOSE.JOM', 'textures')
        was = lib.read(textures, '0.png')
        bin_file = bytearray(lib.read(m.point, 'WALL.BIN'))
        bin_file[4:6] = b'\x1f\x80' if bin_file[4:6] != b'\x1f\x80' else b'\xff\xff'
        with open(os.path.join(m.point, 'WALL.BIN'), 'r+b') as f:
            f.write(bin_file)
        t.ok(lib.read(textures, '0.png') != was, 'a picture written by itself shows in the model')
        os.rename(os.path.join(m.point, 'TALL.BIN'), os.path.join(m.point, 'HIGH.BIN'))
        t.ok(b'source: missing' in lib.read(textures, '1.yaml') and not os.path.exists(textures + '/1.png'),
             'one that is gone is missing')
        text = lib.read(textures, '1.yaml').replace(b'TALL.BIN', b'high.bin')
        with open(os.path.join(textures, '1.yaml'), 'wb') as f:
            f.write(text)
        t.ok(b'source: bin' in lib.read(textures, '1.yaml') and os.path.exists(textures + '/1.png'),
             'under its new name it is found', lib.read(textures, '1.yaml'))


def damaged(t):
    """What must not be shown says why; the rest is shown, whatever is odd about it."""
    where = os.path.join(corpus(t, 1), 'bad')
    refused, shown_badly = [], []
    for e in json.load(open(os.path.join(where, 'manifest.json')))['bad']:
        path = os.path.join(where, e['file'])
        r = run('info', path)
        if e['class'] == 'reject':
            refused += lib.unless(r.returncode == 1 and re.search(r'\d', r.stderr) and not r.stdout,
                                  (e['file'], r.returncode, r.stdout, r.stderr))
            continue
        to = os.path.join(t.dir('extract'), 'x')
        damage = e['class'] == 'raw_timg'
        r = run('extract', path, to)
        shown_badly += lib.unless(r.returncode == damage and os.path.exists(to + '/errors.txt') == damage and
                                  lib.read(to, 'raw/whole.jom') == lib.read(path), (e['file'], r.returncode, r.stderr))
        if damage:
            shown_badly += lib.unless(b'source: missing' in lib.read(to, 'textures/0.yaml') and
                                      not [n for n in lib.files(to) if n.startswith('textures/') and n.endswith('.png')],
                                      e['file'])
    t.none(refused, 'damaged models are refused with a reason')
    t.none(shown_badly, 'odd models are shown, damaged pictures cost only the pictures')


# ---------------------------------------------------------------- values written

def at(truth, path):
    for key in path[:-1]:
        truth = truth[key]
    return truth, path[-1]


# File of the model, what stands in it, what is written in its place, and what the bytes mean then.
EDITS = [
    ('header.yaml', r'sphere_radius: .*', 'sphere_radius: 2.5', {('sphere_radius',): 163840}),
    ('header.yaml', r'reserved: .*', 'reserved: 0x1234', {('reserved',): 0x1234}),
    ('materials.yaml', r'shine: .*', 'shine: 99', {('materials', 0, 'shine'): 99}),
    ('materials.yaml', r'texture: .*', 'texture: null', {('materials', 0, 'texture'): -1}),
    ('materials.yaml', r'colour: .*', 'colour: [3, 2, 1]', {('materials', 0, 'colour'): [3, 2, 1]}),
    ('materials.yaml', r'flags: .*', 'flags: [user_15, light]', {('materials', 0, 'flags'): 0x80000040}),
    ('materials.yaml', r'name: .*', 'name: "new"', {('materials', 0, 'name'): 'new'}),
    ('meshes/0.yaml', r'name: .*', 'name: "renamed"', {('groups', 0, 'name'): 'renamed'}),
    ('meshes/0.yaml', r'normals:\n- .*', 'normals:\n- [0.0, -0.5, 1e-5]',
     {('polygons', 0, 0): 0, ('polygons', 0, 1): -32768, ('polygons', 0, 2): 1}),
    ('meshes/0.yaml', r'gouraud:\n- .*', 'gouraud:\n- [1, 2, 3, 0xffff]', {('gour', 0): [1, 2, 3, 0xffff]}),
    ('skeleton.yaml', r'pivot: .*', 'pivot: [1.5, 0.0, -1.0]', {('bones', 0, 'pivot'): [98304, 0, -65536]}),
    ('skeleton.yaml', r'group: .*', 'group: null', {('bones', 0, 'group'): 0xffff}),
    ('animations/A.yaml', r'key_ticks: .*', 'key_ticks: 77', {('animations', 0, 'key_ticks'): 77}),
    ('animations/A.yaml', r'flags: .*', 'flags: []', {('animations', 0, 'flags'): 0}),
    ('animations/A.yaml', r'root: .*', 'root: [0.5, 0.0, 0.0]', {('animations', 0, 'keys', 0, 0): [32768, 0, 0]}),
    ('animations/A.yaml', r'angles:\n  - .*', 'angles:\n  - [-90, 270, 0.003]',
     {('animations', 0, 'keys', 0, 1, 0): [-16384, -16384, 1]}),
    ('textures/0.yaml', r'name: .*', 'name: "NEW_000000.BIN"',
     {('text', 0): 'NEW_000000.BIN', ('timg', 0, 'name'): 'NEW_000000.BIN'}),
    ('textures/1.yaml', r'reserved: .*', 'reserved: 0x0102', {('timg', 1, 'reserved'): 0x0102}),
]

REFUSALS = [
    ('header.yaml', r'version: .*', 'version: 2', 'version follows from other data'),
    ('header.yaml', r'sphere_radius: .*', 'sphere_radius: 40000.0', '40000.0 is outside -32768..32767.99998'),
    ('materials.yaml', r'name: .*', 'name: "sixteen bytes 16"', 'name: 16 bytes, at most 15'),
    ('materials.yaml', r'texture: .*', 'texture: 99', 'materials[0].texture: 99 is not below 3'),
    ('skeleton.yaml', r'parent: .*', 'parent: 0', 'bones[0].parent: 0 is not below 0'),
    ('meshes/0.yaml', r'points: .*', 'points: [0]', 'points follows from other data'),
]


def truth_of(reader, path):
    m = reader.read(lib.read(path))
    m.pop('textures')                              # pictures, found in files
    return m


def edited(t):
    sys.path.insert(0, HERE)
    import readjom
    sys.path.pop(0)
    source = os.path.join(corpus(t, 1), 'files', 'ALL.JOM')
    bad = []
    for name, old, new, want in EDITS:
        path = t.file('ALL.JOM', lib.read(source))
        text = run('cat', path, name).stdout.decode()
        truth = truth_of(readjom, path)
        r = run('put', path, name, '-', data=re.sub(old, new, text, count=1).encode())
        for where, value in want.items():
            inside, key = at(truth, where)
            inside[key] = value
        now = truth_of(readjom, path)
        bad += lib.unless(r.returncode == 0, f'{name}: {new!r}: {r.stderr}')
        bad += [f'{name}: {new!r}: {k} is {str(now[k])[:200]}' for k in truth if k != 'warn' and now[k] != truth[k]]
        again = lib.read(path)
        r = run('undo', path)
        bad += lib.unless(r.returncode == 0 and lib.read(path) == lib.read(source) != again, f'{name}: undo: {r.stderr}')
    t.none(bad, f'{len(EDITS)} edits mean what they say, and nothing else changed')
    bad = []
    for name, old, new, why in REFUSALS:
        path = t.file('ALL.JOM', lib.read(source))
        text = run('cat', path, name).stdout.decode()
        r = run('put', path, name, '-', data=re.sub(old, new, text, count=1).encode())
        bad += lib.unless(r.returncode == 1 and why in r.stderr and lib.read(path) == lib.read(source),
                          f'{name}: {new!r}: exit {r.returncode}: {r.stderr}')
    t.none(bad, f'{len(REFUSALS)} texts are refused with a reason')


def unchanged(t):
    """Every document and every piece saved as it is."""
    files, bad, n = os.path.join(corpus(t, 2), 'files'), [], 0
    for name in models(files):
        path = t.file(name, lib.read(files, name))
        to = t.extract(path)
        for view in lib.files(to):
            if not view.endswith(('.yaml', '.bin', '.jom')):
                continue
            n += 1
            r = run('put', path, view, os.path.join(to, view))
            bad += lib.unless(r.returncode == 0 and lib.read(path) == lib.read(files, name),
                              f'{name}/{view}: exit {r.returncode}: {r.stderr}')
    t.none(bad, f'{n} files saved unchanged change nothing')


if __name__ == '__main__':
    if not os.path.exists(os.path.join(HERE, 'check_mount.py')):
        print('skipped: no corpus beside the source')
        sys.exit(77)
    lib.main(shown, folders, loose, damaged, edited, unchanged)
