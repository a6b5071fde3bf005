/* OBJ and weights as programs and people write them. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "decimal.h"
#include "export.h"

/* One text, read. */
struct got {
	struct geo_put m;
	struct geo_weights w;
	struct arena a;
	struct err e;
	char said[1024];
};

static void note(void *ctx, const char *text)
{
	struct got *g = ctx;

	strncat(g->said, text, sizeof g->said - strlen(g->said) - 1);
	strncat(g->said, "\n", sizeof g->said - strlen(g->said) - 1);
}

static int try_form(struct got *g, const struct geo_form *form, uint32_t number, const char *text, size_t n)
{
	const struct reader_log log = { note, g };

	memset(g, 0, sizeof *g);
	return obj_read((const uint8_t *)text, n, number, form, &g->m, &g->a, &log, &g->e);
}

static int try_obj(struct got *g, const char *text, size_t n)
{
	return try_form(g, NULL, 0, text, n);
}

static void read_obj(struct got *g, const char *text)
{
	if (try_obj(g, text, strlen(text)))
		fail_msg("%s", g->e.text);
}

static void refused(const char *text, const char *why)
{
	struct got g;

	assert_int_equal(try_obj(&g, text, strlen(text)), -EINVAL);
	assert_string_equal(g.e.text, why);
	arena_free(&g.a);
}

static void assert_face(const struct got *g, uint32_t i, uint32_t a, uint32_t b, uint32_t c)
{
	assert_true(i < g->m.nfaces);
	assert_int_equal(g->m.face[i][0].v, a);
	assert_int_equal(g->m.face[i][1].v, b);
	assert_int_equal(g->m.face[i][2].v, c);
}

static void assert_xyz(const struct got *g, uint32_t i, double x, double y, double z)
{
	assert_true(i < g->m.nvertices);
	assert_true(g->m.position[i][0].v == x && g->m.position[i][1].v == y && g->m.position[i][2].v == z);
}

#define V4 "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"

/* ---- numbers ---- */

static struct decimal decimal(const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	struct decimal d = { 0 };

	assert_ptr_equal(decimal_read(p, p + strlen(text), &d), p + strlen(text));
	return d;
}

static void assert_decimal(const char *text, double v, int decimals, unsigned digits, bool padded)
{
	struct decimal d = decimal(text);

	assert_true(d.v == v && signbit(d.v) == signbit(v));
	assert_int_equal(d.decimals, decimals);
	assert_int_equal(d.digits, digits);
	assert_int_equal(d.padded, padded);
}

static void test_decimal(void **state)
{
	static const char *const none[] = { "", "-", "+", ".", "-.", "e5", "nan", "inf", "x1", "--1" };
	struct decimal d;

	(void)state;
	assert_decimal("0", 0, 0, 0, false);
	assert_decimal("-0", -0.0, 0, 0, false);
	assert_decimal("+1.5", 1.5, 1, 2, false);
	assert_decimal(".5", 0.5, 1, 1, false);
	assert_decimal("-5.", -5, 0, 1, true);
	assert_decimal("0.500000", 0.5, 6, 6, true);
	assert_decimal("0.000001", 1e-6, 6, 1, false);
	assert_decimal("1.5e-05", 1.5e-5, 6, 2, false);
	assert_decimal("12E3", 12000, -3, 2, false);
	assert_decimal("1.25e+1", 12.5, 1, 3, false);
	assert_decimal("0.1", 0.1, 1, 1, false);
	assert_decimal("3.4028235e+38", 3.4028235e+38, -31, 8, false);
	assert_decimal("1e-45", 1e-45, 45, 1, false);
	assert_decimal("123456789012345678901234567890", 123456789012345678901234567890.0, 0, 30, false);
	assert_decimal("0.1000000000000000055511151231257827021181583404541015625", 0.1, 55, 55, false);
	assert_true(isinf(decimal("1e99999999999").v));
	assert_true(decimal("1e-99999999999").v == 0);
	assert_true(decimal("0e99999999999").v == 0);
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		const uint8_t *p = (const uint8_t *)none[i];

		assert_null(decimal_read(p, p + strlen(none[i]), &d));
	}
	assert_true(decimal_fits(3.4028235e38) && decimal_fits(-3.4028235e38));
	assert_false(decimal_fits(3.4028236e38) || decimal_fits(INFINITY) || decimal_fits(-1e39));
}

/* Against the C library, which rounds correctly: numbers of 1 to 20 digits. */
static void test_decimal_as_strtod(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		char text[64];
		double want, v;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		snprintf(text, sizeof text, "%s%u.%0*ue%d", seed >> 63 ? "-" : "", (unsigned)(seed >> 33) % 1000,
			 1 + (int)(seed >> 40) % 9, (unsigned)(seed >> 13) % 1000000000u, (int)(seed >> 50) % 80 - 40);
		want = strtod(text, NULL);
		v = decimal(text).v;
		if (fabs(v - want) > fabs(want) * 0x1p-52)
			fail_msg("%s: %a instead of %a", text, v, want);
		assert_true((float)v == (float)want);
	}
}

/* ---- slack ---- */

static bool stays(struct geo_number given, float shown)
{
	return geo_stays(given, shown);
}

/* A text of six decimals, as most programs print: each number means what would be printed so. */
static void test_slack_of_fixed_decimals(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "# a program\no mesh_0\nv 0.123457 -0.500000 0.007812\nv 0.5 1 12.345679\n");
	assert_true(stays(g.m.position[0][0], 0.1234565f));
	assert_true(stays(g.m.position[0][0], 0.1234574f));
	assert_false(stays(g.m.position[0][0], 0.1234583f));
	assert_false(stays(g.m.position[0][0], 0.123456f));
	assert_true(stays(g.m.position[0][1], -0.5000004f));
	assert_false(stays(g.m.position[0][1], -0.500001f));
	/* 1/128 lies exactly between two texts. */
	assert_true(stays(g.m.position[0][2], 0.0078125f));
	/* Trailing zeros were left out. */
	assert_true(stays(g.m.position[1][0], 0.5000004f));
	assert_false(stays(g.m.position[1][0], 0.500003f));
	assert_false(stays(g.m.position[1][0], 0.504f));
	assert_true(g.m.position[1][2].slack < 3e-6f && g.m.position[1][2].slack > 5e-7f);
	arena_free(&g.a);
	/* Half a unit of the fourth decimal; kinds of their own. */
	read_obj(&g, "o mesh_0\nv 0.123456789 1 2\nvn 0.7071 -0.7071 0.0000\nvn 1 0 0\nvt 0.25 0.123\n");
	assert_true(stays(g.m.normal[0][0], 0.70714f) && !stays(g.m.normal[0][0], 0.70716f));
	assert_true(stays(g.m.normal[1][1], 0.00004f) && !stays(g.m.normal[1][1], 0.00006f));
	assert_true(stays(g.m.uv[0][0], 0.2504f) && !stays(g.m.uv[0][0], 0.2506f));
	assert_true(stays(g.m.uv[0][1], 0.8774f) && !stays(g.m.uv[0][1], 0.8776f));
	assert_false(stays(g.m.position[0][1], 1.000001f));
	arena_free(&g.a);
}

/* Six digits or more count with their own decimals, as "%g" prints them. */
static void test_slack_of_six_digits(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "v 1234.57 0.00123457 0.5\nv 123457 0 0\n");
	assert_true(stays(g.m.position[0][0], 1234.5654f));
	assert_false(stays(g.m.position[0][0], 1234.577f));
	assert_true(stays(g.m.position[0][1], 0.0012345f));       /* turned axes cost more than the digits here */
	assert_false(stays(g.m.position[0][2], 0.501f));
	assert_false(stays(g.m.position[1][0], 123457.4f));
	arena_free(&g.a);
}

/* Our own texts: a number typed into one means what it says. */
static void test_slack_of_our_own(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "mtllib 0.mtl\no mesh_0\nv 1.5 0.70710677 1e-05\nv 0.707107 2 3\n");
	assert_true(stays(g.m.position[0][0], 1.5f));
	assert_false(stays(g.m.position[0][0], 1.5000001f));
	assert_true(stays(g.m.position[0][1], 0.70710677f));
	assert_true(stays(g.m.position[1][0], 0.70710677f));
	assert_false(stays(g.m.position[1][1], 2.0000002f));
	arena_free(&g.a);
	/* All are short: 0.25 must not swallow a 0.2525 that was there. */
	read_obj(&g, "mtllib 0.mtl\r\no mesh_0\r\nv 0.25 0 1\r\nvt 0.5 0.25\r\n");
	assert_false(stays(g.m.position[0][0], 0.2525f));
	assert_false(stays(g.m.position[0][1], 1e-6f));
	assert_false(stays(g.m.uv[0][0], 0.5001f));
	arena_free(&g.a);
	/* Zeros at the end: our first lines, but another program's numbers. */
	read_obj(&g, "mtllib 0.mtl\no mesh_0\nv 0.2500 0.0000 1.0000\n");
	assert_true(stays(g.m.position[0][0], 0.25004f));
	assert_true(stays(g.m.position[0][1], 0.00004f));
	assert_false(stays(g.m.position[0][2], 1.0001f));
	arena_free(&g.a);
}

/* Blender turns the axes by a quarter whose cosine is 4.4e-8: 0.5 comes back as 0.500001 beside a 20.25. */
static void test_slack_of_turned_axes(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "# Blender 3.4.1\nmtllib 0.mtl\no mesh_0\nv 0.000000 0.500001 -20.250000\n");
	assert_true(stays(g.m.position[0][1], 0.5f));
	assert_true(stays(g.m.position[0][2], -20.25f));
	assert_false(stays(g.m.position[0][1], 0.499997f));
	arena_free(&g.a);
}

static void expect_stays(const struct geo_number *got, const float *was, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_true(!isfinite(was[i]) || stays(got[i], was[i]));
}

/* Every finite value that obj_write() shows stays when its text is read. */
static void test_round_trip(void **state)
{
	enum { N = 3000 };
	static float position[N][3], uv[N][2], normal[N][3], colour[N][4];
	static uint32_t face[N][3];
	struct geo_stream streams[] = {
		{ .attr = GEO_UV, .comps = 2, .count = N, .v = uv[0] },
		{ .attr = GEO_NORMAL, .comps = 3, .count = N, .v = normal[0] },
		{ .attr = GEO_COLOUR, .comps = 4, .count = N, .v = colour[0] },
	};
	struct geo_part parts[] = { { .nfaces = 1000 }, { .first_face = 1000, .nfaces = 0 },
				    { .first_face = 1000, .nfaces = N - 1000 } };
	struct geo_material materials[] = { { .name = "material_4" }, { .name = "x" }, { .name = "material_0" } };
	struct geo_mesh m = { .nvertices = N, .nfaces = N, .position = position, .face = face, .streams = streams,
			      .nstreams = 3, .parts = parts, .nparts = 3 };
	float *const all[] = { position[0], uv[0], normal[0], colour[0] };
	const size_t count[] = { N * 3, N * 2, N * 3, N * 4 };
	struct buf out = { 0 };
	uint32_t seed = 5;
	struct got g;

	(void)state;
	for (unsigned k = 0; k < ARRAY_LEN(all); k++)
		for (size_t i = 0; i < count[k]; i++) {
			uint32_t bits = seed = seed * 1664525 + 1013904223;

			bits = bits >> 16 | bits << 16;
			/* Half of them near 1, where 1 - v rounds. */
			all[k][i] = bits_f32(i & 8 ? (bits & 0x83ffffff) | 0x3c000000 : bits);
		}
	for (uint32_t i = 0; i < 3 * N; i++)
		face[i / 3][i % 3] = (i / 3 + i % 3) % N;
	obj_write(&out, &m, 0, materials);
	buf_char(&out, 0);
	assert_false(out.bad);
	read_obj(&g, (const char *)out.p);
	assert_int_equal(g.m.nvertices, N);
	assert_int_equal(g.m.nuvs, N);
	assert_int_equal(g.m.nnormals, N);
	assert_int_equal(g.m.nfaces, N);
	for (uint32_t i = 0; i < N; i++) {
		expect_stays(g.m.position[i], position[i], 3);
		expect_stays(g.m.normal[i], normal[i], 3);
		expect_stays(g.m.uv[i], uv[i], 2);
		assert_int_equal(isnan(colour[i][0]), isnan(g.m.colour[i][0].v));
		if (!isnan(colour[i][0]))
			expect_stays(g.m.colour[i], colour[i], 3);
		for (unsigned k = 0; k < 3; k++) {
			assert_int_equal(g.m.face[i][k].v, (i + k) % N);
			assert_int_equal(g.m.face[i][k].uv, (i + k) % N);
			assert_int_equal(g.m.face[i][k].normal, (i + k) % N);
		}
		assert_int_equal(g.m.group[i], i < 1000 ? 0 : 2);
		assert_int_equal(g.m.material[i], i < 1000 ? 4 : 0);
	}
	assert_false(g.m.foreign_normals);
	assert_string_equal(g.said, "");
	arena_free(&g.a);
	buf_free(&out);
}

/* ---- what is accepted ---- */

static void test_line_ends(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "\xef\xbb\xbfo mesh_0\r\n\r\n  # comment \\\r\n\tv 1 2 3\r\nv\t4 5 6  # here too\r\n"
		     "v 7\\\r\n 8 \\\n9\nv 0 0 0\nf 1 2 3 \\\n\n\nf 1 2 \\\n 4");
	assert_int_equal(g.m.nvertices, 4);
	assert_xyz(&g, 0, 1, 2, 3);
	assert_xyz(&g, 1, 4, 5, 6);
	assert_xyz(&g, 2, 7, 8, 9);
	assert_int_equal(g.m.nfaces, 2);
	assert_face(&g, 0, 0, 1, 2);
	assert_face(&g, 1, 0, 1, 3);
	assert_int_equal(g.m.vertex_line[0], 4);
	assert_int_equal(g.m.vertex_line[2], 6);
	assert_int_equal(g.m.vertex_line[3], 9);
	assert_int_equal(g.m.face_line[1], 13);
	assert_string_equal(g.said, "");
	arena_free(&g.a);
}

static void test_values(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "v 1e1 -2.5E-1 +.5\nv 1 2 3 1.0\nv 1 2 3 0.25 0.5 1\nv 4 5 6\n"
		     "vt 0.25\nvt 0.25 0.75\nvt 0.25 0.5 0\nvn 0 0 -2\n");
	assert_int_equal(g.m.nvertices, 4);
	assert_xyz(&g, 0, 10, -0.25, 0.5);
	assert_xyz(&g, 1, 1, 2, 3);
	assert_true(isnan(g.m.colour[0][0].v) && isnan(g.m.colour[1][0].v) && isnan(g.m.colour[3][0].v));
	assert_true(g.m.colour[2][0].v == 0.25 && g.m.colour[2][1].v == 0.5 && g.m.colour[2][2].v == 1);
	assert_int_equal(g.m.nuvs, 3);
	assert_true(g.m.uv[0][0].v == 0.25 && g.m.uv[0][1].v == 1);
	assert_true(g.m.uv[1][1].v == 0.25 && g.m.uv[2][1].v == 0.5);
	assert_int_equal(g.m.nnormals, 1);
	assert_true(g.m.normal[0][2].v == -2);
	arena_free(&g.a);
	read_obj(&g, "v 1 2 3\n");
	assert_null(g.m.colour);
	assert_int_equal(g.m.nfaces, 0);
	arena_free(&g.a);
}

static void assert_corner(const struct geo_corner *c, uint32_t v, uint32_t uv, uint32_t normal)
{
	assert_int_equal(c->v, v);
	assert_int_equal(c->uv, uv);
	assert_int_equal(c->normal, normal);
}

static void test_corners(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "f 1/2/3 2 3//1\n" V4 "vt 0 0\nvt 1 1\nvn 0 0 1\nvn 0 1 0\nvn 1 0 0\n"
		     "f -1/-1/-1 -4/1 -2//2\nv 9 9 9\nf -1 -5 1/ 2//\n");
	assert_int_equal(g.m.nfaces, 4);
	assert_corner(&g.m.face[0][0], 0, 1, 2);
	assert_corner(&g.m.face[0][1], 1, GEO_NONE, GEO_NONE);
	assert_corner(&g.m.face[0][2], 2, GEO_NONE, 0);
	assert_corner(&g.m.face[1][0], 3, 1, 2);
	assert_corner(&g.m.face[1][1], 0, 0, GEO_NONE);
	assert_corner(&g.m.face[1][2], 2, GEO_NONE, 1);
	assert_face(&g, 2, 4, 0, 0);
	assert_face(&g, 3, 4, 0, 1);
	arena_free(&g.a);
}

static void test_polygon(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, V4 "v 5 5 5\nf 5 1 2 3 4\n");
	assert_int_equal(g.m.nfaces, 3);
	assert_face(&g, 0, 4, 0, 1);
	assert_face(&g, 1, 4, 1, 2);
	assert_face(&g, 2, 4, 2, 3);
	assert_int_equal(g.m.face_line[2], 6);
	arena_free(&g.a);
}

static void test_unknown_keywords(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, V4 "s off\ns 1\nmtllib a b.mtl\nl 1 2\nvp 0.5\nl 2 3\nl 3 x\n"
		     "\x01\xffodd-and-very-long-keyword 1\nf 1 2 3\n");
	assert_int_equal(g.m.nfaces, 1);
	assert_string_equal(g.said, "line 8: lines of \"l\" are ignored\nline 9: lines of \"vp\" are ignored\n"
				    "line 12: lines of \"??odd-and-v\" are ignored\n");
	arena_free(&g.a);
}

/* ---- what is refused ---- */

static void test_refused_numbers(void **state)
{
	(void)state;
	refused("v 1 2 3\nv nan 2 3\n", "line 2, column 3: \"nan\" is not a finite number");
	refused("v 1 -inf 3\n", "line 1, column 5: \"-inf\" is not a finite number");
	refused("\tv 1 2\t1,5\n", "line 1, column 8: \"1,5\" has a comma where a decimal point is expected");
	refused("v 1 2 \\\n 3x\n", "line 2, column 2: \"3x\" is not a finite number");
	refused("v 1 2 1e39\n", "line 1, column 7: \"1e39\" is too large");
	refused("v 1 2 1e999999999999\n", "line 1, column 7: \"1e999999999999\" is too large");
	refused("v 1 2 3#4\n", "line 1, column 7: \"3#4\" is not a finite number");
	refused("# c\nv 1 2\n", "line 2: v takes 3, 4 or 6 numbers, found 2");
	refused("v 1 2 3 4 5\n", "line 1: v takes 3, 4 or 6 numbers, found 5");
	refused("v 1 2 3 4 5 6 7\n", "line 1: v takes 3, 4 or 6 numbers, found 7");
	refused("v\n", "line 1: v takes 3, 4 or 6 numbers, found 0");
	refused("vt\n", "line 1: vt takes 1 to 3 numbers, found 0");
	refused("vt 1 2 3 4\n", "line 1: vt takes 1 to 3 numbers, found 4");
	refused("vn 1 2\n", "line 1: vn takes 3 numbers, found 2");
}

static void test_refused_faces(void **state)
{
	static const char corner[] = "is no corner like 1, 1/2, 1//3 or 1/2/3";
	char why[120];

	(void)state;
	refused(V4 "f 1 2 0\n", "line 5, column 7: vertex 0: they count from 1");
	refused(V4 "f 1/0 2 3\n", "line 5, column 5: vt 0: they count from 1");
	refused(V4 "\nf 1 2 5\nf 1 2 3\n", "line 6: vertex 5 is out of range: there are 4");
	refused(V4 "f 1//1 2 3\n", "line 5: vn 1 is out of range: there are 0");
	refused(V4 "vt 0 0\nf 1/2 2 3\n", "line 6: vt 2 is out of range: there are 1");
	refused(V4 "f -5 2 3\nv 0 0 0\n", "line 5, column 3: vertex -5 is out of range: 4 so far");
	refused(V4 "f 1 2 4294967295\n", "line 5, column 7: vertex 4294967295 is out of range: 4 so far");
	refused(V4 "f 1 2 99999999999999999999\n", "line 5, column 7: vertex 9999999999999 is out of range: 4 so far");
	refused(V4 "f 1 2\n", "line 5: a face has 3 corners or more, found 2");
	refused(V4 "f\n", "line 5: a face has 3 corners or more, found 0");
	refused(V4 "f 1 2.5 3\n", strcat(strcpy(why, "line 5, column 5: \"2.5\" "), corner));
	refused(V4 "f 1 1/1/1/1 3\n", strcat(strcpy(why, "line 5, column 5: \"1/1/1/1\" "), corner));
	refused(V4 "f 1 /1 3\n", strcat(strcpy(why, "line 5, column 5: \"/1\" "), corner));
	refused(V4 "f 1 - 3\n", strcat(strcpy(why, "line 5, column 5: \"-\" "), corner));
}

static void test_refused_whole(void **state)
{
	struct got g;

	(void)state;
	refused("", "no vertices: the file is empty");
	refused("# nothing\n", "no vertices");
	refused("\x89PNG\r\n\x1a\nxyz", "no vertices");
	assert_int_equal(try_obj(&g, "", LIMIT_DECODED + 1), -EFBIG);
	assert_non_null(strstr(g.e.text, "268435457 bytes"));
}

/* ---- objects, groups, materials ---- */

static void test_objects(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "o cube\nv 1 1 1\nv 2 2 2\nvt 0.5 0.5\nvn 0 1 0\nf 1 2 1\n"
		     "o mesh_0\nv 3 3 3\nv 4 4 4\nv 5 5 5\nvt 0.25 0.75\nvn 0 0 1\nvn 1 0 0\n"
		     "f 3/2/3 4/2/2 2/1/2\no lamp\nv 6 6 6\nf 1 2 99\n");
	assert_string_equal(g.said, "objects left out (2): cube, lamp\n");
	assert_int_equal(g.m.nvertices, 4);
	assert_xyz(&g, 0, 2, 2, 2);              /* used from elsewhere */
	assert_xyz(&g, 1, 3, 3, 3);
	assert_xyz(&g, 3, 5, 5, 5);              /* unused, but its own */
	assert_int_equal(g.m.vertex_line[0], 3);
	assert_int_equal(g.m.vertex_line[3], 10);
	assert_int_equal(g.m.nuvs, 2);
	assert_int_equal(g.m.nnormals, 2);
	assert_int_equal(g.m.nfaces, 1);
	assert_face(&g, 0, 1, 2, 0);
	assert_corner(&g.m.face[0][0], 1, 1, 1);
	assert_corner(&g.m.face[0][1], 2, 1, 0);
	assert_corner(&g.m.face[0][2], 0, 0, 0);
	arena_free(&g.a);
}

static void test_all_values_first(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, V4 "v 7 7 7\nv 8 8 8\no mesh_10\nf 1 2 3\no mesh_0\ng group_1\nf 6 2 4\n");
	assert_int_equal(g.m.nvertices, 3);
	assert_xyz(&g, 0, 1, 0, 0);
	assert_xyz(&g, 2, 8, 8, 8);
	assert_face(&g, 0, 2, 0, 1);
	assert_int_equal(g.m.group[0], 1);
	arena_free(&g.a);
	/* The only object: the unused ones are its own too. */
	read_obj(&g, V4 "o mesh_0\nf 1 2 3\n");
	assert_int_equal(g.m.nvertices, 4);
	arena_free(&g.a);
}

static void test_object_names(void **state)
{
	static const char *const taken[] = { "mesh_0", "mesh_0.001", "mesh_0_mesh_0", "mesh_0.002_mesh_0.001",
					     "mesh_0_group_1", "mesh_0_mesh_0_material_3", "mesh_0  # comment" };
	static const char *const others[] = { "mesh_00x", "mesh_1", "mesh_01", "mesh_", "mesh_0x", "mesh_0.x",
					      "mesh_0 2", "Mesh_0", "mesh_0_backup", "my mesh_0", "mesh_4294967296",
					      "" };
	char text[200], why[200];
	struct got g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		snprintf(text, sizeof text, "o %s\nv 1 2 3\n", taken[i]);
		read_obj(&g, text);
		assert_int_equal(g.m.nvertices, 1);
		arena_free(&g.a);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		snprintf(text, sizeof text, "#\no %s\nv 1 2 3\n", others[i]);
		snprintf(why, sizeof why, "line 2: no object mesh_0 here; there is 1: %s", others[i]);
		refused(text, why);
	}
	refused("v 0 0 0\no a b\no c\n", "line 2: no object mesh_0 here; there are 2: a b, c");
	refused("o mesh_0\no cube\nv 1 2 3\nf 1 1 1\n", "line 1: mesh_0 has no vertices");
}

static void test_object_in_parts(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "f 1 2 3\no mesh_0\nv 1 1 1\no x\nv 2 2 2\nv 2 2 3\no mesh_0.001\nv 3 3 3\nf 1 4 2\n");
	assert_string_equal(g.said, "objects left out (1): x\ntaken together as mesh_0 (2): mesh_0, mesh_0.001\n"
				    "1 triangles before the first o, in line 2, are left out\n");
	assert_int_equal(g.m.nvertices, 3);
	assert_int_equal(g.m.nfaces, 1);
	assert_face(&g, 0, 0, 2, 1);
	assert_int_equal(g.m.face_line[0], 9);
	arena_free(&g.a);
	/* As obj_write() shows a mesh without vertices. */
	read_obj(&g, "mtllib 0.mtl\no mesh_0\n");
	assert_int_equal(g.m.nvertices, 0);
	assert_int_equal(g.m.nfaces, 0);
	arena_free(&g.a);
}

static void test_groups_and_materials(void **state)
{
	static const struct { const char *line; uint32_t group; int32_t material; } cases[] = {
		{ "", GEO_NONE, -1 },
		{ "g group_7", 7, -1 },
		{ "usemtl material_2", 7, 2 },
		{ "g a mesh_0_group_12_material_0 b", 12, 2 },
		{ "usemtl material_3.001", 12, 3 },
		{ "g off", GEO_NONE, 3 },
		{ "g subgroup_4 group_5x", GEO_NONE, 3 },
		{ "g group_group_6.001", 6, 3 },
		{ "usemtl mat_0000beef", 6, -1 },
		{ "usemtl material_1", 6, 1 },
		{ "o mesh_0", GEO_NONE, 1 },
		{ "usemtl material_1x", GEO_NONE, -1 },
		{ "usemtl material_4294967295", GEO_NONE, -1 },
		{ "g group_4294967295", GEO_NONE, -1 },
		{ "g group_4294967294", 4294967294u, -1 },
		{ "usemtl", 4294967294u, -1 },
		{ "g", GEO_NONE, -1 },
	};
	char text[2000] = "o mesh_0\n" V4;
	struct got g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		strcat(strcat(text, cases[i].line), "\nf 1 2 3\n");
	read_obj(&g, text);
	assert_int_equal(g.m.nfaces, ARRAY_LEN(cases));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (g.m.group[i] != cases[i].group || g.m.material[i] != cases[i].material)
			fail_msg("%s: %u, %d", cases[i].line, g.m.group[i], g.m.material[i]);
	}
	arena_free(&g.a);
}

/* As Blender 3.4 writes a mesh of two groups. */
static void test_blender(void **state)
{
	struct got g;

	(void)state;
	read_obj(&g, "# Blender 3.4.1\n# www.blender.org\nmtllib 0.mtl\no mesh_0\n"
		     "v 0.000000 0.000000 0.000000\nv 1.000000 0.000000 0.000000\nv 1.000000 0.500000 0.000000\n"
		     "v 0.000000 0.500001 -20.250000\nvn -0.0000 -0.0000 1.0000\nvn -0.0000 -1.0000 -0.0000\n"
		     "vn -0.0000 0.7071 0.7071\nvn -0.0099 -0.0049 0.9999\nvt 0.000000 1.000000\nvt 1.000000 0.750000\n"
		     "vt 0.100000 0.900000\nvt -0.500000 0.000000\ns 0\nusemtl material_0\nf 1/1/1 2/2/2 3/3/3\n"
		     "usemtl material_1\nf 1/1/1 3/3/3 4/4/4\n");
	assert_true(g.m.foreign_normals);
	assert_int_equal(g.m.nvertices, 4);
	assert_int_equal(g.m.nfaces, 2);
	assert_int_equal(g.m.group[0], GEO_NONE);
	assert_int_equal(g.m.material[0], 0);
	assert_int_equal(g.m.material[1], 1);
	assert_true(stays(g.m.normal[2][1], 0.70710677f));
	assert_true(stays(g.m.uv[2][1], 0.1f));
	assert_true(stays(g.m.uv[3][0], -0.5f) && stays(g.m.uv[3][1], 1));
	arena_free(&g.a);
}

static void test_foreign_normals(void **state)
{
	static const struct { const char *text; bool foreign; } cases[] = {
		{ "mtllib 0.mtl\no mesh_0\nv 0 0 0\nvn 0 0 1\nvn 0.70710677 0 0.70710677\n", false },
		{ "mtllib 0.mtl\no mesh_0\nv 0 0 0\nvn 0.0000 0.0000 1.0000\nvn 0.7071 0.0000 0.7071\n", true },
		{ "mtllib 1.mtl\no mesh_0\nv 0 0 0\nvn 0 0 1\n", true },
		{ "o mesh_0\nv 0 0 0\nvn 0 0 1\n", true },
		{ "# c\nmtllib 0.mtl\no mesh_0\nv 0 0 0\nvn 0 0 1\n", true },
	};
	struct got g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		read_obj(&g, cases[i].text);
		assert_int_equal(g.m.foreign_normals, cases[i].foreign);
		arena_free(&g.a);
	}
}

/* ---- forms ---- */

/* As jom.md 10 has it: quads, names, all digits. */
static const struct geo_form body = { .quads = true, .named = true, .exact = true, .object = "BODY",
				      .holds = "it holds triangles and quads" };
static const struct geo_form whole = { .quads = true, .named = true, .exact = true,
				       .holds = "it holds triangles and quads" };

static void read_form(struct got *g, const struct geo_form *form, uint32_t number, const char *text)
{
	if (try_form(g, form, number, text, strlen(text)))
		fail_msg("%s", g->e.text);
}

static void refused_form(const struct geo_form *form, const char *text, const char *why)
{
	struct got g;

	assert_int_equal(try_form(&g, form, 0, text, strlen(text)), -EINVAL);
	assert_string_equal(g.e.text, why);
	arena_free(&g.a);
}

static const char *name_of(const struct got *g, uint32_t i)
{
	if (i == GEO_NONE)
		return "";
	assert_true(i < g->m.nnames);
	return g->m.names[i].text;
}

static void test_quads(void **state)
{
	struct got g;

	(void)state;
	read_form(&g, &body, 0, V4 "vt 0 1\nvn 0 0 1\nf 1/1/1 4 3//1 2\r\nf -4 -3 -2\nf 1 2 2 3\n");
	assert_null(g.m.face);
	assert_int_equal(g.m.nfaces, 3);
	assert_corner(&g.m.quad[0][0], 0, 0, 0);
	assert_corner(&g.m.quad[0][1], 3, GEO_NONE, GEO_NONE);
	assert_corner(&g.m.quad[0][2], 2, GEO_NONE, 0);
	assert_corner(&g.m.quad[0][3], 1, GEO_NONE, GEO_NONE);
	assert_corner(&g.m.quad[1][0], 0, GEO_NONE, GEO_NONE);
	assert_corner(&g.m.quad[1][2], 2, GEO_NONE, GEO_NONE);
	assert_corner(&g.m.quad[1][3], GEO_NONE, GEO_NONE, GEO_NONE);
	assert_corner(&g.m.quad[2][3], 2, GEO_NONE, GEO_NONE);
	assert_int_equal(g.m.face_line[2], 9);
	arena_free(&g.a);
	refused_form(&body, V4 "v 5 5 5\nf 1 2 3 4 \\\n5\n", "line 6: 5 corners; it holds triangles and quads");
	refused_form(&body, V4 "f 1 2 3 4 1 2 3\n", "line 5: 7 corners; it holds triangles and quads");
	refused_form(&body, V4 "f 1 2\n", "line 5: a face has 3 corners or more, found 2");
	refused_form(&body, V4 "f 1 2 3 4 x\n", "line 5, column 11: \"x\" is no corner like 1, 1/2, 1//3 or 1/2/3");
	refused_form(&body, V4 "f 1 2 3\nf 1 2 3 5\n", "line 6: vertex 5 is out of range: there are 4");
}

static void test_names(void **state)
{
	struct got g;

	(void)state;
	read_form(&g, &whole, MESH_WHOLE, V4 "f 1 2 3\no BODY\nusemtl red\nf 1 2 3\no my arm # left\nf 2 3 4\n"
		  "g BODY x\nusemtl blue.001\nf 3 4 1\nusemtl\ng\nf 1 2 3 4\no BODY\nusemtl red\nf 1 2 3\n");
	assert_int_equal(g.m.nfaces, 6);
	assert_int_equal(g.m.nnames, 4);
	assert_null(g.m.group);
	assert_null(g.m.material);
	static const struct { const char *object, *usemtl; unsigned line; } want[] = {
		{ "", "", 0 }, { "BODY", "red", 7 }, { "my arm", "red", 7 }, { "BODY", "blue.001", 12 }, { "", "", 14 },
		{ "BODY", "red", 18 },
	};
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_string_equal(name_of(&g, g.m.object[i]), want[i].object);
		assert_string_equal(name_of(&g, g.m.usemtl[i]), want[i].usemtl);
		assert_int_equal(g.m.usemtl_line[i], want[i].line);
	}
	assert_int_equal(g.m.names[0].line, 6);
	assert_int_equal(g.m.names[g.m.usemtl[3]].line, 12);
	assert_string_equal(g.said, "");
	arena_free(&g.a);
}

/* The table of names grows. */
static void test_many_names(void **state)
{
	enum { N = 2000 };
	struct buf text = { 0 };
	struct got g;

	(void)state;
	buf_str(&text, V4);
	for (unsigned i = 0; i < 2 * N; i++)
		buf_printf(&text, "usemtl m%u\nf 1 2 3\n", i % N * 7919u);
	buf_char(&text, 0);
	assert_false(text.bad);
	read_form(&g, &body, 0, (const char *)text.p);
	assert_int_equal(g.m.nnames, N);
	for (unsigned i = 0; i < 2 * N; i++) {
		char want[32];

		snprintf(want, sizeof want, "m%u", i % N * 7919u);
		assert_string_equal(name_of(&g, g.m.usemtl[i]), want);
	}
	arena_free(&g.a);
	buf_free(&text);
}

static void test_named_objects(void **state)
{
	static const char *const taken[] = { "BODY", "BODY.001", "BODY_BODY", "BODY.002_BODY.001" };
	static const char *const others[] = { "BODY2", "BODY.x", "BODY_", "BODY_ARM", "body", "mesh_0" };
	char text[200], why[200];
	struct got g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		snprintf(text, sizeof text, V4 "o x\nf 1 2 3\no %s\nf 2 3 4\n", taken[i]);
		read_form(&g, &body, 0, text);
		assert_int_equal(g.m.nfaces, 1);
		assert_int_equal(g.m.nvertices, 3);
		assert_string_equal(g.said, "objects left out (1): x\n");
		arena_free(&g.a);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		snprintf(text, sizeof text, V4 "o %s\nf 1 2 3\n", others[i]);
		snprintf(why, sizeof why, "line 5: no object BODY here; there is 1: %s", others[i]);
		refused_form(&body, text, why);
	}
}

static bool is_exact(const struct got *g, uint32_t i, unsigned k, double v)
{
	return g->m.position[i][k].v == v && !(g->m.position[i][k].slack > 0);
}

/* Every 16.16 number has a text that means it and nothing else, and what is typed into ours is exact too. */
/* Numbered groups of triangles whose materials have names. */
static void test_named_materials(void **state)
{
	static const struct geo_form form = { .materials = true, .triangles = true, .holds = "only triangles" };
	static const char text[] = "o mesh_3\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\ng group_1\nusemtl mat_0badf00d\n"
				   "f 1 2 3\ng mesh_3_group_0\nf 1 3 2\nusemtl other\nf 2 3 1\n";
	struct got g;

	(void)state;
	assert_int_equal(try_form(&g, &form, 3, text, sizeof text - 1), 0);
	assert_int_equal(g.m.nfaces, 4);
	assert_int_equal(g.m.group[0], GEO_NONE);
	assert_int_equal(g.m.group[1], 1);
	assert_int_equal(g.m.group[2], 0);
	assert_int_equal(g.m.group[3], 0);
	assert_int_equal(g.m.usemtl[0], GEO_NONE);
	assert_int_equal(g.m.usemtl[1], 0);
	assert_int_equal(g.m.usemtl[2], 0);
	assert_int_equal(g.m.usemtl[3], 1);
	assert_int_equal(g.m.usemtl_line[2], 7);
	assert_int_equal(g.m.usemtl_line[3], 11);
	assert_int_equal(g.m.nnames, 2);
	assert_string_equal(g.m.names[0].text, "mat_0badf00d");
	assert_string_equal(g.m.names[1].text, "other");
	for (uint32_t f = 0; f < 4; f++)
		assert_int_equal(g.m.material[f], -1);
	arena_free(&g.a);
	assert_int_equal(try_form(&g, &form, 3, "o mesh_3\nv 0 0 0\nf 1 1 1\nf 1 1 1 1 1\n", 36), -EINVAL);
	assert_string_equal(g.e.text, "line 4: 5 corners; only triangles");
	arena_free(&g.a);
}

static void test_exact(void **state)
{
	static const char *const ours[] = { "mtllib 0.mtl\n", "mtllib 0.mtl\r\n" };
	static const char *const foreign[] = { "# x\nmtllib 0.mtl\n", "mtllib 1.mtl\n", "mtllib model.mtl\n", "" };
	char text[400];
	struct got g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		snprintf(text, sizeof text, "%sv 0.0000152587890625 -32768.0 32767.9999847412109375\n"
			 "v 0.3 1.234567 1.0\nvn 0.0 0.0 -1.0\n", ours[i]);
		read_form(&g, &body, 0, text);
		assert_true(is_exact(&g, 0, 0, 1 / 65536.0));
		assert_true(is_exact(&g, 0, 1, -32768));
		assert_true(is_exact(&g, 0, 2, 2147483647 / 65536.0));
		assert_true(is_exact(&g, 1, 0, 0.3));
		assert_true(is_exact(&g, 1, 1, 1.234567));
		assert_true(is_exact(&g, 1, 2, 1));
		assert_false(g.m.foreign_normals);
		arena_free(&g.a);
	}
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		snprintf(text, sizeof text, "%sv 0.250000 1.234567 1.0\nvn 0.0000 0.0000 -1.0000\n", foreign[i]);
		read_form(&g, &body, 0, text);
		assert_true(g.m.position[0][0].slack > 4e-7f && g.m.position[0][2].slack > 4e-7f);
		assert_true(g.m.foreign_normals);
		arena_free(&g.a);
	}
	/* Our first line above numbers of another program. */
	read_form(&g, &body, 0, "mtllib 0.mtl\nv 0.250000 1.234567 1.000000\nvn 0.7071 0.0000 0.7071\n");
	assert_true(g.m.position[0][0].slack > 4e-7f);
	assert_true(g.m.foreign_normals);
	arena_free(&g.a);
	read_form(&g, &whole, MESH_WHOLE, "mtllib model.mtl\nv 0.5 0.25 1.0\n");
	assert_true(is_exact(&g, 0, 1, 0.25));
	arena_free(&g.a);
}

/* All values of the last 16 bits, near both ends of the others. */
static void test_exact_values(void **state)
{
	struct buf text = { 0 };
	struct got g;

	(void)state;
	buf_str(&text, "mtllib 0.mtl\n");
	for (uint32_t k = 0; k < 65536; k++)
		buf_printf(&text, "v %.16f -32767.%016llu %.16f\n", k / 65536.0,
			   (unsigned long long)k * 152587890625u, 20000 + k / 65536.0);
	buf_char(&text, 0);
	assert_false(text.bad);
	read_form(&g, &body, 0, (const char *)text.p);
	for (uint32_t k = 0; k < 65536; k++) {
		assert_true(g.m.position[k][0].v == k / 65536.0);
		assert_true(g.m.position[k][1].v == -32767 - k / 65536.0);
		assert_true(g.m.position[k][2].v == 20000 + k / 65536.0);
	}
	arena_free(&g.a);
	buf_free(&text);
}

/* ---- weights ---- */

static int try_weights(struct got *g, const char *text)
{
	memset(g, 0, sizeof *g);
	return weights_read((const uint8_t *)text, strlen(text), &g->w, &g->a, &g->e);
}

static void test_weights(void **state)
{
	struct got g;

	(void)state;
	assert_int_equal(try_weights(&g, "# pairs\n- [[0, 1.0]]\n- []\n"
					 "- [[12, 0.5], [null, 0.0078125], [65535, -0.0]]\n"
					 "-\n  - [3, 1.0e-05]\n  - - 4\n    - 0.33\n"), 0);
	assert_int_equal(g.w.nvertices, 4);
	assert_int_equal(g.w.npairs[0], 1);
	assert_int_equal(g.w.npairs[1], 0);
	assert_int_equal(g.w.npairs[2], 3);
	assert_int_equal(g.w.npairs[3], 2);
	assert_int_equal(g.w.first[2], 1);
	assert_int_equal(g.w.first[3], 4);
	assert_int_equal(g.w.joint[0], 0);
	assert_int_equal(g.w.joint[1], 12);
	assert_int_equal(g.w.joint[2], -1);
	assert_int_equal(g.w.joint[3], 65535);
	assert_int_equal(g.w.joint[5], 4);
	assert_true(g.w.weight[0].v == 1 && g.w.weight[2].v == 0.0078125 && g.w.weight[5].v == 0.33);
	assert_true(stays(g.w.weight[2], 0.0078125f));
	assert_true(stays(g.w.weight[5], 0.33f) && !stays(g.w.weight[5], 0.3300001f));
	assert_int_equal(g.w.line[0], 2);
	assert_int_equal(g.w.line[2], 4);
	arena_free(&g.a);
	assert_int_equal(try_weights(&g, "- [[1, 0.333333]]\n"), 0);
	assert_true(stays(g.w.weight[0], 1 / 3.0f));
	arena_free(&g.a);
	assert_int_equal(try_weights(&g, "- [[1, 1024], [2, -1]]\n- [[1, 1], [2, 0.0]]\n- [[1, 1e0]]\n- []\n"), 0);
	assert_true(g.w.weight[0].v == 1024 && g.w.weight[1].v == -1);
	assert_true(g.w.whole[0] && !g.w.whole[1] && !g.w.whole[2] && g.w.whole[3]);
	arena_free(&g.a);
	assert_int_equal(try_weights(&g, "[]\n"), 0);
	assert_int_equal(g.w.nvertices, 0);
	arena_free(&g.a);
}

static void test_refused_weights(void **state)
{
	static const struct { const char *text, *why; } cases[] = {
		{ "a: 1\n", "line 1, column 1: a list with an item for each vertex is expected, found a mapping" },
		{ "- [[0, 1.0]]\n- 5\n", "line 2, column 3: a list of pairs [bone, weight] is expected, found \"5\"" },
		{ "- [0, 1.0]\n", "line 1, column 4: a pair [bone, weight] is expected, found \"0\"" },
		{ "- [[0]]\n", "line 1, column 4: a pair [bone, weight] is expected, found 1 items" },
		{ "- [[0, 1, 2]]\n", "line 1, column 4: a pair [bone, weight] is expected, found 3 items" },
		{ "-\n  - [-1, 1.0]\n", "line 2, column 6: bone: an integer or null is expected, found \"-1\"" },
		{ "- [[\"1\", 1.0]]\n", "line 1, column 5: bone: an integer or null is expected, found \"1\"" },
		{ "- [[01, 1.0]]\n", "line 1, column 5: bone: an integer or null is expected, found \"01\"" },
		{ "- [[65536, 1.0]]\n", "line 1, column 5: bone 65536 is outside 0..65535" },
		{ "- [[99999999999, 1.0]]\n", "line 1, column 5: bone 99999999999 is outside 0..65535" },
		{ "- [[1, .nan]]\n", "line 1, column 8: weight: a finite number is expected, found \".nan\"" },
		{ "- [[1, 0.5x]]\n", "line 1, column 8: weight: a finite number is expected, found \"0.5x\"" },
		{ "- [[1, [2]]]\n", "line 1, column 8: weight: a finite number is expected, found a list" },
	};
	struct got g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(try_weights(&g, cases[i].text), -EINVAL);
		assert_string_equal(g.e.text, cases[i].why);
		arena_free(&g.a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimal), cmocka_unit_test(test_decimal_as_strtod),
		cmocka_unit_test(test_slack_of_fixed_decimals), cmocka_unit_test(test_slack_of_six_digits),
		cmocka_unit_test(test_slack_of_our_own), cmocka_unit_test(test_slack_of_turned_axes),
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_line_ends), cmocka_unit_test(test_values),
		cmocka_unit_test(test_corners), cmocka_unit_test(test_polygon), cmocka_unit_test(test_unknown_keywords),
		cmocka_unit_test(test_refused_numbers), cmocka_unit_test(test_refused_faces),
		cmocka_unit_test(test_refused_whole), cmocka_unit_test(test_objects),
		cmocka_unit_test(test_all_values_first), cmocka_unit_test(test_object_names),
		cmocka_unit_test(test_object_in_parts), cmocka_unit_test(test_groups_and_materials),
		cmocka_unit_test(test_blender), cmocka_unit_test(test_foreign_normals), cmocka_unit_test(test_quads),
		cmocka_unit_test(test_names), cmocka_unit_test(test_many_names), cmocka_unit_test(test_named_objects),
		cmocka_unit_test(test_named_materials),
		cmocka_unit_test(test_exact), cmocka_unit_test(test_exact_values), cmocka_unit_test(test_weights),
		cmocka_unit_test(test_refused_weights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
