/* info, ls, cat: looking into a source without mounting it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cmd.h"
#include "export.h"
#include "unit.h"

/* ---- cat ---- */

#define CAT_HELD ((uint64_t)64 << 20)          /* bytes of a file that is written out only when all of it is read */
#define CAT_TRIES 20u

struct cat {
	const struct command *self;
	struct cmd_place file;
	uint8_t *room;                         /* CMD_PIECE bytes */
	struct buf held;
};

/* The first piece belongs to the same moment as the size. */
static int cat_open(struct cat *c, struct cmd_reading *r, struct err *e)
{
	int rc;

	tree_enter(c->file.t);
	rc = cmd_read_open(&c->file, NULL, r, e);
	if (!rc)
		rc = cmd_read(r, c->room, e);
	tree_leave(c->file.t);
	return rc;
}

/* Once: EAGAIN when another process saved meanwhile. *failed: standard output is gone, which has been said. */
static int cat_pieces(struct cat *c, bool *failed, struct err *e)
{
	struct cmd_reading r;
	int got = cat_open(c, &r, e);

	c->held.len = 0;
	while (got > 0 && !*failed) {
		if (r.size <= CAT_HELD)
			buf_add(&c->held, c->room, (size_t)got);
		else
			*failed = cmd_write(c->self, c->room, (size_t)got);
		got = cmd_read_on(&r, c->room, e);
	}
	/* What is written out cannot be taken back. */
	if (got == -EAGAIN && r.size > CAT_HELD)
		got = err_set(e, ESTALE, "it was changed while it was read");
	cmd_read_close(&r);
	return got < 0 ? got : c->held.bad ? err_nomem(e) : 0;
}

static int cat_file(struct cat *c, const char *path)
{
	struct err why = { 0 };
	bool failed = false;
	int rc = -EAGAIN;

	for (unsigned i = 0; i < CAT_TRIES && rc == -EAGAIN; i++)
		rc = cat_pieces(c, &failed, &why);
	if (failed)
		return 1;
	return rc ? cmd_fail(c->self, path, &why) : cmd_write(c->self, c->held.p, c->held.len);
}

static int run_cat(const struct command *self, int argc, char **argv)
{
	struct cat c = { .self = self };
	struct tree_options opt = { 0 };
	unsigned given;
	struct tree *t;
	int rc = cmd_tree_options(self, argc, &argv, "c", &given, 2, 2, &opt);

	if (rc < 0)
		return -1 - rc;
	opt.carve = given;
	t = cmd_open(self, argv[0], opt);
	if (!t)
		return 1;
	c.room = malloc(CMD_PIECE);
	rc = c.room ? cmd_place_open(t, argv[1], &c.file) : -ENOMEM;
	rc = rc ? cmd_fail_errno(self, argv[1], -rc) : cat_file(&c, argv[1]);
	cmd_place_free(&c.file);
	buf_free(&c.held);
	free(c.room);
	tree_close(t);
	return rc;
}

const struct command cmd_cat = {
	"cat", "[-c] [-o OPTIONS] SOURCE PATH",
	"Writes one file of the tree to standard output.\n" CMD_CARVE_HELP "\n" CMD_TIMING_HELP, run_cat
};

/* ---- ls ---- */

enum { LS_LONG = 1, LS_RECURSIVE = 2, LS_CARVE = 4 };
#define LS_PIECE ((size_t)1 << 20)             /* of a listing, held before it goes out */

struct ls {
	const struct command *self;
	struct tree *t;
	unsigned how;
	struct buf out;
	bool bad;                              /* a directory could not be read */
};

static int ls_flush(struct ls *l)
{
	int rc = l->out.bad ? cmd_fail_errno(l->self, tree_path(l->t), ENOMEM) :
			      cmd_write(l->self, l->out.p, l->out.len);

	l->out.len = 0;
	return rc;
}

static void ls_fail(struct ls *l, const char *path, const char *why)
{
	fprintf(stderr, "modelfs: %s: %s: %s\n", l->self->name, *path ? path : tree_path(l->t), why);
	l->bad = true;
}

static char type_letter(mode_t type)
{
	switch (type) {
	case S_IFLNK: return 'l';
	case S_IFIFO: return 'p';
	case S_IFSOCK: return 's';
	case S_IFBLK: return 'b';
	case S_IFCHR: return 'c';
	default: return '-';
	}
}

static void ls_long(struct ls *l, const struct node_attr *a)
{
	static const char letters[] = "rwxrwxrwx";
	char when[32] = "";
	struct tm tm;

	if (localtime_r(&a->mtime.tv_sec, &tm))
		strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
	buf_char(&l->out, a->dir ? 'd' : type_letter(a->type));
	for (unsigned i = 0; i < 9; i++)
		buf_char(&l->out, a->mode & 0400 >> i ? letters[i] : '-');
	buf_printf(&l->out, " %10" PRIu64 " %s ", a->size, when);
}

/* A line of a listing, within tree_enter(); none for what another process took away since. */
static void ls_line(struct ls *l, struct cmd_place *dir, const char *name, const char *shown)
{
	struct node_attr a;
	struct node n;

	if (cmd_place_lookup(dir, name, &n))
		return;
	node_attr(l->t, n, l->how & LS_LONG, &a);
	if (l->how & LS_LONG)
		ls_long(l, &a);
	buf_printf(&l->out, "%s%s\n", shown, a.dir ? "/" : "");
	node_put(l->t, n);
}

/* As many of the names from *at on as one turn allows. */
static int ls_turn(struct ls *l, struct cmd_place *dir, const char **at, const char *end)
{
	double until = cmd_now() + CMD_TURN;

	tree_enter(l->t);
	do {
		ls_line(l, dir, *at + 1, *at + 1);
		*at += strlen(*at) + 1;
	} while (*at < end && l->out.len <= LS_PIECE && cmd_now() < until);
	tree_leave(l->t);
	return l->out.len > LS_PIECE ? ls_flush(l) : 0;
}

static int ls_dir(struct ls *l, struct cmd_place *dir);

static int ls_below(struct ls *l, struct cmd_place *dir, const char *name)
{
	struct cmd_place below;
	int rc = cmd_place_below(dir, name, &below);

	if (rc)
		return cmd_fail_errno(l->self, dir->path, -rc);
	buf_char(&l->out, '\n');
	rc = ls_dir(l, &below);                /* no deeper than the tree */
	cmd_place_free(&below);
	return rc;
}

/* The text goes out as it grows, and before the next directory is read: memory does not grow with the tree. */
static int ls_dir(struct ls *l, struct cmd_place *dir)
{
	struct buf names = { 0 };
	static const char last[] = " " ERRORS_NAME;
	struct err why = { 0 };
	const char *at, *end;
	int rc = 0;

	if (l->how & LS_RECURSIVE)
		buf_printf(&l->out, "%s:\n", *dir->path ? dir->path : ".");
	if (cmd_names(dir, &names, &why))
		ls_fail(l, dir->path, why.text);
	at = (const char *)names.p;
	end = names.len ? at + names.len : at;
	while (at < end && !rc)
		rc = ls_turn(l, dir, &at, end);
	at = last;
	if (!rc && cmd_damaged(dir))
		rc = ls_turn(l, dir, &at, last + sizeof last);
	rc = rc ? rc : ls_flush(l);
	for (at = (const char *)names.p; at < end && !rc && l->how & LS_RECURSIVE; at += strlen(at) + 1)
		rc = *at == '/' ? ls_below(l, dir, at + 1) : 0;
	buf_free(&names);
	return rc;
}

static int ls_place(struct ls *l, const char *path)
{
	struct cmd_place place;
	int rc = cmd_place_open(l->t, path, &place);
	bool dir = false;

	if (rc)
		return cmd_fail_errno(l->self, path, -rc);
	tree_enter(l->t);
	rc = cmd_place_find(&place);
	if (!rc)
		dir = node_is_dir(place.node);
	if (!rc && !dir)
		ls_line(l, &place, NULL, path);
	tree_leave(l->t);
	if (rc)
		rc = cmd_fail_errno(l->self, path, -rc);
	else
		rc = dir ? ls_dir(l, &place) : ls_flush(l);
	cmd_place_free(&place);
	buf_free(&l->out);
	return rc || l->bad;
}

static int run_ls(const struct command *self, int argc, char **argv)
{
	struct ls l = { .self = self };
	struct tree_options opt = { 0 };
	int rc = cmd_tree_options(self, argc, &argv, "lRc", &l.how, 1, 2, &opt);

	if (rc < 0)
		return -1 - rc;
	opt.carve = l.how & LS_CARVE;
	l.t = cmd_open(self, argv[0], opt);
	if (!l.t)
		return 1;
	rc = ls_place(&l, rc == 2 ? argv[1] : "");
	tree_close(l.t);
	return rc;
}

const struct command cmd_ls = {
	"ls", "[-lRc] [-o OPTIONS] SOURCE [PATH]",
	"Lists the tree without mounting it.\n  -l   with sizes and times\n  -R   and what lies below\n"
	CMD_CARVE_HELP "\n" CMD_TIMING_HELP, run_ls
};

/* ---- info ---- */

struct kind { const char *ext; uint64_t n, bytes; bool dir; };

/* What follows a ~ of a stored name tells it from others like it. */
static bool same_ext(const char *a, const char *b)
{
	size_t n = strcspn(a, "~");

	return n == strcspn(b, "~") && !strncmp(a, b, n);
}

/* What a container holds, by extension, in order of first appearance. */
static void count_kinds(const struct unit *u, struct doc *d)
{
	struct kind v[32] = { 0 };
	unsigned n = 0, k;

	for (uint32_t i = 0; i < u->nkids; i++) {
		if (u->kids[i].entry.folder)
			continue;
		for (k = 0; k < n && !same_ext(v[k].ext, u->kids[i].ext); k++)
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
		doc_text(d, "kind", 0, "%.*s", (int)strcspn(v[k].ext, "~"), v[k].ext);
		doc_text(d, "count", 0, "%" PRIu64, v[k].n);
		doc_text(d, "bytes", 0, "%" PRIu64, v[k].bytes);
	}
	doc_end(d);
}

#define TOLD_MOST 200u                         /* lines */

/* Entries with names that are plain files although they begin as others do. */
static void say_plain(struct tree *t, struct unit *u, struct doc *d)
{
	struct buf lines = { 0 };
	uint64_t n = 0;

	for (uint32_t i = 0; u->stored && i < u->nkids; i++) {
		struct err why = { 0 };

		kid_tells(t, u, i, &why);
		if (!why.code || n++ >= TOLD_MOST)
			continue;
		unit_kid_path(u, i, &lines);
		buf_printf(&lines, ": %s\n", why.text);
	}
	if (n > TOLD_MOST)
		buf_printf(&lines, "%" PRIu64 " more\n", n - TOLD_MOST);
	buf_char(&lines, 0);
	if (!lines.bad)
		cmd_comments(d, "plain", &lines);
	buf_free(&lines);
}

static const struct { unsigned part; const char *key; } parts[] = {
	{ PART_MESH, "meshes" }, { PART_IMAGE, "images" }, { PART_CLIP, "clips" }, { PART_BONE, "bones" },
};

static int describe_container(struct unit *u, struct object *o, bool more, struct doc *d, struct err *e)
{
	const struct container_ops *c = u->format->container;
	struct entries entries = { 0 };
	int rc = c->list(o, &entries, e);

	if (!rc && c->info)
		rc = c->info(o, &entries, d, e);
	if (!rc && c->more && more)
		rc = c->more(o, &entries, d, e);
	if (!rc && !c->info_is_all)
		count_kinds(u, d);
	return rc;
}

static int describe_object(struct unit *u, struct object *o, bool more, struct doc *d, struct err *e)
{
	int rc = u->format->container ? describe_container(u, o, more, d, e) : 0;

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		if (object_count(o, parts[i].part))
			doc_text(d, parts[i].key, 0, "%u", object_count(o, parts[i].part));
	return rc;
}

static void describe_format(const struct unit *u, const struct object *o, struct doc *d)
{
	doc_text(d, "format", 0, "%s", u->format->name);
	doc_text(d, "title", 0, "%s", u->format->title);
	if (o->variant)
		doc_text(d, "version", 0, "\"%s\"", o->variant->version);
	doc_text(d, "bytes", 0, "%" PRIu64, unit_bytes(u));
}

/* Within tree_enter(). */
static int describe_root(struct tree *t, bool more, struct buf *out, struct err *e)
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
	if (!u->format->container || !u->format->container->info_is_all)
		describe_format(u, o, &y.doc);
	rc = describe_object(u, o, more, &y.doc, e);
	say_plain(t, u, &y.doc);
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

enum { INFO_CARVE = 1, INFO_MORE = 2 };

static int run_info(const struct command *self, int argc, char **argv)
{
	struct buf out = { 0 };
	struct err why = { 0 };
	unsigned given;
	struct tree *t;
	int rc = cmd_options(self, argc, &argv, "cv", &given, 1, 1);

	if (rc < 0)
		return -1 - rc;
	t = cmd_open(self, argv[0], (struct tree_options){ .carve = given & INFO_CARVE, .thorough = true });
	if (!t)
		return 1;
	if (tree_is_folder(t)) {
		rc = cmd_describe_folder(t, &out, &why);
	} else {
		tree_enter(t);
		rc = describe_root(t, given & INFO_MORE, &out, &why);
		tree_leave(t);
	}
	if (rc < 0 || out.bad)
		rc = rc < 0 ? cmd_fail(self, argv[0], &why) : cmd_fail_errno(self, argv[0], ENOMEM);
	else if (cmd_write(self, out.p, out.len))
		rc = 1;
	buf_free(&out);
	tree_close(t);
	return rc;
}

const struct command cmd_info = {
	"info", "[-cv] SOURCE",
	"Says what SOURCE is: format, game or version, counts, sizes, damage.\n"
	"  -v   and what else a container tells\n" CMD_CARVE_HELP, run_info
};
