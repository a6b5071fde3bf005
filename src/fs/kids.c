/* The entries of a container: where they are, what their first bytes tell that they are. Those that have numbers are
 * looked at when the container is, those that have names when somebody does. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/* ---- looking at one ---- */

static const char *plain_ext(const struct format *f, struct probe *p)
{
	const char *ext = !f ? NULL : f->extension ? f->extension(p) : f->ext;

	return ext ? ext : "bin";
}

/* What the entry is, through its cipher or without. *p is left for plain_ext(). */
static const struct format *detect_kid(struct unit *u, struct kid *kid, struct probe *p, struct err *why)
{
	const struct container_ops *c = u->format->container;
	const struct format *f = format_detect(p, why);
	uint8_t raw[4];

	if (f || why->code || !kid->entry.coded || !c->stored_plain || kid->entry.size < sizeof raw ||
	    src_pread(unit_inside(u), raw, sizeof raw, kid->entry.at) || !c->stored_plain(raw))
		return f;
	kid->entry.coded = false;
	kid->bare = true;
	src_put(p->src);
	p->src = entry_source(unit_inside(u), u->format, &kid->entry);
	return p->src ? format_detect(p, why) : NULL;
}

/* A stream that cannot be unpacked says why when it is. */
static void note_unreadable(struct tree *t, struct unit *u, uint32_t i, struct source *src, const struct err *why)
{
	struct pin pin;

	if (!u->kids[i].entry.packed)
		unit_note_kid(t, u, i, why->text);
	else if (!src_pin(src, &pin, NULL))
		src_unpin(&pin);
}

static int probe(struct tree *t, struct unit *u, uint32_t i, struct kid *kid, uint8_t *room, struct err *e)
{
	const char *name = u->stored ? stored_name(u->stored, i) : "";
	struct probe p = {
		.name = name, .within = u->format, .index = i, .size = kid->entry.size, .room = room,
		.search = u->stored ? t->search : SEARCH_NOT,  /* those that have numbers are looked at all at once */
	};
	struct err why = { 0 };
	const struct format *f;
	bool opens;

	kid->bare = false;
	kid->format = NULL;
	kid->ext = u->stored ? stored_ext(name) : "empty";
	if (!kid->entry.size || kid->entry.lost || kid->entry.folder)
		return 0;
	p.src = kid_source(t, u, i, true);
	f = p.src ? detect_kid(u, kid, &p, &why) : NULL;
	if (!p.src)
		return err_nomem(e);
	finding_put(p.finding);
	if (why.code)                          /* it is a plain file, whose reading fails */
		note_unreadable(t, u, i, p.src, &why);
	opens = format_opens(f) && u->depth + 1u < LIMIT_NESTING && !kid_refused(t, u, i, f, p.src, NULL);
	kid->format = opens ? f : NULL;
	if (!u->stored)
		kid->ext = kid->format ? f->ext : plain_ext(f, &p);
	src_put(p.src);
	return 0;
}

int kid_probe(struct tree *t, struct unit *u, uint32_t i, uint8_t *room, struct err *e)
{
	int rc = probe(t, u, i, &u->kids[i], room, e);

	atomic_store_explicit(&u->kids[i].known, !rc, memory_order_release);
	return rc;
}

int kid_know(struct tree *t, struct unit *u, uint32_t i, struct err *e)
{
	struct kid *kid = &u->kids[i], found = { .entry = kid->entry };
	uint8_t room[PROBE_MOST];
	int rc;

	if (atomic_load_explicit(&kid->known, memory_order_acquire))
		return 0;
	if (t->slow)
		t->slow();
	rc = probe(t, u, i, &found, room, e);
	pthread_mutex_lock(&t->lock);
	if (!rc && !atomic_load(&kid->known)) {
		kid->format = found.format;
		atomic_store_explicit(&kid->known, true, memory_order_release);
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

void kid_tells(struct tree *t, struct unit *u, uint32_t i, struct err *e)
{
	const struct kid *kid = &u->kids[i];
	const struct format *f;
	struct err why = { 0 };
	uint8_t room[PROBE_MOST];
	struct probe p = { .name = "", .within = u->format, .index = i, .size = kid->entry.size, .room = room };

	p.src = kid->entry.size && !kid->entry.lost ? kid_source(t, u, i, true) : NULL;
	f = p.src ? format_detect(&p, NULL) : NULL;
	if (p.src && !f)
		format_tells(&p, e);
	else if (format_opens(f) && kid_refused(t, u, i, f, p.src, &why) == -EBADMSG)
		*e = why;
	src_put(p.src);
}

/* Some of a container's entries, and how it went. */
struct probe_job {
	struct tree *t;
	struct unit *u;
	uint32_t first, end;
	int rc;
	struct err err;
};

static void *probe_kids(void *arg)
{
	struct probe_job *j = arg;
	uint8_t room[PROBE_MOST];

	for (uint32_t i = j->first; i < j->end && !j->rc; i++)
		j->rc = kid_probe(j->t, j->u, i, room, &j->err);
	return NULL;
}

/* A thread costs as much as some hundred entries; a large archive is most of the time it takes to mount. */
#define SHARED_PROBES 2000u

static bool second_processor(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 1;
}

static int probe_all(struct tree *t, struct unit *u, uint32_t n, struct err *e)
{
	bool share = n >= SHARED_PROBES && second_processor();
	struct probe_job a = { .t = t, .u = u, .end = share ? n / 2 : n };
	struct probe_job b = { .t = t, .u = u, .first = a.end, .end = n };
	pthread_t other;
	bool started = share && !pthread_create(&other, NULL, probe_kids, &b);

	probe_kids(&a);
	if (started)
		pthread_join(other, NULL);
	else
		probe_kids(&b);
	if (a.rc || b.rc)
		*e = a.rc ? a.err : b.err;
	return a.rc ? a.rc : b.rc;
}

/* Whether the entries of a container may be many more than its bytes: it is packed, or may be seen under many names. */
static bool may_be_many(const struct tree *t, const struct unit *u)
{
	uint64_t at = 0, size = 0;

	return u->src && (src_range(u->src, &at, &size) || unit_is_shared(t, u));
}

bool kids_count(struct tree *t, struct unit *u, uint32_t was, uint32_t now)
{
	_Atomic uint32_t *nested;

	if (!u->counted) {
		if (!now || !may_be_many(t, u))
			return true;
		was = 0;
	}
	nested = &tree_file(t, u->file)->nested;
	u->counted = now;
	if (atomic_fetch_add(nested, now - was) + (now - was) <= NESTED_MOST)
		return true;
	atomic_fetch_sub(nested, now - was);
	u->counted = was;
	return false;
}

int kid_names(struct unit *u, const struct entries *v, struct stored **out, struct err *e)
{
	const struct container_ops *c = u->format->container;
	const char *const taken[] = { ERRORS_NAME, c->raw ? leaf_dir_names[LEAF_DIR_RAW] : NULL, NULL };

	*out = c->separator ? stored_new(v, c->separator, taken, u->hash) : NULL;
	return *out || !c->separator ? 0 : err_nomem(e);
}

/* ---- what they say besides ---- */

static const struct extents *copy_extents(struct arena *a, const struct extents *x)
{
	size_t n = sizeof *x + x->n * sizeof x->v[0];
	struct extents *copy = arena_alloc(a, n, 1);

	if (copy)
		memcpy(copy, x, n);
	return copy;
}

/* Neighbours mostly have the same reason, if any. */
static const char *const *copy_reasons(struct arena *a, const char *const *why, uint32_t n)
{
	const char **v = arena_alloc(a, n + (size_t)1, sizeof *v), *last = NULL, *copy = NULL;

	for (uint32_t i = 0; v && i < n; i++) {
		v[i] = NULL;
		if (!why[i])
			continue;
		if (!last || strcmp(last, why[i]))
			copy = arena_printf(a, "%s", why[i]);
		if (!copy)
			return NULL;
		last = why[i];
		v[i] = copy;
	}
	return v;
}

static bool copy_all(struct entries *v, struct arena *a, const int64_t **times, const char *const **why)
{
	int64_t *t = v->mtime ? arena_alloc(a, v->n + (size_t)1, sizeof *t) : NULL;

	if (t)
		memcpy(t, v->mtime, v->n * sizeof *t);
	*times = t;
	*why = v->why ? copy_reasons(a, v->why, v->n) : NULL;
	if ((v->mtime && !t) || (v->why && !*why))
		return false;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct extents *x = v->v[i].in_pieces ? copy_extents(a, v->v[i].extents) : NULL;

		if (v->v[i].in_pieces && !x)
			return false;
		if (x)
			v->v[i].extents = x;
	}
	return true;
}

int kid_keep(struct unit *u, struct entries *v, struct arena *was)
{
	struct arena a = { 0 };
	const int64_t *times;
	const char *const *why;

	if (!copy_all(v, &a, &times, &why)) {
		arena_free(&a);
		return -ENOMEM;
	}
	*was = u->kept;
	u->kept = a;
	u->times = times;
	u->why = why;
	return 0;
}

int kid_list(struct tree *t, struct unit *u, struct object *o, struct err *e)
{
	struct entries entries = { 0 };
	struct arena none = { 0 };
	struct err why = { 0 };
	int rc;

	if (u->format->container->open && !o->variant)
		return 0;                      /* that is a fault by now */
	rc = u->format->container->list(o, &entries, &why);
	if (rc == -EBADMSG || rc == -EFBIG) {
		object_fault(o, PART_OBJECT, 0, true, &why);
		return 0;
	}
	if (rc) {
		if (e)
			*e = why;
		return rc;
	}
	if (!kids_count(t, u, 0, entries.n)) {
		err_set(&why, EFBIG, "more than %u entries in all lie in archives that are packed, or shared, here",
			NESTED_MOST);
		object_fault(o, PART_OBJECT, 0, true, &why);
		return 0;
	}
	if (kid_keep(u, &entries, &none)) {
		kids_count(t, u, entries.n, 0);
		return err_nomem(e);
	}
	u->kids = calloc(entries.n ? entries.n : 1, sizeof *u->kids);
	for (uint32_t i = 0; i < entries.n && u->kids; i++) {
		u->kids[i].entry = entries.v[i];
		u->kids[i].gen = atomic_load(&u->gen);
		u->kids[i].ext = "";
	}
	rc = u->kids && !kid_keep_handed(u, &entries) ? kid_names(u, &entries, &u->stored, &why) : err_nomem(&why);
	if (!rc && u->stored)
		for (uint32_t i = 0; i < entries.n; i++)
			u->kids[i].ext = stored_ext(stored_name(u->stored, i));
	else
		rc = rc ? rc : probe_all(t, u, entries.n, &why);
	if (rc)
		kids_count(t, u, entries.n, 0);
	if (rc && e)
		*e = why;
	u->nkids = rc ? 0 : entries.n;
	return rc;
}
