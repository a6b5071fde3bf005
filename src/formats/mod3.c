/* MOD3: models of Monster Hunter World (spec/mod3.md).
 *
 *   0x000  header, 0x140 bytes: counts, offsets of the blocks, bounds
 *          bones         24 bytes each, then a local and an inverse bind matrix of 64 bytes each, then u8[512]: bone
 *                        of each bone function
 *          groups        32 bytes each: the parts that the game shows or hides together
 *          material names  128 bytes each
 *          mesh records  80 bytes each
 *          envelopes     u32 count, 144 bytes each: bounding volumes, dealt out to the meshes in their order
 *          vertex buffer   runs of vertices of one size; a mesh's are contiguous in one of them
 *          index buffer  u16 each, triangles; counted from the mesh's run
 *          trailing block  from its offset to the end of the file
 *
 * Every block is found by its offset in the header, the envelopes behind the mesh records. */
#include "mod3.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"

#define OFFSET(m, at, doc) U64(S, m, at, doc, .view = V_HEX, .digits = 8, .flags = FL_DERIVED)

#define S struct mod3_header
static const struct field header_fields[] = {
	U32(S, magic, 0x00, "MOD and a zero", .view = V_HEX, .flags = FL_HIDDEN),
	U8(S, version, 0x04, "237", .flags = FL_DERIVED),
	U8(S, version_minor, 0x05, "0", .flags = FL_DERIVED),
	U16(S, bone_count, 0x06, "Bones", .flags = FL_DERIVED),
	U16(S, mesh_count, 0x08, "Mesh records", .flags = FL_DERIVED),
	U16(S, material_count, 0x0a, "Material names", .flags = FL_DERIVED),
	U32(S, vertex_count, 0x0c, "Vertices of all meshes; may be out of date", .flags = FL_DERIVED),
	U32(S, index_count, 0x10, "Indices of all meshes; may be out of date", .flags = FL_DERIVED),
	U32(S, edge_count, 0x14, "Edges; how they are counted is unknown"),
	U32(S, vertex_buffer_size, 0x18, "Bytes of the vertex buffer", .flags = FL_DERIVED),
	U32(S, second_vertex_buffer_size, 0x1c, "Always 0"),
	U64(S, group_count, 0x20, "Groups", .flags = FL_DERIVED),
	U64(S, creation_time, 0x28, "Seconds since 1970"),
	OFFSET(bone_off, 0x30, "Offset of the bones; 0 when there are none"),
	OFFSET(group_off, 0x38, "Offset of the groups; may be 0 when there are none"),
	OFFSET(mat_off, 0x40, "Offset of the material names"),
	OFFSET(mesh_off, 0x48, "Offset of the mesh records"),
	OFFSET(vertex_off, 0x50, "Offset of the vertex buffer"),
	OFFSET(index_off, 0x58, "Offset of the index buffer"),
	OFFSET(trail_off, 0x60, "Offset of the trailing block; past the end when there is none"),
	U64(S, unknown_68, 0x68, "Zero", .view = V_HEX, .flags = FL_ODD),
	F32N(S, sphere_centre, 0x70, 3, "Middle of the box below"),
	F32(S, sphere_radius, 0x7c, "Distance of the farthest vertex"),
	F32N(S, aabb_min, 0x80, 4, "Box around all vertices, and 0"),
	F32N(S, aabb_max, 0x90, 4, "Its other corner, and 0"),
	F32(S, unknown_a0, 0xa0, "Usually 15000"),
	U16(S, unknown_a4, 0xa4, "Usually 1"),
	U16(S, last_lod_level, 0xa6, "Last level of detail"),
	F32N(S, unknown_a8, 0xa8, 8, "Usually 0, then seven times 1"),
	F32N(S, unknown_c8, 0xc8, 8, "Likewise"),
	I32(S, unknown_e8, 0xe8, "Usually 1"),
	F32N(S, lod_switch_values, 0xec, 5, "Where levels of detail change; the unit is unknown"),
	RAW("table", 0x100, 64, "Unknown table"),
};
#undef S
const struct record mod3_header_record = RECORD("header", "Header", MOD3_HEADER_SIZE, header_fields);

#define S struct mod3_bone
static const struct field bone_fields[] = {
	U16(S, function, 0x00, "Function by which animations find the bone; 512 and above: none", .flags = FL_PUT),
	U8(S, parent, 0x02, "Bone that this one hangs on; null for a root", .flags = FL_NULL | FL_PUT),
	U8(S, symmetric_pair, 0x03, "Its mirror image", .flags = FL_NULL),
	F32(S, reach, 0x04, "Distance of the farthest vertex it moves"),
	F32(S, length, 0x08, "Length of the position", .flags = FL_DERIVED),
	F32N(S, position, 0x0c, 3, "Place relative to the parent; the local matrix has it too", .flags = FL_PUT),
};
#undef S
const struct record mod3_bone_record = RECORD("bone", "Bone", MOD3_BONE_SIZE, bone_fields);

#define S struct mod3_matrix
static const struct field local_fields[] = {
	F32N(S, local_matrix, 0x00, 16, "Rows, for row vectors; elements 12 to 14 are the position", .flags = FL_PUT),
};
#undef S
const struct record mod3_local_record =
	RECORD("local matrix", "Place of a bone relative to its parent", MOD3_MATRIX_SIZE, local_fields);

static const struct field inverse_fields[] = {
	{ .name = "inverse_matrix", .doc = "Rows, likewise", .count = 16, .type = F_F32, .flags = FL_DERIVED,
	  .member = FIELD_NO_MEMBER },
};
const struct record mod3_inverse_record =
	RECORD("inverse matrix", "Inverse of a bone's place in the model", MOD3_MATRIX_SIZE, inverse_fields);

#define S struct mod3_group
static const struct field group_fields[] = {
	U32(S, id, 0x00, "Number by which mesh records name it"),
	RAW("filler", 0x04, 12, "Usually cd; old files have a left over pointer"),
	F32N(S, sphere_centre, 0x10, 3, "Middle of the boxes of its meshes' envelopes"),
	F32(S, sphere_radius, 0x1c, "Half the diagonal of these boxes"),
};
#undef S
const struct record mod3_group_record =
	RECORD("group", "Meshes that are shown or hidden together", MOD3_GROUP_SIZE, group_fields);

#define S struct mod3_material
static const struct field material_fields[] = {
	TEXT(S, name, 0x00, MOD3_NAME_SIZE, "Name; its JAMCRC finds the material in the MRL3", .flags = FL_TRIM),
};
#undef S
const struct record mod3_material_record = RECORD("material", "Material name", MOD3_NAME_SIZE, material_fields);

#define BITS(m, at, bit_, bits_, doc) U16(S, m, at, doc, .bit = bit_, .bits = bits_)
#define S struct mod3_mesh
static const struct field mesh_fields[] = {
	U16(S, draw_mode, 0x00, "How it is drawn, with its shadow; the bits are unknown", .view = V_HEX),
	U16(S, vertex_count, 0x02, "Vertices", .flags = FL_DERIVED),
	U16(S, group_id, 0x04, "Group; 0: always shown"),
	U16(S, material_index, 0x06, "Material name", .flags = FL_PUT),
	U16(S, lod_mask, 0x08, "Levels of detail that show it, a bit each", .view = V_HEX),
	U16(S, unknown_0a, 0x0a, "Zero", .flags = FL_ODD),
	BITS(visible, 0x0c, 0, 1, "1: it is drawn"),
	BITS(shape, 0x0c, 1, 1, "Named so by other tools"),
	BITS(sort, 0x0c, 2, 1, "Named so by other tools"),
	BITS(weights_per_vertex, 0x0c, 3, 5, "Weights of a vertex at most"),
	BITS(alpha_priority, 0x0c, 8, 8, "Named so by other tools"),
	U8(S, stride, 0x0e, "Bytes of a vertex", .flags = FL_DERIVED),
	U8(S, primitive, 0x0f, "3: triangles; 0 is drawn like 3", .bit = 0, .bits = 6, .flags = FL_DERIVED),
	U8(S, binormal_flip, 0x0f, "Named so by other tools", .bit = 6, .bits = 1),
	U8(S, bridge, 0x0f, "Named so by other tools", .bit = 7, .bits = 1),
	U32(S, vertex_sub, 0x10, "First vertex; also the index value that means it", .flags = FL_DERIVED),
	U32(S, vertex_offset, 0x14, "Where its run begins in the vertex buffer", .flags = FL_DERIVED),
	U32(S, block_type, 0x18, "What a vertex consists of: JAMCRC of the name", .view = V_ENUM,
	    .labels = mod3_block_labels, .flags = FL_PUT),
	U32(S, first_index, 0x1c, "First index", .flags = FL_DERIVED),
	U32(S, index_count, 0x20, "Indices", .flags = FL_DERIVED),
	U32(S, vertex_base, 0x24, "Added to every index", .flags = FL_DERIVED),
	U8(S, unknown_28, 0x28, "Zero", .flags = FL_ODD),
	U8(S, envelope_count, 0x29, "Envelopes that belong to it", .flags = FL_DERIVED),
	U16(S, mesh_number, 0x2a, "Number from 1; gaps and copies occur"),
	U16(S, min_vertex, 0x2c, "vertex_sub; may be out of date", .flags = FL_DERIVED),
	U16(S, max_vertex, 0x2e, "The last vertex; may be out of date", .flags = FL_DERIVED),
	I16N(S, map_data, 0x30, 2, "-1 but in stages"),
	U32(S, unknown_34, 0x34, "Zero", .flags = FL_ODD),
	U32(S, unknown_38, 0x38, "0x30000000 with 4 weights, 0x40000000 with 8", .view = V_HEX),
	U32(S, vertex_running_total, 0x3c, "Vertices of all meshes before; may be out of date", .flags = FL_DERIVED),
	U32(S, unknown_40, 0x40, "0; in old files the vertices it once had"),
	U32(S, unknown_44, 0x44, "Zero", .flags = FL_ODD),
	U64(S, unknown_48, 0x48, "0; in old files a left over pointer", .view = V_HEX),
};
#undef S
const struct record mod3_mesh_record = RECORD("mesh", "Mesh record", MOD3_MESH_SIZE, mesh_fields);

#define S struct mod3_envelope
static const struct field envelope_fields[] = {
	I32(S, bone, 0x00, "Bone whose space it is in; 255: the whole mesh, in its own space"),
	RAW("filler", 0x04, 12, "Usually cd; old files have anything"),
	F32N(S, sphere_centre, 0x10, 3, "Middle of the box below"),
	F32(S, sphere_radius, 0x1c, "Distance of the farthest vertex"),
	F32N(S, aabb_min, 0x20, 4, "Box around the vertices, and 0"),
	F32N(S, aabb_max, 0x30, 4, "Its other corner, and 0"),
	F32N(S, obb_matrix, 0x40, 16, "Turned box: rows, for row vectors; elements 12 to 14 are its middle"),
	F32N(S, obb_half_extents, 0x80, 4, "Half its sizes, and 0"),
};
#undef S
const struct record mod3_envelope_record =
	RECORD("envelope", "Bounding volume of the vertices of a mesh that a bone moves", MOD3_ENVELOPE_SIZE,
	       envelope_fields);

static const struct section sections[MOD3_SECTIONS] = {
	[MOD3_HEADER] = { "header", "Header", SECTION_ONE, &mod3_header_record, "header.yaml" },
	[MOD3_BONES] = { "bones", "Bones", SECTION_LIST, &mod3_bone_record, NULL },
	[MOD3_LOCAL] = { "local_matrices", "Local matrix of each bone", SECTION_LIST, &mod3_local_record, NULL },
	[MOD3_INVERSE] = { "inverse_matrices", "Inverse bind matrix of each bone", SECTION_LIST, &mod3_inverse_record,
			   NULL },
	[MOD3_REMAP] = { "remap", "u8[512]: bone of each bone function, 255 for none", SECTION_BYTES, NULL, NULL },
	[MOD3_GROUPS] = { "groups", "Groups", SECTION_LIST, &mod3_group_record, "groups.yaml" },
	[MOD3_MATERIALS] = { "materials", "Material names", SECTION_LIST, &mod3_material_record, NULL },
	[MOD3_MESHES] = { "meshes", "Mesh records", SECTION_LIST, &mod3_mesh_record, NULL },
	[MOD3_ENVELOPES] = { "envelopes", "u32 count, then envelopes in the order of the meshes", SECTION_BYTES, NULL,
			     NULL },
	[MOD3_VERTICES] = { "vertices", "Vertex buffer", SECTION_BYTES, NULL, NULL },
	[MOD3_INDICES] = { "indices", "Index buffer", SECTION_BYTES, NULL, NULL },
	[MOD3_TRAILER] = { "trailer", "Trailing block, usually u32 4 and 20 zeros; its meaning is unknown",
			   SECTION_BYTES, NULL, NULL },
};

const struct variant mod3_variant = {
	"237.0", "Monster Hunter World and Iceborne", sections, MOD3_SECTIONS, mod3_other_records
};

/* ---- detection ---- */

/* Other versions belong to other games and have another layout. */
static int probe(struct probe *p)
{
	if (p->n >= 6 && !memcmp(p->head, "\0DOM", 4))
		err_at(p->why, EBADMSG, p->src, 4, "MOD version", "%u, big-endian, expected %u, little-endian",
		       be_u16(p->head + 4), MOD3_VERSION);
	if (p->n < 6 || memcmp(p->head, "MOD", 4))
		return 0;
	if (p->head[4] == MOD3_VERSION)
		return 95;
	err_at(p->why, EBADMSG, p->src, 4, "MOD version", "%u, expected %u", p->head[4], MOD3_VERSION);
	return 0;
}

/* ---- views ---- */

static uint32_t count(const struct object *o, unsigned part)
{
	const struct mod3 *m = o->priv;

	switch (part) {
	case PART_MESH: return m->table[MOD3_MESHES].n;
	case PART_BONE: return m->table[MOD3_BONES].n;
	case PART_IMAGE: return m->library ? m->library->ntextures : 0;
	default: return 0;
	}
}

/* A mesh of unknown block type is opaque: only its record can be shown. */
static bool has(const struct object *o, unsigned part, uint32_t index)
{
	const struct mod3 *m = o->priv;

	if (part == PART_BONE)
		return m->table[MOD3_BONES].n;
	return part != PART_MESH || m->mesh[index].block;
}

static bool skinned(const struct object *o, uint32_t mesh)
{
	const struct mod3_mesh *r = &((const struct mod3 *)o->priv)->mesh[mesh];

	return r->block && r->block->slots;
}

static bool has_vertices(const struct object *o, uint32_t mesh)
{
	return has(o, PART_MESH, mesh);
}

static bool has_spare_envelopes(const struct object *o, uint32_t index)
{
	const struct mod3 *m = o->priv;

	(void)index;
	return m->nclaimed < m->table[MOD3_ENVELOPES].n;
}

static int mesh(struct object *o, uint32_t i, struct geo_mesh *out, struct arena *a, struct err *e)
{
	return mod3_geometry(o, i, NULL, out, a, e);
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct mod3_table *t = &((const struct mod3 *)o->priv)->table[section];

	*out = (struct span){ .at = t->at, .size = t->size };
	return 0;
}

static const struct model_ops model = {
	.open = mod3_open, .count = count, .locate = locate, .doc = mod3_doc, .skinned = skinned, .mesh = mesh,
	.mesh_full = mod3_mesh_full, .skeleton = mod3_skeleton, .skeleton_put = mod3_skeleton_put,
	.material = mod3_material, .has = has, .image_link = mod3_image_link, .verify = mod3_verify,
	.doc_put = mod3_doc_put, .mesh_put = mod3_mesh_put, .weights_put = mod3_weights_put, .check = mod3_check,
};

static const struct own_file own[MOD3_OWNS] = {
	[MOD3_OWN_MATERIALS] = { "materials.yaml", "Material names, and what the MRL3 beside says of them",
				 PART_OBJECT },
	[MOD3_OWN_ENVELOPES] = { "envelopes.yaml", "Envelopes that no mesh record claims", PART_OBJECT,
				 .there = has_spare_envelopes },
	[MOD3_OWN_VERTICES] = { ".vertices.yaml", "What an OBJ cannot say of the vertices, a line each", PART_MESH,
				.there = has_vertices },
	[MOD3_OWN_DDS] = { ".dds", "The texture without loss", PART_IMAGE, .bytes = true, .from_link = true },
};

const struct format fmt_mod3 = {
	.name = "mod3",
	.title = "Monster Hunter World model",
	.ext = "mod3",
	.doc = "A model: bones, materials by name, and meshes of triangles whose vertices have one of 14 layouts. "
	       "Shaders and textures are in the MRL3 of the same name.",
	.role = ROLE_MODEL,
	.probe = probe,
	.tells = true,
	.variants = &mod3_variant,
	.nvariants = 1,
	.docs = 1 << DOC_MESH | 1 << DOC_SKELETON,
	.own = own,
	.nown = MOD3_OWNS,
	.model = &model,
};
