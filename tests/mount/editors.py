"""Programs as they are save one value in a mount: exit code, the value, the bytes of the archive, what they leave."""
import errno
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time

import lib
from lib import LIMIT, SLOW, read
from fresh import NEW, OLD, PAC, PMO, YAML, Saved, edit_bytes

PNG = PMO + '/textures/0.png'
PATTERN = OLD.replace('[', r'\[').replace(']', r'\]')


def terminal(args, steps, cwd, env):
    """Runs a program on a terminal: each step waits for a pattern on the screen and sends keys. -> exit code, screen"""
    pid, fd = pty.fork()
    if not pid:
        os.chdir(cwd)
        os.execvpe(args[0], args, {**os.environ, 'TERM': 'xterm', 'LINES': '24', 'COLUMNS': '80', **env})
    screen, seen, end = b'', 0, time.monotonic() + 15 + 5 * SLOW

    def until(pattern):
        nonlocal screen, seen
        while not (m := re.search(pattern, screen[seen:])) or not pattern:
            if time.monotonic() > end:
                return False
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    got = os.read(fd, 65536)
                except OSError:
                    return not pattern
                screen += got
        seen += m.end()
        return True
    try:
        for pattern, keys in steps:
            if not until(pattern):
                break
            time.sleep(0.1)                        # programs drop what is typed before they are ready
            os.write(fd, keys)
        else:
            until(b'')
        if time.monotonic() > end:
            os.kill(pid, 9)
    finally:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(fd)
    return code, screen.decode(errors='replace')


def saves(t, what, do, leaves=(), need=None, name=YAML, want=None):
    """do(mount) saves the edit and gives an exit code and what was printed. leaves: what stays in memory."""
    if need and not shutil.which(need):
        t.skip(f'{what}: {need} is not installed')
        return
    m = Saved(t)
    try:
        look(t, m, what, do, leaves, name)
    except (OSError, RuntimeError) as e:
        t.ok(False, what, e)
    m.bytes_are(what, edit_bytes(t) if want is None else want)
    t.same(m.lost(), sorted(leaves), f'{what}: the log says what is gone')
    t.same(sorted(set(os.listdir(os.path.dirname(m.archive))) - {'demo.bin', 'demo.bin.modelfs-undo'}), [],
           f'{what}: files beside the archive')


def look(t, m, what, do, leaves, name):
    with m:
        folder = os.path.dirname(name)
        names = m.list(folder)
        code, text = do(m)
        t.ok(code == 0, f'{what}: exit code', f'{code}: {text[-300:]}')
        if name == YAML:
            t.same(m.text(), read(t.tree, YAML).decode().replace(OLD, NEW), f'{what}: the file shows it')
        t.same(sorted(set(m.list(folder)) - set(names)), sorted(leaves), f'{what}: names it leaves')
        t.same(sorted(set(names) - set(m.list(folder))), [], f'{what}: names it takes')


def home(t):
    return {'HOME': t.dir('home'), 'LC_ALL': 'C.UTF-8', 'XDG_CONFIG_HOME': t.dir('config'),
            'XDG_DATA_HOME': t.dir('data')}


def tool(*args, env=None, cwd=None):
    return lib.other(*args, env={**os.environ, **(env or {})}, cwd=cwd)


def shell(script, **names):
    """A script for sh; names are set as its variables."""
    head = ''.join(f'{k}={shlex.quote(v)}\n' for k, v in names.items())
    return lib.other('sh', '-c', 'set -e\n' + head + script)


# ---------------------------------------------------------------- editors

def vim(t):
    def run(mode, *settings):
        change = f'%s/{PATTERN}/{NEW}/'
        return lambda m: tool('vim', '-N', '-u', 'NONE', '-i', 'NONE', mode, *sum([['-c', x] for x in settings], []),
                              '-c', change, '-c', 'wq', m.path(), env=home(t))
    here = 'set directory=. backupdir=.'
    for copy in ('yes', 'no', 'auto'):
        saves(t, f'vim, backupcopy={copy}, writebackup', run('-es', here, f'set nobk wb bkc={copy}'), need='vim')
        saves(t, f'vim, backupcopy={copy}, backup', run('-Es', here, f'set bk bkc={copy}'),
              leaves=['materials.yaml~'], need='vim')
    saves(t, 'vim, no backup at all', run('-es', here, 'set nobk nowb'), need='vim')
    saves(t, 'vim, .bak', run('-es', here, 'set bk bex=.bak'), leaves=['materials.yaml.bak'], need='vim')
    saves(t, 'vim, undo file', run('-es', here, 'set undofile undodir=.'), leaves=['.materials.yaml.un~'], need='vim')


def emacs(t):
    lisp = '''(progn (setq %s) (find-file "materials.yaml") (search-forward "%s") (replace-match "%s" t t)
              (do-auto-save) (save-buffer))'''

    def run(settings):
        return lambda m: tool('emacs', '-Q', '--batch', '--eval', lisp % (settings, OLD, NEW),
                              cwd=m.path(PMO), env=home(t))
    back = ['materials.yaml~']
    saves(t, 'emacs, backup by renaming', run('make-backup-files t backup-by-copying nil'), back, need='emacs')
    saves(t, 'emacs, backup by copying', run('make-backup-files t backup-by-copying t'), back, need='emacs')
    saves(t, 'emacs, no backup', run('make-backup-files nil'), need='emacs')
    saves(t, 'emacs, saved carefully', run('make-backup-files nil file-precious-flag t'), need='emacs')


def nano(t):
    keys = [(rb'materials\.yaml', b'\x1c'), (rb'\(to replace\)', OLD.encode() + b'\r'),
            (b'Replace with', NEW.encode() + b'\r'), (b'this instance', b'a'), (b'Replaced 1', b'\x0f'),
            (b'Name to Write', b'\r'), (b'Wrote', b'\x18')]

    def run(*options):
        return lambda m: terminal(['nano', '-I', *options, 'materials.yaml'], keys, m.path(PMO), home(t))
    saves(t, 'nano', run(), need='nano')
    saves(t, 'nano, backup', run('-B'), leaves=['materials.yaml~'], need='nano')
    saves(t, 'nano, lock file', run('-G'), need='nano')


def micro(t):
    keys = [(b'ambient', b'\x05'), (rb'24;1H>', f"replaceall -l '{OLD}' '{NEW}'\r".encode()),
            (b'Replaced 1', b'\x13'), (b'Saved', b'\x11')]
    saves(t, 'micro', lambda m: terminal(['micro', '-config-dir', t.dir('micro'), 'materials.yaml'], keys, m.path(PMO),
                                         home(t)), need='micro')


def gedit(m, backup):
    """What GIO does for gedit: a file beside it, synced, the old one linked or renamed away, renamed over it."""
    path, text = m.path(), read(m.edited())
    st = os.stat(path)
    fd, temporary = tempfile.mkstemp(prefix='.goutputstream-', dir=os.path.dirname(path))
    os.fchown(fd, st.st_uid, st.st_gid)
    os.fchmod(fd, st.st_mode & 0o7777)
    os.write(fd, text)
    if backup:
        if os.path.exists(path + '~'):
            os.unlink(path + '~')
        try:
            os.link(path, path + '~')
        except OSError:
            os.rename(path, path + '~')
    os.fsync(fd)
    os.rename(temporary, path)
    os.close(fd)
    return 0, ''


def code(m, atomic):
    """Visual Studio Code: in place, or by a file beside it."""
    path, text = m.path(), read(m.edited())
    to = path + '.vsctmp' if atomic else path
    fd = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.write(fd, text)
    os.fdatasync(fd)
    os.close(fd)
    if atomic:
        os.rename(to, path)
    return 0, ''


def desktop(t):
    saves(t, 'gedit', lambda m: gedit(m, False))
    saves(t, 'gedit, backup', lambda m: gedit(m, True), leaves=['materials.yaml~'])
    saves(t, 'VS Code', lambda m: code(m, False))
    saves(t, 'VS Code, files.atomic', lambda m: code(m, True))
    here = {'from_': lambda m: m.edited(), 'to': lambda m: m.path()}

    def gio(script):
        return lambda m: shell(script, **{k: f(m) for k, f in here.items()})
    saves(t, 'gio save', gio('gio save "$to" < "$from_"'), need='gio')
    saves(t, 'gio save, backup', gio('gio save -b "$to" < "$from_"'), leaves=['materials.yaml~'], need='gio')
    saves(t, 'gio copy', gio('gio copy "$from_" "$to"'), need='gio')
    saves(t, 'gio copy, backup', gio('gio copy -b "$from_" "$to"'), leaves=['materials.yaml~'], need='gio')


# ---------------------------------------------------------------- tools

TOOLS = {                                          # what: (program, script, what it leaves)
    'sed -i': ('sed', 'sed -i "s/$old/$new/" "$to"', ()),
    'sed -i.bak': ('sed', 'sed -i.bak "s/$old/$new/" "$to"', ('materials.yaml.bak',)),
    'sed -i --follow-symlinks': ('sed', 'sed -i --follow-symlinks "s/$old/$new/" "$to"', ()),
    'perl -i': ('perl', 'perl -pi -e "s/$old/$new/" "$to"', ()),
    'perl -i.bak': ('perl', 'perl -pi.bak -e "s/$old/$new/" "$to"', ('materials.yaml.bak',)),
    'cp': ('cp', 'cp "$from_" "$to"', ()),
    'cp -p': ('cp', 'cp -p "$from_" "$to"', ()),
    'cp -a': ('cp', 'cp -a "$from_" "$to"', ()),
    'cp -b': ('cp', 'cp -b "$from_" "$to"', ('materials.yaml~',)),
    'cp --remove-destination': ('cp', 'cp --remove-destination "$from_" "$to"', ()),
    'mv from another file system': ('mv', 'mv "$from_" "$to"', ()),
    'mv within': ('mv', 'cp "$from_" "$to.new"; mv "$to.new" "$to"', ()),
    'mv -b within': ('mv', 'cp "$from_" "$to.new"; mv -b "$to.new" "$to"', ('materials.yaml~',)),
    'rsync': ('rsync', 'rsync "$from_" "$to"', ()),
    'rsync -a': ('rsync', 'rsync -a "$from_" "$to"', ()),
    'rsync -aX': ('rsync', 'rsync -aX "$from_" "$to"', ()),
    'rsync -b': ('rsync', 'rsync -ab "$from_" "$to"', ('materials.yaml~',)),
    'rsync --inplace': ('rsync', 'rsync --inplace "$from_" "$to"', ()),
    'rsync --inplace --no-whole-file': ('rsync', 'rsync --inplace --no-whole-file -I "$from_" "$to"', ()),
    'rsync --fsync': ('rsync', 'rsync --fsync "$from_" "$to"', ()),
    'tee': ('tee', 'tee "$to" < "$from_" > /dev/null', ()),
    'cat >': ('cat', 'cat "$from_" > "$to"', ()),
    'echo >': ('sh', 'all=$(cat "$from_"); echo "$all" > "$to"', ()),
    '{ a; b; } >': ('head', '{ head -n 2 "$from_"; tail -n +3 "$from_"; } > "$to"', ()),
    '{ a; sleep; b; } >': ('head', '{ head -c 90 "$from_"; sleep 0.3; tail -c +91 "$from_"; } > "$to"', ()),
    'echo >>': ('head', 'head -c 60 "$from_" > "$to.new"; tail -c +61 "$from_" >> "$to.new"; mv "$to.new" "$to"', ()),
    'install': ('install', 'install -m 640 "$from_" "$to"', ()),
    'install -b': ('install', 'install -b "$from_" "$to"', ('materials.yaml~',)),
    'dd': ('dd', 'dd if="$from_" of="$to" bs=7 status=none', ()),
    'dd conv=fsync': ('dd', 'dd if="$from_" of="$to" conv=fsync status=none', ()),
    'truncate, then cat >': ('truncate', 'truncate -s 0 "$to"; cat "$from_" > "$to"', ()),
    'truncate, then dd conv=notrunc': ('truncate', 'size=$(stat -c %s "$from_")\n'
                                       '{ truncate -s "$size" /dev/fd/3; dd bs=99 conv=notrunc status=none >&3; }'
                                       ' 3<> "$to" < "$from_"', ()),
    'patch': ('patch', 'diff -u "$to" "$from_" > "$from_.diff" || true; patch -s "$to" "$from_.diff"', ()),
    'ex': ('ex', 'printf "%%s/.*ambient.*/  $new/\\nx\\n" | ex -s "$to"', ()),
    'ed': ('ed', 'printf ",s/$old/$new/\\nw\\nq\\n" | ed -s "$to"', ()),
}


def tools(t):
    for what, (program, script, leaves) in TOOLS.items():
        saves(t, what, lambda m, s=script: shell(s, from_=m.edited(), to=m.path(), old=PATTERN, new=NEW), leaves,
              program)

    at = read(t.tree, YAML).decode().index(OLD) + OLD.index('127')
    m = Saved(t)
    with m:
        code, text = shell(f'printf 105 | dd of="$to" bs=1 seek={at} conv=notrunc status=none', to=m.path())
        t.ok(code == 0, 'dd conv=notrunc: exit code', text)
    m.bytes_are('dd conv=notrunc', edit_bytes(t, at0=105))


def languages(t):
    def in_place(m):
        with open(m.path(), 'r+') as f:
            text = f.read().replace(OLD, NEW)
            f.seek(0)
            f.write(text)
            f.truncate()
        return 0, ''

    def replaced(m):
        text = m.text().replace(OLD, NEW)
        with tempfile.NamedTemporaryFile('w', dir=m.path(PMO), delete=False) as f:
            f.write(text)
        os.replace(f.name, m.path())
        return 0, ''

    def copied(function):
        return lambda m: (0, function(m.edited(), m.path()) or '')
    saves(t, "Python, open('r+')", in_place)
    saves(t, 'Python, tempfile and os.replace', replaced)
    for f in (shutil.copy, shutil.copy2, shutil.copyfile, shutil.move):
        saves(t, f'Python, shutil.{f.__name__}', copied(f))


# ---------------------------------------------------------------- pictures and meshes

def pixels(path):
    r = subprocess.run(['convert', path, 'rgba:-'], stdout=subprocess.PIPE, timeout=LIMIT)
    return r.stdout


def pictures(t):
    saves(t, 'optipng', lambda m: tool('optipng', '-quiet', '-force', m.path(PNG)), need='optipng', name=PNG, want={})
    saves(t, 'optipng -backup', lambda m: tool('optipng', '-quiet', '-force', '-backup', m.path(PNG)), ['0.png.bak'],
          'optipng', PNG, {})
    lib.need('mogrify', 'convert')
    saves(t, 'mogrify, nothing to do', lambda m: tool('mogrify', m.path(PNG)), name=PNG, want={})
    m = Saved(t)
    with m:
        names = m.list(PMO + '/textures')
        old = pixels(m.path(PNG))
        code, text = tool('mogrify', '-negate', m.path(PNG))
        want = bytes(x if i % 4 == 3 else 255 - x for i, x in enumerate(old))
        t.ok(code == 0, 'mogrify -negate: exit code', text)
        t.ok(pixels(m.path(PNG)) == want != old, 'mogrify -negate: the picture')
        t.ok(pixels(m.path(PAC + '/02.tmh/0.png')) == want, 'mogrify -negate: in the texture bank')
        t.same(m.list(PMO + '/textures'), names, 'mogrify -negate: names')
    pac, tmh = read(t.tree, PAC, 'raw/whole.pac'), read(t.tree, PAC, '02.tmh/raw/images.bin')
    start = pac.index(tmh)
    now = lib.run('cat', m.archive, PAC + '/raw/whole.pac').stdout
    there = [i for i, (a, b) in enumerate(zip(pac, now)) if a != b]
    t.ok(there and start <= there[0] and there[-1] < start + len(tmh), 'mogrify -negate: bytes', there[:9])


def blender(t):
    """It opens the MTL first and says nothing about not being allowed to."""
    def export(m):
        obj = m.path(PMO + '/meshes/0.obj')
        old = read(obj)
        try:
            open(obj[:-3] + 'mtl', 'w').close()
            return 1, 'the MTL can be written'
        except OSError as e:
            if e.errno != errno.EACCES:
                return 1, str(e)
        with open(obj, 'wb') as f:
            f.write(b'# Blender\n' + b''.join(b'v %.6f %.6f %.6f\n' % tuple(map(float, x.split()[1:4]))
                                              if x.startswith(b'v ') else x + b'\n' for x in old.split(b'\n')))
        return (0, '') if read(obj) == old else (1, 'another text')
    saves(t, 'Blender over N.obj, unchanged', export, name=PMO + '/meshes/0.obj', want={})


if __name__ == '__main__':
    lib.main(tools, vim, emacs, nano, micro, desktop, languages, pictures, blender, needs_fuse=True)
