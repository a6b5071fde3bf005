/* Plans, and the sources an edit reads and writes through: each against a flat array. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mhpcipher.h"
#include "plan.h"

#define SIZE 9001u

static uint8_t base[SIZE], flat[SIZE];
static uint32_t state = 1;

static uint32_t number(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)number(256);
}

struct fixture { struct source *memory, *overlay; struct plan plan; };

static void start(struct fixture *f)
{
	fill(base, SIZE);
	memcpy(flat, base, SIZE);
	f->memory = src_memory(base, SIZE);
	assert_non_null(f->memory);
	plan_init(&f->plan, f->memory);
	f->overlay = src_overlay(&f->plan);
	assert_non_null(f->overlay);
}

static void end(struct fixture *f)
{
	src_put(f->overlay);
	plan_free(&f->plan);
	src_put(f->memory);
}

/* Writes are sorted and disjoint, their sum is right, and what is read is the flat array. */
static void check(const struct plan *p)
{
	uint8_t got[SIZE];
	uint64_t sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		assert_true(p->v[i].len > 0);
		if (i)
			assert_true(p->v[i].at >= p->v[i - 1].at + p->v[i - 1].len);
		sum += p->v[i].len;
	}
	assert_int_equal(sum, p->bytes);
	assert_int_equal(plan_read(p, got, p->size, 0), 0);
	assert_memory_equal(got, flat, p->size);
}

/* After settling: every run begins and ends with a byte that differs, runs are 16 or more apart, and nothing that
 * differs is left out. */
static void check_settled(const struct plan *p)
{
	uint64_t at = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct write *w = &p->v[i];

		assert_memory_equal(base + at, flat + at, w->at - at);
		assert_true(!i || w->at - at >= 16);
		assert_int_not_equal(w->bytes[0], base[w->at]);
		assert_int_not_equal(w->bytes[w->len - 1], base[w->at + w->len - 1]);
		assert_memory_equal(w->bytes, flat + w->at, w->len);
		at = w->at + w->len;
	}
	assert_memory_equal(base + at, flat + at, SIZE - at);
}

static void test_plan(void **unused)
{
	(void)unused;
	for (unsigned round = 0; round < 60; round++) {
		struct fixture f;

		start(&f);
		for (unsigned k = 0; k < 40; k++) {
			uint32_t at = number(SIZE), n = number(k % 3 ? 40 : 3000);
			uint8_t got[3000];

			n = n < SIZE - at ? n : SIZE - at;
			if (number(2)) {       /* some bytes new, some as they were, some as the base has them */
				memcpy(got, number(2) ? base + at : flat + at, n);
				for (uint32_t i = 0; i < n; i += 1 + number(60))
					got[i] ^= (uint8_t)number(256);
				assert_int_equal(plan_write(&f.plan, at, got, n), 0);
				memcpy(flat + at, got, n);
			} else {
				assert_int_equal(src_pread(f.overlay, got, n, at), 0);
				assert_memory_equal(got, flat + at, n);
			}
			if (k % 13 == 5)
				assert_int_equal(plan_settle(&f.plan, NULL), 0);
		}
		check(&f.plan);
		assert_int_equal(plan_settle(&f.plan, NULL), 0);
		check(&f.plan);
		check_settled(&f.plan);
		assert_int_equal(plan_write(&f.plan, 0, base, SIZE), 0);
		assert_int_equal(plan_settle(&f.plan, NULL), 0);
		assert_int_equal(f.plan.n, 0);
		assert_int_equal(f.plan.bytes, 0);
		end(&f);
	}
}

/* What is near is one write, also across the writes it came from. */
static void test_joined(void **unused)
{
	struct fixture f;
	uint8_t other[64];

	(void)unused;
	start(&f);
	for (unsigned i = 0; i < sizeof other; i++)
		other[i] = (uint8_t)~base[100 + i];
	assert_int_equal(plan_write(&f.plan, 100, other, 10), 0);
	assert_int_equal(plan_write(&f.plan, 125, other + 25, 5), 0);          /* 15 apart */
	assert_int_equal(plan_write(&f.plan, 130, other + 30, 5), 0);          /* touching */
	assert_int_equal(plan_write(&f.plan, 151, other + 51, 4), 0);          /* 16 apart */
	assert_int_equal(f.plan.n, 4);
	assert_int_equal(plan_settle(&f.plan, NULL), 0);
	assert_int_equal(f.plan.n, 2);
	assert_int_equal(f.plan.v[0].at, 100);
	assert_int_equal(f.plan.v[0].len, 35);
	assert_memory_equal(f.plan.v[0].bytes + 10, base + 110, 15);
	assert_int_equal(f.plan.v[1].at, 151);
	assert_int_equal(f.plan.v[1].len, 4);
	assert_int_equal(f.plan.bytes, 39);
	end(&f);
}

/* What is written stays. */
static void rebase(struct plan *p, struct source *onto, uint64_t size)
{
	src_put(p->base);
	p->base = src_ref(onto);
	p->size = size;
}

/* A file that is cut has no writes past its end; made longer again it has zeros there, not what the base has. */
static void test_resize(void **unused)
{
	struct fixture f;
	uint8_t other[40];

	(void)unused;
	start(&f);
	for (unsigned i = 0; i < sizeof other; i++)
		other[i] = (uint8_t)~base[1000 + i];
	assert_int_equal(plan_write(&f.plan, 1000, other, 40), 0);
	assert_int_equal(plan_write(&f.plan, 5000, other, 40), 0);
	assert_true(plan_touches(&f.plan, 1039, 1));
	assert_false(plan_touches(&f.plan, 1040, 3960));
	assert_true(plan_touches(&f.plan, 1040, 3961));
	assert_false(plan_touches(&f.plan, 1010, 0));
	assert_int_equal(plan_resize(&f.plan, 1010), 0);
	assert_int_equal(f.plan.n, 1);
	assert_int_equal(f.plan.bytes, 10);
	memcpy(flat + 1000, other, 10);
	check(&f.plan);
	assert_int_equal(plan_settle(&f.plan, NULL), 0);
	assert_int_equal(f.plan.bytes, 10);

	assert_int_equal(plan_resize(&f.plan, SIZE), 0);
	memset(flat + 1010, 0, SIZE - 1010);
	check(&f.plan);
	/* Past the base there is nothing to hide. */
	assert_int_equal(plan_resize(&f.plan, (uint64_t)1 << 40), 0);
	assert_int_equal(f.plan.bytes, SIZE - 1000);
	assert_int_equal(plan_resize(&f.plan, SIZE), 0);
	check(&f.plan);
	end(&f);
}

static void test_limits(void **unused)
{
	struct fixture f;
	struct source *large;
	uint8_t got[40], want[40] = { 0 };
	struct err e;

	(void)unused;
	start(&f);
	assert_int_equal(plan_write(&f.plan, SIZE - 3, base, 4), -EBADMSG);
	assert_int_equal(plan_write(&f.plan, UINT64_MAX, base, 1), -EBADMSG);
	assert_int_equal(plan_write(&f.plan, SIZE, base, 0), 0);
	assert_int_equal(plan_read(&f.plan, got, 1, SIZE), -EBADMSG);
	assert_int_equal(f.plan.n, 0);
	/* A longer one: zero past the base's end, but for what is written. */
	large = src_memory(base, SIZE - 10);
	rebase(&f.plan, large, SIZE + 20);
	memcpy(want, base + SIZE - 20, 10);
	want[15] = want[16] = 7;
	assert_int_equal(plan_write(&f.plan, SIZE - 5, want + 15, 2), 0);
	assert_int_equal(plan_read(&f.plan, got, 40, SIZE - 20), 0);
	assert_memory_equal(got, want, 40);
	assert_int_equal(plan_settle(&f.plan, NULL), 0);
	assert_int_equal(f.plan.n, 1);
	assert_int_equal(f.plan.v[0].len, 2);
	src_put(large);
	/* PLAN_MOST bytes are refused before they are copied. */
	large = src_zeros(PLAN_MOST * 4);
	rebase(&f.plan, large, PLAN_MOST * 4);
	assert_int_equal(plan_write(&f.plan, PLAN_MOST, base, (size_t)PLAN_MOST), -EFBIG);
	src_put(large);
	/* Only over an overlay there is writing. */
	assert_int_equal(src_write(f.memory, base, 4, 0, "thing", &e), -EROFS);
	assert_string_equal(e.text, "thing at 0x0: Read-only file system");
	assert_int_equal(src_pwrite(f.overlay, base, 2, SIZE - 1), -EBADMSG);
	assert_int_equal(src_write(f.overlay, base, 2, SIZE - 1, "thing", &e), -EBADMSG);
	end(&f);
}

/* ---- chains ---- */

static void toy_decrypt(uint32_t key, uint64_t at, uint8_t *p, size_t n)
{
	assert_int_equal(at % 8 + n % 8, 0);
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(p[i] * 5u + key + (at + i) * 11u);
}

static void toy_encrypt(uint32_t key, uint64_t at, uint8_t *p, size_t n)
{
	assert_int_equal(at % 8 + n % 8, 0);
	for (size_t i = 0; i < n; i++)         /* 205 * 5 = 1 mod 256 */
		p[i] = (uint8_t)((p[i] - key - (at + i) * 11u) * 205u);
}

static const struct cipher toy = { .unit = 8, .decrypt = toy_decrypt, .encrypt = toy_encrypt };

/* All of what s shows, by the cipher run over the flat bytes in one go; whole units. */
static void whole(const struct cipher *c, uint32_t key, bool encrypt, const uint8_t *from, uint8_t *to, size_t n)
{
	uint8_t *room = calloc(1, n + 16);
	size_t padded = (n + c->unit - 1) / c->unit * c->unit;

	assert_non_null(room);
	memcpy(room, from, n);
	(encrypt ? c->encrypt : c->decrypt)(key, 0, room, padded);
	memcpy(to, room, n);
	free(room);
}

/* Writes at every alignment through slice, cipher and slice; the model holds the plain bytes of the run. */
static void check_chain(const struct cipher *c, size_t run)
{
	const uint64_t at0 = 33, inner = 5;
	struct fixture f;
	struct source *slice, *blocks, *top;
	uint8_t plain[SIZE], got[SIZE];

	start(&f);
	slice = src_slice(f.overlay, at0, run);
	blocks = src_blocks(slice, c, 77);
	top = src_slice(blocks, inner, run - inner);
	whole(c, 77, false, base + at0, plain, run);
	for (unsigned k = 0; k < 900; k++) {
		uint32_t at = k < 400 ? k % 20 : number(SIZE), n = k < 400 ? k / 20 : number(5000);

		at %= (uint32_t)(run - inner);
		n = n < run - inner - at ? n : (uint32_t)(run - inner - at);
		fill(got, n);
		assert_int_equal(src_pwrite(top, got, n, at), 0);
		memcpy(plain + inner + at, got, n);
		if (k % 50 == 0 || n < 20) {
			assert_int_equal(src_pread(top, got, run - inner, 0), 0);
			assert_memory_equal(got, plain + inner, run - inner);
		}
	}
	whole(c, 77, true, plain, flat + at0, run);
	check(&f.plan);
	assert_int_equal(src_pwrite(top, got, 2, run - inner - 1), -EBADMSG);
	src_put(top);
	src_put(blocks);
	src_put(slice);
	end(&f);
}

static void test_chains(void **unused)
{
	(void)unused;
	check_chain(&toy, 8000);
	check_chain(&toy, 8003);               /* the last unit is cut off */
	check_chain(&toy, 13);
	check_chain(&mhp_cipher, 6000);
	check_chain(&mhp_cipher, 6002);
}

/* A byte written as it was is no change; one that changes leaves its neighbours' cipher text alone. */
static void test_one_byte(void **unused)
{
	struct fixture f;
	struct source *blocks;
	uint8_t byte;

	(void)unused;
	start(&f);
	blocks = src_blocks(f.overlay, &mhp_cipher, 9);
	assert_int_equal(src_pread(blocks, &byte, 1, 1234), 0);
	assert_int_equal(src_pwrite(blocks, &byte, 1, 1234), 0);
	assert_int_equal(plan_settle(&f.plan, NULL), 0);
	assert_int_equal(f.plan.n, 0);
	byte = (uint8_t)~byte;
	assert_int_equal(src_pwrite(blocks, &byte, 1, 1234), 0);
	assert_int_equal(plan_settle(&f.plan, NULL), 0);
	assert_int_equal(f.plan.n, 1);
	assert_int_equal(f.plan.v[0].at, 1234);
	assert_int_equal(f.plan.v[0].len, 1);
	src_put(blocks);
	end(&f);
}

static void same_everywhere(struct source *s, const uint8_t *want, size_t n)
{
	uint8_t *got = malloc(n + 1);

	assert_non_null(got);
	assert_int_equal(s->size, n);
	for (unsigned k = 0; k < 1500; k++) {
		size_t at = number((uint32_t)n + 1), len = number(k % 2 ? 30 : (uint32_t)n + 1);

		len = len < n - at ? len : n - at;
		got[len] = 0xa5;
		assert_int_equal(src_pread(s, got, len, at), 0);
		assert_memory_equal(got, want + at, len);
		assert_int_equal(got[len], 0xa5);
	}
	assert_int_equal(src_pread(s, got, 1, n), -EBADMSG);
	free(got);
}

static void test_coded(void **unused)
{
	static const size_t sizes[] = { 1, 4, 7, 4096, 8999, 200003 };
	uint8_t *plain = malloc(200003), *want = malloc(200003);

	(void)unused;
	assert_non_null(plain);
	assert_non_null(want);
	fill(plain, 200003);
	for (unsigned i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
		const struct cipher *c = i % 2 ? &toy : &mhp_cipher;
		size_t n = sizes[i / 2];
		struct source *m = src_memory(plain, n), *coded = src_coded(m, c, 0x12345), *back;

		whole(c, 0x12345, true, plain, want, n);
		same_everywhere(coded, want, n);
		assert_int_equal(src_pwrite(coded, want, 1, 0), -EROFS);
		back = src_blocks(coded, c, 0x12345);
		same_everywhere(back, plain, n);
		src_put(m);
		src_put(coded);
		src_put(back);
	}
	free(plain);
	free(want);
}

static void test_pieces(void **unused)
{
	static const size_t sizes[] = { 0, 700, 1, 0, 0, 2048, 13, 5000, 0 };
	struct source *piece[9], *all, *m, *none;
	size_t at = 0;

	(void)unused;
	fill(flat, SIZE);
	memset(flat + 701, 0, 2048);           /* pieces 5 */
	m = src_memory(flat, SIZE);
	for (unsigned i = 0; i < 9; at += sizes[i++])
		piece[i] = i == 5 ? src_zeros(sizes[i]) : src_slice(m, at, sizes[i]);
	all = src_pieces(piece, 9);
	src_put(m);
	for (unsigned i = 0; i < 9; i++)
		src_put(piece[i]);             /* it holds what it needs */
	same_everywhere(all, flat, at);
	assert_int_equal(src_pwrite(all, flat, 1, 0), -EROFS);
	src_put(all);
	none = src_pieces(NULL, 0);
	assert_int_equal(none->size, 0);
	assert_int_equal(src_pread(none, flat, 0, 0), 0);
	assert_int_equal(src_pread(none, flat, 1, 0), -EBADMSG);
	src_put(none);
}

static void test_clear(void **unused)
{
	struct fixture f;
	struct source *slice;
	struct err e;

	(void)unused;
	start(&f);
	slice = src_slice(f.overlay, 10, 8000);
	assert_int_equal(src_clear(slice, 3, 7000, "gap", &e), 0);
	memset(flat + 13, 0, 7000);
	assert_int_equal(src_clear(slice, 8000, 0, "gap", &e), 0);
	assert_int_equal(src_clear(slice, 7000, 1001, "gap", &e), -EBADMSG);
	assert_non_null(strstr(e.text, "gap at 0x1b58 (archive 0x1b62): 1001 bytes end past the 8000 of the entry"));
	check(&f.plan);
	src_put(slice);
	end(&f);
}

/* Only runs of bytes that differ become writes, across pieces too. */
static void test_patch(void **unused)
{
	static uint8_t want[9000];
	struct fixture f;
	struct err e;

	(void)unused;
	start(&f);
	memcpy(want, flat, sizeof want);
	assert_int_equal(src_patch(f.overlay, want, sizeof want, 0, "thing", &e), 0);
	assert_int_equal(f.plan.n, 0);
	for (unsigned i = 0; i < 3; i++)
		flat[4095 + i] = want[4095 + i] ^= 0xff;
	flat[8999] = want[8999] ^= 1;
	assert_int_equal(src_patch(f.overlay, want + 100, sizeof want - 100, 100, "thing", &e), 0);
	assert_int_equal(f.plan.bytes, 4);
	check(&f.plan);
	assert_int_equal(src_patch(f.overlay, want, 2, SIZE - 1, "thing", &e), -EBADMSG);
	end(&f);
}

/* Longer than what is moved at once, to either side, where both places overlap. */
static void test_move(void **unused)
{
	static uint8_t was[200000], want[sizeof was], got[sizeof was];
	static const struct { uint32_t from, to, n; } moves[] = {
		{ 10, 70, 150001 }, { 99999, 3, 100000 }, { 5, 5, 1000 }, { 7, 190000, 0 }, { 0, 100000, 100000 },
	};
	struct source *memory, *overlay;
	struct plan plan;
	struct err e;

	(void)unused;
	fill(was, sizeof was);
	memcpy(want, was, sizeof was);
	memory = src_memory(was, sizeof was);
	plan_init(&plan, memory);
	overlay = src_overlay(&plan);
	assert_non_null(overlay);
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		assert_int_equal(src_move(overlay, moves[i].from, moves[i].to, moves[i].n, "bytes", &e), 0);
		memmove(want + moves[i].to, want + moves[i].from, moves[i].n);
		assert_int_equal(src_pread(overlay, got, sizeof got, 0), 0);
		assert_memory_equal(got, want, sizeof got);
	}
	assert_int_equal(src_move(overlay, 1, 0, sizeof was, "bytes", &e), -EBADMSG);
	src_put(overlay);
	plan_free(&plan);
	src_put(memory);
}

static void test_zeros(void **unused)
{
	static uint8_t bytes[9000];
	struct source *src = src_memory(bytes, sizeof bytes);
	uint64_t n = 1;
	struct err e;

	(void)unused;
	bytes[0] = bytes[4097] = bytes[8999] = 1;
	assert_int_equal(src_count_zeros(src, 0, 9000, &n, "gap", &e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(src_count_zeros(src, 1, 4096, &n, "gap", &e), 0);     /* a whole piece */
	assert_int_equal(n, 4096);
	assert_int_equal(src_count_zeros(src, 1, 8999, &n, "gap", &e), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(src_count_zeros(src, 4098, 4902, &n, "gap", &e), 0);
	assert_int_equal(n, 4901);
	assert_int_equal(src_count_zeros(src, 9000, 0, &n, "gap", &e), 0);
	assert_int_equal(n, 0);
	assert_int_equal(src_count_zeros(src, 4098, 4903, &n, "gap", &e), -EBADMSG);
	src_put(src);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan), cmocka_unit_test(test_joined), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_chains), cmocka_unit_test(test_one_byte), cmocka_unit_test(test_coded),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_clear), cmocka_unit_test(test_patch),
		cmocka_unit_test(test_move), cmocka_unit_test(test_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
