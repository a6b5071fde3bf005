/* Texture banks: what tmh.c (the bank and its pictures), tmhverify.c (the bytes made anew from them), tmhput.c and
 * tmhindexed.c (pictures written) share. */
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

/* How many colours one palette of an image has; several lie back to back. */
uint32_t tmh_palette_size(uint32_t format, uint32_t entries);

/* ---- writing (model_ops.image_put, model_ops.doc_put) ---- */

/* A picture that is being put in the place of another. */
struct tmh_put {
	struct object *o;
	struct arena *a;
	struct tmh_loaded l;
	const struct geo_image *img;           /* what it is to be */
	struct geo_image shown;                /* what it is */
	uint8_t *rows;                         /* in order, to be changed */
	const uint8_t *have;                   /* of rows: 0 where no byte is stored; NULL: all are */
};
const uint8_t *tmh_shown(const struct tmh_put *p, uint32_t x, uint32_t y);
/* What a pixel is to be; one that is not stored is what it is. */
const uint8_t *tmh_given(const struct tmh_put *p, uint32_t x, uint32_t y);
/* The nearest colour that formats 0 to 3 can store. */
void tmh_round(uint32_t format, const uint8_t in[4], uint8_t out[4]);
/* Palette numbers into p->rows, and the palette into the object. */
int tmh_put_indexed(struct tmh_put *p, struct err *e);

int tmh_image_put(struct object *o, uint32_t i, const struct geo_image *img, struct err *e);
int tmh_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e);

/* Decodes every image and encodes it again. */
int tmh_verify(struct object *o, struct err *e);

#endif
