#include "build_pak.h"

#include <string.h>

#include "bytes.h"

static void put_directory(struct buf *b, unsigned n)
{
	put_le32(b->p + 4, (uint32_t)b->len);
	put_le32(b->p + 8, 64 * n);
	for (unsigned i = 0; i < 64 * n; i++)
		put8(b, 0);
}

void build_pak(struct buf *out, const struct build_pak *how, const struct build_file_in_pak *v, unsigned n)
{
	uint32_t at[64];

	buf_add(out, "PACK\0\0\0\0\0\0\0\0", 12);
	if (how->where == BUILD_PAK_FIRST)
		put_directory(out, n);
	for (unsigned i = 0; i < n; i++) {
		if (how->align)
			put_zeros(out, how->align);
		at[i] = (uint32_t)out->len;
		buf_add(out, v[i].p, v[i].n);
		for (uint32_t k = 0; k < how->gap; k++)
			put8(out, 0xee);
		if (!i && how->where == BUILD_PAK_BEHIND_ONE)
			put_directory(out, n);
	}
	if (how->where == BUILD_PAK_LAST)
		put_directory(out, n);
	for (unsigned i = 0; i < n; i++) {
		memcpy(out->p + build_pak_entry(out, i), v[i].name, strnlen(v[i].name, 56));
		build_pak_place(out, i, at[i], (uint32_t)v[i].n);
	}
}

size_t build_pak_entry(const struct buf *b, unsigned i)
{
	return le_u32(b->p + 4) + (size_t)64 * i;
}

void build_pak_place(struct buf *b, unsigned i, uint32_t offset, uint32_t size)
{
	put_le32(b->p + build_pak_entry(b, i) + 56, offset);
	put_le32(b->p + build_pak_entry(b, i) + 60, size);
}
