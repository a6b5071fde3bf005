/* Texture banks for tests, built from the layout in the specification. */
#ifndef MODELFS_TESTS_BUILD_TMH_H
#define MODELFS_TESTS_BUILD_TMH_H

#include "build.h"

enum { F5650, F5551, F4444, F8888, CLUT4, CLUT8, CLUT16, CLUT32, DXT1, DXT3, DXT5 };

struct picture {
	uint32_t format, w, h;
	const void *pixels;                    /* NULL: noise */
	size_t npixels;
	uint32_t clut, entries;                /* colour format and number; 0 entries: no CLUT block */
	const void *colours;                   /* NULL: noise */
};

void begin_bank(struct buf *b, uint32_t n);
void add_image(struct buf *b, struct picture p);

#endif
