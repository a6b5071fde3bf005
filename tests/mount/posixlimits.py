"""Cases of posix.py on file systems that take no more: full ones, and read-only ones."""
import os
import stat

import lib
from both import AT_FDCWD, libc


def without_space(s):
    """1 MiB and 30 inodes, one of which is this folder's."""
    fd = s.open('create', 'x', os.O_CREAT | os.O_RDWR)
    for i in range(70):
        s.call(f'write of 16 KiB, {i}', os.write, fd, b'x' * 16384)
    s.call('size', lambda: os.fstat(fd).st_size)
    s.call('write over what is there', os.pwrite, fd, b'y' * 4096, 8192)
    s.call('fallocate', os.posix_fallocate, fd, 0, 2 << 20)
    s.call('ftruncate longer', os.ftruncate, fd, 2 << 20)
    s.call('write into the hole', os.pwrite, fd, b'z' * 4096, (2 << 20) - 4096)
    s.call('fsync', os.fsync, fd)
    s.call('ftruncate', os.ftruncate, fd, 5)
    s.call('write then', os.pwrite, fd, b'z' * 4096, 5)
    s.close(fd)
    made = fill_up()                               # not the same number: the mount has a file of its own
    s.call('mkdir without inodes', os.mkdir, 'one more')
    s.open('create without inodes', 'y', os.O_CREAT | os.O_WRONLY)
    s.call('mkfifo without inodes', os.mkfifo, 'y')
    s.call('symlink without inodes', os.symlink, 'x', 'y')
    s.call('rename without inodes', os.rename, 'x', 'y')
    s.call('link without inodes', os.link, 'y', 'x')
    s.open('O_TMPFILE without inodes', '.', os.O_TMPFILE | os.O_WRONLY)
    s.call('rmdir', os.rmdir, made.pop())
    lib.wait_for(lambda: can_create('z'), 1)       # the mount lets go of the folder a moment later
    s.stat('create then', 'z')
    for name in made:
        os.rmdir(name)


def fill_up():
    """Makes folders until no more can be made."""
    made = []
    while len(made) < 100:
        try:
            os.mkdir(f'd{len(made)}')
        except OSError:
            break
        made.append(f'd{len(made)}')
    return made


def can_create(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        return True
    except OSError:
        return False


def fill(path):
    os.mkdir(os.path.join(path, 'there'))
    os.mkdir(os.path.join(path, 'there', 'folder'))
    for name in ('file', 'other'):
        with open(os.path.join(path, 'there', name), 'w') as f:
            f.write('text of ' + name)
    os.symlink('file', os.path.join(path, 'there', 'link'))
    os.mkfifo(os.path.join(path, 'there', 'fifo'))


def read_only(s):
    os.chdir('../there')
    for name in ('file', 'folder', 'link', 'fifo', 'new'):
        for what, flags in (('reading', 0), ('writing', os.O_WRONLY), ('both', os.O_RDWR), ('O_CREAT', os.O_CREAT),
                            ('O_CREAT, O_EXCL', os.O_CREAT | os.O_EXCL), ('O_TRUNC', os.O_TRUNC),
                            ('O_CREAT, writing', os.O_CREAT | os.O_WRONLY), ('O_TMPFILE', os.O_TMPFILE | os.O_RDWR)):
            fd = s.open(f'open for {what} of {name}', name, flags | os.O_NONBLOCK)
            if fd is not None:
                s.close(fd)
        for what, f, *args in (('truncate', os.truncate, name, 3), ('chmod', os.chmod, name, 0o600),
                               ('chown', os.chown, name, 1, 1), ('lchown', os.lchown, name, 1, 1),
                               ('times', os.utime, name, (1, 2)), ('unlink', os.unlink, name),
                               ('rmdir', os.rmdir, name),
                               ('mkdir', os.mkdir, name), ('symlink', os.symlink, 'x', name),
                               ('mkfifo', os.mkfifo, name),
                               ('mknod', os.mknod, name, stat.S_IFREG), ('link from', os.link, name, 'newer'),
                               ('link to', os.link, 'other', name), ('rename from', os.rename, name, 'newer'),
                               ('rename to', os.rename, 'other', name), ('stat', os.lstat, name),
                               ('renameat2', libc, 'renameat2', AT_FDCWD, name, AT_FDCWD, 'other', 2)):
            s.call(f'{what} of {name}', f, *args)
        for bits in (4, 2, 1):
            s.note(f'access {bits} of {name}', os.access(name, bits))
    fd = s.open('open', 'file', os.O_RDONLY)
    s.call('fchmod', os.fchmod, fd, 0o600)
    s.call('futimens', os.utime, fd, (1, 2))
    s.call('fsync', os.fsync, fd)
    s.call('read', os.read, fd, 100)
    s.note('read-only', os.statvfs('.').f_flag & os.ST_RDONLY)
