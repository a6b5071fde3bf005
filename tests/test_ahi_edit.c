/* Skeletons that are written to: values, names, parents and the links that follow them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_ahi;

struct bone { int32_t parent, child, sibling; char name[8]; };

/*   0 - 1 - 2
 *     \   \ 4
 *       3        5 is a root of its own */
static const struct bone tree[] = {
	{ -1, 1, 5, "NULL" }, { 0, 2, 3, "COG" }, { 1, -1, 4, "BD-00\0x" }, { 0, -1, -1, "BD-01" },
	{ 1, -1, -1, "BD-02" }, { -1, -1, -1, "WP-00" },
};

#define BONES ARRAY_LEN(tree)
#define MHFU(i) (28 + (i) * 0x10cu)                    /* where bone i lies */
#define MHP3RD(i) (28 + (i) * 0x5cu)

/* ---- an edited skeleton ---- */

static void add_bone(struct buf *b, bool mhfu, uint32_t i, const struct bone *bone)
{
	put32(b, 0x40000001);
	put32(b, 1);
	put32(b, mhfu ? 0x10c : 0x5c);
	put32(b, i);
	put32(b, (uint32_t)bone->parent);
	put32(b, (uint32_t)bone->child);
	put32(b, (uint32_t)bone->sibling);
	for (unsigned k = 0; k < 12; k++)
		put_float(b, k % 4 == 3 ? 1.0f : 0.5f);
	put32(b, 0xffffffff);
	put32(b, 0);
	buf_add(b, bone->name, mhfu ? 0 : 8);
	for (unsigned k = 0; mhfu && k < 0xb8 / 4; k++)
		put32(b, 0);
}

static void open_tree(struct edited *k, bool mhfu)
{
	struct buf b = { 0 };

	put32(&b, mhfu ? 0xc0000000 : 0x80000000);
	put32(&b, BONES + 1);
	put32(&b, 28 + BONES * (mhfu ? 0x10c : 0x5c));
	put32(&b, 0);
	put32(&b, 1);
	put32(&b, 16);
	put32(&b, 0);
	for (uint32_t i = 0; i < BONES; i++)
		add_bone(&b, mhfu, i, &tree[i]);
	assert_false(b.bad);
	edited_open(k, &fmt_ahi, b.p, b.len, 0);
	buf_free(&b);
}

/* The text is taken, the skeleton is sound, and the same text again changes nothing. */
static void put(struct edited *k, const char *text)
{
	struct err e;

	edited_yaml_twice(k, DOC_SKELETON, 0, text);
	sound(k->o);
	if (fmt_ahi.model->check(k->o, &e))
		fail_msg("%s", e.text);
}

static void refused(struct edited *k, const char *text, int code, const char *why)
{
	assert_int_equal(edited_yaml(k, DOC_SKELETON, 0, text), -code);
	assert_string_equal(k->why, why);
	edited_only(k, 0, 0, 0);
}

static void links_are(const struct edited *k, const struct bone *want)
{
	for (uint32_t i = 0; i < BONES; i++) {
		const uint8_t *raw = k->bytes[0] + MHP3RD(i) + 0x10;

		if ((int32_t)le_u32(raw) != want[i].parent || (int32_t)le_u32(raw + 4) != want[i].child ||
		    (int32_t)le_u32(raw + 8) != want[i].sibling)
			fail_msg("bone %u: parent %d, child %d, sibling %d", i, (int32_t)le_u32(raw),
				 (int32_t)le_u32(raw + 4), (int32_t)le_u32(raw + 8));
	}
}

/* ---- values ---- */

static void test_nothing(void **state)
{
	(void)state;
	for (int mhfu = 0; mhfu < 2; mhfu++) {
		struct edited k;
		char *text;

		open_tree(&k, mhfu);
		text = text_of(k.o, DOC_SKELETON, 0);
		put(&k, text);
		edited_only(&k, 0, 0, 0);
		free(text);
		edited_close(&k);
	}
}

static void test_values(void **state)
{
	struct edited k;

	(void)state;
	open_tree(&k, true);
	put(&k, "parameters: [3]\nbones: [{}, {}, {offset: [0.5, -14.4, 0.5, 1.0], part: 7}, {}, {}, {}]\n");
	assert_int_equal(k.bytes[0][0x18], 3);
	assert_int_equal(le_u32(k.bytes[0] + MHFU(2) + 0x40), 0xc1666666);       /* -14.4 */
	assert_int_equal(k.bytes[0][MHFU(2) + 0x50], 7);
	k.was[0][0x18] = 3;
	k.was[0][MHFU(2) + 0x50] = 7;
	edited_only(&k, 0, MHFU(2) + 0x40, 4);
	edited_close(&k);

	open_tree(&k, true);
	put(&k, "bones: [{}, {}, {tag: 0x40000002, unknown_04: 2, link: 1, scale: [2, 0.5, 0.5, 1], "
	    "rotation: [0.5, 0.5, -.5, 1]}, {}, {}, {}]\n");
	assert_memory_equal(k.bytes[0] + MHFU(2), "\2\0\0\x40\2\0\0\0", 8);
	assert_memory_equal(k.bytes[0] + MHFU(2) + 0x1c, "\0\0\0\x40", 4);
	assert_memory_equal(k.bytes[0] + MHFU(2) + 0x34, "\0\0\0\xbf", 4);
	assert_memory_equal(k.bytes[0] + MHFU(2) + 0x4c, "\1\0\0\0", 4);
	edited_only(&k, 0, MHFU(2), 0x50);
	edited_close(&k);
}

static void test_names(void **state)
{
	struct edited k;

	(void)state;
	open_tree(&k, false);
	put(&k, "bones: [{name: HEAD}, {name: \"COG\"}, {name: BD-9}, {name: \"12345678\"}, {name: [1, 2, 0, 0, 0, 0, "
	    "0, 0]}, {name: \"\"}]\n");
	assert_memory_equal(k.bytes[0] + MHP3RD(0) + 0x54, "HEAD\0\0\0\0", 8);
	assert_memory_equal(k.bytes[0] + MHP3RD(1) + 0x54, "COG\0\0\0\0\0", 8);
	assert_memory_equal(k.bytes[0] + MHP3RD(2) + 0x54, "BD-9\0\0x\0", 8);     /* what was behind the name stays */
	assert_memory_equal(k.bytes[0] + MHP3RD(3) + 0x54, "12345678", 8);
	assert_memory_equal(k.bytes[0] + MHP3RD(4) + 0x54, "\1\2\0" "02\0\0\0", 8);
	assert_memory_equal(k.bytes[0] + MHP3RD(5) + 0x54, "\0P-00\0\0\0", 8);
	edited_close(&k);

	open_tree(&k, false);
	put(&k, "bones: [{}, {}, {name: BD-00YZ}, {}, {}, {}]\n");
	assert_memory_equal(k.bytes[0] + MHP3RD(2) + 0x54, "BD-00YZ\0", 8);
	edited_only(&k, 0, MHP3RD(2) + 0x54 + 5, 2);
	edited_close(&k);

	open_tree(&k, false);
	refused(&k, "bones: [{name: 123456789}, {}, {}, {}, {}, {}]\n", EINVAL,
		"line 1, column 16: name: the text has 9 characters, at most 8 fit");
	refused(&k, "bones: [{name: [65, 0, 66, 0, 0, 0, 0, 0]}, {}, {}, {}, {}, {}]\n", EINVAL,
		"line 1, column 16: bone 0: name: byte 2 is not zero, but the name ends before");
	edited_close(&k);

	open_tree(&k, true);
	refused(&k, "bones: [{name: HEAD}, {}, {}, {}, {}, {}]\n", EPERM,
		"line 1, column 16: name follows from other data and cannot be changed: HEAD found, bone_0 stored");
	edited_close(&k);
}

/* ---- parents ---- */

static void test_parent(void **state)
{
	static const struct bone moved[] = {
		{ -1, 1, 5, "" }, { 0, 4, 2, "" }, { 0, -1, 3, "" }, { 0, -1, -1, "" }, { 1, -1, -1, "" }, { -1, -1,
		-1, "" }
	};
	static const struct bone hung[] = {
		{ -1, 1, -1, "" }, { 0, 2, 3, "" }, { 1, -1, 4, "" }, { 0, 5, -1, "" }, { 1, -1, -1, "" }, { 3, -1,
		-1, "" }
	};
	static const struct bone root[] = {
		{ -1, 3, 1, "" }, { -1, 2, 5, "" }, { 1, -1, 4, "" }, { 0, -1, -1, "" }, { 1, -1, -1, "" }, { -1, -1,
		-1, "" }
	};
	struct edited k;

	(void)state;
	open_tree(&k, false);
	put(&k, "bones: [{}, {}, {parent: 0}, {}, {}, {}]\n");
	links_are(&k, moved);
	edited_close(&k);

	open_tree(&k, false);
	put(&k, "bones: [{}, {}, {}, {}, {}, {parent: 3}]\n");
	links_are(&k, hung);
	put(&k, "bones: [{}, {}, {}, {}, {}, {parent: null}]\n");
	links_are(&k, tree);
	edited_only(&k, 0, 0, 0);
	put(&k, "bones: [{}, {parent: -1}, {}, {}, {}, {}]\n");
	links_are(&k, root);
	edited_close(&k);
}

/* Links that say something else than the parents do stay, as long as nothing moves there. */
static void test_odd_links(void **state)
{
	static const struct bone moved[] = {
		{ -1, 3, 7, "" }, { 0, 2, -1, "" }, { 1, -1, 4, "" }, { 0, 5, 1, "" }, { 1, -1, -1, "" }, { 3, -1,
		-1, "" }
	};
	static const struct bone root[] = {
		{ -1, 3, -1, "" }, { 0, 2, -1, "" }, { 1, -1, -1, "" }, { 0, -1, 1, "" }, { -1, -1, -1, "" }, { -1,
		-1, -1, "" }
	};
	struct edited k;

	(void)state;
	open_tree(&k, false);
	put_le32(k.bytes[0] + MHP3RD(0) + 0x14, 3);    /* the children of bone 0: first 3, then 1 */
	put_le32(k.bytes[0] + MHP3RD(3) + 0x18, 1);
	put_le32(k.bytes[0] + MHP3RD(1) + 0x18, 0xffffffff);
	put_le32(k.bytes[0] + MHP3RD(0) + 0x18, 7);
	put_le32(k.bytes[0] + MHP3RD(5) + 0x10, 2);
	put(&k, "bones: [{}, {}, {}, {}, {}, {parent: 3}]\n");
	links_are(&k, moved);
	edited_close(&k);

	/* two roots that are not linked: a third is not, either */
	open_tree(&k, false);
	put_le32(k.bytes[0] + MHP3RD(0) + 0x14, 3);
	put_le32(k.bytes[0] + MHP3RD(3) + 0x18, 1);
	put_le32(k.bytes[0] + MHP3RD(1) + 0x18, 0xffffffff);
	put_le32(k.bytes[0] + MHP3RD(0) + 0x18, 0xffffffff);
	put(&k, "bones: [{}, {}, {}, {}, {parent: null}, {}]\n");
	links_are(&k, root);
	edited_close(&k);
}

static void test_refused(void **state)
{
	struct edited k;

	(void)state;
	open_tree(&k, false);
	refused(&k, "bones:\n- {}\n- {}\n- parent: 2\n- {}\n- {}\n- {}\n", EINVAL,
		"line 4, column 11: bone 2: parent 2, expected null or an earlier bone");
	refused(&k, "bones: [{}, {parent: -2}, {}, {}, {}, {}]\n", EINVAL,
		"line 1, column 22: bone 1: parent -2, expected null or an earlier bone");
	refused(&k, "bones: [{parent: 1}, {}, {}, {}, {}, {}]\n", EINVAL,
		"line 1, column 18: bone 0: parent 1, expected null: the first bone is a root");
	refused(&k, "bones: [{parent: x}, {}, {}, {}, {}, {}]\n", EINVAL,
		"line 1, column 18: parent: \"x\" is not a number");
	refused(&k, "bones: [{index: 2}, {}, {}, {}, {}, {}]\n", EPERM,
		"line 1, column 17: index follows from other data and cannot be changed: 2 found, 0 stored");
	refused(&k, "bones: [{index: 2}, {}, {}, {}, {}, {}]\n", EPERM,
		"line 1, column 17: index follows from other data and cannot be changed: 2 found, 0 stored");
	refused(&k, "bones: [{}, {}]\n", EINVAL, "line 1, column 8: bones: 2 items found, expected 6");
	refused(&k, "parameters: [0, 3]\n", EINVAL, "line 1, column 13: parameters: 2 values found, expected 1");
	edited_close(&k);
}

static void test_check(void **state)
{
	struct edited k;
	struct err e;

	(void)state;
	open_tree(&k, true);
	assert_int_equal(edited_yaml(&k, DOC_SKELETON, 0, "bones: [{}, {}, {link: 2}, {}, {}, {}]\n"), 0);
	assert_int_equal(fmt_ahi.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "bone 2: link 2, expected null or an earlier bone");
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_values), cmocka_unit_test(test_names),
		cmocka_unit_test(test_parent), cmocka_unit_test(test_odd_links), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
