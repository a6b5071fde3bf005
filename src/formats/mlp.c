/* PS3 model quartets (spec/ps3-pak.md): four files of one name, all numbers big-endian.
 *
 *   .mlp  0x00       header, 0x1c bytes: magic FAFA0003, mesh count, data_base
 *         0x1c       table: 28 bytes for each mesh: its id, and where its metadata, MMP and MGP slices lie
 *         data_base  metadata of each mesh: header 0xc0 bytes, magic BABA0031; submeshes, 0x60 bytes each; then, at the
 *                    offsets in the header, descriptors of 24 bytes each: vertices, MGP rows, indices
 *   .mmp  slices: vertices of 16 bytes (position, packed normal) and u16 indices of triangles
 *   .mgp  slices: one row of further attributes for each vertex; what they consist of is unknown
 *   .scp  scene; unknown, but it names meshes by their ids
 *
 * A mesh whose metadata has an embedded stream is skinned: how its slices are laid out is unknown, they are bytes. */
#include "mlp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define S struct mlp_header
static const struct field header_fields[] = {
	U32(S, magic, 0x00, "FAFA0003", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, unknown_04, 0x04, "Unknown", .view = V_HEX),
	U16(S, header_size, 0x08, "28", .flags = FL_HIDDEN),
	U16(S, load_flags, 0x0a, "0; the game sets bits of it once it has loaded the file", .view = V_HEX),
	U32(S, unknown_0c, 0x0c, "Unknown", .view = V_HEX),
	U32(S, mesh_count, 0x10, "Meshes", .flags = FL_DERIVED),
	U32(S, data_base, 0x14, "Where the metadata begins", .flags = FL_DERIVED),
	U32(S, table_offset, 0x18, "28", .flags = FL_HIDDEN),
};
#undef S
const struct record mlp_header_record = RECORD("header", "Header of the MLP", MLP_HEADER_SIZE, header_fields);

#define S struct mlp_record
static const struct field record_fields[] = {
	U32(S, mesh_id, 0x00, "Id by which the scene names the mesh; its metadata has it too", .view = V_HEX,
	    .flags = FL_HIDDEN),
	U32(S, metadata_offset, 0x04, "Where its metadata begins, from data_base on", .flags = FL_DERIVED),
	U32(S, mmp_offset, 0x08, "Where its slice of the MMP begins", .flags = FL_DERIVED),
	U32(S, mgp_offset, 0x0c, "Where its slice of the MGP begins", .flags = FL_DERIVED),
	U32(S, metadata_size, 0x10, "Bytes of its metadata", .flags = FL_DERIVED),
	U32(S, mmp_size, 0x14, "Bytes of its slice of the MMP", .flags = FL_DERIVED),
	U32(S, mgp_size, 0x18, "Bytes of its slice of the MGP; 0: it has none", .flags = FL_DERIVED),
};
#undef S
const struct record mlp_record_record = RECORD("record", "Mesh in the table", MLP_RECORD_SIZE, record_fields);

#define STREAM(m, at, doc) U32(S, m, at, doc, .view = V_HEX, .flags = FL_HIDDEN)
#define S struct mlp_metadata
static const struct field metadata_fields[] = {
	U32(S, magic, 0x00, "BABA0031", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, unknown_04, 0x04, "Unknown", .view = V_HEX),
	U16(S, header_size, 0x08, "192", .flags = FL_HIDDEN),
	U16(S, load_flags, 0x0a, "FFFF: nothing in it has to be relocated", .view = V_HEX),
	U32(S, unknown_0c, 0x0c, "Unknown", .view = V_HEX),
	F32N(S, local_matrix, 0x10, 16, "Identity in all known files"),
	F32N(S, bounding_sphere, 0x50, 4, "Centre and radius"),
	F32N(S, aabb_min, 0x60, 4, "Box around all vertices, and 1"),
	F32N(S, aabb_max, 0x70, 4, "Its other corner, and 1"),
	U32(S, mesh_id, 0x80, "Id, as in the table", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, unknown_84, 0x84, "Unknown", .view = V_HEX),
	U32(S, unknown_88, 0x88, "Unknown", .view = V_HEX),
	U32(S, vertex_format_mask, 0x8c, "Which attributes the vertices have; the bits are unknown", .view = V_HEX),
	STREAM(primary_stream, 0x90, "Offset of the descriptor of the vertices"),
	STREAM(attribute_stream, 0x94, "Offset of the descriptor of the MGP rows; FFFFFFFF: there are none"),
	STREAM(index_stream, 0x98, "Offset of the descriptor of the indices"),
	STREAM(embedded_stream, 0x9c, "Offset of the skinning stream; FFFFFFFF: the mesh is rigid"),
	STREAM(submesh_offset, 0xa0, "0xC0"),
	U32(S, submesh_count, 0xa4, "Submeshes", .flags = FL_HIDDEN),
	U32(S, secondary_count, 0xa8, "Unknown; often the number of submeshes"),
	U32N(S, runtime_buffers, 0xac, 2, "Room for addresses of the loaded slices", .view = V_HEX),
	U32(S, flags, 0xb4, "Bit 0: the skinning stream was processed", .view = V_HEX),
	RAW("unknown_b8", 0xb8, 8, "Unknown"),
};
#undef S
const struct record mlp_metadata_record =
	RECORD("metadata", "Header of a mesh's metadata", MLP_METADATA_SIZE, metadata_fields);

#define S struct mlp_stream
static const struct field stream_fields[] = {
	U32(S, vertex_count, 0x00, "Vertices", .flags = FL_DERIVED),
	U32(S, second_count, 0x04, "Unknown; the number of vertices in all known files"),
	U32(S, stride, 0x08, "Bytes of a vertex, or of an MGP row", .flags = FL_HIDDEN),
	STREAM(unknown_0c, 0x0c, "Unknown"),
	STREAM(offset, 0x10, "Where they begin in the slice"),
	U32(S, size, 0x14, "Bytes of all", .flags = FL_HIDDEN),
};
#undef S
const struct record mlp_stream_record =
	RECORD("stream", "Descriptor of vertices or of MGP rows", MLP_STREAM_SIZE, stream_fields);

#define S struct mlp_indices
static const struct field index_fields[] = {
	U32(S, index_count, 0x00, "Indices", .flags = FL_DERIVED),
	U32(S, primitive, 0x04, "5: a list of triangles", .flags = FL_HIDDEN),
	STREAM(offset, 0x08, "Where they begin in the slice of the MMP"),
	U32(S, size, 0x0c, "Bytes of all", .flags = FL_HIDDEN),
	U32(S, index_type, 0x10, "1: 16 bits", .flags = FL_HIDDEN),
	STREAM(unknown_14, 0x14, "0"),
};
#undef S
const struct record mlp_index_record = RECORD("indices", "Descriptor of indices", MLP_STREAM_SIZE, index_fields);

#define S struct mlp_submesh
static const struct field submesh_fields[] = {
	F32N(S, bounding_sphere, 0x00, 4, "Centre and radius"),
	RAW("unknown_10", 0x10, 16, "Unknown"),
	U32(S, first_index, 0x20, "Its first index", .flags = FL_DERIVED),
	U32(S, index_count, 0x24, "Its indices", .flags = FL_DERIVED),
	U32(S, base_vertex, 0x28, "0 in all known rigid meshes", .flags = FL_DERIVED),
	U32(S, unknown_2c, 0x2c, "Unknown", .view = V_HEX),
	U32(S, unknown_30, 0x30, "Unknown", .view = V_HEX),
	U32(S, material_id, 0x34, "Id of its material, in files of unknown format", .view = V_HEX),
	U8N(S, uv_selectors, 0x38, 4, "Stored set of texture coordinates for each of those that shaders know"),
	RAW("unknown_3c", 0x3c, 36, "Unknown"),
};
#undef S
const struct record mlp_submesh_record =
	RECORD("submesh", "Run of a mesh's indices with one material", MLP_SUBMESH_SIZE, submesh_fields);

#define NORMAL(name_, bit_, bits_, doc_) \
	{ .name = name_, .doc = doc_, .at = MLP_NORMAL, .count = 1, .type = F_I32, .bit = bit_, .bits = bits_, \
	  .member = FIELD_NO_MEMBER }
static const struct field vertex_fields[] = {
	{ .name = "position", .doc = "Place", .count = 3, .type = F_F32, .member = FIELD_NO_MEMBER },
	NORMAL("normal_x", 0, 11, "Normal, in 32/32767; likely, but not certain"),
	NORMAL("normal_y", 11, 11, "Likewise"),
	NORMAL("normal_z", 22, 10, "In 64/32767"),
};
const struct record mlp_vertex_record = RECORD("vertex", "Vertex of a rigid mesh", MLP_VERTEX_SIZE, vertex_fields);

static const struct label kinds[] = {
	{ MLP_BROKEN, "broken" }, { MLP_RIGID, "rigid" }, { MLP_SKINNED, "skinned" }, { 0, NULL }
};
#define S struct mlp_summary
static const struct field summary_fields[] = {
	U32(S, id, 0x00, "Id", .view = V_HEX, .comment = "id"),
	U32(S, kind, 0x04, "What it is", .view = V_ENUM, .labels = kinds, .comment = "kind"),
	U32(S, vertices, 0x08, "Vertices", .comment = "vertices"),
	U32(S, triangles, 0x0c, "Triangles", .comment = "triangles"),
	U32(S, submeshes, 0x10, "Submeshes", .comment = "submeshes"),
};
#undef S
const struct record mlp_summary_record =
	RECORD("summary", "What header.yaml says of a mesh; it is not stored", 0x14, summary_fields);

static const struct section sections[] = {
	{ "header", "Header", SECTION_ONE, &mlp_header_record, NULL },
	{ "table", "Meshes", SECTION_LIST, &mlp_record_record, NULL },
};
static const struct record *const other_records[] = {
	&mlp_metadata_record, &mlp_submesh_record, &mlp_stream_record, &mlp_index_record, &mlp_vertex_record, NULL
};
const struct variant mlp_variant = { "1", "The only known one", sections, ARRAY_LEN(sections), other_records };

/* ---- detection ---- */

/* What else is wrong with it is for open() to say. */
static int probe(struct probe *p)
{
	return p->n >= 4 && be_u32(p->head) == MLP_MAGIC ? 95 : 0;
}

/* ---- views ---- */

static uint32_t count(const struct object *o, unsigned part)
{
	return part == PART_MESH ? ((const struct mlp *)o->priv)->head.mesh_count : 0;
}

static bool is_rigid(const struct object *o, uint32_t mesh)
{
	return ((const struct mlp *)o->priv)->mesh[mesh].kind == MLP_RIGID;
}

static bool has(const struct object *o, unsigned part, uint32_t index)
{
	return part == PART_MESH && is_rigid(o, index);
}

static bool has_scene(const struct object *o, uint32_t index)
{
	(void)index;
	return o->member[MLP_SCP - 1];
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct mlp *m = o->priv;

	*out = section ? (struct span){ MLP_HEADER_SIZE, (uint64_t)m->head.mesh_count * MLP_RECORD_SIZE, 0 } :
			 (struct span){ 0, MLP_HEADER_SIZE, 0 };
	return 0;
}

/* The slices of a mesh, those that lie where they can. */
static bool chunk(const struct object *o, uint32_t i, struct chunk *out)
{
	static const char *const names[] = { "metadata", "mmp", "mgp" };
	const struct mlp *m = o->priv;
	uint32_t mesh = i / 3, part = i % 3;
	const struct mlp_record *r;
	struct source *src;

	if (mesh >= m->head.mesh_count)
		return false;
	r = &m->mesh[mesh].rec;
	*out = (struct chunk){ .part = (uint8_t)part };
	out->at = part == MLP_LIBRARY ? mlp_metadata_at(m, mesh) : part == MLP_MMP ? r->mmp_offset : r->mgp_offset;
	out->size = part == MLP_LIBRARY ? r->metadata_size : part == MLP_MMP ? r->mmp_size : r->mgp_size;
	src = object_part(o, part);
	if (src && out->size && span_ok(src->size, out->at, out->size, 1))
		snprintf(out->name, sizeof out->name, "mesh-%u/%s", mesh, names[part]);
	else
		out->at = out->size = 0;
	return true;
}

static const struct model_ops model = {
	.open = mlp_open, .count = count, .locate = locate, .chunk = chunk, .doc = mlp_doc, .mesh = mlp_geometry_of,
	.form = mlp_form, .material = mlp_material, .has = has, .file = mlp_rows_file, .file_put = mlp_rows_put,
	.verify = mlp_verify, .doc_put = mlp_doc_put, .mesh_put = mlp_mesh_put,
};

static const struct own_file own[MLP_OWNS] = {
	[MLP_OWN_MATERIALS] = { "materials.yaml", "Ids of materials, and the submeshes that have them", PART_OBJECT },
	[MLP_OWN_SCENE] = { "scene.refs.yaml", "Where the scene has the ids of meshes; read-only", PART_OBJECT,
			    .fixed = true, .there = has_scene },
	[MLP_OWN_ROWS] = { ".attr.csv", "Normal and MGP row of each vertex, in hex digits", PART_MESH, .bytes = true,
			   .there = is_rigid },
};

static const struct member members[] = {
	[MLP_MMP - 1] = { "mmp", "vertices and indices", true },
	[MLP_MGP - 1] = { "mgp", "further attributes of the vertices; needed when a mesh has some", false },
	[MLP_SCP - 1] = { "scp", "the scene, if there is one", false },
};

const struct format fmt_mlp = {
	.name = "ps3q",
	.title = "PS3 model quartet",
	.ext = "mlp",
	.doc = "A library of meshes in four files of one name. MLP: the table and what each mesh consists of; MMP: "
	       "vertices and indices; MGP: further attributes, whose layout is unknown; SCP: the scene, likewise.",
	.be = true,
	.role = ROLE_MODEL,
	.probe = probe,
	.variants = &mlp_variant,
	.nvariants = 1,
	.docs = 1 << DOC_HEADER | 1 << DOC_MESH,
	.own = own,
	.nown = MLP_OWNS,
	.members = members,
	.nmembers = ARRAY_LEN(members),
	.sure = 1 << PART_MESH,
	.strict = true,
	.model = &model,
};
