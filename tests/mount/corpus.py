"""Everything of the public corpus, mounted, extracted and verified; the checker is the corpus' own, check_mount.py."""
import contextlib
import io
import json
import multiprocessing
import os
import re
import shutil
import struct
import sys

import lib
from lib import CORPUS, SAMPLES, Mount, module, run

SEEDS = lib.CORPUS_SEEDS
ARCHIVES = ('mhp2g', 'mhp3rd', 'mhfu', 'mhf2')
PARTS = ('pac', 'single')
MOUNT_EVERY = 12                                   # of the single files; with the first seed all of them
PROCESSES = 2
REAL_TABLE_FILES = 5955


def checked(root, expected, only):
    """check_mount.py ROOT EXPECTED [--only NAME], in this process: -> passed, problems"""
    said, code = io.StringIO(), None
    sys.argv = ['check_mount.py', root, expected] + (['--only', only] if only else [])
    with contextlib.redirect_stdout(said):
        try:
            CHECKER.main()
        except SystemExit as e:
            code = e.code
    lines = said.getvalue().splitlines()
    result = re.fullmatch(r'(\d+) passed, 0 failed', lines[-1]) if lines else None
    return (int(result[1]), []) if result and not code else (0, lines or [f'exit {code}'])


def work(job):
    """job: (title, source, expected.json, name in it or None, whether to mount) -> (title, passed, problems)"""
    title, source, expected, only, mounted = job
    passed, bad = 0, []
    try:
        to = os.path.join(TEST.dir('extract'), 'x')
        for what, args in (('extract', [to]), ('verify', [])):
            r = run(what, source, *args)
            bad += [f'{source}: {what}: exit {r.returncode}: {r.stderr[-500:]}'] if r.returncode or r.stderr else []
        n, problems = checked(to, expected, only)
        passed += n
        bad += ['extracted: ' + p for p in problems]
        bad += [f'{source}: {p}' for p in lib.files(to) if p.endswith('errors.txt')]
        if mounted:
            with Mount(TEST, source) as m:
                n, problems = checked(m.point, expected, only)
                bad += ['mounted: ' + p for p in problems + lib.differences(lib.snapshot(m.point), lib.snapshot(to))]
            passed += n
        shutil.rmtree(os.path.dirname(to))
    except Exception as e:
        bad.append(f'{source}: {e!r}')
    return title, passed, bad


def jobs(t, fuse):
    for seed in SEEDS:
        where = t.dir(f'seed{seed}')
        code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), where, '--seed', str(seed), '--what',
                               ','.join(ARCHIVES + PARTS))
        if not t.ok(code == 0, f'corpus of seed {seed}', text[-300:]):
            continue
        for name in ARCHIVES:
            yield (f'seed {seed}: {name}', os.path.join(where, name, 'DATA.BIN'), f'{where}/{name}.expected.json',
                   None, fuse)
        for part in PARTS:
            expected = f'{where}/{part}.expected.json'
            for i, e in enumerate(json.load(open(expected))['entries']):
                yield (f'seed {seed}: files of {part}', os.path.join(where, part, e['name']), expected, e['name'],
                       fuse and (seed == SEEDS[0] or i % MOUNT_EVERY == seed))
    expected = os.path.join(CORPUS, 'real.expected.json')
    for e in json.load(open(expected))['entries']:
        yield 'real PACs', os.path.join(SAMPLES, e['name']), expected, e['name'], fuse


def everything(t):
    fuse = not lib.fuse_missing()
    if not fuse:
        t.skip('mounted: ' + lib.fuse_missing())
    results = {}
    global TEST
    TEST = t
    with multiprocessing.get_context('fork').Pool(PROCESSES) as pool:
        for title, passed, bad in pool.imap(work, list(jobs(t, fuse)), chunksize=4):
            total = results.setdefault(title, [0, 0, []])
            total[0] += 1
            total[1] += passed
            total[2] += bad
    for title, (sources, passed, bad) in results.items():
        t.none(bad, f'{title}: {sources} sources, {passed} checks')
    t.ok(sum(r[1] for r in results.values()) > 10000, 'there was something to check')


def real_table(t):
    """The real start-block table of MHP3rd, before files of zeros that take no room."""
    table = lib.read(SAMPLES, 'mhp3rd_index.bin')
    starts = struct.unpack(f'<{REAL_TABLE_FILES + 1}I', table[:4 * (REAL_TABLE_FILES + 1)])
    path = t.file('DATA.BIN', module('mkmhp').encrypt(table, 0))
    os.truncate(path, starts[-1] * lib.BLOCK)
    r = run('info', path)
    t.ok(r.returncode == 0 and f'files: {REAL_TABLE_FILES}\n'.encode() in r.stdout and b'3rd' in r.stdout,
         'the real table of Portable 3rd',
         (r.returncode, r.stdout, r.stderr))
    listed = [re.match(r'[-d]\S+ +(\d+) .* (\d+)\.(\w+)/?$', x)
              for x in run('ls', '-l', path).stdout.decode().splitlines()]
    t.ok(len(listed) == REAL_TABLE_FILES and all(listed), 'as many entries', len(listed))
    want = [(b - a) * lib.BLOCK for a, b in zip(starts, starts[1:])]
    t.none([x[0] for x, size in zip(listed, want) if x[3] in ('bin', 'empty')
            and (int(x[1]) != size or (size == 0) != (x[3] == 'empty'))],
           'their sizes')
    t.same([int(x[2]) for x in listed if x[3] == 'empty'], [3980, 3981, 3982], 'the three that are empty')


if __name__ == '__main__':
    if not os.path.exists(os.path.join(CORPUS, 'check_mount.py')):
        print('skipped: no corpus beside the source')
        sys.exit(77)
    CHECKER = module('check_mount')
    TEST = None
    lib.main(everything, real_table)
