/* Files of a folder that change together, where that fails: read-only, full and failing discs, journals that do not
 * fit; and those who read beside. */
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
#include "foldered.h"

/* What is shown of a file: through a journal, if there is one. */
static bool shows(struct fileset *fs, const char *name, uint64_t at, const char *text)
{
	int fd = fileset_open_file(fs, name, O_RDONLY);
	struct source *file = NULL, *src;
	char got[64] = "";

	if (fd >= 0)
		assert_int_equal(src_fd(fd, &file, NULL), 0);
	assert_int_equal(fileset_through(fs, name, file, &src, NULL), 0);
	assert_int_equal(src_pread(src, got, strlen(text), at), 0);
	src_put(src);
	src_put(file);
	return !memcmp(got, text, strlen(text));
}

/* ---- readers ---- */

struct race { struct fileset *reader; atomic_bool stop; unsigned reads, torn; };

static void *race_reader(void *ctx)
{
	struct race *r = ctx;
	bool changed;

	while (!r->stop) {
		uint8_t byte[2];

		if (fileset_read_begin(r->reader, &changed, NULL))
			break;
		for (unsigned i = 0; i < 2; i++) {
			int fd = fileset_open_file(r->reader, names[i], O_RDONLY);

			assert_int_equal(pread(fd, &byte[i], 1, 100), 1);
			close(fd);
		}
		fileset_read_end(r->reader);
		__atomic_add_fetch(&r->reads, 1, __ATOMIC_RELAXED);
		if (byte[0] != byte[1] && byte[0] != first_byte(0, 100))
			__atomic_add_fetch(&r->torn, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Readers that never pause, in several threads, and a writer that comes after them: they never see one file changed and
 * the other not. */
static void test_reader_race(void **state)
{
	struct race r = { .reader = open_read() };
	pthread_t thread[3];
	int status;
	pid_t kid = fork();

	(void)state;
	if (!kid) {
		struct fileset *fs = open_write();

		for (unsigned i = 0; i < 30; i++)
			must_commit(fs, 2, 100, (char[]){ (char)(first_byte(0, 100) + 1 + i), 0 });
		fileset_close(fs);
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
	fileset_close(r.reader);
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

static void folder_readonly(void)
{
	struct fileset *fs = open_with(&(struct fileset_options){ .write = true });
	struct err e = { 0 };
	const char *why;

	if (fileset_writable(fs, &why) || strcmp(why, "no journal can be created in it: Permission denied"))
		_exit(3);
	if (commit(fs, 2, 0, "x", &e) != -EROFS || strcmp(e.text, why))
		_exit(4);
	if (!shows(fs, names[1], 0, (char[]){ (char)first_byte(1, 0), 0 }))
		_exit(5);
	fileset_close(fs);
}

static void file_readonly(void)
{
	struct fileset *fs = open_write();
	struct err e = { 0 };

	if (commit(fs, 3, 0, "x", &e) != -EACCES || strcmp(e.text, "pl/a.mod3 cannot be written: Permission denied"))
		_exit(4);
	fileset_close(fs);
}

static void test_readonly(void **state)
{
	(void)state;
	assert_false(chmod(dir, 0555) || chmod(below("pl"), 0777));
	for (unsigned i = 0; i < FILES; i++)
		assert_int_equal(chmod(below(names[i]), 0666), 0);
	run_as_nobody(folder_readonly);
	assert_false(chmod(dir, 0777) || chmod(below(names[1]), 0444));
	run_as_nobody(file_readonly);
	assert_true(all_first());
	assert_int_equal(files_in(dir), FILES);
}

/* What nobody else may read of a file, nobody else may read of its journals. */
static void test_private(void **state)
{
	struct fileset *fs = open_write();
	struct stat st;

	(void)state;
	assert_false(chmod(dir, 0755) || chmod(below(names[0]), 0644) || chmod(below(names[1]), 0600));
	must_commit(fs, 1, 0, "x");
	assert_int_equal(stat(below(".modelfs-undo"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	must_commit(fs, 2, 0, "y");
	assert_int_equal(stat(below(".modelfs-undo"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	must_commit(fs, 1, 0, "z");            /* and not again when its bytes are in it */
	assert_int_equal(stat(below(".modelfs-undo"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	fileset_close(fs);
}

/* ---- a full or failing disc ---- */

static struct fileset *open_crash(struct crashio *c)
{
	return open_with(&(struct fileset_options){ .write = true, .io = &crashio_ops, .io_ctx = c });
}

static void test_full(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct fileset *fs = open_crash(c);
	struct err e = { 0 };
	unsigned step;

	(void)state;
	crashio_space(c, 1000);
	assert_int_equal(commit(fs, 3, 0, "hello", &e), -ENOSPC);
	assert_non_null(strstr(e.text, "are missing"));
	crashio_space(c, UINT64_MAX);
	assert_true(all_first());
	for (step = 1; step < 80; step++) {    /* whichever call finds the disc full */
		int rc;

		crashio_fail(c, step, -ENOSPC);
		rc = commit(fs, 3, SIZE - 2, "hello", &e);
		if (!rc || rc == -EIO)
			break;
		assert_int_equal(rc, -ENOSPC);
		assert_true(all_first());
		assert_false(there(".modelfs-journal") || there(".modelfs-undo"));
	}
	assert_true(step > 8);
	fileset_close(fs);
	crashio_free(c);
}

/* Leaves a commit to all files that came to its end only in the first. */
static struct fileset *fail_halfway(struct crashio **c)
{
	for (unsigned step = 1; step < 80; step++) {
		struct fileset *fs;
		struct err e = { 0 };

		for (unsigned i = 0; i < FILES; i++)
			make_file(below(names[i]), i);
		*c = crashio_new(dir);
		fs = open_crash(*c);
		crashio_die(*c, step);
		if (commit(fs, 3, 10, "hello", &e) == -EIO && has(names[0], 10, "hello")) {
			assert_true(there(".modelfs-journal") && !has(names[2], 10, "hello"));
			crashio_die(*c, 0);
			return fs;
		}
		fileset_close(fs);
		crashio_free(*c);
		unlink(below(".modelfs-journal"));
		unlink(below(".modelfs-undo"));
	}
	fail();
	return NULL;
}

static void test_patch_fails(void **state)
{
	struct crashio *c;
	struct fileset *fs = fail_halfway(&c), *r;
	struct err e = { 0 };
	unsigned done;

	(void)state;
	assert_true(fileset_pending(fs));
	assert_int_equal(commit(fs, 1, 9, "more", &e), -EIO);
	assert_non_null(strstr(e.text, "mount again"));
	r = open_read();
	assert_true(fileset_pending(r));
	for (unsigned i = 0; i < FILES; i++)
		assert_true(shows(fs, names[i], 10, "hello") && shows(r, names[i], 10, "hello"));
	fileset_close(fs);
	fs = open_write();                     /* finishes it */
	assert_true(has(names[0], 10, "hello") && has(names[1], 10, "hello") && has(names[2], 10, "hello"));
	assert_false(there(".modelfs-journal"));
	{
		bool changed;

		usleep(50000);                 /* the lock may be kept for some milliseconds without looking */
		assert_int_equal(fileset_read_begin(r, &changed, &e), 0);
		assert_true(changed);
		fileset_read_end(r);
		assert_int_equal(fileset_refresh(r, &e), 0);
		assert_false(fileset_pending(r));
		assert_int_equal(fileset_read_begin(r, &changed, &e), 0);
		assert_false(changed);
		fileset_read_end(r);
	}
	fileset_close(r);
	assert_int_equal(fileset_undo(fs, 2, &done, &e), 0);
	assert_true(done == 1 && all_first());
	fileset_close(fs);
	crashio_free(c);
}

static void expect_refused(const char *why)
{
	struct fileset *fs = open_with(&(struct fileset_options){ .write = true });
	const char *is;

	assert_false(fileset_writable(fs, &is));
	if (!strstr(is, why))
		fail_msg("%s", is);
	assert_false(fileset_pending(fs));
	assert_true(there(".modelfs-journal"));
	fileset_close(fs);
}

/* A journal one of whose files another program has changed, replaced or removed is left alone, and so are all files.
 * When the file is back, it is finished. */
static void test_strange_journal(void **state)
{
	struct crashio *c;
	struct fileset *fs = fail_halfway(&c);
	char was[] = { (char)first_byte(2, 12), 0 };
	int fd;

	(void)state;
	fileset_close(fs);
	crashio_free(c);
	fd = open(below(names[2]), O_WRONLY);
	assert_int_equal(pwrite(fd, "#", 1, 12), 1);
	expect_refused("its journal does not fit pl/a.mrl3");
	assert_true(has(names[0], 10, "hello") && has(names[2], 12, "#"));
	assert_int_equal(pwrite(fd, was, 1, 12), 1);
	close(fd);
	assert_int_equal(rename(below(names[2]), below("gone")), 0);
	expect_refused("its journal does not fit pl/a.mrl3");
	assert_int_equal(mkdir(below(names[2]), 0700), 0);
	expect_refused("pl/a.mrl3");
	assert_false(rmdir(below(names[2])) || symlink("../gone", below(names[2])));
	expect_refused("pl/a.mrl3");
	assert_false(unlink(below(names[2])) || rename(below("gone"), below(names[2])));
	fileset_close(open_write());
	assert_true(has(names[0], 10, "hello") && has(names[1], 10, "hello") && has(names[2], 10, "hello"));
	assert_false(there(".modelfs-journal"));
}

/* ---- cost ---- */

static void test_cost(void **state)
{
	struct crashio *c = crashio_new(dir);
	struct fileset *fs = open_crash(c);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned n = 1; n <= FILES; n++) {
			unsigned syncs = crashio_syncs(c);
			uint64_t written = crashio_written(c);

			must_commit(fs, n, 700, (const char *[]){ "one", "two", "four" }[i]);
			/* journal, directory, undo file, the files */
			assert_int_equal(crashio_syncs(c) - syncs, 3 + n);
			assert_true(crashio_written(c) - written < 300 + 250 * n);
			must_commit(fs, n, 700, "five!");
		}
	fileset_close(fs);
	crashio_free(c);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reader_race), TEST(test_readonly), TEST(test_private), TEST(test_full),
		TEST(test_patch_fails), TEST(test_strange_journal), TEST(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
