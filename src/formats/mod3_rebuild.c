/* A MOD3 mesh with a new topology, or whose vertices get another layout (views.md 4, spec/mod3.md 7).
 *
 * Every given vertex is a stored one, in the order of the text; where its corners have several texture coordinates or
 * normals it becomes several, one behind the other. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mod3_write.h"

#define VERTICES_MOST 65535u                   /* vertexCount is a u16 */

/* ---- what follows ---- */

int mod3_replace(struct object *o, const struct mod3_reshape *r, const struct mod3_scene *was, struct arena *a,
		 struct err *e)
{
	const struct mod3 *m = o->priv;
	struct mod3_moves moves = { .a = a };
	struct mod3_scene now = *was;
	size_t n = m->table[MOD3_MESHES].n;
	int rc;

	now.mesh = arena_alloc(a, n + 1, sizeof *now.mesh);
	if (!now.mesh)
		return err_nomem(e);
	memcpy(now.mesh, was->mesh, n * sizeof *now.mesh);
	now.mesh[r->mesh] = r->points;
	rc = mod3_reshape(o, r, &moves, e);
	rc = rc ? rc : mod3_follow(o, was, &now, &moves, e);
	/* With another block type the text says the number too. */
	if (!rc && was->mesh[r->mesh].block == r->points.block)
		rc = mod3_follow_weights(o, r->mesh, &was->mesh[r->mesh], &r->points, false, e);
	return rc ? rc : mod3_moves_do(o, &moves, e);
}

/* ---- new topology ---- */

struct rebuild {
	struct object *o;
	const struct mod3_block *block;
	uint32_t number;
	const struct geo_put *put;
	struct mod3_scene was;
	struct geo_corner *corner;             /* sorted by vertex: those of faces, and one of each vertex without */
	uint32_t *place;                       /* of each: face corner it is; GEO_NONE: of no face */
	size_t n;
	uint32_t *of;                          /* of each face corner: its vertex */
	struct buf vertices;
	struct weld weld;
	struct arena *a;
};

static bool is_flat(const struct geo_corner c[3])
{
	return c[0].v == c[1].v || c[1].v == c[2].v || c[2].v == c[0].v;
}

/* Whether the values of a vertex have its own number, as in our texts: then those of one without faces are known. What
 * geo_match() says of them, it says of the first that a face gives. seen: room for a mark of each vertex. */
static bool are_numbered(const struct rebuild *x, bool uv, uint8_t *seen)
{
	const struct geo_put *put = x->put;
	bool same = (uv ? put->nuvs : put->nnormals) == put->nvertices;

	memset(seen, 0, put->nvertices);
	for (uint32_t f = 0; f < put->nfaces && same; f++)
		for (unsigned k = 0; k < 3 && same && !is_flat(put->face[f]); k++) {
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
static int sort_corners(struct rebuild *x, struct err *e)
{
	const struct geo_put *put = x->put;
	uint32_t *next = arena_alloc(x->a, (size_t)put->nvertices + 2, sizeof *next);
	uint8_t *seen = arena_alloc(x->a, (size_t)put->nvertices + 1, 1);
	size_t most = 3 * (size_t)put->nfaces + put->nvertices;
	bool uvs, normals;

	x->corner = arena_alloc(x->a, most + 1, sizeof *x->corner);
	x->place = arena_alloc(x->a, most + 1, sizeof *x->place);
	if (!next || !seen || !x->corner || !x->place)
		return err_nomem(e);
	uvs = are_numbered(x, true, seen);
	normals = are_numbered(x, false, seen);
	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !is_flat(put->face[f]); k++)
			next[put->face[f][k].v + 1]++;
	for (uint32_t v = 0; v < put->nvertices; v++)
		next[v + 1] += next[v] + !next[v + 1];
	x->n = next[put->nvertices];
	for (uint32_t v = 0; v < put->nvertices; v++) {
		x->corner[next[v]] = (struct geo_corner){ v, uvs ? v : GEO_NONE, normals ? v : GEO_NONE };
		x->place[next[v]] = GEO_NONE;
	}
	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !is_flat(put->face[f]); k++) {
			const struct geo_corner *c = &put->face[f][k];

			x->corner[next[c->v]] = *c;
			x->place[next[c->v]++] = 3 * f + k;
		}
	return 0;
}

/* The vertices in the order of the text; *of gets their numbers. */
static int order_vertices(struct rebuild *x, const uint32_t *number, struct err *e)
{
	const struct pool *pool = &x->weld.vertices;
	uint32_t *rank = arena_alloc(x->a, (size_t)pool->n + 1, sizeof *rank), n = 0;

	x->of = arena_alloc(x->a, 3 * (size_t)x->put->nfaces + 1, sizeof *x->of);
	if (!rank || !x->of)
		return err_nomem(e);
	for (size_t i = 0; i < x->n; i++) {
		uint32_t *r = &rank[number[i]];

		if (!*r) {
			*r = ++n;
			buf_add(&x->vertices, pool->bytes.p + (size_t)number[i] * pool->each + 4, x->block->stride);
		}
		if (x->place[i] != GEO_NONE)
			x->of[x->place[i]] = *r - 1;
	}
	return x->vertices.bad ? err_nomem(e) : 0;
}

static int make_vertices(struct rebuild *x, struct err *e)
{
	const struct mod3_points *was = &x->was.mesh[x->number];
	struct weld_type type = mod3_weld_type(x->block);
	uint32_t *number;
	int rc;

	x->weld = (struct weld){ .type = &type, .put = x->put, .stored = was->v, .nstored = was->n, .apart = true,
				 .a = x->a };
	number = arena_alloc(x->a, x->n + 1, sizeof *number);
	rc = number ? weld_corners(&x->weld, x->corner, x->n, number, NULL, e) : err_nomem(e);
	rc = rc ? rc : order_vertices(x, number, e);
	buf_free(&x->weld.vertices.bytes);
	if (!rc && x->vertices.len / x->block->stride > VERTICES_MOST)
		rc = err_set(e, EFBIG, "mesh %u would have %zu vertices, more than %u", x->number,
			     x->vertices.len / x->block->stride, VERTICES_MOST);
	return rc;
}

/* ---- a text that was applied before ----
 *
 * What it made has one face after the other, and each corner's vertex is one that the corner means. */

static bool is_meant(const struct rebuild *x, const struct geo_corner *c, uint32_t v)
{
	const struct mod3_points *was = &x->was.mesh[x->number];
	struct weld_type type = mod3_weld_type(x->block);
	const uint8_t *stored = was->v + (size_t)v * type.stride;
	struct geo_given given = geo_given(x->put, c, x->put->vertex_line[c->v]);
	uint8_t vertex[WELD_STRIDE];

	memcpy(vertex, stored, type.stride);
	return !type.put(type.ctx, &given, true, vertex, NULL) && !memcmp(vertex, stored, type.stride);
}

/* The stored vertex of each corner, by the faces; false: those are others. */
static bool map_corners(const struct rebuild *x, const uint8_t *indices, uint32_t nindices, uint32_t sub, uint32_t *to)
{
	const struct geo_put *put = x->put;
	uint32_t n = 0, nold = x->was.mesh[x->number].n;

	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !is_flat(put->face[f]); k++) {
			if (n == nindices)
				return false;
			to[3 * (size_t)f + k] = le_u16(indices + 2 * (size_t)n++) - sub;
			if (to[3 * (size_t)f + k] >= nold)
				return false;
		}
	return n == nindices;
}

/* The given vertices, one after the other, mean the stored ones, one or several each, all of them; equal corners mean
 * the same. of: of each corner in `pool`. */
static bool mean_all(const struct rebuild *x, const uint32_t *to, struct pool *pool, uint32_t *of)
{
	uint32_t next = 0, first = 0, nold = x->was.mesh[x->number].n;

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

static int was_applied(struct rebuild *x, bool *out, struct err *e)
{
	const struct mod3 *m = x->o->priv;
	const struct mod3_mesh *mesh = &m->mesh[x->number];
	uint32_t *to = arena_alloc(x->a, 3 * (size_t)x->put->nfaces + 1, sizeof *to);
	uint32_t *of = arena_alloc(x->a, x->n + 1, sizeof *of);
	const uint8_t *indices = NULL;
	struct pool pool;
	int rc = to && of && pool_make(&pool, sizeof *x->corner, x->n, x->a) ? 0 : err_nomem(e);

	if (!rc && mesh->index_count)
		rc = object_read(x->o, x->a, mod3_index_at(m, mesh), 2 * (uint64_t)mesh->index_count, "indices",
				 &indices, e);
	if (rc)
		return rc;
	*out = map_corners(x, indices, mesh->index_count, mesh->vertex_sub, to) && mean_all(x, to, &pool, of);
	buf_free(&pool.bytes);
	return 0;
}

/* ---- what it makes ---- */

/* Faces with two equal vertices draw nothing and are left out. */
static uint32_t drop_flat(struct rebuild *x)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < x->put->nfaces; f++) {
		if (is_flat(x->put->face[f]))
			continue;
		memmove(x->of + n, x->of + 3 * (size_t)f, 3 * sizeof *x->of);
		n += 3;
	}
	return n;
}

static int check_put(const struct rebuild *x, uint32_t nindices, struct err *e)
{
	const struct geo_put *put = x->put;
	bool any = false;

	for (uint32_t f = 0; f < put->nfaces && !any; f++)
		any = !is_flat(put->face[f]);
	if (!any && nindices)
		return err_set(e, EINVAL, "no faces, the mesh has %u; `lod_mask: 0` in meshes/%u.yaml hides it",
			       nindices / 3, x->number);       /* rather a text that was cut off than meant */
	if (put->nvertices > VERTICES_MOST)
		return err_set(e, EFBIG, "%u vertices are more than the %u that a mesh may have", put->nvertices,
			       VERTICES_MOST);
	return 0;
}

static uint32_t count_colours(const struct geo_put *put)
{
	uint32_t n = 0;

	for (uint32_t v = 0; v < put->nvertices; v++)
		n += !isnan(put->colour[v][0].v);
	return n;
}

static int rebuild(struct rebuild *x, struct err *e)
{
	struct mod3_reshape r = { .mesh = x->number };
	bool applied;
	int rc = mod3_scene(x->o, &x->was, x->a, e);

	rc = rc ? rc : sort_corners(x, e);
	rc = rc ? rc : was_applied(x, &applied, e);
	if (rc || applied)
		return rc;
	rc = make_vertices(x, e);
	if (rc)
		return rc;
	r.ncorners = drop_flat(x);
	r.corner = x->of;
	r.points = (struct mod3_points){ x->block, x->vertices.p, (uint32_t)(x->vertices.len / x->block->stride) };
	rc = mod3_replace(x->o, &r, &x->was, x->a, e);
	if (rc)
		return rc;
	if (x->put->colour && !x->block->colour)
		mod3_say_colours(x->o, x->number, count_colours(x->put));
	if (x->weld.guessed)
		object_say(x->o,
			   "mesh %u: %u new vertices took the weights and other attributes of the nearest old vertex",
			   x->number, x->weld.guessed);
	return 0;
}

int mod3_rebuild(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct arena a = { 0 };
	struct rebuild x = { .o = o, .block = m->mesh[mesh].block, .number = mesh, .put = put, .a = &a };
	int rc = check_put(&x, m->mesh[mesh].index_count, e);

	rc = rc ? rc : rebuild(&x, e);
	buf_free(&x.vertices);
	arena_free(&a);
	return rc;
}

/* ---- other block types ---- */

static int parse_block(const struct ynode *value, const struct mod3_block **out, struct err *e)
{
	struct field f;
	uint8_t raw[4] = { 0 };
	int rc;

	rec_field(&mod3_mesh_record, "block_type", &f);
	f.at = 0;
	rc = ynode_parse(value, &f, false, raw, e);
	*out = rc ? NULL : mod3_block(le_u32(raw));
	return rc || *out ? rc
			  : err_line(e, EINVAL, value->line, value->column,
				     "block_type: 0x%08x is none of the %u whose vertices are known", le_u32(raw),
				     MOD3_BLOCKS);
}

static void tell_lost(const struct object *o, uint32_t mesh, const struct mod3_block *from, const struct mod3_block *to)
{
	if (from->uvs > to->uvs)
		object_say(o, "mesh %u: %u of %u sets of texture coordinates are left out", mesh, from->uvs - to->uvs,
			   from->uvs);
	if (from->colour && !to->colour)
		object_say(o, "mesh %u: the colours are left out", mesh);
	if (from->slots && !to->slots)
		object_say(o, "mesh %u: the weights are left out", mesh);
	if (!from->slots && to->slots)
		object_say(o, "mesh %u: all weights are those of bone 0", mesh);
}

static int recode(struct object *o, uint32_t mesh, const struct mod3_block *to, const struct ynode *value,
		  struct arena *a, struct err *e)
{
	struct mod3_reshape r = { .mesh = mesh };
	struct mod3_scene was;
	const struct mod3_points *p;
	struct err why = { 0 };
	uint8_t *now;
	int rc = mod3_scene(o, &was, a, e);

	if (rc)
		return rc;
	p = &was.mesh[mesh];
	now = arena_alloc(a, (size_t)p->n + 1, to->stride);
	if (!now)
		return err_nomem(e);
	for (uint32_t i = 0; i < p->n && !rc; i++)
		if (mod3_vertex_recode(p->block, p->v + (size_t)i * p->block->stride, to, now + (size_t)i * to->stride,
				       &why))
			rc = err_line(e, EINVAL, value->line, value->column, "block_type: vertex %u: %s", i, why.text);
	r.points = (struct mod3_points){ to, now, p->n };
	rc = rc ? rc : mod3_replace(o, &r, &was, a, e);
	if (!rc)
		tell_lost(o, mesh, p->block, to);
	return rc;
}

int mod3_block_type_put(struct object *o, uint32_t mesh, const struct ynode *value, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_block *to = NULL;
	struct arena a = { 0 };
	int rc = mod3_mesh_sound(o, mesh, NULL);

	if (rc == -ENOENT)
		return err_line(e, EINVAL, value->line, value->column,
				"block_type: what the vertices of mesh %u consist of is unknown, so they cannot be "
				"written anew", mesh);
	rc = rc ? mod3_mesh_sound(o, mesh, e) : parse_block(value, &to, e);
	if (rc || to == m->mesh[mesh].block)
		return rc;
	if (to->slots && !m->mesh[mesh].block->slots && !m->table[MOD3_BONES].n)
		return err_line(e, EINVAL, value->line, value->column,
				"block_type: %s has weights, the model has no bones", to->name);
	rc = recode(o, mesh, to, value, &a, e);
	arena_free(&a);
	return rc;
}
