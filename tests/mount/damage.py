"""Damaged archives and models: no crash, no hang, little memory, a message with a number, and nothing lost beside them.

With the corpus, its bad files, each alone and all of them in one archive. Always, damaged copies of the demo archive
and of the files in it: words overwritten, cut at many lengths, random bytes.
"""
import errno
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

import lib
from lib import BLOCK, CORPUS, LIMIT, PROGRAM, SANITIZERS, SLOW, Mount, read, run, unless

SECONDS = 5 * SLOW
MEMORY = 64 << 20
SEED = 20240601
KINDS = ('pac', 'pmo', 'tmh', 'ahi', 'anm')
WORDS = 64                                         # of each file, overwritten one after the other
VALUES = (0, 1, 0x7fffffff, 0xfffffff0)
STEPS, HEAD = 100, 100                             # lengths to which each file is cut; and all below HEAD
NAMES_STAY = 1.5                                   # seconds; the kernel may keep names and listings for one
ALONE, TOGETHER = 60, 200                          # rounds of random damage
THIN = 4 if SANITIZERS else 1                      # the units are damaged at every place under the sanitizers


class Result:
    """How modelfs ended: args, code, out, err, seconds, memory (bytes)."""


def measured(t, *args):
    """As lib.run, with time and memory. What Python itself held then counts too: an upper bound."""
    r = Result()
    with open(os.path.join(t.folder, 'out'), 'w+b') as out, open(os.path.join(t.folder, 'err'), 'w+b') as err:
        start = time.monotonic()
        p = subprocess.Popen([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        guard = threading.Timer(LIMIT, p.kill)
        guard.start()
        _, status, usage = os.wait4(p.pid, 0)
        guard.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        r.seconds = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        r.out, r.err = out.read(), err.read().decode(errors='replace')
    r.args, r.code, r.memory = args, p.returncode, usage.ru_maxrss << 10
    return r


class Worst:
    def __init__(self):
        self.seconds = self.memory = 0
        self.runs = 0

    def add(self, r):
        """-> problems of this run"""
        what = ' '.join(os.path.basename(a) if '/' in a else a for a in r.args)
        self.runs += 1
        self.seconds, self.memory = max(self.seconds, r.seconds), max(self.memory, r.memory)
        bad = [] if r.code in (0, 1) else [f'{what}: exit {r.code}: {r.err[-300:]}']
        bad += unless(r.seconds <= SECONDS, f'{what}: {r.seconds:.1f} s')
        bad += unless(SANITIZERS or r.memory <= MEMORY, f'{what}: {r.memory >> 20} MiB')
        bad += unless(r.code != 1 or r.err.startswith('modelfs: ') or r.args[0] == 'info',
                      f'{what}: exit 1 without a word: {r.err[-300:]}')
        return bad

    def __str__(self):
        return f'{self.runs} runs, at most {self.seconds:.2f} s and {self.memory >> 20} MiB'


def has_number(text, *paths):
    """Whether a message has one that is not part of a path."""
    for p in paths:
        text = text.replace(p, '')
    return re.search(r'\b(0x[0-9a-f]+|\d+)\b', text)


def errors_below(root):
    return ''.join(read(root, p).decode() for p in lib.files(root) if os.path.basename(p) == 'errors.txt')


def alone(t, source, kind, refuse, worst, thorough):
    """One damaged file as SOURCE -> problems"""
    bad, name = [], os.path.basename(source)
    to = os.path.join(t.dir('extract'), 'x')
    r = measured(t, 'extract', source, to)
    bad += worst.add(r)
    opened = os.path.isdir(to)
    if opened:
        whole = [p for p in lib.files(to) if p.startswith('raw/whole.')]       # of another kind, perhaps, than it was
        if kind != 'bin' and [read(to, p) for p in whole] != [read(source)]:
            bad.append(f'{name}: {whole} is not the file')
        said = errors_below(to)
        bad += [f'{name}: errors.txt, but exit 0'] if said and not r.code else []
    else:
        said = r.err
        bad += [f'{name}: exit 0 and nothing extracted'] if not r.code else []
        bad += [f'{name}: the message does not name it: {said[-200:]}'] if source not in said else []
    if refuse and not (r.code == 1 and has_number(said, source, to, name)):
        bad.append(f'{name}: to be refused, exit {r.code}: {said[-300:]!r}')
    if thorough:
        for command in (['info'], ['ls', '-lR'], ['verify']):
            r = measured(t, *command, source)
            bad += worst.add(r)
            bad += [f'{name}: {command[0]}: exit 0'] if not opened and not r.code else []
            bad += unless(opened or not refuse or has_number(r.err, source, name),
                          f'{name}: {command[0]}: {r.err[-200:]}')
        bad += mounted(t, source, to if opened else None)
    shutil.rmtree(os.path.dirname(to))
    return bad


def mounted(t, source, extracted):
    """Mounts a damaged source and reads everything -> problems; extracted: the folder of extract, None if refused."""
    name = os.path.basename(source)
    if lib.fuse_missing():
        return []
    if extracted is None:
        point = t.dir('mount')
        r = run('mount', source, point)
        if r.returncode == 1 and r.stderr.startswith('modelfs: mount: ') and point not in lib.mount_points():
            return []
        return [f'{name}: mount: exit {r.returncode}: {r.stderr[-200:]}']
    bad, start = [], time.monotonic()
    try:
        with Mount(t, source) as m:
            first = lib.snapshot(m.point)
            seconds, memory = time.monotonic() - start, m.memory()
            want = lib.snapshot(extracted)
            lib.wait_for(lambda: set(want) <= set(lib.snapshot(m.point)), NAMES_STAY)      # errors.txt, after reading
            second = lib.snapshot(m.point)
            alive = m.process.poll() is None
        if not alive or m.code:
            bad.append(f'{name}: the daemon ended with {m.code}: {m.log[-300:]}')
    except (RuntimeError, OSError) as e:
        return [f'{name}: mounted: {e!r}']
    failed = {p: v for p, v in second.items() if isinstance(v, str)}
    bad += [f'{name}: {p}: {v}' for p, v in failed.items() if v != os.strerror(errno.EIO)]
    sound = {p: v for p, v in second.items() if p not in failed}
    bad += [f'{name}: mounted: {d}' for d in lib.differences(sound, want)]
    bad += [f'{name}: nodes went away: {p}' for p in first if p not in second]
    bad += [f'{name}: mounted and read: {seconds:.1f} s'] if seconds > SECONDS else []
    bad += [f'{name}: mounted: {memory >> 20} MiB'] if not SANITIZERS and memory > MEMORY else []
    return bad


def limits(t):
    if SANITIZERS:
        t.skip('memory: built with ' + ', '.join(SANITIZERS))
    if lib.fuse_missing():
        t.skip('mounted: ' + lib.fuse_missing())


# ---------------------------------------------------------------- the corpus' bad files

def corpus(t):
    if not os.path.exists(os.path.join(CORPUS, 'mkmhp.py')):
        return t.skip('no corpus beside the source')
    where = t.dir('bad')
    code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), where, '--seed', '1', '--what', 'bad')
    if not t.ok(code == 0, 'the bad files of the corpus', text[-300:]):
        return
    where = os.path.join(where, 'bad')
    manifest = json.load(open(os.path.join(where, 'manifest.json')))
    for kind in sorted({e['kind'] for e in manifest}):
        worst, bad = Worst(), []
        for e in manifest:
            if e['kind'] == kind:
                source = os.path.join(where, e['file'])
                problems = alone(t, source, 'bin' if kind == 'databin' else kind, e['expect'] == 'refuse', worst, True)
                bad += [f'{e["file"]} ({e["reason"]}): {p}' for p in problems]
        t.none(bad, f'bad/{kind}_*: {worst}')
    inside(t, where, {e['file']: e for e in manifest})


def inside(t, where, manifest):
    """All of them as entries of a sound archive; the last entry is sound."""
    archive = os.path.join(where, 'archive', 'DATA.BIN')
    names = json.load(open(os.path.join(where, 'archive.json')))['entries']
    to, worst = os.path.join(t.dir('extract'), 'x'), Worst()
    r = measured(t, 'extract', archive, to)
    bad = worst.add(r)
    bad += unless(r.code == 1, f'exit {r.code}')
    have = os.listdir(to)
    entries = {int(n[:5]): n for n in have}
    bad += unless(sorted(entries) == list(range(len(names))), f'entries {sorted(have)}')
    starts = struct.unpack_from(f'<{len(names) + 1}I', read(archive))
    whole = read(archive)
    for i, file in enumerate(names[:-1]):
        path, data = os.path.join(to, entries[i]), whole[starts[i] * BLOCK:starts[i + 1] * BLOCK]
        if os.path.isdir(path):
            kind = entries[i].rsplit('.', 1)[1]
            bad += unless(read(path, 'raw', 'whole.' + kind) == data, f'{file}: raw/whole.{kind}')
            # Where bytes are missing, the archive has zeros in their place, and those may make sense.
            if manifest[file]['expect'] == 'refuse' and '_cut' not in file and not has_number(errors_below(path)):
                bad.append(f'{file} ({manifest[file]["reason"]}): {entries[i]} has no errors.txt with a number')
            bad += unless(not errors_below(path) or entries[i] in r.err, f'{file}: not in the list of what failed')
        else:
            bad += unless(read(path) == data, f'{file}: {entries[i]} has other bytes')
            if file.startswith(('pmo', 'tmh')) and data[:8] in (b'pmo\x001.0\0', b'pmo\x00102\0', b'.TMH0.14'):
                bad.append(f'{file} is a plain file, {entries[i]}')
    good = t.file('good.pac', whole[starts[-2] * BLOCK:])
    bad += lib.differences(lib.below(lib.snapshot(to), entries[len(names) - 1]), lib.snapshot(t.extract(good)))
    for command in (['info'], ['ls', '-lR'], ['verify']):
        bad += worst.add(measured(t, *command, archive))
    bad += mounted(t, archive, to)
    t.none(bad, f'{len(names) - 1} bad files inside a sound archive: {worst}')


# ---------------------------------------------------------------- damaged copies of the demo

def samples(t):
    """(kind, bytes): the largest of each kind in the demo archive."""
    found = {}
    for p in lib.files(t.tree):
        m = re.search(r'/raw/whole\.(\w+)$', p)
        if m and m[1] in KINDS and len(read(t.tree, p)) > len(found.get(m[1], b'')):
            found[m[1]] = read(t.tree, p)
    return [(k, found[k]) for k in KINDS] + [('bin', read(t.demo))]


def overwritten(t):
    for turn, (kind, data) in enumerate(samples(t)):
        worst, bad = Worst(), []
        for at in range(0, min(4 * WORDS, len(data) - 3), 4):
            one = THIN > 1 or kind == 'bin'        # all of its models are drawn each time
            for value in [VALUES[(at // 4 + turn) % len(VALUES)]] if one else VALUES:
                part = data[:at] + struct.pack('<I', value) + data[at + 4:]
                path = os.path.join(t.folder, f'word-{at:x}-{value:x}.{kind}')
                with open(path, 'wb') as f:
                    f.write(part)
                bad += alone(t, path, kind, False, worst, False)
                os.unlink(path)
        t.none(bad, f'{kind}: words overwritten: {worst}')


def lengths(t):
    for kind, data in samples(t):
        worst, bad = Worst(), []
        steps = {len(data) * i // STEPS for i in range(STEPS)}
        for n in sorted(steps | set(range(min(HEAD, len(data)))) | {len(data) - 1})[::THIN]:
            path = os.path.join(t.folder, f'length-{n}.{kind}')
            with open(path, 'wb') as f:
                f.write(data[:n])
            bad += alone(t, path, kind, False, worst, False)
            os.unlink(path)
        t.none(bad, f'{kind}: cut at many lengths: {worst}')


def spoil(rng, data):
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(min(256, len(out)) if rng.random() < 0.5 else len(out))
        out[at] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256), out[at] ^ 1 << rng.randrange(8)))
    return bytes(out)


def random_alone(t):
    rng = random.Random(SEED)
    for kind, data in samples(t):
        worst, bad = Worst(), []
        for i in range(ALONE // THIN):
            path = os.path.join(t.folder, f'random-{SEED}-{i}.{kind}')
            with open(path, 'wb') as f:
                f.write(spoil(rng, data))
            bad += alone(t, path, kind, False, worst, i % (20 // THIN) == 0)
            os.unlink(path)
        t.none(bad, f'{kind}: random damage (seed {SEED}): {worst}')


def random_together(t):
    """Sound and damaged entries side by side, in an archive that is not encrypted."""
    rng = random.Random(SEED + 1)
    good = read(t.tree, t.kit, 'raw', 'whole.pac')
    pool = [d for k, d in samples(t) if k != 'bin']
    parts = [good]
    for i in range(TOGETHER):
        parts += [spoil(rng, rng.choice(pool)), good] if i % 4 == 0 else [spoil(rng, rng.choice(pool))]
    parts.append(good)
    archive = t.file('DATA.BIN', lib.plain_archive(parts))
    sound = [i for i, p in enumerate(parts) if p is good]
    want = lib.snapshot(t.extract(t.file('x.pac', good + bytes(-len(good) % BLOCK))))
    worst, to = Worst(), os.path.join(t.dir('extract'), 'x')
    r = measured(t, 'extract', archive, to)
    bad = worst.add(r)
    have = lib.snapshot(to)
    for i in sound:
        bad += [f'entry {i}: {d}' for d in lib.differences(lib.below(have, f'{i:05d}.pac'), want)]
        bad += [f'entry {i} is listed as failed'] if f'{i:05d}.pac' in r.err else []
    for command in (['info'], ['ls', '-lR'], ['verify']):
        bad += worst.add(measured(t, *command, archive))
    bad += mounted(t, archive, to)
    t.none(bad, f'{len(parts) - len(sound)} damaged entries between {len(sound)} sound ones: {worst}')


if __name__ == '__main__':
    lib.main(limits, corpus, overwritten, lengths, random_alone, random_together)
