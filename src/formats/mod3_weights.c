/* Edited weights of a MOD3 mesh (spec/mod3.md 7.3): of the 4 or 8 slots of a vertex the last has what is left of 1023,
 * so it is not stored and may be negative. Slots are never sorted, merged or cut off: their order is part of the model.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mod3_write.h"
#include "num.h"

#define RECORD_FLAGS 0x0cu                     /* in a mesh record; bits 3 to 7: weights per vertex */

struct edit {
	struct object *o;
	const struct mod3 *m;
	uint32_t number;
	const struct mod3_mesh *mesh;
	const struct geo_weights *put;
	struct mod3_window win;
	struct arena *a;
	uint32_t uneven;                       /* vertices whose fractions do not add up to 1 */
};

/* What a line gives a vertex. */
struct line {
	unsigned number;                       /* of the text */
	int32_t weight[MOD3_SLOTS];
	int32_t bone[MOD3_SLOTS];
};

/* ---- one line ---- */

static int check_bones(const struct edit *x, const struct line *l, const uint8_t *vertex, struct err *e)
{
	const struct mod3_block *b = x->mesh->block;

	for (unsigned k = 0; k < b->slots; k++) {
		if (l->bone[k] == vertex[b->ids + k])
			continue;              /* also one that leads nowhere may stay */
		if (l->bone[k] < 0)
			return err_line(e, EINVAL, l->number, 0, "bone null: a vertex has a bone in every slot");
		if (l->bone[k] >= (int32_t)x->m->table[MOD3_BONES].n || l->bone[k] > UINT8_MAX)
			return err_line(e, EINVAL, l->number, 0, "bone %d does not exist, the model has %u", l->bone[k],
					x->m->table[MOD3_BONES].n);
	}
	return 0;
}

static int check_weights(const struct mod3_block *b, const struct line *l, struct err *e)
{
	for (unsigned k = 0; k + 1 < b->slots; k++) {
		int32_t most = k < 3 ? MOD3_ALL_WEIGHTS : UINT8_MAX;

		if (l->weight[k] < 0 || l->weight[k] > most)
			return err_line(e, EINVAL, l->number, 0, "weight %d is outside 0..%d, which slot %u holds%s",
					l->weight[k], most, k, k < 3 ? "" : "; put the largest weights first");
	}
	return 0;
}

static int take_integers(const struct geo_number *given, uint32_t n, struct line *l, struct err *e)
{
	double sum = 0;

	for (uint32_t k = 0; k < n; k++)
		sum += given[k].v;
	if (sum != MOD3_ALL_WEIGHTS)
		return err_line(e, EINVAL, l->number, 0, "the weights add up to %.0f, expected %d", sum,
				MOD3_ALL_WEIGHTS);
	for (uint32_t k = 0; k < n; k++) {
		if (fabs(given[k].v) > INT32_MAX)
			return err_line(e, EINVAL, l->number, 0, "weight %.0f is too large", given[k].v);
		l->weight[k] = (int32_t)given[k].v;
	}
	return 0;
}

/* The largest takes what rounding leaves. */
static int take_fractions(struct edit *x, const struct geo_number *given, uint32_t n, struct line *l, struct err *e)
{
	int32_t left = MOD3_ALL_WEIGHTS;
	unsigned largest = 0;

	for (uint32_t k = 0; k < n; k++) {
		double v = given[k].v * MOD3_ALL_WEIGHTS;

		if (fabs(v) > 1 << 20)
			return err_line(e, EINVAL, l->number, 0, "weight %s is far outside 0.0..1.0",
					num_text(given[k].v).s);
		l->weight[k] = (int32_t)lrint(v);
		left -= l->weight[k];
		if (given[k].v > given[largest].v)
			largest = k;
	}
	l->weight[largest] += left;
	x->uneven += left > (int32_t)MOD3_SLOTS || left < -(int32_t)MOD3_SLOTS;
	return 0;
}

static int read_line(struct edit *x, uint32_t i, struct line *l, struct err *e)
{
	const struct geo_weights *put = x->put;
	uint32_t first = put->first[i], n = put->npairs[i];

	*l = (struct line){ .number = put->line[i] };
	if (n > x->mesh->block->slots)
		return err_line(e, EINVAL, l->number, 0, "%u pairs, a vertex of %s has %u", n, x->mesh->block->name,
				x->mesh->block->slots);
	for (uint32_t k = 0; k < n; k++)
		l->bone[k] = put->joint[first + k];
	return put->whole[i] ? take_integers(put->weight + first, n, l, e) :
			       take_fractions(x, put->weight + first, n, l, e);
}

/* ---- vertices ---- */

static int put_vertex(struct edit *x, uint32_t i, uint8_t *vertex, struct err *e)
{
	const struct mod3_block *b = x->mesh->block;
	struct line l;
	int rc = read_line(x, i, &l, e);

	rc = rc ? rc : check_bones(x, &l, vertex, e);
	rc = rc ? rc : check_weights(b, &l, e);
	if (rc)
		return rc;
	mod3_weights_store(b, l.weight, vertex);
	for (unsigned k = 0; k < b->slots; k++)
		vertex[b->ids + k] = (uint8_t)l.bone[k];
	return 0;
}

static int put_vertices(struct edit *x, uint8_t *buffer, struct err *e)
{
	uint8_t *v = mod3_window_in(x->m, x->mesh, &x->win, buffer);
	int rc = 0;

	if (x->put->nvertices != x->win.n)
		return err_set(e, EINVAL, "weights of %u vertices, the mesh has %u", x->put->nvertices, x->win.n);
	for (uint32_t i = 0; i < x->win.n && !rc; i++)
		rc = put_vertex(x, i, v + (size_t)i * x->mesh->stride, e);
	return rc;
}

/* ---- weights per vertex ---- */

static unsigned most_weights(const struct mod3_points *p)
{
	unsigned most = 0;

	for (uint32_t i = 0; i < p->n && p->block->slots; i++) {
		unsigned n = mod3_weights_used(p->block, p->v + (size_t)i * p->block->stride);

		most = n > most ? n : most;
	}
	return most;
}

int mod3_follow_weights(struct object *o, uint32_t mesh, const struct mod3_points *was, const struct mod3_points *now,
			bool all, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint64_t at = mod3_mesh_at(m, mesh) + RECORD_FLAGS;
	unsigned most = most_weights(now);
	uint8_t raw[2];
	int rc;

	if (most <= m->mesh[mesh].weights_per_vertex || (!all && most <= most_weights(was)))
		return 0;
	rc = src_read(o->src, raw, sizeof raw, at, "flags of a mesh", e);
	put_le16(raw, (uint16_t)((le_u16(raw) & ~0xf8u) | most << 3));
	return rc ? rc : object_patch(o, 0, at, raw, sizeof raw, "flags of a mesh", e);
}

/* Of every mesh that has some of the vertices. */
static int follow(struct edit *x, const struct mod3_scene *was, const struct mod3_scene *now, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->m->table[MOD3_MESHES].n && !rc; i++) {
		const struct mod3_points *a = &was->mesh[i], *b = &now->mesh[i];

		if (b->v && memcmp(a->v, b->v, (size_t)b->n * b->block->stride))
			rc = mod3_follow_weights(x->o, i, a, b, true, e);
	}
	return rc;
}

/* ---- all of it ---- */

static int put_weights(struct edit *x, struct err *e)
{
	const struct mod3_table *t = &x->m->table[MOD3_VERTICES];
	struct mod3_moves moves = { .a = x->a };
	struct mod3_scene was, now;
	uint8_t *buffer;
	int rc = mod3_window(x->o, x->number, &x->win, x->a, e);

	rc = rc ? rc : mod3_scene(x->o, &was, x->a, e);
	rc = rc ? rc : mod3_scene_copy(x->m, &was, &now, &buffer, x->a, e);
	rc = rc ? rc : put_vertices(x, buffer, e);
	if (!rc && t->size)
		rc = object_patch(x->o, 0, t->at, buffer, t->size, "vertices", e);
	rc = rc ? rc : follow(x, &was, &now, e);
	rc = rc ? rc : mod3_follow(x->o, &was, &now, &moves, e);
	rc = rc ? rc : mod3_moves_do(x->o, &moves, e);
	if (!rc && x->uneven)
		object_say(x->o, "mesh %u: the weights of %u vertices did not add up to 1, the largest took the rest",
			   x->number, x->uneven);
	return rc;
}

int mod3_weights_put(struct object *o, uint32_t mesh, const struct geo_weights *w, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct arena a = { 0 };
	struct edit x = { .o = o, .m = m, .number = mesh, .put = w, .a = &a };
	int rc = mod3_mesh_sound(o, mesh, e);

	if (rc)
		return rc;
	x.mesh = &m->mesh[mesh];
	if (!x.mesh->block->slots)
		return err_set(e, EINVAL, "%s has no weights", x.mesh->block->name);
	rc = put_weights(&x, e);
	arena_free(&a);
	return rc;
}
