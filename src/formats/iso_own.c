/* ISO 9660: files in sectors of the disc itself.
 *
 * A record may say that a file lies where descriptors, path tables or directories are. Such a file can be read, but it
 * is never written: what is written to it would be records by then. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iso9660.h"

struct sectors { uint64_t at, end; };

struct own { struct iso *iso; struct sectors *v; size_t n, cap; };

static int add(struct own *w, uint64_t lba, uint64_t n, struct err *e)
{
	uint64_t base = w->iso->base, skip = lba < base ? base - lba : 0;

	if (skip >= n)
		return 0;
	if (w->n == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 64;
		struct sectors *p = realloc(w->v, cap * sizeof *p);

		if (!p)
			return err_nomem(e);
		w->v = p;
		w->cap = cap;
	}
	w->v[w->n++] = (struct sectors){ lba + skip - base, lba + n - base };
	return 0;
}

static int add_tree(struct own *w, const struct iso_descriptor *d, const struct iso_tree *t, struct err *e)
{
	int rc = add(w, d->lba, iso_sectors(d->size), e);

	for (unsigned k = 0; k < ARRAY_LEN(d->table) && !rc; k++)
		if (d->table[k])
			rc = add(w, d->table[k], iso_sectors(d->table_size), e);
	for (uint32_t i = 0; i < t->n && !rc; i++)
		if (iso_is_dir(&t->v[i]))
			rc = add(w, t->v[i].lba - t->v[i].xar, t->v[i].xar + iso_sectors(t->v[i].size), e);
	return rc;
}

static int add_other(struct own *w, const struct iso_descriptor *d, struct err *e)
{
	struct iso_tree t;
	int rc = iso_tree_read(w->iso, d, NULL, &t, e);

	rc = rc ? rc : add_tree(w, d, &t, e);
	iso_tree_free(&t);
	return rc;
}

/* ---- by place ---- */

static int by_start(const void *a, const void *b)
{
	const struct sectors *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* In order, without overlaps. */
static void merge(struct own *w)
{
	size_t n = 1;

	if (!w->n)
		return;
	qsort(w->v, w->n, sizeof *w->v, by_start);
	for (size_t i = 1; i < w->n; i++) {
		if (w->v[i].at > w->v[n - 1].end)
			w->v[n++] = w->v[i];
		else if (w->v[i].end > w->v[n - 1].end)
			w->v[n - 1].end = w->v[i].end;
	}
	w->n = n;
}

static bool has_any(const struct own *w, uint64_t at, uint64_t end)
{
	size_t low = 0, high = w->n;

	while (low < high) {                   /* the first one that ends behind `at` */
		size_t mid = low + (high - low) / 2;

		if (w->v[mid].end <= at)
			low = mid + 1;
		else
			high = mid;
	}
	return low < w->n && w->v[low].at < end;
}

/* Those of several pieces are never written anyway. */
static void mark(struct iso *iso, const struct own *w)
{
	for (uint32_t k = 0; k < iso->n; k++) {
		struct entry *v = &iso->entry[k];
		uint64_t at = v->at / ISO_SECTOR;

		if (v->folder || v->lost || v->fixed || !v->size || !has_any(w, at, at + iso_sectors(v->size)))
			continue;
		v->fixed = true;
		iso->why[k] = "its sectors are the disc's own";
	}
}

int iso_mark_own(struct iso *iso, const struct iso_tree *primary, struct err *e)
{
	struct own w = { .iso = iso };
	int rc = add(&w, iso->base, iso->end, e);

	for (uint32_t i = 0; i < iso->ntrees && !rc; i++) {
		if (i == iso->primary)
			rc = add_tree(&w, &iso->tree[i], primary, e);
		else if (iso->tree[i].block_size == ISO_SECTOR)
			rc = add_other(&w, &iso->tree[i], e);
	}
	if (!rc) {
		merge(&w);
		mark(iso, &w);
	}
	free(w.v);
	return rc;
}
