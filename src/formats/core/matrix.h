/* Places as matrices, in double. */
#ifndef MODELFS_MATRIX_H
#define MODELFS_MATRIX_H

#include "base.h"

/* Columns x, y, z and translation; the fourth row is 0 0 0 1. */
struct matrix { double v[12]; };
extern const struct matrix matrix_nowhere;     /* what it is put to stays */

/* Columns x, y, z of a quaternion x, y, z, w of length 1. */
void matrix_turn(const float turn[4], double m[9]);
/* Scaled, turned, moved. */
struct matrix matrix_placed(const float move[3], const float turn[4], const float scale[3]);
/* b, then a. */
struct matrix matrix_times(const struct matrix *a, const struct matrix *b);
/* False: it has none, and *out is left alone. */
bool matrix_inverse(const struct matrix *m, struct matrix *out);

#endif
