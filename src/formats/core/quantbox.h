/* Boxes of points for quantise.c: where a cut into two brings most. */
#ifndef MODELFS_QUANTBOX_H
#define MODELFS_QUANTBOX_H

#include "base.h"

struct point { float c[4], w; };               /* where it is; its weight, more than 0 */

/* The points that `order` names from `at` on. */
struct box {
	uint32_t at, n;
	float axis[4], lo, scale;              /* the direction in which it is longest, and its bins in that one */
	unsigned cut;                          /* the last bin of the first half */
	double gain;                           /* by how much a cut shrinks the squared error; 0: it cannot be cut */
};

/* Finds the best cut of b, whose at and n are set. */
void box_measure(const struct point *p, const uint32_t *order, struct box *b);
/* Cuts b, whose gain is more than 0; what lies behind the cut goes into `rest`. Both are measured. */
void box_cut(const struct point *p, uint32_t *order, struct box *b, struct box *rest);
/* Of a box with points. */
void box_mean(const struct point *p, const uint32_t *order, const struct box *b, float mean[4]);

#endif
