/* Palettes for pictures: exact where they can be, close where not, always the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "quantise.h"

static void any_colour(const void *ctx, const uint8_t rgba[4], uint8_t out[4])
{
	(void)ctx;
	memcpy(out, rgba, 4);
}

/* Red, green and blue of 3 bits, alpha of one. */
static void coarse(const void *ctx, const uint8_t rgba[4], uint8_t out[4])
{
	(void)ctx;
	for (unsigned i = 0; i < 3; i++)
		out[i] = (uint8_t)((rgba[i] * 7 + 127) / 255 * 255 / 7);
	out[3] = rgba[3] >= 128 ? 255 : 0;
}

struct result {
	struct arena a;
	struct colours c;
	uint8_t palette[QUANTISE_MOST][4];
	unsigned n;
};

static void reduce(struct result *r, const uint8_t (*rgba)[4], size_t n, unsigned most,
		   void (*nearest)(const void *, const uint8_t *, uint8_t *))
{
	struct colour_format f = { nearest, NULL };
	struct err e;

	*r = (struct result){ .n = 0 };
	assert_int_equal(colours_init(&r->c, n, &r->a, &e), 0);
	colours_clear(&r->c, 0, true);
	for (size_t i = 0; i < n; i++)
		assert_non_null(colours_add(&r->c, rgba[i]));
	assert_int_equal(quantise(&r->c, most, &f, r->palette, &r->n, &r->a, &e), 0);
	assert_in_range(r->n, 1, most);
	for (uint32_t i = 0; i < r->c.n; i++)
		assert_true(r->c.v[i].pick < r->n);
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned j = 0; j < i; j++)
			assert_memory_not_equal(r->palette[i], r->palette[j], 4);
}

/* Mean squared error of one channel, colours as far as they are opaque. */
static double mean_error(const struct result *r, const uint8_t (*rgba)[4], size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *c = r->palette[colours_find(&r->c, rgba[i])->pick];

		for (unsigned k = 0; k < 4; k++) {
			double x = k < 3 ? rgba[i][k] * rgba[i][3] / 255.0 : rgba[i][3];
			double y = k < 3 ? c[k] * c[3] / 255.0 : c[3];

			sum += (x - y) * (x - y);
		}
	}
	return sum / (4.0 * (double)n);
}

/* ---- the table ---- */

static void test_table(void **state)
{
	static const uint8_t a[4] = { 1, 2, 3, 4 }, b[4] = { 1, 2, 3, 5 }, c[4] = { 9, 9, 9, 0 }, d[4] = { 8, 8, 8, 0 };
	struct arena arena = { 0 };
	struct colours t;
	struct err e;

	(void)state;
	assert_int_equal(colours_init(&t, 3, &arena, &e), 0);
	assert_null(colours_find(&t, a));
	assert_int_equal(colours_add(&t, a)->count, 1);
	assert_int_equal(colours_add(&t, b)->count, 1);
	assert_int_equal(colours_add(&t, a)->count, 2);
	assert_int_equal(colours_find(&t, a)->pick, COLOURS_NONE);
	assert_non_null(colours_add(&t, c));
	assert_null(colours_add(&t, d));               /* the fourth */
	assert_non_null(colours_add(&t, b));
	assert_int_equal(t.n, 3);

	colours_clear(&t, 0, true);
	assert_int_equal(colours_add(&t, c)->count, 1);
	assert_int_equal(colours_add(&t, d)->count, 2);

	colours_clear(&t, 1, false);                   /* without the lowest bits 2 and 3 are one */
	assert_null(colours_find(&t, a));
	colours_add(&t, a);
	assert_int_equal(colours_add(&t, b)->count, 2);
	assert_memory_equal(t.v[0].rgba, ((uint8_t[]){ 1, 3, 3, 5 }), 4);
	arena_free(&arena);
}

/* Any number of colours finds its slots. */
static void test_full_table(void **state)
{
	struct arena arena = { 0 };
	struct colours t;
	struct err e;

	(void)state;
	assert_int_equal(colours_init(&t, (size_t)1 << 30, &arena, &e), 0);
	assert_int_equal(t.most, COLOURS_MOST);
	for (uint32_t i = 0; i <= COLOURS_MOST; i++) {
		uint8_t c[4] = { (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16), 255 };

		assert_true(!colours_add(&t, c) == (i == COLOURS_MOST));
	}
	for (uint32_t i = 0; i < COLOURS_MOST; i += 37) {
		uint8_t c[4] = { (uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16), 255 };

		assert_ptr_equal(colours_find(&t, c), &t.v[i]);
	}
	arena_free(&arena);
}

/* ---- palettes ---- */

/* As many colours as there is room for, faint ones and rare ones too: none is changed. */
static void test_exact(void **state)
{
	static const unsigned sizes[] = { 1, 2, 15, 16, 100, 256 };
	static uint8_t rgba[4096][4];
	struct result r;

	(void)state;
	for (size_t t = 0; t < ARRAY_LEN(sizes); t++) {
		for (unsigned i = 0; i < 4096; i++) {
			unsigned c = i < 3000 ? 0 : i % sizes[t];

			rgba[i][0] = (uint8_t)(c * 37);
			rgba[i][1] = (uint8_t)(255 - c);
			rgba[i][2] = (uint8_t)(c * c);
			rgba[i][3] = (uint8_t)(255 - c % 5 * 50);
		}
		reduce(&r, (const uint8_t (*)[4])rgba, 4096, sizes[t], any_colour);
		assert_int_equal(r.n, sizes[t]);
		for (unsigned i = 0; i < 4096; i++)
			assert_memory_equal(r.palette[colours_find(&r.c, rgba[i])->pick], rgba[i], 4);
		arena_free(&r.a);
	}
}

/* 0..255 in 16 colours: runs of sixteen greys, off by 0.5 to 7.5 from their middle: squared and on average
 * (16 * 16 - 1) / 12 = 21.25; alpha is right, so 15.94 for all four channels. */
static void test_ramp(void **state)
{
	static uint8_t rgba[256][4];
	struct result r;

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		memcpy(rgba[i], (uint8_t[]){ (uint8_t)i, (uint8_t)i, (uint8_t)i, 255 }, 4);
	reduce(&r, (const uint8_t (*)[4])rgba, 256, 16, any_colour);
	assert_int_equal(r.n, 16);
	assert_true(mean_error(&r, (const uint8_t (*)[4])rgba, 256) < 16.5);
	arena_free(&r.a);
}

static void gradient(uint8_t (*rgba)[4], unsigned side)
{
	for (unsigned i = 0; i < side * side; i++) {
		unsigned x = i % side * 255 / (side - 1), y = i / side * 255 / (side - 1);

		memcpy(rgba[i], (uint8_t[]){ (uint8_t)x, (uint8_t)y, (uint8_t)((x + y) / 2), 255 }, 4);
	}
}

/* A plane of 255 x 255, with blue on top 1.5 times its measure: 256 cells of 16 x 16 would be off by 16^2 / 12 in red
 * and in green, and by a quarter of both in blue: 53.3 in all, 13.3 a channel. Hexagons do a little better. */
static void test_gradient(void **state)
{
	static uint8_t rgba[256 * 256][4];
	struct result r;

	(void)state;
	gradient(rgba, 256);
	reduce(&r, (const uint8_t (*)[4])rgba, 256 * 256, 256, any_colour);
	assert_int_equal(r.n, 256);
	assert_true(mean_error(&r, (const uint8_t (*)[4])rgba, 256 * 256) < 13.4);
	arena_free(&r.a);
	reduce(&r, (const uint8_t (*)[4])rgba, 256 * 256, 16, any_colour);
	assert_true(mean_error(&r, (const uint8_t (*)[4])rgba, 256 * 256) < 16 * 13.4);
	arena_free(&r.a);
}

/* Whatever colour transparent pixels have, they are one, and stay transparent; opaque ones stay opaque. */
static void test_transparent(void **state)
{
	static uint8_t rgba[64 * 64][4];
	struct result r;

	(void)state;
	gradient(rgba, 64);
	for (unsigned i = 0; i < 64 * 64; i += 3)
		rgba[i][3] = 0;
	for (unsigned most = 1; most <= 16; most += 5) {
		reduce(&r, (const uint8_t (*)[4])rgba, 64 * 64, most, any_colour);
		assert_int_equal(r.n, most);
		for (unsigned i = 0; i < 64 * 64; i++) {
			const uint8_t *c = r.palette[colours_find(&r.c, rgba[i])->pick];

			if (!rgba[i][3])
				assert_memory_equal(c, ((uint8_t[]){ 0, 0, 0, 0 }), 4);
			else if (most > 1)
				assert_int_equal(c[3], 255);
		}
		arena_free(&r.a);
	}
}

/* Colours are chosen among those that can be stored, and each pixel has the nearest of them. */
static void test_storable(void **state)
{
	static uint8_t rgba[64 * 64][4];
	struct result r;

	(void)state;
	gradient(rgba, 64);
	reduce(&r, (const uint8_t (*)[4])rgba, 64 * 64, 64, coarse);
	for (unsigned i = 0; i < r.n; i++) {
		uint8_t c[4];

		coarse(NULL, r.palette[i], c);
		assert_memory_equal(c, r.palette[i], 4);
	}
	for (unsigned i = 0; i < 64 * 64; i++) {
		unsigned best = UINT32_MAX, picked = 0;

		for (unsigned p = 0; p < r.n; p++) {
			unsigned off = 0;

			for (unsigned k = 0; k < 3; k++)
				off += (unsigned)((rgba[i][k] - r.palette[p][k]) * (rgba[i][k] - r.palette[p][k]));
			best = off < best ? off : best;
			picked = p == colours_find(&r.c, rgba[i])->pick ? off : picked;
		}
		assert_int_equal(picked, best);
	}
	arena_free(&r.a);
}

/* Where alpha is 0 or 255, what is half transparent gets the palette of the same colours opaque: no darker ones. */
static void test_stored_alpha(void **state)
{
	static uint8_t rgba[64 * 64][4];
	struct result opaque, half;

	(void)state;
	gradient(rgba, 64);
	reduce(&opaque, (const uint8_t (*)[4])rgba, 64 * 64, 16, coarse);
	for (unsigned i = 0; i < 64 * 64; i++)
		rgba[i][3] = 153;
	reduce(&half, (const uint8_t (*)[4])rgba, 64 * 64, 16, coarse);
	assert_int_equal(half.n, opaque.n);
	assert_memory_equal(half.palette, opaque.palette, 4 * half.n);
	arena_free(&opaque.a);
	arena_free(&half.a);
	for (unsigned i = 0; i < 64 * 64; i++)
		rgba[i][3] = 100;
	reduce(&half, (const uint8_t (*)[4])rgba, 64 * 64, 16, coarse);
	assert_int_equal(half.n, 1);
	assert_memory_equal(half.palette, ((uint8_t[]){ 0, 0, 0, 0 }), 4);
	arena_free(&half.a);
}

static void test_same_again(void **state)
{
	static uint8_t rgba[64 * 64][4];
	struct result r, again;

	(void)state;
	srand(1);
	for (unsigned i = 0; i < 64 * 64 * 4; i++)
		rgba[i / 4][i % 4] = (uint8_t)(rand() >> 7);
	reduce(&r, (const uint8_t (*)[4])rgba, 64 * 64, 256, coarse);
	reduce(&again, (const uint8_t (*)[4])rgba, 64 * 64, 256, coarse);
	assert_int_equal(r.n, again.n);
	assert_memory_equal(r.palette, again.palette, sizeof r.palette);
	assert_memory_equal(r.c.v, again.c.v, r.c.n * sizeof *r.c.v);
	arena_free(&r.a);
	arena_free(&again.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_full_table), cmocka_unit_test(test_exact),
		cmocka_unit_test(test_ramp), cmocka_unit_test(test_gradient), cmocka_unit_test(test_transparent),
		cmocka_unit_test(test_storable), cmocka_unit_test(test_stored_alpha),
		cmocka_unit_test(test_same_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
