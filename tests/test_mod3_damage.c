/* MOD3 models: what damaged ones say and still show, and that nothing hostile costs anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "build_mod3.h"
#include "export.h"
#include "mod3.h"
#include "opened.h"

extern const struct format fmt_mod3;

static const int32_t two[] = { 0, 1, 2, 2, 1, 3 };

/* Bones at 0x140, remap at 0x308, groups at 0x510, names at 0x530, mesh records at 0x630, envelopes at 0x720,
 * vertices at 0x844: strides 32, 32, 40; indices at 0x9e4, trailing block at 0xa08; 0xa20 bytes. */
static void build(struct build_mod3 *b, struct buf *file)
{
	*b = (struct build_mod3){ 0 };
	build_bone(b, 255, 0, 8, 0);
	build_bone(b, 0, 3, 0, 4);
	build_bone(b, 1, 0, -1, 0);
	build_group_of(b, 7);
	build_name(b, "skin");
	build_name(b, "cloth");
	build_mod3_mesh(b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_envelope(b, 1, true);
	build_mod3_mesh(b, &(struct build_mod3_mesh){ "IANonSkin2UVColor", 4, two, 6 });
	build_mod3_mesh(b, &(struct build_mod3_mesh){ "IASkin8wt1UV", 4, two, 6 });
	build_envelope(b, 2, true);
	build_mod3(b, file);
	assert_int_equal(file->len, 0xa20);
}

/* ---- using what there is ---- */

static void use_doc(struct object *o, unsigned kind, uint32_t i)
{
	struct buf out = { 0 };
	struct err why = { 0 };
	struct ydoc y;
	int rc;

	ydoc_init(&y, &out);
	rc = fmt_mod3.model->doc(o, kind, i, &y.doc, &why);
	assert_true(rc == 0 || rc == -EBADMSG || rc == -ENOENT);
	assert_true(rc != -EBADMSG || why.text[0]);
	buf_free(&out);
}

static void use_mesh(struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_mesh g = { 0 };
	struct geo_material m = { 0 };
	struct err why = { 0 };
	int rc = fmt_mod3.model->mesh(o, i, &g, &a, &why);

	assert_true(rc == 0 || rc == -EBADMSG || (rc == -ENOENT && !object_has(o, PART_MESH, i)));
	assert_true(!rc || why.text[0]);
	for (uint32_t k = 0; k < g.nfaces && !rc; k++)
		for (unsigned c = 0; c < 3; c++)
			assert_true(g.face[k][c] < g.nvertices);
	for (uint32_t k = 0; k < g.nmaterials && !rc; k++)
		assert_int_equal(fmt_mod3.model->material(o, g.materials[k], &m, &a, &why), 0);
	assert_true(a.used < 1u << 20);
	arena_free(&a);
	use_doc(o, DOC_MESH, i);
	if (object_has(o, PART_MESH, i))
		use_doc(o, MOD3_DOC_VERTICES, i);
}

static void use_everything(struct object *o)
{
	struct buf out = { 0 };
	struct err why;
	struct ydoc y;
	int rc;

	if (!o->variant) {
		assert_non_null(o->faults);
		return;
	}
	for (unsigned s = 0; s < MOD3_SECTIONS; s++) {
		ydoc_init(&y, &out);
		if (o->variant->sections[s].yaml && object_section(o, s).size)
			assert_int_equal(object_section_doc(o, s, &y.doc, &why), 0);
		out.len = 0;
	}
	buf_free(&out);
	use_doc(o, MOD3_DOC_MATERIALS, 0);
	use_doc(o, MOD3_DOC_ENVELOPES, 0);
	use_doc(o, DOC_SKELETON, 0);
	for (uint32_t i = 0; i < object_count(o, PART_MESH); i++)
		use_mesh(o, i);
	rc = object_verify(o, &why);
	assert_true(rc == 0 || rc == -EBADMSG);
	rc = fmt_mod3.model->check(o, &why);
	assert_true(rc == 0 || rc == -EINVAL);
}

static void use_bytes(const uint8_t *p, size_t n)
{
	struct opened k = open_bytes(&fmt_mod3, p, n);

	use_everything(k.o);
	close_opened(&k);
}

static void use_cut(const uint8_t *p, size_t n)
{
	struct opened k = open_bytes(&fmt_mod3, p, n);

	assert_int_equal(!k.o->faults, n >= 0xa08);    /* all but the trailing block is needed */
	use_everything(k.o);
	close_opened(&k);
}

/* ---- single values ---- */

static const struct damage {
	uint32_t at;
	uint8_t width;
	uint64_t value;
	uint32_t meshes;                       /* that have a shape still */
	const char *faults;
} damages[] = {
	{ 0x06, 2, 0xffff, 3, "bones at 0x140: 1 of 9961832 bytes end past the 2592 of the entry\n" },
	{ 0x30, 8, 0, 3, "bones at 0x0: its 968 bytes overlap the header at 0x0\n" },
	{ 0x30, 8, 0xfffffffffffffff0, 3,
	  "bones at 0xfffffffffffffff0: 1 of 968 bytes end past the 2592 of the entry\n" },
	{ 0x20, 8, 0xffffffffffffffff, 3,
	  "groups at 0x510: 18446744073709551615 of 32 bytes end past the 2592 of the entry\n" },
	{ 0x20, 8, 0x0800000000000001, 3,
	  "groups at 0x510: 576460752303423489 of 32 bytes end past the 2592 of the entry\n" },
	{ 0x38, 8, 0x13f, 3, "groups at 0x13f: its 32 bytes overlap the header at 0x0\n" },
	{ 0x38, 8, 0x187, 3, "groups at 0x187: its 32 bytes overlap the bones at 0x140\n" },
	{ 0x38, 8, 0x507, 3, "groups at 0x507: its 32 bytes overlap the remap table at 0x308\n" },
	{ 0x0a, 2, 0xffff, 3, "material names at 0x530: 65535 of 128 bytes end past the 2592 of the entry\n" },
	{ 0x40, 8, 0x518, 3, "material names at 0x518: its 256 bytes overlap the groups at 0x510\n" },
	{ 0x08, 2, 0xffff, 0, "mesh records at 0x630: 65535 of 80 bytes end past the 2592 of the entry\n" },
	{ 0x48, 8, 0x5a0, 0, "mesh records at 0x5a0: its 240 bytes overlap the material names at 0x530\n" },
	{ 0x48, 8, 0xa00, 0, "mesh records at 0xa00: 3 of 80 bytes end past the 2592 of the entry\n" },
	{ 0x720, 4, 0xffffffff, 3, "envelopes at 0x720: 1 of 618475290484 bytes end past the 2592 of the entry\n" },
	{ 0x720, 4, 3, 0,
	  "vertex buffer at 0x844: its 416 bytes overlap the envelopes at 0x720\n"
	  "0: mesh 0 at 0x630: 4 vertices of 32 bytes from 0x0 of the vertex buffer on end past its 0 bytes\n"
	  "1: mesh 1 at 0x680: 4 vertices of 32 bytes from 0x80 of the vertex buffer on end past its 0 bytes\n"
	  "2: mesh 2 at 0x6d0: 4 vertices of 40 bytes from 0x100 of the vertex buffer on end past its 0 bytes\n" },
	{ 0x18, 4, 415, 2,
	  "2: mesh 2 at 0x6d0: 4 vertices of 40 bytes from 0x100 of the vertex buffer on end past its 415 bytes\n" },
	{ 0x58, 8, 0xa00, 2,
	  "index buffer at 0xa00: 18 of 2 bytes end past the 2592 of the entry\n"
	  "2: mesh 2 at 0x6ec: 6 indices from index 12 on end past the 2592 bytes of the entry\n" },
	{ 0x63e, 1, 31, 2, "0: mesh 0 at 0x63e: stride 31, expected 32 for IASkin4wt1UV\n" },
	{ 0x63e, 1, 0, 2, "0: mesh 0 at 0x63e: stride 0, expected 32 for IASkin4wt1UV\n" },
	{ 0x648, 4, 0xf471fe45, 2, "0: mesh 0 at 0x63e: stride 32, expected 36 for IASkin4wt2UV\n" },
	{ 0x632, 2, 14, 2,
	  "0: mesh 0 at 0x630: 14 vertices of 32 bytes from 0x0 of the vertex buffer on end past its 416 bytes\n" },
	{ 0x640, 4, 0xffffffff, 2,
	  "0: mesh 0 at 0x630: 4 vertices of 32 bytes from 0x1fffffffe0 of the vertex buffer on end past its 416 "
	  "bytes\n" },
	{ 0x654, 4, 0x80000000, 2,
	  "0: mesh 0 at 0x630: 4 vertices of 32 bytes from 0x1000000000 of the vertex buffer on end past its 416 "
	  "bytes\n" },
	{ 0x644, 4, 2, 2, "1: mesh 1 at 0x690: begins at 0x80 of the vertex buffer, inside a vertex of mesh 0\n" },
	{ 0x650, 4, 4, 2, "0: mesh 0 at 0x650: 4 indices, expected a multiple of 3\n" },
	{ 0x650, 4, 0xfffffffc, 2, "0: mesh 0 at 0x650: 4294967292 indices, more than 16777216\n" },
	{ 0x64c, 4, 0xffffffff, 2,
	  "0: mesh 0 at 0x64c: 6 indices from index 4294967295 on end past the 2592 bytes of the entry\n" },
	{ 0x15a, 1, 3, 3, "bone 1 at 0x158: parent 3 of 3 bones\n" },
	{ 0x15a, 1, 1, 3, "bone 1 at 0x158: its parents lead to no root\n" },
	{ 0x142, 1, 2, 3, "bone 0 at 0x140: its parents lead to no root\n" },
	/* What is tolerated. */
	{ 0x0c, 4, 0xffffffff, 3, "" }, { 0x10, 4, 0, 3, "" }, { 0x60, 8, 0, 3, "" },
	{ 0x60, 8, 0xffffffffffffffff, 3, "" },
	{ 0x60, 8, 0x20, 3, "" }, { 0x05, 1, 9, 3, "" }, { 0x648, 4, 0xdeadbeef, 2, "" }, { 0x720, 4, 0, 3, "" },
	{ 0x143, 1, 200, 3, "" }, { 0x308, 1, 99, 3, "" }, { 0x65c, 4, 0xffffffff, 3, "" }, { 0x632, 2, 0, 3, "" },
};

/* All faults, a line each; those of a mesh have its number in front. */
static void expect_faults(const struct object *o, const char *want)
{
	struct buf lines = { 0 };

	for (const struct fault *f = o->faults; f; f = f->next) {
		if (f->part == PART_MESH)
			buf_printf(&lines, "%u: ", f->index);
		buf_printf(&lines, "%s\n", f->text);
	}
	buf_char(&lines, '\0');
	assert_string_equal((char *)lines.p, want);
	buf_free(&lines);
}

static uint32_t count_shapes(struct object *o)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < object_count(o, PART_MESH); i++)
		n += object_has(o, PART_MESH, i) && !object_gone(o, PART_MESH, i);
	return n;
}

static void test_single_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
		const struct damage *d = &damages[i];
		struct build_mod3 b;
		struct buf file;
		struct opened k;

		build(&b, &file);
		for (unsigned n = 0; n < d->width; n++)
			file.p[d->at + n] = (uint8_t)(d->value >> 8 * n);
		k = open_buf(&fmt_mod3, &file);
		expect_faults(k.o, d->faults);
		assert_int_equal(count_shapes(k.o), d->meshes);
		assert_int_equal(object_verify(k.o, NULL) != 0, d->faults[0] != 0);
		use_everything(k.o);
		close_opened(&k);
	}
}

/* Found only when the mesh is read. */
static void test_wild_index(void **state)
{
	static const char *const want =
		"index at 0x9e8: 8 and vertex base 0 lead past the 8 vertices of the stride run";
	struct geo_mesh g;
	struct build_mod3 b;
	struct buf file;
	struct opened k;
	struct arena a = { 0 };
	struct err e = { 0 };

	(void)state;
	build(&b, &file);
	set16(&file, b.at_indices + 4, 8);
	k = open_buf(&fmt_mod3, &file);
	assert_null(k.o->faults);
	assert_int_equal(fmt_mod3.model->mesh(k.o, 0, &g, &a, &e), -EBADMSG);
	assert_string_equal(e.text, want);
	assert_int_equal(object_verify(k.o, &e), -EBADMSG);
	assert_string_equal(e.text, want);
	use_everything(k.o);
	arena_free(&a);
	close_opened(&k);
}

static void test_wild_bone(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct opened k;
	struct err e = { 0 };

	(void)state;
	build(&b, &file);
	set8(&file, b.at_vertices + 32 + 29, 250);
	k = open_buf(&fmt_mod3, &file);
	assert_null(k.o->faults);
	assert_int_equal(object_verify(k.o, &e), -EBADMSG);
	assert_string_equal(e.text, "vertex 1 of mesh 0 at 0x881: bone 250 of 3 bones");
	use_everything(k.o);
	close_opened(&k);
}

static void test_check(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct opened k;
	struct err e = { 0 };

	(void)state;
	build(&b, &file);
	k = open_bytes(&fmt_mod3, file.p, file.len);
	assert_int_equal(fmt_mod3.model->check(k.o, &e), 0);
	close_opened(&k);
	set32(&file, b.at_envelopes + 4 + 144, 0xffffffff);
	k = open_bytes(&fmt_mod3, file.p, file.len);
	assert_int_equal(fmt_mod3.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "envelope 1: bone -1 of 3 bones");
	close_opened(&k);
	set8(&file, b.at_bones + 24 + 3, 3);
	k = open_buf(&fmt_mod3, &file);
	assert_int_equal(fmt_mod3.model->check(k.o, &e), -EINVAL);
	assert_string_equal(e.text, "bone 1: symmetric_pair 3 of 3 bones");
	close_opened(&k);
}

/* ---- everywhere ---- */

static void test_cut_anywhere(void **state)
{
	struct build_mod3 b;
	struct buf file;

	(void)state;
	build(&b, &file);
	each_cut(&file, use_cut);
	buf_free(&file);
}

static void test_any_byte_wrong(void **state)
{
	struct build_mod3 b;
	struct buf file;

	(void)state;
	build(&b, &file);
	each_change(&file, use_bytes);
	buf_free(&file);
}

/* ---- hostile amounts ---- */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* n copies of the last record of a model whose only mesh has a run of `vertices`. */
static void build_copies(struct buf *file, unsigned n, unsigned vertices, const int32_t *indices, unsigned nindices)
{
	struct build_mod3 b = { 0 };
	uint8_t record[80];

	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", vertices, indices, nindices });
	memcpy(record, b.meshes.p, sizeof record);
	for (unsigned i = 1; i < n; i++)
		buf_add(&b.meshes, record, sizeof record);
	b.nmeshes = (uint16_t)n;
	build_mod3(&b, file);
}

static void expect_amount(struct buf *file, const char *want)
{
	double begin = seconds();
	struct opened k = open_buf(&fmt_mod3, file);

	expect_faults(k.o, want);
	assert_int_equal(object_count(k.o, PART_MESH), 0);
	use_everything(k.o);
	assert_true(k.o->arena.used < 32u << 20);
	close_opened(&k);
	assert_true(seconds() - begin < 5);
}

static void test_shared_without_end(void **state)
{
	int32_t *many = calloc(60000, sizeof *many);
	struct buf file;

	(void)state;
	assert_non_null(many);
	build_copies(&file, 65535, 2000, two, 3);      /* each has all vertices of its own */
	expect_amount(&file, "mesh records at 0x140: no mesh is shown, the vertex buffer of 48000 bytes would be shown "
			     "as 2304000 and more\n");
	build_copies(&file, 65535, 1, many, 60000);    /* each has all indices */
	expect_amount(&file, "mesh records at 0x140: no mesh is shown, 7864200000 bytes of indices in an entry of "
			     "5363172\n");
	free(many);
}

/* Records with one vertex of their own each, whose indices reach all of the run. */
static void test_reach_without_end(void **state)
{
	static const int32_t reach[] = { 0, 1, 1999 };
	struct build_mod3 b = { 0 };
	uint8_t record[80];
	struct buf file;

	(void)state;
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 2000, reach, 3 });
	memcpy(record, b.meshes.p, sizeof record);
	record[2] = 1;
	record[3] = 0;
	for (unsigned i = 1; i < 65535; i++)
		buf_add(&b.meshes, record, sizeof record);
	b.nmeshes = 65535;
	build_mod3(&b, &file);
	expect_amount(&file, "mesh records at 0x140: no mesh is shown, the vertex buffer of 48000 bytes would be shown "
			     "as 2304000 and more\n");
}

static void test_many_damaged(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		build_no_mesh(&b);
		put_le32(b.meshes.p + b.meshes.len - 80 + 0x18, 0xf637401c);
	}
	build_mod3(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	assert_int_equal(object_count(k.o, PART_MESH), 0);
	use_everything(k.o);
	close_opened(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_values), cmocka_unit_test(test_wild_index),
		cmocka_unit_test(test_wild_bone), cmocka_unit_test(test_check), cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_any_byte_wrong),
		cmocka_unit_test(test_shared_without_end), cmocka_unit_test(test_reach_without_end),
		cmocka_unit_test(test_many_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
