/* What reading and writing an ARC share. */
#ifndef MODELFS_ARC_H
#define MODELFS_ARC_H

#include "format.h"
#include "names.h"

#define ARC_PATH_SIZE 64u
#define ARC_ENTRY_SIZE 80u
#define ARC_HEADER_MOST 12u
#define ARC_LONG_HEADER 0x10u                  /* the first version whose header has 12 bytes */
#define ARC_LZX_VERSION 0x11u
#define ARC_SEPARATOR '\\'                    /* of folders in a path */

/* Places of fields in an entry that are written one by one. */
#define ARC_AT_PACKED 0x44u
#define ARC_AT_SIZE 0x48u
#define ARC_AT_OFFSET 0x4cu

enum arc_section { ARC_HEADER, ARC_ENTRIES, ARC_SECTIONS };

struct arc_header { uint16_t version, count; uint32_t extra; };

struct arc_entry {
	char path[ARC_PATH_SIZE];
	uint32_t type, packed, size, offset;   /* size: with flags, as it is stored */
};

/* The word that has size and flags, in big-endian archives of either kind. */
enum arc_layout {
	ARC_FLAGS_HIGH,                        /* 3 bits of flags, then 29 of size */
	ARC_FLAGS_LOW                          /* 29 bits of size, then 3 of flags */
};

struct arc {
	bool be;
	uint8_t layout;                        /* enum arc_layout */
	uint32_t start;                        /* of the table: bytes of the header */
	uint32_t n;
	struct arc_header header;
	struct arc_entry *entry;               /* n, as they are stored */
	struct entry *shown;                   /* n */
	const char **name;                     /* n, with extension */
	uint32_t nlost;
};

#define ARC_SIZE_MOST 0x1fffffffu

static inline uint32_t arc_size(unsigned layout, uint32_t word)
{
	return layout == ARC_FLAGS_LOW ? word >> 3 : word & ARC_SIZE_MOST;
}

/* The word for another size, with the flags it had. */
static inline uint32_t arc_size_word(unsigned layout, uint32_t word, uint32_t size)
{
	return layout == ARC_FLAGS_LOW ? size << 3 | (word & 7) : (word & ~ARC_SIZE_MOST) | size;
}

static inline uint64_t arc_table_end(const struct arc *arc)
{
	return arc->start + (uint64_t)ARC_ENTRY_SIZE * arc->n;
}

extern const struct record arc_header_short, arc_header_long, arc_entry_record;
extern const struct variant arc_variants[2];   /* with the short header, with the long one */

/* Bytes of the header, from the first ones of an archive; 0 and why for one whose data cannot be read. */
uint32_t arc_header_size(const uint8_t *head, size_t n, const struct source *src, struct err *e);
int arc_open(struct object *o, struct err *e);

/* container_ops.put */
int arc_put(struct object *o, struct entries *v, uint32_t i, struct source *now, struct err *e);

#endif
