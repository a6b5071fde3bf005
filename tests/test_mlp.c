/* Quartets as they are shown: the vector of the spec, small ones of our own, and damaged ones. */
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

#include "build_mlp.h"
#include "bytes.h"
#include "mlp.h"
#include "opened.h"
#include "texts.h"

extern const struct format fmt_mlp;

#define OWN(k) (DOC_OWN + (k))

/* ---- opening ---- */

static struct opened open_parts(const struct buf part[BUILD_PARTS])
{
	const struct buf *const member[MEMBERS_MOST] = {
		part[BUILD_MMP].p ? &part[BUILD_MMP] : NULL, part[BUILD_MGP].p ? &part[BUILD_MGP] : NULL,
		part[BUILD_SCP].p ? &part[BUILD_SCP] : NULL
	};

	return open_members(&fmt_mlp, &part[BUILD_MLP], member);
}

static void free_parts(struct buf part[BUILD_PARTS])
{
	for (unsigned i = 0; i < BUILD_PARTS; i++)
		buf_free(&part[i]);
}

static char *rows_text(struct object *o, uint32_t mesh)
{
	struct source *src;
	struct err e;
	char *text;

	if (o->format->model->file(o, MLP_OWN_ROWS, mesh, &src, &e))
		fail_msg("%s", e.text);
	text = calloc(1, src->size + 1);
	assert_non_null(text);
	assert_int_equal(src_pread(src, text, src->size, 0), 0);
	src_put(src);
	return text;
}

static void is_text(char *text, const char *want)
{
	assert_string_equal(text, want);
	free(text);
}

static void put_hex(struct buf *out, const char *hex)
{
	for (; *hex; hex++) {
		unsigned byte;

		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		put8(out, byte);
		hex++;
	}
}

/* ---- the vector of spec/ps3-pak.md 8.1 ---- */

static const char golden_mlp[] =
	"fafa0003 00000000 001c0000 00000000 00000001 00000040 0000001c 00c0ffee 00000000 00000000 00000000 00000180 "
	"0000003c 00000024 00000000 00000000 baba0031 ffffffff 00c0ffff ffffffff 3f800000 00000000 00000000 00000000 "
	"00000000 3f800000 00000000 00000000 00000000 00000000 3f800000 00000000 00000000 00000000 00000000 3f800000 "
	"3f000000 3f800000 00000000 3fa00000 00000000 00000000 00000000 3f800000 3f800000 40000000 00000000 3f800000 "
	"00c0ffee ffffffff ffffffff 00000000 00000120 00000138 00000150 ffffffff 000000c0 00000001 00000001 00000000 "
	"00000000 00000000 00000000 00000000 3f000000 3f800000 00000000 3fa00000 00000000 00000000 00000000 00000000 "
	"00000000 00000006 00000000 ffffffff 00000000 0badf00d 00010000 00000000 00000000 00000000 00000000 00000000 "
	"00000000 00000000 00000000 00000000 00000003 00000003 00000010 00000000 00000000 00000030 00000003 00000003 "
	"0000000c 00000000 00000000 00000024 00000006 00000005 00000030 0000000c 00000001 00000000 00000000 00000000 "
	"00000000 00000000 00000000 00000000";
static const char golden_mmp[] =
	"00000000 00000000 00000000 7fc00000 3f800000 00000000 00000000 7fc00000 00000000 40000000 00000000 7fc00000 "
	"00000001 00020000 00020001 00000000";
static const char golden_mgp[] = "3c003800 00000000 ffffffff 3c003800 00000000 ffffffff 3c003800 00000000 ffffffff "
				 "00000000 00000000 00000000";

static void test_golden(void **state)
{
	struct buf part[BUILD_PARTS] = { { 0 } };
	struct opened k;

	(void)state;
	put_hex(&part[BUILD_MLP], golden_mlp);
	put_hex(&part[BUILD_MMP], golden_mmp);
	put_hex(&part[BUILD_MGP], golden_mgp);
	assert_int_equal(part[BUILD_MLP].len, 0x1c0);
	assert_int_equal(part[BUILD_MMP].len, 0x40);
	assert_int_equal(part[BUILD_MGP].len, 0x30);
	k = open_parts(part);
	sound(k.o);
	doc_is(k.o, DOC_HEADER, 0,
	       "# modelfs ps3q 1\n"
	       "unknown_04: 0x00000000\n"
	       "load_flags: 0x0000\n"
	       "unknown_0c: 0x00000000\n"
	       "mesh_count: 1  # derived\n"
	       "data_base: 64  # derived\n"
	       "normals: x11y11z10n  # derived\n"
	       "meshes:  # derived; id, kind, vertices, triangles, submeshes\n"
	       "- [0x00c0ffee, rigid, 3, 2, 1]\n");
	doc_is(k.o, OWN(MLP_OWN_MATERIALS), 0, "- id: 0x0badf00d\n  used_by: [[0, 0]]  # derived\n");
	doc_is(k.o, DOC_MESH, 0,
	       "id: 0x00c0ffee  # derived\n"
	       "kind: rigid  # derived\n"
	       "metadata_offset: 0  # derived\n"
	       "mmp_offset: 0  # derived\n"
	       "mgp_offset: 0  # derived\n"
	       "metadata_size: 384  # derived\n"
	       "mmp_size: 60  # derived\n"
	       "mgp_size: 36  # derived\n"
	       "unknown_04: 0xffffffff\n"
	       "load_flags: 0xffff\n"
	       "unknown_0c: 0xffffffff\n"
	       "local_matrix: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]\n"
	       "bounding_sphere: [0.5, 1.0, 0.0, 1.25]\n"
	       "aabb_min: [0.0, 0.0, 0.0, 1.0]\n"
	       "aabb_max: [1.0, 2.0, 0.0, 1.0]\n"
	       "unknown_84: 0xffffffff\n"
	       "unknown_88: 0xffffffff\n"
	       "vertex_format_mask: 0x00000000\n"
	       "secondary_count: 1\n"
	       "runtime_buffers: [0x00000000, 0x00000000]\n"
	       "flags: 0x00000000\n"
	       "unknown_b8: \"0000000000000000\"\n"
	       "vertex_count: 3  # derived\n"
	       "second_count: 3\n"
	       "index_count: 6  # derived\n"
	       "stride: 12  # derived\n"
	       "submeshes:\n"
	       "- bounding_sphere: [0.5, 1.0, 0.0, 1.25]\n"
	       "  unknown_10: \"00000000000000000000000000000000\"\n"
	       "  first_index: 0  # derived\n"
	       "  index_count: 6  # derived\n"
	       "  base_vertex: 0  # derived\n"
	       "  unknown_2c: 0xffffffff\n"
	       "  unknown_30: 0x00000000\n"
	       "  material_id: 0x0badf00d\n"
	       "  uv_selectors: [0, 1, 0, 0]\n"
	       "  unknown_3c: \"000000000000000000000000000000000000000000000000000000000000000000000000\"\n");
	is_text(named_obj_text(k.o, 0),
		"mtllib 0.mtl\no mesh_0\nv 0 0 0\nv 1 0 0\nv 0 2 0\nvn 0 0 0.99807733\nvn 0 0 0.99807733\n"
		"vn 0 0 0.99807733\ng group_0\nusemtl mat_0badf00d\nf 1//1 2//2 3//3\nf 1//1 3//3 2//2\n");
	is_text(rows_text(k.o, 0),
		"vertex,normal,mgp\n0,7fc00000,3c00380000000000ffffffff\n1,7fc00000,3c00380000000000ffffffff\n"
		"2,7fc00000,3c00380000000000ffffffff\n");
	close_opened(&k);
	free_parts(part);
}

/* ---- small ones ---- */

static void test_three(void **state)
{
	struct buf part[BUILD_PARTS];
	struct build_mlp b;
	struct opened k;

	(void)state;
	build_three(&b, part);
	setb32(&part[BUILD_MMP], 4, 0x80000000);       /* -0 */
	setb32(&part[BUILD_MMP], 0x1c, 0x7fc003ff);    /* a normal with x 1023, too long */
	k = open_parts(part);
	sound(k.o);
	doc_is(k.o, DOC_HEADER, 0,
	       "# modelfs ps3q 1\nunknown_04: 0x00000000\nload_flags: 0x0000\nunknown_0c: 0x00001234\n"
	       "mesh_count: 3  # derived\ndata_base: 112  # derived\nnormals: unknown  # derived\n"
	       "meshes:  # derived; id, kind, vertices, triangles, submeshes\n"
	       "- [0x11111111, rigid, 4, 4, 2]\n- [0x22222222, rigid, 3, 1, 1]\n- [0x33333333, rigid, 3, 1, 1]\n");
	doc_is(k.o, OWN(MLP_OWN_MATERIALS), 0,
	       "- id: 0x000000aa\n  used_by: [[0, 0], [1, 0]]  # derived\n"
	       "- id: 0x000000bb\n  used_by: [[0, 1]]  # derived\n- id: 0x000000cc\n  used_by: [[2, 0]]  # derived\n");
	is_text(named_obj_text(k.o, 0),
		"mtllib 0.mtl\no mesh_0\nv 0 -0 0\nv 1 0.5 -1\nv 2 1 -2\nv 3 1.5 -3\ng group_0\n"
		"usemtl mat_000000aa\nf 1 2 3\nf 1 3 4\ng group_1\nusemtl mat_000000bb\nf 4 3 2\n");
	is_text(rows_text(k.o, 0),
		"vertex,normal,mgp\n0,7fc00000,00010203\n1,7fc003ff,10111213\n2,7fc00000,20212223\n"
		"3,7fc00000,30313233\n");
	is_text(rows_text(k.o, 1), "vertex,normal,mgp\n0,7fc00000,\n1,7fc00000,\n2,7fc00000,\n");
	is_text(named_obj_text(k.o, 2),
		"mtllib 2.mtl\no mesh_2\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\ng group_0\nusemtl mat_000000cc\nf 1 2 3\n");
	close_opened(&k);
	free_parts(part);
}

static void test_stride(void **state)
{
	struct buf part[BUILD_PARTS];
	struct build_mlp b;
	struct opened k;
	char *text;

	(void)state;
	build_three(&b, part);
	k = open_parts(part);
	text = text_of(k.o, DOC_MESH, 1);
	assert_non_null(strstr(text, "\nmgp_size: 0  # derived\n"));
	assert_non_null(strstr(text, "\nstride: null  # derived\n"));
	assert_non_null(strstr(text, "\nunknown_84: 0xcdcdcdcd\n"));
	assert_non_null(strstr(text, "\nunknown_b8: 00ff00cd01020304\n"));
	assert_non_null(strstr(text, "\n  unknown_10: 000102030405060708090a0b0c0d0e0f\n"));
	free(text);
	close_opened(&k);
	free_parts(part);
}

/* A skinned mesh has its records and its bytes. */
static void test_skinned(void **state)
{
	static const uint16_t three[] = { 0, 9, 2 };
	struct buf part[BUILD_PARTS];
	struct build_mlp b = { 0 };
	struct opened k;
	char *text;

	(void)state;
	build_mlp_mesh(&b, &(struct build_mlp_mesh){ 5, 3, 3, 8, three, 1, { { 0, 3, 0xcc } }, true, false });
	build_mlp(&b, part);
	k = open_parts(part);
	sound(k.o);
	assert_false(object_has(k.o, PART_MESH, 0));
	assert_false(fmt_mlp.own[MLP_OWN_ROWS].there(k.o, 0));
	text = text_of(k.o, DOC_MESH, 0);
	assert_non_null(strstr(text, "\nkind: skinned  # derived\n"));
	assert_non_null(strstr(text, "\nflags: 0x00000001\n"));
	free(text);
	text = text_of(k.o, DOC_HEADER, 0);
	assert_non_null(strstr(text, "\n- [0x00000005, skinned, 3, 1, 1]\n"));
	free(text);
	close_opened(&k);
	free_parts(part);
}

static void test_chunks(void **state)
{
	static const struct chunk want[] = {
		{ 0x70, 0x1c8, 0, "mesh-0/metadata", 0 }, { 0, 0x58, 0, "mesh-0/mmp", 1 },
		{ 0, 0x10, 0, "mesh-0/mgp", 2 },
		{ 0x240, 0x150, 0, "mesh-1/metadata", 0 }, { 0x60, 0x36, 0, "mesh-1/mmp", 1 }, { 0, 0, 0, "", 2 },
		{ 0x390, 0x168, 0, "mesh-2/metadata", 0 }, { 0xa0, 0x36, 0, "mesh-2/mmp", 1 },
		{ 0x10, 0x18, 0, "mesh-2/mgp", 2 },
	};
	struct buf part[BUILD_PARTS];
	struct build_mlp b;
	struct chunk c;
	struct opened k;

	(void)state;
	build_three(&b, part);
	k = open_parts(part);
	for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_true(object_chunk(k.o, i, &c));
		assert_string_equal(c.name, want[i].name);
		assert_int_equal(c.part, want[i].part);
		assert_int_equal(c.at, want[i].at);
		assert_int_equal(c.size, want[i].size);
	}
	assert_false(object_chunk(k.o, ARRAY_LEN(want), &c));
	close_opened(&k);
	free_parts(part);
}

static int note_gap(void *ctx, uint64_t at, uint64_t size)
{
	uint64_t *gap = ctx;

	assert_int_equal(gap[1], 0);
	gap[0] = at;
	gap[1] = size;
	return 0;
}

/* Of the MLP alone: what meshes have in other files says nothing of its bytes. */
static void test_gaps(void **state)
{
	struct buf part[BUILD_PARTS];
	struct build_mlp b;
	struct opened k;
	uint64_t gap[2] = { 0 };

	(void)state;
	build_three(&b, part);
	for (unsigned i = 0; i < 40; i++)
		put8(&part[BUILD_MLP], i);
	k = open_parts(part);
	assert_int_equal(object_gaps(k.o, note_gap, gap, NULL), 0);
	assert_int_equal(gap[0], 0x4f8);
	assert_int_equal(gap[1], 40);
	close_opened(&k);
	/* The metadata of mesh 0 is nobody's once its record leads elsewhere. */
	setb32(&part[BUILD_MLP], 0x20, 0x10000);
	part[BUILD_MLP].len = 0x4f8;
	gap[1] = 0;
	k = open_parts(part);
	assert_int_equal(object_gaps(k.o, note_gap, gap, NULL), 0);
	assert_int_equal(gap[0], 0x70);
	assert_int_equal(gap[1], 0x1d0);
	close_opened(&k);
	free_parts(part);
}

static void test_scene(void **state)
{
	struct buf part[BUILD_PARTS];
	struct build_mlp b;
	struct opened k;

	(void)state;
	build_three(&b, part);
	put_hex(&part[BUILD_SCP], "22222222 00111111 11002222 22224444 33333333 22222222 1111");
	k = open_parts(part);
	sound(k.o);
	doc_is(k.o, OWN(MLP_OWN_SCENE), 0,
	       "- mesh: 0\n  id: 0x11111111\n  offsets: []\n"
	       "- mesh: 1\n  id: 0x22222222\n  offsets: [0x00000000, 0x00000014]\n"
	       "- mesh: 2\n  id: 0x33333333\n  offsets: [0x00000010]\n");
	close_opened(&k);
	free_parts(part);
}

/* ---- normals ---- */

static double reread(float v, bool six)
{
	char text[64];
	size_t n = six ? (size_t)snprintf(text, sizeof text, "%.6f", (double)v) : num_f32(text, v, false);
	float out = NAN;

	assert_true(num_parse_f32(text, n, &out));
	return out;
}

static void normal_is(uint32_t word)
{
	float v[3];

	mlp_normal(word, v);
	for (unsigned six = 0; six < 2; six++) {
		double n[3] = { reread(v[0], six), reread(v[1], six), reread(v[2], six) };

		if (mlp_normal_word(n) != word)
			fail_msg("%08x is %08x", word, mlp_normal_word(n));
	}
}

/* Components do not depend on each other: every value of each one stands for all words. */
static void test_all_normals(void **state)
{
	float v[3];

	(void)state;
	for (uint32_t i = 0; i < 2048; i++) {
		normal_is(i);
		normal_is(i << 11);
		normal_is(i >> 1 << 22);
		normal_is(i | i << 11 | i >> 1 << 22);
		normal_is((i ^ 0x5a5) | (2047 - i) << 11 | (i * 7 & 1023) << 22);
	}
	mlp_normal(0x7fc00000, v);
	assert_true(fabsf(v[2] - 0.998077f) < 1e-6f && v[0] == 0 && v[1] == 0);
	mlp_normal(0x00000400, v);                     /* -1024 * 32 / 32767 */
	assert_true(fabsf(v[0] + 1.0000305f) < 1e-7f);
	assert_int_equal(mlp_normal_word((const double[]){ 1, -1, 5 }), 0x3ff | 0x400u << 11 | 0x1ffu << 22);
}

/* z alone: 0.95 of 1 is 486.4 steps, 1.05 more than there are; x and y together reach more. */
static void test_likely(void **state)
{
	(void)state;
	assert_true(mlp_normal_likely(487u << 22));
	assert_false(mlp_normal_likely(486u << 22));
	assert_true(mlp_normal_likely(511u << 22));
	assert_true(mlp_normal_likely(760 | 760u << 11));      /* 1.0497 */
	assert_false(mlp_normal_likely(761 | 761u << 11));     /* 1.0510 */
	assert_false(mlp_normal_likely(0));
}

/* 99 of 100 are enough, 98 are not. */
static void test_acceptance(void **state)
{
	static uint16_t three[3] = { 0, 1, 2 };
	struct buf part[BUILD_PARTS];
	struct opened k;

	(void)state;
	for (unsigned bad = 0; bad < 3; bad++) {
		struct build_mlp b = { 0 };

		build_mlp_mesh(&b, &(struct build_mlp_mesh){ 5, 60, 3, 0, three, 1, { { 0, 3, 1 } }, false, false });
		build_mlp_mesh(&b, &(struct build_mlp_mesh){ 6, 40, 3, 0, three, 1, { { 0, 3, 1 } }, false, false });
		build_mlp_mesh(&b, &(struct build_mlp_mesh){ 7, 40, 3, 0, three, 1, { { 0, 3, 1 } }, true, false });
		build_mlp(&b, part);
		for (unsigned i = 0; i < 40; i++)              /* of a skinned mesh: they do not count */
			setb32(&part[BUILD_MMP], b.record[2].mmp + 16 * i + 12, 0);
		for (unsigned i = 0; i < bad; i++)
			setb32(&part[BUILD_MMP], b.record[i].mmp + 12, 0);
		k = open_parts(part);
		assert_int_equal(((const struct mlp *)k.o->priv)->normals, bad < 2);
		close_opened(&k);
		free_parts(part);
	}
}

/* ---- damage ---- */

static struct buf three[BUILD_PARTS];
static struct build_mlp three_b;

struct damage { unsigned part; uint32_t at, word; const char *why; };

static struct opened damaged(const struct damage *d)
{
	struct buf part[BUILD_PARTS] = { { 0 } };
	struct opened k;

	for (unsigned i = 0; i < BUILD_PARTS; i++)
		buf_add(&part[i], three[i].p, three[i].len);
	setb32(&part[d->part], d->at, d->word);
	k = open_parts(part);
	free_parts(part);
	return k;
}

static void test_table_errors(void **state)
{
	static const struct damage cases[] = {
		{ 0, 0x00, 0xfafa0004, "magic at 0x0: 0xfafa0004, expected 0xfafa0003" },
		{ 0, 0x08, 0x001d0000, "header size at 0x8: 29, expected 28" },
		{ 0, 0x10, 0x12492493,
		  "mesh count at 0x10: the table of 306783379 meshes would end at 0x200000030, past the 1272 bytes of "
		  "the file" },
		{ 0, 0x14, 0x6f, "data base at 0x14: 0x6f, expected 0x70 to 0x4f8" },
		{ 0, 0x14, 0x4f9, "data base at 0x14: 0x4f9, expected 0x70 to 0x4f8" },
		{ 0, 0x18, 0xffffffe8, "table offset at 0x18: 0xffffffe8, expected 0x1c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct opened k = damaged(&cases[i]);

		assert_null(k.o->variant);
		assert_string_equal(object_find_fault(k.o, PART_OBJECT, 0)->text, cases[i].why);
		close_opened(&k);
	}
}

static void test_missing_members(void **state)
{
	struct buf part[BUILD_PARTS];
	struct opened k;

	(void)state;
	memcpy(part, three, sizeof part);
	part[BUILD_MGP] = (struct buf){ 0 };
	k = open_parts(part);
	assert_string_equal(object_find_fault(k.o, PART_OBJECT, 0)->text,
			    "table at 0x34: mesh 0 has 16 bytes of an MGP, but there is no .mgp of the same name "
			    "beside it");
	close_opened(&k);
	part[BUILD_MMP] = (struct buf){ 0 };
	k = open_parts(part);
	assert_string_equal(object_find_fault(k.o, PART_OBJECT, 0)->text,
			    "there is no .mmp of the same name beside it");
	close_opened(&k);
}

/* Metadata of mesh 0 is at 0x70: submeshes at 0x130 and 0x190; descriptors at 0x1f0, 0x208, 0x220. */
static void test_broken(void **state)
{
	static const struct damage cases[] = {
		{ 0, 0x20, 0xfffffff0, "metadata at 0x1c: 0x1c8 bytes at 0x100000060 end past the 0x4f8 of the file" },
		{ 0, 0x24, 0xffffffe0, "MMP slice at 0x1c: 0x58 bytes at 0xffffffe0 end past the 0xe0 of the file" },
		{ 0, 0x28, 0x21, "MGP slice at 0x1c: 0x10 bytes at 0x21 end past the 0x30 of the file" },
		{ 0, 0x2c, 0x11f, "metadata at 0x2c: 287 bytes, expected 288 at least" },
		{ 0, 0x34, 0, "MGP slice at 0x208: its 0 bytes are not 4 rows of 4 at 0x0" },
		{ 0, 0x70, 0xbaba0032, "magic at 0x70: 0xbaba0032, expected 0xbaba0031" },
		{ 0, 0x78, 0x00c1ffff, "header size at 0x78: 193, expected 192" },
		{ 0, 0xf0, 0x11111112, "id at 0xf0: 0x11111112, the table says 0x11111111" },
		{ 0, 0x100, 0x1b1,
		  "descriptor of the vertices at 0x70: at 0x1b1, outside the 0x1c8 bytes of the metadata" },
		{ 0, 0x104, 0xffffffff, "MGP slice at 0x34: 16 bytes, but no descriptor" },
		{ 0, 0x108, 0xffffffff,
		  "descriptor of the indices at 0x70: at 0xffffffff, outside the 0x1c8 bytes of the metadata" },
		{ 0, 0x110, 0xc4, "submesh offset at 0x110: 0xc4, expected 0xc0" },
		{ 0, 0x114, 0, "submesh count at 0x114: 0, expected 1 to 2 in 456 bytes" },
		{ 0, 0x114, 3, "submesh count at 0x114: 3, expected 1 to 2 in 456 bytes" },
		{ 0, 0x114, 1, "submeshes at 0x130: they have 6 of 12 indices" },
		{ 0, 0x150, 3, "submesh at 0x150: 0 has 6 indices from 3 on, expected a multiple of 3 from 0 on" },
		{ 0, 0x1b0, 0xfffffffd,
		  "submesh at 0x1b0: 1 has 6 indices from 4294967293 on, expected a multiple of 3 from 6 on" },
		{ 0, 0x1b4, 5, "submesh at 0x1b0: 1 has 5 indices from 6 on, expected a multiple of 3 from 6 on" },
		{ 0, 0x1f0, 0x10000004, "vertices at 0x204: 268435460 of 16 bytes in 64" },
		{ 0, 0x1f8, 12, "stride at 0x1f8: 12, expected 16" },
		{ 0, 0x200, 8, "MMP slice at 0x1f0: its 88 bytes are not 4 vertices at 0x8 and 12 indices at 0x40" },
		{ 0, 0x208, 3, "MGP rows at 0x208: 3 of 4 vertices" },
		{ 0, 0x210, 0, "stride of the MGP rows at 0x210: 0" },
		{ 0, 0x220, 0x8000000c, "indices at 0x22c: 2147483660 of 2 bytes in 24" },
		{ 0, 0x224, 6, "primitive at 0x224: 6, expected 5" },
		{ 0, 0x230, 0, "index type at 0x230: 0, expected 1" },
		{ 1, 0x10, 0x7fc00000, "position at 0x10: 0x7fc00000 is not finite" },
		{ 1, 0x38, 0xff800000, "position at 0x38: 0xff800000 is not finite" },
		{ 1, 0x54, 0x00020004, "index at 0x56: 4 of 4 vertices" },
	};
	char want[200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct opened k = damaged(&cases[i]);
		char *text;

		assert_non_null(k.o->variant);
		assert_non_null(object_find_fault(k.o, PART_MESH, 0));
		snprintf(want, sizeof want, "mesh 0: %s", cases[i].why);
		assert_string_equal(object_find_fault(k.o, PART_MESH, 0)->text, want);
		assert_null(k.o->faults->next);
		assert_true(object_gone(k.o, PART_MESH, 0));
		text = text_of(k.o, DOC_HEADER, 0);
		assert_non_null(strstr(text, "\n- [0x11111111, broken, 0, 0, 0]\n"));
		free(text);
		doc_is(k.o, OWN(MLP_OWN_MATERIALS), 0,
		       "- id: 0x000000aa\n  used_by: [[1, 0]]  # derived\n"
		       "- id: 0x000000cc\n  used_by: [[2, 0]]  # derived\n");
		is_text(named_obj_text(k.o, 1),
			"mtllib 1.mtl\no mesh_1\nv 0 0 0\nv 1 0.5 -1\nv 2 1 -2\nvn 0 0 0.99807733\nvn 0 0 0.99807733\n"
			"vn 0 0 0.99807733\ng group_0\nusemtl mat_000000aa\nf 1//1 2//2 3//3\n");
		close_opened(&k);
	}
}

/* What only a warning would be. */
static void test_tolerated(void **state)
{
	static const struct damage cases[] = {
		{ 0, 0x08, 0x001c0012, "load_flags" }, { 0, 0x80, 0x40000000, "local_matrix" },
		{ 0, 0xd0, 0x42000000, "box" },
		{ 0, 0x78, 0x00c0ffef, "load_flags of the metadata" }, { 0, 0x158, 1, "base_vertex" },
		{ 0, 0x1f4, 99, "second_count" }, { 0, 0x118, 9, "secondary_count" }, { 2, 0x28, 1, "gap in the MGP" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct opened k = damaged(&cases[i]);

		sound(k.o);
		close_opened(&k);
	}
}

/* Many meshes that are one: they are not read as often as they say. */
static void test_folded(void **state)
{
	static const uint16_t corners[] = { 0, 1, 2 };
	struct buf part[BUILD_PARTS], many = { 0 };
	struct build_mlp b = { 0 };
	const uint32_t n = 3000, base = 0x1c + 28 * 3000;
	uint32_t broken = 0;
	struct opened k;

	(void)state;
	build_mlp_mesh(&b, &(struct build_mlp_mesh){ 5, 2000, 3, 0, corners, 1, { { 0, 3, 1 } }, false, false });
	build_mlp(&b, part);
	buf_add(&many, part[BUILD_MLP].p, 0x1c);
	for (uint32_t i = 0; i < n; i++)
		buf_add(&many, part[BUILD_MLP].p + 0x1c, 28);
	buf_add(&many, part[BUILD_MLP].p + b.base, part[BUILD_MLP].len - b.base);
	setb32(&many, 0x10, n);
	setb32(&many, 0x14, base);
	buf_free(&part[BUILD_MLP]);
	part[BUILD_MLP] = many;
	k = open_parts(part);
	assert_non_null(k.o->variant);
	for (uint32_t i = 0; i < n; i++)
		broken += ((const struct mlp *)k.o->priv)->mesh[i].kind == MLP_BROKEN;
	assert_int_equal(broken, n - 6);               /* 4 times the 32016 bytes of the MMP, and 64 KiB */
	assert_non_null(strstr(k.o->faults->text, "lie over each other"));
	close_opened(&k);
	free_parts(part);
}

/* ---- whatever is in it ---- */

static const struct buf *const three_members[MEMBERS_MOST] = { &three[BUILD_MMP], &three[BUILD_MGP] };

static void use_library(const uint8_t *p, size_t n)
{
	const struct buf mlp = { .p = (uint8_t *)(uintptr_t)p, .len = n };
	struct opened k = open_members(&fmt_mlp, &mlp, three_members);

	object_verify(k.o, NULL);
	close_opened(&k);
}

static void use_mmp(const uint8_t *p, size_t n)
{
	const struct buf mmp = { .p = (uint8_t *)(uintptr_t)p, .len = n };
	const struct buf *const members[MEMBERS_MOST] = { &mmp, &three[BUILD_MGP] };
	struct opened k = open_members(&fmt_mlp, &three[BUILD_MLP], members);

	object_verify(k.o, NULL);
	close_opened(&k);
}

static void test_damage(void **state)
{
	(void)state;
	each_cut(&three[BUILD_MLP], use_library);
	each_change(&three[BUILD_MLP], use_library);
	each_cut(&three[BUILD_MMP], use_mmp);
	each_change(&three[BUILD_MMP], use_mmp);
}

static void test_probe(void **state)
{
	(void)state;
	assert_true(bid_for(&fmt_mlp, three[BUILD_MLP].p, three[BUILD_MLP].len) > 90);
	assert_true(bid_for(&fmt_mlp, three[BUILD_MLP].p, 4) > 90);    /* open() says what is missing */
	assert_int_equal(bid_for(&fmt_mlp, three[BUILD_MLP].p, 3), 0);
	assert_int_equal(bid_for(&fmt_mlp, three[BUILD_MMP].p, three[BUILD_MMP].len), 0);
}

static int build(void **state)
{
	(void)state;
	build_three(&three_b, three);
	return 0;
}

static int release(void **state)
{
	(void)state;
	free_parts(three);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden), cmocka_unit_test(test_three), cmocka_unit_test(test_stride),
		cmocka_unit_test(test_skinned), cmocka_unit_test(test_chunks), cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_scene),
		cmocka_unit_test(test_all_normals), cmocka_unit_test(test_likely), cmocka_unit_test(test_acceptance),
		cmocka_unit_test(test_table_errors), cmocka_unit_test(test_missing_members),
		cmocka_unit_test(test_broken), cmocka_unit_test(test_tolerated), cmocka_unit_test(test_folded),
		cmocka_unit_test(test_damage), cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, build, release);
}
