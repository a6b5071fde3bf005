/* MOD3 models: names of materials, and what the library beside the model says of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mod3.h"
#include "export.h"
#include "mod3.h"
#include "opened.h"

extern const struct format fmt_mod3;

/* ---- names ---- */

static const char *name_of(struct object *o, uint32_t i, struct arena *a)
{
	struct geo_material m = { 0 };
	struct err e = { 0 };

	if (fmt_mod3.model->material(o, i, &m, a, &e))
		fail_msg("%s", e.text);
	assert_int_equal(m.image, -1);
	return m.name;
}

static const struct { const char *stored, *name; } names[] = {
	{ "skin", "skin" }, { "skin", "skin~2" }, { "skin~2", "skin~2~2" }, { "skin", "skin~3" }, { "", "material_4" },
	{ "material_4", "material_4~2" }, { "two words", "two_words" }, { "two_words", "two_words~2" },
	{ "100%", "100%" },
	{ "a#b/c\\d\"e'f:g", "a_b_c_d_e_f_g" }, { "\xe5\x80\x92 ~", "____~" }, { "", "material_11" },
	{ "!$&()*+,-.;<=>?@[]^`{|}", "!$&()*+,-.;<=>?@[]^`{|}" }, { "\x7f\x1f", "__" },
};

static void test_names(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		build_name(&b, names[i].stored);
	build_mod3(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(name_of(k.o, i, &a), names[i].name);
	arena_free(&a);
	close_opened(&k);
}

/* 128 bytes without a zero; and the bytes behind the first zero, which belong to no name. */
static void test_full_names(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;
	struct arena a = { 0 };
	char longest[129], *text;

	(void)state;
	memset(longest, 'L', 128);
	longest[128] = '\0';
	build_name(&b, longest);
	build_name(&b, "short");
	build_name(&b, longest);
	build_mod3(&b, &file);
	memcpy(file.p + b.at_materials + 128 + 6, "ab", 2);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	assert_string_equal(name_of(k.o, 0, &a), longest);
	assert_string_equal(name_of(k.o, 1, &a), "short");
	assert_int_equal(strlen(name_of(k.o, 2, &a)), 130);
	text = text_of(k.o, MOD3_DOC_MATERIALS, 0);
	assert_int_equal(strncmp(text, "- name: \"LLLL", 13), 0);
	assert_non_null(strstr(text, "- name: [115, 104, 111, 114, 116, 0, 97, 98]\n  hash: 0x70d76f5d  # derived\n"));
	free(text);
	arena_free(&a);
	close_opened(&k);
}

static void test_no_materials(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;

	(void)state;
	build_mod3(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	doc_is(k.o, MOD3_DOC_MATERIALS, 0, "[]\n");
	close_opened(&k);
}

/* ---- the library ---- */

#define HASH_SKIN 0xfd8697e1u                  /* JAMCRC of "skin" */

static void put_path(struct buf *b, const char *path)
{
	put32(b, 0x241f5deb);
	put32(b, 0);
	put32(b, 0);
	put32(b, 0);
	buf_str(b, path);
	for (size_t n = strlen(path); n < 256; n++)
		put8(b, 0);
}

static void put_material(struct buf *b, uint32_t name_hash, unsigned nresources, uint32_t block)
{
	put32(b, 0x4516e7ab);
	put32(b, name_hash);
	put32(b, 0);
	put32(b, 0);
	put32(b, nresources * 16);
	put16(b, 0xe100);
	put16(b, nresources * 2);
	for (unsigned i = 0; i < 6; i++)
		put32(b, 0);
	put32(b, block);
	put32(b, 0);
}

static void put_resource(struct buf *b, unsigned kind, uint32_t id, uint32_t value)
{
	put32(b, kind);
	put32(b, id << 12);
	put32(b, value);
	put32(b, 0);
}

/* Three textures; "skin" twice, the first with four resources in use. */
static void build_library(struct buf *b)
{
	uint32_t block = 0x28 + 3 * 272 + 2 * 56;      /* 968 */

	*b = (struct buf){ 0 };
	buf_add(b, "MRL", 4);
	put32(b, 12);
	put32(b, 0);
	put32(b, 0);
	put32(b, 2);
	put32(b, 3);
	put32(b, 0x28);
	put32(b, 0);
	put32(b, 0x28 + 3 * 272);
	put32(b, 0);
	put_path(b, "pl\\skin_NM");
	put_path(b, "pl\\skin_BML");
	put_path(b, "..\\up");
	block = (block + 15) / 16 * 16;
	put_material(b, HASH_SKIN, 6, block);
	put_material(b, HASH_SKIN, 1, block + 96);
	put_zeros(b, 16);
	put_resource(b, 0, 0x120b8, 0);
	put_resource(b, 2, 0xc2545, 1);
	put_resource(b, 2, 0x93fa6, 0);                /* not in use */
	put_resource(b, 2, 0x52ad9, 2);
	put_resource(b, 2, 0x1e234, 3);
	put_resource(b, 1, 0x52ad9, 1);                /* a sampler */
	put_resource(b, 2, 0x52ad9, 1);
}

struct place {
	struct surroundings around;
	struct source *library, *texture;
	const char *ext;                       /* of the library */
	unsigned asked;
};

static int find(const struct surroundings *s, const struct want *w, struct source **out, uint32_t *link, struct err *e)
{
	struct place *p = (struct place *)(uintptr_t)s;

	(void)e;
	p->asked++;
	if (w->where == WANT_SWAP_EXT) {
		assert_string_equal(w->path, p->asked == 1 ? "mrl3" : "mrl");
		if (!p->library || strcmp(w->path, p->ext))
			return -ENOENT;
		*link = 5;
		*out = src_ref(p->library);
		return 0;
	}
	assert_int_equal(w->where, WANT_BELOW_ROOT);
	assert_string_equal(w->root, "nativePC");
	if (strcmp(w->path, "pl/skin_BML.tex"))
		return -ENOENT;
	*link = 9;
	*out = src_ref(p->texture);
	return 0;
}

static void open_beside(struct place *p, const struct buf *model, const struct buf *library, const char *ext,
			struct object **o)
{
	struct source *src = src_memory(model->p, model->len);
	struct err e = { 0 };

	*p = (struct place){ .around = { .find = find }, .ext = ext };
	p->library = library ? src_memory(library->p, library->len) : NULL;
	p->texture = src_memory("TEX", 4);
	if (object_open(&fmt_mod3, src, &p->around, o, &e))
		fail_msg("%s", e.text);
	src_put(src);
	src_put(p->library);
	src_put(p->texture);
}

static void build_skin(struct buf *model)
{
	static const int32_t faces[] = { 0, 1, 2 };
	struct build_mod3 b = { 0 };

	build_name(&b, "cloth");
	build_name(&b, "skin");
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 3, faces, 3 });
	build_mod3(&b, model);
}

#define CLOTH "- name: \"cloth\"\n  hash: 0xdd0e9441  # derived\n  mrl3: null  # derived\n  textures: []  # derived\n"

static const char materials[] =
	CLOTH
	"- name: \"skin\"\n"
	"  hash: 0xfd8697e1  # derived\n"
	"  mrl3: 0  # derived\n"
	"  textures:  # derived\n"
	"  - map: tNormalMap\n"
	"    path: \"pl\\\\skin_NM\"\n"
	"    image: null\n"
	"  - map: tAlbedoMap\n"
	"    path: \"pl\\\\skin_BML\"\n"
	"    image: 1\n"
	"  - map: \"1e234\"\n"
	"    path: \"..\\\\up\"\n"
	"    image: null\n";

static void test_library(void **state)
{
	struct buf model, library;
	struct geo_material m = { 0 };
	uint32_t link, image;
	struct place p;
	struct object *o;
	struct arena a = { 0 };
	struct err e;

	(void)state;
	build_skin(&model);
	build_library(&library);
	open_beside(&p, &model, &library, "mrl3", &o);
	sound(o);
	doc_is(o, MOD3_DOC_MATERIALS, 0, materials);
	assert_int_equal(p.asked, 3);          /* a path that leads up is not looked for */
	assert_int_equal(object_count(o, PART_IMAGE), 3);
	assert_true(fmt_mod3.model->image_link(o, 1, &link, &image));
	assert_int_equal(o->links[link].unit, 9);
	assert_int_equal(image, 0);
	assert_false(fmt_mod3.model->image_link(o, 0, &link, &image));
	assert_false(fmt_mod3.model->image_link(o, 2, &link, &image));
	assert_false(fmt_mod3.model->image_link(o, 3, &link, &image));
	assert_int_equal(fmt_mod3.model->material(o, 1, &m, &a, &e), 0);
	assert_int_equal(m.image, 1);
	assert_string_equal(m.head, "");
	assert_true(m.bare_colour);
	for (unsigned k = 0; k < 4; k++)
		assert_float_equal(m.colour[k], k < 3 ? 0.8 : 1, 1e-6);
	assert_int_equal(fmt_mod3.model->material(o, 0, &m, &a, &e), 0);
	assert_int_equal(m.image, -1);
	arena_free(&a);
	object_close(o);
	buf_free(&model);
	buf_free(&library);
}

/* The model is sound without one, and beside a damaged one. */
/* In archives that name files by their types. */
static void test_library_by_type(void **state)
{
	struct buf model, library;
	struct place p;
	struct object *o;

	(void)state;
	build_skin(&model);
	build_library(&library);
	open_beside(&p, &model, &library, "mrl", &o);
	sound(o);
	doc_is(o, MOD3_DOC_MATERIALS, 0, materials);
	object_close(o);
	buf_free(&model);
	buf_free(&library);
}

static void test_no_library(void **state)
{
	struct buf model, library;
	struct place p;
	struct object *o;
	char *text;

	(void)state;
	build_skin(&model);
	build_library(&library);
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			set8(&library, 0, 'X');
		open_beside(&p, &model, i ? &library : NULL, "mrl3", &o);
		sound(o);
		assert_int_equal(object_count(o, PART_IMAGE), 0);
		assert_int_equal(p.asked, i ? 1 : 2);
		text = text_of(o, MOD3_DOC_MATERIALS, 0);
		assert_string_equal(text, CLOTH "- name: \"skin\"\n  hash: 0xfd8697e1  # derived\n"
					  "  mrl3: null  # derived\n  textures: []  # derived\n");
		free(text);
		object_close(o);
	}
	buf_free(&model);
	buf_free(&library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names), cmocka_unit_test(test_full_names), cmocka_unit_test(test_no_materials),
		cmocka_unit_test(test_library), cmocka_unit_test(test_library_by_type),
		cmocka_unit_test(test_no_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
