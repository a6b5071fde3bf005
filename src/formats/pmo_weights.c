/* Edited weights of a mesh: weight k of a vertex belongs to the bone that its group has in matrix slot k. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pmo.h"

struct edit {
	struct object *o;
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	const struct geo_weights *put;
	struct pmo_run *run;                   /* mesh->group_count */
	struct pmo_window win;
	struct pmo_wishes wishes;
	uint8_t *drawn;                        /* of each vertex, 1: a face uses it; NULL: it does not matter */
	uint32_t uneven;                       /* changed vertices whose weights do not add up to 1 */
	bool morphed;                          /* a vertex with further morph targets was changed */
};

static void print_bone(char *text, size_t n, int32_t bone)
{
	if (bone < 0)
		snprintf(text, n, "null");
	else
		snprintf(text, n, "%d", bone);
}

/* "bone 7, this vertex has weights for 3, 4". */
static int no_such_bone(unsigned line, int32_t bone, const int16_t *slots, unsigned n, struct err *e)
{
	char named[16], have[PMO_SLOTS * 8] = "";
	size_t len = 0;

	print_bone(named, sizeof named, bone);
	for (unsigned k = 0; k < n; k++) {
		char one[16];

		print_bone(one, sizeof one, slots[k]);
		len += (size_t)snprintf(have + len, sizeof have - len, "%s%s", k ? ", " : "", one);
	}
	return err_line(e, EINVAL, line, 0, "bone %s: this vertex has weights for %s", named, have);
}

/* Number of the weight that each slot is given; GEO_NONE: none. Slots with the same bone are taken in order. */
static int find_slots(const struct geo_weights *put, uint32_t i, const int16_t *bone, unsigned n,
		      uint32_t given[PMO_SLOTS], struct err *e)
{
	uint32_t first = put->first[i];

	if (put->npairs[i] > PMO_SLOTS)
		return err_line(e, EINVAL, put->line[i], 0, "%u weights, a vertex has at most %u", put->npairs[i],
				PMO_SLOTS);
	for (unsigned k = 0; k < PMO_SLOTS; k++)
		given[k] = GEO_NONE;
	for (uint32_t j = first; j < first + put->npairs[i]; j++) {
		unsigned k = 0;

		while (k < n && (given[k] != GEO_NONE || bone[k] != put->joint[j]))
			k++;
		if (k == n)
			return no_such_bone(put->line[i], put->joint[j], bone, n, e);
		given[k] = j;
	}
	return 0;
}

/* Without stored weights a vertex follows the bone in slot 0. */
static int check_rigid(const struct geo_weights *put, uint32_t i, int32_t bone, struct err *e)
{
	uint32_t j = put->first[i];
	char text[16];

	if (put->npairs[i] == 1 && put->joint[j] == bone && geo_stays(put->weight[j], 1))
		return 0;
	print_bone(text, sizeof text, bone);
	return err_line(e, EINVAL, put->line[i], 0, "this vertex stores no weights, only [[%s, 1.0]] can stand here",
			text);
}

static int put_weight(const struct ge_field *f, uint8_t *vertex, unsigned k, struct geo_number given, unsigned line,
		      struct err *e)
{
	double least, most;

	if (geo_stays(given, geo_shown((float)ge_get(f, vertex, k))))
		return 0;
	if (given.v < 0)
		return err_line(e, EINVAL, line, 0, "weight %s is negative", num_text(given.v).s);
	pmo_range(f, &least, &most);
	if (!pmo_fits(f, given.v))
		return err_line(e, EINVAL, line, 0, "weight %s is outside %s..%s", num_text(given.v).s,
				num_text(least).s, num_text(most).s);
	ge_put(f, vertex, k, given.v);
	return 0;
}

/* More than rounding makes of weights that add up to 1. */
static bool is_uneven(const struct ge_field *f, const uint8_t *vertex)
{
	double sum = 0;

	for (unsigned k = 0; k < f->count; k++)
		sum += ge_get(f, vertex, k);
	return !(fabs(sum - 1) <= (f->format == 1 ? f->count / 256.0 : 1e-3));
}

static int put_vertex(struct edit *x, const struct pmo_run *r, uint32_t i, uint64_t at, struct err *e)
{
	const struct ge_vertex *type = &r->scan.vertex;
	const struct ge_field *f = &type->weight;
	const struct geo_weights *put = x->put;
	const int16_t *bone = x->p->group[r->group].bone;
	unsigned size = pmo_component_size(f), line = put->line[i];
	uint32_t given[PMO_SLOTS];
	const uint8_t *was;
	uint8_t want[128];
	int rc = find_slots(put, i, bone, f->count, given, e);

	if (!rc)
		rc = pmo_window(x->p, &x->win, at, type->size, &was, e);
	if (rc)
		return rc;
	memcpy(want, was, type->size);
	for (unsigned k = 0; k < f->count && !rc; k++) {
		struct geo_number none = { 0 };

		rc = put_weight(f, want, k, given[k] == GEO_NONE ? none : put->weight[given[k]], line, e);
	}
	if (!rc && memcmp(was, want, type->size)) {
		x->uneven += is_uneven(f, want);
		x->morphed |= type->morphs > 1;
	}
	if (!rc)
		pmo_wish(&x->wishes, at + f->at, was + f->at, want + f->at, (size_t)f->count * size, line,
			 x->drawn && !x->drawn[i]);
	return rc;
}

static int put_run(struct edit *x, const struct pmo_run *r, struct err *e)
{
	const struct pmo_group *g = &x->p->group[r->group];
	const struct ge_vertex *type = &r->scan.vertex;
	int rc = 0;

	for (uint32_t i = 0; i < r->scan.vertices && !rc; i++) {
		if (type->weight.format)
			rc = put_vertex(x, r, r->first + i, g->vertex_buffer + (uint64_t)i * type->stride, e);
		else
			rc = check_rigid(x->put, r->first + i, g->bone[0], e);
	}
	return rc;
}

/* Which vertices faces use, for vertices that are stored once and shown several times. */
static int find_drawn(struct edit *x, uint32_t mesh, struct arena *a, struct err *e)
{
	struct geo_mesh m;
	int rc = pmo_mesh_geometry(x->o, mesh, &m, a, e);

	if (rc)
		return rc;
	x->drawn = arena_alloc(a, (size_t)m.nvertices + 1, 1);
	if (!x->drawn)
		return err_nomem(e);
	for (uint32_t f = 0; f < m.nfaces; f++)
		for (unsigned k = 0; k < 3; k++)
			x->drawn[m.face[f][k]] = 1;
	return 0;
}

static int put_weights(struct edit *x, uint32_t mesh, struct arena *a, struct err *e)
{
	uint32_t n = 0;
	int rc;

	x->run = arena_alloc(a, (size_t)x->mesh->group_count + 1, sizeof *x->run);
	rc = x->run ? pmo_runs(x->p, x->mesh, x->run, &x->win, &n, e) : err_nomem(e);
	if (rc)
		return rc;
	if (n != x->put->nvertices)
		return err_set(e, EINVAL, "weights of %u vertices, the mesh has %u", x->put->nvertices, n);
	rc = pmo_runs_overlap(x->p, x->run, x->mesh->group_count, e);
	if (rc < 0)
		return rc;
	x->wishes.shared = rc > 0;
	rc = rc ? find_drawn(x, mesh, a, e) : 0;
	for (uint32_t k = 0; k < x->mesh->group_count && !rc; k++)
		rc = put_run(x, &x->run[k], e);
	rc = rc ? rc : pmo_grant(x->o, &x->wishes, e);
	if (!rc && x->uneven)
		object_say(x->o, "mesh %u: the weights of %u changed vertices do not add up to 1", mesh, x->uneven);
	if (!rc && x->morphed)
		object_say(x->o, "mesh %u: only the first morph target was changed", mesh);
	return rc;
}

int pmo_weights_put(struct object *o, uint32_t mesh, const struct geo_weights *w, struct err *e)
{
	const struct pmo *p = o->priv;
	struct edit x = { .o = o, .p = p, .put = w };
	struct arena a = { 0 };
	int rc = pmo_mesh_sound(o, mesh, e);

	if (rc)
		return rc;
	x.mesh = &p->mesh[mesh];
	rc = put_weights(&x, mesh, &a, e);
	buf_free(&x.win.bytes);
	buf_free(&x.wishes.v);
	arena_free(&a);
	return rc;
}
