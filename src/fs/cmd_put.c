/* put: what writing a file over one of a mount would do, without a mount. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "draft.h"

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

static int put_node(const struct command *self, struct tree *t, const char *path, const char *file)
{
	struct store *text = store_new(NULL, &t->stored);
	const char *closed = NULL;
	struct err why = { 0 };
	struct node n;
	int rc = text ? node_resolve(t, path, &n) : -ENOMEM;

	if (!rc && node_is_dir(n))
		rc = -EISDIR;
	if (!rc && !tree_writable(t, &closed)) {
		store_free(text);
		err_set(&why, EROFS, "%s", closed ? closed : "it cannot be written");
		return cmd_fail(self, tree_path(t), &why);
	}
	if (!rc && !node_writable(t, n))
		rc = -EACCES;
	if (rc)
		rc = cmd_fail_errno(self, path, -rc);
	else
		rc = read_file(self, file, text);
	if (!rc && tree_save(t, &n, text, NULL, &why))
		rc = cmd_fail(self, path, &why);
	store_free(text);
	return rc;
}

static int run_put(const struct command *self, int argc, char **argv)
{
	struct tree_options opt = { .cache = CACHE_COMMAND, .write = true };
	struct err why = { 0 };
	struct tree *t;
	unsigned given;
	int rc = cmd_options(self, argc, &argv, "gn", &given, 3, 3);

	if (rc < 0)
		return -1 - rc;
	opt.grow = given & 1;
	opt.noundo = given & 2;
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
	"put", "[-gn] SOURCE PATH FILE",
	"Does what writing FILE (- is standard input) over PATH in a mount would do.\n"
	"  -g   the archive may grow, moving its own later data (-o grow)\n"
	"  -n   keep nothing that `modelfs undo` could take back (-o noundo)", run_put
};
