"""Containers like discs, by a program whose formats are those of plate.c: mounted alone, in a folder and through a note
that leads there; what every call answers, what programs do to files in them, and what is written for that.
"""
import errno
import os
import re
import struct
import subprocess
import time

import lib
from lib import Mount, read, run
from calls import answer, check, table
from mount import attempt

KINDS = {'bare': '.plt', 'sectors': '.plt', 'squashed': '.sqp'}
HEAD, RECORD, USER, BLOCK = 16, 56, 56, 64
FOLDER, FIXED, LOST = 1, 2, 4
YEAR_2001 = 978307200
ROOM = 400


def entry(name, data=b'', room=ROOM, when=YEAR_2001, flags=0, split=0):
    return {'name': name, 'data': data, 'room': 0 if flags & FOLDER else room, 'when': when, 'flags': flags,
            'split': split}


def medium(entries):
    """What the entries lie in; see plate.c."""
    at, table_, data = HEAD + 4 + RECORD * len(entries), b'', b''
    for e in entries:
        first, size = e['split'] or len(e['data']), len(e['data'])
        table_ += struct.pack('<32s6I', e['name'].encode(), at, first, at + first + 8 if e['split'] else 0,
                              size - first if e['split'] else 0, e['when'], e['flags'])
        e['at'] = at
        part = e['data'][:first] + (b'\xee' * 8 if e['split'] else b'') + e['data'][first:]
        part += bytes(max(e['room'] - size, 0))
        at += len(part)
        data += part
    return bytes(HEAD) + struct.pack('<I', len(entries)) + table_ + data


def pack(block):
    out = b'R'
    for run_ in re.finditer(rb'(.)\1*', block, re.S):
        out += bytes([len(run_[0])]) + run_[1]
    return out if len(out) <= BLOCK else b'P' + block


def build(kind, entries):
    m = medium(entries)
    if kind == 'bare':
        return b'PLAT' + m[4:]
    size = USER if kind == 'sectors' else BLOCK
    m += bytes(-len(m) % size)
    parts = [m[i:i + size] for i in range(0, len(m), size)]
    if kind == 'sectors':
        return b'PLAT' + struct.pack('<3I', 1, len(m), 0) + b''.join(
            struct.pack('<I', i) + p + struct.pack('<I', sum(p)) for i, p in enumerate(parts))
    packed = [pack(p) for p in parts]
    places = [HEAD + 4 * (len(parts) + 1)]
    for p in packed:
        places.append(places[-1] + len(p))
    return b'SQUA' + struct.pack('<3I', 2, len(m), 0) + struct.pack(f'<{len(places)}I', *places) + b''.join(packed)


def unwrap(data):
    """The medium of a file; sums must be right."""
    kind, size = struct.unpack_from('<2I', data, 4)
    if data[:4] == b'PLAT' and not kind:
        return bytes(HEAD) + data[HEAD:]
    out = b''
    if kind == 1:
        for at in range(HEAD, len(data), 64):
            user = data[at + 4:at + 60]
            assert struct.unpack_from('<I', data, at + 60)[0] == sum(user), f'sum of the sector at {at}'
            out += user
        return out
    places = struct.unpack_from(f'<{size // BLOCK + 1}I', data, HEAD)
    for at, end in zip(places, places[1:]):
        block = data[at + 1:at + 1 + BLOCK] if data[at:at + 1] == b'P' else b''
        for k in range(at + 1, end, 2):
            if len(block) < BLOCK:
                block += data[k:k + 1] * 0 + data[k + 1:k + 2] * data[k]
        out += block
    return out


TEXT = b'a line of text\nand another one\n'


def several():
    return [entry('A.TXT', TEXT), entry('SUB', flags=FOLDER), entry('SUB/B.TXT', b'b' * 100),
            entry('EMPTY', flags=FOLDER), entry('PIECES.DAT', bytes(range(200)), split=50),
            entry('FIXED.DAT', b'fixed', flags=FIXED), entry('LOST.DAT', b'lost!', flags=LOST),
            entry('NONE.DAT', b''), entry('LAST.DAT', b'last')]


class Plate(Mount):
    def __init__(self, t, *options, kind='bare', entries=None):
        self.entries = entries or several()
        self.kind, self.t = kind, t
        self.file = t.file('image' + KINDS[kind], build(kind, self.entries))
        super().__init__(t, self.file, *options)

    def at(self, *names):
        return os.path.join(self.point, *names)

    def has(self, **data):
        """Whether the image is one of the same entries, some with other contents; by the names before the dot."""
        for e in self.entries:
            stem = re.sub(r'\W', '_', e['name'].rsplit('.', 1)[0])
            e['data'] = data.get(stem, e['data'])
        want = medium(self.entries)
        return unwrap(read(self.file))[:len(want)] == want


# ---------------------------------------------------------------- calls

CALLS = {}


def call(f):
    CALLS[f.__name__.replace('_', '-')] = f
    return f


def all_fail(code, *calls):
    have = [attempt(*c) for c in calls]
    check(have == [code] * len(calls), have)
    raise OSError(code, 'as it should')


def opened(path, flags):
    os.close(os.open(path, flags))


@call
def disc_create(m):
    for name in ('A.TXT~', '.A.TXT.swp', 'sedAbCdEf', 'A.TXT.tmp', 'SUB/B.TXT.k2LxQm'):
        open(m.at(name), 'xb').close()
        os.unlink(m.at(name))
    all_fail(errno.EPERM, *[(open, m.at(n), 'xb') for n in ('NEW.TXT', 'NEW.XYZ', 'SUB/new.dat', 'x.iso')],
             (os.mknod, m.at('N.TXT')))


@call
def disc_unlink(m):
    code = attempt(os.unlink, m.at('SUB/B.TXT'))
    check(read(m.at('SUB/B.TXT')) == b'b' * 100, 'it is gone')
    all_fail(errno.EPERM, (os.unlink, m.at('A.TXT')), (os.unlink, m.at('NONE.DAT')))
    check(code == errno.EPERM, code)


@call
def disc_rename(m):
    all_fail(errno.EPERM, (os.rename, m.at('A.TXT'), m.at('NEW.TXT')), (os.rename, m.at('A.TXT'), m.at('LAST.DAT')),
             (os.rename, m.at('A.TXT'), m.at('SUB/A.TXT')), (os.rename, m.at('SUB'), m.at('TWO')))


@call
def disc_mkdir(m):
    all_fail(errno.EPERM, (os.mkdir, m.at('x')), (os.rmdir, m.at('EMPTY')), (os.symlink, 'x', m.at('y')),
             (os.link, m.at('A.TXT'), m.at('z')))


@call
def disc_truncate(m):
    for size in (10, 0, 5, ROOM, 31):
        os.truncate(m.at('A.TXT'), size)
        now = {10: TEXT[:10], 0: b'', 5: bytes(5), ROOM: bytes(ROOM), 31: bytes(31)}[size]
        check(m.has(A=now) and read(m.at('A.TXT')) == now and os.stat(m.at('A.TXT')).st_size == size, size)


@call
def disc_truncate_more(m):
    os.truncate(m.at('A.TXT'), ROOM + 1)


@call
def disc_ftruncate(m):
    fd = os.open(m.at('A.TXT'), os.O_RDWR)
    os.ftruncate(fd, 7)
    check(m.has(A=TEXT), 'saved too early')
    os.fsync(fd)
    check(m.has(A=TEXT[:7]), 'not saved by fsync')
    os.ftruncate(fd, 3)
    os.close(fd)
    check(m.has(A=TEXT[:3]), 'not saved by close')


@call
def disc_empty(m):
    fd = os.open(m.at('A.TXT'), os.O_WRONLY | os.O_TRUNC)
    os.close(os.dup(fd))
    check(m.has(A=TEXT), 'saved too early')
    os.close(fd)
    check(lib.wait_for(lambda: m.has(A=b'')), 'not saved')
    check(read(m.at('A.TXT')) == b'', 'read')


@call
def disc_append(m):
    with open(m.at('A.TXT'), 'ab') as f:
        f.write(b'more')
    check(m.has(A=TEXT + b'more'), 'not saved')


@call
def disc_write_more(m):
    fd = os.open(m.at('A.TXT'), os.O_WRONLY)
    os.write(fd, bytes(ROOM + 1))
    try:
        os.close(fd)
    finally:
        check(m.has(A=TEXT), 'something is written')


@call
def disc_fixed(m):
    all_fail(errno.EROFS, *[(opened, m.at(n), f) for n in ('PIECES.DAT', 'FIXED.DAT')
                            for f in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC)],
             (os.truncate, m.at('PIECES.DAT'), 3), (os.truncate, m.at('FIXED.DAT'), 0))


@call
def disc_lost(m):
    check(os.stat(m.at('LOST.DAT')).st_size == 5, 'size')
    all_fail(errno.EIO, (read, m.at('LOST.DAT')))


@call
def disc_lost_write(m):
    all_fail(errno.EIO, (opened, m.at('LOST.DAT'), os.O_WRONLY), (os.truncate, m.at('LOST.DAT'), 0))


def calls(t):
    rows = table(lib.DISC_PART)
    t.none([i for i, _ in rows if i not in CALLS] + [i for i in CALLS if i not in dict(rows)],
           'docs/calls.md and the calls here are the same')
    for i, want in rows:
        for kind in ('bare', 'sectors'):
            with Plate(t, kind=kind) as m:
                t.same(answer(m, CALLS[i]), want, f'{i}: {kind}')


# ---------------------------------------------------------------- trees and programs

def shown(t):
    for kind in KINDS:
        with Plate(t, kind=kind) as m:
            t.same(os.listdir(m.point), ['A.TXT', 'SUB', 'EMPTY', 'PIECES.DAT', 'FIXED.DAT', 'LOST.DAT', 'NONE.DAT',
                                         'LAST.DAT'], f'{kind}: order')
            t.same([os.listdir(m.at(d)) for d in ('SUB', 'EMPTY')], [['B.TXT'], []], f'{kind}: folders')
            t.same({n: read(m.at(n)) for n in ('A.TXT', 'SUB/B.TXT', 'PIECES.DAT', 'FIXED.DAT', 'NONE.DAT')},
                   {e['name']: e['data'] for e in m.entries if '.' in e['name'] and e['name'][:2] not in ('LO', 'LA')},
                   f'{kind}: contents')
            t.same([os.stat(m.at(n)).st_mtime for n in ('A.TXT', 'SUB', 'EMPTY', 'SUB/B.TXT')], [YEAR_2001] * 4,
                   f'{kind}: times')
        to = os.path.join(t.dir('out'), 'x')
        r = run('extract', m.file, to)
        t.ok(r.returncode == 1 and 'LOST.DAT' in r.stderr and r.stderr.count('\n') < 4, f'{kind}: extract says',
             r.stderr)
        t.same(read(to, 'PIECES.DAT'), bytes(range(200)), f'{kind}: extracted')
        t.same(os.listdir(os.path.join(to, 'EMPTY')), [], f'{kind}: an empty folder is extracted')
        t.same(run('cat', m.file, 'SUB/B.TXT').stdout, b'b' * 100, f'{kind}: cat')


def shell(command, cwd):
    return subprocess.run(command, shell=True, cwd=cwd, capture_output=True)


def programs(t):
    """Each command leaves that text in A.TXT, and all else as it was."""
    jobs = [("sed -i 's/line/LINE/' A.TXT", TEXT.replace(b'line', b'LINE')),
            ("sed -i -e '1d' A.TXT", TEXT.split(b'\n', 1)[1]),
            ('echo new > A.TXT', b'new\n'),
            ('{ echo one; echo two; } > A.TXT', b'one\ntwo\n'),
            ('echo new >> A.TXT', TEXT + b'new\n'),
            (': > A.TXT', b''),
            ('truncate -s 12 A.TXT', TEXT[:12]),
            ('truncate -s 0 A.TXT', b''),
            ('cp SUB/B.TXT A.TXT', b'b' * 100),
            ('cp /dev/null A.TXT', b''),
            ('printf XY | dd of=A.TXT bs=1 seek=2 conv=notrunc', TEXT[:2] + b'XY' + TEXT[4:]),
            ('cp A.TXT A.TXT~ && echo x > A.TXT && mv A.TXT~ A.TXT', TEXT),
            ('mv A.TXT A.TXT~ && cp A.TXT~ A.TXT && echo y >> A.TXT && rm A.TXT~', TEXT + b'y\n'),
            ('perl -pi -e s/a/A/g A.TXT', TEXT.replace(b'a', b'A'))]
    for command, want in jobs:
        for kind in KINDS:
            with Plate(t, 'grow', kind=kind) as m:
                shell('ls -lR; cat LAST.DAT SUB/B.TXT', m.point)       # so that all of it is known
                r = shell(command, m.point)
                good = r.returncode == 0 and read(m.at('A.TXT')) == want and lib.wait_for(lambda: m.has(A=want))
                t.ok(good, f'{kind}: {command}', (r, read(m.at('A.TXT'))))
                t.same([os.stat(m.at(n)).st_mtime for n in ('LAST.DAT', 'SUB/B.TXT')], [YEAR_2001] * 2,
                       f'{kind}: {command}: other times')
                t.same((read(m.at('LAST.DAT')), read(m.at('SUB/B.TXT'))), (b'last', b'b' * 100),
                       f'{kind}: {command}: other files')
            run('undo', m.file, '9')
            t.ok(m.has(A=TEXT), f'{kind}: {command}: undone')


def in_folder(t):
    folder = t.dir('folder')
    for kind, ext in KINDS.items():
        open(os.path.join(folder, kind + ext), 'wb').write(build(kind, several()))
    open(os.path.join(folder, 'a.note'), 'wb').write(b'NOTE bare.plt\n')
    with Mount(t, folder, 'grow') as m:
        t.same(read(m.point, 'a.note'), b'NOTE bare.plt\n', 'a note is a file')
        for kind, ext in KINDS.items():
            disc = os.path.join(m.point, kind + ext)
            t.same(os.listdir(os.path.join(disc, 'SUB')), ['B.TXT'], f'{kind}: in a folder')
            with open(os.path.join(disc, 'SUB', 'B.TXT'), 'r+b') as f:
                f.write(b'x' * 120)
            t.same(read(disc, 'SUB', 'B.TXT'), b'x' * 120, f'{kind}: read back')
            entries = several()
            entries[2]['data'] = b'x' * 120
            want = medium(entries)
            t.same(unwrap(read(folder, kind + ext))[:len(want)], want, f'{kind}: image')


def notes(t):
    """All that is done to a note is done to what it leads to."""
    folder = t.dir('folder')
    os.mkdir(os.path.join(folder, 'sub'))
    image = os.path.join(folder, 'sub', 'image.plt')
    open(image, 'wb').write(build('bare', several()))
    note, bad = os.path.join(folder, 'a.note'), os.path.join(folder, 'bad.note')
    open(note, 'wb').write(b'NOTE SUB/Image.PLT\n')
    open(bad, 'wb').write(b'NOTE ../x\n')
    with Mount(t, note) as m:
        with open(os.path.join(m.point, 'A.TXT'), 'wb') as f:
            f.write(b'through the note')
        r = run('put', note, 'A.TXT', bad)
        t.ok(r.returncode == 1 and 'mounted' in r.stderr, 'put beside a mount', r.stderr)
        t.ok(run('mount', image, t.dir('two')).returncode == 1, 'a second writer, by the image itself')
    t.ok(b'through the note' in read(image), 'the image is written')
    t.same(run('cat', image, 'A.TXT').stdout, b'through the note', 'cat of the image')
    t.same(run('cat', note, 'A.TXT').stdout, b'through the note', 'cat of the note')
    t.ok(run('ls', note).stdout.startswith(b'A.TXT\n'), 'ls')
    t.ok(b'A.TXT' in run('log', note).stdout and b'1 commit' in run('log', image).stdout, 'log')
    t.ok(run('put', note, 'SUB/B.TXT', bad).returncode == 0, 'put')
    t.ok(run('undo', note, '2').returncode == 0 and read(image) == build('bare', several()), 'undo')
    info = run('info', note).stdout
    t.same(info, b'kind: bare\nentries: 9\nled: by a note\n', 'info')
    t.same(run('info', '-v', image).stdout, info.replace(b'by a note', b'no') + b'medium_bytes: %d\n' %
           len(medium(several())), 'info -v')
    t.ok(run('verify', note).returncode in (0, 1), 'verify')
    for name in ('mount', 'info', 'ls', 'log', 'undo', 'verify'):
        r = run(name, bad, *([t.dir('m')] if name == 'mount' else []))
        t.ok(r.returncode == 1 and 'no path below its own folder' in r.stderr, f'{name} of one that leads out',
             r.stderr)


if __name__ == '__main__':
    lib.main(calls, shown, programs, in_folder, notes, needs_fuse=True)
