#include "assign.h"

#include <stdlib.h>
#include <string.h>

#include "near.h"

/* Parts that can take faces, sorted by material. */
struct choice { int32_t material; uint32_t part; };

struct assign {
	const struct geo_mesh *was;
	const struct geo_put *put;
	struct choice *choice;
	uint32_t nchoices;
	float (*middle)[3];                    /* of the old faces */
	uint32_t *part_of;                     /* likewise */
	uint32_t *item;                        /* room for numbers of them */
	struct near *near;                     /* by the first choice with that material; the last one: all */
	bool *built;
	struct arena *a;
};

static int by_material(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->material != y->material)
		return x->material < y->material ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

static void find_middles(struct assign *x)
{
	const struct geo_mesh *was = x->was;

	for (uint32_t f = 0; f < was->nfaces; f++)
		for (unsigned k = 0; k < 3; k++)
			x->middle[f][k] = (float)(((double)geo_shown(was->position[was->face[f][0]][k]) +
						   geo_shown(was->position[was->face[f][1]][k]) +
						   geo_shown(was->position[was->face[f][2]][k])) / 3);
}

static bool prepare(struct assign *x, const bool *closed)
{
	const struct geo_mesh *was = x->was;
	uint32_t n = was->nparts;

	x->choice = arena_alloc(x->a, (size_t)n + 1, sizeof *x->choice);
	x->near = arena_alloc(x->a, (size_t)n + 1, sizeof *x->near);
	x->built = arena_alloc(x->a, (size_t)n + 1, sizeof *x->built);
	x->middle = arena_alloc(x->a, (size_t)was->nfaces + 1, sizeof *x->middle);
	x->part_of = arena_alloc(x->a, (size_t)was->nfaces + 1, sizeof *x->part_of);
	x->item = arena_alloc(x->a, (size_t)was->nfaces + 1, sizeof *x->item);
	if (!x->choice || !x->near || !x->built || !x->middle || !x->part_of || !x->item)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct geo_part *part = &was->parts[k];

		if (!closed || !closed[k])
			x->choice[x->nchoices++] = (struct choice){ part->material, k };
		for (uint32_t f = part->first_face; f < part->first_face + part->nfaces; f++)
			x->part_of[f] = k;
	}
	find_middles(x);
	if (x->nchoices)
		qsort(x->choice, x->nchoices, sizeof *x->choice, by_material);
	return true;
}

/* The part of the old face nearest to face f, among those of choices [from, to), whose tree is number `tree`; without
 * one the first of the choices. */
static int nearest(struct assign *x, uint32_t f, uint32_t from, uint32_t to, uint32_t tree, uint32_t *out,
		   struct err *e)
{
	const struct geo_corner *c = x->put->face[f];
	const struct near_spot *spot;
	uint32_t n = 0;
	float at[3];

	if (!x->built[tree]) {
		for (uint32_t k = from; k < to; k++) {
			const struct geo_part *part = &x->was->parts[x->choice[k].part];

			for (uint32_t i = 0; i < part->nfaces; i++)
				x->item[n++] = part->first_face + i;
		}
		if (!near_build(&x->near[tree], (const float (*)[3])x->middle, x->item, n, x->a))
			return err_nomem(e);
		x->built[tree] = true;
	}
	for (unsigned k = 0; k < 3; k++)
		at[k] = (float)((x->put->position[c[0].v][k].v + x->put->position[c[1].v][k].v +
				 x->put->position[c[2].v][k].v) / 3);
	spot = near_find(&x->near[tree], at);
	*out = spot ? x->part_of[x->near[tree].item[spot->first]] : x->choice[from].part;
	return 0;
}

static uint32_t first_with(const struct assign *x, int64_t material)
{
	uint32_t low = 0, high = x->nchoices;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (x->choice[mid].material < material)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int choose(struct assign *x, uint32_t f, bool anywhere, uint32_t *out, struct err *e)
{
	int32_t material = x->put->material[f];
	uint32_t from = material < 0 ? 0 : first_with(x, material);
	uint32_t to = material < 0 ? 0 : first_with(x, (int64_t)material + 1);

	if (x->put->group[f] < x->was->nparts)
		*out = x->put->group[f];
	else if (from == to)
		return anywhere && x->nchoices ? nearest(x, f, 0, x->nchoices, x->was->nparts, out, e) : 0;
	else if (to - from > 1)
		return nearest(x, f, from, to, from, out, e);
	else
		*out = x->choice[from].part;
	return 0;
}

int geo_assign(struct geo_assign *g, struct err *e)
{
	struct assign x = { .was = g->was, .put = g->put, .a = g->a };
	int rc = 0;

	g->part = arena_alloc(g->a, (size_t)g->put->nfaces + 1, sizeof *g->part);
	if (!g->part || !prepare(&x, g->closed))
		return err_nomem(e);
	for (uint32_t f = 0; f < g->put->nfaces && !rc; f++) {
		g->part[f] = GEO_NONE;
		if (!geo_is_flat(g->put->face[f]))
			rc = choose(&x, f, g->anywhere, &g->part[f], e);
	}
	return rc;
}
