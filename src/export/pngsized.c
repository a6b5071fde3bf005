/* A PNG whose size is known before what it shows: its picture is stored less exactly until it fits, and what is left
 * over is a chunk of zeros that readers pass over. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "bytes.h"
#include "export.h"

#define CHUNK_SIZE 12u                         /* length, name and sum */
/* Not needed to see the picture, nobody else's, safe to copy. */
static const char padding_name[4] = { 'm', 'f', 'P', 'd' };

/* What is tried, most exact first: colours without their lowest bits, then one for four pixels. */
static const struct { uint8_t drop; bool coarse; } tries[] = {
	{ 0, false }, { 1, false }, { 2, false }, { 3, false }, { 4, false }, { 2, true }, { 4, true }, { 6, true },
};

/* Rounded to what stays; black and white stay what they are. */
static uint8_t round_to(uint8_t v, unsigned drop)
{
	unsigned most = 255u >> drop;

	return (uint8_t)(((v * most + 127) / 255 * 255 + most / 2) / most);
}

static void make_coarser(const struct geo_image *from, uint8_t *to, unsigned drop, bool coarse)
{
	uint8_t rounded[256];

	for (unsigned i = 0; i < ARRAY_LEN(rounded); i++)
		rounded[i] = round_to((uint8_t)i, drop);
	for (uint32_t y = 0; y < from->h; y++)
		for (uint32_t x = 0; x < from->w; x++, to += 4) {
			size_t at = coarse ? (size_t)(y & ~1u) * from->w + (x & ~1u) : (size_t)y * from->w + x;

			for (unsigned k = 0; k < 4; k++)
				to[k] = rounded[from->rgba[4 * at + k]];
		}
}

/* Bits to drop so that `over` bytes less are needed: one saves no more than a bit of each colour that can be seen. */
static unsigned bits_over(const struct geo_image *img, size_t over)
{
	size_t n = (size_t)img->w * img->h, seen = 8;

	for (size_t i = 0; i < n; i++)
		seen += img->rgba[4 * i + 3] != 0;
	return (unsigned)(over / (seen / 2 + 1));
}

/* In front of the last chunk, which is empty. */
static void pad(struct buf *png, size_t size)
{
	size_t n = size - png->len - CHUNK_SIZE, at = png->len - CHUNK_SIZE;
	uint8_t *p = buf_room(png, size - png->len);

	if (!p)
		return;
	p = png->p + at;
	memmove(p + n + CHUNK_SIZE, p, CHUNK_SIZE);
	put_be32(p, (uint32_t)n);
	memcpy(p + 4, padding_name, 4);
	memset(p + 8, 0, n);
	put_be32(p + 8 + n, (uint32_t)crc32(crc32(0, NULL, 0), p + 4, (uInt)(n + 4)));
	png->len = size;
}

int png_write_sized(struct buf *out, const struct geo_image *img, size_t size, struct err *e)
{
	struct geo_image less = { .w = img->w, .h = img->h, .rgba = malloc((size_t)img->w * img->h * 4) };
	int rc = less.rgba ? -EFBIG : err_nomem(e);

	for (unsigned i = 0, skip = 0; i < ARRAY_LEN(tries) && rc == -EFBIG; i++) {
		struct buf png = { 0 };

		if (i && tries[i].drop < skip && !tries[i].coarse)
			continue;
		make_coarser(img, less.rgba, tries[i].drop, tries[i].coarse);
		rc = png_write(&png, &less, e);
		skip = tries[i].drop;
		if (!rc && png.len + CHUNK_SIZE > size) {
			skip += bits_over(img, png.len + CHUNK_SIZE - size);
			rc = err_set(e, EFBIG, "a PNG of %u x %u pixels in %zu bytes", img->w, img->h, size);
		}
		if (!rc) {
			pad(&png, size);
			buf_add(out, png.p, png.len);
			rc = png.bad || out->bad ? err_nomem(e) : 0;
		}
		buf_free(&png);
	}
	free(less.rgba);
	return rc;
}
