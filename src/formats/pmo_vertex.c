/* One vertex of a PMO's mesh: what a text says over stored bytes, and what their scales and ranges refuse. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pmo_vertex.h"

static bool stays(struct geo_number given, float shown, bool slack)
{
	if (!slack)
		given.slack = 0;
	return geo_stays(given, geo_shown(shown));
}

/* ---- positions ---- */

void pmo_vertex_position(const struct pmo *p, const struct pmo_mesh *m, const struct ge_vertex *type,
			 const uint8_t *vertex, float out[3])
{
	const float *scale = pmo_scale(p, m);

	for (unsigned k = 0; k < 3; k++)
		out[k] = geo_shown((float)(ge_get(&type->position, vertex, k) * scale[k]));
}

/* The scale that axis k needs at least for all that is given, its old one at least. */
static double scale_for(const struct pmo *p, const struct pmo_mesh *m, const struct ge_field *f,
			const struct geo_put *put, unsigned k)
{
	double scale = pmo_scale(p, m)[k], sign = scale < 0 ? -1 : 1, need = isfinite(scale) ? fabs(scale) : 0;
	double least, most;

	pmo_range(f, &least, &most);
	for (uint32_t i = 0; i < put->nvertices; i++) {
		double v = sign * put->position[i][k].v;

		if (pmo_fits(f, v / fabs(scale)))
			continue;
		v = v > 0 ? v / most : -v;
		need = v > need ? v : need;
	}
	return sign * need;
}

static int outside_scale(const struct pmo *p, const struct pmo_mesh *m, const struct ge_field *f,
			 const struct geo_given *given, unsigned k, struct err *e)
{
	double scale = pmo_scale(p, m)[k], least, most;
	char where[32] = "header.yaml";

	pmo_range(f, &least, &most);
	if (p->mesh_scale)
		snprintf(where, sizeof where, "meshes/%u.yaml", (unsigned)(m - p->mesh));
	return err_line(e, EINVAL, given->line, 0,
			"%c %s is outside %s..%s; `rescale: [%s, %s, %s]` instead of the scale in %s would make room",
			'x' + k, num_text(given->position[k].v).s, num_text((scale < 0 ? most : least) * scale).s,
			num_text((scale < 0 ? least : most) * scale).s,
			num_text(scale_for(p, m, f, given->put, 0)).s,
			num_text(scale_for(p, m, f, given->put, 1)).s,
			num_text(scale_for(p, m, f, given->put, 2)).s, where);
}

static int put_position(const struct pmo *p, const struct pmo_mesh *m, const struct ge_field *f,
			const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e)
{
	for (unsigned k = 0; k < 3; k++) {
		double scale = pmo_scale(p, m)[k], v = given->position[k].v;

		if (stays(given->position[k], (float)(ge_get(f, vertex, k) * scale), slack))
			continue;
		if (scale == 0 || !isfinite(scale))
			return err_line(e, EINVAL, given->line, 0,
					"%c %s cannot be stored: the %c of the scale is %s", 'x' + k, num_text(v).s,
					'x' + k, num_text(scale).s);
		if (!pmo_fits(f, v / scale))
			return outside_scale(p, m, f, given, k, e);
		ge_put(f, vertex, k, v / scale);
	}
	return 0;
}

/* ---- texture coordinates ---- */

void pmo_vertex_uv(const struct pmo_mesh *m, const struct ge_vertex *type, const uint8_t *vertex, float out[2])
{
	for (unsigned k = 0; k < 2; k++)
		out[k] = geo_shown((float)(ge_get(&type->uv, vertex, k) * m->uv_scale[k] + m->uv_offset[k]));
}

static int refuse_uv(const struct pmo_mesh *m, const struct ge_field *f, const struct geo_given *given, unsigned k,
		     struct err *e)
{
	double scale = m->uv_scale[k], offset = m->uv_offset[k], least, most;
	const char *name = k ? "v" : "u";

	if (scale == 0 || !isfinite(scale) || !isfinite(offset))
		return err_line(e, EINVAL, given->line, 0,
				"%s of this vertex, %s, cannot be stored: uv_scale is %s, uv_offset %s", name,
				num_text(given->uv[k].v).s, num_text(scale).s, num_text(offset).s);
	pmo_range(f, &least, &most);
	return err_line(e, EINVAL, given->line, 0,
			"%s of this vertex, %s counted from the top, is outside %s..%s: uv_scale is %s", name,
			num_text(given->uv[k].v).s, num_text((scale < 0 ? most : least) * scale + offset).s,
			num_text((scale < 0 ? least : most) * scale + offset).s, num_text(scale).s);
}

static int put_uv(const struct pmo_mesh *m, const struct ge_field *f, const struct geo_given *given, bool slack,
		  uint8_t *vertex, struct err *e)
{
	for (unsigned k = 0; k < 2; k++) {
		double scale = m->uv_scale[k], offset = m->uv_offset[k], value = (given->uv[k].v - offset) / scale;

		if (stays(given->uv[k], (float)(ge_get(f, vertex, k) * scale + offset), slack))
			continue;
		if (scale == 0 || !isfinite(scale) || !pmo_fits(f, value))
			return refuse_uv(m, f, given, k, e);
		ge_put(f, vertex, k, value);
	}
	return 0;
}

/* ---- normals ---- */

static void put_direction(const struct ge_field *f, const double unit[3], double length, uint8_t *vertex)
{
	for (unsigned k = 0; k < 3; k++)
		ge_put(f, vertex, k, unit[k] * length);
}

/* The longest vector of that direction that can be stored: what it rounds to depends on nothing else, so that the same
 * normal always gives the same bytes. */
static void put_longest(const struct ge_field *f, const double unit[3], uint8_t *vertex)
{
	put_direction(f, unit, f->format == 1 ? 127.0 / 128 : f->format == 2 ? 32767.0 / 32768 : 1, vertex);
}

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

/* none: the given one has no direction. */
static bool normal_stays(const struct geo_given *given, bool none, const float shown[3], bool slack)
{
	const struct geo_number *n = given->normal;

	if (stays(n[0], shown[0], slack) && stays(n[1], shown[1], slack) && stays(n[2], shown[2], slack))
		return true;
	if (!given->foreign_normals)
		return false;
	/* Other programs write one for what has none, replace those of no direction and turn the others a little. */
	return none || geo_normal_near(n, shown) ||
	       (given->keeps_length && !(geo_shown(shown[0]) || geo_shown(shown[1]) || geo_shown(shown[2])));
}

static int put_normal(const struct ge_field *f, const struct geo_given *given, bool slack, uint8_t *vertex,
		      struct err *e)
{
	const struct geo_number *n = given->normal;
	double unit[3], length = sqrt(n[0].v * n[0].v + n[1].v * n[1].v + n[2].v * n[2].v);
	bool none = !(length > 0) || !isfinite(length);
	float shown[3];
	double old = pmo_normal(f, vertex, shown);

	if (normal_stays(given, none, shown, slack))
		return 0;
	if (none)
		return err_line(e, EINVAL, given->line, 0, "the normal of this vertex, %s %s %s, has no direction",
				num_text(n[0].v).s, num_text(n[1].v).s, num_text(n[2].v).s);
	for (unsigned k = 0; k < 3; k++)
		unit[k] = n[k].v / length;
	if (!given->keeps_length)
		put_longest(f, unit, vertex);
	else if (!is_rounded(f, vertex, unit, old))
		put_direction(f, unit, fitting_length(f, unit, old), vertex);
	return 0;
}

bool pmo_vertex_normal(const struct ge_vertex *type, const uint8_t *vertex, const struct geo_number given[3],
		       float shown[3])
{
	const struct geo_given all = { .normal = given, .keeps_length = true };
	uint8_t now[WELD_STRIDE];

	memcpy(now, vertex, type->size);
	if (put_normal(&type->normal, &all, false, now, NULL))
		return false;
	pmo_normal(&type->normal, now, shown);
	return true;
}

/* ---- colours ---- */

static int put_colour(const struct ge_field *f, const struct geo_given *given, bool slack, uint8_t *vertex,
		      struct err *e)
{
	uint8_t rgba[4];
	bool changed = false;
	uint32_t bits;

	ge_colour_get(f->format - 4u, ge_colour_bits(f, vertex), rgba);
	for (unsigned k = 0; k < 3; k++) {
		double v = given->colour[k].v;

		if (stays(given->colour[k], (float)(rgba[k] / 255.0), slack))
			continue;
		if (!(v >= 0 && v <= 1))
			return err_line(e, EINVAL, given->line, 0, "%s %s is outside 0.0..1.0",
					k == 0 ? "red" : k == 1 ? "green" : "blue", num_text(v).s);
		rgba[k] = (uint8_t)lrint(v * 255);
		changed = true;
	}
	bits = ge_colour_put(f->format - 4u, rgba);
	if (changed && f->format == 7)
		put_le32(vertex + f->at, bits);
	else if (changed)
		put_le16(vertex + f->at, (uint16_t)bits);
	return 0;
}

int pmo_vertex_put(const struct pmo *p, const struct pmo_mesh *m, const struct ge_vertex *type,
		   const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e)
{
	int rc = put_position(p, m, &type->position, given, slack, vertex, e);

	if (!rc && given->uv && type->uv.format)
		rc = put_uv(m, &type->uv, given, slack, vertex, e);
	if (!rc && given->normal && type->normal.format)
		rc = put_normal(&type->normal, given, slack, vertex, e);
	if (!rc && given->colour && type->colour.format)
		rc = put_colour(&type->colour, given, slack, vertex, e);
	return rc;
}
