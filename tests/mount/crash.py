"""What an archive is after the daemon or a command was killed at any moment: what it was before the save that was under
way, or what it is after it, and nothing that was reported as saved is lost. MODELFS_LONG=1 kills more often.
"""
import errno
import os
import random
import re
import shutil
import struct
import subprocess
import threading
import time
import zlib

import lib
from lib import BLOCK, LIMIT, PROGRAM, SANITIZERS, Mount, read, run

LONG = os.environ.get('MODELFS_LONG') == '1'
KILLS = 1000 if LONG else 50 if SANITIZERS else 200
KILLS_GROW = KILLS_UNDO = KILLS_PUT = 200 if LONG else 10 if SANITIZERS else 25
SEED = 3
GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.EIO)     # what calls say when the daemon is; EIO: a write was lost

MATERIALS = '00012.pac/00.pmo/materials.yaml'
PICTURE = '00012.pac/01.tmh/0.png'
CLIP = '00016.pac/03.anm/clips/000.yaml'
GAP = '00018.ahi/raw/gap-0000044c.bin'
PLAIN = '00000.bin'


# ---------------------------------------------------------------- what is saved

def png(width, height, pixels):
    """Three bytes per pixel."""
    rows = b''.join(b'\0' + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    head = struct.pack('>2I5B', width, height, 8, 2, 0, 0, 0)
    chunks = ((b'IHDR', head), (b'IDAT', zlib.compress(rows)), (b'IEND', b''))
    return b'\x89PNG\r\n\x1a\n' + b''.join(
        struct.pack('>I', len(body)) + tag + body + struct.pack('>I', zlib.crc32(tag + body)) for tag, body in chunks)


def other_picture(old, rng):
    """Other pixels in the same colours, so the palette can stay."""
    width, height = struct.unpack_from('>2I', old, 16)
    at = old.index(b'PLTE')
    n = struct.unpack_from('>I', old, at - 4)[0] // 3
    colours = [old[at + 4 + 3 * i:at + 7 + 3 * i] for i in range(n)]
    return png(width, height, b''.join(rng.choice(colours) for _ in range(width * height)))


def other_materials(old, rng):
    """All materials of the file at once."""
    def numbers(m):
        return m.group(1) + '[' + ', '.join(str(rng.randrange(256)) for _ in range(4)) + ']'
    return re.sub(r'((?:colour|ambient): )\[.*?\]', numbers, old.decode()).encode()


def longer_clip(old, rng):
    """One to four keys more in the first channel, so that what lies behind it moves."""
    key = re.search(r'\n( *- )\[.*, (\d+), .*, .*\]\n(?! *- \[)', old.decode())
    more = ''.join(f'{key.group(1)}[{rng.randrange(-900, 900)}, {int(key.group(2)) + i}, 0, 0]\n'
                   for i in range(1, rng.randint(2, 5)))
    return old[:key.end()] + more.encode() + old[key.end():]


def texts(tree, rng):
    """(path, bytes) without end: kinds take turns, and the first clip comes back every other time."""
    turn = 0
    while True:
        turn += 1
        kinds = [
            (MATERIALS, other_materials(read(tree, MATERIALS), rng)),
            (PICTURE, other_picture(read(tree, PICTURE), rng)),
            (CLIP, longer_clip(read(tree, CLIP), rng) if turn % 2 else read(tree, CLIP)),
            (GAP, rng.randbytes(os.path.getsize(os.path.join(tree, GAP)))),
            (PLAIN, rng.randbytes(rng.randint(1, BLOCK))),
        ]
        rng.shuffle(kinds)
        yield from kinds


def save(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        try:
            os.close(fd)
        except OSError:
            pass                                   # fsync has answered already, or failed


class Saver(threading.Thread):
    """Saves until the daemon is gone."""

    def __init__(self, archive, point, source):
        super().__init__()
        self.archive, self.point, self.source = archive, point, source
        self.before = read(archive)                # after the last fsync that returned 0
        self.pending = None                        # (path, bytes) of the one that did not
        self.saved = self.changed = 0
        self.error = None

    def run(self):
        for self.pending in self.source:
            try:
                save(os.path.join(self.point, self.pending[0]), self.pending[1])
            except OSError as e:
                self.error = e.errno
                return
            now = read(self.archive)
            self.saved += 1
            self.changed += now != self.before     # the first clip may be there already
            self.before = now


# ---------------------------------------------------------------- dying

def beside(archive):
    """Names of modelfs' own files beside the archive, without the undo file and what it keeps."""
    folder, name = os.path.split(archive)
    return sorted(n for n in os.listdir(folder) if n.startswith('.' + name))


class Daemon:
    """Mounted over whatever the one before has left at the mount point."""

    def __init__(self, archive, point, *options):
        with open(point + '.log', 'ab') as log:
            self.process = subprocess.Popen(
                [PROGRAM, 'mount', '-f', *(['-o', ','.join(options)] if options else []), archive, point],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if not lib.wait_for(lambda: self.process.poll() is not None or self.there(point), 20):
            raise RuntimeError('not mounted')
        if self.process.poll() is not None:
            raise RuntimeError(f'the mount ended with {self.process.returncode}: {read(point + ".log")[-400:]}')

    @staticmethod
    def there(point):
        try:
            os.statvfs(point)                      # never answered from a cache
            return point in lib.mount_points()
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()


def after_put(t, before, path, data, *flags):
    """The archive that a save which nobody disturbs makes of those bytes."""
    archive, text = t.file('put.bin', before), t.file('text', data)
    r = run('put', '-n', *flags, archive, path, text)
    out = read(archive) if not r.returncode else r.stderr
    shutil.rmtree(os.path.dirname(archive))
    shutil.rmtree(os.path.dirname(text))
    return out


def look(archive, path):
    """What those see who only read: (the file, problems). They leave everything as it is."""
    names = [archive] + [os.path.join(os.path.dirname(archive), n) for n in beside(archive)]
    was = [read(n) for n in names]
    results = [run('cat', archive, path), run('ls', '-R', archive), run('verify', archive)]
    bad = [f'{r.args[1]}: exit {r.returncode}: {r.stderr[-200:]}' for r in results if r.returncode]
    names = [archive] + [os.path.join(os.path.dirname(archive), n) for n in beside(archive)]
    return results[0].stdout, bad + lib.unless(was == [read(n) for n in names], 'reading changed what is on the disk')


def undo_all(t, archive, first, what):
    r = run('undo', archive, '1000000')
    t.ok(not r.returncode and read(archive) == first, f'{what}: undo brings back the first bytes',
         (r.returncode, r.stderr[-300:]))
    r = run('undo', archive)
    t.ok(r.returncode == 1 and read(archive) == first, f'{what}: nothing is left to take back', r.returncode)


def commits(archive):
    r = run('log', archive)
    if r.returncode:
        raise RuntimeError(f'log: {r.stderr}')
    return int(r.stdout.split(b'\n')[-2].split()[0])


# ---------------------------------------------------------------- the daemon, while it saves

def daemon(t):
    rng = random.Random(SEED)
    first = read(t.demo)
    archive, point = t.file('DATA.BIN', first), t.dir('mount')
    source = texts(t.tree, rng)
    bad, seen = [], {'old': 0, 'new': 0, 'journal': 0}
    victim, saved, done, mean = Daemon(archive, point), 0, 0, 0.01
    for i in range(KILLS):
        saver = Saver(archive, point, source)
        began = time.monotonic()
        saver.start()
        time.sleep(rng.uniform(0, 4 * mean))
        victim.kill()
        took = time.monotonic() - began
        saver.join(LIMIT)
        if saver.is_alive():
            bad.append(f'kill {i}: a call on the dead mount hangs')
            break
        if saver.saved:
            mean = 0.9 * mean + 0.1 * took / saver.saved
        bad += lib.unless(saver.error in GONE, f'kill {i}: {saver.pending[0]}: {errno.errorcode.get(saver.error)}')
        seen['journal'] += '.DATA.BIN.modelfs-journal' in beside(archive)
        text, problems = look(archive, saver.pending[0])
        victim = Daemon(archive, point)
        now = read(archive)
        fresh = now != saver.before
        if fresh and now != after_put(t, saver.before, *saver.pending):
            problems.append('neither the old bytes nor the new ones')
        problems += lib.unless(read(point, saver.pending[0]) == text,
                               'what was read before the mount is not what it has')
        problems += lib.unless(not beside(archive), f'left beside the archive: {beside(archive)}')
        seen['new' if fresh else 'old'] += 1
        saved += saver.saved
        done += saver.changed + fresh
        bad += [f'kill {i}, {saver.pending[0]}: {x}' for x in problems]
        if len(bad) > 20:
            break
    t.none(bad, f'{KILLS} kills of the daemon, {saved} saves: {seen}')
    t.ok(seen['old'] and seen['new'] and seen['journal'], 'some died before the commit point, some behind it', seen)
    t.same(commits(archive), done, 'the log has every commit once')
    run('umount', point)
    victim.process.wait(LIMIT)
    t.same(victim.process.returncode, 0, 'the last one ends well')
    r = run('verify', archive)
    t.ok(r.returncode == 0, 'verify', r.stderr[-300:])
    want = lib.snapshot(t.tree)
    have = lib.snapshot(t.extract(archive))
    touched = tuple(os.path.dirname(os.path.dirname(p)) or p for p in (MATERIALS, PICTURE, GAP, PLAIN)) + ('00016.pac',)
    t.none([x for x in lib.differences(have, want) if not x.startswith(touched + ('00012.pac/raw',))],
           'nothing else has changed')
    undo_all(t, archive, first, 'saves')


# ---------------------------------------------------------------- commands

def killed(rng, longest, *args):
    """Starts modelfs ARGS and kills it at some moment; whether it was still there."""
    nothing = subprocess.DEVNULL
    p = subprocess.Popen([PROGRAM, *args], stdin=nothing, stdout=nothing, stderr=nothing)
    time.sleep(rng.uniform(0, longest))
    p.kill()
    return p.wait() != 0


def timed(*args):
    began = time.monotonic()
    r = run(*args)
    if r.returncode:
        raise RuntimeError(f'{args}: {r.stderr}')
    return time.monotonic() - began


def mounted_once(t, archive):
    with Mount(t, archive):
        pass
    return read(archive)


def put(t):
    rng = random.Random(SEED + 1)
    first = read(t.demo)
    archive = t.file('DATA.BIN', first)
    source = texts(t.tree, rng)
    bad, seen, longest = [], {'old': 0, 'new': 0}, 0.0
    for i in range(KILLS_PUT + 3):
        path, data = next(source)
        before, text = read(archive), t.file('text', data)
        after = after_put(t, before, path, data)
        if i < 3:
            longest = max(longest, timed('put', archive, path, text))
            continue
        killed(rng, 1.2 * longest, 'put', archive, path, text)
        _, problems = look(archive, path)
        now = mounted_once(t, archive)
        problems += lib.unless(now in (before, after), 'neither the old bytes nor the new ones')
        problems += lib.unless(not beside(archive), f'left beside the archive: {beside(archive)}')
        seen['new' if now == after else 'old'] += 1
        r = run('put', archive, path, text)
        problems += lib.unless(r.returncode == 0 and read(archive) == after, f'once more: {r.stderr}')
        bad += [f'kill {i}, {path}: {x}' for x in problems]
    t.none(bad, f'{KILLS_PUT} kills of put: {seen}')
    undo_all(t, archive, first, 'put')


def undo(t):
    rng = random.Random(SEED + 2)
    start = t.file('DATA.BIN', read(t.demo))
    states, source = [read(start)], texts(t.tree, rng)
    while len(states) <= 20:
        path, data = next(source)
        timed('put', start, path, t.file('text', data))
        if read(start) != states[-1]:
            states.append(read(start))
    t.same(commits(start), 20, 'commits to take back')
    bad, left, longest = [], set(), 0.0
    for i in range(KILLS_UNDO + 1):
        folder = t.dir('undo')
        archive = shutil.copy(start, folder)
        shutil.copy(start + '.modelfs-undo', folder)
        n = rng.randint(1, 20)
        if not i:
            longest = timed('undo', archive, '20')
            continue
        killed(rng, 1.2 * longest, 'undo', archive, str(n))
        c = commits(archive)
        left.add(c)
        _, problems = look(archive, CLIP)
        if i % 2:
            problems += lib.unless(mounted_once(t, archive) == states[c], f'the bytes are not those of {c} commits')
            problems += lib.unless(not beside(archive), f'left beside the archive: {beside(archive)}')
        else:
            problems += lib.unless(c == 0 or run('undo', archive).returncode == 0 and read(archive) == states[c - 1],
                                   'undo once more')
        r = run('undo', archive, '20')
        problems += lib.unless(read(archive) == states[0], f'undo of the rest: {r.stderr}')
        bad += [f'kill {i}, undo {n}, {c} commits left: {x}' for x in problems + lib.unless(
            c in (20, 20 - n), f'undo {n} left {c} of 20 commits')]
        shutil.rmtree(folder)
    t.none(bad, f'{KILLS_UNDO} kills of undo, commits left: {sorted(left)}')


# ---------------------------------------------------------------- an archive that is written anew

def grow(t):
    """Through a mount, through put, and taking it back again; what is written anew is known without modelfs."""
    rng = random.Random(SEED + 3)
    small, large = b'small' * 100, rng.randbytes(3 * BLOCK)
    rest = [rng.randbytes(12 << 20), b'end' + bytes(BLOCK)]
    before, after = lib.plain_archive([small] + rest), lib.plain_archive([large] + rest)
    archive, text = t.file('DATA.BIN', before), t.file('text', large)
    name = next(p for p in lib.files(t.extract(archive)) if p.startswith('00000.'))
    took_put, took_undo = timed('put', '-g', archive, name, text), timed('undo', archive)
    bad, seen = [], {}
    for i in range(KILLS_GROW):
        how = ('mount', 'put', 'undo')[i % 3]
        if how == 'mount':
            point = t.dir('mount')
            victim = Daemon(archive, point, 'grow')
            saver = Saver(archive, point, iter([(name, large)]))
            saver.start()
            time.sleep(rng.uniform(0, 1.2 * took_put))
            victim.kill()
            saver.join(LIMIT)
            bad += lib.unless(saver.error in GONE or saver.saved, f'kill {i}: {saver.error}')
            lost = saver.saved and run('cat', archive, name).stdout[:len(large)] != large
            bad += lib.unless(not lost, f'kill {i}: what fsync had confirmed is not there')
            lib.force_unmount(point)
        elif how == 'put':
            killed(rng, 1.2 * took_put, 'put', '-g', archive, name, text)
        else:
            timed('put', '-g', archive, name, text)
            killed(rng, 1.2 * took_undo, 'undo', archive)
        got, problems = look(archive, name)
        now = mounted_once(t, archive)
        problems += lib.unless(now in (before, after), f'{len(now)} bytes, neither the old ones nor the new ones')
        problems += lib.unless(got[:len(small)] in (small, large[:len(small)]), 'the entry is neither old nor new')
        problems += lib.unless(not beside(archive), f'left beside the archive: {beside(archive)}')
        problems += lib.unless(commits(archive) == (now == after), f'{commits(archive)} commits in the log')
        seen[how, 'new' if now == after else 'old'] = seen.get((how, 'new' if now == after else 'old'), 0) + 1
        if now == after:
            r = run('undo', archive)
            problems += lib.unless(not r.returncode and read(archive) == before, f'undo: {r.stderr}')
        kept = [n for n in os.listdir(os.path.dirname(archive)) if n.startswith('DATA.BIN.modelfs-undo.')]
        problems += lib.unless(not kept, f'kept for nothing: {kept}')
        bad += [f'kill {i}, {how}: {x}' for x in problems]
        if problems:                               # begin again
            archive = t.file('DATA.BIN', before)
    t.none(bad, f'{KILLS_GROW} kills while the archive is written anew: {seen}')


if __name__ == '__main__':
    lib.main(daemon, put, undo, grow, needs_fuse=True)
