/* Triangles into strips: from a triangle with few neighbours the longest of three strips is taken, as long as that
 * pays; what remains becomes one list. When there is no room for so many PRIMs, strips are joined by corners that draw
 * nothing. */
#include <stdlib.h>
#include <string.h>

#include "pmo_topology.h"

#define NONE 0xffffffffu
#define PRIM_MOST 65535u                       /* corners that one PRIM counts */

/* Edge e is corner e % 3 of triangle e / 3 and the next corner. */
struct strips {
	const uint32_t (*face)[3];
	uint32_t n;
	uint32_t *twin;                        /* of each edge: the same one, seen from the neighbour; NONE */
	uint32_t *mark;                        /* of each triangle: the last trial it was part of; NONE: drawn */
	uint8_t *degree;                       /* neighbours not drawn yet */
	uint32_t *wait[4], waits[4];           /* triangles that had so many neighbours when they were put there */
	uint32_t trial;
	struct arena arena;
};

/* ---- neighbours ---- */

struct edge { uint32_t from, to, number; };

static int by_edge(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static uint32_t find_edge(const struct edge *v, uint32_t n, uint32_t from, uint32_t to)
{
	struct edge want = { from, to, 0 };
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_edge(&v[mid], &want) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Where more than two triangles meet at an edge, they are paired in their order. */
static bool find_twins(struct strips *s)
{
	uint32_t n = 3 * s->n;
	struct edge *v = malloc(((size_t)n + 1) * sizeof *v);

	if (!v)
		return false;
	for (uint32_t e = 0; e < n; e++) {
		v[e] = (struct edge){ s->face[e / 3][e % 3], s->face[e / 3][(e + 1) % 3], e };
		s->twin[e] = NONE;
	}
	qsort(v, n, sizeof *v, by_edge);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint32_t from = v[i].from, to = v[i].to, k;

		for (end = i; end < n && v[end].from == from && v[end].to == to; end++)
			;
		if (from >= to)
			continue;
		k = find_edge(v, n, to, from);
		for (uint32_t j = i; j < end && k < n && v[k].from == to && v[k].to == from; j++, k++) {
			s->twin[v[j].number] = v[k].number;
			s->twin[v[k].number] = v[j].number;
		}
	}
	free(v);
	return true;
}

/* ---- one strip ---- */

static void add(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof v);
}

/* Goes along a strip that begins with corner r of triangle f: how many triangles it has. out may be NULL. Each second
 * triangle turns the other way, so it is left through another edge. */
static uint32_t walk(struct strips *s, uint32_t f, unsigned r, uint32_t mark, struct buf *out)
{
	uint32_t exit = 3 * f + (r + 1) % 3, n = 1;

	s->mark[f] = mark;
	for (unsigned k = 0; k < 3 && out; k++)
		add(out, s->face[f][(r + k) % 3]);
	for (; n < PRIM_MOST - 2; n++) {
		uint32_t in = s->twin[exit], g = in / 3, j = in % 3;

		if (in == NONE || s->mark[g] == mark || s->mark[g] == NONE)
			break;
		s->mark[g] = mark;
		if (out)
			add(out, s->face[g][(j + 2) % 3]);
		exit = 3 * g + (j + (n & 1 ? 2 : 1)) % 3;
	}
	return n;
}

static void wait_for(struct strips *s, uint32_t f)
{
	unsigned d = s->degree[f];

	s->wait[d][s->waits[d]++] = f;
}

static void drawn(struct strips *s, uint32_t f)
{
	s->mark[f] = NONE;
	for (unsigned k = 0; k < 3; k++) {
		uint32_t t = s->twin[3 * f + k];

		if (t != NONE && s->mark[t / 3] != NONE) {
			s->degree[t / 3]--;
			wait_for(s, t / 3);
		}
	}
}

/* The strip walked last; its triangles are drawn. */
static void draw(struct strips *s, uint32_t f, unsigned r, struct buf *corners)
{
	uint32_t exit = 3 * f + (r + 1) % 3, n = walk(s, f, r, ++s->trial, corners);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t in = i + 1 < n ? s->twin[exit] : NONE;

		drawn(s, f);
		f = in / 3;
		exit = in == NONE ? NONE : 3 * f + (in % 3 + (i & 1 ? 1 : 2)) % 3;
	}
}

/* ---- all of it ---- */

static bool make_room(struct strips *s)
{
	struct arena *a = &s->arena;
	bool ok = true;

	s->twin = arena_alloc(a, (size_t)s->n + 1, 3 * sizeof *s->twin);
	s->mark = arena_alloc(a, (size_t)s->n + 1, sizeof *s->mark);
	s->degree = arena_alloc(a, (size_t)s->n + 1, sizeof *s->degree);
	for (unsigned d = 0; d < 4; d++) {
		s->wait[d] = arena_alloc(a, (size_t)s->n + 1, sizeof *s->wait[d]);
		ok &= s->wait[d] != NULL;
	}
	return ok && s->twin && s->mark && s->degree && find_twins(s);
}

/* An undrawn triangle with the fewest undrawn neighbours; NONE: all are drawn. */
static uint32_t next(struct strips *s)
{
	for (unsigned d = 0; d < 4; d++)
		while (s->waits[d]) {
			uint32_t f = s->wait[d][--s->waits[d]];

			if (s->mark[f] != NONE && s->degree[f] == d)
				return f;
		}
	return NONE;
}

static void list(struct buf *corners, struct buf *prims, const struct buf *rest)
{
	uint32_t n = (uint32_t)(rest->len / sizeof(uint32_t));

	buf_add(corners, rest->p, rest->len);
	for (uint32_t k; n; n -= k) {
		k = n < PRIM_MOST ? n : PRIM_MOST;
		add(prims, GE_TRIANGLES << 16 | k);
	}
}

static void draw_all(struct strips *s, unsigned cost, struct buf *corners, struct buf *prims, struct buf *rest)
{
	uint32_t f;

	for (f = s->n; f--;) {
		for (unsigned k = 0; k < 3; k++)
			s->degree[f] += s->twin[3 * f + k] != NONE;
		wait_for(s, f);
	}
	while ((f = next(s)) != NONE) {
		uint32_t best = 0, n;
		unsigned r = 0;

		for (unsigned k = 0; k < 3; k++) {
			n = walk(s, f, k, ++s->trial, NULL);
			r = n > best ? k : r;
			best = n > best ? n : best;
		}
		/* As part of the list it takes three corners, as a strip two more than triangles, and a PRIM. */
		if ((uint64_t)cost * (best + 2) + 4 < (uint64_t)cost * 3 * best) {
			draw(s, f, r, corners);
			add(prims, GE_STRIP << 16 | (best + 2));
		} else {
			buf_add(rest, s->face[f], sizeof *s->face);
			drawn(s, f);
		}
	}
}

static uint32_t count_of(const struct buf *prims, uint32_t i)
{
	uint32_t arg;

	memcpy(&arg, prims->p + i * sizeof arg, sizeof arg);
	return arg & 0xffff;
}

/* The first `strips` PRIMs become `most` ones or fewer: the last corner of one and the first of the next are repeated,
 * the latter so that the next begins as it did, at an even place. */
static void join(const struct buf *from, const struct buf *prims, uint32_t strips, uint32_t most, struct buf *corners,
		 struct buf *joined)
{
	const uint32_t *v = (const uint32_t *)(const void *)from->p;
	uint32_t each = most ? (strips + most - 1) / most : strips, have = 0, in = 0;

	for (uint32_t i = 0; i < strips; i++) {
		uint32_t n = count_of(prims, i);

		if (have && (in == each || have + n + 3 > PRIM_MOST)) {
			add(joined, GE_STRIP << 16 | have);
			have = in = 0;
		}
		if (have) {
			add(corners, v[-1]);
			for (have++; have % 2 == 0; have++)
				add(corners, v[0]);
			add(corners, v[0]);
			have++;
		}
		buf_add(corners, v, n * sizeof *v);
		have += n;
		v += n;
		in++;
	}
	if (have)
		add(joined, GE_STRIP << 16 | have);
}

/* Fewer PRIMs: of one alone, either everything is a list or everything strips, whatever is shorter. */
static void merge(struct strips *s, uint32_t most, struct buf *corners, struct buf *prims, struct buf *rest)
{
	uint32_t strips = (uint32_t)(prims->len / 4), left = (uint32_t)(rest->len / 12);
	struct buf from = *corners, old = *prims;
	size_t joined = corners->len / 4 + 3 * (size_t)strips + 6 * (size_t)left;
	bool list_only = most < 2 && left && joined > 3 * (size_t)s->n;

	*corners = *prims = (struct buf){ 0 };
	if (list_only) {
		rest->len = 0;
		buf_add(rest, s->face, s->n * sizeof *s->face);
	} else if (most < 2) {
		buf_add(&from, rest->p, rest->len);
		for (uint32_t i = 0; i < left; i++)
			add(&old, GE_STRIP << 16 | 3);
		rest->len = 0;
		strips += left;
	}
	if (!list_only && !from.bad && !old.bad)
		join(&from, &old, strips, most - (rest->len && most), corners, prims);
	corners->bad |= from.bad || old.bad;
	buf_free(&from);
	buf_free(&old);
}

int pmo_strips(const uint32_t (*face)[3], uint32_t n, unsigned cost, uint32_t most, struct buf *corners,
	       struct buf *prims, struct err *e)
{
	struct strips s = { .face = face, .n = n };
	struct buf rest = { 0 };
	int rc = make_room(&s) ? 0 : err_nomem(e);

	if (!rc) {
		draw_all(&s, cost, corners, prims, &rest);
		if (!corners->bad && !prims->bad && !rest.bad && prims->len / 4 + (rest.len > 0) > most)
			merge(&s, most, corners, prims, &rest);
		list(corners, prims, &rest);
		if (corners->bad || prims->bad || rest.bad)
			rc = err_nomem(e);
	}
	buf_free(&rest);
	arena_free(&s.arena);
	return rc;
}
