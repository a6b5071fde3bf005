/* BC1 to BC5.
 *
 *   colours (BC1; second half of BC2 and BC3)   two ends of 5, 6 and 5 bits, red in the high ones; 16 picks of 2 bits
 *   alpha of BC2                                16 values of 4 bits
 *   a channel (BC4; first half of BC3; BC5 has two)   two ends of 8 bits; 16 picks of 3 bits
 *
 * Picks begin in the lowest bits with the top left texel. Ends of 5 and 6 bits widen by repeating their high bits.
 * The definition gives steps between ends as fractions; they are rounded to the nearest number of 8 bits, but for the
 * middle of two colours, where half a unit is dropped. */
#include "bc.h"

#include <string.h>

#include "bytes.h"

/* ---- colours ---- */

static void widen(unsigned v, uint8_t c[4])
{
	unsigned r = v >> 11, g = v >> 5 & 63, b = v & 31;

	c[0] = (uint8_t)(r << 3 | r >> 2);
	c[1] = (uint8_t)(g << 2 | g >> 4);
	c[2] = (uint8_t)(b << 3 | b >> 2);
	c[3] = 255;
}

static void four_steps(uint8_t step[4][4])
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned p = step[0][i], q = step[1][i];

		step[2][i] = (uint8_t)((2 * p + q + 1) / 3);
		step[3][i] = (uint8_t)((p + 2 * q + 1) / 3);
	}
	step[2][3] = step[3][3] = 255;
}

/* One between the ends, and transparent black. */
static void three_steps(uint8_t step[4][4])
{
	for (unsigned i = 0; i < 3; i++)
		step[2][i] = (uint8_t)((step[0][i] + step[1][i]) / 2);
	step[2][3] = 255;
	memset(step[3], 0, 4);
}

/* Only BC1 has three steps, when its ends are not in falling order. */
static void colours(const uint8_t *p, bool four, uint8_t out[16][4])
{
	unsigned end[2] = { le_u16(p), le_u16(p + 2) };
	uint32_t picks = le_u32(p + 4);
	uint8_t step[4][4];

	widen(end[0], step[0]);
	widen(end[1], step[1]);
	if (four || end[0] > end[1])
		four_steps(step);
	else
		three_steps(step);
	for (unsigned i = 0; i < 16; i++, picks >>= 2)
		memcpy(out[i], step[picks & 3], 4);
}

/* ---- channels ---- */

static void channel(const uint8_t *p, unsigned c, uint8_t out[16][4])
{
	uint64_t picks = le_u16(p + 2) | (uint64_t)le_u32(p + 4) << 16;
	unsigned n = p[0] > p[1] ? 7 : 5;
	uint8_t step[8] = { p[0], p[1], [6] = 0, [7] = 255 };

	for (unsigned k = 1; k < n; k++)
		step[k + 1] = (uint8_t)(((n - k) * p[0] + k * p[1] + n / 2) / n);
	for (unsigned i = 0; i < 16; i++, picks >>= 3)
		out[i][c] = step[picks & 7];
}

static void four_bit_alpha(const uint8_t *p, uint8_t out[16][4])
{
	for (unsigned i = 0; i < 16; i++)
		out[i][3] = (uint8_t)((p[i / 2] >> i % 2 * 4 & 15) * 17);
}

static void opaque_black(uint8_t out[16][4])
{
	for (unsigned i = 0; i < 16; i++)
		memcpy(out[i], (const uint8_t[4]){ 0, 0, 0, 255 }, 4);
}

/* ---- blocks ---- */

static void bc1_block(const uint8_t *p, uint8_t out[16][4])
{
	colours(p, false, out);
}

static void bc2_block(const uint8_t *p, uint8_t out[16][4])
{
	colours(p + 8, true, out);
	four_bit_alpha(p, out);
}

static void bc3_block(const uint8_t *p, uint8_t out[16][4])
{
	colours(p + 8, true, out);
	channel(p, 3, out);
}

static void bc4_block(const uint8_t *p, uint8_t out[16][4])
{
	opaque_black(out);
	channel(p, 0, out);
}

static void bc5_block(const uint8_t *p, uint8_t out[16][4])
{
	opaque_black(out);
	channel(p, 0, out);
	channel(p + 8, 1, out);
}

static const struct { void (*block)(const uint8_t *, uint8_t out[16][4]); uint8_t size; } by_format[] = {
	[BC1] = { bc1_block, 8 }, [BC2] = { bc2_block, 16 }, [BC3] = { bc3_block, 16 },
	[BC4] = { bc4_block, 8 }, [BC5] = { bc5_block, 16 }, [BC7] = { bc7_block, 16 },
};

unsigned bc_block_size(enum bc_format f)
{
	return by_format[f].size;
}

void bc_block(enum bc_format f, const uint8_t *block, uint8_t out[16][4])
{
	by_format[f].block(block, out);
}

void bc_image(enum bc_format f, const uint8_t *blocks, uint32_t w, uint32_t h, uint8_t *rgba)
{
	size_t pitch = (size_t)w * 4;
	uint8_t out[16][4];

	for (uint32_t y = 0; y < h; y += 4, rgba += 4 * pitch) {
		uint32_t rows = h - y < 4 ? h - y : 4;

		for (uint32_t x = 0; x < w; x += 4, blocks += by_format[f].size) {
			uint32_t columns = w - x < 4 ? w - x : 4;
			uint8_t *to = rgba + (size_t)x * 4;

			by_format[f].block(blocks, out);
			for (uint32_t k = 0; k < rows; k++, to += pitch)
				memcpy(to, out[4 * k], columns == 4 ? 16 : columns * 4);
		}
	}
}
