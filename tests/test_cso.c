/* Images of packed blocks: CSO of all versions, ZSO, DAX; damage. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_media.h"
#include "bytes.h"
#include "disc.h"
#include "media.h"
#include "zstream.h"

#define SIZE (150 * SECTOR)

static uint8_t user[SIZE];

static const struct packing_form forms[] = {
	{ "CISO", 0, 0, 2048, 0, 0 },     { "CISO", 1, 0, 2048, 7, 0 },    { "CISO", 1, 11, 2048, 2, 0 },
	{ "CISO", 1, 0, 4096, 0, 30 },    { "CISO", 1, 3, 16384, 3, 0 },   { "CISO", 1, 2, 65536, 0, 0 },
	{ "CISO", 2, 0, 2048, 5, 0 },     { "CISO", 2, 4, 8192, 0, 9 },    { "CISO", 1, 0, 1 << 20, 0, 0 },
	{ "ZISO", 1, 0, 2048, 4, 0 },     { "ZISO", 1, 6, 4096, 0, 0 },    { "ZISO", 0, 0, 32768, 2, 0 },
};

static const char *name_of(const struct packing_form *f)
{
	return f->magic[0] == 'Z' ? "zso" : f->version == 2 ? "cso2" : "cso";
}

static int fill(void **state)
{
	(void)state;
	build_text(user, sizeof user, 3);
	for (unsigned i = 0; i < 3 * SECTOR; i++)      /* what cannot be packed */
		user[20 * SECTOR + i] = (uint8_t)rand();
	return 0;
}

/* ---- reading ---- */

static void test_reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct buf b = { 0 };
		struct disc_kind kind;
		struct source *medium;

		build_cso(&b, user, SIZE, &forms[i]);
		medium = media_open(b.p, b.len, &kind);
		assert_string_equal(kind.name, name_of(&forms[i]));
		assert_int_equal(kind.block, forms[i].block);
		assert_int_equal(kind.sectors, 150);
		assert_int_equal(!kind.fixed, forms[i].magic[0] == 'C' && forms[i].version < 2);
		media_same(medium, user, SIZE, 300);
		assert_int_equal(src_pwrite(medium, "x", 1, 0), -EROFS);
		src_put(medium);
		buf_free(&b);
	}
}

/* Sizes around a block of 8192, the last one packed whole or as far as it goes. */
static void test_dax(void **state)
{
	static const unsigned sectors[] = { 1, 3, 4, 5, 150 };

	(void)state;
	for (unsigned i = 0; i < 3 * ARRAY_LEN(sectors); i++) {
		size_t n = sectors[i / 3] * (size_t)SECTOR;
		struct disc_kind kind;
		struct source *medium;
		struct buf b = { 0 };

		build_dax(&b, user, n, i % 3, i & 1);
		medium = media_open(b.p, b.len, &kind);
		assert_string_equal(kind.name, "dax");
		assert_string_equal(kind.fixed, "dax is read-only");
		assert_int_equal(kind.block, 8192);
		media_same(medium, user, n, 100);
		src_put(medium);
		buf_free(&b);
	}
}

/* Bytes that are no multiple of a sector: zeros follow. */
static void test_cut_sector(void **state)
{
	static uint8_t want[4 * SECTOR];
	struct disc_kind kind;
	struct source *medium;
	struct buf b = { 0 };

	(void)state;
	memcpy(want, user, sizeof want - 100);
	build_cso(&b, user, sizeof want - 100, &forms[3]);
	medium = media_open(b.p, b.len, &kind);
	assert_int_equal(kind.sectors, 4);
	media_same(medium, want, sizeof want, 50);
	src_put(medium);
	buf_free(&b);
}

static void *read_all(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)&seed;
	struct source *src = arg;
	uint8_t got[5000];

	for (unsigned round = 0; round < 400; round++) {
		size_t at = (size_t)rand_r(&seed) % (SIZE - sizeof got), n = (size_t)rand_r(&seed) % sizeof got;

		if (src_pread(src, got, n, at) || memcmp(got, user + at, n) != 0)
			return arg;
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i += 3) {
		struct buf b = { 0 };
		struct disc_kind kind;
		struct source *medium;
		pthread_t t[12];
		void *bad;

		build_cso(&b, user, SIZE, &forms[i]);
		medium = media_open(b.p, b.len, &kind);
		for (unsigned k = 0; k < ARRAY_LEN(t); k++)
			assert_int_equal(pthread_create(&t[k], NULL, read_all, medium), 0);
		for (unsigned k = 0; k < ARRAY_LEN(t); k++) {
			pthread_join(t[k], &bad);
			assert_null(bad);
		}
		src_put(medium);
		buf_free(&b);
	}
}

/* How often the file is read. */
struct counting { struct source s; unsigned reads; size_t most; };

static int counting_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	struct counting *c = (struct counting *)s;

	c->reads++;
	c->most = n > c->most ? n : c->most;
	return src_pread(s->parent, buf, n, at);
}

static const struct source_ops counting_ops = { .pread = counting_pread };

/* 64 blocks by the table and one read of the packed bytes; a part of a block by one each, then by none; whole blocks
 * are not kept. */
static void test_few_reads(void **state)
{
	struct counting file = { .s = { .ops = &counting_ops, .refs = 5 } };
	struct block_index x;
	struct source *medium;
	struct buf b = { 0 };
	uint8_t *got = malloc(64 * SECTOR);

	(void)state;
	build_cso(&b, user, SIZE, &forms[0]);
	file.s.parent = src_memory(b.p, b.len);
	file.s.size = b.len;
	assert_int_equal(cso_open(&file.s, &x, NULL), 0);
	medium = src_unpacked_blocks(&file.s, &x);
	file.reads = 0;
	assert_int_equal(src_pread(medium, got, 64 * SECTOR, 30 * SECTOR), 0);
	assert_int_equal(file.reads, 2);
	assert_int_equal(src_pread(medium, got, 100, 50 * SECTOR), 0);
	assert_int_equal(file.reads, 3);
	assert_int_equal(src_pread(medium, got, 100, 50 * SECTOR + 900), 0);
	assert_int_equal(src_pread(medium, got, SECTOR, 50 * SECTOR), 0);
	assert_int_equal(file.reads, 3);
	assert_int_equal(src_pread(medium, got, SECTOR, 51 * SECTOR), 0);
	assert_int_equal(src_pread(medium, got, SECTOR, 51 * SECTOR), 0);
	assert_int_equal(file.reads, 5);
	assert_true(file.most <= 65536);
	src_put(medium);
	src_put(file.s.parent);
	buf_free(&b);
	free(got);
}

/* ---- damage ---- */

static void refused(struct buf *b, size_t at, uint64_t v, unsigned n, const char *text)
{
	struct source *file = src_memory(b->p, b->len), *medium;
	struct disc_kind kind;
	uint8_t old[8], now[8];
	struct err e = { 0 };

	memcpy(old, b->p + at, 8);
	put_le64(now, v);
	memcpy(b->p + at, now, n);
	assert_int_equal(disc_medium(file, &kind, &medium, &e), -EBADMSG);
	assert_string_equal(e.text, text);
	assert_null(medium);
	memcpy(b->p + at, old, 8);
	src_put(file);
}

static void test_headers(void **state)
{
	struct buf b = { 0 }, z = { 0 }, d = { 0 };

	(void)state;
	build_cso(&b, user, SIZE, &forms[0]);
	build_cso(&z, user, SIZE, &forms[9]);
	build_dax(&d, user, SIZE, 2, false);
	refused(&b, 20, 3, 1, "version at 0x14: 3, expected 0, 1 or 2");
	refused(&z, 20, 2, 1, "version at 0x14: 2, expected 0 or 1");
	refused(&b, 16, 0, 4, "block size at 0x10: 0, expected a power of two from 2048 to 16777216");
	refused(&b, 16, 3000, 4, "block size at 0x10: 3000, expected a power of two from 2048 to 16777216");
	refused(&b, 16, 1024, 4, "block size at 0x10: 1024, expected a power of two from 2048 to 16777216");
	refused(&b, 16, 1 << 25, 4, "block size at 0x10: 33554432, expected a power of two from 2048 to 16777216");
	refused(&b, 21, 32, 1, "shift at 0x15: 32, expected at most 31");
	refused(&b, 8, 0, 8, "unpacked bytes at 0x8: 0, expected 1 to 1099511627776");
	refused(&b, 8, ((uint64_t)1 << 40) + 1, 8, "unpacked bytes at 0x8: 1099511627777, expected 1 to 1099511627776");
	refused(&b, 8, UINT64_MAX, 8, "unpacked bytes at 0x8: 18446744073709551615, expected 1 to 1099511627776");
	b.len = 24 + 4 * 151 - 1;
	refused(&b, 0, le_u64(b.p), 8, "positions of blocks at 0x18: 604 bytes end past the 627 of the entry");
	refused(&d, 4, 0, 4, "unpacked bytes at 0x4: 0");
	refused(&d, 8, 2, 4, "version at 0x8: 2, expected 0 or 1");
	refused(&d, 8, 0x100, 4, "version at 0x8: 256, expected 0 or 1");
	refused(&d, 32 + 6 * 38, 100, 4, "area at 0x104: 1 blocks from 100 on, of 38");
	refused(&d, 32 + 6 * 38 + 4, 0, 4, "area at 0x104: 0 blocks from 0 on, of 38");
	refused(&d, 32 + 6 * 38 + 4, 38, 4, "area at 0x10c: 1 blocks from 2 on, of 38");
	d.len = 32 + 6 * 38 + 8 * 19 - 1;
	refused(&d, 0, le_u64(d.p), 8, "areas at 0x104: 152 bytes end past the 411 of the entry");
	d.len = 32 + 6 * 38 - 1;
	refused(&d, 0, le_u64(d.p), 8, "places of blocks at 0x20: 228 bytes end past the 259 of the entry");
	buf_free(&b);
	buf_free(&z);
	buf_free(&d);
}

/* A terabyte that a few bytes claim costs nothing, and its blocks cannot be read: all zeros is no position. */
static void test_claims(void **state)
{
	struct disc_kind kind;
	struct source *medium;
	struct buf b = { 0 };
	uint8_t got[10];

	(void)state;
	build_cso(&b, user, SIZE, &forms[0]);
	b.len = 24;
	put_le64(b.p + 8, (uint64_t)1 << 40);
	put_le32(b.p + 16, BLOCK_MOST);
	buf_room(&b, 65537 * 4);
	memset(b.p + 24, 0, 65537 * 4);
	b.len += 65537 * 4;
	medium = media_open(b.p, b.len, &kind);
	assert_int_equal(medium->size, (uint64_t)1 << 40);
	assert_int_equal(src_pread(medium, got, 10, 5), -EIO);
	assert_int_equal(src_pread(medium, got, 10, ((uint64_t)1 << 40) - 10), -EIO);
	assert_int_equal(src_where(medium, 5), 0);
	src_put(medium);
	buf_free(&b);
}

/* Reads each block of an image; those in bad[] fail, the others are what they were. */
static void blocks_fail(const struct buf *b, uint32_t block, const unsigned *bad, unsigned nbad)
{
	uint8_t *got = malloc(block);
	struct disc_kind kind;
	struct source *medium = media_open(b->p, b->len, &kind);

	for (unsigned i = 0; i < SIZE / block; i++) {
		bool is_bad = false;

		for (unsigned k = 0; k < nbad; k++)
			is_bad = is_bad || bad[k] == i;
		assert_int_equal(src_pread(medium, got, block, (uint64_t)i * block), is_bad ? -EIO : 0);
		assert_int_equal(src_pread(medium, got + 7, 20, (uint64_t)i * block + 7), is_bad ? -EIO : 0);
		if (!is_bad)
			assert_memory_equal(got, user + (size_t)i * block, block);
	}
	assert_int_equal(src_pread(medium, got, 20, (uint64_t)bad[0] * block - 10), -EIO);
	src_put(medium);
	free(got);
}

static void test_damage(void **state)
{
	static const unsigned two[] = { 24, 25 }, one[] = { 30 }, last[] = { 148, 149 };
	uint8_t saved[2048];
	struct buf b = { 0 };
	uint32_t at;

	(void)state;
	build_cso(&b, user, SIZE, &forms[0]);
	at = cso_entry(&b, 25);
	put_le32(b.p + 24 + 4 * 25, 0x7ffffff0);       /* past the end */
	blocks_fail(&b, 2048, two, 2);
	put_le32(b.p + 24 + 4 * 25, 24);       /* back: what lies there, up to block 26, is no stream */
	blocks_fail(&b, 2048, two, 2);
	put_le32(b.p + 24 + 4 * 25, at);
	memcpy(saved, b.p + cso_entry(&b, 30), sizeof saved);
	memset(b.p + cso_entry(&b, 30), 0xff, 8);
	blocks_fail(&b, 2048, one, 1);
	memcpy(b.p + cso_entry(&b, 30), "\x03\0", 2);  /* a stream of nothing */
	blocks_fail(&b, 2048, one, 1);
	memcpy(b.p + cso_entry(&b, 30), saved, sizeof saved);
	b.p[24 + 4 * 30 + 3] |= 0x80;          /* as it is, in less than a block */
	blocks_fail(&b, 2048, one, 1);
	b.p[24 + 4 * 30 + 3] &= 0x7f;
	b.len = cso_entry(&b, 149) - 1;
	blocks_fail(&b, 2048, last, 2);
	buf_free(&b);
}

/* A stream of n bytes of text in the slot of block 1, which is of 2048. */
static void stream_of(struct buf *b, size_t n)
{
	uint8_t *stream;
	size_t len;

	assert_int_equal(deflate_pack(user, n, SIZE_MAX, &stream, &len, NULL), 0);
	assert_true(len <= 2048);
	memset(b->p + cso_entry(b, 1), 0, 2048);
	memcpy(b->p + cso_entry(b, 1), stream, len);
	b->p[24 + 4 + 3] &= 0x7f;
	free(stream);
}

static void test_lengths(void **state)
{
	const struct packing_form plain = { "CISO", 1, 0, 2048, 1, 0 };
	struct disc_kind kind;
	struct source *medium;
	uint8_t got[2048];
	struct buf b = { 0 };

	(void)state;
	build_cso(&b, user, SIZE, &plain);
	for (size_t n = 2046; n <= 2050; n++) {
		stream_of(&b, n);
		medium = media_open(b.p, b.len, &kind);
		assert_int_equal(src_pread(medium, got, 2048, 2048), n == 2048 ? 0 : -EIO);
		assert_int_equal(src_pread(medium, got, 1, 2048), n == 2048 ? 0 : -EIO);
		src_put(medium);
	}
	buf_free(&b);
}

/* LZ4 by hand: 2000 literals, then a match of `match` bytes `back` bytes before, then literals; in a slot of 2048. */
static int lz4_read(unsigned match, unsigned back, unsigned literals, uint8_t *got)
{
	const struct packing_form plain = { "ZISO", 1, 0, 2048, 1, 0 };
	struct disc_kind kind;
	struct source *medium;
	struct buf b = { 0 };
	uint8_t *to;
	int rc;

	build_cso(&b, user, SIZE, &plain);
	to = b.p + cso_entry(&b, 1);
	memset(to, 0, 2048);
	*to++ = (uint8_t)(0xf0 | (match - 4));
	for (unsigned i = 0; i < 7; i++)
		*to++ = 255;
	*to++ = 200;                           /* 15 + 7 * 255 + 200 are 2000 */
	memcpy(to, user, 2000);
	put_le16(to + 2000, (uint16_t)back);
	to += 2002;
	*to++ = (uint8_t)(literals < 15 ? literals << 4 : 0xf0);
	if (literals >= 15)
		*to++ = (uint8_t)(literals - 15);
	memcpy(to, "literals behind a match, some more", literals);
	b.p[24 + 4 + 3] &= 0x7f;
	medium = media_open(b.p, b.len, &kind);
	rc = src_pread(medium, got, 2048, 2048);
	src_put(medium);
	buf_free(&b);
	return rc;
}

static void test_lz4(void **state)
{
	uint8_t got[2048], want[2048];

	(void)state;
	memcpy(want, user, 2000);
	memcpy(want + 2000, user + 1990, 10);  /* a match that goes on in itself */
	memcpy(want + 2010, user + 1990, 8);
	memcpy(want + 2018, "literals behind a match, some ", 30);
	assert_int_equal(lz4_read(18, 10, 30, got), 0);
	assert_memory_equal(got, want, sizeof got);
	assert_int_equal(lz4_read(18, 10, 29, got), -EIO);
	assert_int_equal(lz4_read(18, 10, 31, got), -EIO);
	assert_int_equal(lz4_read(17, 10, 30, got), -EIO);
	assert_int_equal(lz4_read(18, 0, 30, got), -EIO);
	assert_int_equal(lz4_read(18, 2000, 30, got), 0);
	assert_int_equal(lz4_read(18, 2001, 30, got), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading), cmocka_unit_test(test_dax),       cmocka_unit_test(test_cut_sector),
		cmocka_unit_test(test_threads), cmocka_unit_test(test_few_reads), cmocka_unit_test(test_headers),
		cmocka_unit_test(test_claims),  cmocka_unit_test(test_damage),    cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_lz4),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
