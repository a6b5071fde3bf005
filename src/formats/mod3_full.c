/* What an OBJ cannot say of a MOD3 (spec/mod3.md 4.2, 7.2): tangents, further texture coordinates, alpha of colours,
 * the meshes that are switched off, and the bones. */
#include <errno.h>
#include <string.h>

#include "mod3.h"

static struct geo_stream *next_stream(struct geo_mesh *m, unsigned attr, unsigned comps, struct arena *a)
{
	struct geo_stream *s = &m->streams[m->nstreams];

	*s = (struct geo_stream){ .attr = (uint8_t)attr, .comps = (uint8_t)comps, .count = m->nvertices };
	s->v = arena_alloc(a, (size_t)m->nvertices + 1, comps * sizeof *s->v);
	if (!s->v)
		return NULL;
	m->nstreams++;
	return s;
}

static bool add_tangents(const struct mod3_block *b, const uint8_t *vertex, struct geo_mesh *m, struct arena *a)
{
	struct geo_stream *s = next_stream(m, GEO_TANGENT, 4, a);

	for (uint32_t i = 0; s && i < m->nvertices; i++, vertex += b->stride) {
		float *out = s->v + 4 * (size_t)i;

		mod3_normal(vertex + b->tangent, out);
		out[3] = (int8_t)vertex[b->tangent + 3] < 0 ? -1 : 1;
	}
	return s;
}

static bool add_uvs(const struct mod3_block *b, const uint8_t *vertex, unsigned set, struct geo_mesh *m,
		    struct arena *a)
{
	struct geo_stream *s = next_stream(m, GEO_UV, 2, a);

	for (uint32_t i = 0; s && i < m->nvertices; i++, vertex += b->stride)
		for (unsigned k = 0; k < 2; k++)
			s->v[2 * (size_t)i + k] = half_f32(le_u16(vertex + b->uv + 4 * set + 2 * k));
	if (s)
		s->set = (uint8_t)set;
	return s;
}

static bool add_colours(const struct mod3_block *b, const uint8_t *vertex, struct geo_mesh *m, struct arena *a)
{
	struct geo_stream *s = next_stream(m, GEO_COLOUR, 4, a);

	for (uint32_t i = 0; s && i < m->nvertices; i++, vertex += b->stride)
		for (unsigned k = 0; k < 4; k++)
			s->v[4 * (size_t)i + k] = (float)(vertex[b->colour + k] / 255.0);
	return s;
}

/* The streams of the OBJ, with the colours that have their alpha in the place of those without. */
static bool widen(const struct mod3_block *b, const struct mod3_window *win, struct geo_mesh *m, struct arena *a)
{
	struct geo_stream *all = arena_alloc(a, MOD3_UVS + 3, sizeof *all), *old = m->streams;
	unsigned n = m->nstreams;

	if (!all)
		return false;
	m->streams = all;
	m->nstreams = 0;
	for (unsigned i = 0; i < n; i++)
		if (old[i].attr != GEO_COLOUR)
			all[m->nstreams++] = old[i];
	for (unsigned set = 1; set < b->uvs; set++)
		if (!add_uvs(b, win->vertices, set, m, a))
			return false;
	return (!b->tangent || add_tangents(b, win->vertices, m, a)) &&
	       (!b->colour || add_colours(b, win->vertices, m, a));
}

int mod3_mesh_full(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	const struct mod3_mesh *r = &((const struct mod3 *)o->priv)->mesh[mesh];
	struct mod3_window win;
	int rc = mod3_geometry(o, mesh, &win, out, a, e);

	if (rc)
		return rc;
	for (unsigned k = 0; k < out->nparts; k++)
		out->parts[k].hidden = !r->visible;
	return widen(r->block, &win, out, a) ? 0 : err_nomem(e);
}

static void get_matrix(const uint8_t *raw, float out[16])
{
	for (unsigned k = 0; k < 16; k++)
		out[k] = le_f32(raw + 4 * k);
}

/* Rows for row vectors lie as columns for column vectors do. */
int mod3_skeleton(struct object *o, struct geo_skeleton *out, struct arena *a, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_BONES].n;
	const uint8_t *local, *inverse;
	float matrix[16];
	int rc;

	if (!n)
		return 0;
	rc = object_read(o, a, m->table[MOD3_LOCAL].at, (uint64_t)n * MOD3_MATRIX_SIZE, "local matrices", &local, e);
	if (!rc)
		rc = object_read(o, a, m->table[MOD3_INVERSE].at, (uint64_t)n * MOD3_MATRIX_SIZE, "inverse matrices",
				 &inverse, e);
	if (rc)
		return rc;
	out->joint = arena_alloc(a, n, sizeof *out->joint);
	for (uint32_t i = 0; out->joint && i < n; i++) {
		struct geo_joint *j = &out->joint[i];

		get_matrix(local + (size_t)i * MOD3_MATRIX_SIZE, matrix);
		geo_joint_place(j, matrix);
		get_matrix(inverse + (size_t)i * MOD3_MATRIX_SIZE, j->inverse);
		j->tied = true;
		j->parent = m->bone[i].parent == MOD3_NO_BONE ? -1 : m->bone[i].parent;
		j->name = arena_printf(a, "bone_%u", i);
		if (!j->name)
			return err_nomem(e);
	}
	out->n = out->joint ? n : 0;
	return out->joint ? 0 : err_nomem(e);
}
