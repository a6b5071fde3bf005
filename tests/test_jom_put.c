/* JOM models whose geometry is written as OBJ. Numbers are worked out by hand; the layout of the models is that of
 * build_jom.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_jom.h"
#include "bytes.h"
#include "edited.h"
#include "export.h"
#include "opened.h"

extern const struct format fmt_jom;

#define ROOM 4096u

static void open_built(struct edited *k, struct buf *b)
{
	assert_false(b->bad);
	edited_open(k, &fmt_jom, b->p, b->len, ROOM);
	buf_free(b);
}

static void open_smallest(struct edited *k)
{
	struct buf b = { 0 };

	build_jom_smallest(&b);
	open_built(k, &b);
}

static void open_hut(struct edited *k)
{
	struct buf b = { 0 };

	build_jom_hut(&b);
	open_built(k, &b);
}

/* Where data of a chunk begin, and their size. */
static const uint8_t *data(const struct edited *k, const char *tag)
{
	return k->bytes[0] + jom_data(k->bytes[0], k->size[0], tag);
}

static uint32_t size_of(const struct edited *k, const char *tag)
{
	return be_u32(data(k, tag) - 4);
}

/* Row i of a list, n numbers of 32 or 16 bits from byte `at` on. */
static void row32(const struct edited *k, const char *tag, uint32_t each, uint32_t i, uint32_t at, unsigned n,
		  const int32_t *want)
{
	for (unsigned c = 0; c < n; c++) {
		int32_t have = (int32_t)be_u32(data(k, tag) + 4 + each * i + at + 4 * c);

		if (have != want[c])
			fail_msg("%s %u: number %u is %d, expected %d", tag, i, c, have, want[c]);
	}
}

static void row16(const struct edited *k, const char *tag, uint32_t each, uint32_t i, uint32_t at, unsigned n,
		  const uint16_t *want)
{
	for (unsigned c = 0; c < n; c++) {
		uint16_t have = be_u16(data(k, tag) + 4 + each * i + at + 2 * c);

		if (have != want[c])
			fail_msg("%s %u: number %u is 0x%04x, expected 0x%04x", tag, i, c, have, want[c]);
	}
}

static void point_is(const struct edited *k, uint32_t i, int32_t x, int32_t y, int32_t z)
{
	row32(k, "PNTS", 12, i, 0, 3, (const int32_t[]){ x, y, z });
}

static void normal_is(const struct edited *k, uint32_t i, int32_t x, int32_t y, int32_t z)
{
	row32(k, "QUAD", 20, i, 0, 3, (const int32_t[]){ x, y, z });
}

static void corners_are(const struct edited *k, uint32_t i, uint16_t a, uint16_t b, uint16_t c, uint16_t d)
{
	row16(k, "QUAD", 20, i, 12, 4, (const uint16_t[]){ a, b, c, d });
}

static void group_is(const struct edited *k, uint32_t i, uint16_t point, uint16_t points, uint16_t polygon,
		     uint16_t polygons)
{
	row16(k, "GRUP", 24, i, 16, 4, (const uint16_t[]){ point, points, polygon, polygons });
}

static void count_is(const struct edited *k, const char *tag, uint32_t n, uint32_t size)
{
	assert_int_equal(be_u32(data(k, tag)), n);
	assert_int_equal(size_of(k, tag), size);
}

static void sphere_is(const struct edited *k, int32_t x, int32_t y, int32_t z, int32_t radius)
{
	const int32_t want[4] = { x, y, z, radius };

	for (unsigned i = 0; i < 4; i++)
		assert_int_equal((int32_t)be_u32(k->bytes[0] + 8 + 4 * i), want[i]);
}

/* The bytes of a chunk are the first ones. */
static void same_chunk(const struct edited *k, const char *tag)
{
	size_t was = jom_data(k->was[0], k->size_was[0], tag);

	assert_int_equal(be_u32(k->was[0] + was - 4), size_of(k, tag));
	assert_memory_equal(k->was[0] + was, data(k, tag), size_of(k, tag));
}

/* The text as it is shown. */
static char *shown(struct edited *k, uint32_t mesh)
{
	struct geo_material material[64];
	struct geo_mesh m = { 0 };
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct err e;

	assert_int_equal(fmt_jom.model->mesh(k->o, mesh, &m, &a, &e), 0);
	assert_true(m.nparts <= ARRAY_LEN(material));
	for (unsigned i = 0; i < m.nparts; i++) {
		material[i] = (struct geo_material){ 0 };
		if (m.parts[i].material >= 0)
			assert_int_equal(fmt_jom.model->material(k->o, (uint32_t)m.parts[i].material, &material[i], &a,
								 &e), 0);
	}
	obj_write(&out, &m, mesh, material);
	buf_char(&out, 0);
	assert_false(out.bad);
	arena_free(&a);
	return (char *)out.p;
}

static char *replaced(char *text, const char *old, const char *new)
{
	char *at = strstr(text, old);
	struct buf b = { 0 };

	if (!at)
		fail_msg("\"%s\" is not in:\n%s", old, text);
	buf_add(&b, text, (size_t)(at - text));
	buf_str(&b, new);
	buf_add(&b, at + strlen(old), strlen(at + strlen(old)) + 1);
	assert_false(b.bad);
	free(text);
	return (char *)b.p;
}

static void put(struct edited *k, uint32_t mesh, const char *text)
{
	edited_obj_twice(k, mesh, text);
	sound(k->o);
}

/* The shown text with `old` (its first place) replaced. */
static void edit(struct edited *k, uint32_t mesh, const char *old, const char *new)
{
	char *text = replaced(shown(k, mesh), old, new);

	put(k, mesh, text);
	free(text);
}

static void refused(struct edited *k, uint32_t mesh, const char *text, int code, const char *why)
{
	struct kept was = edited_keep(k);

	assert_int_equal(edited_obj(k, mesh, text), -code);
	assert_string_equal(k->why, why);
	edited_same(k, &was);
}

/* ---- nothing changes ---- */

static void test_own_texts_change_nothing(void **state)
{
	static const uint32_t meshes[] = { 0, 1, 2, MESH_WHOLE };
	struct edited k;

	(void)state;
	open_hut(&k);
	for (size_t i = 0; i < ARRAY_LEN(meshes); i++) {
		char *text = shown(&k, meshes[i]);

		put(&k, meshes[i], text);
		edited_only(&k, 0, 0, 0);
		free(text);
	}
	assert_string_equal(k.said, "");
	edited_close(&k);
}

/* As other programs write the wall: six decimals, four of normals, another numbering, turned faces, an object of their
 * own making, CRLF. */
static void test_foreign_texts_change_nothing(void **state)
{
	struct edited k;

	(void)state;
	open_hut(&k);
	put(&k, 0, "# A program\r\nmtllib x.mtl\r\no WALL.001\r\n"
		   "v -1.000000 -2.000000 -0.000000\r\nv 1.000000 -2.000000 0.000000\r\n"
		   "v 1.000000 0.000000 0.000000\r\nv -1.000000 0.000000 0.000000\r\n"
		   "vt 0.000000 1.000000\r\nvt 1.000000 1.000000\r\nvt 1.000000 0.000000\r\nvt 0.000000 0.000000\r\n"
		   "vn 0.0000 0.0000 1.0000\r\nvn 0.0000 1.0000 0.0100\r\nusemtl wall.002\r\ns off\r\n"
		   "f 1/4/2 2/3/2 3/2/1 4/1/1\r\n");
	edited_only(&k, 0, 0, 0);
	/* All objects in one file. */
	put(&k, 1, "o WALL\nv 9 9 9\nv 8 9 9\nv 9 9 8\nf 1 2 3\no ROOF_ROOF\nv 0.000000 1.000000 -0.500000\n"
		   "v -1.000000 0.000000 0.000000\nv 1.000000 0.000000 0.000000\nusemtl roof\nf 4 6 5\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- points ---- */

static void test_point(void **state)
{
	struct edited k;

	(void)state;
	/* C to (0, 0, -1): (D - B) x (C - A) = (-1, 0, -1) x (0, 0, -1) = (0, -1, 0), and as the stored normal is not
	 * (-1, -2, 0) x (0, -2, 0) = (0, 0, 2) but the other way round, so is this. It is 1.5 from (0.5, -1, 0). */
	open_smallest(&k);
	edit(&k, 0, "v 0.0 2.0 0.0", "v 0.0 0.0 1.0");
	point_is(&k, 2, 0, 0, -ONE);
	normal_is(&k, 0, 0, ONE, 0);
	sphere_is(&k, ONE / 2, 0, -ONE / 2, 46341);    /* half the root of 2, rounded up */
	edited_close(&k);

	/* Inside of the sphere, in the plane: only the coordinate. */
	open_smallest(&k);
	edit(&k, 0, "v 0.0 2.0 0.0", "v 0.0 1.5 0.0");
	point_is(&k, 2, 0, -ONE * 3 / 2, 0);
	edited_only(&k, 0, 36 + 28, 4);
	edited_close(&k);

	/* Nearest, half away from zero: 1.5, -2.5 and 0.4999 of 1/65536, the y and z turned. */
	open_smallest(&k);
	edit(&k, 0, "v 0.0 0.0 0.0", "v 0.00002288818359375 0.00003814697265625 0.000007627868652");
	point_is(&k, 0, 2, -3, 0);
	edited_close(&k);
}

/* A pyramid's four sides over a square that is no polygon, normals inward or outward. */
static void open_pyramid(struct edited *k, int way)
{
	static const int32_t points[5][3] = {
		{ -ONE, 0, -ONE }, { ONE, 0, -ONE }, { ONE, 0, ONE }, { -ONE, 0, ONE }, { 0, -ONE, 0 }
	};
	/* Clockwise from outside, y down: (C - A) x (B - A) of 0, 4, 1 is (2, 0, 0) x (1, -1, 1) = (0, -2, -2). */
	struct jom_poly v[4] = {
		{ { 0, -46341, -46341 }, { 0, 4, 1, 1 }, 0 }, { { 46341, -46341, 0 }, { 1, 4, 2, 2 }, 0 },
		{ { 0, -46341, 46341 }, { 2, 4, 3, 3 }, 0 }, { { -46341, -46341, 0 }, { 3, 4, 0, 0 }, 0 },
	};
	static const char *const name = "m";
	struct buf b = { 0 };

	for (unsigned i = 0; i < 4; i++)
		for (unsigned c = 0; c < 3; c++)
			v[i].normal[c] *= way;
	jom_header(&b);
	for (unsigned i = 0; i < 4; i++)
		b.p[20 + i] = (uint8_t)(i ? 0 : 16);       /* all is inside */
	jom_points(&b, 5, points);
	jom_polygons(&b, 4, v);
	jom_materials(&b, 1, &name);
	jom_end(&b);
	open_built(k, &b);
}

/* Which way they point, the others tell. */
static void test_sign(void **state)
{
	struct edited k;

	(void)state;
	for (int way = -1; way <= 1; way += 2) {
		/* Point 0 down by 2: sides 0 and 3 change, 1 and 2 do not. 0: (2, -2, 0) x (1, -3, 1) =
		 * (-2, -2, -4); 3: (C - A) x (B - A) = (0, 2, -2) x (1, -1, -1) = (-4, -2, -2). */
		open_pyramid(&k, way);
		edit(&k, 0, "v -1.0 0.0 1.0", "v -1.0 -2.0 1.0");
		normal_is(&k, 0, -26755 * way, -26755 * way, -53510 * way);
		normal_is(&k, 1, 46341 * way, -46341 * way, 0);
		normal_is(&k, 2, 0, -46341 * way, 46341 * way);
		normal_is(&k, 3, -53510 * way, -26755 * way, -26755 * way);
		edited_close(&k);

		/* The top changes all: then they tell it as they were. (2, 0, 0) x (1, -2, 1) = (0, -2, -4). */
		open_pyramid(&k, way);
		edit(&k, 0, "v 0.0 1.0 0.0", "v 0.0 2.0 0.0");
		normal_is(&k, 0, 0, -29309 * way, -58617 * way);
		edited_close(&k);

		/* Moved as a whole, all of them face where they did. */
		open_pyramid(&k, way);
		put(&k, 0, "mtllib 0.mtl\nv 0.0 0.0 1.0\nv 2.0 0.0 1.0\nv 2.0 0.0 -1.0\nv 0.0 0.0 -1.0\n"
			   "v 1.0 1.0 0.0\nusemtl m\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n");
		same_chunk(&k, "QUAD");
		assert_non_null(strstr(k.said, "mesh 0: all vertices are moved by (1.0, 0.0, 0.0)\n"));
		edited_close(&k);
	}
}

/* The normal of a quad that is not flat is that of its diagonals; one without area keeps its own. */
static void test_bent_quad(void **state)
{
	static const int32_t points[4][3] = { { 0, 0, 0 }, { ONE, 0, 0 }, { ONE, ONE, 0 }, { 0, ONE, 0 } };
	static const struct jom_poly quad = { { 0, 0, -ONE }, { 0, 1, 2, 3 }, 0 };
	static const char *const name = "m";
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	jom_header(&b);
	jom_points(&b, 4, points);
	jom_polygons(&b, 1, &quad);
	jom_materials(&b, 1, &name);
	jom_end(&b);
	open_built(&k, &b);
	/* D to (0, 1, 1): (D - B) x (C - A) = (-1, 1, 1) x (1, 1, 0) = (-1, 1, -2). */
	edit(&k, 0, "v 0.0 -1.0 0.0", "v 0.0 -1.0 -1.0");
	normal_is(&k, 0, -26755, 26755, -53510);
	/* D to where B is, which is another point: no area between the diagonals. */
	edit(&k, 0, "v 0.0 -1.0 -1.0", "v 1.0 0.0 0.0");
	normal_is(&k, 0, -26755, 26755, -53510);
	edited_close(&k);
}

/* By their numbers, also to where others were: the square moves by its width. Points that no polygon has move too. */
static void test_numbers(void **state)
{
	static const int32_t points[5][3] = {
		{ 0, 0, 0 }, { ONE, 0, 0 }, { ONE, ONE, 0 }, { 0, ONE, 0 }, { 5 * ONE, 0, 0 }
	};
	static const struct jom_poly quad = { { 0, 0, -ONE }, { 0, 1, 2, 3 }, 0 };
	static const char *const name = "m";
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	jom_header(&b);
	jom_points(&b, 5, points);
	jom_polygons(&b, 1, &quad);
	jom_materials(&b, 1, &name);
	jom_end(&b);
	open_built(&k, &b);
	put(&k, 0, "mtllib 0.mtl\nv 1.0 0.0 0.0\nv 2.0 0.0 0.0\nv 2.0 -1.0 0.0\nv 1.0 -1.0 0.0\nv 5.0 0.0 0.0\n"
		   "usemtl m\nf 1 4 3 2\n");
	for (uint32_t i = 0; i < 4; i++)
		point_is(&k, i, points[i][0] + ONE, points[i][1], 0);
	point_is(&k, 4, 5 * ONE, 0, 0);
	same_chunk(&k, "QUAD");
	edit(&k, 0, "v 5.0 0.0 0.0", "v 5.0 0.0 7.0");
	point_is(&k, 4, 5 * ONE, 0, -7 * ONE);
	/* Two of them change places. */
	put(&k, 0, "mtllib 0.mtl\nv 2.0 0.0 0.0\nv 1.0 0.0 0.0\nv 2.0 -1.0 0.0\nv 1.0 -1.0 0.0\nv 5.0 0.0 7.0\n"
		   "usemtl m\nf 1 4 3 2\n");
	point_is(&k, 0, 2 * ONE, 0, 0);
	point_is(&k, 1, ONE, 0, 0);
	edited_close(&k);
}

/* Points that polygons of two groups share are in both texts. */
static void test_shared_point(void **state)
{
	struct edited k;
	char *text;

	(void)state;
	open_hut(&k);
	edit(&k, 1, "v -1.0 0.0 0.0", "v -1.0 0.0 0.25");
	point_is(&k, 0, -ONE, 0, -ONE / 4);
	text = shown(&k, 0);
	assert_non_null(strstr(text, "v -1.0 0.0 0.25 "));
	free(text);
	/* The roof: (C - A) x (B - A) = (1, -1, 0.75) x (2, 0, 0.25) = (-0.25, 1.25, 2), as the polygon that does not
	 * have the point has it. */
	normal_is(&k, 1, -6908, 34541, 55265);
	same_chunk(&k, "VCOL");
	same_chunk(&k, "GOUR");
	edited_close(&k);
}

/* ---- colours ---- */

/* Two quads: one of a material with gouraud, and with words that are `times` the colours. */
static void open_shaded(struct edited *k, unsigned times)
{
	static const int32_t points[4][3] = { { 0, 0, 0 }, { ONE, 0, 0 }, { ONE, ONE, 0 }, { 0, ONE, 0 } };
	static const struct jom_poly quads[2] = {
		{ { 0, 0, -ONE }, { 0, 1, 2, 3 }, 0 }, { { 0, 0, ONE }, { 3, 2, 1, 0 }, 1 },
	};
	static const char *const names[2] = { "lit", "flat" };
	struct buf b = { 0 };
	size_t at;

	jom_header(&b);
	jom_points(&b, 4, points);
	jom_polygons(&b, 2, quads);
	jom_materials(&b, 2, names);
	b.p[b.len - 64 + 27] = 8;
	at = jom_begin(&b, "VCOL");
	put_big32(&b, 4);
	for (unsigned i = 0; i < 12; i++)
		put_big32(&b, i % 3 ? 0 : (i / 3) * 0x5555u);  /* 0, 1/3, 2/3, 1 of red */
	jom_close(&b, at);
	at = jom_begin(&b, "GOUR");
	put_big32(&b, 8);
	for (unsigned i = 0; i < 4; i++)
		put_big16(&b, 0x8000 | (i * 0x5555u * times >> 16));
	for (unsigned i = 0; i < 4; i++)
		put_big16(&b, 0);
	jom_close(&b, at);
	jom_end(&b);
	open_built(k, &b);
}

static void test_colour(void **state)
{
	struct edited k;

	(void)state;
	/* Half of red, all of green, too much blue, in the file's own scale. */
	static const struct { unsigned times; uint16_t red, green, blue; } scales[] = {
		{ 31, 15, 31, 31 }, { 32, 16, 31, 31 }, { 16, 8, 16, 16 },
	};
	for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
		uint16_t word = (uint16_t)(0x8000 | scales[i].blue << 10 | scales[i].green << 5 | scales[i].red);

		open_shaded(&k, scales[i].times);
		edit(&k, 0, "v 1.0 0.0 0.0 0.3333282470703125 0.0 0.0", "v 1.0 0.0 0.0 0.5 1.0 3.0");
		row32(&k, "VCOL", 12, 1, 0, 3, (const int32_t[]){ ONE / 2, ONE, 3 * ONE });
		assert_int_equal(be_u16(data(&k, "GOUR") + 4 + 2), word);
		assert_int_equal(be_u16(data(&k, "GOUR") + 4 + 8 + 4), 0);
		k.was[0][jom_data(k.was[0], k.size_was[0], "GOUR") + 6] = (uint8_t)(word >> 8);
		k.was[0][jom_data(k.was[0], k.size_was[0], "GOUR") + 7] = (uint8_t)word;
		edited_only(&k, 0, jom_data(k.bytes[0], k.size[0], "VCOL") + 16, 12);
		edited_close(&k);
	}
	/* Words that follow no rule: 1.0 is 31, rounded. */
	open_hut(&k);
	edit(&k, 0, "v -1.0 0.0 0.0 0.5 0.0 0.0", "v -1.0 0.0 0.0 0.5 0.25 -1.0");
	row32(&k, "VCOL", 12, 0, 0, 3, (const int32_t[]){ ONE / 2, ONE / 4, -ONE });
	/* Green 7.75, red 15.5; the wall is gouraud, the roof is not, and polygon 2 does not have the point. */
	row16(&k, "GOUR", 2, 0, 0, 12, (const uint16_t[]){ 0x8110, 0xc210, 0x8000, 0xffff, 0, 0, 0, 0, 0xc210, 0xc211,
							   0xc212, 0xc212 });
	edited_close(&k);
}

/* Colours where the model has none: VCOL comes behind MATL. */
static void test_new_colours(void **state)
{
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	open_smallest(&k);
	edit(&k, 0, "v 1.0 0.0 0.0", "v 1.0 0.0 0.0 0.5 0.0 1.0");
	assert_int_equal(k.size[0], 172 + 8 + 40);
	assert_memory_equal(k.bytes[0], k.was[0], 164);
	assert_memory_equal(k.bytes[0] + 164, "VCOL\0\0\0\x28\0\0\0\3", 12);
	row32(&k, "VCOL", 12, 0, 0, 9, (const int32_t[]){ ONE, ONE, ONE, ONE / 2, 0, ONE, ONE, ONE, ONE });
	assert_memory_equal(k.bytes[0] + 212, "END \0\0\0\0", 8);
	edited_close(&k);
	/* With words for the corners of a material that has the gouraud option. */
	build_jom_smallest(&b);
	b.p[164 - 5] = 8;
	open_built(&k, &b);
	edit(&k, 0, "v 1.0 0.0 0.0", "v 1.0 0.0 0.0 0.5 0.0 1.0");
	assert_int_equal(k.size[0], 172 + 8 + 40 + 8 + 12);
	assert_memory_equal(k.bytes[0] + 212, "GOUR\0\0\0\x0c\0\0\0\4\xff\xff\xfc\x10\xff\xff\xff\xff" "END ", 24);
	edited_close(&k);
	/* White is what programs write that know of no colours. */
	open_smallest(&k);
	put(&k, 0, "# x\nv 0 0 0 1 1 1\nv 1 0 0 1 1 1\nv 0 2 0 1 1 1\nusemtl default\nf 1 3 2\n");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- normals of corners ---- */

static void test_normals(void **state)
{
	struct edited k;
	char *text;

	(void)state;
	open_hut(&k);
	edit(&k, 0, "vn 0.0 1.0 0.0", "vn 0.5 -0.25 0.0");
	row32(&k, "NTAB", 12, 1, 0, 3, (const int32_t[]){ ONE / 2, ONE / 4, 0 });
	edited_only(&k, 0, jom_data(k.bytes[0], k.size[0], "NTAB") + 4 + 12, 8);
	edited_close(&k);

	/* Corner D of the wall, which comes second in the text. */
	open_hut(&k);
	edit(&k, 0, "f 1/1/1 4/4/2", "f 1/1/1 4/4/1");
	row16(&k, "CNRM", 2, 0, 0, 4, (const uint16_t[]){ 0, 0, 1, 0 });
	edited_only(&k, 0, jom_data(k.bytes[0], k.size[0], "CNRM") + 4 + 7, 1);
	edited_close(&k);

	/* C of the roof: its fourth corner is the same and goes along. */
	open_hut(&k);
	edit(&k, 1, "3//2", "3//1");
	row16(&k, "CNRM", 2, 4, 0, 4, (const uint16_t[]){ 1, 0, 0, 0 });
	edited_close(&k);

	/* One more normal, which no face uses; then one does. */
	open_hut(&k);
	text = replaced(shown(&k, 2), "vn 0.0 1.0 0.0", "vn 0.0 1.0 0.0\nvn 1.0 0.5 0.0");
	put(&k, 2, text);
	edited_only(&k, 0, 0, 0);
	text = replaced(text, "f 1//1", "f 1//3");
	put(&k, 2, text);
	free(text);
	count_is(&k, "NTAB", 3, 40);
	row32(&k, "NTAB", 12, 2, 0, 3, (const int32_t[]){ ONE, -ONE / 2, 0 });
	row16(&k, "CNRM", 2, 8, 0, 4, (const uint16_t[]){ 2, 0, 0, 0 });
	assert_int_equal(k.size[0], k.size_was[0] + 12);
	edited_close(&k);
}

/* A list of normals of another program: what points where it did stays, a normal that all its corners leave changes,
 * others come behind. */
static void test_foreign_normals(void **state)
{
	struct edited k;

	(void)state;
	/* Corners of polygon 2 have normal 0, like A and B of the wall and B of the roof. */
	open_hut(&k);
	put(&k, 2, "# x\nv 3.0000 0.0000 0.0000\nv 4.0000 0.0000 0.0000\nv 3.0000 -1.0000 0.0000\n"
		   "vn 0.0000 0.0100 0.9999\nvn 0.6000 0.0000 0.8000\nusemtl wall\nf 1//1 3//1 2//2\n");
	count_is(&k, "NTAB", 3, 4 + 36);
	row32(&k, "NTAB", 12, 2, 0, 3, (const int32_t[]){ 39322, 0, -52429 });
	row16(&k, "CNRM", 2, 8, 0, 4, (const uint16_t[]){ 0, 2, 0, 0 });
	edited_close(&k);

	/* Both meshes that have normal 1 give it up, one after the other. */
	open_hut(&k);
	put(&k, 1, "# x\nv -1.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 1.0 -0.5\nvn 0.0000 0.0000 1.0000\n"
		   "vn 1.0000 0.0000 0.0000\nusemtl roof\nf 1//1 3//1 2//1\n");
	row16(&k, "CNRM", 2, 4, 0, 4, (const uint16_t[]){ 0, 0, 0, 0 });
	put(&k, 0, "# x\nv -1.0 0.0 0.0\nv 1.0 0.0 0.0\nv 1.0 -2.0 0.0\nv -1.0 -2.0 0.0\nvn 0.0000 0.0000 1.0000\n"
		   "vn 1.0000 0.0000 0.0000\nusemtl wall\nf 1//1 4//2 3//2 2//1\n");
	count_is(&k, "NTAB", 2, 4 + 24);
	row32(&k, "NTAB", 12, 1, 0, 3, (const int32_t[]){ ONE, 0, 0 });
	edited_close(&k);
}

/* NTAB and CNRM where there are none: every face of the model has to have normals that are not just its own. */
static void test_new_normals(void **state)
{
	static const char *const own = "mtllib 0.mtl\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\nvn 0.0 0.0 1.0\n"
				       "vn 0.0 1.0 0.0\nusemtl default\nf 1//1 3//2 2//1\n";
	static const char *const foreign = "# x\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\nvn 0.0000 0.0000 1.0000\n"
					   "usemtl default\nf 1//1 3//1 2//1\n";
	static const char *const meant = "# x\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\nvn 0.0000 1.0000 0.0000\n"
					 "usemtl default\nf 1//1 3//1 2//1\n";
	struct edited k;

	(void)state;
	open_smallest(&k);
	put(&k, 0, own);
	count_is(&k, "NTAB", 2, 28);
	row32(&k, "NTAB", 12, 0, 0, 6, (const int32_t[]){ 0, 0, -ONE, 0, -ONE, 0 });
	count_is(&k, "CNRM", 4, 12);
	row16(&k, "CNRM", 2, 0, 0, 4, (const uint16_t[]){ 0, 0, 1, 1 });
	assert_int_equal(data(&k, "CNRM") - data(&k, "NTAB"), 36);
	edited_close(&k);
	open_smallest(&k);
	put(&k, 0, foreign);
	edited_only(&k, 0, 0, 0);
	put(&k, 0, meant);
	count_is(&k, "NTAB", 1, 16);
	edited_close(&k);
}

/* ---- corners and materials ---- */

static void test_corners(void **state)
{
	struct edited k;

	(void)state;
	/* The texture is turned by a quarter: the wall begins with B, and all that its corners have goes along. */
	open_hut(&k);
	edit(&k, 0, "f 1/1/1 4/4/2 3/3/2 2/2/1", "f 1/4/1 4/3/2 3/2/2 2/1/1");
	corners_are(&k, 0, 1, 2, 3, 0);
	normal_is(&k, 0, 0, 0, -ONE);
	row16(&k, "CNRM", 2, 0, 0, 4, (const uint16_t[]){ 0, 1, 1, 0 });
	row16(&k, "GOUR", 2, 0, 0, 4, (const uint16_t[]){ 0xc210, 0x8000, 0xffff, 0xc210 });
	edited_close(&k);

	/* The texture is mirrored, which no order of corners says. */
	open_hut(&k);
	edit(&k, 0, "f 1/1/1 4/4/2 3/3/2 2/2/1", "f 1/2/1 4/3/2 3/4/2 2/1/1");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);

	/* A corner of polygon 2 is another point, and a quad becomes a triangle. */
	open_hut(&k);
	edit(&k, MESH_WHOLE, "f 6//1 8//1 7//1", "f 6//1 8//1 5//1");
	corners_are(&k, 2, 5, 4, 7, 7);
	edit(&k, MESH_WHOLE, "f 1/1/1 4/4/2 3/3/2 2/2/1", "f 1//1 3//2 2//1");
	corners_are(&k, 0, 0, 1, 2, 2);
	row16(&k, "CNRM", 2, 0, 0, 4, (const uint16_t[]){ 0, 0, 1, 1 });
	count_is(&k, "QUAD", 3, 64);
	same_chunk(&k, "GRUP");
	edited_close(&k);

	open_hut(&k);
	edit(&k, 0, "usemtl wall", "usemtl roof.001");
	row16(&k, "QMAT", 2, 0, 0, 4, (const uint16_t[]){ 1, 1, 0, 0 });
	edited_only(&k, 0, jom_data(k.bytes[0], k.size[0], "QMAT") + 5, 1);
	edited_close(&k);
}

/* ---- faces and points added and taken away ---- */

static void test_face_added(void **state)
{
	struct edited k;

	(void)state;
	/* A point of the roof, and a triangle with it: the point is number 5, behind the roof's own. */
	open_hut(&k);
	edit(&k, 1, "\nvt 0.0 1.0", "\nv 0.0 3.0 0.0 1.0 0.0 0.0\nvt 0.0 1.0");
	count_is(&k, "PNTS", 8, 100);                    /* no face uses it */
	put(&k, 1, "mtllib 1.mtl\nv -1.0 0.0 0.0 0.5 0.0 0.0\nv 1.0 0.0 0.0 0.5000457763671875 0.0 0.0\n"
		   "v 0.0 1.0 -0.5 0.50018310546875 0.0 0.0\nv 0.0 3.0 0.0 1.0 0.0 0.0\nvt 0.0 1.0\nvn 0.0 0.0 1.0\n"
		   "vn 0.0 1.0 0.0\no ROOF\nusemtl roof\nf 1//2 3//2 2//1\nusemtl wall\nf 1//1 4//2 3//1\n");
	count_is(&k, "PNTS", 9, 112);
	point_is(&k, 4, 0, -ONE, ONE / 2);
	point_is(&k, 5, 0, -3 * ONE, 0);
	point_is(&k, 6, 3 * ONE, 0, 1);
	count_is(&k, "QUAD", 4, 84);
	corners_are(&k, 1, 0, 1, 4, 4);
	corners_are(&k, 2, 0, 4, 5, 5);
	corners_are(&k, 3, 6, 7, 8, 8);
	count_is(&k, "QMAT", 4, 12);
	row16(&k, "QMAT", 2, 0, 0, 4, (const uint16_t[]){ 0, 1, 0, 0 });
	row16(&k, "CNRM", 2, 8, 0, 4, (const uint16_t[]){ 0, 0, 1, 1 });
	count_is(&k, "VCOL", 9, 112);
	row32(&k, "VCOL", 12, 5, 0, 3, (const int32_t[]){ ONE, 0, 0 });
	/* 0.5 of red is 15.5, rounded 16; the words of the others stay. */
	row16(&k, "GOUR", 2, 8, 0, 8, (const uint16_t[]){ 0x8010, 0x8010, 0x801f, 0x801f, 0xc210, 0xc211, 0xc212,
							  0xc212 });
	group_is(&k, 0, 2, 2, 0, 1);
	group_is(&k, 1, 4, 2, 1, 2);
	/* (C - A) x (B - A) = (1, -3, 0) x (1, -1, 0.5) = (-1.5, -0.5, 2) */
	normal_is(&k, 2, -38558, -12853, 51411);
	/* x -1..4, y -3..2, z 0..0.5: the farthest are (4, 0, 0) and its like. */
	assert_int_equal((int32_t)be_u32(k.bytes[0] + 8), ONE * 3 / 2);
	assert_int_equal((int32_t)be_u32(k.bytes[0] + 12), -ONE / 2);
	same_chunk(&k, "X 1 ");
	same_chunk(&k, "ANIM");
	assert_memory_equal(k.bytes[0] + k.size[0] - 5, "tail!", 5);
	assert_int_equal(k.size[0], k.size_was[0] + 12 + 20 + 8 + 12 + 8);
	edited_close(&k);
}

/* Polygons of no group, and objects that say which one a face joins. */
static void test_face_joins(void **state)
{
	struct edited k;
	char *text;

	(void)state;
	open_hut(&k);
	text = shown(&k, MESH_WHOLE);
	assert_non_null(strstr(text, "o WALL\nusemtl wall\n"));
	free(text);
	edit(&k, MESH_WHOLE, "o ROOF\n", "f 1//1 3//1 2//1\no ungrouped\nf 6//1 7//1 3//1\no ROOF\n");
	count_is(&k, "QUAD", 5, 104);
	/* The wall's point 2 is shared now: it goes to the end, behind all others. */
	count_is(&k, "PNTS", 8, 100);
	point_is(&k, 7, ONE, 2 * ONE, 0);
	corners_are(&k, 0, 0, 1, 7, 2);
	corners_are(&k, 1, 0, 1, 7, 7);
	corners_are(&k, 2, 0, 1, 3, 3);
	corners_are(&k, 3, 4, 7, 5, 5);
	corners_are(&k, 4, 4, 5, 6, 6);
	group_is(&k, 0, 2, 1, 0, 2);
	group_is(&k, 1, 3, 1, 2, 1);
	edited_close(&k);
}

static void test_face_removed(void **state)
{
	struct edited k;

	(void)state;
	/* Without the roof's face and its point 4, points 0 and 1 belong to the wall alone. */
	open_hut(&k);
	put(&k, MESH_WHOLE, "mtllib model.mtl\nv -1.0 0.0 0.0\nv 1.0 0.0 0.0\nv 1.0 -2.0 0.0\nv -1.0 -2.0 0.0\n"
			    "v 3.0 0.0 -0.0000152587890625\nv 4.0 0.0 0.0\nv 3.0 -1.0 0.0\n"
			    "vt 0.0 1.0\nvt 1.0 1.0\nvt 1.0 0.0\nvt 0.0 0.0\nvn 0.0 0.0 1.0\nvn 0.0 1.0 0.0\n"
			    "o WALL\nusemtl wall\nf 1/1/1 4/4/2 3/3/2 2/2/1\no ungrouped\nf 5//1 7//1 6//1\n");
	count_is(&k, "PNTS", 7, 88);
	point_is(&k, 0, ONE, 2 * ONE, 0);
	point_is(&k, 1, -ONE, 2 * ONE, 0);
	point_is(&k, 2, -ONE, 0, 0);
	point_is(&k, 3, ONE, 0, 0);
	point_is(&k, 4, 3 * ONE, 0, 1);
	count_is(&k, "QUAD", 2, 44);
	corners_are(&k, 0, 2, 3, 0, 1);
	corners_are(&k, 1, 4, 5, 6, 6);
	normal_is(&k, 0, 0, 0, -ONE);
	count_is(&k, "QMAT", 2, 8);
	count_is(&k, "CNRM", 8, 20);
	row16(&k, "CNRM", 2, 0, 0, 8, (const uint16_t[]){ 0, 0, 1, 1, 0, 0, 0, 0 });
	row16(&k, "GOUR", 2, 0, 0, 8, (const uint16_t[]){ 0xc210, 0xc210, 0x8000, 0xffff, 0xc210, 0xc211, 0xc212,
							  0xc212 });
	/* Colours stay those of their points: 0.5 and 3 i of 65536, i the old number. */
	assert_int_equal(be_u32(data(&k, "VCOL") + 4), ONE / 2 + 6);
	assert_int_equal(be_u32(data(&k, "VCOL") + 4 + 24), ONE / 2);
	assert_int_equal(be_u32(data(&k, "VCOL") + 4 + 48), ONE / 2 + 15);
	group_is(&k, 0, 0, 4, 0, 1);
	group_is(&k, 1, 4, 0, 1, 0);
	sphere_is(&k, ONE / 2, -ONE, 0, 0x11e38);
	edited_close(&k);
}

/* The triangles of a cut quad keep what its corners had. */
static void test_cut_quad(void **state)
{
	struct edited k;

	(void)state;
	open_hut(&k);
	edit(&k, 0, "f 1/1/1 4/4/2 3/3/2 2/2/1", "f 1 3 2\nf 1 4 3");
	count_is(&k, "QUAD", 4, 84);
	corners_are(&k, 0, 0, 1, 2, 2);
	corners_are(&k, 1, 0, 2, 3, 3);
	row16(&k, "CNRM", 2, 0, 0, 8, (const uint16_t[]){ 0, 0, 1, 1, 0, 1, 1, 1 });
	normal_is(&k, 1, 0, 0, -ONE);
	group_is(&k, 0, 2, 2, 0, 2);
	group_is(&k, 1, 4, 1, 2, 1);
	assert_non_null(strstr(k.said, "corners have no normal"));
	edited_close(&k);
}

/* Of two sides over the same points some programs know only one. */
static void test_two_sides(void **state)
{
	static const int32_t points[4][3] = { { 0, 0, 0 }, { ONE, 0, 0 }, { ONE, ONE, 0 }, { 0, ONE, 0 } };
	static const struct jom_poly quads[3] = {
		{ { 0, 0, -ONE }, { 0, 1, 2, 3 }, 0 }, { { 0, 0, ONE }, { 3, 2, 1, 0 }, 0 },
		{ { 0, 0, ONE }, { 2, 1, 0, 0 }, 0 },
	};
	static const char *const name = "m";
	struct buf b = { 0 };
	struct edited k;

	(void)state;
	jom_header(&b);
	jom_points(&b, 4, points);
	jom_polygons(&b, 3, quads);
	jom_materials(&b, 1, &name);
	jom_end(&b);
	open_built(&k, &b);
	put(&k, 0, "# x\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 1.0 -1.0 0.0\nv 0.0 -1.0 0.0\nusemtl m\nf 1 4 3 2\nf 3 1 2\n");
	edited_only(&k, 0, 0, 0);
	/* In our own texts, what is not there is gone. */
	put(&k, 0, "mtllib 0.mtl\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 1.0 -1.0 0.0\nv 0.0 -1.0 0.0\nusemtl m\nf 1 4 3 2\n"
		   "f 3 1 2\n");
	count_is(&k, "QUAD", 2, 44);
	corners_are(&k, 1, 2, 1, 0, 0);
	edited_close(&k);
}

/* ---- refusals ---- */

static void test_refused(void **state)
{
	struct edited k;

	(void)state;
	open_smallest(&k);
	refused(&k, 0, "v 0 0 0\nv 1 0 0\nv 0 40000 0\nf 1 3 2\n", EINVAL,
		"line 3: 40000.0 is outside -32768..32767.99998");
	refused(&k, 0, "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 -32768.5\nf 1 3 2\nf 1 2 4\n", EINVAL,
		"line 4: -32768.5 is outside -32768..32767.99998");
	refused(&k, 0, "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 1\nv 0 1 1\nf 1 2 3 4 5\n", EINVAL,
		"line 6: 5 corners; JOM holds triangles and quads");
	refused(&k, 0, "v 0 0 0\nv 1 0 0\nv 0 2 0\nusemtl x\n\nf 1 3 2\n", EINVAL,
		"line 4: no material \"x\"; add it in materials.yaml");
	refused(&k, 0, "v 0 0 0\nv 1 0 0\nv 0 2 0\n", EINVAL, "no faces, there are 1");
	refused(&k, 0, "mtllib 0.mtl\nv 0.0 0.0 0.0 0.0 0.0 33000.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\nf 1 3 2\n", EINVAL,
		"line 2: 33000.0 is outside -32768..32767.99998");
	refused(&k, 0, "mtllib 0.mtl\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\nvn 0.0 0.0 33000.0\n"
		       "f 1//1 3//1 2//1\n", EINVAL, "line 5: 33000.0 is outside -32768..32767.99998");
	/* The ends of the range: y and z are turned. */
	put(&k, 0, "mtllib 0.mtl\nv -32768.0 32768.0 -32767.9999847412109375\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\n"
		   "usemtl default\nf 1 3 2\n");
	point_is(&k, 0, INT32_MIN, INT32_MIN, INT32_MAX);
	edited_close(&k);
	/* Nowhere to grow to. */
	open_smallest(&k);
	k.room[0] = k.size[0] + 12;
	refused(&k, 0, "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 3 2\nf 1 2 3\n", ENOSPC,
		"the entry has room for 184 bytes: 8 bytes are missing");
	edited_close(&k);
}

/* Tables that contradict each other cannot be rearranged; values in them can be written. */
static void test_contradictions(void **state)
{
	struct edited k;
	char *text;
	struct buf b = { 0 };

	(void)state;
	build_jom_hut(&b);
	b.p[jom_data(b.p, b.len, "GRUP") + 4 + 24 + 21] = 0;   /* both groups begin with polygon 0 */
	open_built(&k, &b);
	edit(&k, 0, "v 1.0 -2.0 0.0", "v 1.0 -2.5 0.0");
	point_is(&k, 2, ONE, ONE * 5 / 2, 0);
	text = shown(&k, 0);
	b = (struct buf){ 0 };
	buf_str(&b, text);
	buf_add(&b, "f 1 2 3\n", 9);
	refused(&k, 0, (const char *)b.p, EINVAL,
		"polygon 0 belongs to the groups 0 and 1: none can be added or taken away");
	buf_free(&b);
	free(text);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_texts_change_nothing),
		cmocka_unit_test(test_foreign_texts_change_nothing),
		cmocka_unit_test(test_point),
		cmocka_unit_test(test_sign),
		cmocka_unit_test(test_bent_quad),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_shared_point),
		cmocka_unit_test(test_colour),
		cmocka_unit_test(test_new_colours),
		cmocka_unit_test(test_normals),
		cmocka_unit_test(test_foreign_normals),
		cmocka_unit_test(test_new_normals),
		cmocka_unit_test(test_corners),
		cmocka_unit_test(test_face_added),
		cmocka_unit_test(test_face_joins),
		cmocka_unit_test(test_face_removed),
		cmocka_unit_test(test_cut_quad),
		cmocka_unit_test(test_two_sides),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_contradictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
