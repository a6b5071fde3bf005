/* PMO models: views, sections, materials of sound ones. Their geometry is in test_pmo_geometry.c, damage in
 * test_pmo_damage.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "build_pmo.h"
#include "export.h"
#include "ge.h"
#include "opened.h"

extern const struct format fmt_pmo;

/* ---- the minimal file of the spec ---- */

static const uint8_t minimal[] = {
	0x70, 0x6d, 0x6f, 0x00, 0x31, 0x2e, 0x30, 0x00, 0x20, 0x01, 0x00, 0x00, 0x00, 0x00, 0xa0, 0x41,
	0x00, 0x00, 0x20, 0x41, 0x00, 0x00, 0xa0, 0x41, 0x00, 0x00, 0xa0, 0x40, 0x01, 0x00, 0x01, 0x00,
	0x40, 0x00, 0x00, 0x00, 0x60, 0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00,
	0x90, 0x00, 0x00, 0x00, 0xa0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x80, 0x3f, 0x03, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0xff, 0xff, 0x7f, 0x7f, 0x7f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x10, 0x70, 0x00, 0x00, 0x02, 0x30, 0x00, 0x00, 0x01,
	0x22, 0x0b, 0x00, 0x12, 0x00, 0x00, 0x00, 0x9b, 0x04, 0x00, 0x04, 0x04, 0x00, 0x00, 0x00, 0x13,
	0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00,
	0x80, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x7f, 0x00, 0xff, 0x7f, 0x00, 0x00, 0x00, 0x00,
	0x80, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x80, 0xff, 0x7f, 0x00, 0x00,
	0x80, 0x00, 0x00, 0x80, 0x00, 0x80, 0x00, 0x00, 0x7f, 0x00, 0xff, 0x7f, 0xff, 0x7f, 0x00, 0xc0,
	0x00, 0x01, 0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};

static void open_minimal(struct model *m)
{
	*m = (struct model){ 0 };
	buf_add(&m->bytes, minimal, sizeof minimal);
	model_open(m);
}

static void minimal_views(void **state)
{
	struct model m;

	(void)state;
	open_minimal(&m);
	assert_string_equal(m.o->variant->version, "1.0");
	section_doc_is(m.o, 0,
		       "# modelfs pmo 1.0\nversion: \"1.0\"  # derived\nsize: 288  # derived\ncull_radius: 20.0\n"
		       "scale: [10.0, 20.0, 5.0]\nmesh_count: 1  # derived\nmaterial_count: 1  # derived\n");
	section_doc_is(m.o, 5,
		       "# 0 at 0x0000090\n- colour: [255, 255, 255, 255]\n  ambient: [127, 127, 127, 0]\n  texture: 0\n"
		       "  leftover: 0x00000000\n");
	doc_is(m.o, DOC_MESH, 0,
	       "uv_scale: [1.0, 1.0]\nlighting: [lighting, fog, enable]\nblend: 0x00000000\nmaterials: [0]\n"
	       "visible: true\ngroups:\n- material: 0\n  palette: [[0, 1]]\n  vertex_type: 0x000b22  # "
	       "derived\n"
	       "  vertices: 4  # derived\n  triangles: 2  # derived\n");
	assert_int_equal(fmt_pmo.model->doc(m.o, DOC_MESH, 1, NULL, NULL), -ENOENT);
	assert_int_equal(fmt_pmo.model->doc(m.o, DOC_SKELETON, 0, NULL, NULL), -ENOENT);
	model_close(&m);
}

static void minimal_geometry(void **state)
{
	struct model m;
	struct geo_mesh g;
	struct geo_material mat;

	(void)state;
	open_minimal(&m);
	assert_int_equal(object_count(m.o, PART_MESH), 1);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 4);
	FLOATS(g.position[0], -10, 0, 0);
	FLOATS(g.position[3], (float)(32767 / 32768.0 * 10), (float)(32767 / 32768.0 * 20), -2.5f);
	FACES(&g, { 0, 1, 2 }, { 1, 3, 2 });
	assert_int_equal(g.nparts, 1);
	assert_int_equal(g.parts[0].material, 0);
	assert_int_equal(g.parts[0].nfaces, 2);
	assert_int_equal(g.nstreams, 2);
	assert_int_equal(g.streams[0].attr, GEO_UV);
	assert_null(g.streams[0].corner);
	FLOATS(g.streams[0].v, 0, 0, 1, 0, 0, 1, 1, 1);
	assert_int_equal(g.streams[1].attr, GEO_NORMAL);
	FLOATS(g.streams[1].v, 0, 0, 1, 0, 0, 1);
	assert_true(g.skinned);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(g.ninfluences[i], 1);
		assert_int_equal(g.joint[g.first_influence[i]], 1);
		FLOATS(&g.weight[g.first_influence[i]], 1);
	}
	assert_int_equal(fmt_pmo.model->material(m.o, 0, &mat, &m.arena, NULL), 0);
	assert_string_equal(mat.name, "material_0");
	FLOATS(mat.colour, 1, 1, 1, 1);
	assert_int_equal(mat.image, 0);
	assert_int_equal(fmt_pmo.model->material(m.o, 1, &mat, &m.arena, NULL), -EBADMSG);
	model_close(&m);
}

static int count_gap(void *ctx, uint64_t at, uint64_t size)
{
	uint64_t *gap = ctx;

	gap[0]++;
	gap[1] = at;
	gap[2] = size;
	return 0;
}

static void sections_and_tail(void **state)
{
	static const struct span want[] = { { 0, 0x40, 0 }, { 0x40, 0x18, 0 }, { 0x60, 0x10, 0 }, { 0x70, 1, 0 },
					    { 0x80, 2, 0 }, { 0x90, 0x10, 0 }, { 0xa0, 0x80, 0 } };
	struct model m = { 0 };
	uint64_t gap[3] = { 0 };

	(void)state;
	buf_add(&m.bytes, minimal, sizeof minimal);
	buf_str(&m.bytes, "what the disc pads a file with");
	model_open(&m);
	assert_int_equal(m.o->variant->nsections, ARRAY_LEN(want));
	for (unsigned i = 0; i < ARRAY_LEN(want); i++) {
		struct span s = object_section(m.o, i);

		assert_int_equal(s.at, want[i].at);
		assert_int_equal(s.size, want[i].size);
		assert_int_equal(s.part, 0);
	}
	assert_int_equal(object_gaps(m.o, count_gap, gap, NULL), 0);
	assert_int_equal(gap[0], 1);
	assert_int_equal(gap[1], sizeof minimal);
	assert_int_equal(gap[2], 30);
	model_close(&m);
}

static int bid(const char *bytes, size_t n)
{
	struct probe p = { .name = "", .size = n, .head = (const uint8_t *)bytes, .n = n };

	return fmt_pmo.probe(&p);
}

static void detection(void **state)
{
	(void)state;
	assert_int_equal(bid("pmo\0" "1.0", 8), 100);
	assert_int_equal(bid("pmo\0" "102", 8), 100);
	assert_in_range(bid("pmo\0" "2.0", 8), 1, 99);
	assert_int_equal(bid("pmo\0" "1.0", 7), 0);
	assert_int_equal(bid("pmox1.0", 8), 0);
	assert_int_equal(bid("PMO\0" "1.0", 8), 0);
}

/* ---- materials ---- */

static int32_t material_of(struct model *m, uint32_t mesh, unsigned group)
{
	struct geo_mesh g;

	model_mesh(m, mesh, &g);
	return g.parts[group].material;
}

static void add_points(struct build_pmo *b, uint8_t material)
{
	const uint32_t draw[] = { prim(GE_POINTS, 1), 0 };
	struct build_group group = { material, 0x80, "abc", .nvertices = 3, .draw = draw };

	build_group(b, &group);
}

static void materials_through_the_remap_table(void **state)
{
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct geo_material mat;
	struct model m;

	(void)state;
	build_material(&b, 0xff4080c0, 0, 0xff, 1);
	build_material(&b, 0, 0, 3, 2);
	build_mesh(&b, ones, ones, zeros);
	build_remap(&b, 1);
	add_points(&b, 0);
	build_mesh(&b, ones, ones, zeros);
	build_remap(&b, 1);
	build_remap(&b, 0);
	build_remap(&b, 9);
	add_points(&b, 1);
	add_points(&b, 2);             /* names material 9 */
	add_points(&b, 3);             /* past the run */
	model_build(&m, &b);
	assert_int_equal(material_of(&m, 0, 0), 1);
	assert_int_equal(material_of(&m, 1, 0), 0);
	assert_int_equal(material_of(&m, 1, 1), -1);
	assert_int_equal(material_of(&m, 1, 2), -1);
	assert_int_equal(fmt_pmo.model->material(m.o, 0, &mat, &m.arena, NULL), 0);
	FLOATS(mat.colour, (float)(0xc0 / 255.0), (float)(0x80 / 255.0), (float)(0x40 / 255.0), 1);
	assert_int_equal(mat.image, -1);
	section_doc_is(m.o, 5,
		       "# 0 at 0x00000c0\n- colour: [192, 128, 64, 255]\n  ambient: [0, 0, 0, 0]\n  texture: null\n"
		       "  leftover: 0x00000001\n# 1 at 0x00000d0\n- colour: [0, 0, 0, 0]\n  ambient: [0, 0, 0, 0]\n"
		       "  texture: 3\n"
		       "  leftover: 0x00000002\n");
	model_close(&m);
}

static void materials_without_a_remap_table(void **state)
{
	static const float scale[4] = { 1, 2, 0.5f, 4 }, uv_scale[2] = { 1, 2 }, uv_offset[2] = { 0.25f, 0 };
	struct build_pmo b = { .v102 = true, .no_remap = true };
	struct model m;

	(void)state;
	build_material(&b, 0, 0, 0, 0);
	build_material(&b, 0, 0, 0, 0);
	build_mesh(&b, scale, uv_scale, uv_offset);
	build_remap(&b, 0);            /* counted by the mesh, though there is no table */
	add_points(&b, 0);
	build_mesh(&b, scale, uv_scale, uv_offset);
	build_remap(&b, 0);
	add_points(&b, 0);
	add_points(&b, 1);
	model_build(&m, &b);
	assert_int_equal(material_of(&m, 0, 0), 0);
	assert_int_equal(material_of(&m, 1, 0), 1);
	assert_int_equal(material_of(&m, 1, 1), -1);
	assert_int_equal(object_section(m.o, 3).size, 0);
	doc_is(m.o, DOC_MESH, 0,
	       "scale: [1.0, 2.0, 0.5, 4.0]\nuv_scale: [1.0, 2.0]\nuv_offset: [0.25, 0.0]\n"
	       "lighting: [lighting, fog, enable]\nblend: 0xdf000032\nvisible: true\ngroups:\n"
	       "- material: 0\n  palette: []\n  vertex_type: 0x000080  # derived\n  vertices: 1  # derived\n  "
	       "triangles: 0  # derived\n");
	model_close(&m);
}

static void meshes_without_groups(void **state)
{
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct geo_mesh g;
	struct model m;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices + g.nfaces + g.nparts + g.nstreams, 0);
	doc_is(m.o, DOC_MESH, 0,
	       "uv_scale: [1.0, 1.0]\nlighting: [lighting, fog, enable]\nblend: 0xdf000032\nvisible: true\n"
	       "groups: []\n");
	model_close(&m);
}

/* ---- hidden meshes ---- */

static const char *visible_line(struct model *m, char *room, size_t n)
{
	struct buf out = { 0 };
	struct ydoc y;
	const char *at;

	ydoc_init(&y, &out);
	assert_int_equal(fmt_pmo.model->doc(m->o, DOC_MESH, 0, &y.doc, NULL), 0);
	buf_char(&out, 0);
	at = strstr((const char *)out.p, "visible: ");
	assert_non_null(at);
	snprintf(room, n, "%s", at + 9);
	buf_free(&out);
	return room;
}

static void hidden_meshes(void **state)
{
	const uint32_t nop = GE_ARG, plain[] = { prim(GE_STRIP, 4) & nop, fface(1), prim(GE_TRIANGLES, 3) & nop, 0 };
	const uint32_t some[] = { prim(GE_STRIP, 4) & nop, prim(GE_TRIANGLES, 3), 0 };
	static const uint8_t indices[] = { 0, 1, 2, 9 };
	struct geo_mesh g;
	struct model m;
	char text[256];

	(void)state;
	model_draw(&m, NULL, 0, plain);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 7);
	assert_int_equal(g.nfaces, 0);
	assert_string_equal(visible_line(&m, text, sizeof text),
			    "false\ngroups:\n- material: 0\n  palette: []\n  vertex_type: 0x000080  # derived\n"
			    "  vertices: 7  # derived\n  triangles: 3  # derived\n");
	assert_int_equal(fmt_pmo.model->mesh_full(m.o, 0, &g, &m.arena, NULL), 0);
	assert_int_equal(g.nparts, 1);
	assert_true(g.parts[0].hidden);
	FACES(&g, { 0, 1, 2 }, { 1, 3, 2 }, { 4, 6, 5 });     /* the last one is reversed */
	model_close(&m);

	model_draw(&m, indices, sizeof indices, plain + 2);  /* three of the indices */
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 3);
	assert_memory_equal(visible_line(&m, text, sizeof text), "false\n", 6);
	model_close(&m);

	model_draw(&m, NULL, 0, some);                       /* a NOP moves no pointer */
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 3);
	FACES(&g, { 0, 1, 2 });
	assert_memory_equal(visible_line(&m, text, sizeof text), "true\n", 5);
	model_close(&m);
}

/* A NOP whose argument fits as no PRIM there is just a NOP. */
static void nops_that_hide_nothing(void **state)
{
	const uint32_t draw[] = { prim(GE_STRIP, 60000) & GE_ARG, 0 };
	struct geo_mesh g;
	struct model m;
	char text[256];

	(void)state;
	model_draw(&m, NULL, 0, draw);
	model_mesh(&m, 0, &g);
	assert_int_equal(g.nvertices, 0);
	assert_memory_equal(visible_line(&m, text, sizeof text), "true\n", 5);
	model_close(&m);
}

/* ---- geometry in the next file ---- */

static void geometry_behind(void **state)
{
	struct build_pmo b = { .v102 = true, .behind = true };
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_group group = { 0, 0x80, "abcdefghi", .nvertices = 9, .draw = draw };
	struct geo_mesh g;
	struct model m;

	(void)state;
	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &group);
	model_build(&m, &b);
	model_mesh(&m, 0, &g);
	FLOATS(g.position[2], 'g' / 128.0f, 'h' / 128.0f, 'i' / 128.0f);
	assert_ptr_equal(m.o->behind, m.next);
	assert_int_equal(object_section(m.o, 6).part, 1);
	assert_int_equal(object_section(m.o, 6).at, 0);
	assert_int_equal(object_section(m.o, 6).size, m.behind.len);
	model_close(&m);
}

/* Right in DATA.BIN the file seems as long as its blocks; anywhere else, or before something that is no region, a size
 * past the end is damage. */
static void geometry_behind_padding(void **state)
{
	const uint32_t draw[] = { prim(GE_TRIANGLES, 3), 0 };
	struct build_group group = { 0, 0x80, "abcdefghi", .nvertices = 9, .draw = draw };

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct build_pmo b = { .v102 = true, .behind = true };
		struct model m = { .around.padded = k != 1 };

		build_mesh(&b, ones, ones, zeros);
		build_group(&b, &group);
		build_pmo(&b, &m.bytes, &m.behind);
		put_zeros(&m.bytes, 24);
		if (k == 2)
			m.behind.p[3] = 0;
		model_open_any(&m);
		assert_int_equal(m.o->behind != NULL, k == 0);
		assert_int_equal(m.o->faults != NULL, k != 0);
		model_close(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(minimal_views),
		cmocka_unit_test(minimal_geometry),
		cmocka_unit_test(sections_and_tail),
		cmocka_unit_test(detection),
		cmocka_unit_test(materials_through_the_remap_table),
		cmocka_unit_test(materials_without_a_remap_table),
		cmocka_unit_test(meshes_without_groups),
		cmocka_unit_test(hidden_meshes),
		cmocka_unit_test(nops_that_hide_nothing),
		cmocka_unit_test(geometry_behind), cmocka_unit_test(geometry_behind_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
