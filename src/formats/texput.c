/* Pictures of textures, written: the first level, and of the other levels those texels that show something changed.
 * Each is the mean of the area of the level before that it covers; of sizes that are not even, texels at the edges of
 * that area count with the part of them that lies in it. Colours in sRGB are averaged in linear light. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tex.h"

struct level {
	uint32_t w, h;
	uint8_t *texel;                        /* as stored */
	bool *changed;                         /* of each texel */
};

struct put {
	struct object *o;
	const struct tex *t;
	uint32_t i;
	struct arena a;
	bool srgb;
	double linear[256], half[255];         /* of each number, and of the middle between it and the next */
};

/* ---- colour space ---- */

static double to_linear(double v)
{
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static void make_tables(struct put *p)
{
	for (unsigned k = 0; k < 256; k++)
		p->linear[k] = to_linear(k / 255.0);
	for (unsigned k = 0; k < 255; k++)
		p->half[k] = to_linear((k + 0.5) / 255.0);
}

/* The number whose colour is nearest. */
static uint8_t from_linear(const struct put *p, double v)
{
	unsigned low = 0, high = 255;

	while (low < high) {
		unsigned mid = (low + high) / 2;

		if (p->half[mid] <= v)
			low = mid + 1;
		else
			high = mid;
	}
	return (uint8_t)low;
}

/* ---- levels ---- */

/* The texels of a row, or a column, of n that texel x of the same of `of` covers: how many, and how much of each in
 * parts of `of`. */
struct cover { uint32_t first, n, part[4]; };

static struct cover cover(uint32_t x, uint32_t n, uint32_t of)
{
	uint64_t from = (uint64_t)x * n, to = from + n;
	struct cover c = { .first = (uint32_t)(from / of) };

	for (uint64_t at = c.first; at * of < to && c.n < ARRAY_LEN(c.part); at++) {
		uint64_t begin = at * of > from ? at * of : from, end = (at + 1) * of < to ? (at + 1) * of : to;

		c.part[c.n++] = (uint32_t)(end - begin);
	}
	return c;
}

static bool shows_change(const struct level *from, const struct cover *cx, const struct cover *cy)
{
	for (uint32_t y = 0; y < cy->n; y++)
		for (uint32_t x = 0; x < cx->n; x++)
			if (from->changed[(size_t)(cy->first + y) * from->w + cx->first + x])
				return true;
	return false;
}

static uint8_t mean(const struct put *p, const struct level *from, const struct cover *cx, const struct cover *cy,
		    unsigned channel)
{
	bool linear = p->srgb && channel < 3;
	double sum = 0, all = 0;

	for (uint32_t y = 0; y < cy->n; y++) {
		const uint8_t *row = from->texel + (size_t)(cy->first + y) * from->w * p->t->code->bytes;

		for (uint32_t x = 0; x < cx->n; x++) {
			unsigned v = row[(size_t)(cx->first + x) * p->t->code->bytes + channel];
			double part = (double)cx->part[x] * cy->part[y];

			sum += part * (linear ? p->linear[v] : v);
			all += part;
		}
	}
	return linear ? from_linear(p, sum / all) : (uint8_t)(sum / all + 0.5);
}

/* `to` has the stored texels; those that show a change become new ones. */
static void make_level(const struct put *p, const struct level *from, struct level *to)
{
	for (uint32_t y = 0; y < to->h; y++) {
		struct cover cy = cover(y, from->h, to->h);

		for (uint32_t x = 0; x < to->w; x++) {
			struct cover cx = cover(x, from->w, to->w);
			size_t at = (size_t)y * to->w + x;

			to->changed[at] = shows_change(from, &cx, &cy);
			for (unsigned c = 0; c < p->t->code->bytes && to->changed[at]; c++)
				to->texel[at * p->t->code->bytes + c] = mean(p, from, &cx, &cy, c);
		}
	}
}

static uint64_t place_of(const struct put *p, uint32_t level)
{
	return p->t->at[(uint64_t)p->i * p->t->h.mip_count + level];
}

static int read_level(struct put *p, uint32_t number, struct level *l, struct err *e)
{
	size_t n;

	l->w = tex_down(p->t->h.width, number);
	l->h = tex_down(p->t->h.height, number);
	n = (size_t)l->w * l->h;
	l->texel = arena_alloc(&p->a, n, p->t->code->bytes);
	l->changed = arena_alloc(&p->a, n, sizeof *l->changed);
	if (!l->texel || !l->changed)
		return err_nomem(e);
	return src_read(p->o->src, l->texel, n * p->t->code->bytes, place_of(p, number), "surface", e);
}

static int write_level(struct put *p, uint32_t number, const struct level *l, struct err *e)
{
	return object_patch(p->o, 0, place_of(p, number), l->texel, (size_t)l->w * l->h * p->t->code->bytes, "surface",
			    e);
}

/* ---- pictures ---- */

/* How many texels change; red and green only have no place for blue and alpha. */
static size_t take_picture(struct put *p, const struct geo_image *img, struct level *l)
{
	unsigned each = p->t->code->bytes;
	size_t n = (size_t)l->w * l->h, changed = 0, lost = 0;
	uint8_t now[4], shown[4];

	for (size_t k = 0; k < n; k++) {
		tex_texels_put(p->t->code, img->rgba + 4 * k, 1, now);
		tex_texels_get(p->t->code, now, 1, shown);
		lost += memcmp(img->rgba + 4 * k, shown, 4) != 0;
		l->changed[k] = memcmp(l->texel + k * each, now, each) != 0;
		changed += l->changed[k];
		memcpy(l->texel + k * each, now, each);
	}
	if (lost)
		object_say(p->o, "image %u: blue and alpha of %zu texels are not stored", p->i, lost);
	return changed;
}

static int put_levels(struct put *p, const struct geo_image *img, struct err *e)
{
	struct level from = { 0 }, to;
	int rc = read_level(p, 0, &from, e);

	if (rc || !take_picture(p, img, &from))
		return rc;
	rc = write_level(p, 0, &from, e);
	for (uint32_t k = 1; k < p->t->h.mip_count && !rc; k++, from = to) {
		rc = read_level(p, k, &to, e);
		if (rc)
			break;
		make_level(p, &from, &to);
		rc = write_level(p, k, &to, e);
	}
	if (!rc && p->t->h.mip_count > 1)
		object_say(p->o, "image %u: levels 1 to %u follow, averaged%s", p->i, p->t->h.mip_count - 1,
			   p->srgb ? " in linear light" : "");
	return rc;
}

bool tex_can_put(const struct object *o, unsigned part, uint32_t i)
{
	const struct tex *t = o->priv;
	uint64_t first = (uint64_t)i * t->h.mip_count;

	if (part != PART_IMAGE || !object_has(o, part, i) || !tex_plain(t->code))
		return false;
	if (t->h.kind == TEX_VOLUME && t->h.mip_count > 1)
		return false;                  /* the other levels are made of all slices */
	for (uint32_t k = 0; k < t->h.mip_count; k++)
		if (!t->at[first + k])
			return false;
	/* The old and the new picture are in memory at once. */
	return span_ok(LIMIT_DECODED, 1u << 16, (uint64_t)t->h.width * t->h.height, 8);
}

int tex_image_put(struct object *o, uint32_t i, const struct geo_image *img, struct err *e)
{
	const struct tex *t = o->priv;
	struct put p = { .o = o, .t = t, .i = i };
	int rc;

	if (!tex_can_put(o, PART_IMAGE, i))
		return err_set(e, EACCES, "a picture of %s cannot be written; write the DDS",
			       t->code ? tex_code_name(t->h.format) : "an unknown format");
	if (img->w != t->h.width || img->h != t->h.height)
		return err_set(e, EINVAL, "%ux%u needed, got %ux%u", t->h.width, t->h.height, img->w, img->h);
	p.srgb = t->code->srgb == t->code->code;
	if (p.srgb)
		make_tables(&p);
	rc = put_levels(&p, img, e);
	arena_free(&p.a);
	return rc;
}
