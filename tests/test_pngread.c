/* PNGs of every kind, made here byte by byte, against pixels worked out from their samples. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "bytes.h"
#include "export.h"

enum { GREY = 0, TRUECOLOUR = 2, INDEXED = 3, GREY_ALPHA = 4, RGBA = 6 };

struct kind { unsigned type, depth; bool interlaced; };

/* ---- making ---- */

static void put_chunk(struct buf *out, const char *type, const void *data, size_t n)
{
	size_t at = out->len;
	uint8_t crc[4];

	buf_add(out, (const uint8_t[4]){ (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n }, 4);
	buf_add(out, type, 4);
	buf_add(out, data, n);
	uint32_t sum = (uint32_t)crc32(0, out->p + at + 4, (uInt)(n + 4));
	for (unsigned i = 0; i < 4; i++)
		crc[i] = (uint8_t)(sum >> (24 - 8 * i));
	buf_add(out, crc, 4);
}

static unsigned channels(unsigned type)
{
	return type == TRUECOLOUR ? 3 : type == GREY_ALPHA ? 2 : type == RGBA ? 4 : 1;
}

/* What a test stores in channel c of a pixel. */
static unsigned sample(struct kind k, uint32_t x, uint32_t y, unsigned c)
{
	uint32_t v = (x * 2654435761u ^ y * 40503u ^ c * 97u) * 2246822519u;

	v = v >> 16 & ((1u << k.depth) - 1);
	return k.type == INDEXED && k.depth == 8 ? v % 200 : v;
}

/* One row of pixels x, x + dx, ...: no filter, samples packed from the highest bits. */
static void put_row(struct buf *out, struct kind k, uint32_t w, uint32_t x, uint32_t dx, uint32_t y)
{
	unsigned bits = 0, have = 0;

	buf_char(out, 0);
	for (; x < w; x += dx)
		for (unsigned c = 0; c < channels(k.type); c++) {
			bits = bits << k.depth | sample(k, x, y, c);
			for (have += k.depth; have >= 8; have -= 8)
				buf_char(out, (char)(bits >> (have - 8)));
		}
	if (have)
		buf_char(out, (char)(bits << (8 - have)));
}

static void put_rows(struct buf *out, struct kind k, uint32_t w, uint32_t h)
{
	static const uint8_t pass[8][4] = {
		{ 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 }, { 0, 2, 2, 4 }, { 1, 0, 2, 2 },
		{ 0, 1, 1, 2 }, { 0, 0, 1, 1 },
	};

	for (unsigned i = k.interlaced ? 0 : 7; i < (k.interlaced ? 7 : 8); i++)
		for (uint32_t y = pass[i][1]; y < h && pass[i][0] < w; y += pass[i][3])
			put_row(out, k, w, pass[i][0], pass[i][2], y);
}

/* extra: chunks put before the pixels. */
static struct buf make(struct kind k, uint32_t w, uint32_t h, const struct buf *extra)
{
	uint8_t ihdr[13] = { 0, 0, (uint8_t)(w >> 8), (uint8_t)w, 0, 0, (uint8_t)(h >> 8), (uint8_t)h, (uint8_t)k.depth,
			     (uint8_t)k.type, 0, 0, k.interlaced };
	struct buf out = { 0 }, rows = { 0 };
	uLongf n;
	uint8_t *z;

	buf_add(&out, "\x89PNG\r\n\x1a\n", 8);
	put_chunk(&out, "IHDR", ihdr, sizeof ihdr);
	if (extra)
		buf_add(&out, extra->p, extra->len);
	put_rows(&rows, k, w, h);
	n = compressBound(rows.len);
	z = malloc(n);
	assert_int_equal(compress(z, &n, rows.p, rows.len), Z_OK);
	put_chunk(&out, "IDAT", z, n);
	put_chunk(&out, "IEND", "", 0);
	assert_false(out.bad || rows.bad);
	free(z);
	buf_free(&rows);
	return out;
}

/* ---- reading ---- */

struct got { struct geo_image img; struct arena a; struct err e; };

static int try_png(struct got *g, const void *p, size_t n, uint32_t w, uint32_t h)
{
	memset(g, 0, sizeof *g);
	return png_read(p, n, w, h, &g->img, &g->a, &g->e);
}

static void read_png(struct got *g, const struct buf *png, uint32_t w, uint32_t h)
{
	if (try_png(g, png->p, png->len, w, h))
		fail_msg("%s", g->e.text);
	assert_int_equal(g->img.w, w);
	assert_int_equal(g->img.h, h);
	assert_non_null(g->img.rgba);
}

/* Nearest of 8 bits. */
static uint8_t to8(unsigned v, unsigned depth)
{
	return (uint8_t)(v * 255.0 / ((1u << depth) - 1) + 0.5);
}

static void expected(struct kind k, uint32_t x, uint32_t y, const uint8_t (*palette)[4], uint8_t out[4])
{
	uint8_t v[4];

	if (k.type == INDEXED) {
		memcpy(out, palette[sample(k, x, y, 0)], 4);
		return;
	}
	for (unsigned c = 0; c < channels(k.type); c++)
		v[c] = to8(sample(k, x, y, c), k.depth);
	for (unsigned c = 0; c < 3; c++)
		out[c] = v[k.type & TRUECOLOUR ? c : 0];
	out[3] = k.type & 4 ? v[channels(k.type) - 1] : 255;
}

static const struct kind kinds[] = {
	{ GREY, 1 }, { GREY, 2 }, { GREY, 4 }, { GREY, 8 }, { GREY, 16 }, { TRUECOLOUR, 8 }, { TRUECOLOUR, 16 },
	{ GREY_ALPHA, 8 }, { GREY_ALPHA, 16 }, { RGBA, 8 }, { RGBA, 16 },
};

static const struct { uint32_t w, h; } sizes[] = { { 1, 1 }, { 3, 2 }, { 5, 9 }, { 16, 16 }, { 37, 20 } };

static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(kinds); i++)
		for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
			uint32_t w = sizes[s].w, h = sizes[s].h;
			struct kind k = kinds[i / 2];
			struct buf png;
			struct got g;

			k.interlaced = i & 1;
			png = make(k, w, h, NULL);
			read_png(&g, &png, w, h);
			assert_null(g.img.indexed);
			assert_null(g.img.palette);
			for (uint32_t p = 0; p < w * h; p++) {
				uint8_t want[4];

				expected(k, p % w, p / w, NULL, want);
				assert_memory_equal(g.img.rgba + 4 * p, want, 4);
			}
			arena_free(&g.a);
			buf_free(&png);
		}
}

/* A palette of n colours, the first nalpha of them with an alpha. */
static struct buf palette_chunks(unsigned n, unsigned nalpha, uint8_t (*palette)[4])
{
	uint8_t plte[768], trns[256];
	struct buf out = { 0 };

	memset(palette, 0, 256 * 4);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned c = 0; c < 3; c++)
			palette[i][c] = plte[3 * i + c] = (uint8_t)(i * (7 + c) + 3);
		palette[i][3] = i < nalpha ? (uint8_t)(i * 5) : 255;
		trns[i] = palette[i][3];
	}
	put_chunk(&out, "PLTE", plte, 3 * n);
	if (nalpha)
		put_chunk(&out, "tRNS", trns, nalpha);
	return out;
}

static void check_indexed(struct kind k, uint32_t w, uint32_t h, unsigned n, unsigned nalpha)
{
	uint8_t palette[256][4];
	struct buf chunks = palette_chunks(n, nalpha, palette), png = make(k, w, h, &chunks);
	struct got g;

	read_png(&g, &png, w, h);
	assert_int_equal(g.img.ncolours, k.depth <= 4 ? 16 : 256);
	assert_memory_equal(g.img.palette, palette, g.img.ncolours * 4);
	for (uint32_t p = 0; p < w * h; p++) {
		assert_int_equal(g.img.indexed[p], sample(k, p % w, p / w, 0));
		assert_memory_equal(g.img.rgba + 4 * p, palette[sample(k, p % w, p / w, 0)], 4);
	}
	arena_free(&g.a);
	buf_free(&png);
	buf_free(&chunks);
}

static void test_indexed(void **state)
{
	(void)state;
	for (size_t s = 0; s < 2 * ARRAY_LEN(sizes); s++) {
		uint32_t w = sizes[s / 2].w, h = sizes[s / 2].h;
		bool interlaced = s & 1;

		check_indexed((struct kind){ INDEXED, 1, interlaced }, w, h, 2, 1);
		check_indexed((struct kind){ INDEXED, 2, interlaced }, w, h, 4, 0);
		check_indexed((struct kind){ INDEXED, 4, interlaced }, w, h, 16, 16);
		check_indexed((struct kind){ INDEXED, 8, interlaced }, w, h, 200, 3);
		check_indexed((struct kind){ INDEXED, 8, interlaced }, w, h, 256, 256);
	}
}

static void test_missing_colour(void **state)
{
	uint8_t palette[256][4];
	const struct kind k = { INDEXED, 2, false };
	struct buf chunks = palette_chunks(1, 0, palette), png = make(k, 9, 9, &chunks);
	struct got g;

	(void)state;
	assert_int_equal(try_png(&g, png.p, png.len, 9, 9), -EINVAL);
	assert_non_null(strstr(g.e.text, "of a palette of 1"));
	arena_free(&g.a);
	buf_free(&png);
	buf_free(&chunks);
	/* No palette at all. */
	png = make(k, 9, 9, NULL);
	assert_int_equal(try_png(&g, png.p, png.len, 9, 9), -EINVAL);
	arena_free(&g.a);
	buf_free(&png);
}

/* tRNS names one colour that is transparent. */
static void check_key(struct kind k)
{
	unsigned key[3], n = channels(k.type);
	struct buf chunks = { 0 }, png;
	uint8_t trns[6];
	struct got g;

	for (unsigned c = 0; c < n; c++) {
		key[c] = sample(k, 4, 2, c);
		trns[2 * c] = (uint8_t)(key[c] >> 8);
		trns[2 * c + 1] = (uint8_t)key[c];
	}
	put_chunk(&chunks, "tRNS", trns, 2 * n);
	png = make(k, 16, 8, &chunks);
	read_png(&g, &png, 16, 8);
	for (uint32_t p = 0; p < 16 * 8; p++) {
		bool same = true;

		for (unsigned c = 0; c < n; c++)
			same &= sample(k, p % 16, p / 16, c) == key[c];
		assert_int_equal(g.img.rgba[4 * p + 3], same ? 0 : 255);
	}
	assert_int_equal(g.img.rgba[4 * (2 * 16 + 4) + 3], 0);
	arena_free(&g.a);
	buf_free(&png);
	buf_free(&chunks);
}

static void test_transparent_colour(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!(kinds[i].type & 4))
			check_key(kinds[i]);
}

/* Colours are as stored whatever the file says of their meaning; the rest is skipped. */
static void test_extra_chunks(void **state)
{
	static uint8_t text[300000];
	const struct kind k = { TRUECOLOUR, 8, false };
	struct buf chunks = { 0 }, png;
	struct got g;

	(void)state;
	memset(text, 'a', sizeof text);
	memcpy(text, "Comment", 8);
	put_chunk(&chunks, "gAMA", "\0\1\x86\xa0", 4);     /* 1.0: far from what a screen shows */
	put_chunk(&chunks, "sRGB", "\0", 1);
	put_chunk(&chunks, "pHYs", "\0\0\x0b\x13\0\0\x0b\x13\1", 9);
	put_chunk(&chunks, "tEXt", text, sizeof text);
	put_chunk(&chunks, "prVt", text, 1000);
	png = make(k, 10, 10, &chunks);
	buf_add(&png, "what another program left here", 30);
	read_png(&g, &png, 10, 10);
	for (uint32_t p = 0; p < 100; p++)
		for (unsigned c = 0; c < 3; c++)
			assert_int_equal(g.img.rgba[4 * p + c], sample(k, p % 10, p / 10, c));
	arena_free(&g.a);
	buf_free(&png);
	buf_free(&chunks);
}

/* What png_write() makes comes back as it was. */
static void test_our_own(void **state)
{
	static uint8_t pixels[64 * 32], palette[256][4], rgba[64 * 32 * 4];
	struct geo_image img = { .w = 64, .h = 32, .indexed = pixels, .palette = palette };
	struct buf png = { 0 };
	struct got g;

	(void)state;
	for (unsigned i = 0; i < sizeof palette; i++)
		palette[i / 4][i % 4] = (uint8_t)(i * 37);
	for (unsigned i = 0; i < sizeof rgba; i++)
		rgba[i] = (uint8_t)(i * i >> 3);
	for (img.ncolours = 16; img.ncolours <= 256; img.ncolours *= 16) {
		for (unsigned i = 0; i < sizeof pixels; i++)
			pixels[i] = (uint8_t)(i * 13 % img.ncolours);
		assert_int_equal(png_write(&png, &img, NULL), 0);
		read_png(&g, &png, 64, 32);
		assert_int_equal(g.img.ncolours, img.ncolours);
		assert_memory_equal(g.img.indexed, pixels, sizeof pixels);
		assert_memory_equal(g.img.palette, palette, img.ncolours * 4);
		arena_free(&g.a);
		buf_free(&png);
	}
	img = (struct geo_image){ .w = 64, .h = 32, .rgba = rgba };
	assert_int_equal(png_write(&png, &img, NULL), 0);
	read_png(&g, &png, 64, 32);
	assert_memory_equal(g.img.rgba, rgba, sizeof rgba);
	assert_null(g.img.indexed);
	arena_free(&g.a);
	buf_free(&png);
}

static void test_wrong_size(void **state)
{
	struct buf png = make((struct kind){ GREY, 8, false }, 500, 500, NULL);
	uint32_t w, h;
	struct got g;

	(void)state;
	assert_int_equal(try_png(&g, png.p, png.len, 512, 512), -EINVAL);
	assert_string_equal(g.e.text, "512x512 needed, got 500x500");
	assert_int_equal(png_size(png.p, png.len, &w, &h, &g.e), 0);
	assert_int_equal(w, 500);
	assert_int_equal(h, 500);
	assert_int_equal(png_size(png.p, 20, &w, &h, &g.e), -EINVAL);
	assert_int_equal(png_size((const uint8_t *)"no picture", 10, &w, &h, &g.e), -EINVAL);
	assert_int_equal(g.a.used, 0);
	assert_int_equal(try_png(&g, png.p, png.len, 500, 499), -EINVAL);
	assert_string_equal(g.e.text, "500x499 needed, got 500x500");
	/* The header alone tells it. */
	assert_int_equal(try_png(&g, png.p, 33, 64, 64), -EINVAL);
	assert_string_equal(g.e.text, "64x64 needed, got 500x500");
	buf_free(&png);
}

/* Cut anywhere, or with any byte changed, but in the check sum of the end. */
static void test_broken(void **state)
{
	struct buf png = make((struct kind){ RGBA, 8, false }, 6, 5, NULL);
	struct got g;

	(void)state;
	for (size_t n = 0; n < png.len - 4; n++) {
		uint8_t *cut = malloc(n + 1);

		memcpy(cut, png.p, n);
		if (try_png(&g, cut, n, 6, 5) != -EINVAL)
			fail_msg("cut to %zu of %zu bytes", n, png.len);
		assert_non_null(strstr(g.e.text, "no PNG that can be read: "));
		arena_free(&g.a);
		free(cut);
	}
	for (size_t at = 0; at < png.len - 4; at++) {
		png.p[at] ^= 0x11;
		if (try_png(&g, png.p, png.len, 6, 5) != -EINVAL)
			fail_msg("byte %zu of %zu", at, png.len);
		png.p[at] ^= 0x11;
		arena_free(&g.a);
	}
	buf_free(&png);
	assert_int_equal(try_png(&g, "v 1 2 3\n", 8, 6, 5), -EINVAL);
	assert_int_equal(try_png(&g, "", 0, 6, 5), -EINVAL);
	assert_int_equal(try_png(&g, NULL, 0, 6, 5), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds), cmocka_unit_test(test_indexed), cmocka_unit_test(test_missing_colour),
		cmocka_unit_test(test_transparent_colour), cmocka_unit_test(test_extra_chunks),
		cmocka_unit_test(test_our_own), cmocka_unit_test(test_wrong_size), cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
