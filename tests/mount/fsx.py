"""Random operations on files of a mount against a copy in memory: raw sections of fixed size, plain entries, scratch
files.

After every operation the file reads as the copy, through the open handle and by its path; after a close, in the
archive.
MODELFS_SEED chooses other operations, MODELFS_LONG=1 makes more of them.
"""
import errno
import mmap
import os
import random
import struct

import lib
from lib import BLOCK, SANITIZERS, Mount, read, run
from mount import attempt

LONG = os.environ.get('MODELFS_LONG') == '1'
SEED = int(os.environ.get('MODELFS_SEED', '1'))
STEPS = 50000 if LONG else 800 if SANITIZERS else 4000          # per file
MOST = 40000                                       # bytes a file is asked to have
SPAN = 9000                                        # bytes of one operation


def archive_of(parts, pairs):
    """A plain DATA.BIN. parts: bytes of files; pairs: numbers of those whose exact size is stored."""
    table = (4 * (len(parts) + 1) + 8 * len(pairs) + BLOCK - 1) // BLOCK
    starts, body = [table], b''
    for p in parts:
        body += p + bytes(-len(p) % BLOCK)
        starts.append(table + len(body) // BLOCK)
    head = struct.pack(f'<{len(starts)}I', *starts) + b''.join(struct.pack('<2I', i, len(parts[i])) for i in pairs)
    return head + bytes(table * BLOCK - len(head)) + body


class Raw:
    """A raw section: its size stays."""
    def __init__(self, size):
        self.size = size

    def stored(self, data):
        """What the file is after it was saved; None: refused."""
        return data if len(data) == self.size else None


class Plain:
    """A plain entry: as long as its slot; with a pair, as long as its bytes reach into the slot's last block."""
    def __init__(self, slot, pair):
        self.slot, self.pair = slot, pair

    def stored(self, data):
        if len(data) > self.slot:
            return None
        least = self.slot - BLOCK + 1 if self.pair else self.slot
        return data + bytes(max(0, least - len(data)))


class Scratch:
    """In memory only: every write is final."""
    def stored(self, data):
        return data


class File:
    """One file under test: what is saved, what the open handle has made of it, and whether that is an edit."""

    def __init__(self, archive, root, name, kind, data, rng):
        self.archive, self.root, self.name, self.kind, self.rng = archive, root, name, kind, rng
        self.path = os.path.join(root, name)
        self.saved, self.now, self.dirty, self.wrote, self.fd = data, data, False, False, None
        self.scratch = isinstance(kind, Scratch)
        self.refused = False                       # the last save was, and nothing was written since
        self.log, self.counts = [], {}

    # ---- the copy

    def put(self, at, data):
        old = self.now + bytes(max(0, at - len(self.now)))
        self.now = old[:at] + data + old[at + len(data):]
        self.dirty, self.wrote, self.refused = True, True, False

    def settle(self):
        """A save: whether it is expected to work."""
        if self.scratch:
            self.saved = self.now
        elif self.dirty:
            stored = self.kind.stored(self.now)
            self.dirty, self.refused = False, stored is None
            if stored is not None:
                self.saved = stored
        return not self.refused

    # ---- operations

    def open(self):
        self.fd = os.open(self.path, os.O_RDWR)
        self.now, self.dirty, self.wrote, self.refused = self.saved, False, False, False

    def close(self):
        good = self.settle()
        self.expect('close', attempt(os.close, self.fd), good)
        self.fd = None
        self.now = self.saved
        if not self.scratch:
            r = run('cat', self.archive, self.name)
            self.same('cat beside the mount', r.stdout)

    def expect(self, what, code, good):
        if (code == 0) != good or code not in (0, errno.EINVAL, errno.ENOSPC):
            raise AssertionError(f'{what}: {errno.errorcode.get(code, code)}, expected {"0" if good else "a refusal"}')

    def span(self):
        at = self.rng.randrange(len(self.now) + 1)
        return at, self.rng.randint(1, max(1, min(SPAN, len(self.now) - at)))

    def op_read(self):
        at, n = self.span()
        self.same(f'pread {n} at {at}', os.pread(self.fd, n, at), self.now[at:at + n])

    def op_write(self):
        at, n = self.span()
        data = self.rng.randbytes(n)
        self.log.append((at, n))
        if os.pwrite(self.fd, data, at) != n:
            raise AssertionError('short write')
        self.put(at, data)

    def op_extend(self):
        at = self.rng.randint(len(self.now), max(len(self.now), min(MOST, len(self.now) + SPAN)))
        data = self.rng.randbytes(self.rng.randint(1, 500))
        self.log.append((at, len(data)))
        os.pwrite(self.fd, data, at)
        self.put(at, data)

    def op_rewrite(self):
        """As an editor does, with a size that is right more often than not."""
        n = len(self.saved) if self.rng.random() < 0.7 else self.rng.randrange(MOST)
        data = self.rng.randbytes(n)
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, data, 0)
        self.now = data
        if data:
            self.put(0, data)

    def op_truncate(self):
        """Of a view an edit only when something was written, and something is left."""
        n = self.rng.randrange(min(MOST, 2 * len(self.now) + 1))
        self.log.append(n)
        os.ftruncate(self.fd, n)
        self.now = self.now[:n] + bytes(max(0, n - len(self.now)))
        if n and self.wrote:
            self.dirty, self.refused = True, False

    def op_truncate_path(self):
        """Alone it is no edit of a view."""
        n = self.rng.randrange(MOST)
        if self.scratch:
            os.truncate(self.path, n)
            self.now = self.now[:n] + bytes(max(0, n - len(self.now)))
        elif self.fd is None:
            os.truncate(self.path, n)

    def op_fsync(self):
        good = self.settle()
        self.expect('fsync', attempt(os.fsync, self.fd), good)

    def op_mmap_read(self):
        if not self.now:
            return
        with mmap.mmap(self.fd, len(self.now), mmap.MAP_SHARED, mmap.PROT_READ) as m:
            at, n = self.span()
            self.same('mapped', m[at:at + n], self.now[at:at + n])
        self.settle()                              # Python's mapping has a descriptor of its own, and its close is one

    def op_mmap_write(self):
        if not self.now:
            return
        with mmap.mmap(self.fd, len(self.now), mmap.MAP_SHARED) as m:
            at, n = self.span()
            n = min(n, len(self.now) - at)
            if not n:
                return
            data = self.rng.randbytes(n)
            self.log.append((at, n))
            m[at:at + n] = data
            self.put(at, data)
            good = self.settle()
            self.expect('msync', attempt(m.flush), good)

    def op_reopen(self):
        self.close()
        self.by_path()
        self.open()

    def op_rename_over(self):
        """A temporary file takes the name; who has the file open sees it."""
        self.close()
        n = len(self.saved) if self.rng.random() < 0.7 else self.rng.randrange(MOST)
        data, temporary = self.rng.randbytes(n), self.path + '.tmp~'
        with open(temporary, 'wb') as f:
            f.write(data)
        stored, was = self.kind.stored(data), self.saved
        with open(self.path, 'rb') as reader:
            self.expect('rename', attempt(os.rename, temporary, self.path), stored is not None)
            seen = os.pread(reader.fileno(), 2 * MOST, 0)
        if stored is None:
            self.same('the temporary file', read(temporary), data)
            os.unlink(temporary)
        else:
            self.saved = self.now = stored
        self.same('an open handle', seen, was if self.scratch else self.saved)
        if not self.scratch:
            self.same('cat beside the mount', run('cat', self.archive, self.name).stdout)
        self.by_path()
        self.open()

    # ---- checks

    def same(self, what, have, want=None):
        want = self.now if want is None else want
        if have != want:
            at = next((i for i, (a, b) in enumerate(zip(have, want)) if a != b), min(len(have), len(want)))
            raise AssertionError(f'{what}: {len(have)} bytes, expected {len(want)}, other from {at} on')

    def by_path(self):
        self.same('size', bytes(0) if os.stat(self.path).st_size == len(self.now) else b'x', b'')
        self.same('by path', read(self.path))

    def check(self):
        if self.fd is not None:
            if os.fstat(self.fd).st_size != len(self.now):
                raise AssertionError(f'fstat: {os.fstat(self.fd).st_size} bytes, expected {len(self.now)}')
            self.same('by handle', os.pread(self.fd, MOST * 2, 0))
        self.by_path()

    OPERATIONS = {op_read: 4, op_write: 5, op_extend: 1, op_rewrite: 1, op_truncate: 1, op_truncate_path: 1,
                  op_fsync: 2, op_mmap_read: 2, op_mmap_write: 2, op_reopen: 2, op_rename_over: 1}

    def step(self):
        op = self.rng.choices(list(self.OPERATIONS), list(self.OPERATIONS.values()))[0]
        self.log.append(op.__name__)
        self.counts[op.__name__] = self.counts.get(op.__name__, 0) + 1
        op(self)
        self.check()


def hammer(t, archive, root, name, kind, data):
    rng = random.Random(f'{SEED} {name}')
    f = File(archive, root, name, kind, data, rng)
    try:
        f.open()
        f.check()
        for _ in range(STEPS):
            f.step()
        f.close()
        f.by_path()
    except Exception as e:
        t.ok(False, f'{name}, seed {SEED}', f'step {sum(f.counts.values())}: {e}; before: {f.log[-12:]}')
        if f.fd is not None:
            attempt(os.close, f.fd)
        return
    t.ok(len(f.counts) == len(f.OPERATIONS), f'{name}: {STEPS} operations', f.counts)


def files(t):
    rng = random.Random(SEED)
    skeleton = read(t.tree, '00018.ahi/raw/whole.ahi')
    skeleton = skeleton[:0x44c]
    slot = (len(skeleton) + 9000 + BLOCK - 1) // BLOCK * BLOCK
    plain, paired = rng.randbytes(6 * BLOCK), rng.randbytes(5 * BLOCK - 700)
    parts = [skeleton + rng.randbytes(slot - len(skeleton)), plain, paired, b'end']
    archive = t.file('DATA.BIN', archive_of(parts, [2]))
    first = read(archive)
    names = lib.files(t.extract(archive))
    gap = next(n for n in names if '/raw/gap-' in n)
    entries = [n for n in names if n.startswith(('00001.', '00002.'))]
    m = Mount(t, archive)
    with m:
        root = m.point
        content = read(root, gap)
        hammer(t, archive, root, gap, Raw(len(content)), content)
        hammer(t, archive, root, entries[0], Plain(6 * BLOCK, False), plain)
        hammer(t, archive, root, entries[1], Plain(5 * BLOCK, True), paired)
        with open(os.path.join(root, 'notes~'), 'wb') as f:
            f.write(b'scratch' * 100)
        hammer(t, archive, root, 'notes~', Scratch(), b'scratch' * 100)
        os.unlink(os.path.join(root, 'notes~'))
        rest = [n for n in names if n != gap and n not in entries and not n.endswith('whole.ahi')]
        t.none([n for n in rest if read(root, n) != run('cat', archive, n).stdout], 'all others are what they are')
    t.same(m.code, 0, 'the mount ends well')
    r = run('verify', archive)
    t.ok(r.returncode == 0, 'verify', r.stderr[-300:])
    with open(archive, 'rb') as f:
        t.ok(f.read(BLOCK)[:20] == first[:20], 'nothing was moved')
    r = run('undo', archive, '1000000')
    t.ok(r.returncode == 0 and read(archive) == first, 'undo brings back the first bytes', r.stderr[-300:])


def saved_and_open(t):
    """A file that is saved, and still open for writing, shows what others save after that."""
    name, section = '00012.pac/00.pmo/materials.yaml', '00012.pac/00.pmo/raw/materials.bin'
    archive, old = t.file('DATA.BIN', read(t.demo)), read(t.tree, name)
    one, two = (old.replace(b'colour: [255', b'colour: [%d' % n) for n in (1, 2))
    with Mount(t, archive) as m:
        path = os.path.join(m.point, name)
        with open(path, 'r+b', buffering=0) as f:
            f.write(one)
            f.truncate()
            os.fsync(f.fileno())
            t.same(read(path), one, 'what was saved')
            with open(path + '.tmp~', 'wb') as g:
                g.write(two)
            os.rename(path + '.tmp~', path)
            t.same((read(path), os.stat(path).st_size), (two, len(two)), 'another file took the name: by path')
            t.same((os.pread(f.fileno(), 4096, 0), os.fstat(f.fileno()).st_size), (two, len(two)), 'by the open handle')
            with open(os.path.join(m.point, section), 'r+b') as g:
                g.write(b'\x03')
            three = two.replace(b'[2,', b'[3,', 1)
            t.same((read(path), os.pread(f.fileno(), 4096, 0)), (three, three), 'its bytes were written raw')
            with open(path, 'r+b', buffering=0) as g:
                g.seek(three.index(b'[3,') + 1)
                g.write(b'4')
            four = three.replace(b'[3,', b'[4,', 1)
            t.same(read(path), four, 'a second writer begins with what is there')
    t.same(run('cat', archive, name).stdout, four, 'closing the first changes nothing')


def cut_after_save(t):
    """Written over a longer text, saved by the end of a child, and cut then: the cut is part of the edit."""
    name, plain = '00012.pac/00.pmo/materials.yaml', '00000.bin'
    archive, old = t.file('DATA.BIN', read(t.demo)), read(t.tree, name)
    text = old.replace(b'colour: [255, 255, 255, 255]', b'colour: [1, 2, 3, 4]')
    with Mount(t, archive) as m:
        with open(os.path.join(m.point, name), 'r+b', buffering=0) as f:
            f.write(text)
            t.same(attempt(os.close, os.dup(f.fileno())), errno.EINVAL, 'half a text is refused')
            f.truncate()
            t.same(attempt(os.fsync, f.fileno()), 0, 'the whole one is saved')
        with open(os.path.join(m.point, plain), 'r+b', buffering=0) as f:
            f.write(b'short')
            os.close(os.dup(f.fileno()))
            f.truncate()
        with open(os.path.join(m.point, plain), 'r+b', buffering=0) as f:
            f.truncate(2)                          # alone it is no edit
        t.same(read(m.point, plain), b'short', 'and so is that of bytes')
        t.same(read(m.point, name), text, 'the text')
    t.same(run('cat', archive, name).stdout, text, 'and in the archive')


if __name__ == '__main__':
    lib.main(files, saved_and_open, cut_after_save, needs_fuse=True)
