/* Names as a set of hashes, to ask in one step whether a directory has one. Nobody can choose collisions. */
#ifndef MODELFS_NAMESET_H
#define MODELFS_NAMESET_H

#include "base.h"

struct nameset {
	uint64_t *v;                           /* open addressing; 0: unused */
	size_t n, size;
	uint64_t seed;
};

bool nameset_add(struct nameset *s, const char *name); /* false: no memory */
bool nameset_has(const struct nameset *s, const char *name);
void nameset_free(struct nameset *s);

#endif
