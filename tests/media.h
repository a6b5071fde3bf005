/* Media of images in memory, and what is expected of them. */
#ifndef MODELFS_TESTS_MEDIA_H
#define MODELFS_TESTS_MEDIA_H

#include "disc.h"

/* The medium of n bytes, which stay where they are. */
struct source *media_open(const void *p, size_t n, struct disc_kind *kind);
/* All of it at once, then in that many pieces at random. */
void media_same(struct source *src, const uint8_t *want, size_t size, unsigned rounds);
/* The position of block i of a CSO, as it is stored, without its flag. */
uint32_t cso_entry(const struct buf *b, unsigned i);

#endif
