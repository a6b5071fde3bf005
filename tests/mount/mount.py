"""A mount: what stat, readdir and read say, that nothing can be written, options, damage while it is there, its end."""
import errno
import mmap
import os
import pwd
import re
import shutil
import signal
import stat
import struct
import subprocess
import time

import lib
from lib import LIMIT, PROGRAM, Mount, read, run, unless


def attempt(function, *args):
    """The errno a call fails with, 0 when it does not."""
    try:
        function(*args)
        return 0
    except OSError as e:
        return e.errno


def complains(r, point):
    """Whether umount says why not; for users, fusermount3 may have said something before."""
    *others, ours = r.stderr.splitlines() or ['']
    expected = not others or os.geteuid() and all(x.startswith('fusermount3: ') for x in others)
    return ours.startswith(f'modelfs: umount: {point}: ') and expected


def returns(t):
    """mount returns when the tree is readable; the daemon goes on and ends with umount."""
    point = t.dir('daemon')
    r = run('mount', t.demo, point)
    try:
        names = os.listdir(point)
        t.ok(r.returncode == 0 and not r.stderr and not r.stdout, 'mount', (r.returncode, r.stderr))
        t.same(sorted(names), sorted(os.listdir(t.tree)), 'the tree is there at once')
        t.same(lib.differences(lib.snapshot(point), lib.snapshot(t.tree)), [], 'it is what extract writes')
        kind, source = next((m[1], m[2]) for m in lib.mounts() if m[0] == point)
        t.same((kind, source), ('fuse.modelfs', t.demo), 'type and source in /proc/mounts')
        options = next(m[3] for m in lib.mounts() if m[0] == point).split(',')
        t.ok('rw' in options and 'default_permissions' in options, 'writable in /proc/mounts', options)
    finally:
        r = run('umount', point)
    t.ok(r.returncode == 0 and not r.stderr and point not in lib.mount_points(), 'umount', (r.returncode, r.stderr))
    r = run('umount', point)
    t.ok(r.returncode == 1 and complains(r, point), 'umount of what is not mounted', (r.returncode, r.stderr))
    r = run('umount', os.path.join(t.folder, 'missing'))
    t.ok(r.returncode == 1 and r.stderr.startswith('modelfs: umount: '), 'umount of what is not there',
         (r.returncode, r.stderr))


def busy(t):
    m = Mount(t, t.demo)
    with m:
        with open(os.path.join(m.point, '00005.pac', '00.pmo', 'header.yaml')) as f:
            r = run('umount', m.point)
            t.ok(r.returncode == 1 and 'busy' in r.stderr and complains(r, m.point), 'umount while a file is open',
                 (r.returncode, r.stderr))
            t.ok(f.readline().startswith('# modelfs pmo'), 'the file can still be read')
    t.same(m.code, 0, 'a mount in front ends with 0')
    m = Mount(t, t.demo)
    with m:
        os.listdir(m.point)
        m.process.send_signal(signal.SIGTERM)
        t.ok(lib.wait_for(lambda: m.process.poll() is not None and m.point not in lib.mount_points()),
             'SIGTERM unmounts')


def sizes(t):
    """st_size before any read is what read gives; all other fields make sense."""
    os.utime(t.demo, ns=(10 ** 18, 1234567890_123456789))
    want = lib.snapshot(t.tree)
    archive = os.stat(t.demo)
    with Mount(t, t.demo) as m:
        bad, odd = [], []
        for p in want:
            path = os.path.join(m.point, p)
            st = os.lstat(path)
            if want[p] is None:
                odd += unless(stat.S_ISDIR(st.st_mode) and st.st_mode & 0o777 == 0o755 and st.st_nlink >= 2,
                              f'{p}: {st}')
            else:
                mode = 0o444 if p.endswith(('.mtl', 'preview.png')) else 0o644
                odd += unless(stat.S_ISREG(st.st_mode) and st.st_mode & 0o777 == mode and st.st_nlink == 1,
                              f'{p}: {st}')
                odd += unless(st.st_size <= st.st_blocks * 512 < st.st_size + 4096,
                              f'{p}: {st.st_blocks} blocks, {st.st_size} bytes')
                got = read(path)
                bad += unless(st.st_size == len(got) == want[p][0],
                              f'{p}: size {st.st_size}, {len(got)} bytes read, {want[p][0]} extracted')
            odd += unless((st.st_uid, st.st_gid) == (os.getuid(), os.getgid()), f'{p}: owner {st.st_uid}, {st.st_gid}')
            odd += unless(st.st_mtime_ns == archive.st_mtime_ns,
                          f'{p}: time {st.st_mtime_ns}, expected {archive.st_mtime_ns}')
        t.none(bad, f'the size of {len(want)} nodes before the first read')
        t.none(odd, 'mode, owner, links, blocks and time')
        st = os.stat(m.point)
        t.ok(stat.S_ISDIR(st.st_mode) and st.st_uid == os.getuid() and st.st_mtime_ns == archive.st_mtime_ns,
             'the root', st)
        have, disk = os.statvfs(m.point), os.statvfs(t.demo)
        t.ok(have.f_blocks * have.f_frsize == disk.f_blocks * disk.f_frsize and have.f_bsize == disk.f_bsize
             and have.f_files == disk.f_files and have.f_namemax == 255, 'statfs is that of the archive\'s file system',
             (have, disk))
        t.ok(not have.f_flag & os.ST_RDONLY, 'statfs says writable')
    with Mount(t, t.demo, 'ro') as m:
        t.ok(os.statvfs(m.point).f_flag & os.ST_RDONLY, 'statfs says read-only with -o ro')
        t.none([p for p in lib.files(m.point) if os.lstat(os.path.join(m.point, p)).st_mode & 0o777 != 0o444],
               'and no file can be written')
    old = t.file('old.bin', read(t.demo))
    os.utime(old, (0, 0))
    with Mount(t, old) as m:
        some = ('', '00000.bin', '00005.pac', '00005.pac/00.pmo/meshes/0.obj')
        times = {os.stat(os.path.join(m.point, p)).st_mtime for p in some
                 if os.path.lexists(os.path.join(m.point, p))}
        t.same(times, {315532800.0}, 'never before 1980')


def survey(root):
    """[(path, type, inode of readdir, st_ino, size, time, mode)] in readdir's order."""
    out = []

    def visit(at):
        for name, kind, ino, _ in lib.entries(os.path.join(root, at)):
            path = os.path.join(at, name)
            st = os.lstat(os.path.join(root, path))
            out.append((path, kind, ino, st.st_ino, st.st_size, st.st_mtime_ns, st.st_mode))
            if kind == lib.DT_DIR:
                visit(path)
    visit('')
    return out


def walks(t):
    with Mount(t, t.demo) as m:
        first = survey(m.point)
        second = survey(m.point)
    with Mount(t, t.demo) as m:
        whole = lib.snapshot(m.point)              # this time all is read before it is looked at
        third = survey(m.point)
    t.none([f'{a} {b}' for a, b in zip(first, second) if a != b], 'two walks: names, order, sizes, inode numbers')
    t.none([f'{a} {b}' for a, b in zip(first, third) if a != b], 'a walk after a remount')
    t.ok(len(first) == len(second) == len(third) == len(whole) > 150, 'as many nodes',
         (len(first), len(second), len(third)))
    t.none([x for x in first if x[2] != x[3]], 'readdir\'s inode is st_ino')
    t.none([x for x in first if x[1] != (lib.DT_DIR if stat.S_ISDIR(x[6]) else lib.DT_REG)],
           'readdir\'s type is the file\'s')
    numbers = [x[3] for x in first]
    t.ok(len(set(numbers)) == len(numbers) and 0 not in numbers and 1 not in numbers,
         'every node has its own inode number')
    names = run('ls', t.demo).stdout.decode().split()
    t.same([x[0] for x in first if '/' not in x[0]], [n.rstrip('/') for n in names],
           'the order of readdir is that of ls')


def positions(t):
    """Reading goes on where it was left, wherever that was."""
    with Mount(t, t.demo) as m:
        for folder in ('', '00005.pac/00.pmo', '00005.pac/00.pmo/raw'):
            path = os.path.join(m.point, folder)
            whole = lib.entries(path)
            bad = [e[0] for i, e in enumerate(whole) if lib.entries(path, seek=e[3]) != whole[i + 1:]]
            t.none(bad, f'seekdir in {folder or "the root"}, {len(whole)} entries')


def lookups(t):
    with Mount(t, t.demo) as m:
        top, model = '00005.pac/', '00005.pac/00.pmo/'
        bad = [p for p in (
            'nothing', '.hidden', top + '.hidden', top + 'nothing', '00005.PAC', '5.pac', '00005', '00005.pa',
            '00005.pacx', model + 'meshes/00.obj', model + 'meshes/1000.obj', model + 'errors.txt',
            model + 'raw/whole.pac', '99999.pac', '18446744073709551616.pac', '-0.pac')
            if attempt(os.stat, os.path.join(m.point, p)) != errno.ENOENT]
        t.none(bad, 'names that are not there')
        e = attempt(os.stat, os.path.join(m.point, 'x' * 300))
        t.ok(e in (errno.ENOENT, errno.ENAMETOOLONG), 'a name that is too long', errno.errorcode.get(e, e))
        t.same(attempt(os.stat, os.path.join(m.point, '00005.pac/00.pmo/header.yaml/x')), errno.ENOTDIR,
               'a file is no directory')
        t.same(attempt(os.listdir, os.path.join(m.point, '00005.pac/00.pmo/header.yaml')), errno.ENOTDIR,
               'opendir of a file')
        t.same(os.path.realpath(os.path.join(m.point, '00005.pac/00.pmo/../../00005.pac/.')),
               os.path.join(m.point, '00005.pac'), '..')


def lazy(t):
    """find -type f reads tables and renders nothing; ls -l renders what it must."""
    m = Mount(t, t.demo, 'stats')
    with m:
        code, text = lib.other('find', m.point, '-type', 'f')
    n = len(lib.files(t.tree))
    t.ok(code == 0 and len(text.splitlines()) == n, f'find -type f finds {n} files', (code, text[-200:]))
    t.same(m.rendered(), 0, 'it renders nothing')
    m = Mount(t, t.demo, 'stats')
    with m:
        code, text = lib.other('find', m.point)
        names = sorted(p[len(m.point) + 1:] for p in text.splitlines()[1:])
        for p in lib.files(m.point):
            if '/raw/' in p or p.endswith('.bin'):
                os.stat(os.path.join(m.point, p))
                read(m.point, p)
    t.same(names, sorted(lib.snapshot(t.tree)), 'find shows every node')
    t.same(m.rendered(), 0, 'raw and plain files are not rendered')
    m = Mount(t, t.demo, 'stats')
    with m:
        for _ in range(3):
            lib.other('ls', '-lR', m.point)
            lib.snapshot(m.point)
    texts = [p for p in lib.files(t.tree) if p.endswith(('.yaml', '.obj', '.mtl', '.png', '.glb'))]
    t.ok(0 < m.rendered() <= len(texts), 'every text is made once, a companion\'s for both directories',
         (m.rendered(), len(texts)))


def writes(t):
    """-o ro: every write is refused, and nothing changes."""
    with Mount(t, t.demo, 'ro') as m:
        p = lambda *x: os.path.join(m.point, *x)
        file, folder, plain = p('00005.pac/00.pmo/materials.yaml'), p('00005.pac/00.pmo'), p('00005.pac/raw/whole.pac')
        before = lib.snapshot(m.point)
        calls = {
            'open to write': lambda: os.open(file, os.O_WRONLY),
            'open to read and write': lambda: os.open(plain, os.O_RDWR),
            'open to append': lambda: os.open(file, os.O_WRONLY | os.O_APPEND),
            'open and cut': lambda: os.open(file, os.O_WRONLY | os.O_TRUNC),
            'create': lambda: os.open(p('new'), os.O_WRONLY | os.O_CREAT),
            'create in a model': lambda: os.open(os.path.join(folder, 'new.obj'), os.O_WRONLY | os.O_CREAT),
            'mkdir': lambda: os.mkdir(p('new')),
            'mkdir in a model': lambda: os.mkdir(os.path.join(folder, 'new')), 'unlink': lambda: os.unlink(file),
            'rmdir': lambda: os.rmdir(folder),
            'rename': lambda: os.rename(file, file + '~'), 'rename a folder': lambda: os.rename(folder, folder + '~'),
            'link': lambda: os.link(file, p('new')), 'symlink': lambda: os.symlink('x', p('new')),
            'mknod': lambda: os.mkfifo(p('new')),
            'chmod': lambda: os.chmod(file, 0o600), 'chmod a folder': lambda: os.chmod(folder, 0o700),
            'chown': lambda: os.chown(file, os.getuid(), os.getgid()), 'truncate': lambda: os.truncate(plain, 5),
            'utimens': lambda: os.utime(file, (0, 0)), 'utimens of the root': lambda: os.utime(m.point),
            'setxattr': lambda: os.setxattr(file, 'user.x', b'1'),
            'removexattr': lambda: os.removexattr(file, 'user.x'),
        }
        for what, call in calls.items():
            e = attempt(call)
            t.ok(e == errno.EROFS, what + ' is EROFS', errno.errorcode.get(e, e))
        t.same(os.access(file, os.W_OK), False, 'access says so too')
        for name in ('user.x', 'security.selinux', 'system.posix_acl_access', 'user.xdg.origin.url'):
            e = attempt(os.getxattr, file, name)
            t.ok(e in (errno.ENOTSUP, errno.ENODATA), f'getxattr {name}', errno.errorcode.get(e, e))
        e = attempt(os.listxattr, file)
        t.ok(e in (0, errno.ENOTSUP) and (e or not os.listxattr(file)), 'listxattr', errno.errorcode.get(e, e))
        t.none(lib.differences(lib.snapshot(m.point), before), 'nothing has changed')


def reads(t):
    with Mount(t, t.demo) as m:
        bad, mapped, pieces = [], [], []
        for p in lib.files(m.point):
            path, want = os.path.join(m.point, p), read(t.tree, p)
            fd = os.open(path, os.O_RDONLY)
            try:
                n = len(want)
                for at, size in ((n, 100), (n + 1, 100), (n + 10 ** 6, 1), (2 ** 62, 1)):
                    bad += unless(os.pread(fd, size, at) == b'', f'{p}: bytes at {at} of {n}')
                bad += unless(os.pread(fd, 100, max(n - 3, 0)) == want[-3:], f'{p}: its last bytes')
                bad += unless(os.lseek(fd, 0, os.SEEK_END) == n, f'{p}: end at {os.lseek(fd, 0, os.SEEK_END)} of {n}')
                if n:
                    with mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ) as x:
                        mapped += unless(x[:] == want, p)
                    with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as x:
                        mapped += unless(x[n // 2:] == want[n // 2:], p)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                got = b''.join(os.pread(fd, 777, at) for at in range(0, n, 777))
                pieces += unless(got == want, p)
            finally:
                os.close(fd)
        t.none(bad, 'reading at and past the end')
        t.none(mapped, 'mmap')
        t.none(pieces, 'reading in pieces of 777 bytes')
        a, b = (os.path.join(m.point, '00005.pac/00.pmo/meshes/0.obj') for _ in 'ab')
        with open(a, 'rb') as f, open(b, 'rb') as g:
            f.read(100)
            t.ok(g.read() == read(t.tree, '00005.pac/00.pmo/meshes/0.obj'), 'two handles of one file')
        try:
            fd = os.open(a, os.O_RDONLY | os.O_DIRECT)
        except OSError as e:
            return t.skip(f'O_DIRECT: {e.strerror}')
        room = mmap.mmap(-1, 1 << 20)
        n = os.readv(fd, [room])
        os.close(fd)
        t.ok(room[:n] == read(t.tree, '00005.pac/00.pmo/meshes/0.obj'), 'O_DIRECT')


def cut(t):
    """The archive gets shorter while it is mounted."""
    archive = t.file('DATA.BIN', read(t.demo))
    size = os.path.getsize(archive)
    names = sorted(os.listdir(t.tree))
    m = Mount(t, archive)
    with m:
        whole = {p: os.stat(os.path.join(m.point, p)).st_size for p in lib.files(m.point) if '/raw/' in p
                 or '/' not in p}
        os.truncate(archive, size // 3)
        got, failed, strange = 0, set(), []
        for p in lib.files(t.tree):
            try:
                got += read(m.point, p) == read(t.tree, p)
            except OSError as e:
                failed.add(p)
                strange += unless(e.errno == errno.EIO, f'{p}: {e}')
        t.none(strange, 'what cannot be read any more is EIO')
        t.ok(got and failed and got + len(failed) == len(lib.files(t.tree)), 'the rest is as before',
             (got, len(failed), len(lib.files(t.tree))))
        t.ok(any(p.startswith(names[-1]) for p in failed) and not any(p.startswith(names[0]) for p in failed),
             'the end failed, the beginning did not')
        t.same(m.process.poll(), None, 'the daemon lives')
        t.same(sorted(os.listdir(m.point)), names, 'the root still lists')
        code, _ = lib.other('ls', '-lR', m.point)
        t.same(code, 0, 'ls -lR')
        os.truncate(archive, 0)
        attempt(read, m.point, '00005.pac/raw/whole.pac')
        t.same(m.process.poll(), None, 'it lives when nothing is left')
        with open(archive, 'r+b') as f:
            f.write(read(t.demo))
        again = [p for p in whole if p in failed and attempt(read, m.point, p)]
        t.none(again, 'raw files come back with the bytes')
    t.ok('EIO' in m.log or 'rror' in m.log or not m.log, 'the log', m.log)
    archive = t.file('DATA.BIN', read(t.demo))
    with Mount(t, archive) as m:
        fd = os.open(os.path.join(m.point, '00005.pac/raw/whole.pac'), os.O_RDONLY)
        os.truncate(archive, 0)
        e = attempt(os.pread, fd, 4096, 0)
        os.close(fd)
        t.same(e, errno.EIO, 'an open file whose bytes went')
        e = attempt(os.listdir, os.path.join(m.point, '00008.pac'))
        t.ok(e in (0, errno.EIO), 'a directory whose bytes went', e)
        t.ok(os.listdir(m.point) and m.process.poll() is None, 'the daemon lives')
    archive = t.file('DATA.BIN', read(t.demo))
    with Mount(t, archive) as m:
        os.unlink(archive)
        t.none(lib.differences(lib.snapshot(m.point), lib.snapshot(t.tree)), 'a deleted archive stays readable')


def large(t):
    """Files of more than 4 GiB, and behind them; most of it takes no room on the disk."""
    far, text = 3 << 20, b'far away\n' * 100          # blocks: 6 GiB
    path = t.file('DATA.BIN', lib.plain_archive([text, b'']))
    with open(path, 'r+b') as f:
        f.write(struct.pack('<4I', 1, 1 + far, 2 + far, 3 + far))
        for at in (1 + far, 2 + far):
            f.seek(at * lib.BLOCK)
            f.write(text)
        f.truncate((3 + far) * lib.BLOCK)
    padded = text + bytes(-len(text) % lib.BLOCK)
    with Mount(t, path) as m:
        names = sorted(os.listdir(m.point))
        sizes = [os.stat(os.path.join(m.point, n)).st_size for n in names]
        t.same(sizes, [far * lib.BLOCK, lib.BLOCK, lib.BLOCK], 'sizes over 4 GiB')
        t.ok(read(m.point, names[1]) == padded and read(m.point, names[2]) == padded, 'a file that begins behind 4 GiB')
        with open(os.path.join(m.point, names[0]), 'rb') as f:
            f.seek((5 << 30) + 3)
            t.ok(f.read(100) == bytes(100), 'reading at 5 GiB')
            t.same(os.pread(f.fileno(), 100, far * lib.BLOCK - 10), bytes(10), 'reading its end')
    r = run('cat', path, names[2])
    t.ok(r.returncode == 0 and r.stdout == padded, 'cat', (r.returncode, r.stderr))


def names_file(t):
    labels = '# comment\n\n5\tcrate\n0\treadme/first \n16\tw\u00f6rm\n1\tnothing here\n99999\tbeyond\n6\t\n' \
             '12\tgarden\r\n'
    path = t.file('names.txt', labels.encode())
    with Mount(t, t.demo, 'names=' + path) as m:
        have = os.listdir(m.point)
        plain = sorted(os.listdir(t.tree))
        want = {'5': '-crate', '0': '-readme_first ', '16': '-w\u00f6rm', '1': '-nothing here', '12': '-garden'}
        expect = [n[:5] + want.get(str(int(n[:5])), '') + n[5:] for n in plain]
        t.same(sorted(have), sorted(expect), 'labels in names')
        t.none(lib.differences({p[:5] + p[p.index('.'):]: v for p, v in lib.snapshot(m.point).items()},
                               lib.snapshot(t.tree)), 'contents are the same')
        t.same(attempt(os.stat, os.path.join(m.point, '00005.pac')), errno.ENOENT,
               'the name without its label is not there')
    for text, line in (('5 crate\n', 1), ('# a\nx\tcrate\n', 2), ('5\t' + 'x' * 1000 + '\n', 1), ('1\ta\n-1\tb\n', 2),
                       ('99999999999999999999\ta\n', 1)):
        bad = t.file('names.txt', text.encode())
        point = t.dir('mount')
        r = run('mount', '-o', 'names=' + bad, t.demo, point)
        t.ok(r.returncode == 1 and f'line {line}' in r.stderr and r.stderr.startswith('modelfs: mount: ')
             and point not in lib.mount_points(),
             f'a wrong names file: {text[:20]!r}', (r.returncode, r.stderr))
    r = run('mount', '-o', 'names=/nowhere', t.demo, t.dir('mount'))
    t.ok(r.returncode == 1 and 'No such file' in r.stderr, 'a names file that is not there', (r.returncode, r.stderr))


def refused(t):
    """Each of these leaves nothing mounted."""
    point, missing, file = t.dir('mount'), os.path.join(t.folder, 'missing'), t.file('file', b'x')
    pipe, text = os.path.join(t.dir('pipe'), 'pipe'), t.file('text.txt', b'hello\n' * 1000)
    os.mkfifo(pipe)
    for what, args, code, pattern in (
            ('a missing source', [missing, point], 1, f'^modelfs: mount: {missing}: No such file or directory$'),
            ('a source that is no archive', [text, point], 1, f'^modelfs: mount: {text}: '),
            ('a pipe as source', [pipe, point], 1, f'^modelfs: mount: {pipe}: '),
            ('a mount point that is not there', [t.demo, missing], 1,
             f'^modelfs: mount: {missing}: No such file or directory$'),
            ('a file as mount point', [t.demo, file], 1, 'Not a directory'),
            ('an unknown option', ['-o', 'nonsense', t.demo, point], 2, 'nonsense'),
            ('an unknown long option', ['--nonsense', t.demo, point], 2, 'nonsense'),
            ('an unknown letter', ['-X', t.demo, point], 2, '-X'),
            ('a number that is none', ['-o', 'cache=lots', t.demo, point], 2, '.'),
            ('a cache that is too large', ['-o', 'cache=99999999', t.demo, point], 2, '.'),
            ('no mount point', [t.demo], 2, 'usage: modelfs mount ')):
        r = run('mount', *args)
        t.ok(r.returncode == code and re.search(pattern, r.stderr) and not r.stdout, what, (r.returncode, r.stderr))
    t.same([p for p in lib.mount_points() if p in (point, file)], [], 'nothing of that is mounted')


def options(t):
    root_only = [] if os.geteuid() else [['allow_other']]
    for given in [['ro'], ['cache=1'], ['ro', 'noatime', 'nodev', 'nosuid'], ['max_read=65536'], ['rw'],
                  ['grow', 'noundo', 'carve']] + root_only:
        m = Mount(t, t.demo, *given)
        try:
            with m:
                bad = lib.differences(lib.snapshot(m.point), lib.snapshot(t.tree))
                have = next(x[3] for x in lib.mounts() if x[0] == m.point).split(',')
                refusal = errno.EROFS if 'ro' in given else errno.EPERM
                if ('ro' in have) != ('ro' in given) or attempt(os.mkdir, os.path.join(m.point, 'x')) != refusal:
                    bad.append('not ' + ('read-only' if 'ro' in given else 'writable'))
        except (RuntimeError, OSError) as e:
            bad = [e]
        t.none(bad, '-o ' + ','.join(given))
        t.same(m.log, '', f'the log of -o {",".join(given)}')
    strange = os.path.join(t.dir('a,b c\\d'), 'DATA, (1)=\\.BIN')
    shutil.copyfile(t.demo, strange)
    with Mount(t, strange) as m:
        t.same(sorted(os.listdir(m.point)), sorted(os.listdir(t.tree)), 'a source with commas, blanks and backslashes')
        t.same(next(x[2] for x in lib.mounts() if x[0] == m.point), strange, 'its name in /proc/mounts')
    point = t.dir('mount')
    r = run('mount', 'demo.bin', os.path.basename(point), cwd=t.folder)
    try:
        t.ok(r.returncode == 0 and not lib.differences(lib.snapshot(point), lib.snapshot(t.tree)), 'relative paths',
             r.stderr)
    finally:
        r = run('umount', os.path.basename(point), cwd=t.folder)
    t.ok(r.returncode == 0 and point not in lib.mount_points(), 'umount of a relative path', r.stderr)
    for extra in (['-f'], []):                     # options behind the paths, as mount helpers give them
        point = t.dir('mount')
        p = subprocess.Popen([PROGRAM, 'mount', t.demo, point, '-o', 'ro,nosuid'] + extra, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            t.ok(lib.wait_for(lambda: point in lib.mount_points()) and os.listdir(point),
                 'options behind the paths ' + ' '.join(extra))
        finally:
            run('umount', point)
            p.wait(LIMIT)


def single(t):
    """A single file's directory is the root."""
    for kind in ('pac', 'pmo', 'tmh', 'ahi', 'anm'):
        p = next(p for p in lib.files(t.tree) if p.endswith('/raw/whole.' + kind))
        source = t.file('x.' + kind, read(t.tree, p))
        want = lib.snapshot(t.extract(source))
        with Mount(t, source) as m:
            t.none(lib.differences(lib.snapshot(m.point), want), f'a {kind} by itself')


def over(t):
    """A mount point with files in it; the mount covers its own source."""
    folder = t.dir('over')
    archive = os.path.join(folder, 'DATA.BIN')
    shutil.copyfile(t.demo, archive)
    r = run('mount', archive, folder)
    try:
        t.ok(r.returncode == 0 and not lib.differences(lib.snapshot(folder), lib.snapshot(t.tree)),
             'a mount over its own source', r.stderr)
    finally:
        r = run('umount', folder)
    t.ok(r.returncode == 0 and os.listdir(folder) == ['DATA.BIN'], 'and away again', r.stderr)


def stale(t):
    """A daemon that died; starting again on its mount point works, or says what to do."""
    point = t.dir('mount')
    p = subprocess.Popen([PROGRAM, 'mount', '-f', t.demo, point], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        t.ok(lib.wait_for(lambda: point in lib.mount_points()), 'a mount')
        os.listdir(point)
        p.kill()
        p.wait()
        t.same(attempt(os.statvfs, point), errno.ENOTCONN, 'killed, its mount point is stale')
        r = run('mount', t.demo, point)
        t.ok(r.returncode == 0 and sorted(os.listdir(point)) == sorted(os.listdir(t.tree)), 'mount again',
             (r.returncode, r.stderr))
        t.same(lib.mount_points().count(point), 1, 'the stale mount is gone')
        r = run('umount', point)
        t.ok(r.returncode == 0 and point not in lib.mount_points(), 'umount', r.stderr)
    finally:
        p.kill()
        p.wait()
    p = subprocess.Popen([PROGRAM, 'mount', '-f', t.demo, point], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        t.ok(lib.wait_for(lambda: point in lib.mount_points()), 'a mount')
    finally:
        p.kill()
        p.wait()
    r = run('umount', point)
    t.ok(r.returncode == 0 and point not in lib.mount_points(), 'umount of a stale mount point',
         (r.returncode, r.stderr))


CLONE_NEWNS = 0x20000


def open_device(t):
    """/dev/fuse with the mode that distributions give it, in a mount namespace of this process."""
    if stat.S_IMODE(os.stat('/dev/fuse').st_mode) & 0o006 == 0o006:
        return
    device = os.path.join(t.dir('dev'), 'fuse')
    if lib.LIBC.unshare(CLONE_NEWNS) or lib.other('mount', '--make-rprivate', '/')[0] or \
            lib.other('mount', '-t', 'tmpfs', 'none', os.path.dirname(device))[0]:
        raise lib.Skip('/dev/fuse is root\'s alone')
    os.mknod(device, 0o666 | stat.S_IFCHR, os.stat('/dev/fuse').st_rdev)
    os.chmod(device, 0o666)
    if lib.other('mount', '--bind', device, '/dev/fuse')[0]:
        raise lib.Skip('/dev/fuse is root\'s alone')


def user(t):
    """The user who mounted can unmount without being root; others cannot look in."""
    if os.geteuid():
        return t.skip('mounting as another user: only root can try')
    lib.need('runuser', 'fusermount3', 'mount')
    if not os.stat(shutil.which('fusermount3')).st_mode & stat.S_ISUID:
        raise lib.Skip('fusermount3 is not set-user-ID: users cannot mount here')
    as_user = ['runuser', '-u', 'nobody', '--']
    if lib.other(*as_user, PROGRAM, '--version')[0]:
        raise lib.Skip('nobody cannot run the program where it was built')
    open_device(t)
    point = t.dir('user')
    owner = pwd.getpwnam('nobody')
    os.chown(point, owner.pw_uid, owner.pw_gid)
    archive = t.file('DATA.BIN', read(t.demo))
    code, text = lib.other(*as_user, PROGRAM, 'mount', archive, point)
    try:
        if not t.ok(code == 0 and point in lib.mount_points(), 'nobody mounts', (code, text)):
            return
        code, text = lib.other(*as_user, 'cat', os.path.join(point, '00005.pac/00.pmo/header.yaml'))
        t.same(text.encode(), read(t.tree, '00005.pac/00.pmo/header.yaml'), 'and reads')
        code, text = lib.other(*as_user, 'stat', '-c', '%U', os.path.join(point, '00005.pac'))
        t.same(text, 'nobody\n', 'and owns it')
        t.same(attempt(os.listdir, point), errno.EACCES, 'root does not see it')
        code, text = lib.other(*as_user, PROGRAM, 'umount', point)
        t.ok(code == 0 and point not in lib.mount_points(), 'umount without root', (code, text))
    finally:
        if point in lib.mount_points():
            lib.force_unmount(point)
    p = subprocess.Popen(as_user + [PROGRAM, 'mount', '-f', archive, point], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lib.wait_for(lambda: point in lib.mount_points())
        child = int(read(f'/proc/{p.pid}/task/{p.pid}/children').split()[0])
        os.kill(child, signal.SIGKILL)
        p.wait(LIMIT)
        code, text = lib.other(*as_user, PROGRAM, 'mount', archive, point)
        t.ok(code == 0 and lib.mount_points().count(point) == 1, 'nobody mounts again after a crash', (code, text))
        code, text = lib.other(*as_user, PROGRAM, 'umount', point)
        t.ok(code == 0 and point not in lib.mount_points(), 'and unmounts', (code, text))
    finally:
        p.kill()
        if point in lib.mount_points():
            lib.force_unmount(point)
    m = Mount(t, t.demo)
    with m:
        code, text = lib.other(*as_user, PROGRAM, 'umount', m.point)
        t.ok(code == 1 and m.point in lib.mount_points(), 'nobody does not unmount root\'s', (code, text))


HELPER = r'''
set -eu
mount -t tmpfs none "$1"
mkdir "$1/up" "$1/work"
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$1/up,workdir=$1/work" /usr/sbin || exit 99
cp "$2" /usr/sbin/mount.fuse.modelfs
chmod 755 /usr/sbin/mount.fuse.modelfs
ln -s "$MODELFS" /usr/sbin/modelfs
'''


def helper(t):
    """mount -t fuse.modelfs and lines of fstab, in a mount namespace of its own, where /usr/sbin holds the helper."""
    script = os.path.join(lib.SOURCE, 'contrib', 'mount.fuse.modelfs')
    path = t.dir('bin')
    os.symlink(PROGRAM, os.path.join(path, 'modelfs'))
    env = {**os.environ, 'PATH': path + ':' + os.environ.get('PATH', '/usr/bin:/bin')}
    point = t.dir('mount')
    for args in (['-o', 'rw,nofail,noauto,user=me,x-systemd.automount,comment=a'], ['-n', '-o', 'ro'], []):
        code, text = lib.other('sh', script, t.demo, point, *args, env=env)
        try:
            t.ok(code == 0 and not text and sorted(os.listdir(point)) == sorted(os.listdir(t.tree)),
                 f'mount.fuse.modelfs {" ".join(args)}', (code, text))
        finally:
            run('umount', point)
    code, text = lib.other('sh', script, t.demo + '.missing', point, '-o', 'ro', env=env)
    t.ok(code == 32 and 'No such file' in text, 'mount.fuse.modelfs fails as mount does', (code, text))
    code, text = lib.other('sh', script, t.demo, point, '-f', env=env)
    t.ok(code == 0 and point not in lib.mount_points(), 'mount.fuse.modelfs -f only pretends', (code, text))
    if os.geteuid():
        return t.skip('mount -t fuse.modelfs: only root can try')
    lib.need('unshare', 'mount')
    if os.path.realpath('/sbin') != '/usr/sbin':
        raise lib.Skip('mount -t fuse.modelfs: /sbin is not /usr/sbin here')
    if lib.other('unshare', '-m', 'true')[0]:
        raise lib.Skip('mount -t fuse.modelfs: no mount namespace of our own here')
    fstab = t.file('fstab', f'{t.demo} {point} fuse.modelfs ro,allow_other,nofail,noatime,x-test.y=1 0 0\n'.encode())
    for what, command in (('mount -t fuse.modelfs', f'mount -t fuse.modelfs -o ro,nofail {t.demo} {point}'),
                          ('a line of fstab', f'mount -T {fstab} {point}'), ('mount -a', f'mount -a -T {fstab}')):
        command = HELPER + command + f'\nls {point}\n{PROGRAM} umount {point}\n'
        code, text = lib.other('unshare', '-m', 'sh', '-c', command, 'sh', t.dir('over'), script, env=env)
        if code == 99:
            raise lib.Skip('mount -t fuse.modelfs: nothing can be laid over /usr/sbin here')
        t.ok(code == 0 and sorted(text.split()) == sorted(os.listdir(t.tree)), what, (code, text))


def quick(t):
    """Not a benchmark: only that nothing waits where it should not."""
    point = t.dir('mount')
    start = time.monotonic()
    run('mount', t.demo, point)
    try:
        os.listdir(point)
        took = time.monotonic() - start
    finally:
        run('umount', point)
    t.ok(took < 1 * lib.SLOW, f'mount to first listing in {took * 1000:.0f} ms')


if __name__ == '__main__':
    lib.main(returns, busy, sizes, walks, positions, lookups, lazy, writes, reads, cut, large, names_file, refused,
             options, single, over, stale,
             helper, quick, user, needs_fuse=True)
