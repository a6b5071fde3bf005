/* Block compression: blocks whose texels were worked out by hand from the definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bc.h"

static void texel_is(const uint8_t got[4], unsigned r, unsigned g, unsigned b, unsigned a)
{
	const uint8_t want[4] = { (uint8_t)r, (uint8_t)g, (uint8_t)b, (uint8_t)a };

	assert_memory_equal(got, want, 4);
}

/* ---- BC1 to BC5 ---- */

/* Red and blue, picks 0 to 3 in the first row, all 1 in the second. */
static const uint8_t falling[8] = { 0x00, 0xf8, 0x1f, 0x00, 0xe4, 0x55, 0, 0 };
static const uint8_t rising[8] = { 0x1f, 0x00, 0x00, 0xf8, 0xe4, 0x55, 0, 0 };

static void test_bc1(void **state)
{
	/* 5, 6 and 5 bits of 17, 2, 3 and of 3, 63, 0 */
	static const uint8_t narrow[8] = { 0x43, 0x88, 0xe0, 0x1f, 0xe4, 0, 0, 0 };
	static const uint8_t equal[8] = { 0x00, 0xf8, 0x00, 0xf8, 0xe4, 0, 0, 0 };
	uint8_t out[16][4];

	(void)state;
	bc_block(BC1, falling, out);
	texel_is(out[0], 255, 0, 0, 255);
	texel_is(out[1], 0, 0, 255, 255);
	texel_is(out[2], 170, 0, 85, 255);
	texel_is(out[3], 85, 0, 170, 255);
	texel_is(out[7], 0, 0, 255, 255);
	texel_is(out[8], 255, 0, 0, 255);
	bc_block(BC1, rising, out);
	texel_is(out[0], 0, 0, 255, 255);
	texel_is(out[1], 255, 0, 0, 255);
	texel_is(out[2], 127, 0, 127, 255);
	texel_is(out[3], 0, 0, 0, 0);
	bc_block(BC1, narrow, out);
	texel_is(out[0], 140, 8, 24, 255);
	texel_is(out[1], 24, 255, 0, 255);
	texel_is(out[2], 101, 90, 16, 255);    /* 304 / 3, 271 / 3, 48 / 3 */
	texel_is(out[3], 63, 173, 8, 255);     /* 188 / 3, 518 / 3, 24 / 3 */
	bc_block(BC1, equal, out);
	texel_is(out[2], 255, 0, 0, 255);
	texel_is(out[3], 0, 0, 0, 0);
}

/* Colours have four steps in any order of the ends. */
static void test_bc2(void **state)
{
	uint8_t block[16] = { 0x10, 0x32, 0, 0, 0, 0, 0, 0xf8 }, out[16][4];

	(void)state;
	memcpy(block + 8, rising, 8);
	bc_block(BC2, block, out);
	texel_is(out[0], 0, 0, 255, 0);
	texel_is(out[1], 255, 0, 0, 17);
	texel_is(out[2], 85, 0, 170, 34);
	texel_is(out[3], 170, 0, 85, 51);
	texel_is(out[14], 0, 0, 255, 136);
	texel_is(out[15], 0, 0, 255, 255);
}

/* Picks 0 to 7, then 7 to 0. */
#define PICKS 0x88, 0xc6, 0xfa, 0x77, 0x39, 0x05

static void test_bc3(void **state)
{
	uint8_t block[16] = { 100, 30, PICKS }, out[16][4];
	static const uint8_t seven[8] = { 100, 30, 90, 80, 70, 60, 50, 40 };
	static const uint8_t five[8] = { 30, 101, 44, 58, 73, 87, 0, 255 };

	(void)state;
	memcpy(block + 8, rising, 8);
	bc_block(BC3, block, out);
	texel_is(out[2], 85, 0, 170, 90);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i][3], seven[i < 8 ? i : 15 - i]);
	block[0] = 30;
	block[1] = 101;
	bc_block(BC3, block, out);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(out[i][3], five[i < 8 ? i : 15 - i]);
	block[1] = 30;                         /* equal ends count as rising */
	bc_block(BC3, block, out);
	assert_int_equal(out[6][3], 0);
	assert_int_equal(out[7][3], 255);
}

static void test_bc4_bc5(void **state)
{
	/* 255, 0: 7ths of 255 are 218.6, 182.1, 145.7, 109.3, 72.9, 36.4 */
	static const uint8_t block[16] = { 255, 0, PICKS, 0, 255, PICKS };
	static const uint8_t red[8] = { 255, 0, 219, 182, 146, 109, 73, 36 };
	static const uint8_t green[8] = { 0, 255, 51, 102, 153, 204, 0, 255 };
	uint8_t out[16][4];

	(void)state;
	bc_block(BC4, block, out);
	for (unsigned i = 0; i < 16; i++)
		texel_is(out[i], red[i < 8 ? i : 15 - i], 0, 0, 255);
	bc_block(BC5, block, out);
	for (unsigned i = 0; i < 16; i++)
		texel_is(out[i], red[i < 8 ? i : 15 - i], green[i < 8 ? i : 15 - i], 0, 255);
}

/* ---- BC7 ---- */

struct writer { uint8_t p[16]; unsigned at; };

static void put(struct writer *w, unsigned v, unsigned bits)
{
	for (unsigned i = 0; i < bits; i++, w->at++)
		w->p[w->at / 8] |= (uint8_t)((v >> i & 1) << w->at % 8);
}

static void put_all(struct writer *w, unsigned bits, unsigned n, const uint8_t *v)
{
	for (unsigned i = 0; i < n; i++)
		put(w, v[i], bits);
}
#define PUT(w, bits, ...) put_all(w, bits, sizeof((const uint8_t[]){ __VA_ARGS__ }), (const uint8_t[]){ __VA_ARGS__ })

/* Indices of 16 texels; those that are anchors, a bit each, have one bit less. */
static void put_indices(struct writer *w, unsigned bits, unsigned anchors, const uint8_t v[16])
{
	for (unsigned i = 0; i < 16; i++)
		put(w, v[i], bits - (anchors >> i & 1));
}

static void decode(const struct writer *w, uint8_t out[16][4])
{
	assert_int_equal(w->at, 128);
	bc_block(BC7, w->p, out);
}

static void test_mode_0(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 1, 1);
	put(&w, 11, 4);                        /* the columns are subsets 0, 0, 1, 2 */
	PUT(&w, 4, 0, 15, 0, 0, 15, 15);
	PUT(&w, 4, 0, 15, 15, 0, 0, 0);
	PUT(&w, 4, 0, 15, 0, 0, 0, 15);
	PUT(&w, 1, 0, 1, 0, 0, 1, 0);
	put_indices(&w, 3, 1 | 1 << 6 | 1 << 15, (const uint8_t[16]){ 2, [5] = 7, 3, [10] = 7, [15] = 1 });
	decode(&w, out);
	texel_is(out[0], 72, 72, 72, 255);
	texel_is(out[1], 0, 0, 0, 255);
	texel_is(out[3], 255, 8, 8, 255);
	texel_is(out[5], 255, 255, 255, 255);
	texel_is(out[6], 0, 143, 0, 255);
	texel_is(out[10], 0, 0, 0, 255);
	texel_is(out[14], 0, 247, 0, 255);
	texel_is(out[15], 254, 7, 42, 255);
}

static void test_mode_1(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 2, 2);
	put(&w, 13, 6);                        /* two rows each */
	PUT(&w, 6, 0, 63, 32, 0);
	PUT(&w, 6, 0, 63, 0, 32);
	PUT(&w, 6, 0, 63, 16, 63);
	PUT(&w, 1, 1, 0);
	put_indices(&w, 3, 1 | 1 << 15, (const uint8_t[16]){ 3, 7, [7] = 1, [9] = 7, [15] = 2 });
	decode(&w, out);
	texel_is(out[0], 109, 109, 109, 255);
	texel_is(out[1], 255, 255, 255, 255);
	texel_is(out[2], 2, 2, 2, 255);
	texel_is(out[7], 38, 38, 38, 255);
	texel_is(out[8], 129, 0, 64, 255);
	texel_is(out[9], 0, 129, 253, 255);
	texel_is(out[15], 93, 36, 117, 255);
}

static void test_mode_2(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 4, 3);
	put(&w, 63, 6);                        /* 0111, 2011, 2201, 2220 */
	PUT(&w, 5, 31, 0, 0, 31, 10, 20);
	PUT(&w, 5, 0, 0, 0, 0, 0, 0);
	PUT(&w, 5, 31, 31, 31, 31, 31, 31);
	put_indices(&w, 2, 1 | 1 << 3 | 1 << 8, (const uint8_t[16]){ 1, [3] = 1, [12] = 2, [15] = 3 });
	decode(&w, out);
	texel_is(out[0], 171, 0, 255, 255);
	texel_is(out[1], 0, 0, 255, 255);
	texel_is(out[3], 84, 0, 255, 255);
	texel_is(out[5], 255, 0, 255, 255);
	texel_is(out[8], 82, 0, 255, 255);
	texel_is(out[12], 138, 0, 255, 255);
	texel_is(out[15], 0, 0, 255, 255);
}

static void test_mode_3(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 8, 4);
	put(&w, 17, 6);                        /* texels 1, 2, 3 and 7 are subset 1 */
	PUT(&w, 7, 0, 127, 64, 0);
	PUT(&w, 7, 0, 0, 0, 0);
	PUT(&w, 7, 127, 127, 127, 127);
	PUT(&w, 1, 1, 1, 0, 1);
	put_indices(&w, 2, 1 | 1 << 2, (const uint8_t[16]){ 1, 2, 1, [15] = 3 });
	decode(&w, out);
	texel_is(out[0], 84, 1, 255, 255);
	texel_is(out[1], 43, 1, 255, 255);
	texel_is(out[2], 86, 0, 254, 255);
	texel_is(out[3], 128, 0, 254, 255);
	texel_is(out[4], 1, 1, 255, 255);
	texel_is(out[15], 255, 1, 255, 255);
}

static void test_mode_4(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 16, 5);
	put(&w, 3, 2);                         /* blue and alpha change places */
	put(&w, 1, 1);                         /* colours by the indices of 3 bits */
	PUT(&w, 5, 0, 31);
	PUT(&w, 5, 16, 16);
	PUT(&w, 5, 31, 0);
	PUT(&w, 6, 63, 0);
	put_indices(&w, 2, 1, (const uint8_t[16]){ 1, [15] = 3 });
	put_indices(&w, 3, 1, (const uint8_t[16]){ 2, [15] = 7 });
	decode(&w, out);
	texel_is(out[0], 72, 132, 171, 183);
	texel_is(out[1], 0, 132, 255, 255);
	texel_is(out[15], 255, 132, 0, 0);

	w = (struct writer){ .at = 0 };        /* nothing changes places, colours by the indices of 2 bits */
	put(&w, 16, 5);
	put(&w, 0, 3);
	PUT(&w, 5, 0, 31);
	PUT(&w, 5, 16, 16);
	PUT(&w, 5, 31, 0);
	PUT(&w, 6, 63, 0);
	put_indices(&w, 2, 1, (const uint8_t[16]){ 1, [15] = 3 });
	put_indices(&w, 3, 1, (const uint8_t[16]){ 2, [15] = 7 });
	decode(&w, out);
	texel_is(out[0], 84, 132, 171, 183);
	texel_is(out[15], 255, 132, 0, 0);
}

static void test_mode_5(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 32, 6);
	put(&w, 1, 2);                         /* red and alpha change places */
	PUT(&w, 7, 0, 127);
	PUT(&w, 7, 1, 127);
	PUT(&w, 7, 64, 64);
	PUT(&w, 8, 10, 200);
	put_indices(&w, 2, 1, (const uint8_t[16]){ 1, 3 });
	put_indices(&w, 2, 1, (const uint8_t[16]){ 0, 2 });
	decode(&w, out);
	texel_is(out[0], 10, 85, 129, 84);
	texel_is(out[1], 138, 255, 129, 255);
	texel_is(out[15], 10, 2, 129, 0);
}

static void test_mode_6(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 64, 7);
	PUT(&w, 7, 0, 127);
	PUT(&w, 7, 64, 64);
	PUT(&w, 7, 10, 5);
	PUT(&w, 7, 127, 127);
	PUT(&w, 1, 0, 1);
	put_indices(&w, 4, 1, (const uint8_t[16]){ 7, 15, [15] = 8 });
	decode(&w, out);
	texel_is(out[0], 120, 128, 16, 254);
	texel_is(out[1], 255, 129, 11, 255);
	texel_is(out[2], 0, 128, 20, 254);
	texel_is(out[15], 135, 129, 15, 255);
}

static void test_mode_7(void **state)
{
	struct writer w = { .at = 0 };
	uint8_t out[16][4];

	(void)state;
	put(&w, 128, 8);
	put(&w, 34, 6);                        /* 0101, 1010, 0101, 1010 */
	PUT(&w, 5, 0, 31, 16, 16);
	PUT(&w, 5, 31, 0, 0, 0);
	PUT(&w, 5, 0, 0, 0, 0);
	PUT(&w, 5, 31, 0, 16, 31);
	PUT(&w, 1, 0, 1, 1, 0);
	put_indices(&w, 2, 1 | 1 << 6, (const uint8_t[16]){ 1, 3, [15] = 2 });
	decode(&w, out);
	texel_is(out[0], 84, 170, 1, 170);
	texel_is(out[1], 130, 0, 0, 251);
	texel_is(out[2], 0, 251, 0, 251);
	texel_is(out[6], 134, 4, 4, 134);
	texel_is(out[15], 171, 85, 3, 85);
}

static void test_reserved(void **state)
{
	uint8_t block[16] = { 0, 0xff, 0xff, 0xff }, out[16][4], zero[64] = { 0 };

	(void)state;
	memset(out, 0xaa, sizeof out);
	bc_block(BC7, block, out);
	assert_memory_equal(out, zero, 64);
}

/* ---- pictures ---- */

/* 5 x 6 texels are 2 x 2 blocks; the row behind them is not touched. */
static void test_image(void **state)
{
	static const uint8_t blocks[4][8] = { { 10, 0 }, { 20, 0 }, { 30, 0 }, { 40, 0 } };
	uint8_t rgba[5 * 7 * 4];

	(void)state;
	memset(rgba, 0xaa, sizeof rgba);
	bc_image(BC4, blocks[0], 5, 6, rgba);
	for (unsigned y = 0; y < 6; y++)
		for (unsigned x = 0; x < 5; x++)
			texel_is(rgba + (y * 5 + x) * 4, 10 + 10 * (x / 4) + 20 * (y / 4), 0, 0, 255);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(rgba[5 * 6 * 4 + i], 0xaa);
	assert_int_equal(bc_block_size(BC1), 8);
	assert_int_equal(bc_block_size(BC2), 16);
	assert_int_equal(bc_block_size(BC3), 16);
	assert_int_equal(bc_block_size(BC4), 8);
	assert_int_equal(bc_block_size(BC5), 16);
	assert_int_equal(bc_block_size(BC7), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bc1), cmocka_unit_test(test_bc2), cmocka_unit_test(test_bc3),
		cmocka_unit_test(test_bc4_bc5), cmocka_unit_test(test_mode_0), cmocka_unit_test(test_mode_1),
		cmocka_unit_test(test_mode_2), cmocka_unit_test(test_mode_3), cmocka_unit_test(test_mode_4),
		cmocka_unit_test(test_mode_5), cmocka_unit_test(test_mode_6), cmocka_unit_test(test_mode_7),
		cmocka_unit_test(test_reserved), cmocka_unit_test(test_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
