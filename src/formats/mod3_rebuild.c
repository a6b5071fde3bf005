/* A MOD3 mesh with a new topology, or whose vertices get another layout (views.md 4, spec/mod3.md 7). */
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
	struct retopo topo;
	struct arena *a;
};

/* The corners that are stored. */
static int read_corners(const struct rebuild *x, uint32_t **out, size_t *n, struct err *e)
{
	const struct mod3 *m = x->o->priv;
	const struct mod3_mesh *mesh = &m->mesh[x->number];
	const uint8_t *indices = NULL;
	int rc = 0;

	*n = mesh->index_count;
	*out = arena_alloc(x->a, *n + 1, sizeof **out);
	if (!*out)
		return err_nomem(e);
	if (*n)
		rc = object_read(x->o, x->a, mod3_index_at(m, mesh), 2 * (uint64_t)*n, "indices", &indices, e);
	for (size_t i = 0; i < *n && !rc; i++)
		(*out)[i] = le_u16(indices + 2 * i) - mesh->vertex_sub;
	return rc;
}

static int make_vertices(struct rebuild *x, struct err *e)
{
	const struct mod3_points *was = &x->was.mesh[x->number];
	struct weld_type type = mod3_weld_type(x->block);
	uint32_t *corner;
	int rc;

	x->topo = (struct retopo){ .type = &type, .put = x->put, .stored = was->v, .nstored = was->n, .a = x->a };
	rc = read_corners(x, &corner, &x->topo.nwas, e);
	x->topo.was = corner;
	rc = rc ? rc : retopo(&x->topo, e);
	if (!rc && x->topo.nvertices > VERTICES_MOST)
		rc = err_set(e, EFBIG, "mesh %u would have %u vertices, more than %u", x->number, x->topo.nvertices,
			     VERTICES_MOST);
	return rc;
}

/* ---- what it makes ---- */

/* Faces with two equal vertices draw nothing and are left out. */
static uint32_t drop_flat(struct rebuild *x)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < x->put->nfaces; f++) {
		if (geo_is_flat(x->put->face[f]))
			continue;
		memmove(x->topo.of + n, x->topo.of + 3 * (size_t)f, 3 * sizeof *x->topo.of);
		n += 3;
	}
	return n;
}

static int check_put(const struct rebuild *x, uint32_t nindices, struct err *e)
{
	const struct geo_put *put = x->put;
	bool any = false;

	for (uint32_t f = 0; f < put->nfaces && !any; f++)
		any = !geo_is_flat(put->face[f]);
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
	int rc = mod3_scene(x->o, &x->was, x->a, e);

	rc = rc ? rc : make_vertices(x, e);
	if (rc || x->topo.applied)
		return rc;
	r.ncorners = drop_flat(x);
	r.corner = x->topo.of;
	r.points = (struct mod3_points){ x->block, x->topo.vertices.p, x->topo.nvertices };
	rc = mod3_replace(x->o, &r, &x->was, x->a, e);
	if (rc)
		return rc;
	if (x->put->colour && !x->block->colour)
		mod3_say_colours(x->o, x->number, count_colours(x->put));
	if (x->topo.guessed)
		object_say(x->o,
			   "mesh %u: %u new vertices took the weights and other attributes of the nearest old vertex",
			   x->number, x->topo.guessed);
	return 0;
}

int mod3_rebuild(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct arena a = { 0 };
	struct rebuild x = { .o = o, .block = m->mesh[mesh].block, .number = mesh, .put = put, .a = &a };
	int rc = check_put(&x, m->mesh[mesh].index_count, e);

	rc = rc ? rc : rebuild(&x, e);
	buf_free(&x.topo.vertices);
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
