"""What other programs make of the files: Blender, assimp, three.js, pngcheck, PyYAML.

The demo archive is read from a mount where that is possible, the real PACs and the corpus as extracted.
"""
import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import lib
from lib import CORPUS, SAMPLES, Mount, read

THREE = 'three@0.160.0'
INSTALL_SECONDS = 60

BLENDER = r'''
import bpy, json, sys
where = sys.argv[-1]
imports = {'import_scene.obj': lambda p: bpy.ops.import_scene.obj(filepath=p),
           'wm.obj_import': lambda p: bpy.ops.wm.obj_import(filepath=p)}
imports = {k: v for k, v in imports.items() if k.split('.')[1] in dir(getattr(bpy.ops, k.split('.')[0]))}
result = {k: [] for k in imports}
bpy.ops.wm.read_factory_settings(use_empty=True)
for name, load in imports.items():
    for path in json.load(open(where)):
        try:
            load(path)
            meshes = [o.data for o in bpy.data.objects if o.type == 'MESH']
            pictures = sorted({bpy.path.abspath(i.filepath) for i in bpy.data.images if i.has_data or i.size[0]})
            result[name].append([sum(len(m.vertices) for m in meshes), sum(len(m.polygons) for m in meshes), pictures])
        except Exception as e:
            result[name].append(repr(e))
        for kind in (bpy.data.objects, bpy.data.meshes, bpy.data.materials, bpy.data.images):
            for x in list(kind):
                kind.remove(x)
json.dump(result, open(where + '.blender', 'w'))
'''

LOADER = r'''
import fs from 'node:fs';
import { OBJLoader } from 'three/examples/jsm/loaders/OBJLoader.js';
const where = process.argv[2], result = [];
for (const path of JSON.parse(fs.readFileSync(where))) {
	const positions = new Set();
	let corners = 0;
	new OBJLoader().parse(fs.readFileSync(path, 'latin1')).traverse((m) => {
		if (!m.isMesh)
			return;
		const p = m.geometry.attributes.position;
		corners += p.count;
		for (let i = 0; i < p.count; i++)
			positions.add([p.getX(i), p.getY(i), p.getZ(i)].join());
	});
	result.push([positions.size, corners / 3]);
}
fs.writeFileSync(where + '.three', JSON.stringify(result));
'''


def f32(x):
    return struct.unpack('<f', struct.pack('<f', x))[0] + 0.0          # no negative zero


class Files:
    """All files of all sources, by extension; what an OBJ holds by our own reader."""

    def __init__(self, roots):
        self.all = [os.path.join(root, p) for root in roots for p in lib.files(root)]
        self.objs = self.of('.obj')
        self.content = [lib.read_obj(read(p)) for p in self.objs]

    def of(self, end):
        return [p for p in self.all if p.endswith(end)]


def roots(t, stack):
    if lib.fuse_missing():
        t.skip('the demo archive from a mount: ' + lib.fuse_missing())
        yield t.tree
    else:
        yield stack.enter_context(Mount(t, t.demo)).point
    if not os.path.exists(os.path.join(CORPUS, 'mkmhp.py')):
        return t.skip('no corpus beside the source')
    where = t.dir('corpus')
    code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), where, '--seed', '1', '--what',
                           'pac,single')
    t.ok(code == 0, 'corpus', text[-300:])
    for folder in (SAMPLES, os.path.join(where, 'pac'), os.path.join(where, 'single')):
        for name in sorted(os.listdir(folder)):
            if name.endswith(('.pac', '.tmh', '.anm', '.ahi', '.pmo')):
                yield t.extract(os.path.join(folder, name))


def everything(t):
    with contextlib.ExitStack() as stack:
        x = Files(list(roots(t, stack)))
        t.ok(len(x.objs) >= 8 and any(f for _, f in x.content), f'{len(x.objs)} OBJ files')
        for f in (yaml, pngcheck, assimp, blender, three):
            try:
                f(t, x)
            except lib.Skip as e:
                t.skip(f'{f.__name__}: {e}')
            except Exception as e:
                t.ok(False, f.__name__, repr(e))


def yaml(t, x):
    paths = x.of('.yaml')
    t.none(lib.yaml_problems(paths), f'PyYAML reads {len(paths)} files, numbers as numbers')


def pngcheck(t, x):
    lib.need('pngcheck')
    paths, bad = x.of('.png'), []
    for i in range(0, len(paths), 500):
        code, text = lib.other('pngcheck', '-q', *paths[i:i + 500])
        bad += text.splitlines() or [f'exit code {code}'] if code or text else []
    t.none(bad, f'pngcheck: {len(paths)} files')


def assimp(t, x):
    """It makes three vertices of each face; those without a face go."""
    lib.need('assimp')
    bad, n = [], 0
    for path, (v, faces) in zip(x.objs, x.content):
        if not faces:
            continue
        n += 1
        code, text = lib.other('assimp', 'info', path, '--raw')
        have = [int(m[1]) if (m := re.search(rf'^{k}: +(\d+)$', text, re.M)) else None for k in ('Vertices', 'Faces')]
        if code or have != [3 * len(faces), len(faces)]:
            bad.append(f'{path}: exit {code}, vertices and faces {have}, expected {[3 * len(faces), len(faces)]}')
            continue
        for which, pick in (('Minimum', min), ('Maximum', max)):
            corner = [float(y) for y in re.search(rf'^{which} point +\((.*)\)$', text, re.M)[1].split()]
            want = [pick(v[i][k] for f in faces for i in f) for k in range(3)]
            if any(abs(a - b) > 1e-5 + 1e-6 * abs(b) for a, b in zip(corner, want)):
                bad.append(f'{path}: {which} {corner}, expected {want}')
    t.none(bad, f'assimp: {n} files, faces and extent')


def blender(t, x):
    lib.need('blender')
    where, script = t.file('list.json', json.dumps(x.objs).encode()), t.file('script.py', BLENDER.encode())
    home = {**os.environ, 'HOME': t.dir('home')}
    code, text = lib.other('blender', '-b', '--factory-startup', '-noaudio', '--python', script, '--', where, env=home)
    if not t.ok(code == 0 and os.path.exists(where + '.blender'), 'blender', (code, text[-400:])):
        return
    for name, results in json.load(open(where + '.blender')).items():
        bad, pictures = [], 0
        for path, (v, faces), r in zip(x.objs, x.content, results):
            if r[:2] != [len(v), len(faces)]:
                bad.append(f'{path}: {r}, expected {len(v)} vertices, {len(faces)} faces')
                continue
            used = set(re.findall(rb'^usemtl (.*)$', read(path), re.M))
            mtl = re.findall(rb'^newmtl (.*)\n(?:(?!newmtl).*\n)*?map_Kd (.*)$', read(path[:-3] + 'mtl'), re.M)
            want = {os.path.realpath(os.path.join(os.path.dirname(path), p.decode())) for m, p in mtl if m in used}
            have = {os.path.realpath(p) for p in r[2]}
            pictures += len(want)
            bad += [f'{path}: pictures {have}, expected {want}'] if have != want else []
        t.none(bad, f'Blender, {name}: {len(results)} files, vertices, faces and {pictures} pictures')
    t.ok(pictures, 'there are pictures on materials')


def package(t):
    """A folder whose node_modules has three; installed when it must be."""
    where = t.dir('three')
    to = os.path.join(where, 'node_modules', 'three')
    os.mkdir(os.path.dirname(to))
    code, everywhere = lib.other('npm', 'root', '-g') if shutil.which('npm') else (1, '')
    places = [os.path.join(lib.SOURCE, 'node_modules')] + os.environ.get('NODE_PATH',
            '').split(':') + [everywhere.strip()] * (not code)
    for p in places:
        if p and os.path.exists(os.path.join(p, 'three', 'examples', 'jsm', 'loaders', 'OBJLoader.js')):
            os.symlink(os.path.join(p, 'three'), to)
            return where
    debian = '/usr/share/javascript/three'         # libjs-three: modules that do not say so
    if os.path.exists(debian + '/examples/jsm/loaders/OBJLoader.js'):
        for f in ('build/three.module.js', 'examples/jsm/loaders/OBJLoader.js'):
            os.makedirs(os.path.dirname(os.path.join(to, f)), exist_ok=True)
            shutil.copyfile(os.path.join(debian, f), os.path.join(to, f))
        with open(os.path.join(to, 'package.json'), 'w') as f:
            json.dump({'name': 'three', 'type': 'module', 'main': 'build/three.module.js'}, f)
        return where
    lib.need('npm')
    try:
        code, text = lib.other('npm', 'install', THREE, '--prefix', where, '--no-audit', '--no-fund',
                               '--ignore-scripts', '--fetch-retries=0',
                               limit=INSTALL_SECONDS, cwd=where)
    except subprocess.TimeoutExpired:
        code, text = 1, 'npm took too long'
    if code:
        raise lib.Skip(f'{THREE} is not there and cannot be installed: {text.strip().splitlines()[-1:]}')
    return where


def three(t, x):
    lib.need('node')
    where = package(t)
    script, files = os.path.join(where, 'load.mjs'), t.file('list.json', json.dumps(x.objs).encode())
    with open(script, 'w') as f:
        f.write(LOADER)
    code, text = lib.other('node', script, files, cwd=where)
    if not t.ok(code == 0, 'three', (code, text[-400:])):
        return
    bad, results = [], json.load(open(files + '.three'))
    for path, (v, faces), r in zip(x.objs, x.content, results):
        want = [len({tuple(f32(c) for c in v[i][:3]) for f in faces for i in f}), len(faces)]
        bad += [f'{path}: places and faces {r}, expected {want}'] if r != want else []
    t.none(bad, f'three.js: {len(results)} files, places and faces')


if __name__ == '__main__':
    if lib.SANITIZERS:
        print('skipped: other programs read the same files without the sanitizers')
        sys.exit(77)
    lib.main(everything)
