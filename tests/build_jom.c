#include "build_jom.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

void put_big16(struct buf *b, unsigned v)
{
	put8(b, v >> 8 & 255);
	put8(b, v & 255);
}

void put_big32(struct buf *b, uint32_t v)
{
	put_big16(b, v >> 16);
	put_big16(b, v & 0xffff);
}

static void put_fixed3(struct buf *b, const int32_t v[3])
{
	for (unsigned i = 0; i < 3; i++)
		put_big32(b, (uint32_t)v[i]);
}

void put_name16(struct buf *b, const char *name)
{
	char room[16] = { 0 };

	memcpy(room, name, strlen(name));
	buf_add(b, room, sizeof room);
}

void jom_header(struct buf *b)
{
	buf_str(b, "JOM1");
	put_big16(b, 1);
	put_big16(b, 0);
	put_fixed3(b, (const int32_t[]){ ONE / 2, -ONE, 0 });
	put_big32(b, 0x00011e38);
}

size_t jom_begin(struct buf *b, const char *tag)
{
	buf_add(b, tag, 4);
	put_big32(b, 0);
	return b->len;
}

void jom_close(struct buf *b, size_t begun)
{
	size_t n = b->len - begun;

	for (unsigned i = 0; i < 4 && !b->bad; i++)
		b->p[begun - 1 - i] = (uint8_t)(n >> 8 * i);
}

void jom_end(struct buf *b)
{
	jom_close(b, jom_begin(b, "END "));
}

void jom_points(struct buf *b, uint32_t n, const int32_t (*v)[3])
{
	size_t at = jom_begin(b, "PNTS");

	put_big32(b, n);
	for (uint32_t i = 0; i < n; i++)
		put_fixed3(b, v[i]);
	jom_close(b, at);
}

void jom_polygons(struct buf *b, uint32_t n, const struct jom_poly *v)
{
	size_t at = jom_begin(b, "QUAD");

	put_big32(b, n);
	for (uint32_t k = 0; k < n; k++) {
		put_fixed3(b, v[k].normal);
		for (unsigned c = 0; c < 4; c++)
			put_big16(b, v[k].corners[c]);
	}
	jom_close(b, at);
	at = jom_begin(b, "QMAT");
	put_big32(b, n);
	for (uint32_t k = 0; k < n; k++)
		put_big16(b, v[k].material);
	put_zeros(b, 4);
	jom_close(b, at);
}

static void put_material(struct buf *b, const char *name, uint32_t colour_shine, int texture, unsigned error,
			 uint32_t flags, uint32_t user)
{
	put_name16(b, name);
	put_big32(b, colour_shine);
	put_big16(b, (uint16_t)texture);
	put_big16(b, error);
	put_big32(b, flags);
	put_big32(b, user);
}

void jom_materials(struct buf *b, uint32_t n, const char *const *names)
{
	size_t at = jom_begin(b, "MATL");

	put_big32(b, n);
	for (uint32_t i = 0; i < n; i++)
		put_material(b, names[i], 0xffffff00, -1, 0, 0, 0);
	jom_close(b, at);
}

void build_jom_smallest(struct buf *b)
{
	static const int32_t points[3][3] = { { 0, 0, 0 }, { ONE, 0, 0 }, { 0, -2 * ONE, 0 } };
	static const struct jom_poly polygon = { { 0, 0, -ONE }, { 0, 1, 2, 2 }, 0 };
	static const char *const name = "default";

	jom_header(b);
	jom_points(b, 3, points);
	jom_polygons(b, 1, &polygon);
	jom_materials(b, 1, &name);
	jom_end(b);
}

/* ---- one of everything ----
 *
 * A wall (polygon 0, points 0 to 3) and a roof above it (polygon 1, points 0, 1, 4) are groups that share points 0 and
 * 1; polygon 2 (points 5 to 7) is in no group. */

static const int32_t hut_points[8][3] = {
	{ -ONE, 0, 0 }, { ONE, 0, 0 }, { ONE, 2 * ONE, 0 }, { -ONE, 2 * ONE, 0 }, { 0, -ONE, ONE / 2 },
	{ 3 * ONE, 0, 1 }, { 4 * ONE, 0, 0 }, { 3 * ONE, ONE, 0 },
};
static const struct jom_poly hut_polygons[3] = {
	{ { 0, 0, -ONE }, { 0, 1, 2, 3 }, 0 },
	{ { 0, -29309, -58617 }, { 0, 1, 4, 4 }, 1 },
	{ { 0, 0, -ONE }, { 5, 6, 7, 7 }, 0 },
};

/* rgb555 of 8 x 1: transparent, red, green, blue, white, half red, grey, black; and 16 colours. */
static void put_pictures(struct buf *b)
{
	static const uint16_t words[8] = { 0, 0x801f, 0x83e0, 0xfc00, 0xffff, 0x001f, 0xc210, 0x8000 };
	size_t at = jom_begin(b, "TIMG");

	put_big32(b, 2);
	put_name16(b, "BR_012345.BIN");
	put_big16(b, 8);
	put_big16(b, 1);
	put_big16(b, 0);
	put_big16(b, 0);
	for (unsigned i = 0; i < 8; i++)
		put_big16(b, words[i]);
	put_name16(b, "LU_ABCDEF.BIN");
	put_big16(b, 8);
	put_big16(b, 1);
	put_big16(b, 1);
	put_big16(b, 0xbeef);
	for (unsigned i = 0; i < 16; i++)
		put_big16(b, i ? 0x8000 + i : 0);
	put_big32(b, 0x0123f00f);
	jom_close(b, at);
}

static void put_names(struct buf *b)
{
	size_t at = jom_begin(b, "TEXT");

	put_big32(b, 2);
	put_name16(b, "BR_012345.BIN");
	put_name16(b, "LU_ABCDEF.BIN");
	jom_close(b, at);
}

/* A list of words, or of fixed numbers. */
static void put_list(struct buf *b, const char *tag, uint32_t count, const uint32_t *v, uint32_t n, bool wide)
{
	size_t at = jom_begin(b, tag);

	put_big32(b, count);
	for (uint32_t i = 0; i < n; i++) {
		if (wide)
			put_big32(b, v[i]);
		else
			put_big16(b, v[i]);
	}
	jom_close(b, at);
}

static void put_corners(struct buf *b)
{
	static const uint32_t normals[6] = { 0, 0, (uint32_t)-ONE, 0, (uint32_t)-ONE, 0 };
	static const uint32_t numbers[12] = { 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0 };
	static const uint32_t shades[12] = {
		0xc210, 0xc210, 0x8000, 0xffff, 0, 0, 0, 0, 0xc210, 0xc211, 0xc212, 0xc212,
	};
	uint32_t colours[24];

	for (unsigned i = 0; i < 24; i++)
		colours[i] = i % 3 ? 0 : ONE / 2 + i;
	put_list(b, "NTAB", 2, normals, 6, true);
	put_list(b, "CNRM", 12, numbers, 12, false);
	put_list(b, "VCOL", 8, colours, 24, true);
	put_list(b, "GOUR", 12, shades, 12, false);
}

static void put_groups(struct buf *b)
{
	static const uint16_t ranges[2][4] = { { 2, 2, 0, 1 }, { 4, 1, 1, 1 } };
	size_t at = jom_begin(b, "GRUP");

	put_big32(b, 2);
	for (unsigned g = 0; g < 2; g++) {
		put_name16(b, g ? "ROOF" : "WALL");
		for (unsigned i = 0; i < 4; i++)
			put_big16(b, ranges[g][i]);
	}
	jom_close(b, at);
}

/* Three bones, so keys are padded: 12 + 18 + 2 bytes. */
static void put_skeleton(struct buf *b)
{
	static const struct { const char *name; uint16_t group, parent; } bones[3] = {
		{ "hip", 0, 0xffff }, { "arm", 1, 0 }, { "hand", 0xffff, 1 },
	};
	size_t at = jom_begin(b, "BONE");

	put_big32(b, 3);
	for (unsigned i = 0; i < 3; i++) {
		put_name16(b, bones[i].name);
		put_big16(b, bones[i].group);
		put_big16(b, bones[i].parent);
		put_fixed3(b, (const int32_t[]){ 0, (int32_t)i * ONE, 0 });
	}
	jom_close(b, at);
	at = jom_begin(b, "ANIM");
	put_big32(b, 1);
	put_name16(b, "WALK");
	put_big16(b, 2);
	put_big16(b, 10);
	put_big16(b, 1);
	put_big16(b, 0);
	put_big32(b, 32);
	for (unsigned k = 0; k < 2; k++) {
		put_fixed3(b, (const int32_t[]){ 0, (int32_t)k * ONE, 0 });
		for (unsigned i = 0; i < 9; i++)
			put_big16(b, k ? i * 8192 : i);
		put_big16(b, k ? 0xeeff : 0);
	}
	jom_close(b, at);
}

void build_jom_hut(struct buf *b)
{
	size_t at;

	jom_header(b);
	put_pictures(b);
	jom_points(b, 8, hut_points);
	jom_polygons(b, 3, hut_polygons);
	at = jom_begin(b, "X 1 ");
	buf_str(b, "unknown!");
	jom_close(b, at);
	at = jom_begin(b, "MATL");
	put_big32(b, 2);
	put_material(b, "wall", 0xff80000a, 0, 3, 0x0008200e, 7);
	put_material(b, "roof", 0x0001fe00, 1, 0, 1u << 7 | 1u << 8 | 1u << 12, 0);
	jom_close(b, at);
	put_names(b);
	put_corners(b);
	put_groups(b);
	put_skeleton(b);
	jom_end(b);
	buf_str(b, "tail!");
}

size_t jom_data(const uint8_t *p, size_t n, const char *tag)
{
	for (size_t at = 24; at + 8 <= n; at += 8 + be_u32(p + at + 4))
		if (!memcmp(p + at, tag, 4))
			return at + 8;
	abort();
}
