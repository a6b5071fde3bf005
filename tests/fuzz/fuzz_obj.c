/* OBJ texts: what is accepted has numbers in range and finite values. Read as triangles of numbered groups, and as quads
 * with names. */
#include <math.h>

#include "export.h"
#include "fuzz.h"

static void ensure(bool ok)
{
	if (!ok)
		abort();
}

static void check_numbers(const struct geo_number *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ensure(isfinite(v[i].v) && isfinite(v[i].slack) && v[i].slack >= 0);
}

static void check_corner(const struct geo_put *m, const struct geo_corner *c)
{
	ensure(c->v < m->nvertices && (c->uv == GEO_NONE || c->uv < m->nuvs));
	ensure(c->normal == GEO_NONE || c->normal < m->nnormals);
}

static void check_names(const struct geo_put *m, uint32_t i)
{
	ensure(m->object[i] == GEO_NONE || m->object[i] < m->nnames);
	ensure(m->usemtl[i] == GEO_NONE || (m->usemtl[i] < m->nnames && m->usemtl_line[i] > 0));
}

static void check(const struct geo_put *m)
{
	check_numbers(*m->position, (size_t)m->nvertices * 3);
	check_numbers(*m->normal, (size_t)m->nnormals * 3);
	check_numbers(*m->uv, (size_t)m->nuvs * 2);
	for (uint32_t i = 0; i < m->nvertices; i++) {
		ensure(m->vertex_line[i] > 0);
		if (m->colour && !isnan(m->colour[i][0].v))
			check_numbers(m->colour[i], 3);
	}
	for (uint32_t i = 0; i < m->nfaces; i++) {
		ensure(m->face_line[i] > 0);
		if (m->material)
			ensure(m->material[i] >= -1);
		else
			check_names(m, i);
		for (unsigned k = 0; k < 3; k++)
			check_corner(m, m->quad ? &m->quad[i][k] : &m->face[i][k]);
		if (m->quad && m->quad[i][3].v != GEO_NONE)
			check_corner(m, &m->quad[i][3]);
	}
}

static void read_as(const struct geo_form *form, uint32_t number, const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct geo_put m;
	struct err e;
	int rc = obj_read(data, size, number, form, &m, &a, NULL, &e);

	ensure(!rc || rc == -EINVAL);
	if (!rc)
		check(&m);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct geo_form one = { .quads = true, .named = true, .exact = true, .object = "a", .holds = "two kinds" };
	const struct geo_form all = { .quads = true, .named = true, .holds = "two kinds" };

	read_as(NULL, 0, data, size);
	read_as(&one, 0, data, size);
	read_as(&all, MESH_WHOLE, data, size);
	return 0;
}
