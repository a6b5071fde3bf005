/* What every opened entry has in common: detection, opening, faults, sections, gaps. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format.h"

/* ---- detection ---- */

bool probe_need(struct probe *p, size_t n)
{
	size_t want = p->size < PROBE_MOST ? (size_t)p->size : PROBE_MOST;

	if (n <= p->n)
		return true;
	if (n > want || p->n == want || src_pread(p->src, p->room + p->n, want - p->n, p->n))
		return false;
	p->n = want;
	return true;
}

const struct format *format_named(const char *name)
{
	for (const struct format *const *f = formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

void finding_put(struct finding *f)
{
	if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
		free(f);
}

static bool has_ext(const struct probe *p, const char *ext)
{
	const char *dot = strrchr(p->name, '.');

	return dot && !strcasecmp(dot + 1, ext);
}

/* What begins as files of some format do, but is none, is damaged and not unknown: that is searched on request only. */
static const struct format *search(struct probe *p)
{
	struct err told = { 0 };
	uint8_t how = p->search;

	for (const struct format *const *f = formats; *f; f++) {
		bool named = (*f)->searches && has_ext(p, (*f)->ext);

		if (!(*f)->searches || (how != SEARCH_ALL && !named))
			continue;
		if (how != SEARCH_ALL) {
			format_tells(p, &told);
			if (told.code)
				return NULL;
		}
		p->unsearched |= how == SEARCH_NOT;
		if (how != SEARCH_NOT && (*f)->probe(p))
			return *f;
	}
	return NULL;
}

const struct format *format_detect(struct probe *p, struct err *e)
{
	const struct format *best = NULL;
	int bid, most = 0;

	p->unsearched = false;
	p->finding = NULL;
	p->head = p->room;
	p->n = p->size < PROBE_FIRST ? (size_t)p->size : PROBE_FIRST;
	if (src_read(p->src, p->room, p->n, 0, "first bytes", e)) {
		p->n = 0;
		return NULL;
	}
	for (const struct format *const *f = formats; *f; f++) {
		bid = (*f)->probe && !(*f)->searches ? (*f)->probe(p) : 0;
		if (bid > most) {
			most = bid;
			best = *f;
		}
	}
	return best ? best : search(p);
}

void format_tells(struct probe *p, struct err *e)
{
	struct err *was = p->why, why;

	p->why = &why;
	for (const struct format *const *f = formats; *f && !e->code; f++) {
		why = (struct err){ 0 };
		if ((*f)->tells && !(*f)->probe(p) && why.code)
			*e = why;
	}
	p->why = was;
}

/* ---- opening ---- */

static int find_members(struct object *o, struct err *e)
{
	const struct surroundings *around = o->around;

	for (unsigned k = 0; k < o->format->nmembers; k++) {
		const struct member *m = &o->format->members[k];

		o->member[k] = around && around->member ? around->member(around, k, e) : NULL;
		if (!o->member[k] && e->code)
			return -e->code;
		if (!o->member[k] && m->needed && !(around && around->handed))
			return err_set(e, EBADMSG, "there is no .%s of the same name beside it", m->ext);
	}
	return 0;
}

int format_medium(const struct format *f, struct source *file, const struct lead *lead, struct source **out,
		  struct err *e)
{
	if (f->container && f->container->medium)
		return f->container->medium(file, lead, out, e);
	*out = src_ref(file);
	return 0;
}

static int open_medium(struct object *o, struct err *e)
{
	const struct surroundings *around = o->around;
	struct source *medium = around ? around->medium : NULL;
	int rc = 0;

	if (medium)
		src_ref(medium);
	else
		rc = format_medium(o->format, o->file, around ? around->lead : NULL, &medium, e);
	o->src = rc ? src_ref(o->file) : medium;
	return rc;
}

int object_open(const struct format *format, struct source *src, const struct surroundings *around,
		struct object **out, struct err *e)
{
	struct object *o = calloc(1, sizeof *o);
	struct err why = { 0 };
	int rc = 0;

	if (!o)
		return err_nomem(e);
	o->format = format;
	o->file = src_ref(src);
	o->around = around;
	o->last_fault = &o->faults;
	rc = open_medium(o, &why);
	rc = rc ? rc : find_members(o, &why);
	if (!rc && format->model && format->model->open)
		rc = format->model->open(o, &why);
	else if (!rc && format->container && format->container->open)
		rc = format->container->open(o, &why);
	if (rc == -EBADMSG || rc == -EFBIG) {
		object_fault(o, PART_OBJECT, 0, true, &why);
		o->variant = NULL;
		rc = 0;
	}
	if (rc) {
		if (e)
			*e = why;
		object_close(o);
		return rc;
	}
	*out = o;
	return 0;
}

void object_close(struct object *o)
{
	if (!o)
		return;
	src_put(o->src);
	src_put(o->file);
	src_put(o->behind);
	finding_put(o->finding);
	for (unsigned k = 0; k < MEMBERS_MOST; k++)
		src_put(o->member[k]);
	for (uint32_t i = 0; i < o->nlinks; i++)
		src_put(o->links[i].src);
	free(o->links);
	while (o->faults) {
		struct fault *next = o->faults->next;

		free(o->faults);
		o->faults = next;
	}
	arena_free(&o->arena);
	free(o);
}

int format_refuses(const struct format *f, struct source *src, const struct surroundings *around, struct err *e)
{
	const struct fault *fault;
	struct object *o;
	int rc = f->strict ? object_open(f, src, around, &o, e) : 0;

	if (rc || !f->strict)
		return rc;
	fault = object_find_fault(o, PART_OBJECT, 0);
	if (fault)
		rc = err_set(e, EBADMSG, "%s", fault->text);
	object_close(o);
	return rc;
}

/* ---- files it belongs with ---- */

int object_link(struct object *o, const struct want *w, uint32_t *n, struct err *e)
{
	struct link *v, found = { 0 };
	int rc = -ENOENT;

	if (o->nlinks == LIMIT_LINKS)
		return err_set(e, EFBIG, "more than %u files belong to it", LIMIT_LINKS);
	if (o->around && o->around->find)
		rc = o->around->find(o->around, w, &found.src, &found.unit, e);
	if (rc && rc != -ENOENT)
		return rc;
	v = o->nlinks & (o->nlinks - 1) ? o->links :                    /* powers of two are full */
	    realloc(o->links, (o->nlinks ? o->nlinks * (size_t)2 : 1) * sizeof *v);
	if (!v) {
		src_put(found.src);
		return err_nomem(e);
	}
	o->links = v;
	v[o->nlinks] = found;
	if (n)
		*n = o->nlinks;
	o->nlinks++;
	return 0;
}

/* ---- faults ---- */

void object_fault(struct object *o, unsigned part, uint32_t index, bool gone, const struct err *why)
{
	size_t n = strlen(why->text) + 1;
	struct fault *f = malloc(sizeof *f + n);

	if (!f)
		return;                        /* the part is missing all the same; only its line is lost */
	*f = (struct fault){ .part = (uint8_t)part, .gone = gone, .index = index };
	memcpy(f->text, why->text, n);
	*o->last_fault = f;
	o->last_fault = &f->next;
}

const struct fault *object_find_fault(const struct object *o, unsigned part, uint32_t index)
{
	for (const struct fault *f = o->faults; f; f = f->next)
		if (f->part == part && f->index == index)
			return f;
	return NULL;
}

bool object_gone(const struct object *o, unsigned part, uint32_t index)
{
	for (const struct fault *f = o->faults; f; f = f->next)
		if (f->gone && f->part == part && f->index == index)
			return true;
	return false;
}

/* ---- parts and sections ---- */

bool object_has(const struct object *o, unsigned part, uint32_t index)
{
	const struct model_ops *m = o->format->model;

	return !m->has || m->has(o, part, index);
}

uint32_t object_count(const struct object *o, unsigned part)
{
	const struct model_ops *m = o->format->model;

	return o->variant && m && m->count ? m->count(o, part) : 0;
}

struct source *object_part(const struct object *o, unsigned part)
{
	if (!part)
		return o->src;
	if (o->format->nmembers)
		return part <= o->format->nmembers ? o->member[part - 1] : NULL;
	return part == 1 ? o->behind : NULL;
}

struct span object_section(const struct object *o, unsigned s)
{
	const struct format *f = o->format;
	int (*locate)(const struct object *, unsigned, struct span *) =
		f->model ? f->model->locate : f->container ? f->container->locate : NULL;
	struct span span = { 0 };
	struct source *src;

	if (!o->variant || s >= o->variant->nsections || !locate || locate(o, s, &span))
		return (struct span){ 0 };
	src = object_part(o, span.part);
	if (!src || !span_ok(src->size, span.at, span.size, 1))
		return (struct span){ 0 };
	return span;
}

int object_read(const struct object *o, struct arena *a, uint64_t at, uint64_t n, const char *what, const uint8_t **out,
		struct err *e)
{
	uint8_t *p;
	int rc = src_inside(o->src, at, n, what, e);

	if (rc)
		return rc;
	p = n <= LIMIT_DECODED ? arena_alloc(a, (size_t)n + 1, 1) : NULL;
	if (!p)
		return err_nomem(e);
	rc = src_read(o->src, p, (size_t)n, at, what, e);
	if (!rc)
		*out = p;
	return rc;
}

/* ---- gaps ---- */

static int by_place(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Up to 15 zeros are alignment and no gap. */
static int report_gap(const struct object *o, uint64_t at, uint64_t end, int (*fn)(void *, uint64_t, uint64_t),
		      void *ctx, struct err *e)
{
	uint8_t bytes[15], any = 0;
	int rc;

	if (end <= at)
		return 0;
	if (end - at < 16) {
		rc = src_read(o->src, bytes, (size_t)(end - at), at, "gap", e);
		if (rc)
			return rc;
		for (uint64_t i = 0; i < end - at; i++)
			any |= bytes[i];
		if (!any)
			return 0;
	}
	return fn(ctx, at, end - at);
}

/* What is claimed of the entry itself: sections that have bytes, and chunks with their heads. v NULL: only counts. */
static size_t list_claims(const struct object *o, struct span *v)
{
	size_t n = 0;
	struct chunk c;

	for (unsigned i = 0; i < o->variant->nsections; i++) {
		struct span span = object_section(o, i);

		if (span.part || !span.size)
			continue;
		if (v)
			v[n] = span;
		n++;
	}
	for (uint32_t i = 0; object_chunk(o, i, &c); i++) {
		if (c.part)
			continue;
		if (v)
			v[n] = (struct span){ c.at - c.head, c.head + c.size, 0 };
		n++;
	}
	return n;
}

bool object_chunk(const struct object *o, uint32_t i, struct chunk *out)
{
	const struct model_ops *m = o->format->model;

	return o->variant && m && m->chunk && m->chunk(o, i, out);
}

int object_gaps(const struct object *o, int (*fn)(void *ctx, uint64_t at, uint64_t size), void *ctx, struct err *e)
{
	size_t n = o->variant ? list_claims(o, NULL) : 0;
	struct span *v = malloc((n + 1) * sizeof *v);
	uint64_t at = 0;
	int rc = v ? 0 : err_nomem(e);

	if (rc || !o->variant || !o->variant->nsections) {
		free(v);
		return rc;
	}
	list_claims(o, v);
	qsort(v, n, sizeof *v, by_place);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = report_gap(o, at, v[i].at, fn, ctx, e);
		if (v[i].at + v[i].size > at)
			at = v[i].at + v[i].size;
	}
	rc = rc ? rc : report_gap(o, at, o->src->size, fn, ctx, e);
	free(v);
	return rc;
}

/* ---- containers ---- */

static int by_start(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* In order of their places, a claim shares bytes with one before it when the farthest end so far lies behind its start,
 * and with one behind it when the next start lies before its end. */
void claims_compare(struct claim *v, size_t n)
{
	bool sorted = true;
	uint64_t end = 0;

	for (size_t k = 1; k < n && sorted; k++)
		sorted = v[k - 1].at <= v[k].at;
	if (!sorted)
		qsort(v, n, sizeof *v, by_start);
	for (size_t k = 0; k < n; k++) {
		v[k].shared = end > v[k].at || (k + 1 < n && v[k + 1].at < v[k].end);
		end = v[k].end > end ? v[k].end : end;
	}
}

static struct source *entry_slice(struct source *src, const struct format *container, const struct entry *entry)
{
	const struct extents *x = entry->in_pieces ? entry->extents : NULL;
	struct source *slice = x ? src_extents(src, x->v, x->n) : src_slice(src, entry->at, entry_stored(entry)), *out;

	if (slice && (entry->shared || entry->fixed)) {
		out = entry->fixed ? src_fixed(slice) : src_shared(slice);
		src_put(slice);
		slice = out;
	}
	if (!slice || !entry->coded)
		return slice;
	out = src_blocks(slice, container->container->cipher, entry->key);
	src_put(slice);
	return out;
}

struct source *entry_open(struct source *src, const struct format *container, const struct entry *entry,
			  const struct keep *keep)
{
	struct source *stream, *out;

	if (entry->lost)
		return src_lost(entry->size);
	stream = entry_slice(src, container, entry);
	if (!stream || !entry->packed)
		return stream;
	out = src_packed(stream, container->container->packer, entry->size, keep);
	src_put(stream);
	return out;
}

/* ---- editing ---- */

bool object_called(const struct object *o, struct buf *name, uint32_t *number)
{
	if (!o->around || !o->around->called)
		return false;
	o->around->called(o->around, name, number);
	return !name->bad;
}

bool object_again(const struct object *o)
{
	return o->around && o->around->again;
}

void object_say(const struct object *o, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (!o->around || !o->around->say)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	o->around->say(o->around, text);
}

int object_resize(struct object *o, unsigned part, uint64_t size, struct err *e)
{
	struct source **held = !part ? &o->src : o->format->nmembers ? &o->member[part - 1] : &o->behind, *fresh;
	int rc;

	if (!o->around || !o->around->resize)
		return err_set(e, EROFS, "the entry cannot change its size here");
	if (!*held)
		return err_set(e, EBADMSG, "what would change its size is not there");
	rc = o->around->resize(o->around, part, size, &fresh, e);
	if (rc)
		return rc;
	src_put(*held);
	*held = fresh;
	return 0;
}

int object_patch(struct object *o, unsigned part, uint64_t at, const void *bytes, size_t n, const char *what,
		 struct err *e)
{
	struct source *src = object_part(o, part);

	return src ? src_patch(src, bytes, n, at, what, e) : err_set(e, EBADMSG, "%s is not there", what);
}
