/* The triangles of an edited mesh by the groups they go to. */
#include <errno.h>
#include <string.h>

#include "assign.h"
#include "pmo_topology.h"

static int refuse(const struct geo_put *put, uint32_t f, uint32_t mesh, bool hidden, struct err *e)
{
	if (hidden)
		return err_line(e, EINVAL, put->face_line[f], 0,
				"group_%u is hidden; `visible: true` in meshes/%u.yaml shows it, then it can take "
				"triangles",
				put->group[f], mesh);
	return err_line(e, EINVAL, put->face_line[f], 0,
			"mesh %u has no group that is drawn, so none can take this face", mesh);
}

/* How many triangles each group gets, in next[1 + group]. */
static int count(const struct geo_assign *x, uint32_t mesh, uint32_t *next, struct err *e)
{
	const struct geo_put *put = x->put;

	for (uint32_t f = 0; f < put->nfaces; f++) {
		if (geo_is_flat(put->face[f]))
			continue;
		if (x->part[f] == GEO_NONE || x->closed[x->part[f]])
			return refuse(put, f, mesh, x->part[f] != GEO_NONE, e);
		next[x->part[f] + 1]++;
	}
	return 0;
}

int pmo_assign(const struct pmo *p, uint32_t mesh, const struct geo_mesh *was, const struct geo_put *put,
	       struct pmo_assigned *out, struct arena *a, struct err *e)
{
	const struct pmo_mesh *m = &p->mesh[mesh];
	uint32_t n = m->group_count, *next = arena_alloc(a, (size_t)n + 2, sizeof *next);
	bool *closed = arena_alloc(a, (size_t)n + 1, sizeof *closed);
	struct geo_assign x = { .was = was, .put = put, .closed = closed, .anywhere = true, .a = a };
	int rc;

	out->face = arena_alloc(a, (size_t)put->nfaces + 1, sizeof *out->face);
	out->first = arena_alloc(a, (size_t)n + 2, sizeof *out->first);
	if (!next || !closed || !out->face || !out->first)
		return err_nomem(e);
	for (uint32_t k = 0; k < n; k++)
		closed[k] = p->group[m->first_group + k].hidden;
	rc = geo_assign(&x, e);
	rc = rc ? rc : count(&x, mesh, next, e);
	if (rc)
		return rc;
	for (uint32_t k = 0; k < n; k++)
		next[k + 1] += next[k];
	memcpy(out->first, next, ((size_t)n + 1) * sizeof *next);
	for (uint32_t f = 0; f < put->nfaces; f++)
		if (x.part[f] != GEO_NONE)
			out->face[next[x.part[f]]++] = f;
	return 0;
}
