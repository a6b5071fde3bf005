"""Cases of posix.py: opening and creating files of every kind, and every kind of name."""
import os
import stat
import subprocess

from both import AT_FDCWD, AT_SYMLINK_FOLLOW, KINDS, OTHER, OWNER, as_root, case, libc

WAYS = {
    'reading': os.O_RDONLY, 'writing': os.O_WRONLY, 'both': os.O_RDWR, 'reading, O_TRUNC': os.O_TRUNC,
    'writing, O_TRUNC': os.O_WRONLY | os.O_TRUNC, 'O_APPEND': os.O_RDWR | os.O_APPEND, 'O_CREAT': os.O_CREAT,
    'O_CREAT, writing': os.O_CREAT | os.O_WRONLY, 'O_CREAT, O_EXCL': os.O_CREAT | os.O_EXCL | os.O_WRONLY,
    'O_CREAT, O_TRUNC': os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 'O_NOFOLLOW': os.O_NOFOLLOW,
    'O_CREAT, O_NOFOLLOW': os.O_CREAT | os.O_NOFOLLOW, 'O_DIRECTORY': os.O_DIRECTORY,
    'O_DIRECTORY, O_NOFOLLOW': os.O_DIRECTORY | os.O_NOFOLLOW, 'O_PATH': os.O_PATH,
    'O_PATH, O_NOFOLLOW': os.O_PATH | os.O_NOFOLLOW, 'O_SYNC, writing': os.O_SYNC | os.O_WRONLY,
    'O_NOATIME': os.O_NOATIME, 'O_CREAT, O_DIRECTORY': os.O_CREAT | os.O_DIRECTORY,
}


# ---------------------------------------------------------------- open

@case
def open_of_every_kind(s):
    s.make('file', 'target')
    for kind in KINDS + [None]:
        for way, flags in WAYS.items():
            if kind:
                s.make(kind, 'x')
            what = f'{way} of a {kind or "new name"}'
            fd = s.open('open for ' + what, 'x', flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o640)
            if fd is not None:
                s.call('fstat after ' + what, os.fstat, fd)
                s.close(fd)
            s.stat('the name after ' + what, 'x')
            s.stat('target after ' + what, 'target')
            for name in ('x', 'nothing'):
                s.remove(name)


@case
def open_with_a_slash(s):
    for kind in KINDS[:1] + KINDS[1:2] + KINDS[5:7]:
        s.make(kind, 'x')
        for path in ('x/', 'x/.', 'x/..', 'x/y', './x', 'x//', ''):
            for flags in (os.O_RDONLY, os.O_CREAT | os.O_WRONLY):
                s.open(f'open({path!r}, {flags}) where x is a {kind}', path, flags)
            s.stat(f'lstat({path!r}) where x is a {kind}', path)
            s.stat(f'stat({path!r}) where x is a {kind}', path, follow_symlinks=True)
        s.remove('x')
        s.remove('nothing')


@case
def create_modes(s):
    os.mkdir('setgid')
    os.chmod('setgid', 0o2777)
    for mask in (0, 0o022, 0o077, 0o777):
        os.umask(mask)
        for mode in (0, 0o644, 0o777, 0o4755, 0o2755, 0o1777, 0o6711):
            for folder in ('', 'setgid/'):
                with_it = f'mode {mode:o}, umask {mask:o}' + (' in a setgid folder' if folder else '')
                fd = s.open(f'create with {with_it}', folder + 'f', os.O_CREAT | os.O_RDWR, mode)
                s.call(f'write with {with_it}', os.write, fd, b'x')
                s.close(fd)
                s.call(f'mkdir with {with_it}', os.mkdir, folder + 'd', mode)
                s.call(f'mknod with {with_it}', os.mknod, folder + 'r', stat.S_IFREG | mode)
                s.call(f'mkfifo with {with_it}', os.mkfifo, folder + 'p', mode)
                for name in 'fdrp':
                    s.stat(f'{name} with {with_it}', folder + name)
                    s.remove(folder + name)


@as_root
def create_as_others(s):
    for folder, mode, owner in (('open', 0o777, 0), ('theirs', 0o755, OWNER), ('setgid', 0o2777, OTHER),
                                ('shut', 0o755, 0),
                                ('search only', 0o711, OWNER), ('list only', 0o744, OWNER), ('sticky', 0o1777, 0)):
        os.mkdir(folder)
        os.chown(folder, owner, owner)
        os.chmod(folder, mode)
        for uid in (OWNER, OTHER):
            def calls(s):
                path = lambda name: f'{folder}/{name}{uid}'
                s.open('O_CREAT', path('f'), os.O_CREAT | os.O_RDWR, 0o4754)
                s.open('O_CREAT, mode 0, for writing', path('n'), os.O_CREAT | os.O_RDWR, 0)
                s.call('mkdir', os.mkdir, path('d'))
                s.call('symlink', os.symlink, 'x', path('l'))
                s.call('mkfifo', os.mkfifo, path('p'))
                s.call('mknod a file', os.mknod, path('r'), stat.S_IFREG | 0o2755)
                s.call('mknod a device', os.mknod, path('c'), stat.S_IFCHR | 0o600, os.makedev(1, 3))
                for name in 'fndlprc':
                    s.stat(f'{name} of it', path(name))
                s.call('listdir', lambda: sorted(os.listdir(folder)))
                s.call('rename', os.rename, path('f'), path('g'))
                s.call('rmdir', os.rmdir, path('d'))
                s.call('unlink', os.unlink, path('r'))
            s.user(f'{folder}, user {uid}', calls, uid=uid, groups=[uid, 50])


@as_root
def open_as_others(s):
    users = ((OWNER, [OWNER]), (OTHER, [OWNER]), (OTHER, [OTHER, OWNER]), (OTHER, [OTHER]))
    for kind in ('file', 'folder', 'fifo'):
        s.make(kind, 'x')
        os.chown('x', OWNER, OWNER)
        for mode in (0o600, 0o060, 0o006, 0o477, 0o747, 0o774, 0o277, 0o727, 0o772, 0o177, 0o717, 0o771, 0, 0o777):
            os.chmod('x', mode)
            for uid, groups in users:
                def calls(s):
                    for way, flags in (('reading', 0), ('writing', 1), ('both', 2), ('reading, O_TRUNC', os.O_TRUNC),
                                       ('O_NOATIME', os.O_NOATIME), ('O_CREAT', os.O_CREAT)):
                        s.open('open for ' + way, 'x', flags | os.O_NONBLOCK)
                    for bits in (4, 2, 1, 6):
                        s.note(f'access {bits}', os.access('x', bits))
                s.user(f'{kind} {mode:04o}, user {uid} in {groups}', calls, uid=uid, groups=groups)
        s.remove('x')


@as_root
def paths_as_others(s):
    os.mkdir('way')
    os.mkdir('way/in')
    s.make('file', 'way/in/x')
    for f in ('way', 'way/in', 'way/in/x'):
        os.chown(f, OWNER, OWNER)
    for mode in (0o700, 0o600, 0o500, 0o300, 0o100, 0o000, 0o755, 0o711, 0o744):
        os.chmod('way', mode)
        for uid in (OWNER, OTHER):
            def calls(s):
                s.stat('stat', 'way/in/x')
                s.open('open', 'way/in/x', os.O_RDONLY)
                s.call('truncate', os.truncate, 'way/in/x', 10)
                s.call('chmod', os.chmod, 'way/in/x', 0o644)
                s.call('utimes', os.utime, 'way/in/x', (1, 2))
                s.call('link', os.link, 'way/in/x', 'way/in/y')
                s.call('rename', os.rename, 'way/in/x', 'way/in/x')
                s.call('unlink of nothing', os.unlink, 'way/in/nothing')
                s.call('unlink', os.unlink, 'way/in/y')
                s.call('mkdir', os.mkdir, 'way/new')
                s.call('rmdir', os.rmdir, 'way/new')
                s.call('chdir', os.chdir, 'way/in')
                s.stat('stat from there', 'x')
            s.user(f'below a folder of mode {mode:04o}, user {uid}', calls, uid=uid)


@case
def temporary_files(s):
    fd = s.open('O_TMPFILE', '.', os.O_TMPFILE | os.O_RDWR, 0o640)
    if fd is not None:
        s.call('its attributes', os.fstat, fd)
        s.call('write', os.write, fd, b'text')
        s.call('link of it', libc, 'linkat', AT_FDCWD, f'/proc/self/fd/{fd}', AT_FDCWD, 'given', AT_SYMLINK_FOLLOW)
        s.call('its attributes with a name', os.fstat, fd)
        s.read('its text', 'given')
    fd = s.open('O_TMPFILE, O_EXCL', '.', os.O_TMPFILE | os.O_EXCL | os.O_WRONLY, 0o600)
    if fd is not None:
        s.call('link of one that may not', libc, 'linkat', AT_FDCWD, f'/proc/self/fd/{fd}', AT_FDCWD, 'no',
               AT_SYMLINK_FOLLOW)
    s.open('O_TMPFILE for reading', '.', os.O_TMPFILE | os.O_RDONLY, 0o600)


# ---------------------------------------------------------------- names

@case
def long_names(s):
    for n in (254, 255, 256, 1000):
        name = 'n' * n
        s.open(f'create of {n} bytes', name, os.O_CREAT | os.O_WRONLY)
        s.stat(f'stat of {n} bytes', name)
        s.call(f'rename of {n} bytes', os.rename, name, name[:-1] + 'm')
        s.call(f'link of {n} bytes', os.link, name[:-1] + 'm', name)
        s.call(f'unlink of {n} bytes', os.unlink, name)
        s.call(f'mkdir of {n} bytes', os.mkdir, name)
        s.call(f'rmdir of {n} bytes', os.rmdir, name)
        s.call(f'symlink of {n} bytes', os.symlink, 'x', name)
        s.call(f'truncate of {n} bytes', os.truncate, name, 1)
        s.call(f'chmod of {n} bytes', os.chmod, name + '/x', 0o600)
    s.call('255 bytes of UTF-8', os.mkdir, 'ä' * 127 + 'x')
    s.call('256 bytes of UTF-8', os.mkdir, 'ä' * 128)


@case
def long_paths(s):
    part = 'p' * 127 + '/'
    deep = part * 31                               # 3968 bytes
    os.makedirs(deep)
    for n in (4094, 4095, 4096, 5000):
        path = deep + 'f' * (n - len(deep))
        s.open(f'create of a path of {n} bytes', path, os.O_CREAT | os.O_WRONLY)
        s.stat(f'stat of a path of {n} bytes', path)
        s.call(f'rename of a path of {n} bytes', os.rename, path, 'here')
        s.call(f'rename to a path of {n} bytes', os.rename, 'here', path)
        s.call(f'unlink of a path of {n} bytes', os.unlink, path)
        s.call(f'mkdir of a path of {n} bytes', os.mkdir, path)
        s.call(f'rmdir of a path of {n} bytes', os.rmdir, path)
    home = os.getcwd()
    os.chdir(deep)                                 # and deeper than any path that could be given
    for i in range(3):
        os.makedirs(part * 8)
        os.chdir(part * 8)
    s.open('create deeper than PATH_MAX', 'bottom', os.O_CREAT | os.O_WRONLY)
    s.stat('stat deeper than PATH_MAX', 'bottom')
    s.call('rename deeper than PATH_MAX', os.rename, 'bottom', 'low')
    s.read('read deeper than PATH_MAX', 'low')
    s.call('getcwd', lambda: len(os.getcwd()) > 4000)
    s.call('unlink deeper than PATH_MAX', os.unlink, 'low')
    os.chdir(home)
    subprocess.run(['rm', '-r', 'p' * 127], check=True)


@case
def odd_names(s):
    for name in (b'\xff\xfe', b'\x80', b'a\nb', b' ', b'-rf', b'*', b'\x01\x7f', b'...', b'.hidden', b'a:b', b'%s',
                 b'a\\b', b'"',
                 'é'.encode(), 'e\u0301'.encode(), b'CON', b'x.', b'X', b'x', b'x~2', b'errors.txt', b'x.rejected',
                 b'lost+found',
                 b'.fuse_hidden0001', b'.modelfs', b'materials.yaml', b'raw'):
        s.call(f'mkdir {name!r}', os.mkdir, name)
        s.open(f'create in {name!r}', name + b'/' + name, os.O_CREAT)
        s.call(f'symlink {name!r}', os.symlink, name, name + b'/link')
        s.call(f'readlink {name!r}', os.readlink, name + b'/link')
        s.call(f'listdir {name!r}', lambda: sorted(os.listdir(name)))
        s.call(f'rename {name!r}', os.rename, name + b'/' + name, name + b'/2')
    for name in (b'.', b'..', b'/', b''):
        s.call(f'mkdir {name!r}', os.mkdir, name)
        s.call(f'unlink {name!r}', os.unlink, name)
        s.call(f'symlink {name!r}', os.symlink, b'x', name)


@case
def links_that_lead_round(s):
    os.symlink('b', 'a')
    os.symlink('a', 'b')
    os.mkdir('d')
    os.symlink('.', 'd/self')
    for path in ('a', 'a/x', 'd/' + 'self/' * 39 + '.', 'd/' + 'self/' * 41 + '.'):
        s.stat(f'stat {path[:20]!r} ({len(path)})', path, follow_symlinks=True)
        s.open(f'open {path[:20]!r} ({len(path)})', path, os.O_RDONLY)
        s.open(f'create {path[:20]!r} ({len(path)})', path, os.O_CREAT | os.O_WRONLY)
        s.call(f'truncate {path[:20]!r} ({len(path)})', os.truncate, path, 3)
        s.call(f'chmod {path[:20]!r} ({len(path)})', os.chmod, path, 0o755)
        s.call(f'mkdir below {path[:20]!r} ({len(path)})', os.mkdir, path + '/new')
    s.call('unlink of one', os.unlink, 'a')


@case
def below_what_is_no_folder(s):
    s.make('file', 'target')
    for kind in KINDS:
        s.make(kind, 'x')
        for what, f, *args in (('open', os.open, 'x/y', 0), ('create', os.open, 'x/y',
                                                             os.O_CREAT | os.O_EXCL | os.O_WRONLY),
                               ('stat', os.stat, 'x/y'), ('truncate', os.truncate, 'x/y', 1),
                               ('unlink', os.unlink, 'x/y'),
                               ('mkdir', os.mkdir, 'x/y'), ('rmdir', os.rmdir, 'x/y'),
                               ('chmod', os.chmod, 'x/y', 0o700),
                               ('rename from', os.rename, 'x/y', 'z'), ('rename to', os.rename, 'target', 'x/target'),
                               ('link to', os.link, 'target', 'x/l'), ('symlink', os.symlink, 'q', 'x/s'),
                               ('readlink', os.readlink, 'x/s'), ('utime', os.utime, 'x/y'),
                               ('listdir', os.listdir, 'x')):
            value = s.call(f'{what} below a {kind}', f, *args)
            if f is os.open and value is not None:
                os.close(value)
            if what == 'rename to' and os.path.lexists('x/target'):
                os.rename('x/target', 'target')
        s.remove('x')
