/* What `modelfs info` says of a folder: what lies in it, and which files only look like models. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "export.h"
#include "folder.h"

#define KINDS_MOST 64u

struct tally { const struct format *format; uint64_t n, bytes; };

struct count {
	struct tree *t;
	struct tally models[KINDS_MOST];
	unsigned nmodels;
	struct tally files;
	uint64_t folders, others;
	struct buf refused, plain;             /* lines "PATH: WHY": of damage, and of what is of another kind */
};

static void add(struct tally *t, uint64_t bytes)
{
	t->n++;
	t->bytes += bytes;
}

static void add_model(struct count *c, const struct format *f, uint64_t bytes)
{
	unsigned i = 0;

	while (i < c->nmodels && c->models[i].format != f)
		i++;
	if (i == KINDS_MOST)
		return;
	c->nmodels += i == c->nmodels;
	c->models[i].format = f;
	add(&c->models[i], bytes);
}

/* ---- going through ---- */

static void add_line(struct buf *lines, const struct cmd_place *dir, const char *name, const struct err *why)
{
	if (why->code)
		buf_printf(lines, "%s%s%s: %s\n", dir->path, *dir->path ? "/" : "", name, why->text);
}

/* Asked once more, as the answer may be remembered without its reason. */
static void note_refused(struct count *c, struct cmd_place *dir, const char *name, const struct stat *st)
{
	struct folder *f = c->t->folder;
	int fd = dir->node.host ? host_dir(&f->hosts, dir->node.host) : -1;
	struct err why = { 0 }, other = { 0 };

	if (fd < 0)
		return;
	kinds_look(&f->kinds, &(struct in_dir){ &f->hosts, dir->node.host, fd, NULL }, name, st, &why, &other);
	host_dir_done(&f->hosts, fd);
	add_line(&c->refused, dir, name, &why);
	add_line(&c->plain, dir, name, &other);
}

static void count_entry(struct count *c, struct cmd_place *dir, const char *name)
{
	struct stat st;
	struct node n;

	tree_enter(c->t);
	if (!cmd_place_lookup(dir, name, &n)) {
		if (n.unit) {
			add_model(c, n.unit->format, unit_bytes(n.unit));
		} else if (!host_stat(&c->t->folder->hosts, n.host, &st)) {
			add(&c->files, (uint64_t)st.st_size);
			note_refused(c, dir, name, &st);
		}
		node_put(c->t, n);
	}
	tree_leave(c->t);
}

static int count_dir(struct count *c, struct cmd_place *dir, struct err *e);

static int count_below(struct count *c, struct cmd_place *dir, const char *name, struct err *e)
{
	struct cmd_place below;
	int rc = cmd_place_below(dir, name, &below), found;

	if (rc)
		return err_nomem(e);
	tree_enter(c->t);
	found = cmd_place_find(&below);
	tree_leave(c->t);
	if (!found && below.node.host) {
		c->folders++;
		rc = count_dir(c, &below, e);  /* no deeper than a path is long */
	} else if (!found) {
		count_entry(c, dir, name);
	}
	cmd_place_free(&below);
	return rc;
}

static int count_dir(struct count *c, struct cmd_place *dir, struct err *e)
{
	struct buf names = { 0 };
	struct err why = { 0 };
	int rc = 0;

	if (cmd_names(dir, &names, &why))
		buf_printf(&c->refused, "%s: %s\n", *dir->path ? dir->path : ".", why.text);
	for (size_t at = 0; at < names.len && !rc; at += strlen((char *)names.p + at) + 1) {
		const char *name = (char *)names.p + at + 1;

		if (names.p[at] == '/')
			rc = count_below(c, dir, name, e);
		else if (names.p[at] == ' ')
			count_entry(c, dir, name);
		else
			c->others++;
	}
	buf_free(&names);
	return rc;
}

/* ---- telling ---- */

static void say(struct count *c, struct buf *out)
{
	struct ydoc y;

	ydoc_init(&y, out);
	doc_text(&y.doc, "format", 0, "folder");
	doc_text(&y.doc, "title", 0, "Folder");
	doc_text(&y.doc, "folders", 0, "%" PRIu64, c->folders);
	doc_text(&y.doc, "files", 0, "%" PRIu64, c->files.n);
	doc_text(&y.doc, "bytes", 0, "%" PRIu64, c->files.bytes);
	if (c->others)
		doc_text(&y.doc, "links_and_others", 0, "%" PRIu64, c->others);
	doc_list(&y.doc, "models", c->nmodels);
	for (unsigned i = 0; i < c->nmodels; i++) {
		doc_item(&y.doc);
		doc_text(&y.doc, "kind", 0, "%s", c->models[i].format->name);
		doc_text(&y.doc, "count", 0, "%" PRIu64, c->models[i].n);
		doc_text(&y.doc, "bytes", 0, "%" PRIu64, c->models[i].bytes);
	}
	doc_end(&y.doc);
	cmd_comments(&y.doc, "refused", &c->refused);
	cmd_comments(&y.doc, "plain", &c->plain);
}

int cmd_describe_folder(struct tree *t, struct buf *out, struct err *e)
{
	struct count c = { .t = t };
	struct cmd_place root;
	bool bad;
	int rc = cmd_place_open(t, "", &root);

	if (rc)
		return err_set(e, -rc, "%s", strerror(-rc));
	rc = count_dir(&c, &root, e);
	bad = c.refused.len;
	buf_char(&c.refused, 0);
	buf_char(&c.plain, 0);
	if (!rc && (c.refused.bad || c.plain.bad))
		rc = err_nomem(e);
	if (!rc)
		say(&c, out);
	buf_free(&c.refused);
	buf_free(&c.plain);
	cmd_place_free(&root);
	return rc ? rc : bad;
}
