/* Files that exist in memory only: what editors make beside the file they save, and FILE.rejected.
 *
 * A scratch file lives in one directory of the tree until it is removed, renamed over a view, or the tree is closed. A
 * *ghost* is a view that somebody removed or renamed away: it is absent until it is made again, a few seconds at most;
 * its bytes stay. */
#ifndef MODELFS_SCRATCH_H
#define MODELFS_SCRATCH_H

#include "unit.h"

struct scratch {
	struct scratch *next;                  /* in tree->scratch; under tree->lock, as all but the store */
	uint64_t serial;
	struct unit *unit;                     /* the directory: */
	uint32_t dir;                          /* enum leaf_dir, or DIR_FOLDER + a folder */
	bool linked;                           /* has a name; else it lasts while it is open */
	bool rejected;                         /* made by modelfs */
	bool stale;                            /* renaming it was answered ESTALE, and the kernel will try once more */
	uint64_t refs;                         /* one for the name, one per handle, one per lookup the kernel made */
	struct node became;                    /* the view that it was renamed onto; unit NULL: none */
	uint32_t mode, uid, gid;
	int64_t mtime, atime;
	pthread_mutex_t busy;                  /* the store */
	struct store *store;
	char name[NODE_NAME_MAX];
};

/* The one of that number, whether it has a name or not; NULL. */
struct scratch *scratch_by_serial(struct tree *t, uint64_t serial);
struct scratch *scratch_find(struct tree *t, struct node dir, const char *name);
/* The i-th of a directory, counted from 0; NULL behind the last. */
struct scratch *scratch_nth(struct tree *t, struct node dir, uint64_t i);
/* A new one; an old one of that name goes. ENOMEM, ENAMETOOLONG. One reference for the caller. */
int scratch_new(struct tree *t, struct node dir, const char *name, struct scratch **out);
struct scratch *scratch_ref(struct scratch *s);
void scratch_put(struct tree *t, struct scratch *s);   /* NULL is fine */
void scratch_forget(struct tree *t, struct scratch *s, uint64_t n);    /* n references at once */
void scratch_unlink(struct tree *t, struct scratch *s);
int scratch_rename(struct tree *t, struct scratch *s, struct node dir, const char *name);
/* Its name is gone and what still has it open means a view from now on. */
void scratch_become(struct tree *t, struct scratch *s, struct node view);
int scratch_read(struct scratch *s, void *buf, size_t n, uint64_t at);
int scratch_write(struct scratch *s, const void *buf, size_t n, uint64_t at);
int scratch_truncate(struct scratch *s, uint64_t size);
uint64_t scratch_size(struct scratch *s);
/* Its bytes as they are now, in a store of the caller's; ENOMEM, ENOSPC. */
int scratch_copy(struct scratch *s, struct store **out);
/* Makes FILE.rejected beside a node from what was to be written, unless memory is short; takes it away again. Nodes
 * whose listing changed hear of it by tree_watch(). */
void scratch_reject(struct tree *t, struct node n, struct store *text);
void scratch_accept(struct tree *t, struct node n);
/* Names what is lost now in the log, and frees all. */
void scratch_close_all(struct tree *t);

/* Whether a new file of that name would be lost where the user does not expect it: views have that extension. */
bool scratch_refused(struct node dir, const char *name);

#define GHOST_SECONDS 5
void ghost_add(struct tree *t, struct node n);
bool ghost_is(struct tree *t, struct node n);
bool ghost_remove(struct tree *t, struct node n);      /* whether it was one */
void ghost_renumber(struct tree *t, const struct renumber *r);
void ghost_close_all(struct tree *t);

int64_t now_ns(void);                                  /* since 1970 */

#endif
