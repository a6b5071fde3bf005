/* Normals of polygons and the sphere around the model, where points moved (spec/jom.md 4.1, 6). */
#include <math.h>
#include <string.h>

#include "jom_put.h"

/* ---- directions ---- */

/* a * b - c * d with one rounding, so that what is equal cancels out. */
static double difference(double a, double b, double c, double d)
{
	double cd = c * d, lost = fma(-c, d, cd);

	return fma(a, b, -cd) + lost;
}

/* (D - B) x (C - A): with two equal neighbours that is (C - A) x (B - A) of the three corners that are left. */
static bool direction(const int32_t *const corner[4], double out[3])
{
	double u[3], v[3];

	for (unsigned k = 0; k < 3; k++) {
		u[k] = (double)corner[3][k] - corner[1][k];
		v[k] = (double)corner[2][k] - corner[0][k];
	}
	for (unsigned k = 0; k < 3; k++)
		out[k] = difference(u[(k + 1) % 3], v[(k + 2) % 3], u[(k + 2) % 3], v[(k + 1) % 3]);
	return out[0] != 0 || out[1] != 0 || out[2] != 0;
}

bool jom_direction(const struct jom_geometry *g, const struct jom_polygon *p, double out[3])
{
	const int32_t *corner[4];

	for (unsigned c = 0; c < 4; c++)
		corner[c] = g->point[p->corner[c]].at;
	return direction(corner, out);
}

static void stored_point(const struct jom_model *m, uint32_t i, int32_t at[3])
{
	for (unsigned k = 0; k < 3; k++)
		at[k] = jom_i32(jom_row(m, JOM_PNTS, i) + 4 * (size_t)k);
}

static void stored_corners(const struct jom_model *m, uint32_t polygon, int32_t at[4][3])
{
	for (unsigned c = 0; c < 4; c++)
		stored_point(m, jom_corner(m, polygon, c), at[c]);
}

/* ---- which way normals point ---- */

static double along(const struct jom_geometry *g, uint32_t polygon)
{
	const int32_t *normal = g->polygon[polygon].normal;
	int32_t at[4][3];
	double d[3];

	stored_corners(g->m, polygon, at);
	if (!direction((const int32_t *const[4]){ at[0], at[1], at[2], at[3] }, d))
		return 0;
	return d[0] * normal[0] + d[1] * normal[1] + d[2] * normal[2];
}

/* Which polygons an edit touched: their normals are due. */
static bool is_due(const struct jom_geometry *g, const struct jom_polygon *p)
{
	bool due = p->other;

	for (unsigned c = 0; c < 4; c++)
		due |= g->point[p->corner[c]].moved;
	return due && !p->gone;
}

/* No page says which way they point. Those that are stored do: the untouched ones; where there is none, the others as
 * they were. Without any, outwards of clockwise faces. */
static double sign(const struct jom_geometry *g)
{
	int64_t untouched = 0, all = 0;

	for (uint32_t i = 0; i < g->npolygons && g->polygon[i].old != GEO_NONE; i++) {
		double way = along(g, i);
		int one = (way > 0) - (way < 0);

		all += one;
		if (!is_due(g, &g->polygon[i]))
			untouched += one;
	}
	return untouched ? (untouched < 0 ? -1 : 1) : all < 0 ? -1 : 1;
}

/* ---- normals ---- */

/* What was only moved as a whole faces where it did. */
static bool same_shape(const struct jom_geometry *g, const struct jom_polygon *p)
{
	int32_t was[4][3];

	if (p->other || p->old == GEO_NONE)
		return false;
	stored_corners(g->m, p->old, was);
	for (unsigned c = 1; c < 4; c++)
		for (unsigned k = 0; k < 3; k++)
			if ((int64_t)g->point[p->corner[c]].at[k] - g->point[p->corner[0]].at[k] !=
			    (int64_t)was[c][k] - was[0][k])
				return false;
	return true;
}

/* A polygon without area keeps what it has. */
static void set_normal(const struct jom_geometry *g, struct jom_polygon *p, double way)
{
	double d[3], length;

	if (!jom_direction(g, p, d))
		return;
	length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
	for (unsigned k = 0; k < 3; k++)
		p->normal[k] = (int32_t)round(way * d[k] / length * 65536);
}

void jom_face_normals(struct jom_geometry *g)
{
	double way = 0;

	for (uint32_t i = 0; i < g->npolygons; i++) {
		struct jom_polygon *p = &g->polygon[i];

		if (!is_due(g, p) || same_shape(g, p))
			continue;
		way = way != 0 ? way : sign(g);
		set_normal(g, p, way);
	}
}

/* ---- sphere ---- */

/* The square of a distance; UINT64_MAX when it is more. */
static uint64_t distance(const int32_t a[3], const int32_t b[3])
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < 3; k++) {
		uint64_t d = (uint64_t)(a[k] < b[k] ? (int64_t)b[k] - a[k] : (int64_t)a[k] - b[k]);

		if (d * d > UINT64_MAX - sum)
			return UINT64_MAX;
		sum += d * d;
	}
	return sum;
}

static bool inside(const struct jom_header *h, const int32_t at[3], unsigned tolerance)
{
	uint64_t radius = (uint64_t)(h->sphere_radius < 0 ? 0 : h->sphere_radius) + tolerance;

	return h->sphere_radius >= 0 && distance(h->sphere_centre, at) <= radius * radius;
}

#define ROUNDED 3u                             /* what rounding of centre and radius may cost, in 1/65536 */

/* Points that were outside before do not leave it. */
static bool left(const struct jom_geometry *g, const struct jom_point *p)
{
	int32_t was[3];

	if (p->gone || (p->old != GEO_NONE && !p->moved) || inside(&g->m->head, p->at, 0))
		return false;
	if (p->old == GEO_NONE)
		return true;
	stored_point(g->m, p->old, was);
	return inside(&g->m->head, was, ROUNDED);
}

/* Rounded up, as far as a radius goes. */
static int32_t root(uint64_t square)
{
	uint64_t r = (uint64_t)sqrt((double)square);

	if (square > (uint64_t)INT32_MAX * INT32_MAX)
		return INT32_MAX;
	while (r * r < square)
		r++;
	while (r && (r - 1) * (r - 1) >= square)
		r--;
	return (int32_t)r;
}

/* The middle of the box around all points, and the distance of the farthest. */
static void around(const struct jom_geometry *g, int32_t out[4])
{
	int32_t least[3] = { INT32_MAX, INT32_MAX, INT32_MAX }, most[3] = { INT32_MIN, INT32_MIN, INT32_MIN };
	uint64_t far = 0;

	for (uint32_t i = 0; i < g->npoints; i++)
		for (unsigned k = 0; k < 3 && !g->point[i].gone; k++) {
			int32_t v = g->point[i].at[k];

			least[k] = v < least[k] ? v : least[k];
			most[k] = v > most[k] ? v : most[k];
		}
	for (unsigned k = 0; k < 3; k++) {
		int64_t sum = (int64_t)least[k] + most[k];

		out[k] = (int32_t)((sum - (sum & 1)) / 2);     /* downwards */
	}
	for (uint32_t i = 0; i < g->npoints; i++) {
		uint64_t d = g->point[i].gone ? 0 : distance(out, g->point[i].at);

		far = d > far ? d : far;
	}
	out[3] = root(far);
}

void jom_sphere(const struct jom_geometry *g, int32_t out[4])
{
	memcpy(out, g->m->head.sphere_centre, 3 * sizeof *out);
	out[3] = g->m->head.sphere_radius;
	for (uint32_t i = 0; i < g->npoints; i++)
		if (left(g, &g->point[i])) {
			around(g, out);
			return;
		}
}
