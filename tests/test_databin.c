/* DATA.BIN: the layouts of all games, every kind of damage, and that nothing hostile costs anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "build_mhp.h"
#include "mhpcipher.h"

extern const struct format fmt_databin, fmt_pac;

/* ---- an opened archive ---- */

struct archive {
	struct buf bytes;
	struct source *src;
	struct object *o;
	struct entries entries;
};

static int open_list(struct archive *a, struct err *e)
{
	int rc;

	a->src = src_memory(a->bytes.p, a->bytes.len);
	assert_non_null(a->src);
	rc = object_open(&fmt_databin, a->src, NULL, &a->o, e);
	return rc ? rc : fmt_databin.container->list(a->o, &a->entries, e);
}

static void close_list(struct archive *a)
{
	object_close(a->o);
	src_put(a->src);
	a->o = NULL;
	a->src = NULL;
}

static void close_archive(struct archive *a)
{
	close_list(a);
	buf_free(&a->bytes);
}

static void open_files(struct archive *a, const struct build_file *files, uint32_t n, bool coded)
{
	struct err why;

	*a = (struct archive){ 0 };
	build_databin(&a->bytes, files, n, coded);
	assert_false(a->bytes.bad);
	if (open_list(a, &why))
		fail_msg("%s", why.text);
	assert_int_equal(a->entries.n, n);
}

static int verify(struct archive *a, struct err *e)
{
	return fmt_databin.container->verify(a->o, &a->entries, e);
}

/* Every file is what it was built from, by its own size or as the begin of its slot. */
static void check_files(struct archive *a, const struct build_file *files)
{
	struct err why;

	for (uint32_t i = 0; i < a->entries.n; i++) {
		const struct entry *v = &a->entries.v[i];
		uint64_t slot = align_up(files[i].n, BUILD_BLOCK) + files[i].slack * BUILD_BLOCK;
		struct source *src = entry_source(a->src, &fmt_databin, v);
		uint8_t *got = malloc(files[i].n + 1);

		assert_non_null(src);
		assert_non_null(got);
		assert_int_equal(v->at, (uint64_t)v->key * BUILD_BLOCK);
		assert_int_equal(v->size, files[i].exact ? files[i].n : slot);
		assert_int_equal(src_pread(src, got, files[i].n, 0), 0);
		if (files[i].n)
			assert_memory_equal(got, files[i].bytes, files[i].n);
		free(got);
		src_put(src);
	}
	if (verify(a, &why))
		fail_msg("%s", why.text);
	assert_int_equal(build_probe(&fmt_databin, a->src, "DATA.BIN", NULL, 0, NULL), 90);
}

static char *info(struct archive *a)
{
	struct build_doc d;

	build_doc_init(&d);
	assert_int_equal(fmt_databin.container->info(a->o, &a->entries, &d.doc, NULL), 0);
	buf_char(&d.text, 0);
	assert_false(d.text.bad);
	return (char *)d.text.p;
}

static void info_says(struct archive *a, const char *line)
{
	char *text = info(a);

	if (!strstr(text, line))
		fail_msg("no \"%s\" in\n%s", line, text);
	free(text);
}

/* ---- layouts ---- */

static const char words[] = "The quick brown fox jumps over the lazy dog, then sleeps in the sun all day.";
static uint8_t big[3 * BUILD_BLOCK + 700];

static int setup(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_noise(&b, sizeof big, 99);
	memcpy(big, b.p, sizeof big);
	buf_free(&b);
	return 0;
}

/* Few files among many empty ones, as in the games; the last is never empty. */
static void spread(struct build_file *files, uint32_t n)
{
	memset(files, 0, n * sizeof *files);
	for (uint32_t i = 5; i < n; i += 97)
		files[i] = (struct build_file){ words, 1 + i % sizeof words, i % 2, false, i % 2 ? 0 : i % 3 };
	for (uint32_t i = 6; i < n; i += 501)
		files[i] = (struct build_file){ big, sizeof big - i % 600, i % 5 == 0, false, 0 };
	files[n - 1] = (struct build_file){ big, 2 * BUILD_BLOCK, true, false, 0 };
}

static const struct { const char *version; uint32_t n; bool coded; uint32_t first_plain, last_plain; } layouts[] = {
	{ "mhp2g", 6602, true, 26, 42 },
	{ "mhp3rd", 5955, true, 81, 92 },
	{ "mhfu", 6654, true, 46, 62 },
	{ "mhfu", 90, true, 46, 62 },
	{ "mhf2", 90, false, 0, 0 },
	{ "mhf2", 6602, false, 0, 0 },
};

static void test_layouts(void **state)
{
	struct archive a;
	char line[64];

	(void)state;
	for (unsigned k = 0; k < ARRAY_LEN(layouts); k++) {
		uint32_t n = layouts[k].n, nplain = 0;
		struct build_file *files = calloc(n, sizeof *files);

		assert_non_null(files);
		spread(files, n);
		for (uint32_t i = layouts[k].first_plain; layouts[k].last_plain && i <= layouts[k].last_plain; i++)
			files[i] = (struct build_file){ big + i, 900, i % 2, true, 0 };
		open_files(&a, files, n, layouts[k].coded);
		assert_string_equal(a.o->variant->version, layouts[k].version);
		check_files(&a, files);
		for (uint32_t i = 0; i < n; i++)
			nplain += !a.entries.v[i].coded && a.entries.v[i].size;
		snprintf(line, sizeof line, "plain_files: %u\n", nplain);
		info_says(&a, line);
		if (layouts[k].coded)
			assert_int_equal(nplain, layouts[k].last_plain - layouts[k].first_plain + 1);
		close_archive(&a);
		free(files);
	}
}

/* Plain files beyond the lists are known by their first bytes, which are looked at only when nothing else fits. */
static void test_plain_by_magic(void **state)
{
	bool (*plain)(const uint8_t *) = fmt_databin.container->stored_plain;

	(void)state;
	assert_true(plain((const uint8_t *)"~PSP"));
	assert_true(plain((const uint8_t *)"\177ELF"));
	assert_true(plain((const uint8_t *)"PSMF"));
	assert_false(plain((const uint8_t *)"PSMG"));
	assert_false(plain((const uint8_t *)"\0PSP"));
}

static void test_info(void **state)
{
	struct build_file files[80] = { 0 };
	struct archive a;
	char *text;

	(void)state;
	files[3] = (struct build_file){ words, 10, true, false, 0 };
	files[44] = (struct build_file){ words, 10, false, false, 2 };
	files[50] = (struct build_file){ "PSMF", 4, false, true, 0 };
	files[79] = (struct build_file){ words, 10, true, false, 0 };
	open_files(&a, files, ARRAY_LEN(files), true);
	text = info(&a);
	assert_string_equal(text, "kind: DATA.BIN, encrypted\ngame: Monster Hunter Freedom Unite\n"
				  "layout: mhfu\nfiles: 80\n"
				  "empty_files: 76\nplain_files: 1\nexact_sizes: 2\nblocks: 7\n");
	free(text);
	close_archive(&a);
}

/* ---- exact sizes ---- */

#define SMALL 24u

static void small_files(struct build_file *files)
{
	memset(files, 0, SMALL * sizeof *files);
	files[1] = (struct build_file){ words, 33, true, false, 0 };
	files[4] = (struct build_file){ big, 2 * BUILD_BLOCK, true, false, 0 };
	files[5] = (struct build_file){ big, BUILD_BLOCK + 1, true, false, 0 };
	files[9] = (struct build_file){ words, 60, false, false, 1 };
	files[SMALL - 1] = (struct build_file){ words, 7, true, false, 0 };
}

/* The first pair that cannot be one ends them; what it and the later ones say is not believed. */
static void test_bad_pairs(void **state)
{
	static const struct { uint32_t word, value; uint64_t sizes[4]; } cases[] = {
		{ 0, 0, { BUILD_BLOCK, 4096, 4096, BUILD_BLOCK } },             /* file 0, empty */
		{ 0, SMALL, { BUILD_BLOCK, 4096, 4096, BUILD_BLOCK } },         /* no such file */
		{ 0, 0xffffffff, { BUILD_BLOCK, 4096, 4096, BUILD_BLOCK } },
		{ 1, 0, { BUILD_BLOCK, 4096, 4096, BUILD_BLOCK } },             /* a block or more below the slot */
		{ 1, 2049, { BUILD_BLOCK, 4096, 4096, BUILD_BLOCK } },          /* more than the slot */
		{ 1, 0xfffffff0, { BUILD_BLOCK, 4096, 4096, BUILD_BLOCK } },
		{ 1, 2048, { BUILD_BLOCK, 4096, 2049, 7 } },
		{ 1, 1, { 1, 4096, 2049, 7 } },
		{ 2, 1, { 33, 4096, 4096, BUILD_BLOCK } },                      /* not more than the one before */
		{ 4, 4, { 33, 4096, 4096, BUILD_BLOCK } },
		{ 5, 2048, { 33, 4096, 4096, BUILD_BLOCK } },
		{ 5, 4096, { 33, 4096, 4096, 7 } },
		{ 7, 9, { 33, 4096, 2049, 9 } },
	};
	struct build_file files[SMALL];
	struct archive a;
	struct err why;

	(void)state;
	small_files(files);
	for (unsigned coded = 0; coded < 2; coded++) {
		for (unsigned k = 0; k < ARRAY_LEN(cases); k++) {
			open_files(&a, files, SMALL, coded);
			close_list(&a);
			build_set_word(&a.bytes, coded, SMALL + 1 + cases[k].word, cases[k].value);
			assert_int_equal(open_list(&a, &why), 0);
			assert_int_equal(a.entries.v[1].size, cases[k].sizes[0]);
			assert_int_equal(a.entries.v[4].size, cases[k].sizes[1]);
			assert_int_equal(a.entries.v[5].size, cases[k].sizes[2]);
			assert_int_equal(a.entries.v[SMALL - 1].size, cases[k].sizes[3]);
			assert_int_equal(a.entries.v[9].size, 2 * BUILD_BLOCK);
			assert_int_equal(a.entries.v[0].size, 0);
			assert_int_equal(verify(&a, &why), 0);
			close_archive(&a);
		}
	}
}

/* A table that is full to the last byte has no leftover. */
static void test_full_table(void **state)
{
	struct build_file files[511 - 2 * 100] = { 0 };
	struct archive a;

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		files[2 * i + 101] = (struct build_file){ words, 1 + i % 70, true, false, 0 };
	files[ARRAY_LEN(files) - 1] = (struct build_file){ words, 5, false, false, 0 };
	open_files(&a, files, ARRAY_LEN(files), true);
	assert_int_equal(build_word(&a.bytes, true, 0), 1);
	check_files(&a, files);
	info_says(&a, "exact_sizes: 100\n");
	close_archive(&a);
}

/* ---- damage: as the table says, the archive is refused with where, what and what was expected ---- */

static void refused(struct archive *a, const char *text)
{
	struct err why = { 0 }, probed = { 0 };

	assert_int_equal(open_list(a, &why), -EBADMSG);
	if (strcmp(why.text, text))
		fail_msg("says \"%s\"\nexpected \"%s\"", why.text, text);
	assert_null(a->o->variant);
	assert_int_equal(build_probe(&fmt_databin, a->src, "DATA.BIN", NULL, 0, &probed), 0);
	assert_string_equal(probed.text, text);
	close_archive(a);
}

static void start_damage(struct archive *a, bool coded)
{
	struct build_file files[SMALL];

	small_files(files);
	open_files(a, files, SMALL, coded);
	close_list(a);
}

static void refused_word(bool coded, uint32_t word, uint32_t value, const char *text)
{
	struct archive a;

	start_damage(&a, coded);
	build_set_word(&a.bytes, coded, word, value);
	refused(&a, text);
}

static void refused_size(bool coded, size_t n, const char *text)
{
	struct archive a;

	start_damage(&a, coded);
	a.bytes.len = n;
	refused(&a, text);
}

static void test_damage(void **state)
{
	struct archive a;

	(void)state;
	/* The small archive has 9 blocks; the files that are not empty start at blocks 1, 2, 4, 6 and 8. */
	refused_size(true, 1024, "archive at 0x0: 1024 bytes; a table and a file take 2 blocks of 2048");
	refused_size(false, 3, "archive at 0x0: 3 bytes; a table and a file take 2 blocks of 2048");
	refused_size(true, 0, "archive at 0x0: 0 bytes; a table and a file take 2 blocks of 2048");
	refused_size(true, BUILD_BLOCK, "archive at 0x0: 2048 bytes; a table and a file take 2 blocks of 2048");
	refused_size(true, 7 * BUILD_BLOCK,
		     "decrypted start block 10 at 0x28: 8, expected 6 to 7; the archive has 7 blocks");
	refused_size(false, 5 * BUILD_BLOCK, "start block 6 at 0x18: 6, expected 4 to 5; the archive has 5 blocks");
	refused_word(true, 2, 0, "decrypted start block 2 at 0x8: 0, expected 1 to 9; the archive has 9 blocks");
	refused_word(false, 5, 1, "start block 5 at 0x14: 1, expected 2 to 9; the archive has 9 blocks");
	refused_word(true, 3, 0xffffff,
		     "decrypted start block 3 at 0xc: 16777215, expected 2 to 9; the archive has 9 blocks");
	refused_word(false, 7, 10, "start block 7 at 0x1c: 10, expected 6 to 9; the archive has 9 blocks");
	refused_word(true, SMALL, 10,
		     "decrypted start block 24 at 0x60: 10, expected 8 to 9; the archive has 9 blocks");
	refused_word(false, SMALL, 0xfffffff0,
		     "start block 24 at 0x60: 4294967280, expected 8 to 9; the archive has 9 blocks");
	/* An element 0 that cannot be one says both readings. */
	refused_word(true, 0, 0,
		     "start block 0 at 0x0: 2691294187, or 0 decrypted; expected 1 to 8, as the archive has 9 blocks");
	refused_word(false, 0, 0,
		     "start block 0 at 0x0: 0, or 1708533458 decrypted; expected 1 to 8, as the archive has 9 blocks");
	refused_word(false, 0, 9,
		     "start block 0 at 0x0: 9, or 1708533422 decrypted; expected 1 to 8, as the archive has 9 blocks");
	/* Larger than what follows, though inside the archive. */
	refused_word(true, 0, 8, "decrypted start block 1 at 0x4: 1, expected 8 to 9; the archive has 9 blocks");

	a = (struct archive){ 0 };
	for (unsigned i = 0; i < 4 * BUILD_BLOCK; i++)
		buf_char(&a.bytes, 0);
	refused(&a, "start block 0 at 0x0: 0, or 1708533458 decrypted; expected 1 to 3, as the archive has 4 blocks");
	a = (struct archive){ 0 };
	build_noise(&a.bytes, 4 * BUILD_BLOCK, 5);
	refused(&a,
		     "start block 0 at 0x0: 3661544252, or 3607712660 decrypted; "
		     "expected 1 to 3, as the archive has 4 blocks");
}

/* A table whose words never reach the block count ends with its own blocks. */
static void test_no_end(void **state)
{
	struct archive a;

	(void)state;
	for (unsigned coded = 0; coded < 2; coded++) {
		a = (struct archive){ 0 };
		build_noise(&a.bytes, 9 * BUILD_BLOCK, 1);
		for (uint32_t i = 0; i < BUILD_BLOCK / 4; i++)
			build_set_word(&a.bytes, coded, i, 1);
		refused(&a, "table at 0x0: none of the 512 start blocks is the archive's 9 blocks; the last is 1");
	}
}

/* Bytes missing from the last block: the file there is shorter, and that is told. */
static void test_cut_odd(void **state)
{
	struct build_file files[SMALL];
	struct archive a;
	struct err why;
	uint8_t got[4];

	(void)state;
	for (unsigned coded = 0; coded < 2; coded++) {
		for (unsigned exact = 0; exact < 2; exact++) {
			struct source *src;

			small_files(files);
			files[SMALL - 1] = (struct build_file){ big, 1990, exact, false, 0 };
			open_files(&a, files, SMALL, coded);
			close_list(&a);
			a.bytes.len -= 101;
			assert_int_equal(open_list(&a, &why), 0);
			assert_int_equal(a.entries.v[SMALL - 1].size, BUILD_BLOCK - 101);
			src = entry_source(a.src, &fmt_databin, &a.entries.v[SMALL - 1]);
			assert_int_equal(src_pread(src, got, 4, src->size - 4), 0);
			assert_memory_equal(got, big + src->size - 4, 4);
			src_put(src);
			assert_int_equal(build_probe(&fmt_databin, a.src, "DATA.BIN", NULL, 0, NULL), 90);
			info_says(&a, "missing_bytes: 101\n");
			assert_int_equal(verify(&a, &why), -EBADMSG);
			assert_string_equal(why.text,
					    "end of the archive at 0x479b: 101 bytes of its last block are missing");
			close_archive(&a);
		}
	}
}

/* Re-encoding notices a decoded value that is not the stored one. */
static void test_verify_differs(void **state)
{
	struct build_file files[SMALL];
	struct archive a;
	struct err why;

	(void)state;
	small_files(files);
	open_files(&a, files, SMALL, false);
	a.entries.v[5].at += BUILD_BLOCK;
	assert_int_equal(verify(&a, &why), -EILSEQ);
	assert_string_equal(why.text, "table at 0x14: 0x04 is stored, encoded again it is 0x05");
	close_archive(&a);
}

/* Whatever the bytes, the hooks agree and stay inside the archive. */
static void look_at_all(struct archive *a)
{
	struct err why = { 0 };
	int rc = open_list(a, &why), bid = build_probe(&fmt_databin, a->src, "DATA.BIN", NULL, 0, NULL);
	uint8_t room[64];

	assert_int_equal(bid, rc ? 0 : 90);
	assert_true(!rc || (rc == -EBADMSG && why.code == EBADMSG && *why.text));
	for (uint32_t i = 0; !rc && i < a->entries.n; i++) {
		const struct entry *v = &a->entries.v[i];
		struct source *src;
		size_t n = v->size < sizeof room ? (size_t)v->size : sizeof room;

		assert_true(v->at <= a->src->size && v->size <= a->src->size - v->at);
		src = entry_source(a->src, &fmt_databin, v);
		assert_int_equal(src_pread(src, room, n, v->size - n), 0);
		src_put(src);
	}
	if (!rc) {
		free(info(a));
		rc = verify(a, &why);
		assert_true(!rc || a->src->size % BUILD_BLOCK);
	}
	close_list(a);
}

static void test_truncation(void **state)
{
	struct archive a;

	(void)state;
	for (unsigned coded = 0; coded < 2; coded++) {
		size_t n;

		start_damage(&a, coded);
		n = a.bytes.len;
		for (a.bytes.len = 0; a.bytes.len < n; a.bytes.len++)
			look_at_all(&a);
		close_archive(&a);
	}
}

static void test_single_bytes(void **state)
{
	static const uint8_t changes[] = { 0x01, 0x80, 0xff, 0x10 };
	struct archive a;

	(void)state;
	for (unsigned coded = 0; coded < 2; coded++) {
		start_damage(&a, coded);
		for (size_t i = 0; i < 2 * BUILD_BLOCK; i++) {
			for (unsigned k = 0; k < ARRAY_LEN(changes); k++) {
				a.bytes.p[i] ^= changes[k];
				look_at_all(&a);
				a.bytes.p[i] ^= changes[k];
			}
		}
		close_archive(&a);
	}
}

/* ---- detection beyond the archive itself ---- */

static void test_places(void **state)
{
	static const struct format disc = { .name = "disc" };
	struct build_file files[4] = { { words, 20, false, false, 0 }, { 0 }, { 0 }, { words, 20, false, false, 0 } };
	struct archive a;
	struct source *slice;
	struct err why;

	(void)state;
	/* Four words could be anything, unless they are encrypted or the name fits. */
	open_files(&a, files, 4, false);
	assert_int_equal(build_probe(&fmt_databin, a.src, "DATA.BIN", NULL, 0, NULL), 90);
	assert_int_equal(build_probe(&fmt_databin, a.src, "data.bin", &disc, 0, NULL), 90);
	assert_int_equal(build_probe(&fmt_databin, a.src, "numbers", NULL, 0, NULL), 0);
	close_archive(&a);
	open_files(&a, files, 4, true);
	assert_int_equal(build_probe(&fmt_databin, a.src, "numbers", NULL, 0, NULL), 90);
	/* Containers without names hold no archive. */
	assert_int_equal(build_probe(&fmt_databin, a.src, "", &fmt_databin, 7, NULL), 0);
	assert_int_equal(build_probe(&fmt_databin, a.src, "", &fmt_pac, 7, NULL), 0);
	close_archive(&a);

	/* Part of a larger file: messages name both places. */
	start_damage(&a, false);
	build_set_word(&a.bytes, false, 5, 1);
	build_noise(&a.bytes, 3000, 1);
	memmove(a.bytes.p + 3000, a.bytes.p, a.bytes.len - 3000);
	a.src = src_memory(a.bytes.p, a.bytes.len);
	slice = src_slice(a.src, 3000, a.bytes.len - 3000);
	assert_int_equal(build_probe(&fmt_databin, slice, "DATA.BIN", &disc, 0, &why), 0);
	assert_string_equal(why.text,
			    "start block 5 at 0x14 (archive 0xbcc): 1, expected 2 to 9; the archive has 9 blocks");
	src_put(slice);
	close_archive(&a);
}

/* The reason of a file that is no archive at all stays with the formats it could be. */
static void test_why(void **state)
{
	struct archive a = { 0 };
	struct err why = { 0 };

	(void)state;
	build_noise(&a.bytes, 9 * BUILD_BLOCK, 1);
	a.src = src_memory(a.bytes.p, a.bytes.len);
	assert_int_equal(build_probe(&fmt_databin, a.src, "f_hair000.pac", NULL, 0, &why), 0);
	assert_int_equal(why.code, 0);
	for (uint32_t i = 0; i < 16; i++)              /* sixteen words that fit, and then one that does not */
		build_set_word(&a.bytes, true, i, 1 + i / 4);
	assert_int_equal(build_probe(&fmt_databin, a.src, "f_hair000.pac", NULL, 0, &why), 0);
	assert_int_equal(why.code, EBADMSG);
	assert_non_null(strstr(why.text, "decrypted start block 16 at 0x40: "));
	close_archive(&a);
}

/* ---- size ---- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_million(void **state)
{
	struct build_file *files = calloc(LIMIT_ENTRIES + 1, sizeof *files);
	struct archive a;
	struct err why;
	double took;

	(void)state;
	assert_non_null(files);
	files[0] = files[77777] = (struct build_file){ words, 30, true, false, 0 };
	files[LIMIT_ENTRIES - 1] = (struct build_file){ words, 30, false, false, 0 };
	open_files(&a, files, LIMIT_ENTRIES, true);
	close_list(&a);
	took = seconds();
	assert_int_equal(open_list(&a, &why), 0);
	took = seconds() - took;
	assert_true(took < 1);
	assert_int_equal(a.entries.n, LIMIT_ENTRIES);
	assert_int_equal(a.entries.v[77777].size, 30);
	assert_int_equal(verify(&a, &why), 0);
	assert_true(a.o->arena.used < (32 << 20));
	close_archive(&a);

	/* One more is over the limit. */
	files[LIMIT_ENTRIES] = (struct build_file){ words, 30, false, false, 0 };
	a = (struct archive){ 0 };
	build_databin(&a.bytes, files, LIMIT_ENTRIES + 1, true);
	assert_int_equal(open_list(&a, &why), -EFBIG);
	assert_string_equal(why.text, "start blocks at 0x400004: more than 1048576 files");
	assert_int_equal(build_probe(&fmt_databin, a.src, "DATA.BIN", NULL, 0, NULL), 0);
	close_archive(&a);
	free(files);
}

/* Element 0 of a small file cannot ask for more memory than the file has. */
static void test_huge_first(void **state)
{
	struct archive a;
	struct err why;

	(void)state;
	start_damage(&a, true);
	build_set_word(&a.bytes, true, 0, 0xffffffff);
	assert_int_equal(open_list(&a, &why), -EBADMSG);
	close_archive(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts), cmocka_unit_test(test_plain_by_magic), cmocka_unit_test(test_info),
		cmocka_unit_test(test_bad_pairs), cmocka_unit_test(test_full_table), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_end), cmocka_unit_test(test_cut_odd), cmocka_unit_test(test_verify_differs),
		cmocka_unit_test(test_truncation), cmocka_unit_test(test_single_bytes), cmocka_unit_test(test_places),
		cmocka_unit_test(test_why), cmocka_unit_test(test_million), cmocka_unit_test(test_huge_first),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
