/* PNG of any kind, as RGBA of 8 bits. Colours are taken as they are stored: gAMA, sRGB and iCCP are ignored. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spng.h>

#include "export.h"

/* Of an inflated extra chunk (profiles, texts), and of all of them. */
#define CHUNK_MOST ((size_t)16 << 20)
#define CHUNKS_MOST ((size_t)32 << 20)

static int refuse(int rc, struct err *e)
{
	return rc == SPNG_EMEM ? err_nomem(e) : err_set(e, EINVAL, "no PNG that can be read: %s", spng_strerror(rc));
}

/* All of the picture in one of libspng's formats; the caller frees *out. */
static int decode(spng_ctx *ctx, int format, int flags, uint8_t **out, size_t *n)
{
	int rc = spng_decoded_image_size(ctx, format, n);

	*out = NULL;
	if (rc)
		return rc;
	/* Pixels of less than a byte are added to what is there when they are interlaced. */
	*out = calloc(*n + 1, 1);
	rc = *out ? spng_decode_image(ctx, *out, *n, format, flags) : SPNG_EMEM;
	/* The chunks behind it too: a file that was cut there is not whole. */
	return rc ? rc : spng_decode_chunks(ctx);
}

/* ---- colours ---- */

static int read_rgba8(spng_ctx *ctx, const struct geo_image *img, struct err *e)
{
	size_t n = (size_t)img->w * img->h * 4, decoded;
	uint8_t *all;
	int rc = decode(ctx, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS, &all, &decoded);

	if (!rc)
		memcpy(img->rgba, all, n);
	free(all);
	return rc ? refuse(rc, e) : 0;
}

/* libspng cuts the lower half off, which is not the nearest number of 8 bits. */
static int read_rgba16(spng_ctx *ctx, const struct geo_image *img, struct err *e)
{
	size_t n = (size_t)img->w * img->h * 4, decoded;
	uint8_t *all;
	int rc = decode(ctx, SPNG_FMT_RGBA16, SPNG_DECODE_TRNS, &all, &decoded);

	for (size_t i = 0; i < n && !rc; i++) {
		uint16_t v;

		memcpy(&v, all + 2 * i, sizeof v);
		img->rgba[i] = (uint8_t)((v * 255u + 32767u) / 65535u);
	}
	free(all);
	return rc ? refuse(rc, e) : 0;
}

/* ---- palettes ---- */

/* The numbers of a row of `depth` bits each, the leftmost in the highest bits. */
static void unpack_row(uint8_t *to, const uint8_t *row, uint32_t w, unsigned depth)
{
	for (uint32_t x = 0; x < w; x++) {
		size_t bit = (size_t)x * depth;

		to[x] = (uint8_t)(row[bit / 8] >> (8 - depth - bit % 8) & ((1u << depth) - 1));
	}
}

static int read_palette(spng_ctx *ctx, struct geo_image *img, uint32_t *n, struct err *e)
{
	struct spng_trns trns = { 0 };
	struct spng_plte plte;
	int rc = spng_get_plte(ctx, &plte);

	if (!rc) {
		rc = spng_get_trns(ctx, &trns);
		rc = rc == SPNG_ECHUNKAVAIL ? 0 : rc;
	}
	if (rc)
		return refuse(rc, e);
	*n = plte.n_entries < img->ncolours ? plte.n_entries : img->ncolours;
	for (uint32_t i = 0; i < *n; i++) {
		const struct spng_plte_entry *c = &plte.entries[i];
		uint8_t alpha = i < trns.n_type3_entries ? trns.type3_alpha[i] : 255;

		memcpy(img->palette[i], (const uint8_t[4]){ c->red, c->green, c->blue, alpha }, 4);
	}
	return 0;
}

static int look_up(struct geo_image *img, uint32_t ncolours, struct err *e)
{
	size_t n = (size_t)img->w * img->h;

	for (size_t i = 0; i < n; i++) {
		if (img->indexed[i] >= ncolours)
			return err_set(e, EINVAL, "pixel %zu of row %zu has colour %u of a palette of %u", i % img->w,
				       i / img->w, img->indexed[i], ncolours);
		memcpy(img->rgba + 4 * i, img->palette[img->indexed[i]], 4);
	}
	return 0;
}

static int read_indexed(spng_ctx *ctx, struct geo_image *img, unsigned depth, struct err *e)
{
	size_t n, pitch = ((size_t)img->w * depth + 7) / 8;
	uint32_t ncolours = 0;
	uint8_t *all;
	int rc = decode(ctx, SPNG_FMT_RAW, 0, &all, &n);

	for (uint32_t y = 0; y < img->h && !rc; y++)
		unpack_row(img->indexed + (size_t)y * img->w, all + y * pitch, img->w, depth);
	free(all);
	if (rc)
		return refuse(rc, e);
	rc = read_palette(ctx, img, &ncolours, e);
	return rc ? rc : look_up(img, ncolours, e);
}

static int read_picture(spng_ctx *ctx, const struct spng_ihdr *ihdr, struct geo_image *out, struct arena *a,
			struct err *e)
{
	size_t n = (size_t)ihdr->width * ihdr->height;

	*out = (struct geo_image){ .w = ihdr->width, .h = ihdr->height };
	out->rgba = arena_alloc(a, n, 4);
	if (!out->rgba)
		return err_nomem(e);
	if (ihdr->color_type != SPNG_COLOR_TYPE_INDEXED)
		return ihdr->bit_depth == 16 ? read_rgba16(ctx, out, e) : read_rgba8(ctx, out, e);
	out->ncolours = ihdr->bit_depth <= 4 ? 16 : 256;
	out->indexed = arena_alloc(a, n, 1);
	out->palette = arena_alloc(a, out->ncolours, sizeof *out->palette);
	return out->indexed && out->palette ? read_indexed(ctx, out, ihdr->bit_depth, e) : err_nomem(e);
}

static int open_png(spng_ctx *ctx, const uint8_t *bytes, size_t n, struct spng_ihdr *ihdr, struct err *e)
{
	int rc = ctx ? 0 : SPNG_EMEM;

	rc = rc ? rc : spng_set_chunk_limits(ctx, CHUNK_MOST, CHUNKS_MOST);
	rc = rc ? rc : spng_set_png_buffer(ctx, bytes, n);
	rc = rc ? rc : spng_get_ihdr(ctx, ihdr);
	return rc ? refuse(rc, e) : 0;
}

int png_size(const uint8_t *bytes, size_t n, uint32_t *w, uint32_t *h, struct err *e)
{
	spng_ctx *ctx = spng_ctx_new(0);
	struct spng_ihdr ihdr = { 0 };
	int rc = open_png(ctx, bytes, n, &ihdr, e);

	*w = ihdr.width;
	*h = ihdr.height;
	spng_ctx_free(ctx);
	return rc;
}

int png_read(const uint8_t *bytes, size_t n, uint32_t w, uint32_t h, struct geo_image *out, struct arena *a,
	     struct err *e)
{
	spng_ctx *ctx = spng_ctx_new(0);
	struct spng_ihdr ihdr;
	int rc = open_png(ctx, bytes, n, &ihdr, e);

	*out = (struct geo_image){ 0 };
	if (!rc && (ihdr.width != w || ihdr.height != h))
		rc = err_set(e, EINVAL, "%ux%u needed, got %ux%u", w, h, ihdr.width, ihdr.height);
	rc = rc ? rc : read_picture(ctx, &ihdr, out, a, e);
	spng_ctx_free(ctx);
	return rc;
}
