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
from inputs import Inputs  # noqa: E402  (after the line that keeps the source tree clean)

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITFS_OPTIONS = ['plus=2', 'keep=1', 'cdir=1', 'ttl=1', 'whole=0']      # what modelfs gives the kernel
RANDOM_READS, TAIL_READS = 4000, 2000
READ_SIZE = 131072
SMALL_CACHE = 64                                                          # MiB, of the mount that reads everything
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
        """Medians, and the ratio that the target is about."""
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
        more = ['-o', ','.join(options)] if options else []
        return Mount(self.point, self.modelfs, 'mount', '-f', *more, archive, self.point)

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
            mine, floor = [], []
            for _ in range(self.rounds):
                floor.append(0.010 + number(output(self.preads, 'at', archive, input=offsets), 's'))
                mine.append(timed(self.modelfs, 'mount', archive, self.point) + timed('ls', self.point))
                timed(self.modelfs, 'umount', self.point)
            self.report.compare(f'mount to the end of the first ls, {mode}', mine, floor, '%.1f ms', '10 ms + preads',
                                most=1, scale=1000)
        self.cold_start(archive)

    def cold_start(self, archive):
        n = len(self.inputs.big_offsets())
        if shutil.which('strace'):
            log = self.inputs.path('strace.log')
            with Mount(self.point, 'strace', '-f', '-qq', '-e', 'trace=pread64', '-o', log,
                       self.modelfs, 'mount', '-f', archive, self.point):
                timed('ls', self.point)
            with open(log) as f:
                calls = sum('pread64(' in line for line in f)
            self.report.at_most('reads of the archive per entry, mount to the first ls', calls / n, 2, '%.3f')
        took, reads = [], []
        for _ in range(3):
            self.fsbench('drop', archive)
            before = device_reads(archive)
            took.append(timed(self.modelfs, 'mount', archive, self.point) + timed('ls', self.point))
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
                mine = walk(lambda: self.mount(archive, 'stats'))
                theirs = walk(lambda: Mount(self.other, 'squashfuse_ll', '-f', image, self.other))
                rate = lambda v: [len(names) / 1000 / t for t in v]
                self.report.compare(f'find, {what}, {mode}', rate(mine), rate(theirs), '%.0f k nodes/s',
                                    'squashfuse_ll', least=1)
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
                got = {'modelfs': [], 'mmap': [], 'read': []}
                for i in range(self.rounds):
                    for who in turned(got, i):
                        with self.mount(archive) if who == 'modelfs' else self.limitfs(archive, who) as m:
                            os.stat(os.path.join(m.point, self.inputs.long_name()))    # the table is read: see start()
                            got[who].append(measure(m.point))
                for data in ('mmap', 'read'):
                    self.report.compare(f'{what}, {mode}', got['modelfs'], got[data], form, f'limitfs data={data}',
                                        **target)

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


SECTIONS = ['start', 'find', 'plain', 'coded', 'memory', 'model', 'text']


def turned(items, i):
    """The items, beginning with another one each time, so that none always has the warmest caches."""
    items = list(items)
    return items[i % len(items):] + items[:i % len(items)]


def warm(path):
    """Into the page cache."""
    with open(path, 'rb') as f:
        while f.read(1 << 20):
            pass


def device_reads(path):
    """Read requests the device of a file has completed so far."""
    dev = os.stat(path).st_dev
    with open(f'/sys/dev/block/{os.major(dev)}:{os.minor(dev)}/stat') as f:
        return int(f.read().split()[0])


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    shared = os.environ.get('MODELFS_SHARED') or os.path.join(HERE, '../../../shared')
    p.add_argument('--build', default=os.path.join(HERE, '../../build-release'), help='build directory (build-release)')
    p.add_argument('--shared', default=shared, help='folder with bench/ and corpus/ (../shared beside the source)')
    p.add_argument('--work', default='/var/tmp/modelfs-bench', help='keeps archives and mount points; about 2 GB')
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
