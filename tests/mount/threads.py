"""Many readers at once, of a mount with little memory for what it decodes: all of them see what extract writes."""
import multiprocessing
import os
import random
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


if __name__ == '__main__':
    lib.main(first_look, demo, corpus, under_load, needs_fuse=True)
