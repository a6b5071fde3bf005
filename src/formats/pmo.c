/* PMO: models of the PSP Monster Hunter games (spec/mhp.md 3).
 *
 *   0x00  header, 0x40 bytes
 *         mesh table        0x18 bytes each (1.0), 0x30 (102)
 *         group table       0x10 bytes each; the groups of a mesh follow each other
 *         remap table       u8 each: material of a mesh -> material table; 102 may have none
 *         bone palette      2 bytes each: matrix slot, bone; runs on over all groups, across meshes
 *         material table    0x10 bytes each
 *         geometry region   display list, vertex buffer and index buffer of every group; of some 102 models it is
 *                           not here but is the next file of DATA.BIN
 *
 * The tables lie in this order on 16-byte boundaries; how long one is follows from the others. The header's size counts
 * the region, wherever it lies. */
#include "pmo.h"

#include <errno.h>
#include <string.h>

/* ---- records ---- */

#define S struct pmo_header
static const struct field header_fields[] = {
	TEXT(S, magic, 0x00, 4, "pmo and a zero", .flags = FL_HIDDEN),
	TEXT(S, version, 0x04, 4, "1.0 or 102", .flags = FL_DERIVED),
	U32(S, size, 0x08, "Bytes of header, tables and geometry region", .flags = FL_DERIVED),
	F32(S, cull_radius, 0x0c, "Radius of the sphere that culls the model; 0 culls it as a point"),
	F32N(S, scale, 0x10, 3, "Position scale x, y, z; version 102 uses the mesh's"),
	U16(S, mesh_count, 0x1c, "Meshes", .flags = FL_DERIVED),
	U16(S, material_count, 0x1e, "Materials", .flags = FL_DERIVED),
	U32(S, mesh_table, 0x20, "Offset of the mesh table", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, group_table, 0x24, "Offset of the group table", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, remap_table, 0x28, "Offset of the remap table; 0: none", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, palette_table, 0x2c, "Offset of the bone palette", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, material_table, 0x30, "Offset of the material table", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, geometry, 0x34,
	    "Offset of the geometry region; the file's length when the region is the next file of DATA.BIN",
	    .view = V_HEX, .flags = FL_HIDDEN),
	PAD("reserved", 0x38, 8),
};
#undef S
static const struct record header_record = RECORD("header", "Header", PMO_HEADER_SIZE, header_fields);

static const struct label lighting_bits[] = {
	{ 0x00000001, "lighting" }, { 0x00000002, "fog" }, { 0x00000004, "alpha_blend" }, { 0x80000000, "enable" },
	{ 0, NULL }
};

#define S struct pmo_mesh
static const struct field draw_fields[] = {            /* the 16 bytes that both versions share */
	U32(S, lighting, 0x0, "How the mesh is drawn", .view = V_FLAGS, .labels = lighting_bits),
	U32(S, blend, 0x4, "GE command BLENDMODE, or 0", .view = V_HEX),
	U8(S, remap_count, 0x8, "Remap entries of this mesh", .flags = FL_DERIVED | FL_HIDDEN),
	PAD("reserved", 0x9, 1),
	U16(S, first_remap, 0xa, "First remap entry", .flags = FL_DERIVED | FL_HIDDEN),
	U16(S, group_count, 0xc, "Groups of this mesh", .flags = FL_DERIVED | FL_HIDDEN),
	U16(S, first_group, 0xe, "First group", .flags = FL_DERIVED | FL_HIDDEN),
};
static const struct record draw_record = RECORD("draw", "What meshes of both versions end with", 0x10, draw_fields);

static const struct field mesh_10_fields[] = {
	F32N(S, uv_scale, 0x00, 2, "UV scale"),
	INLINE(0x08, &draw_record),
};
static const struct field mesh_102_fields[] = {
	F32N(S, scale, 0x00, 4, "Position scale x, y, z; the fourth value is kept as it is"),
	F32N(S, uv_scale, 0x10, 2, "UV scale"),
	F32N(S, uv_offset, 0x18, 2, "UV offset"),
	INLINE(0x20, &draw_record),
};
#undef S
static const struct record mesh_10_record = RECORD("mesh", "Mesh", 0x18, mesh_10_fields);
static const struct record mesh_102_record = RECORD("mesh", "Mesh", 0x30, mesh_102_fields);

#define S struct pmo_group
static const struct field group_fields[] = {
	U8(S, material, 0x0, "Material, counted in the mesh's remap run"),
	U8(S, palette_count, 0x1, "Bone palette entries this group sets", .flags = FL_DERIVED | FL_HIDDEN),
	U16(S, first_palette, 0x2, "The first of them", .flags = FL_DERIVED | FL_HIDDEN),
	U32(S, display_list, 0x4, "Display list, from the start of the geometry region", .view = V_HEX,
	    .flags = FL_HIDDEN),
	U32(S, vertex_buffer, 0x8, "Vertex buffer, likewise", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, index_buffer, 0xc, "Index buffer, likewise; 0: not indexed", .view = V_HEX, .flags = FL_HIDDEN),
};
#undef S
const struct record pmo_group_record = RECORD("group", "Group: one display list of a mesh", 0x10, group_fields);

/* Read straight from their bytes. */
static const struct field remap_fields[] = {
	{ .name = "material", .doc = "Index in the material table", .count = 1, .type = F_U8,
	  .member = FIELD_NO_MEMBER },
};
const struct record pmo_remap_record = RECORD("remap", "Remap entry", 1, remap_fields);

static const struct field palette_fields[] = {
	{ .name = "slot", .doc = "Matrix slot, 0 to 7", .count = 1, .type = F_U8, .member = FIELD_NO_MEMBER },
	{ .name = "bone", .doc = "Bone whose matrix it holds from this group on", .at = 1, .count = 1, .type = F_U8,
	  .member = FIELD_NO_MEMBER },
};
const struct record pmo_palette_record = RECORD("palette", "Bone palette entry", 2, palette_fields);

#define S struct pmo_material
static const struct field material_fields[] = {
	U8N(S, colour, 0x0, 4, "Multiplies the texture; alpha 0: not drawn", .view = V_COLOUR),
	U8N(S, ambient, 0x4, 4, "Ambient colour", .view = V_COLOUR),
	U8(S, texture, 0x8, "Image of the texture bank; 255: none", .flags = FL_NULL),
	PAD("reserved", 0x9, 3),
	U32(S, leftover, 0xc, "Unknown; kept as it is", .view = V_HEX),
};
#undef S
const struct record pmo_material_record = RECORD("material", "Material", 0x10, material_fields);

#define SECTIONS(mesh) { \
	[PMO_HEADER] = { "header", "Header", SECTION_ONE, &header_record, "header.yaml" }, \
	[PMO_MESHES] = { "meshes", "Mesh table", SECTION_LIST, mesh, NULL }, \
	[PMO_GROUPS] = { "groups", "Group table", SECTION_LIST, &pmo_group_record, NULL }, \
	[PMO_REMAP] = { "remap", "Remap table", SECTION_LIST, &pmo_remap_record, NULL }, \
	[PMO_PALETTE] = { "palette", "Bone palette", SECTION_LIST, &pmo_palette_record, NULL }, \
	[PMO_MATERIALS] = { "materials", "Material table", SECTION_LIST, &pmo_material_record, "materials.yaml" }, \
	[PMO_GEOMETRY] = { "geometry", "Display lists, vertex and index buffers", SECTION_BYTES, NULL, NULL }, \
}
static const struct section sections_10[PMO_SECTIONS] = SECTIONS(&mesh_10_record);
static const struct section sections_102[PMO_SECTIONS] = SECTIONS(&mesh_102_record);

const struct variant pmo_variants[PMO_VERSIONS] = {
	[PMO_10] = { "1.0", "Portable 2nd G, Freedom Unite", sections_10, PMO_SECTIONS, NULL },
	[PMO_102] = { "102", "Portable 3rd", sections_102, PMO_SECTIONS, NULL },
};

/* ---- detection ---- */

int pmo_version(const uint8_t *header)
{
	for (int v = 0; v < PMO_VERSIONS; v++)
		if (!memcmp(header + 4, pmo_variants[v].version, 4))
			return v;
	return -1;
}

/* Other versions are this format too: their directory says what is wrong. */
static int pmo_probe(struct probe *p)
{
	if (p->n < 8 || memcmp(p->head, "pmo", 4))
		return 0;
	return pmo_version(p->head) >= 0 ? 100 : 50;
}

/* ---- views ---- */

static uint32_t pmo_count(const struct object *o, unsigned part)
{
	const struct pmo *p = o->priv;

	return part == PART_MESH ? p->nmeshes : 0;
}

static int pmo_locate(const struct object *o, unsigned section, struct span *out)
{
	const struct pmo *p = o->priv;
	const struct pmo_table *t = &p->table[section];

	if (section == PMO_HEADER)
		*out = (struct span){ .at = 0, .size = PMO_HEADER_SIZE };
	else if (section == PMO_GEOMETRY)
		*out = (struct span){ .at = p->region.at, .size = p->region.size, .part = p->behind };
	else
		*out = (struct span){ .at = t->at, .size = (uint64_t)t->n * t->each };
	return 0;
}

static bool pmo_skinned(const struct object *o, uint32_t mesh)
{
	const struct pmo *p = o->priv;
	const struct pmo_mesh *m = &p->mesh[mesh];
	uint32_t n = m->bad || !p->region.src ? 0 : m->group_count;

	for (uint32_t k = m->first_group; k < m->first_group + n; k++)
		if (p->group[k].corners && ge_type_has_weights(p->group[k].vertex_type))
			return true;
	return false;
}

int32_t pmo_material_index(const struct pmo *p, const struct pmo_mesh *m, const struct pmo_group *g)
{
	const struct pmo_table *remap = &p->table[PMO_REMAP];
	uint32_t i = m->first_remap + g->material;

	if (p->head.remap_table) {
		if (g->material >= m->remap_count || i >= remap->n)
			return -1;
		i = remap->raw[i];
	}
	return i < p->table[PMO_MATERIALS].n ? (int32_t)i : -1;
}

static int pmo_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e)
{
	const struct pmo *p = o->priv;
	const struct pmo_table *t = &p->table[PMO_MATERIALS];
	struct pmo_material m = { 0 };

	if (i >= t->n)
		return err_at(e, EBADMSG, o->src, t->at, "material table", "material %u of %u", i, t->n);
	rec_decode(&pmo_material_record, false, t->raw + (size_t)i * t->each, &m);
	out->name = arena_printf(a, "material_%u", i);
	for (unsigned k = 0; k < 4; k++)
		out->colour[k] = (float)(m.colour[k] / 255.0);
	out->image = m.texture == 0xff ? -1 : m.texture;
	out->both_sides = true;                /* nothing is culled */
	return out->name ? 0 : err_nomem(e);
}

static int doc_group(struct object *o, const struct pmo *p, uint32_t k, struct doc *d, struct pmo_window *win,
		     struct err *e)
{
	const struct pmo_table *t = &p->table[PMO_GROUPS], *palette = &p->table[PMO_PALETTE];
	const struct pmo_group *g = &p->group[k];
	struct pmo_scan scan;
	int rc;

	doc_item(d);
	doc_record(d, &pmo_group_record, false, t->raw + (size_t)k * t->each, o->src, t->at + (uint64_t)k * t->each);
	if (palette->room)
		doc_rows(d, "palette", &pmo_palette_record, false,
			 g->palette_count ? palette->raw + 2u * g->first_palette : NULL, g->palette_count, o->src,
			 palette->at + 2ull * g->first_palette, DOC_PLAIN);
	if (!p->region.src)
		return 0;
	doc_text(d, "vertex_type", DOC_DERIVED, "0x%06x", g->vertex_type);
	rc = pmo_group_scan(p, k, 0, NULL, win, &scan, e);
	/* What cannot be counted stands in errors.txt; the rest of the mesh can still be seen here. */
	if (rc)
		return rc == -EBADMSG || rc == -EFBIG ? 0 : rc;
	doc_text(d, "vertices", DOC_DERIVED, "%u", scan.vertices);
	doc_text(d, "triangles", DOC_DERIVED, "%u", scan.faces);
	return 0;
}

/* A mesh is hidden by turning its PRIMs into NOPs. */
static bool is_visible(const struct pmo *p, const struct pmo_mesh *m)
{
	bool draws = false, hidden = false;

	for (uint32_t k = m->first_group; k < (uint32_t)m->first_group + m->group_count; k++) {
		draws |= p->group[k].draws;
		hidden |= p->group[k].hidden;
	}
	return draws || !hidden;
}

/* The fault noted when the model was opened. */
static int mesh_error(const struct object *o, uint32_t mesh, struct err *e)
{
	const struct fault *f = object_find_fault(o, PART_MESH, mesh);

	return err_set(e, EBADMSG, "%s", f ? f->text : "damaged mesh");
}

static int pmo_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	const struct pmo *p = o->priv;
	const struct pmo_table *t = &p->table[PMO_MESHES], *remap = &p->table[PMO_REMAP];
	const struct pmo_mesh *m;
	struct pmo_window win = { 0 };
	int rc = 0;

	if (kind != DOC_MESH || index >= p->nmeshes)
		return -ENOENT;
	m = &p->mesh[index];
	if (m->bad)
		return mesh_error(o, index, e);
	doc_record(d, p->mesh_record, false, t->raw + (size_t)index * t->each, o->src,
		   t->at + (uint64_t)index * t->each);
	if (p->head.remap_table && remap->room)
		doc_rows(d, "materials", &pmo_remap_record, false, m->remap_count ? remap->raw + m->first_remap : NULL,
			 m->remap_count, o->src, remap->at + (uint64_t)m->first_remap, DOC_PLAIN);
	if (p->region.src)
		doc_text(d, "visible", DOC_PLAIN, "%s", is_visible(p, m) ? "true" : "false");
	doc_list(d, "groups", m->group_count);
	for (uint32_t k = 0; k < m->group_count && !rc; k++)
		rc = doc_group(o, p, m->first_group + k, d, &win, e);
	doc_end(d);
	buf_free(&win.bytes);
	return rc;
}

int pmo_mesh_sound(const struct object *o, uint32_t mesh, struct err *e)
{
	const struct pmo *p = o->priv;

	if (p->missing)
		return err_set(e, EBADMSG, "%s", p->missing);
	if (mesh >= p->nmeshes)
		return err_set(e, ENOENT, "mesh %u of %u", mesh, p->nmeshes);
	return p->mesh[mesh].bad ? mesh_error(o, mesh, e) : 0;
}

static int pmo_mesh(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	int rc = pmo_mesh_sound(o, mesh, e);

	return rc ? rc : pmo_mesh_geometry(o, mesh, out, a, e);
}

static int pmo_mesh_full(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	int rc = pmo_mesh_sound(o, mesh, e);

	return rc ? rc : pmo_full_geometry(o, mesh, out, a, e);
}

static const struct model_ops model = {
	.open = pmo_open, .count = pmo_count, .locate = pmo_locate, .doc = pmo_doc, .skinned = pmo_skinned,
	.mesh = pmo_mesh, .mesh_full = pmo_mesh_full, .material = pmo_material, .verify = pmo_verify,
	.doc_tree = pmo_doc_tree, .doc_put = pmo_doc_put, .mesh_put = pmo_mesh_put, .weights_put = pmo_weights_put,
	.check = pmo_check,
};

const struct format fmt_pmo = {
	.name = "pmo",
	.title = "PSP Monster Hunter model",
	.ext = "pmo",
	.doc = "A model: meshes of groups, each one display list of the PSP's graphics engine with its vertices and "
	       "indices, and the materials they use. Bones and pictures are files of their own. Version 102 can keep "
	       "its geometry in the next file of DATA.BIN.",
	.behind = "geo",
	.pack_behind = 2,                      /* model, geometry, moveset (spec/mhp.md 2.2) */
	.role = ROLE_MODEL,
	.docs = 1 << DOC_MESH,
	.probe = pmo_probe,
	.variants = pmo_variants,
	.nvariants = PMO_VERSIONS,
	.model = &model,
};
