"""Disc images, read by the layout of the spec alone: sectors and their codes, packed blocks, the trees of ISO 9660."""
import functools
import struct
import zlib

SYNC = bytes([0] + [255] * 10 + [0])


class Broken(Exception):
    pass


def word(b, at):
    return struct.unpack_from('<I', b, at)[0]


# ---------------------------------------------------------------- codes of raw sectors

def _exponents():
    table, x = [], 1
    for _ in range(255):
        table.append(x)
        x = x * 2 if x < 128 else x * 2 ^ 0x11d
    return table


EXPONENTS = _exponents()
LOGARITHM = {x: i for i, x in enumerate(EXPONENTS)}


def remainder(b):
    """Of the polynomial b, lowest bit first, by that of the EDC: zero, when the EDC stands behind it."""
    r = 0
    for byte in b:
        r ^= byte
        for _ in range(8):
            r = r >> 1 ^ (0xd8018001 if r & 1 else 0)
    return r


def syndromes(symbols):
    """The values at 1 and at 2 of the polynomial with these coefficients, highest first; both 0 in a code word."""
    s0 = s1 = 0
    for x in symbols:
        s0 ^= x
        s1 = (s1 * 2 if s1 < 128 else s1 * 2 ^ 0x11d) ^ x
    return s0, s1


@functools.lru_cache(8192)
def codes(sector):
    """Names of the codes of a raw sector that do not fit its data."""
    bad, mode = [], sector[15]
    if mode == 2 and sector[18] & 0x20:
        stored = word(sector, 0x92c)
        return ('EDC',) if stored and remainder(sector[16:0x930]) else ()
    if remainder(sector[:0x814] if mode == 1 else sector[16:0x81c]):
        bad.append('EDC')
    if mode == 1 and any(sector[0x814:0x81c]):
        bad.append('zeros')
    words = sector[12:] if mode == 1 else bytes(4) + sector[16:]
    for plane in (words[0::2], words[1::2]):
        for c in range(43):
            if syndromes(plane[c:1118:43]) != (0, 0):
                bad.append('P')
        for d in range(26):
            q = [plane[(43 * d + 44 * m) % 1118] for m in range(43)] + [plane[1118 + d], plane[1144 + d]]
            if syndromes(q) != (0, 0):
                bad.append('Q')
    return tuple(bad)


# ---------------------------------------------------------------- packed blocks

def unlz4(b, size):
    """A block of LZ4; what follows it is not looked at."""
    out, at = bytearray(), 0

    def number(n):
        """Counts on in bytes while they are 255."""
        nonlocal at
        step = 255 if n == 15 else 0
        while step == 255:
            step = b[at]
            n, at = n + step, at + 1
        return n

    while len(out) < size:
        token = b[at]
        at += 1
        n = number(token >> 4)
        out += b[at:at + n]
        at += n
        if len(out) >= size:
            break
        back, = struct.unpack_from('<H', b, at)
        at += 2
        if not 0 < back <= len(out):
            raise Broken(f'LZ4 offset {back}')
        for _ in range(number(token & 15) + 4):
            out.append(out[-back])
    if len(out) != size:
        raise Broken(f'LZ4 block of {len(out)} bytes')
    return bytes(out)


def inflate(b, size):
    z = zlib.decompressobj(-15)
    out = z.decompress(b, size)
    if len(out) != size or not z.eof and (z.decompress(z.unconsumed_tail, 1) or not z.eof):
        raise Broken(f'a stream of {len(out)} bytes, expected {size}')
    return out


class Blocks:
    """A packed image: places of its blocks, and what they hold."""

    def __init__(self, b):
        self.b, self.zso = b, b[:4] == b'ZISO'
        self.size, self.block, self.version, self.shift = struct.unpack_from('<QIBB', b, 8)
        self.n = -(-self.size // self.block)
        self.index = struct.unpack_from(f'<{self.n + 1}I', b, 24)

    def slot(self, i):
        a, z = ((x & 0x7fffffff) << self.shift for x in self.index[i:i + 2])
        if not a <= z <= len(self.b):
            raise Broken(f'block {i} lies at {a}..{z} of {len(self.b)}')
        return a, z

    def get(self, i):
        a, z = self.slot(i)
        flag, piece = self.index[i] >> 31, self.b[a:z]
        if flag if self.version < 2 else len(piece) >= self.block:
            return piece[:self.block]
        if self.zso or flag and self.version == 2:
            return unlz4(piece, self.block)
        return inflate(piece, self.block)

    def unused(self, i):
        """Bytes of a slot behind what is used of it."""
        a, z = self.slot(i)
        if self.index[i] >> 31:
            return self.b[a + self.block:z]
        d = zlib.decompressobj(-15)
        d.decompress(self.b[a:z])
        return d.unused_data

    def all(self):
        return b''.join(self.get(i) for i in range(self.n))[:self.size]


def undax(b):
    size, version, areas = struct.unpack_from('<3I', b, 4)
    n = -(-size // 8192)
    offsets, lengths = struct.unpack_from(f'<{n}I', b, 32), struct.unpack_from(f'<{n}H', b, 32 + 4 * n)
    plain = set()
    for k in range(areas if version else 0):
        first, count = struct.unpack_from('<2I', b, 32 + 6 * n + 8 * k)
        plain |= set(range(first, first + count))
    out = b''
    for i, (at, length) in enumerate(zip(offsets, lengths)):
        out += b[at:at + length] if i in plain else zlib.decompress(b[at:at + length])
    return out[:size]


# ---------------------------------------------------------------- images

def kind(b):
    if b[:12] == SYNC:
        return f'mode{b[15]}'
    return {b'CISO': 'cso', b'ZISO': 'zso', b'DAX\0': 'dax'}.get(b[:4], 'plain')


def user(b):
    """The user data of an image of any kind."""
    k = kind(b)
    if k in ('cso', 'zso'):
        return Blocks(b).all()
    if k == 'dax':
        return undax(b)
    if k == 'plain':
        return b
    start = 16 if k == 'mode1' else 24
    return b''.join(b[at + start:at + start + 2048] for at in range(0, len(b) // 2352 * 2352, 2352))


class Entry:
    def __init__(self, path, record):
        self.path, self.flags = path, record[25]
        self.extents = []
        self.sizes = []                            # (little-endian, big-endian) of each record

    def add(self, record):
        self.extents.append((word(record, 2) + record[1], word(record, 10)))
        self.sizes.append((word(record, 10), struct.unpack_from('>I', record, 14)[0]))
        self.more = bool(record[25] & 128)


def tree(image, joliet=False):
    """Entries of the files and folders of the primary tree, or of Joliet's; names as they are stored."""
    sector, root = 16, None
    while image[sector * 2048] != 255:
        head = image[sector * 2048:(sector + 1) * 2048]
        if head[1:6] != b'CD001':
            raise Broken(f'no descriptor in sector {sector}')
        if head[0] == 1 and not joliet or head[0] == 2 and joliet and head[88:90] == b'%/':
            root = head[156:190]
        sector += 1
    out = []

    def walk(record, path, above):
        first, size = word(record, 2), word(record, 10)
        if first in above:
            return
        last = None
        for at in range(first * 2048, first * 2048 + size, 2048):
            end = at + 2048
            while at < end and image[at]:
                r = image[at:at + image[at]]
                at += image[at]
                ident = r[33:33 + r[32]]
                if ident in (b'\0', b'\1'):
                    continue
                name = path + ident.decode('utf-16-be' if joliet else 'latin-1')
                if last and last.more and last.path == name:
                    last.add(r)
                    continue
                last = Entry(name, r)
                last.add(r)
                out.append(last)
                if r[25] & 2:
                    walk(r, name + '/', above + [first])
    walk(root, '', [])
    return out


def contents(image, entry):
    out = b''
    for sector, size in entry.extents:
        data = image[sector * 2048:sector * 2048 + size]
        if len(data) != size:
            raise Broken(f'{entry.path}: {size} bytes at sector {sector} end past the image')
        out += data
    return out


def files(image, joliet=False):
    """{stored path: bytes} of what can be read."""
    out = {}
    for e in tree(image, joliet):
        if not e.flags & 2:
            try:
                out[e.path] = contents(image, e)
            except Broken:
                out[e.path] = None
    return out


def problems(image, joliet=False):
    """Both halves of each size are the same, in each tree, and files that begin in one place have one size."""
    bad, size = [], {}
    for j in (False, True) if joliet else (False,):
        for e in tree(image, j):
            bad += [f'{e.path}: sizes {a} and {b}' for a, b in e.sizes if a != b]
            for (sector, _), (a, _) in zip(e.extents, e.sizes):
                if not e.flags & 2 and size.setdefault(sector, a) != a and a and size[sector]:
                    bad.append(f'{e.path}: {a} bytes at sector {sector}, another record says {size[sector]}')
    return bad
