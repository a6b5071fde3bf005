/* PMO models: vertices, triangles, skin. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "build_pmo.h"
#include "ge.h"

/* ---- vertices ---- */

/* One vertex of every component format, in the order they are stored. */
static void put_component(struct buf *b, unsigned format, bool is_signed, int stored)
{
	put_zeros(b, format == 3 ? 4 : format);
	if (format == 1)
		put8(b, (unsigned)stored);
	else if (format == 2)
		put16(b, (unsigned)stored);
	else
		put_float(b, (float)stored / (is_signed ? 4 : 8));
}

static double value(unsigned format, bool is_signed, int stored)
{
	return format == 1 ? stored / 128.0 : format == 2 ? stored / 32768.0 : stored / (is_signed ? 4.0 : 8.0);
}

static const int xyz[3] = { -100, 127, 5 }, nrm[3] = { 12, -128, 60 }, tex[2] = { 255, 100 }, wgt[2] = { 100, 28 };

static void add_vertex(struct buf *v, unsigned position, unsigned normal, unsigned uv, unsigned weight)
{
	unsigned size = 1;

	for (unsigned i = 0; i < 2 && weight; i++)
		put_component(v, weight, false, wgt[i]);
	for (unsigned i = 0; i < 2 && uv; i++)
		put_component(v, uv, false, tex[i]);
	for (unsigned i = 0; i < 3 && normal; i++)
		put_component(v, normal, true, nrm[i]);
	for (unsigned i = 0; i < 3; i++)
		put_component(v, position, true, xyz[i]);
	for (unsigned i = 1; i < 4; i++)
		if (position == i || normal == i || uv == i || weight == i)
			size = i == 3 ? 4 : i;
	put_zeros(v, size);
}

static void check_formats(unsigned position, unsigned normal, unsigned uv, unsigned weight, bool v102)
{
	static const float mesh_scale[4] = { 3, 0.1f, -7, 99 }, uv_scale[2] = { 0.7f, 2 },
			   uv_offset[2] = { 0.25f, -0.1f };
	struct build_pmo b = { .v102 = v102, .scale = { 10, 20, 0.3f } };
	const float *scale = v102 ? mesh_scale : b.scale;
	const uint32_t draw[] = { prim(GE_TRIANGLES, 1), 0 };
	struct build_group group = { 0, uv | normal << 5 | position << 7 | weight << 9 | (weight ? 1 : 0) << 14,
				     .draw = draw };
	struct buf v = { 0 };
	struct model m;
	struct geo_mesh g;
	unsigned s = 0;
	double length = 0;

	add_vertex(&v, position, normal, uv, weight);
	build_mesh(&b, mesh_scale, uv_scale, uv_offset);
	build_palette(&b, 1, 6);
	group.vertices = v.p;
	group.nvertices = v.len;
	build_group(&b, &group);
	buf_free(&v);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);

	assert_int_equal(g.nvertices, 1);
	for (unsigned i = 0; i < 3; i++)
		FLOATS(&g.position[0][i], (float)(value(position, true, xyz[i]) * scale[i]));
	if (uv) {
		assert_int_equal(g.streams[s].attr, GEO_UV);
		for (unsigned i = 0; i < 2; i++)
			FLOATS(&g.streams[s].v[i],
			       (float)(value(uv, false, tex[i]) * uv_scale[i] + (v102 ? uv_offset[i] : 0.0)));
		s++;
	}
	if (normal) {
		assert_int_equal(g.streams[s].attr, GEO_NORMAL);
		for (unsigned i = 0; i < 3; i++)
			length += value(normal, true, nrm[i]) * value(normal, true, nrm[i]);
		for (unsigned i = 0; i < 3; i++)
			FLOATS(&g.streams[s].v[i], (float)(value(normal, true, nrm[i]) / sqrt(length)));
		s++;
	}
	assert_int_equal(g.nstreams, s);
	assert_int_equal(g.skinned, weight != 0);
	assert_int_equal(g.ninfluences[0], weight ? 2 : 1);
	assert_int_equal(g.joint[0], -1);
	FLOATS(g.weight, weight ? (float)value(weight, false, wgt[0]) : 1.0f);
	if (weight) {
		assert_int_equal(g.joint[1], 6);
		FLOATS(g.weight + 1, (float)value(weight, false, wgt[1]));
	}
	model_close(&m);
}

static void every_component_format(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 3 * 4 * 4 * 4; i++)
		check_formats(1 + i / 2 % 3, i / 6 % 4, i / 24 % 4, i / 96 % 4, i % 2);
}

static void colours_of_all_formats(void **state)
{
	static const struct { unsigned format; uint32_t stored; float rgba[4]; } want[] = {
		{ 4, 0xf81f, { 255, 0, 255, 255 } }, { 5, 0x8200, { 0, 132, 0, 255 } }, { 5, 0x0001, { 8, 0, 0, 0 } },
		{ 6, 0x8421, { 17, 34, 68, 136 } }, { 7, 0x04030201, { 1, 2, 3, 4 } },
	};
	const uint32_t draw[] = { prim(GE_TRIANGLES, 1), 0 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		struct build_pmo b = { .scale = { 1, 1, 1 } };
		struct build_group plain = { 0, 0x100, "\0\0\0\0\0", .nvertices = 6, .draw = draw };
		struct build_group coloured = { 0, 0x100 | want[i].format << 2, .draw = draw };
		struct buf v = { 0 };
		struct model m;
		struct geo_mesh g;

		if (want[i].format == 7)
			put32(&v, want[i].stored);
		else
			put16(&v, want[i].stored);
		for (unsigned k = 0; k < 3; k++)
			put16(&v, 7);
		put_zeros(&v, want[i].format == 7 ? 4 : 2);
		coloured.vertices = v.p;
		coloured.nvertices = v.len;
		build_mesh(&b, ones, ones, zeros);
		build_group(&b, &plain);
		build_group(&b, &coloured);
		model_build(&m, &b);
		model_mesh(&m, 0, &g);
		assert_int_equal(g.nstreams, 1);
		assert_int_equal(g.streams[0].attr, GEO_COLOUR);
		assert_int_equal(g.streams[0].count, 2);
		assert_int_equal(g.streams[0].comps, 4);
		assert_null(g.streams[0].corner);
		assert_true(isnan(g.streams[0].v[0]));
		for (unsigned k = 0; k < 4; k++)
			FLOATS(&g.streams[0].v[4 + k], (float)(want[i].rgba[k] / 255.0));
		model_close(&m);
		buf_free(&v);
	}
}

static void normals_without_direction(void **state)
{
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group group = { 0, 0x160, .draw = draw };         /* f32 normal, s16 position */
	static const float normals[3][3] = { { 0, 0, 0 }, { 1e-40f, 0, 0 }, { INFINITY, 1, 0 } };
	struct buf v = { 0 };
	struct model m;
	struct geo_mesh g;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 3; k++)
			put_float(&v, normals[i][k]);
		put32(&v, 0);
		put32(&v, 0);
	}
	group.vertices = v.p;
	group.nvertices = v.len;
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &group);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);
	FLOATS(g.streams[0].v, 0, 0, 0, 1, 0, 0, INFINITY, 1, 0);
	model_close(&m);
	buf_free(&v);
}

/* A scale that cannot be undone keeps the stored integers; verification in model_close() depends on it. */
static void scales_that_cannot_be_undone(void **state)
{
	static const float scales[] = { 0, 1e-45f, 1e-40f, INFINITY, NAN, 3e38f, -1 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 2), 0 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(scales); i++) {
		float uv_scale[2] = { scales[i], 1 }, uv_offset[2] = { 1e6f, scales[i] };
		struct build_pmo b = { .v102 = true };
		float scale[4] = { scales[i], 1, scales[i], scales[i] };
		static const char v[] = "\1\2\3\4\5\6\7\x80\x9\xa" "abcdefghij";
		struct build_group group = { 0, 0x102, v, .nvertices = 20, .draw = draw };
		struct model m;
		struct geo_mesh g;

		build_mesh(&b, scale, uv_scale, uv_offset);
		build_group(&b, &group);
		model_build(&m, &b);
		model_mesh(&m, 0, &g);
		FLOATS(&g.position[0][1], (float)(-0x7ff9 / 32768.0));
		if (!scales[i])
			FLOATS(&g.position[0][0], 0);
		model_close(&m);
	}
}

static void first_morph_target_is_shown(void **state)
{
	static const int8_t v[] = { 1, 2, 3, 99, 99, 99, 4, 5, 6, 99, 99, 99 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 2), 0 };
	struct build_pmo b = { .scale = { 128, 128, 128 } };
	struct build_group group = { 0, 0x80 | 1 << 18, v, .nvertices = sizeof v, .draw = draw };
	struct model m;
	struct geo_mesh g;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &group);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 2);
	FLOATS(g.position[0], 1, 2, 3, 4, 5, 6);
	model_close(&m);
}

/* ---- triangles ---- */

static void primitive_types(void **state)
{
	static const uint8_t indices[] = { 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9,
					   10, 11 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 7), prim(GE_STRIP, 5), prim(GE_FAN, 3), prim(GE_CONTINUE, 4),
				  prim(GE_RECTANGLES, 2), prim(GE_LINES, 2), prim(GE_LINE_STRIP, 1), prim(GE_POINTS, 1),
				  prim(GE_STRIP, 1), prim(GE_FAN, 0), 0 };
	struct model m;
	struct geo_mesh g;

	(void)state;
	model_draw(&m, indices, sizeof indices, draw);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 12);
	FACES(&g, { 0, 1, 2 }, { 3, 4, 5 }, { 0, 1, 2 }, { 1, 3, 2 }, { 2, 3, 4 }, { 7, 8, 9 }, { 1, 2, 3 },
	      { 1, 3, 4 });
	model_close(&m);
}

static void reversed_and_joined(void **state)
{
	static const uint8_t indices[] = { 0, 1, 2, 3, 3, 5, 5, 6, 7, 0, 1, 2, 0, 1, 2, 4, 4, 5 };
	const uint32_t draw[] = { prim(GE_STRIP, 9), fface(1), prim(GE_TRIANGLES, 3), prim(GE_FAN, 3), fface(0),
				  prim(GE_TRIANGLES, 3), 0 };
	struct model m;
	struct geo_mesh g;

	(void)state;
	model_draw(&m, indices, sizeof indices, draw);
	model_mesh(&m, 0, &g);
	FACES(&g, { 0, 1, 2 }, { 1, 3, 2 }, { 5, 6, 7 }, { 0, 2, 1 }, { 0, 2, 1 });
	model_close(&m);
}

static void without_indices(void **state)
{
	const uint32_t draw[] = { prim(GE_STRIP, 4), fface(1), prim(GE_TRIANGLES, 3), prim(GE_POINTS, 2), 0 };
	struct model m;
	struct geo_mesh g;

	(void)state;
	model_draw(&m, NULL, 0, draw);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 9);
	FACES(&g, { 0, 1, 2 }, { 1, 3, 2 }, { 4, 6, 5 });
	model_close(&m);
}

/* Indices count from VADDR, which may be some vertices into the buffer; absolute addresses count from the region. */
static void vertex_address_in_the_buffer(void **state)
{
	static const uint8_t indices[] = { 0, 1, 2, 0, 1, 2 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), ge_word(GE_OFFSETADDR, 0), ge_word(GE_VADDR, 0x30 + 3 * 5),
				  prim(GE_TRIANGLES, 3), 0 };
	struct model m;
	struct geo_mesh g;

	(void)state;
	model_draw(&m, indices, sizeof indices, draw);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 8);
	FACES(&g, { 0, 1, 2 }, { 5, 6, 7 });
	model_close(&m);
}

static void wide_indices(void **state)
{
	static const uint8_t u16[] = { 0, 0, 1, 0, 63, 0 }, u32[] = { 0, 0, 0, 0, 1, 0, 0, 0, 63, 0, 0, 0 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group two = { 0, 0x1080, points, u16, sizeof points, sizeof u16, draw };
	struct build_group four = { 0, 0x1880, points, u32, sizeof points, sizeof u32, draw };
	struct model m;
	struct geo_mesh g;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &two);
	build_group(&b, &four);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 128);
	FACES(&g, { 0, 1, 63 }, { 64, 65, 127 });
	assert_int_equal(g.parts[1].first_face, 1);
	model_close(&m);
}

static void list_that_continues_the_index_pointer(void **state)
{
	static const uint8_t indices[] = { 0, 1, 2, 3, 2, 1 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group first = { 0, 0x880, points, indices, sizeof points, sizeof indices, draw };
	struct build_group second = { 0, 0x880, points, NULL, sizeof points, 0, draw, true };
	struct model m;
	struct geo_mesh g;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &first);
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &second);
	model_build(&m, &b);
	model_mesh(&m, 1, &g);
	assert_int_equal(g.nvertices, 4);
	FACES(&g, { 3, 2, 1 });
	model_close(&m);
}

/* ---- groups ---- */

/* UV and normals of some groups only: corners find them through numbers of their own. */
static void groups_with_other_attributes(void **state)
{
	static const uint8_t uv[3 * 5] = { 128, 0, 1, 1, 1, 0, 128, 1, 1, 1, 64, 64, 1, 1, 1 };
	static const uint8_t normals[3 * 6] = { 127, 0, 0, 1, 1, 1, 0, 127, 0, 1, 1, 1, 0, 0, 129, 1, 1, 1 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group groups[] = { { 0, 0x81, uv, .nvertices = sizeof uv, .draw = draw },
					{ 0, 0xa0, normals, .nvertices = sizeof normals, .draw = draw },
					{ 0, 0x81, uv, .nvertices = sizeof uv, .draw = draw } };
	static const uint32_t uv_corners[] = { 0, 1, 2, GEO_NONE, GEO_NONE, GEO_NONE, 3, 4, 5 };
	static const uint32_t normal_corners[] = { GEO_NONE, GEO_NONE, GEO_NONE, 0, 1, 2,
						   GEO_NONE, GEO_NONE, GEO_NONE };
	struct model m;
	struct geo_mesh g;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	for (unsigned i = 0; i < 3; i++)
		build_group(&b, &groups[i]);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 9);
	assert_int_equal(g.nstreams, 2);
	assert_int_equal(g.streams[0].count, 6);
	FLOATS(g.streams[0].v, 1, 0, 0, 1, 0.5f, 0.5f, 1, 0);
	assert_memory_equal(g.streams[0].corner, uv_corners, sizeof uv_corners);
	assert_int_equal(g.streams[1].count, 3);
	FLOATS(g.streams[1].v, 1, 0, 0, 0, 1, 0, 0, 0, -1);
	assert_memory_equal(g.streams[1].corner, normal_corners, sizeof normal_corners);
	assert_int_equal(g.nparts, 3);
	model_close(&m);
}

static void expect_joints(struct model *m, uint32_t mesh, uint32_t vertex, const int32_t *want, unsigned n)
{
	struct geo_mesh g;

	model_mesh(m, mesh, &g);
	assert_int_equal(g.ninfluences[vertex], n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(g.joint[g.first_influence[vertex] + i], want[i]);
}
#define JOINTS(m, mesh, vertex, ...) \
	expect_joints(m, mesh, vertex, (const int32_t[]){ __VA_ARGS__ }, ARRAY_LEN(((const int32_t[]){ __VA_ARGS__ })))

/* Slots keep their bones over all groups, across meshes; slots past 7 do not exist. */
static void palette_is_carried_on(void **state)
{
	const uint32_t draw[] = { prim(GE_POINTS, 1), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group skinned = { 0, 0x280 | 2 << 14, "\1\2\3abc", .nvertices = 6, .draw = draw };
	struct build_group rigid = { 0, 0x80, "abc", .nvertices = 3, .draw = draw };
	struct model m;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_palette(&b, 0, 10);
	build_palette(&b, 2, 12);
	build_palette(&b, 200, 99);
	build_group(&b, &skinned);
	build_palette(&b, 1, 11);
	build_group(&b, &skinned);
	build_mesh(&b, ones, ones, zeros);
	build_palette(&b, 0, 5);
	build_palette(&b, 0, 6);
	build_group(&b, &skinned);
	build_group(&b, &rigid);
	model_build(&m, &b);
	JOINTS(&m, 0, 0, 10, -1, 12);
	JOINTS(&m, 0, 1, 10, 11, 12);
	JOINTS(&m, 1, 0, 6, 11, 12);
	JOINTS(&m, 1, 1, 6);
	model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_component_format),
		cmocka_unit_test(colours_of_all_formats),
		cmocka_unit_test(normals_without_direction),
		cmocka_unit_test(scales_that_cannot_be_undone),
		cmocka_unit_test(first_morph_target_is_shown),
		cmocka_unit_test(primitive_types),
		cmocka_unit_test(reversed_and_joined),
		cmocka_unit_test(without_indices),
		cmocka_unit_test(vertex_address_in_the_buffer),
		cmocka_unit_test(wide_indices),
		cmocka_unit_test(list_that_continues_the_index_pointer),
		cmocka_unit_test(groups_with_other_attributes),
		cmocka_unit_test(palette_is_carried_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
