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

/* Red, green, blue and alpha, which are computed with at once: as one by one, to the last bit, in half the time. */
typedef float float4 __attribute__((vector_size(16)));
typedef int32_t int4 __attribute__((vector_size(16)));

struct values { float z, u, v; float4 colour; };

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

/* The four texels that a sample lies between, and where. The picture repeats itself. */
struct spot { const uint8_t (*above)[4], (*below)[4]; uint32_t left, right, x, y; };

static struct spot find_spot(const struct drawing *d, float u, float v)
{
	const struct texture_level *l = d->level;
	int32_t x = place_of(u, d->texels_x), y = place_of(v, d->texels_y);
	uint32_t left = wrap(x >> 8, l->w), top = wrap(y >> 8, l->h), bottom = top + 1 < l->h ? top + 1 : 0;

	return (struct spot){
		l->texel + (size_t)top * l->w, l->texel + (size_t)bottom * l->w,
		left, left + 1 < l->w ? left + 1 : 0, x & (TEXEL_UNIT - 1), y & (TEXEL_UNIT - 1),
	};
}

static float4 mix_texels(const struct spot *s)
{
	uint64_t c = mix(mix(spread_bytes(s->above[s->left]), spread_bytes(s->above[s->right]), s->x),
			 mix(spread_bytes(s->below[s->left]), spread_bytes(s->below[s->right]), s->x), s->y);
	int4 texel = { (uint8_t)c, (uint8_t)(c >> 16), (uint8_t)(c >> 32), (uint8_t)(c >> 48) };

	return __builtin_convertvector(texel, float4) * (1.0f / 255);
}

/* Whether a surface that lets `alpha` through can hide what is behind it there: no mixture has more than its most. */
static bool may_hide(const struct spot *s, float alpha)
{
	uint8_t a = s->above[s->left][3], b = s->above[s->right][3];
	uint8_t c = s->below[s->left][3], most = s->below[s->right][3];

	a = a > b ? a : b;
	most = most > c ? most : c;
	most = most > a ? most : a;
	return alpha * ((float)most * (1.0f / 255)) >= SOLID_FROM;
}

/* Of 0 to 1; what is no number is 0. */
static inline void put_bytes(uint8_t to[4], float4 v)
{
	const float4 one = { 1, 1, 1, 1 };
	int4 above = v > 0, below = v < one, bytes;

	v = (float4)(((int4)v & below & above) | ((int4)one & ~below & above));
	bytes = __builtin_convertvector(v * 255 + 0.5f, int4);
	put_le32(to, (uint32_t)(bytes[0] | bytes[1] << 8 | bytes[2] << 16) | (uint32_t)bytes[3] << 24);
}

static void blend(uint8_t to[4], float4 colour)
{
	float alpha = colour[3];
	float4 under = __builtin_convertvector(((int4){ to[0], to[1], to[2], to[3] }), float4);

	put_bytes(to, colour * (float4){ alpha, alpha, alpha, 1 } + under * (1 - alpha) * (1.0f / 255));
}

/* Whether what is there of the surface is for this pass. */
static bool is_seen(const struct drawing *d, float alpha)
{
	if (d->s->alpha == GEO_CUT)
		return !(alpha < CUT_AT);
	return d->s->alpha != GEO_BLENDED || (alpha >= SOLID_FROM) == (d->pass == RASTER_SOLID);
}

static void draw_sample(const struct drawing *d, size_t i, float z, float u, float v, float4 colour)
{
	if (d->level) {
		struct spot s = find_spot(d, u, v);

		if (d->s->alpha == GEO_BLENDED && d->pass == RASTER_SOLID && !may_hide(&s, colour[3]))
			return;
		colour *= mix_texels(&s);
	}
	if (!is_seen(d, colour[3]))
		return;
	if (d->pass == RASTER_CLEAR) {
		colour[3] = colour[3] > 0 ? colour[3] : 0;
		blend(d->r->colour[i], colour);
		return;
	}
	d->r->depth[i] = z;
	colour[3] = 1;
	put_bytes(d->r->colour[i], colour);
}

static float value_of(const struct drawing *d, unsigned k, double steps)
{
	return (float)(d->row[k] + d->step_x[k] * steps);
}

static struct values values_at(const struct drawing *d, double steps)
{
	return (struct values){
		value_of(d, Z, steps), value_of(d, U, steps), value_of(d, V, steps),
		{ value_of(d, RED, steps), value_of(d, GREEN, steps), value_of(d, BLUE, steps),
		  value_of(d, ALPHA, steps) },
	};
}

static struct values steps_of(const double step[VALUES])
{
	return (struct values){
		(float)step[Z], (float)step[U], (float)step[V],
		{ (float)step[RED], (float)step[GREEN], (float)step[BLUE], (float)step[ALPHA] },
	};
}

/* The samples that a row has inside follow each other. What a sliver's values are outside of it no float could tell:
 * they are counted from the first one inside. */
static void draw_row(const struct drawing *d, uint32_t y)
{
	int64_t a = d->edge[0].at, b = d->edge[1].at, c = d->edge[2].at;
	const int64_t step_a = d->edge[0].step_x, step_b = d->edge[1].step_x, step_c = d->edge[2].step_x;
	uint32_t first = 0, n = d->right - d->left + 1;
	size_t i = (size_t)y * d->r->size + d->left;
	struct values at, step;

	for (; (a | b | c) < 0 && first < n; first++, a += step_a, b += step_b, c += step_c)
		;
	if (first == n)
		return;
	at = values_at(d, first);
	step = steps_of(d->step_x);
	i += first;
	for (uint32_t k = 0; (a | b | c) >= 0 && first + k < n; k++, i++, a += step_a, b += step_b, c += step_c) {
		float by = (float)k, z = at.z + step.z * by;

		if (z >= d->r->depth[i])
			draw_sample(d, i, z, at.u + step.u * by, at.v + step.v * by, at.colour + step.colour * by);
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
