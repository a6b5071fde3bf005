/* glTF 2.0 as one binary file (GLB), as any program writes it: the container, and what its JSON has in common. The
 * numbers are read by glbnumbers.c, the meshes by glbmesh.c, the rest by glbscene.c and glbclip.c. Nothing outside the
 * file is ever opened.
 *
 *   0  "glTF", u32 version 2, u32 length; then chunks of u32 size, u32 tag, data: JSON first, then at most one BIN
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "glbread.h"
#include "gltf.h"

#define JSON_DEPTH 64u
#define JSON_VALUES (1u << 21)                 /* each costs 64 bytes and more */
#define JSON_MOST ((size_t)64 << 20)

/* ---- members ---- */

struct named { char text[120]; };

static struct named named(struct glb_what what)
{
	struct named l;

	if (what.number == GEO_NONE)
		snprintf(l.text, sizeof l.text, "%s", what.kind);
	else
		snprintf(l.text, sizeof l.text, "%s %u", what.kind, what.number);
	return l;
}

static int no_number(const char *key, struct glb_what what, struct err *e)
{
	return err_set(e, EINVAL, "%s: %s is no number in range", named(what).text, key);
}

int glb_get_count(const cJSON *o, const char *key, struct glb_what what, uint64_t most, uint64_t *out, struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!v)
		return 0;
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble > (double)most ||
	    v->valuedouble != floor(v->valuedouble))
		return no_number(key, what, e);
	*out = (uint64_t)v->valuedouble;
	return 0;
}

int glb_get_index(const cJSON *o, const char *key, struct glb_what what, uint32_t n, int32_t *out, struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	uint64_t i = 0;
	int rc = glb_get_count(o, key, what, INT32_MAX, &i, e);

	if (rc || !v)
		return rc;
	if (i >= n)
		return err_set(e, EINVAL, "%s: %s is %llu, there are %u", named(what).text, key,
			       (unsigned long long)i, n);
	*out = (int32_t)i;
	return 0;
}

int glb_get_floats(const cJSON *o, const char *key, struct glb_what what, float *out, unsigned n, bool *there,
		   struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, key), *v;
	unsigned i = 0;

	*there = list;
	if (!list)
		return 0;
	cJSON_ArrayForEach(v, list) {
		if (i == n || !cJSON_IsNumber(v) || !isfinite((float)v->valuedouble))
			break;
		out[i++] = (float)v->valuedouble;
	}
	return cJSON_IsArray(list) && i == n && !v ? 0 :
	       err_set(e, EINVAL, "%s: %s is no list of %u numbers", named(what).text, key, n);
}

int glb_get_name(struct glb_file *g, const cJSON *o, const char **out, struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "name");

	*out = "";
	if (!cJSON_IsString(v))
		return 0;
	*out = arena_printf(g->a, "%s", v->valuestring);
	return *out ? 0 : err_nomem(e);
}

int glb_get_list(struct glb_file *g, const cJSON *o, const char *key, struct glb_what what, struct glb_list *out,
		 struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, key), *v;
	size_t n = 0;

	*out = (struct glb_list){ 0 };
	if (!list)
		return 0;
	if (!cJSON_IsArray(list))
		return err_set(e, EINVAL, "%s: %s is no list", named(what).text, key);
	cJSON_ArrayForEach(v, list)
		n++;
	out->v = arena_alloc(g->a, n + 1, sizeof *out->v);
	if (!out->v)
		return err_nomem(e);
	cJSON_ArrayForEach(v, list)
		out->v[out->n++] = v;
	return 0;
}

/* ---- the container ---- */

static int take_chunk(struct glb_file *g, uint32_t tag, const uint8_t *p, size_t n, const uint8_t **json, size_t *njson,
		      struct err *e)
{
	if (!*json) {
		if (tag != GLB_TAG_JSON)
			return err_set(e, EINVAL, "the first chunk is 0x%08x, expected JSON", tag);
		*json = p;
		*njson = n;
	} else if (tag == GLB_TAG_BIN && !g->bin) {
		g->bin = p;
		g->nbin = n;
	}
	return 0;
}

static int find_chunks(struct glb_file *g, const uint8_t *p, size_t n, const uint8_t **json, size_t *njson,
		       struct err *e)
{
	size_t at = GLB_HEADER_SIZE;
	uint64_t size;
	int rc = 0;

	*json = NULL;
	if (n < GLB_HEADER_SIZE + GLB_CHUNK_HEAD || le_u32(p) != GLB_MAGIC)
		return err_set(e, EINVAL, "this is no GLB: it does not begin with glTF");
	if (le_u32(p + 4) != GLB_VERSION)
		return err_set(e, EINVAL, "glTF of version %u, expected %u", le_u32(p + 4), GLB_VERSION);
	size = le_u32(p + 8);
	if (size > n)
		return err_set(e, EINVAL, "%zu bytes, its header counts %llu: it was cut off", n,
			       (unsigned long long)size);
	while (!rc && span_ok(size, at, 1, GLB_CHUNK_HEAD)) {
		uint32_t len = le_u32(p + at);

		if (!span_ok(size, at + GLB_CHUNK_HEAD, 1, len))
			return err_set(e, EINVAL, "a chunk of %u bytes at %zu ends behind the file", len, at);
		rc = take_chunk(g, le_u32(p + at + 4), p + at + GLB_CHUNK_HEAD, len, json, njson, e);
		at += GLB_CHUNK_HEAD + (size_t)len;
	}
	return rc || *json ? rc : err_set(e, EINVAL, "there is no JSON in it");
}

/* How deep and how many values, before anything is allocated for them. */
static int measure(const uint8_t *p, size_t n, struct err *e)
{
	unsigned depth = 0;
	uint32_t values = 0;
	bool text = false;

	if (n > JSON_MOST)
		return err_set(e, EFBIG, "JSON of %zu bytes, more than %zu", n, JSON_MOST);
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"') {
			text = !text;
		} else if (text) {
			i += p[i] == '\\';
		} else if (p[i] == '{' || p[i] == '[') {
			values++;
			if (++depth > JSON_DEPTH)
				return err_set(e, EINVAL, "JSON nested deeper than %u", JSON_DEPTH);
		} else if (p[i] == '}' || p[i] == ']') {
			depth -= depth > 0;
		} else if (p[i] == ',' && ++values > JSON_VALUES) {
			return err_set(e, EFBIG, "JSON of more than %u values", JSON_VALUES);
		}
	}
	return 0;
}

/* ---- all of it ---- */

static int check_asset(struct glb_file *g, struct err *e)
{
	const cJSON *asset = cJSON_GetObjectItemCaseSensitive(g->root, "asset"), *v;

	g->out->generator = "";
	v = cJSON_GetObjectItemCaseSensitive(asset, "version");
	if (!cJSON_IsString(v) || strncmp(v->valuestring, "2.", 2))
		return err_set(e, EINVAL, "asset.version is %s, expected 2.0",
			       cJSON_IsString(v) ? v->valuestring : "not given");
	v = cJSON_GetObjectItemCaseSensitive(asset, "generator");
	if (cJSON_IsString(v))
		g->out->generator = arena_printf(g->a, "%s", v->valuestring);
	return g->out->generator ? 0 : err_nomem(e);
}

/* What packs numbers in ways of its own cannot be read by who does not know it. */
static int check_extensions(struct glb_file *g, struct err *e)
{
	static const char *const known[] = { "KHR_materials_", "KHR_texture_transform", "KHR_lights_punctual",
					     "KHR_mesh_quantization" };
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(g->root, "extensionsRequired"), *v;

	cJSON_ArrayForEach(v, list) {
		bool fine = false;

		for (unsigned i = 0; i < ARRAY_LEN(known) && cJSON_IsString(v); i++)
			fine |= !strncmp(v->valuestring, known[i], strlen(known[i]));
		if (!fine)
			return err_set(e, EINVAL, "it needs the extension %s, which is not known here",
				       cJSON_IsString(v) ? v->valuestring : "(no name)");
	}
	return 0;
}

static int read_lists(struct glb_file *g, struct err *e)
{
	const struct { const char *key; struct glb_list *list; } lists[] = {
		{ "buffers", &g->buffers }, { "bufferViews", &g->views }, { "accessors", &g->accessors },
		{ "meshes", &g->meshes }, { "nodes", &g->nodes }, { "skins", &g->skins },
		{ "materials", &g->materials }, { "textures", &g->textures }, { "images", &g->images },
		{ "animations", &g->clips },
	};
	int rc = 0;

	for (unsigned i = 0; i < ARRAY_LEN(lists) && !rc; i++)
		rc = glb_get_list(g, g->root, lists[i].key, (struct glb_what){ "the file", GEO_NONE }, lists[i].list, e);
	if (rc)
		return rc;
	g->buffer = arena_alloc(g->a, (size_t)g->buffers.n + 1, sizeof *g->buffer);
	return g->buffer ? 0 : err_nomem(e);
}

static int read_all(struct glb_file *g, struct err *e)
{
	int rc = cJSON_IsObject(g->root) ? check_asset(g, e) : err_set(e, EINVAL, "its JSON is no object");

	rc = rc ? rc : check_extensions(g, e);
	rc = rc ? rc : read_lists(g, e);
	rc = rc ? rc : glb_read_pictures(g, e);
	rc = rc ? rc : glb_read_meshes(g, e);
	rc = rc ? rc : glb_read_nodes(g, e);
	rc = rc ? rc : glb_read_skins(g, e);
	return rc ? rc : glb_read_clips(g, e);
}

int glb_read(const uint8_t *bytes, size_t n, struct geo_scene *out, struct arena *a, struct err *e)
{
	struct glb_file g = { .a = a, .out = out };
	const uint8_t *json;
	const char *end = NULL;
	cJSON *root;
	size_t njson = 0;
	int rc = find_chunks(&g, bytes, n, &json, &njson, e);

	*out = (struct geo_scene){ 0 };
	rc = rc ? rc : measure(json, njson, e);
	if (rc)
		return rc;
	root = cJSON_ParseWithLengthOpts((const char *)json, njson, &end, 0);
	if (!root)
		return err_set(e, EINVAL, "its JSON cannot be read, from byte %zu on",
			       end ? (size_t)(end - (const char *)json) : 0);
	g.root = root;
	rc = read_all(&g, e);
	cJSON_Delete(root);
	return rc;
}
