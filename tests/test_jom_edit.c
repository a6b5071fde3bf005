/* JOM models whose documents are written to: the value is there, and no other byte has changed. */
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
	edited_open(k, &fmt_jom, b.p, b.len, 0);
	buf_free(&b);
}

/* Where byte `at` of a chunk's data lies. */
static size_t place(const struct edited *k, const char *tag, size_t at)
{
	return jom_data(k->bytes[0], k->size[0], tag) + at;
}

/* After the text the n bytes there are `want`, all others as before, and the model is sound. */
static void put(unsigned kind, uint32_t index, const char *text, const char *tag, size_t at, const void *want, size_t n)
{
	struct edited k;

	open_hut(&k);
	edited_yaml_twice(&k, kind, index, text);
	at = place(&k, tag, at);
	assert_memory_equal(k.bytes[0] + at, want, n);
	edited_only(&k, 0, at, n);
	sound(k.o);
	assert_int_equal(fmt_jom.model->check(k.o, NULL), 0);
	edited_close(&k);
}

static void refuses(unsigned kind, uint32_t index, const char *text, int code, const char *why)
{
	struct edited k;

	open_hut(&k);
	assert_int_equal(edited_yaml(&k, kind, index, text), -code);
	if (!strstr(k.why, why))
		fail_msg("\"%s\" does not say \"%s\"", k.why, why);
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- nothing changes ---- */

static void test_own_texts_change_nothing(void **state)
{
	static const struct { unsigned kind; uint32_t n; } docs[] = {
		{ DOC_HEADER, 1 }, { DOC_OWN, 1 }, { DOC_MESH, 3 }, { DOC_IMAGE, 2 }, { DOC_SKELETON, 1 },
		{ DOC_CLIP, 1 },
	};
	struct edited k;

	(void)state;
	open_hut(&k);
	for (size_t d = 0; d < ARRAY_LEN(docs); d++)
		for (uint32_t i = 0; i < docs[d].n; i++) {
			char *text = text_of(k.o, docs[d].kind, i);

			if (edited_yaml(&k, docs[d].kind, i, text))
				fail_msg("%s: %s", text, k.why);
			edited_only(&k, 0, 0, 0);
			free(text);
		}
	edited_close(&k);
}

/* ---- single values ---- */

static void test_header(void **state)
{
	struct edited k;

	(void)state;
	open_hut(&k);
	edited_yaml_twice(&k, DOC_HEADER, 0, "sphere_centre: [0.5, 1e-5, 0]\nreserved: 0x1234\n");
	assert_memory_equal(k.bytes[0] + 6, "\x12\x34\0\0\x80\0\0\0\0\x01\0\0\0\0", 14);
	edited_only(&k, 0, 6, 10);
	edited_close(&k);
	refuses(DOC_HEADER, 0, "sphere_radius: 40000.0\n", EINVAL,
		"line 1, column 16: sphere_radius: 40000.0 is outside -32768..32767.99998");
	refuses(DOC_HEADER, 0, "version: 2\n", EPERM, "version follows from other data");
	refuses(DOC_HEADER, 0, "point_count: 9\n", EPERM, "point_count follows");
	refuses(DOC_HEADER, 0, "chunks: [PNTS, QUAD]\n", EPERM, "chunks follows");
}

static void test_materials(void **state)
{
	(void)state;
	put(DOC_OWN, 0, "- texture: null\n- {}\n", "MATL", 4 + 20, "\xff\xff", 2);
	put(DOC_OWN, 0, "- {}\n- name: \"a roof\"\n", "MATL", 4 + 32, "a roof\0\0\0\0\0\0\0\0\0", 16);
	put(DOC_OWN, 0, "- {}\n- colour: [1, 2, 3]\n", "MATL", 4 + 32 + 16, "\1\2\3", 3);
	put(DOC_OWN, 0, "- user: 0xdeadbeef\n- {}\n", "MATL", 4 + 28, "\xde\xad\xbe\xef", 4);
	/* The engine's bit stays when it is written back. */
	put(DOC_OWN, 0, "- flags: [sort_min, light, user_15, 0x00002000]\n- {}\n", "MATL", 4 + 24, "\x80\0\x20\x42", 4);
	refuses(DOC_OWN, 0, "- name: \"sixteen bytes 16\"\n- {}\n", EINVAL, "name: 16 bytes, at most 15");
	refuses(DOC_OWN, 0, "- flags: [sort_mid]\n- {}\n", EINVAL, "nearest is sort_min");
	refuses(DOC_OWN, 0, "- shine: 256\n- {}\n", EINVAL, "shine: 256 is outside 0..255");
	refuses(DOC_OWN, 0, "- {}\n", EINVAL, "material 1 is used by 1 polygons");
}

/* A number that leads nowhere passes as a value, but makes the model one that check() refuses. */
static void check_refuses(unsigned kind, const char *text, const char *why)
{
	struct edited k;
	struct err e;

	open_hut(&k);
	assert_int_equal(edited_yaml(&k, kind, 0, text), 0);
	assert_int_equal(fmt_jom.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, why);
	edited_close(&k);
}

static void test_skeleton(void **state)
{
	(void)state;
	put(DOC_SKELETON, 0, "bones:\n- {}\n- pivot: [0, 1.5, -0.25]\n- {}\n", "BONE", 4 + 32 + 24,
	    "\0\x01\x80\0\xff\xff\xc0\0", 8);
	put(DOC_SKELETON, 0, "bones:\n- {}\n- parent: null\n- {}\n", "BONE", 4 + 32 + 18, "\xff\xff", 2);
	put(DOC_SKELETON, 0, "bones:\n- {}\n- {}\n- group: 0\n", "BONE", 4 + 64 + 16, "\0\0", 2);
	check_refuses(DOC_SKELETON, "bones:\n- {}\n- {}\n- parent: 2\n", "bones[2].parent: 2 is not below 2");
	check_refuses(DOC_SKELETON, "bones:\n- {}\n- {}\n- parent: -5\n", "bones[2].parent: -5 is below 0");
	check_refuses(DOC_SKELETON, "bones:\n- {}\n- group: 2\n- {}\n", "bones[1].group: 2 is not below 2");
	check_refuses(DOC_OWN, "- texture: 2\n- {}\n", "materials[0].texture: 2 is not below 2");
	refuses(DOC_SKELETON, 0, "kind: mhfu\n", EINVAL, "kind cannot be changed");
}

static void test_animation(void **state)
{
	(void)state;
	put(DOC_CLIP, 0, "key_ticks: 7\n", "ANIM", 4 + 18, "\0\7", 2);
	put(DOC_CLIP, 0, "name: \"RUN\"\n", "ANIM", 4, "RUN\0", 4);
	put(DOC_CLIP, 0, "keys:\n- {}\n- root: [1, 1, 0]\n", "ANIM", 32 + 32, "\0\1\0\0", 4);
	/* -90 degrees is 0xc000, 270 the same; 0.003 is nearer to one unit (0.0054931640625) than to none. */
	put(DOC_CLIP, 0, "keys:\n- angles: [[0, -90, 0.003], [0.0164794921875, 0.02197265625, 0.0274658203125],"
	    " [0.032958984375, 0.0384521484375, 0.0439453125]]\n- {}\n", "ANIM", 32 + 12 + 2, "\xc0\0\0\1", 4);
	put(DOC_CLIP, 0, "keys:\n- {}\n- angles: [[0, 45, 90], [135, 180, 225], [270, 315, 360]]\n", "ANIM", 0, "", 0);
	refuses(DOC_CLIP, 0, "keys:\n- {}\n- angles: [[0, 45, 361], [0, 0, 0], [0, 0, 0]]\n", EINVAL,
		"angles: 361 is outside -360..360");
	refuses(DOC_CLIP, 0, "key_count: 3\n", EPERM, "key_count follows");
	refuses(DOC_CLIP, 0, "offset: 60\n", EPERM, "offset follows");
}

/* ---- rows of polygons, names of textures ---- */

static void test_mesh(void **state)
{
	(void)state;
	put(DOC_MESH, 0, "name: \"HOUSE\"\n", "GRUP", 4, "HOUSE", 5);
	put(DOC_MESH, 1, "normals:\n- [0, 0.5, -0.8944244384765625]\n", "QUAD", 4 + 20 + 4, "\0\0\x80\0", 4);
	put(DOC_MESH, 2, "normals: [[1, 0.0, -1.0]]\n", "QUAD", 4 + 40, "\0\1\0\0", 4);
	put(DOC_MESH, 2, "gouraud:\n- [0xc210, 0xffff, 0xc212, 0xc212]\n", "GOUR", 4 + 16 + 2, "\xff\xff", 2);
	refuses(DOC_MESH, 2, "normals:\n- [0, 0, 1]\n- [0, 0, 1]\n", EINVAL, "normals: 2 values found, expected 1");
	refuses(DOC_MESH, 2, "normals:\n- [0, 0]\n", EINVAL, "2 values in the list, expected 3");
	refuses(DOC_MESH, 2, "gouraud:\n- [0, 0, 0, 0x10000]\n", EINVAL, "gouraud: 0x10000 is outside 0x0000..0xffff");
	refuses(DOC_MESH, 2, "points: [5, 6]\n", EPERM, "points follows");
	refuses(DOC_MESH, 2, "polygons: [1]\n", EPERM, "polygons follows");
	refuses(DOC_MESH, 0, "first_point: 3\n", EPERM, "first_point follows");
}

static void test_textures(void **state)
{
	struct edited k;
	size_t text, timg;

	(void)state;
	put(DOC_IMAGE, 1, "reserved: 0\n", "TIMG", 4 + 40 + 22, "\0\0", 2);
	put(DOC_IMAGE, 1, "palette: [0, 0x8001, 0xffff, 0x8003, 0x8004, 0x8005, 0x8006, 0x8007, 0x8008, 0x8009, "
	    "0x800a, 0x800b, 0x800c, 0x800d, 0x800e, 0x800f]\n", "TIMG", 4 + 40 + 24 + 4, "\xff\xff", 2);
	refuses(DOC_IMAGE, 0, "source: bin\n", EPERM, "source follows");
	refuses(DOC_IMAGE, 0, "width: 16\n", EPERM, "width follows");
	refuses(DOC_IMAGE, 0, "format: lut16\n", EPERM, "format follows");
	refuses(DOC_IMAGE, 0, "name: \"sixteen bytes 16\"\n", EINVAL, "name: 16 bytes, at most 15");

	/* The name stands in TEXT and in TIMG. */
	open_hut(&k);
	text = place(&k, "TEXT", 4);
	timg = place(&k, "TIMG", 4);
	edited_yaml_twice(&k, DOC_IMAGE, 0, "name: \"BR_FFFFFF.BIN\"\n");
	assert_memory_equal(k.bytes[0] + text, "BR_FFFFFF.BIN\0\0\0", 16);
	assert_memory_equal(k.bytes[0] + timg, "BR_FFFFFF.BIN\0\0\0", 16);
	for (size_t i = 0; i < k.size[0]; i++)
		if ((i < text || i >= text + 16) && (i < timg || i >= timg + 16))
			assert_int_equal(k.bytes[0][i], k.was[0][i]);
	sound(k.o);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_texts_change_nothing),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_materials),
		cmocka_unit_test(test_skeleton),
		cmocka_unit_test(test_animation),
		cmocka_unit_test(test_mesh),
		cmocka_unit_test(test_textures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
