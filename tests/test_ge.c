/* Vertex types and display lists of the PSP's graphics engine. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "ge.h"

/* ---- vertex types ---- */

static unsigned up(unsigned n, unsigned to)
{
	while (n % to)
		n++;
	return n;
}

struct expected { unsigned at, most; };

static void expect_field(struct expected *x, const struct ge_field *f, unsigned format, unsigned size, unsigned count)
{
	assert_int_equal(f->format, format);
	assert_int_equal(f->count, format ? count : 0);
	if (!format)
		return;
	x->at = up(x->at, size);
	assert_int_equal(f->at, x->at);
	x->at += size * count;
	if (size > x->most)
		x->most = size;
}

static void expect_layout(uint32_t type)
{
	static const unsigned sizes[] = { 0, 1, 2, 4 }, colours[] = { 0, 0, 0, 0, 2, 2, 2, 4 };
	unsigned weight = type >> 9 & 3, uv = type & 3, colour = type >> 2 & 7, normal = type >> 5 & 3,
		 position = type >> 7 & 3;
	struct expected x = { 0, 1 };
	struct ge_vertex v;

	assert_null(ge_vertex_type(type, &v));
	expect_field(&x, &v.weight, weight, sizes[weight], (type >> 14 & 7) + 1);
	expect_field(&x, &v.uv, uv, sizes[uv], 2);
	expect_field(&x, &v.colour, colour, colours[colour], 1);
	expect_field(&x, &v.normal, normal, sizes[normal], 3);
	expect_field(&x, &v.position, position, sizes[position], 3);
	assert_int_equal(v.size, up(x.at, x.most));
	assert_int_equal(v.morphs, (type >> 18 & 7) + 1);
	assert_int_equal(v.stride, v.size * v.morphs);
	assert_int_equal(v.index_size, sizes[type >> 11 & 3]);
	assert_int_equal(ge_type_has_weights(type), weight != 0);
	assert_int_equal(v.type, type);
}

/* Every word whose fields all have a meaning, with the unused bits clear and set. */
static void every_vertex_type(void **state)
{
	const uint32_t unused = 1u << 13 | 1u << 17 | 3u << 21;
	unsigned n = 0;

	(void)state;
	for (uint32_t type = 0; type < 1u << 21; type++) {
		unsigned colour = type >> 2 & 7;

		if (type & unused || !(type >> 7 & 3) || (colour > 0 && colour < 4))
			continue;
		expect_layout(type);
		expect_layout(type | unused);
		n++;
	}
	assert_int_equal(n, 4 * 5 * 4 * 3 * 4 * 4 * 8 * 8);
}

static void vertex_types_of_the_samples(void **state)
{
	struct ge_vertex v;

	(void)state;
	assert_null(ge_vertex_type(0x1322, &v));
	assert_int_equal(v.uv.at, 2);
	assert_int_equal(v.normal.at, 6);
	assert_int_equal(v.position.at, 10);
	assert_int_equal(v.stride, 16);
	assert_int_equal(v.index_size, 2);
	assert_null(ge_vertex_type(0x8b22, &v));
	assert_int_equal(v.weight.count, 3);
	assert_int_equal(v.uv.at, 4);
	assert_int_equal(v.position.at, 12);
	assert_int_equal(v.stride, 18);
}

static void vertex_types_no_model_has(void **state)
{
	struct ge_vertex v;

	(void)state;
	assert_string_equal(ge_vertex_type(0, &v), "no position");
	assert_string_equal(ge_vertex_type(0x800000 | 0x1322, &v), "screen coordinates (through mode)");
	for (unsigned colour = 1; colour < 4; colour++)
		assert_string_equal(ge_vertex_type(0x1322 | colour << 2, &v), "an unknown colour format");
}

/* ---- components ---- */

static void every_integer_comes_back(void **state)
{
	(void)state;
	for (unsigned is_signed = 0; is_signed < 2; is_signed++) {
		struct ge_field one = { 1, 3, is_signed, 2 }, two = { 2, 3, is_signed, 2 };
		uint8_t vertex[16] = { 0 }, again[16] = { 0 };

		for (unsigned v = 0; v < 65536; v++) {
			double d;

			vertex[4] = (uint8_t)v;
			d = ge_get(&one, vertex, 2);
			assert_true(d == (is_signed ? (int8_t)v : (uint8_t)v) / 128.0);
			ge_put(&one, again, 2, d);
			assert_memory_equal(vertex, again, 16);
			put_le16(vertex + 4, (uint16_t)v);
			d = ge_get(&two, vertex, 1);
			assert_true(d == (is_signed ? (int16_t)v : (uint16_t)v) / 32768.0);
			ge_put(&two, again, 1, d);
			assert_memory_equal(vertex, again, 16);
		}
	}
}

static uint32_t stored(unsigned format, bool is_signed, double v)
{
	struct ge_field f = { (uint8_t)format, 1, is_signed, 0 };
	uint8_t vertex[4] = { 0 };

	ge_put(&f, vertex, 0, v);
	return le_u32(vertex);
}

static void components_round_and_stay_in_range(void **state)
{
	(void)state;
	assert_int_equal(stored(1, true, 1.0), 0x7f);
	assert_int_equal(stored(1, true, -1.5), 0x80);
	assert_int_equal(stored(1, false, -1.0), 0);
	assert_int_equal(stored(1, false, 5.0), 0xff);
	assert_int_equal(stored(2, true, 1.0), 0x7fff);
	assert_int_equal(stored(2, true, -INFINITY), 0x8000);
	assert_int_equal(stored(2, false, INFINITY), 0xffff);
	assert_int_equal(stored(2, true, NAN), 0x8000);
	assert_int_equal(stored(1, true, 1.4 / 128), 1);
	assert_int_equal(stored(1, true, 1.6 / 128), 2);
	assert_int_equal(stored(3, true, -2.5), f32_bits(-2.5f));
}

static void every_colour_comes_back(void **state)
{
	uint8_t rgba[4];

	(void)state;
	for (unsigned format = 0; format < 3; format++)
		for (uint32_t v = 0; v < 65536; v++) {
			ge_colour_get(format, v, rgba);
			assert_int_equal(ge_colour_put(format, rgba), v);
		}
	ge_colour_get(0, 0x001f | 0x20 << 5, rgba);            /* red is low; 6 bits of green */
	assert_memory_equal(rgba, "\xff\x82\x00\xff", 4);
	ge_colour_get(1, 0x8000 | 0x10, rgba);
	assert_memory_equal(rgba, "\x84\x00\x00\xff", 4);
	ge_colour_get(1, 0x7c00, rgba);
	assert_memory_equal(rgba, "\x00\x00\xff\x00", 4);
	ge_colour_get(2, 0x4321, rgba);
	assert_memory_equal(rgba, "\x11\x22\x33\x44", 4);
	ge_colour_get(3, 0x04030201, rgba);
	assert_memory_equal(rgba, "\x01\x02\x03\x04", 4);
	assert_int_equal(ge_colour_put(3, rgba), 0x04030201);
}

/* ---- addresses ---- */

static void addresses(void **state)
{
	struct ge_address a = { 0 };

	(void)state;
	assert_int_equal(ge_address_of(&a, 0x123), 0x123);     /* from the start of the region */
	ge_address_follow(&a, ge_word(GE_ORIGIN, 0xffffff), 0x40);
	assert_int_equal(ge_address_of(&a, 0x30), 0x70);
	ge_address_follow(&a, ge_word(GE_BASE, 0x0f1234), 0);
	assert_int_equal(ge_address_of(&a, 0x30), 0x0f000070);
	assert_int_equal(ge_address_arg(&a, 0x0f000070), 0x30);
	ge_address_follow(&a, ge_word(GE_OFFSETADDR, 0x000102), 0);
	assert_int_equal(ge_address_of(&a, 0), 0x0f010200);
	ge_address_follow(&a, ge_word(GE_OFFSETADDR, 0x100000), 0);
	assert_int_equal(ge_address_of(&a, 5), 0x0f000005);    /* addresses have 28 bits */
	ge_address_follow(&a, ge_word(GE_OFFSETADDR, 0), 0);
	ge_address_follow(&a, ge_word(GE_BASE, 0), 0);
	ge_address_follow(&a, ge_word(GE_ORIGIN, 0), 0x40);
	assert_int_equal(ge_address_of(&a, 0xffffff), 0x0100003f);
	assert_int_equal(ge_address_arg(&a, 0x10), 0xffffd0);  /* backwards, as the walk wraps */
}

/* ---- display lists ---- */

#define VTYPE_PLAIN 0x000100u                  /* s16 positions, no index: 6 bytes */
#define VTYPE_U8 0x000900u
#define VTYPE_U16 0x001100u

struct list {
	uint8_t bytes[4096];
	uint32_t n;                            /* bytes of the list */
	struct source *src;
	struct ge_region region;
	struct ge_walk w;
};

/* The words at offset 0x20 of a region of 0x800 bytes that begins at byte 0x10 of its source. */
static void begin(struct list *l, const uint32_t *words, unsigned n, uint32_t indices, bool nops)
{
	memset(l->bytes, 0, sizeof l->bytes);
	for (unsigned i = 0; i < n; i++)
		put_le32(l->bytes + 0x30 + 4 * i, words[i]);
	l->src = src_memory(l->bytes, sizeof l->bytes);
	assert_non_null(l->src);
	l->region = (struct ge_region){ l->src, 0x10, 0x800 };
	ge_walk(&l->w, &l->region, 3, 0x20, 0x800, indices, nops);
}

#define BEGIN(l, ...) begin(l, (const uint32_t[]){ __VA_ARGS__ }, ARRAY_LEN(((const uint32_t[]){ __VA_ARGS__ })), \
			    GE_NO_ADDRESS, false)

static void expect_prim(struct list *l, unsigned type, uint32_t count, uint32_t vertices, uint32_t indices)
{
	struct ge_prim p;
	struct err why = { 0 };

	if (ge_walk_next(&l->w, &p, &why) != 1)
		fail_msg("no PRIM: %s", why.text);
	assert_int_equal(p.type, type);
	assert_int_equal(p.count, count);
	assert_int_equal(p.vertices, vertices);
	assert_int_equal(p.indices, indices);
}

static void expect_end(struct list *l)
{
	struct ge_prim p;
	struct err why = { 0 };

	if (ge_walk_next(&l->w, &p, &why))
		fail_msg("%s", why.text);
	src_put(l->src);
}

static void expect_error(struct list *l, const char *text)
{
	struct ge_prim p;
	struct err why = { 0 };
	int rc = 1;

	while (rc == 1)
		rc = ge_walk_next(&l->w, &p, &why);
	assert_int_equal(rc, -EBADMSG);
	assert_string_equal(why.text, text);
	src_put(l->src);
}

#define V(arg) ge_word(GE_VADDR, arg)
#define I(arg) ge_word(GE_IADDR, arg)
#define T(arg) ge_word(GE_VTYPE, arg)
#define P(type, n) ge_word(GE_PRIM, (type) << 16 | (n))
#define RET ge_word(GE_RET, 0)

static void prims_walk_on(void **state)
{
	struct list l;

	(void)state;
	/* Without indices the vertex pointer moves, with them the index pointer does and vertices stay. */
	BEGIN(&l, ge_word(GE_ORIGIN, 0), V(0x100), T(VTYPE_PLAIN), P(GE_STRIP, 5), P(GE_TRIANGLES, 3), V(0x200),
	      P(GE_FAN, 4), RET);
	expect_prim(&l, GE_STRIP, 5, 0x120, GE_NO_ADDRESS);
	expect_prim(&l, GE_TRIANGLES, 3, 0x13e, GE_NO_ADDRESS);
	expect_prim(&l, GE_FAN, 4, 0x220, GE_NO_ADDRESS);
	expect_end(&l);
	BEGIN(&l, I(0x300), V(0x100), T(VTYPE_U16), P(GE_STRIP, 5), P(GE_STRIP, 3), I(0x400), P(GE_STRIP, 3), V(0x180),
	      P(GE_STRIP, 1), RET);
	expect_prim(&l, GE_STRIP, 5, 0x100, 0x300);
	expect_prim(&l, GE_STRIP, 3, 0x100, 0x30a);
	expect_prim(&l, GE_STRIP, 3, 0x100, 0x400);
	expect_prim(&l, GE_STRIP, 1, 0x180, 0x406);
	assert_int_equal(l.w.indices, 0x408);
	expect_end(&l);
}

static void types_faces_and_unknown_commands(void **state)
{
	struct list l;
	struct ge_prim p;

	(void)state;
	BEGIN(&l, 0x1d000000, V(0x100), T(VTYPE_PLAIN), P(GE_CONTINUE, 3), P(GE_LINES, 2), P(GE_CONTINUE, 2),
	      0x9b000001, 0x50000001, P(GE_RECTANGLES, 2), 0x9b000000, P(GE_FAN, 0), ge_word(GE_FINISH, 0));
	expect_prim(&l, GE_POINTS, 3, 0x100, GE_NO_ADDRESS);
	expect_prim(&l, GE_LINES, 2, 0x112, GE_NO_ADDRESS);
	expect_prim(&l, GE_LINES, 2, 0x11e, GE_NO_ADDRESS);
	assert_int_equal(ge_walk_next(&l.w, &p, NULL), 1);
	assert_true(p.reversed);
	assert_int_equal(p.type, GE_RECTANGLES);
	assert_int_equal(ge_walk_next(&l.w, &p, NULL), 1);
	assert_false(p.reversed);
	assert_int_equal(p.at, 0x20 + 4 * 10);
	expect_end(&l);
	assert_int_equal(l.w.pc, 0x20 + 4 * 12);
	BEGIN(&l, ge_word(GE_END, 0), 0xffffffff);
	expect_end(&l);
}

static void index_pointer_of_an_earlier_list(void **state)
{
	const uint32_t words[] = { V(0x100), T(VTYPE_U8), P(GE_STRIP, 5), RET };
	struct list l;

	(void)state;
	begin(&l, words, ARRAY_LEN(words), 0x2f0, false);
	expect_prim(&l, GE_STRIP, 5, 0x100, 0x2f0);
	assert_int_equal(l.w.indices, 0x2f5);
	expect_end(&l);
	begin(&l, words, ARRAY_LEN(words), GE_NO_ADDRESS, false);
	expect_error(&l, "display list 3 at 0x38: PRIM without IADDR, here or in a list before");
}

static void prims_turned_into_nops(void **state)
{
	const uint32_t strip = P(GE_STRIP, 5) & GE_ARG, fan = P(GE_FAN, 4) & GE_ARG;
	const uint32_t words[] = { I(0x300), V(0x100), T(VTYPE_U8), strip, 0x00080003, 0, fan, RET };
	struct list l;
	struct ge_prim p;

	(void)state;
	begin(&l, words, ARRAY_LEN(words), GE_NO_ADDRESS, false);
	expect_end(&l);
	assert_int_equal(l.w.nop_prims, 2);
	assert_int_equal(l.w.indices, 0x300);
	begin(&l, words, ARRAY_LEN(words), GE_NO_ADDRESS, true);
	expect_prim(&l, GE_STRIP, 5, 0x100, 0x300);
	assert_int_equal(ge_walk_next(&l.w, &p, NULL), 1);
	assert_true(p.nop);
	assert_int_equal(p.type, GE_FAN);
	assert_int_equal(p.indices, 0x305);
	expect_end(&l);
}

/* Longer than what is read at once; the last word is the last of the region. */
static void long_list(void **state)
{
	uint32_t words[0x1f8];
	struct list l;

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		words[i] = 0xff000000 | i;
	words[200] = T(VTYPE_PLAIN);
	words[300] = V(0x7f4);
	words[400] = P(GE_POINTS, 2);
	words[ARRAY_LEN(words) - 1] = RET;
	begin(&l, words, ARRAY_LEN(words), GE_NO_ADDRESS, false);
	expect_prim(&l, GE_POINTS, 2, 0x7f4, GE_NO_ADDRESS);
	expect_end(&l);
	assert_int_equal(l.w.pc, 0x800);
	words[ARRAY_LEN(words) - 1] = 0;
	begin(&l, words, ARRAY_LEN(words), GE_NO_ADDRESS, false);
	expect_error(&l, "display list 3 at 0x810: no RET before offset 0x800 of the geometry, where it has to end");
}

static void endless_list(void **state)
{
	size_t n = (GE_LIST_WORDS + 10) * 4;
	uint8_t *bytes = calloc(1, n);
	struct ge_region region = { src_memory(bytes, n), 0, n };
	struct ge_walk w;
	struct ge_prim p;
	struct err why;

	(void)state;
	ge_walk(&w, &region, 0, 0, n, GE_NO_ADDRESS, false);
	assert_int_equal(ge_walk_next(&w, &p, &why), -EBADMSG);
	assert_string_equal(why.text, "display list 0 at 0x40000: no RET within 65536 commands");
	src_put(region.src);
	free(bytes);
}

static void damaged_lists(void **state)
{
	struct list l;

	(void)state;
	BEGIN(&l, V(0x100), P(GE_STRIP, 3), RET);
	expect_error(&l, "display list 3 at 0x34: PRIM without VTYPE");
	BEGIN(&l, T(VTYPE_PLAIN), P(GE_STRIP, 3), RET);
	expect_error(&l, "display list 3 at 0x34: PRIM without VADDR");
	BEGIN(&l, T(VTYPE_PLAIN), T(VTYPE_PLAIN), T(VTYPE_U8), RET);
	expect_error(&l, "display list 3 at 0x38: VTYPE 0x000900 after 0x000100: one list has one vertex type");
	BEGIN(&l, T(0x22), RET);
	expect_error(&l, "display list 3 at 0x30: vertex type 0x000022: no position");
	BEGIN(&l, 0, ge_word(GE_JUMP, 0x20), RET);
	expect_error(&l, "display list 3 at 0x34: JUMP, which the lists of models never have");
	BEGIN(&l, ge_word(GE_CALL, 0x20), RET);
	expect_error(&l, "display list 3 at 0x30: CALL, which the lists of models never have");
	BEGIN(&l, V(0x7fa), T(VTYPE_PLAIN), P(GE_STRIP, 1), P(GE_STRIP, 1), RET);
	expect_error(&l, "display list 3 at 0x3c: PRIM: 1 vertices of 6 bytes at offset 0x800 of the geometry end past "
			 "its 2048 bytes");
	BEGIN(&l, V(0x100), I(0x7fe), T(VTYPE_U16), P(GE_STRIP, 2), RET);
	expect_error(&l, "display list 3 at 0x3c: PRIM: 2 indices of 2 bytes at offset 0x7fe of the geometry end past "
			 "its 2048 bytes");
	BEGIN(&l, ge_word(GE_BASE, 0x010000), V(0x100), I(0), T(VTYPE_U16), ge_word(GE_BASE, 0), I(0), P(GE_STRIP, 2),
	      RET);
	expect_error(&l, "display list 3 at 0x48: PRIM: vertices at offset 0x1000100 of the geometry lie past its 2048 "
			 "bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_vertex_type),
		cmocka_unit_test(vertex_types_of_the_samples),
		cmocka_unit_test(vertex_types_no_model_has),
		cmocka_unit_test(every_integer_comes_back),
		cmocka_unit_test(components_round_and_stay_in_range),
		cmocka_unit_test(every_colour_comes_back),
		cmocka_unit_test(addresses),
		cmocka_unit_test(prims_walk_on),
		cmocka_unit_test(types_faces_and_unknown_commands),
		cmocka_unit_test(index_pointer_of_an_earlier_list),
		cmocka_unit_test(prims_turned_into_nops),
		cmocka_unit_test(long_list),
		cmocka_unit_test(endless_list),
		cmocka_unit_test(damaged_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
