"""What the tests of saving share: edits of a mounted source, one after the other, each checked from outside.

An Editor mounts a copy of a source and knows nothing of how modelfs saves. What an edit may change is told in two ways:
by paths in the facts that the corpus' independent reader finds in the bytes (where there is a corpus), and by ranges of
bytes. All files of the entry are open and mapped before an edit; afterwards every way to look at them must show what a
second process reads from the archive.
"""
import hashlib
import mmap
import os
import re
import shutil
import struct
import zlib

import lib
from lib import CORPUS, Mount, run

READER = lib.module('readmhp') if os.path.exists(os.path.join(CORPUS, 'readmhp.py')) else None
BLOCK = lib.BLOCK
WAYS = ('truncate', 'truncate', 'update', 'truncate', 'rename')


def sha(path):
    h = hashlib.sha256()
    with open(path, 'rb') as f:
        while b := f.read(1 << 20):
            h.update(b)
    return h.hexdigest()


def save(path, data, how='truncate'):
    """Writes over a file as programs do."""
    if how == 'rename':
        name = os.path.join(os.path.dirname(path), '.' + os.path.basename(path) + '.tmp')
        with open(name, 'wb') as f:
            f.write(data)
        os.rename(name, path)
        return
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC if how == 'truncate' else os.O_RDWR)
    try:
        for at in range(0, len(data), 1 << 16):
            os.pwrite(fd, data[at:at + (1 << 16)], at)
        if how == 'update':
            os.ftruncate(fd, len(data))
    finally:
        os.close(fd)


# ---------------------------------------------------------------- bytes

def changed(a, b):
    """Positions that differ; what one has more counts as different."""
    out = []
    for at in range(0, max(len(a), len(b)), 4096):
        x, y = a[at:at + 4096], b[at:at + 4096]
        if x != y:
            out += [at + i for i in range(max(len(x), len(y))) if x[i:i + 1] != y[i:i + 1]]
    return out


def ranges(positions):
    out = []
    for p in positions:
        if out and p == out[-1][1]:
            out[-1][1] += 1
        else:
            out.append([p, p + 1])
    return [tuple(r) for r in out]


def outside(positions, spans):
    """Text about the changed bytes that lie in no span."""
    bad = [p for p in positions if not any(a <= p < z for a, z in spans)]
    return [f'byte {a:#x}..{z:#x} changed, expected only {[f"{x:#x}..{y:#x}" for x, y in spans]}'
            for a, z in ranges(bad)]


def pac_entries(b):
    """(offset, size) of each entry of a PAC."""
    n = struct.unpack_from('<I', b)[0]
    return [struct.unpack_from('<2I', b, 4 + 8 * i) for i in range(n)]


class Vertex:
    """Where the parts of a vertex lie; from the bits of VTYPE (each component aligned to its size)."""

    def __init__(self, word):
        self.at, at, align = {}, 0, 1
        size = lambda shift: (0, 1, 2, 4)[word >> shift & 3]
        for key, one, n in (('w', size(9), (word >> 14 & 7) + 1), ('t', size(0), 2),
                            ('c', {0: 0, 7: 4}.get(word >> 2 & 7, 2), 1), ('n', size(5), 3), ('p', size(7), 3)):
            if one:
                at = -(-at // one) * one
                self.at[key] = (at, at + one * n)
                at += one * n
                align = max(align, one)
        self.size = -(-at // align) * align
        self.stride = self.size * ((word >> 18 & 7) + 1)


class Pmo:
    """Where the records of a PMO lie; `base` is added to all that is returned."""

    def __init__(self, b, base=0, geometry=None):
        self.b, self.base = b, base
        self.size, = struct.unpack_from('<I', b, 8)
        self.meshes, self.nmaterials = struct.unpack_from('<2H', b, 0x1c)
        self.mesh_at, self.group_at, self.remap_at, self.palette_at, self.material_at, self.geometry_at = \
            struct.unpack_from('<6I', b, 0x20)
        self.wide = b[4:7] == b'102'
        self.geometry_base = base + self.geometry_at if geometry is None else geometry

    def span(self, at, size):
        return self.base + at, self.base + at + size

    def header(self, at, size):
        return self.span(at, size)

    def material(self, i, at=0, size=16):
        return self.span(self.material_at + 16 * i + at, size)

    def mesh(self, i, at=0, size=0x18):
        """Offsets as in version 1.0; 102 has its scales in the place of the UV scale."""
        return self.span(self.mesh_at + (i * 0x30 + 0x18 if self.wide else i * 0x18) + at, size)

    def scales(self, i, at, size):
        return self.span(self.mesh_at + i * 0x30 + at, size)

    def groups_of(self, i):
        n, first = struct.unpack_from('<2H', self.b, self.mesh(i, 0x14)[0] - self.base)
        return range(first, first + n)

    def remap(self, i):
        at = self.mesh(i)[0] - self.base
        return self.span(self.remap_at + struct.unpack_from('<H', self.b, at + 0x12)[0], self.b[at + 0x10])

    def group(self, k, at=0, size=16):
        return self.span(self.group_at + 16 * k + at, size)

    def palette(self, k):
        _, n, first = struct.unpack_from('<2BH', self.b, self.group_at + 16 * k)
        return self.span(self.palette_at + 2 * first, 2 * n)

    def blocks(self, k):
        """Offsets of a group's list, vertices, indices, from the start of the geometry."""
        return struct.unpack_from('<3I', self.b, self.group_at + 16 * k + 4)

    def vertex(self, k, word, i, part):
        v = Vertex(word)
        at = self.geometry_base + self.blocks(k)[1] + i * v.stride
        return at + v.at[part][0], at + v.at[part][1]

    def geometry(self):
        return self.span(self.geometry_at, self.size - self.geometry_at)


class Image:
    """Where the parts of image k of a texture bank lie."""

    def __init__(self, b, k, base=0):
        at = 16
        for _ in range(k):
            at += struct.unpack_from('<I', b, at)[0]
        self.size, _, _, has, pixels, _, self.format, self.w, self.h = struct.unpack_from('<7I2H', b, at)
        self.pixels = (base + at + 32, base + at + 16 + pixels)
        self.palette = None
        if has:
            kind, self.entries = struct.unpack_from('<2I', b, at + 16 + pixels + 8)
            self.colour = 4 if kind == 3 else 2
            start = base + at + 32 + pixels
            self.palette = (start, start + self.colour * self.entries)


# ---------------------------------------------------------------- facts

def leaves(x, path=''):
    """{path: value} of all that is no list or mapping, and of empty ones."""
    if isinstance(x, dict) and x or isinstance(x, list) and x:
        out = {}
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            out.update(leaves(v, f'{path}/{k}' if path else str(k)))
        return out
    return {path: x}


def value_at(x, path):
    for k in path.split('/'):
        x = x[int(k)] if isinstance(x, list) else x[k]
    return x


def other_facts(before, after, allowed):
    """Paths whose value is another one now, or that came or went, other than those a pattern of `allowed` matches."""
    a, b = leaves(before), leaves(after)
    form = re.compile('|'.join(f'(?:{x})' for x in allowed))
    return [f'{p}: was {a.get(p, "absent")!r}, is {b.get(p, "absent")!r}' for p in {**a, **b}
            if (p not in a or p not in b or a[p] != b[p]) and not form.fullmatch(p)]


def soup(mesh):
    """The triangles of a mesh's facts as what they show: material, and position, UV, normal, colour and weights of the
    corners."""
    out = []
    for k, *corners in mesh['faces']:
        c = [repr([mesh[key][i] for key in ('v', 'uv', 'vn', 'rgba', 'weights')]) for i in corners]
        first = c.index(min(c))
        out.append((mesh['groups'][k]['material_index'], *c[first:], *c[:first]))
    return sorted(out)


# ---------------------------------------------------------------- pictures

def png(w, h, rgba, colours=6):
    """A PNG of RGBA bytes."""
    chunk = lambda tag, b: struct.pack('>I', len(b)) + tag + b + struct.pack('>I', zlib.crc32(tag + b))
    rows = b''.join(b'\0' + rgba[4 * w * y:4 * w * (y + 1)] for y in range(h))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>2I5B', w, h, 8, colours, 0, 0, 0)) + \
        chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


def unfilter(raw, row, step):
    out, prev = bytearray(), bytes(row)
    for at in range(0, len(raw), row + 1):
        kind, line = raw[at], bytearray(raw[at + 1:at + 1 + row])
        for i in range(row):
            a, b, c = line[i - step] if i >= step else 0, prev[i], prev[i - step] if i >= step else 0
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, near)[kind]) & 255
        out += line
        prev = line
    return bytes(out)


def pixels(b):
    """PNG -> width, height, RGBA bytes."""
    at, data, palette, alpha = 8, b'', b'', b''
    while at < len(b):
        n, tag = struct.unpack_from('>I4s', b, at)
        body = b[at + 8:at + 8 + n]
        if tag == b'IHDR':
            w, h, depth, kind = struct.unpack_from('>2I2B', body)
        palette, alpha = (body if tag == b'PLTE' else palette), (body if tag == b'tRNS' else alpha)
        data += body if tag == b'IDAT' else b''
        at += 12 + n
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
    row = (w * samples * depth + 7) // 8
    raw = unfilter(zlib.decompress(data), row, max(1, samples * depth // 8))
    if kind == 6:
        return w, h, raw
    if kind == 2:
        return w, h, b''.join(raw[i:i + 3] + b'\xff' for i in range(0, len(raw), 3))
    look = [palette[3 * i:3 * i + 3] + (alpha[i:i + 1] or b'\xff') for i in range(len(palette) // 3)]
    return w, h, b''.join(look[raw[y * row + x * depth // 8] >> 8 - depth - x * depth % 8 & (1 << depth) - 1]
                          for y in range(h) for x in range(w))


def error(a, b):
    """Mean difference of two pictures' samples."""
    return sum(abs(x - y) for x, y in zip(a, b)) / len(a)


# ---------------------------------------------------------------- editing

class View:
    """A file, opened and mapped before an edit."""

    def __init__(self, root, path):
        self.path = path
        self.fd = os.open(os.path.join(root, path), os.O_RDONLY)
        size = os.fstat(self.fd).st_size
        self.time = os.fstat(self.fd).st_mtime_ns
        self.before = os.pread(self.fd, size + 1, 0)
        self.map = mmap.mmap(self.fd, size, prot=mmap.PROT_READ) if size else None
        if self.map:
            self.map[:]

    def close(self):
        if self.map:
            self.map.close()
        os.close(self.fd)

    def problems(self, root, want):
        """want: the bytes that it must show now."""
        path, out = os.path.join(root, self.path), []
        try:
            now, held = os.stat(path), os.fstat(self.fd)
            shown = {'by path': lib.read(path), 'through the open handle': os.pread(self.fd, len(want) + 1, 0)}
        except OSError as e:
            return [f'{self.path}: {e.strerror}']
        shown.update({'size by path': now.st_size, 'size of the open handle': held.st_size})
        wanted = {'by path': want, 'through the open handle': want}
        for how, have in shown.items():
            if have != wanted.get(how, len(want)):
                old = ' (the old one)' if have in (self.before, len(self.before)) else ''
                out.append(f'{self.path}: {how}: {have if isinstance(have, int) else lib.digest(have)}{old}, expected '
                           f'{lib.digest(want)}')
        if self.map and not out:                   # else reading it may be SIGBUS
            n = min(len(self.map), len(want))
            if self.map[:n] != want[:n]:
                out.append(f'{self.path}: by mmap: {"the old bytes" if self.map[:n] == self.before[:n] else "others"}')
        if want != self.before and now.st_mtime_ns <= self.time:
            out.append(f'{self.path}: changed, but its time did not move')
        return out


class Editor:
    """A mounted copy of a source that is edited. entries: the names at the top of an archive that the edits are about;
    None when the source is itself what is edited."""

    def __init__(self, t, source, entries=None, options=(), title=''):
        self.t, self.entries, self.options = t, entries, options
        self.source = os.path.join(t.dir('edited'), os.path.basename(source))
        shutil.copyfile(source, self.source)
        self.title = title or os.path.basename(source)
        self.first = sha(self.source)
        self.commits = []                          # paths that `modelfs log` must list
        self.mount = None

    def __enter__(self):
        self.mount = Mount(self.t, self.source, *self.options)
        self.mount.__enter__()
        return self

    def __exit__(self, *why):
        self.mount.__exit__(*why)
        if why[0] is None:
            r = run('verify', self.source)
            self.t.ok(r.returncode == 0, f'{self.title}: verify', (r.stdout[-300:], r.stderr[-300:]))
            self.undo()

    def undo(self):
        r = run('log', self.source)
        lines = r.stdout.decode().splitlines()
        missing = [p for p in self.commits if not any(p in x for x in lines)]
        self.t.ok(r.returncode == 0 and not missing and len(lines) >= len(self.commits),
                  f'{self.title}: the log lists {len(self.commits)} commits',
                  (r.returncode, r.stderr, missing, len(lines)))
        r = run('undo', self.source, str(len(self.commits)))
        self.t.ok(r.returncode == 0 and sha(self.source) == self.first, f'{self.title}: undo of all: the first bytes',
                  (r.returncode, r.stderr))

    def at(self, *path):
        return os.path.join(self.mount.point, *path)

    def text(self, *path):
        return lib.read(self.at(*path)).decode()

    def bytes(self):
        return lib.read(self.source)

    def entry(self, name):
        """Bytes of an entry of the archive, from a second process."""
        kind = name.rsplit('.', 1)[-1]
        is_dir = os.path.isdir(self.at(name))
        return run('cat', self.source, f'{name}/raw/whole.{kind}' if is_dir else name).stdout

    def start(self, name, path, other):
        """Where an entry of the archive begins: `path` shows bytes of it and is saved with `other` ones, and back."""
        old, entry, archive = lib.read(self.at(path)), self.entry(name), self.bytes()
        save(self.at(path), other)
        at = changed(archive, self.bytes())[0] - changed(entry, self.entry(name))[0]
        save(self.at(path), old)
        self.commits += [path, path]
        self.t.ok(at % BLOCK == 0 and self.bytes() == archive, f'{self.title}: {name} lies at {at:#x}; saved back')
        return at

    def facts(self):
        """What the independent reader finds in the entries; None without it."""
        if not READER:
            return None
        if not self.entries:
            return READER.facts(os.path.basename(self.source), self.bytes())
        files = {i: data for i, _, data, _, _ in READER.databin(self.bytes())}
        wanted = {int(name[:5]) for name in self.entries}
        out = {}
        for i, data in files.items():
            near = i in wanted
            out['%05d' % i] = READER.facts('%05d' % i, data, files.get(i + 1)) if near else lib.digest(data)
        return out

    def extracted(self):
        """{path: bytes} of what is edited, from a second process."""
        out = {}
        for name in self.entries or ['']:
            to = os.path.join(self.t.dir('extract'), 'x')
            r = run('extract', self.source, *([name] if name else []), to)
            if r.returncode or r.stderr:
                self.t.ok(False, f'{self.title}: extract beside the mount', (r.returncode, r.stderr[-300:]))
            if os.path.isfile(to):
                out[name] = lib.read(to)
                continue
            root = to if os.path.isdir(to) else os.path.dirname(to)
            for p in lib.files(root):
                full = p if not name or p.split('/')[0] == name else f'{name}/{p}'
                out[full] = lib.read(root, p)
            shutil.rmtree(os.path.dirname(to))
        return out

    def open_views(self):
        views = []
        for name in self.entries or ['']:
            if name and not os.path.isdir(self.at(name)):
                views.append(View(self.mount.point, name))
                continue
            views += [View(self.mount.point, os.path.join(name, p)) for p in lib.files(self.at(name))]
        return views

    def model_times(self):
        """Of each model directory, the time."""
        out = {}
        for name in self.entries or ['']:
            for path, is_dir in lib.walk(self.at(name)) if not name or os.path.isdir(self.at(name)) else ():
                if is_dir and re.search(r'\.(pmo|ahi|tmh|anm)$', path):
                    out[os.path.join(name, path)] = os.stat(self.at(name, path)).st_mtime_ns
        return out

    def edit(self, what, path, new, entry='', facts=(), expect=None, spans=None, check=None, facts_too=(),
             moves=None):
        """Writes `new` (text or bytes) over `path`. entry: path in facts() of the entry that changes; facts: patterns
        of paths there that may be others then; expect: {path: value} there; spans: ranges of the archive's bytes that
        may change; check(before, after facts) gives problems; facts_too: patterns of paths anywhere; moves: the folder
        whose models may lie elsewhere then."""
        bad = []
        new = new.encode() if isinstance(new, str) else new
        facts_before, bytes_before = self.facts(), self.bytes()
        views, times = self.open_views(), self.model_times()
        try:
            try:
                save(self.at(path), new, WAYS[len(self.commits) % len(WAYS)])
            except OSError as e:
                log = open(self.mount.log_path, errors='replace').read()[-300:]
                return self.t.ok(False, f'{self.title}: {what}', f'{e!r} {log}')
            bytes_after, facts_after = self.bytes(), self.facts()
            diff = changed(bytes_before, bytes_after)
            bad += [] if diff else ['no byte changed']
            self.commits += [path] if diff else []
            if spans is not None:
                bad += outside(diff, spans)
            if facts_before is not None:
                steps = entry.split('/') if entry else []
                around = ['/'.join(steps[:i] + ['sha256']) for i in range(len(steps) + 1)]
                inside = re.escape(entry + '/' if entry else '')
                may = [re.escape(p) for p in around] + [inside + p for p in facts] + list(facts_too)
                bad += other_facts(facts_before, facts_after, may)
                for p, v in (expect or {}).items():
                    have = value_at(facts_after, f'{entry}/{p}' if entry else p)
                    bad += [] if have == v else [f'{p} is {have!r}, expected {v!r}']
                bad += check(facts_before, facts_after) if check else []
            bad += self.look(views, times, moves)
        finally:
            for v in views:
                v.close()
        return self.t.none(bad, f'{self.title}: {what}')

    def look(self, views, times, moves=None):
        """All ways to look at the files show what a second process extracts."""
        want = self.extracted()
        have = {p for name in self.entries or [''] for p in
                ([os.path.join(name, x) for x in lib.files(self.at(name))] if os.path.isdir(self.at(name)) else [name])}
        bad = [f'{p}: missing' for p in want.keys() - have] + [f'{p}: not expected' for p in have - want.keys()]
        altered = set()
        for v in views:
            if v.path in want and v.path in have:
                bad += v.problems(self.mount.point, want[v.path])
                altered |= {v.path} if want[v.path] != v.before else set()
            else:
                altered.add(v.path)
        for p in (want.keys() & have) - {v.path for v in views}:
            bad += [] if lib.read(self.at(p)) == want[p] else [f'{p}: new, not what extract writes']
        inside = lambda model: any(p.startswith(model + '/') for p in altered)
        partners = {os.path.dirname(m) for m in times if inside(m) and not m.endswith('.pmo')}
        for model, time in times.items():
            now = os.stat(self.at(model)).st_mtime_ns
            if inside(model) and now <= time:
                bad.append(f'{model}: its time did not move')
            shares = model.endswith('.pmo') and os.path.dirname(model) in partners
            if not inside(model) and not shares and now != time and (moves is None or not model.startswith(moves)):
                bad.append(f'{model}: its time moved')
        return bad
