/* Small PMO models in memory, tables and geometry region in the order and alignment of the shipped files; and such
 * models opened, for tests of what sound ones show. */
#ifndef MODELFS_TESTS_BUILD_PMO_H
#define MODELFS_TESTS_BUILD_PMO_H

#include "build.h"
#include "geo.h"

#define BUILD_GROUPS 16

struct build_pmo {
	bool v102, no_remap, behind;           /* behind: the region is not in the file */
	float scale[3];
	struct buf meshes, groups, remap, palette, materials, region;
	/* In file order, as they are added. */
	uint16_t nmeshes, nmaterials, ngroups, nremap, npalette;
	uint16_t group_palette;                /* the first entry of the group to come */
	uint32_t list[BUILD_GROUPS], vertices[BUILD_GROUPS], indices[BUILD_GROUPS];    /* offsets in the region */
	uint32_t words[BUILD_GROUPS];          /* of the display list */
	/* After build_pmo(): offsets in the file. */
	uint32_t at_meshes, at_groups, at_remap, at_palette, at_materials, at_geometry, size;
};

void build_material(struct build_pmo *b, uint32_t colour, uint32_t ambient, uint8_t texture, uint32_t leftover);
void build_mesh(struct build_pmo *b, const float scale[4], const float uv_scale[2], const float uv_offset[2]);
void build_remap(struct build_pmo *b, uint8_t material);               /* of the last mesh */
void build_palette(struct build_pmo *b, uint8_t slot, uint8_t bone);   /* of the group to come */

struct build_group {
	uint8_t material;
	uint32_t vertex_type;
	const void *vertices, *indices;        /* indices NULL: not indexed */
	size_t nvertices, nindices;            /* bytes */
	const uint32_t *draw;                  /* commands between VTYPE and the closing OFFSETADDR; ends with 0 */
	bool no_iaddr;
};
/* Adds a group to the last mesh: ORIGIN, BASE, IADDR, VADDR, VTYPE, draw, OFFSETADDR, RET. */
void build_group(struct build_pmo *b, const struct build_group *g);

/* The file; behind (may be NULL) gets the region when b->behind. Frees what b holds. */
void build_pmo(struct build_pmo *b, struct buf *out, struct buf *behind);

uint32_t prim(unsigned type, uint32_t count);
uint32_t fface(unsigned reversed);

/* ---- opened models; what goes wrong fails the test ---- */

struct model {
	struct surroundings around;
	struct buf bytes, behind;              /* behind: the next file of DATA.BIN; empty: there is none */
	struct source *src, *next;
	struct object *o;
	struct arena arena;                    /* of the decoded meshes */
};

void model_open(struct model *m);              /* what bytes and behind hold; it is sound */
void model_open_any(struct model *m);          /* damaged or not */
void model_build(struct model *m, struct build_pmo *b);
/* A mesh of one group of 64 s8 positions, all zero, with u8 indices or none; draw as in build_group. */
void model_draw(struct model *m, const uint8_t *indices, size_t n, const uint32_t *draw);
void model_close(struct model *m);             /* verifies a sound one first */
void model_mesh(struct model *m, uint32_t i, struct geo_mesh *out);

void expect_floats(const float *got, const float *want, unsigned n);           /* equal bit for bit */
void expect_faces(const struct geo_mesh *g, const uint32_t (*want)[3], uint32_t n);
#define FLOATS(got, ...) expect_floats(got, (const float[]){ __VA_ARGS__ }, ARRAY_LEN(((const float[]){ __VA_ARGS__ })))
#define FACES(g, ...) \
	expect_faces(g, (const uint32_t[][3]){ __VA_ARGS__ }, ARRAY_LEN(((const uint32_t[][3]){ __VA_ARGS__ })))

extern const float ones[4], zeros[4];
extern const int8_t points[3 * 64];

#endif
