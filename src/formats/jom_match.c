/* Which stored point and polygon is meant by each vertex and face of an edited OBJ (views.md 4). Programs drop points
 * that no face uses and number the others anew; none of that is an edit. */
#include <stdlib.h>
#include <string.h>

#include "jom_match.h"

/* ---- vertices by place ---- */

static const int32_t *place_of(const struct jom_match *x, uint32_t shown)
{
	return x->g->point[x->shown->point[shown]].at;
}

static bool stays_at(const struct jom_match *x, uint32_t vertex, uint32_t shown)
{
	return jom_all_stay(x->text->position[vertex], place_of(x, shown));
}

static bool build_near(struct jom_match *x)
{
	float (*at)[3] = malloc(((size_t)x->shown->npoints + 1) * sizeof *at);
	bool ok = at;

	for (uint32_t i = 0; i < x->shown->npoints && ok; i++)
		for (unsigned k = 0; k < 3; k++)
			at[i][k] = (float)(place_of(x, i)[k] / JOM_FIXED);
	ok = ok && near_build(&x->near, (const float (*)[3])at, NULL, x->shown->npoints, x->a);
	free(at);
	x->taken = ok ? arena_alloc(x->a, (size_t)x->near.nspots + 1, sizeof *x->taken) : NULL;
	return x->taken;
}

static bool same_colours(const struct jom_match *x, uint32_t a, uint32_t b)
{
	const struct geo_number (*c)[3] = (const struct geo_number (*)[3])x->text->put->colour;

	if (!c || (isnan(c[a][0].v) && isnan(c[b][0].v)))
		return true;
	return c[a][0].v == c[b][0].v && c[a][1].v == c[b][1].v && c[a][2].v == c[b][2].v;
}

/* Whether the vertex may have the colour of a point. */
static bool keeps_colour(const struct jom_match *x, uint32_t vertex, uint32_t shown)
{
	const struct geo_number (*c)[3] = (const struct geo_number (*)[3])x->text->put->colour;

	return !c || isnan(c[vertex][0].v) || !x->g->has_colours ||
	       jom_all_stay(c[vertex], x->g->point[x->shown->point[shown]].colour);
}

#define LOOK_MOST 64u                          /* points at one place that are looked at for one of the same colour */

/* Past those that are vertices already. */
static void pass_taken(struct jom_match *x, const struct near_spot *spot)
{
	uint32_t *taken = &x->taken[spot - x->near.spot];

	while (*taken < spot->count && x->from[x->near.item[spot->first + *taken]] != GEO_NONE)
		++*taken;
}

/* A point at the vertex's place: one that no other vertex is and has its colour; else one that is a vertex just like
 * it, as other programs split points that objects share; else any that is free. */
static uint32_t point_at(struct jom_match *x, uint32_t vertex, const struct near_spot *spot)
{
	uint32_t first = x->near.item[spot->first], free = GEO_NONE, from;

	pass_taken(x, spot);
	from = x->taken[spot - x->near.spot];
	for (uint32_t i = from; i < spot->count && (free == GEO_NONE || i - from < LOOK_MOST); i++) {
		uint32_t p = x->near.item[spot->first + i];

		if (x->from[p] != GEO_NONE || !stays_at(x, vertex, p))
			continue;
		if (keeps_colour(x, vertex, p))
			return p;
		free = free == GEO_NONE ? p : free;
	}
	return x->text->foreign && x->from[first] != GEO_NONE && stays_at(x, vertex, first) &&
	       same_colours(x, vertex, x->from[first]) ? first : free;
}

static const struct near_spot *spot_at(const struct jom_match *x, uint32_t vertex)
{
	const struct geo_number *v = x->text->position[vertex];
	const float at[3] = { (float)v[0].v, (float)v[1].v, (float)v[2].v };

	return near_find(&x->near, at);
}

/* How many vertices are where a point is; x->to of the others is GEO_NONE. */
static uint32_t map_by_place(struct jom_match *x)
{
	const struct geo_put *put = x->text->put;
	uint32_t n = 0;

	memset(x->to, 0xff, (size_t)put->nvertices * sizeof *x->to);
	memset(x->from, 0xff, (size_t)x->shown->npoints * sizeof *x->from);
	memset(x->taken, 0, (size_t)x->near.nspots * sizeof *x->taken);
	for (uint32_t i = 0; i < put->nvertices; i++) {
		const struct near_spot *spot = spot_at(x, i);

		x->to[i] = spot ? point_at(x, i, spot) : GEO_NONE;
		if (x->to[i] == GEO_NONE)
			continue;
		n++;
		if (x->from[x->to[i]] == GEO_NONE)
			x->from[x->to[i]] = i;
	}
	return n;
}

/* ---- vertices by number ---- */

static bool map_all(struct jom_match *x)
{
	if (x->text->put->nvertices != x->shown->npoints)
		return false;
	for (uint32_t i = 0; i < x->shown->npoints; i++)
		x->to[i] = i;
	return true;
}

/* Those that faces use, in stored order. */
static int map_used(struct jom_match *x)
{
	uint32_t nnew = x->text->put->nvertices, nold = x->shown->npoints, k = 0, i;
	uint8_t *used = calloc((size_t)nold + nnew + 1, 1), *ours = used + nnew;

	if (!used)
		return err_nomem(x->e);
	for (i = 0; i < x->nours; i++)
		for (unsigned c = 0; c < 4 && x->ours[i].v[c] != GEO_NONE; c++)
			ours[x->ours[i].v[c]] = 1;
	for (uint32_t f = 0; f < x->text->put->nfaces; f++)
		for (unsigned c = 0; c < x->text->face[f].n; c++)
			used[x->text->face[f].corner[c].v] = 1;
	for (i = 0; i < nnew; i++) {
		x->to[i] = GEO_NONE;
		if (!used[i])
			continue;
		while (k < nold && !ours[k])
			k++;
		if (k == nold)
			break;
		x->to[i] = k++;
	}
	while (k < nold && !ours[k])
		k++;
	free(used);
	return i == nnew && k == nold;
}

/* ---- vertices by faces ----
 *
 * Some programs number vertices as faces use them. Then the faces tell which vertex is which: one after the other they
 * must go with the stored ones, corner by corner. */

static bool may_pair(const struct jom_match *x, uint32_t theirs, uint32_t ours)
{
	return x->to[theirs] == ours ? x->from[ours] == theirs :
	       x->to[theirs] == GEO_NONE && x->from[ours] == GEO_NONE;
}

struct spots { uint32_t *ours, *theirs; };     /* of each shown point, and each vertex, the number of its spot */

/* How many corners stay where they are when the face begins with another one; -1: it cannot. */
static int try_turn(const struct jom_match *x, const struct jom_face *theirs, const struct jom_key *ours,
		    unsigned first, const struct spots *s)
{
	int stay = 0;

	for (unsigned k = 0; k < theirs->n; k++) {
		uint32_t v = theirs->corner[k].v, p = ours->v[(first + k) % theirs->n];

		if (!may_pair(x, v, p) || (s && s->theirs[v] != s->ours[p]))
			return -1;
		stay += stays_at(x, v, p);
	}
	return stay;
}

/* The face may begin with another corner. s: corners have to lie at the same spots; may be NULL. */
static bool pair_face(struct jom_match *x, const struct jom_face *theirs, const struct jom_key *ours,
		      const struct spots *s)
{
	unsigned n = jom_key_corners(ours), best = 0;
	int most = -1;

	for (unsigned first = 0; first < n && theirs->n == n; first++) {
		int stay = try_turn(x, theirs, ours, first, s);

		if (stay > most) {
			most = stay;
			best = first;
		}
	}
	for (unsigned k = 0; k < n && most >= 0; k++) {
		x->to[theirs->corner[k].v] = ours->v[(best + k) % n];
		x->from[ours->v[(best + k) % n]] = theirs->corner[k].v;
	}
	return most >= 0;
}

static bool pair_faces(struct jom_match *x, const uint32_t *order)
{
	uint32_t n = 0;

	memset(x->to, 0xff, (size_t)x->text->put->nvertices * sizeof *x->to);
	memset(x->from, 0xff, (size_t)x->shown->npoints * sizeof *x->from);
	for (uint32_t f = 0; f < x->text->put->nfaces; f++) {
		if (!jom_is_face(x, f))
			continue;
		if (n == x->nours || !pair_face(x, &x->text->face[f], &x->ours[order[n]], NULL))
			return false;
		n++;
	}
	return n == x->nours;
}

/* As programs sort faces that write one material after the other, in the order of their first use. */
static bool sort_by_material(const struct jom_match *x, uint32_t *order)
{
	uint32_t nmaterials = x->g->m->table[JOM_MATL].n + 1, ranks = 0, *rank, *next;

	rank = calloc(2 * (size_t)nmaterials + 2, sizeof *rank);
	if (!rank)
		return false;
	next = rank + nmaterials;
	for (uint32_t i = 0; i < x->nours; i++) {
		uint32_t *r = &rank[x->g->polygon[x->ours[i].number].material];

		*r = *r ? *r : ++ranks;
		next[*r + 1]++;
	}
	for (uint32_t r = 1; r <= ranks; r++)
		next[r] += next[r - 1];
	for (uint32_t i = 0; i < x->nours; i++)
		order[next[rank[x->g->polygon[x->ours[i].number].material]]++] = i;
	free(rank);
	return true;
}

static int map_by_faces(struct jom_match *x)
{
	uint32_t *order = malloc(((size_t)x->nours + 1) * sizeof *order);
	bool found;

	if (!order)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < x->nours; i++)
		order[i] = i;
	found = pair_faces(x, order);
	if (!found && sort_by_material(x, order))
		found = pair_faces(x, order);
	free(order);
	return found;
}

/* ---- the same topology ---- */

static void restore_faces(struct jom_match *x)
{
	memcpy(x->text->face, x->faces, (size_t)x->text->put->nfaces * sizeof *x->faces);
	x->text->nfaces = x->nfaces;
}

/* Of vertices that no face uses, some may be left out. */
static int map_place(struct jom_match *x)
{
	bool all = map_by_place(x) == x->text->put->nvertices;

	jom_collapse(x);
	return all || x->text->nfaces;
}

static int map_number(struct jom_match *x)
{
	return map_all(x);
}

/* ---- vertices by places and faces ----
 *
 * Where several points lie at one place, their order may not tell which is which: then the faces do, that go with each
 * other by places. */

static bool find_spots(struct jom_match *x, struct spots *s)
{
	bool all = true;

	for (uint32_t i = 0; i < x->near.nspots; i++)
		for (uint32_t k = 0; k < x->near.spot[i].count; k++)
			s->ours[x->near.item[x->near.spot[i].first + k]] = i;
	for (uint32_t i = 0; i < x->text->put->nvertices && all; i++) {
		const struct near_spot *spot = spot_at(x, i);

		all = spot && stays_at(x, i, x->near.item[spot->first]);
		s->theirs[i] = all ? (uint32_t)(spot - x->near.spot) : GEO_NONE;
	}
	return all;
}

static bool pair_at_spots(struct jom_match *x, const struct spots *s)
{
	memset(x->to, 0xff, (size_t)x->text->put->nvertices * sizeof *x->to);
	memset(x->from, 0xff, (size_t)x->shown->npoints * sizeof *x->from);
	for (uint32_t f = 0; f < x->text->put->nfaces; f++)
		if (jom_is_face(x, f) && !pair_face(x, &x->text->face[f], &x->ours[x->text->face[f].polygon], s))
			return false;
	return true;
}

static int map_by_spots(struct jom_match *x)
{
	struct spots s = { arena_alloc(x->a, (size_t)x->shown->npoints + 1, sizeof *s.ours),
			   arena_alloc(x->a, (size_t)x->text->put->nvertices + 1, sizeof *s.theirs) };
	bool failed = !s.ours || !s.theirs;
	uint32_t pairs;

	if (failed)
		return err_nomem(x->e);
	if (x->near.nspots == x->shown->npoints || x->text->nfaces != x->nours || !find_spots(x, &s))
		return 0;
	pairs = jom_pair_equal(x, s.ours, s.theirs, &failed);
	return failed ? err_nomem(x->e) : pairs == x->nours && pair_at_spots(x, &s);
}

/* Ways to tell which vertex is which. Those behind the second need faces. */
static int (*const ways[])(struct jom_match *x) = { map_place, map_number, map_used, map_by_faces, map_by_spots };
#define WAYS ARRAY_LEN(ways)

/* Vertices that are moved or left out. */
static uint32_t count_changes(const struct jom_match *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->text->put->nvertices; i++)
		n += x->to[i] == GEO_NONE || !stays_at(x, i, x->to[i]);
	return n;
}

static int try_way(struct jom_match *x, unsigned way)
{
	int rc;

	restore_faces(x);
	rc = ways[way](x);
	return rc > 0 ? jom_same_faces(x) : rc;
}

/* Faces of a symmetric mesh can go with each other in several ways. One that changes no point is meant; else that with
 * the fewest changes. But who edits our own text moves points by their numbers, also to where others were. */
static bool is_better(const struct jom_match *x, unsigned way, uint32_t changes, unsigned best, uint32_t least)
{
	if (best == WAYS)
		return true;
	if (ways[way] == map_number)
		return changes <= least;
	return changes < least && (x->text->foreign || ways[best] != map_number);
}

static int match_same(struct jom_match *x)
{
	uint32_t least = 0, changes;
	unsigned best = WAYS;

	for (unsigned way = 0; way < WAYS && (way < 2 || (x->nours && x->text->nfaces)); way++) {
		int rc = try_way(x, way);

		changes = rc > 0 ? count_changes(x) : 0;
		if (rc < 0 || (rc && !changes))
			return rc;
		if (rc && is_better(x, way, changes, best, least)) {
			best = way;
			least = changes;
		}
	}
	if (best != WAYS)
		return try_way(x, best);
	restore_faces(x);
	return 0;
}

/* ---- another topology ---- */

/* By number, but where more vertices are found by place. */
static bool map_changed(struct jom_match *x)
{
	uint32_t n = x->text->put->nvertices, placed, stay = 0;

	for (uint32_t i = 0; i < n && n == x->shown->npoints; i++)
		stay += stays_at(x, i, i);
	placed = map_by_place(x);
	if (n == x->shown->npoints && (stay * 2 >= n || stay >= placed || (!x->text->foreign && placed * 2 < n)))
		return map_all(x);
	return jom_pair_gaps(x->to, n, x->shown->npoints, x->a);
}

/* ---- all of it ---- */

static bool take_ours(struct jom_match *x)
{
	const struct jom_model *m = x->g->m;

	x->ours = arena_alloc(x->a, (size_t)x->shown->npolygons + 1, sizeof *x->ours);
	x->to = arena_alloc(x->a, (size_t)x->text->put->nvertices + 1, sizeof *x->to);
	x->from = arena_alloc(x->a, (size_t)x->shown->npoints + 1, sizeof *x->from);
	x->faces = arena_alloc(x->a, (size_t)x->text->put->nfaces + 1, sizeof *x->faces);
	if (!x->ours || !x->to || !x->from || !x->faces || !build_near(x))
		return false;
	memcpy(x->faces, x->text->face, (size_t)x->text->put->nfaces * sizeof *x->faces);
	x->nfaces = x->text->nfaces;
	for (uint32_t i = 0; i < x->shown->npolygons; i++) {
		struct jom_key k = { .v = { 0, 0, 0, GEO_NONE }, .number = x->shown->polygon[i] };
		unsigned c[4], n = jom_face(m, k.number, c);

		for (unsigned s = 0; s < n; s++)
			k.v[s] = x->shown->line[jom_corner(m, k.number, c[s ? n - s : 0])];
		if (n)
			x->ours[x->nours++] = k;
	}
	return true;
}

int jom_match(const struct jom_geometry *g, const struct jom_shown *shown, struct jom_text *text, bool *same,
	      struct err *e)
{
	struct arena a = { 0 };
	struct jom_match x = { .g = g, .shown = shown, .text = text, .a = &a, .e = e };
	int rc = take_ours(&x) ? match_same(&x) : err_nomem(e);

	*same = rc > 0;
	if (!rc && (!map_changed(&x) || !jom_pair_changed(&x) || (text->foreign && !jom_keep_twins(&x))))
		rc = err_nomem(e);
	for (uint32_t i = 0; i < text->put->nvertices && rc >= 0; i++)
		text->point[i] = x.to[i] == GEO_NONE ? GEO_NONE : shown->point[x.to[i]];
	for (uint32_t f = 0; f < text->put->nfaces && rc >= 0; f++)
		if (text->face[f].polygon != GEO_NONE)
			text->face[f].polygon = x.ours[text->face[f].polygon].number;
	arena_free(&a);
	return rc < 0 ? rc : 0;
}
