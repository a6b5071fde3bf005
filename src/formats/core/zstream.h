/* zlib streams (RFC 1950). */
#ifndef MODELFS_ZSTREAM_H
#define MODELFS_ZSTREAM_H

#include "source.h"

extern const struct packer zlib_packer;

/* Whether a stream may begin with these two bytes. */
bool zlib_begins(const uint8_t head[2]);
/* How many bytes a stream becomes, `most` + 1 when they are more. EBADMSG. */
int zlib_measure(struct source *stream, uint64_t most, uint64_t *n, struct err *e);

#endif
