/* The search begins with the ends of the line along which the pixels spread most, then moves ends to where the picks
 * say they should be (least squares), then one bit of one channel at a time, as long as the error shrinks. It does so
 * for both orders of the ends, since formats give them different steps. */
#include "bcfit.h"

#include <math.h>
#include <string.h>

struct fit {
	const uint8_t (*rgba)[4];
	const float *weight;
	const bool *clear;
	bc_steps *steps;
	struct bc_colours best;
	float error;
};

static const uint8_t channel_at[3] = { 11, 5, 0 }, channel_most[3] = { 31, 63, 31 };

static unsigned channel_of(uint16_t end, unsigned i)
{
	return end >> channel_at[i] & channel_most[i];
}

static uint16_t with_channel(uint16_t end, unsigned i, unsigned v)
{
	return (uint16_t)((end & ~(channel_most[i] << channel_at[i])) | v << channel_at[i]);
}

/* ---- judging ends ---- */

static bool may_take(const struct fit *f, unsigned pixel, const uint8_t step[4])
{
	return !f->clear || f->clear[pixel] == !step[3];
}

static float pick_step(const struct fit *f, unsigned pixel, uint8_t step[4][4], uint8_t *pick)
{
	const uint8_t *c = f->rgba[pixel];
	float best = INFINITY;

	for (unsigned s = 0; s < 4; s++) {
		int r = c[0] - step[s][0], g = c[1] - step[s][1], b = c[2] - step[s][2];
		float off = f->clear && f->clear[pixel] ? 0 : (float)(r * r + g * g + b * b) * f->weight[pixel];

		if (off < best && may_take(f, pixel, step[s])) {
			best = off;
			*pick = (uint8_t)s;
		}
	}
	return best;
}

/* Infinite when some pixel finds no step that it may take. */
static void judge(struct fit *f, uint16_t a, uint16_t b)
{
	struct bc_colours c = { .end = { a, b } };
	uint8_t step[4][4];
	float error = 0;

	f->steps(c.end, step);
	for (unsigned i = 0; i < 16 && error < f->error; i++)
		if (f->weight[i] > 0)
			error += pick_step(f, i, step, &c.pick[i]);
	if (error < f->error) {
		f->error = error;
		f->best = c;
	}
}

static void judge_both(struct fit *f, uint16_t a, uint16_t b)
{
	judge(f, a, b);
	judge(f, b, a);
}

/* ---- where to begin ---- */

static bool counts(const struct fit *f, unsigned i)
{
	return f->weight[i] > 0 && !(f->clear && f->clear[i]);
}

/* The value of one channel of an end that is shown nearest to v. */
static unsigned nearest_value(const struct fit *f, unsigned i, float v)
{
	unsigned most = channel_most[i], guess = v <= 0 ? 0 : v >= 255 ? most : (unsigned)(v * (float)most / 255.0f);
	unsigned best = guess;
	float least = INFINITY;

	for (unsigned k = guess ? guess - 1 : 0; k <= guess + 2 && k <= most; k++) {
		uint16_t end[2] = { with_channel(0, i, k), 0 };
		uint8_t step[4][4];

		f->steps(end, step);
		if (fabsf((float)step[0][i] - v) < least) {
			least = fabsf((float)step[0][i] - v);
			best = k;
		}
	}
	return best;
}

static uint16_t end_near(const struct fit *f, const float c[3])
{
	uint16_t end = 0;

	for (unsigned i = 0; i < 3; i++)
		end = with_channel(end, i, nearest_value(f, i, c[i]));
	return end;
}

static bool mean_colour(const struct fit *f, float mean[3])
{
	float weight = 0;

	memset(mean, 0, 3 * sizeof *mean);
	for (unsigned i = 0; i < 16; i++) {
		if (!counts(f, i))
			continue;
		weight += f->weight[i];
		for (unsigned k = 0; k < 3; k++)
			mean[k] += f->weight[i] * f->rgba[i][k];
	}
	for (unsigned k = 0; k < 3 && weight > 0; k++)
		mean[k] /= weight;
	return weight > 0;
}

/* Direction of the greatest spread around the mean; zero when there is none. */
static void main_axis(const struct fit *f, const float mean[3], float axis[3])
{
	float cov[3][3] = { { 0 } }, d[3], next[3], most;
	unsigned start = 0;

	for (unsigned i = 0; i < 16; i++) {
		for (unsigned k = 0; k < 3; k++)
			d[k] = (float)f->rgba[i][k] - mean[k];
		for (unsigned k = 0; k < 9 && counts(f, i); k++)
			cov[k / 3][k % 3] += f->weight[i] * d[k / 3] * d[k % 3];
	}
	for (unsigned k = 1; k < 3; k++)
		start = cov[k][k] > cov[start][start] ? k : start;
	memcpy(axis, cov[start], 3 * sizeof *axis);
	for (unsigned turn = 0; turn < 8; turn++) {
		for (unsigned k = 0; k < 3; k++)
			next[k] = cov[k][0] * axis[0] + cov[k][1] * axis[1] + cov[k][2] * axis[2];
		most = fmaxf(fabsf(next[0]), fmaxf(fabsf(next[1]), fabsf(next[2])));
		if (!(most > 0))
			return;
		for (unsigned k = 0; k < 3; k++)
			axis[k] = next[k] / most;
	}
}

static void begin_on_axis(struct fit *f, const float mean[3])
{
	float axis[3], length, lo = 0, hi = 0, ends[2][3];

	main_axis(f, mean, axis);
	length = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2];
	for (unsigned i = 0; i < 16 && length > 0; i++) {
		float t = 0;

		for (unsigned k = 0; k < 3 && counts(f, i); k++)
			t += axis[k] * ((float)f->rgba[i][k] - mean[k]) / length;
		lo = t < lo ? t : lo;
		hi = t > hi ? t : hi;
	}
	for (unsigned k = 0; k < 3; k++) {
		ends[0][k] = mean[k] + lo * axis[k];
		ends[1][k] = mean[k] + hi * axis[k];
	}
	judge_both(f, end_near(f, ends[0]), end_near(f, ends[1]));
}

/* ---- making ends better ---- */

/* How much of the first end is in a step of the best fit: steps are means of both ends. Negative: it is no mean. */
static float share_of_first(const struct fit *f, unsigned s)
{
	const uint16_t probe[2] = { 0xffff, 0 }, back[2] = { 0, 0xffff };
	bool forth = f->best.end[0] > f->best.end[1];
	uint8_t step[4][4];

	f->steps(forth ? probe : back, step);
	if (!step[s][3])
		return -1;
	return forth ? (float)step[s][1] / step[0][1] : 1 - (float)step[s][1] / step[1][1];
}

/* Ends that are best for the picks as they are, if they could be any number. */
static void least_squares(struct fit *f)
{
	float aa = 0, ab = 0, bb = 0, ax[3] = { 0 }, bx[3] = { 0 }, share[4], ends[2][3], det;

	for (unsigned s = 0; s < 4; s++)
		share[s] = share_of_first(f, s);
	for (unsigned i = 0; i < 16; i++) {
		float a = share[f->best.pick[i]], w = counts(f, i) && a >= 0 ? f->weight[i] : 0;

		aa += w * a * a;
		ab += w * a * (1 - a);
		bb += w * (1 - a) * (1 - a);
		for (unsigned k = 0; k < 3; k++) {
			ax[k] += w * a * f->rgba[i][k];
			bx[k] += w * (1 - a) * f->rgba[i][k];
		}
	}
	det = aa * bb - ab * ab;
	if (!(det > 1e-4f * aa * bb))
		return;
	for (unsigned k = 0; k < 3; k++) {
		ends[0][k] = (ax[k] * bb - bx[k] * ab) / det;
		ends[1][k] = (bx[k] * aa - ax[k] * ab) / det;
	}
	judge_both(f, end_near(f, ends[0]), end_near(f, ends[1]));
}

static void move_channel(struct fit *f, unsigned end, unsigned channel, int by)
{
	uint16_t ends[2] = { f->best.end[0], f->best.end[1] };
	int v = (int)channel_of(ends[end], channel) + by;

	if (v < 0 || v > channel_most[channel])
		return;
	ends[end] = with_channel(ends[end], channel, (unsigned)v);
	judge_both(f, ends[0], ends[1]);
}

static void refine(struct fit *f)
{
	float before;

	for (unsigned turn = 0; turn < 4; turn++) {
		before = f->error;
		least_squares(f);
		if (!(f->error < before))
			break;
	}
	for (unsigned turn = 0; turn < 8 && f->error > 0; turn++) {
		before = f->error;
		for (unsigned k = 0; k < 12; k++)
			move_channel(f, k & 1, k / 4, k & 2 ? 1 : -1);
		if (!(f->error < before))
			break;
	}
}

/* The pair of pixels' own colours farthest apart: exact when there are only two colours and both can be ends. */
static void begin_on_pixels(struct fit *f)
{
	unsigned from = 0, to = 0;
	int most = -1;

	for (unsigned i = 0; i < 16; i++) {
		for (unsigned j = i; j < 16; j++) {
			int d = 0;

			for (unsigned k = 0; k < 3; k++)
				d += (f->rgba[i][k] - f->rgba[j][k]) * (f->rgba[i][k] - f->rgba[j][k]);
			if (d > most && counts(f, i) && counts(f, j)) {
				most = d;
				from = i;
				to = j;
			}
		}
	}
	if (most >= 0) {
		float a[3] = { f->rgba[from][0], f->rgba[from][1], f->rgba[from][2] };
		float b[3] = { f->rgba[to][0], f->rgba[to][1], f->rgba[to][2] };

		judge_both(f, end_near(f, a), end_near(f, b));
	}
}

void bc_fit(const uint8_t rgba[16][4], const float weight[16], const bool *clear, bc_steps *steps,
	    struct bc_colours *out)
{
	struct fit f = { rgba, weight, clear, steps, .error = INFINITY };
	float mean[3];

	judge(&f, 0, 0);
	if (mean_colour(&f, mean)) {
		judge_both(&f, end_near(&f, mean), end_near(&f, mean));
		begin_on_pixels(&f);
		begin_on_axis(&f, mean);
		refine(&f);
	}
	*out = f.best;
}

/* ---- alpha ---- */

struct alpha_fit {
	const uint8_t *alpha;
	const bool *used;
	bc_alpha_steps *steps;
	struct bc_alpha best;
	unsigned error;
};

static void judge_alpha(struct alpha_fit *f, int a, int b)
{
	struct bc_alpha c = { .end = { (uint8_t)a, (uint8_t)b } };
	unsigned error = 0;
	uint8_t step[8];

	if (a < 0 || b < 0 || a > 255 || b > 255)
		return;
	f->steps(c.end, step);
	for (unsigned i = 0; i < 16 && error < f->error; i++) {
		unsigned best = UINT32_MAX;

		for (unsigned s = 0; s < 8 && f->used[i]; s++) {
			int d = f->alpha[i] - step[s];

			if ((unsigned)(d * d) < best) {
				best = (unsigned)(d * d);
				c.pick[i] = (uint8_t)s;
			}
		}
		error += f->used[i] ? best : 0;
	}
	if (error < f->error) {
		f->error = error;
		f->best = c;
	}
}

static void begin_alpha(struct alpha_fit *f, unsigned lowest, unsigned highest)
{
	int lo = 256, hi = -1;

	for (unsigned i = 0; i < 16; i++) {
		if (!f->used[i] || f->alpha[i] < lowest || f->alpha[i] > highest)
			continue;
		lo = f->alpha[i] < lo ? f->alpha[i] : lo;
		hi = f->alpha[i] > hi ? f->alpha[i] : hi;
	}
	if (hi < 0)
		return;
	judge_alpha(f, hi, lo);
	judge_alpha(f, lo, hi);
}

void bc_fit_alpha(const uint8_t alpha[16], const bool used[16], bc_alpha_steps *steps, struct bc_alpha *out)
{
	struct alpha_fit f = { alpha, used, steps, .error = UINT32_MAX };
	unsigned before;

	judge_alpha(&f, 0, 0);
	begin_alpha(&f, 0, 255);
	begin_alpha(&f, 1, 254);               /* 0 and 255 may be steps of their own */
	do {
		int a = f.best.end[0], b = f.best.end[1];

		before = f.error;
		for (int by = -4; by <= 4 && f.error; by++) {
			judge_alpha(&f, a + by, b);
			judge_alpha(&f, a, b + by);
			judge_alpha(&f, a + by, b - by);
		}
	} while (f.error < before);
	*out = f.best;
}
