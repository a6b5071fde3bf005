/* Writing to a CSO: blocks in their slots, images that are written anew; what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "build_media.h"
#include "bytes.h"
#include "disc.h"
#include "media.h"

#define SIZE (150 * SECTOR)

static uint8_t user[SIZE];

static int fill(void **state)
{
	(void)state;
	build_text(user, sizeof user, 3);
	return 0;
}

struct writing {
	struct buf b;
	struct plan file, now;                 /* over the image, over its medium */
	struct source *overlay, *medium, *moved;
	struct disc_kind kind;
	uint8_t want[SIZE];
};

static void begin(struct writing *w, const struct packing_form *form)
{
	struct source *src;

	memset(w, 0, sizeof *w);
	build_cso(&w->b, user, SIZE, form);
	memcpy(w->want, user, SIZE);
	src = src_memory(w->b.p, w->b.len);
	plan_init(&w->file, src);
	src_put(src);
	w->overlay = src_overlay(&w->file);
	assert_int_equal(disc_medium(w->overlay, &w->kind, &w->medium, NULL), 0);
	plan_init(&w->now, w->medium);
}

static void change(struct writing *w, uint64_t at, const void *p, size_t n)
{
	assert_int_equal(plan_write(&w->now, at, p, n), 0);
	memcpy(w->want + at, p, n);
}

/* The image as it is now, in *out. */
static void image(struct writing *w, struct buf *out)
{
	struct source *src = w->moved ? w->moved : w->overlay;

	assert_non_null(buf_room(out, src->size));
	assert_int_equal(src_pread(src, out->p, src->size, 0), 0);
	out->len = src->size;
}

static void end(struct writing *w)
{
	src_put(w->moved);
	plan_free(&w->now);
	src_put(w->medium);
	src_put(w->overlay);
	plan_free(&w->file);
	buf_free(&w->b);
}

static uint8_t *slot(const struct buf *b, const struct packing_form *f, unsigned i, size_t *n)
{
	size_t at = (size_t)cso_entry(b, i) << f->shift, stop = (size_t)cso_entry(b, i + 1) << f->shift;

	assert_true(at <= stop && stop <= b->len && at % (1u << f->shift) == 0);
	*n = stop - at;
	return b->p + at;
}

/* By zlib alone: the stream ends with the block, and zeros follow in the slot. */
static void check_block(const struct buf *b, const struct packing_form *f, unsigned i, const uint8_t *want, bool zeros)
{
	uint8_t *got = calloc(f->block, 1);
	size_t n, left;
	uint8_t *p = slot(b, f, i, &n);

	if (b->p[24 + 4 * i + 3] & 0x80) {
		assert_true(n >= f->block);
		memcpy(got, p, f->block);
		left = n - f->block;
	} else {
		z_stream z = { .next_in = p, .avail_in = (unsigned)n, .next_out = got, .avail_out = f->block };

		assert_int_equal(inflateInit2(&z, -15), Z_OK);
		assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
		assert_int_equal(z.total_out, f->block);
		left = z.avail_in;
		inflateEnd(&z);
	}
	assert_memory_equal(got, want, f->block);
	for (size_t k = n - left; k < n && zeros; k++)
		assert_int_equal(p[k], 0);
	free(got);
}

/* All blocks are what they are to be; those that did not change, stored as they were. */
static void check_image(struct writing *w, const struct packing_form *f)
{
	unsigned blocks = (SIZE + f->block - 1) / f->block;
	uint8_t *was = calloc(blocks, f->block), *is = calloc(blocks, f->block);
	struct disc_kind kind;
	struct source *medium;
	struct buf b = { 0 };

	memcpy(was, user, SIZE);
	memcpy(is, w->want, SIZE);
	image(w, &b);
	for (unsigned i = 0; i < blocks; i++) {
		const uint8_t *now = is + (size_t)i * f->block;
		size_t n, old;
		uint8_t *p = slot(&b, f, i, &n), *q = slot(&w->b, f, i, &old);
		bool same_block = !memcmp(now, was + (size_t)i * f->block, f->block);

		check_block(&b, f, i, now, !same_block);
		assert_true(n >= old);
		if (!same_block)
			continue;
		assert_int_equal(n, old);
		assert_memory_equal(p, q, n);
		assert_int_equal(b.p[24 + 4 * i + 3] & 0x80, w->b.p[24 + 4 * i + 3] & 0x80);
	}
	assert_memory_equal(b.p, w->b.p, 24);
	medium = media_open(b.p, b.len, &kind);
	media_same(medium, w->want, SIZE, 20);
	src_put(medium);
	buf_free(&b);
	free(was);
	free(is);
}

/* A few bytes here and there, of text, fit with slack; the file keeps its length. */
static void test_fits(void **state)
{
	static const uint32_t slack[] = { 30, 300 };
	static const uint32_t blocks[] = { 2048, 4096, 16384, 32768 };

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct packing_form f = { "CISO", i & 1, i / 2 * 3, blocks[i / 2], 3, slack[i / 4] };
		struct writing w;
		struct err e = { 0 };

		begin(&w, &f);
		change(&w, 4 * SECTOR + 100, "changed", 7);
		change(&w, 9 * SECTOR - 3, "changed", 7);
		change(&w, SIZE - 4, "end.", 4);
		if (disc_put(w.overlay, &w.now, false, &w.moved, &e))
			fail_msg("%s", e.text);
		assert_null(w.moved);
		assert_int_equal(w.overlay->size, w.b.len);
		check_image(&w, &f);
		end(&w);
	}
}

/* A block stored as it is stays so: only its bytes change. */
static void test_stays_plain(void **state)
{
	const struct packing_form f = { "CISO", 1, 0, 2048, 2, 0 };
	struct writing w;

	(void)state;
	begin(&w, &f);
	change(&w, 4 * SECTOR + 100, "changed", 7);
	assert_int_equal(disc_put(w.overlay, &w.now, false, &w.moved, NULL), 0);
	assert_int_equal(plan_settle(&w.file, NULL), 0);
	assert_int_equal(w.file.n, 1);
	assert_int_equal(w.file.v[0].at, cso_entry(&w.b, 4) + 100);
	assert_int_equal(w.file.v[0].len, 7);
	check_image(&w, &f);
	end(&w);
}

/* Noise in a slot that is long enough becomes plain; text in a plain slot that is too short for a block cannot be. */
static void test_becomes_plain(void **state)
{
	const struct packing_form f = { "CISO", 1, 11, 2048, 0, 0 };
	struct writing w;
	uint8_t noise[SECTOR];
	size_t n;

	(void)state;
	for (unsigned i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)rand();
	begin(&w, &f);
	slot(&w.b, &f, 5, &n);
	assert_int_equal(n, 2048);
	assert_int_equal(w.b.p[24 + 4 * 5 + 3] & 0x80, 0);
	change(&w, 5 * SECTOR, noise, SECTOR);
	assert_int_equal(disc_put(w.overlay, &w.now, false, &w.moved, NULL), 0);
	check_image(&w, &f);
	assert_int_equal(plan_read(&w.file, noise, 4, 24 + 4 * 5), 0);
	assert_int_equal(noise[3] & 0x80, 0x80);
	end(&w);
}

/* ENOSPC says which block and how much, and -o grow moves what lies behind. */
static void test_grows(void **state)
{
	static const struct packing_form grown[] = {
		{ "CISO", 0, 0, 2048, 0, 0 }, { "CISO", 1, 3, 2048, 5, 0 }, { "CISO", 1, 2, 8192, 0, 0 },
		{ "CISO", 1, 11, 16384, 4, 0 },
	};
	static uint8_t noise[3 * SECTOR];

	(void)state;
	for (unsigned i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)rand();
	for (size_t i = 0; i < ARRAY_LEN(grown); i++) {
		const struct packing_form *f = &grown[i];
		struct writing w;
		struct err e = { 0 };
		char text[100];

		begin(&w, f);
		change(&w, 4 * SECTOR + 100, "changed", 7);
		change(&w, 49 * SECTOR + 9, noise, sizeof noise);
		change(&w, SIZE - SECTOR, noise, SECTOR);
		assert_int_equal(disc_put(w.overlay, &w.now, false, &w.moved, &e), -ENOSPC);
		assert_non_null(strstr(e.text, " bytes are missing; -o grow writes it anew"));
		snprintf(text, sizeof text, "block %u of the CSO is packed to ",
			 f->block == 2048 ? 4 : 49 * SECTOR / f->block);
		if (f->shift < 3)
			assert_memory_equal(e.text, text, strlen(text));
		assert_int_equal(disc_put(w.overlay, &w.now, true, &w.moved, &e), 0);
		assert_non_null(w.moved);
		check_image(&w, f);
		end(&w);
	}
}

static void change_some(struct writing *w)
{
	uint8_t noise[120];
	uint32_t seed = 9;

	for (unsigned i = 0; i < sizeof noise; i++) {
		seed = seed * 1664525 + 1013904223;
		noise[i] = (uint8_t)(seed >> 24);
	}
	for (unsigned i = 0; i < 12; i++)
		change(w, i * 12 * SECTOR + 17, noise, 10 * i);
}

/* An edit is planned twice, and has to come out the same; then one over what has moved finds room in its slots. */
static void test_again(void **state)
{
	const struct packing_form f = { "CISO", 1, 1, 4096, 4, 0 };
	struct disc_kind kind;
	struct writing a, b;
	struct source *file, *moved, *medium;
	struct buf first = { 0 }, second = { 0 };
	struct plan now, over;

	(void)state;
	begin(&a, &f);
	change_some(&a);
	assert_int_equal(disc_put(a.overlay, &a.now, true, &a.moved, NULL), 0);
	assert_non_null(a.moved);
	check_image(&a, &f);
	begin(&b, &f);
	change_some(&b);
	assert_int_equal(disc_put(b.overlay, &b.now, true, &b.moved, NULL), 0);
	image(&a, &first);
	image(&b, &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.p, second.p, first.len);

	plan_init(&over, a.moved);
	file = src_overlay(&over);
	assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
	plan_init(&now, medium);
	for (size_t i = 0; i < a.now.n; i++)
		assert_int_equal(plan_write(&now, a.now.v[i].at, a.now.v[i].bytes, a.now.v[i].len), 0);
	assert_int_equal(disc_put(file, &now, true, &moved, NULL), 0);
	assert_null(moved);
	src_put(medium);
	assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
	media_same(medium, a.want, SIZE, 10);
	plan_free(&now);
	src_put(medium);
	src_put(file);
	plan_free(&over);
	buf_free(&first);
	buf_free(&second);
	end(&a);
	end(&b);
}

/* What the medium is to be comes from somewhere else, and only a look at all blocks tells which differ. */
static void test_elsewhere(void **state)
{
	const struct packing_form f = { "CISO", 1, 0, 2048, 5, 40 };
	struct source *base;
	struct writing w;
	struct plan now;

	(void)state;
	begin(&w, &f);
	memcpy(w.want + 33 * SECTOR + 5, "base", 4);
	base = src_copy(w.want, SIZE);
	plan_init(&now, base);
	now.moved = true;
	memcpy(w.want + 50 * SECTOR + 5, "plan", 4);
	assert_int_equal(plan_write(&now, 50 * SECTOR + 5, "plan", 4), 0);
	assert_int_equal(plan_write(&now, 70 * SECTOR, user + 70 * SECTOR, 100), 0);
	assert_int_equal(disc_put(w.overlay, &now, false, &w.moved, NULL), 0);
	check_image(&w, &f);
	assert_false(plan_touches(&w.file, cso_entry(&w.b, 70), 2048));
	plan_free(&now);
	src_put(base);
	end(&w);
}

/* Positions that leave no room for more: 31 bits at shift 0. */
static void test_too_far(void **state)
{
	const struct packing_form f = { "CISO", 1, 0, 2048, 0, 0 };
	struct source *file, *medium, *moved, *parts[2];
	struct disc_kind kind;
	uint8_t noise[SECTOR];
	struct buf b = { 0 };
	struct plan now;
	struct err e;

	(void)state;
	for (unsigned i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)rand();
	build_cso(&b, user, SIZE, &f);
	put_le32(b.p + 24 + 4 * 150, 0x7fffffff);      /* the last slot is padded up to there */
	parts[0] = src_memory(b.p, b.len);
	parts[1] = src_zeros(0x7fffffff - b.len);
	file = src_pieces(parts, 2);
	assert_int_equal(disc_medium(file, &kind, &medium, NULL), 0);
	plan_init(&now, medium);
	assert_int_equal(plan_write(&now, 100 * SECTOR, noise, sizeof noise), 0);
	assert_int_equal(disc_put(file, &now, true, &moved, &e), -EFBIG);
	assert_null(moved);
	assert_non_null(strstr(e.text, "the positions of this image reach to 2147483647"));
	plan_free(&now);
	src_put(medium);
	src_put(file);
	src_put(parts[0]);
	src_put(parts[1]);
	buf_free(&b);
}

static int put_once(struct buf *b, uint64_t at, size_t n, struct err *e)
{
	struct source *src = src_memory(b->p, b->len), *overlay, *medium, *moved;
	static const uint8_t zeros[2 * SECTOR] = { 1 };
	struct plan file, now;
	struct disc_kind kind;
	int rc;

	plan_init(&file, src);
	overlay = src_overlay(&file);
	assert_int_equal(disc_medium(overlay, &kind, &medium, NULL), 0);
	plan_init(&now, medium);
	assert_int_equal(plan_write(&now, at, zeros, n), 0);
	rc = disc_put(overlay, &now, true, &moved, e);
	if (rc)
		assert_int_equal(file.n, 0);
	src_put(moved);
	plan_free(&now);
	src_put(medium);
	src_put(overlay);
	plan_free(&file);
	src_put(src);
	return rc;
}

/* What is not written at all: other kinds, blocks whose places cannot be, a sector that is cut. */
static void test_refused(void **state)
{
	const struct packing_form cso = { "CISO", 0, 0, 2048, 0, 0 }, cso2 = { "CISO", 2, 0, 2048, 5, 0 },
				  zso = { "ZISO", 1, 0, 2048, 4, 0 }, larger = { "CISO", 1, 0, 4096, 0, 30 };
	struct buf b = { 0 }, z = { 0 }, two = { 0 }, d = { 0 }, cut = { 0 };
	struct err e;
	uint32_t at;

	(void)state;
	build_cso(&z, user, SIZE, &zso);
	assert_int_equal(put_once(&z, 0, 5, &e), -EROFS);
	assert_string_equal(e.text, "zso is read-only");
	build_cso(&two, user, SIZE, &cso2);
	assert_int_equal(put_once(&two, 0, 5, &e), -EROFS);
	assert_string_equal(e.text, "cso2 is read-only");
	build_dax(&d, user, SIZE, 0, false);
	assert_int_equal(put_once(&d, 0, 5, &e), -EROFS);
	assert_string_equal(e.text, "dax is read-only");

	build_cso(&b, user, SIZE, &cso);
	at = cso_entry(&b, 77);
	put_le32(b.p + 24 + 4 * 77, 700);      /* inside the first block */
	assert_int_equal(put_once(&b, 0, 5, &e), -EIO);
	assert_non_null(strstr(e.text, "block 77 lies at 700, what is before it ends at "));
	put_le32(b.p + 24 + 4 * 77, at);
	put_le32(b.p + 24, 24 + 4 * 151 - 1);  /* inside the table */
	assert_int_equal(put_once(&b, 0, 5, &e), -EIO);
	assert_string_equal(e.text, "position of a block at 0x18: block 0 lies at 627, what is before it ends at 628");
	put_le32(b.p + 24, 24 + 4 * 151);
	memset(b.p + cso_entry(&b, 3), 0xff, 8);        /* a damaged block can only be written whole */
	assert_int_equal(put_once(&b, 3 * SECTOR, 5, &e), -EIO);
	assert_string_equal(e.text, "block 3: Input/output error");
	assert_int_equal(put_once(&b, 3 * SECTOR, SECTOR, &e), 0);
	b.len--;
	assert_int_equal(put_once(&b, 0, 5, &e), -EIO);

	build_cso(&cut, user, 3 * SECTOR - 100, &larger);
	assert_int_equal(put_once(&cut, 3 * SECTOR - 101, 1, &e), 0);
	assert_int_equal(put_once(&cut, 3 * SECTOR - 100, 1, &e), -ENOSPC);
	assert_string_equal(e.text, "the last sector of the image is cut: 100 bytes are missing");
	buf_free(&b);
	buf_free(&z);
	buf_free(&two);
	buf_free(&d);
	buf_free(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),          cmocka_unit_test(test_stays_plain),
		cmocka_unit_test(test_becomes_plain), cmocka_unit_test(test_grows),
		cmocka_unit_test(test_again),         cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_too_far),       cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
