/* zlib streams (RFC 1950), and those of deflate alone (RFC 1951). */
#ifndef MODELFS_ZSTREAM_H
#define MODELFS_ZSTREAM_H

#include "source.h"

extern const struct packer zlib_packer;

/* Whether a stream may begin with these two bytes. */
bool zlib_begins(const uint8_t head[2]);
/* The window of a stream that begins with that byte, as zlib's windowBits. */
static inline unsigned zlib_window(uint8_t first)
{
	return 8 + (first >> 4);
}
/* Packs n bytes, at most LIMIT_DECODED, into *out, from malloc(), as zlib does at its best level; if that is longer
 * than `room`, other ways are tried until one fits, and the shortest is what comes out. The same each time. ENOMEM. */
int zlib_pack(const uint8_t *p, size_t n, unsigned window, uint64_t room, uint8_t **out, size_t *nout, struct err *e);
/* The same as a deflate stream, without header and checksum. */
int deflate_pack(const uint8_t *p, size_t n, uint64_t room, uint8_t **out, size_t *nout, struct err *e);
/* How many bytes a zlib stream becomes, `most` + 1 when they are more. EBADMSG. */
int zlib_measure(struct source *stream, uint64_t most, uint64_t *n, struct err *e);

#endif
