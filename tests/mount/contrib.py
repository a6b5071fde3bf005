"""What contrib/ holds fits the program: man page, completions, how the helper of mount(8) calls it."""
import os
import re
import shutil

import lib
import saving
from lib import PROGRAM, SOURCE, other, run

CONTRIB = os.path.join(SOURCE, 'contrib')
HELPER = os.path.join(CONTRIB, 'mount.fuse.modelfs')
WITH_PROGRAM = dict(os.environ, PATH=os.path.dirname(PROGRAM) + ':' + os.environ['PATH'])


def man_page(t):
    path = os.path.join(CONTRIB, 'modelfs.1')
    page = open(path).read()
    commands = re.findall(r'^  modelfs (\w+) ', run('--help').stdout.decode(), re.M)
    t.ok(len(commands) >= 9, 'commands in --help', commands)
    t.none([c for c in commands if f'.SY "modelfs {c}"' not in page], 'synopsis of every command')
    t.none([c for c in commands if f'.BI "modelfs {c} ' not in page], 'description of every command')
    for c in commands:
        said = run(c, '--help').stdout.decode()
        synopsis = re.search(rf'^\.SY "modelfs {c}"\n(.*?)^\.YS', page, re.M | re.S)[1]
        letters = re.findall(r'\[-(\w+)', said.splitlines()[0])
        t.same(re.findall(r'^\.OP \\-(\w+)', synopsis, re.M), letters, f'options in the synopsis of {c}')
    options = re.findall(r'-o ([a-z]+)', run('mount', '--help').stdout.decode())
    t.none([o for o in options if not re.search(rf'^\.BI? {o}\b', page, re.M)], 'every mount option')
    t.ok(f'"{run("--version").stdout.decode().strip()}"' in page.splitlines()[0], 'version in the man page')
    lib.need('groff')
    code, said = other('groff', '-man', '-ww', '-z', path)
    t.ok(code == 0 and not said, 'groff has no warnings about the man page', said)


# compopt works only while bash completes; here it would only print an error.
COMPLETE = r'''
source "$1"; shift
compopt() { :; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _modelfs
printf '%s\n' "${COMPREPLY[@]}"
'''


def bash_completion(t):
    lib.need('bash')
    script = os.path.join(CONTRIB, 'modelfs.bash')
    for words, expected in (
            (['um'], ['umount']),
            (['mount', '-o', 'ca'], ['cache=', 'carve']),
            (['ls', '-'], ['--help', '-R', '-c', '-l', '-lR', '-o']),
            (['cat', '-o', ''], ['baked', 'fps=', 'tolerance=']),
            (['cat', '-o', 'fps', '=', '2'], ['']),
            (['describe', 'pm'], ['pmo']),
            (['info', t.demo[:-2]], [t.demo]),
            (['ls', t.demo, '00005'], ['00005.pac/']),
            (['ls', '-lR', t.demo, '00005.pac/00.pmo/me'], ['00005.pac/00.pmo/meshes/']),
            (['cat', t.demo, '00005.pac/00.pmo/meshes/0.o'], ['00005.pac/00.pmo/meshes/0.obj']),
            (['cat', '-o', 'fps', '=', '25', t.demo, '00005.pac/00.pmo/sk'], ['00005.pac/00.pmo/skeleton.yaml']),
            (['cat', t.demo, 'nothing/'], [''])):
        code, said = other('bash', '-c', COMPLETE, 'bash', script, 'modelfs', *words, env=WITH_PROGRAM)
        t.same((code, sorted(said[:-1].split('\n'))), (0, expected), 'bash completes modelfs ' + ' '.join(words))


def zsh_completion(t):
    lib.need('zsh')
    t.same(other('zsh', '-n', os.path.join(CONTRIB, '_modelfs')), (0, ''), 'zsh reads the completion')


def helper_arguments(t):
    """What the helper asks modelfs for, told by a program of that name that prints its arguments."""
    fake = t.dir('fake')
    with open(os.path.join(fake, 'modelfs'), 'w') as f:
        f.write('#!/bin/sh\nfor a in "$@"; do echo "[$a]"; done\n[ "$2" != missing ]\n')
    os.chmod(f.name, 0o755)

    def call(*args):
        code, said = other(HELPER, *args, env=dict(os.environ, PATH=fake + ':' + os.environ['PATH']))
        return code, said.split('\n')[:-1]
    for args, expected in (
            (['a b.bin', '/d', '-o', 'rw'], ['[mount]', '[a b.bin]', '[/d]']),
            (['a', '/d', '-v', '-o', 'ro,nodev,names=x*,user,nofail,x-systemd.automount,relatime,_netdev,allow_other'],
             ['[mount]', '[-o]', '[ro,nodev,names=x*,allow_other]', '[a]', '[/d]']),
            (['a', '/d', '-n', '-s', '-o', 'cache=9', '-t', 'fuse.modelfs'],
             ['[mount]', '[-o]', '[cache=9]', '[a]', '[/d]']),
            (['a', '/d', '-f', '-o', 'rw'], [])):
        t.same(call(*args), (0, expected), 'mount helper: ' + ' '.join(args))
    t.same(call('a')[0], 1, 'mount helper: one argument is wrong usage')
    t.same(call('missing', '/d')[0], 32, 'mount helper: a mount that failed')


def thumbnails(t):
    """What file managers run: pictures of at most the size asked for, of a model and of an archive."""
    entry = open(os.path.join(CONTRIB, 'modelfs.thumbnailer')).read()
    types = set(re.search(r'^MimeType=(.*);$', entry, re.M)[1].split(';'))
    said = open(os.path.join(CONTRIB, 'modelfs.xml')).read()
    t.same(types, set(re.findall(r'mime-type type="([^"]+)"', said)), 'every type of file has thumbnails')
    call = re.search(r'^Exec=modelfs (.*)$', entry, re.M)[1].split()
    pmo = os.path.join(t.dir('model'), 'x.pmo')
    shutil.copyfile(os.path.join(t.tree, t.kit, '00.pmo', 'raw', 'whole.pmo'), pmo)
    for source, size, want in ((pmo, 64, 64), (pmo, 256, 256), (pmo, 1000, 256), (t.demo, 128, 128), (t.demo, 512, 512),
                               (t.demo, 4000, 512)):
        to = os.path.join(t.dir('thumbnail'), 'out.png')
        r = run(*[{'%i': source, '%o': to, '%s': str(size)}.get(x, x) for x in call])
        w, h, rgba = saving.pixels(lib.read(to)) if r.returncode == 0 else (0, 0, b'')
        t.ok((w, h) == (want, want) and any(rgba) and not lib.png_problem(lib.read(to)),
             f'a thumbnail of {os.path.basename(source)}, {size} pixels', (r.returncode, r.stderr, w, h))
    to = os.path.join(t.dir('thumbnail'), 'out.png')
    r = run('thumbnail', os.path.join(t.tree, t.kit, '01.ahi', 'raw', 'whole.ahi'), to)
    t.ok(r.returncode == 1 and r.stderr and not os.path.exists(to), 'of what is no model there is none', r.stderr)
    t.same([run('thumbnail', *x).returncode for x in ((pmo,), (pmo, to, 'x'), (pmo, to, '-3'), (pmo, to, '3', '4'))],
           [2] * 4, 'wrong usage')
    lib.need('update-mime-database')
    home = t.dir('home')
    os.makedirs(home + '/mime/packages')
    shutil.copy(os.path.join(CONTRIB, 'modelfs.xml'), home + '/mime/packages')
    code, said = other('update-mime-database', home + '/mime', env=dict(os.environ, XDG_DATA_HOME=home))
    t.same((code, said), (0, ''), 'update-mime-database takes the types')


if __name__ == '__main__':
    lib.main(man_page, bash_completion, zsh_completion, helper_arguments, thumbnails)
