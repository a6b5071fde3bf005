/* ISO 9660: files of another length: what they may become, which bytes that changes, and which it never does. */
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
#include "edited.h"
#include "listed.h"

enum { FIRST, FULL, SHARED, LINK, EMPTY, MULTI, XAR, INTER, AUDIO, DIR, INNER, NODES };

static uint8_t noise[3 * SECTOR];

/* With Joliet: 16 to 18 descriptors, 19 to 22 path tables, 23 root and 24 DIR, 25 and 26 the same of Joliet. FIRST has
 * 27, 28 and two free ones; FULL 31; SHARED 32 and one free one; EMPTY begins where MULTI does, in 34; 35 attributes of
 * XAR, 36 XAR, 37 INTER, 38 AUDIO, 39 INNER, 40 the rest of MULTI. Without Joliet all is 5 sectors further in front. */
static const struct build_iso_node plain[NODES] = {
	[FIRST] = { "FIRST.DAT;1", noise, SECTOR + 10, .free = 2 },
	[FULL] = { "FULL.DAT;1", noise, SECTOR },
	[SHARED] = { "SHARED.DAT;1", noise, 100, .free = 1 },
	[LINK] = { "LINK.DAT;1", .link = 1 + SHARED },
	[EMPTY] = { "EMPTY.DAT;1", "", 0 },
	[MULTI] = { "MULTI.DAT;1", noise, SECTOR + 5, .cut = 1 },
	[XAR] = { "XAR.DAT;1", noise, 5, .xar = 1 },
	[INTER] = { "INTER.DAT;1", noise, 5, .unit = 1, .gap = 1 },
	[AUDIO] = { "AUDIO.DA;1", noise, 5, .xa = 0x4000 },
	[DIR] = { "DIR", .dir = true },
	[INNER] = { "INNER.DAT;1", noise, 50, .in = 1 + DIR },
};

struct disc { struct build_iso how; struct build_iso_node v[NODES]; struct buf b; };

static void make(struct disc *d, bool joliet)
{
	memset(d, 0, sizeof *d);
	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)(i % 251 + 1);
	memcpy(d->v, plain, sizeof plain);
	d->how = (struct build_iso){ .joliet = joliet };
	build_iso(&d->b, &d->how, d->v, NODES);
}

static void begin(struct edited *k, struct disc *d)
{
	edited_open(k, &fmt_iso9660, d->b.p, d->b.len, d->b.len);
	buf_free(&d->b);
}

/* With zeros where it is longer than its contents were. */
static void resize(struct edited *k, const char *name, uint64_t size)
{
	struct entries v = listed(k->o);
	uint32_t i = find(k->o, name);
	struct err e = { 0 };

	if (fmt_iso9660.container->resize(k->o, &v, i, size, &e))
		fail_msg("%s", e.text);
	assert_true(v.v[i].size == size);
	edited_settle(k);
	assert_true(listed(k->o).v[find(k->o, name)].size == size);
}

static void refused(struct edited *k, const char *name, uint64_t size, int code, const char *why)
{
	struct entries v = listed(k->o);
	struct err e = { 0 };

	assert_int_equal(fmt_iso9660.container->resize(k->o, &v, find(k->o, name), size, &e), -code);
	assert_string_equal(e.text, why);
	assert_int_equal(edited_settle(k), 0);
}

static void is_sound(struct edited *k)
{
	struct entries v = listed(k->o);
	struct err e = { 0 };

	if (k->o->faults)
		fail_msg("%s", k->o->faults->text);
	if (fmt_iso9660.container->verify(k->o, &v, &e))
		fail_msg("%s", e.text);
}

/* Bytes that may differ from those at first. */
struct range { size_t at, n; };

static void only(const struct edited *k, const struct range *r, size_t n)
{
	for (size_t at = 0; at < k->size_was[0]; at++) {
		bool mine = false;

		for (size_t i = 0; i < n; i++)
			mine |= at >= r[i].at && at < r[i].at + r[i].n;
		if (!mine && k->bytes[0][at] != k->was[0][at])
			fail_msg("byte 0x%zx changed", at);
	}
}

static void size_is(const struct edited *k, size_t record, uint32_t size)
{
	assert_int_equal(le_u32(k->bytes[0] + record + 10), size);
	assert_int_equal(be_u32(k->bytes[0] + record + 14), size);
}

static void zeros(const struct edited *k, size_t from, size_t to)
{
	for (; from < to; from++)
		if (k->bytes[0][from])
			fail_msg("byte 0x%zx is not zero", from);
}

/* ---- how long it may become ---- */

static void test_longer(void **state)
{
	struct disc d;
	struct edited k;
	uint8_t want[4 * SECTOR] = { 0 };

	(void)state;
	make(&d, true);
	assert_int_equal(d.v[FIRST].lba, 27);
	memset(d.b.p + 28 * SECTOR + 10, 0xee, 3 * SECTOR - 10);       /* what is free need not be zero */
	begin(&k, &d);
	memcpy(want, noise, SECTOR + 10);
	resize(&k, "FIRST.DAT", SECTOR + 11);
	holds(k.o, "FIRST.DAT", want, SECTOR + 11);
	zeros(&k, 28 * SECTOR + 10, 29 * SECTOR);
	assert_int_equal(k.bytes[0][29 * SECTOR], 0xee);
	resize(&k, "FIRST.DAT", 2 * SECTOR + 1);
	zeros(&k, 28 * SECTOR + 10, 30 * SECTOR);
	assert_int_equal(k.bytes[0][30 * SECTOR], 0xee);
	resize(&k, "FIRST.DAT", 4 * SECTOR);
	holds(k.o, "FIRST.DAT", want, 4 * SECTOR);
	refused(&k, "FIRST.DAT", 4 * SECTOR + 1, ENOSPC, "FIRST.DAT: 1 bytes more than its 4 sectors");
	refused(&k, "FIRST.DAT", 6 * SECTOR, ENOSPC, "FIRST.DAT: 4096 bytes more than its 4 sectors");
	refused(&k, "FIRST.DAT", UINT64_MAX, ENOSPC,
		"FIRST.DAT: 18446744073709543423 bytes more than its 4 sectors");
	refused(&k, "FULL.DAT", SECTOR + 1, ENOSPC, "FULL.DAT: 1 bytes more than its 1 sectors");
	size_is(&k, d.v[FIRST].record[0], 4 * SECTOR);
	size_is(&k, d.v[FIRST].record[1], 4 * SECTOR);
	only(&k, (struct range[]){ { d.v[FIRST].record[0] + 10, 8 }, { d.v[FIRST].record[1] + 10, 8 },
				   { 28 * SECTOR + 10, 3 * SECTOR - 10 } }, 3);
	is_sound(&k);
	edited_close(&k);
}

static void test_shorter(void **state)
{
	struct disc d;
	struct edited k;

	(void)state;
	make(&d, true);
	begin(&k, &d);
	resize(&k, "FIRST.DAT", 100);
	holds(k.o, "FIRST.DAT", noise, 100);
	zeros(&k, 27 * SECTOR + 100, 29 * SECTOR);
	size_is(&k, d.v[FIRST].record[0], 100);
	size_is(&k, d.v[FIRST].record[1], 100);
	only(&k, (struct range[]){ { d.v[FIRST].record[0] + 10, 8 }, { d.v[FIRST].record[1] + 10, 8 },
				   { 27 * SECTOR + 100, 2 * SECTOR - 100 } }, 3);
	resize(&k, "FULL.DAT", SECTOR - 1);    /* the last byte of its sector */
	zeros(&k, 32 * SECTOR - 1, 32 * SECTOR);
	assert_int_equal(k.bytes[0][32 * SECTOR - 2], noise[SECTOR - 2]);
	is_sound(&k);
	edited_close(&k);
}

static void test_same(void **state)
{
	struct disc d;
	struct edited k;
	struct entries v;

	(void)state;
	make(&d, false);
	begin(&k, &d);
	v = listed(k.o);
	for (uint32_t i = 0; i < v.n; i++)     /* also those that cannot be written */
		if (!v.v[i].folder)
			assert_int_equal(fmt_iso9660.container->resize(k.o, &v, i, v.v[i].size, NULL), 0);
	assert_int_equal(edited_settle(&k), 0);
	edited_close(&k);
}

static void test_nothing_and_back(void **state)
{
	static const uint8_t none[4 * SECTOR];
	struct disc d;
	struct edited k;

	(void)state;
	make(&d, true);
	begin(&k, &d);
	resize(&k, "FIRST.DAT", 0);
	zeros(&k, 27 * SECTOR, 31 * SECTOR);
	assert_int_equal(le_u32(k.bytes[0] + d.v[FIRST].record[0] + 2), 27);
	refused(&k, "FIRST.DAT", 4 * SECTOR + 1, ENOSPC, "FIRST.DAT: 1 bytes more than its 4 sectors");
	resize(&k, "FIRST.DAT", 4 * SECTOR);
	holds(k.o, "FIRST.DAT", none, 4 * SECTOR);
	size_is(&k, d.v[FIRST].record[1], 4 * SECTOR);
	/* A file of no bytes keeps no sectors from the one in front of it. */
	resize(&k, "SHARED.DAT", 0);
	resize(&k, "FULL.DAT", 3 * SECTOR);
	refused(&k, "LINK.DAT", 1, ENOSPC, "LINK.DAT: 1 bytes more than its 0 sectors");
	zeros(&k, 32 * SECTOR, 34 * SECTOR);
	is_sound(&k);
	edited_close(&k);
}

/* ---- who else has its sectors ---- */

static void test_link(void **state)
{
	struct disc d;
	struct edited k;

	(void)state;
	make(&d, true);
	begin(&k, &d);
	resize(&k, "LINK.DAT", 2 * SECTOR);
	assert_string_equal(k.said, "LINK.DAT and SHARED.DAT have the same sectors: both are changed\n");
	assert_int_equal(listed(k.o).v[find(k.o, "SHARED.DAT")].size, 2 * SECTOR);
	for (unsigned tree = 0; tree < 2; tree++) {
		size_is(&k, d.v[SHARED].record[tree], 2 * SECTOR);
		size_is(&k, d.v[LINK].record[tree], 2 * SECTOR);
	}
	refused(&k, "SHARED.DAT", 2 * SECTOR + 1, ENOSPC, "SHARED.DAT: 1 bytes more than its 2 sectors");
	/* Which of two files of no bytes such a place belongs to is not told. */
	resize(&k, "SHARED.DAT", 0);
	refused(&k, "SHARED.DAT", 1, ENOSPC, "SHARED.DAT: 1 bytes more than its 0 sectors");
	edited_close(&k);
}

/* The object that was written knows the other name's size too. */
static void test_link_before_it_is_opened_again(void **state)
{
	struct disc d;
	struct edited k;
	struct entries v;

	(void)state;
	make(&d, false);
	begin(&k, &d);
	v = listed(k.o);
	assert_int_equal(fmt_iso9660.container->resize(k.o, &v, find(k.o, "SHARED.DAT"), 7, NULL), 0);
	assert_int_equal(v.v[find(k.o, "LINK.DAT")].size, 7);
	assert_int_equal(fmt_iso9660.container->resize(k.o, &v, find(k.o, "LINK.DAT"), 9, NULL), 0);
	assert_int_equal(v.v[find(k.o, "SHARED.DAT")].size, 9);
	edited_close(&k);
}

/* Written where it lies: nothing moves, but others are told of. */
static void test_written_in_place(void **state)
{
	struct disc d;
	struct edited k;
	struct entries v;

	(void)state;
	make(&d, true);
	begin(&k, &d);
	v = listed(k.o);
	fmt_iso9660.container->tell_shared(k.o, &v, find(k.o, "FIRST.DAT"));
	assert_string_equal(k.said, "");
	fmt_iso9660.container->tell_shared(k.o, &v, find(k.o, "LINK.DAT"));
	assert_string_equal(k.said, "LINK.DAT and SHARED.DAT have the same sectors: both are changed\n");
	edited_close(&k);
}

/* A file that begins in the same place with another length, and one in the middle of it. */
static void test_overlapping(void **state)
{
	struct disc d;
	struct edited k;
	uint8_t second[100] = { 0 };

	(void)state;
	make(&d, false);
	memcpy(second, noise + SECTOR, 10);
	assert_int_equal(d.v[FIRST].lba, 22);
	build_iso_both32(&d.b, d.v[SHARED].record[0] + 2, 23);         /* the second sector of FIRST */
	build_iso_both32(&d.b, d.v[FULL].record[0] + 2, 22);
	build_iso_both32(&d.b, d.v[FULL].record[0] + 10, 60);
	begin(&k, &d);
	refused(&k, "FIRST.DAT", 2 * SECTOR + 1, ENOSPC, "FIRST.DAT: 1 bytes more than its 2 sectors");
	resize(&k, "FIRST.DAT", SECTOR + 1);
	assert_string_equal(k.said, "FIRST.DAT and FULL.DAT have the same sectors: both are changed\n"
				    "FIRST.DAT and SHARED.DAT have the same sectors: both are changed\n");
	only(&k, (struct range[]){ { d.v[FIRST].record[0] + 10, 8 } }, 1);
	resize(&k, "FIRST.DAT", 10);           /* gives up a sector that SHARED has, and what FULL has in the other */
	only(&k, (struct range[]){ { d.v[FIRST].record[0] + 10, 8 } }, 1);
	holds(k.o, "FULL.DAT", noise, 60);
	holds(k.o, "SHARED.DAT", second, sizeof second);
	resize(&k, "FIRST.DAT", 30);           /* what is new of it is zero all the same */
	zeros(&k, 22 * SECTOR + 10, 22 * SECTOR + 30);
	only(&k, (struct range[]){ { d.v[FIRST].record[0] + 10, 8 }, { 22 * SECTOR + 10, 20 } }, 2);
	edited_close(&k);
}

/* ---- what ends it ---- */

/* FIRST lies in 22 and 23; whatever begins in 24 leaves it no more. */
static void ends_it(struct disc *d)
{
	struct edited k;

	begin(&k, d);
	refused(&k, "FIRST.DAT", 2 * SECTOR + 1, ENOSPC, "FIRST.DAT: 1 bytes more than its 2 sectors");
	edited_close(&k);
}

static void test_ends(void **state)
{
	static const struct { size_t at; uint32_t v; } tables[] = {
		{ 16 * SECTOR + 140, 24 }, { 16 * SECTOR + 144, 24 }, { 16 * SECTOR + 148, 24u << 24 },
		{ 16 * SECTOR + 152, 24u << 24 },
	};
	struct disc d;

	(void)state;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		make(&d, false);
		put_le32(d.b.p + tables[i].at, tables[i].v);
		ends_it(&d);
	}
	make(&d, false);                       /* a directory */
	build_iso_both32(&d.b, d.v[DIR].record[0] + 2, 24);
	memcpy(d.b.p + 24 * SECTOR, d.b.p + d.v[INNER].record[0] / SECTOR * SECTOR, SECTOR);
	ends_it(&d);
	make(&d, false);                       /* an associated file, the second extent of another */
	d.b.p[d.v[FULL].record[0] + 25] = 4;
	build_iso_both32(&d.b, d.v[FULL].record[0] + 2, 24);
	ends_it(&d);
	make(&d, false);
	build_iso_both32(&d.b, d.v[MULTI].record[0] + 44 + 2, 24);
	ends_it(&d);
	make(&d, false);                       /* attributes, in front of the data in 25 */
	build_iso_both32(&d.b, d.v[XAR].record[0] + 2, 24);
	ends_it(&d);
	make(&d, false);                       /* the last piece of an interleaved file */
	build_iso_both32(&d.b, d.v[INTER].record[0] + 2, 18);
	build_iso_both32(&d.b, d.v[INTER].record[0] + 10, 4 * SECTOR);
	ends_it(&d);
	make(&d, false);                       /* one that ends past the image */
	build_iso_both32(&d.b, d.v[FULL].record[0] + 2, 24);
	build_iso_both32(&d.b, d.v[FULL].record[0] + 10, 0xffffffff);
	ends_it(&d);
	make(&d, false);                       /* a directory that cannot be read may know of more files */
	build_iso_both32(&d.b, d.v[DIR].record[0] + 2, 0xffffff);
	ends_it(&d);
	make(&d, false);
	d.b.p[d.v[INNER].record[0]] = 10;
	ends_it(&d);
}

/* The root and a file of the Joliet tree that the primary one does not have. */
static void test_other_tree(void **state)
{
	struct disc d;
	struct edited k;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		make(&d, true);
		if (i)
			build_iso_both32(&d.b, d.v[INTER].record[1] + 2, 29);
		else
			build_iso_both32(&d.b, 17 * SECTOR + 158, 29);
		if (!i)
			memcpy(d.b.p + 29 * SECTOR, d.b.p + d.how.root[1] * SECTOR, SECTOR);
		begin(&k, &d);
		refused(&k, "FIRST.DAT", 2 * SECTOR + 1, ENOSPC, "FIRST.DAT: 1 bytes more than its 2 sectors");
		edited_close(&k);
	}
}

static void test_end_of_the_image(void **state)
{
	struct build_iso how = { .free = 2 };
	struct build_iso_node v[] = { { "A;1", noise, 100 } };
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	build_iso(&b, &how, v, 1);
	edited_open(&k, &fmt_iso9660, b.p, b.len, b.len);
	resize(&k, "A", 3 * SECTOR);
	refused(&k, "A", 3 * SECTOR + 1, ENOSPC, "A: 1 bytes more than its 3 sectors");
	is_sound(&k);
	edited_close(&k);
	buf_free(&b);
}

/* ---- what cannot be ---- */

static void test_refused(void **state)
{
	struct disc d;
	struct edited k;

	(void)state;
	make(&d, true);
	build_iso_both32(&d.b, d.v[INNER].record[0] + 2, 0x7fffffff);
	begin(&k, &d);
	refused(&k, "MULTI.DAT", 1, EROFS, "MULTI.DAT: several extents");
	refused(&k, "XAR.DAT", 1, EROFS, "XAR.DAT: extended attributes");
	refused(&k, "INTER.DAT", 1, EROFS, "INTER.DAT: interleaved");
	refused(&k, "AUDIO.DA", 1, EROFS, "AUDIO.DA: audio");
	refused(&k, "DIR", 0, EISDIR, "DIR: it is a directory");
	refused(&k, "DIR/INNER.DAT", 1, EIO, "DIR/INNER.DAT: sectors 2147483647.. are outside 41");
	/* It says where MULTI begins, which is not its own. */
	refused(&k, "EMPTY.DAT", 5, ENOSPC, "EMPTY.DAT: 5 bytes more than its 0 sectors");
	edited_close(&k);
	make(&d, true);
	build_iso_both32(&d.b, d.v[EMPTY].record[0] + 2, 0xffffffef);
	begin(&k, &d);
	refused(&k, "EMPTY.DAT", 5, ENOSPC, "EMPTY.DAT: 5 bytes more than its 0 sectors");
	edited_close(&k);
	make(&d, true);
	build_iso_both32(&d.b, d.v[EMPTY].record[0] + 2, 3);
	begin(&k, &d);
	refused(&k, "EMPTY.DAT", 5, ENOSPC, "EMPTY.DAT: 5 bytes more than its 0 sectors");
	edited_close(&k);
}

/* Of no bytes, where nothing else is. */
static void test_empty_with_a_place(void **state)
{
	struct build_iso how = { .joliet = true };
	struct build_iso_node v[] = { { "A;1", "", 0, .free = 2 }, { "B;1", "b", 1 } };
	struct buf b = { 0 };
	struct edited k;
	uint8_t want[SECTOR + 1] = { 0 };

	(void)state;
	build_iso(&b, &how, v, 2);
	edited_open(&k, &fmt_iso9660, b.p, b.len, b.len);
	resize(&k, "A", SECTOR + 1);
	holds(k.o, "A", want, sizeof want);
	size_is(&k, v[0].record[0], SECTOR + 1);
	size_is(&k, v[0].record[1], SECTOR + 1);
	refused(&k, "A", 2 * SECTOR + 1, ENOSPC, "A: 1 bytes more than its 2 sectors");
	is_sound(&k);
	edited_close(&k);
	buf_free(&b);
}

/* ---- raw sectors ---- */

static void make_raw(struct buf *out, const struct buf *b, uint32_t base, unsigned mode)
{
	for (uint32_t i = 0; i < b->len / SECTOR; i++)
		build_raw(out, base + i, b->p + i * SECTOR, mode);
	assert_false(out->bad);
}

/* The last file grows up to where audio begins, and its sectors and those of its records get new codes. */
static void test_raw(void **state)
{
	static const struct { uint32_t base; unsigned mode; } cases[] = { { 0, 1 }, { 0, 2 }, { 45000, 1 } };

	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct build_iso how = { .base = cases[k].base, .joliet = true, .free = 1 };
		struct build_iso_node v[] = { { "A;1", "a", 1 }, { "B;1", noise, 100 } };
		struct buf b = { 0 }, raw = { 0 };
		uint8_t want[2 * SECTOR] = { 0 };
		struct edited e;

		build_iso(&b, &how, v, 2);
		make_raw(&raw, &b, cases[k].base, cases[k].mode);
		assert_int_equal(v[1].lba + 2, b.len / SECTOR);
		for (unsigned i = 0; i < 3 * RAW_SECTOR; i++)  /* audio */
			buf_char(&raw, (char)(i % 253));
		edited_open(&e, &fmt_iso9660, raw.p, raw.len, raw.len);
		memcpy(want, noise, 100);
		resize(&e, "B", 2 * SECTOR);
		holds(e.o, "B", want, 2 * SECTOR);
		refused(&e, "B", 2 * SECTOR + 1, ENOSPC, "B: 1 bytes more than its 2 sectors");
		for (uint32_t s = 0; s < b.len / SECTOR; s++) {
			const uint8_t *now = e.bytes[0] + s * RAW_SECTOR;
			bool record = s == v[1].record[0] / SECTOR || s == v[1].record[1] / SECTOR;

			assert_true(raw_codes_hold(now));
			assert_int_equal(memcmp(now, e.was[0] + s * RAW_SECTOR, RAW_SECTOR) != 0, record);
		}
		is_sound(&e);
		edited_close(&e);
		buf_free(&b);
		buf_free(&raw);
	}
}

/* The image ends within its last sector: what is missing reads as zero, and no file reaches it. */
static void test_cut_in_the_last_sector(void **state)
{
	struct build_iso how = { 0 };
	struct build_iso_node v[] = { { "A;1", noise, 100 } };
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	build_iso(&b, &how, v, 1);
	edited_open(&k, &fmt_iso9660, b.p, b.len - 1000, b.len - 1000);
	refused(&k, "A", SECTOR - 999, ENOSPC, "A: 1 bytes more than its 1 sectors");
	resize(&k, "A", SECTOR - 1000);
	resize(&k, "A", 5);
	holds(k.o, "A", noise, 5);
	is_sound(&k);
	edited_close(&k);
	buf_free(&b);
}

/* Both copies of a size become the new one, whatever they were. */
static void test_halves(void **state)
{
	struct disc d;
	struct edited k;

	(void)state;
	make(&d, false);
	put_be32(d.b.p + d.v[FIRST].record[0] + 14, 5);
	begin(&k, &d);
	resize(&k, "FIRST.DAT", 9);
	size_is(&k, d.v[FIRST].record[0], 9);
	is_sound(&k);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_longer), cmocka_unit_test(test_shorter), cmocka_unit_test(test_same),
		cmocka_unit_test(test_nothing_and_back), cmocka_unit_test(test_link),
		cmocka_unit_test(test_link_before_it_is_opened_again),
		cmocka_unit_test(test_written_in_place), cmocka_unit_test(test_overlapping),
		cmocka_unit_test(test_ends), cmocka_unit_test(test_other_tree), cmocka_unit_test(test_end_of_the_image),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_empty_with_a_place),
		cmocka_unit_test(test_raw), cmocka_unit_test(test_cut_in_the_last_sector),
		cmocka_unit_test(test_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
