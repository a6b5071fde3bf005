/* Disc images of plain sectors, written from spec/disc.md 4: system area, descriptors, path tables, directories, files;
 * with a Joliet tree there is one of each for it too. */
#ifndef MODELFS_TESTS_BUILD_ISO_H
#define MODELFS_TESTS_BUILD_ISO_H

#include "build.h"

struct build_iso_node {
	const char *name;                      /* as it is stored, with its version */
	const void *p;                         /* contents */
	size_t n;
	unsigned in;                           /* 1 + number of the directory it stands in; 0: the root */
	bool dir;
	const char *joliet;                    /* ASCII; NULL: as `name` */
	unsigned link;                         /* 1 + number of the file before it whose extent it has too */
	unsigned free;                         /* sectors behind it that nothing uses */
	unsigned cut;                          /* sectors of its first extent, when it has two; the other lies last */
	uint8_t flags, xar, unit, gap;
	uint16_t xa;                           /* attributes of an XA disc; 0: it has none */

	/* Out: */
	uint32_t lba, later;                   /* sector of the image: of the data, of the second extent */
	size_t record[2];                      /* where its first record begins: in the primary tree, in Joliet */
};

struct build_iso {
	bool joliet;
	uint32_t base;                         /* what is stored counts from there */
	const char *system_id, *volume_id;     /* NULL: blanks */
	unsigned free;                         /* sectors behind all files */

	/* Out: */
	uint32_t root[2], table[2];            /* sectors: of root directories, of little-endian path tables */
};

#define BUILD_ISO_DAY 120, 6, 5, 4, 3, 2, 4    /* of all records: 2020-06-05 04:03:02, an hour east of Greenwich */
#define BUILD_ISO_TIME 1591326182              /* the same in seconds since 1970 */

/* Records stand in the order of the nodes; directories before what lies in them. */
void build_iso(struct buf *out, struct build_iso *how, struct build_iso_node *v, unsigned n);
/* A number stored twice, at `at`. */
void build_iso_both32(struct buf *b, size_t at, uint32_t v);

#endif
