/* Bytes being written: the contents of a file that is open for writing, or of one that exists in memory only.
 *
 * Pages that were never written come from a base source, so opening a large entry to change a few bytes copies nothing.
 * Past STORE_IN_MEMORY bytes of pages they move to an unlinked temporary file. A store is used by one thread at a
 * time. */
#ifndef MODELFS_STORE_H
#define MODELFS_STORE_H

#include "source.h"

#define STORE_IN_MEMORY ((size_t)16 << 20)
#define STORE_MOST ((uint64_t)1 << 30)         /* pages of all stores of a tree together */

struct store;

/* base NULL: empty. used: bytes all stores that share it hold. NULL when out of memory. */
struct store *store_new(struct source *base, _Atomic uint64_t *used);
void store_free(struct store *s);              /* NULL is fine */
uint64_t store_size(const struct store *s);
/* Bytes read, fewer at the end; or a negative errno. */
int store_read(struct store *s, void *buf, size_t n, uint64_t at);
/* 0, ENOMEM, ENOSPC past STORE_MOST, EFBIG; the size grows to hold what was written. */
int store_write(struct store *s, const void *buf, size_t n, uint64_t at);
int store_truncate(struct store *s, uint64_t size);    /* what is new reads as zero; EFBIG, ENOMEM */
/* The same bytes in a new store of the caller's, which needs no base any more; holes stay holes. ENOMEM, ENOSPC. */
int store_copy(struct store *s, struct store **out);
/* All bytes as one text; EFBIG past `most`. */
int store_text(struct store *s, size_t most, struct buf *out, struct err *e);
/* Calls fn for the runs of bytes that may differ from base, ascending; stops at the first result that is not 0. */
int store_each(struct store *s, int (*fn)(void *ctx, uint64_t at, const uint8_t *p, size_t n), void *ctx);

#endif
