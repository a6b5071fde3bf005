/* Errors, growing buffers, arenas. Everything else rests on these. */
#ifndef MODELFS_BASE_H
#define MODELFS_BASE_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Limits, checked before anything is allocated. */
#define LIMIT_NESTING 16u                      /* containers inside containers */
#define LIMIT_ENTRIES (1u << 20)               /* entries of one container */
#define LIMIT_DECODED ((size_t)256 << 20)      /* bytes of one decoded model, picture or text */

struct source;

/* ---- errors --------------------------------------------------------------------------------------------------
 *
 * A function that can fail returns 0 or a negative errno and takes a struct err last, which may be NULL. Only the
 * place that knows the location writes the text; callers pass it on. Codes: EBADMSG damaged data, ENOMEM, EFBIG over
 * a limit, EIO, and whatever the system said. */
struct err {
	int code;                              /* positive errno, 0 when nothing went wrong */
	char text[240];
};

/* Each returns -code. */
int err_set(struct err *e, int code, const char *fmt, ...) PRINTF(3, 4);
/* "WHAT at 0x1a38 (archive 0x5f1a38): TEXT"; the offset counts from the start of src. */
int err_at(struct err *e, int code, const struct source *src, uint64_t at, const char *what, const char *fmt, ...)
	PRINTF(6, 7);
int err_vat(struct err *e, int code, const struct source *src, uint64_t at, const char *what, const char *fmt,
	    va_list ap)
	PRINTF(6, 0);
/* "line 14, column 12: TEXT"; both count from 1, column 0: only the line is known. */
int err_line(struct err *e, int code, unsigned line, unsigned column, const char *fmt, ...) PRINTF(5, 6);
int err_nomem(struct err *e);

/* True when n items of `each` bytes starting at `at` lie inside `limit` bytes; never overflows. */
static inline bool span_ok(uint64_t limit, uint64_t at, uint64_t n, uint64_t each)
{
	return at <= limit && (!each || n <= (limit - at) / each);
}

static inline uint64_t align_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- growing buffer -------------------------------------------------------------------------------------------
 *
 * The first failure sticks (out of memory, or longer than LIMIT_DECODED): writers write straight through and ask
 * `bad` once. Zero-initialise to start; buf_free() ends it. */
struct buf {
	uint8_t *p;
	size_t len, cap;
	bool bad;
};

bool buf_grow(struct buf *b, size_t n);

/* Room for n more bytes at p + len; NULL when there is none. The caller adds what it used to len. */
static inline uint8_t *buf_room(struct buf *b, size_t n)
{
	if (n > b->cap - b->len && !buf_grow(b, n))
		return NULL;
	return b->p + b->len;
}

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_free(struct buf *b);

/* ---- arena ----------------------------------------------------------------------------------------------------
 *
 * Belongs to one opened object or one request and is freed whole. Zero-initialise to start. */
struct arena_chunk;
struct arena {
	struct arena_chunk *head;
	size_t used;                           /* bytes asked of the system */
};

/* n * each zeroed bytes, aligned to 16; NULL when out of memory, on overflow, or past LIMIT_DECODED in all. */
void *arena_alloc(struct arena *a, size_t n, size_t each);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
void arena_free(struct arena *a);

#endif
