/* What a container's entries lie in, where that is not its own bytes: an edit writes to it as to a packed entry that is
 * all of the container, and puts it back when all is written. */
#include <errno.h>
#include <stdlib.h>

#include "draft.h"
#include "edit_in.h"

static struct edit_entry *find_medium(struct edit_entry *f, const struct unit *u)
{
	while (f && (f->in != u || f->index != ALL_OF_IT))
		f = f->next;
	return f;
}

/* What the tree has opened is as good as what would be opened anew, and has read something by now. */
static bool is_as_shown(const struct level *l)
{
	uint64_t at = 0, n = l->src->size;

	src_range(l->src, &at, &n);
	return l->run->original && !l->run->plan->moved && !plan_touches(l->run->plan, at, n) &&
	       atomic_load(&l->unit->state) == UNIT_READY && l->unit->around.medium;
}

static int open_medium(struct level *l, struct source *medium, bool shown, struct err *e)
{
	struct edit_entry *f = calloc(1, sizeof *f);
	int rc = f ? run_open(&f->run, medium, e) : err_nomem(e);

	if (rc) {
		free(f);
		return rc;
	}
	f->run.original = shown;
	f->in = l->unit;
	f->index = ALL_OF_IT;
	f->next = l->edit->entries;
	l->edit->entries = f;
	l->inner = &f->run;
	return 0;
}

int open_inside(struct level *l, struct err *e)
{
	struct edit_entry *f = find_medium(l->edit->entries, l->unit);
	bool shown = is_as_shown(l);
	struct source *medium = NULL;
	int rc = 0;

	if (l->inside)
		return 0;
	l->inner = f ? &f->run : l->run;
	if (!f && shown && l->unit->around.medium != l->unit->src)
		medium = src_ref(l->unit->around.medium);
	else if (!f)
		rc = format_medium(l->unit->format, l->src, l->unit->around.lead, &medium, e);
	if (!rc && !f && medium != l->src)
		rc = open_medium(l, medium, shown, e);
	src_put(medium);
	if (!rc)
		set_inside(l, l->inner == l->run ? l->src : l->inner->root);
	return rc;
}

/* Runs of a plan, to a medium that takes them. */
static int write_runs(const struct level *l, const struct plan *now, struct err *e)
{
	struct source *medium;
	int rc = format_medium(l->unit->format, l->src, l->unit->around.lead, &medium, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < now->n && !rc; i++)
		rc = src_write(medium, now->v[i].bytes, now->v[i].len, now->v[i].at, "what it is stored in", e);
	src_put(medium);
	return rc;
}

int put_medium(struct edit *ed, struct edit_entry *f, struct err *e)
{
	const struct container_ops *c = f->in->format->container;
	struct source *moved = NULL;
	struct level *l;
	int rc = open_level(ed, f->in, &l, e);

	if (rc)
		return rc;
	rc = c->medium_put ? c->medium_put(l->src, f->in->around.lead, f->run.plan, ed->tree->grow, &moved, e) :
	     f->run.plan->moved ? err_set(e, ENOSPC, "data would have to move, which what it lies in does not allow") :
	     write_runs(l, f->run.plan, e);
	if (!rc && moved)
		rc = rebase_bytes(l, moved, e);
	src_put(moved);
	return rc;
}

/* ---- what it changes ---- */

void edit_was(struct edit *ed, struct before_medium *media)
{
	ed->was = media;
}

static struct before_medium *find_before(struct before_medium *m, const struct unit *u)
{
	while (m && m->unit != u)
		m = m->next;
	return m;
}

const struct plan *edit_medium_plan(const struct edit *ed, const struct unit *u)
{
	struct edit_entry *f = find_medium(ed->put_back, u);
	struct before_medium *was = find_before(ed->was, u);

	if (f && (find_medium(f->next, u) || (!was && !f->run.original)))
		return NULL;
	if (!was || (f && edit_lay(&was->plan, f->run.plan)))
		return f && !was ? f->run.plan : NULL;
	return &was->plan;
}

static int add_places(const struct unit *u, const struct plan *from, struct before_medium **to)
{
	struct before_medium *m = find_before(*to, u);
	struct source *none;

	if (!m) {
		none = src_zeros(from->size);
		m = none ? calloc(1, sizeof *m) : NULL;
		if (m) {
			*m = (struct before_medium){ .next = *to, .unit = u };
			plan_init(&m->plan, none);
			*to = m;
		}
		src_put(none);
	}
	return m ? edit_lay(&m->plan, from) : -ENOMEM;
}

int edit_media(const struct edit *ed, struct before_medium **to)
{
	int rc = 0;

	for (const struct edit_entry *f = ed->put_back; f && !rc; f = f->next)
		rc = add_places(f->in, f->run.plan, to);
	for (const struct before_medium *m = ed->was; m && !rc; m = m->next)
		rc = add_places(m->unit, &m->plan, to);
	return rc;
}
