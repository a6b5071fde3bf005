/* An edit: the chain of an entry opened anew over plans, so that what hooks write can be read back, checked and thrown
 * away before any byte of the archive changes.
 *
 * One thread makes an edit, while nobody else commits. */
#ifndef MODELFS_EDIT_H
#define MODELFS_EDIT_H

#include "plan.h"
#include "unit.h"

struct edit;
struct before_medium;

int edit_begin(struct tree *t, struct edit **out, struct err *e);
void edit_end(struct edit *ed);                /* NULL is fine */
/* What is opened from now on is opened anew: objects see what was written. */
void edit_reopen(struct edit *ed);

/* The object behind a unit, or with its entries, when that is a container; borrowed until edit_reopen(). The entry is
 * detected again: EINVAL when it is no longer what the unit is. */
int edit_object(struct edit *ed, struct unit *u, struct object **out, struct err *e);
/* A unit beside the text's own that was written to: it is checked too. ENOMEM. */
int edit_touch(struct edit *ed, struct unit *u, struct err *e);
/* The i-th of them; NULL: there are no more. */
struct unit *edit_touched(const struct edit *ed, unsigned i);
/* The bytes of an entry of a container that has become `size` bytes long as far as the container can say that; its
 * source may be longer. Borrowed until edit_reopen(). */
int edit_resize_kid(struct edit *ed, struct unit *u, uint32_t kid, uint64_t size, struct source **out, struct err *e);
/* Likewise of a unit's own entry, or of another part of its object: 1 + k, its member k. */
int edit_resize_unit(struct edit *ed, struct unit *u, unsigned part, uint64_t size, struct source **out,
		     struct err *e);

/* The plan for one of the tree's files; NULL when the edit has not opened it. */
struct plan *edit_plan(struct edit *ed, unsigned file);
/* The places that the edit, once settled, changes in the medium of a unit; NULL: nobody knows. */
const struct plan *edit_medium_plan(const struct edit *ed, const struct unit *u);
/* What the edit began with was not what the tree shows, but old bytes: they differ there; borrowed. */
void edit_was(struct edit *ed, struct before_medium *media);
/* Adds the places that an edit changes in media, and those where what it began with differs; ENOMEM. */
int edit_media(const struct edit *ed, struct before_medium **to);
/* The plan for a file, opened when it was not. */
int edit_open(struct edit *ed, unsigned file, struct plan **plan, struct err *e);
/* Writes into a plan what another one writes; 0 or a negative errno. */
int edit_lay(struct plan *to, const struct plan *from);
/* Whether the edit, once settled, changes a file. */
bool edit_changes(const struct edit *ed, unsigned file);
/* The i-th of the files that the edit has opened; NO_FILE behind the last. */
unsigned edit_file(const struct edit *ed, unsigned i);
/* Leaves out what does not change anything. True when nothing is left in any file. */
int edit_settle(struct edit *ed, bool *empty, struct err *e);
/* Remembers what is planned; from then on the same is applied once more, edit_is_second(). Then edit_repeated() tells
 * whether that has changed nothing. */
int edit_repeat(struct edit *ed, struct err *e);
int edit_repeated(struct edit *ed, bool *same, struct err *e);
bool edit_is_second(const struct edit *ed);
/* Lines that hooks had to say, each ended by \n. */
const struct buf *edit_lines(const struct edit *ed);
void edit_say(struct edit *ed, const char *text);

#endif
