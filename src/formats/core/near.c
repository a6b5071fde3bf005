/* A k-d tree over the points of a mesh. Points at one place are one spot, and the spots are sorted so that the middle
 * of every range splits it: no node needs a pointer. */
#include <stdlib.h>
#include <string.h>

#include "near.h"

#define VISITS 4096u                           /* spots one search looks at, at most */

struct point { float at[3]; uint32_t item; };

/* Numbers only: what is not one is shown as 0. */
static int by_all(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	for (unsigned k = 0; k < 3; k++)
		if (x->at[k] != y->at[k])
			return x->at[k] < y->at[k] ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static int by_axis(const void *a, const void *b, unsigned k)
{
	const struct near_spot *x = a, *y = b;

	if (x->at[k] != y->at[k])
		return x->at[k] < y->at[k] ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_x(const void *a, const void *b)
{
	return by_axis(a, b, 0);
}

static int by_y(const void *a, const void *b)
{
	return by_axis(a, b, 1);
}

static int by_z(const void *a, const void *b)
{
	return by_axis(a, b, 2);
}

static void split(struct near_spot *v, uint32_t n, unsigned axis)
{
	static int (*const by[3])(const void *, const void *) = { by_x, by_y, by_z };
	uint32_t mid = n / 2;

	if (n < 2)
		return;
	qsort(v, n, sizeof *v, by[axis]);
	split(v, mid, (axis + 1) % 3);
	split(v + mid + 1, n - mid - 1, (axis + 1) % 3);
}

bool near_build(struct near *near, const float (*at)[3], const uint32_t *item, uint32_t n, struct arena *a)
{
	struct point *v = malloc(((size_t)n + 1) * sizeof *v);

	near->nspots = 0;
	near->spot = arena_alloc(a, (size_t)n + 1, sizeof *near->spot);
	near->item = arena_alloc(a, (size_t)n + 1, sizeof *near->item);
	if (!v || !near->spot || !near->item) {
		free(v);
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		v[i].item = item ? item[i] : i;
		for (unsigned k = 0; k < 3; k++)
			v[i].at[k] = geo_shown(at[v[i].item][k]);
	}
	qsort(v, n, sizeof *v, by_all);
	for (uint32_t i = 0; i < n; i++) {
		struct near_spot *last = near->nspots ? &near->spot[near->nspots - 1] : NULL;

		near->item[i] = v[i].item;
		if (last && last->at[0] == v[i].at[0] && last->at[1] == v[i].at[1] && last->at[2] == v[i].at[2]) {
			last->count++;
			continue;
		}
		last = &near->spot[near->nspots++];
		memcpy(last->at, v[i].at, sizeof last->at);
		last->first = i;
		last->count = 1;
	}
	free(v);
	split(near->spot, near->nspots, 0);
	return true;
}

struct search {
	const float *at;
	const struct near_spot *best;
	double distance;
	unsigned visits;
};

static void visit(struct search *s, const struct near_spot *v, uint32_t n, unsigned axis)
{
	uint32_t mid = n / 2;
	double away = 0, side;
	bool left;

	if (!n || s->visits++ >= VISITS)
		return;
	for (unsigned k = 0; k < 3; k++)
		away += ((double)v[mid].at[k] - s->at[k]) * ((double)v[mid].at[k] - s->at[k]);
	if (!s->best || away < s->distance || (away == s->distance && v[mid].first < s->best->first)) {
		s->best = &v[mid];
		s->distance = away;
	}
	side = (double)s->at[axis] - v[mid].at[axis];
	left = side < 0;
	visit(s, left ? v : v + mid + 1, left ? mid : n - mid - 1, (axis + 1) % 3);
	if (side * side <= s->distance)
		visit(s, left ? v + mid + 1 : v, left ? n - mid - 1 : mid, (axis + 1) % 3);
}

const struct near_spot *near_find(const struct near *near, const float at[3])
{
	struct search s = { .at = at };

	visit(&s, near->spot, near->nspots, 0);
	return s.best;
}
