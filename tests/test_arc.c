/* ARC archives: what is one, what its entries are called and hold, and what damage costs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_arc.h"
#include "build_mhp.h"
#include "bytes.h"
#include "opened.h"

extern const struct format fmt_arc;

static const char line[] = "a line that is packed well, a line that is packed well, a line that is packed well";
static const uint8_t noise[] = { 0x31, 0xf2, 0x07, 0xc4, 0x99, 0x5e, 0xa0, 0x13, 0x77, 0xee };

static const struct build_file_in_arc files[] = {
	/* 2 bytes of header, 5 and 10, 4 of checksum. */
	{ "model\\em\\em001", ARC_TYPE_MOD, noise, sizeof noise, 0 },
	{ "model\\em\\em001", ARC_TYPE_TEX, line, sizeof line - 1, 6 },
	{ "model\\em\\em001", 0x0000beef, line, 40, 1 },
	{ "msg\\nothing", ARC_TYPE_GMD, "", 0, 9 },
	{ "msg\\empty", ARC_TYPE_GMD, "", 0, BUILD_NOTHING },
	{ "sixtyfour_bytes_without_an_end_sixtyfour_bytes_without_an_end_64", ARC_TYPE_GMD, line, 5, 0 },
};
#define FILES ARRAY_LEN(files)
static const char *const names[FILES] = {
	"model\\em\\em001.mod", "model\\em\\em001.tex", "model\\em\\em001.0000beef",
	"msg\\nothing.gmd", "msg\\empty.gmd",
	"sixtyfour_bytes_without_an_end_sixtyfour_bytes_without_an_end_64.gmd",
};

/* ---- reading ---- */

static struct entries listed(struct object *o)
{
	struct entries v = { 0 };
	struct err e = { 0 };

	if (fmt_arc.container->list(o, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static int read_all(struct object *o, const struct entry *v, uint8_t *to, struct err *e)
{
	struct source *src = entry_source(o->src, &fmt_arc, v);
	struct pin pin;
	int rc;

	assert_non_null(src);
	assert_int_equal(src->size, v->size);
	rc = src_pin(src, &pin, e);
	rc = rc ? rc : src_pread(src, to, (size_t)v->size, 0);
	src_unpin(&pin);
	src_put(src);
	return rc;
}

static void entry_is(struct object *o, uint32_t i, const char *name, const void *p, size_t n)
{
	struct entries v = listed(o);
	uint8_t *got = malloc(n + 1);
	struct err e = { 0 };

	assert_non_null(got);
	assert_true(i < v.n);
	assert_string_equal(v.name[i], name);
	assert_int_equal(v.v[i].size, n);
	if (read_all(o, &v.v[i], got, &e))
		fail_msg("%s: %s", name, e.text);
	if (n)
		assert_memory_equal(got, p, n);
	free(got);
}

static void fails(struct object *o, uint32_t i, const char *why)
{
	struct entries v = listed(o);
	uint8_t *got = malloc(v.v[i].size + 1);
	struct err e = { 0 };

	assert_non_null(got);
	assert_int_equal(read_all(o, &v.v[i], got, &e), -EBADMSG);
	assert_string_equal(e.text, why);
	free(got);
}

static int verify(struct object *o, struct err *e)
{
	struct entries v = listed(o);

	return fmt_arc.container->verify(o, &v, e);
}

static void is_sound(struct object *o)
{
	struct err e = { 0 };

	if (o->faults)
		fail_msg("%s", o->faults->text);
	if (verify(o, &e))
		fail_msg("%s", e.text);
}

static void info_is(struct object *o, const char *want)
{
	struct entries v = listed(o);
	struct build_doc d;

	build_doc_init(&d);
	assert_int_equal(fmt_arc.container->info(o, &v, &d.doc, NULL), 0);
	buf_char(&d.text, 0);
	assert_string_equal((char *)d.text.p, want);
	buf_free(&d.text);
}

static void holds_files(struct object *o)
{
	assert_int_equal(listed(o).n, FILES);
	for (uint32_t i = 0; i < FILES; i++)
		entry_is(o, i, names[i], files[i].p, files[i].n);
	is_sound(o);
}

static void test_versions(void **state)
{
	static const struct build_arc kinds[] = {
		{ 4 }, { 7 }, { 7, .first = 0x8000 }, { 8 }, { 0x10 }, { 0x11 }, { 0x13 }, { 0x63 },
		{ 7, .be = true }, { 8, .be = true }, { 8, .be = true, .low = true }, { 0x10, .be = true },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct buf b = { 0 };
		struct opened a;

		build_arc(&b, &kinds[k], files, FILES);
		assert_int_equal(bid_for(&fmt_arc, b.p, b.len), 90);
		a = open_buf(&fmt_arc, &b);
		assert_int_equal(object_section(a.o, 0).size, kinds[k].version < 0x10 ? 8 : 12);
		assert_int_equal(object_section(a.o, 1).at, kinds[k].version < 0x10 ? 8 : 12);
		assert_int_equal(object_section(a.o, 1).size, 80 * FILES);
		holds_files(a.o);
		close_opened(&a);
	}
}

static void test_info(void **state)
{
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_arc(&b, &(struct build_arc){ 0x11, .be = true }, &files[4], 1);
	a = open_buf(&fmt_arc, &b);
	info_is(a.o, "archive_version: 0x11\nbyte_order: big\nentry_count: 1\npacked_bytes: 0\nunpacked_bytes: 0\n");
	close_opened(&a);
	build_arc(&b, &(struct build_arc){ 7 }, &files[5], 1);
	a = open_buf(&fmt_arc, &b);
	/* A stored block: 2 bytes of header, 5 and 5, 4 of checksum. */
	info_is(a.o, "archive_version: 0x07\nbyte_order: little\nentry_count: 1\npacked_bytes: 16\n"
		"unpacked_bytes: 5\n");
	close_opened(&a);
}

/* No entries at all; a table that ends at the end of the file. */
static void test_smallest(void **state)
{
	struct opened a = open_bytes(&fmt_arc, "ARC\0\7\0\0", 8);

	(void)state;
	assert_int_equal(listed(a.o).n, 0);
	is_sound(a.o);
	close_opened(&a);
}

/* Both sizes are equal and the bytes are no zlib stream. */
static void test_stored(void **state)
{
	const struct build_file_in_arc v[] = {
		{ "a", ARC_TYPE_GMD, noise, sizeof noise, BUILD_STORED }, { "b", ARC_TYPE_GMD, "x", 1, BUILD_STORED },
		{ "c", ARC_TYPE_GMD, line, 20, 9 },
	};

	(void)state;
	for (unsigned low = 0; low < 2; low++) {
		struct buf b = { 0 };
		struct opened a;

		build_arc(&b, &(struct build_arc){ 8, .be = true, .low = low }, v, 3);
		a = open_buf(&fmt_arc, &b);
		entry_is(a.o, 0, "a.gmd", noise, sizeof noise);
		entry_is(a.o, 1, "b.gmd", "x", 1);
		entry_is(a.o, 2, "c.gmd", line, 20);
		assert_false(listed(a.o).v[0].packed);
		assert_true(listed(a.o).v[2].packed);
		is_sound(a.o);
		close_opened(&a);
	}
}

/* Numbers that both layouts of the word could mean, told apart by the only stream that can be read. */
static void test_layout_by_stream(void **state)
{
	uint8_t big[4000];
	const struct build_file_in_arc v[] = {
		{ "damaged", ARC_TYPE_GMD, line, 30, 9 }, { "sound", ARC_TYPE_GMD, big, sizeof big, 9 },
	};

	(void)state;
	memset(big, 'b', sizeof big);
	for (unsigned low = 0; low < 2; low++) {
		struct buf b = { 0 };
		struct opened a;
		uint32_t size = low ? sizeof big << 3 : sizeof big;    /* without flags */

		build_arc(&b, &(struct build_arc){ 8, .be = true, .low = low }, v, 2);
		put_be32(b.p + build_arc_entry(8, 1) + 0x48, size);
		b.p[be_u32(b.p + build_arc_entry(8, 0) + 0x4c) + 1] ^= 1;
		a = open_buf(&fmt_arc, &b);
		entry_is(a.o, 1, "sound.gmd", big, sizeof big);
		close_opened(&a);
	}
}

/* ---- what is none ---- */

static void refused(const void *p, size_t n, const char *why)
{
	struct source *src = src_memory(p, n);
	struct err e = { 0 };

	assert_non_null(src);
	assert_int_equal(build_probe(&fmt_arc, src, "", NULL, 0, &e), 0);
	assert_string_equal(e.text, why);
	src_put(src);
}

static void test_others(void **state)
{
	(void)state;
	refused("ARCC\7\0\0\0", 8, "ARC at 0x0: ARCC: it is encrypted, with a key of its game");
	refused("ARC\0\x11\0\1\0model\\em", 16,
		"ARC at 0x8: 0x65646f6d where other archives have 0: its data are packed with LZX, which modelfs "
		"cannot read");
	refused("arc\0\7\0\0\0", 8, "");
	refused("ARC", 3, "");
	/* Too large to be the beginning of a name. */
	assert_int_equal(bid_for(&fmt_arc, "ARC\0\x11\0\0\0\xff\xff\xff\xff", 12), 90);
}

/* ---- damage ---- */

struct damage { const char *what; unsigned field; uint32_t value; const char *fault, *why; };

/* Each costs the entry, and the others stay. */
static void test_lost(void **state)
{
	static const struct damage cases[] = {
		{ "inside the table", 0x4c, 16,
		  "ARC entry at 0x54: model/em/em001.mod: 0x15 bytes at 0x10, expected between 0x1e8 and 0x2a8" },
		{ "wild", 0x4c, 0xfffffff0,
		  "ARC entry at 0x54: model/em/em001.mod: 0x15 bytes at 0xfffffff0, expected between 0x1e8 and "
		  "0x2a8" },
		{ "too long", 0x44, 0xffffffff,
		  "ARC entry at 0x54: model/em/em001.mod: 0xffffffff bytes at 0x1e8, expected between 0x1e8 and "
		  "0x2a8" },
		{ "declared too large", 0x48, 0x5fffffff,
		  "ARC entry at 0x50: model/em/em001.mod: 536870911 bytes, at most 268435456 are read" },
		{ "not to be reached", 0x48, 0x4000ffff,
		  "ARC entry at 0x50: model/em/em001.mod: 65535 bytes, which a stream of 21 cannot become" },
		{ "declared too small", 0x48, 0x40000003, NULL,
		  "zlib stream at 0x0 (archive 0x1e8): it becomes more than 3 bytes, expected 3" },
		{ "declared too large by one", 0x48, 0x4000000b, NULL,
		  "zlib stream at 0x0 (archive 0x1e8): it becomes 10 bytes, expected 11" },
		{ "cut", 0x44, 20, NULL,
		  "zlib stream at 0x14 (archive 0x1fc): it is cut off, after 10 bytes unpacked" },
		{ "no stream", 0x4c, 0x1ea, NULL,
		  "zlib stream at 0x2 (archive 0x1ec): incorrect header check, after 0 bytes unpacked" },
	};
	struct build_file_in_arc stored[FILES];
	struct err e = { 0 };

	(void)state;
	memcpy(stored, files, sizeof files);
	for (size_t i = 0; i < FILES; i++)     /* in blocks that are as long everywhere */
		stored[i].level = stored[i].level > 0 ? 0 : stored[i].level;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct buf b = { 0 };
		struct opened a;

		build_arc(&b, &(struct build_arc){ 7 }, stored, FILES);
		assert_int_equal(b.len, 0x1e8 + 21 + 93 + 51 + 11 + 16);
		put_le32(b.p + 8 + cases[k].field, cases[k].value);
		a = open_buf(&fmt_arc, &b);
		if (cases[k].fault) {
			assert_string_equal(a.o->faults->text, cases[k].fault);
			assert_null(a.o->faults->next);
			assert_true(listed(a.o).v[0].lost);
		} else {
			assert_null(a.o->faults);
			fails(a.o, 0, cases[k].why);
			assert_int_equal(verify(a.o, &e), -EBADMSG);
		}
		for (uint32_t i = 1; i < FILES; i++)
			entry_is(a.o, i, names[i], files[i].p, files[i].n);
		close_opened(&a);
	}
}

/* A name in a message is one line of letters. */
static void test_lost_name(void **state)
{
	const struct build_file_in_arc v = { "new\nline\x01\xff", ARC_TYPE_GMD, line, 30, 9 };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_arc(&b, &(struct build_arc){ 7 }, &v, 1);
	put_le32(b.p + 8 + 0x4c, 0);
	a = open_buf(&fmt_arc, &b);
	assert_non_null(strstr(a.o->faults->text, ": new?line??.gmd: "));
	close_opened(&a);
}

/* The table does not fit: only the bytes are left. */
static void test_cut_table(void **state)
{
	struct opened a = open_bytes(&fmt_arc, "ARC\0\7\0\2\0", 8);
	struct entries v;
	struct err e = { 0 };

	(void)state;
	assert_null(a.o->variant);
	assert_string_equal(a.o->faults->text, "ARC table at 0x8: 2 entries of 80 bytes end past the 8 of the file");
	assert_int_equal(fmt_arc.container->list(a.o, &v, &e), -EBADMSG);
	close_opened(&a);
	a = open_bytes(&fmt_arc, "ARC\0\x10\0\0\0", 8);
	assert_string_equal(a.o->faults->text, "ARC header at 0x0: 8 bytes, expected 12");
	close_opened(&a);
}

/* As many faults as can be read; the rest is said once. */
static void test_many_lost(void **state)
{
	struct build_file_in_arc *v = calloc(1000, sizeof *v);
	struct buf b = { 0 };
	struct opened a;
	unsigned n = 0;

	(void)state;
	assert_non_null(v);
	for (unsigned i = 0; i < 1000; i++)
		v[i] = (struct build_file_in_arc){ "x", ARC_TYPE_GMD, line, 10, 9 };
	build_arc(&b, &(struct build_arc){ 7 }, v, 1000);
	for (unsigned i = 0; i < 1000; i++)
		put_le32(b.p + build_arc_entry(7, i) + 0x4c, 1);
	a = open_buf(&fmt_arc, &b);
	for (const struct fault *f = a.o->faults; f; f = f->next)
		n++;
	assert_int_equal(n, 257);
	close_opened(&a);
	free(v);
}

/* A bomb costs what it is said to become, not what it does. */
static void test_bomb(void **state)
{
	const size_t size = 64 << 20;
	void *zeros = calloc(1, size);
	struct build_file_in_arc v = { "bomb", ARC_TYPE_GMD, zeros, size, 9 };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	assert_non_null(zeros);
	build_arc(&b, &(struct build_arc){ 7 }, &v, 1);
	put_le32(b.p + 8 + 0x48, 0x40000064);
	a = open_buf(&fmt_arc, &b);
	fails(a.o, 0, "zlib stream at 0x0 (archive 0x58): it becomes more than 100 bytes, expected 100");
	close_opened(&a);
	free(zeros);
}

static void use(const uint8_t *p, size_t n)
{
	struct opened a = open_bytes(&fmt_arc, p, n);
	struct entries v = { 0 };
	struct err e = { 0 };
	uint8_t room[256];

	if (!fmt_arc.container->list(a.o, &v, &e))
		fmt_arc.container->verify(a.o, &v, &e);
	for (uint32_t i = 0; i < v.n; i++)
		if (v.v[i].size <= sizeof room)
			read_all(a.o, &v.v[i], room, &e);
	close_opened(&a);
}

static void test_hostile(void **state)
{
	static const struct build_arc kinds[] = { { 7 }, { 0x10, .be = true } };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct buf b = { 0 };

		build_arc(&b, &kinds[k], files, FILES);
		each_cut(&b, use);
		each_change(&b, use);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),     cmocka_unit_test(test_info),
		cmocka_unit_test(test_smallest),     cmocka_unit_test(test_stored),
		cmocka_unit_test(test_layout_by_stream), cmocka_unit_test(test_others),
		cmocka_unit_test(test_lost),         cmocka_unit_test(test_lost_name),
		cmocka_unit_test(test_cut_table),    cmocka_unit_test(test_many_lost),
		cmocka_unit_test(test_bomb),         cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
