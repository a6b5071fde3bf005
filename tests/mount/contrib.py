"""What contrib/ holds fits the program: man page, completions, how the helper of mount(8) calls it."""
import os
import re

import lib
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
            (['ls', '-'], ['--help', '-R', '-c', '-l', '-lR']),
            (['describe', 'pm'], ['pmo']),
            (['info', t.demo[:-2]], [t.demo]),
            (['ls', t.demo, '00005'], ['00005.pac/']),
            (['ls', '-lR', t.demo, '00005.pac/00.pmo/me'], ['00005.pac/00.pmo/meshes/']),
            (['cat', t.demo, '00005.pac/00.pmo/meshes/0.o'], ['00005.pac/00.pmo/meshes/0.obj']),
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


if __name__ == '__main__':
    lib.main(man_page, bash_completion, zsh_completion, helper_arguments)
