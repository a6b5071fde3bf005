/* Units: made on demand, filled once, never moved. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit *unit_at(const struct tree *t, uint32_t id)
{
	return &t->chunk[id / UNIT_CHUNK][id % UNIT_CHUNK];
}

uint64_t hash_name(uint64_t parent, const char *name)
{
	uint64_t h = parent ^ 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	/* The last characters of a name must reach the high bits too. */
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9u;
	return h ^ h >> 32;
}

/* ---- what lies behind an entry ---- */

/* The unit among u and its parents that is an entry of a container whose order means something, or NULL. */
static struct unit *in_order(const struct tree *t, const struct unit *u)
{
	for (; u->id; u = unit_at(t, u->parent)) {
		const struct container_ops *c = unit_at(t, u->parent)->format->container;

		if (c && c->in_order)
			return unit_at(t, u->id);
	}
	return NULL;
}

/* The entry k behind that one, with its container in *in; NULL when there is none. */
static struct kid *kid_behind(const struct tree *t, const struct unit *u, unsigned k, struct unit **in)
{
	const struct unit *at = in_order(t, u);

	if (!at)
		return NULL;
	*in = unit_at(t, at->parent);
	return k < (*in)->nkids - at->index ? &(*in)->kids[at->index + k] : NULL;
}

/* What an object sees behind itself; for a file of its own, the file beside it. */
static struct source *follow(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct unit *u = (const struct unit *)s;
	struct source *src = NULL;
	struct unit *in = NULL;
	const struct kid *kid = kid_behind(u->tree, u, k, &in);
	unsigned file;

	if (kid && kid->entry.size) {
		src = kid_source(u->tree, in, (uint32_t)(kid - in->kids), false);
		if (!src)
			err_nomem(e);
	} else if (!in && k == 1 && u->format->behind && !unit_file_beside(u->tree, u, u->format->behind, &file)) {
		src = src_ref(tree_file_source(tree_file(u->tree, file)));
	}
	return src;
}

static struct source *member(const struct surroundings *s, unsigned k, struct err *e)
{
	return unit_member_source((const struct unit *)s, k, e);
}

void unit_called(const struct unit *u, struct buf *name, uint32_t *number)
{
	const struct unit *at = in_order(u->tree, u);
	char text[NODE_NAME_MAX];

	*number = at ? at->index : GEO_NONE;
	while (!at && !tree_is_file(u->tree, u))
		u = unit_at(u->tree, u->parent);
	unit_name(at ? at : u, text);
	buf_str(name, text);
}

static void called(const struct surroundings *s, struct buf *name, uint32_t *number)
{
	unit_called((const struct unit *)s, name, number);
}

static int find(const struct surroundings *s, const struct want *w, struct source **out, uint32_t *link,
		struct err *e)
{
	const struct unit *u = (const struct unit *)s;
	struct unit *found;
	int rc = unit_find(u->tree, u, w, &found, e);

	if (rc)
		return rc;
	*out = src_ref(found->src);
	*link = found->id;
	return 0;
}

/* ---- making units; with the lock held ---- */

static int new_unit(struct tree *t, const struct format *format, struct source *src, uint32_t parent, uint32_t index,
		    uint64_t hash, struct unit **out)
{
	uint32_t id = atomic_load_explicit(&t->nunits, memory_order_relaxed);
	struct unit *u;

	if (id == UNIT_CHUNKS * UNIT_CHUNK)
		return -EFBIG;
	if (!t->chunk[id / UNIT_CHUNK]) {
		t->chunk[id / UNIT_CHUNK] = calloc(UNIT_CHUNK, sizeof *u);
		if (!t->chunk[id / UNIT_CHUNK])
			return -ENOMEM;
	}
	u = unit_at(t, id);
	u->around.following = follow;
	u->around.find = find;
	u->around.member = member;
	u->around.handed = id && unit_at(t, parent)->handed;
	u->around.called = called;
	u->around.lead = id ? NULL : t->lead;
	u->around.padded = id && unit_at(t, parent)->format->container && unit_at(t, parent)->format->container->padded;
	u->tree = t;
	u->format = format;
	u->src = src ? src_ref(src) : NULL;
	u->hash = hash;
	u->id = id;
	u->parent = parent;
	u->index = index;
	u->depth = id ? (uint8_t)(unit_at(t, parent)->depth + 1) : 0;
	u->file = id ? unit_at(t, parent)->file : 0;
	atomic_store_explicit(&t->nunits, id + 1, memory_order_release);
	*out = u;
	return 0;
}

static int say_why(int rc, struct err *e)
{
	return rc == -EFBIG ? err_set(e, EFBIG, "more than %u directories", UNIT_CHUNKS * UNIT_CHUNK) :
	       rc ? err_nomem(e) : 0;
}

int unit_new(struct tree *t, const struct format *format, struct source *src, uint32_t parent, uint32_t index,
	     uint64_t hash, struct unit **out, struct err *e)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	rc = new_unit(t, format, src, parent, index, hash, out);
	pthread_mutex_unlock(&t->lock);
	return say_why(rc, e);
}

struct source *kid_source(struct tree *t, const struct unit *u, uint32_t i, bool peek)
{
	const struct kid *kid = &u->kids[i];
	const struct keep keep = { .by = &t->keeper, .unit = u->id, .index = i, .gen = kid->gen, .peek = peek };

	return entry_open(unit_inside(u), u->format, &kid->entry, &keep);
}

static int kid_unit(struct tree *t, struct unit *u, uint32_t i, struct unit **out);

/* The k-th model of a container with companions goes with its k-th skeleton, bank and pack, or the last there is. */
static void set_mates(struct tree *t, struct unit *u, struct unit *model)
{
	uint32_t rank = 0, seen[ROLE_COUNT] = { 0 }, pick[ROLE_COUNT] = { 0 };
	struct unit *mate;

	for (uint32_t i = 0; i < model->index; i++)
		rank += u->kids[i].format && u->kids[i].format->role == ROLE_MODEL;
	for (uint32_t i = 0; i < u->nkids; i++) {
		unsigned role = u->kids[i].format ? u->kids[i].format->role : ROLE_NONE;

		if (role > ROLE_MODEL && seen[role]++ <= rank)
			pick[role] = i + 1;
	}
	for (unsigned role = ROLE_MODEL + 1; role < ROLE_COUNT; role++)
		if (pick[role] && !kid_unit(t, u, pick[role] - 1, &mate))
			model->mate[role] = mate->id;
}

void unit_choose_mates(struct tree *t, struct unit *u)
{
	for (uint32_t i = 0; i < u->nkids && u->format->container->companions; i++) {
		struct kid *kid = &u->kids[i];
		struct unit *model = kid->unit ? unit_at(t, kid->unit) : NULL;
		uint32_t pack;

		if (!model || model->format->role != ROLE_MODEL)
			continue;
		pack = model->mate[ROLE_ANIMATIONS];
		memset(model->mate, 0, sizeof model->mate);
		set_mates(t, u, model);
		/* One that lies behind the model's other part, not in the container. */
		if (pack && !model->mate[ROLE_ANIMATIONS] && unit_at(t, pack)->parent != u->id &&
		    !unit_at(t, pack)->dead)
			model->mate[ROLE_ANIMATIONS] = pack;
	}
}

static int kid_unit(struct tree *t, struct unit *u, uint32_t i, struct unit **out)
{
	struct kid *kid = &u->kids[i];
	char name[NODE_NAME_MAX];
	struct source *src;
	uint64_t in;
	int rc;

	if (kid->unit) {
		*out = unit_at(t, kid->unit);
		return 0;
	}
	src = kid_source(t, u, i, false);
	if (!src)
		return -ENOMEM;
	kid_name(t, u, i, name);
	in = u->stored ? u->stored->dirs[stored_in(u->stored, i)].hash : u->hash;
	rc = new_unit(t, kid->format ? kid->format : &plain_format, src, u->id, i, hash_name(in, name), out);
	src_put(src);
	if (rc)
		return rc;
	kid->unit = (*out)->id;
	if (u->format->container->companions && kid->format && kid->format->role == ROLE_MODEL)
		set_mates(t, u, *out);
	return 0;
}

void unit_find_companions(struct tree *t, struct unit *u)
{
	if (!t->folder || u->format->role != ROLE_MODEL || !tree_is_file(t, u))
		return;
	memset(u->mate, 0, sizeof u->mate);
	for (const struct format *const *f = formats; *f; f++) {
		unsigned file;

		if ((*f)->role <= ROLE_MODEL || u->mate[(*f)->role] || unit_file_beside(t, u, (*f)->ext, &file))
			continue;
		if (unit_at(t, tree_file(t, file)->unit)->format == *f)
			u->mate[(*f)->role] = tree_file(t, file)->unit;
	}
}

bool unit_is_shared(const struct tree *t, const struct unit *u)
{
	for (; !tree_is_file(t, u); u = unit_at(t, u->parent)) {
		const struct unit *in = unit_at(t, u->parent);

		if (u->index < in->nkids && in->kids[u->index].entry.shared)
			return true;
	}
	return false;
}

int unit_of_kid(struct tree *t, struct unit *u, uint32_t i, struct unit **out, struct err *e)
{
	int rc = kid_know(t, u, i, e);

	if (rc)
		return rc;
	pthread_mutex_lock(&t->lock);
	rc = kid_unit(t, u, i, out);
	pthread_mutex_unlock(&t->lock);
	return say_why(rc, e);
}

void unit_find_pack_behind(struct tree *t, struct unit *u)
{
	struct unit *in, *pack;
	const struct kid *kid = kid_behind(t, u, u->format->pack_behind, &in);

	if (kid && kid->format && kid->format->role == ROLE_ANIMATIONS &&
	    !unit_of_kid(t, in, (uint32_t)(kid - in->kids), &pack, NULL))
		u->mate[ROLE_ANIMATIONS] = pack->id;
}

struct unit *unit_mate(struct tree *t, struct unit *u, unsigned role)
{
	struct unit *mate = role && u->mate[role] ? unit_at(t, u->mate[role]) : NULL;

	return mate && !unit_fill(t, mate, NULL) ? mate : NULL;
}

/* As a leaf of its own unit. Its size is known later, maybe to another thread just now, and not asked for here. */
static void copy_leaf(struct leaf *to, const struct leaf *l)
{
	*to = (struct leaf){ .index = l->index, .dir = l->dir, .kind = l->kind, .arg = l->arg };
}

/* The leaf of a linked picture in the unit that holds it. */
static bool find_linked(const struct unit *u, const struct unit *owner, const struct leaf *l, uint32_t image,
			struct leaf *there)
{
	const struct leaf *found = NULL;

	if (l->kind == LEAF_PNG) {
		found = leaf_find(owner, LEAF_PNG, 0, image);
	} else {
		for (unsigned k = 0; k < owner->format->nown && !found; k++)
			if (!strcmp(owner->format->own[k].name, u->format->own[l->arg].name))
				found = leaf_find(owner, LEAF_FILE, k, 0);
	}
	if (found)
		copy_leaf(there, found);
	return found;
}

static const struct picture *find_picture(const struct unit *u, uint32_t number)
{
	uint32_t first = 0, end = u->npictures;

	while (first < end) {
		uint32_t mid = first + (end - first) / 2;

		if (u->pictures[mid].number == number)
			return &u->pictures[mid];
		if (u->pictures[mid].number < number)
			first = mid + 1;
		else
			end = mid;
	}
	return NULL;
}

struct unit *unit_of_leaf(struct tree *t, struct unit *u, const struct leaf *l, struct leaf *there)
{
	const struct picture *p;
	struct unit *owner;

	if (l->role != LEAF_LINKED) {
		copy_leaf(there, l);
		return l->role ? unit_mate(t, u, l->role) : u;
	}
	p = find_picture(u, l->index);
	owner = p ? unit_at(t, p->unit) : NULL;
	if (!owner || atomic_load(&owner->dead) || unit_fill(t, owner, NULL))
		return NULL;
	return find_linked(u, owner, l, p->image, there) ? owner : NULL;
}

/* ---- notes ---- */

/* The leaf of a filled unit that shows the notes. */
static struct node errors_node(struct unit *u)
{
	uint32_t i = 0;

	while (u->leaves[i].kind != LEAF_ERRORS)
		i++;
	return (struct node){ u, unit_first_leaf(u) + i };
}

/* The listing of a unit that somebody has seen is another one now. */
static void notes_changed(struct tree *t, struct unit *u)
{
	int64_t was = atomic_load(&u->mtime), file = tree_mtime(t, u);

	atomic_store(&u->mtime, (was > file ? was : file) + 1);
	tree_changed(t, (struct node){ .unit = u });
	tree_changed(t, errors_node(u));
}

static struct note *new_note(const char *text, uint32_t about)
{
	struct note *fresh = malloc(sizeof *fresh + strlen(text) + 1);

	if (fresh) {
		fresh->next = NULL;
		fresh->about = about;
		strcpy(fresh->text, text);
	}
	return fresh;
}

void unit_note(struct tree *t, struct unit *u, const char *text)
{
	struct note **p, *fresh;
	unsigned n = 0;

	pthread_mutex_lock(&t->lock);
	for (p = &u->notes; *p && strcmp((*p)->text, text); p = &(*p)->next)
		n++;
	if (n == NOTES_MOST)
		text = "there is more damage than is listed here";
	fresh = *p || n > NOTES_MOST ? NULL : new_note(text, 0);
	if (fresh)
		*p = fresh;
	pthread_mutex_unlock(&t->lock);
	/* Before that nobody has seen the listing. */
	if (fresh && atomic_load(&u->state) == UNIT_READY)
		notes_changed(t, u);
}

void unit_note_kid(struct tree *t, struct unit *u, uint32_t i, const char *text)
{
	struct buf line = { 0 };

	if (u->stored)
		unit_kid_path(u, i, &line);
	else
		buf_printf(&line, "entry %u", i);
	buf_printf(&line, ": %s", text);
	buf_char(&line, 0);
	if (!line.bad)
		unit_note(t, u, (const char *)line.p);
	buf_free(&line);
}

/* Takes out the notes about a local; with the lock held. */
static bool forget(struct unit *u, uint32_t local)
{
	struct note **p = &u->notes;
	bool any = false;

	while (*p) {
		struct note *note = *p;

		if (note->about != local) {
			p = &note->next;
			continue;
		}
		*p = note->next;
		free(note);
		any = true;
	}
	return any;
}

void unit_note_refused(struct tree *t, struct unit *u, uint32_t local, const char *text)
{
	struct note **p = &u->notes, *fresh = new_note(text, local);

	pthread_mutex_lock(&t->lock);
	forget(u, local);
	while (*p)
		p = &(*p)->next;
	*p = fresh;
	pthread_mutex_unlock(&t->lock);
	notes_changed(t, u);
}

bool unit_forget_notes(struct tree *t, struct unit *u, uint32_t local)
{
	bool any;

	pthread_mutex_lock(&t->lock);
	any = forget(u, local);
	pthread_mutex_unlock(&t->lock);
	if (any && local)
		notes_changed(t, u);
	return any;
}

bool unit_has_note(struct tree *t, struct unit *u, const char *text)
{
	const struct note *note;

	pthread_mutex_lock(&t->lock);
	for (note = u->notes; note && strcmp(note->text, text); note = note->next)
		;
	pthread_mutex_unlock(&t->lock);
	return note;
}

/* ---- filling ---- */

/* What the unit's object found by searching is where the next one begins. While nobody else looks at the unit. */
static void keep_finding(struct unit *u, const struct object *o)
{
	finding_put(u->around.finding);
	u->around.finding = finding_ref(o->finding);
}

#define TABLES 4096u                           /* bytes from the start that hold the tables of most models */

static int fill(struct tree *t, struct unit *u, struct err *e)
{
	struct object *o;
	int rc = unit_medium(u, NULL, e);

	/* Damage is found once more, and noted, when it is opened. */
	if (!rc || rc == -EBADMSG || rc == -EFBIG)
		rc = object_open(u->format, u->src, &u->around, &o, e);
	if (rc)
		return rc;
	keep_finding(u, o);
	if (u->format->container)
		rc = kid_list(t, u, o, e);
	u->variant = o->variant;
	unit_find_companions(t, u);
	unit_find_members(t, u);
	if (o->behind && u->format->pack_behind && !u->mate[ROLE_ANIMATIONS])
		unit_find_pack_behind(t, u);
	if (!rc)
		rc = layout_model(t, u, o, e);
	for (const struct fault *f = o->faults; f && !rc; f = f->next)
		unit_note(t, u, f->text);
	object_close(o);
	return rc;
}

void unit_forget_links(struct unit *u)
{
	free(u->links);
	free(u->pictures);
	free(u->clip_name);
	u->links = NULL;
	u->pictures = NULL;
	u->clip_name = NULL;
	u->nlinks = u->npictures = u->nclips = 0;
}

/* Also what a filling that failed has left; nobody has seen it. */
void unit_empty(struct unit *u)
{
	kids_count(u->tree, u, u->nkids, 0);
	free(u->kids);
	free(u->leaves);
	pieces_free(&u->pieces);
	free(u->number);
	stored_free(u->stored);
	free((void *)(uintptr_t)u->handed);
	arena_free(&u->kept);
	unit_drop_medium(u);
	unit_forget_links(u);
	finding_put(u->around.finding);
	u->around.finding = NULL;
	u->number = NULL;
	u->kids = NULL;
	u->stored = NULL;
	u->handed = NULL;
	u->times = NULL;
	u->why = NULL;
	u->leaves = NULL;
	u->nkids = u->nleaves = 0;
}

int unit_fill(struct tree *t, struct unit *u, struct err *e)
{
	int rc;

	if (atomic_load_explicit(&u->state, memory_order_acquire) == UNIT_READY)
		return 0;
	pthread_mutex_lock(&t->lock);
	while (atomic_load(&u->state) == UNIT_BUSY) {
		if (t->slow)
			t->slow();
		pthread_cond_wait(&t->filled, &t->lock);
	}
	if (atomic_load(&u->state) == UNIT_READY) {
		pthread_mutex_unlock(&t->lock);
		return 0;
	}
	atomic_store(&u->state, UNIT_BUSY);
	pthread_mutex_unlock(&t->lock);

	/* Tables in memory take microseconds, less than another thread takes to wake up; a disk, or an archive of
	 * thousands of entries, takes milliseconds. */
	if (t->slow && (u->format->container || !src_ready(u->src, TABLES, 0)))
		t->slow();
	rc = fill(t, u, e);
	if (rc)
		unit_empty(u);

	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(&u->state, rc ? UNIT_EMPTY : UNIT_READY, memory_order_release);
	pthread_cond_broadcast(&t->filled);
	pthread_mutex_unlock(&t->lock);
	return rc;
}
