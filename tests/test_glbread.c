/* GLB files made by hand, read: accessors of all kinds, nodes, skins, pictures, animations; and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "export.h"

static struct buf file;
static struct arena arena;
static struct err why;

static void word(uint32_t v)
{
	uint8_t raw[4];

	put_le32(raw, v);
	buf_add(&file, raw, 4);
}

static void put_file(const char *json, const void *bin, size_t n)
{
	uint32_t len = (uint32_t)align_up(strlen(json), 4), size = (uint32_t)align_up(n, 4);

	file.len = 0;
	word(0x46546c67);
	word(2);
	word(12 + 8 + len + (n ? 8 + size : 0));
	word(len);
	word(0x4e4f534a);
	buf_str(&file, json);
	while (file.len < 20 + len)
		buf_char(&file, ' ');
	if (!n)
		return;
	word(size);
	word(0x004e4942);
	buf_add(&file, bin, n);
	while (file.len % 4)
		buf_char(&file, 0);
}

static int try_read(struct geo_scene *s)
{
	arena_free(&arena);
	arena = (struct arena){ 0 };
	why = (struct err){ 0 };
	assert_false(file.bad);
	return glb_read(file.p, file.len, s, &arena, &why);
}

static void read_json(struct geo_scene *s, const char *json, const void *bin, size_t n)
{
	put_file(json, bin, n);
	if (try_read(s))
		fail_msg("refused: %s", why.text);
}

static void refused(const char *json, const void *bin, size_t n, const char *want)
{
	struct geo_scene s;

	put_file(json, bin, n);
	assert_int_not_equal(try_read(&s), 0);
	if (!strstr(why.text, want))
		fail_msg("said \"%s\", expected \"%s\"", why.text, want);
}

static int end(void **state)
{
	(void)state;
	arena_free(&arena);
	arena = (struct arena){ 0 };
	buf_free(&file);
	file = (struct buf){ 0 };
	return 0;
}

#define ASSET "{\"asset\":{\"version\":\"2.0\"}"
#define VIEW(at, n) "{\"buffer\":0,\"byteOffset\":" at ",\"byteLength\":" n "}"

/* Three vertices of floats, then three u16. */
static uint8_t *triangle(void)
{
	static uint8_t raw[44];
	const float v[9] = { 0, 0, 0, 1, 0, 0, 0, 2, -3 };

	for (unsigned i = 0; i < 9; i++)
		put_le32(raw + 4 * i, f32_bits(v[i]));
	put_le16(raw + 36, 0);
	put_le16(raw + 38, 1);
	put_le16(raw + 40, 2);
	return raw;
}

#define TRIANGLE(more_primitive, more) ASSET ",\"buffers\":[{\"byteLength\":44}],\"bufferViews\":[" \
	VIEW("0", "36") "," VIEW("36", "6") "],\"accessors\":[" \
	"{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\"}," \
	"{\"bufferView\":1,\"componentType\":5123,\"count\":3,\"type\":\"SCALAR\"}],\"meshes\":[{\"name\":\"m\"," \
	"\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1" more_primitive "}]}]" more "}"

/* ---- the container ---- */

static void test_container(void **state)
{
	struct geo_scene s;

	(void)state;
	read_json(&s, ASSET "}", NULL, 0);
	assert_int_equal(s.nmeshes, 0);
	assert_string_equal(s.generator, "");
	put_file(ASSET "}", NULL, 0);
	for (size_t n = 0; n < file.len; n++) {
		why.text[0] = 0;
		assert_int_equal(glb_read(file.p, n, &s, &arena, &why), -EINVAL);
		assert_int_not_equal(why.text[0], 0);
	}
	file.p[4] = 1;
	assert_int_equal(try_read(&s), -EINVAL);
	assert_string_equal(why.text, "glTF of version 1, expected 2");
	refused("{}", NULL, 0, "asset.version is not given, expected 2.0");
	refused("[]", NULL, 0, "no object");
	refused("{\"asset\":", NULL, 0, "cannot be read");
	refused(ASSET ",\"extensionsRequired\":[\"KHR_draco_mesh_compression\"]}", NULL, 0,
		"KHR_draco_mesh_compression");
}

static void test_nesting(void **state)
{
	char json[400];
	size_t n = (size_t)snprintf(json, sizeof json, "%s,\"extras\":", ASSET);

	(void)state;
	memset(json + n, '[', 100);
	memset(json + n + 100, ']', 100);
	snprintf(json + n + 200, sizeof json - n - 200, "}");
	refused(json, NULL, 0, "nested deeper than 64");
}

/* ---- meshes ---- */

static void test_triangle(void **state)
{
	const struct scene_primitive *p;
	struct geo_scene s;

	(void)state;
	read_json(&s, TRIANGLE("", ",\"nodes\":[{\"name\":\"n\",\"mesh\":0}]"), triangle(), 42);
	assert_int_equal(s.nmeshes, 1);
	assert_string_equal(s.mesh[0].name, "m");
	p = s.mesh[0].primitive;
	assert_int_equal(p->nvertices, 3);
	assert_int_equal(p->nfaces, 1);
	assert_true(p->position[2][0] == 0 && p->position[2][1] == 2 && p->position[2][2] == -3);
	assert_int_equal(p->face[0][2], 2);
	assert_int_equal(p->material, -1);
	assert_null(p->normal);
	assert_int_equal(s.node[0].mesh, 0);
	assert_string_equal(s.node[0].name, "n");
	read_json(&s, TRIANGLE(",\"extras\":{\"visible\":false}", ""), triangle(), 42);
	assert_int_equal(s.mesh[0].primitive->nfaces, 1);
}

static void test_numbers_that_lie(void **state)
{
	uint8_t *raw = triangle();

	(void)state;
	refused(TRIANGLE("", ""), raw, 20, "buffer 0 has 20 bytes, byteLength says 44");
	put_le16(raw + 40, 3);
	refused(TRIANGLE("", ""), raw, 42, "mesh m, primitive 0: index 2 is 3, there are 3 vertices");
	put_le32(raw + 4, 0x7f800000);
	refused(TRIANGLE("", ""), raw, 42, "POSITION: accessor 0: number 1 of item 0 is not finite");
	triangle();
	refused(TRIANGLE(",\"mode\":1", ""), raw, 42, "mesh m, primitive 0: mode 1");
	refused(TRIANGLE(",\"material\":0", ""), raw, 42, "mesh m, primitive 0: material is 0, there are 0");
	refused(ASSET ",\"accessors\":[{\"componentType\":5126,\"count\":4000000000,\"type\":\"MAT4\"}],"
		"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]}", NULL, 0,
		"items of 16 numbers, expected 3");
	refused(ASSET ",\"accessors\":[{\"componentType\":5126,\"count\":4000000000,\"type\":\"VEC3\"}],"
		"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]}", NULL, 0, "4000000000 items");
	refused(ASSET ",\"accessors\":[{\"componentType\":5124,\"count\":1,\"type\":\"VEC3\"}],"
		"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]}", NULL, 0, "componentType 5124");
	refused(ASSET ",\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":7}}]}]}", NULL, 0,
		"POSITION names no accessor, there are 0");
	refused(ASSET ",\"meshes\":[{\"primitives\":[{\"attributes\":{}}]}]}", NULL, 0, "has no POSITION");
}

/* Without a buffer view all numbers are zero; without indices the vertices follow each other. */
static void made_of(struct geo_scene *s, unsigned vertices, unsigned mode)
{
	char json[400];

	snprintf(json, sizeof json, ASSET ",\"accessors\":[{\"componentType\":5126,\"count\":%u,\"type\":\"VEC3\"}],"
		 "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"mode\":%u}]}]}", vertices, mode);
	read_json(s, json, NULL, 0);
}

static void test_modes(void **state)
{
	static const uint32_t strip[3][3] = { { 0, 1, 2 }, { 1, 3, 2 }, { 2, 3, 4 } };
	static const uint32_t fan[3][3] = { { 0, 1, 2 }, { 0, 2, 3 }, { 0, 3, 4 } };
	struct geo_scene s;

	(void)state;
	made_of(&s, 6, 4);
	assert_int_equal(s.mesh[0].primitive->nfaces, 2);
	assert_int_equal(s.mesh[0].primitive->face[1][0], 3);
	made_of(&s, 5, 5);
	assert_int_equal(s.mesh[0].primitive->nfaces, 3);
	assert_memory_equal(s.mesh[0].primitive->face, strip, sizeof strip);
	made_of(&s, 5, 6);
	assert_memory_equal(s.mesh[0].primitive->face, fan, sizeof fan);
	made_of(&s, 5, 0);
	assert_int_equal(s.mesh[0].primitive->nfaces, 0);
	assert_int_equal(s.mesh[0].primitive->nvertices, 5);
}

/* Positions of i16 at a stride of 8, with u8 colours between them. */
static void test_packed_numbers(void **state)
{
	static const uint8_t raw[16] = { 1, 0, 0xfe, 0xff, 0x2c, 1, 255, 51, 0xff, 0x7f, 1, 0x80, 0, 0, 0, 102 };
	const struct scene_primitive *p;
	struct geo_scene s;

	(void)state;
	read_json(&s, ASSET ",\"buffers\":[{\"byteLength\":16}],\"bufferViews\":["
		  "{\"buffer\":0,\"byteLength\":16,\"byteStride\":8}],\"accessors\":["
		  "{\"bufferView\":0,\"componentType\":5122,\"count\":2,\"type\":\"VEC3\"},"
		  "{\"bufferView\":0,\"byteOffset\":6,\"componentType\":5121,\"normalized\":true,\"count\":2,"
		  "\"type\":\"VEC2\"}],\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0,"
		  "\"TEXCOORD_0\":1}}]}]}", raw, sizeof raw);
	p = s.mesh[0].primitive;
	assert_true(p->position[0][0] == 1 && p->position[0][1] == -2 && p->position[0][2] == 300);
	assert_true(p->position[1][0] == 32767 && p->position[1][1] == -32767);
	assert_true(p->uv[0][0][0] == 1 && p->uv[0][0][1] == 0.2f && p->uv[0][1][1] == 0.4f);
	refused(ASSET ",\"buffers\":[{\"byteLength\":16}],\"bufferViews\":["
		"{\"buffer\":0,\"byteLength\":16,\"byteStride\":8}],\"accessors\":["
		"{\"bufferView\":0,\"byteOffset\":6,\"componentType\":5122,\"count\":2,\"type\":\"VEC3\"}],"
		"\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0}}]}]}", raw, sizeof raw,
		"accessor 0: 2 items, bufferView 0 has 1");
}

static void test_normalized(void **state)
{
	static const uint8_t raw[8] = { 0x80, 0x81, 127, 0, 0xff, 0xff, 0, 0x80 };
	struct geo_scene s;

	(void)state;
	read_json(&s, ASSET ",\"buffers\":[{\"byteLength\":8}],\"bufferViews\":[" VIEW("0", "8") "],\"accessors\":["
		  "{\"bufferView\":0,\"componentType\":5120,\"normalized\":true,\"count\":1,\"type\":\"VEC3\"}],"
		  "\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0}}]}]}", raw, sizeof raw);
	assert_true(s.mesh[0].primitive->position[0][0] == -1 && s.mesh[0].primitive->position[0][1] == -1 &&
		    s.mesh[0].primitive->position[0][2] == 1);
}

static void test_sparse(void **state)
{
	uint8_t raw[16] = { 2 };
	struct geo_scene s;
#define SPARSE(index) ASSET ",\"buffers\":[{\"byteLength\":16}],\"bufferViews\":[" VIEW("0", "1") "," \
	VIEW("4", "12") "],\"accessors\":[{\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"sparse\":{" \
	"\"count\":1,\"indices\":{\"bufferView\":0,\"componentType\":" index "},\"values\":{\"bufferView\":1}}}]," \
	"\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]}"

	(void)state;
	put_le32(raw + 4, f32_bits(5));
	read_json(&s, SPARSE("5121"), raw, sizeof raw);
	assert_true(s.mesh[0].primitive->position[2][0] == 5 && s.mesh[0].primitive->position[1][0] == 0);
	raw[0] = 3;
	refused(SPARSE("5121"), raw, sizeof raw, "sparse index 3, it has 3 items");
	refused(SPARSE("5126"), raw, sizeof raw, "sparse indices of componentType 5126");
	refused(SPARSE("5123"), raw, sizeof raw, "accessor 0: 1 items, bufferView 0 has 0");
}

/* ---- URIs ---- */

static void test_uris(void **state)
{
	struct geo_scene s;

	(void)state;
	read_json(&s, ASSET ",\"buffers\":[{\"byteLength\":12,\"uri\":\"data:application/octet-stream;base64,"
		  "AACAPwAAAEAAAEBA\"}],\"bufferViews\":[" VIEW("0", "12") "],\"accessors\":["
		  "{\"bufferView\":0,\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}],"
		  "\"meshes\":[{\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0}}]}],"
		  "\"images\":[{\"name\":\"i\",\"uri\":\"data:image/png;base64,iVBORw0KGgo=\"}],\"textures\":["
		  "{\"source\":0}],\"materials\":[{\"name\":\"a\",\"pbrMetallicRoughness\":{\"baseColorTexture\":"
		  "{\"index\":0}}}]}", NULL, 0);
	assert_true(s.mesh[0].primitive->position[0][1] == 2 && s.mesh[0].primitive->position[0][2] == 3);
	assert_int_equal(s.image[0].n, 8);
	assert_true(s.image[0].png);
	assert_string_equal(s.image[0].name, "i");
	assert_int_equal(s.material[0].image, 0);
	refused(ASSET ",\"images\":[{\"uri\":\"/etc/passwd\"}]}", NULL, 0, "image 0 lies in a file of its own");
	refused(ASSET ",\"images\":[{\"uri\":\"data:image/png;base64,a*bc\"}]}", NULL, 0, "base64 is damaged");
	refused(ASSET ",\"images\":[{\"uri\":\"data:,x\"}]}", NULL, 0, "not base64");
}

/* ---- nodes and skins ---- */

static void test_nodes(void **state)
{
	struct geo_scene s;

	(void)state;
	read_json(&s, ASSET ",\"nodes\":[{\"children\":[1],\"translation\":[1,2,3],\"scale\":[2,2,2]},{\"matrix\":"
		  "[0,1,0,0,-1,0,0,0,0,0,1,0,7,8,9,1]}]}", NULL, 0);
	assert_int_equal(s.node[1].parent, 0);
	assert_int_equal(s.node[0].parent, -1);
	assert_true(s.node[0].move[2] == 3 && s.node[0].scale[1] == 2 && s.node[0].turn[3] == 1);
	/* A quarter around z. */
	assert_true(s.node[1].move[0] == 7 && s.node[1].scale[0] == 1);
	assert_float_equal(s.node[1].turn[2], 0.70710678f, 1e-6);
	assert_float_equal(s.node[1].turn[3], 0.70710678f, 1e-6);
	refused(ASSET ",\"nodes\":[{\"children\":[1]},{\"children\":[2]},{\"children\":[1]}]}", NULL, 0,
		"node 1 is a child of node 0 and of node 2");
	refused(ASSET ",\"nodes\":[{\"children\":[1]},{\"children\":[0]}]}", NULL, 0, "is its own ancestor");
	refused(ASSET ",\"nodes\":[{\"children\":[0]}]}", NULL, 0, "node 0 is its own ancestor");
	refused(ASSET ",\"nodes\":[{\"children\":[1]}]}", NULL, 0, "child 0 is no node, there are 1");
	refused(ASSET ",\"nodes\":[{\"translation\":[1,2]}]}", NULL, 0, "translation is no list of 3 numbers");
	refused(ASSET ",\"nodes\":[{\"mesh\":1}]}", NULL, 0, "node 0: mesh is 1, there are 0");
	refused(ASSET ",\"nodes\":7}", NULL, 0, "the file: nodes is no list");
}

static void test_skins(void **state)
{
	uint8_t raw[68] = { 0, 1, 0, 0 };
	struct geo_scene s;
#define SKIN(joints) ASSET ",\"buffers\":[{\"byteLength\":68}],\"bufferViews\":[" VIEW("0", "4") "," \
	VIEW("4", "16") "],\"accessors\":[{\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"}," \
	"{\"bufferView\":0,\"componentType\":5121,\"count\":1,\"type\":\"VEC4\"}," \
	"{\"bufferView\":1,\"componentType\":5126,\"count\":1,\"type\":\"VEC4\"}],\"meshes\":[{\"name\":\"m\"," \
	"\"primitives\":[{\"mode\":0,\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2}}]}]," \
	"\"nodes\":[{\"mesh\":0,\"skin\":0},{\"name\":\"a\"},{\"name\":\"b\"}],\"skins\":[{\"joints\":" joints "}]}"

	(void)state;
	put_le32(raw + 4, f32_bits(0.25f));
	put_le32(raw + 8, f32_bits(0.75f));
	read_json(&s, SKIN("[2,1]"), raw, sizeof raw);
	assert_int_equal(s.skin[0].njoints, 2);
	assert_int_equal(s.skin[0].joint[0], 2);
	assert_int_equal(s.skin[0].joint[1], 1);
	assert_int_equal(s.mesh[0].primitive->nsets, 1);
	assert_int_equal(s.mesh[0].primitive->joint[0][1], 1);
	assert_true(s.mesh[0].primitive->weight[0][1] == 0.75f);
	refused(SKIN("[2]"), raw, sizeof raw, "vertex 0 hangs on joint 1, skin 0 has 1");
	refused(SKIN("[2,2]"), raw, sizeof raw, "node 2 is a joint twice");
	refused(SKIN("[2,9]"), raw, sizeof raw, "joint 1 is no node, there are 3");
}

/* ---- animations ---- */

static void floats(uint8_t *raw, const float *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put_le32(raw + 4 * i, f32_bits(v[i]));
}

#define CLIP(curve, n, bytes) ASSET ",\"buffers\":[{\"byteLength\":80}],\"bufferViews\":[" VIEW("0", "8") "," \
	VIEW("8", bytes) "],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\"}," \
	"{\"bufferView\":1,\"componentType\":5126,\"count\":" n ",\"type\":\"VEC3\"}],\"nodes\":[{}],\"animations\":[" \
	"{\"name\":\"walk\",\"samplers\":[{\"input\":0,\"output\":1,\"interpolation\":\"" curve "\"}],\"channels\":[" \
	"{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"translation\"}}]}]}"

static float sampled(const struct geo_scene *s, double seconds)
{
	float v[4];

	scene_sample(&s->clip[0].channel[0], seconds, v);
	return v[0];
}

static void test_animations(void **state)
{
	/* Keys at 1 and 3 seconds; of a cubic one: in-tangent, value, out-tangent. */
	const float linear[8] = { 1, 3, 10, 0, 0, 20, 0, 0 };
	const float cubic[20] = { 1, 3, 0, 0, 0, 10, 0, 0, 4, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0 };
	uint8_t raw[80] = { 0 };
	struct geo_scene s;

	(void)state;
	floats(raw, linear, 8);
	read_json(&s, CLIP("LINEAR", "2", "24"), raw, sizeof raw);
	assert_string_equal(s.clip[0].name, "walk");
	assert_int_equal(s.clip[0].nchannels, 1);
	assert_true(sampled(&s, 0) == 10 && sampled(&s, 1.5) == 12.5f && sampled(&s, 3) == 20 && sampled(&s, 9) == 20);
	read_json(&s, CLIP("STEP", "2", "24"), raw, sizeof raw);
	assert_true(sampled(&s, 2.9) == 10 && sampled(&s, 3) == 20);
	refused(CLIP("LINEAR", "3", "36"), raw, sizeof raw, "3 values (accessor 1), 2 needed");
	refused(CLIP("CUBIC", "2", "24"), raw, sizeof raw, "none of STEP, LINEAR, CUBICSPLINE");
	floats(raw, cubic, 20);
	read_json(&s, CLIP("CUBICSPLINE", "6", "72"), raw, sizeof raw);
	/* Halfway: (10 + 20) / 2 + 2 seconds * 4 / 8. */
	assert_true(sampled(&s, 2) == 16 && sampled(&s, 1) == 10 && sampled(&s, 3) == 20);
	put_le32(raw + 4, f32_bits(1));
	refused(CLIP("LINEAR", "2", "24"), raw, sizeof raw, "key 1 is not later than the one before");
}

static void test_turns(void **state)
{
	float time[2] = { 0, 2 }, value[8] = { 0, 0, 0, 1, 0, 0, -0.70710678f, -0.70710678f }, out[4];
	const struct scene_channel c = { .path = SCENE_TURN, .curve = SCENE_LINEAR, .nkeys = 2, .time = time,
					 .value = value };

	(void)state;
	/* A quarter around z, written the other way: half of it, the shorter way round. */
	scene_sample(&c, 1, out);
	assert_float_equal(out[2], 0.38268343f, 1e-6);
	assert_float_equal(out[3], 0.92387953f, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_container, end), cmocka_unit_test_teardown(test_nesting, end),
		cmocka_unit_test_teardown(test_triangle, end), cmocka_unit_test_teardown(test_numbers_that_lie, end),
		cmocka_unit_test_teardown(test_modes, end), cmocka_unit_test_teardown(test_packed_numbers, end),
		cmocka_unit_test_teardown(test_normalized, end), cmocka_unit_test_teardown(test_sparse, end),
		cmocka_unit_test_teardown(test_uris, end), cmocka_unit_test_teardown(test_nodes, end),
		cmocka_unit_test_teardown(test_skins, end), cmocka_unit_test_teardown(test_animations, end),
		cmocka_unit_test_teardown(test_turns, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
