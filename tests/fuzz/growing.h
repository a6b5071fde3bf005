/* Containers that are edited: over a plan, with little space. */
#ifndef MODELFS_TESTS_FUZZ_GROWING_H
#define MODELFS_TESTS_FUZZ_GROWING_H

#include <errno.h>
#include <stdlib.h>

#include "format.h"
#include "plan.h"

#define ROOM 4096u                             /* that the container may grow by */

struct growing { struct surroundings around; struct plan plan; };      /* around first */

static inline int growing_resize(const struct surroundings *s, unsigned k, uint64_t size, struct source **out,
				 struct err *e)
{
	struct growing *g = (struct growing *)(uintptr_t)s;

	if (k || size > g->plan.base->size + ROOM)
		return err_set(e, ENOSPC, "no room");
	if (plan_resize(&g->plan, size))
		abort();
	*out = src_overlay(&g->plan);
	return *out ? 0 : -ENOMEM;
}

/* What has been written so far: what f opens it as, and its entries. */
static inline struct object *growing_open(struct growing *g, const struct format *f, const struct surroundings *around,
					  struct entries *v)
{
	struct source *src = src_overlay(&g->plan);
	struct object *o;

	if (!src || object_open(f, src, around, &o, NULL) || f->container->list(o, v, NULL))
		abort();
	src_put(src);
	return o;
}

#endif
