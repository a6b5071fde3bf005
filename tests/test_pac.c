/* PAC containers and the files that are only recognised: what is one, what is none and why, and what asking costs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mhp.h"
#include "bytes.h"

extern const struct format fmt_databin, fmt_pac, fmt_mhpfile;

/* ---- an opened PAC ---- */

struct pack {
	struct source *src;
	struct object *o;
	struct entries entries;
};

static int open_pack(struct pack *p, const void *bytes, size_t n, struct err *e)
{
	int rc;

	*p = (struct pack){ .src = src_memory(bytes, n) };
	assert_non_null(p->src);
	rc = object_open(&fmt_pac, p->src, NULL, &p->o, e);
	return rc ? rc : fmt_pac.container->list(p->o, &p->entries, e);
}

static void close_pack(struct pack *p)
{
	object_close(p->o);
	src_put(p->src);
}

static char *info(struct pack *p)
{
	struct build_doc d;

	build_doc_init(&d);
	assert_int_equal(fmt_pac.container->info(p->o, &p->entries, &d.doc, NULL), 0);
	buf_char(&d.text, 0);
	assert_false(d.text.bad);
	return (char *)d.text.p;
}

static void info_is(struct pack *p, const char *want)
{
	char *text = info(p);

	assert_string_equal(text, want);
	free(text);
}

static int verify(struct pack *p, struct err *e)
{
	return fmt_pac.container->verify(p->o, &p->entries, e);
}

static void check_entries(struct pack *p, const struct build_bytes *want)
{
	struct err why;

	for (uint32_t i = 0; i < p->entries.n; i++) {
		struct source *src = entry_source(p->src, &fmt_pac, &p->entries.v[i]);
		uint8_t *got = malloc(want[i].n + 1);

		assert_non_null(src);
		assert_non_null(got);
		assert_int_equal(src->size, want[i].n);
		assert_int_equal(src_pread(src, got, want[i].n, 0), 0);
		if (want[i].n)
			assert_memory_equal(got, want[i].p, want[i].n);
		free(got);
		src_put(src);
	}
	if (verify(p, &why))
		fail_msg("%s", why.text);
}

/* ---- sound ones ---- */

static const char words[] = "Sphinx of black quartz, judge my vow.";

/* The header of a shipped helmet: 3 entries, aligned to 16. */
static void test_real_header(void **state)
{
	static const uint32_t header[] = { 3, 0x20, 0x1040, 0x1060, 0x44c, 0x14b0, 0x1240 };
	uint8_t *bytes = calloc(1, 0x2800);
	struct pack p;
	struct err why;

	(void)state;
	assert_non_null(bytes);
	for (unsigned i = 0; i < ARRAY_LEN(header); i++)
		put_le32(bytes + 4 * i, header[i]);
	assert_int_equal(open_pack(&p, bytes, 0x2800, &why), 0);
	assert_int_equal(build_probe(&fmt_pac, p.src, "", &fmt_databin, 406, NULL), 50);
	assert_int_equal(p.entries.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(p.entries.v[i].at, header[1 + 2 * i]);
		assert_int_equal(p.entries.v[i].size, header[2 + 2 * i]);
		assert_false(p.entries.v[i].coded);
	}
	assert_int_equal(verify(&p, &why), 0);
	info_is(&p, "entry_count: 3\nempty_entries: 0\nalignment: 16\ntail_bytes: 272\n");
	close_pack(&p);
	free(bytes);
}

static void test_alignments(void **state)
{
	/* Sizes that make each alignment give other offsets; the first that fits is taken. */
	static const struct { uint32_t align, found; } cases[] = {
		{ 16, 16 }, { 8, 8 }, { 4, 4 }, { 64, 0 }, { 1, 0 }, { 32, 0 },
	};
	const struct build_bytes entries[] = {
		{ words, 5 }, { NULL, 0 }, { words, 13 }, { words, 34 }, { NULL, 0 }, { words, 1 },
	};
	struct pack p;
	struct err why;
	char line[32];

	(void)state;
	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		struct buf b = { 0 };
		char *text;

		build_pac(&b, entries, ARRAY_LEN(entries), cases[k].align);
		build_noise(&b, 77, k);
		assert_int_equal(open_pack(&p, b.p, b.len, &why), 0);
		assert_int_equal(build_probe(&fmt_pac, p.src, "", NULL, 0, NULL), 50);
		check_entries(&p, entries);
		text = info(&p);
		snprintf(line, sizeof line, cases[k].found ? "alignment: %u\n" : "alignment: null\n", cases[k].found);
		assert_non_null(strstr(text, line));
		assert_non_null(strstr(text, "empty_entries: 2\n"));
		assert_non_null(strstr(text, "tail_bytes: 77\n"));
		free(text);
		close_pack(&p);
		buf_free(&b);
	}
}

/* Entries of no bytes that have an offset, alone and before another at the same place. */
static void test_zero_sizes(void **state)
{
	static const uint32_t table[] = { 4, 48, 0, 48, 10, 0, 0, 58, 0 };
	uint8_t bytes[58] = { 0 };
	struct pack p;
	struct err why;

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(table); i++)
		put_le32(bytes + 4 * i, table[i]);
	assert_int_equal(open_pack(&p, bytes, sizeof bytes, &why), 0);
	assert_int_equal(build_probe(&fmt_pac, p.src, "", NULL, 0, NULL), 50);
	assert_int_equal(p.entries.v[0].at, 48);
	assert_int_equal(p.entries.v[0].size, 0);
	assert_int_equal(p.entries.v[1].size, 10);
	assert_int_equal(verify(&p, &why), 0);
	info_is(&p, "entry_count: 4\nempty_entries: 1\nalignment: null\ntail_bytes: 0\n");
	close_pack(&p);
}

/* Placeholders of stages: empty entries and nothing else, then disc leftovers. */
static void test_placeholders(void **state)
{
	struct pack p;
	struct err why;

	(void)state;
	for (uint32_t n = 1; n <= 256; n++) {
		struct buf b = { 0 };
		const struct build_bytes none[256] = { { 0 } };
		bool stage = n >= 6 && n <= 8;

		build_pac(&b, none, n, 16);
		build_noise(&b, 4096 - b.len, n);
		assert_int_equal(open_pack(&p, b.p, b.len, &why), stage ? 0 : -EBADMSG);
		assert_int_equal(build_probe(&fmt_pac, p.src, "", &fmt_databin, 0, NULL), stage ? 50 : 0);
		if (stage)
			assert_int_equal(verify(&p, &why), 0);
		close_pack(&p);
		buf_free(&b);
	}
}

/* ---- what probing costs ---- */

struct counted { struct source s; struct source *under; unsigned reads; size_t bytes; };

static int counted_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	struct counted *c = (struct counted *)s;

	c->reads++;
	c->bytes += n;
	return src_pread(c->under, buf, n, at);
}

static const struct source_ops counted_ops = { .pread = counted_pread };

/* Bid for the bytes and how often the source was read for it, the first bytes included. */
static int counted_probe(const struct buf *b, unsigned *reads, size_t *bytes)
{
	struct counted c = { .s = { .ops = &counted_ops, .size = b->len }, .under = src_memory(b->p, b->len) };
	int bid;

	assert_non_null(c.under);
	bid = build_probe(&fmt_pac, &c.s, "", &fmt_databin, 0, NULL);
	src_put(c.under);
	*reads = c.reads;
	*bytes = c.bytes;
	return bid;
}

static void test_reads(void **state)
{
	struct build_bytes entries[256];
	unsigned reads;
	size_t bytes;

	(void)state;
	for (unsigned i = 0; i < 256; i++)
		entries[i] = (struct build_bytes){ words, 20 };
	for (uint32_t n = 1; n <= 256; n += n == 1 ? 14 : n == 15 ? 1 : 240) {
		struct buf b = { 0 };

		build_pac(&b, entries, n, 16);
		build_noise(&b, 8000, n);
		assert_int_equal(counted_probe(&b, &reads, &bytes), 50);
		assert_int_equal(reads, n <= 15 ? 1 : 2);      /* 15 entries lie in the first 128 bytes */
		assert_true(bytes <= PROBE_MOST);
		put_le32(b.p + 4, 3);                          /* what the first bytes show needs no more of them */
		assert_int_equal(counted_probe(&b, &reads, &bytes), 0);
		assert_int_equal(reads, 1);
		buf_free(&b);
	}
}

/* 200 PACs inside each other, and 256 in one: each is asked for its own table only. */
static void test_nested(void **state)
{
	struct buf deep = { 0 }, wide = { 0 }, one = { 0 };
	struct build_bytes entry = { words, 20 }, entries[256];
	struct pack p;
	struct err why;
	unsigned reads;
	size_t bytes;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct buf next = { 0 };

		build_pac(&next, &entry, 1, 16);
		buf_free(&deep);
		deep = next;
		entry = (struct build_bytes){ deep.p, deep.len };
	}
	assert_int_equal(counted_probe(&deep, &reads, &bytes), 50);
	assert_int_equal(reads, 1);
	assert_int_equal(bytes, PROBE_FIRST);
	buf_free(&deep);

	entry = (struct build_bytes){ words, 20 };
	build_pac(&one, &entry, 1, 16);
	for (unsigned i = 0; i < 256; i++)
		entries[i] = (struct build_bytes){ one.p, one.len };
	build_pac(&wide, entries, 256, 16);
	assert_int_equal(counted_probe(&wide, &reads, &bytes), 50);
	assert_true(bytes <= PROBE_MOST);
	assert_int_equal(open_pack(&p, wide.p, wide.len, &why), 0);
	check_entries(&p, entries);
	close_pack(&p);
	buf_free(&wide);
	buf_free(&one);
}

/* ---- damage ---- */

/* Three entries of 5, 13 and 34 bytes, at 32, 48 and 64; 98 bytes in all. */
static void small(struct buf *b)
{
	const struct build_bytes entries[] = { { words, 5 }, { words, 13 }, { words, 34 } };

	*b = (struct buf){ 0 };
	build_pac(b, entries, ARRAY_LEN(entries), 16);
	assert_int_equal(b->len, 98);
}

/* Probe and list agree; a refusal says why in both. */
static int agree(const struct buf *b, char *text, size_t room)
{
	struct err why = { 0 }, probed = { 0 };
	struct pack p;
	int rc = open_pack(&p, b->p, b->len, &why), bid = build_probe(&fmt_pac, p.src, "", &fmt_databin, 5, &probed);

	assert_int_equal(bid, rc ? 0 : 50);
	assert_string_equal(why.text, probed.text);
	if (text)
		snprintf(text, room, "%s", why.text);
	if (rc) {
		assert_int_equal(rc, -EBADMSG);
		assert_int_not_equal(why.text[0], 0);
		assert_null(p.o->variant);
	} else {
		free(info(&p));
		assert_int_equal(verify(&p, &why), 0);
		for (uint32_t i = 0; i < p.entries.n; i++)
			assert_true(p.entries.v[i].at + p.entries.v[i].size <= b->len);
	}
	close_pack(&p);
	return bid;
}

static void test_damage(void **state)
{
	static const struct { uint32_t word, value; const char *text; } cases[] = {
		{ 0, 0, "PAC entry count at 0x0: 0, expected 1 to 256" },
		{ 0, 257, "PAC entry count at 0x0: 257, expected 1 to 256" },
		{ 0, 0xfffffff0, "PAC entry count at 0x0: 4294967280, expected 1 to 256" },
		{ 0, 12, "PAC table at 0x4: 12 entries of 8 bytes end past the 98 of the file" },
		{ 0, 4, "PAC entry 0 at 0x4: offset 0x20, expected 0x24 or more, the table's end" },
		{ 1, 0, "PAC entry 0 at 0x4: offset 0x0, expected 0x1c or more, the table's end" },
		{ 1, 27, "PAC entry 0 at 0x4: offset 0x1b, expected 0x1c or more, the table's end" },
		{ 2, 67, "PAC entry 0 at 0x4: 0x43 bytes at 0x20 end past the 0x62 of the file" },
		{ 3, 4, "PAC entry 1 at 0xc: offset 0x4, expected 0x21 or more, as offsets ascend" },
		{ 3, 32, "PAC entry 1 at 0xc: offset 0x20, expected 0x21 or more, as offsets ascend" },
		{ 3, 0xfffffff0, "PAC entry 1 at 0xc: 0xd bytes at 0xfffffff0 end past the 0x62 of the file" },
		{ 3, 64, "PAC entry 2 at 0x14: offset 0x40, expected 0x41 or more, as offsets ascend" },
		{ 4, 0xffffffd0, "PAC entry 1 at 0xc: 0xffffffd0 bytes at 0x30 end past the 0x62 of the file" },
		{ 6, 35, "PAC entry 2 at 0x14: 0x23 bytes at 0x40 end past the 0x62 of the file" },
	};
	char text[240];
	struct buf b;

	(void)state;
	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		small(&b);
		put_le32(b.p + 4 * cases[k].word, cases[k].value);
		assert_int_equal(agree(&b, text, sizeof text), 0);
		assert_string_equal(text, cases[k].text);
		buf_free(&b);
	}
	small(&b);
	b.len = 10;
	assert_int_equal(agree(&b, text, sizeof text), 0);
	assert_string_equal(text, "PAC at 0x0: 10 bytes, expected 12 or more");
	buf_free(&b);
}

/* Entries that share bytes pass: their offsets ascend. */
static void test_overlap(void **state)
{
	struct pack p;
	struct err why;
	struct buf b;

	(void)state;
	small(&b);
	put_le32(b.p + 8, 40);
	assert_int_equal(open_pack(&p, b.p, b.len, &why), 0);
	assert_int_equal(verify(&p, &why), 0);
	info_is(&p, "entry_count: 3\nempty_entries: 0\nalignment: null\ntail_bytes: 0\n");
	close_pack(&p);
	buf_free(&b);
}

/* Entries that share bytes may be as long in all as the file, no longer. */
static void test_more_than_the_file(void **state)
{
	char text[240];
	struct buf b;

	(void)state;
	small(&b);
	put_le32(b.p + 8, 66);                         /* entry 0: up to the end */
	put_le32(b.p + 24, 19);                        /* entry 2: 66 + 13 + 19 are 98 */
	assert_int_equal(agree(&b, NULL, 0), 50);
	put_le32(b.p + 24, 20);
	assert_int_equal(agree(&b, text, sizeof text), 0);
	assert_string_equal(text, "PAC entry 2 at 0x14: entries of 0x63 bytes in all, the file has 0x62");
	put_le32(b.p + 16, 50);                        /* entry 1: 66 and 50 are 116 */
	assert_int_equal(agree(&b, text, sizeof text), 0);
	assert_string_equal(text, "PAC entry 1 at 0xc: entries of 0x74 bytes in all, the file has 0x62");
	buf_free(&b);
}

static void test_zero_files(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (unsigned n = 0; n < 3000; n += n < 40 ? 1 : 97) {
		while (b.len < n)
			buf_char(&b, 0);
		assert_int_equal(agree(&b, NULL, 0), 0);
	}
	buf_free(&b);
}

static void test_truncation(void **state)
{
	struct buf b;

	(void)state;
	small(&b);
	for (b.len = 0; b.len < 98; b.len++) {
		uint8_t *exact = malloc(b.len + 1);
		struct buf cut = { .p = exact, .len = b.len };

		assert_non_null(exact);
		memcpy(exact, b.p, b.len);
		assert_int_equal(agree(&cut, NULL, 0), 0);
		free(exact);
	}
	assert_int_equal(agree(&b, NULL, 0), 50);
	buf_free(&b);
}

static void test_single_bytes(void **state)
{
	struct buf b;

	(void)state;
	small(&b);
	for (size_t i = 0; i < b.len; i++) {
		for (unsigned v = 0; v < 256; v++) {
			uint8_t was = b.p[i];

			b.p[i] = (uint8_t)v;
			agree(&b, NULL, 0);
			b.p[i] = was;
		}
	}
	buf_free(&b);
}

/* Re-encoding notices a decoded value that is not the stored one. */
static void test_verify_differs(void **state)
{
	struct pack p;
	struct err why;
	struct buf b;

	(void)state;
	small(&b);
	assert_int_equal(open_pack(&p, b.p, b.len, &why), 0);
	p.entries.v[1].size = 18;
	assert_int_equal(verify(&p, &why), -EILSEQ);
	assert_string_equal(why.text, "PAC table at 0x10: 0x0d is stored, encoded again it is 0x12");
	p.entries.v[1].size = 13;
	assert_int_equal(verify(&p, &why), 0);
	close_pack(&p);
	buf_free(&b);
}

/* ---- files that are only recognised ---- */

static const char *extension(const void *bytes, size_t n, const struct format *within, uint32_t index)
{
	struct source *src = src_memory(bytes, n);
	struct probe p = { .name = "", .within = within, .index = index, .size = n, .head = bytes };
	const char *ext;
	int bid;

	assert_non_null(src);
	p.src = src;
	p.n = n < PROBE_FIRST ? n : PROBE_FIRST;
	bid = fmt_mhpfile.probe(&p);
	ext = fmt_mhpfile.extension(&p);
	assert_non_null(ext);
	assert_true(bid == 10 || (!bid && !strcmp(ext, "bin")));
	src_put(src);
	return bid ? ext : NULL;
}

static void test_extensions(void **state)
{
	static const struct { const char *bytes; size_t n; const char *ext; } cases[] = {
		{ "HITS....", 8, "hits" }, { "MWo3....", 8, "ovl" }, { "Head....", 8, "phd" },
		{ "NSP\0....", 8, "bin" }, { "ASB\0....", 8, "bin" }, { "ARV\0....", 8, "bin" },
		{ "RIFF....", 8, "at3" }, { "MIG.00.1", 8, "gim" }, { "\x89PNG\r\n\x1a\n", 8, "png" },
		{ "GIF89a", 6, "gif" }, { "GIF87a", 6, "gif" }, { "GIF8", 4, "gif" }, { "PSMF0012", 8, "pmf" },
		{ "~PSP....", 8, "prx" }, { "\x7f" "ELF....", 8, "prx" }, { "dbsT....", 8, "bin" },
		{ "\0\0\0\x14....", 8, "geo" },
		{ "GIF", 3, NULL }, { "", 0, NULL }, { "HIT", 3, NULL }, { "\x14\0\0\0", 4, NULL },
		{ "hits....", 8, NULL }, { "NSPX....", 8, NULL }, { "\0\0\0\0", 4, NULL },
	};

	(void)state;
	for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
		const char *ext = extension(cases[k].bytes, cases[k].n, &fmt_databin, 3);

		if (cases[k].ext) {
			assert_non_null(ext);
			assert_string_equal(ext, cases[k].ext);
		} else {
			assert_null(ext);
		}
	}
}

/* Two kinds have no magic worth the name: their place in a stage's PAC is the other half of it. */
static void test_stage_entries(void **state)
{
	static const uint8_t env[14] = { 2, 0, 10, 20, 30, 255 }, parameters[16] = { 2, 1 };

	(void)state;
	assert_string_equal(extension(env, sizeof env, &fmt_pac, 3), "env");
	assert_null(extension(env, sizeof env - 1, &fmt_pac, 3));
	assert_null(extension(env, sizeof env, &fmt_pac, 2));
	assert_null(extension(env, sizeof env, &fmt_databin, 3));
	assert_null(extension(env, sizeof env, NULL, 3));
	assert_string_equal(extension(parameters, sizeof parameters, &fmt_pac, 4), "bin");
	assert_null(extension(parameters, sizeof parameters, &fmt_pac, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_header), cmocka_unit_test(test_alignments),
		cmocka_unit_test(test_zero_sizes),
		cmocka_unit_test(test_placeholders), cmocka_unit_test(test_reads), cmocka_unit_test(test_nested),
		cmocka_unit_test(test_damage), cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_more_than_the_file), cmocka_unit_test(test_zero_files),
		cmocka_unit_test(test_truncation), cmocka_unit_test(test_single_bytes),
		cmocka_unit_test(test_verify_differs),
		cmocka_unit_test(test_extensions), cmocka_unit_test(test_stage_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
