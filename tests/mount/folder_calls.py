"""docs/calls.md, "Models in a folder": each line is a call that is made here, with the answer that it says."""
import os
import shutil
import stat

import lib
from lib import Mount, read
from calls import answer, check, table
from folder import KIT, model, put

CALLS = {}


def call(f):
    """The function of a line: its name is the id. It gives nothing, or raises OSError."""
    CALLS[f.__name__.strip('_').replace('_', '-')] = f
    return f


class Folder(Mount):
    def __init__(self, t, *options):
        self.t, self.folder = t, t.dir('folder')
        for name in KIT:
            put(self.folder, 'body.' + name[3:], data=model(t, name))
        put(self.folder, 'file', data=b'text')
        put(self.folder, 'sub', 'other', data=b'text')
        super().__init__(t, self.folder, *options)

    def at(self, *names):
        return os.path.join(self.point, *names)

    def own(self, *names):
        return os.path.join(self.folder, *names)


# ---------------------------------------------------------------- models

@call
def rmdir(m):
    os.rmdir(m.at('body.pmo'))


@call
def unlink(m):
    os.unlink(m.at('body.pmo'))


@call
def rename_model(m):
    data = read(m.own('body.pmo'))
    os.rename(m.at('body.pmo'), m.at('sub/new name'))
    check(read(m.own('sub/new name')) == data and os.path.exists(m.own('body.tmh')), os.listdir(m.folder))
    check('textures' not in os.listdir(m.at('sub/new name')), 'has companions still')


@call
def rename_onto(m):
    os.rename(m.at('file'), m.at('body.pmo'))


@call
def rename_model_onto(m):
    data = read(m.own('body.ahi'))
    os.rename(m.at('body.ahi'), m.at('body.pmo'))
    check(read(m.own('body.pmo')) == data == read(m.at('body.pmo/raw/whole.ahi')), 'other bytes')


@call
def rename_model_file(m):
    os.rename(m.at('body.pmo'), m.at('file'))


@call
def rename_in(m):
    try:
        os.rename(m.at('file'), m.at('body.pmo/materials.yaml'))
    finally:
        put(m.at('text'), data=read(m.at('body.pmo/materials.yaml')))
        shutil.move(m.at('text'), m.at('body.pmo/materials.yaml'))
        check(not os.path.exists(m.own('text')), 'it was not moved')


@call
def rename_out(m):
    os.rename(m.at('body.pmo/materials.yaml'), m.at('materials.yaml'))


@call
def create_(m):
    fd = os.open(m.at('new.yaml'), os.O_CREAT | os.O_WRONLY)
    os.write(fd, read(m.own('body.pmo')))
    check(os.path.isfile(m.at('new.yaml')), 'is no file while it is written')
    os.close(fd)
    check(os.path.isdir(m.at('new.yaml')), 'is no model then')


@call
def open_model(m):
    os.open(m.at('body.pmo'), os.O_WRONLY)


@call
def chmod_model(m):
    os.chmod(m.at('body.pmo'), 0o740)
    os.utime(m.at('body.pmo'), (1, 2))
    st = os.stat(m.own('body.pmo'))
    check(stat.S_IMODE(st.st_mode) == 0o640 and st.st_mtime == 2, 'not set')
    check(stat.S_IMODE(os.stat(m.at('body.pmo')).st_mode) == 0o750, oct(os.stat(m.at('body.pmo')).st_mode))


@call
def link_model(m):
    os.link(m.at('body.pmo'), m.at('linked'))


# ---------------------------------------------------------------- what is not there

def covered_by(m):
    if os.geteuid():
        raise lib.Skip('only root mounts')
    os.mkdir(m.own('cover'))
    put(m.own('cover'), 'below', data=b'')
    code, said = lib.other('mount', '-t', 'tmpfs', 'none', m.own('cover'))
    if code:
        raise lib.Skip('no tmpfs: ' + said)


@call
def covered(m):
    covered_by(m)
    try:
        check(os.listdir(m.at('cover')) == [] and 'cover' in os.listdir(m.point), 'not empty')
    finally:
        lib.force_unmount(m.own('cover'))
    check(os.listdir(m.at('cover')) == ['below'], 'not there again')


@call
def covered_create(m):
    covered_by(m)
    try:
        os.mkdir(m.at('cover/new'))
    finally:
        lib.force_unmount(m.own('cover'))


@call
def gone(m):
    reads, looks = os.open(m.at('file'), os.O_RDONLY), os.open(m.at('sub/other'), os.O_PATH)
    os.unlink(m.own('file'))
    os.unlink(m.own('sub/other'))
    check(os.fstat(reads).st_nlink == 0 and os.pread(reads, 9, 0) == b'text', 'is gone for who has it open')
    os.close(reads)
    try:
        os.fstat(looks)
    finally:
        os.close(looks)


# ---------------------------------------------------------------- all of them

def lines(t):
    rows = table(lib.MODELS_PART)
    t.none([i for i, _ in rows if i not in CALLS] + [i for i in CALLS if i not in dict(rows)],
           'docs/calls.md and the calls here are the same')
    t.same(sorted(set(i for i, _ in rows)), sorted(i for i, _ in rows), 'no line stands twice')
    for i, want in rows:
        if i not in CALLS:
            continue
        m = Folder(t, *(['allow_other'] if not os.geteuid() else []))
        try:
            with m:
                have = answer(m, CALLS[i])
        except lib.Skip as e:
            t.skip(str(e))
            continue
        t.same('EOPNOTSUPP' if have == 'ENOTSUP' else have, want, i)


if __name__ == '__main__':
    lib.main(lines, needs_fuse=True)
