/* Which stored vertex is meant by each vertex of an edited mesh (views.md 4). Programs drop vertices that no face uses,
 * turn and sort faces, and give every corner its own texture coordinate and normal; none of that is an edit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "match.h"

struct match {
	const struct geo_stored *stored;
	const struct geo_mesh *was;            /* stored->mesh */
	const struct geo_put *put;
	const float *uvs, *normals;            /* stored ones; NULL: none */
	uint32_t *to;                          /* of each vertex of put: the stored one, or GEO_NONE */
	struct geo_match *out;
};

struct triangle {
	uint32_t v[3], group;                  /* group: number in the mesh; GEO_NONE: not said */
	int32_t material;                      /* -1: not said */
};

/* ---- normals ---- */

/* The values of that kind; NULL: the mesh has none. */
static const float *values_of(const struct geo_mesh *m, unsigned attr)
{
	for (unsigned i = 0; i < m->nstreams; i++)
		if (m->streams[i].attr == attr)
			return m->streams[i].v;
	return NULL;
}

static bool normal_stays(const struct geo_number given[3], const float shown[3])
{
	return geo_stays(given[0], geo_shown(shown[0])) && geo_stays(given[1], geo_shown(shown[1])) &&
	       geo_stays(given[2], geo_shown(shown[2]));
}

#define COS_1_DEGREE 0.99984769515639124

/* Whether b, of any length, points within 1 degree of a; false when one of them has no direction. */
static bool points_along(const double a[3], const double b[3])
{
	double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
	double length = sqrt((a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) * (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]));

	return length > 0 && dot >= COS_1_DEGREE * length;
}

bool geo_normal_near(const struct geo_number given[3], const float shown[3])
{
	return points_along((const double[]){ given[0].v, given[1].v, given[2].v },
		    (const double[]){ shown[0], shown[1], shown[2] });
}

/* ---- vertices ---- */

static void mark(uint8_t *used, const uint32_t *v, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		used[v[k]] = 1;
}

/* All vertices in stored order. */
static bool map_all(struct match *x)
{
	if (x->put->nvertices != x->was->nvertices)
		return false;
	for (uint32_t i = 0; i < x->put->nvertices; i++)
		x->to[i] = i;
	return true;
}

/* Those that faces use, in stored order. */
static int map_used(struct match *x, struct err *e)
{
	uint32_t nold = x->was->nvertices, nnew = x->put->nvertices, k = 0, i;
	uint8_t *used = calloc((size_t)nold + nnew + 1, 1), *ours = used + nnew;

	if (!used)
		return err_nomem(e);
	for (uint32_t f = 0; f < x->was->nfaces; f++)
		mark(ours, x->was->face[f], 3);
	for (uint32_t f = 0; f < x->put->nfaces; f++)
		for (unsigned c = 0; c < 3 && !geo_is_flat(x->put->face[f]); c++)
			used[x->put->face[f][c].v] = 1;
	for (i = 0; i < nnew; i++) {
		x->to[i] = GEO_NONE;
		if (!used[i])
			continue;
		while (k < nold && !ours[k])
			k++;
		if (k == nold)
			break;
		x->to[i] = k++;
	}
	while (k < nold && !ours[k])
		k++;
	free(used);
	return i == nnew && k == nold;
}

/* ---- faces ---- */

/* The smallest number comes first. */
static void turn(struct triangle *t, uint32_t a, uint32_t b, uint32_t c)
{
	bool second = b < a && b < c, third = c < a && c < b;

	t->v[0] = second ? b : third ? c : a;
	t->v[1] = second ? c : third ? a : b;
	t->v[2] = second ? a : third ? b : c;
}

static int by_numbers(const void *a, const void *b)
{
	const struct triangle *x = a, *y = b;

	for (unsigned i = 0; i < 3; i++)
		if (x->v[i] != y->v[i])
			return x->v[i] < y->v[i] ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static void stored_faces(const struct geo_mesh *was, struct triangle *t)
{
	for (unsigned k = 0; k < was->nparts; k++) {
		const struct geo_part *part = &was->parts[k];

		for (uint32_t f = part->first_face; f < part->first_face + part->nfaces; f++) {
			turn(&t[f], was->face[f][0], was->face[f][1], was->face[f][2]);
			t[f].group = k;
			t[f].material = part->material;
		}
	}
}

/* How many faces with three corners put has; their stored vertices in t. More than `most`, or a corner that means no
 * stored vertex: most + 1. */
static uint32_t take_faces(const struct match *x, struct triangle *t, uint32_t most)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < x->put->nfaces; f++) {
		const struct geo_corner *c = x->put->face[f];
		uint32_t v[3];

		if (geo_is_flat(c))
			continue;
		for (unsigned k = 0; k < 3; k++)
			v[k] = x->to[c[k].v];
		if (n == most || v[0] == GEO_NONE || v[1] == GEO_NONE || v[2] == GEO_NONE)
			return most + 1;
		turn(&t[n], v[0], v[1], v[2]);
		t[n].group = x->put->group[f] < x->was->nparts ? x->put->group[f] : GEO_NONE;
		t[n++].material = x->put->material[f];
	}
	return n;
}

static bool has_material(const struct geo_mesh *was, int32_t material)
{
	for (unsigned k = 0; k < was->nparts; k++)
		if (was->parts[k].material == material)
			return true;
	return false;
}

/* Whether a face stays in its group: where that is not said, the material tells, if a group has it. */
static bool same_face(struct match *x, const struct triangle *ours, const struct triangle *theirs)
{
	bool other = theirs->material >= 0 && theirs->material != ours->material;

	if (memcmp(ours->v, theirs->v, sizeof ours->v))
		return false;
	if (theirs->group == GEO_NONE && other && has_material(x->was, theirs->material))
		return false;
	x->out->other_material += other;
	return theirs->group == GEO_NONE || theirs->group == ours->group;
}

static bool same_order(struct match *x, const struct triangle *ours, const struct triangle *theirs, uint32_t n)
{
	x->out->other_material = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!same_face(x, &ours[i], &theirs[i]))
			return false;
	return true;
}

static int same_faces(struct match *x, struct err *e)
{
	uint32_t n = x->was->nfaces;
	struct triangle *ours = malloc(((size_t)n + 1) * 2 * sizeof *ours), *theirs;
	bool same;

	if (!ours)
		return err_nomem(e);
	theirs = ours + n + 1;
	stored_faces(x->was, ours);
	same = take_faces(x, theirs, n) == n;
	if (same && !same_order(x, ours, theirs, n)) {
		qsort(ours, n, sizeof *ours, by_numbers);
		qsort(theirs, n, sizeof *theirs, by_numbers);
		same = same_order(x, ours, theirs, n);
	}
	free(ours);
	return same;
}

/* ---- vertices in another order ----
 *
 * Some programs number vertices anew, as faces use them. Then the faces themselves tell which vertex is which: one
 * after the other they must go with the stored ones, corner by corner. */

#define SORTED_PARTS 4096u                     /* sorting takes time with the square of them */

struct pairing { struct match *x; uint32_t *from; };   /* from: of each stored vertex, the one of put */

static bool may_pair(const struct pairing *p, uint32_t theirs, uint32_t ours)
{
	return p->x->to[theirs] == ours ? p->from[ours] == theirs :
	       p->x->to[theirs] == GEO_NONE && p->from[ours] == GEO_NONE;
}

/* The face may begin with another corner. */
static bool pair_face(struct pairing *p, const struct geo_corner theirs[3], const uint32_t ours[3])
{
	for (unsigned first = 0; first < 3; first++) {
		unsigned k = 0;

		while (k < 3 && may_pair(p, theirs[k].v, ours[(first + k) % 3]))
			k++;
		if (k < 3)
			continue;
		for (k = 0; k < 3; k++) {
			p->x->to[theirs[k].v] = ours[(first + k) % 3];
			p->from[ours[(first + k) % 3]] = theirs[k].v;
		}
		return true;
	}
	return false;
}

static bool pair_faces(struct pairing *p, const uint32_t *order)
{
	const struct geo_put *put = p->x->put;
	const struct geo_mesh *was = p->x->was;
	uint32_t n = 0;

	memset(p->x->to, 0xff, (size_t)put->nvertices * sizeof *p->x->to);
	memset(p->from, 0xff, (size_t)was->nvertices * sizeof *p->from);
	for (uint32_t f = 0; f < put->nfaces; f++) {
		if (geo_is_flat(put->face[f]))
			continue;
		if (n == was->nfaces || !pair_face(p, put->face[f], was->face[order[n]]))
			return false;
		n++;
	}
	return n == was->nfaces;
}

/* The stored faces as programs sort them that write one material after the other, in the order of their first use. */
static void sort_by_material(const struct geo_mesh *was, uint32_t *order)
{
	uint32_t n = 0;

	for (unsigned k = 0; k < was->nparts; k++) {
		bool again = false;

		for (unsigned i = 0; i < k && !again; i++)
			again = was->parts[i].nfaces && was->parts[i].material == was->parts[k].material;
		for (unsigned i = k; i < was->nparts && !again; i++)
			for (uint32_t f = 0; f < was->parts[i].nfaces; f++)
				if (was->parts[i].material == was->parts[k].material)
					order[n++] = was->parts[i].first_face + f;
	}
}

static int map_by_faces(struct match *x, struct err *e)
{
	const struct geo_mesh *was = x->was;
	uint32_t *order = malloc(((size_t)was->nfaces + was->nvertices + 1) * sizeof *order);
	struct pairing p = { x, order + was->nfaces };
	bool found;

	if (!order)
		return err_nomem(e);
	for (uint32_t f = 0; f < was->nfaces; f++)
		order[f] = f;
	found = pair_faces(&p, order);
	if (!found && was->nparts <= SORTED_PARTS) {
		sort_by_material(was, order);
		found = pair_faces(&p, order);
	}
	free(order);
	return found;
}

/* ---- corners ---- */

static uint32_t uv_of(const struct match *x, uint32_t v)
{
	return !x->uvs ? GEO_NONE : x->stored->uv ? x->stored->uv[v] : v;
}

static uint32_t normal_of(const struct match *x, uint32_t v)
{
	return !x->normals ? GEO_NONE : x->stored->normal ? x->stored->normal[v] : v;
}

/* Whether a text could have printed that normal of vertex v, as it is stored or as it would be. Asking for both makes
 * the answer one that does not change once the text is applied. */
static bool is_ours(const struct match *x, uint32_t v, const struct geo_number given[3])
{
	float shown[3];

	return normal_stays(given, x->normals + 3 * (size_t)normal_of(x, v)) ||
	       (x->stored->normal_kept && x->stored->normal_kept(x->stored->ctx, v, given, shown) &&
		normal_stays(given, shown));
}

/* Whether the normals are mostly not those that were shown. */
static bool are_foreign(const struct match *x)
{
	uint64_t ours = 0, theirs = 0;

	for (uint32_t f = 0; f < x->put->nfaces; f++) {
		const struct geo_corner *c = x->put->face[f];

		for (unsigned k = 0; k < 3 && !geo_is_flat(c); k++) {
			uint32_t v = x->to[c[k].v];

			if (normal_of(x, v) == GEO_NONE || c[k].normal == GEO_NONE)
				continue;
			if (is_ours(x, v, x->put->normal[c[k].normal]))
				ours++;
			else
				theirs++;
		}
	}
	return theirs > ours;
}

/* Two texts that can mean the same value. */
static bool same_values(const struct geo_number *a, const struct geo_number *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!(fabs(a[i].v - b[i].v) <= (double)a[i].slack + b[i].slack) && a[i].v != b[i].v)
			return false;
	return true;
}

static bool same_normals(const struct match *x, uint32_t a, uint32_t b)
{
	const struct geo_number *p = x->put->normal[a], *q = x->put->normal[b];

	return same_values(p, q, 3) ||
	       (x->out->foreign_normals &&
		points_along((const double[]){ p[0].v, p[1].v, p[2].v }, (const double[]){ q[0].v, q[1].v, q[2].v }));
}

/* Programs that work out normals anew give each face of a vertex its own. A stored vertex has one: their mean. */
static bool mix_normals(const struct match *x, struct geo_matched *out)
{
	out->mixed = x->out->foreign_normals;
	return out->mixed;
}

/* False when the vertex has another value already. */
static bool take_corner(struct match *x, const struct geo_corner *c)
{
	uint32_t v = x->to[c->v];
	struct geo_matched *out = &x->out->v[v];

	out->drawn = true;
	if (c->uv != GEO_NONE && uv_of(x, v) == GEO_NONE)
		x->out->no_uvs++;
	else if (c->uv != GEO_NONE && out->uv == GEO_NONE)
		out->uv = c->uv;
	else if (c->uv != GEO_NONE && c->uv != out->uv && !same_values(x->put->uv[c->uv], x->put->uv[out->uv], 2))
		return false;
	if (c->normal != GEO_NONE && normal_of(x, v) == GEO_NONE)
		x->out->no_normals++;
	else if (c->normal != GEO_NONE && out->normal == GEO_NONE)
		out->normal = c->normal;
	else if (c->normal != GEO_NONE && c->normal != out->normal && !same_normals(x, c->normal, out->normal))
		return mix_normals(x, out);
	return true;
}

static void add_normal(struct geo_number sum[3], const struct geo_number n[3])
{
	double length = sqrt(n[0].v * n[0].v + n[1].v * n[1].v + n[2].v * n[2].v);

	for (unsigned k = 0; k < 3 && length > 0; k++)
		sum[k].v += n[k].v / length;
}

static int mean_normals(struct match *x, struct arena *a, struct err *e)
{
	bool any = false;

	for (uint32_t i = 0; i < x->was->nvertices; i++)
		any |= x->out->v[i].mixed;
	if (!any)
		return 1;
	x->out->mean = arena_alloc(a, x->was->nvertices, sizeof *x->out->mean);
	if (!x->out->mean)
		return err_nomem(e);
	for (uint32_t f = 0; f < x->put->nfaces; f++) {
		const struct geo_corner *c = x->put->face[f];

		for (unsigned k = 0; k < 3 && !geo_is_flat(c); k++)
			if (x->out->v[x->to[c[k].v]].mixed && c[k].normal != GEO_NONE)
				add_normal(x->out->mean[x->to[c[k].v]], x->put->normal[c[k].normal]);
	}
	return 1;
}

/* Vertices that no face uses find their values by number, when all others have the numbers we gave them. */
static void take_unused(struct match *x, uint32_t nuvs, uint32_t nnormals)
{
	bool uvs = nuvs == x->put->nuvs, normals = nnormals == x->put->nnormals;

	for (uint32_t i = 0; i < x->was->nvertices; i++) {
		const struct geo_matched *c = &x->out->v[i];

		uvs &= c->uv == GEO_NONE || c->uv == uv_of(x, i);
		normals &= c->normal == GEO_NONE || c->normal == normal_of(x, i);
	}
	for (uint32_t i = 0; i < x->was->nvertices; i++) {
		struct geo_matched *c = &x->out->v[i];

		if (c->drawn || c->from == GEO_NONE)
			continue;
		if (uvs)
			c->uv = uv_of(x, i);
		if (normals)
			c->normal = normal_of(x, i);
	}
}

static uint32_t stream_count(const struct geo_mesh *m, unsigned attr)
{
	for (unsigned i = 0; i < m->nstreams; i++)
		if (m->streams[i].attr == attr)
			return m->streams[i].count;
	return 0;
}

/* Of a mesh whose positions are floats; those of others say nothing here. */
static bool stays_there(const struct match *x, uint32_t theirs, uint32_t ours)
{
	const struct geo_number *p = x->put->position[theirs];
	const float *q = x->was->position ? x->was->position[ours] : NULL;

	return q && geo_stays(p[0], geo_shown(q[0])) && geo_stays(p[1], geo_shown(q[1])) &&
	       geo_stays(p[2], geo_shown(q[2]));
}

static void take_vertices(struct match *x)
{
	struct geo_match *out = x->out;

	out->stays = 0;
	for (uint32_t i = 0; i < x->was->nvertices; i++)
		out->v[i] = (struct geo_matched){ GEO_NONE, GEO_NONE, GEO_NONE, 0, false, false };
	for (uint32_t i = 0; i < x->put->nvertices; i++)
		if (x->to[i] != GEO_NONE) {
			out->v[x->to[i]].from = i;
			out->v[x->to[i]].line = x->put->vertex_line[i];
			out->stays += stays_there(x, i, x->to[i]);
		}
}

static int take_corners(struct match *x)
{
	struct geo_match *out = x->out;

	out->no_uvs = out->no_normals = 0;
	out->foreign_normals = x->put->foreign_normals || are_foreign(x);
	for (uint32_t f = 0; f < x->put->nfaces; f++)
		for (unsigned k = 0; k < 3 && !geo_is_flat(x->put->face[f]); k++)
			if (!take_corner(x, &x->put->face[f][k]))
				return 0;
	take_unused(x, stream_count(x->was, GEO_UV), stream_count(x->was, GEO_NORMAL));
	return 1;
}

static int begin(struct match *x, struct arena *a, struct err *e)
{
	x->uvs = values_of(x->was, GEO_UV);
	x->normals = values_of(x->was, GEO_NORMAL);
	x->to = arena_alloc(a, (size_t)x->put->nvertices + 1, sizeof *x->to);
	x->out->v = arena_alloc(a, (size_t)x->was->nvertices + 1, sizeof *x->out->v);
	x->out->other_material = 0;
	return x->to && x->out->v ? 0 : err_nomem(e);
}

int geo_match(const struct geo_stored *stored, const struct geo_put *put, struct geo_match *out, struct arena *a,
	      struct err *e)
{
	const struct geo_mesh *was = stored->mesh;
	struct match x = { .stored = stored, .was = was, .put = put, .out = out };
	int rc = begin(&x, a, e);

	if (rc)
		return rc;
	if (map_all(&x))
		rc = same_faces(&x, e);
	if (!rc) {
		rc = map_used(&x, e);
		rc = rc > 0 ? same_faces(&x, e) : rc;
	}
	if (!rc && was->nfaces) {
		rc = map_by_faces(&x, e);
		rc = rc > 0 ? same_faces(&x, e) : rc;
	}
	if (rc > 0)
		take_vertices(&x);
	rc = rc > 0 ? take_corners(&x) : rc;
	return rc > 0 ? mean_normals(&x, a, e) : rc;
}

int geo_match_vertices(const struct geo_stored *stored, const struct geo_put *put, struct geo_match *out,
		       struct arena *a, struct err *e)
{
	struct match x = { .stored = stored, .was = stored->mesh, .put = put, .out = out };
	int rc = begin(&x, a, e);

	if (rc || !map_all(&x))
		return rc;
	take_vertices(&x);
	if (out->stays < x.was->nvertices - x.was->nvertices / 2)
		return 0;
	rc = take_corners(&x);
	return rc > 0 ? mean_normals(&x, a, e) : rc;
}
