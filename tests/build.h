/* Bytes that tests and fuzzers build, and what a format's probe says of them. */
#ifndef MODELFS_TESTS_BUILD_H
#define MODELFS_TESTS_BUILD_H

#include "format.h"

void put8(struct buf *b, unsigned v);
void put16(struct buf *b, unsigned v);
void put32(struct buf *b, uint32_t v);
void put_float(struct buf *b, float v);
void put_zeros(struct buf *b, size_t to);      /* up to a multiple of `to` */
/* n bytes that look like nothing. */
void build_noise(struct buf *out, size_t n, uint32_t seed);

/* What the probe of a format bids for src, given its first bytes as format_detect() does; why may be NULL. */
int build_probe(const struct format *f, struct source *src, const char *name, const struct format *within,
		uint32_t index, struct err *why);

#endif
