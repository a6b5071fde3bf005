/* Where added points and polygons go: a group's polygons are a run of QUAD, the points that only it uses one of PNTS
 * (spec/jom.md 4.10). What is there keeps its order. New ones follow what comes before them in the text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jom_put.h"

/* ---- whether that is possible ---- */

static int refuse(const struct jom_table *t, const char *tag, uint32_t expected, struct err *e)
{
	return err_set(e, EINVAL, "%s has %u records, expected %u: no points or polygons can be added or taken away",
		       tag, t->n, expected);
}

static int check_counts(const struct jom_geometry *g, struct err *e)
{
	const struct jom_table *t = g->m->table;
	uint32_t npoints = t[JOM_PNTS].n, npolygons = t[JOM_QUAD].n;

	if (t[JOM_QMAT].n != npolygons)
		return refuse(&t[JOM_QMAT], "QMAT", npolygons, e);
	if (t[JOM_CNRM].there && t[JOM_CNRM].n != 4 * (uint64_t)npolygons)
		return refuse(&t[JOM_CNRM], "CNRM", 4 * npolygons, e);
	if (t[JOM_VCOL].there && t[JOM_VCOL].n != npoints)
		return refuse(&t[JOM_VCOL], "VCOL", npoints, e);
	if (t[JOM_GOUR].there && t[JOM_GOUR].n != 4 * (uint64_t)npolygons)
		return refuse(&t[JOM_GOUR], "GOUR", 4 * npolygons, e);
	return 0;
}

struct run { uint32_t first, count, group; };

static int by_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x->group > y->group) - (x->group < y->group);
}

static int check_runs(struct run *v, uint32_t n, uint32_t most, const char *what, struct err *e)
{
	uint32_t end = 0, before = 0;

	if (n)
		qsort(v, n, sizeof *v, by_first);
	for (uint32_t i = 0; i < n; i++) {
		if (!v[i].count)
			continue;
		if (v[i].first < end)
			return err_set(e, EINVAL,
				       "%s %u belongs to the groups %u and %u: none can be added or taken away", what,
				       v[i].first, before, v[i].group);
		end = v[i].first + v[i].count;
		before = v[i].group;
		if (end > most)
			return err_set(e, EINVAL,
				       "group %u ends with %s %u, there are %u: none can be added or taken away",
				       v[i].group, what, end - 1, most);
	}
	return 0;
}

int jom_can_arrange(const struct jom_geometry *g, struct err *e)
{
	struct run *points = arena_alloc(g->a, (size_t)g->ngroups + 1, sizeof *points);
	struct run *polygons = arena_alloc(g->a, (size_t)g->ngroups + 1, sizeof *polygons);
	int rc = points && polygons ? check_counts(g, e) : err_nomem(e);

	for (uint32_t i = 0; i < g->ngroups && !rc; i++) {
		points[i] = (struct run){ g->group[i].first_point, g->group[i].point_count, i };
		polygons[i] = (struct run){ g->group[i].first_polygon, g->group[i].polygon_count, i };
	}
	rc = rc ? rc : check_runs(points, g->ngroups, g->m->table[JOM_PNTS].n, "point", e);
	return rc ? rc : check_runs(polygons, g->ngroups, g->m->table[JOM_QUAD].n, "polygon", e);
}

/* ---- an order ----
 *
 * A list of n items, the stored ones first. Each belongs to a region: a group, or the last region, which is none. A
 * mark stands in front of the first item of each; those of regions without items stand at the end. */
struct order {
	uint32_t n, regions;
	uint32_t *region;                      /* of each item */
	uint32_t *next, *before;               /* of items, of marks (n + region), of the end (n + regions) */
	uint32_t *last;                        /* of each region: the node that the next new item goes behind */
	uint32_t *number;                      /* of each item that is left, once they are numbered */
	uint32_t *first, *count;               /* of each region, likewise */
};

static void put_behind(struct order *s, uint32_t node, uint32_t at)
{
	uint32_t next = s->next[at];

	s->next[at] = s->before[next] = node;
	s->before[node] = at;
	s->next[node] = next;
}

static void take_out(struct order *s, uint32_t node)
{
	s->next[s->before[node]] = s->next[node];
	s->before[s->next[node]] = s->before[node];
}

static bool prepare(struct order *s, uint32_t n, uint32_t regions, struct arena *a)
{
	size_t nodes = (size_t)n + regions + 1;

	*s = (struct order){ .n = n, .regions = regions };
	s->region = arena_alloc(a, (size_t)n + 1, sizeof *s->region);
	s->number = arena_alloc(a, (size_t)n + 1, sizeof *s->number);
	s->next = arena_alloc(a, nodes, sizeof *s->next);
	s->before = arena_alloc(a, nodes, sizeof *s->before);
	s->last = arena_alloc(a, regions, sizeof *s->last);
	s->first = arena_alloc(a, regions, sizeof *s->first);
	s->count = arena_alloc(a, regions, sizeof *s->count);
	return s->region && s->number && s->next && s->before && s->last && s->first && s->count;
}

/* The stored items as they lie; their regions are known. count serves as the note which marks are placed. */
static void line_up(struct order *s, uint32_t stored)
{
	uint32_t end = s->n + s->regions;

	s->next[end] = s->before[end] = end;
	for (uint32_t i = 0; i < stored; i++) {
		uint32_t r = s->region[i];

		if (!s->count[r]++)
			put_behind(s, s->n + r, s->before[end]);
		put_behind(s, i, s->before[end]);
	}
	for (uint32_t r = 0; r < s->regions; r++) {
		if (!s->count[r])
			put_behind(s, s->n + r, s->before[end]);
		s->last[r] = s->n + r;
	}
}

/* The text comes to an item; a new one goes behind `near` rather, if that is one of its region. */
static void pass(struct order *s, uint32_t item, bool fresh, uint32_t near)
{
	uint32_t *last = &s->last[s->region[item]];

	if (fresh)
		put_behind(s, item, near != GEO_NONE && s->region[near] == s->region[item] ? near : *last);
	*last = item;
}

/* last becomes the last item of each region, or its mark. */
static void find_last(struct order *s)
{
	uint32_t end = s->n + s->regions;

	for (uint32_t at = s->next[end]; at != end; at = s->next[at])
		s->last[at < s->n ? s->region[at] : at - s->n] = at;
}

/* To the end of another region; of the last one: behind all. */
static void move(struct order *s, uint32_t item, uint32_t region)
{
	uint32_t *last = &s->last[s->region[item]], end = s->n + s->regions;

	*last = *last == item ? s->before[item] : *last;
	take_out(s, item);
	s->region[item] = region;
	put_behind(s, item, region + 1 < s->regions ? s->last[region] : s->before[end]);
	s->last[region] = item;
}

/* Numbers what is left; first is where a region begins, or would. */
static uint32_t number_items(struct order *s, bool (*is_gone)(const void *ctx, uint32_t item), const void *ctx)
{
	uint32_t end = s->n + s->regions, n = 0;

	memset(s->count, 0, s->regions * sizeof *s->count);
	for (uint32_t at = s->next[end]; at != end; at = s->next[at]) {
		if (at >= s->n) {
			s->first[at - s->n] = n;
			continue;
		}
		s->number[at] = GEO_NONE;
		if (is_gone(ctx, at))
			continue;
		if (!s->count[s->region[at]]++)
			s->first[s->region[at]] = n;
		s->number[at] = n++;
	}
	return n;
}

/* ---- polygons ---- */

static uint32_t region_of(const struct jom_geometry *g, uint32_t group)
{
	return group == GEO_NONE ? g->ngroups : group;
}

static bool polygon_gone(const void *ctx, uint32_t i)
{
	return ((const struct jom_geometry *)ctx)->polygon[i].gone;
}

static int order_polygons(const struct jom_geometry *g, const struct jom_text *text, struct order *s, struct err *e)
{
	if (!prepare(s, g->npolygons, g->ngroups + 1, g->a))
		return err_nomem(e);
	for (uint32_t i = 0; i < g->npolygons; i++)
		s->region[i] = region_of(g, g->polygon[i].group);
	line_up(s, g->m->table[JOM_QUAD].n);
	for (uint32_t f = 0; f < text->put->nfaces; f++)
		if (text->face[f].n)
			pass(s, text->face[f].polygon, g->polygon[text->face[f].polygon].old == GEO_NONE, GEO_NONE);
	return 0;
}

/* ---- points ---- */

#define SEVERAL 0xfffffffeu

static void use(uint32_t *user, uint32_t point, uint32_t region)
{
	user[point] = user[point] == GEO_NONE || user[point] == region ? region : SEVERAL;
}

/* The region whose polygons use each point; GEO_NONE: nobody does. before: as it is stored. */
static uint32_t *find_users(const struct jom_geometry *g, bool before)
{
	uint32_t *user = arena_alloc(g->a, (size_t)g->npoints + 1, sizeof *user);

	if (user)
		memset(user, 0xff, (size_t)g->npoints * sizeof *user);
	for (uint32_t i = 0; i < g->npolygons && user; i++) {
		const struct jom_polygon *p = &g->polygon[i];

		for (unsigned c = 0; c < 4; c++)
			if (before && p->old != GEO_NONE)
				use(user, jom_corner(g->m, p->old, c), region_of(g, p->group));
			else if (!before && !p->gone)
				use(user, p->corner[c], region_of(g, p->group));
	}
	return user;
}

/* Where a point belongs that `user` uses and that lies in `region`. */
static uint32_t home(const struct jom_geometry *g, uint32_t user, uint32_t region)
{
	return user == GEO_NONE ? region : user == SEVERAL ? g->ngroups : user;
}

static bool point_gone(const void *ctx, uint32_t i)
{
	return ((const struct jom_geometry *)ctx)->point[i].gone;
}

static void set_point_regions(const struct jom_geometry *g, const struct jom_text *text, const uint32_t *user,
			      struct order *s)
{
	uint32_t stored = g->m->table[JOM_PNTS].n, mine = g->ngroups;

	for (uint32_t i = 0; i < stored; i++)
		s->region[i] = g->ngroups;
	for (uint32_t r = 0; r < g->ngroups; r++)
		for (uint32_t k = 0; k < g->group[r].point_count; k++)
			s->region[g->group[r].first_point + k] = r;
	/* Unused ones show in their mesh only when they are among its group's own. */
	if (text->mesh != MESH_WHOLE)
		mine = region_of(g, g->m->meshes[text->mesh].group);
	for (uint32_t i = stored; i < g->npoints; i++)
		s->region[i] = home(g, user[i], mine);
}

/* A point that has got other users leaves the run it lies in, if it lay where it belonged. */
static void move_points(const struct jom_geometry *g, const uint32_t *was, const uint32_t *is, struct order *s)
{
	find_last(s);
	for (uint32_t i = 0; i < g->m->table[JOM_PNTS].n; i++) {
		uint32_t now = home(g, is[i], s->region[i]);

		if (!g->point[i].gone && now != s->region[i] && home(g, was[i], s->region[i]) == s->region[i])
			move(s, i, now);
	}
}

struct spot { int32_t at[3]; uint32_t point; };

static int by_spot(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	for (unsigned k = 0; k < 3; k++)
		if (x->at[k] != y->at[k])
			return x->at[k] < y->at[k] ? -1 : 1;
	return (x->point > y->point) - (x->point < y->point);
}

/* Of each point the first of those at the same place. */
static uint32_t *find_spots(const struct jom_geometry *g)
{
	struct spot *v = arena_alloc(g->a, (size_t)g->npoints + 1, sizeof *v);
	uint32_t *first = arena_alloc(g->a, (size_t)g->npoints + 1, sizeof *first);

	if (!v || !first)
		return NULL;
	for (uint32_t i = 0; i < g->npoints; i++) {
		memcpy(v[i].at, g->point[i].at, sizeof v[i].at);
		v[i].point = i;
	}
	if (g->npoints)
		qsort(v, g->npoints, sizeof *v, by_spot);
	for (uint32_t i = 0; i < g->npoints; i++) {
		bool again = i && !memcmp(v[i].at, v[i - 1].at, sizeof v[i].at);

		first[v[i].point] = again ? first[v[i - 1].point] : v[i].point;
	}
	return first;
}

/* New points at the place of others come behind them: by that order the text is told from them again. */
static bool pass_points(const struct jom_geometry *g, const struct jom_text *text, struct order *s)
{
	uint32_t *spot = find_spots(g), *last = arena_alloc(g->a, (size_t)g->npoints + 1, sizeof *last);

	if (!spot || !last)
		return false;
	memset(last, 0xff, (size_t)g->npoints * sizeof *last);
	for (uint32_t i = 0; i < text->put->nvertices; i++) {
		uint32_t p = text->point[i];

		if (p == GEO_NONE || g->point[p].from != i)
			continue;
		pass(s, p, g->point[p].old == GEO_NONE, last[spot[p]]);
		last[spot[p]] = p;
	}
	return true;
}

static int order_points(const struct jom_geometry *g, const struct jom_text *text, struct order *s, struct err *e)
{
	uint32_t *was = find_users(g, true), *is = find_users(g, false);

	if (!was || !is || !prepare(s, g->npoints, g->ngroups + 1, g->a))
		return err_nomem(e);
	set_point_regions(g, text, is, s);
	line_up(s, g->m->table[JOM_PNTS].n);
	if (!pass_points(g, text, s))
		return err_nomem(e);
	move_points(g, was, is, s);
	return 0;
}

/* ---- all of it ---- */

static int sort_points(struct jom_geometry *g, const struct order *s, uint32_t n, struct err *e)
{
	struct jom_point *v = arena_alloc(g->a, (size_t)n + 1, sizeof *v);

	if (!v)
		return err_nomem(e);
	for (uint32_t i = 0; i < g->npoints; i++)
		if (s->number[i] != GEO_NONE)
			v[s->number[i]] = g->point[i];
	g->point = v;
	g->npoints = n;
	return 0;
}

static int sort_polygons(struct jom_geometry *g, const struct order *s, const struct order *points, uint32_t n,
			 struct err *e)
{
	struct jom_polygon *v = arena_alloc(g->a, (size_t)n + 1, sizeof *v);

	if (!v)
		return err_nomem(e);
	for (uint32_t i = 0; i < g->npolygons; i++) {
		if (s->number[i] == GEO_NONE)
			continue;
		v[s->number[i]] = g->polygon[i];
		for (unsigned c = 0; c < 4; c++)
			v[s->number[i]].corner[c] = points->number[g->polygon[i].corner[c]];
	}
	g->polygon = v;
	g->npolygons = n;
	return 0;
}

/* What the first of none is, nobody knows: it stays. */
static void set_run(const struct order *s, uint32_t r, uint16_t *first, uint16_t *count)
{
	if (*count || s->count[r])
		*first = (uint16_t)s->first[r];
	*count = (uint16_t)s->count[r];
}

int jom_arrange(struct jom_geometry *g, const struct jom_text *text, struct err *e)
{
	struct order points, polygons;
	uint32_t npoints, npolygons;
	int rc = order_polygons(g, text, &polygons, e);

	rc = rc ? rc : order_points(g, text, &points, e);
	if (rc)
		return rc;
	npoints = number_items(&points, point_gone, g);
	npolygons = number_items(&polygons, polygon_gone, g);
	rc = jom_count(npoints, JOM_MOST, "points", e);
	rc = rc ? rc : jom_count(npolygons, JOM_MOST, "polygons", e);
	for (uint32_t r = 0; r < g->ngroups && !rc; r++) {
		set_run(&points, r, &g->group[r].first_point, &g->group[r].point_count);
		set_run(&polygons, r, &g->group[r].first_polygon, &g->group[r].polygon_count);
	}
	rc = rc ? rc : sort_polygons(g, &polygons, &points, npolygons, e);
	return rc ? rc : sort_points(g, &points, npoints, e);
}
