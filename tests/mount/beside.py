"""Others look at an archive that is mounted writable and saved to all the time: they see the state before a save or the
one after it, file by file, and nothing in between. Nobody else may write meanwhile.
"""
import multiprocessing
import os
import re
import shutil
import time

import lib
from lib import SLOW, Mount, read, run

SECONDS = 8
PMO = '00012.pac/00.pmo'                           # three materials
YAML = PMO + '/materials.yaml'
VALUES = (7, 245)                                  # texts of two lengths
PAUSE = 0.02 * SLOW                                # seconds between saves: who saves without end keeps others waiting
LARGE = 3 << 20                                    # bytes: read in several pieces
LONGEST = 3 * SLOW                                 # seconds that a save may take beside all that


def text_of(text, value):
    """The text with this colour in all materials."""
    return re.sub(r'colour: \[[^]]*\]', f'colour: [{value}, {value}, {value}, {value}]', text)


def copy(t):
    path = os.path.join(t.dir('beside'), 'demo.bin')
    shutil.copyfile(t.demo, path)
    return path


def save(point, text):
    with open(os.path.join(point, YAML), 'w') as f:
        f.write(text)


def sizes(listing):
    """(path, size or None) of all lines of ls -lR."""
    out, at = [], ''
    for line in listing.decode().splitlines():
        if line.endswith(':'):
            at = line[:-1]
        elif line:
            kind, size, _, _, name = line.split(None, 4)
            out.append((os.path.join(at, name), None if kind[0] == 'd' else int(size)))
    return out


class Lookers:
    """Processes that look again and again until the time is up. None has the file that is saved open for writing: a
    program that is started with such a file closes it, and closing saves."""

    def __init__(self, end, *looks):
        """looks: (name, function that returns (problem or '', version seen or None), arguments)"""
        fork = multiprocessing.get_context('fork')
        self.queue = fork.Queue()
        self.processes = [fork.Process(target=self.look, args=(end, *x)) for x in looks]
        for p in self.processes:
            p.start()

    def look(self, end, who, function, *args):
        problems, seen, n = [], set(), 0
        while time.monotonic() < end and len(problems) < 20:
            try:
                problem, version = function(*args)
                problems += [problem] if problem else []
                seen.add(version)
            except Exception as e:
                problems.append(repr(e))
            n += 1
        self.queue.put((who, n, problems, seen - {None}))

    def report(self, t, both):
        """both: names of those who have to see both versions."""
        for _ in self.processes:
            who, n, problems, seen = self.queue.get(timeout=lib.LIMIT)
            t.none(problems + lib.unless(n, 'never'), f'{who}: {n} times, every file whole')
            if who in both:
                t.ok(len(seen) == 2, f'{who}: saw both versions', (n, seen))
        for p in self.processes:
            p.join(lib.LIMIT)


def ended(r):
    """What is wrong with how a program ended, or nothing."""
    return f'exit {r.returncode}: {r.stderr[-300:]}' if r.returncode or r.stderr else ''


class Known:
    """What two versions of the archive look like to somebody for whom nothing changes; and whether what others see is
    one of them."""

    def __init__(self, t, archive, versions):
        self.t, self.archive, self.versions = t, archive, versions
        self.trees, self.lists = [], []
        for text in versions:
            r = run('put', archive, YAML, '-', data=text.encode())
            if r.returncode:
                raise RuntimeError(f'put: {r.stderr}')
            self.trees.append(lib.snapshot(t.extract(archive)))
            self.lists.append(sizes(run('ls', '-lR', archive).stdout))

    def text(self, b):
        text = b.decode()
        return ('', self.versions.index(text)) if text in self.versions else (f'{len(b)} bytes: {text[:300]!r}', None)

    def cat(self):
        r = run('cat', self.archive, YAML)
        return (ended(r), None) if ended(r) else self.text(r.stdout)

    def extract(self):
        to = os.path.join(self.t.dir('seen'), 'x')
        r = run('extract', self.archive, to)
        have = lib.snapshot(to)
        shutil.rmtree(os.path.dirname(to))
        a, b = self.trees
        wrong = [p for p in a if p not in have] + [p for p in have if have[p] not in (a.get(p, 0), b.get(p, 0))]
        return ended(r) or (f'{wrong[:5]}' if wrong else ''), have.get(YAML)

    def ls(self):
        r = run('ls', '-lR', self.archive)
        have = sizes(r.stdout)
        wrong = [x for x, *known in zip(have, *self.lists) if x not in known]
        whole = len(have) == len(self.lists[0]) and not wrong
        return ended(r) or ('' if whole else f'{len(have)} lines, {wrong[:5]}'), None

    def verify(self):
        return ended(run('verify', self.archive)), None

    def info(self):
        return ended(run('info', self.archive)), None

    def mounted(self, point):
        """Now and then without the kernel's copy. Who reads while the file changes may get some of both."""
        fd = os.open(os.path.join(point, YAML), os.O_RDONLY)
        if time.monotonic_ns() & 1 << 20:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        with open(fd, 'rb') as f:
            before = os.fstat(fd)
            text = f.read()
            after = os.fstat(fd)
        same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        return self.text(text) if same else ('', None)


def whole(t):
    archive = copy(t)
    first = run('cat', archive, YAML).stdout.decode()
    versions = [text_of(first, v) for v in VALUES]
    t.ok(versions[0].count('colour: [7, 7, 7, 7]') == 3, f'{YAML} has three materials', versions[0])
    known = Known(t, archive, versions)
    changed = [p for p, v in known.trees[0].items() if known.trees[1].get(p) != v]
    t.ok(YAML in changed and PMO + '/raw/whole.pmo' in changed and len(known.trees[0]) == len(known.trees[1]),
         'the versions differ in that text and in the bytes', changed)
    took = []
    with Mount(t, archive) as m, Mount(t, archive, 'ro') as ro:
        end = time.monotonic() + SECONDS
        lookers = Lookers(end, ('cat', known.cat), ('extract', known.extract), ('ls', known.ls),
                          ('verify', known.verify), ('info', known.info),
                          ('a read-only mount', known.mounted, ro.point))
        while time.monotonic() < end or not len(took) % 2:
            began = time.monotonic()
            save(m.point, versions[len(took) % 2])
            took.append(time.monotonic() - began)
            time.sleep(PAUSE)
        lookers.report(t, ('cat', 'extract', 'a read-only mount'))
        last = versions[(len(took) - 1) % 2].encode()
        t.same(read(m.point, YAML), last, 'the last version is there')
        t.ok(lib.wait_for(lambda: read(ro.point, YAML) == last, 5), 'and comes to the read-only mount')
        t.same(run('cat', archive, YAML).stdout, last, 'and to cat')
    t.ok(len(took) > 20 / lib.SLOW and max(took) < LONGEST, f'{len(took)} saves, none took long', (len(took), max(took)))
    t.same(run('log', archive).stdout.split(b'\n')[-2].split()[0], b'%d' % (len(took) + len(versions)),
           'each save is a commit')


def large(t):
    """A file that is read in pieces is read again when somebody saves in between."""
    archive = t.file('DATA.BIN', lib.plain_archive([read(t.tree, t.kit, 'raw', 'whole.pac'), bytes([7]) * LARGE]))
    name = '00001.bin'

    def uniform(r, b):
        values = sorted(set(b))
        return ended(r) or ('' if len(b) == LARGE and len(values) == 1 else f'{len(b)} bytes, {values}'), values[0]

    def cat():
        r = run('cat', archive, name)
        return uniform(r, r.stdout)

    def extract():
        to = os.path.join(t.dir('large'), 'x')
        r = run('extract', archive, name, to)
        b = read(to, name)
        shutil.rmtree(os.path.dirname(to))
        return uniform(r, b)

    n = 0
    with Mount(t, archive) as m:
        end = time.monotonic() + SECONDS / 2
        lookers = Lookers(end, ('cat of a large file', cat), ('extract of a large file', extract))
        while time.monotonic() < end:
            n += 1
            with open(os.path.join(m.point, name), 'r+b') as f:
                f.write(bytes([VALUES[n % 2]]) * LARGE)
            time.sleep(PAUSE * 5)
        lookers.report(t, ('cat of a large file', 'extract of a large file'))
    t.ok(n > (1 if lib.SLOW == 1 else 0), f'it was saved {n} times')


def refused(t):
    archive = copy(t)
    text = text_of(run('cat', archive, YAML).stdout.decode(), VALUES[0])
    with Mount(t, archive) as m:
        save(m.point, text)
        there = read(archive)
        says = re.escape(f'{archive}: is mounted writable at {m.point} by process {m.process.pid}')
        point = t.dir('second')
        for args, data in ((['mount', archive, point], None), (['undo', archive], None),
                           (['put', archive, YAML, '-'], text_of(text, VALUES[1]).encode())):
            r = run(*args, data=data)
            t.ok(r.returncode == 1 and re.fullmatch(f'modelfs: {args[0]}: {says}\n', r.stderr) and not r.stdout,
                 f'{args[0]} beside a writable mount is refused', (r.returncode, r.stderr))
        t.ok(point not in lib.mount_points(), 'nothing is mounted then')
        t.ok(read(archive) == there and read(m.point, YAML).decode() == text, 'and nothing has changed')
        r = run('log', archive)
        t.ok(r.returncode == 0 and r.stdout.startswith(b'1 ') and YAML.encode() in r.stdout, 'log may look', r.stderr)
        with Mount(t, archive, 'ro') as ro:
            t.same(read(ro.point, YAML).decode(), text, 'so may a second mount that is read-only')
            try:
                save(ro.point, text)
                t.ok(False, 'it takes no save')
            except OSError as e:
                t.same(os.strerror(e.errno), 'Read-only file system', 'it takes no save')
    other = text_of(text, VALUES[1]).encode()
    for args, data in ((['put', archive, YAML, '-'], other), (['undo', archive, '2'], None)):
        r = run(*args, data=data)
        t.ok(r.returncode == 0, f'afterwards {args[0]} works', (r.returncode, r.stderr))
    t.ok(read(archive) == read(t.demo), 'and all is as it was')


if __name__ == '__main__':
    lib.main(whole, large, refused, needs_fuse=True)
