/* The numbers of a GLB: accessors of every component type, with a stride, normalized, sparse; buffers, and the bytes of
 * data: URIs. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bytes.h"
#include "glbread.h"
#include "gltf.h"

static unsigned size_of(unsigned type)
{
	switch (type) {
	case GLTF_I8: case GLTF_U8: return 1;
	case GLTF_I16: case GLTF_U16: return 2;
	case GLTF_U32: case GLTF_F32: return 4;
	default: return 0;
	}
}

/* ---- data: URIs ---- */

static int digit(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 :
	       c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static int decode(const char *text, size_t n, uint8_t *out, size_t *len)
{
	uint32_t bits = 0;
	unsigned have = 0;

	*len = 0;
	while (n && text[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		int d = digit(text[i]);

		if (d < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)d;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		out[(*len)++] = (uint8_t)(bits >> have);
	}
	return n % 4 == 1 ? -EINVAL : 0;
}

int glb_read_uri(struct glb_file *g, const char *uri, struct glb_what what, const uint8_t **out, size_t *n,
		 struct err *e)
{
	const char *comma = strchr(uri, ',');
	size_t len;
	uint8_t *p;

	if (strncmp(uri, "data:", 5))
		return err_set(e, EINVAL, "%s %u lies in a file of its own; only what is inside the GLB is read",
			       what.kind, what.number);
	if (!comma || comma - uri < 7 || strncmp(comma - 7, ";base64", 7))
		return err_set(e, EINVAL, "%s %u: a data: URI that is not base64", what.kind, what.number);
	len = strlen(comma + 1);
	p = arena_alloc(g->a, len / 4 * 3 + 4, 1);
	if (!p)
		return err_nomem(e);
	*out = p;
	return decode(comma + 1, len, p, n) ?
		err_set(e, EINVAL, "%s %u: its base64 is damaged", what.kind, what.number) : 0;
}

/* ---- buffers ---- */

static int get_buffer(struct glb_file *g, uint32_t number, const struct glb_view **out, struct err *e)
{
	const struct glb_what what = { "buffer", number };
	const cJSON *o = g->buffers.v[number], *uri = cJSON_GetObjectItemCaseSensitive(o, "uri");
	struct glb_view *b = &g->buffer[number];
	uint64_t size = 0;
	size_t n = g->nbin;
	int rc = 0;

	*out = b;
	if (b->p)
		return 0;
	rc = glb_get_count(o, "byteLength", what, UINT32_MAX, &size, e);
	if (!rc && cJSON_IsString(uri))
		rc = glb_read_uri(g, uri->valuestring, what, &b->p, &n, e);
	else if (!rc && !number)
		b->p = g->bin;
	if (!rc && (!b->p || size > n))
		rc = err_set(e, EINVAL, "buffer %u has %zu bytes, byteLength says %" PRIu64, number, b->p ? n : 0,
			     size);
	b->n = size;
	if (rc)
		b->p = NULL;
	return rc;
}

int glb_view_get(struct glb_file *g, uint32_t number, struct glb_view *out, struct err *e)
{
	const struct glb_what what = { "bufferView", number };
	const cJSON *o = g->views.v[number];
	const struct glb_view *b;
	uint64_t at = 0, n = 0, stride = 0;
	int32_t buffer = -1;
	int rc = glb_get_index(o, "buffer", what, g->buffers.n, &buffer, e);

	rc = rc ? rc : glb_get_count(o, "byteOffset", what, UINT32_MAX, &at, e);
	rc = rc ? rc : glb_get_count(o, "byteLength", what, UINT32_MAX, &n, e);
	rc = rc ? rc : glb_get_count(o, "byteStride", what, 252, &stride, e);
	if (!rc && buffer < 0)
		rc = err_set(e, EINVAL, "bufferView %u has no buffer", number);
	rc = rc ? rc : get_buffer(g, (uint32_t)buffer, &b, e);
	if (rc)
		return rc;
	if (!span_ok(b->n, at, n, 1))
		return err_set(e, EINVAL, "bufferView %u: %" PRIu64 " bytes at %" PRIu64 ", buffer %d has %" PRIu64,
			       number, n, at, buffer, b->n);
	*out = (struct glb_view){ b->p + at, n, (uint32_t)stride };
	return 0;
}

/* ---- accessors ---- */

static unsigned comps_of(const char *shape)
{
	static const struct { const char *name; unsigned n; } shapes[] = {
		{ "SCALAR", 1 }, { "VEC2", 2 }, { "VEC3", 3 }, { "VEC4", 4 }, { "MAT4", 16 }
	};

	for (unsigned i = 0; i < ARRAY_LEN(shapes); i++)
		if (!strcmp(shape, shapes[i].name))
			return shapes[i].n;
	return 0;                              /* the smaller matrices have padding, and nothing here has them */
}

int glb_accessor_get(struct glb_file *g, uint32_t number, struct glb_accessor *out, struct err *e)
{
	const struct glb_what what = { "accessor", number };
	const cJSON *o = g->accessors.v[number], *shape = cJSON_GetObjectItemCaseSensitive(o, "type");
	uint64_t type = 0;
	int rc;

	*out = (struct glb_accessor){ .number = number };
	rc = glb_get_count(o, "componentType", what, UINT16_MAX, &type, e);
	rc = rc ? rc : glb_get_count(o, "count", what, UINT32_MAX, &out->count, e);
	if (rc)
		return rc;
	out->type = (unsigned)type;
	out->comps = cJSON_IsString(shape) ? comps_of(shape->valuestring) : 0;
	out->normalized = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "normalized"));
	if (!size_of(out->type))
		return err_set(e, EINVAL, "accessor %u: componentType %u is none of 5120 to 5123, 5125, 5126", number,
			       out->type);
	if (!out->comps)
		return err_set(e, EINVAL, "accessor %u: type %s is none of SCALAR, VEC2 to VEC4, MAT4", number,
			       cJSON_IsString(shape) ? shape->valuestring : "(none)");
	return 0;
}

/* Where the n items of an accessor, or of its sparse values, lie; p NULL: all are zero. */
static int find_items(struct glb_file *g, const cJSON *o, const struct glb_accessor *about, uint64_t n, unsigned each,
		      bool strided, struct glb_view *out, struct err *e)
{
	const struct glb_what what = { "accessor", about->number };
	int32_t view = -1;
	uint64_t at = 0, most;
	int rc = glb_get_index(o, "bufferView", what, g->views.n, &view, e);

	*out = (struct glb_view){ 0 };
	rc = rc ? rc : glb_get_count(o, "byteOffset", what, UINT32_MAX, &at, e);
	if (rc || view < 0)
		return rc;
	rc = glb_view_get(g, (uint32_t)view, out, e);
	if (rc)
		return rc;
	if (!strided || !out->stride)
		out->stride = each;
	/* The last item need not have all of its stride. */
	most = out->n < each || at > out->n - each || out->stride < each ? 0 :
	       (out->n - each - at) / out->stride + 1;
	if (n > most)
		return err_set(e, EINVAL, "accessor %u: %" PRIu64 " items, bufferView %d has %" PRIu64, about->number,
			       n, view, most);
	out->p += most ? at : 0;               /* without an item it may lie anywhere */
	return 0;
}

/* As doubles: exact for all types. */
static double number_at(const uint8_t *p, unsigned type, bool normalized)
{
	double v;

	switch (type) {
	case GLTF_I8:
		v = (int8_t)*p;
		return normalized ? fmax(v / 127, -1) : v;
	case GLTF_U8: return normalized ? *p / 255.0 : *p;
	case GLTF_I16:
		v = (int16_t)le_u16(p);
		return normalized ? fmax(v / 32767, -1) : v;
	case GLTF_U16: return normalized ? le_u16(p) / 65535.0 : le_u16(p);
	case GLTF_U32: return le_u32(p);
	default: return (double)le_f32(p);
	}
}

/* An item as floats, or as integers. */
static int take_item(const struct glb_accessor *about, const uint8_t *p, uint64_t i, float *floats, uint32_t *integers,
		     struct err *e)
{
	for (unsigned k = 0; k < about->comps; k++, p += size_of(about->type)) {
		double v = number_at(p, about->type, about->normalized && !integers);

		if (!isfinite(v) && about->lax)
			v = 0;
		if (!isfinite(v))
			return err_set(e, EINVAL, "accessor %u: number %u of item %" PRIu64 " is not finite",
				       about->number, k, i);
		if (integers)
			integers[k] = (uint32_t)v;
		else
			floats[k] = (float)v;
	}
	return 0;
}

static int take_all(const struct glb_accessor *about, const struct glb_view *items, float *floats, uint32_t *integers,
		    struct err *e)
{
	int rc = 0;

	for (uint64_t i = 0; items->p && i < about->count && !rc; i++)
		rc = take_item(about, items->p + i * items->stride, i, floats ? floats + i * about->comps : NULL,
			       integers ? integers + i * about->comps : NULL, e);
	return rc;
}

static int take_sparse(struct glb_file *g, const cJSON *sparse, const struct glb_accessor *about, float *floats,
		       uint32_t *integers, struct err *e)
{
	const struct glb_what what = { "accessor", about->number };
	const cJSON *where = cJSON_GetObjectItemCaseSensitive(sparse, "indices");
	const cJSON *values = cJSON_GetObjectItemCaseSensitive(sparse, "values");
	struct glb_view at, to;
	uint64_t n = 0, type = 0;
	int rc = glb_get_count(sparse, "count", what, about->count, &n, e);

	rc = rc ? rc : glb_get_count(where, "componentType", what, UINT16_MAX, &type, e);
	if (!rc && type != GLTF_U8 && type != GLTF_U16 && type != GLTF_U32)
		rc = err_set(e, EINVAL, "accessor %u: sparse indices of componentType %" PRIu64 ", expected 5121, "
			     "5123 or 5125", about->number, type);
	rc = rc ? rc : find_items(g, where, about, n, size_of((unsigned)type), false, &at, e);
	rc = rc ? rc : find_items(g, values, about, n, size_of(about->type) * about->comps, false, &to, e);
	if (!rc && n && (!at.p || !to.p))
		rc = err_set(e, EINVAL, "accessor %u: its sparse indices or values have no bufferView", about->number);
	for (uint64_t k = 0; k < n && !rc; k++) {
		uint64_t i = (uint64_t)number_at(at.p + k * at.stride, (unsigned)type, false);

		if (i >= about->count)
			return err_set(e, EINVAL, "accessor %u: sparse index %" PRIu64 ", it has %" PRIu64 " items",
				       about->number, i, about->count);
		rc = take_item(about, to.p + k * to.stride, i, floats ? floats + i * about->comps : NULL,
			       integers ? integers + i * about->comps : NULL, e);
	}
	return rc;
}

/* One accessor can be named by any number of primitives. */
static int make_room(struct glb_file *g, const struct glb_accessor *about, void **out, struct err *e)
{
	uint64_t size = about->count * about->comps * 4;

	if (size > LIMIT_DECODED - g->decoded)
		return err_set(e, EFBIG, "accessor %u: %" PRIu64 " items, with all before more than %zu bytes",
			       about->number, about->count, LIMIT_DECODED);
	g->decoded += size;
	*out = arena_alloc(g->a, (size_t)about->count * about->comps + 1, 4);
	return *out ? 0 : err_nomem(e);
}

static int read_accessor(struct glb_file *g, struct glb_accessor *about, unsigned comps, float **floats,
			 uint32_t **integers, struct err *e)
{
	const cJSON *o = g->accessors.v[about->number], *sparse = cJSON_GetObjectItemCaseSensitive(o, "sparse");
	struct glb_view items;
	int rc;

	if (about->comps != comps)
		return err_set(e, EINVAL, "accessor %u: items of %u numbers, expected %u", about->number, about->comps,
			       comps);
	rc = find_items(g, o, about, about->count, size_of(about->type) * comps, true, &items, e);
	rc = rc ? rc : make_room(g, about, floats ? (void **)floats : (void **)integers, e);
	rc = rc ? rc : take_all(about, &items, floats ? *floats : NULL, integers ? *integers : NULL, e);
	if (!rc && sparse)
		rc = take_sparse(g, sparse, about, floats ? *floats : NULL, integers ? *integers : NULL, e);
	return rc;
}

int glb_read_floats(struct glb_file *g, uint32_t number, unsigned comps, struct glb_accessor *about, float **out,
		    struct err *e)
{
	int rc = glb_accessor_get(g, number, about, e);

	return rc ? rc : read_accessor(g, about, comps, out, NULL, e);
}

int glb_read_directions(struct glb_file *g, uint32_t number, unsigned comps, struct glb_accessor *about, float **out,
			struct err *e)
{
	int rc = glb_accessor_get(g, number, about, e);

	about->lax = true;
	return rc ? rc : read_accessor(g, about, comps, out, NULL, e);
}

int glb_read_integers(struct glb_file *g, uint32_t number, unsigned comps, struct glb_accessor *about, uint32_t **out,
		      struct err *e)
{
	int rc = glb_accessor_get(g, number, about, e);

	if (!rc && about->type != GLTF_U8 && about->type != GLTF_U16 && about->type != GLTF_U32)
		rc = err_set(e, EINVAL, "accessor %u: componentType %u, expected 5121, 5123 or 5125", number,
			     about->type);
	return rc ? rc : read_accessor(g, about, comps, NULL, out, e);
}
