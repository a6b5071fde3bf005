/* Normals of corners: NTAB, which has them, and CNRM, which says which corner has which (spec/jom.md 4.7). The vn lines
 * of our own texts are NTAB; other programs write a list of their own, whose values have to be found in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jom_put.h"

struct wish {
	int32_t value[3];
	uint32_t polygon, from;                /* from: its normal now; GEO_NONE: it has none */
	uint8_t corner;
};

struct corners {
	struct jom_geometry *g;
	const struct jom_text *text;
	struct wish *wish;
	uint32_t nwishes;
	uint32_t *users;                       /* of each normal: corners that have it and want no other */
	uint8_t *left;                         /* of each normal: its corners all want another one */
	struct err *e;
};

#define COS_1_DEGREE 0.99984769515639124

/* ---- given normals ---- */

/* What a text says of corner c of a polygon: a number of its vn; GEO_NONE. */
static uint32_t given(const struct corners *x, const struct jom_polygon *p, unsigned c)
{
	const struct jom_face *f = p->face == GEO_NONE ? NULL : &x->text->face[p->face];

	for (unsigned k = 0; f && k < f->n; k++)
		if (x->text->point[f->corner[k].v] == p->corner[c])
			return f->corner[k].normal;
	return GEO_NONE;
}

/* Corners of one point that the text has once: the first of them is shown, the others follow where they are alike. */
static bool follows(const struct jom_polygon *p, unsigned c)
{
	unsigned first = 0;

	while (p->corner[first] != p->corner[c])
		first++;
	return p->old == GEO_NONE || p->normals[first] == p->normals[c];
}

/* Where a program's normal has to point, as our number: unit length. */
static int value_of(const struct corners *x, uint32_t normal, int32_t out[3])
{
	const struct geo_number *n = x->text->normal[normal];
	double length = sqrt(n[0].v * n[0].v + n[1].v * n[1].v + n[2].v * n[2].v);
	struct geo_number unit[3];

	memcpy(unit, n, sizeof unit);
	for (unsigned k = 0; k < 3 && x->text->foreign && length > 0; k++)
		unit[k].v /= length;
	return jom_make_turned(unit, out, x->text->put->normal_line[normal], x->e);
}

static bool within_1_degree(const struct geo_number a[3], const double b[3])
{
	double dot = a[0].v * b[0] + a[1].v * b[1] + a[2].v * b[2];
	double length = sqrt((a[0].v * a[0].v + a[1].v * a[1].v + a[2].v * a[2].v) *
			     (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]));

	return length > 0 && dot >= COS_1_DEGREE * length;
}

bool jom_normal_stays(const struct jom_text *text, uint32_t normal, const int32_t stored[3])
{
	const struct geo_number *n = text->normal[normal];

	return jom_all_stay(n, stored) ||
	       (text->foreign && within_1_degree(n, (const double[]){ stored[0], stored[1], stored[2] }));
}

/* ---- by number ---- */

/* How many vn lines faces use. */
static uint32_t count_used(const struct corners *x)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < x->text->put->nfaces; f++)
		for (unsigned k = 0; k < x->text->face[f].n; k++) {
			uint32_t normal = x->text->face[f].corner[k].normal;

			n = normal != GEO_NONE && normal >= n ? normal + 1 : n;
		}
	return n;
}

static int put_by_number(struct corners *x)
{
	struct jom_geometry *g = x->g;
	uint32_t used = count_used(x), stored = g->nnormals;
	int rc = 0;

	for (uint32_t i = 0; i < stored && !rc; i++)
		rc = jom_take_turned(x->text->normal[i], g->normal[i], x->text->put->normal_line[i], x->e);
	for (; g->nnormals < used && !rc; g->nnormals++)
		rc = value_of(x, g->nnormals, g->normal[g->nnormals]);
	rc = rc ? rc : jom_count(g->nnormals, stored > JOM_MOST ? stored : JOM_MOST, "normals", x->e);
	for (uint32_t i = 0; i < g->npolygons && !rc; i++) {
		struct jom_polygon *p = &g->polygon[i];

		for (unsigned c = 4; c-- > 0;) {
			uint32_t normal = given(x, p, c);

			if (normal != GEO_NONE && follows(p, c))
				p->normals[c] = (uint16_t)normal;
		}
	}
	return rc;
}

/* ---- by value ---- */

static int by_from(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return memcmp(x->value, y->value, sizeof x->value);
}

static int by_value(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	return memcmp(x->value, y->value, sizeof x->value);
}

static int collect(struct corners *x)
{
	struct jom_geometry *g = x->g;
	int rc = 0;

	for (uint32_t i = 0; i < g->npolygons && !rc; i++) {
		const struct jom_polygon *p = &g->polygon[i];

		for (unsigned c = 0; c < 4 && !p->gone && !rc; c++) {
			struct wish *w = &x->wish[x->nwishes];
			uint32_t normal = given(x, p, c);
			bool old = p->old != GEO_NONE && g->m->table[JOM_CNRM].there;

			if (normal == GEO_NONE || !follows(p, c))
				continue;
			*w = (struct wish){ .polygon = i, .corner = (uint8_t)c, .from = GEO_NONE };
			if (old && p->normals[c] < g->nnormals)
				w->from = p->normals[c];
			if (w->from != GEO_NONE && jom_normal_stays(x->text, normal, g->normal[w->from]))
				continue;
			rc = value_of(x, normal, w->value);
			x->nwishes++;
		}
	}
	return rc;
}

/* How many corners have each normal. */
static bool count_corners(struct corners *x)
{
	const struct jom_geometry *g = x->g;

	x->users = arena_alloc(g->a, (size_t)g->nnormals + 1, sizeof *x->users);
	x->left = arena_alloc(g->a, (size_t)g->nnormals + 1, 1);
	for (uint32_t i = 0; i < g->npolygons && x->users; i++)
		for (unsigned c = 0; c < 4 && g->polygon[i].old != GEO_NONE && !g->polygon[i].gone; c++)
			if (g->polygon[i].normals[c] < g->nnormals)
				x->users[g->polygon[i].normals[c]]++;
	return x->users && x->left;
}

/* A normal whose corners all get one new value becomes that; the wishes left over need another one. */
static void change_values(struct corners *x)
{
	uint32_t left = 0, end;

	if (x->nwishes)
		qsort(x->wish, x->nwishes, sizeof *x->wish, by_from);
	for (uint32_t i = 0; i < x->nwishes; i = end) {
		uint32_t from = x->wish[i].from;

		for (end = i + 1; end < x->nwishes && !by_from(&x->wish[i], &x->wish[end]); end++)
			;
		if (from != GEO_NONE && x->users[from] == end - i) {
			memcpy(x->g->normal[from], x->wish[i].value, sizeof x->g->normal[from]);
			continue;
		}
		if (from != GEO_NONE) {
			x->users[from] -= end - i;
			x->left[from] = !x->users[from];
		}
		memmove(&x->wish[left], &x->wish[i], (end - i) * sizeof *x->wish);
		left += end - i;
	}
	x->nwishes = left;
}

/* Gives the wishes of one value, from w on, a normal; how many they are. */
static uint32_t grant(struct corners *x, struct wish *w, uint32_t n, uint32_t normal)
{
	uint32_t i = 0;

	for (; i < n && !by_value(w, &w[i]); i++)
		x->g->polygon[w[i].polygon].normals[w[i].corner] = (uint16_t)normal;
	return i;
}

/* Wishes for values that are there already; the others are left over. */
static bool find_values(struct corners *x)
{
	struct jom_geometry *g = x->g;
	struct wish *have = arena_alloc(g->a, (size_t)g->nnormals + 1, sizeof *have), *found;
	uint32_t left = 0, n;

	if (!have)
		return false;
	for (uint32_t i = 0; i < g->nnormals; i++) {
		memcpy(have[i].value, g->normal[i], sizeof have[i].value);
		have[i].from = i;
	}
	if (g->nnormals)
		qsort(have, g->nnormals, sizeof *have, by_value);
	qsort(x->wish, x->nwishes, sizeof *x->wish, by_value);
	for (uint32_t i = 0; i < x->nwishes; i += n) {
		found = g->nnormals ? bsearch(&x->wish[i], have, g->nnormals, sizeof *have, by_value) : NULL;
		if (found) {
			n = grant(x, &x->wish[i], x->nwishes - i, found->from);
			x->left[found->from] = false;
			continue;
		}
		for (n = 0; i + n < x->nwishes && !by_value(&x->wish[i], &x->wish[i + n]); n++)
			;
		memmove(&x->wish[left], &x->wish[i], n * sizeof *x->wish);
		left += n;
	}
	x->nwishes = left;
	return true;
}

/* New normals, in the places of those that nobody has any more, then behind the last. */
static int add_values(struct corners *x)
{
	struct jom_geometry *g = x->g;
	uint32_t stored = g->nnormals, next = 0, at;

	for (uint32_t i = 0; i < x->nwishes;) {
		while (next < stored && !x->left[next])
			next++;
		at = next < stored ? next++ : g->nnormals++;
		memcpy(g->normal[at], x->wish[i].value, sizeof g->normal[at]);
		i += grant(x, &x->wish[i], x->nwishes - i, at);
	}
	return jom_count(g->nnormals, stored > JOM_MOST ? stored : JOM_MOST, "normals", x->e);
}

static int put_by_value(struct corners *x)
{
	int rc;

	x->wish = arena_alloc(x->g->a, (size_t)x->g->npolygons * 4 + 1, sizeof *x->wish);
	if (!x->wish)
		return err_nomem(x->e);
	rc = collect(x);
	if (rc || !x->nwishes)
		return rc;
	if (!count_corners(x))
		return err_nomem(x->e);
	change_values(x);
	return !x->nwishes || find_values(x) ? add_values(x) : err_nomem(x->e);
}

/* ---- corners of new polygons that the text gives none ---- */

static int guess_normals(struct corners *x)
{
	struct jom_geometry *g = x->g;
	uint32_t *at = arena_alloc(g->a, (size_t)g->npoints + 1, sizeof *at), guessed = 0;

	if (!at)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < g->npolygons; i++)
		for (unsigned c = 0; c < 4 && g->polygon[i].old != GEO_NONE; c++)
			if (!at[g->polygon[i].corner[c]])
				at[g->polygon[i].corner[c]] = g->polygon[i].normals[c] + 1u;
	for (uint32_t i = 0; i < g->npolygons; i++)
		for (unsigned c = 0; c < 4 && g->polygon[i].old == GEO_NONE; c++) {
			struct jom_polygon *p = &g->polygon[i];
			const struct jom_point *point = &g->point[p->corner[c]];
			uint32_t like = point->old != GEO_NONE ? p->corner[c] : point->like;

			if (given(x, p, c) != GEO_NONE)
				continue;
			p->normals[c] = (uint16_t)(like != GEO_NONE && at[like] ? at[like] - 1 : 0);
			guessed++;
		}
	if (guessed)
		object_say(g->o, "%u corners have no normal: they get that of the nearest corner", guessed);
	return 0;
}

/* ---- a model without normals ---- */

/* Whether every face of the model is given normals. */
static bool all_given(const struct corners *x)
{
	const struct jom_geometry *g = x->g;
	unsigned c[4];

	for (uint32_t i = 0; i < g->npolygons; i++) {
		const struct jom_polygon *p = &g->polygon[i];

		if (p->gone || (p->old != GEO_NONE && p->face == GEO_NONE && !jom_face(g->m, p->old, c)))
			continue;
		for (unsigned k = 0; k < 4; k++)
			if (given(x, p, k) == GEO_NONE)
				return false;
	}
	return true;
}

/* Programs that find no normals write those of the faces themselves, which says nothing. */
static bool says_normals(const struct corners *x)
{
	const struct jom_geometry *g = x->g;
	uint64_t own = 0, other = 0;
	double d[3];

	for (uint32_t i = 0; i < g->npolygons && x->text->foreign; i++) {
		const struct jom_polygon *p = &g->polygon[i];

		for (unsigned c = 0; c < 4 && p->face != GEO_NONE && jom_direction(g, p, d); c++) {
			const struct geo_number *n = x->text->normal[given(x, p, c)];
			bool same = within_1_degree(n, d) ||
				    within_1_degree(n, (const double[]){ -d[0], -d[1], -d[2] });

			own += same;
			other += !same;
		}
	}
	return !x->text->foreign || other > own;
}

static int add_normals(struct corners *x)
{
	bool all = all_given(x);

	if (!count_used(x) || (x->text->foreign && (!all || !says_normals(x))))
		return 0;
	if (!all) {
		object_say(x->g->o,
			   "normals are left out: the model has none, and not all of its faces are given some");
		return 0;
	}
	for (uint32_t i = 0; i < x->g->npolygons; i++)
		memset(x->g->polygon[i].normals, 0, sizeof x->g->polygon[i].normals);
	x->g->has_normals = true;
	return x->text->foreign ? put_by_value(x) : put_by_number(x);
}

/* NTAB alone: no corner has a normal. */
static int put_values(struct corners *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->g->nnormals && !rc; i++)
		rc = jom_take_turned(x->text->normal[i], x->g->normal[i], x->text->put->normal_line[i], x->e);
	return rc;
}

int jom_put_normals(struct jom_geometry *g, const struct jom_text *text, struct err *e)
{
	struct corners x = { .g = g, .text = text, .e = e };
	bool numbered = !text->foreign && text->put->nnormals >= g->nnormals && g->nnormals;
	int rc;

	if (!g->has_normals && !g->nnormals)
		return add_normals(&x);
	if (!g->has_normals)
		return numbered ? put_values(&x) : 0;
	rc = numbered ? put_by_number(&x) : put_by_value(&x);
	return rc ? rc : guess_normals(&x);
}
