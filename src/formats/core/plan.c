#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 16384u                           /* bytes compared at once */
#define NEAR 16u                               /* writes closer than that become one: a record of its own costs more */

void plan_init(struct plan *p, struct source *base)
{
	*p = (struct plan){ .base = src_ref(base), .size = base->size };
}

static void free_writes(struct plan *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].bytes);
	free(p->v);
	p->v = NULL;
	p->n = p->cap = 0;
	p->bytes = 0;
}

void plan_free(struct plan *p)
{
	free_writes(p);
	src_put(p->base);
	p->base = NULL;
}

/* ---- writing ---- */

/* The first write that ends behind `at`. */
static size_t find(const struct plan *p, uint64_t at)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->v[mid].at + p->v[mid].len > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static bool make_room(struct plan *p)
{
	size_t cap = p->cap ? p->cap * 2 : 16;
	struct write *v;

	if (p->n < p->cap)
		return true;
	v = realloc(p->v, cap * sizeof *v);
	if (!v)
		return false;
	p->v = v;
	p->cap = cap;
	return true;
}

static int insert(struct plan *p, size_t i, uint64_t at, const uint8_t *bytes, size_t n)
{
	uint8_t *copy;

	if (p->bytes + n > PLAN_MOST)
		return -EFBIG;
	copy = make_room(p) ? malloc(n) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, n);
	memmove(p->v + i + 1, p->v + i, (p->n - i) * sizeof *p->v);
	p->v[i] = (struct write){ at, n, copy };
	p->n++;
	p->bytes += n;
	return 0;
}

int plan_write(struct plan *p, uint64_t at, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	if (!span_ok(p->size, at, n, 1))
		return -EBADMSG;
	for (size_t i = find(p, at); n; i++) {
		struct write *w = i < p->n ? &p->v[i] : NULL;
		size_t part;

		if (!w || w->at > at) {        /* up to the next one there is nothing yet */
			int rc;

			part = w && w->at - at < n ? (size_t)(w->at - at) : n;
			rc = insert(p, i, at, from, part);
			if (rc)
				return rc;
		} else {
			part = w->at + w->len - at < n ? (size_t)(w->at + w->len - at) : n;
			memcpy(w->bytes + (at - w->at), from, part);
		}
		at += part;
		from += part;
		n -= part;
	}
	return 0;
}

/* ---- reading ---- */

static int read_base(const struct plan *p, uint8_t *buf, size_t n, uint64_t at)
{
	uint64_t end = p->base->size < p->size ? p->base->size : p->size;
	size_t have = at >= end ? 0 : end - at < n ? (size_t)(end - at) : n;

	memset(buf + have, 0, n - have);
	return have ? src_pread(p->base, buf, have, at) : 0;
}

int plan_read(const struct plan *p, void *buf, size_t n, uint64_t at)
{
	uint8_t *to = buf;
	size_t i;
	int rc;

	if (!span_ok(p->size, at, n, 1))
		return -EBADMSG;
	i = find(p, at);
	if (i < p->n && p->v[i].at <= at && p->v[i].at + p->v[i].len >= at + n) {      /* all of it is new */
		memcpy(buf, p->v[i].bytes + (at - p->v[i].at), n);
		return 0;
	}
	rc = read_base(p, to, n, at);
	for (; !rc && i < p->n && p->v[i].at < at + n; i++) {
		const struct write *w = &p->v[i];
		uint64_t from = w->at > at ? w->at : at, end = w->at + w->len < at + n ? w->at + w->len : at + n;

		memcpy(to + (from - at), w->bytes + (from - w->at), (size_t)(end - from));
	}
	return rc;
}

bool plan_touches(const struct plan *p, uint64_t at, uint64_t n)
{
	size_t i = find(p, at);

	return n && i < p->n && p->v[i].at < at + n;
}

/* ---- another size ---- */

static void cut(struct plan *p, uint64_t size)
{
	struct write *last;

	while (p->n && p->v[p->n - 1].at >= size) {
		last = &p->v[--p->n];
		p->bytes -= last->len;
		free(last->bytes);
	}
	last = p->n ? &p->v[p->n - 1] : NULL;
	if (last && last->at + last->len > size) {
		p->bytes -= last->len - (size_t)(size - last->at);
		last->len = (size_t)(size - last->at);
	}
}

int plan_resize(struct plan *p, uint64_t size)
{
	static const uint8_t zero[4096];
	uint64_t at = p->size, end = size < p->base->size ? size : p->base->size;
	int rc = 0;

	if (size < at)
		cut(p, size);
	p->size = size;
	/* Where it was made shorter before, the base would show again. */
	for (; at < end && !rc; at += sizeof zero)
		rc = plan_write(p, at, zero, end - at < sizeof zero ? (size_t)(end - at) : sizeof zero);
	return rc;
}

/* ---- settling ---- */

/* Adds [at, at + n) as p has it to `out`, whose writes all lie before: to the last one when that is near. */
static int keep(const struct plan *p, struct plan *out, uint64_t at, size_t n)
{
	struct write *last = out->n ? &out->v[out->n - 1] : NULL;
	uint64_t end = last ? last->at + last->len : 0;
	bool near = last && at - end < NEAR;
	uint8_t *bytes;

	if (!near) {
		if (!make_room(out))
			return -ENOMEM;
		last = &out->v[out->n++];
		*last = (struct write){ .at = end = at };
	}
	n += (size_t)(at - end);
	if (out->bytes + n > PLAN_MOST)
		return -EFBIG;
	bytes = realloc(last->bytes, last->len + n);
	if (!bytes)
		return -ENOMEM;
	last->bytes = bytes;
	last->len += n;
	out->bytes += n;
	return plan_read(p, bytes + (last->len - n), n, end);
}

/* Adds what differs from the base between two places to `out`. */
static int keep_changes(const struct plan *p, struct plan *out, uint64_t at, uint64_t end)
{
	uint8_t old[PIECE], fresh[PIECE];
	size_t n, run, equal;
	int rc = 0;

	for (; at < end && !rc; at += n) {
		n = end - at < sizeof old ? (size_t)(end - at) : sizeof old;
		rc = read_base(p, old, n, at);
		rc = rc ? rc : plan_read(p, fresh, n, at);
		for (size_t i = 0; i < n && !rc; i += run) {
			run = 1;
			if (old[i] == fresh[i])
				continue;
			for (equal = 0; i + run < n && equal < NEAR; run++)
				equal = old[i + run] == fresh[i + run] ? equal + 1 : 0;
			rc = keep(p, out, at + i, run - equal);
		}
	}
	return rc;
}

int plan_settle(struct plan *p, struct err *e)
{
	struct plan out = { .size = p->size };
	int rc = 0;

	for (size_t i = 0; i < p->n && !rc; i++)
		rc = keep_changes(p, &out, p->v[i].at, p->v[i].at + p->v[i].len);
	if (rc) {
		free_writes(&out);
		return rc == -ENOMEM ? err_nomem(e) : err_set(e, -rc, "%s", strerror(-rc));
	}
	free_writes(p);
	p->v = out.v;
	p->n = out.n;
	p->cap = out.cap;
	p->bytes = out.bytes;
	return 0;
}

/* ---- overlay ---- */

struct overlay_source { struct source s; struct plan *plan; };

static int overlay_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return plan_read(((struct overlay_source *)s)->plan, buf, n, at);
}

static int overlay_pwrite(struct source *s, const void *buf, size_t n, uint64_t at)
{
	return plan_write(((struct overlay_source *)s)->plan, at, buf, n);
}

/* What is said of a place is said of what the base has there. */
static const struct source_ops overlay_ops = { .pread = overlay_pread, .pwrite = overlay_pwrite, .root = true };

struct source *src_overlay(struct plan *p)
{
	struct overlay_source *o = calloc(1, sizeof *o);

	if (!o)
		return NULL;
	o->s.ops = &overlay_ops;
	o->s.parent = src_ref(p->base);
	o->s.size = p->size;
	atomic_init(&o->s.refs, 1);
	o->plan = p;
	return &o->s;
}
