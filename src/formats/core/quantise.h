/* Colours of a picture: which there are and how often, and the few of a palette that stand for all of them best. */
#ifndef MODELFS_QUANTISE_H
#define MODELFS_QUANTISE_H

#include "base.h"

#define COLOURS_NONE 0xffffffffu
#define COLOURS_MOST ((uint32_t)1 << 18)       /* all that a picture of 512 x 512 can have */
#define QUANTISE_MOST 256u                     /* colours of a palette */

/* A colour, how many pixels have it, and a number of the user's or quantise()'s. */
struct colour { uint8_t rgba[4]; uint32_t count, pick; };

struct colours {
	struct colour *v;                      /* n of at most `most`, in the order in which they came */
	uint32_t n, most;
	uint32_t *slot, mask;                  /* where to look for them */
	uint8_t drop;                          /* lowest bits of each channel that are left out */
	bool fold;                             /* all transparent colours are one */
};

/* An empty table in arena a for up to `most` different colours, COLOURS_MOST at most. */
int colours_init(struct colours *c, size_t most, struct arena *a, struct err *e);
void colours_clear(struct colours *c, unsigned drop, bool fold);
/* One pixel more of that colour, which is new with pick COLOURS_NONE; NULL when the table is full. */
struct colour *colours_add(struct colours *c, const uint8_t rgba[4]);
struct colour *colours_find(const struct colours *c, const uint8_t rgba[4]);   /* NULL: not there */

/* What a palette can hold: the nearest such colour. */
struct colour_format {
	void (*nearest)(const void *ctx, const uint8_t rgba[4], uint8_t out[4]);
	const void *ctx;
};

/* At most `most` (1 to QUANTISE_MOST) colours of that format, *n of them, all different, for which the squared error of
 * alpha and of what is seen of red, green and blue is small, with the alpha that each colour gets when it is stored;
 * each colour of c gets the number of the one that stands for it as its pick. Transparent is always one of them where c
 * has what becomes it, as 0, 0, 0, 0. The same colours with the same counts in the same order give the same palette. */
int quantise(struct colours *c, unsigned most, const struct colour_format *f, uint8_t palette[QUANTISE_MOST][4],
	     unsigned *n, struct arena *a, struct err *e);
#endif
