"""Many readers at once, of a mount with little memory for what it decodes: all of them see what extract writes; and
beside writers, what was written."""
import errno
import functools
import multiprocessing
import os
import random
import re
import sys
import threading
import time

import lib
from lib import CORPUS, SLOW, Mount, read

READERS = 8                                        # half of them processes, half of them threads
SECONDS = 10
SEED = 7
CACHE = 1                                          # MiB


def reader(root, want, seed, until, shared, problems):
    """Walks, stats and reads in an order of its own until time is up; shared[0] counts."""
    rng = random.Random(seed)
    paths, done = sorted(want), 0
    files = [p for p in paths if want[p] is not None]
    folders = [''] + [p for p in paths if want[p] is None]
    kids = {}
    for p in paths:
        kids.setdefault(os.path.dirname(p), set()).add(os.path.basename(p))
    while time.monotonic() < until and len(problems) < 20:
        try:
            what = rng.random()
            if what < 0.1:
                at = rng.choice(folders)
                names = {e[0] for e in lib.entries(os.path.join(root, at))}
                if names != kids.get(at, set()):
                    problems.append(f'{at}: lists {sorted(names)[:10]}')
            elif what < 0.2:
                for p in rng.sample(paths, min(50, len(paths))):
                    st = os.lstat(os.path.join(root, p))
                    if want[p] is not None and st.st_size != want[p][0]:
                        problems.append(f'{p}: size {st.st_size}, expected {want[p][0]}')
            else:
                problems += [x for x in [read_one(root, rng.choice(files), want, rng)] if x]
        except OSError as e:
            problems.append(repr(e))
        done += 1
    shared.append(done)


def read_one(root, path, want, rng):
    """Without the kernel's copy, so that the daemon is asked; sometimes in pieces."""
    fd = os.open(os.path.join(root, path), os.O_RDONLY)
    try:
        if rng.random() < 0.7:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        if rng.random() < 0.5:
            step = rng.choice((1000, 4096, 30000))
            pieces = list(range(0, want[path][0] + step, step))
            rng.shuffle(pieces)
            got = b''.join(b for _, b in sorted((at, os.pread(fd, step, at)) for at in pieces))
        else:
            got = read(f'/proc/self/fd/{fd}') if rng.random() < 0.1 else os.read(fd, want[path][0] + 1)
            while len(got) < want[path][0] and (more := os.read(fd, 1 << 20)):
                got += more
    finally:
        os.close(fd)
    return None if lib.digest(got) == want[path] else f'{path}: {len(got)} bytes, other than extract\'s {want[path][0]}'


def process(root, want, seed, until, queue):
    done, problems = [], []
    reader(root, want, seed, until, done, problems)
    queue.put((done[0], problems))


def hammer(t, name, archive):
    want = lib.snapshot(t.extract(archive))
    fork = multiprocessing.get_context('fork')
    m = Mount(t, archive, f'cache={CACHE}', 'stats')
    with m:
        until, queue, done, problems = time.monotonic() + SECONDS / 2, fork.Queue(), [], []
        processes = [fork.Process(target=process, args=(m.point, want, SEED + i, until, queue))
                     for i in range(READERS // 2)]
        for p in processes:
            p.start()
        threads = [threading.Thread(target=reader, args=(m.point, want, SEED + 100 + i, until, done, problems))
                   for i in range(READERS // 2)]
        for x in threads:
            x.start()
        for _ in processes:
            n, bad = queue.get(timeout=60 * SLOW)
            done.append(n)
            problems += bad
        for x in threads + processes:
            x.join(60 * SLOW)
        alive = m.process.poll() is None
        problems += lib.differences(lib.snapshot(m.point), want)
    t.ok(alive and m.code == 0, f'{name}: the daemon lives', m.log[-300:])
    t.none(problems, f'{name}: {READERS} readers, {sum(done)} steps, {m.rendered()} texts made')
    t.ok(len(done) == READERS and min(done) > 0, f'{name}: each came to its turn', done)
    t.ok(not m.log.replace('modelfs: rendered', '').count('modelfs:'), f'{name}: nothing else in the log', m.log[-300:])


def first_look(t):
    """All ask for the same, not yet opened, model at the same moment: it is decoded once, and all get the same."""
    want = lib.snapshot(t.tree)
    path = f'{t.kit}/00.pmo/meshes/0.obj'
    bad, renders = [], []
    for _ in range(20):
        m = Mount(t, t.demo, 'stats')
        with m:
            gate = threading.Barrier(READERS)

            def look():
                gate.wait()
                try:
                    if lib.digest(read(m.point, path)) != want[path]:
                        bad.append('other bytes')
                except OSError as e:
                    bad.append(repr(e))
            threads = [threading.Thread(target=look) for _ in range(READERS)]
            for x in threads:
                x.start()
            for x in threads:
                x.join(60)
        renders.append(m.rendered())
    t.none(bad, f'{READERS} readers of one new file, 20 times')
    t.same(set(renders), {1}, 'it is made once')


def under_load(t):
    """Unmounting with readers at work: they get an error or the right bytes, and the daemon ends well."""
    want = lib.snapshot(t.tree)
    files = [p for p in want if want[p] is not None]
    m = Mount(t, t.demo)
    bad, stop, n = [], threading.Event(), [0]

    def look(seed):
        rng = random.Random(seed)
        while not stop.is_set():
            p = rng.choice(files)
            try:
                if lib.digest(read(m.point, p)) != want[p]:
                    bad.append(p)
                n[0] += 1
            except OSError:
                pass
    threads = [threading.Thread(target=look, args=(i,)) for i in range(4)]
    with m:
        for x in threads:
            x.start()
        lib.wait_for(lambda: n[0] > 50)
        lib.force_unmount(m.point)
        ended = lib.wait_for(lambda: m.process.poll() is not None)
        stop.set()
        for x in threads:
            x.join(60)
    t.none(bad, 'readers while it is unmounted')
    t.ok(ended and m.code == 0, 'the daemon ends', m.code)


def demo(t):
    hammer(t, 'demo', t.demo)


def corpus(t):
    if not os.path.exists(os.path.join(CORPUS, 'mkmhp.py')):
        return t.skip('no corpus beside the source')
    where = t.dir('corpus')
    code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), where, '--seed', '2', '--what', 'mhfu')
    if t.ok(code == 0, 'corpus', text[-300:]):
        hammer(t, 'mhfu', os.path.join(where, 'mhfu', 'DATA.BIN'))


# ---------------------------------------------------------------- with writers

WRITE_SECONDS = 60 if os.environ.get('MODELFS_LONG') == '1' else 30 if 'tsan' in lib.SANITIZERS else 15


class Work(threading.Thread):
    """Does one step after the other until time is up."""

    def __init__(self, name, step, until, problems):
        super().__init__(name=name, daemon=True)
        self.step, self.until, self.problems, self.done = step, until, problems, 0

    def run(self):
        while time.monotonic() < self.until and len(self.problems) < 20:
            try:
                self.problems += [f'{self.name}: {x}' for x in self.step() or []]
            except Exception as e:
                self.problems.append(f'{self.name}: {e!r}')
            self.done += 1


class Target:
    """A file that one thread saves; the texts are such as the file reads as once they are saved."""

    def __init__(self, root, path, texts):
        self.root, self.path, self.texts, self.last, self.turn = root, path, texts, None, 0

    def next(self):
        self.turn += 1
        return self.texts(self.turn) if callable(self.texts) else self.texts[self.turn % len(self.texts)]

    def save(self):
        text = self.next()
        with open(os.path.join(self.root, self.path), 'r+b' if self.turn % 3 == 0 else 'wb', buffering=0) as f:
            f.write(text)
            f.truncate()
            os.fsync(f.fileno())
            self.last = text

    def rename_over(self):
        text, temporary = self.next(), os.path.join(self.root, self.path + '.tmp~')
        with open(temporary, 'wb') as f:
            f.write(text)
        os.rename(temporary, os.path.join(self.root, self.path))
        self.last = text

    def rename_while_writing(self):
        """What is written through the temporary file goes to the view once that has its name."""
        text, temporary = self.next(), os.path.join(self.root, self.path + '.new~')
        with open(temporary, 'w+b', buffering=0) as f:
            os.pwrite(f.fileno(), text, 0)
            writer = threading.Thread(target=lambda: [os.pwrite(f.fileno(), text, 0) + len(os.pread(f.fileno(), 99, 0))
                                                      for _ in range(20)])
            writer.start()
            os.rename(temporary, os.path.join(self.root, self.path))
            self.last = text
            writer.join()
            os.fsync(f.fileno())


def saved_as(t, path, text):
    """How a text reads once it is saved."""
    archive = t.file('put.bin', read(t.demo))
    for args in (('put', archive, path, t.file('text', text)), ('cat', archive, path)):
        r = lib.run(*args)
        if r.returncode:
            raise RuntimeError(f'{args}: {r.stderr}')
    return r.stdout


def two_texts(t, path, old, new):
    text = read(t.tree, path)
    if text.replace(old, new) == text:
        raise RuntimeError(f'{path} has no {old!r}')
    return [text, saved_as(t, path, text.replace(old, new))]


def scratch_step(folder, rng):
    """Its own files in memory, made, changed, renamed, removed."""
    def step():
        a, b, data = os.path.join(folder, 'one~'), os.path.join(folder, 'two~'), rng.randbytes(rng.randrange(20000))
        with open(a, 'wb') as f:
            f.write(data)
        with open(a, 'r+b') as f:
            os.rename(a, b)
            f.seek(len(data))
            f.write(b'end')
        got = read(b)
        os.unlink(b)
        return lib.unless(got == data + b'end' and not os.path.exists(b),
                          f'scratch: {len(got)} of {len(data) + 3} bytes')
    return step


def refused_step(root, path, text):
    """A text that is refused, then one that is not."""
    bad, folder = text.replace(b'colour:', b'color:'), os.path.dirname(os.path.join(root, path))
    whole = os.path.join(root, path)

    def step():
        out = []
        try:
            with open(whole, 'wb', buffering=0) as f:
                f.write(bad)
                try:
                    os.fsync(f.fileno())
                    out.append('a wrong key is accepted')
                except OSError as e:
                    out += lib.unless(e.errno == errno.EINVAL, repr(e))
        except OSError:
            pass                                   # of close, which says it again
        out += lib.unless(read(whole + '.rejected') == bad, 'the refused text is not kept')
        out += lib.unless(b'color' in read(folder, 'errors.txt'), 'errors.txt does not say why')
        # A close returns before the file is released.
        out += lib.unless(lib.wait_for(lambda: read(whole) == text, 1), 'the old text does not show')
        with open(whole, 'wb') as f:
            f.write(text)
        return out + lib.unless(not os.path.exists(whole + '.rejected'), 'the refused text is still there')
    return step


def passing(path):
    """What may be gone by the time somebody looks: scratch files, and the gap behind a clip that grows and shrinks."""
    return path.endswith(('~', '.rejected', 'errors.txt')) or '00016.pac/03.anm/raw/gap-' in path


def read_step(root, rng, allowed, open_files):
    """Reads all views of a folder again and again, also through files that stay open."""
    folders = ('00008.pac', '00012.pac', '00016.pac', '00017.pmo', '00018.ahi', '')

    def step():
        out, at = [], rng.choice(folders)
        paths = lib.files(os.path.join(root, at)) if at else ['00000.bin']
        for p in rng.sample(paths, min(len(paths), 25)):
            path = os.path.join(at, p)
            if passing(path):
                continue
            f = open_files.get(path) or open(os.path.join(root, path), 'rb', buffering=0)
            f.seek(0)
            if rng.random() < 0.3:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            got = f.read()
            # While it is written it may be cut, or have the end of the longer text from before, as on any file system.
            got = got.rstrip(b'\0')
            if path in allowed and not any(v.startswith(got) or got.startswith(v) for v in allowed[path]):
                out.append(f'{path}: a text that nobody wrote: {got[:200]!r}')
            if rng.random() < 0.5 and len(open_files) < 30:
                open_files[path] = f
            else:
                open_files.pop(path, None)
                f.close()
        return out
    return step


def walk_step(root):
    def step():
        code, text = lib.other('ls', '-lR', root, limit=600)
        bad = [x for x in text.splitlines() if x.startswith('ls:') and not passing(re.sub(r": [A-Z].*|'", '', x[3:]))]
        return bad[:3] or lib.unless(len(text.splitlines()) > 150, f'ls -lR: {code}, {text[-200:]}')
    return step


def writers(t):
    """Threads that save different files of the same and of other models, beside threads that read all of them."""
    rng, problems = random.Random(SEED), []
    gap = '00018.ahi/raw/gap-0000044c.bin'
    clip = '00016.pac/03.anm/clips/000.yaml'
    materials = ('00012.pac/00.pmo/materials.yaml', '00016.pac/01.pmo/materials.yaml',
                 '00008.pac/00.pac/00.pmo/materials.yaml')
    key = b'    - [0, 60, 31, 31]\n'
    texts = {
        **{p: two_texts(t, p, b'[127, 127, 127, 0]', b'[1, 2, 3, 4]') for p in materials},
        clip: two_texts(t, clip, key, key + b'    - [9, 61, 0, 0]\n    - [8, 62, 0, 0]\n'),
        '00012.pac/01.tmh/0.png': [read(t.tree, '00012.pac/01.tmh/0.png')],
    }
    first = read(t.demo)
    archive = t.file('DATA.BIN', first)
    m = Mount(t, archive, f'cache={CACHE}')
    with m:
        root = m.point
        targets = {p: Target(root, p, v) for p, v in texts.items()}
        targets[gap] = Target(root, gap, lambda _, n=len(read(t.tree, gap)): rng.randbytes(n))
        targets['00000.bin'] = Target(root, '00000.bin', lambda _: rng.randbytes(rng.randint(1, 2048)))
        refused = '00017.pmo/materials.yaml'
        allowed = {**texts, refused: [read(t.tree, refused)]}
        allowed[refused].append(allowed[refused][0].replace(b'colour:', b'color:'))
        ways = {'00016': Target.rename_over, '00008': Target.rename_while_writing}
        steps = [('save ' + p, functools.partial(Target.save if p == clip else ways.get(p[:5], Target.save), x))
                 for p, x in targets.items()]
        allowed = {p: v for p, v in allowed.items() if len(v[0]) < 4096}       # one page, so no mixture of two texts
        kept = [{} for _ in range(3)]
        steps += [(f'read {i}', read_step(root, random.Random(i), allowed, kept[i])) for i in range(len(kept))]
        steps += [('scratch', scratch_step(os.path.join(root, '00012.pac/00.pmo'), random.Random(9))),
                  ('refused', refused_step(root, refused, allowed[refused][0])), ('ls -lR', walk_step(root))]
        until = time.monotonic() + WRITE_SECONDS
        work = [Work(name, step, until, problems) for name, step in steps]
        for w in work:
            w.start()
        end = until + 60 * SLOW
        for w in work:
            w.join(max(0.1, end - time.monotonic()))
        hang = [w.name for w in work if w.is_alive()]
        if not t.none(hang, 'nobody waits for ever'):
            m.process.kill()
            return
        for f in [f for x in kept for f in x.values()]:
            f.close()
        alive = m.process.poll() is None
        t.none(problems, f'{len(work)} threads, {sum(w.done for w in work)} steps')
        by_path = {p: read(root, p) for p in targets}
    t.ok(alive and m.code == 0, 'the daemon lives', m.log[-300:])
    t.none([f'{w.name}: {w.done}' for w in work if w.done < 3], 'each came to its turn')
    bad = []
    for p, x in targets.items():
        stored = lib.run('cat', archive, p).stdout
        bad += lib.unless(by_path[p] == stored == x.last, f'{p}: {len(x.last)} bytes saved, {len(by_path[p])} by path, '
                          f'{len(stored)} in the archive')
    t.none(bad, 'all that was saved is there')
    r = lib.run('verify', archive)
    t.ok(r.returncode == 0, 'verify', r.stderr[-300:])
    r = lib.run('undo', archive, '1000000')
    t.ok(r.returncode == 0 and read(archive) == first, 'undo brings back the first bytes', r.stderr[-300:])


if __name__ == '__main__':
    lib.main(first_look, demo, corpus, under_load, writers, needs_fuse=True)
