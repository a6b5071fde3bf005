/* Textures: header, DDS and pictures of every format and kind; damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bc.h"
#include "build.h"
#include "build_tex.h"
#include "bytes.h"
#include "opened.h"

extern const struct format fmt_tex;

#define VOLUME 3u
#define ARRAY 5u
#define CUBE 6u

static struct opened open_tex(struct build_tex t)
{
	struct buf b = build_tex(t);

	return open_buf(&fmt_tex, &b);
}

/* ---- header ---- */

static void test_header(void **state)
{
	struct build_tex t = { .code = 0x1f, .w = 16, .h = 8, .levels = 5 };
	struct buf b = build_tex(t);
	struct opened k = open_bytes(&fmt_tex, b.p, b.len);

	(void)state;
	sound(k.o);
	assert_string_equal(k.o->variant->version, "16");
	section_doc_is(k.o, 0,
		       "# modelfs tex 16\n"
		       "version: 16  # derived\n"
		       "kind: 2d  # derived\n"
		       "mip_count: 5  # derived\n"
		       "width: 16  # derived\n"
		       "height: 8  # derived\n"
		       "image_count: 1  # derived\n"
		       "format: BC7_SRGB  # derived\n"
		       "depth: 1  # derived\n"
		       "unknown_44: 0\n");
	assert_int_equal(object_section(k.o, 0).size, 0xb8);
	assert_int_equal(object_section(k.o, 1).at, 0xb8);
	assert_int_equal(object_section(k.o, 1).size, 40);
	assert_int_equal(object_section(k.o, 2).at, 0xe0);
	assert_int_equal(object_section(k.o, 2).size, 8 * 16 + 2 * 16 + 16 + 16 + 16);
	close_opened(&k);
	b.p[0x08] = 1;
	b.p[0x2c + 11] = 2;
	b.p[0x3c] = 3;
	b.p[0x44] = 1;
	b.p[0x48] = 4;
	b.p[0x98 + 31] = 5;
	k = open_buf(&fmt_tex, &b);
	sound(k.o);
	section_doc_is(k.o, 0,
		       "# modelfs tex 16\n"
		       "version: 16  # derived\n"
		       "zero_08: \"0100000000000000\"\n"
		       "kind: 2d  # derived\n"
		       "mip_count: 5  # derived\n"
		       "width: 16  # derived\n"
		       "height: 8  # derived\n"
		       "image_count: 1  # derived\n"
		       "format: BC7_SRGB  # derived\n"
		       "depth: 1  # derived\n"
		       "zero_2c: \"000000000000000000000002\"\n"
		       "zero_3c: \"0300000000000000\"\n"
		       "unknown_44: 1\n"
		       "zero_48: \"04000000000000000000000000000000\"\n"
		       "zero_98: \"0000000000000000000000000000000000000000000000000000000000000005\"\n");
	close_opened(&k);
}

/* ---- DDS ---- */

static struct source *dds_of(struct opened *k)
{
	struct source *src = NULL;
	struct err e = { 0 };

	assert_true(fmt_tex.own[0].there(k->o, 0));
	if (fmt_tex.model->file(k->o, 0, 0, &src, &e))
		fail_msg("%s", e.text);
	return src;
}

/* The header's words from 4 on, by number; all others are 0. */
struct word { unsigned number; uint32_t value; };

static void dds_is(struct build_tex t, const struct word *word, unsigned n)
{
	struct buf b = build_tex(t);
	struct opened k = open_bytes(&fmt_tex, b.p, b.len);
	struct source *src = dds_of(&k);
	uint32_t want[37] = { 0 };
	uint8_t head[148], *all;
	size_t data = b.len - build_tex_at(t, 0);

	want[0] = 0x20534444;
	want[1] = 124;
	want[19] = 32;
	want[20] = 4;
	want[21] = 0x30315844;
	for (unsigned i = 0; i < n; i++)
		want[word[i].number] = word[i].value;
	assert_int_equal(src->size, 148 + data);
	assert_int_equal(src_pread(src, head, sizeof head, 0), 0);
	for (unsigned i = 0; i < 37; i++)
		if (le_u32(head + 4 * i) != want[i])
			fail_msg("word %u is 0x%x, expected 0x%x", i, le_u32(head + 4 * i), want[i]);
	all = malloc(data);
	assert_int_equal(src_pread(src, all, data, 148), 0);
	assert_memory_equal(all, b.p + build_tex_at(t, 0), data);
	free(all);
	object_close(k.o);                             /* the source lives longer than the object */
	k.o = NULL;
	assert_int_equal(src_pread(src, head, 4, 0), 0);
	assert_memory_equal(head, "DDS ", 4);
	src_put(src);
	close_opened(&k);
	buf_free(&b);
}
#define DDS_IS(t, ...) dds_is(t, (const struct word[]){ __VA_ARGS__ }, \
			      sizeof((const struct word[]){ __VA_ARGS__ }) / sizeof(struct word))

/* words: 2 flags, 3 height, 4 width, 5 pitch, 6 depth, 7 levels, 27 caps, 28 caps2, 32 format, 33 dimension, 34 misc,
 * 35 images */
static void test_dds(void **state)
{
	(void)state;
	DDS_IS(((struct build_tex){ .code = 0x1f, .w = 16, .h = 8, .levels = 5 }), { 2, 0xa1007 }, { 3, 8 }, { 4, 16 },
	       { 5, 128 }, { 6, 1 }, { 7, 5 }, { 27, 0x401008 }, { 32, 99 }, { 33, 3 }, { 35, 1 });
	DDS_IS(((struct build_tex){ .code = 0x07, .w = 5, .h = 3 }), { 2, 0x100f }, { 3, 3 }, { 4, 5 }, { 5, 20 },
	       { 6, 1 }, { 7, 1 }, { 27, 0x1000 }, { 32, 28 }, { 33, 3 }, { 35, 1 });
	DDS_IS(((struct build_tex){ .kind = CUBE, .code = 0x1c, .w = 8, .h = 8, .levels = 2, .images = 12 }),
	       { 2, 0xa1007 }, { 3, 8 }, { 4, 8 }, { 5, 64 }, { 6, 1 }, { 7, 2 }, { 27, 0x401008 }, { 28, 0xfe00 },
	       { 32, 95 }, { 33, 3 }, { 34, 4 }, { 35, 2 });
	DDS_IS(((struct build_tex){ .kind = VOLUME, .code = 0x13, .w = 4, .h = 2, .levels = 3, .depth = 5 }),
	       { 2, 0x82100f }, { 3, 2 }, { 4, 4 }, { 5, 8 }, { 6, 5 }, { 7, 3 }, { 27, 0x401008 }, { 28, 0x200000 },
	       { 32, 49 }, { 33, 4 }, { 35, 1 });
	DDS_IS(((struct build_tex){ .kind = ARRAY, .code = 0x02, .w = 3, .h = 2, .levels = 2, .images = 3 }),
	       { 2, 0x2100f }, { 3, 2 }, { 4, 3 }, { 5, 24 }, { 6, 1 }, { 7, 2 }, { 27, 0x401008 }, { 32, 10 },
	       { 33, 3 }, { 35, 3 });
}

static void test_dds_formats(void **state)
{
	static const struct { uint8_t code, dxgi; } known[] = {
		{ 0x01, 2 }, { 0x02, 10 }, { 0x07, 28 }, { 0x09, 29 }, { 0x13, 49 }, { 0x16, 71 }, { 0x17, 72 },
		{ 0x18, 80 }, { 0x1a, 83 }, { 0x1c, 95 }, { 0x1d, 96 }, { 0x1e, 98 }, { 0x1f, 99 },
	};
	uint8_t raw[4];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(known); i++) {
		struct opened k = open_tex((struct build_tex){ .code = known[i].code, .w = 9, .h = 6, .levels = 4 });
		struct source *src = dds_of(&k);

		sound(k.o);
		assert_int_equal(src_pread(src, raw, 4, 128), 0);
		assert_int_equal(le_u32(raw), known[i].dxgi);
		src_put(src);
		close_opened(&k);
	}
}

struct gap { uint64_t at, size; unsigned n; };

static int keep_gap(void *ctx, uint64_t at, uint64_t size)
{
	struct gap *g = ctx;

	*g = (struct gap){ at, size, g->n + 1 };
	return 0;
}

/* Bytes between surfaces are in no DDS; bytes behind them are a gap. */
static void test_loose_surfaces(void **state)
{
	struct build_tex t = { .code = 0x13, .w = 4, .h = 4, .levels = 2 };
	struct buf b = build_tex(t);
	struct source *src;
	struct gap gap = { 0 };
	struct opened k;
	uint8_t all[40];

	(void)state;
	put_le32(b.p + 0xb8 + 8, (uint32_t)build_tex_at(t, 1) + 3);
	buf_add(&b, "abcdefghijklmnop", 16);
	k = open_bytes(&fmt_tex, b.p, b.len);
	sound(k.o);
	src = dds_of(&k);
	assert_int_equal(src->size, 148 + 40);
	assert_int_equal(src_pread(src, all, 40, 148), 0);
	assert_memory_equal(all, b.p + build_tex_at(t, 0), 32);
	assert_memory_equal(all + 32, b.p + build_tex_at(t, 1) + 3, 8);
	assert_int_equal(object_gaps(k.o, keep_gap, &gap, NULL), 0);
	assert_int_equal(gap.n, 1);
	assert_int_equal(gap.at, build_tex_at(t, 1) + 11);
	assert_int_equal(gap.size, 13);
	src_put(src);
	close_opened(&k);
	buf_free(&b);
}

/* ---- pictures ---- */

static struct geo_image picture(struct opened *k, uint32_t i, struct arena *a)
{
	struct geo_image img = { 0 };
	struct err e = { 0 };

	assert_true(object_has(k->o, PART_IMAGE, i));
	if (fmt_tex.model->image(k->o, i, &img, a, &e))
		fail_msg("%s", e.text);
	return img;
}

static void test_plain_pictures(void **state)
{
	struct build_tex t = { .kind = ARRAY, .code = 0x09, .w = 5, .h = 3, .levels = 3, .images = 2 };
	struct buf b = build_tex(t);
	struct opened k = open_bytes(&fmt_tex, b.p, b.len);
	struct arena a = { 0 };
	struct geo_image img;

	(void)state;
	assert_int_equal(object_count(k.o, PART_IMAGE), 2);
	img = picture(&k, 1, &a);
	assert_int_equal(img.w, 5);
	assert_int_equal(img.h, 3);
	assert_memory_equal(img.rgba, b.p + build_tex_at(t, 3), 60);
	close_opened(&k);
	buf_free(&b);
	t = (struct build_tex){ .code = 0x13, .w = 3, .h = 2 };
	b = build_tex(t);
	memcpy(b.p + build_tex_at(t, 0), "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
	k = open_buf(&fmt_tex, &b);
	img = picture(&k, 0, &a);
	assert_memory_equal(img.rgba, "\1\2\0\xff\3\4\0\xff\5\6\0\xff\7\10\0\xff\11\12\0\xff\13\14\0\xff", 24);
	close_opened(&k);
	arena_free(&a);
}

/* Blocks are decoded as core/bc.h says, which test_bc.c knows; here: which blocks, and which texels of them. */
static void test_block_pictures(void **state)
{
	static const struct { uint8_t code; enum bc_format format; } known[] = {
		{ 0x16, BC1 }, { 0x17, BC1 }, { 0x18, BC4 }, { 0x1a, BC5 }, { 0x1e, BC7 }, { 0x1f, BC7 },
	};
	uint8_t block[16][4];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(known); i++) {
		struct build_tex t = { .code = known[i].code, .w = 10, .h = 6, .levels = 2 };
		struct buf b = build_tex(t);
		struct opened k = open_bytes(&fmt_tex, b.p, b.len);
		struct arena a = { 0 };
		struct geo_image img = picture(&k, 0, &a);
		unsigned n = bc_block_size(known[i].format);

		sound(k.o);
		for (unsigned y = 0; y < 6; y++) {
			for (unsigned x = 0; x < 10; x++) {
				bc_block(known[i].format, b.p + build_tex_at(t, 0) + (y / 4 * 3 + x / 4) * n, block);
				assert_memory_equal(img.rgba + (y * 10 + x) * 4, block[y % 4 * 4 + x % 4], 4);
			}
		}
		arena_free(&a);
		close_opened(&k);
		buf_free(&b);
	}
}

static void test_volume(void **state)
{
	struct build_tex t = { .kind = VOLUME, .code = 0x07, .w = 4, .h = 2, .depth = 3, .levels = 2 };
	struct buf b = build_tex(t);
	struct opened k = open_bytes(&fmt_tex, b.p, b.len);
	struct arena a = { 0 };

	(void)state;
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_IMAGE), 1);
	assert_memory_equal(picture(&k, 0, &a).rgba, b.p + build_tex_at(t, 0), 32);
	assert_int_equal(b.len, build_tex_at(t, 0) + 96 + 8);
	assert_false(fmt_tex.model->can_put(k.o, PART_IMAGE, 0));
	arena_free(&a);
	close_opened(&k);
	buf_free(&b);
}

/* More surfaces than are looked up at once. */
static void test_many_images(void **state)
{
	struct build_tex t = { .kind = ARRAY, .code = 0x07, .w = 2, .h = 1, .levels = 2, .images = 150 };
	struct buf b = build_tex(t);
	struct opened k = open_bytes(&fmt_tex, b.p, b.len);
	struct arena a = { 0 };

	(void)state;
	sound(k.o);
	for (unsigned i = 0; i < 150; i++)
		assert_memory_equal(picture(&k, i, &a).rgba, b.p + build_tex_at(t, 2 * i), 8);
	assert_int_equal(object_section(k.o, 2).size, 150 * 12);
	arena_free(&a);
	close_opened(&k);
	buf_free(&b);
}

static void test_which_pictures(void **state)
{
	static const struct { struct build_tex t; bool has, can_put; } cases[] = {
		{ { .code = 0x01, .w = 4, .h = 4 }, false, false }, { { .code = 0x02, .w = 4, .h = 4 }, false, false },
		{ { .code = 0x07, .w = 4, .h = 4 }, true, true }, { { .code = 0x09, .w = 4, .h = 4 }, true, true },
		{ { .code = 0x13, .w = 4, .h = 4, .levels = 3 }, true, true },
		{ { .code = 0x16, .w = 4, .h = 4 }, true, false }, { { .code = 0x17, .w = 4, .h = 4 }, true, false },
		{ { .code = 0x18, .w = 4, .h = 4 }, true, false }, { { .code = 0x1a, .w = 4, .h = 4 }, true, false },
		{ { .code = 0x1c, .w = 4, .h = 4 }, false, false }, { { .code = 0x1d, .w = 4, .h = 4 }, false, false },
		{ { .code = 0x1e, .w = 4, .h = 4 }, true, false }, { { .code = 0x1f, .w = 4, .h = 4 }, true, false },
		{ { .kind = CUBE, .code = 0x07, .w = 4, .h = 4, .images = 6, .levels = 3 }, true, true },
		{ { .kind = VOLUME, .code = 0x07, .w = 4, .h = 4, .depth = 4 }, true, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		struct opened k = open_tex(cases[i].t);

		sound(k.o);
		assert_int_equal(object_has(k.o, PART_IMAGE, 0), cases[i].has);
		assert_int_equal(fmt_tex.model->can_put(k.o, PART_IMAGE, 0), cases[i].can_put);
		close_opened(&k);
	}
}

/* ---- damage ---- */

/* Of 16 x 8 texels of BC7 in 5 levels, 432 bytes. */
static const struct { uint32_t at, value; const char *why; } damages[] = {
	{ 0x10, 4, "texture header at 0x10: kind 4, expected 2, 3, 5 or 6" },
	{ 0x14, 0, "texture header at 0x10: 0 levels of 16 x 8 texels, expected 1 to 5" },
	{ 0x14, 40, "texture header at 0x10: 40 levels of 16 x 8 texels, expected 1 to 5" },
	{ 0x14, 0xffffffff, "texture header at 0x10: 4294967295 levels of 16 x 8 texels, expected 1 to 5" },
	{ 0x18, 0, "texture header at 0x10: 0 x 8 texels, expected 1 to 65536 each way" },
	{ 0x18, 0xffffffff, "texture header at 0x10: 4294967295 x 8 texels, expected 1 to 65536 each way" },
	{ 0x1c, 65537, "texture header at 0x10: 16 x 65537 texels, expected 1 to 65536 each way" },
	{ 0x20, 0, "texture header at 0x10: 0 images, expected at least 1" },
	{ 0x20, 0x40000000, "texture header at 0x10: 1073741824 images of 5 levels, more than 65536 surfaces" },
	{ 0x20, 7, "surface offsets at 0xb8: 35 of them end past the 432 of the entry" },
	{ 0x24, 0x7f, "texture header at 0x10: format code 0x7f, which is not known" },
};

static void test_damaged_header(void **state)
{
	struct err e = { 0 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(damages); i++) {
		struct buf b = build_tex((struct build_tex){ .code = 0x1f, .w = 16, .h = 8, .levels = 5 });
		struct opened k;

		put_le32(b.p + damages[i].at, damages[i].value);
		k = open_buf(&fmt_tex, &b);
		assert_non_null(k.o->faults);
		assert_string_equal(k.o->faults->text, damages[i].why);
		assert_null(k.o->faults->next);
		assert_non_null(k.o->variant);                 /* header.yaml shows it */
		assert_int_equal(object_count(k.o, PART_IMAGE), 0);
		assert_false(fmt_tex.own[0].there(k.o, 0));
		assert_int_equal(object_section(k.o, 1).size, 0);
		assert_int_equal(object_verify(k.o, &e), -EBADMSG);
		close_opened(&k);
	}
}

static void one_kind(struct build_tex t, uint32_t at, uint32_t value, const char *why)
{
	struct buf b = build_tex(t);
	struct opened k;

	put_le32(b.p + at, value);
	k = open_buf(&fmt_tex, &b);
	assert_non_null(k.o->faults);
	assert_string_equal(k.o->faults->text, why);
	close_opened(&k);
}

static void test_damaged_kinds(void **state)
{
	(void)state;
	one_kind((struct build_tex){ .code = 0x07, .w = 2, .h = 2, .images = 7 }, 0x10, CUBE,
		 "texture header at 0x10: 7 images, expected a multiple of 6 for a cube");
	one_kind((struct build_tex){ .code = 0x07, .w = 2, .h = 2, .images = 2 }, 0x10, VOLUME,
		 "texture header at 0x10: 2 images of a volume, expected 1");
	one_kind((struct build_tex){ .kind = VOLUME, .code = 0x07, .w = 2, .h = 2 }, 0x28, 0,
		 "texture header at 0x10: a volume of 0 slices, expected 1 to 65536");
	one_kind((struct build_tex){ .kind = VOLUME, .code = 0x07, .w = 2, .h = 2 }, 0x28, 0xffffffff,
		 "texture header at 0x10: a volume of 4294967295 slices, expected 1 to 65536");
	one_kind((struct build_tex){ .kind = VOLUME, .code = 0x07, .w = 2, .h = 2 }, 0x28, 2,
		 "surface at 0xb8: level 0 of image 0: 32 bytes at 0xc0 end past the 208 of the entry");
}

/* A surface that is damaged costs its picture and the DDS; the other pictures stay. */
static void test_damaged_surface(void **state)
{
	struct build_tex t = { .kind = ARRAY, .code = 0x07, .w = 2, .h = 2, .levels = 2, .images = 3 };
	static const struct { uint64_t place; const char *why; } places[] = {
		{ UINT64_MAX - 7,
		  "surface at 0xc8: level 0 of image 1: 16 bytes at 0xfffffffffffffff8 end past the 292 of the entry" },
		{ 0, "surface at 0xc8: level 0 of image 1 lies at 0x0, expected 0xfc or behind" },
		{ 0xe8, "surface at 0xc8: level 0 of image 1 lies at 0xe8, expected 0xfc or behind" },
	};
	struct err e = { 0 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(places); i++) {
		struct buf b = build_tex(t);
		struct opened k;

		assert_int_equal(b.len, 292);
		put_le32(b.p + 0xc8, (uint32_t)places[i].place);
		put_le32(b.p + 0xcc, (uint32_t)(places[i].place >> 32));
		k = open_buf(&fmt_tex, &b);
		assert_non_null(k.o->faults);
		assert_string_equal(k.o->faults->text, places[i].why);
		assert_null(k.o->faults->next);
		assert_int_equal(object_count(k.o, PART_IMAGE), 3);
		assert_true(object_has(k.o, PART_IMAGE, 0));
		assert_false(object_has(k.o, PART_IMAGE, 1));
		assert_true(object_has(k.o, PART_IMAGE, 2));
		assert_false(fmt_tex.own[0].there(k.o, 0));
		assert_int_equal(object_verify(k.o, &e), -EBADMSG);
		close_opened(&k);
	}
}

/* One byte is missing at the end: the last level of the last image. */
static void test_cut_surface(void **state)
{
	struct build_tex t = { .kind = ARRAY, .code = 0x07, .w = 2, .h = 2, .levels = 2, .images = 2 };
	struct buf b = build_tex(t);
	struct opened k;

	(void)state;
	b.len--;
	k = open_buf(&fmt_tex, &b);
	assert_string_equal(k.o->faults->text,
			    "surface at 0xd0: level 1 of image 1: 4 bytes at 0xfc end past the 255 of the entry");
	assert_true(object_has(k.o, PART_IMAGE, 1));
	assert_false(fmt_tex.model->can_put(k.o, PART_IMAGE, 1));
	assert_true(fmt_tex.model->can_put(k.o, PART_IMAGE, 0));
	close_opened(&k);
}

/* Claims cost nothing. */
static void test_hostile_sizes(void **state)
{
	static const uint32_t codes[] = { 0x01, 0x07, 0x16, 0x1f };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(codes); i++) {
		struct buf b = build_tex((struct build_tex){ .kind = VOLUME, .code = codes[i], .w = 4, .h = 4 });
		struct opened k;

		put_le32(b.p + 0x18, 65535);
		put_le32(b.p + 0x1c, 65535);
		put_le32(b.p + 0x28, 65535);
		k = open_buf(&fmt_tex, &b);
		assert_non_null(k.o->faults);
		assert_true(k.o->arena.used < 4096);
		assert_false(object_has(k.o, PART_IMAGE, 0));
		close_opened(&k);
	}
}

static void test_no_header(void **state)
{
	struct buf b = build_tex((struct build_tex){ .code = 0x07, .w = 2, .h = 2 });
	struct opened k;

	(void)state;
	b.len = 0xb7;
	k = open_buf(&fmt_tex, &b);
	assert_null(k.o->variant);
	assert_string_equal(k.o->faults->text, "texture header at 0x0: 184 bytes end past the 183 of the entry");
	close_opened(&k);
}

static void use_everything(const uint8_t *p, size_t n)
{
	struct opened k = open_bytes(&fmt_tex, p, n);
	struct source *src;
	struct err e = { 0 };
	uint8_t byte;

	for (uint32_t i = 0; i < object_count(k.o, PART_IMAGE); i++) {
		struct arena a = { 0 };
		struct geo_image img;

		if (object_has(k.o, PART_IMAGE, i))
			assert_int_equal(fmt_tex.model->image(k.o, i, &img, &a, &e), 0);
		fmt_tex.model->can_put(k.o, PART_IMAGE, i);
		arena_free(&a);
	}
	if (k.o->variant && fmt_tex.own[0].there(k.o, 0)) {
		src = dds_of(&k);
		assert_int_equal(src_pread(src, &byte, 1, src->size - 1), 0);
		src_put(src);
	}
	if (object_verify(k.o, &e))
		assert_true(e.text[0]);
	close_opened(&k);
	bid_for(&fmt_tex, p, n);
}

static void test_hostile_bytes(void **state)
{
	static const struct build_tex textures[] = {
		{ .code = 0x1f, .w = 16, .h = 8, .levels = 5 },
		{ .kind = CUBE, .code = 0x07, .w = 2, .h = 2, .levels = 2, .images = 6 },
		{ .kind = VOLUME, .code = 0x13, .w = 4, .h = 4, .levels = 3, .depth = 4 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(textures); i++) {
		struct buf b = build_tex(textures[i]);

		each_cut(&b, use_everything);
		each_change(&b, use_everything);
		buf_free(&b);
	}
}

static void test_probe(void **state)
{
	struct buf b = build_tex((struct build_tex){ .code = 0x07, .w = 2, .h = 2 });

	(void)state;
	assert_int_equal(bid_for(&fmt_tex, b.p, b.len), 100);
	assert_int_equal(bid_for(&fmt_tex, b.p, 8), 100);
	assert_int_equal(bid_for(&fmt_tex, b.p, 7), 0);
	b.p[4] = 0x9d;                                         /* of other games */
	assert_int_equal(bid_for(&fmt_tex, b.p, b.len), 0);
	b.p[4] = 0x10;
	b.p[6] = 0x20;
	assert_int_equal(bid_for(&fmt_tex, b.p, b.len), 0);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header), cmocka_unit_test(test_dds), cmocka_unit_test(test_dds_formats),
		cmocka_unit_test(test_loose_surfaces), cmocka_unit_test(test_plain_pictures),
		cmocka_unit_test(test_block_pictures), cmocka_unit_test(test_volume),
		cmocka_unit_test(test_many_images),
		cmocka_unit_test(test_which_pictures), cmocka_unit_test(test_damaged_header),
		cmocka_unit_test(test_damaged_kinds), cmocka_unit_test(test_damaged_surface),
		cmocka_unit_test(test_cut_surface), cmocka_unit_test(test_hostile_sizes),
		cmocka_unit_test(test_no_header), cmocka_unit_test(test_hostile_bytes), cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
