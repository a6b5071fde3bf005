/* What the subcommands share. */
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static void print_help(const struct command *self, FILE *f)
{
	fprintf(f, "usage: modelfs %s %s\n", self->name, self->synopsis);
}

int cmd_usage(const struct command *self)
{
	print_help(self, stderr);
	return 2;
}

int cmd_options(const struct command *self, int argc, char ***argv, const char *letters, unsigned *given, int min,
		int max)
{
	static const struct option long_options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	char shorts[16];
	int c;

	snprintf(shorts, sizeof shorts, "+h%s", letters);
	*given = 0;
	while ((c = getopt_long(argc, *argv, shorts, long_options, NULL)) != -1) {
		const char *at = strchr(letters, c);

		if (c == 'h') {
			print_help(self, stdout);
			printf("%s\n", self->help);
			return -1;
		}
		if (!at)
			return -1 - cmd_usage(self);
		*given |= 1u << (at - letters);
	}
	*argv += optind;
	argc -= optind;
	return argc < min || argc > max ? -1 - cmd_usage(self) : argc;
}

int cmd_fail(const struct command *self, const char *where, const struct err *why)
{
	fprintf(stderr, "modelfs: %s: %s: %s\n", self->name, where, why->text);
	return 1;
}

int cmd_fail_errno(const struct command *self, const char *where, int code)
{
	fprintf(stderr, "modelfs: %s: %s: %s\n", self->name, where, strerror(code));
	return 1;
}

struct tree *cmd_open(const struct command *self, const char *path)
{
	struct tree_options opt = { .cache = CACHE_COMMAND };
	struct err why = { 0 };
	struct tree *t;

	if (!tree_open(path, &opt, &t, &why))
		return t;
	cmd_fail(self, path, &why);
	return NULL;
}

int cmd_write_fd(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

int cmd_write(const struct command *self, const void *p, size_t n)
{
	int rc = cmd_write_fd(STDOUT_FILENO, p, n);

	return rc ? cmd_fail_errno(self, "standard output", -rc) : 0;
}

/* ---- every unit ---- */

struct walk {
	struct tree *t;
	int (*fn)(void *ctx, struct unit *u, const char *path);
	void *ctx;
	struct err *e;
};

static int walk_unit(struct walk *w, struct unit *u)
{
	struct buf path = { 0 };
	struct unit *kid;
	int rc;

	unit_fill(w->t, u, NULL);              /* one that cannot be is fn's to find out; it has no kids */
	node_path(w->t, (struct node){ u, 0 }, &path);
	buf_char(&path, 0);
	rc = path.bad ? err_nomem(w->e) : w->fn(w->ctx, u, (char *)path.p);
	buf_free(&path);
	for (uint32_t i = 0; i < u->nkids && !rc; i++) {
		if (!u->kids[i].format)
			continue;
		rc = unit_of_kid(w->t, u, i, &kid, w->e);
		if (!rc)
			rc = walk_unit(w, kid);        /* no deeper than LIMIT_NESTING */
	}
	return rc;
}

int cmd_each_unit(struct tree *t, int (*fn)(void *ctx, struct unit *u, const char *path), void *ctx, struct err *e)
{
	struct walk w = { t, fn, ctx, e };

	return walk_unit(&w, tree_root(t).unit);
}
