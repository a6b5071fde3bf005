/* Drafts: what is being written over a view or an entry, before it is saved.
 *
 * There is one per node that somebody writes, shared by all who have it open for writing. While it is there its bytes
 * are what every reader sees, unless they are saved and the archive has changed since. It is saved when a program syncs
 * or closes the file, and only when something was written since. */
#ifndef MODELFS_DRAFT_H
#define MODELFS_DRAFT_H

#include "unit.h"

struct draft;

/* The draft of a node, made from its present contents when there is none; `empty`: then from nothing, as for O_TRUNC.
 * One writer more. EACCES when the node cannot be written, or why its contents cannot be had. */
int draft_open(struct tree *t, struct node n, bool empty, struct draft **out, struct err *e);
/* One writer less; the last takes the draft with it. What is not saved yet is saved first; its error is in
 * errors.txt. */
void draft_close(struct tree *t, struct draft *d);
/* One writer less, who has written nothing. */
void draft_leave(struct tree *t, struct draft *d);
/* Bytes of a node that has a draft, read or asked for by others. False: there is none. */
bool draft_read_node(struct tree *t, struct node n, void *buf, size_t size, uint64_t at, int *rc);
bool draft_size_node(struct tree *t, struct node n, uint64_t *size, int64_t *mtime);

/* EAGAIN while it is being saved: then leave the tree, draft_wait() and try again. */
int draft_write(struct draft *d, const void *buf, size_t n, uint64_t at);
/* Alone it is no edit, nor is it to nothing; of a file it is, to nothing when it is closed. */
int draft_truncate(struct draft *d, uint64_t size);
void draft_wait(struct draft *d);
/* Saves what was written since the last time. 0 when there is nothing; an error that stands is given again. Must not be
 * called inside tree_enter(). */
int draft_save(struct tree *t, struct draft *d, struct err *e);
void draft_renumber(struct tree *t, const struct renumber *r);
void draft_close_all(struct tree *t);

/* commit.c */
/* What drafts remember of the archive from before they were first saved, so that a half text that was saved on the way
 * leaves no trace in the whole one. */
struct before {
	struct before_file { struct before_file *next; unsigned file; struct plan plan; } *files;      /* NULL: not set */
	/* Which bytes of media these are: what is written to `plan` does not matter. */
	struct before_medium { struct before_medium *next; const struct unit *unit; struct plan plan; } *media;
	uint64_t commits;
	uint32_t gen;                          /* of the unit, when the draft was made or last saved */
};
void before_free(struct before *b);
/* Makes `text` the contents of a node: checked, encoded, in the archive. before may be NULL. An error leaves everything
 * as it was, FILE.rejected and a line in errors.txt. *n is looked at once no other edit is under way: another may
 * number it anew before. */
int tree_save(struct tree *t, const struct node *n, struct store *text, struct before *before, struct err *e);
/* handle.c: the same for what a handle means by then. */
int handle_put_text(struct handle *h, struct store *text, struct err *e);

#endif
