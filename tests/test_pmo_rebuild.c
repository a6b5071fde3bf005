/* PMO meshes with a new topology: what is rebuilt, where it goes, and what stays. Every edit is checked by reading the
 * mesh again, triangle by triangle, and by applying the same text once more, which has to change nothing. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "export.h"
#include "ge.h"
#include "opened.h"
#include "pmo.h"
#include "pmo_grid.h"

/* ---- applying ---- */

static bool same_point(const float *a, const struct geo_number *b)
{
	return fabs(a[0] - b[0].v) < 1e-4 && fabs(a[1] - b[1].v) < 1e-4 && fabs(a[2] - b[2].v) < 1e-4;
}

static bool same_face(const struct geo_mesh *g, uint32_t i, const struct geo_put *put, uint32_t f)
{
	for (unsigned turn = 0; turn < 3; turn++) {
		unsigned k = 0;

		while (k < 3 && same_point(g->position[g->face[i][(turn + k) % 3]], put->position[put->face[f][k].v]))
			k++;
		if (k == 3)
			return true;
	}
	return false;
}

/* The mesh has the triangles of the text, turned the same way, in whatever order. */
static void expect_text(struct edited *k, uint32_t i, const char *text)
{
	struct arena a = { 0 };
	struct geo_mesh g;
	struct geo_put put = { 0 };
	struct err e = { 0 };
	bool *found;

	grid_read(k, i, &g, &a);
	if (obj_read((const uint8_t *)text, strlen(text), i, NULL, &put, &a, NULL, &e))
		fail_msg("%s", e.text);
	assert_int_equal(g.nfaces, put.nfaces);
	found = arena_alloc(&a, g.nfaces + 1u, 1);
	for (uint32_t f = 0; f < put.nfaces; f++) {
		uint32_t n = 0;

		while (n < g.nfaces && (found[n] || !same_face(&g, n, &put, f)))
			n++;
		if (n == g.nfaces)
			fail_msg("the face of line %u is missing", put.face_line[f]);
		found[n] = true;
	}
	arena_free(&a);
}

/* Applies the text, ending it with a zero, and looks at what came of it. */
static void apply(struct edited *k, uint32_t i, struct buf *text)
{
	buf_char(text, 0);
	assert_false(text->bad);
	k->said[0] = 0;
	edited_obj_twice(k, i, (const char *)text->p);
	sound(k->o);
	expect_text(k, i, (const char *)text->p);
	buf_free(text);
}

static void refuse(struct edited *k, uint32_t i, struct buf *text, int code, const char *why)
{
	buf_char(text, 0);
	assert_int_equal(edited_obj(k, i, (const char *)text->p), -code);
	if (!strstr(k->why, why))
		fail_msg("\"%s\" does not say \"%s\"", k->why, why);
	assert_int_equal(k->size[0], k->size_was[0]);
	assert_memory_equal(k->bytes[0], k->was[0], k->size[0]);
	buf_free(text);
}

/* The grid's two meshes, opened, and the first one's text. */
static void open_two(struct edited *k, struct build_pmo *b, size_t room, struct buf *text)
{
	grid_two_meshes(b);
	grid_open(k, b, room);
	grid_text(k, 0, text);
}

static uint32_t word_of(const struct edited *k, uint64_t at)
{
	return le_u32(k->bytes[0] + at);
}

/* The places of a group, from its record. */
struct places { uint32_t list, vertices, indices; };
static struct places places_of(const struct edited *k, const struct build_pmo *b, unsigned g)
{
	uint64_t at = b->at_groups + 16u * g;

	return (struct places){ word_of(k, at + 4), word_of(k, at + 8), word_of(k, at + 12) };
}

/* ---- triangles ---- */

static void a_triangle_less(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	open_two(&k, &b, 0, &text);
	drop_face(&text, 2);                   /* all its vertices have others */
	apply(&k, 0, &text);
	/* Nothing but the words of its list and its indices; what both gave up is zero. */
	for (uint64_t i = 0; i < k.size[0]; i++) {
		uint64_t at = i - b.at_geometry;

		if (k.bytes[0][i] != k.was[0][i])
			assert_true((at >= b.list[0] && at < b.vertices[0]) ||
				    (at >= b.indices[0] && at < b.indices[0] + 24));
	}
	assert_int_equal(k.size[0], k.size_was[0]);
	assert_string_equal(k.said, "");
	edited_close(&k);
}

static void a_triangle_more(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;
	struct places p;

	(void)state;
	open_two(&k, &b, 4096, &text);
	buf_str(&text, "g group_1\nf 10/10/10 13/13/13 12/12/12\nf 10/10/10 11/11/11 13/13/13\n");
	apply(&k, 0, &text);
	p = places_of(&k, &b, 1);
	assert_int_equal(p.list, b.list[1]);
	assert_int_equal(p.vertices, b.vertices[1]);
	assert_memory_equal(k.bytes[0] + b.at_geometry + p.vertices, k.was[0] + b.at_geometry + p.vertices, 64);
	/* The other groups' blocks have not changed. */
	assert_memory_equal(k.bytes[0] + b.at_geometry, k.was[0] + b.at_geometry, b.list[1]);
	assert_memory_equal(k.bytes[0] + b.at_geometry + b.list[2], k.was[0] + b.at_geometry + b.list[2],
			    b.indices[2] + 6 - b.list[2]);
	edited_close(&k);
}

/* Strips take far less than three indices a triangle, and each vertex stays. */
static void strips_pay(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;
	uint32_t draw[22] = { 0 }, corners = 0, prims = 0, n = 0;
	struct places p;

	(void)state;
	grid_begin(&b, true);
	grid_mesh(&b);
	/* Lists of one PRIM, and of 21 that draw the same. */
	for (unsigned d = 0; d < 21; d++)
		draw[d] = prim(GE_TRIANGLES, 12);
	grid_add(&b, 0, SKINNED16, 0, 0, 7, 6, NULL);
	grid_add(&b, 0, SKINNED16, 0, 8, 7, 6, draw);
	grid_open(&k, &b, 0);
	grid_text(&k, 0, &text);
	drop_face(&text, 0);
	drop_face(&text, 83);
	apply(&k, 0, &text);
	for (unsigned g = 0; g < 2; g++) {
		p = places_of(&k, &b, g);
		assert_int_equal(p.list, b.list[g]);
		assert_int_equal(p.indices, b.indices[g]);
		corners = prims = 0;
		for (n = 0; n < b.words[g]; n++) {
			uint32_t word = word_of(&k, b.at_geometry + p.list + 4 * n);

			corners += ge_op(word) == GE_PRIM ? word & 0xffff : 0;
			prims += ge_op(word) == GE_PRIM;
		}
		assert_true(prims >= 1 && prims <= (g ? 21 : 1));
		assert_true(corners < 83 * 3 / 2);
	}
	edited_close(&k);
}

/* A front face stays one, whatever FFACE says. */
static void reversed_lists(void **state)
{
	const uint32_t draw[] = { fface(1), prim(GE_TRIANGLES, 54), 0 };
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 3, 3, draw);
	grid_open(&k, &b, 512);
	grid_text(&k, 0, &text);
	drop_face(&text, 7);
	apply(&k, 0, &text);
	grid_text(&k, 0, &text);
	buf_str(&text, "v -0.5 -0.5 0.25\ng group_0\nf 1/1/1 5/5/5 17/1/1\n");
	apply(&k, 0, &text);
	edited_close(&k);
}

static void vertices_without_indices(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text, v = { 0 };
	const uint32_t draw[] = { prim(GE_STRIP, 5), prim(GE_TRIANGLES, 3), 0 };
	struct build_group group = { 0, 0x122, .draw = draw };         /* no weights: 14 bytes */

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	for (int i = 0; i < 8; i++) {
		struct buf one = { 0 };

		grid_vertex(&one, i / 2, i % 2 + (i > 4 ? 3 : 0), 0);
		buf_add(&v, one.p + 2, 14);
		buf_free(&one);
	}
	group.vertices = v.p;
	group.nvertices = v.len;
	build_group(&b, &group);
	grid_open(&k, &b, 512);
	grid_text(&k, 0, &text);
	drop_face(&text, 1);
	apply(&k, 0, &text);
	assert_int_equal(places_of(&k, &b, 0).indices, 0);
	grid_text(&k, 0, &text);
	buf_str(&text, "v 0.75 0.75 0.125\ng group_0\nf 1/1/1 2/2/2 -1/3/3\nf 2/2/2 3/3/3 -1/3/3\n");
	apply(&k, 0, &text);
	edited_close(&k);
	buf_free(&v);
}

/* ---- vertices ---- */

/* The weight byte of each vertex of group g, by its number. */
static unsigned weight_at(const struct edited *k, const struct build_pmo *b, unsigned g, unsigned v)
{
	return k->bytes[0][b->at_geometry + places_of(k, b, g).vertices + 16 * v];
}

static void a_vertex_more(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;
	struct places p;
	const uint8_t *v;

	(void)state;
	open_two(&k, &b, 4096, &text);
	/* Right of (4, 0) and (4, 1) of group 1: nearest to the former, whose weight is 5. */
	buf_str(&text, "v 0.625 0.03125 -0.5\nvt 0.25 0.25\nvn 0 1 0\ng group_1\nf 11/11/11 14/14/14 13/13/13\n");
	apply(&k, 0, &text);
	assert_string_equal(k.said,
			    "mesh 0: 1 new vertices took the weights and colours of the nearest old vertex\n");
	p = places_of(&k, &b, 1);
	assert_int_equal(p.list, b.list[1]);
	/* 5 x 16 bytes need the room of the 9 indices too, which do not fit in 16 bytes and go behind everything. */
	assert_int_equal(p.vertices, b.vertices[1]);
	assert_int_equal(p.indices, b.indices[2] + 16);
	v = k.bytes[0] + b.at_geometry + p.vertices;
	assert_memory_equal(v, k.was[0] + b.at_geometry + b.vertices[1], 64);
	assert_int_equal(v[64], 5);
	assert_int_equal(le_u16(v + 66), 8192);                /* u 0.25; v is turned */
	assert_int_equal(le_u16(v + 68), 24576);
	assert_int_equal((int8_t)v[71], 127);                  /* the normal's y */
	assert_int_equal(le_u16(v + 74), 20480);
	assert_int_equal(le_u16(v + 76), 1024);
	assert_int_equal((int16_t)le_u16(v + 78), -16384);
	/* The header counts what the region grew by, and the entry is as long. */
	assert_int_equal(word_of(&k, 8), k.size[0]);
	assert_int_equal(k.size[0], k.size_was[0] + 32);
	/* VADDR counts from ORIGIN, with which the list begins. */
	assert_int_equal(word_of(&k, b.at_geometry + p.list + 12), ge_word(GE_VADDR, p.vertices - p.list));
	edited_close(&k);
}

/* What the first mesh gives up is room for the second. */
static void holes_are_used(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	open_two(&k, &b, 0, &text);
	for (unsigned i = 0; i < 8; i++)
		drop_face(&text, 0);
	apply(&k, 0, &text);
	assert_int_equal(places_of(&k, &b, 0).list, b.list[0]);
	grid_text(&k, 1, &text);
	buf_str(&text, "v 0.5 0.5 0\ng group_0\nf 4/4/4 3/3/3 5/1/1\n");
	apply(&k, 1, &text);
	/* Its buffers have to lie behind its list, so that went to the hole with them. */
	assert_int_equal(k.size[0], k.size_was[0]);
	assert_int_equal(places_of(&k, &b, 2).list, b.vertices[0]);
	for (uint64_t i = b.list[2]; i < b.indices[2] + 6; i++)
		assert_int_equal(k.bytes[0][b.at_geometry + i], 0);
	edited_close(&k);
}

static void no_room(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	open_two(&k, &b, 0, &text);
	buf_str(&text, "v 0.625 0 -0.5\ng group_1\nf 11/11/11 14/11/11 13/13/13\n");
	refuse(&k, 0, &text, ENOSPC, "32 bytes are missing");
	edited_close(&k);
}

/* Padding of the entry behind the model counts as room, whatever it holds. */
static void padding_is_room(void **state)
{
	struct build_pmo b;
	struct buf bytes = { 0 }, text;
	struct edited k;

	(void)state;
	grid_two_meshes(&b);
	build_pmo(&b, &bytes, NULL);
	for (unsigned i = 0; i < 256; i++)
		put8(&bytes, 0x5d);
	edited_open(&k, &fmt_pmo, bytes.p, bytes.len, bytes.len);
	grid_text(&k, 0, &text);
	buf_str(&text, "v 0.625 0 -0.5\ng group_1\nf 11/11/11 14/11/11 13/13/13\n");
	apply(&k, 0, &text);
	assert_int_equal(k.size[0], bytes.len);
	assert_int_equal(word_of(&k, 8), b.size + 32);
	for (uint64_t i = b.size + 32; i < k.size[0]; i++)
		assert_int_equal(k.bytes[0][i], 0x5d);
	edited_close(&k);
	buf_free(&bytes);
}

static void too_many_for_its_indices(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED8, 0, 0, 7, 7, NULL);
	grid_open(&k, &b, 100000);
	grid_text(&k, 0, &text);
	buf_str(&text, "g group_0\n");
	for (unsigned i = 0; i < 193; i++)
		buf_printf(&text, "v %u.5e-3 0.0 0.5\nf 1/1/1 2/2/2 -1/1/1\n", i);
	refuse(&k, 0, &text, EINVAL, "group 0 would have 257 vertices, its indices of 1 byte count 256 at most");
	grid_text(&k, 0, &text);
	buf_str(&text, "v 0.0 1.5 0.0\ng group_0\nf 1/1/1 2/2/2 65/1/1\n");
	refuse(&k, 0, &text, EINVAL, "y 1.5 is outside -1.0..0.9999695; `rescale: [1.0, 1.5000458, 1.0]`");
	edited_close(&k);
}

/* Two given vertices that round to one. */
static void no_area(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct kept once;
	struct buf text;
	struct arena a = { 0 };
	struct geo_mesh g;

	(void)state;
	open_two(&k, &b, 512, &text);
	buf_str(&text, "v 0.500001 0.000001 0.0\ng group_1\nf 11/11/11 14/11/11 13/13/13\n");
	buf_char(&text, 0);
	drop_face(&text, 9);
	assert_int_equal(edited_obj(&k, 0, (const char *)text.p), 0);
	assert_string_equal(k.said,
			    "mesh 0: 1 triangles are left out, as two of their vertices are stored as one\n");
	grid_read(&k, 0, &g, &a);
	assert_int_equal(g.nfaces, 9);
	once = edited_keep(&k);
	assert_int_equal(edited_obj(&k, 0, (const char *)text.p), 0);
	edited_same(&k, &once);
	arena_free(&a);
	buf_free(&text);
	edited_close(&k);
}

/* At a seam the vertex with the same texture coordinates is meant, so no weight is guessed. */
static void seams(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf v = { 0 }, text;
	static const uint8_t order[] = { 0, 1, 2, 3, 4, 5 };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 6), 0 };
	struct build_group group = { 0, SKINNED8, NULL, order, 96, 6, draw };

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	for (int i = 0; i < 6; i++) {
		grid_vertex(&v, i % 3, i % 3 == 1, 20 + (unsigned)i);
		put_le16(v.p + 16 * i + 2, (uint16_t)(i * 1024));
	}
	group.vertices = v.p;
	build_group(&b, &group);
	grid_open(&k, &b, 512);
	grid_text(&k, 0, &text);
	/* One triangle of vertices of both, one with a texture coordinate of its own. */
	buf_str(&text, "g group_0\nf 1/1/1 5/5/5 3/3/3\nvt 0.5 0.5\nf 4/4/4 3/3/3 2/-1/2\n");
	apply(&k, 0, &text);
	assert_string_equal(k.said, "");
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(weight_at(&k, &b, 0, i), i < 2 ? 20 + i : i == 2 ? 21 : 19 + i);
	edited_close(&k);
	buf_free(&v);
}

/* Vertices that moved, besides: they keep their weights where the triangles tell which they are. */
static void values_and_triangles(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;
	char *line;

	(void)state;
	open_two(&k, &b, 0, &text);
	drop_face(&text, 0);
	drop_face(&text, 0);
	buf_char(&text, 0);
	line = strstr((char *)text.p, "v 0.5 0.125 0");
	assert_non_null(line);
	memcpy(line, "v 0.5 0.25 0 ", 13);
	text.len--;
	apply(&k, 0, &text);
	assert_string_equal(k.said, "");
	assert_int_equal(le_u16(k.bytes[0] + b.at_geometry + b.vertices[1] + 48 + 12), 8192);
	edited_only(&k, 0, b.at_geometry, b.vertices[1] + 64);
	assert_memory_equal(k.bytes[0] + b.at_geometry + b.list[1], k.was[0] + b.at_geometry + b.list[1],
			    b.vertices[1] - b.list[1]);
	edited_close(&k);
}

/* ---- groups ---- */

static void groups_by_material_and_place(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;
	struct arena a = { 0 };
	struct geo_mesh g;

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 2, 2, NULL);
	grid_add(&b, 1, SKINNED16, 3, 0, 1, 1, NULL);
	grid_add(&b, 1, SKINNED16, 0, 5, 1, 1, NULL);
	grid_open(&k, &b, 4096);
	grid_text(&k, 0, &text);
	drop_lines(&text, "g ");
	/* Material 1 near group 2, material 0 far from its group, and none near group 1. */
	buf_str(&text, "v 0.125 0.5 0.0\nv 0.0 0.5 0.0\nv 0.875 0.875 0.0\nv 0.875 0.75 0.0\nv 0.75 0.75 0.0\n"
		       "usemtl material_1\nf 18/1/1 19/1/1 14/1/1\n"
		       "usemtl material_0\nf 20/1/1 21/1/1 22/1/1\n"
		       "usemtl none\nf 12/1/1 11/1/1 22/1/1\n");
	apply(&k, 0, &text);
	grid_read(&k, 0, &g, &a);
	assert_int_equal(g.parts[0].nfaces, 9);
	assert_int_equal(g.parts[1].nfaces, 3);
	assert_int_equal(g.parts[2].nfaces, 3);
	arena_free(&a);
	edited_close(&k);
}

/* A piece added to the first of two groups stands at the end of the text, but not of the mesh. */
static void pieces_that_look_alike(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 1, 1, NULL);
	grid_add(&b, 1, SKINNED16, 3, 0, 1, 1, NULL);
	grid_open(&k, &b, 4096);
	grid_text(&k, 0, &text);
	buf_str(&text, "v 0.0 0.5 0.0\nv 0.125 0.5 0.0\nv 0.0 0.625 0.0\nv 0.125 0.625 0.0\n"
		       "g group_0\nf 9/1/1 10/1/1 11/1/1\nf 10/1/1 12/1/1 11/1/1\n");
	apply(&k, 0, &text);
	edited_close(&k);
}

static void emptied_and_filled_again(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text, again;
	struct arena a = { 0 };
	struct geo_mesh g;

	(void)state;
	grid_two_meshes(&b);
	grid_open(&k, &b, 4096);
	grid_text(&k, 0, &again);
	grid_text(&k, 0, &text);
	drop_face(&text, 9);
	drop_face(&text, 8);
	apply(&k, 0, &text);
	grid_read(&k, 0, &g, &a);
	assert_int_equal(g.parts[1].nfaces, 0);
	assert_int_equal(g.nvertices, 9);
	apply(&k, 0, &again);
	assert_string_equal(k.said,
			    "mesh 0: 4 new vertices took the weights and colours of the nearest old vertex\n");
	assert_int_equal(places_of(&k, &b, 1).list, b.list[1]);
	assert_int_equal(weight_at(&k, &b, 1, 0), 128);        /* no old vertex is left: all of slot 0 */
	arena_free(&a);
	edited_close(&k);
}

static void hidden_groups(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;
	const uint32_t draw[] = { ge_word(GE_NOP, GE_TRIANGLES << 16 | 6), 0 };

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 2, 2, NULL);
	grid_add(&b, 1, SKINNED16, 3, 0, 1, 1, draw);
	grid_open(&k, &b, 512);
	grid_text(&k, 0, &text);
	buf_str(&text, "g group_1\nf 10/10/10 11/11/11 12/12/12\n");
	refuse(&k, 0, &text, EINVAL, "group_1 is hidden; `visible: true` in meshes/0.yaml");
	grid_text(&k, 0, &text);
	drop_face(&text, 1);
	buf_str(&text, "g none\nusemtl material_1\nf 10/10/10 11/11/11 12/12/12\n");
	apply(&k, 0, &text);                   /* to group 0, as no other can be seen */
	assert_memory_equal(k.bytes[0] + b.at_geometry + b.list[1], k.was[0] + b.at_geometry + b.list[1],
			    b.indices[1] + 12 - b.list[1]);
	edited_close(&k);
}

/* ---- lists ---- */

static void lists_that_cannot_be_rebuilt(void **state)
{
	static const struct { uint32_t draw[5]; const char *why; } lists[] = {
		{ { 0x04030006, 0x9b000001, 0x04030006 }, "has commands between its PRIMs" },
		{ { 0x04030006, 0x04010002 }, "draws something other than triangles" },
		{ { 0x04030006, 0x02000000 }, "has a second IADDR" },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(lists); i++) {
		struct build_pmo b;
		struct edited k;
		struct buf text;

		grid_begin(&b, false);
		grid_mesh(&b);
		grid_add(&b, 0, SKINNED16, 0, 0, 2, 2, lists[i].draw);
		grid_add(&b, 0, SKINNED16, 4, 0, 1, 1, NULL);
		grid_open(&k, &b, 4096);
		grid_text(&k, 0, &text);
		drop_face(&text, 0);
		refuse(&k, 0, &text, EINVAL, lists[i].why);
		edited_close(&k);
	}
}

/* Commands that nobody knows stay where they are, and PRIMs where the first one was. */
static void unknown_commands_stay(void **state)
{
	const uint32_t draw[] = { 0x1d000001, prim(GE_TRIANGLES, 12), prim(GE_TRIANGLES, 12), 0xc6000101, 0 };
	struct build_pmo b;
	struct edited k;
	struct buf text;
	uint32_t at;

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 2, 2, draw);
	grid_open(&k, &b, 512);
	grid_text(&k, 0, &text);
	drop_face(&text, 3);
	apply(&k, 0, &text);
	at = b.at_geometry + b.list[0] + 5 * 4;
	assert_int_equal(word_of(&k, at), 0x1d000001);
	assert_int_equal(ge_op(word_of(&k, at + 4)), GE_PRIM);
	while (ge_op(word_of(&k, at + 4)) == GE_PRIM)
		at += 4;
	assert_int_equal(word_of(&k, at + 4), 0xc6000101);
	assert_int_equal(word_of(&k, at + 8), ge_word(GE_OFFSETADDR, 0));
	assert_int_equal(word_of(&k, at + 12), ge_word(GE_RET, 0));
	edited_close(&k);
}

/* Two groups with one vertex buffer: the one that changes leaves it to the other. */
static void shared_buffers(void **state)
{
	struct build_pmo b;
	struct buf bytes = { 0 }, text;
	struct edited k;
	struct places p;

	(void)state;
	grid_begin(&b, false);
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 1, 1, NULL);
	grid_mesh(&b);
	grid_add(&b, 1, SKINNED16, 0, 0, 1, 1, NULL);
	build_pmo(&b, &bytes, NULL);
	/* Group 0 draws what group 1 has. */
	put_le32(bytes.p + b.at_groups + 8, b.vertices[1]);
	put_le32(bytes.p + b.at_geometry + b.list[0] + 12, ge_word(GE_VADDR, b.vertices[1] - b.list[0]));
	edited_open(&k, &fmt_pmo, bytes.p, bytes.len, bytes.len + 512);
	assert_null(k.o->faults);
	grid_text(&k, 0, &text);
	drop_face(&text, 0);
	apply(&k, 0, &text);
	p = places_of(&k, &b, 0);
	assert_true(p.vertices != b.vertices[1]);
	assert_memory_equal(k.bytes[0] + b.at_geometry + b.list[1], k.was[0] + b.at_geometry + b.list[1],
			    b.indices[1] + 12 - b.list[1]);
	edited_close(&k);
	buf_free(&bytes);
}

/* ---- version 102 ---- */

static void regions_in_the_next_file(void **state)
{
	struct build_pmo b;
	struct edited k;
	struct buf text;

	(void)state;
	grid_begin(&b, true);
	b.behind = true;
	grid_mesh(&b);
	grid_add(&b, 0, SKINNED16, 0, 0, 2, 2, NULL);
	grid_add(&b, 1, SKINNED8, 3, 0, 1, 1, NULL);
	grid_open(&k, &b, 512);
	grid_text(&k, 0, &text);
	buf_str(&text, "v 0.625 0.0 -0.5\ng group_1\nf 11/11/11 14/11/11 13/13/13\n");
	apply(&k, 0, &text);
	/* The entry keeps its length; the other one has grown, and the header counts it. */
	assert_int_equal(k.size[0], k.size_was[0]);
	assert_true(k.size[1] > k.size_was[1]);
	assert_int_equal(word_of(&k, 8), k.size[0] + k.size[1]);
	assert_memory_equal(k.bytes[1], k.was[1], b.list[1]);
	/* 4-byte boundaries. */
	assert_int_equal(places_of(&k, &b, 1).vertices % 4, 0);
	edited_close(&k);
}

/* ---- random ones ---- */

static void random_edits(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct build_pmo b;
		struct edited k;

		grid_begin(&b, round & 1);
		grid_mesh(&b);
		grid_add(&b, 0, SKINNED8, 0, 0, 3, 3, NULL);
		grid_add(&b, 1, SKINNED16, 4, 0, 2, 3, NULL);
		grid_add(&b, 2, SKINNED16, 0, 4, 2, 3, NULL);
		grid_open(&k, &b, 20000);
		for (unsigned step = 0; step < 6; step++) {
			struct arena a = { 0 };
			struct geo_mesh g;
			struct buf text;

			grid_read(&k, 0, &g, &a);
			grid_text(&k, 0, &text);
			for (unsigned i = 0; i < 4; i++) {
				uint32_t r = seed = seed * 1664525u + 1013904223u, f = (r >> 8) % g.nfaces;
				uint32_t *v = g.face[f];

				if (r >> 28 < 7 && g.nfaces > 8) {
					drop_face(&text, (r >> 4) % (g.nfaces - 4));
				} else {
					buf_printf(&text, "v %.4f %.4f %.4f\n", (r >> 3 & 63) / 70.0,
						   (r >> 9 & 63) / 70.0, (r >> 15 & 63) / 70.0);
					buf_printf(&text, "g group_%u\nf %u/%u/%u %u/%u/%u -1/%u/%u\n",
						   f < g.parts[1].first_face ? 0 : f < g.parts[2].first_face ? 1 : 2,
						   v[1] + 1, v[1] + 1, v[1] + 1, v[0] + 1, v[0] + 1, v[0] + 1, v[2] + 1,
						   v[2] + 1);
				}
			}
			apply(&k, 0, &text);
			arena_free(&a);
		}
		edited_close(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_triangle_less),
		cmocka_unit_test(a_triangle_more),
		cmocka_unit_test(strips_pay),
		cmocka_unit_test(reversed_lists),
		cmocka_unit_test(vertices_without_indices),
		cmocka_unit_test(a_vertex_more),
		cmocka_unit_test(holes_are_used),
		cmocka_unit_test(no_room),
		cmocka_unit_test(padding_is_room),
		cmocka_unit_test(too_many_for_its_indices),
		cmocka_unit_test(no_area),
		cmocka_unit_test(seams),
		cmocka_unit_test(values_and_triangles),
		cmocka_unit_test(groups_by_material_and_place),
		cmocka_unit_test(pieces_that_look_alike),
		cmocka_unit_test(emptied_and_filled_again),
		cmocka_unit_test(hidden_groups),
		cmocka_unit_test(lists_that_cannot_be_rebuilt),
		cmocka_unit_test(unknown_commands_stay),
		cmocka_unit_test(shared_buffers),
		cmocka_unit_test(regions_in_the_next_file),
		cmocka_unit_test(random_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
