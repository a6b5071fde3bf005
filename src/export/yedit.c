/* Value by value editing: a document that matches the calls describing a view with what somebody wrote, and writes
 * the bytes of the values that differ. What no single value says is left to the format, as changes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "export.h"

#define KNOWN_MOST 64u                         /* keys of one mapping that messages can propose */
#define UNKNOWN_MOST 4096u                     /* keys nobody claims; one more is refused at once */

/* The mapping at hand of the document, or of a list around it. */
struct level {
	struct ynode *map, *cursor;            /* NULL: nothing was written; the key behind the last one found */
	struct ynode *next;                    /* list: the item to come */
	uint32_t item;                         /* and the number of the one at hand */
	struct label known[KNOWN_MOST + 1];    /* keys the document says here */
	unsigned nknown;
};

struct yedit {
	struct doc doc;
	struct arena *a;
	struct ynode *root;
	struct yedit_rest *rest;
	struct level level[DOC_DEPTH + 1];
	unsigned depth, skip;                  /* lists around; lists inside one that is passed over */
	unsigned unknown;
	bool listed;                           /* the document is a list */
	struct buf stored, found, bytes;       /* of the value at hand: texts, and its new bytes */
	int rc;                                /* of the first error; nothing is done after it */
	struct err why;
};

/* ---- errors and changes ---- */

static void keep_nomem(struct yedit *y)
{
	if (!y->rc)
		y->rc = err_nomem(&y->why);
}

static void PRINTF(4, 5) wrong(struct yedit *y, int code, const struct ynode *at, const char *fmt, ...)
{
	char text[sizeof y->why.text];
	va_list ap;

	if (y->rc)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	y->rc = err_line(&y->why, code, at->line, at->column, "%s", text);
}

/* A document that is a list has no key. */
static const char *key_name(const char *key)
{
	return key ? key : "";
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static bool make_room(struct yedit_rest *rest, struct arena *a)
{
	unsigned room = rest->room ? rest->room * 2 : 8;
	struct doc_change *v;
	struct yedit_reason *why;

	if (rest->n < rest->room)
		return true;
	v = arena_alloc(a, room, sizeof *v);
	why = arena_alloc(a, room, sizeof *why);
	if (!v || !why)
		return false;
	if (rest->n) {
		memcpy(v, rest->v, rest->n * sizeof *v);
		memcpy(why, rest->why, rest->n * sizeof *why);
	}
	rest->v = v;
	rest->why = why;
	rest->room = room;
	return true;
}

/* Leaves a change to the format; the sentence refuses it at `at` when the format does not take it. */
static void PRINTF(6, 7) leave(struct yedit *y, unsigned kind, const char *key, const struct ynode *value,
			       const struct ynode *at, const char *fmt, ...)
{
	struct yedit_rest *rest = y->rest;
	char text[sizeof y->why.text];
	struct doc_change *c;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (!make_room(rest, y->a)) {
		keep_nomem(y);
		return;
	}
	c = &rest->v[rest->n];
	*c = (struct doc_change){ .kind = (uint8_t)kind, .depth = (uint8_t)y->depth, .key = key, .value = value };
	for (unsigned i = 0; i < y->depth; i++)
		c->item[i] = y->level[i + 1].item;
	rest->why[rest->n] = (struct yedit_reason){ at->line, at->column, arena_printf(y->a, "%s", text) };
	if (rest->why[rest->n].text)
		rest->n++;
	else
		keep_nomem(y);
}

int yedit_refuse(const struct yedit_rest *rest, struct err *e)
{
	for (unsigned i = 0; i < rest->n; i++)
		if (!rest->v[i].taken)
			return err_line(e, EINVAL, rest->why[i].line, rest->why[i].column, "%s", rest->why[i].text);
	return 0;
}

/* ---- keys ---- */

static void enter_map(struct level *l, struct ynode *map)
{
	l->map = l->cursor = NULL;
	l->nknown = 0;
	if (map->kind != Y_MAP)
		return;
	l->map = map;
	l->cursor = map->first;
	for (struct ynode *k = map->first; k; k = k->next)
		k->used = false;
}

struct unknown { char text[200]; };

static struct unknown unknown_key(struct level *l, const struct ynode *key)
{
	struct unknown u;
	const char *near;

	l->known[l->nknown] = (struct label){ 0, NULL };
	near = label_nearest(l->known, key->text, key->n);
	snprintf(u.text, sizeof u.text, "no key %s here; %s %s", ynode_quote(key).text,
		 near ? "nearest is" : "there are", near ? near : l->nknown ? label_list(l->known).text : "none");
	return u;
}

static void leave_key(struct yedit *y, struct level *l, const struct ynode *key)
{
	leave(y, CHANGE_KEY, key->text, key->value, key, "%s", unknown_key(l, key).text);
	if (++y->unknown > UNKNOWN_MOST && !y->rc)
		y->rc = yedit_refuse(y->rest, &y->why);
}

/* What nobody has claimed is left over. */
static void close_map(struct yedit *y, struct level *l)
{
	for (const struct ynode *k = l->map ? l->map->first : NULL; k && !y->rc; k = k->next)
		if (!k->used)
			leave_key(y, l, k);
	l->map = NULL;
}

static bool is_key(const struct ynode *k, const char *name, size_t n)
{
	return k && k->n == n && !memcmp(k->text, name, n);
}

/* The value written for a key, NULL when there is none. Most texts keep the order of the view. */
static struct ynode *find_value(struct level *l, const char *key)
{
	struct ynode *k = is_key(l->cursor, key, strlen(key)) ? l->cursor : ynode_key(l->map, key);

	if (!k)
		return NULL;
	k->used = true;
	l->cursor = k->next;
	return k->value;
}

static struct ynode *claim(struct yedit *y, const char *key)
{
	struct level *l = &y->level[y->depth];

	if (y->rc || y->skip)
		return NULL;
	if (!y->depth && y->root->kind != Y_MAP) {
		wrong(y, EINVAL, y->root, "%s found, expected keys and their values", ynode_quote(y->root).text);
		return NULL;
	}
	if (l->nknown < KNOWN_MOST)
		l->known[l->nknown++] = (struct label){ 0, key };
	return find_value(l, key);
}

/* ---- values ---- */

struct value {
	const struct field *f;
	bool be;
	const uint8_t *raw;                    /* of the record */
	struct source *src;
	uint64_t at;                           /* of the record */
	const char *rows;                      /* key of the rows it is in; NULL: a key of its own */
	bool alone;                            /* in rows: the record has no other field */
	unsigned style;                        /* DOC_DERIVED: it must not change; DOC_SHOWN: it is not written */
	bool differs;                          /* DOC_SHOWN: and another value was found */
};

struct name { char text[80]; };

/* "texture", or in rows "palette" and "keys.frame". */
static struct name name_of(const struct value *v)
{
	struct name name;

	if (v->rows && !v->alone)
		snprintf(name.text, sizeof name.text, "%s.%s", v->rows, v->f->name);
	else
		snprintf(name.text, sizeof name.text, "%s", v->rows ? v->rows : v->f->name);
	return name;
}

/* A text needs no quotes when YAML takes it for one anyway. */
static void flow_of(const struct field *f, const struct ynode *node, struct buf *out)
{
	struct ynode quoted = *node;

	quoted.quoted |= f->type == F_TEXT && node->kind == Y_SCALAR && !ynode_is_null(node);
	out->len = 0;
	ynode_flow(&quoted, out);
}

/* One element of a list field, as it is shown; false when the field is no list. */
static bool element_of(const struct field *f, struct field *one)
{
	*one = *f;
	one->at = 0;
	one->count = 1;
	if (f->view == V_COLOUR || f->type == F_TEXT) {
		one->type = F_U8;
		one->view = V_NUMBER;
		return true;
	}
	return f->count > 1 && !field_is_bytes(f);
}

/* The item of a list that a field refused, with the reason; the list itself when it is not due to one. */
static const struct ynode *culprit(struct yedit *y, const struct field *f, const struct ynode *node, struct err *why)
{
	uint8_t room[8] = { 0 };
	struct field one;
	bool list = element_of(f, &one), flags = !list && f->view == V_FLAGS;

	for (const struct ynode *k = node->kind == Y_LIST && (list || flags) ? node->first : NULL; k; k = k->next) {
		struct err here;

		y->found.len = 0;
		buf_str(&y->found, flags ? "[" : "");
		ynode_flow(k, &y->found);
		buf_str(&y->found, flags ? "]" : "");
		if (y->found.bad || !field_parse(&one, false, room, (char *)y->found.p, y->found.len, &here))
			continue;
		*why = here;
		return k;
	}
	return node;
}

/* Some letters of a text, for messages. */
static struct name shown(const struct buf *b)
{
	struct name name;
	size_t n = b->len < 60 ? b->len : 60;

	for (size_t i = 0; i < n; i++)
		name.text[i] = b->p[i] >= 0x20 && b->p[i] < 0x7f ? (char)b->p[i] : '?';
	strcpy(name.text + n, n < b->len ? "..." : "");
	return name;
}

static void refuse_derived(struct yedit *y, const char *key, const struct ynode *node)
{
	if (y->rest->again)
		return;
	wrong(y, EPERM, node, "%s follows from other data and cannot be changed: %s found, %s stored", key,
	      y->found.len ? shown(&y->found).text : "nothing", shown(&y->stored).text);
}

/* Writes the elements that differ. A text is one value: what lies behind its end may not be what was shown. Bits share
 * their bytes with other fields, which may have been changed already. */
static int write_value(struct yedit *y, const struct value *v, const struct field *f, uint8_t *now)
{
	const uint8_t *was = v->raw + v->f->at;
	unsigned width = field_width(f), end;
	uint64_t at = v->at + v->f->at;
	int rc;

	if (f->type >= F_TEXT)
		return src_write(v->src, now, f->count, at, f->name, &y->why);
	for (unsigned i = 0; i < f->count; i = end + 1) {
		uint8_t *bits = now + (size_t)i * width;

		for (end = i; end < f->count && memcmp(was + end * width, now + end * width, width); end++)
			;
		if (end == i)
			continue;
		for (unsigned k = i; k < end && f->bits; k++) {
			uint64_t value = field_get(f, v->be, now, k);

			rc = src_read(v->src, now + k * width, width, at + k * width, f->name, &y->why);
			if (rc)
				return rc;
			field_set(f, v->be, now, k, value);
		}
		rc = src_write(v->src, bits, (size_t)(end - i) * width, at + (uint64_t)i * width, f->name, &y->why);
		if (rc)
			return rc;
	}
	return 0;
}

/* The text is not the stored one: parses it over a copy of the bytes and writes what differs. */
static void change_value(struct yedit *y, struct value *v, const struct ynode *node)
{
	struct field here = *v->f;
	size_t n = (size_t)field_width(&here) * here.count;
	struct err why;

	here.at = 0;
	y->bytes.len = 0;
	buf_add(&y->bytes, v->raw + v->f->at, n);
	if (y->bytes.bad) {
		keep_nomem(y);
		return;
	}
	if (field_parse(&here, v->be, y->bytes.p, (const char *)y->found.p, y->found.len, &why)) {
		const struct ynode *at = culprit(y, &here, node, &why);

		wrong(y, EINVAL, at, "%s: %s", name_of(v).text, why.text);
	} else if (!memcmp(v->raw + v->f->at, y->bytes.p, n)) {
		return;
	} else if (v->style & DOC_DERIVED || here.flags & FL_DERIVED) {
		refuse_derived(y, name_of(v).text, node);
	} else if (v->style & DOC_SHOWN) {
		v->differs = true;
	} else if (here.flags & FL_PUT) {
		leave(y, CHANGE_TEXT, here.name, node, node, "%s cannot be changed here", name_of(v).text);
	} else {
		y->rc = write_value(y, v, &here, y->bytes.p);
	}
}

static void edit_value(struct yedit *y, struct value *v, const struct ynode *node)
{
	if (node->kind == Y_MAP) {
		wrong(y, EINVAL, node, "%s: %s found, expected a value", name_of(v).text, ynode_quote(node).text);
		return;
	}
	y->stored.len = 0;
	field_print(v->f, v->be, v->raw, &y->stored);
	flow_of(v->f, node, &y->found);
	if (y->stored.bad || y->found.bad)
		keep_nomem(y);
	else if (y->found.len != y->stored.len || memcmp(y->found.p, y->stored.p, y->stored.len))
		change_value(y, v, node);
}

static void edit_field(struct doc *d, const struct field *f, bool be, const uint8_t *raw, struct source *src,
		       uint64_t at)
{
	struct yedit *y = (struct yedit *)d;
	const struct ynode *node = claim(y, f->name);
	struct value v = { f, be, raw, src, at };

	if (node)
		edit_value(y, &v, node);
}

static void edit_pad(struct doc *d, const struct field *f, bool be, const uint8_t *raw, struct source *src, uint64_t at)
{
	struct yedit *y = (struct yedit *)d;
	struct level *l = &y->level[y->depth];
	const struct ynode *node = y->rc || y->skip || !l->map ? NULL : find_value(l, f->name);
	struct value v = { f, be, raw, src, at };

	if (node)
		edit_value(y, &v, node);
}

/* ---- rows ---- */

struct row {
	struct yedit *y;
	struct value v;
	const struct ynode *next;              /* value to come */
	unsigned shown, all;                   /* fields of the view; with padding that is zero */
	bool pads;                             /* the row was written with that padding */
};

static int count_value(void *ctx, const struct field *f)
{
	struct row *row = ctx;

	row->shown += field_shown(f, row->v.be, row->v.raw);
	row->all += !(f->flags & FL_HIDDEN);
	return 0;
}

static int take_value(void *ctx, const struct field *f)
{
	struct row *row = ctx;

	if (!field_shown(f, row->v.be, row->v.raw) && !(row->pads && !(f->flags & FL_HIDDEN)))
		return 0;
	row->v.f = f;
	edit_value(row->y, &row->v, row->next);
	row->next = row->next->next;
	return row->y->rc;
}

static void edit_row(struct row *row, const struct record *r, const struct ynode *node)
{
	bool list = node->kind == Y_LIST;

	row->shown = row->all = 0;
	rec_each(r, count_value, row);
	row->v.alone = row->shown == 1;
	row->pads = list && row->all > row->shown && node->count == row->all;
	row->next = row->v.alone && !row->pads ? node : node->first;
	if (row->v.alone || row->pads || (list && node->count == row->shown))
		rec_each(r, take_value, row);
	else
		wrong(row->y, EINVAL, node, "%s: %s found, expected a list of %u", row->v.rows,
		      ynode_quote(node).text, row->shown);
}

struct map_row { struct yedit *y; struct value v; struct level level; };

static int take_key(void *ctx, const struct field *f)
{
	struct map_row *m = ctx;
	const struct ynode *node = f->flags & FL_HIDDEN ? NULL : find_value(&m->level, f->name);

	m->v.f = f;
	if (node)
		edit_value(m->y, &m->v, node);
	return m->y->rc;
}

static int know_key(void *ctx, const struct field *f)
{
	struct level *l = ctx;

	if (!(f->flags & FL_HIDDEN) && l->nknown < KNOWN_MOST)
		l->known[l->nknown++] = (struct label){ 0, f->name };
	return 0;
}

static void edit_map(struct row *row, const struct record *r, struct ynode *node)
{
	struct map_row *m = &(struct map_row){ .y = row->y, .v = row->v };

	enter_map(&m->level, node);
	if (node->kind != Y_MAP) {
		wrong(row->y, EINVAL, node, "%s found, expected keys and their values", ynode_quote(node).text);
		return;
	}
	rec_each(r, take_key, m);
	row->v.differs |= m->v.differs;
	for (const struct ynode *k = node->first; k && !row->y->rc; k = k->next) {
		if (k->used)
			continue;
		rec_each(r, know_key, &m->level);
		wrong(row->y, EINVAL, k, "%s", unknown_key(&m->level, k).text);
	}
}

static void edit_each(struct yedit *y, const struct record *r, struct row *row, struct ynode *list)
{
	for (struct ynode *k = list->first; k && !y->rc; k = k->next) {
		if (row->v.style & DOC_MAPS)
			edit_map(row, r, k);
		else
			edit_row(row, r, k);
		row->v.raw += r->size;
		row->v.at += r->size;
	}
	if (row->v.differs && !y->rc)
		leave(y, CHANGE_ROWS, key_name(row->v.rows), list, list, "%s%sthese values cannot be changed",
		      key_name(row->v.rows), row->v.rows ? ": " : "");
}

/* The node of a list; NULL: nothing was written, or something is wrong. */
static struct ynode *claim_list(struct yedit *y, const char *key)
{
	struct ynode *node = key || y->rc || y->skip ? claim(y, key) : y->root;

	y->listed |= !key;
	if (node && node->kind != Y_LIST) {
		wrong(y, EINVAL, node, "%s%s%s found, expected a list", key_name(key), key ? ": " : "",
		      ynode_quote(node).text);
		return NULL;
	}
	return node;
}

static void refuse_length(struct yedit *y, const char *key, const struct ynode *node, uint32_t n, const char *what)
{
	if (y->rest->again)
		return;
	wrong(y, EPERM, node, "%s%sfollows from other data and cannot be changed: %u %s%s found, %u stored",
	      key_name(key), key ? " " : "", node->count, what, plural(node->count), n);
}

static void edit_rows(struct doc *d, const char *key, const struct record *r, bool be, const uint8_t *raw, uint32_t n,
		      struct source *src, uint64_t at, unsigned style)
{
	struct yedit *y = (struct yedit *)d;
	struct ynode *node = claim_list(y, key);
	struct row row = { y, { .be = be, .raw = raw, .src = src, .at = at, .rows = key, .style = style } };

	if (!node)
		return;
	if (node->count == n)
		edit_each(y, r, &row, node);
	else if (style & DOC_DERIVED)
		refuse_length(y, key, node, n, "value");
	else
		leave(y, CHANGE_ROWS, key_name(key), node, node, "%s%s%u value%s found, expected %u", key_name(key),
		      key ? ": " : "", node->count, plural(node->count), n);
}

/* ---- texts ---- */

static bool is_bool(const char *text)
{
	return !strcmp(text, "true") || !strcmp(text, "false");
}

/* Whether the node says the stored text: word for word, but for quotes, or as a number that is written another way. */
static bool says(struct yedit *y, const struct ynode *node, const char *stored)
{
	static const struct field number = { .name = "", .count = 1, .type = F_U64, .view = V_HEX };
	size_t n = strlen(stored), quote = n > 1 && stored[0] == '"' && stored[n - 1] == '"';
	uint8_t a[8], b[8];

	if (y->found.len == n && !memcmp(y->found.p, stored, n))
		return true;
	if (node->kind != Y_SCALAR)
		return false;
	if (node->n == n - 2 * quote && !memcmp(node->text, stored + quote, node->n))
		return true;
	return !quote && !field_parse(&number, false, a, node->text, node->n, NULL) &&
	       !field_parse(&number, false, b, stored, n, NULL) && !memcmp(a, b, sizeof a);
}

static void edit_text(struct doc *d, const char *key, const char *value, unsigned style)
{
	struct yedit *y = (struct yedit *)d;
	const struct ynode *node = claim(y, key);

	if (!node)
		return;
	y->found.len = y->stored.len = 0;
	ynode_flow(node, &y->found);
	buf_str(&y->stored, value);
	if (y->found.bad || y->stored.bad)
		keep_nomem(y);
	else if (is_bool(value) && (node->kind != Y_SCALAR || node->quoted || !is_bool(node->text)))
		wrong(y, EINVAL, node, "%s: %s found, expected true or false", key, ynode_quote(node).text);
	else if (says(y, node, value))
		return;
	else if (style & DOC_DERIVED)
		refuse_derived(y, key, node);
	else
		leave(y, CHANGE_TEXT, key, node, node, "%s cannot be changed: %s found, %s stored", key,
		      y->found.len ? shown(&y->found).text : "nothing", shown(&y->stored).text);
}

/* ---- lists ---- */

static void edit_list(struct doc *d, const char *key, uint32_t n, unsigned style)
{
	struct yedit *y = (struct yedit *)d;
	struct ynode *node;

	if (y->rc)
		return;
	if (y->skip) {
		y->skip++;
		return;
	}
	node = claim_list(y, key);
	y->skip = 1;
	if (!node)
		return;
	if (node->count != n && style & DOC_DERIVED)
		refuse_length(y, key, node, n, "item");
	else if (node->count != n)
		leave(y, CHANGE_LIST, key_name(key), node, node, "%s%s%u item%s found, expected %u", key_name(key),
		      key ? ": " : "", node->count, plural(node->count), n);
	else if (y->depth == DOC_DEPTH)
		wrong(y, EFBIG, node, "%u lists around this one", y->depth);
	else {
		y->skip = 0;
		y->level[++y->depth] = (struct level){ .next = node->first, .item = (uint32_t)-1 };
	}
}

static void edit_item(struct doc *d)
{
	struct yedit *y = (struct yedit *)d;
	struct level *l = &y->level[y->depth];
	struct ynode *node = l->next;

	if (y->rc || y->skip)
		return;
	close_map(y, l);
	if (!node)
		return;
	l->next = node->next;
	l->item++;
	enter_map(l, node);
	if (node->kind != Y_MAP && !ynode_is_null(node))
		wrong(y, EINVAL, node, "%s found, expected keys and their values", ynode_quote(node).text);
}

static void edit_end(struct doc *d)
{
	struct yedit *y = (struct yedit *)d;

	if (y->rc)
		return;
	if (y->skip) {
		y->skip--;
		return;
	}
	close_map(y, &y->level[y->depth]);
	y->depth--;
}

static void finish(struct yedit *y)
{
	if (y->rc)
		return;
	if (!y->listed && y->root->kind != Y_MAP)
		wrong(y, EINVAL, y->root, "%s found, expected keys and their values", ynode_quote(y->root).text);
	close_map(y, &y->level[0]);
}

int yedit_apply(struct object *o, unsigned kind, uint32_t index, struct ynode *root, struct yedit_rest *rest,
		struct arena *a, struct err *e)
{
	static const struct doc_ops ops = {
		.field = edit_field, .rows = edit_rows, .pad = edit_pad, .text = edit_text,
		.list = edit_list, .item = edit_item, .end = edit_end,
	};
	struct yedit y = { .doc = { &ops }, .a = a, .root = root, .rest = rest };
	int rc;

	*rest = (struct yedit_rest){ .again = rest->again };
	enter_map(&y.level[0], root);
	if (kind == DOC_SECTION)
		rc = object_section_doc(o, index, &y.doc, e);
	else
		rc = o->format->model->doc(o, kind, index, &y.doc, e);
	if (!rc)
		finish(&y);
	buf_free(&y.stored);
	buf_free(&y.found);
	buf_free(&y.bytes);
	if (y.rc && e)
		*e = y.why;
	return y.rc ? y.rc : rc;
}
