/* DXT blocks of texture banks from pixels: which blocks have to change, and their parts as the PSP stores them
 * (spec/mhp.md 4.3). The fitting itself is core/bcfit.c's, with the PSP's steps: ends widen by a plain shift, and two
 * ends that are not in falling order give three steps and black in DXT3 and DXT5 too. */
#include <string.h>

#include "bcfit.h"
#include "tmhpixel.h"

/* Pixels of one block; those beyond the edge of the picture do not count. */
struct pixels { uint8_t rgba[16][4]; bool inside[16]; };

static void take_pixels(const uint8_t *rgba, uint32_t w, uint32_t h, uint32_t x, uint32_t y, struct pixels *p)
{
	memset(p, 0, sizeof *p);
	for (uint32_t i = 0; i < 16; i++) {
		uint32_t px = x + i % 4, py = y + i / 4;

		p->inside[i] = px < w && py < h;
		if (p->inside[i])
			memcpy(p->rgba[i], rgba + ((size_t)py * w + px) * 4, 4);
	}
}

/* Squared error as far as colours are seen; 0 only when nothing has to change. */
static double error_of(uint32_t format, const struct tmh_block *b, const struct pixels *p)
{
	uint8_t shown[16][4];
	double sum = 0;

	tmh_block_colours(format, b, shown);
	for (unsigned i = 0; i < 16; i++) {
		const uint8_t *c = p->rgba[i];
		double seen = (c[3] + 1) / 256.0, off = c[3] - shown[i][3];

		if (!p->inside[i] || (format == TMH_DXT1 && !c[3] && !shown[i][3]))
			continue;
		sum += off * off;
		for (unsigned k = 0; k < 3; k++)
			sum += seen * (c[k] - shown[i][k]) * (c[k] - shown[i][k]);
	}
	return sum;
}

static void fit_colours(uint32_t format, const struct pixels *p, struct tmh_block *b)
{
	struct bc_colours fit;
	float weight[16];
	bool clear[16];

	for (unsigned i = 0; i < 16; i++) {
		float alpha = format == TMH_DXT1 ? 255 : p->rgba[i][3];

		weight[i] = p->inside[i] ? alpha + 1 : 0;
		clear[i] = p->rgba[i][3] < 128;
	}
	bc_fit((const uint8_t (*)[4])p->rgba, weight, format == TMH_DXT1 ? clear : NULL, tmh_block_steps, &fit);
	memcpy(b->end, fit.end, sizeof b->end);
	for (unsigned i = 0; i < 16; i++)
		if (p->inside[i])
			b->pick[i] = fit.pick[i];
}

static void fit_alpha(uint32_t format, const struct pixels *p, struct tmh_block *b)
{
	uint8_t alpha[16];
	struct bc_alpha fit;

	for (unsigned i = 0; i < 16; i++) {
		alpha[i] = p->rgba[i][3];
		if (format == TMH_DXT3 && p->inside[i])
			b->alpha[i] = alpha[i] >= 0xf8 ? 15 : (uint8_t)((alpha[i] + 8) >> 4);
	}
	if (format != TMH_DXT5)
		return;
	bc_fit_alpha(alpha, p->inside, tmh_alpha_steps, &fit);
	memcpy(b->alpha_end, fit.end, sizeof b->alpha_end);
	for (unsigned i = 0; i < 16; i++)
		if (p->inside[i])
			b->alpha[i] = fit.pick[i];
}

static bool put_block(uint32_t format, const struct pixels *p, uint8_t *stored)
{
	struct tmh_block old, b;
	double error;

	tmh_block_get(format, stored, &old);
	error = error_of(format, &old, p);
	if (!(error > 0))
		return false;
	b = old;
	fit_colours(format, p, &b);
	fit_alpha(format, p, &b);
	if (!(error_of(format, &b, p) < error))
		return false;
	tmh_block_put(format, &b, stored);
	return true;
}

size_t tmh_dxt_put(uint32_t format, const uint8_t *rgba, uint32_t w, uint32_t h, uint8_t *stored)
{
	struct pixels p;
	size_t n = 0;

	for (uint32_t y = 0; y < h; y += 4) {
		for (uint32_t x = 0; x < w; x += 4, stored += tmh_block_size(format)) {
			take_pixels(rgba, w, h, x, y, &p);
			n += put_block(format, &p, stored);
		}
	}
	return n;
}
