#include "base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

/* ---- errors ---- */

int err_set(struct err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (e) {
		e->code = code;
		va_start(ap, fmt);
		vsnprintf(e->text, sizeof e->text, fmt, ap);
		va_end(ap);
	}
	return -code;
}

int err_vat(struct err *e, int code, const struct source *src, uint64_t at, const char *what, const char *fmt,
	    va_list ap)
{
	uint64_t archive = src ? src_where(src, at) : at;
	int n;

	if (!e)
		return -code;
	e->code = code;
	if (archive != at)
		n = snprintf(e->text, sizeof e->text, "%s at 0x%" PRIx64 " (archive 0x%" PRIx64 "): ", what, at,
			     archive);
	else
		n = snprintf(e->text, sizeof e->text, "%s at 0x%" PRIx64 ": ", what, at);
	if (n > 0 && (size_t)n < sizeof e->text)
		vsnprintf(e->text + n, sizeof e->text - (size_t)n, fmt, ap);
	return -code;
}

int err_at(struct err *e, int code, const struct source *src, uint64_t at, const char *what, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = err_vat(e, code, src, at, what, fmt, ap);
	va_end(ap);
	return rc;
}

int err_line(struct err *e, int code, unsigned line, unsigned column, const char *fmt, ...)
{
	char where[48];
	va_list ap;
	size_t n;

	if (!e)
		return -code;
	if (column)
		snprintf(where, sizeof where, "line %u, column %u: ", line, column);
	else
		snprintf(where, sizeof where, "line %u: ", line);
	n = strlen(where);
	e->code = code;
	memcpy(e->text, where, n);
	va_start(ap, fmt);
	vsnprintf(e->text + n, sizeof e->text - n, fmt, ap);
	va_end(ap);
	return -code;
}

int err_nomem(struct err *e)
{
	return err_set(e, ENOMEM, "out of memory");
}

/* ---- growing buffer ---- */

bool buf_grow(struct buf *b, size_t n)
{
	size_t cap = b->cap;
	uint8_t *p;

	if (b->bad || n > LIMIT_DECODED - b->len) {
		b->bad = true;
		return false;
	}
	if (b->len + n > cap) {
		cap = cap * 2 > b->len + n ? cap * 2 : b->len + n;
		cap = cap < 256 ? 256 : cap;
		p = realloc(b->p, cap);
		if (!p) {
			b->bad = true;
			return false;
		}
		b->p = p;
		b->cap = cap;
	}
	return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	uint8_t *room = n ? buf_room(b, n) : NULL;

	if (room) {
		memcpy(room, p, n);
		b->len += n;
	}
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	uint8_t *room;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	room = n < 0 ? NULL : buf_room(b, (size_t)n + 1);
	if (room) {
		vsnprintf((char *)room, (size_t)n + 1, fmt, ap);
		b->len += (size_t)n;
	}
	va_end(ap);
}

void buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ 0 };
}

/* ---- arena ---- */

struct arena_chunk {
	struct arena_chunk *next;
	size_t size, used;
	_Alignas(16) uint8_t bytes[];
};

/* Small first chunks: a walk over a large archive opens tens of thousands of objects with a few hundred bytes each. */
#define ARENA_FIRST 1024u
#define ARENA_CHUNK 65536u

void *arena_alloc(struct arena *a, size_t n, size_t each)
{
	struct arena_chunk *c = a->head;
	size_t bytes;

	if (each && n > LIMIT_DECODED / each)
		return NULL;
	bytes = align_up(n * each, 16);
	if (!c || bytes > c->size - c->used) {
		size_t size = !c ? ARENA_FIRST : ARENA_CHUNK;

		size = bytes > size ? bytes : size;
		if (size > LIMIT_DECODED - a->used)
			return NULL;
		c = calloc(1, sizeof *c + size);
		if (!c)
			return NULL;
		c->next = a->head;
		c->size = size;
		a->head = c;
		a->used += size;
	}
	c->used += bytes;
	return c->bytes + c->used - bytes;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	char *p;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1, 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_chunk *next = a->head->next;

		free(a->head);
		a->head = next;
	}
	a->used = 0;
}
