"""What the tests of discs share: the discs, each kind of image of them, and what an edit has to leave in one."""
import os
import random
import re
import struct

import discmake
import discread
import lib
import saving
from discmake import ASSOCIATED, HIDDEN, RAW, SECTOR, Disc, File, Folder

# Textures of CUBE.JOM: beside it, in the root, in the one folder that has it, in two of them.
TEXTURES = ('Wall.bin', 'ROOT.BIN', 'ONLY.BIN', 'TWICE.BIN')
TEXT = b''.join(b'line %d of a text\n' % i for i in range(90))


def odd():
    """A disc with one of everything; files that cannot be read or written among it."""
    rng = random.Random(1)
    orig = File('ORIG.DAT', rng.randbytes(3000), long='Original data.bin')
    deep = Folder('L9', [File('BOTTOM.TXT', b'deep\n')])
    for i in range(8, 0, -1):
        deep = Folder(f'L{i}', [deep])
    return Disc([
        File('0.BIN', rng.randbytes(5000)), File('TEXT.TXT', TEXT, room=2, long='A text.txt'), orig,
        File('LINK.DAT', same=orig), File('MULTI.DAT', rng.randbytes(4 * SECTOR + 100), pieces=(1, 2)),
        File('XAR.DAT', rng.randbytes(1500), before=1), File('INTER.DAT', rng.randbytes(3000), unit=(1, 1), room=1),
        File('EMPTY.DAT', at=0xfffffff0), File('ROOM.DAT', room=1), File('FAR.DAT', bytes(500), at=0x7ffffff0),
        File('README.', b'dot\n'), File('NODOT', b'no dot\n'), File('lower.txt', b'lower\n'),
        File('HIDDEN.DAT', b'hidden\n', flags=HIDDEN), File('TEXT.TXT', b'resources', flags=ASSOCIATED, version=';0'),
        File('SAME.', b'with a dot\n'), File('SAME', b'without\n', shown='SAME~2'),
        File('V.TXT', b'version 1\n'), File('V.TXT', b'version 2\n', version=';2', shown='V.TXT~2'),
        File('../UP', b'not above\n', shown='.._UP'), File('BAD\x01.TXT', b'control\n', shown='BAD_.TXT'),
        File('NODATE.TXT', b'no date\n', time=(0, 0, 0, 0, 0, 0, 0)),
        File('OLD.TXT', b'old\n', time=(79, 1, 1, 0, 0, 0, 0)),
        File('ROOT.BIN', discmake.picture(1)), File('WALL.BIN', discmake.picture(2)),
        Folder('MODELS', [File('CUBE.JOM', discmake.jom(TEXTURES)), File('WALL.BIN', discmake.picture(3)),
                          Folder('SUB', [File('ALONE.JOM', discmake.jom(('ONLY.BIN',)))])]),
        Folder('OTHER', [File('ONLY.BIN', discmake.picture(4)), File('TWICE.BIN', discmake.picture(5))]),
        Folder('MANY', [File('FILE%03d.TXT' % i, b'%d\n' % i) for i in range(60)] +
               [File('TWICE.BIN', discmake.picture(6))]),
        Folder('LOOP', loop=True), Folder('EMPTYDIR'), Folder('WITH.DOT', [File('A.TXT', b'a\n')]), deep,
        File('LAST.DAT', rng.randbytes(3000))], joliet=True, volume='ODD', tail=3)


def plain(xa=False):
    """A disc of which everything can be written."""
    rng = random.Random(2)
    orig = File('ORIG.DAT', rng.randbytes(3000))
    return Disc([
        File('0.BIN', rng.randbytes(5000)), File('TEXT.TXT', TEXT, room=2, long='A text.txt'),
        File('NEXT.DAT', b'next to it\n' * 99, long='next.dat'), orig, File('LINK.DAT', same=orig, long='link.dat'),
        Folder('MODELS', [File('CUBE.JOM', discmake.jom(('WALL.BIN',)), room=1), File('WALL.BIN', discmake.picture(3)),
                          Folder('SUB', [File('NOTE.TXT', b'note\n')])], long='Models'),
        Folder('MANY', [File('FILE%03d.TXT' % i, b'%d\n' % i) for i in range(40)] +
               [File('ZLAST.TXT', b'its record is in the second sector\n', room=1)]),
        File('ROOM.DAT', room=1), File('LAST.DAT', rng.randbytes(3000))],
        joliet=True, system='SEGA SATURN', volume='PLAIN', boot=b'SEGA SEGASATURN ' + rng.randbytes(3000), tail=2,
        xa=xa)


class Kind:
    """A kind of image. make: image from user data; says: what `modelfs info` calls it."""

    def __init__(self, name, says, make, xa=False):
        self.name, self.says, self.make, self.xa = name, says, make, xa
        self.packed = name.endswith(('.cso', '.zso', '.dax'))


WRITTEN = [
    Kind('plain.iso', '2048', lambda b: b),
    Kind('mode1.bin', 'MODE1/2352', lambda b: discmake.raw(b, 1)),
    Kind('mode2.bin', 'MODE2/2352', lambda b: discmake.raw(b, 2), xa=True),
    Kind('nocodes.bin', 'MODE1/2352', lambda b: discmake.raw(b, 1, codes=False)),
    Kind('small.cso', 'cso', lambda b: discmake.cso(b, SECTOR, room=200, plain=(30, 31))),
    Kind('large.cso', 'cso', lambda b: discmake.cso(b, 16384, shift=2, room=600)),
    Kind('zero.cso', 'cso', lambda b: discmake.cso(b, 8192, version=0, room=300)),
]
READ_ONLY = [
    Kind('two.cso', 'cso2', lambda b: discmake.cso(b, 4096, version=2, plain=(3,))),
    Kind('lz4.zso', 'zso', lambda b: discmake.cso(b, 2048, shift=3, magic=b'ZISO', plain=(2,))),
    Kind('old.dax', 'dax', lambda b: discmake.dax(b)),
    Kind('areas.dax', 'dax', lambda b: discmake.dax(b, plain=(1, 4))),
]


def below(top, path):
    """The bytes of a file of a disc, which may have become a directory."""
    at = os.path.join(top, path)
    if not os.path.isdir(at):
        return lib.read(at)
    return lib.read(at, 'raw', 'whole.' + path.rsplit('.', 1)[1].lower())


# ---------------------------------------------------------------- what edits leave

def sectors(b):
    return [b[i:i + RAW] for i in range(0, len(b), RAW)]


def left(kind, was, now, want):
    """What is wrong with the image `now`, which was `was`, and has to hold the user data `want`."""
    if kind.packed:
        return packed(was, now, want)
    if len(now) != len(was):
        return [f'{len(now)} bytes, expected {len(was)}']
    if discread.kind(was) == 'plain':
        return [] if now == want else [f'at {a:#x}..{z:#x}' for a, z in saving.ranges(saving.changed(want, now))]
    bad, data = [], discread.user(was)
    for i, (a, b) in enumerate(zip(sectors(was), sectors(now))):
        mine = want[i * SECTOR:(i + 1) * SECTOR]
        if mine == data[i * SECTOR:(i + 1) * SECTOR]:
            bad += lib.unless(a == b, f'sector {i} changed')
            continue
        start = 16 if a[15] == 1 else 24
        bad += lib.unless(b[:start] == a[:start] and b[start:start + SECTOR] == mine, f'sector {i}: its data')
        if discread.codes(a):
            bad += lib.unless(b[start + SECTOR:] == a[start + SECTOR:], f'sector {i}: it has no codes')
        else:
            bad += [f'sector {i}: {x}' for x in discread.codes(b)]
    return bad


def packed(was, now, want):
    """Blocks that need not change are the old ones, byte for byte, in their places, as are the places of the others."""
    a, b = discread.Blocks(was), discread.Blocks(now)
    bad = lib.unless(len(now) == len(was) and was[:24] == now[:24], 'header or size')
    bad += lib.unless([x & 0x7fffffff for x in a.index] == [x & 0x7fffffff for x in b.index], 'a block has moved')
    if bad:
        return bad
    for i in range(a.n):
        mine = want[i * a.block:(i + 1) * a.block].ljust(a.block, b'\0')
        (start, end), flags = a.slot(i), (a.index[i] >> 31, b.index[i] >> 31)
        if mine == a.get(i):
            bad += lib.unless(was[start:end] == now[start:end] and flags[0] == flags[1], f'block {i} changed')
        else:
            bad += lib.unless(b.get(i) == mine, f'block {i}: its data')
            bad += lib.unless(not any(b.unused(i)), f'block {i}: not zero behind it')
    return bad


def moved(now, want, like):
    """A packed image that was written anew."""
    a, b = discread.Blocks(like), discread.Blocks(now)
    bad = lib.unless((a.size, a.block, a.version) == (b.size, b.block, b.version), 'header')
    bad += lib.unless(b.all() == want, 'its data')
    bad += lib.unless(b.slot(b.n - 1)[1] <= len(now), 'the last block')
    bad += [f'block {i}: not zero behind it' for i in range(b.n) if any(b.unused(i))]
    return bad


def consistent(now, joliet):
    """What holds for an image of any kind: sizes in all records, of all trees."""
    return discread.problems(discread.user(now), joliet)


def setting(text, **values):
    """An info document with other values, {key: text}: problems."""
    lines = dict(re.findall(r'(?m)^(\w+): (.*?)(?: +#.*)?$', text))
    return [f'{k}: {lines.get(k)}, expected {v}' for k, v in values.items() if lines.get(k) != v]


def claims_a_tebibyte(path, image):
    """A CSO of a disc that says it is 1 TiB long; what follows the disc's own blocks has no place. A sparse file."""
    size, block = 1 << 40, SECTOR
    n = size // block
    own = len(image) // block
    start = (24 + 4 * (n + 1) + 7) // 8 * 8
    with open(path, 'wb') as f:
        f.write(struct.pack('<4sIQIBB2x', b'CISO', 24, size, block, 1, 3))
        at, index, body = start, [], b''
        for i in range(own):
            index.append((at + len(body)) >> 3)
            body += discmake.deflate(image[i * block:(i + 1) * block])
            body += bytes(-len(body) % 8)
        index.append((at + len(body)) >> 3)
        f.write(struct.pack(f'<{own + 1}I', *index))
        f.seek(start)
        f.write(body)
