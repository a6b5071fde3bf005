"""Edits of discs: after each, every byte of the image is what spec/disc.md 7 and design/views-disc.md 4 leave it to be,
worked out here from where things lie; the other files are what they were, in every tree, and the codes of every sector
are right, by a reader that shares nothing with the program. Then other programs read what was edited."""
import errno
import hashlib
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys

import discmake
import discread
import discs
import lib
import saving
from calls import answer, table
from disc import WHEN, error, tree_problems
from discmake import SECTOR, Disc, File, Folder
from lib import Mount, run

CORPUS = os.path.join(lib.SHARED, 'corpus', 'disc')


def sha(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def write(path, data, flags=os.O_WRONLY | os.O_TRUNC):
    fd = os.open(path, flags)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


class Edited:
    """A mounted image of a disc. Each edit is checked against what it has to leave."""

    def __init__(self, t, kind, disc, m, path):
        self.t, self.kind, self.disc, self.m, self.path = t, kind, disc, m, path
        self.data = disc.image                     # as it is now
        self.now = {p: (f.same or f).data for p, f in disc.files.items()}
        self.commits = 0

    def at(self, path):
        return os.path.join(self.m.point, path)

    def mine(self, path):
        """The names that the file has."""
        own = lambda p: self.disc.files[p].same or self.disc.files[p]
        return [p for p in self.disc.files if own(p) is own(path)]

    def edit(self, what, path, new, how, late=False):
        """how(): makes the edit that turns the file at `path` into `new`. late: once nobody has it open any more, which
        the kernel tells after close() has returned."""
        was, before = lib.read(self.path), dict(self.now)
        want = self.disc.after(self.data, path, new) if new != self.now[path] else self.data
        try:
            how()
        except (OSError, subprocess.CalledProcessError) as e:
            log = open(self.m.log_path, errors='replace').read()[-300:]
            return self.t.ok(False, f'{self.kind.name}: {what}', f'{e!r} {log}')
        if late:
            lib.wait_for(lambda: lib.read(self.path) != was, 3)
        now = lib.read(self.path)
        self.commits += now != was
        bad = discs.left(self.kind, was, now, want)
        self.data = want
        for p in self.mine(path):
            self.now[p] = new
        bad += self.same(before, path)
        bad += discs.consistent(now, self.disc.joliet)
        return self.t.none(bad, f'{self.kind.name}: {what}')

    def same(self, before, path):
        """Each file, by each way to it, is what it was, but for the one that was edited, which has another time."""
        bad = []
        for p, data in self.now.items():
            try:
                bad += lib.unless(discs.below(self.m.point, p) == data, f'{p}: other bytes')
                if not os.path.isdir(self.at(p)):
                    bad += lib.unless(os.stat(self.at(p)).st_size == len(data), f'{p}: size')
            except OSError as e:
                bad.append(f'{p}: {e.strerror}')
            fresh = p in self.mine(path) and data != before[p]
            old = os.stat(self.at(p)).st_mtime == WHEN
            bad += lib.unless(not old if fresh else old or p in self.touched, f'{p}: time')
            if fresh:
                self.touched.add(p)
        return bad

    touched = frozenset()

    def entry(self, what, path, new, how='truncate', late=False):
        self.edit(what, path, new, lambda: saving.save(self.at(path), new, how), late)

    def refused(self, what, path, data, code, said):
        was = lib.read(self.path)
        have = error(write, self.at(path), data)
        self.t.same(have, code, f'{self.kind.name}: {what}: {path}: {errno.errorcode[code]}')
        words = [open(self.m.log_path, errors='replace').read()]
        if os.path.exists(self.at('errors.txt')):
            words.append(lib.read(self.at('errors.txt')).decode())
        self.t.ok(any(re.search(said, x) for x in words), f'{self.kind.name}: {what}: and why',
                  (said, words[-1][-300:]))
        self.t.ok(lib.read(self.path) == was, f'{self.kind.name}: {what}: nothing changed')


def edits(t):
    """Each kind of edit in each kind of image, one after the other in one mount; then all are taken back."""
    for kind in discs.WRITTEN:
        disc = discs.plain(kind.xa)
        path = t.file(kind.name, kind.make(disc.image))
        first = lib.read(path)
        with Mount(t, path) as m:
            e = Edited(t, kind, disc, m, path)
            e.touched = set()
            every_edit(e)
            after_edits(e)
        r = run('verify', path)
        t.ok(not r.returncode, f'{kind.name}: verify', r)
        t.none(tree_problems(t.extract(path), Now(disc, e.now)), f'{kind.name}: extracted afterwards')
        programs(t, kind, e, path)
        log = run('log', path).stdout.decode().splitlines()
        t.same(len(log), e.commits + 1, f'{kind.name}: commits')
        r = run('undo', path, str(e.commits))
        t.ok(not r.returncode and lib.read(path) == first, f'{kind.name}: undo of all', r.stderr)


class Now(Disc):
    """What a disc has come to."""

    def __init__(self, disc, now):
        self.folders, self.files = disc.folders, {p: File(p, data) for p, data in now.items()}


def every_edit(e):
    rng, text = random.Random(7), discs.TEXT
    letters = lambda n: bytes(rng.choice(b'abcdefgh') for _ in range(n))
    packed = e.kind.packed                         # new noise would not fit into their slots
    noise = (lambda n: letters(n // 40).ljust(n, b'.')) if packed else rng.randbytes
    spare = {p: f.spare * SECTOR for p, f in e.disc.files.items()}

    changed = text[:700] + b'LINE' + text[704:]
    e.edit('four bytes of a text', 'TEXT.TXT', changed, lambda: patch(e.at('TEXT.TXT'), 700, b'LINE'))
    e.entry('the same size', '0.BIN', noise(5000) if not packed else e.now['0.BIN'][:4990] + b'0123456789')
    e.entry('unchanged', '0.BIN', e.now['0.BIN'])
    e.entry('smaller, one sector less', 'TEXT.TXT', changed[:800])
    e.entry('larger, with both free sectors', 'TEXT.TXT', changed + letters(30) * 40 + bytes(2000), 'update')
    e.entry('as large as it can be', 'TEXT.TXT', letters(60).ljust(spare['TEXT.TXT'], b'-'))
    e.entry('one byte less', 'TEXT.TXT', letters(60).ljust(spare['TEXT.TXT'] - 1, b'-'), 'rename')
    e.entry('emptied', 'TEXT.TXT', b'', late=True)
    e.entry('grown again', 'TEXT.TXT', text)
    e.edit('sed -i', 'TEXT.TXT', text.replace(b'line 7 ', b'LINE seven '),
           lambda: subprocess.run(['sed', '-i', 's/line 7 /LINE seven /', e.at('TEXT.TXT')], check=True))
    e.edit('ftruncate', 'TEXT.TXT', e.now['TEXT.TXT'][:100], lambda: cut(e.at('TEXT.TXT'), 100))
    e.edit('truncate(1) to more', 'TEXT.TXT', e.now['TEXT.TXT'] + bytes(2000),
           lambda: subprocess.run(['truncate', '-s', '2100', e.at('TEXT.TXT')], check=True))
    e.edit('truncate(1) to nothing', 'TEXT.TXT', b'',
           lambda: subprocess.run(['truncate', '-s', '0', e.at('TEXT.TXT')], check=True), late=True)
    e.entry('emptied by a rename', 'MANY/ZLAST.TXT', b'', 'rename')
    e.entry('filled again', 'MANY/ZLAST.TXT', b'filled again\n' * 250)
    e.edit('appended', 'TEXT.TXT', b'more\n',
           lambda: write(e.at('TEXT.TXT'), b'more\n', os.O_WRONLY | os.O_APPEND))
    e.entry('two files in one place', 'LINK.DAT', e.now['ORIG.DAT'][:2990])
    if 'ORIG.DAT' not in open(e.m.log_path, errors='replace').read():
        e.t.ok(False, f'{e.kind.name}: the log names the other file')
    e.entry('the same by the other name', 'ORIG.DAT', e.now['ORIG.DAT'][:2500])
    e.entry('what has had no bytes', 'ROOM.DAT', b'now it has\n')
    e.entry('a record in the second sector of a folder', 'MANY/ZLAST.TXT', letters(30) * 100)
    e.entry('a file in a folder below', 'MODELS/SUB/NOTE.TXT', b'another note, which is longer\n')
    e.entry('the last, into the end of the disc', 'LAST.DAT', e.now['LAST.DAT'][:2900].ljust(spare['LAST.DAT'], b'\0'))
    model(e)


def patch(path, at, data):
    fd = os.open(path, os.O_RDWR)
    try:
        os.pwrite(fd, data, at)
    finally:
        os.close(fd)


def cut(path, size):
    fd = os.open(path, os.O_RDWR)
    try:
        os.ftruncate(fd, size)
    finally:
        os.close(fd)


def model(e):
    """A material, a picture in a file of its own by way of the model, and points, for which the file grows."""
    cube, wall = 'MODELS/CUBE.JOM', 'MODELS/WALL.BIN'
    text = lib.read(e.at(cube), 'materials.yaml')
    was = e.now[cube]
    shine = was.index(b'MATL') + 12 + 19
    new = was[:shine] + bytes([99]) + was[shine + 1:]
    e.edit('a material of a model', cube, new,
           lambda: saving.save(e.at(cube + '/materials.yaml'), re.sub(rb'shine: \d+', b'shine: 99', text)))
    w, h, rgba = saving.pixels(lib.read(e.at(cube), 'textures', '0.png'))
    picture = discmake.picture(8)
    red = bytearray(rgba)
    red[0:4] = b'\xff\0\0\xff'
    new = bytearray(e.now[wall])
    new[4:6] = struct.pack('<H', 0x801f)
    e.edit('a texture of a model', wall, bytes(new),
           lambda: saving.save(e.at(cube + '/textures/0.png'), saving.png(w, h, bytes(red))))
    e.entry('the same file by itself', wall, picture)
    e.edit('all bytes of a model, more of them', cube, discmake.jom(('WALL.BIN',), 50),
           lambda: saving.save(e.at(cube + '/raw/whole.jom'), discmake.jom(('WALL.BIN',), 50)))


def after_edits(e):
    """What does not fit, and what no disc lets be done."""
    rng = random.Random(9)
    free = e.disc.files['NEXT.DAT'].spare
    e.refused('one byte more than there is room', 'NEXT.DAT', bytes(free * SECTOR + 1), errno.ENOSPC,
              rf'NEXT\.DAT: 1 bytes? more than its {free} sectors?')
    free = e.disc.files['TEXT.TXT'].spare
    e.refused('more than there is room', 'TEXT.TXT', bytes((free + 2) * SECTOR), errno.ENOSPC,
              rf'TEXT\.TXT: 4096 bytes more than its {free} sectors')
    if e.kind.packed:
        e.refused('a block that does not fit', 'TEXT.TXT', rng.randbytes(free * SECTOR), errno.ENOSPC, r'\d+ bytes')
    was, here = lib.read(e.path), e.at('MODELS')
    t, name = e.t, e.kind.name
    calls = ((os.mkdir, here + '/NEW'), (os.rmdir, e.at('MODELS/SUB')), (os.rename, here, e.at('OTHER')),
             (write, here + '/NEW.JOM', b'', os.O_CREAT | os.O_WRONLY), (os.symlink, 'x', here + '/link'),
             (os.rename, e.at('TEXT.TXT'), e.at('OTHER.BIN')), (os.link, e.at('TEXT.TXT'), e.at('link.txt')))
    t.same([error(*x) for x in calls], [errno.EPERM] * 7, f'{name}: nothing is made, renamed or removed')
    t.ok(lib.read(e.path) == was, f'{name}: nothing changed')


# ---------------------------------------------------------------- refused

def refused(t):
    """Files that are only read, images that are only read, files that others change."""
    disc = discs.odd()
    for kind in (discs.WRITTEN[0], discs.WRITTEN[1]):
        path = t.file(kind.name, kind.make(disc.image))
        with Mount(t, path) as m:
            e = Edited(t, kind, disc, m, path)
            for name, why in (('MULTI.DAT', 'several extents'), ('XAR.DAT', 'extended attributes'),
                              ('INTER.DAT', 'interleaved')):
                e.refused('read-only', name, b'x', errno.EROFS, rf'{re.escape(name)}: {why}')
            e.refused('outside', 'FAR.DAT', b'x', errno.EIO, r'FAR\.DAT: sectors 2147483632\.\. are outside \d+')
            e.refused('no place', 'EMPTY.DAT', b'x', errno.ENOSPC, r'EMPTY\.DAT: 1 bytes? more than its 0 sectors')
    disc = discs.plain()
    for kind in discs.READ_ONLY:
        path = t.file(kind.name, kind.make(disc.image))
        with Mount(t, path) as m:
            e = Edited(t, kind, disc, m, path)
            e.refused('read-only', 'TEXT.TXT', b'x', errno.EROFS, rf'{kind.says} is read-only')
            e.refused('a model in it', 'MODELS/CUBE.JOM/materials.yaml', b'[]', errno.EROFS,
                      rf'{kind.says} is read-only')
    stale(t)


def stale(t):
    disc = discs.plain()
    path = t.file('plain.iso', disc.image)
    with Mount(t, path) as m:
        fd = os.open(os.path.join(m.point, 'TEXT.TXT'), os.O_RDWR)
        os.pwrite(fd, b'mine', 0)
        other = disc.after(disc.image, 'NEXT.DAT', b'theirs')
        with open(path, 'r+b') as f:
            f.write(other)
        have = error(os.fsync, fd)
        t.same(have, errno.ESTALE, 'an image that others have changed: ESTALE')
        error(os.close, fd)
        t.ok(lib.read(path) == other, 'and it is left as they have it')
        t.ok(lib.wait_for(lambda: lib.read(m.point, 'NEXT.DAT') == b'theirs', 3), 'which then shows')


# ---------------------------------------------------------------- call by call

CALLS = {}
LAST = discs.odd().files['LAST.DAT'].data


def call(f):
    """The function of a line of docs/calls.md: its name is the id."""
    CALLS[f.__name__.strip('_').replace('_', '-')] = f
    return f


def all_fail(code, *calls):
    """They all do, with that error, which is raised then."""
    have = [error(*c) for c in calls]
    if set(have) != {code}:
        raise AssertionError([h and errno.errorcode[h] for h in have])
    raise OSError(code, '')


def new_file(path, data=b'text'):
    write(path, data, os.O_CREAT | os.O_WRONLY)


@call
def disc_create(at):
    all_fail(errno.EPERM, *[(new_file, at(name)) for name in
                            ('NEW.DAT', 'new.iso', 'MANY/X.BIN', 'MANY/x.yaml', 'MODELS/CUBE.JOM/x.yaml')])


@call
def disc_unlink(at):
    all_fail(errno.EPERM, *[(os.unlink, at(name)) for name in ('TEXT.TXT', 'MULTI.DAT', 'MANY/FILE000.TXT')])


@call
def disc_rename(at):
    all_fail(errno.EPERM, (os.rename, at('TEXT.TXT'), at('X.TXT')), (os.rename, at('NODOT'), at('README')),
             (os.rename, at('MANY'), at('FEW')))


@call
def disc_mkdir(at):
    all_fail(errno.EPERM, (os.mkdir, at('NEW')), (os.symlink, 'x', at('MANY/link')), (os.link, at('TEXT.TXT'), at('x')),
             (os.rmdir, at('EMPTYDIR')), (os.rmdir, at('MANY')), (os.rmdir, at('MODELS/CUBE.JOM')))


def has(path, want):
    if lib.read(path) != want:
        raise AssertionError(f'{path}: {lib.read(path)[:40]}')


def opened(path, flags=os.O_RDWR):
    os.close(os.open(path, flags))


def cut_off(path, size=5):
    os.truncate(path, size)


@call
def disc_truncate(at):
    for size in (3, 0, 1500, 2048):
        cut_off(at('LAST.DAT'), size)
        has(at('LAST.DAT'), (b'\0' * size if size > 3 else LAST[:size]))


@call
def disc_truncate_more(at):
    cut_off(at('LAST.DAT'), 6 * SECTOR)


@call
def disc_ftruncate(at):
    cut(at('LAST.DAT'), 700)
    has(at('LAST.DAT'), bytes(700))


@call
def disc_empty(at):
    opened(at('LAST.DAT'), os.O_WRONLY | os.O_TRUNC)
    has(at('LAST.DAT'), b'')
    saving.save(at('LAST.DAT'), LAST)
    has(at('LAST.DAT'), LAST)


@call
def disc_append(at):
    write(at('lower.txt'), b'more\n', os.O_WRONLY | os.O_APPEND)
    has(at('lower.txt'), b'lower\nmore\n')


@call
def disc_write_more(at):
    write(at('LAST.DAT'), bytes(6 * SECTOR))


@call
def disc_fixed(at):
    """Also of an image that is only read; see calls()."""
    all_fail(errno.EROFS, *[(f, at(name)) for name in ('MULTI.DAT', 'XAR.DAT') for f in (opened, cut_off)],
             (opened, at('packed/TEXT.TXT')), (cut_off, at('packed/NEXT.DAT')),
             (opened, at('packed/MODELS/CUBE.JOM/materials.yaml')))


@call
def disc_lost(at):
    all_fail(errno.EIO, (opened, at('FAR.DAT'), os.O_RDONLY), (lib.read, at('INTER.DAT')))


@call
def disc_lost_write(at):
    all_fail(errno.EIO, (opened, at('FAR.DAT')))


def calls(t):
    rows = table(lib.DISC_PART)
    t.none([i for i, _ in rows if i not in CALLS] + [i for i in CALLS if i not in dict(rows)],
           'docs/calls.md and the calls here are the same')
    packed = discs.READ_ONLY[0]
    images = t.file('odd.iso', discs.odd().image), t.file(packed.name, packed.make(discs.plain().image))
    with Mount(t, images[0]) as m, Mount(t, images[1]) as other:
        at = lambda p: os.path.join(other.point, p[7:]) if p.startswith('packed/') else os.path.join(m.point, p)
        for i, want in rows:
            if i in CALLS:
                t.same(answer(at, CALLS[i]), want, i)


# ---------------------------------------------------------------- no edit

NEVER = ('FAR.DAT', 'INTER.DAT', 'MULTI.DAT', 'XAR.DAT')


def writable(point):
    return [p for p in lib.files(point) if os.stat(os.path.join(point, p)).st_mode & 0o200 and p not in NEVER]


def unchanged(t):
    """Every file that can be written, saved as it is, by each way: the image stays, to the last bit."""
    for kind in discs.WRITTEN:
        odd = kind.name in ('plain.iso', 'mode2.bin')
        disc = discs.odd() if odd else discs.plain(kind.xa)
        path = t.file(kind.name, kind.make(disc.image))
        was, bad = sha(path), []
        with Mount(t, path) as m:
            files = writable(m.point)
            for i, p in enumerate(files):
                try:
                    saving.save(os.path.join(m.point, p), lib.read(m.point, p), saving.WAYS[i % len(saving.WAYS)])
                except OSError as e:
                    bad.append(f'{p}: {e.strerror}')
                bad += lib.unless(sha(path) == was, f'{p}: the image changed')
        t.none(bad, f'{kind.name}: {len(files)} files saved unchanged')
        t.ok(len(files) > 30 and not os.path.exists(path + '.modelfs-undo'), f'{kind.name}: no commit')


def wrong_code(t):
    """A sector whose EDC was wrong keeps its codes; the one beside it gets new ones."""
    disc = discs.plain()
    sectors = discs.sectors(discmake.raw(disc.image, 1))
    (at, _), = disc.files['0.BIN'].extents
    broken = bytearray(sectors[at])
    broken[0x810:0x814] = b'\1\2\3\4'
    sectors[at] = bytes(broken)
    path = t.file('raw.bin', b''.join(sectors))
    was = lib.read(path)
    new = bytes(range(250)) * 20
    r = run('put', path, '0.BIN', '-', data=new)
    t.none(discs.left(discs.WRITTEN[1], was, lib.read(path), disc.after(disc.image, '0.BIN', new)) or
           lib.unless(not r.returncode, r.stderr), 'a wrong EDC stays what it is')


def grown(t):
    """Blocks of a CSO that do not fit: with -o grow it is written anew."""
    disc, rng = discs.plain(), random.Random(4)
    kind = discs.Kind('tight.cso', 'cso', lambda b: discmake.cso(b, 4096, shift=1))
    path = t.file(kind.name, kind.make(disc.image))
    first, data, now = lib.read(path), disc.image, {}
    new = rng.randbytes(disc.files['TEXT.TXT'].spare * SECTOR)
    r = run('put', path, 'TEXT.TXT', '-', data=new)
    said = re.search(r'block \d+ .*: \d+ bytes are missing; -o grow', r.stderr)
    t.ok(r.returncode == 1 and said and lib.read(path) == first, 'refused with the bytes missing', r.stderr)
    with Mount(t, path, 'grow') as m:
        for name, b in (('TEXT.TXT', new), ('NEXT.DAT', rng.randbytes(1000)), ('TEXT.TXT', rng.randbytes(900))):
            saving.save(os.path.join(m.point, name), b)
            data, now[name] = disc.after(data, name, b), b
            image = lib.read(path)
            t.none(discs.moved(image, data, first) + discs.consistent(image, True), f'-o grow: {name}')
            t.same(lib.read(m.point, name), b, 'and shown')
    files = {p: now.get(p, (f.same or f).data) for p, f in disc.files.items()}
    t.none(tree_problems(t.extract(path), Now(disc, files)), 'all files')
    r = run('undo', path, '3')
    t.ok(not r.returncode and lib.read(path) == first, 'undone', r.stderr)
    t.none([n for n in os.listdir(os.path.dirname(path)) if n != kind.name], 'nothing is left beside it')


# ---------------------------------------------------------------- other programs

def programs(t, kind, e, path):
    """What others read in an image: raw and packed ones they see as the reader unpacks them."""
    image = discread.user(lib.read(path))
    read_by_others(t, kind.name, image, e.now, lambda p: joliet_name(e.disc, p))
    if shutil.which('maxcso') and kind.packed:
        to = os.path.join(t.dir('maxcso'), 'x.iso')
        lib.other('maxcso', '--decompress', path, '-o', to)
        t.ok(lib.read(to) == image, f'{kind.name}: maxcso unpacks it')


def read_by_others(t, what, image, want, joliet, version=';1', but={}):
    """want: {path: bytes}; joliet: the name that a file has there, which 7z goes by; but: paths that a program reads
    otherwise."""
    image, have = t.file('user.iso', image), {}
    if shutil.which('7z'):
        to = os.path.join(t.dir('7z'), 'x')
        lib.other('7z', 'x', '-y', f'-o{to}', image)
        have['7z'] = {p: have_file(to, joliet(p)) for p in want}
    if shutil.which('isoinfo'):
        have['isoinfo'] = {p: subprocess.run(['isoinfo', '-i', image, '-x', f'/{p}{version}'], stdout=subprocess.PIPE,
                                             stderr=subprocess.DEVNULL).stdout for p in want}
    if shutil.which('xorriso'):
        to = os.path.join(t.dir('xorriso'), 'x')
        lib.other('xorriso', '-read_fs', 'ecma119', '-osirrox', 'on', '-indev', 'stdio:' + image, '-extract', '/', to)
        have['xorriso'] = {p: have_file(to, p) for p in want}
        subprocess.run(['chmod', '-R', 'u+w', os.path.dirname(to)], check=True)
    if not have:
        t.skip('no other program that reads discs')
    for program, got in have.items():
        bad = [p for p in want if got[p] != want[p] and p not in but.get(program, ())]
        t.none([f'{p}: {got[p] if got[p] is None else len(got[p])} bytes, expected {len(want[p])}' for p in bad],
               f'{what}: {program} reads it')


def have_file(*path):
    try:
        return lib.read(*path)
    except OSError:
        return None


def joliet_name(disc, path):
    """The path that a file has in the Joliet tree."""
    out, folder = [], disc.root
    for part in path.split('/'):
        folder = next(kid for kid in folder.kids if kid.shown == part)
        out.append(folder.long or folder.name)
    return '/'.join(out)


# ---------------------------------------------------------------- the corpus

# What corpus/disc/README.md says others read otherwise; what is called V2.DAT;2 by them; files in a folder whose long
# name is not told.
OTHERWISE = {'isoinfo': ('XAR.DAT', 'MULTI.DAT', 'README', 'V2.DAT'), 'xorriso': ('V2.DAT',),
             '7z': ('XAR.DAT', 'AFTER.DAT', 'V2.DAT', 'FOLDER~1/A.TXT', 'FOLDER~1/B.TXT')}


def files_of(readdisc, b):
    """The image, and {path: bytes} of its files, by the corpus' reader."""
    disc = readdisc.Disc(b)
    return disc, {e['path']: readdisc.contents(disc, e) for e in readdisc.tree(disc) if not e.get('directory')}


def corpus(t):
    """One edit of each kind in each image of the public corpus, and readdisc.py as the judge; then others read them."""
    if not os.path.exists(os.path.join(CORPUS, 'readdisc.py')):
        raise lib.Skip('no corpus of discs')
    sys.path.append(CORPUS)
    import readdisc
    where = t.made('disc', 'mkdisc.py', lib.CORPUS_SEEDS[0])
    for image in json.load(open(os.path.join(where, 'expected.json')))['images']:
        name, first = image['image'], lib.read(where, 'images', image['image'])
        path, bad, joliet = t.file(name, first), [], any('joliet' in f for f in image['files'])
        plain = [f for f in image['files'] if not f.get('directory') and not f.get('read_only') and f['size'] and
                 not f['path'].endswith(('.JOM', '.TGA', 'DATA.BIN'))][:12]
        for k, f in enumerate(plain):
            was, old = files_of(readdisc, lib.read(path))
            size = (f['size'], f['size'] - 1, -(-f['size'] // SECTOR) * SECTOR, 0)[k % 4]
            new = (b'%d ' % k * size)[:size]
            r = run('put', '-g', path, f['path'], '-', data=new)
            now, got = files_of(readdisc, lib.read(path))
            mine = {f['path']} | {g['path'] for g in image['files'] if f['path'] == g.get('shares') or
                                  g['path'] == f.get('shares')}
            bad += lib.unless(not r.returncode and all(got[p] == new for p in mine), f'{f["path"]}: {r.stderr}')
            bad += [f'{f["path"]}: {p} changed' for p in old if p not in mine and old[p] != got[p]]
            for tree in (False, True) if joliet else (False,):
                bad += [f'{x["path"]}: {x["size"]}' for x in readdisc.tree(now, tree) if not x.get('directory') and
                        x['extents'] == f['extents'] and x['size'] != size]
            sectors = range(image.get('sectors', now.count)) if image.get('edc') else ()
            codes = lambda d, i: d.b[i * 2352:(i + 1) * 2352]
            bad += [f'sector {i}: codes' for i in sectors if codes(now, i) != codes(was, i) and
                    readdisc.bad_codes(codes(now, i))]
        t.none(bad, f'{name}: {len(plain)} edits')
        now, got = files_of(readdisc, lib.read(path))
        long = {f['path']: f['joliet'] for f in image['files'] if 'joliet' in f}
        read_by_others(t, name, b''.join(now.sector(i) for i in range(now.count if 'sectors' not in image else
                                                                      image['sectors'])), got,
                       lambda p: '/'.join(long.get(p[:i], part) for part, i in parts(p)), *versions(image), OTHERWISE)
        r = run('undo', path, '99')
        t.ok(not r.returncode and lib.read(path) == first, f'{name}: undone', r.stderr)
        same_again(t, path)


def parts(path):
    """(name, where it ends) of each part of a path."""
    at = -1
    for part in path.split('/'):
        at += 1 + len(part)
        yield part, at


def versions(image):
    """What isoinfo has to be given behind names."""
    return (';1',) if any(';1' in f.get('stored', '') for f in image['files']) else ('',)


def same_again(t, path):
    """Every file that can be written, saved as it is."""
    was, bad, name = sha(path), [], os.path.basename(path)
    with Mount(t, path) as m:
        for p in writable(m.point):
            try:
                saving.save(os.path.join(m.point, p), lib.read(m.point, p))
            except OSError as e:
                bad += lib.unless(e.errno == errno.EROFS, f'{p}: {e.strerror}')
    t.none(bad + lib.unless(sha(path) == was, 'the image changed'), f'{name}: all files saved unchanged')


if __name__ == '__main__':
    lib.main(edits, refused, calls, unchanged, wrong_code, grown, corpus, needs_fuse=True)
