/* PMO models: what damaged ones say and still show, and that nothing hostile costs anything. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "build_pmo.h"
#include "bytes.h"
#include "export.h"
#include "ge.h"

extern const struct format fmt_pmo;

/* ---- the model that is damaged ---- */

static const uint8_t some[20 * 16] = { 64, 64 };
static const uint16_t indices[] = { 0, 1, 2, 3, 3, 2, 1, 0 };

/* Two meshes: two groups with indices of 16 and 8 bits and two weights, and one without indices. */
static void build(struct build_pmo *b, bool v102, bool behind, struct buf *out, struct buf *region)
{
	const uint32_t strips[] = { fface(0), prim(GE_STRIP, 4), prim(GE_STRIP, 4), 0 },
		       plain[] = { prim(GE_STRIP, 6), 0 };
	const struct build_group groups[] = {
		{ 0, 0x5322, some, indices, 16 * 4, sizeof indices, strips },
		{ 1, 0x4b22, some, indices, 16 * 4, 8, strips },
		{ 0, 0x0122, some, NULL, 14 * 6, 0, plain },
	};

	*b = (struct build_pmo){ .v102 = v102, .behind = behind, .scale = { 9, 8, 7 } };
	build_material(b, 0xffffffff, 0x7f7f7f, 0, 0);
	build_material(b, 0xffffffff, 0x7f7f7f, 0xff, 0);
	build_mesh(b, ones, ones, zeros);
	build_remap(b, 0);
	build_remap(b, 1);
	for (unsigned i = 0; i < 3; i++) {
		if (i == 2) {
			build_mesh(b, ones, ones, zeros);
			build_remap(b, 1);
		}
		build_palette(b, 0, (uint8_t)i);
		build_palette(b, 1, 5);
		build_group(b, &groups[i]);
	}
	build_pmo(b, out, region);
}

/* ---- opening ---- */

struct nearby { struct surroundings s; struct source *next; };

static struct source *following(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct nearby *n = (const struct nearby *)s;

	(void)e;
	return k == 1 && n->next ? src_ref(n->next) : NULL;
}

static struct object *open_bytes(const void *p, size_t n, struct source *next)
{
	struct nearby nearby = { { following }, next };
	struct source *src = src_memory(p, n);
	struct object *o;
	struct err why = { 0 };

	if (object_open(&fmt_pmo, src, next ? &nearby.s : NULL, &o, &why))
		fail_msg("%s", why.text);
	o->around = NULL;
	src_put(src);
	return o;
}

/* Every view, read as a program would. Where the text goes wrong the error must say so. */
static void use_everything(struct object *o)
{
	struct err why = { 0 };

	for (unsigned s = 0; o->variant && s < o->variant->nsections; s++) {
		struct buf out = { 0 };
		struct ydoc y;

		ydoc_init(&y, &out);
		if (o->variant->sections[s].yaml && object_section(o, s).size)
			assert_int_equal(object_section_doc(o, s, &y.doc, &why), 0);
		buf_free(&out);
	}
	for (uint32_t i = 0; i < object_count(o, PART_MESH); i++) {
		struct arena a = { 0 };
		struct geo_mesh g = { 0 };
		struct buf out = { 0 };
		struct ydoc y;
		int rc;

		fmt_pmo.model->skinned(o, i);
		why.text[0] = 0;
		rc = fmt_pmo.model->mesh(o, i, &g, &a, &why);
		assert_true(rc == 0 || rc == -EBADMSG || rc == -EFBIG);
		assert_int_equal(rc != 0, why.text[0] != 0);
		ydoc_init(&y, &out);
		rc = fmt_pmo.model->doc(o, DOC_MESH, i, &y.doc, &why);
		assert_true(rc == 0 || (rc == -EBADMSG && object_gone(o, PART_MESH, i)));
		for (unsigned k = 0; k < g.nparts; k++) {
			struct geo_material m;

			if (g.parts[k].material >= 0)
				assert_int_equal(
					fmt_pmo.model->material(o, (uint32_t)g.parts[k].material, &m, &a, &why), 0);
		}
		assert_true(a.used < 64u << 20);
		buf_free(&out);
		arena_free(&a);
	}
	object_verify(o, &why);
}

/* All faults, a line each; a mesh that is not listed has its number in front. */
static void fault_lines(const struct object *o, struct buf *out)
{
	for (const struct fault *f = o->faults; f; f = f->next) {
		if (f->part == PART_MESH)
			buf_printf(out, "%u: ", f->index);
		buf_printf(out, "%s\n", f->text);
	}
	buf_char(out, 0);
}

static void expect_faults(const struct object *o, const char *want)
{
	struct buf lines = { 0 };

	fault_lines(o, &lines);
	assert_string_equal((const char *)lines.p, want);
	buf_free(&lines);
}

/* ---- single values ---- */

enum base { HEADER, MESHES, GROUPS, LIST };

static const struct damage {
	uint8_t base, width;                   /* LIST: of group 0 */
	uint32_t at, value;
	uint32_t meshes;                       /* still listed */
	const char *faults;
} damages[] = {
	{ HEADER, 2, 0x1c, 0xffff, 0,
	  "mesh table at 0x40: 65535 records of 24 bytes end past the 608 bytes of the entry\n" },
	{ HEADER, 2, 0x1c, 3, 0, "mesh table at 0x40: 3 records of 24 bytes, the next table leaves room for 2\n" },
	{ HEADER, 2, 0x1e, 0xffff, 2,
	  "material table at 0xc0: 65535 records of 16 bytes end past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x08, 0xfffffff0, 2, "size at 0x8: 4294967280 bytes, the entry has only 608\n" },
	{ HEADER, 4, 0x08, 0x50, 2, "size at 0x8: 80 bytes end before the geometry region at 0xe0\n" },
	{ HEADER, 4, 0x20, 0xfffffff0, 0, "mesh table at 0xfffffff0: lies past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x20, 8, 0, "mesh table at 0x8: lies inside the header of 64 bytes\n" },
	{ HEADER, 4, 0x24, 0xfffffff0, 0, "group table at 0xfffffff0: lies past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x28, 0xfffffff0, 2, "remap table at 0xfffffff0: lies past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x2c, 0xfffffff0, 2, "bone palette at 0xfffffff0: lies past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x30, 0x25f, 2,
	  "material table at 0x25f: 2 records of 16 bytes end past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x34, 0xfffffff0, 0, "geometry region at 0xfffffff0: lies past the 608 bytes of the entry\n" },
	{ HEADER, 4, 0x34, 0, 0, "geometry region at 0x0: lies inside the header of 64 bytes\n" },
	{ MESHES, 2, 0x14, 0xffff, 1,
	  "0: mesh 0 at 0x40: groups 0 to 65534, the group table at 0x70 has room for 3\n" },
	{ MESHES, 2, 0x2e, 60000, 1,
	  "1: mesh 1 at 0x58: groups 60000 to 60000, the group table at 0x70 has room for 3\n" },
	{ MESHES, 2, 0x2c, 2, 1, "1: mesh 1 at 0x58: groups 2 to 3, the group table at 0x70 has room for 3\n" },
	{ MESHES, 1, 0x10, 17, 1,
	  "0: mesh 0 at 0x40: remap entries 0 to 16, the remap table at 0xa0 has room for 16\n" },
	{ GROUPS, 1, 0x01, 255, 1,
	  "0: group 0 at 0x70: palette entries 0 to 254, the bone palette at 0xb0 has room for 8\n" },
	{ GROUPS, 4, 0x04, 0x7ffffff0, 1,
	  "0: group 0 at 0x70: display list at offset 0x7ffffff0 of the geometry lies past its 384 bytes\n" },
	{ GROUPS, 4, 0x04, 2, 1,
	  "0: group 0 at 0x70: display list at offset 0x2 of the geometry; commands lie at multiples of 4\n" },
	{ GROUPS, 4, 0x08, 0x7ffffff0, 1,
	  "0: group 0 at 0x70: vertex buffer at offset 0x7ffffff0 of the geometry lies past its 384 bytes\n" },
	{ GROUPS, 4, 0x0c, 0x7ffffff0, 2, "" },
	{ LIST, 4, 4 * 1, 0x08000000, 1, "0: display list 0 at 0xe4: JUMP, which the lists of models never have\n" },
	{ LIST, 4, 4 * 2, 0x02fffffe, 1,
	  "0: display list 0 at 0xf8: PRIM: 4 indices of 2 bytes at offset 0xfffffe of the geometry end past its 384 "
	  "bytes\n" },
	{ LIST, 4, 4 * 3, 0x01fffff0, 1,
	  "0: display list 0 at 0xf8: PRIM: vertices at offset 0xfffff0 of the geometry lie past its 384 bytes\n" },
	{ LIST, 4, 4 * 3, 0x01000031, 1,
	  "0: display list 0 at 0xf8: PRIM: vertices at offset 0x31 of the geometry are not whole vertices of 16 bytes "
	  "from the vertex buffer at 0x30\n" },
	{ LIST, 4, 4 * 4, 0, 1, "0: display list 0 at 0xf8: PRIM without VTYPE\n" },
	{ LIST, 4, 4 * 4, 0x12000000, 1, "0: display list 0 at 0xf0: vertex type 0x000000: no position\n" },
	{ LIST, 4, 4 * 5, 0x12005b22, 1,
	  "0: display list 0 at 0xf4: VTYPE 0x005b22 after 0x005322: one list has one vertex type\n" },
	{ LIST, 4, 4 * 6, 0x0404ffff, 1,
	  "0: display list 0 at 0xf8: PRIM: 65535 indices of 2 bytes at offset 0x70 of the geometry end past its 384 "
	  "bytes\n" },
	{ LIST, 4, 4 * 6, 0x04040000, 2, "" },
	{ LIST, 4, 4 * 9, 0, 1,
	  "0: display list 0 at 0x110: no RET before offset 0x30 of the geometry, where it has to end\n" },
};

static void damaged_values(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(damages); i++) {
		const struct damage *d = &damages[i];
		struct build_pmo b;
		struct buf bytes;
		struct object *o;
		uint32_t listed = 0;
		uint8_t *p;

		build(&b, false, false, &bytes, NULL);
		p = bytes.p + d->at + (d->base == MESHES ? b.at_meshes : d->base == GROUPS ? b.at_groups :
				       d->base == LIST ? b.at_geometry + b.list[0] : 0);
		for (unsigned k = 0; k < d->width; k++)
			p[k] = (uint8_t)(d->value >> 8 * k);
		o = open_bytes(bytes.p, bytes.len, NULL);
		assert_non_null(o->variant);
		expect_faults(o, d->faults);
		for (uint32_t k = 0; k < object_count(o, PART_MESH); k++)
			listed += !object_gone(o, PART_MESH, k);
		assert_int_equal(listed, d->meshes);
		use_everything(o);
		object_close(o);
		buf_free(&bytes);
	}
}

static void expect_mesh_error(struct object *o, uint32_t mesh, int code, const char *text)
{
	struct arena a = { 0 };
	struct geo_mesh g;
	struct err why = { 0 };

	assert_int_equal(fmt_pmo.model->mesh(o, mesh, &g, &a, &why), -code);
	assert_string_equal(why.text, text);
	arena_free(&a);
}

/* Index values are read with the mesh, not when the model is opened. The rest of the mesh's document still stands. */
static void index_past_the_vertices(void **state)
{
	static const char *text =
		"index at 0x152: 65535, the vertex buffer at offset 0x30 of the geometry has room for 21 vertices "
		"of 16 bytes";
	struct build_pmo b;
	struct buf bytes, out = { 0 };
	struct object *o;
	struct ydoc y;
	struct err why = { 0 };

	(void)state;
	build(&b, false, false, &bytes, NULL);
	put_le16(bytes.p + b.at_geometry + b.indices[0] + 2, 0xffff);
	o = open_bytes(bytes.p, bytes.len, NULL);
	expect_faults(o, "");
	expect_mesh_error(o, 0, EBADMSG, text);
	expect_mesh_error(o, 2, ENOENT, "mesh 2 of 2");
	assert_int_equal(object_verify(o, &why), -EBADMSG);
	assert_string_equal(why.text, text);
	ydoc_init(&y, &out);
	assert_int_equal(fmt_pmo.model->doc(o, DOC_MESH, 0, &y.doc, &why), 0);
	buf_char(&out, 0);
	assert_string_equal((const char *)out.p,
			    "uv_scale: [1.0, 1.0]\nlighting: [lighting, fog, enable]\nblend: 0xdf000032\n"
			    "materials: [0, 1]\nvisible: true\ngroups:\n- material: 0\n  palette: [[0, 0], [1, 5]]\n"
			    "  vertex_type: 0x005322  # derived\n- material: 1\n  palette: [[0, 1], [1, 5]]\n"
			    "  vertex_type: 0x004b22  # derived\n  vertices: 4  # derived\n  triangles: 1  # "
			    "derived\n");
	buf_free(&out);
	object_close(o);
	buf_free(&bytes);
}

static void headers_that_tell_nothing(void **state)
{
	struct build_pmo b;
	struct buf bytes;
	struct object *o;

	(void)state;
	build(&b, true, false, &bytes, NULL);
	o = open_bytes(bytes.p, 42, NULL);
	assert_null(o->variant);
	expect_faults(o, "header at 0x0: 64 bytes end past the 42 of the entry\n");
	object_close(o);
	bytes.p[4] = '2';
	o = open_bytes(bytes.p, bytes.len, NULL);
	assert_null(o->variant);
	expect_faults(o, "version at 0x4: bytes 32 30 32 00 are neither 1.0 nor 102\n");
	use_everything(o);
	object_close(o);
	buf_free(&bytes);
}

/* ---- geometry in the next file ---- */

static void geometry_behind(void **state)
{
	static const char *missing =
		"geometry region at 0x110: its 352 bytes are the next file of DATA.BIN, which is missing here";
	struct build_pmo b;
	struct buf bytes, region, out = { 0 };
	struct source *next;
	struct object *o;
	struct ydoc y;
	char line[160];

	(void)state;
	build(&b, true, true, &bytes, &region);
	o = open_bytes(bytes.p, bytes.len, NULL);
	snprintf(line, sizeof line, "%s\n", missing);
	expect_faults(o, line);
	assert_int_equal(object_count(o, PART_MESH), 2);
	expect_mesh_error(o, 0, EBADMSG, missing);
	expect_mesh_error(o, 1, EBADMSG, missing);
	assert_false(fmt_pmo.model->skinned(o, 0));
	assert_int_equal(object_section(o, 6).size, 0);
	ydoc_init(&y, &out);
	assert_int_equal(fmt_pmo.model->doc(o, DOC_MESH, 1, &y.doc, NULL), 0);
	buf_char(&out, 0);
	assert_string_equal((const char *)out.p,
			    "scale: [1.0, 1.0, 1.0, 1.0]\nuv_scale: [1.0, 1.0]\nuv_offset: [0.0, 0.0]\n"
			    "lighting: [lighting, fog, enable]\nblend: 0xdf000032\nmaterials: [1]\ngroups:\n- "
			    "material: 0\n"
			    "  palette: [[0, 2], [1, 5]]\n");
	buf_free(&out);
	use_everything(o);
	object_close(o);

	next = src_memory(region.p, 0x100);            /* cut in the last display list */
	o = open_bytes(bytes.p, bytes.len, next);
	expect_faults(o, "size at 0x8: gives the geometry 352 bytes, the next file of DATA.BIN has only 256\n"
		      "1: group 2 at 0xc0: vertex buffer at offset 0x104 of the geometry lies past its 256 bytes\n");
	use_everything(o);
	object_close(o);
	src_put(next);

	bytes.p[5] = '.';                              /* 1.0 has its geometry inside */
	memcpy(bytes.p + 4, "1.0", 4);
	next = src_memory(region.p, region.len);
	o = open_bytes(bytes.p, bytes.len, next);
	assert_null(o->behind);
	assert_non_null(o->faults);
	use_everything(o);
	object_close(o);
	src_put(next);
	buf_free(&bytes);
	buf_free(&region);
}

/* ---- everything else ---- */

static void cut_anywhere(void **state)
{
	struct build_pmo b;
	struct buf bytes;

	(void)state;
	for (unsigned v102 = 0; v102 < 2; v102++) {
		build(&b, v102, false, &bytes, NULL);
		for (size_t n = 8; n < bytes.len; n++) {
			uint8_t *cut = malloc(n);      /* so that a read past it is seen */
			struct object *o;

			memcpy(cut, bytes.p, n);
			o = open_bytes(cut, n, NULL);
			assert_non_null(o->faults);
			use_everything(o);
			object_close(o);
			free(cut);
		}
		buf_free(&bytes);
	}
}

static void any_byte_wrong(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };
	struct build_pmo b;
	struct buf bytes;

	(void)state;
	for (unsigned v102 = 0; v102 < 2; v102++) {
		build(&b, v102, false, &bytes, NULL);
		for (size_t i = 0; i < bytes.len * ARRAY_LEN(flips); i++) {
			uint8_t *p = &bytes.p[i / ARRAY_LEN(flips)], was = *p;
			struct object *o;

			*p ^= flips[i % ARRAY_LEN(flips)];
			o = open_bytes(bytes.p, bytes.len, NULL);
			use_everything(o);
			object_close(o);
			*p = was;
		}
		buf_free(&bytes);
	}
}

/* ---- hostile sizes ---- */

/* A 1.0 model by hand: nmeshes meshes of one group each, ngroups groups that all have the same list, vertices at
 * `vertices`, region of the given bytes. */
static void build_many(struct buf *out, uint32_t nmeshes, uint32_t ngroups, uint32_t vertices, const struct buf *region)
{
	uint32_t groups = 0x40 + nmeshes * 0x18, geometry = groups + ngroups * 0x10;

	*out = (struct buf){ 0 };
	buf_add(out, "pmo\0" "1.0", 8);
	put32(out, geometry + (uint32_t)region->len);
	for (unsigned i = 0; i < 4; i++)
		put_float(out, 1);
	put16(out, nmeshes);
	put16(out, 0);
	put32(out, 0x40);
	put32(out, groups);
	put32(out, 0);
	put32(out, 0);
	put32(out, 0);
	put32(out, geometry);
	put32(out, 0);
	put32(out, 0);
	for (uint32_t i = 0; i < nmeshes; i++) {
		for (unsigned k = 0; k < 5; k++)
			put32(out, 0);
		put16(out, i + 1 == nmeshes ? ngroups - (ngroups > i ? i : 0) : 1);
		put16(out, i < ngroups ? i : 0);
	}
	for (uint32_t i = 0; i < ngroups; i++) {
		put32(out, 0);
		put32(out, 0);
		put32(out, vertices);
		put32(out, 0);
	}
	buf_add(out, region->p, region->len);
	assert_false(out->bad);
}

/* A list that draws n times the same 65535 indices, which all are `index`. */
static void build_redraw(struct buf *region, unsigned n, uint32_t index, size_t nvertices)
{
	uint32_t at = (n + 2) * 8, vertices = at + 65535 * 4;

	*region = (struct buf){ 0 };
	put32(region, ge_word(GE_VADDR, vertices));
	put32(region, ge_word(GE_VTYPE, 0x1880));
	for (unsigned i = 0; i < n; i++) {
		put32(region, ge_word(GE_IADDR, at));
		put32(region, prim(GE_TRIANGLES, 65535));
	}
	put32(region, ge_word(GE_RET, 0));
	put32(region, 0);
	for (unsigned i = 0; i < 65535; i++)
		put32(region, i % 3 ? index : i);
	for (size_t i = 0; i < nvertices * 3; i++)
		put8(region, 7);
}

static void open_many(uint32_t nmeshes, uint32_t ngroups, uint32_t vertices, struct buf *region,
		      const char *first_fault, int mesh_rc)
{
	struct timespec from, to;
	struct buf bytes;
	struct object *o;
	struct arena a = { 0 };
	struct geo_mesh g;

	build_many(&bytes, nmeshes, ngroups, vertices, region);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	o = open_bytes(bytes.p, bytes.len, NULL);
	if (first_fault) {
		assert_non_null(o->faults);
		assert_string_equal(o->faults->text, first_fault);
	} else {
		assert_null(o->faults);
	}
	assert_true(o->arena.used < 16u << 20);
	assert_int_equal(fmt_pmo.model->mesh(o, 0, &g, &a, NULL), mesh_rc);
	assert_true(a.used < 64u << 20);
	use_everything(o);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(to.tv_sec - from.tv_sec < 5);
	arena_free(&a);
	object_close(o);
	buf_free(&bytes);
	buf_free(region);
}

static void too_much_to_draw(void **state)
{
	struct buf region;

	(void)state;
	build_redraw(&region, 8, 65534, 65535);        /* what is allowed */
	open_many(1, 1, (8 + 2) * 8 + 65535 * 4, &region, NULL, 0);
	build_redraw(&region, 9, 0, 65535);
	open_many(1, 1, (9 + 2) * 8 + 65535 * 4, &region, "mesh 0 at 0x40: draws 589815 corners, more than 524288",
		  -EBADMSG);
	build_redraw(&region, 1000, 0, 65535);
	open_many(1, 1, (1000 + 2) * 8 + 65535 * 4, &region,
		  "geometry region at 0x68: the display lists of the first 1 groups have "
		  "2003 commands and draw 65535000 corners, more than any model",
		  -ENOENT);
	build_redraw(&region, 1, 200000, 200001);
	open_many(1, 1, (1 + 2) * 8 + 65535 * 4, &region, NULL, -EFBIG);
	build_redraw(&region, 1, 65534, 65535);        /* three groups that share their vertices */
	open_many(1, 3, (1 + 2) * 8 + 65535 * 4, &region, NULL, -EFBIG);
	build_redraw(&region, 1, 65534, 65535);        /* and forty */
	open_many(1, 40, (1 + 2) * 8 + 65535 * 4, &region,
		  "geometry region at 0x2d8: its 458769 bytes give the first 21 groups 4128705 bytes of vertices",
		  -ENOENT);
}

static void too_many_of_everything(void **state)
{
	struct buf region = { 0 };

	(void)state;
	for (unsigned i = 0; i < 65000; i++)
		put32(&region, 0xff000000);
	put32(&region, ge_word(GE_RET, 0));
	open_many(1, 60000, 0, &region,
		  "geometry region at 0xea658: the display lists of the first 33 groups have 2145033 commands "
		  "and draw 0 corners, more than any model",
		  -ENOENT);
	for (unsigned i = 0; i < 4; i++)
		put32(&region, ge_word(GE_RET, 0));
	open_many(65535, 1, 0, &region,
		  "mesh 1 at 0x58: 1 groups and the 1 of the meshes before are more than the 1 that the group "
		  "table at 0x180028 has room for",
		  -ENOENT);
	for (unsigned i = 0; i < 4; i++)
		put32(&region, ge_word(GE_RET, 0));
	open_many(65535, 65535, 0, &region, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_values),
		cmocka_unit_test(index_past_the_vertices),
		cmocka_unit_test(headers_that_tell_nothing),
		cmocka_unit_test(geometry_behind),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(any_byte_wrong),
		cmocka_unit_test(too_much_to_draw),
		cmocka_unit_test(too_many_of_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
