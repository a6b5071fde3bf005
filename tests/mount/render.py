"""meshes/N.obj and model.glb of a model look the same: Blender imports both with the same axes, and Cycles draws them
from the same place.

Both are drawn as they were imported, but for three things that the two formats do not both have, and which other tests
look at as numbers: gloss and clear pixels, which an MTL does not say; colours of vertices, and of materials that have a
picture, which Blender's importer of OBJ leaves out. What is left is a picture, else a colour, lit by the angle of the
normal alone: no shadows, no chance. So pixels are the same but for rounding, which ALIKE allows for.
"""
import json
import os
import struct
import zlib

import gltf
import lib
from lib import read

gltf.SEEDS = lib.CORPUS_SEEDS[:1]
SIZE = 128
ALIKE = 3                                          # of 255, that a channel may differ by
ENOUGH = .98                                       # of the pixels that are drawn in one of the two

SCRIPT = r'''
import bpy, json, sys, numpy
from mathutils import Vector
numpy.bool = bool                                  # the importer of this Blender was written for an older numpy

def drawn():
    """Without the object that the importer makes bones look like."""
    return [o for o in bpy.context.scene.objects if o.type == 'MESH' and o.data.polygons and
            not o.name.startswith('Icosphere')]

def corners():
    graph = bpy.context.evaluated_depsgraph_get()
    at = [o.matrix_world @ v.co for o in drawn() for v in o.evaluated_get(graph).to_mesh().vertices]
    return [[f(p[k] for p in at) for k in range(3)] for f in (min, max)]

def colour(shader):
    """Of a material, as it is where vertices have colours, which a node mixes into it."""
    base = shader.inputs['Base Color']
    if not base.is_linked:
        return base.default_value
    free = [i.default_value for i in base.links[0].from_node.inputs if i.type == 'RGBA' and i.enabled and
            not i.is_linked]
    return free[0] if free else (1, 1, 1, 1)

def lit(material):
    """A picture, else the colour, by the angle to where the light is."""
    material.use_nodes = True
    tree = material.node_tree
    shader = next((n for n in tree.nodes if n.type == 'BSDF_PRINCIPLED'), None)
    picture = next((n for n in tree.nodes if n.type == 'TEX_IMAGE'), None)
    normal, dot = tree.nodes.new('ShaderNodeNewGeometry'), tree.nodes.new('ShaderNodeVectorMath')
    scale, out = tree.nodes.new('ShaderNodeMath'), tree.nodes.new('ShaderNodeEmission')
    dot.operation, scale.operation = 'DOT_PRODUCT', 'MULTIPLY_ADD'
    dot.inputs[1].default_value = Vector((.3, -.8, .5)).normalized()
    scale.inputs[1].default_value, scale.inputs[2].default_value = .4, .5
    tree.links.new(normal.outputs['Normal'], dot.inputs[0])
    tree.links.new(dot.outputs['Value'], scale.inputs[0])
    tree.links.new(scale.outputs[0], out.inputs['Strength'])
    if picture:
        tree.links.new(picture.outputs['Color'], out.inputs['Color'])
    elif shader:
        out.inputs['Color'].default_value = colour(shader)
    end = next(n for n in tree.nodes if n.type == 'OUTPUT_MATERIAL')
    tree.links.new(out.outputs[0], end.inputs['Surface'])

def bare():
    material = bpy.data.materials.new('bare')
    for o in drawn():
        if not o.data.materials:
            o.data.materials.append(material)

def draw(box, path):
    scene = bpy.context.scene
    scene.render.engine, scene.cycles.device = 'CYCLES', 'CPU'
    scene.cycles.samples, scene.cycles.seed, scene.cycles.max_bounces = 4, 0, 0
    scene.cycles.use_adaptive_sampling = scene.cycles.use_denoising = False
    scene.render.threads_mode, scene.render.threads = 'FIXED', 1
    scene.render.resolution_x = scene.render.resolution_y = SIZE
    scene.render.resolution_percentage = 100
    scene.render.image_settings.file_format, scene.render.image_settings.color_mode = 'PNG', 'RGB'
    scene.view_settings.view_transform = 'Standard'
    scene.world = bpy.data.worlds.new('world')
    scene.world.color = 0, 0, 0
    low, high = Vector(box[0]), Vector(box[1])
    reach = max((high - low).length, 1e-6)
    camera = bpy.data.objects.new('camera', bpy.data.cameras.new('camera'))
    camera.data.type, camera.data.ortho_scale = 'ORTHO', reach
    camera.data.clip_start, camera.data.clip_end = reach / 100, reach * 4
    away = Vector((1, -1.5, .8)).normalized()
    camera.location = (low + high) / 2 + away * reach * 2
    camera.rotation_euler = (-away).to_track_quat('-Z', 'Y').to_euler()
    scene.collection.objects.link(camera)
    scene.camera = camera
    bare()
    for m in bpy.data.materials:
        lit(m)
    scene.render.filepath = path
    bpy.ops.render.render(write_still=True)

result = []
for glb, objs, to in json.load(open(sys.argv[-1])):
    try:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.import_scene.gltf(filepath=glb)
        box = corners()
        draw(box, to + '-glb.png')
        bpy.ops.wm.read_factory_settings(use_empty=True)
        for path in objs:
            bpy.ops.wm.obj_import(filepath=path, forward_axis='NEGATIVE_Z', up_axis='Y')
        draw(box, to + '-obj.png')
        result.append(None)
    except Exception as e:
        result.append(repr(e))
json.dump(result, open(sys.argv[-1] + '.out', 'w'))
'''.replace('SIZE', str(SIZE))


def pixels(b):
    """Rows of [(r, g, b)] of a PNG of 8 bits, not interlaced."""
    at, data = 8, b''
    while at < len(b):
        n, tag = struct.unpack_from('>I4s', b, at)
        data += b[at + 8:at + 8 + n] if tag == b'IDAT' else b''
        at += 12 + n
    w, h, depth, colours = struct.unpack_from('>2I2B', b, 16)
    if (depth, colours) != (8, 2):
        raise ValueError(f'a PNG of depth {depth}, colours {colours}')
    raw, last, out = zlib.decompress(data), bytes(3 * w), []
    for y in range(h):
        how, line = raw[y * (3 * w + 1)], bytearray(raw[y * (3 * w + 1) + 1:(y + 1) * (3 * w + 1)])
        for i in range(3 * w):
            left, up, corner = line[i - 3] if i > 2 else 0, last[i], last[i - 3] if i > 2 else 0
            nearest = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[how]) & 255
        out += [tuple(line[i:i + 3]) for i in range(0, 3 * w, 3)]
        last = line
    return out


def alike(a, b):
    """How many of the pixels that are drawn in one of two pictures are the same in both, and how many are drawn."""
    both = [(p, q) for p, q in zip(a, b) if p != (0, 0, 0) or q != (0, 0, 0)]
    same = sum(max(abs(x - y) for x, y in zip(p, q)) <= ALIKE for p, q in both)
    return same / max(len(both), 1), len(both)


def objs_of(path):
    names = sorted(n for n in os.listdir(os.path.join(path, 'meshes')) if n.endswith('.obj'))
    return [os.path.join(path, 'meshes', n) for n in names]


def has_twins(path):
    """Whether two triangles lie in one place: which of them is seen is chance, and one importer drops the second."""
    for p in objs_of(path):
        faces = [tuple(sorted(c.split('/')[0] for c in line.split()[1:])) for line in read(p).decode().splitlines()
                 if line.startswith('f ')]
        if len(set(faces)) < len(faces):
            return True
    return False


def models(t):
    """(what, folder of a model); some of each family."""
    out = [('PMO', os.path.join(t.tree, n, '00.pmo')) for n in sorted(os.listdir(t.tree))
           if os.path.isdir(os.path.join(t.tree, n, '00.pmo'))]
    if not os.path.isdir(os.path.join(lib.SHARED, 'corpus')):
        t.skip('no corpora and samples: ../shared is not there')
        return out
    jom = t.extract(os.path.join(gltf.corpus(t, 'jom', 'mkjom.py', '--out', 'OUT')[gltf.SEEDS[0]], 'files'))
    out += [('JOM', os.path.join(jom, n)) for n in ('ALL.JOM', 'SKEL4.JOM', 'CUBE.JOM')]
    ps3 = t.extract(os.path.join(lib.SHARED, 'corpus', 'ps3', 'files'))
    out += [('quartet', os.path.join(ps3, n)) for n in sorted(os.listdir(ps3))
            if n.endswith('.mlp') and os.path.isdir(os.path.join(ps3, n, 'meshes')) and
            not has_twins(os.path.join(ps3, n))][:3]
    tree = t.extract(os.path.join(gltf.corpus(t, 'mod3', 'mkmod3.py', 'OUT')[gltf.SEEDS[0]], 'tree'))
    out += [('mod3', os.path.join(tree, 'nativePC/em/em900/00/mod/em900_00.mod3'))]
    samples = t.extract(os.path.join(lib.SHARED, 'samples', 'mod3'))
    out += [('mod3', os.path.join(samples, n + '.mod3')) for n in ('slg119_0000', 'swo001', 'confuse')]
    samples = t.extract(os.path.join(lib.SHARED, 'samples', 'mhp'))
    return out + [('PMO', os.path.join(samples, n, '00.pmo')) for n in sorted(os.listdir(samples))
                  if n.endswith('.pac')][:2]


def renders(t):
    lib.need('blender')
    some, to = models(t), t.dir('render')
    jobs = [[os.path.join(path, 'model.glb'), objs_of(path), os.path.join(to, str(k))]
            for k, (_, path) in enumerate(some)]
    drawn = []
    for (family, path), job, error in zip(some, jobs, lib.blender(t, SCRIPT, jobs)):
        what = f'{family} {os.path.relpath(path, os.path.dirname(os.path.dirname(path)))}'
        if not t.ok(not error, f'{what} is drawn', error):
            continue
        drawn.append([pixels(read(f'{job[2]}-{n}.png')) for n in ('glb', 'obj')])
        same, n = alike(*drawn[-1])
        t.ok(same >= ENOUGH and n > SIZE * SIZE / 20, f'{what}: OBJ and GLB look the same',
             f'{same:.2%} of {n} pixels')
    other = [alike(a[0], b[1])[0] for a, b in zip(drawn, drawn[1:])]
    t.ok(other and max(other) < ENOUGH, 'and two models do not', other)


if __name__ == '__main__':
    lib.main(renders)
