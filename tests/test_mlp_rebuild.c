/* Quartets whose meshes get other faces and other numbers of vertices: what moves, what is made anew, what is refused.
 */
#include <errno.h>
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

extern const struct format fmt_mlp;

/* ---- expected bytes ---- */

#define ROOM 2000000u

static struct build_mlp b;
static struct edited k;

/* build_three(): MLP: records at 0x1c, 0x38, 0x54; of mesh 0, submeshes at 0x130 and 0x190, descriptors of vertices,
 * rows and indices at 0x1f0, 0x208 and 0x220. MMP: slices at 0, 0x60, 0xa0, 0xe0 bytes. MGP: those of mesh 0 and 2 at
 * 0 and 0x10, 0x30 bytes. */
static void start(void)
{
	quartet_three(&k, ROOM);
}

static void indices_are(uint64_t at, const uint16_t *want, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (be_u16(k.bytes[BUILD_MMP] + at + 2 * i) != want[i])
			fail_msg("index %u is %u, expected %u", i, be_u16(k.bytes[BUILD_MMP] + at + 2 * i), want[i]);
		put_be16(k.was[BUILD_MMP] + at + 2 * i, want[i]);
	}
}
#define INDICES(at, ...) \
	indices_are(at, (const uint16_t[]){ __VA_ARGS__ }, sizeof((const uint16_t[]){ __VA_ARGS__ }) / 2)

/* Bytes that were at `from` are at `to` now. */
static void moved(unsigned part, uint64_t from, uint64_t n, uint64_t to)
{
	uint8_t *copy = malloc(n);

	assert_non_null(copy);
	memcpy(copy, k.was[part] + from, n);
	assert_memory_equal(k.bytes[part] + to, copy, n);
	memcpy(k.was[part] + to, copy, n);
	free(copy);
}

static void zeros(unsigned part, uint64_t at, uint64_t n)
{
	for (uint64_t i = at; i < at + n; i++) {
		assert_int_equal(k.bytes[part][i], 0);
		k.was[part][i] = 0;
	}
}

static void sizes_are(uint64_t mmp, uint64_t mgp)
{
	assert_int_equal(k.size[BUILD_MLP], k.size_was[BUILD_MLP]);
	assert_int_equal(k.size[BUILD_MMP], mmp);
	assert_int_equal(k.size[BUILD_MGP], mgp);
}

/* ---- faces alone ---- */

/* As many, other corners: the triangle 1 1 3 stays where it is. */
static void test_corners(void **state)
{
	(void)state;
	start();
	save(&k, 0, with_line(named_obj_text(k.o, 0), "f ", 2, "f 1//1 2//2 4//4\n"));
	INDICES(0x52, 0, 1, 3);
	sizes_are(0xe0, 0x30);
	quartet_done(&k);
}

/* Faces over other vertices look like the same ones over vertices that moved; the indices come first here. */
static void test_corners_like_others(void **state)
{
	struct buf part[BUILD_PARTS];
	static const uint16_t one[] = { 0, 1, 2 };

	(void)state;
	b = (struct build_mlp){ 0 };
	build_mlp_mesh(&b, &(struct build_mlp_mesh){ 7, 6, 3, 4, one, 1, { { 0, 3, 1 } }, false, true });
	build_mlp(&b, part);
	quartet_open(&k, part, ROOM);
	save(&k, 0, with_line(named_obj_text(k.o, 0), "f ", 0, "f 4//4 5//5 6//6\n"));
	INDICES(0, 3, 4, 5);
	quartet_done(&k);
}

/* Triangles of one submesh become more, of the other fewer: the number of indices stays. */
static void test_other_runs(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "f ", 2, "f 4//4 3//3 1//1\nf 4//4 3//3 2//2\n");
	text = with_line(text, "f ", 1, "");
	save(&k, 0, text);
	WORDS(&k, 0, 0x154, 3);
	WORDS(&k, 0, 0x1b0, 3, 9);
	INDICES(0x40, 0, 1, 2, 1, 1, 3, 3, 2, 0, 3, 2, 1);
	sizes_are(0xe0, 0x30);
	quartet_done(&k);
}

/* 15 indices: the slice has 64 + 30 bytes and still ends before 0x60. */
static void test_more_faces(void **state)
{
	(void)state;
	start();
	save(&k, 0, with_line(named_obj_text(k.o, 0), "f ", 1, "f 1//1 3//3 4//4\nf 1//1 2//2 4//4\n"));
	INDICES(0x40, 0, 1, 2, 0, 2, 3, 0, 1, 3, 1, 1, 3, 3, 2, 1);
	WORDS(&k, 0, 0x30, 94);
	WORDS(&k, 0, 0x154, 9);
	WORDS(&k, 0, 0x1b0, 9);
	WORDS(&k, 0, 0x220, 15);
	WORDS(&k, 0, 0x22c, 30);
	sizes_are(0xe0, 0x30);
	quartet_done(&k);
}

/* The last slice: zeros up to the next multiple of 16, and the indices come behind the vertices now. */
static void test_more_faces_at_the_end(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 2), "f ", 0,
			 "f 1//1 2//2 3//3\nf 3//3 2//2 1//1\nf 1//1 2//2 3//3\nf 3//3 2//2 1//1\n");
	save(&k, 2, text);
	moved(BUILD_MMP, 0xa6, 48, 0xa0);
	INDICES(0xd0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0);
	zeros(BUILD_MMP, 0xe8, 8);
	WORDS(&k, 0, 0x54 + 0x14, 72);
	WORDS(&k, 0, 0x474, 12);
	WORDS(&k, 0, 0x4b0 + 0x10, 0);                     /* vertices */
	WORDS(&k, 0, 0x4e0, 12, 5, 48, 24);
	sizes_are(0xf0, 0x30);
	quartet_done(&k);
}

/* ---- vertices ---- */

/* A fifth one near vertex 0, with a normal of its own: slices behind move by 16 bytes in both files. */
static void test_more_vertices(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "v ", 3, "v 3 1.5 -3\nv 0.25 0 0\n");
	text = with_line(text, "vn ", 3, "vn 0 0 0.99807733\nvn 0.6 0 0.8\n");
	text = with_line(text, "f ", 1, "f 1//1 3//3 4//4\nf 1//1 2//2 5//5\n");
	save(&k, 0, text);
	assert_non_null(strstr(k.said, "mesh 0: 1 new vertices took their MGP rows from the nearest old vertex"));
	moved(BUILD_MMP, 0xa0, 0x40, 0xb0);
	moved(BUILD_MMP, 0x60, 0x40, 0x70);
	WORDS(&k, 1, 0x40, FLOAT(0.25), 0, 0, 614 | 410u << 22);
	INDICES(0x50, 0, 1, 2, 0, 2, 3, 0, 1, 4, 1, 1, 3, 3, 2, 1);
	zeros(BUILD_MMP, 0x6e, 2);
	moved(BUILD_MGP, 0x10, 0x20, 0x20);
	WORDS(&k, 2, 0x10, 0x00010203, 0, 0, 0);
	WORDS(&k, 0, 0x30, 110, 20);
	WORDS(&k, 0, 0x40, 0x70);                          /* of mesh 1, which has no MGP slice */
	WORDS(&k, 0, 0x5c, 0xb0, 0x20);
	WORDS(&k, 0, 0x154, 9);
	WORDS(&k, 0, 0x1b0, 9);
	WORDS(&k, 0, 0x1f0, 5, 5);
	WORDS(&k, 0, 0x204, 80);
	WORDS(&k, 0, 0x208, 5, 5);
	WORDS(&k, 0, 0x21c, 20);
	WORDS(&k, 0, 0x220, 15, 5, 80, 30);
	sizes_are(0xf0, 0x40);
	quartet_done(&k);
}

/* At the place of vertex 3 its row and, where nothing else is said, its normal; a second count that differs stays. */
static void test_doubled_vertex(void **state)
{
	char *text;

	(void)state;
	start();
	put_be32(k.bytes[0] + 0x1f4, 99);
	put_be32(k.was[0] + 0x1f4, 99);
	put_be32(k.bytes[1] + 0x3c, 0x7fc00001);
	put_be32(k.was[1] + 0x3c, 0x7fc00001);
	edited_settle(&k);
	text = with_line(named_obj_text(k.o, 0), "v ", 3, "v 3 1.5 -3\nv 3 1.5 -3\n");
	text = with_line(text, "f ", 2, "f 5 3//3 2//2\n");
	save(&k, 0, text);
	moved(BUILD_MMP, 0xa0, 0x40, 0xb0);
	moved(BUILD_MMP, 0x60, 0x40, 0x70);
	WORDS(&k, 1, 0x40, FLOAT(3), FLOAT(1.5), FLOAT(-3), 0x7fc00001);
	INDICES(0x50, 0, 1, 2, 0, 2, 3, 1, 1, 3, 4, 2, 1);
	zeros(BUILD_MMP, 0x68, 8);
	moved(BUILD_MGP, 0x10, 0x20, 0x20);
	WORDS(&k, 2, 0x10, 0x30313233, 0, 0, 0);
	WORDS(&k, 0, 0x30, 104, 20);
	WORDS(&k, 0, 0x40, 0x70);
	WORDS(&k, 0, 0x5c, 0xb0, 0x20);
	WORDS(&k, 0, 0x1f0, 5);
	WORDS(&k, 0, 0x204, 80);
	WORDS(&k, 0, 0x208, 5, 5);
	WORDS(&k, 0, 0x21c, 20);
	WORDS(&k, 0, 0x228, 80);
	sizes_are(0xf0, 0x40);
	quartet_done(&k);
}

/* Vertex 0 goes: those behind it get other numbers, in the triangle that no text has too. Both slices shrink. */
static void test_fewer_vertices(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "v ", 0, "");
	text = with_line(text, "vn ", 0, "");
	text = with_line(text, "f ", 2, "f 3//3 2//2 1//1\n");
	text = with_line(text, "f ", 1, "");
	text = with_line(text, "f ", 0, "f 1//1 2//2 3//3\n");
	save(&k, 0, text);
	moved(BUILD_MMP, 0x10, 0x30, 0);
	INDICES(0x30, 0, 1, 2, 0, 0, 2, 2, 1, 0);
	zeros(BUILD_MMP, 0x42, 14);
	moved(BUILD_MMP, 0x60, 0x40, 0x50);
	moved(BUILD_MMP, 0xa0, 0x40, 0x90);
	moved(BUILD_MGP, 4, 12, 0);
	zeros(BUILD_MGP, 12, 4);
	WORDS(&k, 0, 0x30, 66, 12);
	WORDS(&k, 0, 0x40, 0x50);
	WORDS(&k, 0, 0x5c, 0x90);
	WORDS(&k, 0, 0x154, 3);
	WORDS(&k, 0, 0x1b0, 3);
	WORDS(&k, 0, 0x1f0, 3, 3);
	WORDS(&k, 0, 0x204, 48);
	WORDS(&k, 0, 0x208, 3, 3);
	WORDS(&k, 0, 0x21c, 12);
	WORDS(&k, 0, 0x220, 9, 5, 48, 18);
	sizes_are(0xd0, 0x30);
	quartet_done(&k);
}

/* Corners with several normals: one vertex each, one behind the other. */
static void test_split(void **state)
{
	static const char text[] =
		"mtllib 1.mtl\no mesh_1\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\nvn 0 0 0.99807733\nvn 0.6 0 0.8\ng group_0\n"
		"usemtl mat_000000aa\nf 1//1 2//1 3//1\nf 3//2 2//1 1//2\n";

	(void)state;
	start();
	edited_obj_twice(&k, 1, text);
	moved(BUILD_MMP, 0xa0, 0x40, 0xc0);
	WORDS(&k, 1, 0x60, 0, 0, 0, 0x7fc00000, 0, 0, 0, 614 | 410u << 22);
	WORDS(&k, 1, 0x80, FLOAT(1), FLOAT(0.5), FLOAT(-1), 0x7fc00000, FLOAT(2), FLOAT(1), FLOAT(-2), 0x7fc00000);
	WORDS(&k, 1, 0xa0, FLOAT(2), FLOAT(1), FLOAT(-2), 614 | 410u << 22);
	INDICES(0xb0, 0, 2, 3, 4, 2, 1);
	zeros(BUILD_MMP, 0xbc, 4);
	WORDS(&k, 0, 0x38 + 0x14, 92);
	WORDS(&k, 0, 0x5c, 0xc0);
	WORDS(&k, 0, 0x324, 6);
	WORDS(&k, 0, 0x360, 5, 5);
	WORDS(&k, 0, 0x374, 80);
	WORDS(&k, 0, 0x378, 6, 5, 80, 12);
	sizes_are(0x100, 0x30);
	quartet_done(&k);
}

/* A new place outside the box and all spheres. */
static void test_bounds_of_new(void **state)
{
	static const char text[] =
		"mtllib 1.mtl\no mesh_1\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\nv 0 0 300\nvn 0 0 0.99807733\ng group_0\n"
		"usemtl mat_000000aa\nf 1//1 2//1 3//1\nf 1//1 2//1 4//1\n";

	(void)state;
	start();
	edited_obj_twice(&k, 1, text);
	assert_int_equal(be_u32(k.bytes[0] + 0x2b8), FLOAT(300));      /* box */
	assert_int_equal(be_u32(k.bytes[0] + 0x298), FLOAT(149));      /* z of the sphere: (300 - 2) / 2 */
	assert_int_equal(be_u32(k.bytes[0] + 0x308), FLOAT(149));
	edited_close(&k);
}

/* Sizes can change where a file ends without padding; then it gets some. */
static void test_end_without_padding(void **state)
{
	struct buf part[BUILD_PARTS];
	char *text;

	(void)state;
	build_three(&b, part);
	part[BUILD_MMP].len = 0xd6;
	quartet_open(&k, part, ROOM);
	text = with_line(named_obj_text(k.o, 0), "f ", 0, "");
	save(&k, 0, text);
	sizes_are(0xd6, 0x30);
	text = with_line(named_obj_text(k.o, 2), "f ", 0, "f 1//1 2//2 3//3\nf 3//3 2//2 1//1\n");
	save(&k, 2, text);
	sizes_are(0xe0, 0x30);
	sound(k.o);
	edited_close(&k);
}

/* Without groups, a face goes to the submesh of its material; where several have it, to that of the nearest old face.
 */
static void test_groups_by_material(void **state)
{
	char *text;

	(void)state;
	start();
	text = with_line(named_obj_text(k.o, 0), "g ", 1, "");
	text = with_line(text, "g ", 0, "");
	text = with_line(text, "f ", 2, "f 4//4 3//3 2//2\nf 2//2 1//1 3//3\n");
	save(&k, 0, text);
	INDICES(0x40, 0, 1, 2, 0, 2, 3, 1, 1, 3, 3, 2, 1, 1, 0, 2);
	WORDS(&k, 0, 0x30, 94);
	WORDS(&k, 0, 0x1b4, 9);
	WORDS(&k, 0, 0x220, 15);
	WORDS(&k, 0, 0x22c, 30);
	quartet_done(&k);

	start();
	put_be32(k.bytes[0] + 0x1c4, 0xaa);
	put_be32(k.was[0] + 0x1c4, 0xaa);
	edited_settle(&k);
	/* Middles: 1 .5 -1 and 1.67 .83 -1.67 in submesh 0, 2 1 -2 in submesh 1; the new face's is 1.33 .67 -1.33,
	 * nearest to the first, and the last one's 2 1 -2. */
	edited_obj_twice(&k, 0, "o mesh_0\nv 0 0 0\nv 1 .5 -1\nv 2 1 -2\nv 3 1.5 -3\nusemtl mat_000000aa\n"
				"f 4 3 2\nf 1 2 3\nf 2 1 4\nf 1 3 4\nf 2 3 4\n");
	INDICES(0x40, 0, 1, 2, 1, 0, 3, 0, 2, 3, 1, 1, 3, 3, 2, 1, 1, 2, 3);
	WORDS(&k, 0, 0x30, 100);
	WORDS(&k, 0, 0x40, 0x70);
	WORDS(&k, 0, 0x5c, 0xb0);
	WORDS(&k, 0, 0x154, 9);
	WORDS(&k, 0, 0x1b0, 9, 9);
	WORDS(&k, 0, 0x220, 18);
	WORDS(&k, 0, 0x22c, 36);
	sizes_are(0xf0, 0x30);
	edited_close(&k);
}

/* ---- refusals ---- */

#define VERTICES "o mesh_0\nv 0 0 0\nv 1 .5 -1\nv 2 1 -2\nv 3 1.5 -3\n"

static void test_refused(void **state)
{
	static const struct { const char *text, *why; } cases[] = {
		{ VERTICES "g group_0\nf 1 2 3\ng group_2\nf 1 3 4\n", "line 9: group_2: mesh 0 has 2 submeshes" },
		{ VERTICES "g group_1\nf 1 2 3\ng elsewhere\nf 1 3 4\n",
		  "line 9: a face in no group; mesh 0 has 2 submeshes" },
		{ VERTICES "g group_1\nf 1 2 3\ng elsewhere\nusemtl mat_00000001\nf 1 3 4\n",
		  "line 10: a face in no group; mesh 0 has 2 submeshes" },
		{ VERTICES "g group_0\nf 1 2 3 4\n", "line 7: 4 corners; only triangles" },
		{ VERTICES "g group_0\nf 1 2 3\nf 1 3 4\n", "group_1 has no faces" },
		{ VERTICES "g group_0\nf 1 2 3\ng group_1\nf 1 1 3\n", "group_1 has no faces" },
		{ "o mesh_0\nv nan 0 0\n", "line 2, column 3: \"nan\" is not a finite number" },
		{ "o mesh_0\nv 0 -inf 0\n", "line 2, column 5: \"-inf\" is not a finite number" },
		{ "o mesh_0\nv 0 1e39 0\n", "line 2, column 5: \"1e39\" is too large" },
	};

	(void)state;
	start();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refused(&k, edited_obj(&k, 0, cases[i].text), EINVAL, cases[i].why);
	quartet_done(&k);
}

static void test_too_many(void **state)
{
	struct buf text = { 0 };

	(void)state;
	start();
	buf_str(&text, "o mesh_1\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\n");
	for (unsigned i = 3; i < 65537; i++)
		buf_str(&text, "v 1 1 1\n");
	buf_str(&text, "g group_0\nf 1 2 3\n");
	buf_char(&text, 0);
	refused(&k, edited_obj(&k, 1, (const char *)text.p), EINVAL, "65537 vertices, 16-bit indexes reach 65536");
	text.len = 0;
	buf_str(&text, "o mesh_1\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\n");
	for (unsigned i = 3; i < 65536; i++)
		buf_str(&text, "v 1 1 1\n");
	buf_str(&text, "g group_0\nf 1 2 3\nf 1 2 65536\n");
	buf_char(&text, 0);
	assert_int_equal(edited_obj(&k, 1, (const char *)text.p), 0);
	assert_non_null(strstr(k.said, "mesh 1: index 65535 may be taken for the end of a strip"));
	assert_int_equal(be_u32(k.bytes[0] + 0x360), 65536);
	assert_int_equal(be_u16(k.bytes[1] + 0x60 + 0x100000 + 10), 65535);
	sound(k.o);
	buf_free(&text);
	edited_close(&k);
}

struct gap { unsigned part; uint32_t at, word; const char *why; };

/* Bytes between slices, slices that are not where the rule puts them. */
static void test_fixed_sizes(void **state)
{
	static const struct gap cases[] = {
		{ 1, 0x58, 0x00000100, "gap at mmp 0x58 holds data: sizes are fixed" },
		{ 1, 0xdc, 0x01000000, "gap at mmp 0xd6 holds data: sizes are fixed" },
		{ 2, 0x2c, 0x00000001, "gap at mgp 0x28 holds data: sizes are fixed" },
		{ 0, 0x60, 0x00000018, "gap at mgp 0x10 holds data: sizes are fixed" },
		{ 0, 0x40, 0x00000040, "slices overlap at mmp 0x40: sizes are fixed" },
		{ 0, 0x60, 0x0000000c, "slices overlap at mgp 0xc: sizes are fixed" },
	};
	struct buf part[BUILD_PARTS];
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		build_three(&b, part);
		setb32(&part[cases[i].part], cases[i].at, cases[i].word);
		quartet_open(&k, part, ROOM);
		text = with_line(named_obj_text(k.o, 0), "f ", 1, "f 1//1 3//3 4//4\nf 1//1 2//2 4//4\n");
		refused(&k, edited_obj(&k, 0, text), EPERM, cases[i].why);
		free(text);
		/* Of the same size it goes. */
		text = with_line(named_obj_text(k.o, 0), "f ", 2, "f 1//1 2//2 4//4\n");
		assert_int_equal(edited_obj(&k, 0, text), 0);
		free(text);
		edited_close(&k);
	}
	build_three(&b, part);
	for (unsigned i = 0; i < 16; i++)
		put8(&part[BUILD_MMP], 0);
	quartet_open(&k, part, ROOM);
	text = with_line(named_obj_text(k.o, 0), "f ", 1, "f 1//1 3//3 4//4\nf 1//1 2//2 4//4\n");
	refused(&k, edited_obj(&k, 0, text), EPERM, "gap at mmp 0xd6 is 26 bytes long, not 10: sizes are fixed");
	free(text);
	edited_close(&k);
}

static void test_no_room(void **state)
{
	char *text;

	(void)state;
	start();
	k.room[BUILD_MGP] = 0x30;
	text = with_line(named_obj_text(k.o, 0), "v ", 3, "v 3 1.5 -3\nv 0.25 0 0\n");
	text = with_line(text, "f ", 1, "f 1//1 3//3 4//4\nf 1//1 2//2 5\n");
	refused(&k, edited_obj(&k, 0, text), ENOSPC, "16 bytes are missing");
	free(text);
	quartet_done(&k);
}

/* A container found no MGP: what needs no rows can be edited. */
static void test_without_mgp(void **state)
{
	struct buf part[BUILD_PARTS];
	char *text;

	(void)state;
	build_three(&b, part);
	buf_free(&part[BUILD_MGP]);
	k = (struct edited){ 0 };
	edited_open_members(&k, &fmt_mlp, (const struct edited_part[EDITED_PARTS]){
		{ part[0].p, part[0].len, part[0].len + 1000 }, { part[1].p, part[1].len, part[1].len + 1000 } });
	k.around.handed = true;
	edited_settle(&k);
	assert_non_null(k.o->variant);
	assert_null(k.o->faults);
	text = text_of(k.o, DOC_MESH, 0);
	assert_non_null(strstr(text, "\nstride: 4  # derived\n"));
	free(text);
	text = with_line(named_obj_text(k.o, 0), "f ", 2, "f 1//1 2//2 4//4\n");
	save(&k, 0, text);
	INDICES(0x52, 0, 1, 3);
	text = with_line(named_obj_text(k.o, 0), "v ", 3, "v 3 1.5 -3\nv 0.25 0 0\n");
	text = with_line(text, "f ", 1, "f 1//1 3//3 4//4\nf 1//1 2//2 5\n");
	assert_int_equal(edited_obj(&k, 0, text), -EPERM);
	assert_string_equal(k.why, "the MGP was not found: mesh 0 has to keep its 4 vertices");
	free(text);
	assert_int_equal(edited_file(&k, MLP_OWN_ROWS, 0, "vertex,normal,mgp\n0,7fc00000,00010203\n", 37), -EINVAL);
	assert_string_equal(k.why, "line 2: row of 4 bytes, but the MGP of mesh 0 was not found");
	edited_close(&k);
	buf_free(&part[0]);
	buf_free(&part[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corners), cmocka_unit_test(test_corners_like_others),
		cmocka_unit_test(test_other_runs), cmocka_unit_test(test_more_faces),
		cmocka_unit_test(test_more_faces_at_the_end), cmocka_unit_test(test_more_vertices),
		cmocka_unit_test(test_doubled_vertex), cmocka_unit_test(test_fewer_vertices),
		cmocka_unit_test(test_split), cmocka_unit_test(test_bounds_of_new),
		cmocka_unit_test(test_end_without_padding),
		cmocka_unit_test(test_groups_by_material), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_fixed_sizes),
		cmocka_unit_test(test_no_room), cmocka_unit_test(test_without_mgp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
