/* Value by value editing: which bytes change, what is refused and where, what is left to the format; and every
 * registered record over random bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "edited.h"
#include "export.h"

/* ---- a format for these tests ---- */

static const struct label bits_names[] = { { 1, "lighting" }, { 2, "fog" }, { 1u << 31, "enable" }, { 0, NULL } };
static const struct label kind_names[] = { { 8, "rotation_x" }, { 16, "rotation_y" }, { 0, NULL } };

#define F(name_, at_, type_, ...) FN(name_, at_, type_, 1, __VA_ARGS__)
#define FN(name_, at_, type_, n, ...) \
	{ .name = name_, .doc = "Doc", .at = (at_), .count = (n), .type = type_, .member = FIELD_NO_MEMBER, \
	  __VA_ARGS__ }
static const struct field head_fields[] = {
	F("count", 0x00, F_U16, .flags = FL_DERIVED),
	F("texture", 0x02, F_U8, .flags = FL_NULL),
	PAD("zero_03", 0x03, 1),
	F("radius", 0x04, F_F32),
	FN("scale", 0x08, F_F32, 3),
	F("lighting", 0x14, F_U32, .view = V_FLAGS, .labels = bits_names),
	F("kind", 0x18, F_U16, .view = V_ENUM, .labels = kind_names),
	F("low", 0x1a, F_U8, .bits = 4),
	F("high", 0x1a, F_U8, .bit = 4, .bits = 4),
	F("delta", 0x1b, F_I8),
	F("colour", 0x1c, F_U32, .view = V_COLOUR),
	FN("name", 0x20, F_TEXT, 8),
	RAW("unknown_28", 0x28, 4, "Unknown"),
	PAD("zero_2c", 0x2c, 2),
	F("mask", 0x2e, F_U16, .view = V_HEX),
	F("magic", 0x30, F_U32, .view = V_HEX, .flags = FL_HIDDEN),
};
static const struct field palette_fields[] = { F("slot", 0, F_U8), F("bone", 1, F_U8, .flags = FL_NULL) };
static const struct field remap_fields[] = { F("material", 0, F_U8) };
static const struct field group_fields[] = {
	F("material", 0, F_U8), F("channel_count", 1, F_U8, .flags = FL_DERIVED), F("key", 2, F_I16),
};
static const struct field channel_fields[] = { F("channel", 0, F_U8), F("ease", 1, F_U8) };
static const struct field padded_fields[] = { F("value", 0, F_U8), PAD("zero_01", 1, 1) };
static const struct record head_record = RECORD("head", "Begins the file", 0x34, head_fields);
static const struct record palette_record = RECORD("palette", "Binds a bone", 2, palette_fields);
static const struct record remap_record = RECORD("remap", "A material", 1, remap_fields);
static const struct record group_record = RECORD("group", "A group", 4, group_fields);
static const struct record channel_record = RECORD("channel", "A channel", 2, channel_fields);
static const struct record padded_record = RECORD("padded", "A byte and its padding", 2, padded_fields);

enum { PALETTE = 0x34, REMAP = 0x3a, OFFSETS = 0x3e, GROUPS = 0x40, PADDED = 0x50, NUMBERS = 0x54, SIZE = 0x58 };

static const uint8_t file_bytes[SIZE] = {
	[0x00] = 2, [0x02] = 0xff, [0x04] = 0, 0, 0xa0, 0x41,
	[0x08] = 0, 0, 0x80, 0x3f, 0x01, 0, 0xc0, 0x7f, 0, 0, 0, 0x80,
	[0x14] = 3, 0, 0, 0x80, [0x18] = 8, 0, 0x5a, 0xff, [0x1c] = 1, 2, 3, 255, 'C', 'O', 'G',
	[0x28] = 0, 0x12, 0x34, 0x56,
	[0x2e] = 0x0a, 0, 'T', 'E', 'S', 'T', [PALETTE] = 0, 5, 1, 0xff, 2, 7, [REMAP] = 9, 8, 7, 6, [OFFSETS] = 1, 2,
	[GROUPS] = 3, 2, 0x10, 0, 8, 0, 9, 1, [GROUPS + 8] = 4, 2, 0xff, 0xff, 10, 0, 11, 1,
	[PADDED] = 1, 0, 2, 0xcc, [NUMBERS] = 20, 21, 22, 23,
};

/* What the view of it is. */
static const char view[] =
	"# a test\n"
	"version: \"1.0\"  # derived\n"
	"vertex_type: 0x001322  # derived\n"
	"count: 2  # derived\n"
	"texture: null\n"
	"radius: 20.0\n"
	"scale: [1.0, 0x7fc00001, -0.0]\n"
	"lighting: [lighting, fog, enable]\n"
	"kind: rotation_x\n"
	"low: 10\n"
	"high: 5\n"
	"delta: -1\n"
	"colour: [1, 2, 3, 255]\n"
	"name: \"COG\"\n"
	"unknown_28: \"00123456\"\n"
	"mask: 0x000a\n"
	"palette: [[0, 5], [1, null], [2, 7]]\n"
	"materials: [9, 8, 7, 6]\n"
	"offsets: [1, 2]  # derived\n"
	"visible: true\n"
	"padded:\n"
	"- 1\n"
	"- [2, cc]\n"
	"numbers: [0, 1, 2, 3]\n"
	"groups:\n"
	"- material: 3\n"
	"  channel_count: 2  # derived\n"
	"  key: 16\n"
	"  channels:\n"
	"  - channel: 8\n"
	"    ease: 0\n"
	"  - channel: 9\n"
	"    ease: 1\n"
	"- material: 4\n"
	"  channel_count: 2  # derived\n"
	"  key: -1\n"
	"  channels:\n"
	"  - channel: 10\n"
	"    ease: 0\n"
	"  - channel: 11\n"
	"    ease: 1\n"
	"none: []\n";

static void say_group(struct doc *d, const uint8_t *raw, struct source *src, uint64_t at)
{
	doc_item(d);
	doc_record(d, &group_record, false, raw, src, at);
	doc_list(d, "channels", 2);
	for (unsigned i = 0; i < 2; i++) {
		doc_item(d);
		doc_record(d, &channel_record, false, raw + 4 + 2 * i, src, at + 4 + 2 * i);
	}
	doc_end(d);
}

static void say_all(struct doc *d, const uint8_t *raw, struct source *src)
{
	static const uint8_t numbers[4] = { 0, 1, 2, 3 };

	doc_comment(d, "a test");
	doc_text(d, "version", DOC_DERIVED, "\"1.0\"");
	doc_text(d, "vertex_type", DOC_DERIVED, "0x001322");
	doc_record(d, &head_record, false, raw, src, 0);
	doc_rows(d, "palette", &palette_record, false, raw + PALETTE, 3, src, PALETTE, DOC_PLAIN);
	doc_rows(d, "materials", &remap_record, false, raw + REMAP, 4, src, REMAP, DOC_PLAIN);
	doc_rows(d, "offsets", &remap_record, false, raw + OFFSETS, 2, src, OFFSETS, DOC_DERIVED);
	doc_text(d, "visible", DOC_PLAIN, "true");
	doc_rows(d, "padded", &padded_record, false, raw + PADDED, 2, src, PADDED, DOC_BLOCK);
	doc_rows(d, "numbers", &remap_record, false, numbers, 4, src, NUMBERS, DOC_SHOWN);
	doc_list(d, "groups", 2);
	say_group(d, raw + GROUPS, src, GROUPS);
	say_group(d, raw + GROUPS + 8, src, GROUPS + 8);
	doc_end(d);
	doc_list(d, "none", 0);
	doc_end(d);
}

static const struct section sections[] = { { "palette", "Bones", SECTION_LIST, &palette_record, "palette.yaml" } };
static const struct variant variant = { "1.0", "The one", sections, 1, NULL };

static int test_open(struct object *o, struct err *e)
{
	(void)e;
	o->variant = &variant;
	return 0;
}

static int test_locate(const struct object *o, unsigned section, struct span *out)
{
	(void)o;
	(void)section;
	*out = (struct span){ PALETTE, 6, 0 };
	return 0;
}

/* Documents of other forms, over the first bytes of the file. */
static const struct field point_fields[] = {
	FN("normal", 0, F_U8, 2), F("spare", 3, F_U8, .flags = FL_ODD, .bit = 4, .bits = 4),
	F("rest", 3, F_U8, .flags = FL_HIDDEN, .bits = 4), F("kept", 2, F_U8, .flags = FL_DERIVED),
};
static const struct record point_record = RECORD("point", "A point", 4, point_fields);
static const struct field put_fields[] = {
	F("parent", 0, F_U8, .flags = FL_PUT | FL_NULL), FN("position", 1, F_U8, 3, .flags = FL_PUT),
};
static const struct record put_record = RECORD("put", "What doc_put() writes", 4, put_fields);
#define DOC_POINTS DOC_MESH
#define DOC_PUTS DOC_CLIP

static void say_puts(struct doc *d, const uint8_t *raw, struct source *src)
{
	doc_list(d, "bones", 1);
	doc_item(d);
	doc_record(d, &put_record, false, raw, src, 0);
	doc_derived_list(d, "textures", 2);
	for (unsigned i = 0; i < 2; i++) {
		doc_item(d);
		doc_text(d, "image", DOC_DERIVED, "%u", i);
	}
	doc_end(d);
	doc_derived_list(d, "none", 0);
	doc_end(d);
	doc_end(d);
}

static int test_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	uint8_t raw[SIZE];
	int rc = src_read(o->src, raw, sizeof raw, 0, "file", e);

	(void)index;
	if (!rc && kind == DOC_HEADER)
		say_all(d, raw, o->src);
	else if (!rc && kind == DOC_POINTS)
		doc_rows(d, NULL, &point_record, false, raw, 3, o->src, 0, DOC_BLOCK | DOC_MAPS);
	else if (!rc && kind == DOC_PUTS)
		say_puts(d, raw, o->src);
	return rc;
}

/* Tells what it was given, and takes `rescale`. */
static int test_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root,
			struct doc_change *change, unsigned n, struct err *e)
{
	static const char *const kinds[] = { "text", "rows", "list", "key" };
	struct buf b = { 0 };

	(void)kind;
	(void)index;
	(void)root;
	(void)e;
	for (unsigned i = 0; i < n; i++) {
		b.len = 0;
		buf_printf(&b, "%s", kinds[change[i].kind]);
		for (unsigned k = 0; k < change[i].depth; k++)
			buf_printf(&b, " %u", change[i].item[k]);
		buf_printf(&b, " \"%s\" ", change[i].key);
		ynode_flow(change[i].value, &b);
		buf_char(&b, '\0');
		assert_false(b.bad);
		object_say(o, "%s", (char *)b.p);
		change[i].taken = !strcmp(change[i].key, "rescale");
	}
	buf_free(&b);
	return 0;
}

static const struct model_ops test_ops = {
	.open = test_open, .locate = test_locate, .doc = test_doc, .doc_put = test_doc_put,
};
static const struct format test_format = {
	.name = "test", .title = "Test", .ext = "bin", .doc = "Test", .variants = &variant, .nvariants = 1,
	.docs = 1 << DOC_HEADER, .model = &test_ops,
};

static void start(struct edited *k)
{
	edited_open(k, &test_format, file_bytes, sizeof file_bytes, sizeof file_bytes);
}

/* ---- values ---- */

static void test_unchanged(void **state)
{
	struct edited k;
	struct buf out = { 0 };
	struct ydoc y;
	struct err e;

	(void)state;
	start(&k);
	ydoc_init(&y, &out);
	assert_int_equal(test_doc(k.o, DOC_HEADER, 0, &y.doc, &e), 0);
	buf_char(&out, '\0');
	assert_string_equal((char *)out.p, view);
	buf_free(&out);
	assert_int_equal(edited_yaml(&k, DOC_HEADER, 0, view), 0);
	assert_string_equal(k.said, "");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* What other programs make of the same values, keys left out or in another order: nothing changes. */
static const char *const same[] = {
	"{}", "groups: [{}, null]", "groups:\n-\n-\n",
	"version: 1.0\nvertex_type: 4898\ncount: 0x2\ntexture: ~\nradius: 2e1\nscale:\n- 1\n- 0x7FC00001\n- -0\n",
	"texture: 255\nlighting: [enable, 0x3]\n",
	"lighting: 0x80000003\nkind: 8\nlow: 0xa\ncolour:\n- 1\n- 2\n- 3\n- 255\n",
	"name: COG\nunknown_28: '00123456'\nmask: 10\n",
	"name: [67, 79, 71, 0, 0, 0, 0, 0]\nvertex_type: '0x001322'\n",
	"none: []\ngroups:\n- {channels: [{ease: 0, channel: 8}, {}], key: 16}\n- {}\nvisible: true\n",
	"palette:\n- - 0\n  - 5\n- [1, 255]\n- [2, 7]\npadded: [[1, 00], [2, CC]]\nzero_03: '00'\n",
};

static void test_same_values_in_other_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		struct edited k;

		start(&k);
		if (edited_yaml(&k, DOC_HEADER, 0, same[i]))
			fail_msg("%s: %s", same[i], k.why);
		edited_only(&k, 0, 0, 0);
		edited_close(&k);
	}
}

/* Text, and all bytes that differ afterwards: from `at` on those, and no others. */
static const struct { const char *text; unsigned at; const char *bytes; unsigned n; } changes[] = {
	{ "texture: 7\n", 0x02, "\x07", 1 },
	{ "zero_03: ab\n", 0x03, "\xab", 1 },
	{ "radius: 0.5\n", 0x06, "\0\x3f", 2 },
	{ "radius: .inf\n", 0x06, "\x80\x7f", 2 },
	{ "radius: 0xff800001\n", 0x04, "\x01\0\x80\xff", 4 },
	{ "scale: [1.0, 0x7fc00002, -0.0]\n", 0x0c, "\x02", 1 },
	{ "scale: [1.0, 0x7fc00001, 0]\n", 0x13, "\0", 1 },
	{ "scale:\n- 2\n- 0x7fc00001\n- -0.0\n", 0x0a, "\0\x40", 2 },
	{ "lighting: [fog, 0x100]\n", 0x14, "\x02\x01\0\0", 4 },
	{ "kind: rotation_y\n", 0x18, "\x10", 1 },
	{ "kind: 0x0108\n", 0x19, "\x01", 1 },
	{ "low: 3\n", 0x1a, "\x53", 1 },
	{ "high: 0xf\n", 0x1a, "\xfa", 1 },
	{ "high: 1\nlow: 2\n", 0x1a, "\x12", 1 },      /* both in one byte */
	{ "delta: -128\n", 0x1b, "\x80", 1 },
	{ "colour: [1, 20, 3, 255]\n", 0x1d, "\x14", 1 },
	{ "name: \"\"\n", 0x20, "\0\0\0", 3 },
	{ "name: COGS\n", 0x23, "S", 1 },
	{ "name: 'a\"\\'\n", 0x20, "a\"\\", 3 },
	{ "unknown_28: ff123456\n", 0x28, "\xff", 1 },
	{ "zero_2c: 0001\n", 0x2d, "\x01", 1 },
	{ "mask: 0xffff\n", 0x2e, "\xff\xff", 2 },
	{ "palette: [[0, 5], [1, 3], [2, 7]]\n", PALETTE + 3, "\x03", 1 },
	{ "palette:\n- [0, 5]\n- - 4\n  - null\n- [2, null]\n", PALETTE + 2, "\x04\xff\x02\xff", 4 },
	{ "materials: [9, 8, 7, 0]\n", REMAP + 3, "\0", 1 },
	{ "padded: [1, [2, '00']]\n", PADDED + 3, "\0", 1 },
	{ "padded: [[1, ee], [2, cc]]\n", PADDED + 1, "\xee", 1 },
	{ "groups: [{}, {key: 0x0100}]\n", GROUPS + 10, "\0\x01", 2 },
	{ "groups:\n- {}\n- channels:\n  - {}\n  - ease: 200\n    channel: 11\n", GROUPS + 15, "\xc8", 1 },
};

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct edited k;

		start(&k);
		for (unsigned again = 0; again < 2; again++) {         /* the second time it is there already */
			if (edited_yaml(&k, DOC_HEADER, 0, changes[i].text))
				fail_msg("%s: %s", changes[i].text, k.why);
			edited_only(&k, 0, changes[i].at, changes[i].n);
			assert_memory_equal(k.bytes[0] + changes[i].at, changes[i].bytes, changes[i].n);
		}
		edited_close(&k);
	}
}

static void test_section(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	assert_int_equal(edited_yaml(&k, DOC_SECTION, 0, "- {slot: 0, bone: 5}\n- bone: 6\n-\n"), 0);
	edited_only(&k, 0, PALETTE + 3, 1);
	assert_int_equal(k.bytes[0][PALETTE + 3], 6);
	assert_int_equal(edited_yaml(&k, DOC_SECTION, 0, "slot: 1\n"), -EINVAL);
	assert_string_equal(k.why, "line 1, column 1: a mapping of 1 found, expected a list");
	assert_int_equal(edited_yaml(&k, DOC_SECTION, 0, "- slot: 0\n"), -EINVAL);
	assert_string_equal(k.said, "list \"\" [{slot: 0}]\n");
	assert_string_equal(k.why, "line 1, column 1: 1 item found, expected 3");
	edited_only(&k, 0, PALETTE + 3, 1);
	edited_close(&k);
}

/* ---- refusals ---- */

#define DERIVED " follows from other data and cannot be changed: "

static const struct { int code; const char *text, *message; } refused[] = {
	{ EINVAL, "texture: 300\n", "line 1, column 10: texture: 300 is outside 0..255" },
	{ EINVAL, "radius: 1\n\ntexture:   x\n", "line 3, column 12: texture: \"x\" is not a number" },
	{ EINVAL, "texture:\n", "line 1, column 9: texture: nothing found, expected one value" },
	{ EINVAL, "texture: [1]\n", "line 1, column 10: texture: \"[1]\" found, expected one value" },
	{ EINVAL, "texture: {a: 1}\n", "line 1, column 10: texture: a mapping of 1 found, expected a value" },
	{ EINVAL, "texture: \"7\"\n", "line 1, column 10: texture: \"\"7\"\" is not a number" },
	{ EINVAL, "scale: [1, 2, x]\n",
	  "line 1, column 15: scale: \"x\" is not a number that a 32-bit float can hold" },
	{ EINVAL, "scale: [1, 2]\n", "line 1, column 8: scale: 2 values in the list, expected 3" },
	{ EINVAL, "scale: [1, 2, 3, 4]\n", "line 1, column 8: scale: more than 3 values in the list" },
	{ EINVAL, "scale: 1\n", "line 1, column 8: scale: \"1\" found, expected a list: [...]" },
	{ EINVAL, "lighting: [fog, fogg]\n",
	  "line 1, column 17: lighting: \"fogg\" is none of lighting, fog, enable; nearest is fog" },
	{ EINVAL, "lighting: fog\n", "line 1, column 11: lighting: \"fog\" is not a list of names" },
	{ EINVAL, "kind: rotation_z\n",
	  "line 1, column 7: kind: \"rotation_z\" is none of rotation_x, rotation_y; nearest is rotation_x" },
	{ EINVAL, "low: 16\n", "line 1, column 6: low: 16 is outside 0..15" },
	{ EINVAL, "colour: [1, 2, 256, 4]\n", "line 1, column 16: colour: 256 is outside 0..255" },
	{ EINVAL, "name: \"123456789\"\n", "line 1, column 7: name: the text has 9 characters, at most 8 fit" },
	{ EINVAL, "name: null\n", "line 1, column 7: name: \"null\" found, expected a quoted text or a list of bytes" },
	{ EINVAL, "name: [1, 2, 3, 4, 5, 6, 7, 800]\n", "line 1, column 29: name: 800 is outside 0..255" },
	{ EINVAL, "unknown_28: 1234\n", "line 1, column 13: unknown_28: \"1234\" is not 8 hex digits" },
	{ EINVAL, "palette: [[0, 5], [1, 256], [2, 7]]\n",
	  "line 1, column 23: palette.bone: 256 is outside 0..255" },
	{ EINVAL, "palette: [[0, 5], 1, [2, 7]]\n", "line 1, column 19: palette: \"1\" found, expected a list of 2" },
	{ EINVAL, "palette: [[0, 5], [1], [2, 7]]\n",
	  "line 1, column 19: palette: a list of 1 found, expected a list of 2" },
	{ EINVAL, "palette: 5\n", "line 1, column 10: palette: \"5\" found, expected a list" },
	{ EINVAL, "materials:\n- 9\n- 8\n- [7]\n- 6\n",
	  "line 4, column 3: materials: \"[7]\" found, expected one value" },
	{ EINVAL, "groups: 5\n", "line 1, column 9: groups: \"5\" found, expected a list" },
	{ EINVAL, "groups: [1, {}]\n", "line 1, column 10: \"1\" found, expected keys and their values" },
	{ EINVAL, "groups:\n- {}\n- channels:\n  - {}\n  - ease: x\n",
	  "line 5, column 11: ease: \"x\" is not a number" },
	{ EINVAL, "visible: yes\n", "line 1, column 10: visible: \"yes\" found, expected true or false" },
	{ EINVAL, "visible: \"true\"\n", "line 1, column 10: visible: \"true\" found, expected true or false" },
	{ EINVAL, "visible:\n", "line 1, column 9: visible: nothing found, expected true or false" },
	{ EINVAL, "- 1\n", "line 1, column 1: a list of 1 found, expected keys and their values" },
	{ EINVAL, "text\n", "line 1, column 1: \"text\" found, expected keys and their values" },
	{ EPERM, "count: 3\n", "line 1, column 8: count" DERIVED "3 found, 2 stored" },
	{ EINVAL, "count: x\n", "line 1, column 8: count: \"x\" is not a number" },
	{ EPERM, "version: \"1.1\"\n", "line 1, column 10: version" DERIVED "\"1.1\" found, \"1.0\" stored" },
	{ EPERM, "vertex_type: 0x001323\n",
	  "line 1, column 14: vertex_type" DERIVED "0x001323 found, 0x001322 stored" },
	{ EPERM, "offsets: [1, 3]\n", "line 1, column 14: offsets" DERIVED "3 found, 2 stored" },
	{ EPERM, "offsets: [1]\n", "line 1, column 10: offsets" DERIVED "1 value found, 2 stored" },
	{ EPERM, "groups: [{channel_count: 1}, {}]\n",
	  "line 1, column 26: channel_count" DERIVED "1 found, 2 stored" },
};

static void test_refused(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (edited_yaml(&k, DOC_HEADER, 0, refused[i].text) != -refused[i].code)
			fail_msg("\"%s\" was not refused: %s", refused[i].text, k.why);
		assert_string_equal(k.why, refused[i].message);
		edited_only(&k, 0, 0, 0);
	}
	assert_string_equal(k.said, "");
	edited_close(&k);
}

/* Nothing is written behind the first error, in the order of the view. */
static void test_first_error_ends_it(void **state)
{
	struct edited k;
	struct arena a = { 0 };
	struct yedit_rest rest = { 0 };
	struct ynode *root;
	struct err e;
	uint8_t now[4];
	static const char text[] = "mask: 1\ntexture: 1\nradius: x\nscale: y\n";

	(void)state;
	start(&k);
	assert_int_equal(yaml_read((const uint8_t *)text, strlen(text), &root, &a, &e), 0);
	assert_int_equal(yedit_apply(k.o, DOC_HEADER, 0, root, &rest, &a, &e), -EINVAL);
	assert_string_equal(e.text, "line 3, column 9: radius: \"x\" is not a number that a 32-bit float can hold");
	assert_int_equal(src_pread(k.o->src, now, 1, 0x02), 0);
	assert_int_equal(now[0], 1);
	assert_int_equal(src_pread(k.o->src, now, 2, 0x2e), 0);
	assert_memory_equal(now, "\x0a\0", 2);
	arena_free(&a);
	edited_close(&k);
}

/* What follows from other values has followed when a text is applied for the second time. */
static void test_derived_again(void **state)
{
	static const char text[] = "version: \"2.0\"\ncount: 7\nradius: 2.5\n";
	struct edited k;

	(void)state;
	start(&k);
	assert_int_equal(edited_yaml(&k, DOC_HEADER, 0, text), -EPERM);
	k.around.again = true;
	assert_int_equal(edited_yaml(&k, DOC_HEADER, 0, text), 0);
	k.around.again = false;
	assert_int_equal(edited_yaml(&k, DOC_HEADER, 0, text), -EPERM);
	edited_close(&k);
}

/* ---- what is left to the format ---- */

static const struct { const char *text, *said, *message; } rest_of[] = {
	{ "textur: 1\n", "key \"textur\" 1\n", "line 1, column 1: no key \"textur\" here; nearest is texture" },
	{ "shininess: 1\n", "key \"shininess\" 1\n",
	  "line 1, column 1: no key \"shininess\" here; there are version, vertex_type, count, texture, radius, scale, "
	  "lighting, kind, low, high, delta, colour, name, unknown_28, mask, ..." },
	{ "maks: 0x5453\n", "key \"maks\" 0x5453\n", "line 1, column 1: no key \"maks\" here; nearest is mask" },
	{ "mas: 1\nmagic: 0x54534554\n", "key \"mas\" 1\nkey \"magic\" 0x54534554\n",
	  "line 1, column 1: no key \"mas\" here; nearest is mask" },
	{ "groups:\n- {}\n- channels:\n  - ea: 1\n    channel: 10\n  -\n", "key 1 0 \"ea\" 1\n",
	  "line 4, column 5: no key \"ea\" here; there are channel, ease" },
	{ "rescale: [2, 2]\n", "key \"rescale\" [2, 2]\n", NULL },
	{ "rescale: 1\ngroup: []\n", "key \"rescale\" 1\nkey \"group\" []\n",
	  "line 2, column 1: no key \"group\" here; nearest is groups" },
	{ "palette: [[0, 5]]\n", "rows \"palette\" [[0, 5]]\n",
	  "line 1, column 10: palette: 1 value found, expected 3" },
	{ "materials: []\n", "rows \"materials\" []\n", "line 1, column 12: materials: 0 values found, expected 4" },
	{ "numbers: [0, 2, 1, 3]\n", "rows \"numbers\" [0, 2, 1, 3]\n",
	  "line 1, column 10: numbers: these values cannot be changed" },
	{ "groups: [{material: 77}]\n", "list \"groups\" [{material: 77}]\n",
	  "line 1, column 9: groups: 1 item found, expected 2" },
	{ "groups: [{}, {channels: []}]\n", "list 1 \"channels\" []\n",
	  "line 1, column 25: channels: 0 items found, expected 2" },
	{ "none: [{a: 1}]\n", "list \"none\" [{a: 1}]\n", "line 1, column 7: none: 1 item found, expected 0" },
	{ "visible: false\n", "text \"visible\" false\n",
	  "line 1, column 10: visible cannot be changed: false found, true stored" },
};

static void test_left_to_the_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rest_of); i++) {
		struct edited k;
		int want = rest_of[i].message ? -EINVAL : 0;

		start(&k);
		if (edited_yaml(&k, DOC_HEADER, 0, rest_of[i].text) != want)
			fail_msg("\"%s\": %s", rest_of[i].text, k.why);
		assert_string_equal(k.said, rest_of[i].said);
		assert_string_equal(k.why, rest_of[i].message ? rest_of[i].message : "");
		edited_only(&k, 0, 0, 0);
		edited_close(&k);
	}
}

static void test_many_unknown_keys(void **state)
{
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	for (unsigned i = 0; i < 20000; i++)
		buf_printf(&b, "wrong%u: 1\n", i);
	buf_char(&b, '\0');
	start(&k);
	assert_int_equal(edited_yaml(&k, DOC_HEADER, 0, (char *)b.p), -EINVAL);
	assert_non_null(strstr(k.why, "line 1, column 1: no key \"wrong0\" here; "));
	assert_string_equal(k.said, "");       /* so many that the format is not asked */
	buf_free(&b);
	edited_close(&k);
}

/* ---- rows that are mappings ---- */

static void test_rows_of_mappings(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	assert_int_equal(edited_yaml(&k, DOC_POINTS, 0, "- {normal: [2, 0], kept: 255}\n- {}\n- normal: [0, 0]\n"), 0);
	edited_only(&k, 0, 0, 0);
	assert_int_equal(edited_yaml(&k, DOC_POINTS, 0, "- {}\n- spare: 0\n- {spare: 3, normal: [0, 7]}\n"), 0);
	assert_memory_equal(k.bytes[0] + 4, "\0\0\xa0\x01\0\x07\x80\x3f", 8);
	assert_string_equal(k.said, "");
	edited_close(&k);
}

/* The second row is bytes 00 00 a0 41: kept 160, spare 4. */
static const struct { int code; const char *text, *said, *message; } refused_rows[] = {
	{ EINVAL, "- {}\n- {spar: 1}\n- {}\n", "", "line 2, column 4: no key \"spar\" here; nearest is spare" },
	{ EINVAL, "- {}\n- {}\n- {rest: 1}\n", "", 
	  "line 3, column 4: no key \"rest\" here; nearest is kept" },
	{ EINVAL, "- {}\n- {spare: 16}\n- {}\n", "", "line 2, column 11: spare: 16 is outside 0..15" },
	{ EINVAL, "- {}\n- 5\n- {}\n", "", "line 2, column 3: \"5\" found, expected keys and their values" },
	{ EINVAL, "- {}\n- {}\n", "rows \"\" [{}, {}]\n", "line 1, column 1: 2 values found, expected 3" },
	{ EINVAL, "normal: [1, 1]\n", "", "line 1, column 1: a mapping of 1 found, expected a list" },
	{ EPERM, "- {}\n- {kept: 1}\n- {}\n", "", "line 2, column 10: kept" DERIVED "1 found, 160 stored" },
};

static void test_refused_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused_rows); i++) {
		struct edited k;

		start(&k);
		if (edited_yaml(&k, DOC_POINTS, 0, refused_rows[i].text) != -refused_rows[i].code)
			fail_msg("\"%s\": %s", refused_rows[i].text, k.why);
		assert_string_equal(k.why, refused_rows[i].message);
		assert_string_equal(k.said, refused_rows[i].said);
		edited_only(&k, 0, 0, 0);
		edited_close(&k);
	}
}

/* ---- values that doc_put() writes, and lists that are derived ---- */

static const struct { int code; const char *text, *said, *message; } left_over[] = {
	{ 0, "bones:\n- {parent: 2, position: [0, 255, 0]}\n", "", "" },
	{ 0, "bones:\n- {textures: [{image: 0}, {image: 0x1}], none: []}\n", "", "" },
	{ EINVAL, "bones:\n- parent: null\n  position: [1, 2, 0x3]\n",
	  "text 0 \"parent\" null\ntext 0 \"position\" [1, 2, 0x3]\n",
	  "line 2, column 11: parent cannot be changed here" },
	{ EINVAL, "bones:\n- parent: 300\n", "", "line 2, column 11: parent: 300 is outside 0..255" },
	{ EPERM, "bones:\n- textures: [{}, {image: 7}]\n", "", "line 2, column 26: image" DERIVED "7 found, 1 stored" },
	{ EPERM, "bones:\n- textures: [{}]\n", "", "line 2, column 13: textures" DERIVED "1 item found, 2 stored" },
	{ EPERM, "bones:\n- none: [{}]\n", "", "line 2, column 9: none" DERIVED "1 item found, 0 stored" },
};

static void test_puts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(left_over); i++) {
		struct edited k;

		start(&k);
		if (edited_yaml(&k, DOC_PUTS, 0, left_over[i].text) != -left_over[i].code)
			fail_msg("\"%s\": %s", left_over[i].text, k.why);
		assert_string_equal(k.why, left_over[i].message);
		assert_string_equal(k.said, left_over[i].said);
		edited_only(&k, 0, 0, 0);
		edited_close(&k);
	}
}

/* ---- every registered record ---- */

static const struct record *shown_record;      /* what the view of the format below is made of */
static bool shown_be, shown_rows;
#define ROWS 3u

static int record_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	uint32_t n = (uint32_t)o->src->size;
	uint8_t *raw = malloc(n);
	int rc = src_read(o->src, raw, n, 0, "record", e);

	(void)kind;
	(void)index;
	if (!rc && shown_rows)
		doc_rows(d, "rows", shown_record, shown_be, raw, ROWS, o->src, 0, DOC_BLOCK);
	else if (!rc)
		doc_record(d, shown_record, shown_be, raw, o->src, 0);
	free(raw);
	return rc;
}

static const struct model_ops record_ops = { .open = test_open, .doc = record_doc };
static const struct format record_format = { .name = "record", .title = "Record", .model = &record_ops };

static uint32_t random_state = 1;

static void random_bytes(uint8_t *p, size_t n)
{
	static const uint8_t common[] = { 0x00, 0xff, 0x7f, 0x80, 'a', '1', 'e', '"', '\\', '\'', '#' };

	for (size_t i = 0; i < n; i++) {
		random_state = random_state * 1664525 + 1013904223;
		p[i] = (uint8_t)(random_state >> 16);
		if (!(random_state >> 30))
			p[i] = common[p[i] % ARRAY_LEN(common)];
	}
	for (size_t i = 0; i < n; i++)
		if (random_state >> (i & 15) & 1)
			p[i] = common[i % 2 ? 0 : random_state % ARRAY_LEN(common)];
}

struct picked { struct buf text; const uint8_t *raw; };

/* "name: value" of what an edit may change. */
static int say_field(void *ctx, const struct field *f)
{
	struct picked *p = ctx;

	if (!field_shown(f, shown_be, p->raw) || f->flags & (FL_DERIVED | FL_PUT))
		return 0;
	buf_printf(&p->text, "%s: ", f->name);
	field_print(f, shown_be, p->raw, &p->text);
	buf_char(&p->text, '\n');
	return 0;
}

static int clear_kept(void *ctx, const struct field *f)
{
	uint8_t *raw = ctx;

	for (unsigned i = 0; i < f->count && f->flags & (FL_DERIVED | FL_HIDDEN | FL_PUT); i++)
		field_set(f, shown_be, raw, i, 0);
	return 0;
}

static void assert_no_change(struct edited *k, uint32_t size)
{
	struct buf text = { 0 };
	struct ydoc y;
	struct err e;

	ydoc_init(&y, &text);
	assert_int_equal(record_doc(k->o, DOC_HEADER, 0, &y.doc, &e), 0);
	if (!text.len)
		buf_str(&text, "{}");
	buf_char(&text, '\0');
	assert_false(text.bad);
	if (edited_yaml(k, DOC_HEADER, 0, (char *)text.p))
		fail_msg("%s: %s\n%s", shown_record->name, k->why, (char *)text.p);
	assert_memory_equal(k->bytes[0], k->was[0], size);
	buf_free(&text);
}

/* YAML of the bytes applied to zeros gives back all that is not derived, hidden or left to the format. */
static void assert_brought_back(uint8_t *raw, uint32_t size)
{
	struct picked p = { .raw = raw };
	uint8_t *zeros = calloc(1, size);
	struct edited k;

	assert_non_null(zeros);
	buf_str(&p.text, "---\n");
	rec_each(shown_record, say_field, &p);
	if (p.text.len == 4)
		buf_str(&p.text, "{}");
	buf_char(&p.text, '\0');
	assert_false(p.text.bad);
	edited_open(&k, &record_format, zeros, size, size);
	if (edited_yaml(&k, DOC_HEADER, 0, (char *)p.text.p))
		fail_msg("%s: %s\n%s", shown_record->name, k.why, (char *)p.text.p);
	rec_each(shown_record, clear_kept, raw);
	assert_memory_equal(k.bytes[0], raw, size);
	edited_close(&k);
	free(zeros);
	buf_free(&p.text);
}

static void assert_record(const struct record *r)
{
	uint8_t *raw = malloc((size_t)r->size * ROWS);
	struct edited k;

	assert_non_null(raw);
	shown_record = r;
	for (unsigned i = 0; i < 60; i++) {
		shown_be = i & 1;
		random_bytes(raw, (size_t)r->size * ROWS);
		for (unsigned rows = 0; rows < 2; rows++) {
			uint32_t size = rows ? r->size * ROWS : r->size;

			shown_rows = rows;
			edited_open(&k, &record_format, raw, size, size);
			assert_no_change(&k, size);
			edited_close(&k);
		}
		shown_rows = false;
		assert_brought_back(raw, r->size);
	}
	free(raw);
}

static void test_registered_records(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const struct format *const *f = formats; *f; f++) {
		for (unsigned i = 0; i < (*f)->nvariants; i++) {
			const struct variant *v = &(*f)->variants[i];

			for (unsigned k = 0; k < v->nsections; k++, n++)
				if (v->sections[k].shape != SECTION_BYTES)
					assert_record(v->sections[k].record);
			for (const struct record *const *r = v->records; r && *r; r++, n++)
				assert_record(*r);
		}
	}
	assert_true(n > 0);
	assert_record(&head_record);
	assert_record(&padded_record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_same_values_in_other_words),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_section),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_first_error_ends_it), cmocka_unit_test(test_derived_again),
		cmocka_unit_test(test_left_to_the_format),
		cmocka_unit_test(test_many_unknown_keys),
		cmocka_unit_test(test_rows_of_mappings),
		cmocka_unit_test(test_refused_rows),
		cmocka_unit_test(test_puts),
		cmocka_unit_test(test_registered_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
