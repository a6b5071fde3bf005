/* Points near others. */
#ifndef MODELFS_NEAR_H
#define MODELFS_NEAR_H

#include "geo.h"

struct near_spot {
	float at[3];
	uint32_t first, count;                 /* the points there: item[first] on, ascending */
};
struct near { struct near_spot *spot; uint32_t nspots; uint32_t *item; };
/* Of n points; those numbered item[0..n) of `at`, or 0..n-1 when item is NULL. False: out of memory. */
bool near_build(struct near *near, const float (*at)[3], const uint32_t *item, uint32_t n, struct arena *a);
/* The nearest spot, or one that is nearly so when thousands are equally near. NULL: there are no points. */
const struct near_spot *near_find(const struct near *near, const float at[3]);

#endif
