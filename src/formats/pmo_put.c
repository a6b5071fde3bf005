/* An edited mesh with the topology it had: values are written over the stored vertices, and only those that changed
 * (views.md 4). Everything else of the geometry stays as it is. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pmo.h"

struct edit {
	struct object *o;
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	const struct geo_put *put;
	struct geo_mesh was;
	struct pmo_run *run;                   /* mesh->group_count */
	struct pmo_match match;
	struct pmo_window win;
	struct pmo_wishes wishes;
	uint32_t no_colours;                   /* vertices that are given one and have no place for it */
	bool morphed;                          /* a vertex with further morph targets was changed */
	bool redrawn;                          /* a vertex that faces use was changed */
};

/* A vertex on its way. */
struct vertex {
	const struct pmo_run *run;
	const struct pmo_corner *corner;
	uint32_t i;                            /* number in the mesh */
	uint64_t at;
	const uint8_t *was;
	uint8_t want[128];
};

/* The bytes [from, from + n) of the vertex have been decided. */
static void wish(struct edit *x, struct vertex *v, unsigned from, unsigned n)
{
	bool changed = memcmp(v->was + from, v->want + from, n);

	x->morphed |= changed && v->run->scan.vertex.morphs > 1;
	x->redrawn |= changed && v->corner->drawn;
	pmo_wish(&x->wishes, v->at + from, v->was + from, v->want + from, n, v->corner->line, !v->corner->drawn);
}

static void wish_component(struct edit *x, struct vertex *v, const struct ge_field *f, unsigned k)
{
	unsigned size = pmo_component_size(f);

	wish(x, v, f->at + k * size, size);
}

/* ---- positions ---- */

/* The scale that axis k needs at least for all that is given, and its old one at least. */
static double scale_for(const struct edit *x, unsigned k)
{
	double most = fabs((double)pmo_scale(x->p, x->mesh)[k]);

	for (uint32_t g = 0; g < x->mesh->group_count; g++) {
		const struct pmo_run *r = &x->run[g];
		const struct ge_field *f = &r->scan.vertex.position;
		double least, highest;

		pmo_range(f, &least, &highest);
		for (uint32_t i = r->first; i < r->first + r->scan.vertices && f->format != 3; i++) {
			uint32_t from = x->match.v[i].from;
			struct geo_number given = { 0 };
			double v;

			if (from != GEO_NONE)
				given = x->put->position[from][k];
			if (geo_stays(given, pmo_shown(x->was.position[i][k])))
				continue;
			v = given.v > 0 ? given.v / highest : -given.v;
			most = v > most ? v : most;
		}
	}
	return most;
}

static int outside_scale(const struct edit *x, const struct vertex *v, unsigned k, double given, struct err *e)
{
	const float *scale = pmo_scale(x->p, x->mesh);
	double least, most, room[3];
	bool negative = scale[k] < 0;
	char where[32] = "header.yaml";

	pmo_range(&v->run->scan.vertex.position, &least, &most);
	for (unsigned i = 0; i < 3; i++)
		room[i] = isfinite(scale[i]) && scale[i] < 0 ? -scale_for(x, i) : scale_for(x, i);
	if (x->p->mesh_scale)
		snprintf(where, sizeof where, "meshes/%u.yaml", (unsigned)(x->mesh - x->p->mesh));
	return err_line(e, EINVAL, v->corner->line, 0,
			"%c %s is outside %s..%s; `rescale: [%s, %s, %s]` instead of the scale in %s would make room",
			'x' + k, pmo_number(given).s, pmo_number((negative ? most : least) * scale[k]).s,
			pmo_number((negative ? least : most) * scale[k]).s, pmo_number(room[0]).s,
			pmo_number(room[1]).s, pmo_number(room[2]).s, where);
}

static int put_position(struct edit *x, struct vertex *v, struct err *e)
{
	const struct ge_field *f = &v->run->scan.vertex.position;
	const float *scale = pmo_scale(x->p, x->mesh);

	for (unsigned k = 0; k < 3; k++) {
		struct geo_number given = x->put->position[v->corner->from][k];
		double value = given.v / scale[k];

		if (!geo_stays(given, pmo_shown(x->was.position[v->i][k]))) {
			if (scale[k] == 0 || !isfinite(scale[k]))
				return err_line(e, EINVAL, v->corner->line, 0,
						"%c %s cannot be stored: the %c of the scale is %s", 'x' + k,
						pmo_number(given.v).s, 'x' + k, pmo_number(scale[k]).s);
			if (!pmo_fits(f, value))
				return outside_scale(x, v, k, given.v, e);
			ge_put(f, v->want, k, value);
		}
		wish_component(x, v, f, k);
	}
	return 0;
}

/* ---- texture coordinates ---- */

static int refuse_uv(const struct edit *x, const struct vertex *v, unsigned k, double given, struct err *e)
{
	double scale = x->mesh->uv_scale[k], offset = x->mesh->uv_offset[k], least, most;
	const char *name = k ? "v" : "u";

	if (scale == 0 || !isfinite(scale) || !isfinite(offset))
		return err_line(e, EINVAL, v->corner->line, 0,
				"%s of this vertex, %s, cannot be stored: uv_scale is %s, uv_offset %s", name,
				pmo_number(given).s, pmo_number(scale).s, pmo_number(offset).s);
	pmo_range(&v->run->scan.vertex.uv, &least, &most);
	return err_line(e, EINVAL, v->corner->line, 0,
			"%s of this vertex, %s counted from the top, is outside %s..%s: uv_scale is %s", name,
			pmo_number(given).s, pmo_number((scale < 0 ? most : least) * scale + offset).s,
			pmo_number((scale < 0 ? least : most) * scale + offset).s, pmo_number(scale).s);
}

static int put_uv(struct edit *x, struct vertex *v, struct err *e)
{
	const struct ge_field *f = &v->run->scan.vertex.uv;
	const float *shown = pmo_stream(&x->was, GEO_UV) + 2 * (size_t)(v->run->uv + v->i - v->run->first);
	const struct pmo_mesh *m = x->mesh;

	for (unsigned k = 0; k < 2; k++) {
		struct geo_number given = x->put->uv[v->corner->uv][k];
		double value = (given.v - m->uv_offset[k]) / m->uv_scale[k];

		if (!geo_stays(given, pmo_shown(shown[k]))) {
			if (m->uv_scale[k] == 0 || !isfinite(m->uv_scale[k]) || !pmo_fits(f, value))
				return refuse_uv(x, v, k, given.v, e);
			ge_put(f, v->want, k, value);
		}
		wish_component(x, v, f, k);
	}
	return 0;
}

/* ---- normals ---- */

/* Whether the stored bytes are what a vector of that direction and some length rounds to: then none is better. Without
 * this a normal would be rounded again and again, as its length follows from the rounded one. */
static bool is_rounded(const struct ge_field *f, const uint8_t *vertex, const double unit[3], double length)
{
	double half = f->format == 1 ? 0.5 / 128 : f->format == 2 ? 0.5 / 32768 : length * 1e-6;
	double from = 0, to = HUGE_VAL, least, most;
	bool any = false;

	pmo_range(f, &least, &most);
	for (unsigned k = 0; k < 3; k++) {
		double v = ge_get(f, vertex, k), at = unit[k] < 0 ? -v : v, size = fabs(unit[k]), lower, upper;

		if (!isfinite(v) || (size < 1e-12 && fabs(v) > half))
			return false;
		any |= v != 0;
		if (size < 1e-12)
			continue;
		lower = (at - half) / size;
		upper = v == (unit[k] < 0 ? least : most) ? HUGE_VAL : (at + half) / size;
		from = lower > from ? lower : from;
		to = upper < to ? upper : to;
	}
	return any && from <= to;
}

/* The old length, unless a component would not fit. */
static double fitting_length(const struct ge_field *f, const double unit[3], double length)
{
	double least, most;

	pmo_range(f, &least, &most);
	for (unsigned k = 0; k < 3; k++) {
		double bound = unit[k] < 0 ? least : most;

		if (unit[k] * length / bound > 1)
			length = bound / unit[k];
	}
	return length;
}

static bool normal_stays(const struct edit *x, const struct geo_number given[3], const float shown[3])
{
	bool none = !(pmo_shown(shown[0]) || pmo_shown(shown[1]) || pmo_shown(shown[2]));

	if (pmo_normal_stays(given, shown))
		return true;
	/* Other programs replace normals of no direction, and write one for what has none. */
	return x->match.foreign_normals &&
	       (none || pmo_normal_near(given, shown) || !(given[0].v || given[1].v || given[2].v));
}

static int put_normal(struct edit *x, struct vertex *v, struct err *e)
{
	const struct ge_field *f = &v->run->scan.vertex.normal;
	const struct geo_number *given = v->corner->mixed ? x->match.mean[v->i] : x->put->normal[v->corner->normal];
	const float *shown = pmo_stream(&x->was, GEO_NORMAL) + 3 * (size_t)(v->run->normal + v->i - v->run->first);
	double unit[3], length = sqrt(given[0].v * given[0].v + given[1].v * given[1].v + given[2].v * given[2].v);
	float stored[3];

	if (!normal_stays(x, given, shown)) {
		if (!(length > 0) || !isfinite(length))
			return err_line(e, EINVAL, v->corner->line, 0,
					"the normal of this vertex, %s %s %s, has no direction",
					pmo_number(given[0].v).s, pmo_number(given[1].v).s, pmo_number(given[2].v).s);
		for (unsigned k = 0; k < 3; k++)
			unit[k] = given[k].v / length;
		length = pmo_normal(f, v->was, stored);
		if (!is_rounded(f, v->was, unit, length)) {
			length = fitting_length(f, unit, length);
			for (unsigned k = 0; k < 3; k++)
				ge_put(f, v->want, k, unit[k] * length);
		}
	}
	wish(x, v, f->at, 3 * pmo_component_size(f));
	return 0;
}

/* ---- colours ---- */

static int put_colour(struct edit *x, struct vertex *v, struct err *e)
{
	const struct ge_field *f = &v->run->scan.vertex.colour;
	const struct geo_number *given = x->put->colour[v->corner->from];
	const float *shown = pmo_stream(&x->was, GEO_COLOUR) + 4 * (size_t)v->i;
	unsigned size = f->format == 7 ? 4 : 2;
	uint8_t rgba[4];
	bool changed = false;
	uint32_t bits;

	ge_colour_get(f->format - 4u, ge_colour_bits(f, v->was), rgba);
	for (unsigned k = 0; k < 3; k++) {
		if (geo_stays(given[k], shown[k]))
			continue;
		if (!(given[k].v >= 0 && given[k].v <= 1))
			return err_line(e, EINVAL, v->corner->line, 0, "%s %s is outside 0.0..1.0",
					k == 0 ? "red" : k == 1 ? "green" : "blue", pmo_number(given[k].v).s);
		rgba[k] = (uint8_t)lrint(given[k].v * 255);
		changed = true;
	}
	bits = ge_colour_put(f->format - 4u, rgba);
	if (changed && size == 4)
		put_le32(v->want + f->at, bits);
	else if (changed)
		put_le16(v->want + f->at, (uint16_t)bits);
	wish(x, v, f->at, size);
	return 0;
}

/* ---- vertices ---- */

static int put_vertex(struct edit *x, struct vertex *v, struct err *e)
{
	const struct ge_vertex *type = &v->run->scan.vertex;
	bool coloured = x->put->colour && !isnan(x->put->colour[v->corner->from][0].v);
	int rc = put_position(x, v, e);

	if (!rc && v->corner->uv != GEO_NONE)
		rc = put_uv(x, v, e);
	if (!rc && v->corner->normal != GEO_NONE)
		rc = put_normal(x, v, e);
	if (!rc && coloured && type->colour.format)
		rc = put_colour(x, v, e);
	x->no_colours += coloured && !type->colour.format;
	return rc;
}

static int put_run(struct edit *x, const struct pmo_run *r, struct err *e)
{
	const struct ge_vertex *type = &r->scan.vertex;
	int rc = 0;

	for (uint32_t i = 0; i < r->scan.vertices && !rc; i++) {
		struct vertex v = { .run = r, .i = r->first + i, .corner = &x->match.v[r->first + i] };

		if (v.corner->from == GEO_NONE)
			continue;
		v.at = x->p->group[r->group].vertex_buffer + (uint64_t)i * type->stride;
		rc = pmo_window(x->p, &x->win, v.at, type->size, &v.was, e);
		if (rc)
			return rc;
		memcpy(v.want, v.was, type->size);
		rc = put_vertex(x, &v, e);
	}
	return rc;
}

/* ---- meshes ---- */

static void tell(const struct edit *x, uint32_t mesh)
{
	if (x->match.no_uvs)
		object_say(x->o, "mesh %u: %u corners are given texture coordinates, their vertex type has none", mesh,
			   x->match.no_uvs);
	if (x->match.no_normals)
		object_say(x->o, "mesh %u: %u corners are given normals, their vertex type has none", mesh,
			   x->match.no_normals);
	if (x->no_colours)
		object_say(x->o, "mesh %u: %u vertices are given colours, their vertex type has none", mesh,
			   x->no_colours);
	if (x->match.other_material)
		object_say(x->o,
			   "mesh %u: %u faces name another material than their group's, which meshes/%u.yaml sets",
			   mesh, x->match.other_material, mesh);
	if (x->morphed)
		object_say(x->o, "mesh %u: only the first morph target was changed", mesh);
}

static int put_values(struct edit *x, uint32_t mesh, struct err *e)
{
	char text[160];
	int rc = pmo_runs_overlap(x->p, x->run, x->mesh->group_count, e);

	if (rc < 0)
		return rc;
	x->wishes.shared = rc > 0;
	rc = 0;
	if (pmo_moved(&x->was, x->put, x->match.v, text, sizeof text))
		object_say(x->o, "mesh %u: %s", mesh, text);
	for (uint32_t k = 0; k < x->mesh->group_count && !rc; k++)
		rc = put_run(x, &x->run[k], e);
	/* Vertices can be matched in an order that only looks like the stored one, after an edit that added some. */
	if (!rc && x->redrawn)
		rc = pmo_draws(x->o, mesh, x->put, e);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = pmo_grant(x->o, &x->wishes, e);
	if (!rc)
		tell(x, mesh);
	return rc;
}

static int put_mesh(struct edit *x, uint32_t mesh, struct arena *a, struct err *e)
{
	uint32_t n;
	int rc = pmo_mesh_geometry(x->o, mesh, &x->was, a, e);

	if (rc)
		return rc;
	x->run = arena_alloc(a, (size_t)x->mesh->group_count + 1, sizeof *x->run);
	rc = x->run ? pmo_runs(x->p, x->mesh, x->run, &x->win, &n, e) : err_nomem(e);
	if (!rc)
		rc = pmo_match(x->mesh, &x->was, x->run, x->put, &x->match, a, e);
	if (rc > 0)
		return put_values(x, mesh, e);
	return rc ? rc : pmo_rebuild(x->o, mesh, x->put, e);
}

int pmo_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct pmo *p = o->priv;
	struct edit x = { .o = o, .p = p, .put = put };
	struct arena a = { 0 };
	int rc = pmo_mesh_sound(o, mesh, e);

	if (rc)
		return rc;
	x.mesh = &p->mesh[mesh];
	rc = put_mesh(&x, mesh, &a, e);
	buf_free(&x.win.bytes);
	buf_free(&x.wishes.v);
	arena_free(&a);
	return rc;
}
