/* Names that a container stores, with the folders they stand in: entries by name, in directories that exist because
 * entries lie in them, or because an entry is one. Such an entry is no item: nothing is found or listed as it.
 *
 * What a name may not be as that of a file is made safe: control bytes and separators become _, as do . and .. each of
 * their dots; empty parts are left out. The second of one name in a directory gets ~2, whether the first is an entry or
 * a directory; so does one that is `taken` by something else there. An *item* is entry i, i < nentries, or directory
 * nentries + d - 1; directory 0 is the container's own and no item. */
#ifndef MODELFS_STORED_H
#define MODELFS_STORED_H

#include "format.h"

struct stored_dir {
	uint32_t in;                           /* directory that it lies in */
	uint32_t name;                         /* in text */
	uint32_t first, n;                     /* its items in `order` */
	uint32_t entry;                        /* from 1: the entry that is this folder; 0: none is */
	uint64_t hash;                         /* of its path */
};

struct stored_entry { uint32_t in, name; };

struct stored {
	uint32_t nentries, ndirs;              /* ndirs: with directory 0 */
	struct stored_entry *entries;
	struct stored_dir *dirs;
	uint32_t *order;                       /* items, directory by directory, each in the order of the table */
	uint32_t *slot;                        /* items + 1 by hash of directory and name; 0: free */
	uint32_t mask;
	char *text;
	size_t ntext, cap;
};

/* taken: names that entries and directories of directory 0 must not have; ends with NULL. hash: of the container's
 * path. NULL: no memory. */
struct stored *stored_new(const struct entries *v, char separator, const char *const *taken, uint64_t hash);
void stored_free(struct stored *s);            /* NULL is fine */
/* Whether two show the same names in the same places. */
bool stored_same(const struct stored *a, const struct stored *b);

#define STORED_NONE UINT32_MAX
/* The item of that name in a directory, or STORED_NONE. */
uint32_t stored_find(const struct stored *s, uint32_t dir, const char *name);
/* The same without regard to case, of n bytes of name and with or without the version that discs add; the first. */
uint32_t stored_find_any_case(const struct stored *s, uint32_t dir, const char *name, size_t n);
const char *stored_name(const struct stored *s, uint32_t item);
/* What follows the last dot of a name; "". */
const char *stored_ext(const char *name);
/* The directory an item lies in. */
uint32_t stored_in(const struct stored *s, uint32_t item);
/* The directory that an item is; 0: it is an entry. */
static inline uint32_t stored_dir_of(const struct stored *s, uint32_t item)
{
	return item < s->nentries ? 0 : item - s->nentries + 1;
}

#endif
