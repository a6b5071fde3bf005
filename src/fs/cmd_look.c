/* info, ls, cat: looking into a source without mounting it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "export.h"
#include "unit.h"

/* ---- cat ---- */

#define CAT_PIECE ((size_t)1 << 20)

static int cat_handle(const struct command *self, struct handle *h, const char *path)
{
	uint8_t *room = malloc(CAT_PIECE);
	uint64_t at = 0;
	int rc = 0;

	if (!room)
		return cmd_fail_errno(self, path, ENOMEM);
	while (at < handle_size(h) && !rc) {
		int got = handle_read(h, room, CAT_PIECE, at);

		if (got < 0)
			rc = cmd_fail_errno(self, path, got == -EBADMSG ? EIO : -got);
		else
			rc = cmd_write(self, room, (size_t)got);
		at += (uint64_t)got;
	}
	free(room);
	return rc;
}

static int run_cat(const struct command *self, int argc, char **argv)
{
	unsigned given;
	struct err why = { 0 };
	struct handle *h;
	struct tree *t;
	struct node n;
	int rc = cmd_options(self, argc, &argv, "", &given, 2, 2);

	if (rc < 0)
		return -1 - rc;
	t = cmd_open(self, argv[0]);
	if (!t)
		return 1;
	rc = node_resolve(t, argv[1], &n);
	if (rc)
		rc = cmd_fail_errno(self, argv[1], -rc);
	else if (node_open(t, n, &h, &why))
		rc = cmd_fail(self, argv[1], &why);
	else {
		rc = cat_handle(self, h, argv[1]);
		handle_put(h);
	}
	tree_close(t);
	return rc;
}

const struct command cmd_cat = {
	"cat", "SOURCE PATH", "Writes one file of the tree to standard output.", run_cat
};

/* ---- ls ---- */

enum { LS_LONG = 1, LS_RECURSIVE = 2 };
#define LS_PIECE ((size_t)1 << 20)             /* of a listing, held before it goes out */

struct ls {
	const struct command *self;
	struct tree *t;
	unsigned how;
	struct buf out;
	struct node *dirs;                     /* to be listed below */
	size_t ndirs;
	int failed;                            /* standard output is gone */
	bool bad;                              /* a directory could not be read */
};

static void ls_line(struct ls *l, struct node n, const char *name)
{
	struct node_attr a;
	struct tm tm;
	char when[32] = "";

	node_attr(l->t, n, l->how & LS_LONG, &a);
	if (l->how & LS_LONG) {
		if (localtime_r(&a.mtime.tv_sec, &tm))
			strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
		buf_printf(&l->out, "%s %10" PRIu64 " %s ", a.dir ? "drwxr-xr-x" : "-r--r--r--", a.size, when);
	}
	buf_printf(&l->out, "%s%s\n", name, a.dir ? "/" : "");
}

static int ls_entry(void *ctx, const struct node_entry *entry)
{
	struct ls *l = ctx;
	struct node *v;

	ls_line(l, entry->node, entry->name);
	if (l->out.len > LS_PIECE) {
		l->failed = cmd_write(l->self, l->out.p, l->out.len);
		l->out.len = 0;
	}
	if (l->failed || !(l->how & LS_RECURSIVE) || !entry->dir)
		return l->failed;
	if (!(l->ndirs & (l->ndirs + 1))) {            /* 0, 1, 3, 7 ...: full */
		v = realloc(l->dirs, (l->ndirs * 2 + 2) * sizeof *v);
		if (!v)
			return -ENOMEM;
		l->dirs = v;
	}
	l->dirs[l->ndirs++] = entry->node;
	return 0;
}

static bool ls_fail(struct ls *l, struct node dir, int code)
{
	struct buf path = { 0 };

	node_path(l->t, dir, &path);
	buf_char(&path, 0);
	cmd_fail_errno(l->self, path.len > 1 ? (char *)path.p : tree_path(l->t), code);
	buf_free(&path);
	return true;
}

/* The text goes out as it grows, and before the next directory is read: memory does not grow with the tree. */
static int ls_dir(struct ls *l, struct node dir)
{
	struct ls below = { .self = l->self, .t = l->t, .how = l->how };
	int rc;

	if (l->how & LS_RECURSIVE) {
		node_path(l->t, dir, &below.out);
		buf_str(&below.out, below.out.len ? ":\n" : ".:\n");
	}
	rc = node_list(l->t, dir, 0, true, ls_entry, &below);
	if (rc == -ENOMEM || below.out.bad) {
		rc = cmd_fail_errno(l->self, tree_path(l->t), ENOMEM);
	} else {
		if (rc < 0)
			l->bad |= ls_fail(l, dir, -rc);
		rc = below.failed ? 1 : cmd_write(l->self, below.out.p, below.out.len);
	}
	buf_free(&below.out);
	for (size_t i = 0; i < below.ndirs && !rc; i++) {
		rc = cmd_write(l->self, "\n", 1);
		rc = rc ? rc : ls_dir(l, below.dirs[i]);       /* no deeper than the tree */
	}
	free(below.dirs);
	return rc;
}

static int ls_file(struct ls *l, struct node n, const char *path)
{
	int rc;

	ls_line(l, n, path);
	rc = l->out.bad ? cmd_fail_errno(l->self, path, ENOMEM) : cmd_write(l->self, l->out.p, l->out.len);
	buf_free(&l->out);
	return rc;
}

static int run_ls(const struct command *self, int argc, char **argv)
{
	struct ls l = { .self = self };
	struct node_attr a;
	struct node n;
	int rc = cmd_options(self, argc, &argv, "lR", &l.how, 1, 2);

	if (rc < 0)
		return -1 - rc;
	l.t = cmd_open(self, argv[0]);
	if (!l.t)
		return 1;
	rc = node_resolve(l.t, argv[1] ? argv[1] : "", &n);
	if (rc) {
		rc = cmd_fail_errno(self, argv[1], -rc);
	} else {
		node_attr(l.t, n, false, &a);
		rc = a.dir ? ls_dir(&l, n) : ls_file(&l, n, argv[1]);
		rc = rc || l.bad;
	}
	tree_close(l.t);
	return rc;
}

const struct command cmd_ls = {
	"ls", "[-lR] SOURCE [PATH]",
	"Lists the tree without mounting it.\n  -l  with sizes and times\n  -R  and what lies below", run_ls
};

/* ---- info ---- */

struct kind { const char *ext; uint64_t n, bytes; bool dir; };

/* What a container holds, by extension, in order of first appearance. */
static void count_kinds(const struct unit *u, struct doc *d)
{
	struct kind v[32] = { 0 };
	unsigned n = 0, k;

	for (uint32_t i = 0; i < u->nkids; i++) {
		for (k = 0; k < n && strcmp(v[k].ext, u->kids[i].ext); k++)
			;
		if (k == ARRAY_LEN(v))
			continue;
		if (k == n)
			v[n++] = (struct kind){ .ext = u->kids[i].ext };
		v[k].n++;
		v[k].bytes += u->kids[i].entry.size;
	}
	doc_list(d, "entries", n);
	for (k = 0; k < n; k++) {
		doc_item(d);
		doc_text(d, "kind", 0, "%s", v[k].ext);
		doc_text(d, "count", 0, "%" PRIu64, v[k].n);
		doc_text(d, "bytes", 0, "%" PRIu64, v[k].bytes);
	}
	doc_end(d);
}

static const struct { unsigned part; const char *key; } parts[] = {
	{ PART_MESH, "meshes" }, { PART_IMAGE, "images" }, { PART_CLIP, "clips" }, { PART_BONE, "bones" },
};

static int describe_object(struct unit *u, struct object *o, struct doc *d, struct err *e)
{
	struct entries entries = { 0 };
	int rc = 0;

	if (u->format->container) {
		rc = u->format->container->list(o, &entries, e);
		if (!rc && u->format->container->info)
			rc = u->format->container->info(o, &entries, d, e);
		if (!rc)
			count_kinds(u, d);
	}
	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		if (object_count(o, parts[i].part))
			doc_text(d, parts[i].key, 0, "%u", object_count(o, parts[i].part));
	return rc;
}

static int describe_root(struct tree *t, struct buf *out, struct err *e)
{
	struct unit *u = tree_root(t).unit;
	struct buf errors = { 0 };
	struct object *o = NULL;
	struct ydoc y;
	int rc = unit_fill(t, u, e);

	if (!rc)
		rc = object_open(u->format, u->src, &u->around, &o, e);
	if (rc)
		return rc;
	ydoc_init(&y, out);
	doc_text(&y.doc, "format", 0, "%s", u->format->name);
	doc_text(&y.doc, "title", 0, "%s", u->format->title);
	if (o->variant)
		doc_text(&y.doc, "version", 0, "\"%s\"", o->variant->version);
	doc_text(&y.doc, "bytes", 0, "%" PRIu64, u->src->size);
	rc = describe_object(u, o, &y.doc, e);
	unit_check(t, u);
	node_errors(t, tree_root(t), &errors);
	buf_char(&errors, 0);
	for (char *line = errors.bad ? NULL : strtok((char *)errors.p, "\n"); line && !rc; line = strtok(NULL, "\n"))
		doc_comment(&y.doc, "damaged: %s", line);
	rc = rc ? rc : errors.len > 1;
	buf_free(&errors);
	object_close(o);
	return rc;
}

static int run_info(const struct command *self, int argc, char **argv)
{
	struct buf out = { 0 };
	struct err why = { 0 };
	unsigned given;
	struct tree *t;
	int rc = cmd_options(self, argc, &argv, "", &given, 1, 1);

	if (rc < 0)
		return -1 - rc;
	t = cmd_open(self, argv[0]);
	if (!t)
		return 1;
	rc = describe_root(t, &out, &why);
	if (rc < 0 || out.bad)
		rc = rc < 0 ? cmd_fail(self, argv[0], &why) : cmd_fail_errno(self, argv[0], ENOMEM);
	else if (cmd_write(self, out.p, out.len))
		rc = 1;
	buf_free(&out);
	tree_close(t);
	return rc;
}

const struct command cmd_info = {
	"info", "SOURCE", "Says what SOURCE is: format, game or version, counts, sizes, damage.", run_info
};
