/* log, undo: the commits of a source, and taking them back. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "archive.h"
#include "cmd.h"
#include "fileset.h"
#include "unit.h"

struct listing { struct buf out; uint64_t n, changed, space; };

static void add_size(struct buf *b, uint64_t n, const char *what)
{
	buf_printf(b, "  %" PRIu64 " %s %s", n, n == 1 ? "byte" : "bytes", what);
}

/* A path comes from a file, so it may hold what a terminal would obey. */
static void add_path(struct buf *b, const char *path)
{
	for (; *path; path++)
		buf_char(b, (unsigned char)*path < ' ' || *path == 0x7f ? '?' : *path);
}

static int list_commit(void *ctx, const struct commit_info *c)
{
	struct listing *l = ctx;
	char when[32] = "?";
	struct tm tm;

	if (localtime_r(&c->time.tv_sec, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	buf_printf(&l->out, "%" PRIu64 "  %s  ", c->sequence, when);
	add_path(&l->out, c->what);
	add_size(&l->out, c->changed, c->rewritten ? "written anew" : "changed");
	add_size(&l->out, c->space, "kept\n");
	l->n++;
	l->changed += c->changed;
	l->space += c->space;
	return 0;
}

/* A SOURCE that has commits: a file, or a folder. */
struct history {
	const char *path;
	char *led;                             /* where SOURCE leads to, if it does */
	int dirfd;                             /* -1: a file */
	struct archive *archive;               /* one of the two, once open for writing */
	struct fileset *set;
};

static int history_of(const char *path, struct history *h, struct err *e)
{
	char *real = realpath(path, NULL);
	struct arena a = { 0 };
	struct lead lead;
	int rc;

	*h = (struct history){ .path = path, .dirfd = -1 };
	rc = real ? lead_follow(real, &h->led, &lead, &a, e) : 0;
	free(real);
	arena_free(&a);
	if (rc)
		return rc;
	h->path = h->led ? h->led : path;
	h->dirfd = open(h->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static void history_close(struct history *h)
{
	if (h->archive)
		archive_close(h->archive);
	if (h->set)
		fileset_close(h->set);
	if (h->dirfd >= 0)
		close(h->dirfd);
	free(h->led);
}

static int history_log(const struct history *h, struct listing *l, struct err *e)
{
	return h->dirfd < 0 ? archive_log(h->path, list_commit, l, e) :
	       fileset_log(h->dirfd, h->path, list_commit, l, e);
}

static int run_log(const struct command *self, int argc, char **argv)
{
	struct listing l = { 0 };
	struct err why = { 0 };
	struct history h;
	unsigned given;
	int rc = cmd_options(self, argc, &argv, "", &given, 1, 1);

	if (rc < 0)
		return -1 - rc;
	rc = history_of(argv[0], &h, &why);
	if (rc || history_log(&h, &l, &why)) {
		rc = cmd_fail(self, argv[0], &why);
	} else {
		buf_printf(&l.out, "%" PRIu64 " %s", l.n, l.n == 1 ? "commit" : "commits");
		add_size(&l.out, l.changed, "changed");
		add_size(&l.out, l.space, "kept\n");
		rc = l.out.bad ? cmd_fail_errno(self, argv[0], ENOMEM) : cmd_write(self, l.out.p, l.out.len);
	}
	buf_free(&l.out);
	history_close(&h);
	return rc;
}

const struct command cmd_log = {
	"log", "SOURCE",
	"Lists the commits that can be taken back: number, time, path, bytes changed, bytes kept for undo.", run_log
};

/* ---- undo ---- */

static bool read_count(const char *text, unsigned *n)
{
	char *end;
	unsigned long v;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (*end || errno || !v)
		return false;
	*n = v < UINT32_MAX ? (unsigned)v : UINT32_MAX;
	return true;
}

/* The lines of the log say what was taken back; its last ones, newest first. */
static int print_undone(const struct command *self, const struct listing *l, unsigned n)
{
	const char *text = (const char *)l->out.p;
	size_t end = l->out.len, at;
	struct buf out = { 0 };
	int rc;

	buf_printf(&out, "taken back:\n");
	for (; n && end; n--, end = at) {
		for (at = end - 1; at && text[at - 1] != '\n'; at--)
			;
		buf_add(&out, text + at, end - at);
	}
	rc = out.bad ? cmd_fail_errno(self, "standard output", ENOMEM) : cmd_write(self, out.p, out.len);
	buf_free(&out);
	return rc;
}

/* Opens it for writing; EROFS when that cannot be. */
static int history_write(struct history *h, struct err *e)
{
	struct archive_options aopt = { .write = true };
	struct fileset_options sopt = { .write = true };
	const char *not = NULL;
	bool can = false;
	int rc;

	if (h->dirfd < 0) {
		rc = archive_open(h->path, &aopt, &h->archive, e);
		can = !rc && archive_writable(h->archive, &not);
	} else {
		rc = fileset_open(h->dirfd, h->path, &sopt, &h->set, e);
		can = !rc && fileset_writable(h->set, &not);
	}
	return rc || can ? rc : err_set(e, EROFS, "%s", not);
}

static int history_undo(struct history *h, unsigned n, unsigned *done, struct err *e)
{
	return h->set ? fileset_undo(h->set, n, done, e) : archive_undo(h->archive, n, done, e);
}

static int undo(const struct command *self, const char *path, struct history *h, unsigned n)
{
	struct listing l = { 0 };
	struct err why = { 0 };
	unsigned done;
	int rc = history_of(path, h, &why);

	rc = rc ? rc : history_write(h, &why);
	rc = rc ? rc : history_log(h, &l, &why);
	rc = rc ? rc : history_undo(h, n, &done, &why);
	if (!rc && !done)
		rc = err_set(&why, ENOENT, "there is no commit to take back");
	rc = rc ? cmd_fail(self, path, &why) : print_undone(self, &l, done);
	buf_free(&l.out);
	return rc;
}

static int run_undo(const struct command *self, int argc, char **argv)
{
	unsigned given, n = 1;
	struct history h;
	int rc = cmd_options(self, argc, &argv, "", &given, 1, 2);

	if (rc < 0)
		return -1 - rc;
	if (rc == 2 && !read_count(argv[1], &n))
		return cmd_usage(self);
	rc = undo(self, argv[0], &h, n);
	history_close(&h);
	return rc;
}

const struct command cmd_undo = {
	"undo", "SOURCE [N]", "Takes back the last commit, or the last N.", run_undo
};
