/* JOM, the model format of Jo Engine (Sega Saturn; spec/jom.md). All big-endian.
 *
 *   0x00  char[4] JOM1; u16 version 1; u16 0
 *   0x08  fixed[3] middle and fixed radius of the sphere around it
 *   0x18  chunks: char[4] tag, u32 size of the data, data; known ones begin with a u32 count
 *         TIMG pictures      PNTS points        QUAD polygons      QMAT their materials   MATL materials
 *         TEXT texture names NTAB normals       CNRM of corners    VCOL colours of points GOUR of corners
 *         GRUP groups        BONE bones         ANIM animations and, behind them, their keys
 *   last  "END ", 0
 *
 * Chunks may come in any order, and unknown ones between them; all stay where they are. Opening is jom_open.c, geometry
 * jom_mesh.c, pictures jom_texture.c and jom_image.c, documents jom_doc.c. */
#include "jom.h"

#include <string.h>

static const struct section sections[] = {
	{ "header", "Magic, version and the sphere around the model", SECTION_ONE, &jom_header_record, NULL },
};
static const struct record *const records[] = {
	&jom_point_record, &jom_quad_record, &jom_polygon_material_record, &jom_material_record, &jom_text_record,
	&jom_image_record, &jom_palette_record, &jom_normal_record, &jom_corner_normals_record,
	&jom_vertex_colour_record, &jom_gouraud_record, &jom_group_record, &jom_bone_record, &jom_animation_record,
	&jom_root_record, &jom_angles_record, NULL
};
static const struct variant variants[] = {
	{ "1", "A header, then chunks: a tag of 4 letters, the size of the data and the data, which begin with a u32 "
	  "count where records follow. One tagged END closes it. The data are `raw/TAG.bin`, of a repeated tag "
	  "`raw/TAG~2.bin`", sections, ARRAY_LEN(sections), records },
};

static int probe(struct probe *p)
{
	return p->n >= 4 && !memcmp(p->head, "JOM1", 4) ? 90 : 0;
}

static int open_model(struct object *o, struct err *e)
{
	int rc = jom_open(o, e);

	o->variant = rc ? NULL : &variants[0];
	return rc;
}

static uint32_t count(const struct object *o, unsigned part)
{
	const struct jom_model *m = jom_of(o);

	switch (part) {
	case PART_MESH: return m->nmeshes;
	case PART_IMAGE: return m->table[JOM_TEXT].n;
	case PART_CLIP: return m->table[JOM_ANIM].n;
	case PART_BONE: return m->nbones;
	default: return 0;
	}
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	(void)o;
	(void)section;
	*out = (struct span){ 0, JOM_HEADER_SIZE, 0 };
	return 0;
}

/* END has no data to show, as a rule. */
static bool chunk(const struct object *o, uint32_t i, struct chunk *out)
{
	const struct jom_model *m = jom_of(o);
	const struct jom_chunk *c = &m->chunks[i];

	if (i > m->nchunks)
		return false;
	*out = (struct chunk){ .at = c->at, .size = c->size, .head = JOM_CHUNK_HEAD };
	if (i < m->nchunks || c->size)
		strcpy(out->name, c->name);
	return true;
}

/* A mesh always has its OBJ; a texture a PNG when its picture was found; a skeleton may have no bones. */
static bool has(const struct object *o, unsigned part, uint32_t i)
{
	const struct jom_model *m = jom_of(o);

	if (part == PART_IMAGE)
		return m->textures[i].source != JOM_MISSING;
	return part != PART_BONE || m->table[JOM_BONE].there;
}

static void part_name(const struct object *o, unsigned part, uint32_t i, char name[PART_NAME_MAX])
{
	strcpy(name, part == PART_CLIP ? jom_of(o)->clip_names[i] : "");
}

static const struct own_file own[] = {
	{ .name = "materials.yaml", .doc = "Materials, in the order of MATL", .part = PART_OBJECT },
};

static const struct model_ops ops = {
	.open = open_model, .count = count, .locate = locate, .chunk = chunk, .doc = jom_doc, .mesh = jom_mesh,
	.mesh_full = jom_mesh_full, .skeleton = jom_skeleton, .skeleton_put = jom_skeleton_put,
	.clip = jom_clip,
	.clips_put = jom_clips_put,
	.form = jom_form, .material = jom_material, .image = jom_image, .has = has, .part_name = part_name,
	.verify = jom_verify, .doc_tree = jom_doc_tree, .doc_put = jom_doc_put, .mesh_put = jom_mesh_put,
	.image_put = jom_image_put, .image_fits = jom_image_fits, .check = jom_check,
};

const struct format fmt_jom = {
	.name = "jom", .title = "Jo Engine model for the Sega Saturn", .ext = "jom",
	.doc = "Points, quads and triangles in fixed point, materials, groups, bones and animations. The y axis points "
	       "down and the z axis forward. A fixed number is 65536 times what it means, an angle has 65536 units to "
	       "the circle and is shown in degrees.",
	.be = true, .role = ROLE_MODEL, .probe = probe, .variants = variants, .nvariants = ARRAY_LEN(variants),
	.docs = 1u << DOC_HEADER | 1u << DOC_MESH | 1u << DOC_IMAGE | 1u << DOC_SKELETON | 1u << DOC_CLIP,
	.own = own, .nown = ARRAY_LEN(own), .whole_obj = true, .strict = true, .model = &ops,
};
