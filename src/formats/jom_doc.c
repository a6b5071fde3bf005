/* The documents of a JOM: header, materials, meshes, textures, skeleton and animations. Numbers are the file's own: y
 * points down. */
#include "jom.h"

#include <errno.h>
#include <string.h>

/* ---- header.yaml ---- */

static bool is_word(const char *tag, size_t n)
{
	static const char *const reserved[] = { "NULL", "Null", "null", "TRUE", "True", "true", "YES", "Yes", "yes",
						"NO", "No", "no", "ON", "On", "on", "OFF", "Off", "off", "Y", "y",
						"N", "n" };

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strlen(reserved[i]) == n && !memcmp(tag, reserved[i], n))
			return false;
	for (size_t i = 0; i < n; i++) {
		bool letter = (tag[i] | 0x20) >= 'a' && (tag[i] | 0x20) <= 'z';

		if (!letter && !(i && ((tag[i] >= '0' && tag[i] <= '9') || tag[i] == '_')))
			return false;
	}
	return n;
}

/* As a word, where YAML takes it for one; else as texts are, without the blanks at its end. */
static void put_tag(struct buf *out, const char tag[4])
{
	static const struct field text = { .name = "", .count = 4, .type = F_TEXT };
	char cut[4] = { 0 };
	size_t n = 4;

	while (n && tag[n - 1] == ' ')
		n--;
	memcpy(cut, tag, n);
	if (is_word(cut, n))
		buf_add(out, cut, n);
	else
		field_print(&text, true, (const uint8_t *)cut, out);
}

static int describe_chunks(const struct jom_model *m, struct doc *d, struct err *e)
{
	struct buf list = { 0 };
	int rc = 0;

	buf_char(&list, '[');
	for (uint32_t i = 0; i < m->nchunks; i++) {
		buf_str(&list, i ? ", " : "");
		put_tag(&list, m->chunks[i].tag);
	}
	buf_add(&list, "]", 2);
	if (list.bad)
		rc = err_nomem(e);
	else
		doc_long_text(d, "chunks", DOC_DERIVED, (const char *)list.p);
	buf_free(&list);
	return rc;
}

static int describe_header(struct object *o, struct doc *d, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	const struct { const char *key; uint32_t n; } counts[] = {
		{ "point_count", m->table[JOM_PNTS].n }, { "polygon_count", m->npolygons },
		{ "triangle_count", m->ntriangles }, { "mesh_count", m->nmeshes },
		{ "material_count", m->table[JOM_MATL].n }, { "texture_count", m->table[JOM_TEXT].n },
		{ "normal_count", m->table[JOM_NTAB].n }, { "group_count", m->table[JOM_GRUP].n },
		{ "bone_count", m->nbones }, { "animation_count", m->table[JOM_ANIM].n },
	};
	int rc;

	doc_comment(d, "modelfs jom %s", o->variant->version);
	doc_record(d, &jom_header_record, true, m->bytes, o->src, 0);
	doc_text(d, "size", DOC_DERIVED, "%llu", (unsigned long long)m->size);
	rc = describe_chunks(m, d, e);
	for (size_t i = 0; i < ARRAY_LEN(counts) && !rc; i++)
		doc_text(d, counts[i].key, DOC_DERIVED, "%u", counts[i].n);
	return rc;
}

/* ---- lists of records ---- */

static void describe_records(struct object *o, const char *key, enum jom_tag tag, const struct record *r, struct doc *d)
{
	const struct jom_model *m = jom_of(o);

	doc_list(d, key, m->table[tag].n);
	for (uint32_t i = 0; i < m->table[tag].n; i++) {
		doc_item(d);
		doc_record(d, r, true, jom_row(m, tag, i), o->src, jom_row_at(m, tag, i));
	}
	doc_end(d);
}

static int describe_materials(struct object *o, struct doc *d)
{
	doc_comment(d, "modelfs jom %s materials", o->variant->version);
	describe_records(o, NULL, JOM_MATL, &jom_material_record, d);
	return 0;
}

static int describe_skeleton(struct object *o, struct doc *d)
{
	if (!jom_of(o)->table[JOM_BONE].there)
		return -ENOENT;
	doc_comment(d, "modelfs jom %s skeleton", o->variant->version);
	doc_text(d, "kind", DOC_PLAIN, "jom");
	describe_records(o, "bones", JOM_BONE, &jom_bone_record, d);
	return 0;
}

/* ---- meshes/N.yaml ---- */

static const struct field number_fields[] = {
	{ .name = "number", .doc = "A number", .count = 1, .type = F_U32, .member = FIELD_NO_MEMBER },
};
static const struct record number_record = RECORD("number", "A number", 4, number_fields);

static int describe_numbers(const char *key, const uint32_t *v, uint32_t n, struct object *o, struct doc *d,
			    struct arena *a, struct err *e)
{
	uint8_t *raw = arena_alloc(a, (size_t)n + 1, 4);

	if (!raw)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		field_set(&number_fields[0], true, raw + (size_t)i * 4, 0, v[i]);
	doc_rows(d, key, &number_record, true, raw, n, o->src, 0, DOC_DERIVED | DOC_SHOWN);
	return 0;
}

/* Rows of the mesh's polygons, which need not lie side by side; of those that the chunk has. */
static int describe_polygons(const char *key, const struct record *r, enum jom_tag tag, const struct jom_shown *s,
			     struct object *o, struct doc *d, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	uint32_t n = jom_rows_shown(m, s, tag, r->size);
	uint8_t *raw = arena_alloc(a, (size_t)n + 1, r->size);

	if (!raw)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		memcpy(raw + (size_t)i * r->size, m->table[tag].raw + (size_t)s->polygon[i] * r->size, r->size);
	doc_rows(d, key, r, true, raw, n, o->src, 0, DOC_BLOCK | DOC_SHOWN);
	return 0;
}

static int describe_mesh(struct object *o, uint32_t mesh, struct doc *d, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	uint32_t g = m->meshes[mesh].group;
	struct arena a = { 0 };
	struct jom_shown s;
	int rc = jom_mesh_shown(m, mesh, &s, &a, e);

	doc_comment(d, "modelfs jom %s mesh", o->variant->version);
	if (!rc && g != GEO_NONE)
		doc_record(d, &jom_group_record, true, jom_row(m, JOM_GRUP, g), o->src, jom_row_at(m, JOM_GRUP, g));
	rc = rc ? rc : describe_numbers("points", s.point, s.npoints, o, d, &a, e);
	rc = rc ? rc : describe_numbers("polygons", s.polygon, s.npolygons, o, d, &a, e);
	rc = rc ? rc : describe_polygons("normals", &jom_quad_record, JOM_QUAD, &s, o, d, &a, e);
	if (!rc && m->table[JOM_GOUR].there)
		rc = describe_polygons("gouraud", &jom_gouraud_record, JOM_GOUR, &s, o, d, &a, e);
	arena_free(&a);
	return rc;
}

/* ---- textures/K.yaml ---- */

static int describe_image(struct object *o, uint32_t i, struct doc *d)
{
	static const char *const sources[] = { [JOM_MISSING] = "missing", [JOM_FROM_TIMG] = "timg",
					       [JOM_FROM_BIN] = "bin", [JOM_FROM_TGA] = "tga" };
	const struct jom_model *m = jom_of(o);
	const struct jom_texture *t = &m->textures[i];

	doc_comment(d, "modelfs jom %s texture", o->variant->version);
	doc_record(d, &jom_text_record, true, jom_row(m, JOM_TEXT, i), o->src, jom_row_at(m, JOM_TEXT, i));
	doc_text(d, "source", DOC_DERIVED, "%s", sources[t->source]);
	if (t->source == JOM_FROM_TIMG) {
		const struct jom_picture *p = &m->pictures[i];

		doc_record(d, &jom_image_record, true, p->raw, o->src, p->at);
		if (p->h.format == JOM_LUT16)
			doc_record(d, &jom_palette_record, true, p->raw + JOM_IMAGE_SIZE, o->src,
				   p->at + JOM_IMAGE_SIZE);
	} else if (t->source != JOM_MISSING) {
		doc_text(d, "width", DOC_DERIVED, "%u", t->width);
		doc_text(d, "height", DOC_DERIVED, "%u", t->height);
	}
	return 0;
}

/* ---- animations/NAME.yaml ---- */

static int describe_clip(struct object *o, uint32_t i, struct doc *d)
{
	const struct jom_model *m = jom_of(o);
	const uint8_t *raw = jom_row(m, JOM_ANIM, i);
	struct jom_animation an;
	uint64_t at;

	rec_decode(&jom_animation_record, true, raw, &an);
	doc_comment(d, "modelfs jom %s animation", o->variant->version);
	doc_record(d, &jom_animation_record, true, raw, o->src, jom_row_at(m, JOM_ANIM, i));
	doc_list(d, "keys", an.key_count);
	at = m->chunks[m->table[JOM_ANIM].chunk].at + an.offset;
	for (unsigned k = 0; k < an.key_count; k++, at += m->key_size) {
		doc_item(d);
		doc_record(d, &jom_root_record, true, m->bytes + at, o->src, at);
		doc_rows(d, "angles", &jom_angles_record, true, m->bytes + at + jom_root_record.size, m->nbones, o->src,
			 at + jom_root_record.size, DOC_BLOCK);
	}
	doc_end(d);
	return 0;
}

int jom_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	switch (kind) {
	case DOC_HEADER: return describe_header(o, d, e);
	case DOC_MESH: return describe_mesh(o, index, d, e);
	case DOC_IMAGE: return describe_image(o, index, d);
	case DOC_SKELETON: return describe_skeleton(o, d);
	case DOC_CLIP: return describe_clip(o, index, d);
	case JOM_DOC_MATERIALS: return describe_materials(o, d);
	default: return -ENOENT;
	}
}
