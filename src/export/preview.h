/* What the files that draw a preview share. */
#ifndef MODELFS_PREVIEW_H
#define MODELFS_PREVIEW_H

#include "export.h"
#include "raster.h"

/* A damaged file can hold any number: further parts of the model are not drawn. */
#define PREVIEW_TRIANGLES_MOST (1u << 21)
/* Decoded in all; further pictures are not, and what has one is drawn in its colours alone. */
#define PREVIEW_TEXELS_MOST ((uint64_t)64 << 20)
#define PREVIEW_PICTURES_MOST 1024u

/* As it is looked at: to the right, up, towards who looks. shade: how much of the light it gets, -1 to 1; NaN where it
 * stores no normal. */
struct preview_vertex { float at[3], uv[2], shade; uint8_t colour[4]; };
struct preview_triangle { uint32_t vertex[3], surface; };
struct preview_surface {
	float colour[4];
	uint32_t picture;                      /* in preview.picture; GEO_NONE */
	bool bare_colour, both_sides, clear;   /* clear: something of its colours has an alpha below 1 */
};

struct preview_picture { uint32_t number; bool there; struct texture texture; };

struct preview {
	struct arena arena;
	struct buf vertex, triangle, surface, picture;         /* of the structs above */
	uint64_t texels;                       /* decoded so far */
	const struct geo_skeleton *skeleton;
	float (*bend)[12];                     /* of each bone; NULL: none moves anything */
};

#define PREVIEW_LIST(p, what) ((struct preview_##what *)(p)->what.p)
#define PREVIEW_COUNT(p, what) ((uint32_t)((p)->what.len / sizeof(struct preview_##what)))

/* Where the light comes from, as vertices are told: over the left shoulder of who looks. */
extern const float preview_light[3];

/* previewdraw.c: PREVIEW_SIDE squared pixels. */
int preview_draw(struct preview *p, uint8_t *rgba, struct err *e);

#endif
