"""A model that grows in a PAC in a DATA.BIN in a disc image, raw, plain or packed: room is taken level by level, in one
commit, or it is refused with the level and the bytes that are missing, and nothing has changed. The corpus' own reader
of DATA.BIN is the judge where it is there. Then kills at any moment. MODELFS_LONG=1 kills more often."""
import errno
import os
import random
import re
import struct
import subprocess
import time

import crash
import discmake
import discread
import discs
import lib
import saving
from disc import error
from discmake import SECTOR, Disc, File, Folder
from lib import Mount, run

KILLS = 300 if crash.LONG else 8 if lib.SANITIZERS else 30
SEED = 5
USRDIR = 'PSP_GAME/USRDIR/'
DATA = USRDIR + 'DATA.BIN'
MKMHP = lib.module('mkmhp') if os.path.exists(os.path.join(lib.CORPUS, 'mkmhp.py')) else None


def kit(t):
    """The PAC of the demo archive that has a model, a skeleton and textures."""
    return lib.read(t.tree, t.kit, 'raw', 'whole.pac')


def archive(parts):
    """A DATA.BIN of these files; encrypted where the corpus can do that."""
    plain = lib.plain_archive(parts)
    if not MKMHP:
        return plain
    out, starts = b'', struct.unpack_from(f'<{len(parts) + 1}I', plain)
    # What follows the table's words can be no exact size.
    table = plain[:4 * len(starts)].ljust(starts[0] * SECTOR, b'\xff')
    for seed, a, z in ((0, 0, starts[0]), *((s, s, e) for s, e in zip(starts, starts[1:]))):
        out += MKMHP.encrypt(table if not a else plain[a * SECTOR:z * SECTOR], seed)
    return out


def parts_of(data):
    """The files of a DATA.BIN and the words of its table, as the corpus reads them, else by its layout."""
    if MKMHP:
        return [x[2] for x in saving.READER.databin(data)]
    first = discread.word(data, 0)
    starts = [discread.word(data, 4 * i) for i in range(first * SECTOR // 4)]
    starts = starts[:starts.index(len(data) // SECTOR) + 1]
    return [data[a * SECTOR:z * SECTOR] for a, z in zip(starts, starts[1:])]


def psp(data, room, behind=True):
    """A disc with this DATA.BIN and free sectors behind it."""
    rng = random.Random(3)
    last = [File('MOVIE.PMF', b'PSMF' + rng.randbytes(2500))] if behind else []
    return Disc([File('UMD_DATA.BIN', b'ULJM-00000|0000000000000001|0001|G'),
                 Folder('PSP_GAME', [File('PARAM.SFO', b'\0PSF' + rng.randbytes(60)),
                                     Folder('USRDIR', [File('DATA.BIN', data, room=room), File('EMPTY.BIN')] + last)])],
                version='', system='PSP GAME', volume='')


KINDS = [
    discs.Kind('psp.iso', '2048', lambda b: b),
    discs.Kind('psp.bin', 'MODE1/2352', lambda b: discmake.raw(b, 1)),
    # Blocks that are stored as they are, so that they can hold anything.
    discs.Kind('psp.cso', 'cso', lambda b: discmake.cso(b, SECTOR, plain=range(1 << 16))),
]
TIGHT = discs.Kind('tight.cso', 'cso', lambda b: discmake.cso(b, 16384))


def more_faces(text, times):
    faces = [x + b'\n' for x in text.split(b'\n') if x.startswith(b'f ')]
    return text + b''.join(faces * (times - 1))


def faces_of(text):
    return sum(x.startswith(b'f ') for x in text.split(b'\n'))


def databin(disc, image):
    """The bytes of DATA.BIN in user data."""
    return discread.files(image)[DATA]


class Chain:
    """A mounted image whose DATA.BIN is edited."""

    def __init__(self, t, kind, disc, path, m, entry):
        self.t, self.kind, self.disc, self.path, self.m = t, kind, disc, path, m
        self.view = f'{DATA}/{entry}/00.pmo/meshes/0.obj'
        self.index = int(entry[:5])
        self.text = self.read()
        self.parts = parts_of(databin(disc, disc.image))
        self.sizes = [len(disc.files[DATA].data)]

    def read(self):
        return lib.read(self.m.point, self.view)

    def log(self):
        return open(self.m.log_path, errors='replace').read()

    def user(self):
        return discread.user(lib.read(self.path))

    def save(self, times):
        """None, or the error's number."""
        return error(saving.save, os.path.join(self.m.point, self.view), more_faces(self.text, times))

    def check(self, was, times, moves=False):
        """The image after the mesh was saved with its faces so often. moves: entries behind it may have moved."""
        now, bad = self.user(), []
        have, files, before = databin(self.disc, now), discread.files(now), discread.files(was)
        bad += [f'{p}: changed' for p in before if p != DATA and before[p] != files.get(p)]
        bad += lib.unless(discread.problems(now) == [] and len(now) == len(was), 'sizes in records')
        bad += lib.unless(len(have) <= self.disc.files[DATA].spare * SECTOR and len(have) % SECTOR == 0,
                          f'DATA.BIN has {len(have)} bytes')
        (at, size), = next(e for e in discread.tree(now) if e.path == DATA).extents
        bad += lib.unless((at, size) == (self.disc.files[DATA].extents[0][0], len(have)), 'its extent has moved')
        parts = parts_of(have)
        bad += lib.unless(len(parts) == len(self.parts), f'{len(parts)} files in it')
        bad += [f'file {i} of DATA.BIN changed' for i, (a, b) in enumerate(zip(self.parts, parts))
                if i != self.index and a != b]
        bad += self.mesh(parts[self.index], times)
        bad += self.allowed(was, now, have, moves)
        bad += lib.unless(faces_of(self.read()) == faces_of(more_faces(self.text, times)), 'the text that is shown')
        bad += lib.unless(not run('verify', self.path).returncode, 'verify')
        self.sizes.append(len(have))
        return bad

    def allowed(self, was, now, have, moves):
        """No byte of the user data has changed but the sectors of DATA.BIN and its sizes."""
        file = self.disc.files[DATA]
        at = file.extents[0][0] * SECTOR
        spans = [(at, at + max(len(have), len(self.disc.files[DATA].data), self.sizes[-1]))]
        spans += [(p + 10, p + 18) for p in file.places]
        bad = saving.outside(saving.changed(was, now), spans)
        if discread.kind(lib.read(self.path)).startswith('mode'):
            sectors = discs.sectors(lib.read(self.path))
            data = [now[i * SECTOR:(i + 1) * SECTOR] != was[i * SECTOR:(i + 1) * SECTOR] for i in range(len(sectors))]
            bad += [f'sector {i}: {x}' for i, s in enumerate(sectors) if data[i] for x in discread.codes(s)]
        return bad

    def mesh(self, pac, times):
        """What the corpus' reader finds in the PAC: the triangles of the mesh so often, and all else as before."""
        if not saving.READER:
            return []
        facts = [saving.READER.facts('x.pac', p)['entries'] for p in (self.parts[self.index], pac)]
        was, now = (f[0]['truth']['meshes'][0] for f in facts)
        bad = lib.unless(saving.soup(now) == sorted(saving.soup(was) * times), 'triangles of the mesh')
        for f in facts:
            f[0] = None
        return bad + saving.other_facts({'entries': facts[0]}, {'entries': facts[1]}, [])


def growing(t, kind, disc, entry, *options, tight=False):
    """Makes the mesh longer until there is no room. -> (Chain, the image's first bytes, errors that were met)"""
    path = t.file(kind.name, kind.make(disc.image))
    first, met = lib.read(path), None
    with Mount(t, path, *options) as m:
        c = Chain(t, kind, disc, path, m, entry)
        bad, times, commits, text = [], 2, 0, c.text
        while times < 1 << 16:
            was, bytes_before = c.user(), lib.read(path)
            met = c.save(times)
            if met:
                bad += lib.unless(lib.read(path) == bytes_before, f'{times} times: refused, but something changed')
                bad += lib.unless(c.read() == text, f'{times} times: refused, but another text is shown')
                break
            commits += 1
            text = c.read()
            bad += [f'{times} times: {x}' for x in c.check(was, times)]
            times += max(1, times // 3)
        log = c.log()
        t.none(bad, f'{kind.name}, {entry} {" ".join(options)}: {commits} times longer, DATA.BIN of '
                    f'{c.sizes[0]} to {c.sizes[-1]} bytes')
        t.same(met and errno.errorcode[met], 'ENOSPC', f'{kind.name}, {entry}: then there is no room')
    r = run('log', path)
    t.same(len(r.stdout.splitlines()) - 1, commits, f'{kind.name}, {entry}: one commit for each')
    if commits:
        r = run('undo', path, str(commits))
        t.ok(not r.returncode and lib.read(path) == first, f'{kind.name}, {entry}: undone', r.stderr)
    return c, commits, log


# ---------------------------------------------------------------- level by level

LAST = r'DATA\.BIN: \d+ bytes? more than its \d+ sectors'


def last_entry(t):
    """The last file of DATA.BIN: nothing has to move, so the disc's free sectors are its own."""
    pac = kit(t)
    data = archive([b'first' * 99, pac])
    for kind in KINDS:
        for room in (0, 3):
            c, commits, log = growing(t, kind, psp(data, room), '00001.pac')
            t.ok(max(c.sizes) == len(data) if not room else len(data) < max(c.sizes) <= len(data) + room * SECTOR,
                 f'{kind.name}, {room} free sectors: DATA.BIN took what there was', c.sizes)
            t.ok(re.search(LAST, log), f'{kind.name}, {room} free sectors: the reason names the disc\'s level',
                 log[-300:])
            t.ok(commits >= 1, f'{kind.name}, {room} free sectors: there was room in the lower levels', commits)


def not_the_last(t):
    """What is not the last grows in its slot; beyond it files behind it have to move, which -o grow lets them do, as
    long as the disc has room for all."""
    pac = kit(t)
    data = archive([b'first' * 99, pac, b'behind' * 500, b'last' * 700])
    for kind in KINDS:
        c, commits, log = growing(t, kind, psp(data, 6), '00001.pac')
        t.same(max(c.sizes), len(data), f'{kind.name}: without -o grow nothing moves')
        t.ok(re.search(r'\d+ bytes are missing; -o grow', log), f'{kind.name}: the reason names DATA.BIN\'s level',
             log[-300:])
        c, commits, log = growing(t, kind, psp(data, 6), '00001.pac', 'grow')
        t.ok(len(data) < max(c.sizes) <= len(data) + 6 * SECTOR, f'{kind.name}: with it they do', c.sizes)
        t.ok(re.search(LAST, log), f'{kind.name}: up to the end of the disc\'s room', log[-300:])


def tight(t):
    """A CSO with no room in its blocks: refused, naming the block; with -o grow it is written anew."""
    if not MKMHP:
        raise lib.Skip('what is not encrypted packs so well that it fits')
    pac = kit(t)
    disc = psp(archive([b'first' * 99, pac]), 8)
    path = t.file(TIGHT.name, TIGHT.make(disc.image))
    first = lib.read(path)
    with Mount(t, path) as m:
        c = Chain(t, TIGHT, disc, path, m, '00001.pac')
        t.same(c.save(90), errno.ENOSPC, 'a block that has no room')
        t.ok(re.search(r'block \d+.*\d+ bytes', c.log()) and lib.read(path) == first, 'is named, and nothing changed',
             c.log()[-300:])
    with Mount(t, path, 'grow') as m:
        c = Chain(t, TIGHT, disc, path, m, '00001.pac')
        for times in (3, 90, 60):
            was, met = c.user(), c.save(times)
            bad = [errno.errorcode[met]] if met else c.check(was, times)
            t.none(bad + discs.moved(lib.read(path), c.user(), first), f'-o grow: {times} times')
        t.same(c.save(9000), errno.ENOSPC, '-o grow: the disc itself cannot')
        t.ok(re.search(LAST, c.log()), 'and says so', c.log()[-300:])
    r = run('undo', path, '3')
    t.ok(not r.returncode and lib.read(path) == first, 'undone', r.stderr)


def demo(t):
    """The demo archive as it is, on a disc, shows what it shows by itself."""
    want = lib.snapshot(t.tree)
    for kind in KINDS + [TIGHT]:
        disc = psp(lib.read(t.demo), 2)
        path = t.file(kind.name, kind.make(disc.image))
        have = lib.below(lib.snapshot(t.extract(path)), DATA)
        t.none(lib.differences(have, {p: v for p, v in want.items()}), f'{kind.name}: the demo archive')
        if lib.fuse_missing():
            continue
        with Mount(t, path, 'ro') as m:
            have = lib.snapshot(os.path.join(m.point, DATA))
            t.none(lib.differences(have, want), f'{kind.name}: the demo archive, mounted')


# ---------------------------------------------------------------- kills

def killed(t):
    """put and the daemon, killed at any moment: the old bytes or the new ones, and what was said to be saved is."""
    no_leaks = {**os.environ, 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}
    disc = psp(archive([b'first' * 99, kit(t)]), 8)
    for kind, flags in ((KINDS[1], []), (KINDS[2], []), (TIGHT, ['-g'])):
        rng = random.Random(SEED)
        first = kind.make(disc.image)
        path, view = t.file(kind.name, first), f'{DATA}/00001.pac/00.pmo/meshes/0.obj'
        text = run('cat', path, view).stdout
        new, texts = [], [t.file('text', more_faces(text, n)) for n in (40, 90)]
        for x in texts:
            other = t.file(kind.name, new[-1] if new else first)
            began = time.monotonic()
            r = run('put', *flags, other, view, x)
            took = time.monotonic() - began
            t.ok(not r.returncode, f'{kind.name}: saved', r.stderr)
            new.append(lib.read(other))
        bad, seen = [], {}
        for i in range(KILLS):
            kill_put(rng, [lib.PROGRAM, 'put', *flags, path, view, texts[0]], took, no_leaks)
            # The next to write recovers.
            r = run('put', *flags, path, USRDIR + 'EMPTY.BIN', '-', data=b'')
            now = lib.read(path)
            state = (first, new[0]).index(now) if now in (first, new[0]) else None
            bad += lib.unless(state is not None and not r.returncode, f'kill {i}: neither old nor new: {r.stderr}')
            bad += lib.unless(not crash.beside(path), f'kill {i}: left beside it: {crash.beside(path)}')
            seen[state] = seen.get(state, 0) + 1
            if state:
                r = run('undo', path)
                bad += lib.unless(not r.returncode and lib.read(path) == first, f'kill {i}: undo: {r.stderr}')
            if bad:
                break
        t.none(bad, f'{kind.name}: {KILLS} kills: {seen}')
        t.ok(0 in seen and 1 in seen, f'{kind.name}: some died before the commit point, some behind it', seen)
        t.same(lib.read(path) == first, True, f'{kind.name}: in the end the first bytes')


def kill_put(rng, command, took, env):
    nothing = subprocess.DEVNULL
    p = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, env=env)
    time.sleep(rng.uniform(0.3, 1.3) * took)
    p.kill()
    p.wait()


def daemon(t):
    """A mount that is killed while it saves, again and again."""
    disc = psp(archive([b'first' * 99, kit(t)]), 8)
    kind = KINDS[1]
    first = kind.make(disc.image)
    path, point = t.file(kind.name, first), t.dir('mount')
    view, rng, bad, seen = f'{DATA}/00001.pac/00.pmo/meshes/0.obj', random.Random(SEED), [], [0, 0]
    text = run('cat', path, view).stdout
    texts = iter((view, more_faces(text, 2 + i % 50)) for i in range(1 << 30))
    for i in range(KILLS):
        victim = crash.Daemon(path, point)
        saver = crash.Saver(path, point, texts)
        saver.start()
        time.sleep(rng.uniform(0, 0.2 * lib.SLOW))
        victim.kill()
        saver.join(lib.LIMIT)
        lib.force_unmount(point)
        bad += lib.unless(saver.error in crash.GONE, f'kill {i}: {saver.error}')
        pending = faces_of(saver.pending[1])
        with Mount(t, path) as m:                  # recovers
            now = faces_of(lib.read(m.point, view))
        fresh = lib.read(path) != saver.before
        bad += lib.unless(now == pending if fresh else True, f'kill {i}: {now} faces, not {pending}')
        bad += [f'kill {i}: {x}' for x in image_problems(path, disc)]
        seen[fresh] += 1
        if bad:
            break
    t.none(bad, f'{KILLS} kills of the daemon: {seen}')
    r = run('undo', path, '99999')
    t.ok(not r.returncode and lib.read(path) == first, 'undone', r.stderr)


def image_problems(path, disc):
    """Codes, sizes and the other files of an image."""
    b = lib.read(path)
    user = discread.user(b)
    files = discread.files(user)
    bad = [f'sector {i}: {x}' for i, s in enumerate(discs.sectors(b)) for x in discread.codes(s)]
    bad += [f'{p}: changed' for p, f in disc.files.items() if p != DATA and files[p] != f.data]
    return discread.problems(user) + bad


if __name__ == '__main__':
    lib.main(demo, last_entry, not_the_last, tight, killed, daemon, needs_fuse=True)
