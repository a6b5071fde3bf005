/* The search for quartets in bytes of unknown layout: what is found where, and what is not taken for one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "carving.h"
#include "hidden.h"
#include "plan.h"

/* ---- searching ---- */

static struct carve_finding *search(struct source *src)
{
	struct carve_finding *f = NULL;
	struct err e = { 0 };

	if (carve_search(src, 0, false, NULL, &f, &e))
		fail_msg("%s", e.text);
	assert_true(f->whole);
	assert_int_equal(f->any, f->n > 0);
	return f;
}

static struct carve_finding *search_buf(const struct buf *b)
{
	struct source *src = src_memory(b->p, b->len);
	struct carve_finding *f = search(src);

	assert_true(carve_holds(src, f));
	src_put(src);
	return f;
}

/* Frees b. */
static void finds(struct buf *b, uint64_t mlp, uint64_t mmp, uint64_t mgp)
{
	found(search_buf(b), &(struct place){ mlp, mmp, mgp }, 1);
	buf_free(b);
}

static void finds_none(struct buf *b)
{
	found(search_buf(b), NULL, 0);
	buf_free(b);
}

static void test_one(void **state)
{
	struct buf b = hidden_in_noise(4000);
	struct carve_finding *f = search_buf(&b);

	(void)state;
	assert_int_equal(f->v[0].mlp.size, MLP_SIZE);
	assert_int_equal(f->v[0].mmp.size, MMP_SIZE);
	assert_int_equal(f->v[0].mgp.size, MGP_SIZE);
	assert_false(f->cut);
	finding_put(&f->f);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
}

/* Whatever the order, up to the very beginning and end. */
static void test_ends(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_noise(&b, 4096, 3);
	lay(&b, 0, &hidden.part[BUILD_MLP]);
	lay(&b, 4096 - MMP_SIZE, &hidden.part[BUILD_MMP]);
	lay(&b, 2048, &hidden.part[BUILD_MGP]);
	finds(&b, 0, 4096 - MMP_SIZE, 2048);
	b = (struct buf){ 0 };
	build_noise(&b, 4096 + 4, 3);
	lay(&b, 4100 - MLP_SIZE, &hidden.part[BUILD_MLP]);
	lay(&b, 0, &hidden.part[BUILD_MMP]);
	lay(&b, MMP_SIZE, &hidden.part[BUILD_MGP]);
	finds(&b, 4100 - MLP_SIZE, 0, MMP_SIZE);
	/* The three alone. */
	b = (struct buf){ 0 };
	for (unsigned k = BUILD_PARTS - 1; k--;)
		buf_add(&b, hidden.part[k].p, hidden.part[k].len);
	finds(&b, MGP_SIZE + MMP_SIZE, MGP_SIZE, 0);
}

static void test_not_aligned(void **state)
{
	struct buf b = hidden_in_noise(4000);

	(void)state;
	build_noise(&b, 0, 1);
	memset(b.p, 0xaa, 2000);
	lay(&b, MLP_AT + 2, &hidden.part[BUILD_MLP]);
	finds_none(&b);
	b = hidden_in_noise(4000);
	memset(b.p + MMP_AT, 0xaa, MMP_SIZE);
	lay(&b, MMP_AT + 8, &hidden.part[BUILD_MMP]);
	finds(&b, MLP_AT, NO, MGP_AT);
	b = hidden_in_noise(4000);
	memset(b.p + MGP_AT, 0xaa, MGP_SIZE);
	lay(&b, MGP_AT + 4, &hidden.part[BUILD_MGP]);
	finds(&b, MLP_AT, MMP_AT, NO);
}

/* Each of the first rule's conditions alone. */
static void test_first_rule(void **state)
{
	static const struct { unsigned at; uint32_t value; bool still; } cases[] = {
		{ 0x00, 0xfafa0004, false }, { 0x04, 0x12345678, true }, { 0x08, 0x001d0000, false },
		{ 0x08, 0x001cffff, true }, { 0x0c, 0, true },
		{ 0x10, 0, false }, { 0x10, 4, false }, { 0x10, 65536, false }, { 0x10, 0xffffffff, false },
		{ 0x14, 0x6c, false }, { 0x14, 0x170, false }, { 0x14, 0x74, false }, { 0x14, 0xffffffff, false },
		{ 0x18, 32, false },
		{ 0x1c, 0x11111112, false }, { 0x20, 4, false }, { 0x20, 0xfffffff0, false },
		{ 0x2c, 0xffffffff, false }, { 0x2c, 4000, false },
		{ 0x70, 0xbaba0032, false }, { 0x70 + 0x80, 0x11111112, false },
		{ 0x70 + 464 + 0x80, 0x11111111, false },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct buf b = hidden_in_noise(4000);

		setb32(&b, MLP_AT + cases[k].at, cases[k].value);
		if (cases[k].still)
			finds(&b, MLP_AT, MMP_AT, MGP_AT);
		else
			finds_none(&b);
	}
}

/* Up to 255 bytes behind the table the metadata may begin. */
static void test_data_base(void **state)
{
	(void)state;
	for (unsigned more = 0; more <= 256; more += 64) {
		struct buf b = hidden_in_noise(4000);

		memmove(b.p + MLP_AT + 0x70 + more, hidden.part[BUILD_MLP].p + 0x70, MLP_SIZE - 0x70);
		setb32(&b, MLP_AT + 0x14, 0x70 + more);
		if (more == 256)
			finds_none(&b);
		else
			finds(&b, MLP_AT, MMP_AT, MGP_AT);
	}
}

static void test_second_rule(void **state)
{
	struct buf b;

	(void)state;
	/* A position 0.04 beside its box, and 0.06. The box of mesh 0 reaches to 3. */
	b = hidden_in_noise(4000);
	setb32(&b, MMP_AT + 16 * 3, f32_bits(3.04f));
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	b = hidden_in_noise(4000);
	setb32(&b, MMP_AT + 16 * 3, f32_bits(3.06f));
	finds(&b, MLP_AT, NO, MGP_AT);
	b = hidden_in_noise(4000);
	setb32(&b, MMP_AT + 4, 0x7fc00000);    /* a NaN */
	finds(&b, MLP_AT, NO, MGP_AT);
	b = hidden_in_noise(4000);
	setb16(&b, MMP_AT + 64 + 2, 4);        /* of 4 vertices */
	finds(&b, MLP_AT, NO, MGP_AT);
	/* In the third mesh. */
	b = hidden_in_noise(4000);
	setb16(&b, MMP_AT + 160, 3);
	finds(&b, MLP_AT, NO, MGP_AT);
	/* A normal may be anything, and what lies between the slices too. */
	b = hidden_in_noise(4000);
	setb32(&b, MMP_AT + 12, 0);
	setb32(&b, MMP_AT + 92, 0xffffffff);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
}

/* What the tables say against each other makes a mesh one that cannot be tested; the others are. */
static void test_broken(void **state)
{
	struct buf b = hidden_in_noise(4000);
	size_t at = MLP_AT + build_mlp_stream(&hidden.built, 0, 0);

	(void)state;
	setb32(&b, at + 8, 12);                /* its stride */
	setb32(&b, MMP_AT, 0x7fc00000);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	b = hidden_in_noise(4000);
	setb32(&b, MLP_AT + build_mlp_submesh(&hidden.built, 0, 1) + 0x24, 3);        /* a submesh's indices */
	setb32(&b, MMP_AT, 0x7fc00000);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	b = hidden_in_noise(4000);
	setb32(&b, MLP_AT + build_mlp_metadata(&hidden.built, 0) + 0x60, 0x7fc00000); /* its box */
	setb32(&b, MMP_AT, 0x7fc00000);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	/* All three. */
	b = hidden_in_noise(4000);
	for (unsigned i = 0; i < 3; i++)
		setb32(&b, MLP_AT + build_mlp_stream(&hidden.built, i, 0) + 8, 12);
	finds(&b, MLP_AT, NO, MGP_AT);
}

static void test_skinned(void **state)
{
	struct buf b = hidden_in_noise(4000);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		setb32(&b, MLP_AT + build_mlp_metadata(&hidden.built, i) + 0x9c, 0xc0);
	finds(&b, MLP_AT, NO, MGP_AT);
	b = hidden_in_noise(4000);
	setb32(&b, MLP_AT + build_mlp_metadata(&hidden.built, 0) + 0x9c, 0xc0);
	setb32(&b, MMP_AT, 0x7fc00000);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
}

static void test_third_rule(void **state)
{
	struct buf b = hidden_in_noise(4000);

	(void)state;
	memset(b.p + 0xb00 + 16, 0, 64);       /* zeros at another place's gaps */
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	b = hidden_in_noise(4000);
	memset(b.p + 0xb00 + 16, 0, 64);
	memset(b.p + 0xb00 + 104, 0, 8);
	finds(&b, MLP_AT, MMP_AT, NO);
	for (unsigned k = 0; k < 4; k++) {
		b = hidden_in_noise(4000);
		b.p[MGP_AT + (unsigned[]){ 16, 79, 104, 111 }[k]] = 1;
		finds(&b, MLP_AT, MMP_AT, NO);
	}
	b = hidden_in_noise(4000);
	b.p[MGP_AT + 103] = 0;                 /* a row may be zero too */
	b.p[MGP_AT + 15] = 0;
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	/* Without a gap it may lie anywhere. */
	b = hidden_in_noise(4000);
	setb32(&b, MLP_AT + build_mlp_record(2) + 12, 16);
	setb32(&b, MLP_AT + build_mlp_record(2) + 24, 32);
	finds(&b, MLP_AT, MMP_AT, NO);
	/* No mesh has any. */
	b = hidden_in_noise(4000);
	setb32(&b, MLP_AT + build_mlp_record(0) + 24, 0);
	setb32(&b, MLP_AT + build_mlp_record(2) + 24, 0);
	finds(&b, MLP_AT, MMP_AT, NO);
}

/* Gaps of other lengths than alignment leaves, also such as hide at the beginning of 16 bytes. */
static void test_gaps(void **state)
{
	static const struct { uint32_t at, size; } second[] = {
		{ 17, 15 }, { 18, 30 }, { 48, 16 }, { 64, 1 }, { 100, 12 }, { 160, 16 },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(second); k++) {
		struct buf b = hidden_in_noise(4000);
		uint32_t end = second[k].at + second[k].size, size = (end + 15) / 16 * 16;

		setb32(&b, MLP_AT + build_mlp_record(2) + 12, second[k].at);
		setb32(&b, MLP_AT + build_mlp_record(2) + 24, second[k].size);
		memset(b.p + MGP_AT, 0xee, 200);
		memset(b.p + MGP_AT + 16, 0, second[k].at - 16);
		memset(b.p + MGP_AT + end, 0, size - end);
		/* A gap of a byte or two is zero in noise here and there. */
		finds(&b, MLP_AT, MMP_AT, second[k].at < 19 ? NO : MGP_AT);
	}
}

/* Zeros in abundance are no MMP, nor a place for one that reaches into them. */
static void test_zeros(void **state)
{
	struct buf b = { 0 };

	(void)state;
	put8(&b, 0);
	put_zeros(&b, 70000);
	lay(&b, 4096, &hidden.part[BUILD_MLP]);
	lay(&b, 60000 / 16 * 16, &hidden.part[BUILD_MMP]);
	finds(&b, 4096, 60000 / 16 * 16, NO);
	b = (struct buf){ 0 };
	put8(&b, 0);
	put_zeros(&b, 70000);
	lay(&b, 4096, &hidden.part[BUILD_MLP]);
	finds(&b, 4096, NO, NO);
}

/* Vertices with coordinates that the bits know nothing of, or that do not begin at multiples of 16. */
static void test_any_vertices(void **state)
{
	struct buf b = hidden_in_noise(4000);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		setb32(&b, MLP_AT + build_mlp_metadata(&hidden.built, i) + 0x70, f32_bits(3e8f));
		setb32(&b, MMP_AT + (unsigned[]){ 0, 96, 166 }[i], f32_bits(2e8f));
	}
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
	b = hidden_in_noise(4000);
	for (unsigned i = 0; i < 3; i++)
		setb32(&b, MLP_AT + build_mlp_record(i) + 8, (uint32_t[]){ 8, 104, 168 }[i]);
	memset(b.p + MMP_AT, 0xaa, 8);
	memmove(b.p + MMP_AT + 8, hidden.part[BUILD_MMP].p, MMP_SIZE);
	finds(&b, MLP_AT, MMP_AT, MGP_AT);
}

/* Indices may lie before the vertices. */
static void test_indices_first(void **state)
{
	static const uint16_t three[] = { 2, 1, 0, 0, 1, 2, 1, 2, 0, 0, 2, 1 };
	struct build_mlp m = { 0 };
	struct buf p[BUILD_PARTS], b = { 0 };

	(void)state;
	build_mlp_mesh(&m, &(struct build_mlp_mesh){ 5, 9, 12, 0, three, 1, { { 0, 12, 1 } }, false, true });
	build_mlp(&m, p);
	build_noise(&b, 3000, 5);
	lay(&b, 1000, &p[BUILD_MLP]);
	lay(&b, 160, &p[BUILD_MMP]);
	for (unsigned k = 0; k < BUILD_PARTS; k++)
		buf_free(&p[k]);
	finds(&b, 1000, 160, NO);
}

/* Of equal ones each has its own MMP while there are enough. */
static void test_copies(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_noise(&b, 20000, 7);
	for (unsigned k = 0; k < 3; k++)
		lay(&b, 4000 + 4000 * k, &hidden.part[BUILD_MLP]);
	lay(&b, 0x400, &hidden.part[BUILD_MMP]);
	lay(&b, 0x600, &hidden.part[BUILD_MMP]);
	found(search_buf(&b), (struct place[]){ { 4000, 0x400, NO }, { 8000, 0x600, NO }, { 12000, 0x600, NO } }, 3);
	buf_free(&b);
}

/* A header in what is a table already is part of that. */
static void test_inside(void **state)
{
	struct buf b = hidden_in_noise(6000);

	(void)state;
	setb32(&b, MLP_AT + 0x1c, 0xfafa0003); /* as the id of the first mesh */
	setb32(&b, MLP_AT + 0x70 + 0x80, 0xfafa0003);
	found(search_buf(&b), &(struct place){ MLP_AT, MMP_AT, MGP_AT }, 1);
	lay(&b, 4000, &hidden.part[BUILD_MLP]);       /* another, which has no MMP of its own */
	found(search_buf(&b), (struct place[]){ { MLP_AT, MMP_AT, MGP_AT }, { 4000, MMP_AT, MGP_AT } }, 2);
	buf_free(&b);
}

/* ---- large files ---- */

/* A file of zeros and a few other bytes. */
static void write_at(struct plan *p, uint64_t at, const struct buf *b)
{
	assert_int_equal(plan_write(p, at, b->p, b->len), 0);
}

static void in_large(uint64_t size, uint64_t mlp, uint64_t mmp)
{
	struct source *zeros = src_zeros(size), *src;
	struct plan plan;

	plan_init(&plan, zeros);
	write_at(&plan, mlp, &hidden.part[BUILD_MLP]);
	write_at(&plan, mmp, &hidden.part[BUILD_MMP]);
	src = src_overlay(&plan);
	found(search(src), &(struct place){ mlp, mmp, NO }, 1);
	src_put(src);
	plan_free(&plan);
	src_put(zeros);
}

/* Across what is read at once, and what is looked at as a whole. */
static void test_borders(void **state)
{
	static const uint32_t borders[] = { 1024, 4096, 256 << 10, 512 << 10 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(borders); k++) {
		for (int before = -4; before <= 32; before += 4)
			in_large(600 << 10, borders[k] - before, 8192);
		for (int before = -16; before <= 80; before += 16)
			in_large(600 << 10, 8192, borders[k] - before);
	}
}

/* So large that two threads go through it: across the middle, too. */
static void test_halves(void **state)
{
	const uint64_t size = 65 << 20, middle = (size / 2 + (256 << 10) - 1) / (256 << 10) * (256 << 10);

	(void)state;
	in_large(size, 4096, size - MMP_SIZE);
	in_large(size, size - MLP_SIZE, 0);
	for (unsigned before = 0; before <= 28; before += 4)
		in_large(size, middle - before, middle - 4096);
	in_large(size, 512, middle - 64);
	in_large(size, middle - 1024, middle + 2048);
	in_large(size, middle - 1028, middle + 2048);
}

/* A table is longer than what is read at once, and a run of vertices than a word of bits. */
static void test_long(void **state)
{
	enum { N = 1000 };
	static uint16_t indices[3 * N];
	struct build_mlp m = { 0 };
	struct buf p[BUILD_PARTS], b = { 0 };

	(void)state;
	for (unsigned i = 0; i < 3 * N; i++)
		indices[i] = (uint16_t)((i + i / 3 % 5) % N);
	build_mlp_mesh(&m, &(struct build_mlp_mesh){ 5, N, 3 * N, 12, indices, 1, { { 0, 3 * N, 1 } }, false, false });
	build_mlp(&m, p);
	build_noise(&b, 200000, 5);
	lay(&b, 1000, &p[BUILD_MLP]);
	lay(&b, 150000 / 16 * 16, &p[BUILD_MMP]);
	/* A like one before it, whose last index is too large. */
	lay(&b, 50000, &p[BUILD_MMP]);
	setb16(&b, 50000 + N * 16 + 2 * (3 * N - 1), N);
	for (unsigned k = 0; k < BUILD_PARTS; k++)
		buf_free(&p[k]);
	finds(&b, 1000, 150000 / 16 * 16, NO);
}

/* ---- what cannot be read ---- */

static int bad_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	if (at < (256 << 10))
		return s->size & 1 ? -ESTALE : -EIO;
	return src_pread(s->parent, buf, n, at);
}

static void test_unreadable(void **state)
{
	static const struct source_ops ops = { .pread = bad_pread };
	struct buf b = { 0 };
	struct source bad = { .ops = &ops };
	struct carve_finding *f = NULL;
	struct err e = { 0 };

	(void)state;
	build_noise(&b, 300 << 10, 7);
	lay(&b, 1000, &hidden.part[BUILD_MLP]);
	lay(&b, 260 << 10, &hidden.part[BUILD_MLP]);
	lay(&b, 270 << 10, &hidden.part[BUILD_MMP]);
	bad.parent = src_memory(b.p, b.len);
	bad.size = b.len;
	found(search(&bad), &(struct place){ 260 << 10, 270 << 10, NO }, 1);
	bad.size--;
	assert_int_equal(carve_search(&bad, 0, false, NULL, &f, &e), -ESTALE);
	src_put(bad.parent);
	buf_free(&b);
}

/* ---- bits ---- */

static bool likely(const uint8_t *p)
{
	unsigned first = p[0] & 0x7f;

	return !first || (first >= 0x20 && first <= 0x4a);
}

static void test_bits(void **state)
{
	struct buf b = { 0 };
	struct carve_word w;

	(void)state;
	build_noise(&b, 1024, 11);
	for (unsigned i = 0; i < 1024; i++)    /* many zeros */
		b.p[i] = i / 4 % 3 && b.p[i] & 0x40 ? 0 : b.p[i] & (i / 128 % 2 ? 0xff : 0x9f);
	memset(b.p + 160, 0, 48);
	memset(b.p + 512, 0, 15);
	w = carve_bits_of(b.p);
	for (unsigned k = 0; k < 64; k++) {
		const uint8_t *p = b.p + 16 * k;

		assert_int_equal(w.vertex >> k & 1, likely(p) && likely(p + 4) && likely(p + 8));
		assert_int_equal(w.tail >> k & 1, !be_u32(p + 12));
		assert_int_equal(w.zero >> k & 1, !be_u32(p) && !be_u32(p + 4) && !be_u32(p + 8) && !be_u32(p + 12));
	}
	assert_int_equal(w.zero >> 10 & 7, 7);
	buf_free(&b);
}

/* Of each kind of block, one that can be and one that cannot. */
static void test_streams(void **state)
{
	static const struct { uint8_t p[28]; bool is; } cases[] = {
		{ { 0x78, 0x9c, 0x03 }, true }, { { 0x78, 0x01, 0x02 }, true }, { { 0x78, 0x5e, 0x03 }, true },
		{ { 0x78, 0xda, 0x63 }, true }, { { 0x78, 0x9d, 0x03 }, false }, { { 0x79, 0x9c, 0x03 }, false },
		{ { 0x78, 0x9c, 0x07 }, false },
		{ { 0x78, 0x9c, 0x01, 0x05, 0x00, 0xfa, 0xff }, true },
		{ { 0x78, 0x9c, 0x01, 0x05, 0x00, 0xfa, 0xfe }, false },
		/* Four lengths: 1, 1, 0, 0 are a whole tree, 1, 2, 0, 0 and 1, 1, 1, 0 none; 30 codes are too many. */
		{ { 0x78, 0x9c, 0x05, 0x00, 0x12, 0x00 }, true }, { { 0x78, 0x9c, 0x05, 0x00, 0x22, 0x00 }, false },
		{ { 0x78, 0x9c, 0x05, 0x00, 0x92, 0x00 }, false }, { { 0x78, 0x9c, 0xf5, 0x00, 0x12, 0x00 }, false },
		{ { 0x78, 0x9c, 0x05, 0x1e, 0x12, 0x00 }, false },
	};
	uint8_t run[1024 + 28];

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(cases); k++)
		if (carve_is_stream(cases[k].p) != cases[k].is)
			fail_msg("case %zu", k);
	for (unsigned at = 0; at < 1024; at++) {
		memset(run, 0x77, sizeof run);
		assert_false(carve_may_stream(run));
		run[at] = 0x78;
		assert_false(carve_may_stream(run));
		run[at + 1] = (uint8_t[]){ 0x01, 0x5e, 0x9c, 0xda }[at % 4];
		assert_true(carve_may_stream(run));
	}
}

static void test_may_begin(void **state)
{
	uint8_t run[1024 + 28];

	(void)state;
	for (unsigned at = 0; at < 1024; at += 4) {
		memset(run, 0xff, sizeof run);
		assert_false(carve_may_begin(run));
		put_be32(run + at, 0xfafa0003);
		assert_false(carve_may_begin(run));
		put_be16(run + at + 8, 28);
		assert_false(carve_may_begin(run));
		put_be32(run + at + 24, 28);
		assert_true(carve_may_begin(run));
		run[at + 3] = 2;
		assert_false(carve_may_begin(run));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one), cmocka_unit_test(test_ends), cmocka_unit_test(test_not_aligned),
		cmocka_unit_test(test_first_rule), cmocka_unit_test(test_data_base),
		cmocka_unit_test(test_second_rule), cmocka_unit_test(test_broken), cmocka_unit_test(test_skinned),
		cmocka_unit_test(test_third_rule), cmocka_unit_test(test_gaps), cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_any_vertices), cmocka_unit_test(test_indices_first),
		cmocka_unit_test(test_copies), cmocka_unit_test(test_inside), cmocka_unit_test(test_borders),
		cmocka_unit_test(test_halves), cmocka_unit_test(test_long), cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_bits), cmocka_unit_test(test_streams), cmocka_unit_test(test_may_begin),
	};

	return cmocka_run_group_tests(tests, hidden_start, hidden_end);
}
