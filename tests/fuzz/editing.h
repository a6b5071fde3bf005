/* Objects that are edited: over a plan, as long as they like to be. */
#ifndef MODELFS_TESTS_FUZZ_EDITING_H
#define MODELFS_TESTS_FUZZ_EDITING_H

#include <stdlib.h>

#include "format.h"
#include "plan.h"

struct editing { struct surroundings around; struct plan plan; struct source *root; };       /* around: first */

static inline void must(bool ok)
{
	if (!ok)
		abort();
}

static inline void renew(struct editing *k)
{
	src_put(k->root);
	k->root = src_overlay(&k->plan);
	must(k->root);
}

static inline int editing_resize(const struct surroundings *s, unsigned part, uint64_t size, struct source **out,
				 struct err *e)
{
	struct editing *k = (struct editing *)(uintptr_t)s;

	(void)e;
	must(!part && !plan_resize(&k->plan, size));
	renew(k);
	*out = src_ref(k->root);
	return 0;
}

#endif
