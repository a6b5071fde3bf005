/* Models of several files for tests: the formats of quad.c, which are a program's formats when it is linked to that. */
#ifndef MODELFS_TESTS_QUAD_H
#define MODELFS_TESTS_QUAD_H

#include "format.h"

enum { QDA = 1, QDB = 2, QDC = 4, QDD = 8, QUAD_ALL = 15 };

/* The files of a model, those of `which`; the others stay empty. Part i has 16 bytes in its qdb and, where there is a
 * qdc, 8 there. */
struct quad_files { struct buf f[4]; };
void quad_build(struct quad_files *q, uint32_t parts, uint32_t stamp, unsigned which);
void quad_free(struct quad_files *q);
extern const char *const quad_ext[4];          /* "qda" ... */

/* A box of n entries, with `slack` zeros behind each. */
struct quad_entry { const char *name; const struct buf *bytes; };
void box_build(struct buf *out, const struct quad_entry *v, uint32_t n, uint32_t slack);
/* A bag of one model. */
void bag_build(struct buf *out, const struct quad_files *q);

#endif
