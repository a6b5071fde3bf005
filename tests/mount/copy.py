"""Copying out of a mount, with the programs people use. What arrives is what `modelfs extract` writes."""
import errno
import os
import shutil
import subprocess
import sys

import lib
from lib import CORPUS, SANITIZERS, Mount, read, run, unless

PIECE = 4096                                       # what file managers read of a file to learn what it is


def sources(t):
    """(name, archive): the demo, and larger ones of the corpus."""
    yield 'demo', t.demo
    if not os.path.exists(os.path.join(CORPUS, 'mkmhp.py')):
        return t.skip('no corpus beside the source')
    where = t.dir('corpus')
    code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), where, '--seed', '3', '--what',
                           'mhfu,mhp3rd')
    if t.ok(code == 0, 'corpus', text):
        for name in ('mhfu', 'mhp3rd') if not SANITIZERS else ('mhfu',):     # 6,000 files in the latter
            yield name, os.path.join(where, name, 'DATA.BIN')


def tar(point, to):
    os.mkdir(to)
    a = subprocess.Popen(['tar', '-C', point, '-cf', '-', '.'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    b = subprocess.run(['tar', '-C', to, '-xf', '-'], stdin=a.stdout, stderr=subprocess.STDOUT, stdout=subprocess.PIPE)
    a.stdout.close()
    text = a.stderr.read() + b.stdout
    a.stderr.close()
    return a.wait() or b.returncode, text.decode(errors='replace')


def gio(point, to):
    """It copies files only, so one folder after the other."""
    code, said = 0, ''
    for at in [''] + [p for p, is_dir in lib.walk(point) if is_dir]:
        names = [e[0] for e in lib.entries(os.path.join(point, at)) if e[1] != lib.DT_DIR]
        os.makedirs(os.path.join(to, at), exist_ok=True)
        for i in range(0, len(names), 500):
            c, text = lib.other('gio', 'copy', *(os.path.join(point, at, n) for n in names[i:i + 500]),
                                os.path.join(to, at))
            code, said = code or c, said + text
    return code, said


# (title, program, function that copies the tree `point` to the new folder `to` and returns exit code and output)
COPIES = (
    ('cp -r', 'cp', lambda point, to: lib.other('cp', '-r', point, to)),
    ('cp -a', 'cp', lambda point, to: lib.other('cp', '-a', point, to)),
    ('rsync -a', 'rsync', lambda point, to: lib.other('rsync', '-a', point + '/', to)),
    ('tar', 'tar', tar),
    ('gio copy', 'gio', gio),
)


def sound(t):
    for name, archive in sources(t):
        want = lib.snapshot(t.extract(archive))
        with Mount(t, archive) as m:
            all_ways = name != 'mhp3rd' and (name == 'demo' or not SANITIZERS)
            for what, program, copy in COPIES if all_ways else COPIES[:1]:
                copying(t, m, f'{name}: {what}', program, copy, want, archive)
        again(t, name, archive)


def copying(t, m, title, program, copy, want, archive):
    try:
        lib.need(program)
    except lib.Skip as e:
        return t.skip(f'{title}: {e}')
    to = os.path.join(t.dir('copy'), 'x')
    code, text = copy(m.point, to)
    t.ok(code == 0 and not text, title, (code, text[-300:]))
    t.none(lib.differences(lib.snapshot(to), want), f'{title}: {len(want)} files and folders, equal to extract')
    if title.endswith(' -a'):
        time = os.stat(archive).st_mtime_ns
        t.none([p for p in lib.files(to) if os.stat(os.path.join(to, p)).st_mtime_ns != time], f'{title}: times')
    shutil.rmtree(to, ignore_errors=True)


def again(t, name, archive):
    """A second rsync finds nothing to do, also after a remount."""
    try:
        lib.need('rsync')
    except lib.Skip as e:
        return t.skip(f'{name}: second rsync: {e}')
    to = os.path.join(t.dir('copy'), 'x')
    with Mount(t, archive) as m:
        lib.other('rsync', '-a', m.point + '/', to)
    with Mount(t, archive) as m:
        code, text = lib.other('rsync', '-ai', m.point + '/', to)
        t.ok(code == 0 and not text, f'{name}: a second rsync after a remount copies nothing', (code, text[:300]))
        code, text = lib.other('rsync', '-aic', m.point + '/', to)
        t.ok(code == 0 and not text, f'{name}: nor does one that compares contents', (code, text[:300]))


def browse(root):
    """What the GNOME file manager does when folders are looked at: -> problems, files"""
    bad, n, queue = [], 0, ['']
    os.statvfs(root)
    while queue:
        at = queue.pop(0)
        folder = os.path.join(root, at)
        try:
            os.stat(os.path.join(folder, '.hidden'))
            bad.append(f'{at}: a .hidden')
        except FileNotFoundError:
            pass
        for name, kind, *_ in lib.entries(folder):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            os.access(path, os.W_OK)
            for call in (lambda: os.getxattr(path, 'user.xdg.origin.url'),
                         lambda: os.getxattr(path, 'security.selinux'), lambda: os.listxattr(path)):
                try:
                    if call():
                        bad.append(f'{path}: extended attributes')
                except OSError as e:
                    bad += unless(e.errno in (errno.ENOTSUP, errno.ENODATA), f'{path}: {e}')
            if kind == lib.DT_DIR:
                queue.append(os.path.join(at, name))
                continue
            n += 1
            with open(path, 'rb') as f:
                got = f.read(PIECE)
            if len(got) != min(PIECE, st.st_size):
                bad.append(f'{path}: {len(got)} bytes of {st.st_size}')
        os.statvfs(folder)
    return bad, n


def manager(t):
    for name, archive in sources(t):
        with Mount(t, archive) as m:
            bad, n = browse(m.point)
            t.none(bad, f'{name}: the way of the GNOME file manager over {n} files')
            t.ok(n > 100, f'{name}: there are files', n)
            if not shutil.which('gio'):
                t.skip('gio is not installed')
                continue
            some = [p for p in lib.files(m.point) if p.endswith(('.obj', '.png', '.yaml', '.mtl', '.bin'))][:60]
            code, text = lib.other('gio', 'info', *(os.path.join(m.point, p) for p in some))
            sizes = [int(x.split()[-1]) for x in text.splitlines() if x.strip().startswith('size:')]
            t.ok(code == 0 and sizes == [os.stat(os.path.join(m.point, p)).st_size for p in some], f'{name}: gio info',
                 (code, text[-200:]))
            code, text = lib.other('gio', 'tree', m.point)
            t.ok(code == 0 and text.count('\n') > n, f'{name}: gio tree', (code, text[-200:]))
            code, text = lib.other('gio', 'list', '-l', '-a', 'standard::*,access::*,filesystem::*,time::modified',
                                   m.point)
            t.ok(code == 0 and text.count('\n') == len(os.listdir(m.point)), f'{name}: gio list', (code, text[-200:]))


def damaged(t):
    """From a damaged archive all other files arrive."""
    top = t.kit
    good = read(t.tree, top, 'raw', 'whole.pac')
    model = read(t.tree, top, '00.pmo', 'raw', 'whole.pmo')
    picture = read(t.tree, top, '02.tmh', 'raw', 'whole.tmh')
    at, image = good.index(model), good.index(picture)
    index = model_geometry(model)
    variants = [good,
                good[:at + 0x20] + b'\xf0\xff\xff\xff' + good[at + 0x24:],      # the mesh table near 4 GB
                good[:at + index] + b'\xff' * 64 + good[at + index + 64:],      # a display list of nonsense
                good[:image + 40] + b'\x4d' + good[image + 41:],                # pixel format 77
                good]
    archive = t.file('DATA.BIN', lib.plain_archive(variants))
    reference = os.path.join(t.dir('extract'), 'x')
    t.same(run('extract', archive, reference).returncode, 1, 'extract of a damaged archive')
    want = lib.snapshot(reference)
    with Mount(t, archive) as m:
        first = lib.snapshot(m.point)
        broken = {p for p, v in first.items() if isinstance(v, str)}
        t.ok({first[p] for p in broken} <= {os.strerror(errno.EIO)}, 'what cannot be read is EIO',
             {first[p] for p in broken})
        t.none([p for p in broken if os.stat(os.path.join(m.point, p)).st_size], 'and has size 0')
        t.ok(any(p.endswith('errors.txt') for p in first), 'errors.txt is there')
        settled = lib.snapshot(m.point)            # reading found more to say in errors.txt
        sane = {p: v for p, v in settled.items() if p not in broken}
        t.none(lib.differences(sane, want), 'the others are as extract writes them')
        for what, program, copy in COPIES:
            if not shutil.which(program):
                t.skip(f'{what}: {program} is not installed')
                continue
            to = os.path.join(t.dir('copy'), 'x')
            code, text = copy(m.point, to)
            have = lib.snapshot(to)
            t.none(lib.differences({p: v for p, v in have.items() if p not in broken}, sane),
                   f'damaged: {what}: all other files arrive')
            t.ok(bool(code) == bool(broken), f'damaged: {what}: exit code', (code, text[-300:]))
        t.same(m.process.poll(), None, 'the daemon lives')


def model_geometry(model):
    """Where the first display list of a PMO 1.0 begins."""
    group, region = (int.from_bytes(model[x:x + 4], 'little') for x in (0x24, 0x34))
    return region + int.from_bytes(model[group + 4:group + 8], 'little')


if __name__ == '__main__':
    lib.main(sound, manager, damaged, needs_fuse=True)
