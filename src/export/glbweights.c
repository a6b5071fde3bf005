/* Joints and weights of a GLB as an edit of the stored ones. A vertex whose weights are those that were shown keeps its
 * pairs as they are stored: their order, zeros, and what no GLB says. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glbput.h"

#define PAIRS_MOST (4 * SCENE_JOINT_SETS)
#define EASY_MOST 4u                           /* weights of a vertex that programs keep at least */

struct influence { int32_t bone; double weight; };
struct influences { unsigned n; struct influence v[PAIRS_MOST]; };

struct weighing {
	const struct geo_scene *scene;
	const struct scene_node *node;
	const struct geo_mesh *m;              /* with its weights */
	const int32_t *bone;
	const struct pairing *pair;
	struct glb_edit *out;
	uint32_t *from;                        /* of each stored vertex: that of the file + 1 which gives new ones; 0 */
	uint32_t *first;                       /* likewise: the first one that gives any */
	struct arena *a;
};

static int by_weight(const void *a, const void *b)
{
	const struct influence *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->bone > y->bone) - (x->bone < y->bone);
}

/* The largest first; each bone once. bone: of each joint; NULL: they are the same. */
static void get(const struct scene_primitive *p, uint32_t i, const int32_t *bone, struct influences *out)
{
	out->n = 0;
	for (unsigned k = 0; k < 4 * p->nsets; k++) {
		size_t at = (size_t)i * p->nsets + k / 4;
		double w = (double)p->weight[at][k % 4];
		unsigned same = 0;
		int32_t b;

		if (!(w > 0))
			continue;
		b = bone ? bone[p->joint[at][k % 4]] : p->joint[at][k % 4];
		if (b == GLB_UNTIED)
			continue;
		while (same < out->n && out->v[same].bone != b)
			same++;
		if (same == out->n)
			out->v[out->n++] = (struct influence){ b, 0 };
		out->v[same].weight += w;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, by_weight);
}

static const struct influence *find(const struct influences *s, int32_t bone)
{
	for (unsigned k = 0; k < s->n; k++)
		if (s->v[k].bone == bone)
			return &s->v[k];
	return NULL;
}

/* Whether the weights are those, divided by `all`. */
static bool are(const struct influences *now, const struct influences *was, double all, double most_off)
{
	for (unsigned k = 0; k < now->n; k++) {
		const struct influence *have = find(was, now->v[k].bone);

		if (!have || !(fabs(now->v[k].weight - have->weight / all) <= most_off))
			return false;
	}
	return true;
}

/* *cut: the program kept the largest ones only. */
static bool stay(const struct weighing *x, const struct influences *now, const struct influences *was, bool *cut)
{
	double off = x->pair->foreign ? 1e-5 : 0, all = 0, sum = 0;

	*cut = false;
	for (unsigned k = 0; k < now->n; k++)
		sum += now->v[k].weight;
	if (now->n == was->n && are(now, was, 1, off))
		return true;
	/* Some write weights as they are, and leave it to others to make them add up to 1. */
	if (!x->pair->foreign || now->n != EASY_MOST || was->n <= EASY_MOST || !(fabs(sum - 1) < 1e-3))
		return false;
	for (unsigned k = 0; k < EASY_MOST; k++)
		all += was->v[k].weight;
	*cut = are(now, was, all, 1e-4);
	return *cut;
}

static int check_names(const struct weighing *x, const struct influences *now, uint32_t vertex, const char *name,
		       const struct scene_primitive *p, uint32_t i, struct err *e)
{
	const struct scene_skin *skin = &x->scene->skin[x->node->skin];

	if (!find(now, -1))
		return 0;
	for (unsigned k = 0; k < 4 * p->nsets; k++) {
		size_t at = (size_t)i * p->nsets + k / 4;

		if (p->weight[at][k % 4] > 0 && x->bone[p->joint[at][k % 4]] == -1)
			return err_set(e, EINVAL, "%.40s: vertex %u hangs on \"%.60s\", and the skeleton has no bone "
				       "of that name", name, vertex,
				       x->scene->node[skin->joint[p->joint[at][k % 4]]].name);
	}
	return 0;
}

/* ---- which vertices ---- */

/* Several vertices of the file can be one stored one: they have to agree. */
static int check_agreed(struct weighing *x, uint32_t now, uint32_t stored, const struct influences *have,
			const char *name, struct err *e)
{
	struct influences other;
	uint32_t i, before = x->first[stored];
	const struct scene_primitive *p;

	if (!before) {
		x->first[stored] = now + 1;
		return 0;
	}
	p = soup_vertex(&x->pair->now, before - 1, &i);
	get(p, i, x->bone, &other);
	return other.n == have->n && are(have, &other, 1, 1e-5) ? 0 :
	       err_set(e, EINVAL, "%.40s: vertices %u and %u are one vertex of the model, and have other weights", name,
		       before - 1, now);
}

static int look_at(struct weighing *x, uint32_t now, uint32_t was, uint32_t stored, const char *name, struct err *e)
{
	uint32_t i, j;
	const struct scene_primitive *p = soup_vertex(&x->pair->now, now, &i), *q;
	struct influences have, want = { 0 };
	bool cut;
	int rc;

	if (!p->nsets)
		return 0;
	get(p, i, x->bone, &have);
	rc = check_names(x, &have, now, name, p, i, e);
	rc = rc || !have.n ? rc : check_agreed(x, now, stored, &have, name, e);
	if (rc || !have.n)
		return rc;
	q = soup_vertex(&x->pair->was, was, &j);
	if (q->nsets)
		get(q, j, NULL, &want);
	if (stay(x, &have, &want, &cut)) {
		x->out->left_out += cut;
		return 0;
	}
	x->from[stored] = now + 1;
	x->out->weights = true;
	return 0;
}

/* Of a topology that is not known yet the weights are taken once it is stored. */
static int look_at_all(struct weighing *x, const char *name, struct err *e)
{
	const struct pairing *p = x->pair;
	int rc = 0;

	for (uint32_t i = 0; i < p->now.nvertices && !rc; i++)
		if (p->vertex_of[i] != GEO_NONE)
			rc = look_at(x, i, p->vertex_of[i], pair_stored(p, p->vertex_of[i]), name, e);
	return rc;
}

/* ---- pairs ---- */

/* Those of a vertex as its weights.yaml has them. */
static void keep_pairs(const struct weighing *x, uint32_t v, size_t *at)
{
	const struct geo_mesh *m = x->m;
	struct geo_weights *out = &x->out->pairs;
	uint32_t first = m->first_influence[v];
	double left = m->weight_unit;

	out->whole[v] = m->weight_unit;
	for (unsigned k = 0; k < m->ninfluences[v]; k++, ++*at) {
		double w = (double)geo_shown(m->weight[first + k]);

		out->joint[*at] = m->joint[first + k];
		if (m->weight_unit) {
			w = k + 1u == m->ninfluences[v] ? left : w;
			left -= w;
		}
		out->weight[*at] = (struct geo_number){ w, 0 };
	}
	out->npairs[v] = m->ninfluences[v];
}

static void new_pairs(const struct weighing *x, uint32_t v, size_t *at)
{
	struct geo_weights *out = &x->out->pairs;
	struct influences now;
	double sum = 0;
	uint32_t i;
	const struct scene_primitive *p = soup_vertex(&x->pair->now, x->from[v] - 1, &i);

	get(p, i, x->bone, &now);
	for (unsigned k = 0; k < now.n; k++)
		sum += now.v[k].weight;
	for (unsigned k = 0; k < now.n; k++, ++*at) {
		out->joint[*at] = now.v[k].bone;
		out->weight[*at] = (struct geo_number){ now.v[k].weight / sum, 0 };
	}
	out->npairs[v] = now.n;
}

static int make_pairs(struct weighing *x, struct err *e)
{
	struct geo_weights *out = &x->out->pairs;
	size_t n = x->m->nvertices, pairs = 0, at = 0;

	for (uint32_t v = 0; v < n; v++)
		pairs += x->from[v] ? PAIRS_MOST : x->m->ninfluences[v];
	out->nvertices = (uint32_t)n;
	out->npairs = arena_alloc(x->a, n + 1, sizeof *out->npairs);
	out->first = arena_alloc(x->a, n + 1, sizeof *out->first);
	out->whole = arena_alloc(x->a, n + 1, sizeof *out->whole);
	out->line = arena_alloc(x->a, n + 1, sizeof *out->line);
	out->joint = arena_alloc(x->a, pairs + 1, sizeof *out->joint);
	out->weight = arena_alloc(x->a, pairs + 1, sizeof *out->weight);
	if (!out->npairs || !out->first || !out->whole || !out->line || !out->joint || !out->weight)
		return err_nomem(e);
	for (uint32_t v = 0; v < n; v++) {
		out->first[v] = (uint32_t)at;
		out->line[v] = v + 1;
		if (x->from[v])
			new_pairs(x, v, &at);
		else
			keep_pairs(x, v, &at);
	}
	return 0;
}

static int refuse(const struct weighing *x, const char *name, struct err *e)
{
	uint32_t v = 0;

	while (!x->from[v])
		v++;
	return err_set(e, EINVAL, "%.40s: vertex %u hangs on other bones than before, and the mesh stores no weights "
		       "of its vertices", name, x->from[v] - 1);
}

int glb_compare_weights(const struct geo_scene *scene, const struct scene_node *node, const struct glb_shown *was,
			const int32_t *bone, const struct pairing *pair, struct glb_edit *out, struct arena *a,
			struct err *e)
{
	struct weighing x = { .scene = scene, .node = node, .m = was->plain, .bone = bone, .pair = pair, .out = out,
			      .a = a };
	int rc;

	if (!bone || node->skin < 0 || !was->skeleton || !was->skeleton->n)
		return 0;
	x.from = arena_alloc(a, (size_t)was->plain->nvertices + 1, sizeof *x.from);
	x.first = arena_alloc(a, (size_t)was->plain->nvertices + 1, sizeof *x.first);
	rc = x.from && x.first ? look_at_all(&x, node->name, e) : err_nomem(e);
	if (rc || !out->weights)
		return rc;
	return was->plain->skinned && was->plain->ninfluences ? make_pairs(&x, e) : refuse(&x, node->name, e);
}
