#include "quantbox.h"

#include <math.h>
#include <string.h>

#define BINS 256u                              /* places where a box can be cut */

/* Sum of the points and their weight, and their covariance, not divided by the weight. */
static void moments(const struct point *p, const uint32_t *order, const struct box *b, double sum[5], double cov[4][4])
{
	memset(sum, 0, 5 * sizeof *sum);
	memset(cov, 0, 4 * sizeof *cov);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct point *q = &p[order[b->at + i]];

		sum[4] += (double)q->w;
		for (unsigned r = 0; r < 4; r++) {
			sum[r] += (double)q->c[r] * q->w;
			for (unsigned c = 0; c <= r; c++)
				cov[r][c] += (double)q->c[r] * q->c[c] * q->w;
		}
	}
	for (unsigned r = 0; r < 4; r++)
		for (unsigned c = 0; c <= r; c++)
			cov[c][r] = cov[r][c] -= sum[r] * sum[c] / sum[4];
}

/* The direction of the greatest spread, by repeated multiplication; starts with the channel that spreads most. */
static void longest_axis(double cov[4][4], float axis[4])
{
	double v[4], next[4], most;
	unsigned start = 0;

	for (unsigned i = 1; i < 4; i++)
		if (cov[i][i] > cov[start][start])
			start = i;
	memcpy(v, cov[start], sizeof v);
	for (unsigned turn = 0; turn < 8; turn++) {
		most = 0;
		for (unsigned r = 0; r < 4; r++) {
			next[r] = 0;
			for (unsigned c = 0; c < 4; c++)
				next[r] += cov[r][c] * v[c];
			most = fabs(next[r]) > most ? fabs(next[r]) : most;
		}
		if (!(most > 0))
			break;
		for (unsigned r = 0; r < 4; r++)
			v[r] = next[r] / most;
	}
	for (unsigned i = 0; i < 4; i++)
		axis[i] = (float)v[i];
}

static float along(const struct box *b, const float c[4])
{
	return b->axis[0] * c[0] + b->axis[1] * c[1] + b->axis[2] * c[2] + b->axis[3] * c[3];
}

static unsigned bin_of(const struct box *b, const float c[4])
{
	float at = (along(b, c) - b->lo) * b->scale;

	return !(at > 0) ? 0 : at >= BINS - 1 ? BINS - 1 : (unsigned)at;
}

/* How good a cut is: the spread between both halves' means. */
static double between(const double left[5], const double all[5])
{
	double sum = 0;

	for (unsigned i = 0; i < 4; i++) {
		double l = left[i], r = all[i] - l, m = all[i];

		sum += l * l / left[4] + r * r / (all[4] - left[4]) - m * m / all[4];
	}
	return sum;
}

static void find_cut(const struct point *p, const uint32_t *order, struct box *b, const double all[5])
{
	double bin[BINS][5], left[5] = { 0 }, gain;

	memset(bin, 0, sizeof bin);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct point *q = &p[order[b->at + i]];
		double *sum = bin[bin_of(b, q->c)];

		for (unsigned k = 0; k < 4; k++)
			sum[k] += (double)q->c[k] * q->w;
		sum[4] += (double)q->w;
	}
	for (unsigned i = 0; i < BINS - 1; i++) {
		bool empty = !(bin[i][4] > 0);

		for (unsigned k = 0; k < 5; k++)
			left[k] += bin[i][k];
		if (empty || !(all[4] - left[4] > 0))
			continue;
		gain = between(left, all);
		if (gain > b->gain) {
			b->gain = gain;
			b->cut = i;
		}
	}
}

void box_measure(const struct point *p, const uint32_t *order, struct box *b)
{
	double sum[5], cov[4][4];
	float hi = -INFINITY;

	b->gain = 0;
	if (b->n < 2)
		return;
	moments(p, order, b, sum, cov);
	longest_axis(cov, b->axis);
	b->lo = INFINITY;
	for (uint32_t i = 0; i < b->n; i++) {
		float t = along(b, p[order[b->at + i]].c);

		b->lo = t < b->lo ? t : b->lo;
		hi = t > hi ? t : hi;
	}
	if (!(hi > b->lo))
		return;
	b->scale = (float)BINS / (hi - b->lo);
	find_cut(p, order, b, sum);
}

void box_cut(const struct point *p, uint32_t *order, struct box *b, struct box *rest)
{
	uint32_t *v = order + b->at, i = 0, end = b->n;

	while (i < end) {
		if (bin_of(b, p[v[i]].c) <= b->cut) {
			i++;
		} else {
			uint32_t t = v[--end];

			v[end] = v[i];
			v[i] = t;
		}
	}
	*rest = (struct box){ .at = b->at + i, .n = b->n - i };
	b->n = i;
	box_measure(p, order, b);
	box_measure(p, order, rest);
}

void box_mean(const struct point *p, const uint32_t *order, const struct box *b, float mean[4])
{
	double sum[4] = { 0 }, weight = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct point *q = &p[order[b->at + i]];

		for (unsigned k = 0; k < 4; k++)
			sum[k] += (double)q->c[k] * q->w;
		weight += (double)q->w;
	}
	for (unsigned k = 0; k < 4; k++)
		mean[k] = (float)(sum[k] / weight);
}
