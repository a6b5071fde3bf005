/* A mesh with a new topology (views.md 4, design/views-ps3.md): the same submeshes with other triangles. Triangles with
 * a repeated index, which no text has, stay where they are among the others of their submesh. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_write.h"

struct rebuild {
	struct mlp_edit *x;
	uint32_t *part;                        /* of each face of the text */
	struct geo_put put;                    /* faces by submesh, and none that is flat; as mlp_edit.put else */
	uint32_t *first;                       /* of each submesh: its first one; of the one behind the last: all */
	uint32_t *corner;                      /* of each corner: its vertex */
	uint32_t *to;                          /* of each old vertex: the new one; GEO_NONE: it is gone */
	struct mlp_shape now;
	uint32_t dropped;                      /* triangles with a repeated index whose vertices are gone */
};

/* ---- faces ---- */

int mlp_too_many(uint32_t n, struct err *e)
{
	return err_set(e, EINVAL, "%u vertices, 16-bit indexes reach %u", n, MLP_VERTICES_MOST);
}

static int sort_faces(struct rebuild *r, struct err *e)
{
	struct mlp_edit *x = r->x;
	const struct geo_put *from = &x->put;
	uint32_t n = x->mesh->nsubs, *next = arena_alloc(x->a, (size_t)n + 2, sizeof *next);

	r->put = *from;
	r->put.face = arena_alloc(x->a, (size_t)from->nfaces + 1, sizeof *r->put.face);
	r->first = arena_alloc(x->a, (size_t)n + 1, sizeof *r->first);
	if (!next || !r->put.face || !r->first)
		return err_nomem(e);
	for (uint32_t f = 0; f < from->nfaces; f++)
		if (r->part[f] != GEO_NONE)
			next[r->part[f] + 1]++;
	for (uint32_t k = 0; k < n; k++)
		next[k + 1] += next[k];
	memcpy(r->first, next, ((size_t)n + 1) * sizeof *next);
	for (uint32_t f = 0; f < from->nfaces; f++)
		if (r->part[f] != GEO_NONE)
			memcpy(r->put.face[next[r->part[f]]++], from->face[f], sizeof *from->face);
	r->put.nfaces = r->first[n];
	for (uint32_t k = 0; k < n; k++)
		if (r->first[k] == r->first[k + 1] && x->was.parts[k].nfaces)
			return err_set(e, EINVAL, "group_%u has no faces", k);
	return 0;
}

/* ---- vertices that keep their numbers ---- */

static int keep_vertices(struct rebuild *r, const struct geo_match *match, struct err *e)
{
	struct mlp_edit *x = r->x;
	uint8_t *vertices;
	int rc = mlp_put_vertices(x, match, &vertices, e);

	r->corner = arena_alloc(x->a, 3 * (size_t)r->put.nfaces + 1, sizeof *r->corner);
	if (!rc && !r->corner)
		rc = err_nomem(e);
	if (rc)
		return rc;
	for (uint32_t v = 0; v < x->mesh->nvertices; v++)
		r->to[v] = v;
	for (uint32_t f = 0; f < r->put.nfaces; f++)
		for (unsigned k = 0; k < 3; k++)
			r->corner[3 * (size_t)f + k] = r->put.face[f][k].v;
	r->now.vertices = vertices;
	r->now.nvertices = x->mesh->nvertices;
	r->now.rows = x->s.rows;
	return 0;
}

/* ---- others ---- */

static int stored_vertices(const struct mlp_edit *x, uint8_t **out, struct err *e)
{
	*out = arena_alloc(x->a, (size_t)x->mesh->nvertices + 1, MLP_WELD_SIZE);
	if (!*out)
		return err_nomem(e);
	for (uint32_t v = 0; v < x->mesh->nvertices; v++) {
		uint8_t *p = *out + (size_t)v * MLP_WELD_SIZE;

		memcpy(p, x->s.vertices + (size_t)v * MLP_VERTEX_SIZE, MLP_VERTEX_SIZE);
		put_be32(p + MLP_VERTEX_SIZE, v);
	}
	return 0;
}

/* Where old vertices are now: the new one with their bytes, else the first that was made of one. */
static void find_old(struct rebuild *r, const struct retopo *t)
{
	for (unsigned same = 2; same--;)
		for (uint32_t v = 0; v < t->nvertices; v++) {
			const uint8_t *p = t->vertices.p + (size_t)v * MLP_WELD_SIZE;
			uint32_t old = be_u32(p + MLP_VERTEX_SIZE);

			if (r->to[old] == GEO_NONE &&
			    (!same || !memcmp(p, t->stored + (size_t)old * MLP_WELD_SIZE, MLP_WELD_SIZE)))
				r->to[old] = v;
		}
}

static int take_vertices(struct rebuild *r, const struct retopo *t, struct err *e)
{
	const struct mlp_edit *x = r->x;
	size_t stride = x->s.rows ? x->mesh->stride : 0;
	uint8_t *vertices = arena_alloc(x->a, (size_t)t->nvertices + 1, MLP_VERTEX_SIZE);
	uint8_t *rows = stride ? arena_alloc(x->a, (size_t)t->nvertices + 1, stride) : NULL;

	if (!vertices || (stride && !rows))
		return err_nomem(e);
	for (size_t v = 0; v < t->nvertices; v++) {
		const uint8_t *p = t->vertices.p + v * MLP_WELD_SIZE;

		memcpy(vertices + v * MLP_VERTEX_SIZE, p, MLP_VERTEX_SIZE);
		if (stride)
			memcpy(rows + v * stride, x->s.rows + be_u32(p + MLP_VERTEX_SIZE) * stride, stride);
	}
	r->now.vertices = vertices;
	r->now.rows = rows;
	r->now.nvertices = t->nvertices;
	return 0;
}

/* 1: the text was applied before. */
static int make_vertices(struct rebuild *r, struct err *e)
{
	struct mlp_edit *x = r->x;
	struct weld_type type = mlp_weld_type(x->m, x->mesh->stride);
	struct retopo t = { .type = &type, .put = &r->put, .nstored = x->mesh->nvertices,
			    .was = (const uint32_t *)x->was.face, .nwas = 3 * (size_t)x->was.nfaces, .a = x->a };
	uint8_t *stored;
	int rc = stored_vertices(x, &stored, e);

	t.stored = stored;
	rc = rc ? rc : retopo(&t, e);
	if (!rc && !t.applied && t.nvertices > MLP_VERTICES_MOST)
		rc = mlp_too_many(t.nvertices, e);
	if (!rc && !t.applied) {
		find_old(r, &t);
		r->corner = t.of;
		rc = take_vertices(r, &t, e);
	}
	if (!rc && t.guessed && !t.applied)
		object_say(x->o, "mesh %u: %u new vertices took their %s from the nearest old vertex", x->number,
			   t.guessed, x->mesh->stride ? "MGP rows" : "normals");
	buf_free(&t.vertices);
	return rc || !t.applied ? rc : 1;
}

static int find_vertices(struct rebuild *r, struct err *e)
{
	struct mlp_edit *x = r->x;
	struct geo_stored stored = { .mesh = &x->was, .normal_kept = mlp_normal_kept };
	struct geo_match match;
	int rc;

	r->to = arena_alloc(x->a, (size_t)x->mesh->nvertices + 1, sizeof *r->to);
	if (!r->to)
		return err_nomem(e);
	memset(r->to, 0xff, (size_t)x->mesh->nvertices * sizeof *r->to);
	rc = geo_match_vertices(&stored, &r->put, &match, x->a, e);
	if (rc < 0)
		return rc;
	return rc ? keep_vertices(r, &match, e) : make_vertices(r, e);
}

/* ---- indices ---- */

/* The new number of a stored corner's vertex. */
static bool old_triangle(const struct rebuild *r, const uint8_t *p, uint8_t *to)
{
	uint32_t v[3];

	for (unsigned k = 0; k < 3; k++) {
		v[k] = r->to[be_u16(p + 2 * k)];
		if (v[k] == GEO_NONE)
			return false;
	}
	for (unsigned k = 0; k < 3; k++)
		put_be16(to + 2 * k, (uint16_t)v[k]);
	return true;
}

static bool is_flat(const uint8_t *p)
{
	uint16_t a = be_u16(p), b = be_u16(p + 2), c = be_u16(p + 4);

	return a == b || b == c || c == a;
}

/* The triangles of submesh k; how many bytes they take. */
static size_t put_triangles(struct rebuild *r, uint32_t k, uint8_t *to)
{
	const struct mlp_sub *old = &r->x->m->sub[r->x->mesh->first_sub + k];
	const uint8_t *p = r->x->s.indices + 2 * (size_t)old->first_index;
	uint32_t f = r->first[k], end = r->first[k + 1];
	uint8_t *from = to;

	for (uint32_t i = 0; i < old->index_count / 3 || f < end; i++, p += 6) {
		if (i < old->index_count / 3 && is_flat(p)) {
			bool kept = old_triangle(r, p, to);

			to += kept ? 6 : 0;
			r->dropped += !kept;
		} else if (f < end) {
			for (unsigned c = 0; c < 3; c++)
				put_be16(to + 2 * c, (uint16_t)r->corner[3 * (size_t)f + c]);
			to += 6;
			f++;
		}
	}
	return (size_t)(to - from);
}

struct run { uint32_t first, k; };

static int by_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* One submesh behind the other, in the order they have in the index buffer. */
static int make_indices(struct rebuild *r, struct err *e)
{
	const struct mlp_edit *x = r->x;
	uint32_t n = x->mesh->nsubs;
	struct run *run = arena_alloc(x->a, n, sizeof *run);
	struct mlp_sub *sub = arena_alloc(x->a, n, sizeof *sub);
	uint8_t *indices = arena_alloc(x->a, (size_t)r->put.nfaces + x->mesh->nindices / 3 + 1, 6);
	size_t at = 0;

	if (!run || !sub || !indices)
		return err_nomem(e);
	for (uint32_t k = 0; k < n; k++)
		run[k] = (struct run){ x->m->sub[x->mesh->first_sub + k].first_index, k };
	qsort(run, n, sizeof *run, by_first);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = run[i].k;
		size_t size = put_triangles(r, k, indices + at);

		if (!size)
			return err_set(e, EINVAL, "group_%u has no faces", k);
		sub[k] = (struct mlp_sub){ .first_index = (uint32_t)(at / 2), .index_count = (uint32_t)(size / 2) };
		at += size;
	}
	r->now.indices = indices;
	r->now.nindices = (uint32_t)(at / 2);
	r->now.sub = sub;
	return 0;
}

/* ---- all of it ---- */

static int put_shape(struct rebuild *r, struct err *e)
{
	struct mlp_edit *x = r->x;
	int rc = make_indices(r, e);

	if (rc)
		return rc;
	if (r->now.nvertices != x->mesh->nvertices && x->mesh->stride && !x->s.rows)
		return err_set(e, EPERM, "the MGP was not found: mesh %u has to keep its %u vertices", x->number,
			       x->mesh->nvertices);
	rc = mlp_shape_put(x, &r->now, e);
	if (!rc && r->now.nvertices == MLP_VERTICES_MOST)
		object_say(x->o, "mesh %u: index 65535 may be taken for the end of a strip", x->number);
	if (!rc && r->dropped)
		object_say(x->o, "mesh %u: %u triangles with a repeated index went with their vertices", x->number,
			   r->dropped);
	return rc;
}

int mlp_rebuild(struct mlp_edit *x, struct err *e)
{
	struct rebuild r = { .x = x };
	int rc = x->put.nvertices > MLP_VERTICES_MOST ? mlp_too_many(x->put.nvertices, e) : mlp_assign(x, &r.part, e);

	rc = rc ? rc : sort_faces(&r, e);
	rc = rc ? rc : find_vertices(&r, e);
	if (rc < 0)
		return rc;
	rc = rc ? 0 : put_shape(&r, e);
	return rc ? rc : mlp_materials_put(x, r.part, e);
}
