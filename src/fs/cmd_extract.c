/* extract: the tree as ordinary files. A bad entry costs that entry only. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "unit.h"

#define PIECE ((size_t)1 << 20)
#define SHOW_EVERY 0.2                         /* seconds between two progress lines */

struct extract {
	const struct command *self;
	struct tree *t;
	uint8_t *room;                         /* PIECE bytes */
	struct buf failed;                     /* lines "PATH: WHY" */
	uint64_t nfiles, nbytes, nfailed;
	bool progress;
	double began, shown;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void show_progress(struct extract *x, bool last)
{
	double t = now();

	if (!x->progress || (!last && t - x->shown < SHOW_EVERY))
		return;
	x->shown = t;
	fprintf(stderr, "\r%" PRIu64 " files, %.1f MB, %.1f MB/s%s", x->nfiles, (double)x->nbytes / 1e6,
		(double)x->nbytes / 1e6 / (t - x->began + 1e-9), last ? "\n" : " ");
	fflush(stderr);
}

static void note_failure(struct extract *x, struct node n, const char *why)
{
	struct buf path = { 0 };

	node_path(x->t, n, &path);
	buf_printf(&x->failed, "%.*s: %s\n", (int)(path.len ? path.len : 1), path.len ? (char *)path.p : ".", why);
	buf_free(&path);
	x->nfailed++;
}

static int copy_handle(struct extract *x, struct handle *h, int fd, bool *source_failed)
{
	uint64_t at = 0;
	int rc = 0;

	while (at < handle_size(h) && !rc) {
		int got = handle_read(h, x->room, PIECE, at);

		if (got < 0) {
			*source_failed = true;
			return got;
		}
		rc = cmd_write_fd(fd, x->room, (size_t)got);
		at += (uint64_t)got;
		x->nbytes += (uint64_t)got;
		show_progress(x, false);
	}
	return rc;
}

/* 0, also when the file was only damaged; negative when the destination cannot be written. */
static int extract_file(struct extract *x, struct node n, int at, const char *name)
{
	struct err why = { 0 };
	struct timespec times[2];
	struct node_attr a;
	struct handle *h;
	bool source_failed = false;
	int fd, rc;

	if (node_open(x->t, n, &h, &why)) {
		note_failure(x, n, why.text);
		return 0;
	}
	fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0) {
		rc = -errno;
		handle_put(h);
		return rc;
	}
	rc = copy_handle(x, h, fd, &source_failed);
	handle_put(h);
	node_attr(x->t, n, false, &a);
	times[0] = times[1] = a.mtime;
	futimens(fd, times);
	if (close(fd) && !rc)
		rc = -errno;
	if (source_failed) {
		note_failure(x, n, strerror(rc == -EBADMSG ? EIO : -rc));
		unlinkat(at, name, 0);
		return 0;
	}
	x->nfiles += !rc;
	return rc;
}

struct into { struct extract *x; int fd; };
static int extract_dir(struct extract *x, struct node dir, int fd);

static int extract_below(const struct into *into, const struct node_entry *entry)
{
	int fd, rc;

	if (!entry->dir)
		return extract_file(into->x, entry->node, into->fd, entry->name);
	if (mkdirat(into->fd, entry->name, 0755) && errno != EEXIST)
		return -errno;
	fd = openat(into->fd, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = extract_dir(into->x, entry->node, fd);
	close(fd);
	return rc;
}

/* Something in the way costs the entry; a destination that takes nothing more ends it all. */
static int extract_entry(void *ctx, const struct node_entry *entry)
{
	const struct into *into = ctx;
	int rc = extract_below(into, entry);

	switch (rc) {
	case -EISDIR: case -ENOTDIR: case -ELOOP: case -EACCES: case -EPERM: case -ENXIO: case -ETXTBSY:
		note_failure(into->x, entry->node, strerror(-rc));
		return 0;
	default:
		return rc;
	}
}

/* Recursion ends with the tree: LIMIT_NESTING units deep, a few directories each. */
static int extract_dir(struct extract *x, struct node dir, int fd)
{
	struct into into = { x, fd };
	struct buf errors = { 0 };
	struct err why = { 0 };
	int rc;

	if (unit_fill(x->t, dir.unit, &why)) {
		note_failure(x, dir, why.text);
		return 0;
	}
	rc = node_list(x->t, dir, 0, true, extract_entry, &into);
	if (!rc && !dir.local) {
		node_errors(x->t, dir, &errors);
		if (errors.len)
			note_failure(x, dir, "damaged; see its errors.txt");
		buf_free(&errors);
	}
	return rc;
}

/* DIR and the folders above it, as far as they are missing. */
static int make_dirs(const char *to)
{
	char *path = strdup(to);
	int rc = 0;

	if (!path)
		return -ENOMEM;
	for (char *p = path + 1; path[0] && !rc; p++) {
		char was = *p;

		if (was && was != '/')
			continue;
		*p = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			rc = -errno;
		*p = was;
		if (!was)
			break;
	}
	free(path);
	return rc;
}

static int extract_node(struct extract *x, struct node n, const char *to)
{
	struct node_attr a;
	struct buf path = { 0 };
	const char *slash;
	int fd, rc = make_dirs(to);

	if (rc)
		return rc;
	fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	node_attr(x->t, n, false, &a);
	if (a.dir) {
		rc = extract_dir(x, n, fd);
	} else {
		node_path(x->t, n, &path);
		buf_char(&path, 0);
		slash = path.bad ? NULL : strrchr((char *)path.p, '/');
		rc = path.bad ? -ENOMEM : extract_file(x, n, fd, slash ? slash + 1 : (char *)path.p);
		buf_free(&path);
	}
	close(fd);
	return rc;
}

static int finish(struct extract *x, int rc, const char *to)
{
	show_progress(x, true);
	if (rc)
		cmd_fail_errno(x->self, to, -rc);
	if (x->nfailed) {
		fprintf(stderr, "modelfs: extract: %" PRIu64 " failed or damaged:\n", x->nfailed);
		if (!x->failed.bad)
			fwrite(x->failed.p, 1, x->failed.len, stderr);
	}
	return rc || x->nfailed;
}

static int run_extract(const struct command *self, int argc, char **argv)
{
	struct extract x = { .self = self, .progress = isatty(STDERR_FILENO), .began = now() };
	const char *path, *to;
	struct node n;
	unsigned given;
	int rc = cmd_options(self, argc, &argv, "", &given, 2, 3);

	if (rc < 0)
		return -1 - rc;
	path = rc == 3 ? argv[1] : "";
	to = argv[rc - 1];
	x.t = cmd_open(self, argv[0]);
	if (!x.t)
		return 1;
	x.room = malloc(PIECE);
	rc = x.room ? node_resolve(x.t, path, &n) : -ENOMEM;
	if (rc)
		rc = cmd_fail_errno(self, *path ? path : argv[0], -rc);
	else
		rc = finish(&x, extract_node(&x, n, to), to);
	free(x.room);
	buf_free(&x.failed);
	tree_close(x.t);
	return rc;
}

const struct command cmd_extract = {
	"extract", "SOURCE [PATH] DIR",
	"Copies the tree, or what lies below PATH, into DIR. Goes on after a bad entry; ends with a list of what\n"
	"failed.",
	run_extract
};
