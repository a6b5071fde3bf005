/* Fixed point numbers as text and back: values worked out by hand, and every value of 16 bits there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "num.h"

static void prints(int64_t v, unsigned bits, const char *want)
{
	char text[NUM_MAX + 1];

	text[num_fixed(text, v, bits)] = 0;
	assert_string_equal(text, want);
}

static void test_print(void **state)
{
	(void)state;
	prints(0, 16, "0.0");
	prints(65536, 16, "1.0");
	prints(-65536, 16, "-1.0");
	prints(-32768, 16, "-0.5");
	prints(1, 16, "0.0000152587890625");
	prints(-1, 16, "-0.0000152587890625");
	prints(73272, 16, "1.1180419921875");
	prints(INT32_MAX, 16, "32767.9999847412109375");
	prints(INT32_MIN, 16, "-32768.0");
	prints(-(int64_t)INT32_MIN, 16, "32768.0");
	prints(8192 * 45, 13, "45.0");
	prints(-45, 13, "-0.0054931640625");
	prints(((int64_t)1 << 40) - 1, 0, "1099511627775.0");
}

static void reads(const char *text, unsigned bits, unsigned over, int64_t want)
{
	int64_t got = 0;

	assert_true(num_parse_fixed(text, strlen(text), bits, over, &got));
	assert_int_equal(got, want);
}

static void test_read(void **state)
{
	(void)state;
	reads("1", 16, 1, 65536);
	reads("+.5", 16, 1, 32768);
	reads("-1.", 16, 1, -65536);
	reads("1e-5", 16, 1, 1);                               /* 0.65536 */
	reads("1.5E+3", 16, 1, 1500 * 65536);
	reads("0.0001e4", 16, 1, 65536);
	reads("-0.0", 16, 1, 0);
	reads("0.000007629394531250", 16, 1, 1);               /* half way: away from zero */
	reads("-0.00000762939453125", 16, 1, -1);
	reads("0.0000076293945312499999999999999999", 16, 1, 0);
	reads("0.0000228881835937500000000000000001", 16, 1, 2);
	reads("32767.9999847412109375", 16, 1, INT32_MAX);
	reads("00000000000000000000000000000001", 16, 1, 65536);
	reads("1e300", 16, 1, (int64_t)1 << 40);
	reads("-1e99999999999999999999", 16, 1, -((int64_t)1 << 40));
	reads("0e99999999999999999999", 16, 1, 0);
	reads("1e-99999999999999999999", 16, 1, 0);
	reads("45", 13, 45, 8192);
	reads("-360", 13, 45, -65536);
	reads("0.00274658203125", 13, 45, 1);                  /* half a unit */
	reads("0.00274658203124", 13, 45, 0);
}

static void test_no_numbers(void **state)
{
	static const char *const texts[] = {
		"", "-", ".", "-.", "e5", "1e", "1e+", "1,5", "1.5x", "0x10", "1 ", ".inf", "1e5.0",
	};
	int64_t got;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(num_parse_fixed(texts[i], strlen(texts[i]), 16, 1, &got));
}

static void test_there_and_back(void **state)
{
	char text[NUM_MAX];
	int64_t got;

	(void)state;
	for (int32_t v = -32768; v <= 32767; v++) {
		assert_true(num_parse_fixed(text, num_fixed(text, v, 16), 16, 1, &got));
		assert_int_equal(got, v);
		assert_true(num_parse_fixed(text, num_fixed(text, v * 45, 13), 13, 45, &got));
		assert_int_equal(got, v);
		assert_true(num_parse_fixed(text, num_fixed(text, (int64_t)v * 65536 + 0x5555, 16), 16, 1, &got));
		assert_int_equal(got, (int64_t)v * 65536 + 0x5555);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_no_numbers),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
