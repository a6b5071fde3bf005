/* OBJ texts: what is accepted has numbers in range and finite values. */
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
		ensure(m->material[i] >= -1 && m->face_line[i] > 0);
		for (unsigned k = 0; k < 3; k++) {
			const struct geo_corner *c = &m->face[i][k];

			ensure(c->v < m->nvertices && (c->uv == GEO_NONE || c->uv < m->nuvs));
			ensure(c->normal == GEO_NONE || c->normal < m->nnormals);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct geo_put m;
	struct err e;
	int rc = obj_read(data, size, 0, &m, &a, NULL, &e);

	ensure(!rc || rc == -EINVAL);
	if (!rc)
		check(&m);
	arena_free(&a);
	return 0;
}
