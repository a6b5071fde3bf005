/* The vertices and triangles of one group after an edit. A vertex that the text does not change keeps all its bytes.
 * Vertices whose bytes are equal are one, and they stand in the order of the text, so what a text makes does not depend
 * on how often it was applied. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmo_topology.h"

struct regroup {
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	const struct geo_mesh *was;
	const struct geo_put *put;
	const struct pmo_run *run;
	uint32_t (*old)[3], nold;              /* old triangles; numbers of the group's vertices */
	uint32_t (*given)[3], n;               /* given ones; numbers of the put's faces' corners: 3 * face + corner */
	uint8_t *stored;                       /* the old vertices */
	uint8_t fresh[WELD_STRIDE];            /* a vertex on its way */
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

static struct geo_given given_of(const struct regroup *x, uint32_t c)
{
	const struct geo_corner *corner = corner_of(x, c);

	return geo_given(x->put, corner, x->put->vertex_line[corner->v]);
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
		struct geo_given given = given_of(x, corner[i / 3][i % 3]);
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
static void blank(const void *ctx, uint8_t *vertex)
{
	const struct regroup *x = ctx;
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

static int put_given(const void *ctx, const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e)
{
	const struct regroup *x = ctx;

	return pmo_vertex_put(x->p, x->mesh, &x->run->scan.vertex, given, slack, vertex, e);
}

static void position_of(const void *ctx, const uint8_t *vertex, float out[3])
{
	const struct regroup *x = ctx;

	pmo_vertex_position(x->p, x->mesh, &x->run->scan.vertex, vertex, out);
}

static void uv_of(const void *ctx, const uint8_t *vertex, float out[2])
{
	const struct regroup *x = ctx;

	pmo_vertex_uv(x->mesh, &x->run->scan.vertex, vertex, out);
}

/* What the text makes of the group. */
struct result {
	struct weld weld;
	triangle *t;                           /* numbers of vertices, in the order of the text */
	uint32_t n;
};

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
	place = arena_alloc(&x->arena, (size_t)r->weld.vertices.n + 1, sizeof *place);
	if (!place)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < count; i++)
		o[i] = (struct order){ r->weld.least[v[i]], v[i] };
	if (count)
		qsort(o, count, sizeof *o, by_order);
	for (uint32_t i = 0; i < count; i++) {
		buf_add(&x->out->vertices, r->weld.vertices.bytes.p + (size_t)o[i].number * stride_of(x),
			stride_of(x));
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

static int weld(struct regroup *x, struct result *r, uint32_t *number)
{
	const struct ge_vertex *v = &x->run->scan.vertex;
	const struct weld_type type = {
		.stride = v->stride, .has_uv = v->uv.format, .has_normal = v->normal.format,
		.has_more = v->weight.format || v->colour.format,
		.put = put_given, .position = position_of, .uv = uv_of, .blank = blank, .ctx = x,
	};
	size_t n = 3 * (size_t)x->n;
	struct geo_corner *corner = arena_alloc(&x->arena, n + 1, sizeof *corner);
	uint32_t *of = arena_alloc(&x->arena, n + 1, sizeof *of);
	int rc;

	r->n = x->n;
	r->t = arena_alloc(&x->arena, (size_t)x->n + 1, sizeof *r->t);
	if (!corner || !of || !r->t)
		return err_nomem(x->e);
	for (size_t i = 0; i < n; i++)
		corner[i] = *corner_of(x, x->given[i / 3][i % 3]);
	r->weld = (struct weld){ .type = &type, .put = x->put, .stored = x->stored,
				 .nstored = x->run->scan.vertices, .a = &x->arena };
	rc = weld_corners(&r->weld, corner, n, of, number, x->e);
	for (size_t i = 0; i < n; i++)
		r->t[i / 3][i % 3] = of[i];
	x->out->guessed = r->weld.guessed;
	return rc;
}

/* 1: the triangles are, byte for byte, those that are stored. */
static int make_result(struct regroup *x, struct result *r)
{
	uint32_t *number = arena_alloc(&x->arena, (size_t)x->run->scan.vertices + 1, sizeof *number), nold;
	triangle *ours = copy(x, (const triangle *)x->old, x->nold), *theirs;
	int rc = number && ours ? weld(x, r, number) : err_nomem(x->e);

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

	x->stored = arena_alloc(&x->arena, (size_t)n + 1, type->stride + 1u);
	if (!x->stored)
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
	buf_free(&r.weld.vertices.bytes);
	arena_free(&x.arena);
	return rc < 0 ? rc : 0;
}
