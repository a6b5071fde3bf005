"""A mounted folder that others change while it is looked at and written; edits of its models, and kills amid them.

Every look shows what is there then: nothing older, and no mixture.
"""
import errno
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import lib
from lib import CORPUS, PROGRAM, SANITIZERS, SLOW, Mount, read, run
from crash import other_picture
from mount import attempt
from folder import KIT, model, put

KILLS = 8 if SANITIZERS else 25
SECONDS = 6
READS, REPLACEMENTS = 50, 20                       # beside each other, more than so many


def kit(t):
    """A folder with a model and its companions; and the path of the model."""
    folder = t.dir('folder')
    for name in KIT:
        put(folder, 'body.' + name[3:], data=model(t, name))
    return folder


def another(t):
    """Another model of the same format."""
    return model(t, '00.pmo', '00012.pac')


def views(root):
    return {p: read(root, p) for p in lib.files(root)}


def replace(path, data):
    put(path + '.new', data=data)
    os.rename(path + '.new', path)


def recoloured(text, value, count=1):
    return re.sub(rb'colour: \[\d+', b'colour: [%d' % value, text, count=count)


# ---------------------------------------------------------------- what others do

def changed_by_others(t):
    folder = kit(t)
    own = os.path.join(folder, 'body.pmo')
    first, second, bank = model(t), another(t), model(t, '02.tmh')
    with Mount(t, folder) as m:
        at = lambda *p: os.path.join(m.point, *p)
        texts = {}
        for name, data in (('first', first), ('second', second)):
            replace(own, data)
            texts[name] = views(at('body.pmo'))
            t.same(texts[name]['raw/whole.pmo'], data, f'{name}: its bytes at the next look')
        t.ok(texts['first'] != texts['second'], 'they differ')
        for how, change in (('replaced', lambda d: replace(own, d)), ('written in place', lambda d: put(own, data=d))):
            for name, data in (('first', first), ('second', second), ('first', first)):
                change(data)
                t.same(views(at('body.pmo')), texts[name], f'{how}: {name}')
                t.same(os.stat(at('body.pmo')).st_mtime_ns, os.stat(own).st_mtime_ns, 'and its time')
        os.utime(own, (1e9, 1e9))
        t.same(os.stat(at('body.pmo/materials.yaml')).st_mtime, 1e9, 'an older time is shown too')
        with open(own, 'r+b') as f:                # one byte, in place
            f.seek(first.index(read(at('body.pmo/raw/materials.bin'))))
            f.write(b'\x4d')
        t.ok(read(at('body.pmo/materials.yaml')).startswith(recoloured(texts['first']['materials.yaml'], 77)[:40]),
             'one byte written in place')
        os.rename(own, own + '.away')
        t.ok('body.pmo' not in os.listdir(m.point) and os.path.isdir(at('body.pmo.away')), 'renamed')
        t.same(attempt(os.stat, at('body.pmo/materials.yaml')), errno.ENOENT, 'and its views with it')
        os.rename(own + '.away', own)
        t.ok(os.path.isfile(at('body.pmo/materials.yaml')), 'and back')
        put(own, data=b'text that is no model')
        t.same(read(at('body.pmo')), b'text that is no model', 'it is a plain file now')
        put(own, data=bank)
        t.ok(os.path.isfile(at('body.pmo/raw/whole.tmh')), 'and now another kind of model')
        put(own, data=first)
        t.same(views(at('body.pmo')), texts['first'], 'and what it was at first')
        os.mkdir(os.path.join(folder, 'away'))
        for name in os.listdir(folder):
            if name.startswith('body'):
                os.rename(os.path.join(folder, name), os.path.join(folder, 'away', name))
        t.same(views(at('away/body.pmo')), texts['first'], 'moved with all')
        os.rename(os.path.join(folder, 'away'), os.path.join(folder, 'elsewhere'))
        t.same(read(at('elsewhere/body.pmo/materials.yaml')), texts['first']['materials.yaml'], 'its folder is renamed')
        os.chmod(os.path.join(folder, 'elsewhere/body.pmo'), 0o400)
        t.same([oct(os.stat(at('elsewhere/body.pmo', p)).st_mode & 0o777) for p in ('', 'materials.yaml', 'raw')],
               ['0o500', '0o400', '0o500'], 'who may read it may read its views')
        shutil.rmtree(os.path.join(folder, 'elsewhere'))
        t.same(attempt(os.listdir, at('elsewhere/body.pmo')), errno.ENOENT, 'all is gone')


def companions(t):
    folder = kit(t)
    own = lambda ext: os.path.join(folder, 'body.' + ext)
    with Mount(t, folder) as m:
        at = lambda *p: os.path.join(m.point, *p)
        looks = lambda: ('textures' in os.listdir(at('body.pmo')), 'skeleton.yaml' in os.listdir(at('body.pmo')))
        t.same(looks(), (True, True), 'companions lie beside a model')
        picture = read(at('body.tmh/0.png'))
        t.same(read(at('body.pmo/textures/0.png')), picture, 'and are shown in it')
        h = open(at('body.pmo/textures/0.png'), 'rb')
        os.unlink(own('tmh'))
        t.same(looks(), (False, True), 'one goes')
        t.same(attempt(h.read), errno.ESTALE, 'what was open of it is gone')
        h.close()
        t.ok(b'map_Kd' not in read(at('body.pmo/meshes/0.mtl')), 'nor does the model name it')
        put(own('tmh'), data=model(t, '02.tmh'))
        t.same((looks(), read(at('body.pmo/textures/0.png'))), ((True, True), picture), 'and comes back')
        os.rename(own('ahi'), own('bak'))
        t.same(looks(), (True, False), 'another is renamed')
        os.rename(at('body.bak'), at('body.ahi'))
        t.same(looks(), (True, True), 'and gets its name back through the mount')
        replace(own('tmh'), model(t, '01.tmh', '00012.pac'))
        t.ok(read(at('body.pmo/textures/0.png')) == read(at('body.tmh/0.png')) != picture, 'one is replaced')
        put(own('tmh'), data=b'no bank any more')
        t.same(looks(), (False, True), 'one is damaged')
        shutil.copy(own('pmo'), os.path.join(folder, 'alone.pmo'))
        t.ok('textures' not in os.listdir(at('alone.pmo')), 'another name has none')


# ---------------------------------------------------------------- edits

def unchanged(t, folder, m):
    before = {n: read(folder, n) for n in os.listdir(folder) if not n.startswith('.')}
    for name in lib.files(os.path.join(m.point, 'body.pmo')):
        path = os.path.join(m.point, 'body.pmo', name)
        if os.stat(path).st_mode & 0o200:
            put(path, data=read(path))
    t.same({n: read(folder, n) for n in before}, before, 'files saved unchanged change nothing')
    t.ok(not os.path.exists(os.path.join(folder, '.modelfs-undo')), 'and are no commits')


def by_programs(t, folder, yaml):
    own = os.path.join(folder, 'body.pmo')
    old = re.search(rb'colour: \[(\d+)', read(yaml)).group(1).decode()
    for command in (['sed', '-i', f'0,/colour: \\[{old}/s//colour: [81/', yaml],
                    ['vim', '-es', '-c', '%s/colour: \\[81/colour: [82/', '-c', 'wq', yaml]):
        if not shutil.which(command[0]):
            t.skip(command[0] + ' is not installed')
            continue
        before = read(own)
        code, said = lib.other(*command)
        now = read(own)
        t.same((code, len(now), sum(a != b for a, b in zip(before, now))), (0, len(before), 1),
               command[0] + ' changes one byte')


def edits(t):
    folder = kit(t)
    own = os.path.join(folder, 'body.pmo')
    with Mount(t, folder) as m:
        at = lambda *p: os.path.join(m.point, *p)
        yaml = at('body.pmo/materials.yaml')
        unchanged(t, folder, m)
        by_programs(t, folder, yaml)
        before = read(own)
        picture = other_picture(read(at('body.pmo/textures/0.png')), random.Random(1))
        put(at('body.pmo/textures/0.png'), data=picture)
        t.ok(read(folder, 'body.tmh') != model(t, '02.tmh') and read(own) == before, 'a picture lies in the bank')
        t.same(read(at('body.pmo/textures/0.png')), read(at('body.tmh/0.png')), 'and is the same in both directories')
        fd = os.open(yaml, os.O_RDWR)
        mine = recoloured(os.pread(fd, 1 << 20, 0), 83)
        replace(own, model(t))
        os.pwrite(fd, mine, 0)
        t.same(attempt(os.fsync, fd), errno.ESTALE, 'over what others changed nothing is saved')
        attempt(os.close, fd)
        t.same(read(own), model(t), 'and nothing of theirs is lost')
        t.same(read(yaml + '.rejected'), mine, 'nor of the text')
        put(yaml, data=recoloured(read(yaml), 84))
        t.none([p for p in (yaml, at('body.pmo')) if abs(os.stat(p).st_mtime - os.stat(own).st_mtime) > 0.02],
               'with its time')
        t.ok(b'colour: [84' in read(yaml) and not os.path.exists(yaml + '.rejected'), 'the next save works')


def pair(t):
    """A model whose geometry is another file, from the corpus; (folder, bytes of both)."""
    if not os.path.exists(os.path.join(CORPUS, 'mkmhp.py')):
        raise lib.Skip('no corpus beside the source')
    where = t.dir('corpus')
    code, said = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), where, '--seed', '1', '--what', 'single')
    if code:
        raise lib.Skip('no corpus: ' + said[-200:])
    whole = read(where, 'single', 'model_102.pmo')
    size, cut = struct.unpack_from('<I', whole, 8)[0], struct.unpack_from('<I', whole, 0x34)[0]
    folder = t.dir('folder')
    put(folder, 'two.pmo', data=whole[:cut])
    put(folder, 'two.geo', data=whole[cut:size])
    return folder


def rescale(point, factor):
    """Through meshes/0.yaml: that changes the model and its geometry."""
    path = os.path.join(point, 'two.pmo/meshes/0.yaml')
    text = read(path)
    scale = [float(x) * factor for x in re.search(rb'^scale: \[(.*)\]', text, re.M).group(1).split(b',')[:3]]
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, text + f'rescale: {scale}\n'.encode())
        os.fsync(fd)
    finally:
        attempt(os.close, fd)


def both(folder):
    return read(folder, 'two.pmo'), read(folder, 'two.geo')


def edits_of_two_files(t):
    folder = pair(t)
    before = both(folder)
    with Mount(t, folder) as m:
        t.ok(read(m.point, 'two.pmo/meshes/0.obj').count(b'\nv ') > 2, 'a model in two files is shown')
        rescale(m.point, 2)
        after = both(folder)
        t.ok(before[0] != after[0] and before[1] != after[1], 'both change')
        os.unlink(os.path.join(folder, 'two.geo'))
        t.same(attempt(read, m.point, 'two.pmo/meshes/0.obj'), errno.EIO, 'one without its other file')
        t.ok(b'missing' in read(m.point, 'two.pmo/errors.txt'), 'says so')
        put(folder, 'two.geo', data=after[1])
        t.ok(read(m.point, 'two.pmo/meshes/0.obj') and not os.path.exists(os.path.join(m.point, 'two.pmo/errors.txt')),
             'and is whole again')
    log = run('log', folder).stdout
    t.ok(re.search(rb'^1  .* two.pmo/meshes/0.yaml ', log, re.M) and b'\n1 commit ' in log, 'as one commit', log)
    r = run('undo', folder)
    t.ok(both(folder) == before, 'both are taken back', r.stderr)


CYCLE = (2, 2, 0.25)                               # factors; after the first round the same three states come back


def save_until_dead(point, done):
    """How many saves were reported in the end."""
    try:
        while True:
            rescale(point, CYCLE[done % 3])
            done += 1
    except OSError:
        return done


def kills(t):
    """The two files are those of one save, the last that was reported or the next, whenever the daemon is killed."""
    folder = pair(t)
    with Mount(t, folder, 'noundo') as m:
        states = []
        rescale(m.point, 2)                        # else what is rounded up might not fit again
        for i in range(9):
            rescale(m.point, CYCLE[i % 3])
            states.append(both(folder))
    t.ok(states[6:] == states[3:6] and len(set(states[6:])) == 3, 'the same states come back')
    rng, bad, done, first = random.Random(3), [], 9, 9
    for i in range(KILLS):
        point = t.dir('mount')
        daemon = subprocess.Popen([PROGRAM, 'mount', '-f', '-o', 'noundo', folder, point], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lib.wait_for(lambda: point in lib.mount_points() or daemon.poll() is not None)
        killer = threading.Timer(rng.uniform(0.005, 0.1) * SLOW, daemon.send_signal, (signal.SIGKILL,))
        killer.start()
        done = save_until_dead(point, done)
        killer.join()
        daemon.wait()
        lib.force_unmount(point)
        through = tuple(run('cat', folder, n).stdout for n in ('two.pmo/raw/whole.pmo', 'two.geo'))
        with Mount(t, folder, 'noundo') as m:      # finishes what was begun
            now = both(folder)
        allowed = [states[6 + (done + k - 1) % 3] for k in (0, 1)]
        if now not in allowed:
            bad.append(f'kill {i}: the files are {states[6:].index(now) if now in states else "a mixture"}')
            break
        if through[0] != now[0]:
            bad.append(f'kill {i}: a reader saw something else before')
        done += now == allowed[1]
    t.none(bad, f'{KILLS} kills amid saves of two files')
    t.ok(done - first > KILLS // 2, f'{done - first} saves were reported', done - first)


# ---------------------------------------------------------------- at once

def at_once(t):
    """Readers and savers beside somebody who replaces the model: each read is all of one version."""
    folder = kit(t)
    own = os.path.join(folder, 'body.pmo')
    versions = []
    with Mount(t, folder) as m:
        for value in range(8):
            text = read(m.point, 'body.pmo/materials.yaml')
            put(m.point, 'body.pmo/materials.yaml', data=recoloured(text, 100 + value, 0))
            versions.append(read(own))
    whole, texts, problems, counts = set(versions), {}, [], [0, 0, 0]
    with Mount(t, folder) as m:
        for v in versions:
            replace(own, v)
            texts[read(m.point, 'body.pmo/materials.yaml')] = v
        start = time.monotonic()
        fine = (errno.ESTALE, errno.ENOENT)

        def going():
            """A while, and until there was something to see, which takes sanitizers longer."""
            seen = counts[0] > READS and counts[2] > REPLACEMENTS
            return time.monotonic() < start + (SECONDS if seen else 20 * SECONDS)

        def reads(seed):
            rng = random.Random(seed)
            while going() and len(problems) < 10:
                try:
                    if rng.random() < 0.5:
                        if read(m.point, 'body.pmo/raw/whole.pmo') not in whole:
                            problems.append('a mixture of bytes')
                    elif rng.random() < 0.5:
                        if read(m.point, 'body.pmo/materials.yaml') not in texts:
                            problems.append('a mixture of texts')
                    else:
                        lib.snapshot(os.path.join(m.point, 'body.pmo'))
                    counts[0] += 1
                except OSError as e:
                    counts[1] += 1
                    if e.errno not in fine:
                        problems.append(repr(e))

        def plain(seed):
            rng = random.Random(seed)
            path = os.path.join(m.point, f'plain{seed}')
            while going() and len(problems) < 10:
                data = rng.randbytes(rng.randrange(100000))
                put(path, data=data)
                if read(path) != data:
                    problems.append('other bytes of a plain file')
                os.rename(path, path + '.b')
                os.unlink(path + '.b')

        def saves():
            path = os.path.join(m.point, 'saved.pmo/materials.yaml')
            for i in range(1 << 30):
                if not going() or problems:
                    return
                text = recoloured(read(path), i % 256)
                put(path, data=text)
                if read(path) != text:
                    problems.append('a save does not show')

        def renames():
            names = [os.path.join(m.point, n) for n in ('moved.pmo', 'moved.away')]
            while going():
                os.rename(*names)
                if read(names[1], 'raw/whole.pmo') != versions[0]:
                    problems.append('other bytes of a renamed model')
                lib.entries(m.point)
                names.reverse()

        def change():
            rng = random.Random(9)
            while going():
                replace(own, rng.choice(versions))
                counts[2] += 1
                time.sleep(rng.random() * 0.01)

        put(folder, 'saved.pmo', data=versions[0])
        put(folder, 'moved.pmo', data=versions[0])
        threads = [threading.Thread(target=f, args=a) for f, a in [(reads, (i,)) for i in range(4)] + [
            (plain, (0,)), (plain, (1,)), (saves, ()), (renames, ()), (change, ())]]
        for x in threads:
            x.start()
        for x in threads:
            x.join()
        t.none(problems, f'{counts[0]} reads, {counts[1]} of what was just replaced, {counts[2]} replacements')
        t.ok(counts[0] > READS and counts[2] > REPLACEMENTS, 'there was something to see', counts)
        replace(own, versions[0])
        t.same(read(m.point, 'body.pmo/raw/whole.pmo'), versions[0], 'in the end it is what it is')


if __name__ == '__main__':
    lib.main(changed_by_others, companions, edits, edits_of_two_files, kills, at_once, needs_fuse=True)
