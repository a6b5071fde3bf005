#!/usr/bin/env python3
"""Speed of modelfs against the least a FUSE daemon can do, in one run. See README.md beside this file.

    tests/bench/run.py --build BUILD [--work DIR] [--rounds N] [--quick] [--only start,find,...]

Prints a table; exit code 1 when a target was missed, 2 when something needed is not there.
"""
import argparse
import atexit
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from inputs import Inputs, PACKED_FILES  # noqa: E402  (after the line that keeps the source tree clean)

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITFS_OPTIONS = ['plus=2', 'keep=1', 'cdir=1', 'ttl=1', 'whole=0']      # what modelfs gives the kernel
RANDOM_READS, TAIL_READS = 4000, 2000
READ_SIZE = 131072
SMALL_CACHE = 64                                                          # MiB, of the mount that reads everything
SAVES = 20                                                                # in a round
WRITTEN, SMALL_FILES = 256 << 20, 1000
MODES = {'one CPU': 1, 'idle': None}


# ---- processes ------------------------------------------------------------------------------------------------------

def use_cpus(mode):
    """For this process and all it starts."""
    cpus = ALL_CPUS if MODES[mode] is None else {max(ALL_CPUS) if len(ALL_CPUS) > 1 else min(ALL_CPUS)}
    os.sched_setaffinity(0, cpus)


ALL_CPUS = os.sched_getaffinity(0)


def timed(*argv, failing=False):
    """Seconds from start to end of a command; its output goes nowhere."""
    null = [(os.POSIX_SPAWN_OPEN, 1, '/dev/null', os.O_WRONLY, 0)]
    began = time.perf_counter()
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=null)
    status = os.waitpid(pid, 0)[1]
    took = time.perf_counter() - began
    if status and not failing:
        raise RuntimeError('%s: status %d' % (' '.join(argv), status))
    return took


def output(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


def number(text, unit):
    """The number before a unit, in what fsbench and preads print."""
    return float(re.search(r'([\d.]+) ' + re.escape(unit), text).group(1))


class Mount:
    """A daemon that stays in front, and its mount point."""
    alive = []

    def __init__(self, point, *argv):
        self.point = point
        self.log = open(point + '.log', 'w+')
        self.daemon = subprocess.Popen(argv, stdout=self.log, stderr=self.log)
        Mount.alive.append(self)
        above = os.stat(os.path.dirname(point)).st_dev
        for _ in range(20000):
            if os.stat(point).st_dev != above:
                return
            if self.daemon.poll() is not None:
                break
            time.sleep(0.0005)
        raise RuntimeError('%s does not mount: %s' % (' '.join(argv), self.text()))

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def anonymous(self):
        """MiB of the daemon's own memory."""
        with open(f'/proc/{self.daemon.pid}/smaps_rollup') as f:
            return int(re.search(r'^Anonymous:\s*(\d+) kB', f.read(), re.M).group(1)) / 1024

    def close(self):
        unmount(self.point)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
        Mount.alive.remove(self)
        said = self.text()
        self.log.close()
        return said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self in Mount.alive:
            self.close()


def unmount(point):
    """Now if it goes, else as soon as nobody uses it."""
    tools = [['umount'], ['umount', '-l']] if os.geteuid() == 0 else [['fusermount3', '-u'], ['fusermount3', '-uz']]
    for tool in tools:
        for _ in range(5):
            if not subprocess.run([*tool, point], stderr=subprocess.DEVNULL).returncode:
                return
            time.sleep(0.05)


def clean_up():
    for mount in list(Mount.alive):
        mount.close()


def clean_left_over(below):
    """Mounts of a run that was killed."""
    with open('/proc/self/mountinfo') as f:
        for point in [line.split()[4] for line in f]:
            if point.startswith(below + '/'):
                unmount(point)


# ---- results --------------------------------------------------------------------------------------------------------

class Report:
    def __init__(self):
        self.rows, self.missed = [], 0

    def add(self, what, value, reference='', ratio='', target='', ok=None):
        verdict = '' if ok is None else 'ok' if ok else 'MISSED'
        self.missed += ok is False
        self.rows.append((what, value, reference, ratio, target, verdict))
        print('| ' + ' | '.join(self.rows[-1]) + ' |', file=sys.stderr, flush=True)

    def at_most(self, what, value, limit, form):
        self.add(what, form % value, '', '', '<= ' + form % limit, value <= limit)

    def compare(self, what, mine, theirs, form, peer, least=None, most=None, scale=1):
        """Medians, and the ratio that the target, if there is one, is about."""
        a, b = statistics.median(mine), statistics.median(theirs)
        target = '' if least is most else '>= %g' % least if most is None else '<= %g' % most
        ok = None if not target else a / b >= least if most is None else a / b <= most
        self.add(what, form % (a * scale), peer + ' ' + form % (b * scale), '%.2f' % (a / b), target, ok)

    def text(self):
        head = ('what', 'modelfs', 'reference', 'ratio', 'target', '')
        width = [max(len(row[i]) for row in [head, *self.rows]) for i in range(6)]
        line = lambda row: '| ' + ' | '.join(cell.ljust(w) for cell, w in zip(row, width)) + ' |'
        return '\n'.join([line(head), '|' + '|'.join('-' * (w + 2) for w in width) + '|', *map(line, self.rows)])


# ---- measurements ---------------------------------------------------------------------------------------------------

class Bench:
    def __init__(self, options):
        self.rounds, self.modes = options.rounds, options.modes
        self.build = os.path.abspath(options.build)
        self.modelfs = self.tool('src/fs/modelfs')
        self.preads = self.tool('tests/bench/preads')
        self.inputs = Inputs(os.path.abspath(options.work), os.path.abspath(options.shared), options.cc)
        self.report = Report()
        clean_left_over(self.inputs.work)
        self.point, self.other = self.inputs.path('mnt'), self.inputs.path('mnt-other')
        for point in (self.point, self.other):
            os.makedirs(point, exist_ok=True)

    def tool(self, path):
        path = os.path.join(self.build, path)
        if not os.path.exists(path):
            print(f'{path} is not there; give the build directory with --build', file=sys.stderr)
            sys.exit(2)
        return path

    def mount(self, archive, *options):
        """Read-only, unless 'rw' is among the options."""
        how = options if 'rw' in options else ('ro', *options)
        return Mount(self.point, self.modelfs, 'mount', '-f', '-o', ','.join(how), archive, self.point)

    def limitfs(self, archive, data):
        return Mount(self.other, self.inputs.limitfs(), archive, self.other, 'data=' + data, *LIMITFS_OPTIONS)

    def fsbench(self, *args):
        return output(self.inputs.fsbench(), *args)

    def in_modes(self):
        for mode in self.modes:
            use_cpus(mode)
            yield mode
        os.sched_setaffinity(0, ALL_CPUS)

    # ---- from mount to the first listing

    def start(self):
        archive = self.inputs.big()
        offsets = ''.join('%d\n' % at for at in self.inputs.big_offsets())
        warm(archive)
        for mode in self.in_modes():
            mine, floor = {'ro': [], 'rw': []}, []
            for i in range(self.rounds):
                floor.append(0.010 + number(output(self.preads, 'at', archive, input=offsets), 's'))
                for how in turned(mine, i):
                    mine[how].append(timed(self.modelfs, 'mount', '-o', how, archive, self.point) +
                                     timed('ls', self.point))
                    timed(self.modelfs, 'umount', self.point)
            for how, limit in (('ro', 1), ('rw', None)):
                self.report.compare(f'mount -o {how} to the end of the first ls, {mode}', mine[how], floor, '%.1f ms',
                                    '10 ms + preads', most=limit, scale=1000)
        self.cold_start(archive)

    def cold_start(self, archive):
        n = len(self.inputs.big_offsets())
        if shutil.which('strace'):
            log = self.inputs.path('strace.log')
            with Mount(self.point, 'strace', '-f', '-qq', '-e', 'trace=pread64', '-o', log,
                       self.modelfs, 'mount', '-f', '-o', 'ro', archive, self.point):
                timed('ls', self.point)
            with open(log) as f:
                calls = sum('pread64(' in line for line in f)
            self.report.at_most('reads of the archive per entry, mount to the first ls', calls / n, 2, '%.3f')
        took, reads = [], []
        for _ in range(3):
            self.fsbench('drop', archive)
            before = device_reads(archive)
            took.append(timed(self.modelfs, 'mount', '-o', 'ro', archive, self.point) + timed('ls', self.point))
            reads.append((device_reads(archive) - before) / n)
            timed(self.modelfs, 'umount', self.point)
        self.report.add('the same, archive not in memory; reads of the device per entry',
                        '%.1f ms; %.2f' % (statistics.median(took) * 1000, statistics.median(reads)))

    # ---- find

    def find(self):
        if not (shutil.which('squashfuse_ll') and shutil.which('mksquashfs')):
            self.report.add('find', 'not measured: needs squashfuse_ll and mksquashfs')
            return
        archive = self.inputs.big()
        warm(archive)
        names = self.names(archive)
        image = self.inputs.squash('BIG', names)
        warm(image)
        walks = {'first walk after the mount': self.first_walk, 'second walk': self.second_walk}
        if os.access('/proc/sys/vm/drop_caches', os.W_OK):
            walks['walk after the kernel forgot all names'] = self.forgotten_walk
        for mode in self.in_modes():
            for what, walk in walks.items():
                theirs = walk(lambda: Mount(self.other, 'squashfuse_ll', '-f', image, self.other))
                rate = lambda v: [len(names) / 1000 / t for t in v]
                for how, limit in (('ro', 1), ('rw', None)):
                    mine = walk(lambda: self.mount(archive, how))
                    self.report.compare(f'find -o {how}, {what}, {mode}', rate(mine), rate(theirs), '%.0f k nodes/s',
                                        'squashfuse_ll', least=limit)
        with self.mount(archive, 'stats') as m:
            timed('find', m.point, '-type', 'f')
            rendered = int(re.search(r'rendered: (\d+)', m.close()).group(1))
        self.report.at_most('files rendered by find over %d nodes' % len(names), rendered, 0, '%d')

    def names(self, archive):
        """Every node of an archive, (is a directory, path), parents first."""
        with self.mount(archive):
            text = output('find', self.point, '-mindepth', '1', '-printf', '%y %P\\n')
        return [(line[0] == 'd', line[2:]) for line in text.splitlines()]

    def first_walk(self, mount):
        took = []
        for _ in range(self.rounds):
            with mount() as m:
                took.append(timed('find', m.point, '-type', 'f'))
        return took

    def walks(self, mount, before):
        with mount() as m:
            timed('find', m.point, '-type', 'f')
            took = []
            for _ in range(self.rounds):
                before()
                took.append(timed('find', m.point, '-type', 'f'))
        return took

    def second_walk(self, mount):
        return self.walks(mount, lambda: None)

    def forgotten_walk(self, mount):
        def forget():
            with open('/proc/sys/vm/drop_caches', 'w') as f:
                f.write('2\n')
        return self.walks(mount, forget)

    # ---- plain entries, against limitfs

    def plain(self):
        archive = self.inputs.plain()
        warm(archive)
        work = {'ls -lR of plain entries': (lambda p: timed('ls', '-lR', p) * 1000, '%.1f ms', dict(most=1.2)),
                '64 MiB plain entry': (self.read_long, '%.0f MB/s', dict(least=0.9)),
                'all plain entries once': (self.read_all, '%.0f MB/s', dict(least=0.9)),
                'random 4 KiB reads': (self.read_random, '%.0f/s', dict(least=0.9))}
        for mode in self.in_modes():
            for what, (measure, form, target) in work.items():
                got = {'ro': [], 'rw': [], 'mmap': [], 'read': []}
                for i in range(self.rounds):
                    for who in turned(got, i):
                        with self.mount(archive, who) if who in ('ro', 'rw') else self.limitfs(archive, who) as m:
                            os.stat(os.path.join(m.point, self.inputs.long_name()))    # the table is read: see start()
                            got[who].append(measure(m.point))
                for how, data in (('ro', 'mmap'), ('ro', 'read'), ('rw', 'mmap')):
                    self.report.compare(f'{what}, -o {how}, {mode}', got[how], got[data], form, f'limitfs data={data}',
                                        **target if how == 'ro' else {})

    def read_long(self, point):
        return number(self.fsbench('readseq', os.path.join(point, self.inputs.long_name()), str(READ_SIZE)), 'MB/s')

    def read_all(self, point):
        text = self.fsbench('readall', point, str(READ_SIZE))
        if number(text, 'errors'):
            raise RuntimeError(text)
        return number(text, 'MB/s')

    def read_random(self, point):
        path = os.path.join(point, self.inputs.long_name())
        return number(self.fsbench('rand', path, str(RANDOM_READS), 'cold'), 'ops/s')

    def read_tail(self, point):
        text = output(self.preads, 'tail', os.path.join(point, self.inputs.long_name()), str(TAIL_READS))
        return TAIL_READS / number(text, 's')

    # ---- a folder of plain files, against libfuse's passthrough_ll

    def folder(self):
        other = self.inputs.passthrough()
        if not other:
            self.report.add('folder', 'not measured: needs passthrough_ll.c, one of the examples of libfuse3-dev')
            return
        folder = self.inputs.folder()
        warm(os.path.join(folder, 'plain.dat'))
        timed('ls', '-lR', folder)
        mounts = {'modelfs': lambda: Mount(self.point, self.modelfs, 'mount', '-f', folder, self.point),
                  'passthrough_ll': lambda: Mount(self.other, other, '-f', '-o', 'source=' + folder, self.other)}
        work = {'1 GiB plain file in a folder, read': (self.read_plain, '%.0f MB/s', dict(least=0.8)),
                'the same, random 4 KiB reads': (self.random_plain, '%.0f/s', dict(least=0.8)),
                '256 MiB written to a new file': (self.write_plain, '%.0f MB/s', dict(least=0.8)),
                '1,000 files of 4 KiB made and removed': (self.small_files, '%.0f files/s', {}),
                'ls -lR of 10,000 files': (lambda p: timed('ls', '-lR', os.path.join(p, 'many')) * 1000, '%.0f ms', {}),
                'the same again': (self.list_again, '%.0f ms', {})}
        for mode in self.in_modes():
            for what, (measure, form, target) in work.items():
                got = {who: [] for who in mounts}
                for i in range(self.rounds):
                    for who in turned(got, i):
                        with mounts[who]() as m:
                            got[who].append(measure(m.point))
                self.report.compare(f'{what}, {mode}', *got.values(), form, 'passthrough_ll', **target)

    def read_plain(self, point):
        return number(self.fsbench('readseq', os.path.join(point, 'plain.dat'), str(READ_SIZE)), 'MB/s')

    def random_plain(self, point):
        return number(self.fsbench('rand', os.path.join(point, 'plain.dat'), str(RANDOM_READS), 'cold'), 'ops/s')

    def write_plain(self, point):
        path = os.path.join(point, 'written.dat')
        count = WRITTEN // READ_SIZE
        took = timed('dd', 'if=/dev/zero', 'of=' + path, f'bs={READ_SIZE}', f'count={count}', 'status=none')
        os.unlink(path)
        return WRITTEN / 1e6 / took

    def small_files(self, point):
        return SMALL_FILES / number(output(self.tool('tests/bench/small'), point, str(SMALL_FILES)), 's')

    def list_again(self, point):
        timed('ls', '-lR', os.path.join(point, 'many'))
        return timed('ls', '-lR', os.path.join(point, 'many')) * 1000

    # ---- encrypted entries, against plain ones

    def coded(self):
        plain, coded = self.inputs.plain(), self.inputs.coded()
        work = {'64 MiB encrypted entry': (self.read_long, '%.0f MB/s'),
                'its last 4 KiB alone': (self.read_tail, '%.0f/s'),
                'all encrypted entries once': (self.read_all, '%.0f MB/s'),
                'random 4 KiB reads, encrypted': (self.read_random, '%.0f/s')}
        warm(plain)
        warm(coded)
        for mode in self.in_modes():
            for what, (measure, form) in work.items():
                got = {plain: [], coded: []}
                for i in range(self.rounds):
                    for archive in turned(got, i):
                        with self.mount(archive) as m:
                            got[archive].append(measure(m.point))
                self.report.compare(f'{what}, {mode}', got[coded], got[plain], form, 'plain', least=0.5)

    # ---- memory

    def memory(self):
        archive = self.inputs.big()
        with self.mount(archive) as m:
            timed('find', m.point, '-type', 'f')
            walked = m.anonymous()
        self.report.at_most('own memory after find over all nodes', walked, 24, '%.1f MiB')
        with self.mount(archive, f'cache={SMALL_CACHE}') as m:
            text = self.fsbench('readall', m.point, str(READ_SIZE))
            read = m.anonymous()
        if number(text, 'errors'):
            raise RuntimeError(text)
        what = 'own memory after reading all files (%.1f GB), cache=%d' % (number(text, 'bytes') / 1e9, SMALL_CACHE)
        self.report.at_most(what, read, SMALL_CACHE + 24, '%.1f MiB')

    # ---- one model

    def model(self):
        archive = self.inputs.wide_model()
        count = sum(not is_dir and path.startswith('00.pmo/') for is_dir, path in self.names(archive))
        for mode in self.in_modes():
            first, second, later = [], [], []
            for _ in range(self.rounds):
                with self.mount(archive) as m:
                    path = os.path.join(m.point, '00.pmo')
                    first.append(timed('ls', '-lR', path))
                    second.append(timed('ls', '-lR', path))
                    time.sleep(1.1)                    # longer than the kernel keeps attributes
                    later.append(timed('ls', '-lR', path))
            ms = lambda v: statistics.median(v) * 1000
            self.report.add(f'first ls -lR of a model of {count} files, {mode}', '%.1f ms' % ms(first))
            self.report.at_most(f'second ls -lR, {mode}', ms(second), 5, '%.1f ms')
            self.report.add(f'ls -lR more than a second later, {mode}', '%.1f ms' % ms(later))

    # ---- text

    def text(self):
        model = self.inputs.big_model()
        size = len(subprocess.run([self.modelfs, 'cat', model, 'meshes/0.obj'], check=True, capture_output=True).stdout)
        use_cpus('one CPU')
        took = [timed(self.modelfs, 'cat', model, 'meshes/0.obj') for _ in range(self.rounds)]
        rate = size / 1e6 / statistics.median(took)
        self.report.add('modelfs cat of an OBJ of %.0f MB' % (size / 1e6), '%.0f MB/s' % rate, target='>= 100 MB/s',
                        ok=rate >= 100)
        for line in output(self.tool('tests/bench/bench_num')).splitlines():
            what, _, value = line.partition(': ')
            self.report.add(what, *value.split(', ', 1))
        for line in output(self.tool('tests/bench/bench_cipher')).splitlines():
            what, _, value = line.partition(': ')
            self.report.add('cipher, ' + ' '.join(what.split()), ' '.join(value.split(', ')[0].split()))
        os.sched_setaffinity(0, ALL_CPUS)

    # ---- packed entries

    def packed(self):
        archive, last = self.inputs.many_packed(), PACKED_FILES - 1
        first, last = (self.inputs.packed_name(i) for i in (0, last))
        warm(archive)
        for mode in self.in_modes():
            took = {first: [], last: []}
            for i in range(5 * self.rounds):
                for name in turned(took, i):
                    took[name].append(timed(self.modelfs, 'cat', archive, name))
            self.report.compare(f'modelfs cat of the last of {PACKED_FILES} packed entries, {mode}', took[last],
                                took[first], '%.2f ms', 'the first', most=1.2, scale=1000)
            took = {first: [], last: []}
            for i in range(5 * self.rounds):
                with self.mount(archive) as m:
                    timed('ls', m.point)
                    for name in turned(took, i):
                        took[name].append(timed('cat', os.path.join(m.point, name)))
            self.report.compare(f'the same, mounted, {mode}', took[last], took[first], '%.2f ms', 'the first', most=1.2,
                                scale=1000)
            self.report.add(f'mount to the end of the first ls of them, {mode}', '%.1f ms' % (1000 * statistics.median(
                timed(self.modelfs, 'mount', '-o', 'ro', archive, self.point) + timed('ls', self.point) +
                0 * timed(self.modelfs, 'umount', self.point) for _ in range(self.rounds))))
        use_cpus('one CPU')
        for line in output(self.tool('tests/bench/bench_unpack')).splitlines():
            what, rate, ratio = re.match(r"(.*): +(\d+ MB/s), zlib's loop +\d+ MB/s: ([\d.]+)", line).groups()
            target = '' if 'level 0' in what else '>= 0.9'
            self.report.add('unpacking ' + ' '.join(what.split()), rate, "zlib's own loop", ratio, target,
                            float(ratio) >= 0.9 if target else None)
        os.sched_setaffinity(0, ALL_CPUS)

    # ---- files that are searched

    def carve(self):
        """Those with models, and searches in vain; info looks for deflated ones too."""
        for mode in self.in_modes():
            for kind, how, what in (('noise', 'ls', 'noise with 6 libraries'), ('zeros', 'ls', 'zeros with 6 libraries'),
                                    ('magics', 'ls', 'nothing but magics'), ('nothing', 'info', 'noise')):
                path, mine, theirs = self.inputs.carved(kind), [], []
                warm(path)
                for i in range(self.rounds):
                    for who in turned((mine, theirs), i):
                        who.append(timed('cat', path) if who is theirs else
                                   timed(self.modelfs, how, path, failing=kind in ('magics', 'nothing')))
                self.report.compare(f'modelfs {how} of 1 GiB of {what}, {mode}', mine, theirs, '%.0f ms', 'cat', most=2,
                                    scale=1000)
            folder, took, again = self.inputs.path('carve'), [], []
            os.makedirs(folder, exist_ok=True)
            there = os.path.join(folder, 'carve.pak')
            if not os.path.exists(there):
                os.link(self.inputs.carved('noise'), there)
            for _ in range(self.rounds):
                with self.mount(folder) as m:
                    took.append(timed('ls', os.path.join(m.point, 'carve.pak')))
                    again.append(timed('ls', os.path.join(m.point, 'carve.pak')))
            self.report.compare(f'ls of it in a mounted folder, {mode}', took, again, '%.1f ms', 'again', scale=1000)

    # ---- discs

    def disc(self):
        self.disc_entries()
        self.disc_packed()
        self.disc_written()

    def disc_entries(self):
        """Entries of DATA.BIN on a disc, against DATA.BIN by itself."""
        bare, disc = self.inputs.coded(), self.inputs.disc()
        warm(bare)
        warm(disc)
        work = {'64 MiB entry of DATA.BIN on a disc': (self.read_long, '%.0f MB/s'),
                'all its entries once': (self.read_all, '%.0f MB/s'),
                'random 4 KiB reads of one': (self.read_random, '%.0f/s')}
        for mode in self.in_modes():
            for what, (measure, form) in work.items():
                got = {bare: [], disc: []}
                for i in range(self.rounds):
                    for source in turned(got, i):
                        with self.mount(source) as m:
                            point = m.point if source is bare else os.path.join(m.point, 'DATA.BIN')
                            os.stat(os.path.join(point, self.inputs.long_name()))
                            got[source].append(measure(point))
                self.report.compare(f'{what}, {mode}', got[disc], got[bare], form, 'DATA.BIN by itself', least=0.9)

    def disc_packed(self):
        """Random reads of packed discs, by bytes that have to be unpacked for them, against plain ones."""
        iso, others = self.inputs.half(), {}
        if shutil.which('fuseiso'):
            others['fuseiso'] = lambda: Mount(self.other, 'fuseiso', '-n', iso, self.other, '-f')
        if shutil.which('archivemount'):
            others['archivemount'] = lambda: Mount(self.other, 'archivemount', '-f', '-o', 'readonly', iso, self.other)
        warm(iso)
        for block in (2048, 16384):
            packed = self.inputs.half_packed(block)
            warm(packed)
            unpacked = max(4096, block)
            mounts = {'modelfs': lambda: self.mount(packed), **others}
            for mode in self.in_modes():
                got = {who: [] for who in mounts}
                for i in range(self.rounds):
                    for who in turned(got, i):
                        reads = RANDOM_READS if who != 'archivemount' else 20
                        with mounts[who]() as m:
                            name, = os.listdir(m.point)        # in small letters, by some
                            text = self.fsbench('rand', os.path.join(m.point, name), str(reads), 'cold')
                        got[who].append(number(text, 'ops/s') * (unpacked if who == 'modelfs' else 4096) / 1e6)
                mine = got.pop('modelfs')
                what = f'random 4 KiB reads of a CSO in blocks of {block >> 10} KiB, bytes unpacked, {mode}'
                for who, theirs in got.items():
                    self.report.compare(what, mine, theirs, '%.1f MB/s', who + ', of the plain image', least=1)
                if not got:
                    self.report.add(what, '%.1f MB/s' % statistics.median(mine), 'needs fuseiso or archivemount')

    def disc_written(self):
        """A large file written anew, in raw sectors, whose codes are made, and in plain ones."""
        data = self.inputs.other_data()
        took = {True: [], False: []}
        for i in range(min(self.rounds, 5)):
            for raw in turned(took, i):
                path = self.inputs.written(raw)
                warm(path)
                os.sync()
                took[raw].append(timed(self.modelfs, 'put', '-n', path, 'FILE.DAT', data))
        self.report.compare('put of a file of 32 MiB on a disc in raw sectors', took[True], took[False], '%.2f s',
                            'in plain ones')
        codes = os.path.join(self.build, 'tests/bench/bench_codes')
        if os.path.exists(codes):
            for line in output(codes).splitlines():
                what, _, value = line.partition(': ')
                self.report.add(what, value)

    # ---- geometry

    def geometry(self):
        """All OBJs of a model of a million vertices: the first time against assimp, then from memory."""
        model, there = self.inputs.big_mod3(), self.inputs.path('objs')
        shutil.rmtree(there, ignore_errors=True)
        timed(self.modelfs, 'extract', model, 'meshes', there)
        names = [f'{i}.obj' for i in range(self.inputs.big_meshes())]
        size = sum(os.path.getsize(os.path.join(there, name)) for name in names)
        warm(model)
        theirs = []
        if shutil.which('assimp'):
            again = self.inputs.path('again.obj')
            theirs = [sum(timed('assimp', 'export', os.path.join(there, name), again) for name in names)
                      for _ in range(min(self.rounds, 3))]
        for how in ('ro', 'rw'):
            first, second = [], []
            for _ in range(self.rounds):
                with self.mount(model, how) as m:
                    paths = [os.path.join(m.point, 'meshes', name) for name in names]
                    first.append(timed('cp', *paths, there))
                    second.append(timed('cat', *paths))
            if theirs:
                self.report.compare(f'cp of all OBJs of 1,000,000 vertices, {size / 1e6:.0f} MB, -o {how}', first,
                                    theirs, '%.2f s', 'assimp export', most=0.33)
            rate = size / 1e6 / statistics.median(second)
            wanted = dict(target='>= 1000 MB/s', ok=rate >= 1000) if how == 'ro' else {}
            self.report.add(f'reading them again, -o {how}', '%.0f MB/s' % rate, **wanted)
        if not theirs:
            self.report.add('cp of all OBJs', 'not measured: needs assimp')

    # ---- previews

    def preview(self):
        """Drawing alone, then whole reads: of a large model, and of all in an archive, one after the other."""
        said = subprocess.run([self.tool('tests/bench/bench_preview')], capture_output=True, text=True).stdout
        for what, took in re.findall(r'^(.*): ([\d.]+) ms', said, re.M):
            if '4 of 4' in what:
                self.report.add(what, f'{took} ms')
            else:
                self.report.at_most(what, float(took), 50, '%.1f ms')
        model = self.inputs.big_mod3()
        warm(model)
        took = []
        for _ in range(self.rounds):
            with self.mount(model) as m:
                took.append(timed('cat', os.path.join(m.point, 'preview.png')))
        self.report.at_most('first cat of the preview of 1,000,000 vertices', statistics.median(took), 2, '%.2f s')
        with self.mount(self.inputs.big()) as m:
            paths = [os.path.join(top, 'preview.png') for top, _, names in os.walk(m.point) if 'preview.png' in names]
            paths = paths[::len(paths) // 1000 + 1]
            took = timed('cat', *paths)
        self.report.add(f'cat of {len(paths)} previews of the archive, each', '%.1f ms' % (took / len(paths) * 1e3))

    # ---- saving

    def save(self):
        archive = self.inputs.edited()
        warm(archive)
        with self.mount(archive, 'rw') as m:
            edit = Edit(os.path.join(m.point, self.inputs.big_text(m.point)))
            for mode in self.in_modes():
                mine, new, same = [], [], []
                for _ in range(SAVES * self.rounds):
                    new.append(self.small_write(os.O_EXCL))
                    same.append(self.small_write(0))
                    mine.append(edit.save())
                for what, reference, limit in (('new 4 KiB file', new, 6), ('4 KiB file that is there', same, None)):
                    self.report.compare(f'one value saved, write to fsync, {mode}', mine, reference, '%.2f ms', what,
                                        most=limit, scale=1000)
            batches = []
            for _ in range(self.rounds):
                os.sync()
                before = device_written(archive)
                for _ in range(SAVES):
                    edit.save()
                os.sync()
                batches.append((device_written(archive) - before) / SAVES / 1024)
            self.report.at_most('written to the disk for it', min(batches), 64, '%.0f KiB')
        self.save_zip(edit)

    def small_write(self, flag):
        """Seconds from write to fsync of 4 KiB."""
        path = self.inputs.path('small')
        if flag and os.path.exists(path):
            os.unlink(path)
        data = os.urandom(4096)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | flag)
        began = time.perf_counter()
        os.pwrite(fd, data, 0)
        os.fsync(fd)
        took = time.perf_counter() - began
        os.close(fd)
        return took

    def save_zip(self, edit):
        if not shutil.which('fuse-zip'):
            self.report.add('the same in a zip', 'not measured: needs fuse-zip')
            return
        archive = self.inputs.edited_zip(edit.text)
        warm(archive)
        os.sync()
        before = device_written(archive)
        with Mount(self.other, 'fuse-zip', '-f', archive, self.other) as m:
            began = time.perf_counter()
            Edit(os.path.join(m.point, 'materials.yaml')).save()
            m.close()
            os.sync()
            took = time.perf_counter() - began
        self.report.add('the same in a zip of as many files with fuse-zip, until it is unmounted',
                        '%.0f ms; %.0f KiB' % (took * 1000, (device_written(archive) - before) / 1024))

    # ---- growing

    def grow(self):
        memory, took, copied, synced = [], [], [], []
        for _ in range(min(self.rounds, 5)):
            archive, copy = self.inputs.edited(), self.inputs.path('copy')
            path, text = self.growing(archive)
            warm(archive)
            os.sync()
            began = time.perf_counter()
            timed('cp', archive, copy)
            copied.append(time.perf_counter() - began)
            sync_file(copy)
            synced.append(time.perf_counter() - began)
            os.unlink(copy)
            os.sync()
            began = time.perf_counter()
            memory.append(peak_memory([self.modelfs, 'put', '-g', archive, path, text]))
            took.append(time.perf_counter() - began)
        for what, reference, limit in (('cp and fsync', synced, 2), ('cp alone', copied, None)):
            self.report.compare('an entry that outgrows its slot: put -g', took, reference, '%.2f s', what, most=limit)
        self.report.at_most('memory for that', max(memory), 24, '%.1f MiB')

    def growing(self, archive):
        """A path in the archive, and a file that is too long for its slot there."""
        with self.mount(archive) as m:
            path = os.path.dirname(self.inputs.big_text(m.point)) + '/meshes/0.obj'
        old = output(self.modelfs, 'cat', archive, path)
        faces = [line for line in old.split('\n') if line.startswith('f ')]
        text, times = self.inputs.path('longer.obj'), 2
        while True:
            with open(text, 'w') as f:
                f.write(old + '\n'.join(faces * (times - 1)) + '\n')
            if subprocess.run([self.modelfs, 'put', archive, path, text], capture_output=True).returncode:
                return path, text
            times *= 2


class Edit:
    """One value of a text, changed again and again."""

    def __init__(self, path):
        with open(path) as f:
            self.path, self.text, self.value = path, f.read(), 0

    def save(self):
        """Seconds from write to fsync."""
        self.value = self.value % 200 + 1
        self.text = re.sub(r'colour: \[\d+', 'colour: [%d' % self.value, self.text, count=1)
        data = self.text.encode()
        fd = os.open(self.path, os.O_RDWR)
        began = time.perf_counter()
        os.pwrite(fd, data, 0)
        os.ftruncate(fd, len(data))
        os.fsync(fd)
        took = time.perf_counter() - began
        os.close(fd)
        return took


def sync_file(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def peak_memory(argv):
    """MiB that a command had at most; looked at while it runs, because what wait() tells includes this process."""
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = 0
    while p.poll() is None:
        try:
            with open(f'/proc/{p.pid}/status') as f:
                most = max([most, *(int(n) for n in re.findall(r'^VmHWM:\s*(\d+)', f.read(), re.M))])
        except OSError:
            pass
        time.sleep(0.005)
    said = p.stderr.read().decode()
    if p.returncode:
        raise RuntimeError(f'{argv}: {said}')
    return most / 1024


SECTIONS = ['start', 'find', 'plain', 'folder', 'coded', 'memory', 'model', 'text', 'packed', 'carve', 'disc',
            'geometry', 'preview', 'save', 'grow']


def turned(items, i):
    """The items, beginning with another one each time, so that none always has the warmest caches."""
    items = list(items)
    return items[i % len(items):] + items[:i % len(items)]


def warm(path):
    """Into the page cache."""
    with open(path, 'rb') as f:
        while f.read(1 << 20):
            pass


def device_stat(path):
    dev = os.stat(path).st_dev
    with open(f'/sys/dev/block/{os.major(dev)}:{os.minor(dev)}/stat') as f:
        return [int(n) for n in f.read().split()]


def device_reads(path):
    """Read requests the device of a file has completed so far."""
    return device_stat(path)[0]


def device_written(path):
    """Bytes the device of a file has written so far, for whomever."""
    return device_stat(path)[6] * 512


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    shared = os.environ.get('MODELFS_SHARED') or os.path.join(HERE, '../../../shared')
    p.add_argument('--build', default=os.path.join(HERE, '../../build-release'), help='build directory (build-release)')
    p.add_argument('--shared', default=shared, help='folder with bench/ and corpus/ (../shared beside the source)')
    p.add_argument('--work', default='/var/tmp/modelfs-bench', help='keeps archives and mount points; about 4 GB')
    p.add_argument('--rounds', type=int, default=10)
    p.add_argument('--quick', action='store_true', help='3 rounds')
    p.add_argument('--only', default=','.join(SECTIONS), help='of ' + ', '.join(SECTIONS))
    p.add_argument('--mode', dest='modes', choices=list(MODES), action='append', help='one of the two; default: both')
    p.add_argument('--cc', default=os.environ.get('CC', 'cc'))
    options = p.parse_args()
    options.modes = options.modes or list(MODES)
    if options.quick:
        options.rounds = 3
    if not os.path.isdir(os.path.join(options.shared, 'bench')):
        print(f'{options.shared}: no bench/ in it; say where with --shared', file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    bench = Bench(options)
    atexit.register(clean_left_over, bench.inputs.work)
    atexit.register(clean_up)                          # first: the last registered
    print('load before: %.2f' % os.getloadavg()[0], file=sys.stderr)
    try:
        for section in options.only.split(','):
            getattr(bench, section)()
    finally:
        print(bench.report.text())
    return 1 if bench.report.missed else 0


if __name__ == '__main__':
    sys.exit(main())
