/* PAK archives: what is one, what its entries are, where those of another length go, and what damage costs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mhp.h"
#include "build_pak.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_pak;

static const char long_name[] = "fiftysix_bytes_without_an_end_fiftysix_bytes_without_56x";
static const struct build_file_in_pak files[] = {
	{ "maps/one.mlp", "0123456789", 10 },
	{ "readme.txt", "hello", 5 },
	{ "maps/empty.dat", "", 0 },
	{ long_name, "abcdefghijklmnopqrst", 20 },
};
#define FILES ARRAY_LEN(files)
/* With the directory last: the files lie at 12, 22, 27, 27; the directory at 47, 256 bytes; 303 in all. */

static struct entries listed(struct object *o)
{
	struct entries v = { 0 };
	struct err e = { 0 };

	if (fmt_pak.container->list(o, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static void holds(struct object *o, uint32_t i, const void *p, size_t n)
{
	struct entries v = listed(o);
	struct source *src = entry_source(o->src, &fmt_pak, &v.v[i]);
	char got[256];

	assert_non_null(src);
	assert_int_equal(v.v[i].size, n);
	assert_int_equal(src_pread(src, got, n, 0), 0);
	assert_memory_equal(got, p, n);
	src_put(src);
}

static void is_sound(struct object *o)
{
	struct entries v = listed(o);
	struct err e = { 0 };

	if (o->faults)
		fail_msg("%s", o->faults->text);
	if (fmt_pak.container->verify(o, &v, &e))
		fail_msg("%s", e.text);
}

static void info_is(struct object *o, const char *want)
{
	struct entries v = listed(o);
	struct build_doc d;

	build_doc_init(&d);
	assert_int_equal(fmt_pak.container->info(o, &v, &d.doc, NULL), 0);
	buf_char(&d.text, 0);
	assert_string_equal((char *)d.text.p, want);
	buf_free(&d.text);
}

/* ---- what is one ---- */

static void test_places(void **state)
{
	static const struct build_pak kinds[] = {
		{ 0 }, { BUILD_PAK_FIRST }, { BUILD_PAK_BEHIND_ONE, .gap = 3 }, { .align = 2048 },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct buf b = { 0 };
		struct opened a;

		build_pak(&b, &kinds[k], files, FILES);
		assert_int_equal(bid_for(&fmt_pak, b.p, b.len), 90);
		a = open_buf(&fmt_pak, &b);
		assert_int_equal(listed(a.o).n, FILES);
		for (uint32_t i = 0; i < FILES; i++) {
			assert_string_equal(listed(a.o).name[i], files[i].name);
			assert_false(listed(a.o).v[i].shared);
			holds(a.o, i, files[i].p, files[i].n);
		}
		is_sound(a.o);
		close_opened(&a);
	}
}

static void test_info(void **state)
{
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
	assert_int_equal(b.len, 303);
	a = open_buf(&fmt_pak, &b);
	assert_int_equal(object_section(a.o, 0).size, 12);
	assert_int_equal(object_section(a.o, 1).at, 47);
	assert_int_equal(object_section(a.o, 1).size, 256);
	info_is(a.o, "entry_count: 4\ndirectory: 0x2f\nentry_bytes: 35\n");
	close_opened(&a);
}

/* Names end at the first zero; what stands behind it is no part of them, and stays. */
static void test_name_ends(void **state)
{
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
	memcpy(b.p + build_pak_entry(&b, 1), "a\0b\xff", 4);
	b.p[build_pak_entry(&b, 2)] = 0;
	a = open_buf(&fmt_pak, &b);
	assert_string_equal(listed(a.o).name[1], "a");
	assert_string_equal(listed(a.o).name[2], "");
	is_sound(a.o);
	close_opened(&a);
}

static void refused(const void *p, size_t n, const char *why)
{
	struct source *src = src_memory(p, n);
	struct err e = { 0 };

	assert_non_null(src);
	assert_int_equal(build_probe(&fmt_pak, src, "", NULL, 0, &e), 0);
	assert_string_equal(e.text, why);
	src_put(src);
}

static void test_others(void **state)
{
	(void)state;
	refused("PACK\x0c\0\0\0\0\0\0", 11, "PAK header at 0x0: 11 bytes, expected 12");
	refused("pack\x0c\0\0\0\0\0\0\0", 12, "");
	refused("PACK\x0c\0\0\0\x41\0\0\0", 12, "PAK directory size at 0x8: 0x41 is no multiple of 64");
	refused("PACK\x0c\0\0\0\x40\0\0\0", 12,
		"PAK directory at 0x4: 0x40 bytes at 0xc end past the 0xc of the file");
	refused("PACK\x0d\0\0\0\0\0\0\0", 12, "PAK directory at 0x4: 0x0 bytes at 0xd end past the 0xc of the file");
	refused("PACK\xc0\xff\xff\xff\x40\0\0\0", 12,
		"PAK directory at 0x4: 0x40 bytes at 0xffffffc0 end past the 0xc of the file");
	assert_int_equal(bid_for(&fmt_pak, "PACK\x0c\0\0\0\0\0\0\0", 12), 90);
}

static void test_too_many(void **state)
{
	uint8_t head[12] = "PACK";
	struct source *src = src_zeros(12 + 64 * (LIMIT_ENTRIES + 1ull));
	struct probe p = { .name = "", .size = src->size, .src = src, .head = head, .n = sizeof head };
	struct err why = { 0 };

	(void)state;
	put_le32(head + 4, 12);
	put_le32(head + 8, 64 * (LIMIT_ENTRIES + 1));
	p.why = &why;
	assert_int_equal(fmt_pak.probe(&p), 0);
	assert_string_equal(why.text, "PAK directory size at 0x8: 1048577 entries, at most 1048576 are read");
	put_le32(head + 8, 64 * LIMIT_ENTRIES);
	assert_int_equal(fmt_pak.probe(&p), 90);
	src_put(src);
}

/* ---- damage ---- */

/* Each costs the entry, and the others can still be read and written. */
static void test_lost(void **state)
{
	static const struct { uint32_t offset, size; const char *why; } cases[] = {
		{ 300, 5, "PAK entry at 0xa7: readme.txt: 0x5 bytes at 0x12c, the file has 0x12f" },
		{ 22, 0xffffffff, "PAK entry at 0xa7: readme.txt: 0xffffffff bytes at 0x16, the file has 0x12f" },
		{ 0xfffffff0, 0x20, "PAK entry at 0xa7: readme.txt: 0x20 bytes at 0xfffffff0, the file has 0x12f" },
		{ 304, 0, "PAK entry at 0xa7: readme.txt: 0x0 bytes at 0x130, the file has 0x12f" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct buf b = { 0 };
		struct opened a;
		struct source *src;
		char byte;

		build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
		build_pak_place(&b, 1, cases[k].offset, cases[k].size);
		a = open_buf(&fmt_pak, &b);
		assert_non_null(a.o->faults);
		assert_string_equal(a.o->faults->text, cases[k].why);
		assert_true(listed(a.o).v[1].lost);
		assert_int_equal(listed(a.o).v[1].size, 0);
		src = entry_source(a.o->src, &fmt_pak, &listed(a.o).v[1]);
		assert_int_equal(src_pread(src, &byte, 1, 0), -EBADMSG);
		src_put(src);
		for (uint32_t i = 0; i < FILES; i++) {
			assert_false(listed(a.o).v[i].shared);
			if (i != 1)
				holds(a.o, i, files[i].p, files[i].n);
		}
		close_opened(&a);
	}
}

static void test_many_lost(void **state)
{
	struct buf b = { 0 };
	struct opened a;
	unsigned lines = 0;

	(void)state;
	buf_add(&b, "PACK\x0c\0\0\0\0\0\0\0", 12);
	put_le32(b.p + 8, 300 * 64);
	for (unsigned i = 0; i < 300 * 64; i++)
		put8(&b, 0xff);
	a = open_buf(&fmt_pak, &b);
	for (const struct fault *f = a.o->faults; f; f = f->next)
		lines++;
	assert_int_equal(lines, 257);
	assert_int_equal(listed(a.o).n, 300);
	close_opened(&a);
}

/* Of each pair the bits say which of the four entries are shared. */
static void shares(unsigned i, uint32_t offset, uint32_t size, unsigned bits)
{
	struct buf b = { 0 };
	struct opened a;

	build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
	build_pak_place(&b, i, offset, size);
	a = open_buf(&fmt_pak, &b);
	for (uint32_t k = 0; k < FILES; k++)
		if (listed(a.o).v[k].shared != (bits >> k & 1))
			fail_msg("0x%x bytes at 0x%x: entry %u", size, offset, k);
	close_opened(&a);
}

static void test_shared(void **state)
{
	(void)state;
	shares(1, 12, 10, 3);                  /* the same place */
	shares(1, 11, 1, 2);                   /* the header */
	shares(1, 46, 2, 10);                  /* the end of the last, and the directory */
	shares(1, 302, 1, 2);
	shares(1, 303, 0, 0);
	shares(2, 12, 0, 0);                   /* nothing shares no byte */
	shares(0, 12, 11, 3);
	shares(0, 12, 16, 11);                 /* over one that is inside, into the next */
	shares(3, 0, 303, 11);                 /* the archive in itself */
}

static void test_shared_is_not_written(void **state)
{
	struct buf b = { 0 };
	struct edited k;
	struct entries v;
	struct source *src;
	struct err e = { 0 };

	(void)state;
	build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
	build_pak_place(&b, 1, 12, 10);
	edited_open(&k, &fmt_pak, b.p, b.len, b.len + 1000);
	k.around.grow = true;
	v = listed(k.o);
	assert_int_equal(fmt_pak.container->resize(k.o, &v, 0, 4, &e), -EPERM);
	assert_string_equal(e.text, "maps/one.mlp: something else of the archive has bytes of it too, so it stays as "
				    "it is");
	src = entry_source(k.o->src, &fmt_pak, &v.v[0]);
	assert_int_equal(src_write(src, "x", 1, 3, "text", &e), -EPERM);
	assert_string_equal(e.text, "text at 0x3 (archive 0xf): something else of the archive has these bytes too, so "
				    "they stay");
	src_put(src);
	info_is(k.o, "entry_count: 4\ndirectory: 0x2f\nentry_bytes: 40\nshared_entries: 2\n");
	assert_int_equal(edited_settle(&k), 0);
	edited_close(&k);
	buf_free(&b);
}

/* ---- other lengths ---- */

static int try_resize(struct edited *k, uint32_t i, uint64_t size, char why[240])
{
	struct entries v = listed(k->o);
	struct err e = { 0 };
	int rc = fmt_pak.container->resize(k->o, &v, i, size, &e);

	if (why)
		strcpy(why, e.text);
	else if (rc)
		fail_msg("%s", e.text);
	return rc;
}

/* As a save does it; what is in memory now is what is read anew. */
static void put(struct edited *k, uint32_t i, const void *p, size_t n)
{
	struct entries v;
	struct source *src;

	try_resize(k, i, n, NULL);
	v = listed(k->o);
	src = entry_source(k->o->src, &fmt_pak, &v.v[i]);
	assert_int_equal(src_write(src, p, n, 0, "text", NULL), 0);
	src_put(src);
	holds(k->o, i, p, n);
	edited_settle(k);
	holds(k->o, i, p, n);
	is_sound(k->o);
}

static void others_hold(struct edited *k, uint32_t but)
{
	for (uint32_t i = 0; i < FILES; i++)
		if (i != but)
			holds(k->o, i, files[i].p, files[i].n);
}

/* What differs from the beginning lies in one of these: a range, or the numbers of the entries that the bits name. */
static void only(const struct edited *k, unsigned bits, uint64_t at, uint64_t n)
{
	size_t first = le_u32(k->bytes[0] + 4);

	for (uint64_t b = 0; b < k->size_was[0]; b++) {
		bool number = b >= first && b < first + 64 * FILES && (b - first) % 64 >= 56 &&
			      bits >> (b - first) / 64 & 1;

		if (k->bytes[0][b] != k->was[0][b] && !number && (b < at || b >= at + n))
			fail_msg("byte 0x%llx changed", (unsigned long long)b);
	}
}

static void begin(struct edited *k, const struct build_pak *how, size_t room, bool grow)
{
	struct buf b = { 0 };

	build_pak(&b, how, files, FILES);
	edited_open(k, &fmt_pak, b.p, b.len, b.len + room);
	k->around.grow = grow;
	buf_free(&b);
}

static void test_shorter(void **state)
{
	struct edited k;

	(void)state;
	begin(&k, &(struct build_pak){ 0 }, 0, false);
	put(&k, 0, "ABC", 3);
	assert_int_equal(listed(k.o).v[0].at, 12);
	others_hold(&k, 0);
	only(&k, 1, 12, 10);
	for (unsigned at = 15; at < 22; at++)
		assert_int_equal(k.bytes[0][at], 0);
	put(&k, 0, "", 0);
	others_hold(&k, 0);
	assert_int_equal(listed(k.o).v[0].at, 12);
	put(&k, 0, "9876543210", 10);          /* and back to its full place */
	assert_int_equal(listed(k.o).v[0].at, 12);
	only(&k, 1, 12, 10);
	edited_close(&k);
}

static void test_into_gaps(void **state)
{
	struct edited k;
	char why[240];

	(void)state;
	begin(&k, &(struct build_pak){ .gap = 3 }, 1000, false);
	put(&k, 1, "hello you", 8);            /* 3 bytes up to where the empty one is and the next begins... */
	assert_int_equal(listed(k.o).v[1].at, 25);
	others_hold(&k, 1);
	only(&k, 2, 25, 8);
	/* ...and the 3 behind the empty one, which has no bytes. */
	put(&k, 1, "hello world", 11);
	assert_int_equal(listed(k.o).v[1].at, 25);
	others_hold(&k, 1);
	only(&k, 2, 25, 11);
	assert_int_equal(try_resize(&k, 1, 12, why), -ENOSPC);
	assert_string_equal(why, "readme.txt: its place has 11 bytes, 12 are needed: 1 bytes are missing; -o grow "
				 "would let it move to the end of the archive");
	/* The last one, up to the directory. */
	put(&k, 3, "abcdefghijklmnopqrstuvw", 23);
	only(&k, 2 | 8, 25, 11 + 20 + 3);
	assert_int_equal(try_resize(&k, 3, 24, why), -ENOSPC);
	/* An empty one that lies in another's bytes by now has no place. */
	assert_int_equal(try_resize(&k, 2, 1, why), -ENOSPC);
	assert_string_equal(why, "maps/empty.dat: its place has 0 bytes, 1 are needed: 1 bytes are missing; -o grow "
				 "would let it move to the end of the archive");
	assert_int_equal(edited_settle(&k), 0);
	edited_close(&k);
}

static void test_to_the_end(void **state)
{
	static const enum build_pak_where where[] = { BUILD_PAK_LAST, BUILD_PAK_FIRST, BUILD_PAK_BEHIND_ONE };
	struct edited k;

	(void)state;
	for (size_t w = 0; w < ARRAY_LEN(where); w++) {
		begin(&k, &(struct build_pak){ where[w], .align = 16 }, 1000, true);
		put(&k, 0, "01234567890123456789", 20);
		assert_int_equal(listed(k.o).v[0].at, (k.size_was[0] + 15) / 16 * 16);
		assert_int_equal(k.size[0], listed(k.o).v[0].at + 20);
		assert_non_null(strstr(k.said, "maps/one.mlp is at the end of the archive now: its place had "));
		others_hold(&k, 0);
		only(&k, 1, 0, 0);
		edited_close(&k);
	}
}

/* Where an entry was that moved, one before it may grow into. */
static void test_place_given_up(void **state)
{
	struct edited k;

	(void)state;
	begin(&k, &(struct build_pak){ 0 }, 1000, true);
	put(&k, 1, "hello world", 11);
	assert_int_equal(listed(k.o).v[1].at, 303);
	put(&k, 0, "012345678901234", 15);
	assert_int_equal(listed(k.o).v[0].at, 12);
	holds(k.o, 1, "hello world", 11);
	holds(k.o, 3, files[3].p, files[3].n);
	only(&k, 3, 12, 15);
	edited_close(&k);
}

/* Nothing lies behind it: it may end past the archive's end where what the archive lies in has room. */
static void test_last(void **state)
{
	struct edited k;
	char why[240];

	(void)state;
	begin(&k, &(struct build_pak){ BUILD_PAK_FIRST }, 6, false);
	put(&k, 3, "abcdefghijklmnopqrstuvwxyz", 26);
	assert_int_equal(k.size[0], 12 + 256 + 35 + 6);
	others_hold(&k, 3);
	only(&k, 8, 0, 0);
	assert_int_equal(try_resize(&k, 3, 27, why), -ENOSPC);
	assert_string_equal(why, "fiftysix_bytes_without_an_end_fiftysix_bytes_without_56x: its place has 26 bytes, 27 "
				 "are needed: 1 bytes are missing; -o grow would let the archive grow");
	edited_close(&k);
}

static void test_lost_is_written(void **state)
{
	struct buf b = { 0 };
	struct edited k;
	char why[240];

	(void)state;
	build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
	build_pak_place(&b, 1, 22, 0xffffffff);
	edited_open(&k, &fmt_pak, b.p, b.len, b.len + 1000);
	buf_free(&b);
	assert_int_equal(try_resize(&k, 1, 5, why), -ENOSPC);
	assert_int_equal(try_resize(&k, 0, 11, why), -ENOSPC);         /* there the lost one begins */
	k.around.grow = true;
	put(&k, 1, "there", 5);
	assert_int_equal(listed(k.o).v[1].at, 303);
	others_hold(&k, 1);
	only(&k, 2, 0, 0);
	edited_close(&k);
}

static void test_too_far(void **state)
{
	struct edited k;
	char why[240];

	(void)state;
	begin(&k, &(struct build_pak){ 0 }, 0, true);
	assert_int_equal(try_resize(&k, 0, 0xfffffff0, why), -EFBIG);
	assert_string_equal(why, "the archive would end at 0x10000011f; its offsets have 32 bits");
	assert_int_equal(edited_settle(&k), 0);
	edited_close(&k);
}

static void use(const uint8_t *p, size_t n)
{
	struct opened a = open_bytes(&fmt_pak, p, n);
	struct entries v;

	if (!fmt_pak.container->list(a.o, &v, NULL))
		for (uint32_t i = 0; i < v.n; i++)
			assert_true(v.v[i].lost || span_ok(n, v.v[i].at, v.v[i].size, 1));
	close_opened(&a);
}

static void test_any_bytes(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_pak(&b, &(struct build_pak){ 0 }, files, FILES);
	each_cut(&b, use);
	each_change(&b, use);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places), cmocka_unit_test(test_info), cmocka_unit_test(test_name_ends),
		cmocka_unit_test(test_others), cmocka_unit_test(test_too_many), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_many_lost), cmocka_unit_test(test_shared),
		cmocka_unit_test(test_shared_is_not_written), cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_into_gaps), cmocka_unit_test(test_to_the_end),
		cmocka_unit_test(test_place_given_up), cmocka_unit_test(test_last),
		cmocka_unit_test(test_lost_is_written), cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
