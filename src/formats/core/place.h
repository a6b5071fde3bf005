/* In-place layout: where the blocks of a region go when some of them change their size.
 *
 * A block that did not change is never moved. A changed one that still fits where it was, with the zeros behind it that
 * are no block's, stays there; else it goes to the first hole that holds it (bytes no block claims and that are zero,
 * or the old place of a block that moved or was given up), then behind the last block. Old places that two blocks claim
 * belong to the one that did not change. The caller writes the bytes and follows with its tables. */
#ifndef MODELFS_PLACE_H
#define MODELFS_PLACE_H

#include "source.h"

struct block {
	uint64_t at, size;                     /* old place, inside the region; size 0: it is new */
	uint64_t want;                         /* new size; 0: given up; of one that is not `changed`: equal to size */
	uint64_t least;                        /* where it moves, it moves to this offset or behind */
	bool changed;                          /* its bytes are new ones */
	uint64_t now;                          /* out: new place; the old one of a block given up */
};

/* Places n blocks in the region [0, used) of src from `base` on, aligned to `align` from the region's start. floor: the
 * first offset a block may move to. *end: where the last block ends, at least `used`; the caller makes the region that
 * long. ENOMEM, or what reading the holes said. */
int place_blocks(struct block *v, unsigned n, struct source *src, uint64_t base, uint64_t floor, uint64_t used,
		 uint64_t align, uint64_t *end, struct err *e);
/* Afterwards: writes zeros over the old places that no block has any more, so that they are holes for the next. */
int place_clear(const struct block *v, unsigned n, struct source *src, uint64_t base, struct err *e);

#endif
