/* The geometry of one mesh of a MOD3 (spec/mod3.md 7): its vertices, and those that its indices reach beyond them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mod3.h"

/* ---- the window ---- */

int mod3_mesh_sound(const struct object *o, uint32_t mesh, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct fault *f;

	if (mesh >= m->table[MOD3_MESHES].n)
		return err_set(e, ENOENT, "mesh %u of %u", mesh, m->table[MOD3_MESHES].n);
	if (m->mesh[mesh].bad) {
		f = object_find_fault(o, PART_MESH, mesh);
		return err_set(e, EBADMSG, "%s", f ? f->text : "damaged mesh");
	}
	if (!m->mesh[mesh].block)
		return err_set(e, ENOENT, "mesh %u: block type 0x%08x is unknown", mesh, m->mesh[mesh].block_type);
	return 0;
}

static int bad_index(const struct object *o, const struct mod3_mesh *mesh, const uint8_t *indices, uint32_t value,
		     struct err *e)
{
	uint32_t i = 0;

	while (le_u16(indices + 2 * (size_t)i) != value)
		i++;
	return err_at(e, EBADMSG, o->src, mod3_index_at(o->priv, mesh) + 2 * (uint64_t)i, "index",
		      "%u and vertex base %u lead past the %u vertices of the stride run", value, mesh->vertex_base,
		      mesh->run);
}

/* How far the indices reach. */
static int find_reach(const struct object *o, const struct mod3_mesh *mesh, struct mod3_window *w, struct err *e)
{
	uint32_t low = mesh->vertex_sub, high = mesh->vertex_sub + mesh->vertex_count - 1;

	for (uint32_t i = 0; i < mesh->index_count; i++) {
		uint32_t v = le_u16(w->indices + 2 * (size_t)i);

		low = v < low ? v : low;
		high = v > high ? v : high;
	}
	if ((uint64_t)mesh->vertex_base + high >= mesh->run)
		return bad_index(o, mesh, w->indices, high, e);
	w->first = low;
	w->n = high - low + 1;
	w->own = mesh->vertex_sub - low;
	w->nown = mesh->vertex_count;
	return 0;
}

int mod3_reach(struct object *o, uint32_t mesh, struct mod3_window *out, struct arena *a, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_mesh *r = &m->mesh[mesh];
	int rc = mod3_mesh_sound(o, mesh, e);

	*out = (struct mod3_window){ 0 };
	if (!rc && r->index_count)
		rc = object_read(o, a, mod3_index_at(m, r), 2 * (uint64_t)r->index_count, "indices", &out->indices, e);
	return rc || !r->vertex_count ? rc : find_reach(o, r, out, e);
}

int mod3_window(struct object *o, uint32_t mesh, struct mod3_window *out, struct arena *a, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_mesh *r = &m->mesh[mesh];
	int rc = mod3_reach(o, mesh, out, a, e);

	if (rc || !out->n)
		return rc;
	return object_read(o, a, mod3_vertex_at(m, r, out->first), (uint64_t)out->n * r->stride, "vertices",
			   &out->vertices, e);
}

/* ---- streams ---- */

static bool add_stream(struct geo_mesh *out, unsigned attr, unsigned comps, struct arena *a)
{
	struct geo_stream *s = &out->streams[out->nstreams++];

	*s = (struct geo_stream){ .attr = (uint8_t)attr, .comps = (uint8_t)comps, .count = out->nvertices };
	s->v = arena_alloc(a, (size_t)out->nvertices + 1, comps * sizeof *s->v);
	return s->v;
}

static bool make_room(const struct mod3_block *b, struct geo_mesh *out, struct arena *a)
{
	size_t n = (size_t)out->nvertices + 1;

	out->position = arena_alloc(a, n, sizeof *out->position);
	out->streams = arena_alloc(a, 3, sizeof *out->streams);
	if (!out->position || !out->streams || !add_stream(out, GEO_UV, 2, a) || !add_stream(out, GEO_NORMAL, 3, a))
		return false;
	if (b->colour && !add_stream(out, GEO_COLOUR, 3, a))
		return false;
	if (!b->slots)
		return true;
	out->skinned = true;
	out->weight_unit = MOD3_ALL_WEIGHTS;
	out->ninfluences = arena_alloc(a, n, sizeof *out->ninfluences);
	out->first_influence = arena_alloc(a, n, sizeof *out->first_influence);
	out->joint = arena_alloc(a, n * b->slots, sizeof *out->joint);
	out->weight = arena_alloc(a, n * b->slots, sizeof *out->weight);
	return out->ninfluences && out->first_influence && out->joint && out->weight;
}

void mod3_normal(const uint8_t *p, float out[3])
{
	double v[3] = { (int8_t)p[0], (int8_t)p[1], (int8_t)p[2] };
	double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);

	for (unsigned k = 0; k < 3; k++)
		out[k] = length > 0 ? (float)(v[k] / length) : 0;
}

static void fill_shape(const struct mod3_block *b, const uint8_t *vertex, struct geo_mesh *out)
{
	float *uv = out->streams[0].v, *normal = out->streams[1].v;

	for (uint32_t i = 0; i < out->nvertices; i++, vertex += b->stride) {
		for (unsigned k = 0; k < 3; k++)
			out->position[i][k] = le_f32(vertex + 4 * k);
		uv[2 * (size_t)i] = half_f32(le_u16(vertex + b->uv));
		uv[2 * (size_t)i + 1] = half_f32(le_u16(vertex + b->uv + 2));
		mod3_normal(vertex + b->normal, normal + 3 * (size_t)i);
	}
}

static void fill_colours(const struct mod3_block *b, const uint8_t *vertex, struct geo_mesh *out)
{
	float *colour = out->streams[2].v;

	for (uint32_t i = 0; i < out->nvertices; i++, vertex += b->stride)
		for (unsigned k = 0; k < 3; k++)
			*colour++ = (float)(vertex[b->colour + k] / 255.0);
}

static void fill_weights(const struct mod3_block *b, const uint8_t *vertex, struct geo_mesh *out)
{
	int32_t weight[MOD3_SLOTS];
	uint32_t at = 0;

	for (uint32_t i = 0; i < out->nvertices; i++, vertex += b->stride) {
		out->first_influence[i] = at;
		out->ninfluences[i] = b->slots;
		mod3_weights(b, vertex, weight);
		for (unsigned k = 0; k < b->slots; k++, at++) {
			out->joint[at] = vertex[b->ids + k];
			out->weight[at] = (float)weight[k];
		}
	}
}

/* Faces with three different corners; the others are only in the file. */
static int fill_faces(const struct mod3_mesh *mesh, const struct mod3_window *w, struct geo_mesh *out, struct arena *a,
		      struct err *e)
{
	const uint8_t *p = w->indices;
	uint32_t n = w->n ? mesh->index_count / 3 : 0;

	out->face = arena_alloc(a, (size_t)n + 1, sizeof *out->face);
	if (!out->face)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++, p += 6) {
		uint32_t v[3] = { le_u16(p), le_u16(p + 2), le_u16(p + 4) };

		if (v[0] == v[1] || v[1] == v[2] || v[0] == v[2])
			continue;
		for (unsigned k = 0; k < 3; k++)
			out->face[out->nfaces][k] = v[k] - w->first;
		out->nfaces++;
	}
	return 0;
}

/* One part with all faces. */
static bool add_part(const struct mod3 *m, const struct mod3_mesh *mesh, struct geo_mesh *out, struct arena *a)
{
	struct geo_part *part = arena_alloc(a, 1, sizeof *part);
	uint32_t *material = arena_alloc(a, 1, sizeof *material);
	bool there = mesh->material_index < m->table[MOD3_MATERIALS].n;

	if (!part || !material)
		return false;
	*part = (struct geo_part){ .material = there ? mesh->material_index : -1, .nfaces = out->nfaces };
	*material = mesh->material_index;
	out->parts = part;
	out->nparts = 1;
	out->materials = material;
	out->nmaterials = there;
	return true;
}

int mod3_geometry(struct object *o, uint32_t mesh, struct mod3_window *win, struct geo_mesh *out, struct arena *a,
		  struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_mesh *r = &m->mesh[mesh];
	struct mod3_window own;
	int rc = mod3_window(o, mesh, win ? win : &own, a, e);

	win = win ? win : &own;
	*out = (struct geo_mesh){ .nvertices = win->n };
	if (rc)
		return rc;
	if (!make_room(r->block, out, a))
		return err_nomem(e);
	fill_shape(r->block, win->vertices, out);
	if (r->block->colour)
		fill_colours(r->block, win->vertices, out);
	if (r->block->slots)
		fill_weights(r->block, win->vertices, out);
	rc = fill_faces(r, win, out, a, e);
	if (!rc && !add_part(m, r, out, a))
		rc = err_nomem(e);
	return rc;
}
