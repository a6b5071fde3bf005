/* Entries in memory, opened as a format; what goes wrong fails the test. */
#ifndef MODELFS_TESTS_OPENED_H
#define MODELFS_TESTS_OPENED_H

#include "format.h"

struct opened {
	uint8_t *bytes;                        /* a copy of exact length: a sanitizer sees every step too far */
	struct source *src;
	struct object *o;
	struct members *members;               /* of open_members() */
};

struct opened open_bytes(const struct format *f, const void *p, size_t n);
struct opened open_buf(const struct format *f, struct buf *b);         /* frees b */
/* An entry and its members; each may be NULL. */
struct opened open_members(const struct format *f, const struct buf *entry,
			   const struct buf *const member[MEMBERS_MOST]);
void close_opened(struct opened *k);

void sound(struct object *o);                  /* no faults, and it verifies */
/* A document as YAML text, to be freed; and that it, or that of a section, is `want`. */
char *text_of(struct object *o, unsigned kind, uint32_t i);
void doc_is(struct object *o, unsigned kind, uint32_t i, const char *want);
void section_doc_is(struct object *o, unsigned section, const char *want);

/* use() gets what b holds cut at every length, and with any one byte changed. */
void each_cut(const struct buf *b, void (*use)(const uint8_t *p, size_t n));
void each_change(const struct buf *b, void (*use)(const uint8_t *p, size_t n));

/* What the probe of f bids for a file without a name. */
int bid_for(const struct format *f, const void *p, size_t n);

#endif
