/* PS3 quartets: what the files of this format share. */
#ifndef MODELFS_MLP_H
#define MODELFS_MLP_H

#include "bytes.h"
#include "format.h"
#include "num.h"

#define MLP_MAGIC 0xfafa0003u
#define MLP_METADATA_MAGIC 0xbaba0031u
#define MLP_HEADER_SIZE 0x1cu
#define MLP_RECORD_SIZE 28u
#define MLP_METADATA_SIZE 0xc0u                /* of its header; submeshes and descriptors follow */
#define MLP_SUBMESH_SIZE 0x60u
#define MLP_STREAM_SIZE 24u                    /* of any descriptor */
#define MLP_VERTEX_SIZE 16u
#define MLP_NORMAL 12u                         /* offset of the normal in a vertex */
#define MLP_NONE 0xffffffffu                   /* as the offset of a descriptor: there is none */
#define MLP_VERTICES_MOST 65536u               /* what 16-bit indices tell apart; of an edited mesh */
#define MLP_ALIGN 16u                          /* of slices in MMP and MGP */

/* Parts of the object: the entry and its members. */
enum mlp_part { MLP_LIBRARY, MLP_MMP, MLP_MGP, MLP_SCP };

/* ---- records: decoded bytes, members named as the keys of the views --------------------------------------------- */

struct mlp_header {
	uint32_t magic, unknown_04;
	uint16_t header_size, load_flags;
	uint32_t unknown_0c, mesh_count, data_base, table_offset;
};
struct mlp_record { uint32_t mesh_id, metadata_offset, mmp_offset, mgp_offset, metadata_size, mmp_size, mgp_size; };
struct mlp_metadata {
	uint32_t magic, unknown_04;
	uint16_t header_size, load_flags;
	uint32_t unknown_0c;
	float local_matrix[16], bounding_sphere[4], aabb_min[4], aabb_max[4];
	uint32_t mesh_id, unknown_84, unknown_88, vertex_format_mask;
	uint32_t primary_stream, attribute_stream, index_stream, embedded_stream;      /* in the metadata; MLP_NONE */
	uint32_t submesh_offset, submesh_count, secondary_count, runtime_buffers[2], flags;
};
/* Of vertices, and of MGP rows. */
struct mlp_stream { uint32_t vertex_count, second_count, stride, unknown_0c, offset, size; };
struct mlp_indices { uint32_t index_count, primitive, offset, size, index_type, unknown_14; };
struct mlp_submesh {
	float bounding_sphere[4];
	uint32_t first_index, index_count, base_vertex, unknown_2c, unknown_30, material_id;
	uint8_t uv_selectors[4];
};
/* A line of the list in header.yaml; it is not stored. */
struct mlp_summary { uint32_t id, kind, vertices, triangles, submeshes; };

extern const struct record mlp_header_record, mlp_record_record, mlp_metadata_record, mlp_stream_record,
	mlp_index_record, mlp_submesh_record, mlp_vertex_record, mlp_summary_record;
extern const struct variant mlp_variant;

/* Fields that are looked at or written one by one, in their records. */
#define MLP_AT_MMP_OFFSET 0x08u                /* record */
#define MLP_AT_MGP_OFFSET 0x0cu
#define MLP_AT_MMP_SIZE 0x14u                  /* mgp_size follows */
#define MLP_AT_SPHERE 0x50u                    /* metadata */
#define MLP_AT_AABB_MIN 0x60u                  /* the box: aabb_max follows */
#define MLP_AT_ID 0x80u
#define MLP_AT_FIRST_INDEX 0x20u               /* submesh; index_count follows */
#define MLP_AT_MATERIAL 0x34u

/* ---- the quartet ------------------------------------------------------------------------------------------------- */

enum mlp_kind { MLP_BROKEN, MLP_RIGID, MLP_SKINNED };

struct mlp_mesh {
	struct mlp_record rec;
	uint8_t kind;
	/* Not of a broken one: */
	uint32_t primary, attribute, index;    /* descriptors, in the metadata; MLP_NONE: no MGP rows */
	uint32_t nvertices, nindices, stride, nsubs;
	uint32_t vertices_at, indices_at;      /* in the MMP slice; of a rigid one */
	uint32_t first_sub;                    /* in mlp.sub */
};
/* Of all meshes but broken ones, one mesh after the other. */
struct mlp_sub { uint32_t first_index, index_count, material_id, material; };

struct mlp {
	struct mlp_header head;
	struct mlp_mesh *mesh;                 /* head.mesh_count */
	struct mlp_sub *sub;
	uint32_t nsubs;
	const uint32_t *material;              /* ids, in the order of first use: the list of materials.yaml */
	uint32_t nmaterials;
	bool normals;                          /* they are x11y11z10n */
};

int mlp_open(struct object *o, struct err *e);
/* 0, or why the mesh has no geometry: its fault (EBADMSG), or it is skinned (ENOENT). */
int mlp_rigid(const struct object *o, uint32_t mesh, struct err *e);

/* ---- places ------------------------------------------------------------------------------------------------------ */

static inline uint64_t mlp_record_at(uint32_t mesh)
{
	return MLP_HEADER_SIZE + (uint64_t)mesh * MLP_RECORD_SIZE;
}
static inline uint64_t mlp_metadata_at(const struct mlp *m, uint32_t mesh)
{
	return (uint64_t)m->head.data_base + m->mesh[mesh].rec.metadata_offset;
}
/* Of the k-th submesh of a mesh. */
static inline uint64_t mlp_submesh_at(const struct mlp *m, uint32_t mesh, uint32_t k)
{
	return mlp_metadata_at(m, mesh) + MLP_METADATA_SIZE + (uint64_t)k * MLP_SUBMESH_SIZE;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* Numbers in format.own. */
enum { MLP_OWN_MATERIALS, MLP_OWN_SCENE, MLP_OWN_ROWS, MLP_OWNS };

int mlp_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e);
int mlp_scene(struct object *o, struct doc *d, struct err *e);
int mlp_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e);

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/* The bytes of a rigid mesh, in the arena. */
struct mlp_slices {
	const uint8_t *vertices, *indices;     /* in the MMP slice */
	const uint8_t *rows;                   /* NULL: the mesh has none, or the MGP is not there */
};
int mlp_slices(struct object *o, uint32_t mesh, struct mlp_slices *out, struct arena *a, struct err *e);
/* The mesh as the views show it; s may be NULL. */
int mlp_geometry(struct object *o, uint32_t mesh, struct mlp_slices *s, struct geo_mesh *out, struct arena *a,
		 struct err *e);
int mlp_geometry_of(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e);

/* A packed normal as three numbers, and the nearest packed one of three finite numbers. */
void mlp_normal(uint32_t word, float out[3]);
uint32_t mlp_normal_word(const double n[3]);
/* Whether its length is that of a normal (spec 5.2): 0.95 to 1.05. */
bool mlp_normal_likely(uint32_t word);

/* meshes/N.attr.csv: the normal word and the MGP row of each vertex. */
int mlp_rows_file(struct object *o, unsigned k, uint32_t mesh, struct source **out, struct err *e);
int mlp_rows_put(struct object *o, unsigned k, uint32_t mesh, struct source *now, struct err *e);
/* What the text of a mesh's rows says; for mlp_verify(). vertices and rows are changed. */
int mlp_rows_text(const struct mlp_mesh *mesh, const struct mlp_slices *s, struct buf *out);
int mlp_rows_read(uint32_t number, const struct mlp_mesh *mesh, const uint8_t *text, size_t n, uint8_t *vertices,
		  uint8_t *rows, struct arena *a, struct err *e);

int mlp_verify(struct object *o, struct err *e);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

int mlp_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e);
int mlp_form(struct object *o, uint32_t mesh, struct geo_form *out, struct arena *a, struct err *e);
int mlp_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);

#endif
