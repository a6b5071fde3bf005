/* MRL3 material library, Monster Hunter World (spec/mod3.md 13). Little-endian.
 *
 *   0x00  magic MRL and a zero; version 11 or 12; u64 time
 *   0x10  material count, texture count; u64 offset of the textures, u64 offset of the materials
 *
 *   texture (272 bytes)   type hash, 12 zeros, path[256]
 *   material (56 bytes)   type, name, shader and second hash; block size; u16 flags, u16 resource bytes / 8;
 *                         alpha[4]; 20 zeros; u64 offset of the block
 *   block                 resources (16 bytes): kind in 4 bits, 28 bits left over; 12 bits, name id in 20; value; zero
 *                         then constants, f32
 *
 * A material joins a model's by the JAMCRC of its name. Tables are found by their offsets; one that does not lie in the
 * file is left out, and a material whose block does not keeps its record only. */
#include "mrl3.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bytes.h"

#define MOST_NOTED 256u                        /* damaged materials with a line each */

/* ---- records ---- */

#define S struct mrl3_header
static const struct field header_fields[] = {
	{ .name = "magic", .doc = "`MRL` and a zero", .at = 0x00, .count = 4, .type = F_RAW, .member = FIELD_NO_MEMBER,
	  .flags = FL_HIDDEN },
	U32(S, version, 0x04, "11 in 2017, or 12", .flags = FL_DERIVED),
	U64(S, time, 0x08, "Seconds since 1970"),
	U32(S, material_count, 0x10, "Materials", .flags = FL_DERIVED),
	U32(S, texture_count, 0x14, "Textures", .flags = FL_DERIVED),
	U64(S, texture_off, 0x18, "Place of the texture records", .view = V_HEX, .digits = 8, .flags = FL_DERIVED),
	U64(S, material_off, 0x20, "Place of the material records", .view = V_HEX, .digits = 8, .flags = FL_DERIVED),
};
#undef S
const struct record mrl3_header_record = RECORD("library header", "Begins the file", MRL3_HEADER_SIZE, header_fields);

#define S struct mrl3_texture
static const struct field texture_fields[] = {
	U32(S, type_hash, 0x00, "JAMCRC of rTexture without its highest bit", .view = V_HEX),
	PAD("zero_04", 0x04, 12),
	TEXT(S, path, MRL3_TEXTURE_PATH, MRL3_PATH_SIZE, "Below the data root, with `\\` and without .tex",
	     .flags = FL_TRIM | FL_ENDED),
};
static const struct field path_fields[] = {
	TEXT(S, path, 0, MRL3_PATH_SIZE, "Below the data root, with `\\` and without .tex",
	     .flags = FL_TRIM | FL_ENDED | FL_DERIVED),
};
#undef S
const struct record mrl3_texture_record = RECORD("texture", "Names a texture", MRL3_TEXTURE_SIZE, texture_fields);
const struct record mrl3_path_record = RECORD("texture path", "Path of a texture", MRL3_PATH_SIZE, path_fields);

#define S struct mrl3_stored
static const struct field material_fields[] = {
	U32(S, type_hash, 0x00, "JAMCRC of nDraw::Material without its highest bit", .view = V_HEX),
	U32(S, name_hash, 0x04, "JAMCRC of a material name of the model", .view = V_HEX),
	U32(S, shader_hash, 0x08, "Shader, the master material", .view = V_HEX),
	U32(S, second_hash, 0x0c, "Called skin id by a tool", .view = V_HEX),
	U32(S, block_size, 0x10, "Bytes of the block", .flags = FL_DERIVED),
	U16(S, surface_flags, 0x14, "0xe100, 0x1100 and 0xe201 seen", .view = V_HEX),
	U16(S, resource_size, 0x16, "Bytes of the resource records / 8", .flags = FL_DERIVED),
	U8N(S, alpha, 0x18, 4, "Alpha bytes; the first may be a factor"),
	PAD("zero_1c", 0x1c, 20),
	U64(S, block_off, 0x30, "Place of the block", .view = V_HEX, .digits = 8, .flags = FL_DERIVED),
};
#undef S
const struct record mrl3_material_record =
	RECORD("material", "Describes a material", MRL3_MATERIAL_SIZE, material_fields);

static const struct label kind_labels[] = {
	{ MRL3_CONSTANTS, "constants" }, { MRL3_SAMPLER, "sampler" }, { MRL3_TEXTURE, "texture" }, { 0, NULL }
};

#define S struct mrl3_resource
static const struct field resource_fields[] = {
	U32(S, kind, 0x0, "What is bound", .bits = 4, .view = V_ENUM, .labels = kind_labels, .flags = FL_DERIVED),
	U32(S, kind_leftover, 0x0, "Left over from the tool that wrote it", .bit = 4, .bits = 28, .view = V_HEX),
	U32(S, name_id, 0x4, "Lowest 20 bits of the JAMCRC of the resource's name with __disclosure", .bit = 12,
	    .bits = 20, .view = V_HEX),
	U32(S, name_leftover, 0x4, "Zero", .bits = 12, .view = V_HEX, .flags = FL_ODD),
	U32(S, value, 0x8, "Texture: its number from 1, 0 is none; sampler: its state; constants: their place in the "
	    "block"),
	U32(S, unknown_0c, 0xc, "Zero", .view = V_HEX, .flags = FL_ODD),
};
#undef S
const struct record mrl3_resource_record =
	RECORD("resource", "Binds a texture, a sampler or constants", MRL3_RESOURCE_SIZE, resource_fields);

struct constant { float value; };
#define S struct constant
static const struct field constant_fields[] = { F32(S, value, 0, "Its layout depends on the shader") };
#undef S
static const struct record constant_record =
	RECORD("constant", "One of the constants that follow the resources of a block", 4, constant_fields);

enum { SECTION_HEADER, SECTION_TEXTURES, SECTION_MATERIALS, SECTION_BLOCKS };
static const struct section sections[] = {
	{ "header", "Counts and offsets", SECTION_ONE, &mrl3_header_record, "header.yaml" },
	{ "textures", "Texture paths", SECTION_LIST, &mrl3_texture_record, NULL },
	{ "materials", "Material records", SECTION_LIST, &mrl3_material_record, NULL },
	{ "blocks", "Blocks of all materials, from the first to the end of the last", SECTION_BYTES, NULL, NULL },
};
static const struct record *const other_records[] = { &mrl3_resource_record, &constant_record, NULL };
static const struct variant variants[] = {
	{ "11", "Files of 2017", sections, ARRAY_LEN(sections), other_records },
	{ "12", "Base game and Iceborne", sections, ARRAY_LEN(sections), other_records },
};

/* ---- opening ---- */

struct library { struct mrl3_tables t; uint64_t blocks_at, blocks_end; };

static bool has_textures(const struct object *o, uint32_t index)
{
	const struct library *l = o->priv;

	(void)index;
	return l->t.ntextures == l->t.head.texture_count;
}

static bool has_materials(const struct object *o, uint32_t index)
{
	const struct library *l = o->priv;

	(void)index;
	return l->t.nmaterials == l->t.head.material_count;
}

enum { OWN_TEXTURES, OWN_MATERIALS };
static const struct own_file own[] = {
	{ .name = "textures.yaml", .doc = "Paths of the textures", .there = has_textures },
	{ .name = "materials.yaml", .doc = "Materials with their resources and constants", .there = has_materials },
};

struct noting { struct object *o; uint32_t n; };

static void note(void *ctx, const struct err *why)
{
	struct noting *k = ctx;

	if (k->n++ < MOST_NOTED)
		object_fault(k->o, PART_OBJECT, 0, false, why);
}

struct checking { const struct mrl3_tables *t; uint32_t material; struct err *why; };

/* Numbers that lead nowhere. */
static int check_resource(void *ctx, uint32_t i, const uint8_t *raw, uint64_t at)
{
	const struct checking *c = ctx;
	struct mrl3_name name = mrl3_name("material", c->material);
	uint64_t size = c->t->block[c->material].size;
	uint32_t count = c->t->head.texture_count;
	struct mrl3_resource r;

	rec_decode(&mrl3_resource_record, false, raw, &r);
	if (r.kind == MRL3_TEXTURE && r.value > count)
		return err_at(c->why, EINVAL, c->t->src, at, name.text,
			      "resource %u names texture %u, expected 0 to %u", i, r.value, count);
	if (r.kind == MRL3_CONSTANTS && r.value > size)
		return err_at(c->why, EINVAL, c->t->src, at, name.text,
			      "constants of resource %u lie at %u of a block of %" PRIu64 " bytes", i, r.value, size);
	return 0;
}

static int check_materials(struct object *o, struct noting *k, struct err *e)
{
	struct library *l = o->priv;
	struct err why = { 0 };
	int rc = 0;

	for (uint32_t i = 0; i < l->t.nmaterials && (!rc || rc == -EINVAL); i++) {
		struct checking c = { &l->t, i, &why };

		rc = mrl3_resources(&l->t, i, check_resource, &c, &why);
		if (rc == -EINVAL)
			note(k, &why);
	}
	if (rc && rc != -EINVAL) {
		*e = why;
		return rc;
	}
	return 0;
}

static void find_blocks(struct library *l)
{
	for (uint32_t i = 0; i < l->t.nmaterials; i++) {
		const struct mrl3_block *b = &l->t.block[i];

		if (!b->size)
			continue;
		if (!l->blocks_end || b->at < l->blocks_at)
			l->blocks_at = b->at;
		if (b->at + b->size > l->blocks_end)
			l->blocks_end = b->at + b->size;
	}
}

static int open_library(struct object *o, struct err *e)
{
	struct library *l = arena_alloc(&o->arena, 1, sizeof *l);
	struct noting k = { o, 0 };
	int rc = l ? mrl3_tables(o->src, &l->t, note, &k, &o->arena, e) : err_nomem(e);

	if (rc)
		return rc;
	o->priv = l;
	o->variant = &variants[l->t.head.version - 11];
	find_blocks(l);
	return check_materials(o, &k, e);
}

static int probe(struct probe *p)
{
	uint32_t version = p->n >= 8 && !memcmp(p->head, "MRL", 4) ? le_u32(p->head + 4) : 0;

	return version == 11 || version == 12 ? 100 : 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct library *l = o->priv;
	const struct mrl3_header *h = &l->t.head;

	*out = (struct span){ 0 };
	switch (section) {
	case SECTION_HEADER: out->size = MRL3_HEADER_SIZE; break;
	case SECTION_TEXTURES:
		*out = (struct span){ h->texture_off, (uint64_t)l->t.ntextures * MRL3_TEXTURE_SIZE, 0 };
		break;
	case SECTION_MATERIALS:
		*out = (struct span){ h->material_off, (uint64_t)l->t.nmaterials * MRL3_MATERIAL_SIZE, 0 };
		break;
	default: *out = (struct span){ l->blocks_at, l->blocks_end - l->blocks_at, 0 };
	}
	return 0;
}

/* ---- documents ---- */

static int say_texture(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	struct doc *d = ctx;

	doc_comment(d, "%u, in materials.yaml %u", i, i + 1);
	doc_item(d);
	doc_record(d, &mrl3_texture_record, false, raw, src, at);
	return 0;
}

static int say_textures(struct object *o, struct doc *d, struct err *e)
{
	const struct library *l = o->priv;
	int rc;

	doc_list(d, NULL, l->t.ntextures);
	rc = object_section_records(o, SECTION_TEXTURES, say_texture, d, e);
	doc_end(d);
	return rc;
}

struct saying { struct object *o; struct doc *d; struct err *e; };

static int say_resource(void *ctx, uint32_t i, const uint8_t *raw, uint64_t at)
{
	const struct saying *s = ctx;
	struct mrl3_resource r;
	const char *name;

	rec_decode(&mrl3_resource_record, false, raw, &r);
	name = mrl3_resource_name(r.name_id);
	doc_comment(s->d, name ? "%u: %s" : "%u", i, name);
	doc_item(s->d);
	doc_record(s->d, &mrl3_resource_record, false, raw, s->o->src, at);
	return 0;
}

/* Bytes that are no whole constant. */
static void say_rest(const struct saying *s, const uint8_t *raw, uint16_t n, uint64_t at)
{
	const struct field field = RAW("rest", 0, n, "Bytes behind the last whole constant");
	const struct record rest = { "rest of a block", "Behind the last whole constant", n, &field, 1 };

	if (n)
		doc_record(s->d, &rest, false, raw, s->o->src, at);
}

static int say_block(const struct saying *s, uint32_t i)
{
	const struct library *l = s->o->priv;
	const struct mrl3_block *b = &l->t.block[i];
	uint64_t at = b->at + (uint64_t)b->nresources * MRL3_RESOURCE_SIZE;
	uint32_t n = (uint32_t)(b->size - (uint64_t)b->nresources * MRL3_RESOURCE_SIZE);
	struct saying inner = *s;
	struct arena a = { 0 };
	const uint8_t *raw;
	int rc;

	doc_list(s->d, "resources", b->nresources);
	rc = mrl3_resources(&l->t, i, say_resource, &inner, s->e);
	doc_end(s->d);
	rc = rc ? rc : object_read(s->o, &a, at, n, mrl3_name("material", i).text, &raw, s->e);
	if (!rc) {
		doc_rows(s->d, "constants", &constant_record, false, raw, n / 4, s->o->src, at, DOC_PLAIN);
		say_rest(s, raw + n / 4 * 4, n % 4, at + n / 4 * 4);
	}
	arena_free(&a);
	return rc;
}

static int say_material(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	const struct saying *s = ctx;
	const struct library *l = s->o->priv;

	doc_comment(s->d, "%u at 0x%07llx", i, (unsigned long long)at);
	doc_item(s->d);
	doc_record(s->d, &mrl3_material_record, false, raw, src, at);
	return l->t.block[i].damaged ? 0 : say_block(s, i);
}

static int say_materials(struct object *o, struct doc *d, struct err *e)
{
	const struct library *l = o->priv;
	struct saying s = { o, d, e };
	int rc;

	doc_list(d, NULL, l->t.nmaterials);
	rc = object_section_records(o, SECTION_MATERIALS, say_material, &s, e);
	doc_end(d);
	return rc;
}

static int doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	(void)index;
	switch (kind) {
	case DOC_OWN + OWN_TEXTURES: return say_textures(o, d, e);
	case DOC_OWN + OWN_MATERIALS: return say_materials(o, d, e);
	default: return -ENOENT;
	}
}

/* ---- check ---- */

static int check_path(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	(void)src;
	(void)at;
	return raw[MRL3_TEXTURE_SIZE - 1] ? err_set(ctx, EINVAL, "texture %u: a path of more than %u bytes", i,
						    MRL3_PATH_SIZE - 1) : 0;
}

static int check(struct object *o, struct err *e)
{
	const struct library *l = o->priv;
	int rc = object_section_records(o, SECTION_TEXTURES, check_path, e, e);

	for (uint32_t i = 0; i < l->t.nmaterials && !rc; i++) {
		struct checking c = { &l->t, i, e };

		rc = mrl3_resources(&l->t, i, check_resource, &c, e);
	}
	return rc;
}

/* ---- verifying: what no section's records are ---- */

static int verify_resource(void *ctx, uint32_t i, const uint8_t *raw, uint64_t at)
{
	const struct checking *c = ctx;
	uint8_t again[MRL3_RESOURCE_SIZE] = { 0 };
	struct mrl3_resource r;

	rec_decode(&mrl3_resource_record, false, raw, &r);
	rec_encode(&mrl3_resource_record, false, &r, again);
	return !memcmp(raw, again, sizeof again) ? 0 :
	       err_at(c->why, EILSEQ, c->t->src, at, mrl3_name("material", c->material).text,
		      "resource %u is another one after decoding and encoding", i);
}

static int verify(struct object *o, struct err *e)
{
	const struct library *l = o->priv;
	int rc = 0;

	for (uint32_t i = 0; i < l->t.nmaterials && !rc; i++) {
		struct checking c = { &l->t, i, e };

		rc = mrl3_resources(&l->t, i, verify_resource, &c, e);
	}
	return rc;
}

static const struct model_ops ops = {
	.open = open_library, .locate = locate, .doc = doc, .check = check, .verify = verify,
};

const struct format fmt_mrl3 = {
	.name = "mrl3", .title = "Monster Hunter World material library", .ext = "mrl3",
	.doc = "Which textures and constants a model's materials have. A material is joined to those of a model by the "
	       "JAMCRC of its name (CRC-32 with all bits inverted), textures are found below the data root.",
	.probe = probe, .variants = variants, .nvariants = ARRAY_LEN(variants), .own = own, .nown = ARRAY_LEN(own),
	.model = &ops,
};
