/* Edits of MOD3 models that move blocks: new topologies, other block types, envelopes that are new. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mod3.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"
#include "texts.h"

extern const struct format fmt_mod3;

static struct build_mod3 b;
static struct edited k;

/* ---- what is there ---- */

static uint32_t u32(uint64_t at)
{
	return le_u32(k.bytes[0] + at);
}

static uint16_t u16(uint64_t at)
{
	return le_u16(k.bytes[0] + at);
}

static void header_is(uint32_t vertices, uint32_t indices, uint32_t size, uint32_t vertex_off, uint32_t index_off,
		      uint32_t trail_off)
{
	assert_int_equal(u32(0x0c), vertices);
	assert_int_equal(u32(0x10), indices);
	assert_int_equal(u32(0x18), size);
	assert_int_equal(u32(0x50), vertex_off);
	assert_int_equal(u32(0x58), index_off);
	assert_int_equal(u32(0x60), trail_off);
}

/* The addresses of a record, in the order of its bytes. */
struct address {
	unsigned count, stride, sub, offset, first, indices, base, min, max, total;
};

static void address_is(unsigned mesh, struct address want)
{
	uint64_t at = u32(0x48) + 80 * mesh;
	struct address have = {
		u16(at + 0x02), k.bytes[0][at + 0x0e], u32(at + 0x10), u32(at + 0x14), u32(at + 0x1c), u32(at + 0x20),
		u32(at + 0x24), u16(at + 0x2c), u16(at + 0x2e), u32(at + 0x3c)
	};

	if (memcmp(&have, &want, sizeof have))
		fail_msg("mesh %u: %u of %u bytes, sub %u, offset %u, first %u of %u, base %u, min %u, max %u, "
			 "total %u", mesh, have.count, have.stride, have.sub, have.offset, have.first, have.indices,
			 have.base, have.min, have.max, have.total);
}

static void indices_are(unsigned mesh, const uint16_t *want, unsigned n)
{
	uint64_t at = u32(0x58) + 2 * u32(u32(0x48) + 80 * mesh + 0x1c);

	for (unsigned i = 0; i < n; i++)
		if (u16(at + 2 * i) != want[i])
			fail_msg("mesh %u: index %u is %u, expected %u", mesh, i, u16(at + 2 * i), want[i]);
}
#define INDICES(mesh, ...) \
	indices_are(mesh, (const uint16_t[]){ __VA_ARGS__ }, sizeof((const uint16_t[]){ __VA_ARGS__ }) / 2)

/* n bytes that were at `from` are at `to`. */
static void moved(uint64_t from, uint64_t to, uint64_t n)
{
	assert_memory_equal(k.bytes[0] + to, k.was[0] + from, n);
}

/* ---- the model ---- */

static const int32_t quad[] = { 0, 1, 2, 2, 1, 3 };

static void begin(void)
{
	b = (struct build_mod3){ 0 };
	build_bone(&b, 255, 0, 8, 0);
	build_bone(&b, 0, 3, 0, 4);
	build_bone(&b, 1, 0, -1, 0);
	build_name(&b, "skin");
}

static void mesh(const char *type, unsigned nvertices, unsigned nindices)
{
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ type, nvertices, quad, nindices });
}

static void finish(size_t room)
{
	struct buf out;

	build_mod3(&b, &out);
	edited_open(&k, &fmt_mod3, out.p, out.len, out.len + room);
	buf_free(&out);
	sound(k.o);
}

/* Strides 32, 32, 40, 32: runs at 0, 224 and 344. Indices: 6, 3, 3, 3, and 2 bytes that align. */
static void start(size_t room)
{
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	build_envelope(&b, 1, true);
	mesh("IASkin4wt1UV", 3, 3);
	mesh("IASkin8wt1UV", 3, 3);
	mesh("IASkin4wt1UV", 3, 3);
	build_envelope(&b, 0, true);
	finish(room);
	header_is(13, 15, 440, b.at_vertices, b.at_vertices + 440, b.at_vertices + 472);
}

/* A text of mesh i with vertices 0 to n - 1 of build_vertex(), and these faces; "1 2 3" stands for f 1/1/1 2/2/2 3/3/3.
 */
static char *obj(uint32_t i, unsigned n, const char *const *faces)
{
	struct buf out = { 0 };
	unsigned v[3];

	buf_printf(&out, "mtllib %u.mtl\no mesh_%u\n", i, i);
	for (unsigned j = 0; j < n; j++)
		buf_printf(&out, "v %g %g %g\n", (double)j, j / 2.0, -(double)j);
	for (unsigned j = 0; j < n; j++)
		buf_printf(&out, "vt %g 0.75\n", j / 8.0);
	for (unsigned j = 0; j < n; j++)
		buf_str(&out, "vn 0 0 1\n");
	for (; *faces; faces++) {
		assert_int_equal(sscanf(*faces, "%u %u %u", &v[0], &v[1], &v[2]), 3);
		buf_printf(&out, "f %u/%u/%u %u/%u/%u %u/%u/%u\n", v[0], v[0], v[0], v[1], v[1], v[1], v[2], v[2],
			   v[2]);
	}
	buf_char(&out, 0);
	assert_false(out.bad);
	return (char *)out.p;
}
#define OBJ(i, n, ...) obj(i, n, (const char *const[]){ __VA_ARGS__, NULL })

static void save(uint32_t i, char *text)
{
	edited_obj_twice(&k, i, text);
	sound(k.o);
	free(text);
}

static void refused(uint32_t i, char *text, int code, const char *why)
{
	assert_int_equal(edited_obj(&k, i, text), -code);
	assert_string_equal(k.why, why);
	edited_only(&k, 0, 0, 0);
	free(text);
}

/* ---- new topologies ---- */

static void grown(void **state)
{
	uint64_t v;

	(void)state;
	start(36);
	v = b.at_vertices;
	save(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"));
	assert_string_equal(k.said, "mesh 0: 1 new vertices took the weights and other attributes of the nearest old "
			    "vertex\n");
	/* 32 bytes of vertices more, 6 of indices; the 2 zeros that aligned are gone. */
	header_is(14, 18, 472, b.at_vertices, b.at_vertices + 472, b.at_vertices + 508);
	assert_int_equal(k.size[0], b.size + 36);
	address_is(0, (struct address){ 5, 32, 0, 0, 0, 9, 0, 0, 4, 0 });
	address_is(1, (struct address){ 3, 32, 5, 0, 9, 3, 0, 5, 7, 5 });
	address_is(2, (struct address){ 3, 40, 0, 256, 12, 3, 0, 0, 2, 8 });
	address_is(3, (struct address){ 3, 32, 0, 376, 15, 3, 0, 0, 2, 11 });
	INDICES(0, 0, 1, 2, 2, 1, 3, 3, 1, 4);
	INDICES(1, 5, 6, 7);
	INDICES(2, 0, 1, 2);
	moved(v, v, 4 * 32);
	moved(v + 4 * 32, v + 5 * 32, 440 - 4 * 32);
	moved(v + 472, v + 508, 24);
	/* (4, 2, -4) at 0.5, 0.25; normal and all behind the coordinates as vertex 3 has it. */
	assert_memory_equal(k.bytes[0] + v + 128, "\0\0\x80\x40\0\0\0\x40\0\0\x80\xc0", 12);
	moved(v + 96 + 12, v + 128 + 12, 8);
	assert_memory_equal(k.bytes[0] + v + 128 + 20, "\0\x38\0\x34", 4);
	moved(v + 96 + 24, v + 128 + 24, 8);
	/* Box 0..3 is 0..4: only x's largest, y's and z's numbers are others; the stored lowest x stays. */
	assert_memory_equal(k.bytes[0] + 0x80, "\0\0\0\0\0\0\0\0\0\0\x80\xc0", 12);
	assert_memory_equal(k.bytes[0] + 0x90, "\0\0\x80\x40\0\0\0\x40\0\0\0\0", 12);
	edited_close(&k);
}

static void no_room(void **state)
{
	(void)state;
	start(35);
	refused(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"), ENOSPC,
		"the entry has room for 2567 bytes: 1 bytes are missing");
	edited_close(&k);
}

static void shrunk(void **state)
{
	uint64_t v;

	(void)state;
	start(0);
	v = b.at_vertices;
	save(0, OBJ(0, 3, "1 2 3"));
	assert_string_equal(k.said, "");
	/* 12 indices are 24 bytes: nothing has to align. */
	header_is(12, 12, 408, b.at_vertices, b.at_vertices + 408, b.at_vertices + 432);
	assert_int_equal(k.size[0], b.size - 40);
	address_is(0, (struct address){ 3, 32, 0, 0, 0, 3, 0, 0, 2, 0 });
	address_is(1, (struct address){ 3, 32, 3, 0, 3, 3, 0, 3, 5, 3 });
	address_is(2, (struct address){ 3, 40, 0, 192, 6, 3, 0, 0, 2, 6 });
	address_is(3, (struct address){ 3, 32, 0, 312, 9, 3, 0, 0, 2, 9 });
	INDICES(1, 3, 4, 5);
	moved(v, v, 96);
	moved(v + 128, v + 96, 312);
	moved(v + 472, v + 432, 24);
	edited_close(&k);

	/* A face less: the vertex nobody uses is still given, so it stays. */
	start(0);
	save(0, OBJ(0, 4, "1 2 3"));
	header_is(13, 12, 440, b.at_vertices, b.at_vertices + 440, b.at_vertices + 464);
	address_is(1, (struct address){ 3, 32, 4, 0, 3, 3, 0, 4, 6, 4 });
	moved(v, v, 440);
	edited_close(&k);

	start(0);
	refused(1, OBJ(1, 3, "1 1 2"), EINVAL, "no faces, the mesh has 1; `lod_mask: 0` in meshes/1.yaml hides it");
	edited_close(&k);
}

/* Other faces of the same number need no room. */
static void turned(void **state)
{
	(void)state;
	start(0);
	save(0, OBJ(0, 4, "1 2 4", "1 4 3", "2 2 3"));
	header_is(13, 15, 440, b.at_vertices, b.at_vertices + 440, b.at_vertices + 472);
	INDICES(0, 0, 1, 3, 0, 3, 2);
	edited_only(&k, 0, b.at_indices, 12);
	edited_close(&k);
}

/* A corner with coordinates of its own makes a vertex, behind the one it has in common with others. */
static void split(void **state)
{
	char *text;

	(void)state;
	start(64);
	text = OBJ(0, 4, "1 2 3", "3 2 4");
	text = with_line(text, "f 3", 0, "f 3/3/3 2/1/2 4/4/4");
	save(0, text);
	address_is(0, (struct address){ 5, 32, 0, 0, 0, 6, 0, 0, 4, 0 });
	INDICES(0, 0, 1, 3, 3, 2, 4);
	moved(b.at_vertices + 32, b.at_vertices + 32, 32);
	moved(b.at_vertices + 32, b.at_vertices + 64, 20);
	assert_memory_equal(k.bytes[0] + b.at_vertices + 64 + 20, "\0\0\0\x34", 4);
	moved(b.at_vertices + 64, b.at_vertices + 96, 64);
	edited_close(&k);
}

/* Vertices that lie in one place and look alike keep what tells them apart. */
static void alike(void **state)
{
	uint64_t v;

	(void)state;
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	finish(0);
	v = b.at_vertices;
	for (unsigned i = 1; i < 4; i++) {
		memcpy(k.bytes[0] + v + 32 * i, k.bytes[0] + v, 32);
		k.bytes[0][v + 32 * i + 16] = (uint8_t)i;      /* the tangent */
	}
	memcpy(k.was[0], k.bytes[0], k.size[0]);
	edited_settle(&k);
	save(0, strcat(realloc(with_line(with_line(obj_text(k.o, 0), "f ", 1, ""), "f ", 0, ""), 4096),
		       "f 4/4/4 2/2/2 1/1/1\n"));
	INDICES(0, 3, 1, 0);
	moved(v, v, 128);
	edited_close(&k);
}

static void limits(void **state)
{
	struct buf text = { 0 };

	(void)state;
	start(0);
	buf_str(&text, "o mesh_0\n");
	for (unsigned i = 0; i < 65536; i++)
		buf_printf(&text, "v %u 0 0\n", i);
	buf_str(&text, "f 1 2 3\n");
	buf_char(&text, 0);
	refused(0, (char *)text.p, EFBIG, "65536 vertices are more than the 65535 that a mesh may have");
	edited_close(&k);
}

/* A mesh without vertices gets some: white, with all weights on bone 0. */
static void from_nothing(void **state)
{
	static const uint8_t want[] = {
		0, 0, 0x80, 0x3f, 0, 0, 0, 0x3f, 0, 0, 0x80, 0xbf, 0, 0, 127, 0, 0, 0, 0, 0, 0, 0x30, 0, 0x34,
		0xff, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255
	};

	(void)state;
	begin();
	mesh("IASkin8wt1UVColor", 0, 0);
	mesh("IASkin4wt1UV", 4, 6);
	finish(1000);
	save(0, OBJ(0, 3, "1 2 3"));
	address_is(0, (struct address){ 3, 44, 0, 0, 0, 3, 0, 0, 2, 0 });
	address_is(1, (struct address){ 4, 32, 0, 132, 3, 6, 0, 0, 3, 3 });
	header_is(7, 9, 260, b.at_vertices, b.at_vertices + 260, b.at_vertices + 280);
	assert_memory_equal(k.bytes[0] + b.at_vertices + 44, want, sizeof want);
	moved(b.at_vertices, b.at_vertices + 132, 128);
	INDICES(0, 0, 1, 2);
	INDICES(1, 0, 1, 2, 2, 1, 3);
	edited_close(&k);

	/* The only one: its buffers are where they begin, and have nothing. */
	begin();
	mesh("IANonSkin1UV", 0, 0);
	finish(1000);
	save(0, OBJ(0, 3, "1 2 3"));
	header_is(3, 3, 72, b.at_vertices, b.at_vertices + 72, b.at_vertices + 80);
	moved(b.at_trailer, b.at_vertices + 80, 24);
	edited_close(&k);
}

/* ---- addresses ---- */

/* What indices cannot tell apart any more begins with another vertexBase: 65533 and 3 are 65536. */
static void long_runs(void **state)
{
	struct buf text = { 0 };
	unsigned n = 65533;

	(void)state;
	begin();
	mesh("IANonSkin1UV", n - 2, 3);
	mesh("IANonSkin1UV", 3, 3);
	mesh("IANonSkin1UV", 4, 6);                    /* past it already */
	put_le32(b.meshes.p + 160 + 0x10, 0);
	put_le32(b.meshes.p + 160 + 0x24, n + 1);
	put_le32(b.meshes.p + 160 + 0x2c, 3 << 16);
	for (unsigned i = 0; i < 6; i++)
		put_le16(b.indices.p + 12 + 2 * i, (uint16_t)quad[i]);
	finish(1000);
	address_is(1, (struct address){ 3, 24, n - 2, 0, 3, 3, 0, n - 2, n, n - 2 });
	address_is(2, (struct address){ 4, 24, 0, 0, 6, 6, n + 1, 0, 3, n + 1 });
	buf_str(&text, "mtllib 0.mtl\no mesh_0\n");
	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "v %u %g -%u\n", i, i / 2.0, i);
	buf_str(&text, "f 1 2 3\nf 1 2 65533\n");
	buf_char(&text, 0);
	save(0, (char *)text.p);
	address_is(0, (struct address){ n, 24, 0, 0, 0, 6, 0, 0, n - 1, 0 });
	address_is(1, (struct address){ 3, 24, 0, 0, 6, 3, n, 0, 2, n });
	address_is(2, (struct address){ 4, 24, 3, 0, 9, 6, n, 3, 6, n + 3 });
	INDICES(0, 0, 1, 2, 0, 1, 65532);
	INDICES(1, 0, 1, 2);
	INDICES(2, 3, 4, 5, 5, 4, 6);
	edited_close(&k);
}

/* Places that do not follow the rule stay what they are, moved. */
static void other_places(void **state)
{
	(void)state;
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 3, quad, 3, .new_base = true });
	mesh("IASkin4wt1UV", 3, 3);
	mesh("IANonSkin1UV", 3, 3);
	finish(1000);
	address_is(1, (struct address){ 3, 32, 0, 0, 6, 3, 4, 0, 2, 4 });
	address_is(2, (struct address){ 3, 32, 3, 0, 9, 3, 4, 3, 5, 7 });
	save(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"));
	address_is(1, (struct address){ 3, 32, 0, 0, 9, 3, 5, 0, 2, 5 });
	address_is(2, (struct address){ 3, 32, 3, 0, 12, 3, 5, 3, 5, 8 });
	address_is(3, (struct address){ 3, 24, 0, 352, 15, 3, 0, 0, 2, 11 });
	INDICES(2, 3, 4, 5);
	edited_close(&k);
}

/* Fields nobody reads stay as far off as they are, but for those of the mesh that is edited. */
static void stale(void **state)
{
	(void)state;
	start(1000);
	put_le16(k.bytes[0] + b.at_meshes + 0x2c, 77);
	put_le16(k.bytes[0] + b.at_meshes + 0x2e, 1335);
	put_le16(k.bytes[0] + b.at_meshes + 80 + 0x2c, 1336);
	put_le32(k.bytes[0] + b.at_meshes + 160 + 0x3c, 4242);
	put_le32(k.bytes[0] + 0x0c, 99);
	put_le32(k.bytes[0] + 0x60, b.size + 500);     /* no trailing block, and what was one is nobody's */
	memcpy(k.was[0], k.bytes[0], k.size[0]);
	edited_settle(&k);
	save(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"));
	address_is(0, (struct address){ 5, 32, 0, 0, 0, 9, 0, 77, 4, 0 });
	address_is(1, (struct address){ 3, 32, 5, 0, 9, 3, 0, 1336, 7, 5 });
	address_is(2, (struct address){ 3, 40, 0, 256, 12, 3, 0, 0, 2, 4242 });
	/* The bytes behind the indices are not all zeros any more: they move as they are. */
	header_is(100, 18, 472, b.at_vertices, b.at_vertices + 472, b.size + 500);
	moved(b.at_vertices + 470, b.at_vertices + 508, 26);
	assert_int_equal(k.size[0], b.size + 38);
	edited_close(&k);
}

/* An opaque mesh and a record of zeros: one moves, the other stays. */
static void opaque(void **state)
{
	(void)state;
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	build_no_mesh(&b);
	mesh("IASkin4wt1UV", 3, 3);
	put_le32(b.meshes.p + 160 + 0x18, 0xd61a3e0d);
	mesh("IASkin4wt1UV", 3, 3);
	finish(1000);
	save(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"));
	address_is(1, (struct address){ 0 });
	address_is(2, (struct address){ 3, 32, 5, 0, 9, 3, 0, 5, 7, 5 });
	address_is(3, (struct address){ 3, 32, 8, 0, 12, 3, 0, 8, 10, 8 });
	INDICES(2, 5, 6, 7);
	INDICES(3, 8, 9, 10);
	edited_close(&k);
}

static void shared(void **state)
{
	static const int32_t reach[] = { -1, 0, 1, 1, 0, 3 };
	char *text;

	(void)state;
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 3, reach, 6 });
	mesh("IASkin4wt1UV", 3, 3);
	mesh("IANonSkin1UV", 3, 3);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 3, quad, 3, .same = true });
	finish(1000);
	refused(0, OBJ(0, 4, "1 2 3"), EINVAL, "mesh 1 uses vertices of mesh 0: only their values can be changed");
	refused(1, OBJ(1, 5, "1 2 3"), EINVAL,
		"mesh 1 uses vertices of other meshes: only their values can be changed");
	refused(2, OBJ(2, 3, "1 2 3", "1 3 2"), EINVAL,
		"mesh 1 uses vertices of mesh 2: only their values can be changed");
	refused(3, OBJ(3, 3, "1 2 3", "1 3 2"), EINVAL,
		"mesh 4 uses vertices of mesh 3: only their values can be changed");
	/* The last vertex of mesh 0 and the first of mesh 2 are moved through mesh 1. */
	text = with_line(with_line(obj_text(k.o, 1), "v ", 0, "v 3 1.5 2"), "v ", 4, "v 0 0.25 0");
	save(1, text);
	assert_memory_equal(k.bytes[0] + b.at_vertices + 96 + 8, "\0\0\0\x40", 4);
	assert_memory_equal(k.bytes[0] + b.at_vertices + b.first[2] + 4, "\0\0\x80\x3e", 4);
	edited_close(&k);

	begin();
	mesh("IASkin4wt1UV", 4, 6);
	mesh("IASkin4wt1UV", 4, 6);
	put_le32(b.meshes.p + 80 + 0x1c, 3);
	finish(1000);
	/* Index 3 to 5 are both meshes': the second reaches into the first by them. */
	refused(0, OBJ(0, 4, "1 2 3"), EINVAL, "mesh 1 uses vertices of mesh 0: only their values can be changed");
	edited_close(&k);
}

/* ---- other block types ---- */

static void block_type(uint32_t i, const char *name)
{
	char text[64];

	snprintf(text, sizeof text, "block_type: %s\n", name);
	edited_yaml_twice(&k, DOC_MESH, i, text);
	sound(k.o);
}

static void block_types(void **state)
{
	static const uint8_t eight[] = { 600 & 255, 0xb2, 0x44, 0x06, 23, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0 };
	uint64_t v;

	(void)state;
	start(1000);
	v = b.at_vertices;
	/* 4 to 8 weights: mesh 1 leaves the run of mesh 0 for one of its own, which mesh 2 goes on. */
	block_type(1, "IASkin8wt1UV");
	address_is(0, (struct address){ 4, 32, 0, 0, 0, 6, 0, 0, 3, 0 });
	address_is(1, (struct address){ 3, 40, 0, 128, 6, 3, 0, 0, 2, 4 });
	address_is(2, (struct address){ 3, 40, 3, 128, 9, 3, 0, 3, 5, 7 });
	address_is(3, (struct address){ 3, 32, 0, 368, 12, 3, 0, 0, 2, 10 });
	header_is(13, 15, 464, b.at_vertices, b.at_vertices + 464, b.at_vertices + 496);
	assert_int_equal(u32(b.at_meshes + 80 + 0x18), 0x81f58067);
	assert_int_equal(u32(b.at_meshes + 80 + 0x38), 0x30000000);
	INDICES(1, 0, 1, 2);
	INDICES(2, 3, 4, 5);
	moved(v + 128 + 32, v + 128 + 40, 24);
	assert_memory_equal(k.bytes[0] + v + 128 + 40 + 24, eight, sizeof eight);
	moved(v + 224, v + 248, 216);
	/* And back: nothing has changed. */
	block_type(1, "IASkin4wt1UV");
	assert_int_equal(k.size[0], b.size);
	edited_only(&k, 0, 0, 0);
	edited_close(&k);

	start(1000);
	block_type(3, "IASkin4wt2UVColor");
	address_is(3, (struct address){ 3, 40, 3, 224, 12, 3, 0, 3, 5, 10 });     /* mesh 2 has 40 bytes too */
	INDICES(3, 3, 4, 5);
	moved(v + 344 + 32, v + 344 + 40, 24);
	assert_memory_equal(k.bytes[0] + v + 344 + 40 + 24, "\0\0\0\0", 4);
	moved(v + 344 + 32 + 24, v + 344 + 40 + 28, 8);
	assert_memory_equal(k.bytes[0] + v + 344 + 40 + 36, "\xff\xff\xff\xff", 4);
	edited_close(&k);
}

/* A fourth weight that is more than its slot holds, or less than 0, stays what is left. */
static void block_types_of_complements(void **state)
{
	(void)state;
	start(1000);
	put_le32(k.bytes[0] + b.at_vertices + 24, 10 | 20 << 10);      /* 993 are left, */
	put_le32(k.bytes[0] + b.at_vertices + 28, 0x02000102);
	put_le32(k.bytes[0] + b.at_vertices + 56, 1023 | 7 << 10 | 3u << 30);  /* -7 */
	edited_settle(&k);
	block_type(0, "IASkin8wt1UV");
	assert_memory_equal(k.bytes[0] + b.at_vertices + 24, "\x0a\x50\0\0\0\0\0\0\2\1\0\0\0\0\0\2", 16);
	assert_memory_equal(k.bytes[0] + b.at_vertices + 64, "\xff\x1f\0\xc0\0\0\0\0\0\1\2\0\0\0\0\0", 16);
	edited_close(&k);
}

static void block_types_refused(void **state)
{
	(void)state;
	start(1000);
	assert_int_equal(edited_yaml(&k, DOC_MESH, 2, "block_type: IASkin4wt1UV\n"), -EINVAL);
	assert_string_equal(k.why,
			    "line 1, column 13: block_type: vertex 0: weight 30 of bone 0, in slot 4, would be lost");
	assert_int_equal(edited_yaml(&k, DOC_MESH, 2, "block_type: 0x12345678\n"), -EINVAL);
	assert_string_equal(k.why,
			    "line 1, column 13: block_type: 0x12345678 is none of the 14 whose vertices are known");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* ---- envelopes ---- */

/* Bone 2 gets its first vertex of mesh 0, (2, 1, -2), which is (-1, -6, -6) in its space. The envelopes are sorted, so
 * its own comes between those of bone 1 and of the whole. Mesh 1, which has none, gets none. */
static void new_envelopes(void **state)
{
	uint64_t at;
	char *text;

	(void)state;
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	build_envelope(&b, 1, true);
	build_envelope(&b, 255, true);
	mesh("IASkin4wt1UV", 3, 3);
	build_envelope(&b, 0, false);
	/* Vertices of both with nothing on bone 2. */
	for (unsigned i = 0; i < 7; i++)
		put_le32(b.vertices.p + 32 * i + 24, 1023);
	finish(1000);
	at = b.at_envelopes + 4 + 144;
	text = with_line(weights_text(k.o, 0), "- ", 2, "- [[0, 1000], [2, 23]]");
	assert_int_equal(edited_weights(&k, 0, text), 0);
	free(text);
	sound(k.o);
	assert_int_equal(u32(b.at_envelopes), 4);
	assert_int_equal(k.bytes[0][b.at_meshes + 0x29], 3);
	moved(b.at_envelopes + 4, b.at_envelopes + 4, 144);
	moved(at, at + 144, 288);
	assert_int_equal(u32(at), 2);
	assert_memory_equal(k.bytes[0] + at + 4, "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd", 12);
	/* One point: centre, radius 0, box, no turn, no size. */
	assert_memory_equal(k.bytes[0] + at + 16, "\0\0\x80\xbf\0\0\xc0\xc0\0\0\xc0\xc0\0\0\0\0", 16);
	assert_memory_equal(k.bytes[0] + at + 32, "\0\0\x80\xbf\0\0\xc0\xc0\0\0\xc0\xc0\0\0\0\0", 16);
	assert_memory_equal(k.bytes[0] + at + 48, "\0\0\x80\xbf\0\0\xc0\xc0\0\0\xc0\xc0\0\0\0\0", 16);
	assert_memory_equal(k.bytes[0] + at + 64 + 48, "\0\0\x80\xbf\0\0\xc0\xc0\0\0\xc0\xc0\0\0\x80\x3f", 16);
	assert_memory_equal(k.bytes[0] + at + 128, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
	header_is(7, 9, 224, b.at_vertices + 144, b.at_vertices + 144 + 224, b.at_trailer + 144);

	text = with_line(weights_text(k.o, 1), "- ", 2, "- [[0, 1000], [2, 23]]");
	assert_int_equal(edited_weights(&k, 1, text), 0);
	free(text);
	assert_int_equal(u32(b.at_envelopes), 4);
	assert_int_equal(k.bytes[0][b.at_meshes + 80 + 0x29], 0);
	edited_close(&k);
}

/* ---- places of blocks ---- */

/* Offsets of groups that are none stay: 0, or where the names begin. */
static void no_groups(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		start(1000);
		if (i)
			put_le32(k.bytes[0] + 0x38, 0);
		edited_settle(&k);
		save(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"));
		assert_int_equal(u32(0x38), i ? 0 : b.at_materials);
		assert_int_equal(u32(0x30), 0x140);
		assert_int_equal(u32(0x40), b.at_materials);
		assert_int_equal(u32(0x48), b.at_meshes);
		edited_close(&k);
	}
}

/* Blocks in another order: the indices, which end at a multiple of 4 + 2, come before the vertices. */
static void other_order(void **state)
{
	struct buf out;
	uint64_t indices, vertices;

	(void)state;
	begin();
	mesh("IASkin4wt1UV", 4, 6);
	mesh("IASkin4wt1UV", 3, 3);
	build_mod3(&b, &out);
	indices = b.at_vertices;
	vertices = indices + 20;
	memmove(out.p + vertices, out.p + b.at_vertices, 224);
	/* The indices as build_mod3_mesh() made them. */
	memcpy(out.p + indices, "\0\0\1\0\2\0\2\0\1\0\3\0\4\0\5\0\6\0\0\0", 20);
	set64(&out, 0x50, vertices);
	set64(&out, 0x58, indices);
	edited_open(&k, &fmt_mod3, out.p, out.len, out.len + 1000);
	buf_free(&out);
	sound(k.o);
	save(0, OBJ(0, 5, "1 2 3", "3 2 4", "4 2 5"));
	/* 24 bytes of indices need no zeros. */
	header_is(8, 12, 256, (uint32_t)vertices + 4, (uint32_t)indices, b.at_trailer + 36);
	INDICES(0, 0, 1, 2, 2, 1, 3, 3, 1, 4);
	INDICES(1, 5, 6, 7);
	moved(vertices + 128, vertices + 4 + 160, 96);
	moved(b.at_trailer, b.at_trailer + 36, 24);
	edited_close(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grown), cmocka_unit_test(no_room), cmocka_unit_test(shrunk), cmocka_unit_test(turned),
		cmocka_unit_test(split), cmocka_unit_test(alike), cmocka_unit_test(limits),
		cmocka_unit_test(from_nothing), cmocka_unit_test(long_runs), cmocka_unit_test(other_places),
		cmocka_unit_test(stale), cmocka_unit_test(opaque), cmocka_unit_test(shared),
		cmocka_unit_test(block_types), cmocka_unit_test(block_types_of_complements),
		cmocka_unit_test(block_types_refused), cmocka_unit_test(new_envelopes), cmocka_unit_test(no_groups),
		cmocka_unit_test(other_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
