#include "draft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scratch.h"

struct draft {
	struct draft *next;                    /* in tree->drafts, under tree->lock, as are node and refs */
	struct node node;
	unsigned refs;                         /* one for each writer, one for each thread at its bytes */
	/* Under `busy`, which is held for as long as bytes are copied only. While the draft is being saved its bytes
	 * may be read but not changed: who would write leaves the tree and waits, because the save waits for all who
	 * are in it. */
	pthread_mutex_t busy;
	pthread_cond_t saved;
	struct store *store;
	bool saving;
	bool touched;                          /* written or truncated since it was made or last saved */
	bool written;                          /* since it was made */
	bool dirty;                            /* written since it was last saved */
	bool emptied;                          /* and not written since: of a file, an edit once it is closed */
	struct err failed;                     /* why the last save was refused, until something is written */
	int64_t mtime;
	struct before before;
};

static struct draft *find(struct tree *t, struct node n)
{
	struct draft *d = t->drafts;

	while (d && (d->node.unit != n.unit || d->node.local != n.local))
		d = d->next;
	return d;
}

static void free_draft(struct draft *d)
{
	store_free(d->store);
	before_free(&d->before);
	pthread_mutex_destroy(&d->busy);
	pthread_cond_destroy(&d->saved);
	free(d);
}

/* ---- opening ---- */

static int copy_text(struct tree *t, struct node n, struct store **out, struct err *e)
{
	struct cached *text;
	struct store *s;
	int rc = render_leaf(t, n.unit, node_leaf(n), &text, e);

	if (rc)
		return rc;
	s = store_new(NULL, &t->stored);
	rc = s ? store_write(s, rendered_text(text)->p, rendered_text(text)->len, 0) : -ENOMEM;
	cached_put(text);
	if (rc) {
		store_free(s);
		return err_set(e, -rc, "%s", strerror(-rc));
	}
	*out = s;
	return 0;
}

static int present_contents(struct tree *t, struct node n, struct store **out, struct err *e)
{
	struct source *src;
	int rc = node_source(t, n, &src, e);

	if (rc == -ENOENT)
		return copy_text(t, n, out, e);
	if (rc)
		return rc;
	*out = store_new(src, &t->stored);
	src_put(src);
	return *out ? 0 : err_nomem(e);
}

static int new_draft(struct tree *t, struct node n, bool empty, struct draft **out, struct err *e)
{
	struct draft *d = calloc(1, sizeof *d);
	int rc = 0;

	if (!d)
		return err_nomem(e);
	if (!empty)
		rc = present_contents(t, n, &d->store, e);
	else if (!(d->store = store_new(NULL, &t->stored)))
		rc = err_nomem(e);
	if (rc) {
		free(d);
		return rc;
	}
	pthread_mutex_init(&d->busy, NULL);
	pthread_cond_init(&d->saved, NULL);
	d->node = n;
	d->touched = empty;
	d->before.gen = atomic_load(&n.unit->gen);
	d->mtime = now_ns();
	*out = d;
	return 0;
}

/* Nobody has written since it was saved, and the unit has changed since: what the archive has is newer. With `busy`
 * held. */
static bool outdated(const struct draft *d)
{
	return !d->touched && !d->saving && !d->failed.code && d->before.gen != atomic_load(&d->node.unit->gen);
}

/* For another writer; the first ones go on with what they have written. */
static int renew(struct tree *t, struct draft *d, struct node n, struct err *e)
{
	struct store *s;
	int rc = 0;

	pthread_mutex_lock(&d->busy);
	if (outdated(d)) {
		rc = present_contents(t, n, &s, e);
		if (!rc) {
			store_free(d->store);
			d->store = s;
			d->before.gen = atomic_load(&n.unit->gen);
		}
	}
	pthread_mutex_unlock(&d->busy);
	return rc;
}

/* The draft of a node, with a reference; NULL when there is none. */
static struct draft *use(struct tree *t, struct node n)
{
	struct draft *d;

	if (!atomic_load_explicit(&t->ndrafts, memory_order_acquire))
		return NULL;
	pthread_mutex_lock(&t->lock);
	d = find(t, n);
	if (d)
		d->refs++;
	pthread_mutex_unlock(&t->lock);
	return d;
}

int draft_open(struct tree *t, struct node n, bool empty, struct draft **out, struct err *e)
{
	struct draft *d = use(t, n), *fresh = NULL;
	int rc;

	if (d) {
		rc = renew(t, d, n, e);
		if (rc)
			draft_leave(t, d);
		else
			*out = d;
		return rc;
	}
	rc = new_draft(t, n, empty, &fresh, e);
	if (rc)
		return rc;
	pthread_mutex_lock(&t->lock);
	d = find(t, n);                        /* another thread may have been faster */
	if (!d) {
		d = fresh;
		fresh = NULL;
		d->next = t->drafts;
		t->drafts = d;
		atomic_fetch_add(&t->ndrafts, 1);
	}
	d->refs++;
	pthread_mutex_unlock(&t->lock);
	if (fresh)
		free_draft(fresh);
	*out = d;
	return 0;
}

void draft_leave(struct tree *t, struct draft *d)
{
	struct draft **p = &t->drafts;

	pthread_mutex_lock(&t->lock);
	if (!--d->refs) {
		while (*p != d)
			p = &(*p)->next;
		*p = d->next;
		atomic_fetch_sub(&t->ndrafts, 1);
		free_draft(d);
	}
	pthread_mutex_unlock(&t->lock);
}

void draft_close(struct tree *t, struct draft *d)
{
	struct node n;

	pthread_mutex_lock(&d->busy);
	d->dirty |= d->emptied;
	d->emptied = false;
	pthread_mutex_unlock(&d->busy);
	draft_save(t, d, NULL);
	tree_enter(t);
	pthread_mutex_lock(&t->lock);
	n = d->node;
	pthread_mutex_unlock(&t->lock);
	draft_leave(t, d);
	/* From now on the node shows what the archive has. */
	if (n.local != UINT32_MAX)
		tree_changed(t, n);
	tree_leave(t);
}

void draft_close_all(struct tree *t)
{
	while (t->drafts) {
		struct draft *d = t->drafts;

		t->drafts = d->next;
		free_draft(d);
	}
}

void draft_renumber(struct tree *t, const struct renumber *r)
{
	pthread_mutex_lock(&t->lock);
	for (struct draft *d = t->drafts; d; d = d->next)
		if (d->node.unit == r->unit && d->node.local != UINT32_MAX)
			d->node.local = r->map(r, d->node.local);
	pthread_mutex_unlock(&t->lock);
}

/* ---- others who look at the node ---- */

bool draft_read_node(struct tree *t, struct node n, void *buf, size_t size, uint64_t at, int *rc)
{
	struct draft *d = use(t, n);
	bool shown;

	if (!d)
		return false;
	pthread_mutex_lock(&d->busy);
	shown = !outdated(d);
	if (shown)
		*rc = store_read(d->store, buf, size, at);
	pthread_mutex_unlock(&d->busy);
	draft_leave(t, d);
	return shown;
}

bool draft_size_node(struct tree *t, struct node n, uint64_t *size, int64_t *mtime)
{
	struct draft *d = use(t, n);
	bool shown;

	if (!d)
		return false;
	pthread_mutex_lock(&d->busy);
	shown = !outdated(d);
	*size = store_size(d->store);
	*mtime = d->mtime;
	pthread_mutex_unlock(&d->busy);
	draft_leave(t, d);
	return shown;
}

/* ---- bytes ---- */

/* What a write has changed. */
static int written(struct draft *d, int rc, bool edit)
{
	if (!rc)
		d->touched = true;
	if (!rc && edit) {
		d->dirty = d->written = true;
		d->emptied = false;
		d->failed.code = 0;
	}
	d->mtime = now_ns();
	return rc;
}

int draft_write(struct draft *d, const void *buf, size_t n, uint64_t at)
{
	int rc;

	pthread_mutex_lock(&d->busy);
	rc = d->saving ? -EAGAIN : written(d, store_write(d->store, buf, n, at), true);
	pthread_mutex_unlock(&d->busy);
	return rc;
}

int draft_truncate(struct draft *d, uint64_t size)
{
	bool file = node_is_file(d->node);
	int rc;

	pthread_mutex_lock(&d->busy);
	/* Some write first and cut what is left of the old text then; a child of theirs may have saved in between. */
	rc = d->saving ? -EAGAIN : written(d, store_truncate(d->store, size), size && (file || d->written));
	d->emptied |= !rc && !size && file;
	pthread_mutex_unlock(&d->busy);
	return rc;
}

void draft_wait(struct draft *d)
{
	pthread_mutex_lock(&d->busy);
	while (d->saving)
		pthread_cond_wait(&d->saved, &d->busy);
	pthread_mutex_unlock(&d->busy);
}

/* With `busy` held. */
static void save(struct tree *t, struct draft *d)
{
	struct err why = { 0 };
	int rc;

	d->saving = true;
	d->dirty = false;
	pthread_mutex_unlock(&d->busy);
	rc = tree_save(t, &d->node, d->store, &d->before, &why);
	if (rc && !why.code)
		err_set(&why, -rc, "%s", strerror(-rc));
	pthread_mutex_lock(&d->busy);
	d->failed = why;
	d->touched = rc != 0;
	d->saving = false;
	pthread_cond_broadcast(&d->saved);
}

int draft_save(struct tree *t, struct draft *d, struct err *e)
{
	int rc;

	pthread_mutex_lock(&d->busy);
	while (d->saving)
		pthread_cond_wait(&d->saved, &d->busy);
	if (d->dirty)
		save(t, d);
	rc = -d->failed.code;
	if (rc && e)
		*e = d->failed;
	pthread_mutex_unlock(&d->busy);
	return rc;
}
