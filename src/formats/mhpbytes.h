/* What the formats of the PSP Monster Hunter family share: reading a few bytes, comparing an encoding. */
#ifndef MODELFS_MHPBYTES_H
#define MODELFS_MHPBYTES_H

#include <errno.h>
#include <string.h>

#include "format.h"

/* All n bytes at `at` of the entry. */
static inline int mhp_read(const struct object *o, uint64_t at, void *p, size_t n, const char *what, struct err *e)
{
	return src_read(o->src, p, n, at, what, e);
}

/* -EILSEQ and the first difference between the n bytes stored at `at` and their encoding. */
static inline int mhp_same(const struct source *src, uint64_t at, const char *what, const uint8_t *stored,
			   const uint8_t *again, size_t n, struct err *e)
{
	size_t k = 0;

	while (k < n && stored[k] == again[k])
		k++;
	return k == n ? 0 : err_at(e, EILSEQ, src, at + k, what, "0x%02x is stored, encoded again it is 0x%02x",
				   stored[k], again[k]);
}

#endif
