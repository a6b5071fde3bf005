/* Texts and bytes that were written over files of the tree, as writes of an edit. */
#ifndef MODELFS_APPLY_H
#define MODELFS_APPLY_H

#include "edit.h"

/* Writes to the edit what makes `text` the contents of node n. EINVAL and where the text is wrong; what else hooks
 * say. */
int apply_node(struct edit *ed, struct node n, struct store *text, struct err *e);
/* The unit whose entry holds the bytes of a node, a companion for what it shows, and which leaf of it that is (nothing
 * for an entry; may be NULL). NULL when it is gone. */
struct unit *apply_owner(struct node n, struct leaf *there);
/* Whether the same text applied once more has to change nothing. */
bool apply_repeats(struct node n);

#endif
