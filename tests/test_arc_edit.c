/* Entries of ARC archives that hold something else: where it goes, and that all else stays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "build_arc.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_arc;

#define NNOISE 300u
static uint8_t noise[NNOISE], other[NNOISE];
static const char text[] = "a text that is packed well, a text that is packed well, a text that is packed well";
#define NTEXT (sizeof text - 1)

static int make_noise(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_noise(&b, 2 * NNOISE, 5);
	memcpy(noise, b.p, NNOISE);
	memcpy(other, b.p + NNOISE, NNOISE);
	buf_free(&b);
	return 0;
}

/* ---- an archive that is edited ---- */

static const struct build_file_in_arc files[] = {
	{ "a\\noise", ARC_TYPE_MOD, noise, NNOISE, 9 },
	{ "a\\text", ARC_TYPE_TEX, text, NTEXT, 9 },
	{ "b\\last", ARC_TYPE_GMD, text, 20, 9 },
};

static void begin_files(struct edited *k, const struct build_arc *how, const struct build_file_in_arc *v, unsigned n,
			size_t room)
{
	struct buf b = { 0 };

	build_arc(&b, how, v, n);
	edited_open(k, &fmt_arc, b.p, b.len, b.len + room);
	buf_free(&b);
}

static void begin(struct edited *k, const struct build_arc *how, size_t room)
{
	begin_files(k, how, files, ARRAY_LEN(files), room);
}

static struct entries listed(struct object *o)
{
	struct entries v = { 0 };

	assert_int_equal(fmt_arc.container->list(o, &v, NULL), 0);
	return v;
}

static int try_put(struct edited *k, uint32_t i, const void *p, size_t n, char why[240])
{
	struct entries v = listed(k->o);
	struct source *now = src_memory(p, n);
	struct err e = { 0 };
	int rc;

	assert_non_null(now);
	rc = fmt_arc.container->put(k->o, &v, i, now, &e);
	src_put(now);
	if (why)
		strcpy(why, e.text);
	else if (rc)
		fail_msg("%s", e.text);
	return rc;
}

static struct entry entry_of(struct edited *k, uint32_t i)
{
	return listed(k->o).v[i];
}

static void holds(struct edited *k, uint32_t i, const void *p, size_t n)
{
	struct entry v = entry_of(k, i);
	struct source *src = entry_source(k->o->src, &fmt_arc, &v);
	uint8_t *got = malloc(n + 1);

	assert_non_null(src);
	assert_non_null(got);
	assert_int_equal(v.size, n);
	assert_int_equal(src_pread(src, got, n, 0), 0);
	if (n)
		assert_memory_equal(got, p, n);
	free(got);
	src_put(src);
}

/* Saved; what is in memory now is what is read anew. */
static void put(struct edited *k, uint32_t i, const void *p, size_t n)
{
	struct entries v;
	struct err e = { 0 };

	try_put(k, i, p, n, NULL);
	holds(k, i, p, n);
	edited_settle(k);
	holds(k, i, p, n);
	v = listed(k->o);
	if (fmt_arc.container->verify(k->o, &v, &e))
		fail_msg("%s", e.text);
	assert_null(k->o->faults);
}

static void others_hold(struct edited *k, const struct build_file_in_arc *v, unsigned n, uint32_t but)
{
	for (uint32_t i = 0; i < n; i++)
		if (i != but)
			holds(k, i, v[i].p, v[i].level == BUILD_NOTHING ? 0 : v[i].n);
}

/* Bytes [at, at + n) and those of the table's entry i are all that differ. */
static void only(const struct edited *k, uint16_t version, uint32_t i, uint64_t at, uint64_t n)
{
	size_t numbers = build_arc_entry(version, i) + 0x44;

	for (uint64_t b = 0; b < k->size_was[0]; b++)
		if (k->bytes[0][b] != k->was[0][b] && (b < numbers || b >= numbers + 12) && (b < at || b >= at + n))
			fail_msg("byte 0x%llx changed", (unsigned long long)b);
}

static void is_zero(const struct edited *k, uint64_t at, uint64_t n)
{
	for (uint64_t b = 0; b < n; b++)
		assert_int_equal(k->bytes[0][at + b], 0);
}

/* ---- in its place ---- */

static void test_same_size(void **state)
{
	static const struct build_arc kinds[] = {
		{ 7 }, { 0x11 }, { 8, .be = true }, { 8, .be = true, .low = true }, { 7, .first = 0x8000 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct edited k;
		struct entry was;

		begin(&k, &kinds[i], 0);
		was = entry_of(&k, 0);
		put(&k, 0, other, NNOISE);
		assert_int_equal(entry_of(&k, 0).at, was.at);
		others_hold(&k, files, ARRAY_LEN(files), 0);
		only(&k, kinds[i].version, 0, was.at, was.stream);
		assert_int_equal(k.size[0], k.size_was[0]);
		edited_close(&k);
	}
}

/* Flags of the size stay where they are. */
static void test_size_word(void **state)
{
	static const struct { struct build_arc how; const char *word; } kinds[] = {
		{ { 7 }, "\x05\0\0\xa0" }, { { 8, .be = true }, "\xa0\0\0\x05" },
		{ { 8, .be = true, .low = true }, "\0\0\0\x2d" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct edited k;
		struct buf b = { 0 };
		uint8_t *word;

		build_arc(&b, &kinds[i].how, files, ARRAY_LEN(files));
		word = b.p + build_arc_entry(kinds[i].how.version, 1) + 0x48;
		/* Flags 2 become 5. */
		word[kinds[i].how.be && !kinds[i].how.low ? 0 : 3] ^= kinds[i].how.low ? 7 : 0xe0;
		edited_open(&k, &fmt_arc, b.p, b.len, b.len);
		buf_free(&b);
		put(&k, 1, "hello", 5);
		assert_memory_equal(k.bytes[0] + build_arc_entry(kinds[i].how.version, 1) + 0x48, kinds[i].word, 4);
		edited_close(&k);
	}
}

static void test_shorter(void **state)
{
	struct edited k;
	struct entry was, now;

	(void)state;
	begin(&k, &(struct build_arc){ 7 }, 0);
	was = entry_of(&k, 0);
	put(&k, 0, text, NTEXT);
	now = entry_of(&k, 0);
	assert_int_equal(now.at, was.at);
	assert_true(now.stream < was.stream);
	is_zero(&k, now.at + now.stream, was.stream - now.stream);
	only(&k, 7, 0, was.at, was.stream);
	/* And back again, into the zeros. */
	put(&k, 0, noise, NNOISE);
	assert_int_equal(entry_of(&k, 0).at, was.at);
	assert_memory_equal(k.bytes[0], k.was[0], 8);
	others_hold(&k, files, ARRAY_LEN(files), 3);
	edited_close(&k);
}

static void test_slack(void **state)
{
	struct edited k;
	struct entry was;

	(void)state;
	begin(&k, &(struct build_arc){ 7, .gap = 400 }, 0);
	was = entry_of(&k, 1);
	put(&k, 1, other, NNOISE);
	assert_int_equal(entry_of(&k, 1).at, was.at);
	others_hold(&k, files, ARRAY_LEN(files), 1);
	only(&k, 7, 1, was.at, was.stream + 400);
	edited_close(&k);
}

/* Bytes behind a stream that are not zero are somebody's. */
static void test_no_slack(void **state)
{
	struct edited k;
	struct buf b = { 0 };
	char why[240];

	(void)state;
	build_arc(&b, &(struct build_arc){ 7, .gap = 400 }, files + 1, 1);
	b.p[b.len - 400 + 3] = 1;
	edited_open(&k, &fmt_arc, b.p, b.len, b.len);
	buf_free(&b);
	assert_int_equal(try_put(&k, 0, other, NNOISE, why), -ENOSPC);
	edited_close(&k);
}

/* ---- no room ---- */

static void test_no_room(void **state)
{
	struct edited k;
	struct kept kept;
	char why[240], want[240];
	struct entry was;

	(void)state;
	begin(&k, &(struct build_arc){ 7 }, 0);
	kept = edited_keep(&k);
	was = entry_of(&k, 1);
	assert_int_equal(try_put(&k, 1, other, NNOISE, why), -ENOSPC);
	/* Stored: 2 bytes of header, 5, the bytes, 4 of checksum. */
	snprintf(want, sizeof want,
		 "a/text.tex: the place of its stream has %u bytes, %u are needed: %u bytes are missing; "
		 "-o grow would let the archive grow", was.stream, NNOISE + 11, NNOISE + 11 - was.stream);
	assert_string_equal(why, want);
	edited_settle(&k);
	edited_same(&k, &kept);
	others_hold(&k, files, ARRAY_LEN(files), 3);
	edited_close(&k);
}

static void test_too_large(void **state)
{
	struct edited k;
	struct entries v;
	struct source *now = src_zeros(LIMIT_DECODED + 1);
	struct err e = { 0 };

	(void)state;
	begin(&k, &(struct build_arc){ 7 }, 0);
	v = listed(k.o);
	assert_int_equal(fmt_arc.container->put(k.o, &v, 0, now, &e), -EFBIG);
	assert_string_equal(e.text, "268435457 bytes, at most 268435456 can be packed");
	src_put(now);
	edited_close(&k);
}

/* ---- elsewhere ---- */

static void test_append(void **state)
{
	struct edited k;
	struct entry was, now;
	uint64_t end;

	(void)state;
	begin(&k, &(struct build_arc){ 7 }, 1000);
	was = entry_of(&k, 1);
	end = k.size[0];
	put(&k, 1, other, NNOISE);
	now = entry_of(&k, 1);
	assert_int_equal(now.at, end);
	assert_int_equal(k.size[0], end + NNOISE + 11);
	is_zero(&k, was.at, was.stream);
	only(&k, 7, 1, was.at, was.stream);
	others_hold(&k, files, ARRAY_LEN(files), 1);
	assert_non_null(strstr(k.said, "a/text.tex is at the end of the archive now: its place had "));
	/* The last one just becomes longer; and a shorter one leaves its room. */
	put(&k, 1, noise, NNOISE - 1);
	assert_int_equal(entry_of(&k, 1).at, end);
	put(&k, 1, noise, NNOISE);
	assert_int_equal(k.size[0], end + NNOISE + 11);
	edited_close(&k);
}

static void test_last(void **state)
{
	struct edited k;
	struct entry was;

	(void)state;
	begin(&k, &(struct build_arc){ 7 }, 1000);
	was = entry_of(&k, 2);
	put(&k, 2, other, NNOISE);
	assert_int_equal(entry_of(&k, 2).at, was.at);
	assert_int_equal(k.size[0], was.at + NNOISE + 11);
	assert_string_equal(k.said, "");
	edited_close(&k);
}

/* What moved away leaves a hole for the next one. */
static void test_hole(void **state)
{
	static const struct build_file_in_arc v[] = {
		{ "first", ARC_TYPE_GMD, text, 5, 9 }, { "long", ARC_TYPE_GMD, noise, NNOISE, 9 },
		{ "short", ARC_TYPE_GMD, text, 30, 9 }, { "end", ARC_TYPE_GMD, text, 10, 9 },
	};
	uint8_t both[2 * NNOISE];
	struct edited k;
	struct entry hole;
	uint64_t end;

	(void)state;
	memcpy(both, noise, NNOISE);
	memcpy(both + NNOISE, other, NNOISE);
	begin_files(&k, &(struct build_arc){ 7, .first = 0x400 }, v, 4, 2000);
	hole = entry_of(&k, 1);
	put(&k, 1, both, sizeof both);
	end = k.size[0];
	put(&k, 2, other, NNOISE - 10);
	assert_int_equal(entry_of(&k, 2).at, hole.at);
	assert_int_equal(k.size[0], end);
	assert_int_equal(entry_of(&k, 0).at, 0x400);
	holds(&k, 0, text, 5);
	holds(&k, 1, both, sizeof both);
	holds(&k, 3, text, 10);
	edited_close(&k);
}

/* Two entries with one stream: the other keeps it. */
static void test_shared(void **state)
{
	struct edited k;
	struct buf b = { 0 };
	struct entry was;
	char why[240];

	(void)state;
	build_arc(&b, &(struct build_arc){ 7 }, files, 3);
	memcpy(b.p + build_arc_entry(7, 1) + 0x44, b.p + build_arc_entry(7, 0) + 0x44, 12);
	edited_open(&k, &fmt_arc, b.p, b.len, b.len);
	assert_int_equal(try_put(&k, 1, other, NNOISE, why), -ENOSPC);
	assert_non_null(strstr(why, "has 0 bytes"));
	edited_close(&k);
	edited_open(&k, &fmt_arc, b.p, b.len, b.len + 1000);
	buf_free(&b);
	was = entry_of(&k, 0);
	put(&k, 1, other, NNOISE);
	assert_int_equal(entry_of(&k, 0).at, was.at);
	holds(&k, 0, noise, NNOISE);
	only(&k, 7, 1, 0, 0);
	edited_close(&k);
}

static void test_from_nothing(void **state)
{
	static const struct build_file_in_arc v[] = {
		{ "empty", ARC_TYPE_GMD, "", 0, BUILD_NOTHING }, { "full", ARC_TYPE_GMD, text, NTEXT, 9 },
	};
	struct edited k;
	uint64_t end;

	(void)state;
	begin_files(&k, &(struct build_arc){ 0x10 }, v, 2, 500);
	end = k.size[0];
	put(&k, 0, "hello", 5);
	assert_int_equal(entry_of(&k, 0).at, end);
	holds(&k, 1, text, NTEXT);
	put(&k, 0, "", 0);
	put(&k, 1, "", 0);
	assert_int_equal(entry_of(&k, 1).stream, 8);
	put(&k, 1, text, NTEXT);
	edited_close(&k);
}

/* Its place cannot be, so it gets another one. */
static void test_lost(void **state)
{
	struct edited k;
	struct buf b = { 0 };

	(void)state;
	build_arc(&b, &(struct build_arc){ 7 }, files, 3);
	put_le32(b.p + build_arc_entry(7, 0) + 0x4c, 20);
	edited_open(&k, &fmt_arc, b.p, b.len, b.len + 1000);
	assert_non_null(k.o->faults);
	put(&k, 0, text, NTEXT);
	assert_int_equal(entry_of(&k, 0).at, b.len);
	only(&k, 7, 0, 0, 0);
	buf_free(&b);
	edited_close(&k);
}

/* Between a place that cannot be and one that can lies no hole, but the table. */
static void test_lost_in_table(void **state)
{
	struct edited k;
	struct buf b = { 0 };

	(void)state;
	build_arc(&b, &(struct build_arc){ 7, .first = 0x400 }, files, 3);
	put_le32(b.p + build_arc_entry(7, 0) + 0x4c, 4);
	put_le32(b.p + build_arc_entry(7, 0) + 0x44, 20);
	edited_open(&k, &fmt_arc, b.p, b.len, b.len + 1000);
	put(&k, 0, "hello", 5);
	assert_int_equal(entry_of(&k, 0).at, b.len);
	only(&k, 7, 0, 0, 0);
	buf_free(&b);
	edited_close(&k);
}

/* ---- stored as it is ---- */

static const struct build_file_in_arc plain[] = {
	{ "plain", ARC_TYPE_GMD, noise, NNOISE, BUILD_STORED }, { "packed", ARC_TYPE_GMD, text, NTEXT, 9 },
};

static void test_stored(void **state)
{
	struct edited k;
	struct entry was;
	uint8_t now[NNOISE];

	(void)state;
	begin_files(&k, &(struct build_arc){ 8, .be = true }, plain, 2, 0);
	was = entry_of(&k, 0);
	assert_false(was.packed);
	put(&k, 0, other, NNOISE);
	assert_false(entry_of(&k, 0).packed);
	only(&k, 8, 0, was.at, NNOISE);
	put(&k, 0, other, NNOISE - 7);
	assert_false(entry_of(&k, 0).packed);
	is_zero(&k, was.at + NNOISE - 7, 7);
	/* It would be taken for a stream. */
	memset(now, 'x', sizeof now);
	memcpy(now, "\x78\x9c", 2);
	put(&k, 0, now, sizeof now);
	assert_true(entry_of(&k, 0).packed);
	holds(&k, 1, text, NTEXT);
	edited_close(&k);
}

/* Too long for its place as it is, but not as a stream. */
static void test_stored_longer(void **state)
{
	struct edited k;
	char now[NNOISE + 100];
	struct entry was;

	(void)state;
	memset(now, 'n', sizeof now);
	begin_files(&k, &(struct build_arc){ 8, .be = true }, plain, 2, 0);
	was = entry_of(&k, 0);
	put(&k, 0, now, sizeof now);
	assert_true(entry_of(&k, 0).packed);
	assert_int_equal(entry_of(&k, 0).at, was.at);
	edited_close(&k);
}

/* ---- how streams are made ---- */

/* A game that makes streams with a smaller window may have no more memory. */
static void test_window(void **state)
{
	struct edited k;
	struct buf b = { 0 };
	uint8_t *stream;

	(void)state;
	build_arc(&b, &(struct build_arc){ 7 }, files, 3);
	stream = b.p + le_u32(b.p + build_arc_entry(7, 0) + 0x4c);
	memcpy(stream, "\x68\xde", 2);         /* a window of 16 KiB, slowest */
	edited_open(&k, &fmt_arc, b.p, b.len, b.len);
	buf_free(&b);
	put(&k, 0, other, NNOISE);
	assert_int_equal(k.bytes[0][entry_of(&k, 0).at], 0x68);
	put(&k, 1, "hello", 5);
	assert_int_equal(k.bytes[0][entry_of(&k, 1).at], 0x78);
	edited_close(&k);
}

/* As many as 2,000 numbers at the best level: a change of one leaves the stream in its place. */
static void test_changed_value(void **state)
{
	uint8_t now[8000];
	struct build_file_in_arc v[] = {
		{ "numbers", ARC_TYPE_MOD, now, sizeof now, 9 }, { "end", ARC_TYPE_GMD, text, 9, 9 },
	};
	unsigned fit = 0;
	uint32_t seed = 9;

	(void)state;
	for (size_t i = 0; i < sizeof now; i++) {
		seed = seed * 1664525 + 1013904223;
		now[i] = i % 4 == 3 ? 0x3f : i % 4 == 2 ? (seed >> 24) % 60 : i % 4 == 1 ? seed >> 24 & 0xf0 : 0;
	}
	for (unsigned i = 0; i < 20; i++) {
		uint8_t was[4];
		struct edited k;
		char why[240];

		begin_files(&k, &(struct build_arc){ 7 }, v, 2, 0);
		memcpy(was, now + i * 400, 4);
		put_le32(now + i * 400, 0xdeadbeef ^ i);
		fit += !try_put(&k, 0, now, sizeof now, why);
		memcpy(now + i * 400, was, 4);
		edited_close(&k);
	}
	assert_true(fit >= 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_size), cmocka_unit_test(test_size_word), cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_slack), cmocka_unit_test(test_no_slack), cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_too_large), cmocka_unit_test(test_append), cmocka_unit_test(test_last),
		cmocka_unit_test(test_hole), cmocka_unit_test(test_shared), cmocka_unit_test(test_from_nothing),
		cmocka_unit_test(test_lost), cmocka_unit_test(test_lost_in_table), cmocka_unit_test(test_stored),
		cmocka_unit_test(test_stored_longer), cmocka_unit_test(test_window), cmocka_unit_test(test_changed_value),
	};

	return cmocka_run_group_tests(tests, make_noise, NULL);
}
