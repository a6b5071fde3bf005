/* The tree after its archive changed: what is no longer true is read anew, what still is stays. Numbers of nodes stay
 * too, as far as what they stand for is still there, because the kernel and open files know them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "folder.h"
#include "scratch.h"

struct refresh {
	struct tree *t;
	unsigned file;
	const struct plan *plan;               /* NULL: all may have changed */
	int64_t now;
	struct buf *ids;
};

/* ---- what a plan touches ---- */

static bool touches(const struct refresh *r, const struct source *src, uint64_t at, uint64_t n)
{
	src_range(src, &at, &n);
	return !r->plan || plan_touches(r->plan, at, n);
}

#define WRITES_SEARCHED 64u                    /* by a search through all entries for each */

bool plan_in_entries(const struct plan *p, const struct source *src, const struct entry *v, size_t step, uint32_t n,
		     uint8_t *hit)
{
	uint64_t base = 0, size = src->size;
	bool packed = src_range(src, &base, &size);

	for (size_t k = 0; k < p->n && p->n <= WRITES_SEARCHED; k++) {
		uint64_t at = p->v[k].at, end = at + p->v[k].len;
		bool inside = false;

		if (at >= base + size || end <= base)
			continue;
		if (packed)
			return false;
		for (uint32_t i = 0; i < n && (hit || !inside); i++) {
			const struct entry *entry = (const void *)((const uint8_t *)v + i * step);
			uint64_t first = base + entry->at, last = first + entry_stored(entry);

			if (entry->lost)
				continue;
			inside |= at >= first && end <= last;
			if (hit && at < last && end > first)
				hit[i] = true;
		}
		if (!inside)
			return false;
	}
	return p->n <= WRITES_SEARCHED;
}

/* ---- telling ---- */

static void tell(struct refresh *r, struct node n)
{
	uint64_t id = node_id(n);

	buf_add(r->ids, &id, sizeof id);
}

/* Whether anybody can know attributes of a leaf: who was given some has made its size known, or wrote to it. */
static bool may_be_known(const struct refresh *r, const struct unit *u, uint32_t i)
{
	const struct tree *t = r->t;
	const struct leaf *l = &u->leaves[i];
	bool made = l->kind != LEAF_DIR && l->kind != LEAF_ERRORS && !leaf_is_bytes(l);

	return !made || atomic_load(&l->size) != SIZE_UNKNOWN || atomic_load(&t->ndrafts) > (t->saving ? 1u : 0u) ||
	       (t->saving && t->saving->unit == u && t->saving->local == unit_first_leaf(u) + i);
}

static void tell_unit(struct refresh *r, struct unit *u)
{
	tell(r, (struct node){ .unit = u });
	for (uint32_t i = 0; i < u->nleaves; i++)
		if (may_be_known(r, u, i))
			tell(r, (struct node){ .unit = u, .local = unit_first_leaf(u) + i });
}

/* ---- leaves ---- */

/* What a unit had before it was read anew. */
struct before_kids { uint32_t kids, folders; bool renamed; };

struct leaf_numbers {
	struct renumber r;                     /* first */
	struct before_kids had;
	uint32_t was_leaves;
	const struct leaf *was;
	struct pieces was_pieces;
};

/* Chunks and gaps are known by their names: their numbers change when one is added before them. */
static bool same_leaf(const struct leaf_numbers *k, const struct leaf *was, const struct leaf *now)
{
	const struct unit *u = k->r.unit;

	if (was->kind != now->kind || was->arg != now->arg || was->role != now->role || was->dir != now->dir)
		return false;
	if (was->kind == LEAF_PIECE)
		return piece_same_name(&k->was_pieces, was->index, &u->pieces, now->index);
	if (was->kind == LEAF_DIR && was->arg == LEAF_DIR_PIECES)
		return piece_same_folder(&k->was_pieces, k->was[was->index].index, &u->pieces,
					 u->leaves[now->index].index);
	return was->kind == LEAF_DIR || was->index == now->index;
}

static uint32_t new_local(const struct renumber *r, uint32_t local)
{
	const struct leaf_numbers *k = (const struct leaf_numbers *)r;
	const struct unit *u = r->unit;
	const struct leaf *l;

	if (local && local <= k->had.kids + k->had.folders && k->had.renamed)
		return UINT32_MAX;
	if (local <= k->had.kids)
		return local <= u->nkids ? local : UINT32_MAX;
	if (local <= k->had.kids + k->had.folders)
		return local;                  /* the names are the same, so the entries are as many */
	l = &k->was[local - k->had.kids - k->had.folders - 1];
	for (uint32_t i = 0; i < u->nleaves; i++)
		if (same_leaf(k, l, &u->leaves[i]))
			return unit_first_leaf(u) + i;
	return UINT32_MAX;
}

static bool same_leaves(const struct leaf_numbers *k)
{
	const struct unit *u = k->r.unit;

	if (k->had.renamed || k->had.kids != u->nkids || k->was_leaves != u->nleaves)
		return false;
	for (uint32_t i = 0; i < u->nleaves; i++)
		if (!same_leaf(k, &k->was[i], &u->leaves[i]))
			return false;
	return true;
}

/* Numbers that the kernel knows stay those of their nodes; what is new gets one that nothing ever had. */
static int keep_numbers(struct tree *t, const struct leaf_numbers *k)
{
	struct unit *u = k->r.unit;
	uint32_t items = u->nkids + unit_folders(u), had_items = k->had.kids + k->had.folders;
	uint32_t n = items + u->nleaves, had = had_items + k->was_leaves, high, *now, *old;
	uint32_t at = 0;                       /* leaves mostly stay in their order */

	now = malloc(((size_t)n + 1) * sizeof *now);
	if (!now)
		return -ENOMEM;
	pthread_mutex_lock(&t->lock);
	old = u->number;
	high = old ? u->numbers : had;
	for (uint32_t i = 0; i < items; i++)
		now[i] = k->had.renamed || i >= had_items ? ++high : old ? old[i] : i + 1;
	for (uint32_t i = 0; i < u->nleaves; i++) {
		uint32_t tries = k->was_leaves;

		for (; tries && !same_leaf(k, &k->was[at], &u->leaves[i]); tries--)
			at = at + 1 < k->was_leaves ? at + 1 : 0;
		now[items + i] = !tries ? ++high : old ? old[had_items + at] : had_items + at + 1;
	}
	u->number = now;
	u->numbers = high;
	pthread_mutex_unlock(&t->lock);
	free(old);
	return 0;
}

static void renumber(struct tree *t, const struct leaf_numbers *k)
{
	handle_renumber(t, &k->r);
	draft_renumber(t, &k->r);
	ghost_renumber(t, &k->r);
	if (t->saving && t->saving->unit == k->r.unit && t->saving->local != UINT32_MAX)
		t->saving->local = k->r.map(&k->r, t->saving->local);
	for (struct note *note = k->r.unit->notes; note; note = note->next)
		if (note->about && note->about != UINT32_MAX)
			note->about = k->r.map(&k->r, note->about);
}

/* ---- units ---- */

static void refresh_unit(struct refresh *r, struct unit *u);

/* What was a directory is another entry now; who still has it open gets ESTALE. */
static void kill_unit(struct refresh *r, struct unit *u)
{
	atomic_store(&u->dead, true);
	atomic_fetch_add(&u->gen, 1);
	u->touched = true;                     /* for who asked for it by name */
	for (uint32_t i = 0; i < u->nkids; i++)
		if (u->kids[i].unit)
			kill_unit(r, unit_at(r->t, u->kids[i].unit));
}

static bool same_place(const struct entry *a, const struct entry *b)
{
	return a->at == b->at && a->size == b->size && a->packed == b->packed && a->lost == b->lost && a->key == b->key;
}

static void set_kid_time(struct refresh *r, struct unit *u, uint32_t i)
{
	kid_time_set(r->t, u, i, r->now);
	tell(r, (struct node){ .unit = u, .local = i + 1 });
}

/* The source of entry i's unit, where the entry lies now. */
static int renew_source(struct unit *u, uint32_t i, struct unit *sub)
{
	struct source *src = kid_source(u->tree, u, i, false);

	if (!src)
		return -ENOMEM;
	src_put(sub->src);
	sub->src = src;
	return 0;
}

/* A unit whose bytes are the same but lie elsewhere, and all inside it. */
static int move_unit(struct unit *u)
{
	int rc = 0;

	atomic_fetch_add(&u->gen, 1);
	for (uint32_t i = 0; i < u->nkids && !rc; i++) {
		struct unit *sub = u->kids[i].unit ? unit_at(u->tree, u->kids[i].unit) : NULL;

		rc = sub ? renew_source(u, i, sub) : 0;
		if (sub && !rc)
			rc = move_unit(sub);   /* no deeper than LIMIT_NESTING */
	}
	return rc;
}

enum renewal { SAME, MOVED, WRITTEN };

/* An entry whose bytes or place changed. */
static int renew_kid(struct refresh *r, struct unit *u, uint32_t i, const struct kid *was, bool written)
{
	struct kid *kid = &u->kids[i];
	struct unit *sub;
	int rc;

	if (!was || !was->unit || was->format != kid->format) {
		if (was && was->unit)
			kill_unit(r, unit_at(r->t, was->unit));
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

/* An entry that is said to be elsewhere, although nothing moved, is another one. */
static bool is_written(const struct refresh *r, const struct unit *u, const struct entry *was, const struct entry *now)
{
	return !was || was->size != now->size || entry_stored(was) != entry_stored(now) || was->lost != now->lost ||
	       touches(r, u->src, now->at, entry_stored(now)) || (was->at != now->at && !r->plan->moved);
}

/* Where the entries are and what they are now; how: what became of each. */
static int place_kids(struct refresh *r, struct unit *u, const struct entries *entries, const struct kid *was,
		      uint32_t nwas, uint8_t *how)
{
	uint8_t room[PROBE_MOST];
	int rc = 0;

	for (uint32_t i = 0; i < entries->n; i++) {
		const struct entry *now = &entries->v[i];
		bool written = is_written(r, u, i < nwas ? &was[i].entry : NULL, now);

		if (i < nwas)
			u->kids[i] = was[i];
		if (!written && same_place(&was[i].entry, now) && !r->plan->moved)
			continue;
		u->kids[i].entry = *now;
		if (written)
			u->kids[i].gen = atomic_load(&u->gen);
		if (u->stored && (i >= nwas || !was[i].known)) {
			u->kids[i].ext = stored_ext(stored_name(u->stored, i));
			continue;
		}
		how[i] = written ? WRITTEN : MOVED;
		rc = rc ? rc : kid_probe(r->t, u, i, room, NULL);
	}
	return rc;
}

static void tell_items(struct refresh *r, struct unit *u)
{
	for (uint32_t i = 0; i < u->nkids + unit_folders(u); i++)
		if (i >= u->nkids || u->kids[i].known)
			tell(r, (struct node){ .unit = u, .local = i + 1 });
}

/* Entries that have other names are other entries. */
static int refresh_names(struct refresh *r, struct unit *u, const struct entries *entries, bool *renamed)
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
static int refresh_kids(struct refresh *r, struct unit *u, const struct entries *entries, bool renamed)
{
	struct kid *was = u->kids;
	uint32_t nwas = u->nkids, known = renamed ? 0 : nwas;
	uint8_t *how = calloc(entries->n + 1, sizeof *how);
	int rc;

	u->kids = calloc(entries->n + 1, sizeof *u->kids);
	if (!u->kids || !how || !kids_count(r->t, u, nwas, entries->n)) {
		free(u->kids);
		free(how);
		u->kids = was;
		return -ENOMEM;
	}
	u->nkids = entries->n;
	rc = place_kids(r, u, entries, was, known, how);
	for (uint32_t i = 0; i < entries->n && !rc; i++)
		if (how[i] != SAME)
			rc = renew_kid(r, u, i, i < known ? &was[i] : NULL, how[i] == WRITTEN);
	for (uint32_t i = known < entries->n ? known : entries->n; i < nwas; i++)
		if (was[i].unit)
			kill_unit(r, unit_at(r->t, was[i].unit));
	if (u->format->container->in_order)
		refresh_before(r, u, how);
	unit_choose_mates(r->t, u);
	free(was);
	free(how);
	return rc;
}

/* ---- when no table changed ---- */

/* Marks the entries that are written, which may overlap; false when something else of the container is. */
static bool only_kids(const struct refresh *r, const struct unit *u, uint8_t *how)
{
	if (!r->plan || r->plan->moved || r->plan->size != r->plan->base->size ||
	    !plan_in_entries(r->plan, u->src, (const void *)u->kids, sizeof *u->kids, u->nkids, how))
		return false;
	for (uint32_t i = 0; i < u->nkids; i++)
		if (how[i])
			how[i] = WRITTEN;
	return true;
}

/* What a large archive's table says need not be read again because one entry was saved. 1: done. */
static int refresh_written(struct refresh *r, struct unit *u)
{
	uint8_t *how = calloc((size_t)u->nkids + 1, 1), room[PROBE_MOST];
	struct kid *was = how && only_kids(r, u, how) ? malloc(((size_t)u->nkids + 1) * sizeof *was) : NULL;
	int rc = 0;

	if (!was) {
		free(how);
		return 0;
	}
	memcpy(was, u->kids, u->nkids * sizeof *was);
	for (uint32_t i = 0; i < u->nkids && !rc; i++) {
		if (how[i] == SAME)
			continue;
		u->kids[i].gen = atomic_load(&u->gen);
		if (!u->kids[i].known) {
			how[i] = SAME;
			continue;
		}
		u->kids[i].entry.coded |= u->kids[i].bare;
		rc = kid_probe(r->t, u, i, room, NULL);
	}
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

/* ---- units that are read anew ---- */

/* Leaves and notes of damage, made anew. After an error the unit is to be forgotten. */
static int refresh_leaves(struct refresh *r, struct unit *u, const struct before_kids *had, struct object *o)
{
	struct leaf_numbers k = { { u, new_local }, *had, u->nleaves, u->leaves, u->pieces };
	int rc;

	u->leaves = NULL;
	u->pieces = (struct pieces){ 0 };
	u->nleaves = 0;
	unit_forget_links(u);
	u->variant = o->variant;
	unit_find_companions(r->t, u);
	unit_find_members(r->t, u);
	if (o->behind && u->format->pack_behind && !u->mate[ROLE_ANIMATIONS])
		unit_find_pack_behind(r->t, u);
	rc = layout_model(r->t, u, o, NULL);
	if (rc) {
		free(u->leaves);
		pieces_free(&u->pieces);
		u->leaves = (struct leaf *)k.was;
		u->nleaves = k.was_leaves;
		u->pieces = k.was_pieces;
		return rc;
	}
	if (!same_leaves(&k)) {
		rc = keep_numbers(r->t, &k);
		renumber(r->t, &k);
	}
	free((void *)k.was);
	pieces_free(&k.was_pieces);
	if (rc)
		return rc;
	unit_forget_notes(r->t, u, 0);
	for (const struct fault *f = o->faults; f; f = f->next)
		unit_note(r->t, u, f->text);
	return 0;
}

static int reread(struct refresh *r, struct unit *u)
{
	struct before_kids had = { u->nkids, unit_folders(u), false };
	struct entries entries = { 0 };
	struct object *o;
	int rc = u->format->container ? refresh_written(r, u) : 0;

	if (rc)
		return rc > 0 ? 0 : rc;
	rc = object_open(u->format, u->src, &u->around, &o, NULL);
	if (rc)
		return rc;
	if (u->format->container)
		rc = u->format->container->list(o, &entries, NULL);
	if (!rc && u->format->container)
		rc = refresh_names(r, u, &entries, &had.renamed);
	if (!rc && u->format->container)
		rc = refresh_kids(r, u, &entries, had.renamed);
	if (!rc)
		rc = refresh_leaves(r, u, &had, o);
	object_close(o);
	return rc;
}

static uint32_t no_local(const struct renumber *r, uint32_t local)
{
	(void)r;
	return local ? UINT32_MAX : 0;
}

/* What cannot be read any more is read when somebody looks the next time; nothing of what was known is true then. */
static void forget_unit(struct refresh *r, struct unit *u)
{
	struct leaf_numbers k = {
		{ u, no_local }, { u->nkids, unit_folders(u), false }, u->nleaves, u->leaves, u->pieces
	};

	for (uint32_t i = 0; i < u->nkids; i++)
		if (u->kids[i].unit)
			kill_unit(r, unit_at(r->t, u->kids[i].unit));
	renumber(r->t, &k);
	unit_empty(u);
	atomic_store(&u->state, UNIT_EMPTY);
}

static void forget_what_it_found(struct tree_file *f)
{
	folder_forget_wishes(f);
	folder_forget_members(f);
}

static void refresh_unit(struct refresh *r, struct unit *u)
{
	int64_t was = atomic_load(&u->mtime);
	uint32_t nkids, nleaves;

	if (u->touched)
		return;
	u->touched = true;
	atomic_fetch_add(&u->gen, 1);
	atomic_store(&u->mtime, r->now > was ? r->now : was + 1);
	atomic_store(&u->checked, false);
	if (r->t->folder && tree_is_file(r->t, u))
		forget_what_it_found(tree_file(r->t, u->file));
	if (atomic_load(&u->state) != UNIT_READY)
		return;
	tell_unit(r, u);
	nkids = u->nkids;
	nleaves = u->nleaves;
	if (reread(r, u))
		forget_unit(r, u);
	if (u->nkids != nkids || u->nleaves > nleaves)
		tell_unit(r, u);               /* there are other numbers */
}

static bool has_asked_for_touched(const struct tree *t, const struct unit *u)
{
	const struct wish *w = t->folder && u->file != NO_FILE ? tree_file(t, u->file)->wishes : NULL;

	while (w && (w->file == NO_FILE || !unit_at(t, tree_file(t, w->file)->unit)->touched))
		w = w->next;
	return w;
}

static bool has_touched_mate(const struct tree *t, const struct unit *u)
{
	if (has_asked_for_touched(t, u))
		return true;
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		if (u->mate[role] && unit_at(t, u->mate[role])->touched)
			return true;
	for (unsigned k = 0; k < MEMBERS_MOST; k++)
		if (u->member[k] && unit_at(t, u->member[k])->touched)
			return true;
	for (uint32_t i = 0; i < u->nlinks; i++)
		if (u->links[i] && unit_at(t, u->links[i])->touched)
			return true;
	return false;
}

/* Who shows a changed companion's files shows them anew, even if it was read before the companion was. */
static void refresh_mates(struct refresh *r)
{
	uint32_t n = atomic_load(&r->t->nunits);

	for (uint32_t i = 0; i < n; i++) {
		struct unit *u = unit_at(r->t, i);

		if (!u->dead && has_touched_mate(r->t, u)) {
			u->touched = false;
			refresh_unit(r, u);
		}
	}
}

static void renew_file(struct refresh *r, struct unit *u)
{
	struct source *src = tree_file_source(tree_file(r->t, r->file));

	if (u->src != src) {
		src_ref(src);
		src_put(u->src);
		u->src = src;
	}
	refresh_unit(r, u);
}

static void begin(struct tree *t)
{
	uint32_t n = atomic_load(&t->nunits);

	for (uint32_t i = 0; i < n; i++)
		unit_at(t, i)->touched = false;
}

static void refresh_file(struct refresh *r)
{
	struct tree *t = r->t;
	uint32_t n = atomic_load(&t->nunits);

	for (uint32_t i = 0; i < n; i++) {
		struct unit *u = unit_at(t, i);

		if (u->file == r->file && tree_is_file(t, u))
			renew_file(r, u);
	}
	/* A part that lies in another file than its object. */
	for (uint32_t i = 0; i < n && r->file; i++)
		if (tree_is_file(t, unit_at(t, i)) && unit_at(t, i)->format->behind)
			refresh_unit(r, unit_at(t, i));
}

/* There each file has one unit, and it is known who asked for it. Its time is the file's own: also an older one that
 * others gave it. */
static void refresh_in_folder(struct refresh *r, const struct tree_file *f)
{
	struct unit *u = unit_at(r->t, f->unit);

	if (r->plan)
		r->now = f->seen.mtime;
	renew_file(r, u);
	if (!r->plan)
		atomic_store(&u->mtime, 0);
}

void tree_refresh(struct tree *t, unsigned file, const struct plan *plan, struct buf *ids)
{
	struct refresh r = { t, file, plan, now_ns(), ids };

	begin(t);
	if (t->folder)
		refresh_in_folder(&r, tree_file(t, file));
	else
		refresh_file(&r);
	refresh_mates(&r);
}

void tree_kill(struct tree *t, struct unit *u)
{
	struct refresh r = { .t = t };

	kill_unit(&r, u);
	forget_unit(&r, u);
}

void tree_refresh_users(struct tree *t, struct unit *was, struct buf *ids)
{
	struct refresh r = { .t = t, .now = now_ns(), .ids = ids };

	begin(t);
	was->touched = true;
	if (was->file != NO_FILE)
		unit_at(t, tree_file(t, was->file)->unit)->touched = true;
	refresh_mates(&r);
}
