/* BC7: a block of 16 bytes in one of eight modes.
 *
 *   mode           as many zeros as its number, then a one; eight zeros: reserved, decodes to zeros
 *   partition      which texels belong to which of up to three subsets
 *   rotation       which channel changes places with alpha at the end
 *   selection      1: colours take the second indices and alpha the first
 *   ends           of each channel: both ends of each subset; red, green, blue, then alpha if the mode has it
 *   p bits         lowest bit of all channels of an end, or of both ends of a subset
 *   indices        of each texel: a weight between the ends; at the anchor of each subset without its highest bit
 *   second indices likewise, for alpha
 *
 * All from the lowest bit up. Channels are handled side by side in the four 16-bit lanes of a word; the texels are
 * looked up in steps made for each subset, without a question asked for any of them. */
#include "bc.h"

#include <endian.h>
#include <string.h>

#include "bytes.h"

struct mode {
	uint8_t subsets, partition, rotation, selection;       /* number; bits of the others */
	uint8_t colour, alpha;                 /* bits of a channel, without p bit */
	uint8_t end_bits, subset_bits;         /* p bits: of each end, of each subset */
	uint8_t index, second;                 /* bits of an index */
};

static const struct mode modes[8] = {
	{ 3, 4, 0, 0, 4, 0, 1, 0, 3, 0 },
	{ 2, 6, 0, 0, 6, 0, 0, 1, 3, 0 },
	{ 3, 6, 0, 0, 5, 0, 0, 0, 2, 0 },
	{ 2, 6, 0, 0, 7, 0, 1, 0, 2, 0 },
	{ 1, 0, 2, 1, 5, 6, 0, 0, 2, 3 },
	{ 1, 0, 2, 0, 7, 8, 0, 0, 2, 2 },
	{ 1, 0, 0, 0, 7, 7, 1, 0, 4, 0 },
	{ 2, 6, 0, 0, 5, 5, 1, 0, 2, 0 },
};

/* Of two subsets: a bit for each texel, the first in the lowest. */
static const uint16_t two_subsets[64] = {
	0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80,
	0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000,
	0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce,
	0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c,
	0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a,
	0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660,
	0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6, 0x639c,
	0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
};

/* Of three: two bits. */
static const uint32_t three_subsets[64] = {
	0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050,
	0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250,
	0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500,
	0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200,
	0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
	0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600,
	0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
	0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254,
};

/* Texels of subsets behind the first that are anchors; that of the first subset is texel 0. */
static const uint8_t anchor_of_two[64] = {
	15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
	15,  2,  8,  2,  2,  8,  8, 15,  2,  8,  2,  2,  8,  8,  2,  2,
	15, 15,  6,  8,  2,  8, 15, 15,  2,  8,  2,  2,  2, 15, 15,  6,
	 6,  2,  6,  8, 15, 15,  2,  2, 15, 15, 15, 15, 15,  2,  2, 15,
};
static const uint8_t anchors_of_three[2][64] = {
	{
		 3,  3, 15, 15,  8,  3, 15, 15,  8,  8,  6,  6,  6,  5,  3,  3,
		 3,  3,  8, 15,  3,  3,  6, 10,  5,  8,  8,  6,  8,  5, 15, 15,
		 8, 15,  3,  5,  6, 10,  8, 15, 15,  3, 15,  5, 15, 15, 15, 15,
		 3, 15,  5,  5,  5,  8,  5, 10,  5, 10,  8, 13, 15, 12,  3,  3,
	}, {
		15,  8,  8,  3, 15, 15,  3,  8, 15, 15, 15, 15, 15, 15, 15,  8,
		15,  8, 15,  3, 15,  8, 15,  8,  3, 15,  6, 10, 15, 15, 10,  8,
		15,  3, 15, 10, 10,  8,  9, 10,  6, 15,  8, 15,  3,  6,  6,  8,
		15,  3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,  3, 15, 15,  8,
	}
};

/* Of an index of so many bits: 64ths of the second end. */
static const uint8_t weights[5][16] = {
	[2] = { 0, 21, 43, 64 },
	[3] = { 0, 9, 18, 27, 37, 46, 55, 64 },
	[4] = { 0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64 },
};

#define LANES(v) ((v) * UINT64_C(0x0001000100010001))
#define ALPHA_LANE (UINT64_C(0xffff) << 48)

/* ---- bits ---- */

struct bits { uint64_t low, high; };

/* n < 64 */
static inline uint64_t take(struct bits *b, unsigned n)
{
	uint64_t v = b->low & ((UINT64_C(1) << n) - 1);

	b->low = b->low >> n | b->high << 1 << (63 - n);
	b->high >>= n;
	return v;
}

/* Indices of all texels, with the bits that anchors lack put in. anchor: n texels, ascending. */
static uint64_t take_indices(struct bits *b, unsigned bits, const uint8_t *anchor, unsigned n)
{
	uint64_t v = take(b, 16 * bits - n);

	for (unsigned i = 0; i < n; i++) {
		uint64_t below = (UINT64_C(1) << (anchor[i] * bits + bits - 1)) - 1;

		v = (v & below) | (v & ~below) << 1;
	}
	return v;
}

/* ---- subsets ---- */

/* Two bits for each texel, and the anchors. */
static uint32_t find_subsets(unsigned n, unsigned partition, uint8_t anchor[3])
{
	uint8_t a, b;
	uint32_t v;

	anchor[0] = 0;
	if (n == 1)
		return 0;
	if (n == 2) {
		anchor[1] = anchor_of_two[partition];
		v = two_subsets[partition];
		v = (v | v << 8) & 0x00ff00ff;
		v = (v | v << 4) & 0x0f0f0f0f;
		v = (v | v << 2) & 0x33333333;
		return (v | v << 1) & 0x55555555;
	}
	a = anchors_of_three[0][partition];
	b = anchors_of_three[1][partition];
	anchor[1] = a < b ? a : b;
	anchor[2] = a < b ? b : a;
	return three_subsets[partition];
}

/* ---- ends ---- */

/* Channels of so many bits as 8, by repeating their high bits. */
static inline uint64_t widen(uint64_t v, unsigned bits)
{
	return (v << (8 - bits) | v >> (2 * bits - 8)) & LANES(UINT64_C(0xff));
}

static void take_ends(struct bits *b, const struct mode *m, uint64_t end[6])
{
	unsigned n = 2u * m->subsets, p = m->end_bits | m->subset_bits;

	memset(end, 0, 6 * sizeof *end);
	for (unsigned c = 0; c < 3; c++)
		for (unsigned i = 0; i < n; i++)
			end[i] |= take(b, m->colour) << 16 * c;
	for (unsigned i = 0; i < n && m->alpha; i++)
		end[i] |= take(b, m->alpha) << 48;
	for (unsigned i = 0; i < n && m->end_bits; i++)
		end[i] = end[i] << 1 | LANES(take(b, 1));
	for (unsigned i = 0; i < n && m->subset_bits; i += 2) {
		uint64_t both = LANES(take(b, 1));

		end[i] = end[i] << 1 | both;
		end[i + 1] = end[i + 1] << 1 | both;
	}
	for (unsigned i = 0; i < n; i++) {
		uint64_t colour = widen(end[i] & ~ALPHA_LANE, m->colour + p);

		end[i] = colour | (m->alpha ? widen(end[i] & ALPHA_LANE, m->alpha + p) : UINT64_C(255) << 48);
	}
}

static uint64_t rotate(uint64_t v, unsigned rotation)
{
	unsigned to = 16 * (rotation - 1);
	uint64_t channel = v >> to & 0xffff, alpha = v >> 48;

	return (v & ~(ALPHA_LANE | UINT64_C(0xffff) << to)) | channel << 48 | alpha << to;
}

/* ---- texels ---- */

/* What each index gives, as four bytes in memory; channels outside the lanes of `mask` are 0. */
static void make_steps(const uint64_t end[2], unsigned bits, uint64_t mask, uint32_t *step)
{
	uint64_t from = end[0] & mask, to = end[1] & mask;

	for (unsigned i = 0; i < 1u << bits; i++) {
		unsigned w = weights[bits][i];
		uint64_t v = (from * (64 - w) + to * w + LANES(UINT64_C(32))) >> 6 & LANES(UINT64_C(0xff));

		v = (v | v >> 8) & UINT64_C(0x0000ffff0000ffff);
		step[i] = htole32((uint32_t)(v | v >> 16));
	}
}

static void one_index(struct bits *b, const struct mode *m, const uint64_t end[6], uint32_t subsets,
		      const uint8_t anchor[3], uint32_t out[16])
{
	uint64_t index = take_indices(b, m->index, anchor, m->subsets), most = (1u << m->index) - 1;
	uint32_t step[3][16];

	for (unsigned i = 0; i < m->subsets; i++)
		make_steps(end + 2 * i, m->index, UINT64_MAX, step[i]);
	for (unsigned i = 0; i < 16; i++, index >>= m->index, subsets >>= 2)
		out[i] = step[subsets & 3][index & most];
}

static void two_indices(struct bits *b, const struct mode *m, const uint64_t end[6], unsigned rotation, bool swapped,
			uint32_t out[16])
{
	static const uint8_t anchor[1] = { 0 };
	uint64_t first = take_indices(b, m->index, anchor, 1), second = take_indices(b, m->second, anchor, 1);
	uint64_t alone = rotation ? UINT64_C(0xffff) << 16 * (rotation - 1) : ALPHA_LANE;      /* lane of alpha */
	uint64_t ends[2] = { end[0], end[1] };
	uint32_t step[16], step_of_second[16];

	for (unsigned i = 0; i < 2 && rotation; i++)
		ends[i] = rotate(ends[i], rotation);
	make_steps(ends, m->index, swapped ? alone : ~alone, step);
	make_steps(ends, m->second, swapped ? ~alone : alone, step_of_second);
	for (unsigned i = 0; i < 16; i++, first >>= m->index, second >>= m->second)
		out[i] = step[first & ((1u << m->index) - 1)] | step_of_second[second & ((1u << m->second) - 1)];
}

void bc7_block(const uint8_t *block, uint8_t out[16][4])
{
	struct bits b = { le_u32(block) | (uint64_t)le_u32(block + 4) << 32,
			  le_u32(block + 8) | (uint64_t)le_u32(block + 12) << 32 };
	unsigned number = 0, partition, rotation;
	const struct mode *m;
	uint32_t texel[16], subsets;
	uint8_t anchor[3];
	uint64_t end[6];
	bool swapped;

	while (number < 8 && !(block[0] >> number & 1))
		number++;
	if (number == 8) {
		memset(out, 0, 64);
		return;
	}
	m = &modes[number];
	take(&b, number + 1);
	partition = (unsigned)take(&b, m->partition);
	rotation = (unsigned)take(&b, m->rotation);
	swapped = take(&b, m->selection);
	take_ends(&b, m, end);
	subsets = find_subsets(m->subsets, partition, anchor);
	if (m->second)
		two_indices(&b, m, end, rotation, swapped, texel);
	else
		one_index(&b, m, end, subsets, anchor, texel);
	memcpy(out, texel, 64);
}
