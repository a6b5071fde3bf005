#include "build.h"

#include "bytes.h"

void put8(struct buf *b, unsigned v)
{
	buf_char(b, (char)v);
}

void put16(struct buf *b, unsigned v)
{
	put8(b, v & 0xff);
	put8(b, v >> 8 & 0xff);
}

void put32(struct buf *b, uint32_t v)
{
	put16(b, v & 0xffff);
	put16(b, v >> 16);
}

void put_float(struct buf *b, float v)
{
	put32(b, f32_bits(v));
}

void put_zeros(struct buf *b, size_t to)
{
	while (b->len % to)
		put8(b, 0);
}

void build_noise(struct buf *out, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		buf_char(out, (char)(seed >> 24));
	}
}

int build_probe(const struct format *f, struct source *src, const char *name, const struct format *within,
		uint32_t index, struct err *why)
{
	uint8_t room[PROBE_MOST];
	struct probe p = { .name = name, .within = within, .index = index, .size = src->size, .head = room, .src = src,
			   .why = why, .room = room };

	p.n = src->size < PROBE_FIRST ? (size_t)src->size : PROBE_FIRST;
	if (src_pread(src, room, p.n, 0))
		return -1;
	return f->probe(&p);
}
