/* PNG: what is written is decoded again by libspng and compared, palette and all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <spng.h>

#include "export.h"

static uint8_t pixels[300 * 200 * 4];
static uint8_t palette[256][4];

static void fill(unsigned colours)
{
	uint32_t seed = colours;

	for (size_t i = 0; i < sizeof pixels; i++) {
		seed = seed * 1664525 + 1013904223;
		pixels[i] = (uint8_t)(colours ? (seed >> 24) % colours : seed >> 24);
	}
	for (unsigned i = 0; i < 256; i++)
		for (unsigned k = 0; k < 4; k++)
			palette[i][k] = (uint8_t)(k == 3 ? 255 : i * (k + 3) + k);
}

struct decoded {
	spng_ctx *ctx;
	struct spng_ihdr ihdr;
	uint8_t *rgba;
	size_t n;
};

static struct decoded decode(const struct buf *b)
{
	struct decoded d = { .ctx = spng_ctx_new(0) };

	assert_non_null(d.ctx);
	assert_int_equal(spng_set_png_buffer(d.ctx, b->p, b->len), 0);
	assert_int_equal(spng_get_ihdr(d.ctx, &d.ihdr), 0);
	assert_int_equal(spng_decoded_image_size(d.ctx, SPNG_FMT_RGBA8, &d.n), 0);
	d.rgba = malloc(d.n);
	assert_non_null(d.rgba);
	assert_int_equal(spng_decode_image(d.ctx, d.rgba, d.n, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS), 0);
	assert_int_equal(spng_decode_chunks(d.ctx), 0);
	return d;
}

static void drop(struct decoded *d)
{
	spng_ctx_free(d->ctx);
	free(d->rgba);
}

static void write_image(struct buf *b, const struct geo_image *img)
{
	struct err e;

	if (png_write(b, img, &e))
		fail_msg("%s", e.text);
	assert_false(b->bad);
}

static void check_rgba(uint32_t w, uint32_t h)
{
	const struct geo_image img = { .w = w, .h = h, .rgba = pixels };
	struct buf b = { 0 };
	struct decoded d;

	write_image(&b, &img);
	d = decode(&b);
	assert_int_equal(d.ihdr.width, w);
	assert_int_equal(d.ihdr.height, h);
	assert_int_equal(d.ihdr.bit_depth, 8);
	assert_int_equal(d.ihdr.color_type, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA);
	assert_int_equal(d.n, (size_t)w * h * 4);
	assert_memory_equal(d.rgba, pixels, d.n);
	drop(&d);
	buf_free(&b);
}

static void test_rgba(void **state)
{
	(void)state;
	fill(0);
	check_rgba(1, 1);
	check_rgba(7, 5);
	check_rgba(256, 33);
	check_rgba(300, 200);
	memset(pixels, 0, sizeof pixels);
	check_rgba(300, 200);
}

/* opaque_from: colours from there on are opaque, those before are not. */
static void check_indexed(uint32_t w, uint32_t h, uint32_t colours, uint32_t opaque_from)
{
	const struct geo_image img = { .w = w, .h = h, .indexed = pixels, .palette = palette, .ncolours = colours };
	struct spng_plte plte;
	struct spng_trns trns;
	struct buf b = { 0 };
	struct decoded d;

	fill(colours);
	for (uint32_t i = 0; i < opaque_from; i++)
		palette[i][3] = (uint8_t)(i * 3);
	write_image(&b, &img);
	d = decode(&b);
	assert_int_equal(d.ihdr.bit_depth, colours == 16 ? 4 : 8);
	assert_int_equal(d.ihdr.color_type, SPNG_COLOR_TYPE_INDEXED);
	assert_int_equal(d.n, (size_t)w * h * 4);
	for (size_t i = 0; i < (size_t)w * h; i++)
		assert_memory_equal(d.rgba + 4 * i, palette[pixels[i]], 4);
	assert_int_equal(spng_get_plte(d.ctx, &plte), 0);
	assert_int_equal(plte.n_entries, colours);
	for (uint32_t i = 0; i < colours; i++)
		assert_memory_equal(&plte.entries[i], palette[i], 3);
	if (opaque_from) {
		assert_int_equal(spng_get_trns(d.ctx, &trns), 0);
		assert_int_equal(trns.n_type3_entries, opaque_from);
	} else {
		assert_int_equal(spng_get_trns(d.ctx, &trns), SPNG_ECHUNKAVAIL);
	}
	drop(&d);
	buf_free(&b);
}

static void test_indexed(void **state)
{
	static const struct { uint32_t w, h; } sizes[] = {
		{ 1, 1 }, { 2, 1 }, { 3, 5 }, { 64, 64 }, { 255, 9 }, { 300, 200 }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		check_indexed(sizes[i].w, sizes[i].h, 16, 0);
		check_indexed(sizes[i].w, sizes[i].h, 16, 1);
		check_indexed(sizes[i].w, sizes[i].h, 16, 16);
		check_indexed(sizes[i].w, sizes[i].h, 256, 0);
		check_indexed(sizes[i].w, sizes[i].h, 256, 77);
	}
}

static void test_same_bytes_again(void **state)
{
	const struct geo_image img = { .w = 100, .h = 100, .indexed = pixels, .palette = palette, .ncolours = 256 };
	struct buf a = { 0 }, b = { 0 };

	(void)state;
	fill(200);
	write_image(&a, &img);
	write_image(&b, &img);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.p, b.p, a.len);
	buf_free(&a);
	buf_free(&b);
}

static void test_refused(void **state)
{
	const struct geo_image none = { .w = 0, .h = 5, .rgba = pixels }, some = { .w = 2, .h = 2, .rgba = pixels };
	struct buf b = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(png_write(&b, &none, &e), -EINVAL);
	assert_non_null(strstr(e.text, "PNG of 0 x 5 pixels: "));
	buf_free(&b);
	b.bad = true;                          /* as when memory ran out before */
	assert_int_equal(png_write(&b, &some, &e), -ENOMEM);
	assert_true(b.bad);
	assert_int_equal(png_write(&b, &some, NULL), -ENOMEM);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rgba), cmocka_unit_test(test_indexed), cmocka_unit_test(test_same_bytes_again),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
