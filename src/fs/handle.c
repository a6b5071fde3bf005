/* Open files. What one shows follows the archive: after a commit its contents are had anew at the next read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "folder.h"
#include "scratch.h"

struct handle {
	struct tree *tree;
	struct handle *next, **at;             /* in tree->handles */
	_Atomic unsigned refs;
	struct node node;                      /* under tree->lock, and changed only while nobody else is in the tree */
	_Atomic uint32_t gen;                  /* of the unit, when the contents were had */
	struct draft *_Atomic draft;           /* once something was written through this handle */
	bool writes;
	/* One of the three: */
	struct source *src;
	struct pin pin;                        /* of src */
	struct cached *text;
	struct buf lines;                      /* errors.txt, as it was when opened */
	uint64_t size;
};

/* ---- opening ---- */

int node_source(struct tree *t, struct node n, struct source **out, struct err *e)
{
	const struct kid *kid = node_kid(n);
	const char *why = kid && n.unit->why ? n.unit->why[n.local - 1] : NULL;

	if (!kid)
		return leaf_source(t, n.unit, node_leaf(n), out, e);
	if (kid->entry.lost)
		return err_set(e, EBADMSG, "%s", why ? why : "its place in the archive cannot be; see errors.txt");
	*out = kid_source(t, n.unit, n.local - 1, false);
	return *out ? 0 : err_nomem(e);
}

static int open_contents(struct tree *t, struct node n, struct handle *h, struct err *e)
{
	struct leaf *l = n.host ? NULL : node_leaf(n);
	int rc;

	if (node_is_dir(n))
		return err_set(e, EISDIR, "is a directory");
	if (l && l->kind == LEAF_ERRORS) {
		node_errors(t, n, &h->lines);
		h->size = h->lines.len;
		return h->lines.bad ? err_nomem(e) : 0;
	}
	rc = n.host ? folder_open_source(t, n.host, &h->src, e) : node_source(t, n, &h->src, e);
	if (!rc) {
		h->size = h->src->size;
		rc = src_pin(h->src, &h->pin, e);
	} else if (rc == -ENOENT) {
		rc = render_leaf(t, n.unit, l, &h->text, e);
		h->size = rc ? 0 : rendered_text(h->text)->len;
	}
	return rc;
}

static void drop_contents(struct handle *h)
{
	src_unpin(&h->pin);
	src_put(h->src);
	cached_put(h->text);
	buf_free(&h->lines);
	h->src = NULL;
	h->text = NULL;
}

static struct handle *new_handle(struct tree *t, struct node n)
{
	struct handle *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->tree = t;
	h->node = n;
	atomic_init(&h->refs, 1);
	pthread_mutex_lock(&t->lock);
	h->next = t->handles;
	h->at = &t->handles;
	if (h->next)
		h->next->at = &h->next;
	t->handles = h;
	pthread_mutex_unlock(&t->lock);
	return h;
}

static void remove_handle(struct handle *h)
{
	struct tree *t = h->tree;

	pthread_mutex_lock(&t->lock);
	*h->at = h->next;
	if (h->next)
		h->next->at = h->at;
	pthread_mutex_unlock(&t->lock);
	drop_contents(h);
	free(h);
}

static int open_node(struct tree *t, struct node n, bool writes, bool empty, struct handle **out, struct err *e)
{
	struct handle *h = new_handle(t, n);
	int rc = 0;

	if (!h)
		return err_nomem(e);
	h->writes = writes;
	if (n.scratch) {
		scratch_ref(n.scratch);
	} else {
		h->gen = n.host ? 0 : atomic_load(&n.unit->gen);
		rc = empty ? 0 : open_contents(t, n, h, e);
	}
	if (rc) {
		remove_handle(h);
		return rc;
	}
	*out = h;
	return 0;
}

int node_open(struct tree *t, struct node n, struct handle **out, struct err *e)
{
	return open_node(t, n, false, false, out, e);
}

int node_open_write(struct tree *t, struct node n, bool empty, struct handle **out, struct err *e)
{
	int rc;

	if (!n.scratch && node_is_dir(n))
		return err_set(e, EISDIR, "is a directory");
	rc = node_may_write(t, n, e);
	return rc ? rc : open_node(t, n, true, empty, out, e);
}

/* ---- closing ---- */

struct handle *handle_ref(struct handle *h)
{
	atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
	return h;
}

void handle_put(struct handle *h)
{
	struct tree *t = h->tree;
	struct scratch *s = h->node.scratch;

	if (atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (h->draft)
		draft_close(t, h->draft);
	remove_handle(h);
	scratch_put(t, s);
}

void handle_close_all(struct tree *t)
{
	while (t->handles) {
		struct handle *h = t->handles;

		t->handles = h->next;
		drop_contents(h);
		free(h);
	}
}

void handle_renumber(struct tree *t, const struct renumber *r)
{
	pthread_mutex_lock(&t->lock);
	for (struct handle *h = t->handles; h; h = h->next)
		if (!h->node.scratch && h->node.unit == r->unit && h->node.local != UINT32_MAX)
			h->node.local = r->map(r, h->node.local);
	pthread_mutex_unlock(&t->lock);
}

void handle_outdated(struct tree *t, struct buf *ids)
{
	pthread_mutex_lock(&t->lock);
	for (struct handle *h = t->handles; h; h = h->next) {
		uint64_t id = node_id(h->node);

		if (!h->node.scratch && !h->node.host && !h->draft && h->node.local != UINT32_MAX &&
		    atomic_load(&h->gen) != atomic_load(&h->node.unit->gen))
			buf_add(ids, &id, sizeof id);
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- contents that changed ---- */

static bool is_gone(struct node n)
{
	return n.local == UINT32_MAX || atomic_load(&n.unit->dead);
}

/* Several threads may find the same handle outdated; those who are late throw away what they had. Nobody uses the old
 * contents any more: the unit changed while nobody was in the tree. */
static int renew(struct handle *h, uint32_t gen)
{
	struct tree *t = h->tree;
	struct handle fresh = { 0 };
	struct node n = h->node;
	int rc = is_gone(n) ? -ESTALE : open_contents(t, n, &fresh, NULL);
	bool longer = false;

	if (rc) {
		drop_contents(&fresh);
		return rc;
	}
	pthread_mutex_lock(&t->lock);
	if (atomic_load(&h->gen) != gen) {
		struct handle old = { .src = h->src, .pin = h->pin, .text = h->text, .lines = h->lines };

		longer = fresh.size > h->size;
		h->src = fresh.src;
		h->pin = fresh.pin;
		h->text = fresh.text;
		h->lines = fresh.lines;
		h->size = fresh.size;
		atomic_store(&h->gen, gen);
		fresh = old;
	}
	pthread_mutex_unlock(&t->lock);
	drop_contents(&fresh);
	/* A kernel that gets less than it asked for corrects the size it knows; where there is more, it has to ask. */
	if (longer)
		tree_found_longer(t, n);
	return 0;
}

/* Beside another process that saves, a text is read as it was when it was opened: the kernel knows the size of one
 * version only, and part of the next one would be neither. */
static int keep_fresh(struct handle *h)
{
	uint32_t gen;

	if (h->node.host || (h->text && !h->tree->writable))
		return 0;
	gen = atomic_load_explicit(&h->node.unit->gen, memory_order_acquire);
	return atomic_load_explicit(&h->gen, memory_order_acquire) == gen ? 0 : renew(h, gen);
}

/* ---- reading ---- */

struct node handle_node(const struct handle *h)
{
	return h->node.scratch && h->node.scratch->became.unit ? h->node.scratch->became : h->node;
}

/* What was opened to be overwritten has none, nor has a scratch file that became a view. */
static bool has_contents(const struct handle *h)
{
	return !h->node.scratch && (h->src || h->text || h->lines.p || !h->writes);
}

uint64_t handle_size(struct handle *h)
{
	struct node n = handle_node(h);
	struct node_attr a;
	int64_t mtime;
	uint64_t size;

	if (n.scratch)
		return scratch_size(n.scratch);
	if (draft_size_node(h->tree, n, &size, &mtime))
		return size;
	if (has_contents(h))
		return keep_fresh(h) ? 0 : h->size;
	if (is_gone(n))
		return 0;
	node_attr(h->tree, n, true, &a);
	return a.size;
}

const void *handle_map(struct handle *h, size_t *n, uint64_t at)
{
	const uint8_t *text;

	if (h->node.scratch || atomic_load_explicit(&h->tree->ndrafts, memory_order_acquire) || keep_fresh(h) ||
	    !has_contents(h))                  /* asked last: keep_fresh() may give it some */
		return NULL;
	text = h->text ? rendered_text(h->text)->p : h->lines.p;
	if (at >= h->size)
		*n = 0;
	else if (*n > h->size - at)
		*n = (size_t)(h->size - at);
	if (!*n)
		return "";
	if (h->pin.bytes)
		return h->pin.bytes + at;
	return h->src ? src_map(h->src, *n, at) : text ? text + at : NULL;
}

/* What a scratch file's name became, or what has no contents of its own yet because it was opened to be overwritten. */
static int read_node(struct tree *t, struct node node, void *buf, size_t n, uint64_t at)
{
	struct handle *h;
	int rc = is_gone(node) ? -ESTALE : node_open(t, node, &h, NULL);

	if (rc)
		return rc;
	rc = handle_read(h, buf, n, at);
	handle_put(h);
	return rc;
}

int handle_read(struct handle *h, void *buf, size_t n, uint64_t at)
{
	struct node node = handle_node(h);
	const void *p;
	int rc;

	if (n > INT32_MAX)
		n = INT32_MAX;
	if (node.scratch)
		return scratch_read(node.scratch, buf, n, at);
	if (draft_read_node(h->tree, node, buf, n, at, &rc))
		return rc;
	if (!has_contents(h))
		return read_node(h->tree, node, buf, n, at);
	rc = keep_fresh(h);
	if (rc)
		return rc;
	if (at >= h->size)
		return 0;
	n = h->size - at < n ? (size_t)(h->size - at) : n;
	if (h->src && !h->pin.bytes) {
		rc = src_pread(h->src, buf, n, at);
		return rc ? rc : (int)n;
	}
	p = h->pin.bytes ? h->pin.bytes : h->text ? rendered_text(h->text)->p : h->lines.p;
	memcpy(buf, (const uint8_t *)p + at, n);
	return (int)n;
}

bool handle_ready(const struct handle *h, size_t n, uint64_t at)
{
	return !h->src || h->pin.bytes || src_ready(h->src, n, at);
}

/* ---- writing ---- */

static int attach(struct handle *h, bool empty, struct err *e)
{
	struct draft *d = NULL, *none = NULL;
	struct node n = handle_node(h);
	int rc;

	if (atomic_load(&h->draft))
		return 0;
	if (is_gone(n))
		return err_set(e, ESTALE, "the file is gone");
	rc = draft_open(h->tree, n, empty, &d, e);
	if (!rc && !atomic_compare_exchange_strong(&h->draft, &none, d))
		draft_leave(h->tree, d);       /* another thread writes through the same handle */
	return rc;
}

int handle_write(struct handle *h, const void *buf, size_t n, uint64_t at, struct err *e)
{
	int rc;

	if (handle_node(h).scratch)
		return scratch_write(h->node.scratch, buf, n, at);
	rc = attach(h, false, e);
	return rc ? rc : draft_write(h->draft, buf, n, at);
}

int handle_truncate(struct handle *h, uint64_t size, struct err *e)
{
	int rc;

	if (handle_node(h).scratch)
		return scratch_truncate(h->node.scratch, size);
	rc = attach(h, !size, e);
	return rc ? rc : draft_truncate(h->draft, size);
}

void handle_wait(struct handle *h)
{
	if (h->draft)
		draft_wait(h->draft);
}

int handle_save(struct handle *h, struct err *e)
{
	return h->draft ? draft_save(h->tree, h->draft, e) : 0;
}

int handle_put_text(struct handle *h, struct store *text, struct err *e)
{
	return tree_save(h->tree, &h->node, text, NULL, e);
}
