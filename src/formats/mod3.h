/* MOD3: what the files of this format share. */
#ifndef MODELFS_MOD3_H
#define MODELFS_MOD3_H

#include "bytes.h"
#include "format.h"
#include "half.h"
#include "mrl3.h"

#define MOD3_VERSION 237u
#define MOD3_HEADER_SIZE 0x140u
#define MOD3_BONE_SIZE 24u
#define MOD3_MATRIX_SIZE 64u
#define MOD3_REMAP_SIZE 512u
#define MOD3_GROUP_SIZE 32u
#define MOD3_NAME_SIZE 128u
#define MOD3_MESH_SIZE 80u
#define MOD3_ENVELOPE_SIZE 144u
#define MOD3_NO_BONE 255u
#define MOD3_ALL_WEIGHTS 1023                  /* the weights of a vertex add up to this */
#define MOD3_SLOTS 8u                          /* weights a vertex has at most */
#define MOD3_UVS 4u
#define MOD3_RUN_MOST 0xffffu                  /* vertices of a run that one vertexBase reaches, when written */

/* ---- records: decoded bytes, members named as the keys of the views --------------------------------------------- */

struct mod3_header {
	uint32_t magic;
	uint8_t version, version_minor;
	uint16_t bone_count, mesh_count, material_count;
	uint32_t vertex_count, index_count, edge_count, vertex_buffer_size, second_vertex_buffer_size;
	uint64_t group_count, creation_time;
	uint64_t bone_off, group_off, mat_off, mesh_off, vertex_off, index_off, trail_off, unknown_68;
	float sphere_centre[3], sphere_radius, aabb_min[4], aabb_max[4];
	float unknown_a0;
	uint16_t unknown_a4, last_lod_level;
	float unknown_a8[8], unknown_c8[8];
	int32_t unknown_e8;
	float lod_switch_values[5];            /* and 64 bytes `table`, which have no member */
};

struct mod3_bone {
	uint16_t function;
	uint8_t parent, symmetric_pair;        /* MOD3_NO_BONE */
	float reach, length, position[3];
};
/* A local or an inverse matrix: rows, row vectors; elements 12 to 14 are the translation. */
struct mod3_matrix { float local_matrix[16]; };

struct mod3_group { uint32_t id; float sphere_centre[3], sphere_radius; };
struct mod3_material { char name[MOD3_NAME_SIZE]; };

struct mod3_envelope {
	int32_t bone;                          /* MOD3_NO_BONE: the whole mesh, in its own space */
	float sphere_centre[3], sphere_radius, aabb_min[4], aabb_max[4], obb_matrix[16], obb_half_extents[4];
};

/* ---- block types ------------------------------------------------------------------------------------------------- */

/* What a vertex of one block type consists of; offsets of its elements, 0: it has none (the position is at 0). */
struct mod3_block {
	const char *name;
	uint32_t hash;                         /* JAMCRC of the name */
	uint8_t stride, uvs, slots;            /* slots: 0, 4 or 8 weights, the last of which is not stored */
	uint8_t normal, tangent, uv, weights, ids, colour;
	const struct record *record;           /* the whole vertex */
};
#define MOD3_BLOCKS 14u
extern const struct mod3_block mod3_blocks[MOD3_BLOCKS];
/* NULL: none of them. */
const struct mod3_block *mod3_block(uint32_t hash);
extern const struct label mod3_block_labels[MOD3_BLOCKS + 1];
/* The envelope and the vertices, for the reference page. */
extern const struct record *const mod3_other_records[MOD3_BLOCKS + 2];

/* The weights of a vertex in 1/1023, in stored order; the last one is what is left of 1023 and may be negative. */
static inline void mod3_weights(const struct mod3_block *b, const uint8_t *vertex, int32_t out[MOD3_SLOTS])
{
	uint32_t word = le_u32(vertex + b->weights);
	unsigned n = 3;
	int32_t sum;

	out[0] = (int32_t)(word & 1023);
	out[1] = (int32_t)(word >> 10 & 1023);
	out[2] = (int32_t)(word >> 20 & 1023);
	sum = out[0] + out[1] + out[2];
	for (; n + 1 < b->slots; n++) {
		out[n] = vertex[b->weights + 1 + n];
		sum += out[n];
	}
	out[n] = MOD3_ALL_WEIGHTS - sum;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

enum mod3_section {
	MOD3_HEADER, MOD3_BONES, MOD3_LOCAL, MOD3_INVERSE, MOD3_REMAP, MOD3_GROUPS, MOD3_MATERIALS, MOD3_MESHES,
	MOD3_ENVELOPES,                        /* with the u32 before them */
	MOD3_VERTICES, MOD3_INDICES, MOD3_TRAILER, MOD3_SECTIONS
};

/* A block of the file as the header tells; n records (of indices: u16). n and size are 0 where it is absent or damaged.
 */
struct mod3_table { uint64_t at, size; uint32_t n; };

struct mod3_mesh {
	uint16_t draw_mode, vertex_count, group_id, material_index, lod_mask, unknown_0a;
	uint16_t visible, shape, sort, weights_per_vertex, alpha_priority;     /* parts of the flags at 0x0c */
	uint8_t stride, primitive, binormal_flip, bridge;                      /* the last three are the byte at 0x0f */
	uint32_t vertex_sub, vertex_offset, block_type, first_index, index_count, vertex_base;
	uint8_t unknown_28, envelope_count;
	uint16_t mesh_number, min_vertex, max_vertex;
	int16_t map_data[2];
	uint32_t unknown_34, unknown_38, vertex_running_total, unknown_40, unknown_44;
	uint64_t unknown_48;
	/* Not stored: */
	const struct mod3_block *block;        /* NULL: opaque */
	uint32_t first_envelope, nenvelopes;   /* those dealt out to it */
	uint32_t run;                          /* vertices from vertex_offset to the end of its stride run */
	bool bad;                              /* its fault has been noted; nothing of it can be used */
};

struct mod3 {
	struct mod3_header head;
	struct mod3_table table[MOD3_SECTIONS];
	struct mod3_mesh *mesh;                /* table[MOD3_MESHES].n */
	struct mod3_bone *bone;                /* table[MOD3_BONES].n */
	const uint8_t *mesh_raw, *bone_raw, *material_raw;     /* the records themselves */
	const char **material;                 /* of each: its name for usemtl */
	const struct mrl3_library *library;    /* NULL: there is none, or it cannot be read */
	uint32_t library_link, *texture_link;  /* numbers in object.links; of each texture of the library */
	uint32_t nclaimed;                     /* envelopes dealt out; of table[MOD3_ENVELOPES].n */
};

extern const struct record mod3_header_record, mod3_bone_record, mod3_local_record, mod3_inverse_record,
	mod3_group_record, mod3_material_record, mod3_mesh_record, mod3_envelope_record;
extern const struct variant mod3_variant;

int mod3_open(struct object *o, struct err *e);

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* Numbers in format.own. */
enum { MOD3_OWN_MATERIALS, MOD3_OWN_ENVELOPES, MOD3_OWN_VERTICES, MOD3_OWN_DDS, MOD3_OWNS };
#define MOD3_DOC_MATERIALS (DOC_OWN + MOD3_OWN_MATERIALS)
#define MOD3_DOC_ENVELOPES (DOC_OWN + MOD3_OWN_ENVELOPES)
#define MOD3_DOC_VERTICES (DOC_OWN + MOD3_OWN_VERTICES)

int mod3_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e);
/* Names for usemtl, the library and its textures; for mod3_open(). */
int mod3_read_materials(struct object *o, struct err *e);
int mod3_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e);
bool mod3_image_link(const struct object *o, uint32_t i, uint32_t *link, uint32_t *image);
/* What the library has for material i, and its number there; NULL, -1: nothing. */
const struct mrl3_material *mod3_library_material(const struct mod3 *m, uint32_t i, int64_t *number);
bool mod3_texture_found(const struct object *o, uint32_t texture);

/* ---- places: absolute offsets in the entry ----------------------------------------------------------------------- */

static inline uint64_t mod3_mesh_at(const struct mod3 *m, uint32_t i)
{
	return m->table[MOD3_MESHES].at + (uint64_t)MOD3_MESH_SIZE * i;
}
static inline uint64_t mod3_bone_at(const struct mod3 *m, uint32_t i)
{
	return m->table[MOD3_BONES].at + (uint64_t)MOD3_BONE_SIZE * i;
}
static inline uint64_t mod3_local_at(const struct mod3 *m, uint32_t i)
{
	return m->table[MOD3_LOCAL].at + (uint64_t)MOD3_MATRIX_SIZE * i;
}
static inline uint64_t mod3_inverse_at(const struct mod3 *m, uint32_t i)
{
	return m->table[MOD3_INVERSE].at + (uint64_t)MOD3_MATRIX_SIZE * i;
}
static inline uint64_t mod3_envelope_at(const struct mod3 *m, uint32_t i)
{
	return m->table[MOD3_ENVELOPES].at + 4 + (uint64_t)MOD3_ENVELOPE_SIZE * i;
}
/* The vertex that index value v of the mesh means. */
static inline uint64_t mod3_vertex_at(const struct mod3 *m, const struct mod3_mesh *mesh, uint32_t v)
{
	return m->table[MOD3_VERTICES].at + mesh->vertex_offset +
	       (uint64_t)mesh->stride * ((uint64_t)mesh->vertex_base + v);
}
static inline uint64_t mod3_index_at(const struct mod3 *m, const struct mod3_mesh *mesh)
{
	return m->head.index_off + 2 * (uint64_t)mesh->first_index;
}

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/* What the views of a mesh show: the smallest run of vertices with all of its own and all that its indices reach. The
 * v line k, from 0, is index value `first` + k. */
struct mod3_window {
	uint32_t first, n;                     /* n 0: a mesh without vertices; it shows no faces either */
	uint32_t own, nown;                    /* the record's own: v lines from `own` on */
	const uint8_t *vertices;               /* n * stride bytes from mod3_vertex_at(first), in the arena */
	const uint8_t *indices;                /* index_count u16, in the arena */
};
/* Reads it; of a mesh that has geometry: mod3_mesh_sound(). EBADMSG: an index leaves the stride run. */
int mod3_window(struct object *o, uint32_t mesh, struct mod3_window *out, struct arena *a, struct err *e);
/* The same without the vertices. */
int mod3_reach(struct object *o, uint32_t mesh, struct mod3_window *out, struct arena *a, struct err *e);
/* 0, or why the mesh has no geometry: EBADMSG its fault, ENOENT it is opaque. */
int mod3_mesh_sound(const struct object *o, uint32_t mesh, struct err *e);
/* The mesh as the views show it. win: where it was read; may be NULL. */
int mod3_geometry(struct object *o, uint32_t mesh, struct mod3_window *win, struct geo_mesh *out, struct arena *a,
		  struct err *e);
int mod3_verify(struct object *o, struct err *e);
/* The same with all that an OBJ cannot say; and the bones. */
int mod3_mesh_full(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e);
int mod3_skeleton(struct object *o, struct geo_skeleton *out, struct arena *a, struct err *e);
/* A stored normal with length 1; 0 stays 0. */
void mod3_normal(const uint8_t *stored, float out[3]);

/* ---- writing records (mod3_edit.c) ------------------------------------------------------------------------------- */

int mod3_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		 unsigned n, struct err *e);
int mod3_check(struct object *o, struct err *e);

/* ---- writing geometry, what follows from it, and blocks that move ------------------------------------------------ */

int mod3_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);
int mod3_weights_put(struct object *o, uint32_t mesh, const struct geo_weights *w, struct err *e);
/* `block_type: NAME` of meshes/N.yaml. value is a label of mod3_blocks[] or a number. */
int mod3_block_type_put(struct object *o, uint32_t mesh, const struct ynode *value, struct err *e);
/* skeleton.yaml: takes those of the n changes that are position, local_matrix or parent of a bone: CHANGE_TEXT of depth
 * 1, item[0] is the bone. */
int mod3_bones_put(struct object *o, struct doc_change *change, unsigned n, struct err *e);
int mod3_skeleton_put(struct object *o, const struct geo_skeleton *now, const uint8_t *change, struct err *e);

#endif
