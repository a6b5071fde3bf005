/* The colours of a picture, each once: a hash table with open addressing. */
#include <string.h>

#include "geo.h"
#include "quantise.h"

int colours_init(struct colours *c, size_t most, struct arena *a, struct err *e)
{
	uint32_t slots = 16;

	*c = (struct colours){ .most = most > COLOURS_MOST ? COLOURS_MOST : (uint32_t)most };
	while (slots < 2 * c->most)
		slots *= 2;
	c->mask = slots - 1;
	c->v = arena_alloc(a, c->most, sizeof *c->v);
	c->slot = arena_alloc(a, slots, sizeof *c->slot);
	return c->v && c->slot ? 0 : err_nomem(e);
}

void colours_clear(struct colours *c, unsigned drop, bool fold)
{
	memset(c->slot, 0, ((size_t)c->mask + 1) * sizeof *c->slot);
	c->n = 0;
	c->drop = (uint8_t)drop;
	c->fold = fold;
}

/* What stands for the colour in the table: dropped bits are half of what they can be. */
static void key_of(const struct colours *c, const uint8_t rgba[4], uint8_t key[4])
{
	unsigned step = 1u << c->drop;

	memcpy(key, rgba, 4);
	if (c->fold && !rgba[3])
		memset(key, 0, 4);
	else if (c->drop)
		for (unsigned i = 0; i < 4; i++)
			key[i] = (uint8_t)(rgba[i] / step * step + step / 2);
}

/* The slot of a key, or the empty one where it belongs; there always is one, as half of them stay empty. */
static uint32_t *slot_of(const struct colours *c, const uint8_t key[4])
{
	uint32_t v;

	memcpy(&v, key, 4);
	v = (v ^ v >> 16) * 0x7feb352du;
	v = (v ^ v >> 15) * 0x846ca68bu;
	for (v ^= v >> 16;; v++) {
		uint32_t *slot = &c->slot[v & c->mask];

		if (!*slot || !memcmp(c->v[*slot - 1].rgba, key, 4))
			return slot;
	}
}

struct colour *colours_add(struct colours *c, const uint8_t rgba[4])
{
	uint8_t key[4];
	uint32_t *slot;

	key_of(c, rgba, key);
	slot = slot_of(c, key);
	if (!*slot) {
		if (c->n == c->most)
			return NULL;
		c->v[c->n] = (struct colour){ .pick = COLOURS_NONE };
		memcpy(c->v[c->n].rgba, key, 4);
		*slot = ++c->n;
	}
	c->v[*slot - 1].count++;
	return &c->v[*slot - 1];
}

struct colour *colours_find(const struct colours *c, const uint8_t rgba[4])
{
	uint8_t key[4];
	uint32_t slot;

	key_of(c, rgba, key);
	slot = *slot_of(c, key);
	return slot ? &c->v[slot - 1] : NULL;
}

/* The alphas that occur: bit 0 for 0, bit 1 for 255, bit 2 for others. */
static unsigned alpha_bit(uint8_t alpha)
{
	return alpha == 0 ? 1 : alpha == 255 ? 2 : 4;
}

enum geo_alpha geo_alpha(const struct geo_image *img)
{
	size_t n = (size_t)img->w * img->h;
	unsigned bits = 0, of_index[256] = { 0 };

	for (uint32_t i = 0; img->indexed && i < img->ncolours && i < ARRAY_LEN(of_index); i++)
		of_index[i] = alpha_bit(img->palette[i][3]);
	for (size_t i = 0; i < n && bits < 4; i++)
		bits |= img->indexed ? of_index[img->indexed[i]] : alpha_bit(img->rgba[4 * i + 3]);
	return bits >= 4 ? GEO_BLENDED : bits & 1 ? GEO_CUT : GEO_OPAQUE;
}
