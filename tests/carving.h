/* What a search for quartets has found. */
#ifndef MODELFS_TESTS_CARVING_H
#define MODELFS_TESTS_CARVING_H

#include "carve.h"

#define NO CARVE_NONE
struct place { uint64_t mlp, mmp, mgp; };
/* These and no others; frees the finding. */
void found(struct carve_finding *f, const struct place *v, uint32_t n);

#endif
