/* The object that is taken out of an OBJ: its values with numbers of their own, and how exactly each was printed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "objread.h"

/* ---- which values ---- */

/* Indices of all objects' values to those of the taken ones; GEO_NONE: not taken. NULL map: all are. */
struct picked { uint32_t *map, count; };

static uint32_t mapped(const struct picked *p, uint32_t i)
{
	return p->map && i != GEO_NONE ? p->map[i] : i;
}

static uint32_t corner_index(const struct geo_corner *c, enum obj_values k)
{
	return k == OBJ_V ? c->v : k == OBJ_VT ? c->uv : c->normal;
}

static uint32_t faces_taken(const struct obj *o)
{
	return o->nfaces - (o->first_o ? o->early_faces : 0);
}

/* What arrays of faces hold for the first taken one; items of `each` bytes. NULL: none is taken. */
static const void *first_face(const struct obj *o, const struct buf *array, size_t each)
{
	return faces_taken(o) && array->len ? array->p + (o->nfaces - faces_taken(o)) * each : NULL;
}

static const struct geo_corner *first_corner(const struct obj *o)
{
	return first_face(o, &o->face, o->corners * sizeof(struct geo_corner));
}

/* Values in the object's own lines, and those its faces use from elsewhere: some programs put all v lines first. */
static void mark(const struct obj *o, enum obj_values k, uint32_t *map)
{
	const struct obj_span *span = (const void *)o->spans.p, *end = span + o->spans.len / sizeof *span;
	const struct geo_corner *corner = first_corner(o);
	size_t ncorners = (size_t)faces_taken(o) * o->corners;

	for (; span < end; span++)
		for (uint32_t i = span->from[k]; span->taken && i < (span + 1 < end ? span[1].from[k] : o->n[k]); i++)
			map[i] = 1;
	for (size_t i = 0; i < ncorners; i++)
		if (corner_index(&corner[i], k) != GEO_NONE)
			map[corner_index(&corner[i], k)] = 1;
}

static int pick(const struct obj *o, enum obj_values k, struct picked *p)
{
	p->count = o->n[k];
	if (!o->first_o || (!o->others.count && !o->early_faces))
		return 0;
	p->map = calloc((size_t)o->n[k] + 1, sizeof *p->map);
	if (!p->map)
		return err_nomem(o->e);
	mark(o, k, p->map);
	p->count = 0;
	for (uint32_t i = 0; i < o->n[k]; i++)
		p->map[i] = p->map[i] ? p->count++ : GEO_NONE;
	return 0;
}

/* ---- checks ---- */

static int check_indices(const struct obj *o)
{
	const struct geo_corner *corner = first_corner(o);
	const unsigned *line = first_face(o, &o->face_line, sizeof *line);

	for (size_t i = 0; i < (size_t)faces_taken(o) * o->corners; i++)
		for (unsigned k = 0; k < OBJ_VALUES; k++) {
			uint32_t v = corner_index(&corner[i], k);

			if (v != GEO_NONE && v >= o->n[k])
				return err_line(o->e, EINVAL, line[i / o->corners], 0, "%s %u is out of range: there are "
						"%u", obj_value_name[k], v + 1, o->n[k]);
		}
	return 0;
}

static const char *face_word(const struct obj *o)
{
	return o->form->quads ? "faces" : "triangles";
}

/* A mesh without vertices is shown as an object without any, and may come back so. */
static int check_object(const struct obj *o)
{
	char wanted[OBJ_SHOWN];

	if (!o->first_o && !o->n[OBJ_V] && !o->form->named)
		return err_set(o->e, EINVAL, "no vertices");
	if (o->first_o && !o->taken.count)
		return err_line(o->e, EINVAL, o->first_o, 0, "no object %s here; there %s %u: %s",
				obj_wanted(o, wanted), o->others.count == 1 ? "is" : "are", o->others.count,
				o->others.list);
	if (o->others.count)
		obj_say(o, "objects left out (%u): %s", o->others.count, o->others.list);
	if (o->taken.count > 1)
		obj_say(o, "taken together as %s (%u): %s", obj_wanted(o, wanted), o->taken.count, o->taken.list);
	if (o->first_o && o->early_faces)
		obj_say(o, "%u %s before the first o, in line %u, are left out", o->early_faces, face_word(o),
			o->first_o);
	return 0;
}

/* ---- slack ----
 *
 * A number was rounded to the last digit it was printed with, so what it means lies within half a unit of that. Zeros
 * at its end may have been left out: in a text of six decimals, 0.5 means 0.500000. So a number of few digits counts as
 * printed with the most decimals any number of its kind has, one of six digits or more with its own. Our own texts are
 * the shortest that mean one float32 and nearly always have numbers of nine decimals; 1.5 typed into one is 1.5. Where
 * one of ours has few decimals all over, a typed number must not be taken for a rounded one: it is exact, unless zeros
 * at the ends of some show that another program printed them.
 *
 * Exact texts of ours have all digits of every number, so there a number typed in means itself, however many it has. */
static void settle(const struct obj *o, enum obj_printed of, void *values, size_t n)
{
	const struct obj_print *print = &o->printed[of];
	bool ours = o->own && !print->padded, exact = ours && o->form->exact;
	float of_all = ours && print->decimals < 6 ? 0 : decimal_half(print->decimals);
	struct geo_number *v = values;

	for (size_t i = 0; i < n; i++)
		v[i].slack = exact ? 0 : v[i].slack == OBJ_AS_ALL ? of_all : v[i].slack;
}

/* Programs turn the axes when they read a mesh and back when they write it. As float32 that costs every component one
 * unit in the last place of the largest: a half from each of two products with a cosine that is not quite 0. */
static void loosen(struct geo_number (*position)[3], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct geo_number *v = position[i];
		double most = fmax(fabs(v[0].v), fmax(fabs(v[1].v), fabs(v[2].v)));

		for (unsigned k = 0; k < 3; k++)
			v[k].slack += (float)(most * 0x1p-23);
	}
}

/* V counts from the top. Shown as 1 - v it was rounded to a float32, and that again to its text: one unit in the last
 * place in all. */
static void turn(struct geo_number (*uv)[2], uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct geo_number *v = &uv[i][1];

		v->slack += (float)(fabs(v->v) * 0x1p-23);
		v->v = 1 - v->v;
	}
}

/* ---- output ---- */

/* The taken ones of `from`, items of `each` bytes; NULL where memory ran out. */
static void *copy(struct arena *a, const struct buf *from, const struct picked *p, size_t each)
{
	uint8_t *to = arena_alloc(a, (size_t)p->count + 1, each);
	size_t n = from->len / each;

	if (!to)
		return NULL;
	if (!p->map && n)
		memcpy(to, from->p, n * each);
	for (size_t i = 0; p->map && i < n; i++)
		if (p->map[i] != GEO_NONE)
			memcpy(to + p->map[i] * each, from->p + i * each, each);
	return to;
}

static bool copy_values(const struct obj *o, const struct picked *p, struct geo_put *out, struct arena *a)
{
	out->nvertices = p[OBJ_V].count;
	out->nuvs = p[OBJ_VT].count;
	out->nnormals = p[OBJ_VN].count;
	out->position = copy(a, &o->position, &p[OBJ_V], sizeof *out->position);
	out->vertex_line = copy(a, &o->vertex_line, &p[OBJ_V], sizeof *out->vertex_line);
	out->colour = o->colour.len ? copy(a, &o->colour, &p[OBJ_V], sizeof *out->colour) : NULL;
	out->uv = copy(a, &o->uv, &p[OBJ_VT], sizeof *out->uv);
	out->normal = copy(a, &o->normal, &p[OBJ_VN], sizeof *out->normal);
	out->normal_line = copy(a, &o->normal_line, &p[OBJ_VN], sizeof *out->normal_line);
	if (!out->position || !out->vertex_line || (o->colour.len && !out->colour) || !out->uv || !out->normal ||
	    !out->normal_line)
		return false;
	settle(o, OBJ_POSITION, out->position, (size_t)out->nvertices * 3);
	if (!o->own)
		loosen(out->position, out->nvertices);
	if (out->colour)
		settle(o, OBJ_COLOUR, out->colour, (size_t)out->nvertices * 3);
	settle(o, OBJ_NORMAL, out->normal, (size_t)out->nnormals * 3);
	settle(o, OBJ_UV, out->uv, (size_t)out->nuvs * 2);
	turn(out->uv, out->nuvs);
	return true;
}

/* What an array holds for the taken faces, items of `each` bytes; NULL where memory ran out. */
static void *copy_of_faces(const struct obj *o, const struct buf *from, size_t each, struct arena *a)
{
	void *to = arena_alloc(a, (size_t)faces_taken(o) + 1, each);

	if (to && faces_taken(o))
		memcpy(to, first_face(o, from, each), faces_taken(o) * each);
	return to;
}

/* The materials of faces by number, or by name. */
static bool copy_materials(const struct obj *o, struct geo_put *out, struct arena *a)
{
	if (!obj_names_materials(o)) {
		out->material = copy_of_faces(o, &o->materials, sizeof *out->material, a);
		return out->material;
	}
	out->nnames = (uint32_t)(o->names.names.len / sizeof *out->names);
	out->names = arena_alloc(a, (size_t)out->nnames + 1, sizeof *out->names);
	out->usemtl = copy_of_faces(o, &o->materials, sizeof *out->usemtl, a);
	out->usemtl_line = copy_of_faces(o, &o->material_lines, sizeof *out->usemtl_line, a);
	if (!out->names || !out->usemtl || !out->usemtl_line)
		return false;
	if (out->nnames)
		memcpy(out->names, o->names.names.p, out->nnames * sizeof *out->names);
	return true;
}

static bool copy_faces(const struct obj *o, const struct picked *p, struct geo_put *out, struct arena *a)
{
	size_t face = o->corners * sizeof(struct geo_corner);
	struct geo_corner *c = copy_of_faces(o, &o->face, face, a);

	out->nfaces = faces_taken(o);
	for (size_t i = 0; c && i < (size_t)out->nfaces * o->corners; i++)
		c[i] = (struct geo_corner){ mapped(&p[OBJ_V], c[i].v), mapped(&p[OBJ_VT], c[i].uv),
					    mapped(&p[OBJ_VN], c[i].normal) };
	if (o->form->quads)
		out->quad = (struct geo_corner (*)[4])(void *)c;
	else
		out->face = (struct geo_corner (*)[3])(void *)c;
	out->face_line = copy_of_faces(o, &o->face_line, sizeof *out->face_line, a);
	if (!c || !out->face_line)
		return false;
	if (!copy_materials(o, out, a))
		return false;
	if (o->form->named) {
		out->object = copy_of_faces(o, &o->groups, sizeof *out->object, a);
		return out->object;
	}
	out->group = copy_of_faces(o, &o->groups, sizeof *out->group, a);
	if (o->form->materials) {              /* none is said */
		out->material = arena_alloc(a, (size_t)out->nfaces + 1, sizeof *out->material);
		if (out->material)
			memset(out->material, 0xff, out->nfaces * sizeof *out->material);
	}
	return out->group && out->material;
}

/* Of what copy_values() and copy_faces() ask for. */
static size_t bytes_needed(const struct obj *o, const struct picked *p)
{
	const struct geo_put *out = NULL;
	size_t vertex = sizeof *out->position + sizeof *out->vertex_line + (o->colour.len ? sizeof *out->colour : 0);
	size_t face = o->corners * sizeof(struct geo_corner) + sizeof *out->face_line + sizeof *out->group +
		      sizeof *out->material + (obj_names_materials(o) ? sizeof *out->usemtl_line : 0) +
		      (o->form->materials ? sizeof *out->usemtl : 0);

	return p[OBJ_V].count * vertex + p[OBJ_VT].count * sizeof *out->uv +
	       p[OBJ_VN].count * (sizeof *out->normal + sizeof *out->normal_line) + faces_taken(o) * face +
	       o->names.names.len;
}

/* Another program's: it does not begin as ours do, or most vn lines have a fixed number of decimals. Whether their
 * values are ours is for whoever knows the mesh. */
static bool foreign_normals(const struct obj *o)
{
	if (!o->own || o->form->exact)
		return !o->own || o->printed[OBJ_NORMAL].padded;
	for (unsigned d = 0; d < ARRAY_LEN(o->level); d++)
		if (o->level[d] > o->n[OBJ_VN] / 2)
			return true;
	return false;
}

int obj_pick(struct obj *o, struct geo_put *out, struct arena *a)
{
	struct picked p[OBJ_VALUES] = { { 0 } };
	char wanted[OBJ_SHOWN];
	int rc = check_object(o);

	rc = rc ? rc : check_indices(o);
	for (unsigned k = 0; k < OBJ_VALUES && !rc; k++)
		rc = pick(o, k, &p[k]);
	if (!rc && o->first_o && !p[OBJ_V].count && o->n[OBJ_V])
		rc = err_line(o->e, EINVAL, o->first_o, 0, "%s has no vertices", obj_wanted(o, wanted));
	if (!rc && bytes_needed(o, p) > LIMIT_DECODED - a->used)
		rc = err_set(o->e, EFBIG, "%u vertices and %u %s need more than %zu MiB", p[OBJ_V].count,
			     faces_taken(o), face_word(o), LIMIT_DECODED >> 20);
	if (!rc && (!copy_values(o, p, out, a) || !copy_faces(o, p, out, a)))
		rc = err_nomem(o->e);
	out->foreign_normals = foreign_normals(o);
	for (unsigned k = 0; k < OBJ_VALUES; k++)
		free(p[k].map);
	return rc;
}
