/* The meshes of a GLB: primitives of triangles, with all attributes that a model can have. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "glbread.h"

enum { MODE_POINTS, MODE_TRIANGLES = 4, MODE_STRIP, MODE_FAN };

struct reading {
	struct glb_file *g;
	const cJSON *attributes;
	struct scene_primitive *p;
	char where[96];                        /* "mesh mesh_0, primitive 2" */
};

/* ---- attributes ---- */

/* The accessor of an attribute; -1: it has none. */
static int find_attribute(struct reading *x, const char *key, int32_t *out, struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(x->attributes, key);

	*out = -1;
	if (!v)
		return 0;
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble >= x->g->accessors.n)
		return err_set(e, EINVAL, "%s: %s names no accessor, there are %u", x->where, key, x->g->accessors.n);
	*out = (int32_t)v->valuedouble;
	return 0;
}

static int check_count(const struct reading *x, const char *key, const struct glb_accessor *about, struct err *e)
{
	return about->count == x->p->nvertices ? 0 :
	       err_set(e, EINVAL, "%s: %s (accessor %u) has %" PRIu64 " items, POSITION has %u", x->where, key,
		       about->number, about->count, x->p->nvertices);
}

static int named(const struct reading *x, const char *key, int rc, struct err *e)
{
	char why[160];

	if (rc != -EINVAL || !e)
		return rc;
	snprintf(why, sizeof why, "%.150s", e->text);
	return err_set(e, EINVAL, "%s: %s: %s", x->where, key, why);
}

typedef int read_fn(struct glb_file *, uint32_t, unsigned, struct glb_accessor *, float **, struct err *);

static int get_some(struct reading *x, const char *key, unsigned comps, read_fn *read, float **out, struct err *e)
{
	struct glb_accessor about;
	int32_t number;
	int rc = find_attribute(x, key, &number, e);

	*out = NULL;
	if (rc || number < 0)
		return rc;
	rc = named(x, key, read(x->g, (uint32_t)number, comps, &about, out, e), e);
	return rc ? rc : check_count(x, key, &about, e);
}

static int get_floats(struct reading *x, const char *key, unsigned comps, float **out, struct err *e)
{
	return get_some(x, key, comps, glb_read_floats, out, e);
}

static int get_positions(struct reading *x, struct err *e)
{
	struct glb_accessor about;
	int32_t number;
	float *v;
	int rc = find_attribute(x, "POSITION", &number, e);

	if (!rc && number < 0)
		rc = err_set(e, EINVAL, "%s has no POSITION", x->where);
	rc = rc ? rc : named(x, "POSITION", glb_read_floats(x->g, (uint32_t)number, 3, &about, &v, e), e);
	if (rc)
		return rc;
	x->p->position = (float (*)[3])v;
	x->p->nvertices = (uint32_t)about.count;
	return 0;
}

/* RGB or RGBA. */
static int get_colours(struct reading *x, struct err *e)
{
	struct glb_accessor about;
	int32_t number;
	float *v, *all;
	int rc = find_attribute(x, "COLOR_0", &number, e);

	if (rc || number < 0)
		return rc;
	rc = named(x, "COLOR_0", glb_accessor_get(x->g, (uint32_t)number, &about, e), e);
	x->p->alpha = about.comps == 4;
	rc = rc ? rc : named(x, "COLOR_0", glb_read_floats(x->g, (uint32_t)number, x->p->alpha ? 4 : 3, &about, &v, e),
			     e);
	rc = rc ? rc : check_count(x, "COLOR_0", &about, e);
	if (rc)
		return rc;
	all = x->p->alpha ? v : arena_alloc(x->g->a, (size_t)about.count * 4 + 1, sizeof *all);
	for (uint64_t i = 0; all && !x->p->alpha && i < about.count; i++) {
		memcpy(all + 4 * i, v + 3 * i, 3 * sizeof *v);
		all[4 * i + 3] = 1;
	}
	x->p->colour = (float (*)[4])all;
	return all ? 0 : err_nomem(e);
}

static int get_uvs(struct reading *x, struct err *e)
{
	char key[32];
	int rc = 0;

	for (unsigned set = 0; set < GEO_UV_SETS && !rc; set++) {
		float *v;

		snprintf(key, sizeof key, "TEXCOORD_%u", set);
		rc = get_floats(x, key, 2, &v, e);
		x->p->uv[set] = (float (*)[2])v;
	}
	return rc;
}

/* ---- joints and weights ---- */

static unsigned count_sets(const struct reading *x)
{
	unsigned n = 0;
	char key[32];

	for (; n <= SCENE_JOINT_SETS; n++) {
		snprintf(key, sizeof key, "JOINTS_%u", n);
		if (!cJSON_GetObjectItemCaseSensitive(x->attributes, key))
			break;
	}
	return n;
}

static int get_set(struct reading *x, unsigned set, struct err *e)
{
	struct scene_primitive *p = x->p;
	struct glb_accessor about = { 0 };
	char joints[32], weights[32];
	uint32_t *joint;
	int32_t number;
	float *weight;
	int rc;

	snprintf(joints, sizeof joints, "JOINTS_%u", set);
	snprintf(weights, sizeof weights, "WEIGHTS_%u", set);
	rc = find_attribute(x, joints, &number, e);
	rc = rc ? rc : named(x, joints, glb_read_integers(x->g, (uint32_t)number, 4, &about, &joint, e), e);
	rc = rc ? rc : check_count(x, joints, &about, e);
	rc = rc ? rc : get_floats(x, weights, 4, &weight, e);
	if (!rc && !weight)
		rc = err_set(e, EINVAL, "%s has %s without %s", x->where, joints, weights);
	for (uint32_t v = 0; v < p->nvertices && !rc; v++)
		for (unsigned k = 0; k < 4; k++) {
			if (joint[4 * (size_t)v + k] > UINT16_MAX)
				return err_set(e, EINVAL, "%s: vertex %u names joint %u", x->where, v,
					       joint[4 * (size_t)v + k]);
			p->joint[(size_t)p->nsets * v + set][k] = (uint16_t)joint[4 * (size_t)v + k];
			p->weight[(size_t)p->nsets * v + set][k] = weight[4 * (size_t)v + k];
		}
	return rc;
}

static int get_skin(struct reading *x, struct err *e)
{
	struct scene_primitive *p = x->p;
	int rc = 0;

	p->nsets = count_sets(x);
	if (!p->nsets)
		return 0;
	if (p->nsets > SCENE_JOINT_SETS)
		return err_set(e, EINVAL, "%s has more than %u sets of joints", x->where, SCENE_JOINT_SETS);
	p->joint = arena_alloc(x->g->a, (size_t)p->nvertices * p->nsets + 1, sizeof *p->joint);
	p->weight = arena_alloc(x->g->a, (size_t)p->nvertices * p->nsets + 1, sizeof *p->weight);
	if (!p->joint || !p->weight)
		return err_nomem(e);
	for (unsigned set = 0; set < p->nsets && !rc; set++)
		rc = get_set(x, set, e);
	return rc;
}

/* ---- faces ---- */

static int check_corners(const struct reading *x, const uint32_t *corner, uint64_t n, struct err *e)
{
	for (uint64_t i = 0; corner && i < n; i++)
		if (corner[i] >= x->p->nvertices)
			return err_set(e, EINVAL, "%s: index %" PRIu64 " is %u, there are %u vertices", x->where, i,
				       corner[i], x->p->nvertices);
	return 0;
}

static uint32_t corner_at(const uint32_t *corner, uint64_t i)
{
	return corner ? corner[i] : (uint32_t)i;
}

/* corner NULL: the vertices one after the other. */
static int make_faces(struct reading *x, unsigned mode, const uint32_t *corner, uint64_t n, struct err *e)
{
	struct scene_primitive *p = x->p;
	uint64_t faces = mode == MODE_TRIANGLES ? n / 3 : n < 3 ? 0 : n - 2;

	if (mode == MODE_TRIANGLES && n % 3)
		return err_set(e, EINVAL, "%s: %" PRIu64 " corners are no triangles", x->where, n);
	x->g->decoded += faces * sizeof *p->face;
	if (x->g->decoded > LIMIT_DECODED)
		return err_set(e, EFBIG, "%s: with %" PRIu64 " faces it is larger than %zu bytes", x->where, faces,
			       LIMIT_DECODED);
	p->face = arena_alloc(x->g->a, (size_t)faces + 1, sizeof *p->face);
	if (!p->face)
		return err_nomem(e);
	for (uint64_t i = 0; i < faces; i++) {
		/* Every other triangle of a strip is turned round. */
		uint64_t first = mode == MODE_TRIANGLES ? 3 * i : mode == MODE_FAN ? 0 : i;
		uint64_t second = mode == MODE_TRIANGLES ? first + 1 : mode == MODE_FAN ? i + 1 : i + 1 + i % 2;
		uint64_t third = mode == MODE_TRIANGLES ? first + 2 : mode == MODE_FAN ? i + 2 : i + 2 - i % 2;

		p->face[i][0] = corner_at(corner, first);
		p->face[i][1] = corner_at(corner, second);
		p->face[i][2] = corner_at(corner, third);
	}
	p->nfaces = (uint32_t)faces;
	return 0;
}

static int get_faces(struct reading *x, const cJSON *o, struct err *e)
{
	const struct glb_what what = { x->where, GEO_NONE };
	struct glb_accessor about = { .count = x->p->nvertices };
	uint64_t mode = MODE_TRIANGLES;
	uint32_t *corner = NULL;
	int32_t number = -1;
	int rc = glb_get_count(o, "mode", what, 255, &mode, e);

	if (!rc && mode == MODE_POINTS)
		return 0;
	if (!rc && (mode < MODE_TRIANGLES || mode > MODE_FAN))
		return err_set(e, EINVAL, "%s: mode %" PRIu64 ", only triangles, strips and fans (4, 5, 6) are faces",
			       x->where, mode);
	rc = rc ? rc : glb_get_index(o, "indices", what, x->g->accessors.n, &number, e);
	if (!rc && number >= 0)
		rc = named(x, "indices", glb_read_integers(x->g, (uint32_t)number, 1, &about, &corner, e), e);
	rc = rc ? rc : check_corners(x, corner, about.count, e);
	return rc ? rc : make_faces(x, (unsigned)mode, corner, about.count, e);
}

/* ---- meshes ---- */

static int read_primitive(struct reading *x, const cJSON *o, struct err *e)
{
	float *v = NULL;
	int rc = get_positions(x, e);

	rc = rc ? rc : get_some(x, "NORMAL", 3, glb_read_directions, &v, e);
	x->p->normal = (float (*)[3])v;
	rc = rc ? rc : get_some(x, "TANGENT", 4, glb_read_directions, &v, e);
	x->p->tangent = (float (*)[4])v;
	rc = rc ? rc : get_uvs(x, e);
	rc = rc ? rc : get_colours(x, e);
	rc = rc ? rc : get_skin(x, e);
	rc = rc ? rc : get_faces(x, o, e);
	return rc ? rc : glb_get_index(o, "material", (struct glb_what){ x->where, GEO_NONE }, x->g->materials.n,
				       &x->p->material, e);
}

static int read_mesh(struct glb_file *g, uint32_t number, struct scene_mesh *m, struct err *e)
{
	const cJSON *o = g->meshes.v[number];
	struct glb_list list;
	int rc = glb_get_name(g, o, &m->name, e);

	rc = rc ? rc : glb_get_list(g, o, "primitives", (struct glb_what){ "mesh", number }, &list, e);
	if (rc)
		return rc;
	m->nprimitives = list.n;
	m->primitive = arena_alloc(g->a, (size_t)list.n + 1, sizeof *m->primitive);
	if (!m->primitive)
		return err_nomem(e);
	for (uint32_t i = 0; i < list.n && !rc; i++) {
		struct reading x = { .g = g, .p = &m->primitive[i] };

		if (*m->name)
			snprintf(x.where, sizeof x.where, "mesh %.60s, primitive %u", m->name, i);
		else
			snprintf(x.where, sizeof x.where, "mesh %u, primitive %u", number, i);
		x.attributes = cJSON_GetObjectItemCaseSensitive(list.v[i], "attributes");
		x.p->material = -1;
		rc = read_primitive(&x, list.v[i], e);
	}
	return rc;
}

int glb_read_meshes(struct glb_file *g, struct err *e)
{
	struct geo_scene *s = g->out;
	int rc = 0;

	s->nmeshes = g->meshes.n;
	s->mesh = arena_alloc(g->a, (size_t)s->nmeshes + 1, sizeof *s->mesh);
	if (!s->mesh)
		return err_nomem(e);
	for (uint32_t i = 0; i < s->nmeshes && !rc; i++)
		rc = read_mesh(g, i, &s->mesh[i], e);
	return rc;
}
