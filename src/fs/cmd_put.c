/* put: what writing a file over one of a mount would do, without a mount. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "draft.h"
#include "folder.h"

static void show_progress(uint64_t done, uint64_t all)
{
	if (all)
		fprintf(stderr, "\rwriting the archive anew: %3u %% of %" PRIu64 " MiB%s",
			(unsigned)(done * 100 / all), all >> 20, done == all ? "\n" : "");
}

static int read_file(const struct command *self, const char *path, struct store *into)
{
	uint8_t piece[65536];
	uint64_t at = 0;
	ssize_t got;
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO, rc = 0;

	if (fd < 0)
		return cmd_fail_errno(self, path, errno);
	while (!rc && (got = read(fd, piece, sizeof piece)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		rc = got < 0 ? -errno : store_write(into, piece, (size_t)got, at);
		at += got > 0 ? (uint64_t)got : 0;
	}
	if (fd != STDIN_FILENO)
		close(fd);
	return rc ? cmd_fail_errno(self, path, -rc) : 0;
}

/* Over a plain file of a folder: as any program would. */
static int put_host(struct tree *t, struct node n, struct store *text)
{
	struct hosts *h = &t->folder->hosts;
	int fd = host_open(h, n.host, O_WRONLY | O_TRUNC | O_NONBLOCK), got = 0, rc = 0;
	uint8_t piece[65536];

	if (fd < 0)
		return fd;
	for (uint64_t at = 0; !rc && (got = store_read(text, piece, sizeof piece, at)) > 0; at += (uint64_t)got)
		rc = cmd_write_fd(fd, piece, (size_t)got);
	rc = rc ? rc : got;
	if (!rc && fsync(fd))
		rc = -errno;
	if (close(fd) && !rc)
		rc = -errno;
	return rc;
}

static int put_over(const struct command *self, struct tree *t, struct node n, const char *path, const char *file,
		    struct store *text)
{
	struct err why = { 0 };
	int rc = read_file(self, file, text);

	if (rc)
		return rc;
	if (n.host) {
		rc = put_host(t, n, text);
		return rc ? cmd_fail_errno(self, path, -rc) : 0;
	}
	return tree_save(t, &n, text, NULL, &why) ? cmd_fail(self, path, &why) : 0;
}

static int put_node(const struct command *self, struct tree *t, const char *path, const char *file)
{
	struct store *text = store_new(NULL, &t->stored);
	const char *closed = NULL;
	struct err why = { 0 };
	struct node n = { 0 };
	int rc = text ? node_resolve(t, path, &n) : -ENOMEM;

	if (!rc && node_is_dir(n))
		rc = -EISDIR;
	if (!rc && !n.host && !tree_writable(t, &closed)) {
		store_free(text);
		err_set(&why, EROFS, "%s", closed ? closed : "it cannot be written");
		return cmd_fail(self, tree_path(t), &why);
	}
	if (!rc && !n.host)
		rc = node_may_write(t, n, &why);
	if (rc)
		rc = why.code && rc != -EACCES ? cmd_fail(self, path, &why) : cmd_fail_errno(self, path, -rc);
	else
		rc = put_over(self, t, n, path, file, text);
	store_free(text);
	node_put(t, n);
	return rc;
}

static int run_put(const struct command *self, int argc, char **argv)
{
	struct tree_options opt = { .cache = CACHE_COMMAND, .write = true };
	struct err why = { 0 };
	struct tree *t;
	unsigned given;
	int rc = cmd_tree_options(self, argc, &argv, "gnc", &given, 3, 3, &opt);

	if (rc < 0)
		return -1 - rc;
	opt.grow = given & 1;
	opt.noundo = given & 2;
	opt.carve = given & 4;
	if (tree_open(argv[0], &opt, &t, &why))
		return cmd_fail(self, argv[0], &why);
	if (isatty(STDERR_FILENO))
		t->progress = show_progress;
	t->silent = true;
	rc = put_node(self, t, argv[1], argv[2]);
	tree_close(t);
	return rc;
}

const struct command cmd_put = {
	"put", "[-gnc] [-o OPTIONS] SOURCE PATH FILE",
	"Does what writing FILE (- is standard input) over PATH in a mount would do.\n"
	"  -g   the archive may grow, moving its own later data (-o grow)\n"
	"  -n   keep nothing that `modelfs undo` could take back (-o noundo)\n"
	CMD_CARVE_HELP "\n" CMD_TIMING_HELP, run_put
};
