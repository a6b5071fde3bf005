/* Formats for tests of members, and the list of formats they are in. All numbers little-endian.
 *
 * quad, a model of up to four files, NAME.qda and its members NAME.qdb, .qdc, .qdd:
 *
 *     qda   0  4  "QUAD"
 *           4  4  parts
 *           8  4  stamp, which is also the first word of each member
 *          12  4  0
 *          16     parts, 24 bytes each: id, place and size in qdb, place and size in qdc (size 0: none), 0
 *                 then 8 bytes of each part
 *
 * qdb has to be there, qdc where a part has bytes in it. A part whose bytes lie outside their file is broken.
 *
 * box, a container with names: "BOXX", entries; then 40 bytes each: name[32], place, size. An entry grows up to the
 * next one, or to the end of the box.
 *
 * bag, a container that knows members: "BAGG", entries; then 32 bytes each: place and size of the entry, then of its
 * three members. */
#include "quad.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "plate.h"

#define HEAD 16u
#define PART 24u
#define OWN 8u

struct quad_part { uint32_t id, b_at, b_size, c_at, c_size, zero; };
struct quad_header { uint32_t magic, parts, stamp, zero; };
struct quad { struct quad_header h; const uint8_t *table; };

#define S struct quad_header
static const struct field header_fields[] = {
	U32(S, magic, 0, "QUAD", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, parts, 4, "Parts", .flags = FL_DERIVED),
	U32(S, stamp, 8, "First word of each member", .flags = FL_PUT),
	U32(S, zero, 12, "Free"),
};
#undef S
static const struct record header_record = RECORD("header", "Begins a quad", HEAD, header_fields);

static const struct section sections[] = {
	{ "header", "Header", SECTION_BYTES, NULL, NULL },
	{ "table", "Parts", SECTION_BYTES, NULL, NULL },
};
static const struct record *const records[] = { &header_record, NULL };
static const struct variant variants[] = { { "1", "Only one", sections, ARRAY_LEN(sections), records } };

static int probe(struct probe *p)
{
	return p->n >= HEAD && !memcmp(p->head, "QUAD", 4) ? 100 : 0;
}

static struct quad_part part_of(const struct object *o, uint32_t i)
{
	const struct quad *q = o->priv;
	const uint8_t *p = q->table + (size_t)i * PART;

	return (struct quad_part){ le_u32(p), le_u32(p + 4), le_u32(p + 8), le_u32(p + 12), le_u32(p + 16), 0 };
}

static bool is_inside(const struct source *src, uint32_t at, uint32_t size)
{
	return src && span_ok(src->size, at, size, 1);
}

static int check_part(struct object *o, uint32_t i, struct err *e)
{
	struct quad_part p = part_of(o, i);
	struct err why;

	if (p.c_size && !o->member[1] && !o->around->handed)
		return err_set(e, EBADMSG, "part %u has bytes in a .qdc, which is not there", i);
	if (!is_inside(o->member[0], p.b_at, p.b_size) || (p.c_size && !is_inside(o->member[1], p.c_at, p.c_size))) {
		err_set(&why, EBADMSG, "part %u lies outside its file", i);
		object_fault(o, PART_MESH, i, true, &why);
	}
	return 0;
}

static int quad_open(struct object *o, struct err *e)
{
	struct quad *q = arena_alloc(&o->arena, 1, sizeof *q);
	const uint8_t *raw;
	int rc = q ? object_read(o, &o->arena, 0, HEAD, "header", &raw, e) : err_nomem(e);

	if (rc)
		return rc;
	rec_decode(&header_record, false, raw, &q->h);
	rc = object_read(o, &o->arena, HEAD, (uint64_t)q->h.parts * (PART + OWN), "parts", &q->table, e);
	o->priv = q;
	for (uint32_t i = 0; i < q->h.parts && !rc; i++)
		rc = check_part(o, i, e);
	if (!rc)
		o->variant = &variants[0];
	return rc;
}

static uint32_t quad_count(const struct object *o, unsigned part)
{
	return part == PART_MESH ? ((const struct quad *)o->priv)->h.parts : 0;
}

static int quad_locate(const struct object *o, unsigned section, struct span *out)
{
	uint64_t n = (uint64_t)quad_count(o, PART_MESH) * PART;

	*out = section ? (struct span){ HEAD, n, 0 } : (struct span){ 0, HEAD, 0 };
	return 0;
}

/* Three of each part. One that has no bytes, or lies outside its file, is not shown. */
static bool quad_chunk(const struct object *o, uint32_t i, struct chunk *out)
{
	uint32_t n = quad_count(o, PART_MESH), k = i / 3;
	struct quad_part p;

	if (k >= n)
		return false;
	p = part_of(o, k);
	switch (i % 3) {
	case 0: *out = (struct chunk){ .at = HEAD + (uint64_t)n * PART + (uint64_t)k * OWN, .size = OWN }; break;
	case 1: *out = (struct chunk){ .at = p.b_at, .size = p.b_size, .part = 1 }; break;
	default: *out = (struct chunk){ .at = p.c_at, .size = p.c_size, .part = 2 };
	}
	if (out->size && (!out->part || is_inside(o->member[out->part - 1], (uint32_t)out->at, (uint32_t)out->size)))
		snprintf(out->name, sizeof out->name, "part-%" PRIu32 "/%c", k, "abc"[i % 3]);
	return true;
}

/* b_size is the size of the .qdb, which an edit may change. */
static int quad_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	uint8_t raw[HEAD];
	int rc = src_read(o->src, raw, sizeof raw, 0, "header", e);

	(void)kind;
	(void)index;
	if (rc)
		return rc;
	doc_comment(d, "modelfs quad 1");
	doc_record(d, &header_record, false, raw, o->src, 0);
	doc_text(d, "b_size", 0, "%" PRIu64, o->member[0] ? o->member[0]->size : 0);
	return 0;
}

static int put_stamp(struct object *o, uint32_t stamp, struct err *e)
{
	uint8_t raw[4];
	int rc;

	put_le32(raw, stamp);
	rc = object_patch(o, 0, 8, raw, sizeof raw, "stamp", e);
	for (unsigned k = 0; k < MEMBERS_MOST && !rc; k++)
		if (o->member[k] && o->member[k]->size >= sizeof raw)
			rc = object_patch(o, 1 + k, 0, raw, sizeof raw, "stamp", e);
	return rc;
}

static int quad_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root,
		    struct doc_change *change, unsigned n, struct err *e)
{
	int rc = 0;

	(void)kind;
	(void)index;
	(void)root;
	for (unsigned i = 0; i < n && !rc; i++) {
		uint32_t v = (uint32_t)strtoul(change[i].value->text, NULL, 10);

		if (!strcmp(change[i].key, "stamp"))
			rc = put_stamp(o, v, e);
		else if (!strcmp(change[i].key, "b_size"))
			rc = object_resize(o, 1, v, e);
		change[i].taken = true;
	}
	return rc;
}

/* All stamps are the same. */
static int quad_check(struct object *o, struct err *e)
{
	const struct quad *q = o->priv;
	uint8_t raw[4];
	int rc = 0;

	for (unsigned k = 0; k < MEMBERS_MOST && !rc; k++) {
		if (!o->member[k] || o->member[k]->size < sizeof raw)
			continue;
		rc = src_read(o->member[k], raw, sizeof raw, 0, "stamp", e);
		if (!rc && le_u32(raw) != q->h.stamp)
			rc = err_set(e, EINVAL, "stamp %u in the .%s, %u in the .qda", le_u32(raw),
				     o->format->members[k].ext, q->h.stamp);
	}
	return rc;
}

static const struct model_ops quad_ops = {
	.open = quad_open, .count = quad_count, .locate = quad_locate, .chunk = quad_chunk, .doc = quad_doc,
	.doc_put = quad_put, .check = quad_check,
};
static const struct member members[] = {
	{ "qdb", "Bytes of the parts", true }, { "qdc", "More of them", false }, { "qdd", "A stamp", false },
};
static const struct format fmt_quad = {
	.name = "quad", .title = "Quad", .ext = "qda", .doc = "Four files.", .role = ROLE_MODEL, .probe = probe,
	.variants = variants, .nvariants = 1, .docs = 1 << DOC_HEADER, .members = members, .nmembers = 3,
	.strict = true, .model = &quad_ops,
};

/* ---- containers ---- */

#define BOX_ENTRY 40u
#define BAG_ENTRY 32u
#define CONTAINER_HEAD 8u

static const struct section no_sections[] = { { "header", "Header", SECTION_BYTES, NULL, NULL } };
static const struct variant plain_variant[] = { { "1", "Only one", no_sections, 1, NULL } };

static int read_table(struct object *o, uint32_t each, const uint8_t **table, uint32_t *n, struct err *e)
{
	int rc = object_read(o, &o->arena, 0, CONTAINER_HEAD, "header", table, e);

	if (rc)
		return rc;
	*n = le_u32(*table + 4);
	o->variant = &plain_variant[0];
	return object_read(o, &o->arena, CONTAINER_HEAD, (uint64_t)*n * each, "table", table, e);
}

static int container_open(struct object *o, struct err *e)
{
	const uint8_t *table;
	uint32_t n;

	return read_table(o, 0, &table, &n, e);
}

static int box_probe(struct probe *p)
{
	return p->n >= CONTAINER_HEAD && !memcmp(p->head, "BOXX", 4) ? 100 : 0;
}

static int box_list(struct object *o, struct entries *out, struct err *e)
{
	const uint8_t *p;
	uint32_t n;
	int rc = read_table(o, BOX_ENTRY, &p, &n, e);

	if (rc)
		return rc;
	out->n = n;
	out->v = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->v);
	out->name = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->name);
	if (!out->v || !out->name)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++, p += BOX_ENTRY) {
		out->name[i] = arena_printf(&o->arena, "%.32s", (const char *)p);
		out->v[i] = (struct entry){ .at = le_u32(p + 32), .size = le_u32(p + 36) };
		if (!out->name[i])
			return err_nomem(e);
		if (!span_ok(o->src->size, out->v[i].at, out->v[i].size, 1))
			return err_set(e, EBADMSG, "entry %u lies outside the box", i);
	}
	return 0;
}

static int box_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	uint64_t end = o->src->size, at = v->v[i].at;
	uint8_t raw[4];
	int rc = 0;

	for (uint32_t k = 0; k < v->n; k++)
		if (v->v[k].at > at && v->v[k].at < end)
			end = v->v[k].at;
	if (size > end - at && end != o->src->size)
		return err_set(e, ENOSPC, "%" PRIu64 " bytes are missing", size - (end - at));
	if (size > end - at)
		rc = object_resize(o, 0, at + size, e);
	if (!rc && size > v->v[i].size)
		rc = src_clear(o->src, at + v->v[i].size, size - v->v[i].size, "entry", e);
	put_le32(raw, (uint32_t)size);
	rc = rc ? rc : src_patch(o->src, raw, 4, CONTAINER_HEAD + (uint64_t)i * BOX_ENTRY + 36, "size", e);
	if (!rc)
		v->v[i].size = size;
	return rc;
}

static const struct container_ops box_ops = {
	.open = container_open, .list = box_list, .resize = box_resize, .separator = '/',
};
static const struct format fmt_box = {
	.name = "box", .title = "Box", .ext = "box", .doc = "A container.", .probe = box_probe,
	.variants = plain_variant, .nvariants = 1, .container = &box_ops,
};

static int bag_probe(struct probe *p)
{
	return p->n >= CONTAINER_HEAD && !memcmp(p->head, "BAGG", 4) ? 100 : 0;
}

static int bag_list(struct object *o, struct entries *out, struct err *e)
{
	struct entry (*member)[MEMBERS_MOST];
	const uint8_t *p;
	uint32_t n;
	int rc = read_table(o, BAG_ENTRY, &p, &n, e);

	if (rc)
		return rc;
	out->n = n;
	out->v = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->v);
	out->name = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->name);
	out->member = member = arena_alloc(&o->arena, n + (size_t)1, sizeof *member);
	if (!out->v || !out->name || !member)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++, p += BAG_ENTRY) {
		out->v[i] = (struct entry){ .at = le_u32(p), .size = le_u32(p + 4) };
		out->name[i] = arena_printf(&o->arena, "%08" PRIx64 ".qda", out->v[i].at);
		for (unsigned k = 0; k < MEMBERS_MOST; k++)
			member[i][k] = (struct entry){ .at = le_u32(p + 8 + 8 * k), .size = le_u32(p + 12 + 8 * k) };
		if (!out->name[i])
			return err_nomem(e);
	}
	return 0;
}

static const struct container_ops bag_ops = { .open = container_open, .list = bag_list, .separator = '/' };
static const struct format fmt_bag = {
	.name = "bag", .title = "Bag", .ext = "bag", .doc = "A container.", .probe = bag_probe,
	.variants = plain_variant, .nvariants = 1, .container = &bag_ops,
};

/* In place of the list that the formats' library has. */
extern const struct format fmt_arc;
const struct format *const formats[] = {
	&fmt_quad, &fmt_box, &fmt_bag, &fmt_plate, &fmt_squashed, &fmt_row, &fmt_note, &fmt_arc, NULL
};
