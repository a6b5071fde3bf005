/* The archive file: opening, locks, commits, undo, what other programs do to it meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "crashio.h"

#define SIZE 100000u

static char dir[64], path[96];

static const char *beside(const char *file)
{
	static char name[128];

	snprintf(name, sizeof name, "%s/%s", dir, file);
	return name;
}

static uint8_t first_byte(uint64_t at)
{
	return (uint8_t)(at * 31 + at / 256);
}

static void make_archive(const char *where, size_t n)
{
	FILE *f = fopen(where, "w");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		fputc(first_byte(i), f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/modelfs-archive-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/game.bin", dir);
	make_archive(path, SIZE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	empty_dir(dir);
	return rmdir(dir);
}

static struct archive *open_write(void)
{
	struct archive_options opt = { .write = true };
	struct archive *a;
	struct err e = { 0 };
	const char *why;

	if (archive_open(path, &opt, &a, &e))
		fail_msg("open: %s", e.text);
	if (!archive_writable(a, &why))
		fail_msg("not writable: %s", why);
	return a;
}

static struct archive *open_read(void)
{
	struct archive_options opt = { 0 };
	struct archive *a;
	struct err e = { 0 };

	if (archive_open(path, &opt, &a, &e))
		fail_msg("open: %s", e.text);
	return a;
}

static int write_at(struct archive *a, uint64_t at, const char *text, const char *what, struct err *e)
{
	struct plan p;
	int rc;

	plan_init(&p, archive_source(a));
	assert_int_equal(plan_write(&p, at, text, strlen(text)), 0);
	assert_int_equal(plan_settle(&p, NULL), 0);
	rc = archive_commit(a, &p, what, NULL, NULL, e);
	plan_free(&p);
	return rc;
}

static void must_write(struct archive *a, uint64_t at, const char *text, const char *what)
{
	struct err e = { 0 };

	if (write_at(a, at, text, what, &e))
		fail_msg("commit: %s", e.text);
}

static bool file_has(const char *name, uint64_t at, const char *text)
{
	char got[64] = "";
	int fd = open(name, O_RDONLY);
	ssize_t n = pread(fd, got, strlen(text), (off_t)at);

	close(fd);
	return n == (ssize_t)strlen(text) && !memcmp(got, text, strlen(text));
}

static bool shows(struct archive *a, uint64_t at, const char *text)
{
	char got[64] = "";

	assert_int_equal(src_pread(archive_source(a), got, strlen(text), at), 0);
	return !memcmp(got, text, strlen(text));
}

static bool there(const char *name)
{
	return !access(beside(name), F_OK);
}

static bool is_first(void)
{
	struct stat st;
	uint8_t *p = malloc(SIZE);
	int fd = open(path, O_RDONLY);
	bool same = !fstat(fd, &st) && st.st_size == SIZE && read(fd, p, SIZE) == SIZE;

	for (size_t i = 0; i < SIZE && same; i++)
		same = p[i] == first_byte(i);
	free(p);
	close(fd);
	return same;
}

/* ---- commits, log, undo ---- */

static void test_commit(void **state)
{
	struct archive *a = open_write();
	const struct stat *st = archive_stat(a);
	struct timespec before = st->st_mtim;

	(void)state;
	must_write(a, 1000, "hello", "f/a.yaml");
	assert_true(file_has(path, 1000, "hello"));
	assert_true(shows(a, 1000, "hello"));
	assert_true(st->st_mtim.tv_sec != before.tv_sec || st->st_mtim.tv_nsec != before.tv_nsec);
	assert_false(there(".game.bin.modelfs-journal"));
	assert_true(there("game.bin.modelfs-undo"));
	archive_close(a);
}

struct seen { unsigned n; struct { uint64_t sequence, changed; char what[40]; bool rewritten; } v[8]; };

static int see(void *ctx, const struct commit_info *c)
{
	struct seen *s = ctx;

	assert_true(s->n < 8 && c->time.tv_sec > 1000000000);
	assert_true(c->space > (c->rewritten ? SIZE : c->changed));
	s->v[s->n].sequence = c->sequence;
	s->v[s->n].changed = c->changed;
	s->v[s->n].rewritten = c->rewritten;
	snprintf(s->v[s->n++].what, sizeof s->v[0].what, "%s", c->what);
	return 0;
}

static void test_log(void **state)
{
	struct archive *a = open_write();
	struct seen s = { 0 };
	struct err e;
	unsigned done;

	(void)state;
	assert_int_equal(archive_log(path, see, &s, &e), 0);
	assert_int_equal(s.n, 0);
	must_write(a, 1000, "hello", "f/a.yaml");
	must_write(a, 1002, "LL", "f/b.yaml");
	assert_int_equal(archive_log(path, see, &s, &e), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.v[0].what, "f/a.yaml");
	assert_string_equal(s.v[1].what, "f/b.yaml");
	assert_int_equal(s.v[0].sequence, 1);
	assert_int_equal(s.v[1].sequence, 2);
	assert_int_equal(s.v[0].changed, 5);
	assert_int_equal(s.v[1].changed, 2);
	assert_int_equal(archive_undo(a, 1, &done, &e), 0);
	assert_int_equal(done, 1);
	assert_true(file_has(path, 1000, "hello"));
	assert_int_equal(archive_undo(a, 9, &done, &e), 0);
	assert_int_equal(done, 1);
	assert_true(is_first());
	assert_false(there("game.bin.modelfs-undo"));
	assert_int_equal(archive_undo(a, 1, &done, &e), 0);
	assert_int_equal(done, 0);
	archive_close(a);
}

static void test_noundo(void **state)
{
	struct archive_options opt = { .write = true, .noundo = true };
	struct archive *a;
	struct err e;
	unsigned done;

	(void)state;
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	must_write(a, 5, "xyz", "w");
	assert_true(file_has(path, 5, "xyz"));
	assert_false(there("game.bin.modelfs-undo"));
	assert_int_equal(archive_undo(a, 1, &done, &e), 0);
	assert_int_equal(done, 0);
	archive_close(a);
}

/* Undo when another program has changed a byte that a commit wrote: it names it, and changes nothing. */
static void test_undo_refused(void **state)
{
	struct archive *a = open_write();
	struct err e = { 0 };
	unsigned done;
	int fd;

	(void)state;
	must_write(a, 0x2000, "first", "w");
	must_write(a, 0x3000, "second", "w");
	archive_close(a);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "##", 2, 0x2001), 2);
	close(fd);
	a = open_write();
	assert_int_equal(archive_undo(a, 2, &done, &e), -ESTALE);
	assert_non_null(strstr(e.text, "0x2001 to 0x2002"));
	assert_int_equal(done, 0);
	assert_true(file_has(path, 0x3000, "second"));
	assert_int_equal(archive_undo(a, 1, &done, &e), 0);    /* the second one is still what it was */
	assert_int_equal(done, 1);
	assert_false(file_has(path, 0x3000, "second"));
	archive_close(a);
}

/* ---- written anew ---- */

static int move_tail(struct archive *a, size_t more, struct err *e)
{
	uint8_t *bytes = calloc(1, more);
	struct source *src = archive_source(a);
	struct source *piece[] = { src_slice(src, 0, 50000), src_memory(bytes, more),
				   src_slice(src, 50000, src->size - 50000) };
	struct source *all = src_pieces(piece, 3);
	struct plan p;
	int rc;

	plan_init(&p, all);
	p.moved = true;
	rc = archive_commit(a, &p, "grown", NULL, NULL, e);
	plan_free(&p);
	src_put(all);
	for (unsigned i = 0; i < 3; i++)
		src_put(piece[i]);
	free(bytes);
	return rc;
}

static void test_rewrite(void **state)
{
	struct archive *a, *b = NULL;
	struct archive_options opt = { .write = true };
	struct seen s = { 0 };
	struct err e = { 0 };
	struct stat st, old, kept;
	unsigned done;

	(void)state;
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(stat(path, &old), 0);
	a = open_write();
	must_write(a, 60000, "tail", "w");
	if (move_tail(a, 3000000, &e))
		fail_msg("%s", e.text);
	assert_int_equal(archive_source(a)->size, SIZE + 3000000);
	assert_true(shows(a, 3060000, "tail") && file_has(path, 3060000, "tail"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, old.st_mode);
	assert_true(st.st_ino != old.st_ino);
	assert_int_equal(stat(beside("game.bin.modelfs-undo.2"), &kept), 0);
	assert_int_equal(kept.st_ino, old.st_ino);
	assert_int_equal(archive_open(path, &opt, &b, &e), -EBUSY);    /* the lock has followed */
	must_write(a, 3060001, "AI", "w");                     /* and commits go on */
	assert_int_equal(archive_log(path, see, &s, &e), 0);
	assert_int_equal(s.n, 3);
	assert_true(s.v[1].rewritten && !s.v[2].rewritten);
	if (archive_undo(a, 3, &done, &e))
		fail_msg("%s", e.text);
	assert_int_equal(done, 3);
	assert_true(is_first());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_ino, old.st_ino);
	assert_false(there("game.bin.modelfs-undo") || there("game.bin.modelfs-undo.2"));
	assert_false(there(".game.bin.modelfs-new"));
	must_write(a, 7, "on", "w");
	assert_true(file_has(path, 7, "on"));
	archive_close(a);
}

static void test_undo_rewrite_refused(void **state)
{
	struct archive *a = open_write();
	struct err e = { 0 };
	unsigned done;
	int fd;

	(void)state;
	assert_int_equal(move_tail(a, 3 << 20, &e), 0);
	archive_close(a);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "##", 2, (2 << 20) + 77), 2);
	close(fd);
	a = open_write();
	assert_int_equal(archive_undo(a, 1, &done, &e), -ESTALE);
	assert_non_null(strstr(e.text, "0x200000 to 0x2fffff"));
	archive_close(a);
}

/* ---- locks ---- */

static void test_second_writer(void **state)
{
	struct archive *a = open_write(), *b = NULL;
	struct archive_options opt = { .write = true };
	struct err e = { 0 };
	char expected[64];
	int status;
	pid_t kid;

	(void)state;
	kid = fork();
	if (!kid) {
		int rc = archive_open(path, &opt, &b, &e);

		snprintf(expected, sizeof expected, "is open for writing by process %d", (int)getppid());
		_exit(rc != -EBUSY ? 1 : strcmp(e.text, expected) ? 2 : 0);
	}
	assert_int_equal(waitpid(kid, &status, 0), kid);
	assert_int_equal(status, 0);
	b = open_read();                       /* reading is possible */
	assert_false(archive_writable(b, NULL));
	archive_close(b);
	archive_close(a);
	archive_close(open_write());           /* the lock went with it */
}

/* A reader sees a commit when it asks, and not while it is inside. */
static void test_reader(void **state)
{
	struct archive *a = open_write(), *r = open_read();
	struct err e = { 0 };
	bool changed = true;

	(void)state;
	assert_int_equal(archive_read_begin(r, &changed, &e), 0);
	assert_false(changed);
	archive_read_end(r);
	for (char c = 'a'; c < 'k'; c++) {     /* one right after the other: each is seen */
		char text[] = { c, 0 };

		must_write(a, 500, text, "w");
		assert_int_equal(archive_read_begin(r, &changed, &e), 0);
		assert_true(changed);
		archive_read_end(r);
		assert_int_equal(archive_refresh(r, &e), 0);
		assert_int_equal(archive_read_begin(r, &changed, &e), 0);
		assert_false(changed);
		assert_true(shows(r, 500, text));
		archive_read_end(r);
	}
	assert_int_equal(move_tail(a, 1000, &e), 0);
	assert_int_equal(archive_read_begin(r, &changed, &e), 0);
	assert_true(changed);
	archive_read_end(r);
	assert_int_equal(archive_refresh(r, &e), 0);
	assert_int_equal(archive_source(r)->size, SIZE + 1000);
	archive_close(r);
	archive_close(a);
}

/* The archive goes, and comes back. */
static void test_reader_alone(void **state)
{
	struct archive *r = open_read();
	struct err e = { 0 };
	bool changed;

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(archive_read_begin(r, &changed, &e), 0);
	assert_true(changed);
	archive_read_end(r);
	assert_int_equal(archive_refresh(r, &e), -ENOENT);
	assert_int_equal(archive_read_begin(r, &changed, &e), 0);
	assert_false(changed);
	assert_true(shows(r, 0, (char[]){ (char)first_byte(0), 0 }));
	archive_read_end(r);
	make_archive(path, 300);
	usleep(50000);                         /* the lock may be kept for some milliseconds without looking */
	assert_int_equal(archive_read_begin(r, &changed, &e), 0);
	assert_true(changed);
	archive_read_end(r);
	assert_int_equal(archive_refresh(r, &e), 0);
	assert_int_equal(archive_source(r)->size, 300);
	archive_close(r);
}

struct race { struct archive *reader; atomic_bool stop; unsigned reads, torn, late; };

/* Two bytes far from each other are always written together. */
static void *race_reader(void *ctx)
{
	struct race *r = ctx;
	uint8_t x, y;
	bool changed;

	while (!r->stop) {
		if (archive_read_begin(r->reader, &changed, NULL))
			break;
		assert_int_equal(src_pread(archive_source(r->reader), &x, 1, 100), 0);
		assert_int_equal(src_pread(archive_source(r->reader), &y, 1, 90000), 0);
		archive_read_end(r->reader);
		__atomic_add_fetch(&r->reads, 1, __ATOMIC_RELAXED);
		if (x != y && x != first_byte(100))
			__atomic_add_fetch(&r->torn, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Readers that never pause, in several threads, and a writer in another process: it gets its turn, they never see half
 * a commit. */
static void test_reader_race(void **state)
{
	struct race r = { .reader = open_read() };
	pthread_t thread[3];
	int status;
	pid_t kid = fork();

	(void)state;
	if (!kid) {
		struct archive *a = open_write();
		struct plan p;

		for (unsigned i = 0; i < 30; i++) {
			uint8_t b = (uint8_t)(first_byte(100) + 1 + i);

			plan_init(&p, archive_source(a));
			if (plan_write(&p, 100, &b, 1) || plan_write(&p, 90000, &b, 1) || plan_settle(&p, NULL) ||
			    archive_commit(a, &p, "w", NULL, NULL, NULL))
				_exit(1);
			plan_free(&p);
		}
		archive_close(a);
		_exit(0);
	}
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, race_reader, &r), 0);
	assert_int_equal(waitpid(kid, &status, 0), kid);
	r.stop = true;
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(status, 0);
	assert_true(r.reads > 100);
	assert_int_equal(r.torn, 0);
	archive_close(r.reader);
}

/* ---- other programs ---- */

static void test_changed(void **state)
{
	struct archive *a = open_write();
	struct err e = { 0 };
	int fd;

	(void)state;
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "theirs", 6, 40), 6);
	close(fd);
	assert_int_equal(write_at(a, 40, "ours", "w", &e), -ESTALE);
	assert_true(file_has(path, 40, "theirs"));
	assert_int_equal(archive_refresh(a, &e), 0);
	must_write(a, 50, "ours", "w");
	assert_true(file_has(path, 40, "theirs") && file_has(path, 50, "ours"));
	assert_int_equal(chmod(path, 0600), 0);                /* changes no byte */
	must_write(a, 60, "more", "w");
	archive_close(a);
}

static void test_replaced(void **state)
{
	struct archive *a = open_write(), *b = NULL;
	struct archive_options opt = { .write = true };
	struct err e = { 0 };

	(void)state;
	make_archive(beside("other"), 500);
	assert_int_equal(rename(beside("other"), path), 0);
	assert_int_equal(write_at(a, 40, "ours", "w", &e), -ESTALE);
	assert_int_equal(archive_refresh(a, &e), 0);
	assert_int_equal(archive_source(a)->size, 500);
	assert_int_equal(archive_open(path, &opt, &b, &e), -EBUSY);
	must_write(a, 40, "ours", "w");
	assert_true(file_has(path, 40, "ours"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write_at(a, 40, "more", "w", &e), -ESTALE);
	assert_int_equal(archive_refresh(a, &e), -ENOENT);
	assert_true(shows(a, 40, "ours"));                     /* what was there can still be read */
	archive_close(a);
}

/* ---- where writing cannot be had ---- */

static void run_as_nobody(void (*fn)(void))
{
	int status;
	pid_t kid = fork();

	if (!kid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(9);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(kid, &status, 0), kid);
	assert_int_equal(status, 0);
}

static void expect_readonly(const char *part)
{
	struct archive_options opt = { .write = true };
	struct archive *a;
	const char *why;

	if (archive_open(path, &opt, &a, NULL))
		_exit(2);
	if (archive_writable(a, &why) || !strstr(why, part) || !shows(a, 0, (char[]){ (char)first_byte(0), 0 }))
		_exit(3);
	if (write_at(a, 1, "x", "w", NULL) != -EROFS)
		_exit(4);
	archive_close(a);
}

static void file_readonly(void) { expect_readonly("cannot be written: Permission denied"); }
static void dir_readonly(void) { expect_readonly("no journal can be created in its directory: Permission denied"); }

static void test_readonly(void **state)
{
	(void)state;
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(path, 0444), 0);
	run_as_nobody(file_readonly);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(chmod(dir, 0555), 0);
	run_as_nobody(dir_readonly);
	assert_int_equal(chmod(dir, 0755), 0);
}

/* ---- a full or failing disc ---- */

static void test_full(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	crashio_space(c, 1000);
	assert_int_equal(write_at(a, 0, "hello", "w", &e), -ENOSPC);
	assert_non_null(strstr(e.text, "are missing"));
	assert_int_equal(move_tail(a, 1000, &e), -ENOSPC);
	assert_false(there(".game.bin.modelfs-new"));
	crashio_space(c, UINT64_MAX);
	assert_true(is_first());
	assert_false(there("game.bin.modelfs-undo") || there(".game.bin.modelfs-journal"));
	for (unsigned step = 1; step < 40; step++) {           /* whichever call finds the disc full */
		int rc;

		crashio_fail(c, step, -ENOSPC);
		rc = write_at(a, 0, "hello", "w", &e);
		if (!rc || rc == -EIO)
			break;
		assert_int_equal(rc, -ENOSPC);
		assert_true(is_first());
		assert_false(there(".game.bin.modelfs-journal"));
	}
	archive_close(a);
	crashio_free(c);
}

static unsigned steps_until_patch(struct crashio *c, struct archive *a)
{
	struct err e;

	crashio_die(c, 0);
	assert_int_equal(write_at(a, 0, "0", "w", &e), 0);
	return crashio_steps(c);
}

/* The archive cannot be patched after the commit point: EIO, later commits too, reading goes on through the journal. */
static void test_patch_fails(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a, *r;
	struct err e = { 0 };
	const char *text = "";
	unsigned all, step;

	(void)state;
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	must_write(a, 1, "x", "w");                    /* now the undo file is there */
	all = steps_until_patch(c, a);
	for (step = 1; step <= all; step++) {  /* the first failure that leaves a journal */
		text = step & 1 ? "hello" : "HELLO";
		crashio_fail(c, step, -EIO);
		if (write_at(a, 0, text, "w", &e) == -EIO && there(".game.bin.modelfs-journal"))
			break;
	}
	assert_true(step <= all && there(".game.bin.modelfs-journal"));
	crashio_fail(c, 0, 0);
	assert_true(shows(a, 0, text));
	assert_int_equal(write_at(a, 9, "more", "w", &e), -EIO);
	r = open_read();
	assert_true(shows(r, 0, text));
	archive_close(r);
	archive_close(a);
	crashio_free(c);
	a = open_write();
	assert_true(file_has(path, 0, text));
	assert_false(there(".game.bin.modelfs-journal"));
	archive_close(a);
}

/* The undo file cannot be written after the archive was: the commit holds, and is in the undo file before the next. */
static void test_undo_fails(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a;
	struct seen s = { 0 };
	struct err e = { 0 };
	unsigned all, done;

	(void)state;
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	must_write(a, 1, "x", "w");
	all = steps_until_patch(c, a);
	crashio_fail(c, all - 1, -EIO);                /* the last sync; behind it the journal goes */
	must_write(a, 0, "hello", "kept");
	assert_true(file_has(path, 0, "hello"));
	assert_true(there(".game.bin.modelfs-journal"));
	assert_int_equal(archive_log(path, see, &s, &e), 0);
	assert_int_equal(s.n, 3);
	assert_string_equal(s.v[2].what, "kept");
	crashio_fail(c, 4, -EIO);                      /* still not */
	assert_int_equal(write_at(a, 9, "more", "w", &e), -EIO);
	crashio_fail(c, 0, 0);
	must_write(a, 9, "more", "w");
	assert_false(there(".game.bin.modelfs-journal"));
	assert_int_equal(archive_undo(a, 4, &done, &e), 0);
	assert_int_equal(done, 4);
	assert_true(is_first());
	archive_close(a);
	crashio_free(c);
}

/* A journal beside an archive that another program has changed is left alone, and so is the archive. */
static void test_strange_journal(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a;
	const char *why;
	struct err e = { 0 };
	unsigned all;
	int fd;

	(void)state;
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	must_write(a, 1, "x", "w");
	all = steps_until_patch(c, a);
	crashio_die(c, all - 1);
	must_write(a, 0, "hello", "w");
	archive_close(a);
	crashio_free(c);
	assert_true(there(".game.bin.modelfs-journal"));
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "#", 1, 2), 1);
	close(fd);
	opt = (struct archive_options){ .write = true };
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	assert_false(archive_writable(a, &why));
	assert_non_null(strstr(why, "journal does not fit"));
	assert_true(shows(a, 0, "he#lo") && file_has(path, 0, "he#lo"));
	assert_true(there(".game.bin.modelfs-journal"));
	archive_close(a);
}

/* ---- cost ---- */

static void test_cost(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct archive_options opt = { .write = true, .io = &crashio_ops, .io_ctx = c };
	struct archive *a;
	struct err e = { 0 };
	unsigned syncs;
	uint64_t written;

	(void)state;
	assert_int_equal(archive_open(path, &opt, &a, &e), 0);
	for (unsigned i = 0; i < 3; i++) {
		syncs = crashio_syncs(c);
		written = crashio_written(c);
		must_write(a, 700, (const char *[]){ "one", "two", "three" }[i], "f0001/materials.yaml");
		assert_int_equal(crashio_syncs(c) - syncs, 4); /* journal, directory, archive, undo file */
		assert_true(crashio_written(c) - written < 600);
	}
	archive_close(a);
	crashio_free(c);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_commit), TEST(test_log), TEST(test_noundo), TEST(test_undo_refused), TEST(test_rewrite),
		TEST(test_undo_rewrite_refused), TEST(test_second_writer), TEST(test_reader), TEST(test_reader_alone),
		TEST(test_reader_race), TEST(test_changed), TEST(test_replaced), TEST(test_readonly), TEST(test_full),
		TEST(test_patch_fails), TEST(test_undo_fails), TEST(test_strange_journal), TEST(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
