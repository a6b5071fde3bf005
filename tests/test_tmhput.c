/* Pictures with a palette written into texture banks: which bytes change, and to what. And any picture left as it is,
 * of another size, or in a damaged bank. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "export.h"
#include "painting.h"

/* ---- nothing changed ---- */

static size_t stored_size(uint32_t f, uint32_t w, uint32_t h)
{
	static const uint8_t bits[] = { 16, 16, 16, 32, 4, 8, 16, 32, 4, 8, 8 };

	return (size_t)(w + 3) / 4 * 4 * ((h + 3) / 4 * 4) * bits[f] / 8;
}

static void unchanged(uint32_t f, uint32_t w, uint32_t h, uint32_t clut)
{
	size_t n = stored_size(f, w, h);
	bool wide = f == CLUT16 || f == CLUT32;
	uint8_t *pixels = calloc(n, 1);
	struct picture pic = { f, w, h, wide ? pixels : NULL, n, clut, f >= CLUT4 && f <= CLUT32 ? 256 : 0, NULL };
	struct edited k;
	struct painting p;

	assert_non_null(pixels);
	for (size_t i = 0; i < n; i += f == CLUT16 ? 2 : 4)
		pixels[i] = (uint8_t)(i * 7);
	open_picture(&k, pic);
	p = paint(&k);
	put_rgba(&k, &p);
	edited_only(&k, 0, 0, 0);
	if (p.img.indexed) {
		put_indexed(&k, &p);
		edited_only(&k, 0, 0, 0);
	}
	assert_string_equal(k.said, "");
	done(&k, &p);
	free(pixels);
}

static void test_unchanged(void **state)
{
	static const struct { uint32_t w, h; } sizes[] = {
		{ 1, 1 }, { 3, 7 }, { 8, 8 }, { 16, 9 }, { 32, 8 }, { 64, 20 }, { 20, 4 }
	};

	(void)state;
	for (uint32_t f = 0; f < 11; f++)
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
			for (uint32_t clut = 0; clut < (f >= CLUT4 && f <= CLUT32 ? 4 : 1); clut++)
				unchanged(f, sizes[i].w, sizes[i].h, clut);
}

static void test_wrong_size(void **state)
{
	struct edited k;
	uint8_t rgba[64] = { 0 };
	struct geo_image img = { .w = 4, .h = 3, .rgba = rgba };

	(void)state;
	open_picture(&k, (struct picture){ F8888, 4, 2, NULL, 32, 0, 0, NULL });
	assert_int_equal(edited_image(&k, 0, &img), -EINVAL);
	assert_string_equal(k.why, "4x2 needed, got 4x3");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void test_damaged(void **state)
{
	static const uint8_t wild[8] = { 0, 0, 3, 0, 0, 0, 0, 0 };
	struct edited k;
	uint8_t rgba[16] = { 0 };
	struct geo_image img = { .w = 2, .h = 2, .rgba = rgba };

	(void)state;
	open_picture(&k, (struct picture){ CLUT16, 2, 2, wild, 8, F8888, 3, NULL });
	assert_int_equal(edited_image(&k, 0, &img), -EBADMSG);
	assert_string_equal(k.why, "image 0 at 0x10: pixel 1, 0 has colour 3 of a CLUT of 3");
	edited_close(&k);
}

/* ---- palette numbers ---- */

/* CLUT4 of 4 x 2, packed: 01 23 / 45 67 from the left. Sixteen colours of 5551, opaque: entry i has red i * 2; entry 7
 * is entry 3 again. */
#define CLUT_AT (PIXELS_AT + 4 + 16)

static void open_little(struct edited *k)
{
	static const uint8_t pixels[4] = { 0x10, 0x32, 0x54, 0x76 };
	uint8_t colours[32];

	for (unsigned i = 0; i < 16; i++)
		put_le16(colours + 2 * i, (uint16_t)(0x8000 | (i == 7 ? 3 : i) * 2));
	open_picture(k, (struct picture){ CLUT4, 4, 2, pixels, 4, F5551, 16, colours });
}

static void entry_is(const struct edited *k, unsigned i, unsigned v)
{
	assert_int_equal(le_u16(k->bytes[0] + CLUT_AT + 2 * i), v);
}

static void pixels_are(const struct edited *k, uint32_t v)
{
	assert_int_equal(le_u32(k->bytes[0] + PIXELS_AT), v);
}

static void test_known_colours(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_little(&k);
	pixels_are(&k, 0x76543210);
	p = paint(&k);
	dot(&p, 1, 0, 82, 0, 0, 255);                  /* entry 5: red 10, 82 of 255 */
	dot(&p, 0, 0, 49, 0, 0, 255);                  /* entries 3 and 7: the first one */
	put_rgba(&k, &p);
	pixels_are(&k, 0x76543253);                    /* the last pixel keeps its 7 */
	edited_only(&k, 0, PIXELS_AT, 1);
	assert_string_equal(k.said, "");
	shows_all(&k, &p);
	done(&k, &p);
}

/* A colour that narrows to one in the palette is that one. */
static void test_rounded_colours(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_little(&k);
	p = paint(&k);
	dot(&p, 1, 0, 84, 2, 1, 200);
	put_rgba(&k, &p);
	pixels_are(&k, 0x76543250);
	shows(&k, 1, 0, 82, 0, 0, 255);
	edited_only(&k, 0, PIXELS_AT, 1);
	done(&k, &p);
}

/* All pixels of one colour get another: their entry does. */
static void test_recoloured(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_little(&k);
	p = paint(&k);
	dot(&p, 1, 1, 0, 255, 0, 255);
	put_rgba(&k, &p);
	pixels_are(&k, 0x76543210);
	entry_is(&k, 5, 0x83e0);
	edited_only(&k, 0, CLUT_AT + 10, 2);
	shows_all(&k, &p);
	done(&k, &p);
}

/* Entries 0 to 7 are used. A new colour beside the old one takes entry 8, which is not; one whose pixel gave up entry 1
 * takes that. */
static void test_new_colours(void **state)
{
	static const uint8_t pixels[4] = { 0x00, 0x21, 0x32, 0x44 };
	uint8_t colours[32];
	struct edited k;
	struct painting p;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		put_le16(colours + 2 * i, (uint16_t)(0x8000 | i));
	open_picture(&k, (struct picture){ CLUT4, 4, 2, pixels, 4, F5551, 16, colours });
	p = paint(&k);
	dot(&p, 0, 0, 0, 0, 255, 255);                 /* entry 0 stays for the pixel beside it */
	dot(&p, 2, 0, 0, 255, 0, 255);                 /* entry 1 is free now */
	put_rgba(&k, &p);
	entry_is(&k, 0, 0x8000);
	entry_is(&k, 1, 0x83e0);
	entry_is(&k, 5, 0xfc00);                       /* the first that was never used */
	pixels_are(&k, 0x44322105);
	shows_all(&k, &p);
	for (unsigned i = 2; i < 16; i++)
		if (i != 5)
			entry_is(&k, i, 0x8000 | i);
	done(&k, &p);
}

/* Sixteen entries used, four of them equal; a seventeenth colour takes the place of one of those. */
static void test_equal_entries_make_room(void **state)
{
	static const uint8_t pixels[16] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0xff };
	uint8_t colours[64];
	struct edited k;
	struct painting p;
	const uint8_t *entries;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		put_le32(colours + 4 * i, 0xff000000 | (i < 4 ? 77 : i));
	open_picture(&k, (struct picture){ CLUT4, 16, 2, pixels, 16, F8888, 16, colours });
	entries = k.bytes[0] + PIXELS_AT + 16 + 16;
	p = paint(&k);
	dot(&p, 0, 1, 1, 2, 3, 4);                     /* was entry 15, which others use too */
	put_rgba(&k, &p);
	shows_all(&k, &p);
	assert_int_equal(le_u32(entries), 0xff00004d);
	assert_int_equal(le_u32(entries + 4), 0x04030201);
	for (unsigned i = 2; i < 16; i++)
		assert_int_equal(le_u32(entries + 4 * i), 0xff000000 | (i < 4 ? 77 : i));
	assert_int_equal(k.bytes[0][PIXELS_AT], 0x00); /* 1 became 0 */
	assert_int_equal(k.bytes[0][PIXELS_AT + 1], 0x32);
	assert_int_equal(k.bytes[0][PIXELS_AT + 8], 0xf1);
	done(&k, &p);
}

/* The numbers of the PNG are those stored: its palette is the new one; only entries that differ are written, and none
 * that no pixel has, which programs blank when they save. */
static void test_palette_edit(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_little(&k);
	p = paint(&k);
	memcpy(p.img.palette[3], (uint8_t[]){ 255, 0, 255, 255 }, 4);
	memcpy(p.img.palette[5], (uint8_t[]){ 0, 0, 9, 0 }, 4);        /* 9 * 31 / 255 = 1.1 */
	memset(p.img.palette[8], 0, 32);
	put_indexed(&k, &p);
	pixels_are(&k, 0x76543210);
	entry_is(&k, 3, 0xfc1f);
	entry_is(&k, 5, 0x0400);
	entry_is(&k, 7, 0x8006);                       /* equal before, but its own */
	edited_only(&k, 0, CLUT_AT + 6, 6);
	assert_string_equal(k.said, "image 0: 8 colours of the palette that no pixel has differ and stay; "
			    "K.yaml sets them\n");
	done(&k, &p);
}

/* A PNG with a shorter palette says nothing of the entries behind it. */
static void test_short_palette(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_little(&k);
	p = paint(&k);
	p.img.ncolours = 8;
	memset(p.img.palette[8], 0, 32);
	put_indexed(&k, &p);
	edited_only(&k, 0, 0, 0);
	assert_string_equal(k.said, "");
	done(&k, &p);
}

/* Another order of the same colours in a PNG is no change. */
static void test_other_order(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_little(&k);
	p = paint(&k);
	for (unsigned i = 0; i < 8; i++)
		p.img.indexed[i] ^= 15;
	for (unsigned i = 0; i < 8; i++) {
		uint8_t c[4];

		memcpy(c, p.img.palette[i], 4);
		memcpy(p.img.palette[i], p.img.palette[15 - i], 4);
		memcpy(p.img.palette[15 - i], c, 4);
	}
	put_indexed(&k, &p);
	edited_only(&k, 0, 0, 0);
	done(&k, &p);
}

/* A left pixel lies in the low half; 64 pixels of 4 bits are 32 bytes: pixel 35, 9 is in the second column of blocks
 * (256 bytes of the first 8 rows, 128, row 1, byte 1). */
static void test_swizzled(void **state)
{
	uint8_t colours[64], pixels[512] = { 0 };
	struct edited k;
	struct painting p;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		put_le32(colours + 4 * i, i * 0x01010101);
	open_picture(&k, (struct picture){ CLUT4, 64, 16, pixels, 512, F8888, 16, colours });
	p = paint(&k);
	dot(&p, 35, 9, 6, 6, 6, 6);
	put_rgba(&k, &p);
	edited_only(&k, 0, PIXELS_AT + 256 + 128 + 16 + 1, 1);
	assert_int_equal(k.bytes[0][PIXELS_AT + 401], 0x60);
	done(&k, &p);
}

/* 32 x 12 in 32 * 12 bytes: the second column of the last rows is cut off, from 16, 8 on. */
static void test_short_band(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ CLUT8, 32, 12, NULL, 32 * 12, F8888, 256, NULL });
	p = paint(&k);
	dot(&p, 20, 9, 1, 2, 3, 4);
	dot(&p, 31, 11, 1, 2, 3, 4);
	put_rgba(&k, &p);
	edited_only(&k, 0, 0, 0);
	assert_string_equal(k.said, "image 0: 2 pixels of the last rows are not stored and stay as they are\n"
			    "image 0: 2 pixels of the last rows are not stored and stay as they are\n");
	memcpy(pixel(&p, 3, 9), p.img.palette[0], 4);
	put_rgba(&k, &p);
	edited_only(&k, 0, PIXELS_AT + 256 + 16 + 3, 1);
	done(&k, &p);
}

/* CLUT16 of 2 x 2 with three colours. */
static void test_wide_numbers(void **state)
{
	static const uint8_t colours[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	static const uint8_t pixels[] = { 2, 0, 1, 0, 0, 0, 2, 0 };
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ CLUT16, 2, 2, pixels, 8, F8888, 3, colours });
	p = paint(&k);
	dot(&p, 0, 0, 1, 2, 3, 4);
	put_rgba(&k, &p);
	edited_only(&k, 0, PIXELS_AT, 1);
	assert_int_equal(k.bytes[0][PIXELS_AT], 0);
	dot(&p, 1, 0, 20, 21, 22, 23);                 /* instead of entry 1 */
	put_rgba(&k, &p);
	assert_memory_equal(k.bytes[0] + PIXELS_AT + 8 + 16 + 4, ((uint8_t[]){ 20, 21, 22, 23 }), 4);
	dot(&p, 1, 1, 30, 30, 30, 30);                 /* and entry 2; then there is no room for a fourth */
	put_rgba(&k, &p);
	shows_all(&k, &p);
	dot(&p, 0, 1, 31, 31, 31, 31);
	put_rgba(&k, &p);
	assert_non_null(strstr(k.said, "image 0: 4 colours reduced to 3, mean squared error 0."));
	done(&k, &p);
}

/* ---- transparent colours, too many colours ---- */

/* Seventeen colours, if each transparent one counts; they do not have to. */
static void test_transparent_fold(void **state)
{
	uint8_t colours[64], pixels[16] = { 0 };
	struct edited k;
	struct painting p;

	(void)state;
	for (unsigned i = 0; i < 16; i++)
		put_le32(colours + 4 * i, i == 5 ? 0x00c0ffee : 0xff000000 | i);
	open_picture(&k, (struct picture){ CLUT4, 8, 4, pixels, 16, F8888, 16, colours });
	p = paint(&k);
	for (unsigned i = 0; i < 32; i++)
		dot(&p, i % 8, i / 8, (uint8_t)(i < 15 ? 100 + i : i), 0, 0, i < 15 ? 255 : 0);
	put_rgba(&k, &p);
	for (unsigned i = 0; i < 15; i++)
		shows(&k, i % 8, i / 8, (uint8_t)(100 + i), 0, 0, 255);
	for (unsigned i = 15; i < 32; i++)
		shows(&k, i % 8, i / 8, 0xee, 0xff, 0xc0, 0);
	assert_string_equal(k.said, "");
	done(&k, &p);
}

/* With room they stay different. */
static void test_transparent_exact(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ CLUT4, 4, 2, "\x10\x32\x54\x76", 4, F8888, 16, NULL });
	p = paint(&k);
	dot(&p, 0, 0, 1, 2, 3, 0);
	dot(&p, 1, 0, 3, 2, 1, 0);
	put_rgba(&k, &p);
	shows_all(&k, &p);
	done(&k, &p);
}

/* A ramp of 1024 greys, two and two the same in 5 bits, into 16 of them: each stands for two of the 32. */
static void test_reduced(void **state)
{
	uint8_t pixels[512] = { 0 }, colours[128];
	struct edited k;
	struct painting p, now;
	double sum = 0;

	(void)state;
	memset(colours, 0x11, sizeof colours);
	open_picture(&k, (struct picture){ CLUT4, 32, 32, pixels, 512, F5551, 48, colours });
	p = paint(&k);
	for (unsigned i = 0; i < 1024; i++)
		dot(&p, i % 32, i / 32, (uint8_t)(i / 4), (uint8_t)(i / 4), (uint8_t)(i / 4), 255);
	put_rgba(&k, &p);
	assert_memory_equal(k.bytes[0] + PIXELS_AT + 512 + 16 + 32, k.was[0] + PIXELS_AT + 512 + 16 + 32, 64);
	assert_non_null(strstr(k.said, "image 0: 256 colours reduced to 16, mean squared error "));
	assert_non_null(strstr(k.said, "image 0: the picture has 3 palettes, the first was changed\n"));
	now = paint(&k);
	for (unsigned i = 0; i < 4096; i++)
		sum += (p.img.rgba[i] - now.img.rgba[i]) * (p.img.rgba[i] - now.img.rgba[i]);
	assert_true(sum / 3072 < 24);                  /* 21.25 if any grey could be stored; see test_quantise */
	arena_free(&now.a);
	done(&k, &p);
}

/* Transparent pixels stay so, whatever else there is; 5650 has none. */
static void test_reduced_transparent(void **state)
{
	uint8_t pixels[1024] = { 0 }, colours[1024] = { 0 };

	(void)state;
	for (uint32_t clut = F5650; clut <= F5551; clut++) {
		struct edited k;
		struct painting p, now;

		open_picture(&k, (struct picture){ CLUT8, 32, 32, pixels, 1024, clut, 256, colours });
		p = paint(&k);
		for (unsigned i = 0; i < 1024; i++)
			dot(&p, i % 32, i / 32, (uint8_t)(i * 7), (uint8_t)(i / 4), (uint8_t)i, i % 3 ? 255 : 0);
		put_rgba(&k, &p);
		now = paint(&k);
		for (unsigned i = 0; i < 1024; i++)
			assert_int_equal(now.img.rgba[4 * i + 3], clut != F5650 && i % 3 == 0 ? 0 : 255);
		arena_free(&now.a);
		done(&k, &p);
	}
}

/* ---- palettes in K.yaml ---- */

#define DARK "[0, 0, 0, 255]"

static void test_yaml(void **state)
{
	static const uint8_t colours[] = { 0x00, 0x00, 0x1f, 0x80, 0x00, 0x7c };
	static const uint8_t pixels[] = { 2, 0, 1, 0, 0, 0, 2, 0 };
	struct edited k;

	(void)state;
	open_picture(&k, (struct picture){ CLUT16, 2, 2, pixels, 8, F5551, 3, colours });
	assert_int_equal(edited_yaml(&k, DOC_IMAGE, 0, "width: 2\npalettes:\n"
				     "- [[0, 0, 0, 0], [255, 0, 0, 255], [0, 0, 255, 0]]\n"), 0);
	edited_only(&k, 0, 0, 0);
	/* 252 and 3 round to what is stored; green does not */
	assert_int_equal(edited_yaml(&k, DOC_IMAGE, 0, "palettes:\n"
				     "- [[0, 0, 3, 5], [252, 0, 0, 255], [0, 255, 0, 128]]\n"), 0);
	edited_only(&k, 0, PIXELS_AT + 8 + 16 + 4, 2);
	assert_int_equal(le_u16(k.bytes[0] + PIXELS_AT + 8 + 16 + 4), 0x83e0);
	edited_close(&k);
}

static void test_yaml_second_palette(void **state)
{
	uint8_t colours[128] = { 0 };
	struct edited k;
	char text[2048] = "palettes:\n";

	(void)state;
	open_picture(&k, (struct picture){ CLUT4, 2, 1, "\0", 1, F8888, 32, colours });
	for (unsigned i = 0; i < 32; i++)
		strcat(strcat(text, i % 16 ? ", " : "- ["),
		       i == 21 ? "[1, 2, 3, 4]" : i % 16 == 15 ? "[0, 0, 0, 0]]\n" : "[0, 0, 0, 0]");
	assert_int_equal(edited_yaml(&k, DOC_IMAGE, 0, text), 0);
	edited_only(&k, 0, PIXELS_AT + 1 + 16 + 84, 4);
	assert_memory_equal(k.bytes[0] + PIXELS_AT + 1 + 16 + 84, ((uint8_t[]){ 1, 2, 3, 4 }), 4);
	edited_close(&k);
}

static void test_yaml_refused(void **state)
{
	static const struct { const char *text, *why; } t[] = {
		{ "palettes: []\n", "line 1, column 11: palettes: a list of 0 found, expected a list of 1" },
		{ "palettes: 7\n", "line 1, column 11: palettes: " },
		{ "palettes:\n- [" DARK ", " DARK ", " DARK "]\n", "line 2, column 3: palettes: a list of 3 found, " },
		{ "palettes:\n- [[1, 2, 3], " DARK "]\n", "line 2, column 4: " },
		{ "palettes:\n- [7, " DARK "]\n", "line 2, column 4: " },
		{ "palettes:\n- [" DARK ", [0, 256, 0, 255]]\n", "line 2, column " },
		{ "palettes:\n- [" DARK ", [0, 0, 0, 254]]\n",
		  "line 2, column 20: palettes: alpha 254, but rgb5650 has none: 255 expected" },
	};
	static const uint8_t pixels[] = { 1, 0, 1, 0, 0, 0, 1, 0 }, colours[4] = { 0 };
	struct edited k;

	(void)state;
	open_picture(&k, (struct picture){ CLUT16, 2, 2, pixels, 8, F5650, 2, colours });
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		assert_int_equal(edited_yaml(&k, DOC_IMAGE, 0, t[i].text), -EINVAL);
		if (strncmp(k.why, t[i].why, strlen(t[i].why)))
			fail_msg("%s", k.why);
		edited_only(&k, 0, 0, 0);
	}
	edited_close(&k);
}

/* The hook sees to it itself that numbers fit. */
static void test_doc_put_refuses(void **state)
{
	static const uint8_t pixels[] = { 1, 0, 1, 0, 0, 0, 1, 0 }, colours[4] = { 0 };
	static const struct { const char *text, *why; } t[] = {
		{ "[[[0, 0, 0, 255]]]", "line 1, column 2: palettes: a list of 1 found, expected a list of 2" },
		{ "[[[0, 0, 0, 255], 7]]", "line 1, column 19: palettes: expected a list of 4" },
		{ "[[[0, 0, 0, 255], [0, 0, 256, 0]]]", "line 1, column 26: palettes: " },
	};
	struct edited k;

	(void)state;
	open_picture(&k, (struct picture){ CLUT16, 2, 2, pixels, 8, F5650, 2, colours });
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct doc_change c = { .kind = CHANGE_ROWS, .key = "palettes" };
		struct arena a = { 0 };
		struct ynode *root;
		struct err e = { 0 };

		assert_int_equal(yaml_read((const uint8_t *)t[i].text, strlen(t[i].text), &root, &a, &e), 0);
		c.value = root;
		assert_int_equal(fmt_tmh.model->doc_put(k.o, DOC_IMAGE, 0, root, &c, 1, &e), -EINVAL);
		assert_false(c.taken);
		if (strncmp(e.text, t[i].why, strlen(t[i].why)))
			fail_msg("%s", e.text);
		c.kind = CHANGE_TEXT;
		assert_int_equal(fmt_tmh.model->doc_put(k.o, DOC_IMAGE, 0, root, &c, 1, &e), 0);
		assert_false(c.taken);
		arena_free(&a);
	}
	edited_close(&k);
}

/* ---- hostile bytes ---- */

/* Another picture in the place of each, whatever the headers say. */
static void put_everywhere(const uint8_t *p, size_t n)
{
	struct edited k;

	edited_open(&k, &fmt_tmh, p, n, 0);
	for (uint32_t i = 0; i < object_count(k.o, PART_IMAGE); i++) {
		struct geo_image img = { 0 };
		struct arena a = { 0 };
		struct err e = { 0 };

		if (!fmt_tmh.model->image(k.o, i, &img, &a, &e)) {
			img.rgba = arena_alloc(&a, (size_t)img.w * img.h, 4);
			assert_non_null(img.rgba);
			for (size_t at = 0; at < (size_t)img.w * img.h * 4; at++)
				img.rgba[at] = (uint8_t)(at * 37 + at / 64);
			img.indexed = NULL;
			if (edited_image(&k, i, &img))
				fail_msg("%s", k.why);
			assert_int_equal(object_verify(k.o, &e), k.o->faults ? -EBADMSG : 0);
		} else {
			img = (struct geo_image){ .w = 1, .h = 1, .rgba = (uint8_t[]){ 1, 2, 3, 4 } };
			assert_int_not_equal(edited_image(&k, i, &img), 0);
		}
		arena_free(&a);
	}
	edited_close(&k);
}

static void test_any_byte_changed(void **state)
{
	static const uint8_t values[] = { 0, 1, 0xff };
	struct buf b = { 0 };

	(void)state;
	begin_bank(&b, 3);
	add_image(&b, (struct picture){ CLUT4, 32, 1, NULL, 16, F5551, 16, NULL });
	add_image(&b, (struct picture){ CLUT16, 2, 2, "\0\0\1\0\2\0\3", 8, F8888, 4, NULL });
	add_image(&b, (struct picture){ DXT5, 4, 4, NULL, 16, 0, 0, NULL });
	for (size_t at = 0; at < b.len; at++) {
		uint8_t was = b.p[at];

		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			b.p[at] = values[i];
			put_everywhere(b.p, b.len);
		}
		b.p[at] = was;
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_wrong_size),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_known_colours),
		cmocka_unit_test(test_rounded_colours),
		cmocka_unit_test(test_recoloured),
		cmocka_unit_test(test_new_colours),
		cmocka_unit_test(test_equal_entries_make_room),
		cmocka_unit_test(test_palette_edit),
		cmocka_unit_test(test_short_palette),
		cmocka_unit_test(test_other_order),
		cmocka_unit_test(test_swizzled),
		cmocka_unit_test(test_short_band),
		cmocka_unit_test(test_wide_numbers),
		cmocka_unit_test(test_transparent_fold),
		cmocka_unit_test(test_transparent_exact),
		cmocka_unit_test(test_reduced),
		cmocka_unit_test(test_reduced_transparent),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_yaml_second_palette),
		cmocka_unit_test(test_yaml_refused),
		cmocka_unit_test(test_doc_put_refuses),
		cmocka_unit_test(test_any_byte_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
