#include "build_tmh.h"

void begin_bank(struct buf *b, uint32_t n)
{
	buf_str(b, ".TMH0.14");
	put32(b, n);
	put32(b, 0);
}

void add_image(struct buf *b, struct picture p)
{
	uint32_t each = p.clut == F8888 ? 4 : 2, pixels = 16 + (uint32_t)p.npixels;
	uint32_t clut = p.entries ? 16 + p.entries * each : 0;

	put32(b, 16 + pixels + clut);
	put32(b, 0);
	put32(b, 1);
	put32(b, p.entries != 0);
	put32(b, pixels);
	put32(b, 1);
	put32(b, p.format);
	put32(b, p.w | p.h << 16);
	if (p.pixels)
		buf_add(b, p.pixels, p.npixels);
	else
		build_noise(b, p.npixels, p.format + p.w);
	if (!p.entries)
		return;
	put32(b, clut);
	put32(b, 2);
	put32(b, p.clut);
	put32(b, p.entries);
	if (p.colours)
		buf_add(b, p.colours, (size_t)p.entries * each);
	else
		build_noise(b, (size_t)p.entries * each, p.entries);
}
