/* Files of a folder that change together: commits, undo, what other programs do meanwhile,
 * and who else has them open. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "foldered.h"

/* ---- what a commit does ---- */

static void test_commit(void **state)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };
	struct edit ed;
	struct stat st;

	(void)state;
	assert_true(there(".modelfs-lock"));
	begin(&ed, fs, names, 3);
	write_all(&ed, 1000, "hello");
	assert_int_equal(plan_resize(&ed.plan[2], SIZE + 300), 0);     /* grows where it is */
	assert_int_equal(finish(&ed, fs, "what", &e), 0);
	for (unsigned i = 0; i < FILES; i++) {
		assert_true(has(names[i], 1000, "hello"));
		assert_int_equal(stat(below(names[i]), &st), 0);
		assert_int_equal(st.st_ino, ed.v[i].was.st_ino);
		assert_memory_equal(&st.st_mtim, &ed.v[i].now.st_mtim, sizeof st.st_mtim);
		assert_true(memcmp(&st.st_mtim, &ed.v[i].was.st_mtim, sizeof st.st_mtim));
		assert_int_equal(st.st_size, ed.v[i].now.st_size);
	}
	assert_int_equal(st.st_size, SIZE + 300);
	assert_false(there(".modelfs-journal"));
	assert_true(there(".modelfs-undo"));
	assert_false(fileset_pending(fs));
	fileset_close(fs);
	assert_false(there(".modelfs-lock"));
}

/* Files whose plan changes nothing stay out of it. */
static void test_unchanged(void **state)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };
	struct edit ed;
	struct stat st;

	(void)state;
	begin(&ed, fs, names, 3);
	assert_int_equal(plan_write(&ed.plan[1], 8, "x", 1), 0);
	assert_int_equal(finish(&ed, fs, "what", &e), 0);
	assert_true(is_first(0) && is_first(2) && has(names[1], 8, "x"));
	assert_int_equal(stat(below(names[0]), &st), 0);
	assert_memory_equal(&st.st_mtim, &ed.v[0].was.st_mtim, sizeof st.st_mtim);
	assert_memory_equal(&ed.v[0].now, &ed.v[0].was, sizeof st);
	begin(&ed, fs, names, 2);
	assert_int_equal(finish(&ed, fs, "nothing", &e), 0);
	fileset_close(fs);
}

struct seen { unsigned n; struct commit_info v[8]; };

static int see(void *ctx, const struct commit_info *c)
{
	struct seen *s = ctx;

	assert_true(s->n < 8);
	assert_string_equal(c->what, "pl/a.mod3/meshes/0.obj");
	s->v[s->n++] = *c;
	return 0;
}

static void test_log_undo(void **state)
{
	struct fileset *fs = open_write();
	struct seen s = { 0 };
	struct err e = { 0 };
	unsigned done;

	(void)state;
	must_commit(fs, 3, 700, "three");
	must_commit(fs, 1, 702, "one");
	must_commit(fs, 2, 4000, "two");
	assert_int_equal(fileset_log(dir_fd, dir, see, &s, &e), 0);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.v[0].files, 3);
	assert_int_equal(s.v[0].changed, 15);
	assert_int_equal(s.v[1].files, 1);
	assert_int_equal(s.v[2].sequence, 3);
	assert_int_equal(s.v[2].changed, 6);
	assert_int_equal(fileset_undo(fs, 1, &done, &e), 0);
	assert_int_equal(done, 1);
	assert_true(has(names[0], 700, "thone") && has(names[1], 700, "three"));
	assert_false(has(names[1], 4000, "two"));
	assert_int_equal(fileset_undo(fs, 9, &done, &e), 0);
	assert_int_equal(done, 2);
	assert_true(all_first());
	assert_false(there(".modelfs-undo"));
	fileset_close(fs);
	assert_int_equal(files_in(dir), FILES);
}

/* What comes to nothing is taken back, too. */
static void test_undo_nothing(void **state)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };
	unsigned done;
	char old[] = { (char)first_byte(0, 9), 0 };

	(void)state;
	must_commit(fs, 1, 9, "#");
	must_commit(fs, 1, 9, old);
	assert_int_equal(fileset_undo(fs, 2, &done, &e), 0);
	assert_int_equal(done, 2);
	assert_true(all_first());
	assert_false(there(".modelfs-undo"));
	fileset_close(fs);
}

/* One of its files was changed where the commit wrote, or is gone: nothing of any is taken back. */
static void test_undo_refused(void **state)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };
	unsigned done;
	int fd;

	(void)state;
	must_commit(fs, 3, 0x200, "bytes");
	fd = open(below(names[2]), O_WRONLY);
	assert_int_equal(pwrite(fd, "##", 2, 0x201), 2);
	assert_int_equal(fileset_undo(fs, 1, &done, &e), -ESTALE);
	assert_non_null(strstr(e.text, "pl/a.mrl3 was changed by another program: bytes 0x201 to 0x202"));
	assert_int_equal(done, 0);
	assert_int_equal(pwrite(fd, "yt", 2, 0x201), 2);
	close(fd);
	assert_int_equal(rename(below(names[1]), below("pl/b.mod3")), 0);
	assert_int_equal(fileset_undo(fs, 1, &done, &e), -ESTALE);
	assert_non_null(strstr(e.text, "pl/a.mod3, which commit 1 changed, cannot be opened"));
	assert_true(has(names[0], 0x200, "bytes"));
	assert_int_equal(rename(below("pl/b.mod3"), below(names[1])), 0);
	assert_int_equal(fileset_undo(fs, 1, &done, &e), 0);
	assert_true(done == 1 && all_first());
	fileset_close(fs);
}

static void test_noundo(void **state)
{
	struct fileset *fs = open_with(&(struct fileset_options){ .write = true, .noundo = true });

	(void)state;
	must_commit(fs, 2, 5, "xyz");
	assert_true(has(names[0], 5, "xyz") && has(names[1], 5, "xyz"));
	assert_false(there(".modelfs-undo"));
	fileset_close(fs);
}

/* ---- written anew ---- */

/* 1000 zeros at 2000. */
static void shift(struct edit *ed, size_t i)
{
	struct source *more = src_zeros(1000), *head = src_slice(ed->src[i], 0, 2000);
	struct source *tail = src_slice(ed->src[i], 2000, SIZE - 2000);
	struct source *all = src_pieces((struct source *[]){ head, more, tail }, 3);

	plan_free(&ed->plan[i]);
	plan_init(&ed->plan[i], all);
	ed->plan[i].moved = true;
	src_put(all);
	src_put(head);
	src_put(more);
	src_put(tail);
}

static void test_rewrite(void **state)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };
	struct stat old, st;
	struct edit ed;
	unsigned done;

	(void)state;
	assert_int_equal(chmod(below(names[1]), 0640), 0);
	assert_int_equal(stat(below(names[1]), &old), 0);
	begin(&ed, fs, names, 3);
	write_all(&ed, 100, "hello");
	shift(&ed, 1);
	assert_int_equal(finish(&ed, fs, "grown", &e), 0);
	assert_int_equal(stat(below(names[1]), &st), 0);
	assert_true(st.st_ino != old.st_ino && st.st_size == SIZE + 1000 && st.st_mode == old.st_mode);
	assert_int_equal(ed.v[1].now.st_ino, st.st_ino);
	assert_int_equal(stat(below(".modelfs-undo.1"), &st), 0);
	assert_int_equal(st.st_ino, old.st_ino);
	assert_true(has(names[0], 100, "hello") && has(names[2], 100, "hello"));
	begin(&ed, fs, names, 2);
	write_all(&ed, 300, "on");
	assert_int_equal(finish(&ed, fs, "on", &e), 0);
	assert_int_equal(fileset_undo(fs, 2, &done, &e), 0);
	assert_int_equal(done, 2);
	assert_true(all_first());
	assert_int_equal(stat(below(names[1]), &st), 0);
	assert_int_equal(st.st_ino, old.st_ino);
	begin(&ed, fs, names, 3);
	shift(&ed, 0);
	shift(&ed, 2);
	assert_int_equal(finish(&ed, fs, "two", &e), -EXDEV);
	assert_non_null(strstr(e.text, "top.bin and pl/a.mrl3"));
	fileset_close(fs);
	assert_true(all_first());
	assert_int_equal(files_in(dir), FILES);
}

/* ---- other programs ---- */

static void expect_stale(struct fileset *fs, struct edit *ed, const char *text)
{
	struct err e = { 0 };

	write_all(ed, 40, "ours");
	assert_int_equal(finish(ed, fs, "w", &e), -ESTALE);
	if (!strstr(e.text, text))
		fail_msg("%s", e.text);
	assert_false(has(names[0], 40, "ours") || there(".modelfs-journal") || there(".modelfs-undo"));
}

static void test_stale(void **state)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };
	struct edit ed;
	int fd;

	(void)state;
	begin(&ed, fs, names, 3);
	fd = open(below(names[1]), O_WRONLY);
	assert_int_equal(pwrite(fd, "theirs", 6, 40), 6);
	close(fd);
	assert_int_equal(fileset_check(fs, names[0], &ed.v[0].was, &e), 0);
	assert_int_equal(fileset_check(fs, names[1], &ed.v[1].was, &e), -ESTALE);
	expect_stale(fs, &ed, "pl/a.mod3 was changed by another program");
	assert_true(has(names[1], 40, "theirs"));
	begin(&ed, fs, names, 3);
	make_file(below("other"), 2);
	assert_int_equal(rename(below("other"), below(names[2])), 0);
	expect_stale(fs, &ed, "pl/a.mrl3 was changed by another program");
	begin(&ed, fs, names, 3);
	assert_int_equal(unlink(below(names[2])), 0);
	expect_stale(fs, &ed, "pl/a.mrl3 was removed by another program");
	must_commit(fs, 2, 60, "ours");
	assert_true(has(names[1], 40, "theirs") && has(names[1], 60, "ours"));
	fileset_close(fs);
}

/* Paths that lead elsewhere, and what is no file to be changed. */
static void test_paths(void **state)
{
	static const struct { const char *path; int error; } bad[] = {
		{ "pl", -EISDIR }, { "../x", -EXDEV }, { "/etc/passwd", -EXDEV }, { "link", -ELOOP },
		{ "dl/a.mod3", -ELOOP }, { ".modelfs-undo", -EPERM }, { ".modelfs-lock", -EPERM }, { "", -EINVAL },
	};
	struct fileset *fs = open_write();
	struct edit ed;

	(void)state;
	assert_false(symlink("top.bin", below("link")) || symlink("pl", below("dl")));
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = { 0 };

		begin(&ed, fs, names, 1);
		ed.v[0].path = bad[i].path;
		write_all(&ed, 0, "x");
		assert_int_equal(finish(&ed, fs, "w", &e), bad[i].error);
	}
	assert_false(link(below("top.bin"), below("pl/same")));
	begin(&ed, fs, (const char *const[]){ "top.bin", "pl/same" }, 2);
	write_all(&ed, 0, "x");
	assert_int_equal(finish(&ed, fs, "w", NULL), -EINVAL);
	assert_true(all_first());
	fileset_close(fs);
}

static void test_own_names(void **state)
{
	(void)state;
	assert_true(fileset_is_own(".modelfs-journal") && fileset_is_own(".modelfs-undo") &&
		    fileset_is_own(".modelfs-undo.12") && fileset_is_own(".modelfs-new") &&
		    fileset_is_own(".modelfs-lock"));
	assert_false(fileset_is_own(".modelfs-undo.") || fileset_is_own(".modelfs-undo.1x") ||
		     fileset_is_own(".modelfs-undox") || fileset_is_own("modelfs-undo") || fileset_is_own(".modelfs"));
}

/* ---- locks ---- */

static void test_second_writer(void **state)
{
	struct fileset *fs = open_write(), *other;
	struct fileset_options opt = { .write = true };
	char expected[64];
	int status;
	pid_t kid = fork();

	(void)state;
	if (!kid) {
		struct err e = { 0 };
		int rc = fileset_open(dir_fd, dir, &opt, &other, &e);

		snprintf(expected, sizeof expected, "is open for writing by process %d", (int)getppid());
		_exit(rc != -EBUSY ? 1 : strcmp(e.text, expected) ? 2 : 0);
	}
	assert_int_equal(waitpid(kid, &status, 0), kid);
	assert_int_equal(status, 0);
	assert_true(there(".modelfs-lock"));
	other = open_read();
	assert_false(fileset_writable(other, NULL));
	fileset_close(other);
	must_commit(fs, 1, 0, "x");
	fileset_close(fs);
	fileset_close(open_write());
}

/* A file that is mounted alone is not changed beneath it, and not opened alone while it is. */
static void test_lone(void **state)
{
	struct fileset *fs = open_write();
	struct archive_options opt = { .write = true };
	struct archive *a;
	struct err e = { 0 };
	struct stat st;
	char expected[96];

	(void)state;
	assert_int_equal(archive_open(below(names[1]), &opt, &a, &e), 0);
	snprintf(expected, sizeof expected, "pl/a.mod3 is open for writing by process %d", (int)getpid());
	assert_int_equal(commit(fs, 3, 0, "x", &e), -EBUSY);
	assert_string_equal(e.text, expected);
	assert_true(all_first());
	assert_int_equal(stat(below(names[1]), &st), 0);
	assert_int_equal(fileset_check(fs, names[1], &st, &e), -EBUSY);
	assert_string_equal(e.text, expected);
	archive_close(a);
	assert_int_equal(fileset_check(fs, names[1], &st, &e), 0);
	must_commit(fs, 3, 0, "x");
	fileset_close(fs);
}

static void open_alone(void *ctx)
{
	struct archive_options opt = { .write = true };
	struct archive *a;
	struct err e = { 0 };

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(archive_open(below(names[i]), &opt, &a, &e), -EBUSY);
	assert_int_equal(archive_open(below(names[2]), &opt, &a, &e), 0);
	archive_close(a);
	++*(unsigned *)ctx;
}

static void test_lone_meanwhile(void **state)
{
	unsigned held = 0;
	struct fileset_options opt = { .write = true, .hold = open_alone, .hold_ctx = &held };
	struct fileset *fs = open_with(&opt);
	struct archive *a;

	(void)state;
	must_commit(fs, 2, 0, "x");
	assert_int_equal(held, 1);
	assert_int_equal(archive_open(below(names[0]), &(struct archive_options){ .write = true }, &a, NULL), 0);
	archive_close(a);
	fileset_close(fs);
}

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void test_descriptors(void **state)
{
	unsigned before = descriptors();
	struct fileset *fs = open_write();
	struct err e;
	unsigned done;

	(void)state;
	assert_true(descriptors() <= before + 2);
	must_commit(fs, 3, 0, "x");
	assert_true(descriptors() <= before + 3);
	fileset_tidy(fs);
	assert_true(descriptors() <= before + 2);
	assert_int_equal(fileset_undo(fs, 1, &done, &e), 0);
	assert_int_equal(commit(fs, 3, SIZE + 1, "x", &e), 0);
	fileset_close(fs);
	assert_int_equal(descriptors(), before);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_commit), TEST(test_unchanged), TEST(test_log_undo), TEST(test_undo_nothing),
		TEST(test_undo_refused), TEST(test_noundo), TEST(test_rewrite), TEST(test_stale), TEST(test_paths),
		TEST(test_own_names), TEST(test_second_writer), TEST(test_lone), TEST(test_lone_meanwhile),
		TEST(test_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
