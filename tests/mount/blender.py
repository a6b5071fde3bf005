"""Blender there and back: import N.obj from the mount, export over it. Nothing edited changes nothing; one vertex moved
changes that vertex and normals of its own faces.

On the meshes of the demo archive and of the real PACs, with both of Blender's exporters and its usual settings. Which
bytes may change is told by an independent reading of the group's vertex type.
"""
import json
import os
import re
import struct

import lib
from lib import SAMPLES, Mount, read

SCRIPT = r'''
import bpy, json, sys
job = json.load(open(sys.argv[-1]))
result = []
def clear():
    bpy.ops.wm.read_factory_settings(use_empty=True)
for path, exporter, move in job:
    clear()
    moved = None
    try:
        if exporter == 'wm.obj_export':
            bpy.ops.wm.obj_import(filepath=path)
        else:
            bpy.ops.import_scene.obj(filepath=path)
        meshes = [o for o in bpy.data.objects if o.type == 'MESH']
        if move:
            used = sorted({v for p in meshes[0].data.polygons for v in p.vertices})
            v = max((meshes[0].data.vertices[i] for i in used), key=lambda v: v.co.length)
            moved = list(v.co)
            v.co *= 0.5
        if exporter == 'wm.obj_export':
            bpy.ops.wm.obj_export(filepath=path, export_triangulated_mesh=False)
        else:
            bpy.ops.export_scene.obj(filepath=path, use_triangles=False)
        result.append(['ok', moved])
    except Exception as e:
        # The older exporter writes N.mtl last, where nothing can be written, and complains; the OBJ is there by then.
        refused = 'PermissionError' in repr(e) and path[:-3] + 'mtl' in repr(e)
        result.append(['ok' if refused else repr(e), moved])
json.dump(result, open(sys.argv[-1] + '.out', 'w'))
'''


def sources(t):
    out = [t.file('DATA.BIN', read(t.demo))]
    names = sorted(n for n in os.listdir(SAMPLES) if n.endswith('.pac')) if os.path.isdir(SAMPLES) else []
    if not names:
        t.skip('no real PACs: ../shared is not there')
    return out + [t.file(n, read(SAMPLES, n)) for n in names]


def objs(point):
    return sorted(p for p in lib.files(point) if p.endswith('.obj'))


def exporters():
    code, text = lib.other('blender', '-b', '--factory-startup', '--python-expr',
                           'import bpy;print("HAS", [k for k in ("wm.obj_export", "export_scene.obj") '
                           'if k.split(".")[1] in dir(getattr(bpy.ops, k.split(".")[0]))])')
    found = re.search(r'HAS (\[.*\])', text)
    return json.loads(found.group(1).replace("'", '"')) if found else []


def changed(a, b):
    return [i for i in range(max(len(a), len(b))) if a[i:i + 1] != b[i:i + 1]]


def unedited(t):
    """import, export: not a byte of any source is another one."""
    lib.need('blender')
    t.ok(exporters(), 'Blender can write OBJ')
    for source in sources(t):
        before = read(source)
        for exporter in exporters():
            with Mount(t, source) as m:
                paths = [os.path.join(m.point, p) for p in objs(m.point)]
                job = [[p, exporter, False] for p in paths]
                bad = [f'{p}: {r[0]}' for p, r in zip(paths, lib.blender(t, SCRIPT, job))
                       if r[0] != 'ok']
                t.none(bad, f'{exporter} over {len(paths)} meshes of {os.path.basename(source)}')
                errors = [p for p in lib.files(m.point) if p.endswith(('.rejected', 'errors.txt'))]
                t.none(errors, 'nothing was refused')
            diff = changed(before, read(source))
            t.ok(not diff, f'{os.path.basename(source)}: no byte changed',
                 f'{len(diff)} bytes from {hex(diff[0]) if diff else 0} on; log: {m.log[-600:]}')
            with open(source, 'wb') as f:
                f.write(before)


def vertex_layout(vtype):
    """(size, normal at, normal bytes, position at, position bytes) of a vertex type, by spec/mhp.md 8.2."""
    at, most, out = 0, 1, {}
    sizes = {1: 1, 2: 2, 3: 4}
    parts = [('weight', vtype >> 9 & 3, (vtype >> 14 & 7) + 1), ('uv', vtype & 3, 2), ('colour', vtype >> 2 & 7, 1),
             ('normal', vtype >> 5 & 3, 3), ('position', vtype >> 7 & 3, 3)]
    for name, kind, count in parts:
        if kind:
            size = (4 if kind == 7 else 2) if name == 'colour' else sizes[kind]
            at = (at + size - 1) // size * size
            out[name] = (at, size * count)
            at += size * count
            most = max(most, size)
    return (at + most - 1) // most * most, out


def moved(t):
    """One vertex moved: only positions of one vertex, and normals."""
    lib.need('blender')
    for source in sources(t):
        for exporter in exporters():
            with Mount(t, source, 'noundo') as m:
                paths = [os.path.join(m.point, p) for p in objs(m.point)]
                for some in rounds([p for p in paths if b'\nf ' in read(p)]):
                    moved_once(t, some, exporter, m.point)


def rounds(paths):
    """Lists of meshes of different models: what changes in a model's bytes is one mesh's doing."""
    out = []
    for p in paths:
        model = os.path.dirname(p)
        free = next((r for r in out if model not in [os.path.dirname(x) for x in r]), None)
        if free is None:
            out.append(free := [])
        free.append(p)
    return out


def whole(path):
    raw = os.path.join(os.path.dirname(os.path.dirname(path)), 'raw')
    return read(raw, next(n for n in os.listdir(raw) if n.startswith('whole')))


def moved_once(t, paths, exporter, point):
    before = [(whole(p), places(read(p))) for p in paths]
    results = lib.blender(t, SCRIPT, [[p, exporter, True] for p in paths])
    for path, (was, shared), result in zip(paths, before, results):
        name = f'{exporter} {os.path.relpath(path, point)}'
        if t.ok(result[0] == 'ok', f'{name}: one vertex moved', result[0]):
            one_moved(t, name, was, whole(path), shared)


def one_moved(t, name, before, after, shared):
    diff = changed(before, after)
    groups = vertices_of(before)
    moved_vertices, others = set(), []
    for i in diff:
        group, vertex, what = find(groups, i)
        if what not in ('position', 'normal'):
            others.append(i)
        elif what == 'position':
            moved_vertices.add((group, vertex))
    t.ok(diff and not others, f'{name}: only positions and normals changed',
         f'{len(diff)} bytes changed, {len(others)} elsewhere, from {hex(others[0]) if others else 0} on')
    t.ok(1 <= len(moved_vertices) <= shared, f'{name}: one position changed',
         f'{len(moved_vertices)} vertices, at most {shared} lie at one place')


def places(obj):
    """How many vertices share a position at most: Blender shows such as one where it merges them."""
    count = {}
    for line in re.findall(rb'^v (.*)$', obj, re.M):
        key = b' '.join(line.split()[:3])
        count[key] = count.get(key, 0) + 1
    return max(count.values())


def vertices_of(pmo):
    """[(offset, end, size, layout)] of the vertex buffers."""
    old = pmo[4:8] == b'1.0\0'
    nmesh, = struct.unpack_from('<H', pmo, 0x1c)
    mesh, group, _, _, _, geometry = struct.unpack_from('<6I', pmo, 0x20)
    stride, at = (0x18, 0x14) if old else (0x30, 0x2c)
    total = sum(struct.unpack_from('<H', pmo, mesh + i * stride + at)[0] for i in range(nmesh))
    out = []
    for g in range(total):
        lst, vtx, idx = struct.unpack_from('<3I', pmo, group + g * 16 + 4)
        words = struct.iter_unpack('<I', pmo[geometry + lst:geometry + vtx])
        vtype = next(w & 0xffffff for w, in words if w >> 24 == 0x12)
        size, layout = vertex_layout(vtype)
        end = geometry + (idx if idx > vtx else len(pmo) - geometry)
        out.append((geometry + vtx, end, size, layout))
    return out


def find(groups, i):
    for g, (at, end, size, layout) in enumerate(groups):
        if at <= i < end:
            k = (i - at) % size
            for name, (start, n) in layout.items():
                if start <= k < start + n:
                    return g, (i - at) // size, name
    return None, None, None


if __name__ == '__main__':
    lib.main(unedited, moved, needs_fuse=True)
