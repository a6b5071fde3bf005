/* MOD3 models: what an edit of each kind of record changes, and nothing else; what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mod3.h"
#include "edited.h"
#include "mod3.h"
#include "opened.h"

extern const struct format fmt_mod3;

static const int32_t two[] = { 0, 1, 2, 2, 1, 3 };

/* Bones at 0x140, 24 bytes each, remap table at 0x308, groups at 0x510, names at 0x530, mesh records at 0x630, their
 * envelopes from 0x6d4 on, 144 bytes each; vertices of 48 and 40 bytes from 0x884 on. */
static void start(struct edited *k)
{
	struct build_mod3 b = { 0 };
	struct buf file;

	build_bone(&b, 255, 0, 8, 0);
	build_bone(&b, 0, 3, 0, 4);
	build_bone(&b, 1, 0, -1, 0);
	build_group_of(&b, 7);
	build_name(&b, "skin");
	build_name(&b, "cloth");
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin8wt2UVColor", 4, two, 6 });
	build_envelope(&b, 1, true);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt2UVColor", 4, two, 6 });
	build_envelope(&b, 255, true);
	build_envelope(&b, 2, false);
	build_mod3(&b, &file);
	assert_int_equal(b.at_remap, 0x308);
	assert_int_equal(b.at_meshes, 0x630);
	assert_int_equal(b.at_envelopes, 0x6d0);
	assert_int_equal(b.at_vertices, 0x884);
	edited_open(k, &fmt_mod3, file.p, file.len, file.len);
	buf_free(&file);
}

/* Number of the section a document is, or its kind. */
#define HEADER_YAML DOC_SECTION, MOD3_HEADER
#define GROUPS_YAML DOC_SECTION, MOD3_GROUPS
#define MATERIALS_YAML MOD3_DOC_MATERIALS, 0
#define ENVELOPES_YAML MOD3_DOC_ENVELOPES, 0
#define SKELETON_YAML DOC_SKELETON, 0
#define VERTICES_YAML(i) MOD3_DOC_VERTICES, i
#define MESH_YAML(i) DOC_MESH, i

/* ---- saved unchanged ---- */

static void test_unchanged(void **state)
{
	static const struct { unsigned kind; uint32_t i; } docs[] = {
		{ MATERIALS_YAML }, { ENVELOPES_YAML }, { SKELETON_YAML }, { MESH_YAML(0) }, { MESH_YAML(1) },
		{ VERTICES_YAML(0) }, { VERTICES_YAML(1) },
	};
	struct edited k;

	(void)state;
	start(&k);
	for (size_t d = 0; d < ARRAY_LEN(docs); d++) {
		char *text = text_of(k.o, docs[d].kind, docs[d].i);

		if (edited_yaml(&k, docs[d].kind, docs[d].i, text))
			fail_msg("%u %u: %s", docs[d].kind, docs[d].i, k.why);
		free(text);
	}
	edited_only(&k, 0, 0, 0);
	assert_string_equal(k.said, "");
	edited_close(&k);
}

/* ---- one value of each kind ---- */

/* Text, and all bytes that differ afterwards: from `at` on those. */
static const struct change {
	unsigned kind;
	uint32_t i;
	const char *text;
	uint32_t at;
	const char *bytes;
	unsigned n;
} changes[] = {
	{ HEADER_YAML, "edge_count: 0x12345\n", 0x14, "\x45\x23\x01", 3 },
	{ HEADER_YAML, "second_vertex_buffer_size: 1\n", 0x1c, "\x01", 1 },
	{ HEADER_YAML, "creation_time: 18446744073709551615\n", 0x28, "\xff\xff\xff\xff\xff\xff\xff\xff", 8 },
	{ HEADER_YAML, "unknown_68: 0xff00000000000000\n", 0x6f, "\xff", 1 },
	{ HEADER_YAML, "sphere_centre: [1, 0.0, 0.0]\n", 0x72, "\x80\x3f", 2 },
	{ HEADER_YAML, "sphere_radius: 2.0\n", 0x7e, "\0", 1 },
	{ HEADER_YAML, "aabb_max: [1.5, 0, 0, -0.0]\n", 0x9f, "\x80", 1 },
	{ HEADER_YAML, "unknown_a4: 0x0201\n", 0xa5, "\x02", 1 },
	{ HEADER_YAML, "last_lod_level: 3\n", 0xa6, "\x03", 1 },
	{ HEADER_YAML, "unknown_e8: -1\n", 0xe8, "\xff\xff\xff\xff", 4 },
	{ HEADER_YAML, "lod_switch_values: [720.0, 0.0, 0.0, 0.0, 0x7fc00001]\n", 0xfc, "\x01\0\xc0\x7f", 4 },
	{ HEADER_YAML, "table: 02000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
		       "000000000000000000000000000000000000000000\n", 0x100, "\x02", 1 },
	{ GROUPS_YAML, "- {id: 0x100, filler: cdcdcdcdcdcdcdcdcdcdcdcd}\n", 0x510, "\0\x01", 2 },
	{ GROUPS_YAML, "- filler: cd00cdcdcdcdcdcdcdcdcdcd\n", 0x515, "\0", 1 },
	{ GROUPS_YAML, "- sphere_radius: 4.75\n", 0x52e, "\x98", 1 },
	{ MATERIALS_YAML, "- {}\n- name: \"cloths\"\n", 0x5b5, "s", 1 },
	{ MATERIALS_YAML, "- name: s\n- {}\n", 0x531, "\0\0\0", 3 },
	{ MATERIALS_YAML, "- name: [115, 107, 105, 110, 0, 229]\n- {}\n", 0x535, "\xe5", 1 },
	{ MATERIALS_YAML, "- name: skin\n- name: []\n", 0x5b0, "\0\0\0\0\0", 5 },
	{ MESH_YAML(1), "draw_mode: 0x000f\n", 0x680, "\x0f", 1 },
	{ MESH_YAML(1), "group_id: 7\n", 0x684, "\x07", 1 },
	{ MESH_YAML(1), "material_index: 1\n", 0x686, "\x01", 1 },
	{ MESH_YAML(1), "lod_mask: 0xffe0\n", 0x688, "\xe0", 1 },
	{ MESH_YAML(1), "unknown_0a: 3\n", 0x68a, "\x03", 1 },
	{ MESH_YAML(1), "visible: 0\nsort: 1\nweights_per_vertex: 5\n", 0x68c, "\x2c", 1 },
	{ MESH_YAML(1), "alpha_priority: 9\n", 0x68d, "\x09", 1 },
	{ MESH_YAML(1), "bridge: 0\n", 0x68f, "\x43", 1 },
	{ MESH_YAML(1), "binormal_flip: 0\n", 0x68f, "\x83", 1 },
	{ MESH_YAML(1), "mesh_number: 40\n", 0x6aa, "\x28", 1 },
	{ MESH_YAML(1), "map_data: [-1, 5]\n", 0x6b2, "\x05\0", 2 },
	{ MESH_YAML(1), "unknown_38: 0x30000004\n", 0x6b8, "\x04", 1 },
	{ MESH_YAML(1), "unknown_48: 0x01\n", 0x6c8, "\x01", 1 },
	{ MESH_YAML(0), "envelopes: [{bone: 2}]\n", 0x6d4, "\x02", 1 },
	{ MESH_YAML(1), "envelopes: [{aabb_min: [-1.0, -1.0, -1.0, 1]}]\n", 0x764 + 0x2e, "\x80\x3f", 2 },
	{ ENVELOPES_YAML, "- obb_half_extents: [1.0, 1.0, 0.5, 0.0]\n", 0x7f4 + 0x8b - 1, "\0", 1 },
	{ SKELETON_YAML, "bones: [{}, {symmetric_pair: 2}, {}]\n", 0x15b, "\x02", 1 },
	{ SKELETON_YAML, "bones: [{}, {}, {reach: 12}]\n", 0x172 + 4, "\x40", 1 },
	{ VERTICES_YAML(0), "- {}\n- normal: [0, 0, -127, 1]\n- {}\n- {}\n", 0x884 + 48 + 14, "\x81\x01", 2 },
	{ VERTICES_YAML(0), "- {}\n- {}\n- {}\n- {uv1: [0.5, 1.0], spare: 2}\n", 0x884 + 144 + 27,
	  "\x3c\x90\xb1\x84\x8c", 5 },
	{ VERTICES_YAML(1), "- {tangent: [127, 0, 0, -127]}\n- {}\n- {}\n- {}\n", 0x884 + 192 + 19, "\x81", 1 },
	{ VERTICES_YAML(1), "- {}\n- {}\n- {colour: [12, 20, 30, 255]}\n- {}\n", 0x884 + 192 + 80 + 39, "\xff", 1 },
};

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		const struct change *c = &changes[i];
		struct edited k;

		start(&k);
		if (edited_yaml(&k, c->kind, c->i, c->text))
			fail_msg("%s: %s", c->text, k.why);
		edited_only(&k, 0, c->at, c->n);
		assert_memory_equal(k.bytes[0] + c->at, c->bytes, c->n);
		edited_yaml_twice(&k, c->kind, c->i, c->text);
		edited_only(&k, 0, c->at, c->n);
		assert_string_equal(k.said, "");
		edited_close(&k);
	}
}

/* Both in one text; the second time the derived values of the text are those from before. */
static void test_rename(void **state)
{
	static const char text[] =
		"- name: \"fur\"\n  hash: 0xfd8697e1  # derived\n  mrl3: null  # derived\n  textures: []  # derived\n"
		"- name: [255, 0, 0]\n  hash: 0xdd0e9441  # derived\n  mrl3: null  # derived\n";
	struct edited k;
	char *now;

	(void)state;
	start(&k);
	edited_yaml_twice(&k, MATERIALS_YAML, text);
	assert_memory_equal(k.bytes[0] + 0x530, "fur\0\0", 5);
	assert_memory_equal(k.bytes[0] + 0x5b0, "\xff\0\0\0\0\0", 6);
	now = text_of(k.o, MATERIALS_YAML);
	assert_non_null(strstr(now, "- name: \"fur\"\n  hash: 0xa0a70cdc  # derived\n"));
	assert_non_null(strstr(now, "- name: [255]\n  hash: 0x00ffffff  # derived\n"));
	free(now);
	edited_close(&k);
}

/* ---- bone functions ---- */

static void expect_remap(const struct edited *k, unsigned at, uint8_t want)
{
	assert_int_equal(k->bytes[0][0x308 + at], want);
}

static void test_function(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	edited_yaml_twice(&k, SKELETON_YAML, "bones: [{}, {function: 511}, {}]\n");
	assert_memory_equal(k.bytes[0] + 0x158, "\xff\x01", 2);
	expect_remap(&k, 0, 0);
	expect_remap(&k, 1, 255);
	expect_remap(&k, 2, 2);
	expect_remap(&k, 511, 1);
	edited_yaml_twice(&k, SKELETON_YAML, "bones: [{}, {function: 512}, {}]\n");
	expect_remap(&k, 511, 255);
	edited_yaml_twice(&k, SKELETON_YAML, "bones: [{}, {function: 1}, {}]\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* Two bones that change places, and one that takes another's: an entry goes only where it names the bone that left. */
static void test_functions_that_meet(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	edited_yaml_twice(&k, SKELETON_YAML, "bones: [{function: 1}, {function: 0}, {}]\n");
	expect_remap(&k, 0, 1);
	expect_remap(&k, 1, 0);
	edited_yaml_twice(&k, SKELETON_YAML, "bones: [{}, {}, {function: 1}]\n");
	expect_remap(&k, 1, 2);
	expect_remap(&k, 2, 255);
	edited_yaml_twice(&k, SKELETON_YAML, "bones: [{function: 9}, {}, {}]\n");
	expect_remap(&k, 1, 2);
	expect_remap(&k, 9, 0);
	edited_close(&k);
}

/* ---- refusals ---- */

#define DERIVED " follows from other data and cannot be changed: "

static const struct { unsigned kind; uint32_t i; int code; const char *text, *message; } refused[] = {
	{ HEADER_YAML, EPERM, "mesh_count: 3\n", "line 1, column 13: mesh_count" DERIVED "3 found, 2 stored" },
	{ HEADER_YAML, EPERM, "vertex_off: 0x00000888\n",
	  "line 1, column 13: vertex_off" DERIVED "0x00000888 found, 0x00000884 stored" },
	{ HEADER_YAML, EINVAL, "last_lod_level: 65536\n",
	  "line 1, column 17: last_lod_level: 65536 is outside 0..65535" },
	{ HEADER_YAML, EINVAL, "magic: 1\n", "line 1, column 1: no key \"magic\" here; there are version, "
	  "version_minor, bone_count, mesh_count, material_count, vertex_count, index_count, edge_count, "
	  "vertex_buffer_size, ..." },
	{ GROUPS_YAML, EINVAL, "[]\n", "line 1, column 1: 0 items found, expected 1" },
	{ MATERIALS_YAML, EINVAL,
	  "- name: \"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123"
	  "45678901234567890123456789012345678\"\n- {}\n",
	  "line 1, column 9: name: the text has 129 characters, at most 128 fit" },
	{ MATERIALS_YAML, EINVAL, "- name: \xc3\xa9\n- {}\n",
	  "line 1, column 9: name: byte 0xc3 is not printable; give the text as a list of bytes" },
	{ MATERIALS_YAML, EPERM, "- hash: 1\n- {}\n",
	  "line 1, column 9: hash" DERIVED "1 found, 0xfd8697e1 stored" },
	{ MATERIALS_YAML, EPERM, "- mrl3: 0\n- {}\n", "line 1, column 9: mrl3" DERIVED "0 found, null stored" },
	{ MATERIALS_YAML, EPERM, "- textures: [{}]\n- {}\n",
	  "line 1, column 13: textures" DERIVED "1 item found, 0 stored" },
	{ MATERIALS_YAML, EINVAL, "- name: skin\n", "line 1, column 1: 1 item found, expected 2" },
	{ MESH_YAML(0), EINVAL, "material_index: 2\n", "line 1, column 17: material_index: material 2 of 2" },
	{ MESH_YAML(0), EINVAL, "material_index: x\n", "line 1, column 17: material_index: \"x\" is not a number" },
	{ MESH_YAML(0), EINVAL, "visible: 2\n", "line 1, column 10: visible: 2 is outside 0..1" },
	{ MESH_YAML(0), EINVAL, "weights_per_vertex: 32\n",
	  "line 1, column 21: weights_per_vertex: 32 is outside 0..31" },
	{ MESH_YAML(0), EPERM, "primitive: 4\n", "line 1, column 12: primitive" DERIVED "4 found, 3 stored" },
	{ MESH_YAML(0), EPERM, "stride: 40\n", "line 1, column 9: stride" DERIVED "40 found, 48 stored" },
	{ MESH_YAML(0), EINVAL, "envelopes: []\n", "line 1, column 12: envelopes: 0 items found, expected 1" },
	{ SKELETON_YAML, EPERM, "bones: [{name: arm}, {}, {}]\n",
	  "line 1, column 16: name" DERIVED "arm found, bone_0 stored" },
	{ SKELETON_YAML, EPERM, "bones: [{length: 7.0}, {}, {}]\n",
	  "line 1, column 18: length" DERIVED "7.0 found, 8.0 stored" },
	{ SKELETON_YAML, EINVAL, "bones: [{function: 65536}, {}, {}]\n",
	  "line 1, column 20: function: 65536 is outside 0..65535" },
	{ SKELETON_YAML, EINVAL, "bones: [{}, {}]\n", "line 1, column 8: bones: 2 items found, expected 3" },
	{ VERTICES_YAML(0), EINVAL, "- {}\n", "line 1, column 1: 1 value found, expected 4" },
	{ VERTICES_YAML(0), EINVAL, "- {}\n- {uv2: [0, 0]}\n- {}\n- {}\n",
	  "line 2, column 4: no key \"uv2\" here; nearest is uv1" },
	{ VERTICES_YAML(0), EINVAL, "- {}\n- {normal: [0, 0, 128, 0]}\n- {}\n- {}\n",
	  "line 2, column 19: normal: 128 is outside -128..127" },
	{ VERTICES_YAML(0), EINVAL, "- {uv1: [0, 70000]}\n- {}\n- {}\n- {}\n",
	  "line 1, column 13: uv1: 70000 is outside -65504..65504, what a 16-bit float can hold" },
	{ VERTICES_YAML(0), EINVAL, "- {}\n- {}\n- {}\n- {spare: 4}\n",
	  "line 4, column 11: spare: 4 is outside 0..3" },
};

static void test_refused(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (edited_yaml(&k, refused[i].kind, refused[i].i, refused[i].text) != -refused[i].code)
			fail_msg("\"%s\" was not refused: %s", refused[i].text, k.why);
		assert_string_equal(k.why, refused[i].message);
		edited_only(&k, 0, 0, 0);
	}
	edited_close(&k);
}

/* A stored number that is no material is shown and may stay. */
static void test_no_such_material(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct edited k;

	(void)state;
	build_name(&b, "m");
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 4, two, 6 });
	build_mod3(&b, &file);
	set16(&file, b.at_meshes + 6, 700);
	edited_open(&k, &fmt_mod3, file.p, file.len, file.len);
	buf_free(&file);
	edited_yaml_twice(&k, MESH_YAML(0), "material_index: 700\nmesh_number: 5\n");
	edited_only(&k, 0, b.at_meshes + 0x2a, 1);
	assert_int_equal(edited_yaml(&k, MESH_YAML(0), "material_index: 701\n"), -EINVAL);
	edited_yaml_twice(&k, MESH_YAML(0), "material_index: 0\n");
	assert_memory_equal(k.bytes[0] + b.at_meshes + 6, "\0\0", 2);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged), cmocka_unit_test(test_changes), cmocka_unit_test(test_rename),
		cmocka_unit_test(test_function), cmocka_unit_test(test_functions_that_meet),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_no_such_material),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
