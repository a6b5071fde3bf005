/* What packed entries become is kept in the tree's cache, so that none is unpacked twice while there is room for it. */
#include <errno.h>
#include <stdlib.h>

#include "unit.h"

#define KIND_UNPACKED 0xfeu                    /* in keys of the cache; leaf kinds are below */

struct kept { uint8_t *p; uint64_t size; };

struct work { struct tree *t; const struct keep *which; struct source *src; };

static int make(void *ctx, void **value, size_t *cost, struct err *e)
{
	struct work *w = ctx;
	struct err why = { 0 };
	struct kept *k = malloc(sizeof *k);
	int rc = k ? src_unpack(w->src, &k->p, &why) : err_nomem(&why);

	atomic_fetch_add_explicit(&w->t->unpacked, 1, memory_order_relaxed);
	if (!rc) {
		k->size = w->src->size;
		*value = k;
		*cost = (size_t)k->size + sizeof *k;
		return 0;
	}
	free(k);
	if (rc == -EBADMSG || rc == -EFBIG)
		unit_note_kid(w->t, unit_at(w->t, w->which->unit), w->which->index, why.text);
	if (e)
		*e = why;
	return rc;
}

static void drop(void *value)
{
	struct kept *k = value;

	unpacked_free(k->p, k->size);
	free(k);
}

static const struct cache_maker maker = { make, drop };

static struct tree *tree_of(const struct keeper *k)
{
	return (struct tree *)(uintptr_t)((const char *)k - offsetof(struct tree, keeper));
}

static int get(const struct keeper *k, const struct keep *which, struct source *src, struct unpacked *out,
	       struct err *e)
{
	struct work w = { tree_of(k), which, src };
	struct cache_key key = { .unit = which->unit, .index = which->index, .gen = which->gen, .kind = KIND_UNPACKED };
	struct cached *hold;
	int rc = cache_get(w.t->cache, &key, &maker, &w, &hold, e);

	if (!rc)
		*out = (struct unpacked){ ((struct kept *)cached_value(hold))->p, hold };
	return rc;
}

static void put(const struct keeper *k, struct unpacked *u)
{
	(void)k;
	cached_put(u->hold);
}

void unpack_init(struct tree *t)
{
	t->keeper = (struct keeper){ get, put };
}
