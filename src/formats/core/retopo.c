#include "retopo.h"

#include <string.h>

struct work {
	struct retopo *t;
	struct geo_corner *corner;             /* sorted by vertex: those of faces, and one of each vertex without */
	uint32_t *place;                       /* of each: face corner it is; GEO_NONE: of no face */
	size_t n;
};

/* ---- corners ---- */

/* Whether the values of a vertex have its own number, as in our texts: then those of one without faces are known. What
 * geo_match() says of them, it says of the first that a face gives. seen: room for a mark of each vertex. */
static bool are_numbered(const struct geo_put *put, bool uv, uint8_t *seen)
{
	bool same = (uv ? put->nuvs : put->nnormals) == put->nvertices;

	memset(seen, 0, put->nvertices);
	for (uint32_t f = 0; f < put->nfaces && same; f++)
		for (unsigned k = 0; k < 3 && same && !geo_is_flat(put->face[f]); k++) {
			const struct geo_corner *c = &put->face[f][k];
			uint32_t value = uv ? c->uv : c->normal;

			if (value == GEO_NONE || seen[c->v])
				continue;
			seen[c->v] = 1;
			same = value == c->v;
		}
	return same;
}

/* Sorts the corners by their vertices, and leaves each vertex one at least. */
static int sort_corners(struct work *x, struct err *e)
{
	const struct geo_put *put = x->t->put;
	uint32_t *next = arena_alloc(x->t->a, (size_t)put->nvertices + 2, sizeof *next);
	uint8_t *seen = arena_alloc(x->t->a, (size_t)put->nvertices + 1, 1);
	size_t most = 3 * (size_t)put->nfaces + put->nvertices;
	bool uvs, normals;

	x->corner = arena_alloc(x->t->a, most + 1, sizeof *x->corner);
	x->place = arena_alloc(x->t->a, most + 1, sizeof *x->place);
	if (!next || !seen || !x->corner || !x->place)
		return err_nomem(e);
	uvs = are_numbered(put, true, seen);
	normals = are_numbered(put, false, seen);
	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !geo_is_flat(put->face[f]); k++)
			next[put->face[f][k].v + 1]++;
	for (uint32_t v = 0; v < put->nvertices; v++)
		next[v + 1] += next[v] + !next[v + 1];
	x->n = next[put->nvertices];
	for (uint32_t v = 0; v < put->nvertices; v++) {
		x->corner[next[v]] = (struct geo_corner){ v, uvs ? v : GEO_NONE, normals ? v : GEO_NONE };
		x->place[next[v]] = GEO_NONE;
	}
	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !geo_is_flat(put->face[f]); k++) {
			const struct geo_corner *c = &put->face[f][k];

			x->corner[next[c->v]] = *c;
			x->place[next[c->v]++] = 3 * f + k;
		}
	return 0;
}

/* ---- vertices ---- */

/* The vertices in the order of the text, and the corners' numbers. */
static int order_vertices(struct work *x, const struct pool *pool, const uint32_t *number, struct err *e)
{
	struct retopo *t = x->t;
	uint32_t *rank = arena_alloc(t->a, (size_t)pool->n + 1, sizeof *rank);

	t->of = arena_alloc(t->a, 3 * (size_t)t->put->nfaces + 1, sizeof *t->of);
	if (!rank || !t->of)
		return err_nomem(e);
	for (size_t i = 0; i < x->n; i++) {
		uint32_t *r = &rank[number[i]];

		if (!*r) {
			*r = ++t->nvertices;
			buf_add(&t->vertices, pool->bytes.p + (size_t)number[i] * pool->each + 4, t->type->stride);
		}
		if (x->place[i] != GEO_NONE)
			t->of[x->place[i]] = *r - 1;
	}
	return t->vertices.bad ? err_nomem(e) : 0;
}

static int make_vertices(struct work *x, struct err *e)
{
	struct retopo *t = x->t;
	struct weld weld = { .type = t->type, .put = t->put, .stored = t->stored, .nstored = t->nstored, .apart = true,
			     .a = t->a };
	uint32_t *number = arena_alloc(t->a, x->n + 1, sizeof *number);
	int rc = number ? weld_corners(&weld, x->corner, x->n, number, NULL, e) : err_nomem(e);

	rc = rc ? rc : order_vertices(x, &weld.vertices, number, e);
	buf_free(&weld.vertices.bytes);
	t->guessed = weld.guessed;
	return rc;
}

/* ---- a text that was applied before ----
 *
 * What it made has one face after the other, and each corner's vertex is one that the corner means. */

static bool is_meant(const struct work *x, const struct geo_corner *c, uint32_t v)
{
	const struct weld_type *type = x->t->type;
	const uint8_t *stored = x->t->stored + (size_t)v * type->stride;
	struct geo_given given = geo_given(x->t->put, c, x->t->put->vertex_line[c->v]);
	uint8_t vertex[WELD_STRIDE];

	memcpy(vertex, stored, type->stride);
	return !type->put(type->ctx, &given, true, vertex, NULL) && !memcmp(vertex, stored, type->stride);
}

/* The stored vertex of each corner, by the faces; false: those are others. */
static bool map_corners(const struct retopo *t, uint32_t *to)
{
	const struct geo_put *put = t->put;
	size_t n = 0;

	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !geo_is_flat(put->face[f]); k++) {
			if (n == t->nwas || t->was[n] >= t->nstored)
				return false;
			to[3 * (size_t)f + k] = t->was[n++];
		}
	return n == t->nwas;
}

/* The given vertices, one after the other, mean the stored ones, one or several each, all of them; equal corners mean
 * the same. of: of each corner in `pool`. */
static bool mean_all(const struct work *x, const uint32_t *to, struct pool *pool, uint32_t *of)
{
	uint32_t next = 0, first = 0, nold = x->t->nstored;

	for (size_t i = 0; i < x->n; i++) {
		uint32_t v = x->place[i] == GEO_NONE ? next : to[x->place[i]], known = pool->n;
		uint32_t k = pool_add(pool, &x->corner[i]);

		if (!i || x->corner[i].v != x->corner[i - 1].v)
			first = next;
		if (pool->bytes.bad || v < first || v > next || v >= nold || !is_meant(x, &x->corner[i], v))
			return false;
		if (k < known && of[k] != v)
			return false;
		of[k] = v;
		next += v == next;
	}
	return next == nold;
}

static int was_applied(struct work *x, bool *out, struct err *e)
{
	uint32_t *to = arena_alloc(x->t->a, 3 * (size_t)x->t->put->nfaces + 1, sizeof *to);
	uint32_t *of = arena_alloc(x->t->a, x->n + 1, sizeof *of);
	struct pool pool;

	if (!to || !of || !pool_make(&pool, sizeof *x->corner, x->n, x->t->a))
		return err_nomem(e);
	*out = map_corners(x->t, to) && mean_all(x, to, &pool, of);
	buf_free(&pool.bytes);
	return 0;
}

int retopo(struct retopo *t, struct err *e)
{
	struct work x = { .t = t };
	int rc;

	t->applied = false;
	t->vertices = (struct buf){ 0 };
	t->nvertices = 0;
	rc = sort_corners(&x, e);
	rc = rc ? rc : was_applied(&x, &t->applied, e);
	return rc || t->applied ? rc : make_vertices(&x, e);
}
