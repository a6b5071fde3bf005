/* Textures that are written: pictures with their further levels, DDS files of our own and of other programs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "build_tex.h"
#include "bytes.h"
#include "edited.h"

extern const struct format fmt_tex;

#define VOLUME 3u
#define ARRAY 5u
#define CUBE 6u

static void start(struct edited *k, struct build_tex t, size_t room)
{
	struct buf b = build_tex(t);

	edited_open(k, &fmt_tex, b.p, b.len, room);
	buf_free(&b);
}

/* ---- pictures ---- */

static void put(struct edited *k, uint32_t i, uint32_t w, uint32_t h, uint8_t *rgba)
{
	struct geo_image img = { .w = w, .h = h, .rgba = rgba };
	struct kept once;

	if (edited_image(k, i, &img))
		fail_msg("%s", k->why);
	once = edited_keep(k);
	if (edited_image(k, i, &img))
		fail_msg("again: %s", k->why);
	edited_same(k, &once);
}

/* One texel changes: so do those of the other levels that show it, and no others, however stale they are. */
static void test_one_texel(void **state)
{
	struct build_tex t = { .kind = ARRAY, .code = 0x07, .w = 4, .h = 4, .levels = 3, .images = 2 };
	struct buf b = build_tex(t);
	uint8_t rgba[64], want[84];
	struct edited k;

	(void)state;
	memset(rgba, 10, sizeof rgba);
	memset(b.p + build_tex_at(t, 3), 10, 64);
	memset(b.p + build_tex_at(t, 4), 77, 16);
	memset(b.p + build_tex_at(t, 5), 88, 4);
	edited_open(&k, &fmt_tex, b.p, b.len, b.len);
	put(&k, 1, 4, 4, rgba);
	edited_only(&k, 0, 0, 0);
	memcpy(rgba + 4 * (4 * 2 + 3), (const uint8_t[4]){ 50, 10, 10, 255 }, 4);
	put(&k, 1, 4, 4, rgba);
	memcpy(want, rgba, 64);
	memset(want + 64, 77, 12);
	memcpy(want + 76, (const uint8_t[8]){ 20, 10, 10, 71, 63, 60, 60, 76 }, 8);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 3), want, 84);
	assert_memory_equal(k.bytes[0], b.p, build_tex_at(t, 3));
	assert_string_equal(k.said, "image 1: levels 1 to 2 follow, averaged\n");
	edited_close(&k);
	buf_free(&b);
}

/* Linear light: half of 1 is 188, a quarter 137; alpha is no light. */
static void test_srgb(void **state)
{
	struct build_tex t = { .code = 0x09, .w = 2, .h = 2, .levels = 2 };
	uint8_t rgba[16] = { 0, 100, 0, 0, 255, 100, 0, 255, 255, 100, 0, 255, 0, 100, 255, 0 };
	struct edited k;

	(void)state;
	start(&k, t, 0);
	put(&k, 0, 2, 2, rgba);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 0), rgba, 16);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 1), "\xbc\x64\x89\x80", 4);
	assert_string_equal(k.said, "image 0: levels 1 to 1 follow, averaged in linear light\n");
	edited_close(&k);
}

/* Every number comes back when all texels have it. */
static void test_srgb_numbers(void **state)
{
	struct build_tex t = { .code = 0x09, .w = 256, .h = 2, .levels = 2 };
	uint8_t rgba[2048];
	struct edited k;

	(void)state;
	for (unsigned i = 0; i < 2048; i++)
		rgba[i] = (uint8_t)(i % 1024 / 8 * 2 + (i >= 1024 && i % 8 == 3));
	start(&k, t, 0);
	put(&k, 0, 256, 2, rgba);
	for (unsigned x = 0; x < 128; x++)
		for (unsigned c = 0; c < 3; c++)
			assert_int_equal(k.bytes[0][build_tex_at(t, 1) + 4 * x + c], 2 * x);
	edited_close(&k);
}

/* 5 x 3 texels become 2 x 1, each of two and a half columns; blue and alpha have no place. */
static void test_odd_sizes(void **state)
{
	struct build_tex t = { .code = 0x13, .w = 5, .h = 3, .levels = 3 };
	uint8_t rgba[60] = { 0 };
	struct edited k;

	(void)state;
	start(&k, t, 0);
	for (unsigned i = 0; i < 15; i++) {
		rgba[4 * i] = i % 5 == 2 ? 100 : 0;
		rgba[4 * i + 1] = i < 5 ? 90 : 0;
		rgba[4 * i + 3] = i == 7 ? 254 : 255;
	}
	put(&k, 0, 5, 3, rgba);
	for (unsigned i = 0; i < 15; i++)
		assert_memory_equal(k.bytes[0] + build_tex_at(t, 0) + 2 * i, rgba + 4 * i, 2);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 1), "\x14\x1e\x14\x1e\x14\x1e", 6);
	assert_string_equal(k.said, "image 0: blue and alpha of 1 texels are not stored\n"
			    "image 0: levels 1 to 2 follow, averaged\n"
			    "image 0: blue and alpha of 1 texels are not stored\n");
	edited_close(&k);
}

/* 7 rows become 3 of two and a third each: rows 0, 1 and a third of 2; two thirds of 2, 3 and two thirds of 4; ... */
static void test_thirds(void **state)
{
	struct build_tex t = { .code = 0x13, .w = 1, .h = 7, .levels = 2 };
	uint8_t rgba[28] = { 0 };
	struct edited k;

	(void)state;
	start(&k, t, 0);
	rgba[4 * 2] = 210;
	rgba[4 * 6 + 1] = 70;
	put(&k, 0, 1, 7, rgba);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 1), "\x1e\0\x3c\0\0\x1e", 6);         /* 30, 60; 30 */
	edited_close(&k);
}

static void test_slice(void **state)
{
	struct build_tex t = { .kind = VOLUME, .code = 0x07, .w = 2, .h = 1, .depth = 3 };
	uint8_t rgba[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct edited k;

	(void)state;
	start(&k, t, 0);
	put(&k, 0, 2, 1, rgba);
	edited_only(&k, 0, build_tex_at(t, 0), 8);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 0), rgba, 8);
	edited_close(&k);
}

static void test_refused_pictures(void **state)
{
	uint8_t rgba[64] = { 0 };
	struct geo_image img = { .w = 4, .h = 4, .rgba = rgba };
	struct edited k;

	(void)state;
	start(&k, (struct build_tex){ .code = 0x1f, .w = 4, .h = 4 }, 0);
	assert_int_equal(edited_image(&k, 0, &img), -EACCES);
	assert_string_equal(k.why, "a picture of BC7_SRGB cannot be written; write the DDS");
	edited_close(&k);
	start(&k, (struct build_tex){ .code = 0x07, .w = 4, .h = 3 }, 0);
	assert_int_equal(edited_image(&k, 0, &img), -EINVAL);
	assert_string_equal(k.why, "4x3 needed, got 4x4");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- DDS ---- */

/* A header of 148 bytes as texconv writes it, and n bytes behind it. */
struct dds10 { uint32_t w, h, depth, levels, dxgi, dimension, misc, images; };

static void put_words(struct buf *b, const uint32_t *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put32(b, v[i]);
}

static void put_data(struct buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put8(b, (unsigned)(i * 13 + i / 100 + 1));
}

static struct buf dds10(struct dds10 d, size_t n)
{
	const uint32_t head[37] = {
		0x20534444, 124, 0xa1007, d.h, d.w, 0, d.depth, d.levels, [19] = 32, 4, 0x30315844, [27] = 0x1000,
		[32] = d.dxgi, d.dimension ? d.dimension : 3, d.misc, d.images ? d.images : 1, 0
	};
	struct buf b = { 0 };

	put_words(&b, head, 37);
	put_data(&b, n);
	return b;
}

/* A header of 128 bytes. */
struct dds9 { uint32_t w, h, depth, levels, flags, letters, bits, masks[4], caps2; };

static struct buf dds9(struct dds9 d, size_t n)
{
	const uint32_t head[32] = {
		0x20534444, 124, 0x1007, d.h, d.w, 0, d.depth, d.levels, [19] = 32, d.flags, d.letters, d.bits,
		d.masks[0], d.masks[1], d.masks[2], d.masks[3], 0x1000, d.caps2
	};
	struct buf b = { 0 };

	put_words(&b, head, 32);
	put_data(&b, n);
	return b;
}

#define LETTERS(s) ((uint32_t)(s)[0] | (uint32_t)(s)[1] << 8 | (uint32_t)(s)[2] << 16 | (uint32_t)(s)[3] << 24)

/* Writes it twice; the second time changes nothing. Frees b. */
static void put_dds(struct edited *k, struct buf *b)
{
	struct kept once;

	if (edited_file(k, 0, 0, b->p, b->len))
		fail_msg("%s", k->why);
	once = edited_keep(k);
	if (edited_file(k, 0, 0, b->p, b->len))
		fail_msg("again: %s", k->why);
	edited_same(k, &once);
	buf_free(b);
}

static uint32_t word_at(const struct edited *k, unsigned at)
{
	return le_u32(k->bytes[0] + at);
}

static void test_own_dds(void **state)
{
	static const struct build_tex textures[] = {
		{ .code = 0x1f, .w = 16, .h = 8, .levels = 5 },
		{ .kind = CUBE, .code = 0x1c, .w = 8, .h = 8, .levels = 2, .images = 12 },
		{ .kind = VOLUME, .code = 0x13, .w = 4, .h = 4, .levels = 3, .depth = 5 },
		{ .kind = ARRAY, .code = 0x07, .w = 3, .h = 2, .levels = 2, .images = 3 },
		{ .kind = ARRAY, .code = 0x07, .w = 3, .h = 2 },
		{ .kind = 2, .code = 0x09, .w = 3, .h = 2, .images = 2 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(textures); i++) {
		struct source *src;
		struct edited k;
		uint8_t *all;
		size_t n;

		start(&k, textures[i], 0);
		assert_int_equal(fmt_tex.model->file(k.o, 0, 0, &src, NULL), 0);
		n = (size_t)src->size;
		all = malloc(n);
		assert_int_equal(src_pread(src, all, n, 0), 0);
		src_put(src);
		assert_int_equal(edited_file(&k, 0, 0, all, n), 0);
		edited_only(&k, 0, 0, 0);
		all[148] ^= 0xff;                      /* in place */
		all[n - 1] ^= 0xff;
		assert_int_equal(edited_file(&k, 0, 0, all, n), 0);
		assert_int_equal(k.bytes[0][build_tex_at(textures[i], 0)], all[148]);
		assert_int_equal(k.bytes[0][k.size[0] - 1], all[n - 1]);
		k.was[0][build_tex_at(textures[i], 0)] ^= 0xff;
		k.was[0][k.size[0] - 1] ^= 0xff;
		edited_only(&k, 0, 0, 0);
		assert_string_equal(k.said, "");
		free(all);
		edited_close(&k);
	}
}

/* Surfaces that do not lie tightly stay where they are. */
static void test_in_place_loose(void **state)
{
	struct build_tex t = { .code = 0x13, .w = 4, .h = 4, .levels = 2 };
	struct buf b = build_tex(t), d = dds10((struct dds10){ 4, 4, 1, 2, 49 }, 40);
	struct edited k;

	(void)state;
	put_le32(b.p + 0xb8 + 8, (uint32_t)build_tex_at(t, 1) + 3);
	buf_add(&b, "xyz", 3);
	edited_open(&k, &fmt_tex, b.p, b.len, b.len);
	assert_int_equal(edited_file(&k, 0, 0, d.p, d.len), 0);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 0), d.p + 148, 32);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 1), b.p + build_tex_at(t, 1), 3);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 1) + 3, d.p + 180, 8);
	edited_close(&k);
	buf_free(&b);
	buf_free(&d);
}

static void test_anew(void **state)
{
	struct build_tex was = { .code = 0x1f, .w = 16, .h = 8, .levels = 5 };
	struct build_tex t = { .kind = CUBE, .code = 0x16, .w = 8, .h = 8, .levels = 4, .images = 6 };
	struct buf b = build_tex(was), d = dds10((struct dds10){ 8, 8, 1, 4, 71, 3, 4, 1 }, 6 * 56);
	struct edited k;

	(void)state;
	b.p[0x44] = 1;
	edited_open(&k, &fmt_tex, b.p, b.len, 2000);
	put_dds(&k, &d);
	d = dds10((struct dds10){ 0 }, 6 * 56);
	assert_int_equal(k.size[0], 0xb8 + 24 * 8 + 6 * 56);
	assert_memory_equal(k.bytes[0], b.p, 0x10);
	assert_int_equal(word_at(&k, 0x10), 6);
	assert_int_equal(word_at(&k, 0x14), 4);
	assert_int_equal(word_at(&k, 0x18), 8);
	assert_int_equal(word_at(&k, 0x1c), 8);
	assert_int_equal(word_at(&k, 0x20), 6);
	assert_int_equal(word_at(&k, 0x24), 0x16);
	assert_memory_equal(k.bytes[0] + 0x28, b.p + 0x28, 0xb8 - 0x28);
	for (unsigned i = 0; i < 24; i++) {
		assert_int_equal(word_at(&k, 0xb8 + 8 * i), build_tex_at(t, i));
		assert_int_equal(word_at(&k, 0xbc + 8 * i), 0);
	}
	assert_memory_equal(k.bytes[0] + 0xb8 + 24 * 8, d.p + 148, 6 * 56);
	assert_null(k.o->faults);
	assert_string_equal(k.said, "texture of 16 x 8, 5 levels, 1 images of BC7_SRGB built anew as 8 x 8, 4 levels, "
			    "6 images of BC1\n");
	edited_close(&k);
	buf_free(&b);
	buf_free(&d);
}

/* Shorter is fine, too long is not. */
static void test_sizes(void **state)
{
	struct build_tex t = { .code = 0x07, .w = 4, .h = 4, .levels = 3 };
	struct buf d = dds10((struct dds10){ 1, 1, 1, 1, 28 }, 4);
	struct edited k;

	(void)state;
	start(&k, t, 0);
	put_dds(&k, &d);
	assert_int_equal(k.size[0], 0xb8 + 8 + 4);
	assert_memory_equal(k.bytes[0] + 0xc0, "\1\16\33\50", 4);
	edited_close(&k);
	start(&k, t, 0);
	d = dds10((struct dds10){ 8, 4, 1, 1, 28 }, 128);
	assert_int_equal(edited_file(&k, 0, 0, d.p, d.len), -ENOSPC);
	assert_string_equal(k.why, "the entry has room for 292 bytes: 28 bytes are missing");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
	buf_free(&d);
}

/* What a DDS of w x h texels becomes over a texture of `code`. */
static void becomes(uint32_t code, struct buf d, uint32_t kind, uint32_t is)
{
	struct edited k;

	start(&k, (struct build_tex){ .code = code, .w = 4, .h = 4 }, 4096);
	put_dds(&k, &d);
	assert_int_equal(word_at(&k, 0x10), kind);
	assert_int_equal(word_at(&k, 0x24), is);
	assert_null(k.o->faults);
	edited_close(&k);
}

static void test_letters(void **state)
{
	struct dds9 d = { .w = 4, .h = 4, .flags = 4 };
	static const struct { uint32_t letters, code; unsigned n; } known[] = {
		{ LETTERS("DXT1"), 0x16, 8 }, { LETTERS("ATI1"), 0x18, 8 }, { LETTERS("BC4U"), 0x18, 8 },
		{ LETTERS("ATI2"), 0x1a, 16 }, { LETTERS("BC5U"), 0x1a, 16 }, { 113, 0x02, 128 }, { 116, 0x01, 256 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(known); i++) {
		d.letters = known[i].letters;
		becomes(0x1e, dds9(d, known[i].n), 2, known[i].code);
	}
	/* Old headers say nothing of sRGB: colours stay what they were. */
	d.letters = LETTERS("DXT1");
	becomes(0x16, dds9(d, 8), 2, 0x16);
	becomes(0x17, dds9(d, 8), 2, 0x17);
	becomes(0x1f, dds9(d, 8), 2, 0x17);
	becomes(0x09, dds9(d, 8), 2, 0x17);
	becomes(0x1a, dds9(d, 8), 2, 0x16);
	d.letters = LETTERS("ATI2");
	becomes(0x1f, dds9(d, 16), 2, 0x1a);
	becomes(0x1f, dds10((struct dds10){ 4, 4, 0, 0, 71 }, 8), 2, 0x16);
	becomes(0x16, dds10((struct dds10){ 4, 4, 0, 0, 72 }, 8), 2, 0x17);
}

static void test_kinds(void **state)
{
	struct dds9 cube = { .w = 4, .h = 4, .flags = 4, .letters = LETTERS("DXT1"), .caps2 = 0xfe00 };
	struct dds9 volume = { .w = 4, .h = 4, .depth = 3, .flags = 4, .letters = LETTERS("DXT1"), .caps2 = 0x200000 };

	(void)state;
	becomes(0x16, dds9(cube, 48), 6, 0x16);
	becomes(0x16, dds9(volume, 24), 3, 0x16);
	becomes(0x16, dds10((struct dds10){ 4, 4, 2, 1, 71, 4 }, 16), 3, 0x16);
	becomes(0x16, dds10((struct dds10){ 4, 4, 1, 1, 71, 3, 0, 3 }, 24), 5, 0x16);
	becomes(0x16, dds10((struct dds10){ 4, 4, 1, 1, 71, 3, 4, 2 }, 96), 6, 0x16);
}

/* A volume keeps its depth with it; a picture in its place has none. */
static void test_depth(void **state)
{
	struct buf d = dds10((struct dds10){ 4, 4, 2, 1, 71, 4 }, 16);
	struct edited k;

	(void)state;
	start(&k, (struct build_tex){ .code = 0x16, .w = 4, .h = 4 }, 4096);
	put_dds(&k, &d);
	assert_int_equal(word_at(&k, 0x28), 2);
	d = dds10((struct dds10){ 4, 4, 1, 1, 71 }, 8);
	put_dds(&k, &d);
	assert_int_equal(word_at(&k, 0x28), 1);
	assert_int_equal(k.size[0], 0xc0 + 8);
	edited_close(&k);
}

/* The bytes of two texels: 1, 14, 27, 40 and 53, 66, 79, 92. */
static void pixels_become(uint32_t code, struct dds9 d, const char *want, size_t n)
{
	struct edited k;
	struct buf b;

	d.w = 2;
	d.h = 1;
	b = dds9(d, 8);
	start(&k, (struct build_tex){ .code = code, .w = 2, .h = 1 }, 4096);
	put_dds(&k, &b);
	assert_int_equal(word_at(&k, 0x24), code);
	assert_memory_equal(k.bytes[0] + 0xc0, want, n);
	edited_close(&k);
}

static void test_masks(void **state)
{
	const uint32_t r = 0xff, g = 0xff00, b = 0xff0000, a = 0xff000000;

	(void)state;
	pixels_become(0x07, (struct dds9){ .flags = 0x41, .bits = 32, .masks = { r, g, b, a } },
		      "\1\16\33\50\65\102\117\134", 8);
	pixels_become(0x07, (struct dds9){ .flags = 0x41, .bits = 32, .masks = { b, g, r, a } },
		      "\33\16\1\50\117\102\65\134", 8);
	pixels_become(0x09, (struct dds9){ .flags = 0x40, .bits = 32, .masks = { b, g, r, 0 } },
		      "\33\16\1\xff\117\102\65\xff", 8);
	pixels_become(0x07, (struct dds9){ .flags = 0x41, .bits = 32, .masks = { a, b, g, r } },
		      "\50\33\16\1\134\117\102\65", 8);
	pixels_become(0x13, (struct dds9){ .flags = 0x20001, .bits = 16, .masks = { r, 0, 0, g } }, "\1\16\33\50", 4);
	pixels_become(0x13, (struct dds9){ .flags = 0x40, .bits = 16, .masks = { r, g, 0, 0 } }, "\1\16\33\50", 4);
	becomes(0x07, dds10((struct dds10){ 4, 4, 1, 1, 87 }, 64), 2, 0x07);
	becomes(0x07, dds10((struct dds10){ 4, 4, 1, 1, 91 }, 64), 2, 0x09);
	becomes(0x09, dds10((struct dds10){ 4, 4, 1, 1, 88 }, 64), 2, 0x07);
	becomes(0x09, dds10((struct dds10){ 4, 4, 1, 1, 93 }, 64), 2, 0x09);
}

static void refused(struct buf d, const char *why)
{
	struct edited k;

	start(&k, (struct build_tex){ .code = 0x16, .w = 8, .h = 8, .levels = 2 }, 4096);
	assert_int_equal(edited_file(&k, 0, 0, d.p, d.len), -EINVAL);
	assert_string_equal(k.why, why);
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
	buf_free(&d);
}

static struct buf changed(struct buf d, size_t at, uint32_t value)
{
	put_le32(d.p + at, value);
	return d;
}

static struct buf cut(struct buf d, size_t n)
{
	d.len = n;
	return d;
}

static void test_refused(void **state)
{
	static const char can[] = "expected RGBA32F, RGBA16F, RGBA8, RG8, BC1, BC4, BC5, BC6H or BC7";
	const struct dds10 good = { 8, 8, 1, 2, 71 };
	const struct dds9 old = { .w = 8, .h = 8, .flags = 4 };
	struct dds9 letters = old;
	char why[160];

	(void)state;
	refused(cut(dds10(good, 40), 0), "no DDS: 0 bytes, its header alone has 128");
	refused(cut(dds10(good, 40), 127), "no DDS: 127 bytes, its header alone has 128");
	refused(cut(dds10(good, 40), 140), "no DDS: its header ends after 140 of 148 bytes");
	refused(changed(dds10(good, 40), 0, 0x474e5089), "no DDS: its magic, or a size in its header, is another");
	refused(changed(dds10(good, 40), 4, 128), "no DDS: its magic, or a size in its header, is another");
	refused(changed(dds10(good, 40), 76, 24), "no DDS: its magic, or a size in its header, is another");
	refused(dds10(good, 39),
		"DDS of 39 bytes behind its header, but 8 x 8 texels of BC1, 2 levels and 1 images are 40");
	refused(changed(dds10(good, 40), 28, 5), "5 levels of 8 x 8 texels, expected 1 to 4");
	refused(changed(dds10(good, 40), 16, 0), "0 x 8 texels, expected 1 to 65536 each way");
	refused(changed(dds10(good, 40), 12, 0xffffffff), "8 x 4294967295 texels, expected 1 to 65536 each way");
	refused(changed(dds10(good, 40), 132, 2), "DDS of dimension 2, expected 3 (2D) or 4 (3D)");
	refused(changed(dds10(good, 40), 140, 0), "DDS of 0 images, expected at least 1");
	refused(changed(dds10(good, 40), 140, 0x80000000), "DDS of 2147483648 images, expected at least 1");
	refused(dds10((struct dds10){ 8, 8, 2, 1, 71, 4, 0, 2 }, 40), "DDS of 2 images, expected 1 for a volume");
	snprintf(why, sizeof why, "DDS of BC3 (DXT4, DXT5), which no texture has; %s", can);
	refused(changed(dds10(good, 40), 128, 77), why);
	letters.letters = LETTERS("DXT5");
	refused(dds9(letters, 64), why);
	snprintf(why, sizeof why, "DDS of signed BC5, which no texture has; %s", can);
	letters.letters = LETTERS("BC5S");
	refused(dds9(letters, 64), why);
	snprintf(why, sizeof why, "DDS of DXGI format 24, which no texture has; %s", can);
	refused(changed(dds10(good, 40), 128, 24), why);
	letters.letters = LETTERS("UYVY");
	refused(dds9(letters, 64), "DDS of unknown pixel format 0x59565955");
	refused(dds9((struct dds9){ .w = 8, .h = 8, .flags = 0x40, .bits = 16, .masks = { 0xf800, 0x7e0, 0x1f } }, 128),
		"DDS of 16 bits with masks 0x0000f800, 0x000007e0, 0x0000001f, 0x00000000; expected bytes of red, "
		"green, blue and alpha");
	letters.letters = LETTERS("DXT1");
	letters.caps2 = 0x7e00;
	refused(dds9(letters, 256), "DDS of a cube without all of its faces");
}

static void test_bytes_behind(void **state)
{
	struct build_tex t = { .code = 0x16, .w = 4, .h = 4 };
	struct buf d = dds10((struct dds10){ 4, 4, 1, 1, 71 }, 11);
	struct edited k;

	(void)state;
	start(&k, t, 0);
	assert_int_equal(edited_file(&k, 0, 0, d.p, d.len), 0);
	assert_memory_equal(k.bytes[0] + build_tex_at(t, 0), d.p + 148, 8);
	assert_int_equal(k.size[0], k.size_was[0]);
	assert_string_equal(k.said, "DDS: 3 bytes behind its surfaces are left out\n");
	edited_close(&k);
	buf_free(&d);
}

/* Any header byte changed, any length: refused, or a sound texture. */
static void test_hostile_dds(void **state)
{
	struct dds9 old = {
		.w = 2, .h = 2, .flags = 0x41, .bits = 32, .masks = { 0xff, 0xff00, 0xff0000, 0xff000000 }
	};
	struct buf both[2] = { dds10((struct dds10){ 2, 2, 1, 2, 28 }, 20), dds9(old, 16) };
	struct edited k;

	(void)state;
	start(&k, (struct build_tex){ .code = 0x07, .w = 2, .h = 2, .levels = 2 }, 1 << 16);
	for (unsigned i = 0; i < 2; i++) {
		for (size_t n = 0; n < both[i].len; n++) {
			assert_true(edited_file(&k, 0, 0, both[i].p, n) < 0);
			assert_true(k.why[0]);
		}
		for (size_t at = 0; at < 148 && at < both[i].len; at++) {
			for (unsigned bit = 0; bit < 8; bit++) {
				both[i].p[at] ^= (uint8_t)(1u << bit);
				if (!edited_file(&k, 0, 0, both[i].p, both[i].len))
					assert_null(k.o->faults);
				both[i].p[at] ^= (uint8_t)(1u << bit);
			}
		}
		buf_free(&both[i]);
	}
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_texel), cmocka_unit_test(test_srgb), cmocka_unit_test(test_srgb_numbers),
		cmocka_unit_test(test_odd_sizes), cmocka_unit_test(test_thirds), cmocka_unit_test(test_slice),
		cmocka_unit_test(test_refused_pictures), cmocka_unit_test(test_own_dds),
		cmocka_unit_test(test_in_place_loose), cmocka_unit_test(test_anew), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_letters), cmocka_unit_test(test_kinds), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_masks), cmocka_unit_test(test_refused), cmocka_unit_test(test_bytes_behind),
		cmocka_unit_test(test_hostile_dds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
