/* Pictures of a JOM as PNG has them (spec/jom.md 12.3): rgb555 words with their 5 bits spread over 8, those of TGA
 * files as they are. Word 0 is transparent; a word without the bit of visible colours is half so. */
#include "jom.h"

#include <errno.h>
#include <string.h>

static uint8_t spread(unsigned five)
{
	return (uint8_t)(five << 3 | five >> 2);
}

void jom_rgba(uint16_t word, uint8_t out[4])
{
	out[0] = spread(word & 31);
	out[1] = spread(word >> 5 & 31);
	out[2] = spread(word >> 10 & 31);
	out[3] = !word ? 0 : word & 0x8000 ? 255 : 128;
}

/* ---- rgb555 ---- */

static int words_image(const uint8_t *p, bool be, struct geo_image *out, struct arena *a, struct err *e)
{
	size_t n = (size_t)out->w * out->h;

	out->rgba = arena_alloc(a, n, 4);
	if (!out->rgba)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		jom_rgba(be ? be_u16(p + 2 * i) : le_u16(p + 2 * i), out->rgba + 4 * i);
	return 0;
}

/* The left pixel is in the upper half of its byte. */
static int lut_image(const uint8_t *colours, const uint8_t *pixels, struct geo_image *out, struct arena *a,
		     struct err *e)
{
	size_t n = (size_t)out->w * out->h;

	out->indexed = arena_alloc(a, n, 1);
	out->palette = arena_alloc(a, 16, sizeof *out->palette);
	if (!out->indexed || !out->palette)
		return err_nomem(e);
	out->ncolours = 16;
	for (unsigned k = 1; k < 16; k++)
		jom_rgba(be_u16(colours + 2 * k), out->palette[k]);
	for (size_t i = 0; i < n; i++)
		out->indexed[i] = i & 1 ? pixels[i / 2] & 15 : pixels[i / 2] >> 4;
	return 0;
}

static int timg_image(const struct jom_picture *p, struct geo_image *out, struct arena *a, struct err *e)
{
	const uint8_t *data = p->raw + JOM_IMAGE_SIZE;

	return p->h.format == JOM_LUT16 ? lut_image(data, data + JOM_PALETTE_SIZE, out, a, e) :
					  words_image(data, true, out, a, e);
}

/* ---- TGA ---- */

/* Index 255 is the transparent one; colours that the map does not have are black. */
static int tga_indexed(const uint8_t *file, const struct jom_tga *t, const uint8_t *pixels, struct geo_image *out,
		       struct arena *a, struct err *e)
{
	out->indexed = arena_alloc(a, (size_t)out->w * out->h, 1);
	out->palette = arena_alloc(a, 256, sizeof *out->palette);
	if (!out->indexed || !out->palette)
		return err_nomem(e);
	out->ncolours = 256;
	for (unsigned k = 0; k < 255; k++) {
		const uint8_t *bgr = file + JOM_TGA_HEAD + 3 * k;
		uint8_t grey = t->ncolours ? 0 : (uint8_t)k;

		for (unsigned c = 0; c < 3; c++)
			out->palette[k][c] = k < t->ncolours ? bgr[2 - c] : grey;
		out->palette[k][3] = 255;
	}
	for (uint32_t y = 0; y < out->h; y++)
		memcpy(out->indexed + (size_t)(t->top_first ? y : out->h - 1 - y) * out->w, pixels + (size_t)y * out->w,
		       out->w);
	return 0;
}

static int tga_coloured(const struct jom_tga *t, const uint8_t *pixels, struct geo_image *out, struct arena *a,
			struct err *e)
{
	unsigned step = t->depth / 8u;

	out->rgba = arena_alloc(a, (size_t)out->w * out->h, 4);
	if (!out->rgba)
		return err_nomem(e);
	for (uint32_t y = 0; y < out->h; y++) {
		uint8_t *to = out->rgba + (size_t)(t->top_first ? y : out->h - 1 - y) * out->w * 4;

		for (uint32_t x = 0; x < out->w; x++, to += 4, pixels += step) {
			to[0] = pixels[2];
			to[1] = pixels[1];
			to[2] = pixels[0];
			to[3] = step == 4 ? pixels[3] : 255;
		}
	}
	return 0;
}

static int tga_image(const uint8_t *file, uint64_t size, struct geo_image *out, struct arena *a, struct err *e)
{
	struct jom_tga t;

	if (size < JOM_TGA_HEAD || !jom_tga_head(file, size, &t) || t.width != out->w || t.height != out->h)
		return err_set(e, EIO, "the picture's file has changed");
	return t.depth == 8 ? tga_indexed(file, &t, file + t.pixels_at, out, a, e) :
			      tga_coloured(&t, file + t.pixels_at, out, a, e);
}

/* ---- all of them ---- */

/* The file is read as it is now: its head may not be what it was when the model was opened. */
static int file_image(struct object *o, const struct jom_texture *t, struct geo_image *out, struct arena *a,
		      struct err *e)
{
	struct source *src = o->links[t->link].src;
	uint8_t *file = src->size <= LIMIT_DECODED ? arena_alloc(a, (size_t)src->size + 1, 1) : NULL;
	int rc = file ? src_read(src, file, (size_t)src->size, 0, "picture", e) : err_nomem(e);

	if (rc)
		return rc;
	if (t->source == JOM_FROM_TGA)
		return tga_image(file, src->size, out, a, e);
	if (!span_ok(src->size, JOM_BIN_HEAD, (uint64_t)out->w * out->h, 2))
		return err_set(e, EIO, "the picture's file has changed");
	return words_image(file + JOM_BIN_HEAD, t->big, out, a, e);
}

int jom_image(struct object *o, uint32_t i, struct geo_image *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	const struct jom_texture *t = &m->textures[i];

	*out = (struct geo_image){ .w = t->width, .h = t->height };
	if (t->source == JOM_MISSING)
		return err_set(e, ENOENT, "texture %u was not found", i);
	return t->source == JOM_FROM_TIMG ? timg_image(&m->pictures[i], out, a, e) : file_image(o, t, out, a, e);
}
