/* GLB: the JSON and the numbers of small models made here, read back byte by byte. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "bytes.h"
#include "export.h"

/* ---- a file, read back ---- */

struct file {
	struct buf bytes;
	cJSON *json;
	const uint8_t *bin;
	size_t nbin;
};

static const cJSON *at(const cJSON *o, const char *path)
{
	char key[64];

	while (*path) {
		size_t n = strcspn(path, ".");

		assert_true(n < sizeof key);
		memcpy(key, path, n);
		key[n] = 0;
		o = *key >= '0' && *key <= '9' ? cJSON_GetArrayItem(o, atoi(key)) :
						 cJSON_GetObjectItemCaseSensitive(o, key);
		path += n + (path[n] == '.');
		if (!o)
			return NULL;
	}
	return o;
}

static double number(const struct file *f, const char *path)
{
	const cJSON *o = at(f->json, path);

	if (!cJSON_IsNumber(o))
		fail_msg("%s is no number", path);
	return o->valuedouble;
}

static void text_is(const struct file *f, const char *path, const char *want)
{
	const cJSON *o = at(f->json, path);

	if (!cJSON_IsString(o))
		fail_msg("%s is no text", path);
	assert_string_equal(o->valuestring, want);
}

static bool there(const struct file *f, const char *path)
{
	return at(f->json, path);
}

static void numbers_are(const struct file *f, const char *path, const double *want, int n)
{
	const cJSON *o = at(f->json, path);

	assert_int_equal(cJSON_GetArraySize(o), n);
	for (int i = 0; i < n; i++)
		assert_true(cJSON_GetArrayItem(o, i)->valuedouble == want[i]);
}
#define NUMBERS(f, path, ...) \
	numbers_are(f, path, (const double[]){ __VA_ARGS__ }, (int)ARRAY_LEN(((const double[]){ __VA_ARGS__ })))

/* Where the data of an attribute (or "indices") of primitive p of mesh m begin; the accessor's count in *n. */
static const uint8_t *data(const struct file *f, int m, int p, const char *name, int *n, int *type)
{
	const cJSON *mesh = cJSON_GetArrayItem(at(f->json, "meshes"), m), *a, *v;
	const cJSON *prim = cJSON_GetArrayItem(at(mesh, "primitives"), p);
	const cJSON *which = strcmp(name, "indices") ? at(at(prim, "attributes"), name) : at(prim, "indices");
	size_t offset, length;

	if (!which)
		return NULL;
	a = cJSON_GetArrayItem(at(f->json, "accessors"), which->valueint);
	v = cJSON_GetArrayItem(at(f->json, "bufferViews"), at(a, "bufferView")->valueint);
	*n = at(a, "count")->valueint;
	*type = at(a, "componentType")->valueint;
	offset = (size_t)at(v, "byteOffset")->valueint;
	length = (size_t)at(v, "byteLength")->valueint;
	assert_true(offset % 4 == 0 && offset <= f->nbin && length <= f->nbin - offset);
	assert_int_equal(at(v, "target")->valueint, strcmp(name, "indices") ? 34962 : 34963);
	return f->bin + offset;
}

static void floats_are(const struct file *f, int m, int p, const char *name, unsigned comps, const float *want, int n)
{
	int count, type;
	const uint8_t *v = data(f, m, p, name, &count, &type);

	assert_non_null(v);
	assert_int_equal(type, 5126);
	assert_int_equal(count * (int)comps, n);
	for (int i = 0; i < n; i++)
		if (le_f32(v + 4 * i) != want[i])
			fail_msg("%s: number %d is %.9g, expected %.9g", name, i, (double)le_f32(v + 4 * i),
				 (double)want[i]);
}
#define FLOATS(f, m, p, name, comps, ...) \
	floats_are(f, m, p, name, comps, (const float[]){ __VA_ARGS__ }, \
		   (int)ARRAY_LEN(((const float[]){ __VA_ARGS__ })))

static void indices_are(const struct file *f, int m, int p, const uint16_t *want, int n)
{
	int count, type;
	const uint8_t *v = data(f, m, p, "indices", &count, &type);

	assert_non_null(v);
	assert_int_equal(type, 5123);
	assert_int_equal(count, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(le_u16(v + 2 * i), want[i]);
}
#define INDICES(f, m, p, ...) \
	indices_are(f, m, p, (const uint16_t[]){ __VA_ARGS__ }, (int)ARRAY_LEN(((const uint16_t[]){ __VA_ARGS__ })))

static void joints_are(const struct file *f, const char *name, const uint8_t *want, int n)
{
	int count, type;
	const uint8_t *v = data(f, 0, 0, name, &count, &type);

	assert_non_null(v);
	assert_int_equal(type, 5121);
	assert_int_equal(count * 4, n);
	assert_memory_equal(v, want, (size_t)n);
}
#define JOINTS(f, name, ...) \
	joints_are(f, name, (const uint8_t[]){ __VA_ARGS__ }, (int)ARRAY_LEN(((const uint8_t[]){ __VA_ARGS__ })))

/* ---- a model, written ---- */

struct picture { uint32_t number; const char *png; enum geo_alpha alpha; };
struct model {
	const struct geo_skeleton *skeleton;
	const struct geo_mesh *mesh;
	const struct geo_material *const *of_part;     /* of each mesh */
	const char *name;                              /* of the nodes */
	const struct picture *picture;
	uint32_t nmeshes, npictures;
};

static void build(const struct model *m, bool write, struct buf *out, uint64_t *size)
{
	static const struct geo_material none[8];
	struct glb *g;
	struct err e = { 0 };
	uint32_t number;

	assert_int_equal(glb_begin(&g, m->skeleton, write, &e), 0);
	for (uint32_t i = 0; i < m->nmeshes; i++)
		assert_int_equal(glb_mesh(g, i, m->name, &m->mesh[i], m->of_part ? m->of_part[i] : none, &e), 0);
	for (uint32_t i = 0; glb_wants_picture(g, i, &number); i++) {
		for (uint32_t k = 0; k < m->npictures; k++) {
			struct buf png = { 0 };

			if (m->picture[k].number != number)
				continue;
			buf_str(&png, m->picture[k].png);
			assert_int_equal(glb_picture(g, i, &png, m->picture[k].alpha, &e), 0);
			buf_free(&png);
		}
	}
	assert_int_equal(glb_end(g, out, size, &e), 0);
	glb_free(g);
}

/* What is measured is what is written. */
static struct file write(const struct model *m)
{
	struct file f = { 0 };
	uint64_t size, measured;
	uint32_t n;

	build(m, false, NULL, &measured);
	build(m, true, &f.bytes, &size);
	assert_false(f.bytes.bad);
	assert_int_equal(size, measured);
	assert_int_equal(size, f.bytes.len);
	assert_memory_equal(f.bytes.p, "glTF\2\0\0\0", 8);
	assert_int_equal(le_u32(f.bytes.p + 8), size);
	n = le_u32(f.bytes.p + 12);
	assert_memory_equal(f.bytes.p + 16, "JSON", 4);
	assert_int_equal(n % 4, 0);
	f.json = cJSON_ParseWithLength((const char *)f.bytes.p + 20, n);
	assert_non_null(f.json);
	text_is(&f, "asset.version", "2.0");
	if (f.bytes.len == 20 + n) {
		assert_false(there(&f, "buffers"));
		return f;
	}
	f.bin = f.bytes.p + 28 + n;
	f.nbin = le_u32(f.bytes.p + 20 + n);
	assert_memory_equal(f.bytes.p + 24 + n, "BIN", 4);
	assert_int_equal(f.nbin % 4, 0);
	assert_int_equal(28 + n + f.nbin, size);
	assert_int_equal((size_t)number(&f, "buffers.0.byteLength"), f.nbin);
	return f;
}

static void done(struct file *f)
{
	cJSON_Delete(f->json);
	buf_free(&f->bytes);
}

static struct file write_mesh(const struct geo_mesh *m, const struct geo_skeleton *s)
{
	return write(&(struct model){ .skeleton = s, .mesh = m, .nmeshes = 1 });
}

/* A square of two triangles in the plane z = 0. */
static float square[4][3] = { { 0, 0, 0 }, { 2, 0, 0 }, { 0, 0.1f, 0 }, { 2, 0.1f, 0 } };
static uint32_t two[2][3] = { { 0, 1, 2 }, { 2, 1, 3 } };
static struct geo_part both[1] = { { .material = -1, .nfaces = 2 } };
#define SQUARE { .nvertices = 4, .nfaces = 2, .position = square, .face = two, .parts = both, .nparts = 1 }

/* ---- shape ---- */

static void test_square(void **state)
{
	struct geo_mesh m = SQUARE;
	struct file f = write_mesh(&m, NULL);

	(void)state;
	FLOATS(&f, 0, 0, "POSITION", 3, 0, 0, 0, 2, 0, 0, 0, 0.1f, 0, 2, 0.1f, 0);
	INDICES(&f, 0, 0, 0, 1, 2, 2, 1, 3);
	NUMBERS(&f, "accessors.0.min", 0, 0, 0);
	NUMBERS(&f, "accessors.0.max", 2, 0.1, 0);
	text_is(&f, "meshes.0.name", "mesh_0");
	text_is(&f, "nodes.0.name", "mesh_0");
	NUMBERS(&f, "scenes.0.nodes", 0);
	assert_false(there(&f, "skins") || there(&f, "materials") || there(&f, "meshes.0.primitives.0.material") ||
		     there(&f, "meshes.0.extras") || there(&f, "nodes.0.skin"));
	assert_int_equal(f.nbin, 48 + 12);
	done(&f);
}

static void test_nothing(void **state)
{
	struct file f = write(&(struct model){ .nmeshes = 0 });
	struct geo_mesh none = { 0 }, loose = SQUARE;

	(void)state;
	assert_false(there(&f, "nodes") || there(&f, "meshes") || there(&f, "accessors") || there(&f, "buffers") ||
		     there(&f, "scenes.0.nodes"));
	done(&f);
	f = write(&(struct model){ .mesh = &none, .nmeshes = 1, .name = "A" });
	text_is(&f, "nodes.0.name", "A");
	assert_false(there(&f, "meshes") || there(&f, "nodes.0.mesh"));
	done(&f);
	loose.nparts = 0;
	f = write_mesh(&loose, NULL);          /* vertices alone are points */
	assert_int_equal(number(&f, "meshes.0.primitives.0.mode"), 0);
	assert_false(there(&f, "meshes.0.primitives.0.indices"));
	assert_int_equal(number(&f, "accessors.0.count"), 4);
	done(&f);
}

/* Each part is a primitive with its own vertices; those without a face go with the ones before them. */
static void test_parts(void **state)
{
	float v[7][3] = { { 0 }, { 1 }, { 2 }, { 3 }, { 4 }, { 5 }, { 6 } };
	uint32_t face[2][3] = { { 1, 2, 3 }, { 4, 5, 4 } };
	struct geo_part parts[3] = { { .material = -1, .nfaces = 1 }, { .material = -1, .first_face = 1 },
				     { .material = -1, .first_face = 1, .nfaces = 1, .hidden = true } };
	struct geo_mesh m = { .nvertices = 7, .nfaces = 2, .position = v, .face = face, .parts = parts, .nparts = 3 };
	struct file f = write_mesh(&m, NULL);

	(void)state;
	assert_int_equal(cJSON_GetArraySize(at(f.json, "meshes.0.primitives")), 2);
	FLOATS(&f, 0, 0, "POSITION", 3, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0);
	INDICES(&f, 0, 0, 1, 2, 3);
	FLOATS(&f, 0, 1, "POSITION", 3, 4, 0, 0, 5, 0, 0, 6, 0, 0);
	INDICES(&f, 0, 1, 0, 1, 0);
	assert_false(there(&f, "meshes.0.primitives.0.extras") || there(&f, "meshes.0.extras"));
	assert_true(cJSON_IsFalse(at(f.json, "meshes.0.primitives.1.extras.visible")));
	done(&f);
	parts[0].hidden = true;                /* now all is */
	f = write_mesh(&m, NULL);
	assert_true(cJSON_IsFalse(at(f.json, "meshes.0.extras.visible")) &&
		    cJSON_IsFalse(at(f.json, "nodes.0.extras.visible")));
	done(&f);
}

/* Runs of one material go together when the parts are only runs; a quad is two triangles behind each other. */
static void test_runs(void **state)
{
	int64_t v[4][3] = { { 0, 0, 0 }, { 65536, 0, 0 }, { 65536, 98304, 0 }, { 0, 65536, -1 } };
	uint32_t quad[3][4] = { { 0, 1, 2, 3 }, { 0, 1, 2, GEO_NONE }, { 3, 2, 1, 0 } };
	struct geo_part parts[3] = { { .material = 2, .nfaces = 1, .object = "a" },
				     { .material = 0, .first_face = 1, .nfaces = 1, .object = "a" },
				     { .material = 2, .first_face = 2, .nfaces = 1, .object = "b" } };
	struct geo_mesh m = { .nvertices = 4, .nfaces = 3, .fixed_bits = 16, .fixed = v, .quad = quad, .objects = true,
			      .parts = parts, .nparts = 3 };
	const struct geo_material of_part[3] = { { "tin", { 1, 1, 1, 1 }, -1 }, { "oak", { 1, 1, 1, 1 }, -1 },
						 { "tin", { 1, 1, 1, 1 }, -1 } };
	struct file f = write(&(struct model){
		.mesh = &m, .nmeshes = 1, .of_part = (const struct geo_material *const[]){ of_part } });

	(void)state;
	assert_int_equal(cJSON_GetArraySize(at(f.json, "meshes.0.primitives")), 2);
	FLOATS(&f, 0, 0, "POSITION", 3, 0, 0, 0, 1, 0, 0, 1, 1.5f, 0, 0, 1, (float)(-1 / 65536.0));
	INDICES(&f, 0, 0, 0, 1, 2, 0, 2, 3, 3, 2, 1, 3, 1, 0);
	INDICES(&f, 0, 1, 0, 1, 2);
	text_is(&f, "materials.0.name", "tin");
	text_is(&f, "materials.1.name", "oak");
	assert_int_equal(number(&f, "meshes.0.primitives.1.material"), 1);
	done(&f);
}

/* The last value of 16 bits is none of theirs. */
static void test_wide_indices(void **state)
{
	enum { MANY = 65537 };
	float (*v)[3] = calloc(MANY, sizeof *v);
	uint32_t face[1][3] = { { 0, 1, MANY - 1 } };
	struct geo_part part = { .material = -1, .nfaces = 1 };
	struct geo_mesh m = { .position = v, .face = face, .nfaces = 1, .parts = &part, .nparts = 1 };
	int n, type;

	(void)state;
	assert_non_null(v);
	for (uint32_t most = MANY - 2; most < MANY; most++) {
		struct file f;
		const uint8_t *p;

		m.nvertices = most;
		face[0][2] = most - 1;
		f = write_mesh(&m, NULL);
		p = data(&f, 0, 0, "indices", &n, &type);
		assert_int_equal(type, most == 65535 ? 5123 : 5125);
		assert_int_equal(most == 65535 ? le_u16(p + 4) : le_u32(p + 8), most - 1);
		done(&f);
	}
	free(v);
}

/* ---- attributes ---- */

static void test_attributes(void **state)
{
	float normal[12] = { 0, 0, 5, 0, 0, 0, NAN, 1, 0, 0, 3, 4 }, uv[8] = { 0, 1, NAN, 0.5f };
	float uv1[8] = { 9, 8, 7 }, colour[12] = { 0.5f, 2, -1, NAN, 0, 0, 1, 1, 1 };
	float tangent[16] = { 2, 0, 0, 1, 0, 0, 0, -1, 0, 1, 0, -0.5f, 0, 0, 1, 0 };
	struct geo_stream s[5] = {
		{ .attr = GEO_UV, .comps = 2, .set = 1, .count = 4, .v = uv1 },
		{ .attr = GEO_UV, .comps = 2, .count = 4, .v = uv },
		{ .attr = GEO_NORMAL, .comps = 3, .count = 4, .v = normal },
		{ .attr = GEO_COLOUR, .comps = 3, .count = 4, .v = colour },
		{ .attr = GEO_TANGENT, .comps = 4, .count = 4, .v = tangent },
	};
	struct geo_mesh m = SQUARE;
	struct file f;

	(void)state;
	m.streams = s;
	m.nstreams = 5;
	f = write_mesh(&m, NULL);
	/* The second and, with a number that is none, the third normal: the second is that of its faces. */
	FLOATS(&f, 0, 0, "NORMAL", 3, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0.6f, 0.8f);
	FLOATS(&f, 0, 0, "TANGENT", 4, 1, 0, 0, 1, 0, 1, 0, -1, 0, 1, 0, -1, 0, 0, 1, 1);
	FLOATS(&f, 0, 0, "TEXCOORD_0", 2, 0, 1, 0, 0.5f, 0, 0, 0, 0);
	FLOATS(&f, 0, 0, "TEXCOORD_1", 2, 9, 8, 7, 0, 0, 0, 0, 0);
	FLOATS(&f, 0, 0, "COLOR_0", 3, 0.5f, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0);
	done(&f);
}

/* A part that has no normals or coordinates has no such attribute, whatever another one has. */
static void test_by_part(void **state)
{
	float uv[2] = { 0.25f, 0.75f };
	uint32_t corner[6] = { 0, 0, 0, GEO_NONE, GEO_NONE, GEO_NONE };
	struct geo_stream s = { .attr = GEO_UV, .comps = 2, .count = 1, .v = uv, .corner = corner };
	struct geo_part parts[2] = { { .material = -1, .nfaces = 1 }, { .material = 0, .first_face = 1, .nfaces = 1 } };
	struct geo_mesh m = SQUARE;
	struct geo_material of_part[2] = { { 0 }, { "x", { 1, 1, 1, 1 }, -1 } };
	struct model one = { .mesh = &m, .nmeshes = 1, .of_part = (const struct geo_material *const[]){ of_part } };
	struct file f;

	(void)state;
	m.parts = parts;
	m.nparts = 2;
	m.streams = &s;
	m.nstreams = 1;
	f = write(&one);
	FLOATS(&f, 0, 0, "TEXCOORD_0", 2, 0.25f, 0.75f, 0.25f, 0.75f, 0.25f, 0.75f);
	assert_false(there(&f, "meshes.0.primitives.1.attributes.TEXCOORD_0"));
	done(&f);
	of_part[1].image = 3;                  /* but a picture needs a place in it */
	f = write(&one);
	FLOATS(&f, 0, 1, "TEXCOORD_0", 2, 0, 0, 0, 0, 0, 0);
	done(&f);
}

/* ---- bones ---- */

static struct geo_joint bones[3] = {
	{ .name = "hip", .parent = -1, .move = { 0, 1, 0 }, .turn = { 0, 0, 0, 1 }, .scale = { 1, 1, 1 } },
	{ .name = "skeleton", .parent = 0, .move = { 0, 2, 0 }, .turn = { 1, 0, 0, 0 }, .scale = { 1, 1, 2 } },
	{ .name = "prop", .parent = -1, .turn = { 0, 0, 0, 1 }, .scale = { 1, 1, 1 } },
};

/* Weights of four vertices in order: a negative rest, a joint twice, one that is not there, none at all. */
static void test_skin(void **state)
{
	uint8_t n[4] = { 4, 3, 2, 1 };
	uint32_t first[4] = { 0, 4, 7, 9 };
	int32_t joint[10] = { 1, 0, 2, 0, 1, 2, 1, 7, 1, -1 };
	float weight[10] = { 700, 330, 0, -7, 500, 400, 123, 1000, 23, 1023 };
	struct geo_mesh m = SQUARE;
	struct geo_skeleton s = { 3, bones };
	struct arena a = { 0 };
	struct file f;

	(void)state;
	assert_int_equal(geo_settle(&s, &a, NULL), 0);
	arena_free(&a);
	m.ninfluences = n;
	m.first_influence = first;
	m.joint = joint;
	m.weight = weight;
	m.weight_unit = 1023;
	f = write_mesh(&m, &s);
	/* 330 and -7 are of the same joint. */
	JOINTS(&f, "JOINTS_0", 1, 0, 0, 0, 1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0);
	FLOATS(&f, 0, 0, "WEIGHTS_0", 4, (float)(700 / 1023.0), (float)(323 / 1023.0), 0, 0, (float)(623 / 1023.0),
	       (float)(400 / 1023.0), 0, 0, 1, 0, 0, 0, 1, 0, 0, 0);
	assert_false(there(&f, "meshes.0.primitives.0.attributes.JOINTS_1"));
	text_is(&f, "nodes.0.name", "hip");
	NUMBERS(&f, "nodes.0.children", 1);
	NUMBERS(&f, "nodes.0.translation", 0, 1, 0);
	assert_false(there(&f, "nodes.0.rotation") || there(&f, "nodes.0.scale") || there(&f, "nodes.2.translation"));
	NUMBERS(&f, "nodes.1.rotation", 1, 0, 0, 0);
	NUMBERS(&f, "nodes.1.scale", 1, 1, 2);
	text_is(&f, "nodes.3.name", "skeleton (root)");
	NUMBERS(&f, "nodes.3.children", 0, 2);
	NUMBERS(&f, "scenes.0.nodes", 3, 4);
	NUMBERS(&f, "skins.0.joints", 0, 1, 2);
	assert_int_equal(number(&f, "nodes.4.skin"), 0);
	assert_int_equal(number(&f, "skins.0.inverseBindMatrices"), 0);
	assert_true(le_f32(f.bin + 4 * 13) == -1 && le_f32(f.bin + 64 + 4 * 13) == 3);
	done(&f);
}

/* What is below zero comes from the largest, and then from the next; more than four joints need a second set. */
static void test_many_joints(void **state)
{
	struct geo_joint v[7];
	uint8_t n[4] = { 3, 6, 1, 1 };
	uint32_t first[4] = { 0, 3, 9, 9 };
	int32_t joint[10] = { 0, 1, 2, 6, 5, 4, 3, 2, 1, 0 };
	float weight[10] = { 0.6f, -0.7f, 1.1f, 0.25f, 0.25f, 0.125f, 0.125f, 0.125f, 0.125f, 1 };
	struct geo_mesh m = SQUARE;
	struct geo_skeleton s = { 7, v };
	struct arena a = { 0 };
	struct file f;
	const uint8_t *p;
	int count, type;

	(void)state;
	for (unsigned i = 0; i < 7; i++)
		v[i] = bones[2];
	assert_int_equal(geo_settle(&s, &a, NULL), 0);
	arena_free(&a);
	m.ninfluences = n;
	m.first_influence = first;
	m.joint = joint;
	m.weight = weight;
	f = write_mesh(&m, &s);
	JOINTS(&f, "JOINTS_0", 0, 2, 0, 0, 6, 5, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0);
	JOINTS(&f, "JOINTS_1", 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	FLOATS(&f, 0, 0, "WEIGHTS_1", 4, 0, 0, 0, 0, 0.125f, 0.125f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	p = data(&f, 0, 0, "WEIGHTS_0", &count, &type);
	assert_true(fabsf(le_f32(p) - 0.6f) < 1e-6f && fabsf(le_f32(p + 4) - 0.4f) < 1e-6f);
	done(&f);
}

/* Bones that no vertex names tie nothing. */
static void test_loose_bones(void **state)
{
	uint8_t n[4] = { 1, 1, 1, 1 };
	uint32_t first[4] = { 0 };
	int32_t joint[1] = { -1 };
	float weight[1] = { 1 };
	struct geo_mesh m = SQUARE;
	struct geo_skeleton s = { 3, bones };
	struct file f;

	(void)state;
	m.ninfluences = n;
	m.first_influence = first;
	m.joint = joint;
	m.weight = weight;
	f = write_mesh(&m, &s);
	assert_true(there(&f, "skins") && !there(&f, "nodes.4.skin") &&
		    !there(&f, "meshes.0.primitives.0.attributes.JOINTS_0"));
	done(&f);
}

/* ---- materials ---- */

static struct geo_part of_material[4] = {
	{ .material = 3, .nfaces = 1 }, { .material = 1, .first_face = 1, .nfaces = 1 },
};

static void test_materials(void **state)
{
	struct geo_mesh m = SQUARE;
	struct geo_material v[2] = {
		{ .name = "leaf", .colour = { 0.5f, 1, 1, 1 }, .image = 7, .both_sides = true },
		{ .name = "wall", .colour = { 0.5f, 0.25f, 1, 1 }, .image = 4, .bare_colour = true },
	};
	const struct picture pictures[2] = { { 7, "LEAF!", GEO_CUT }, { 4, "WALL", GEO_OPAQUE } };
	struct model one = { .mesh = &m, .nmeshes = 1, .picture = pictures, .npictures = 2,
			     .of_part = (const struct geo_material *const[]){ v } };
	struct file f;
	size_t at_picture;

	(void)state;
	m.parts = of_material;
	m.nparts = 2;
	f = write(&one);
	text_is(&f, "materials.0.name", "leaf");
	NUMBERS(&f, "materials.0.pbrMetallicRoughness.baseColorFactor", 0.5, 1, 1, 1);
	assert_int_equal(number(&f, "materials.0.pbrMetallicRoughness.baseColorTexture.index"), 0);
	assert_int_equal(number(&f, "materials.0.pbrMetallicRoughness.metallicFactor"), 0);
	text_is(&f, "materials.0.alphaMode", "MASK");
	assert_true(cJSON_IsTrue(at(f.json, "materials.0.doubleSided")));
	assert_false(there(&f, "materials.1.alphaMode") || there(&f, "materials.1.doubleSided") ||
		     there(&f, "materials.1.pbrMetallicRoughness.baseColorFactor"));
	assert_int_equal(number(&f, "textures.1.source"), 1);
	text_is(&f, "images.1.name", "texture_4");
	text_is(&f, "images.0.mimeType", "image/png");
	at_picture = (size_t)number(&f, "bufferViews.4.byteOffset");
	assert_int_equal(number(&f, "images.0.bufferView"), 6);
	assert_int_equal(number(&f, "bufferViews.6.byteLength"), 5);
	at_picture = (size_t)number(&f, "bufferViews.6.byteOffset");
	assert_memory_equal(f.bin + at_picture, "LEAF!\0\0\0WALL", 12);
	assert_false(there(&f, "bufferViews.6.target"));
	done(&f);
	one.npictures = 0;                     /* pictures that cannot be had */
	v[0].colour[3] = 0.5f;
	f = write(&one);
	assert_false(there(&f, "images") || there(&f, "textures") ||
		     there(&f, "materials.0.pbrMetallicRoughness.baseColorTexture"));
	text_is(&f, "materials.0.alphaMode", "BLEND");
	NUMBERS(&f, "materials.1.pbrMetallicRoughness.baseColorFactor", 0.5, 0.25, 1, 1);
	done(&f);
}

/* A clear vertex blends its material, in whatever mesh it is. */
static void test_clear_vertex(void **state)
{
	float colour[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5f };
	struct geo_stream s = { .attr = GEO_COLOUR, .comps = 4, .count = 4, .v = colour };
	struct geo_mesh m[2] = { SQUARE, SQUARE };
	struct geo_material v = { .name = "glass", .colour = { 1, 1, 1, 1 }, .image = -1 };
	struct geo_part part = { .material = 0, .nfaces = 2 };
	struct file f;

	(void)state;
	m[0].parts = m[1].parts = &part;
	m[1].streams = &s;
	m[1].nstreams = 1;
	f = write(&(struct model){ .mesh = m, .nmeshes = 2,
				   .of_part = (const struct geo_material *const[]){ &v, &v } });
	assert_int_equal(cJSON_GetArraySize(at(f.json, "materials")), 1);
	text_is(&f, "materials.0.alphaMode", "BLEND");
	FLOATS(&f, 1, 0, "COLOR_0", 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5f);
	done(&f);
}

/* More than a text may have is an error, told before it is made. */
static void test_too_long(void **state)
{
	struct geo_mesh m = { .nvertices = 1u << 20 };
	struct geo_material none = { 0 };
	struct glb *g;
	struct err e = { 0 };
	int rc = 0;

	(void)state;
	m.position = calloc(m.nvertices, sizeof *m.position);
	assert_non_null(m.position);
	assert_int_equal(glb_begin(&g, NULL, false, &e), 0);
	for (uint32_t i = 0; i < 22 && !rc; i++)
		rc = glb_mesh(g, i, NULL, &m, &none, &e);
	assert_int_equal(rc, -EFBIG);
	assert_string_equal(e.text, "a GLB of more than 268435456 bytes");
	glb_free(g);
	free(m.position);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_square),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_wide_indices),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_by_part),
		cmocka_unit_test(test_skin),
		cmocka_unit_test(test_many_joints),
		cmocka_unit_test(test_loose_bones),
		cmocka_unit_test(test_materials),
		cmocka_unit_test(test_clear_vertex),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
