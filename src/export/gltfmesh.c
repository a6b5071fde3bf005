/* The primitives of a mesh in a GLB, and their attributes. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bytes.h"
#include "gltf.h"

#define SHORTEST_INDEX 65535u                  /* vertices that 16 bits can number: the last value is none */
#define INFLUENCES_MOST 255u                   /* of a vertex: geo_mesh counts in bytes */

/* What becomes one primitive. */
struct primitive {
	uint32_t *part, nparts;
	uint32_t *lone, nlone;                 /* vertices without a face that go with it */
	bool hidden;
};

struct meshing {
	struct glb *g;
	const struct geo_mesh *m;
	const struct geo_material *of_part;
	struct primitive *prim;
	uint32_t nprims;
	const struct geo_stream *normal, *tangent, *colour, *uv[GEO_UV_SETS];
	bool skinned;
	struct arena *a;

	/* Of the primitive at hand: */
	struct geo_flat flat;
	float (*made)[3];                      /* normals by its faces, once they are needed */
	cJSON *attributes;
};

/* ---- which faces go together ---- */

/* Parts that are only runs go together by material. */
static uint32_t *table_of_materials(const struct geo_mesh *m, struct arena *a)
{
	int32_t most = -1;
	uint32_t *table;

	for (unsigned k = 0; k < m->nparts; k++)
		most = m->parts[k].material > most ? m->parts[k].material : most;
	table = arena_alloc(a, (size_t)most + 2, sizeof *table);
	for (int32_t i = 0; table && i < most + 2; i++)
		table[i] = GEO_NONE;
	return table;
}

/* Numbers of primitives by part; GEO_NONE: it has no faces. */
static uint32_t *assign_parts(struct meshing *x)
{
	const struct geo_mesh *m = x->m;
	uint32_t *of_part = arena_alloc(x->a, (size_t)m->nparts + 1, sizeof *of_part);
	uint32_t *table = m->objects ? table_of_materials(m, x->a) : NULL;

	if (!of_part || (m->objects && !table))
		return NULL;
	for (unsigned k = 0; k < m->nparts; k++) {
		uint32_t *same = table ? &table[m->parts[k].material + 1] : NULL;

		of_part[k] = GEO_NONE;
		if (!m->parts[k].nfaces)
			continue;
		of_part[k] = same && *same != GEO_NONE ? *same : x->nprims++;
		if (same)
			*same = of_part[k];
	}
	return of_part;
}

static bool list_parts(struct meshing *x, const uint32_t *of_part)
{
	uint32_t *list = arena_alloc(x->a, (size_t)x->m->nparts + 1, sizeof *list);

	x->prim = arena_alloc(x->a, (size_t)x->nprims + 1, sizeof *x->prim);
	if (!list || !x->prim)
		return false;
	for (unsigned k = 0; k < x->m->nparts; k++)
		if (of_part[k] != GEO_NONE)
			x->prim[of_part[k]].nparts++;
	for (uint32_t i = 0; i < x->nprims; i++) {
		x->prim[i].part = list;
		list += x->prim[i].nparts;
		x->prim[i].nparts = 0;
	}
	for (unsigned k = 0; k < x->m->nparts; k++) {
		struct primitive *p = of_part[k] == GEO_NONE ? NULL : &x->prim[of_part[k]];

		if (!p)
			continue;
		p->part[p->nparts++] = k;
		p->hidden = x->m->parts[k].hidden;
	}
	return true;
}

/* owner: number + 1. */
static void own_corners(const struct geo_mesh *m, const struct geo_part *part, uint32_t owner, uint32_t *of_vertex)
{
	for (uint32_t f = part->first_face; f < part->first_face + part->nfaces; f++)
		for (unsigned c = 0; c < (m->quad ? 4u : 3u); c++) {
			uint32_t v = m->quad ? m->quad[f][c] : m->face[f][c];

			if (v != GEO_NONE)
				of_vertex[v] = owner;
		}
}

/* A vertex without a face goes with the one before it, so that all that are stored are there; without any faces the
 * first primitive has all. */
static bool find_lone(struct meshing *x)
{
	const struct geo_mesh *m = x->m;
	uint32_t *owner = arena_alloc(x->a, (size_t)m->nvertices + 1, sizeof *owner), *list, last = 1;

	list = arena_alloc(x->a, (size_t)m->nvertices + 1, sizeof *list);
	if (!owner || !list)
		return false;
	for (uint32_t i = x->nprims; i-- > 0;)
		for (uint32_t k = 0; k < x->prim[i].nparts; k++)
			own_corners(m, &m->parts[x->prim[i].part[k]], i + 1, owner);
	for (uint32_t v = 0; v < m->nvertices; v++) {
		last = owner[v] ? owner[v] : last;
		x->prim[last - 1].nlone += !owner[v];
	}
	for (uint32_t i = 0; i <= x->nprims; i++) {
		x->prim[i].lone = list;
		list += x->prim[i].nlone;
		x->prim[i].nlone = 0;
	}
	last = 1;
	for (uint32_t v = 0; v < m->nvertices; v++) {
		struct primitive *p;

		last = owner[v] ? owner[v] : last;
		p = &x->prim[last - 1];
		if (!owner[v])
			p->lone[p->nlone++] = v;
	}
	return true;
}

static bool find_primitives(struct meshing *x)
{
	uint32_t *of_part = assign_parts(x);

	return of_part && list_parts(x, of_part) && find_lone(x);
}

/* ---- values ---- */

static unsigned stream_number(const struct meshing *x, const struct geo_stream *s)
{
	return (unsigned)(s - x->m->streams);
}

/* The number of vertex i's value in a stream; GEO_NONE. */
static uint32_t value_number(const struct meshing *x, const struct geo_stream *s, uint32_t i)
{
	return x->flat.value[(size_t)i * x->m->nstreams + stream_number(x, s)];
}

static void get_value(const struct meshing *x, const struct geo_stream *s, uint32_t value, float *out)
{
	for (unsigned k = 0; k < s->comps; k++)
		out[k] = (float)geo_stream_number(x->m, s, (size_t)value * s->comps + k);
}

static void get_position(const struct meshing *x, uint32_t i, float out[3])
{
	for (unsigned k = 0; k < 3; k++)
		out[k] = (float)geo_place_number(x->m, x->flat.vertex[i], k);
}

static uint8_t *put_floats(uint8_t *p, const float *v, unsigned n)
{
	for (unsigned k = 0; k < n; k++, p += 4)
		put_le32(p, f32_bits(v[k]));
	return p;
}

/* Makes it as long as 1; false: it has no direction. */
static bool make_unit(float v[3])
{
	double length = sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]);

	if (!(length > 0) || !isfinite(length))
		return false;
	for (unsigned k = 0; k < 3; k++)
		v[k] = (float)(v[k] / length);
	/* The smallest numbers lose their direction. */
	return fabs((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2] - 1) < 1e-3;
}

static cJSON *add_attribute(struct meshing *x, const char *name, unsigned number, enum gltf_type type,
			    const char *shape, uint32_t each, uint8_t **out)
{
	struct glb *g = x->g;
	char *key = arena_printf(x->a, number == GEO_NONE ? "%s" : "%s_%u", name, number);
	uint32_t view, accessor;
	cJSON *a;

	*out = glb_view(g, (uint64_t)x->flat.nvertices * each, GLTF_VERTICES, &view);
	a = glb_accessor(g, view, type, x->flat.nvertices, shape, &accessor);
	if (a && key && cJSON_AddNumberToObject(x->attributes, key, accessor))
		return a;
	glb_fail(g, ENOMEM);
	return NULL;
}

static void put_positions(struct meshing *x)
{
	float v[3], low[3], high[3];
	uint8_t *p;
	cJSON *a = add_attribute(x, "POSITION", GEO_NONE, GLTF_F32, "VEC3", 12, &p);

	for (uint32_t i = 0; i < x->flat.nvertices; i++) {
		get_position(x, i, v);
		for (unsigned k = 0; k < 3; k++) {
			low[k] = i && low[k] < v[k] ? low[k] : v[k];
			high[k] = i && high[k] > v[k] ? high[k] : v[k];
		}
		if (p)
			p = put_floats(p, v, 3);
	}
	if (!a)
		return;
	glb_put_floats(x->g, a, "min", low, 3);
	glb_put_floats(x->g, a, "max", high, 3);
}

/* Sums of the faces around each vertex, by area: the normals of those that have none. */
static float (*face_normals(struct meshing *x))[3]
{
	const struct geo_flat *f = &x->flat;
	float (*sum)[3] = arena_alloc(x->a, (size_t)f->nvertices + 1, sizeof *sum);

	for (uint32_t i = 0; sum && i < f->ncorners; i += 3) {
		float v[3][3], n[3];

		for (unsigned c = 0; c < 3; c++)
			get_position(x, f->corner[i + c], v[c]);
		for (unsigned k = 0; k < 3; k++) {
			unsigned a = (k + 1) % 3, b = (k + 2) % 3;

			n[k] = (v[1][a] - v[0][a]) * (v[2][b] - v[0][b]) - (v[1][b] - v[0][b]) * (v[2][a] - v[0][a]);
		}
		for (unsigned c = 0; c < 3 && make_unit(n); c++)
			for (unsigned k = 0; k < 3; k++)
				sum[f->corner[i + c]][k] += n[k];
	}
	return sum;
}

/* The normal of vertex i; what has none takes that of its faces, which are made once. */
static void get_normal(struct meshing *x, uint32_t i, float out[3])
{
	uint32_t value = value_number(x, x->normal, i);

	if (value != GEO_NONE) {
		get_value(x, x->normal, value, out);
		if (make_unit(out))
			return;
	}
	if (!x->made)
		x->made = face_normals(x);
	memset(out, 0, 3 * sizeof *out);
	if (x->made)
		memcpy(out, x->made[i], 3 * sizeof *out);
	else
		glb_fail(x->g, ENOMEM);
	if (!make_unit(out))
		out[1] = 1;
}

static void put_normals(struct meshing *x)
{
	float n[3];
	uint8_t *p;

	x->made = NULL;
	add_attribute(x, "NORMAL", GEO_NONE, GLTF_F32, "VEC3", 12, &p);
	for (uint32_t i = 0; p && i < x->flat.nvertices; i++) {
		get_normal(x, i, n);
		p = put_floats(p, n, 3);
	}
}

/* Something at a right angle to n. */
static void get_side(const float n[3], float out[3])
{
	bool along_x = fabsf(n[0]) > 0.7f;

	out[0] = along_x ? -n[1] : 0;
	out[1] = along_x ? n[0] : n[2];
	out[2] = along_x ? 0 : -n[1];
	make_unit(out);
}

static void put_tangents(struct meshing *x)
{
	float n[3], t[4];
	uint8_t *p;

	add_attribute(x, "TANGENT", GEO_NONE, GLTF_F32, "VEC4", 16, &p);
	for (uint32_t i = 0; p && i < x->flat.nvertices; i++) {
		get_value(x, x->tangent, value_number(x, x->tangent, i), t);
		if (!make_unit(t)) {
			get_normal(x, i, n);
			get_side(n, t);
		}
		t[3] = t[3] < 0 ? -1 : 1;
		p = put_floats(p, t, 4);
	}
}

static void put_uvs(struct meshing *x, unsigned set)
{
	uint8_t *p;

	add_attribute(x, "TEXCOORD", set, GLTF_F32, "VEC2", 8, &p);
	for (uint32_t i = 0; p && i < x->flat.nvertices; i++) {
		uint32_t value = x->uv[set] ? value_number(x, x->uv[set], i) : GEO_NONE;
		float v[2] = { 0 };

		if (value != GEO_NONE)
			get_value(x, x->uv[set], value, v);
		p = put_floats(p, v, 2);
	}
}

/* Vertices without a colour are white. Whether one is clear. */
static bool put_colours(struct meshing *x)
{
	unsigned comps = x->colour->comps;
	bool clear = false;
	uint8_t *p;

	add_attribute(x, "COLOR", 0, GLTF_F32, comps == 4 ? "VEC4" : "VEC3", 4 * comps, &p);
	for (uint32_t i = 0; i < x->flat.nvertices; i++) {
		uint32_t value = value_number(x, x->colour, i);
		size_t at = (size_t)value * comps;
		float v[4] = { 1, 1, 1, 1 };

		if (x->m->fixed_bits ? x->colour->fixed[at] != GEO_NO_FIXED : !isnan(x->colour->v[at]))
			get_value(x, x->colour, value, v);
		for (unsigned k = 0; k < comps; k++)
			v[k] = v[k] > 0 ? v[k] < 1 ? v[k] : 1 : 0;
		clear |= v[3] < 1;
		if (p)
			p = put_floats(p, v, comps);
	}
	return clear;
}

/* ---- joints and weights ---- */

struct influence { uint32_t joint; double weight; };

/* Pairs of one joint become one. What is below zero is taken from the largest: the others stay, and so does the sum. */
static double settle_weights(struct influence *v, unsigned n)
{
	double debt = 0, sum = 0;

	for (unsigned i = 0; i < n; i++) {
		if (v[i].weight < 0) {
			debt -= v[i].weight;
			v[i].weight = 0;
		}
		sum += v[i].weight;
	}
	sum -= debt;
	while (debt > 0 && sum > 0) {
		unsigned most = 0;
		double taken;

		for (unsigned i = 1; i < n; i++)
			most = v[i].weight > v[most].weight ? i : most;
		taken = debt < v[most].weight ? debt : v[most].weight;
		v[most].weight -= taken;
		debt -= taken;
	}
	return sum;
}

/* What glTF asks for: weights above zero that sum to 1, each joint once. Weights of bones that are not there are left
 * out, and a vertex that has no others is tied to the first bone that it names. */
static unsigned get_influences(const struct meshing *x, uint32_t i, struct influence out[INFLUENCES_MOST])
{
	const struct geo_mesh *m = x->m;
	uint32_t v = x->flat.vertex[i], first = m->first_influence[v], joints = x->g->skeleton->n, named = GEO_NONE;
	unsigned n = 0, kept = 0;
	double sum;

	for (unsigned k = 0; k < m->ninfluences[v]; k++) {
		int32_t joint = m->joint[first + k];
		unsigned same = 0;

		if (joint < 0 || (uint32_t)joint >= joints)
			continue;
		named = named == GEO_NONE ? (uint32_t)joint : named;
		while (same < n && out[same].joint != (uint32_t)joint)
			same++;
		if (same == n)
			out[n++] = (struct influence){ (uint32_t)joint, 0 };
		out[same].weight += geo_shown(m->weight[first + k]);
	}
	sum = settle_weights(out, n);
	for (unsigned k = 0; k < n && sum > 0; k++) {
		out[k].weight = (double)(float)(out[k].weight / sum);
		if (out[k].weight > 0)
			out[kept++] = out[k];
	}
	if (!kept)
		out[kept++] = (struct influence){ named == GEO_NONE ? 0 : named, 1 };
	return kept;
}

static void put_joints(struct meshing *x, unsigned set)
{
	unsigned size = x->g->skeleton->n > 256 ? 2 : 1;
	struct influence v[INFLUENCES_MOST];
	uint8_t *p;

	add_attribute(x, "JOINTS", set, size == 2 ? GLTF_U16 : GLTF_U8, "VEC4", 4 * size, &p);
	for (uint32_t i = 0; p && i < x->flat.nvertices; i++) {
		unsigned n = get_influences(x, i, v);

		for (unsigned k = 4 * set; k < 4 * set + 4; k++, p += size) {
			uint32_t joint = k < n ? v[k].joint : 0;

			if (size == 2)
				put_le16(p, (uint16_t)joint);
			else
				*p = (uint8_t)joint;
		}
	}
}

static void put_weights(struct meshing *x, unsigned set)
{
	struct influence v[INFLUENCES_MOST];
	uint8_t *p;

	add_attribute(x, "WEIGHTS", set, GLTF_F32, "VEC4", 16, &p);
	for (uint32_t i = 0; p && i < x->flat.nvertices; i++) {
		unsigned n = get_influences(x, i, v);

		for (unsigned k = 4 * set; k < 4 * set + 4; k++)
			p = put_floats(p, &(float){ k < n ? (float)v[k].weight : 0 }, 1);
	}
}

static void put_skin(struct meshing *x)
{
	struct influence v[INFLUENCES_MOST];
	unsigned most = 1;

	for (uint32_t i = 0; i < x->flat.nvertices; i++) {
		unsigned n = get_influences(x, i, v);

		most = n > most ? n : most;
	}
	for (unsigned set = 0; set < (most + 3) / 4; set++) {
		put_joints(x, set);
		put_weights(x, set);
	}
}

/* Joints that some vertex names. */
static bool is_skinned(const struct meshing *x)
{
	const struct geo_mesh *m = x->m;

	for (uint32_t v = 0; x->g->skeleton && m->joint && v < m->nvertices; v++)
		for (unsigned k = 0; k < m->ninfluences[v]; k++) {
			int32_t joint = m->joint[m->first_influence[v] + k];

			if (joint >= 0 && (uint32_t)joint < x->g->skeleton->n)
				return true;
		}
	return false;
}

/* ---- primitives ---- */

static uint32_t put_corners(struct meshing *x)
{
	const struct geo_flat *f = &x->flat;
	unsigned each = f->nvertices <= SHORTEST_INDEX ? 2 : 4;
	uint32_t view, number;
	uint8_t *p = glb_view(x->g, (uint64_t)f->ncorners * each, GLTF_INDICES, &view);

	glb_accessor(x->g, view, each == 2 ? GLTF_U16 : GLTF_U32, f->ncorners, "SCALAR", &number);
	for (uint32_t i = 0; p && i < f->ncorners; i++, p += each) {
		if (each == 2)
			put_le16(p, (uint16_t)f->corner[i]);
		else
			put_le32(p, f->corner[i]);
	}
	return number;
}

/* Whether some vertex of the primitive has a value. */
static bool has_values(const struct meshing *x, const struct geo_stream *s)
{
	for (uint32_t i = 0; s && i < x->flat.nvertices; i++)
		if (value_number(x, s, i) != GEO_NONE)
			return true;
	return false;
}

/* What has a picture needs a place in it: 0 0 where none is stored. Whether a vertex colour is clear. */
static bool put_attributes(struct meshing *x, bool picture)
{
	bool clear = false;

	put_positions(x);
	if (has_values(x, x->normal)) {
		put_normals(x);
		if (x->tangent && x->flat.ncorners)
			put_tangents(x);
	}
	for (unsigned set = 0; set < GEO_UV_SETS && (has_values(x, x->uv[set]) || (picture && !set)); set++)
		put_uvs(x, set);
	if (x->colour)
		clear = put_colours(x);
	if (x->skinned)
		put_skin(x);
	return clear;
}

/* The faces that become its triangles, one after the other. */
static uint32_t *traced_faces(const struct meshing *x, const struct primitive *prim, struct arena *a)
{
	const struct geo_mesh *m = x->m;
	uint32_t *face = arena_alloc(a, x->flat.ncorners / 3 + 1, sizeof *face), n = 0;

	for (uint32_t k = 0; face && k < prim->nparts; k++) {
		const struct geo_part *part = &m->parts[prim->part[k]];

		for (uint32_t f = part->first_face; f < part->first_face + part->nfaces; f++) {
			face[n++] = f;
			if (m->quad && m->quad[f][3] != GEO_NONE)
				face[n++] = f;
		}
	}
	return face;
}

static int trace(const struct meshing *x, const struct primitive *prim, struct err *e)
{
	struct glb_trace *t = x->g->trace;
	struct glb_traced *out;
	size_t n = x->flat.nvertices, values = n * x->m->nstreams;

	if (!t)
		return 0;
	if (!t->prim)
		t->prim = arena_alloc(t->a, (size_t)x->nprims + 1, sizeof *t->prim);
	if (!t->prim)
		return err_nomem(e);
	out = &t->prim[t->nprims++];
	out->nvertices = x->flat.nvertices;
	out->nfaces = x->flat.ncorners / 3;
	out->vertex = arena_alloc(t->a, n + 1, sizeof *out->vertex);
	out->value = arena_alloc(t->a, values + 1, sizeof *out->value);
	out->face = traced_faces(x, prim, t->a);
	if (!out->vertex || !out->value || !out->face)
		return err_nomem(e);
	memcpy(out->vertex, x->flat.vertex, n * sizeof *out->vertex);
	memcpy(out->value, x->flat.value, values * sizeof *out->value);
	return 0;
}

static int put_primitive(struct meshing *x, const struct primitive *prim, cJSON *list, struct err *e)
{
	struct glb *g = x->g;
	cJSON *p = cJSON_CreateObject();
	int32_t material = prim->nparts ? x->m->parts[prim->part[0]].material : -1;
	int rc = geo_flatten(x->m, prim->part, prim->nparts, prim->lone, prim->nlone, &x->flat, x->a, e);
	bool clear;

	rc = rc ? rc : trace(x, prim, e);
	x->attributes = cJSON_CreateObject();
	if (rc || !p || !x->attributes) {
		cJSON_Delete(p);
		cJSON_Delete(x->attributes);
		return rc ? rc : err_nomem(e);
	}
	clear = put_attributes(x, material >= 0 && x->of_part[prim->part[0]].image >= 0);
	glb_put(g, p, "attributes", x->attributes);
	if (x->flat.ncorners)
		glb_put_number(g, p, "indices", put_corners(x));
	else
		glb_put_number(g, p, "mode", 0);
	if (material >= 0 && x->of_part[prim->part[0]].name)
		glb_put_number(g, p, "material",
			       glb_material(g, material, &x->of_part[prim->part[0]], clear));
	if (prim->hidden)
		glb_put_hidden(g, p);
	glb_push(g, list, p);
	return g->bad == ENOMEM ? err_nomem(e) : 0;
}

static void find_streams(struct meshing *x)
{
	const struct geo_mesh *m = x->m;

	for (unsigned i = 0; i < m->nstreams; i++) {
		const struct geo_stream *s = &m->streams[i];

		switch (s->attr) {
		case GEO_NORMAL: x->normal = s; break;
		case GEO_TANGENT: x->tangent = s; break;
		case GEO_COLOUR: x->colour = s; break;
		default: x->uv[s->set % GEO_UV_SETS] = s;
		}
	}
}

int glb_primitives(struct glb *g, const struct geo_mesh *m, const struct geo_material *of_part, cJSON *primitives,
		   bool *skinned, struct err *e)
{
	struct arena a = { 0 };
	struct meshing x = { .g = g, .m = m, .of_part = of_part, .a = &a };
	int rc = 0;

	find_streams(&x);
	x.skinned = is_skinned(&x);
	*skinned = x.skinned;
	if (!find_primitives(&x))
		rc = err_nomem(e);
	if (!rc && x.nprims > GLB_PRIMITIVES_MOST - g->nprimitives)
		rc = err_set(e, EFBIG, "a GLB of more than %u primitives", GLB_PRIMITIVES_MOST);
	g->nprimitives += rc ? 0 : x.nprims;
	/* Without a face all vertices are points. */
	if (!x.nprims && m->nvertices)
		x.nprims = 1;
	for (uint32_t i = 0; i < x.nprims && !rc; i++) {
		struct arena own = { 0 };

		x.a = &own;
		rc = put_primitive(&x, &x.prim[i], primitives, e);
		arena_free(&own);
	}
	arena_free(&a);
	return rc;
}
