/* Which group of its mesh a triangle goes to: that of its `g`, else that of its material, else that of the nearest old
 * triangle. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmo_topology.h"

/* Groups that can take triangles, sorted by material. */
struct choice { int32_t material; uint32_t group; };

struct assign {
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	uint32_t number;                       /* of the mesh */
	const struct geo_mesh *was;
	const struct geo_put *put;
	struct choice *choice;
	uint32_t nchoices;
	float (*middle)[3];                    /* of the old triangles */
	uint32_t *group_of;                    /* likewise */
	uint32_t *item;                        /* room for numbers of them */
	struct near *near;                 /* by the first choice with that material; the last one: all */
	bool *built;
	struct arena *a;
};

static int by_material(const void *a, const void *b)
{
	const struct choice *x = a, *y = b;

	if (x->material != y->material)
		return x->material < y->material ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static bool prepare(struct assign *x)
{
	const struct geo_mesh *was = x->was;
	uint32_t n = x->mesh->group_count;

	x->choice = arena_alloc(x->a, (size_t)n + 1, sizeof *x->choice);
	x->near = arena_alloc(x->a, (size_t)n + 1, sizeof *x->near);
	x->built = arena_alloc(x->a, (size_t)n + 1, sizeof *x->built);
	x->middle = arena_alloc(x->a, (size_t)was->nfaces + 1, sizeof *x->middle);
	x->group_of = arena_alloc(x->a, (size_t)was->nfaces + 1, sizeof *x->group_of);
	x->item = arena_alloc(x->a, (size_t)was->nfaces + 1, sizeof *x->item);
	if (!x->choice || !x->near || !x->built || !x->middle || !x->group_of || !x->item)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		const struct geo_part *part = &was->parts[k];

		if (!x->p->group[x->mesh->first_group + k].hidden)
			x->choice[x->nchoices++] = (struct choice){ part->material, k };
		for (uint32_t f = part->first_face; f < part->first_face + part->nfaces; f++)
			x->group_of[f] = k;
	}
	for (uint32_t f = 0; f < was->nfaces; f++)
		for (unsigned k = 0; k < 3; k++)
			x->middle[f][k] = (float)(((double)geo_shown(was->position[was->face[f][0]][k]) +
						   geo_shown(was->position[was->face[f][1]][k]) +
						   geo_shown(was->position[was->face[f][2]][k])) / 3);
	if (x->nchoices)
		qsort(x->choice, x->nchoices, sizeof *x->choice, by_material);
	return true;
}

/* The group of the old triangle nearest to face f, among those of choices [from, to), whose tree is number `tree`;
 * without one the first of the choices. */
static int nearest(struct assign *x, uint32_t f, uint32_t from, uint32_t to, uint32_t tree, uint32_t *out,
		   struct err *e)
{
	const struct geo_corner *c = x->put->face[f];
	const struct near_spot *spot;
	uint32_t n = 0;
	float at[3];

	if (!x->built[tree]) {
		for (uint32_t k = from; k < to; k++) {
			const struct geo_part *part = &x->was->parts[x->choice[k].group];

			for (uint32_t i = 0; i < part->nfaces; i++)
				x->item[n++] = part->first_face + i;
		}
		if (!near_build(&x->near[tree], (const float (*)[3])x->middle, x->item, n, x->a))
			return err_nomem(e);
		x->built[tree] = true;
	}
	for (unsigned k = 0; k < 3; k++)
		at[k] = (float)((x->put->position[c[0].v][k].v + x->put->position[c[1].v][k].v +
				 x->put->position[c[2].v][k].v) / 3);
	spot = near_find(&x->near[tree], at);
	*out = spot ? x->group_of[x->near[tree].item[spot->first]] : x->choice[from].group;
	return 0;
}

static uint32_t first_with(const struct assign *x, int64_t material)
{
	uint32_t low = 0, high = x->nchoices;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (x->choice[mid].material < material)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int choose(struct assign *x, uint32_t f, uint32_t *out, struct err *e)
{
	uint32_t group = x->put->group[f], from, to;
	int32_t material = x->put->material[f];

	if (group < x->mesh->group_count && x->p->group[x->mesh->first_group + group].hidden)
		return err_line(e, EINVAL, x->put->face_line[f], 0,
				"group_%u is hidden; `visible: true` in meshes/%u.yaml shows it, then it can take "
				"triangles",
				group, x->number);
	if (group < x->mesh->group_count) {
		*out = group;
		return 0;
	}
	if (!x->nchoices)
		return err_line(e, EINVAL, x->put->face_line[f], 0,
				"mesh %u has no group that is drawn, so none can take this face", x->number);
	from = material < 0 ? 0 : first_with(x, material);
	to = material < 0 ? 0 : first_with(x, (int64_t)material + 1);
	if (from == to)
		return nearest(x, f, 0, x->nchoices, x->mesh->group_count, out, e);
	if (to - from > 1)
		return nearest(x, f, from, to, from, out, e);
	*out = x->choice[from].group;
	return 0;
}

int pmo_assign(const struct pmo *p, uint32_t mesh, const struct geo_mesh *was, const struct geo_put *put,
	       struct pmo_assigned *out, struct arena *a, struct err *e)
{
	struct assign x = { .p = p, .mesh = &p->mesh[mesh], .number = mesh, .was = was, .put = put, .a = a };
	uint32_t n = x.mesh->group_count, *group, *next;
	int rc = 0;

	group = arena_alloc(a, (size_t)put->nfaces + 1, sizeof *group);
	next = arena_alloc(a, (size_t)n + 2, sizeof *next);
	out->face = arena_alloc(a, (size_t)put->nfaces + 1, sizeof *out->face);
	out->first = arena_alloc(a, (size_t)n + 2, sizeof *out->first);
	if (!group || !next || !out->face || !out->first || !prepare(&x))
		return err_nomem(e);
	for (uint32_t f = 0; f < put->nfaces && !rc; f++) {
		group[f] = GEO_NONE;
		if (geo_is_flat(put->face[f]))
			continue;
		rc = choose(&x, f, &group[f], e);
		if (!rc)
			next[group[f] + 1]++;
	}
	for (uint32_t k = 0; k < n; k++)
		next[k + 1] += next[k];
	memcpy(out->first, next, ((size_t)n + 1) * sizeof *next);
	for (uint32_t f = 0; f < put->nfaces && !rc; f++)
		if (group[f] != GEO_NONE)
			out->face[next[group[f]]++] = f;
	return rc;
}
