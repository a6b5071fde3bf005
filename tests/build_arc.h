/* ARC archives, written from the layout in spec/mtf-arc.md. */
#ifndef MODELFS_TESTS_BUILD_ARC_H
#define MODELFS_TESTS_BUILD_ARC_H

#include "build.h"

enum {
	BUILD_STORED = -1,                     /* as it is */
	BUILD_NOTHING = -2                     /* no bytes, packed size 0 */
};

struct build_file_in_arc {
	const char *path;                      /* with \, at most 64 bytes */
	uint32_t type;
	const void *p;
	size_t n;
	int level;                             /* of zlib, 0 to 9, or BUILD_... */
};

struct build_arc {
	uint16_t version;
	bool be, low;                          /* low: flags in the lowest bits of the size */
	uint32_t first;                        /* offset of the data, at least */
	uint32_t gap;                          /* zeros behind each stream */
};

#define ARC_TYPE_MOD 0x58a15856u
#define ARC_TYPE_TEX 0x241f5debu
#define ARC_TYPE_ARC 0x73850d05u
#define ARC_TYPE_GMD 0x242bb29au

void build_arc(struct buf *out, const struct build_arc *how, const struct build_file_in_arc *v, unsigned n);
/* Where the table's entry i begins, in an archive of that version. */
size_t build_arc_entry(uint16_t version, unsigned i);

#endif
