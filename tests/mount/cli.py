"""The command line, without FUSE: the demo archive, every subcommand, what they say when something is wrong."""
import os
import re
import stat

import lib
from lib import LIMIT, PROGRAM, read, run, unless

COMMANDS = {'mount': 2, 'umount': 1, 'info': 1, 'ls': 1, 'cat': 2, 'extract': 2, 'verify': 1, 'describe': 0, 'demo': 1}


def said(r, code, *pattern):
    """Whether it ended with that code, and with one line of that form on standard error, and nothing else."""
    lines = r.stderr.splitlines()
    return r.returncode == code and len(lines) == 1 and all(re.search(p, lines[0]) for p in pattern) and not r.stdout


def usage(t):
    r = run('--version')
    t.ok(r.returncode == 0 and re.fullmatch(rb'modelfs \d+\.\d+\.\d+\n', r.stdout) and not r.stderr, '--version',
         r.stdout)
    r = run('--help')
    missing = [c for c in COMMANDS if f'modelfs {c} '.encode() not in r.stdout]
    t.ok(r.returncode == 0 and not missing and not r.stderr, '--help names every command', missing)
    for c, least in COMMANDS.items():
        r = run(c, '--help')
        t.ok(r.returncode == 0 and r.stdout.startswith(f'usage: modelfs {c} '.encode()) and r.stdout.count(b'\n') >= 2
             and not r.stderr, f'{c} --help', (r.returncode, r.stdout, r.stderr))
        wrong = [['a'] * 4] + ([['a'] * (least - 1)] if least else [])
        wrong += [['--nonsense', 'a', 'b'][:least + 1]] if c != 'mount' else []        # libfuse's options: mount.py
        for args in wrong:
            r = run(c, *args)
            t.ok(r.returncode == 2 and f'usage: modelfs {c} ' in r.stderr and not r.stdout,
                 f'usage error: {c} {" ".join(args)}',
                 (r.returncode, r.stdout, r.stderr))
    for args in ([], ['nonsense'], ['nonsense', '--help'], ['--nonsense']):
        r = run(*args)
        t.ok(r.returncode == 2 and 'usage: modelfs' in r.stderr and not r.stdout and (not args or args[0] in r.stderr),
             f'usage error: modelfs {" ".join(args)}', (r.returncode, r.stderr))


def demo(t):
    again = os.path.join(t.dir('demo'), 'demo.bin')
    r = run('demo', again)
    t.ok(r.returncode == 0 and not r.stderr and not r.stdout, 'demo', (r.returncode, r.stderr))
    t.ok(read(again) == read(t.demo), 'two demo archives are equal')
    t.ok(20000 < os.path.getsize(again) < 1 << 20 and not os.path.getsize(again) % lib.BLOCK, 'its size',
         os.path.getsize(again))
    precious = t.file('DATA.BIN', b'somebody\'s game')
    r = run('demo', precious)
    t.ok(said(r, 1, f'^modelfs: demo: {precious}: File exists$') and read(precious) == b'somebody\'s game',
         'demo does not overwrite', (r.returncode, r.stderr))
    link = os.path.join(t.dir('demo'), 'link')
    os.symlink('nowhere', link)
    t.ok(said(run('demo', link), 1, '^modelfs: demo: ') and os.listdir(os.path.dirname(link)) == ['link'],
         'demo does not write through a dangling link')
    t.ok(said(run('demo', os.path.join(t.folder, 'no', 'demo.bin')), 1,
              r'^modelfs: demo: \S+/no/demo\.bin: No such file'),
         'demo into a folder that is not there')


def sources(t):
    missing = os.path.join(t.folder, 'missing.bin')
    pipe = os.path.join(t.dir('pipe'), 'pipe')
    os.mkfifo(pipe)
    empty, text = t.file('DATA.BIN', b''), t.file('notes.txt', b'Not an archive, but a text.\n' * 100)
    secret = t.file('secret.bin', read(t.demo))
    os.chmod(secret, 0)
    rest = {'ls': [], 'cat': ['x'], 'extract': [os.path.join(t.folder, 'out')], 'info': [], 'verify': []}
    for c, args in rest.items():
        for path, why in ((missing, 'No such file or directory$'), (pipe, '.'), (empty, '.'), (text, '.'),
                          (secret, 'Permission denied$')):
            if path == secret and not os.geteuid():
                continue
            r = run(c, path, *args)
            t.ok(said(r, 1, f'^modelfs: {c}: {re.escape(path)}: ' + why), f'{c} {os.path.basename(path)}',
                 (r.returncode, r.stderr))
    t.ok(not os.path.exists(os.path.join(t.folder, 'out')), 'extract of no source makes no folder')
    for path in ('nothing', '00005.pac/nothing', '00005.pac/00.pmo/header.yaml/x', '00005.pac/00.pmo/meshes/99.obj',
                 '00005', '5.pac', '00005.PAC', 'errors.txt', '..', 'x' * 5000):
        for c, args in (('ls', []), ('cat', []), ('extract', [os.path.join(t.folder, 'out')])):
            r = run(c, t.demo, path, *args)
            t.ok(said(r, 1, f'^modelfs: {c}: {re.escape(path)}: (No such file|Not a dir|File name too)'),
                 f'{c} of {path[:40]!r}, which is not there', (r.returncode, r.stderr))
    for path in ('', '/', '00005.pac', '00005.pac/00.pmo/'):
        r = run('cat', t.demo, path)
        t.ok(r.returncode == 1 and re.match('modelfs: cat: .*is a directory', r.stderr, re.I) and not r.stdout,
             f'cat of the directory {path!r}', (r.returncode, r.stderr))
    pipe = os.path.join(t.dir('pipe'), 'pipe')
    os.mkfifo(pipe)
    for path in (pipe, '/dev/null', '/dev/zero', '/proc/self/mem'):
        r = run('info', path, limit=10 * lib.SLOW)
        t.ok(said(r, 1, f'^modelfs: info: {path}: .'), f'info {os.path.basename(path)}', (r.returncode, r.stderr))
    link = os.path.join(t.dir('link'), 'link.bin')
    os.symlink(t.demo, link)
    t.ok(run('ls', link).stdout == run('ls', t.demo).stdout, 'a symbolic link as source')
    r = run('ls', 'demo.bin', cwd=t.folder)
    t.ok(r.stdout == run('ls', t.demo).stdout, 'a relative path as source')


def outputs(t):
    """A full disk is no success."""
    if not os.path.exists('/dev/full'):
        return t.skip('no /dev/full')
    for args in (['ls', '-lR', t.demo], ['cat', t.demo, '00005.pac/raw/whole.pac'], ['info', t.demo],
                 ['describe', 'pmo'], ['describe'],
                 ['verify', t.demo], ['--help'], ['--version'], ['cat', '--help']):
        with open('/dev/full', 'wb') as full:
            r = run(*args, stdout=full)
        t.ok(r.returncode == 1 and r.stderr.startswith('modelfs: '), f'{args[0]} {" ".join(args[2:])} to a full disk',
             (r.returncode, r.stderr))


def listing(t):
    """ls and ls -lR show what extract writes."""
    want = lib.snapshot(t.tree)
    top = [(n, kind == lib.DT_DIR) for n, kind, _, _ in lib.entries(t.tree)]
    names = run('ls', t.demo).stdout.decode().splitlines()
    t.same(sorted(names), sorted(n + '/' * d for n, d in top), 'ls of the root')
    t.ok(names == sorted(names) and re.fullmatch(r'00000\.\w+', names[0]), 'entries stand in the order of the archive',
         names)
    have, times, at, modes = {}, set(), '', set()
    r = run('ls', '-lR', t.demo)
    for line in r.stdout.decode().splitlines():
        if line.endswith(':'):
            at = '' if line == '.:' else line[:-1] + '/'
            continue
        if line:
            m = re.fullmatch(r'([-d][-rwx]{9}) +(\d+) (\d{4}-\d\d-\d\d \d\d:\d\d) (.*)', line)
            modes.add(m[1])
            times.add(m[3])
            have[at + m[4].rstrip('/')] = None if m[4].endswith('/') else int(m[2])
    t.ok(r.returncode == 0 and not r.stderr, 'ls -lR', (r.returncode, r.stderr))
    t.none(lib.differences(have, {p: v and v[0] if v else v for p, v in want.items()}),
           'ls -lR: names and sizes are those of extract')
    t.ok(modes == {'drwxr-xr-x', '-r--r--r--'} and len(times) == 1, 'ls -lR: modes and one time', (modes, times))
    t.ok(len(want) > 150 and any(p.endswith('.obj') for p in want), 'the demo archive has models', len(want))
    plain = run('ls', '-R', t.demo).stdout.decode().splitlines()
    t.same(sum(1 for x in plain if x and not x.endswith(':')), len(want), 'ls -R: as many names')
    some = next(p for p in want if p.endswith('/meshes'))
    t.same(sorted(run('ls', t.demo, some).stdout.decode().split()),
           sorted(n for n, *_ in lib.entries(os.path.join(t.tree, some))),
           f'ls of {some}')
    one = some + '/0.obj'
    t.same(run('ls', t.demo, one).stdout.decode(), one + '\n', 'ls of one file')
    t.ok(f' {want[one][0]} '.encode() in run('ls', '-l', t.demo, one).stdout, 'ls -l of one file')


def order(t):
    """Inside a model the order of the contract's table, numbers ascending."""
    known = ['header.yaml', 'materials.yaml', 'meshes', 'skeleton.yaml', 'textures', 'animations', 'model.glb',
             'preview.png', 'raw', 'errors.txt']
    parts = {'pmo': ['header', 'meshes', 'groups', 'remap', 'palette', 'materials', 'geometry'], 'tmh': ['header'],
             'ahi': ['header'], 'anm': ['header']}
    bad, models = [], 0
    listed = run('ls', '-R', t.demo).stdout.decode().split('\n\n')
    for block in listed:
        at, *names = block.strip().split('\n')
        names = [n.rstrip('/') for n in names]
        if at.endswith('.pmo:'):
            models += 1
            bad += unless(names == [k for k in known if k in names], f'{at} {names}')
        elif at.endswith(('meshes:', 'textures:', 'animations:', 'clips:')):
            numbers = [int(n.split('.')[0]) for n in names if n != 'all.glb']
            bad += unless('all.glb' not in names[:-1], f'{at} {names}')
            bad += unless(numbers == sorted(numbers), f'{at} {names}')
        elif at.endswith('/raw:'):
            kind = names[0].split('.')[1]
            own = [n[:-4] for n in names[1:] if not n.startswith('gap-')]
            want = [p for p in parts.get(kind, own) if p in own]
            bad += unless(names[0] == 'whole.' + kind and own[:len(want)] == want, f'{at} {names}')
            bad += [f'{at} {n}' for n in names if n.startswith('gap-') and not re.fullmatch(r'gap-[0-9a-f]{8}\.bin', n)]
    t.none(bad, 'order and names inside directories')
    t.ok(models >= 5, 'models were looked at', models)


def contents(t):
    bad = []
    for p in lib.files(t.tree):
        r = run('cat', t.demo, p)
        if r.returncode or r.stderr or r.stdout != read(t.tree, p):
            bad.append(f'{p}: exit {r.returncode}, {len(r.stdout)} bytes, {r.stderr}')
    t.none(bad, 'cat of every file is what extract writes')
    raw = [p for p in lib.files(t.tree) if '/raw/whole.' in p]
    odd = [p for p in raw if not p.endswith('.' + p.split('/')[-3].split('.')[-1])]
    t.none(odd, 'raw/whole.* is named like its entry')
    archive = os.stat(t.demo).st_mtime_ns
    t.none([p for p in lib.files(t.tree) if os.stat(os.path.join(t.tree, p)).st_mtime_ns != archive],
           'extracted files have the archive\'s time')
    t.none([p for p in lib.files(t.tree) if stat.S_IMODE(os.stat(os.path.join(t.tree, p)).st_mode) & 0o444 != 0o444],
           'they can be read')
    t.ok(not any(p.endswith('errors.txt') for p in lib.files(t.tree)), 'a sound archive has no errors.txt')
    t.none([p for p in lib.files(t.tree) if not os.path.getsize(os.path.join(t.tree, p))
            and not p.endswith(('.empty', '.mtl'))], 'no file is empty')


def texts(t):
    bad, n = [], {'obj': 0, 'png': 0, 'yaml': 0, 'mtl': 0}
    paths = lib.files(t.tree)
    for p in paths:
        kind = p.rsplit('.', 1)[1]
        b = read(t.tree, p)
        if kind in n:
            n[kind] += 1
        try:
            if kind == 'obj':
                v, faces = lib.read_obj(b)
                if not v or not faces or b.split(b'\n')[1] != b'o mesh_' + os.path.basename(p)[:-4].encode():
                    bad.append(f'{p}: {len(v)} vertices, {len(faces)} faces')
                if len({i for f in faces for i in f}) != len(v):
                    bad.append(f'{p}: vertices without a face')
            elif kind == 'png':
                why = lib.png_problem(b)
                bad += [f'{p}: {why}'] if why else []
            elif kind == 'mtl':
                maps = re.findall(rb'^map_Kd (.*)$', b, re.M)
                beside = os.path.join(t.tree, os.path.dirname(p))
                bad += [f'{p}: {m}' for m in maps if not os.path.exists(os.path.join(beside, m.decode()))]
            elif kind == 'yaml':
                first = b.split(b'\n')[0]
                if p.endswith('header.yaml') and not re.fullmatch(rb'# modelfs \w+( [\w.]+)?', first):
                    bad.append(f'{p}: {first}')
                b.decode('ascii')
                bad += [f'{p}: line ends'] if b'\r' in b or not b.endswith(b'\n') or b.endswith(b'\n\n') else []
        except ValueError as e:
            bad.append(f'{p}: {e}')
    t.none(bad, 'OBJ, MTL, PNG and YAML files are well formed')
    t.ok(all(n.values()), 'there are some of each', n)
    weights = [p for p in paths if p.endswith('.weights.yaml')]
    wrong = [p for p in weights if read(t.tree, p).count(b'\n- [') + read(t.tree, p).startswith(b'- [')
             != len(lib.read_obj(read(t.tree, p[:-13] + '.obj'))[0])]
    t.none(wrong, f'one line of weights for each vertex ({len(weights)} files)')
    t.none(lib.yaml_problems([os.path.join(t.tree, p) for p in paths if p.endswith('.yaml')]),
           'PyYAML reads every YAML file, numbers as numbers')


def looking(t):
    r = run('info', t.demo)
    text = r.stdout.decode('ascii')
    t.ok(r.returncode == 0 and not r.stderr, 'info', (r.returncode, r.stderr))
    bad = [x for x in text.splitlines() if not re.fullmatch(r'(  )*(- )?[a-z_]+:( \S.*)?|#.*', x)]
    t.none(bad, 'info looks like YAML')
    t.ok(f'bytes: {os.path.getsize(t.demo)}\n' in text and 'pac' in text and 'pmo' in text, 'info tells size and kinds',
         text)
    t.none(lib.yaml_problems([t.file('info.yaml', r.stdout)]), 'PyYAML reads info')
    r = run('verify', t.demo)
    count = re.match(rb'(\d+) checked, 0 ', r.stdout)
    t.ok(r.returncode == 0 and not r.stderr and count and int(count[1]) > 20, 'verify of the demo archive',
         (r.returncode, r.stdout, r.stderr))
    r = run('describe')
    names = [x.split()[0] for x in r.stdout.decode().splitlines()]
    t.ok(r.returncode == 0 and {'databin', 'pac', 'pmo', 'tmh'} <= set(names), 'describe lists the formats', names)
    for n in names:
        r = run('describe', n)
        t.ok(r.returncode == 0 and r.stdout.startswith(b'# ') and b'|' in r.stdout and r.stdout.isascii(),
             f'describe {n}', r.stdout[:60])
    t.ok(said(run('describe', 'nonsense'), 1, '^modelfs: describe: nonsense: '), 'describe of an unknown format')


def extracting(t):
    want = lib.snapshot(t.tree)
    model = next(p for p in want if p.endswith('.pmo') and want[p] is None)
    t.none(lib.differences(lib.snapshot(t.extract(t.demo, model)), lib.below(want, model)), f'extract of {model}')
    t.none(lib.differences(lib.snapshot(t.extract(t.demo, model + '/meshes/')), lib.below(want, model + '/meshes')),
           'extract of its meshes')
    one = model + '/meshes/0.obj'
    t.none(lib.differences(lib.snapshot(t.extract(t.demo, one)), {'0.obj': want[one]}), 'extract of one file')
    t.none(lib.differences(lib.snapshot(t.extract(t.demo, '')), want), 'extract of the path ""')
    to = t.dir('again')
    with open(os.path.join(to, 'mine'), 'wb') as f:
        f.write(b'mine')
    codes = [run('extract', t.demo, to).returncode for _ in range(2)]
    t.ok(codes == [0, 0], 'extract twice into one folder', codes)
    t.none(lib.differences(lib.snapshot(to), {**want, 'mine': lib.digest(b'mine')}), 'it holds both then')
    blocked = t.file('blocked', b'x')
    r = run('extract', t.demo, blocked)
    t.ok(said(r, 1, f'^modelfs: extract: {blocked}: ') and read(blocked) == b'x', 'extract onto a file',
         (r.returncode, r.stderr))
    if os.geteuid():
        closed = t.dir('closed')
        os.chmod(closed, 0o555)
        t.ok(said(run('extract', t.demo, closed), 1, '^modelfs: extract: .*Permission denied$'),
             'extract into a folder without write permission')
    into = t.dir('link')
    target = t.file('target', b'keep')
    os.symlink(target, os.path.join(into, '00000.bin'))
    names = run('ls', t.demo).stdout.decode().split()
    if '00000.bin' in names:
        r = run('extract', t.demo, into)
        t.ok(read(target) == b'keep', 'extract does not write through a link that lies in the way',
             (r.returncode, r.stderr))


def progress(t):
    """On a terminal: counts and a rate."""
    import pty
    import subprocess
    leader, follower = pty.openpty()
    p = subprocess.Popen([PROGRAM, 'extract', t.demo, t.dir('progress')], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    shown = b''
    try:
        while chunk := os.read(leader, 4096):
            shown += chunk
    except OSError:                                # what Linux says at the end
        pass
    os.close(leader)
    n = len(lib.files(t.tree))
    t.ok(p.wait(LIMIT) == 0 and re.search(rf'{n} files, [\d.]+ MB, [\d.]+ MB/s'.encode(), shown),
         'progress on a terminal', shown[-80:])


def damaged(t):
    """extract goes on after a bad entry, says what failed, and ends with 1."""
    top = t.kit
    good = read(t.tree, top, 'raw', 'whole.pac')
    at = good.index(read(t.tree, f'{top}/00.pmo/raw/whole.pmo'))
    bad = good[:at + 0x34] + b'\xf0\xff\xff\xff' + good[at + 0x38:]             # the geometry begins near 4 GB
    archive = t.file('DATA.BIN', lib.plain_archive([good, bad, read(t.tree, top, '02.tmh', 'raw', 'whole.tmh'), good]))
    to = t.extract(archive, expect=1)
    have, want = lib.snapshot(to), lib.below(lib.snapshot(t.tree), top)
    for k in (0, 3):
        t.none(lib.differences(without_tail(below_entry(have, k)), without_tail(want)),
               f'sound entry {k} beside a damaged one')
    near, sound = below_entry(have, 1), lambda p: not p.startswith('00.pmo') and not p.startswith('raw')
    t.none(lib.differences({p: v for p, v in near.items() if sound(p)}, {p: v for p, v in want.items() if sound(p)}),
           'the rest of the damaged PAC')
    t.same(near.get('00.pmo/raw/whole.pmo'), lib.digest(bad[at:at + len(read(t.tree, f'{top}/00.pmo/raw/whole.pmo'))]),
           'the bytes of the damaged model')
    errors = read(to, '00001.pac/00.pmo/errors.txt').decode()
    t.ok(re.search('0x[0-9a-f]+|\\d', errors) and errors.endswith('\n'), 'errors.txt has an offset', errors)
    r = run('extract', archive, t.dir('again'))
    head, *lines = r.stderr.splitlines()
    t.ok(r.returncode == 1 and head == f'modelfs: extract: {len(lines)} failed or damaged:',
         'extract ends with what failed', r.stderr)
    t.none([x for x in lines if not re.match(r'00001\.pac/00\.pmo[^:]*: .', x)], 'each with its path')
    lone = t.file('x.pmo', bad[at:at + len(read(t.tree, top, '00.pmo', 'raw', 'whole.pmo'))])
    r = run('extract', lone, t.dir('again'))
    t.ok(r.returncode == 1 and not [x for x in r.stderr.splitlines() if x.startswith((':', '/0'))],
         'and with a name when it is the source itself', r.stderr)
    r = run('verify', archive)
    t.ok(r.returncode == 1 and '00001.pac/00.pmo' in r.stderr and '00000.pac' not in r.stderr,
         'verify names the damaged model', r.stderr)
    for cut in (0.3, 0.6, 0.9):
        part = read(t.demo)
        part = t.file('DATA.BIN', part[:int(len(part) * cut) // lib.BLOCK * lib.BLOCK])
        r = run('extract', part, os.path.join(t.dir('cut'), 'x'))
        t.ok(r.returncode == 1 and re.search(r'modelfs: extract: \S+DATA\.BIN: .*\d', r.stderr),
             f'an archive cut at {cut:.0%} is refused with a number',
             (r.returncode, r.stderr))
    part = read(t.demo)[:-100]
    r = run('extract', t.file('DATA.BIN', part), to := os.path.join(t.dir('cut'), 'x'))
    if r.returncode == 1 and os.path.isdir(to) and os.listdir(to):
        have, want = lib.snapshot(to), lib.snapshot(t.tree)
        last = max(n for n, *_ in lib.entries(t.tree))
        gone = [d for d in lib.differences(have, want) if not d.startswith(last)]
        t.none(gone, 'an archive without its last 100 bytes: all but the last entry')
        t.ok(last in r.stderr or last in have, 'and the last one is named', r.stderr)
    else:
        t.ok(r.returncode in (0, 1) and (r.returncode == 0 or re.search(r'\d', r.stderr)),
             'an archive without its last 100 bytes',
             (r.returncode, r.stderr))


def below_entry(snap, k):
    return lib.below(snap, '%05d.pac' % k)


def without_tail(snap):
    """A PAC entry reaches to the end of its block here, so its raw bytes are longer."""
    return {p: v for p, v in snap.items() if p != 'raw/whole.pac'}


def alone(t):
    """A single file as source is what its directory is in the archive; companions are looked for beside it."""
    want = lib.snapshot(t.tree)
    for kind in ('pac', 'pmo', 'tmh', 'ahi', 'anm'):
        found = [p for p in lib.files(t.tree) if p.endswith(f'/raw/whole.{kind}')]
        bad, n = [], 0
        for p in found:
            top = os.path.dirname(os.path.dirname(p))
            source = t.file('x.' + kind, read(t.tree, p))
            have, expected = lib.snapshot(t.extract(source)), lib.below(want, top)
            if kind == 'pmo':
                drop = ('skeleton.yaml', 'textures', 'animations')
                companions = ('.mtl', 'model.glb', 'preview.png')      # are seen in these
                bad += [x for x in have if x.split('/')[0] in drop]
                have = {x: v for x, v in have.items() if not x.endswith(companions)}
                expected = {x: v for x, v in expected.items()
                            if x.split('/')[0] not in drop and not x.endswith(companions)}
            bad += [f'{top}: {d}' for d in lib.differences(have, expected)]
            r = run('verify', source)
            bad += [f'{top}: verify: {r.stderr}'] if r.returncode else []
            n += 1
        t.none(bad, f'{n} single files of kind {kind}')
        t.ok(n, f'there is a {kind}')
    done = 0
    for model in [p for p, v in want.items() if v is None and p.endswith('.pmo') and '/' in p]:
        folder, pac, bad = t.dir('beside'), os.path.dirname(model), []
        names = [n for n, *_ in lib.entries(os.path.join(t.tree, pac))]
        for ext in ('pmo', 'ahi', 'tmh', 'anm'):
            one = [n for n in names if n.endswith('.' + ext)]
            if one:
                with open(os.path.join(folder, 'em01.' + ext), 'wb') as f:
                    f.write(read(t.tree, pac, one[0], 'raw', 'whole.' + ext))
        bad = lib.differences(lib.snapshot(t.extract(os.path.join(folder, 'em01.pmo'))), lib.below(want, model))
        r = run('verify', os.path.join(folder, 'em01.pmo'))
        t.none(bad + ([r.stderr] if r.returncode else []), f'{model} with its companions beside it')
        done += 1
    t.ok(done >= 4, 'models with companions', done)


if __name__ == '__main__':
    lib.main(usage, demo, sources, outputs, listing, order, contents, texts, looking, extracting, progress, damaged,
             alone)
