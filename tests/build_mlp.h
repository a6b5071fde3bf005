/* Small quartets in memory, in the layout of spec/ps3-pak.md 9.2: numbers that a reader of the tests can work out. */
#ifndef MODELFS_TESTS_BUILD_MLP_H
#define MODELFS_TESTS_BUILD_MLP_H

#include "build.h"

#define BUILD_SUBS 4u
#define BUILD_LIBRARY 8u

enum { BUILD_MLP, BUILD_MMP, BUILD_MGP, BUILD_SCP, BUILD_PARTS };

/* Vertex k is at (k, k / 2, -k) with the normal 7FC00000; byte i of its MGP row is 16 * k + i. The box is that of the
 * vertices, all spheres are (0, 0, 0, 100). */
struct build_mlp_mesh {
	uint32_t id;
	unsigned nvertices, nindices, stride;  /* stride 0: no MGP rows */
	const uint16_t *indices;
	unsigned nsubs;
	struct { unsigned first, count; uint32_t material; } sub[BUILD_SUBS];
	bool skinned, indices_first;
};

struct build_mlp {
	struct buf metadata, mmp, mgp;
	unsigned nmeshes;
	struct { uint32_t id, metadata, mmp, mgp, metadata_size, mmp_size, mgp_size; } record[BUILD_LIBRARY];
	unsigned nsubs[BUILD_LIBRARY];
	/* After build_mlp(): where the metadata of the first mesh begins. */
	uint32_t base;
};

void build_mlp_mesh(struct build_mlp *b, const struct build_mlp_mesh *m);
/* The four files, without an SCP; frees what b holds but keeps its numbers. */
void build_mlp(struct build_mlp *b, struct buf part[BUILD_PARTS]);

/* Offsets in the MLP: of the record of mesh i, of its metadata, of its submesh k, and of the descriptors of vertices
 * (0), MGP rows (1; of a mesh that has some) and indices (2, or 1). */
uint32_t build_mlp_record(unsigned i);
uint32_t build_mlp_metadata(const struct build_mlp *b, unsigned i);
uint32_t build_mlp_submesh(const struct build_mlp *b, unsigned i, unsigned k);
uint32_t build_mlp_stream(const struct build_mlp *b, unsigned i, unsigned k);

/* For changing what was built. */
void setb16(struct buf *b, size_t at, unsigned v);
void setb32(struct buf *b, size_t at, uint32_t v);

/* Three meshes: 0 of four vertices with rows of 4 bytes and two submeshes of two triangles each, the second of which
 * has one with a repeated index; 1 of three vertices without rows; 2 of three vertices with rows of 8 bytes. */
void build_three(struct build_mlp *b, struct buf part[BUILD_PARTS]);
/* The same with more zeros between the slices of the MGP than the MLP has anywhere. */
void build_three_apart(struct build_mlp *b, struct buf part[BUILD_PARTS]);

#endif
