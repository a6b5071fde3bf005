/* Colours of points, and the gouraud words that follow them (spec/jom.md 4.8, 4.9).
 *
 * How a colour of 0..1 becomes a channel of 0..31 is said nowhere. A file that has both tells it, when most of its
 * words are what one of a few rules makes of its colours; else 1.0 is 31. */
#include <math.h>
#include <string.h>

#include "jom_put.h"

#define WHITE 65536

/* ---- words ---- */

struct scale { uint32_t times, half; };        /* of 65536ths: times `times`, and `half` added before the rest is cut */

static const struct scale scales[] = {
	{ 31, 32768 }, { 31, 0 }, { 32, 0 }, { 32, 32768 }, { 16, 0 }, { 16, 32768 },
};

static uint32_t channel(const struct scale *s, int32_t v)
{
	uint32_t in = v < 0 ? 0 : v > WHITE ? WHITE : (uint32_t)v, out = (in * s->times + s->half) >> 16;

	return out < 31 ? out : 31;
}

static uint16_t word_of(const struct scale *s, const int32_t colour[3], uint16_t was)
{
	uint32_t opaque = was ? was & 0x8000u : 0x8000;

	return (uint16_t)(opaque | channel(s, colour[2]) << 10 | channel(s, colour[1]) << 5 | channel(s, colour[0]));
}

static bool is_gouraud(const struct jom_model *m, uint32_t material)
{
	return material < m->table[JOM_MATL].n && be_u32(jom_row(m, JOM_MATL, material) + 24) & JOM_GOURAUD;
}

/* ---- the file's own rule ---- */

struct votes { uint64_t all, of[ARRAY_LEN(scales)]; };

static void vote(struct votes *v, const uint8_t *colour, uint16_t word)
{
	for (unsigned k = 0; k < 3; k++) {
		uint32_t stored = word >> 5 * k & 31;

		v->all++;
		for (unsigned i = 0; i < ARRAY_LEN(scales); i++)
			v->of[i] += channel(&scales[i], jom_i32(colour + 4 * (size_t)k)) == stored;
	}
}

static const struct scale *find_scale(const struct jom_model *m)
{
	struct votes v = { 0 };
	unsigned best = 0;

	for (uint32_t p = 0; p < m->npolygons; p++)
		for (unsigned c = 0; c < 4 && is_gouraud(m, jom_material_of(m, p)); c++) {
			uint32_t point = jom_corner(m, p, c);
			int32_t word = jom_word(m, JOM_GOUR, p, c);

			if (word >= 0 && point < m->table[JOM_VCOL].n)
				vote(&v, jom_row(m, JOM_VCOL, point), (uint16_t)word);
		}
	for (unsigned i = 1; i < ARRAY_LEN(scales); i++)
		best = v.of[i] > v.of[best] ? i : best;
	return &scales[v.of[best] * 2 > v.all ? best : 0];
}

/* ---- points ---- */

static const struct geo_number *given(const struct jom_text *text, const struct jom_point *p)
{
	const struct geo_number *c = text->put->colour && p->from != GEO_NONE ? text->put->colour[p->from] : NULL;

	return c && !isnan(c[0].v) ? c : NULL;
}

/* Programs that know of no colours for some points give those white. */
static bool says_colours(const struct jom_geometry *g, const struct jom_text *text)
{
	for (uint32_t i = 0; i < g->npoints; i++) {
		const struct geo_number *c = given(text, &g->point[i]);

		if (c && (!text->foreign || c[0].v != 1 || c[1].v != 1 || c[2].v != 1))
			return true;
	}
	return false;
}

static bool any_gouraud(const struct jom_geometry *g)
{
	for (uint32_t i = 0; i < g->npolygons; i++)
		if (!g->polygon[i].gone && is_gouraud(g->m, g->polygon[i].material))
			return true;
	return false;
}

static void add_colours(struct jom_geometry *g)
{
	for (uint32_t i = 0; i < g->npoints; i++)
		for (unsigned k = 0; k < 3; k++)
			g->point[i].colour[k] = WHITE;
	g->has_colours = true;
	if (g->has_gouraud || !any_gouraud(g))
		return;
	g->has_gouraud = true;
	for (uint32_t i = 0; i < g->npoints; i++)
		g->point[i].recoloured = true;
}

static int put_point(const struct jom_geometry *g, const struct jom_text *text, struct jom_point *p, uint32_t *guessed,
		     struct err *e)
{
	const struct geo_number *c = given(text, p);
	unsigned line = c ? text->put->vertex_line[p->from] : 0;
	int32_t was[3];
	int rc = 0;

	memcpy(was, p->colour, sizeof was);
	if (p->old == GEO_NONE && c)
		return jom_make(c, p->colour, line, e);
	if (p->old == GEO_NONE) {
		*guessed += p->like != GEO_NONE;
		if (p->like != GEO_NONE)
			memcpy(p->colour, g->point[p->like].colour, sizeof p->colour);
		return 0;
	}
	if (c)
		rc = jom_take(c, p->colour, line, e);
	p->recoloured |= memcmp(was, p->colour, sizeof was) != 0;
	return rc;
}

/* ---- corners ---- */

/* The word that the first corner at a point has, of any polygon that is shaded. */
static uint16_t *words_at_points(const struct jom_geometry *g)
{
	uint16_t *word = arena_alloc(g->a, (size_t)g->npoints + 1, sizeof *word);

	for (uint32_t i = 0; i < g->npolygons && word; i++)
		for (unsigned c = 0; c < 4 && g->polygon[i].old != GEO_NONE; c++)
			if (!word[g->polygon[i].corner[c]])
				word[g->polygon[i].corner[c]] = g->polygon[i].gouraud[c];
	return word;
}

#define NEUTRAL 0xc210u

static void shade_new(const struct jom_geometry *g, const struct scale *s, const uint16_t *words,
		      struct jom_polygon *p)
{
	for (unsigned c = 0; c < 4; c++) {
		const struct jom_point *point = &g->point[p->corner[c]];
		uint32_t at = point->old != GEO_NONE ? p->corner[c] : point->like;
		uint16_t word = at != GEO_NONE ? words[at] : 0;

		p->gouraud[c] = g->has_colours ? word_of(s, point->colour, 0) : word ? word : NEUTRAL;
	}
}

static int put_words(struct jom_geometry *g, struct err *e)
{
	const struct scale *s = find_scale(g->m);
	uint16_t *words = words_at_points(g);

	if (!words)
		return err_nomem(e);
	for (uint32_t i = 0; i < g->npolygons; i++) {
		struct jom_polygon *p = &g->polygon[i];

		if (!g->m->table[JOM_GOUR].there)
			memset(p->gouraud, 0, sizeof p->gouraud);
		if (p->gone || !is_gouraud(g->m, p->material))
			continue;
		if (p->old == GEO_NONE)
			shade_new(g, s, words, p);
		for (unsigned c = 0; c < 4 && p->old != GEO_NONE; c++)
			if (g->point[p->corner[c]].recoloured)
				p->gouraud[c] = word_of(s, g->point[p->corner[c]].colour, p->gouraud[c]);
	}
	return 0;
}

int jom_put_colours(struct jom_geometry *g, const struct jom_text *text, struct err *e)
{
	uint32_t guessed = 0;
	int rc = 0;

	if (!g->has_colours && says_colours(g, text))
		add_colours(g);
	for (uint32_t i = 0; i < g->npoints && !rc && g->has_colours; i++)
		rc = put_point(g, text, &g->point[i], &guessed, e);
	if (guessed)
		object_say(g->o, "%u points have no colour: they get that of the nearest point", guessed);
	return rc || !g->has_gouraud ? rc : put_words(g, e);
}
