"""preview.png: its size is told without drawing it, any program reads it, it shows something, follows edits, and many of
them, read one after the other, keep nobody else waiting.
"""
import os
import re
import shutil
import statistics
import sys
import threading
import time
import zlib

import lib
import saving
from lib import Mount, read, run

SIZE, SIDE = 65536, 256
SYSTEM_PYTHON = '/usr/bin/python3'                                      # the one that distributions give Pillow to
MANY = 200                                                              # models of one archive
SAMPLE = 60                                                             # previews that programs read


def previews(root):
    return [p for p in lib.files(root) if os.path.basename(p) == 'preview.png']


def rgba(b):
    w, h, pixels = saving.pixels(b)
    return pixels if (w, h) == (SIDE, SIDE) else None


def seen(b):
    """Whether it shows something. In a clear picture all is zero, whatever the filters of its rows."""
    at, data = 8, b''
    while at < len(b):
        n = int.from_bytes(b[at:at + 4], 'big')
        data += b[at + 8:at + 8 + n] if b[at + 4:at + 8] == b'IDAT' else b''
        at += 12 + n
    rows = bytearray(zlib.decompress(data))
    del rows[::4 * SIDE + 1]
    return any(rows)


def made(t, family, script, *args):
    """A corpus; Skip when there is none."""
    where, maker = t.dir(family), os.path.join(lib.SHARED, 'corpus', family, script)
    if not os.path.exists(maker):
        raise lib.Skip(f'no corpus {family}')
    code, said = lib.other(sys.executable, maker, '--seed', '1', *args, where)
    if code:
        raise RuntimeError(said[-300:])
    return where


def everything(t):
    """Demo, and what there is of corpora and samples, extracted; damaged files too."""
    out = [t.tree]
    for corpus in (('jom', 'mkjom.py', '--out'), ('mod3', 'mkmod3.py'),
                   ('mhp', 'mkmhp.py', '--what', 'pac,single,mhp3rd')):
        try:
            made(t, *corpus)
        except lib.Skip as e:
            t.skip(str(e))
    for where in (t.folder, os.path.join(lib.SHARED, 'samples')):
        for top, dirs, names in os.walk(where):
            if 'extract' in top or not names:
                continue
            kinds = ('.JOM', '.mod3', '.pac', '.pmo', '.BIN')
            if any(n.endswith(kinds) for n in names):
                to = os.path.join(t.dir('extract'), 'x')
                run('extract', top, to)                    # damaged ones make it say so
                out.append(to)
                dirs[:] = []
    return out


# ---------------------------------------------------------------- what it is

def valid(t):
    """Every preview there is: a PNG of 256 x 256 in 65,536 bytes, for everybody who checks or reads PNGs."""
    paths = [os.path.join(root, p) for root in everything(t) for p in previews(root)]
    bad, empty = [], 0
    for p in paths:
        b = read(p)
        if not b:                                          # of a model whose meshes are all damaged
            continue
        why = lib.png_problem(b) or (len(b) != SIZE and f'{len(b)} bytes') or \
            (b[16:26] != bytes([0, 0, 1, 0, 0, 0, 1, 0, 8, 6]) and 'not RGBA of 256 x 256')
        bad += [f'{p}: {why}'] if why else []
        faces = any(b'\nf ' in read(os.path.dirname(p), n) for n in lib.files(os.path.dirname(p)) if n.endswith('.obj'))
        something = seen(b)
        empty += not something
        bad += [f'{p}: shows something of no faces'] if something and not faces else []
    t.none(bad, f'{len(paths)} previews, {empty} of them empty')
    t.ok(empty * 3 < len(paths), 'most show something', f'{empty} of {len(paths)} are empty')
    paths = [p for p in paths if os.path.getsize(p)]
    programs(t, paths[::len(paths) // SAMPLE + 1])


def programs(t, paths):
    if shutil.which('pngcheck'):
        code, said = lib.other('pngcheck', '-q', *paths)
        t.ok(code == 0 and not said, f'pngcheck: {len(paths)} previews', said[:300])
    else:
        t.skip('pngcheck is missing')
    script = ('import sys\nfrom PIL import Image\nfor p in sys.argv[1:]:\n    i = Image.open(p)\n    i.load()\n'
              '    print(i.size, i.mode, i.getextrema()[3][1])')
    code, said = lib.other(SYSTEM_PYTHON, '-c', script, *paths) if os.path.exists(SYSTEM_PYTHON) else (1, 'no python')
    if 'No module' in said or 'no python' in said:
        t.skip('Pillow is missing')
    else:
        lines = said.split('\n')[:-1]
        t.ok(code == 0 and len(lines) == len(paths) and all(x.startswith('(256, 256) RGBA') for x in lines),
             f'Pillow: {len(lines)} previews', said[:300])
    if shutil.which('identify'):
        code, said = lib.other('identify', '-format', '%wx%h %m\n', *paths[:20])
        t.same((code, set(said.split('\n')[:-1])), (0, {'256x256 PNG'}), 'ImageMagick')
    else:
        t.skip('ImageMagick is missing')


def shown(t):
    """The demo's crate: wood, seen from in front, from its left and from above; the picture beside it changes it."""
    pixels = rgba(read(t.tree, t.kit, '00.pmo', 'preview.png'))
    at = lambda x, y: pixels[4 * (SIDE * y + x):][:4]
    t.ok(all(at(x, y)[3] == 0 for x, y in ((0, 0), (255, 0), (0, 255), (255, 255), (128, 1))), 'nothing at the corners')
    sides = [at(100, 128), at(210, 128), at(128, 30)]      # front, left, top
    t.ok(all(c[3] == 255 and c[0] > c[1] > c[2] for c in sides), 'three sides of brown', sides)
    mean = [statistics.mean(pixels[4 * (SIDE * y + x)] for x in range(x0, x0 + 40) for y in range(y0, y0 + 20))
            for x0, y0 in ((80, 120), (190, 120))]
    t.ok(mean[0] > mean[1] * 1.2, 'the front is lighter than the side', mean)


# ---------------------------------------------------------------- what it costs

def looked_at(t):
    """Listings and sizes draw nothing; reading it draws it, once, and makes no other file."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    n = len(previews(t.tree))
    for how in ('ro', 'rw'):
        with Mount(t, t.demo, how, 'stats') as m:
            paths = [os.path.join(m.point, p) for p in previews(m.point)]
            sizes = {os.stat(p).st_size for p in paths}
            with os.scandir(os.path.dirname(paths[0])) as there:
                sizes |= {e.stat().st_size for e in there if e.name == 'preview.png'}
        t.same((len(paths), sizes, m.rendered()), (n, {SIZE}, 0), f'{n} sizes without drawing, -o {how}')
        with Mount(t, t.demo, how, 'stats') as m:
            path = os.path.join(m.point, t.kit, '00.pmo', 'preview.png')
            same = read(path) == read(path) == read(t.tree, t.kit, '00.pmo', 'preview.png')
        t.ok(same and m.rendered() == 1, f'one is drawn once, as it is extracted, -o {how}', m.rendered())
    r = run('cat', t.demo, f'{t.kit}/00.pmo/preview.png')
    t.ok(r.stdout == read(t.tree, t.kit, '00.pmo', 'preview.png'), 'cat gives the same')
    r = run('ls', '-l', t.demo, f'{t.kit}/00.pmo')
    t.ok(re.search(rf'\b{SIZE} .*preview\.png', r.stdout.decode()), 'ls -l knows the size', r.stdout)


def many(t):
    """Many models are looked at by two programs; a third one, which lists and reads, has its answers at once."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    pac = read(t.tree, t.kit, 'raw', 'whole.pac')
    archive = t.file('DATA.BIN', lib.plain_archive([pac] * MANY))
    with Mount(t, archive, 'ro', 'cache=16', 'stats') as m:
        tops = sorted(n for n in os.listdir(m.point) if n.endswith('.pac'))
        left, bad, waited, over = list(tops), [], [], threading.Event()

        def walk():
            while left:
                b = read(m.point, left.pop(), '00.pmo', 'preview.png')
                if len(b) != SIZE:
                    bad.append(f'{len(b)} bytes')

        def look():
            for i in range(10 ** 9):
                if over.is_set():
                    return
                began, at = time.monotonic(), os.path.join(m.point, tops[(i * 37) % MANY], '00.pmo')
                os.listdir(at)
                read(at, 'header.yaml')
                waited.append(time.monotonic() - began)

        walkers = [threading.Thread(target=walk) for _ in range(2)]
        other = threading.Thread(target=look)
        began = time.monotonic()
        for x in walkers + [other]:
            x.start()
        for x in walkers:
            x.join()
        took = time.monotonic() - began
        over.set()
        other.join()
        memory = m.memory()
    t.none(bad, f'{len(tops)} previews of {MANY} models')
    waited.sort()
    middle, most = waited[len(waited) // 2], waited[len(waited) * 99 // 100]
    t.ok(middle < 0.02 * lib.SLOW and most < 0.2 * lib.SLOW,
         f'{took:.1f} s; {len(waited)} looks of another program, half within {middle * 1e3:.2f} ms, '
         f'99 % within {most * 1e3:.1f} ms', (middle, most))
    t.ok(memory < 96 << 20 or lib.SANITIZERS, f'memory {memory >> 20} MiB', memory)


# ---------------------------------------------------------------- edits and damage

def edited(t):
    """It follows what it was made from, also through an open handle's next open, and comes back with undo."""
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    archive = t.file('DATA.BIN', read(t.demo))
    with Mount(t, archive) as m:
        at = os.path.join(m.point, t.kit)
        preview = os.path.join(at, '00.pmo', 'preview.png')
        first = before = read(preview)
        edits = 0

        def change(path, make, what):
            nonlocal before, edits
            old = read(at, path)
            with open(os.path.join(at, path), 'wb') as f:
                f.write(make(old))
            after = read(preview)
            edits += 1
            t.ok(rgba(after) != rgba(before) and len(after) == os.stat(preview).st_size == SIZE, what)
            before = after

        def lower(obj):
            """The first vertex, half as far from the ground."""
            x = re.search(rb'^v (\S+) (\S+)', obj, re.M)
            return obj[:x.start(2)] + b'%.4f' % (float(x[2]) / 2) + obj[x.end(2):]

        def inverted(b):
            w, h, pixels = saving.pixels(b)
            return saving.png(w, h, bytes(255 - c if i % 4 < 3 else c for i, c in enumerate(pixels)))

        change('00.pmo/meshes/0.obj', lower, 'a vertex')
        change('02.tmh/0.png', inverted, 'a picture of the bank beside it')
        change('00.pmo/meshes/0.yaml', lambda b: b.replace(b'visible: true', b'visible: false'), 'a hidden mesh')
        t.ok(not os.access(preview, os.W_OK) or not os.geteuid(), 'it is read-only')
        try:
            open(preview, 'r+b').close()
            t.ok(False, 'it cannot be opened for writing')
        except PermissionError:
            t.ok(True, 'it cannot be opened for writing')
    r = run('undo', archive, str(edits))
    r = run('cat', archive, f'{t.kit}/00.pmo/preview.png')
    t.ok(r.stdout == first, 'after undo it is what it was')


def damaged(t):
    """Meshes that cannot be decoded are left out; when none can, reading it fails and errors.txt tells of the meshes."""
    pmo = next(os.path.dirname(p) for p in previews(t.tree)
               if len([n for n in os.listdir(os.path.join(t.tree, os.path.dirname(p), 'meshes')) if n.endswith('.obj')]) > 1)
    whole, geometry = read(t.tree, pmo, 'raw', 'whole.pmo'), read(t.tree, pmo, 'raw', 'geometry.bin')
    at = whole.index(geometry)
    good = run('cat', t.file('x.pmo', whole), 'preview.png').stdout
    half = len(geometry) // 2
    some = t.file('x.pmo', whole[:at + half] + b'\xff' * (len(geometry) - half) + whole[at + len(geometry):])
    meshes = [run('cat', some, f'meshes/{n}').returncode for n in os.listdir(os.path.join(t.tree, pmo, 'meshes'))
              if n.endswith('.obj')]
    r = run('cat', some, 'preview.png')
    t.ok(set(meshes) == {0, 1} and r.returncode == 0 and seen(r.stdout) and rgba(r.stdout) != rgba(good),
         'a damaged mesh is left out', (meshes, r.returncode))
    r = run('ls', t.file('x.pmo', whole[:at] + b'\xff' * len(geometry) + whole[at + len(geometry):]))
    t.ok(r.returncode == 0 and 'preview' not in r.stdout.decode(), 'nothing is listed when the tables show all damage')
    none = os.path.join(made(t, 'mod3', 'mkmod3.py', '--small'), 'bad', 'mod3', 'all_indices_ffff.mod3')
    r = run('cat', none, 'preview.png')
    t.ok(r.returncode == 1 and 'preview.png' in r.stderr and not r.stdout, 'without any there is no picture', r.stderr)
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    with Mount(t, none) as m:
        path = os.path.join(m.point, 'preview.png')
        t.ok('preview.png' in os.listdir(m.point) and os.stat(path).st_size == SIZE, 'it is listed')
        try:
            read(path)
            t.ok(False, 'reading it fails')
        except OSError as e:
            t.same(e.errno, 5, 'reading it fails')
        lines = read(m.point, 'errors.txt').decode().split('\n')[:-1]
        t.ok(lines and all(re.match(r'mesh \d+: ', x) for x in lines), 'errors.txt tells of the meshes', lines)


if __name__ == '__main__':
    lib.main(valid, shown, looked_at, many, edited, damaged)
