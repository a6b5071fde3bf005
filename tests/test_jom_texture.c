/* Pictures of JOM models that lie in files of their own, as the engine reads them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_jom.h"
#include "opened.h"

extern const struct format fmt_jom;

/* ---- a folder with one file ---- */

struct folder {
	struct surroundings around;            /* first */
	const char *name;
	struct buf file;
	unsigned asked;                        /* how often for any file */
};

static int find(const struct surroundings *s, const struct want *w, struct source **out, uint32_t *link, struct err *e)
{
	struct folder *f = (struct folder *)(uintptr_t)s;

	(void)e;
	f->asked++;
	assert_int_equal(w->where, WANT_LOOSE);
	if (strcmp(w->path, f->name))
		return -ENOENT;
	*out = src_memory(f->file.p, f->file.len);
	*link = 7;
	return *out ? 0 : -ENOMEM;
}

struct loose { struct folder folder; struct source *src; uint8_t *bytes; struct object *o; };

/* A model whose only texture is `name`, beside a file of that name with the bytes of `file`. */
static void open_loose(struct loose *k, const char *name, const struct buf *file)
{
	struct buf b = { 0 };
	struct err e = { 0 };
	size_t at;

	*k = (struct loose){ .folder = { .around = { .find = find }, .name = name, .file = *file } };
	jom_header(&b);
	jom_points(&b, 0, NULL);
	jom_polygons(&b, 0, NULL);
	jom_materials(&b, 0, NULL);
	at = jom_begin(&b, "TEXT");
	put_big32(&b, 1);
	put_name16(&b, name);
	jom_close(&b, at);
	jom_end(&b);
	assert_false(b.bad);
	k->bytes = b.p;
	k->src = src_memory(b.p, b.len);
	assert_non_null(k->src);
	if (object_open(&fmt_jom, k->src, &k->folder.around, &k->o, &e))
		fail_msg("%s", e.text);
	assert_null(k->o->faults);
}

static void close_loose(struct loose *k)
{
	assert_int_equal(object_verify(k->o, NULL), 0);
	object_close(k->o);
	src_put(k->src);
	free(k->bytes);
	buf_free(&k->folder.file);
}

static void pixels_are(struct loose *k, uint32_t w, uint32_t h, const uint32_t *rgba)
{
	struct arena a = { 0 };
	struct geo_image img;

	assert_true(fmt_jom.model->has(k->o, PART_IMAGE, 0));
	assert_int_equal(fmt_jom.model->image(k->o, 0, &img, &a, NULL), 0);
	assert_int_equal(img.w, w);
	assert_int_equal(img.h, h);
	for (size_t i = 0; i < (size_t)w * h; i++) {
		const uint8_t *p = img.indexed ? img.palette[img.indexed[i]] : img.rgba + 4 * i;

		assert_int_equal((uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3], rgba[i]);
	}
	arena_free(&a);
}

static void missing(const char *name, const struct buf *file)
{
	struct loose k;
	char want[128];

	open_loose(&k, name, file);
	assert_false(fmt_jom.model->has(k.o, PART_IMAGE, 0));
	assert_int_equal(fmt_jom.model->image(k.o, 0, &(struct geo_image){ 0 }, &(struct arena){ 0 }, NULL), -ENOENT);
	snprintf(want, sizeof want, "# modelfs jom 1 texture\nname: \"%s\"\nsource: missing  # derived\n", name);
	doc_is(k.o, DOC_IMAGE, 0, want);
	close_loose(&k);
}

/* ---- .BIN ---- */

static const uint32_t four[4] = { 0, 0xff0000ff, 0x00ff0080, 0xffffffff };
static const uint16_t four_words[4] = { 0, 0x801f, 0x03e0, 0xffff };

static struct buf bin_of(unsigned w, unsigned h, bool big)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i < 6; i++) {
		unsigned v = i == 0 ? w : i == 1 ? h : four_words[i - 2];

		if (big)
			put_big16(&b, v);
		else
			put16(&b, v);
	}
	return b;
}

static void test_bin(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct buf b = bin_of(4, 1, big);
		struct loose k;

		open_loose(&k, "WALL.BIN", &b);
		assert_int_equal(k.folder.asked, 1);
		pixels_are(&k, 4, 1, four);
		doc_is(k.o, DOC_IMAGE, 0,
		       "# modelfs jom 1 texture\nname: \"WALL.BIN\"\nsource: bin  # derived\nwidth: 4  # derived\n"
		       "height: 1  # derived\n");
		close_loose(&k);
	}
}

/* Its size has to be that of its pixels. */
static void test_bin_of_another_size(void **state)
{
	static const struct { unsigned w, h; } sizes[] = { { 5, 1 }, { 3, 1 }, { 0, 4 }, { 4, 0 }, { 65535, 65535 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct buf b = bin_of(sizes[i].w, sizes[i].h, false);

		missing("WALL.BIN", &b);
	}
	missing("WALL.BIN", &(struct buf){ 0 });
}

/* ---- .TGA ---- */

struct tga { unsigned id, kind, colours, map_depth, depth, descriptor; };

static struct buf tga_of(struct tga t, unsigned w, unsigned h, const void *pixels, size_t n)
{
	struct buf b = { 0 };

	put8(&b, t.id);
	put8(&b, t.colours != 0);
	put8(&b, t.kind);
	put16(&b, 0);
	put16(&b, t.colours);
	put8(&b, t.map_depth);
	put32(&b, 0);
	put16(&b, w);
	put16(&b, h);
	put8(&b, t.depth);
	put8(&b, t.descriptor);
	for (unsigned i = 0; i < t.colours; i++) {             /* blue, green, red */
		put8(&b, i);
		put8(&b, 100 + i);
		put8(&b, 200 + i);
	}
	buf_add(&b, pixels, n);
	return b;
}

static void tga_is(struct tga t, unsigned w, unsigned h, const void *pixels, size_t n, const uint32_t *rgba)
{
	struct buf b = tga_of(t, w, h, pixels, n);
	struct loose k;

	open_loose(&k, "BRICK.TGA", &b);
	pixels_are(&k, w, h, rgba);
	close_loose(&k);
}

static void test_tga(void **state)
{
	static const uint32_t top[2] = { 0x030201ff, 0x060504ff }, bottom[2] = { 0x060504ff, 0x030201ff };
	static const uint32_t alpha[2] = { 0x03020100, 0x06050407 };
	static const uint32_t indexed[4] = { 0xc86400ff, 0xca6602ff, 0, 0x000000ff };
	static const uint32_t grey[4] = { 0x000000ff, 0x020202ff, 0, 0x090909ff };
	struct loose k;
	struct buf b;

	(void)state;
	/* Bit 5 of the descriptor: the top row comes first. What follows the pixels is ignored. */
	tga_is((struct tga){ .kind = 2, .depth = 24, .descriptor = 0x20 }, 1, 2, "\1\2\3\4\5\6footer", 12, top);
	tga_is((struct tga){ .kind = 2, .depth = 24, .descriptor = 0x10 }, 1, 2, "\1\2\3\4\5\6", 6, bottom);
	tga_is((struct tga){ .kind = 2, .depth = 32, .descriptor = 0x28 }, 2, 1, "\1\2\3\0\4\5\6\7", 8, alpha);
	/* 255 is transparent; a number behind the map has no colour. */
	tga_is((struct tga){ .kind = 1, .colours = 3, .map_depth = 24, .depth = 8, .descriptor = 0x20 }, 4, 1,
	       "\0\2\xff\x09", 4, indexed);
	tga_is((struct tga){ .kind = 3, .depth = 8, .descriptor = 0x20 }, 4, 1, "\0\2\xff\x09", 4, grey);
	b = tga_of((struct tga){ .kind = 2, .depth = 24 }, 2, 1, "\1\2\3\4\5\6", 6);
	open_loose(&k, "BRICK.TGA", &b);
	doc_is(k.o, DOC_IMAGE, 0,
	       "# modelfs jom 1 texture\nname: \"BRICK.TGA\"\nsource: tga  # derived\nwidth: 2  # derived\n"
	       "height: 1  # derived\n");
	close_loose(&k);
}

static void test_tga_the_engine_cannot_read(void **state)
{
	static const struct tga bad[] = {
		{ .kind = 10, .depth = 24 }, { .kind = 2, .depth = 16 }, { .kind = 2, .depth = 24, .id = 3 },
		{ .kind = 1, .depth = 8 }, { .kind = 1, .depth = 8, .colours = 256, .map_depth = 32 }, { .kind = 0 },
	};
	struct buf b;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		b = tga_of(bad[i], 1, 2, "\1\2\3\4\5\6", 6);
		missing("BRICK.TGA", &b);
	}
	b = tga_of((struct tga){ .kind = 2, .depth = 24 }, 1, 2, "\1\2\3\4\5", 5);
	missing("BRICK.TGA", &b);
	b = tga_of((struct tga){ .kind = 2, .depth = 24 }, 0, 2, "\1\2\3\4\5", 5);
	missing("BRICK.TGA", &b);
	b = tga_of((struct tga){ .kind = 2, .depth = 24 }, 65535, 65535, "\1\2\3\4\5", 5);
	missing("BRICK.TGA", &b);
}

/* Nobody is asked for files that are no pictures. */
static void test_other_names(void **state)
{
	static const char *const names[] = { "WALL.PNG", "", ".BIN", "BIN", "SIXTEEN_BYTE.BI" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buf b = bin_of(4, 1, false);
		struct loose k;

		open_loose(&k, names[i], &b);
		assert_int_equal(k.folder.asked, 0);
		assert_false(fmt_jom.model->has(k.o, PART_IMAGE, 0));
		close_loose(&k);
	}
}

/* Lower case is as good; a name of 16 bytes without an end too. */
static void test_names_of_files(void **state)
{
	static const char *const names[] = { "wall.bin", "SIXTEEN_BYTE.BIN", "a b.Bin" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buf b = bin_of(2, 2, false);
		struct loose k;

		open_loose(&k, names[i], &b);
		pixels_are(&k, 2, 2, four);
		close_loose(&k);
	}
}

/* The file became another one after the model was opened: its head is looked at again. */
static void test_file_that_changes(void **state)
{
	struct buf b = tga_of((struct tga){ .kind = 2, .depth = 24 }, 2, 1, "\1\2\3\4\5\6", 6);
	struct arena a = { 0 };
	struct geo_image img;
	struct loose k;

	(void)state;
	open_loose(&k, "BRICK.TGA", &b);
	k.folder.file.p[12] = 1;
	assert_int_equal(fmt_jom.model->image(k.o, 0, &img, &a, NULL), -EIO);
	k.folder.file.p[12] = 2;
	arena_free(&a);
	close_loose(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bin),
		cmocka_unit_test(test_bin_of_another_size),
		cmocka_unit_test(test_tga),
		cmocka_unit_test(test_tga_the_engine_cannot_read),
		cmocka_unit_test(test_other_names),
		cmocka_unit_test(test_names_of_files),
		cmocka_unit_test(test_file_that_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
