"""A mount whose archive others change, replace, cut or remove; one that cannot be written; a disk that is full."""
import errno
import os
import pwd
import re
import shutil
import stat
import subprocess

import lib
from lib import PROGRAM, Mount, read, run
from mount import attempt, open_device

MATERIALS = '00012.pac/00.pmo/materials.yaml'
PLAIN = '00000.bin'
HEADER = '00005.pac/00.pmo/header.yaml'


def edited(tree):
    return re.sub(rb'colour: \[\d+', b'colour: [77', read(tree, MATERIALS))


def save(path, data):
    """errno of fsync, or 0."""
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, data)
        return attempt(os.fsync, fd)
    finally:
        attempt(os.close, fd)


def beside(archive):
    folder, name = os.path.split(archive)
    return sorted(n for n in os.listdir(folder) if n != name)


def replace(archive, data):
    with open(archive + '.new', 'wb') as f:
        f.write(data)
    os.rename(archive + '.new', archive)


def patched(archive, at, data):
    with open(archive, 'r+b') as f:
        f.seek(at)
        f.write(data)


# ---------------------------------------------------------------- changed by others

def interrupted(t, what, change, shows):
    """An edit that is pending while change(archive) happens. That must start no program: the end of a child that has
    the file open, too, is a flush. shows: the archive's bytes then."""
    archive = t.file('DATA.BIN', read(t.demo))
    text = edited(t.tree)
    m = Mount(t, archive)
    with m:
        lib.snapshot(m.point)                      # all is known before
        path = os.path.join(m.point, MATERIALS)
        with open(os.path.join(m.point, HEADER), 'rb') as old:
            fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
            os.write(fd, text)
            change(archive)
            t.same(attempt(os.fsync, fd), errno.ESTALE, f'{what}: fsync is ESTALE')
            t.same(attempt(os.close, fd), errno.ESTALE, f'{what}: close too')
            attempt(old.read)
        t.ok(read(archive) == shows, f'{what}: nothing was written')
        t.same(beside(archive), [], f'{what}: nothing lies beside it')
        want = lib.snapshot(t.extract(archive))
        have = {p: v for p, v in lib.snapshot(m.point).items() if not p.endswith(('.rejected', 'errors.txt'))}
        t.none(lib.differences(have, want), f'{what}: the next look shows what is there now')
        t.same(save(path, text), 0, f'{what}: the same save works then')
        t.same(read(path), run('cat', archive, MATERIALS).stdout, f'{what}: and is there')
        t.ok(read(path) != read(t.tree, MATERIALS), f'{what}: it is the new text')
    r = run('undo', archive)
    t.ok(not r.returncode and read(archive) == shows, f'{what}: undo goes back to what the other one wrote', r.stderr)
    t.ok('by another program' in m.log, f'{what}: the log says so', m.log[-300:])


def changed(t):
    demo = read(t.demo)
    # Bytes of the last entry, which are encrypted: what they mean does not matter.
    at = len(demo) - 1000
    interrupted(t, 'changed', lambda archive: patched(archive, at, b'other'), demo[:at] + b'other' + demo[at + 5:])
    newer = demo_changed(t)
    interrupted(t, 'replaced', lambda archive: replace(archive, newer), newer)


def demo_changed(t):
    """The demo archive with an edit in it."""
    archive, text = t.file('edited.bin', read(t.demo)), t.file('text', b'plain bytes')
    r = run('put', '-n', archive, PLAIN, text)
    if r.returncode:
        raise RuntimeError(r.stderr)
    return read(archive)


def another(t):
    """The tree after another archive took the name: what was open is gone, what is there is shown."""
    archive = t.file('DATA.BIN', read(t.demo))
    parts = [b'first' * 500, b'second' * 900, b'third']
    m = Mount(t, archive)
    with m:
        lib.snapshot(m.point)
        fd = os.open(os.path.join(m.point, MATERIALS), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, edited(t.tree))
        replace(archive, lib.plain_archive(parts))
        t.same(attempt(os.fsync, fd), errno.ESTALE, 'fsync')
        attempt(os.close, fd)
        have = {p: v for p, v in lib.snapshot(m.point).items() if not p.endswith(('.rejected', 'errors.txt'))}
        t.none(lib.differences(have, lib.snapshot(t.extract(archive))), 'the tree is that of the other archive')
        r = run('put', archive, '00000.bin', t.file('text', b'x'))
        t.ok(r.returncode == 1 and 'mounted' in r.stderr, 'the other archive is locked now', (r.returncode, r.stderr))
    t.same(m.code, 0, 'the mount ends well')


def no_edit(t):
    """What would change nothing in the old archive is not saved in the new one."""
    archive, newer = t.file('DATA.BIN', read(t.demo)), demo_changed(t)
    with Mount(t, archive) as m:
        path, old = os.path.join(m.point, PLAIN), read(t.tree, PLAIN)
        t.same(save(path, old), 0, 'the same text: nothing to do')
        replace(archive, newer)
        t.same(save(path, old), errno.ESTALE, 'the same text over another archive is ESTALE')
        t.same(read(path), b'plain bytes', 'which shows')
        t.same(save(path, old), 0, 'then it is saved')
    t.same(run('cat', archive, PLAIN).stdout, old, 'and is there')


def cut(t):
    """Truncated to less and less: reads give EIO or bytes, never a dead daemon."""
    archive = t.file('DATA.BIN', read(t.demo))
    size = os.path.getsize(archive)
    with Mount(t, archive) as m:
        paths = lib.files(m.point)
        fd = os.open(os.path.join(m.point, MATERIALS), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, edited(t.tree))
        for left in (size - 100, size // 2, 5000, 100, 0):
            os.truncate(archive, left)
            for p in paths:
                attempt(read, m.point, p)
            t.ok(m.process.poll() is None, f'cut to {left} bytes: the daemon lives')
        t.same(attempt(os.fsync, fd), errno.ESTALE, 'cut: fsync is ESTALE')
        attempt(os.close, fd)
        t.same(os.path.getsize(archive), 0, 'cut: nothing was written')
        for p in paths:
            attempt(read, m.point, p)
        attempt(os.listdir, m.point)
        with open(archive, 'wb') as f:             # it comes back as it was
            f.write(read(t.demo))
        attempt(save, os.path.join(m.point, PLAIN), b'x')      # it need not be found
        attempt(os.listdir, m.point)
    with Mount(t, archive) as m:
        have, want = lib.snapshot(m.point), lib.snapshot(t.extract(archive))
        t.none(lib.differences(have, want), 'mounted again, all is there')


def removed(t):
    archive = t.file('DATA.BIN', read(t.demo))
    with Mount(t, archive) as m:
        fd = os.open(os.path.join(m.point, MATERIALS), os.O_WRONLY | os.O_TRUNC)
        os.write(fd, edited(t.tree))
        os.rename(archive, archive + '.away')
        t.same(attempt(os.fsync, fd), errno.ESTALE, 'removed: fsync is ESTALE')
        attempt(os.close, fd)
        t.ok(not os.path.exists(archive) and read(archive + '.away') == read(t.demo), 'removed: nothing was written')
        t.same(read(m.point, MATERIALS), read(t.tree, MATERIALS), 'removed: the old text shows')
        os.rename(archive + '.away', archive)
        t.same(save(os.path.join(m.point, MATERIALS), edited(t.tree)), 0, 'it is back, and the save works')
    t.same(run('cat', archive, MATERIALS).stdout.count(b'colour: [77'), 3, 'what was saved')


# ---------------------------------------------------------------- not to be written

def mounted_read_only(t, archive, what, *prefix):
    """By which words the log says so."""
    folder, was = os.path.dirname(archive), read(archive)
    point = t.dir('mount')
    os.chmod(point, 0o777)
    if prefix:
        nobody = pwd.getpwnam('nobody')
        os.chown(point, nobody.pw_uid, nobody.pw_gid)
    log = open(point + '.log', 'wb+')
    p = subprocess.Popen([*prefix, PROGRAM, 'mount', '-f', archive, point], stdin=subprocess.DEVNULL, stdout=log,
                         stderr=log)
    try:
        if not t.ok(lib.wait_for(lambda: point in lib.mount_points() or p.poll() is not None) and p.poll() is None,
                    f'{what}: mounted', read(point + '.log')[-300:]):
            return
        options = next(m[3] for m in lib.mounts() if m[0] == point).split(',')
        t.ok('ro' in options, f'{what}: read-only', options)
        code, text = lib.other(*prefix, 'cat', os.path.join(point, HEADER))
        t.same(text.encode(), read(t.tree, HEADER), f'{what}: can be read')
        code, text = lib.other(*prefix, 'sh', '-c', 'echo x > "$1"', 'sh', os.path.join(point, MATERIALS))
        t.ok(code and 'ead-only' in text, f'{what}: cannot be written', (code, text))
    finally:
        lib.force_unmount(point)
        p.wait(lib.LIMIT)
        log.close()
    said = read(point + '.log').decode(errors='replace')
    t.ok('mounted read-only: ' in said, f'{what}: the log says so', said[-300:])
    reason = said.split('mounted read-only: ')[-1].split('\n')[0]
    code, text = lib.other(*prefix, PROGRAM, 'put', archive, MATERIALS, '/dev/null')
    t.ok(code == 1 and reason in text, f'{what}: put gives the same reason', (code, text, reason))
    t.ok(read(archive) == was and os.listdir(folder) == [os.path.basename(archive)], f'{what}: nothing has changed')


def read_only(t):
    archive = t.file('DATA.BIN', read(t.demo))
    prefix = ()
    if not os.geteuid():
        lib.need('setpriv', 'fusermount3', 'mount')
        nobody = pwd.getpwnam('nobody')
        prefix = ('setpriv', f'--reuid={nobody.pw_uid}', f'--regid={nobody.pw_gid}', '--clear-groups')
        if not os.stat(shutil.which('fusermount3')).st_mode & stat.S_ISUID or \
                lib.other(*prefix, PROGRAM, '--version')[0]:
            raise lib.Skip('no other user can mount here')
        open_device(t)
    os.chmod(archive, 0o444)
    mounted_read_only(t, archive, 'a file that is read-only', *prefix)
    os.chmod(archive, 0o666)
    os.chmod(os.path.dirname(archive), 0o555)
    mounted_read_only(t, archive, 'a folder that is read-only', *prefix)
    os.chmod(os.path.dirname(archive), 0o755)


def small_disk(t, size):
    """A file system of that many bytes, only for root."""
    where = t.dir('disk')
    if os.geteuid() or lib.other('mount', '-t', 'tmpfs', '-o', f'size={size},mode=755', 'tmpfs', where)[0]:
        raise lib.Skip('no file system can be mounted')
    return where


def read_only_disk(t):
    where = small_disk(t, 1 << 20)
    archive = shutil.copy(t.demo, os.path.join(where, 'DATA.BIN'))
    lib.other('mount', '-o', 'remount,ro', where)
    mounted_read_only(t, archive, 'a file system that is read-only')
    lib.other('mount', '-o', 'remount,rw', where)
    with Mount(t, archive) as m:
        t.same(save(os.path.join(m.point, MATERIALS), edited(t.tree)), 0,
               'it can be written again, and then so can the mount')
    lib.other('umount', where)


# ---------------------------------------------------------------- full

def full(t):
    where = small_disk(t, 1 << 20)
    archive, filler = os.path.join(where, 'DATA.BIN'), os.path.join(where, 'filler')
    demo, text = read(t.demo), edited(t.tree)
    answers, bad = set(), []
    for room in range(0, 256 << 10, 8 << 10):
        shutil.copy(t.demo, archive)
        free = os.statvfs(where).f_bavail * os.statvfs(where).f_frsize
        m = Mount(t, archive)
        with m:
            with open(filler, 'wb') as f:
                f.write(bytes(free - room))
            path = os.path.join(m.point, MATERIALS)
            code = save(path, text)
            answers.add(code)
            if code == errno.ENOSPC:
                problems = lib.unless(read(archive) == demo, 'the archive has changed')
                problems += lib.unless(beside(archive) == ['filler'], f'beside it: {beside(archive)}')
                problems += lib.unless(read(path) == read(t.tree, MATERIALS), 'the old text does not show')
                problems += lib.unless(read(path + '.rejected') == text, 'the text is not kept')
                problems += lib.unless(b'full' in read(os.path.dirname(path), 'errors.txt'),
                                       'errors.txt does not say why')
            else:
                problems = lib.unless(code == 0, f'fsync: {errno.errorcode.get(code, code)}')
            os.unlink(filler)
            problems += lib.unless(save(path, text) == 0, 'with room the same save fails')
            problems += lib.unless(not os.path.exists(path + '.rejected'), 'the refused text is still there')
        problems += lib.unless(run('cat', archive, MATERIALS).stdout.count(b'colour: [77') == 3, 'it is not saved')
        r = run('undo', archive)
        problems += lib.unless(not r.returncode and read(archive) == demo, f'undo: {r.stderr}')
        for name in beside(archive):
            os.unlink(os.path.join(where, name))
        bad += [f'{room} bytes free: {x}' for x in problems]
    t.none(bad, 'saves on a disk with little room')
    t.same(answers, {0, errno.ENOSPC}, 'some had room, some had not')

    # A save that needs more than it has is refused before a rewrite has begun.
    parts = [b'small' * 100, bytes(300 << 10), b'end']
    with open(archive, 'wb') as f:
        f.write(lib.plain_archive(parts))
    before = read(archive)
    with open(filler, 'wb') as f:
        f.write(bytes(500 << 10))
    name = next(n for n in run('ls', archive).stdout.decode().split() if n.startswith('00000.'))
    r = run('put', '-g', archive, name, t.file('text', b'large' * 1000))
    t.ok(r.returncode and 'full' in r.stderr and read(archive) == before and beside(archive) == ['filler'],
         'no room to write the archive anew', (r.returncode, r.stderr, beside(archive)))
    os.unlink(filler)
    r = run('put', '-g', archive, name, t.file('text', b'large' * 1000))
    t.same(r.returncode, 0, 'with room it is written anew')
    r = run('undo', archive)
    t.ok(read(archive) == before, 'and taken back', r.stderr)
    lib.other('umount', where)


if __name__ == '__main__':
    lib.main(changed, another, no_edit, cut, removed, read_only_disk, full, read_only, needs_fuse=True)
