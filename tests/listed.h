/* What a disc lists, by the format itself. */
#ifndef MODELFS_TESTS_LISTED_H
#define MODELFS_TESTS_LISTED_H

#include "format.h"

extern const struct format fmt_iso9660;

/* Each fails the test where it cannot be done. */
struct entries listed(struct object *o);
uint32_t find(struct object *o, const char *name);
/* The entry has these n bytes, and no more. */
void holds(struct object *o, const char *name, const void *p, size_t n);

#endif
