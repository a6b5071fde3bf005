/* Small MOD3 models in memory, in the layout of the shipped files: numbers that a reader of the tests can work out. */
#ifndef MODELFS_TESTS_BUILD_MOD3_H
#define MODELFS_TESTS_BUILD_MOD3_H

#include "build.h"

/* The 14 block types, in the order of spec/mod3.md 7.2. */
struct build_type { const char *name; uint32_t hash; uint8_t stride, uvs, weights; bool colour; };
#define BUILD_TYPES 14u
extern const struct build_type build_types[BUILD_TYPES];
const struct build_type *build_type(const char *name);

#define BUILD_MESHES 32u

struct build_mod3 {
	struct buf bones, local, inverse, groups, materials, meshes, envelopes, vertices, indices;
	uint8_t remap[512];
	uint16_t nbones, nmeshes, nmaterials;
	uint32_t ngroups, nenvelopes, nvertices;
	float world[255][3];                   /* of the bones: they are not turned */
	/* The run at hand: where it began in the vertex buffer, and how many vertices it has. */
	uint32_t run, base, sub;
	uint8_t stride;
	/* Of each mesh: offset in the vertex buffer, bytes of a vertex, first index. */
	uint32_t first[BUILD_MESHES], first_index[BUILD_MESHES];
	/* After build_mod3(): offsets in the file. */
	uint32_t at_bones, at_local, at_inverse, at_remap, at_groups, at_materials, at_meshes, at_envelopes,
		 at_vertices, at_indices, at_trailer, size;
};

/* parent 255: a root. The local matrix moves by x, y, z; length and inverse matrix follow. Function i, no pair. */
void build_bone(struct build_mod3 *b, unsigned parent, float x, float y, float z);
void build_group_of(struct build_mod3 *b, uint32_t id);
void build_name(struct build_mod3 *b, const char *name);
/* A box of 1 around the origin, of the last mesh when `own`; else nobody claims it. */
void build_envelope(struct build_mod3 *b, uint32_t bone, bool own);

/* Vertex k of a mesh: position k, k / 2, -k; normal 0, 0, 127; tangent 127, 0, 0, 127; coordinates s: (k + s) / 8, 1/4;
 * weights 600, 300, 100, 23 or 400, 300, 200, 60, 30, 20, 10, 3 on bones 0, 1, ...; colour 10 + k, 20, 30, 40. */
void build_vertex(struct buf *out, const struct build_type *t, unsigned k);

struct build_mod3_mesh {
	const char *type;
	unsigned nvertices;
	const int32_t *indices;                /* counted from the mesh's first vertex; may reach its neighbours' */
	unsigned nindices;
	bool new_base;                         /* continues the run with another vertexBase */
	bool same;                             /* the vertices are those of the mesh before */
};
void build_mod3_mesh(struct build_mod3 *b, const struct build_mod3_mesh *m);
/* An all-zero record. */
void build_no_mesh(struct build_mod3 *b);

/* The file; frees what b holds but keeps its numbers. */
void build_mod3(struct build_mod3 *b, struct buf *out);

/* Three bones, two groups, three materials, and a mesh of each block type: two triangles of four vertices each. */
void build_all_types(struct build_mod3 *b, struct buf *out);

/* For changing what was built. */
void set8(struct buf *b, size_t at, unsigned v);
void set16(struct buf *b, size_t at, unsigned v);
void set32(struct buf *b, size_t at, uint32_t v);
void set64(struct buf *b, size_t at, uint64_t v);

#endif
