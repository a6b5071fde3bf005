/* Journals and undo files beside an archive, ours with some bytes changed or any bytes at all. Reading changes no file;
 * readers and who opens for writing see the same bytes; an archive that the journal does not fit stays what it is; a
 * commit that is taken back leaves no trace.
 *
 *     0  1  which commit of ours the files come from
 *     1  1  its stage (2 bits); 4, 8: checksums of the journal, of the undo file are made right; 16: the input is the
 *           journal, 32: the undo file; 64: both are of version 1
 *     2  1  commits to take back
 *     ..    changes: file, kind, place (2), length; bytes */
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "build.h"
#include "bytes.h"
#include "files.h"
#include "fuzz.h"

#define NAME "a"
#define ENTRY 56u

enum { FIX_JOURNAL = 4, FIX_UNDO = 8, RAW_JOURNAL = 16, RAW_UNDO = 32, OLD = 64 };
enum { REWRITTEN = 2, RESTORED = 4 };          /* flags of a journal */

static struct archive *open_archive(bool write)
{
	struct archive_options opt = { .write = write, .io = ticking() };
	struct archive *a;
	char path[400];

	in_dir(path, NAME);
	return archive_open(path, &opt, &a, NULL) ? NULL : a;
}

/* ---- commits of ours ---- */

enum { SCENES = 6, SIZE = 3000 };

static struct { struct files before, after; } scene[SCENES];

static int commit(struct archive *a, unsigned k, uint32_t seed, struct err *e)
{
	static const uint64_t sizes[] = { SIZE, SIZE + 700, SIZE - 900, SIZE + 100, SIZE + 100 };
	struct buf noise = { 0 };
	struct source *moved;
	struct plan plan;
	int rc;

	build_noise(&noise, SIZE + 100, seed);
	moved = src_memory(noise.p, noise.len);
	if (noise.bad || !moved)
		abort();
	plan_init(&plan, k == 3 ? moved : archive_source(a));
	plan.moved = k == 3;
	plan.size = sizes[k];
	for (uint64_t at = 40 * (k + 1); k != 3 && at + 30 < plan.size; at += 900)
		if (plan_write(&plan, at, noise.p + at, 30))
			abort();
	rc = plan_settle(&plan, e);
	rc = rc ? rc : archive_commit(a, &plan, "00001.pmo/header.yaml", NULL, NULL, e);
	plan_free(&plan);
	src_put(moved);
	buf_free(&noise);
	return rc;
}

/* The files before commit k, with its journal and what it prepared. */
static void make_scene(struct archive *a, unsigned k)
{
	struct files *was = &scene[k].before, *is = &scene[k].after;
	unsigned done = 2;
	struct file *f;
	int rc;

	*was = look();
	rc = k < SCENES - 1 ? commit(a, k, k, NULL) : archive_undo(a, 2, &done, NULL);
	if (rc || done != 2)
		abort();
	*is = look();
	f = find(is, "." NAME ".modelfs-journal");
	if (!f)
		abort();
	add(was, f->name, f->bytes.p, f->bytes.len);
	if (le_u32(f->bytes.p + 12) & REWRITTEN) {
		struct file *old = find(was, NAME);

		add(was, NAME ".modelfs-undo.4", old->bytes.p, old->bytes.len);
		old = find(is, NAME);
		add(was, "." NAME ".modelfs-new", old->bytes.p, old->bytes.len);
	}
}

static void begin(void)
{
	struct files first = { .n = 0 };
	struct archive *a;
	struct buf b = { 0 };

	make_dir();
	build_noise(&b, SIZE, 1);
	add(&first, NAME, b.p, b.len);
	put_files(&first);
	forget(&first);
	buf_free(&b);
	a = open_archive(true);
	if (!a || !archive_writable(a, NULL))
		abort();
	keeps_journal = true;
	for (unsigned k = 0; k < SCENES; k++)
		make_scene(a, k);
	keeps_journal = false;
	archive_close(a);
}

/* ---- what the input makes of it ---- */

/* The same journals as version 1 had them: of one file, which has no entry. */
static void make_old(struct file *f)
{
	struct buf *b = &f->bytes;
	struct buf out = { 0 };
	uint64_t len;

	for (size_t at = 0; at < b->len; at += (size_t)len) {
		const uint8_t *p = b->p + at;
		uint32_t nwhat = le_u32(p + 100), ntable = le_u32(p + 108);
		const uint8_t *entry = p + HEAD + nwhat;
		size_t to = out.len;

		len = get64(p + 16);
		if (le_u32(p + 104) != 1 || ntable != ENTRY + 1)
			abort();
		buf_add(&out, p, HEAD + nwhat);
		buf_add(&out, entry + ntable, (size_t)len - HEAD - nwhat - ntable);
		if (out.bad)
			abort();
		put_le32(out.p + to + 8, 1);
		put_le32(out.p + to + 12, le_u32(p + 12) | le_u32(entry + 4));
		put_le32(out.p + to + 16, (uint32_t)(out.len - to));
		memcpy(out.p + to + 44, entry + 8, 4);
		memcpy(out.p + to + 64, entry + 16, 24);
		put_le32(out.p + to + 108, 0);
	}
	fix(&out);
	buf_free(b);
	*b = out;
	f->size = out.len;
}

static void make(struct files *f, const uint8_t *data, size_t n)
{
	unsigned k = data[0] % SCENES, how = data[1];
	const struct files *from = (how & 3) == 1 ? &scene[k].after : &scene[k].before;
	struct file *journal, *undo, *a, *now;

	for (unsigned i = 0; i < from->n; i++)
		add(f, from->v[i].name, from->v[i].bytes.p, from->v[i].bytes.len);
	a = find(f, NAME);
	now = find(&scene[k].after, NAME);
	if ((how & 3) == 2)                    /* the first half has been written */
		for (size_t i = 0; i < SIZE / 2 && i < a->bytes.len && i < now->bytes.len; i++)
			a->bytes.p[i] = now->bytes.p[i];
	journal = find(f, "." NAME ".modelfs-journal");
	undo = find(f, NAME ".modelfs-undo");
	if (how & OLD && journal)
		make_old(journal);
	if (how & OLD && undo)
		make_old(undo);
	if (how & RAW_JOURNAL)
		add(f, "." NAME ".modelfs-journal", data + 3, n - 3);
	if (how & RAW_UNDO)
		add(f, NAME ".modelfs-undo", data + 3, n - 3);
	if (!(how & (RAW_JOURNAL | RAW_UNDO)))
		change(f, data + 3, n - 3);
	journal = find(f, "." NAME ".modelfs-journal");
	undo = find(f, NAME ".modelfs-undo");
	if (journal && how & FIX_JOURNAL)
		fix(&journal->bytes);
	if (undo && how & FIX_UNDO)
		fix(&undo->bytes);
}

/* ---- what must be ---- */

/* Reads a journal by the layout that its header file tells. Whether the archive may be changed by it. */
static bool may_apply(const struct buf *j, const struct buf *archive)
{
	const uint8_t *entry;
	uint64_t at, len;

	if (!is_whole(j))
		return false;
	len = get64(j->p + 16);
	at = HEAD + (uint64_t)le_u32(j->p + 100);
	if (le_u32(j->p + 8) == 1)
		return le_u32(j->p + 12) & (REWRITTEN | RESTORED) ||
		       records_fit(j, at + 4 * (uint64_t)le_u32(j->p + 96), len, get64(j->p + 88), archive);
	if (le_u32(j->p + 8) != 2 || le_u32(j->p + 104) != 1 || at > len || len - at < ENTRY + 1)
		return false;
	entry = j->p + at;
	if (le_u32(entry + 4) & (REWRITTEN | RESTORED))
		return true;
	return le_u32(entry) == 1 && !entry[ENTRY] &&
	       records_fit(j, get64(entry + 40), len, get64(entry + 48), archive);
}

static struct file contents(struct archive *a)
{
	struct source *src = archive_source(a);
	struct file f = { .size = src->size };
	uint8_t *p = buf_room(&f.bytes, SEEN);

	if (!p)
		abort();
	f.bytes.len = f.size < SEEN ? (size_t)f.size : SEEN;
	if (src_pread(src, p, f.bytes.len, 0))
		abort();
	return f;
}

static void expect_contents(struct archive *a, const struct file *want)
{
	struct file f = contents(a);

	if (!same(&f, want))
		abort();
	buf_free(&f.bytes);
}

static int see_commit(void *ctx, const struct commit_info *c)
{
	unsigned *n = ctx;

	if (strlen(c->what) > 4096)
		abort();
	(*n)++;
	return 0;
}

/* A commit and back again. */
static void there_and_back(struct archive *a)
{
	struct file was = contents(a);
	struct err e = { 0 };
	unsigned done = 0;

	if (was.size > 1000 && was.size < 2 * SIZE && !commit(a, was.size == SIZE ? 0 : 1, 99, &e)) {
		if (archive_undo(a, 1, &done, &e) || done != 1)
			abort();
		expect_contents(a, &was);
	}
	buf_free(&was.bytes);
}

static void write_through(struct files *was, const struct file *seen, unsigned n)
{
	struct archive *a = open_archive(true), *other;
	struct file *journal = find(was, "." NAME ".modelfs-journal"), now;
	struct files files;
	unsigned done;

	if (!a)
		abort();
	expect_contents(a, seen);
	files = look();
	if (!same(find(&files, NAME), find(was, NAME)) &&
	    (!journal || !may_apply(&journal->bytes, &find(was, NAME)->bytes)))
		abort();
	forget(&files);
	if (archive_writable(a, NULL)) {
		if (archive_undo(a, n, &done, NULL) && archive_writable(a, NULL))
			expect_contents(a, seen);
		now = contents(a);
		other = open_archive(false);
		if (!other)
			abort();
		expect_contents(other, &now);
		archive_close(other);
		buf_free(&now.bytes);
		there_and_back(a);
	}
	archive_close(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files f = { .n = 0 };
	struct archive *a;
	struct file seen;
	char path[400];
	unsigned n = 0;

	if (!*dir)
		begin();
	if (size < 3)
		return 0;
	make(&f, data, size);
	put_files(&f);
	in_dir(path, NAME);
	a = open_archive(false);
	if (a) {
		seen = contents(a);
		archive_close(a);
		archive_log(path, see_commit, &n, NULL);
		expect_unchanged(&f);
		write_through(&f, &seen, data[2] % 8);
		buf_free(&seen.bytes);
	}
	forget(&f);
	return 0;
}
