/* MOD3 models: what the views of sound ones show. Numbers are worked out from what build_mod3.h says. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "build_mod3.h"
#include "export.h"
#include "half.h"
#include "mod3.h"
#include "opened.h"

extern const struct format fmt_mod3;

static const int32_t two[] = { 0, 1, 2, 2, 1, 3 };

struct shown { struct geo_mesh g; struct arena a; };

static void open_mesh(struct shown *s, struct object *o, uint32_t i)
{
	struct err e = { 0 };

	*s = (struct shown){ 0 };
	if (fmt_mod3.model->mesh(o, i, &s->g, &s->a, &e))
		fail_msg("%s", e.text);
}

static void close_mesh(struct shown *s)
{
	arena_free(&s->a);
}

static void assert_floats(const float *got, const float *want, unsigned n)
{
	assert_memory_equal(got, want, n * sizeof *got);
}
#define FLOATS(got, ...) assert_floats(got, (const float[]){ __VA_ARGS__ }, ARRAY_LEN(((const float[]){ __VA_ARGS__ })))

static void assert_face(const struct geo_mesh *g, uint32_t i, uint32_t a, uint32_t b, uint32_t c)
{
	assert_int_equal(g->face[i][0], a);
	assert_int_equal(g->face[i][1], b);
	assert_int_equal(g->face[i][2], c);
}

/* ---- every block type ---- */

static void assert_weights(const struct geo_mesh *g, unsigned n)
{
	static const float four[] = { 600, 300, 100, 23 }, eight[] = { 400, 300, 200, 60, 30, 20, 10, 3 };
	static const int32_t bones[] = { 0, 1, 2, 0, 0, 0, 0, 0 };

	assert_int_equal(g->weight_unit, 1023);
	for (uint32_t v = 0; v < g->nvertices; v++) {
		assert_int_equal(g->ninfluences[v], n);
		assert_int_equal(g->first_influence[v], v * n);
		assert_floats(g->weight + (size_t)v * n, n == 4 ? four : eight, n);
		assert_memory_equal(g->joint + (size_t)v * n, bones, n * sizeof *bones);
	}
}

static void test_all_types(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct opened k;

	(void)state;
	build_all_types(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_MESH), BUILD_TYPES);
	assert_int_equal(object_count(k.o, PART_BONE), 3);
	assert_true(object_has(k.o, PART_BONE, 0));
	for (unsigned i = 0; i < BUILD_TYPES; i++) {
		const struct build_type *t = &build_types[i];
		struct shown s;

		open_mesh(&s, k.o, i);
		assert_int_equal(s.g.nvertices, 4);
		assert_int_equal(s.g.nfaces, 2);
		assert_face(&s.g, 0, 0, 1, 2);
		assert_face(&s.g, 1, 2, 1, 3);
		FLOATS(s.g.position[0], 0, 0, -0.0f);
		FLOATS(s.g.position[3], 3, 1.5f, -3);
		assert_int_equal(s.g.nstreams, t->colour ? 3 : 2);
		FLOATS(s.g.streams[0].v, 0, 0.25f, 0.125f, 0.25f, 0.25f, 0.25f, 0.375f, 0.25f);
		FLOATS(s.g.streams[1].v + 9, 0, 0, 1);
		if (t->colour)
			FLOATS(s.g.streams[2].v + 9, (float)(13 / 255.0), (float)(20 / 255.0), (float)(30 / 255.0));
		assert_int_equal(s.g.skinned, t->weights > 0);
		assert_int_equal(fmt_mod3.model->skinned(k.o, i), t->weights > 0);
		assert_true(object_has(k.o, PART_MESH, i));
		if (t->weights)
			assert_weights(&s.g, t->weights);
		assert_int_equal(s.g.nparts, 1);
		assert_int_equal(s.g.parts[0].material, 0);
		assert_int_equal(s.g.parts[0].nfaces, 2);
		close_mesh(&s);
	}
	close_opened(&k);
}

#define HEAD "# one line per vertex, in the order of the v lines\n"
#define LINE "- {normal: [0, 0, 127, 0], tangent: [127, 0, 0, 127]"

static void test_vertices(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct opened k;

	(void)state;
	build_all_types(&b, &file);
	set32(&file, b.at_vertices + b.first[6] + 24, 0xc0000000);     /* spare bits of 4 weights */
	k = open_buf(&fmt_mod3, &file);
	doc_is(k.o, MOD3_DOC_VERTICES, 0, HEAD LINE "}\n" LINE "}\n" LINE "}\n" LINE "}\n");
	doc_is(k.o, MOD3_DOC_VERTICES, 6, HEAD LINE ", spare: 3}\n" LINE "}\n" LINE "}\n" LINE "}\n");
	doc_is(k.o, MOD3_DOC_VERTICES, 5,
	       HEAD LINE ", uv1: [0.125, 0.25], uv2: [0.25, 0.25], uv3: [0.375, 0.25], colour: [10, 20, 30, 40]}\n"
	       LINE ", uv1: [0.25, 0.25], uv2: [0.375, 0.25], uv3: [0.5, 0.25], colour: [11, 20, 30, 40]}\n"
	       LINE ", uv1: [0.375, 0.25], uv2: [0.5, 0.25], uv3: [0.625, 0.25], colour: [12, 20, 30, 40]}\n"
	       LINE ", uv1: [0.5, 0.25], uv2: [0.625, 0.25], uv3: [0.75, 0.25], colour: [13, 20, 30, 40]}\n");
	doc_is(k.o, MOD3_DOC_VERTICES, 13,
	       HEAD LINE ", uv1: [0.125, 0.25], colour: [10, 20, 30, 40]}\n"
	       LINE ", uv1: [0.25, 0.25], colour: [11, 20, 30, 40]}\n"
	       LINE ", uv1: [0.375, 0.25], colour: [12, 20, 30, 40]}\n"
	       LINE ", uv1: [0.5, 0.25], colour: [13, 20, 30, 40]}\n");
	close_opened(&k);
}

/* ---- documents ---- */

static void build_one(struct build_mod3 *b, struct buf *file)
{
	*b = (struct build_mod3){ 0 };
	build_bone(b, 255, 0, 8, 0);
	build_bone(b, 0, 3, 0, 4);
	build_bone(b, 1, 0, -1, 0);
	build_group_of(b, 7);
	build_name(b, "skin");
	build_mod3_mesh(b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_envelope(b, 1, true);
	build_mod3(b, file);
}

#define ENVELOPE(bone) \
	"- bone: " bone "\n" \
	"  filler: cdcdcdcdcdcdcdcdcdcdcdcd\n" \
	"  sphere_centre: [0.0, 0.0, 0.0]\n" \
	"  sphere_radius: 1.7320508\n" \
	"  aabb_min: [-1.0, -1.0, -1.0, 0.0]\n" \
	"  aabb_max: [1.0, 1.0, 1.0, 0.0]\n" \
	"  obb_matrix: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]\n" \
	"  obb_half_extents: [1.0, 1.0, 1.0, 0.0]\n"

static const char mesh_text[] =
	"draw_mode: 0x0013\n"
	"vertex_count: 4  # derived\n"
	"group_id: 0\n"
	"material_index: 0\n"
	"lod_mask: 0xffff\n"
	"visible: 1\n"
	"shape: 0\n"
	"sort: 0\n"
	"weights_per_vertex: 4\n"
	"alpha_priority: 0\n"
	"stride: 32  # derived\n"
	"primitive: 3  # derived\n"
	"binormal_flip: 1\n"
	"bridge: 1\n"
	"vertex_sub: 0  # derived\n"
	"vertex_offset: 0  # derived\n"
	"block_type: IASkin4wt1UV\n"
	"first_index: 0  # derived\n"
	"index_count: 6  # derived\n"
	"vertex_base: 0  # derived\n"
	"envelope_count: 1  # derived\n"
	"mesh_number: 1\n"
	"min_vertex: 0  # derived\n"
	"max_vertex: 3  # derived\n"
	"map_data: [-1, -1]\n"
	"unknown_38: 0x30000000\n"
	"vertex_running_total: 0  # derived\n"
	"unknown_40: 0\n"
	"unknown_48: 0x0000000000000000\n"
	"envelopes:\n"
	ENVELOPE("1");

/* Places: bones at 0x140, 152 bytes each, and 0x200 of the remap table end at 0x508: groups at 0x510. */
static const char header_text[] =
	"# modelfs mod3 237.0\n"
	"version: 237  # derived\n"
	"version_minor: 0  # derived\n"
	"bone_count: 3  # derived\n"
	"mesh_count: 1  # derived\n"
	"material_count: 1  # derived\n"
	"vertex_count: 4  # derived\n"
	"index_count: 6  # derived\n"
	"edge_count: 65535\n"
	"vertex_buffer_size: 128  # derived\n"
	"second_vertex_buffer_size: 0\n"
	"group_count: 1  # derived\n"
	"creation_time: 1516924800\n"
	"bone_off: 0x00000140  # derived\n"
	"group_off: 0x00000510  # derived\n"
	"mat_off: 0x00000530  # derived\n"
	"mesh_off: 0x000005b0  # derived\n"
	"vertex_off: 0x00000694  # derived\n"
	"index_off: 0x00000714  # derived\n"
	"trail_off: 0x00000720  # derived\n"
	"sphere_centre: [0.0, 0.0, 0.0]\n"
	"sphere_radius: 2.5\n"
	"aabb_min: [0.0, 0.0, 0.0, 0.0]\n"
	"aabb_max: [1.5, 0.0, 0.0, 0.0]\n"
	"unknown_a0: 15000.0\n"
	"unknown_a4: 1\n"
	"last_lod_level: 5\n"
	"unknown_a8: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"
	"unknown_c8: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"
	"unknown_e8: 0\n"
	"lod_switch_values: [720.0, 0.0, 0.0, 0.0, 0.0]\n"
	"table: \"01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
	"000000000000000000000000000000\"\n";

#define MATRIX(x, y, z) "[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, " x ", " y ", " z ", 1.0]"

static const char skeleton_text[] =
	"kind: mod3  # derived\n"
	"bones:\n"
	"- name: bone_0  # derived\n"
	"  function: 0\n"
	"  parent: null\n"
	"  symmetric_pair: null\n"
	"  reach: 10.0\n"
	"  length: 8.0  # derived\n"
	"  position: [0.0, 8.0, 0.0]\n"
	"  local_matrix: " MATRIX("0.0", "8.0", "0.0") "\n"
	"  inverse_matrix: " MATRIX("-0.0", "-8.0", "-0.0") "  # derived\n"
	"- name: bone_1  # derived\n"
	"  function: 1\n"
	"  parent: 0\n"
	"  symmetric_pair: null\n"
	"  reach: 10.0\n"
	"  length: 5.0  # derived\n"
	"  position: [3.0, 0.0, 4.0]\n"
	"  local_matrix: " MATRIX("3.0", "0.0", "4.0") "\n"
	"  inverse_matrix: " MATRIX("-3.0", "-8.0", "-4.0") "  # derived\n"
	"- name: bone_2  # derived\n"
	"  function: 2\n"
	"  parent: 1\n"
	"  symmetric_pair: null\n"
	"  reach: 10.0\n"
	"  length: 1.0  # derived\n"
	"  position: [0.0, -1.0, 0.0]\n"
	"  local_matrix: " MATRIX("0.0", "-1.0", "0.0") "\n"
	"  inverse_matrix: " MATRIX("-3.0", "-7.0", "-4.0") "  # derived\n";

static void test_documents(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct opened k;

	(void)state;
	build_one(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	section_doc_is(k.o, MOD3_HEADER, header_text);
	section_doc_is(k.o, MOD3_GROUPS, "# 0 at 0x0000510\n- id: 7\n  filler: cdcdcdcdcdcdcdcdcdcdcdcd\n"
					 "  sphere_centre: [1.0, 2.0, 3.0]\n  sphere_radius: 4.5\n");
	doc_is(k.o, MOD3_DOC_MATERIALS, 0, "- name: \"skin\"\n  hash: 0xfd8697e1  # derived\n  mrl3: null  # derived\n"
					   "  textures: []  # derived\n");
	doc_is(k.o, DOC_SKELETON, 0, skeleton_text);
	doc_is(k.o, DOC_MESH, 0, mesh_text);
	close_opened(&k);
}

/* Padding that is not zero, a block type without a name, a number that is no material. */
static void test_odd_records(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct opened k;
	struct shown s;
	char *text;

	(void)state;
	build_one(&b, &file);
	set64(&file, 0x68, 5);
	set16(&file, b.at_meshes + 0x06, 9);
	set16(&file, b.at_meshes + 0x0a, 1);
	set16(&file, b.at_meshes + 0x0c, 0xabfe);
	set8(&file, b.at_meshes + 0x0f, 0x40);
	set8(&file, b.at_meshes + 0x28, 2);
	set32(&file, b.at_meshes + 0x34, 3);
	set32(&file, b.at_meshes + 0x44, 4);
	set64(&file, b.at_meshes + 0x48, 0x1d957295000);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	text = text_of(k.o, DOC_MESH, 0);
	assert_non_null(strstr(text, "material_index: 9\nlod_mask: 0xffff\nunknown_0a: 1\nvisible: 0\nshape: 1\n"
				     "sort: 1\nweights_per_vertex: 31\nalpha_priority: 171\n"));
	assert_non_null(strstr(text, "primitive: 0  # derived\nbinormal_flip: 1\nbridge: 0\n"));
	assert_non_null(strstr(text, "vertex_base: 0  # derived\nunknown_28: 2\nenvelope_count: 1  # derived\n"));
	assert_non_null(strstr(text, "unknown_34: 3\nunknown_38: 0x30000000\n"));
	assert_non_null(strstr(text, "unknown_40: 0\nunknown_44: 4\nunknown_48: 0x000001d957295000\n"));
	free(text);
	open_mesh(&s, k.o, 0);
	assert_int_equal(s.g.parts[0].material, -1);
	assert_int_equal(s.g.nfaces, 2);
	close_mesh(&s);
	close_opened(&k);
}

static void test_opaque(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;
	struct err e;
	struct geo_mesh g;
	struct arena a = { 0 };
	char *text;

	(void)state;
	build_name(&b, "m");
	build_no_mesh(&b);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 4, two, 6 });
	build_mod3(&b, &file);
	set32(&file, b.at_meshes + 80 + 0x18, 0xd61a3e0d);
	set32(&file, b.at_meshes + 80 + 0x20, 0xffffffff);     /* nobody knows what it counts */
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	assert_int_equal(object_count(k.o, PART_BONE), 0);
	assert_false(object_has(k.o, PART_BONE, 0));           /* no skeleton.yaml */
	assert_false(object_has(k.o, PART_MESH, 0) || object_has(k.o, PART_MESH, 1));
	assert_true(object_has(k.o, PART_MESH, 2));
	assert_int_equal(fmt_mod3.model->mesh(k.o, 0, &g, &a, &e), -ENOENT);
	assert_string_equal(e.text, "mesh 0: block type 0x00000000 is unknown");
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(fmt_mod3.own[MOD3_OWN_VERTICES].there(k.o, i), i == 2);
	text = text_of(k.o, DOC_MESH, 1);
	assert_non_null(strstr(text, "block_type: 0xd61a3e0d\n"));
	free(text);
	close_opened(&k);
}

/* ---- runs and windows ---- */

/* Where each mesh's first vertex lies; all first vertices are marked by their mesh's number as x. */
static void mark_first(struct build_mod3 *b, struct buf *file)
{
	for (unsigned i = 0; i < b->nmeshes; i++)
		set32(file, b->at_vertices + b->first[i], f32_bits((float)(100 + i)));
}

/* Strides 32, 32, 40, 32, 32: three runs; the last mesh continues the third with another base. */
static void test_runs(void **state)
{
	static const char *const types[] = { "IASkin4wt1UV", "IANonSkin2UVColor", "IASkin8wt1UV", "IASkin4wt1UV",
					     "IASkin4wt1UV" };
	static const uint32_t place[][3] = { { 0, 0, 0 }, { 4, 0, 0 }, { 0, 256, 0 }, { 0, 416, 0 }, { 0, 416, 4 } };
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;

	(void)state;
	build_bone(&b, 255, 0, 0, 0);
	build_bone(&b, 0, 0, 0, 0);
	build_bone(&b, 0, 0, 0, 0);
	for (unsigned i = 0; i < ARRAY_LEN(types); i++)
		build_mod3_mesh(&b, &(struct build_mod3_mesh){ types[i], 4, two, 6, .new_base = i == 4 });
	build_mod3(&b, &file);
	mark_first(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	for (unsigned i = 0; i < ARRAY_LEN(types); i++) {
		const struct mod3 *m = k.o->priv;
		struct shown s;

		assert_int_equal(m->mesh[i].vertex_sub, place[i][0]);
		assert_int_equal(m->mesh[i].vertex_offset, place[i][1]);
		assert_int_equal(m->mesh[i].vertex_base, place[i][2]);
		assert_int_equal(m->mesh[i].run, i == 2 ? 4 : 8);
		open_mesh(&s, k.o, i);
		assert_int_equal(s.g.nvertices, 4);
		FLOATS(s.g.position[0], (float)(100 + i));
		FLOATS(s.g.position[3], 3, 1.5f, -3);
		assert_face(&s.g, 1, 2, 1, 3);
		close_mesh(&s);
	}
	close_opened(&k);
}

/* Mesh 1 reaches the last two vertices of mesh 0, mesh 2 one of mesh 3 and, without going on from it, none behind. */
static void test_window(void **state)
{
	static const int32_t back[] = { -2, 0, 1, 1, -1, 2 }, ahead[] = { 0, 1, 5 };
	struct build_mod3 b = { 0 };
	struct mod3_window w;
	struct arena a = { 0 };
	struct buf file;
	struct opened k;
	struct shown s;
	struct err e;

	(void)state;
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 4, two, 6 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 3, back, 6 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 4, ahead, 3 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 4, two, 6 });
	build_mod3(&b, &file);
	mark_first(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	open_mesh(&s, k.o, 1);
	assert_int_equal(s.g.nvertices, 5);
	FLOATS(s.g.position[0], 2, 1, -2);
	FLOATS(s.g.position[2], 101, 0, -0.0f);
	assert_face(&s.g, 0, 0, 2, 3);
	assert_face(&s.g, 1, 3, 1, 4);
	close_mesh(&s);
	assert_int_equal(mod3_window(k.o, 1, &w, &a, &e), 0);
	assert_int_equal(w.first, 2);
	assert_int_equal(w.own, 2);
	assert_int_equal(w.nown, 3);
	open_mesh(&s, k.o, 2);
	assert_int_equal(s.g.nvertices, 6);
	FLOATS(s.g.position[4], 103);
	assert_face(&s.g, 0, 0, 1, 5);
	close_mesh(&s);
	assert_int_equal(mod3_window(k.o, 2, &w, &a, &e), 0);
	assert_int_equal(w.first, 7);
	assert_int_equal(w.own, 0);
	arena_free(&a);
	close_opened(&k);
}

/* A mesh without vertices shows none, nor faces; one over the vertices of another shows them again. */
static void test_empty_and_shared(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file, out = { 0 };
	struct opened k;
	struct shown s;

	(void)state;
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 3, .same = true });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 0, two, 3 });
	build_bone(&b, 255, 0, 0, 0);
	build_bone(&b, 255, 0, 0, 0);
	build_bone(&b, 255, 0, 0, 0);
	build_mod3(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	open_mesh(&s, k.o, 1);
	assert_int_equal(s.g.nvertices, 4);
	assert_int_equal(s.g.nfaces, 1);
	close_mesh(&s);
	open_mesh(&s, k.o, 2);
	assert_int_equal(s.g.nvertices + s.g.nfaces, 0);
	weights_write(&out, &s.g);
	assert_memory_equal(out.p, "[]\n", 3);
	buf_free(&out);
	close_mesh(&s);
	doc_is(k.o, MOD3_DOC_VERTICES, 2, HEAD "[]\n");
	close_opened(&k);
}

/* ---- odd values ---- */

static void test_weights(void **state)
{
	static const int32_t one[] = { 0, 1, 2 };
	struct build_mod3 b = { 0 };
	struct buf file, out = { 0 };
	uint32_t at;
	struct opened k;
	struct shown s;

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		build_bone(&b, 255, 0, 0, 0);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 3, one, 3 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin8wt1UV", 1, one, 0 });
	build_mod3(&b, &file);
	at = b.at_vertices + 24;
	set32(&file, at, 1023u | 0u << 10 | 0u << 20 | 2u << 30);       /* all on slot 0, spare bits, ids left over */
	set32(&file, at + 4, 7 | 8 << 8 | 7 << 16 | 250u << 24);
	set32(&file, at + 32, 700u | 300u << 10 | 190u << 20);         /* one bone twice; the complement is negative */
	set32(&file, at + 36, 3 | 3 << 8 | 4 << 16 | 0u << 24);
	set32(&file, at + 64, 1023u | 1023u << 10 | 1023u << 20);
	set32(&file, b.at_vertices + b.first[1] + 28, 0xffffffff);     /* weights 3 to 6 of 8 */
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	open_mesh(&s, k.o, 0);
	weights_write(&out, &s.g);
	close_mesh(&s);
	open_mesh(&s, k.o, 1);
	weights_write(&out, &s.g);
	close_mesh(&s);
	buf_char(&out, '\0');
#define FIRST "# [bone, weight] pairs of each vertex, in the order of the v lines; weights in 1/1023, the last one " \
	      "is what is left of 1023\n"
	assert_string_equal((char *)out.p, FIRST "- [[7, 1023], [8, 0], [7, 0], [250, 0]]\n"
			    "- [[3, 700], [3, 300], [4, 190], [0, -167]]\n"
			    "- [[0, 1023], [1, 1023], [2, 1023], [0, -2046]]\n"
			    FIRST "- [[0, 400], [1, 300], [2, 200], [0, 255], [0, 255], [0, 255], [0, 255], "
			    "[0, -897]]\n");
	buf_free(&out);
	doc_is(k.o, MOD3_DOC_VERTICES, 0, HEAD LINE ", spare: 2}\n" LINE "}\n" LINE "}\n");
	close_opened(&k);
}

static const char odd_obj[] =
	"mtllib 0.mtl\n"
	"o mesh_0\n"
	"v 0 0 -0 0.039215688 0.078431375 0.11764706\n"
	"v 0 1.5 -1 0.043137256 0.078431375 0.11764706\n"
	"v 2 1 -2 0.047058824 0.078431375 0.11764706\n"
	"v 3 1.5 -3 0.050980393 0.078431375 0.11764706\n"
	"vt 0 0.75\n"
	"vt 0 -65503\n"
	"vt 5.9604645e-08 1\n"
	"vt 0.375 0.75\n"
	"vn 0 0 1\n"
	"vn 0 0 0\n"
	"vn -0.57735026 -0.57735026 -0.57735026\n"
	"vn 0.42426407 0.56568545 -0.70710677\n"
	"g group_0\n"
	"usemtl a_b\n"
	"f 1/1/1 2/2/2 3/3/3\n"
	"f 2/2/2 4/4/4 1/1/1\n";

static void test_odd_values(void **state)
{
	static const int32_t faces[] = { 0, 1, 2, 2, 2, 3, 3, 1, 3, 1, 3, 0, 1, 0, 0 };
	struct geo_material material = { 0 };
	struct build_mod3 b = { 0 };
	struct buf file, out = { 0 };
	struct opened k;
	struct shown s;
	struct err e;
	uint32_t at;

	(void)state;
	build_name(&b, "a b");
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UVColor", 4, faces, ARRAY_LEN(faces) });
	build_mod3(&b, &file);
	at = b.at_vertices;
	set32(&file, at + 28, 0x7fc00001);                             /* NaN */
	set32(&file, at + 28 + 4, f32_bits(1.5f));
	set32(&file, at + 28 + 12, 5u << 24);                          /* a normal of length 0 */
	set32(&file, at + 28 + 20, 0x7bffu << 16 | 0x7e01);            /* NaN and 65504 */
	set32(&file, at + 56 + 12, 0x00808080);                        /* -128 each */
	set32(&file, at + 56 + 20, 0x80000001);                        /* 2^-24 and -0 */
	set32(&file, at + 84 + 12, 30 | 40 << 8 | 0xce << 16);         /* 30, 40, -50: length 50 sqrt 2 */
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	open_mesh(&s, k.o, 0);
	assert_int_equal(fmt_mod3.model->material(k.o, 0, &material, &s.a, &e), 0);
	obj_write(&out, &s.g, 0, &material);
	buf_char(&out, '\0');
	assert_string_equal((char *)out.p, odd_obj);
	buf_free(&out);
	close_mesh(&s);
	close_opened(&k);
}

/* ---- envelopes ---- */

/* Records are dealt out in mesh order; what is left over has a file, and a mesh may get fewer than it claims. */
static void test_envelopes(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file;
	struct opened k;
	char *text;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		build_bone(&b, 255, 0, 0, 0);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_envelope(&b, 0, true);
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IASkin4wt1UV", 4, two, 6 });
	build_envelope(&b, 1, true);
	build_envelope(&b, 2, false);
	build_mod3(&b, &file);
	k = open_bytes(&fmt_mod3, file.p, file.len);
	sound(k.o);
	doc_is(k.o, MOD3_DOC_ENVELOPES, 0, ENVELOPE("2"));
	assert_true(fmt_mod3.own[MOD3_OWN_ENVELOPES].there(k.o, 0));
	text = text_of(k.o, DOC_MESH, 1);
	assert_non_null(strstr(text, "\nenvelopes: []\n"));
	free(text);
	text = text_of(k.o, DOC_MESH, 2);
	assert_non_null(strstr(text, "\nenvelopes:\n" ENVELOPE("1")));
	free(text);
	close_opened(&k);

	set8(&file, b.at_meshes + 0x29, 255);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	assert_false(fmt_mod3.own[MOD3_OWN_ENVELOPES].there(k.o, 0));
	text = text_of(k.o, DOC_MESH, 0);
	assert_non_null(strstr(text, "\nenvelopes:\n" ENVELOPE("0") ENVELOPE("1") ENVELOPE("2")));
	free(text);
	text = text_of(k.o, DOC_MESH, 2);
	assert_non_null(strstr(text, "envelope_count: 1  # derived\n"));
	assert_non_null(strstr(text, "\nenvelopes: []\n"));
	free(text);
	close_opened(&k);
}

/* ---- places ---- */

struct gaps { uint64_t at[4], size[4]; unsigned n; };

static int note_gap(void *ctx, uint64_t at, uint64_t size)
{
	struct gaps *g = ctx;

	assert_true(g->n < ARRAY_LEN(g->at));
	g->at[g->n] = at;
	g->size[g->n++] = size;
	return 0;
}

static void section_is(const struct object *o, unsigned s, uint64_t at, uint64_t size)
{
	struct span span = object_section(o, s);

	assert_int_equal(span.at, at);
	assert_int_equal(span.size, size);
}

static void test_sections(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct gaps g = { .n = 0 };
	struct opened k;
	struct err e;

	(void)state;
	build_one(&b, &file);
	k = open_buf(&fmt_mod3, &file);
	section_is(k.o, MOD3_HEADER, 0, 0x140);
	section_is(k.o, MOD3_BONES, 0x140, 72);
	section_is(k.o, MOD3_LOCAL, 0x188, 192);
	section_is(k.o, MOD3_INVERSE, 0x248, 192);
	section_is(k.o, MOD3_REMAP, 0x308, 512);
	section_is(k.o, MOD3_GROUPS, 0x510, 32);
	section_is(k.o, MOD3_MATERIALS, 0x530, 128);
	section_is(k.o, MOD3_MESHES, 0x5b0, 80);
	section_is(k.o, MOD3_ENVELOPES, 0x600, 148);
	section_is(k.o, MOD3_VERTICES, 0x694, 128);
	section_is(k.o, MOD3_INDICES, 0x714, 12);
	section_is(k.o, MOD3_TRAILER, 0x720, 24);
	assert_int_equal(object_gaps(k.o, note_gap, &g, &e), 0);
	assert_int_equal(g.n, 0);
	close_opened(&k);
}

/* As a tool leaves it: fewer indices, old ones behind them, the trailing block's offset past the end. */
static void test_stale_tail(void **state)
{
	struct build_mod3 b;
	struct buf file;
	struct gaps g = { .n = 0 };
	struct opened k;
	struct shown s;
	struct err e;

	(void)state;
	build_one(&b, &file);
	file.len = b.at_trailer;
	build_noise(&file, 1234, 7);
	set64(&file, 0x60, file.len + 20000);
	set32(&file, 0x10, 3);
	set32(&file, 0x0c, 0xffffffff);
	set16(&file, b.at_meshes + 0x2e, 1335);
	k = open_buf(&fmt_mod3, &file);
	sound(k.o);
	section_is(k.o, MOD3_TRAILER, 0, 0);
	section_is(k.o, MOD3_INDICES, 0x714, 6);
	assert_int_equal(object_gaps(k.o, note_gap, &g, &e), 0);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.at[0], 0x71a);
	assert_int_equal(g.size[0], 6 + 1234);
	open_mesh(&s, k.o, 0);
	assert_int_equal(s.g.nfaces, 2);
	close_mesh(&s);
	close_opened(&k);
}

/* Blocks in another order, and groups where they may be when there are none. */
static void test_other_order(void **state)
{
	struct build_mod3 b = { 0 };
	struct buf file, other = { 0 };
	struct opened k;
	struct shown s;

	(void)state;
	build_name(&b, "m");
	build_mod3_mesh(&b, &(struct build_mod3_mesh){ "IANonSkin1UV", 4, two, 6 });
	build_mod3(&b, &file);
	buf_add(&other, file.p, 0x140);
	buf_add(&other, file.p + b.at_vertices, b.at_trailer - b.at_vertices);
	buf_add(&other, file.p + b.at_meshes, b.at_vertices - b.at_meshes);
	buf_add(&other, file.p + b.at_materials, 128);
	set64(&other, 0x38, 0);
	set64(&other, 0x50, 0x140);
	set64(&other, 0x58, 0x140 + b.at_indices - b.at_vertices);
	set64(&other, 0x48, 0x140 + b.at_trailer - b.at_vertices);
	set64(&other, 0x40, other.len - 128);
	set64(&other, 0x60, other.len);
	buf_free(&file);
	k = open_buf(&fmt_mod3, &other);
	sound(k.o);
	open_mesh(&s, k.o, 0);
	FLOATS(s.g.position[3], 3, 1.5f, -3);
	assert_int_equal(s.g.nfaces, 2);
	close_mesh(&s);
	close_opened(&k);
}

static void test_probe(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_add(&b, "MOD\0\xed\0", 6);
	assert_int_equal(bid_for(&fmt_mod3, b.p, 6), 95);
	assert_int_equal(bid_for(&fmt_mod3, b.p, 5), 0);
	b.p[4] = 0xec;
	assert_int_equal(bid_for(&fmt_mod3, b.p, 6), 0);
	assert_int_equal(bid_for(&fmt_mod3, "\0DOM\0\xed", 6), 0);
	buf_free(&b);
}

/* ---- what no OBJ says ---- */

static const struct geo_stream *stream(const struct geo_mesh *g, unsigned attr, unsigned set)
{
	for (unsigned i = 0; i < g->nstreams; i++)
		if (g->streams[i].attr == attr && g->streams[i].set == set)
			return &g->streams[i];
	return NULL;
}

static void test_full_mesh(void **state)
{
	struct build_mod3 b;
	struct buf file = { 0 };
	struct opened k;
	struct arena a = { 0 };
	struct geo_mesh g;
	struct err e = { 0 };

	(void)state;
	build_all_types(&b, &file);
	set16(&file, b.at_meshes + 80 * 5 + 0x0c, 0);          /* switched off */
	k = open_buf(&fmt_mod3, &file);
	for (unsigned i = 0; i < BUILD_TYPES; i++) {
		assert_int_equal(fmt_mod3.model->mesh_full(k.o, i, &g, &a, &e), 0);
		assert_int_equal(g.parts[0].hidden, i == 5);
		for (unsigned set = 0; set < 4; set++) {
			const struct geo_stream *s = stream(&g, GEO_UV, set);

			assert_int_equal(s != NULL, set < build_types[i].uvs);
			if (s)
				FLOATS(s->v + 2 * 3, (3 + (float)set) / 8, 0.25f);
		}
		FLOATS(stream(&g, GEO_TANGENT, 0)->v + 4 * 3, 1, 0, 0, 1);
		FLOATS(stream(&g, GEO_NORMAL, 0)->v + 3 * 3, 0, 0, 1);
		assert_int_equal(stream(&g, GEO_COLOUR, 0) != NULL, build_types[i].colour);
		if (build_types[i].colour)
			FLOATS(stream(&g, GEO_COLOUR, 0)->v + 4 * 3, (float)(13 / 255.0), (float)(20 / 255.0),
			       (float)(30 / 255.0), (float)(40 / 255.0));
		assert_int_equal(g.weight_unit, build_types[i].weights ? 1023 : 0);
	}
	arena_free(&a);
	close_opened(&k);
}

/* The second bone's stored inverse matrix says something else than its place, and stays. */
static void test_skeleton(void **state)
{
	struct build_mod3 b;
	struct buf file = { 0 };
	struct opened k;
	struct arena a = { 0 };
	struct geo_skeleton v = { 0 };
	struct err e = { 0 };

	(void)state;
	build_all_types(&b, &file);
	set32(&file, b.at_inverse + 64 + 12 * 4, f32_bits(99));
	k = open_buf(&fmt_mod3, &file);
	assert_int_equal(fmt_mod3.model->skeleton(k.o, &v, &a, &e), 0);
	assert_int_equal(geo_settle(&v, &a, &e), 0);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.joint[2].name, "bone_2");
	assert_int_equal(v.joint[0].parent, -1);
	assert_int_equal(v.joint[2].parent, 1);
	FLOATS(v.joint[1].move, 3, 0, 4);
	FLOATS(v.joint[2].turn, 0, 0, 0, 1);
	FLOATS(v.joint[2].inverse, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -3, -7, -4, 1);
	FLOATS(v.joint[1].inverse, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 99, -8, -4, 1);
	arena_free(&a);
	close_opened(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_mesh), cmocka_unit_test(test_skeleton),
		cmocka_unit_test(test_all_types), cmocka_unit_test(test_vertices), cmocka_unit_test(test_documents),
		cmocka_unit_test(test_odd_records), cmocka_unit_test(test_opaque), cmocka_unit_test(test_runs),
		cmocka_unit_test(test_window), cmocka_unit_test(test_empty_and_shared), cmocka_unit_test(test_weights),
		cmocka_unit_test(test_odd_values), cmocka_unit_test(test_envelopes), cmocka_unit_test(test_sections),
		cmocka_unit_test(test_stale_tail), cmocka_unit_test(test_other_order), cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
