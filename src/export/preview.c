/* preview.png: a picture of a whole model, collected mesh by mesh. All models are seen from the same side, halfway
 * between the front and the left, from a little above; y is up in what the views show, and z points to the front. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preview.h"

/* Sines and cosines of 28 and 16 degrees that are fractions, so that they are the same numbers everywhere. */
#define YAW_SIN (8.0 / 17)
#define YAW_COS (15.0 / 17)
#define PITCH_SIN (7.0 / 25)
#define PITCH_COS (24.0 / 25)

static const double looking[3][3] = {          /* right, up, towards who looks */
	{ YAW_COS, 0, -YAW_SIN },
	{ -YAW_SIN * PITCH_SIN, PITCH_COS, -YAW_COS * PITCH_SIN },
	{ YAW_SIN * PITCH_COS, PITCH_SIN, YAW_COS * PITCH_COS },
};

const float preview_light[3] = { -2.0f / 7, 3.0f / 7, 6.0f / 7 };

int preview_begin(struct preview **out, const struct geo_skeleton *s, struct err *e)
{
	struct preview *p = calloc(1, sizeof *p);
	int rc = p ? 0 : err_nomem(e);

	if (!rc && s && s->n)
		rc = geo_bend(s, &p->bend, &p->arena, e);
	if (!rc)
		p->skeleton = s;
	if (rc)
		preview_free(p);
	*out = rc ? NULL : p;
	return rc;
}

void preview_free(struct preview *p)
{
	if (!p)
		return;
	buf_free(&p->vertex);
	buf_free(&p->triangle);
	buf_free(&p->surface);
	buf_free(&p->picture);
	arena_free(&p->arena);
	free(p);
}

/* ---- vertices ---- */

struct streams { const struct geo_stream *normal, *uv, *colour; };

static struct streams find_streams(const struct geo_mesh *m)
{
	struct streams s = { 0 };

	for (unsigned i = 0; i < m->nstreams; i++) {
		const struct geo_stream *v = &m->streams[i];

		if (v->attr == GEO_NORMAL)
			s.normal = v;
		else if (v->attr == GEO_COLOUR)
			s.colour = v;
		else if (v->attr == GEO_UV && !v->set)
			s.uv = v;
	}
	return s;
}

/* The values of flat vertex i in a stream; false: it has none. */
static bool get_values(const struct geo_mesh *m, const struct geo_flat *f, const struct geo_stream *s, uint32_t i,
		       unsigned n, double *out)
{
	uint32_t value = s ? f->value[(size_t)i * m->nstreams + (unsigned)(s - m->streams)] : GEO_NONE;
	size_t at = (size_t)value * (s ? s->comps : 0);

	if (value == GEO_NONE || s->comps < n)
		return false;
	if (s->attr == GEO_COLOUR && (m->fixed_bits ? s->fixed[at] == GEO_NO_FIXED : isnan(s->v[at])))
		return false;
	for (unsigned k = 0; k < n; k++, at++)
		out[k] = geo_stream_number(m, s, at);
	return true;
}

/* Positions may be as far away as a float can tell. */
static float fitting(double v)
{
	return (float)(v > 1e38 ? 1e38 : v < -1e38 ? -1e38 : v);
}

static float shade_of(const double n[3])
{
	double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), shade = 0;

	for (unsigned k = 0; k < 3; k++)
		shade += preview_light[k] * (looking[k][0] * n[0] + looking[k][1] * n[1] + looking[k][2] * n[2]);
	return length > 0 ? (float)(shade / length) : NAN;
}

/* As the bones at rest have it: models are not always tied to bones where they rest. */
static void bend(const struct preview *p, const struct geo_mesh *m, uint32_t v, double at[3], double normal[3])
{
	double to[12] = { 0 }, sum = 0, was[3] = { at[0], at[1], at[2] }, n[3] = { normal[0], normal[1], normal[2] };

	for (unsigned k = 0; k < m->ninfluences[v]; k++) {
		uint32_t i = m->first_influence[v] + k;
		double weight = geo_shown(m->weight[i]);

		if (m->joint[i] < 0 || (uint32_t)m->joint[i] >= p->skeleton->n)
			continue;
		sum += weight;
		for (unsigned c = 0; c < 12; c++)
			to[c] += weight * p->bend[m->joint[i]][c];
	}
	for (unsigned r = 0; r < 3 && sum > 0; r++) {
		at[r] = (to[r] * was[0] + to[3 + r] * was[1] + to[6 + r] * was[2] + to[9 + r]) / sum;
		normal[r] = to[r] * n[0] + to[3 + r] * n[1] + to[6 + r] * n[2];
	}
}

static void add_vertex(struct preview *p, const struct geo_mesh *m, const struct geo_flat *f, const struct streams *s,
		       uint32_t i)
{
	struct preview_vertex out = { .colour = { 255, 255, 255, 255 } };
	double at[3], normal[3] = { 0 }, uv[2] = { 0 }, colour[4] = { 1, 1, 1, 1 };
	uint32_t v = f->vertex[i];

	for (unsigned k = 0; k < 3; k++)
		at[k] = geo_place_number(m, v, k);
	get_values(m, f, s->normal, i, 3, normal);
	if (p->bend && m->joint)
		bend(p, m, v, at, normal);
	for (unsigned k = 0; k < 3; k++)
		out.at[k] = fitting(looking[k][0] * at[0] + looking[k][1] * at[1] + looking[k][2] * at[2]);
	out.shade = shade_of(normal);
	get_values(m, f, s->uv, i, 2, uv);
	out.uv[0] = fitting(uv[0]);
	out.uv[1] = fitting(uv[1]);
	if (!get_values(m, f, s->colour, i, 4, colour))
		get_values(m, f, s->colour, i, 3, colour);
	for (unsigned k = 0; k < 4; k++)
		out.colour[k] = (uint8_t)(colour[k] > 0 ? colour[k] < 1 ? colour[k] * 255 + 0.5 : 255 : 0);
	buf_add(&p->vertex, &out, sizeof out);
}

/* ---- faces ---- */

static uint32_t want_picture(struct preview *p, int32_t number_of)
{
	struct preview_picture fresh = { .number = (uint32_t)number_of };
	uint32_t n = PREVIEW_COUNT(p, picture);

	if (number_of < 0)
		return GEO_NONE;
	for (uint32_t i = 0; i < n; i++)
		if (PREVIEW_LIST(p, picture)[i].number == fresh.number)
			return i;
	if (n == PREVIEW_PICTURES_MOST)
		return GEO_NONE;
	buf_add(&p->picture, &fresh, sizeof fresh);
	return n;
}

static uint32_t add_surface(struct preview *p, const struct geo_material *m)
{
	struct preview_surface s = { .colour = { 1, 1, 1, 1 }, .picture = GEO_NONE };
	uint32_t n = PREVIEW_COUNT(p, surface);

	if (m->name) {
		for (unsigned k = 0; k < 4; k++)
			s.colour[k] = m->colour[k] >= 0 ? m->colour[k] < 1 ? m->colour[k] : 1 : 0;
		s.picture = want_picture(p, m->image);
		s.bare_colour = m->bare_colour;
		s.both_sides = m->both_sides;
		s.clear = s.colour[3] < 1;
	}
	/* Parts that follow each other often look the same. */
	if (n && !memcmp(&PREVIEW_LIST(p, surface)[n - 1], &s, sizeof s))
		return n - 1;
	buf_add(&p->surface, &s, sizeof s);
	return n;
}

static uint32_t count_triangles(const struct geo_mesh *m, const struct geo_part *part)
{
	uint32_t n = part->nfaces;

	for (uint32_t f = part->first_face; m->quad && f < part->first_face + part->nfaces; f++)
		n += m->quad[f][3] != GEO_NONE;
	return n;
}

/* The next n triangles, from a corner on; base: the mesh's first vertex. */
static void add_triangles(struct preview *p, const uint32_t *corner, uint32_t n, uint32_t base, uint32_t surface)
{
	bool clear = false;

	for (uint32_t i = 0; i < n && !p->vertex.bad; i++, corner += 3) {
		struct preview_triangle t = { { base + corner[0], base + corner[1], base + corner[2] }, surface };

		for (unsigned k = 0; k < 3; k++)
			clear |= PREVIEW_LIST(p, vertex)[t.vertex[k]].colour[3] < 255;
		buf_add(&p->triangle, &t, sizeof t);
	}
	if (clear && !p->surface.bad)
		PREVIEW_LIST(p, surface)[surface].clear = true;
}

int preview_mesh(struct preview *p, const struct geo_mesh *m, const struct geo_material *of_part, struct err *e)
{
	struct arena a = { 0 };
	struct streams s = find_streams(m);
	struct geo_flat f = { 0 };
	uint32_t *part = arena_alloc(&a, (size_t)m->nparts + 1, sizeof *part), nparts = 0, base, corner = 0;
	uint32_t room = PREVIEW_TRIANGLES_MOST - PREVIEW_COUNT(p, triangle);
	int rc = part ? 0 : err_nomem(e);

	for (unsigned k = 0; k < m->nparts && !rc; k++) {
		uint32_t n = m->parts[k].hidden ? 0 : count_triangles(m, &m->parts[k]);

		if (n && n <= room)
			part[nparts++] = k;
		room -= n <= room ? n : 0;
	}
	rc = rc ? rc : geo_flatten(m, part, nparts, NULL, 0, &f, &a, e);
	base = PREVIEW_COUNT(p, vertex);
	for (uint32_t i = 0; i < f.nvertices && !rc; i++)
		add_vertex(p, m, &f, &s, i);
	for (uint32_t i = 0; i < nparts && !rc; i++) {
		uint32_t n = count_triangles(m, &m->parts[part[i]]);

		add_triangles(p, f.corner + corner, n, base, add_surface(p, &of_part[part[i]]));
		corner += 3 * n;
	}
	arena_free(&a);
	if (!rc && (p->vertex.bad || p->triangle.bad || p->surface.bad || p->picture.bad))
		rc = err_nomem(e);
	return rc;
}

/* ---- pictures ---- */

bool preview_wants_picture(const struct preview *p, uint32_t i, uint32_t *number_of)
{
	if (i >= PREVIEW_COUNT(p, picture) || p->texels > PREVIEW_TEXELS_MOST)
		return false;
	*number_of = PREVIEW_LIST(p, picture)[i].number;
	return true;
}

/* As large as it can be of use, and smaller when there are many. */
int preview_picture(struct preview *p, uint32_t i, const struct geo_image *img, struct err *e)
{
	struct preview_picture *v = &PREVIEW_LIST(p, picture)[i];
	uint32_t n = PREVIEW_COUNT(p, picture), most = n <= 32 ? 512 : n <= 128 ? 256 : 128;
	int rc = texture_make(&v->texture, img, most, &p->arena, e);

	p->texels += (uint64_t)img->w * img->h;
	v->there = !rc;
	return rc;
}

/* ---- the file ---- */

int preview_end(struct preview *p, struct buf *out, struct err *e)
{
	struct geo_image img = { .w = PREVIEW_SIDE, .h = PREVIEW_SIDE };
	int rc;

	img.rgba = arena_alloc(&p->arena, (size_t)img.w * img.h, 4);
	rc = img.rgba ? preview_draw(p, img.rgba, e) : err_nomem(e);
	return rc ? rc : png_write_sized(out, &img, PREVIEW_BYTES, e);
}
