/* ISO 9660: what is a disc, what its entries are, what is told of it, and what damage costs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_iso.h"
#include "build_media.h"
#include "bytes.h"
#include "cue.h"
#include "export.h"
#include "listed.h"
#include "opened.h"

#define NODES 8

enum { HELLO, FOLDER, INNER, MULTI, EMPTY, LINK, XAR, LAST };

static uint8_t noise[3 * SECTOR + 777];

/* Sector by sector: 16 descriptor, 17 end, 18 and 19 path tables, 20 root, 21 FOLDER; 22 HELLO, 23 INNER, 24 and 25
 * MULTI, which goes on in 28 and 29; 26 attributes of XAR, 27 XAR; LAST has no place of its own. */
static const struct build_iso_node plain[NODES] = {
	[HELLO] = { "HELLO.TXT;1", "hello\n", 6 },
	[FOLDER] = { "FOLDER", .dir = true },
	[INNER] = { "INNER.;1", noise, 100, .in = 1 + FOLDER },
	[MULTI] = { "MULTI.DAT;1", noise, 3 * SECTOR + 777, .cut = 2 },
	[EMPTY] = { "EMPTY", "", 0, .flags = 1 },
	[LINK] = { "LINK.TXT;12", "", 0, .link = 1 + HELLO },
	[XAR] = { "XAR.DAT", noise, 50, .xar = 1 },
	[LAST] = { "lower case;", "", 0 },
};

struct disc { struct build_iso how; struct build_iso_node v[NODES]; struct buf b; };

static void make(struct disc *d)
{
	memset(d, 0, sizeof *d);
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(d->v, plain, sizeof plain);
	d->how = (struct build_iso){ .system_id = "TEST SYSTEM", .volume_id = "DISC \"1\"" };
	build_iso(&d->b, &d->how, d->v, NODES);
}

/* Listed with its size, of which no byte can be read. */
static void is_lost(struct object *o, const char *name, uint64_t size, const char *why)
{
	struct entries v = listed(o);
	uint32_t i = find(o, name);
	struct source *src = entry_source(o->src, &fmt_iso9660, &v.v[i]);
	char byte;

	assert_non_null(src);
	assert_true(v.v[i].lost);
	assert_true(v.v[i].size == size);
	assert_string_equal(v.why[i], why);
	assert_int_not_equal(src_pread(src, &byte, 1, 0), 0);
	src_put(src);
}

static void verify_says(struct object *o, const char *want)
{
	struct entries v = listed(o);
	struct err e = { 0 };

	fmt_iso9660.container->verify(o, &v, &e);
	assert_string_equal(e.text, want);
}

static void is_sound(struct object *o)
{
	if (o->faults)
		fail_msg("%s", o->faults->text);
	verify_says(o, "");
}

static char *says(struct object *o, int (*hook)(struct object *, const struct entries *, struct doc *, struct err *))
{
	struct entries v = listed(o);
	struct buf b = { 0 };
	struct ydoc y;
	struct err e = { 0 };

	ydoc_init(&y, &b);
	if (hook(o, &v, &y.doc, &e))
		fail_msg("%s", e.text);
	buf_char(&b, 0);
	assert_false(b.bad);
	return (char *)b.p;
}

static void info_is(struct object *o, const char *want)
{
	char *text = says(o, fmt_iso9660.container->info);

	assert_string_equal(text, want);
	free(text);
}

static void more_is(struct object *o, const char *want)
{
	char *text = says(o, fmt_iso9660.container->more);

	assert_string_equal(text, want);
	free(text);
}

static unsigned count_faults(const struct object *o)
{
	unsigned n = 0;

	for (const struct fault *f = o->faults; f; f = f->next)
		n++;
	return n;
}

/* ---- what is shown ---- */

static void test_tree(void **state)
{
	static const char *const names[] = {
		"HELLO.TXT", "FOLDER", "MULTI.DAT", "EMPTY", "LINK.TXT", "XAR.DAT", "lower case;", "FOLDER/INNER",
	};
	struct disc d;
	struct opened a;
	struct entries v;

	(void)state;
	make(&d);
	assert_int_equal(d.v[HELLO].lba, 22);
	assert_int_equal(d.b.len, 30 * SECTOR);
	assert_int_equal(bid_for(&fmt_iso9660, d.b.p, d.b.len), 95);
	a = open_buf(&fmt_iso9660, &d.b);
	v = listed(a.o);
	assert_int_equal(v.n, NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		assert_string_equal(v.name[i], names[i]);
		assert_int_equal(v.v[i].folder, i == 1);
		assert_true(v.mtime[i] == BUILD_ISO_TIME * (int64_t)1000000000);
	}
	holds(a.o, "HELLO.TXT", "hello\n", 6);
	holds(a.o, "LINK.TXT", "hello\n", 6);
	holds(a.o, "FOLDER/INNER", noise, 100);
	holds(a.o, "MULTI.DAT", noise, sizeof noise);
	holds(a.o, "EMPTY", "", 0);
	holds(a.o, "XAR.DAT", noise, 50);
	assert_int_equal(v.v[0].at, 22 * SECTOR);
	assert_true(v.v[2].fixed);
	assert_string_equal(v.why[2], "several extents");
	assert_true(v.v[5].fixed);
	assert_string_equal(v.why[5], "extended attributes");
	assert_false(v.v[0].fixed);
	is_sound(a.o);
	close_opened(&a);
}

static void test_info(void **state)
{
	struct disc d;
	struct opened a;

	(void)state;
	make(&d);
	a = open_buf(&fmt_iso9660, &d.b);
	/* 6 + 100 + 6921 + 6 + 50 bytes */
	info_is(a.o, "kind: 2048\nsectors: 30\ngame: unknown\nsystem_id: \"TEST SYSTEM\"\n"
		     "volume_id: \"DISC \\\"1\\\"\"\njoliet: false\nfiles: 7\ndirectories: 1\nbytes: 7083\n"
		     "tracks: [[1, MODE1/2048, 0, 30]]\n");
	more_is(a.o, "");
	close_opened(&a);
}

static void test_games(void **state)
{
	struct build_iso how = { .system_id = "PSP GAME" };
	struct build_iso_node v[] = { { "PSP_GAME", .dir = true }, { "UMD_DATA.BIN", "x", 1 } };
	struct buf b = { 0 };
	struct opened a;
	char *text, want[32];

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		static const char *const games[] = { "psp", "unknown", "saturn", "unknown" };

		v[1].name = k == 1 ? "UMD.BIN" : "UMD_DATA.BIN";
		how.system_id = k == 3 ? "PSP GAMES" : "PSP GAME";
		build_iso(&b, &how, v, 2);
		memcpy(b.p, k == 2 ? "SEGA SEGASATURN " : "SEGA SEGASATURNS", 16);
		a = open_buf(&fmt_iso9660, &b);
		text = says(a.o, fmt_iso9660.container->info);
		snprintf(want, sizeof want, "\ngame: %s\n", games[k]);
		assert_non_null(strstr(text, want));
		free(text);
		close_opened(&a);
	}
}

/* ---- names ---- */

static const struct { const char *stored, *shown; } shown_names[] = {
	{ "A.TXT;1", "A.TXT" }, { "A.TXT;32767", "A.TXT~2" }, { "A.TXT", "A.TXT~3" }, { "README.;1", "README" },
	{ "README..;1", "README." }, { "NODOT", "NODOT" }, { ";1", "_" }, { ".;1", "_~2" }, { "A;", "A;" },
	{ "A;1;2", "A;1" }, { "A;b", "A;b" }, { "1", "1" }, { "../X;1", ".._X" }, { "a/b", "a_b" }, { "..", "_~3" },
	{ "...", "__" }, { "tab\there", "tab_here" }, { "sp ace", "sp ace" }, { "lower", "lower" },
	{ "Lower", "Lower" },
	{ "A.TXT~2", "A.TXT~2~2" }, { "\xe4\xb8\xad", "\xe4\xb8\xad" }, { "a\\b", "a\\b" },
};

static void test_names(void **state)
{
	struct build_iso_node v[ARRAY_LEN(shown_names)] = { 0 };
	struct build_iso how = { 0 };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		v[i] = (struct build_iso_node){ shown_names[i].stored, "x", 1 };
	build_iso(&b, &how, v, ARRAY_LEN(v));
	a = open_buf(&fmt_iso9660, &b);
	assert_int_equal(listed(a.o).n, ARRAY_LEN(v));
	for (uint32_t i = 0; i < ARRAY_LEN(v); i++)
		assert_string_equal(listed(a.o).name[i], shown_names[i].shown);
	is_sound(a.o);
	close_opened(&a);
}

/* The same names in two folders, one of which has the other's name. */
static void test_names_of_folders(void **state)
{
	static const char *const names[] = { "D", "D~2", "A", "D/A", "D/A~2", "D~2/A" };
	struct build_iso_node v[] = {
		{ "D", .dir = true }, { "D;1", .dir = true }, { "A;1", "x", 1 }, { "A;1", "x", 1, .in = 1 },
		{ "A;2", "x", 1, .in = 1 }, { "A;1", "x", 1, .in = 2 },
	};
	struct build_iso how = { 0 };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_iso(&b, &how, v, ARRAY_LEN(v));
	a = open_buf(&fmt_iso9660, &b);
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(listed(a.o).name[i], names[i]);
	close_opened(&a);
}

static void test_joliet(void **state)
{
	struct build_iso how = { .joliet = true };
	struct build_iso_node v[] = {
		{ "FOLDER~1", .dir = true, .joliet = "Folder with a long name" },
		{ "ONE~1.TXT;1", "1", 1, .in = 1, .joliet = "One \"1\".txt;1" }, { "TWO.TXT;1", "2", 1 },
	};
	struct buf b = { 0 };
	struct opened a;
	size_t at;

	(void)state;
	build_iso(&b, &how, v, 3);
	at = v[2].record[1] + 33;              /* T W O becomes U+00DC, U+65E5, U+1F600 and a lone surrogate */
	memcpy(b.p + at, "\0\xdc\x65\xe5\xd8\x3d\xde\0\xd8\0", 10);
	a = open_buf(&fmt_iso9660, &b);
	assert_string_equal(listed(a.o).name[2], "FOLDER~1/ONE~1.TXT");
	more_is(a.o, "joliet_names:\n- path: \"Folder with a long name\"\n"
		     "- path: \"\xc3\x9c\xe6\x97\xa5\xf0\x9f\x98\x80\xef\xbf\xbdXT\"\n"
		     "- path: \"Folder with a long name/One \\\"1\\\".txt\"\n");
	is_sound(a.o);
	close_opened(&a);
}

/* A name of two pieces, the second of which stands in sector 19, where the big-endian path table has room. */
static void test_rock_ridge(void **state)
{
	static const uint8_t use[] = {
		'N', 'M', 10, 1, 1, 'l', 'o', 'n', 'g', ' ', 'C', 'E', 28, 1, 19, 0, 0, 0, 0, 0, 0, 19,
		100, 0, 0, 0, 0, 0, 0, 100, 14, 0, 0, 0, 0, 0, 0, 14,
	};
	struct build_iso how = { 0 };
	struct build_iso_node v[] = { { "A.TXT;1", "x", 1 } };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_iso(&b, &how, v, 1);
	b.p[v[0].record[0]] = (uint8_t)(40 + sizeof use);
	memcpy(b.p + v[0].record[0] + 40, use, sizeof use);
	memcpy(b.p + 19 * SECTOR + 100, "NM\x0e\1\0name\t\xc3\xa9\xff", 14);
	a = open_buf(&fmt_iso9660, &b);
	assert_string_equal(listed(a.o).name[0], "A.TXT");
	more_is(a.o, "rock_ridge_names:\n- stored: \"A.TXT;1\"\n  name: \"long name\\x09\xc3\xa9\xc3\xbf\\x00\"\n");
	close_opened(&a);
}

/* ---- times ---- */

static void test_times(void **state)
{
	static const struct { int8_t day[7]; int64_t want; } cases[] = {
		{ { 80, 1, 1, 0, 0, 0, 0 }, 315532800 }, { { 80, 1, 1, 0, 0, 0, 4 }, 0 },
		{ { 79, 12, 31, 23, 59, 59, -4 }, 0 }, { { 70, 1, 1, 0, 0, 0, 0 }, 0 },
		{ { 100, 2, 29, 12, 0, 0, 0 }, 951825600 }, { { 99, 2, 29, 12, 0, 0, 0 }, 0 },
		{ { 100, 3, 1, 0, 0, 0, -48 }, 951868800 + 43200 }, { { 100, 3, 1, 0, 0, 0, 53 }, 0 },
		{ { 124, 12, 31, 23, 59, 59, 52 }, 1735689599 - 46800 }, { { 0, 0, 0, 0, 0, 0, 0 }, 0 },
		{ { 120, 13, 1, 0, 0, 0, 0 }, 0 }, { { 120, 1, 32, 0, 0, 0, 0 }, 0 }, { { 120, 1, 1, 24, 0, 0, 0 }, 0 },
		{ { 120, 1, 1, 0, 60, 0, 0 }, 0 }, { { 120, 1, 1, 0, 0, 60, 0 }, 0 },
	};
	struct disc d;

	(void)state;
	make(&d);
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct opened a;
		int64_t want = cases[k].want ? cases[k].want * 1000000000 : ENTRY_NO_TIME;

		memcpy(d.b.p + d.v[HELLO].record[0] + 18, cases[k].day, 7);
		a = open_bytes(&fmt_iso9660, d.b.p, d.b.len);
		if (listed(a.o).mtime[0] != want)
			fail_msg("case %zu: %lld", k, (long long)listed(a.o).mtime[0]);
		close_opened(&a);
	}
	buf_free(&d.b);
}

/* ---- what is no disc ---- */

static void refused(const uint8_t *p, size_t n, const char *name, const char *why)
{
	struct source *src = src_memory(p, n);
	struct err e = { 0 };

	assert_non_null(src);
	assert_int_equal(build_probe(&fmt_iso9660, src, name, NULL, 0, &e), 0);
	assert_string_equal(e.text, why);
	src_put(src);
}

static void test_refused(void **state)
{
	static const struct { size_t at; const char *bytes; size_t n; const char *why; } cases[] = {
		{ 17 * SECTOR + 1, "CD002", 5, "volume descriptor at 0x8801: no CD001 in sector 17" },
		{ 16 * SECTOR + 128, "\0\x02\x02", 4,
		  "volume descriptor at 0x8080: blocks of 512 bytes, expected 2048" },
		{ 16 * SECTOR + 128, "\0\0\0", 4, "volume descriptor at 0x8080: blocks of 0 bytes, expected 2048" },
		{ 16 * SECTOR, "\2", 1, "no primary volume descriptor before sector 17" },
		{ 16 * SECTOR + 158, "\x1e\0\0", 4, "root directory at 0x809e: sector 30 is outside 30" },
		{ 16 * SECTOR + 158, "\xf0\xff\xff\xff", 4,
		  "root directory at 0x809e: sector 4294967280 is outside 30" },
	};
	struct disc d;
	uint8_t was[8];

	(void)state;
	make(&d);
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		memcpy(was, d.b.p + cases[k].at, cases[k].n);
		memcpy(d.b.p + cases[k].at, cases[k].bytes, cases[k].n);
		refused(d.b.p, d.b.len, "x.bin", cases[k].why);
		memcpy(d.b.p + cases[k].at, was, cases[k].n);
	}
	refused(d.b.p, 20 * SECTOR, "x.bin", "root directory at 0x809e: sector 20 is outside 20");
	refused(d.b.p, 17 * SECTOR, "x.bin", "volume descriptor at 0x8800: 2048 bytes end past the 34816 of the entry");
	refused(d.b.p, 15 * SECTOR, "x.bin", "");
	refused(noise, sizeof noise, "x.bin", "");
	assert_int_equal(bid_for(&fmt_iso9660, d.b.p, 21 * SECTOR), 95);
	buf_free(&d.b);
}

/* An end mark in the last sector that may have one, and one sector later. */
static void test_many_descriptors(void **state)
{
	struct buf b = { 0 };
	struct build_iso how = { 0 };
	struct build_iso_node v[] = { { "A", "x", 1, .free = 60 } };

	(void)state;
	build_iso(&b, &how, v, 1);
	memcpy(b.p + 70 * SECTOR, b.p + how.root[0] * SECTOR, SECTOR);
	build_iso_both32(&b, 16 * SECTOR + 158, 70);
	for (unsigned s = 17; s < 63; s++)
		memcpy(b.p + s * SECTOR, "\0CD001\1", 7);
	memcpy(b.p + 63 * SECTOR, "\xff" "CD001\1", 7);
	assert_int_equal(bid_for(&fmt_iso9660, b.p, b.len), 95);
	memcpy(b.p + 63 * SECTOR, "\0CD001\1", 7);
	memcpy(b.p + 64 * SECTOR, "\xff" "CD001\1", 7);
	refused(b.p, b.len, "", "no end of the volume descriptors up to sector 63");
	buf_free(&b);
}

/* Only entries with a name that are stored as they are are looked into. */
static void test_within(void **state)
{
	extern const struct format fmt_pak, fmt_arc, fmt_pac;
	static const struct { const struct format *within; int bid; } cases[] = {
		{ &fmt_pak, 95 }, { &fmt_iso9660, 95 }, { &fmt_arc, 0 }, { &fmt_pac, 0 },
	};
	struct disc d;
	struct source *src;

	(void)state;
	make(&d);
	src = src_memory(d.b.p, d.b.len);
	assert_non_null(src);
	for (size_t k = 0; k < ARRAY_LEN(cases); k++)
		assert_int_equal(build_probe(&fmt_iso9660, src, "A", cases[k].within, 0, NULL), cases[k].bid);
	src_put(src);
	buf_free(&d.b);
}

/* ---- damage ---- */

struct damage { int node; unsigned at; const char *bytes; size_t n; };

static struct opened open_damaged(struct disc *d, const struct damage *x)
{
	make(d);
	memcpy(d->b.p + d->v[x->node].record[0] + x->at, x->bytes, x->n);
	return open_buf(&fmt_iso9660, &d->b);
}

static void test_outside(void **state)
{
	static const struct { struct damage x; uint64_t size; const char *name, *why; } cases[] = {
		{ { HELLO, 2, "\xff\xff\xff\x7f\x7f\xff\xff\xff", 8 }, 6, "HELLO.TXT",
		  "sectors 2147483647.. are outside 30" },
		{ { HELLO, 2, "\xfe\xff\xff\xff\xff\xff\xff\xfe", 8 }, 6, "HELLO.TXT",
		  "sectors 4294967294.. are outside 30" },
		{ { HELLO, 2, "\x1e\0\0\0\0\0\0\x1e", 8 }, 6, "HELLO.TXT", "sectors 30.. are outside 30" },
		{ { HELLO, 10, "\xff\xff\xff\xff\xff\xff\xff\xff", 8 }, 4294967295, "HELLO.TXT",
		  "sectors 22.. are outside 30" },
		{ { XAR, 2, "\xff\xff\xff\xff\xff\xff\xff\xff", 8 }, 50, "XAR.DAT",
		  "sectors 4294967296.. are outside 30" },
		{ { MULTI, 2, "\x1d\0\0\0\0\0\0\x1d", 8 }, 6921, "MULTI.DAT", "sectors 29.. are outside 30" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct disc d;
		struct opened a = open_damaged(&d, &cases[k].x);
		char want[240];

		is_lost(a.o, cases[k].name, cases[k].size, cases[k].why);
		snprintf(want, sizeof want, ": %s: %s", cases[k].name, cases[k].why);
		assert_int_equal(count_faults(a.o), 1);
		assert_non_null(strstr(a.o->faults->text, want));
		holds(a.o, "FOLDER/INNER", noise, 100);
		close_opened(&a);
	}
}

static void test_records(void **state)
{
	static const struct { struct damage x; unsigned n; const char *why; } cases[] = {
		{ { MULTI, 0, "\x0a", 1 }, 3,
		  "directory record at 0xa098: 10 bytes, expected 34 to 255: the rest of its sector is skipped" },
		{ { MULTI, 0, "\x21", 1 }, 3,
		  "directory record at 0xa098: 33 bytes, expected 34 to 255: the rest of its sector is skipped" },
		{ { EMPTY, 32, "\xf0", 1 }, 7, "directory record at 0xa110: a name of 240 bytes in 38: it is skipped" },
		{ { EMPTY, 32, "\x06", 1 }, 7, "directory record at 0xa110: a name of 6 bytes in 38: it is skipped" },
		{ { HELLO, 6, "\0\0\0\x05", 4 }, 8, "directory record at 0xa046: sector 22, but 5 big-endian" },
		{ { HELLO, 14, "\1\0\0\0", 4 }, 8, "directory record at 0xa04e: 6 bytes, but 16777216 big-endian" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct disc d;
		struct opened a = open_damaged(&d, &cases[k].x);

		assert_int_equal(listed(a.o).n, cases[k].n);
		assert_int_equal(count_faults(a.o), 1);
		assert_string_equal(a.o->faults->text, cases[k].why);
		holds(a.o, "HELLO.TXT", "hello\n", 6);
		close_opened(&a);
	}
}

/* A record may end where its sector does, and not a byte later. */
static void test_record_at_the_end(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[60] = { 0 };
	struct buf b = { 0 };
	struct opened a;
	size_t at;

	(void)state;
	for (unsigned i = 0; i < 60; i++)      /* of 44 bytes: 45 of them and two of 34 fill the first sector */
		v[i] = (struct build_iso_node){ "A2345678.T;", "x", 1 };
	build_iso(&b, &how, v, 60);
	at = v[44].record[0];
	assert_int_equal(at % SECTOR, 2 * 34 + 44 * 44);
	b.p[at] = 44;
	assert_int_equal(v[45].record[0], (how.root[0] + 1) * SECTOR);
	a = open_bytes(&fmt_iso9660, b.p, b.len);
	assert_int_equal(listed(a.o).n, 60);
	close_opened(&a);
	b.p[at] = 45;                          /* the sector ends there: 68 + 44 * 44 + 45 is 2049 */
	a = open_bytes(&fmt_iso9660, b.p, b.len);
	assert_int_equal(listed(a.o).n, 59);
	assert_non_null(strstr(a.o->faults->text, "45 bytes, expected 34 to 44"));
	close_opened(&a);
	buf_free(&b);
}

static void test_never_read(void **state)
{
	static const struct { uint8_t unit, gap; uint16_t xa; bool lost; const char *why; } cases[] = {
		{ 1, 1, 0, true, "interleaved" }, { 0, 1, 0, true, "interleaved" }, { 3, 0, 0, true, "interleaved" },
		{ 0, 0, 0x4000, true, "audio" }, { 0, 0, 0x1555, true, "form 2" },
		{ 0, 0, 0x3d55, true, "interleaved" },
		{ 0, 0, 0x0d55, false, NULL },
	};
	struct build_iso how = { 0 };
	struct build_iso_node v[ARRAY_LEN(cases)] = { 0 };
	struct buf b = { 0 };
	struct opened a;
	char names[ARRAY_LEN(cases)][8];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		snprintf(names[k], sizeof names[k], "F%zu", k);
		v[k] = (struct build_iso_node){
			names[k], "x", 1, .unit = cases[k].unit, .gap = cases[k].gap, .xa = cases[k].xa,
		};
	}
	build_iso(&b, &how, v, ARRAY_LEN(v));
	a = open_buf(&fmt_iso9660, &b);
	for (uint32_t k = 0; k < ARRAY_LEN(cases); k++) {
		if (!cases[k].lost) {
			holds(a.o, names[k], "x", 1);
			assert_false(listed(a.o).v[k].fixed);
			continue;
		}
		is_lost(a.o, names[k], 1, cases[k].why);
		assert_true(listed(a.o).v[k].fixed);
	}
	is_sound(a.o);
	close_opened(&a);
}

/* A file where descriptors, a path table or a directory of either tree are, or that ends there. */
static void test_own_sectors(void **state)
{
	static const struct { uint32_t lba, size; bool own; } cases[] = {
		{ 0, 5, true }, { 15, 1, true }, { 18, 2048, true }, { 19, 5, true }, { 22, 5, true }, { 23, 5, true },
		{ 24, 5, true }, { 25, 5, true }, { 26, 5, true }, { 27, 4096, false }, { 30, 5, false },
		{ 30, 0, false }, { 2, 0, false },
	};
	struct build_iso how = { .joliet = true };
	struct disc d;

	(void)state;
	make(&d);
	build_iso(&d.b, &how, d.v, NODES);
	assert_int_equal(how.root[1], 25);
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct opened a;
		uint32_t i;

		build_iso_both32(&d.b, d.v[HELLO].record[0] + 2, cases[k].lba);
		build_iso_both32(&d.b, d.v[HELLO].record[0] + 10, cases[k].size);
		a = open_bytes(&fmt_iso9660, d.b.p, d.b.len);
		i = find(a.o, "HELLO.TXT");
		if (listed(a.o).v[i].fixed != cases[k].own)
			fail_msg("%u bytes in sector %u", cases[k].size, cases[k].lba);
		if (cases[k].own)
			assert_string_equal(listed(a.o).why[i], "its sectors are the disc's own");
		assert_false(listed(a.o).v[i].lost);
		close_opened(&a);
	}
	buf_free(&d.b);
}

/* Associated files are not shown, whatever they are; of several extents none is. */
static void test_associated(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[] = {
		{ "A;1", "assoc", 5, .flags = 4 }, { "A;1", "data", 4 },
		{ "B;1", noise, 2 * SECTOR, .cut = 1, .flags = 4 },
		{ "B;1", "b", 1 },
	};
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_iso(&b, &how, v, 4);
	a = open_buf(&fmt_iso9660, &b);
	assert_int_equal(listed(a.o).n, 2);
	holds(a.o, "A", "data", 4);
	holds(a.o, "B", "b", 1);
	close_opened(&a);
}

/* More extents that never follow, or that follow under another name. */
static void test_pieces_missing(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[] = {
		{ "A;1", "data", 4, .flags = 0x80 }, { "B;1", "b", 1, .flags = 0x80 }, { "B;1", "c", 1 },
		{ "C;1", "", 0, .flags = 0x80 }, { "C;1", "", 0 }, { "Z;1", "z", 1, .flags = 0x80 },
	};
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	build_iso(&b, &how, v, 6);
	a = open_buf(&fmt_iso9660, &b);
	assert_int_equal(listed(a.o).n, 4);
	holds(a.o, "A", "data", 4);
	holds(a.o, "B", "bc", 2);
	holds(a.o, "C", "", 0);
	holds(a.o, "Z", "z", 1);
	close_opened(&a);
}

/* ---- folders ---- */

static void test_loop(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[] = {
		{ "D", .dir = true }, { "E", .dir = true, .in = 1 }, { "UP", .dir = true, .in = 2 },
		{ "F;1", "f", 1, .in = 2 },
	};
	uint32_t to;
	struct buf b = { 0 };

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct opened a;

		build_iso(&b, &how, v, 4);
		to = k == 2 ? le_u32(b.p + v[1].record[0] + 2) : k ? le_u32(b.p + v[0].record[0] + 2) : how.root[0];
		build_iso_both32(&b, v[2].record[0] + 2, to);
		a = open_bytes(&fmt_iso9660, b.p, b.len);
		assert_int_equal(listed(a.o).n, 4);
		assert_true(listed(a.o).v[find(a.o, "D/E/UP")].folder);
		holds(a.o, "D/E/F", "f", 1);
		assert_non_null(strstr(a.o->faults->text, "UP is one of its own parents: it is shown empty"));
		close_opened(&a);
	}
	buf_free(&b);
}

static void test_depth(void **state)
{
	static struct build_iso_node v[130];
	struct build_iso how = { 0 };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	for (unsigned i = 0; i < 65; i++) {
		v[2 * i] = (struct build_iso_node){ "D", .dir = true, .in = i ? 2 * i - 1 : 0 };
		v[2 * i + 1] = (struct build_iso_node){ "F", "f", 1, .in = 2 * i + 1 };
	}
	build_iso(&b, &how, v, 130);
	a = open_buf(&fmt_iso9660, &b);
	/* 64 directories, of which the last is empty; a file in each of the others. */
	assert_int_equal(listed(a.o).n, 64 + 63);
	assert_int_equal(count_faults(a.o), 1);
	assert_non_null(strstr(a.o->faults->text, "D lies 64 levels down: it is shown empty"));
	close_opened(&a);
}

static void test_folder_outside(void **state)
{
	struct disc d;
	struct opened a = open_damaged(&d, &(struct damage){ FOLDER, 2, "\xff\xff\xff\0\0\xff\xff\xff", 8 });

	(void)state;
	assert_int_equal(listed(a.o).n, 7);
	assert_true(listed(a.o).v[1].folder);
	assert_string_equal(a.o->faults->text,
			    "directory at 0xa072: FOLDER: 1 sectors at 16777215, the image ends at 30");
	close_opened(&a);

	/* One that goes on past the end is read up to there: into files. */
	a = open_damaged(&d, &(struct damage){ FOLDER, 10, "\0\0\1\0\0\1\0\0", 8 });
	assert_string_equal(a.o->faults->text, "directory at 0xa072: FOLDER: 32 sectors at 21, the image ends at 30");
	holds(a.o, "FOLDER/INNER", noise, 100);
	close_opened(&a);
}

/* What a few records make of each other without end. */
static void test_folders_that_multiply(void **state)
{
	struct build_iso how = { 0 };
	static struct build_iso_node v[120];
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		v[2 * i] = (struct build_iso_node){ "A", .dir = true, .in = i ? 2 * i - 1 : 0 };
		v[2 * i + 1] = (struct build_iso_node){ "B", .dir = true, .in = i ? 2 * i - 1 : 0 };
	}
	build_iso(&b, &how, v, 120);
	for (unsigned i = 0; i < 60; i++)      /* both lead to the first one's place */
		build_iso_both32(&b, v[2 * i + 1].record[0] + 2, le_u32(b.p + v[2 * i].record[0] + 2));
	a = open_buf(&fmt_iso9660, &b);
	assert_true(listed(a.o).n <= LIMIT_ENTRIES);
	assert_true(listed(a.o).n > 100000);
	assert_non_null(strstr(a.o->faults->text, "what follows is not shown"));
	close_opened(&a);
}

static void test_many_files(void **state)
{
	enum { MANY = 60000 };
	struct build_iso_node *v = calloc(MANY, sizeof *v);
	char (*names)[16] = calloc(MANY, sizeof *names);
	struct build_iso how = { 0 };
	struct buf b = { 0 };
	struct opened a;

	(void)state;
	assert_non_null(v);
	assert_non_null(names);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "F%05u.DAT;1", i % (MANY - 1));
		v[i] = (struct build_iso_node){ names[i], "", 0 };
	}
	build_iso(&b, &how, v, MANY);
	a = open_buf(&fmt_iso9660, &b);
	assert_int_equal(listed(a.o).n, MANY);
	assert_string_equal(listed(a.o).name[59998], "F59998.DAT");
	assert_string_equal(listed(a.o).name[59999], "F00000.DAT~2");
	is_sound(a.o);
	close_opened(&a);
	free(names);
	free(v);
}

/* ---- where the numbers begin ---- */

/* An image whose first sector is called 1000. */
static void test_base(void **state)
{
	struct build_iso how = { .base = 1000, .volume_id = "SECOND" };
	struct build_iso_node v[] = { { "A.TXT;1", "text", 4 } };
	struct cue cue = { .ntracks = 2, .data = 1, .name = "x.bin" };
	struct lead lead = { .by = &fmt_cue, .detail = &cue };
	struct surroundings around = { .lead = &lead };
	struct buf b = { 0 };
	struct source *src;
	struct object *o;

	(void)state;
	build_iso(&b, &how, v, 1);
	refused(b.p, b.len, "", "root directory at 0x809e: sector 1020 is outside 22");
	cue.track[0] = (struct cue_track){ .number = 1 };
	cue.track[1] = (struct cue_track){
		.number = 2, .mode = CUE_MODE1_2048, .first = 850, .start = 850, .pregap = 150,
	};
	assert_true(buf_room(&b, 850 * 2352));
	memmove(b.p + 850 * 2352, b.p, b.len);
	memset(b.p, 0xee, 850 * 2352);
	src = src_memory(b.p, b.len + 850 * 2352);
	assert_non_null(src);
	assert_int_equal(object_open(&fmt_iso9660, src, &around, &o, NULL), 0);
	holds(o, "A.TXT", "text", 4);
	info_is(o, "kind: 2048\nsectors: 22\ngame: unknown\nsystem_id: \"\"\nvolume_id: \"SECOND\"\njoliet: false\n"
		   "files: 1\ndirectories: 0\nbytes: 4\ntracks: [[1, AUDIO, 0, 850], [2, MODE1/2048, 850, 22]]\n");
	is_sound(o);
	object_close(o);
	src_put(src);
	buf_free(&b);
}

/* ---- raw sectors and blocks ---- */

/* Sectors of mode 1, or 2, the first of which is called `base`. */
static void make_raw(struct buf *out, const struct buf *b, uint32_t base, unsigned mode)
{
	for (uint32_t i = 0; i < b->len / SECTOR; i++)
		build_raw(out, base + i, b->p + i * SECTOR, mode);
	assert_false(out->bad);
}

static void test_raw(void **state)
{
	static const struct { uint32_t base; unsigned mode; const char *kind; } cases[] = {
		{ 0, 1, "MODE1/2352" }, { 0, 2, "MODE2/2352" }, { 45000, 1, "MODE1/2352" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct build_iso how = { .base = cases[k].base };
		struct build_iso_node v[] = {
			{ "A;1", noise, 3000 }, { "B", .dir = true }, { "C;1", "c", 1, .in = 2 },
		};
		struct buf b = { 0 }, raw = { 0 };
		struct opened a;
		char want[64], *text;

		build_iso(&b, &how, v, 3);
		make_raw(&raw, &b, cases[k].base, cases[k].mode);
		buf_free(&b);
		assert_int_equal(bid_for(&fmt_iso9660, raw.p, raw.len), 95);
		a = open_buf(&fmt_iso9660, &raw);
		holds(a.o, "A", noise, 3000);
		holds(a.o, "B/C", "c", 1);
		is_sound(a.o);
		text = says(a.o, fmt_iso9660.container->info);
		snprintf(want, sizeof want, "kind: %s\nsectors: 25\n", cases[k].kind);
		assert_memory_equal(text, want, strlen(want));
		snprintf(want, sizeof want, "tracks: [[1, %s, 0, 25]]\n", cases[k].kind);
		assert_non_null(strstr(text, want));
		free(text);
		close_opened(&a);
	}
}

/* Headers that count from somewhere else than the records do. */
static void test_raw_headers(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[] = { { "A;1", "text", 4 } };
	struct buf b = { 0 }, raw = { 0 };
	struct opened a;

	(void)state;
	build_iso(&b, &how, v, 1);
	make_raw(&raw, &b, 5, 1);
	a = open_buf(&fmt_iso9660, &raw);
	holds(a.o, "A", "text", 4);
	close_opened(&a);
	buf_free(&b);
}

static void test_raw_damage(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[] = { { "A;1", noise, 5000 }, { "B;1", "b", 1 }, { "D", .dir = true } };
	struct buf b = { 0 }, raw = { 0 };
	struct opened a;

	(void)state;
	build_iso(&b, &how, v, 3);
	make_raw(&raw, &b, 0, 1);
	raw.p[(v[0].lba + 1) * RAW_SECTOR + 0x100] ^= 1;
	raw.p[v[1].lba * RAW_SECTOR + 0x810] ^= 1;
	a = open_bytes(&fmt_iso9660, raw.p, raw.len);
	verify_says(a.o, "sector at 0xd350: the EDC of 2 sectors is wrong, of 23 first");
	holds(a.o, "B", "b", 1);
	close_opened(&a);
	/* A directory without data is empty, and a root without it is no disc. */
	raw.p[21 * RAW_SECTOR] = 1;
	a = open_bytes(&fmt_iso9660, raw.p, raw.len);
	assert_int_equal(listed(a.o).n, 3);
	assert_string_equal(a.o->faults->text, "directory at 0xa800 (archive 0xc0f0): the sector cannot be read: its "
					       "records are not shown");
	close_opened(&a);
	raw.p[20 * RAW_SECTOR] = 1;
	assert_int_equal(bid_for(&fmt_iso9660, raw.p, raw.len), 0);
	buf_free(&raw);
	buf_free(&b);
}

static void test_packed(void **state)
{
	struct packing_form how = { .magic = "CISO", .version = 1, .block = 2 * SECTOR };
	struct buf out = { 0 };
	struct disc d;
	struct opened a;
	char *text;

	(void)state;
	make(&d);
	build_cso(&out, d.b.p, d.b.len, &how);
	buf_free(&d.b);
	a = open_bytes(&fmt_iso9660, out.p, out.len);
	holds(a.o, "MULTI.DAT", noise, sizeof noise);
	is_sound(a.o);
	text = says(a.o, fmt_iso9660.container->info);
	assert_non_null(strstr(text, "kind: cso\nsectors: 30\n"));
	assert_non_null(strstr(text, "\nblock_size: 4096\njoliet: false\n"));
	assert_non_null(strstr(text, "\ntracks: [[1, MODE1/2048, 0, 30]]\n"));
	free(text);
	close_opened(&a);
	out.p[20] = 2;                         /* a version that is only read */
	how.version = 2;
	out.len = 0;
	make(&d);
	build_cso(&out, d.b.p, d.b.len, &how);
	buf_free(&d.b);
	a = open_bytes(&fmt_iso9660, out.p, out.len);
	for (uint32_t i = 0; i < listed(a.o).n; i++)
		assert_true(listed(a.o).v[i].folder || listed(a.o).v[i].fixed);
	assert_string_equal(listed(a.o).why[0], "cso2 is read-only");
	assert_string_equal(listed(a.o).why[2], "several extents");
	close_opened(&a);
	buf_free(&out);
}

/* ---- verify ---- */

static void test_verify(void **state)
{
	static const struct { unsigned node; size_t at; const char *bytes; size_t n; const char *why; } cases[] = {
		{ 0, 18 * SECTOR, "\x20", 1, "path table at 0x9000: a name of 32 bytes" },
		{ 0, 18 * SECTOR + 2, "\x15", 1,
		  "path table at 0x9000: a directory in sector 21 of one in 21, the tree has one in 20 of one in 20" },
		{ 0, 18 * SECTOR + 16, "\2", 1, "path table at 0x9010: directory 2 is in 2, expected one before it" },
		{ 0, 19 * SECTOR + 15, "\x16", 1,
		  "path table at 0x9800: a directory in sector 22 of one in 20, the tree has one in 21 of one in 20" },
		{ 0, 16 * SECTOR + 132, "\x0a\0\0\0\0\0\0\x0a", 8,
		  "path table at 0x9000: 1 directories, the tree has 2" },
		{ 0, 16 * SECTOR + 140, "\x1e", 1, "path table at 0x808c: 24 bytes in sector 30 are outside 30" },
		{ 0, 16 * SECTOR + 84, "\1", 1, "blocks at 0x8050: 30, but 16777246 big-endian" },
		{ 0, 20 * SECTOR + 2, "\x15", 1,
		  "directory record at 0xa002: sector 21, expected 20, where the directory begins" },
		{ 0, 21 * SECTOR + 34 + 33, "\0", 1,
		  "directory record at 0xa822: record 1 of the directory is not named 01" },
		{ 0, 21 * SECTOR + 33, "\2", 1,
		  "directory record at 0xa800: record 0 of the directory is not named 00" },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct disc d;
		struct opened a;

		make(&d);
		memcpy(d.b.p + cases[k].at, cases[k].bytes, cases[k].n);
		a = open_buf(&fmt_iso9660, &d.b);
		verify_says(a.o, cases[k].why);
		close_opened(&a);
	}
}

/* ---- the demo ---- */

/* The same each time, a PSP disc, and written as the format says. */
static void test_demo(void **state)
{
	static const char *const names[] = {
		"PSP_GAME", "UMD_DATA.BIN", "PSP_GAME/USRDIR", "PSP_GAME/USRDIR/DATA.BIN",
	};
	struct buf b = { 0 }, again = { 0 };
	struct opened a;
	char *text;

	(void)state;
	assert_int_equal(fmt_iso9660.demo(&b, NULL), 0);
	assert_int_equal(fmt_iso9660.demo(&again, NULL), 0);
	assert_int_equal(b.len, again.len);
	assert_memory_equal(b.p, again.p, b.len);
	assert_memory_equal(b.p + 16 * SECTOR + 8, "PSP GAME  ", 10);
	assert_int_equal(le_u32(b.p + 16 * SECTOR + 80), b.len / SECTOR);
	assert_int_equal(le_u32(b.p + 16 * SECTOR + 158), 20);
	a = open_buf(&fmt_iso9660, &b);
	assert_int_equal(listed(a.o).n, ARRAY_LEN(names));
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(listed(a.o).name[i], names[i]);
	holds(a.o, "UMD_DATA.BIN", "ULJM-00000|0000000000000001|0001|G", 34);
	text = says(a.o, fmt_iso9660.container->info);
	assert_non_null(strstr(text, "game: psp\nsystem_id: \"PSP GAME\"\nvolume_id: \"MODELFS DEMO\"\n"));
	free(text);
	is_sound(a.o);
	close_opened(&a);
	buf_free(&again);
}

/* ---- anything ---- */

static void use(const uint8_t *p, size_t n)
{
	struct source *src = src_memory(p, n);
	struct object *o = NULL;
	struct entries v;
	struct err e;

	assert_non_null(src);
	build_probe(&fmt_iso9660, src, "", NULL, 0, NULL);
	if (!object_open(&fmt_iso9660, src, NULL, &o, &e) && !fmt_iso9660.container->list(o, &v, &e)) {
		for (uint32_t i = 0; i < v.n; i++)
			src_put(entry_source(o->src, &fmt_iso9660, &v.v[i]));
		fmt_iso9660.container->verify(o, &v, &e);
		free(says(o, fmt_iso9660.container->info));
		free(says(o, fmt_iso9660.container->more));
	}
	object_close(o);
	src_put(src);
}

/* Each byte of descriptors, tables and directories. */
static void test_changes(void **state)
{
	static const uint8_t change[] = { 0x01, 0x80, 0xff };
	struct build_iso how = { .joliet = true };
	struct disc d;

	(void)state;
	make(&d);
	d.b.len = 0;
	build_iso(&d.b, &how, d.v, NODES);
	for (size_t at = 16 * SECTOR; at < 28 * SECTOR; at++) {
		if (at % SECTOR > 900)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(change); i++) {
			d.b.p[at] ^= change[i];
			use(d.b.p, d.b.len);
			d.b.p[at] ^= change[i];
		}
	}
	for (size_t n = 0; n < d.b.len; n += 97)
		use(d.b.p, n);
	buf_free(&d.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree), cmocka_unit_test(test_info), cmocka_unit_test(test_games),
		cmocka_unit_test(test_names), cmocka_unit_test(test_names_of_folders), cmocka_unit_test(test_joliet),
		cmocka_unit_test(test_rock_ridge), cmocka_unit_test(test_times), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many_descriptors), cmocka_unit_test(test_within), cmocka_unit_test(test_outside),
		cmocka_unit_test(test_records), cmocka_unit_test(test_record_at_the_end),
		cmocka_unit_test(test_never_read), cmocka_unit_test(test_own_sectors),
		cmocka_unit_test(test_associated),
		cmocka_unit_test(test_pieces_missing), cmocka_unit_test(test_loop), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_folder_outside), cmocka_unit_test(test_folders_that_multiply),
		cmocka_unit_test(test_many_files), cmocka_unit_test(test_base), cmocka_unit_test(test_verify),
		cmocka_unit_test(test_demo), cmocka_unit_test(test_raw), cmocka_unit_test(test_raw_headers),
		cmocka_unit_test(test_raw_damage), cmocka_unit_test(test_packed),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
