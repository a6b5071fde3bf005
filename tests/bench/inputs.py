"""What run.py measures: programs and archives, made once and kept in the work folder.

BIG.BIN        6,602 encrypted PACs with models, 500 MB, by mkbig
PLAIN.BIN      a DATA.BIN without encryption: as many plain files of the same sizes and one of 64 MiB; PLAIN.BIN.idx
               is the index that lets limitfs serve the same bytes under the same names
CODED.BIN      the same files, encrypted
big.pmo        one model whose mesh 0 is a long text
wide.pac       one model that shows 200 files
big.mod3       one model of 20 meshes of 50,000 vertices
many.arc       5,000 packed files of 20,000 bytes in 50 folders
carve-*.pak    1 GiB each of noise, of zeros and of magics of model libraries, the first two with six PS3 quartets in it;
               and of noise alone
EDIT.BIN       a copy of BIG.BIN, made anew each time
EDIT.zip       the same files, stored, and materials.yaml
NAME.sqfs      the names of a tree, as empty files, for squashfuse_ll
disc.iso       CODED.BIN as DATA.BIN on a disc
half.iso       256 MiB of tables, text and noise on a disc; half-2k.cso, half-16k.cso: the same packed, to three fifths
raw.bin        a disc of 32 MiB in raw sectors; flat.iso: the same in plain ones; copies are written to
folder/        one file of 1 GiB, and 10,000 files in 100 folders
"""
import array
import io
import math
import os
import random
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

BLOCK = 2048
BIG_FILES, BIG_PAIRS, BIG_MB = 6602, 812, 500      # as mkbig writes them
LONG = 64 << 20
MAGIC = b'\xfe\xca'                                # of no format
MHFU_PLAIN = {42, 43, *range(46, 63)}              # not encrypted in an archive of another length than the known ones
PASSTHROUGH = '/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c'
PACKED_FILES, PACKED_SIZE = 5000, 20000
CARVED = 1 << 30
PLAIN_FILE, MANY_FOLDERS, MANY_FILES = 1 << 30, 100, 100
HALF, WRITTEN_DISC = 256 << 20, 32 << 20
WORDS = [b'position', b'texture', b'walk', b'stand', b'monster', b'camera', b'light', b'sound', b'door', b'stage']
MOUNT_TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'mount')
HI_STEP, HI_MOD, LO_STEP, LO_MOD = 0x2345, 0xFFD9, 0x7F8D, 0xFFF1


class Inputs:
    def __init__(self, work, shared, cc):
        self.work, self.shared, self.cc = work, shared, cc
        os.makedirs(work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.work, name)

    def make(self, name, write):
        """The file, written by write(path) unless it is there; a half-written one never is."""
        path = self.path(name)
        if not os.path.exists(path):
            print(f'making {name}', file=sys.stderr)
            write(path + '.part')
            os.rename(path + '.part', path)
        return path

    # ---- programs of the reference folder

    def program(self, source, *libs):
        name = os.path.basename(source)[:-2]
        source = os.path.join(self.shared, source)
        return self.make(name, lambda to: subprocess.run([self.cc, '-O2', '-o', to, source, *libs], check=True))

    def limitfs(self):
        libs = subprocess.run(['pkg-config', '--cflags', '--libs', 'fuse3'], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        return self.program('bench/limitfs.c', *libs.split())

    def passthrough(self):
        """libfuse's example of a folder shown as it is, or None."""
        if not os.path.exists(PASSTHROUGH):
            return None
        libs = subprocess.run(['pkg-config', '--cflags', '--libs', 'fuse3'], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        return self.program(PASSTHROUGH, *libs.split())

    def fsbench(self):
        return self.program('bench/fsbench.c')

    # ---- a folder of plain files

    def folder(self):
        def write(to):
            shutil.rmtree(to, ignore_errors=True)
            for i in range(MANY_FOLDERS):
                os.makedirs(os.path.join(to, f'many/{i:03d}'))
                for k in range(MANY_FILES):
                    with open(os.path.join(to, f'many/{i:03d}/{k:03d}.dat'), 'wb') as f:
                        f.write(MAGIC * k)
            piece = random.Random(1).randbytes((1 << 20) - len(MAGIC))
            with open(os.path.join(to, 'plain.dat'), 'wb') as f:
                for _ in range(PLAIN_FILE >> 20):
                    f.write(MAGIC + piece)
        return self.make('folder', write)

    # ---- archives

    def big(self):
        pool = self.path('pool')
        if not os.path.isdir(pool):
            tool = os.path.join(self.shared, 'corpus/mhp/mkmhp.py')
            subprocess.run([sys.executable, '-B', tool, self.work, '--what', 'pool'], check=True)
        mkbig = self.program('corpus/mhp/mkbig.c')
        table = os.path.join(self.shared, 'spec/data/mhp_databin_encode.hex')
        pacs = sorted(os.path.join(pool, f) for f in os.listdir(pool))

        def write(to):
            subprocess.run([mkbig, '-m', str(BIG_MB), '-t', table, to, *pacs], check=True, stdout=sys.stderr)
            os.rename(to + '.list', self.path('BIG.BIN.list'))
        return self.make('BIG.BIN', write)

    def big_sizes(self):
        self.big()
        with open(self.path('BIG.BIN.list')) as f:
            return [int(line.split('\t')[2]) for line in f]

    def big_offsets(self):
        """Where every file of BIG.BIN begins, in bytes."""
        at = blocks(4 * (BIG_FILES + 1) + 8 * BIG_PAIRS)
        out = []
        for size in self.big_sizes():
            out.append(at * BLOCK)
            at += blocks(size)
        return out

    def edited(self):
        """A copy to change, without what an earlier one has left beside it."""
        for name in os.listdir(self.work):
            if 'EDIT.BIN' in name:
                os.unlink(self.path(name))
        return shutil.copyfile(self.big(), self.path('EDIT.BIN'))

    def big_text(self, point):
        """The path of the first materials.yaml with a colour, in BIG.BIN mounted at point."""
        for pac in sorted(os.listdir(point)):
            for model in sorted(os.listdir(os.path.join(point, pac))) if pac.endswith('.pac') else []:
                path = f'{pac}/{model}/materials.yaml'
                if not model.endswith('.pmo'):
                    continue
                with open(os.path.join(point, path)) as f:
                    if 'colour: [' in f.read():
                        return path
        raise RuntimeError('no model with materials')

    def edited_zip(self, text):
        path = self.path('EDIT.zip')
        with open(self.big(), 'rb') as f, zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as z:
            for i, (at, size) in enumerate(zip(self.big_offsets(), self.big_sizes())):
                f.seek(at)
                z.writestr(zip_entry('%05d.pac' % i), f.read(size))
            z.writestr(zip_entry('materials.yaml'), text)
        return path

    def twin_slots(self):
        """Blocks of every file of PLAIN.BIN and CODED.BIN; the last is the long one."""
        return [blocks(size) for size in self.big_sizes()] + [LONG // BLOCK]

    def plain(self):
        slots = self.twin_slots()
        path = self.make('PLAIN.BIN', lambda to: write_archive(to, slots, None))

        def write(to):
            at = table_blocks(len(slots))
            with open(to, 'w') as f:
                for i, slot in enumerate(slots):
                    f.write('%d %d %05d.bin\n' % (at * BLOCK, slot * BLOCK, i))
                    at += slot
        self.make('PLAIN.BIN.idx', write)
        return path

    def coded(self):
        cipher = Cipher(os.path.join(self.shared, 'spec/data/mhp_databin_encode.hex'))
        return self.make('CODED.BIN', lambda to: write_archive(to, self.twin_slots(), cipher))

    def long_name(self):
        return '%05d.bin' % (len(self.twin_slots()) - 1)

    def big_model(self):
        return self.make('big.pmo', self.write_model)

    def write_model(self, to):
        mkmhp, rng = self.mkmhp(), random.Random(1)
        groups = [mkmhp.new_group(rng, mkmhp.Fmt(nw=2, idx=2), 200, 200, 'sl', bones=4) for _ in range(3)]
        model = mkmhp.Model('1.0', [mkmhp.Mesh(groups, [0])], mkmhp.some_materials(rng, 1, 1), (123.4, 56.7, 89.1))
        with open(to, 'wb') as f:
            f.write(mkmhp.write_pmo(model)[0])

    # ---- an archive of packed files

    def many_packed(self):
        return self.make('many.arc', self.write_packed)

    @staticmethod
    def packed_name(i):
        return f'folder{i // 100:02}/file{i:04}.gmd'

    def write_packed(self, to):
        rng, table, data = random.Random(1), b'', b''
        start = 8 + 80 * PACKED_FILES
        for i in range(PACKED_FILES):
            words = rng.randbytes(PACKED_SIZE // 4)
            stream = zlib.compress(bytes(c & m for c in words for m in (15, 15, 255, 0)), 9)
            name = self.packed_name(i)[:-4].replace('/', '\\').encode()
            table += struct.pack('<64s4I', name, 0x242bb29a, len(stream), PACKED_SIZE | 1 << 30, start + len(data))
            data += stream
        with open(to, 'wb') as f:
            f.write(struct.pack('<4sHH', b'ARC\0', 7, PACKED_FILES) + table + data)

    # ---- files that are searched

    def carved(self, kind):
        return self.make(f'carve-{kind}.pak', lambda to: self.write_carved(kind, to))

    def write_carved(self, kind, to):
        rng = random.Random(1)
        with open(to, 'wb') as f:
            for _ in range(CARVED >> 20):
                f.write(bytes(1 << 20) if kind == 'zeros' else b'\xfa\xfa\0\3' * (1 << 18) if kind == 'magics' else
                        rng.randbytes(1 << 20))
            f.seek(0)
            f.write(b'none')
            if kind in ('zeros', 'noise'):
                for quartet in self.quartets(rng):
                    for member, data in quartet.items():
                        f.seek(rng.randrange(CARVED - len(data)) // 16 * 16 + (4 if member == 'mlp' else 0))
                        f.write(data)

    def quartets(self, rng):
        folder = os.path.join(self.shared, 'corpus', 'ps3')
        if folder not in sys.path:
            sys.path.append(folder)
        import mkpak
        for q in mkpak.some(rng, ('one', 'many', 'mixmgp', 'mixed', 'subs', 'tight')):
            yield {k: q.files[m['file']] for k, m in q.truth['members'].items() if k != 'scp'}

    # ---- discs

    @staticmethod
    def discmake():
        if MOUNT_TESTS not in sys.path:
            sys.path.append(MOUNT_TESTS)
        import discmake
        return discmake

    def disc(self):
        return self.make('disc.iso', lambda to: self.write_iso(to, 'DATA.BIN', pieces(self.coded())))

    def write_iso(self, to, name, data):
        """A disc of one file; data: its pieces, one after the other."""
        make = self.discmake()
        disc = make.Disc([make.File(name)], volume='BENCH')
        head, size = bytearray(disc.image), 0
        with open(to, 'wb') as f:
            f.write(head)
            for piece in data:
                size += f.write(piece)
            f.write(bytes(-size % BLOCK))
            for place in disc.files[name].places:
                head[place + 10:place + 18] = make.both32(size)
            place = 16 * BLOCK + 80
            head[place:place + 8] = make.both32((f.tell()) // BLOCK)
            f.seek(0)
            f.write(head)

    def half(self):
        """What lies on discs, by turns of 64 KiB: tables of numbers, text, and what is packed already."""
        def mixed():
            rng = random.Random(1)
            for i in range(HALF >> 16):
                if i % 3 == 0:
                    rows = (struct.pack('<3f4HI', i + k / 7, math.sin(k / 50), k % 91 * 0.25, k, k + 1, k + 2, 255, i)
                            for k in range((1 << 16) // 24 + 1))
                    piece = b''.join(rows)
                elif i % 3 == 1:
                    piece = b''.join(b'%s = %d, %d\n' % (rng.choice(WORDS), rng.randrange(999), k) for k in range(5000))
                else:
                    piece = rng.randbytes(1 << 16)
                yield piece[:1 << 16].ljust(1 << 16, b'.')
        return self.make('half.iso', lambda to: self.write_iso(to, 'HALF.DAT', mixed()))

    def half_packed(self, block):
        def write(to):
            image = b''.join(pieces(self.half()))
            with open(to, 'wb') as f:
                f.write(self.discmake().cso(image, block, shift=0, level=6))
        return self.make(f'half-{block >> 10}k.cso', write)

    def written(self, raw):
        """A copy of a disc with one large file that is written, without what an earlier one has left beside it."""
        def flat(to):
            rng = random.Random(1)
            self.write_iso(to, 'FILE.DAT', (rng.randbytes(1 << 20) for _ in range(WRITTEN_DISC >> 20)))

        def sectors(to):
            with open(to, 'wb') as f:
                f.write(self.discmake().raw(b''.join(pieces(self.make('flat.iso', flat))), 1))
        first = self.make('raw.bin', sectors) if raw else self.make('flat.iso', flat)
        name = 'EDIT.' + ('raw' if raw else 'iso')
        for old in os.listdir(self.work):
            if name in old:
                os.unlink(self.path(old))
        return shutil.copyfile(first, self.path(name))

    def other_data(self):
        """What is written over it."""
        def write(to):
            with open(to, 'wb') as f:
                f.write(random.Random(2).randbytes(WRITTEN_DISC))
        return self.make('other.dat', write)

    def wide_model(self):
        return self.make('wide.pac', self.write_wide)

    def write_wide(self, to):
        mkmhp, rng = self.mkmhp(), random.Random(1)
        model = mkmhp.new_model(rng, '1.0', [1] * 46, 6, 5, tame=True, rows=12, cols=12)
        skeleton = mkmhp.ahi_node(mkmhp.new_skeleton(rng, 'mhfu', 6))
        pac = mkmhp.pac_node([mkmhp.pmo_node(model), skeleton, mkmhp.bank(rng, 5)])
        with open(to, 'wb') as f:
            f.write(pac.data)

    def big_meshes(self):
        return 20

    def big_mod3(self):
        return self.make('big.mod3', lambda to: write_mod3(to, self.big_meshes(), 250, 200))

    def mkmhp(self):
        where = os.path.join(self.shared, 'corpus/mhp')
        if where not in sys.path:
            sys.path.append(where)
        import mkmhp
        return mkmhp

    def squash(self, name, entries):
        """A squashfs of the names in entries, pairs (is a directory, path)."""
        def write(to):
            packer = subprocess.Popen(['mksquashfs', '-', to, '-tar', '-quiet', '-no-progress', '-all-root'],
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            with tarfile.open(fileobj=packer.stdin, mode='w|', format=tarfile.GNU_FORMAT) as tar:
                for is_dir, path in entries:
                    info = tarfile.TarInfo(path)
                    info.type, info.mode = (tarfile.DIRTYPE, 0o755) if is_dir else (tarfile.REGTYPE, 0o444)
                    tar.addfile(info, io.BytesIO())
            packer.stdin.close()
            if packer.wait():
                raise RuntimeError('mksquashfs failed')
        return self.make(name + '.sqfs', write)


def write_mod3(to, meshes, nx, ny):
    """Wavy sheets of nx x ny vertices of 32 bytes, on four bones, each in a run of its own."""
    rng, n = random.Random(1), nx * ny
    vertex, faces = struct.Struct('<3f4b4b2eI4B'), array.array('H')
    for a in (y * nx + x for y in range(ny - 1) for x in range(nx - 1)):
        faces.extend((a, a + 1, a + nx, a + nx, a + 1, a + nx + 1))
    records, vertices = bytearray(), bytearray()
    for m in range(meshes):
        records += struct.pack('<7H2B6I2B3H2h5IQ', 19, n, 0, 0, 0xFFFF, 0, 33, 32, 0xC3, 0, len(vertices), 0xF637401C,
                               m * len(faces), len(faces), 0, 0, 0, m + 1, 0, n - 1, -1, -1, 0, 0x30000000, m * n,
                               0, 0, 0)
        for u, v in ((x / nx, y / ny) for y in range(ny) for x in range(nx)):
            w = rng.randrange(200)
            vertices += vertex.pack(u * 40 + rng.random(), 10 * math.sin(u * 9 + m) * math.cos(v * 7),
                                    v * 60 - rng.random(), rng.randrange(-90, 90), rng.randrange(-90, 90), 90, 0, 127, 0, 0, 127, u, v,
                                    993 - w | w << 10 | 20 << 20, 0, 1, 2, 3)
    unit = struct.pack('<16f', *(float(i % 5 == 0) for i in range(16)))
    bones = b''.join(struct.pack('<H2B5f', i, 255, 255, 1, 0, 0, 0, 0) for i in range(4))
    head = bytearray(0x140) + bones + unit * 8 + bytes(range(4)).ljust(512, b'\xff')
    names = len(head)
    head += b'bench'.ljust(128, b'\0') + records + bytes(4)
    indices = len(head) + len(vertices)
    end = indices + meshes * 2 * len(faces)
    struct.pack_into('<4s2B3H5I9Q', head, 0, b'MOD\0', 237, 0, 4, meshes, 1, meshes * n, meshes * len(faces), 0xFFFF,
                     len(vertices), 0, 0, 0, 0x140, names, names, names + 128, len(head), indices, end)
    with open(to, 'wb') as f:
        f.write(head + vertices + faces.tobytes() * meshes)


def pieces(path):
    """The bytes of a file, MiB by MiB."""
    with open(path, 'rb') as f:
        while piece := f.read(1 << 20):
            yield piece


def zip_entry(name):
    """With a mode, without which fuse-zip cannot tell what it is."""
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def blocks(size):
    return -(-size // BLOCK)


def table_blocks(files):
    return blocks(4 * (files + 1))


def write_archive(to, slots, cipher):
    """A DATA.BIN of plain files, the same bytes with and without a cipher."""
    rng = random.Random(1)
    at = table_blocks(len(slots))
    starts = array.array('I', [at])
    for slot in slots:
        starts.append(starts[-1] + slot)
    table = starts.tobytes().ljust(at * BLOCK, b'\xff')        # what follows can be no pair
    with open(to, 'wb') as f:
        f.write(cipher.encrypt(table, 0) if cipher else table)
        for i, slot in enumerate(slots):
            data = MAGIC + rng.randbytes(slot * BLOCK - len(MAGIC))
            f.write(cipher.encrypt(data, starts[i]) if cipher and i not in MHFU_PLAIN else data)


class Cipher:
    """The cipher of spec/mhp.md 1.2, many words at a time: each half of the key walks along one cycle."""

    def __init__(self, table):
        with open(table) as f:
            self.encode = bytes.fromhex(''.join(line for line in f if not line.startswith('#')))
        self.hi, self.lo = Walk(HI_STEP, HI_MOD), Walk(LO_STEP, LO_MOD)

    def encrypt(self, data, start):
        hi = self.hi.run(start >> 16 or HI_STEP, len(data) // 4)
        lo = self.lo.run(start & 0xFFFF or LO_STEP, len(data) // 4)
        key = bytearray(len(data))
        key[0::4], key[1::4], key[2::4], key[3::4] = lo[0::2], lo[1::2], hi[0::2], hi[1::2]
        mixed = int.from_bytes(data, 'little') ^ int.from_bytes(key, 'little')
        return mixed.to_bytes(len(data), 'little').translate(self.encode)


class Walk:
    def __init__(self, step, mod):
        self.mod, self.place, at = mod, {}, 1
        cycle = array.array('H')
        for i in range(mod - 1):
            self.place[at] = i
            cycle.append(at)
            at = at * step % mod
        self.cycle = cycle.tobytes()

    def run(self, state, n):
        """The n 16-bit states after this one."""
        if state % self.mod == 0:
            return bytes(2 * n)
        at = 2 * (self.place[state % self.mod] + 1) % len(self.cycle)
        turns = (at + 2 * n) // len(self.cycle) + 1
        return (self.cycle * turns)[at:at + 2 * n] if turns > 1 else self.cycle[at:at + 2 * n]
