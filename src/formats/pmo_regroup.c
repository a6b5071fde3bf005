/* The vertices and triangles of one group after an edit. A vertex that the text does not change keeps all its bytes;
 * one that is new takes what the text does not say from the old vertex at its place, or the nearest. Vertices whose
 * bytes are equal are one, and they stand in the order of the text, so what a text makes does not depend on how often
 * it was applied. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmo_topology.h"

#define CANDIDATES 64u                         /* old vertices at one place that are looked at */

/* Byte strings of one length, each once. */
struct pool {
	struct buf bytes;
	unsigned each;
	uint32_t n, mask, *slot;               /* slot: number + 1 */
};

struct regroup {
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	const struct geo_mesh *was;
	const struct geo_put *put;
	const struct pmo_run *run;
	uint32_t (*old)[3], nold;              /* old triangles; numbers of the group's vertices */
	uint32_t (*given)[3], n;               /* given ones; numbers of the put's faces' corners: 3 * face + corner */
	uint8_t *stored;                       /* the old vertices */
	struct near near;
	uint32_t *taken;                       /* of each old vertex: the given one + 1 that means it */
	uint8_t fresh[576];                    /* a vertex on its way; no vertex type has more bytes */
	struct pmo_regroup *out;
	struct arena arena;
	struct err *e;
};

typedef uint32_t triangle[3];

static unsigned stride_of(const struct regroup *x)
{
	return x->run->scan.vertex.stride;
}

static const uint8_t *stored(const struct regroup *x, uint32_t v)
{
	return x->stored + (size_t)v * stride_of(x);
}

static const struct geo_corner *corner_of(const struct regroup *x, uint32_t c)
{
	return &x->put->face[c / 3][c % 3];
}

static struct pmo_given given_of(const struct regroup *x, uint32_t c)
{
	const struct geo_corner *corner = corner_of(x, c);

	return pmo_given(x->put, corner, x->put->vertex_line[corner->v]);
}

/* ---- pools ---- */

static bool pool_make(struct pool *b, unsigned each, size_t most, struct arena *a)
{
	size_t n = 16;

	while (n < 2 * most)
		n *= 2;
	*b = (struct pool){ .each = each, .mask = (uint32_t)n - 1 };
	b->slot = arena_alloc(a, n, sizeof *b->slot);
	return b->slot;
}

static uint32_t hash(const uint8_t *p, unsigned n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return (uint32_t)(h ^ h >> 29);
}

/* Its number. Out of memory leaves bytes.bad set. */
static uint32_t pool_add(struct pool *b, const void *p)
{
	uint32_t i = hash(p, b->each) & b->mask;

	for (; b->slot[i]; i = (i + 1) & b->mask)
		if (!memcmp(b->bytes.p + (size_t)(b->slot[i] - 1) * b->each, p, b->each))
			return b->slot[i] - 1;
	buf_add(&b->bytes, p, b->each);
	if (b->bytes.bad)
		return 0;
	b->slot[i] = ++b->n;
	return b->n - 1;
}

/* ---- triangles ---- */

/* The same triangle with its smallest number first. */
static void turn(triangle t)
{
	unsigned k = t[1] < t[0] && t[1] <= t[2] ? 1 : t[2] < t[0] && t[2] < t[1] ? 2 : 0;
	triangle was = { t[0], t[1], t[2] };

	for (unsigned i = 0; i < 3; i++)
		t[i] = was[(k + i) % 3];
}

static bool is_flat(const triangle t)
{
	return t[0] == t[1] || t[1] == t[2] || t[2] == t[0];
}

static int by_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	unsigned i = x[0] != y[0] ? 0 : x[1] != y[1] ? 1 : 2;

	return (x[i] > y[i]) - (x[i] < y[i]);
}

/* Turned and sorted, without those that have no area; how many are left. */
static uint32_t sort_triangles(triangle *t, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (is_flat(t[i]))
			continue;
		memmove(t[k], t[i], sizeof *t);
		turn(t[k++]);
	}
	if (k)
		qsort(t, k, sizeof *t, by_numbers);
	return k;
}

static triangle *copy(struct regroup *x, const triangle *t, uint32_t n)
{
	triangle *v = arena_alloc(&x->arena, (size_t)n + 1, sizeof *v);

	if (v && n)
		memcpy(v, t, n * sizeof *v);
	return v;
}

/* ---- the same triangles with other values ---- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* All numbers that occur, each once, ascending. */
static uint32_t *used(struct regroup *x, const triangle *t, uint32_t n, uint32_t *count)
{
	uint32_t *v = arena_alloc(&x->arena, (size_t)n + 1, sizeof *t), k = 0;

	if (!v)
		return NULL;
	if (n)
		memcpy(v, t, n * sizeof *t);
	if (n)
		qsort(v, 3 * (size_t)n, sizeof *v, by_number);
	for (uint32_t i = 0; i < 3 * n; i++)
		if (!k || v[k - 1] != v[i])
			v[k++] = v[i];
	*count = k;
	return v;
}

static uint32_t rank(const uint32_t *v, uint32_t n, uint32_t number)
{
	const uint32_t *p = bsearch(&number, v, n, sizeof *v, by_number);

	return (uint32_t)(p - v);
}

/* Each corner's bytes over those of the old vertex with the same rank. 0: corners of one vertex want different ones. */
static int put_values(struct regroup *x, const triangle *corner, const uint32_t *to, const triangle *ranked)
{
	unsigned stride = stride_of(x);
	uint32_t n = x->run->scan.vertices;
	bool *done = arena_alloc(&x->arena, (size_t)n + 1, 1);
	int rc;

	if (!done)
		return err_nomem(x->e);
	buf_add(&x->out->vertices, x->stored, (size_t)n * stride);
	if (x->out->vertices.bad)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < 3 * x->n; i++) {
		uint32_t v = to[ranked[i / 3][i % 3]];
		struct pmo_given given = given_of(x, corner[i / 3][i % 3]);
		uint8_t *now = x->out->vertices.p + (size_t)v * stride;

		memcpy(x->fresh, stored(x, v), stride);
		rc = pmo_vertex_put(x->p, x->mesh, &x->run->scan.vertex, &given, true, x->fresh, x->e);
		if (rc)
			return rc;
		if (done[v] && memcmp(now, x->fresh, stride))
			return 0;
		memcpy(now, x->fresh, stride);
		done[v] = true;
	}
	return 1;
}

/* 1: the triangles are the old ones when used vertices are matched in order; then *out has their values. */
static int same_triangles(struct regroup *x)
{
	triangle *a = copy(x, (const triangle *)x->old, x->nold), *b = copy(x, (const triangle *)x->given, x->n), *b2;
	uint32_t *from, *to, nfrom = 0, nto = 0;
	int rc;

	if (x->n != x->nold)
		return 0;
	for (uint32_t i = 0; i < 3 * x->n && b; i++)
		b[i / 3][i % 3] = corner_of(x, b[i / 3][i % 3])->v;
	if (!a || !b)
		return err_nomem(x->e);
	to = used(x, a, x->nold, &nto);
	from = used(x, b, x->n, &nfrom);
	if (!to || !from)
		return err_nomem(x->e);
	if (nfrom != nto)
		return 0;
	for (uint32_t i = 0; i < 3 * x->n; i++) {
		a[i / 3][i % 3] = rank(to, nto, a[i / 3][i % 3]);
		b[i / 3][i % 3] = rank(from, nfrom, b[i / 3][i % 3]);
	}
	b2 = copy(x, b, x->n);
	if (!b2)
		return err_nomem(x->e);
	sort_triangles(a, x->nold);
	sort_triangles(b, x->n);
	if (memcmp(a, b, x->n * sizeof *a))
		return 0;
	rc = put_values(x, x->given, to, b2);
	if (rc <= 0)
		x->out->vertices.len = 0;
	else if (memcmp(x->out->vertices.p, x->stored, x->out->vertices.len))
		x->out->change = PMO_VALUES;
	return rc;
}

/* ---- other triangles ---- */

/* A vertex for a group that has none: it goes with the bone in slot 0, and is white. */
static void blank(const struct regroup *x, uint8_t *vertex)
{
	const struct ge_vertex *v = &x->run->scan.vertex;

	memset(vertex, 0, v->stride);
	for (unsigned m = 0; m < v->morphs; m++, vertex += v->size) {
		if (v->weight.format)
			ge_put(&v->weight, vertex, 0, 1);
		if (v->colour.format == 7)
			put_le32(vertex + v->colour.at, 0xffffffff);
		else if (v->colour.format)
			put_le16(vertex + v->colour.at, 0xffff);
	}
}

/* Whether the text means old vertex v: then it leaves all its bytes as they are. */
static int is_meant(struct regroup *x, uint32_t c, uint32_t v)
{
	struct pmo_given given = given_of(x, c);
	int rc;

	memcpy(x->fresh, stored(x, v), stride_of(x));
	rc = pmo_vertex_put(x->p, x->mesh, &x->run->scan.vertex, &given, true, x->fresh, x->e);
	return rc ? rc : !memcmp(x->fresh, stored(x, v), stride_of(x));
}

/* The old vertex at a spot that the corner means: the one it was found to mean before, else one that no other given
 * vertex means, else any. 1 and its number, or 0. */
static int find_meant(struct regroup *x, const struct near_spot *spot, uint32_t c, uint32_t *out)
{
	uint32_t me = corner_of(x, c)->v + 1;
	unsigned best = 3;

	for (uint32_t i = 0; i < spot->count && i < CANDIDATES && best; i++) {
		uint32_t v = x->near.item[spot->first + i];
		unsigned kind = x->taken[v] == me ? 0 : x->taken[v] ? 2 : 1;
		int rc;

		if (kind >= best)
			continue;
		rc = is_meant(x, c, v);
		if (rc < 0)
			return rc;
		if (rc) {
			best = kind;
			*out = v;
		}
	}
	return best < 3;
}

/* At one place, the vertex that the given one was found to mean with other texture coordinates, else the one whose
 * texture coordinates are nearest. */
static uint32_t nearest_uv(const struct regroup *x, const struct near_spot *spot, const struct pmo_given *given,
			   uint32_t me)
{
	const struct ge_vertex *type = &x->run->scan.vertex;
	uint32_t best = x->near.item[spot->first];
	double distance = -1;

	for (uint32_t i = 0; i < spot->count && i < CANDIDATES && given->uv && type->uv.format; i++) {
		uint32_t v = x->near.item[spot->first + i];
		float uv[2];
		double away;

		if (x->taken[v] == me)
			return v;
		pmo_vertex_uv(x->mesh, type, stored(x, v), uv);
		away = (given->uv[0].v - uv[0]) * (given->uv[0].v - uv[0]) +
		       (given->uv[1].v - uv[1]) * (given->uv[1].v - uv[1]);
		if (distance < 0 || away < distance) {
			distance = away;
			best = v;
		}
	}
	return best;
}

static bool is_there(const struct pmo_given *given, const struct near_spot *spot)
{
	for (unsigned k = 0; k < 3; k++)
		if (!geo_stays(given->position[k], spot->at[k]))
			return false;
	return true;
}

/* The bytes that corner c wants, in x->fresh. *guess: they come from a vertex elsewhere. */
static int make_vertex(struct regroup *x, uint32_t c, bool *guess)
{
	const struct ge_vertex *type = &x->run->scan.vertex;
	struct pmo_given given = given_of(x, c);
	float at[3] = { (float)given.position[0].v, (float)given.position[1].v, (float)given.position[2].v };
	const struct near_spot *spot = near_find(&x->near, at), *other;
	uint32_t v = 0, old;
	uint8_t *fresh = x->fresh;
	bool there;
	int rc;

	*guess = true;
	if (!spot) {
		blank(x, fresh);
		return pmo_vertex_put(x->p, x->mesh, type, &given, false, fresh, x->e);
	}
	rc = find_meant(x, spot, c, &v);
	if (!rc) {
		/* Where the position lies once it is rounded, there may be one that an earlier edit put there. */
		there = is_there(&given, spot);
		old = nearest_uv(x, spot, &given, corner_of(x, c)->v + 1);
		memcpy(fresh, stored(x, old), type->stride);
		rc = pmo_vertex_put(x->p, x->mesh, type, &given, there, fresh, x->e);
		if (rc)
			return rc;
		*guess = !there;
		pmo_vertex_position(x->p, x->mesh, type, fresh, at);
		other = near_find(&x->near, at);
		if (other == spot || other->at[0] != at[0] || other->at[1] != at[1] || other->at[2] != at[2])
			return 0;
		rc = find_meant(x, other, c, &v);
		if (!rc) {
			memcpy(fresh, stored(x, old), type->stride);
			return pmo_vertex_put(x->p, x->mesh, type, &given, there, fresh, x->e);
		}
	}
	if (rc < 0)
		return rc;
	*guess = false;
	if (!x->taken[v])
		x->taken[v] = corner_of(x, c)->v + 1;
	memcpy(fresh, stored(x, v), type->stride);
	return 0;
}

/* What the text makes of the group. */
struct result {
	struct pool vertices;                  /* the old ones come first */
	uint32_t *least;                       /* of each: the first given vertex that means it */
	triangle *t;                           /* numbers of vertices, in the order of the text */
	uint32_t n;
};

/* Corners of the text, each once, with the vertices they mean. Corners of one given vertex that say all there is are a
 * chain. */
struct corners { struct pool pool; uint32_t *number, *head, *next; };

static bool says_all(const struct regroup *x, const struct geo_corner *c)
{
	const struct ge_vertex *type = &x->run->scan.vertex;

	return (c->uv != GEO_NONE || !type->uv.format) && (c->normal != GEO_NONE || !type->normal.format);
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

static int make_corner(struct regroup *x, struct result *r, struct corners *m, uint32_t c, uint32_t *out)
{
	const struct ge_vertex *type = &x->run->scan.vertex;
	const struct geo_corner *corner = corner_of(x, c);
	uint32_t before = m->pool.n, k = pool_add(&m->pool, corner);
	bool guess = false;
	int rc = 0;

	if (m->pool.n > before && !find_fuller(m, corner, &m->number[k])) {
		rc = make_vertex(x, c, &guess);
		before = r->vertices.n;
		m->number[k] = rc ? 0 : pool_add(&r->vertices, x->fresh);
		x->out->guessed += guess && r->vertices.n > before && (type->weight.format || type->colour.format);
		if (!rc && says_all(x, corner)) {
			m->next[k] = m->head[corner->v];
			m->head[corner->v] = k + 1;
		}
	}
	*out = m->number[k];
	if (corner->v < r->least[*out])
		r->least[*out] = corner->v;
	return rc;
}

static int make_vertices(struct regroup *x, struct result *r)
{
	size_t most = 3 * (size_t)x->n + 1;
	struct corners m = {
		.number = arena_alloc(&x->arena, most, sizeof *m.number),
		.next = arena_alloc(&x->arena, most, sizeof *m.next),
		.head = arena_alloc(&x->arena, (size_t)x->put->nvertices + 1, sizeof *m.head),
	};
	int rc = 0;

	if (!m.number || !m.next || !m.head || !pool_make(&m.pool, sizeof(struct geo_corner), most, &x->arena))
		return err_nomem(x->e);
	for (unsigned fuller = 2; fuller--;)   /* first those that say all */
		for (uint32_t i = 0; i < 3 * x->n && !rc; i++) {
			uint32_t c = x->given[i / 3][i % 3];

			if (says_all(x, corner_of(x, c)) == fuller)
				rc = make_corner(x, r, &m, c, &r->t[i / 3][i % 3]);
		}
	if (!rc && (m.pool.bytes.bad || r->vertices.bytes.bad))
		rc = err_nomem(x->e);
	buf_free(&m.pool.bytes);
	return rc;
}

static int too_many(const struct regroup *x, uint32_t n)
{
	unsigned each = x->run->scan.vertex.index_size;
	uint32_t most = each == 1 ? 256 : 65536;

	if (n <= most || !each)
		return 0;
	return err_set(x->e, EINVAL, "group %u would have %u vertices, its indices of %u byte%s count %u at most",
		       x->run->group - x->mesh->first_group, n, each, each == 1 ? "" : "s", most);
}

struct order { uint32_t least, number; };

static int by_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->least != y->least)
		return x->least < y->least ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The vertices that triangles use, in the order of the text, and the triangles with their numbers. */
static int keep_used(struct regroup *x, const struct result *r)
{
	uint32_t count = 0, *v = used(x, (const triangle *)r->t, r->n, &count), *place;
	struct order *o = arena_alloc(&x->arena, (size_t)count + 1, sizeof *o);
	int rc = v && o ? too_many(x, count) : err_nomem(x->e);

	if (rc)
		return rc;
	place = arena_alloc(&x->arena, (size_t)r->vertices.n + 1, sizeof *place);
	if (!place)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < count; i++)
		o[i] = (struct order){ r->least[v[i]], v[i] };
	if (count)
		qsort(o, count, sizeof *o, by_order);
	for (uint32_t i = 0; i < count; i++) {
		buf_add(&x->out->vertices, r->vertices.bytes.p + (size_t)o[i].number * r->vertices.each,
			r->vertices.each);
		place[o[i].number] = i;
	}
	for (uint32_t i = 0; i < 3 * r->n; i++)
		buf_add(&x->out->face, &place[r->t[i / 3][i % 3]], sizeof *place);
	x->out->change = PMO_REBUILT;
	return x->out->vertices.bad || x->out->face.bad ? err_nomem(x->e) : 0;
}

static uint32_t drop_flat(triangle *t, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!is_flat(t[i]))
			memmove(t[k++], t[i], sizeof *t);
	return k;
}

static bool make_room(struct regroup *x, struct result *r)
{
	size_t most = (size_t)x->run->scan.vertices + 3 * (size_t)x->n;

	r->n = x->n;
	r->t = arena_alloc(&x->arena, (size_t)x->n + 1, sizeof *r->t);
	r->least = arena_alloc(&x->arena, most + 1, sizeof *r->least);
	if (r->least)
		memset(r->least, 0xff, most * sizeof *r->least);
	return r->t && r->least && pool_make(&r->vertices, stride_of(x), most, &x->arena);
}

/* 1: the triangles are, byte for byte, those that are stored. */
static int make_result(struct regroup *x, struct result *r)
{
	uint32_t *number = arena_alloc(&x->arena, (size_t)x->run->scan.vertices + 1, sizeof *number), nold;
	triangle *ours = copy(x, (const triangle *)x->old, x->nold), *theirs;
	int rc;

	if (!number || !ours || !make_room(x, r))
		return err_nomem(x->e);
	for (uint32_t v = 0; v < x->run->scan.vertices; v++)
		number[v] = pool_add(&r->vertices, stored(x, v));
	rc = make_vertices(x, r);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < 3 * x->nold; i++)
		ours[i / 3][i % 3] = number[ours[i / 3][i % 3]];
	r->n = drop_flat(r->t, r->n);
	x->out->flat = x->n - r->n;
	theirs = copy(x, (const triangle *)r->t, r->n);
	if (!theirs)
		return err_nomem(x->e);
	nold = sort_triangles(ours, x->nold);
	sort_triangles(theirs, r->n);
	return nold == r->n && !memcmp(ours, theirs, r->n * sizeof *ours);
}

/* ---- all of it ---- */

static int read_stored(struct regroup *x)
{
	const struct ge_vertex *type = &x->run->scan.vertex;
	uint32_t n = x->run->scan.vertices;
	const float (*position)[3] = (const float (*)[3])x->was->position + x->run->first;

	x->stored = arena_alloc(&x->arena, (size_t)n + 1, type->stride + 1u);
	x->taken = arena_alloc(&x->arena, (size_t)n + 1, sizeof *x->taken);
	if (!x->stored || !x->taken || !near_build(&x->near, position, NULL, n, &x->arena))
		return err_nomem(x->e);
	return n ? src_read(x->p->region.src, x->stored, (size_t)n * type->stride,
			    x->p->region.at + x->p->group[x->run->group].vertex_buffer, "vertices", x->e)
		 : 0;
}

static int make_triangles(struct regroup *x, uint32_t first, const uint32_t *face)
{
	x->old = arena_alloc(&x->arena, (size_t)x->nold + 1, sizeof *x->old);
	x->given = arena_alloc(&x->arena, (size_t)x->n + 1, sizeof *x->given);
	if (!x->old || !x->given)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < 3 * x->nold; i++)
		x->old[i / 3][i % 3] = x->was->face[first + i / 3][i % 3] - x->run->first;
	for (uint32_t i = 0; i < 3 * x->n; i++)
		x->given[i / 3][i % 3] = 3 * face[i / 3] + i % 3;
	return 0;
}

int pmo_regroup(const struct pmo *p, const struct pmo_mesh *mesh, const struct geo_mesh *was, uint32_t first,
		uint32_t nold, const struct geo_put *put, const uint32_t *face, uint32_t n, struct pmo_regroup *out,
		struct err *e)
{
	struct regroup x = { .p = p, .mesh = mesh, .was = was, .put = put, .run = out->run, .nold = nold, .n = n,
			     .out = out, .e = e };
	struct result r = { 0 };
	int rc;

	if (!n && !nold)
		return 0;
	if (!x.run->scan.vertex.stride)
		return err_set(e, EINVAL, "group %u has no vertex type, so it can take no faces",
			       x.run->group - mesh->first_group);
	rc = make_triangles(&x, first, face);
	rc = rc ? rc : read_stored(&x);
	rc = rc ? rc : make_result(&x, &r);
	rc = rc ? rc : same_triangles(&x);
	if (!rc)
		rc = keep_used(&x, &r);
	if (out->change != PMO_REBUILT)
		out->guessed = out->flat = 0;
	buf_free(&r.vertices.bytes);
	arena_free(&x.arena);
	return rc < 0 ? rc : 0;
}
