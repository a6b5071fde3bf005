"""Disc images as they are shown: of every kind, made here, mounted, in a folder, extracted, by cue sheets; what is odd
or damaged in them; those of the public corpus by the corpus' own checker. Edits are in discedit.py and discchain.py."""
import errno
import os
import re
import struct
import sys
import time

import discmake
import discs
import lib
import saving
from discmake import SECTOR, Disc, File, Folder
from lib import Mount, run

CORPUS = os.path.join(lib.SHARED, 'corpus', 'disc')
WHEN = 1530846243                                  # discmake.TIME: 2018-07-06 03:04:03 UTC
LOST = ('FAR.DAT', 'INTER.DAT')                    # of discs.odd()


def known_disc(kind, disc):
    return kind.make(disc.image)


def error(f, *args):
    """Number of the error a call gives, or None."""
    try:
        f(*args)
    except OSError as e:
        return e.errno
    return None


def shape(disc):
    """{path: True for a folder} of all that is shown."""
    out = {p: True for p in disc.folders}
    out.update({p: False for p in disc.files})
    return out


def tree_problems(top, disc, lost=()):
    """A mounted or extracted disc against what it was made from."""
    bad, want = [], {}
    for path, folder in shape(disc).items():
        want.setdefault(os.path.dirname(path), set()).add(os.path.basename(path))
        if folder:
            want.setdefault(path, set())
            bad += lib.unless(os.path.isdir(os.path.join(top, path)), f'{path}: no folder')
    for folder, names in want.items():
        have = set(os.listdir(os.path.join(top, folder))) - {'errors.txt'}
        bad += [f'{folder}: {n}: missing' for n in names - have]
        bad += [f'{folder}: {n}: not expected' for n in have - names]
    for path, file in disc.files.items():
        data = (file.same or file).data
        if path in lost:
            continue
        try:
            bad += lib.unless(discs.below(top, path) == data, f'{path}: other bytes')
        except OSError as e:
            bad.append(f'{path}: {e.strerror}')
    return bad


# ---------------------------------------------------------------- every kind

def kinds(t):
    """Alone, extracted and, all at once, in a folder."""
    disc, folder = discs.plain(), t.dir('images')
    every = discs.WRITTEN + discs.READ_ONLY
    for kind in every:
        with open(os.path.join(folder, kind.name), 'wb') as f:
            f.write(known_disc(kind, disc))
    all_of_them = t.extract(folder)
    for kind in every:
        path = os.path.join(folder, kind.name)
        r = run('info', path)
        t.none(discs.setting(r.stdout.decode(), kind=kind.says, sectors=str(len(disc.image) // SECTOR), game='saturn',
                             volume_id='"PLAIN"', system_id='"SEGA SATURN"', joliet='true', files=str(len(disc.files)),
                             directories=str(len(disc.folders))) or lib.unless(not r.returncode, r.stderr),
               f'{kind.name}: info')
        to = t.extract(path)
        t.none(tree_problems(to, disc), f'{kind.name}: extracted')
        t.none(lib.differences(lib.snapshot(to), lib.below(lib.snapshot(all_of_them), kind.name)),
               f'{kind.name}: extracted from its folder')
        r = run('verify', path)
        t.same((r.returncode, r.stderr), (0, ''), f'{kind.name}: verified')
        if not lib.fuse_missing():
            with Mount(t, path, 'ro') as m:
                t.none(tree_problems(m.point, disc), f'{kind.name}: mounted')
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    with Mount(t, folder, 'ro') as m:
        for kind in every:
            t.none(tree_problems(os.path.join(m.point, kind.name), disc), f'{kind.name}: mounted in a folder')


def oddities(t):
    """Names, order, times, files in several pieces and files that cannot be read."""
    disc = discs.odd()
    path = t.file('odd.iso', disc.image)
    to = t.extract(path, expect=1)
    t.none(tree_problems(to, Kept(disc, LOST), LOST), 'extracted')
    listed = run('ls', '-l', path).stdout.decode()
    t.none([p for p in LOST if not re.search(rf'(?m)^-\S+ +{len(disc.files[p].data)} .* {p}$', listed)],
           'what cannot be read is listed with its size', )
    t.none([p for p in LOST if run('cat', path, p).returncode != 1], 'and reading it fails')
    r = run('info', '-v', path)
    t.ok('A text.txt' in r.stdout.decode() and 'Original data.bin' in r.stdout.decode(), 'Joliet names: info -v', r)
    t.ok(b'A text.txt' not in run('info', path).stdout, 'not info alone')
    said = run('cat', path, 'errors.txt').stdout.decode() + run('verify', path).stderr
    t.ok('FAR.DAT: sectors 2147483632.. are outside' in said, 'why', said)
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    with Mount(t, path, 'ro') as m:
        t.none(tree_problems(m.point, disc, LOST), 'mounted')
        t.same([error(lib.read, m.point, p) for p in LOST], [errno.EIO] * 2, 'what cannot be read: EIO')
        t.same([os.stat(os.path.join(m.point, p)).st_size for p in LOST], [len(disc.files[p].data) for p in LOST],
               'with its size')
        names = [n for n, _, _, _ in lib.entries(os.path.join(m.point, 'MANY'))]
        t.same(names, ['FILE%03d.TXT' % i for i in range(60)] + ['TWICE.BIN'], 'in stored order')
        stat = lambda p: os.stat(os.path.join(m.point, p)).st_mtime
        t.same({stat(p) for p in ('TEXT.TXT', 'MODELS', 'MODELS/SUB', 'MODELS/CUBE.JOM', 'MODELS/WALL.BIN',
                                  'LINK.DAT')}, {WHEN}, 'times, with their zone')
        t.same([stat(p) for p in ('NODATE.TXT', 'OLD.TXT')], [os.stat(path).st_mtime] * 2,
               'of what has none, or one before 1980: the image\'s')
        t.same([error(os.stat, os.path.join(m.point, n)) for n in ('text.txt', 'TEXT.TXT;1', 'README.', 'A text.txt')],
               [errno.ENOENT] * 4, 'names are exact')
        t.same(os.listdir(os.path.join(m.point, 'LOOP')), [], 'a folder that leads to its own parent is empty')
        textures(t, m.point)


class Kept(Disc):
    """A disc without files that an extracted tree has not."""

    def __init__(self, disc, lost):
        self.folders, self.files = disc.folders, {p: f for p, f in disc.files.items() if p not in lost}


def textures(t, point):
    """Beside the model, in the root, in the one folder that has it; by names without case."""
    where = os.path.join(point, 'MODELS', 'CUBE.JOM', 'textures')
    want = [pixels(discmake.picture(i)) for i in (3, 1, 4)]
    t.same([saving.pixels(lib.read(where, f'{i}.png'))[2] for i in range(3)], want, 'textures of a model are found')
    t.ok(not os.path.exists(where + '/3.png') and b'source: missing' in lib.read(where, '3.yaml'),
         'one that two folders have is not')
    alone = os.path.join(point, 'MODELS', 'SUB', 'ALONE.JOM', 'textures')
    t.same(saving.pixels(lib.read(alone, '0.png'))[2], want[2], 'nor what lies in the folder above')


def pixels(picture):
    w, h = struct.unpack_from('<2H', picture)
    out = b''
    for word in struct.unpack_from(f'<{w * h}H', picture, 4):
        out += bytes((c << 3 | c >> 2) for c in (word & 31, word >> 5 & 31, word >> 10 & 31)) + b'\xff'
    return out


def depth(t):
    """64 levels down a folder is empty."""
    kids = [File('BOTTOM.TXT', b'x')]
    for i in range(70):
        kids = [Folder('D', kids), File('F.TXT', b'%d\n' % i)]
    path = t.file('deep.iso', Disc(kids).image)
    began = time.monotonic()
    text = run('ls', '-R', path).stdout.decode()
    t.ok(time.monotonic() - began < 5 * lib.SLOW, 'a deep tree')
    t.same((text.count('F.TXT'), 'BOTTOM' in text), (64, False), 'as deep as it goes')


# ---------------------------------------------------------------- what raw sectors say

def raw(t):
    disc = Disc([File('AUDIO.DAT', b'a' * 3000, attributes=0x4d55), File('FORM2.DAT', b'b' * 3000),
                 File('GOOD.DAT', b'c' * 3000), File('NOSYNC.DAT', b'd' * 3000), File('WRONG.DAT', b'e' * 3000)],
                xa=True)
    sectors = discs.sectors(discmake.raw(disc.image, 2))
    at = lambda name: disc.files[name].extents[0][0]
    sectors[at('FORM2.DAT') + 1] = discmake.form2(sectors[at('FORM2.DAT') + 1])
    sectors[at('NOSYNC.DAT')] = bytes(12) + sectors[at('NOSYNC.DAT')][12:]
    wrong = bytearray(sectors[at('WRONG.DAT')])
    wrong[30] ^= 1
    sectors[at('WRONG.DAT')] = bytes(wrong)
    path = t.file('raw.bin', b''.join(sectors) + b'rest')
    lost = ('AUDIO.DAT', 'FORM2.DAT', 'NOSYNC.DAT')
    t.same([run('cat', path, n).returncode for n in lost], [1] * 3, 'audio, form 2, no sync: not read')
    t.same(run('cat', path, 'GOOD.DAT').stdout, b'c' * 3000, 'the others are')
    t.same(run('cat', path, 'WRONG.DAT').stdout, b'e' * 6 + b'd' + b'e' * 2993, 'a wrong EDC: as it is stored')
    r = run('verify', path)
    t.ok('EDC' in r.stdout.decode() + r.stderr, 'verify names it', r)
    whole = discmake.raw(disc.image, 1)
    sub = b''.join(whole[i:i + 2352] + bytes(range(96)) for i in range(0, len(whole), 2352))
    path = t.file('sub.bin', sub)
    t.same(run('cat', path, 'GOOD.DAT').stdout, b'c' * 3000, 'sectors with subchannels')
    r = run('put', path, 'GOOD.DAT', '-', data=b'new')
    t.ok(r.returncode == 1 and 'read-only' in r.stderr and lib.read(path) == sub, 'which are not written', r.stderr)


# ---------------------------------------------------------------- cue sheets

def cue(*tracks, file='disc.bin', mode=' BINARY'):
    """tracks: (mode, sector)"""
    text = f'FILE "{file}"{mode}\r\n'
    for i, (mode, sector) in enumerate(tracks, 1):
        text += f'  TRACK {i:02} {mode}\r\n    INDEX 01 {sector // 4500:02}:{sector // 75 % 60:02}:{sector % 75:02}\r\n'
    return text.encode()


def sheets(t):
    """As SOURCE the tree of its first data track; in a folder a plain file."""
    disc, folder = discs.plain(), t.dir('cue')
    n = len(disc.image) // SECTOR
    data = discmake.raw(disc.image, 1)
    audio = bytes(range(256)) * 147
    files = {'disc.bin': data + audio, 'disc.cue': cue(('MODE1/2352', 0), ('AUDIO', n)), 'image.iso': disc.image,
             'liar.cue': cue(('MODE1/2352', 0), file='image.iso'),
             'bare.cue': cue(('mode1/2048', 0), file='image.iso').replace(b'"', b''),
             'rem.cue': b'REM made by hand\nCATALOG 0000000000000\n' + cue(('MODE1/2048', 0), file='image.iso'),
             'gone.cue': cue(('MODE1/2352', 0), file='gone.bin'), 'past.cue': cue(('MODE1/2352', 449999)),
             'audio.cue': cue(('AUDIO', 0)), 'tracks.cue': b'FILE "disc.bin" BINARY\n', 'empty.cue': b'',
             'noise.cue': b'\xff\0\1 no text', 'itself.cue': cue(('MODE1/2352', 0), file='itself.cue')}
    for name, b in files.items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(b)
    good = ('disc.cue', 'liar.cue', 'bare.cue', 'rem.cue')
    for name in good:
        t.none(tree_problems(t.extract(os.path.join(folder, name)), disc), f'{name}: extracted')
    r = run('info', os.path.join(folder, 'disc.cue'))
    t.ok(f'tracks: [[1, MODE1/2352, 0, {n}], [2, AUDIO, {n}, 16]]' in r.stdout.decode(), 'info has its tracks', r)
    t.none([n for n in files if n.endswith('.cue') and n not in good for r in [run('info', os.path.join(folder, n))]
            if r.returncode != 1 or not r.stderr.startswith('modelfs: ')], 'others are refused with a reason')
    to = t.extract(folder)
    t.none([n for n in files if n.endswith('.cue') and lib.read(to, n) != files[n]], 'in a folder they are plain files')
    t.none(tree_problems(os.path.join(to, 'disc.bin'), disc), 'and their .bin is the disc')
    second(t)
    if lib.fuse_missing():
        raise lib.Skip(lib.fuse_missing())
    with Mount(t, os.path.join(folder, 'disc.cue')) as m:
        t.none(tree_problems(m.point, disc), 'disc.cue: mounted')
        with open(os.path.join(m.point, 'TEXT.TXT'), 'wb') as f:
            f.write(b'through the cue\n')
    now = lib.read(folder, 'disc.bin')
    kind = discs.WRITTEN[1]
    t.none(discs.left(kind, data, now[:len(data)], disc.after(disc.image, 'TEXT.TXT', b'through the cue\n')),
           'an edit is written to the .bin')
    t.same((now[len(data):], lib.read(folder, 'disc.cue')), (audio, files['disc.cue']), 'and to nothing else')
    last = disc.files['LAST.DAT']
    r = run('put', os.path.join(folder, 'disc.cue'), 'LAST.DAT', '-', data=bytes((last.spare + 1) * SECTOR))
    t.ok(r.returncode == 1 and lib.read(folder, 'disc.bin') == now, 'the track ends where the next one begins',
         r.stderr)


def second(t):
    """A data track behind an audio track: extents count from the start of the disc."""
    shift = 20
    disc = Disc([File('A.TXT', b'a\n'), Folder('D', [File('B.DAT', bytes(range(250)) * 20)])])
    image = bytearray(disc.image)
    for tree in (0,):
        for folder, _, _ in disc._folders(tree):
            at, size = folder.where[tree]
            for place in records(image, at * SECTOR, size):
                add(image, place + 2, shift)
    add(image, 16 * SECTOR + 158, shift)
    data = b''.join(discmake.raw_sector(shift + i // SECTOR, bytes(image[i:i + SECTOR]), 1)
                    for i in range(0, len(image), SECTOR))
    folder = t.dir('second')
    for name, b in (('disc.bin', bytes(2352) * shift + data), ('disc.cue', cue(('AUDIO', 0), ('MODE1/2352', shift)))):
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(b)
    t.none(tree_problems(t.extract(os.path.join(folder, 'disc.cue')), disc), 'a data track that is not the first')


def records(image, at, size):
    """Offsets of the records of a folder."""
    for sector in range(at, at + size, SECTOR):
        place = sector
        while place < sector + SECTOR and image[place]:
            yield place
            place += image[place]


def add(image, at, n):
    image[at:at + 8] = discmake.both32(struct.unpack_from('<I', image, at)[0] + n)


# ---------------------------------------------------------------- damage

def claims(t):
    """A header that claims 1 TiB costs nothing."""
    disc = discs.plain()
    path = os.path.join(t.dir('claim'), 'claim.cso')
    discs.claims_a_tebibyte(path, disc.image)
    began = time.monotonic()
    t.same(run('cat', path, 'TEXT.TXT').stdout, discs.TEXT, 'a CSO of 1 TiB is read')
    t.ok(time.monotonic() - began < 2 * lib.SLOW, 'at once', time.monotonic() - began)
    with open(path, 'rb') as f:
        short = t.file('short.cso', f.read(4096))
    r = run('info', short)
    t.ok(r.returncode == 1 and 'positions' in r.stderr, 'cut in its index it is none', r.stderr)
    if lib.fuse_missing() or lib.SANITIZERS:
        raise lib.Skip(lib.fuse_missing() or 'memory is not measured with sanitizers')
    with Mount(t, path) as m:
        t.none(tree_problems(m.point, disc), 'mounted')
        t.ok(m.memory() < 64 << 20, 'memory', m.memory())


def damaged(t):
    """What is no disc is a plain file, with a reason; other damage costs the file that it is in."""
    disc = Disc([File('A.TXT', b'a' * 3000), File('B.TXT', b'b' * 3000), Folder('D', [File('C.TXT', b'c\n')])])
    root = disc.root.where[0][0] * SECTOR
    place = disc.files['B.TXT'].places[0]

    def with_bytes(at, b):
        return disc.image[:at] + b + disc.image[at + len(b):]

    none = {'descriptor': with_bytes(16 * SECTOR + 1, b'CD002'), 'end': with_bytes(17 * SECTOR + 1, b'CD002'),
            'block size': with_bytes(16 * SECTOR + 128, discmake.both16(512)), 'cut': disc.image[:root],
            'root': with_bytes(16 * SECTOR + 158, discmake.both32(0xfffffff0))}
    for what, b in none.items():
        path = t.file('x.iso', b)
        r = run('info', path)
        t.ok(r.returncode == 1 and re.search(r'\d', r.stderr), f'{what}: no disc', r.stderr)
        t.same(lib.read(t.extract(os.path.dirname(path)), 'x.iso'), b, f'{what}: a plain file')
    some = {'outside': with_bytes(place + 2, discmake.both32(0x7fffffff)), 'name': with_bytes(place + 32, b'\xf0'),
            'size': with_bytes(place + 10, discmake.both32(0xffffffff)), 'loop': with_bytes(place + 25, b'\2')}
    for what, b in some.items():
        path = t.file('x.iso', b)
        t.same([run('cat', path, n).stdout for n in ('A.TXT', 'D/C.TXT')], [b'a' * 3000, b'c\n'], f'{what}: the others')
        t.ok(run('cat', path, 'B.TXT').returncode == 1, f'{what}: it is lost')
    for what, b, lost in (('a record of 10 bytes', with_bytes(place, b'\x0a'), ('B.TXT', 'D/C.TXT')),
                          ('one byte short', disc.image[:-1], ()),
                          ('halves differ', with_bytes(place + 14, b'\xff' * 4), ())):
        path = t.file('x.iso', b)
        good = [n for n in disc.files if n not in lost]
        t.same([run('cat', path, n).stdout for n in good], [disc.files[n].data for n in good], f'{what}: what is read')
    r = run('verify', path)
    t.ok('3000 bytes, but 4294967295 big-endian' in r.stderr, 'verify warns of halves that differ', r)


# ---------------------------------------------------------------- the corpus

def checker(root, expected, *image):
    code, text = lib.other(sys.executable, os.path.join(CORPUS, 'check_mount.py'), root, expected, *image)
    lines = text.splitlines()
    good = not code and lines and re.fullmatch(r'[1-9]\d* passed, 0 failed', lines[-1])
    return [] if good else lines or [f'exit {code}']


def corpus(t):
    if not os.path.exists(os.path.join(CORPUS, 'mkdisc.py')):
        raise lib.Skip('no corpus of discs')
    for seed in lib.CORPUS_SEEDS:
        where = t.dir(f'disc{seed}')
        code, said = lib.other(sys.executable, os.path.join(CORPUS, 'mkdisc.py'), '--seed', str(seed), '--out', where,
                               '--mhp')
        if not t.ok(not code, f'corpus of seed {seed}', said[-300:]):
            continue
        images, expected = os.path.join(where, 'images'), os.path.join(where, 'expected.json')
        bad, manifest = os.path.join(where, 'bad'), os.path.join(where, 'bad', 'manifest.json')
        t.none(checker(t.extract(images), expected), f'seed {seed}: extracted')
        t.none(checker(t.extract(bad, expect=1), manifest), f'seed {seed}: damaged ones, extracted')
        r = run('verify', images)
        t.same(r.returncode, 0, f'seed {seed}: verified')
        if lib.fuse_missing():
            t.skip(lib.fuse_missing())
            continue
        with Mount(t, images) as m:
            t.none(checker(m.point, expected), f'seed {seed}: mounted')
        with Mount(t, bad) as m:
            t.none(checker(m.point, manifest), f'seed {seed}: damaged ones, mounted')
        problems = []
        for name in sorted(n for n in os.listdir(images) if not n.endswith('.cue')):
            with Mount(t, os.path.join(images, name)) as m:
                problems += [f'{name}: {x}' for x in checker(m.point, expected, name)]
            to = t.extract(os.path.join(images, name))
            problems += [f'{name}, extracted: {x}' for x in checker(to, expected, name)]
        t.none(problems, f'seed {seed}: each by itself')


if __name__ == '__main__':
    lib.main(kinds, oddities, depth, raw, sheets, claims, damaged, corpus)
