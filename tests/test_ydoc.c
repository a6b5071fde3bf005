/* Documents: their YAML to the letter, the documents of sections, what object_verify() finds, the reference page. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"

/* ---- a format for these tests ---- */

static const struct label lighting_bits[] = { { 1, "lighting" }, { 2, "fog" }, { 1u << 31, "enable" }, { 0, NULL } };
static const struct label channel_names[] = { { 8, "rotation_x" }, { 0x1000, "other" }, { 0, NULL } };

struct head { uint16_t count, version; float radius; };
struct material { uint8_t colour[4], texture; uint32_t flags, leftover; };

#define S struct head
static const struct field head_fields[] = {
	U16(S, version, 0x2, "Version of the file", .flags = FL_DERIVED),
	U16(S, count, 0x0, "Materials", .flags = FL_DERIVED, .comment = "0..16"),
	F32(S, radius, 0x4, "Radius of the cull sphere | 0: a point", .comment = "units"),
};
#undef S
#define S struct material
static const struct field material_fields[] = {
	U8N(S, colour, 0x0, 4, "Colour", .view = V_COLOUR),
	U8(S, texture, 0x4, "Image", .flags = FL_NULL),
	PAD("zero_05", 0x5, 1),
	RAW("unknown_06", 0x6, 2, "Unknown"),
	U32(S, flags, 0x8, "Lighting flags", .view = V_FLAGS, .labels = lighting_bits),
	U32(S, leftover, 0xc, "Left over", .view = V_HEX, .flags = FL_HIDDEN),
};
#undef S
static const struct field palette_fields[] = {
	{ .name = "slot", .doc = "Slot", .at = 0, .count = 1, .member = FIELD_NO_MEMBER, .comment = "slot" },
	{ .name = "bone", .doc = "Bone", .at = 1, .count = 1, .member = FIELD_NO_MEMBER, .comment = "bone" },
};
static const struct field remap_fields[] = {
	{ .name = "material", .doc = "Material", .at = 0, .count = 1, .member = FIELD_NO_MEMBER },
};
static const struct field key_fields[] = {
	{ .name = "key", .doc = "Key", .at = 0, .count = 4, .type = F_I16, .member = FIELD_NO_MEMBER },
};
static const struct field channel_fields[] = {
	{ .name = "channel", .doc = "What moves", .at = 0, .count = 1, .type = F_U16, .view = V_ENUM,
	  .labels = channel_names, .member = FIELD_NO_MEMBER },
	{ .name = "smooth", .doc = "Whether it is smooth", .at = 2, .count = 1, .bits = 1, .member = FIELD_NO_MEMBER },
	{ .name = "order", .doc = "Order of the curve", .at = 2, .count = 1, .bit = 1, .bits = 7,
	  .member = FIELD_NO_MEMBER },
};
static const struct field hidden_fields[] = {
	{ .name = "tag", .doc = "Tag", .at = 0, .count = 1, .flags = FL_HIDDEN, .member = FIELD_NO_MEMBER },
};
static const struct record head_record = RECORD("head", "Begins the file", 8, head_fields);
static const struct record material_record = RECORD("material", "A material", 16, material_fields);
static const struct record palette_record = RECORD("palette entry", "Binds a bone", 2, palette_fields);
static const struct record remap_record = RECORD("remap entry", "A material of a mesh", 1, remap_fields);
static const struct record key_record = RECORD("key", "A key", 8, key_fields);
static const struct record channel_record = RECORD("channel", "Begins a channel", 3, channel_fields);
static const struct record hidden_record = RECORD("hidden", "Nothing to see", 1, hidden_fields);

static const uint8_t file_bytes[] = {
	0x02, 0x00, 0x05, 0x00, 0x00, 0x00, 0xa0, 0x41,
	0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x7f, 0x7f, 0x7f, 0x00, 0xff, 0x01, 0xab, 0xcd, 0x00, 0x01, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04,
};

/* ---- the printer ---- */

struct page { struct buf out; struct ydoc y; };

static struct doc *start(struct page *p)
{
	memset(p, 0, sizeof *p);
	ydoc_init(&p->y, &p->out);
	return &p->y.doc;
}

static void assert_page(struct page *p, const char *text)
{
	buf_char(&p->out, '\0');
	assert_false(p->out.bad);
	assert_string_equal((char *)p->out.p, text);
	buf_free(&p->out);
}

static void test_values_and_comments(void **state)
{
	struct page p;
	struct doc *d = start(&p);

	(void)state;
	doc_comment(d, "modelfs %s %s", "test", "5");
	doc_text(d, "kind", DOC_PLAIN, "\"%d\"", 5);
	doc_text(d, "size", DOC_DERIVED, "%u", 40u);
	doc_record(d, &head_record, false, file_bytes, NULL, 0);
	doc_record(d, &hidden_record, false, file_bytes, NULL, 0);
	assert_page(&p, "# modelfs test 5\n"
			"kind: \"5\"\n"
			"size: 40  # derived\n"
			"version: 5  # derived\n"
			"count: 2  # derived; 0..16\n"
			"radius: 20.0  # units\n");
}

static void test_rows(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 7, 0xff };
	struct page p;
	struct doc *d = start(&p);

	(void)state;
	doc_rows(d, "palette", &palette_record, false, bytes, 2, NULL, 0, DOC_PLAIN);
	doc_rows(d, "bones", &palette_record, false, bytes, 0, NULL, 0, DOC_BLOCK);
	doc_rows(d, "materials", &remap_record, false, bytes, 3, NULL, 0, DOC_DERIVED);
	doc_rows(d, "none", &remap_record, false, bytes, 0, NULL, 0, DOC_DERIVED);
	doc_rows(d, "lines", &palette_record, false, bytes, 2, NULL, 0, DOC_BLOCK | DOC_DERIVED);
	doc_rows(d, "bare", &remap_record, false, bytes, 2, NULL, 0, DOC_BLOCK);
	assert_page(&p, "palette: [[0, 1], [7, 255]]  # slot, bone\n"
			"bones: []  # slot, bone\n"
			"materials: [0, 1, 7]  # derived\n"
			"none: []  # derived\n"
			"lines:  # derived; slot, bone\n"
			"- [0, 1]\n"
			"- [7, 255]\n"
			"bare:\n"
			"- 0\n"
			"- 1\n");
}

static void test_lists_in_lists(void **state)
{
	static const uint8_t keys[] = { 0x00, 0x10, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0 };
	static const uint8_t channels[] = { 0x08, 0x00, 0x03, 0x01, 0x00, 0x00 };
	struct page p;
	struct doc *d = start(&p);

	(void)state;
	doc_text(d, "loop", DOC_PLAIN, "0");
	doc_list(d, "tracks", 2);
	doc_item(d);
	doc_list(d, "channels", 2);
	doc_comment(d, "before an item");
	doc_item(d);
	doc_record(d, &channel_record, false, channels, NULL, 0);
	doc_rows(d, "keys", &key_record, false, keys, 2, NULL, 0, DOC_BLOCK);
	doc_item(d);
	doc_record(d, &channel_record, false, channels + 3, NULL, 0);
	doc_rows(d, "keys", &key_record, false, keys, 0, NULL, 0, DOC_BLOCK);
	doc_end(d);
	doc_text(d, "joint", DOC_PLAIN, "null");
	doc_item(d);
	doc_list(d, "channels", 0);
	doc_end(d);
	doc_end(d);
	doc_list(d, "empty", 0);
	doc_end(d);
	doc_text(d, "last", DOC_PLAIN, "1.0");
	assert_page(&p, "loop: 0\n"
			"tracks:\n"
			"- channels:\n"
			"  # before an item\n"
			"  - channel: rotation_x\n"
			"    smooth: 1\n"
			"    order: 1\n"
			"    keys:\n"
			"    - [4096, 0, -1, 0]\n"
			"    - [1, 2, 3, 4]\n"
			"  - channel: 0x0001\n"
			"    smooth: 0\n"
			"    order: 0\n"
			"    keys: []\n"
			"  joint: null\n"
			"- channels: []\n"
			"empty: []\n"
			"last: 1.0\n");
}

static void test_document_that_is_a_list(void **state)
{
	struct page p;
	struct doc *d = start(&p);

	(void)state;
	doc_list(d, NULL, 3);
	doc_item(d);
	doc_rows(d, "palette", &palette_record, false, file_bytes, 1, NULL, 0, DOC_BLOCK);
	doc_item(d);
	doc_record(d, &hidden_record, false, file_bytes, NULL, 0);
	doc_item(d);
	doc_text(d, "a", DOC_PLAIN, "1");
	doc_text(d, "b", DOC_PLAIN, "2");
	doc_end(d);
	assert_page(&p, "- palette:  # slot, bone\n"
			"  - [2, 0]\n"
			"- {}\n"
			"- a: 1\n"
			"  b: 2\n");
	d = start(&p);
	doc_list(d, NULL, 0);
	doc_end(d);
	assert_page(&p, "[]\n");
}

static const struct field point_fields[] = {
	{ .name = "normal", .doc = "Doc", .count = 2, .type = F_I8, .member = FIELD_NO_MEMBER },
	{ .name = "spare", .doc = "Doc", .at = 2, .count = 1, .type = F_U8, .flags = FL_ODD,
	  .member = FIELD_NO_MEMBER },
	{ .name = "rest", .doc = "Doc", .at = 3, .count = 1, .type = F_U8, .flags = FL_HIDDEN,
	  .member = FIELD_NO_MEMBER },
};
static const struct record point_record = RECORD("point", "A point", 4, point_fields);

static void test_rows_of_mappings(void **state)
{
	static const uint8_t points[] = { 1, 0xff, 0, 7, 127, 0x80, 3, 0 };
	struct page p;
	struct doc *d = start(&p);

	(void)state;
	doc_rows(d, NULL, &point_record, false, points, 2, NULL, 0, DOC_BLOCK | DOC_MAPS);
	assert_page(&p, "- {normal: [1, -1]}\n- {normal: [127, -128], spare: 3}\n");
	d = start(&p);
	doc_rows(d, NULL, &point_record, false, points, 0, NULL, 0, DOC_BLOCK | DOC_MAPS);
	assert_page(&p, "[]\n");
	d = start(&p);
	doc_rows(d, "points", &point_record, false, points, 2, NULL, 0, DOC_BLOCK | DOC_MAPS);
	doc_rows(d, NULL, &hidden_record, false, file_bytes, 1, NULL, 0, DOC_BLOCK | DOC_MAPS);
	assert_page(&p, "points:\n- {normal: [1, -1]}\n- {normal: [127, -128], spare: 3}\n- {}\n");
}

/* It says once what holds for all its values. */
static void test_derived_list(void **state)
{
	struct page p;
	struct doc *d = start(&p);

	(void)state;
	doc_derived_list(d, "textures", 1);
	doc_item(d);
	doc_text(d, "path", DOC_DERIVED, "\"a\"");
	doc_list(d, "maps", 1);
	doc_item(d);
	doc_text(d, "map", DOC_DERIVED, "1");
	doc_end(d);
	doc_end(d);
	doc_text(d, "hash", DOC_DERIVED, "2");
	doc_derived_list(d, "empty", 0);
	doc_end(d);
	assert_page(&p, "textures:  # derived\n- path: \"a\"\n  maps:\n  - map: 1\n"
			"hash: 2  # derived\nempty: []  # derived\n");
}

static void test_deep(void **state)
{
	struct page p;
	struct doc *d = start(&p);
	char last[220];

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		doc_list(d, "list", 1);
		doc_item(d);
	}
	doc_text(d, "key", DOC_PLAIN, "1");
	for (unsigned i = 0; i < 100; i++)
		doc_end(d);
	doc_text(d, "end", DOC_PLAIN, "2");
	buf_char(&p.out, '\0');
	assert_false(p.out.bad);
	snprintf(last, sizeof last, "\n%*s- key: 1\nend: 2\n", 198, "");
	assert_string_equal((char *)p.out.p + p.out.len - 1 - strlen(last), last);
	buf_free(&p.out);
}

/* ---- sections and objects ---- */

static const struct section sections[] = {
	{ "header", "The head", SECTION_ONE, &head_record, "header.yaml" },
	{ "materials", "Materials of the model. As many as the head says", SECTION_LIST, &material_record,
	  "materials.yaml" },
	{ "rest", "Whatever follows", SECTION_BYTES, NULL, NULL },
};
static const struct record *const more_records[] = { &channel_record, &key_record, NULL };
static const struct variant variants[] = {
	{ "5", "The old one", sections, ARRAY_LEN(sections), NULL },
	{ "6", "The new one.", sections, 1, more_records },
};

/* What the file of a test is, and what is wrong with it. */
struct plan {
	uint64_t size[3];
	const struct record *odd;              /* its first bytes are shown as meshes/0.yaml */
	const char *fault;
	int verify;
};

static const struct plan *planned(const struct object *o)
{
	return o->priv;
}

static int open_file(struct object *o, struct err *e)
{
	(void)e;
	o->variant = &variants[0];
	return 0;
}

static uint32_t count(const struct object *o, unsigned part)
{
	return part == PART_MESH && planned(o)->odd;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	out->at = section ? section == 1 ? 8 : sizeof file_bytes : 0;
	out->size = planned(o)->size[section];
	return 0;
}

static int doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	(void)index;
	(void)e;
	assert_int_equal(kind, DOC_MESH);
	doc_rows(d, "odd", planned(o)->odd, false, file_bytes, 1, o->src, 0, DOC_PLAIN);
	return 0;
}

static int verify(struct object *o, struct err *e)
{
	return planned(o)->verify ? err_set(e, planned(o)->verify, "the format's own check") : 0;
}

static const struct model_ops ops = {
	.open = open_file, .count = count, .locate = locate, .doc = doc, .verify = verify,
};
static const struct format fmt_test = {
	.name = "test", .title = "A format of tests", .doc = "Has a head; then materials", .ext = "tst",
	.variants = variants, .nvariants = ARRAY_LEN(variants), .docs = 1u << DOC_MESH, .model = &ops,
};

const struct format *const formats[] = { &fmt_test, NULL };

static struct object *open_planned(const void *bytes, size_t n, struct plan *plan)
{
	struct source *src = src_memory(bytes, n);
	struct object *o;
	struct err why;

	assert_non_null(src);
	assert_int_equal(object_open(&fmt_test, src, NULL, &o, NULL), 0);
	src_put(src);
	o->priv = plan;
	if (plan->fault) {
		err_set(&why, EBADMSG, "%s", plan->fault);
		object_fault(o, PART_MESH, 0, false, &why);
	}
	return o;
}

static void test_section_documents(void **state)
{
	struct plan plan = { .size = { 8, 32, 0 } };
	struct object *o = open_planned(file_bytes, sizeof file_bytes, &plan);
	struct page p;
	struct err e;

	(void)state;
	assert_int_equal(object_section_doc(o, 0, start(&p), &e), 0);
	assert_page(&p, "# modelfs test 5\n"
			"version: 5  # derived\n"
			"count: 2  # derived; 0..16\n"
			"radius: 20.0  # units\n");
	assert_int_equal(object_section_doc(o, 1, start(&p), &e), 0);
	assert_page(&p, "# 0 at 0x0000008\n"
			"- colour: [255, 255, 255, 255]\n"
			"  texture: 0\n"
			"  unknown_06: \"0000\"\n"
			"  flags: [lighting, fog, enable]\n"
			"# 1 at 0x0000018\n"
			"- colour: [127, 127, 127, 0]\n"
			"  texture: null\n"
			"  zero_05: \"01\"\n"
			"  unknown_06: abcd\n"
			"  flags: [0x00000100]\n");
	plan.size[1] = 31;                     /* the second record is cut off */
	assert_int_equal(object_section_doc(o, 1, start(&p), &e), 0);
	assert_page(&p, "# 0 at 0x0000008\n"
			"- colour: [255, 255, 255, 255]\n"
			"  texture: 0\n"
			"  unknown_06: \"0000\"\n"
			"  flags: [lighting, fog, enable]\n");
	plan.size[1] = 0;
	assert_int_equal(object_section_doc(o, 1, start(&p), &e), 0);
	assert_page(&p, "[]\n");
	plan.size[0] = 7;
	assert_int_equal(object_section_doc(o, 0, start(&p), &e), -EBADMSG);
	assert_string_equal(e.text, "header at 0x0: 7 bytes, expected 8");
	object_close(o);
}

/* More than what is read at once. */
static void test_long_section(void **state)
{
	static uint8_t bytes[8 + 16 * 5000];
	struct plan plan = { .size = { 8, sizeof bytes - 8, 0 } };
	struct object *o = open_planned(bytes, sizeof bytes, &plan);
	struct page p;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i / 16);
	assert_int_equal(object_section_doc(o, 1, start(&p), NULL), 0);
	buf_char(&p.out, '\0');
	assert_non_null(strstr((char *)p.out.p, "# 1023 at 0x0003ff8\n- colour: [255, 255, 255, 255]\n"));
	assert_non_null(strstr((char *)p.out.p, "# 1024 at 0x0004008\n- colour: [0, 0, 0, 0]\n"));
	assert_non_null(strstr((char *)p.out.p, "# 4999 at 0x0013878\n- colour: [135, 135, 135, 135]\n"));
	assert_null(strstr((char *)p.out.p, "# 5000"));
	buf_free(&p.out);
	assert_int_equal(object_verify(o, NULL), 0);
	object_close(o);
}

/* ---- verify ---- */

/* Tables that rec_check() would refuse, so that something can go wrong. */
static const struct label twice[] = { { 1, "one" }, { 2, "one" }, { 0, NULL } };
static const struct field ambiguous_fields[] = {
	{ .name = "kind", .doc = "Kind", .count = 2, .type = F_U8, .view = V_ENUM, .labels = twice,
	  .member = FIELD_NO_MEMBER },
};
static const struct label number[] = { { 2, "a b" }, { 0, NULL } };
static const struct field unreadable_fields[] = {
	{ .name = "kind", .doc = "Kind", .count = 1, .type = F_U16, .view = V_ENUM, .labels = number,
	  .member = FIELD_NO_MEMBER },
};
static const struct field shared_fields[] = {
	{ .name = "a", .doc = "A", .at = 0, .count = 1, .member = 0 },
	{ .name = "b", .doc = "B", .at = 1, .count = 1, .member = 0 },
};
static const struct record ambiguous = RECORD("ambiguous", "Ambiguous", 2, ambiguous_fields);
static const struct record unreadable = RECORD("unreadable", "Unreadable", 2, unreadable_fields);
static const struct record shared = RECORD("shared", "Two fields in one member", 2, shared_fields);

static void assert_verified(struct plan plan, int rc, const char *text)
{
	struct object *o = open_planned(file_bytes, sizeof file_bytes, &plan);
	struct err e = { 0 };

	assert_int_equal(object_verify(o, &e), rc);
	assert_string_equal(e.text, text);
	assert_int_equal(e.code, -rc);
	object_close(o);
}

static void test_verify(void **state)
{
	(void)state;
	assert_verified((struct plan){ .size = { 8, 32, 0 } }, 0, "");
	assert_verified((struct plan){ .size = { 8, 32, 0 }, .odd = &material_record }, 0, "");
	assert_verified((struct plan){ .size = { 8, 32, 0 }, .odd = &ambiguous }, -EILSEQ,
			"mesh 0: kind at 0x0: 02 prints as [one, 0x00], which reads back as 01");
	assert_verified((struct plan){ .size = { 8, 32, 0 }, .odd = &unreadable }, -EILSEQ,
			"mesh 0: kind at 0x0: its text a b is refused: \"a\" is none of a b");
	assert_verified((struct plan){ .size = { 8, 32, 0 }, .odd = &shared }, -EILSEQ,
			"shared at 0x0: byte 02 is 00 after decoding and encoding mesh 0");
	assert_verified((struct plan){ .size = { 8, 32, 0 }, .verify = EILSEQ }, -EILSEQ, "the format's own check");
	assert_verified((struct plan){ .size = { 5, 32, 0 } }, -EBADMSG, "header at 0x0: 5 bytes, expected 8");
}

static void test_verify_of_damaged_objects(void **state)
{
	struct plan plan = { .size = { 8, 32, 0 }, .odd = &ambiguous, .fault = "mesh 0 is broken" };

	(void)state;
	/* The damaged mesh is not looked at; everything else is. */
	assert_verified(plan, -EBADMSG, "mesh 0 is broken");
	plan.verify = EILSEQ;
	assert_verified(plan, -EILSEQ, "the format's own check");
	plan.verify = EBADMSG;
	assert_verified(plan, -EBADMSG, "mesh 0 is broken");
}

/* ---- the reference page ---- */

static const char reference_page[] =
	"# test: A format of tests\n"
	"\n"
	"Has a head; then materials.\n"
	"\n"
	"Integers and floats are little-endian. Names are the keys of the YAML files; there, "
	"*derived* values follow from others, and those *not shown* are only in `raw/`.\n"
	"\n"
	"## Version 5\n"
	"\n"
	"The old one.\n"
	"\n"
	"### header\n"
	"\n"
	"The head.\n"
	"One record of 8 bytes (0x8): Begins the file.\n"
	"Files: `raw/header.bin`, `header.yaml`.\n"
	"\n"
	"| Offset | Type | Name | Meaning |\n"
	"|---|---|---|---|\n"
	"| 0x00 | u16 | `count` | Materials; 0..16 (derived) |\n"
	"| 0x02 | u16 | `version` | Version of the file (derived) |\n"
	"| 0x04 | f32 | `radius` | Radius of the cull sphere \\| 0: a point; units |\n"
	"\n"
	"### materials\n"
	"\n"
	"Materials of the model. As many as the head says.\n"
	"A list of records of 16 bytes (0x10): A material.\n"
	"Files: `raw/materials.bin`, `materials.yaml`.\n"
	"\n"
	"| Offset | Type | Name | Meaning |\n"
	"|---|---|---|---|\n"
	"| 0x00 | u8[4] | `colour` | Colour; r, g, b, a |\n"
	"| 0x04 | u8 | `texture` | Image; 255 is `null` |\n"
	"| 0x05 | byte[1] | `zero_05` | Zero; shown when it is not |\n"
	"| 0x06 | byte[2] | `unknown_06` | Unknown |\n"
	"| 0x08 | u32 | `flags` | Lighting flags; bits: 0 `lighting`, 1 `fog`, 31 `enable` |\n"
	"| 0x0c | u32 | `leftover` | Left over (not shown) |\n"
	"\n"
	"### rest\n"
	"\n"
	"Whatever follows.\n"
	"Files: `raw/rest.bin`.\n"
	"\n"
	"## Version 6\n"
	"\n"
	"The new one.\n"
	"\n"
	"### header\n"
	"\n"
	"The head.\n"
	"One record of 8 bytes (0x8): Begins the file.\n"
	"Files: `raw/header.bin`, `header.yaml`.\n"
	"\n"
	"The record is that of version 5.\n"
	"\n"
	"### Record channel\n"
	"\n"
	"Begins a channel. 3 bytes (0x3).\n"
	"\n"
	"| Offset | Type | Name | Meaning |\n"
	"|---|---|---|---|\n"
	"| 0x00 | u16 | `channel` | What moves; 8 `rotation_x`, 0x1000 `other` |\n"
	"| 0x02 | u8, bit 0 | `smooth` | Whether it is smooth |\n"
	"| 0x02 | u8, bits 1-7 | `order` | Order of the curve |\n"
	"\n"
	"### Record key\n"
	"\n"
	"A key. 8 bytes (0x8).\n"
	"\n"
	"| Offset | Type | Name | Meaning |\n"
	"|---|---|---|---|\n"
	"| 0x00 | s16[4] | `key` | Key |\n";

static void test_reference_page(void **state)
{
	struct page p;

	(void)state;
	start(&p);
	recdoc_write(&p.out, &fmt_test);
	assert_page(&p, reference_page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_and_comments),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lists_in_lists),
		cmocka_unit_test(test_document_that_is_a_list),
		cmocka_unit_test(test_rows_of_mappings),
		cmocka_unit_test(test_derived_list),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_section_documents),
		cmocka_unit_test(test_long_section),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_verify_of_damaged_objects),
		cmocka_unit_test(test_reference_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
