/* Edits of quartets that keep all sizes: documents, rows, values of vertices, and what follows from them. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "edited_mlp.h"
#include "mlp.h"
#include "opened.h"
#include "texts.h"

#define MATERIALS (DOC_OWN + MLP_OWN_MATERIALS)

/* ---- expected bytes ---- */

static struct edited k;

static void start(void)
{
	quartet_three(&k, 1000);
}

static void unchanged(int rc)
{
	if (rc)
		fail_msg("%s", k.why);
	quartet_unchanged(&k);
}

/* ---- documents ---- */

static void test_documents_stay(void **state)
{
	char *text;

	(void)state;
	start();
	text = text_of(k.o, DOC_HEADER, 0);
	unchanged(edited_yaml(&k, DOC_HEADER, 0, text));
	free(text);
	text = text_of(k.o, MATERIALS, 0);
	unchanged(edited_yaml(&k, MATERIALS, 0, text));
	free(text);
	for (uint32_t i = 0; i < 3; i++) {
		text = text_of(k.o, DOC_MESH, i);
		unchanged(edited_yaml(&k, DOC_MESH, i, text));
		free(text);
	}
	quartet_done(&k);
}

static void test_fields(void **state)
{
	(void)state;
	start();
	edited_yaml_twice(&k, DOC_HEADER, 0, "unknown_04: 0x01020304\nload_flags: 0x0012\n");
	WORDS(&k, 0, 0x04, 0x01020304, 0x001c0012);
	edited_yaml_twice(&k, DOC_MESH, 0,
			  "load_flags: 0xffef\nbounding_sphere: [1, 2, 3, 4]\nruntime_buffers: [1, 2]\n"
			  "second_count: 9\n"
			  "unknown_b8: 0011223344556677\nsubmeshes:\n- {}\n"
			  "- uv_selectors: [3, 2, 1, 0]\n  material_id: 0x0badf00d\n");
	WORDS(&k, 0, 0x78, 0x00c0ffef);
	WORDS(&k, 0, 0xc0, FLOAT(1), FLOAT(2), FLOAT(3), FLOAT(4));
	WORDS(&k, 0, 0x11c, 1, 2);
	WORDS(&k, 0, 0x128, 0x00112233, 0x44556677);
	WORDS(&k, 0, 0x1c4, 0x0badf00d, 0x03020100);
	WORDS(&k, 0, 0x1f4, 9);
	quartet_done(&k);
}

static void test_derived(void **state)
{
	static const struct { unsigned kind; const char *text, *why; } cases[] = {
		{ DOC_HEADER, "mesh_count: 4\n", "mesh_count follows from other data" },
		{ DOC_HEADER, "data_base: 128\n", "data_base follows from other data" },
		{ DOC_HEADER, "normals: unknown\n", "normals follows from other data" },
		{ DOC_HEADER, "meshes: []\n",
		  "meshes follows from other data and cannot be changed: 0 values found, 3 stored" },
		{ DOC_HEADER,
		  "meshes:\n- [1, rigid, 4, 4, 2]\n- [0x22222222, rigid, 3, 1, 1]\n- [0x33333333, rigid, 3, 1, 1]\n",
		  "meshes.id follows from other data" },
		{ DOC_MESH, "id: 0x00000001\n", "id follows from other data" },
		{ DOC_MESH, "mmp_offset: 16\n", "mmp_offset follows from other data" },
		{ DOC_MESH, "stride: 8\n", "stride follows from other data" },
		{ DOC_MESH, "vertex_count: 5\n", "vertex_count follows from other data" },
		{ DOC_MESH, "submeshes:\n- first_index: 3\n- {}\n", "first_index follows from other data" },
	};

	(void)state;
	start();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refused(&k, edited_yaml(&k, cases[i].kind, 0, cases[i].text), EPERM, cases[i].why);
	refused(&k, edited_yaml(&k, DOC_MESH, 0, "submeshes:\n- {}\n"), EINVAL, "submeshes: 1 item found, expected 2");
	quartet_done(&k);
}

/* Material aa is that of submesh 0 of mesh 0, and of mesh 1. */
static void test_materials(void **state)
{
	(void)state;
	start();
	edited_yaml_twice(&k, MATERIALS, 0, "- id: 0x12345678\n- {}\n- {}\n");
	WORDS(&k, 0, 0x164, 0x12345678);
	WORDS(&k, 0, 0x334, 0x12345678);
	doc_is(k.o, MATERIALS, 0,
	       "- id: 0x12345678\n  used_by: [[0, 0], [1, 0]]  # derived\n"
	       "- id: 0x000000bb\n  used_by: [[0, 1]]  # derived\n- id: 0x000000cc\n  used_by: [[2, 0]]  # derived\n");
	edited_yaml_twice(&k, MATERIALS, 0, "- id: 0x000000bb\n- id: 0x12345678\n- {}\n");
	WORDS(&k, 0, 0x164, 0xbb);
	WORDS(&k, 0, 0x334, 0xbb);
	WORDS(&k, 0, 0x1c4, 0x12345678);
	/* Two that get one id are one afterwards, and the text is still known as the one that did it. */
	edited_yaml_twice(&k, MATERIALS, 0, "- id: 0x000000cc\n- id: 0x12345678\n- id: 0x000000cc\n");
	WORDS(&k, 0, 0x164, 0xcc);
	WORDS(&k, 0, 0x334, 0xcc);
	doc_is(k.o, MATERIALS, 0,
	       "- id: 0x000000cc\n  used_by: [[0, 0], [1, 0], [2, 0]]  # derived\n"
	       "- id: 0x12345678\n  used_by: [[0, 1]]  # derived\n");
	refused(&k, edited_yaml(&k, MATERIALS, 0, "- id: 1\n- id: 2\n- id: 3\n"), EINVAL, "3 items found, expected 2");
	refused(&k, edited_yaml(&k, MATERIALS, 0, "- id: 0x100000000\n- {}\n"), EINVAL, "id");
	refused(&k, edited_yaml(&k, MATERIALS, 0, "- used_by: [[0, 1]]\n- {}\n"), EPERM, "used_by");
	quartet_done(&k);
}

/* ---- rows ---- */

static int put_rows(uint32_t mesh, const char *text)
{
	return edited_file(&k, MLP_OWN_ROWS, mesh, text, strlen(text));
}

static void test_rows(void **state)
{
	(void)state;
	start();
	/* In any order, with other line ends, upper case, blanks and a mark of byte order. */
	unchanged(put_rows(0, "\xef\xbb\xbfvertex,normal,mgp\r\n3,7FC00000,30313233\r\n 0 , 7fc00000,00010203\r\n\r\n"
			      "1,7fc00000,10111213\r\n2,7fc00000,20212223"));
	assert_int_equal(put_rows(0, "vertex,normal,mgp\n0,7fc00000,00010203\n1,7fc00001,10111213\n"
				     "2,ffffffff,deadbeef\n3,7fc00000,30313233\n"), 0);
	WORDS(&k, 1, 0x1c, 0x7fc00001);
	WORDS(&k, 1, 0x2c, 0xffffffff);
	WORDS(&k, 2, 0x08, 0xdeadbeef);
	assert_int_equal(put_rows(2, "vertex,normal,mgp\n0,7fc00000,0001020304050607\n1,00000000,0000000000000000\n"
				     "2,7fc00000,2021222324252627\n"), 0);
	WORDS(&k, 1, 0xa0 + 6 + 16 + 12, 0);
	WORDS(&k, 2, 0x18, 0, 0);
	assert_int_equal(put_rows(1, "vertex,normal,mgp\n0,7fc00000,\n1,7fc00000,\n2,12345678,\n"), 0);
	WORDS(&k, 1, 0x60 + 44, 0x12345678);
	quartet_done(&k);
}

static void test_refused_rows(void **state)
{
	static const struct { uint32_t mesh; const char *text, *why; } cases[] = {
		{ 0, "", "no rows: the file is empty" },
		{ 0, "0,7fc00000,00010203\n", "line 1: \"0,7fc00000,00010203\" found, expected vertex,normal,mgp" },
		{ 0, "vertex,normal,mgp\n", "line 1: the last one, and vertex 0 of 4 has no row" },
		{ 0, "vertex,normal,mgp\n0,7fc00000,000102\n", "line 2: row of 3 bytes, stride is 4" },
		{ 0, "vertex,normal,mgp\n0,7fc00000,0001020304\n", "line 2: row of 5 bytes, stride is 4" },
		{ 0, "vertex,normal,mgp\n0,7fc00000,0001020\n", "line 2: row of 7 hex digits, expected 8" },
		{ 0, "vertex,normal,mgp\n0,7fc00000,0001020g\n", "line 2: row that is not all hex digits" },
		{ 0, "vertex,normal,mgp\n0,7fc0000,00010203\n", "line 2: normal \"7fc0000\" is not 8 hex digits" },
		{ 0, "vertex,normal,mgp\n0,0x7fc000,00010203\n", "line 2: normal \"0x7fc000\" is not 8 hex digits" },
		{ 0, "vertex,normal,mgp\n4,7fc00000,00010203\n", "line 2: vertex 4: mesh 0 has 4 vertices" },
		{ 0, "vertex,normal,mgp\n18446744073709551616,7fc00000,00010203\n",
		  "line 2: \"18446744073709551616\" is not the number of a vertex" },
		{ 0, "vertex,normal,mgp\n-1,7fc00000,00010203\n", "line 2: \"-1\" is not the number of a vertex" },
		{ 0, "vertex,normal,mgp\n0,7fc00000,00010203\n0,7fc00000,00010203\n",
		  "line 3: vertex 0 has a row already, in line 2" },
		{ 0, "vertex,normal,mgp\n0,7fc00000\n", "line 2: 2 values, expected vertex,normal,mgp" },
		{ 0, "vertex,normal,mgp\n0,7fc00000,00010203,\n", "line 2: more than 3 values" },
		{ 1, "vertex,normal,mgp\n0,7fc00000,00\n", "line 2: row of 1 bytes, but mesh 1 has none" },
	};

	(void)state;
	start();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refused(&k, put_rows(cases[i].mesh, cases[i].text), EINVAL, cases[i].why);
	quartet_done(&k);
}

/* ---- vertices ---- */

static void test_obj_stays(void **state)
{
	char *text;

	(void)state;
	start();
	for (uint32_t i = 0; i < 3; i++) {
		text = named_obj_text(k.o, i);
		unchanged(edited_obj(&k, i, text));
		free(text);
	}
	/* Another program's: faces sorted and turned, normals of length 1 and a little off, one for each corner. */
	unchanged(edited_obj(&k, 0, "# other\no mesh_0\nv 0.000000 0.000000 0.000000\nv 1.000000 0.500000 -1.000000\n"
				    "v 2.000000 1.000000 -2.000000\nv 3.000000 1.500000 -3.000000\n"
				    "vn 0.0000 0.0100 1.0000\nvn 0.0000 -0.0100 1.0000\n"
				    "usemtl mat_000000bb\nf 3//1 2//2 4//1\nusemtl mat_000000AA.001\nf 2//1 3//2 1//1\n"
				    "f 1//1 3//1 4//1\n"));
	quartet_done(&k);
}

static void test_values(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "v ", 1, "v 1.25 0.5 -1\n");
	text = with_line(text, "vn ", 2, "vn 0.6 0 0.8\n");
	save(&k, 0, text);
	WORDS(&k, 1, 0x10, FLOAT(1.25));
	/* 0.6 * 32767 / 32 = 614.4, 0.8 * 32767 / 64 = 409.6 */
	WORDS(&k, 1, 0x2c, 614 | 410u << 22);
	/* Longer ones get length 1: 1023 and 0. What has no direction is stored as such. */
	text = with_line(named_obj_text(k.o, 0), "vn ", 2, "vn 12 0 0\n");
	edited_obj_twice(&k, 0, text);
	WORDS(&k, 1, 0x2c, 1023);
	text = with_line(text, "vn ", 2, "vn 0 0 0\n");
	save(&k, 0, text);
	WORDS(&k, 1, 0x2c, 0);
	quartet_done(&k);
}

/* A place further than 0.05 from the box, and than 100 from the middles of the spheres. */
static void test_bounds(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "v ", 3, "v 3.04 1.5 -3\n");
	edited_obj_twice(&k, 0, text);
	WORDS(&k, 1, 0x30, FLOAT(3.04f));
	text = with_line(text, "v ", 3, "v 3 1.5 -99\n");
	edited_obj_twice(&k, 0, text);
	WORDS(&k, 1, 0x30, FLOAT(3));
	WORDS(&k, 1, 0x38, FLOAT(-99));
	WORDS(&k, 0, 0xd0, FLOAT(0), FLOAT(0), FLOAT(-99), FLOAT(1), FLOAT(3), FLOAT(1.5), FLOAT(0), FLOAT(1));
	/* sqrt(3^2 + 1.5^2 + 200^2): now all three spheres are too small. Those of mesh and submesh 0 have all
	 * vertices, from 0 0 -200 to 3 1.5 0; submesh 1 those from 1 .5 -200 to 3 1.5 -1. */
	text = with_line(text, "v ", 3, "v 3 1.5 -200\n");
	save(&k, 0, text);
	WORDS(&k, 1, 0x38, FLOAT(-200));
	WORDS(&k, 0, 0xd8, FLOAT(-200));
	WORDS(&k, 0, 0xc0, FLOAT(1.5), FLOAT(0.75), FLOAT(-100), FLOAT(sqrt(1.5 * 1.5 + 0.75 * 0.75 + 100 * 100)));
	WORDS(&k, 0, 0x130, FLOAT(1.5), FLOAT(0.75), FLOAT(-100), FLOAT(sqrt(1.5 * 1.5 + 0.75 * 0.75 + 100 * 100)));
	WORDS(&k, 0, 0x190, FLOAT(2), FLOAT(1), FLOAT(-100.5), FLOAT(sqrt(1 + 0.25 + 99.5 * 99.5)));
	quartet_done(&k);
}

/* A submesh none of whose vertices moved keeps its sphere, whatever that holds. */
static void test_other_submesh(void **state)
{
	(void)state;
	start();
	save(&k, 0, with_line(named_obj_text(k.o, 0), "v ", 0, "v 0 0 400\n"));
	WORDS(&k, 1, 0x08, FLOAT(400));
	WORDS(&k, 0, 0xd0, FLOAT(0), FLOAT(0), FLOAT(-3), FLOAT(1), FLOAT(3), FLOAT(1.5), FLOAT(400), FLOAT(1));
	WORDS(&k, 0, 0xc0, FLOAT(1.5), FLOAT(0.75), FLOAT(198.5), FLOAT(sqrt(1.5 * 1.5 + 0.75 * 0.75 + 201.5 * 201.5)));
	WORDS(&k, 0, 0x130, FLOAT(1.5), FLOAT(0.75), FLOAT(198.5),
	      FLOAT(sqrt(1.5 * 1.5 + 0.75 * 0.75 + 201.5 * 201.5)));
	quartet_done(&k);
}

/* Where normals are not what they seem, no text changes them. */
static void test_unknown_normals(void **state)
{
	char *text;

	(void)state;
	start();
	put_be32(k.bytes[1] + 0x0c, 0);
	put_be32(k.was[1] + 0x0c, 0);
	edited_settle(&k);
	assert_false(((const struct mlp *)k.o->priv)->normals);
	unchanged(edited_obj(&k, 1, "mtllib 1.mtl\no mesh_1\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\nvn 1 0 0\nvn 1 0 0\n"
				    "vn 1 0 0\ng group_0\nusemtl mat_000000aa\nf 1//1 2//2 3//3\n"));
	assert_non_null(strstr(k.said, "mesh 1: vn lines change nothing"));
	text = named_obj_text(k.o, 0);
	assert_null(strstr(text, "vn "));
	free(text);
	quartet_done(&k);
}

/* ---- materials of groups ---- */

static void test_usemtl(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "usemtl", 1, "usemtl mat_0BADF00D\n");
	edited_obj_twice(&k, 0, text);
	WORDS(&k, 0, 0x1c4, 0x0badf00d);
	text = with_line(text, "usemtl", 1, "usemtl mat_000000aa\n");
	edited_obj_twice(&k, 0, text);
	WORDS(&k, 0, 0x1c4, 0xaa);
	text = with_line(text, "usemtl", 1, "usemtl Material.001\n");
	unchanged(edited_obj(&k, 0, text));
	assert_non_null(strstr(k.said, "mesh 0: usemtl Material.001 is no mat_XXXXXXXX and changes no material"));
	free(text);
	/* Without groups, a name that no submesh has tells by its faces which one gets it. */
	edited_obj_twice(&k, 0, "o mesh_0\nv 0 0 0\nv 1 .5 -1\nv 2 1 -2\nv 3 1.5 -3\nusemtl mat_000000aa\n"
				"f 1 2 3\nf 1 3 4\nusemtl mat_00000042\nf 3 2 4\n");
	WORDS(&k, 0, 0x1c4, 0x42);
	text = with_line(named_obj_text(k.o, 0), "f ", 1, "usemtl mat_00000001\nf 1//1 3//3 4//4\n");
	refused(&k, edited_obj(&k, 0, text), EINVAL,
		"line 14: mat_00000001: group_0 has one material, and line 12 says mat_000000aa");
	free(text);
	quartet_done(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents_stay), cmocka_unit_test(test_fields), cmocka_unit_test(test_derived),
		cmocka_unit_test(test_materials), cmocka_unit_test(test_rows), cmocka_unit_test(test_refused_rows),
		cmocka_unit_test(test_obj_stays), cmocka_unit_test(test_values), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_other_submesh), cmocka_unit_test(test_unknown_normals),
		cmocka_unit_test(test_usemtl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
