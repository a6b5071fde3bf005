/* The DATA.BIN cipher against its definition: the step rule of spec/mhp.md 1.2, word after word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "mhpcipher.h"

/* The state, stepped as the definition says. */
struct steps { uint32_t hi, lo; };

static struct steps steps_start(uint32_t key)
{
	struct steps s = { key >> 16, key & 0xffff };

	s.hi = s.hi ? s.hi : 0x2345;
	s.lo = s.lo ? s.lo : 0x7f8d;
	return s;
}

static uint32_t steps_next(struct steps *s)
{
	s->hi = (uint32_t)((uint64_t)s->hi * 0x2345 % 0xffd9);
	s->lo = (uint32_t)((uint64_t)s->lo * 0x7f8d % 0xfff1);
	return s->hi << 16 | s->lo;
}

/* What encrypted bytes turn into before the key word is applied: decryption of a run whose key words are known. */
static uint8_t replaced(uint8_t b)
{
	struct steps s = steps_start(0);
	uint8_t p[4] = { b, b, b, b };

	mhp_cipher.decrypt(0, 0, p, 4);
	return (uint8_t)(le_u32(p) ^ steps_next(&s));
}

static const uint32_t keys[] = {
	0, 1, 0x11, 0x12345, 0x1234, 0xffff, 0x10000, 0x7fffffff, 0xffffffff, 0x23457f8d, 0x2345, 0x7f8d,
	0xffd9u << 16,                         /* the high half reduces to 0 */
	0xffd90001, 0xffda0002, 0xfff1, 0x1fff1, 0xfff2, 0xffd9fff1, 0xfffffff1, 81325, 445, 2u << 16
};

static uint32_t noise(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state ^ *state >> 13;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(noise(&seed) >> 8);
}

/* ---- worked values of the specification ---- */

static void test_key_words(void **state)
{
	static const struct { uint32_t key, words[6]; } worked[] = {
		{ 0, { 0xae1ded19, 0x8cd1ea1d, 0x7c542b0d, 0x9af96af5, 0x11489374, 0xdd2f1128 } },
		{ 0x11, { 0xae1d78d5, 0x8cd1bf8a, 0x7c548cce, 0x9af9dbfb, 0x11481aae, 0xdd2fcb3b } },
		{ 0x12345, { 0x2345af9e, 0xae1d3cd1, 0x8cd1f4af, 0x7c54ba73, 0x9af9301c, 0x1148cb03 } },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(worked); i++) {
		struct steps s = steps_start(worked[i].key);

		for (unsigned k = 0; k < 6; k++)
			assert_int_equal(steps_next(&s), worked[i].words[k]);
	}
}

static void check_pair(uint32_t key, const uint8_t plain[16], const uint8_t coded[16])
{
	uint8_t p[16];

	memcpy(p, plain, 16);
	mhp_cipher.encrypt(key, 0, p, 16);
	assert_memory_equal(p, coded, 16);
	mhp_cipher.decrypt(key, 0, p, 16);
	assert_memory_equal(p, plain, 16);
}

static void test_worked_bytes(void **state)
{
	static const uint8_t table[16] = { 0x11, 0, 0, 0, 2, 5, 0, 0, 0xf3, 9, 0, 0, 0xe4, 0x0e, 0, 0 };
	static const uint8_t table_coded[16] = { 0xd6, 0xe3, 0x69, 0xa0, 0x53, 0x0e, 0xe5, 0x23, 0x45, 0xb1, 0xa4, 0xcc,
						 0xc6, 0x79, 0x8e, 0xec };
	static const uint8_t zeros[16], zeros_coded[16] = { 0x22, 0xf5, 0x69, 0xa0, 0xd8, 0xa6, 0xe5, 0x23, 0x44, 0x23,
							    0xa4, 0xcc, 0xdb, 0xc8, 0x8e, 0xec };

	(void)state;
	check_pair(0, table, table_coded);
	check_pair(0x11, zeros, zeros_coded);
}

/* ---- every method against the definition ---- */

#define RUN (70000u * 4)                       /* longer than both periods */

static void check_method(const struct mhp_method *m, const uint8_t dec[256], uint32_t key)
{
	uint8_t *p = malloc(RUN);
	struct steps s = steps_start(key);

	assert_non_null(p);
	fill(p, RUN, key);
	mhp_crypt(m, true, key, 0, p, RUN);
	for (uint32_t i = 0, seed = key; i < RUN; i += 4) {
		uint8_t raw[4];
		uint32_t word = steps_next(&s);

		for (unsigned k = 0; k < 4; k++)
			raw[k] = dec[(uint8_t)(noise(&seed) >> 8)];
		assert_int_equal(le_u32(p + i), le_u32(raw) ^ word);
	}
	free(p);
}

static void test_methods(void **state)
{
	uint8_t dec[256];
	unsigned run = 0;

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		dec[i] = replaced((uint8_t)i);
	assert_int_equal(dec[0], 0xcb);
	assert_int_equal(dec[255], 0xac);
	for (unsigned i = 0; i < mhp_nmethods; i++) {
		if (!mhp_methods[i].usable())
			continue;
		run++;
		for (unsigned k = 0; k < ARRAY_LEN(keys); k++)
			check_method(&mhp_methods[i], dec, keys[k]);
	}
	assert_true(run > 0);
	assert_string_equal(mhp_methods[mhp_nmethods - 1].name, "portable");
	assert_true(mhp_methods[mhp_nmethods - 1].usable());
}

/* Any part of a run is what the whole has there. */
static void test_pieces(void **state)
{
	enum { N = 3000 };
	uint8_t whole[N], part[N], stored[N];
	uint32_t seed = 7;

	(void)state;
	for (unsigned i = 0; i < mhp_nmethods; i++) {
		const struct mhp_method *m = &mhp_methods[i];

		for (unsigned k = 0; k < ARRAY_LEN(keys) && m->usable(); k++) {
			fill(stored, N, k);
			memcpy(whole, stored, N);
			mhp_crypt(m, true, keys[k], 0, whole, N);
			for (unsigned turn = 0; turn < 100; turn++) {
				size_t at = noise(&seed) % (N / 4) * 4, n = noise(&seed) % ((N - at) / 4 + 1) * 4;

				memcpy(part, stored, N);
				mhp_crypt(m, true, keys[k], at, part + at, n);
				assert_memory_equal(part, stored, at);
				assert_memory_equal(part + at, whole + at, n);
				assert_memory_equal(part + at + n, stored + at + n, N - at - n);
			}
		}
	}
}

/* Far into a run the state repeats with the periods of its halves. */
static void test_far(void **state)
{
	const uint64_t period = 65496ull * 65520 * 4;

	(void)state;
	for (unsigned i = 0; i < mhp_nmethods; i++) {
		uint8_t near[512], far[512];

		if (!mhp_methods[i].usable())
			continue;
		for (unsigned k = 0; k < ARRAY_LEN(keys); k++) {
			fill(near, sizeof near, k);
			memcpy(far, near, sizeof far);
			mhp_crypt(&mhp_methods[i], true, keys[k], 1236, near, sizeof near);
			mhp_crypt(&mhp_methods[i], true, keys[k], 1236 + period * 5, far, sizeof far);
			assert_memory_equal(near, far, sizeof far);
		}
	}
}

static void test_identity(void **state)
{
	enum { N = 4096 };
	uint8_t p[N], q[N], stored[N];

	(void)state;
	for (unsigned i = 0; i < mhp_nmethods; i++) {
		if (!mhp_methods[i].usable())
			continue;
		for (unsigned k = 0; k < ARRAY_LEN(keys); k++) {
			size_t n = N - 4 * k, at = 4 * (k * 977);

			fill(stored, N, keys[k]);
			memcpy(p, stored, N);
			mhp_crypt(&mhp_methods[i], true, keys[k], at, p, n);
			memcpy(q, p, N);
			mhp_crypt(&mhp_methods[i], false, keys[k], at, p, n);
			assert_memory_equal(p, stored, N);
			mhp_cipher.encrypt(keys[k], at, q, n);
			assert_memory_equal(q, stored, N);
		}
	}
}

/* A changed byte changes one byte, wherever it is. */
static void test_no_chaining(void **state)
{
	uint8_t a[512], b[512];

	(void)state;
	for (unsigned i = 0; i < sizeof a; i++) {
		fill(a, sizeof a, i);
		memcpy(b, a, sizeof a);
		b[i] ^= 0x55;
		mhp_cipher.encrypt(i, 0, a, sizeof a);
		mhp_cipher.encrypt(i, 0, b, sizeof b);
		for (unsigned k = 0; k < sizeof a; k++)
			assert_int_equal(a[k] != b[k], k == i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_words), cmocka_unit_test(test_worked_bytes), cmocka_unit_test(test_methods),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_far), cmocka_unit_test(test_identity),
		cmocka_unit_test(test_no_chaining),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
