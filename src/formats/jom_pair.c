/* Faces of an edited OBJ of a JOM and the polygons they are. Programs turn faces, sort them, and drop some; none of
 * that is an edit. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "jom_match.h"

/* ---- faces as sets ---- */

static struct jom_key turned(const struct jom_key *k)
{
	unsigned n = jom_key_corners(k), first = 0;
	struct jom_key out = *k;

	for (unsigned i = 1; i < n; i++)
		first = k->v[i] < k->v[first] ? i : first;
	for (unsigned i = 0; i < n; i++)
		out.v[i] = k->v[(first + i) % n];
	return out;
}

static int by_points(const void *a, const void *b)
{
	const struct jom_key *x = a, *y = b;

	for (unsigned i = 0; i < 4; i++)
		if (x->v[i] != y->v[i])
			return x->v[i] < y->v[i] ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The faces of the text whose vertices all mean something; number: of the face. */
static uint32_t take_faces(const struct jom_match *x, const uint32_t *as, struct jom_key *out)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < x->text->put->nfaces; f++) {
		const struct jom_face *face = &x->text->face[f];
		struct jom_key k = { .v = { 0, 0, 0, GEO_NONE }, .number = f };
		bool known = face->n;

		for (unsigned c = 0; c < face->n; c++) {
			k.v[c] = as[face->corner[c].v];
			known &= k.v[c] != GEO_NONE;
		}
		if (known)
			out[n++] = turned(&k);
	}
	return n;
}

/* ---- faces over the same points ---- */

/* Two lists of faces that are the same by what their points count as. */
struct alike { const uint32_t *ours, *theirs; struct jom_key *our, *their; };

static uint32_t as_of(const uint32_t *as, uint32_t point)
{
	return as ? as[point] : point;
}

/* What a face says about one thing: the polygon has it, has it otherwise, or nothing is said. Not to be contradicted
 * counts more than to be confirmed, and a material more than all corners. */
#define FITS 8u
#define MATERIAL (16 * FITS)

/* How well the face goes with the polygon. */
static unsigned likeness(const struct jom_match *x, const struct alike *s, uint32_t ours, uint32_t face)
{
	const struct jom_polygon *p = &x->g->polygon[x->ours[ours].number];
	const struct jom_face *f = &x->text->face[face];
	unsigned n = f->material == GEO_NONE ? MATERIAL : f->material == p->material ? MATERIAL + FITS : 0;

	for (unsigned k = 0; k < f->n; k++) {
		uint32_t as = s->theirs[f->corner[k].v], normal = f->corner[k].normal;
		unsigned c = 0;

		while (c < 3 && as_of(s->ours, x->shown->line[p->corner[c]]) != as)
			c++;
		if (!k)
			n += !f->starts ? FITS : c ? 0 : FITS + 1;
		if (normal == GEO_NONE || p->normals[c] >= x->g->nnormals)
			n += FITS;
		else if (jom_normal_stays(x->text, normal, x->g->normal[p->normals[c]]))
			n += FITS + 1;
	}
	return n;
}

#define ALIKE_MOST 64u                         /* faces over the same points that are told apart */

/* What pairing rows with columns costs; as many columns as rows, or more. */
struct costs { unsigned rows, cols; int v[ALIKE_MOST][ALIKE_MOST]; };

/* State of assign(), rows and columns counted from 1: prices, the row of each column, and on the way to a free column
 * the one before each. */
struct prices {
	int row[ALIKE_MOST + 1], col[ALIKE_MOST + 1];
	unsigned taken_by[ALIKE_MOST + 1], before[ALIKE_MOST + 1];
};

/* Finds a column for row r, whom others may make room for by taking their next best. */
static void find_column(const struct costs *c, struct prices *p, unsigned r)
{
	int least[ALIKE_MOST + 1];
	bool seen[ALIKE_MOST + 1] = { false };
	unsigned at = 0, next;

	p->taken_by[0] = r;
	for (unsigned k = 0; k <= c->cols; k++)
		least[k] = INT_MAX;
	do {
		int step = INT_MAX;
		unsigned row = p->taken_by[at];

		seen[at] = true;
		next = 0;
		for (unsigned k = 1; k <= c->cols; k++) {
			int cost = c->v[row - 1][k - 1] - p->row[row] - p->col[k];

			if (seen[k])
				continue;
			if (cost < least[k]) {
				least[k] = cost;
				p->before[k] = at;
			}
			if (least[k] < step) {
				step = least[k];
				next = k;
			}
		}
		for (unsigned k = 0; k <= c->cols; k++) {
			if (seen[k]) {
				p->row[p->taken_by[k]] += step;
				p->col[k] -= step;
			} else {
				least[k] -= step;
			}
		}
		at = next;
	} while (p->taken_by[at]);
	for (; at; at = p->before[at])
		p->taken_by[at] = p->taken_by[p->before[at]];
}

/* Pairs all rows so that the costs are least in all; column[r]: that of row r. */
static void assign(const struct costs *c, unsigned column[ALIKE_MOST])
{
	struct prices p = { { 0 } };

	for (unsigned r = 1; r <= c->rows; r++)
		find_column(c, &p, r);
	for (unsigned k = 1; k <= c->cols; k++)
		if (p.taken_by[k])
			column[p.taken_by[k] - 1] = k - 1;
}

static void set_pair(struct jom_match *x, const struct alike *s, uint32_t ours, uint32_t theirs)
{
	x->text->face[s->their[theirs].number].polygon = s->our[ours].number;
}

/* Pairs a of ours with b of theirs, all over the same points, so that they are most alike in all; too many of them in
 * their order. */
static uint32_t pair_alike(struct jom_match *x, const struct alike *s, uint32_t a, uint32_t b)
{
	uint32_t pairs = a < b ? a : b;
	unsigned column[ALIKE_MOST];
	struct costs c;

	if ((a == 1 && b == 1) || a > ALIKE_MOST || b > ALIKE_MOST) {
		for (uint32_t i = 0; i < pairs; i++)
			set_pair(x, s, i, i);
		return pairs;
	}
	c.rows = pairs;
	c.cols = a < b ? b : a;
	for (unsigned i = 0; i < a; i++)
		for (unsigned k = 0; k < b; k++)
			c.v[a < b ? i : k][a < b ? k : i] = -(int)likeness(x, s, s->our[i].number, s->their[k].number);
	assign(&c, column);
	for (unsigned i = 0; i < pairs; i++)
		set_pair(x, s, a < b ? i : column[i], a < b ? column[i] : i);
	return pairs;
}

static uint32_t count_same(const struct jom_key *v, uint32_t n)
{
	uint32_t i = 1;

	while (i < n && !memcmp(v[i].v, v[0].v, sizeof v[0].v))
		i++;
	return i;
}

/* Both lists, sorted. */
static bool sort_faces(const struct jom_match *x, struct alike *s, uint32_t *n)
{
	s->our = malloc(((size_t)x->text->put->nfaces + x->nours + 1) * sizeof *s->our);
	if (!s->our)
		return false;
	s->their = s->our + x->nours;
	for (uint32_t i = 0; i < x->nours; i++) {
		struct jom_key k = { .v = { 0, 0, 0, GEO_NONE }, .number = i };

		for (unsigned c = 0; c < jom_key_corners(&x->ours[i]); c++)
			k.v[c] = as_of(s->ours, x->ours[i].v[c]);
		s->our[i] = turned(&k);
	}
	*n = take_faces(x, s->theirs, s->their);
	if (x->nours)
		qsort(s->our, x->nours, sizeof *s->our, by_points);
	if (*n)
		qsort(s->their, *n, sizeof *s->their, by_points);
	return true;
}

uint32_t jom_pair_equal(struct jom_match *x, const uint32_t *ours, const uint32_t *theirs, bool *failed)
{
	struct alike all = { .ours = ours, .theirs = theirs }, s;
	uint32_t n = 0, pairs = 0, a, b;

	for (uint32_t f = 0; f < x->text->put->nfaces; f++)
		x->text->face[f].polygon = GEO_NONE;
	*failed = !sort_faces(x, &all, &n);
	s = all;
	for (uint32_t i = 0, k = 0; i < x->nours && k < n; i += a, k += b) {
		int order;

		s.our = all.our + i;
		s.their = all.their + k;
		order = memcmp(s.our->v, s.their->v, sizeof s.our->v) ? by_points(s.our, s.their) : 0;
		a = order <= 0 ? count_same(s.our, x->nours - i) : 0;
		b = order >= 0 ? count_same(s.their, n - k) : 0;
		if (!order)
			pairs += pair_alike(x, &s, a, b);
	}
	free(all.our);
	return pairs;
}

int jom_same_faces(struct jom_match *x)
{
	bool failed;

	if (x->text->nfaces != x->nours)
		return 0;
	if (jom_pair_equal(x, NULL, x->to, &failed) == x->nours)
		return 1;
	return failed ? err_nomem(x->e) : 0;
}

/* ---- what was changed ---- */

/* Numbers 0..n-1 that nothing is paired with, ascending; before[k]: how many of them are less than k. */
struct left { uint32_t *v, *before; uint8_t *taken; };

static bool find_left(struct left *l, const uint32_t *to, uint32_t nto, uint32_t n, struct arena *a)
{
	uint32_t count = 0;

	l->v = arena_alloc(a, (size_t)n + 1, sizeof *l->v);
	l->before = arena_alloc(a, (size_t)n + 2, sizeof *l->before);
	l->taken = arena_alloc(a, (size_t)n + 1, sizeof *l->taken);
	if (!l->v || !l->before || !l->taken)
		return false;
	for (uint32_t i = 0; i < nto; i++)
		if (to[i] != GEO_NONE)
			l->taken[to[i]] = 1;
	for (uint32_t k = 0; k <= n; k++) {
		l->before[k] = count;
		if (k < n && !l->taken[k])
			l->v[count++] = k;
	}
	return true;
}

/* Pairs `count` of theirs, from to[0] on, with what is left of ours in [from, end), if that is as many. */
static void pair_run(const struct left *l, uint32_t *to, uint32_t count, uint32_t from, uint32_t end)
{
	const uint32_t *v = l->v + l->before[from];

	if (end < from || l->before[end] - l->before[from] != count)
		return;
	for (uint32_t i = 0; i < count; i++)
		if (l->taken[v[i]])
			return;
	for (uint32_t i = 0; i < count; i++) {
		to[i] = v[i];
		l->taken[v[i]] = 1;
	}
}

bool jom_pair_gaps(uint32_t *to, uint32_t ntheirs, uint32_t n, struct arena *a)
{
	uint32_t from = 0, end;
	struct left l;

	if (!find_left(&l, to, ntheirs, n, a))
		return false;
	for (uint32_t i = 0; i < ntheirs; i = end) {
		end = i + 1;
		if (to[i] != GEO_NONE) {
			from = to[i] + 1;
			continue;
		}
		while (end < ntheirs && to[end] == GEO_NONE)
			end++;
		pair_run(&l, to + i, end - i, from, end < ntheirs ? to[end] : n);
	}
	return true;
}

static void collapse(struct jom_match *x, struct jom_face *f)
{
	const struct jom_face was = *f;
	uint64_t point[4], n = 0;

	for (unsigned k = 0; k < was.n; k++) {
		uint32_t v = was.corner[k].v;

		/* New points are no two the same. */
		point[k] = x->to[v] == GEO_NONE ? (uint64_t)1 << 32 | v : x->to[v];
	}
	for (unsigned k = 0; k < was.n; k++)
		if (point[k] != point[(k + was.n - 1u) % was.n])
			f->corner[n++] = was.corner[k];
	if (n == was.n && (n < 4 || (point[0] != point[2] && point[1] != point[3])))
		return;
	f->starts = false;
	f->n = n == 3 ? 3 : 0;
	x->text->nfaces -= !f->n;
}

void jom_collapse(struct jom_match *x)
{
	for (uint32_t f = 0; f < x->text->put->nfaces; f++)
		if (jom_is_face(x, f))
			collapse(x, &x->text->face[f]);
}

/* A face of another group is no changed one. */
static bool may_change(const struct jom_match *x, const struct jom_face *f, uint32_t ours)
{
	uint32_t group = x->g->polygon[x->ours[ours].number].group;

	return x->text->mesh != MESH_WHOLE || f->group == GEO_NONE ||
	       f->group == (group == GEO_NONE ? JOM_UNGROUPED : group);
}

bool jom_pair_changed(struct jom_match *x)
{
	uint32_t nfaces = x->text->put->nfaces, n = 0;
	uint32_t *to = arena_alloc(x->a, (size_t)nfaces + 1, sizeof *to);
	bool failed = true;

	if (!to)
		return false;
	jom_collapse(x);
	jom_pair_equal(x, NULL, x->to, &failed);
	for (uint32_t f = 0; f < nfaces && !failed; f++)
		if (jom_is_face(x, f))
			to[n++] = x->text->face[f].polygon;
	if (failed || !jom_pair_gaps(to, n, x->nours, x->a))
		return false;
	n = 0;
	for (uint32_t f = 0; f < nfaces; f++) {
		struct jom_face *face = &x->text->face[f];

		if (!jom_is_face(x, f))
			continue;
		if (face->polygon == GEO_NONE && to[n] != GEO_NONE && may_change(x, face, to[n]))
			face->polygon = to[n];
		n++;
	}
	return true;
}

/* ---- twins ----
 *
 * Programs whose faces are sets of points know only one over the same points, so of two sided ones they drop a side. */

static struct jom_key sorted(const struct jom_key *k)
{
	struct jom_key out = *k;

	for (unsigned i = 1; i < 4; i++)
		for (unsigned c = i; c && out.v[c] < out.v[c - 1]; c--) {
			uint32_t v = out.v[c];

			out.v[c] = out.v[c - 1];
			out.v[c - 1] = v;
		}
	return out;
}

/* Polygons that are left over but have a twin in the text are not gone, if of no two twins both are there. */
bool jom_keep_twins(struct jom_match *x)
{
	struct jom_key *twin = arena_alloc(x->a, (size_t)x->nours + 1, sizeof *twin);
	uint8_t *there = arena_alloc(x->a, (size_t)x->nours + 1, 1);
	uint32_t end, n;

	if (!twin || !there)
		return false;
	for (uint32_t f = 0; f < x->text->put->nfaces; f++)
		if (x->text->face[f].polygon != GEO_NONE)
			there[x->text->face[f].polygon] = 1;
	for (uint32_t i = 0; i < x->nours; i++) {
		twin[i] = sorted(&x->ours[i]);
		twin[i].number = i;
	}
	if (x->nours)
		qsort(twin, x->nours, sizeof *twin, by_points);
	for (uint32_t i = 0; i < x->nours; i = end) {
		n = there[twin[i].number];
		for (end = i + 1; end < x->nours && !memcmp(twin[end].v, twin[i].v, sizeof twin[i].v); end++)
			n += there[twin[end].number];
		if (n > 1)
			return true;
		for (uint32_t k = i; k < end && n; k++)
			there[twin[k].number] |= 2;
	}
	for (uint32_t i = 0; i < x->nours; i++)
		x->text->stays[x->ours[i].number] = there[i] == 2;
	return true;
}
