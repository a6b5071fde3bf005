/* Geometry as glTF wants it: one number per corner; bones at rest and the matrices that tie a model to them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "geo.h"

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-6)

static void assert_numbers(const uint32_t *got, const uint32_t *want, unsigned n)
{
	assert_memory_equal(got, want, n * sizeof *got);
}
#define NUMBERS(got, ...) \
	assert_numbers(got, (const uint32_t[]){ __VA_ARGS__ }, ARRAY_LEN(((const uint32_t[]){ __VA_ARGS__ })))

/* ---- corners ---- */

/* Two triangles 0 1 2 and 2 1 3, vertex 4 without a face. Normals by corner: vertex 1 has two, vertex 2 one. */
static void test_triangles(void **state)
{
	uint32_t face[2][3] = { { 0, 1, 2 }, { 2, 1, 3 } }, corner[6] = { 0, 1, 2, 2, 3, GEO_NONE };
	const uint32_t part = 0, lone = 4;
	struct geo_stream s[2] = {
		{ .attr = GEO_COLOUR, .comps = 3, .count = 5 },
		{ .attr = GEO_NORMAL, .comps = 3, .count = 4, .corner = corner },
	};
	struct geo_part parts[1] = { { .nfaces = 2 } };
	struct geo_mesh m = { .nvertices = 5, .nfaces = 2, .face = face, .streams = s, .nstreams = 2, .parts = parts,
			      .nparts = 1 };
	struct geo_flat f;
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(geo_flatten(&m, &part, 1, &lone, 1, &f, &a, NULL), 0);
	assert_int_equal(f.nvertices, 6);
	assert_int_equal(f.ncorners, 6);
	NUMBERS(f.vertex, 0, 1, 1, 2, 3, 4);
	NUMBERS(f.corner, 0, 1, 3, 3, 2, 4);
	NUMBERS(f.value, 0, 0, 1, 1, 1, 3, 2, 2, 3, GEO_NONE, 4, GEO_NONE);
	arena_free(&a);
}

/* A quad and a triangle; parts in another order than their faces. Numbers past the end of a stream are none. */
static void test_quads(void **state)
{
	uint32_t quad[2][4] = { { 3, 2, 1, 0 }, { 0, 1, 2, GEO_NONE } };
	uint32_t corner[8] = { 0, 1, 2, 3, 7, 8, 9, GEO_NONE };
	const uint32_t order[2] = { 1, 0 };
	struct geo_stream s = { .attr = GEO_UV, .comps = 2, .count = 8, .corner = corner };
	struct geo_part parts[2] = { { .nfaces = 1 }, { .first_face = 1, .nfaces = 1 } };
	struct geo_mesh m = { .nvertices = 4, .nfaces = 2, .quad = quad, .streams = &s, .nstreams = 1, .parts = parts,
			      .nparts = 2 };
	struct geo_flat f;
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(geo_flatten(&m, order, 2, NULL, 0, &f, &a, NULL), 0);
	assert_int_equal(f.ncorners, 9);
	NUMBERS(f.vertex, 0, 0, 1, 1, 2, 2, 3);
	NUMBERS(f.value, 7, 3, GEO_NONE, 2, GEO_NONE, 1, 0);
	NUMBERS(f.corner, 0, 2, 4, 6, 5, 3, 6, 3, 1);
	arena_free(&a);
}

static void test_nothing(void **state)
{
	struct geo_mesh m = { 0 };
	struct geo_flat f;
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(geo_flatten(&m, NULL, 0, NULL, 0, &f, &a, NULL), 0);
	assert_int_equal(f.nvertices, 0);
	assert_int_equal(f.ncorners, 0);
	arena_free(&a);
}

/* ---- bones ---- */

static struct geo_joint joint(int32_t parent, float x, float y, float z)
{
	struct geo_joint j = { .name = "", .parent = parent };

	geo_joint_reset(&j);
	j.move[0] = x;
	j.move[1] = y;
	j.move[2] = z;
	return j;
}

static void settle(struct geo_joint *v, uint32_t n)
{
	struct geo_skeleton s = { n, v };
	struct arena a = { 0 };

	assert_int_equal(geo_settle(&s, &a, NULL), 0);
	arena_free(&a);
}

static void matrix_is(const float *m, const float want[16])
{
	for (unsigned k = 0; k < 16; k++)
		NEAR(m[k], want[k]);
}

/* A root at 1 2 3, turned by 90 degrees around z, its child 10 along its x: that is up. The child comes first. */
static void test_turned(void **state)
{
	struct geo_joint v[2] = { joint(1, 10, 0, 0), joint(-1, 1, 2, 3) };

	(void)state;
	v[1].turn[2] = v[1].turn[3] = (float)sqrt(0.5);
	settle(v, 2);
	matrix_is(v[1].inverse, (const float[16]){ 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -2, 1, -3, 1 });
	matrix_is(v[0].inverse, (const float[16]){ 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -12, 1, -3, 1 });
}

/* Offsets add up exactly, and nothing is -0. */
static void test_moved(void **state)
{
	struct geo_joint v[3] = { joint(-1, 0, 0.5f, 0), joint(0, 0, 14.25f, -1), joint(1, 2, 0, 0) };
	const float want[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -2, -14.75f, 1, 1 };

	(void)state;
	settle(v, 3);
	assert_memory_equal(v[2].inverse, want, sizeof want);
	assert_false(signbit(v[0].inverse[12]));
}

/* Stored matrices stay, but for the row that is always the same. */
static void test_tied(void **state)
{
	struct geo_joint v[2] = { joint(-1, 1, 2, 3), joint(-1, 1, 2, 3) };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		v[i].tied = true;
		for (unsigned k = 0; k < 16; k++)
			v[i].inverse[k] = (float)k;
	}
	v[1].inverse[5] = NAN;
	settle(v, 2);
	matrix_is(v[0].inverse, (const float[16]){ 0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10, 0, 12, 13, 14, 1 });
	matrix_is(v[1].inverse, (const float[16]){ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1, -2, -3, 1 });
}

/* A circle of three with a tail, a parent that is none, oneself; what is not finite; a scale without an inverse. */
static void test_broken(void **state)
{
	struct geo_joint v[7] = { joint(2, 1, 0, 0), joint(0, 1, 0, 0), joint(1, 1, 0, 0), joint(1, 1, 0, 0),
				  joint(99, 1, 0, 0), joint(5, NAN, INFINITY, 4), joint(-1, 1, 0, 0) };
	unsigned roots = 0;

	(void)state;
	v[4].turn[1] = NAN;
	v[6].scale[0] = 0;
	settle(v, 7);
	for (unsigned i = 0; i < 3; i++)
		roots += v[i].parent < 0;
	assert_int_equal(roots, 1);
	assert_int_equal(v[3].parent, 1);
	assert_int_equal(v[4].parent, -1);
	assert_int_equal(v[5].parent, -1);
	NEAR(v[4].turn[1], 0);
	NEAR(v[4].turn[3], 1);
	NEAR(v[5].move[0], 0);
	NEAR(v[5].move[2], 4);
	matrix_is(v[6].inverse, (const float[16]){ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 });
}

/* Columns of a turn by 90 degrees around x, 2 3 4 long. */
static void test_place(void **state)
{
	struct geo_joint j = { .parent = -1 };
	const float turned[16] = { 2, 0, 0, 0, 0, 0, 3, 0, 0, -4, 0, 0, 5, 6, 7, 1 };
	const float mirrored[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1 };
	const float flat[16] = { 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 8, NAN, 9, 1 };
	const float half_round_y[16] = { -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1 };

	(void)state;
	geo_joint_place(&j, turned);
	NEAR(j.turn[0], sqrt(0.5));
	NEAR(j.turn[3], sqrt(0.5));
	assert_true(j.scale[0] == 2 && j.scale[1] == 3 && j.scale[2] == 4);
	assert_true(j.move[0] == 5 && j.move[1] == 6 && j.move[2] == 7);
	geo_joint_place(&j, mirrored);
	assert_true(j.scale[0] == 1 && j.scale[1] == 1 && j.scale[2] == -1 && j.turn[3] == 1);
	geo_joint_place(&j, flat);
	assert_true(j.scale[0] == 1 && j.turn[3] == 1 && j.move[0] == 8 && j.move[1] == 0 && j.move[2] == 9);
	geo_joint_place(&j, half_round_y);
	assert_true(fabsf(j.turn[1]) == 1 && j.turn[3] == 0 && j.scale[0] == 1 && j.scale[2] == 1);
}

/* ---- pictures ---- */

static void test_alpha(void **state)
{
	uint8_t rgba[8] = { 1, 2, 3, 255, 4, 5, 6, 255 }, indexed[2] = { 0, 1 };
	uint8_t palette[16][4] = { { 0, 0, 0, 255 }, { 0, 0, 0, 255 }, { 0, 0, 0, 77 } };
	struct geo_image img = { .w = 2, .h = 1, .rgba = rgba };

	(void)state;
	assert_int_equal(geo_alpha(&img), GEO_OPAQUE);
	rgba[7] = 0;
	assert_int_equal(geo_alpha(&img), GEO_CUT);
	rgba[3] = 254;
	assert_int_equal(geo_alpha(&img), GEO_BLENDED);
	img = (struct geo_image){ .w = 2, .h = 1, .indexed = indexed, .palette = palette, .ncolours = 16 };
	assert_int_equal(geo_alpha(&img), GEO_OPAQUE);
	palette[1][3] = 0;
	assert_int_equal(geo_alpha(&img), GEO_CUT);
	indexed[0] = 2;                        /* one that is there but was not used */
	assert_int_equal(geo_alpha(&img), GEO_BLENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_triangles),
		cmocka_unit_test(test_quads),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_turned),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_tied),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_alpha),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
