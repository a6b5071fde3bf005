/* Skeleton of a model (spec/mhp.md 5.1), usually called AHI.
 *
 *   0x00  u32  0xC0000000 (MHP2G, MHFU) or 0x80000000 (MHP3rd)
 *   0x04  u32  sections: the bones and the parameter section
 *   0x08  u32  size up to the end of the last bone
 *   0x0c  parameter section: tag 0, parameter count, its size 12 + 4p; u32[p], the first bone of each root chain
 *   then  bones, 0x10c or 0x5c bytes each; they differ only behind 0x54
 *
 * The number of parameters follows from the section's size; the count word disagrees in a few files and is kept. Links
 * between bones are shown as they are stored, with a line in errors.txt where they cannot be right. */
#include "ahi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "mhpbytes.h"

#define HEADER_SIZE 0x18u                      /* with the head of the parameter section */
#define PARAMETERS_AT 0x0cu
#define PARAMETERS_HEAD 12u
#define MAGIC_MHFU 0xc0000000u
#define MAGIC_MHP3RD 0x80000000u
#define BONE_TAG 0x4000u                       /* upper half of a bone's first word */
#define PIECE 4096u                            /* bytes of bones read at once */
#define MOST_BONES 65536u
#define MOST_PARAMETERS 65536u
#define MOST_NOTED 256u                        /* bones with a line each in errors.txt */

/* ---- records ---- */

struct ahi_header { uint32_t magic, section_count, size, parameter_tag, parameter_count, parameter_size; };
struct ahi_parameter { uint32_t parameter; };

#define S struct ahi_header
static const struct field header_fields[] = {
	U32(S, magic, 0x00, "0xC0000000 or 0x80000000", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, section_count, 0x04, "Bones, and one for the parameter section", .flags = FL_HIDDEN),
	U32(S, size, 0x08, "Bytes up to the end of the last bone", .flags = FL_HIDDEN),
	U32(S, parameter_tag, 0x0c, "0: parameter section", .flags = FL_HIDDEN),
	U32(S, parameter_count, 0x10, "Parameters; the section's size counts where they disagree", .flags = FL_HIDDEN),
	U32(S, parameter_size, 0x14, "Bytes of the parameter section, 12 + 4 each", .flags = FL_HIDDEN),
};
#undef S
static const struct record header_record = RECORD("skeleton header", "Begins a skeleton", HEADER_SIZE, header_fields);

#define S struct ahi_parameter
static const struct field parameter_fields[] = {
	U32(S, parameter, 0x0, "First bone of a root chain; what others beyond the first mean is partly unknown"),
};
#undef S
static const struct record parameter_record = RECORD("parameter", "Parameter of a skeleton", 4, parameter_fields);

#define S struct ahi_bone
static const struct field bone_fields[] = {            /* the 0x54 bytes both games share, without the parent */
	F32N(S, scale, 0x1c, 4, "Scale x, y, z, and 1"),
	F32N(S, rotation, 0x2c, 4, "Euler angles x, y, z in radians, and 1"),
	F32N(S, offset, 0x3c, 4, "Distance from the parent in model units x, y, z, and 1"),
	U32(S, part, 0x50, "MHFU: part of the animations that drives the bone; MHP3rd: 0"),
	I32(S, link, 0x4c, "Kind 2: an earlier bone; else null", .flags = FL_NULL),
	I32(S, first_child, 0x14, "First bone that hangs on this one; follows from the parents",
	    .flags = FL_NULL | FL_HIDDEN),
	I32(S, next_sibling, 0x18, "Next bone that hangs on the same parent; likewise", .flags = FL_NULL | FL_HIDDEN),
	I32(S, index, 0x0c, "Number of the bone", .flags = FL_DERIVED),
	U32(S, tag, 0x00, "0x40000000 + kind (1, 2, 3)", .view = V_HEX),
	U32(S, unknown_04, 0x04, "Always 1"),
	U32(S, section_size, 0x08, "Bytes of the bone", .flags = FL_HIDDEN),
};
#define PARENT I32(S, parent, AHI_PARENT, "Bone that this one hangs on; null for a root", .flags = FL_NULL)
static const struct record bone_record = RECORD("bone", "What the bones of both games share", AHI_SHARED, bone_fields);
static const struct field bone_rest_fields[] = {
	INLINE(0x00, &bone_record),
	PAD("zero_54", AHI_SHARED, AHI_BONE_MHFU - AHI_SHARED),
};
static const struct record bone_rest =
	RECORD("rest", "What is written value by value", AHI_BONE_MHFU, bone_rest_fields);
static const struct field bone_mhfu_fields[] = {
	PARENT,
	INLINE(0x00, &bone_rest),
};
static const struct field bone_mhp3rd_fields[] = {
	TEXT(S, name, AHI_NAME, AHI_NAME_SIZE, "Name"),
	PARENT,
	INLINE(0x00, &bone_record),
};
#undef S
static const struct record bone_mhfu =
	RECORD("bone mhfu", "Bone of Freedom Unite", AHI_BONE_MHFU, bone_mhfu_fields);
static const struct record bone_mhp3rd =
	RECORD("bone mhp3rd", "Bone of Portable 3rd", AHI_BONE_MHP3RD, bone_mhp3rd_fields);

#define SECTIONS(bone) { \
	{ "header", "Magic, counts and the parameter section", SECTION_BYTES, NULL, NULL }, \
	{ "bones", "Bones, parents first", SECTION_LIST, &(bone), NULL }, \
}
static const struct section sections_mhfu[] = SECTIONS(bone_mhfu);
static const struct section sections_mhp3rd[] = SECTIONS(bone_mhp3rd);
static const struct record *const other_records[] = { &header_record, &parameter_record, NULL };

static const struct variant variants[] = {
	{ "mhfu", "Portable 2nd G and Freedom Unite", sections_mhfu, ARRAY_LEN(sections_mhfu), other_records },
	{ "mhp3rd", "Portable 3rd", sections_mhp3rd, ARRAY_LEN(sections_mhp3rd), other_records },
};

/* ---- detection ---- */

static bool is_magic(uint32_t word)
{
	return word == MAGIC_MHFU || word == MAGIC_MHP3RD;
}

/* The magics are also the floats -2.0 and -0.0: a skeleton whose size cannot be true must look like one elsewhere. */
static int probe(struct probe *p)
{
	struct ahi_header h;
	bool alike;

	if (p->n < HEADER_SIZE || !is_magic(le_u32(p->head)))
		return 0;
	rec_decode(&header_record, false, p->head, &h);
	alike = !h.parameter_tag && h.parameter_size >= PARAMETERS_HEAD && h.parameter_size % 4 == 0;
	if (h.section_count && h.size >= HEADER_SIZE && h.size <= p->size)
		return alike ? 95 : 60;
	return alike && span_ok(p->n, PARAMETERS_AT + (uint64_t)h.parameter_size, 4, 1) &&
	       le_u16(p->head + PARAMETERS_AT + h.parameter_size + 2) == BONE_TAG ? 60 : 0;
}

/* ---- opening ---- */

static const struct record *record_of(const struct object *o)
{
	return o->variant->sections[1].record;
}

PRINTF(3, 4)
static void note_bone(struct object *o, uint32_t i, const char *fmt, ...)
{
	struct ahi_skeleton *s = o->priv;
	char what[24];
	struct err why;
	va_list ap;

	s->noted++;
	snprintf(what, sizeof what, "bone %u", i);
	va_start(ap, fmt);
	err_vat(&why, EBADMSG, o->src, s->bones_at + (uint64_t)i * s->bone_size, what, fmt, ap);
	va_end(ap);
	object_fault(o, PART_BONE, i, false, &why);
}

/* False when the bone's size is wrong: then nobody knows where the next one begins. */
static bool check_bone(struct object *o, uint32_t i, uint32_t n, const uint8_t *raw)
{
	const struct ahi_skeleton *s = o->priv;
	struct ahi_bone b = { 0 };

	rec_decode(record_of(o), false, raw, &b);
	if (b.section_size != s->bone_size) {
		note_bone(o, i, "section of %u bytes, expected %u; of %u bones this and the later ones cannot be found",
			  b.section_size, s->bone_size, n);
		return false;
	}
	if (s->noted >= MOST_NOTED)
		return true;
	if (b.tag >> 16 != BONE_TAG)
		note_bone(o, i, "tag 0x%08x, expected 0x40000001 to 0x40000003", b.tag);
	if (b.index != (int64_t)i)
		note_bone(o, i, "index %d, expected %u", b.index, i);
	if (b.parent < -1 || b.parent >= (int64_t)i)
		note_bone(o, i, "parent %d, expected -1 or an earlier bone", b.parent);
	return true;
}

/* The bones that are there, up to the first that cannot be one. */
static int find_bones(struct object *o, uint32_t n, struct err *e)
{
	struct ahi_skeleton *s = o->priv;
	uint64_t room = (o->src->size - s->bones_at) / s->bone_size;
	uint32_t most = n < room ? n : (uint32_t)room, each = PIECE / s->bone_size, got;
	uint8_t raw[PIECE];

	most = most < MOST_BONES ? most : MOST_BONES;
	for (uint32_t i = 0; i < most; i += got) {
		int rc;

		got = most - i < each ? most - i : each;
		rc = src_read(o->src, raw, (size_t)got * s->bone_size, s->bones_at + (uint64_t)i * s->bone_size,
			      "bones", e);
		if (rc)
			return rc;
		for (uint32_t k = 0; k < got; k++) {
			if (!check_bone(o, i + k, n, raw + (size_t)k * s->bone_size))
				return 0;
			s->nbones++;
		}
	}
	if (most < n && most == MOST_BONES)
		note_bone(o, most, "at most %u of %u bones are read", MOST_BONES, n);
	else if (most < n)
		note_bone(o, most, "%u bytes end past the %" PRIu64 " of the entry; of %u bones this and the later "
			  "ones are missing", s->bone_size, o->src->size, n);
	return 0;
}

static int check_header(struct object *o, const struct ahi_header *h, struct err *e)
{
	uint64_t most = o->src->size - PARAMETERS_AT;

	if (!is_magic(h->magic))
		return err_at(e, EBADMSG, o->src, 0, "skeleton header", "magic 0x%08x, expected 0x%08x or 0x%08x",
			      h->magic, MAGIC_MHFU, MAGIC_MHP3RD);
	most = most < PARAMETERS_HEAD + 4 * MOST_PARAMETERS ? most : PARAMETERS_HEAD + 4 * MOST_PARAMETERS;
	if (h->parameter_size < PARAMETERS_HEAD || h->parameter_size % 4 || h->parameter_size > most)
		return err_at(e, EBADMSG, o->src, PARAMETERS_AT, "parameter section",
			      "%u bytes, expected a multiple of 4 from %u to %" PRIu64, h->parameter_size,
			      PARAMETERS_HEAD, most);
	return 0;
}

/* Damage that leaves bones to show. */
static void note_header(struct object *o, const struct ahi_header *h)
{
	const struct ahi_skeleton *s = o->priv;
	uint64_t end = s->bones_at + (uint64_t)s->nbones * s->bone_size;
	struct err why;

	if (!h->section_count)
		err_at(&why, EBADMSG, o->src, 4, "skeleton header",
		       "0 sections, expected at least 1, the parameter section");
	else if (s->nbones == h->section_count - 1 && h->size != end)
		err_at(&why, EBADMSG, o->src, 8, "skeleton header",
		       "size %u, but the last of %u bones ends at %" PRIu64, h->size, s->nbones, end);
	else
		return;
	object_fault(o, PART_OBJECT, 0, false, &why);
}

static int open_skeleton(struct object *o, struct err *e)
{
	uint8_t raw[HEADER_SIZE];
	struct ahi_header h;
	struct ahi_skeleton *s;
	int rc = src_read(o->src, raw, sizeof raw, 0, "skeleton header", e);

	if (rc)
		return rc;
	rec_decode(&header_record, false, raw, &h);
	rc = check_header(o, &h, e);
	if (rc)
		return rc;
	s = arena_alloc(&o->arena, 1, sizeof *s);
	if (!s)
		return err_nomem(e);
	s->nparameters = (h.parameter_size - PARAMETERS_HEAD) / 4;
	s->bones_at = PARAMETERS_AT + h.parameter_size;
	s->bone_size = h.magic == MAGIC_MHFU ? AHI_BONE_MHFU : AHI_BONE_MHP3RD;
	o->priv = s;
	o->variant = &variants[h.magic == MAGIC_MHP3RD];
	if (h.section_count)
		rc = find_bones(o, h.section_count - 1, e);
	if (!rc)
		note_header(o, &h);
	return rc;
}

static uint32_t count(const struct object *o, unsigned part)
{
	return part == PART_BONE ? ((const struct ahi_skeleton *)o->priv)->nbones : 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct ahi_skeleton *s = o->priv;

	*out = section ? (struct span){ s->bones_at, (uint64_t)s->nbones * s->bone_size, 0 } :
			 (struct span){ 0, s->bones_at, 0 };
	return 0;
}

/* ---- documents ---- */

struct saying { const struct record *r; struct doc *d; struct buf *text; };

/* A value that doc_put() writes: a name because it ends before its field does, a parent because links follow it. */
static void say_value(const struct saying *s, const char *name, const uint8_t *raw)
{
	struct field f;

	s->text->len = 0;
	if (rec_field(s->r, name, &f))
		field_print(&f, false, raw, s->text);
	buf_char(s->text, 0);
	doc_text(s->d, name, DOC_PLAIN, "%s", s->text->bad ? "" : (const char *)s->text->p);
}

/* What may follow the end of a name is left over from a longer one; it is no part of the name. */
static void say_name(const struct saying *s, const uint8_t *raw)
{
	uint8_t cut[AHI_BONE_MHP3RD] = { 0 };

	memcpy(cut + AHI_NAME, raw + AHI_NAME, strnlen((const char *)raw + AHI_NAME, AHI_NAME_SIZE));
	say_value(s, "name", cut);
}

static int describe_bone(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	const struct saying *s = ctx;

	doc_item(s->d);
	if (s->r == &bone_mhp3rd)
		say_name(s, raw);
	else
		doc_text(s->d, "name", DOC_DERIVED, "bone_%u", i);
	say_value(s, "parent", raw);
	doc_record(s->d, s->r == &bone_mhp3rd ? &bone_record : &bone_rest, false, raw, src, at);
	return 0;
}

static int describe_parameters(struct object *o, struct doc *d, struct err *e)
{
	const struct ahi_skeleton *s = o->priv;
	struct arena a = { 0 };
	const uint8_t *raw;
	int rc = object_read(o, &a, HEADER_SIZE, (uint64_t)s->nparameters * 4, "parameters", &raw, e);

	if (!rc)
		doc_rows(d, "parameters", &parameter_record, false, raw, s->nparameters, o->src, HEADER_SIZE,
			 DOC_PLAIN);
	arena_free(&a);
	return rc;
}

static int doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	const struct ahi_skeleton *s = o->priv;
	struct buf text = { 0 };
	struct saying saying = { record_of(o), d, &text };
	int rc;

	(void)index;
	if (kind != DOC_SKELETON)
		return -ENOENT;
	doc_comment(d, "modelfs ahi %s", o->variant->version);
	doc_text(d, "kind", DOC_DERIVED, "%s", o->variant->version);
	rc = describe_parameters(o, d, e);
	if (rc)
		return rc;
	doc_list(d, "bones", s->nbones);
	rc = s->nbones ? object_section_records(o, 1, describe_bone, &saying, e) : 0;
	doc_end(d);
	rc = !rc && text.bad ? err_nomem(e) : rc;
	buf_free(&text);
	return rc;
}

/* ---- verify ---- */

struct checking { struct object *o; struct err *e; };

static int verify_bone(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	const struct checking *c = ctx;
	const struct record *r = record_of(c->o);
	uint8_t again[AHI_BONE_MHFU] = { 0 };
	struct ahi_bone b;
	char what[24];

	snprintf(what, sizeof what, "bone %u", i);
	rec_decode(r, false, raw, &b);
	if (r == &bone_mhfu)
		memcpy(again + AHI_SHARED, raw + AHI_SHARED, AHI_BONE_MHFU - AHI_SHARED);
	rec_encode(r, false, &b, again);
	return mhp_same(src, at, what, raw, again, r->size, c->e);
}

/* The sizes and counts of a sound skeleton follow from its bones and parameters. */
static int verify_header(struct object *o, struct err *e)
{
	const struct ahi_skeleton *s = o->priv;
	uint8_t raw[HEADER_SIZE], again[HEADER_SIZE];
	struct ahi_header h;
	int rc = src_read(o->src, raw, sizeof raw, 0, "skeleton header", e);

	if (rc)
		return rc;
	rec_decode(&header_record, false, raw, &h);
	h.magic = record_of(o) == &bone_mhfu ? MAGIC_MHFU : MAGIC_MHP3RD;
	h.section_count = s->nbones + 1;
	h.parameter_size = PARAMETERS_HEAD + 4 * s->nparameters;
	h.size = (uint32_t)(s->bones_at + (uint64_t)s->nbones * s->bone_size);
	rec_encode(&header_record, false, &h, again);
	return mhp_same(o->src, 0, "skeleton header", raw, again, sizeof raw, e);
}

static int verify(struct object *o, struct err *e)
{
	struct checking c = { o, e };
	int rc = o->faults ? 0 : verify_header(o, e);

	return rc || !count(o, PART_BONE) ? rc : object_section_records(o, 1, verify_bone, &c, e);
}

static const struct model_ops ops = {
	.open = open_skeleton, .count = count, .locate = locate, .doc = doc, .verify = verify,
	.doc_put = ahi_doc_put, .check = ahi_check, .skeleton = ahi_skeleton, .skeleton_put = ahi_skeleton_put,
};

const struct format fmt_ahi = {
	.name = "ahi", .title = "PSP Monster Hunter skeleton", .ext = "ahi",
	.doc = "Bones of a model. A bone's place is the sum of the offsets from its root on; angles are 0 or nearly "
	       "so.",
	.role = ROLE_SKELETON, .probe = probe, .variants = variants, .nvariants = ARRAY_LEN(variants),
	.docs = 1u << DOC_SKELETON, .model = &ops,
};
