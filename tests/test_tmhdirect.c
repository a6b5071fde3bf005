/* Pictures without a palette written into texture banks: which bytes change, and to what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "painting.h"

/* ---- colours without a palette ---- */

static void test_direct_said(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ F4444, 3, 2, "abcdefghijkl", 12, 0, 0, NULL });
	p = paint(&k);
	dot(&p, 0, 0, 17, 34, 51, 68);                 /* exact */
	dot(&p, 1, 0, 17, 34, 51, 69);
	put_rgba(&k, &p);
	shows(&k, 0, 0, 17, 34, 51, 68);
	shows(&k, 1, 0, 17, 34, 51, 68);
	assert_string_equal(k.said, "image 0: 1 pixels rounded to rgba4444\n"
			    "image 0: 1 pixels rounded to rgba4444\n");
	done(&k, &p);
}

static void test_direct(void **state)
{
	static const struct { uint32_t format; uint8_t rgba[4]; uint16_t stored; } t[] = {
		{ F5650, { 255, 0, 0, 255 }, 0x001f }, { F5650, { 0, 255, 0, 9 }, 0x07e0 },
		{ F5650, { 0, 0, 255, 255 }, 0xf800 }, { F5650, { 4, 2, 5, 255 }, 0x0800 },    /* .49, .49, .61 */
		{ F5551, { 255, 0, 0, 127 }, 0x001f }, { F5551, { 255, 0, 0, 128 }, 0x801f },
		{ F5551, { 0, 255, 255, 255 }, 0xffe0 }, { F5551, { 20, 21, 12, 0 }, 0x0462 }, /* 2.4, 2.6, 1.5 */
		{ F4444, { 255, 17, 34, 51 }, 0x321f }, { F4444, { 8, 9, 25, 26 }, 0x2110 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct edited k;
		struct painting p;

		open_picture(&k, (struct picture){ t[i].format, 3, 2, "abcdefghijkl", 12, 0, 0, NULL });
		p = paint(&k);
		memcpy(pixel(&p, 1, 1), t[i].rgba, 4);
		put_rgba(&k, &p);
		edited_only(&k, 0, PIXELS_AT + 8, 2);
		assert_int_equal(le_u16(k.bytes[0] + PIXELS_AT + 8), t[i].stored);
		done(&k, &p);
	}
}

static void test_direct_8888(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ F8888, 8, 9, NULL, 8 * 4 * 16, 0, 0, NULL });
	p = paint(&k);
	dot(&p, 5, 8, 1, 2, 3, 4);                     /* second band, second block, its second pixel */
	put_rgba(&k, &p);
	edited_only(&k, 0, PIXELS_AT + 256 + 128 + 4, 4);
	assert_memory_equal(k.bytes[0] + PIXELS_AT + 388, ((uint8_t[]){ 1, 2, 3, 4 }), 4);
	assert_string_equal(k.said, "");
	done(&k, &p);
}

/* ---- DXT ---- */

/* White: both ends all bits, every pixel the first. */
static void test_dxt1_plain(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ DXT1, 8, 4, NULL, 16, 0, 0, NULL });
	p = paint(&k);
	for (unsigned i = 0; i < 16; i++)
		dot(&p, 4 + i % 4, i / 4, 248, 252, 248, 255);
	put_rgba(&k, &p);
	edited_only(&k, 0, PIXELS_AT + 8, 8);
	assert_memory_equal(k.bytes[0] + PIXELS_AT + 8, "\0\0\0\0\xff\xff\xff\xff", 8);
	assert_non_null(strstr(k.said, "image 0: 1 blocks of 4x4 pixels encoded as dxt1\n"));
	done(&k, &p);
}

/* What a block can say is met exactly: four colours on a line, three and transparent, two far apart. */
static void test_dxt1_exact(void **state)
{
	static const uint8_t four[4][4] = { { 248, 0, 248, 255 }, { 0, 252, 0, 255 }, { 165, 84, 165, 255 },
					    { 82, 168, 82, 255 } };
	static const uint8_t three[4][4] = { { 0, 252, 0, 255 }, { 248, 0, 248, 255 }, { 124, 126, 124, 255 },
					     { 0, 0, 0, 0 } };
	static const uint8_t two[4][4] = { { 8, 4, 8, 255 }, { 0, 252, 96, 255 }, { 8, 4, 8, 255 },
					   { 0, 252, 96, 255 } };
	const uint8_t (*const t[])[4] = { four, three, two };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct edited k;
		struct painting p;

		open_picture(&k, (struct picture){ DXT1, 4, 4, NULL, 8, 0, 0, NULL });
		p = paint(&k);
		for (unsigned j = 0; j < 16; j++)
			memcpy(pixel(&p, j % 4, j / 4), t[i][(j * 7 + j / 4) % 4], 4);
		put_rgba(&k, &p);
		shows_all(&k, &p);
		done(&k, &p);
	}
}

/* Pixels below half alpha become transparent, all others opaque. */
static void test_dxt1_alpha(void **state)
{
	struct edited k;
	struct painting p, now;

	(void)state;
	open_picture(&k, (struct picture){ DXT1, 4, 4, NULL, 8, 0, 0, NULL });
	p = paint(&k);
	for (unsigned i = 0; i < 16; i++)
		dot(&p, i % 4, i / 4, (uint8_t)(i * 16), 0, 0, (uint8_t)(i < 8 ? 127 : 128));
	put_rgba(&k, &p);
	now = paint(&k);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(now.img.rgba[4 * i + 3], i < 8 ? 0 : 255);
	arena_free(&now.a);
	for (unsigned i = 0; i < 16; i++)
		dot(&p, i % 4, i / 4, (uint8_t)i, 9, 9, 0);
	put_rgba(&k, &p);
	for (unsigned i = 0; i < 16; i++)
		shows(&k, i % 4, i / 4, 0, 0, 0, 0);
	done(&k, &p);
}

/* A ramp of 16 greys from 0 to 240: four steps 80 apart are off by at most 40, and 28.6 in the mean square at worst. */
static void test_dxt1_ramp(void **state)
{
	struct edited k;
	struct painting p, now;
	double sum = 0;

	(void)state;
	open_picture(&k, (struct picture){ DXT1, 4, 4, NULL, 8, 0, 0, NULL });
	p = paint(&k);
	for (unsigned i = 0; i < 16; i++)
		dot(&p, i % 4, i / 4, (uint8_t)(16 * i), (uint8_t)(16 * i), (uint8_t)(16 * i), 255);
	put_rgba(&k, &p);
	now = paint(&k);
	for (unsigned i = 0; i < 64; i++)
		sum += (now.img.rgba[i] - p.img.rgba[i]) * (now.img.rgba[i] - p.img.rgba[i]);
	/* groups of four: (24^2 + 8^2) / 2 = 320 around their means 24, 88, 152, 216; 64 apart, which ends can be */
	assert_true(sum / 48 < 322);
	arena_free(&now.a);
	done(&k, &p);
}

static void test_dxt3_alpha(void **state)
{
	static const struct { uint8_t alpha, nibble; } t[] = {
		{ 0, 0 }, { 7, 0 }, { 8, 1 }, { 16, 1 }, { 100, 6 }, { 247, 15 }, { 255, 15 }, { 104, 7 }
	};
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ DXT3, 4, 4, NULL, 16, 0, 0, NULL });
	p = paint(&k);
	for (unsigned i = 0; i < 16; i++)
		dot(&p, i % 4, i / 4, 80, 40, 0, t[i % 8].alpha);
	put_rgba(&k, &p);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(k.bytes[0][PIXELS_AT + 8 + i / 2] >> i % 2 * 4 & 15, t[i % 8].nibble);
	shows(&k, 1, 1, 80, 40, 0, 240);
	done(&k, &p);
}

/* Seven steps from 210 to 70; five from 50 to 100 with 0 and 255; two alphas. */
static void test_dxt5_alpha(void **state)
{
	static const uint8_t t[][8] = {
		{ 210, 70, 190, 170, 150, 130, 110, 90 }, { 50, 100, 60, 70, 80, 90, 0, 255 },
		{ 3, 200, 200, 3, 3, 3, 200, 200 }, { 0, 255, 255, 0, 0, 0, 255, 255 }, { 9, 9, 9, 9, 9, 9, 9, 9 }
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct edited k;
		struct painting p;

		open_picture(&k, (struct picture){ DXT5, 4, 4, NULL, 16, 0, 0, NULL });
		p = paint(&k);
		for (unsigned j = 0; j < 16; j++)
			dot(&p, j % 4, j / 4, 80, 40, 0, t[i][j % 8]);
		put_rgba(&k, &p);
		shows_all(&k, &p);
		done(&k, &p);
	}
}

/* 5 x 6: what hangs over the edge of the block keeps its bits. */
static void test_dxt_edge(void **state)
{
	struct edited k;
	struct painting p;

	(void)state;
	open_picture(&k, (struct picture){ DXT1, 5, 6, NULL, 32, 0, 0, NULL });
	p = paint(&k);
	dot(&p, 4, 5, 16, 16, 16, 255);
	dot(&p, 4, 4, 240, 240, 240, 255);
	put_rgba(&k, &p);
	shows_all(&k, &p);
	edited_only(&k, 0, PIXELS_AT + 24, 8);
	for (unsigned row = 0; row < 4; row++) {
		uint8_t outside = row < 2 ? 0xfc : 0xff;

		assert_int_equal(k.bytes[0][PIXELS_AT + 24 + row] & outside, k.was[0][PIXELS_AT + 24 + row] & outside);
	}
	done(&k, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct_said),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_direct_8888),
		cmocka_unit_test(test_dxt1_plain),
		cmocka_unit_test(test_dxt1_exact),
		cmocka_unit_test(test_dxt1_alpha),
		cmocka_unit_test(test_dxt1_ramp),
		cmocka_unit_test(test_dxt3_alpha),
		cmocka_unit_test(test_dxt5_alpha),
		cmocka_unit_test(test_dxt_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
