/* Which triangles and vertices of a GLB are which of those that were shown (views.md 4).
 *
 * A program that keeps triangles in their order is believed, also when it puts those of one material together, and
 * splits vertices. Else each triangle whose corners lie where those of a shown one do is that; what lies between such
 * ones in the order of both files was moved. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "glbput.h"

#define CANDIDATES 64u                         /* triangles at one place that are looked at */
#define SORTED_PRIMITIVES 4096u                /* sorting takes time with the square of them */

/* ---- all primitives ---- */

uint32_t soup_prim(const struct soup *s, uint32_t vertex)
{
	uint32_t low = 0, high = s->mesh->nprimitives;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (s->first[mid] <= vertex)
			low = mid;
		else
			high = mid;
	}
	return low;
}

const struct scene_primitive *soup_vertex(const struct soup *s, uint32_t i, uint32_t *local)
{
	uint32_t k = soup_prim(s, i);

	*local = i - s->first[k];
	return &s->mesh->primitive[k];
}

static bool make_room(struct soup *s, struct arena *a)
{
	const struct scene_mesh *m = s->mesh;
	uint64_t vertices = 0, faces = 0;

	s->first = arena_alloc(a, (size_t)m->nprimitives + 1, sizeof *s->first);
	s->first_face = arena_alloc(a, (size_t)m->nprimitives + 1, sizeof *s->first_face);
	if (!s->first || !s->first_face)
		return false;
	for (uint32_t k = 0; k < m->nprimitives; k++) {
		s->first[k] = (uint32_t)vertices;
		s->first_face[k] = (uint32_t)faces;
		vertices += m->primitive[k].nvertices;
		faces += m->primitive[k].nfaces;
		if (vertices > LIMIT_DECODED / 16 || faces > LIMIT_DECODED / 16)
			return false;
	}
	s->first[m->nprimitives] = s->nvertices = (uint32_t)vertices;
	s->first_face[m->nprimitives] = s->nfaces = (uint32_t)faces;
	s->position = arena_alloc(a, (size_t)vertices + 1, sizeof *s->position);
	s->normal = arena_alloc(a, (size_t)vertices + 1, sizeof *s->normal);
	s->face = arena_alloc(a, (size_t)faces + 1, sizeof *s->face);
	s->prim_of = arena_alloc(a, (size_t)faces + 1, sizeof *s->prim_of);
	return s->position && s->normal && s->face && s->prim_of;
}

static void move(const double *m, const float *v, bool place, float *out)
{
	for (unsigned r = 0; r < 3; r++)
		out[r] = (float)(m[r] * v[0] + m[3 + r] * v[1] + m[6 + r] * v[2] + (place ? m[9 + r] : 0));
}

int soup_make(struct soup *s, const struct scene_mesh *mesh, const struct matrix *world, struct arena *a,
	      struct err *e)
{
	s->mesh = mesh;
	if (!make_room(s, a))
		return err_set(e, EFBIG, "mesh %.60s: too many vertices and faces, or memory is short", mesh->name);
	for (uint32_t k = 0; k < mesh->nprimitives; k++) {
		const struct scene_primitive *p = &mesh->primitive[k];

		for (uint32_t i = 0; i < p->nvertices; i++) {
			uint32_t v = s->first[k] + i;

			memcpy(s->position[v], p->position[i], sizeof s->position[v]);
			if (p->normal)
				memcpy(s->normal[v], p->normal[i], sizeof s->normal[v]);
			if (world) {
				move(world->v, p->position[i], true, s->position[v]);
				move(world->v, p->normal ? p->normal[i] : s->normal[v], false, s->normal[v]);
			}
		}
		for (uint32_t f = 0; f < p->nfaces; f++) {
			s->prim_of[s->first_face[k] + f] = k;
			for (unsigned c = 0; c < 3; c++)
				s->face[s->first_face[k] + f][c] = s->first[k] + p->face[f][c];
		}
	}
	return 0;
}

uint32_t pair_stored(const struct pairing *x, uint32_t i)
{
	uint32_t k = soup_prim(&x->was, i);

	return x->trace[k].vertex[i - x->was.first[k]];
}

/* ---- values that stay ---- */

bool pair_place_stays(const struct pairing *x, uint32_t now, uint32_t was)
{
	for (unsigned k = 0; k < 3; k++) {
		double off = fabs((double)x->now.position[now][k] - x->was.position[was][k]);

		if (off != 0 && !(off <= x->reach))
			return false;
	}
	return true;
}

/* Blender turns v round and back, which costs bits of small ones. */
bool pair_uv_stays(const struct pairing *x, uint32_t now, uint32_t was)
{
	uint32_t i, j;
	const struct scene_primitive *p = soup_vertex(&x->now, now, &i), *q = soup_vertex(&x->was, was, &j);

	if (!p->uv[0] || !q->uv[0])
		return !p->uv[0];
	for (unsigned k = 0; k < 2; k++) {
		double a = (double)p->uv[0][i][k], b = (double)q->uv[0][j][k], off = fabs(a - b);

		if (off != 0 && !(x->foreign && off <= 0x1p-23 * (1 + fabs(b))))
			return false;
	}
	return true;
}

/* ---- by order ---- */

/* Whether corner c of a new triangle can be the vertex of `was`; then it is. */
static bool may_be(const struct pairing *x, uint32_t now, uint32_t was)
{
	uint32_t have = x->vertex_of[now];

	return have == GEO_NONE || have == was || pair_stored(x, have) == pair_stored(x, was);
}

static bool is_flat(const uint32_t c[3])
{
	return c[0] == c[1] || c[1] == c[2] || c[2] == c[0];
}

/* How well new face f is old face g, its corners turned by `turn`: corners that stay where they are; -1: it cannot. */
static int rate(const struct pairing *x, uint32_t f, uint32_t g, unsigned turn)
{
	int score = 0;

	for (unsigned c = 0; c < 3; c++) {
		uint32_t now = x->now.face[f][c], was = x->was.face[g][(c + turn) % 3];

		if (!may_be(x, now, was))
			return -1;
		if (x->spot_now[now] == x->spot_was[was])
			score += 4 + pair_uv_stays(x, now, was);
		score += x->vertex_of[now] != GEO_NONE;
	}
	return score;
}

static int best_turn(const struct pairing *x, uint32_t f, uint32_t g, unsigned *turn)
{
	int best = -1;

	for (unsigned t = 0; t < 3; t++) {
		int score = rate(x, f, g, t);

		if (score > best) {
			best = score;
			*turn = t;
		}
	}
	return best;
}

static void take(struct pairing *x, uint32_t f, uint32_t g, unsigned turn)
{
	x->face_of[f] = g;
	x->turn[f] = (uint8_t)turn;
	x->pair_of[g] = f;
	for (unsigned c = 0; c < 3; c++)
		if (x->vertex_of[x->now.face[f][c]] == GEO_NONE)
			x->vertex_of[x->now.face[f][c]] = x->was.face[g][(c + turn) % 3];
}

static void forget(struct pairing *x)
{
	memset(x->face_of, 0xff, x->now.nfaces * sizeof *x->face_of);
	memset(x->pair_of, 0xff, x->was.nfaces * sizeof *x->pair_of);
	memset(x->vertex_of, 0xff, x->now.nvertices * sizeof *x->vertex_of);
}

static const char *material_of(const struct geo_scene *s, const struct soup *soup, uint32_t face)
{
	int32_t m = soup->mesh->primitive[soup->prim_of[face]].material;

	return m < 0 ? "" : s->material[m].name;
}

static bool same_material(const struct pairing *x, uint32_t f, uint32_t g)
{
	return glb_is_named(material_of(x->scene_now, &x->now, f), material_of(x->scene_was, &x->was, g));
}

static bool at_place(const struct pairing *x, uint32_t f)
{
	if (!same_material(x, f, x->face_of[f]))
		return false;
	for (unsigned c = 0; c < 3; c++)
		if (x->spot_now[x->now.face[f][c]] != x->spot_was[x->was.face[x->face_of[f]][(c + x->turn[f]) % 3]])
			return false;
	return true;
}

/* One after the other; how many lie where they did, or -1. */
static int64_t pair_in_order(struct pairing *x, const uint32_t *order)
{
	uint32_t n = 0;
	int64_t stay = 0;

	forget(x);
	for (uint32_t f = 0; f < x->now.nfaces; f++) {
		unsigned turn = 0;

		if (is_flat(x->now.face[f]))
			continue;
		if (n == x->was.nfaces || best_turn(x, f, order[n], &turn) < 0)
			return -1;
		take(x, f, order[n++], turn);
		stay += at_place(x, f);
	}
	return n == x->was.nfaces ? stay : -1;
}

/* Programs write one material after the other, by first use. */
static void sort_by_material(const struct pairing *x, uint32_t *order)
{
	const struct scene_mesh *m = x->was.mesh;
	uint32_t n = 0;

	for (uint32_t g = 0; g < x->was.nfaces && m->nprimitives > SORTED_PRIMITIVES; g++)
		order[g] = g;
	for (uint32_t k = 0; k < m->nprimitives && m->nprimitives <= SORTED_PRIMITIVES; k++) {
		bool again = false;

		for (uint32_t i = 0; i < k && !again; i++)
			again = m->primitive[i].nfaces && m->primitive[i].material == m->primitive[k].material;
		for (uint32_t i = k; i < m->nprimitives && !again; i++)
			for (uint32_t f = 0; f < m->primitive[i].nfaces; f++)
				if (m->primitive[i].material == m->primitive[k].material)
					order[n++] = x->was.first_face[i] + f;
	}
}

/* ---- by place ---- */

struct places {
	uint32_t *slot, mask;                  /* old face + 1 */
	uint32_t *next;                        /* of each old face: another one that lies there, + 1 */
	uint32_t *rank;                        /* of each old face: its place in the order */
};

static void key_of(const uint32_t *spot, const uint32_t face[3], uint32_t key[3])
{
	unsigned least = 0;

	for (unsigned c = 1; c < 3; c++)
		least = spot[face[c]] < spot[face[least]] ? c : least;
	for (unsigned c = 0; c < 3; c++)
		key[c] = spot[face[(least + c) % 3]];
}

static uint32_t find_slot(const struct pairing *x, const struct places *p, const uint32_t key[3])
{
	uint32_t h = key[0] * 0x9e3779b1u ^ key[1] * 0x85ebca6bu ^ key[2] * 0xc2b2ae35u, have[3];

	for (h = (h ^ h >> 15) & p->mask; p->slot[h]; h = (h + 1) & p->mask) {
		key_of(x->spot_was, x->was.face[p->slot[h] - 1], have);
		if (!memcmp(have, key, sizeof have))
			break;
	}
	return h;
}

static bool build_places(const struct pairing *x, const uint32_t *order, struct places *p, struct arena *a)
{
	uint32_t n = x->was.nfaces, key[3];
	size_t slots = 16;

	while (slots < 2 * (size_t)n)
		slots *= 2;
	p->mask = (uint32_t)slots - 1;
	p->slot = arena_alloc(a, slots, sizeof *p->slot);
	p->next = arena_alloc(a, (size_t)n + 1, sizeof *p->next);
	p->rank = arena_alloc(a, (size_t)n + 1, sizeof *p->rank);
	if (!p->slot || !p->next || !p->rank)
		return false;
	/* From behind, so that each chain goes in order. */
	for (uint32_t i = n; i-- > 0;) {
		uint32_t g = order[i], h;

		key_of(x->spot_was, x->was.face[g], key);
		h = find_slot(x, p, key);
		p->rank[g] = i;
		p->next[g] = p->slot[h];
		p->slot[h] = g + 1;
	}
	return true;
}

/* The old face where face f lies: one with its texture coordinates, and the next in order, if there is one. */
static void pair_at_place(struct pairing *x, const struct places *p, uint32_t f, uint32_t *last)
{
	uint32_t key[3], best = GEO_NONE;
	unsigned turn = 0, looked = 0;
	int most = -1;

	for (unsigned c = 0; c < 3; c++)
		if (x->spot_now[x->now.face[f][c]] == GEO_NONE)
			return;
	key_of(x->spot_now, x->now.face[f], key);
	for (uint32_t g = p->slot[find_slot(x, p, key)]; g && looked < CANDIDATES; g = p->next[g - 1], looked++) {
		unsigned t = 0;
		int score = x->pair_of[g - 1] == GEO_NONE ? best_turn(x, f, g - 1, &t) : -1;

		/* 12 for the places, which all have. */
		score = score < 12 ? -1 : 2 * score + (p->rank[g - 1] > *last || *last == GEO_NONE) +
					  64 * same_material(x, f, g - 1);
		if (score <= most)
			continue;
		most = score;
		best = g - 1;
		turn = t;
	}
	if (best == GEO_NONE)
		return;
	take(x, f, best, turn);
	*last = p->rank[best];
}

/* Faces that nothing is known of, between those that are: as many old ones lie between the same in order. */
static void fill_gap(struct pairing *x, const uint32_t *order, const uint32_t *list, uint32_t n, uint32_t from,
		     uint32_t to)
{
	uint32_t free = 0;

	for (uint32_t i = from; i < to; i++)
		free += x->pair_of[order[i]] == GEO_NONE;
	if (free != n)
		return;
	for (uint32_t i = from, k = 0; i < to; i++) {
		unsigned turn = 0;

		if (x->pair_of[order[i]] != GEO_NONE)
			continue;
		if (best_turn(x, list[k], order[i], &turn) < 0)
			return;
		take(x, list[k++], order[i], turn);
	}
}

static void fill_gaps(struct pairing *x, const struct places *p, const uint32_t *order, uint32_t *list)
{
	uint32_t n = 0, from = 0;

	for (uint32_t f = 0; f <= x->now.nfaces; f++) {
		bool end = f == x->now.nfaces;
		uint32_t to = end ? x->was.nfaces : x->face_of[f] == GEO_NONE ? 0 : p->rank[x->face_of[f]];

		if (!end && is_flat(x->now.face[f]))
			continue;
		if (!end && x->face_of[f] == GEO_NONE) {
			list[n++] = f;
			continue;
		}
		if (n && to >= from)
			fill_gap(x, order, list, n, from, to);
		n = 0;
		from = to + 1;
	}
}

/* How many faces lie where they did; -1: out of memory. */
static int64_t pair_by_place(struct pairing *x, const uint32_t *order, struct arena *a)
{
	uint32_t *list = arena_alloc(a, (size_t)x->now.nfaces + 1, sizeof *list), last = GEO_NONE;
	struct places p;
	int64_t n = 0;

	forget(x);
	if (!list || !build_places(x, order, &p, a))
		return -1;
	for (uint32_t f = 0; f < x->now.nfaces; f++)
		if (!is_flat(x->now.face[f]))
			pair_at_place(x, &p, f, &last);
	for (uint32_t f = 0; f < x->now.nfaces; f++)
		n += x->face_of[f] != GEO_NONE && at_place(x, f);
	fill_gaps(x, &p, order, list);
	return n;
}

/* ---- what was left out ---- */

/* A triangle without area, or one of two that have the same vertices: programs drop such. */
static bool is_dropped(const struct pairing *x, const struct places *p, uint32_t g)
{
	const uint32_t *c = x->was.face[g];
	uint32_t key[3], turned[3], back[3];
	unsigned looked = 0;

	if (x->spot_was[c[0]] == x->spot_was[c[1]] || x->spot_was[c[1]] == x->spot_was[c[2]] ||
	    x->spot_was[c[2]] == x->spot_was[c[0]])
		return true;
	key_of(x->spot_was, c, key);
	memcpy(turned, (const uint32_t[]){ c[0], c[2], c[1] }, sizeof turned);
	key_of(x->spot_was, turned, back);
	for (unsigned side = 0; side < 2; side++)
		for (uint32_t h = p->slot[find_slot(x, p, side ? back : key)]; h && looked < 2 * CANDIDATES;
		     h = p->next[h - 1], looked++)
			if (h - 1 != g && x->pair_of[h - 1] != GEO_NONE)
				return true;
	return false;
}

static bool all_paired(const struct pairing *x, const uint32_t *order, struct arena *a)
{
	struct places p = { 0 };

	for (uint32_t f = 0; f < x->now.nfaces; f++)
		if (x->face_of[f] == GEO_NONE && !is_flat(x->now.face[f]))
			return false;
	for (uint32_t g = 0; g < x->was.nfaces; g++) {
		if (x->pair_of[g] != GEO_NONE)
			continue;
		if (!x->foreign || (!p.slot && !build_places(x, order, &p, a)) || !is_dropped(x, &p, g))
			return false;
	}
	return true;
}

/* Two vertices that are one stored one, and lie apart by now. */
static bool any_torn(const struct pairing *x, uint32_t nstored, struct arena *a)
{
	uint32_t *of = arena_alloc(a, (size_t)nstored + 1, sizeof *of);

	for (uint32_t i = 0; of && i < x->now.nvertices; i++) {
		uint32_t *have, was = x->vertex_of[i];

		if (was == GEO_NONE)
			continue;
		have = &of[pair_stored(x, was)];
		if (!*have)
			*have = i + 1;
		else if (memcmp(x->now.position[i], x->now.position[*have - 1], sizeof *x->now.position) &&
			 !(pair_place_stays(x, i, was) && pair_place_stays(x, *have - 1, x->vertex_of[*have - 1])))
			return true;
	}
	return !of;
}

/* ---- vertices without a face ---- */

static bool same_shape(const struct pairing *x)
{
	const struct scene_mesh *a = x->was.mesh, *b = x->now.mesh;
	bool same = a->nprimitives == b->nprimitives;

	for (uint32_t k = 0; same && k < a->nprimitives; k++)
		same = a->primitive[k].nvertices == b->primitive[k].nvertices &&
		       a->primitive[k].nfaces == b->primitive[k].nfaces;
	return same;
}

static void pair_lone(struct pairing *x)
{
	if (!same_shape(x))
		return;
	for (uint32_t i = 0; i < x->now.nvertices; i++)
		if (x->vertex_of[i] == GEO_NONE)
			x->vertex_of[i] = i;
}

/* ---- all of it ---- */

static void find_spots(struct pairing *x)
{
	for (uint32_t s = 0; s < x->near.nspots; s++)
		for (uint32_t k = 0; k < x->near.spot[s].count; k++)
			x->spot_was[x->near.item[x->near.spot[s].first + k]] = s;
	for (uint32_t i = 0; i < x->now.nvertices; i++) {
		const struct near_spot *s = near_find(&x->near, x->now.position[i]);
		bool there = s;

		for (unsigned k = 0; k < 3 && there; k++)
			there = fabs((double)s->at[k] - x->now.position[i][k]) <= x->reach;
		x->spot_now[i] = there ? (uint32_t)(s - x->near.spot) : GEO_NONE;
	}
}

static bool prepare(struct pairing *x, uint32_t **order, struct arena *a)
{
	x->spot_was = arena_alloc(a, (size_t)x->was.nvertices + 1, sizeof *x->spot_was);
	x->spot_now = arena_alloc(a, (size_t)x->now.nvertices + 1, sizeof *x->spot_now);
	x->face_of = arena_alloc(a, (size_t)x->now.nfaces + 1, sizeof *x->face_of);
	x->turn = arena_alloc(a, (size_t)x->now.nfaces + 1, 1);
	x->vertex_of = arena_alloc(a, (size_t)x->now.nvertices + 1, sizeof *x->vertex_of);
	x->pair_of = arena_alloc(a, (size_t)x->was.nfaces + 1, sizeof *x->pair_of);
	*order = arena_alloc(a, (size_t)x->was.nfaces + 1, 2 * sizeof **order);
	return x->spot_was && x->spot_now && x->face_of && x->turn && x->vertex_of && x->pair_of && *order &&
	       near_build(&x->near, (const float (*)[3])x->was.position, NULL, x->was.nvertices, a);
}

int glb_pair(struct pairing *x, struct arena *a, struct err *e)
{
	uint32_t *order, *sorted, nstored = 0;
	int64_t best, n;

	if (!prepare(x, &order, a))
		return err_nomem(e);
	sorted = order + x->was.nfaces;
	for (uint32_t g = 0; g < x->was.nfaces; g++)
		order[g] = g;
	sort_by_material(x, sorted);
	find_spots(x);
	for (uint32_t i = 0; i < x->was.nvertices; i++)
		nstored = pair_stored(x, i) >= nstored ? pair_stored(x, i) + 1 : nstored;
	/* What goes through in order is that, unless more of it lies where it did in another one. */
	best = pair_by_place(x, sorted, a);
	if (best < 0)
		return err_nomem(e);
	n = pair_in_order(x, order);
	x->same = n >= best && n >= 0 && !any_torn(x, nstored, a);
	if (!x->same) {
		n = pair_in_order(x, sorted);
		x->same = n >= best && n >= 0 && !any_torn(x, nstored, a);
	}
	if (!x->same) {
		pair_by_place(x, sorted, a);
		x->same = all_paired(x, sorted, a) && !any_torn(x, nstored, a);
	}
	if (x->same)
		pair_lone(x);
	return 0;
}
