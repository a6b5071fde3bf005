/* The entries of a container that changed: which of them are written, which moved, and what becomes of their units. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "refresh_in.h"

/* ---- what a plan touches ---- */

static bool touches(const struct refresh *r, const struct source *src, uint64_t at, uint64_t n)
{
	src_range(src, &at, &n);
	return !r->plan || plan_touches(r->plan, at, n);
}

static bool entry_touched(const struct refresh *r, const struct source *src, const struct entry *v)
{
	bool any = false;

	for (uint32_t k = 0; v->in_pieces && k < v->extents->n; k++)
		any |= touches(r, src, v->extents->v[k].at, v->extents->v[k].size);
	return v->in_pieces ? any : touches(r, src, v->at, entry_stored(v));
}

#define WRITES_SEARCHED 64u                    /* by a search through all entries for each */

struct reach { uint64_t base, at, end; bool inside, hit; };

/* A range that is written, against what an entry has. */
static void reach_piece(struct reach *w, uint64_t at, uint64_t size)
{
	uint64_t first = w->base + at, last = first + size;

	w->inside |= w->at >= first && w->end <= last;
	w->hit |= w->at < last && w->end > first;
}

static void reach(struct reach *w, const struct entry *entry)
{
	if (entry->lost || entry->folder)
		return;
	for (uint32_t k = 0; entry->in_pieces && k < entry->extents->n; k++)
		reach_piece(w, entry->extents->v[k].at, entry->extents->v[k].size);
	if (!entry->in_pieces)
		reach_piece(w, entry->at, entry_stored(entry));
}

bool plan_in_entries(const struct plan *p, const struct source *src, const struct entry *v, size_t step,
		     const struct entry (*member)[MEMBERS_MOST], uint32_t n, uint8_t *hit)
{
	uint64_t base = 0, size = src->size;
	bool packed = src_range(src, &base, &size);

	for (size_t k = 0; k < p->n && p->n <= WRITES_SEARCHED; k++) {
		struct reach w = { .base = base, .at = p->v[k].at, .end = p->v[k].at + p->v[k].len };

		if (w.at >= base + size || w.end <= base)
			continue;
		if (packed)
			return false;
		for (uint32_t i = 0; i < n && (hit || !w.inside); i++) {
			w.hit = false;
			reach(&w, (const void *)((const uint8_t *)v + i * step));
			for (unsigned m = 0; member && m < MEMBERS_MOST; m++)
				reach(&w, &member[i][m]);
			if (hit && w.hit)
				hit[i] = true;
		}
		if (!w.inside)
			return false;
	}
	return p->n <= WRITES_SEARCHED;
}

/* ---- units of entries ---- */

static bool same_pieces(const struct entry *a, const struct entry *b)
{
	if (!a->in_pieces || !b->in_pieces)
		return a->in_pieces == b->in_pieces && a->at == b->at;
	return a->extents->n == b->extents->n &&
	       !memcmp(a->extents->v, b->extents->v, a->extents->n * sizeof a->extents->v[0]);
}

static bool same_place(const struct entry *a, const struct entry *b)
{
	return same_pieces(a, b) && a->size == b->size && a->packed == b->packed && a->lost == b->lost &&
	       a->shared == b->shared && a->fixed == b->fixed && a->folder == b->folder && a->key == b->key;
}

static void set_kid_time(struct refresh *r, struct unit *u, uint32_t i)
{
	kid_time_set(r->t, u, i, r->now);
	refresh_tell(r, (struct node){ .unit = u, .local = i + 1 });
}

/* The source of entry i's unit, where the entry lies now. */
static int renew_source(struct unit *u, uint32_t i, struct unit *sub)
{
	struct source *src = kid_source(u->tree, u, i, false);

	if (!src)
		return -ENOMEM;
	unit_set_source(sub, src);
	src_put(src);
	return 0;
}

/* A unit whose bytes are the same but lie elsewhere, and all inside it. */
static int move_unit(struct unit *u)
{
	int rc = atomic_load(&u->state) == UNIT_READY ? unit_medium(u, NULL, NULL) : 0;

	atomic_fetch_add(&u->gen, 1);
	for (uint32_t i = 0; i < u->nkids && !rc; i++) {
		struct unit *sub = u->kids[i].unit ? unit_at(u->tree, u->kids[i].unit) : NULL;

		rc = sub ? renew_source(u, i, sub) : 0;
		if (sub && !rc)
			rc = move_unit(sub);   /* no deeper than LIMIT_NESTING */
	}
	return rc;
}

/* SEATED: it is what it was, but in another source. */
enum renewal { SAME, SEATED, MOVED, WRITTEN };

/* An entry whose bytes or place changed. */
static int renew_kid(struct refresh *r, struct unit *u, uint32_t i, const struct kid *was, bool written)
{
	struct kid *kid = &u->kids[i];
	struct unit *sub;
	int rc;

	if (!was || !was->unit || was->format != kid->format) {
		if (was && was->unit)
			refresh_kill(r, unit_at(r->t, was->unit));
		kid->unit = 0;
	}
	if (!kid->format && written)
		set_kid_time(r, u, i);
	if (!was || !was->unit || was->format != kid->format)
		return 0;
	kid->unit = was->unit;
	sub = unit_at(r->t, kid->unit);
	rc = renew_source(u, i, sub);
	if (rc)
		return rc;
	if (!written)
		return move_unit(sub);
	refresh_unit(r, sub);
	return 0;
}

/* Objects may have a part in an entry behind theirs, or behind the container they lie in: who lies before a changed one
 * is looked at too. */
#define LOOK_BEHIND 2u

static void refresh_reaching(struct refresh *r, struct unit *u)
{
	struct object *o;
	bool reaches;

	for (uint32_t i = 0; i < u->nkids; i++)
		if (u->kids[i].unit)
			refresh_reaching(r, unit_at(r->t, u->kids[i].unit));
	if (!u->format->behind || object_open(u->format, u->src, &u->around, &o, NULL))
		return;
	reaches = o->behind || o->faults;      /* one that is missing now is a fault */
	object_close(o);
	if (reaches)
		refresh_unit(r, u);
}

static void refresh_before(struct refresh *r, struct unit *u, const uint8_t *how)
{
	for (uint32_t i = 0; i < u->nkids; i++) {
		bool near = false;

		for (uint32_t k = 1; k <= LOOK_BEHIND && i + k < u->nkids; k++)
			near |= how[i + k] == WRITTEN;
		if (near && u->kids[i].unit)
			refresh_reaching(r, unit_at(r->t, u->kids[i].unit));
	}
}

/* The entries that a container had; known: those that have the same names. */
struct had_kids { const struct kid *kids; uint32_t known; const struct entry (*handed)[MEMBERS_MOST]; };

/* An entry that is said to be elsewhere, although nothing moved, is another one. */
static bool is_written(const struct refresh *r, const struct unit *u, const struct entry *was, const struct entry *now)
{
	return !was || was->size != now->size || entry_stored(was) != entry_stored(now) || was->lost != now->lost ||
	       entry_touched(r, unit_inside(u), now) || (!same_pieces(was, now) && !r->plan->moved);
}

/* The same of what the container knows of its members. */
static bool members_written(const struct refresh *r, const struct unit *u, const struct entry *was,
			    const struct entry *now)
{
	for (unsigned k = 0; was && now && k < MEMBERS_MOST; k++)
		if (is_written(r, u, &was[k], &now[k]))
			return true;
	return !was != !now;
}

/* Whose member may be another one now is looked at as if it were written itself; and who hides what, anew. */
static void look_at_owners(struct refresh *r, struct unit *u, uint8_t *how)
{
	for (uint32_t i = 0; i < u->nkids && u->stored; i++) {
		uint32_t owner = how[i] >= MOVED ? kid_owner(r->t, u, i) : STORED_NONE;

		if (owner != STORED_NONE)
			how[owner] = WRITTEN;
	}
	for (uint32_t i = 0; i < u->nkids; i++)
		atomic_store(&u->kids[i].shown, 0);
}

/* Where the entries are, all of them before one is looked at; how: what became of each. */
static void place_kids(struct refresh *r, struct unit *u, const struct entries *entries, const struct had_kids *b,
		       uint8_t *how)
{
	for (uint32_t i = 0; i < entries->n; i++) {
		const struct entry *now = &entries->v[i], *was = i < b->known ? &b->kids[i].entry : NULL;
		bool written = is_written(r, u, was, now);

		if (was)
			u->kids[i] = b->kids[i];
		written |= was && members_written(r, u, b->handed ? b->handed[i] : NULL,
						  u->handed ? u->handed[i] : NULL);
		if (!written && same_place(was, now) && !r->plan->moved) {
			if (now->in_pieces)
				u->kids[i].entry.extents = now->extents;
			how[i] = r->reopened ? SEATED : SAME;
			continue;
		}
		u->kids[i].entry = *now;
		if (written)
			u->kids[i].gen = atomic_load(&u->gen);
		if (u->stored)
			u->kids[i].ext = stored_ext(stored_name(u->stored, i));
		how[i] = written ? WRITTEN : MOVED;
	}
	look_at_owners(r, u, how);
}

/* What the entries are now; those that nobody has looked at wait until somebody does. */
static int probe_kids(struct refresh *r, struct unit *u, const struct had_kids *b, uint8_t *how)
{
	uint8_t room[PROBE_MOST];
	int rc = 0;

	for (uint32_t i = 0; i < u->nkids && !rc; i++) {
		if (u->stored && (i >= b->known || !b->kids[i].known))
			how[i] = SAME;
		if (how[i] >= MOVED)
			rc = kid_probe(r->t, u, i, room, NULL);
	}
	return rc;
}

static void tell_items(struct refresh *r, struct unit *u)
{
	for (uint32_t i = 0; i < u->nkids + unit_folders(u); i++)
		if (i >= u->nkids || u->kids[i].known)
			refresh_tell(r, (struct node){ .unit = u, .local = i + 1 });
}

/* Entries that have other names are other entries. */
int refresh_names(struct refresh *r, struct unit *u, const struct entries *entries, bool *renamed)
{
	struct stored *now;
	int rc = kid_names(u, entries, &now, NULL);

	if (rc || !now)
		return rc;
	*renamed = !u->stored || !stored_same(u->stored, now);
	if (*renamed) {
		tell_items(r, u);
		stored_free(u->stored);
		u->stored = now;
	} else {
		stored_free(now);
	}
	return 0;
}

/* Objects look at what lies behind them, so all entries are placed before the first is read. */
int refresh_kids(struct refresh *r, struct unit *u, struct entries *entries, bool renamed)
{
	struct kid *was = u->kids;
	struct arena kept = { 0 };
	uint32_t nwas = u->nkids, known = renamed ? 0 : nwas;
	struct had_kids b = { was, known, u->handed };
	uint8_t *how = calloc(entries->n + 1, sizeof *how);
	int rc;

	u->kids = calloc(entries->n + 1, sizeof *u->kids);
	u->handed = NULL;
	if (!u->kids || !how || kid_keep_handed(u, entries) || kid_keep(u, entries, &kept) ||
	    !kids_count(r->t, u, nwas, entries->n)) {
		free(u->kids);
		free(how);
		free((void *)(uintptr_t)u->handed);
		u->kids = was;
		u->handed = b.handed;
		arena_free(&kept);             /* nobody looks at the unit before it is forgotten */
		return -ENOMEM;
	}
	u->nkids = entries->n;
	place_kids(r, u, entries, &b, how);
	free((void *)(uintptr_t)b.handed);
	rc = probe_kids(r, u, &b, how);
	for (uint32_t i = 0; i < entries->n && !rc; i++)
		if (how[i] != SAME)
			rc = renew_kid(r, u, i, i < known ? &was[i] : NULL, how[i] == WRITTEN);
	for (uint32_t i = known < entries->n ? known : entries->n; i < nwas; i++)
		if (was[i].unit)
			refresh_kill(r, unit_at(r->t, was[i].unit));
	if (u->format->container->in_order)
		refresh_before(r, u, how);
	unit_choose_mates(r->t, u);
	arena_free(&kept);
	free(was);
	free(how);
	return rc;
}

/* ---- when no table changed ---- */

/* Marks the entries that are written, which may overlap; false when something else of the container is. */
static bool only_kids(const struct refresh *r, const struct unit *u, uint8_t *how)
{
	if (!r->plan || r->plan->moved || r->plan->size != r->plan->base->size ||
	    !plan_in_entries(r->plan, unit_inside(u), (const void *)u->kids, sizeof *u->kids, u->handed, u->nkids, how))
		return false;
	for (uint32_t i = 0; i < u->nkids; i++)
		if (how[i])
			how[i] = WRITTEN;
	return true;
}

/* What a large archive's table says need not be read again because one entry was saved. 1: done. */
int refresh_written(struct refresh *r, struct unit *u)
{
	uint8_t *how = calloc((size_t)u->nkids + 1, 1), room[PROBE_MOST];
	struct kid *was = how && only_kids(r, u, how) ? malloc(((size_t)u->nkids + 1) * sizeof *was) : NULL;
	int rc = 0;

	if (!was) {
		free(how);
		return 0;
	}
	if (u->nkids)
		memcpy(was, u->kids, u->nkids * sizeof *was);
	look_at_owners(r, u, how);
	for (uint32_t i = 0; i < u->nkids; i++) {
		if (how[i] == SAME)
			continue;
		u->kids[i].gen = atomic_load(&u->gen);
		if (!u->kids[i].known) {
			how[i] = SAME;
			continue;
		}
		u->kids[i].entry.coded |= u->kids[i].bare;
	}
	for (uint32_t i = 0; i < u->nkids && !rc; i++)
		rc = how[i] != SAME ? kid_probe(r->t, u, i, room, NULL) : 0;
	for (uint32_t i = 0; i < u->nkids && !rc; i++)
		if (how[i] != SAME)
			rc = renew_kid(r, u, i, &was[i], true);
	if (u->format->container->in_order)
		refresh_before(r, u, how);
	unit_choose_mates(r->t, u);
	free(was);
	free(how);
	return rc ? rc : 1;
}
