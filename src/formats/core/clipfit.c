/* Keys for a curve that somebody has changed. Where it still is what it was they stay as they are; elsewhere as few are
 * set as keep within the step of what is wanted: a stretch whose slopes, by least squares, do not come so close is cut
 * in two. */
#include "geo.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct fitting {
	const struct geo_fit *how;
	const double *now;                     /* of each frame */
	uint32_t n;
	struct geo_key *key;                   /* out: room for one of each frame and each old key */
	uint32_t nkeys;
};

static double rounded(const struct fitting *x, double v)
{
	return round(v / x->how->unit) * x->how->unit;
}

/* Slopes take what is stored in a key of 16 bits; steeper ones only reach over one frame or two. */
static double rounded_slope(const struct fitting *x, double v)
{
	double most = x->how->most * x->how->unit;

	return rounded(x, v > most ? most : v < -most ? -most : v);
}

/* The key of frame f with the value that is wanted there. */
static struct geo_key key_at(const struct fitting *x, uint32_t f)
{
	return (struct geo_key){ .frame = f, .value = rounded(x, x->now[f]) };
}

/* ---- one stretch ---- */

/* From key a to key b, whose values are set: the slopes that come closest at the frames between. */
static void find_slopes(const struct fitting *x, struct geo_key *a, struct geo_key *b)
{
	double span = b->frame - a->frame, uu = 1e-12, uv = 0, vv = 1e-12, ur = 0, vr = 0, det;

	for (uint32_t f = (uint32_t)floor(a->frame) + 1; f < b->frame; f++) {
		double s = (f - a->frame) / span, u = span * s * (1 - s) * (1 - s), v = -span * s * s * (1 - s);
		double r = x->now[f] - a->value * (1 + 2 * s) * (1 - s) * (1 - s) - b->value * s * s * (3 - 2 * s);

		uu += u * u;
		uv += u * v;
		vv += v * v;
		ur += u * r;
		vr += v * r;
	}
	det = uu * vv - uv * uv;
	if (det > 1e-9 * uu * vv) {
		a->out = rounded_slope(x, (ur * vv - vr * uv) / det);
		b->in = rounded_slope(x, (vr * uu - ur * uv) / det);
	} else {                               /* one frame between: both alike */
		a->out = b->in = rounded_slope(x, (ur - vr) / (uu - 2 * uv + vv));
	}
}

/* The frame that is farthest off, kept away from both ends; 0: all are close enough. */
static uint32_t find_cut(const struct fitting *x, struct geo_key *a, struct geo_key *b)
{
	struct geo_key pair[2] = { *a, *b };
	struct geo_curve c = { 2, pair };
	uint32_t first = (uint32_t)floor(a->frame) + 1, end = (uint32_t)ceil(b->frame), cut = 0, quarter;
	double worst = x->how->step * 0.9;

	for (uint32_t f = first; f < end; f++) {
		struct geo_point p;

		geo_curve_at(&c, f, false, false, &p);
		if (fabs(p.value - x->now[f]) > worst) {
			worst = fabs(p.value - x->now[f]);
			cut = f;
		}
	}
	quarter = (end - first) / 4;
	if (cut && cut < first + quarter)
		cut = first + quarter;
	if (cut && cut + quarter >= end)
		cut = end - quarter - 1;
	return cut;
}

/* Adds the keys between a and b, whose slopes towards each other are set. No deeper than frames halve. */
static void fit(struct fitting *x, struct geo_key *a, struct geo_key *b)
{
	struct geo_key mid;
	uint32_t cut, at;

	find_slopes(x, a, b);
	cut = find_cut(x, a, b);
	if (!cut)
		return;
	mid = key_at(x, cut);
	fit(x, a, &mid);
	at = x->nkeys++;                       /* those before it are there now */
	fit(x, &mid, b);
	x->key[at] = mid;
}

/* ---- all of it ---- */

/* Whether both are the same at all frames from one to another. */
static bool agrees(const struct fitting *x, const double *was, double from, double to)
{
	double last = (double)x->n - 1;

	for (double f = from > 0 ? ceil(from) : 0; f <= (to < last ? to : last); f++)
		if (fabs(x->now[(uint32_t)f] - was[(uint32_t)f]) > x->how->step)
			return false;
	return true;
}

static bool agrees_between(const struct fitting *x, const double *was, const struct geo_key *a, const struct geo_key *b)
{
	return x->how->at_keys ? agrees(x, was, a->frame, a->frame) && agrees(x, was, b->frame, b->frame) :
				 agrees(x, was, a->frame, b->frame);
}

/* A curve that had no keys: one when it does not move. */
static void fit_new(struct fitting *x)
{
	struct geo_key first = key_at(x, 0), last = key_at(x, x->n - 1);
	bool still = true;

	for (uint32_t f = 1; f < x->n; f++)
		still &= fabs(x->now[f] - first.value) <= x->how->step * 0.9;
	x->nkeys = 1;
	if (!still) {
		fit(x, &first, &last);
		x->key[x->nkeys++] = last;
	}
	x->key[0] = first;
}

/* An old key, or one where the value held so far; open: what lies between it and the next one changes. */
struct anchor { struct geo_key key; bool open; };

static uint32_t find_anchors(const struct fitting *x, const struct geo_curve *c, const double *was, struct anchor *v)
{
	double last = x->n - 1;
	uint32_t n = 0;

	if (c->key[0].frame > 0 && !agrees(x, was, 0, c->key[0].frame))
		v[n++] = (struct anchor){ key_at(x, 0), true };
	for (uint32_t i = 0; i < c->n; i++) {
		struct geo_key key = c->key[i];
		bool end = i + 1 == c->n;

		if (!agrees(x, was, key.frame, key.frame))
			key.value = rounded(x, x->now[(uint32_t)key.frame]);
		v[n++] = (struct anchor){ key, end ? !agrees(x, was, key.frame, last) :
					       !agrees_between(x, was, &c->key[i], &c->key[i + 1]) };
	}
	if (v[n - 1].open && v[n - 1].key.frame < last)
		v[n++] = (struct anchor){ key_at(x, x->n - 1), false };
	return n;
}

static void fit_old(struct fitting *x, const struct geo_curve *c, const double *was, struct anchor *v)
{
	uint32_t n = find_anchors(x, c, was, v);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = x->nkeys++;

		if (v[i].open && i + 1 < n && v[i + 1].key.frame > v[i].key.frame)
			fit(x, &v[i].key, &v[i + 1].key);
		x->key[at] = v[i].key;
	}
}

int geo_curve_fit(const struct geo_curve *c, const double *was, const double *now, uint32_t n,
		  const struct geo_fit *how, struct geo_curve *out, bool *changed, struct arena *a, struct err *e)
{
	struct fitting x = { .how = how, .now = now, .n = n };
	struct anchor *anchors;

	*out = *c;
	*changed = !agrees(&x, was, 0, (double)n - 1);
	if (!*changed)
		return 0;
	for (uint32_t f = 0; f < n; f++)
		if (!(fabs(now[f]) <= how->most * how->unit))
			return err_set(e, EINVAL, "%.6g at frame %u, at most %.6g can be stored", now[f], f,
				       how->most * how->unit);
	if (c->n && c->key[0].frame < 0)
		return err_set(e, EINVAL, "a stored key is at frame %.0f, which comes before all that can be shown",
			       c->key[0].frame);
	x.key = arena_alloc(a, (size_t)n + c->n + 2, sizeof *x.key);
	anchors = arena_alloc(a, (size_t)c->n + 2, sizeof *anchors);
	if (!x.key || !anchors)
		return err_nomem(e);
	if (c->n)
		fit_old(&x, c, was, anchors);
	else
		fit_new(&x);
	*out = (struct geo_curve){ x.nkeys, x.key };
	return 0;
}

bool geo_wish_is(const struct geo_wish *w, const char *name, bool exact)
{
	size_t n = strlen(name);
	const char *rest = w->name + n;

	if (exact || strncmp(w->name, name, n) || !*rest)
		return !strcmp(w->name, name);
	return *rest == '.' && strlen(rest) == 4 && strspn(rest + 1, "0123456789") == 3;
}

/* ---- angles ---- */

/* The one of angle + 2 pi k that is nearest to a. */
static double unwound(double angle, double to)
{
	return angle + 2 * GEO_PI * round((to - angle) / (2 * GEO_PI));
}

void geo_angles_near(const double turn[4], const double to[3], double angle[3])
{
	double a[3], b[3], far[2] = { 0 };

	geo_angles_of(turn, a);
	b[0] = a[0] + GEO_PI;
	b[1] = GEO_PI - a[1];
	b[2] = a[2] + GEO_PI;
	for (unsigned k = 0; k < 3; k++) {
		a[k] = unwound(a[k], to[k]);
		b[k] = unwound(b[k], to[k]);
		far[0] += fabs(a[k] - to[k]);
		far[1] += fabs(b[k] - to[k]);
	}
	memcpy(angle, far[0] <= far[1] ? a : b, sizeof a);
}

double geo_turns_apart(const double a[4], const double b[4])
{
	double same = 0, apart = 0;

	for (unsigned k = 0; k < 4; k++) {
		same += (a[k] - b[k]) * (a[k] - b[k]);
		apart += (a[k] + b[k]) * (a[k] + b[k]);
	}
	same = sqrt(same < apart ? same : apart) / 2;
	return 4 * asin(same < 1 ? same : 1);
}
