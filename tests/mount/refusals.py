"""Texts that are refused: nothing changes, close and fsync fail, the text and the reason are kept until a good save."""
import errno
import os
import re
import shutil
import struct
import zlib

import lib
from lib import read, unless
from fresh import PAC, PMO, YAML, Saved

HEADER, MESH, SKELETON = PMO + '/header.yaml', PMO + '/meshes/0.yaml', PMO + '/skeleton.yaml'
OBJ, WEIGHTS, PNG = PMO + '/meshes/0.obj', PMO + '/meshes/0.weights.yaml', PMO + '/textures/0.png'
CLIP, BANK = '00016.pac/01.pmo/animations/000.yaml', PAC + '/02.tmh/0.yaml'


def swap(old, new, nth=0):
    """An edit of a text: the nth place of old."""
    def edit(b):
        at = -1
        for _ in range(nth + 1):
            at = b.index(old, at + 1)
        return b[:at] + new + b[at + len(old):]
    return edit


def whole(text):
    return lambda b: text


def more(text):
    return lambda b: b + text


def lines(change):
    """change(list of lines) -> list of lines."""
    return lambda b: b'\n'.join(change(b.split(b'\n')))


# What is refused in materials.yaml: edit, pattern of the reason. The text there:
# 1 # 0 at ...   2 - colour: [255, 255, 255, 255]   3   ambient: [127, 127, 127, 0]   4   texture: 0   5   leftover: ...
TEXTS = {
    'a key nobody knows': (swap(b'texture:', b'textures:'), r"line 4, column 3: .*textures.*texture"),
    'a key nobody knows, far from all': (swap(b'texture: 0', b'qqqqqqqq: 0'), r'line 4, column 3: .*qqqqqqqq'),
    'a key twice': (swap(b'  texture: 0\n', b'  texture: 0\n  texture: 0\n'), r'line 5, column 3: .*texture.*line 4'),
    'an alias': (lambda b: swap(b': [127', b': &a [127')(swap(b'[255, 255, 255, 255]', b'*a')(b)), r'line 2, .*alias'),
    'a merge': (swap(b'texture: 0', b'<<: {texture: 0}'), r'line 4, column 3: .*<<'),
    'a tab': (swap(b'  texture', b'\ttexture'), r'line 4, column 1: .*tab'),
    'a number like an octal one': (swap(b'texture: 0', b'texture: 010'), r'line 4, column 12: .*010'),
    'an octal number': (swap(b'texture: 0', b'texture: 0o10'), r'line 4, column 12: .*0o10'),
    'a thousand with a comma': (swap(b'texture: 0', b'texture: 1,000'), r'line 4, column 12: .*1,000'),
    'a thousand with a line': (swap(b'texture: 0', b'texture: 1_000'), r'line 4, column 12: .*1_000'),
    'text behind a number': (swap(b'texture: 0', b'texture: 5abc'), r'line 4, column 12: .*5abc'),
    'a fraction': (swap(b'[127', b'[1.5'), r'line 3, column 13: .*1\.5'),
    'too large': (swap(b'[127', b'[256'), r'line 3, column 13: .*256.*0\.\.255'),
    'too small': (swap(b'[127', b'[-1'), r'line 3, column 13: .*-1.*0\.\.255'),
    'far too large': (swap(b'texture: 0', b'texture: 99999999999999999999999'), r'line 4, column 12: .*9999'),
    'text for a number': (swap(b'texture: 0', b'texture: none'), r'line 4, column 12: .*none'),
    'quoted number': (swap(b'texture: 0', b'texture: [0]'), r'line 4, column 12: '),
    'null where it means nothing': (swap(b'leftover: 0x00000000', b'leftover: null'), r'line 5, column 13: .*null'),
    'three of four': (swap(b'[127, 127, 127, 0]', b'[127, 127, 127]'), r'line 3, column 12: .*3 values.*expected 4'),
    'five of four': (swap(b'[127, 127, 127, 0]', b'[127, 127, 127, 0, 0]'), r'line 3, column 12: .*more than 4 values'),
    'a second document': (more(b'---\n- texture: 0\n'), r'line 6.*document'),
    'deep nesting': (swap(b'texture: 0', b'texture: ' + b'[' * 300 + b']' * 300), r'line 4, column \d+: .*(deep|nest)'),
    'broken UTF-8': (swap(b'texture: 0', b'texture: \xff\xfe'), r'line 4.*UTF-8'),
    'a NUL': (swap(b'texture: 0', b'texture: \0'), r'line 4'),
    'nothing but a blank': (whole(b' \n'), r'empty'),
    'nothing but a comment': (whole(b'# nothing\n'), r'empty'),
    'an empty list': (whole(b'[]\n'), r'line 1, column 1: .*0.*1|line 1, column 1: .*1.*0'),
    'a map for a list': (whole(b'colour: [1, 2, 3, 4]\n'), r'line 1, column 1: .*list'),
    'a word for a list': (whole(b'red\n'), r'line 1, column 1: .*list'),
    'a list for a map': (whole(b'- [1, 2, 3, 4]\n'), r'line 1, column 3: '),
    'no YAML': (swap(b'texture: 0', b'texture: [0'), r'line \d+, column \d+: '),
    'cut in the middle': (lambda b: b[:40], r'line \d+, column \d+: '),
}

# In other files: file, edit, errno, pattern.
FILES = {
    'derived: size': (HEADER, swap(b'size: 640', b'size: 641'),
                      'EPERM', r'line 3, column 7: .*cannot be changed: .* found, .* stored'),
    'derived: version': (HEADER, swap(b'"1.0"', b'"1.2"'),
                         'EPERM', r'line 2, column 10: .*cannot be changed: .* found, .* stored'),
    'derived: mesh_count': (HEADER, swap(b'mesh_count: 1', b'mesh_count: 2'),
                            'EPERM', r'line \d, column 13: .*cannot be changed: .* found, .* stored'),
    'derived: vertex_type': (MESH, swap(b'vertex_type: 0x', b'vertex_type: 0x1'),
                             'EPERM', r'line \d+, column 16: .*cannot be changed'),
    'derived: vertices': (MESH, swap(b'vertices: ', b'vertices: 1'),
                          'EPERM', r'line \d+, column 13: .*cannot be changed: .* found, .* stored'),
    'a comma in a fraction': (HEADER, swap(b'cull_radius: 8.0', b'cull_radius: 8,0'), 'EINVAL', r'column 14: .*8,0'),
    'not a fraction': (HEADER, swap(b'cull_radius: 8.0', b'cull_radius: wide'), 'EINVAL', r'column 14: .*wide'),
    'a flag nobody knows': (MESH, swap(b'fog', b'fogg'), 'EINVAL', r'line \d, column \d+: .*fogg.*fog'),
    'yes': (MESH, swap(b'visible: true', b'visible: yes'), 'EINVAL', r'column 10: .*yes.*true'),
    'on': (MESH, swap(b'visible: true', b'visible: on'), 'EINVAL', r'column 10: .*on.*true'),
    'True': (MESH, swap(b'visible: true', b'visible: True'), 'EINVAL', r'column 10: .*True.*true'),
    '1 for true': (MESH, swap(b'visible: true', b'visible: 1'), 'EINVAL', r'column 10: .*1.*true'),
    'a material that is not there': (MESH, swap(b'materials: [0]', b'materials: [1]'),
                                     'EINVAL', r'materials: .*material 1.*has 1'),
    'a parent that is not there': (SKELETON, swap(b'parent: null', b'parent: 99'), 'EINVAL', r'.*99'),
    'a bone nobody has': (WEIGHTS, swap(b'[[0, ', b'[[77, '), 'EINVAL', r'line 2.*77'),
    'a weight that is no number': (WEIGHTS, swap(b'1.0', b'heavy'), 'EINVAL', r'line 2, column 8: .*heavy'),
    'a line of weights too few': (WEIGHTS, lines(lambda v: v[:1] + v[2:]), 'EINVAL', r'23.*24'),
    'keys out of order': (CLIP, lines(lambda v: out_of_order(v)),
                          'EINVAL', r'line 8, column 7: .*frame 0.*more than the 15'),
    'a channel nobody knows': (CLIP, swap(b'rotation_', b'rotatoin_'), 'EINVAL', r'line \d+, column \d+: .*rotatoin'),
    'OBJ: not a number': (OBJ, swap(b'\nv ', b'\nv nan '), 'EINVAL', r'line \d+.*nan'),
    'OBJ: infinity': (OBJ, lines(lambda v: number(v, b'v', b'inf')), 'EINVAL', r'line \d+.*inf'),
    'OBJ: a comma in a fraction': (OBJ, lines(lambda v: number(v, b'v', b'1,5')), 'EINVAL', r'line \d+.*1,5'),
    'OBJ: text behind a number': (OBJ, lines(lambda v: number(v, b'v', b'1.5m')), 'EINVAL', r'line \d+.*1\.5m'),
    'OBJ: index 0': (OBJ, lines(lambda v: number(v, b'f', b'0/1/1')), 'EINVAL', r'line \d+.*0'),
    'OBJ: index out of range': (OBJ, lines(lambda v: number(v, b'f', b'999/1/1')), 'EINVAL', r'line \d+.*999'),
    'OBJ: negative index out of range': (OBJ, lines(lambda v: number(v, b'f', b'-999/1/1')),
                                         'EINVAL', r'line \d+.*-999'),
    'OBJ: a face of two': (OBJ, more(b'f 1/1/1 2/2/2\n'), 'EINVAL', r'line 89: .*3 corners or more, found 2'),
    'OBJ: more vertices than its indices can count': (OBJ, lambda b: crowd(b), 'EINVAL', r'66000.*256'),
    'OBJ: no object of ours': (OBJ, swap(b'o mesh_0', b'o Cube\nv 0 0 0\no Ball'), 'EINVAL', r'Cube.*Ball'),
    'OBJ: outside the scale': (OBJ, lines(lambda v: number(v, b'v', b'1000')),
                               'EINVAL', r'line 3: x 1000.* outside -8\.0\.\.7\.9.*rescale: \['),
    'OBJ: cut off before the faces': (OBJ, lines(lambda v: [x for x in v if x[:1] != b'f']),
                                      'EINVAL', r'no faces, the mesh has \d+; `visible: false` in meshes/0\.yaml'),
    'OBJ: no vertices': (OBJ, whole(b'# nothing\n'), 'EINVAL', r'no vertices'),
    'PNG: another size': (PNG, lambda b: png(65, 64), 'EINVAL', r'64x64 needed, got 65x64'),
    'PNG: cut': (PNG, lambda b: b[:100], 'EINVAL', r'no PNG that can be read'),
    'PNG: a bad checksum': (PNG, lambda b: b[:-20] + bytes([b[-20] ^ 1]) + b[-19:], 'EINVAL', r'no PNG that'),
    'PNG: none': (PNG, whole(b'GIF89a'), 'EINVAL', r'PNG'),
    'a section of another size': (PMO + '/raw/materials.bin', more(b'\0'), 'EINVAL', r'16 bytes needed, got 17'),
    'a shorter section': (PMO + '/raw/materials.bin', lambda b: b[:8], 'EINVAL', r'16 bytes needed, got 8'),
    'a section that damages a clip': ('00016.pac/03.anm/raw/clips.bin', lambda b: b[:28] + b'\xff' + b[29:],
                                      'EINVAL', r'clip \d+ at 0x\w+.*: '),
    'an entry past its slot': ('00000.bin', more(bytes(3000)), 'ENOSPC',
                               r'3055 bytes.* has 2048: 1007 bytes are missing'),
}


def out_of_order(v):
    i = next(i for i, x in enumerate(v) if x.strip().startswith(b'keys:'))
    return v[:i + 1] + [v[i + 2], v[i + 1]] + v[i + 3:]


def number(v, word, value):
    """The first number of the first line of that word is another."""
    i = next(i for i, x in enumerate(v) if x.startswith(word + b' '))
    a = v[i].split(b' ')
    return v[:i] + [b' '.join([a[0], value] + a[2:])] + v[i + 1:]


def crowd(b):
    """More vertices than a group can index, all in faces."""
    n = 66000
    rows = [b'o mesh_0', b'g group_0', b'usemtl material_0']
    rows += [b'v %f %f 0' % (i % 256 / 64, i / 65536) for i in range(n)]
    rows += [b'vt 0 0', b'vn 0 0 1'] + [b'f %d/1/1 %d/1/1 %d/1/1' % (i, i + 1, i + 2) for i in range(1, n - 1, 3)]
    return b'\n'.join(rows) + b'\n'


def png(w, h):
    def chunk(tag, body):
        return struct.pack('>I', len(body)) + tag + body + struct.pack('>I', zlib.crc32(tag + body))
    rows = (b'\0' + bytes(4 * w)) * h
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>2I5B', w, h, 8, 6, 0, 0, 0))
            + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def save(path, text):
    """Names of the errnos of fsync and close, 'ok' for none."""
    fd, out = os.open(path, os.O_WRONLY | os.O_TRUNC), []
    os.write(fd, text)
    for call in (os.fsync, os.close):
        try:
            call(fd)
            out.append('ok')
        except OSError as e:
            out.append(errno.errorcode[e.errno])
    return out


def directory(name):
    """Where errors.txt stands, and how the file is called from there."""
    inner = next((i for i in ('/meshes/', '/textures/', '/animations/', '/raw/') if i in name), None)
    at = name.index(inner) if inner else name.rfind('/')
    return ('', name) if at < 0 else (name[:at], name[at + 1:])


def refused(t, m, what, name, edit, code, pattern):
    good = read(m.point, name)
    text = edit(good)
    folder, inner = directory(name)
    log = len(read(m.log_path))
    bad = unless(text != good, 'the edit is none')
    got = save(m.path(name), text)
    bad += unless(got[0] == got[1] and re.fullmatch(code, got[0]), f'fsync and close: {got}, expected {code}')
    bad += unless(read(m.archive) == m.before, 'the archive changed')
    bad += unless(read(m.point, name) == good, 'the file shows another text')
    kept = read(m.point, name + '.rejected') if os.path.exists(m.path(name + '.rejected')) else None
    bad += unless(kept == text, f'FILE.rejected: {kept and kept[:40]}')
    line = m.errors(folder).strip('\n') if folder else ''
    said = read(m.log_path)[log:].decode(errors='replace')
    if folder:
        bad += unless(line.startswith(inner + ': ') and line.count('\n') == 0 and re.search(pattern, line, re.S),
                      f'errors.txt: {line!r}')
        bad += unless(line[len(inner) + 2:] in said, f'the log: {said!r}')
    bad += unless(re.search(pattern, said, re.S) and name in said, f'the log: {said!r}')
    os.unlink(m.path(name + '.rejected'))
    bad += unless(not os.path.exists(m.path(name + '.rejected')) and (not folder or m.errors(folder)),
                  'its text removed: only the text goes')
    save(m.path(name), text)
    bad += unless(save(m.path(name), good) == ['ok', 'ok'], 'a good save')
    bad += unless(not (folder and m.errors(folder)) and not os.path.exists(m.path(name + '.rejected')),
                  'after a good save something is left')
    t.none(bad, f'{what}: {got[0]}' + (': ' + line[len(inner) + 2:] if line else ''))


def texts(t):
    m = Saved(t)
    with m:
        for what, (edit, pattern) in TEXTS.items():
            refused(t, m, what, YAML, edit, 'EINVAL', pattern)
    m.bytes_are('refused texts', {})
    t.same(m.lost(), [], 'nothing of them is called lost')


def files(t):
    m = Saved(t)
    with m:
        for what, (name, edit, code, pattern) in FILES.items():
            try:
                refused(t, m, what, name, edit, code, pattern)
            except (OSError, ValueError) as e:
                t.ok(False, what, repr(e))
    m.bytes_are('refused files', {})


TOLD = {                                           # programs that save a refused text say so
    'cp': ('cp', 'cp "$from_" "$to"'),
    'cat >': ('cat', 'cat "$from_" > "$to.new"; mv "$to.new" "$to"'),
    'dd conv=fsync': ('dd', 'dd if="$from_" of="$to" conv=fsync status=none'),
    'sed -i': ('sed', 'sed -i "s/colour: .*/colour: red/" "$to"'),
    'rsync': ('rsync', 'rsync "$from_" "$to"'),
    'rsync --inplace --fsync': ('rsync', 'rsync --inplace --fsync "$from_" "$to"'),
    'install': ('install', 'install "$from_" "$to"'),
    'vim': ('vim', 'vim -N -u NONE -i NONE -es -c "%s/colour: .*/colour: red/" -c wq "$to"'),
    'vim, backupcopy=no': ('vim', 'vim -N -u NONE -i NONE -es -c "set bkc=no bk" -c "%s/colour: .*/colour: red/" '
                           '-c wq "$to"'),
    'emacs': ('emacs', 'HOME=/nonexistent emacs -Q --batch --eval "(progn (find-file \\"$to\\") '
              '(search-forward \\"colour: \\") (kill-line) (insert \\"red\\") (save-buffer))"'),
    'gio save': ('gio', 'gio save "$to" < "$from_"'),
}


def told(t):
    text = read(t.tree, YAML)
    bad = t.file('materials.yaml', swap(b'[255, 255, 255, 255]', b'red')(text))
    for what, (program, script) in TOLD.items():
        if not shutil.which(program):
            t.skip(f'{what}: {program} is not installed')
            continue
        m = Saved(t)
        with m:
            code, said = lib.other('sh', '-ec', script, env={**os.environ, 'from_': bad, 'to': m.path()})
            t.ok(code, f'{what}: exit code', said[-200:])
            kept = m.path(YAML + '.rejected')
            if os.path.exists(kept):
                t.same(read(kept).split(b'\n')[1], b'- colour: red', f'{what}: its text is kept')
            else:                                  # vim writes the old text again
                t.same((program, m.errors()), ('vim', ''), f'{what}: its text is kept')
            lib.wait_for(lambda: os.path.exists(m.path()))
            t.same(read(m.point, YAML), text, f'{what}: the file shows what it was')
        t.ok('materials.yaml: line 2, column 11: colour: "red"' in m.log, f'{what}: the log', m.log)
        t.same(m.changes(), [], f'{what}: no edit')


READS = {                                          # other ways to write the same OBJ
    'CRLF': lambda b: b.replace(b'\n', b'\r\n'),
    'no final newline': lambda b: b.rstrip(b'\n'),
    'exponents': lines(lambda v: [b' '.join([b'v'] + [b'%.17e' % float(x) for x in r.split()[1:]])
                                  if r.startswith(b'v ') else r for r in v]),
    'six decimals': lines(lambda v: [b' '.join([r.split()[0]] + [b'%.6f' % float(x) for x in r.split()[1:]])
                                     if r[:2] in (b'v ', b'vt', b'vn') else r for r in v]),
    'negative indices': lambda b: negative(b),
    'continued lines': lambda b: b.replace(b'\nf ', b'\nf \\\n'),
    'words nobody knows': lambda b: b.replace(b'\nf ', b'\nshine 3\nf ', 1) + b's off\nl 1 2\n',
    'blanks and comments': lambda b: b'# more\n\n' + b.replace(b'\nv ', b'\n\nv   ').replace(b'\nf', b'  \nf'),
    'groups gone': lines(lambda v: [r for r in v if not r.startswith((b'g ', b'usemtl '))]),
    'renamed as Blender does': lambda b: b.replace(b'o mesh_0', b'o mesh_0.001'),
    'another object beside it': lambda b: b + b'o Cube\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -3\n',
}


def negative(b):
    count = {w: sum(r.startswith(w + b' ') for r in b.split(b'\n')) for w in (b'v', b'vt', b'vn')}

    def face(r):
        return b' '.join([b'f'] + [b'/'.join(b'%d' % (int(x) - count[w] - 1) for w, x in zip(count, c.split(b'/')))
                                   for c in r.split()[1:]])
    return b'\n'.join(face(r) if r.startswith(b'f ') else r for r in b.split(b'\n'))


def accepted(t):
    m = Saved(t)
    with m:
        good = read(m.point, OBJ)
        for what, edit in READS.items():
            text = edit(good)
            got = save(m.path(OBJ), text)
            t.none(unless(text != good, 'the edit is none') + unless(got == ['ok', 'ok'], f'{got}: {m.errors()}')
                   + unless(read(m.archive) == m.before, 'the archive changed'), f'OBJ, {what}: read, and no edit')
    m.bytes_are('OBJ written otherwise', {})


if __name__ == '__main__':
    lib.main(texts, files, told, accepted, needs_fuse=True)
