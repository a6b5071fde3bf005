/* In-place layout, see place.h. Blocks and the ranges made of them are sorted and walked once; holes stand in a tree
 * that finds the first one large enough, so hostile tables of many small blocks cost no more than sorting them. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 4096u

struct range { uint64_t at, end; };

/* Sorted and disjoint once merge() has been over them. */
struct ranges {
	struct range *v;
	size_t n;
};

struct candidate { uint64_t at; unsigned i; };

struct layout {
	struct block *block;
	unsigned n;
	struct source *src;
	uint64_t base, floor, used, align, least;      /* least: bytes of the smallest block that moves */
	bool *moves;                           /* of each block */
	struct candidate *changed;             /* sorted by their old places */
	unsigned nchanged;
	struct ranges claimed, released, stays;
	struct buf holes;                      /* struct range; the last one has no end */
	struct arena arena;
};

static int by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static bool make_ranges(struct arena *a, struct ranges *r, size_t most)
{
	r->v = arena_alloc(a, most + 1, sizeof *r->v);
	return r->v;
}

static void add(struct ranges *r, uint64_t at, uint64_t size)
{
	if (size)
		r->v[r->n++] = (struct range){ at, at + size };
}

static void merge(struct ranges *r)
{
	size_t n = 0;

	if (r->n)
		qsort(r->v, r->n, sizeof *r->v, by_place);
	for (size_t i = 0; i < r->n; i++) {
		if (n && r->v[i].at <= r->v[n - 1].end)
			r->v[n - 1].end = r->v[i].end > r->v[n - 1].end ? r->v[i].end : r->v[n - 1].end;
		else
			r->v[n++] = r->v[i];
	}
	r->n = n;
}

/* The first range that ends behind `at`. */
static size_t find(const struct ranges *r, uint64_t at)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->v[mid].end > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static bool overlaps(const struct ranges *r, uint64_t at, uint64_t size)
{
	size_t i = find(r, at);

	return i < r->n && r->v[i].at < at + size;
}

/* ---- who stays ---- */

static int by_candidate(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Changed blocks that need no more room keep their start, unless the place is also that of a block that stays. */
static void keep_places(struct layout *l)
{
	uint64_t taken = 0;

	for (unsigned k = 0; k < l->nchanged; k++) {
		struct block *b = &l->block[l->changed[k].i];

		if (!b->want || b->want > b->size || b->at < taken || overlaps(&l->claimed, b->at, b->want))
			continue;
		l->moves[l->changed[k].i] = false;
		taken = b->at + b->want;
		add(&l->stays, b->at, b->want);
	}
}

/* Whether [at, end) is zero and no block's, neither now nor before. */
static int is_free(struct layout *l, uint64_t at, uint64_t end, bool *out, struct err *e)
{
	uint64_t zeros;
	int rc;

	*out = end <= l->used && !overlaps(&l->claimed, at, end - at) && !overlaps(&l->released, at, end - at);
	if (!*out)
		return 0;
	rc = src_count_zeros(l->src, l->base + at, end - at, &zeros, "free room", e);
	*out = !rc && zeros == end - at;
	return rc;
}

/* Blocks that grew stay where the zeros behind them are room enough. */
static int keep_growing(struct layout *l, struct err *e)
{
	uint64_t taken = 0;
	bool stays = false;

	for (unsigned k = 0; k < l->nchanged; k++) {
		struct block *b = &l->block[l->changed[k].i];
		int rc;

		if (!b->size || b->want <= b->size || b->at < taken || overlaps(&l->claimed, b->at, b->size))
			continue;
		rc = is_free(l, b->at + b->size, b->at + b->want, &stays, e);
		if (rc)
			return rc;
		if (!stays)
			continue;
		l->moves[l->changed[k].i] = false;
		taken = b->at + b->want;
		add(&l->stays, b->at, b->want);
	}
	return 0;
}

/* Puts what was decided to stay among what is claimed. */
static void claim(struct layout *l)
{
	for (size_t i = 0; i < l->stays.n; i++)
		l->claimed.v[l->claimed.n++] = l->stays.v[i];
	l->stays.n = 0;
	merge(&l->claimed);
}

static int sort_out(struct layout *l, struct err *e)
{
	struct arena *a = &l->arena;
	int rc;

	l->moves = arena_alloc(a, l->n + 1u, sizeof *l->moves);
	l->changed = arena_alloc(a, l->n + 1u, sizeof *l->changed);
	if (!l->moves || !l->changed || !make_ranges(a, &l->claimed, l->n) || !make_ranges(a, &l->released, l->n) ||
	    !make_ranges(a, &l->stays, l->n))
		return err_nomem(e);
	for (unsigned i = 0; i < l->n; i++) {
		struct block *b = &l->block[i];

		b->now = b->at;
		l->moves[i] = b->changed && b->want;
		add(b->changed ? &l->released : &l->claimed, b->at, b->size);
		if (b->changed)
			l->changed[l->nchanged++] = (struct candidate){ b->at, i };
	}
	if (l->nchanged)
		qsort(l->changed, l->nchanged, sizeof *l->changed, by_candidate);
	merge(&l->claimed);
	merge(&l->released);
	keep_places(l);
	claim(l);
	rc = keep_growing(l, e);
	claim(l);
	for (unsigned i = 0; i < l->n; i++)
		if (l->moves[i] && l->block[i].want < l->least)
			l->least = l->block[i].want;
	return rc;
}

/* ---- holes ---- */

static void add_hole(struct layout *l, uint64_t at, uint64_t end)
{
	struct range hole = { align_up(at > l->floor ? at : l->floor, l->align), end };

	if (hole.at < hole.end && hole.end - hole.at >= l->least)
		buf_add(&l->holes, &hole, sizeof hole);
}

/* Splits the unclaimed bytes [at, end), which were no block's, at all that is not zero. *run: where the hole that
 * reaches `at` begins. */
static int scan_zeros(struct layout *l, uint64_t at, uint64_t end, uint64_t *run, struct err *e)
{
	uint8_t piece[PIECE];

	for (size_t n; at < end; at += n) {
		int rc;

		n = end - at < PIECE ? (size_t)(end - at) : PIECE;
		rc = src_read(l->src, piece, n, l->base + at, "free room", e);
		if (rc)
			return rc;
		for (size_t i = 0; i < n; i++) {
			if (!piece[i])
				continue;
			add_hole(l, *run, at + i);
			*run = at + i + 1;
		}
	}
	return 0;
}

/* The holes of [at, end), which no block claims. *run as above. */
static int scan_gap(struct layout *l, uint64_t at, uint64_t end, uint64_t *run, struct err *e)
{
	int rc = 0;

	for (size_t i = find(&l->released, at); at < end && !rc; i++) {
		bool any = i < l->released.n && l->released.v[i].at < end;
		uint64_t from = any && l->released.v[i].at > at ? l->released.v[i].at : any ? at : end;

		rc = scan_zeros(l, at, from, run, e);
		at = any && l->released.v[i].end < end ? l->released.v[i].end : end;
	}
	return rc;
}

static int find_holes(struct layout *l, struct err *e)
{
	uint64_t at = l->floor, run = l->floor;
	int rc = 0;

	for (size_t i = find(&l->claimed, at); i < l->claimed.n && !rc; i++) {
		const struct range *c = &l->claimed.v[i];

		if (c->at > at) {
			rc = scan_gap(l, at, c->at, &run, e);
			add_hole(l, run, c->at);
		}
		at = run = c->end;
	}
	if (!rc && at < l->used)
		rc = scan_gap(l, at, l->used, &run, e);
	add_hole(l, run, UINT64_MAX);
	return rc ? rc : l->holes.bad ? err_nomem(e) : 0;
}

/* ---- the first hole that holds a block: a tree over the holes, each node the largest room below it ---- */

static uint64_t room(const struct range *hole)
{
	return hole->end > hole->at ? hole->end - hole->at : 0;
}

static void tree_update(uint64_t *tree, size_t leaves, size_t hole, uint64_t left)
{
	size_t i = leaves + hole;

	for (tree[i] = left; i > 1; i /= 2)
		tree[i / 2] = tree[i] > tree[i ^ 1] ? tree[i] : tree[i ^ 1];
}

/* The first hole from number `from` on with that much room; the last hole has room for everything. */
static size_t tree_first(const uint64_t *tree, size_t leaves, size_t from, uint64_t want)
{
	size_t i = leaves + from;

	/* Up to where what lies to the right has room, then down to the first of it. */
	while (tree[i] < want) {
		while (i & 1)
			i /= 2;
		i++;
	}
	while (i < leaves)
		i = tree[2 * i] >= want ? 2 * i : 2 * i + 1;
	return i - leaves;
}

/* The first hole that begins at `least` or behind. */
static size_t first_hole(const struct range *hole, size_t n, uint64_t least)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (hole[mid].at >= least)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static int fill_holes(struct layout *l, struct err *e)
{
	struct range *hole = (struct range *)(void *)l->holes.p;
	size_t n = l->holes.len / sizeof *hole, leaves = 1;
	uint64_t *tree;

	while (leaves < n)
		leaves *= 2;
	tree = arena_alloc(&l->arena, 2 * leaves, sizeof *tree);
	if (!tree)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		tree_update(tree, leaves, i, room(&hole[i]));
	for (unsigned i = 0; i < l->n; i++) {
		size_t k;

		if (!l->moves[i])
			continue;
		k = tree_first(tree, leaves, first_hole(hole, n, l->block[i].least), l->block[i].want);
		if (hole[k].at < l->block[i].least)
			hole[k].at = align_up(l->block[i].least, l->align);    /* only in the last one */
		l->block[i].now = hole[k].at;
		hole[k].at = align_up(hole[k].at + l->block[i].want, l->align);
		tree_update(tree, leaves, k, room(&hole[k]));
	}
	return 0;
}

int place_blocks(struct block *v, unsigned n, struct source *src, uint64_t base, uint64_t floor, uint64_t used,
		 uint64_t align, uint64_t *end, struct err *e)
{
	struct layout l = { .block = v, .n = n, .src = src, .base = base, .floor = floor, .used = used,
			    .align = align, .least = UINT64_MAX };
	int rc = sort_out(&l, e);

	if (!rc && l.least != UINT64_MAX) {
		rc = find_holes(&l, e);
		rc = rc ? rc : fill_holes(&l, e);
	}
	*end = used;
	for (unsigned i = 0; i < n && !rc; i++)
		if (v[i].want && v[i].now + v[i].want > *end)
			*end = v[i].now + v[i].want;
	buf_free(&l.holes);
	arena_free(&l.arena);
	return rc;
}

/* ---- what nobody has any more ---- */

int place_clear(const struct block *v, unsigned n, struct source *src, uint64_t base, struct err *e)
{
	struct ranges kept = { 0 }, old = { 0 };
	struct arena a = { 0 };
	int rc = make_ranges(&a, &kept, n) && make_ranges(&a, &old, n) ? 0 : err_nomem(e);

	for (unsigned i = 0; i < n && !rc; i++) {
		add(&kept, v[i].now, v[i].want);
		if (v[i].changed)
			add(&old, v[i].at, v[i].size);
	}
	merge(&kept);
	merge(&old);
	for (size_t i = 0; i < old.n && !rc; i++) {
		uint64_t at = old.v[i].at, end = old.v[i].end;

		for (size_t k = find(&kept, at); at < end && !rc; k++) {
			bool any = k < kept.n && kept.v[k].at < end;
			uint64_t to = !any ? end : kept.v[k].at > at ? kept.v[k].at : at;

			rc = src_clear(src, base + at, to - at, "room given up", e);
			at = any ? kept.v[k].end : end;
		}
	}
	arena_free(&a);
	return rc;
}
