"""A folder mount against a folder: the same calls in both, and every answer the same, but for the table below.

Native behaviour is what this machine's kernel and file system do, so nothing is expected that they would not do. Both
folders lie beside each other, in memory, and for what is in files on a disk too. As root the calls are made by other
users too.
"""
import contextlib
import os
import re
import shutil
import subprocess
import tempfile

import both
import lib
import posixattr
import posixdata
import posixlimits
import posixmove
import posixopen
import posixrandom
import posixshare

# They put their cases into both.CASES. On disks the second ones may have other answers.
NAMES, CONTENTS = (posixopen, posixmove, posixattr), (posixdata, posixshare, posixrandom)

# {id: pattern of 'case: words'}; docs/calls.md has a line with the reason for each. The patterns also take what follows
# from the difference: answers about a file that could not be opened, for one.
EXCEPTIONS = {
    'nodev': r'open of every kind: .* of a (character|block) device',
    'tmpfile': r'temporary files: .*|.*: O_TMPFILE .*',
    'xattr': r'attributes of ones own: .*',
    'acl': r'access lists: .*',
    'inode-flags': r'inode flags: .*',
    'birth': r'time of birth: .*',
    'shift': r'holes that shift: .*',
    'direct-odd': r'direct: an? (offset|length) of 100',
    'setgid-odd': r'bits that a write clears: .* of 2767: .*|chown every kind: of 0, mode 2765: chown -1:-1 .*',
    'cut-running': r'a running program that is cut: it is empty then',
    'read-beneath': r'seen from beneath: read after a write beneath',
    'lock-beneath': r'locks and pipes from beneath: flock .*',
    'pipe-beneath': r'locks and pipes from beneath: (the fifo|connect) .*',
    'told-beneath': r'changes that are told: inotify of a create beneath',
    'own-names': r'names of modelfs own: .*',
}


def on(t, folder, exceptions, cases, *options):
    """The cases in a folder, and in a mount of another one beside it."""
    native, beneath = [os.path.join(folder, name) for name in ('native', 'mounted')]
    for path in (native, beneath):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o755)
    with lib.Mount(t, beneath, *(['allow_other'] if both.ROOT else []), *options) as m:
        both.compare(t, both.Side(native, native), both.Side(m.point, beneath), exceptions, cases)


@contextlib.contextmanager
def mounted(*args):
    """mount ARGS, the last of which is where; as root."""
    subprocess.run(['mount', *args], check=True)
    try:
        yield
    finally:
        subprocess.run(['umount', args[-1]], check=True)


def elsewhere(t):
    """A folder on another file system than the tests' own, or None."""
    for place in ('/var/tmp', '/tmp'):
        with contextlib.suppress(OSError):
            if os.stat(place).st_dev != os.stat(t.folder).st_dev and os.access(place, os.W_OK):
                path = tempfile.mkdtemp(prefix='modelfs-', dir=place)
                os.chmod(path, 0o755)
                return path
    return None


def everything(t):
    exceptions = both.Exceptions(EXCEPTIONS)
    on(t, t.dir('posix'), exceptions, both.CASES)
    disk = elsewhere(t)
    if disk:
        try:
            on(t, disk, exceptions, [c for c in both.CASES if c.__module__ in {m.__name__ for m in CONTENTS}])
        finally:
            shutil.rmtree(disk, ignore_errors=True)
    else:
        t.skip('there is no second file system')
    if both.ROOT and disk:
        t.none([k for k in EXCEPTIONS if k not in exceptions.seen], 'every known difference is still one')


def full(t):
    """Small file systems beneath both."""
    if not both.ROOT:
        raise lib.Skip('a full file system: only root can mount one')
    folder = t.dir('full')
    with contextlib.ExitStack() as stack:
        for name in ('native', 'mounted'):
            os.mkdir(os.path.join(folder, name))
            stack.enter_context(mounted('-t', 'tmpfs', '-o', 'size=1m,nr_inodes=30,mode=755', 'none',
                                        os.path.join(folder, name)))
        on(t, folder, both.Exceptions(EXCEPTIONS), [posixlimits.without_space])


def read_only(t):
    """-o ro, against a folder that is mounted read-only over itself."""
    if not both.ROOT:
        raise lib.Skip('read-only: only root can mount a folder so')
    folder, shown = t.dir('readonly'), t.dir('shown')
    native, beneath = [os.path.join(folder, name) for name in ('native', 'mounted')]
    for path in (native, beneath):
        os.mkdir(path)
        posixlimits.fill(path)
    with mounted('--bind', native, shown), lib.Mount(t, beneath, 'ro') as m:
        subprocess.run(['mount', '-o', 'remount,bind,ro', shown], check=True)
        both.compare(t, both.Side(shown, native), both.Side(m.point, beneath), both.Exceptions(EXCEPTIONS),
                     [posixlimits.read_only])


def written_down(t):
    """docs/calls.md has a line for each exception, and no other in that part."""
    text = open(os.path.join(lib.SOURCE, 'docs', 'calls.md')).read()
    ids = re.findall(r'^\| ([a-z-]+) \|', text.partition(lib.PLAIN_PART)[2], re.M)
    t.same(sorted(i for i in ids if i != 'id'), sorted(EXCEPTIONS), 'docs/calls.md names the exceptions')


if __name__ == '__main__':
    lib.main(everything, full, read_only, written_down, needs_fuse=True)
