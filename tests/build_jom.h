/* JOM models for tests, built from the layout in the specification. */
#ifndef MODELFS_TESTS_BUILD_JOM_H
#define MODELFS_TESTS_BUILD_JOM_H

#include "build.h"

#define ONE 65536                              /* 1.0 of a fixed number */

void put_big16(struct buf *b, unsigned v);
void put_big32(struct buf *b, uint32_t v);
void put_name16(struct buf *b, const char *name);      /* char[16], padded with zeros */

void jom_header(struct buf *b);                /* sphere (0.5, -1, 0), radius 1.1180419921875 */
/* A chunk: its data are what is added up to jom_close(). */
size_t jom_begin(struct buf *b, const char *tag);
void jom_close(struct buf *b, size_t begun);
void jom_end(struct buf *b);

void jom_points(struct buf *b, uint32_t n, const int32_t (*v)[3]);
struct jom_poly { int32_t normal[3]; uint16_t corners[4], material; };
/* QUAD and QMAT. */
void jom_polygons(struct buf *b, uint32_t n, const struct jom_poly *v);
/* MATL of n plain materials: name, white, no texture. */
void jom_materials(struct buf *b, uint32_t n, const char *const *names);

/* The smallest model, 172 bytes: the example of spec/jom.md 13 with A and B of its triangle exchanged, so that its
 * normal has the sign that spec 4.1 does not expect. */
void build_jom_smallest(struct buf *b);
/* One of everything: see build_jom.c. */
void build_jom_hut(struct buf *b);

/* Where data of a chunk begin, behind its size; the first of that tag. Fails the test when there is none. */
size_t jom_data(const uint8_t *p, size_t n, const char *tag);

#endif
