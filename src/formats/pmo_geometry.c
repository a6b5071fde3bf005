/* The geometry of one mesh of a PMO (spec/mhp.md 3.7): its groups' vertices one after the other, in stored order. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pmo.h"

/* A group on its way into the mesh. */
struct piece {
	struct pmo_scan scan;
	uint32_t first;                        /* its first vertex in the mesh */
	uint32_t first_face;
	uint32_t uv, normal;                   /* its first one in the streams */
	uint32_t influence;
};

struct builder {
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	struct geo_mesh *out;
	struct arena *arena;
	struct piece *piece;                   /* mesh->group_count */
	uint32_t nuvs, nnormals, ncolours, ninfluences;
	const float *scale;
	bool hidden;                           /* with hidden faces */
	float *uv, *normal, *colour;
};

static unsigned influences(const struct ge_vertex *v)
{
	return v->weight.format ? v->weight.count : 1;
}

/* ---- counting ---- */

static int scan_groups(struct builder *b, struct buf *faces, struct pmo_window *win, struct err *e)
{
	const struct pmo_mesh *m = b->mesh;
	struct geo_mesh *out = b->out;

	for (uint32_t k = 0; k < m->group_count; k++) {
		struct piece *x = &b->piece[k];
		const struct ge_vertex *v = &x->scan.vertex;
		int rc = pmo_group_scan_all(b->p, m->first_group + k, out->nvertices, b->hidden, faces, win, &x->scan,
					    e);
		uint32_t n = x->scan.vertices;

		if (rc)
			return rc;
		if (n > PMO_MESH_VERTICES - out->nvertices)
			return err_at(e, EFBIG, b->p->region.src,
				      b->p->region.at + b->p->group[m->first_group + k].vertex_buffer, "vertex buffer",
				      "with it the mesh has more than %u vertices", PMO_MESH_VERTICES);
		x->first = out->nvertices;
		x->first_face = out->nfaces;
		x->uv = b->nuvs;
		x->normal = b->nnormals;
		x->influence = b->ninfluences;
		out->nvertices += n;
		out->nfaces += x->scan.faces;
		b->nuvs += v->uv.format ? n : 0;
		b->nnormals += v->normal.format ? n : 0;
		b->ncolours += v->colour.format ? n : 0;
		b->ninfluences += n * influences(v);
		out->skinned |= n && v->weight.format;
	}
	return 0;
}

/* ---- room ---- */

/* A stream that not all vertices have is found through corner numbers, which fill_corners() writes. */
static bool add_stream(struct builder *b, unsigned attr, unsigned comps, uint32_t count, float **v)
{
	struct geo_mesh *out = b->out;
	struct geo_stream *s = &out->streams[out->nstreams];

	if (!count)
		return true;
	*s = (struct geo_stream){ .attr = (uint8_t)attr, .comps = (uint8_t)comps, .count = count };
	s->v = arena_alloc(b->arena, count, comps * sizeof(float));
	if (attr != GEO_COLOUR && count != out->nvertices) {
		s->corner = arena_alloc(b->arena, out->nfaces + 1, 3 * sizeof *s->corner);
		if (!s->corner)
			return false;
	}
	*v = s->v;
	out->nstreams++;
	return s->v;
}

static bool make_room(struct builder *b)
{
	struct geo_mesh *out = b->out;
	struct arena *a = b->arena;
	uint32_t n = out->nvertices;

	out->position = arena_alloc(a, n + 1, sizeof *out->position);
	out->ninfluences = arena_alloc(a, n + 1, sizeof *out->ninfluences);
	out->first_influence = arena_alloc(a, n + 1, sizeof *out->first_influence);
	out->joint = arena_alloc(a, b->ninfluences + 1, sizeof *out->joint);
	out->weight = arena_alloc(a, b->ninfluences + 1, sizeof *out->weight);
	out->face = arena_alloc(a, out->nfaces + 1, sizeof *out->face);
	out->parts = arena_alloc(a, b->mesh->group_count + 1u, sizeof *out->parts);
	out->streams = arena_alloc(a, 3, sizeof *out->streams);
	return out->position && out->ninfluences && out->first_influence && out->joint && out->weight && out->face &&
	       out->parts && out->streams && add_stream(b, GEO_UV, 2, b->nuvs, &b->uv) &&
	       add_stream(b, GEO_NORMAL, 3, b->nnormals, &b->normal) &&
	       add_stream(b, GEO_COLOUR, 4, b->ncolours ? n : 0, &b->colour);
}

/* ---- vertices; everything is computed in double and rounded once ---- */

double pmo_normal(const struct ge_field *f, const uint8_t *vertex, float out[3])
{
	double n[3], length;

	for (unsigned i = 0; i < 3; i++)
		n[i] = ge_get(f, vertex, i);
	length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	if (!(length > 0) || !isfinite(length))
		length = 1;
	for (unsigned i = 0; i < 3; i++)
		out[i] = (float)(n[i] / length);
	return length;
}

static void put_colour(float out[4], const struct ge_field *f, const uint8_t *vertex)
{
	uint8_t rgba[4];

	if (!f->format) {
		out[0] = NAN;
		return;
	}
	ge_colour_get(f->format - 4u, ge_colour_bits(f, vertex), rgba);
	for (unsigned i = 0; i < 4; i++)
		out[i] = (float)(rgba[i] / 255.0);
}

static void put_influences(struct builder *b, const struct pmo_group *g, const struct piece *x, uint32_t i,
			   const uint8_t *vertex)
{
	const struct ge_field *f = &x->scan.vertex.weight;
	struct geo_mesh *out = b->out;
	unsigned n = influences(&x->scan.vertex);
	uint32_t at = x->influence + i * n;

	out->ninfluences[x->first + i] = (uint8_t)n;
	out->first_influence[x->first + i] = at;
	for (unsigned k = 0; k < n; k++) {
		out->joint[at + k] = g->bone[k];
		out->weight[at + k] = f->format ? (float)ge_get(f, vertex, k) : 1;
	}
}

static void put_vertex(struct builder *b, const struct pmo_group *g, const struct piece *x, uint32_t i,
		       const uint8_t *vertex)
{
	const struct ge_vertex *v = &x->scan.vertex;
	const struct pmo_mesh *m = b->mesh;

	for (unsigned k = 0; k < 3; k++)
		b->out->position[x->first + i][k] = (float)(ge_get(&v->position, vertex, k) * b->scale[k]);
	for (unsigned k = 0; k < 2 && v->uv.format; k++)
		b->uv[2 * (size_t)(x->uv + i) + k] =
			(float)(ge_get(&v->uv, vertex, k) * m->uv_scale[k] + m->uv_offset[k]);
	if (v->normal.format)
		pmo_normal(&v->normal, vertex, b->normal + 3 * (size_t)(x->normal + i));
	if (b->ncolours)
		put_colour(b->colour + 4 * (size_t)(x->first + i), &v->colour, vertex);
	put_influences(b, g, x, i, vertex);
}

static int put_group(struct builder *b, uint32_t k, struct pmo_window *win, struct err *e)
{
	const struct piece *x = &b->piece[k];
	const struct pmo_group *g = &b->p->group[b->mesh->first_group + k];
	uint32_t stride = x->scan.vertex.stride, n;

	for (uint32_t i = 0; i < x->scan.vertices; i += n) {
		uint32_t left = x->scan.vertices - i;
		const uint8_t *vertex;
		int rc;

		n = left < PMO_PIECE / stride ? left : PMO_PIECE / stride;
		rc = pmo_window(b->p, win, g->vertex_buffer + (uint64_t)i * stride, (size_t)n * stride, &vertex, e);
		if (rc)
			return rc;
		for (uint32_t j = 0; j < n; j++)
			put_vertex(b, g, x, i + j, vertex + (size_t)j * stride);
	}
	return 0;
}

/* ---- faces ---- */

static void fill_corners(struct builder *b, struct geo_stream *s)
{
	const struct geo_mesh *out = b->out;

	for (uint32_t k = 0; k < b->mesh->group_count; k++) {
		const struct piece *x = &b->piece[k];
		bool has = s->attr == GEO_UV ? x->scan.vertex.uv.format : x->scan.vertex.normal.format;
		uint32_t first = s->attr == GEO_UV ? x->uv : x->normal;

		for (uint32_t f = x->first_face; f < x->first_face + x->scan.faces; f++)
			for (unsigned i = 0; i < 3; i++)
				s->corner[3 * (size_t)f + i] = has ? out->face[f][i] - x->first + first : GEO_NONE;
	}
}

static void put_parts(struct builder *b)
{
	struct geo_mesh *out = b->out;

	out->nparts = b->mesh->group_count;
	for (uint32_t k = 0; k < out->nparts; k++)
		out->parts[k] = (struct geo_part){
			.material = pmo_material_index(b->p, b->mesh, &b->p->group[b->mesh->first_group + k]),
			.first_face = b->piece[k].first_face,
			.nfaces = b->piece[k].scan.faces,
			.hidden = b->p->group[b->mesh->first_group + k].hidden,
		};
}

static int build(struct builder *b, struct buf *faces, struct pmo_window *win, struct err *e)
{
	struct geo_mesh *out = b->out;
	int rc = scan_groups(b, faces, win, e);

	if (rc)
		return rc;
	if (!make_room(b))
		return err_nomem(e);
	if (out->nfaces)
		memcpy(out->face, faces->p, (size_t)out->nfaces * sizeof *out->face);
	for (uint32_t k = 0; k < b->mesh->group_count && !rc; k++)
		rc = put_group(b, k, win, e);
	put_parts(b);
	for (unsigned i = 0; i < out->nstreams; i++)
		if (out->streams[i].corner)
			fill_corners(b, &out->streams[i]);
	return rc;
}

static int decode(struct object *o, uint32_t mesh, bool hidden, struct geo_mesh *out, struct arena *a, struct err *e)
{
	const struct pmo *p = o->priv;
	struct builder b = { .p = p, .mesh = &p->mesh[mesh], .out = out, .arena = a, .hidden = hidden };
	struct pmo_window win = { 0 };
	struct buf faces = { 0 };
	int rc;

	*out = (struct geo_mesh){ 0 };
	b.scale = pmo_scale(p, b.mesh);
	b.piece = arena_alloc(a, b.mesh->group_count + 1u, sizeof *b.piece);
	rc = b.piece ? build(&b, &faces, &win, e) : err_nomem(e);
	buf_free(&faces);
	buf_free(&win.bytes);
	return rc;
}

int pmo_mesh_geometry(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	return decode(o, mesh, false, out, a, e);
}

int pmo_full_geometry(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	return decode(o, mesh, true, out, a, e);
}
