/* PNGs of the size they say: what is accepted has pixels of its palette. */
#include <string.h>
#include <zlib.h>

#include "bytes.h"
#include "export.h"
#include "fuzz.h"

/* A copy with the check sums put right, which chance would not find. */
static uint8_t *sealed(const uint8_t *data, size_t size)
{
	uint8_t *p = malloc(size + 1);

	if (!p)
		abort();
	memcpy(p, data, size);
	for (size_t at = 8; span_ok(size, at, 12, 1);) {
		uint64_t n = __builtin_bswap32(le_u32(p + at));
		uint32_t sum;

		if (!span_ok(size, at + 12, n, 1))
			break;
		sum = __builtin_bswap32((uint32_t)crc32(0, p + at + 4, (uInt)n + 4));
		memcpy(p + at + 8 + n, &sum, 4);
		at += 12 + n;
	}
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t w = size < 24 ? 0 : __builtin_bswap32(le_u32(data + 16));
	uint32_t h = size < 24 ? 0 : __builtin_bswap32(le_u32(data + 20));
	struct arena a = { 0 };
	struct geo_image img;
	uint8_t *png;
	struct err e;
	int rc;

	if (w > 512 || h > 512)
		return 0;
	png = sealed(data, size);
	rc = png_read(png, size, w, h, &img, &a, &e);
	if (rc && rc != -EINVAL)
		abort();
	for (size_t i = 0; !rc && img.indexed && i < (size_t)w * h; i++)
		if (img.indexed[i] >= img.ncolours || memcmp(img.rgba + 4 * i, img.palette[img.indexed[i]], 4))
			abort();
	arena_free(&a);
	free(png);
	return 0;
}
