/* Journals and undo files beside an archive, ours with some bytes changed or any bytes at all. Reading changes no file;
 * readers and who opens for writing see the same bytes; an archive that the journal does not fit stays what it is; a
 * commit that is taken back leaves no trace.
 *
 *     0  1  which commit of ours the files come from
 *     1  1  its stage (2 bits); 4, 8: checksums of the journal, of the undo file are made right; 16: the input is the
 *           journal, 32: the undo file
 *     2  1  commits to take back
 *     ..    changes: file, kind, place (2), length; bytes */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "archive.h"
#include "build.h"
#include "bytes.h"
#include "fuzz.h"

#define NAME "a"
#define HEAD 124u
#define SEEN 65536u                            /* bytes of a file that are compared */
#define FILES_MOST 16u
#define CHANGES_MOST 24u

enum { FIX_JOURNAL = 4, FIX_UNDO = 8, RAW_JOURNAL = 16, RAW_UNDO = 32 };
enum { REWRITTEN = 2, RESTORED = 4 };          /* flags of a journal */

static char dir[64];

static void in_dir(char path[400], const char *name)
{
	snprintf(path, 400, "%s/%s", dir, name);
}

/* ---- files ---- */

struct file { char name[NAME_MAX + 1]; uint64_t size; struct buf bytes; };
struct files { struct file v[FILES_MOST]; unsigned n; };

static void forget(struct files *f)
{
	for (unsigned i = 0; i < f->n; i++)
		buf_free(&f->v[i].bytes);
	f->n = 0;
}

static struct file *find(struct files *f, const char *name)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return &f->v[i];
	return NULL;
}

static struct file *add(struct files *f, const char *name, const void *p, size_t n)
{
	struct file *file = find(f, name);

	if (!file) {
		if (f->n == FILES_MOST)
			abort();
		file = &f->v[f->n++];
		*file = (struct file){ .size = 0 };
		snprintf(file->name, sizeof file->name, "%s", name);
	}
	buf_free(&file->bytes);
	buf_add(&file->bytes, p, n);
	file->size = n;
	return file;
}

static void each_name(void (*fn)(void *ctx, const char *name), void *ctx)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			fn(ctx, e->d_name);
	if (d)
		closedir(d);
}

static void remove_file(void *ctx, const char *name)
{
	char path[400];

	(void)ctx;
	in_dir(path, name);
	unlink(path);
}

static void clean_up(void)
{
	each_name(remove_file, NULL);
	rmdir(dir);
}

static void read_file(void *ctx, const char *name)
{
	static uint8_t room[SEEN];
	char path[400];
	struct stat st;
	ssize_t n;
	int fd;

	in_dir(path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 || fstat(fd, &st) ? -1 : read(fd, room, sizeof room);
	if (n < 0)
		abort();
	close(fd);
	add(ctx, name, room, (size_t)n)->size = (uint64_t)st.st_size;
}

static struct files look(void)
{
	struct files f = { .n = 0 };

	each_name(read_file, &f);
	return f;
}

static void put_files(const struct files *f)
{
	char path[400];

	each_name(remove_file, NULL);
	for (unsigned i = 0; i < f->n; i++) {
		const struct buf *b = &f->v[i].bytes;
		int fd;

		in_dir(path, f->v[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || (b->len && write(fd, b->p, b->len) != (ssize_t)b->len))
			abort();
		close(fd);
	}
}

static bool same(const struct file *a, const struct file *b)
{
	return a && b && a->size == b->size && a->bytes.len == b->bytes.len &&
	       (!a->bytes.len || !memcmp(a->bytes.p, b->bytes.p, a->bytes.len));
}

/* ---- calls ---- */

static bool keeps_journal;

/* The clock of a file goes in steps of some milliseconds, for which a commit waits so that others see it; here it goes
 * with every write. */
static void tick(int fd)
{
	static long now;
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000 + ++now } };

	futimens(fd, t);
}

static ssize_t write_ticking(void *ctx, int fd, const void *p, size_t n, uint64_t at)
{
	ssize_t done = io_system.pwrite(ctx, fd, p, n, at);

	tick(fd);
	return done;
}

static int truncate_ticking(void *ctx, int fd, uint64_t size)
{
	int rc = io_system.ftruncate(ctx, fd, size);

	tick(fd);
	return rc;
}

static int unlink_some(void *ctx, int dirfd, const char *path)
{
	return keeps_journal && strstr(path, "-journal") ? -EIO : io_system.unlinkat(ctx, dirfd, path);
}

/* A file that was made long would be written down whole when it is cut again. */
static int little_space(void *ctx, int dirfd, uint64_t *bytes)
{
	(void)ctx;
	(void)dirfd;
	*bytes = 1 << 20;
	return 0;
}

static struct archive *open_archive(bool write)
{
	static struct io_ops io;
	struct archive_options opt = { .write = write, .io = &io };
	struct archive *a;
	char path[400];

	io = io_system;
	io.pwrite = write_ticking;
	io.ftruncate = truncate_ticking;
	io.unlinkat = unlink_some;
	io.space = little_space;
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

	snprintf(dir, sizeof dir, "/dev/shm/modelfs-fuzz-XXXXXX");
	if (!mkdtemp(dir)) {
		snprintf(dir, sizeof dir, "/tmp/modelfs-fuzz-XXXXXX");
		if (!mkdtemp(dir))
			abort();
	}
	atexit(clean_up);
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

static uint64_t get64(const uint8_t *p)
{
	return le_u32(p) | (uint64_t)le_u32(p + 4) << 32;
}

/* Checksums of the journals in b, one behind the other. */
static void fix(struct buf *b)
{
	uint64_t len;

	for (size_t at = 0; at + HEAD <= b->len; at += (size_t)len) {
		uint8_t *p = b->p + at;

		len = get64(p + 16);
		if (len < HEAD || len > b->len - at)
			len = b->len - at;
		put_le32(p + 116, (uint32_t)crc32_z(0, p + HEAD, (size_t)len - HEAD));
		put_le32(p + 120, (uint32_t)crc32_z(0, p, 120));
	}
}

static void change(struct files *f, const uint8_t *p, size_t n)
{
	for (unsigned i = 0; i < CHANGES_MOST && n >= 5 && f->n; i++) {
		struct file *file = &f->v[p[0] % f->n];
		struct buf *b = &file->bytes, out = { 0 };
		size_t at = b->len ? (size_t)(p[2] | p[3] << 8) % b->len : 0, len = p[4] < n - 5 ? p[4] : n - 5;
		size_t over = b->len - at < len ? b->len - at : len;

		switch (p[1] % 4) {
		case 0:
			if (over)
				memcpy(b->p + at, p + 5, over);
			break;
		case 1:
			b->len = at;
			break;
		case 2:
			buf_add(b, p + 5, len);
			break;
		default:                       /* out of the middle, or into it */
			buf_add(&out, b->p, at);
			buf_add(&out, p + 5, len % 2 ? len : 0);
			if (b->len > at + (len % 2 ? 0 : over))
				buf_add(&out, b->p + at + (len % 2 ? 0 : over), b->len - at - (len % 2 ? 0 : over));
			buf_free(b);
			*b = out;
		}
		file->size = b->len;
		p += 5 + len;
		n -= 5 + len;
	}
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
	uint64_t at, len = j->len < HEAD ? 0 : get64(j->p + 16), nnew, nold, to;

	if (len < HEAD || len > j->len || memcmp(j->p, "modelfsJ", 8) || le_u32(j->p + 8) != 1 ||
	    le_u32(j->p + 120) != crc32_z(0, j->p, 120) ||
	    le_u32(j->p + 116) != crc32_z(0, j->p + HEAD, (size_t)len - HEAD))
		return false;
	if (le_u32(j->p + 12) & (REWRITTEN | RESTORED))
		return true;
	at = HEAD + le_u32(j->p + 100) + 4 * (uint64_t)le_u32(j->p + 96);
	for (uint64_t i = get64(j->p + 88); i; i--) {
		const uint8_t *p = j->p + at, *old;

		if (at > len || len - at < 24)
			return false;
		nnew = le_u32(p + 4);
		nold = le_u32(p + 8);
		to = get64(p + 16);
		if (nnew + nold > len - at - 24)
			return false;
		old = p + 24 + nnew;
		for (uint64_t k = 0; k < nold && to + k < archive->len; k++) {
			uint8_t is = archive->p[to + k];

			if (is != old[k] && (k >= nnew || is != p[24 + k]))
				return false;
		}
		at += 24 + nnew + nold;
	}
	return true;
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

static void expect_unchanged(struct files *was)
{
	struct files now = look();

	if (now.n != was->n)
		abort();
	for (unsigned i = 0; i < now.n; i++)
		if (!same(&now.v[i], find(was, now.v[i].name)))
			abort();
	forget(&now);
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
