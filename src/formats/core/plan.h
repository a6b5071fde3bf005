/* Plans: what an edit changes, before anything is changed.
 *
 * A plan is a list of writes, sorted and disjoint, over one base: the archive file as it is, or, when data has to move,
 * a source that shows the same bytes at their new places (src_pieces). The overlay reads the base with the plan laid
 * over it and takes writes into the plan. So an edit is made, read back and checked by the very code that reads the
 * archive, and nothing is written until all of it has passed. */
#ifndef MODELFS_PLAN_H
#define MODELFS_PLAN_H

#include "source.h"

struct write { uint64_t at; size_t len; uint8_t *bytes; };

struct plan {
	struct source *base;                   /* held */
	uint64_t size;                         /* of the file afterwards */
	bool moved;                            /* base is not the file: it has to be written anew */
	struct write *v;
	size_t n, cap;
	uint64_t bytes;                        /* sum of the lengths */
};

#define PLAN_MOST ((uint64_t)1 << 30)          /* bytes of one plan */

void plan_init(struct plan *p, struct source *base);
void plan_free(struct plan *p);
/* Replaces what the plan says about [at, at + n), which lies inside p->size. ENOMEM, EFBIG. */
int plan_write(struct plan *p, uint64_t at, const void *bytes, size_t n);
/* n bytes as they will be; past the end of base they are zero where nothing was written. */
int plan_read(const struct plan *p, void *buf, size_t n, uint64_t at);
/* Whether any of n bytes at `at` are written. */
bool plan_touches(const struct plan *p, uint64_t at, uint64_t n);
/* Changes p->size: writes past a new end go, and bytes that are new read as zero. ENOMEM, EFBIG. */
int plan_resize(struct plan *p, uint64_t size);
/* Leaves out all bytes that are what the base has; afterwards a plan that changes nothing has no writes and the size of
 * its base. Runs less than 16 bytes apart are joined. */
int plan_settle(struct plan *p, struct err *e);

/* Reads and writes through p, which must live longer; p->size bytes as of now. NULL when out of memory. */
struct source *src_overlay(struct plan *p);

#endif
