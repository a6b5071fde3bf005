/* Texture banks: every pixel format against the layout spec/mhp.md 4 gives, the documents, damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_tmh.h"
#include "bytes.h"
#include "export.h"
#include "opened.h"

extern const struct format fmt_tmh;

/* ---- an opened bank ---- */

static struct opened open_picture(struct picture p)
{
	struct buf b = { 0 };

	begin_bank(&b, 1);
	add_image(&b, p);
	return open_buf(&fmt_tmh, &b);
}

static struct geo_image picture(struct opened *k, uint32_t i, struct arena *a)
{
	struct geo_image img = { 0 };
	struct err e = { 0 };

	if (fmt_tmh.model->image(k->o, i, &img, a, &e))
		fail_msg("%s", e.text);
	return img;
}

static void is_colour(const uint8_t *c, uint8_t r, uint8_t g, uint8_t b, uint8_t a)
{
	const uint8_t want[4] = { r, g, b, a };

	assert_memory_equal(c, want, 4);
}

/* Offset of byte x, y of a swizzled picture, as the specification says it. */
static size_t swizzled(uint32_t pitch, uint32_t x, uint32_t y)
{
	return (size_t)(y / 8) * pitch * 8 + (size_t)(x / 16) * 128 + y % 8 * 16 + x % 16;
}

/* ---- the minimal bank of the specification ---- */

static const uint8_t minimal_head[] = {
	'.', 'T', 'M', 'H', '0', '.', '1', '4', 1, 0, 0, 0, 0, 0, 0, 0,
	0x50, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0x10, 1, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0x40, 0, 8, 0
};
static const uint8_t minimal_clut[] = { 0x30, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0x10, 0, 0, 0 };

static struct opened minimal(void)
{
	struct buf b = { 0 };

	buf_add(&b, minimal_head, sizeof minimal_head);
	for (unsigned i = 0; i < 256; i++)
		buf_char(&b, (char)i);
	buf_add(&b, minimal_clut, sizeof minimal_clut);
	for (unsigned i = 0; i < 16; i++) {
		buf_char(&b, (char)i);         /* red i, alpha set from 8 on */
		buf_char(&b, (char)(i < 8 ? 0 : 0x80));
	}
	return open_buf(&fmt_tmh, &b);
}

static void test_minimal(void **state)
{
	struct opened k = minimal();
	struct arena a = { 0 };
	struct geo_image img;

	(void)state;
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_IMAGE), 1);
	assert_int_equal(object_section(k.o, 0).size, 16);
	assert_int_equal(object_section(k.o, 1).at, 16);
	assert_int_equal(object_section(k.o, 1).size, 0x150);
	img = picture(&k, 0, &a);
	assert_int_equal(img.w, 64);
	assert_int_equal(img.h, 8);
	assert_null(img.rgba);
	assert_int_equal(img.ncolours, 16);
	is_colour(img.palette[0], 0, 0, 0, 0);
	is_colour(img.palette[5], 5 << 3 | 5 >> 2, 0, 0, 0);
	is_colour(img.palette[15], 15 << 3 | 15 >> 2, 0, 0, 255);
	for (uint32_t y = 0; y < 8; y++) {
		for (uint32_t x = 0; x < 64; x++) {
			uint8_t stored = (uint8_t)swizzled(32, x / 2, y);

			assert_int_equal(img.indexed[y * 64 + x], x & 1 ? stored >> 4 : stored & 15);
		}
	}
	arena_free(&a);
	close_opened(&k);
}

static void test_documents(void **state)
{
	struct opened k = minimal();

	(void)state;
	section_doc_is(k.o, 0, "# modelfs tmh 0.14\nimage_count: 1  # derived\n");
	doc_is(k.o, DOC_IMAGE, 0,
	       "width: 64  # derived\n"
	       "height: 8  # derived\n"
	       "format: clut4  # derived\n"
	       "swizzled: true  # derived\n"
	       "palette_format: rgba5551  # derived\n"
	       "palette_entries: 16  # derived\n"
	       "palettes:\n"
	       "- [[0, 0, 0, 0], [8, 0, 0, 0], [16, 0, 0, 0], [24, 0, 0, 0], [33, 0, 0, 0], [41, 0, 0, 0], "
	       "[49, 0, 0, 0], [57, 0, 0, 0], [66, 0, 0, 255], [74, 0, 0, 255], [82, 0, 0, 255], [90, 0, 0, 255], "
	       "[99, 0, 0, 255], [107, 0, 0, 255], [115, 0, 0, 255], [123, 0, 0, 255]]\n");
	assert_int_equal(fmt_tmh.model->doc(k.o, DOC_IMAGE, 1, NULL, NULL), -ENOENT);
	assert_int_equal(fmt_tmh.model->doc(k.o, DOC_CLIP, 0, NULL, NULL), -ENOENT);
	close_opened(&k);

	k = open_picture((struct picture){ .format = F8888, .w = 3, .h = 2, .npixels = 24 });
	doc_is(k.o, DOC_IMAGE, 0, "width: 3  # derived\nheight: 2  # derived\nformat: rgba8888  # derived\n"
	       "swizzled: false  # derived\n");
	close_opened(&k);
}

static void test_several_palettes(void **state)
{
	struct opened k = open_picture((struct picture){ CLUT4, 32, 8, NULL, 128, F8888, 40, NULL });
	const uint8_t *colours = k.bytes + 16 + 32 + 128 + 16;
	struct arena a = { 0 };
	struct geo_image img = picture(&k, 0, &a);
	char *text = text_of(k.o, DOC_IMAGE, 0);
	unsigned rows = 0;

	(void)state;
	sound(k.o);
	assert_int_equal(img.ncolours, 16);
	assert_memory_equal(img.palette, colours, 64);
	for (const char *row = text; (row = strstr(row, "\n- [")); row++)
		rows++;
	assert_int_equal(rows, 2);             /* of 16; the 8 colours left over make no palette */
	free(text);
	arena_free(&a);
	close_opened(&k);
}

/* ---- colours ---- */

static unsigned widen(unsigned v, unsigned bits)
{
	return bits == 4 ? v * 17 : bits == 5 ? v << 3 | v >> 2 : v << 2 | v >> 4;
}

/* All 65536 values of a 16-bit format as one picture; verify() narrows them again. */
static void test_direct_colours(void **state)
{
	static uint8_t pixels[131072];
	struct arena a = { 0 };

	(void)state;
	for (unsigned i = 0; i < 65536; i++)   /* rows of 256 pixels: 512 bytes */
		put_le16(pixels + swizzled(512, i % 256 * 2, i / 256), (uint16_t)i);
	for (uint32_t f = F5650; f <= F4444; f++) {
		struct opened k = open_picture((struct picture){ f, 256, 256, pixels, sizeof pixels, 0, 0, NULL });
		struct geo_image img = picture(&k, 0, &a);

		sound(k.o);
		for (unsigned v = 0; v < 65536; v++) {
			const uint8_t *c = img.rgba + 4 * (size_t)v;

			if (f == F5650)
				is_colour(c, (uint8_t)widen(v & 31, 5), (uint8_t)widen(v >> 5 & 63, 6),
					  (uint8_t)widen(v >> 11, 5), 255);
			else if (f == F5551)
				is_colour(c, (uint8_t)widen(v & 31, 5), (uint8_t)widen(v >> 5 & 31, 5),
					  (uint8_t)widen(v >> 10 & 31, 5), v >> 15 ? 255 : 0);
			else
				is_colour(c, (uint8_t)widen(v & 15, 4), (uint8_t)widen(v >> 4 & 15, 4),
					  (uint8_t)widen(v >> 8 & 15, 4), (uint8_t)widen(v >> 12, 4));
		}
		close_opened(&k);
	}
	arena_free(&a);
}

/* ---- rows ---- */

static void test_swizzle(void **state)
{
	/* one block of 16 bytes by 8 rows each way and more */
	static const struct { uint32_t format, w, h, pitch; } t[] = {
		{ CLUT4, 32, 8, 16 }, { CLUT4, 96, 16, 48 }, { CLUT8, 16, 8, 16 }, { CLUT8, 48, 24, 48 },
		{ CLUT8, 32, 12, 32 },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		size_t n = (size_t)t[i].pitch * ((t[i].h + 7) / 8 * 8);
		struct picture p = { t[i].format, t[i].w, t[i].h, NULL, n, F5551, 256, NULL };
		struct opened k = open_picture(p);
		const uint8_t *stored = k.bytes + 48;
		struct geo_image img = picture(&k, 0, &a);

		sound(k.o);
		for (uint32_t y = 0; y < t[i].h; y++) {
			for (uint32_t x = 0; x < t[i].w; x++) {
				uint8_t got = img.indexed[(size_t)y * t[i].w + x];

				if (t[i].format == CLUT8)
					assert_int_equal(got, stored[swizzled(t[i].pitch, x, y)]);
				else
					assert_int_equal(got, stored[swizzled(t[i].pitch, x / 2, y)] >> x % 2 * 4 & 15);
			}
		}
		close_opened(&k);
	}
	arena_free(&a);
}

/* The second band of a picture of 12 rows lacks its last 128 bytes: they read as zero. */
static void test_short_band(void **state)
{
	struct opened k = open_picture((struct picture){ CLUT8, 32, 12, NULL, 32 * 12, F5551, 256, NULL });
	struct arena a = { 0 };
	struct geo_image img = picture(&k, 0, &a);
	const uint8_t *stored = k.bytes + 48;

	(void)state;
	sound(k.o);
	for (uint32_t y = 0; y < 12; y++) {
		for (uint32_t x = 0; x < 32; x++) {
			size_t at = swizzled(32, x, y);

			assert_int_equal(img.indexed[y * 32 + x], at < 32 * 12 ? stored[at] : 0);
		}
	}
	arena_free(&a);
	close_opened(&k);
}

static void rows_lie(uint32_t format, uint32_t w, uint32_t h, size_t n, size_t pitch)
{
	struct opened k = open_picture((struct picture){ format, w, h, NULL, n, F5551, 256, NULL });
	struct arena a = { 0 };
	struct geo_image img = picture(&k, 0, &a);
	const uint8_t *stored = k.bytes + 48;

	sound(k.o);
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			assert_int_equal(img.indexed[y * w + x], format == CLUT8 ? stored[y * pitch + x] :
					 stored[y * pitch + x / 2] >> x % 2 * 4 & 15);
	arena_free(&a);
	close_opened(&k);
}

static void test_rows_in_order(void **state)
{
	(void)state;
	rows_lie(CLUT8, 24, 5, 24 * 5, 24);            /* longer than 16 bytes, but no multiple */
	rows_lie(CLUT4, 48, 8, 24 * 8, 24);
	rows_lie(CLUT8, 8, 8, 64, 8);                  /* short rows, packed */
	rows_lie(CLUT8, 8, 8, 127, 8);
	rows_lie(CLUT8, 8, 8, 128, 16);                /* short rows, 16 bytes apart */
	rows_lie(CLUT4, 16, 8, 64, 8);
	rows_lie(CLUT4, 16, 8, 128, 16);
	rows_lie(CLUT4, 5, 3, 9, 3);                   /* half a byte at the end of a row belongs to no pixel */
	rows_lie(CLUT8, 1, 1, 1, 1);
}

/* ---- palette numbers that a PNG cannot hold ---- */

static void test_looked_up(void **state)
{
	static const uint8_t colours[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	static const uint8_t clut16[] = { 2, 0, 1, 0, 0, 0, 2, 0 }, clut32[] = { 1, 0, 0, 0, 2, 0, 0, 0 };
	static const uint8_t wild[] = { 0, 0, 0, 0, 0, 0, 3, 0 };
	struct opened k = open_picture((struct picture){ CLUT16, 2, 2, clut16, 8, F8888, 3, colours });
	struct arena a = { 0 };
	struct geo_image img = picture(&k, 0, &a);
	struct err e;

	(void)state;
	sound(k.o);
	assert_null(img.indexed);
	is_colour(img.rgba, 9, 10, 11, 12);
	is_colour(img.rgba + 4, 5, 6, 7, 8);
	is_colour(img.rgba + 8, 1, 2, 3, 4);
	is_colour(img.rgba + 12, 9, 10, 11, 12);
	doc_is(k.o, DOC_IMAGE, 0, "width: 2  # derived\nheight: 2  # derived\nformat: clut16  # derived\n"
	       "swizzled: false  # derived\npalette_format: rgba8888  # derived\npalette_entries: 3  # derived\n"
	       "palettes:\n- [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]\n");
	close_opened(&k);

	k = open_picture((struct picture){ CLUT32, 1, 2, clut32, 8, F8888, 3, colours });
	sound(k.o);
	img = picture(&k, 0, &a);
	is_colour(img.rgba + 4, 9, 10, 11, 12);
	close_opened(&k);

	k = open_picture((struct picture){ CLUT16, 2, 2, wild, 8, F8888, 3, colours });
	assert_null(k.o->faults);              /* only the pixels tell */
	assert_int_equal(fmt_tmh.model->image(k.o, 0, &img, &a, &e), -EBADMSG);
	assert_string_equal(e.text, "image 0 at 0x10: pixel 1, 1 has colour 3 of a CLUT of 3");
	close_opened(&k);
	arena_free(&a);
}

/* ---- DXT ---- */

static void test_dxt1(void **state)
{
	/* ends 0xf81f (red 31, blue 31) and 0x07e0 (green 63): four colours; then the other way round: transparent */
	static const uint8_t blocks[] = {
		0xe4, 0x00, 0x55, 0xff, 0x1f, 0xf8, 0xe0, 0x07,
		0xe4, 0x00, 0x55, 0xaa, 0xe0, 0x07, 0x1f, 0xf8,
	};
	struct opened k = open_picture((struct picture){ DXT1, 8, 4, blocks, sizeof blocks, 0, 0, NULL });
	struct arena a = { 0 };
	struct geo_image img = picture(&k, 0, &a);

	(void)state;
	sound(k.o);
	is_colour(img.rgba, 248, 0, 248, 255);
	is_colour(img.rgba + 4, 0, 252, 0, 255);
	is_colour(img.rgba + 8, 165, 84, 165, 255);            /* (2 * 248 + 0) / 3, 252 / 3 */
	is_colour(img.rgba + 12, 82, 168, 82, 255);
	is_colour(img.rgba + 16, 0, 252, 0, 255);              /* second block */
	is_colour(img.rgba + 20, 248, 0, 248, 255);
	is_colour(img.rgba + 24, 124, 126, 124, 255);
	is_colour(img.rgba + 28, 0, 0, 0, 0);
	is_colour(img.rgba + 4 * (8 + 3), 248, 0, 248, 255);
	is_colour(img.rgba + 4 * (16 + 1), 0, 252, 0, 255);
	is_colour(img.rgba + 4 * (24 + 7), 124, 126, 124, 255);
	doc_is(k.o, DOC_IMAGE, 0, "width: 8  # derived\nheight: 4  # derived\nformat: dxt1  # derived\n"
	       "swizzled: false  # derived\n");
	arena_free(&a);
	close_opened(&k);
}

static void test_dxt_alpha(void **state)
{
	/* white and black; every pixel takes end 0 */
	static const uint8_t dxt3[] = { 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe };
	/* alpha numbers 0..7 in order: 48 bits 0xfac688fac688 */
	static const uint8_t seven[] = { 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0x88, 0xc6, 0xfa, 0x88, 0xc6, 0xfa, 210, 70 };
	static const uint8_t five[] = { 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0x88, 0xc6, 0xfa, 0x88, 0xc6, 0xfa, 50, 100 };
	static const uint8_t steps[][8] = {
		{ 210, 70, 190, 170, 150, 130, 110, 90 }, { 50, 100, 60, 70, 80, 90, 0, 255 }
	};
	struct arena a = { 0 };
	struct opened k = open_picture((struct picture){ DXT3, 4, 4, dxt3, 16, 0, 0, NULL });
	struct geo_image img = picture(&k, 0, &a);

	(void)state;
	sound(k.o);
	for (unsigned i = 0; i < 16; i++)
		is_colour(img.rgba + 4 * i, 248, 252, 248, (uint8_t)(i << 4));
	close_opened(&k);
	for (unsigned t = 0; t < 2; t++) {
		k = open_picture((struct picture){ DXT5, 4, 4, t ? five : seven, 16, 0, 0, NULL });
		sound(k.o);
		img = picture(&k, 0, &a);
		for (unsigned i = 0; i < 16; i++)
			is_colour(img.rgba + 4 * i, 248, 252, 248, steps[t][i % 8]);
		close_opened(&k);
	}
	arena_free(&a);
}

/* A picture of 5 x 6 is four blocks; what hangs over the edge is not shown. */
static void test_dxt_edges(void **state)
{
	uint8_t blocks[32] = { 0 };
	struct arena a = { 0 };
	struct geo_image img;
	struct opened k;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		put_le16(blocks + 8 * i + 4, (uint16_t)((i + 1) << 11));
	k = open_picture((struct picture){ DXT1, 5, 6, blocks, sizeof blocks, 0, 0, NULL });
	sound(k.o);
	img = picture(&k, 0, &a);
	for (uint32_t y = 0; y < 6; y++)
		for (uint32_t x = 0; x < 5; x++)
			is_colour(img.rgba + 4 * (y * 5 + x), (uint8_t)((1 + y / 4 * 2 + x / 4) << 3), 0, 0, 255);
	arena_free(&a);
	close_opened(&k);
}

/* Noise in every format goes through the picture and back. */
static void test_all_formats_encode(void **state)
{
	static const uint8_t bits[] = { 16, 16, 16, 32, 4, 8, 16, 32, 4, 8, 8 };
	static const struct { uint32_t w, h; } sizes[] = {
		{ 1, 1 }, { 3, 7 }, { 8, 8 }, { 16, 9 }, { 32, 8 }, { 64, 20 }, { 20, 4 }
	};
	struct buf b = { 0 };
	struct opened k;

	(void)state;
	begin_bank(&b, 11 * ARRAY_LEN(sizes));
	for (uint32_t f = 0; f < 11; f++)
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
			add_image(&b, (struct picture){ f, sizes[i].w, sizes[i].h, NULL,
				  (size_t)(sizes[i].w + 3) / 4 * 4 * ((sizes[i].h + 3) / 4 * 4) * bits[f] / 8, i % 4,
				  f >= CLUT4 && f <= CLUT32 ? 256 : 0, NULL });
	build_noise(&b, 32, 7);
	k = open_buf(&fmt_tmh, &b);
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_IMAGE), 11 * ARRAY_LEN(sizes));
	close_opened(&k);
}

/* ---- damage ---- */

/* Two images: CLUT8 of 32 x 16 at 0x10, CLUT4 of 64 x 8 at 0x440. */
static struct buf two_images(void)
{
	struct buf b = { 0 };

	begin_bank(&b, 2);
	add_image(&b, (struct picture){ CLUT8, 32, 16, NULL, 512, F5551, 256, NULL });
	add_image(&b, (struct picture){ CLUT4, 64, 8, NULL, 256, F8888, 32, NULL });
	return b;
}

static void test_damaged_image(void **state)
{
	static const struct { uint32_t at, value; const char *text; } t[] = {
		{ 0x20, 0xfffffff0, "image 0 at 0x10: pixel block of 4294967280 bytes, expected 16 to 1056" },
		{ 0x20, 4, "image 0 at 0x10: pixel block of 4 bytes, expected 16 to 1056" },
		{ 0x28, 77, "image 0 at 0x10: pixel format 77, expected 0 to 10" },
		{ 0x2c, 0x100000, "image 0 at 0x10: 0 x 16 pixels, expected at least 1 x 1" },
		{ 0x2c, 32, "image 0 at 0x10: 32 x 0 pixels, expected at least 1 x 1" },
		{ 0x2c, 0xffffffff,
		  "image 0 at 0x10: 512 bytes of pixels, but 65535 x 65535 pixels of clut8 are 4294836225" },
		{ 0x2c, 0x110020, "image 0 at 0x10: 512 bytes of pixels, but 32 x 17 pixels of clut8 are 544" },
		{ 0x1c, 0, "image 0 at 0x10: clut8 without a CLUT block" },
		{ 0x20, 0x420,
		  "image 0 at 0x10: no room for a CLUT block behind the pixel block of 1056 bytes in 1072" },
		{ 0x230, 15, "image 0 at 0x230: CLUT block of 15 bytes, expected 16 to 528" },
		{ 0x230, 529, "image 0 at 0x230: CLUT block of 529 bytes, expected 16 to 528" },
		{ 0x238, 9, "image 0 at 0x230: CLUT of colour format 9, expected 0 to 3" },
		{ 0x23c, 4, "image 0 at 0x230: CLUT of 4 colours, but clut8 needs at least 256" },
		{ 0x23c, 0xfffffff0,
		  "image 0 at 0x230: CLUT of 4294967280 colours of 2 bytes ends past the 528 bytes of its block" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct buf b = two_images();
		struct arena a = { 0 };
		struct geo_image img;
		struct opened k;
		struct err e;

		put_le32(b.p + t[i].at, t[i].value);
		k = open_buf(&fmt_tmh, &b);
		assert_non_null(k.o->faults);
		assert_null(k.o->faults->next);
		assert_string_equal(k.o->faults->text, t[i].text);
		assert_true(object_gone(k.o, PART_IMAGE, 0));
		assert_int_equal(object_count(k.o, PART_IMAGE), 2);
		assert_int_equal(fmt_tmh.model->image(k.o, 0, &img, &a, &e), -EBADMSG);
		assert_string_equal(e.text, t[i].text);
		assert_int_equal(picture(&k, 1, &a).w, 64);    /* the other one stays */
		assert_int_equal(object_verify(k.o, &e), -EBADMSG);
		arena_free(&a);
		close_opened(&k);
	}
}

static void test_lost_chain(void **state)
{
	static const struct { uint32_t at, value, images; const char *text; } t[] = {
		{ 0x08, 0xfffffff0, 2, "image 2 at 0x5f0: header of 32 bytes, but 0 are left; "
		  "of 4294967280 images this and the later ones cannot be found" },
		{ 0x10, 0, 0, "image 0 at 0x10: size 0, expected 32 to 1504; "
		  "of 2 images this and the later ones cannot be found" },
		{ 0x440, 0xfffffff0, 1, "image 1 at 0x440: size 4294967280, expected 32 to 432; "
		  "of 2 images this and the later ones cannot be found" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct buf b = two_images();
		struct opened k;

		put_le32(b.p + t[i].at, t[i].value);
		k = open_buf(&fmt_tmh, &b);
		assert_non_null(object_find_fault(k.o, PART_OBJECT, 0));
		assert_string_equal(object_find_fault(k.o, PART_OBJECT, 0)->text, t[i].text);
		assert_ptr_equal(k.o->variant, fmt_tmh.variants);
		assert_int_equal(object_count(k.o, PART_IMAGE), t[i].images);
		assert_true(k.o->arena.used < 4096);
		close_opened(&k);
	}
}

/* Words that are only tags are kept as they are. */
static void test_tolerated(void **state)
{
	struct buf b = two_images();
	struct opened k;

	(void)state;
	put_le32(b.p + 0x18, 3);
	put_le32(b.p + 0x24, 8);
	put_le32(b.p + 0x234, 7);
	k = open_buf(&fmt_tmh, &b);
	sound(k.o);
	close_opened(&k);
}

static int count_gap(void *ctx, uint64_t at, uint64_t size)
{
	uint64_t *gap = ctx;

	gap[0] = at;
	gap[1] = size;
	return 0;
}

static void test_tail_and_none(void **state)
{
	struct buf b = two_images();
	uint64_t gap[2] = { 0 };
	struct opened k;

	(void)state;
	build_noise(&b, 100, 1);
	k = open_buf(&fmt_tmh, &b);
	sound(k.o);
	assert_int_equal(object_gaps(k.o, count_gap, gap, NULL), 0);
	assert_int_equal(gap[0], 0x5f0);
	assert_int_equal(gap[1], 100);
	close_opened(&k);

	begin_bank(&b, 0);
	k = open_buf(&fmt_tmh, &b);
	sound(k.o);
	assert_int_equal(object_section(k.o, 1).size, 0);
	close_opened(&k);

	k = open_bytes(&fmt_tmh, ".TMH0.14\0\0\0", 11);
	assert_null(k.o->variant);
	assert_string_equal(k.o->faults->text, "bank header at 0x0: 16 bytes end past the 11 of the entry");
	close_opened(&k);
	k = open_bytes(&fmt_tmh, ".TMH0.15\0\0\0\0\0\0\0\0", 16);
	assert_null(k.o->variant);
	close_opened(&k);
}

/* Many damaged images: the first ones get a line each, all are refused. */
static void test_many_damaged(void **state)
{
	struct buf b = { 0 };
	struct arena a = { 0 };
	struct geo_image img;
	struct err e;
	struct opened k;
	unsigned lines = 0;

	(void)state;
	begin_bank(&b, 70000);
	for (unsigned i = 0; i < 70000; i++)
		add_image(&b, (struct picture){ .format = 99, .w = 1, .h = 1 });
	k = open_buf(&fmt_tmh, &b);
	for (const struct fault *f = k.o->faults; f; f = f->next)
		lines++;
	assert_int_equal(lines, 257);
	assert_string_equal(object_find_fault(k.o, PART_OBJECT, 0)->text,
			    "image 65536 at 0x200010: at most 65536 of 70000 images are read");
	assert_int_equal(fmt_tmh.model->image(k.o, 60000, &img, &a, &e), -EBADMSG);
	assert_string_equal(e.text, "image 60000 at 0x1d4c10: pixel format 99, expected 0 to 10");
	arena_free(&a);
	close_opened(&k);
}

/* ---- hostile bytes ---- */

static void use_everything(const uint8_t *p, size_t n)
{
	struct opened k = open_bytes(&fmt_tmh, p, n);
	struct err e;

	for (uint32_t i = 0; i < object_count(k.o, PART_IMAGE); i++) {
		struct arena a = { 0 };
		struct geo_image img;
		struct buf b = { 0 };
		struct ydoc y;

		if (!fmt_tmh.model->image(k.o, i, &img, &a, &e)) {
			assert_false(object_gone(k.o, PART_IMAGE, i));
			assert_true(img.w && img.h);
		}
		ydoc_init(&y, &b);
		fmt_tmh.model->doc(k.o, DOC_IMAGE, i, &y.doc, &e);
		buf_free(&b);
		arena_free(&a);
	}
	if (object_verify(k.o, &e))
		assert_true(e.text[0]);
	close_opened(&k);
}

static struct buf small_bank(void)
{
	struct buf b = { 0 };

	begin_bank(&b, 5);
	add_image(&b, (struct picture){ CLUT4, 32, 4, NULL, 64, F5551, 16, NULL });
	add_image(&b, (struct picture){ CLUT16, 2, 2, "\0\0\1\0\2\0\3", 8, F8888, 4, NULL });
	add_image(&b, (struct picture){ DXT5, 4, 4, NULL, 16, 0, 0, NULL });
	add_image(&b, (struct picture){ F5650, 3, 2, NULL, 12, 0, 0, NULL });
	add_image(&b, (struct picture){ CLUT8, 16, 2, NULL, 32, F4444, 256, NULL });
	return b;
}

static void test_cut_anywhere(void **state)
{
	struct buf b = small_bank();

	(void)state;
	each_cut(&b, use_everything);
	buf_free(&b);
}

static void test_any_byte_changed(void **state)
{
	struct buf b = small_bank();

	(void)state;
	each_change(&b, use_everything);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minimal), cmocka_unit_test(test_documents),
		cmocka_unit_test(test_several_palettes), cmocka_unit_test(test_direct_colours),
		cmocka_unit_test(test_swizzle), cmocka_unit_test(test_short_band),
		cmocka_unit_test(test_rows_in_order), cmocka_unit_test(test_looked_up),
		cmocka_unit_test(test_dxt1), cmocka_unit_test(test_dxt_alpha),
		cmocka_unit_test(test_dxt_edges), cmocka_unit_test(test_all_formats_encode),
		cmocka_unit_test(test_damaged_image), cmocka_unit_test(test_lost_chain),
		cmocka_unit_test(test_tolerated), cmocka_unit_test(test_tail_and_none),
		cmocka_unit_test(test_many_damaged), cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_any_byte_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
