#include "edit_in.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"

/* ---- runs ---- */

static void drop_plan(struct plan *p)
{
	if (p)
		plan_free(p);
	free(p);
}

int run_open(struct run *r, struct source *base, struct err *e)
{
	struct plan *plan = malloc(sizeof *plan);

	if (!plan)
		return err_nomem(e);
	plan_init(plan, base);
	r->root = src_overlay(plan);
	if (!r->root) {
		drop_plan(plan);
		return err_nomem(e);
	}
	r->plan = plan;
	return 0;
}

void run_close(struct run *r)
{
	src_put(r->root);
	drop_plan(r->plan);
	*r = (struct run){ 0 };
}

int run_resize(struct run *r, uint64_t size, struct err *e)
{
	int rc = plan_resize(r->plan, size);
	struct source *root = rc ? NULL : src_overlay(r->plan);

	if (rc)
		return err_set(e, -rc, "%s", strerror(-rc));
	if (!root)
		return err_nomem(e);
	src_put(r->root);
	r->root = root;
	return 0;
}

bool plan_changes(const struct plan *p)
{
	return p->n || p->moved || p->size != p->base->size;
}

/* ---- files ---- */

/* NULL: not opened yet. */
static struct edit_file *find_file(const struct edit *ed, unsigned n)
{
	struct edit_file *f = ed->files;

	while (f && f->number != n)
		f = f->next;
	return f;
}

static int open_file(struct edit *ed, unsigned n, struct edit_file **out, struct err *e)
{
	struct edit_file *f = find_file(ed, n);
	int rc;

	*out = f;
	if (f)
		return 0;
	f = calloc(1, sizeof *f);
	rc = f ? run_open(&f->run, tree_file_source(tree_file(ed->tree, n)), e) : err_nomem(e);
	if (rc) {
		free(f);
		return rc;
	}
	f->run.original = true;
	f->number = n;
	f->next = ed->files;
	ed->files = *out = f;
	return 0;
}

struct plan *edit_plan(struct edit *ed, unsigned file)
{
	struct edit_file *f = find_file(ed, file);

	return f ? f->run.plan : NULL;
}

int edit_open(struct edit *ed, unsigned file, struct plan **plan, struct err *e)
{
	struct edit_file *f;
	int rc = open_file(ed, file, &f, e);

	if (!rc)
		*plan = f->run.plan;
	return rc;
}

int edit_lay(struct plan *to, const struct plan *from)
{
	int rc = 0;

	for (size_t i = 0; i < from->n && !rc; i++)
		rc = plan_write(to, from->v[i].at, from->v[i].bytes, from->v[i].len);
	return rc;
}

bool edit_changes(const struct edit *ed, unsigned file)
{
	const struct edit_file *f = find_file(ed, file);

	return f && plan_changes(f->run.plan);
}

unsigned edit_file(const struct edit *ed, unsigned i)
{
	const struct edit_file *f = ed->files;

	while (f && i--)
		f = f->next;
	return f ? f->number : NO_FILE;
}

int edit_settle(struct edit *ed, bool *empty, struct err *e)
{
	int rc = edit_pack(ed, e);

	*empty = true;
	for (struct edit_file *f = ed->files; f && !rc; f = f->next) {
		rc = plan_settle(f->run.plan, e);
		*empty &= !plan_changes(f->run.plan);
	}
	return rc;
}

/* ---- beginning and end ---- */

int edit_begin(struct tree *t, struct edit **out, struct err *e)
{
	struct edit *ed = calloc(1, sizeof *ed);

	if (!ed)
		return err_nomem(e);
	ed->tree = t;
	*out = ed;
	return 0;
}

/* ---- the same once more ---- */

bool edit_is_second(const struct edit *ed)
{
	return ed->second;
}

int edit_repeat(struct edit *ed, struct err *e)
{
	for (struct edit_file *f = ed->files; f; f = f->next) {
		int rc;

		f->first = malloc(sizeof *f->first);
		if (!f->first)
			return err_nomem(e);
		plan_init(f->first, f->run.plan->base);
		f->first->size = f->run.plan->size;
		rc = edit_lay(f->first, f->run.plan);
		if (rc)
			return err_set(e, -rc, "%s", strerror(-rc));
	}
	ed->second = true;
	for (struct level *l = ed->levels; l; l = l->next)
		l->around.again = true;
	return 0;
}

static bool same_plan(const struct plan *a, const struct plan *b)
{
	bool same = a->base == b->base && a->size == b->size && a->n == b->n;

	for (size_t i = 0; i < a->n && same; i++)
		same = a->v[i].at == b->v[i].at && a->v[i].len == b->v[i].len &&
		       !memcmp(a->v[i].bytes, b->v[i].bytes, a->v[i].len);
	return same;
}

int edit_repeated(struct edit *ed, bool *same, struct err *e)
{
	bool empty;
	int rc = edit_settle(ed, &empty, e);

	*same = true;
	/* Without the first it was opened only now. */
	for (const struct edit_file *f = ed->files; f && !rc; f = f->next)
		*same &= f->first ? same_plan(f->run.plan, f->first) : !plan_changes(f->run.plan);
	return rc;
}

/* ---- opening anew ---- */

/* Whether a container's own bytes are as they were when it was opened: then its entries are where they were. Most edits
 * change one entry, and reading the table of a large archive takes longer than all else. */
static bool is_as_opened(const struct edit *ed, const struct level *l)
{
	if (!l->object || !l->unit->format->container || ed->moved)
		return false;
	return plan_in_entries(l->inner->plan, l->inside, l->entries.v, sizeof *l->entries.v,
			       l->entries.member, l->entries.n, NULL) && (!l->up || is_as_opened(ed, l->up));
}

void edit_reopen(struct edit *ed)
{
	struct level *kept = NULL;

	src_put(ed->lent);
	ed->lent = NULL;
	/* None is freed while another may have to be looked at through it. */
	for (struct level *l = ed->levels; l; l = l->next)
		l->keep = is_as_opened(ed, l);
	while (ed->levels) {
		struct level *l = ed->levels;

		ed->levels = l->next;
		if (l->keep) {
			l->next = kept;
			kept = l;
			continue;
		}
		object_close(l->object);
		src_put(l->inside);
		src_put(l->src);
		free(l);
	}
	ed->levels = kept;
}

static void close_levels(struct edit *ed)
{
	ed->moved = true;                      /* nothing is kept */
	edit_reopen(ed);
}

void edit_end(struct edit *ed)
{
	if (!ed)
		return;
	close_levels(ed);
	while (ed->files) {
		struct edit_file *f = ed->files;

		ed->files = f->next;
		run_close(&f->run);
		drop_plan(f->first);
		free(f);
	}
	close_entries(ed);                     /* what is written anew may read them */
	while (ed->frozen) {
		struct frozen *f = ed->frozen;

		ed->frozen = f->next;
		drop_plan(f->plan);
		free(f);
	}
	buf_free(&ed->lines);
	buf_free(&ed->touched);
	free(ed);
}

int edit_touch(struct edit *ed, struct unit *u, struct err *e)
{
	struct unit *have;

	for (unsigned i = 0; (have = edit_touched(ed, i)); i++)
		if (have == u)
			return 0;
	buf_add(&ed->touched, &u, sizeof u);
	return ed->touched.bad ? err_nomem(e) : 0;
}

struct unit *edit_touched(const struct edit *ed, unsigned i)
{
	struct unit *u;

	if (i >= ed->touched.len / sizeof u)
		return NULL;
	memcpy(&u, ed->touched.p + i * sizeof u, sizeof u);
	return u;
}

void edit_say(struct edit *ed, const char *text)
{
	if (ed->second)
		return;
	buf_str(&ed->lines, text);
	buf_char(&ed->lines, '\n');
}

const struct buf *edit_lines(const struct edit *ed)
{
	return &ed->lines;
}

/* ---- what hooks ask of their surroundings ---- */

static struct level *level_of(const struct surroundings *s)
{
	return (struct level *)(uintptr_t)s;
}

/* The level among l and those above that is an entry of a container whose order means something, or NULL. */
static struct level *in_order(struct level *l)
{
	while (l && l->up && !l->up->unit->format->container->in_order)
		l = l->up;
	return l && l->up ? l : NULL;
}

static struct source *following(const struct surroundings *s, unsigned k, struct err *e)
{
	struct level *l = level_of(s), *at = in_order(l);
	struct edit *ed = l->edit;
	struct source *src = NULL;
	struct edit_file *f;
	unsigned file;

	if (at) {
		const struct entries *v = &at->up->entries;

		if (k >= v->n - at->unit->index || !v->v[at->unit->index + k].size)
			return NULL;
		src = entry_source(at->up->inside, at->up->unit->format, &v->v[at->unit->index + k]);
		if (!src)
			err_nomem(e);
	} else if (k == 1 && l->unit->format->behind &&
		   !unit_file_beside(ed->tree, l->unit, l->unit->format->behind, &file) &&
		   !open_file(ed, file, &f, e)) {
		src = src_ref(f->run.root);
	}
	return src;
}

static int find(const struct surroundings *s, const struct want *w, struct source **out, uint32_t *link,
		struct err *e)
{
	const struct level *l = level_of(s);
	struct level *found;
	struct unit *u;
	int rc = unit_find(l->unit->tree, l->unit, w, &u, e);

	rc = rc ? rc : open_level(l->edit, u, &found, e);
	if (rc)
		return rc;
	*out = src_ref(found->src);
	*link = u->id;
	return 0;
}

static struct source *member(const struct surroundings *s, unsigned k, struct err *e)
{
	return member_source(level_of(s), k, e);
}

static void called(const struct surroundings *s, struct buf *name, uint32_t *number)
{
	unit_called(level_of(s)->unit, name, number);
}

static void say(const struct surroundings *s, const char *text)
{
	edit_say(level_of(s)->edit, text);
}

/* A file of its own: shorter is fine, longer is its owner's choice. */
int resize_file(struct edit *ed, unsigned file, uint64_t size, struct err *e)
{
	struct edit_file *f = find_file(ed, file);
	uint64_t at = f->run.plan->size;

	if (size > at && !ed->tree->grow)
		return err_set(e, ENOSPC, "the file has %" PRIu64 " bytes, %" PRIu64 " are needed: %" PRIu64
			       " bytes are missing; -o grow would let it grow", at, size, size - at);
	if (size > at && size - at > PLAN_MOST)
		return err_set(e, EFBIG, "%" PRIu64 " bytes more than the file has are too many", size - at);
	ed->moved = true;
	return run_resize(&f->run, size, e);
}

int renew_source(struct level *l, struct err *e)
{
	const struct level *up = l->up;
	bool whole = !up || packs(up);
	struct source *src = whole ? src_ref(l->run->root) :
				     entry_source(up->inside, up->unit->format, &up->entries.v[l->unit->index]);

	if (!src)
		return err_nomem(e);
	src_put(l->src);
	l->src = src;
	if (l->inside && l->inner == l->run)
		set_inside(l, src);
	return 0;
}

static void swap(struct source **held, struct source *now)
{
	src_ref(now);
	src_put(*held);
	*held = now;
}

void set_inside(struct level *l, struct source *src)
{
	swap(&l->inside, src);
	l->around.medium = src;
	if (l->object)
		swap(&l->object->src, src);
}

void take_resized(struct level *l)
{
	swap(&l->inside, l->object->src);
	l->around.medium = l->inside;
	if (l->inner == l->run)
		swap(&l->src, l->inside);
}

int resize_entry(struct level *in, uint32_t i, uint64_t size, struct err *e)
{
	const struct container_ops *c = in->unit->format->container;
	struct run *run;
	int rc;

	in->edit->moved = true;
	if (packs(in)) {
		rc = open_entry(in, i, &run, e);
		return rc ? rc : run_resize(run, size, e);
	}
	rc = c->resize ? c->resize(in->object, &in->entries, i, size, e) : size == in->entries.v[i].size ? 0 :
	     err_set(e, EINVAL, "%" PRIu64 " bytes needed, got %" PRIu64, in->entries.v[i].size, size);
	if (!rc)
		take_resized(in);
	return rc;
}

/* The file that a model's geometry lies in beside it. */
static int resize_behind(struct level *l, unsigned k, uint64_t size, struct source **out, struct err *e)
{
	const char *ext = l->unit->format->behind;
	struct edit_file *f;
	unsigned file;
	int rc;

	if (k != 1 || !ext || unit_file_beside(l->edit->tree, l->unit, ext, &file))
		return err_set(e, EROFS, "what lies in another file cannot change its size");
	rc = open_file(l->edit, file, &f, e);
	rc = rc ? rc : resize_file(l->edit, file, size, e);
	if (!rc)
		*out = src_ref(f->run.root);
	return rc;
}

static int resize(const struct surroundings *s, unsigned k, uint64_t size, struct source **out, struct err *e)
{
	struct level *l = level_of(s), *at = k ? in_order(l) : l;
	int rc;

	if (k && l->unit->format->nmembers)
		return resize_member(l, k - 1, size, out, e);
	if (k && !at)
		return resize_behind(l, k, size, out, e);
	if (!k && l->inner && l->inner != l->run)
		return err_set(e, EROFS, "what it is stored in cannot change its size");
	if (k) {
		uint32_t i = at->unit->index + k;

		rc = resize_entry(at->up, i, size, e);
		*out = rc ? NULL : entry_source(at->up->inside, at->up->unit->format, &at->up->entries.v[i]);
		return rc || *out ? rc : err_nomem(e);
	}
	rc = l->up ? resize_entry(l->up, l->unit->index, size, e) : resize_file(l->edit, l->unit->file, size, e);
	rc = rc ? rc : renew_source(l, e);
	rc = rc ? rc : renew_family(l, e);
	if (!rc)
		*out = src_ref(l->src);
	return rc;
}

static int rebase(const struct surroundings *s, struct source *moved, struct source **out, struct err *e)
{
	struct level *l = level_of(s);
	int rc = l->edit->tree->grow ? rebase_inside(l, moved, e) :
		 err_set(e, EPERM, "the archive may not grow without -o grow");

	if (!rc)
		*out = src_ref(l->inside);
	return rc;
}

/* ---- opening the chain ---- */

static int list_entries(struct level *l, struct err *e)
{
	const struct unit *u = l->unit;
	int rc = u->format->container->list(l->object, &l->entries, e);

	/* Which entries are stored plain is known from their first bytes too. */
	for (uint32_t i = 0; !rc && i < l->entries.n && l->entries.n == u->nkids; i++)
		l->entries.v[i].coded = u->kids[i].entry.coded;
	return rc;
}

static int check_format(const struct level *l, struct err *e)
{
	uint8_t room[PROBE_MOST];
	char name[NODE_NAME_MAX] = "";
	struct probe p = {
		.name = name, .within = l->up ? l->up->unit->format : NULL,
		.index = l->unit->index, .size = l->src->size, .src = l->src, .room = room,
		.lead = l->unit->around.lead,
	};
	struct err why = { 0 };
	const struct format *f;

	if (!l->up || l->up->unit->stored)
		unit_name(l->unit, name);
	f = format_detect(&p, &why);
	if (why.code) {
		if (e)
			*e = why;
		return -why.code;
	}
	if (!f && l->unit->format->searches)
		return 0;                      /* it says so when it is opened */
	return f == l->unit->format ? 0 :
	       err_set(e, EINVAL, "the entry would be no %s any more", l->unit->format->title);
}

int open_object(struct level *l, struct err *e)
{
	int rc;

	if (l->object)
		return 0;
	rc = check_format(l, e);
	rc = rc ? rc : open_inside(l, e);
	if (!rc)
		rc = object_open(l->unit->format, l->src, &l->around, &l->object, e);
	if (!rc && l->unit->format->container) {
		rc = list_entries(l, e);
		if (rc) {
			object_close(l->object);
			l->object = NULL;
		}
	}
	return rc;
}

static int open_source(struct level *l, struct err *e)
{
	struct unit *u = l->unit;
	struct edit_file *f;
	int rc;

	if (tree_is_file(l->edit->tree, u)) {
		rc = open_file(l->edit, u->file, &f, e);
		l->run = rc ? NULL : &f->run;
		return rc ? rc : renew_source(l, e);
	}
	rc = open_level(l->edit, unit_at(u->tree, u->parent), &l->up, e);
	rc = rc ? rc : open_object(l->up, e);
	if (!rc && u->index >= l->up->entries.n)
		rc = err_set(e, EINVAL, "the container would have %u entries, this is entry %u", l->up->entries.n,
			     u->index);
	if (!rc && packs(l->up))
		rc = open_entry(l->up, u->index, &l->run, e);
	else if (!rc)
		l->run = l->up->inner;
	return rc ? rc : renew_source(l, e);
}

int open_level(struct edit *ed, struct unit *u, struct level **out, struct err *e)
{
	struct level *l = ed->levels;
	int rc;

	while (l && l->unit != u)
		l = l->next;
	if (l) {
		*out = l;
		return 0;
	}
	l = calloc(1, sizeof *l);
	if (!l)
		return err_nomem(e);
	*l = (struct level){
		.around = { .following = following, .called = called, .padded = u->around.padded,
			    .finding = u->around.finding, .lead = u->around.lead, .resize = resize,
			    .rebase = rebase, .find = find,
			    .member = member, .handed = u->around.handed, .say = say, .grow = ed->tree->grow,
			    .again = ed->second },
		.edit = ed, .unit = u,
	};
	rc = open_source(l, e);
	if (rc) {
		free(l);
		return rc;
	}
	l->next = ed->levels;
	ed->levels = *out = l;
	return 0;
}

int edit_object(struct edit *ed, struct unit *u, struct object **out, struct err *e)
{
	struct level *l = NULL;
	int rc = open_level(ed, u, &l, e);

	rc = rc ? rc : open_object(l, e);
	if (!rc)
		*out = l->object;
	return rc;
}

static void lend(struct edit *ed, struct source *src, struct source **out)
{
	src_put(ed->lent);
	ed->lent = src;
	*out = src;
}

int edit_resize_kid(struct edit *ed, struct unit *u, uint32_t kid, uint64_t size, struct source **out, struct err *e)
{
	struct source *src;
	struct level *l = NULL;
	struct run *run = NULL;
	int rc = open_level(ed, u, &l, e);

	rc = rc ? rc : open_object(l, e);
	if (!rc && kid >= l->entries.n)
		rc = err_set(e, EINVAL, "the container has %u entries, this is entry %u", l->entries.n, kid);
	if (!rc && packs(l))
		rc = replace_entry(l, kid, size, &run, e);
	else if (!rc && size != l->entries.v[kid].size)
		rc = resize_entry(l, kid, size, e);
	else if (!rc && u->format->container->tell_shared)
		u->format->container->tell_shared(l->object, &l->entries, kid);
	if (rc)
		return rc;
	src = run ? src_ref(run->root) : entry_source(l->inside, u->format, &l->entries.v[kid]);
	lend(ed, src, out);
	return src ? 0 : err_nomem(e);
}

static struct source *part_source(struct level *l, unsigned part, struct err *e)
{
	return part ? member_source(l, part - 1, e) : src_ref(l->src);
}

int edit_resize_unit(struct edit *ed, struct unit *u, unsigned part, uint64_t size, struct source **out,
		     struct err *e)
{
	struct err why = { 0 };
	struct level *l = NULL;
	struct source *src;
	int rc = open_level(ed, u, &l, e);

	if (rc)
		return rc;
	src = part_source(l, part, &why);
	if (!src)
		return err_set(e, why.code ? why.code : ESTALE, "%s", why.code ? why.text : "the file is gone");
	if (size != src->size) {
		src_put(src);
		rc = resize(&l->around, part, size, &src, e);
	}
	if (!rc)
		lend(ed, src, out);
	return rc;
}
