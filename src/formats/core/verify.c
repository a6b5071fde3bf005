/* What `modelfs verify` checks of every object, whatever its format: a document that listens to the calls describing
 * the views takes each shown value through its text and back, and each record goes through its decoded struct. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format.h"

struct check {
	struct doc doc;
	char where[64];                        /* document the values belong to */
	struct buf text, bytes;                /* of the value at hand */
	struct buf decoded;                    /* of the record at hand */
	int rc;                                /* of the first thing found wrong; 0 while there is none */
	struct err why;
};

static void keep(struct check *c, int rc, const struct err *why)
{
	if (!rc || c->rc)
		return;
	c->rc = rc;
	c->why = *why;
}

static void keep_nomem(struct check *c)
{
	struct err why;

	keep(c, err_nomem(&why), &why);
}

static uint8_t *copy_bytes(struct check *c, const uint8_t *p, size_t n)
{
	c->bytes.len = 0;
	buf_add(&c->bytes, p, n);
	return c->bytes.bad ? NULL : c->bytes.p;
}

/* ---- values ---- */

/* How much of a value's text messages quote. */
static int shown_length(const struct check *c)
{
	return c->text.len < 48 ? (int)c->text.len : 48;
}

/* The first element that differs. */
static void keep_difference(struct check *c, const struct field *f, const uint8_t *was, const uint8_t *is,
			    struct source *src, uint64_t at)
{
	unsigned width = field_width(f), i = 0;
	char what[128], hex[2][17];
	struct err why;

	while (i + 1 < f->count && !memcmp(was + i * width, is + i * width, width))
		i++;
	for (unsigned k = 0; k < width; k++) {
		snprintf(hex[0] + k * 2, 3, "%02x", was[i * width + k]);
		snprintf(hex[1] + k * 2, 3, "%02x", is[i * width + k]);
	}
	snprintf(what, sizeof what, "%s: %s", c->where, f->name);
	keep(c, err_at(&why, EILSEQ, src, at + i * width, what, "%s prints as %.*s, which reads back as %s", hex[0],
		       shown_length(c), (const char *)c->text.p, hex[1]), &why);
}

/* Parsing must bring back every bit: they are all flipped before. */
static void check_field(struct doc *d, const struct field *f, bool be, const uint8_t *raw, struct source *src,
			uint64_t at)
{
	struct check *c = (struct check *)d;
	struct field here = *f;
	const uint8_t *was = raw + f->at;
	size_t n = (size_t)field_width(f) * f->count;
	uint8_t *is = copy_bytes(c, was, n);
	char what[128];
	struct err why;
	int rc;

	here.at = 0;
	c->text.len = 0;
	field_print(f, be, raw, &c->text);
	if (!is || c->text.bad) {
		keep_nomem(c);
		return;
	}
	for (unsigned i = 0; i < f->count; i++)
		field_set(&here, be, is, i, ~field_get(&here, be, is, i));
	rc = field_parse(&here, be, is, (const char *)c->text.p, c->text.len, &why);
	if (rc) {
		struct err parse = why;

		snprintf(what, sizeof what, "%s: %s", c->where, f->name);
		keep(c, err_at(&why, EILSEQ, src, at + f->at, what, "its text %.*s is refused: %s", shown_length(c),
			       (const char *)c->text.p, parse.text), &why);
	} else if (memcmp(was, is, n)) {
		keep_difference(c, f, was, is, src, at + f->at);
	}
}

/* ---- records ---- */

static int reach(void *ctx, const struct field *f)
{
	size_t *end = ctx, here = f->member + (size_t)field_width(f) * f->count;

	if (f->member != FIELD_NO_MEMBER && here > *end)
		*end = here;
	return 0;
}

struct flipping { bool be; uint8_t *raw; };

static int flip_member(void *ctx, const struct field *f)
{
	const struct flipping *flip = ctx;

	for (unsigned i = 0; i < f->count && f->member != FIELD_NO_MEMBER; i++)
		field_set(f, flip->be, flip->raw, i, ~field_get(f, flip->be, flip->raw, i));
	return 0;
}

/* Decoding and encoding must bring back every bit that has a member. */
static void check_record(struct check *c, const struct record *r, bool be, const uint8_t *raw, struct source *src,
			 uint64_t at)
{
	uint8_t *is = copy_bytes(c, raw, r->size), *out;
	struct flipping flip = { be, is };
	size_t size = 0, i = 0;
	struct err why;

	rec_each(r, reach, &size);
	out = buf_room(&c->decoded, size);
	if (!is || (size && !out)) {
		keep_nomem(c);
		return;
	}
	rec_decode(r, be, raw, out);
	rec_each(r, flip_member, &flip);
	rec_encode(r, be, out, is);
	while (i < r->size && raw[i] == is[i])
		i++;
	if (i < r->size)
		keep(c, err_at(&why, EILSEQ, src, at + i, r->name, "byte %02x is %02x after decoding and encoding %s",
			       raw[i], is[i], c->where), &why);
}

struct row { struct check *c; bool be; const uint8_t *raw; struct source *src; uint64_t at; };

static int check_row_field(void *ctx, const struct field *f)
{
	struct row *row = ctx;

	check_field(&row->c->doc, f, row->be, row->raw, row->src, row->at);
	return row->c->rc;
}

static void check_rows(struct doc *d, const char *key, const struct record *r, bool be, const uint8_t *raw, uint32_t n,
		       struct source *src, uint64_t at, unsigned style)
{
	struct check *c = (struct check *)d;
	struct row row = { c, be, raw, src, at };

	(void)key;
	(void)style;
	for (uint32_t i = 0; i < n && !c->rc; i++) {
		rec_each(r, check_row_field, &row);
		check_record(c, r, be, row.raw, src, row.at);
		row.raw += r->size;
		row.at += r->size;
	}
}

static const struct doc_ops check_ops = { .field = check_field, .rows = check_rows };

/* ---- sections and documents ---- */

struct checking { struct check *c; const struct record *r; bool be; };

static int check_section_record(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	const struct checking *k = ctx;

	(void)i;
	check_record(k->c, k->r, k->be, raw, src, at);
	return 0;
}

static void check_sections(struct check *c, struct object *o)
{
	for (unsigned i = 0; i < o->variant->nsections; i++) {
		const struct section *section = &o->variant->sections[i];
		struct checking k = { c, section->record, o->format->be };
		struct err why;

		if (section->shape == SECTION_BYTES || !object_section(o, i).size)
			continue;
		snprintf(c->where, sizeof c->where, "%s", section->name);
		keep(c, object_section_records(o, i, check_section_record, &k, &why), &why);
		if (section->yaml)
			keep(c, object_section_doc(o, i, &c->doc, &why), &why);
	}
}

static void check_doc(struct check *c, struct object *o, unsigned kind, const char *name, unsigned part, uint32_t index)
{
	struct err why;
	int rc;

	if (part != PART_OBJECT && object_find_fault(o, part, index))
		return;
	if (part == PART_OBJECT)
		snprintf(c->where, sizeof c->where, "%s", name);
	else
		snprintf(c->where, sizeof c->where, "%s %u", name, index);
	rc = o->format->model->doc(o, kind, index, &c->doc, &why);
	keep(c, rc == -ENOENT ? 0 : rc, &why);
}

static void check_docs(struct check *c, struct object *o)
{
	static const struct { uint8_t kind, part; const char *name; } usual[] = {
		{ DOC_HEADER, PART_OBJECT, "header" }, { DOC_SKELETON, PART_OBJECT, "skeleton" },
		{ DOC_MESH, PART_MESH, "mesh" }, { DOC_IMAGE, PART_IMAGE, "image" }, { DOC_CLIP, PART_CLIP, "clip" },
	};

	for (size_t k = 0; k < ARRAY_LEN(usual); k++) {
		uint32_t n = usual[k].part == PART_OBJECT ? 1 : object_count(o, usual[k].part);

		for (uint32_t i = 0; i < n && o->format->docs & 1u << usual[k].kind; i++)
			check_doc(c, o, usual[k].kind, usual[k].name, usual[k].part, i);
	}
	for (unsigned k = 0; k < o->format->nown; k++) {
		const struct own_file *own = &o->format->own[k];
		uint32_t n = own->part == PART_OBJECT ? 1 : object_count(o, own->part);

		for (uint32_t i = 0; i < n && !own->bytes; i++)
			if (!own->there || own->there(o, i))
				check_doc(c, o, DOC_OWN + k, own->name, own->part, i);
	}
}

int object_verify(struct object *o, struct err *e)
{
	const struct model_ops *m = o->format->model;
	struct check c = { .doc = { &check_ops } };
	struct err why;

	if (o->variant && m) {
		check_sections(&c, o);
		if (m->doc)
			check_docs(&c, o);
		if (m->verify)
			keep(&c, m->verify(o, &why), &why);
	}
	if (o->faults && (!c.rc || c.rc == -EBADMSG))
		c.rc = err_set(&c.why, EBADMSG, "%s", o->faults->text);
	buf_free(&c.text);
	buf_free(&c.bytes);
	buf_free(&c.decoded);
	if (c.rc && e)
		*e = c.why;
	return c.rc;
}
