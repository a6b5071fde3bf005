/* What the subcommands share. */
#include "cmd.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"

#define FPS_LEAST 0.001
#define FPS_MOST 1000.0
#define TOLERANCE_MOST 180.0

static void print_help(const struct command *self, FILE *f)
{
	fprintf(f, "usage: modelfs %s %s\n", self->name, self->synopsis);
}

int cmd_usage(const struct command *self)
{
	print_help(self, stderr);
	return 2;
}

/* "fps=25,tolerance=0.5,baked" */
static bool take_timing(const char *text, struct tree_options *opt)
{
	int n = 0;

	while (*text) {
		if (!strncmp(text, "baked", 5)) {
			opt->timing.baked = true;
			n = 5;
		} else if (sscanf(text, "fps=%lf%n", &opt->timing.fps, &n) != 1 &&
			   sscanf(text, "tolerance=%lf%n", &opt->timing.tolerance, &n) != 1) {
			return false;
		}
		text += n;
		if (*text == ',')
			text++;
		else if (*text)
			return false;
	}
	return true;
}

bool cmd_timing_fits(const struct command *self, const struct tree_options *opt)
{
	if (opt->timing.fps && !(opt->timing.fps >= FPS_LEAST && opt->timing.fps <= FPS_MOST))
		fprintf(stderr, "modelfs: %s: fps=%g: expected %g to %g\n", self->name, opt->timing.fps, FPS_LEAST,
			FPS_MOST);
	else if (!(opt->timing.tolerance >= 0 && opt->timing.tolerance <= TOLERANCE_MOST))
		fprintf(stderr, "modelfs: %s: tolerance=%g: expected 0 to %g\n", self->name, opt->timing.tolerance,
			TOLERANCE_MOST);
	else
		return true;
	return false;
}

int cmd_tree_options(const struct command *self, int argc, char ***argv, const char *letters, unsigned *given, int min,
		     int max, struct tree_options *opt)
{
	static const struct option long_options[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	char shorts[16];
	int c;

	snprintf(shorts, sizeof shorts, "+h%s%s", opt ? "o:" : "", letters);
	*given = 0;
	while ((c = getopt_long(argc, *argv, shorts, long_options, NULL)) != -1) {
		const char *at = strchr(letters, c);

		if (c == 'h') {
			print_help(self, stdout);
			printf("%s\n", self->help);
			return -1;
		}
		if (c == 'o' && opt && take_timing(optarg, opt)) {
			if (!cmd_timing_fits(self, opt))
				return -3;
			continue;
		}
		if (!at || c == 'o')
			return -1 - cmd_usage(self);
		*given |= 1u << (at - letters);
	}
	*argv += optind;
	argc -= optind;
	return argc < min || argc > max ? -1 - cmd_usage(self) : argc;
}

int cmd_options(const struct command *self, int argc, char ***argv, const char *letters, unsigned *given, int min,
		int max)
{
	return cmd_tree_options(self, argc, argv, letters, given, min, max, NULL);
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

struct tree *cmd_open(const struct command *self, const char *path, struct tree_options opt)
{
	struct err why = { 0 };
	struct tree *t;

	opt.cache = CACHE_COMMAND;
	if (!tree_open(path, &opt, &t, &why)) {
		t->silent = true;
		return t;
	}
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

/* ---- places ---- */

/* Numbers of nodes change with it only; units stay until the tree is closed. */
static uint32_t gen_of(struct node n)
{
	return n.unit ? atomic_load_explicit(&n.unit->gen, memory_order_acquire) : 0;
}

int cmd_place_find(struct cmd_place *p)
{
	const char *slash;
	int rc;

	if (p->node.host || (p->node.unit && gen_of(p->node) == p->gen))
		return 0;
	slash = strrchr(p->path, '/');
	rc = p->in ? cmd_place_lookup(p->in, slash ? slash + 1 : p->path, &p->node) :
		     node_resolve(p->t, p->path, &p->node);
	if (rc)
		p->node.unit = NULL;
	else
		p->gen = gen_of(p->node);
	return rc;
}

int cmd_place_lookup(struct cmd_place *dir, const char *name, struct node *out)
{
	int rc = cmd_place_find(dir);

	if (rc || name)
		return rc ? rc : node_lookup(dir->t, dir->node, name, out);
	*out = dir->node;
	if (out->host)
		host_ref(&dir->t->folder->hosts, out->host);
	return 0;
}

int cmd_place_open(struct tree *t, const char *path, struct cmd_place *out)
{
	struct buf clean = { 0 };
	int rc;

	*out = (struct cmd_place){ .t = t };
	tree_enter(t);
	rc = node_resolve(t, path, &out->node);
	if (!rc) {
		out->gen = gen_of(out->node);
		node_path(t, out->node, &clean);
		buf_char(&clean, 0);
		rc = clean.bad ? -ENOMEM : 0;
	}
	tree_leave(t);
	if (rc) {
		buf_free(&clean);
		node_put(t, out->node);
	}
	out->path = (char *)clean.p;
	return rc;
}

int cmd_place_below(struct cmd_place *dir, const char *name, struct cmd_place *out)
{
	*out = (struct cmd_place){ .t = dir->t, .in = dir };
	if (asprintf(&out->path, "%s%s%s", dir->path, *dir->path ? "/" : "", name) >= 0)
		return 0;
	out->path = NULL;
	return -ENOMEM;
}

void cmd_place_free(struct cmd_place *p)
{
	if (p->t)
		node_put(p->t, p->node);
	p->node = (struct node){ 0 };
	free(p->path);
	p->path = NULL;
}

static char mark_of(unsigned type)
{
	switch (type) {
	case DT_UNKNOWN:
	case DT_REG: return ' ';
	case DT_LNK: return '@';
	default: return '=';
	}
}

static int add_name(void *ctx, const struct node_entry *entry)
{
	struct buf *names = ctx;

	if (strcmp(entry->name, ERRORS_NAME)) {
		buf_char(names, entry->dir ? '/' : mark_of(entry->type));
		buf_add(names, entry->name, strlen(entry->name) + 1);
	}
	return names->bad ? -ENOMEM : 0;
}

int cmd_names(struct cmd_place *dir, struct buf *names, struct err *e)
{
	struct err why = { 0 };
	int rc;

	tree_enter(dir->t);
	rc = cmd_place_find(dir);
	if (!rc && dir->node.unit)
		rc = unit_fill(dir->t, dir->node.unit, &why);
	if (!rc)
		rc = node_list(dir->t, dir->node, 0, false, add_name, names);
	tree_leave(dir->t);
	if (rc)
		err_set(e, -rc, "%s", why.code ? why.text : strerror(-rc));
	return rc;
}

bool cmd_damaged(struct cmd_place *dir)
{
	struct buf lines = { 0 };
	bool any;

	if (dir->node.local || dir->node.host)
		return false;                  /* only a unit's own directory has it */
	tree_enter(dir->t);
	if (!cmd_place_find(dir))
		node_errors(dir->t, dir->node, &lines);
	any = lines.len;
	tree_leave(dir->t);
	buf_free(&lines);
	return any;
}

/* ---- files ---- */

double cmd_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int cmd_read_open(struct cmd_place *dir, const char *name, struct cmd_reading *r, struct err *e)
{
	struct node_attr a;
	struct node n;
	int rc = cmd_place_lookup(dir, name, &n);

	*r = (struct cmd_reading){ .t = dir->t };
	if (rc)
		return err_set(e, -rc, "%s", strerror(-rc));
	rc = node_open(dir->t, n, &r->h, e);
	if (!rc) {
		node_attr(dir->t, n, false, &a);
		r->mtime = a.mtime;
		r->size = handle_size(r->h);
		r->gen = gen_of(n);
	}
	node_put(dir->t, n);
	return rc;
}

int cmd_read(struct cmd_reading *r, void *piece, struct err *e)
{
	int got;

	if (gen_of(handle_node(r->h)) != r->gen)
		return err_set(e, EAGAIN, "it was changed again and again while it was read");
	got = handle_read(r->h, piece, CMD_PIECE, r->at);
	if (got < 0)
		return err_set(e, -got, "%s", strerror(got == -EBADMSG ? EIO : -got));
	r->at += (uint64_t)got;
	return got;
}

int cmd_read_on(struct cmd_reading *r, void *piece, struct err *e)
{
	int rc;

	if (r->at == r->size)
		return 0;
	tree_enter(r->t);
	rc = cmd_read(r, piece, e);
	tree_leave(r->t);
	return rc;
}

void cmd_read_close(struct cmd_reading *r)
{
	if (r->h)
		handle_put(r->h);
	r->h = NULL;
}

void cmd_comments(struct doc *d, const char *what, struct buf *lines)
{
	for (char *line = strtok((char *)lines->p, "\n"); line; line = strtok(NULL, "\n"))
		doc_comment(d, "%s: %s", what, line);
}

/* ---- every unit ---- */

struct walk {
	struct tree *t;
	int (*fn)(void *ctx, struct cmd_place *unit);
	void *ctx;
	struct err *e;
};

static int walk_unit(struct walk *w, struct cmd_place *unit);
static int walk_folder(struct walk *w, struct cmd_place *dir);

static int walk_below(struct walk *w, struct cmd_place *unit, const char *name)
{
	struct cmd_place kid;
	int rc = cmd_place_below(unit, name, &kid);

	if (!rc) {
		tree_enter(w->t);
		rc = cmd_place_find(&kid);
		tree_leave(w->t);
	}
	/* What is gone by now is no unit of the tree; nor are directories inside one, but in folders of a container are
	 * some. */
	if (rc == -ENOMEM)
		rc = err_nomem(w->e);
	else if (!rc && kid.node.local && node_folder(kid.node))
		rc = walk_folder(w, &kid);
	else
		rc = rc || kid.node.local ? 0 : walk_unit(w, &kid);    /* no deeper than LIMIT_NESTING */
	cmd_place_free(&kid);
	return rc;
}

static int walk_folder(struct walk *w, struct cmd_place *dir)
{
	struct buf names = { 0 };
	int rc = 0;

	if (cmd_names(dir, &names, NULL) == -ENOMEM)
		rc = err_nomem(w->e);          /* another failure is fn's to find out */
	for (size_t at = 0; at < names.len && !rc; at += strlen((char *)names.p + at) + 1)
		if (names.p[at] == '/')
			rc = walk_below(w, dir, (char *)names.p + at + 1);
	buf_free(&names);
	return rc;
}

static int walk_unit(struct walk *w, struct cmd_place *unit)
{
	int rc = w->fn(w->ctx, unit);

	return rc ? rc : walk_folder(w, unit);
}

int cmd_each_unit(struct tree *t, int (*fn)(void *ctx, struct cmd_place *unit), void *ctx, struct err *e)
{
	struct walk w = { t, fn, ctx, e };
	struct cmd_place root;
	int rc = cmd_place_open(t, "", &root);

	if (rc)
		return err_nomem(e);
	rc = walk_unit(&w, &root);
	cmd_place_free(&root);
	return rc;
}
