/* Pictures of 16 colours, written (spec/jom.md 12.3). Index 0 is transparent, 15 may end a line; the others have
 * colours. Those that still occur stay where they are, new ones come behind them. */
#include <errno.h>
#include <string.h>

#include "jom_put.h"

#define COLOURS 16u

struct lut {
	const struct geo_image *img;
	uint8_t *words, *pixels;               /* of the record: 16 words, then two pixels to a byte */
	uint16_t colour[COLOURS];
	uint32_t usable;                       /* indices from 1 up to this one have colours of one's own choice */
	bool keep[COLOURS];                    /* an index that pixels still have */
	bool merge;                            /* equal colours are given up for room */
	uint16_t *want;                        /* of each pixel that does not keep its index: a word; 0 */
	uint16_t fresh[COLOURS];
	uint32_t nfresh, ncolours;             /* colours that are not there; all that the picture has */
};

static unsigned index_of(const struct lut *l, size_t i)
{
	return i & 1 ? l->pixels[i / 2] & 15 : l->pixels[i / 2] >> 4;
}

static void set_index(struct lut *l, size_t i, unsigned k)
{
	uint8_t *p = &l->pixels[i / 2];

	*p = (uint8_t)(i & 1 ? (*p & 0xf0) | k : (*p & 0x0f) | k << 4);
}

static uint16_t shown_word(const struct lut *l, unsigned k)
{
	return k ? l->colour[k] : 0;
}

/* ---- what the pixels want ---- */

static bool looks_same(const struct lut *l, size_t i)
{
	uint8_t c[4];

	jom_rgba(shown_word(l, index_of(l, i)), c);
	return !memcmp(c, l->img->rgba + 4 * i, 4) || (!c[3] && !l->img->rgba[4 * i + 3]);
}

/* The lowest index of a colour; 0: none. */
static unsigned find(const struct lut *l, uint16_t word)
{
	for (unsigned k = 1; k <= l->usable; k++)
		if (l->colour[k] == word)
			return k;
	return 0;
}

static void want_fresh(struct lut *l, uint16_t word)
{
	for (uint32_t k = 0; k < l->nfresh && k < COLOURS; k++)
		if (l->fresh[k] == word)
			return;
	if (l->nfresh < COLOURS)
		l->fresh[l->nfresh] = word;
	l->nfresh++;
}

/* A pixel keeps its index where it looks as it did, and wants a colour else. */
static void look_at_pixels(struct lut *l)
{
	size_t n = (size_t)l->img->w * l->img->h;

	memset(l->keep, 0, sizeof l->keep);
	l->nfresh = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned k = index_of(l, i);
		uint16_t word;

		l->want[i] = 0;
		if (looks_same(l, i) && (!l->merge || !k || k > l->usable || !l->colour[k] ||
					 find(l, l->colour[k]) == k)) {
			l->keep[k] = true;
			continue;
		}
		word = looks_same(l, i) ? l->colour[k] : jom_word_of(l->img->rgba + 4 * i, shown_word(l, k));
		l->want[i] = word;
		if (!word)
			continue;
		if (find(l, word))
			l->keep[find(l, word)] = true;
		else
			want_fresh(l, word);
	}
}

static uint32_t room(const struct lut *l)
{
	uint32_t n = 0;

	for (unsigned k = 1; k <= l->usable; k++)
		n += !l->keep[k];
	return n;
}

/* ---- how many there are ---- */

/* A set of words: bits. */
static bool count_once(uint8_t *seen, uint16_t word)
{
	uint8_t bit = (uint8_t)(1u << word % 8);
	bool fresh = !(seen[word / 8] & bit);

	seen[word / 8] |= bit;
	return word && fresh;
}

static int refuse(const struct lut *l, struct err *e)
{
	size_t n = (size_t)l->img->w * l->img->h;
	uint8_t seen[0x10000 / 8] = { 0 };
	uint32_t colours = 0;

	for (size_t i = 0; i < n; i++)
		colours += count_once(seen, l->want[i] ? l->want[i] :
				      looks_same(l, i) ? shown_word(l, index_of(l, i)) : 0);
	return err_set(e, EINVAL, "%u colours, the table holds %u", colours, l->usable);
}

/* ---- the table ---- */

/* Behind the last that stays, while there is room; then in the gaps. */
static void add_colours(struct lut *l)
{
	unsigned last = l->usable, at;

	while (last && !l->keep[last])
		last--;
	at = last < l->usable ? last + 1 : 1;
	for (uint32_t i = 0; i < l->nfresh; i++) {
		while (l->keep[at])
			at = at < l->usable ? at + 1 : 1;
		l->colour[at] = l->fresh[i];
		l->keep[at] = true;
		put_be16(l->words + 2 * (size_t)at, l->fresh[i]);
	}
}

static void put_pixels(struct lut *l, const bool *settled, uint32_t *lost)
{
	size_t n = (size_t)l->img->w * l->img->h;

	for (size_t i = 0; i < n; i++) {
		uint8_t c[4];

		if (settled[i])
			continue;
		set_index(l, i, l->want[i] ? find(l, l->want[i]) : 0);
		jom_rgba(l->want[i], c);
		*lost += memcmp(c, l->img->rgba + 4 * i, 4) && (c[3] || l->img->rgba[4 * i + 3]);
	}
}

static int put_lut(struct lut *l, uint32_t *lost, struct arena *a, struct err *e)
{
	size_t n = (size_t)l->img->w * l->img->h;
	bool *settled = arena_alloc(a, n, sizeof *settled);

	l->want = arena_alloc(a, n, sizeof *l->want);
	if (!l->want || !settled)
		return err_nomem(e);
	look_at_pixels(l);
	if (l->nfresh > room(l)) {
		l->merge = true;
		look_at_pixels(l);
	}
	if (l->nfresh > room(l))
		return refuse(l, e);
	/* Before the table changes, which tells what looks the same. */
	for (size_t i = 0; i < n; i++)
		settled[i] = !l->want[i] && looks_same(l, i);
	add_colours(l);
	put_pixels(l, settled, lost);
	return 0;
}

int jom_lut_put(const struct jom_model *m, uint32_t i, const struct geo_image *img, uint8_t *raw, uint32_t *lost,
		struct err *e)
{
	struct lut l = { .img = img, .words = raw, .pixels = raw + JOM_PALETTE_SIZE, .usable = COLOURS - 1 };
	struct arena a = { 0 };
	int rc;

	for (unsigned k = 0; k < COLOURS; k++)
		l.colour[k] = be_u16(raw + 2 * k);
	for (uint32_t k = 0; k < m->table[JOM_MATL].n; k++) {
		const uint8_t *mat = jom_row(m, JOM_MATL, k);

		if (be_u16(mat + 20) == i && be_u32(mat + 24) & JOM_END_CODES)
			l.usable = COLOURS - 2;
	}
	rc = put_lut(&l, lost, &a, e);
	arena_free(&a);
	return rc;
}
