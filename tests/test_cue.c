/* Cue sheets: what their tracks are, where those lie, and what is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cue.h"

static struct cue parsed(const char *text)
{
	struct cue c;
	struct err e = { 0 };

	if (cue_parse(text, strlen(text), &c, &e))
		fail_msg("%s: %s", text, e.text);
	return c;
}

static void refused(const char *text, int code, const char *why)
{
	struct cue c;
	struct err e = { 0 };

	assert_int_equal(cue_parse(text, strlen(text), &c, &e), -code);
	assert_int_equal(e.code, code);
	assert_string_equal(e.text, why);
}

static void lies_at(const struct cue *c, uint32_t k, uint64_t at, uint32_t sectors)
{
	uint64_t have;
	uint32_t n;

	cue_place(c, k, &have, &n);
	if (have != at || n != sectors)
		fail_msg("track %u: %u sectors at %llu", k, n, (unsigned long long)have);
}

static void test_one_track(void **state)
{
	static const char *const texts[] = {
		"FILE \"game.iso\" BINARY\r\n  TRACK 01 MODE1/2048\r\n    INDEX 01 00:00:00\r\n    POSTGAP "
		"00:02:00\r\n",
		"file game.iso binary\ntrack 1 mode1/2048\nindex 1 0:0:0",
		"REM \"made by hand\nCATALOG 0000000000000\n\n\tFILE   \"game.iso\"\tBINARY \r\rTITLE x\rTRACK 01 "
		"MODE1/2048\rFLAGS DCP\rISRC ABCDE1234567\rINDEX 01 00:00:00\rINDEX 02 00:00:10\r",
		"\xef\xbb\xbf" "FILE game.iso BINARY\nTRACK 01 MODE1/2048\nINDEX 01 00:00:00\n\x1a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct cue c = parsed(texts[i]);
		uint32_t base = 1;

		assert_int_equal(c.ntracks, 1);
		assert_int_equal(c.data, 0);
		assert_string_equal(c.name, "game.iso");
		assert_int_equal(c.track[0].number, 1);
		assert_int_equal(c.track[0].mode, CUE_MODE1_2048);
		lies_at(&c, 0, 0, 0);
		assert_true(cue_base(&c, 0, &base));
		assert_int_equal(base, 0);
	}
}

static void test_names(void **state)
{
	static const struct { const char *line, *name; } cases[] = {
		{ "FILE \"a b.bin\" BINARY", "a b.bin" }, { "FILE a b.bin BINARY", "a b.bin" },
		{ "FILE a.bin  BINARY  ", "a.bin" }, { "FILE \"sub/x.bin\" BINARY", "sub/x.bin" },
		{ "FILE \xe6\x97\xa5.bin BINARY", "\xe6\x97\xa5.bin" }, { "FILE \" x \" BINARY", " x " },
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text, "%s\nTRACK 01 MODE2/2352\nINDEX 01 00:00:00\n", cases[i].line);
		assert_string_equal(parsed(text).name, cases[i].name);
	}
}

/* Sectors of each track have a size of their own: 100 of 2048 bytes, 50 of 2352, 25 of 2336. */
static void test_places(void **state)
{
	struct cue c = parsed("FILE x BINARY\n"
			      "TRACK 01 MODE1/2048\nINDEX 01 00:00:00\n"
			      "TRACK 02 AUDIO\nINDEX 00 00:01:25\nINDEX 01 00:01:35\n"
			      "TRACK 03 MODE2/2336\nPREGAP 00:02:00\nINDEX 01 00:02:00\n"
			      "TRACK 04 AUDIO\nINDEX 01 00:02:25\n");
	uint32_t base;

	(void)state;
	assert_int_equal(c.data, 0);
	lies_at(&c, 0, 0, 100);
	lies_at(&c, 1, 100 * 2048 + 10 * 2352, 40);
	lies_at(&c, 2, 100 * 2048 + 50 * 2352, 25);
	lies_at(&c, 3, 100 * 2048 + 50 * 2352 + 25 * 2336, 0);
	assert_true(cue_base(&c, 2, &base));
	assert_int_equal(base, 300);           /* 150, and as much silence */
}

/* A pause of 2 s in front of the first track is in the file; the disc's first sector is behind it. */
static void test_pause_in_front(void **state)
{
	struct cue c = parsed("FILE x BINARY\nTRACK 01 AUDIO\nINDEX 00 00:00:00\nINDEX 01 00:02:00\nPOSTGAP 00:00:05\n"
			      "TRACK 02 MODE1/2352\nINDEX 01 00:10:00\n");
	uint32_t base;

	(void)state;
	assert_int_equal(c.data, 1);
	lies_at(&c, 0, 150 * 2352, 600);
	lies_at(&c, 1, 750 * 2352, 0);
	assert_true(cue_base(&c, 1, &base));
	assert_int_equal(base, 605);
}

static void test_several_files(void **state)
{
	struct cue c = parsed("FILE \"1.wav\" WAVE\nTRACK 01 AUDIO\nINDEX 01 00:00:00\n"
			      "FILE \"2.bin\" BINARY\nTRACK 02 MODE1/2352\nINDEX 00 00:00:00\nINDEX 01 00:02:00\n"
			      "FILE \"3.bin\" BINARY\nTRACK 03 MODE1/2352\nINDEX 01 00:00:00\n");
	uint32_t base;

	(void)state;
	assert_int_equal(c.data, 1);
	assert_string_equal(c.name, "2.bin");
	lies_at(&c, 1, 150 * 2352, 0);
	lies_at(&c, 2, 0, 0);
	assert_false(cue_base(&c, 1, &base));
}

static void test_refused(void **state)
{
	(void)state;
	refused("", ENOENT, "it is no text");
	refused("\xff\1 no cue", ENOENT, "it is no text");
	refused("a text\n", ENOENT, "it has no FILE line");
	refused("TRACK 01 AUDIO\n", EBADMSG, "line 1: TRACK before any FILE");
	refused("FILE x BINARY\n", EBADMSG, "none of its 0 tracks is of data");
	refused("FILE x BINARY\r\nTRACK 01 AUDIO\r\nINDEX 01 00:00:00", EBADMSG, "none of its 1 tracks is of data");
	refused("FILE x BINARY\r\n\r\nTRACK 01 MODE3/2352\r\n", EBADMSG,
		"line 3: TRACK of a mode that is none of AUDIO, MODE1/2048, MODE1/2352, MODE2/2336, MODE2/2352");
	refused("FILE x BINARY\nTRACK 100 AUDIO\n", EBADMSG, "line 2: TRACK without a number up to 99");
	refused("FILE x BINARY\nTRACK MODE1/2048\n", EBADMSG, "line 2: TRACK without a number up to 99");
	refused("FILE x BINARY\nINDEX 01 00:00:00\n", EBADMSG, "line 2: INDEX before any TRACK");
	refused("FILE x BINARY\nPREGAP 00:00:00\n", EBADMSG, "line 2: a gap before any TRACK");
	refused("FILE BINARY\n", EBADMSG, "line 1: FILE has no name, or one that is too long");
	refused("FILE x WAVE\nTRACK 01 MODE1/2048\n", EBADMSG, "line 2: a data track in a FILE that is not BINARY");
	refused("FILE x BINARY\nTRACK 01 AUDIO\nTRACK 02 AUDIO\n", EBADMSG,
		"line 3: track 1 before it has no INDEX 01");
	refused("FILE x BINARY\nTRACK 01 MODE1/2048\nINDEX 00 00:00:00\n", EBADMSG,
		"line 4: track 1 before it has no INDEX 01");
	refused("FILE x BINARY\nTRACK 01 AUDIO\nINDEX 01 00:00:00\nINDEX 01 00:00:01\n", EBADMSG,
		"line 4: INDEX given twice, or 00 behind 01");
	refused("FILE x BINARY\nTRACK 01 AUDIO\nINDEX 01 00:00:01\nINDEX 00 00:00:00\n", EBADMSG,
		"line 4: INDEX given twice, or 00 behind 01");
	refused("FILE x BINARY\nTRACK 01 AUDIO\nINDEX 00 00:00:02\nINDEX 01 00:00:01\n", EBADMSG,
		"line 4: INDEX goes back from sector 2 to 1");
	refused("FILE x BINARY\nTRACK 01 AUDIO\nINDEX 01 00:01:00\nTRACK 02 AUDIO\nINDEX 01 00:00:74\n", EBADMSG,
		"line 5: INDEX goes back from sector 75 to 74");
}

static void test_times(void **state)
{
	static const char *const bad[] = {
		"", "0", "00:00", "00:00:75", "00:60:00", "10000:00:00", "0:0:0:0", "-1:00:00", "00:00:", ":00:00",
		"00:00:0x1", "99999999999999999999:00:00",
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "FILE x BINARY\nTRACK 01 MODE1/2048\nINDEX 01 %s\n", bad[i]);
		refused(text, EBADMSG, "line 3: no time: minutes, seconds to 59 and frames to 74, as in 01:59:74, are "
				       "expected");
	}
	assert_int_equal(parsed("FILE x BINARY\nTRACK 01 MODE1/2048\nINDEX 01 9999:59:74\n").track[0].start, 44999999);
}

static void test_too_many(void **state)
{
	char text[8192] = "FILE x BINARY\n", *at = text + strlen(text);

	(void)state;
	for (unsigned i = 0; i < 99; i++)
		at += sprintf(at, "TRACK %u MODE1/2048\nINDEX 01 00:00:00\n", i + 1);
	assert_int_equal(parsed(text).ntracks, 99);
	strcpy(at, "TRACK 99 AUDIO\n");
	refused(text, EBADMSG, "line 200: more than 99 tracks");
}

/* ---- as a format ---- */

static int leads(const char *text, uint64_t n, struct lead *out, struct arena *a, struct err *e)
{
	struct source *src = text ? src_memory(text, (size_t)n) : src_zeros(n);
	int rc;

	assert_non_null(src);
	rc = fmt_cue.leads(src, out, a, e);
	src_put(src);
	return rc;
}

static void test_leads(void **state)
{
	static const char text[] = "FILE \"a.bin\" BINARY\nTRACK 01 MODE1/2352\nINDEX 01 00:00:10\n";
	struct arena a = { 0 };
	struct lead lead;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(leads(text, sizeof text - 1, &lead, &a, &e), 0);
	assert_string_equal(lead.name, "a.bin");
	assert_ptr_equal(lead.by, &fmt_cue);
	assert_int_equal(((const struct cue *)lead.detail)->track[0].start, 10);
	assert_int_equal(leads(NULL, (uint64_t)1 << 40, &lead, &a, &e), -ENOENT);
	assert_string_equal(e.text, "it is too long for a cue sheet");
	arena_free(&a);
}

/* The name of a FILE may be as long as a lead's, and not longer. */
static void test_long_name(void **state)
{
	char text[LEAD_NAME_MAX + 128];

	(void)state;
	for (size_t n = LEAD_NAME_MAX - 1; n <= LEAD_NAME_MAX; n++) {
		memset(text, 'x', sizeof text);
		memcpy(text, "FILE ", 5);
		strcpy(text + 5 + n, " BINARY\nTRACK 01 MODE1/2048\nINDEX 01 00:00:00\n");
		if (n < LEAD_NAME_MAX)
			assert_int_equal(strlen(parsed(text).name), n);
		else
			refused(text, EBADMSG, "line 1: FILE has no name, or one that is too long");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_track), cmocka_unit_test(test_names), cmocka_unit_test(test_places),
		cmocka_unit_test(test_pause_in_front), cmocka_unit_test(test_several_files),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_times), cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_leads), cmocka_unit_test(test_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
