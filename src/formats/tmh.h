/* Texture banks: what tmh.c (the bank and its pictures) and tmhverify.c (the bytes made anew from them) share. */
#ifndef MODELFS_TMH_H
#define MODELFS_TMH_H

#include "format.h"
#include "tmhpixel.h"

#define TMH_IMAGE_SIZE 32u
#define TMH_PIXEL_BLOCK_AT 16u                 /* in an image */
#define TMH_BLOCK_SIZE 16u                     /* header of a pixel block or a CLUT block */

struct tmh_image {
	uint32_t size, unknown_08, has_clut, pixel_size, pixel_tag, format;
	uint16_t width, height;
};
struct tmh_clut { uint32_t size, tag, palette_format, palette_entries; };
extern const struct record tmh_image_record, tmh_clut_record;

struct tmh_stored {
	uint64_t at;                           /* of the image in the bank */
	struct tmh_image h;
};

static inline uint64_t tmh_clut_at(const struct tmh_stored *m)
{
	return m->at + TMH_PIXEL_BLOCK_AT + m->h.pixel_size;
}

static inline uint64_t tmh_clut_bytes(const struct tmh_clut *c)
{
	return (uint64_t)c->palette_entries * tmh_colour_size(c->palette_format);
}

struct tmh_name { char text[24]; };            /* "image 7", for messages */
struct tmh_name tmh_name(uint32_t i);

/* An image whose headers are sound, and its bytes. */
struct tmh_loaded {
	struct object *o;
	uint32_t i;
	struct tmh_stored m;
	struct tmh_clut c;
	uint8_t raw[TMH_IMAGE_SIZE], clut_raw[TMH_BLOCK_SIZE];
	const uint8_t *colours;                /* stored; NULL: no palette numbers */
	const uint8_t *pixels;
	size_t npixels;                        /* bytes */
	struct tmh_rows rows;
};

/* Image i, with its bytes in arena a; EBADMSG and why when its headers are damaged. */
int tmh_load(struct object *o, uint32_t i, struct tmh_loaded *l, struct arena *a, struct err *e);
/* The rows in order, and all colours of the CLUT; NULL when out of memory. */
const uint8_t *tmh_rows_in_order(const struct tmh_loaded *l, struct arena *a);
uint8_t (*tmh_palette(const struct tmh_loaded *l, struct arena *a))[4];

/* Decodes every image and encodes it again. */
int tmh_verify(struct object *o, struct err *e);

#endif
