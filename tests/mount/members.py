"""Models of several files, by a program whose formats are those of quad.c: mounted in a folder and alone, copied,
renamed, changed by others, edited, and killed amid an edit.
"""
import ctypes
import errno
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

import lib
from lib import PROGRAM, SANITIZERS, SLOW, Mount, read, run
from calls import answer, check, table
from folder import put
from mount import attempt

KILLS = 8 if SANITIZERS else 25
MODELS = 2000 if SANITIZERS else 10000
ALL = 'abcd'


def quad(parts, stamp, which=ALL):
    """The files of a model, by the last letter of their extensions; see quad.c."""
    two = 'c' in which
    record = lambda i: struct.pack('<6I', 0x1000 + i, 4 + 16 * i, 16, 4 + 8 * i if two else 0, 8 if two else 0, 0)
    word = struct.pack('<I', stamp)
    files = {
        'a': b'QUAD' + struct.pack('<3I', parts, stamp, 0) + b''.join(map(record, range(parts))) +
             b''.join(b'a%07d' % i for i in range(parts)),
        'b': word + b''.join(b'b%015d' % i for i in range(parts)),
        'c': word + b''.join(b'c%07d' % i for i in range(parts)),
        'd': word,
    }
    return {k: v for k, v in files.items() if k in which}


def write(folder, base, files):
    for k, v in files.items():
        put(folder, f'{base}.qd{k}', data=v)


def names(base, files=ALL):
    return [f'{base}.qd{k}' for k in files]


def on_disc(folder, base):
    return {k: read(folder, f'{base}.qd{k}') for k in ALL if os.path.exists(os.path.join(folder, f'{base}.qd{k}'))}


def shown(model):
    """The same as raw/ of the model has it."""
    raw = os.path.join(model, 'raw')
    return {k: read(raw, f'whole.qd{k}') for k in ALL if os.path.exists(os.path.join(raw, f'whole.qd{k}'))}


def set_key(model, key, value):
    """Through header.yaml; the errno of the fsync, or 0."""
    path = os.path.join(model, 'header.yaml')
    text = re.sub(rb'^%s: .*$' % key.encode(), b'%s: %d' % (key.encode(), value), read(path), flags=re.M)
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, text)
        return attempt(os.fsync, fd) or 0
    finally:
        attempt(os.close, fd)


# ---------------------------------------------------------------- calls

CALLS = {}


def call(f):
    """The function of a line of docs/calls.md: its name is the id."""
    CALLS[f.__name__.replace('_', '-')] = f
    return f


class Folder(Mount):
    def __init__(self, t):
        self.folder = t.dir('folder')
        write(self.folder, 'm', quad(2, 7))
        write(self.folder, 'two', quad(2, 7, 'ab'))
        put(self.folder, 'x.qdd', data=b'mine')
        put(self.folder, 'file', data=b'text')
        super().__init__(t, self.folder)

    def at(self, *names):
        return os.path.join(self.point, *names)


def all_fail(code, *calls):
    """Each call gives that error; then it is raised."""
    have = [attempt(*c) for c in calls]
    check(have == [code] * len(calls), have)
    raise OSError(code, 'as it should')


@call
def stat_member(m):
    name = m.at('m.qdb')
    all_fail(errno.ENOENT, (os.stat, name), (open, name), (os.unlink, name), (os.rename, name, m.at('y')))


@call
def stat_written(m):
    put(m.point, 'two.qdc', data=quad(2, 7)['c'])
    os.utime(m.at('two.qdc'), (1e9, 1e9))
    os.chmod(m.at('two.qdc'), 0o640)
    st = os.stat(os.path.join(m.folder, 'two.qdc'))
    check((st.st_mtime, st.st_mode & 0o777) == (1e9, 0o640), st)
    check('two.qdc' not in os.listdir(m.point), 'is listed')
    time.sleep(2.2)
    check(attempt(os.stat, m.at('two.qdc')) == errno.ENOENT, 'is there still')


@call
def create_member(m):
    name = m.at('m.qdb')
    all_fail(errno.EPERM, (open, name, 'x'), (open, name, 'w'), (os.mkdir, name), (os.symlink, 'x', name),
             (os.link, m.at('file'), name))


@call
def create_missing(m):
    with open(m.at('two.qdd'), 'xb') as f:
        f.write(quad(2, 7)['d'])
        f.flush()
        check('whole.qdd' not in os.listdir(m.at('two.qda/raw')), 'is a member before it is written')
    check('whole.qdd' in os.listdir(m.at('two.qda/raw')), 'is none')


@call
def rename_to_member(m):
    os.rename(m.at('file'), m.at('m.qdc'))


@call
def rename_members(m):
    os.mkdir(m.at('deep'))
    os.rename(m.at('m.qda'), m.at('deep/n.qda'))
    check(on_disc(os.path.join(m.folder, 'deep'), 'n') == shown(m.at('deep/n.qda')) == quad(2, 7), 'are others')
    check(not on_disc(m.folder, 'm'), os.listdir(m.folder))


@call
def rename_plain(m):
    os.rename(m.at('m.qda'), m.at('m.old'))
    check({n for n in os.listdir(m.point) if n[0] == 'm'} == {'m.old', 'm.qdb', 'm.qdc', 'm.qdd'}, os.listdir(m.point))


@call
def rename_in_the_way(m):
    os.rename(m.at('m.qda'), m.at('x.qda'))


@call
def rename_model_onto(m):
    os.rename(m.at('m.qda'), m.at('two.qda'))


@call
def rename_swap(m):
    exchange(m.at('m.qda'), m.at('two.qda'))


def exchange(a, b):
    if lib.LIBC.renameat2(-100, os.fsencode(a), -100, os.fsencode(b), 2):
        raise OSError(ctypes.get_errno(), 'renameat2')


def calls(t):
    rows = table(lib.MEMBERS_PART)
    t.none([i for i, _ in rows if i not in CALLS] + [i for i in CALLS if i not in dict(rows)],
           'docs/calls.md and the calls here are the same')
    for i, want in rows:
        if i in CALLS:
            with Folder(t) as m:
                have = answer(m, CALLS[i])
            t.same(have, want, i)


# ---------------------------------------------------------------- names

def hidden(t):
    folder = t.dir('folder')
    files = quad(3, 7)
    write(folder, 'm', files)
    write(folder, 'n', quad(3, 7, 'ac'))               # what it needs is missing
    put(folder, 'other.txt', data=b'plain')
    with Mount(t, folder) as m:
        at = lambda *p: os.path.join(m.point, *p)
        t.same(sorted(os.listdir(m.point)), ['m.qda', 'n.qda', 'n.qdc', 'other.txt'], 'members are not listed')
        t.same(shown(at('m.qda')), files, 'raw/ has them whole')
        t.same(sorted(os.listdir(at('m.qda/raw'))), sorted([f'whole.qd{k}' for k in ALL] + ['header.bin', 'table.bin'] +
               [f'part-{i}' for i in range(3)]), 'beside sections and folders of pieces')
        t.same([os.listdir(at('m.qda/raw/part-2')), read(at('m.qda/raw/part-2/b.bin'))],
               [['a.bin', 'b.bin', 'c.bin'], b'b%015d' % 2], 'which lie in members')
        t.same(read(at('n.qda')), quad(3, 7, 'ac')['a'], 'a model without one is a plain file')
        t.same([attempt(os.rmdir, at('m.qda')), attempt(os.unlink, at('m.qda'))], [errno.EPERM, errno.EISDIR],
               'the model cannot be removed')
        t.same(on_disc(folder, 'm'), files, 'all are what they were')
    info = run('info', folder)
    t.ok(b'# refused: n.qda: there is no .qdb of the same name beside it' in info.stdout and info.returncode == 1,
         'info says why', info.stdout)
    count = b'- kind: quad\n  count: 1\n  bytes: %d\n' % sum(map(len, files.values()))
    t.ok(count in info.stdout and b'files: 3\n' in info.stdout, 'and counts models', info.stdout)
    t.same(run('cat', folder, 'm.qda/raw/whole.qdc').stdout, files['c'], 'cat')
    t.ok(b'm.qdb' not in run('ls', '-R', folder).stdout, 'ls')
    t.same(shown(os.path.join(t.extract(folder), 'm.qda')), files, 'extract')
    t.same(run('verify', folder).returncode, 0, 'verify')


def box(entries):
    """A container of (name, bytes); see quad.c."""
    table, data, at = b'', b'', 8 + 40 * len(entries)
    for name, b in entries:
        table += name.encode().ljust(32, b'\0') + struct.pack('<2I', at + len(data), len(b))
        data += b
    return b'BOXX' + struct.pack('<I', len(entries)) + table + data


def in_a_box(t):
    files = quad(3, 7)
    members = [('a/m.qd' + k, v) for k, v in files.items()]
    half = [('a/half.qda', files['a']), ('a/half.qdc', files['c'])]
    path = t.file('models.box', box(members + half))
    with Mount(t, path) as m:
        at = lambda *p: os.path.join(m.point, *p)
        t.same(sorted(os.listdir(at('a'))), ['half.qda', 'half.qdc', 'm.qda'], 'members of a container are not listed')
        t.same([shown(at('a/m.qda')), attempt(os.stat, at('a/m.qdb')), attempt(open, at('a/m.qdb'), 'x')],
               [files, errno.ENOENT, errno.EPERM], 'nor found, nor made')
        t.same(set_key(at('a/m.qda'), 'stamp', 9), 0, 'they are edited')
        t.same(read(path), box([('a/m.qd' + k, v) for k, v in quad(3, 9).items()] + half), 'where they lie')
    info = run('info', path)
    t.ok(b'# plain: a/half.qda: there is no .qdb of the same name beside it' in info.stdout, 'info says what is not',
         info.stdout)
    t.same(shown(os.path.join(t.extract(path), 'a/m.qda')), quad(3, 9), 'extract')
    t.same(run('verify', path).returncode, 0, 'verify')


def renamed(t):
    folder = t.dir('folder')
    files = quad(3, 7)
    write(folder, 'm', files)
    os.mkdir(os.path.join(folder, 'deep'))
    put(folder, 'in-the-way.qdd', data=b'mine')
    with Mount(t, folder) as m:
        at = lambda *p: os.path.join(m.point, *p)
        f = open(at('m.qda/raw/whole.qdb'), 'rb')
        os.rename(at('m.qda'), at('deep/n.qda'))
        t.same(on_disc(os.path.join(folder, 'deep'), 'n'), files, 'all files are renamed')
        t.same(sorted(os.listdir(folder)), ['.modelfs-lock', 'deep', 'in-the-way.qdd'], 'and none is left')
        t.same((shown(at('deep/n.qda')), f.read()), (files, files['b']), 'it is shown there, and open files go on')
        f.close()
        t.same(attempt(os.rename, at('deep/n.qda'), at('in-the-way.qda')), errno.EEXIST, 'what would be replaced stays')
        t.same(read(folder, 'in-the-way.qdd'), b'mine', 'with its bytes')
        os.rename(at('deep'), at('deeper'))
        t.same(shown(at('deeper/n.qda')), files, 'its folder is renamed')
        os.rename(at('deeper/n.qda'), at('deeper/n.old'))
        t.same((sorted(os.listdir(at('deeper'))), read(at('deeper/n.qdb'))),
               (['n.old', 'n.qdb', 'n.qdc', 'n.qdd'], files['b']), 'by another extension it is no model')
        os.rename(at('deeper/n.old'), at('deeper/n.qda'))
        t.same(shown(at('deeper/n.qda')), files, 'and then one again')


def copied(t):
    """Models come whole, whatever order their files come in, and by whatever program."""
    source = t.dir('source')
    files = quad(3, 7)
    write(source, 'm', files)
    ways = [lambda n, to: shutil.copy2(os.path.join(source, n), to)]
    if shutil.which('rsync'):
        ways.append(lambda n, to: lib.other('rsync', '-a', os.path.join(source, n), to))
    ways.append(lambda n, to: lib.other('cp', '-p', os.path.join(source, n), to))
    rng = random.Random(1)
    folder = t.dir('folder')
    with Mount(t, folder) as m:
        for i, way in enumerate(ways * 3):
            where = os.path.join(m.point, str(i))
            os.mkdir(where)
            order = names('m')
            rng.shuffle(order)
            for name in order:
                way(name, where)
            t.same((os.listdir(where), shown(os.path.join(where, 'm.qda'))), (['m.qda'], files),
                   'copied in the order ' + ' '.join(n[-1] for n in order))
            t.same(on_disc(os.path.join(folder, str(i)), 'm'), files, 'and nothing is lost')


def replaced_by_others(t):
    folder = t.dir('folder')
    first, second = quad(3, 7), quad(5, 9)
    write(folder, 'm', first)
    with Mount(t, folder) as m:
        model = os.path.join(m.point, 'm.qda')
        t.same(shown(model), first, 'one version')
        for files in (second, first, second):
            for k, v in files.items():
                put(folder, 'new', data=v)
                os.rename(os.path.join(folder, 'new'), os.path.join(folder, f'm.qd{k}'))
            t.same((shown(model), len(os.listdir(os.path.join(model, 'raw')))),
                   (files, 6 + (5 if files is second else 3)), 'another')
        os.unlink(os.path.join(folder, 'm.qdb'))
        t.same(sorted(os.listdir(m.point)), names('m', 'acd'), 'one goes: all are plain files')
        put(m.point, 'm.qdb', data=second['b'])        # through the mount
        t.same((os.listdir(m.point), shown(model)), (['m.qda'], second), 'and comes back')
        for k in ALL:
            os.unlink(os.path.join(folder, f'm.qd{k}'))
        t.same(os.listdir(m.point), [], 'all are gone')


def many(t):
    folder = t.dir('folder')
    files = quad(1, 1)
    for i in range(MODELS):
        for k, v in files.items():
            with open(os.path.join(folder, f'm{i:05}.qd{k}'), 'wb') as f:
                f.write(v)
    with Mount(t, folder) as m:
        began = time.monotonic()
        listed = lib.entries(m.point)
        took = time.monotonic() - began
        t.same(len(listed), MODELS, 'as many models are listed')
        t.none([n for n, k, _, _ in listed if k != lib.DT_DIR or not n.endswith('.qda')], 'and nothing else')
        t.ok(took < 10 * SLOW, f'in one pass: {took:.1f} s', took)
        rest = {n for n, *_ in lib.entries(m.point, seek=listed[MODELS // 2][3])}
        t.same(rest, {n for n, *_ in listed[MODELS // 2 + 1:]}, 'a listing goes on where it was')


# ---------------------------------------------------------------- edits

def edits(t):
    for alone in (False, True):
        folder = t.dir('folder')
        was, now = quad(3, 7), quad(3, 1 << 24 | 9)
        write(folder, 'm', was)
        source = os.path.join(folder, 'm.qda') if alone else folder
        what = 'alone: ' if alone else 'in a folder: '
        with Mount(t, source) as m:
            model = m.point if alone else os.path.join(m.point, 'm.qda')
            for name in lib.files(model):
                if os.stat(os.path.join(model, name)).st_mode & 0o200:
                    put(model, name, data=read(model, name))
            t.same(on_disc(folder, 'm'), was, what + 'files saved unchanged change nothing')
            t.ok(not any('undo' in n for n in os.listdir(folder)), what + 'and are no commits')
            h = open(os.path.join(model, 'raw/whole.qdc'), 'rb', buffering=0)
            h.read()
            t.same(set_key(model, 'stamp', 1 << 24 | 9), 0, what + 'one text changes four files')
            t.same((on_disc(folder, 'm'), shown(model)), (now, now), what + 'all of them')
            t.same(os.pread(h.fileno(), 1 << 16, 0), now['c'], what + 'and what is open shows that')
            h.close()
            t.same(set_key(model, 'b_size', 100), errno.ENOSPC, what + 'none grows without -o grow')
            t.same(set_key(model, 'b_size', 20), errno.EINVAL, what + 'nor loses what others need')
            t.ok(b'part 1 lies outside its file' in read(model, 'errors.txt'), what + 'which is said')
            put(model, 'raw/part-1/c.bin', data=b'CCCCCCCC')
            now['c'] = now['c'][:12] + b'CCCCCCCC' + now['c'][20:]
            t.same((on_disc(folder, 'm'), shown(model)), (now, now), what + 'a piece of a member')
            before = {k: os.stat(os.path.join(folder, f'm.qd{k}')).st_mtime_ns for k in 'abd'}
            put(model, 'raw/whole.qdc', data=was['c'][:4].replace(was['c'][:4], now['c'][:4]) + was['c'][4:])
            now['c'] = now['c'][:4] + was['c'][4:]
            t.same((on_disc(folder, 'm'), {k: os.stat(os.path.join(folder, f'm.qd{k}')).st_mtime_ns for k in 'abd'}),
                   (now, before), what + 'all of a member, and no other file')
        with Mount(t, source, 'grow') as m:
            model = m.point if alone else os.path.join(m.point, 'm.qda')
            t.same((set_key(model, 'b_size', 60), len(shown(model)['b'])), (0, 60), what + 'with it, one grows')
        log = run('log', source).stdout
        t.ok(b'\n4 commits ' in log and re.search(rb'^1  .* header.yaml |^1  .* m.qda/header.yaml ', log, re.M),
             what + 'each is one commit', log)
        r = run('undo', source, '4')
        t.same(on_disc(folder, 'm'), was, what + 'and is taken back')
        t.same(sorted(n for n in os.listdir(folder) if n.startswith('.') and n != '.modelfs-lock' or 'undo' in n), [],
               what + 'without a trace')
        put(folder, 'text', data=re.sub(rb'stamp: 7', b'stamp: 9', run('cat', source, 'header.yaml' if alone else
                                                                       'm.qda/header.yaml').stdout))
        r = run('put', source, 'header.yaml' if alone else 'm.qda/header.yaml', os.path.join(folder, 'text'))
        t.same((r.returncode, on_disc(folder, 'm')), (0, quad(3, 9)), what + 'put')
        t.same(run('verify', source).returncode, 0, what + 'verify')


def beside_a_writer(t):
    """Who only reads, in another process, sees all files of one save."""
    folder = t.dir('folder')
    write(folder, 'm', quad(3, 1))
    source = os.path.join(folder, 'm.qda')
    with Mount(t, source) as w, Mount(t, source, 'ro') as r:
        problems, last = [], [1]

        def reads():
            while last[0] < 40 and len(problems) < 5:
                text = read(r.point, 'header.yaml')
                if not re.search(rb'^stamp: \d+', text, re.M):
                    problems.append(text)
        reader = threading.Thread(target=reads)
        reader.start()
        for stamp in range(2, 41):
            if set_key(w.point, 'stamp', stamp):
                problems.append(f'{stamp} was not saved')
            if shown(r.point) != quad(3, stamp):
                problems.append(f'{stamp} is not what the other mount shows')
            last[0] = stamp
        reader.join()
        t.none(problems, '39 saves beside a reader')
    second = run('put', source, 'header.yaml', os.path.join(folder, 'm.qdd'))
    t.ok(second.returncode == 1, 'afterwards it is free again', second.stderr)


def saved(stamp):
    """What the save of a stamp leaves: a member that grows and shrinks, too."""
    files = quad(3, stamp)
    files['b'] += bytes(stamp % 5 * 4)
    return files


def save(model, stamp):
    fd = os.open(os.path.join(model, 'header.yaml'), os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, b'stamp: %d\nb_size: %d\n' % (stamp, len(saved(stamp)['b'])))
        os.fsync(fd)
    finally:
        attempt(os.close, fd)


def save_until_dead(model, stamp):
    """The stamp of the last save that was reported."""
    try:
        while True:
            save(model, stamp + 1)
            stamp += 1
    except OSError:
        return stamp


def kills(t):
    """The four files are those of one save, the last that was reported or the next, whenever the daemon is killed."""
    for alone in (False, True):
        folder = t.dir('folder')
        write(folder, 'm', saved(1))
        source = os.path.join(folder, 'm.qda') if alone else folder
        rng, bad, stamp, first = random.Random(5), [], 1, 1
        for i in range(KILLS):
            point = t.dir('mount')
            model = point if alone else os.path.join(point, 'm.qda')
            daemon = subprocess.Popen([PROGRAM, 'mount', '-f', '-o', 'noundo,grow', source, point],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            lib.wait_for(lambda: point in lib.mount_points() or daemon.poll() is not None)
            killer = threading.Timer(rng.uniform(0.005, 0.1) * SLOW, daemon.send_signal, (signal.SIGKILL,))
            killer.start()
            stamp = save_until_dead(model, stamp)
            killer.join()
            daemon.wait()
            lib.force_unmount(point)
            whole = ('' if alone else 'm.qda/') + 'raw/whole.qd'
            through = {k: run('cat', source, whole + k).stdout for k in ALL}
            with Mount(t, source, 'noundo'):           # finishes what was begun
                now = on_disc(folder, 'm')
            allowed = [saved(stamp), saved(stamp + 1)]
            if now not in allowed:
                bad.append(f'kill {i}: neither {stamp} nor {stamp + 1}: {[v[:12] for v in now.values()]}')
                break
            if through != now:
                bad.append(f'kill {i}: a reader saw something else before')
            stamp += now == allowed[1]
        what = 'alone' if alone else 'in a folder'
        t.none(bad, f'{what}: {KILLS} kills amid saves of four files')
        t.ok(stamp - first > KILLS // 2, f'{what}: {stamp - first} saves', stamp - first)


if __name__ == '__main__':
    lib.main(calls, hidden, in_a_box, renamed, copied, replaced_by_others, many, edits, beside_a_writer, kills,
             needs_fuse=True)
