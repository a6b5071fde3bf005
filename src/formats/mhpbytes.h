/* Comparing the bytes of an entry with their encoding, for the formats of the PSP Monster Hunter family. */
#ifndef MODELFS_MHPBYTES_H
#define MODELFS_MHPBYTES_H

#include <errno.h>

#include "source.h"

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
