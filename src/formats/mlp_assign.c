/* Which submesh each face of an edited mesh is in, and which material each submesh gets. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assign.h"
#include "mlp_write.h"

/* ---- names ---- */

#define ID_DIGITS 8u

/* mat_XXXXXXXX; and the .001 that Blender puts behind a name that was there already. */
static struct mlp_named parse_name(const char *text)
{
	struct mlp_named out = { 0 };
	char digits[ID_DIGITS + 1] = { 0 }, *end;

	if (strncmp(text, "mat_", 4) || strspn(text + 4, "0123456789abcdefABCDEF") != ID_DIGITS)
		return out;
	memcpy(digits, text + 4, ID_DIGITS);
	text += 4 + ID_DIGITS;
	if (*text && (*text != '.' || !text[1] || text[1 + strspn(text + 1, "0123456789")]))
		return out;
	out.id = (uint32_t)strtoul(digits, &end, 16);
	out.known = true;
	return out;
}

static int by_id(const void *a, const void *b)
{
	const struct mlp_sub *x = a, *y = b;

	return (x->material_id > y->material_id) - (x->material_id < y->material_id);
}

/* Number of the material with that id among those of the mesh, sorted by id; -1: none has it. */
static int32_t find_material(const struct mlp_sub *sorted, uint32_t n, uint32_t id)
{
	struct mlp_sub key = { .material_id = id };
	const struct mlp_sub *found = bsearch(&key, sorted, n, sizeof *sorted, by_id);

	return found ? (int32_t)found->material : -1;
}

static int check_groups(const struct mlp_edit *x, struct err *e)
{
	for (uint32_t f = 0; f < x->put.nfaces; f++)
		if (x->put.group[f] != GEO_NONE && x->put.group[f] >= x->mesh->nsubs)
			return err_line(e, EINVAL, x->put.face_line[f], 0, "group_%u: mesh %u has %u submesh%s",
					x->put.group[f], x->number, x->mesh->nsubs, x->mesh->nsubs == 1 ? "" : "es");
	return 0;
}

int mlp_names(struct mlp_edit *x, const struct geo_put *put, struct err *e)
{
	struct mlp_named *named = arena_alloc(x->a, (size_t)put->nnames + 1, sizeof *named);
	int32_t *number = arena_alloc(x->a, (size_t)put->nnames + 1, sizeof *number);
	struct mlp_sub *sorted = arena_alloc(x->a, x->mesh->nsubs, sizeof *sorted);
	const char *other = NULL;

	x->put = *put;
	x->put.material = arena_alloc(x->a, (size_t)put->nfaces + 1, sizeof *x->put.material);
	if (!named || !number || !sorted || !x->put.material)
		return err_nomem(e);
	memcpy(sorted, x->m->sub + x->mesh->first_sub, x->mesh->nsubs * sizeof *sorted);
	qsort(sorted, x->mesh->nsubs, sizeof *sorted, by_id);
	for (uint32_t i = 0; i < put->nnames; i++) {
		named[i] = parse_name(put->names[i].text);
		number[i] = named[i].known ? find_material(sorted, x->mesh->nsubs, named[i].id) : -1;
		other = named[i].known || other ? other : put->names[i].text;
	}
	for (uint32_t f = 0; f < put->nfaces; f++)
		x->put.material[f] = put->usemtl[f] == GEO_NONE ? -1 : number[put->usemtl[f]];
	x->named = named;
	if (other)
		object_say(x->o, "mesh %u: usemtl %.40s is no mat_XXXXXXXX and changes no material", x->number, other);
	return check_groups(x, e);
}

/* ---- groups ---- */

int mlp_assign(struct mlp_edit *x, uint32_t **part, struct err *e)
{
	struct geo_assign as = { .was = &x->was, .put = &x->put, .a = x->a };
	int rc = geo_assign(&as, e);

	*part = as.part;
	for (uint32_t f = 0; f < x->put.nfaces && !rc; f++)
		if (as.part[f] == GEO_NONE && !geo_is_flat(x->put.face[f]))
			rc = err_line(e, EINVAL, x->put.face_line[f], 0, "a face in no group; mesh %u has %u submesh%s",
				      x->number, x->mesh->nsubs, x->mesh->nsubs == 1 ? "" : "es");
	return rc;
}

struct triangle { uint32_t v[3], part; };

static void sort3(uint32_t v[3])
{
	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k + 1 < 3 - i; k++)
			if (v[k] > v[k + 1]) {
				uint32_t t = v[k];

				v[k] = v[k + 1];
				v[k + 1] = t;
			}
}

static int by_vertices(const void *a, const void *b)
{
	const struct triangle *x = a, *y = b;

	for (unsigned k = 0; k < 3; k++)
		if (x->v[k] != y->v[k])
			return x->v[k] < y->v[k] ? -1 : 1;
	return 0;
}

static int list_triangles(const struct mlp_edit *x, struct triangle **out, struct err *e)
{
	struct triangle *t = arena_alloc(x->a, (size_t)x->was.nfaces + 1, sizeof *t);

	if (!t)
		return err_nomem(e);
	for (uint32_t k = 0; k < x->was.nparts; k++)
		for (uint32_t i = 0; i < x->was.parts[k].nfaces; i++) {
			uint32_t f = x->was.parts[k].first_face + i;

			memcpy(t[f].v, x->was.face[f], sizeof t[f].v);
			sort3(t[f].v);
			t[f].part = k;
		}
	qsort(t, x->was.nfaces, sizeof *t, by_vertices);
	*out = t;
	return 0;
}

/* Whether a face names a material that the mesh has not, but no group. */
static bool asks(const struct mlp_edit *x, uint32_t f)
{
	uint32_t name = x->put.usemtl[f];

	return x->put.group[f] == GEO_NONE && name != GEO_NONE && x->named[name].known && x->put.material[f] < 0 &&
	       !geo_is_flat(x->put.face[f]);
}

int mlp_parts_of(struct mlp_edit *x, const struct geo_match *match, uint32_t **part, struct err *e)
{
	uint32_t *to = arena_alloc(x->a, (size_t)x->put.nvertices + 1, sizeof *to);
	struct triangle *t = NULL, key = { 0 }, *found;
	int rc = 0;

	*part = arena_alloc(x->a, (size_t)x->put.nfaces + 1, sizeof **part);
	if (!to || !*part)
		return err_nomem(e);
	for (uint32_t i = 0; i < x->was.nvertices; i++)
		if (match->v[i].from != GEO_NONE)
			to[match->v[i].from] = i;
	for (uint32_t f = 0; f < x->put.nfaces && !rc; f++) {
		(*part)[f] = x->put.group[f];
		if (!asks(x, f))
			continue;
		rc = t ? 0 : list_triangles(x, &t, e);
		if (rc)
			break;
		for (unsigned k = 0; k < 3; k++)
			key.v[k] = to[x->put.face[f][k].v];
		sort3(key.v);
		found = bsearch(&key, t, x->was.nfaces, sizeof *t, by_vertices);
		(*part)[f] = found ? found->part : GEO_NONE;
	}
	return rc;
}

/* ---- materials ---- */

struct wish { uint32_t id; unsigned line; };   /* line 0: none */

static int take_wish(const struct mlp_edit *x, struct wish *w, uint32_t part, uint32_t f, struct err *e)
{
	uint32_t id = x->named[x->put.usemtl[f]].id;
	unsigned line = x->put.usemtl_line[f];

	if (!w->line)
		*w = (struct wish){ id, line };
	if (w->id == id)
		return 0;
	return err_line(e, EINVAL, line, 0, "mat_%08x: group_%u has one material, and line %u says mat_%08x", id, part,
			w->line, w->id);
}

int mlp_materials_put(struct mlp_edit *x, const uint32_t *part, struct err *e)
{
	struct wish *wish = arena_alloc(x->a, x->mesh->nsubs, sizeof *wish);
	int rc = wish ? 0 : err_nomem(e);

	for (uint32_t f = 0; f < x->put.nfaces && !rc; f++)
		if (part[f] != GEO_NONE && !geo_is_flat(x->put.face[f]) && x->put.usemtl[f] != GEO_NONE &&
		    x->named[x->put.usemtl[f]].known)
			rc = take_wish(x, &wish[part[f]], part[f], f, e);
	for (uint32_t k = 0; k < x->mesh->nsubs && !rc; k++) {
		uint8_t raw[4];

		put_be32(raw, wish[k].id);
		if (wish[k].line)
			rc = object_patch(x->o, MLP_LIBRARY, mlp_submesh_at(x->m, x->number, k) + MLP_AT_MATERIAL, raw,
					  sizeof raw, "material_id", e);
	}
	return rc;
}
