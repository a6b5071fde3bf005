"""Cases of posix.py: rename, unlink, mkdir, rmdir, links."""
import os
import time

from both import AT_FDCWD, AT_SYMLINK_FOLLOW, KINDS, OTHER, OWNER, TICK, as_root, case, libc

NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4


def renameat2(a, b, flags=0):
    return libc('renameat2', AT_FDCWD, a, AT_FDCWD, b, flags)


# ---------------------------------------------------------------- rename

@case
def rename_every_kind_onto_every_kind(s):
    s.make('file', 'target')
    for a in KINDS:
        for b in [None] + KINDS:
            for flags, word in ((0, 'rename'), (NOREPLACE, 'RENAME_NOREPLACE'), (EXCHANGE, 'RENAME_EXCHANGE')):
                s.make(a, 'a')
                if b:
                    s.make(b, 'b')
                what = f'{word}, {a} to {b or "a new name"}'
                old = os.lstat('a')
                s.call(what, renameat2, 'a', 'b', flags)
                for name in 'ab':
                    st = s.stat(f'{name} after {what}', name)
                    if st:
                        s.note(f'{name} is the one that was a, after {what}', st.st_ino == old.st_ino)
                s.remove('a')
                s.remove('b')
    s.make('file', 'a')
    s.call('RENAME_NOREPLACE and RENAME_EXCHANGE', renameat2, 'a', 'b', NOREPLACE | EXCHANGE)
    s.call('an unknown flag', renameat2, 'a', 'b', 64)
    s.call('RENAME_EXCHANGE with nothing', renameat2, 'a', 'nothing', EXCHANGE)


@case
def rename_whiteout(s):
    s.make('file', 'a')
    s.call('RENAME_WHITEOUT', renameat2, 'a', 'b', WHITEOUT)


@case
def rename_of_links_to_one_file(s):
    s.make('file', 'a')
    os.link('a', 'b')
    os.mkdir('d')
    os.link('a', 'd/c')
    for x, y in (('a', 'b'), ('a', 'd/c'), ('a', 'a'), ('d', 'd')):
        s.call(f'rename {x} to {y}, the same file', os.rename, x, y)
        s.same_inode('they are', *[os.lstat(n) for n in ('a', 'b', 'd/c')])
    s.call('RENAME_EXCHANGE of two links', renameat2, 'a', 'b', EXCHANGE)
    s.call('RENAME_NOREPLACE onto a link', renameat2, 'a', 'b', NOREPLACE)
    s.call('rename onto another', os.rename, 'd/c', 'new')
    s.same_inode('they are', *[os.lstat(n) for n in ('a', 'b', 'new')])


@case
def rename_of_folders(s):
    os.makedirs('a/b/c')
    os.makedirs('other/full/x')
    s.make('file', 'a/b/file')
    fd = s.open('a folder below', 'a/b', os.O_RDONLY | os.O_DIRECTORY)
    for old, new in (('a', 'a/b'), ('a', 'a/b/c/d'), ('a', 'a/.'), ('a/.', 'x'), ('a/b/..', 'x'), ('.', 'x'),
                     ('a', '..'), ('a', '.'),
                     ('a', 'other/full'), ('a/b', 'a'), ('a', 'new/'), ('new', 'other/new'), ('other/new', 'a'),
                     ('other/full/x', 'other/x'), ('a/b/file', 'file/'), ('a/b/file', 'a'), ('nothing', 'a'),
                     ('a', 'nothing/a')):
        s.call(f'rename {old} to {new}', os.rename, old, new)
    s.tree('then')
    s.call('stat through the descriptor', os.stat, 'file', dir_fd=fd)
    s.call('listdir through the descriptor', lambda: sorted(os.listdir(fd)))
    before = os.lstat('other').st_nlink, os.lstat('a').st_nlink
    s.call('into another folder', os.rename, 'a/b', 'other/b')
    s.note('links of both folders', [before, os.lstat('other').st_nlink, os.lstat('a').st_nlink])
    s.note('.. is the new one', os.stat('other/b/..').st_ino == os.stat('other').st_ino)
    s.call('create through the descriptor', lambda: os.close(os.open('fresh', os.O_CREAT, dir_fd=fd)))
    s.call('stat by its path', os.lstat, 'other/b/fresh')
    s.call('into another folder, over an empty one', os.rename, 'other/b', 'other/x')
    s.call('chdir and rename of the working folder', lambda: (os.chdir('other/x'), os.rename('../x', '../y')) and None)
    s.stat('stat from there', 'fresh')
    s.note('its name', os.path.basename(os.getcwd()))


@case
def rename_times(s):
    os.mkdir('d')
    for kind in KINDS:
        s.make(kind, 'x')
        s.moved(f'rename of a {kind}', '.', os.rename, 'x', 'y')
        before = os.lstat('y')
        time.sleep(TICK)
        os.rename('y', 'd/x')
        s.order(f'times of a {kind} that was renamed', before, os.lstat('d/x'))
        s.remove('d/x')
    s.make('file', 'a')
    s.make('file', 'b')
    os.link('b', 'c')
    s.moved('rename onto a file with another name', 'c', os.rename, 'a', 'b')
    s.stat('what it was', 'c')


def in_sticky(s, act, what):
    """Who may take files out of a sticky folder."""
    for folder, owner, mode in (('both theirs', OWNER, 0o1777), ('sticky', 0, 0o1777), ('not sticky', 0, 0o777)):
        for kind in ('file', 'folder', 'link', 'fifo'):
            for file_owner in (OWNER, OTHER, 0):
                os.mkdir('d')
                os.chown('d', owner, owner)
                os.chmod('d', mode)
                s.make(kind, 'd/x')
                os.chown('d/x', file_owner, file_owner, follow_symlinks=False)
                act(s, f'{what} a {kind} of {file_owner} in a folder that is {folder}')
                s.remove('d')


@as_root
def rename_in_sticky_folders(s):
    os.mkdir('free')
    os.chmod('free', 0o777)

    def act(s, what):
        s.as_user(f'{what}, to another name', os.rename, 'd/x', 'd/y')
        s.as_user(f'{what}, back', os.rename, 'd/y', 'd/x')
        s.as_user(f'{what}, out of it', os.rename, 'd/x', 'free/x')
        s.remove('free/x')
    in_sticky(s, act, 'rename of')

    def onto(s, what):
        kind = 'folder' if os.path.isdir('d/x') and not os.path.islink('d/x') else 'file'
        s.make(kind, 'free/x')
        os.chown('free/x', OWNER, OWNER)
        s.as_user(what, os.rename, 'free/x', 'd/x')
        s.remove('free/x')
    in_sticky(s, onto, 'rename onto')


@as_root
def rename_as_others(s):
    for mode in (0o777, 0o755, 0o555, 0o733, 0o666):
        for name in ('a', 'b'):
            os.mkdir(name)
        s.make('file', 'a/x')
        os.mkdir('a/d')
        os.mkdir('a/own')
        os.chown('a/own', OWNER, OWNER)
        os.chmod('a', mode)
        os.chmod('b', 0o777)
        for old, new in (('a/x', 'a/y'), ('a/x', 'b/x'), ('b/x', 'a/x'), ('a/d', 'a/e'), ('a/d', 'b/d'),
                         ('a/own', 'b/own')):
            s.as_user(f'mode {mode:o}: rename {old} to {new}', os.rename, old, new)
        s.remove('a')
        s.remove('b')


# ---------------------------------------------------------------- unlink, mkdir, rmdir, links

@case
def unlink_and_rmdir_every_kind(s):
    for kind in KINDS + [None]:
        for what, f in (('unlink', os.unlink), ('rmdir', os.rmdir), ('unlinkat with AT_REMOVEDIR',
                                                                    lambda p: libc('unlinkat', AT_FDCWD, p, 0x200))):
            for path in ('x', 'x/', 'x/.', 'x/..'):
                if kind:
                    s.make(kind, 'x')
                s.call(f'{what} of {path} where x is a {kind}', f, path)
                s.stat(f'x after {what} of {path} where x is a {kind}', 'x')
                s.remove('x')
    s.call('rmdir of .', os.rmdir, '.')
    s.call('rmdir of ..', os.rmdir, '..')


@case
def unlink_times(s):
    for kind in [k for k in KINDS if 'folder' not in k]:
        s.make(kind, 'x')
        if 'link' not in kind:
            os.link('x', 'y')
            s.moved(f'unlink of one name of a {kind}', 'x', os.unlink, 'y')
            s.stat('what is left', 'x')
        s.moved(f'unlink of a {kind}', '.', os.unlink, 'x')
    s.moved('unlink of nothing', '.', os.unlink, 'x')
    s.moved('mkdir', '.', os.mkdir, 'd')
    s.moved('mkdir below', 'd', os.mkdir, 'd/e')
    s.moved('rmdir below', 'd', os.rmdir, 'd/e')
    s.moved('create below', 'd', lambda: os.close(os.open('d/f', os.O_CREAT)))
    s.moved('open below with O_CREAT', 'd', lambda: os.close(os.open('d/f', os.O_CREAT)))
    s.moved('write below', 'd', lambda: os.truncate('d/f', 10))
    s.moved('link below', 'd', os.link, 'd/f', 'd/g')
    s.moved('link', 'd/f', os.link, 'd/f', 'd/h')


@case
def unlink_of_open_files(s):
    for way in ('unlink', 'rename over it'):
        s.make('file', 'x')
        fd = s.open('open', 'x', os.O_RDWR)
        if way == 'unlink':
            s.call('unlink', os.unlink, 'x')
        else:
            s.make('file', 'y')
            s.call('rename over it', os.rename, 'y', 'x')
        s.call(f'{way}: fstat', os.fstat, fd)
        s.call(f'{way}: read', os.pread, fd, 100, 0)
        s.call(f'{way}: write', os.pwrite, fd, b'new text and longer', 5)
        s.call(f'{way}: read again', os.pread, fd, 100, 0)
        s.call(f'{way}: ftruncate', os.ftruncate, fd, 3)
        s.call(f'{way}: fchmod', os.fchmod, fd, 0o600)
        s.call(f'{way}: fchown', os.fchown, fd, os.getuid(), os.getgid())
        s.call(f'{way}: futimens', os.utime, fd, (1, 2))
        s.call(f'{way}: fsync', os.fsync, fd)
        s.call(f'{way}: fstat', os.fstat, fd)
        s.call(f'{way}: by /proc', lambda: os.stat(f'/proc/self/fd/{fd}').st_size)
        s.open(f'{way}: open by /proc', f'/proc/self/fd/{fd}', os.O_RDWR)
        s.call(f'{way}: link by /proc', libc, 'linkat', AT_FDCWD, f'/proc/self/fd/{fd}', AT_FDCWD, 'back',
               AT_SYMLINK_FOLLOW)
        s.read(f'{way}: the new file', 'x')
        s.make('file', 'z')
        s.same_inode(f'{way}: another', os.lstat('z'), os.fstat(fd))
        s.remove('x')
        s.remove('z')
        s.remove('back')


@case
def folders_that_are_gone(s):
    os.mkdir('d')
    fd = s.open('open', 'd', os.O_RDONLY | os.O_DIRECTORY)
    home = os.getcwd()
    os.chdir('d')
    s.call('rmdir of the working folder', os.rmdir, '../d')
    s.call('fstat', os.fstat, fd)
    s.stat('stat .', '.')
    s.open('create in it', 'x', os.O_CREAT | os.O_WRONLY)
    s.call('mkdir in it', os.mkdir, 'x')
    s.call('listdir', os.listdir, fd)
    s.call('getcwd', os.getcwd)
    s.call('fchmod', os.fchmod, fd, 0o700)
    s.stat('stat ..', '..')
    os.mkdir(home + '/d')
    s.stat('stat . with a new one of its name', '.')
    os.chdir(home)


@case
def mkdir_where_something_is(s):
    for kind in KINDS:
        s.make(kind, 'x')
        for path in ('x', 'x/', 'x/.'):
            s.call(f'mkdir {path} where x is a {kind}', os.mkdir, path)
        s.call(f'mkfifo where x is a {kind}', os.mkfifo, 'x')
        s.call(f'symlink where x is a {kind}', os.symlink, 'a', 'x')
        s.remove('x')
        s.remove('nothing')
    s.call('mkdir with a slash', os.mkdir, 'new/')
    s.call('mkdir below nothing', os.mkdir, 'a/b')
    s.call('mkdir of many', lambda: [os.mkdir(f'new/{i}') for i in range(100)] and None)
    s.stat('links of a folder of 100', 'new')


@as_root
def unlink_in_sticky_folders(s):
    in_sticky(s, lambda s, what: s.as_user(what, lambda: (os.rmdir if os.path.isdir('d/x') and not os.path.islink('d/x')
                                                         else os.unlink)('d/x')), 'removing')


@case
def hard_links(s):
    s.make('file', 'target')
    for kind in KINDS:
        s.make(kind, 'x')
        s.call(f'link of a {kind}', os.link, 'x', 'y', follow_symlinks=False)
        if os.path.lexists('y'):
            s.same_inode(f'link of a {kind}: they are', os.lstat('x'), os.lstat('y'))
        s.stat(f'link of a {kind}: its attributes', 'x')
        s.call(f'link of a {kind}, followed', libc, 'linkat', AT_FDCWD, 'x', AT_FDCWD, 'z', AT_SYMLINK_FOLLOW)
        s.stat(f'link of a {kind}, followed: its attributes', 'z')
        s.call(f'link onto a {kind}', os.link, 'target', 'x')
        for name in 'xyz':
            s.remove(name)
    s.call('link of nothing', os.link, 'nothing', 'x')
    s.call('link to below nothing', os.link, 'target', 'nothing/x')
    s.call('link with a slash', os.link, 'target', 'x/')
    os.mkdir('d')
    for i in range(200):
        os.link('target', f'd/{i}')
    s.stat('200 links', 'd/77')
    with open('d/5', 'ab') as f:
        f.write(b' and more')
    s.read('written by one name', 'd/199')
    s.stat('its size by another', 'target')
    s.call('unlink of the first', os.unlink, 'target')
    s.stat('199 links', 'd/0')


@as_root
def hard_links_of_others(s):
    os.chmod('.', 0o777)
    for mode in (0o600, 0o644, 0o666, 0o4755):
        s.make('file', 'x')
        os.chmod('x', mode)
        s.as_user(f'link of a file {mode:o} of root', os.link, 'x', 'y')
        s.remove('x')
        s.remove('y')


@case
def symlinks(s):
    for n in (1, 255, 4094, 4095, 4096, 5000):
        s.call(f'to {n} bytes', os.symlink, 't' * n, 'x')
        s.call(f'readlink of {n} bytes', os.readlink, 'x')
        s.stat(f'lstat of {n} bytes', 'x')
        s.remove('x')
    s.call('to nothing at all', os.symlink, '', 'x')
    s.call('to bytes that are no UTF-8', os.symlink, b'\xff\xfe/\n', 'x')
    s.call('read back', os.readlink, b'x')
    s.call('chmod of a link', libc, 'fchmodat', AT_FDCWD, 'x', 0o700, 0x100)
    s.call('times of a link', os.utime, 'x', (5, 6), follow_symlinks=False)
    s.note('they are', os.lstat('x').st_mtime)
    s.make('file', 'target')
    s.call('readlink of a file', os.readlink, 'target')
    os.mkdir('d')
    os.symlink('../target', 'd/up')
    s.read('through one that leads up', 'd/up')
    os.symlink(os.getcwd() + '/target', 'absolute')
    s.read('through an absolute one', 'absolute')
    os.unlink('absolute')
    os.symlink('d', 'to d')
    s.call('create below one that leads to a folder', lambda: os.close(os.open('to d/new', os.O_CREAT)))
    s.call('rmdir of it', os.rmdir, 'to d')
    s.call('rename of it with a slash', os.rename, 'to d/', 'e')
    s.call('listdir through it', lambda: sorted(os.listdir('to d')))
