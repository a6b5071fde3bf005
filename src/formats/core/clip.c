/* Animations: curves and what they make of a bone. Everything is computed in double. */
#include "geo.h"

#include <stdlib.h>
#include <string.h>

/* ---- curves ---- */

/* How many keys are at the frame or before it; before: only before it. */
static uint32_t keys_until(const struct geo_curve *c, double frame, bool before)
{
	uint32_t first = 0, end = c->n;

	while (first < end) {
		uint32_t mid = first + (end - first) / 2;

		if (before ? c->key[mid].frame < frame : c->key[mid].frame <= frame)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

/* The value at a frame, and the slope on one side of it. */
static double side_of(const struct geo_curve *c, double frame, bool linear, bool before, double *slope)
{
	uint32_t i = keys_until(c, frame, before);
	const struct geo_key *a = i ? &c->key[i - 1] : c->key, *b = &c->key[i];
	double span, s, r;

	*slope = 0;
	if (!i || i == c->n)
		return a->value;
	span = b->frame - a->frame;
	s = (frame - a->frame) / span;
	r = 1 - s;
	if (linear) {
		*slope = (b->value - a->value) / span;
		return a->value + s * (b->value - a->value);
	}
	*slope = 6 * s * r * (b->value - a->value) / span + a->out * r * (1 - 3 * s) + b->in * s * (3 * s - 2);
	return a->value * (1 + 2 * s) * r * r + b->value * s * s * (3 - 2 * s) + a->out * span * s * r * r -
	       b->in * span * s * s * r;
}

void geo_curve_at(const struct geo_curve *c, double frame, bool linear, bool before, struct geo_point *out)
{
	double was = side_of(c, frame, linear, true, &out->in), is = side_of(c, frame, linear, false, &out->out);

	out->value = before ? was : is;
}

static int by_frame(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

uint32_t geo_key_frames(const struct geo_curve curve[3], double *out)
{
	uint32_t n = 0, kept = 0;

	for (unsigned k = 0; k < 3; k++)
		for (uint32_t i = 0; i < curve[k].n; i++)
			out[n++] = curve[k].key[i].frame > 0 ? curve[k].key[i].frame : 0;
	if (n)
		qsort(out, n, sizeof *out, by_frame);
	for (uint32_t i = 0; i < n; i++)
		if (!i || out[i] > out[kept - 1])
			out[kept++] = out[i];
	return kept;
}

/* ---- turns ---- */

void geo_turn_of(const double angle[3], double turn[4])
{
	double s[3], c[3];

	for (unsigned k = 0; k < 3; k++) {
		s[k] = sin(angle[k] / 2);
		c[k] = cos(angle[k] / 2);
	}
	turn[0] = s[0] * c[1] * c[2] - c[0] * s[1] * s[2];
	turn[1] = c[0] * s[1] * c[2] + s[0] * c[1] * s[2];
	turn[2] = c[0] * c[1] * s[2] - s[0] * s[1] * c[2];
	turn[3] = c[0] * c[1] * c[2] + s[0] * s[1] * s[2];
}

#define UPRIGHT 1e-6                           /* y so near to a right angle is one: turns are mostly made of floats */

/* Half the sum of x and z, and half their difference, stand in the turn by themselves, each times what y leaves of it.
 * At a right angle only one of them is left: x and z turn around one axis, and z does it all. */
void geo_angles_of(const double turn[4], double angle[3])
{
	double x = turn[0], y = turn[1], z = turn[2], w = turn[3];
	double sum = atan2(x + z, w - y), apart = atan2(x - z, w + y);
	double of_sum = hypot(x + z, w - y), of_apart = hypot(x - z, w + y);

	if (of_sum < UPRIGHT)
		sum = -apart;
	else if (of_apart < UPRIGHT)
		apart = -sum;
	angle[0] = remainder(sum + apart, 2 * GEO_PI);
	angle[1] = 2 * atan2(of_apart - of_sum, of_apart + of_sum);
	angle[2] = remainder(sum - apart, 2 * GEO_PI);
}

void geo_turn_between(const double a[4], const double b[4], double s, double out[4])
{
	double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = dot < 0 ? -1 : 1, length = 0, angle;
	double from = 1 - s, to = s;

	dot *= sign;
	if (dot < 0.9999) {
		angle = acos(dot);
		from = sin((1 - s) * angle) / sin(angle);
		to = sin(s * angle) / sin(angle);
	}
	for (unsigned k = 0; k < 4; k++) {
		out[k] = from * a[k] + to * sign * b[k];
		length += out[k] * out[k];
	}
	length = sqrt(length);
	for (unsigned k = 0; k < 4; k++)
		out[k] /= length;
}

/* ---- poses ---- */

static void angles_at(const struct geo_clip *clip, const struct geo_track *t, const double rest[3], double frame,
		      double out[4])
{
	struct geo_point p;
	double angle[3];

	for (unsigned k = 0; k < 3; k++) {
		angle[k] = rest[k];
		if (!t->curve[GEO_TURN + k].n)
			continue;
		geo_curve_at(&t->curve[GEO_TURN + k], frame, clip->linear, false, &p);
		angle[k] = p.value;
	}
	geo_turn_of(angle, out);
}

/* The nearest key frames around one; both are the same at a key and outside of all. */
static void frames_around(const struct geo_track *t, double frame, double *from, double *to)
{
	bool before = false, behind = false;

	for (unsigned k = GEO_TURN; k < GEO_TURN + 3; k++) {
		const struct geo_curve *c = &t->curve[k];
		uint32_t i = keys_until(c, frame, false);

		if (i && (!before || c->key[i - 1].frame > *from))
			*from = c->key[i - 1].frame;
		if (i < c->n && (!behind || c->key[i].frame < *to))
			*to = c->key[i].frame;
		before |= i > 0;
		behind |= i < c->n;
	}
	*from = before ? *from : frame;
	*to = behind ? *to : frame;
	if (!before || !behind || *from == frame)
		*from = *to = frame;
}

static void turn_at(const struct geo_clip *clip, const struct geo_track *t, const struct geo_joint *j, double frame,
		    double out[4])
{
	double rest[4] = { j->turn[0], j->turn[1], j->turn[2], j->turn[3] }, angle[3], a[4], b[4];
	double from = frame, to = frame;

	if (!t->curve[GEO_TURN].n && !t->curve[GEO_TURN + 1].n && !t->curve[GEO_TURN + 2].n) {
		memcpy(out, rest, sizeof rest);
		return;
	}
	geo_angles_of(rest, angle);
	if (clip->linear)
		frames_around(t, frame, &from, &to);
	angles_at(clip, t, angle, from, a);
	if (to > from) {
		angles_at(clip, t, angle, to, b);
		geo_turn_between(a, b, (frame - from) / (to - from), out);
	} else {
		memcpy(out, a, sizeof a);
	}
}

void geo_track_at(const struct geo_clip *clip, const struct geo_track *t, const struct geo_joint *j, double frame,
		  struct geo_pose *out)
{
	struct geo_point p;

	for (unsigned k = 0; k < 3; k++) {
		out->move[k] = j->move[k];
		out->scale[k] = j->scale[k];
		if (t->curve[GEO_MOVE + k].n) {
			geo_curve_at(&t->curve[GEO_MOVE + k], frame, clip->linear, false, &p);
			out->move[k] = p.value;
		}
		if (t->curve[GEO_SCALE + k].n) {
			geo_curve_at(&t->curve[GEO_SCALE + k], frame, clip->linear, false, &p);
			out->scale[k] = p.value;
		}
	}
	turn_at(clip, t, j, frame, out->turn);
}
