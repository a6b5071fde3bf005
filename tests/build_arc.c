#include "build_arc.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bytes.h"

static void put_word(struct buf *b, bool be, uint32_t v)
{
	uint8_t raw[4];

	if (be)
		put_be32(raw, v);
	else
		put_le32(raw, v);
	buf_add(b, raw, sizeof raw);
}

static void put_half(struct buf *b, bool be, unsigned v)
{
	put8(b, (be ? v >> 8 : v) & 0xff);
	put8(b, (be ? v : v >> 8) & 0xff);
}

static size_t header_size(uint16_t version)
{
	return version < 0x10 ? 8 : 12;
}

size_t build_arc_entry(uint16_t version, unsigned i)
{
	return header_size(version) + (size_t)80 * i;
}

static size_t add_data(struct buf *data, const struct build_file_in_arc *f)
{
	uLongf n = compressBound(f->n);
	uint8_t *p;

	if (f->level == BUILD_NOTHING)
		return 0;
	if (f->level == BUILD_STORED) {
		buf_add(data, f->p, f->n);
		return f->n;
	}
	p = malloc(n);
	if (!p || compress2(p, &n, f->n ? f->p : p, f->n, f->level) != Z_OK)
		abort();
	buf_add(data, p, n);
	free(p);
	return n;
}

void build_arc(struct buf *out, const struct build_arc *how, const struct build_file_in_arc *v, unsigned n)
{
	size_t start = build_arc_entry(how->version, n);
	struct buf data = { 0 };

	start = how->first > start ? how->first : start;
	buf_add(out, how->be ? "\0CRA" : "ARC", 4);
	put_half(out, how->be, how->version);
	put_half(out, how->be, n);
	if (header_size(how->version) > 8)
		put_word(out, how->be, 0);
	for (unsigned i = 0; i < n; i++) {
		size_t at = start + data.len, packed = add_data(&data, &v[i]);
		uint32_t size = v[i].level == BUILD_NOTHING ? 0 : (uint32_t)v[i].n;
		char path[64] = "";

		memcpy(path, v[i].path, strnlen(v[i].path, sizeof path));
		buf_add(out, path, sizeof path);
		put_word(out, how->be, v[i].type);
		put_word(out, how->be, (uint32_t)packed);
		put_word(out, how->be, how->low ? size << 3 | 2 : size | 0x40000000);
		put_word(out, how->be, (uint32_t)at);
		for (uint32_t k = 0; k < how->gap; k++)
			put8(&data, 0);
	}
	while (out->len < start)
		put8(out, 0);
	buf_add(out, data.p, data.len);
	buf_free(&data);
}
