/* Bytes of unknown layout as an archive: who is asked, what its entries are, what is remembered and what is said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "build_mhp.h"
#include "bytes.h"
#include "carving.h"
#include "edited.h"
#include "hidden.h"
#include "opened.h"

extern const struct format fmt_carved;

/* ---- as a format ---- */

static struct entries listed(struct object *o)
{
	struct entries v = { 0 };
	struct err e = { 0 };

	if (fmt_carved.container->list(o, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static void test_entries(void **state)
{
	struct buf b = hidden_in_noise(4000);
	struct opened a = open_buf(&fmt_carved, &b);
	struct entries v = listed(a.o);

	(void)state;
	assert_null(a.o->faults);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.name[0], "00000064.mlp");
	assert_int_equal(v.v[0].at, MLP_AT);
	assert_int_equal(v.v[0].size, MLP_SIZE);
	assert_int_equal(v.member[0][0].at, MMP_AT);
	assert_int_equal(v.member[0][0].size, MMP_SIZE);
	assert_int_equal(v.member[0][1].at, MGP_AT);
	assert_int_equal(v.member[0][1].size, MGP_SIZE);
	assert_int_equal(v.member[0][2].size, 0);
	assert_false(v.v[0].shared);
	close_opened(&a);
}

/* Without an MMP; and none at all. */
static void test_missing(void **state)
{
	struct buf b = hidden_in_noise(4000);
	struct opened a;
	struct build_doc d;
	struct entries v;

	(void)state;
	memset(b.p + MMP_AT, 0xaa, MMP_SIZE);
	a = open_buf(&fmt_carved, &b);
	v = listed(a.o);
	assert_int_equal(v.member[0][0].size, 0);
	assert_int_equal(v.member[0][1].size, MGP_SIZE);
	build_doc_init(&d);
	assert_int_equal(fmt_carved.container->info(a.o, &v, &d.doc, NULL), 0);
	buf_char(&d.text, 0);
	assert_string_equal((char *)d.text.p, "quartets: 1\nwithout_mmp: 1\nwithout_mgp: 0\n");
	buf_free(&d.text);
	close_opened(&a);
	a = open_bytes(&fmt_carved, "nothing at all", 14);
	assert_non_null(a.o->faults);
	assert_string_equal(a.o->faults->text, "no model library lies in it");
	assert_int_equal(fmt_carved.container->list(a.o, &v, NULL), -EBADMSG);
	close_opened(&a);
}

/* Two that have an MMP together are not written, the others are. */
static void test_shared(void **state)
{
	static const uint16_t three[] = { 29, 28, 27, 1, 2, 3 };
	struct build_mlp m = { 0 };
	struct buf p[BUILD_PARTS], b = hidden_in_noise(12000);
	struct opened a;
	struct entries v;

	(void)state;
	build_mlp_mesh(&m, &(struct build_mlp_mesh){ 5, 30, 6, 0, three, 1, { { 0, 6, 1 } }, false, false });
	build_mlp(&m, p);
	lay(&b, 4096, &hidden.part[BUILD_MLP]);
	lay(&b, 8192, &p[BUILD_MLP]);
	lay(&b, 9600, &p[BUILD_MMP]);
	a = open_buf(&fmt_carved, &b);
	v = listed(a.o);
	assert_int_equal(v.n, 3);
	assert_true(v.v[0].shared && v.v[1].shared && v.member[0][0].shared && v.member[1][1].shared);
	assert_false(v.v[2].shared || v.member[2][0].shared);
	assert_int_equal(v.member[2][0].at, 9600);
	close_opened(&a);
	for (unsigned k = 0; k < BUILD_PARTS; k++)
		buf_free(&p[k]);
}

static void test_sizes_stay(void **state)
{
	struct buf b = hidden_in_noise(4000);
	struct edited k;
	struct entries v;
	struct err e = { 0 };

	(void)state;
	edited_open(&k, &fmt_carved, b.p, b.len, b.len + 1000);
	k.around.grow = true;
	v = listed(k.o);
	assert_int_equal(fmt_carved.container->resize(k.o, &v, 0, MLP_SIZE, &e), 0);
	assert_int_equal(fmt_carved.container->resize(k.o, &v, 0, MLP_SIZE + 5, &e), -ENOSPC);
	assert_string_equal(e.text, "00000064.mlp: 1277 bytes are needed, and there are 1272: 5 bytes are missing; "
				    "what follows is unknown");
	assert_int_equal(fmt_carved.container->resize(k.o, &v, 0, MLP_SIZE - 5, &e), -EPERM);
	assert_string_equal(e.text, "00000064.mlp: 1272 bytes needed, got 1267; what was found in unknown bytes keeps "
				    "its size");
	assert_int_equal(edited_settle(&k), 0);
	edited_close(&k);
	buf_free(&b);
}

/* ---- what was found before ---- */

static struct probe probe_for(struct source *src, unsigned search, bool whole, uint8_t *room)
{
	return (struct probe){
		.name = "x.pak", .size = src->size, .src = src, .room = room, .search = (uint8_t)search, .whole = whole,
	};
}

static void opens_with(struct source *src, struct finding *finding, const struct place *v, uint32_t n)
{
	struct surroundings around = { .finding = finding };
	struct object *o;

	assert_int_equal(object_open(&fmt_carved, src, &around, &o, NULL), 0);
	assert_non_null(o->finding);
	found((struct carve_finding *)finding_ref(o->finding), v, n);
	object_close(o);
}

static void test_finding(void **state)
{
	const struct place place = { MLP_AT, MMP_AT, MGP_AT };
	struct buf b = hidden_in_noise(6000);
	struct source *src = src_memory(b.p, b.len);
	uint8_t room[PROBE_MOST];
	struct probe p = probe_for(src, SEARCH_NAMED, false, room);
	struct err why = { 0 };

	(void)state;
	/* The first MLP tells that it is one. */
	assert_int_equal(fmt_carved.probe(&p), 1);
	assert_false(((struct carve_finding *)p.finding)->whole);
	assert_int_equal(((struct carve_finding *)p.finding)->from, MLP_AT);
	opens_with(src, p.finding, &place, 1);
	finding_put(p.finding);
	/* Who wants all is given all; that is not searched again. */
	p = probe_for(src, SEARCH_ALL, true, room);
	assert_int_equal(fmt_carved.probe(&p), 1);
	assert_true(((struct carve_finding *)p.finding)->whole);
	opens_with(src, p.finding, &place, 1);
	lay(&b, 0x1000, &hidden.part[BUILD_MLP]);
	opens_with(src, p.finding, &place, 1);
	/* Unless it is true no more. */
	b.p[MLP_AT] = 0;
	opens_with(src, p.finding, &(struct place){ 0x1000, MMP_AT, MGP_AT }, 1);
	finding_put(p.finding);
	b.p[0x1000] = 0;
	p = probe_for(src, SEARCH_ALL, true, room);
	p.instead = &why;
	assert_int_equal(fmt_carved.probe(&p), 0);
	assert_null(p.finding);
	assert_int_equal(why.code, 0);
	p.search = SEARCH_NAMED;
	assert_int_equal(fmt_carved.probe(&p), 0);
	assert_string_equal(why.text, "no PS3 model library lies in it");
	src_put(src);
	buf_free(&b);
}

/* Only asked when somebody says so, and about what looks like nothing. */
static void test_who_is_asked(void **state)
{
	struct buf b = hidden_in_noise(4000), pak = { 0 };
	struct source *src = src_memory(b.p, b.len);
	uint8_t room[PROBE_MOST];
	struct probe p = probe_for(src, SEARCH_NOT, false, room);

	(void)state;
	assert_null(format_detect(&p, NULL));
	assert_true(p.unsearched);
	p.name = "x.bin";
	assert_null(format_detect(&p, NULL));
	assert_false(p.unsearched);
	p.search = SEARCH_NAMED;
	assert_null(format_detect(&p, NULL));
	p.name = "X.PAK";
	assert_ptr_equal(format_detect(&p, NULL), &fmt_carved);
	finding_put(p.finding);
	p = probe_for(src, SEARCH_ALL, false, room);
	p.name = "";
	assert_ptr_equal(format_detect(&p, NULL), &fmt_carved);
	finding_put(p.finding);
	src_put(src);
	/* A damaged PAK is no unknown one. */
	buf_add(&pak, b.p, b.len);
	memcpy(pak.p, "PACK\0\0\0\0\1\0\0\0", 12);
	src = src_memory(pak.p, pak.len);
	p = probe_for(src, SEARCH_NAMED, false, room);
	assert_null(format_detect(&p, NULL));
	assert_false(p.unsearched);
	p = probe_for(src, SEARCH_ALL, false, room);
	assert_ptr_equal(format_detect(&p, NULL), &fmt_carved);
	finding_put(p.finding);
	src_put(src);
	buf_free(&pak);
	buf_free(&b);
}

/* ---- deflated ones ---- */

static void add_deflated(struct buf *b, const struct buf *what, int level)
{
	uLongf n = compressBound(what->len);
	uint8_t *p = malloc(n);

	assert_non_null(p);
	assert_int_equal(compress2(p, &n, what->p, what->len, level), Z_OK);
	buf_add(b, p, n);
	free(p);
}

static void deflated(const struct buf *b, struct err *e)
{
	struct source *src = src_memory(b->p, b->len);
	struct carve_finding *f = NULL;
	struct buf streams = { 0 };
	bool any;

	*e = (struct err){ 0 };
	assert_int_equal(carve_search(src, 0, false, &streams, &f, e), 0);
	any = carve_deflated(src, &streams, e);
	assert_int_equal(any, e->code != 0);
	buf_free(&streams);
	finding_put(&f->f);
	src_put(src);
}

static void deflated_are(const struct buf *b, const char *want)
{
	struct err e;

	deflated(b, &e);
	assert_string_equal(e.text, want);
}

static void test_deflated(void **state)
{
	struct buf b = { 0 }, later = { 0 };
	char want[400];
	struct err e;
	size_t n, at;

	(void)state;
	build_noise(&b, 1001, 7);
	deflated_are(&b, "");
	add_deflated(&b, &hidden.part[BUILD_MMP], 9);
	deflated_are(&b, "");
	at = b.len;
	add_deflated(&b, &hidden.part[BUILD_MLP], 9);
	n = b.len - at;
	build_noise(&b, 50, 8);
	snprintf(want, sizeof want, "1 deflated model libraries, at 0x%zx (0x%zx bytes): they have to be unpacked to "
		 "be shown", at, n);
	deflated_are(&b, want);
	/* Farther inside, at a multiple of 4, and behind what is unpacked at first; in stored blocks, too. */
	b.len = 0;
	put_zeros(&later, 4);
	for (unsigned i = 0; i < 64; i++)
		put8(&later, i);
	buf_add(&later, hidden.part[BUILD_MLP].p, hidden.part[BUILD_MLP].len);
	for (unsigned i = 0; i < 70000; i++)
		put8(&later, i * i);
	for (int level = 0; level <= 9; level += 9)
		add_deflated(&b, &later, level);
	deflated(&b, &e);
	assert_memory_equal(e.text, "2 deflated model libraries, at 0x0 (0x", 38);
	/* Cut off it is none: its end is not there. */
	b.len = 0;
	add_deflated(&b, &hidden.part[BUILD_MLP], 9);
	b.len -= 100;
	deflated_are(&b, "");
	b.len = 0;
	for (unsigned i = 0; i < 6; i++)
		add_deflated(&b, &hidden.part[BUILD_MLP], 9);
	n = b.len / 6;
	snprintf(want, sizeof want, "6 deflated model libraries, at 0x0 (0x%zx bytes), 0x%zx (0x%zx bytes), 0x%zx "
		 "(0x%zx bytes), 0x%zx (0x%zx bytes), ...: they have to be unpacked to be shown",
		 n, n, n, 2 * n, n, 3 * n, n);
	deflated_are(&b, want);
	buf_free(&later);
	buf_free(&b);
}

/* ---- any bytes ---- */

static void use(const uint8_t *p, size_t n)
{
	struct opened a = open_bytes(&fmt_carved, p, n);
	struct entries v;

	if (!fmt_carved.container->list(a.o, &v, NULL)) {
		for (uint32_t i = 0; i < v.n; i++) {
			assert_true(span_ok(n, v.v[i].at, v.v[i].size, 1));
			for (unsigned k = 0; k < MEMBERS_MOST; k++)
				assert_true(span_ok(n, v.member[i][k].at, v.member[i][k].size, 1));
		}
	}
	close_opened(&a);
}

static void test_any_bytes(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (unsigned k = 0; k < BUILD_PARTS - 1; k++) {
		put_zeros(&b, 16);
		buf_add(&b, hidden.part[k].p, hidden.part[k].len);
	}
	each_cut(&b, use);
	each_change(&b, use);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries), cmocka_unit_test(test_missing), cmocka_unit_test(test_shared),
		cmocka_unit_test(test_sizes_stay), cmocka_unit_test(test_finding),
		cmocka_unit_test(test_who_is_asked), cmocka_unit_test(test_deflated),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, hidden_start, hidden_end);
}
