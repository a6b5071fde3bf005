/* Pictures with smaller copies of themselves: who draws one small takes a copy of about the right size. */
#include <string.h>

#include "export.h"
#include "raster.h"

/* The mean of some texels; the colour of one counts as much as it can be seen. */
struct mean { uint64_t colour[3], plain[3], alpha, n; };

static void mean_add(struct mean *m, const uint8_t texel[4])
{
	for (unsigned k = 0; k < 3; k++) {
		m->colour[k] += (uint64_t)texel[k] * texel[3];
		m->plain[k] += texel[k];
	}
	m->alpha += texel[3];
	m->n++;
}

static void mean_get(const struct mean *m, uint8_t out[4])
{
	for (unsigned k = 0; k < 3; k++)
		out[k] = (uint8_t)(m->alpha ? (m->colour[k] + m->alpha / 2) / m->alpha :
					      (m->plain[k] + m->n / 2) / m->n);
	out[3] = (uint8_t)((m->alpha + m->n / 2) / m->n);
}

static const uint8_t *texel_of(const struct geo_image *img, size_t i)
{
	static const uint8_t none[4];

	if (!img->indexed)
		return img->rgba + 4 * i;
	return img->indexed[i] < img->ncolours ? img->palette[img->indexed[i]] : none;
}

static bool level_begin(struct texture_level *l, uint32_t w, uint32_t h, struct arena *a)
{
	*l = (struct texture_level){ w ? w : 1, h ? h : 1, NULL };
	l->texel = arena_alloc(a, (size_t)l->w * l->h, sizeof *l->texel);
	return l->texel;
}

/* Each texel the mean of (1 << halvings) squared; what is left over at the right and at the bottom is not there. */
static void shrink_image(struct texture_level *l, const struct geo_image *img, unsigned halvings)
{
	uint32_t step_x = img->w >> halvings ? 1u << halvings : img->w;
	uint32_t step_y = img->h >> halvings ? 1u << halvings : img->h;

	for (uint32_t y = 0; y < l->h; y++)
		for (uint32_t x = 0; x < l->w; x++) {
			struct mean m = { 0 };

			for (uint32_t j = 0; j < step_y; j++)
				for (uint32_t i = 0; i < step_x; i++)
					mean_add(&m, texel_of(img, ((size_t)y * step_y + j) * img->w +
								   (size_t)x * step_x + i));
			mean_get(&m, l->texel[(size_t)y * l->w + x]);
		}
}

static void copy_image(struct texture_level *l, const struct geo_image *img)
{
	size_t n = (size_t)img->w * img->h;

	for (size_t i = 0; img->indexed && i < n; i++)
		memcpy(l->texel[i], texel_of(img, i), 4);
	if (!img->indexed)
		memcpy(l->texel, img->rgba, 4 * n);
}

static void halve(struct texture_level *l, const struct texture_level *from)
{
	const struct geo_image img = { .w = from->w, .h = from->h, .rgba = from->texel[0] };

	shrink_image(l, &img, 1);
}

static uint32_t begin_of(uint32_t i, uint32_t from, uint32_t side)
{
	return (uint32_t)((uint64_t)i * from / side);
}

/* Where a pixel's part of the picture ends, at least one pixel from where it begins. */
static uint32_t end_of(uint32_t i, uint32_t from, uint32_t side)
{
	uint32_t begin = begin_of(i, from, side), end = begin_of(i + 1, from, side);

	return end > begin ? end : begin + 1;
}

void image_fit(const struct geo_image *img, uint32_t side, uint8_t *to, uint32_t width)
{
	for (uint32_t y = 0; y < side; y++)
		for (uint32_t x = 0; x < side; x++) {
			struct mean m = { 0 };

			for (uint32_t j = begin_of(y, img->h, side); j < end_of(y, img->h, side); j++)
				for (uint32_t i = begin_of(x, img->w, side); i < end_of(x, img->w, side); i++)
					mean_add(&m, texel_of(img, (size_t)j * img->w + i));
			mean_get(&m, to + 4 * ((size_t)y * width + x));
		}
}

int texture_make(struct texture *out, const struct geo_image *img, uint32_t most, struct arena *a, struct err *e)
{
	struct texture_level *l = out->level;
	unsigned halvings = 0;

	*out = (struct texture){ .alpha = geo_alpha(img) };
	while (img->w >> halvings > most || img->h >> halvings > most)
		halvings++;
	if (!level_begin(l, img->w >> halvings, img->h >> halvings, a))
		return err_nomem(e);
	if (!img->w || !img->h)
		return 0;
	if (halvings)
		shrink_image(l, img, halvings);
	else
		copy_image(l, img);
	for (out->nlevels = 1; l->w > 1 || l->h > 1; out->nlevels++, l++) {
		if (!level_begin(l + 1, l->w / 2, l->h / 2, a))
			return err_nomem(e);
		halve(l + 1, l);
	}
	return 0;
}
