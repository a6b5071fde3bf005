"""Edits of JOM models, one of each kind, read back by the corpus's own reader: the value is there, what follows from it
has followed, and all else is as it was. What is refused changes nothing."""
import math
import os
import shutil
import struct
import subprocess
import sys

import lib
from lib import PROGRAM, SHARED, unless

JOM = os.path.join(SHARED, 'corpus', 'jom')
if not os.path.isdir(os.path.join(JOM, 'files')):
    print('skipped: no corpus of JOM models')
    sys.exit(77)
sys.path[:0] = [JOM, os.path.join(SHARED, 'corpus', 'lib')]
import readjom
import treecheck

ONE = 65536
SEED = '7'
_models = None


def models(t):
    """The corpus, made anew from another seed."""
    global _models
    if not _models:
        _models = t.dir('jom')
        subprocess.run([sys.executable, os.path.join(JOM, 'mkjom.py'), '--seed', SEED, '--out', _models], check=True,
                       stdout=subprocess.DEVNULL)
    return os.path.join(_models, 'files')


class Model:
    """A model in a folder of its own, with the textures beside it."""

    def __init__(self, t, name):
        self.t, self.name = t, name
        self.folder = os.path.join(t.dir('model'), 'm')
        shutil.copytree(models(t), self.folder)
        self.path = os.path.join(self.folder, name)
        self.was = self.read()
        self.bytes = self.all()

    def all(self):
        return {n: open(os.path.join(self.folder, n), 'rb').read() for n in sorted(os.listdir(self.folder))
                if not n.startswith('.')}

    def read(self):
        with open(self.path, 'rb') as f:
            m = readjom.read(f.read())
        m['pictures'] = [(a, b) for a, b in readjom.textures(m, self.folder)]
        del m['textures']
        return m

    def run(self, *args, data=None):
        return subprocess.run([PROGRAM, *args], input=data, capture_output=True)

    def cat(self, path):
        r = self.run('cat', self.path, path)
        if r.returncode:
            raise RuntimeError(f'{self.name} {path}: {r.stderr.decode()}')
        return r.stdout

    def put(self, path, data, *options):
        """What modelfs says; '' when it took it."""
        r = self.run('put', '-n', *options, self.path, path, '-', data=data)
        if r.returncode and not r.stderr:
            return f'exit {r.returncode}'
        return r.stderr.decode() if r.returncode else ''

    def edit(self, path, change, *options, again=True):
        """Applies change(text) -> text, which has to be taken, and again, which has to change nothing. The model as it
        is now."""
        text = change(self.cat(path).decode())
        why = self.put(path, text.encode(), *options)
        self.t.same(why, '', f'{self.name} {path}: taken')
        if again:
            now = self.all()
            why = self.put(path, text.encode(), *options)
            self.t.ok(not why and self.all() == now, f'{self.name} {path}: applied again', why)
        return self.read()

    def others(self, now, *keys):
        """Everything but keys is as it was."""
        self.t.none([f'{k}: {treecheck.brief(self.was[k])} is now {treecheck.brief(now[k])}' for k in self.was
                     if k not in keys and self.was[k] != now[k]], f'{self.name}: nothing else changed')

    def refused(self, path, change, why, *options):
        data = self.cat(path)
        got = self.put(path, change(data.decode()).encode() if callable(change) else change, *options)
        self.t.ok(why in got, f'{self.name} {path}: {why}', got or 'it was taken')
        self.t.ok(self.all() == self.bytes, f'{self.name} {path}: nothing changed')


# ---- texts

def swap(old, new, nth=0):
    """An edit of a text: the nth place of old."""
    def change(s):
        at = -1
        for _ in range(nth + 1):
            at = s.index(old, at + 1)
        return s[:at] + new + s[at + len(old):]
    return change


def lines(kind, change):
    """change(list of the words behind each line `kind`, by number), then put back."""
    def edit(s):
        all_lines, rows = s.split('\n'), []
        at = [i for i, line in enumerate(all_lines) if line.split(' ')[0] == kind]
        rows = [all_lines[i].split(' ')[1:] for i in at]
        change(rows)
        for i, row in zip(at, rows):
            all_lines[i] = ' '.join([kind] + row)
        return '\n'.join(all_lines)
    return edit


def line(kind, n, *words):
    def change(rows):
        rows[n] = list(words)
    return lines(kind, change)


def more(*added):
    return lambda s: s + ''.join(x + '\n' for x in added)


def behind(kind, *added):
    """Lines behind the last one of that kind."""
    def edit(s):
        rows = s.split('\n')
        at = max(i for i, row in enumerate(rows) if row.split(' ')[0] == kind)
        return '\n'.join(rows[:at + 1] + list(added) + rows[at + 1:])
    return edit


def without(kind, n):
    def edit(s):
        rows = s.split('\n')
        at = [i for i, row in enumerate(rows) if row.split(' ')[0] == kind][n]
        return '\n'.join(rows[:at] + rows[at + 1:])
    return edit


def without_vertices(numbers):
    """Without those v lines, counted from 1; faces are numbered anew."""
    def edit(s):
        out, n, to = [], 0, {}
        for row in s.split('\n'):
            words = row.split(' ')
            if words[0] == 'v':
                n += 1
                to[n] = len(to) + 1 if n not in numbers else None
                to = {k: v for k, v in to.items() if v is not None}
                if n in numbers:
                    continue
            elif words[0] == 'f':
                corners = [c.split('/') for c in words[1:]]
                row = ' '.join(['f'] + ['/'.join([str(to[int(c[0])])] + c[1:]) for c in corners])
            out.append(row)
        return '\n'.join(out)
    return edit


def both(*edits):
    def edit(s):
        for e in edits:
            s = e(s)
        return s
    return edit


# ---- what follows from what

def normal(points, corners):
    """(D - B) x (C - A), of length 1 (jom.md 4.1)."""
    a, b, c, d = (points[i] for i in corners)
    u, v = [d[k] - b[k] for k in range(3)], [c[k] - a[k] for k in range(3)]
    n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    length = math.sqrt(sum(x * x for x in n))
    return [x / length * ONE for x in n] if length else None


def close(a, b):
    return all(abs(x - y) <= 1 for x, y in zip(a, b))


def sphere(points):
    """The middle of the box, and the farthest point's distance rounded up (jom.md 6)."""
    c = [(min(p[k] for p in points) + max(p[k] for p in points)) // 2 for k in range(3)]
    far = max(sum((p[k] - c[k]) ** 2 for k in range(3)) for p in points)
    r = math.isqrt(far)
    return c, r + (r * r < far)


def check_normals(t, m, now, what):
    """Those of polygons whose corners moved are the formula's, the others are as they were."""
    problems = []
    for k, (a, b) in enumerate(zip(m.was['polygons'], now['polygons'])):
        due = a[3:7] != b[3:7] or any(m.was['points'][i] != now['points'][i] for i in a[3:7])
        want = normal(now['points'], b[3:7]) if due else a[:3]
        if want and not close(b[:3], want):
            problems.append(f'polygon {k}: {b[:3]}, expected {want}')
    t.none(problems, f'{m.name}: normals of {what}')


def faces(m):
    """Every polygon as a set of places, with what it has; however it is numbered."""
    out = []
    for k, p in enumerate(m['polygons']):
        out.append((tuple(tuple(m['points'][i]) + tuple(m['vcol'][i] if m['vcol'] else ()) for i in p[3:7]), p[7],
                    tuple(map(tuple, (m['ntab'][i] for i in m['cnrm'][k]))) if m['cnrm'] else (),
                    tuple(m['gour'][k]) if m['gour'] else (), tuple(p[:3])))
    return out


# ---- values of OBJ

def points_move(t):
    m = Model(t, 'CUBE.JOM')
    now = m.edit('meshes/0.obj', line('v', 0, '-0.5', '0.75', '0.9999847412109375'))
    t.same(now['points'][0], [-ONE // 2, -ONE * 3 // 4, -65535], 'a point moved inwards')
    check_normals(t, m, now, 'the polygons of a point')
    m.others(now, 'points', 'polygons')
    t.same([p[3:] for p in now['polygons']], [p[3:] for p in m.was['polygons']], 'corners and materials')

    m = Model(t, 'CUBE.JOM')
    now = m.edit('model.obj', line('v', 7, '2.5', '-1.0', '-1.0'))
    t.same(now['points'][7], [5 * ONE // 2, ONE, ONE], 'a point moved outwards')
    check_normals(t, m, now, 'the polygons of a point')
    t.same((now['sphere_centre'], now['sphere_radius']), sphere(now['points']), 'the sphere follows')
    m.others(now, 'points', 'polygons', 'sphere_centre', 'sphere_radius')

    # Exact, half away from zero.
    m = Model(t, 'MIN.JOM')
    now = m.edit('meshes/0.obj', line('v', 1, '0.00002288818359375', '-0.000022888', '0.0'))
    t.same(now['points'][1], [2, 1, 0], 'rounded to the nearest')
    m.others(now, 'points', 'polygons')


def shared_point_moves(t):
    m = Model(t, 'GROUPS.JOM')
    own = {i for g in m.was['groups'] for i in range(g['first_point'], g['first_point'] + g['point_count'])}
    shared = next(i for i in range(len(m.was['points'])) if i not in own)
    shown = treecheck.load_yaml(m.cat('meshes/0.yaml').decode())['points']
    other = next(n for n in range(1, 4) if shared in
                 treecheck.load_yaml(m.cat(f'meshes/{n}.yaml').decode())['points'])
    now = m.edit('meshes/0.obj', line('v', shown.index(shared), '0.25', '0.25', '0.25'))
    t.same(now['points'][shared], [ONE // 4, -ONE // 4, -ONE // 4], 'a shared point moved')
    t.ok(b'v 0.25 0.25 0.25\n' in m.cat(f'meshes/{other}.obj'), 'it shows in the other mesh')
    check_normals(t, m, now, 'both meshes')
    m.others(now, 'points', 'polygons', 'warn')


def colours(t):
    m = Model(t, 'GOURAUD.JOM')
    v = m.cat('meshes/0.obj').decode().split('\n')[1 + 3].split(' ')[1:4]
    now = m.edit('meshes/0.obj', line('v', 3, *v, '1.0', '0.5', '0.0'))
    t.same(now['vcol'][3], [ONE, ONE // 2, 0], 'a colour')
    want = [list(row) for row in m.was['gour']]
    for k, p in enumerate(m.was['polygons']):
        for c in range(4):
            if p[3 + c] == 3 and m.was['materials'][p[7]]['flags'] & 8:
                want[k][c] = (want[k][c] & 0x8000) | 0 << 10 | 16 << 5 | 31
    t.same(now['gour'], want, 'the words of its corners')
    m.others(now, 'vcol', 'gour')

    m = Model(t, 'GOURAUD.JOM')
    v = m.cat('meshes/0.obj').decode().split('\n')[1 + 12].split(' ')[1:4]
    now = m.edit('meshes/0.obj', line('v', 12, *v, '1.0', '0.5', '0.0'))
    m.others(now, 'vcol')                                # its material has no gouraud

    m = Model(t, 'CUBE.JOM')                             # colours where there were none
    v = m.cat('meshes/0.obj').decode().split('\n')[1].split(' ')[1:4]
    now = m.edit('meshes/0.obj', line('v', 0, *v, '0.0', '0.25', '2.0'), '-g')
    t.same(now['vcol'], [[0, ONE // 4, 2 * ONE]] + [[ONE] * 3] * 7, 'colours are added')
    t.same([c[0] for c in now['chunks']], ['PNTS', 'QUAD', 'QMAT', 'MATL', 'VCOL', 'END '], 'a new chunk has its place')
    m.others(now, 'vcol', 'chunks')


def normals_of_corners(t):
    m = Model(t, 'NORMALS.JOM')
    now = m.edit('meshes/0.obj', line('vn', 1, '0.5', '-0.25', '0.0'))
    t.same(now['ntab'][1], [ONE // 2, ONE // 4, 0], 'a normal')
    t.same(now['ntab'][2:], m.was['ntab'][2:], 'the others')
    m.others(now, 'ntab')

    m = Model(t, 'NORMALS.JOM')
    face = m.cat('meshes/0.obj').decode().split('\nf ')[1].split('\n')[0].split(' ')
    number = 1 + (int(face[0].split('/')[2]) % 5)
    now = m.edit('meshes/0.obj', line('f', 0, '/'.join(face[0].split('/')[:2] + [str(number)]), *face[1:]))
    want = [list(r) for r in m.was['cnrm']]
    want[0][0] = number - 1
    t.same(now['cnrm'], want, "another normal of a polygon's corner A")
    m.others(now, 'cnrm')

    m = Model(t, 'NORMALS.JOM')                          # one more, which a corner uses
    now = m.edit('meshes/0.obj', both(behind('vn', 'vn 0.0 1.0 0.0'),
                                      line('f', 0, '/'.join(face[0].split('/')[:2] + ['6']), *face[1:])), '-g')
    want[0][0] = 5
    t.same((now['ntab'][5:], now['cnrm']), ([[0, -ONE, 0]], want), 'a new normal')
    m.others(now, 'ntab', 'cnrm', 'chunks')


def corners(t):
    m = Model(t, 'QMAT3.JOM')
    now = m.edit('meshes/0.obj', line('f', 1, '5/1', '8/4', '3/3', '6/2'))
    want = [list(p) for p in m.was['polygons']]
    want[1][3:7] = [4, 5, 2, 7]
    t.same([p[3:] for p in now['polygons']], [p[3:] for p in want], 'a corner is another point')
    check_normals(t, m, now, 'its polygon')
    m.others(now, 'polygons', 'warn')

    m = Model(t, 'QMAT3.JOM')                            # only the texture is turned
    now = m.edit('meshes/0.obj', line('f', 1, '5/2', '8/1', '7/4', '6/3'))
    want = [list(p) for p in m.was['polygons']]
    want[1][3:7] = [7, 4, 5, 6]
    t.same(now['polygons'], want, 'a quad begins where its texture does')
    m.others(now, 'polygons')

    m = Model(t, 'QMAT3.JOM')                            # the same face, told from another corner
    m.edit('meshes/0.obj', line('f', 1, '7/3', '6/2', '5/1', '8/4'))
    t.ok(m.all() == m.bytes, 'a face that begins with another corner is the same')

    m = Model(t, 'QMAT3.JOM')
    was = m.was['polygons'][0][7]
    now = m.edit('meshes/0.obj', lambda s: s.replace('f ', f'usemtl m{(was + 1) % 3}\nf ', 1)
                 .replace('\nf 5', f'\nusemtl m{m.was["polygons"][1][7]}\nf 5'))
    t.same([p[7] for p in now['polygons']], [(was + 1) % 3] + [p[7] for p in m.was['polygons'][1:]], 'a material')
    t.same([p[:7] for p in now['polygons']], [p[:7] for p in m.was['polygons']], 'the polygons themselves')
    m.others(now, 'polygons')


# ---- faces and points

def check_groups(t, m, now, what):
    """Ranges of groups hold what they should, as far as they did before."""
    t.none([w for w in now['warn'] if w not in m.was['warn']], f'{m.name} {what}: no new warnings')


def faces_added(t):
    m = Model(t, 'GROUPS.JOM')
    n = m.cat('meshes/1.obj').decode().count('\nv ')
    now = m.edit('meshes/1.obj', both(behind('v', 'v 3.0 9.0 0.0', 'v 4.0 9.0 0.0'),
                                      more(f'f 1/1 2/4 {n + 2}/3 {n + 1}/2')), '-g')
    was = faces(m.was)
    t.same(len(now['polygons']), len(m.was['polygons']) + 1, 'a face more')
    t.same(len(now['points']), len(m.was['points']) + 2, 'two points more')
    t.none([f for f in was if f not in faces(now)], 'the others are what they were')
    g, h = m.was['groups'], now['groups']
    t.same([x['polygon_count'] for x in h], [x['polygon_count'] + (i == 1) for i, x in enumerate(g)], 'polygon counts')
    t.same([x['point_count'] for x in h], [x['point_count'] + 2 * (i == 1) for i, x in enumerate(g)], 'point counts')
    check_groups(t, m, now, 'a face added')
    check_new = [k for k, f in enumerate(faces(now)) if f not in was]
    t.same(check_new, [h[1]['first_polygon'] + h[1]['polygon_count'] - 1], 'it is the last of its group')
    p = now['polygons'][check_new[0]]
    t.ok(close(p[:3], normal(now['points'], p[3:7])), 'its normal', p)
    t.same((now['sphere_centre'], now['sphere_radius']), sphere(now['points']), 'the sphere follows')
    m.others(now, 'points', 'polygons', 'groups', 'chunks', 'sphere_centre', 'sphere_radius', 'warn')


def everything_added(t, name):
    """In a model with every chunk."""
    m = Model(t, name)
    first = m.was['groups'][0]
    text = m.cat('meshes/0.obj').decode()
    n = text.count('\nv ')
    now = m.edit('meshes/0.obj', both(behind('v', 'v 0.0 0.5 0.0 0.5 0.5 0.5'), more(
        f'usemtl all2', f'f 1//1 2//2 {n + 1}//3')), '-g')
    was = faces(m.was)
    t.none([f for f in was if f not in faces(now)], f'{name}: the others are what they were')
    k = first['first_polygon'] + first['polygon_count']
    p = now['polygons'][k]
    shown = treecheck.load_yaml(m.cat('meshes/0.yaml').decode())['points']
    t.same(p[3:7], [shown[0], p[4], shown[1], shown[1]], f'{name}: corners of a triangle')
    t.same((p[7], now['cnrm'][k]), (2, [0, 2, 1, 1]), f'{name}: its material and normals')
    t.same((now['points'][p[4]], now['vcol'][p[4]]), ([0, -ONE // 2, 0], [ONE // 2] * 3), f'{name}: its point')
    words = [sum((c * 31 + ONE // 2) // ONE << 5 * j for j, c in enumerate(now['vcol'][i])) | 0x8000 for i in p[3:7]]
    t.same(now['gour'][k], words, f'{name}: its gouraud words')
    check_groups(t, m, now, 'a face added')
    m.others(now, 'points', 'polygons', 'groups', 'chunks', 'sphere_centre', 'sphere_radius', 'cnrm', 'vcol', 'gour',
             'warn')
    t.same([c[0] for c in now['chunks']], [c[0] for c in m.was['chunks']], f'{name}: the order of chunks')


def faces_removed(t):
    m = Model(t, 'GROUPS.JOM')
    now = m.edit('meshes/1.obj', both(without('f', 5), without('f', 0)), '-g')
    g = m.was['groups'][1]
    gone = [g['first_polygon'], g['first_polygon'] + 5]
    t.same(faces(now), [f for k, f in enumerate(faces(m.was)) if k not in gone], 'two faces less')
    check_groups(t, m, now, 'faces removed')
    m.others(now, 'polygons', 'points', 'groups', 'chunks', 'warn')

    m = Model(t, 'CUBE.JOM')                             # a corner of a cube, with the faces that have it
    def cut(s):
        rows = [r for r in s.split('\n') if not (r.startswith('f ') and any(c.split('/')[0] == '8' for c in r.split()))]
        return without_vertices([8])('\n'.join(rows))
    now = m.edit('model.obj', cut, '-g')
    t.same(now['points'], m.was['points'][:7], 'a point less')
    t.same(now['polygons'], [p for p in m.was['polygons'] if 7 not in p[3:7]], 'and its faces')
    m.others(now, 'points', 'polygons', 'chunks')

    m = Model(t, 'GROUPS.JOM')                           # what only the bridge shared becomes its neighbour's own
    k = m.was['groups'][3]['first_polygon']
    shown = treecheck.load_yaml(m.cat('meshes/3.yaml').decode())['points']
    own = [i for i in m.was['polygons'][k][3:7] if sum(i in p[3:7] for p in m.was['polygons']) == 1]
    now = m.edit('meshes/3.obj', both(without('f', 0), without_vertices([shown.index(i) + 1 for i in own])), '-g')
    check_groups(t, m, now, 'the end of sharing')
    t.same(faces(now), [f for i, f in enumerate(faces(m.was)) if i != k], 'a face of the bridge less')
    t.same(len(now['points']), len(m.was['points']) - 2, 'and the points that only it had')
    t.same(now['groups'][0]['point_count'], m.was['groups'][0]['point_count'] + 2, 'others belong to one group now')


def whole_model(t):
    m = Model(t, 'UNGROUPED.JOM')
    text = m.cat('model.obj').decode()
    t.same([w.split('\n')[0] for w in text.split('\no ')[1:]], ['ungrouped', 'middle', 'ungrouped'], 'objects')
    now = m.edit('model.obj', more('o middle', 'f 9 10 11'), '-g')
    g = now['groups'][0]
    t.same((g['first_polygon'], g['polygon_count']), (6, 7), 'a face joins the group of its object')
    t.same(now['polygons'][12][3:7], [8, 10, 9, 9], 'behind its others')
    m.others(now, 'polygons', 'groups', 'chunks', 'warn')

    m = Model(t, 'UNGROUPED.JOM')
    now = m.edit('model.obj', more('f 1 2 3'), '-g')
    t.same((now['polygons'][-1][3:7], len(now['polygons'])), ([0, 2, 1, 1], 19), 'and another one no group')
    m.others(now, 'polygons', 'chunks', 'warn')

    m = Model(t, 'EMPTY.JOM')
    now = m.edit('model.obj', lambda s: 'v 0.0 0.0 0.0\nv 2.0 0.0 0.0\nv 0.0 -2.0 0.0\nv 5.0 5.0 5.0\nf 1 2 3\n', '-g')
    t.same(now['points'], [[0, 0, 0], [2 * ONE, 0, 0], [0, 2 * ONE, 0], [5 * ONE, -5 * ONE, -5 * ONE]],
           'points from nothing')
    t.same(now['polygons'], [[0, 0, ONE, 0, 2, 1, 1, 0]], 'a polygon from nothing')
    t.same((now['sphere_centre'], now['sphere_radius']), sphere(now['points']), 'and its sphere')
    m.others(now, 'points', 'polygons', 'chunks', 'sphere_centre', 'sphere_radius')

    m = Model(t, 'NORMALS.JOM')                          # parity of QMAT's padding
    now = m.edit('model.obj', without('f', 6), '-g')
    t.same((now['polygons'], now['cnrm']), (m.was['polygons'][:6], m.was['cnrm'][:6]), 'the last face less')
    m.others(now, 'polygons', 'cnrm', 'chunks')

    m = Model(t, 'RESERVED.JOM')
    now = m.edit('model.obj', more('f 1 2 3', 'f 2 3 4'), '-g')
    chunk = next(c for c in now['chunks'] if c[0] == 'QMAT')
    t.same(m.all()['RESERVED.JOM'][chunk[1] + chunk[2] - 2:chunk[1] + chunk[2]], b'\xab\xcd', "QMAT's padding stays")
    m.others(now, 'polygons', 'groups', 'chunks', 'warn')


# ---- YAML

def values(t):
    m = Model(t, 'ALL.JOM')
    now = m.edit('header.yaml', lambda s: s.replace('sphere_radius:', 'sphere_radius: 1.25 #'))
    t.same(now['sphere_radius'], 5 * ONE // 4, 'a radius')
    m.others(now, 'sphere_radius')
    m = Model(t, 'ALL.JOM')
    now = m.edit('materials.yaml', swap('shine: 3', 'shine: 200'))
    t.same([a['shine'] for a in now['materials']], [0, 1, 2, 200, 4], 'a shine')
    m.others(now, 'materials')
    m = Model(t, 'ALL.JOM')
    now = m.edit('meshes/2.yaml', lambda s: s.split('normals:\n')[0] + 'normals:\n- [0.25, 0.5, -1.0]\n' +
                 '\n'.join(s.split('normals:\n')[1].split('\n')[1:]))
    k = m.was['groups'][2]['first_polygon']
    t.same(now['polygons'][k][:3], [ONE // 4, ONE // 2, -ONE], 'a normal by hand')
    t.same(now['polygons'][:k] + now['polygons'][k + 1:], m.was['polygons'][:k] + m.was['polygons'][k + 1:], 'no other')
    m.others(now, 'polygons', 'warn')
    m = Model(t, 'ALL.JOM')
    row = '- [0x1234, 0x0000, 0xffff, 0x8001]\n'
    now = m.edit('meshes/0.yaml', lambda s: s.split('gouraud:\n')[0] + 'gouraud:\n' + row +
                 '\n'.join(s.split('gouraud:\n')[1].split('\n')[1:]))
    t.same(now['gour'][m.was['groups'][0]['first_polygon']], [0x1234, 0, 0xffff, 0x8001], 'words by hand')
    m.others(now, 'gour')


def material_added(t):
    m = Model(t, 'NAMES.JOM')
    now = m.edit('materials.yaml', more('- name: "extra"', '  colour: [1, 2, 3]', '  flags: [gouraud]'), '-g')
    t.same(now['materials'][:-1], m.was['materials'], 'the others are what they were')
    t.same(now['materials'][-1], dict(name='extra', colour=[1, 2, 3], shine=0, texture=-1, subdivision_error=0, flags=8,
                                      user=0), 'a new material')
    m.others(now, 'materials', 'chunks', 'warn')
    m.was = now
    now = m.edit('meshes/0.obj', lambda s: s.replace('usemtl ABCDEFGHIJKLMNO', 'usemtl extra'))
    t.same({p[7] for p in now['polygons'][:6]}, {len(now['materials']) - 1}, 'that a mesh can use')
    m.others(now, 'polygons')


def skeleton(t):
    m = Model(t, 'SKEL4.JOM')
    now = m.edit('skeleton.yaml', more('- name: "tail"', '  parent: 1', '  pivot: [0.5, 0.0, 0.0]'), '-g')
    tail = dict(name='tail', group=0xffff, parent=1, pivot=[ONE // 2, 0, 0])
    t.same(now['bones'], m.was['bones'] + [tail], 'a bone more')
    want = [[[root, angles + [[0, 0, 0]]] for root, angles in a['keys']] for a in m.was['animations']]
    t.same([a['keys'] for a in now['animations']], want, 'its angles are 0')
    t.same(sizes(now), offsets(now), 'offsets follow')
    m.others(now, 'bones', 'animations', 'chunks')

    m = Model(t, 'SKEL5.JOM')                            # bone 2 goes, wherever it hangs
    def drop(s):
        items = s.split('\n- ')
        del items[3]
        text = '\n- '.join(items)
        return '\n'.join('  parent: null' if line.startswith('  parent: ') else line for line in text.split('\n'))
    now = m.edit('skeleton.yaml', drop, '-g')
    t.same([b['name'] for b in now['bones']], ['bone0', 'bone1', 'bone3', 'bone4'], 'a bone less')
    want = [[[root, angles[:2] + angles[3:]] for root, angles in a['keys']] for a in m.was['animations']]
    t.same([a['keys'] for a in now['animations']], want, 'the angles of the others stay theirs')
    t.same(sizes(now), offsets(now), 'offsets follow')
    m.others(now, 'bones', 'animations', 'chunks')


def sizes(m):
    """Offsets as the key counts and bones make them."""
    at, out, size = 4 + 28 * len(m['animations']), [], 12 + 6 * len(m['bones'])
    for a in m['animations']:
        out.append(at)
        at += len(a['keys']) * (size + size % 4)
    return out


def offsets(m):
    return [a['offset'] for a in m['animations']]


def keys(t):
    m = Model(t, 'SKEL1.JOM')
    now = m.edit('animations/IDLE.yaml', both(swap('key_count: 1', 'key_count: 2'), more(
        '- root: [1.0, 2.0, -0.5]', '  angles:', '  - [90.0, -45.0, 0.0]')), '-g')
    want = [a['keys'] for a in m.was['animations']]
    want[1] = want[1] + [[[ONE, 2 * ONE, -ONE // 2], [[16384, -8192, 0]]]]
    t.same([a['keys'] for a in now['animations']], want, 'a key more')
    t.same(sizes(now), offsets(now), 'offsets follow')
    m.others(now, 'animations', 'chunks')

    m = Model(t, 'SKEL5.JOM')
    def drop(s):
        items = s.split('\n- root')
        del items[2]
        return '\n- root'.join(items)
    now = m.edit('animations/WALK.yaml', drop, '-g', again=False)
    want = [a['keys'] for a in m.was['animations']]
    del want[0][1]
    t.same([a['keys'] for a in now['animations']], want, 'a key less')
    t.same(sizes(now), offsets(now), 'offsets follow')
    m.others(now, 'animations', 'chunks')


# ---- pictures

def paint(m, k, change):
    """Writes another PNG of texture k: change(pixels) of [r, g, b, a]."""
    w, h, px = treecheck.read_png(m.cat(f'textures/{k}.png'))
    px = [list(px[i:i + 4]) for i in range(0, len(px), 4)]
    change(px)
    why = m.put(f'textures/{k}.png', treecheck.write_png(w, h, b''.join(bytes(p) for p in px)))
    m.t.same(why, '', f'{m.name} textures/{k}.png: taken')
    return m.read(), b''.join(bytes(p) for p in px)


def ends_in_digits(name):
    return name[-11] == '_' and name[-4:] == '.BIN' and all(c in '0123456789ABCDEF' for c in name[-10:-4])


def embedded(t):
    for name, k in (('TIMG0.JOM', 0), ('TIMGMIX.JOM', 0), ('TIMGMIX.JOM', 3)):
        m = Model(t, name)
        now, px = paint(m, k, lambda px: px.__setitem__(slice(0, 2), [[255, 0, 132, 255], [0, 0, 0, 0]]))
        t.same(now['pictures'][k][1], px, f'{name}: pixels of texture {k}')
        new = now['text'][k]
        t.ok(new != m.was['text'][k] and new[:5] == m.was['text'][k][:5] and ends_in_digits(new) and
             now['timg'][k]['name'] == new, f'{name}: a new name in both places', new)
        t.same([n for i, n in enumerate(now['text']) if i != k], [n for i, n in enumerate(m.was['text']) if i != k],
               f'{name}: the other names')
        m.others(now, 'text', 'timg', 'pictures')
    for name, k in (('TIMG1.JOM', 0), ('TIMGMIX.JOM', 1), ('TIMGMIX.JOM', 2)):
        m = Model(t, name)
        old = m.was['timg'][k]['lut']
        # One colour becomes another; there is no room for both.
        spread = [treecheck.read_png(m.cat(f'textures/{k}.png'))[2][i:i + 4] for i in range(0, 4 * 8, 4)]
        victim = next(c for c in spread if c[3] == 255)
        now, px = paint(m, k, lambda px: [p.__setitem__(slice(0, 4), [255, 0, 132, 255]) for p in px
                                         if bytes(p) == victim])
        t.same(now['pictures'][k][1], px, f'{name}: pixels of texture {k}')
        same = [w for w in now['timg'][k]['lut'] if w in old]
        t.same(same, [w for w in old if w in same], f'{name}: colours that still occur keep their order')
        t.ok(ends_in_digits(now['text'][k]) and now['timg'][k]['name'] == now['text'][k] != m.was['text'][k],
             f'{name}: a new name in both places')
        m.others(now, 'text', 'timg', 'pictures')


def loose(t):
    for k in range(6):
        m = Model(t, 'LOOSE.JOM')
        file = m.was['pictures'][k][0]['file']
        w, h, px = treecheck.read_png(m.cat(f'textures/{k}.png'))
        colour = [255, 0, 132, 255]
        if k == 4:                                       # whose colours are those of its map
            colour = list(next(px[i:i + 4] for i in range(8, len(px), 4) if px[i + 3] and px[i:i + 4] != px[:4]))
        clear = [0, 0, 0, 0] if k in (0, 1, 3, 4) else [8, 16, 24, 255]
        now, px = paint(m, k, lambda px: px.__setitem__(slice(0, 2), [colour, clear]))
        t.same(now['pictures'][k][1], px, f'{file}: pixels')
        files = m.all()
        t.same([n for n in files if files[n] != m.bytes[n]], [file], f'{file}: only this file changed')
        t.same(len(files[file]), len(m.bytes[file]), f'{file}: its size')
        m.others(now, 'pictures')


def texture_names(t):
    m = Model(t, 'TIMG0.JOM')
    now = m.edit('textures/0.yaml', lambda s: s.replace(m.was['text'][0], 'AB_000000.BIN'))
    t.same((now['text'], now['timg'][0]['name']), (['AB_000000.BIN'], 'AB_000000.BIN'), 'a name in TEXT and TIMG')
    m.others(now, 'text', 'timg', 'pictures')
    m = Model(t, 'LOOSE.JOM')
    now = m.edit('textures/6.yaml', lambda s: s.replace('GONE.BIN', 'WALL.BIN'), again=False)
    t.same(now['text'][6], 'WALL.BIN', 'the model looks for another file')
    t.same(m.cat('textures/6.png'), m.cat('textures/0.png'), 'and finds it')
    m.others(now, 'text', 'pictures')


# ---- bytes

def raw(t):
    m = Model(t, 'UNKNOWN.JOM')
    data = m.cat('raw/note.bin')
    t.same(m.put('raw/note.bin', b'TEXT' + data[4:]), '', 'an unknown chunk')
    now = m.read()
    t.same(now['unknown'][2][1], (b'TEXT' + data[4:]).hex(), 'has other bytes')
    m.others(now, 'unknown')
    m.bytes = m.all()
    m.refused('raw/note.bin', lambda s: s + 'more', '20 bytes needed, got 24')
    m.refused('raw/QUAD.bin', b'\xff' * len(m.cat('raw/QUAD.bin')), '')
    m.refused('raw/PNTS.bin', struct.pack('>I', 99) + m.cat('raw/PNTS.bin')[4:], '')

    m = Model(t, 'CUBE.JOM')
    other = m.bytes['NORMALS.JOM']
    t.same(m.put('raw/whole.jom', other, '-g'), '', 'another model in its place')
    t.ok(m.all()['CUBE.JOM'] == other, 'is there')
    m = Model(t, 'CUBE.JOM')
    for why, data in (('cut', m.bytes['CUBE.JOM'][:-4]), ('no JOM', b'nothing'), ('empty', b'')):
        got = m.put('raw/whole.jom', data, '-g')
        t.ok(got and m.all() == m.bytes, f'raw/whole.jom, {why}: refused', got)


# ---- refusals

def refusals(t):
    cube = Model(t, 'CUBE.JOM')
    cube.refused('meshes/0.obj', line('v', 2, '1.0', '40000.0', '0.0'),
                 'line 4: 40000.0 is outside -32768..32767.99998')
    cube.refused('meshes/0.obj', line('v', 0, '-32768.5', '0.0', '0.0'), 'line 2: -32768.5 is outside')
    cube.refused('meshes/0.obj', more('f 1 2 3 4 5'), '5 corners; JOM holds triangles and quads')
    cube.refused('meshes/0.obj', more('usemtl x', 'f 1 2 3'), 'no material "x"; add it in materials.yaml')
    line_of = cube.cat('meshes/0.obj').count(b'\n') + 1
    cube.refused('meshes/0.obj', more('usemtl x', 'f 1 2 3'), f'line {line_of}: no material')
    cube.refused('meshes/0.obj', more('f 1 2 9'), 'vertex 9 is out of range')
    cube.refused('meshes/0.obj', lambda s: s.split('\nf ')[0] + '\n', 'no faces')
    cube.refused('model.obj', lambda s: 'v 0.0 0.0 0.0\n' * 70000 + 'f 1 2 3\n', '70000 points, JOM holds 65535', '-g')
    cube.refused('model.obj', lambda s: s + 'f 1 2 3\n' * 65530, 'polygons, JOM holds 65535', '-g')
    cube.refused('model.obj', lambda s: s + 'f 1 2 3\n', 'bytes are missing')          # it may not grow
    cube.refused('materials.yaml', lambda s: s + '- name: "m"\n' * 65535, '65536 materials, JOM holds 65535', '-g')
    cube.refused('materials.yaml', swap('"red"', '"sixteen bytes 16"'), 'name: 16 bytes, at most 15')
    cube.refused('materials.yaml', swap('texture: null', 'texture: 0'), 'materials[0].texture: 0 is not below 0')
    cube.refused('header.yaml', swap('sphere_radius: ', 'sphere_radius: 40000.0 #'), '40000.0 is outside')
    cube.refused('header.yaml', swap('point_count: 8', 'point_count: 9'), 'point_count')
    cube.refused('meshes/0.yaml', swap('points: [0', 'points: [1'), 'points')
    cube.refused('materials.yaml', b'[]\n', 'used by 6 polygons')

    skel = Model(t, 'SKEL32.JOM')
    skel.refused('skeleton.yaml', more('- name: "b"'), '33 bones, JOM holds 32', '-g')
    skel.refused('skeleton.yaml', lambda s: s.replace('  parent: ', '  parent: 2 #', 3),
                 'bones[0].parent: 2 is not below 0')
    few = Model(t, 'SKEL4.JOM')
    def parent(k, v):
        def edit(s):
            items = s.split('\n- ')
            rows = items[k + 1].split('\n')
            items[k + 1] = '\n'.join(f'  parent: {v}' if x.startswith('  parent') else x for x in rows)
            return '\n- '.join(items)
        return edit
    few.refused('skeleton.yaml', parent(2, 2), 'bones[2].parent: 2 is not below 2')
    few.refused('skeleton.yaml', lambda s: s.replace('group: 1', 'group: 9'), 'bones[1].group: 9 is not below 4')
    few.refused('skeleton.yaml', both(parent(2, 7), more('- name: "b"')), 'bones[2].parent: 7 is not below 2', '-g')
    few.refused('animations/IDLE.yaml', swap('key_count: 1', 'key_count: 2'), 'key_count')
    few.refused('animations/IDLE.yaml', lambda s: s.split('keys:')[0] + 'keys: []\n', 'one at least', '-g')

    pic = Model(t, 'TIMG1.JOM')
    pic.refused('textures/0.png', treecheck.write_png(12, 7, bytes(12 * 7 * 4)), 'width 12 is not a multiple of 8')
    pic.refused('textures/0.png', treecheck.write_png(512, 7, bytes(512 * 7 * 4)), '512x7 is over 504x255')
    pic.refused('textures/0.png', treecheck.write_png(8, 256, bytes(8 * 256 * 4)), '8x256 is over 504x255')
    pic.refused('textures/0.png', treecheck.write_png(16, 7, bytes(16 * 7 * 4)), '8x7 needed, got 16x7')
    rows = b''.join(bytes([8 * (i % 17), 0, 8 * (i % 17), 255]) for i in range(56))
    pic.refused('textures/0.png', treecheck.write_png(8, 7, rows), '17 colours, the table holds 15')
    pic.refused('textures/0.yaml', swap('name: "', 'name: "0123456789'), 'at most 15')
    ends = Model(t, 'TIMGMIX.JOM')                       # its second material uses end codes
    rows = b''.join(bytes([8 * (i % 15), 8, 8, 255]) for i in range(24 * 3))
    ends.refused('textures/1.png', treecheck.write_png(24, 3, rows), '15 colours, the table holds 14')


# ---- nothing changes

def no_op(t):
    """Every writable file of every model, written back as it is."""
    problems, n = [], 0
    for name in sorted(os.listdir(models(t))):
        if not name.endswith('.JOM'):
            continue
        m = Model(t, name)
        tree = t.extract(m.path)
        for folder, _, files in os.walk(tree):
            for f in files:
                path = os.path.relpath(os.path.join(folder, f), tree)
                if f.endswith(('.mtl', 'preview.png')):     # which nobody can write
                    continue
                n += 1
                with open(os.path.join(folder, f), 'rb') as data:
                    why = m.put(path, data.read())
                if why:
                    problems.append(f'{name}/{path}: {why}')
        if m.all() != m.bytes:
            problems.append(f'{name}: changed')
    t.none(problems, f'{n} files written unchanged change nothing')


def all_orders(t):
    for name in ('ALL.JOM', 'ORDER.JOM', 'SHUFFLE.JOM'):
        everything_added(t, name)


lib.main(points_move, shared_point_moves, colours, normals_of_corners, corners, faces_added, all_orders, faces_removed,
         whole_model, values, material_added, skeleton, keys, embedded, loose, texture_names, raw, refusals, no_op)
