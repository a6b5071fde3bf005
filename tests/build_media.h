/* Disc images that tests build: raw sectors with codes by their definition, packed blocks. */
#ifndef MODELFS_TESTS_BUILD_MEDIA_H
#define MODELFS_TESTS_BUILD_MEDIA_H

#include "disc.h"

/* Adds a raw sector, of mode 1, or 2 for form 1 of mode 2. */
void build_raw(struct buf *out, uint32_t lba, const uint8_t user[SECTOR], unsigned mode);
/* Whether all symbols of its P and Q add up to 0 both ways, and its EDC, bit by bit, is right. */
bool raw_codes_hold(const uint8_t s[RAW_SECTOR]);
uint32_t raw_edc(const uint8_t *p, size_t n);

struct packing_form {
	char magic[4];                         /* "CISO", "ZISO" */
	uint8_t version, shift;
	uint32_t block;
	uint32_t plain;                        /* blocks whose number is a multiple are stored as they are; 0: none */
	uint32_t slack;                        /* bytes of each slot behind the stream, at least */
};
void build_cso(struct buf *out, const uint8_t *p, size_t n, const struct packing_form *how);
/* plain: as of a CSO; 0: version 0. whole: the last stream becomes a whole block. */
void build_dax(struct buf *out, const uint8_t *p, size_t n, uint32_t plain, bool whole);

/* Text, so that it can be packed, with noise in one of 32 bytes. */
void build_text(uint8_t *p, size_t n, uint32_t seed);

#endif
