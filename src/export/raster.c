/* Triangles into samples: which of them one covers is told in whole numbers, so that two triangles with an edge in
 * common leave no gap between them and draw nothing twice. */
#include "raster.h"

#include <math.h>

#include "bytes.h"

/* What changes evenly over a triangle. */
enum { Z, U, V, RED, GREEN, BLUE, ALPHA, VALUES };

#define CUT_AT 0.5f                            /* GEO_CUT: less is not there */
#define SOLID_FROM (254.5f / 255)              /* more of a blended surface hides what is behind it */
#define REPEATS_MOST 2048                      /* of a picture along one triangle; more is a blur */
#define TEXEL_UNIT 256                         /* parts of a texel that places are told in */

/* Side from corner a to b: inside is where `at` is not negative. */
struct edge { int64_t at, step_x, step_y; };

struct drawing {
	struct raster *r;
	const struct raster_surface *s;
	enum raster_pass pass;
	struct edge edge[3];
	uint32_t left, right, top, bottom;     /* samples that may be covered, the last ones included */
	double row[VALUES], step_x[VALUES], step_y[VALUES];    /* row: at the left sample of the row at hand */
	const struct texture_level *level;     /* NULL: no picture */
	float texels_x, texels_y;              /* TEXEL_UNITs that the picture is wide and high */
};

int raster_begin(struct raster *r, uint32_t size, uint64_t work, struct arena *a, struct err *e)
{
	size_t n = (size_t)size * size;

	*r = (struct raster){ .size = size, .left = work };
	r->depth = arena_alloc(a, n, sizeof *r->depth);
	r->colour = arena_alloc(a, n, sizeof *r->colour);
	if (!r->depth || !r->colour)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		r->depth[i] = -INFINITY;
	return 0;
}

/* ---- samples ---- */

static uint32_t wrap(int32_t at, uint32_t size)
{
	return size & (size - 1) ? (uint32_t)at % size : (uint32_t)at & (size - 1);
}

/* The four bytes of a texel with room above each, so that all are computed with at once. */
static uint64_t spread_bytes(const uint8_t texel[4])
{
	uint64_t v = le_u32(texel);

	v = (v | v << 16) & 0x0000ffff0000ffff;
	return (v | v << 8) & 0x00ff00ff00ff00ff;
}

/* `part` TEXEL_UNITs on the way from a to b, rounded. */
static uint64_t mix(uint64_t a, uint64_t b, uint32_t part)
{
	return (a * (TEXEL_UNIT - part) + b * part + 0x0080008000800080) >> 8 & 0x00ff00ff00ff00ff;
}

/* Places begin at 1 by what choose_level() has made of them; what rounding took away from that is put back. */
static int32_t place_of(float v, float texels)
{
	return (int32_t)((v >= 0.75f ? v < REPEATS_MOST ? v : REPEATS_MOST : 0.75f) * texels) - TEXEL_UNIT / 2;
}

/* Between four texels; the picture repeats itself. */
static void take_texel(const struct drawing *d, const float at[VALUES], float out[4])
{
	const struct texture_level *l = d->level;
	int32_t x = place_of(at[U], d->texels_x), y = place_of(at[V], d->texels_y);
	uint32_t left = wrap(x >> 8, l->w), right = left + 1 < l->w ? left + 1 : 0;
	uint32_t top = wrap(y >> 8, l->h), bottom = top + 1 < l->h ? top + 1 : 0;
	uint8_t (*above)[4] = l->texel + (size_t)top * l->w, (*below)[4] = l->texel + (size_t)bottom * l->w;
	uint32_t part = x & (TEXEL_UNIT - 1);
	uint64_t v;

	v = mix(mix(spread_bytes(above[left]), spread_bytes(above[right]), part),
		mix(spread_bytes(below[left]), spread_bytes(below[right]), part), y & (TEXEL_UNIT - 1));
	for (unsigned k = 0; k < 4; k++)
		out[k] *= (float)(uint8_t)(v >> 16 * k) * (1.0f / 255);
}

static uint8_t byte_of(float v)
{
	return v > 0 ? v < 1 ? (uint8_t)(v * 255 + 0.5f) : 255 : 0;
}

static void blend(uint8_t to[4], const float colour[4])
{
	for (unsigned k = 0; k < 4; k++)
		to[k] = byte_of((k < 3 ? colour[k] * colour[3] : colour[3]) +
				(float)to[k] * (1 - colour[3]) * (1.0f / 255));
}

static void draw_sample(const struct drawing *d, size_t i, const float v[VALUES])
{
	float colour[4] = { v[RED], v[GREEN], v[BLUE], v[ALPHA] };

	if (d->level)
		take_texel(d, v, colour);
	if (d->s->alpha == GEO_CUT && colour[3] < CUT_AT)
		return;
	if (d->s->alpha == GEO_BLENDED && (colour[3] >= SOLID_FROM) != (d->pass == RASTER_SOLID))
		return;
	if (d->pass == RASTER_CLEAR) {
		colour[3] = colour[3] > 0 ? colour[3] : 0;
		blend(d->r->colour[i], colour);
		return;
	}
	d->r->depth[i] = v[Z];
	for (unsigned k = 0; k < 3; k++)
		d->r->colour[i][k] = byte_of(colour[k]);
	d->r->colour[i][3] = 255;
}

static bool row_next(int64_t at[3], const struct edge edge[3])
{
	for (unsigned k = 0; k < 3; k++)
		at[k] += edge[k].step_x;
	return (at[0] | at[1] | at[2]) >= 0;
}

/* The samples that a row has inside follow each other. What a sliver's values are outside of it no float could tell:
 * they are counted from the first one inside. */
static void draw_row(const struct drawing *d, uint32_t y)
{
	int64_t at[3] = { d->edge[0].at, d->edge[1].at, d->edge[2].at };
	bool inside = (at[0] | at[1] | at[2]) >= 0;
	uint32_t first = 0, n = d->right - d->left + 1;
	float row[VALUES], step[VALUES], v[VALUES];
	size_t i;

	for (; !inside && first + 1 < n; first++)
		inside = row_next(at, d->edge);
	for (unsigned k = 0; k < VALUES; k++) {
		row[k] = (float)(d->row[k] + d->step_x[k] * first);
		step[k] = (float)d->step_x[k];
	}
	i = (size_t)y * d->r->size + d->left + first;
	for (uint32_t k = 0; inside && first + k < n; k++, i++) {
		float z = row[Z] + step[Z] * (float)k;

		if (z >= d->r->depth[i]) {
			for (unsigned j = 0; j < VALUES; j++)
				v[j] = row[j] + step[j] * (float)k;
			draw_sample(d, i, v);
		}
		inside = row_next(at, d->edge);
	}
}

/* ---- triangles ---- */

/* Twice the area, above 0 when the corners go clockwise on the screen, whose y points down. */
static int64_t area_of(const struct raster_corner *a, const struct raster_corner *b, const struct raster_corner *c)
{
	return (int64_t)(b->x - a->x) * (c->y - a->y) - (int64_t)(c->x - a->x) * (b->y - a->y);
}

/* Of a triangle that goes clockwise. A sample on the edge itself is inside when the triangle lies below it or to the
 * right of it: of two triangles with that edge it belongs to one. */
static void edge_begin(struct edge *e, const struct raster_corner *a, const struct raster_corner *b, int32_t x,
		       int32_t y)
{
	bool ours = a->y > b->y || (a->y == b->y && a->x < b->x);

	e->at = (int64_t)(b->x - a->x) * (y - a->y) - (int64_t)(x - a->x) * (b->y - a->y) - !ours;
	e->step_x = (int64_t)(a->y - b->y) * RASTER_UNIT;
	e->step_y = (int64_t)(b->x - a->x) * RASTER_UNIT;
}

static int32_t least(int32_t a, int32_t b, int32_t c)
{
	int32_t v = a < b ? a : b;

	return v < c ? v : c;
}

/* The first and the last sample whose middle lies between two places. False: there is none. */
static bool find_span(int32_t from, int32_t to, uint32_t size, uint32_t *first, uint32_t *last)
{
	int32_t half = RASTER_UNIT / 2;

	*first = (uint32_t)((from + half - 1) / RASTER_UNIT);
	*last = (uint32_t)((to + half) / RASTER_UNIT);
	if (!*last)
		return false;
	*last = *last < size ? *last - 1 : size - 1;
	return *first <= *last;
}

static bool find_samples(struct drawing *d, const struct raster_corner c[3])
{
	uint32_t size = d->r->size;

	return find_span(least(c[0].x, c[1].x, c[2].x), -least(-c[0].x, -c[1].x, -c[2].x), size, &d->left, &d->right) &&
	       find_span(least(c[0].y, c[1].y, c[2].y), -least(-c[0].y, -c[1].y, -c[2].y), size, &d->top, &d->bottom);
}

static void spread(struct drawing *d, unsigned k, const struct raster_corner c[3], double area, double a, double b,
		   double v)
{
	double x = (double)d->left * RASTER_UNIT + RASTER_UNIT / 2 - c[0].x;
	double y = (double)d->top * RASTER_UNIT + RASTER_UNIT / 2 - c[0].y;

	b -= a;
	v -= a;
	d->step_x[k] = (b * (c[2].y - c[0].y) - v * (c[1].y - c[0].y)) / area;
	d->step_y[k] = (v * (c[1].x - c[0].x) - b * (c[2].x - c[0].x)) / area;
	d->row[k] = a + d->step_x[k] * x + d->step_y[k] * y;
	d->step_x[k] *= RASTER_UNIT;
	d->step_y[k] *= RASTER_UNIT;
}

/* Moves the three by whole repeats of the picture to where none of them is below 1. */
static bool begin_at_one(const float *v[3], double out[3])
{
	double low = floor(fmin(fmin((double)*v[0], (double)*v[1]), (double)*v[2])) - 1, high = 0;

	for (unsigned k = 0; k < 3; k++) {
		out[k] = (double)*v[k] - low;
		high = fmax(high, out[k]);
	}
	return high < REPEATS_MOST;
}

/* The level whose texels are about as large as samples. Too many repeats: the last one, which is one texel. */
static void choose_level(struct drawing *d, const struct raster_corner c[3], double area)
{
	const struct texture *t = d->s->texture;
	const float *u[3] = { &c[0].u, &c[1].u, &c[2].u }, *v[3] = { &c[0].v, &c[1].v, &c[2].v };
	double pu[3] = { 1, 1, 1 }, pv[3] = { 1, 1, 1 }, density;
	unsigned level = 0;
	bool few;

	if (!t || !t->nlevels)
		return;
	few = begin_at_one(u, pu) && begin_at_one(v, pv);
	for (unsigned k = 0; k < 3 && !few; k++)
		pu[k] = pv[k] = 1;
	spread(d, U, c, area, pu[0], pu[1], pu[2]);
	spread(d, V, c, area, pv[0], pv[1], pv[2]);
	density = fabs(d->step_x[U] * d->step_y[V] - d->step_x[V] * d->step_y[U]) * t->level[0].w * t->level[0].h;
	for (; level + 1 < t->nlevels && (density > 2 || !few); level++)
		density /= 4;
	d->level = &t->level[level];
	d->texels_x = (float)(d->level->w * TEXEL_UNIT);
	d->texels_y = (float)(d->level->h * TEXEL_UNIT);
}

static void draw_begin(struct drawing *d, const struct raster_corner c[3], double area)
{
	int32_t x = (int32_t)d->left * RASTER_UNIT + RASTER_UNIT / 2;
	int32_t y = (int32_t)d->top * RASTER_UNIT + RASTER_UNIT / 2;

	for (unsigned k = 0; k < 3; k++)
		edge_begin(&d->edge[k], &c[k], &c[(k + 1) % 3], x, y);
	spread(d, Z, c, area, c[0].z, c[1].z, c[2].z);
	for (unsigned k = 0; k < 4; k++)
		spread(d, RED + k, c, area, c[0].colour[k], c[1].colour[k], c[2].colour[k]);
	choose_level(d, c, area);
}

void raster_triangle(struct raster *r, const struct raster_corner c[3], const struct raster_surface *s,
		     enum raster_pass pass)
{
	struct drawing d = { .r = r, .s = s, .pass = pass };
	int64_t area = area_of(&c[0], &c[1], &c[2]);
	/* Counter-clockwise is in front; edges are told of triangles that go the other way. */
	const struct raster_corner way[3] = { c[0], c[area < 0 ? 2 : 1], c[area < 0 ? 1 : 2] };
	uint64_t work;

	if (!area || (area > 0 && !s->both_sides) || !find_samples(&d, way))
		return;
	work = (uint64_t)(d.right - d.left + 1) * (d.bottom - d.top + 1);
	if (work > r->left) {
		r->left = 0;
		return;
	}
	r->left -= work;
	draw_begin(&d, way, (double)(area < 0 ? -area : area));
	for (uint32_t y = d.top; y <= d.bottom; y++) {
		draw_row(&d, y);
		for (unsigned k = 0; k < 3; k++)
			d.edge[k].at += d.edge[k].step_y;
		for (unsigned k = 0; k < VALUES; k++)
			d.row[k] += d.step_y[k];
	}
}

/* ---- pixels ---- */

/* The mean of `fine` x `fine` samples, the first of them at the top left. */
static void get_pixel(const struct raster *r, uint8_t (*first)[4], unsigned fine, uint8_t rgba[4])
{
	uint32_t sum[4] = { 0 }, most = 255 * fine * fine;

	for (unsigned i = 0; i < fine * fine; i++)
		for (unsigned k = 0; k < 4; k++)
			sum[k] += first[(size_t)(i / fine) * r->size + i % fine][k];
	for (unsigned k = 0; k < 3; k++) {
		uint32_t v = sum[3] ? (sum[k] * 255 + sum[3] / 2) / sum[3] : 0;

		rgba[k] = (uint8_t)(v < 255 ? v : 255);
	}
	rgba[3] = (uint8_t)((sum[3] * 255 + most / 2) / most);
}

void raster_pixels(const struct raster *r, unsigned fine, uint8_t *rgba)
{
	uint32_t pixels = r->size / fine;

	for (uint32_t y = 0; y < pixels; y++)
		for (uint32_t x = 0; x < pixels; x++, rgba += 4)
			get_pixel(r, r->colour + (size_t)y * fine * r->size + (size_t)x * fine, fine, rgba);
}
