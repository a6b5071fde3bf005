#include "weld.h"

#include <stdlib.h>
#include <string.h>

#define CANDIDATES 64u                         /* old vertices at one place that are looked at */

struct geo_given geo_given(const struct geo_put *put, const struct geo_corner *c, unsigned line)
{
	struct geo_given g = { .put = put, .position = put->position[c->v], .line = line,
			       .foreign_normals = put->foreign_normals };

	g.uv = c->uv == GEO_NONE ? NULL : put->uv[c->uv];
	g.normal = c->normal == GEO_NONE ? NULL : put->normal[c->normal];
	g.colour = !put->colour || isnan(put->colour[c->v][0].v) ? NULL : put->colour[c->v];
	g.alpha = !put->alpha || isnan(put->alpha[c->v].v) ? NULL : &put->alpha[c->v];
	for (unsigned k = 0; k < GEO_UV_SETS - 1; k++)
		g.more_uv[k] = !put->more_uv[k] || isnan(put->more_uv[k][c->v][0].v) ? NULL : put->more_uv[k][c->v];
	return g;
}

static struct geo_given given_of(const struct weld *w, const struct geo_corner *c)
{
	return geo_given(w->put, c, w->put->vertex_line[c->v]);
}

static const uint8_t *stored(const struct weld *w, uint32_t v)
{
	return w->stored + (size_t)v * w->type->stride;
}

/* The bytes of the vertex on its way. */
static uint8_t *fresh(struct weld *w)
{
	return w->fresh + 4;
}

static int put_given(struct weld *w, const struct geo_given *given, bool slack, struct err *e)
{
	return w->type->put(w->type->ctx, given, slack, fresh(w), e);
}

/* ---- pools ---- */

bool pool_make(struct pool *p, unsigned each, size_t most, struct arena *a)
{
	size_t n = 16;

	while (n < 2 * most)
		n *= 2;
	*p = (struct pool){ .each = each, .mask = (uint32_t)n - 1 };
	p->slot = arena_alloc(a, n, sizeof *p->slot);
	return p->slot;
}

static uint32_t hash(const uint8_t *p, unsigned n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 29);
}

uint32_t pool_add(struct pool *p, const void *bytes)
{
	uint32_t i = hash(bytes, p->each) & p->mask;

	for (; p->slot[i]; i = (i + 1) & p->mask)
		if (!memcmp(p->bytes.p + (size_t)(p->slot[i] - 1) * p->each, bytes, p->each))
			return p->slot[i] - 1;
	buf_add(&p->bytes, bytes, p->each);
	if (p->bytes.bad)
		return 0;
	p->slot[i] = ++p->n;
	return p->n - 1;
}

/* ---- one vertex ---- */

/* Whether the text means old vertex v: then it leaves all its bytes as they are. */
static int is_meant(struct weld *w, const struct geo_given *given, uint32_t v, struct err *e)
{
	int rc;

	memcpy(fresh(w), stored(w, v), w->type->stride);
	rc = put_given(w, given, true, e);
	return rc ? rc : !memcmp(fresh(w), stored(w, v), w->type->stride);
}

/* The place among those of a spot from which to look: where vertices stay apart they keep their order, mostly. */
static uint32_t look_from(const struct weld *w, const struct near_spot *spot)
{
	uint32_t low = 0, high = w->apart ? spot->count : 0;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (w->near.item[spot->first + mid] < w->next)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The old vertex at a spot that the corner means: the one it was found to mean before, else one that no other given
 * vertex means, else any. 1 and its number, or 0. */
static int find_meant(struct weld *w, const struct near_spot *spot, const struct geo_given *given, uint32_t me,
		      uint32_t *out, struct err *e)
{
	uint32_t from = look_from(w, spot);
	unsigned best = 3;

	for (uint32_t i = 0; i < spot->count && i < CANDIDATES && best; i++) {
		uint32_t v = w->near.item[spot->first + (from + i) % spot->count];
		unsigned kind = w->taken[v] == me ? 0 : w->taken[v] ? 2 : 1;
		int rc;

		if (kind >= best)
			continue;
		rc = is_meant(w, given, v, e);
		if (rc < 0)
			return rc;
		if (rc) {
			best = kind;
			*out = v;
		}
	}
	if (best < 3)
		w->next = *out + 1;
	return best < 3;
}

/* At one place, the vertex that the given one was found to mean with other texture coordinates, else the one whose
 * texture coordinates are nearest. */
static uint32_t nearest_uv(const struct weld *w, const struct near_spot *spot, const struct geo_given *given,
			   uint32_t me)
{
	const struct weld_type *type = w->type;
	uint32_t best = w->near.item[spot->first];
	double distance = -1;

	for (uint32_t i = 0; i < spot->count && i < CANDIDATES && given->uv && type->has_uv; i++) {
		uint32_t v = w->near.item[spot->first + i];
		float uv[2];
		double away;

		if (w->taken[v] == me)
			return v;
		type->uv(type->ctx, stored(w, v), uv);
		away = (given->uv[0].v - uv[0]) * (given->uv[0].v - uv[0]) +
		       (given->uv[1].v - uv[1]) * (given->uv[1].v - uv[1]);
		if (distance < 0 || away < distance) {
			distance = away;
			best = v;
		}
	}
	return best;
}

static bool is_there(const struct geo_given *given, const struct near_spot *spot)
{
	for (unsigned k = 0; k < 3; k++)
		if (!geo_stays(given->position[k], spot->at[k]))
			return false;
	return true;
}

static int make_blank(struct weld *w, const struct geo_given *given, struct err *e)
{
	w->type->blank(w->type->ctx, fresh(w));
	return put_given(w, given, false, e);
}

/* The bytes that corner c wants, as the fresh ones. *guess: they come from a vertex elsewhere. */
static int make_vertex(struct weld *w, const struct geo_corner *c, bool *guess, struct err *e)
{
	const struct weld_type *type = w->type;
	struct geo_given given = given_of(w, c);
	float at[3] = { (float)given.position[0].v, (float)given.position[1].v, (float)given.position[2].v };
	const struct near_spot *spot = near_find(&w->near, at), *other;
	uint32_t v = 0, old, me = c->v + 1;
	bool there;
	int rc;

	*guess = true;
	if (!spot)
		return make_blank(w, &given, e);
	rc = find_meant(w, spot, &given, me, &v, e);
	if (!rc) {
		/* Where the position lies once it is rounded, there may be one that an earlier edit put there. */
		there = is_there(&given, spot);
		old = nearest_uv(w, spot, &given, me);
		memcpy(fresh(w), stored(w, old), type->stride);
		rc = put_given(w, &given, there, e);
		if (rc)
			return rc;
		*guess = !there;
		type->position(type->ctx, fresh(w), at);
		other = near_find(&w->near, at);
		if (other == spot || other->at[0] != at[0] || other->at[1] != at[1] || other->at[2] != at[2])
			return 0;
		rc = find_meant(w, other, &given, me, &v, e);
		if (!rc) {
			memcpy(fresh(w), stored(w, old), type->stride);
			return put_given(w, &given, there, e);
		}
	}
	if (rc < 0)
		return rc;
	*guess = false;
	if (!w->taken[v])
		w->taken[v] = me;
	memcpy(fresh(w), stored(w, v), type->stride);
	return 0;
}

/* ---- corners ---- */

/* Corners of the text, each once, with the vertices they mean. Corners of one given vertex that say all there is are a
 * chain. */
struct corners { struct pool pool; uint32_t *number, *head, *next; };

static bool says_all(const struct weld *w, const struct geo_corner *c)
{
	return (c->uv != GEO_NONE || !w->type->has_uv) && (c->normal != GEO_NONE || !w->type->has_normal);
}

/* A corner that says less means what another corner of the vertex does, whatever may be stored at its place. */
static bool find_fuller(const struct corners *m, const struct geo_corner *c, uint32_t *out)
{
	const struct geo_corner *all = (const struct geo_corner *)(const void *)m->pool.bytes.p;

	for (uint32_t k = m->head[c->v]; k; k = m->next[k - 1]) {
		if ((c->uv != GEO_NONE && c->uv != all[k - 1].uv) ||
		    (c->normal != GEO_NONE && c->normal != all[k - 1].normal))
			continue;
		*out = m->number[k - 1];
		return true;
	}
	return false;
}

static uint32_t keep(struct weld *w, uint32_t v)
{
	if (!w->apart)
		return pool_add(&w->vertices, fresh(w));
	memcpy(w->fresh, &v, sizeof v);
	return pool_add(&w->vertices, w->fresh);
}

static int weld_corner(struct weld *w, struct corners *m, const struct geo_corner *c, uint32_t *out, struct err *e)
{
	uint32_t before = m->pool.n, k = pool_add(&m->pool, c);
	bool guess = false;
	int rc = 0;

	if (m->pool.n > before && !find_fuller(m, c, &m->number[k])) {
		rc = make_vertex(w, c, &guess, e);
		before = w->vertices.n;
		m->number[k] = rc ? 0 : keep(w, c->v);
		w->guessed += guess && w->vertices.n > before && w->type->has_more;
		if (!rc && says_all(w, c)) {
			m->next[k] = m->head[c->v];
			m->head[c->v] = k + 1;
		}
	}
	*out = m->number[k];
	if (c->v < w->least[*out])
		w->least[*out] = c->v;
	return rc;
}

static int weld_each(struct weld *w, const struct geo_corner *corner, size_t n, uint32_t *number, struct err *e)
{
	struct corners m = {
		.number = arena_alloc(w->a, n + 1, sizeof *m.number),
		.next = arena_alloc(w->a, n + 1, sizeof *m.next),
		.head = arena_alloc(w->a, (size_t)w->put->nvertices + 1, sizeof *m.head),
	};
	int rc = 0;

	if (!m.number || !m.next || !m.head || !pool_make(&m.pool, sizeof *corner, n + 1, w->a))
		return err_nomem(e);
	for (size_t i = 0, end; i < n && !rc; i = end) {
		end = w->apart ? i + 1 : n;
		while (end < n && corner[end].v == corner[i].v)
			end++;
		for (unsigned fuller = 2; fuller--;)   /* first those that say all */
			for (size_t k = i; k < end && !rc; k++)
				if (says_all(w, &corner[k]) == fuller)
					rc = weld_corner(w, &m, &corner[k], &number[k], e);
	}
	if (!rc && (m.pool.bytes.bad || w->vertices.bytes.bad))
		rc = err_nomem(e);
	buf_free(&m.pool.bytes);
	return rc;
}

/* ---- all of it ---- */

static bool make_room(struct weld *w, size_t n)
{
	size_t most = n + (w->apart ? 0 : w->nstored);
	float (*at)[3] = arena_alloc(w->a, (size_t)w->nstored + 1, sizeof *at);

	w->taken = arena_alloc(w->a, (size_t)w->nstored + 1, sizeof *w->taken);
	w->least = arena_alloc(w->a, most + 1, sizeof *w->least);
	if (!at || !w->taken || !w->least)
		return false;
	memset(w->least, 0xff, (most + 1) * sizeof *w->least);
	for (uint32_t i = 0; i < w->nstored; i++)
		w->type->position(w->type->ctx, stored(w, i), at[i]);
	return near_build(&w->near, (const float (*)[3])at, NULL, w->nstored, w->a) &&
	       pool_make(&w->vertices, w->type->stride + (w->apart ? 4 : 0), most + 1, w->a);
}

int weld_corners(struct weld *w, const struct geo_corner *corner, size_t n, uint32_t *number, uint32_t *was,
		 struct err *e)
{
	w->guessed = w->next = 0;
	w->vertices = (struct pool){ 0 };
	if (!make_room(w, n))
		return err_nomem(e);
	for (uint32_t i = 0; i < w->nstored && !w->apart; i++) {
		uint32_t k = pool_add(&w->vertices, stored(w, i));

		if (was)
			was[i] = k;
	}
	return weld_each(w, corner, n, number, e);
}
