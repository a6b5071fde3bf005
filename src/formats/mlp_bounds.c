/* Boxes and spheres that follow from vertices (spec/ps3-pak.md 9.4): how the game's were made is unknown, so one stays
 * as it is while it still holds all it has to. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "mlp_write.h"

#define OUTSIDE 0.05                           /* that a vertex may lie outside its box */
#define ROUNDING 1e-6                          /* and its sphere, in parts of the radius */

struct box { double low[3], high[3]; };

/* Vertices by number, or those that a run of indices means. */
struct points { const uint8_t *vertices, *indices; uint32_t n; };

static const uint8_t *vertex_of(const struct points *p, uint32_t i)
{
	return p->vertices + (size_t)MLP_VERTEX_SIZE * (p->indices ? be_u16(p->indices + 2 * (size_t)i) : i);
}

static double coordinate(const uint8_t *vertex, unsigned k)
{
	return bits_f32(be_u32(vertex + 4 * k));
}

static struct box box_of(const struct points *p)
{
	struct box b = { { HUGE_VAL, HUGE_VAL, HUGE_VAL }, { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL } };

	for (uint32_t i = 0; i < p->n; i++)
		for (unsigned k = 0; k < 3; k++) {
			double v = coordinate(vertex_of(p, i), k);

			b.low[k] = v < b.low[k] ? v : b.low[k];
			b.high[k] = v > b.high[k] ? v : b.high[k];
		}
	return b;
}

static double farthest(const struct points *p, const double centre[3])
{
	double most = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		double sum = 0;

		for (unsigned k = 0; k < 3; k++) {
			double off = coordinate(vertex_of(p, i), k) - centre[k];

			sum += off * off;
		}
		most = sum > most ? sum : most;
	}
	return sqrt(most);
}

/* ---- spheres ---- */

static bool sphere_holds(const uint8_t raw[16], const struct points *p)
{
	double centre[3], radius = coordinate(raw, 3);

	for (unsigned k = 0; k < 3; k++)
		centre[k] = coordinate(raw, k);
	return farthest(p, centre) <= radius + radius * ROUNDING;
}

static void put_number(uint8_t *raw, double v)
{
	v = v > (double)FLT_MAX ? (double)FLT_MAX : v;
	put_be32(raw, f32_bits((float)v));
}

static int put_sphere(const struct mlp_edit *x, uint64_t at, const struct points *p, const struct box *b, struct err *e)
{
	uint8_t raw[16];
	double centre[3];
	int rc = src_read(x->o->src, raw, sizeof raw, at, "bounding sphere", e);

	if (rc || sphere_holds(raw, p))
		return rc;
	for (unsigned k = 0; k < 3; k++) {
		put_number(raw + 4 * k, (b->low[k] + b->high[k]) / 2);
		centre[k] = coordinate(raw, k);
	}
	put_number(raw + 12, farthest(p, centre));
	return object_patch(x->o, MLP_LIBRARY, at, raw, sizeof raw, "bounding sphere", e);
}

/* ---- the mesh ---- */

static bool box_holds(const struct box *stored, const struct box *b)
{
	for (unsigned k = 0; k < 3; k++)
		if (!(b->low[k] >= stored->low[k] - OUTSIDE && b->high[k] <= stored->high[k] + OUTSIDE))
			return false;
	return true;
}

/* The box as it is then in *out. */
static int put_box(const struct mlp_edit *x, const struct box *b, struct box *out, struct err *e)
{
	uint64_t at = mlp_metadata_at(x->m, x->number) + MLP_AT_AABB_MIN;
	uint8_t raw[32];
	int rc = src_read(x->o->src, raw, sizeof raw, at, "box", e);

	for (unsigned k = 0; k < 3 && !rc; k++) {
		out->low[k] = coordinate(raw, k);
		out->high[k] = coordinate(raw + 16, k);
	}
	if (rc || box_holds(out, b))
		return rc;
	*out = *b;
	for (unsigned k = 0; k < 3; k++) {
		put_number(raw + 4 * k, b->low[k]);
		put_number(raw + 16 + 4 * k, b->high[k]);
	}
	put_number(raw + 12, 1);
	put_number(raw + 28, 1);
	return object_patch(x->o, MLP_LIBRARY, at, raw, sizeof raw, "box", e);
}

/* Whether a run of indices leads to other places than before. */
static bool is_moved(const struct points *was, const struct points *now)
{
	for (uint32_t i = 0; i < now->n && was->n == now->n; i++)
		if (memcmp(vertex_of(was, i), vertex_of(now, i), MLP_NORMAL))
			return true;
	return was->n != now->n;
}

static int put_submesh(const struct mlp_edit *x, const struct mlp_shape *shape, uint32_t k, struct err *e)
{
	const struct mlp_sub *old = &x->m->sub[x->mesh->first_sub + k], *new = &shape->sub[k];
	struct points was = { x->s.vertices, x->s.indices + 2 * (size_t)old->first_index, old->index_count };
	struct points now = { shape->vertices, shape->indices + 2 * (size_t)new->first_index, new->index_count };
	struct box b;

	if (!is_moved(&was, &now))
		return 0;
	b = box_of(&now);
	return put_sphere(x, mlp_submesh_at(x->m, x->number, k), &now, &b, e);
}

int mlp_bounds_put(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e)
{
	struct points was = { x->s.vertices, NULL, x->mesh->nvertices }, all = { now->vertices, NULL, now->nvertices };
	struct box b, box;
	int rc;

	/* Other faces of the same vertices change nothing that is stored, as long as there are as many. */
	if (!is_moved(&was, &all) && now->nindices == x->mesh->nindices)
		return 0;
	b = box_of(&all);
	rc = put_box(x, &b, &box, e);
	rc = rc ? rc : put_sphere(x, mlp_metadata_at(x->m, x->number) + MLP_AT_SPHERE, &all, &box, e);
	for (uint32_t k = 0; k < x->mesh->nsubs && !rc; k++)
		rc = put_submesh(x, now, k, e);
	return rc;
}
