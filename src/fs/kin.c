/* Members of the units' entries (struct member): found by name, in a folder, beside a lone file, in a folder of stored
 * names, or known to the container. An entry that is one is not shown beside its model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"

/* ---- entries with stored names ---- */

struct seeking { const struct unit *in; uint32_t dir, found; };

static int is_entry(void *ctx, const char *name)
{
	struct seeking *s = ctx;
	uint32_t item = stored_find(s->in->stored, s->dir, name);

	if (item == STORED_NONE || stored_dir_of(s->in->stored, item))
		return 0;
	s->found = item;
	return 1;
}

/* The entry that entry i has for member k of a format; STORED_NONE. */
static uint32_t member_entry(const struct unit *in, uint32_t i, const struct format *f, unsigned k)
{
	struct seeking s = { in, stored_in(in->stored, i), STORED_NONE };
	const char *name = stored_name(in->stored, i);

	return member_owner(f, name) && member_spell(name, f->members[k].ext, is_entry, &s) ? s.found : STORED_NONE;
}

struct hiding { struct tree *t; struct unit *in; uint32_t i, owner; bool all; };

/* all: whoever may be the owner is told, too. */
static int is_owner(void *ctx, const struct membership *m)
{
	struct hiding *h = ctx;
	struct seeking s = { h->in, stored_in(h->in->stored, h->i), STORED_NONE };

	if (!is_entry(&s, m->owner) || member_entry(h->in, s.found, m->f, m->k) != h->i)
		return 0;
	h->owner = s.found;
	return h->all || (!kid_know(h->t, h->in, s.found, NULL) && h->in->kids[s.found].format == m->f);
}

enum { SHOWN_UNKNOWN, SHOWN, SHOWN_NOT };

bool kid_hidden(struct tree *t, struct unit *u, uint32_t i)
{
	struct hiding h = { .t = t, .in = u, .i = i };
	struct kid *kid = &u->kids[i];
	uint8_t shown;

	if (!u->stored || u->handed)
		return false;
	shown = atomic_load_explicit(&kid->shown, memory_order_relaxed);
	if (shown == SHOWN_UNKNOWN) {
		shown = member_of(stored_name(u->stored, i), is_owner, &h) ? SHOWN_NOT : SHOWN;
		atomic_store_explicit(&kid->shown, shown, memory_order_relaxed);
	}
	return shown == SHOWN_NOT;
}

uint32_t kid_owner(struct tree *t, struct unit *u, uint32_t i)
{
	struct hiding h = { .t = t, .in = u, .i = i, .all = true };

	return u->stored && !u->handed && member_of(stored_name(u->stored, i), is_owner, &h) ? h.owner : STORED_NONE;
}

/* ---- entries whose container knows them ---- */

int kid_keep_handed(struct unit *u, const struct entries *v)
{
	size_t n = v->n * sizeof *v->member;
	void *copy = v->member ? malloc(n + 1) : NULL;

	if (v->member && !copy)
		return -ENOMEM;
	if (copy)
		memcpy(copy, v->member, n);
	free((void *)(uintptr_t)u->handed);
	u->handed = copy;
	return 0;
}

struct source *handed_source(struct source *in, const struct format *f, const struct entry *v, struct err *e)
{
	struct source *src = v->size ? entry_source(in, f, v) : NULL;

	if (v->size && !src)
		err_nomem(e);
	return src;
}

static struct source *handed(const struct unit *in, uint32_t i, unsigned k, struct err *e)
{
	return handed_source(unit_inside(in), in->format, &in->handed[i][k], e);
}

/* ---- an entry that is no unit yet ---- */

struct peek { struct surroundings around; struct tree *t; struct unit *in; uint32_t i; const struct format *f; };

static struct source *peek_member(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct peek *p = (const struct peek *)s;
	struct source *src = NULL;
	uint32_t i;

	if (p->in->handed)
		return handed(p->in, p->i, k, e);
	i = p->in->stored ? member_entry(p->in, p->i, p->f, k) : STORED_NONE;
	if (i != STORED_NONE) {
		src = kid_source(p->t, p->in, i, true);
		if (!src)
			err_nomem(e);
	}
	return src;
}

int kid_refused(struct tree *t, struct unit *u, uint32_t i, const struct format *f, struct source *src, struct err *e)
{
	struct peek p = { { .member = peek_member, .handed = u->handed }, t, u, i, f };

	return format_refuses(f, src, &p.around, e);
}

/* ---- units ---- */

static int find_entry(struct tree *t, struct unit *in, const struct unit *u, unsigned k, struct unit **out,
		      struct err *e)
{
	uint32_t i = in->stored ? member_entry(in, u->index, u->format, k) : STORED_NONE;

	return i == STORED_NONE ? -ENOENT : unit_of_kid(t, in, i, out, e);
}

static int find_file(struct tree *t, const struct unit *u, unsigned k, struct unit **out, struct err *e)
{
	unsigned file;
	int rc = tree_member_file(t, tree_file_path(t, u->file), u->format, k, &file);

	return rc ? -ENOENT : unit_of_file(t, file, out, e);
}

int unit_member(struct tree *t, const struct unit *u, unsigned k, struct unit **out, struct err *e)
{
	struct unit *in = unit_at(t, u->parent);

	if (!tree_is_file(t, u))
		return in->handed ? -ENOENT : find_entry(t, in, u, k, out, e);
	return t->folder ? folder_member(t, u, k, out, e) : find_file(t, u, k, out, e);
}

/* Whether its container knows its members. */
static bool is_handed(const struct unit *u)
{
	return !tree_is_file(u->tree, u) && unit_at(u->tree, u->parent)->handed;
}

struct source *unit_member_source(const struct unit *u, unsigned k, struct err *e)
{
	struct unit *found;
	int rc;

	if (is_handed(u))
		return handed(unit_at(u->tree, u->parent), u->index, k, e);
	rc = unit_member(u->tree, u, k, &found, e);
	return rc ? NULL : src_ref(found->src);
}

void unit_find_members(struct tree *t, struct unit *u)
{
	for (unsigned k = 0; k < u->format->nmembers; k++) {
		struct unit *found;
		bool is = !is_handed(u) && !unit_member(t, u, k, &found, NULL);

		u->member[k] = is ? found->id : 0;
	}
}

uint64_t unit_bytes(const struct unit *u)
{
	uint64_t n = u->src->size;

	for (unsigned k = 0; k < u->format->nmembers; k++) {
		struct source *src = unit_member_source(u, k, NULL);

		n += src ? src->size : 0;
		src_put(src);
	}
	return n;
}
