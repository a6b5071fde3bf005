/* Pictures with a palette, written. What can stay stays, in this order: the pixel's number, the palette, the entries
 * that are still used; colours are given up only when there are more than the palette has room for.
 *
 *   1  same numbers, other palette: a palette edit of the entries that pixels use (programs blank the others)
 *   2  all colours are in the palette: only numbers change
 *   3  the different colours have room: new ones take entries that no pixel uses any more
 *   4  2 and 3 again, with all transparent colours as one, since nobody sees which they are
 *   5  2 and 3 again, with the colours of a palette made for the picture */
#include <string.h>

#include "quantise.h"
#include "tmh.h"

enum mode { EXACT, FOLDED, REDUCED };

struct indexed {
	struct tmh_put *p;
	uint32_t format, n, most;              /* of the colours; entries that are shown; different colours to have */
	uint8_t (*palette)[4], (*fresh)[4];    /* as it is, as it will be */
	struct colours have, want, all;        /* in the palette; to be shown; before they are reduced */
	uint8_t few[QUANTISE_MOST][4];         /* what they are reduced to */
	uint8_t clear[4];                      /* transparent */
	enum mode mode;
	uint8_t *keep, *used;                  /* entries that stay; entries that the picture used */
	uint32_t first[QUANTISE_MOST];         /* number of the first pixel of each colour to be shown */
};

static bool same(const uint8_t a[4], const uint8_t b[4])
{
	return !memcmp(a, b, 4);
}

/* A given colour as it is counted. */
static void counted(const struct indexed *k, const uint8_t given[4], uint8_t out[4])
{
	memcpy(out, given, 4);
	if (k->format == TMH_5650)
		out[3] = 255;
}

/* A pixel's colour as it will be shown. */
static void wanted(const struct indexed *k, uint32_t x, uint32_t y, uint8_t out[4])
{
	const uint8_t *given = tmh_given(k->p, x, y), *shown = tmh_shown(k->p, x, y);

	if (k->mode == REDUCED) {
		uint8_t c[4];

		counted(k, given, c);
		memcpy(out, k->few[colours_find(&k->all, c)->pick], 4);
		if (!out[3])
			memcpy(out, k->clear, 4);
		return;
	}
	if (same(given, shown))
		memcpy(out, shown, 4);
	else
		tmh_round(k->format, given, out);
	if (k->mode == FOLDED && !out[3])
		memcpy(out, shown[3] ? k->clear : shown, 4);
}

/* ---- all pixels ---- */

/* old: the number stored. false ends it. */
typedef bool see_pixel(struct indexed *k, uint32_t old, const uint8_t want[4]);

static bool each_pixel(struct indexed *k, see_pixel *see)
{
	const struct tmh_image *h = &k->p->l.m.h;
	uint8_t want[4];

	for (uint32_t y = 0; y < h->height; y++) {
		const uint8_t *row = k->p->rows + (size_t)y * k->p->l.rows.pitch;

		for (uint32_t x = 0; x < h->width; x++) {
			wanted(k, x, y, want);
			if (!see(k, tmh_index(h->format, row, x), want))
				return false;
		}
	}
	return true;
}

/* The pixel's number stays where its entry has the colour; else it is `pick` of the colour in `of`. */
static void put_numbers(struct indexed *k, const struct colours *of)
{
	const struct tmh_image *h = &k->p->l.m.h;
	uint8_t want[4];

	for (uint32_t y = 0; y < h->height; y++) {
		uint8_t *row = k->p->rows + (size_t)y * k->p->l.rows.pitch;

		for (uint32_t x = 0; x < h->width; x++) {
			wanted(k, x, y, want);
			if (!same(k->fresh[tmh_index(h->format, row, x)], want))
				tmh_index_put(h->format, row, x, colours_find(of, want)->pick);
		}
	}
}

/* ---- the palette as it is ---- */

static bool occurs(struct indexed *k, uint32_t old, const uint8_t want[4])
{
	return same(k->palette[old], want) || colours_find(&k->have, want);
}

static bool use_palette(struct indexed *k)
{
	if (!each_pixel(k, occurs))
		return false;
	put_numbers(k, &k->have);
	return true;
}

/* ---- the palette with new colours ---- */

static bool collect(struct indexed *k, uint32_t old, const uint8_t want[4])
{
	struct colour *c = colours_add(&k->want, want);

	if (!c)
		return false;
	k->used[old] = 1;
	if (c->count == 1)
		k->first[c - k->want.v] = old;
	if (same(k->palette[old], want)) {
		k->keep[old] = 1;
		c->pick = c->pick == COLOURS_NONE ? old : c->pick;
	}
	return true;
}

/* Colours that the palette has where no pixel of them used it; how many colours are new. */
static uint32_t keep_others(struct indexed *k)
{
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < k->want.n; i++) {
		struct colour *c = &k->want.v[i], *old;

		if (c->pick != COLOURS_NONE)
			continue;
		old = colours_find(&k->have, c->rgba);
		fresh += !old;
		if (old) {
			c->pick = old->pick;
			k->keep[c->pick] = 1;
		}
	}
	return fresh;
}

/* Where there is too little room, equal entries do not all stay. */
static void make_room(struct indexed *k, uint32_t need)
{
	uint32_t room = 0;

	for (uint32_t i = 0; i < k->n; i++)
		room += !k->keep[i];
	for (uint32_t i = 0; i < k->n && room < need; i++) {
		if (k->keep[i] && colours_find(&k->want, k->palette[i])->pick != i) {
			k->keep[i] = 0;
			room++;
		}
	}
}

static void place(struct indexed *k, struct colour *c, uint32_t at)
{
	memcpy(k->fresh[at], c->rgba, 4);
	k->keep[at] = 1;
	c->pick = at;
}

/* A new colour goes where the one was that it replaces; else first where one was used, then anywhere. */
static void place_new(struct indexed *k)
{
	uint32_t at = 0;
	bool any = false;

	for (uint32_t i = 0; i < k->want.n; i++)
		if (k->want.v[i].pick == COLOURS_NONE && !k->keep[k->first[i]])
			place(k, &k->want.v[i], k->first[i]);
	for (uint32_t i = 0; i < k->want.n; i++) {
		if (k->want.v[i].pick != COLOURS_NONE)
			continue;
		while (k->keep[at] || (!any && !k->used[at])) {
			if (++at == k->n) {
				any = true;
				at = 0;
			}
		}
		place(k, &k->want.v[i], at);
	}
}

static bool change_palette(struct indexed *k)
{
	colours_clear(&k->want, 0, false);
	memset(k->keep, 0, k->n);
	memset(k->used, 0, k->n);
	if (!each_pixel(k, collect))
		return false;
	make_room(k, keep_others(k));
	place_new(k);
	put_numbers(k, &k->want);
	return true;
}

/* ---- a palette made for the picture ---- */

static void nearest_stored(const void *ctx, const uint8_t rgba[4], uint8_t out[4])
{
	tmh_round(*(const uint32_t *)ctx, rgba, out);
}

static bool count_colours(struct indexed *k, unsigned drop)
{
	const struct tmh_image *h = &k->p->l.m.h;

	colours_clear(&k->all, drop, true);
	for (uint32_t y = 0; y < h->height; y++) {
		for (uint32_t x = 0; x < h->width; x++) {
			uint8_t c[4];

			counted(k, tmh_given(k->p, x, y), c);
			if (!colours_add(&k->all, c))
				return false;
		}
	}
	return true;
}

/* Faint pixels that become transparent keep their colour in the mean: filters mix it into the pixels beside them. */
static void colour_clear(struct indexed *k)
{
	double sum[3] = { 0 }, weight = 0;
	uint8_t mean[4] = { 0 };

	for (uint32_t i = 0; i < k->all.n; i++) {
		const struct colour *c = &k->all.v[i];
		double w = k->few[c->pick][3] ? 0 : (double)c->count * c->rgba[3];

		weight += w;
		for (unsigned n = 0; n < 3; n++)
			sum[n] += w * c->rgba[n];
	}
	if (!(weight > 0))
		return;
	for (unsigned n = 0; n < 3; n++)
		mean[n] = (uint8_t)(sum[n] / weight + 0.5);
	tmh_round(k->format, mean, k->clear);
}

static int reduce(struct indexed *k, struct err *e)
{
	struct colour_format f = { nearest_stored, &k->format };
	unsigned drop = 0, n;
	int rc = colours_init(&k->all, (size_t)k->p->shown.w * k->p->shown.h, k->p->a, e);

	if (rc)
		return rc;
	while (!count_colours(k, drop))
		drop++;
	rc = quantise(&k->all, k->most, &f, k->few, &n, k->p->a, e);
	if (!rc)
		colour_clear(k);
	return rc;
}

/* ---- what to say ---- */

static double squared_error(const uint8_t a[4], const uint8_t b[4])
{
	double sum = 0;

	for (unsigned i = 0; i < 4; i++) {
		double x = i < 3 ? a[i] * a[3] / 255.0 : a[3], y = i < 3 ? b[i] * b[3] / 255.0 : b[3];

		sum += (x - y) * (x - y) / 4;
	}
	return sum;
}

static double mean_error(const struct indexed *k)
{
	const struct geo_image *img = k->p->img;
	double sum = 0;
	uint8_t want[4];

	for (uint32_t y = 0; y < img->h; y++) {
		for (uint32_t x = 0; x < img->w; x++) {
			wanted(k, x, y, want);
			sum += squared_error(tmh_given(k->p, x, y), want);
		}
	}
	return sum / ((double)img->w * img->h);
}

static void say_reduced(const struct indexed *k)
{
	const struct colours *all = &k->all;

	object_say(k->p->o, "%s: %s%u colours reduced to %u, mean squared error %.3f", tmh_name(k->p->l.i).text,
		   all->drop ? "more than " : "", all->drop ? all->most : all->n, k->want.n, mean_error(k));
}

static void say_palettes(const struct indexed *k)
{
	uint32_t entries = k->p->l.c.palette_entries, n = entries / tmh_palette_size(k->p->l.m.h.format, entries);

	if (n > 1)
		object_say(k->p->o, "%s: the picture has %u palettes, the first was changed",
			   tmh_name(k->p->l.i).text, n);
}

/* ---- all of it ---- */

static int write_palette(struct indexed *k, struct err *e)
{
	size_t each = tmh_colour_size(k->format), size = k->n * each;
	uint8_t *bytes = arena_alloc(k->p->a, size, 1);
	bool changed = false;

	if (!bytes)
		return err_nomem(e);
	memcpy(bytes, k->p->l.colours, size);
	for (uint32_t i = 0; i < k->n; i++) {
		if (same(k->palette[i], k->fresh[i]))
			continue;
		tmh_colours_put(k->format, (const uint8_t (*)[4])k->fresh[i], 1, bytes + i * each);
		changed = true;
	}
	if (!changed)
		return 0;
	say_palettes(k);
	return object_patch(k->p->o, 0, tmh_clut_at(&k->p->l.m) + TMH_BLOCK_SIZE, bytes, size,
			    tmh_name(k->p->l.i).text, e);
}

static bool same_numbers(struct indexed *k)
{
	const struct tmh_image *h = &k->p->l.m.h;
	const uint8_t *given = k->p->img->indexed;

	for (uint32_t y = 0; given && y < h->height; y++) {
		const uint8_t *row = k->p->rows + (size_t)y * k->p->l.rows.pitch;

		for (uint32_t x = 0; x < h->width; x++, given++) {
			if (tmh_index(h->format, row, x) != *given)
				return false;
			k->used[*given] = 1;
		}
	}
	return given;
}

static void take_entries(struct indexed *k)
{
	uint32_t n = k->p->img->ncolours < k->n ? k->p->img->ncolours : k->n, unused = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (same(k->p->img->palette[i], k->palette[i]))
			continue;
		if (k->used[i])
			tmh_round(k->format, k->p->img->palette[i], k->fresh[i]);
		unused += !k->used[i];
	}
	if (unused)
		object_say(k->p->o, "%s: %u colours of the palette that no pixel has differ and stay; K.yaml sets them",
			   tmh_name(k->p->l.i).text, unused);
}

static int begin(struct indexed *k, struct err *e)
{
	struct tmh_put *p = k->p;
	uint32_t format = p->l.m.h.format, entries = p->l.c.palette_entries;
	int rc;

	k->format = p->l.c.palette_format;
	k->n = format == TMH_CLUT4 || format == TMH_CLUT8 ? tmh_palette_size(format, entries) : entries;
	k->most = k->n < QUANTISE_MOST ? k->n : QUANTISE_MOST;
	k->palette = tmh_palette(&p->l, p->a);
	k->fresh = arena_alloc(p->a, k->n, sizeof *k->fresh);
	k->keep = arena_alloc(p->a, k->n, 1);
	k->used = arena_alloc(p->a, k->n, 1);
	if (!k->palette || !k->fresh || !k->keep || !k->used)
		return err_nomem(e);
	memcpy(k->fresh, k->palette, k->n * sizeof *k->fresh);
	rc = colours_init(&k->have, k->n, p->a, e);
	rc = rc ? rc : colours_init(&k->want, k->most, p->a, e);
	for (uint32_t i = k->n; i-- && !rc;) {
		struct colour *c = colours_add(&k->have, k->palette[i]);

		if (c)
			c->pick = i;           /* the last one seen: the first one of equal ones */
		if (!k->palette[i][3])
			memcpy(k->clear, k->palette[i], 4);
	}
	return rc;
}

int tmh_put_indexed(struct tmh_put *p, struct err *e)
{
	struct indexed k = { .p = p };
	int rc = begin(&k, e);

	if (rc)
		return rc;
	if (same_numbers(&k)) {
		take_entries(&k);
		return write_palette(&k, e);
	}
	for (;; k.mode++) {
		if (k.mode == REDUCED)
			rc = reduce(&k, e);
		if (rc || use_palette(&k))
			break;
		if (change_palette(&k))
			break;
	}
	if (!rc && k.mode == REDUCED)
		say_reduced(&k);
	return rc ? rc : write_palette(&k, e);
}
