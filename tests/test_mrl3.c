/* Material libraries: the documents, edits, damage, and what a model finds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "edited.h"
#include "mrl3.h"
#include "opened.h"

extern const struct format fmt_mrl3;

#define TEXTURES (DOC_OWN + 0)
#define MATERIALS (DOC_OWN + 1)

/* ---- building: three textures, three materials, the last one without a block ---- */

#define TEXTURE(i) (0x28 + (i) * 272u)                 /* where it lies */
#define MATERIAL(i) (0x358 + (i) * 56u)
#define BLOCK_0 0x400u                                 /* two resources, four constants */
#define BLOCK_1 0x430u                                 /* one resource */
#define END 0x440u

static void put64(struct buf *b, uint64_t v)
{
	put32(b, (uint32_t)v);
	put32(b, (uint32_t)(v >> 32));
}

static void add_texture(struct buf *b, const char *path)
{
	char room[256] = "";

	strcpy(room, path);
	put32(b, 0x241f5deb);
	buf_add(b, (const uint8_t[12]){ 0 }, 12);
	buf_add(b, room, sizeof room);
}

static void add_material(struct buf *b, uint32_t name_hash, uint32_t size, unsigned resources, uint64_t at)
{
	put32(b, 0x4516e7ab);
	put32(b, name_hash);
	put32(b, 0x11111111);
	put32(b, 0x22222222);
	put32(b, size);
	put16(b, 0xe100);
	put16(b, resources * 2);
	buf_add(b, (const uint8_t[]){ 128, 112, 4, 0 }, 4);
	buf_add(b, (const uint8_t[20]){ 0 }, 20);
	put64(b, at);
}

static void add_resource(struct buf *b, uint32_t kind, uint32_t id, uint32_t value)
{
	put32(b, kind);
	put32(b, id << 12);
	put32(b, value);
	put32(b, 0);
}

static struct buf build(void)
{
	struct buf b = { 0 };

	buf_add(&b, "MRL", 4);
	put32(&b, 12);
	put64(&b, 1516924800);
	put32(&b, 3);
	put32(&b, 3);
	put64(&b, TEXTURE(0));
	put64(&b, MATERIAL(0));
	add_texture(&b, "pl\\common\\cloth_BML");
	add_texture(&b, "pl\\common\\cloth_NM");
	add_texture(&b, "");
	add_material(&b, 0x30000000, 48, 2, BLOCK_0);
	add_material(&b, 0x10000000, 16, 1, BLOCK_1);
	add_material(&b, 0x30000000, 0, 0, 0);
	add_resource(&b, 0x1b0, 0x120b8, 32);
	add_resource(&b, 0xabcdef12, 0x52ad9, 2);
	for (unsigned i = 0; i < 4; i++)
		put_float(&b, 0.5f * (float)i);
	add_resource(&b, 2, 0xc2545, 0);
	assert_false(b.bad);
	assert_int_equal(b.len, END);
	return b;
}

/* ---- documents ---- */

#define RESOURCES_0 \
	"  resources:\n" \
	"  # 0: CBMhMaterialPLLocal\n" \
	"  - kind: constants  # derived\n" \
	"    kind_leftover: 0x000001b\n" \
	"    name_id: 0x120b8\n" \
	"    value: 32\n" \
	"  # 1: tAlbedoMap\n" \
	"  - kind: texture  # derived\n" \
	"    kind_leftover: 0xabcdef1\n" \
	"    name_id: 0x52ad9\n" \
	"    value: 2\n" \
	"  constants: [0.0, 0.5, 1.0, 1.5]\n"

static void test_documents(void **state)
{
	struct buf b = build();
	struct opened k = open_buf(&fmt_mrl3, &b);

	(void)state;
	sound(k.o);
	assert_string_equal(k.o->variant->version, "12");
	section_doc_is(k.o, 0,
		       "# modelfs mrl3 12\n"
		       "version: 12  # derived\n"
		       "time: 1516924800\n"
		       "material_count: 3  # derived\n"
		       "texture_count: 3  # derived\n"
		       "texture_off: 0x00000028  # derived\n"
		       "material_off: 0x00000358  # derived\n");
	doc_is(k.o, TEXTURES, 0,
	       "# 0, in materials.yaml 1\n"
	       "- type_hash: 0x241f5deb\n"
	       "  path: \"pl\\\\common\\\\cloth_BML\"\n"
	       "# 1, in materials.yaml 2\n"
	       "- type_hash: 0x241f5deb\n"
	       "  path: \"pl\\\\common\\\\cloth_NM\"\n"
	       "# 2, in materials.yaml 3\n"
	       "- type_hash: 0x241f5deb\n"
	       "  path: \"\"\n");
	doc_is(k.o, MATERIALS, 0,
	       "# 0 at 0x0000358\n"
	       "- type_hash: 0x4516e7ab\n"
	       "  name_hash: 0x30000000\n"
	       "  shader_hash: 0x11111111\n"
	       "  second_hash: 0x22222222\n"
	       "  block_size: 48  # derived\n"
	       "  surface_flags: 0xe100\n"
	       "  resource_size: 4  # derived\n"
	       "  alpha: [128, 112, 4, 0]\n"
	       "  block_off: 0x00000400  # derived\n"
	       RESOURCES_0
	       "# 1 at 0x0000390\n"
	       "- type_hash: 0x4516e7ab\n"
	       "  name_hash: 0x10000000\n"
	       "  shader_hash: 0x11111111\n"
	       "  second_hash: 0x22222222\n"
	       "  block_size: 16  # derived\n"
	       "  surface_flags: 0xe100\n"
	       "  resource_size: 2  # derived\n"
	       "  alpha: [128, 112, 4, 0]\n"
	       "  block_off: 0x00000430  # derived\n"
	       "  resources:\n"
	       "  # 0: tNormalMap\n"
	       "  - kind: texture  # derived\n"
	       "    kind_leftover: 0x0000000\n"
	       "    name_id: 0xc2545\n"
	       "    value: 0\n"
	       "  constants: []\n"
	       "# 2 at 0x00003c8\n"
	       "- type_hash: 0x4516e7ab\n"
	       "  name_hash: 0x30000000\n"
	       "  shader_hash: 0x11111111\n"
	       "  second_hash: 0x22222222\n"
	       "  block_size: 0  # derived\n"
	       "  surface_flags: 0xe100\n"
	       "  resource_size: 0  # derived\n"
	       "  alpha: [128, 112, 4, 0]\n"
	       "  block_off: 0x00000000  # derived\n"
	       "  resources: []\n"
	       "  constants: []\n");
	close_opened(&k);
}

/* What is no usual value is shown too, and reads back. */
static void test_kept(void **state)
{
	struct buf b = build();
	struct opened k;
	char *text;

	(void)state;
	b.p[TEXTURE(0) + 4] = 0xab;
	memcpy(b.p + TEXTURE(1) + 16, "a\nb\0c", 5);
	memset(b.p + TEXTURE(2) + 16, 'x', 256);               /* no room for the zero that ends it */
	b.p[MATERIAL(0) + 0x1c + 19] = 1;
	put_le32(b.p + BLOCK_1, 0x7);
	put_le32(b.p + BLOCK_1 + 4, 0x12345678);
	put_le32(b.p + BLOCK_1 + 12, 9);
	put_le32(b.p + BLOCK_0 + 32, 0x7fc00001);
	put_le32(b.p + MATERIAL(0) + 0x10, 46);
	k = open_buf(&fmt_mrl3, &b);
	sound(k.o);
	text = text_of(k.o, TEXTURES, 0);
	assert_non_null(strstr(text, "- type_hash: 0x241f5deb\n  zero_04: ab0000000000000000000000\n  path: \"pl"));
	assert_non_null(strstr(text, "  path: [97, 10, 98, 0, 99, 109, "));
	assert_non_null(strstr(text, "109, 111, 110, 92, 99, 108, 111, 116, 104, 95, 78, 77]\n"));
	assert_non_null(strstr(text, "  path: [120, 120, "));
	free(text);
	text = text_of(k.o, MATERIALS, 0);
	assert_non_null(strstr(text, "  alpha: [128, 112, 4, 0]\n"
			       "  zero_1c: \"0000000000000000000000000000000000000001\"\n"));
	assert_non_null(strstr(text, "  constants: [0x7fc00001, 0.5, 1.0]\n  rest: \"0000\"\n"));
	assert_non_null(strstr(text, "  # 0\n  - kind: 0x7  # derived\n    kind_leftover: 0x0000000\n"
			       "    name_id: 0x12345\n    name_leftover: 0x678\n    value: 0\n"
			       "    unknown_0c: 0x00000009\n"));
	free(text);
	close_opened(&k);
}

static void test_empty(void **state)
{
	struct buf b = build();
	struct opened k;

	(void)state;
	put_le32(b.p + 4, 11);
	memset(b.p + 0x10, 0, 8);
	b.len = 0x28;
	k = open_buf(&fmt_mrl3, &b);
	sound(k.o);
	assert_string_equal(k.o->variant->version, "11");
	doc_is(k.o, TEXTURES, 0, "[]\n");
	doc_is(k.o, MATERIALS, 0, "[]\n");
	assert_true(fmt_mrl3.own[0].there(k.o, 0) && fmt_mrl3.own[1].there(k.o, 0));
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(object_section(k.o, i).size, 0);
	close_opened(&k);
}

struct gap { uint64_t at, size; unsigned n; };

static int keep_gap(void *ctx, uint64_t at, uint64_t size)
{
	struct gap *g = ctx;

	*g = (struct gap){ at, size, g->n + 1 };
	return 0;
}

static void test_places(void **state)
{
	struct buf b = build();
	struct gap gap = { 0 };
	struct opened k;

	(void)state;
	buf_add(&b, "left over", 9);
	k = open_buf(&fmt_mrl3, &b);
	assert_int_equal(object_section(k.o, 1).at, TEXTURE(0));
	assert_int_equal(object_section(k.o, 1).size, 3 * 272);
	assert_int_equal(object_section(k.o, 2).at, MATERIAL(0));
	assert_int_equal(object_section(k.o, 2).size, 3 * 56);
	assert_int_equal(object_section(k.o, 3).at, BLOCK_0);
	assert_int_equal(object_section(k.o, 3).size, END - BLOCK_0);
	assert_int_equal(object_gaps(k.o, keep_gap, &gap, NULL), 0);
	assert_int_equal(gap.n, 1);
	assert_int_equal(gap.at, END);
	assert_int_equal(gap.size, 9);
	close_opened(&k);
}

/* ---- edits ---- */

static void start(struct edited *k)
{
	struct buf b = build();

	edited_open(k, &fmt_mrl3, b.p, b.len, b.len);
	buf_free(&b);
}

static void test_saved_unchanged(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	for (unsigned kind = TEXTURES; kind <= MATERIALS; kind++) {
		char *text = text_of(k.o, kind, 0);

		assert_int_equal(edited_yaml(&k, kind, 0, text), 0);
		edited_only(&k, 0, 0, 0);
		free(text);
	}
	edited_close(&k);
}

static void test_path(void **state)
{
	char text[512] = "- {}\n- path: \"", *end = text + strlen(text);
	struct edited k;

	(void)state;
	start(&k);
	edited_yaml_twice(&k, TEXTURES, 0, "- {}\n- path: \"wp\\\\x\"\n- {}\n");
	edited_only(&k, 0, TEXTURE(1) + 16, 19);               /* the old path was so long */
	assert_memory_equal(k.bytes[0] + TEXTURE(1) + 16, "wp\\x\0\0", 6);
	memset(end, 'y', 255);
	strcpy(end + 255, "\"\n- {}\n");
	edited_yaml_twice(&k, TEXTURES, 0, text);
	assert_int_equal(k.bytes[0][TEXTURE(1) + 16 + 254], 'y');
	assert_int_equal(k.bytes[0][TEXTURE(1) + 16 + 255], 0);
	strcpy(end + 255, "y\"\n- {}\n");
	assert_int_equal(edited_yaml(&k, TEXTURES, 0, text), -EINVAL);
	assert_string_equal(k.why, "line 2, column 9: path: 256 bytes, at most 255");
	assert_int_equal(edited_yaml(&k, TEXTURES, 0, "- {}\n- {}\n"), -EINVAL);
	assert_int_equal(edited_yaml(&k, TEXTURES, 0, "- pfad: \"x\"\n- {}\n- {}\n"), -EINVAL);
	edited_yaml_twice(&k, TEXTURES, 0, "- path: [1, 0, 255]\n- {}\n- {}\n");
	assert_memory_equal(k.bytes[0] + TEXTURE(0) + 16, "\1\0\xff\0\0", 5);
	edited_close(&k);
}

/* A list of bytes can fill the field; that it has to end in a zero is found afterwards. */
static void test_path_without_end(void **state)
{
	char text[2048] = "- path: [7";
	struct err e = { 0 };
	struct edited k;

	(void)state;
	for (unsigned i = 1; i < 256; i++)
		strcat(text, ", 7");
	strcat(text, "]\n- {}\n- {}\n");
	start(&k);
	assert_int_equal(fmt_mrl3.model->check(k.o, &e), 0);
	assert_int_equal(edited_yaml(&k, TEXTURES, 0, text), 0);
	assert_int_equal(fmt_mrl3.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "texture 0: a path of more than 255 bytes");
	edited_close(&k);
}

static void test_values(void **state)
{
	struct edited k;

	(void)state;
	start(&k);
	edited_yaml_twice(&k, DOC_SECTION, 0, "time: 5000000000\n");
	edited_only(&k, 0, 8, 8);
	assert_memory_equal(k.bytes[0] + 8, "\x00\xf2\x05\x2a\x01\0\0\0", 8);
	edited_close(&k);
	start(&k);
	edited_yaml_twice(&k, MATERIALS, 0, "- {}\n- name_hash: 0x12345678\n  surface_flags: 0x1100\n"
			  "  alpha: [1, 2, 3, 4]\n- {}\n");
	edited_only(&k, 0, MATERIAL(1) + 4, 0x18);
	assert_int_equal(le_u32(k.bytes[0] + MATERIAL(1) + 4), 0x12345678);
	assert_int_equal(le_u16(k.bytes[0] + MATERIAL(1) + 0x14), 0x1100);
	assert_memory_equal(k.bytes[0] + MATERIAL(1) + 0x18, "\1\2\3\4", 4);
	edited_close(&k);
	start(&k);
	edited_yaml_twice(&k, MATERIALS, 0,
			  "- resources: [{}, {value: 3, kind_leftover: 0x1234567, name_id: 0xfedcb}]\n"
			  "  constants: [0.0, 0.5, 2.0, 1.5]\n- {}\n- {}\n");
	edited_only(&k, 0, BLOCK_0 + 16, 28);
	assert_int_equal(le_u32(k.bytes[0] + BLOCK_0 + 16), 0x12345672);
	assert_int_equal(le_u32(k.bytes[0] + BLOCK_0 + 20), 0xfedcb000);
	assert_int_equal(le_u32(k.bytes[0] + BLOCK_0 + 24), 3);
	assert_int_equal(le_u32(k.bytes[0] + BLOCK_0 + 40), 0x40000000);
	edited_close(&k);
}

static void refused(const char *text, int code, const char *why)
{
	struct edited k;

	start(&k);
	assert_int_equal(edited_yaml(&k, MATERIALS, 0, text), -code);
	assert_string_equal(k.why, why);
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void test_refused(void **state)
{
	(void)state;
	refused("- block_size: 64\n- {}\n- {}\n", EPERM,
		"line 1, column 15: block_size follows from other data and cannot be changed: 64 found, 48 stored");
	refused("- {}\n- block_off: 0x400\n- {}\n", EPERM,
		"line 2, column 14: block_off follows from other data and cannot be changed: 0x400 found, "
		"0x00000430 stored");
	refused("- resources: [{kind: texture}, {}]\n- {}\n- {}\n", EPERM,
		"line 1, column 22: kind follows from other data and cannot be changed: texture found, "
		"constants stored");
	refused("- resources: [{}]\n- {}\n- {}\n", EINVAL,
		"line 1, column 14: resources: 1 item found, expected 2");
	refused("- constants: [1.0]\n- {}\n- {}\n", EINVAL, "line 1, column 14: constants: 1 value found, expected 4");
	refused("- resources: [{name_id: 0x100000}, {}]\n- {}\n- {}\n", EINVAL,
		"line 1, column 25: name_id: 0x100000 is outside 0x00000..0xfffff");
}

/* Numbers that lead nowhere are refused by the check behind an edit. */
static void test_check(void **state)
{
	struct err e = { 0 };
	struct edited k;

	(void)state;
	start(&k);
	assert_int_equal(edited_yaml(&k, MATERIALS, 0, "- resources: [{}, {value: 4}]\n- {}\n- {}\n"), 0);
	assert_int_equal(fmt_mrl3.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "material 0 at 0x410: resource 1 names texture 4, expected 0 to 3");
	edited_close(&k);
	start(&k);
	assert_int_equal(edited_yaml(&k, MATERIALS, 0, "- resources: [{value: 49}, {}]\n- {}\n- {}\n"), 0);
	assert_int_equal(fmt_mrl3.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text,
			    "material 0 at 0x400: constants of resource 0 lie at 49 of a block of 48 bytes");
	edited_close(&k);
}

/* ---- what a model finds ---- */

static void test_library(void **state)
{
	struct mrl3_library l;
	struct arena a = { 0 };
	struct buf b = build();
	struct source *src;

	(void)state;
	put_le32(b.p + BLOCK_0, 2);                            /* both resources are textures now */
	put_le32(b.p + BLOCK_0 + 8, 3);
	put_le32(b.p + BLOCK_1 + 8, 4);                        /* leads nowhere */
	src = src_memory(b.p, b.len);
	assert_int_equal(mrl3_read(src, &a, &l, NULL), 0);
	assert_int_equal(l.ntextures, 3);
	assert_string_equal((const char *)l.path[1], "pl\\common\\cloth_NM");
	assert_int_equal(mrl3_path_at(&l, 2), TEXTURE(2) + 16);
	assert_int_equal(l.nmaterials, 3);
	assert_int_equal(l.material[0].n, 2);
	assert_int_equal(l.map[l.material[0].first].name_id, 0x120b8);
	assert_int_equal(l.map[l.material[0].first].texture, 2);
	assert_int_equal(l.map[l.material[0].first + 1].name_id, MRL3_ALBEDO);
	assert_int_equal(l.map[l.material[0].first + 1].texture, 1);
	assert_int_equal(l.material[1].n, 0);
	assert_int_equal(l.material[2].n, 0);
	assert_int_equal(mrl3_find(&l, 0x30000000), 0);        /* the first of two */
	assert_int_equal(mrl3_find(&l, 0x10000000), 1);
	assert_int_equal(mrl3_find(&l, 0), -1);
	assert_int_equal(mrl3_find(&l, 0x20000000), -1);
	assert_int_equal(mrl3_find(&l, 0xffffffff), -1);
	arena_free(&a);
	src_put(src);
	src = src_memory(b.p, 0x28);
	assert_int_equal(mrl3_read(src, &a, &l, NULL), 0);     /* tables that lie outside are left out */
	assert_int_equal(l.nmaterials + l.ntextures, 0);
	assert_int_equal(mrl3_find(&l, 0x10000000), -1);
	arena_free(&a);
	src_put(src);
	src = src_memory(b.p, 0x27);
	assert_int_equal(mrl3_read(src, &a, &l, NULL), -EBADMSG);
	arena_free(&a);
	src_put(src);
	buf_free(&b);
}

/* More materials than are read at once, in no order. */
static void test_many_materials(void **state)
{
	struct mrl3_library l;
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct source *src;

	(void)state;
	buf_add(&b, "MRL", 4);
	put32(&b, 11);
	put64(&b, 0);
	put32(&b, 150);
	put32(&b, 1);
	put64(&b, 0x28);
	put64(&b, 0x138);
	add_texture(&b, "x");
	for (unsigned i = 0; i < 150; i++)
		add_material(&b, i * 77 % 151, 16, 1, 0x138 + 150 * 56 + 16 * i);
	for (unsigned i = 0; i < 150; i++)
		add_resource(&b, 2, i, 1);
	src = src_memory(b.p, b.len);
	assert_int_equal(mrl3_read(src, &a, &l, NULL), 0);
	for (unsigned i = 0; i < 150; i++) {
		assert_int_equal(mrl3_find(&l, i * 77 % 151), i);
		assert_int_equal(l.material[i].n, 1);
		assert_int_equal(l.map[l.material[i].first].name_id, i);
	}
	assert_int_equal(mrl3_find(&l, 150 * 77 % 151), -1);
	arena_free(&a);
	src_put(src);
	buf_free(&b);
}

static bool file_of(const char *path, char out[MRL3_FILE_MAX])
{
	uint8_t room[MRL3_PATH_SIZE] = { 0 };

	memcpy(room, path, strlen(path));
	return mrl3_file(room, out);
}

static void test_files(void **state)
{
	uint8_t full[MRL3_PATH_SIZE];
	char out[MRL3_FILE_MAX];

	(void)state;
	assert_true(file_of("pl\\common\\cloth_BML", out));
	assert_string_equal(out, "pl/common/cloth_BML.tex");
	assert_true(file_of("a..b\\..c/d..", out));
	assert_string_equal(out, "a..b/..c/d...tex");
	assert_false(file_of("", out));
	assert_false(file_of("..\\..\\etc\\passwd", out));
	assert_false(file_of("a\\..\\b", out));
	assert_false(file_of("a/..", out));
	assert_false(file_of("..", out));
	assert_false(file_of("\\a", out));
	assert_false(file_of("/a", out));
	assert_false(file_of("C:\\windows\\x", out));
	memset(full, 'x', sizeof full);
	assert_false(mrl3_file(full, out));
	full[255] = 0;
	assert_true(mrl3_file(full, out));
	assert_int_equal(strlen(out), 259);
}

/* CRC-32 of 123456789 is 0xcbf43926; the others stand in spec/mod3.md 7.2, 13.2 and 13.4. */
static void test_hashes(void **state)
{
	(void)state;
	assert_int_equal(mrl3_hash("123456789", 9), 0x340bc6d9);
	assert_int_equal(mrl3_hash("IASkin4wt1UV\0behind", 20), 0xf637401c);
	assert_int_equal(mrl3_hash("rTexture", 8) & 0x7fffffff, 0x241f5deb);
	assert_int_equal(mrl3_hash("tAlbedoMap__disclosure", 99) & 0xfffff, MRL3_ALBEDO);
	assert_int_equal(mrl3_hash("", 1), 0xffffffff);
	assert_string_equal(mrl3_map_name(MRL3_ALBEDO), "tAlbedoMap");
	assert_null(mrl3_map_name(0x120b8));
	assert_string_equal(mrl3_resource_name(0x120b8), "CBMhMaterialPLLocal");
	assert_null(mrl3_resource_name(0x12345));
}

/* ---- damage ---- */

struct damage {
	uint32_t at, value;
	const char *why;
	bool textures, materials;              /* are shown all the same */
};

static const struct damage damages[] = {
	{ 0x10, 0x10000000, "materials at 0x358: 268435456 of 56 bytes end past the 1088 of the entry", true, false },
	{ 0x14, 0xffffffff, "textures at 0x28: 4294967295 of 272 bytes end past the 1088 of the entry", false, true },
	{ 0x18, 8, "textures at 0x8: 3 of them overlap the header of 40 bytes", false, true },
	{ 0x24, 0xffffffff, "materials at 0xffffffff00000358: 3 of 56 bytes end past the 1088 of the entry", true,
	  false },
	{ 0x20, 0x100, "materials at 0x100: 3 of them overlap the textures", true, false },
	{ MATERIAL(0) + 0x10, 0xfffffff0,
	  "material 0 at 0x358: its block of 4294967280 bytes at 0x400 ends past the entry",
	  true, true },
	{ MATERIAL(0) + 0x30, 0x43c, "material 0 at 0x358: its block of 48 bytes at 0x43c ends past the entry", true,
	  true },
	{ MATERIAL(0) + 0x30, 0, "material 0 at 0x358: its block of 48 bytes at 0x0 overlaps the header", true, true },
	{ MATERIAL(0) + 0x30, 0x28, "material 0 at 0x358: its block of 48 bytes at 0x28 overlaps the textures", true,
	  true },
	{ MATERIAL(0) + 0x30, 0x3f0, "material 0 at 0x358: its block of 48 bytes at 0x3f0 overlaps the materials", true,
	  true },
	{ MATERIAL(0) + 0x14, 0x0003e100, "material 0 at 0x358: resource size 3, expected an even number", true, true },
	{ MATERIAL(0) + 0x14, 0xfffee100,
	  "material 0 at 0x358: 32767 resources of 16 bytes, but its block has 48 bytes",
	  true, true },
	{ MATERIAL(1) + 0x10, 1060, "material 1 at 0x390: its block of 1060 bytes at 0x430 ends past the entry", true,
	  true },
	{ BLOCK_0 + 24, 77, "material 0 at 0x410: resource 1 names texture 77, expected 0 to 3", true, true },
};

static void test_damage(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(damages); i++) {
		const struct damage *d = &damages[i];
		struct buf b = build();
		struct opened k;
		struct err e;

		put_le32(b.p + d->at, d->value);
		k = open_buf(&fmt_mrl3, &b);
		assert_non_null(k.o->faults);
		assert_string_equal(k.o->faults->text, d->why);
		assert_int_equal(fmt_mrl3.own[0].there(k.o, 0), d->textures);
		assert_int_equal(fmt_mrl3.own[1].there(k.o, 0), d->materials);
		assert_int_equal(object_verify(k.o, &e), -EBADMSG);
		close_opened(&k);
	}
}

/* A material whose block is damaged shows its record, the others all of theirs; what is shown can be edited. */
static void test_damaged_block(void **state)
{
	struct buf b = build();
	struct edited k;
	char *text;

	(void)state;
	put_le32(b.p + MATERIAL(1) + 0x30, 0x5000);
	edited_open(&k, &fmt_mrl3, b.p, b.len, b.len);
	buf_free(&b);
	text = text_of(k.o, MATERIALS, 0);
	assert_non_null(strstr(text, RESOURCES_0 "# 1 at"));
	assert_non_null(strstr(text, "  block_off: 0x00005000  # derived\n# 2 at"));
	free(text);
	edited_yaml_twice(&k, MATERIALS, 0, "- {}\n- name_hash: 5\n- {}\n");
	edited_only(&k, 0, MATERIAL(1) + 4, 4);
	edited_close(&k);
}

/* Blocks that all are the same bytes would be read again for each. */
static void test_shared_blocks(void **state)
{
	struct buf b = { 0 };
	struct opened k;
	unsigned lines = 0;

	(void)state;
	buf_add(&b, "MRL", 4);
	put32(&b, 12);
	put64(&b, 0);
	put32(&b, 20);
	put32(&b, 0);
	put64(&b, 0x28);
	put64(&b, 0x28);
	for (unsigned i = 0; i < 20; i++)
		add_material(&b, i, 256, 0, 0x490);
	put_zeros(&b, 16);
	for (unsigned i = 0; i < 64; i++)
		put_float(&b, 1.0f);
	assert_int_equal(b.len, 1424);
	k = open_buf(&fmt_mrl3, &b);
	assert_string_equal(k.o->faults->text,
			    "material 5 at 0x140: its block of 256 bytes and those before it are more than the 1424 of "
			    "the entry");
	for (const struct fault *f = k.o->faults; f; f = f->next)
		lines++;
	assert_int_equal(lines, 15);
	close_opened(&k);
}

static void use_everything(const uint8_t *p, size_t n)
{
	struct opened k = open_bytes(&fmt_mrl3, p, n);
	struct mrl3_library l;
	struct arena a = { 0 };
	struct err e = { 0 };

	for (unsigned i = 0; i < 2 && k.o->variant; i++)
		free(text_of(k.o, DOC_OWN + i, 0));
	if (object_verify(k.o, &e))
		assert_true(e.text[0]);
	if (!mrl3_read(k.src, &a, &l, &e)) {
		mrl3_find(&l, 0x30000000);
		for (uint32_t i = 0; i < l.nmaps; i++)
			assert_true(l.map[i].texture < l.ntextures);
	}
	arena_free(&a);
	close_opened(&k);
	bid_for(&fmt_mrl3, p, n);
}

static void test_cut_anywhere(void **state)
{
	struct buf b = build();

	(void)state;
	each_cut(&b, use_everything);
	buf_free(&b);
}

static void test_any_byte_changed(void **state)
{
	struct buf b = build();

	(void)state;
	each_change(&b, use_everything);
	buf_free(&b);
}

static void test_probe(void **state)
{
	struct buf b = build();

	(void)state;
	assert_int_equal(bid_for(&fmt_mrl3, b.p, b.len), 100);
	assert_int_equal(bid_for(&fmt_mrl3, b.p, 8), 100);
	assert_int_equal(bid_for(&fmt_mrl3, b.p, 7), 0);
	b.p[4] = 11;
	assert_int_equal(bid_for(&fmt_mrl3, b.p, b.len), 100);
	b.p[4] = 32;                                           /* of another game */
	assert_int_equal(bid_for(&fmt_mrl3, b.p, b.len), 0);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents), cmocka_unit_test(test_kept), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_places), cmocka_unit_test(test_saved_unchanged), cmocka_unit_test(test_path),
		cmocka_unit_test(test_path_without_end), cmocka_unit_test(test_values), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_check), cmocka_unit_test(test_library),
		cmocka_unit_test(test_many_materials), cmocka_unit_test(test_files),
		cmocka_unit_test(test_hashes), cmocka_unit_test(test_damage), cmocka_unit_test(test_damaged_block),
		cmocka_unit_test(test_shared_blocks), cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_any_byte_changed), cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
