/* Files that belong to an entry whole (struct member), known by their names: beside the entry, with its base name and
 * the member's extension, in any case. Where a name has several spellings the first by its bytes is the one. */
#ifndef MODELFS_MEMBER_H
#define MODELFS_MEMBER_H

#include "format.h"

#define MEMBER_NAME_MAX 256u

/* Whether a file called so may be an entry of a format that has members. */
bool member_owner(const struct format *f, const char *name);
/* Calls fn for the spellings of the name that `owner` has for a member of that extension, in the order of their bytes,
 * until it returns other than 0; that comes back. */
int member_spell(const char *owner, const char *ext, int (*fn)(void *ctx, const char *name), void *ctx);

/* The same of one spelling, by the number that member_spelling() gives for a name. */
int member_spell_one(const char *owner, const char *ext, unsigned letters, int (*fn)(void *ctx, const char *name),
		     void *ctx);
unsigned member_spelling(const char *name);

/* What a file may be a member of: the k-th of an entry `owner` of format f. */
struct membership { const struct format *f; unsigned k; const char *owner; };
/* Calls fn for all that the file `name` may be a member of until it returns other than 0; that comes back. */
int member_of(const char *name, int (*fn)(void *ctx, const struct membership *m), void *ctx);
/* Whether member_of() would call fn: most names need not be looked at any further. */
bool member_may_be(const char *name);

#endif
