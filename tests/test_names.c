/* Names out of files made safe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names.h"

static void become(const char *const *in, const char *const *want, uint32_t n)
{
	struct stored_name v[16];
	const char *out[16];
	struct arena a = { 0 };

	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct stored_name){ (const uint8_t *)in[i], strlen(in[i]) };
	assert_int_equal(names_safe(v, n, "stem", out, &a, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(out[i], want[i]);
	arena_free(&a);
}

static void test_letters(void **state)
{
	static const char *const in[] = { "plain", "two words", "#/\\\"':", "caf\xe9\x7f\n", "~!;,*?<>|{}[]" };
	static const char *const want[] = { "plain", "two_words", "______", "caf___", "~!;,*?<>|{}[]" };

	(void)state;
	become(in, want, ARRAY_LEN(in));
}

static void test_empty_and_dots(void **state)
{
	static const char *const in[] = { "", ".", "..", "...", "", "__" };
	static const char *const want[] = { "stem_0", "_", "__", "...", "stem_4", "__~2" };

	(void)state;
	become(in, want, ARRAY_LEN(in));
}

/* The first number that is free, also where a name looks like a numbered one. */
static void test_repeats(void **state)
{
	static const char *const in[] = { "a", "a~3", "a", "a", "a~2", "a", "stem_6", "", "b c", "b_c" };
	static const char *const want[] = {
		"a", "a~3", "a~2", "a~4", "a~2~2", "a~5", "stem_6", "stem_7", "b_c", "b_c~2",
	};

	(void)state;
	become(in, want, ARRAY_LEN(in));
	become((const char *const[]){ "stem_1", "" }, (const char *const[]){ "stem_1", "stem_1~2" }, 2);
}

static void test_many_repeats(void **state)
{
	uint32_t n = 100000;
	struct stored_name *v = calloc(n, sizeof *v);
	const char **out = calloc(n, sizeof *out);
	struct arena a = { 0 };

	(void)state;
	assert_non_null(v);
	assert_non_null(out);
	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct stored_name){ (const uint8_t *)"x\0y", 3 };
	assert_int_equal(names_safe(v, n, "stem", out, &a, NULL), 0);
	assert_string_equal(out[0], "x_y");
	assert_string_equal(out[n - 1], "x_y~100000");
	arena_free(&a);
	free(v);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_empty_and_dots),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_many_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
