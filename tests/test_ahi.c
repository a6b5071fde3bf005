/* Skeletons of both games: the document, what is kept, damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "opened.h"

extern const struct format fmt_ahi;

/* ---- building ---- */

struct bone {
	int32_t parent, child, sibling, link;
	float scale, rotation, offset;
	uint32_t kind, part;
	char name[8];
};

static const struct bone line[] = {
	{ -1, 1, -1, -1, 1.0f, 0.0f, 0.0f, 1, 0, "NULL" },
	{ 0, 2, 3, -1, 0.5f, 1e-7f, -14.4f, 1, 0, "COG" },
	{ 1, -1, -1, 0, 1.0f, 0.0f, 22.7f, 2, 1, "BD-00\0x" },
	{ 0, -1, -1, -1, 1.0f, 0.0f, 0.25f, 3, 2, "WP \"1\"" },
};

static void four(struct buf *b, float v)
{
	put_float(b, v);
	put_float(b, -v);
	put32(b, 0);
	put_float(b, 1.0f);
}

static void add_bone(struct buf *b, bool mhfu, uint32_t i, const struct bone *bone)
{
	static const uint8_t zeros[0xb8];

	put32(b, 0x40000000 + bone->kind);
	put32(b, 1);
	put32(b, mhfu ? 0x10c : 0x5c);
	put32(b, i);
	put32(b, (uint32_t)bone->parent);
	put32(b, (uint32_t)bone->child);
	put32(b, (uint32_t)bone->sibling);
	four(b, bone->scale);
	four(b, bone->rotation);
	four(b, bone->offset);
	put32(b, (uint32_t)bone->link);
	put32(b, bone->part);
	if (mhfu)
		buf_add(b, zeros, sizeof zeros);
	else
		buf_add(b, bone->name, 8);
}

static struct buf build(bool mhfu, uint32_t parameters, uint32_t bones)
{
	struct buf b = { 0 };

	put32(&b, mhfu ? 0xc0000000 : 0x80000000);
	put32(&b, bones + 1);
	put32(&b, 24 + 4 * parameters + bones * (mhfu ? 0x10c : 0x5c));
	put32(&b, 0);
	put32(&b, parameters);
	put32(&b, 12 + 4 * parameters);
	for (uint32_t i = 0; i < parameters; i++)
		put32(&b, i * 3);
	for (uint32_t i = 0; i < bones; i++)
		add_bone(&b, mhfu, i, &line[i]);
	assert_false(b.bad);
	return b;
}

#define BONE_MHFU(i) (28 + (i) * 0x10cu)               /* where bone i lies with one parameter */
#define BONE_MHP3RD(i) (28 + (i) * 0x5cu)

/* ---- an opened skeleton ---- */

static bool says(struct opened *s, const char *what)
{
	char *text = text_of(s->o, DOC_SKELETON, 0);
	bool found = strstr(text, what);

	free(text);
	return found;
}

static void one_fault(struct buf *b, unsigned part, uint32_t index, uint32_t bones, const char *want)
{
	struct opened s = open_buf(&fmt_ahi, b);
	struct err e;

	assert_non_null(s.o->faults);
	assert_null(s.o->faults->next);
	assert_int_equal(s.o->faults->part, part);
	assert_int_equal(s.o->faults->index, index);
	assert_string_equal(s.o->faults->text, want);
	assert_int_equal(object_count(s.o, PART_BONE), bones);
	if (s.o->variant)
		assert_int_equal(object_verify(s.o, &e), -EBADMSG);
	close_opened(&s);
}

/* ---- bones at rest ---- */

static void get_bones(struct opened *s, struct geo_skeleton *out, struct arena *a)
{
	struct err e = { 0 };

	*out = (struct geo_skeleton){ 0 };
	if (fmt_ahi.model->skeleton(s->o, out, a, &e) || geo_settle(out, a, &e))
		fail_msg("%s", e.text);
}

/* Places are sums of offsets; a scale and an angle of 1e-7 change nothing. A repeated name gets a number. */
static void test_rest(void **state)
{
	struct buf b = build(false, 1, 4);
	struct opened s;
	struct geo_skeleton v;
	struct arena a = { 0 };
	const float want[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -(22.75f - 14.5f), 22.75f - 14.5f, 0, 1 };

	(void)state;
	put_le32(b.p + BONE_MHP3RD(1) + 0x3c, f32_bits(-14.5f));
	put_le32(b.p + BONE_MHP3RD(1) + 0x40, f32_bits(14.5f));
	put_le32(b.p + BONE_MHP3RD(2) + 0x3c, f32_bits(22.75f));
	put_le32(b.p + BONE_MHP3RD(2) + 0x40, f32_bits(-22.75f));
	memcpy(b.p + BONE_MHP3RD(2) + 0x54, "COG\0\0\0\0", 8);
	s = open_buf(&fmt_ahi, &b);
	get_bones(&s, &v, &a);
	assert_int_equal(v.n, 4);
	assert_string_equal(v.joint[0].name, "NULL");
	assert_string_equal(v.joint[1].name, "COG");
	assert_string_equal(v.joint[2].name, "COG~2");
	assert_string_equal(v.joint[3].name, "WP__1_");
	assert_int_equal(v.joint[2].parent, 1);
	assert_memory_equal(v.joint[2].inverse, want, sizeof want);
	assert_true(v.joint[1].scale[0] == 1 && v.joint[1].turn[3] == 1 && v.joint[1].turn[0] == 0);
	arena_free(&a);
	close_opened(&s);
}

/* A quarter turn around z of the root takes its child from x to y; x is turned before z. */
static void test_turned(void **state)
{
	struct buf b = build(true, 1, 2);
	struct opened s;
	struct geo_skeleton v;
	struct arena a = { 0 };
	const float half = 0.70710678f, angle = 1.57079633f;

	(void)state;
	put_le32(b.p + BONE_MHFU(0) + 0x34, f32_bits(angle));
	put_le32(b.p + BONE_MHFU(1) + 0x3c, f32_bits(10));
	put_le32(b.p + BONE_MHFU(1) + 0x40, 0);
	put_le32(b.p + BONE_MHFU(1) + 0x2c, f32_bits(angle));
	put_le32(b.p + BONE_MHFU(1) + 0x34, f32_bits(angle));
	s = open_buf(&fmt_ahi, &b);
	get_bones(&s, &v, &a);
	assert_string_equal(v.joint[1].name, "bone_1");
	assert_float_equal(v.joint[0].turn[2], half, 1e-6);
	assert_float_equal(v.joint[0].turn[3], half, 1e-6);
	/* z after x: half and half of both, and y too. */
	for (unsigned k = 0; k < 4; k++)
		assert_float_equal(v.joint[1].turn[k], 0.5f, 1e-6);
	/* Its place is 0 10 0; by the root and its own turns its axes are -x, z, y. */
	assert_float_equal(v.joint[1].inverse[4 * 1 + 0], 0, 1e-6);
	assert_float_equal(v.joint[1].inverse[0], -1, 1e-6);
	assert_float_equal(v.joint[1].inverse[4 * 2 + 1], 1, 1e-6);
	assert_float_equal(v.joint[1].inverse[4 * 1 + 2], 1, 1e-6);
	assert_float_equal(v.joint[1].inverse[12 + 2], -10, 1e-5);
	arena_free(&a);
	close_opened(&s);
}

/* ---- documents ---- */

static void test_mhfu(void **state)
{
	struct buf b = build(true, 2, 2);
	struct opened s = open_buf(&fmt_ahi, &b);

	(void)state;
	sound(s.o);
	assert_string_equal(s.o->variant->version, "mhfu");
	assert_int_equal(object_section(s.o, 0).size, 32);
	assert_int_equal(object_section(s.o, 1).at, 32);
	assert_int_equal(object_section(s.o, 1).size, 2 * 0x10c);
	doc_is(s.o, DOC_SKELETON, 0,
	       "# modelfs ahi mhfu\n"
	       "kind: mhfu  # derived\n"
	       "parameters: [0, 3]\n"
	       "bones:\n"
	       "- name: bone_0  # derived\n"
	       "  parent: null\n"
	       "  scale: [1.0, -1.0, 0.0, 1.0]\n"
	       "  rotation: [0.0, -0.0, 0.0, 1.0]\n"
	       "  offset: [0.0, -0.0, 0.0, 1.0]\n"
	       "  part: 0\n"
	       "  link: null\n"
	       "  index: 0  # derived\n"
	       "  tag: 0x40000001\n"
	       "  unknown_04: 1\n"
	       "- name: bone_1  # derived\n"
	       "  parent: 0\n"
	       "  scale: [0.5, -0.5, 0.0, 1.0]\n"
	       "  rotation: [1.0e-07, -1.0e-07, 0.0, 1.0]\n"
	       "  offset: [-14.4, 14.4, 0.0, 1.0]\n"
	       "  part: 0\n"
	       "  link: null\n"
	       "  index: 1  # derived\n"
	       "  tag: 0x40000001\n"
	       "  unknown_04: 1\n");
	close_opened(&s);
}

static void test_mhp3rd(void **state)
{
	struct buf b = build(false, 1, 4);
	struct opened s = open_buf(&fmt_ahi, &b);

	(void)state;
	sound(s.o);
	assert_string_equal(s.o->variant->version, "mhp3rd");
	assert_int_equal(object_section(s.o, 1).size, 4 * 0x5c);
	assert_true(says(&s, "# modelfs ahi mhp3rd\nkind: mhp3rd  # derived\nparameters: [0]\n"
		"bones:\n- name: \"NULL\"\n"));
	assert_true(says(&s, "\n- name: \"COG\"\n  parent: 0\n"));
	/* what is left over behind the end of a name is no part of it, but stays in the bytes */
	assert_true(says(&s, "\n- name: \"BD-00\"\n  parent: 1\n"));
	assert_true(says(&s, "  part: 1\n  link: 0\n"));
	assert_true(says(&s, "\n- name: \"WP \\\"1\\\"\"\n"));
	assert_true(says(&s, "  tag: 0x40000003\n  unknown_04: 1\n"));
	close_opened(&s);
}

static void test_kept(void **state)
{
	struct buf b = build(true, 1, 2);
	struct opened s;

	(void)state;
	put_le32(b.p + 0x10, 9);                       /* the section's size tells how many parameters there are */
	put_le32(b.p + BONE_MHFU(1) + 0x3c, 0x7fc00001);
	b.p[BONE_MHFU(1) + 0x54] = 0xab;
	s = open_buf(&fmt_ahi, &b);
	sound(s.o);
	assert_true(says(&s, "parameters: [0]\n"));
	assert_true(says(&s, "offset: [0x7fc00001, 14.4, 0.0, 1.0]\n"));
	assert_true(says(&s, "  zero_54: ab000000"));
	close_opened(&s);

	b = build(false, 1, 1);
	memcpy(b.p + BONE_MHP3RD(0) + 0x54, "\x82\xa0\0\0\0\0\0\0", 8);
	s = open_buf(&fmt_ahi, &b);
	sound(s.o);
	assert_true(says(&s, "- name: [130, 160, 0, 0, 0, 0, 0, 0]\n"));
	close_opened(&s);
}

static void test_no_bones(void **state)
{
	struct buf b = build(true, 0, 0);
	struct opened s = open_buf(&fmt_ahi, &b);

	(void)state;
	sound(s.o);
	assert_int_equal(object_section(s.o, 1).size, 0);
	doc_is(s.o, DOC_SKELETON, 0, "# modelfs ahi mhfu\nkind: mhfu  # derived\nparameters: []\nbones: []\n");
	close_opened(&s);
}

/* ---- damage ---- */

static void changed(bool mhfu, uint32_t at, uint32_t value, unsigned part, uint32_t index, uint32_t bones,
		    const char *want)
{
	struct buf b = build(mhfu, 1, 4);

	put_le32(b.p + at, value);
	one_fault(&b, part, index, bones, want);
}

static void test_damaged_header(void **state)
{
	struct buf b = build(true, 1, 4);

	(void)state;
	changed(true, 0x04, 0, PART_OBJECT, 0, 0,
		"skeleton header at 0x4: 0 sections, expected at least 1, the parameter section");
	changed(true, 0x08, 0xfffffff0, PART_OBJECT, 0, 4,
		"skeleton header at 0x8: size 4294967280, but the last of 4 bones ends at 1100");
	changed(true, 0x14, 0xfffffff0, PART_OBJECT, 0, 0,
		"parameter section at 0xc: 4294967280 bytes, expected a multiple of 4 from 12 to 1088");
	changed(true, 0x14, 18, PART_OBJECT, 0, 0,
		"parameter section at 0xc: 18 bytes, expected a multiple of 4 from 12 to 1088");
	changed(true, 0x00, 0x12345678, PART_OBJECT, 0, 0,
		"skeleton header at 0x0: magic 0x12345678, expected 0xc0000000 or 0x80000000");
	b.len = 20;
	one_fault(&b, PART_OBJECT, 0, 0, "skeleton header at 0x0: 24 bytes end past the 20 of the entry");
}

static void test_lost_bones(void **state)
{
	struct buf b = build(false, 1, 4);

	(void)state;
	changed(true, 0x04, 0xfffffff0, PART_BONE, 4, 4,
		"bone 4 at 0x44c: 268 bytes end past the 1100 of the entry; "
		"of 4294967279 bones this and the later ones are missing");
	changed(true, BONE_MHFU(1) + 8, 0, PART_BONE, 1, 1, "bone 1 at 0x128: section of 0 bytes, expected 268; "
		"of 4 bones this and the later ones cannot be found");
	changed(false, BONE_MHP3RD(3) + 8, 0x10c, PART_BONE, 3, 3,
		"bone 3 at 0x130: section of 268 bytes, expected 92; "
		"of 4 bones this and the later ones cannot be found");
	b.len = BONE_MHP3RD(2) + 9;
	one_fault(&b, PART_BONE, 2, 2, "bone 2 at 0xd4: 92 bytes end past the 221 of the entry; "
		  "of 4 bones this and the later ones are missing");
}

/* Shown as it is stored, with a line. */
static void test_wrong_links(void **state)
{
	struct buf b = build(true, 1, 4);
	struct opened s;

	(void)state;
	changed(true, BONE_MHFU(2) + 0x10, 2, PART_BONE, 2, 4,
		"bone 2 at 0x234: parent 2, expected -1 or an earlier bone");
	changed(true, BONE_MHFU(1) + 0x10, 0xfffffffe, PART_BONE, 1, 4,
		"bone 1 at 0x128: parent -2, expected -1 or an earlier bone");
	changed(true, BONE_MHFU(1) + 0x0c, 3, PART_BONE, 1, 4, "bone 1 at 0x128: index 3, expected 1");
	changed(true, BONE_MHFU(0), 1, PART_BONE, 0, 4,
		"bone 0 at 0x1c: tag 0x00000001, expected 0x40000001 to 0x40000003");
	put_le32(b.p + BONE_MHFU(1) + 0x10, 1000000);
	s = open_buf(&fmt_ahi, &b);
	assert_true(says(&s, "- name: bone_1  # derived\n  parent: 1000000\n"));
	assert_true(says(&s, "- name: bone_3  # derived\n"));
	close_opened(&s);
}

/* A bone in every 92 bytes, each with something wrong. */
static void test_many_bones(void **state)
{
	struct buf b = build(false, 0, 0);
	struct bone bad = line[0];
	struct opened s;
	unsigned lines = 0;

	(void)state;
	bad.parent = 77777;
	put_le32(b.p + 4, 70001);
	for (uint32_t i = 0; i < 70000; i++)
		add_bone(&b, false, i, &bad);
	s = open_buf(&fmt_ahi, &b);
	for (const struct fault *f = s.o->faults; f; f = f->next)
		lines++;
	assert_int_equal(lines, 257);
	assert_int_equal(object_count(s.o, PART_BONE), 65536);
	assert_true(s.o->arena.used < 4096);
	close_opened(&s);
}

/* ---- detection ---- */

static void test_probe(void **state)
{
	static const uint8_t floats[28] = { 0, 0, 0, 0xc0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x80 };
	struct buf b = build(true, 1, 4);

	(void)state;
	assert_int_equal(bid_for(&fmt_ahi, b.p, b.len), 95);
	assert_int_equal(bid_for(&fmt_ahi, b.p, b.len - 1), 60);     /* cut: its first bone tells */
	assert_int_equal(bid_for(&fmt_ahi, b.p, 32), 60);
	assert_int_equal(bid_for(&fmt_ahi, b.p, 28), 0);
	assert_int_equal(bid_for(&fmt_ahi, b.p, 20), 0);
	put_le32(b.p + 4, 0);
	assert_int_equal(bid_for(&fmt_ahi, b.p, b.len), 60);
	put_le32(b.p, 0xc0000001);
	assert_int_equal(bid_for(&fmt_ahi, b.p, b.len), 0);
	assert_int_equal(bid_for(&fmt_ahi, floats, sizeof floats), 0);
	buf_free(&b);
}

/* ---- hostile bytes ---- */

static void use_everything(const uint8_t *p, size_t n)
{
	struct opened s = open_bytes(&fmt_ahi, p, n);
	struct err e = { 0 };

	if (s.o->variant)
		free(text_of(s.o, DOC_SKELETON, 0));
	if (object_verify(s.o, &e))
		assert_true(e.text[0]);
	close_opened(&s);
	bid_for(&fmt_ahi, p, n);
}

static void test_cut_anywhere(void **state)
{
	(void)state;
	for (int mhfu = 0; mhfu < 2; mhfu++) {
		struct buf b = build(mhfu, 2, 2);

		each_cut(&b, use_everything);
		buf_free(&b);
	}
}

static void test_any_byte_changed(void **state)
{
	(void)state;
	for (int mhfu = 0; mhfu < 2; mhfu++) {
		struct buf b = build(mhfu, 2, 2);

		each_change(&b, use_everything);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_turned),
		cmocka_unit_test(test_mhfu), cmocka_unit_test(test_mhp3rd), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_no_bones), cmocka_unit_test(test_damaged_header),
		cmocka_unit_test(test_lost_bones), cmocka_unit_test(test_wrong_links),
		cmocka_unit_test(test_many_bones),
		cmocka_unit_test(test_probe), cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_any_byte_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
