/* Whether an edit moved a whole mesh in one way, which is mostly an accident of some program's settings: the
 * log says so. */
#include <math.h>
#include <stdio.h>

#include "match.h"
#include "num.h"

struct axes { uint8_t axis[3]; int8_t sign[3]; };      /* new x = sign[0] * old axis[0] ... */

/* The k-th of the 48 ways to swap and mirror axes; 0 leaves them as they are. */
static struct axes axes_of(unsigned k)
{
	static const uint8_t order[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 },
					     { 2, 1, 0 } };
	struct axes a;

	for (unsigned i = 0; i < 3; i++) {
		a.axis[i] = order[k / 8][i];
		a.sign[i] = k >> i & 1 ? -1 : 1;
	}
	return a;
}

struct extent { double was, now; uint32_t n; };        /* roots of the sums of squares */

static struct extent measure(const struct geo_mesh *was, const struct geo_put *put, const struct geo_matched *v)
{
	struct extent out = { 0 };

	for (uint32_t i = 0; i < was->nvertices; i++) {
		if (v[i].from == GEO_NONE)
			continue;
		out.n++;
		for (unsigned k = 0; k < 3; k++) {
			double a = geo_shown(was->position[i][k]), b = put->position[v[i].from][k].v;

			out.was += a * a;
			out.now += b * b;
		}
	}
	out.was = sqrt(out.was);
	out.now = sqrt(out.now);
	return out;
}

/* Whether every vertex is where axes, then scale, then a shift put it, up to `tolerance`. */
static bool explains(const struct geo_mesh *was, const struct geo_put *put, const struct geo_matched *v,
		     const struct axes *a, double scale, const double shift[3], double tolerance)
{
	for (uint32_t i = 0; i < was->nvertices; i++)
		for (unsigned k = 0; k < 3 && v[i].from != GEO_NONE; k++) {
			double old = geo_shown(was->position[i][a->axis[k]]);
			struct geo_number now = put->position[v[i].from][k];

			if (!(fabs(a->sign[k] * old * scale + shift[k] - now.v) <= tolerance + now.slack))
				return false;
		}
	return true;
}

static void name_axes(const struct axes *a, double scale, char *text, size_t n)
{
	static const char *const sign[2] = { "-", "" };
	bool up = a->axis[0] == 0 && a->axis[1] == 2 && a->axis[2] == 1 && a->sign[0] == 1;
	char by[64] = "";

	if (scale != 1)
		snprintf(by, sizeof by, " and all is scaled by %s", num_text(scale).s);
	if (up && a->sign[1] == -1 && a->sign[2] == 1)
		snprintf(text, n, "axes swapped: y up has become z up%s; check the export settings", by);
	else if (up && a->sign[1] == 1 && a->sign[2] == -1)
		snprintf(text, n, "axes swapped: z up has become y up%s; check the export settings", by);
	else
		snprintf(text, n, "axes swapped: x, y, z are what %s%c, %s%c, %s%c were%s; check the export settings",
			 sign[a->sign[0] > 0], 'x' + a->axis[0], sign[a->sign[1] > 0], 'x' + a->axis[1],
			 sign[a->sign[2] > 0], 'x' + a->axis[2], by);
}

static bool shifted(const struct geo_mesh *was, const struct geo_put *put, const struct geo_matched *v,
		    double tolerance, char *text, size_t n)
{
	struct axes same = axes_of(0);
	double d[3];
	uint32_t i = 0;

	while (v[i].from == GEO_NONE)
		i++;
	for (unsigned k = 0; k < 3; k++)
		d[k] = put->position[v[i].from][k].v - geo_shown(was->position[i][k]);
	if (!explains(was, put, v, &same, 1, d, tolerance))
		return false;
	snprintf(text, n, "all vertices are moved by (%s, %s, %s)", num_text(d[0]).s, num_text(d[1]).s,
		 num_text(d[2]).s);
	return true;
}

bool geo_moved(const struct geo_mesh *was, const struct geo_put *put, const struct geo_matched *v, char *text, size_t n)
{
	struct extent x = measure(was, put, v);
	/* Positions may be rounded to 1/32768 of a scale, and texts may give six decimals. */
	double tolerance = 1e-4 * (x.was > x.now ? x.was : x.now) / sqrt(x.n ? x.n : 1), none[3] = { 0 }, scale;
	struct axes a = axes_of(0);

	if (x.n < 3 || !isfinite(tolerance) || explains(was, put, v, &a, 1, none, tolerance))
		return false;
	if (shifted(was, put, v, tolerance, text, n))
		return true;
	if (!(x.was > 0) || !(x.now > 0))
		return false;
	scale = x.now / x.was;
	if (fabs(scale - 1) < 1e-4)
		scale = 1;
	for (unsigned k = 0; k < 48; k++) {
		a = axes_of(k);
		if (!explains(was, put, v, &a, scale, none, tolerance))
			continue;
		if (k)
			name_axes(&a, scale, text, n);
		else
			snprintf(text, n, "all vertices are scaled by %s", num_text(scale).s);
		return true;
	}
	return false;
}
