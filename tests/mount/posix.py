"""A folder mount against a folder: the same calls in both, and every answer the same, but for the table below.

Native behaviour is what this machine's kernel and file system do, so nothing is expected that they would not do. Both
folders lie beside each other, once in memory and once on disk. As root the calls are made by other users too.
"""
import os
import re
import shutil
import tempfile

import both
import lib
import posixattr
import posixdata
import posixmove
import posixopen
import posixshare

# {id: (pattern of 'case: words', reason)}; docs/calls.md repeats the reasons, and has a line for each.
EXCEPTIONS = {
}
PARTS = (posixopen, posixmove, posixattr, posixdata, posixshare)     # they put their cases into both.CASES


def options():
    return ['allow_other'] if both.ROOT else []


def sides(t, folder):
    """-> (a folder, a mount of another one)"""
    out = []
    for name in ('native', 'mounted'):
        path = os.path.join(folder, name)
        os.mkdir(path)
        os.chmod(path, 0o755)
        out.append(path)
    mount = lib.Mount(t, out[1], *options())
    return both.Side(out[0], out[0]), mount, out[1]


def on(t, folder, exceptions):
    native, mount, beneath = sides(t, folder)
    with mount as m:
        both.compare(t, native, both.Side(m.point, beneath), exceptions, both.CASES)


def elsewhere(t):
    """A folder on another file system than the tests' own, or None."""
    for place in ('/var/tmp', '/tmp'):
        try:
            if os.stat(place).st_dev != os.stat(t.folder).st_dev and os.access(place, os.W_OK):
                return tempfile.mkdtemp(prefix='modelfs-', dir=place)
        except OSError:
            pass
    return None


def everything(t):
    exceptions = both.Exceptions(EXCEPTIONS)
    on(t, t.dir('posix'), exceptions)
    disk = elsewhere(t)
    if disk:
        os.chmod(disk, 0o755)
        try:
            on(t, disk, exceptions)
        finally:
            shutil.rmtree(disk, ignore_errors=True)
    else:
        t.skip('there is no second file system')
    if both.ROOT and disk:
        t.none([k for k in EXCEPTIONS if k not in exceptions.seen], 'every known difference is still one')


def written_down(t):
    """docs/calls.md has a line for each exception, and no other in that part."""
    text = open(os.path.join(lib.SOURCE, 'docs', 'calls.md')).read()
    part = text.partition('\n# Plain files of a folder')[2]
    ids = re.findall(r'^\| ([a-z-]+) \|', part, re.M)
    t.same(sorted(i for i in ids if i != 'id'), sorted(EXCEPTIONS), 'docs/calls.md names the exceptions')


if __name__ == '__main__':
    lib.main(everything, written_down, needs_fuse=True)
