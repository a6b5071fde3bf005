/* Documents: what a YAML view says, described once by calls, whoever listens.
 *
 * A format describes a view (`header.yaml`, `meshes/N.yaml`, ...) by calling these in the order of the text. The
 * printer of export/ydoc.c makes YAML of it; the checker of core/verify.c takes every value through its text and back;
 * an editor can match the same calls against what was written. So a view has one description, not one per direction.
 *
 * Bytes are given where they lie (source and offset), because an editor must know where a value goes. */
#ifndef MODELFS_DOC_H
#define MODELFS_DOC_H

#include "schema.h"
#include "source.h"

struct doc;
struct doc_ops {
	void (*comment)(struct doc *, const char *text);
	void (*field)(struct doc *, const struct field *, bool be, const uint8_t *raw, struct source *src, uint64_t at);
	void (*rows)(struct doc *, const char *key, const struct record *, bool be, const uint8_t *raw, uint32_t n,
		     struct source *src, uint64_t at, unsigned style);
	/* Padding that is zero, so that no view shows it. An editor takes it: it may have been shown before. */
	void (*pad)(struct doc *, const struct field *, bool be, const uint8_t *raw, struct source *src, uint64_t at);
	void (*text)(struct doc *, const char *key, const char *value, unsigned style);
	void (*list)(struct doc *, const char *key, uint32_t n, unsigned style);
	void (*item)(struct doc *);
	void (*end)(struct doc *);
};
struct doc { const struct doc_ops *ops; };

enum doc_style {
	DOC_PLAIN = 0,
	DOC_DERIVED = 1,                       /* "# derived" behind it */
	DOC_BLOCK = 2,                         /* rows: one line per row instead of one line for all */
	/* rows: their bytes are what is shown, not what lies at src + at. An editor writes none of them: rows that are
	 * not DOC_DERIVED and differ from what was written are a CHANGE_ROWS for doc_put(). */
	DOC_SHOWN = 4,
	/* rows, with DOC_BLOCK: each line is a mapping, {slot: 3, bone: 7}, as short as a list and edited likewise, but
	 * keys say what the values are, and can be left out. */
	DOC_MAPS = 8
};

#define DOC_TEXT_MAX 4096                      /* longest text of a comment or doc_text(), with its final zero */

/* A line of its own: "# TEXT". */
void doc_comment(struct doc *d, const char *fmt, ...) PRINTF(2, 3);
/* The record at `at` of src, whose bytes are raw: every shown field a key, in table order. */
void doc_record(struct doc *d, const struct record *r, bool be, const uint8_t *raw, struct source *src, uint64_t at);
/* n records that lie one after the other, each a flow list of its fields' values ([slot, bone]); a record of one field
 * is a bare value. n 0: `key: []`. The comments of its fields stand once, behind the key. key NULL: the document is
 * the list; it takes DOC_BLOCK. */
void doc_rows(struct doc *d, const char *key, const struct record *r, bool be, const uint8_t *raw, uint32_t n,
	      struct source *src, uint64_t at, unsigned style);
/* A value that is not stored as such; fmt gives the YAML text of it. */
void doc_text(struct doc *d, const char *key, unsigned style, const char *fmt, ...) PRINTF(4, 5);
/* The same of any length. */
void doc_long_text(struct doc *d, const char *key, unsigned style, const char *text);
/* A list of n mappings: doc_item() before each, doc_end() behind the last. key NULL: the document is the list.
 * n 0 prints `key: []` and is ended too. */
void doc_list(struct doc *d, const char *key, uint32_t n);
/* A list that cannot be changed at all: its values are DOC_DERIVED, the list says so for them. */
void doc_derived_list(struct doc *d, const char *key, uint32_t n);
void doc_item(struct doc *d);
void doc_end(struct doc *d);

#endif
