#include "tmhpixel.h"

#include <string.h>

#include "base.h"
#include "bytes.h"
#include "ge.h"

static const struct { const char *name; uint8_t bits; } formats_by_number[TMH_FORMATS] = {
	[TMH_5650] = { "rgb5650", 16 }, [TMH_5551] = { "rgba5551", 16 },
	[TMH_4444] = { "rgba4444", 16 }, [TMH_8888] = { "rgba8888", 32 },
	[TMH_CLUT4] = { "clut4", 4 }, [TMH_CLUT8] = { "clut8", 8 },
	[TMH_CLUT16] = { "clut16", 16 }, [TMH_CLUT32] = { "clut32", 32 },
	[TMH_DXT1] = { "dxt1", 4 }, [TMH_DXT3] = { "dxt3", 8 }, [TMH_DXT5] = { "dxt5", 8 },
};

const char *tmh_format_name(uint32_t format)
{
	return format < TMH_FORMATS ? formats_by_number[format].name : NULL;
}

unsigned tmh_colour_size(uint32_t format)
{
	return format == TMH_8888 ? 4 : 2;
}

unsigned tmh_block_size(uint32_t format)
{
	return format == TMH_DXT1 ? 8 : 16;
}

uint64_t tmh_least(uint32_t format, uint32_t w, uint32_t h)
{
	if (tmh_is_dxt(format))
		return ((uint64_t)w + 3) / 4 * (((uint64_t)h + 3) / 4) * tmh_block_size(format);
	return ((uint64_t)w * formats_by_number[format].bits + 7) / 8 * h;
}

/* ---- rows ----
 *
 * Swizzled: blocks of 16 bytes by 8 rows, left to right, then down; the 8 rows of a block follow each other. */

struct tmh_rows tmh_rows(uint32_t format, uint32_t w, uint32_t h, size_t n)
{
	uint32_t bits = w * formats_by_number[format].bits;
	struct tmh_rows r = { .pitch = (bits + 7) / 8, .h = h, .swizzled = !tmh_is_dxt(format) && bits % 128 == 0 };

	/* Sources differ about rows that are shorter than the GE's least pitch; the stored size tells. */
	if (r.pitch < 16 && n / 16 >= h)
		r.pitch = 16;
	return r;
}

static size_t swizzled_at(uint32_t pitch, uint32_t x, uint32_t y)
{
	return (size_t)(y / 8) * pitch * 8 + (size_t)(x / 16) * 128 + y % 8 * 16;
}

/* How many of the 16 bytes at `at` are stored. */
static size_t stored_of_16(size_t at, size_t n)
{
	return at >= n ? 0 : n - at < 16 ? n - at : 16;
}

void tmh_rows_get(const struct tmh_rows *r, const uint8_t *stored, size_t n, uint8_t *rows)
{
	size_t all = (size_t)r->pitch * r->h;

	if (!r->swizzled) {
		memcpy(rows, stored, all);
		return;
	}
	for (uint32_t y = 0; y < r->h; y++) {
		for (uint32_t x = 0; x < r->pitch; x += 16, rows += 16) {
			size_t at = swizzled_at(r->pitch, x, y), have = stored_of_16(at, n);

			if (have == 16) {
				memcpy(rows, stored + at, 16);
				continue;
			}
			memset(rows, 0, 16);
			if (have)
				memcpy(rows, stored + at, have);
		}
	}
}

void tmh_rows_put(const struct tmh_rows *r, const uint8_t *rows, uint8_t *stored, size_t n)
{
	if (!r->swizzled) {
		memcpy(stored, rows, (size_t)r->pitch * r->h);
		return;
	}
	for (uint32_t y = 0; y < r->h; y++) {
		for (uint32_t x = 0; x < r->pitch; x += 16, rows += 16) {
			size_t at = swizzled_at(r->pitch, x, y), have = stored_of_16(at, n);

			if (have)
				memcpy(stored + at, rows, have);
		}
	}
}

/* ---- palette numbers ---- */

void tmh_indices_get(uint32_t format, const struct tmh_rows *r, uint32_t w, const uint8_t *rows, uint8_t *out)
{
	for (uint32_t y = 0; y < r->h; y++, rows += r->pitch, out += w) {
		if (format == TMH_CLUT8)
			memcpy(out, rows, w);
		for (uint32_t x = 0; format == TMH_CLUT4 && x < w; x++)
			out[x] = x & 1 ? rows[x / 2] >> 4 : rows[x / 2] & 15;
	}
}

void tmh_indices_put(uint32_t format, const struct tmh_rows *r, uint32_t w, const uint8_t *in, uint8_t *rows)
{
	for (uint32_t y = 0; y < r->h; y++, rows += r->pitch, in += w) {
		if (format == TMH_CLUT8)
			memcpy(rows, in, w);
		for (uint32_t x = 0; format == TMH_CLUT4 && x < w; x++)
			tmh_index_put(format, rows, x, in[x]);
	}
}

uint32_t tmh_index(uint32_t format, const uint8_t *row, uint32_t x)
{
	switch (format) {
	case TMH_CLUT4:
		return x & 1 ? row[x / 2] >> 4 : row[x / 2] & 15;
	case TMH_CLUT8:
		return row[x];
	case TMH_CLUT16:
		return le_u16(row + 2 * (size_t)x);
	default:
		return le_u32(row + 4 * (size_t)x);
	}
}

void tmh_index_put(uint32_t format, uint8_t *row, uint32_t x, uint32_t v)
{
	switch (format) {
	case TMH_CLUT4:
		row[x / 2] = (uint8_t)(x & 1 ? (row[x / 2] & 15) | v << 4 : (row[x / 2] & 0xf0) | (v & 15));
		break;
	case TMH_CLUT8:
		row[x] = (uint8_t)v;
		break;
	case TMH_CLUT16:
		put_le16(row + 2 * (size_t)x, (uint16_t)v);
		break;
	default:
		put_le32(row + 4 * (size_t)x, v);
	}
}

/* ---- colours ---- */

void tmh_colours_get(uint32_t format, const uint8_t *stored, size_t n, uint8_t (*out)[4])
{
	if (format == TMH_8888) {
		memcpy(out, stored, n * 4);
		return;
	}
	for (size_t i = 0; i < n; i++)
		ge_colour_get(format, le_u16(stored + 2 * i), out[i]);
}

void tmh_colours_put(uint32_t format, const uint8_t (*in)[4], size_t n, uint8_t *stored)
{
	if (format == TMH_8888) {
		memcpy(stored, in, n * 4);
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_le16(stored + 2 * i, (uint16_t)ge_colour_put(format, in[i]));
}

/* ---- DXT ----
 *
 * The PSP stores the parts of a block in another order than DDS files do: index bytes, then the two end colours; the
 * alpha part comes last (spec 4.3). */

void tmh_block_get(uint32_t format, const uint8_t *stored, struct tmh_block *b)
{
	uint64_t bits;

	memset(b, 0, sizeof *b);
	for (unsigned i = 0; i < 16; i++)
		b->pick[i] = stored[i / 4] >> i % 4 * 2 & 3;
	b->end[0] = le_u16(stored + 4);
	b->end[1] = le_u16(stored + 6);
	if (format == TMH_DXT3)
		for (unsigned i = 0; i < 16; i++)
			b->alpha[i] = stored[8 + i / 2] >> i % 2 * 4 & 15;
	if (format == TMH_DXT5) {
		bits = le_u32(stored + 8) | (uint64_t)le_u16(stored + 12) << 32;
		for (unsigned i = 0; i < 16; i++)
			b->alpha[i] = bits >> 3 * i & 7;
		b->alpha_end[0] = stored[14];
		b->alpha_end[1] = stored[15];
	}
}

void tmh_block_put(uint32_t format, const struct tmh_block *b, uint8_t *stored)
{
	uint64_t bits = 0;

	memset(stored, 0, tmh_block_size(format));
	for (unsigned i = 0; i < 16; i++)
		stored[i / 4] |= (uint8_t)(b->pick[i] << i % 4 * 2);
	put_le16(stored + 4, b->end[0]);
	put_le16(stored + 6, b->end[1]);
	if (format == TMH_DXT3)
		for (unsigned i = 0; i < 16; i++)
			stored[8 + i / 2] |= (uint8_t)(b->alpha[i] << i % 2 * 4);
	if (format == TMH_DXT5) {
		for (unsigned i = 0; i < 16; i++)
			bits |= (uint64_t)b->alpha[i] << 3 * i;
		put_le32(stored + 8, (uint32_t)bits);
		put_le16(stored + 12, (uint16_t)(bits >> 32));
		stored[14] = b->alpha_end[0];
		stored[15] = b->alpha_end[1];
	}
}

/* The ends widen by a plain shift, unlike the colours of format 0, and have red on the other side. */
static void end_colour(unsigned v, uint8_t c[4])
{
	c[0] = (uint8_t)(v >> 11 << 3);
	c[1] = (uint8_t)((v >> 5 & 63) << 2);
	c[2] = (uint8_t)((v & 31) << 3);
	c[3] = 255;
}

void tmh_alpha_steps(const uint8_t end[2], uint8_t step[8])
{
	unsigned n = end[0] > end[1] ? 7 : 5;

	step[0] = end[0];
	step[1] = end[1];
	for (unsigned k = 1; k < n; k++)
		step[k + 1] = (uint8_t)(((n - k) * end[0] + k * end[1]) / n);
	if (n == 5) {
		step[6] = 0;
		step[7] = 255;
	}
}

void tmh_block_steps(const uint16_t end[2], uint8_t step[4][4])
{
	bool four = end[0] > end[1];

	end_colour(end[0], step[0]);
	end_colour(end[1], step[1]);
	for (unsigned i = 0; i < 3; i++) {
		unsigned p = step[0][i], q = step[1][i];

		step[2][i] = (uint8_t)(four ? (2 * p + q) / 3 : (p + q) / 2);
		step[3][i] = (uint8_t)(four ? (p + 2 * q) / 3 : 0);
	}
	step[2][3] = 255;
	step[3][3] = four ? 255 : 0;
}

void tmh_block_colours(uint32_t format, const struct tmh_block *b, uint8_t out[16][4])
{
	uint8_t c[4][4], step[8];

	tmh_block_steps(b->end, c);
	tmh_alpha_steps(b->alpha_end, step);
	for (unsigned i = 0; i < 16; i++) {
		memcpy(out[i], c[b->pick[i]], 4);
		if (format == TMH_DXT3)
			out[i][3] = (uint8_t)(b->alpha[i] << 4);
		else if (format == TMH_DXT5)
			out[i][3] = step[b->alpha[i]];
	}
}

void tmh_dxt_get(uint32_t format, const uint8_t *stored, uint32_t w, uint32_t h, uint8_t *rgba)
{
	struct tmh_block block;
	uint8_t colours[16][4];

	for (uint32_t y = 0; y < h; y += 4) {
		for (uint32_t x = 0; x < w; x += 4, stored += tmh_block_size(format)) {
			size_t columns = w - x < 4 ? w - x : 4;

			tmh_block_get(format, stored, &block);
			tmh_block_colours(format, &block, colours);
			for (uint32_t row = 0; row < 4 && y + row < h; row++)
				memcpy(rgba + ((size_t)(y + row) * w + x) * 4, colours[4 * row], columns * 4);
		}
	}
}
