/* What a disc image is stored as: 2048-byte sectors, raw sectors, packed blocks. Whatever it is, the file system of the
 * disc lies in a source of its 2048-byte sectors, one behind the other: the medium. */
#ifndef MODELFS_DISC_H
#define MODELFS_DISC_H

#include "plan.h"

#define SECTOR 2048u
#define RAW_SECTOR 2352u                       /* with sync, header, EDC and ECC */
#define DISC_FIRST 24u                         /* bytes that tell an image that is not plain */
#define DISC_MOST ((uint64_t)1 << 40)          /* bytes that a packed image may become */

struct disc_kind {
	const char *name;                      /* "2048", "MODE1/2352", "cso" */
	const char *fixed;                     /* why it is never written: "zso is read-only"; NULL: it can be */
	uint32_t stride;                       /* bytes of a sector in the file; 0: its blocks are packed */
	uint32_t block;                        /* of packed ones; else 0 */
	uint64_t sectors;
	int32_t first;                         /* LBA of the first one, as its header says; 0 where none does */
};

/* What n bytes from the start of a file of that size promise: false when it is no image. */
bool disc_begins(const uint8_t *head, size_t n, uint64_t size);
/* The medium of an image, with one reference, and what it is. EBADMSG when the bytes are no image; of a plain one only
 * the start of a volume descriptor is looked at. One that cannot be written to remembers what it has unpacked: after a
 * change of the file it has to be opened anew. */
int disc_medium(struct source *file, struct disc_kind *kind, struct source **out, struct err *e);
/* container_ops.medium_put: makes the medium what a plan over it says, by writing to the image that it is of. A packed
 * block that no longer fits is ENOSPC, or, with grow, *moved becomes what the file is to be; else it is NULL. EROFS:
 * kind.fixed. */
int disc_put(struct source *file, const struct plan *now, bool grow, struct source **moved, struct err *e);

/* ---- sectors.c: a file of sectors ------------------------------------------------------------------------------- */

/* User data of raw sectors of `stride` bytes: 2352, 2448 (subchannel behind each) or 2336 (neither sync nor header
 * before). A part of one at the end does not count. EIO where a sector holds none. */
struct source *src_sectors(struct source *file, uint32_t stride);
/* The bytes of parent, then zeros up to a multiple of SECTOR; only zeros can be written to those: ENOSPC. fixed:
 * nothing can be written. */
struct source *src_padded(struct source *parent, bool fixed);
/* How many of n sectors from the k-th on hold user data, before the first that does not. */
int sectors_count_data(struct source *file, uint32_t stride, uint64_t k, uint64_t n, uint64_t *data, struct err *e);
/* Sectors whose EDC is wrong, among n from the k-th on; those that have none do not count. */
struct sectors_wrong { uint64_t n, first; };
int sectors_verify(struct source *file, uint64_t k, uint64_t n, struct sectors_wrong *out, struct err *e);

/* ---- edcecc.c: codes of a raw sector ---------------------------------------------------------------------------- */

extern const uint8_t sector_sync[12];

/* The EDC over bytes that follow others, whose EDC is r; 0 at first. */
uint32_t edc_add(uint32_t r, const uint8_t *p, size_t n);
/* Of a sector of mode 1, or mode 2 form 1 or 2: whether its EDC is that of its bytes. */
bool sector_is_intact(const uint8_t s[RAW_SECTOR]);
/* Whether such a sector was given codes at all: some writers leave all of their bytes zero. */
bool sector_has_codes(const uint8_t s[RAW_SECTOR]);
/* Makes EDC, P and Q anew, of mode 1 or mode 2 form 1. */
void sector_seal(uint8_t s[RAW_SECTOR]);

/* ---- blocks.c: a file of packed blocks --------------------------------------------------------------------------- */

enum pack { PACK_NONE, PACK_DEFLATE, PACK_ZLIB, PACK_LZ4 };

/* Where a block lies in the file, and as what. */
struct slot { uint64_t at, size; uint8_t pack; };

/* Entries of a table in the file, 4 bytes each, that were read last. */
#define TABLE_PIECE 256u
struct table_piece { uint64_t first; uint32_t n, most; uint8_t raw[TABLE_PIECE * 4]; };

/* The table of a packed image. */
struct block_index {
	/* Where block i lies. EIO when that cannot be. */
	int (*find)(const struct block_index *x, struct source *file, struct table_piece *p, uint64_t i,
		    struct slot *out);
	uint64_t bytes;                        /* that the blocks become, as the header says */
	uint64_t n;                            /* blocks */
	uint32_t block;                        /* bytes of one, a power of two from SECTOR to BLOCK_MOST */
	uint32_t last;                         /* that the last one has to become, at least; zeros follow */
	const char *name;                      /* of the kind */
	uint8_t version, shift;                /* of a CSO, or a ZSO: lz4 */
	bool lz4;
	uint8_t *plain;                        /* of a DAX: a bit for each block that is not packed; NULL: none is */
};
#define BLOCK_MOST ((uint32_t)16 << 20)

/* Bytes that a block of that size can be packed to, more than any packer needs. */
static inline uint32_t slot_most(uint32_t block)
{
	return block + block / 8 + 4096;
}

/* Entries i to i + n - 1 of a table of `all` at `at`, as they are stored. When they have to be read, so are those
 * behind, p->most in all. */
int table_read(struct table_piece *p, struct source *file, uint64_t at, uint64_t all, uint64_t i, uint32_t n,
	       const uint8_t **out);
/* What the blocks become, read-only. Takes x->plain, also when it fails: NULL, out of memory. */
struct source *src_unpacked_blocks(struct source *file, const struct block_index *x);

/* ---- cso.c, dax.c ------------------------------------------------------------------------------------------------ */

#define CSO_HEADER 24u
#define CSO_PLAIN 0x80000000u                  /* flag of a position: the block is not packed (v0, v1) */

static inline uint64_t cso_position(const struct block_index *x, uint32_t stored)
{
	return (uint64_t)(stored & ~CSO_PLAIN) << x->shift;
}

/* EBADMSG when the header or the size of the file cannot be. */
int cso_open(struct source *file, struct block_index *out, struct err *e);
int dax_open(struct source *file, struct block_index *out, struct err *e);     /* out->plain: from malloc() */
/* disc_put() of an image with that table, of version 0 or 1. */
int cso_put(struct source *file, const struct block_index *x, struct source *medium, const struct plan *now, bool grow,
	    struct source **moved, struct err *e);

#endif
