/* Skeletons: places of bones, and the matrices that tie a model to them. Everything is computed in double and rounded
 * once. */
#include "geo.h"

#include <string.h>

#include "matrix.h"

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

/* Makes it as long as 1 and gives the length it had; 0: it has no direction. */
static double unit(double *v)
{
	double length = sqrt(dot(v, v));

	if (!(length > 0) || !isfinite(length))
		return 0;
	for (unsigned k = 0; k < 3; k++)
		v[k] /= length;
	return length;
}

/* False when it has none. */
static bool invert(const struct matrix *m, float out[16])
{
	struct matrix inverse;

	if (!matrix_inverse(m, &inverse))
		return false;
	memset(out, 0, 16 * sizeof *out);
	out[15] = 1;
	for (unsigned k = 0; k < 9; k++)
		out[k / 3 * 4 + k % 3] = (float)inverse.v[k];
	for (unsigned k = 0; k < 3; k++)
		out[12 + k] = (float)inverse.v[9 + k] + 0.0f; /* no -0 */
	for (unsigned k = 0; k < 16; k++)
		if (!isfinite(out[k]))
			return false;
	return true;
}

/* ---- places ---- */

void geo_joint_reset(struct geo_joint *j)
{
	for (unsigned k = 0; k < 3; k++) {
		j->move[k] = 0;
		j->turn[k] = 0;
		j->scale[k] = 1;
	}
	j->turn[3] = 1;
	j->part = 0;
}

/* Quaternion of three unit columns at right angles. */
static void turn_of(const double *x, const double *y, const double *z, float out[4])
{
	double trace = x[0] + y[1] + z[2], q[4], s;

	if (trace > 0) {
		s = 2 * sqrt(trace + 1);
		q[0] = (y[2] - z[1]) / s, q[1] = (z[0] - x[2]) / s, q[2] = (x[1] - y[0]) / s, q[3] = s / 4;
	} else if (x[0] >= y[1] && x[0] >= z[2]) {
		s = 2 * sqrt(1 + x[0] - y[1] - z[2]);
		q[0] = s / 4, q[1] = (x[1] + y[0]) / s, q[2] = (x[2] + z[0]) / s, q[3] = (y[2] - z[1]) / s;
	} else if (y[1] >= z[2]) {
		s = 2 * sqrt(1 + y[1] - x[0] - z[2]);
		q[0] = (x[1] + y[0]) / s, q[1] = s / 4, q[2] = (y[2] + z[1]) / s, q[3] = (z[0] - x[2]) / s;
	} else {
		s = 2 * sqrt(1 + z[2] - x[0] - y[1]);
		q[0] = (x[2] + z[0]) / s, q[1] = (y[2] + z[1]) / s, q[2] = s / 4, q[3] = (x[1] - y[0]) / s;
	}
	for (unsigned k = 0; k < 4; k++)
		out[k] = (float)q[k] + 0.0f;
}

/* Takes what points along a out of v. */
static void straighten(double *v, const double *a)
{
	double along = dot(v, a);

	for (unsigned k = 0; k < 3; k++)
		v[k] -= along * a[k];
}

void geo_joint_place(struct geo_joint *j, const float m[16])
{
	double v[3][3], side[3], length[3];
	bool bent = false;

	geo_joint_reset(j);
	for (unsigned c = 0; c < 3; c++) {
		j->move[c] = geo_shown(m[12 + c]);
		for (unsigned r = 0; r < 3; r++)
			v[c][r] = m[4 * c + r];
		length[c] = unit(v[c]);
		bent |= length[c] == 0;
	}
	if (bent)
		return;
	cross(v[0], v[1], side);
	if (dot(side, v[2]) < 0) {             /* mirrored */
		length[2] = -length[2];
		for (unsigned k = 0; k < 3; k++)
			v[2][k] = -v[2][k];
	}
	straighten(v[1], v[0]);
	if (unit(v[1]) == 0)
		return;
	cross(v[0], v[1], v[2]);
	turn_of(v[0], v[1], v[2], j->turn);
	for (unsigned k = 0; k < 3; k++)
		j->scale[k] = fabs(length[k] - 1) < 1e-6 ? 1 : (float)length[k];
}

/* ---- settling ---- */

static void make_finite(struct geo_joint *j)
{
	bool sound = true;

	for (unsigned k = 0; k < 4; k++)
		sound &= isfinite(j->turn[k]) && (k == 3 || isfinite(j->scale[k]));
	for (unsigned k = 0; k < 3; k++) {
		j->move[k] = geo_shown(j->move[k]);
		if (!sound) {
			j->turn[k] = 0;
			j->turn[3] = 1;
			j->scale[k] = 1;
		}
	}
	for (unsigned k = 0; k < 16; k++)
		j->tied &= isfinite(j->inverse[k]);
	for (unsigned k = 3; k < 16 && j->tied; k += 4)
		j->inverse[k] = k == 15;
}

struct settling {
	struct geo_skeleton *s;
	struct matrix *world;
	uint32_t *path;                        /* from a joint to its farthest parent not placed yet */
	uint8_t *state;                        /* 0: not placed yet, 1: on the path, 2: placed */
};

static void place(struct settling *x, uint32_t i)
{
	struct geo_joint *j = &x->s->joint[i];
	struct matrix rest = matrix_placed(j->move, j->turn, j->scale);

	x->world[i] = j->parent < 0 ? rest : matrix_times(&x->world[j->parent], &rest);
	x->state[i] = 2;
	if (!j->tied && !invert(&x->world[i], j->inverse))
		memcpy(j->inverse, (const float[16]){ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 },
		       sizeof j->inverse);
}

static void place_with_parents(struct settling *x, uint32_t i)
{
	uint32_t n = 0;

	while (!x->state[i]) {
		struct geo_joint *j = &x->s->joint[i];

		x->state[i] = 1;
		x->path[n++] = i;
		if (j->parent < 0 || (uint32_t)j->parent >= x->s->n || x->state[j->parent] == 1)
			j->parent = -1;
		else
			i = (uint32_t)j->parent;
	}
	while (n-- > 0)
		place(x, x->path[n]);
}

static int settling_begin(struct settling *x, struct geo_skeleton *s, struct arena *a, struct err *e)
{
	x->s = s;
	x->world = arena_alloc(a, (size_t)s->n + 1, sizeof *x->world);
	x->path = arena_alloc(a, (size_t)s->n + 1, sizeof *x->path);
	x->state = arena_alloc(a, (size_t)s->n + 1, 1);
	return x->world && x->path && x->state ? 0 : err_nomem(e);
}

int geo_settle(struct geo_skeleton *s, struct arena *a, struct err *e)
{
	struct settling x;
	int rc = settling_begin(&x, s, a, e);

	for (uint32_t i = 0; i < s->n && !rc; i++)
		make_finite(&s->joint[i]);
	for (uint32_t i = 0; i < s->n && !rc; i++)
		place_with_parents(&x, i);
	return rc;
}

/* ---- models that are tied to other places than those at rest ---- */

#define BENT 1e-4                              /* more than rounding does to a matrix and back */

static bool is_bent(const double m[12], const struct matrix *world)
{
	for (unsigned k = 0; k < 9; k++)
		if (!(fabs(m[k] - (k % 4 == 0)) < BENT))
			return true;
	for (unsigned k = 9; k < 12; k++)
		if (!(fabs(m[k]) < BENT * (1 + fabs(world->v[k]))))
			return true;
	return false;
}

int geo_bend(const struct geo_skeleton *s, float (**out)[12], struct arena *a, struct err *e)
{
	struct geo_skeleton same = *s;
	struct settling x;
	float (*v)[12] = arena_alloc(a, (size_t)s->n + 1, sizeof *v);
	bool bent = false;
	int rc = settling_begin(&x, &same, a, e);

	if (rc || !v)
		return rc ? rc : err_nomem(e);
	for (uint32_t i = 0; i < s->n; i++) {
		struct matrix inverse, m;

		place_with_parents(&x, i);
		for (unsigned k = 0; k < 12; k++)
			inverse.v[k] = s->joint[i].inverse[k / 3 * 4 + k % 3];
		m = matrix_times(&x.world[i], &inverse);
		bent |= is_bent(m.v, &x.world[i]);
		for (unsigned k = 0; k < 12; k++)
			v[i][k] = geo_shown((float)m.v[k]);
	}
	*out = bent ? v : NULL;
	return 0;
}
