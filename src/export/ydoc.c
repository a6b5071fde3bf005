/* Documents as YAML: one line per value, a list's items at the indentation of its key, comments behind two blanks. */
#include <string.h>

#include "export.h"

static void put_indent(struct ydoc *y, unsigned n)
{
	while (n--)
		buf_char(y->out, ' ');
}

/* Columns of the keys, and of the dashes of the list at hand. */
static unsigned key_column(const struct ydoc *y)
{
	return 2 * y->depth;
}

static unsigned dash_column(const struct ydoc *y)
{
	return y->depth ? key_column(y) - 2 : 0;
}

static void put_key(struct ydoc *y, const char *key)
{
	if (y->item) {
		put_indent(y, dash_column(y));
		buf_str(y->out, "- ");
	} else {
		put_indent(y, key_column(y));
	}
	y->item = false;
	buf_str(y->out, key);
	buf_char(y->out, ':');
}

static void put_behind(struct ydoc *y, bool derived, const char *comment)
{
	derived &= !y->derived;
	if (derived || comment)
		buf_str(y->out, "  # ");
	if (derived)
		buf_str(y->out, comment ? "derived; " : "derived");
	if (comment)
		buf_str(y->out, comment);
	buf_char(y->out, '\n');
}

static void put_comment(struct doc *d, const char *text)
{
	struct ydoc *y = (struct ydoc *)d;

	put_indent(y, dash_column(y));
	buf_str(y->out, "# ");
	buf_str(y->out, text);
	buf_char(y->out, '\n');
}

static void put_field(struct doc *d, const struct field *f, bool be, const uint8_t *raw, struct source *src,
		      uint64_t at)
{
	struct ydoc *y = (struct ydoc *)d;

	(void)src;
	(void)at;
	put_key(y, f->name);
	buf_char(y->out, ' ');
	field_print(f, be, raw, y->out);
	put_behind(y, f->flags & FL_DERIVED, f->comment);
}

static void put_text(struct doc *d, const char *key, const char *value, unsigned style)
{
	struct ydoc *y = (struct ydoc *)d;

	put_key(y, key);
	buf_char(y->out, ' ');
	buf_str(y->out, value);
	put_behind(y, style & DOC_DERIVED, NULL);
}

/* ---- rows ---- */

struct row { struct buf *out; bool be, keys; const uint8_t *raw; unsigned n; };

static int count_value(void *ctx, const struct field *f)
{
	struct row *row = ctx;

	row->n += field_shown(f, row->be, row->raw);
	return 0;
}

static int put_value(void *ctx, const struct field *f)
{
	struct row *row = ctx;

	if (!field_shown(f, row->be, row->raw))
		return 0;
	if (row->n++)
		buf_str(row->out, ", ");
	if (row->keys) {
		buf_str(row->out, f->name);
		buf_str(row->out, ": ");
	}
	field_print(f, row->be, row->raw, row->out);
	return 0;
}

static void put_map(struct ydoc *y, const struct record *r, bool be, const uint8_t *raw)
{
	struct row row = { .out = y->out, .be = be, .keys = true, .raw = raw };

	buf_char(y->out, '{');
	rec_each(r, put_value, &row);
	buf_char(y->out, '}');
}

static void put_row(struct ydoc *y, const struct record *r, bool be, const uint8_t *raw)
{
	struct row row = { .out = y->out, .be = be, .raw = raw };
	bool list;

	rec_each(r, count_value, &row);
	list = row.n != 1;
	row.n = 0;
	if (list)
		buf_char(y->out, '[');
	rec_each(r, put_value, &row);
	if (list)
		buf_char(y->out, ']');
}

struct behind { char text[160]; size_t n; };

static int add_comment(void *ctx, const struct field *f)
{
	struct behind *b = ctx;

	if (f->comment && b->n + strlen(f->comment) + 3 <= sizeof b->text)
		b->n = (size_t)(stpcpy(stpcpy(b->text + b->n, b->n ? ", " : ""), f->comment) - b->text);
	return 0;
}

static void put_rows(struct doc *d, const char *key, const struct record *r, bool be, const uint8_t *raw, uint32_t n,
		     struct source *src, uint64_t at, unsigned style)
{
	struct ydoc *y = (struct ydoc *)d;
	struct behind behind = { .n = 0 };
	bool block = n && style & DOC_BLOCK;

	(void)src;
	(void)at;
	rec_each(r, add_comment, &behind);
	if (key)
		put_key(y, key);
	if (block && key)
		put_behind(y, style & DOC_DERIVED, behind.n ? behind.text : NULL);
	else if (!block)
		buf_str(y->out, key ? " [" : "[");
	for (uint32_t i = 0; i < n && !y->out->bad; i++) {
		if (block) {
			put_indent(y, key_column(y));
			buf_str(y->out, "- ");
		} else if (i) {
			buf_str(y->out, ", ");
		}
		if (style & DOC_MAPS)
			put_map(y, r, be, raw + (size_t)i * r->size);
		else
			put_row(y, r, be, raw + (size_t)i * r->size);
		if (block)
			buf_char(y->out, '\n');
	}
	if (block)
		return;
	buf_char(y->out, ']');
	put_behind(y, style & DOC_DERIVED, behind.n ? behind.text : NULL);
}

/* ---- lists ---- */

/* An item without a shown value. */
static void close_item(struct ydoc *y)
{
	if (!y->item)
		return;
	put_indent(y, dash_column(y));
	buf_str(y->out, "- {}\n");
	y->item = false;
}

static void put_list(struct doc *d, const char *key, uint32_t n, unsigned style)
{
	struct ydoc *y = (struct ydoc *)d;

	if (key) {
		put_key(y, key);
		buf_str(y->out, n ? "" : " []");
		put_behind(y, style & DOC_DERIVED, NULL);
	} else if (!n) {
		buf_str(y->out, "[]\n");
	}
	y->depth++;
	if (style & DOC_DERIVED && !y->derived)
		y->derived = y->depth;
}

static void put_item(struct doc *d)
{
	struct ydoc *y = (struct ydoc *)d;

	close_item(y);
	y->item = true;
}

static void put_end(struct doc *d)
{
	struct ydoc *y = (struct ydoc *)d;

	close_item(y);
	if (y->derived == y->depth)
		y->derived = 0;
	y->depth--;
}

void ydoc_init(struct ydoc *y, struct buf *out)
{
	static const struct doc_ops ops = {
		.comment = put_comment, .field = put_field, .rows = put_rows, .text = put_text,
		.list = put_list, .item = put_item, .end = put_end,
	};

	*y = (struct ydoc){ .doc = { &ops }, .out = out };
}
