/* PMO models made of grids of squares, opened for editing, and their OBJ texts. What goes wrong fails the test. */
#ifndef MODELFS_TESTS_PMO_GRID_H
#define MODELFS_TESTS_PMO_GRID_H

#include "build_pmo.h"
#include "edited.h"

extern const struct format fmt_pmo;

#define SKINNED16 0x1322u                      /* u8 weight, u16 UV, s8 normal, s16 position, u16 indices: 16 bytes */
#define SKINNED8 0x0b22u                       /* the same with u8 indices */

void grid_begin(struct build_pmo *b, bool v102);               /* three materials, a scale of 1 */
void grid_mesh(struct build_pmo *b);                           /* a mesh of all of them */
/* Vertex (x, y) of a grid lies at x / 8, y / 8; its weight tells which one it is. */
void grid_vertex(struct buf *b, int x, int y, unsigned weight);
/* Adds a group to the last mesh: w x h squares of two triangles each, from (x0, y0) on. more (may be NULL): its draw
 * commands, GRID_DRAWS at most, as in build_group; NULL: one list. */
#define GRID_DRAWS 24
void grid_add(struct build_pmo *b, unsigned material, uint32_t type, int x0, int y0, int w, int h,
	      const uint32_t *more);
/* Two meshes: one of two groups, 2 x 2 squares of material 0 and 1 x 1 of material 1 beside them, and one of 1 x 1. */
void grid_two_meshes(struct build_pmo *b);
/* Sound, with `room` bytes behind each part. Frees what b holds. */
void grid_open(struct edited *k, struct build_pmo *b, size_t room);

void grid_read(struct edited *k, uint32_t i, struct geo_mesh *g, struct arena *a);
/* Mesh i as OBJ, in a fresh text, not zero-terminated. */
void grid_text(struct edited *k, uint32_t i, struct buf *text);
void drop_face(struct buf *text, unsigned n);                  /* takes the n-th face line out (from 0) */
void drop_lines(struct buf *text, const char *begins);         /* all lines that begin like that */

#endif
