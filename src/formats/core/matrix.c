/* Places as matrices. */
#include "matrix.h"

#include <math.h>

const struct matrix matrix_nowhere = { { 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0 } };

void matrix_turn(const float turn[4], double m[9])
{
	double x = turn[0], y = turn[1], z = turn[2], w = turn[3];

	m[0] = 1 - 2 * (y * y + z * z), m[1] = 2 * (x * y + z * w), m[2] = 2 * (x * z - y * w);
	m[3] = 2 * (x * y - z * w), m[4] = 1 - 2 * (x * x + z * z), m[5] = 2 * (y * z + x * w);
	m[6] = 2 * (x * z + y * w), m[7] = 2 * (y * z - x * w), m[8] = 1 - 2 * (x * x + y * y);
}

struct matrix matrix_placed(const float move[3], const float turn[4], const float scale[3])
{
	struct matrix m;

	matrix_turn(turn, m.v);
	for (unsigned k = 0; k < 9; k++)
		m.v[k] *= scale[k / 3];
	for (unsigned k = 0; k < 3; k++)
		m.v[9 + k] = move[k];
	return m;
}

struct matrix matrix_times(const struct matrix *a, const struct matrix *b)
{
	struct matrix m;

	for (unsigned c = 0; c < 4; c++)
		for (unsigned r = 0; r < 3; r++)
			m.v[3 * c + r] = a->v[r] * b->v[3 * c] + a->v[3 + r] * b->v[3 * c + 1] +
					 a->v[6 + r] * b->v[3 * c + 2] + (c == 3 ? a->v[9 + r] : 0);
	return m;
}

static void cross(const double *a, const double *b, double *out)
{
	out[0] = a[1] * b[2] - a[2] * b[1];
	out[1] = a[2] * b[0] - a[0] * b[2];
	out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double *a, const double *b)
{
	return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

bool matrix_inverse(const struct matrix *m, struct matrix *out)
{
	double rows[3][3], det;

	cross(m->v + 3, m->v + 6, rows[0]);
	cross(m->v + 6, m->v, rows[1]);
	cross(m->v, m->v + 3, rows[2]);
	det = dot(m->v, rows[0]);
	if (!isfinite(det) || !isfinite(1 / det))
		return false;
	for (unsigned r = 0; r < 3; r++) {
		for (unsigned c = 0; c < 3; c++)
			out->v[3 * c + r] = rows[r][c] / det;
		out->v[9 + r] = -dot(rows[r], m->v + 9) / det;
	}
	return true;
}
