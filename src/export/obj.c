/* Wavefront OBJ and MTL, and the weights of skinned meshes. Lines are written straight into the buffer: one of bounded
 * length asks for LINE_ROOM once and then goes on unchecked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "num.h"

/* Longest: "v" and six numbers of NUM_MAX, each behind a blank. */
#define LINE_ROOM 256

static char *line_begin(struct buf *out)
{
	return (char *)buf_room(out, LINE_ROOM);
}

static void line_end(struct buf *out, char *p)
{
	*p++ = '\n';
	out->len = (size_t)((uint8_t *)p - out->p);
}

static char *put_text(char *p, const char *text)
{
	size_t n = strlen(text);

	memcpy(p, text, n);
	return p + n;
}

static char *put_floats(char *p, const float *v, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		*p++ = ' ';
		p += num_f32(p, v[i], false);
	}
	return p;
}

/* Numbers over 2^bits. */
static char *put_fixed(char *p, const int64_t *v, unsigned n, unsigned bits)
{
	for (unsigned i = 0; i < n; i++) {
		*p++ = ' ';
		p += num_fixed(p, v[i], bits);
	}
	return p;
}

/* A line of text, number and tail, nothing between them. */
static void put_numbered(struct buf *out, const char *text, uint32_t number, const char *tail)
{
	char *p = line_begin(out);

	if (!p)
		return;
	p = put_text(p, text);
	p += num_u32(p, number);
	line_end(out, put_text(p, tail));
}

static void put_named(struct buf *out, const char *key, const char *name)
{
	buf_str(out, key);
	buf_str(out, name);
	buf_char(out, '\n');
}

/* ---- OBJ ---- */

static const struct geo_stream *find_stream(const struct geo_mesh *m, enum geo_attr attr)
{
	unsigned i;

	for (i = 0; i < m->nstreams; i++)
		if (m->streams[i].attr == attr)
			return &m->streams[i];
	return NULL;
}

static void put_fixed_positions(struct buf *out, const struct geo_mesh *m)
{
	const struct geo_stream *colour = find_stream(m, GEO_COLOUR);

	for (uint32_t i = 0; i < m->nvertices; i++) {
		const int64_t *rgb = colour ? colour->fixed + (size_t)i * colour->comps : NULL;
		char *p = line_begin(out);

		if (!p)
			return;
		*p++ = 'v';
		p = put_fixed(p, m->fixed[i], 3, m->fixed_bits);
		if (rgb && *rgb != GEO_NO_FIXED)
			p = put_fixed(p, rgb, 3, m->fixed_bits);
		line_end(out, p);
	}
}

/* The values of a stream from the first of each vector on; UV are turned bottom-up. */
static void put_fixed_stream(struct buf *out, const char *key, const struct geo_stream *s, unsigned bits)
{
	for (uint32_t i = 0; s && i < s->count; i++) {
		const int64_t *v = s->fixed + (size_t)i * s->comps;
		int64_t bottom_up[2] = { v[0], ((int64_t)1 << bits) - v[1] };
		char *p = line_begin(out);

		if (!p)
			return;
		p = put_text(p, key);
		p = s->attr == GEO_UV ? put_fixed(p, bottom_up, 2, bits) : put_fixed(p, v, 3, bits);
		line_end(out, p);
	}
}

static void put_positions(struct buf *out, const struct geo_mesh *m)
{
	const struct geo_stream *colour = find_stream(m, GEO_COLOUR);
	uint32_t i;

	for (i = 0; i < m->nvertices; i++) {
		const float *rgb = colour ? colour->v + (size_t)i * colour->comps : NULL;
		char *p = line_begin(out);

		if (!p)
			return;
		*p++ = 'v';
		p = put_floats(p, m->position[i], 3);
		if (rgb && !isnan(*rgb))
			p = put_floats(p, rgb, 3);
		line_end(out, p);
	}
}

static void put_uvs(struct buf *out, const struct geo_stream *uv)
{
	uint32_t i;

	for (i = 0; uv && i < uv->count; i++) {
		const float *v = uv->v + (size_t)i * uv->comps;
		float bottom_up[2] = { v[0], (float)(1.0 - (double)v[1]) };
		char *p = line_begin(out);

		if (!p)
			return;
		p = put_text(p, "vt");
		line_end(out, put_floats(p, bottom_up, 2));
	}
}

static void put_normals(struct buf *out, const struct geo_stream *normal)
{
	uint32_t i;

	for (i = 0; normal && i < normal->count; i++) {
		char *p = line_begin(out);

		if (!p)
			return;
		p = put_text(p, "vn");
		line_end(out, put_floats(p, normal->v + (size_t)i * normal->comps, 3));
	}
}

/* Number of the value a face corner has, from 0; GEO_NONE: none. */
static uint32_t corner_value(const struct geo_stream *s, size_t corner, uint32_t vertex)
{
	uint32_t i = !s ? GEO_NONE : s->corner ? s->corner[corner] : vertex;

	return s && i < s->count ? i : GEO_NONE;
}

static char *put_corner(char *p, uint32_t vertex, uint32_t uv, uint32_t normal)
{
	*p++ = ' ';
	p += num_u32(p, vertex + 1);
	if (uv != GEO_NONE || normal != GEO_NONE)
		*p++ = '/';
	if (uv != GEO_NONE)
		p += num_u32(p, uv + 1);
	if (normal != GEO_NONE) {
		*p++ = '/';
		p += num_u32(p, normal + 1);
	}
	return p;
}

static void put_faces(struct buf *out, const struct geo_mesh *m, const struct geo_part *part)
{
	const struct geo_stream *uv = find_stream(m, GEO_UV), *normal = find_stream(m, GEO_NORMAL);
	uint32_t i, k, most = m->quad ? 4 : 3;

	for (i = part->first_face; i < part->first_face + part->nfaces; i++) {
		char *p = line_begin(out);

		if (!p)
			return;
		*p++ = 'f';
		for (k = 0; k < most; k++) {
			uint32_t v = m->quad ? m->quad[i][k] : m->face[i][k];
			size_t corner = (size_t)i * most + k;

			if (v == GEO_NONE)
				break;

			p = put_corner(p, v, corner_value(uv, corner, v), corner_value(normal, corner, v));
		}
		line_end(out, p);
	}
}

static void put_values(struct buf *out, const struct geo_mesh *m)
{
	const struct geo_stream *uv = find_stream(m, GEO_UV), *normal = find_stream(m, GEO_NORMAL);

	if (m->fixed_bits) {
		put_fixed_positions(out, m);
		put_fixed_stream(out, "vt", uv, m->fixed_bits);
		put_fixed_stream(out, "vn", normal, m->fixed_bits);
	} else {
		put_positions(out, m);
		put_uvs(out, uv);
		put_normals(out, normal);
	}
}

void obj_write(struct buf *out, const struct geo_mesh *m, uint32_t number, const struct geo_material *of_part)
{
	const char *object = NULL;
	unsigned k;

	if (number == MESH_WHOLE)
		buf_str(out, "mtllib model.mtl\n");
	else
		put_numbered(out, "mtllib ", number, ".mtl");
	if (!m->objects)
		put_numbered(out, "o mesh_", number, "");
	put_values(out, m);
	for (k = 0; k < m->nparts && !out->bad; k++) {
		if (m->objects && m->parts[k].object && m->parts[k].object != object)
			put_named(out, "o ", m->parts[k].object);
		object = m->parts[k].object;
		if (!m->parts[k].nfaces)
			continue;
		if (!m->objects)
			put_numbered(out, "g group_", k, "");
		if (of_part[k].name)
			put_named(out, "usemtl ", of_part[k].name);
		put_faces(out, m, &m->parts[k]);
	}
}

/* ---- MTL ---- */

static const struct geo_material *pointed(const void *p)
{
	return *(const struct geo_material *const *)p;
}

static int by_place(const void *a, const void *b)
{
	return (pointed(a) > pointed(b)) - (pointed(a) < pointed(b));
}

static int by_name(const void *a, const void *b)
{
	int order = strcmp(pointed(a)->name, pointed(b)->name);

	return order ? order : by_place(a, b);
}

static void put_colour(struct buf *out, const float colour[4])
{
	char *p = line_begin(out);

	if (!p)
		return;
	p = put_text(p, "Kd");
	line_end(out, put_floats(p, colour, 3));
	p = line_begin(out);
	if (p && colour[3] < 1) {
		*p++ = 'd';
		line_end(out, put_floats(p, &colour[3], 1));
	}
}

static void put_material(struct buf *out, const struct geo_material *m)
{
	put_named(out, "newmtl ", m->name);
	if (m->head)
		buf_str(out, m->head);
	else
		put_colour(out, m->colour);
	if (m->map)
		put_named(out, "map_Kd ", m->map);
	else if (m->image >= 0)
		put_numbered(out, "map_Kd ../textures/", (uint32_t)m->image, ".png");
	if (m->tail)
		buf_str(out, m->tail);
}

void mtl_write(struct buf *out, const struct geo_material *v, uint32_t n)
{
	const struct geo_material **used = malloc(((size_t)n + 1) * sizeof *used);
	size_t nused = 0, i, k = 0;

	if (!used) {
		out->bad = true;
		return;
	}
	for (i = 0; i < n; i++)
		if (v[i].name)
			used[nused++] = &v[i];
	/* The first of each name, back in the order of use. */
	qsort(used, nused, sizeof *used, by_name);
	for (i = 0; i < nused; i++)
		if (!k || strcmp(used[k - 1]->name, used[i]->name))
			used[k++] = used[i];
	qsort(used, k, sizeof *used, by_place);
	for (i = 0; i < k && !out->bad; i++)
		put_material(out, used[i]);
	free(used);
}

/* ---- weights ---- */

static void put_influence(struct buf *out, int32_t joint, float weight, bool whole, bool more)
{
	char *p = line_begin(out);

	if (!p)
		return;
	p = put_text(p, more ? ", [" : "[");
	if (joint < 0)
		p = put_text(p, "null");
	else
		p += num_i32(p, joint);
	p = put_text(p, ", ");
	p += whole ? num_i32(p, (int32_t)weight) : num_f32(p, weight, true);
	*p++ = ']';
	out->len = (size_t)((uint8_t *)p - out->p);
}

void weights_write(struct buf *out, const struct geo_mesh *m)
{
	uint32_t i, k;

	if (!m->nvertices) {
		buf_str(out, "[]\n");
		return;
	}
	buf_str(out, "# [bone, weight] pairs of each vertex, in the order of the v lines; ");
	if (m->weight_unit)
		buf_printf(out, "weights in 1/%u, the last one is what is left of %u\n", m->weight_unit,
			   m->weight_unit);
	else
		buf_str(out, "null: no bone is known\n");
	for (i = 0; i < m->nvertices && !out->bad; i++) {
		size_t first = m->first_influence[i];

		buf_str(out, "- [");
		for (k = 0; k < m->ninfluences[i]; k++)
			put_influence(out, m->joint[first + k], m->weight[first + k], m->weight_unit, k > 0);
		buf_str(out, "]\n");
	}
}
