/* Small meshes against their exact texts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"

static void assert_text(struct buf *out, const char *want)
{
	assert_false(out->bad);
	buf_char(out, 0);
	assert_string_equal((const char *)out->p, want);
	buf_free(out);
}

static void assert_obj(const struct geo_mesh *m, uint32_t number, const struct geo_material *of_part, const char *want)
{
	struct buf out = { 0 };

	obj_write(&out, m, number, of_part);
	assert_text(&out, want);
}

/* ---- OBJ ---- */

static float square[4][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 0.5f, 0 }, { 0, 0.5f, -20.25f } };
static uint32_t square_faces[2][3] = { { 0, 1, 2 }, { 0, 2, 3 } };

#define SQUARE_V "v 0 0 0\nv 1 0 0\nv 1 0.5 0\nv 0 0.5 -20.25\n"

static void test_positions_only(void **state)
{
	struct geo_part part = { .nfaces = 2 };
	struct geo_material material = { .name = "material_0" };
	struct geo_mesh m = {
		.nvertices = 4, .nfaces = 2, .position = square, .face = square_faces, .parts = &part, .nparts = 1,
	};

	(void)state;
	assert_obj(&m, 0, &material,
		   "mtllib 0.mtl\no mesh_0\n" SQUARE_V "g group_0\nusemtl material_0\nf 1 2 3\nf 1 3 4\n");
}

static void test_uv_and_normal_by_vertex(void **state)
{
	float uv[] = { 0, 0, 1, 0.25f, 0.1f, 0.1f, -0.5f, 1 };
	float normal[] = { 0, 0, 1, 0, -1, 0, -0.0f, 0.70710677f, 0.70710677f, 3, 2, 1e-5f };
	struct geo_stream streams[] = {
		{ .attr = GEO_NORMAL, .comps = 3, .count = 4, .v = normal },
		{ .attr = GEO_UV, .comps = 2, .count = 4, .v = uv },
	};
	struct geo_part part = { .nfaces = 2 };
	struct geo_material material = { .name = "material_3" };
	struct geo_mesh m = {
		.nvertices = 4, .nfaces = 2, .position = square, .face = square_faces, .parts = &part, .nparts = 1,
		.streams = streams, .nstreams = 2,
	};
	static const char uvs[] = "vt 0 1\nvt 1 0.75\nvt 0.1 0.9\nvt -0.5 0\n";
	static const char normals[] = "vn 0 0 1\nvn 0 -1 0\nvn -0 0.70710677 0.70710677\nvn 3 2 1e-05\n";
	char want[1024];

	(void)state;
	strcat(strcat(strcpy(want, "mtllib 12.mtl\no mesh_12\n" SQUARE_V), uvs), normals);
	strcat(want, "g group_0\nusemtl material_3\nf 1/1/1 2/2/2 3/3/3\nf 1/1/1 3/3/3 4/4/4\n");
	assert_obj(&m, 12, &material, want);

	m.nstreams = 1;
	strcat(strcpy(want, "mtllib 12.mtl\no mesh_12\n" SQUARE_V), normals);
	strcat(want, "g group_0\nusemtl material_3\nf 1//1 2//2 3//3\nf 1//1 3//3 4//4\n");
	assert_obj(&m, 12, &material, want);

	m.streams = streams + 1;
	strcat(strcpy(want, "mtllib 12.mtl\no mesh_12\n" SQUARE_V), uvs);
	strcat(want, "g group_0\nusemtl material_3\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n");
	assert_obj(&m, 12, &material, want);
}

/* Part 0 has UV and normals, 1 is empty, 2 has normals, 3 has UV and no material, 4 has neither; a corner whose
 * number lies past the values has none. */
static void test_parts_of_different_kinds(void **state)
{
	float position[12][3] = { { 0 } };
	uint32_t face[4][3] = { { 0, 1, 2 }, { 3, 4, 5 }, { 6, 7, 8 }, { 9, 10, 11 } };
	float uv[12] = { 0 }, normal[21] = { 0 };
	uint32_t uv_corner[12] = {
		0, 1, 2, GEO_NONE, GEO_NONE, GEO_NONE, 3, 4, 5, GEO_NONE, GEO_NONE, 6,
	};
	uint32_t normal_corner[12] = {
		6, 5, 4, 3, 2, 1, GEO_NONE, GEO_NONE, GEO_NONE, GEO_NONE, 7, GEO_NONE,
	};
	struct geo_stream streams[] = {
		{ .attr = GEO_UV, .comps = 2, .count = 6, .v = uv, .corner = uv_corner },
		{ .attr = GEO_NORMAL, .comps = 3, .count = 7, .v = normal, .corner = normal_corner },
	};
	struct geo_part parts[] = {
		{ .first_face = 0, .nfaces = 1 }, { .first_face = 1, .nfaces = 0 }, { .first_face = 1, .nfaces = 1 },
		{ .first_face = 2, .nfaces = 1 }, { .first_face = 3, .nfaces = 1 },
	};
	struct geo_material of_part[] = {
		{ .name = "material_1" }, { .name = "material_2" }, { .name = "material_1" }, { 0 },
		{ .name = "mat_0000beef" },
	};
	struct geo_mesh m = {
		.nvertices = 12, .nfaces = 4, .position = position, .face = face, .streams = streams, .nstreams = 2,
		.parts = parts, .nparts = 5,
	};

	(void)state;
	assert_obj(&m, 7, of_part,
		   "mtllib 7.mtl\no mesh_7\n"
		   "v 0 0 0\nv 0 0 0\nv 0 0 0\nv 0 0 0\nv 0 0 0\nv 0 0 0\n"
		   "v 0 0 0\nv 0 0 0\nv 0 0 0\nv 0 0 0\nv 0 0 0\nv 0 0 0\n"
		   "vt 0 1\nvt 0 1\nvt 0 1\nvt 0 1\nvt 0 1\nvt 0 1\n"
		   "vn 0 0 0\nvn 0 0 0\nvn 0 0 0\nvn 0 0 0\nvn 0 0 0\nvn 0 0 0\nvn 0 0 0\n"
		   "g group_0\nusemtl material_1\nf 1/1/7 2/2/6 3/3/5\n"
		   "g group_2\nusemtl material_1\nf 4//4 5//3 6//2\n"
		   "g group_3\nf 7/4 8/5 9/6\n"
		   "g group_4\nusemtl mat_0000beef\nf 10 11 12\n");
}

static void test_colours(void **state)
{
	float rgba[] = { 1, 0.5f, 0, 1, NAN, 0, 0, 0, 0.2f, 0.4f, 0.6f, 0, INFINITY, NAN, 128 / 255.0f, 1 };
	struct geo_stream colour = { .attr = GEO_COLOUR, .comps = 4, .count = 4, .v = rgba };
	struct geo_mesh m = { .nvertices = 4, .position = square, .streams = &colour, .nstreams = 1 };

	(void)state;
	assert_obj(&m, 0, NULL,
		   "mtllib 0.mtl\no mesh_0\nv 0 0 0 1 0.5 0\nv 1 0 0\nv 1 0.5 0 0.2 0.4 0.6\n"
		   "v 0 0.5 -20.25 0 0 0.5019608\n");
}

static void test_values_without_a_number(void **state)
{
	float position[2][3] = { { NAN, INFINITY, -INFINITY }, { -0.0f, 3.4028235e38f, 1e-45f } };
	float uv[] = { INFINITY, NAN, -NAN, -INFINITY }, normal[] = { NAN, -1, INFINITY };
	struct geo_stream streams[] = {
		{ .attr = GEO_UV, .comps = 2, .count = 2, .v = uv },
		{ .attr = GEO_NORMAL, .comps = 3, .count = 1, .v = normal },
	};
	struct geo_mesh m = { .nvertices = 2, .position = position, .streams = streams, .nstreams = 2 };

	(void)state;
	assert_obj(&m, 0, NULL,
		   "mtllib 0.mtl\no mesh_0\nv 0 0 0\nv -0 3.4028235e+38 1e-45\nvt 0 0\nvt 0 0\nvn 0 -1 0\n");
}

static void test_empty_mesh(void **state)
{
	struct geo_part part = { .material = -1 };
	struct geo_material material = { .name = "material_0" };
	struct geo_mesh m = { .parts = &part, .nparts = 1 };

	(void)state;
	assert_obj(&m, 4294967294u, &material, "mtllib 4294967294.mtl\no mesh_4294967294\n");
}

/* Names have no bound; everything else in a line does. */
static void test_long_name(void **state)
{
	char name[5001], *want = malloc(6000);
	struct geo_part part = { .nfaces = 2 };
	struct geo_material material = { .name = name, .colour = { 0, 0, 0, 1 }, .image = -1 };
	struct geo_mesh m = {
		.nvertices = 4, .nfaces = 2, .position = square, .face = square_faces, .parts = &part, .nparts = 1,
	};
	struct buf out = { 0 };

	(void)state;
	assert_non_null(want);
	memset(name, 'n', 5000);
	name[5000] = 0;
	strcat(strcpy(want, "mtllib 0.mtl\no mesh_0\n" SQUARE_V "g group_0\nusemtl "), name);
	assert_obj(&m, 0, &material, strcat(want, "\nf 1 2 3\nf 1 3 4\n"));
	mtl_write(&out, &material, 1);
	strcat(strcpy(want, "newmtl "), name);
	assert_text(&out, strcat(want, "\nKd 0 0 0\n"));
	free(want);
}

/* ---- fixed point, quads, named objects ---- */

static int64_t fixed_square[4][3] = { { 0, 0, 0 }, { 65536, 1, 0 }, { INT64_C(2147483648), -32768, 0 }, { 0, 0, -1 } };

static void test_fixed_quads(void **state)
{
	int64_t uv[] = { 0, 0, 65536, 49152 }, normal[] = { 0, 0, -65536 };
	int64_t colour[] = { 65536, 0, 32768, GEO_NO_FIXED, 0, 0, 1, 2, 3, 4, 5, 6 };
	uint32_t uv_corner[] = { 0, 1, 1, 0, GEO_NONE, GEO_NONE, GEO_NONE, GEO_NONE };
	uint32_t normal_corner[] = { 0, GEO_NONE, 0, 7, 0, 0, 0, GEO_NONE };
	uint32_t quad[2][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, GEO_NONE } };
	struct geo_stream streams[] = {
		{ .attr = GEO_UV, .comps = 2, .count = 2, .fixed = uv, .corner = uv_corner },
		{ .attr = GEO_NORMAL, .comps = 3, .count = 1, .fixed = normal, .corner = normal_corner },
		{ .attr = GEO_COLOUR, .comps = 3, .count = 4, .fixed = colour },
	};
	const char *first = "FIRST", *second = "SECOND";
	struct geo_part parts[] = {
		{ .nfaces = 1, .object = first }, { .first_face = 1, .object = first },
		{ .first_face = 1, .object = second }, { .first_face = 1, .nfaces = 1 },
	};
	struct geo_material of_part[] = { { .name = "a" }, { .name = "b" }, { .name = NULL }, { .name = "a" } };
	struct geo_mesh m = {
		.nvertices = 4, .nfaces = 2, .fixed_bits = 16, .fixed = fixed_square, .quad = quad, .parts = parts,
		.nparts = 4, .streams = streams, .nstreams = 3, .objects = true,
	};

	(void)state;
	assert_obj(&m, MESH_WHOLE, of_part,
		   "mtllib model.mtl\nv 0.0 0.0 0.0 1.0 0.0 0.5\nv 1.0 0.0000152587890625 0.0\n"
		   "v 32768.0 -0.5 0.0 0.0000152587890625 0.000030517578125 0.0000457763671875\n"
		   "v 0.0 0.0 -0.0000152587890625 0.00006103515625 0.0000762939453125 0.000091552734375\n"
		   "vt 0.0 1.0\nvt 1.0 0.25\nvn 0.0 0.0 -1.0\n"
		   "o FIRST\nusemtl a\nf 1/1/1 2/2 3/2/1 4/1\no SECOND\nusemtl a\nf 4//1 3//1 2//1\n");
}

/* ---- MTL ---- */

static void test_mtl_lines_of_a_format(void **state)
{
	const struct geo_material v[] = {
		{ .name = "a", .image = 2, .head = "Kd 0 0 0\nNs 1\n", .tail = "x 1\ny 2\n" },
		{ .name = "b", .image = -1, .colour = { 1, 1, 1, 1 }, .map = "WALL.BIN" },
	};
	struct buf out = { 0 };

	(void)state;
	mtl_write(&out, v, ARRAY_LEN(v));
	assert_text(&out, "newmtl a\nKd 0 0 0\nNs 1\nmap_Kd ../textures/2.png\nx 1\ny 2\n"
		    "newmtl b\nKd 1 1 1\nmap_Kd WALL.BIN\n");
}

static void test_mtl(void **state)
{
	const struct geo_material v[] = {
		{ .name = "material_2", .colour = { 1, 1, 1, 1 }, .image = 0 },
		{ .name = "material_0", .colour = { 0.5f, 0.2f, 128 / 255.0f, 0.25f }, .image = -1 },
		{ .name = NULL, .colour = { 1, 1, 1, 1 }, .image = 9 },
		{ .name = "material_2", .colour = { 0, 0, 0, 0 }, .image = 5 },
		{ .name = "material_10", .colour = { 0, 0, 0, 0 }, .image = 123 },
		{ .name = "material_0", .colour = { 0, 0, 0, 0 }, .image = 1 },
		{ .name = "bright", .colour = { NAN, 2, INFINITY, NAN }, .image = -1 },
	};
	struct buf out = { 0 };

	(void)state;
	mtl_write(&out, v, ARRAY_LEN(v));
	assert_text(&out,
		    "newmtl material_2\nKd 1 1 1\nmap_Kd ../textures/0.png\n"
		    "newmtl material_0\nKd 0.5 0.2 0.5019608\nd 0.25\n"
		    "newmtl material_10\nKd 0 0 0\nd 0\nmap_Kd ../textures/123.png\n"
		    "newmtl bright\nKd 0 2 0\n");
}

static void test_mtl_of_none(void **state)
{
	const struct geo_material unnamed = { .image = 3 };
	struct buf out = { 0 };

	(void)state;
	mtl_write(&out, NULL, 0);
	mtl_write(&out, &unnamed, 1);
	assert_text(&out, "");
}

/* ---- weights ---- */

#define WEIGHTS_HEAD "# [bone, weight] pairs of each vertex, in the order of the v lines; null: no bone is known\n"

static void test_weights(void **state)
{
	uint8_t ninfluences[] = { 1, 3, 0, 2 };
	uint32_t first[] = { 0, 1, 4, 4 };
	int32_t joint[] = { 0, 12, -1, 2147483647, 3, 3 };
	float weight[] = { 1, 0.5f, 0.0078125f, 0, -0.0f, 1e-5f };
	struct geo_mesh m = {
		.nvertices = 4, .skinned = true, .ninfluences = ninfluences, .first_influence = first, .joint = joint,
		.weight = weight,
	};
	struct buf out = { 0 };

	(void)state;
	weights_write(&out, &m);
	assert_text(&out,
		    WEIGHTS_HEAD "- [[0, 1.0]]\n- [[12, 0.5], [null, 0.0078125], [2147483647, 0.0]]\n- []\n"
				 "- [[3, -0.0], [3, 1.0e-05]]\n");
}

static void test_weights_of_integers(void **state)
{
	uint8_t ninfluences[] = { 2, 1 };
	uint32_t first[] = { 0, 2 };
	int32_t joint[] = { 7, 255, 0 };
	float weight[] = { 1190, -167, 1023 };
	struct geo_mesh m = {
		.nvertices = 2, .skinned = true, .ninfluences = ninfluences, .first_influence = first, .joint = joint,
		.weight = weight, .weight_unit = 1023,
	};
	struct buf out = { 0 };

	(void)state;
	weights_write(&out, &m);
	assert_text(&out, "# [bone, weight] pairs of each vertex, in the order of the v lines; weights in 1/1023, the "
			  "last one is what is left of 1023\n- [[7, 1190], [255, -167]]\n- [[0, 1023]]\n");
}

static void test_weights_without_a_number(void **state)
{
	uint8_t ninfluences = 2;
	uint32_t first = 0;
	int32_t joint[] = { 1, 2 };
	float weight[] = { INFINITY, NAN };
	struct geo_mesh m = {
		.nvertices = 1, .skinned = true, .ninfluences = &ninfluences, .first_influence = &first, .joint = joint,
		.weight = weight,
	};
	struct buf out = { 0 };

	(void)state;
	weights_write(&out, &m);
	assert_text(&out, WEIGHTS_HEAD "- [[1, .inf], [2, 0x7fc00000]]\n");
}

static void test_weights_of_no_vertices(void **state)
{
	struct geo_mesh m = { .skinned = true };
	struct buf out = { 0 };

	(void)state;
	weights_write(&out, &m);
	assert_text(&out, "[]\n");
}

/* ---- the limit ---- */

/* As if the text before had left only `left` of the bytes it may have. */
static void refill(struct buf *out, size_t left)
{
	out->len = LIMIT_DECODED - left;
	out->bad = false;
}

static void assert_too_long(const struct buf *out)
{
	assert_true(out->bad);
	assert_true(out->len <= LIMIT_DECODED);
}

static void test_limit(void **state)
{
	const struct geo_material material = { .name = "material_0", .image = 0 };
	uint8_t ninfluences[] = { 2, 0, 0, 4 };
	uint32_t first[] = { 0, 2, 2, 2 };
	int32_t joint[6] = { 0 };
	float weight[6] = { 0 }, values[12] = { 0 };
	struct geo_stream streams[] = {
		{ .attr = GEO_UV, .comps = 2, .count = 4, .v = values },
		{ .attr = GEO_NORMAL, .comps = 3, .count = 4, .v = values },
	};
	uint32_t face[20][3] = { { 0 } };
	struct geo_part part = { .nfaces = 20 };
	struct geo_mesh m = {
		.nvertices = 4, .nfaces = 20, .position = square, .face = face, .streams = streams, .nstreams = 2,
		.parts = &part, .nparts = 1, .skinned = true, .ninfluences = ninfluences, .first_influence = first,
		.joint = joint, .weight = weight,
	};
	struct buf full = { .p = malloc(LIMIT_DECODED), .cap = LIMIT_DECODED };
	struct buf obj = { 0 }, mtl = { 0 }, weights = { 0 };

	(void)state;
	assert_non_null(full.p);
	obj_write(&obj, &m, 0, &material);
	mtl_write(&mtl, &material, 1);
	weights_write(&weights, &m);
	for (size_t left = 0; left < obj.len; left++) {
		refill(&full, left);
		obj_write(&full, &m, 0, &material);
		assert_too_long(&full);
	}
	for (size_t left = 0; left < mtl.len; left++) {
		refill(&full, left);
		mtl_write(&full, &material, 1);
		assert_too_long(&full);
	}
	for (size_t left = 0; left < weights.len; left++) {
		refill(&full, left);
		weights_write(&full, &m);
		assert_too_long(&full);
	}
	buf_free(&full);
	buf_free(&obj);
	buf_free(&mtl);
	buf_free(&weights);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions_only),
		cmocka_unit_test(test_uv_and_normal_by_vertex),
		cmocka_unit_test(test_parts_of_different_kinds),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_values_without_a_number),
		cmocka_unit_test(test_empty_mesh),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_fixed_quads),
		cmocka_unit_test(test_mtl_lines_of_a_format),
		cmocka_unit_test(test_mtl),
		cmocka_unit_test(test_mtl_of_none),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_weights_of_integers),
		cmocka_unit_test(test_weights_without_a_number),
		cmocka_unit_test(test_weights_of_no_vertices),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
