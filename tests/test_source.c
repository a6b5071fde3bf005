/* Byte sources: chains of slices and ciphers against a flat copy in memory. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source.h"

#define SIZE 5003u

static uint8_t plain[SIZE];

static void fill_plain(void)
{
	for (unsigned i = 0; i < SIZE; i++)
		plain[i] = (uint8_t)(i * 37 + i / 251);
}

/* A toy cipher with the same promise as a real one: a unit depends on key and place only. */
static void toy(uint32_t key, uint64_t at, uint8_t *p, size_t n)
{
	assert_int_equal(at % 8, 0);
	assert_int_equal(n % 8, 0);
	for (size_t i = 0; i < n; i++)
		p[i] ^= (uint8_t)(key * 7 + (at + i) / 8 * 13 + (at + i) % 8);
}

static const struct cipher toy_cipher = { .unit = 8, .decrypt = toy, .encrypt = toy };

static void same_everywhere(struct source *s, const uint8_t *want, size_t n)
{
	uint8_t *got = malloc(n + 1);

	assert_int_equal(s->size, n);
	for (unsigned round = 0; round < 2000; round++) {
		size_t at = (size_t)rand() % (n + 1), len = (size_t)rand() % (n - at + 1);

		if (round & 1)
			len = len < 20 ? len : 20;
		got[len] = 0xa5;
		assert_int_equal(src_pread(s, got, len, at), 0);
		assert_memory_equal(got, want + at, len);
		assert_int_equal(got[len], 0xa5);
	}
	assert_int_equal(src_pread(s, got, 1, n), -EBADMSG);
	assert_int_equal(src_pread(s, got, n + 1, 0), -EBADMSG);
	assert_int_equal(src_pread(s, got, 1, UINT64_MAX), -EBADMSG);
	assert_int_equal(src_pread(s, got, 0, n), 0);
	free(got);
}

static void test_slices(void **state)
{
	struct source *m = src_memory(plain, SIZE), *a, *b;

	(void)state;
	a = src_slice(m, 100, 3000);
	b = src_slice(a, 17, 2000);
	same_everywhere(m, plain, SIZE);
	same_everywhere(a, plain + 100, 3000);
	src_put(m);
	src_put(a);                            /* b holds what it needs */
	same_everywhere(b, plain + 117, 2000);
	assert_int_equal(src_where(b, 5), 122);
	assert_null(src_map(b, 10, 0));
	src_put(b);
}

static void test_blocks(void **state)
{
	uint8_t coded[SIZE];
	struct source *m, *slice, *blocks, *inner;
	static const size_t sizes[] = { 8, 16, 4096, 4093, 7, 1 };

	(void)state;
	for (unsigned k = 0; k < ARRAY_LEN(sizes); k++) {
		size_t n = sizes[k];
		uint8_t padded[4104] = { 0 };

		memcpy(padded, plain + 64, n);
		toy(9, 0, padded, align_up(n, 8));
		memcpy(coded, plain, SIZE);
		memcpy(coded + 64, padded, n);
		m = src_memory(coded, SIZE);
		slice = src_slice(m, 64, n);
		blocks = src_blocks(slice, &toy_cipher, 9);
		same_everywhere(blocks, plain + 64, n);
		if (n > 100) {
			inner = src_slice(blocks, 33, n - 50);
			same_everywhere(inner, plain + 64 + 33, n - 50);
			assert_int_equal(src_where(inner, 1), 64 + 33 + 1);
			src_put(inner);
		}
		src_put(blocks);
		src_put(slice);
		src_put(m);
	}
}

static void test_file(void **state)
{
	char path[] = "/tmp/modelfs-source-XXXXXX";
	int fd = mkstemp(path);
	struct source *f, *s;
	struct err why = { 0 };
	uint8_t byte;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, plain, SIZE), SIZE);
	assert_int_equal(src_file(path, &f, &why), 0);
	same_everywhere(f, plain, SIZE);
	s = src_slice(f, 1000, 1000);
	assert_memory_equal(src_map(s, 1000, 0), plain + 1000, 1000);
	assert_null(src_map(s, 1001, 0));
	/* The file is cut behind our back: an error, not a short read. */
	assert_int_equal(ftruncate(fd, 1500), 0);
	assert_int_equal(src_pread(s, &byte, 1, 499), 0);
	assert_int_equal(src_pread(s, &byte, 1, 500), -EIO);
	src_put(s);
	src_put(f);
	close(fd);
	unlink(path);
	assert_int_equal(src_file(path, &f, &why), -ENOENT);
	assert_non_null(strstr(why.text, "No such file"));
	assert_int_equal(src_file("/", &f, &why), -EISDIR);
	assert_int_equal(src_file("/dev/null", &f, &why), -EINVAL);
	assert_non_null(strstr(why.text, "neither a regular file nor a block device"));
}

/* Pieces of a file are handed on where they lie, and cost no second look. */
static void test_pieces_of_a_file(void **state)
{
	char path[] = "/tmp/modelfs-source-XXXXXX";
	uint8_t head[3] = { 1, 2, 3 };
	int fd = mkstemp(path);
	struct source *f, *piece[3], *all;

	(void)state;
	assert_int_equal(write(fd, plain, SIZE), SIZE);
	close(fd);
	assert_int_equal(src_file(path, &f, NULL), 0);
	piece[0] = src_copy(head, sizeof head);
	piece[1] = src_slice(f, 1000, 2000);
	piece[2] = src_slice(f, 4000, 500);
	memset(head, 9, sizeof head);          /* the copy is another */
	all = src_pieces(piece, 3);
	src_put(f);
	for (unsigned i = 0; i < 3; i++)
		src_put(piece[i]);
	assert_int_equal(all->size, 2503);
	assert_int_equal(src_pread(all, head, 3, 0), 0);
	assert_memory_equal(head, "\1\2\3", 3);
	assert_memory_equal(src_map(all, 2000, 3), plain + 1000, 2000);
	assert_memory_equal(src_map(all, 100, 2403), plain + 4400, 100);
	assert_null(src_map(all, 2, 2));       /* in two pieces */
	assert_null(src_map(all, 101, 2403));
	assert_true(src_ready(all, 2503, 0));
	assert_true(src_ready(all, 1, 2503));
	src_put(all);
	unlink(path);
}

static void test_messages(void **state)
{
	struct source *m = src_memory(plain, SIZE), *s = src_slice(m, 0x100, 64);
	struct err e;

	(void)state;
	assert_int_equal(err_at(&e, EBADMSG, s, 0x10, "count", "found %d, expected %d", 7, 5), -EBADMSG);
	assert_string_equal(e.text, "count at 0x10 (archive 0x110): found 7, expected 5");
	assert_int_equal(e.code, EBADMSG);
	err_at(&e, EBADMSG, m, 0x10, "count", "bad");
	assert_string_equal(e.text, "count at 0x10: bad");
	assert_int_equal(err_at(NULL, EBADMSG, m, 0, "count", "bad"), -EBADMSG);
	src_put(s);
	src_put(m);
}

static void test_spans(void **state)
{
	(void)state;
	assert_true(span_ok(10, 10, 0, 1));
	assert_true(span_ok(10, 4, 3, 2));
	assert_false(span_ok(10, 4, 4, 2));
	assert_false(span_ok(10, 11, 0, 1));
	assert_false(span_ok(UINT64_MAX, 8, UINT64_MAX / 2, 4));
	assert_false(span_ok(100, UINT64_MAX, 1, 1));
}

static void test_buf(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_printf(&b, "%d-%s", 12, "ab");
	buf_char(&b, '!');
	assert_int_equal(b.len, 6);
	assert_memory_equal(b.p, "12-ab!", 6);
	assert_null(buf_room(&b, LIMIT_DECODED));
	assert_true(b.bad);
	assert_null(buf_room(&b, b.cap + 1));  /* the failure sticks */
	assert_int_equal(b.len, 6);
	buf_free(&b);
}

static void test_arena(void **state)
{
	struct arena a = { 0 };
	uint8_t *p;

	(void)state;
	for (unsigned i = 1; i < 3000; i++) {
		p = arena_alloc(&a, i % 300, 3);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (unsigned k = 0; k < i % 300 * 3; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xff, i % 300 * 3);
	}
	assert_null(arena_alloc(&a, SIZE_MAX, 2));
	assert_null(arena_alloc(&a, LIMIT_DECODED / 2, 3));
	assert_string_equal(arena_printf(&a, "%u", 42u), "42");
	arena_free(&a);
	assert_int_equal(a.used, 0);
}

/* A source of which places are asked. */
static int through(struct source *s, void *buf, size_t n, uint64_t at)
{
	return src_pread(s->parent, buf, n, at + 100);
}

static uint64_t up_100(const struct source *s, uint64_t at)
{
	(void)s;
	return at + 100;
}

static const struct source_ops root_ops = { .pread = through, .up = up_100, .root = true };

static void test_extents(void **state)
{
	static const struct extent v[] = { { 500, 100 }, { 40, 60 }, { 90, 0 }, { 1000, 7 } };
	struct source *m = src_memory(plain, SIZE), *root = calloc(1, sizeof *root), *x, *s, *fixed;
	uint8_t want[167], byte = 0;
	uint64_t at, n;

	(void)state;
	memcpy(want, plain + 600, 100);
	memcpy(want + 100, plain + 140, 60);
	memcpy(want + 160, plain + 1100, 7);
	*root = (struct source){ .ops = &root_ops, .parent = src_ref(m), .size = SIZE - 100 };
	atomic_init(&root->refs, 1);
	x = src_extents(root, v, ARRAY_LEN(v));
	s = src_slice(x, 90, 72);
	same_everywhere(x, want, sizeof want);
	same_everywhere(s, want + 90, 72);
	/* In the file, for messages; in the first root, and all that lies between, for who asks what is changed. */
	assert_int_equal(src_where(s, 3), 500 + 93 + 100);
	assert_int_equal(src_where(s, 10), 40 + 100);
	assert_int_equal(src_where(s, 71), 1001 + 100);
	at = 0, n = 10;
	assert_false(src_range(s, &at, &n));
	assert_true(at == 590 && n == 10);
	at = 9, n = 2;
	assert_false(src_range(s, &at, &n));
	assert_true(at == 40 && n == 560);
	at = 5, n = 8;
	assert_false(src_range(root, &at, &n));
	assert_true(at == 5 && n == 8);
	assert_int_equal(src_pwrite(x, &byte, 1, 0), -EROFS);

	fixed = src_fixed(root);
	same_everywhere(fixed, plain + 100, SIZE - 100);
	assert_int_equal(src_pwrite(fixed, &byte, 1, 0), -EROFS);
	assert_int_equal(src_where(fixed, 8), 108);
	src_put(fixed);
	src_put(s);
	src_put(x);
	x = src_extents(root, v, 0);
	assert_int_equal(x->size, 0);
	assert_int_equal(src_pread(x, &byte, 1, 0), -EBADMSG);
	src_put(x);
	src_put(root);
	src_put(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans), cmocka_unit_test(test_buf), cmocka_unit_test(test_arena),
		cmocka_unit_test(test_messages), cmocka_unit_test(test_slices), cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_file), cmocka_unit_test(test_pieces_of_a_file),
		cmocka_unit_test(test_extents),
	};

	fill_plain();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
