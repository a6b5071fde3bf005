/* Sources of packed bytes: how often they are unpacked, what is kept, where they come from; zlib streams. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "zstream.h"

#define SIZE 100000u

static uint8_t text[SIZE], stream[SIZE + 1000];
static size_t nstream;

/* Bytes that compress to about a half. */
static int make_stream(void **state)
{
	uint32_t seed = 1;
	uLongf n = sizeof stream;

	(void)state;
	for (size_t i = 0; i < SIZE; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = seed >> 28;
	}
	if (compress2(stream, &n, text, SIZE, 6) != Z_OK)
		return -1;
	nstream = n;
	return 0;
}

/* ---- a packer that counts ---- */

static unsigned whole, parts;

static int count_unpack(struct source *src, uint8_t *to, size_t n, uint64_t size, struct err *e)
{
	(void)e;
	whole += n == size;
	parts += n != size;
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)i;
	return src_pread(src, to, 1, 0);
}

static const struct packer counting = { .ratio = 1000, .unpack = count_unpack };

/* Keeps one thing, and counts who holds it. */
struct one { struct keeper k; const struct keep *which; uint8_t *p; unsigned held, gets; };

static int one_get(const struct keeper *k, const struct keep *which, struct source *src, struct unpacked *out,
		   struct err *e)
{
	struct one *o = (struct one *)(uintptr_t)k;
	int rc = o->p ? 0 : src_unpack(src, &o->p, e);

	o->gets++;
	o->held += !rc;
	assert_int_equal(which->unit, 7);
	assert_int_equal(which->index, 8);
	assert_int_equal(which->gen, 9);
	*out = (struct unpacked){ o->p, o };
	return rc;
}

static void one_put(const struct keeper *k, struct unpacked *u)
{
	struct one *o = (struct one *)(uintptr_t)k;

	assert_ptr_equal(u->hold, o);
	o->held--;
}

static struct source *packed(const void *p, size_t n, const struct packer *packer, uint64_t size,
			     const struct keep *keep)
{
	struct source *memory = src_memory(p, n), *src;

	assert_non_null(memory);
	src = src_packed(memory, packer, size, keep);
	src_put(memory);
	assert_non_null(src);
	return src;
}

static void test_kept_by_itself(void **state)
{
	struct source *src = packed("abcdefghij", 10, &counting, 5000, NULL);
	uint8_t got[8];

	(void)state;
	whole = parts = 0;
	assert_int_equal(src_pread(src, got, 3, 0), 0);
	assert_memory_equal(got, "a\1\2", 3);
	assert_int_equal(src_pread(src, got, 2, 4998), 0);
	assert_int_equal(got[1], 4999 & 0xff);
	assert_int_equal(src_pread(src, got, 1, 5000), -EBADMSG);
	assert_int_equal(src_pread(src, got, 0, 5000), 0);
	assert_int_equal(src_pwrite(src, got, 1, 0), -EROFS);
	assert_int_equal(whole, 1);
	assert_int_equal(parts, 0);
	assert_null(src_map(src, 1, 0));
	src_put(src);
}

static void test_kept_elsewhere(void **state)
{
	struct one one = { .k = { one_get, one_put } };
	const struct keep keep = { .by = &one.k, .unit = 7, .index = 8, .gen = 9 };
	struct source *src = packed("abcdefghij", 10, &counting, 5000, &keep), *slice = src_slice(src, 100, 50);
	struct pin pin, none;
	uint8_t got[8];

	(void)state;
	whole = parts = 0;
	assert_int_equal(src_pread(slice, got, 2, 1), 0);
	assert_int_equal(got[0], 101);
	assert_int_equal(one.held, 0);
	assert_int_equal(src_pin(slice, &pin, NULL), 0);
	assert_int_equal(one.held, 1);
	assert_int_equal(src_pread(src, got, 1, 0), 0);
	src_unpin(&pin);
	src_unpin(&pin);
	assert_int_equal(one.held, 0);
	assert_int_equal(whole, 1);
	assert_int_equal(src_pin(src->parent, &none, NULL), 0);        /* nothing is packed there */
	src_unpin(&none);
	assert_int_equal(one.gets, 3);
	src_put(slice);
	src_put(src);
	unpacked_free(one.p, 5000);
}

/* Who only looks at the beginning has no more than that unpacked; what lies behind is had as ever. */
static void test_peek(void **state)
{
	struct one one = { .k = { one_get, one_put } };
	const struct keep keep = { .by = &one.k, .unit = 7, .index = 8, .gen = 9, .peek = true };
	struct source *src = packed("abcdefghij", 10, &counting, 5000, &keep);
	uint8_t got[4096];

	(void)state;
	whole = parts = 0;
	assert_int_equal(src_pread(src, got, 128, 0), 0);
	assert_int_equal(src_pread(src, got, 4096 - 128, 128), 0);
	assert_int_equal(got[0], 128);
	assert_int_equal(parts, 2);
	assert_int_equal(one.gets, 0);
	assert_int_equal(src_pread(src, got, 1, 4096), 0);
	assert_int_equal(whole, 1);
	assert_int_equal(one.gets, 1);
	src_put(src);
	unpacked_free(one.p, 5000);
}

/* What is no longer than a beginning is unpacked once, for who reads it after the look. */
static void test_peek_short(void **state)
{
	struct one one = { .k = { one_get, one_put } };
	const struct keep keep = { .by = &one.k, .unit = 7, .index = 8, .gen = 9, .peek = true };
	struct source *src = packed("abcdefghij", 10, &counting, 4096, &keep);
	uint8_t got[128];

	(void)state;
	whole = parts = 0;
	assert_int_equal(src_pread(src, got, 128, 0), 0);
	assert_int_equal(src_pread(src, got, 128, 4096 - 128), 0);
	assert_int_equal(parts, 0);
	assert_int_equal(whole, 1);
	assert_int_equal(one.gets, 2);
	src_put(src);
	unpacked_free(one.p, 4096);
}

/* Neither memory nor time goes to sizes that cannot be. */
static void test_sizes(void **state)
{
	struct source *src = packed("abcdefghij", 10, &counting, 11000, NULL);
	struct err e = { 0 };
	struct pin pin;

	(void)state;
	whole = parts = 0;
	assert_int_equal(src_pin(src, &pin, &e), -EBADMSG);
	assert_string_equal(e.text, "stream at 0x0: 10 bytes cannot become 11000");
	src_put(src);
	src = packed("abcdefghij", 10, &counting, LIMIT_DECODED + 1, NULL);
	assert_int_equal(src_pin(src, &pin, &e), -EFBIG);
	assert_string_equal(e.text, "stream at 0x0: it becomes 268435457 bytes, at most 268435456 are allowed");
	assert_int_equal(whole + parts, 0);
	src_put(src);
}

/* A stream in a slice, and one inside what it becomes: all of it comes from the outer stream. */
static void test_range(void **state)
{
	struct source *memory = src_memory("0123456789abcdefghij", 20), *slice = src_slice(memory, 5, 10);
	struct source *outer, *inner, *stream_in, *part;
	uint64_t at = 3, n = 4;

	(void)state;
	assert_false(src_range(slice, &at, &n));
	assert_int_equal(at, 8);
	assert_int_equal(n, 4);
	outer = src_packed(slice, &counting, 1000, NULL);
	part = src_slice(outer, 500, 100);
	at = 3;
	assert_true(src_range(part, &at, &n));
	assert_int_equal(at, 5);
	assert_int_equal(n, 10);
	assert_int_equal(src_where(part, 77), 5);
	stream_in = src_slice(outer, 40, 30);
	inner = src_packed(stream_in, &counting, 600, NULL);
	at = 3;
	n = 4;
	assert_true(src_range(inner, &at, &n));
	assert_int_equal(at, 5);
	assert_int_equal(n, 10);
	src_put(inner);
	src_put(stream_in);
	src_put(part);
	src_put(outer);
	src_put(slice);
	src_put(memory);
}

static void test_lost(void **state)
{
	struct source *src = src_lost(10);
	uint8_t byte;

	(void)state;
	assert_int_equal(src->size, 10);
	assert_int_equal(src_pread(src, &byte, 1, 0), -EBADMSG);
	assert_int_equal(src_pwrite(src, &byte, 1, 0), -EROFS);
	src_put(src);
}

/* ---- zlib ---- */

static void test_zlib(void **state)
{
	struct source *src = packed(stream, nstream, &zlib_packer, SIZE, NULL);
	uint8_t got[SIZE];
	uint64_t n;

	(void)state;
	assert_int_equal(src_pread(src, got, SIZE, 0), 0);
	assert_memory_equal(got, text, SIZE);
	assert_int_equal(zlib_measure(src->parent, SIZE, &n, NULL), 0);
	assert_int_equal(n, SIZE);
	assert_int_equal(zlib_measure(src->parent, 999, &n, NULL), 0);
	assert_int_equal(n, 1000);
	src_put(src);
}

/* Bytes behind a stream are padding. */
static void test_zlib_padded(void **state)
{
	struct source *src = packed(stream, nstream + 500, &zlib_packer, SIZE, NULL);
	uint8_t byte;

	(void)state;
	assert_int_equal(src_pread(src, &byte, 1, SIZE - 1), 0);
	assert_int_equal(byte, text[SIZE - 1]);
	src_put(src);
}

static void broken(size_t n, uint64_t size, const char *why)
{
	struct source *src = packed(stream, n, &zlib_packer, size, NULL);
	struct err e = { 0 };
	struct pin pin;

	assert_int_equal(src_pin(src, &pin, &e), -EBADMSG);
	assert_string_equal(e.text, why);
	src_put(src);
}

static void test_zlib_broken(void **state)
{
	(void)state;
	broken(nstream, SIZE - 1, "zlib stream at 0x0: it becomes more than 99999 bytes, expected 99999");
	broken(nstream, SIZE + 1, "zlib stream at 0x0: it becomes 100000 bytes, expected 100001");
	broken(nstream, 0, "zlib stream at 0x0: it becomes more than 0 bytes, expected 0");
	broken(1, 10, "zlib stream at 0x1: it is cut off, after 0 bytes unpacked");
	broken(0, 0, "zlib stream at 0x0: it is cut off, after 0 bytes unpacked");
}

static void test_begins(void **state)
{
	(void)state;
	assert_true(zlib_begins((const uint8_t *)"\x78\x9c"));
	assert_true(zlib_begins((const uint8_t *)"\x78\x01"));
	assert_true(zlib_begins((const uint8_t *)"\x68\xde"));
	assert_false(zlib_begins((const uint8_t *)"\x78\x9d"));
	assert_false(zlib_begins((const uint8_t *)"\x88\x1c"));        /* a window of 64 KiB */
	assert_false(zlib_begins((const uint8_t *)"\x78\xbb"));        /* a dictionary */
	assert_false(zlib_begins((const uint8_t *)"\x79\x9b"));        /* not deflate */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_by_itself), cmocka_unit_test(test_kept_elsewhere),
		cmocka_unit_test(test_peek), cmocka_unit_test(test_peek_short), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_range), cmocka_unit_test(test_lost),
		cmocka_unit_test(test_zlib), cmocka_unit_test(test_zlib_padded),
		cmocka_unit_test(test_zlib_broken), cmocka_unit_test(test_begins),
	};

	return cmocka_run_group_tests(tests, make_stream, NULL);
}
