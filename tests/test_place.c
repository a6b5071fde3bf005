/* Where changed blocks go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "place.h"
#include "plan.h"

static uint8_t bytes[4096];

static void fill(uint64_t at, uint64_t n)
{
	memset(bytes + at, 0xaa, n);
}

/* The region is [base, base + used) of bytes; the blocks' old places are filled. Gives the end. */
static uint64_t place(struct block *v, unsigned n, uint64_t base, uint64_t floor, uint64_t used, uint64_t align)
{
	struct source *src = src_memory(bytes, base + used);
	struct err e = { 0 };
	uint64_t end = 0;

	for (unsigned i = 0; i < n; i++)
		fill(base + v[i].at, v[i].size);
	if (place_blocks(v, n, src, base, floor, used, align, &end, &e))
		fail_msg("%s", e.text);
	src_put(src);
	return end;
}

static void clear(void)
{
	memset(bytes, 0, sizeof bytes);
}

static void nothing_moves_without_need(void **state)
{
	/* The second shrinks, the third grows into the zeros behind it, the last one is unchanged. */
	struct block v[] = { { 0, 64, 64 }, { 64, 64, 20, .changed = true }, { 128, 50, 64, .changed = true },
			     { 192, 64, 64 } };

	(void)state;
	clear();
	assert_int_equal(place(v, 4, 100, 0, 256, 16), 256);
	assert_int_equal(v[0].now, 0);
	assert_int_equal(v[1].now, 64);
	assert_int_equal(v[2].now, 128);
	assert_int_equal(v[3].now, 192);
}

static void the_first_hole_that_holds_it(void **state)
{
	/* Free: [16, 48), of which 40 is not zero; [64, 128); what the moving block leaves, [128, 144). */
	struct block v[] = { { 0, 16, 16 }, { 48, 16, 16 }, { 128, 16, 17, .changed = true }, { 144, 112, 112 } };

	(void)state;
	clear();
	fill(40, 1);
	assert_int_equal(place(v, 4, 0, 0, 256, 16), 256);
	assert_int_equal(v[2].now, 16);

	v[2].want = 25;                        /* [16, 40) holds 24 */
	assert_int_equal(place(v, 4, 0, 0, 256, 16), 256);
	assert_int_equal(v[2].now, 64);

	v[2].want = 80;                        /* with its own old place */
	assert_int_equal(place(v, 4, 0, 0, 256, 16), 256);
	assert_int_equal(v[2].now, 64);

	v[2].want = 81;
	assert_int_equal(place(v, 4, 0, 0, 256, 16), 256 + 81);
	assert_int_equal(v[2].now, 256);
}

static void alignment_counts_from_the_region(void **state)
{
	struct block v[] = { { 0, 5, 5 }, { .want = 8, .changed = true }, { .want = 8, .changed = true },
			     { 40, 8, 8 } };

	(void)state;
	clear();
	assert_int_equal(place(v, 4, 3, 0, 48, 16), 48);
	assert_int_equal(v[1].now, 16);
	assert_int_equal(v[2].now, 32);
	assert_int_equal(place(v, 4, 3, 0, 48, 4), 48);
	assert_int_equal(v[1].now, 8);
	assert_int_equal(v[2].now, 16);
}

static void the_last_block_grows_where_it_is(void **state)
{
	struct block v[] = { { 0, 32, 32 }, { 32, 10, 40, .changed = true } };

	(void)state;
	clear();
	assert_int_equal(place(v, 2, 0, 0, 48, 16), 72);
	assert_int_equal(v[1].now, 32);
}

static void bounds_below(void **state)
{
	struct block v[] = { { 64, 16, 16 }, { 128, 8, 24, .changed = true }, { 136, 56, 56 } };

	(void)state;
	clear();
	assert_int_equal(place(v, 3, 0, 0, 192, 16), 192);
	assert_int_equal(v[1].now, 0);
	assert_int_equal(place(v, 3, 0, 1, 192, 16), 192);
	assert_int_equal(v[1].now, 16);        /* the floor, aligned */
	v[1].least = 65;
	assert_int_equal(place(v, 3, 0, 1, 192, 16), 192);
	assert_int_equal(v[1].now, 80);
	v[1].least = 100;                      /* a hole that begins before does not count */
	assert_int_equal(place(v, 3, 0, 1, 192, 16), 192 + 24);
	assert_int_equal(v[1].now, 192);
	v[1].least = 300;
	assert_int_equal(place(v, 3, 0, 1, 192, 16), 304 + 24);
	assert_int_equal(v[1].now, 304);
}

static void a_shared_place_belongs_to_what_stays(void **state)
{
	struct block v[] = { { 0, 64, 64 }, { 32, 64, 48, .changed = true }, { 96, 32, 32 } };
	struct block both[] = { { 0, 32, 16, .changed = true }, { 0, 32, 32, .changed = true }, { 32, 96, 96 } };

	(void)state;
	clear();
	assert_int_equal(place(v, 3, 0, 0, 128, 16), 128 + 48);
	assert_int_equal(v[0].now, 0);
	assert_int_equal(v[1].now, 128);       /* [64, 96) is free now, but holds 32 */
	assert_int_equal(v[2].now, 96);
	assert_int_equal(place(both, 3, 0, 0, 128, 16), 128 + 32);
	assert_int_equal(both[0].now, 0);
	assert_int_equal(both[1].now, 128);
}

static void what_is_given_up_is_a_hole(void **state)
{
	struct block v[] = { { 0, 64, 0, .changed = true }, { 64, 16, 60, .changed = true }, { 80, 48, 48 } };

	(void)state;
	clear();
	assert_int_equal(place(v, 3, 0, 0, 128, 4), 128);
	assert_int_equal(v[1].now, 0);
}

/* Afterwards nothing that stays was touched, and the rest of the old places is zero. */
static void old_places_become_zero(void **state)
{
	struct block v[] = { { 0, 64, 0, .changed = true }, { 32, 16, 16 }, { 64, 64, 20, .changed = true } };
	struct source *memory = src_memory(bytes, 128), *src;
	struct plan plan;
	uint64_t end;
	uint8_t got[128];

	(void)state;
	clear();
	fill(0, 128);
	plan_init(&plan, memory);
	src = src_overlay(&plan);
	assert_int_equal(place_blocks(v, 3, src, 0, 0, 128, 4, &end, NULL), 0);
	assert_int_equal(place_clear(v, 3, src, 0, NULL), 0);
	assert_int_equal(src_pread(src, got, sizeof got, 0), 0);
	for (unsigned i = 0; i < 128; i++)
		assert_int_equal(got[i], (i >= 32 && i < 48) || (i >= 64 && i < 84) ? 0xaa : 0);
	src_put(src);
	plan_free(&plan);
	src_put(memory);
}

/* Against a map of bytes: no two blocks overlap where they were not shared before, none lies on bytes that are neither
 * zero nor given up, and each took the first place there was. */
static void random_layouts(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct block v[24];
		uint8_t owner[1024] = { 0 };   /* 1: a block that stays, 2: to be free, 3: noise */
		uint64_t at = 0, end;
		unsigned n = 0;

		clear();
		while (n < 24 && at < 700) {
			uint32_t r = seed = seed * 1664525u + 1013904223u;
			struct block *b = &v[n++];

			*b = (struct block){ .at = at, .size = r >> 8 & 31, .changed = r >> 16 & 1 };
			b->want = b->changed ? r >> 20 & 63 : b->size;
			at += b->size + (r >> 26) % 24;
			if (!(r >> 27 & 7) && at < 699)
				bytes[at++] = 0xee;
			at = (at + 3) / 4 * 4;
		}
		end = place(v, n, 0, 0, 768, 4);
		assert_true(end >= 768);
		for (unsigned i = 0; i < n; i++)
			memset(owner + v[i].at, v[i].changed ? 2 : 1, v[i].size);
		for (unsigned i = 0; i < 768; i++)
			owner[i] = owner[i] ? owner[i] : bytes[i] ? 3 : 2;
		for (unsigned i = 0; i < n; i++) {
			assert_true(v[i].now + v[i].want <= end);
			if (!v[i].changed || v[i].want <= v[i].size) {
				assert_int_equal(v[i].now, v[i].at);
				continue;
			}
			assert_int_equal(v[i].now % 4, 0);
			for (uint64_t k = v[i].now; k < v[i].now + v[i].want && k < 768; k++)
				assert_int_equal(owner[k], 2);
		}
		memset(owner, 0, sizeof owner);
		for (unsigned i = 0; i < n; i++)
			for (uint64_t k = v[i].now; k < v[i].now + v[i].want && k < sizeof owner; k++)
				assert_int_equal(owner[k]++, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_moves_without_need),
		cmocka_unit_test(the_first_hole_that_holds_it),
		cmocka_unit_test(alignment_counts_from_the_region),
		cmocka_unit_test(the_last_block_grows_where_it_is),
		cmocka_unit_test(bounds_below),
		cmocka_unit_test(a_shared_place_belongs_to_what_stays),
		cmocka_unit_test(what_is_given_up_is_a_hole),
		cmocka_unit_test(old_places_become_zero),
		cmocka_unit_test(random_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
