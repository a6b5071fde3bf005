/* YAML that somebody wrote, matched with a small document: what is accepted is there afterwards, so the same text
 * changes nothing more; and what is there then prints as text that changes nothing either. */
#include <string.h>

#include "export.h"
#include "fuzz.h"
#include "plan.h"

static const struct label lights[] = { { 1, "lighting" }, { 2, "fog" }, { 0, NULL } };
static const struct label kinds[] = { { 8, "rotation_x" }, { 16, "rotation_y" }, { 0, NULL } };

#define F(name_, at_, type_, n, ...) \
	{ .name = name_, .doc = "Doc", .at = (at_), .count = (n), .type = type_, .member = FIELD_NO_MEMBER, \
	  __VA_ARGS__ }
static const struct field head_fields[] = {
	F("count", 0, F_U16, 1, .flags = FL_DERIVED), F("texture", 2, F_U8, 1, .flags = FL_NULL), PAD("zero_03", 3, 1),
	F("scale", 4, F_F32, 2), F("light", 12, F_U8, 1, .view = V_FLAGS, .labels = lights),
	F("kind", 13, F_U8, 1, .view = V_ENUM, .labels = kinds), F("low", 14, F_U8, 1, .bits = 4),
	F("high", 14, F_U8, 1, .bit = 4, .bits = 4), PAD("zero_0f", 15, 1), F("colour", 16, F_U8, 4, .view = V_COLOUR),
	F("name", 20, F_TEXT, 4), F("raw", 24, F_RAW, 2), F("key", 26, F_I16, 1),
};
static const struct field row_fields[] = { F("slot", 0, F_U8, 1), F("bone", 1, F_U8, 1) };
static const struct record head_record = RECORD("head", "Head", 28, head_fields);
static const struct record row_record = RECORD("row", "Row", 2, row_fields);

static int open_test(struct object *o, struct err *e)
{
	static const struct variant variant = { "1.0", "The one", NULL, 0, NULL };

	(void)e;
	o->variant = &variant;
	return 0;
}

static int doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	uint8_t raw[40];
	int rc = src_read(o->src, raw, sizeof raw, 0, "file", e);

	(void)kind;
	(void)index;
	if (rc)
		return rc;
	doc_text(d, "version", DOC_DERIVED, "\"1.0\"");
	doc_text(d, "visible", DOC_PLAIN, "true");
	doc_record(d, &head_record, false, raw, o->src, 0);
	doc_rows(d, "rows", &row_record, false, raw + 28, 4, o->src, 28, DOC_PLAIN);
	doc_list(d, "items", 2);
	for (unsigned i = 0; i < 2; i++) {
		doc_item(d);
		doc_record(d, &row_record, false, raw + 36 + 2 * i, o->src, 36 + 2 * i);
	}
	doc_end(d);
	return 0;
}

static const struct model_ops ops = { .open = open_test, .doc = doc };
static const struct format format = { .name = "test", .title = "Test", .model = &ops };

/* Applies a text; what it left over is refused. */
static int apply(struct object *o, const uint8_t *text, size_t n)
{
	struct arena a = { 0 };
	struct yedit_rest rest = { 0 };
	struct ynode *root;
	struct err e;
	int rc = yaml_read(text, n, &root, &a, &e);

	rc = rc ? rc : yedit_apply(o, 0, 0, root, &rest, &a, &e);
	rc = rc ? rc : yedit_refuse(&rest, &e);
	if (rc && strnlen(e.text, sizeof e.text) == sizeof e.text)
		abort();
	arena_free(&a);
	return rc;
}

static void expect_no_change(struct object *o, const uint8_t *text, size_t n)
{
	uint8_t before[40], after[40];

	if (src_pread(o->src, before, sizeof before, 0) || apply(o, text, n) ||
	    src_pread(o->src, after, sizeof after, 0) || memcmp(before, after, sizeof before))
		abort();
}

static void edit(struct object *o, const uint8_t *text, size_t n)
{
	struct buf out = { 0 };
	struct ydoc y;
	struct err e;

	if (apply(o, text, n))
		return;
	expect_no_change(o, text, n);
	ydoc_init(&y, &out);
	if (doc(o, 0, 0, &y.doc, &e) || out.bad)
		abort();
	expect_no_change(o, out.p, out.len);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t bytes[40] = {
		2, 0, 0xff, 0, 0, 0, 0x80, 0x3f, 1, 0, 0xc0, 0x7f, 3, 8, 0x5a, 0, 1, 2, 3, 4, 'a',
	};
	struct source *memory = src_memory(bytes, sizeof bytes), *overlay;
	struct plan plan;
	struct object *o;
	struct err e;

	if (!memory)
		return 0;
	plan_init(&plan, memory);
	overlay = src_overlay(&plan);
	if (!overlay || object_open(&format, overlay, NULL, &o, &e))
		abort();
	edit(o, data, size);
	object_close(o);
	src_put(overlay);
	plan_free(&plan);
	src_put(memory);
	return 0;
}
