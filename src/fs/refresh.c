/* The tree after its archive changed: what is no longer true is read anew, what still is stays. Numbers of nodes stay
 * too, as far as what they stand for is still there, because the kernel and open files know them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"
#include "edit.h"
#include "folder.h"
#include "refresh_in.h"
#include "scratch.h"

/* ---- telling ---- */

void refresh_tell(struct refresh *r, struct node n)
{
	uint64_t id = node_id(n);

	buf_add(r->ids, &id, sizeof id);
}

/* Whether anybody can know attributes of a leaf: who was given some has made its size known, or wrote to it. */
static bool may_be_known(const struct refresh *r, const struct unit *u, uint32_t i)
{
	const struct tree *t = r->t;
	const struct leaf *l = &u->leaves[i];
	bool made = leaf_is_piece(l) || (l->kind != LEAF_DIR && l->kind != LEAF_ERRORS && !leaf_is_bytes(l));

	return !made || atomic_load(&l->size) != SIZE_UNKNOWN || atomic_load(&t->ndrafts) > (t->saving ? 1u : 0u) ||
	       (t->saving && t->saving->unit == u && t->saving->local == unit_first_leaf(u) + i);
}

static void tell_unit(struct refresh *r, struct unit *u)
{
	refresh_tell(r, (struct node){ .unit = u });
	for (uint32_t i = 0; i < u->nleaves; i++)
		if (may_be_known(r, u, i))
			refresh_tell(r, (struct node){ .unit = u, .local = unit_first_leaf(u) + i });
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

/* ---- which leaf was which ---- */

/* Leaves mostly stay in their order: the next one is tried first, then the one that a hash finds. */
struct leaf_finder { const struct leaf_numbers *k; uint32_t at, *slot, mask; };

static uint64_t leaf_hash(const struct leaf *v, const struct pieces *p, const struct leaf *l)
{
	uint64_t h = l->kind | (uint64_t)l->arg << 8 | (uint64_t)l->role << 16 | (uint64_t)l->dir << 24;
	char folder[PART_NAME_MAX];

	if (l->kind == LEAF_PIECE)
		return hash_name(h, piece_name(p, l->index));
	if (l->kind != LEAF_DIR)
		return hash_name(h ^ (uint64_t)l->index << 32, "");
	if (l->arg != LEAF_DIR_PIECES)
		return hash_name(h, "");
	piece_folder_name(p, v[l->index].index, folder);
	return hash_name(h, folder);
}

static bool finder_make(struct leaf_finder *f, const struct leaf_numbers *k)
{
	*f = (struct leaf_finder){ .k = k, .mask = 15 };
	while (f->mask / 2 < k->was_leaves)
		f->mask = f->mask * 2 + 1;
	f->slot = calloc((size_t)f->mask + 1, sizeof *f->slot);
	for (uint32_t i = 0; f->slot && i < k->was_leaves; i++) {
		uint32_t h = (uint32_t)leaf_hash(k->was, &k->was_pieces, &k->was[i]) & f->mask;

		while (f->slot[h])
			h = (h + 1) & f->mask;
		f->slot[h] = i + 1;
	}
	return f->slot;
}

/* UINT32_MAX: it was not there. */
static uint32_t finder_find(struct leaf_finder *f, const struct leaf *now)
{
	const struct unit *u = f->k->r.unit;
	uint32_t h;

	if (f->at < f->k->was_leaves && same_leaf(f->k, &f->k->was[f->at], now))
		return f->at++;
	for (h = (uint32_t)leaf_hash(u->leaves, &u->pieces, now) & f->mask; f->slot[h]; h = (h + 1) & f->mask) {
		if (!same_leaf(f->k, &f->k->was[f->slot[h] - 1], now))
			continue;
		f->at = f->slot[h];
		return f->slot[h] - 1;
	}
	return UINT32_MAX;
}

/* Numbers that the kernel knows stay those of their nodes; what is new gets one that nothing ever had. */
static int keep_numbers(struct tree *t, const struct leaf_numbers *k)
{
	struct unit *u = k->r.unit;
	uint32_t items = u->nkids + unit_folders(u), had_items = k->had.kids + k->had.folders;
	uint32_t n = items + u->nleaves, had = had_items + k->was_leaves, high, *now, *old;
	struct leaf_finder f;

	now = malloc(((size_t)n + 1) * sizeof *now);
	if (!now || !finder_make(&f, k)) {
		free(now);
		return -ENOMEM;
	}
	pthread_mutex_lock(&t->lock);
	old = u->number;
	high = old ? u->numbers : had;
	for (uint32_t i = 0; i < items; i++)
		now[i] = k->had.renamed || i >= had_items ? ++high : old ? old[i] : i + 1;
	for (uint32_t i = 0; i < u->nleaves; i++) {
		uint32_t at = finder_find(&f, &u->leaves[i]);

		now[items + i] = at == UINT32_MAX ? ++high : old ? old[had_items + at] : had_items + at + 1;
	}
	u->number = now;
	u->numbers = high;
	pthread_mutex_unlock(&t->lock);
	free(f.slot);
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

/* What was a directory is another entry now; who still has it open gets ESTALE. */
void refresh_kill(struct refresh *r, struct unit *u)
{
	atomic_store(&u->dead, true);
	atomic_fetch_add(&u->gen, 1);
	u->touched = true;                     /* for who asked for it by name */
	for (uint32_t i = 0; i < u->nkids; i++)
		if (u->kids[i].unit)
			refresh_kill(r, unit_at(r->t, u->kids[i].unit));
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

/* The plan in which places are counted as in what a unit's entries lie in. */
static const struct plan *plan_inside(const struct refresh *r, const struct unit *u)
{
	if (!r->ed)
		return NULL;
	for (; !u->around.medium || u->around.medium == u->src; u = unit_at(r->t, u->parent))
		if (tree_is_file(r->t, u))
			return edit_plan(r->ed, r->file);
	return edit_medium_plan(r->ed, u);
}

static int reread(struct refresh *r, struct unit *u)
{
	struct before_kids had = { u->nkids, unit_folders(u), false };
	struct entries entries = { 0 };
	struct object *o;
	int rc = unit_medium(u, &r->reopened, NULL);

	r->plan = plan_inside(r, u);
	if (!rc && u->format->container && !r->reopened)
		rc = refresh_written(r, u);
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
			refresh_kill(r, unit_at(r->t, u->kids[i].unit));
	renumber(r->t, &k);
	unit_empty(u);
	atomic_store(&u->state, UNIT_EMPTY);
}

static void forget_what_it_found(struct tree_file *f)
{
	folder_forget_wishes(f);
	folder_forget_members(f);
}

static void read_anew(struct refresh *r, struct unit *u)
{
	const struct plan *was = r->plan;
	bool reopened = r->reopened;

	if (reread(r, u))
		forget_unit(r, u);
	r->plan = was;
	r->reopened = reopened;
}

void refresh_unit(struct refresh *r, struct unit *u)
{
	int64_t was = atomic_load(&u->mtime);
	uint32_t nkids, nleaves;

	if (u->touched)
		return;
	u->touched = true;
	atomic_fetch_add(&u->gen, 1);
	atomic_store(&u->mtime, r->now > was ? r->now : was + 1);
	atomic_store(&u->checked, false);
	if (!r->ed) {                          /* it may be anywhere now */
		finding_put(u->around.finding);
		u->around.finding = NULL;
	}
	if (r->t->folder && tree_is_file(r->t, u))
		forget_what_it_found(tree_file(r->t, u->file));
	if (atomic_load(&u->state) != UNIT_READY)
		return;
	tell_unit(r, u);
	nkids = u->nkids;
	nleaves = u->nleaves;
	read_anew(r, u);
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

static void renew_unit(struct unit *u)
{
	struct source *src = tree_file_source(tree_file(u->tree, u->file));

	unit_set_source(u, src);
}

static void renew_file(struct refresh *r, struct unit *u)
{
	renew_unit(u);
	refresh_unit(r, u);
}

void tree_renew(struct tree *t, unsigned file)
{
	if (t->folder) {
		renew_unit(unit_at(t, tree_file(t, file)->unit));
		return;
	}
	for (uint32_t i = 0; i < atomic_load(&t->nunits); i++)
		if (unit_at(t, i)->file == file && tree_is_file(t, unit_at(t, i)))
			renew_unit(unit_at(t, i));
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

	if (r->ed)
		r->now = f->seen.mtime;
	renew_file(r, u);
	if (!r->ed)
		atomic_store(&u->mtime, 0);
}

void tree_refresh(struct tree *t, unsigned file, struct edit *ed, struct buf *ids)
{
	struct refresh r = { .t = t, .file = file, .ed = ed, .now = now_ns(), .ids = ids };

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

	refresh_kill(&r, u);
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
