/* What a tree shows of files in a folder of the test's own. What goes wrong where a test does not expect it fails the
 * test. */
#ifndef MODELFS_TESTS_SHOWN_H
#define MODELFS_TESTS_SHOWN_H

#include "tree.h"

int shown_make(void **state);                  /* setup and teardown of a test: the folder */
int shown_remove(void **state);
/* The path of something in the folder; until the fourth call from here. */
const char *shown_at(const char *name);
/* Whole files. Written ones look as if they had been there for a while, each for another. */
void shown_write(const char *name, const struct buf *bytes);
void shown_read(const char *name, struct buf *out);
bool shown_file_is(const char *name, const struct buf *bytes);

/* Of the folder ("") or a file in it. */
struct tree *shown_open(const char *name, bool write);
struct tree *shown_open_growing(const char *name);
/* Enters the tree until what lies at the path is up to date; -ENOENT and others: it is entered all the same. */
int shown_enter(struct tree *t, const char *path, struct node *out);

/* The names in a directory, in its order, with blanks between them; directories with a / behind. */
const char *shown_list(struct tree *t, const char *path);
/* Appends a file's contents. */
void shown_text(struct tree *t, const char *path, struct buf *out);
/* Whether they are those; of a text, likewise. */
bool shown_is(struct tree *t, const char *path, const void *p, size_t n);
bool shown_says(struct tree *t, const char *path, const char *part);
/* Saves it; why (may be NULL): the error. */
int shown_save(struct tree *t, const char *path, const void *p, size_t n, struct err *why);

#endif
