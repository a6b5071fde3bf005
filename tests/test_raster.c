/* Triangles into samples: which ones they cover, which of two is in front, what of a picture a sample shows. All numbers
 * are worked out by hand, on squares of 8 x 8 samples. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"
#include "raster.h"

#define SIDE 8u
#define AT(x, y) ((y) * SIDE + (x))

static struct arena arena;
static struct raster r;
static const struct raster_surface plain = { .alpha = GEO_OPAQUE };

static int set_up(void **state)
{
	(void)state;
	return raster_begin(&r, SIDE, 1 << 20, &arena, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

/* A corner at whole samples; u and v as if one picture covered the square. */
static struct raster_corner corner(int x, int y, float z)
{
	return (struct raster_corner){
		x * RASTER_UNIT, y * RASTER_UNIT, z, (float)x / SIDE, (float)y / SIDE, { 1, 1, 1, 1 }
	};
}

static void tint(struct raster_corner *c, unsigned n, float red, float green, float blue, float alpha)
{
	for (; n-- > 0; c++)
		memcpy(c->colour, (float[]){ red, green, blue, alpha }, sizeof c->colour);
}

/* All of the square at one depth, as two triangles, counter-clockwise as somebody sees them who looks at it. */
static void cover(float z, float red, float green, float blue, float alpha, const struct raster_surface *s,
		  enum raster_pass pass)
{
	struct raster_corner c[6] = {
		corner(0, 0, z), corner(0, 8, z), corner(8, 0, z), corner(8, 0, z), corner(0, 8, z), corner(8, 8, z)
	};

	tint(c, 6, red, green, blue, alpha);
	raster_triangle(&r, c, s, pass);
	raster_triangle(&r, c + 3, s, pass);
}

static void assert_sample(unsigned x, unsigned y, unsigned red, unsigned green, unsigned blue, unsigned alpha)
{
	const uint8_t *c = r.colour[AT(x, y)];
	uint32_t got = (uint32_t)c[0] << 24 | c[1] << 16 | c[2] << 8 | c[3];

	assert_int_equal(got, red << 24 | green << 16 | blue << 8 | alpha);
}

/* ---- what is covered ---- */

/* The upper left half: a sample is inside when its middle (x + 0.5, y + 0.5) is, so x + y < 7. The middles on the long
 * side, x + y = 7, belong to the other half. */
static void test_half(void **state)
{
	struct raster_corner c[3] = { corner(0, 0, 0), corner(0, 8, 0), corner(8, 0, 0) };

	(void)state;
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	for (unsigned y = 0; y < SIDE; y++)
		for (unsigned x = 0; x < SIDE; x++)
			assert_int_equal(r.colour[AT(x, y)][3], x + y < 7 ? 255 : 0);
}

/* Of a strip between x = 2.5 and x = 4.5 both sides go through middles: the left one belongs to it. */
static void test_sides(void **state)
{
	struct raster_corner c[3] = { corner(0, 0, 0), corner(0, 0, 0), corner(0, 0, 0) };

	(void)state;
	c[0].x = c[1].x = 640;
	c[2].x = 1152;
	c[1].y = 256 * 8;
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	assert_int_equal(r.colour[AT(1, 0)][3], 0);
	assert_int_equal(r.colour[AT(2, 0)][3], 255);
	assert_int_equal(r.colour[AT(3, 0)][3], 255);          /* half a sample down the right one is at 4.375 */
	assert_int_equal(r.colour[AT(4, 0)][3], 0);
	assert_int_equal(r.colour[AT(2, 7)][3], 255);
	assert_int_equal(r.colour[AT(3, 7)][3], 0);
}

/* Two triangles with a side in common blend each sample once: 0.5 of white on nothing is 128 everywhere. */
static void test_once(void **state)
{
	const struct raster_surface s = { .alpha = GEO_BLENDED };

	(void)state;
	cover(0, 1, 1, 1, 0.5f, &s, RASTER_CLEAR);
	for (unsigned i = 0; i < SIDE * SIDE; i++)
		assert_int_equal(r.colour[i][3], 128);
}

static void test_behind(void **state)
{
	struct raster_corner c[3] = { corner(0, 0, 0), corner(8, 0, 0), corner(0, 8, 0) };
	const struct raster_surface both = { .alpha = GEO_OPAQUE, .both_sides = true };

	(void)state;
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	assert_int_equal(r.colour[0][3], 0);
	raster_triangle(&r, c, &both, RASTER_SOLID);
	assert_int_equal(r.colour[0][3], 255);
	assert_int_equal(r.colour[AT(7, 0)][3], 0);
}

/* Between two middles, or without an area, nothing is covered; the last row and column are samples as others are. */
static void test_small(void **state)
{
	struct raster_corner c[3] = { corner(0, 0, 0), corner(0, 0, 0), corner(0, 0, 0) };

	(void)state;
	c[1].y = 127;
	c[2].x = 127;
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	for (unsigned i = 0; i < 3; i++)
		c[i] = corner(8, 8, 0);
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	for (unsigned i = 0; i < SIDE * SIDE; i++)
		assert_int_equal(r.colour[i][3], 0);
	c[0] = corner(8, 7, 0);
	c[1] = corner(7, 7, 0);
	c[2].y = 8 * RASTER_UNIT;
	c[2].x = 7 * RASTER_UNIT + 128;
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	assert_int_equal(r.colour[AT(7, 7)][3], 255);
}

/* ---- what is in front ---- */

static void test_depth(void **state)
{
	(void)state;
	cover(2, 1, 0, 0, 1, &plain, RASTER_SOLID);
	cover(1, 0, 1, 0, 1, &plain, RASTER_SOLID);
	assert_sample(3, 3, 255, 0, 0, 255);
	cover(2, 0, 0, 1, 1, &plain, RASTER_SOLID);            /* as near: the later one lies on it */
	assert_sample(3, 3, 0, 0, 255, 255);
}

/* One rises from 0 at the left side to 8 at the right one, the other lies at 4: they meet at x = 4. */
static void test_meeting(void **state)
{
	struct raster_corner c[6] = {
		corner(0, 0, 0), corner(0, 8, 0), corner(8, 0, 8), corner(8, 0, 8), corner(0, 8, 0), corner(8, 8, 8)
	};

	(void)state;
	cover(4, 1, 0, 0, 1, &plain, RASTER_SOLID);
	tint(c, 6, 0, 1, 0, 1);
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	raster_triangle(&r, c + 3, &plain, RASTER_SOLID);
	for (unsigned y = 0; y < SIDE; y++) {
		assert_sample(3, y, 255, 0, 0, 255);           /* 3.5 */
		assert_sample(4, y, 0, 255, 0, 255);           /* 4.5 */
	}
}

/* Half of green before red: (128, 128, 0). What lies behind the red is hidden, and what is clear hides nothing. */
static void test_blended(void **state)
{
	const struct raster_surface s = { .alpha = GEO_BLENDED };

	(void)state;
	cover(1, 1, 0, 0, 1, &s, RASTER_SOLID);
	cover(1, 1, 0, 0, 1, &s, RASTER_CLEAR);                /* nothing of it is clear */
	cover(2, 0, 1, 0, 0.5f, &s, RASTER_SOLID);             /* and nothing solid */
	assert_sample(5, 5, 255, 0, 0, 255);
	cover(0, 0, 0, 1, 0.5f, &s, RASTER_CLEAR);
	cover(2, 0, 1, 0, 0.5f, &s, RASTER_CLEAR);
	assert_sample(5, 5, 128, 128, 0, 255);
	cover(1, 0, 0, 1, 1, &plain, RASTER_SOLID);
	assert_sample(5, 5, 0, 0, 255, 255);
}

/* Colours change evenly: red at the middles of 8 columns is (x + 0.5) / 8. */
static void test_colours(void **state)
{
	struct raster_corner c[3] = { corner(0, 0, 0), corner(0, 8, 0), corner(8, 0, 0) };

	(void)state;
	tint(c, 2, 0, 0, 0, 1);
	tint(c + 2, 1, 1, 0, 0, 1);
	raster_triangle(&r, c, &plain, RASTER_SOLID);
	assert_sample(0, 0, 16, 0, 0, 255);                    /* 255 / 16 = 15.94 */
	assert_sample(0, 5, 16, 0, 0, 255);
	assert_sample(3, 0, 112, 0, 0, 255);                   /* 255 * 7 / 16 = 111.56 */
	assert_sample(6, 0, 207, 0, 0, 255);                   /* 255 * 13 / 16 = 207.19 */
}

/* ---- pictures ---- */

static uint8_t texels[64 * 64][4];

static void number_texels(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		memcpy(texels[i], (uint8_t[]){ (uint8_t)(3 * i), (uint8_t)(255 - i), (uint8_t)(i ^ 21), 255 }, 4);
}

static struct texture texture(uint32_t w, uint32_t h, uint32_t most)
{
	const struct geo_image img = { .w = w, .h = h, .rgba = texels[0] };
	struct texture t;

	assert_int_equal(texture_make(&t, &img, most, &arena, NULL), 0);
	return t;
}

/* One texel a sample: the samples are the texels. */
static void test_texels(void **state)
{
	struct texture t;
	struct raster_surface s = { .texture = &t };

	(void)state;
	number_texels(64);
	t = texture(8, 8, 64);
	cover(0, 1, 1, 1, 1, &s, RASTER_SOLID);
	assert_memory_equal(r.colour, texels, sizeof *texels * 64);
}

/* A picture of 4 x 2 texels goes on from its other side, also below 0. */
static void test_repeated(void **state)
{
	struct texture t;
	struct raster_surface s = { .texture = &t };
	struct raster_corner c[3] = { corner(0, 0, 0), corner(0, 16, 0), corner(16, 0, 0) };

	(void)state;
	number_texels(8);
	t = texture(4, 2, 64);
	c[0] = (struct raster_corner){ 0, 0, 0, -3, -3, { 1, 1, 1, 1 } };
	c[1] = (struct raster_corner){ 0, 2048, 0, -3, 1, { 1, 1, 1, 1 } };
	c[2] = (struct raster_corner){ 2048, 0, 0, -1, -3, { 1, 1, 1, 1 } };
	raster_triangle(&r, c, &s, RASTER_SOLID);
	for (unsigned y = 0; y < SIDE; y++)
		for (unsigned x = 0; x + y < 7; x++)
			assert_memory_equal(r.colour[AT(x, y)], texels[y % 2 * 4 + x % 4], 4);
}

/* Magnified twice, black and white columns: middles of samples are a quarter of a texel off, 1/4 or 3/4 of white. */
static void test_between(void **state)
{
	struct texture t;
	struct raster_surface s = { .texture = &t };

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		memset(texels[i], i % 2 ? 255 : 0, 3), texels[i][3] = 255;
	t = texture(4, 4, 64);
	cover(0, 1, 1, 1, 1, &s, RASTER_SOLID);
	assert_sample(0, 2, 64, 64, 64, 255);
	assert_sample(1, 2, 64, 64, 64, 255);
	assert_sample(2, 2, 191, 191, 191, 255);
	assert_sample(3, 2, 191, 191, 191, 255);
	assert_sample(4, 2, 64, 64, 64, 255);
}

/* 16 texels a sample, one of them white: from the smaller copies, 255 / 16, not what lies around the sample's middle. */
static void test_smaller(void **state)
{
	struct texture t;
	struct raster_surface s = { .texture = &t };

	(void)state;
	for (unsigned i = 0; i < 1024; i++)
		memset(texels[i], i % 4 || i / 32 % 4 ? 0 : 255, 3), texels[i][3] = 255;
	t = texture(32, 32, 64);
	cover(0, 1, 1, 1, 1, &s, RASTER_SOLID);
	for (unsigned i = 0; i < SIDE * SIDE; i++)
		assert_sample(i % SIDE, i / SIDE, 16, 16, 16, 255);
}

/* The left half of the picture is not there, and then what lies behind is seen. */
static void test_cut(void **state)
{
	struct texture t;
	struct raster_surface s = { .texture = &t, .alpha = GEO_CUT };

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		memcpy(texels[i], (uint8_t[]){ 0, 200, 0, i % 8 < 4 ? 0 : 255 }, 4);
	t = texture(8, 8, 64);
	assert_int_equal(t.alpha, GEO_CUT);
	cover(2, 1, 1, 1, 1, &s, RASTER_SOLID);
	assert_sample(3, 0, 0, 0, 0, 0);
	assert_sample(4, 0, 0, 200, 0, 255);
	cover(1, 1, 0, 0, 1, &plain, RASTER_SOLID);
	assert_sample(3, 0, 255, 0, 0, 255);
	assert_sample(4, 0, 0, 200, 0, 255);
}

/* Places that no whole number can tell are somewhere in the picture; so is a picture without texels nowhere. */
static void test_odd_places(void **state)
{
	struct texture t;
	struct raster_surface s = { .texture = &t };
	struct raster_corner c[3] = { corner(0, 0, 0), corner(0, 8, 0), corner(8, 0, 0) };

	(void)state;
	memset(texels, 255, sizeof *texels * 4);
	t = texture(2, 2, 64);
	c[0].u = -3e38f, c[1].v = 3e38f, c[2].u = 1e30f;
	raster_triangle(&r, c, &s, RASTER_SOLID);
	assert_sample(1, 1, 255, 255, 255, 255);
	t = texture(0, 0, 64);
	cover(0, 1, 0, 0, 1, &s, RASTER_SOLID);
	assert_sample(1, 1, 255, 0, 0, 255);
}

/* Copies of half the size: 5 x 3, 2 x 1, 1 x 1. A colour counts as much as it can be seen. */
static void test_levels(void **state)
{
	struct texture t;

	(void)state;
	memset(texels, 0, sizeof texels);
	memcpy(texels[0], (uint8_t[]){ 200, 100, 0, 255 }, 4);
	memcpy(texels[1], (uint8_t[]){ 0, 0, 255, 0 }, 4);
	t = texture(5, 3, 64);
	assert_int_equal(t.nlevels, 3);
	assert_int_equal(t.level[1].w, 2);
	assert_int_equal(t.level[1].h, 1);
	assert_int_equal(t.level[2].w, 1);
	assert_memory_equal(t.level[1].texel[0], ((uint8_t[]){ 200, 100, 0, 64 }), 4);
	assert_memory_equal(t.level[1].texel[1], ((uint8_t[]){ 0, 0, 0, 0 }), 4);
	assert_memory_equal(t.level[2].texel[0], ((uint8_t[]){ 200, 100, 0, 32 }), 4);
}

/* At most 8 texels a side: of 64 x 1 every eight are one, of which the last is clear. */
static void test_most(void **state)
{
	struct texture t;

	(void)state;
	memset(texels, 255, sizeof *texels * 64);
	for (unsigned i = 56; i < 64; i++)
		texels[i][3] = 0;
	t = texture(64, 1, 8);
	assert_int_equal(t.level[0].w, 8);
	assert_int_equal(t.level[0].h, 1);
	assert_int_equal(t.nlevels, 4);
	assert_int_equal(t.level[0].texel[6][3], 255);
	assert_int_equal(t.level[0].texel[7][3], 0);
	assert_int_equal(t.alpha, GEO_CUT);
}

static void test_palette(void **state)
{
	uint8_t indexed[4] = { 1, 0, 9, 1 }, palette[2][4] = { { 1, 2, 3, 255 }, { 5, 6, 7, 8 } };
	const struct geo_image img = { .w = 4, .h = 1, .indexed = indexed, .palette = palette, .ncolours = 2 };
	struct texture t;

	(void)state;
	assert_int_equal(texture_make(&t, &img, 64, &arena, NULL), 0);
	assert_memory_equal(t.level[0].texel, ((uint8_t[]){ 5, 6, 7, 8, 1, 2, 3, 255, 0, 0, 0, 0, 5, 6, 7, 8 }), 16);
	assert_int_equal(t.alpha, GEO_BLENDED);
}

/* 4 x 4 pixels as 2 x 2, two by two, beside something; as 8 x 8, each four times. */
static void test_fit(void **state)
{
	const struct geo_image img = { .w = 4, .h = 4, .rgba = texels[0] };
	uint8_t two[2 * 5 * 4], eight[64][4];

	(void)state;
	memset(two, 9, sizeof two);
	for (unsigned i = 0; i < 16; i++)
		memcpy(texels[i], (uint8_t[]){ (uint8_t)(10 * (i / 8) + 20 * (i % 4 / 2) + i % 2 * 4), 0, 0, 255 }, 4);
	image_fit(&img, 2, two + 4, 5);
	assert_memory_equal(two, ((uint8_t[]){ 9, 9, 9, 9, 2, 0, 0, 255, 22, 0, 0, 255, 9, 9, 9, 9, 9, 9, 9, 9 }), 20);
	assert_memory_equal(two + 20, ((uint8_t[]){ 9, 9, 9, 9, 12, 0, 0, 255, 32, 0, 0, 255, 9, 9, 9, 9 }), 16);
	image_fit(&img, 8, eight[0], 8);
	for (unsigned i = 0; i < 64; i++)
		assert_memory_equal(eight[i], texels[i / 16 * 4 + i % 8 / 2], 4);
}

/* ---- pixels ---- */

/* One white sample of four, then one more that is half clear: alphas 255 / 4 and 383 / 4; white stays white. */
static void test_pixels(void **state)
{
	uint8_t rgba[16 * 4];

	(void)state;
	memset(r.colour[AT(0, 0)], 255, 4);
	memset(r.colour[AT(2, 0)], 255, 4);
	memset(r.colour[AT(3, 1)], 128, 4);
	memcpy(r.colour[AT(4, 0)], (uint8_t[]){ 255, 0, 0, 255 }, 4);
	memcpy(r.colour[AT(5, 0)], (uint8_t[]){ 0, 0, 255, 255 }, 4);
	raster_pixels(&r, 2, rgba);
	assert_memory_equal(rgba, ((uint8_t[]){ 255, 255, 255, 64, 255, 255, 255, 96, 128, 0, 128, 128 }), 12);
	assert_memory_equal(rgba + 12, ((uint8_t[52]){ 0 }), 52);
}

/* Each half of the square makes 8 x 8 samples be looked at: there is enough for one, and after that for nothing. */
static void test_work(void **state)
{
	(void)state;
	r.left = 100;
	cover(0, 1, 1, 1, 1, &plain, RASTER_SOLID);
	assert_int_equal(r.colour[AT(0, 0)][3], 255);
	assert_int_equal(r.colour[AT(7, 7)][3], 0);
	assert_int_equal(r.left, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_half), TEST(test_sides), TEST(test_once), TEST(test_behind), TEST(test_small),
		TEST(test_depth), TEST(test_meeting), TEST(test_blended), TEST(test_colours),
		TEST(test_texels), TEST(test_repeated), TEST(test_between), TEST(test_smaller), TEST(test_cut),
		TEST(test_odd_places), TEST(test_levels), TEST(test_most), TEST(test_palette), TEST(test_fit),
		TEST(test_pixels), TEST(test_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
