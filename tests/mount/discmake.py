"""Disc images, made here: a tree of files as 2048-byte sectors, raw sectors of mode 1 and 2, CSO, ZSO and DAX.

A Disc knows where all that it wrote lies, so that a test can say beforehand which bytes an edit will change:
Disc.after() is the user data that an edit has to leave. discread.py reads images and shares nothing with this file.
"""
import random
import struct
import zlib

SECTOR, RAW = 2048, 2352
TIME = (118, 7, 6, 5, 4, 3, 8)                     # 2018-07-06 05:04:03, two hours east of Greenwich
JOLIET = b'%/E'
HIDDEN, FOLDER, ASSOCIATED, MORE = 1, 2, 4, 128


def whole(n, unit=SECTOR):
    """Units that n bytes begin."""
    return (n + unit - 1) // unit


def both16(v):
    return struct.pack('<H', v) + struct.pack('>H', v)


def both32(v):
    return struct.pack('<I', v) + struct.pack('>I', v)


class File:
    """A file. shown: its name in a mount; room: free sectors behind it; pieces: sectors of its extents but the last;
    same: the file whose extent it has; before: sectors of an extended attribute record; at: an extent that is not its
    own."""

    def __init__(self, name, data=b'', shown=None, long=None, room=0, pieces=(), same=None, before=0, at=None, flags=0,
                 unit=(0, 0), time=TIME, attributes=0x0d55, version=None):
        self.name, self.data, self.long, self.room = name, data, long, room
        self.shown = name.rstrip('.') if shown is None else shown
        self.pieces, self.same, self.before, self.at, self.flags = pieces, same, before, at, flags
        self.unit, self.time, self.attributes, self.version = unit, time, attributes, version
        self.extents, self.places, self.path, self.spare = [], [], None, 0


class Folder:
    """loop: its record leads to the root, so nothing of it is shown."""

    def __init__(self, name, kids=(), shown=None, long=None, loop=False):
        self.name, self.kids, self.long, self.loop = name, kids, long, loop
        self.shown = name if shown is None else shown
        self.where, self.time, self.path = {}, TIME, None          # tree: (first sector, bytes)


class Disc:
    """A disc with these files and folders. image: the user data. files: {path in a mount: File}; a file's extents are
    [(sector, bytes)], its places the offsets in the image of all records of it, spare the sectors that it has or could
    have."""

    def __init__(self, kids, joliet=False, version=';1', system='', volume='TEST', boot=b'', tail=0, xa=False):
        self.root, self.joliet, self.version, self.xa = Folder('', kids), joliet, version, xa
        self.system, self.volume, self.boot, self.tail = system, volume, boot, tail
        self.files, self.folders = {}, []
        self._name(self.root, '')
        self.image = self._build()

    def _name(self, folder, path):
        for kid in folder.kids:
            kid.path = path + kid.shown
            if isinstance(kid, Folder):
                self.folders.append(kid.path)
                self._name(kid, kid.path + '/')
            elif not kid.flags & ASSOCIATED:
                self.files[kid.path] = kid

    # ---- identifiers and records

    def _ident(self, node, tree):
        version = '' if isinstance(node, Folder) else self.version if node.version is None else node.version
        if tree:
            return ((node.long or node.name) + version).encode('utf-16-be')
        return (node.name + version).encode('latin-1')

    def _kids(self, folder, tree):
        return sorted(folder.kids, key=lambda kid: self._ident(kid, tree))

    def _record(self, ident, sector, size, flags, node, before=0):
        attributes = struct.pack('>HHH2sB5x', 0, 0, getattr(node, 'attributes', 0x8d55), b'XA', 0) if self.xa else b''
        unit = getattr(node, 'unit', (0, 0))
        body = ident + bytes(1 - len(ident) % 2) + attributes
        return (struct.pack('<BB', 33 + len(body), before) + both32(sector) + both32(size) +
                struct.pack('<6Bb', *node.time) + bytes((flags, *unit)) + both16(1) + bytes([len(ident)]) + body)

    def _records(self, folder, parent, tree):
        """(record, File or None) of a folder, in order."""
        out = [(self._record(b'\0', *folder.where.get(tree, (0, 0)), FOLDER, folder), None),
               (self._record(b'\1', *parent.where.get(tree, (0, 0)), FOLDER, parent), None)]
        for kid in self._kids(folder, tree):
            ident = self._ident(kid, tree)
            if isinstance(kid, Folder):
                where = self.root.where if kid.loop else kid.where
                out.append((self._record(ident, *where.get(tree, (0, 0)), FOLDER, kid), None))
                continue
            extents = (kid.same or kid).extents or [(kid.before, 0)] * (1 + len(kid.pieces))
            for i, (sector, size) in enumerate(extents):
                more = MORE if i + 1 < len(extents) else 0
                out.append((self._record(ident, sector - kid.before, size, kid.flags | more, kid, kid.before), kid))
        return out

    def _listing(self, folder, parent, tree, at=None):
        """The bytes of a folder; with `at`, where they begin in the image, files learn of their records."""
        out = bytearray()
        for record, kid in self._records(folder, parent, tree):
            if len(out) % SECTOR + len(record) > SECTOR:
                out += bytes(-len(out) % SECTOR)
            if kid and at is not None:
                (kid.same or kid).places.append(at + len(out))
            out += record
        return bytes(out) + bytes(-len(out) % SECTOR)

    def _folders(self, tree):
        """(folder, parent, number of the parent from 1), level by level."""
        out = [(self.root, self.root, 1)]
        for number, (folder, _, _) in enumerate(out, 1):
            out += [(kid, folder, number) for kid in self._kids(folder, tree) if isinstance(kid, Folder)]
        return out

    def _table(self, tree, order):
        out = b''
        for folder, _, number in self._folders(tree):
            ident = self._ident(folder, tree) if folder is not self.root else b'\0'
            out += struct.pack(order + 'BBIH', len(ident), 0, folder.where.get(tree, (0, 0))[0], number)
            out += ident + bytes(len(ident) % 2)
        return out

    # ---- the whole

    def _build(self):
        trees = (0, 1) if self.joliet else (0,)
        tables, next_free = {}, 17 + len(trees)
        for tree in trees:
            n = whole(len(self._table(tree, '<')))
            tables[tree] = (next_free, next_free + n)
            next_free += 2 * n
        for tree in trees:
            for folder, parent, _ in self._folders(tree):
                size = len(self._listing(folder, parent, tree))
                folder.where[tree] = (next_free, size)
                next_free += whole(size)
        everything = [kid for folder, _, _ in self._folders(0) for kid in self._kids(folder, 0)
                      if isinstance(kid, File)]
        rest, last = [], None
        for kid in everything:
            if kid.same:
                continue
            cuts = [sum(kid.pieces[:i]) * SECTOR for i in range(len(kid.pieces) + 1)] + [len(kid.data)]
            parts = [kid.data[a:b] for a, b in zip(cuts, cuts[1:])]
            next_free += kid.before
            kid.extents = [(next_free if kid.at is None else kid.at, len(parts[0]))]
            if kid.at is None:
                kid.spare = whole(len(parts[0])) + kid.room
                next_free += kid.spare
                last = kid
            rest += [(kid, part) for part in parts[1:]]
        for kid, part in rest:
            kid.extents.append((next_free, len(part)))
            next_free += whole(len(part))
        if last and not rest:
            last.spare += self.tail
        image = bytearray((next_free + self.tail) * SECTOR)
        image[:len(self.boot)] = self.boot
        for tree in trees:
            self._put(image, 16 + tree, self._descriptor(tree, tables[tree], next_free))
            for order, sector in zip('<>', tables[tree]):
                self._put(image, sector, self._table(tree, order))
            for folder, parent, _ in self._folders(tree):
                sector = folder.where[tree][0]
                self._put(image, sector, self._listing(folder, parent, tree, sector * SECTOR))
        self._put(image, 16 + len(trees), b'\xffCD001\1')
        for kid in everything:
            at = 0
            for sector, size in kid.extents if kid.at is None else ():
                self._put(image, sector, kid.data[at:at + size])
                at += size
        return bytes(image)

    @staticmethod
    def _put(image, sector, data):
        image[sector * SECTOR:sector * SECTOR + len(data)] = data

    def _descriptor(self, tree, tables, sectors):
        text = lambda s, n: s.encode('utf-16-be').ljust(n, b'\0') if tree else s.encode().ljust(n)
        root = self._record(b'\0', *self.root.where[tree], FOLDER, self.root)[1:34]
        out = bytes([1 + tree]) + b'CD001\1\0' + text(self.system, 32) + text(self.volume, 32) + bytes(8)
        out += both32(sectors) + (JOLIET if tree else b'').ljust(32, b'\0') + both16(1) * 2 + both16(SECTOR)
        out += both32(len(self._table(tree, '<'))) + struct.pack('<II', tables[0], 0) + struct.pack('>II', tables[1], 0)
        out += bytes([34]) + root + text('', 128) * 4 + text('', 37) * 3
        out += b'2018070605040300\x08' * 2 + (b'0' * 16 + b'\0') * 2 + b'\1\0'
        out = out.ljust(1024, b'\0') + (b'CD-XA001' if self.xa else b'')
        return out.ljust(SECTOR, b'\0')

    # ---- what edits have to leave

    def after(self, image, path, new):
        """The user data `image` once the file has the bytes `new`: those, zeros up to the end of what it had or has
        now, and its size in each of its records."""
        kid = self.files[path]
        kid = kid.same or kid
        (sector, _), = kid.extents
        out, at = bytearray(image), sector * SECTOR
        was, = struct.unpack_from('<I', image, kid.places[0] + 10)
        end = max(whole(was), whole(len(new))) * SECTOR
        if end > kid.spare * SECTOR:
            raise ValueError(f'{path}: {len(new)} bytes for {kid.spare} sectors')
        out[at:at + end] = new.ljust(end, b'\0')
        for place in kid.places:
            out[place + 10:place + 18] = both32(len(new))
        return bytes(out)


# ---------------------------------------------------------------- raw sectors

def _tables():
    crc = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0xd8018001 if byte & 1 else 0)
        crc.append(byte)
    power, log, x = [], [0] * 256, 1
    for i in range(255):
        power.append(x)
        log[x] = i
        x = x << 1 if x < 128 else (x << 1) ^ 0x11d
    return crc, power * 2, log


CRC, POWER, LOG = _tables()
# Multiplying by the power of 2 that a symbol of a vector of n has.
TIMES = [[POWER[LOG[b] + k] if b else 0 for b in range(256)] for k in range(45)]
BY_3 = [POWER[LOG[b] + 255 - LOG[3]] if b else 0 for b in range(256)]     # divided by 1 + 2


def edc(data):
    c = 0
    for b in data:
        c = (c >> 8) ^ CRC[(c ^ b) & 255]
    return struct.pack('<I', c)


def parity(plane, vectors, n):
    """The two parity symbols of each vector: positions of n - 2 symbols in a plane."""
    first, second = bytearray(), bytearray()
    for v in vectors:
        s0 = s1 = 0
        for i, k in enumerate(v):
            s0 ^= plane[k]
            s1 ^= TIMES[n - 1 - i][plane[k]]
        p = BY_3[s0 ^ s1]
        first.append(p)
        second.append(s0 ^ p)
    return first + second


P_VECTORS = [[43 * r + c for r in range(24)] for c in range(43)]
Q_VECTORS = [[(43 * d + 44 * m) % 1118 for m in range(43)] for d in range(26)]


def with_codes(sector, mode):
    """The sector with its EDC and ECC; its data are there."""
    s = bytearray(sector)
    low, high = (0, 0x810) if mode == 1 else (0x10, 0x818)
    s[high:high + 4] = edc(s[low:high])
    planes = [bytearray((s[12:] if mode == 1 else bytes(4) + s[16:])[k::2]) for k in (0, 1)]
    for vectors, n, at in ((P_VECTORS, 26, 1032), (Q_VECTORS, 45, 1118)):
        for plane in planes:
            codes = parity(plane, vectors, n)
            plane[at:at + len(codes)] = codes
    for k in (0, 1):
        s[0x81c + k::2] = planes[k][1032:]
    return bytes(s)


def raw_sector(number, data, mode, codes=True):
    frame = number + 150
    clock = ''.join('%02d' % x for x in (frame // 4500, frame // 75 % 60, frame % 75))
    s = b'\0' + b'\xff' * 10 + b'\0' + bytes.fromhex(clock) + bytes([mode]) + (b'\0\0\x08\0' * 2 if mode == 2 else b'')
    s = (s + data).ljust(RAW, b'\0')
    return with_codes(s, mode) if codes else s


def raw(image, mode, codes=True):
    return b''.join(raw_sector(i // SECTOR, image[i:i + SECTOR], mode, codes) for i in range(0, len(image), SECTOR))


def form2(sector):
    """A sector of mode 2 as form 2 has it, without an EDC."""
    s = bytearray(sector)
    s[18] = s[22] = 0x28
    s[RAW - 4:] = bytes(4)
    return bytes(s)


# ---------------------------------------------------------------- packed images

def deflate(data, level=9):
    z = zlib.compressobj(level, zlib.DEFLATED, -15)
    return z.compress(data) + z.flush()


def lz4(data):
    """One block; what comes again after one to sixteen bytes is found, which is enough here."""
    out, start, at = bytearray(), 0, 0

    def number(left):
        return b'\xff' * ((left - 15) // 255) + bytes([(left - 15) % 255]) if left >= 15 else b''

    def again(step):
        """How many bytes at `at` are those of `step` bytes before. The last five of a block are literals."""
        n = 0
        while step <= at and at + n < len(data) - 5 and data[at + n] == data[at + n - step]:
            n += 1
        return n

    while at + 12 < len(data):
        n, step = max((again(step), -step) for step in (1, 2, 4, 11, 16))
        if n < 8:
            at += 1
            continue
        run = data[start:at]
        out.append(min(len(run), 15) << 4 | min(n - 4, 15))
        out += number(len(run)) + run + struct.pack('<H', -step) + number(n - 4)
        at += n
        start = at
    run = data[start:]
    out.append(min(len(run), 15) << 4)
    return bytes(out + number(len(run)) + run)


def cso(image, block=SECTOR, shift=0, version=1, room=0, plain=(), magic=b'CISO', level=9):
    """room: bytes behind each packed block that nothing uses."""
    n = whole(len(image), block)
    at, index, body = 24 + 4 * (n + 1), [], bytearray()
    body += bytes(-at % (1 << shift))
    for i in range(n):
        data = image[i * block:(i + 1) * block].ljust(block, b'\0')
        small, flag = (lz4(data) if magic == b'ZISO' else deflate(data, level)), 0
        if version == 2 and i % 2:
            small, flag = lz4(data), 1 << 31
        if i in plain or len(small) >= block:
            small, flag = data, 0 if version == 2 else 1 << 31
        index.append((at + len(body)) >> shift | flag)
        body += small + bytes(room if len(small) + room < block else 0)
        body += bytes(-(at + len(body)) % (1 << shift))
    index.append((at + len(body)) >> shift)
    head = struct.pack('<4sIQIBB2x', magic, 24, len(image), block, version, shift)
    return head + struct.pack(f'<{n + 1}I', *index) + bytes(body)


def dax(image, plain=()):
    """plain: frames in areas of their own that are not packed."""
    frame, n = 8192, whole(len(image), 8192)
    at, offsets, sizes, body = 32 + 6 * n + 8 * len(plain), [], [], b''
    for i in range(n):
        data = image[i * frame:(i + 1) * frame]
        data = data if i in plain else zlib.compress(data, 9)
        offsets.append(at + len(body))
        sizes.append(len(data))
        body += data
    areas = b''.join(struct.pack('<2I', i, 1) for i in plain)
    head = struct.pack('<4s3I16x', b'DAX\0', len(image), 1 if plain else 0, len(plain))
    return head + struct.pack(f'<{n}I', *offsets) + struct.pack(f'<{n}H', *sizes) + areas + body


# ---------------------------------------------------------------- what lies on discs

def jom(textures=(), points=4):
    """A model of Jo Engine: one square, and a material with the last of the textures, which lie in files of their
    own."""
    one = 1 << 16
    chunk = lambda tag, data: tag + struct.pack('>I', len(data)) + data
    name = lambda s: s.encode().ljust(16, b'\0')
    corners = [(0, 0, 0), (one, 0, 0), (one, one, 0), (0, one, 0)] + [(i * one, -one, one) for i in range(points - 4)]
    out = b'JOM1' + struct.pack('>HH4i', 1, 0, one // 2, one // 2, 0, 2 * one)
    out += chunk(b'PNTS', struct.pack('>I', len(corners)) + b''.join(struct.pack('>3i', *c) for c in corners))
    out += chunk(b'QUAD', struct.pack('>I3i4H', 1, 0, 0, -one, 0, 1, 2, 3))
    out += chunk(b'QMAT', struct.pack('>I2H', 1, 0, 0))
    out += chunk(b'MATL', struct.pack('>I16s4BhHII', 1, name('wall'), 255, 128, 0, 10, len(textures) - 1, 0, 0, 7))
    if textures:
        out += chunk(b'TEXT', struct.pack('>I', len(textures)) + b''.join(map(name, textures)))
    return out + chunk(b'END ', b'')


def picture(seed, width=8, height=2):
    """A loose texture: rgb555 words, little-endian, all of them visible."""
    rng = random.Random(seed)
    words = [rng.randrange(1 << 15) | 1 << 15 for _ in range(width * height)]
    return struct.pack(f'<2H{len(words)}H', width, height, *words)
