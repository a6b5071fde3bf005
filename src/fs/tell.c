/* What the watcher of a tree hears: which nodes are no longer what they were. */
#include <string.h>

#include "unit.h"

void tree_watch(struct tree *t, const struct tree_watcher *watcher, void *ctx)
{
	t->watcher = watcher;
	t->watcher_ctx = ctx;
}

void tree_changed(struct tree *t, struct node n)
{
	if (t->watcher)
		t->watcher->changed(t->watcher_ctx, node_id(n));
}

/* ---- ids, 8 bytes each ---- */

static void tell_changed(struct tree *t, const struct buf *ids)
{
	for (size_t i = 0; i + 8 <= ids->len && t->watcher; i += 8) {
		uint64_t id;

		memcpy(&id, ids->p + i, sizeof id);
		t->watcher->changed(t->watcher_ctx, id);
	}
}

static void tell_stale(struct tree *t, const struct buf *open)
{
	if (t->watcher)
		t->watcher->stale(t->watcher_ctx, (const uint64_t *)(void *)open->p, open->len / 8);
}

void tree_tell(struct tree *t, struct buf *ids)
{
	struct buf open = { 0 };

	if (ids->len && t->watcher) {
		pthread_rwlock_rdlock(&t->state);      /* numbers of nodes stay meanwhile */
		handle_outdated(t, &open);
		pthread_rwlock_unlock(&t->state);
		tell_changed(t, ids);
		tell_stale(t, &open);
	}
	buf_free(&open);
	buf_free(ids);
}

/* Which handles are outdated is asked now: the request that goes on makes its own one new. */
void tree_found(struct tree *t, struct buf *ids)
{
	struct buf open = { 0 };

	if (ids->len && t->watcher) {
		handle_outdated(t, &open);
		pthread_mutex_lock(&t->lock);
		buf_add(&t->found, ids->p, ids->len);
		buf_add(&t->found_open, open.p, open.len);
		atomic_store(&t->untold, true);
		pthread_mutex_unlock(&t->lock);
	}
	buf_free(&open);
	buf_free(ids);
}

/* A kernel that asks for a file's size does not believe the answer when it hears of a change meanwhile. */
void tree_found_longer(struct tree *t, struct node n)
{
	uint64_t id = node_id(n), *open;
	size_t left = 0;

	tree_changed(t, n);
	pthread_mutex_lock(&t->lock);
	tell_changed(t, &t->found);
	buf_free(&t->found);
	open = (uint64_t *)(void *)t->found_open.p;
	for (size_t i = 0; i < t->found_open.len / 8; i++)
		if (open[i] != id)
			open[left++] = open[i];
	t->found_open.len = left * 8;
	pthread_mutex_unlock(&t->lock);
}

bool tree_has_found(const struct tree *t)
{
	return atomic_load_explicit(&t->untold, memory_order_relaxed);
}

void tree_tell_found(struct tree *t)
{
	struct buf open;

	if (!tree_has_found(t))
		return;
	pthread_mutex_lock(&t->lock);
	tell_changed(t, &t->found);            /* nobody goes on who would answer before this is through */
	buf_free(&t->found);
	open = t->found_open;
	t->found_open = (struct buf){ 0 };
	atomic_store(&t->untold, false);
	pthread_mutex_unlock(&t->lock);
	if (t->slow)
		t->slow();
	tell_stale(t, &open);
	buf_free(&open);
}
