/* Edits of MOD3 models that move no block: values of vertices, weights, bones, and the bounds that follow. */
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

#include "build_mod3.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"
#include "texts.h"

extern const struct format fmt_mod3;

/* ---- expected bytes ---- */

static struct build_mod3 b;
static struct edited k;

/* The bytes have changed to these. */
static void is(uint64_t at, const void *want, size_t n)
{
	assert_memory_equal(k.bytes[0] + at, want, n);
	memcpy(k.was[0] + at, want, n);
}
#define IS(at, ...) is(at, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void floats_are(uint64_t at, const float *want, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (f32_bits(want[i]) != le_u32(k.bytes[0] + at + 4 * i))
			fail_msg("%.9g at 0x%llx, expected %.9g", (double)le_f32(k.bytes[0] + at + 4 * i),
				 (unsigned long long)at + 4 * i, (double)want[i]);
		put_le32(k.was[0] + at + 4 * i, f32_bits(want[i]));
	}
}
#define FLOATS(at, ...) floats_are(at, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / 4)

/* And no others have. */
static void no_more(void)
{
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- the model ----
 *
 * Bones at (0, 8, 0), (3, 8, 4) and (3, 7, 4), each hung on the one before. Mesh 0: 4 vertices with 4 weights, one
 * envelope of bone 1. Mesh 1: 3 vertices with 8 weights, without envelopes. Mesh 2: 3 vertices with colours, without
 * weights, and an envelope of the whole. The box and the sphere of the header are far from what the vertices say, and
 * so are the envelopes. */
static const int32_t quad[] = { 0, 1, 2, 2, 1, 3 }, flat_quad[] = { 0, 1, 2, 2, 1, 3, 0, 0, 3 };

static void start(void)
{
	struct buf out;

	b = (struct build_mod3){ 0 };
	build_bone(&b, 255, 0, 8, 0);
	build_bone(&b, 0, 3, 0, 4);
	build_bone(&b, 1, 0, -1, 0);
	build_name(&b, "skin");
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, flat_quad, 9 });
	build_envelope(&b, 1, true);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin8wt1UV", 3, quad, 3 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UVColor", 3, quad, 3 });
	build_envelope(&b, 255, true);
	build_mod3(&b, &out);
	edited_open(&k, &fmt_mod3, out.p, out.len, out.len + 1000);
	buf_free(&out);
	sound(k.o);
}

static uint64_t vertex(unsigned mesh, unsigned stride, unsigned i)
{
	return b.at_vertices + b.first[mesh] + stride * i;
}

static uint64_t envelope(unsigned i)
{
	return b.at_envelopes + 4 + 144 * i;
}

static void save(uint32_t mesh, char *text)
{
	edited_obj_twice(&k, mesh, text);
	free(text);
}

static void refused(uint32_t mesh, char *text, int code, const char *why)
{
	assert_int_equal(edited_obj(&k, mesh, text), -code);
	assert_string_equal(k.why, why);
	edited_only(&k, 0, 0, 0);
	free(text);
}

static char *shown(uint32_t mesh)
{
	return obj_text(k.o, mesh);
}

/* ---- nothing ---- */

static void nothing(void **state)
{
	char *text;

	(void)state;
	start();
	for (uint32_t i = 0; i < 3; i++) {
		text = i < 2 ? weights_text(k.o, i) : NULL;
		save(i, shown(i));
		if (text)
			assert_int_equal(edited_weights(&k, i, text), 0);
		free(text);
		text = text_of(k.o, DOC_MESH, i);
		edited_yaml_twice(&k, DOC_MESH, i, text);
		free(text);
	}
	text = text_of(k.o, DOC_SKELETON, 0);
	edited_yaml_twice(&k, DOC_SKELETON, 0, text);
	free(text);
	assert_string_equal(k.said, "");
	no_more();
}

/* ---- positions and what follows ---- */

/* Vertex 3 moves from x 3 to x 5. The box of the model was 0..3, 0..1.5, -3..0 and is 0..5, ...: so only what has to do
 * with x is written, and the rest of the header stays as far off as it was. Radii: sqrt(1.5 * 1.5 + 0.75 * 0.75 + 1.5 *
 * 1.5) was 2.25 and becomes sqrt(2.5 * 2.5 + ...), 3.010399. */
static void bounds(void **state)
{
	static const float radius = 3.0103986f;

	(void)state;
	start();
	save(0, with_line(shown(0), "v ", 3, "v 5 1.5 -3"));
	FLOATS(vertex(0, 32, 3), 5);
	FLOATS(0x70, 2.5f);
	FLOATS(0x7c, radius);
	FLOATS(0x90, 5);
	/* In the space of bone 1 x was -3..0 and is -3..2, y -8..-6.5, z -7..-4. */
	FLOATS(envelope(0) + 0x10, -0.5f);
	FLOATS(envelope(0) + 0x1c, radius);
	FLOATS(envelope(0) + 0x30, 2);
	FLOATS(envelope(0) + 0x40, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -0.5f, -7.25f, -5.5f, 1);
	FLOATS(envelope(0) + 0x80, 2.5f, 0.75f, 1.5f);
	no_more();

	/* A vertex inside the box moves nothing but itself. */
	start();
	save(1, with_line(shown(1), "v ", 1, "v 1 0.5 -1.25"));
	FLOATS(vertex(1, 40, 1) + 8, -1.25f);
	no_more();

	/* The envelope of a whole mesh is in the space of the model: y was 0..1, is 0..2. */
	start();
	save(2, with_line(shown(2), "v ", 0, "v 0 2 0 0.039215688 0.078431375 0.11764706"));
	FLOATS(vertex(2, 28, 0) + 4, 2);
	FLOATS(0x74, 1);
	/* The farthest from (1.5, 1, -1.5) is (0, 0, 0), of the other meshes. */
	FLOATS(0x7c, 2.345208f);
	FLOATS(0x94, 2);
	/* The lowest was (0, 0, 0), which is now (0, 2, 0): y is 0.5..2. */
	FLOATS(envelope(1) + 0x14, 1.25f);
	FLOATS(envelope(1) + 0x1c, 1.6007811f);
	FLOATS(envelope(1) + 0x24, 0.5f);
	FLOATS(envelope(1) + 0x34, 2);
	FLOATS(envelope(1) + 0x40, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1.25f, -1, 1);
	FLOATS(envelope(1) + 0x80, 1, 0.75f, 1);
	no_more();
}

/* ---- other values ---- */

static void normals(void **state)
{
	char *text;

	(void)state;
	start();
	/* 76.2 and -101.6, cut off; the fourth byte stays. */
	put_le32(k.bytes[0] + vertex(0, 32, 1) + 12, 9u << 24 | 127 << 16);
	put_le32(k.was[0] + vertex(0, 32, 1) + 12, 9u << 24 | 127 << 16);
	save(0, with_line(shown(0), "vn ", 1, "vn 1.2 -1.6 0"));
	IS(vertex(0, 32, 1) + 12, 76, (uint8_t)-101, 0, 9);
	/* 127 / sqrt(3) is 73.3. */
	save(0, with_line(shown(0), "vn ", 2, "vn -1 1 1"));
	IS(vertex(0, 32, 2) + 12, (uint8_t)-73, 73, 73, 0);
	no_more();

	start();
	refused(0, with_line(shown(0), "vn ", 2, "vn 0 0 0"), EINVAL,
		"line 5: the normal of this vertex, 0.0 0.0 0.0, has no direction");
	edited_close(&k);

	/* All normals are written alike, by a script that keeps our first lines: those within 1 degree are written too,
	 * as they are no other program's. 1 of 126 is 0.45 degrees. */
	start();
	put_le32(k.bytes[0] + vertex(0, 32, 1) + 12, 126 << 16 | 1);
	put_le32(k.was[0] + vertex(0, 32, 1) + 12, 126 << 16 | 1);
	edited_settle(&k);
	text = shown(0);
	for (unsigned i = 0; i < 4; i++)
		text = with_line(text, "vn ", i, "vn 0 0 1");
	save(0, text);
	IS(vertex(0, 32, 1) + 12, 0, 0, 127);
	no_more();
}

static void coordinates(void **state)
{
	(void)state;
	start();
	/* Nearest half, ties to even: 0.3 is 0x34cd; 1 + 1/2048 lies between 0x3c00 and 0x3c01, 1 + 3/2048 between
	 * 0x3c01 and 0x3c02. V is counted from the top. */
	save(0, with_line(shown(0), "vt ", 0, "vt 0.3 0.7"));
	IS(vertex(0, 32, 0) + 20, 0xcd, 0x34, 0xcd, 0x34);
	save(0, with_line(shown(0), "vt ", 1, "vt 1.00048828125 -0.00146484375"));
	IS(vertex(0, 32, 1) + 20, 0x00, 0x3c, 0x02, 0x3c);
	/* 0.25 from the top is 0.75 here, which stays; 2^-24 is the smallest half. */
	save(0, with_line(shown(0), "vt ", 2, "vt 5.9604645e-08 0.75"));
	IS(vertex(0, 32, 2) + 20, 0x01, 0x00);
	no_more();

	start();
	refused(0, with_line(shown(0), "vt ", 3, "vt 65520 0"), EINVAL,
		"line 6: u of this vertex, 65520.0, is outside -65504.0..65504.0");
	refused(0, with_line(shown(0), "vt ", 3, "vt 0 65521"), EINVAL,
		"line 6: v of this vertex, -65520.0 counted from the top, is outside -65504.0..65504.0");
	edited_close(&k);
}

/* What is no number is shown as 0 and stays, also v, which is shown as 1 - v. */
static void no_numbers(void **state)
{
	(void)state;
	start();
	put_le32(k.bytes[0] + vertex(0, 32, 1), 0x7fc00123);
	put_le32(k.bytes[0] + vertex(0, 32, 1) + 8, 0xff800000);
	put_le32(k.bytes[0] + vertex(0, 32, 1) + 20, 0x7e017c00);
	memcpy(k.was[0], k.bytes[0], k.size[0]);
	edited_settle(&k);
	save(0, shown(0));
	save(0, with_line(shown(0), "v ", 1, "v 0 0.75 0"));
	FLOATS(vertex(0, 32, 1) + 4, 0.75f);
	no_more();
}

static void colours(void **state)
{
	(void)state;
	start();
	save(2, with_line(shown(2), "v ", 1, "v 1 0.5 -1 1 0 0.2"));
	IS(vertex(2, 28, 1) + 24, 255, 0, 51, 40);     /* alpha stays */
	no_more();

	start();
	refused(2, with_line(shown(2), "v ", 1, "v 1 0.5 -1 1 0 1.5"), EINVAL, "line 4: blue 1.5 is outside 0.0..1.0");
	save(0, with_line(shown(0), "v ", 1, "v 1 0.5 -1 1 0 0.2"));
	assert_string_equal(k.said, "mesh 0: 1 vertices are given colours, which IASkin4wt1UV has no place for; "
			    "`block_type: IASkin4wt1UVColor` in meshes/0.yaml first makes room\n"
			    "mesh 0: 1 vertices are given colours, which IASkin4wt1UV has no place for; "
			    "`block_type: IASkin4wt1UVColor` in meshes/0.yaml first makes room\n");
	no_more();
}

static void movements(void **state)
{
	char *text;

	(void)state;
	start();
	text = shown(0);
	for (unsigned i = 0; i < 4; i++) {
		char line[64];

		snprintf(line, sizeof line, "v %u %g %g", i + 10, i / 2.0, 2.0 - i);
		text = with_line(text, "v ", i, line);
	}
	assert_int_equal(edited_obj(&k, 0, text), 0);
	assert_string_equal(k.said, "mesh 0: all vertices are moved by (10.0, 0.0, 2.0)\n");
	free(text);
	edited_close(&k);
}

/* ---- weights ---- */

static void put_weights(uint32_t mesh, char *text)
{
	struct kept once;

	if (edited_weights(&k, mesh, text))
		fail_msg("%s", k.why);
	once = edited_keep(&k);
	if (edited_weights(&k, mesh, text))
		fail_msg("again: %s", k.why);
	edited_same(&k, &once);
	free(text);
}

static void weights(void **state)
{
	uint64_t v, flags;
	char *text;

	(void)state;
	start();
	v = vertex(0, 32, 2) + 24;
	flags = b.at_meshes + 0x0c;
	put_le32(k.bytes[0] + v, le_u32(k.bytes[0] + v) | 2u << 30);
	put_le16(k.bytes[0] + flags, 1 + 8 * 3);
	memcpy(k.was[0], k.bytes[0], k.size[0]);
	edited_settle(&k);
	/* Bone 1 keeps the other vertices. Spare bits stay, the rest of the slots is [0, 0]. The vertex has 2 weights,
	 * the others still 4, more than the record says: it says so now. */
	put_weights(0, with_line(weights_text(k.o, 0), "- ", 2, "- [[2, 1000], [0, 23]]"));
	IS(v, 0xe8, 0x5f, 0x00, 0x80, 2, 0, 0, 0);     /* 1000 | 23 << 10 | 2 << 30 */
	IS(flags, 1 + 8 * 4);
	/* In the space of bone 1 vertices 0, 1 and 3 have the box of all four: nothing else follows. */
	no_more();

	/* A complement of -1 is no weight; one of -300 is. */
	start();
	put_le16(k.bytes[0] + b.at_meshes + 0x0c, 1 + 8 * 2);
	memcpy(k.was[0], k.bytes[0], k.size[0]);
	text = weights_text(k.o, 0);
	for (unsigned i = 0; i < 4; i++)
		text = with_line(text, "- ", i, "- [[0, 523], [1, 501], [0, 0], [0, -1]]");
	put_weights(0, text);
	assert_int_equal(le_u16(k.bytes[0] + b.at_meshes + 0x0c), 1 + 8 * 2);
	put_weights(0, with_line(weights_text(k.o, 0), "- ", 1, "- [[0, 1023], [1, 300], [0, 0], [0, -300]]"));
	assert_int_equal(le_u16(k.bytes[0] + b.at_meshes + 0x0c), 1 + 8 * 3);
	edited_close(&k);
}

static void eight_weights(void **state)
{
	uint64_t v;

	(void)state;
	start();
	v = vertex(1, 40, 0) + 24;
	/* 1 | 2 << 10 | 3 << 20, then 255, 254, 253, 252; what is left is 3. */
	put_weights(1, with_line(weights_text(k.o, 1), "- ", 0,
				 "- [[2, 1], [1, 2], [0, 3], [2, 255], [1, 254], [0, 253], [2, 252], [1, 3]]"));
	IS(v, 0x01, 0x08, 0x30, 0x00, 255, 254, 253, 252, 2, 1, 0, 2, 1, 0, 2, 1);
	IS(b.at_meshes + 80 + 0x0c, 1 + 8 * 8);
	no_more();
}

static void fractions(void **state)
{
	uint64_t v;

	(void)state;
	start();
	v = vertex(0, 32, 0) + 24;
	/* 0.3 * 1023 is 306.9, 0.2 * 1023 is 204.6: 307 + 205 + 205 + 307 is 1024, so the first of the largest is 306.
	 */
	put_weights(0, with_line(weights_text(k.o, 0), "- ", 0, "- [[0, 0.3], [1, 0.2], [2, 0.2], [0, 0.3]]"));
	IS(v, 0x32, 0x35, 0xd3, 0x0c);                 /* 306 | 205 << 10 | 205 << 20 */
	IS(v + 4, 0, 1, 2, 0);
	/* One dot makes all of them fractions. 0.25 is 255.75. */
	put_weights(0, with_line(weights_text(k.o, 0), "- ", 0, "- [[1, 1], [2, 0.25]]"));
	IS(v, 0xff, 0x02, 0x04, 0x00);                 /* 767 | 256 << 10 */
	IS(v + 4, 1, 2, 0, 0);
	assert_string_equal(k.said, "mesh 0: the weights of 1 vertices did not add up to 1, the largest took the rest\n"
			    "mesh 0: the weights of 1 vertices did not add up to 1, the largest took the rest\n");
	edited_close(&k);
}

static void weights_refused(void **state)
{
	static const struct { unsigned mesh; const char *line, *why; } v[] = {
		{ 0, "- [[0, 1000]]", "line 3: the weights add up to 1000, expected 1023" },
		{ 0, "- [[0, 1000], [1, 24]]", "line 3: the weights add up to 1024, expected 1023" },
		{ 0, "- []", "line 3: the weights add up to 0, expected 1023" },
		{ 0, "- [[0, 1023], [3, 0]]", "line 3: bone 3 does not exist, the model has 3" },
		{ 0, "- [[0, 1023], [null, 0]]", "line 3: bone null: a vertex has a bone in every slot" },
		{ 0, "- [[0, 1024], [0, -1]]", "line 3: weight 1024 is outside 0..1023, which slot 0 holds" },
		{ 0, "- [[0, 1023], [0, 1], [0, -1]]", "line 3: weight -1 is outside 0..1023, which slot 2 holds" },
		{ 0, "- [[0, 1023], [0, 0], [0, 0], [0, 0], [0, 0]]",
		  "line 3: 5 pairs, a vertex of IASkin4wt1UV has 4" },
		{ 1, "- [[0, 200], [0, 200], [0, 200], [0, 256], [0, 167]]",
		  "line 3: weight 256 is outside 0..255, which slot 3 holds; put the largest weights first" },
		{ 1, "- [[0, 1.5], [0, -0.5]]", "line 3: weight 1535 is outside 0..1023, which slot 0 holds" },
		{ 1, "- [[0, 1e30]]", "line 3: weight 1.0e+30 is far outside 0.0..1.0" },
	};

	(void)state;
	start();
	for (unsigned i = 0; i < ARRAY_LEN(v); i++) {
		char *text = with_line(weights_text(k.o, v[i].mesh), "- ", 1, v[i].line);

		assert_int_equal(edited_weights(&k, v[i].mesh, text), -EINVAL);
		assert_string_equal(k.why, v[i].why);
		edited_only(&k, 0, 0, 0);
		free(text);
	}
	assert_int_equal(edited_weights(&k, 0, "- [[0, 1023]]\n"), -EINVAL);
	assert_string_equal(k.why, "weights of 1 vertices, the mesh has 4");
	assert_int_equal(edited_weights(&k, 2, "- [[0, 1023]]\n"), -EINVAL);
	assert_string_equal(k.why, "IANonSkin1UVColor has no weights");
	no_more();
}

/* ---- bones ---- */

static uint64_t bone(unsigned i)
{
	return b.at_bones + 24 * i;
}

static uint64_t local(unsigned i)
{
	return b.at_local + 64 * i;
}

static uint64_t inverse(unsigned i)
{
	return b.at_inverse + 64 * i;
}

static void bones_refused(const char *text, const char *why)
{
	assert_int_equal(edited_yaml(&k, DOC_SKELETON, 0, text), -EINVAL);
	assert_string_equal(k.why, why);
	edited_only(&k, 0, 0, 0);
}

/* Bone 1 moves from (3, 0, 4) to (3, 0, 12): bones 1 and 2 are at z 12 then, and what is in their space is 8 less. */
static void moved_is(void)
{
	FLOATS(bone(1) + 0x08, 12.369317f);            /* sqrt(9 + 144) */
	FLOATS(bone(1) + 0x14, 12);
	FLOATS(local(1) + 56, 12);
	FLOATS(inverse(1) + 56, -12);
	FLOATS(inverse(2) + 56, -12);
	/* z was -7..-4 in the space of bone 1, is -15..-12. */
	FLOATS(envelope(0) + 0x18, -13.5f);
	FLOATS(envelope(0) + 0x28, -15);
	FLOATS(envelope(0) + 0x38, -12);
	FLOATS(envelope(0) + 0x40, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1.5f, -7.25f, -13.5f, 1);
	FLOATS(envelope(0) + 0x80, 1.5f, 0.75f, 1.5f);
	no_more();
}

static void positions(void **state)
{
	(void)state;
	start();
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{}, {position: [3, 0, 12], local_matrix: [1, 0, 0, 0, 0, 1, 0, "
			  "0, 0, 0, 1, 0, 3, 0, 4, 1]}, {}]\n");
	moved_is();
	start();
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{}, {position: [3, 0, 4], local_matrix: [1, 0, 0, 0, 0, 1, 0, "
			  "0, 0, 0, 1, 0, 3, 0, 12, 1]}, {}]\n");
	moved_is();
	start();
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{}, {position: [3, 0, 12], local_matrix: [1, 0, 0, 0, 0, 1, 0, "
			  "0, 0, 0, 1, 0, 3, 0, 12, 1]}, {}]\n");
	moved_is();
	start();
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{}, {position: [3, 0, 12]}, {}]\n");
	moved_is();

	start();
	bones_refused("bones:\n- {}\n- position: [3, 0, 12]\n  local_matrix: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 3, "
		      "0, 5, 1]\n- {}\n",
		      "line 4, column 17: bone 1: z of its position is 12.0, and 5.0 in local_matrix; they are one "
		      "value");
	bones_refused("bones: [{}, {local_matrix: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 0, 4, 1]}, {}]\n",
		      "local_matrix of bone 1 has no inverse");
	edited_close(&k);
}

/* A quarter turn around z: x is (0, 1, 0), y is (-1, 0, 0). Its inverse takes (x, y) to (y, -x). The inverse of bone 2:
 * its own (0, -1, 0) first, so p - (3, 8, 4) turned is (y - 8, 3 - x, z - 4), and y + 1 then. */
static void turned(void **state)
{
	(void)state;
	start();
	edited_yaml_twice(&k, DOC_SKELETON, 0,
			  "bones: [{}, {local_matrix: [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 3, 0, 4, 1]}, {}]\n");
	FLOATS(local(1), 0, 1, 0, 0, -1, 0);
	FLOATS(inverse(1), 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -8, 3, -4, 1);
	FLOATS(inverse(2), 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, -8, 4, -4, 1);
	/* x: -8..-6.5, was -3..0; y: 0..3, was -8..-6.5. */
	FLOATS(envelope(0) + 0x10, -7.25f, 1.5f);
	FLOATS(envelope(0) + 0x20, -8, 0);
	FLOATS(envelope(0) + 0x30, -6.5f, 3);
	FLOATS(envelope(0) + 0x40, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -7.25f, 1.5f, -5.5f, 1);
	FLOATS(envelope(0) + 0x80, 0.75f, 1.5f, 1.5f);
	no_more();
}

static void parents(void **state)
{
	(void)state;
	start();
	/* Bone 2 is at (0, -1, 0) then; no envelope is its. */
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{}, {}, {parent: null}]\n");
	IS(bone(2) + 2, 255);
	FLOATS(inverse(2) + 48, 0, 1, 0);
	no_more();

	start();
	/* Bone 1 becomes the root at (3, 0, 4), bone 0 is at (3, 8, 4) and bone 2 at (3, -1, 4). */
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{parent: 1}, {parent: null}, {}]\n");
	IS(bone(0) + 2, 1);
	IS(bone(1) + 2, 255);
	FLOATS(inverse(0) + 48, -3, -8, -4);
	FLOATS(inverse(1) + 48, -3, 0, -4);
	FLOATS(inverse(2) + 48, -3, 1, -4);
	/* y was -8..-6.5 in the space of bone 1, is 0..1.5. */
	FLOATS(envelope(0) + 0x14, 0.75f);
	FLOATS(envelope(0) + 0x24, 0);
	FLOATS(envelope(0) + 0x34, 1.5f);
	FLOATS(envelope(0) + 0x40, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -1.5f, 0.75f, -5.5f, 1);
	FLOATS(envelope(0) + 0x80, 1.5f, 0.75f, 1.5f);
	no_more();

	start();
	bones_refused("bones: [{parent: 2}, {}, {}]\n", "line 1, column 18: bone 0: parent 2 hangs on bone 0 itself");
	bones_refused("bones: [{}, {parent: 1}, {}]\n", "line 1, column 22: bone 1: parent 1 hangs on bone 1 itself");
	bones_refused("bones: [{}, {parent: 3}, {}]\n", "line 1, column 22: bone 1: parent 3, the model has 3 bones");
	edited_close(&k);
}

/* A bone that no text moves keeps a matrix that is not what its place says, and so do those below it. */
static void stale_matrices(void **state)
{
	(void)state;
	start();
	put_le32(k.bytes[0] + inverse(0) + 52, f32_bits(-7));
	put_le32(k.bytes[0] + inverse(1) + 52, f32_bits(-7));
	put_le32(k.bytes[0] + bone(2) + 8, f32_bits(77));
	memcpy(k.was[0], k.bytes[0], k.size[0]);
	edited_settle(&k);
	edited_yaml_twice(&k, DOC_SKELETON, 0, "bones: [{}, {}, {position: [2, -1, 0]}]\n");
	FLOATS(bone(2) + 8, 2.236068f, 2);
	FLOATS(local(2) + 48, 2);
	FLOATS(inverse(2) + 48, -5);                   /* its y was worked out from the same matrix before: it stays */
	no_more();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing), cmocka_unit_test(bounds), cmocka_unit_test(normals),
		cmocka_unit_test(coordinates), cmocka_unit_test(no_numbers), cmocka_unit_test(colours),
		cmocka_unit_test(movements), cmocka_unit_test(weights), cmocka_unit_test(eight_weights),
		cmocka_unit_test(fractions), cmocka_unit_test(weights_refused), cmocka_unit_test(positions),
		cmocka_unit_test(turned), cmocka_unit_test(parents), cmocka_unit_test(stale_matrices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
