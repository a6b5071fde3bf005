/* Stores: the bytes of a file being written, against a flat copy. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "store.h"

#define MOST (3u << 20)

/* What a store should hold. */
struct model {
	struct store *s;
	uint8_t *want;
	size_t size;
	uint32_t seed;
};

static uint32_t next(struct model *m, uint32_t below)
{
	m->seed = m->seed * 1664525u + 1013904223u;
	return (m->seed >> 8) % below;
}

static void compare(struct model *m)
{
	struct buf all = { 0 };
	struct err e = { 0 };

	assert_int_equal(store_size(m->s), m->size);
	assert_int_equal(store_text(m->s, MOST * 2, &all, &e), 0);
	assert_int_equal(all.len, m->size);
	assert_memory_equal(all.p, m->want, m->size);
	buf_free(&all);
}

static void write_some(struct model *m)
{
	size_t at = next(m, MOST), n = next(m, 200000) + 1;
	uint8_t *p = malloc(n);

	n = at + n > MOST ? MOST - at : n;
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)next(m, 256);
	assert_int_equal(store_write(m->s, p, n, at), 0);
	memcpy(m->want + at, p, n);
	m->size = at + n > m->size ? at + n : m->size;
	free(p);
}

static void read_some(struct model *m)
{
	size_t at = next(m, MOST), n = next(m, 100000) + 1, have = at < m->size ? m->size - at : 0;
	uint8_t *p = malloc(n);

	have = have < n ? have : n;
	assert_int_equal(store_read(m->s, p, n, at), have);
	assert_memory_equal(p, m->want + at, have);
	free(p);
}

static void truncate_some(struct model *m)
{
	size_t size = next(m, MOST);

	assert_int_equal(store_truncate(m->s, size), 0);
	if (size < m->size)
		memset(m->want + size, 0, m->size - size);
	m->size = size;
}

/* base_size 0: no base. */
static void run(size_t base_size, uint32_t seed)
{
	struct model m = { .want = calloc(1, MOST), .size = base_size, .seed = seed };
	struct buf noise = { 0 };
	struct source *base = NULL;
	_Atomic uint64_t used = 0;

	if (base_size) {
		build_noise(&noise, base_size, seed);
		memcpy(m.want, noise.p, base_size);
		base = src_memory(noise.p, base_size);
	}
	m.s = store_new(base, &used);
	assert_non_null(m.s);
	compare(&m);
	for (unsigned i = 0; i < 300; i++) {
		switch (next(&m, 5)) {
		case 0: truncate_some(&m); break;
		case 1: case 2: read_some(&m); break;
		default: write_some(&m);
		}
		if (i % 20 == 0)
			compare(&m);
	}
	compare(&m);
	store_free(m.s);
	assert_int_equal(used, 0);
	if (base)
		src_put(base);
	buf_free(&noise);
	free(m.want);
}

static void test_random(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 6; seed++) {
		run(0, seed);
		run(seed * 331777u % MOST, seed);
	}
}

static int add_up(void *ctx, uint64_t at, const uint8_t *p, size_t n)
{
	(void)at;
	(void)p;
	*(uint64_t *)ctx += n;
	return 0;
}

/* Changing a byte of a large entry copies a page, not the entry. */
static void test_sparse(void **state)
{
	struct buf noise = { 0 };
	_Atomic uint64_t used = 0;
	struct source *base;
	struct store *s;
	uint64_t changed = 0;

	(void)state;
	build_noise(&noise, 1 << 20, 7);
	base = src_memory(noise.p, noise.len);
	s = store_new(base, &used);
	assert_int_equal(store_write(s, "x", 1, 700000), 0);
	assert_int_equal(used, 65536);
	assert_int_equal(store_each(s, add_up, &changed), 0);
	assert_int_equal(changed, 65536);
	store_free(s);
	src_put(base);
	buf_free(&noise);
}

/* A copy needs no base, and of a hole it takes nothing. */
static void test_copy(void **state)
{
	struct buf noise = { 0 };
	_Atomic uint64_t used = 0;
	struct source *base;
	struct store *s, *copy;
	uint8_t back[4];

	(void)state;
	build_noise(&noise, 100000, 11);
	base = src_memory(noise.p, noise.len);
	s = store_new(base, &used);
	src_put(base);
	assert_int_equal(store_truncate(s, (uint64_t)1 << 40), 0);
	assert_int_equal(store_write(s, "end", 3, ((uint64_t)1 << 40) - 3), 0);
	assert_int_equal(used, 65536);
	assert_int_equal(store_copy(s, &copy), 0);
	store_free(s);
	assert_int_equal(used, 3 * 65536);
	assert_int_equal(store_size(copy), (uint64_t)1 << 40);
	assert_int_equal(store_read(copy, back, 4, 99998), 4);
	assert_memory_equal(back, noise.p + 99998, 2);
	assert_memory_equal(back + 2, "\0\0", 2);
	assert_int_equal(store_read(copy, back, 4, ((uint64_t)1 << 40) - 3), 3);
	assert_memory_equal(back, "end", 3);
	store_free(copy);
	assert_int_equal(used, 0);
	buf_free(&noise);
}

/* Past STORE_IN_MEMORY the pages lie in a file; what they hold stays. */
static void test_moves_to_disc(void **state)
{
	size_t n = STORE_IN_MEMORY + (3 << 20);
	_Atomic uint64_t used = 0;
	struct buf noise = { 0 };
	struct store *s = store_new(NULL, &used);
	uint8_t *back = malloc(n);

	(void)state;
	build_noise(&noise, n, 9);
	for (size_t at = 0; at < n; at += 1 << 20)
		assert_int_equal(store_write(s, noise.p + at, n - at < 1 << 20 ? n - at : 1 << 20, at), 0);
	assert_int_equal(store_read(s, back, n, 0), n);
	assert_memory_equal(back, noise.p, n);
	assert_int_equal(store_truncate(s, n - 100000), 0);
	assert_int_equal(store_truncate(s, n), 0);
	memset(noise.p + n - 100000, 0, 100000);
	assert_int_equal(store_read(s, back, n, 0), n);
	assert_memory_equal(back, noise.p, n);
	store_free(s);
	free(back);
	buf_free(&noise);
}

static void test_limits(void **state)
{
	_Atomic uint64_t used = STORE_MOST - 65536;
	struct store *s = store_new(NULL, &used);
	struct buf out = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(store_write(s, "x", 1, 0), 0);
	assert_int_equal(store_write(s, "x", 1, 65536), -ENOSPC);
	assert_int_equal(used, STORE_MOST);
	assert_int_equal(store_size(s), 1);
	assert_int_equal(store_truncate(s, 1000), 0);
	assert_int_equal(store_text(s, 999, &out, &e), -EFBIG);
	assert_string_equal(e.text, "1000 bytes, at most 999 are read");
	assert_int_equal(store_truncate(s, UINT64_MAX), -EFBIG);
	assert_int_equal(store_write(s, "xy", 2, UINT64_MAX - 1), -EFBIG);
	store_free(s);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_sparse), cmocka_unit_test(test_moves_to_disc),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
