#include "cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define SLOTS 4096u                            /* chains are short: 256 MiB are some ten thousand texts */

struct cached {
	struct cache *cache;
	struct cached *chain, *newer, *older;
	const struct cache_maker *maker;
	void *value;
	size_t cost;
	struct cache_key key;
	_Atomic unsigned refs;                 /* the table's own included */
	bool busy;
};

struct cache {
	pthread_mutex_t lock;
	pthread_cond_t made;
	size_t limit;
	_Atomic size_t total;                  /* changed under the lock */
	void (*slow)(void);
	struct cached *newest, *oldest;
	struct cached *slot[SLOTS];
};

struct cache *cache_new(size_t limit, void (*slow)(void))
{
	struct cache *c = calloc(1, sizeof *c);

	if (c) {
		pthread_mutex_init(&c->lock, NULL);
		pthread_cond_init(&c->made, NULL);
		c->limit = limit;
		c->slow = slow;
	}
	return c;
}

void *cached_value(const struct cached *v)
{
	return v->value;
}

static struct cached **slot_of(struct cache *c, const struct cache_key *k)
{
	uint64_t h = k->unit * 0x9e3779b97f4a7c15u ^ (k->index + 1) * 0xc2b2ae3d27d4eb4fu ^
		     (k->kind * 31u + k->arg) * 0x165667b19e3779f9u;

	return &c->slot[(h >> 40) % SLOTS];
}

static bool same_key(const struct cache_key *a, const struct cache_key *b)
{
	return a->unit == b->unit && a->index == b->index && a->kind == b->kind && a->arg == b->arg && a->gen == b->gen;
}

static void lru_remove(struct cache *c, struct cached *v)
{
	*(v->newer ? &v->newer->older : &c->newest) = v->older;
	*(v->older ? &v->older->newer : &c->oldest) = v->newer;
	v->newer = v->older = NULL;
}

static void lru_add(struct cache *c, struct cached *v)
{
	v->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = v;
	c->newest = v;
}

static void unlink_value(struct cache *c, struct cached *v)
{
	struct cached **p = slot_of(c, &v->key);

	while (*p != v)
		p = &(*p)->chain;
	*p = v->chain;
}

/* Takes what is over the limit out of the table; the caller drops the list after unlocking. What somebody holds would
 * take memory all the same, and be made once more for the next one who wants it: it stays. */
static struct cached *evict(struct cache *c)
{
	struct cached *gone = NULL, *newer;

	for (struct cached *v = c->oldest; v && c->total > c->limit; v = newer) {
		newer = v->newer;
		if (atomic_load(&v->refs) > 1)
			continue;
		lru_remove(c, v);
		unlink_value(c, v);
		c->total -= v->cost;
		v->chain = gone;
		gone = v;
	}
	return gone;
}

static void drop(struct cached *v)
{
	if (v->value)
		v->maker->drop(v->value);
	free(v);
}

static void put_list(struct cached *v)
{
	while (v) {
		struct cached *next = v->chain;

		if (atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1)
			drop(v);
		v = next;
	}
}

void cached_put(struct cached *v)
{
	struct cache *c = v ? v->cache : NULL;
	unsigned refs = v ? atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) : 0;
	struct cached *gone;

	if (refs == 1)
		drop(v);
	/* The table's own is left, and room was short while this one was held. */
	if (refs == 2 && atomic_load_explicit(&c->total, memory_order_relaxed) > c->limit) {
		pthread_mutex_lock(&c->lock);
		gone = evict(c);
		pthread_mutex_unlock(&c->lock);
		put_list(gone);
	}
}

/* With the lock held: the entry of key, with a reference, and whether the caller has to make it. */
static struct cached *find_or_add(struct cache *c, const struct cache_key *key, const struct cache_maker *maker,
				  bool *mine)
{
	struct cached **slot = slot_of(c, key), *v;

	*mine = false;
	for (;;) {
		for (v = *slot; v && !same_key(&v->key, key); v = v->chain)
			;
		if (!v)
			break;
		if (!v->busy) {
			lru_remove(c, v);
			lru_add(c, v);
			atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
			return v;
		}
		if (c->slow)
			c->slow();
		pthread_cond_wait(&c->made, &c->lock);         /* gone again if it failed: look once more */
	}
	v = calloc(1, sizeof *v);
	if (v) {
		v->cache = c;
		v->key = *key;
		v->maker = maker;
		v->busy = true;
		atomic_init(&v->refs, 2);
		v->chain = *slot;
		*slot = v;
		*mine = true;
	}
	return v;
}

int cache_get(struct cache *c, const struct cache_key *key, const struct cache_maker *maker, void *ctx,
	      struct cached **out, struct err *e)
{
	struct cached *v, *gone = NULL;
	bool mine;
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	v = find_or_add(c, key, maker, &mine);
	pthread_mutex_unlock(&c->lock);
	if (!v)
		return err_nomem(e);
	if (mine) {
		if (c->slow)
			c->slow();
		rc = maker->make(ctx, &v->value, &v->cost, e);
		pthread_mutex_lock(&c->lock);
		v->busy = false;
		if (rc) {
			unlink_value(c, v);
		} else {
			v->cost += sizeof *v;
			c->total += v->cost;
			lru_add(c, v);
			gone = evict(c);
		}
		pthread_cond_broadcast(&c->made);
		pthread_mutex_unlock(&c->lock);
		put_list(gone);
	}
	if (rc) {
		v->value = NULL;
		cached_put(v);
		cached_put(v);
		return rc;
	}
	*out = v;
	return 0;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	while (c->oldest) {                    /* also what somebody has not given back */
		struct cached *v = c->oldest;

		lru_remove(c, v);
		unlink_value(c, v);
		v->chain = NULL;
		put_list(v);
	}
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->made);
	free(c);
}
