/* Which part of its mesh each face of an edited mesh goes to (views.md 4): that of its group, else that of its
 * material, else that of the nearest old face. */
#ifndef MODELFS_ASSIGN_H
#define MODELFS_ASSIGN_H

#include "geo.h"

struct geo_assign {
	const struct geo_mesh *was;
	const struct geo_put *put;
	const bool *closed;                    /* of each part of was: it takes no faces, unless named; NULL: none is */
	bool anywhere;                         /* a face that says nothing goes to the nearest part, not nowhere */
	struct arena *a;
	/* Out: of each face its part; GEO_NONE of flat ones, of those that go nowhere, where all parts are closed. */
	uint32_t *part;
};

/* The fields up to `a` are set. ENOMEM. */
int geo_assign(struct geo_assign *x, struct err *e);

#endif
