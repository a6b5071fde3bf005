/* extract: the tree as ordinary files. A bad entry costs that entry only. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "unit.h"

#define TRIES 20u                              /* to copy a file that another process keeps changing */
#define SHOW_EVERY 0.2                         /* seconds between two progress lines */

/* Files of one directory that were read in one turn inside the tree. */
#define BATCH 64u
struct batch {
	unsigned n;
	size_t used;                           /* bytes in the room */
	struct batched {
		const char *name;
		size_t at;                     /* in the room */
		int got;                       /* bytes, or negative and `why` */
		struct cmd_reading r;          /* open still when there is more */
		struct err why;
	} v[BATCH];
};

struct extract {
	const struct command *self;
	struct tree *t;
	uint8_t *room;                         /* 2 * CMD_PIECE bytes */
	struct batch batch;
	struct buf failed;                     /* lines "PATH: WHY" */
	uint64_t nfiles, nbytes, nfailed;
	bool progress;
	double began, shown;
	ino_t inside;                          /* of where all goes to, when that may lie in SOURCE itself; else 0 */
};

static void show_progress(struct extract *x, bool last)
{
	double t = cmd_now();

	if (!x->progress || (!last && t - x->shown < SHOW_EVERY))
		return;
	x->shown = t;
	fprintf(stderr, "\r%" PRIu64 " files, %.1f MB, %.1f MB/s%s", x->nfiles, (double)x->nbytes / 1e6,
		(double)x->nbytes / 1e6 / (t - x->began + 1e-9), last ? "\n" : " ");
	fflush(stderr);
}

/* name: of an entry of dir, or "" */
static void note_failure(struct extract *x, const struct cmd_place *dir, const char *name, const char *why)
{
	const char *slash = *dir->path && *name ? "/" : "";

	buf_printf(&x->failed, "%s%s%s: %s\n", *dir->path || *name ? dir->path : ".", slash, name, why);
	x->nfailed++;
}

/* ---- files ---- */

/* What does not end with its first piece is read on outside. */
static int read_start(struct cmd_place *dir, const char *name, uint8_t *piece, struct cmd_reading *r, struct err *why)
{
	int got = cmd_read_open(dir, name, r, why);

	if (!got)
		got = cmd_read(r, piece, why);
	if (got < 0 || r->at == r->size)
		cmd_read_close(r);
	return got;
}

static int copy_pieces(struct extract *x, struct cmd_reading *r, const uint8_t *piece, int got, int fd, struct err *why)
{
	uint64_t before = x->nbytes;
	int rc;

	while (got > 0) {
		rc = cmd_write_fd(fd, piece, (size_t)got);
		if (rc)
			return rc;
		x->nbytes += (uint64_t)got;
		show_progress(x, false);
		piece = x->room;
		got = cmd_read_on(r, x->room, why);
	}
	if (got)
		x->nbytes = before;
	return got;
}

/* Once more from the start, because another process saved in between. */
static int copy_again(struct extract *x, struct cmd_place *dir, struct batched *b, int fd)
{
	int got;

	cmd_read_close(&b->r);
	b->why = (struct err){ 0 };
	tree_enter(x->t);
	got = read_start(dir, b->name, x->room, &b->r, &b->why);
	tree_leave(x->t);
	if (got < 0)
		return got;
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return -errno;
	return copy_pieces(x, &b->r, x->room, got, fd, &b->why);
}

/* 0, also when the file was only damaged, which b->why tells; negative when the destination cannot be written. */
static int copy_file(struct extract *x, struct cmd_place *dir, struct batched *b, int at)
{
	struct timespec times[2];
	int fd = openat(at, b->name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644), rc;

	if (fd < 0)
		return -errno;
	rc = copy_pieces(x, &b->r, x->room + b->at, b->got, fd, &b->why);
	for (unsigned i = 1; i < TRIES && b->why.code == EAGAIN; i++)
		rc = copy_again(x, dir, b, fd);
	times[0] = times[1] = b->r.mtime;
	futimens(fd, times);
	if (close(fd) && !rc)
		rc = -errno;
	if (b->why.code) {
		unlinkat(at, b->name, 0);
		return 0;
	}
	x->nfiles += !rc;
	return rc;
}

/* Something in the way costs the entry; a destination that takes nothing more ends it all. */
static int settle(struct extract *x, const struct cmd_place *dir, const char *name, int rc)
{
	switch (rc) {
	case -EISDIR: case -ENOTDIR: case -ELOOP: case -EACCES: case -EPERM: case -ENXIO: case -ETXTBSY:
		note_failure(x, dir, name, strerror(-rc));
		return 0;
	default:
		return rc;
	}
}

/* Reads files from the names at *at on, until the room or the turn is used up or a directory comes. */
static void read_batch(struct extract *x, struct cmd_place *dir, const char **at, const char *end)
{
	double until = cmd_now() + CMD_TURN;
	struct batch *batch = &x->batch;

	batch->n = 0;
	batch->used = 0;
	tree_enter(x->t);
	while (*at < end && **at == ' ' && batch->n < BATCH && batch->used < CMD_PIECE &&
	       (!batch->n || cmd_now() < until)) {
		struct batched *b = &batch->v[batch->n++];

		b->name = *at + 1;
		b->at = batch->used;
		b->why = (struct err){ 0 };
		b->got = read_start(dir, b->name, x->room + b->at, &b->r, &b->why);
		if (b->got > 0)
			batch->used += (size_t)b->got;
		*at += strlen(*at) + 1;
		if (b->r.h)
			break;                 /* the next pieces overwrite the room */
	}
	tree_leave(x->t);
}

static int extract_files(struct extract *x, struct cmd_place *dir, int fd, const char **at, const char *end)
{
	int rc = 0;

	read_batch(x, dir, at, end);
	for (unsigned i = 0; i < x->batch.n; i++) {
		struct batched *b = &x->batch.v[i];

		if (!rc && b->got >= 0)
			rc = settle(x, dir, b->name, copy_file(x, dir, b, fd));
		if (b->why.code)
			note_failure(x, dir, b->name, b->why.text);
		cmd_read_close(&b->r);
	}
	return rc;
}

static int extract_file(struct extract *x, struct cmd_place *dir, int fd, const char *name)
{
	char room[NODE_NAME_MAX + 1];
	const char *at = room;

	snprintf(room, sizeof room, " %s", name);
	return extract_files(x, dir, fd, &at, room + strlen(room));
}

/* ---- directories ---- */

static int extract_dir(struct extract *x, struct cmd_place *dir, int fd);

/* A copy of the copy would have no end. */
static bool is_destination(struct extract *x, struct cmd_place *dir, const char *name)
{
	struct node_attr a = { 0 };
	struct node n;

	if (!x->inside)
		return false;
	tree_enter(x->t);
	if (!cmd_place_lookup(dir, name, &n)) {
		node_attr(x->t, n, false, &a);
		node_put(x->t, n);
	}
	tree_leave(x->t);
	return a.type == S_IFDIR && a.ino == x->inside;
}

static int extract_folder(struct extract *x, struct cmd_place *dir, int at, const char *name)
{
	struct cmd_place below;
	int fd, rc;

	if (is_destination(x, dir, name))
		return 0;
	if (mkdirat(at, name, 0755) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = cmd_place_below(dir, name, &below);
	if (!rc)
		rc = extract_dir(x, &below, fd);
	cmd_place_free(&below);
	close(fd);
	return rc;
}

/* A link leads where it leads; what else there is in a folder has no bytes to copy. */
static int extract_other(struct extract *x, struct cmd_place *dir, int fd, char mark, const char *name)
{
	char to[PATH_MAX];
	struct node n = { 0 };
	int rc;

	if (mark != '@') {
		note_failure(x, dir, name, "neither a file nor a folder: left out");
		return 0;
	}
	tree_enter(x->t);
	rc = cmd_place_lookup(dir, name, &n);
	rc = rc ? rc : node_link(x->t, n, to, sizeof to);
	node_put(x->t, n);
	tree_leave(x->t);
	if (rc)
		note_failure(x, dir, name, strerror(-rc));
	else if (symlinkat(to, fd, name))
		rc = -errno;
	if (!rc)
		x->nfiles++;
	return rc == -EEXIST ? settle(x, dir, name, -EISDIR) : rc;
}

/* Recursion ends with the tree: LIMIT_NESTING units deep, a few directories each. */
static int extract_dir(struct extract *x, struct cmd_place *dir, int fd)
{
	struct buf names = { 0 };
	struct err why = { 0 };
	const char *at, *end;
	int rc = 0;

	if (cmd_names(dir, &names, &why))
		note_failure(x, dir, "", why.text);
	at = (const char *)names.p;
	end = names.len ? at + names.len : at;
	while (at < end && !rc) {
		if (*at == '/') {
			rc = settle(x, dir, at + 1, extract_folder(x, dir, fd, at + 1));
			at += strlen(at) + 1;
		} else if (*at != ' ') {
			rc = extract_other(x, dir, fd, *at, at + 1);
			at += strlen(at) + 1;
		} else {
			rc = extract_files(x, dir, fd, &at, end);
		}
	}
	buf_free(&names);
	if (!rc && !why.code && cmd_damaged(dir)) {
		rc = extract_file(x, dir, fd, ERRORS_NAME);
		note_failure(x, dir, "", "damaged; see its errors.txt");
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

/* One file: an entry of the directory it lies in. */
static int extract_one(struct extract *x, const struct cmd_place *file, int fd)
{
	const char *slash = strrchr(file->path, '/');
	struct cmd_place dir = { .t = x->t };
	int rc;

	dir.path = strndup(file->path, slash ? (size_t)(slash - file->path) : 0);
	rc = dir.path ? extract_file(x, &dir, fd, slash ? slash + 1 : file->path) : -ENOMEM;
	cmd_place_free(&dir);
	return rc;
}

static int extract_place(struct extract *x, struct cmd_place *from, const char *to)
{
	struct node_attr a = { 0 };
	struct stat st, source;
	int fd, rc = make_dirs(to);

	if (rc)
		return rc;
	fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (tree_is_folder(x->t) && !fstat(fd, &st) && !fstat(tree_fd(x->t), &source) && st.st_dev == source.st_dev)
		x->inside = st.st_ino;
	tree_enter(x->t);
	rc = cmd_place_find(from);
	if (!rc)
		node_attr(x->t, from->node, false, &a);
	tree_leave(x->t);
	if (rc) {
		note_failure(x, from, "", strerror(-rc));
		rc = 0;
	} else {
		rc = a.dir ? extract_dir(x, from, fd) : extract_one(x, from, fd);
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
	struct extract x = { .self = self, .progress = isatty(STDERR_FILENO), .began = cmd_now() };
	const char *path, *to;
	struct cmd_place from = { 0 };
	struct tree_options opt = { 0 };
	unsigned given;
	int rc = cmd_tree_options(self, argc, &argv, "c", &given, 2, 3, &opt);

	if (rc < 0)
		return -1 - rc;
	path = rc == 3 ? argv[1] : "";
	to = argv[rc - 1];
	opt.carve = given;
	x.t = cmd_open(self, argv[0], opt);
	if (!x.t)
		return 1;
	x.room = malloc(2 * CMD_PIECE);
	rc = x.room ? cmd_place_open(x.t, path, &from) : -ENOMEM;
	if (rc)
		rc = cmd_fail_errno(self, *path ? path : argv[0], -rc);
	else
		rc = finish(&x, extract_place(&x, &from, to), to);
	cmd_place_free(&from);
	free(x.room);
	buf_free(&x.failed);
	tree_close(x.t);
	return rc;
}

const struct command cmd_extract = {
	"extract", "[-c] [-o OPTIONS] SOURCE [PATH] DIR",
	"Copies the tree, or what lies below PATH, into DIR. Goes on after a bad entry; ends with a list of what\n"
	"failed.\n" CMD_CARVE_HELP "\n" CMD_TIMING_HELP,
	run_extract
};
