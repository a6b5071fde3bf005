"""Textures and material libraries through the program: the corpus and real files, one edit of each kind read back by
its own readers, files saved unchanged; block compression texel by texel against Pillow and against fractions."""
import contextlib
import fractions
import io
import json
import os
import random
import struct
import subprocess
import sys
import zlib

import lib
from lib import SHARED, Skip, read, run

CORPUS = lib.CORPUS = os.path.join(SHARED, 'corpus', 'mod3')
SAMPLES = os.path.join(SHARED, 'samples', 'mod3')
SEEDS = lib.CORPUS_SEEDS
KINDS = ('mrl3', 'tex')


def corpus_module(name):
    if not os.path.exists(os.path.join(CORPUS, name + '.py')):
        raise Skip('no corpus of mod3 beside the source')
    if CORPUS not in sys.path:
        sys.path.append(CORPUS)
    return lib.module(name)


def cat(source, path):
    r = run('cat', source, path)
    if r.returncode:
        raise RuntimeError(f'cat {source} {path}: {r.stderr}')
    return r.stdout


# ---------------------------------------------------------------- the corpus

def made(t, seed):
    where = os.path.join(t.dir('corpus'), 'c')
    code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmod3.py'), where, '--seed', str(seed), '--small')
    if code:
        raise RuntimeError(text[-400:])
    return where


def extracted(t, folder, names, codes=(0,)):
    """Each file alone, below one folder as a mount of theirs would be -> the folder, problems"""
    to, bad = t.dir('extract'), []
    for name in names:
        os.makedirs(os.path.join(to, os.path.dirname(name)), exist_ok=True)
        r = run('extract', os.path.join(folder, name), os.path.join(to, name))
        bad += lib.unless(r.returncode in codes, f'{name}: extract: exit {r.returncode}: {r.stderr[-200:]}')
    return to, bad


def checked(t, root, want):
    """check_mount.py over what `want` has -> passed, problems"""
    said, path = io.StringIO(), t.file('expected.json', json.dumps(want).encode())
    argv, sys.argv = sys.argv, ['check_mount.py', root, path, '--all']
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        corpus_module('check_mount').main()
    sys.argv = argv
    lines = said.getvalue().splitlines()
    return int(lines[0].split()[0]), lines[1:]


def saved_unchanged(t, source):
    """Every file that can be written, put back as it is."""
    before, bad = read(source), []
    for line in run('ls', '-lR', source).stdout.decode().splitlines():
        name = line.split()[-1] if line and line[0] == '-' else None
        if not name or name.startswith(('whole.', 'gap-')) or name.endswith('.bin'):
            continue
        path = t.file(name, cat(source, name))
        r = run('put', source, name, path)
        # A picture of blocks is read-only.
        readonly = name.endswith('.png') and r.returncode == 1 and 'Permission denied' in r.stderr
        bad += lib.unless(r.returncode == 0 or readonly, f'{source}: {name}: {r.stderr[-200:]}')
        bad += lib.unless(read(source) == before, f'{source}: {name} changed bytes')
    return bad


def corpus(t):
    corpus_module('check_mount')
    for seed in SEEDS:
        where = made(t, seed)
        truth = json.load(open(os.path.join(where, 'expected.json')))
        for kind in KINDS:
            names = [x['path'] for x in truth[kind]]
            to, bad = extracted(t, os.path.join(where, 'tree'), names)
            passed, problems = checked(t, to, {kind: truth[kind]})
            for name in names:
                source = os.path.join(where, 'tree', name)
                bad += lib.unless(run('verify', source).returncode == 0, f'{name}: verify')
                if seed == SEEDS[0]:
                    os.chmod(source, 0o644)
                    bad += saved_unchanged(t, source)
            t.none(bad + problems, f'seed {seed}: {kind}: {len(names)} files, {passed} checks')
            t.ok(passed > len(names), f'seed {seed}: {kind}: something was checked')


def damaged(t):
    """Alive, bounded, named; what is tolerated is a directory."""
    corpus_module('check_mount')
    where = made(t, SEEDS[0])
    bad_of = [x for x in json.load(open(os.path.join(where, 'bad', 'manifest.json')))['bad']
              if x['path'].endswith(KINDS)]
    names = [x['path'] for x in bad_of]
    to, bad = extracted(t, os.path.join(where, 'bad'), names, (0, 1))
    passed, problems = checked(t, to, {'bad': bad_of})
    t.none(bad + problems, f'{len(names)} damaged files: {passed} checks')
    for x in bad_of:
        source = os.path.join(where, 'bad', x['path'])
        r, info = run('verify', source), run('info', source)
        good = x['expect'] == 'tolerated'
        t.ok(r.returncode == (0 if good else 1), x['path'] + ': verify', (x['why'], r.returncode, r.stdout, r.stderr))
        t.ok(info.returncode == r.returncode and good != (b'\n# damaged: ' in info.stdout), x['path'] + ': info',
             (info.returncode, info.stdout, info.stderr))


def samples(t):
    reader = corpus_module('readmod3')
    names = sorted(n for n in os.listdir(SAMPLES) if n.endswith('.mrl3')) if os.path.isdir(SAMPLES) else []
    if not names:
        raise Skip('no samples of mod3 beside the source')
    want = [{'path': n, **reader.read_mrl3(read(SAMPLES, n))} for n in names]
    to, bad = extracted(t, SAMPLES, names)
    passed, problems = checked(t, to, {'mrl3': want})
    for n in names:
        bad += lib.unless(run('verify', os.path.join(SAMPLES, n)).returncode == 0, f'{n}: verify')
        bad += saved_unchanged(t, t.file(n, read(SAMPLES, n)))
    t.none(bad + problems, f'{len(names)} real libraries: {passed} checks')


# ---------------------------------------------------------------- edits of libraries

def library():
    """Two textures, two materials with blocks."""
    texture = lambda path: struct.pack('<I12x256s', 0x241F5DEB, path)
    material = lambda h, size, n, at: struct.pack('<5I2H4B20xQ', 0x4516E7AB, h, 1, 2, size, 0xE100, 2 * n, 128, 112, 4,
                                                  0, at)
    resource = lambda kind, ident, value: struct.pack('<4I', kind | 0x50, ident << 12, value, 0)
    head = struct.pack('<4sIQIIQQ', b'MRL\0', 12, 1516924800, 2, 2, 0x28, 0x248)
    blocks = resource(0, 0x120B8, 32) + resource(2, 0x52AD9, 1) + struct.pack('<4f', 0, 0.25, 0.5, 1)
    blocks += resource(1, 0x7B5BF, 7)
    return (head + texture(b'a\\b_BML') + texture(b'a\\b_NM') + material(0x11111111, 48, 2, 0x2C0)
            + material(0x22222222, 16, 1, 0x2F0) + bytes(8) + blocks)


EDITS = (  # file, old text, new text, which value changes to what
    ('header.yaml', 'time: 1516924800', 'time: 1700000000', ('header', 'time', 1700000000)),
    ('textures.yaml', '"a\\\\b_NM"', '"pl\\\\' + 'x' * 252 + '"', ('textures', 1, 'path', 'pl\\' + 'x' * 252)),
    ('textures.yaml', '  path: "a\\\\b_BML"', '  path: ""', ('textures', 0, 'path', '')),
    ('textures.yaml', 'type_hash: 0x241f5deb', 'type_hash: 0xdeadbeef', ('textures', 0, 'type_hash', 0xDEADBEEF)),
    ('materials.yaml', 'name_hash: 0x22222222', 'name_hash: 0x87654321', ('materials', 1, 'name_hash', 0x87654321)),
    ('materials.yaml', 'shader_hash: 0x00000001', 'shader_hash: 5', ('materials', 0, 'shader_hash', 5)),
    ('materials.yaml', 'second_hash: 0x00000002', 'second_hash: 0xffffffff',
     ('materials', 0, 'second_hash', 0xFFFFFFFF)),
    ('materials.yaml', 'surface_flags: 0xe100', 'surface_flags: 0x1100', ('materials', 0, 'surface_flags', 0x1100)),
    ('materials.yaml', 'alpha: [128, 112, 4, 0]', 'alpha: [1, 2, 3, 255]', ('materials', 0, 'alpha', [1, 2, 3, 255])),
    ('materials.yaml', '    value: 1\n', '    value: 2\n', ('materials', 0, 'resources', 1, 'value', 2)),
    ('materials.yaml', '    value: 7\n', '    value: 0\n', ('materials', 1, 'resources', 0, 'value', 0)),
    ('materials.yaml', 'name_id: 0x52ad9', 'name_id: 0xc2545', ('materials', 0, 'resources', 1, 'name_id', 0xC2545)),
    ('materials.yaml', 'kind_leftover: 0x0000005', 'kind_leftover: 0x0fedcba',
     ('materials', 0, 'resources', 0, 'kind_leftover', 0xFEDCBA)),
    ('materials.yaml', '[0.0, 0.25, 0.5, 1.0]', '[0.0, 0.25, -1.5, 1.0]', ('materials', 0, 'constants', 2, -1.5)),
)
REFUSALS = (
    ('header.yaml', 'version: 12', 'version: 11'), ('header.yaml', 'texture_count: 2', 'texture_count: 1'),
    ('materials.yaml', 'block_off: 0x000002c0', 'block_off: 0x000002f0'),
    ('materials.yaml', 'kind: sampler', 'kind: texture'),
    ('materials.yaml', 'resource_size: 4', 'resource_size: 2'), ('materials.yaml', '    value: 1\n', '    value: 3\n'),
    ('materials.yaml', '[0.0, 0.25, 0.5, 1.0]', '[0.0, 0.25, 0.5]'),
    ('textures.yaml', '"a\\\\b_NM"', '"' + 'x' * 256 + '"'), ('textures.yaml', '"a\\\\b_NM"', str([7] * 256)),
    ('textures.yaml', 'path:', 'pfad:'),
)


def save(t, source, name, old, new):
    text = cat(source, name).decode()
    if old not in text:
        raise RuntimeError(f'{name} has no {old!r}')
    return run('put', source, name, t.file(name, text.replace(old, new, 1).encode()))


def library_edits(t):
    reader = corpus_module('readmod3')
    data = library()
    for name, old, new, (*where, last, value) in EDITS:
        source = t.file('x.mrl3', data)
        r = save(t, source, name, old, new)
        now, want = reader.read_mrl3(read(source)), reader.read_mrl3(data)
        at = want
        for key in where:
            at = at[key]
        at[last], want['sha256'] = value, now['sha256']
        t.ok(r.returncode == 0 and now == want, f'{name}: {new[:40]!r}', (r.stderr, reader.difference(now, want)))
        undo = run('undo', source)
        t.ok(undo.returncode == 0 and read(source) == data, f'{name}: {new[:40]!r} taken back', undo.stderr)
    for name, old, new in REFUSALS:
        source = t.file('x.mrl3', data)
        r = save(t, source, name, old, new)
        t.ok(r.returncode == 1 and name in r.stderr and read(source) == data, f'{name}: {new[:40]!r} is refused',
             (r.returncode, r.stderr))


# ---------------------------------------------------------------- edits of textures

def texture(code, w, h, levels, images, kind, surface, depth=1):
    """surface(image, level) -> bytes"""
    parts = [surface(i, k) for i in range(images) for k in range(levels)]
    at, offsets = 0xB8 + 8 * len(parts), []
    for p in parts:
        offsets.append(at)
        at += len(p)
    head = struct.pack('<4sIQ7I', b'TEX\0', 16, 0, kind, levels, w, h, images, code, depth) + bytes(12) + b'\xFF' * 4
    head += bytes(28) + b'\xFF' * 32 + bytes(64)
    return head + struct.pack(f'<{len(offsets)}Q', *offsets) + b''.join(parts)


def png(w, h, rgba):
    chunk = lambda kind, b: struct.pack('>I', len(b)) + kind + b + struct.pack('>I', zlib.crc32(kind + b))
    rows = b''.join(b'\0' + rgba[4 * w * y:4 * w * y + 4 * w] for y in range(h))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 6, 0, 0, 0))
            + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def texture_edits(t):
    render, reader = corpus_module('render'), corpus_module('check_mount')
    size = lambda level: max(1, 8 >> level) * max(1, 4 >> level) * 4
    data = texture(7, 8, 4, 4, 6, 6, lambda i, k: bytes((i * 40 + k * 10 + x) & 255 for x in range(size(k))))

    source = t.file('x.tex', data)
    w, h, rgba = reader.png(cat(source, '2.png'))
    changed = bytearray(rgba)
    changed[4 * (8 * 3 + 7):] = b'\x01\x02\x03\x04'
    r = run('put', source, '2.png', t.file('2.png', png(w, h, bytes(changed))))
    now = read(source)
    header, _, pngs = render.tex(now)
    t.ok(r.returncode == 0 and (w, h) == (8, 4) and reader.png(pngs[2])[2] == bytes(changed), 'a picture', r.stderr)
    differ = [i for i in range(len(data)) if data[i] != now[i]]
    first = struct.unpack_from('<Q', data, 0xB8 + 8 * 8)[0]
    level = lambda k: first + sum(map(size, range(k)))
    want = [level(0) + 124, level(1) + 28, level(2) + 4, level(3)]
    t.ok(len(now) == len(data) and {i & ~3 for i in differ} == {i & ~3 for i in want},
         'its texel in all levels, and no other', (differ, want))
    t.ok(run('undo', source).returncode == 0 and read(source) == data, 'taken back')

    dds = bytearray(cat(source, 'x.dds'))
    t.ok(dds[148:] == data[0xB8 + 8 * 24:], 'the DDS has the surfaces')
    dds[148 + 5] ^= 1
    dds[-1] ^= 0x80
    r = run('put', source, 'x.dds', t.file('x.dds', bytes(dds)))
    now = read(source)
    t.ok(r.returncode == 0 and [i for i in range(len(data)) if now[i] != data[i]] == [0xB8 + 192 + 5, len(data) - 1],
         'a DDS of the same layout, in place', r.stderr)
    r = save(t, source, 'header.yaml', 'unknown_44: 0', 'unknown_44: 1')
    changed = read(source)
    t.ok(r.returncode == 0 and [i for i in range(len(data)) if changed[i] != now[i]] == [0x44], 'unknown_44', r.stderr)

    small = texture(0x16, 4, 4, 1, 1, 2, lambda i, k: b'smaller!')
    other = t.file('small.tex', small)
    r = run('put', '-g', source, 'x.dds', t.file('x.dds', cat(other, 'small.dds')))
    now = read(source)
    t.ok(r.returncode == 0 and render.tex(now)[:2] == render.tex(small)[:2] and now[0x44] == 1,
         'a DDS of another layout', r.stderr)
    r = run('put', '-g', other, 'small.dds', t.file('x.dds', bytes(dds)))
    t.ok(r.returncode == 0 and render.tex(read(other))[:2] == (header, render.tex(data)[1][:148] + bytes(dds[148:])),
         'and back, longer', r.stderr)
    t.same(run('verify', source).returncode + run('verify', other).returncode, 0, 'both are sound')
    for name, text in (('x.dds', b'DDS '), ('x.dds', cat(other, 'small.dds')[:-1]), ('header.yaml', b'width: 5\n')):
        was = read(source)
        r = run('put', source, name, t.file(name, text))
        t.ok(r.returncode == 1 and name in r.stderr and read(source) == was, f'{name} of {len(text)} bytes is refused',
             r.stderr)


def mounted(t):
    """A texture alone: nothing is decoded to learn that nothing is damaged; DDS and picture show each other's edits."""
    why = lib.fuse_missing()
    if why:
        raise Skip(why)
    level = lambda i, k: bytes(range(64 >> 2 * k))
    source = t.file('x.tex', texture(9, 4, 4, 3, 1, 2, level))
    with lib.Mount(t, source, 'stats') as m:
        t.ok(not os.path.exists(os.path.join(m.point, 'errors.txt')), 'no errors.txt')
    t.same(m.rendered(), 0, 'files decoded for that')
    with lib.Mount(t, source) as m:
        names = [n for n, _, _, _ in lib.entries(m.point)]
        t.same(names, ['header.yaml', 'x.dds', '0.png', 'raw'], 'the directory')
        dds, picture = read(m.point, 'x.dds'), read(m.point, '0.png')
        for name, data in (('x.dds', dds), ('0.png', picture)):
            with open(os.path.join(m.point, name), 'wb') as f:
                f.write(data)
        t.ok(read(source) == texture(9, 4, 4, 3, 1, 2, level), 'saved as they are: no byte changed')
        with open(os.path.join(m.point, 'x.dds'), 'wb') as f:
            f.write(dds[:148] + bytes(64) + dds[212:])
        t.ok(read(m.point, '0.png') != picture and read(m.point, 'x.dds')[148:212] == bytes(64),
             'the next look shows it')
        with open(os.path.join(m.point, '0.png'), 'wb') as f:
            f.write(picture)
        t.ok(read(m.point, 'x.dds')[:212] == dds[:212] and read(m.point, '0.png') == picture, 'and back by the picture')


# ---------------------------------------------------------------- block compression

def pillow():
    """A Python that has Pillow, which decodes independently of us."""
    for python in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(python) and lib.other(python, '-c', 'import PIL.Image')[0] == 0:
            return python
    raise Skip('Pillow (python3-pil) is not installed')


def by_pillow(python, picture):
    code = ('import io, sys; from PIL import Image; im = Image.open(io.BytesIO(sys.stdin.buffer.read())); '
            'sys.stdout.buffer.write(im.convert("RGBA").tobytes())')
    return subprocess.run([python, '-c', code], input=picture, stdout=subprocess.PIPE, check=True,
                          timeout=lib.LIMIT).stdout


def decoded(t, code, w, h, blocks):
    """-> the DDS, and our picture"""
    source = t.file('x.tex', texture(code, w, h, 1, 1, 2, lambda i, k: blocks))
    return cat(source, 'x.dds'), cat(source, '0.png')


def bc7(t):
    python, rng = pillow(), random.Random(7)
    w = h = 512
    for mode in range(8):
        blocks = bytearray(rng.randbytes(w * h))
        for i in range(0, len(blocks), 16):
            blocks[i] = blocks[i] & ~((2 << mode) - 1) & 255 | 1 << mode
        dds, picture = decoded(t, 0x1E + mode % 2, w, h, bytes(blocks))
        a, b = by_pillow(python, dds), by_pillow(python, picture)
        t.ok(len(a) == len(b) == 4 * w * h and a == b, f'BC7 mode {mode}: {w * h} texels as Pillow has them',
             next((i // 4 for i in range(min(len(a), len(b))) if a[i] != b[i]), None))


def nearest(x):
    return int(x + fractions.Fraction(1, 2))


def colours(block):
    """BC1 by the definition, with exact fractions."""
    ends = struct.unpack_from('<2H', block)
    wide = [((c >> 11) << 3 | c >> 13, (c >> 5 & 63) << 2 | c >> 9 & 3, (c & 31) << 3 | c >> 2 & 7) for c in ends]
    if ends[0] > ends[1]:
        steps = [tuple(nearest(fractions.Fraction(p * (3 - k) + q * k, 3)) for p, q in zip(*wide)) + (255,)
                 for k in (0, 3, 1, 2)]
    else:
        steps = [wide[0] + (255,), wide[1] + (255,), tuple((p + q) // 2 for p, q in zip(*wide)) + (255,), (0, 0, 0, 0)]
    picks, = struct.unpack_from('<I', block, 4)
    return [steps[picks >> 2 * i & 3] for i in range(16)]


def channel(block):
    a, b, n = block[0], block[1], 7 if block[0] > block[1] else 5
    steps = [a, b] + [nearest(fractions.Fraction(a * (n - k) + b * k, n)) for k in range(1, n)] + [0, 255] * (n == 5)
    picks = int.from_bytes(block[2:8], 'little')
    return [steps[picks >> 3 * i & 7] for i in range(16)]


def small_blocks(t):
    """BC1, BC4 and BC5: sizes that are no multiple of 4, too."""
    reader, rng = corpus_module('check_mount'), random.Random(5)
    w, h = 62, 37
    across, down = 16, 10
    for name, code, size in (('BC1', 0x16, 8), ('BC1_SRGB', 0x17, 8), ('BC4', 0x18, 8), ('BC5', 0x1A, 16)):
        blocks = rng.randbytes(across * down * size)
        want = bytearray()
        texels = []
        for i in range(0, len(blocks), size):
            b = blocks[i:i + size]
            if size == 16:
                texels.append([(r, g, 0, 255) for r, g in zip(channel(b[:8]), channel(b[8:]))])
            else:
                texels.append(colours(b) if name != 'BC4' else [(r, 0, 0, 255) for r in channel(b)])
        for y in range(h):
            for x in range(w):
                want += bytes(texels[y // 4 * across + x // 4][y % 4 * 4 + x % 4])
        got = reader.png(decoded(t, code, w, h, blocks)[1])
        t.ok(got == (w, h, bytes(want)), f'{name}: {w * h} texels as fractions have them')


if __name__ == '__main__':
    lib.main(library_edits, texture_edits, mounted, bc7, small_blocks, corpus, damaged, samples)
