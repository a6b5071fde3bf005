/* Runs of bytes that become longer or shorter: what lies behind them moves. For files whose blocks follow one another
 * without slack; place.h is for those that have some. */
#ifndef MODELFS_SPLICE_H
#define MODELFS_SPLICE_H

#include "format.h"

/* `was` bytes at `at` are replaced by `now` others. */
struct splice { uint64_t at, was, now; const void *bytes; };

/* Where the byte at `at` lies afterwards, when it is none of those replaced; one at the start of an empty run that gets
 * bytes lies behind them. */
uint64_t splice_moved(const struct splice *v, unsigned n, uint64_t at);
/* Replaces n runs, which are sorted, do not overlap and lie in the part, in an object opened over an edit. Resizes the
 * entry; ENOSPC when it cannot grow. */
int object_splice(struct object *o, unsigned part, const struct splice *v, unsigned n, struct err *e);

#endif
