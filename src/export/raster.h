/* Triangles into a square of samples, seen straight from in front: nothing gets smaller with distance, so what lies on
 * a triangle changes evenly along a row. The same triangles give the same samples wherever the program runs. */
#ifndef MODELFS_RASTER_H
#define MODELFS_RASTER_H

#include "geo.h"

/* A sample is so many units wide and high; its middle decides what covers it. */
#define RASTER_UNIT 256
#define RASTER_SIZE_MOST 1024u                 /* samples a side */

#define TEXTURE_LEVELS 11u
/* A picture and its smaller copies, each half as wide and high, down to one texel. */
struct texture {
	struct texture_level { uint32_t w, h; uint8_t (*texel)[4]; } level[TEXTURE_LEVELS];
	unsigned nlevels;
	enum geo_alpha alpha;
};
/* Of no more than `most` texels a side, at most 1 << (TEXTURE_LEVELS - 1): a larger picture begins with a smaller copy.
 */
int texture_make(struct texture *out, const struct geo_image *img, uint32_t most, struct arena *a, struct err *e);

/* x to the right, y down, in units from the top left corner of the square, inside it; z towards who looks. u and v as
 * pictures are stored, top-down. */
struct raster_corner { int32_t x, y; float z, u, v, colour[4]; };

struct raster_surface {
	const struct texture *texture;         /* NULL: none */
	enum geo_alpha alpha;
	bool both_sides;                       /* else only those whose corners go counter-clockwise */
};

/* First all triangles with RASTER_SOLID, in any order; then, from the farthest on, those of GEO_BLENDED surfaces with
 * RASTER_CLEAR: of these the first pass takes what is not clear. */
enum raster_pass { RASTER_SOLID, RASTER_CLEAR };

struct raster {
	uint32_t size;                         /* samples a side */
	float *depth;
	uint8_t (*colour)[4];                  /* of each sample, top row first; r, g and b are multiplied by a */
	uint64_t left;                         /* samples that may be looked at yet; without any nothing is drawn */
};
/* All clear. */
int raster_begin(struct raster *r, uint32_t size, uint64_t work, struct arena *a, struct err *e);
void raster_triangle(struct raster *r, const struct raster_corner c[3], const struct raster_surface *s,
		     enum raster_pass pass);
/* Each pixel the mean of `fine` x `fine` samples: (size / fine)^2 pixels, 4 bytes each, not multiplied by alpha. */
void raster_pixels(const struct raster *r, unsigned fine, uint8_t *rgba);

#endif
