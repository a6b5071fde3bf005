"""What the tests that save share: a fresh demo archive, mounted, and which of its bytes changed afterwards.

The edit that most of them make is one of two values in materials.yaml of the crate, 00005.pac/00.pmo.
"""
import os
import re
import shutil

import lib
from lib import BLOCK, Mount, read, run

PAC = '00005.pac'
PMO = PAC + '/00.pmo'
YAML = PMO + '/materials.yaml'
OLD, NEW = 'ambient: [127, 127, 127, 0]', 'ambient: [5, 127, 127, 64]'      # one value shorter, one longer
AMBIENT = 4                                        # in the 16 bytes of a material


def start_block(t, name):
    """Where an entry of the demo archive begins: its entries follow each other, and before them is the table."""
    def blocks(entry):
        path = os.path.join(t.tree, entry)
        if os.path.isdir(path):
            raw = os.path.join(path, 'raw')
            path = os.path.join(raw, next(n for n in os.listdir(raw) if n.startswith('whole.')))
        return -(-os.path.getsize(path) // BLOCK)
    names = sorted(os.listdir(t.tree))
    table = os.path.getsize(t.demo) // BLOCK - sum(map(blocks, names))
    return table + sum(blocks(n) for n in names[:names.index(name)])


def offset(t, inner):
    """Offset in the PAC of a file of raw/ in the crate's PMO."""
    pac, pmo = read(t.tree, PAC, 'raw', 'whole.pac'), read(t.tree, PMO, 'raw', 'whole.pmo')
    return pac.index(pmo) + pmo.index(read(t.tree, PMO, 'raw', inner))


def edit_bytes(t, **ambient):
    """{offset in the PAC: byte} of the edit from OLD to NEW, or of single bytes by their number: at4=5."""
    at = offset(t, 'materials.bin') + AMBIENT
    return {at: 5, at + 3: 64} if not ambient else {at + int(k[2:]): v for k, v in ambient.items()}


class Saved(Mount):
    """A mount of a fresh copy of the demo archive; `with` gives it. changes() and check() are for afterwards."""

    def __init__(self, t, *options):
        self.t = t
        self.archive = os.path.join(t.dir('saved'), 'demo.bin')
        shutil.copyfile(t.demo, self.archive)
        self.before = read(self.archive)
        super().__init__(t, self.archive, *options)

    def path(self, name=YAML):
        return os.path.join(self.point, name)

    def text(self, name=YAML):
        return read(self.point, name).decode()

    def edited(self, name=YAML):
        """A file elsewhere with the edited text."""
        path = os.path.join(self.t.dir('edited'), os.path.basename(name))
        with open(path, 'w') as f:
            f.write(self.text(name).replace(OLD, NEW))
        return path

    def list(self, folder=PMO):
        return sorted(n for n, _, _, _ in lib.entries(self.path(folder)))

    def errors(self, folder=PMO):
        path = self.path(folder + '/errors.txt')
        return read(path).decode() if os.path.exists(path) else ''

    def changes(self):
        now = read(self.archive)
        return [i for i, (a, b) in enumerate(zip(self.before, now)) if a != b] + (
            [] if len(now) == len(self.before) else [f'{len(now)} bytes long'])

    def bytes_are(self, what, want):
        """The PAC differs from the demo's in just these bytes ({offset in it: byte}), and the archive nowhere else."""
        t = self.t
        base = start_block(t, PAC) * BLOCK
        pac = bytearray(read(t.tree, PAC, 'raw', 'whole.pac'))
        for at, value in want.items():
            pac[at] = value
        t.same(self.changes(), sorted(base + at for at in want), what + ': bytes of the archive that changed')
        r = run('cat', self.archive, PAC + '/raw/whole.pac')
        t.ok(r.returncode == 0 and r.stdout == pac, what + ': what they say', (r.returncode, r.stderr))

    def lost(self):
        """Names of scratch files that the log says are gone."""
        return sorted(os.path.basename(x) for x in re.findall(r': ([^:]+): existed in memory only', self.log))
