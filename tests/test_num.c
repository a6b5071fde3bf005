/* Numbers as text. num.c is included, not linked, to see its table. What it prints is compared with a printer made of
 * snprintf and strtof, what it reads with strtof; both are exact in the C libraries this runs on. */
#include "num.c"

#include "half.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_bits(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* ---- the table ---- */

#define WIDE 16                                /* 512 bits */

static void wide_mul(uint32_t *w, uint32_t by)
{
	uint64_t carry = 0;

	for (int i = 0; i < WIDE; i++) {
		carry += (uint64_t)w[i] * by;
		w[i] = (uint32_t)carry;
		carry >>= 32;
	}
	assert_int_equal(carry, 0);
}

static void wide_div(uint32_t *w, uint32_t by)
{
	uint64_t rest = 0;

	for (int i = WIDE; i--;) {
		rest = rest << 32 | w[i];
		w[i] = (uint32_t)(rest / by);
		rest %= by;
	}
}

static int wide_bits(const uint32_t *w)
{
	int i = WIDE;

	while (i && !w[i - 1])
		i--;
	return i ? 32 * i - __builtin_clz(w[i - 1]) : 0;
}

/* 10^e: its first 64 bits and the power of two they count. */
static uint64_t first_bits(int e, int *exp)
{
	uint32_t w[WIDE] = { 0 };
	uint64_t top = 0;
	int unit = e < 0 ? 480 : 64, i, n;     /* w counts in 2^-unit */

	w[unit / 32] = 1;
	for (i = 0; i < e; i++)
		wide_mul(w, 10);
	for (i = 0; i > e; i--)
		wide_div(w, 10);
	n = wide_bits(w);
	for (i = n - 1; i >= n - 64; i--)
		top = top << 1 | (w[i / 32] >> i % 32 & 1);
	*exp = n - 64 - unit;
	return top;
}

static void test_table(void **state)
{
	(void)state;
	for (int e = POW10_MIN; e <= POW10_MAX; e++) {
		int exp;
		uint64_t top = first_bits(e, &exp);

		assert_int_equal(pow10_top[e - POW10_MIN], top);
		assert_int_equal(log2_pow10(e), exp);
	}
}

/* 10^k <= top * 2^exp, top with its highest bit set. */
static bool pow10_at_most(int k, uint64_t top, int exp)
{
	int e;
	uint64_t t = first_bits(k, &e);

	return e < exp || (e == exp && (t < top || (t == top && k >= 0)));
}

static void test_logarithms(void **state)
{
	(void)state;
	for (int q = -149; q <= 104; q++) {
		int k = log10_pow2(q), k34 = log10_pow2_34(q);

		assert_true(pow10_at_most(k, 1ull << 63, q - 63));
		assert_false(pow10_at_most(k + 1, 1ull << 63, q - 63));
		assert_true(pow10_at_most(k34, 3ull << 62, q - 64));
		assert_false(pow10_at_most(k34 + 1, 3ull << 62, q - 64));
	}
}

/* ---- printing ---- */

static void assert_f32(uint32_t bits, bool dot, const char *want)
{
	char got[NUM_MAX + 8];
	size_t n;

	memset(got, '#', sizeof got);
	n = num_f32(got, bits_f32(bits), dot);
	if (n != strlen(want) || memcmp(got, want, n) || memcmp(got + NUM_MAX, "########", 8))
		fail_msg("0x%08x%s: \"%.*s\", expected \"%s\"", bits, dot ? " with dot" : "", (int)n, got, want);
}

static void test_known_values(void **state)
{
	static const struct {
		float v;
		const char *dot, *bare;
	} known[] = {
		{ 0, "0.0", "0" },
		{ -0.0f, "-0.0", "-0" },
		{ 1, "1.0", "1" },
		{ -1, "-1.0", "-1" },
		{ 0.5f, "0.5", "0.5" },
		{ 0.1f, "0.1", "0.1" },
		{ 1 / 3.0f, "0.33333334", "0.33333334" },
		{ 10, "10.0", "10" },
		{ 100.25f, "100.25", "100.25" },
		{ 12345.678f, "12345.678", "12345.678" },
		{ 16777216, "16777216.0", "16777216" },
		{ 123456792, "123456790.0", "123456790" },
		{ 1e9f, "1000000000.0", "1000000000" },
		{ 1.5e15f, "1500000000000000.0", "1500000000000000" },
		{ -9.999999e15f, "-9999999000000000.0", "-9999999000000000" },
		{ 1e16f, "1.0e+16", "1e+16" },
		{ 1.25e20f, "1.25e+20", "1.25e+20" },
		{ 1e-4f, "0.0001", "0.0001" },
		{ -1.2345678e-4f, "-0.00012345678", "-0.00012345678" },
		{ 9.999e-5f, "9.999e-05", "9.999e-05" },
		{ 1e-5f, "1.0e-05", "1e-05" },
		{ -1e-10f, "-1.0e-10", "-1e-10" },
		{ 0x1.fffffep127f, "3.4028235e+38", "3.4028235e+38" },
		{ 0x1p-126f, "1.1754944e-38", "1.1754944e-38" },
		{ 0x1.fffffcp-127f, "1.1754942e-38", "1.1754942e-38" },
		{ 0x1p-149f, "1.0e-45", "1e-45" },
		{ 0x3p-149f, "4.0e-45", "4e-45" },
		{ 0x7p-149f, "1.0e-44", "1e-44" },
		{ 8589973504.0f, "8589974000.0", "8589974000" },        /* 8589973000 reads back too */
		{ 9.8567e-41f, "9.8567e-41", "9.8567e-41" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		assert_f32(f32_bits(known[i].v), true, known[i].dot);
		assert_f32(f32_bits(known[i].v), false, known[i].bare);
	}
}

static void test_not_finite(void **state)
{
	(void)state;
	assert_f32(0x7f800000, true, ".inf");
	assert_f32(0xff800000, true, "-.inf");
	assert_f32(0x7fc00001, true, "0x7fc00001");
	assert_f32(0xff80000a, true, "0xff80000a");
	assert_f32(0x7f800000, false, "0");
	assert_f32(0xff800000, false, "0");
	assert_f32(0x7fc00001, false, "0");
	assert_f32(0xffffffff, false, "0");
}

static bool reads_back(const char *text, uint32_t bits)
{
	return f32_bits(strtof(text, NULL)) == bits;
}

/* The shortest decimal by trying: sci becomes "d.ddde-dd". snprintf gives the closest of every length. When that does
 * not read back, the next one on its other side still may, as the interval of a power of two is lopsided. */
static void try_lengths(uint32_t bits, char *sci, size_t room)
{
	for (int n = 0; n < 9; n++) {
		char next[32];
		double v = bits_f32(bits), step = 1;
		int exp;

		snprintf(sci, room, "%.*e", n, v);
		if (reads_back(sci, bits))
			return;
		exp = atoi(strchr(sci, 'e') + 1) - n;
		for (int i = 0; i < (exp < 0 ? -exp : exp); i++)
			step *= 10;
		step = exp < 0 ? 1 / step : step;
		snprintf(next, sizeof next, "%.*e", n, strtod(sci, NULL) + (strtod(sci, NULL) < v ? step : -step));
		if (reads_back(next, bits)) {
			snprintf(sci, room, "%s", next);
			return;
		}
	}
	fail_msg("0x%08x: nine digits do not read back", bits);
}

/* What num_f32 shall print for a finite value. */
static void expected_text(uint32_t bits, bool dot, char *out)
{
	char sci[32], digits[16], *p = sci;
	int n = 0, exp;

	if (!(bits << 1)) {
		strcpy(out, bits ? dot ? "-0.0" : "-0" : dot ? "0.0" : "0");
		return;
	}
	try_lengths(bits, sci, sizeof sci);
	if (*p == '-')
		*out++ = *p++;
	for (; *p != 'e'; p++)
		if (*p != '.')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = 0;
	exp = atoi(p + 1);
	if (exp < -4 || exp > 15) {
		sprintf(out, "%c%s%s%s", digits[0], n > 1 ? "." : dot ? ".0" : "", digits + 1, p);
	} else if (exp < 0) {
		sprintf(out, "0.%.*s%s", -1 - exp, "000", digits);
	} else if (n > exp + 1) {
		sprintf(out, "%.*s.%s", exp + 1, digits, digits + exp + 1);
	} else {
		sprintf(out, "%s%.*s%s", digits, exp + 1 - n, "000000000000000", dot ? ".0" : "");
	}
}

static void assert_printed(uint32_t bits)
{
	char want[64];

	expected_text(bits, true, want);
	assert_f32(bits, true, want);
	expected_text(bits, false, want);
	assert_f32(bits, false, want);
}

/* All exponents: around every power of two, and random ones between. */
static void test_print_every_exponent(void **state)
{
	(void)state;
	for (uint32_t biased = 0; biased < 255; biased++) {
		uint32_t start = biased << 23;

		for (uint32_t i = 0; i < 8; i++) {
			assert_printed(start + i);
			assert_printed(start + 0x7fffff - i);
			assert_printed(0x80000000 | (start + i));
		}
		for (uint32_t i = 0; i < 24; i++)
			assert_printed(start | (uint32_t)(random_bits() >> 41));
	}
}

static void test_print_short_decimals(void **state)
{
	char text[32];

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		assert_printed(i);                                      /* subnormals */
	for (int exp = -45; exp <= 38; exp++)
		for (int digit = 1; digit < 10; digit++) {
			uint32_t bits;

			snprintf(text, sizeof text, "%de%d", digit, exp);
			bits = f32_bits(strtof(text, NULL));
			if ((bits & 0x7f800000) == 0x7f800000)
				continue;
			assert_printed(bits);
			assert_printed(bits + 1);
			if (bits)
				assert_printed(bits - 1);
		}
	for (int i = 0; i <= 10000; i++)
		assert_printed(f32_bits((float)i / 1000));
}

/* Number of digits up to the last that is not 0, from the first that is not. */
static int significant(const char *p, size_t n)
{
	int seen = 0, last = 0;

	for (size_t i = 0; i < n && p[i] != 'e'; i++)
		if (is_digit(p[i]) && (seen || p[i] != '0')) {
			seen++;
			last = p[i] != '0' ? seen : last;
		}
	return last;
}

/* Reads back, in C and here, from our text and from the nine digits that are always enough; one digit less does not. */
static void test_random_patterns(void **state)
{
	(void)state;
	for (int i = 0; i < 1500000; i++) {
		uint32_t bits = (uint32_t)(random_bits() >> 32);
		char text[NUM_MAX + 1], other[32];
		int digits, len;
		float v, again;
		size_t n;

		if ((bits & 0x7f800000) == 0x7f800000)
			continue;
		v = bits_f32(bits);
		n = num_f32(text, v, i & 1);
		text[n] = 0;
		if (!reads_back(text, bits) || !num_parse_f32(text, n, &again) || f32_bits(again) != bits)
			fail_msg("0x%08x: %s does not read back", bits, text);
		len = snprintf(other, sizeof other, "%.9g", (double)v);
		if (!num_parse_f32(other, (size_t)len, &again) || f32_bits(again) != bits)
			fail_msg("0x%08x: %s does not read back", bits, other);
		digits = significant(text, n);
		assert_in_range(digits, 1, 9);
		if (digits > 1) {
			snprintf(other, sizeof other, "%.*e", digits - 2, (double)v);
			if (reads_back(other, bits))
				fail_msg("0x%08x: %s is longer than %s", bits, text, other);
		}
		if (i % 16 == 0)
			assert_printed(bits);
	}
}

/* ---- parsing ---- */

/* Reads from memory that ends where the text does. */
static bool parse(const char *text, size_t n, float *v)
{
	char *exact = malloc(n + !n);
	bool ok;

	assert_non_null(exact);
	memcpy(exact, text, n);
	ok = num_parse_f32(exact, n, v);
	free(exact);
	return ok;
}

static void assert_like_strtof(const char *text)
{
	float got = 0, want = strtof(text, NULL);
	bool ok = parse(text, strlen(text), &got), fits = want - want == 0;

	if (ok != fits || (ok && f32_bits(got) != f32_bits(want)))
		fail_msg("\"%s\": 0x%08x, expected 0x%08x", text, ok ? f32_bits(got) : 0x7f800000, f32_bits(want));
}

static void test_parse_forms(void **state)
{
	static const char *const good[] = {
		"0", "-0", "+0", "0.0", "-0.000", "0e99999999999999999999", "1", "+1", "-1", "1.", ".5", "-.5",
		"1.5e3", "1E3", "1e+3", "1e-3", "00000000000000000000000000000001",
		"0.00000000000000000000000000000001", "1e00000000000000000000000000000002",
		"123456789012345678901234567890", "0000000000000000001e38",
		"0.0000000000000000000000000000000000000000000001e46",
		"100000000000000000000000000000000000000000000e-44",
	};
	static const char *const none[] = {
		"", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1e-", "1e5.0", "1e5 ", " 1", "1 ", "1,5", "1.2.3",
		"--1", "+-1", "0x10", "0x1p3", "inf", "-inf", ".inf", "nan", "1f", "1e5f", "1_0", "..1", "1e++5",
		"1ee5", "\0001",
	};
	float v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_like_strtof(good[i]);
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (parse(none[i], strlen(none[i]), &v))
			fail_msg("\"%s\" taken for %g", none[i], (double)v);
	assert_false(parse("1\0", 2, &v));
	assert_false(parse("1\0" "2", 3, &v));
}

static void test_parse_limits(void **state)
{
	static const char *const too_large[] = {
		"340282356779733661637539395458142568448", "3.4028235677973366163753939545814256844800001e38",
		"3.41e38", "1e39", "-1e39", "1e400", "1e99999999999999999999",
		"9999999999999999999999999999999999999999",
	};
	float v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(too_large); i++)
		assert_false(parse(too_large[i], strlen(too_large[i]), &v));
	assert_like_strtof("340282356779733661637539395458142568447");
	assert_like_strtof("340282356779733661637539395458142568447.99999999999999999999999999999999999");
	assert_like_strtof("3.4028235e38");
	assert_like_strtof("-3.4028235e38");
	assert_like_strtof("1e-45");
	assert_like_strtof("-7e-46");
	assert_like_strtof("7.1e-46");
	assert_like_strtof("-1e-46");
	assert_like_strtof("1e-400");
	assert_like_strtof("-1e-99999999999999999999");
	assert_like_strtof("16777217");
	assert_like_strtof("16777219");
	assert_like_strtof("16777217.0000000000000000000000000000000000000000000000000000000000000000000000000000001");
	assert_like_strtof("16777218.9999999999999999999999999999999999999999999999999999999999999999999999999999999");
}

/* Exactly half way between a float32 and the next one, a little less, a little more. */
static void assert_midpoint(uint32_t bits)
{
	double mid = ((double)bits_f32(bits) + (double)bits_f32(bits + 1)) / 2;
	char text[128 + 8], longer[400];
	int n = snprintf(text, sizeof text, "%.120e", mid) - 4;         /* more digits than it has; then "e+00" */
	int last = n - 1;

	assert_like_strtof(text);
	snprintf(longer, sizeof longer, "%.*s%0100d%s", n, text, 0, text + n);
	assert_like_strtof(longer);
	snprintf(longer, sizeof longer, "%.*s%0100d%s", n, text, 1, text + n);
	assert_like_strtof(longer);
	while (text[last] == '0' || text[last] == '.')
		last--;
	text[last]--;
	assert_like_strtof(text);
	n = snprintf(longer, sizeof longer, "%.200f", mid);
	assert_like_strtof(longer);
	longer[n - 1] = '1';
	assert_like_strtof(longer);
}

static void test_parse_midpoints(void **state)
{
	(void)state;
	for (uint32_t biased = 0; biased < 255; biased++) {
		assert_midpoint(biased << 23);
		assert_midpoint(biased << 23 | 0x7ffffe);
		if (biased < 254)
			assert_midpoint(biased << 23 | 0x7fffff);
		for (int i = 0; i < 20; i++)
			assert_midpoint(biased << 23 | (uint32_t)(random_bits() >> 41 & 0x7ffffe));
	}
	for (uint32_t i = 0; i < 500; i++)
		assert_midpoint(i);
}

/* Any digits, a dot anywhere, exponents that mostly stay in range. */
static void test_parse_random(void **state)
{
	char text[96];

	(void)state;
	for (int i = 0; i < 400000; i++) {
		int n = 1 + (int)(random_bits() % (i % 8 ? 20 : 60)), dot = (int)(random_bits() % (unsigned)(n + 4));
		char *p = text;

		if (random_bits() & 1)
			*p++ = '-';
		for (int k = 0; k < n; k++) {
			if (k == dot)
				*p++ = '.';
			*p++ = (char)('0' + random_bits() % 10);
		}
		if (random_bits() & 3)
			p += sprintf(p, "e%d", (int)(random_bits() % 100) - 55);
		*p = 0;
		assert_like_strtof(text);
	}
}

/* Texts of a million digits, where only the exponent says how large the value is. */
static void test_parse_long(void **state)
{
	size_t n = 1000000;
	char *text = malloc(n + 40);
	float v;

	(void)state;
	assert_non_null(text);
	memset(text, '0', n);
	text[1] = '.';
	n += (size_t)sprintf(text + n, "15e1000000");
	assert_true(parse(text, n, &v));
	assert_true(v == 15.0f);
	n = 1000000;
	text[0] = '3';
	memset(text + 1, '0', n - 1);
	sprintf(text + n, "e-999999");
	assert_true(parse(text, n + 8, &v));
	assert_true(v == 3.0f);
	assert_false(parse(text, n, &v));
	memcpy(text, "16777217.", 9);
	assert_true(parse(text, n, &v));
	assert_true(v == 16777216.0f);
	text[n - 1] = '1';
	assert_true(parse(text, n, &v));
	assert_true(v == 16777218.0f);
	free(text);
}

/* ---- integers ---- */

static void assert_integers(uint32_t v)
{
	char got[NUM_MAX], want[16];
	int n = snprintf(want, sizeof want, "%u", v);

	assert_int_equal(num_u32(got, v), n);
	assert_memory_equal(got, want, n);
	n = snprintf(want, sizeof want, "%d", (int32_t)v);
	assert_int_equal(num_i32(got, (int32_t)v), n);
	assert_memory_equal(got, want, n);
}

static void test_integers(void **state)
{
	(void)state;
	for (uint32_t v = 0; v < 20000; v++)
		assert_integers(v);
	for (uint64_t power = 1; power <= 10000000000; power *= 10)
		for (uint32_t i = 0; i < 3; i++) {
			assert_integers((uint32_t)power + i - 1);
			assert_integers(-((uint32_t)power + i - 1));
		}
	for (int bit = 0; bit < 32; bit++)
		for (uint32_t i = 0; i < 3; i++)
			assert_integers(((uint32_t)1 << bit) + i - 1);
	for (int i = 0; i < 100000; i++)
		assert_integers((uint32_t)(random_bits() >> 32) >> i % 32);
}

/* ---- halves ---- */

static double value_of_half(unsigned h)
{
	unsigned exp = h >> 10 & 31, fraction = h & 0x3ff;
	double size = exp ? ldexp(1024 + fraction, (int)exp - 25) : ldexp(fraction, -24);

	return h & 0x8000 ? -size : size;
}

static void test_all_halves(void **state)
{
	(void)state;
	for (unsigned h = 0; h < 0x10000; h++) {
		float v = half_f32((uint16_t)h);

		assert_int_equal(f32_half(v), h);
		if ((h & 0x7fff) > 0x7c00)
			assert_int_equal(f32_bits(v), (h & 0x8000u) << 16 | 0x7f800000 | (h & 0x3ffu) << 13);
		else if ((h & 0x7fff) == 0x7c00)
			assert_true(isinf(v) && (v < 0) == h >> 15);
		else
			assert_true((double)v == value_of_half(h) && !signbit(v) == !(h >> 15));
	}
	assert_int_equal(f32_half(bits_f32(0x7f800001)), 0x7c01);      /* a payload that does not fit stays a NaN */
}

/* Half way between two halves the even one wins; the float32 next to it belongs to the nearer one. */
static void test_halves_are_rounded_to_even(void **state)
{
	(void)state;
	for (unsigned h = 0; h < 0x7c00; h++) {
		double next = h == 0x7bff ? 65536 : value_of_half(h + 1);
		float middle = (float)((value_of_half(h) + next) / 2);

		assert_int_equal(f32_half(middle), h + (h & 1));
		assert_int_equal(f32_half(nextafterf(middle, 0)), h);
		assert_int_equal(f32_half(nextafterf(middle, INFINITY)), h + 1);
		assert_int_equal(f32_half(-middle), (h + (h & 1)) | 0x8000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_logarithms),
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_print_every_exponent),
		cmocka_unit_test(test_print_short_decimals),
		cmocka_unit_test(test_random_patterns),
		cmocka_unit_test(test_parse_forms),
		cmocka_unit_test(test_parse_limits),
		cmocka_unit_test(test_parse_midpoints),
		cmocka_unit_test(test_parse_random),
		cmocka_unit_test(test_parse_long),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_all_halves),
		cmocka_unit_test(test_halves_are_rounded_to_even),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
