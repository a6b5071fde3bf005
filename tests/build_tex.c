#include "build_tex.h"

#include "build.h"

static struct build_tex filled(struct build_tex t)
{
	t.kind = t.kind ? t.kind : 2;
	t.levels = t.levels ? t.levels : 1;
	t.images = t.images ? t.images : 1;
	t.depth = t.depth ? t.depth : 1;
	return t;
}

static size_t halved(size_t n, uint32_t level)
{
	n >>= level;
	return n ? n : 1;
}

size_t build_tex_size(struct build_tex t, uint32_t level)
{
	size_t w = halved(t.w, level), h = halved(t.h, level);

	t = filled(t);
	h *= t.kind == 3 && t.code < 0x16 ? halved(t.depth, level) : 1;
	switch (t.code) {
	case 0x01: return w * h * 16;
	case 0x02: return w * h * 8;
	case 0x07:
	case 0x09: return w * h * 4;
	case 0x13: return w * h * 2;
	}
	w = (w + 3) / 4 * ((h + 3) / 4) * (t.kind == 3 ? halved(t.depth, level) : 1);
	return w * (t.code >= 0x16 && t.code <= 0x18 ? 8 : 16);
}

uint64_t build_tex_at(struct build_tex t, uint32_t surface)
{
	uint64_t at;

	t = filled(t);
	at = 0xb8 + 8 * (uint64_t)t.images * t.levels;
	for (uint32_t i = 0; i < surface; i++)
		at += build_tex_size(t, i % t.levels);
	return at;
}

struct buf build_tex(struct build_tex t)
{
	uint32_t head[8];
	struct buf b = { 0 };

	t = filled(t);
	head[0] = t.kind;
	head[1] = t.levels;
	head[2] = t.w;
	head[3] = t.h;
	head[4] = t.images;
	head[5] = t.code;
	head[6] = t.depth;
	buf_add(&b, "TEX", 4);
	put32(&b, 16);
	put32(&b, 0);
	put32(&b, 0);
	for (unsigned i = 0; i < 7; i++)
		put32(&b, head[i]);
	for (unsigned i = 0x2c; i < 0xb8; i++)
		put8(&b, (i >= 0x38 && i < 0x3c) || (i >= 0x58 && i < 0x78) ? 0xff : i == 0x78 ? 9 : 0);
	for (uint32_t i = 0; i < t.images * t.levels; i++) {
		put32(&b, (uint32_t)build_tex_at(t, i));
		put32(&b, 0);
	}
	for (uint32_t i = 0; i < t.images * t.levels; i++)
		for (size_t k = 0, n = build_tex_size(t, i % t.levels); k < n; k++)
			put8(&b, (unsigned)(k * 37 + k / 64 + i * 101 + 5));
	return b;
}
