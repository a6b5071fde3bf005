/* Runs of an entry that become longer or shorter. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "edited.h"
#include "splice.h"

extern const struct format fmt_ahi;            /* any: none opens what lies here */

static uint8_t old[300000];
static struct edited k;

static void begin(size_t n, size_t room)
{
	for (size_t i = 0; i < sizeof old; i++)
		old[i] = (uint8_t)(i * 7 + (i >> 8));
	edited_open(&k, &fmt_ahi, old, n, room);
}

static void is(const char *want)
{
	size_t n = strlen(want);

	assert_int_equal(k.size[0], n);
	edited_settle(&k);
	assert_memory_equal(k.bytes[0], want, n);
	edited_close(&k);
}

static void splice(const char *text, const struct splice *v, unsigned n, const char *want)
{
	struct err e = { 0 };

	edited_open(&k, &fmt_ahi, text, strlen(text), 64);
	if (object_splice(k.o, 0, v, n, &e))
		fail_msg("%s", e.text);
	is(want);
}

static void test_by_hand(void **state)
{
	const struct splice grow = { 3, 2, 4, "WXYZ" }, shrink = { 3, 4, 1, "W" }, same = { 0, 2, 2, "WX" };
	const struct splice into = { 4, 0, 2, "WX" }, end = { 8, 0, 3, "WXY" }, gone = { 0, 8, 0, NULL };
	const struct splice both[] = { { 1, 3, 0, NULL }, { 4, 1, 6, "UVWXYZ" }, { 7, 1, 0, NULL } };
	const struct splice other[] = { { 1, 0, 5, "VWXYZ" }, { 3, 4, 1, "U" } };

	(void)state;
	splice("abcdefgh", &grow, 1, "abcWXYZfgh");
	splice("abcdefgh", &shrink, 1, "abcWh");
	splice("abcdefgh", &same, 1, "WXcdefgh");
	splice("abcdefgh", &into, 1, "abcdWXefgh");
	splice("abcdefgh", &end, 1, "abcdefghWXY");
	splice("abcdefgh", &gone, 1, "");
	splice("abcdefgh", both, 3, "aUVWXYZfg");
	splice("abcdefgh", other, 2, "aVWXYZbcUh");
	assert_int_equal(splice_moved(both, 3, 0), 0);
	assert_int_equal(splice_moved(both, 3, 5), 7);
	assert_int_equal(splice_moved(both, 3, 6), 8);
	assert_int_equal(splice_moved(both, 3, 8), 9);
	assert_int_equal(splice_moved(&into, 1, 3), 3);
	assert_int_equal(splice_moved(&into, 1, 4), 6);
}

/* Longer than a piece, in both directions at once. */
static void test_long(void **state)
{
	static uint8_t want[400000], fresh[90000];
	const struct splice v[] = { { 10, 70000, 5, fresh }, { 140000, 1, 90000, fresh }, { 299999, 0, 3, fresh } };
	struct err e = { 0 };
	size_t n = 0;

	(void)state;
	memset(fresh, 0x55, sizeof fresh);
	begin(sizeof old, sizeof want);
	if (object_splice(k.o, 0, v, 3, &e))
		fail_msg("%s", e.text);
	edited_settle(&k);
	memcpy(want, old, 10);
	memcpy(want + 10, fresh, 5);
	memcpy(want + 15, old + 70010, 69990);
	memcpy(want + 70005, fresh, 90000);
	memcpy(want + 160005, old + 140001, 159998);
	memcpy(want + 320003, fresh, 3);
	want[320006] = old[299999];
	n = 320007;
	assert_int_equal(k.size[0], n);
	assert_memory_equal(k.bytes[0], want, n);
	edited_close(&k);
}

static void test_no_room(void **state)
{
	const struct splice v = { 4, 0, 9, "123456789" };
	struct err e = { 0 };

	(void)state;
	edited_open(&k, &fmt_ahi, "abcdefgh", 8, 10);
	assert_int_equal(object_splice(k.o, 0, &v, 1, &e), -ENOSPC);
	assert_string_equal(e.text, "the entry has room for 10 bytes: 7 bytes are missing");
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand), cmocka_unit_test(test_long), cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
