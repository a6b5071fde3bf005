/* Raw sectors: their codes against their definition and the vectors of the specification, reading, writing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "build_media.h"
#include "bytes.h"
#include "disc.h"

#define SECTORS 40u

static uint32_t seed = 1;

static uint8_t noise(void)
{
	seed = seed * 1664525 + 1013904223;
	return (uint8_t)(seed >> 24);
}

/* ---- codes ---- */

struct vector {
	const char *head, *edc, *p, *p_end, *q, *q_end;
	uint32_t crc;
};

static void check_vector(uint8_t *s, unsigned edc, const struct vector *v)
{
	assert_memory_equal(s + 12, v->head, 4);
	assert_false(sector_is_intact(s));
	sector_seal(s);
	assert_true(sector_is_intact(s));
	assert_true(raw_codes_hold(s));
	assert_memory_equal(s + edc, v->edc, 4);
	assert_memory_equal(s + 0x81c, v->p, 8);
	assert_memory_equal(s + 0x8c4, v->p_end, 4);
	assert_memory_equal(s + 0x8c8, v->q, 8);
	assert_memory_equal(s + 0x92c, v->q_end, 4);
	assert_int_equal(crc32(0, s, RAW_SECTOR), v->crc);
}

static void test_vectors(void **state)
{
	static const struct vector zeros1 = {
		"\x00\x02\x00\x01", "\xc5\x13\x68\x2b", "\x00\xf7\x00\xf5\x00\x00\x00\x00", "\0\0\0\0",
		"\x00\x41\x00\x00\x00\x00\x00\x00", "\x00\xc1\x00\x12", 0xd12ad343,
	}, counted = {
		"\x00\x02\x16\x01", "\x5e\x93\x51\x92", "\x42\x13\x28\x94\x21\x72\xd5\x86", "\x4d\x1c\x95\xc4",
		"\x46\xe9\x44\x86\xf1\x2a\xe2\x0b", "\x89\x7c\x8e\x23", 0x2f696cc4,
	}, zeros2 = {
		"\x00\x02\x00\x02", "\x0b\x88\x81\x94", "\x00\x00\x00\x00\x00\x00\xfb\x00", "\x16\x0d\x1f\x35",
		"\0\0\0\0\0\0\0\0", "\0\0\0\0", 0x836fd3f4,
	};
	uint8_t s[RAW_SECTOR] = { 0 };

	(void)state;
	memcpy(s, sector_sync, 12);
	memcpy(s + 12, zeros1.head, 4);
	check_vector(s, 0x810, &zeros1);
	memcpy(s + 12, counted.head, 4);
	for (unsigned i = 0; i < 2048; i++)
		s[16 + i] = (uint8_t)i;
	check_vector(s, 0x810, &counted);
	memset(s + 16, 0, sizeof s - 16);
	memcpy(s + 12, zeros2.head, 4);
	s[18] = s[22] = 8;
	check_vector(s, 0x818, &zeros2);
}

static void test_edc(void **state)
{
	uint8_t p[300];

	(void)state;
	for (unsigned i = 0; i < sizeof p; i++)
		p[i] = noise();
	for (unsigned n = 0; n < sizeof p; n++) {
		assert_int_equal(edc_add(0, p, n), raw_edc(p, n));
		assert_int_equal(edc_add(edc_add(0, p, n), p + n, sizeof p - n), raw_edc(p, sizeof p));
	}
}

static void test_codes(void **state)
{
	uint8_t s[RAW_SECTOR];

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		for (unsigned i = 0; i < sizeof s; i++)
			s[i] = noise();
		s[15] = 1 + round % 2;
		s[18] &= 0xdf;
		sector_seal(s);
		assert_true(raw_codes_hold(s));
	}
}

/* Form 2 has no ECC, and may have no EDC. */
static void test_form_2(void **state)
{
	uint8_t s[RAW_SECTOR] = { 0 };

	(void)state;
	s[15] = 2;
	s[18] = 0x20;
	s[100] = 7;
	assert_true(sector_is_intact(s));
	put_le32(s + 0x92c, raw_edc(s + 16, 0x91c));
	assert_true(sector_is_intact(s));
	s[101] = 1;
	assert_false(sector_is_intact(s));
}

/* ---- an image ---- */

struct image {
	struct buf raw;
	uint8_t user[SECTORS * SECTOR];
	struct plan plan;
	struct source *medium;
};

/* Both modes in turn, from LBA 1000 on. */
static void build(struct image *m)
{
	memset(m, 0, sizeof *m);
	for (unsigned i = 0; i < sizeof m->user; i++)
		m->user[i] = noise();
	for (unsigned k = 0; k < SECTORS; k++)
		build_raw(&m->raw, 1000 + k, m->user + k * SECTOR, 1 + k % 3 / 2);
}

static struct source *over(struct image *m)
{
	struct source *file = src_memory(m->raw.p, m->raw.len), *overlay;

	assert_non_null(file);
	plan_init(&m->plan, file);
	overlay = src_overlay(&m->plan);
	assert_non_null(overlay);
	src_put(file);
	return overlay;
}

static void open_image(struct image *m, const char *kind)
{
	struct source *file = over(m);
	struct disc_kind k;

	assert_int_equal(disc_medium(file, &k, &m->medium, NULL), 0);
	assert_string_equal(k.name, kind);
	assert_int_equal(k.sectors, m->medium->size / SECTOR);
	src_put(file);
}

static void end(struct image *m)
{
	src_put(m->medium);
	plan_free(&m->plan);
	buf_free(&m->raw);
}

static void same(struct source *src, const uint8_t *want)
{
	uint8_t *got = malloc(src->size);

	for (unsigned round = 0; round < 500; round++) {
		size_t at = (size_t)rand() % src->size, n = (size_t)rand() % (src->size - at + 1);

		n = round & 1 ? n : n % 5000;
		assert_int_equal(src_pread(src, got, n, at), 0);
		assert_memory_equal(got, want + at, n);
	}
	free(got);
}

static void test_reading(void **state)
{
	struct image m;
	struct err e;
	uint8_t byte;

	(void)state;
	build(&m);
	buf_add(&m.raw, m.user, 2000);        /* part of a sector */
	open_image(&m, "MODE1/2352");
	assert_int_equal(m.medium->size, sizeof m.user);
	same(m.medium, m.user);
	assert_int_equal(src_where(m.medium, 5), 21);
	assert_int_equal(src_where(m.medium, 2 * SECTOR + 7), 2 * 2352 + 24 + 7);
	assert_int_equal(src_read(m.medium, &byte, 1, sizeof m.user, "byte", &e), -EBADMSG);
	end(&m);
}

/* Minute, second, frame of the first sector: 1150 frames are 15 seconds and 25. */
static void test_first(void **state)
{
	static const struct { uint8_t msf[3]; int lba; } cases[] = {
		{ { 0x00, 0x15, 0x25 }, 1000 }, { { 0x00, 0x02, 0x00 }, 0 }, { { 0x00, 0x00, 0x00 }, -150 },
		{ { 0x99, 0x59, 0x74 }, 449849 }, { { 0x00, 0x1a, 0x00 }, 0 }, { { 0x00, 0x60, 0x00 }, 0 },
		{ { 0x00, 0x00, 0x75 }, 0 }, { { 0xa0, 0x00, 0x00 }, 0 },
	};
	struct source *file, *medium;
	struct disc_kind kind;
	struct image m;

	(void)state;
	build(&m);
	assert_memory_equal(m.raw.p + 12, cases[0].msf, 3);
	file = src_memory(m.raw.p, m.raw.len);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		memcpy(m.raw.p + 12, cases[i].msf, 3);
		assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
		assert_int_equal(kind.first, cases[i].lba);
		src_put(medium);
	}
	src_put(file);
	buf_free(&m.raw);
}

struct counting { struct source s; unsigned reads; };

static int counting_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	((struct counting *)s)->reads++;
	return src_pread(s->parent, buf, n, at);
}

static const void *counting_map(struct source *s, size_t n, uint64_t at)
{
	return (const uint8_t *)(uintptr_t)0x10000 + at + 0 * n + 0 * s->size;
}

static const struct source_ops counting_ops = { .pread = counting_pread, .map = counting_map };

/* 40 sectors: 34 of 2352 bytes go where 40 of 2048 go, then 5, then one. */
static void test_few_reads(void **state)
{
	struct counting file = { .s = { .ops = &counting_ops, .refs = 5 } };
	struct source *medium;
	struct image m;
	uint8_t *got = malloc(sizeof m.user);

	(void)state;
	build(&m);
	file.s.parent = src_memory(m.raw.p, m.raw.len);
	file.s.size = m.raw.len;
	medium = src_sectors(&file.s, RAW_SECTOR);
	assert_int_equal(src_pread(medium, got, sizeof m.user, 0), 0);
	assert_memory_equal(got, m.user, sizeof m.user);
	assert_int_equal(file.reads, 3);
	assert_ptr_equal(src_map(medium, 100, 3 * SECTOR + 50), (void *)(uintptr_t)(0x10000 + 3 * 2352 + 16 + 50));
	assert_ptr_equal(src_map(medium, 1, 2 * SECTOR), (void *)(uintptr_t)(0x10000 + 2 * 2352 + 24));
	assert_null(src_map(medium, 2, SECTOR - 1));
	m.raw.p[3 * 2352 + 15] = 0;
	assert_null(src_map(medium, 100, 3 * SECTOR + 50));
	src_put(medium);
	src_put(file.s.parent);
	buf_free(&m.raw);
	free(got);
}

/* Sectors without user data cost who reads them. */
static void test_no_data(void **state)
{
	uint8_t got[SECTOR * 4];
	struct image m;

	(void)state;
	build(&m);
	m.raw.p[10 * RAW_SECTOR + 5] = 0;             /* no sync */
	m.raw.p[14 * RAW_SECTOR + 15] = 0;            /* mode 0 */
	m.raw.p[17 * RAW_SECTOR + 18] |= 0x20;        /* form 2: 17 is of mode 2 */
	m.raw.p[18 * RAW_SECTOR + 18] |= 0x20;        /* of mode 1, where that is a user byte */
	m.user[18 * SECTOR + 2] |= 0x20;
	open_image(&m, "MODE1/2352");
	for (unsigned k = 0; k < SECTORS; k++) {
		int want = k == 10 || k == 14 || k == 17 ? -EIO : 0;

		assert_int_equal(src_pread(m.medium, got, SECTOR, k * SECTOR), want);
		assert_int_equal(src_pread(m.medium, got, 1, k * SECTOR + 2047), want);
		assert_int_equal(src_pwrite(m.medium, "x", 1, k * SECTOR + 9), want);
		m.user[k * SECTOR + 9] = 'x';
	}
	assert_int_equal(src_pread(m.medium, got, sizeof got, 11 * SECTOR), -EIO);
	assert_int_equal(src_pread(m.medium, got, 3 * SECTOR, 11 * SECTOR), 0);
	assert_memory_equal(got, m.user + 11 * SECTOR, 3 * SECTOR);
	end(&m);
}

static void test_count(void **state)
{
	struct sectors_wrong wrong;
	struct source *file;
	struct image m;
	uint64_t n;

	(void)state;
	build(&m);
	m.raw.p[33 * RAW_SECTOR + 5] = 0;
	m.raw.p[21 * RAW_SECTOR + 500] ^= 1;
	m.raw.p[30 * RAW_SECTOR + 0x811] ^= 1;
	memset(m.raw.p + 25 * RAW_SECTOR + 0x810, 0, RAW_SECTOR - 0x810);      /* made without codes */
	file = src_memory(m.raw.p, m.raw.len);
	assert_int_equal(sectors_count_data(file, RAW_SECTOR, 0, 1000, &n, NULL), 0);
	assert_int_equal(n, 33);
	assert_int_equal(sectors_count_data(file, RAW_SECTOR, 30, 2, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(sectors_count_data(file, RAW_SECTOR, 34, UINT64_MAX, &n, NULL), 0);
	assert_int_equal(n, 6);
	assert_int_equal(sectors_count_data(file, RAW_SECTOR, 41, 1, &n, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(sectors_verify(file, 0, SECTORS, &wrong, NULL), 0);
	assert_int_equal(wrong.n, 2);
	assert_int_equal(wrong.first, 21);
	assert_int_equal(sectors_verify(file, 22, 8, &wrong, NULL), 0);
	assert_int_equal(wrong.n, 0);
	src_put(file);
	buf_free(&m.raw);
}

/* ---- writing ---- */

static void changed(const struct image *m, uint8_t *now)
{
	assert_int_equal(plan_read(&m->plan, now, m->raw.len, 0), 0);
}

static void test_writing(void **state)
{
	uint8_t *now, *text = malloc(3 * SECTOR);
	struct image m;

	(void)state;
	build(&m);
	now = malloc(m.raw.len);
	open_image(&m, "MODE1/2352");
	for (unsigned i = 0; i < 3 * SECTOR; i++)
		text[i] = noise();
	assert_int_equal(src_pwrite(m.medium, text, 3 * SECTOR, 4 * SECTOR + 1000), 0);
	memcpy(m.user + 4 * SECTOR + 1000, text, 3 * SECTOR);
	same(m.medium, m.user);
	changed(&m, now);
	for (unsigned k = 0; k < SECTORS; k++) {
		const uint8_t *s = now + k * RAW_SECTOR, *old = m.raw.p + k * RAW_SECTOR;

		assert_true(raw_codes_hold(s));
		assert_memory_equal(s, old, 16);
		if (s[15] == 2)
			assert_memory_equal(s + 16, old + 16, 8);
		assert_memory_equal(s + (s[15] == 1 ? 16 : 24), m.user + k * SECTOR, SECTOR);
		assert_int_equal(memcmp(s, old, RAW_SECTOR) != 0, k >= 4 && k <= 7);
	}
	end(&m);
	free(now);
	free(text);
}

/* One byte of user data is one of EDC's 2064 bytes, in one P and one Q of its plane: with the parities of both, and
 * what these and the EDC change in turn. All else stays, and the same byte once more writes nothing. */
static void test_few_bytes(void **state)
{
	struct image m;
	uint8_t byte;

	(void)state;
	build(&m);
	open_image(&m, "MODE1/2352");
	byte = m.user[100];
	assert_int_equal(src_pwrite(m.medium, &byte, 1, 100), 0);
	assert_int_equal(m.plan.n, 0);
	byte ^= 1;
	assert_int_equal(src_pwrite(m.medium, &byte, 1, 100), 0);
	for (size_t i = 0; i < m.plan.n; i++) {
		uint64_t at = m.plan.v[i].at;

		assert_true(at == 116 || (at >= 0x810 && at < 0x814) || (at >= 0x81c && at < 0x930));
	}
	assert_in_range(m.plan.bytes, 1 + 4 + 2 * 4, 1 + 4 + 2 * 5 + 2 * 17);
	assert_int_equal(m.plan.v[0].at, 116);
	assert_int_equal(m.plan.v[0].len, 1);
	byte ^= 1;
	assert_int_equal(src_pwrite(m.medium, &byte, 1, 100), 0);
	assert_int_equal(plan_settle(&m.plan, NULL), 0);
	assert_int_equal(m.plan.n, 0);
	end(&m);
}

/* Codes that were wrong stay, however often the sector is written. */
static void test_wrong_edc(void **state)
{
	uint8_t *now;
	struct image m;

	(void)state;
	build(&m);
	now = malloc(m.raw.len);
	memset(m.raw.p + RAW_SECTOR + 0x810, 0, RAW_SECTOR - 0x810); /* sector 1 has no codes */
	m.raw.p[2 * RAW_SECTOR + 0x818] ^= 0x80;
	open_image(&m, "MODE1/2352");
	for (unsigned round = 0; round < 2; round++) {
		assert_int_equal(src_pwrite(m.medium, "new", 4, SECTOR + 9 * round), 0);
		assert_int_equal(src_pwrite(m.medium, "new", 4, 2 * SECTOR + 9 * round), 0);
	}
	changed(&m, now);
	assert_memory_equal(now + RAW_SECTOR + 16, "new", 4);
	assert_memory_equal(now + RAW_SECTOR + 0x810, m.raw.p + RAW_SECTOR + 0x810, RAW_SECTOR - 0x810);
	assert_memory_equal(now + 2 * RAW_SECTOR + 24 + 9, "new", 4);
	assert_memory_equal(now + 2 * RAW_SECTOR + 0x818, m.raw.p + 2 * RAW_SECTOR + 0x818, RAW_SECTOR - 0x818);
	end(&m);
	free(now);
}

/* The same through disc_put(), which is given a plan over the medium. */
static void test_put(void **state)
{
	struct source *file, *medium, *moved;
	struct plan now;
	struct image m;
	struct disc_kind kind;

	(void)state;
	build(&m);
	file = over(&m);
	assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
	plan_init(&now, medium);
	assert_int_equal(plan_write(&now, 3000, "abc", 3), 0);
	assert_int_equal(plan_write(&now, 30000, "de", 2), 0);
	assert_int_equal(disc_put(file, &now, false, &moved, NULL), 0);
	assert_null(moved);
	memcpy(m.user + 3000, "abc", 3);
	memcpy(m.user + 30000, "de", 2);
	same(medium, m.user);
	plan_free(&now);
	src_put(medium);
	src_put(file);
	plan_free(&m.plan);
	buf_free(&m.raw);
}

/* The same where the plan's base is not the medium: every byte may be another. */
static void test_put_elsewhere(void **state)
{
	struct source *file, *base, *moved;
	struct plan now;
	struct image m;
	uint8_t *now_raw;

	(void)state;
	build(&m);
	now_raw = malloc(m.raw.len);
	file = over(&m);
	memcpy(m.user + 7 * SECTOR + 1, "base", 4);
	base = src_copy(m.user, sizeof m.user);
	plan_init(&now, base);
	now.moved = true;
	assert_int_equal(plan_write(&now, 36 * SECTOR, "plan", 4), 0);
	memcpy(m.user + 36 * SECTOR, "plan", 4);
	assert_int_equal(disc_put(file, &now, false, &moved, NULL), 0);
	assert_null(moved);
	changed(&m, now_raw);
	for (unsigned k = 0; k < SECTORS; k++) {
		const uint8_t *s = now_raw + k * RAW_SECTOR;

		assert_true(raw_codes_hold(s));
		assert_memory_equal(s + (s[15] == 1 ? 16 : 24), m.user + k * SECTOR, SECTOR);
		assert_int_equal(memcmp(s, m.raw.p + k * RAW_SECTOR, RAW_SECTOR) != 0, k == 7 || k == 36);
	}
	plan_free(&now);
	src_put(base);
	src_put(file);
	plan_free(&m.plan);
	buf_free(&m.raw);
	free(now_raw);
}

/* ---- other sectors ---- */

/* Subchannel behind each sector, and sectors without sync and header; neither is written. */
static void test_strange(void **state)
{
	struct buf sub = { 0 }, bare = { 0 };
	struct source *file, *medium, *moved;
	struct disc_kind kind;
	struct plan now;
	struct image m;
	struct err e;

	(void)state;
	build(&m);
	for (unsigned k = 0; k < SECTORS; k++) {
		buf_add(&sub, m.raw.p + k * RAW_SECTOR, RAW_SECTOR);
		buf_add(&sub, m.user, 96);
		memcpy(m.user + k * SECTOR, m.raw.p + k * RAW_SECTOR + (k % 3 == 2 ? 24 : 16), SECTOR);
	}
	file = src_memory(sub.p, sub.len);
	assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
	assert_string_equal(kind.name, "MODE1/2448");
	assert_int_equal(kind.sectors, SECTORS);
	same(medium, m.user);
	assert_int_equal(src_pwrite(medium, "x", 1, 0), -EROFS);
	plan_init(&now, medium);
	assert_int_equal(disc_put(file, &now, true, &moved, &e), -EROFS);
	assert_string_equal(e.text, "MODE1/2448 is read-only");
	plan_free(&now);
	src_put(medium);
	src_put(file);

	memcpy(m.user + 16 * SECTOR, "\1CD001\1", 7);
	for (unsigned k = 0; k < SECTORS; k++) {
		buf_add(&bare, k == 20 ? "\0\0\x28\0\0\0\x28" : "\0\0\x08\0\0\0\x08", 8);
		buf_add(&bare, m.user + k * SECTOR, SECTOR);
		buf_add(&bare, m.user, 280);
	}
	file = src_memory(bare.p, bare.len);
	assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
	assert_string_equal(kind.name, "MODE2/2336");
	assert_string_equal(kind.fixed, "MODE2/2336 is read-only");
	assert_int_equal(src_pread(medium, m.raw.p, 20 * SECTOR, 0), 0);
	assert_memory_equal(m.raw.p, m.user, 20 * SECTOR);
	assert_int_equal(src_pread(medium, m.raw.p, 1, 20 * SECTOR), -EIO);
	assert_int_equal(src_pread(medium, m.raw.p, 19 * SECTOR, 21 * SECTOR), 0);
	assert_memory_equal(m.raw.p, m.user + 21 * SECTOR, 19 * SECTOR);
	src_put(medium);
	src_put(file);
	buf_free(&sub);
	buf_free(&bare);
	buf_free(&m.raw);
}

/* 2048-byte sectors; the last is 48 bytes short, which can only be zeros. */
static void test_plain(void **state)
{
	static uint8_t p[20 * SECTOR], got[SECTOR];
	struct source *file = src_memory(p, sizeof p), *medium, *overlay;
	struct disc_kind kind;
	struct plan plan;
	struct err e;

	(void)state;
	assert_int_equal(disc_medium(file, &kind, &medium, &e), -EBADMSG);
	assert_string_equal(e.text, "volume descriptor at 0x8001: no CD001 there");
	for (unsigned i = 0; i < sizeof p; i++)
		p[i] = noise() | 1;
	memcpy(p + 16 * SECTOR, "\1CD001\1", 7);
	assert_int_equal(disc_medium(file, &kind, &medium, &e), 0);
	assert_string_equal(kind.name, "2048");
	assert_ptr_equal(medium, file);
	src_put(medium);
	src_put(file);

	file = src_memory(p, sizeof p - 48);
	plan_init(&plan, file);
	overlay = src_overlay(&plan);
	assert_int_equal(disc_medium(overlay, &kind, &medium, &e), 0);
	assert_int_equal(kind.sectors, 20);
	assert_int_equal(src_pread(medium, got, SECTOR, 19 * SECTOR), 0);
	assert_memory_equal(got, p + 19 * SECTOR, SECTOR - 48);
	for (unsigned i = SECTOR - 48; i < SECTOR; i++)
		assert_int_equal(got[i], 0);
	assert_int_equal(src_pread(medium, got, 10, 20 * SECTOR - 10), 0);
	memset(got, 0, SECTOR);
	memset(got, 'x', SECTOR - 48);
	assert_int_equal(src_pwrite(medium, got, SECTOR, 19 * SECTOR), 0);
	assert_int_equal(plan.bytes, SECTOR - 48);
	got[SECTOR - 48] = 1;
	assert_int_equal(src_pwrite(medium, got, SECTOR, 19 * SECTOR), -ENOSPC);
	assert_int_equal(src_pwrite(medium, "\0", 1, 20 * SECTOR - 1), 0);
	src_put(medium);
	src_put(overlay);
	plan_free(&plan);
	src_put(file);
}

/* What is too short for anything. */
static void test_short(void **state)
{
	uint8_t p[64] = { 0 };
	struct disc_kind kind;
	struct source *medium;

	(void)state;
	memcpy(p, sector_sync, 12);
	p[15] = 1;
	for (size_t n = 0; n <= sizeof p; n++) {
		struct source *file = src_memory(p, n);
		int rc = disc_medium(file, &kind, &medium, NULL);

		assert_int_equal(rc, n < 24 ? -EBADMSG : 0);
		assert_int_equal(disc_begins(p, n, n), n >= 24);
		if (!rc)
			assert_int_equal(kind.sectors, 0);
		src_put(medium);
		src_put(file);
	}
	assert_false(disc_begins((const uint8_t *)"abcd", 4, 17 * 2048));
	assert_true(disc_begins((const uint8_t *)"abcd", 4, 17 * 2048 + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),   cmocka_unit_test(test_edc),       cmocka_unit_test(test_codes),
		cmocka_unit_test(test_form_2),    cmocka_unit_test(test_reading),   cmocka_unit_test(test_first),
		cmocka_unit_test(test_few_reads), cmocka_unit_test(test_no_data),   cmocka_unit_test(test_count),
		cmocka_unit_test(test_writing),   cmocka_unit_test(test_few_bytes), cmocka_unit_test(test_wrong_edc),
		cmocka_unit_test(test_put),       cmocka_unit_test(test_strange),   cmocka_unit_test(test_plain),
		cmocka_unit_test(test_short),     cmocka_unit_test(test_put_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
