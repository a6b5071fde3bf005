/* Open files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

struct handle {
	struct tree *tree;
	struct handle *next, **at;             /* in tree->handles */
	_Atomic unsigned refs;
	/* One of the three: */
	struct source *src;
	struct cached *text;
	struct buf lines;                      /* errors.txt, as it was when opened */
	uint64_t size;
};

/* ---- opening ---- */

static int open_source(struct tree *t, struct node n, struct source **out, struct err *e)
{
	const struct kid *kid = node_kid(n);

	if (!kid)
		return leaf_source(t, n.unit, node_leaf(n), out, e);
	*out = entry_source(n.unit->src, n.unit->format, &kid->entry);
	return *out ? 0 : err_nomem(e);
}

static int open_contents(struct tree *t, struct node n, struct handle *h, struct err *e)
{
	struct leaf *l = node_leaf(n);
	int rc;

	if (node_is_dir(n))
		return err_set(e, EISDIR, "is a directory");
	if (l && l->kind == LEAF_ERRORS) {
		node_errors(t, n, &h->lines);
		h->size = h->lines.len;
		return h->lines.bad ? err_nomem(e) : 0;
	}
	rc = open_source(t, n, &h->src, e);
	if (!rc) {
		h->size = h->src->size;
	} else if (rc == -ENOENT) {
		rc = render_leaf(t, n.unit, l, &h->text, e);
		h->size = rc ? 0 : rendered_text(h->text)->len;
	}
	return rc;
}

static void free_handle(struct handle *h)
{
	src_put(h->src);
	cached_put(h->text);
	buf_free(&h->lines);
	free(h);
}

int node_open(struct tree *t, struct node n, struct handle **out, struct err *e)
{
	struct handle *h = calloc(1, sizeof *h);
	int rc;

	if (!h)
		return err_nomem(e);
	rc = open_contents(t, n, h, e);
	if (rc) {
		free_handle(h);
		return rc;
	}
	h->tree = t;
	atomic_init(&h->refs, 1);
	pthread_mutex_lock(&t->lock);
	h->next = t->handles;
	h->at = &t->handles;
	if (h->next)
		h->next->at = &h->next;
	t->handles = h;
	pthread_mutex_unlock(&t->lock);
	*out = h;
	return 0;
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

	if (atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) != 1)
		return;
	pthread_mutex_lock(&t->lock);
	*h->at = h->next;
	if (h->next)
		h->next->at = h->at;
	pthread_mutex_unlock(&t->lock);
	free_handle(h);
}

void handle_close_all(struct tree *t)
{
	while (t->handles) {
		struct handle *h = t->handles;

		t->handles = h->next;
		free_handle(h);
	}
}

/* ---- reading ---- */

uint64_t handle_size(const struct handle *h)
{
	return h->size;
}

const void *handle_map(struct handle *h, size_t *n, uint64_t at)
{
	const uint8_t *text = h->text ? rendered_text(h->text)->p : h->lines.p;

	if (at >= h->size)
		*n = 0;
	else if (*n > h->size - at)
		*n = (size_t)(h->size - at);
	if (!*n)
		return "";
	return h->src ? src_map(h->src, *n, at) : text + at;
}

int handle_read(struct handle *h, void *buf, size_t n, uint64_t at)
{
	const void *p = handle_map(h, &n, at);
	int rc;

	if (n > INT32_MAX)
		n = INT32_MAX;
	if (p && !h->src)
		memcpy(buf, p, n);
	rc = h->src && n ? src_pread(h->src, buf, n, at) : 0;
	return rc ? rc : (int)n;
}

bool handle_ready(const struct handle *h, size_t n, uint64_t at)
{
	return !h->src || src_ready(h->src, n, at);
}
