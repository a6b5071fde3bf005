/* Edits of PMO models that keep the topology: which bytes change, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_pmo.h"
#include "bytes.h"
#include "edited.h"
#include "export.h"
#include "ge.h"
#include "opened.h"
#include "pmo_grid.h"
#include "texts.h"

/* ---- texts ---- */

static char *shown(struct edited *k, uint32_t mesh)
{
	return obj_text(k->o, mesh);
}

/* Saves the text twice: the second time it changes nothing. */
static void save(struct edited *k, uint32_t mesh, char *text)
{
	edited_obj_twice(k, mesh, text);
	free(text);
}

static void refused(struct edited *k, uint32_t mesh, char *text, const char *why)
{
	assert_int_equal(edited_obj(k, mesh, text), -EINVAL);
	assert_string_equal(k->why, why);
	edited_only(k, 0, 0, 0);
	free(text);
}

static void bytes_are(const struct edited *k, uint64_t at, const void *want, size_t n)
{
	assert_memory_equal(k->bytes[0] + at, want, n);
}
#define BYTES(k, at, ...) \
	bytes_are(k, at, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void yaml_refused(struct edited *k, unsigned kind, uint32_t index, const char *text, int code, const char *why)
{
	assert_int_equal(edited_yaml(k, kind, index, text), code);
	assert_string_equal(k->why, why);
}

/* ---- the minimal file of the spec: a quad, vertices of 16 bytes from 0xd0 on: weight, UV at 2, normal at 6, position
 * at 10; scale 10, 20, 5 ---- */

static void minimal(struct edited *k)
{
	static const uint8_t vertices[64] = {
		0x80, 0, 0x00, 0x00, 0x00, 0x00, 0, 0, 0x7f, 0, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00,
		0x80, 0, 0x00, 0x80, 0x00, 0x00, 0, 0, 0x7f, 0, 0xff, 0x7f, 0x00, 0x00, 0x00, 0x00,
		0x80, 0, 0x00, 0x00, 0x00, 0x80, 0, 0, 0x7f, 0, 0x00, 0x80, 0xff, 0x7f, 0x00, 0x00,
		0x80, 0, 0x00, 0x80, 0x00, 0x80, 0, 0, 0x7f, 0, 0xff, 0x7f, 0xff, 0x7f, 0x00, 0xc0,
	};
	static const uint8_t indices[4] = { 0, 1, 2, 3 };
	const uint32_t draw[] = { fface(0), prim(GE_STRIP, 4), 0 };
	struct build_pmo b = { .scale = { 10, 20, 5 } };
	struct build_group g = { 0, 0xb22, vertices, indices, sizeof vertices, sizeof indices, draw };

	build_material(&b, 0xffffffff, 0x007f7f7f, 0, 0);
	build_mesh(&b, ones, ones, zeros);
	build_remap(&b, 0);
	build_palette(&b, 0, 1);
	build_group(&b, &g);
	grid_open(k, &b, 0);
	assert_int_equal(b.at_geometry, 0xa0);
	assert_int_equal(b.vertices[0], 0x30);
}

/* One triangle, or two groups with one each. */
static void open_triangles(struct edited *k, uint32_t type, const void *vertices, size_t n, unsigned ngroups,
			   bool shared)
{
	static const uint8_t indices[3] = { 0, 1, 2 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group g = { 0, type | 0x800, vertices, indices, n, sizeof indices, draw };
	struct buf out;

	build_material(&b, 0, 0, 0, 0);
	build_mesh(&b, ones, ones, zeros);
	build_remap(&b, 0);
	for (unsigned i = 0; i < ngroups; i++)
		build_group(&b, &g);
	build_pmo(&b, &out, NULL);
	if (shared) {
		uint8_t *list = out.p + b.at_geometry + b.list[1];

		put_le32(out.p + b.at_groups + 16 + 8, b.vertices[0]);
		/* Addresses from the start of the region: a distance cannot be negative. */
		put_le32(list, ge_word(GE_OFFSETADDR, 0));
		put_le32(list + 8, ge_word(GE_IADDR, b.indices[1]));
		put_le32(list + 12, ge_word(GE_VADDR, b.vertices[0]));
	}
	edited_open(k, &fmt_pmo, out.p, out.len, out.len);
	if (k->o->faults)
		fail_msg("%s", k->o->faults->text);
	buf_free(&out);
}

static void unchanged(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	save(&k, 0, shown(&k, 0));
	edited_only(&k, 0, 0, 0);
	/* Six decimals, faces turned and in another order, from another program. */
	save(&k, 0,
	     strdup("# Blender\no mesh_0\nv -10.000000 0.000000 0.000000\nv 9.999695 0.000000 0.000000\n"
		    "v -10.000000 19.999390 0.000000\nv 9.999695 19.999390 -2.500000\nvn 0.0000 0.0100 1.0000\n"
		    "vt 1.000000 0.000000\nvt 0.000000 1.000000\nvt 1.000000 1.000000\nvt 0.000000 0.000000\n"
		    "f 4/1/1 3/4/1 2/3/1\nf 3/4/1 1/2/1 2/3/1\n"));
	edited_only(&k, 0, 0, 0);
	assert_string_equal(k.said, "");
	edited_close(&k);
}

/* A face whose material or group is said and another one is no edit of values; without both the old ones stay. */
static void other_groups(void **state)
{
	static const uint8_t v[9] = { 0, 0, 0, 64, 0, 0, 0, 64, 0 };
	struct edited k;
	char *text;

	(void)state;
	open_triangles(&k, 0x80, v, sizeof v, 2, false);
	text = strdup("o mesh_0\nv 0 0 0\nv 0.5 0 0\nv 0 0.5 0\nv 0 0 0\nv 0.5 0 0\nv 0 0.5 0\nf 5 6 4\nf 1 2 3\n");
	save(&k, 0, text);
	edited_only(&k, 0, 0, 0);
	assert_string_equal(k.said, "");
	text = shown(&k, 0);
	save(&k, 0, with_line(text, "g ", 0, "g group_0\nusemtl material_7"));
	edited_only(&k, 0, 0, 0);
	assert_non_null(strstr(k.said, "mesh 0: 2 faces name another material than their group's"));
	edited_close(&k);
}

static void positions(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	/* 2.5 of 10 is a quarter of 32768. */
	save(&k, 0, with_line(shown(&k, 0), "v ", 2, "v 2.5 19.99939 0"));
	BYTES(&k, 0xfa, 0x00, 0x20, 0xff, 0x7f);
	edited_only(&k, 0, 0xfa, 2);
	/* -1 of 5 is -6553.6. */
	save(&k, 0, with_line(shown(&k, 0), "v ", 2, "v 2.5 19.99939 -1"));
	BYTES(&k, 0xfa, 0x00, 0x20, 0xff, 0x7f, 0x66, 0xe6);
	edited_only(&k, 0, 0xfa, 6);
	edited_close(&k);
}

static void outside_scale(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	refused(&k, 0, with_line(shown(&k, 0), "v ", 3, "v 25 0 0"),
		"line 6: x 25.0 is outside -10.0..9.999695; `rescale: [25.000763, 20.0, 5.0]` instead of the scale in "
		"header.yaml would make room");
	refused(&k, 0, with_line(shown(&k, 0), "v ", 0, "v -10 0 -6"),
		"line 3: z -6.0 is outside -5.0..4.9998474; `rescale: [10.0, 20.0, 6.0]` instead of the scale in "
		"header.yaml would make room");
	/* It does, also where the old scale still stands in the text. */
	edited_yaml_twice(&k, DOC_SECTION, 0,
			  "cull_radius: 20.0\nscale: [10.0, 20.0, 5.0]\nrescale: [25.000763, 20.0, 5.0]\n");
	save(&k, 0, with_line(shown(&k, 0), "v ", 3, "v 25 0 0"));
	BYTES(&k, 0x10a, 0xff, 0x7f, 0x00, 0x00, 0x00, 0x00);
	edited_close(&k);
}

static void uvs(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	/* Shown from the bottom: 0.75 is stored as 0.25. */
	save(&k, 0, with_line(shown(&k, 0), "vt ", 1, "vt 0.5 0.75"));
	BYTES(&k, 0xe2, 0x00, 0x40, 0x00, 0x20);
	edited_only(&k, 0, 0xe2, 4);
	edited_close(&k);
	minimal(&k);
	refused(&k, 0, with_line(shown(&k, 0), "vt ", 1, "vt 2.5 0.75"),
		"line 4: u of this vertex, 2.5 counted from the top, is outside 0.0..1.9999695: uv_scale is 1.0");
	edited_close(&k);
}

static void normals(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	/* The length, 127 of 128, stays. */
	save(&k, 0, with_line(shown(&k, 0), "vn ", 0, "vn 0 5 0"));
	BYTES(&k, 0xd6, 0, 0x7f, 0);
	/* 127 / sqrt(3) is 73.3. */
	save(&k, 0, with_line(shown(&k, 0), "vn ", 1, "vn 1 -1 1"));
	BYTES(&k, 0xe6, 73, 183, 73);
	edited_close(&k);
	minimal(&k);
	refused(&k, 0, with_line(shown(&k, 0), "vn ", 3, "vn 0 0 0"),
		"line 6: the normal of this vertex, 0.0 0.0 0.0, has no direction");
	edited_close(&k);
}

/* All are written alike, by a script that keeps our first lines: so none of them is another program's, and those within
 * 1 degree of what they were are written too. (1, 0, 126) is 0.45 degrees off. */
static void normals_alike(void **state)
{
	struct edited k;
	char *text;

	(void)state;
	minimal(&k);
	k.bytes[0][0xd6] = 1;
	k.bytes[0][0xd8] = 126;
	k.bytes[0][0xe6] = k.bytes[0][0xf6] = 60;      /* 25 degrees */
	edited_settle(&k);
	text = shown(&k, 0);
	for (unsigned i = 0; i < 4; i++)
		text = with_line(text, "vn ", i, "vn 0 0 1");
	save(&k, 0, text);
	BYTES(&k, 0xd6, 0, 0, 126);
	assert_int_equal(k.bytes[0][0xe6] | k.bytes[0][0xf6], 0);
	edited_close(&k);
}

static void movements(void **state)
{
	static const char *const v[][4] = {
		{ "v -9 1 -2", "v 10.999695 1 -2", "v -9 20.99939 -2", "v 10.999695 20.99939 -4.5" },
		{ "v -5 0 0", "v 4.9998475 0 0", "v -5 9.999695 0", "v 4.9998475 9.999695 -1.25" },
		{ "v -10 0 0", "v 9.999695 0 0", "v -10 0 4", "v 9.999695 2.5 4" },
	};
	static const char *const said[] = {
		"mesh 0: all vertices are moved by (1.0, 1.0, -2.0)\n", "mesh 0: all vertices are scaled by 0.5\n", ""
	};
	struct edited k;

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		char *text;
		int rc;

		minimal(&k);
		text = shown(&k, 0);
		for (unsigned n = 0; n < 4; n++)
			text = with_line(text, "v ", n, v[i][n]);
		rc = edited_obj(&k, 0, text);
		assert_int_equal(rc, i ? 0 : -EINVAL);         /* 10.99 is outside the scale */
		assert_string_equal(k.said, said[i]);
		free(text);
		edited_close(&k);
	}
}

static void axes_swapped(void **state)
{
	static const char *const v[] = { "v -10 0 0", "v 10 0 0", "v -10 0 19.99939", "v 10 2.5 19.99939" };
	struct edited k;
	char *text;

	(void)state;
	minimal(&k);
	edited_yaml_twice(&k, DOC_SECTION, 0, "rescale: [20.0, 20.0, 20.0]\n");
	text = shown(&k, 0);
	/* 32767 * 0.5 rounds to 16384, so x is -10 or 10 now; -2.5 of 20 is exact. */
	for (unsigned i = 0; i < ARRAY_LEN(v); i++)
		text = with_line(text, "v ", i, v[i]);
	save(&k, 0, text);
	assert_string_equal(k.said, "mesh 0: axes swapped: y up has become z up; check the export settings\n");
	BYTES(&k, 0x10a, 0x00, 0x40, 0x00, 0x10, 0xff, 0x7f);
	edited_close(&k);
}

/* ---- other kinds of vertices ---- */

static uint64_t vertices_at(const struct edited *k)
{
	uint64_t geometry = le_u32(k->bytes[0] + 0x34), groups = le_u32(k->bytes[0] + 0x24);

	return geometry + le_u32(k->bytes[0] + groups + 8);
}

static void colours(void **state)
{
	/* 5551 at 0, s8 position at 2: white, opaque. */
	static const uint8_t v[18] = { 0xff, 0xff, 0, 0, 0, 0, 0xff, 0x7f, 64, 0, 0, 0, 0xff, 0xff, 0, 64, 0, 0 };
	struct edited k;

	(void)state;
	open_triangles(&k, 0x94, v, sizeof v, 1, false);
	/* Red 31, green 0, blue 16; alpha is kept, 1 or 0. */
	save(&k, 0, with_line(with_line(shown(&k, 0), "v ", 0, "v 0 0 0 1 0 0.5"), "v ", 1, "v 0.5 0 0 1 0 0.5"));
	BYTES(&k, vertices_at(&k), 0x1f, 0xc0, 0, 0, 0, 0, 0x1f, 0x40, 64, 0, 0, 0, 0xff, 0xff, 0, 64, 0, 0);
	edited_close(&k);
	open_triangles(&k, 0x94, v, sizeof v, 1, false);
	save(&k, 0, with_line(shown(&k, 0), "v ", 2, "v 0 0.5 0"));
	edited_only(&k, 0, 0, 0);
	refused(&k, 0, with_line(shown(&k, 0), "v ", 2, "v 0 0.5 0 1 1.5 1"), "line 5: green 1.5 is outside 0.0..1.0");
	edited_close(&k);
}

static void not_finite(void **state)
{
	uint8_t v[36] = { 0 };
	struct edited k;

	(void)state;
	put_le32(v, 0x7fc00001);
	put_le32(v + 4, 0xff800000);
	put_le32(v + 12, f32_bits(1));
	put_le32(v + 28, f32_bits(1));
	open_triangles(&k, 0x180, v, sizeof v, 1, false);
	save(&k, 0, shown(&k, 0));
	edited_only(&k, 0, 0, 0);
	save(&k, 0, with_line(shown(&k, 0), "v ", 0, "v 0 0.1 0"));
	BYTES(&k, vertices_at(&k), 0x01, 0x00, 0xc0, 0x7f, 0xcd, 0xcc, 0xcc, 0x3d);
	edited_only(&k, 0, vertices_at(&k) + 4, 4);
	edited_close(&k);
}

static void stored_once(void **state)
{
	static const uint8_t v[9] = { 0, 0, 0, 64, 0, 0, 0, 64, 0 };
	struct edited k;
	char *text;

	(void)state;
	open_triangles(&k, 0x80, v, sizeof v, 2, true);
	text = shown(&k, 0);
	refused(&k, 0, with_line(strdup(text), "v ", 4, "v 0.25 0 0"),
		"line 7: this vertex and that of line 4 are stored once, at offset 0x23 of the geometry: both need the "
		"same values");
	save(&k, 0, with_line(with_line(text, "v ", 4, "v 0.25 0 0"), "v ", 1, "v 0.25 0 0"));
	BYTES(&k, vertices_at(&k), 0, 0, 0, 32, 0, 0, 0, 64, 0);
	edited_only(&k, 0, vertices_at(&k) + 3, 1);
	edited_close(&k);
}

/* The second group's copy of a vertex that only the first one draws. */
static void drawn_copies_win(void **state)
{
	static const uint8_t v[12] = { 0, 0, 0, 64, 0, 0, 0, 64, 0, 64, 64, 0 };
	struct edited k;

	(void)state;
	open_triangles(&k, 0x80, v, sizeof v, 2, true);
	k.bytes[0][le_u32(k.bytes[0] + 0x34) + 0x30] = 3;      /* indices of the first group: 3, 1, 2 */
	edited_settle(&k);
	k.was[0][le_u32(k.bytes[0] + 0x34) + 0x30] = 3;
	save(&k, 0, with_line(shown(&k, 0), "v ", 4, "v 0.25 0 0"));
	BYTES(&k, vertices_at(&k), 32, 0, 0, 64, 0, 0);
	edited_only(&k, 0, vertices_at(&k), 1);
	edited_close(&k);
}

static void morph_targets(void **state)
{
	/* Two targets of an s8 position each. */
	static const uint8_t v[18] = { 0, 0, 0, 1, 2, 3, 64, 0, 0, 4, 5, 6, 0, 64, 0, 7, 8, 9 };
	struct edited k;

	(void)state;
	open_triangles(&k, 0x80 | 1 << 18, v, sizeof v, 1, false);
	save(&k, 0, with_line(shown(&k, 0), "v ", 1, "v 0.25 0 0"));
	BYTES(&k, vertices_at(&k), 0, 0, 0, 1, 2, 3, 32, 0, 0, 4, 5, 6);
	assert_string_equal(k.said, "mesh 0: only the first morph target was changed\n");
	/* rescale takes all of them: half, to even. */
	edited_yaml_twice(&k, DOC_SECTION, 0, "rescale: [2.0, 2.0, 2.0]\n");
	BYTES(&k, vertices_at(&k), 0, 0, 0, 0, 1, 2, 16, 0, 0, 2, 2, 3, 0, 32, 0, 4, 4, 4);
	edited_close(&k);
}

static void no_scale(void **state)
{
	static const uint8_t v[9] = { 0, 0, 0, 64, 0, 0, 0, 64, 0 };
	struct edited k;

	(void)state;
	open_triangles(&k, 0x80, v, sizeof v, 1, false);
	edited_yaml_twice(&k, DOC_SECTION, 0, "scale: [1.0, 0.0, 1.0]\n");
	yaml_refused(&k, DOC_SECTION, 0, "rescale: [2, 1, 1]\n", -EINVAL,
		     "line 1, column 10: rescale: the y of the scale is 0.0, which gives no shape to keep; set "
		     "`scale`");
	edited_yaml_twice(&k, DOC_SECTION, 0, "rescale: [1.0, 0, 2.0]\n");
	save(&k, 0, shown(&k, 0));
	BYTES(&k, vertices_at(&k), 0, 0, 0, 64, 0, 0, 0, 64, 0);
	assert_int_equal(edited_obj(&k, 0, "o mesh_0\nv 0 0 0\nv 0.5 3 0\nv 0 0 0\nf 1 2 3\n"), -EINVAL);
	assert_string_equal(k.why, "line 3: y 3.0 cannot be stored: the y of the scale is 0.0");
	edited_close(&k);
}

/* ---- documents ---- */

static void rescaled(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	yaml_refused(&k, DOC_SECTION, 0, "rescale: [5, 20, 5]\n", -EINVAL,
		     "line 1, column 10: rescale: x 5.0 is too small: the positions need at least 10.0");
	yaml_refused(&k, DOC_SECTION, 0, "rescale: [5, 20]\n", -EINVAL,
		     "line 1, column 10: rescale: expected a list of 3 numbers");
	yaml_refused(&k, DOC_SECTION, 0, "rescale: [5, 20, 0]\n", -EINVAL,
		     "line 1, column 18: rescale: expected a number other than 0, found \"0\"");
	yaml_refused(&k, DOC_MESH, 0, "rescale: [5, 20, 1]\n", -EINVAL,
		     "line 1, column 10: rescale goes into header.yaml: in version 1.0 all meshes have one scale");
	yaml_refused(&k, DOC_SECTION, 0, "rescale: [40, 20, 5]\nscale: [11, 20, 5]\n", -EINVAL,
		     "line 2, column 8: both scale and rescale are given, and scale is changed");
	edited_only(&k, 0, 0, 0);
	edited_yaml_twice(&k, DOC_SECTION, 0, "rescale: [40, 20, 5]\n");
	/* The cull radius was 20 and the largest component; -8192 and 8191.75. */
	BYTES(&k, 0x0c, 0x00, 0x00, 0x20, 0x42, 0x00, 0x00, 0x20, 0x42, 0x00, 0x00, 0xa0, 0x41);
	BYTES(&k, 0xda, 0x00, 0xe0, 0x00, 0x00);
	BYTES(&k, 0xea, 0x00, 0x20, 0x00, 0x00);
	BYTES(&k, 0x10a, 0x00, 0x20, 0xff, 0x7f, 0x00, 0xc0);
	edited_close(&k);
}

static void rescaled_mesh(void **state)
{
	static const float scale[4] = { 1, 2, 4, 7 };
	static const int8_t v[9] = { 64, 64, 64, -64, 0, 0, 0, -64, 0 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .v102 = true, .no_remap = true, .scale = { 1, 1, 1 } };
	struct build_group g = { 0, 0x80, v, NULL, sizeof v, 0, draw };
	struct edited k;
	uint64_t at, second;

	(void)state;
	build_material(&b, 0, 0, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		build_mesh(&b, scale, ones, zeros);
		build_group(&b, &g);
	}
	grid_open(&k, &b, 0);
	at = b.at_geometry + b.vertices[0];
	second = b.at_geometry + b.vertices[1];
	yaml_refused(&k, DOC_SECTION, 0, "rescale: [5, 20, 1]\n", -EINVAL,
		     "line 1, column 10: rescale goes into meshes/N.yaml: in version 102 each mesh has its own scale");
	edited_yaml_twice(&k, DOC_MESH, 1, "scale: [1.0, 2.0, 4.0, 7.0]\nrescale: [2.0, 2.0, 8.0]\n");
	BYTES(&k, second, 32, 64, 32, 0xe0, 0, 0, 0, 0xc0, 0);
	BYTES(&k, at, 64, 64, 64);
	edited_close(&k);
}

static void hidden_and_shown(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	edited_yaml_twice(&k, DOC_MESH, 0, "visible: false\n");
	BYTES(&k, 0xb8, 0x04, 0x00, 0x04, 0x00);
	edited_only(&k, 0, 0xbb, 1);
	/* A hidden mesh can be edited. */
	save(&k, 0, with_line(shown(&k, 0), "v ", 2, "v 2.5 19.99939 0"));
	BYTES(&k, 0xfa, 0x00, 0x20, 0xff, 0x7f);
	save(&k, 0, with_line(shown(&k, 0), "v ", 2, "v -10 19.99939 0"));
	edited_only(&k, 0, 0xbb, 1);
	edited_yaml_twice(&k, DOC_MESH, 0, "visible: true\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void cannot_hide(void **state)
{
	static const uint8_t indices[6] = { 0, 1, 2, 2, 1, 3 };
	static const uint32_t draw[][3] = { { 0x04030003, 0x00030003, 0 }, { 0x04230003, 0 } };
	static const char *const why[] = {
		"line 1, column 10: visible: group 0 has a NOP that looks like a PRIM and would be shown with the "
		"others",
		"line 1, column 10: visible: the PRIM 0x04230003 of group 0 could not be turned back",
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(draw); i++) {
		struct build_pmo b = { .scale = { 1, 1, 1 } };
		struct build_group g = { 0, 0x880, points, indices, sizeof points, sizeof indices, draw[i] };
		struct edited k;

		build_mesh(&b, ones, ones, zeros);
		build_group(&b, &g);
		grid_open(&k, &b, 0);
		yaml_refused(&k, DOC_MESH, 0, "visible: false\n", -EINVAL, why[i]);
		edited_only(&k, 0, 0, 0);
		edited_close(&k);
	}
}

static void goes_on(void **state)
{
	static const uint8_t indices[6] = { 0, 1, 2, 2, 1, 3 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group g = { 0, 0x880, points, indices, sizeof points, sizeof indices, draw };
	struct edited k;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &g);
	build_mesh(&b, ones, ones, zeros);
	g.no_iaddr = true;
	build_group(&b, &g);
	grid_open(&k, &b, 0);
	yaml_refused(&k, DOC_MESH, 0, "visible: false\n", -EINVAL,
		     "line 1, column 10: visible: group 1 goes on where group 0 leaves the index pointer");
	edited_yaml_twice(&k, DOC_MESH, 1, "visible: false\n");
	edited_close(&k);
}

/* Remap at 0x70 and palette at 0x80, 16 bytes each. */
static void other_lengths(void **state)
{
	struct edited k;
	struct err e;

	(void)state;
	minimal(&k);
	edited_yaml_twice(&k, DOC_MESH, 0, "groups:\n- palette: [[0, 1], [1, 3], [7, 250]]\n");
	BYTES(&k, 0x60, 0, 3, 0, 0);
	BYTES(&k, 0x80, 0, 1, 1, 3, 7, 250, 0, 0);
	edited_yaml_twice(&k, DOC_MESH, 0, "materials: [0, 1]\ngroups:\n- palette: [[2, 9]]\n  material: 1\n");
	BYTES(&k, 0x50, 2, 0, 0, 0);
	BYTES(&k, 0x60, 1, 1, 0, 0);
	BYTES(&k, 0x70, 0, 1, 0);
	BYTES(&k, 0x80, 2, 9, 0, 0, 0, 0, 0);
	assert_int_equal(fmt_pmo.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "mesh 0: materials: entry 1 leads to material 1, the model has 1");
	yaml_refused(&k, DOC_MESH, 0, "groups:\n- palette: [[0,1],[1,1],[2,1],[3,1],[4,1],[5,1],[6,1],[7,1],[0,2]]\n",
		     -ENOSPC,
		     "line 2, column 12: palette: 9 entries in all, the table has room for 8: 2 bytes are missing");
	yaml_refused(&k, DOC_MESH, 0, "materials: [0, 300, 1]\n", -EINVAL,
		     "line 1, column 16: materials: material: 300 is outside 0..255");
	edited_close(&k);
}

static void later_runs(void **state)
{
	static const uint8_t indices[3] = { 0, 1, 2 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group g = { 0, 0x880, points, indices, sizeof points, sizeof indices, draw };
	struct edited k;

	(void)state;
	build_material(&b, 0, 0, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		build_mesh(&b, ones, ones, zeros);
		build_remap(&b, 0);
		build_palette(&b, (uint8_t)i, 5);
		build_group(&b, &g);
	}
	grid_open(&k, &b, 0);
	edited_yaml_twice(&k, DOC_MESH, 0, "materials: [0, 0, 0]\ngroups:\n- palette: [[3, 7], [4, 8]]\n");
	BYTES(&k, b.at_meshes + 0x10, 3, 0, 0, 0);
	BYTES(&k, b.at_meshes + 0x28, 1, 0, 3, 0);
	BYTES(&k, b.at_groups, 0, 2, 0, 0);
	BYTES(&k, b.at_groups + 0x10, 0, 1, 2, 0);
	BYTES(&k, b.at_palette, 3, 7, 4, 8, 1, 5, 0, 0);
	edited_yaml_twice(&k, DOC_MESH, 0, "materials: [0]\ngroups:\n- palette: [[0, 5]]\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void checks(void **state)
{
	struct edited k;
	struct err e;

	(void)state;
	minimal(&k);
	assert_int_equal(fmt_pmo.model->check(k.o, &e), 0);
	edited_yaml_twice(&k, DOC_MESH, 0, "groups:\n- material: 1\n");
	assert_int_equal(fmt_pmo.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "mesh 0, group 0: material 1, the mesh has 1");
	edited_yaml_twice(&k, DOC_MESH, 0, "groups:\n- material: 0\n  palette: [[8, 1]]\n");
	assert_int_equal(fmt_pmo.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "mesh 0, group 0: palette: slot 8 is outside 0..7");
	edited_close(&k);
}

/* ---- weights ---- */

static void weigh(struct edited *k, const char *text)
{
	for (unsigned i = 0; i < 2; i++)
		if (edited_weights(k, 0, text))
			fail_msg("%s", k->why);
}

static void weights_refused(struct edited *k, const char *text, const char *why)
{
	assert_int_equal(edited_weights(k, 0, text), -EINVAL);
	assert_string_equal(k->why, why);
}

static void weights(void **state)
{
	struct edited k;

	(void)state;
	minimal(&k);
	weigh(&k, "- [[1, 1.0]]\n- [[1, 1.0]]\n- [[1, 1.0]]\n- [[1, 1.0]]\n");
	edited_only(&k, 0, 0, 0);
	weights_refused(&k, "- [[1, 1.0]]\n- [[1, 1.0]]\n", "weights of 2 vertices, the mesh has 4");
	weights_refused(&k, "- [[1, 1.0]]\n- [[2, 1.0]]\n- [[1, 1.0]]\n- [[1, 1.0]]\n",
			"line 2: bone 2: this vertex has weights for 1");
	weights_refused(&k, "- [[1, 1.0]]\n- [[1, -0.5]]\n- [[1, 1.0]]\n- [[1, 1.0]]\n",
			"line 2: weight -0.5 is negative");
	weights_refused(&k, "- [[1, 1.0]]\n- [[1, 2.0]]\n- [[1, 1.0]]\n- [[1, 1.0]]\n",
			"line 2: weight 2.0 is outside 0.0..1.9921875");
	edited_only(&k, 0, 0, 0);
	weigh(&k, "- [[1, 1.0]]\n- []\n- [[1, 1.0]]\n- [[1, 0.504]]\n");
	BYTES(&k, 0xe0, 0x00);
	BYTES(&k, 0x100, 0x41);                /* 64.512 */
	assert_string_equal(k.said, "mesh 0: the weights of 2 changed vertices do not add up to 1\n");
	edited_close(&k);
}

/* Three weights: slots 0 and 2 hold bone 4, slot 1 bone 6. */
static void weight_slots(void **state)
{
	static const uint8_t v[18] = { 32, 64, 32, 0, 0, 0, 32, 64, 32, 64, 0, 0, 32, 64, 32, 0, 64, 0 };
	static const uint8_t indices[3] = { 0, 1, 2 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group g = { 0, 0x880 | 1 << 9 | 2 << 14, v, indices, sizeof v, sizeof indices, draw };
	struct edited k;
	uint64_t at;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_palette(&b, 0, 4);
	build_palette(&b, 1, 6);
	build_palette(&b, 2, 4);
	build_group(&b, &g);
	grid_open(&k, &b, 0);
	at = b.at_geometry + b.vertices[0];
	weigh(&k, "- [[6, 0.5], [4, 0.25], [4, 0.25]]\n- [[6, 0.25], [4, 0.75]]\n- [[4, 0.25], [6, 0.5], [4, 0.25]]\n");
	BYTES(&k, at, 32, 64, 32, 0, 0, 0, 96, 32, 0, 64, 0, 0, 32, 64, 32, 0, 64, 0);
	weights_refused(&k, "- [[4, 0.5], [4, 0.25], [4, 0.25]]\n- []\n- []\n",
			"line 1: bone 4: this vertex has weights for 4, 6, 4");
	edited_close(&k);
}

static void rigid(void **state)
{
	static const uint8_t v[9] = { 0, 0, 0, 64, 0, 0, 0, 64, 0 };
	struct edited k;

	(void)state;
	open_triangles(&k, 0x80, v, sizeof v, 1, false);
	weigh(&k, "- [[null, 1.0]]\n- [[null, 1.0]]\n- [[null, 1.0]]\n");
	weights_refused(&k, "- [[null, 1.0]]\n- [[null, 0.5]]\n- [[null, 1.0]]\n",
			"line 2: this vertex stores no weights, only [[null, 1.0]] can stand here");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unchanged), cmocka_unit_test(other_groups), cmocka_unit_test(positions),
		cmocka_unit_test(outside_scale), cmocka_unit_test(uvs), cmocka_unit_test(normals),
		cmocka_unit_test(normals_alike),
		cmocka_unit_test(movements), cmocka_unit_test(axes_swapped), cmocka_unit_test(colours),
		cmocka_unit_test(not_finite), cmocka_unit_test(stored_once), cmocka_unit_test(drawn_copies_win),
		cmocka_unit_test(morph_targets), cmocka_unit_test(no_scale), cmocka_unit_test(rescaled),
		cmocka_unit_test(rescaled_mesh), cmocka_unit_test(hidden_and_shown), cmocka_unit_test(cannot_hide),
		cmocka_unit_test(goes_on), cmocka_unit_test(other_lengths), cmocka_unit_test(later_runs),
		cmocka_unit_test(checks), cmocka_unit_test(weights), cmocka_unit_test(weight_slots),
		cmocka_unit_test(rigid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
