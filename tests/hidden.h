/* A quartet of three meshes, and noise in which it lies. */
#ifndef MODELFS_TESTS_HIDDEN_H
#define MODELFS_TESTS_HIDDEN_H

#include "build_mlp.h"

/* MLP: table up to 0x70, metadata of 456, 336 and 360 bytes at multiples of 16. MMP: slices of 88, 54 and 54 bytes.
 * MGP: slices of 16 and 24 bytes, with more zeros between them than the MLP has anywhere. */
#define MLP_SIZE 1272u
#define MMP_SIZE 224u
#define MGP_SIZE 112u

struct hidden { struct build_mlp built; struct buf part[BUILD_PARTS]; };

extern struct hidden hidden;
int hidden_start(void **state);                /* for cmocka: builds it and frees it */
int hidden_end(void **state);

/* Over what lies there. */
void lay(struct buf *b, size_t at, const struct buf *what);
/* Noise of that size, with the quartet in it. */
#define MLP_AT 100u
#define MMP_AT 0x800u
#define MGP_AT 0xa00u
struct buf hidden_in_noise(size_t size);

#endif
