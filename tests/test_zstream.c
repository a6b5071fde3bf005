/* Streams that are packed: what comes out is what went in, within the window, and shorter than zlib's if it has to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "zstream.h"

/* Unpacked a few bytes at a time, so that the decoder has nothing to look back at but its window. */
static void unpacks(const uint8_t *out, size_t nout, unsigned window, const uint8_t *p, size_t n)
{
	z_stream z = { .next_in = (uint8_t *)(uintptr_t)out, .avail_in = (unsigned)nout };
	uint8_t room[200];
	int rc;

	assert_int_equal(inflateInit2(&z, (int)window), Z_OK);
	do {
		size_t done = z.total_out;

		z.next_out = room;
		z.avail_out = sizeof room;
		rc = inflate(&z, Z_NO_FLUSH);
		assert_true(rc == Z_OK || rc == Z_STREAM_END);
		assert_true(z.total_out <= n);
		if (z.total_out > done)
			assert_memory_equal(room, p + done, z.total_out - done);
	} while (rc != Z_STREAM_END);
	assert_int_equal(z.total_out, n);
	assert_int_equal(z.avail_in, 0);
	inflateEnd(&z);
}

static size_t packed(const uint8_t *p, size_t n, unsigned window, uint64_t room, uint8_t head[2])
{
	uint8_t *out;
	size_t nout;

	assert_int_equal(zlib_pack(p, n, window, room, &out, &nout, NULL), 0);
	unpacks(out, nout, window < 9 ? 9 : window, p, n);
	memcpy(head, out, 2);
	free(out);
	return nout;
}

static size_t by_zlib(const uint8_t *p, size_t n, int level, int window, int memory, int strategy)
{
	z_stream z = { 0 };
	size_t cap, size;
	uint8_t *out;

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, window, memory, strategy), Z_OK);
	cap = deflateBound(&z, n);
	out = malloc(cap);
	assert_non_null(out);
	z.next_in = (uint8_t *)(uintptr_t)p;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = (unsigned)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	size = z.total_out;
	deflateEnd(&z);
	free(out);
	return size;
}

/* The shortest that zlib makes in any way. */
static size_t least_of_zlib(const uint8_t *p, size_t n, int window)
{
	size_t least = SIZE_MAX, size;

	for (int level = 1; level <= 9; level++)
		for (int memory = 1; memory <= 9; memory++)
			for (int strategy = Z_DEFAULT_STRATEGY; strategy <= Z_FIXED; strategy++) {
				size = by_zlib(p, n, level, window, memory, strategy);
				least = size < least ? size : least;
			}
	return least;
}

static uint8_t *make(size_t n, uint8_t (*at)(uint32_t i, uint32_t noise))
{
	uint8_t *p = malloc(n + 1);
	uint32_t seed = 12345;

	assert_non_null(p);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = at((uint32_t)i, seed >> 16);
	}
	return p;
}

static uint8_t any(uint32_t i, uint32_t noise) { (void)i; return (uint8_t)noise; }
static uint8_t floats(uint32_t i, uint32_t noise)
{
	return (uint8_t)(i % 4 == 3 ? 0x3f + (noise & 1) : i % 4 == 2 ? noise % 61 : i % 4 ? noise & 0xf0 : 0);
}
static uint8_t words(uint32_t i, uint32_t noise)
{
	static const char text[] = "vertex normal tangent weight material skeleton ";

	return (uint8_t)(text[i * 7 / 5 % (sizeof text - 1)] + (noise % 31 == 0));
}

/* With room for it, what comes out is zlib's at its best level. */
static void test_room(void **state)
{
	static uint8_t (*const kinds[])(uint32_t, uint32_t) = { any, floats, words };
	uint8_t head[2];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		uint8_t *p = make(30000, kinds[k]);
		size_t want = by_zlib(p, 30000, 9, 15, 9, Z_DEFAULT_STRATEGY);

		assert_int_equal(packed(p, 30000, 15, want, head), want);
		assert_memory_equal(head, "\x78\xda", 2);
		free(p);
	}
}

static void test_nothing(void **state)
{
	uint8_t *out;
	size_t n;

	(void)state;
	assert_int_equal(zlib_pack((const uint8_t *)"", 0, 15, 8, &out, &n, NULL), 0);
	assert_int_equal(n, 8);
	assert_memory_equal(out, "\x78\xda\x03\x00\x00\x00\x00\x01", 8);
	free(out);
	assert_int_equal(zlib_pack((const uint8_t *)"", 0, 15, 7, &out, &n, NULL), 0);
	assert_int_equal(n, 8);
	free(out);
}

/* Shorter than zlib in any of its ways. */
static void test_searched(void **state)
{
	static uint8_t (*const kinds[])(uint32_t, uint32_t) = { floats, words };
	uint8_t head[2];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		uint8_t *p = make(30000, kinds[k]);
		size_t least = least_of_zlib(p, 30000, 15);

		assert_true(packed(p, 30000, 15, least - 1, head) < least);
		assert_memory_equal(head, "\x78\xda", 2);
		free(p);
	}
}

/* The window stays, and nothing reaches back farther; 0x48c7 is 601 * 31. */
static void test_window(void **state)
{
	uint8_t *p = make(40000, words), head[2];
	size_t least = least_of_zlib(p, 4096, 12);

	(void)state;
	assert_true(packed(p, 4096, 12, least - 1, head) < least);
	assert_memory_equal(head, "\x48\xc7", 2);
	/* More than its window: zlib's ways are all there is. */
	least = least_of_zlib(p, 4097, 12);
	assert_true(packed(p, 4097, 12, least - 1, head) >= least);
	assert_int_equal(head[0], 0x48);
	for (unsigned window = 9; window <= 15; window++) {
		packed(p, 40000, window, SIZE_MAX, head);
		assert_int_equal(head[0], 8 | (window - 8) << 4);
	}
	packed(p, 1, 8, 0, head);              /* zlib makes no streams with that */
	assert_int_equal(head[0], 0x18);
	free(p);
}

/* Where nothing helps, nothing more is tried. */
static void test_hopeless(void **state)
{
	uint8_t *p = make(30000, words), head[2];
	size_t first = by_zlib(p, 30000, 9, 15, 9, Z_DEFAULT_STRATEGY);

	(void)state;
	assert_int_equal(packed(p, 30000, 15, first - first / 4 - 1, head), first);
	assert_true(packed(p, 30000, 15, first - first / 4, head) < first);
	free(p);
}

/* An edit is planned twice. */
static void test_same(void **state)
{
	uint8_t *p = make(30000, floats), *a, *b;
	size_t na, nb, room = least_of_zlib(p, 30000, 15) - 1;

	(void)state;
	assert_int_equal(zlib_pack(p, 30000, 15, room, &a, &na, NULL), 0);
	assert_int_equal(zlib_pack(p, 30000, 15, room, &b, &nb, NULL), 0);
	assert_int_equal(na, nb);
	assert_memory_equal(a, b, na);
	free(a);
	free(b);
	free(p);
}

/* Without zlib's header and checksum, which take 6 bytes; and longer or shorter the same way. */
static void test_bare(void **state)
{
	uint8_t *p = make(30000, words), *out, head[2], *back = malloc(30001);
	size_t least = least_of_zlib(p, 30000, 15), n;

	(void)state;
	for (size_t room = least; room >= least - 1; room--) {
		z_stream z = { .avail_out = 30001, .next_out = back };

		assert_int_equal(deflate_pack(p, 30000, room - 6, &out, &n, NULL), 0);
		assert_int_equal(n + 6, packed(p, 30000, 15, room, head));
		assert_true(n + 6 <= room);
		z.next_in = out;
		z.avail_in = (unsigned)n;
		assert_int_equal(inflateInit2(&z, -15), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.total_out, 30000);
		assert_int_equal(z.avail_in, 0);
		assert_memory_equal(back, p, 30000);
		inflateEnd(&z);
		free(out);
	}
	free(back);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),   cmocka_unit_test(test_nothing),  cmocka_unit_test(test_searched),
		cmocka_unit_test(test_window), cmocka_unit_test(test_hopeless), cmocka_unit_test(test_same),
		cmocka_unit_test(test_bare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
