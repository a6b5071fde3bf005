/* Opening files below a directory: with the system's call for it and without, mounts in it and over it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "beneath.h"

typedef int open_fn(int dirfd, const char *path, int flags, mode_t mode);
static open_fn *const ways[] = { beneath_open, beneath_walk };

static char dir[64];
static int dir_fd;

static const char *below(const char *name)
{
	static char path[2][128];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(below(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/modelfs-beneath-XXXXXX");
	if (!mkdtemp(dir) || mkdir(below("a"), 0755) || mkdir(below("a/b"), 0755))
		return -1;
	make_file("a/b/f", "inside");
	if (symlink("b/f", below("a/link")) || symlink("a", below("dirlink")) || symlink("/etc", below("a/out")))
		return -1;
	dir_fd = open(dir, O_PATH | O_DIRECTORY);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "a/b/new", "a/b/f", "a/link", "a/out", "a/b", "a", "dirlink" };

	(void)state;
	close(dir_fd);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		remove(below(names[i]));
	return rmdir(dir);
}

/* 0, or the error of opening. */
static int try(open_fn *way, const char *path, int flags)
{
	int fd = way(dir_fd, path, flags, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_paths(void **state)
{
	static const struct { const char *path; int flags, rc; } v[] = {
		{ "a/b/f", O_RDONLY, 0 }, { "./a//b/./f", O_RDWR, 0 }, { "a/b/", O_RDONLY | O_DIRECTORY, 0 },
		{ "", O_RDONLY | O_DIRECTORY, 0 }, { ".", O_RDONLY, 0 }, { "a/b/new", O_RDWR | O_CREAT | O_EXCL, 0 },
		{ "a/b/none", O_RDONLY, -ENOENT }, { "none/f", O_RDONLY, -ENOENT }, { "a/b/f/x", O_RDONLY, -ENOTDIR },
		{ "..", O_RDONLY, -EXDEV }, { "a/../a", O_RDONLY, -EXDEV }, { "/etc", O_RDONLY, -EXDEV },
		{ "a/link", O_RDONLY, -ELOOP }, { "a/link", O_PATH, -ELOOP }, { "a/link", O_PATH | O_NOFOLLOW, 0 },
		{ "a/link", O_RDONLY | O_NOFOLLOW, -ELOOP }, { "dirlink/b/f", O_RDONLY, -ELOOP },
		{ "a/out/passwd", O_RDONLY, -ELOOP }, { "a/out", O_RDONLY | O_DIRECTORY, -ELOOP },
	};

	(void)state;
	for (unsigned k = 0; k < 2; k++)
		for (unsigned i = 0; i < sizeof v / sizeof *v; i++) {
			int rc = try(ways[k], v[i].path, v[i].flags);

			if (rc != v[i].rc)
				fail_msg("way %u: \"%s\", flags %o: %s", k, v[i].path, v[i].flags, strerror(-rc));
			if (v[i].flags & O_CREAT)
				assert_int_equal(unlink(below(v[i].path)), 0);
		}
}

static void test_flags(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		int fd = ways[k](dir_fd, "a/b/f", O_RDONLY, 0);

		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		close(fd);
	}
}

static void test_parent(void **state)
{
	static const struct { const char *path, *name; int rc; } v[] = {
		{ "a/b/f", "f", 0 }, { "top", "top", 0 }, { "a/none", "none", 0 }, { "./a//x", "x", 0 },
		{ "", NULL, -EINVAL }, { ".", NULL, -EINVAL }, { "a/", NULL, -EINVAL }, { "a/..", NULL, -EXDEV },
		{ "/a", NULL, -EXDEV }, { "dirlink/b", NULL, -ELOOP }, { "none/x", NULL, -ENOENT },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof v / sizeof *v; i++) {
		const char *name = NULL;
		int fd = beneath_parent(dir_fd, v[i].path, &name);

		assert_int_equal(fd < 0 ? fd : 0, v[i].rc);
		if (fd < 0)
			continue;
		assert_string_equal(name, v[i].name);
		assert_int_equal(fsync(fd), 0);
		close(fd);
	}
}

/* In a mount namespace of its own: another file system at a/b, and one over the folder itself. */
static int with_mounts(void)
{
	struct stat st;

	if ((geteuid() && unshare(CLONE_NEWUSER)) || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 77;
	close(dir_fd);                         /* that one is of the other namespace */
	dir_fd = open(dir, O_PATH | O_DIRECTORY);
	if (dir_fd < 0 || mount("none", below("a/b"), "tmpfs", 0, NULL))
		return 77;
	make_file("a/b/f", "of the mount");
	for (unsigned k = 0; k < 2; k++)
		if (try(ways[k], "a/b/f", O_RDONLY) != -EXDEV || try(ways[k], "a/b", O_PATH) != -EXDEV ||
		    try(ways[k], "a", O_RDONLY))
			return 2 + (int)k;
	if (mount("none", dir, "tmpfs", 0, NULL) || stat(below("a"), &st) != -1)
		return 77;
	for (unsigned k = 0; k < 2; k++)
		if (try(ways[k], "a", O_RDONLY) || try(ways[k], "a/link", O_PATH | O_NOFOLLOW) ||
		    try(ways[k], ".", O_RDONLY | O_DIRECTORY))
			return 4 + (int)k;
	return 0;
}

static void test_mounts(void **state)
{
	int status;
	pid_t kid = fork();

	(void)state;
	if (!kid)
		_exit(with_mounts());
	assert_int_equal(waitpid(kid, &status, 0), kid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mounts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
