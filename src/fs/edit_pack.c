/* Entries that their containers pack: an edit writes what they hold, and packs it when all is written. So it does with
 * what lies in a medium (edit_medium.c). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "edit_in.h"

bool packs(const struct level *in)
{
	return in->unit->format->container->put;
}

static struct edit_entry *find_entry(const struct level *in, uint32_t i)
{
	struct edit_entry *f = in->edit->entries;

	while (f && (f->in != in->unit || f->index != i))
		f = f->next;
	return f;
}

/* Whether an entry still is what the tree shows, which may know already what it holds. */
static bool is_untouched(const struct level *in, uint32_t i)
{
	const struct entry *v = &in->entries.v[i];
	const struct kid *kid = i < in->unit->nkids ? &in->unit->kids[i] : NULL;
	uint64_t at = v->at, n = entry_stored(v);

	src_range(in->inside, &at, &n);
	return kid && in->inner->original && !in->inner->plan->moved && kid->entry.at == v->at &&
	       kid->entry.size == v->size && entry_stored(&kid->entry) == entry_stored(v) &&
	       kid->entry.lost == v->lost &&
	       !plan_touches(in->inner->plan, at, n);
}

/* What cannot be unpacked now cannot be later either, when something else is stored in its place. */
static int open_base(const struct level *in, uint32_t i, bool original, struct source **out, struct pin *pin,
		     struct err *e)
{
	struct source *src = original ? kid_source(in->edit->tree, in->unit, i, false) :
			     entry_source(in->inside, in->unit->format, &in->entries.v[i]);
	int rc = src ? src_pin(src, pin, e) : err_nomem(e);

	if (rc == -EBADMSG || rc == -EFBIG) {
		src_put(src);
		src = src_lost(in->entries.v[i].size);
		rc = src ? 0 : err_nomem(e);
	}
	if (rc)
		src_put(src);
	else
		*out = src;
	return rc;
}

int open_entry(struct level *in, uint32_t i, struct run **out, struct err *e)
{
	struct edit_entry *f = find_entry(in, i);
	bool original = is_untouched(in, i);
	struct source *base = NULL;
	int rc;

	if (f) {
		*out = &f->run;
		return 0;
	}
	f = calloc(1, sizeof *f);
	rc = f ? open_base(in, i, original, &base, &f->pin, e) : err_nomem(e);
	if (!rc) {
		rc = run_open(&f->run, base, e);
		src_put(base);
	}
	if (rc) {
		if (f)
			src_unpin(&f->pin);
		free(f);
		return rc;
	}
	f->run.original = original;
	f->in = in->unit;
	f->index = i;
	f->next = in->edit->entries;
	in->edit->entries = f;
	*out = &f->run;
	return 0;
}

/* ---- what is written anew ---- */

static bool is_readable(const struct run *r)
{
	uint8_t byte;

	return !r->plan->base->size || !src_pread(r->plan->base, &byte, 1, 0);
}

int replace_entry(struct level *in, uint32_t i, uint64_t size, struct run **out, struct err *e)
{
	struct source *none;
	struct edit_entry *f;
	int rc = size <= LIMIT_DECODED ? open_entry(in, i, out, e) :
		 err_set(e, EFBIG, "%" PRIu64 " bytes, at most %zu can be packed", size, LIMIT_DECODED);

	if (rc)
		return rc;
	f = find_entry(in, i);
	if (!is_readable(&f->run)) {
		none = src_zeros(0);
		src_unpin(&f->pin);
		run_close(&f->run);
		rc = none ? run_open(&f->run, none, e) : err_nomem(e);
		src_put(none);
		f->anew = true;
	}
	return rc || f->run.plan->size == size ? rc : run_resize(&f->run, size, e);
}

/* ---- packing ---- */

/* What a medium holds lies one step further in than its bytes, and an entry one further than that. */
static unsigned depth_of(const struct edit_entry *f)
{
	return 2u * f->in->depth + (f->index != ALL_OF_IT);
}

/* The innermost entry of which something was written: what it is packed into comes after it. */
static int next_written(struct edit *ed, struct edit_entry **out, struct err *e)
{
	int rc = 0;

	*out = NULL;
	for (struct edit_entry *f = ed->entries; f && !rc; f = f->next) {
		rc = plan_settle(f->run.plan, e);
		if (!rc && (f->anew || plan_changes(f->run.plan)) && (!*out || depth_of(f) > depth_of(*out)))
			*out = f;
	}
	return rc;
}

static int pack(struct edit *ed, struct edit_entry *f, struct err *e)
{
	const struct container_ops *c = f->in->format->container;
	struct level *in;
	int rc = open_level(ed, f->in, &in, e);

	rc = rc ? rc : open_object(in, e);
	rc = rc ? rc : c->put(in->object, &in->entries, f->index, f->run.root, e);
	if (!rc)
		take_resized(in);
	return rc;
}

static struct edit_entry *take(struct edit *ed, struct edit_entry *f)
{
	struct edit_entry **p = &ed->entries;

	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	return f;
}

static void free_entries(struct edit_entry *f)
{
	while (f) {
		struct edit_entry *next = f->next;

		src_unpin(&f->pin);
		run_close(&f->run);
		free(f);
		f = next;
	}
}

int edit_pack(struct edit *ed, struct err *e)
{
	struct edit_entry *done = NULL, *f = NULL, **to;
	bool any = false;
	int rc;

	while (!(rc = next_written(ed, &f, e)) && f) {
		rc = f->index == ALL_OF_IT ? put_medium(ed, f, e) : pack(ed, f, e);
		if (rc)
			break;
		to = f->index == ALL_OF_IT ? &ed->put_back : &done;
		take(ed, f)->next = *to;
		*to = f;
		any = true;
	}
	if (any) {
		ed->moved = true;
		edit_reopen(ed);               /* nobody reads through the old plans any more */
		free_entries(done);
	}
	return rc;
}

void close_entries(struct edit *ed)
{
	free_entries(ed->entries);
	free_entries(ed->put_back);
	ed->entries = ed->put_back = NULL;
}
