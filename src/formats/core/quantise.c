/* A palette for the colours of a picture.
 *
 * Colours are points in a space of four dimensions: alpha, and red, green and blue, which count less the more
 * transparent they are. Times alpha would be what is seen of them; a power of alpha above that costs what is seen next
 * to nothing and leaves faint pixels, which a game may draw more than once, about the colour they had.
 *
 * The points are cut into boxes, always the box whose cut helps most, across the direction in which it is longest. The
 * means of the boxes are the first centres. Then centres and points settle (Lloyd): every point goes to its nearest
 * centre, every centre to the mean of its points. That finds a valley, not the deepest one; so afterwards, as long as
 * it helps, the centres that are missed least move to where a cut helps most, and all settles again; first many at
 * once, as the cuts foretell, then one by one. Last they settle once more among colours that can be stored. */
#include "quantise.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quantbox.h"

#define MOVES 12u                              /* rounds of moving many centres at most */
#define TRIES 64u                              /* moves of one centre at most, ... */
#define CHOICE 8u                              /* ... among that many centres and cuts */
#define BUDGET 3000000u                        /* points looked at in one settling, and twice that in all tries */
#define SEEN 0.65f                             /* power of alpha */

struct near { float d; uint32_t to; };

struct loss { double cost; unsigned centre; };

struct palette {
	float (*centre)[4];
	uint8_t *in;                           /* centre of each point */
	double error;
};

struct work {
	struct point *p;
	uint32_t n, *order;
	struct box *box;
	unsigned k, fixed;                     /* centres; the first one stays where it is when fixed is 1 */
	struct palette now, best;
	struct near *near;                     /* of each centre, all others, the nearest first */
	float *off;                            /* weighted error of each point */
	double (*sum)[5];                      /* of each centre: its points and their weight */
	const struct colour_format *f;         /* NULL: centres need not be colours yet */
	struct colours stored;                 /* what points are when they are stored; room for fill_free() */
	struct loss *gain;
	float seen[256];                       /* what counts of a colour with that alpha */
};

static void place(const struct work *w, const uint8_t c[4], float out[4])
{
	for (unsigned i = 0; i < 3; i++)
		out[i] = c[i] * w->seen[c[3]];
	out[3] = c[3];
}

static float distance(const float x[4], const float y[4])
{
	float a = x[0] - y[0], b = x[1] - y[1], c = x[2] - y[2], d = x[3] - y[3];

	return a * a + b * b + c * c + d * d;
}

/* ---- the first centres ---- */

static unsigned best_box(const struct work *w, unsigned n)
{
	unsigned best = 0;

	for (unsigned i = 1; i < n; i++)
		if (w->box[i].gain > w->box[best].gain)
			best = i;
	return best;
}

static void first_centres(struct work *w, unsigned most)
{
	unsigned n = 1, at;

	for (uint32_t i = 0; i < w->n; i++)
		w->order[i] = i;
	w->box[0] = (struct box){ .n = w->n };
	box_measure(w->p, w->order, &w->box[0]);
	while (w->fixed + n < most) {
		at = best_box(w, n);
		if (!(w->box[at].gain > 0))
			break;
		box_cut(w->p, w->order, &w->box[at], &w->box[n++]);
	}
	for (unsigned i = 0; i < n; i++) {
		box_mean(w->p, w->order, &w->box[i], w->now.centre[w->fixed + i]);
		for (uint32_t k = 0; k < w->box[i].n; k++)
			w->now.in[w->order[w->box[i].at + k]] = (uint8_t)(w->fixed + i);
	}
	w->k = w->fixed + n;
}

/* ---- settling ---- */

static int by_distance(const void *a, const void *b)
{
	const struct near *x = a, *y = b;

	if (x->d != y->d)
		return x->d < y->d ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void find_neighbours(struct work *w)
{
	for (unsigned i = 0; i < w->k; i++) {
		struct near *row = w->near + (size_t)i * w->k;
		unsigned n = 0;

		for (unsigned j = 0; j < w->k; j++)
			if (j != i)
				row[n++] = (struct near){ distance(w->now.centre[i], w->now.centre[j]), j };
		qsort(row, n, sizeof *row, by_distance);
	}
}

/* A centre more than twice as far from the point's old centre as the point is cannot be nearer to the point. Of centres
 * that are equally near the first one gets it, so that of equal ones the others become free. */
static float nearest(const struct work *w, const float c[4], uint8_t *in)
{
	unsigned old = *in;
	float most = distance(c, w->now.centre[old]), best = most;
	const struct near *row = w->near + (size_t)old * w->k;

	for (unsigned j = 0; j + 1 < w->k && row[j].d <= 4 * most; j++) {
		float d = distance(c, w->now.centre[row[j].to]);

		if (d < best || (d == best && row[j].to < *in)) {
			best = d;
			*in = (uint8_t)row[j].to;
		}
	}
	return best;
}

/* Points to their nearest centres; the error goes down or stays. */
static void assign(struct work *w)
{
	find_neighbours(w);
	memset(w->sum, 0, w->k * sizeof *w->sum);
	w->now.error = 0;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct point *p = &w->p[i];
		double *sum;

		w->off[i] = nearest(w, p->c, &w->now.in[i]) * p->w;
		w->now.error += (double)w->off[i];
		sum = w->sum[w->now.in[i]];
		for (unsigned k = 0; k < 4; k++)
			sum[k] += (double)p->c[k] * p->w;
		sum[4] += p->w;
	}
}

static uint8_t channel(float v)
{
	return v <= 0 ? 0 : v >= 255 ? 255 : (uint8_t)(v + 0.5f);
}

static void colour_of(const struct work *w, const float c[4], uint8_t out[4])
{
	uint8_t rgba[4];

	float seen = c[3] > 0 ? powf(c[3] / 255.0f, SEEN) : 1;

	for (unsigned i = 0; i < 3; i++)
		rgba[i] = channel(c[i] / seen);
	rgba[3] = channel(c[3]);
	w->f->nearest(w->f->ctx, rgba, out);
	if (!out[3])
		memset(out, 0, 4);
}

static void make_storable(const struct work *w, float c[4])
{
	uint8_t rgba[4];

	colour_of(w, c, rgba);
	place(w, rgba, c);
}

static uint32_t worst_point(const struct work *w)
{
	uint32_t worst = 0;

	for (uint32_t i = 1; i < w->n; i++)
		if (w->off[i] > w->off[worst])
			worst = i;
	return worst;
}

/* Centres to the means of their points; those without points go where the error is greatest, or wait for
 * fill_free(). */
static void move_centres(struct work *w)
{
	for (unsigned i = w->fixed; i < w->k; i++) {
		float *c = w->now.centre[i];

		if (w->sum[i][4] > 0) {
			for (unsigned k = 0; k < 4; k++)
				c[k] = (float)(w->sum[i][k] / w->sum[i][4]);
		} else if (!w->f) {
			uint32_t at = worst_point(w);

			memcpy(c, w->p[at].c, sizeof w->p[at].c);
			w->off[at] = 0;
		}
		if (w->f)
			make_storable(w, c);
	}
}

static void keep_palette(const struct work *w, struct palette *to, const struct palette *from)
{
	memcpy(to->centre, from->centre, w->k * sizeof *to->centre);
	memcpy(to->in, from->in, w->n);
	to->error = from->error;
}

/* Until it gets hardly better. Leaves the centres that belong to the last assignment, and the sums of their points. */
static void settle(struct work *w, unsigned turns)
{
	double last;

	assign(w);
	do {
		last = w->now.error;
		move_centres(w);
		assign(w);
	} while (turns-- && w->now.error < last * 0.9995);
}

/* ---- moving centres ---- */

static int by_cost(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	return x->centre < y->centre ? -1 : x->centre > y->centre;
}

/* What it costs to do without a centre: its points go to the nearest other one, which moves, unless it is fixed. */
static void find_losses(const struct work *w, struct loss *v)
{
	for (unsigned i = w->fixed; i < w->k; i++) {
		const struct near *next = &w->near[(size_t)i * w->k];
		double a = w->sum[i][4], b = w->sum[next->to][4], share = next->to < w->fixed || !a ? 1 : b / (a + b);

		v[i - w->fixed] = (struct loss){ a * share * (double)next->d, i };
	}
	qsort(v, w->k - w->fixed, sizeof *v, by_cost);
}

/* Boxes of the points of each centre, in `order`. */
static void boxes_of_centres(struct work *w)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < w->k; i++)
		w->box[i] = (struct box){ 0 };
	for (uint32_t i = 0; i < w->n; i++)
		w->box[w->now.in[i]].n++;
	for (unsigned i = 0; i < w->k; i++) {
		w->box[i].at = at;
		at += w->box[i].n;
		w->box[i].n = 0;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		struct box *b = &w->box[w->now.in[i]];

		w->order[b->at + b->n++] = i;
	}
	for (unsigned i = w->fixed; i < w->k; i++)
		box_measure(w->p, w->order, &w->box[i]);
}

/* The centres that are missed least go each to half of the points of one that has many; false: that would not help. */
static bool relocate(struct work *w, unsigned most)
{
	struct loss loss[QUANTISE_MOST];
	unsigned moved = 0;

	find_losses(w, loss);
	boxes_of_centres(w);
	for (unsigned i = 0; i < w->k - w->fixed && moved < most; i++) {
		unsigned from = loss[i].centre, to = best_box(w, w->k);
		struct box rest;

		if (!(w->box[to].gain > loss[i].cost))
			break;
		if (to == from || w->box[from].gain < 0)
			continue;
		box_cut(w->p, w->order, &w->box[to], &rest);
		box_mean(w->p, w->order, &w->box[to], w->now.centre[to]);
		box_mean(w->p, w->order, &rest, w->now.centre[from]);
		w->box[to].gain = w->box[from].gain = -1;
		moved++;
	}
	return moved;
}

/* Keeps what came of a move, or goes back to what was best before. */
static bool keep_better(struct work *w, unsigned turns)
{
	settle(w, turns);
	if (w->now.error < w->best.error) {
		keep_palette(w, &w->best, &w->now);
		return true;
	}
	keep_palette(w, &w->now, &w->best);
	assign(w);
	return false;
}

static void move_many(struct work *w, unsigned turns)
{
	unsigned most = w->k / 4 + 1;

	for (unsigned round = 0; round < MOVES && most && relocate(w, most); round++)
		if (!keep_better(w, turns))
			most /= 4;
}

/* The centre that is number `least` of those missed least, to where the cut is number `cut` of those that help most. */
static bool relocate_one(struct work *w, unsigned least, unsigned cut)
{
	struct loss loss[QUANTISE_MOST];
	unsigned from, to;
	struct box rest;

	find_losses(w, loss);
	boxes_of_centres(w);
	from = loss[least].centre;
	w->box[from].gain = -1;
	for (to = best_box(w, w->k); cut--; to = best_box(w, w->k))
		w->box[to].gain = -1;
	if (!(w->box[to].gain > 0))
		return false;
	box_cut(w->p, w->order, &w->box[to], &rest);
	box_mean(w->p, w->order, &w->box[to], w->now.centre[to]);
	box_mean(w->p, w->order, &rest, w->now.centre[from]);
	return true;
}

static void move_one(struct work *w, unsigned turns)
{
	uint32_t tries = 2 * BUDGET / ((w->n + 4 * w->k * w->k) * turns + 1);
	unsigned at = 0;

	for (tries = tries < TRIES ? tries : TRIES; tries--; at++) {
		unsigned least = at % CHOICE, cut = at / CHOICE;

		if (cut == CHOICE)
			break;
		if (least < w->k - w->fixed && relocate_one(w, least, cut) && keep_better(w, turns))
			at = UINT_MAX;         /* from the start */
	}
}

static void improve(struct work *w, unsigned turns)
{
	keep_palette(w, &w->best, &w->now);
	if (w->k < 2)
		return;
	move_many(w, turns);
	move_one(w, turns);
}

/* ---- colours that can be stored ---- */

/* What it would bring to have the colour that each point is when it is stored; negative costs. How many there are. */
static uint32_t find_gains(struct work *w)
{
	uint8_t rgba[4];
	float c[4];

	colours_clear(&w->stored, 0, false);
	for (uint32_t i = 0; i < w->n; i++) {
		const struct colour *s;
		uint32_t at;

		colour_of(w, w->p[i].c, rgba);
		place(w, rgba, c);
		s = colours_add(&w->stored, rgba);
		at = (uint32_t)(s - w->stored.v);
		if (s->count == 1)
			w->gain[at] = (struct loss){ 0, at };
		w->gain[at].cost -= (double)(w->off[i] - distance(w->p[i].c, c) * w->p[i].w);
	}
	qsort(w->gain, w->stored.n, sizeof *w->gain, by_cost);
	return w->stored.n;
}

/* Rounding makes some centres the same, and only one of them has points: the others become what helps most. */
static void fill_free(struct work *w)
{
	uint32_t n = 0, at = 0;

	for (unsigned i = w->fixed; i < w->k; i++) {
		if (w->sum[i][4] > 0)
			continue;
		n = n ? n : find_gains(w);
		if (at == n || !(w->gain[at].cost < 0))
			return;
		place(w, w->stored.v[w->gain[at++].centre].rgba, w->now.centre[i]);
	}
}

static bool assign_better(struct work *w)
{
	assign(w);
	if (!(w->now.error < w->best.error))
		return false;
	keep_palette(w, &w->best, &w->now);
	return true;
}

/* The best of what comes along. */
static void settle_storable(struct work *w, unsigned turns)
{
	bool better = true;

	for (unsigned i = w->fixed; i < w->k; i++)
		make_storable(w, w->now.centre[i]);
	w->best.error = INFINITY;
	assign_better(w);
	for (unsigned stuck = 0; turns-- && stuck < 3; stuck = better ? 0 : stuck + 1) {
		fill_free(w);
		better = assign_better(w);
		move_centres(w);
		better |= assign_better(w);
	}
}

/* ---- all of it ---- */

static int make_room(struct work *w, uint32_t n, unsigned most, struct arena *a, struct err *e)
{
	for (unsigned i = 0; i < 2; i++) {
		struct palette *p = i ? &w->best : &w->now;

		p->centre = arena_alloc(a, most, sizeof *p->centre);
		p->in = arena_alloc(a, n, 1);
		if (!p->centre || !p->in)
			return err_nomem(e);
	}
	w->p = arena_alloc(a, n, sizeof *w->p);
	w->order = arena_alloc(a, n, sizeof *w->order);
	w->off = arena_alloc(a, n, sizeof *w->off);
	w->box = arena_alloc(a, most, sizeof *w->box);
	w->near = arena_alloc(a, (size_t)most * most, sizeof *w->near);
	w->sum = arena_alloc(a, most, sizeof *w->sum);
	w->gain = arena_alloc(a, n, sizeof *w->gain);
	if (!w->p || !w->order || !w->off || !w->box || !w->near || !w->sum || !w->gain)
		return err_nomem(e);
	return colours_init(&w->stored, n, a, e);
}

/* A colour counts with the alpha that it gets when it is stored: what is opaque then must not be darker for having been
 * less. Leaves 0 as the pick of colours that become transparent, which are no points. */
static void take_points(struct work *w, struct colours *c, const struct colour_format *f)
{
	uint8_t rgba[4];

	for (uint32_t i = 0; i < c->n; i++) {
		struct colour *v = &c->v[i];

		f->nearest(f->ctx, v->rgba, rgba);
		v->pick = rgba[3] > 0;
		if (!rgba[3]) {
			w->fixed = 1;          /* a centre at 0, 0, 0, 0 */
			continue;
		}
		memcpy(rgba, v->rgba, 3);
		place(w, rgba, w->p[w->n].c);
		w->p[w->n++].w = (float)v->count;
	}
}

/* Centres that became the same colour are one. Centres without points are none, unless they stand for transparent. */
static unsigned take_palette(const struct work *w, uint8_t palette[QUANTISE_MOST][4], uint8_t number[QUANTISE_MOST])
{
	bool used[QUANTISE_MOST] = { [0] = w->fixed };
	unsigned n = 0, at;
	uint8_t rgba[4];

	for (uint32_t i = 0; i < w->n; i++)
		used[w->best.in[i]] = true;
	for (unsigned i = 0; i < w->k; i++) {
		if (!used[i])
			continue;
		colour_of(w, w->best.centre[i], rgba);
		for (at = 0; at < n && memcmp(palette[at], rgba, 4); at++)
			;
		number[i] = (uint8_t)at;
		if (at == n)
			memcpy(palette[n++], rgba, 4);
	}
	return n;
}

int quantise(struct colours *c, unsigned most, const struct colour_format *f, uint8_t palette[QUANTISE_MOST][4],
	     unsigned *n, struct arena *a, struct err *e)
{
	uint8_t number[QUANTISE_MOST] = { 0 };
	struct work w = { 0 };
	int rc = make_room(&w, c->n, most, a, e);
	unsigned turns;
	uint32_t at = 0;

	if (rc)
		return rc;
	for (unsigned i = 0; i < 256; i++)
		w.seen[i] = powf((float)i / 255.0f, SEEN);
	take_points(&w, c, f);
	w.k = w.fixed;
	turns = w.n ? BUDGET / w.n : 0;
	turns = turns < 8 ? 8 : turns > 60 ? 60 : turns;
	if (w.n && w.fixed < most) {
		first_centres(&w, most);
		settle(&w, turns);
		improve(&w, turns / 2);
		keep_palette(&w, &w.now, &w.best);
	}
	w.f = f;
	if (w.k)
		settle_storable(&w, turns);
	*n = take_palette(&w, palette, number);
	for (uint32_t i = 0; i < c->n; i++)
		c->v[i].pick = c->v[i].pick ? number[w.best.in[at++]] : 0;
	return 0;
}
