"""Saving through a mount: files saved unchanged, one edit of each kind, what every view shows then, growth and undo."""
import errno
import json
import multiprocessing
import os
import re
import shutil
import struct
import sys
from collections import Counter

import lib
import saving
from edits import Model, clips, field, gradient, group_fields, header, material, mesh_fields, picture, put, rescale
from edits import skeleton, stored_colour, triangles, vertices, visible
from lib import CORPUS, SAMPLES, Mount, run
from saving import Editor, READER, sha

ARCHIVES = ('mhp2g', 'mhp3rd', 'mhfu', 'mhf2')
PROCESSES = 2
SEED = '1'
OF_EACH_TYPE = 6                                   # entries of an archive, besides those that are small
SMALL = 6144                                       # bytes


def corpus(t):
    """The corpus, made anew; None when there is none."""
    if not os.path.exists(os.path.join(CORPUS, 'mkmhp.py')):
        return None
    if not hasattr(t, 'corpus'):
        t.corpus = t.dir('corpus')
        code, text = lib.other(sys.executable, os.path.join(CORPUS, 'mkmhp.py'), t.corpus, '--seed', SEED, '--what',
                               ','.join(ARCHIVES + ('pac', 'single')))
        if code:
            raise RuntimeError('corpus: ' + text[-300:])
    return t.corpus


def need_corpus(t):
    where = corpus(t)
    if not where:
        raise lib.Skip('no corpus beside the source')
    return where


# ---------------------------------------------------------------- files saved unchanged

def copied(source, to):
    """A copy of a source, in a folder of its own."""
    path = os.path.join(to, os.path.basename(source))
    shutil.copyfile(source, path)
    return path


def unchanged(job):
    """(source, names at its top or None for all) -> (files, problems)"""
    source, names = job
    folder = TEST.dir('noop')
    path = copied(source, folder)
    first, n, bad = sha(path), 0, []
    try:
        with Mount(TEST, path) as m:
            for name in names or ['']:
                top = os.path.join(m.point, name)
                for p in lib.files(top) if os.path.isdir(top) else ['']:
                    file = os.path.join(top, p) if p else top
                    if not os.stat(file).st_mode & 0o200:
                        continue
                    n += 1
                    try:
                        saving.save(file, lib.read(file), saving.WAYS[n % len(saving.WAYS)])
                    except OSError as e:
                        bad.append(f'{source}: {name}/{p}: {e.strerror}')
            left = [p for p in lib.files(m.point) if p.endswith(('errors.txt', '.rejected'))]
        if sha(path) != first:
            bad.append(f'{source}: the bytes changed')
        bad += [f'{source}: {p}' for p in left]
        bad += [f'{source}: log: {x}' for x in m.log.splitlines()]
        r = run('log', path)
        if not r.stdout.startswith(b'0 commits'):
            bad.append(f'{source}: commits: {r.stdout.decode()[:300]}')
    except Exception as e:
        bad.append(f'{source}: {e!r}')
    shutil.rmtree(folder)
    return n, bad


def chosen(where, name):
    """Of an archive: some entries of each type, and all that are small models."""
    counts, out = {}, []
    for e in json.load(open(os.path.join(where, name + '.expected.json')))['entries']:
        counts[e['type']] = counts.get(e['type'], 0) + 1
        if counts[e['type']] <= OF_EACH_TYPE or e['size'] <= SMALL and e['type'] in ('pac', 'tmh', 'anm', 'ahi'):
            out.append(e['name'])
    return out


def sources(t):
    yield t.demo, None
    where = corpus(t)
    if not where:
        t.skip('files of the corpus and the samples: no corpus beside the source')
        return
    for name in sorted(os.listdir(SAMPLES)):
        if name.endswith('.pac'):
            yield os.path.join(SAMPLES, name), None
    for name in ARCHIVES:
        yield os.path.join(where, name, 'DATA.BIN'), chosen(where, name)
    for part in ('single', 'pac'):
        for name in sorted(os.listdir(os.path.join(where, part))):
            yield os.path.join(where, part, name), None


def nothing_changes(t):
    global TEST
    TEST = t
    jobs, files, bad = list(sources(t))[::3 if lib.SANITIZERS else 1], 0, []
    with multiprocessing.get_context('fork').Pool(PROCESSES) as pool:
        for n, problems in pool.imap_unordered(unchanged, jobs):
            files += n
            bad += problems
    t.none(bad, f'{files} files of {len(jobs)} sources, saved as they are: not a byte, no commit')
    t.ok(files > 60, 'there was something to save', files)


# ---------------------------------------------------------------- one edit of each kind

def pac_models(t):
    """A monster of Freedom Unite and a model of version 102."""
    where = need_corpus(t)
    with Editor(t, os.path.join(where, 'pac', 'monster_1.pac')) as x:
        m = Model(x, '', '01.pmo')
        for f in (header, material, mesh_fields, group_fields, visible, vertices, rescale):
            f(m)
    with Editor(t, os.path.join(where, 'pac', 'multi_mesh_102.pac')) as x:
        m = Model(x, '', '00.pmo')
        for f in (header, material, mesh_fields, group_fields, visible, vertices, rescale):
            f(m)
        vertices(m, 1)


def shown_again(t):
    """Hidden, mounted anew, the undo file gone, and shown: the old bytes."""
    where = corpus(t)
    for source, name in ((t.demo, f'{t.kit}/00.pmo/meshes/0.yaml'),
                         (where and os.path.join(where, 'pac', 'monster_1.pac'), '01.pmo/meshes/2.yaml')):
        if not source:
            continue
        path = copied(source, t.dir('hidden'))
        for value in 'false', 'true':
            with Mount(t, path) as m:
                text = lib.read(m.point, name).decode()
                saving.save(os.path.join(m.point, name), field(text, 'visible', value).encode())
            now = sha(path)
            t.ok((now == sha(source)) == (value == 'true'), f'{os.path.basename(source)}: visible: {value}')
            os.unlink(path + '.modelfs-undo')


def rebuilt(t):
    where = need_corpus(t)
    for pac, pmo in (('monster_1.pac', '01.pmo'), ('multi_mesh_102.pac', '00.pmo'), ('index_u32.pac', '00.pmo'),
                     ('strip_joins.pac', '00.pmo')):
        with Editor(t, os.path.join(where, 'pac', pac), options=['grow']) as x:
            triangles(Model(x, '', pmo), places=lambda p: [(0, 1 << 32)])


def pictures(t):
    where = os.path.join(need_corpus(t), 'single')
    with Editor(t, os.path.join(where, 'tex_direct.tmh')) as x:
        for k in (0, 3, 6, 9):
            im = saving.Image(x.bytes(), k)
            new = [bytes(c) for c in zip(*[iter(gradient(im.w, im.h))] * 4)]
            picture(x, k, f'format {im.format}', b''.join(stored_colour(im.format, c) for c in new), [im.pixels])
    with Editor(t, os.path.join(where, 'tex_clut.tmh')) as x:
        for k in (0, 2, 8, 9):
            im = saving.Image(x.bytes(), k)
            w, h, old = saving.pixels(lib.read(x.at(f'{k}.png')))
            n = next(i for i in range(4, len(old), 4) if old[i:i + 4] != old[:4])
            new = old[n:n + 4] + old[4:n] + old[:4] + old[n + 4:]
            picture(x, k, f'format {im.format}, two pixels exchanged', new, [im.pixels])
            name, text = f'{k}.yaml', x.text(f'{k}.yaml')
            colours = re.search(r'^- \[(\[.*\])\]$', text, re.M)[1]
            pairs = json.loads(f'[{colours}]')
            pairs[3] = [255 - v if i < 3 else v for i, v in enumerate(pairs[3])]
            x.edit(f'{name}: a palette colour', name, put(text, r'^- \[\[.*$', f'- {pairs}'), '',
                   [rf'truth/images/{k}/rgba_sha256'],
                   spans=[(im.palette[0] + 3 * im.colour, im.palette[0] + 4 * im.colour)])
            picture(x, k, f'format {im.format}, other colours', gradient(w, h), [im.pixels, im.palette], exact=False,
                    within=40 if im.format == 4 else 12)
    with Editor(t, os.path.join(where, 'tex_dxt.tmh')) as x:
        for k in (0, 3, 6):
            im = saving.Image(x.bytes(), k)
            picture(x, k, f'format {im.format}', gradient(im.w, im.h), [im.pixels], exact=False, within=12)


def motion(t):
    where = need_corpus(t)
    with Editor(t, os.path.join(where, 'pac', 'monster_1.pac'), options=['grow']) as x:
        m, first = Model(x, '', '01.pmo'), x.bytes()
        skeleton(x, 'entries/0', *m.entry_at(0), ['00.ahi', '01.pmo'])
        for k, where_to in enumerate(('02.tmh', '01.pmo/textures')):
            w, h, old = saving.pixels(lib.read(x.at(where_to, f'{k}.png')))
            b, at = m.entry_at(2)
            picture(x, k, 'turned over', b''.join(old[4 * w * y:4 * w * (y + 1)] for y in reversed(range(h))),
                    [saving.Image(b, k, at).pixels], dir=where_to, entry='entries/2')
        clips(x, ['03.anm/clips', '01.pmo/animations'], '03.anm/header.yaml', 'entries/3',
              shared=['size', 'entries/3/size'])
        old = first + bytes(max(0, len(x.bytes()) - len(first)))
        x.edit('the PAC as it was', 'raw/whole.pac', old, '', ['.*'], moves='',
               check=lambda _, now: lib.unless(now['entries'] == READER.facts('x', first)['entries'], 'other facts'))
    with Editor(t, os.path.join(where, 'pac', 'multi_mesh_102.pac')) as x:
        skeleton(x, 'entries/1', *Model(x, '', '00.pmo').entry_at(1), ['01.ahi', '00.pmo'])
    for name in ('anim_mhp3rd_2x5.anm', 'anim_mhfu_2x3.anm'):
        with Editor(t, os.path.join(where, 'single', name), options=['grow']) as x:
            clips(x, ['clips'], 'header.yaml')


# ---------------------------------------------------------------- bytes

def flipped(b, *places):
    out = bytearray(b)
    for i in places:
        out[i] ^= 0x55
    return bytes(out)


def raw(t):
    """Sections and whole entries of the same size."""
    where = need_corpus(t)
    with Editor(t, os.path.join(where, 'pac', 'monster_1.pac')) as x:
        b = x.bytes()
        (ahi, _), (pmo, _), (tmh, _), (anm, size) = saving.pac_entries(b)[:4]
        m = Model(x, '', '01.pmo')
        p = m.pmo()
        for name, entry, place, start, facts in (
                ('01.pmo/raw/materials.bin', 1, 1, p.material(0)[0], r'truth/materials/0/colour/1'),
                ('01.pmo/raw/meshes.bin', 1, 0xc, p.mesh(0)[0], r'truth/meshes/0/blend'),
                ('01.pmo/raw/groups.bin', 1, 0, p.group(0)[0], None),
                ('01.pmo/raw/header.bin', 1, 0xd, p.header(0, 0)[0], r'truth/cull_radius'),
                ('00.ahi/raw/bones.bin', 0, 0x3d, None, r'truth/bones/0/offset/0'),
                ('03.anm/raw/clips.bin', 3, 12, None, r'truth/clips/0/loop'),
                ('02.tmh/raw/images.bin', 2, 40, None, r'truth/images/0/rgba_sha256')):
            if facts:
                data = lib.read(x.at(name))
                x.edit(name, name, flipped(data, place), f'entries/{entry}', [facts],
                       spans=[(start + place, start + place + 1)] if start is not None else None)
        data = bytearray(lib.read(x.at('01.pmo/raw/whole.pmo')))
        struct.pack_into('<f', data, 0xc, 77.5)
        x.edit('whole.pmo', '01.pmo/raw/whole.pmo', bytes(data), 'entries/1', ['truth/cull_radius'],
               {'truth/cull_radius': 77.5}, [p.header(0xc, 4)])
        data = bytearray(lib.read(x.at('raw/whole.pac')))
        struct.pack_into('<f', data, pmo + 0xc, 88.5)
        x.edit('whole.pac', 'raw/whole.pac', bytes(data), 'entries/1', ['truth/cull_radius'],
               {'truth/cull_radius': 88.5}, [p.header(0xc, 4)])
    with Editor(t, os.path.join(where, 'pac', 'stage_0.pac')) as x:
        at, size = saving.pac_entries(x.bytes())[4]
        data = lib.read(x.at('04.bin'))
        x.edit('an entry of the same size', '04.bin', flipped(data, 3, 60), 'entries/4', spans=[(at, at + size)])


# ---------------------------------------------------------------- a whole archive

def archive_entries(path):
    return {i: (start * lib.BLOCK, data, exact, plain)
            for i, start, data, exact, plain in READER.databin(lib.read(path))}


def slot_rest(files, i):
    start, data, exact, _ = files[i]
    after = files.get(i + 1)
    return (after[0] - start if after else -(-len(data) // lib.BLOCK) * lib.BLOCK) - len(data)


def named(where, game):
    return {e['index']: e for e in json.load(open(f'{where}/{game}.expected.json'))['entries']}


def plain_entries(t):
    """Shorter and longer within the slot, with and without an exact size, encrypted and not."""
    where = need_corpus(t)
    for game in ('mhfu', 'mhf2'):
        source = os.path.join(where, game, 'DATA.BIN')
        files, names = archive_entries(source), named(where, game)
        kinds = {}
        for i, e in names.items():
            if e['type'] in ('bin', 'prx', 'pmf') and len(files[i][1]) > 64:
                kinds.setdefault((files[i][2], files[i][3]), i)
        for (exact, plain), i in kinds.items():
            name, (start, data, _, _) = names[i]['name'], files[i]
            slot = len(data) + slot_rest(files, i)
            title = f'{game}: {"exact" if exact else "whole blocks"}, {"plain" if plain else "encrypted"}'
            with Editor(t, source, [name], title=title) as x:
                own, table = (start, start + slot), (0, files[0][0] if 0 in files else lib.BLOCK)
                key = '%05d' % i
                x.edit('same size', name, flipped(data, 7, 50), key, spans=[(start + 7, start + 51)])
                shorter = flipped(data, 20)[:-33]
                x.edit('shorter', name, shorter, key, ['size'], spans=[own, table])
                now = archive_entries(x.source)[i][1]
                t.ok(now == shorter if exact else now == shorter + bytes(33), f'{title}: what is stored then',
                     (len(now), len(shorter)))
                room = data + bytes(slot - len(data)) if exact else data
                longer = flipped(room, 30)[:slot - 1 if exact else None]
                x.edit('as long as the slot lets it be', name, longer, key, ['size'], spans=[own, table])
                now = archive_entries(x.source)[i][1]
                t.ok(now == longer, f'{title}: what is stored then', (len(now), len(longer)))
                refused(x, name, bytes(slot + 9), errno.ENOSPC, '9 ')


def refused(x, path, new, code, words):
    """Saving fails, nothing changes, the text is kept and the reason told."""
    first, new = sha(x.source), new.encode() if isinstance(new, str) else new
    try:
        saving.save(x.at(path), new)
        why = 0
    except OSError as e:
        why = e.errno
    same = sha(x.source) == first
    x.t.ok(why == code and same, f'{x.title}: {path}: refused, nothing changed', (why, same))
    log = open(x.mount.log_path, errors='replace').read().splitlines()
    x.t.ok(any(path in z and words in z for z in log), f'{x.title}: {path}: the log tells why', log[-3:])
    kept = x.at(path + '.rejected')
    x.t.ok(os.path.exists(kept) and lib.read(kept) == new,
           f'{x.title}: {path}: the text is kept')


def archives(t):
    """Entries of encrypted archives: in the slot, the other files are untouched."""
    where = need_corpus(t)
    for game, pick in (('mhfu', 'monster'), ('mhp2g', 'player'), ('mhp3rd', 'geo')):
        source = os.path.join(where, game, 'DATA.BIN')
        files, names = archive_entries(source), named(where, game)
        i, entries, index = chosen_pac(files, names, pick)
        start, data, _, _ = files[i]
        name = names[i]['name']
        pmo = '%02d.pmo' % index
        near = [names[k]['name'] for k in (i, *entries)]
        with Editor(t, source, near, title=f'{game}: {name}') as x:
            m = Model(x, name, pmo, '%05d/' % i, start)
            if pick == 'geo':
                m.geometry = files[i + 1][0]
                m.too = ['%05d/sha256' % (i + 1)]
            for f in (header, material, mesh_fields, vertices):
                f(m)
            if pick == 'geo':
                continue
            table = (0, files[min(k for k in files if files[k][1])][0])
            end = start + len(data) + slot_rest(files, i)
            triangles(m, places=lambda p: [table, (start, end)])


def chosen_pac(files, names, pick):
    """The PAC with a PMO that has the most room, or one whose geometry lies behind it: index, others, number of the
    PMO."""
    best = None
    for i, e in names.items():
        models = [k for k, z in enumerate(e.get('entries', ())) if z['type'] == 'pmo' and z['truth']['meshes']]
        if not models or e['type'] != 'pac':
            continue
        truth = e['entries'][models[0]]['truth']
        if pick == 'geo':
            if truth.get('companion'):
                return i, [i + 1], models[0]
            continue
        data = files[i][1]
        at, size = saving.pac_entries(data)[-1]
        room = slot_rest(files, i) + len(data) - len(data.rstrip(b'\0'))
        if truth['meshes'][0]['faces'] and truth['skinned'] and (best is None or room > best[0]):
            best = (room, i, models[0])
    return best[1], [], best[2]


def demo(t):
    """The demo archive; without the corpus' reader only the bytes are looked at, and what is shown."""
    pac = next(n for n in sorted(os.listdir(t.tree)) if os.path.isdir(os.path.join(t.tree, n, '03.anm')))
    key = pac[:5]
    with Editor(t, t.demo, [pac], title=f'demo: {pac}') as x:
        yaml = f'{pac}/01.pmo/header.yaml'
        start = x.start(pac, yaml, field(x.text(yaml), 'cull_radius', '123.25').encode())
        m = Model(x, pac, '01.pmo', key + '/', start)
        for f in (header, material, mesh_fields, visible, vertices, rescale):
            f(m)
        table, end = (0, start), start + 2 * len(m.pac_bytes())
        triangles(m, places=lambda p: [table, (start, end)])
        size = [key + '/size', key + '/entries/3/size']
        skeleton(x, key + '/entries/0', *m.entry_at(0), [f'{pac}/00.ahi', f'{pac}/01.pmo'])
        clips(x, [f'{pac}/03.anm/clips', f'{pac}/01.pmo/animations'], f'{pac}/03.anm/header.yaml', key + '/entries/3',
              shared=size)
    bank = next(n for n in sorted(os.listdir(t.tree)) if n.endswith('.tmh'))
    with Editor(t, t.demo, [bank], title=f'demo: {bank}') as x:
        for k in range(3):
            w, h, old = saving.pixels(lib.read(x.at(bank, f'{k}.png')))
            picture(x, k, 'turned over', b''.join(old[4 * w * y:4 * w * (y + 1)] for y in reversed(range(h))), None,
                    dir=bank, entry=bank[:5])


# ---------------------------------------------------------------- growing

def many(text, times):
    """An OBJ whose faces are there several times."""
    faces = [z for z in text.split('\n') if z.startswith('f ')]
    return text + '\n'.join(faces * (times - 1)) + '\n', len(faces) * (times - 1)


def grows(t):
    """A mesh that its slot does not hold: refused, or, with -o grow, later entries move."""
    where = need_corpus(t)
    source = os.path.join(where, 'mhfu', 'DATA.BIN')
    files, names = archive_entries(source), named(where, 'mhfu')
    i, _, index = chosen_pac(files, names, 'player')
    name, last = names[i]['name'], names[max(names)]['name']
    pmo = f'{name}/{index:02d}.pmo'
    with Editor(t, source, [name, last], title='mhfu: full') as x:
        new, _ = many(x.text(pmo, 'meshes/0.obj'), 200)
        refused(x, f'{pmo}/meshes/0.obj', new, errno.ENOSPC, 'bytes are missing')
        told = x.text(pmo, 'errors.txt')
        t.ok(re.search(r'^meshes/0\.obj: .* \d+ bytes are missing', told, re.M), 'mhfu: full: errors.txt tells', told)
        m = Model(x, name, f'{index:02d}.pmo', '%05d/' % i, files[i][0])
        saving.save(x.at(pmo, 'meshes/0.obj'), lib.read(x.at(pmo, 'meshes/0.obj')))
        t.ok(not [p for p in lib.files(x.at(pmo)) if p.endswith(('errors.txt', '.rejected'))],
             'mhfu: full: a good save takes both away', lib.files(x.at(pmo)))
        material(m)
    with Editor(t, source, [name, last], ['grow'], title='mhfu: grown') as x:
        m = Model(x, name, f'{index:02d}.pmo', '%05d/' % i, files[i][0])
        new, more = many(x.text(pmo, 'meshes/0.obj'), 200)
        own = 'meshes/0/'

        def all_there(before, after):
            a, b = (Counter(saving.soup(saving.value_at(f, m.facts + own[:-1]))) for f in (before, after))
            return lib.unless(b - a == Counter({k: 199 * v for k, v in a.items()}) and not a - b, 'other triangles')

        m.edit('grown by triangles', 'meshes/0.obj', new, [own + '(groups|v|rgba|uv|vt|vn|weights|faces)/.*', 'size'],
               check=all_there, facts_too=[*m.around, m.entry + '/size'], moves=name)
        t.ok(os.path.getsize(x.source) > os.path.getsize(source), 'mhfu: grown: the file is longer')
        now = archive_entries(x.source)
        t.none([f'{k}: other bytes' for k in files if k != i and files[k][1:] != now[k][1:]],
               f'mhfu: grown: the other {len(files) - 1} entries')
        material(m)
        end = Model(x, name, f'{index:02d}.pmo', '%05d/' % i, now[i][0])
        mesh_fields(end)
        x.text(last, lib.files(x.at(last))[0])


TEST = None

if __name__ == '__main__':
    lib.main(nothing_changes, demo, shown_again, pac_models, rebuilt, pictures, motion, raw, plain_entries, archives,
             grows, needs_fuse=True)
