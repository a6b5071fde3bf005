/* PAK archives, written from the layout in design/views-ps3.md. */
#ifndef MODELFS_TESTS_BUILD_PAK_H
#define MODELFS_TESTS_BUILD_PAK_H

#include "build.h"

struct build_file_in_pak {
	const char *name;                      /* at most 56 bytes */
	const void *p;
	size_t n;
};

enum build_pak_where { BUILD_PAK_LAST, BUILD_PAK_FIRST, BUILD_PAK_BEHIND_ONE };        /* of the directory */

struct build_pak {
	enum build_pak_where where;
	uint32_t align;                        /* of files; 0: none */
	uint32_t gap;                          /* bytes 0xee behind each file */
};

void build_pak(struct buf *out, const struct build_pak *how, const struct build_file_in_pak *v, unsigned n);
/* Where entry i begins in the directory. */
size_t build_pak_entry(const struct buf *b, unsigned i);
/* Other numbers for entry i. */
void build_pak_place(struct buf *b, unsigned i, uint32_t offset, uint32_t size);

#endif
