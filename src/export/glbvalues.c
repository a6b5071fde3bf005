/* Values of the vertices of a GLB against those that were shown: which can be the same, and those that are new. */
#include <math.h>
#include <string.h>

#include "glbput.h"
#include "match.h"

/* ---- numbers as they are stored ---- */

static void give(struct geo_number *to, const float *v, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		to[k] = (struct geo_number){ (double)v[k], 0 };
}

struct geo_number *put_give_stream(const struct making *x, const struct geo_stream *s, unsigned comps)
{
	uint32_t n = s ? s->count : 0;
	struct geo_number *out = arena_alloc(x->a, (size_t)n + x->pair.now.nvertices + 1, comps * sizeof *out);

	for (size_t i = 0; out && i < (size_t)n * comps; i++)
		out[i].v = comps == 2 && i % 2 && s->v && !isfinite(s->v[i]) ? 1 : geo_stream_number(x->was->plain, s, i);
	return out;
}

/* ---- values that stay ---- */

float put_face_normal(const struct soup *s, uint32_t face, float out[3])
{
	float a[3], b[3];

	for (unsigned k = 0; k < 3; k++) {
		a[k] = s->position[s->face[face][1]][k] - s->position[s->face[face][0]][k];
		b[k] = s->position[s->face[face][2]][k] - s->position[s->face[face][0]][k];
	}
	for (unsigned k = 0; k < 3; k++)
		out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
	return out[0] * out[0] + out[1] * out[1] + out[2] * out[2];
}

/* Whether a corner of that face of the file can say what normal the vertex has. Blender knows none of triangles without
 * area, and writes one straight up for a vertex whose triangles cancel each other. */
static bool tells_normal(const struct making *x, uint32_t face, const float *n)
{
	bool up = n[0] == 0 && n[1] == 1 && n[2] == 0;
	struct geo_number given[3];
	float v[3];

	if (face == GEO_NONE)
		return true;
	if (!(put_face_normal(&x->pair.now, face, v) > 0))
		return false;
	give(given, v, 3);
	return !up || geo_normal_near(given, n);
}

static bool is_nothing(const float n[3])
{
	return n[0] == 0 && n[1] == 0 && n[2] == 0;
}

bool put_normal_stays(const struct making *x, uint32_t now, uint32_t was, uint32_t face)
{
	const float *a = x->pair.now.normal[now], *b = x->pair.was.normal[was];
	struct geo_number given[3];
	uint32_t i;

	if (!soup_vertex(&x->pair.now, now, &i)->normal || !memcmp(a, b, 3 * sizeof *a))
		return true;
	/* Of no direction, as programs write it that had to make it and could not. */
	if (is_nothing(a))
		return true;
	give(given, a, 3);
	return x->pair.foreign && (geo_normal_near(given, b) || !tells_normal(x, face, a));
}

/* The 8 bits that a program keeps of a colour, lighter ones finer. */
static long display_byte(double v)
{
	v = v < 0 ? 0 : v > 1 ? 1 : v;
	return lround(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055));
}

static bool colour_stays(const struct making *x, const float *a, const float *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (a[k] != b[k] &&
		    !(x->pair.foreign && (k == 3 ? lround(255.0 * (double)a[k]) == lround(255.0 * (double)b[k]) :
						   display_byte((double)a[k]) == display_byte((double)b[k]))))
			return false;
	return true;
}

static bool alpha_stays(const struct making *x, float a, float b)
{
	return a == b || (x->pair.foreign && lround(255.0 * (double)a) == lround(255.0 * (double)b));
}

static bool more_uv_stays(const struct making *x, const float *a, const float *b)
{
	for (unsigned k = 0; k < 2; k++)
		if (a[k] != b[k] && !(x->pair.foreign &&
				      fabs((double)a[k] - (double)b[k]) <= 0x1p-23 * (1 + fabs((double)b[k]))))
			return false;
	return true;
}

/* ---- one vertex ---- */

static bool make_alpha(struct making *x)
{
	if (x->put->alpha)
		return true;
	x->put->alpha = arena_alloc(x->a, (size_t)x->put->nvertices + 1, sizeof *x->put->alpha);
	for (uint32_t i = 0; x->put->alpha && i < x->put->nvertices; i++)
		x->put->alpha[i].v = (double)NAN;
	return x->put->alpha;
}

static bool make_colours(struct making *x)
{
	if (x->put->colour)
		return true;
	x->put->colour = arena_alloc(x->a, (size_t)x->put->nvertices + 1, sizeof *x->put->colour);
	for (uint32_t i = 0; x->put->colour && i < x->put->nvertices; i++)
		x->put->colour[i][0].v = (double)NAN;
	return x->put->colour;
}

/* The colour that a vertex of `was` has; NULL. */
static const float *shown_colour(const struct making *x, uint32_t was)
{
	uint32_t i;
	const struct scene_primitive *p = soup_vertex(&x->pair.was, was, &i);

	return p->colour ? p->colour[i] : NULL;
}

static bool has_colours(const struct soup *s)
{
	for (uint32_t k = 0; k < s->mesh->nprimitives; k++)
		if (s->mesh->primitive[k].colour)
			return true;
	return false;
}

/* Blender 3.4 gives vertex number N of a mesh the colour that the mesh's corner number N has. Such colours cannot be
 * taken, and where that explains them nobody has edited any. In its files they have to be right for most vertices to be
 * believed: of a mesh that is all new, or painted all over, nothing else tells it. */
bool put_find_mixed_up(struct making *x)
{
	const struct pairing *p = &x->pair;
	uint32_t *rank = arena_alloc(x->a, (size_t)p->was.nvertices + 1, sizeof *rank), n = 0, right = 0, mixed = 0;
	bool likely = strstr(x->scene->generator, "Blender I/O v3.4.");

	for (uint32_t f = 0; rank && f < p->was.nfaces; f++)
		for (unsigned c = 0; c < 3; c++)
			rank[p->was.face[f][c]] = 1;
	/* It imports the vertices that faces use. */
	for (uint32_t v = 0; rank && v < p->was.nvertices; v++)
		rank[v] = rank[v] ? n++ : GEO_NONE;
	for (uint32_t i = 0; rank && p->foreign && i < p->now.nvertices; i++) {
		uint32_t local, v = p->vertex_of[i], at = v == GEO_NONE ? GEO_NONE : rank[v];
		const struct scene_primitive *q = soup_vertex(&p->now, i, &local);
		const float *own = at == GEO_NONE ? NULL : shown_colour(x, v), *other;

		if (!own || !q->colour)
			continue;
		other = shown_colour(x, p->was.face[at / 3][at % 3]);
		right += colour_stays(x, q->colour[local], own, 3);
		mixed += other && colour_stays(x, q->colour[local], other, 3);
	}
	x->mixed_up = has_colours(&p->was) && has_colours(&p->now) &&
		      (mixed > right || (likely && (mixed == right || right < p->now.nvertices / 2)));
	return rank;
}

static bool make_more(struct making *x, unsigned set)
{
	struct geo_number (**more)[2] = &x->put->more_uv[set - 1];

	if (*more)
		return true;
	*more = arena_alloc(x->a, (size_t)x->put->nvertices + 1, sizeof **more);
	for (uint32_t i = 0; *more && i < x->put->nvertices; i++)
		(*more)[i][0].v = (double)NAN;
	return *more;
}

/* Whether what a vertex has once is the same in two that are one; colours as programs keep them. */
static bool agree(const struct making *x, uint32_t a, uint32_t b)
{
	uint32_t i, j;
	const struct scene_primitive *p = soup_vertex(&x->pair.now, a, &i), *q = soup_vertex(&x->pair.now, b, &j);
	bool ok = x->mixed_up || !p->colour || !q->colour || colour_stays(x, p->colour[i], q->colour[j], 4);

	for (unsigned set = 1; ok && set < GEO_UV_SETS; set++)
		ok = !p->uv[set] || !q->uv[set] || more_uv_stays(x, p->uv[set][i], q->uv[set][j]);
	return ok;
}

static void take_giver(struct making *x, uint32_t now, uint32_t to)
{
	if (!x->giver[to])
		x->giver[to] = now + 1;
	else if (x->giver[to] != now + 1 && !x->torn[1] && !agree(x, now, x->giver[to] - 1)) {
		x->torn[0] = x->giver[to] - 1;
		x->torn[1] = now;
	}
}

static void look_at_tangent(struct making *x, const struct scene_primitive *p, uint32_t i,
			    const struct scene_primitive *q, uint32_t j)
{
	struct geo_number given[3];

	if (!p->tangent || !q || !q->tangent)
		return;
	give(given, p->tangent[i], 3);
	x->turned |= !geo_normal_near(given, q->tangent[j]) || p->tangent[i][3] != q->tangent[j][3];
}

bool put_take_more(struct making *x, uint32_t now, uint32_t was, uint32_t to)
{
	uint32_t i, j = 0;
	const struct scene_primitive *p = soup_vertex(&x->pair.now, now, &i);
	const struct scene_primitive *q = was == GEO_NONE ? NULL : soup_vertex(&x->pair.was, was, &j);
	bool ok = true;

	take_giver(x, now, to);
	look_at_tangent(x, p, i, q, j);
	if (p->colour && (!q || !q->colour || !colour_stays(x, p->colour[i], q->colour[j], 3))) {
		x->out->colours_lost |= x->mixed_up;
		ok = x->mixed_up || make_colours(x);
		if (ok && !x->mixed_up)
			give(x->put->colour[to], p->colour[i], 3);
		x->out->mesh |= !x->mixed_up;
	}
	if (ok && p->alpha && !x->mixed_up &&
	    (!q || (q->alpha && !alpha_stays(x, p->colour[i][3], q->colour[j][3])))) {
		ok = make_alpha(x);
		if (ok)
			give(&x->put->alpha[to], p->colour[i] + 3, 1);
		x->out->mesh = true;
	}
	for (unsigned set = 1; ok && set < GEO_UV_SETS; set++) {
		if (!p->uv[set] || (q && (!q->uv[set] || more_uv_stays(x, p->uv[set][i], q->uv[set][j]))))
			continue;
		ok = make_more(x, set);
		if (ok)
			give(x->put->more_uv[set - 1][to], p->uv[set][i], 2);
		x->out->mesh = true;
	}
	return ok;
}

void put_take_place(struct making *x, uint32_t now, uint32_t was, uint32_t to)
{
	for (unsigned k = 0; k < 3; k++) {
		double v = (double)x->pair.now.position[now][k], off = fabs(v - (double)x->pair.was.position[was][k]);

		if (off == 0 || off <= x->pair.reach)
			continue;
		x->put->position[to][k] = (struct geo_number){ v, 0 };
		x->out->mesh = true;
	}
}

uint32_t put_take_value(struct making *x, uint32_t now, uint32_t was, uint32_t face, const struct geo_stream *s,
			uint32_t stored)
{
	bool uv = s == x->uv;
	uint32_t i, value;
	const struct scene_primitive *p = soup_vertex(&x->pair.now, now, &i);
	bool known = !uv && x->renewed && was != GEO_NONE;
	unsigned renewed = known ? x->renewed[pair_stored(&x->pair, was)] : SAME_NORMAL;

	if (renewed == NO_NORMAL)
		return stored;
	if (renewed && !tells_normal(x, face, x->pair.now.normal[now]))
		return GEO_NONE;
	if (!renewed && was != GEO_NONE &&
	    (uv ? pair_uv_stays(&x->pair, now, was) : put_normal_stays(x, now, was, face)))
		return stored;
	if (uv ? !p->uv[0] : !p->normal || is_nothing(x->pair.now.normal[now]))
		return GEO_NONE;
	x->out->mesh = true;
	value = (s ? s->count : 0) + now;
	if (uv) {
		give(x->put->uv[value], p->uv[0][i], 2);
		x->put->nuvs = s->count + x->pair.now.nvertices;
	} else {
		give(x->put->normal[value], x->pair.now.normal[now], 3);
		x->put->nnormals = s->count + x->pair.now.nvertices;
	}
	return value;
}
