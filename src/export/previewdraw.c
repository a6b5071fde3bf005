/* Triangles of a preview: where they lie in the picture, how much light they get, and in which order they are drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preview.h"

#define FINE 2u                                /* samples a pixel is wide and high */
#define SAMPLES (PREVIEW_SIDE * FINE)
#define MARGIN (4 * FINE * RASTER_UNIT)        /* on each side of the model */
#define AMBIENT 0.4f                           /* light that comes from everywhere; the rest has a direction */
#define CLAY 0.75f                             /* what has neither picture nor colour: white is lost on white */
/* Samples that are looked at: 256 times the whole picture. A usual model takes a hundredth of that. */
#define WORK_MOST ((uint64_t)1 << 26)

struct frame { double x, y, scale; };          /* middle of the model; units of the picture per unit of it */

struct view {
	struct preview *p;
	struct raster raster;
	struct frame frame;
};

/* False when there is nothing that could be seen. */
static bool find_frame(const struct preview *p, struct frame *out)
{
	const struct preview_vertex *v = PREVIEW_LIST(p, vertex);
	uint32_t n = PREVIEW_COUNT(p, vertex);
	double low[2] = { INFINITY, INFINITY }, high[2] = { -INFINITY, -INFINITY }, most;

	for (uint32_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 2; k++) {
			low[k] = v[i].at[k] < low[k] ? v[i].at[k] : low[k];
			high[k] = v[i].at[k] > high[k] ? v[i].at[k] : high[k];
		}
	if (!n)
		return false;
	most = high[0] - low[0] > high[1] - low[1] ? high[0] - low[0] : high[1] - low[1];
	out->x = (low[0] + high[0]) / 2;
	out->y = (low[1] + high[1]) / 2;
	out->scale = (double)(SAMPLES * RASTER_UNIT - 2 * MARGIN) / most;
	return most > 0 && isfinite(out->scale);
}

/* ---- light ---- */

/* Of a face, as vertices are lit; 0 where it has no direction. */
static float shade_face(const struct preview_vertex *const v[3], bool *behind)
{
	double n[3], length, shade = 0;

	for (unsigned k = 0; k < 3; k++) {
		unsigned a = (k + 1) % 3, b = (k + 2) % 3;

		n[k] = ((double)v[1]->at[a] - v[0]->at[a]) * ((double)v[2]->at[b] - v[0]->at[b]) -
		       ((double)v[1]->at[b] - v[0]->at[b]) * ((double)v[2]->at[a] - v[0]->at[a]);
		shade += n[k] * preview_light[k];
	}
	*behind = n[2] < 0;
	length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	return length > 0 && isfinite(length) ? (float)(shade / length) : 0;
}

/* A face seen from behind is lit as if its normals pointed to who looks. */
static float light(float shade, bool behind)
{
	shade = behind ? -shade : shade;
	return AMBIENT + (1 - AMBIENT) * (shade > 0 ? shade < 1 ? shade : 1 : 0);
}

/* ---- triangles ---- */

static void place_corner(const struct frame *f, const struct preview_vertex *v, struct raster_corner *out)
{
	double half = SAMPLES * RASTER_UNIT / 2, most = SAMPLES * RASTER_UNIT;
	double x = half + (v->at[0] - f->x) * f->scale + 0.5, y = half - (v->at[1] - f->y) * f->scale + 0.5;

	out->x = (int32_t)(x > 0 ? x < most ? x : most : 0);
	out->y = (int32_t)(y > 0 ? y < most ? y : most : 0);
	out->z = v->at[2];
	out->u = v->uv[0];
	out->v = v->uv[1];
}

static const struct preview_picture *picture_of(const struct preview *p, const struct preview_surface *s)
{
	const struct preview_picture *v = s->picture == GEO_NONE ? NULL : &PREVIEW_LIST(p, picture)[s->picture];

	return v && v->there ? v : NULL;
}

static void colour_of(const struct preview_surface *s, bool picture, float out[3])
{
	bool none = !picture && s->colour[0] == 1 && s->colour[1] == 1 && s->colour[2] == 1;

	for (unsigned k = 0; k < 3; k++)
		out[k] = none ? CLAY : picture && s->bare_colour ? 1 : s->colour[k];
}

static enum geo_alpha alpha_of(const struct preview *p, const struct preview_surface *s)
{
	const struct preview_picture *picture = picture_of(p, s);

	return s->clear ? GEO_BLENDED : picture ? picture->texture.alpha : GEO_OPAQUE;
}

static void draw_triangle(struct view *view, const struct preview_triangle *t, enum raster_pass pass)
{
	const struct preview *p = view->p;
	const struct preview_surface *s = &PREVIEW_LIST(p, surface)[t->surface];
	const struct preview_picture *picture = picture_of(p, s);
	const struct preview_vertex *v[3];
	struct raster_surface surface = {
		.texture = picture ? &picture->texture : NULL, .alpha = alpha_of(p, s), .both_sides = s->both_sides,
	};
	struct raster_corner c[3];
	float flat, colour[3];
	bool behind;

	for (unsigned i = 0; i < 3; i++)
		v[i] = &PREVIEW_LIST(p, vertex)[t->vertex[i]];
	flat = shade_face(v, &behind);
	colour_of(s, picture, colour);
	for (unsigned i = 0; i < 3; i++) {
		float lit = light(isnan(v[i]->shade) ? flat : v[i]->shade, behind);

		place_corner(&view->frame, v[i], &c[i]);
		for (unsigned k = 0; k < 3; k++)
			c[i].colour[k] = lit * colour[k] * (float)v[i]->colour[k] / 255;
		c[i].colour[3] = s->colour[3] * (float)v[i]->colour[3] / 255;
	}
	raster_triangle(&view->raster, c, &surface, pass);
}

/* ---- from the farthest on ---- */

struct farness { float depth; uint32_t triangle; };

static int farther(const void *a, const void *b)
{
	const struct farness *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->triangle < y->triangle ? -1 : x->triangle > y->triangle;
}

static int draw_clear(struct view *view, struct err *e)
{
	struct preview *p = view->p;
	uint32_t n = PREVIEW_COUNT(p, triangle), found = 0;
	struct farness *order = arena_alloc(&p->arena, (size_t)n + 1, sizeof *order);

	if (!order)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++) {
		const struct preview_triangle *t = &PREVIEW_LIST(p, triangle)[i];

		if (alpha_of(p, &PREVIEW_LIST(p, surface)[t->surface]) != GEO_BLENDED)
			continue;
		order[found].triangle = i;
		for (unsigned k = 0; k < 3; k++)
			order[found].depth += PREVIEW_LIST(p, vertex)[t->vertex[k]].at[2] / 3;
		found++;
	}
	qsort(order, found, sizeof *order, farther);
	for (uint32_t i = 0; i < found; i++)
		draw_triangle(view, &PREVIEW_LIST(p, triangle)[order[i].triangle], RASTER_CLEAR);
	return 0;
}

int preview_draw(struct preview *p, uint8_t *rgba, struct err *e)
{
	struct view view = { .p = p };
	uint32_t n = PREVIEW_COUNT(p, triangle);
	int rc = raster_begin(&view.raster, SAMPLES, WORK_MOST, &p->arena, e);

	if (!rc && find_frame(p, &view.frame)) {
		for (uint32_t i = 0; i < n; i++)
			draw_triangle(&view, &PREVIEW_LIST(p, triangle)[i], RASTER_SOLID);
		rc = draw_clear(&view, e);
	}
	if (!rc)
		raster_pixels(&view.raster, FINE, rgba);
	return rc;
}
