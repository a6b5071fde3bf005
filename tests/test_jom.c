/* JOM: what is shown of models built here, against texts worked out by hand; and damage. */
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
#include "export.h"
#include "opened.h"

extern const struct format fmt_jom;

#define WHOLE MESH_WHOLE

static struct opened open_built(void (*build)(struct buf *b))
{
	struct buf b = { 0 };

	build(&b);
	assert_false(b.bad);
	return open_buf(&fmt_jom, &b);
}

/* ---- OBJ and MTL ---- */

/* Pictures are numbers of textures that are there. */
static char *obj_of(struct object *o, uint32_t mesh)
{
	struct geo_material *of_part;
	struct arena a = { 0 };
	struct geo_mesh m = { 0 };
	struct buf out = { 0 };
	struct err e;

	assert_int_equal(fmt_jom.model->mesh(o, mesh, &m, &a, &e), 0);
	of_part = arena_alloc(&a, m.nparts + 1, sizeof *of_part);
	assert_non_null(of_part);
	for (unsigned k = 0; k < m.nparts; k++)
		if (m.parts[k].nfaces)
			assert_int_equal(fmt_jom.model->material(o, (uint32_t)m.parts[k].material, &of_part[k], &a, &e),
					 0);
	obj_write(&out, &m, mesh, of_part);
	arena_free(&a);
	buf_char(&out, 0);
	assert_false(out.bad);
	return (char *)out.p;
}

static void obj_is(struct object *o, uint32_t mesh, const char *want)
{
	char *text = obj_of(o, mesh);

	assert_string_equal(text, want);
	free(text);
}

/* Of the mesh's own list; without the names of files that only model.mtl has. */
static void mtl_is(struct object *o, uint32_t mesh, const char *want)
{
	struct arena a = { 0 };
	struct geo_mesh m = { 0 };
	struct buf out = { 0 };
	struct err e;

	assert_int_equal(fmt_jom.model->mesh(o, mesh, &m, &a, &e), 0);
	for (uint32_t k = 0; k < m.nmaterials; k++) {
		struct geo_material mat;

		assert_int_equal(fmt_jom.model->material(o, m.materials[k], &mat, &a, &e), 0);
		if (mesh != WHOLE)
			mat.map = NULL;
		else
			mat.image = -1;
		mtl_write(&out, &mat, 1);
	}
	arena_free(&a);
	buf_char(&out, 0);
	assert_string_equal((char *)out.p, want);
	buf_free(&out);
}

#define FOUR_VT "vt 0.0 1.0\nvt 1.0 1.0\nvt 1.0 0.0\nvt 0.0 0.0\n"

/* ---- the smallest model ---- */

/* The numbers of spec/jom.md 13, byte by byte. */
static void test_worked_example(void **state)
{
	static const char bytes[] =
		"4a4f4d3100010000" "00008000ffff0000" "0000000000011e38"
		"504e545300000028" "00000003" "000000000000000000000000" "000100000000000000000000"
		"00000000fffe000000000000"
		"5155414400000018" "00000001" "0000000000000000ffff0000" "0001000000020002"
		"514d415400000008" "00000001" "00000000"
		"4d41544c00000024" "00000001" "64656661756c74000000000000000000" "ffffff00ffff0000"
		"0000000000000000" "454e442000000000";
	struct buf b = { 0 };

	(void)state;
	build_jom_smallest(&b);
	assert_int_equal(b.len, 172);
	memcpy(b.p + 96, "\0\1\0\0", 4);     /* A and B */
	for (size_t i = 0; i < b.len; i++) {
		char hex[3] = { bytes[2 * i], bytes[2 * i + 1], 0 };

		assert_int_equal(b.p[i], strtoul(hex, NULL, 16));
	}
	buf_free(&b);
}

static void test_smallest(void **state)
{
	struct opened k = open_built(build_jom_smallest);

	(void)state;
	sound(k.o);
	assert_int_equal(bid_for(&fmt_jom, k.bytes, 172), 90);
	doc_is(k.o, DOC_HEADER, 0,
	       "# modelfs jom 1\nversion: 1  # derived\nreserved: 0x0000\nsphere_centre: [0.5, -1.0, 0.0]\n"
	       "sphere_radius: 1.1180419921875\nsize: 172  # derived\nchunks: [PNTS, QUAD, QMAT, MATL]  # derived\n"
	       "point_count: 3  # derived\npolygon_count: 1  # derived\ntriangle_count: 1  # derived\n"
	       "mesh_count: 1  # derived\nmaterial_count: 1  # derived\ntexture_count: 0  # derived\n"
	       "normal_count: 0  # derived\ngroup_count: 0  # derived\nbone_count: 0  # derived\n"
	       "animation_count: 0  # derived\n");
	doc_is(k.o, DOC_OWN, 0,
	       "# modelfs jom 1 materials\n- name: \"default\"\n  colour: [255, 255, 255]\n  shine: 0\n"
	       "  texture: null\n  subdivision_error: 0\n  flags: []\n  user: 0x00000000\n");
	doc_is(k.o, DOC_MESH, 0,
	       "# modelfs jom 1 mesh\npoints: [0, 1, 2]  # derived\npolygons: [0]  # derived\nnormals:\n"
	       "- [0.0, 0.0, -1.0]\n");
	obj_is(k.o, 0, "mtllib 0.mtl\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\n" FOUR_VT
	       "usemtl default\nf 1 3 2\n");
	obj_is(k.o, WHOLE, "mtllib model.mtl\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 0.0 2.0 0.0\n" FOUR_VT
	       "usemtl default\nf 1 3 2\n");
	mtl_is(k.o, 0, "newmtl default\nKd 1 1 1\nNs 0\n");
	assert_int_equal(fmt_jom.model->doc(k.o, DOC_SKELETON, 0, &(struct doc){ &(struct doc_ops){ 0 } }, NULL),
			 -ENOENT);
	close_opened(&k);
}

/* ---- one of everything ---- */

static void test_header_of_hut(void **state)
{
	struct opened k = open_built(build_jom_hut);
	char *text = text_of(k.o, DOC_HEADER, 0);

	(void)state;
	sound(k.o);
	assert_non_null(strstr(text, "chunks: [TIMG, PNTS, QUAD, QMAT, \"X 1\", MATL, TEXT, NTAB, CNRM, VCOL, GOUR, "
			       "GRUP, BONE, ANIM]  # derived\n"));
	assert_non_null(strstr(text, "polygon_count: 3  # derived\ntriangle_count: 2  # derived\n"
			       "mesh_count: 3  # derived\nmaterial_count: 2  # derived\ntexture_count: 2  # derived\n"
			       "normal_count: 2  # derived\ngroup_count: 2  # derived\nbone_count: 3  # derived\n"
			       "animation_count: 1  # derived\n"));
	free(text);
	close_opened(&k);
}

static void test_materials_of_hut(void **state)
{
	struct opened k = open_built(build_jom_hut);

	(void)state;
	doc_is(k.o, DOC_OWN, 0,
	       "# modelfs jom 1 materials\n"
	       "- name: \"wall\"\n  colour: [255, 128, 0]\n  shine: 10\n  texture: 0\n  subdivision_error: 3\n"
	       "  flags: [sort_min, sort_max, gouraud, user_3, 0x00002000]\n  user: 0x00000007\n"
	       "- name: \"roof\"\n  colour: [0, 1, 254]\n  shine: 0\n  texture: 1\n  subdivision_error: 0\n"
	       "  flags: [flip_h, flip_v, subdivision_near]\n  user: 0x00000000\n");
	/* 128.25 / 255 and 1.25 / 255, 254.25 / 255. */
	mtl_is(k.o, 0,
	       "newmtl wall\nKd 1 0.502941 0\nNs 10\nmap_Kd ../textures/0.png\njo_sort previous\njo_gouraud 1\n"
	       "jo_subdivision_error 3\njo_user 3\njo_value 7\n");
	mtl_is(k.o, 1,
	       "newmtl roof\nKd 0 0.004902 0.997059\nNs 0\nmap_Kd ../textures/1.png\njo_flip hv\njo_subdivision 2\n"
	       "jo_lut 1\n");
	mtl_is(k.o, WHOLE,
	       "newmtl wall\nKd 1 0.502941 0\nNs 10\nmap_Kd BR_012345.BIN\njo_sort previous\njo_gouraud 1\n"
	       "jo_subdivision_error 3\njo_user 3\njo_value 7\n"
	       "newmtl roof\nKd 0 0.004902 0.997059\nNs 0\nmap_Kd LU_ABCDEF.BIN\njo_flip hv\njo_subdivision 2\n"
	       "jo_lut 1\n");
	close_opened(&k);
}

/* Colours of points i: (32768 + 3 i) / 65536, 0, 0. */
#define V0 "v -1.0 0.0 0.0 0.5 0.0 0.0\n"
#define V1 "v 1.0 0.0 0.0 0.5000457763671875 0.0 0.0\n"
#define V2 "v 1.0 -2.0 0.0 0.500091552734375 0.0 0.0\n"
#define V3 "v -1.0 -2.0 0.0 0.5001373291015625 0.0 0.0\n"
#define V4 "v 0.0 1.0 -0.5 0.50018310546875 0.0 0.0\n"
#define V5 "v 3.0 0.0 -0.0000152587890625 0.5002288818359375 0.0 0.0\n"
#define V6 "v 4.0 0.0 0.0 0.500274658203125 0.0 0.0\n"
#define V7 "v 3.0 -1.0 0.0 0.5003204345703125 0.0 0.0\n"
#define TWO_VN "vn 0.0 0.0 1.0\nvn 0.0 1.0 0.0\n"

static void test_meshes_of_hut(void **state)
{
	struct opened k = open_built(build_jom_hut);

	(void)state;
	obj_is(k.o, 0, "mtllib 0.mtl\n" V0 V1 V2 V3 FOUR_VT TWO_VN "o WALL\nusemtl wall\nf 1/1/1 4/4/2 3/3/2 2/2/1\n");
	obj_is(k.o, 1, "mtllib 1.mtl\n" V0 V1 V4 FOUR_VT TWO_VN "o ROOF\nusemtl roof\nf 1//2 3//2 2//1\n");
	obj_is(k.o, 2, "mtllib 2.mtl\n" V5 V6 V7 FOUR_VT TWO_VN "usemtl wall\nf 1//1 3//1 2//1\n");
	obj_is(k.o, WHOLE, "mtllib model.mtl\n" V0 V1 V2 V3 V4 V5 V6 V7 FOUR_VT TWO_VN
	       "o WALL\nusemtl wall\nf 1/1/1 4/4/2 3/3/2 2/2/1\no ROOF\nusemtl roof\nf 1//2 5//2 2//1\n"
	       "o ungrouped\nusemtl wall\nf 6//1 8//1 7//1\n");
	doc_is(k.o, DOC_MESH, 1,
	       "# modelfs jom 1 mesh\nname: \"ROOF\"\nfirst_point: 4  # derived\npoint_count: 1  # derived\n"
	       "first_polygon: 1  # derived\npolygon_count: 1  # derived\npoints: [0, 1, 4]  # derived\n"
	       "polygons: [1]  # derived\nnormals:\n- [0.0, -0.4472198486328125, -0.8944244384765625]\ngouraud:\n"
	       "- [0x0000, 0x0000, 0x0000, 0x0000]\n");
	doc_is(k.o, DOC_MESH, 2,
	       "# modelfs jom 1 mesh\npoints: [5, 6, 7]  # derived\npolygons: [2]  # derived\nnormals:\n"
	       "- [0.0, 0.0, -1.0]\ngouraud:\n- [0xc210, 0xc211, 0xc212, 0xc212]\n");
	close_opened(&k);
}

static void test_skeleton_of_hut(void **state)
{
	struct opened k = open_built(build_jom_hut);
	char name[PART_NAME_MAX];

	(void)state;
	doc_is(k.o, DOC_SKELETON, 0,
	       "# modelfs jom 1 skeleton\nkind: jom\nbones:\n"
	       "- name: \"hip\"\n  group: 0\n  parent: null\n  pivot: [0.0, 0.0, 0.0]\n"
	       "- name: \"arm\"\n  group: 1\n  parent: 0\n  pivot: [0.0, 1.0, 0.0]\n"
	       "- name: \"hand\"\n  group: null\n  parent: 1\n  pivot: [0.0, 2.0, 0.0]\n");
	/* 360 / 65536 degrees is 0.0054931640625; 8 * 8192 has wrapped to 0. */
	doc_is(k.o, DOC_CLIP, 0,
	       "# modelfs jom 1 animation\nname: \"WALK\"\nkey_ticks: 10\nflags: [loop]\nduplicate: 0\n"
	       "offset: 32  # derived\nkey_count: 2  # derived\nkeys:\n"
	       "- root: [0.0, 0.0, 0.0]\n  angles:\n  - [0.0, 0.0054931640625, 0.010986328125]\n"
	       "  - [0.0164794921875, 0.02197265625, 0.0274658203125]\n"
	       "  - [0.032958984375, 0.0384521484375, 0.0439453125]\n"
	       "- root: [0.0, 1.0, 0.0]\n  angles:\n  - [0.0, 45.0, 90.0]\n  - [135.0, -180.0, -135.0]\n"
	       "  - [-90.0, -45.0, 0.0]\n");
	fmt_jom.model->part_name(k.o, PART_CLIP, 0, name);
	assert_string_equal(name, "WALK");
	close_opened(&k);
}

static void pixel_is(const struct geo_image *img, uint32_t i, uint32_t rgba)
{
	const uint8_t *p = img->indexed ? img->palette[img->indexed[i]] : img->rgba + 4 * (size_t)i;

	assert_int_equal((uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3], rgba);
}

static void test_pictures_of_hut(void **state)
{
	static const uint32_t colours[8] = {
		0, 0xff0000ff, 0x00ff00ff, 0x0000ffff, 0xffffffff, 0xff000080, 0x848484ff, 0x000000ff,
	};
	struct opened k = open_built(build_jom_hut);
	struct geo_image img;
	struct arena a = { 0 };

	(void)state;
	assert_int_equal(fmt_jom.model->image(k.o, 0, &img, &a, NULL), 0);
	assert_int_equal(img.w * 100 + img.h, 801);
	for (unsigned i = 0; i < 8; i++)
		pixel_is(&img, i, colours[i]);
	assert_int_equal(fmt_jom.model->image(k.o, 1, &img, &a, NULL), 0);
	assert_int_equal(img.ncolours, 16);
	assert_memory_equal(img.indexed, ((const uint8_t[]){ 0, 1, 2, 3, 15, 0, 0, 15 }), 8);
	pixel_is(&img, 0, 0);
	pixel_is(&img, 3, 0x180000ff);                         /* 3 << 3 | 3 >> 2 */
	doc_is(k.o, DOC_IMAGE, 0,
	       "# modelfs jom 1 texture\nname: \"BR_012345.BIN\"\nsource: timg  # derived\nwidth: 8  # derived\n"
	       "height: 1  # derived\nformat: rgb555  # derived\nreserved: 0x0000\n");
	doc_is(k.o, DOC_IMAGE, 1,
	       "# modelfs jom 1 texture\nname: \"LU_ABCDEF.BIN\"\nsource: timg  # derived\nwidth: 8  # derived\n"
	       "height: 1  # derived\nformat: lut16  # derived\nreserved: 0xbeef\n"
	       "palette: [0x0000, 0x8001, 0x8002, 0x8003, 0x8004, 0x8005, 0x8006, 0x8007, 0x8008, 0x8009, 0x800a, "
	       "0x800b, 0x800c, 0x800d, 0x800e, 0x800f]\n");
	arena_free(&a);
	close_opened(&k);
}

struct gaps { unsigned n; uint64_t at, size; };

static int keep_gap(void *ctx, uint64_t at, uint64_t size)
{
	*(struct gaps *)ctx = (struct gaps){ ((struct gaps *)ctx)->n + 1, at, size };
	return 0;
}

static void test_chunks_of_hut(void **state)
{
	static const char *const names[] = {
		"TIMG", "PNTS", "QUAD", "QMAT", "X_1", "MATL", "TEXT", "NTAB", "CNRM", "VCOL", "GOUR", "GRUP", "BONE",
		"ANIM", "",
	};
	struct opened k = open_built(build_jom_hut);
	struct gaps gaps = { 0 };
	struct chunk c;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_true(object_chunk(k.o, i, &c));
		assert_string_equal(c.name, names[i]);
		assert_int_equal(c.head, 8);
		if (i == 4)
			assert_memory_equal(k.bytes + c.at, "unknown!", 8);
	}
	assert_false(object_chunk(k.o, ARRAY_LEN(names), &c));
	assert_int_equal(object_gaps(k.o, keep_gap, &gaps, NULL), 0);
	assert_int_equal(gaps.n, 1);
	assert_int_equal(gaps.size, 5);
	assert_memory_equal(k.bytes + gaps.at, "tail!", 5);
	close_opened(&k);
}

/* ---- order, repeats, names ---- */

static void build_other_order(struct buf *b)
{
	struct buf hut = { 0 };
	size_t at[16], n = 0;

	build_jom_hut(&hut);
	for (at[n] = 24; memcmp(hut.p + at[n], "END ", 4); n++)
		at[n + 1] = at[n] + 8 + be_u32(hut.p + at[n] + 4);
	buf_add(b, hut.p, 24);
	for (size_t i = n; i-- > 0;)
		buf_add(b, hut.p + at[i], at[i + 1] - at[i]);
	jom_end(b);
	buf_free(&hut);
}

/* ANIM, whose keys only BONE explains, comes first. */
static void test_other_order(void **state)
{
	struct opened k = open_built(build_other_order), hut = open_built(build_jom_hut);

	(void)state;
	sound(k.o);
	assert_memory_equal(k.bytes + 24, "ANIM", 4);
	for (unsigned i = 0; i < 3; i++) {
		char *mesh = text_of(hut.o, DOC_MESH, i), *obj = obj_of(hut.o, i);

		doc_is(k.o, DOC_MESH, i, mesh);
		obj_is(k.o, i, obj);
		free(mesh);
		free(obj);
	}
	char *clip = text_of(hut.o, DOC_CLIP, 0);

	doc_is(k.o, DOC_CLIP, 0, clip);
	free(clip);
	close_opened(&hut);
	close_opened(&k);
}

static const char *const odd_names[] = { "", "same", "same", "two words", "#a/b\\", "..", "same~2", "same", "." };

static void build_odd_names(struct buf *b)
{
	jom_header(b);
	jom_points(b, 0, NULL);
	jom_polygons(b, 0, NULL);
	jom_materials(b, ARRAY_LEN(odd_names), odd_names);
	jom_points(b, 1, &(const int32_t[3]){ 7, 8, 9 });      /* the second of its tag: raw only */
	jom_close(b, jom_begin(b, "MATL"));
	jom_close(b, jom_begin(b, "\n\0  "));
	jom_close(b, jom_begin(b, "    "));
	jom_close(b, jom_begin(b, "ON  "));
	jom_end(b);
}

static void test_odd_names(void **state)
{
	static const char *const safe[] = {
		"material_0", "same", "same~2", "two_words", "_a_b_", "__", "same~2~2", "same~3", "_",
	};
	static const char *const chunks[] = { "PNTS~2", "MATL~2", "__", "chunk_7", "ON" };
	struct opened k = open_built(build_odd_names);
	char *header = text_of(k.o, DOC_HEADER, 0);
	struct arena a = { 0 };
	struct geo_material mat;
	struct chunk c;

	(void)state;
	sound(k.o);
	for (uint32_t i = 0; i < ARRAY_LEN(safe); i++) {
		assert_int_equal(fmt_jom.model->material(k.o, i, &mat, &a, NULL), 0);
		assert_string_equal(mat.name, safe[i]);
	}
	for (uint32_t i = 0; i < ARRAY_LEN(chunks); i++) {
		assert_true(object_chunk(k.o, 4 + i, &c));
		assert_string_equal(c.name, chunks[i]);
	}
	assert_non_null(strstr(header, "chunks: [PNTS, QUAD, QMAT, MATL, PNTS, MATL, [10, 0, 0, 0], \"\", \"ON\"]"));
	assert_non_null(strstr(header, "point_count: 0 "));
	/* A model without polygons still has a mesh. */
	obj_is(k.o, 0, "mtllib 0.mtl\n" FOUR_VT);
	doc_is(k.o, DOC_MESH, 0, "# modelfs jom 1 mesh\npoints: []  # derived\npolygons: []  # derived\nnormals: []\n");
	free(header);
	arena_free(&a);
	close_opened(&k);
}

/* ---- corners that repeat ---- */

static void build_repeated_corners(struct buf *b)
{
	static const int32_t points[4][3] = { { 0, 0, 0 }, { ONE, 0, 0 }, { ONE, ONE, 0 }, { 0, ONE, 0 } };
	static const uint16_t corners[][4] = {
		{ 0, 1, 2, 0 }, { 0, 0, 1, 2 }, { 0, 1, 1, 2 }, { 0, 1, 2, 2 }, { 0, 1, 0, 2 }, { 0, 1, 2, 1 },
		{ 0, 0, 1, 1 }, { 3, 3, 3, 3 }, { 3, 2, 1, 0 },
	};
	struct jom_poly v[ARRAY_LEN(corners)] = { 0 };
	static const char *const name = "m";

	for (unsigned i = 0; i < ARRAY_LEN(corners); i++)
		memcpy(v[i].corners, corners[i], sizeof corners[i]);
	jom_header(b);
	jom_points(b, 4, points);
	jom_polygons(b, ARRAY_LEN(v), v);
	jom_materials(b, 1, &name);
	jom_end(b);
}

static void test_repeated_corners(void **state)
{
	struct opened k = open_built(build_repeated_corners);
	char *header = text_of(k.o, DOC_HEADER, 0);

	(void)state;
	obj_is(k.o, 0, "mtllib 0.mtl\nv 0.0 0.0 0.0\nv 1.0 0.0 0.0\nv 1.0 -1.0 0.0\nv 0.0 -1.0 0.0\n" FOUR_VT
	       "usemtl m\nf 2 1 3\nf 1 3 2\nf 1 3 2\nf 1 3 2\nf 4/1 1/4 2/3 3/2\n");
	assert_non_null(strstr(header, "polygon_count: 9  # derived\ntriangle_count: 4  # derived\n"));
	free(header);
	close_opened(&k);
}

/* ---- what is odd, but shown ---- */

/* The hut with n bytes changed behind the start of a chunk's data. */
static struct opened changed_hut(const char *tag, size_t at, const void *bytes, size_t n)
{
	struct buf b = { 0 };

	build_jom_hut(&b);
	memcpy(b.p + jom_data(b.p, b.len, tag) + at, bytes, n);
	return open_buf(&fmt_jom, &b);
}

static void test_tolerated(void **state)
{
	struct opened k = changed_hut("CNRM", 4, "\x12\x34", 2);
	char *text = obj_of(k.o, 0);

	(void)state;
	sound(k.o);
	assert_non_null(strstr(text, "f 1/1 4/4/2 3/3/2 2/2/1\n"));    /* there is no normal 0x1234 */
	free(text);
	close_opened(&k);

	/* A group that reaches past all points and polygons. */
	k = changed_hut("GRUP", 4 + 24 + 16, "\0\x06\xff\xff\0\x02\xff\xff", 8);
	sound(k.o);
	text = text_of(k.o, DOC_MESH, 1);
	assert_non_null(strstr(text, "point_count: 65535  # derived\nfirst_polygon: 2  # derived\n"
			       "polygon_count: 65535  # derived\npoints: [5, 6, 7]  # derived\npolygons: [2]"));
	free(text);
	close_opened(&k);

	/* Numbers that lead nowhere are shown as they are. */
	k = changed_hut("MATL", 4 + 20, "\x80\0", 2);
	sound(k.o);
	text = text_of(k.o, DOC_OWN, 0);
	assert_non_null(strstr(text, "texture: -32768\n"));
	free(text);
	close_opened(&k);

	/* A name without an end, and one with bytes behind it. */
	k = changed_hut("BONE", 4, "SIXTEEN_BYTES_16", 16);
	text = text_of(k.o, DOC_SKELETON, 0);
	assert_non_null(strstr(text, "- name: [83, 73, 88, 84, 69, 69, 78, 95, 66, 89, 84, 69, 83, 95, 49, 54]\n"));
	free(text);
	close_opened(&k);
	k = changed_hut("BONE", 4 + 8, "x", 1);
	text = text_of(k.o, DOC_SKELETON, 0);
	assert_non_null(strstr(text, "- name: [104, 105, 112, 0, 0, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 0]\n"));
	free(text);
	close_opened(&k);
}

/* Fewer materials than polygons: the rest have none and are not shown. Likewise words of corners. */
static void test_short_lists(void **state)
{
	struct opened k = changed_hut("QMAT", 0, "\0\0\0\x02", 4);
	char *text = obj_of(k.o, WHOLE);

	(void)state;
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_MESH), 2);
	assert_null(strstr(text, "ungrouped"));
	free(text);
	close_opened(&k);

	k = changed_hut("GOUR", 0, "\0\0\0\x0a", 4);
	sound(k.o);
	text = text_of(k.o, DOC_MESH, 2);
	assert_non_null(strstr(text, "gouraud: []\n"));
	free(text);
	close_opened(&k);

	k = changed_hut("VCOL", 0, "\0\0\0\x01", 4);
	text = obj_of(k.o, 0);
	assert_non_null(strstr(text, V0 "v 1.0 0.0 0.0\n"));
	free(text);
	close_opened(&k);
}

/* ---- damage ---- */

/* A sentence in the place of the model. */
static void refused(struct opened *k, const char *why)
{
	assert_null(k->o->variant);
	assert_non_null(k->o->faults);
	assert_int_equal(k->o->faults->part, PART_OBJECT);
	if (!strstr(k->o->faults->text, why))
		fail_msg("\"%s\" does not say \"%s\"", k->o->faults->text, why);
	close_opened(k);
}

static void test_rejected(void **state)
{
	static const struct { const char *tag; size_t at; const char *bytes; size_t n; const char *why; } cases[] = {
		{ "QUAD", 4 + 12, "\0\x08", 2, "polygon 0: point 8, there are 8" },
		{ "QMAT", 4 + 2, "\0\x02", 2, "polygon 1: material 2, there are 2" },
		{ "PNTS", 0, "\0\0\0\x09", 4, "9 records of 12 bytes, 96 bytes are there" },
		{ "PNTS", 0, "\x15\x55\x55\x56", 4, "357913942 records of 12 bytes" },
		{ "TEXT", 0, "\xff\xff\xff\xff", 4, "4294967295 records of 16 bytes" },
		{ "PNTS", -8, "PNT2", 4, "there is no PNTS" },
		{ "ANIM", -4, "\xff\xff\xff\xfc", 4, "4294967292 bytes of data" },
		{ "ANIM", 4 + 16, "\0\x03", 2, "animation 0: 3 keys of 32 bytes at 32, the chunk has 96" },
		{ "ANIM", 4 + 24, "\xff\xff\xff\xf0", 4, "2 keys of 32 bytes at 4294967280" },
		{ "END ", -8, "ENDE", 4, "5 bytes are left" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct opened k = changed_hut(cases[i].tag, cases[i].at, cases[i].bytes, cases[i].n);

		refused(&k, cases[i].why);
	}
}

/* Pictures are lost, and nothing else. */
static void test_damaged_pictures(void **state)
{
	static const struct { size_t at; const char *bytes; size_t n; const char *why; } cases[] = {
		{ 4 + 20, "\0\x02", 2, "picture 0: format 2, expected 0 or 1" },
		{ 4 + 16, "\0\0", 2, "picture 0: 0 x 1 pixels" },
		{ 4 + 16, "\xff\xff\xff\xff", 4, "picture 0: 65535 x 65535 pixels end behind the chunk" },
		{ 0, "\xff\xff\xff\xff", 4, "4294967295 pictures" },
		{ 0, "\0\0\0\x03", 4, "picture 2: 24 bytes, the chunk has ended" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct opened k = changed_hut("TIMG", cases[i].at, cases[i].bytes, cases[i].n);

		assert_non_null(k.o->variant);
		assert_non_null(k.o->faults);
		assert_non_null(strstr(k.o->faults->text, cases[i].why));
		assert_false(fmt_jom.model->has(k.o, PART_IMAGE, 0));
		doc_is(k.o, DOC_IMAGE, 0,
		       "# modelfs jom 1 texture\nname: \"BR_012345.BIN\"\nsource: missing  # derived\n");
		close_opened(&k);
	}
}

static void count_text(struct doc *d, const char *key, const char *value, unsigned style)
{
	(void)d;
	(void)style;
	assert_true(strlen(key) > 0 && strlen(value) < 100000);
}

/* Everything of it, whatever it is. */
static void use(const uint8_t *p, size_t n)
{
	static const struct doc_ops listening = { .text = count_text };
	struct opened k = open_bytes(&fmt_jom, p, n);
	struct doc d = { &listening };
	struct gaps gaps = { 0 };
	struct chunk c;

	for (uint32_t i = 0; k.o->variant && i < object_count(k.o, PART_MESH); i++) {
		free(obj_of(k.o, i));
		assert_int_equal(fmt_jom.model->doc(k.o, DOC_MESH, i, &d, NULL), 0);
	}
	for (uint32_t i = 0; i < object_count(k.o, PART_IMAGE); i++) {
		struct arena a = { 0 };
		struct geo_image img;

		assert_int_equal(fmt_jom.model->doc(k.o, DOC_IMAGE, i, &d, NULL), 0);
		if (fmt_jom.model->has(k.o, PART_IMAGE, i))
			assert_int_equal(fmt_jom.model->image(k.o, i, &img, &a, NULL), 0);
		arena_free(&a);
	}
	for (uint32_t i = 0; i < object_count(k.o, PART_CLIP); i++)
		assert_int_equal(fmt_jom.model->doc(k.o, DOC_CLIP, i, &d, NULL), 0);
	for (uint32_t i = 0; object_chunk(k.o, i, &c); i++)
		assert_true(c.at >= c.head && span_ok(n, c.at, c.size, 1));
	if (k.o->variant) {
		free(obj_of(k.o, WHOLE));
		assert_int_equal(fmt_jom.model->doc(k.o, DOC_HEADER, 0, &d, NULL), 0);
		assert_int_equal(fmt_jom.model->doc(k.o, DOC_OWN, 0, &d, NULL), 0);
		assert_int_equal(object_gaps(k.o, keep_gap, &gaps, NULL), 0);
	}
	assert_true(!object_verify(k.o, NULL) || k.o->faults);
	close_opened(&k);
}

static void test_every_cut_and_change(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_jom_hut(&b);
	each_cut(&b, use);
	each_change(&b, use);
	buf_free(&b);
	build_repeated_corners(&b);
	each_change(&b, use);
	buf_free(&b);
}

/* Cut anywhere before END is complete, it is no model. */
static void test_cut_is_refused(void **state)
{
	struct buf b = { 0 };

	(void)state;
	build_jom_smallest(&b);
	for (size_t n = 0; n < b.len; n++) {
		struct opened k = open_bytes(&fmt_jom, b.p, n);

		assert_null(k.o->variant);
		close_opened(&k);
	}
	buf_free(&b);
}

/* More chunks than anybody needs. */
static void test_too_many_chunks(void **state)
{
	struct buf b = { 0 };
	struct opened k;

	(void)state;
	jom_header(&b);
	for (unsigned i = 0; i < 70000; i++)
		jom_close(&b, jom_begin(&b, "NULL"));
	jom_end(&b);
	k = open_buf(&fmt_jom, &b);
	refused(&k, "more than 65536 of them");
}

/* ---- bones ---- */

static void turned_by(struct object *o, struct geo_skeleton *v, struct arena *a)
{
	struct err e = { 0 };

	assert_int_equal(fmt_jom.model->skeleton(o, v, a, &e), 0);
	assert_int_equal(geo_settle(v, a, &e), 0);
}

/* Pivots 0, 1 and 2 downwards, each on the one before. */
static void test_bones_of_hut(void **state)
{
	struct opened k = open_built(build_jom_hut);
	const float want[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 2, 0, 1 };
	struct geo_skeleton v = { 0 };
	struct arena a = { 0 };

	(void)state;
	turned_by(k.o, &v, &a);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.joint[2].name, "hand");
	assert_int_equal(v.joint[0].parent, -1);
	assert_int_equal(v.joint[2].parent, 1);
	assert_true(v.joint[2].move[1] == -1 && v.joint[2].move[0] == 0 && v.joint[2].move[2] == 0);
	assert_memory_equal(v.joint[2].inverse, want, sizeof want);
	arena_free(&a);
	close_opened(&k);
}

/* Group 1 hangs on bone 1, what is in no group on none. A triangle ends between the corners that are one. */
static void test_full_mesh_of_hut(void **state)
{
	struct opened k = open_built(build_jom_hut);
	struct geo_mesh m = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(fmt_jom.model->mesh_full(k.o, 1, &m, &a, &e), 0);
	assert_int_equal(m.nfaces, 1);
	for (uint32_t i = 0; i < m.nvertices; i++) {
		assert_int_equal(m.ninfluences[i], 1);
		assert_int_equal(m.joint[m.first_influence[i]], 1);
		assert_true(m.weight[m.first_influence[i]] == 1);
	}
	assert_int_equal(m.streams[0].attr, GEO_UV);
	assert_int_equal(m.streams[0].count, 8);
	/* A, then C, which is D too, then B. */
	assert_int_equal(m.streams[0].corner[0], 0);
	assert_int_equal(m.streams[0].corner[1], 6);
	assert_int_equal(m.streams[0].corner[2], 1);
	assert_int_equal(m.streams[0].fixed[2 * 6], ONE / 2);
	assert_int_equal(m.streams[0].fixed[2 * 6 + 1], ONE);
	assert_int_equal(fmt_jom.model->mesh_full(k.o, 2, &m, &a, &e), 0);
	assert_null(m.joint);
	assert_int_equal(fmt_jom.model->mesh_full(k.o, 0, &m, &a, &e), 0);
	assert_int_equal(m.joint[0], 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(m.streams[0].corner[i], i ? 4 - i : 0);
	arena_free(&a);
	close_opened(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_worked_example),
		cmocka_unit_test(test_bones_of_hut),
		cmocka_unit_test(test_full_mesh_of_hut),
		cmocka_unit_test(test_smallest),
		cmocka_unit_test(test_header_of_hut),
		cmocka_unit_test(test_materials_of_hut),
		cmocka_unit_test(test_meshes_of_hut),
		cmocka_unit_test(test_skeleton_of_hut),
		cmocka_unit_test(test_pictures_of_hut),
		cmocka_unit_test(test_chunks_of_hut),
		cmocka_unit_test(test_other_order),
		cmocka_unit_test(test_odd_names),
		cmocka_unit_test(test_repeated_corners),
		cmocka_unit_test(test_tolerated),
		cmocka_unit_test(test_short_lists),
		cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_damaged_pictures),
		cmocka_unit_test(test_every_cut_and_change),
		cmocka_unit_test(test_cut_is_refused),
		cmocka_unit_test(test_too_many_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
