/* Small PSP Monster Hunter archives in memory, sound or with any word of theirs changed. */
#ifndef MODELFS_TESTS_BUILD_MHP_H
#define MODELFS_TESTS_BUILD_MHP_H

#include "build.h"

#define BUILD_BLOCK 2048u

struct build_file {
	const void *bytes;
	size_t n;
	bool exact;                            /* has an exact-size pair */
	bool plain;                            /* stored without the cipher in an archive that has one */
	unsigned slack;                        /* blocks that its slot is longer than needed; not with a pair */
};

/* A DATA.BIN, encrypted when coded. Padding and leftover are noise; the leftover begins with what is no pair. */
void build_databin(struct buf *out, const struct build_file *files, uint32_t n, bool coded);
/* Word i of its table; and another value for it. */
uint32_t build_word(const struct buf *b, bool coded, uint32_t i);
void build_set_word(struct buf *b, bool coded, uint32_t i, uint32_t value);

struct build_bytes { const void *p; size_t n; };

/* A PAC whose entries lie at multiples of align; entries of no bytes are empty ones. */
void build_pac(struct buf *out, const struct build_bytes *entries, uint32_t n, uint32_t align);

/* Collects what a format says in a document: lines of "key: value". */
struct build_doc { struct doc doc; struct buf text; };
void build_doc_init(struct build_doc *d);

#endif
