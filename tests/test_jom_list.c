/* JOM models whose lists get longer or shorter, and whose pictures are painted on. Sizes and words are worked out by
 * hand; the model is build_jom_hut(). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_jom.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_jom;

static void open_hut(struct edited *k)
{
	struct buf b = { 0 };

	build_jom_hut(&b);
	assert_false(b.bad);
	edited_open(k, &fmt_jom, b.p, b.len, 4096);
	buf_free(&b);
}

static const uint8_t *data(const struct edited *k, const char *tag)
{
	return k->bytes[0] + jom_data(k->bytes[0], k->size[0], tag);
}

static const uint8_t *old(const struct edited *k, const char *tag)
{
	return k->was[0] + jom_data(k->was[0], k->size_was[0], tag);
}

static uint32_t size_of(const struct edited *k, const char *tag)
{
	return be_u32(data(k, tag) - 4);
}

static void same_chunk(const struct edited *k, const char *tag)
{
	assert_int_equal(be_u32(old(k, tag) - 4), size_of(k, tag));
	assert_memory_equal(old(k, tag), data(k, tag), size_of(k, tag));
}

/* All chunks but those two. */
static void others_same(const struct edited *k, const char *a, const char *b)
{
	static const char *const tags[] = { "TIMG", "PNTS", "QUAD", "QMAT", "X 1 ", "MATL", "TEXT", "NTAB", "CNRM",
					    "VCOL", "GOUR", "GRUP", "BONE", "ANIM" };

	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		if (strcmp(tags[i], a) && strcmp(tags[i], b))
			same_chunk(k, tags[i]);
	assert_memory_equal(k->bytes[0], k->was[0], 24);
	assert_memory_equal(k->bytes[0] + k->size[0] - 5, "tail!", 5);
}

static void put(struct edited *k, unsigned kind, const char *text)
{
	edited_yaml_twice(k, kind, 0, text);
	sound(k->o);
	assert_int_equal(fmt_jom.model->check(k->o, NULL), 0);
}

static void refused(unsigned kind, const char *text, int code, const char *why)
{
	struct edited k;

	open_hut(&k);
	assert_int_equal(edited_yaml(&k, kind, 0, text), -code);
	assert_string_equal(k.why, why);
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- materials ---- */

enum { MATERIALS = DOC_OWN };

static void test_materials(void **state)
{
	struct edited k;

	(void)state;
	/* At the end: nothing else has another number. */
	open_hut(&k);
	put(&k, MATERIALS, "- {}\n- {}\n- name: \"new\"\n  shine: 3\n  flags: [light]\n");
	assert_int_equal(size_of(&k, "MATL"), 4 + 96);
	assert_memory_equal(data(&k, "MATL"), "\0\0\0\3", 4);
	assert_memory_equal(data(&k, "MATL") + 4, old(&k, "MATL") + 4, 64);
	assert_memory_equal(data(&k, "MATL") + 68,
			    "new\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\3\xff\xff\0\0\0\0\0\x40\0\0\0\0", 32);
	assert_int_equal(k.size[0], k.size_was[0] + 32);
	others_same(&k, "MATL", "");
	edited_close(&k);

	/* In front, and one is called otherwise: polygons keep theirs. */
	open_hut(&k);
	put(&k, MATERIALS, "- name: \"new\"\n- name: \"wall\"\n- name: \"top\"\n");
	assert_memory_equal(data(&k, "QMAT"), "\0\0\0\3\0\1\0\2\0\1\0\0", 12);
	assert_memory_equal(data(&k, "MATL") + 4 + 64, "top\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\xfe\0\0\1", 22);
	others_same(&k, "MATL", "QMAT");
	edited_close(&k);

	/* One that no polygon has may go. */
	open_hut(&k);
	put(&k, MATERIALS, "- {}\n- name: \"new\"\n- name: \"roof\"\n");
	assert_memory_equal(data(&k, "QMAT"), "\0\0\0\3\0\0\0\2\0\0\0\0", 12);
	put(&k, MATERIALS, "- name: \"wall\"\n- name: \"roof\"\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
	refused(MATERIALS, "- name: \"wall\"\n", EINVAL, "material 1 is used by 1 polygons");
	refused(MATERIALS, "[]\n", EINVAL, "material 0 is used by 2 polygons");
	refused(MATERIALS, "- {}\n- {}\n- shine: 3\n", EINVAL, "line 3, column 3: name is missing");
	refused(MATERIALS, "- {}\n- {}\n- name: \"a\"\n  gloss: 3\n", EINVAL,
		"line 4, column 3: no key \"gloss\" here");
}

/* ---- bones ---- */

static void test_bone_added(void **state)
{
	struct edited k;
	const uint8_t *keys;

	(void)state;
	/* Three bones make keys of 12 + 18 + 2 bytes, four of 12 + 24: no padding is left. */
	open_hut(&k);
	put(&k, DOC_SKELETON, "bones:\n- {}\n- name: \"tail\"\n  parent: 0\n  group: 1\n  pivot: [0, 1.5, 0]\n"
			      "- name: \"arm\"\n- name: \"hand\"\n");
	assert_int_equal(size_of(&k, "BONE"), 4 + 128);
	assert_memory_equal(data(&k, "BONE") + 4 + 32,
			    "tail\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\x80\0\0\0\0\0", 32);
	/* The others hang where they hung: arm on hip, hand on arm. */
	assert_memory_equal(data(&k, "BONE") + 4 + 64 + 18, "\0\0", 2);
	assert_memory_equal(data(&k, "BONE") + 4 + 96 + 18, "\0\2", 2);
	assert_int_equal(size_of(&k, "ANIM"), 32 + 2 * 36);
	assert_memory_equal(data(&k, "ANIM") + 4 + 16, "\0\2\0\x0a\0\1\0\0\0\0\0\x20", 12);
	keys = data(&k, "ANIM") + 32;
	for (unsigned i = 0; i < 2; i++, keys += 36) {
		assert_int_equal(be_u32(keys + 4), i * ONE);
		for (unsigned c = 0; c < 12; c++) {
			unsigned was = c < 3 ? c : c < 6 ? 0 : c - 3;

			assert_int_equal(be_u16(keys + 12 + 2 * c), (uint16_t)(i ? was * 8192 : was));
		}
	}
	others_same(&k, "BONE", "ANIM");
	edited_close(&k);
}

static void test_bone_removed(void **state)
{
	struct buf text = { 0 };
	struct edited k;

	(void)state;
	/* Two bones: 12 + 12; hand takes another parent. */
	open_hut(&k);
	put(&k, DOC_SKELETON, "bones:\n- name: \"hip\"\n- name: \"hand\"\n  parent: 0\n");
	assert_int_equal(size_of(&k, "BONE"), 4 + 64);
	assert_memory_equal(data(&k, "BONE") + 4 + 32, "hand\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0", 20);
	assert_int_equal(size_of(&k, "ANIM"), 32 + 2 * 24);
	assert_memory_equal(data(&k, "ANIM") + 32 + 12, "\0\0\0\1\0\2\0\6\0\7\0\x08", 12);
	assert_memory_equal(data(&k, "ANIM") + 32 + 24 + 12 + 6, "\xc0\0\xe0\0\0\0", 6);       /* 6, 7, 8 of 8192 */
	others_same(&k, "BONE", "ANIM");
	/* And back to three: the padding was cut off with the bone. */
	put(&k, DOC_SKELETON, "bones:\n- {}\n- {}\n- name: \"b\"\n");
	assert_int_equal(size_of(&k, "ANIM"), 32 + 2 * 32);
	assert_memory_equal(data(&k, "ANIM") + 32 + 24, "\0\0\0\0\0\0\0\0", 8);
	edited_close(&k);
	/* With as many bones less one pair the padding stays. */
	open_hut(&k);
	put(&k, DOC_SKELETON, "bones:\n- name: \"hip\"\n");
	assert_int_equal(size_of(&k, "ANIM"), 32 + 2 * 20);
	assert_memory_equal(data(&k, "ANIM") + 32 + 20 + 12, "\0\0\x20\0\x40\0\xee\xff", 8);
	edited_close(&k);

	refused(DOC_SKELETON, "bones:\n- {}\n- {}\n- {}\n- name: \"b\"\n  parent: 3\n", EINVAL,
		"bones[3].parent: 3 is not below 3");
	refused(DOC_SKELETON, "bones:\n- name: \"hip\"\n- name: \"hand\"\n", EINVAL,
		"line 3, column 3: bones[1].parent: its parent is gone, another is needed");
	buf_str(&text, "bones: [{}, {}, {}");
	for (unsigned i = 3; i < 33; i++)
		buf_printf(&text, ", {name: b%u}", i);
	buf_add(&text, "]\n", 3);
	refused(DOC_SKELETON, (const char *)text.p, EINVAL, "33 bones, JOM holds 32");
	buf_free(&text);
	refused(DOC_SKELETON, "bones:\n- {}\n- {}\n- {}\n- name: \"sixteen bytes 16\"\n", EINVAL,
		"line 5, column 9: name: 16 bytes, at most 15");
}

/* ---- keys ---- */

static void test_keys(void **state)
{
	struct edited k;

	(void)state;
	open_hut(&k);
	put(&k, DOC_CLIP, "key_count: 2\nkeys:\n- {}\n- {}\n- root: [0.5, 0, 0]\n"
			  "  angles: [[90, 0, 0], [0, -90, 0], [0, 0, 45]]\n");
	assert_int_equal(size_of(&k, "ANIM"), 32 + 3 * 32);
	assert_memory_equal(data(&k, "ANIM") + 4 + 16, "\0\3", 2);
	assert_memory_equal(data(&k, "ANIM") + 4 + 18, old(&k, "ANIM") + 4 + 18, 10 + 64);
	assert_memory_equal(data(&k, "ANIM") + 32 + 64,
			    "\0\0\x80\0\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\x20\0\0\0", 32);
	others_same(&k, "ANIM", "");
	put(&k, DOC_CLIP, "keys:\n- {}\n- {}\n");
	edited_only(&k, 0, 0, 0);
	put(&k, DOC_CLIP, "keys:\n- root: [0, 1, 0]\n");
	assert_int_equal(size_of(&k, "ANIM"), 32 + 32);
	assert_memory_equal(data(&k, "ANIM") + 32 + 4, "\0\1\0\0", 4);
	edited_close(&k);
	refused(DOC_CLIP, "keys: []\n", EINVAL, "line 1, column 7: keys: an animation has one at least");
	refused(DOC_CLIP, "keys:\n- {}\n- {}\n- angles: [[0, 0, 0]]\n", EINVAL,
		"line 4, column 11: angles: a list of 1 found, expected a list of 3");
	refused(DOC_CLIP, "keys:\n- {}\n- {}\n- turn: 3\n", EINVAL,
		"line 4, column 3: no key \"turn\" here; there are root, angles");
	refused(DOC_CLIP, "key_count: 3\n", EPERM,
		"line 1, column 12: key_count follows from other data and cannot be changed: 3 found, 2 stored");
}

/* A second animation whose keys lie in front of the first one's, with bytes between them that nobody knows. */
static void test_keys_apart(void **state)
{
	struct buf b = { 0 };
	struct edited k;
	size_t at;

	(void)state;
	jom_header(&b);
	jom_points(&b, 0, NULL);
	jom_polygons(&b, 0, NULL);
	jom_materials(&b, 0, NULL);
	at = jom_begin(&b, "ANIM");
	put_big32(&b, 2);
	for (unsigned i = 0; i < 2; i++) {
		put_name16(&b, i ? "B" : "A");
		put_big16(&b, 1);
		put_big16(&b, 1);
		put_big32(&b, 0);
		put_big32(&b, i ? 60 : 76);
	}
	for (unsigned i = 0; i < 7; i++)
		put_big32(&b, i + 1);          /* no bones: a key is a root; B, 4, A */
	jom_close(&b, at);
	jom_end(&b);
	assert_false(b.bad);
	edited_open(&k, &fmt_jom, b.p, b.len, 4096);
	buf_free(&b);
	edited_yaml_twice(&k, DOC_CLIP, 1, "keys:\n- {}\n- root: [1, 0, 0]\n");
	assert_int_equal(be_u32(data(&k, "ANIM") + 4 + 24), 88);
	assert_int_equal(be_u32(data(&k, "ANIM") + 4 + 28 + 24), 60);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(be_u32(data(&k, "ANIM") + 60 + 4 * i + (i > 2 ? 12 : 0)), i + 1);
	assert_int_equal(be_u32(data(&k, "ANIM") + 72), ONE);
	edited_close(&k);
}

/* ---- pictures ---- */

struct painted { struct edited k; struct arena a; struct geo_image img; };

static void paint(struct painted *p, uint32_t i)
{
	struct geo_image was;
	struct err e;

	*p = (struct painted){ .a = { 0 } };
	open_hut(&p->k);
	assert_int_equal(fmt_jom.model->image(p->k.o, i, &was, &p->a, &e), 0);
	p->img = (struct geo_image){ .w = was.w, .h = was.h, .rgba = arena_alloc(&p->a, was.w * was.h, 4) };
	for (uint32_t x = 0; x < was.w * was.h; x++)
		memcpy(p->img.rgba + 4 * x, was.indexed ? was.palette[was.indexed[x]] : was.rgba + 4 * x, 4);
}

static void dot(struct painted *p, uint32_t x, uint32_t rgba)
{
	for (unsigned i = 0; i < 4; i++)
		p->img.rgba[4 * x + i] = (uint8_t)(rgba >> (24 - 8 * i));
}

static void put_image(struct painted *p, uint32_t i)
{
	if (edited_image(&p->k, i, &p->img))
		fail_msg("%s", p->k.why);
	sound(p->k.o);
}

static void done(struct painted *p)
{
	edited_close(&p->k);
	arena_free(&p->a);
}

static void words_are(const struct painted *p, size_t at, unsigned n, const uint16_t *want)
{
	for (unsigned i = 0; i < n; i++)
		if (be_u16(data(&p->k, "TIMG") + at + 2 * i) != want[i])
			fail_msg("word %u is 0x%04x, expected 0x%04x", i, be_u16(data(&p->k, "TIMG") + at + 2 * i),
				 want[i]);
}

static bool is_new_name(const uint8_t *name, const char *was)
{
	bool digits = true;

	for (unsigned i = 3; i < 9; i++)
		digits &= (name[i] >= '0' && name[i] <= '9') || (name[i] >= 'A' && name[i] <= 'F');
	return digits && !memcmp(name, was, 3) && !memcmp(name + 9, ".BIN\0\0\0", 7) && memcmp(name, was, 9);
}

/* rgb555: transparent, red, green, blue, white, half red, grey, black. */
static void test_rgb555(void **state)
{
	struct painted p;

	(void)state;
	paint(&p, 0);
	put_image(&p, 0);
	dot(&p, 0, 0x12345600);                          /* what is transparent has no colour */
	put_image(&p, 0);
	edited_only(&p.k, 0, 0, 0);
	dot(&p, 0, 0x0f0000ff);                          /* cut to 5 bits */
	dot(&p, 1, 0x00000000);
	dot(&p, 2, 0x00ff0080);                          /* half visible is visible, */
	dot(&p, 3, 0x0000ff7f);                          /* less is not, */
	dot(&p, 5, 0x00ff0040);                          /* but where the bit was clear */
	dot(&p, 6, 0x000000ff);
	put_image(&p, 0);
	words_are(&p, 4 + 24, 8, (const uint16_t[]){ 0x8001, 0, 0x83e0, 0, 0xffff, 0x03e0, 0x8000, 0x8000 });
	assert_true(is_new_name(data(&p.k, "TIMG") + 4, "BR_012345"));
	assert_memory_equal(data(&p.k, "TIMG") + 4, data(&p.k, "TEXT") + 4, 16);
	assert_memory_equal(data(&p.k, "TEXT") + 20, "LU_ABCDEF.BIN\0\0\0", 16);
	assert_memory_equal(data(&p.k, "TIMG") + 44, old(&p.k, "TIMG") + 44, 60);
	others_same(&p.k, "TIMG", "TEXT");
	assert_string_equal(p.k.said, "texture 0: 4 pixels are not stored exactly as they were given\n");
	done(&p);
}

/* Pixels 0, 1, 2, 3, 15, 0, 0, 15 of colours 0x8001 to 0x800f, shades of red. */
static void test_lut16(void **state)
{
	struct painted p;

	(void)state;
	paint(&p, 1);
	put_image(&p, 1);
	edited_only(&p.k, 0, 0, 0);
	/* A colour that is there, at its index; nothing else changes. */
	dot(&p, 0, 0x420000ff);
	dot(&p, 7, 0x00000000);
	put_image(&p, 1);
	assert_memory_equal(data(&p.k, "TIMG") + 44 + 24 + 32, "\x81\x23\xf0\0", 4);
	assert_memory_equal(data(&p.k, "TIMG") + 44 + 24, old(&p.k, "TIMG") + 68, 32);
	assert_true(is_new_name(data(&p.k, "TIMG") + 44, "LU_ABCDEF"));
	assert_memory_equal(data(&p.k, "TIMG") + 44, data(&p.k, "TEXT") + 20, 16);
	done(&p);

	/* Two new colours. 15 stays, so there is no room behind the last: they come to what nobody uses, from 1 on. */
	paint(&p, 1);
	dot(&p, 1, 0x00ff00ff);
	dot(&p, 5, 0x0000ffff);
	put_image(&p, 1);
	words_are(&p, 44 + 24, 5, (const uint16_t[]){ 0, 0x83e0, 0x8002, 0x8003, 0xfc00 });
	assert_memory_equal(data(&p.k, "TIMG") + 44 + 24 + 32, "\x01\x23\xf4\x0f", 4);
	done(&p);

	/* With room behind the last that stays, there. */
	paint(&p, 1);
	dot(&p, 1, 0x00ff00ff);
	dot(&p, 4, 0x180000ff);                          /* 0x8003 */
	dot(&p, 7, 0x0000ffff);
	put_image(&p, 1);
	words_are(&p, 44 + 24, 6, (const uint16_t[]){ 0, 0x8001, 0x8002, 0x8003, 0x83e0, 0xfc00 });
	assert_memory_equal(data(&p.k, "TIMG") + 44 + 24 + 32, "\x04\x23\x30\x05", 4);
	done(&p);
}

/* As many as there is room for, and one more. */
static void test_lut16_full(void **state)
{
	struct buf b = { 0 };
	struct geo_image img = { .w = 8, .h = 2 };
	uint8_t rgba[64];
	struct edited k;
	size_t at;

	(void)state;
	for (unsigned end_codes = 0; end_codes < 2; end_codes++) {
		static const char *const name = "m";
		unsigned most = end_codes ? 14 : 15;

		b = (struct buf){ 0 };
		jom_header(&b);
		at = jom_begin(&b, "TIMG");
		put_big32(&b, 1);
		put_name16(&b, "WALL.BIN");
		for (unsigned i = 0; i < 4; i++)
			put_big16(&b, (const unsigned[]){ 8, 2, 1, 0 }[i]);
		for (unsigned i = 0; i < 40; i++)
			put8(&b, 0);
		jom_close(&b, at);
		jom_points(&b, 0, NULL);
		jom_polygons(&b, 0, NULL);
		jom_materials(&b, 1, &name);
		b.p[b.len - 32 + 20] = b.p[b.len - 32 + 21] = 0;
		b.p[b.len - 32 + 26] = end_codes ? 2 : 0;
		at = jom_begin(&b, "TEXT");
		put_big32(&b, 1);
		put_name16(&b, "WALL.BIN");
		jom_close(&b, at);
		jom_end(&b);
		assert_false(b.bad);
		edited_open(&k, &fmt_jom, b.p, b.len, 0);
		buf_free(&b);
		img.rgba = rgba;
		for (unsigned i = 0; i < 16; i++)
			memcpy(rgba + 4 * i, (const uint8_t[]){ (uint8_t)(i < most ? i * 8 : 0), 8, 0, 255 }, 4);
		assert_int_equal(edited_image(&k, 0, &img), 0);
		for (unsigned i = 0; i < 16; i++) {
			unsigned index = data(&k, "TIMG")[4 + 24 + 32 + i / 2] >> (i & 1 ? 0 : 4) & 15;

			assert_int_equal(index, i < most ? i + 1 : 1);
			assert_int_equal(be_u16(data(&k, "TIMG") + 4 + 24 + 2 * index), 0x8020 + (i < most ? i : 0));
		}
		/* A name without digits gets some. */
		assert_memory_equal(data(&k, "TIMG") + 4, "WALL_", 5);
		assert_memory_equal(data(&k, "TIMG") + 4 + 11, ".BIN", 5);
		assert_memory_equal(data(&k, "TIMG") + 4, data(&k, "TEXT") + 4, 16);
		rgba[4 * 15] = 248;
		assert_int_equal(edited_image(&k, 0, &img), -EINVAL);
		assert_string_equal(k.why, end_codes ? "15 colours, the table holds 14" :
						       "16 colours, the table holds 15");
		edited_close(&k);
	}
}

static void test_sizes(void **state)
{
	struct edited k;
	struct err e;

	(void)state;
	open_hut(&k);
	assert_int_equal(fmt_jom.model->image_fits(k.o, 0, 12, 1, &e), -EINVAL);
	assert_string_equal(e.text, "width 12 is not a multiple of 8");
	assert_int_equal(fmt_jom.model->image_fits(k.o, 0, 512, 1, &e), -EINVAL);
	assert_string_equal(e.text, "512x1 is over 504x255");
	assert_int_equal(fmt_jom.model->image_fits(k.o, 0, 504, 256, &e), -EINVAL);
	assert_string_equal(e.text, "504x256 is over 504x255");
	assert_int_equal(fmt_jom.model->image_fits(k.o, 0, 504, 255, &e), 0);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_materials),
		cmocka_unit_test(test_bone_added),
		cmocka_unit_test(test_bone_removed),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_keys_apart),
		cmocka_unit_test(test_rgb555),
		cmocka_unit_test(test_lut16),
		cmocka_unit_test(test_lut16_full),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
