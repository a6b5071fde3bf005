/* What was made from the archive and may be made again: rendered texts and opened objects, least recently used out
 * first.
 *
 * Work is done once: a thread that asks for something being made waits for it. Nothing is made under the lock. */
#ifndef MODELFS_CACHE_H
#define MODELFS_CACHE_H

#include "base.h"

struct cache;

struct cache_key {
	uint32_t unit, index;
	uint32_t gen;                          /* of the unit: what was made before a change is never given again */
	uint8_t kind, arg;
};

struct cached;                                 /* shared; one reference per cache_get() */

struct cache_maker {
	/* Makes the value and says what it costs in bytes. */
	int (*make)(void *ctx, void **value, size_t *cost, struct err *e);
	void (*drop)(void *value);
};

/* limit in bytes; slow: called before a value is made or waited for, or NULL. NULL when out of memory. */
struct cache *cache_new(size_t limit, void (*slow)(void));
void cache_free(struct cache *c);

/* The value of key, made now if need be. A failure is not remembered. */
int cache_get(struct cache *c, const struct cache_key *key, const struct cache_maker *maker, void *ctx,
	      struct cached **out, struct err *e);
void *cached_value(const struct cached *v);
void cached_put(struct cached *v);             /* NULL is fine */

#endif
