/* Journals and undo files in a folder, ours with some bytes changed or any bytes at all. Reading changes no file; readers
 * and who opens for writing see the same bytes; when the journal does not fit one of its files, all stay what they are;
 * a commit that is taken back leaves no trace.
 *
 *     0  1  which commit of ours the files come from
 *     1  1  its stage (2 bits); 4, 8: checksums of the journal, of the undo file are made right; 16: the input is the
 *           journal, 32: the undo file
 *     2  1  commits to take back
 *     ..    changes: file, kind, place (2), length; bytes */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build.h"
#include "bytes.h"
#include "files.h"
#include "fileset.h"
#include "fuzz.h"

#define JOURNAL ".modelfs-journal"
#define UNDO ".modelfs-undo"
#define ENTRY 56u

enum { FIX_JOURNAL = 4, FIX_UNDO = 8, RAW_JOURNAL = 16, RAW_UNDO = 32 };
enum { REWRITTEN = 2, RESTORED = 4 };          /* flags of a journal's file */
enum { SCENES = 6, SIZE = 3000, MODELS = 3 };

static const char *const names[MODELS] = { "x", "s/y", "s/z" };
static struct { struct files before, after; } scene[SCENES];
static int dir_fd;

static struct fileset *open_folder(bool write)
{
	struct fileset_options opt = { .write = write, .io = ticking() };
	struct fileset *fs;

	return fileset_open(dir_fd, dir, &opt, &fs, NULL) ? NULL : fs;
}

/* ---- commits of ours ---- */

static struct source *open_file(struct fileset *fs, const char *name, struct stat *st)
{
	int fd = fileset_open_file(fs, name, O_RDONLY);
	struct source *src = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, st) || src_fd(fd, &src, NULL))
		abort();
	return src;
}

/* What becomes of file i: 0 nothing, 1 a patch, 2 longer, 3 shorter, 4 written anew. */
static void edit(struct plan *plan, struct source *src, const struct buf *noise, unsigned how, struct source **moved)
{
	*moved = how == 4 ? src_memory(noise->p, noise->len) : NULL;
	plan_init(plan, *moved ? *moved : src);
	plan->moved = *moved;
	if (how == 2)
		plan->size += 700;
	if (how == 3)
		plan->size = plan->size / 2;
	for (uint64_t at = 40 * how; how && how < 4 && at + 30 < plan->size && at + 30 < noise->len; at += 900)
		if (plan_write(plan, at, noise->p + at, 30))
			abort();
	if (plan_settle(plan, NULL))
		abort();
}

/* how: a digit for each file. */
static int commit(struct fileset *fs, unsigned how, uint32_t seed, struct err *e)
{
	struct source *src[MODELS] = { 0 }, *moved[MODELS] = { 0 };
	struct file_change v[MODELS] = { 0 };
	struct plan plan[MODELS];
	struct buf noise = { 0 };
	unsigned n = 0;
	int rc;

	build_noise(&noise, SIZE + 100, seed);
	for (unsigned i = 0; i < MODELS; i++, how /= 10) {
		src[n] = open_file(fs, names[i], &v[n].was);
		if (!src[n])
			continue;
		edit(&plan[n], src[n], &noise, how % 10, &moved[n]);
		v[n].path = names[i];
		v[n].plan = &plan[n];
		n++;
	}
	rc = fileset_commit(fs, v, n, "y/header.yaml", NULL, NULL, e);
	for (unsigned i = 0; i < n; i++) {
		plan_free(&plan[i]);
		src_put(src[i]);
		src_put(moved[i]);
	}
	buf_free(&noise);
	return rc;
}

/* The files before commit k, with its journal and what it prepared. */
static void make_scene(struct fileset *fs, unsigned k)
{
	static const unsigned how[] = { 11, 120, 133, 141, 111 };
	struct files *was = &scene[k].before, *is = &scene[k].after;
	unsigned done = 2;
	struct file *f;
	int rc;

	*was = look();
	rc = k < SCENES - 1 ? commit(fs, how[k], k, NULL) : fileset_undo(fs, 2, &done, NULL);
	if (rc || done != 2)
		abort();
	*is = look();
	f = find(is, JOURNAL);
	if (!f)
		abort();
	add(was, f->name, f->bytes.p, f->bytes.len);
	if (k == 3) {
		struct file *old = find(was, "s/y");

		add(was, UNDO ".4", old->bytes.p, old->bytes.len);
		old = find(is, "s/y");
		add(was, ".modelfs-new", old->bytes.p, old->bytes.len);
	}
}

static void start(void)
{
	struct files first = { .n = 0 };
	struct fileset *fs;

	make_dir();
	dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (unsigned i = 0; i < MODELS; i++) {
		struct buf b = { 0 };

		build_noise(&b, SIZE, i + 1);
		add(&first, names[i], b.p, b.len);
		buf_free(&b);
	}
	put_files(&first);
	forget(&first);
	fs = open_folder(true);
	if (!fs || !fileset_writable(fs, NULL))
		abort();
	keeps_journal = true;
	for (unsigned k = 0; k < SCENES; k++)
		make_scene(fs, k);
	keeps_journal = false;
	fileset_close(fs);
}

static void make(struct files *f, const uint8_t *data, size_t n)
{
	unsigned k = data[0] % SCENES, how = data[1];
	const struct files *from = (how & 3) == 1 ? &scene[k].after : &scene[k].before;
	struct file *journal, *undo;

	for (unsigned i = 0; i < from->n; i++)
		if (strcmp(from->v[i].name, ".modelfs-lock"))
			add(f, from->v[i].name, from->v[i].bytes.p, from->v[i].bytes.len);
	if ((how & 3) == 2) {                  /* one file has been written, and half of another */
		struct file *x = find(f, "x"), *now = find(&scene[k].after, "x");
		struct file *y = find(f, "s/y"), *later = find(&scene[k].after, "s/y");

		add(f, "x", now->bytes.p, now->bytes.len);
		for (size_t i = 0; i < SIZE / 2 && x && i < y->bytes.len && i < later->bytes.len; i++)
			y->bytes.p[i] = later->bytes.p[i];
	}
	if (how & RAW_JOURNAL)
		add(f, JOURNAL, data + 3, n - 3);
	if (how & RAW_UNDO)
		add(f, UNDO, data + 3, n - 3);
	if (!(how & (RAW_JOURNAL | RAW_UNDO)))
		change(f, data + 3, n - 3);
	journal = find(f, JOURNAL);
	undo = find(f, UNDO);
	if (journal && how & FIX_JOURNAL)
		fix(&journal->bytes);
	if (undo && how & FIX_UNDO)
		fix(&undo->bytes);
}

/* ---- what must be ---- */

/* Reads a journal by the layout that its header file tells. Whether files may be changed by it. */
static bool may_apply(const struct buf *j, struct files *was)
{
	uint64_t at, len, end;

	if (!is_whole(j) || le_u32(j->p + 8) != 2)
		return false;
	len = get64(j->p + 16);
	at = HEAD + (uint64_t)le_u32(j->p + 100);
	end = at + le_u32(j->p + 108);
	for (uint32_t i = 0; i < le_u32(j->p + 104); i++) {
		const uint8_t *entry = j->p + at;
		struct file *f;

		if (end > len || at > end || end - at < ENTRY || le_u32(entry) > end - at - ENTRY || !le_u32(entry) ||
		    entry[ENTRY + le_u32(entry) - 1])
			return false;
		if (le_u32(entry + 4) & (REWRITTEN | RESTORED))
			return true;
		f = find(was, (const char *)entry + ENTRY);
		if (!f || !records_fit(j, get64(entry + 40), len, get64(entry + 48), &f->bytes))
			return false;
		at += ENTRY + le_u32(entry);
	}
	return true;
}

static struct files contents(struct fileset *fs)
{
	struct files all = { .n = 0 };

	for (unsigned i = 0; i < MODELS; i++) {
		struct source *src, *file;
		uint8_t p[SEEN];
		struct stat st;
		size_t n;

		file = open_file(fs, names[i], &st);
		if (fileset_through(fs, names[i], file, &src, NULL)) {
			src_put(file);
			continue;
		}
		n = src->size < SEEN ? (size_t)src->size : SEEN;
		if (src_pread(src, p, n, 0))
			abort();
		add(&all, names[i], p, n)->size = src->size;
		src_put(src);
		src_put(file);
	}
	return all;
}

static void expect_contents(struct fileset *fs, struct files *want)
{
	struct files now = contents(fs);

	if (now.n != want->n)
		abort();
	for (unsigned i = 0; i < now.n; i++)
		if (!same(&now.v[i], find(want, now.v[i].name)))
			abort();
	forget(&now);
}

static int see_commit(void *ctx, const struct commit_info *c)
{
	if (strlen(c->what) > 4096)
		abort();
	(void)ctx;
	return 0;
}

/* A commit and back again. */
static void there_and_back(struct fileset *fs)
{
	struct files was = contents(fs);
	struct err e = { 0 };
	unsigned done = 0;
	uint64_t all = 0;

	for (unsigned i = 0; i < was.n; i++)
		all += was.v[i].size;
	if (all < (uint64_t)6 * SIZE && was.n && !commit(fs, 111, 99, &e) && fileset_log(dir_fd, dir, see_commit, NULL, &e))
		abort();
	if (all < (uint64_t)6 * SIZE && was.n && !e.code) {
		if (fileset_undo(fs, 1, &done, &e) || done != 1)
			abort();
		expect_contents(fs, &was);
	}
	forget(&was);
}

static void write_through(struct files *was, struct files *seen, unsigned n)
{
	struct fileset *fs = open_folder(true), *other;
	struct file *journal = find(was, JOURNAL);
	bool may = journal && may_apply(&journal->bytes, was);
	struct files files, now;
	unsigned done;

	if (!fs)
		abort();
	expect_contents(fs, seen);
	files = look();
	for (unsigned i = 0; i < MODELS; i++)
		if (!may && find(was, names[i]) && !same(find(&files, names[i]), find(was, names[i])))
			abort();
	forget(&files);
	if (fileset_writable(fs, NULL)) {
		if (fileset_undo(fs, n, &done, NULL) && !fileset_pending(fs))
			expect_contents(fs, seen);
		now = contents(fs);
		other = open_folder(false);
		if (!other)
			abort();
		expect_contents(other, &now);
		fileset_close(other);
		forget(&now);
		there_and_back(fs);
	}
	fileset_close(fs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files f = { .n = 0 }, seen;
	struct fileset *fs;

	if (!*dir)
		start();
	if (size < 3)
		return 0;
	make(&f, data, size);
	put_files(&f);
	fs = open_folder(false);
	if (fs) {
		seen = contents(fs);
		fileset_close(fs);
		fileset_log(dir_fd, dir, see_commit, NULL, NULL);
		expect_unchanged(&f);
		write_through(&f, &seen, data[2] % 8);
		forget(&seen);
	}
	forget(&f);
	return 0;
}
