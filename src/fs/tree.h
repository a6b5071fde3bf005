/* The tree that a mount, `ls`, `cat` and `extract` show.
 *
 * A *unit* is a directory with an opened entry behind it: a container or a model. Units are made when they are first
 * looked up and live until the tree is closed. What a unit holds is its *locals*: number 0 is its own directory, then
 * one per entry of a container, then its leaves, the files and directories a view adds. A leaf is 12 bytes and has no
 * name of its own: names are printed from kind and number. So the nodes of a large archive, a million and more, cost
 * about as much as one picture, and a walk over all of them renders nothing.
 *
 * A node is a unit and a local. Its number (node_id) is the FUSE inode, and stays that node's when others of the unit
 * come or go, although locals count anew then; st_ino is a hash of the path, so that it is the same after a remount.
 * Directory positions are positions in the listing. Any function may be called on any thread. */
#ifndef MODELFS_TREE_H
#define MODELFS_TREE_H

#include <sys/types.h>
#include <time.h>

#include "cache.h"
#include "format.h"

#define NODE_NAME_MAX 256

struct io_ops;
struct tree;
struct unit;
struct names;
struct scratch;
struct host;

/* scratch: a file that exists in memory only (scratch.h); then unit is its directory's, and local 0. host: what lies in
 * the folder that is SOURCE and is no model (host.h); then unit is NULL. */
struct node {
	struct unit *unit;
	uint32_t local;
	struct scratch *scratch;
	struct host *host;
};

struct tree_options {
	const char *names;                     /* names file, or NULL */
	size_t cache;                          /* bytes */
	void (*slow)(void);                    /* called before work that takes long, or NULL */
	bool write;                            /* wanted; tree_writable() tells whether it came true */
	bool noundo, grow;
	bool thorough;                         /* why a source is none is to be found out, if that takes a while */
	bool carve;                            /* what no format knows is searched, whatever its name */
	struct geo_timing timing;              /* of animations in GLB files */
	const struct io_ops *io;               /* calls that change something on disc; NULL: io_system */
	void *io_ctx;
};

struct tree_counts {
	uint64_t rendered;                     /* texts and pictures made */
	uint64_t unpacked;                     /* entries of archives that pack them */
	uint32_t units;
};

/* Opens SOURCE: recognises it and reads its table. */
int tree_open(const char *path, const struct tree_options *opt, struct tree **out, struct err *e);
void tree_close(struct tree *t);
/* Finds out what the entries of the source are, so that the first look does not have to. */
void tree_warm(struct tree *t);
struct node tree_root(struct tree *t);
const char *tree_path(const struct tree *t);
bool tree_is_folder(const struct tree *t);
int tree_fd(const struct tree *t);             /* of SOURCE, for statfs */
/* Whether files can be written; if not although it was asked for, *why (may be NULL) says why. */
bool tree_writable(const struct tree *t, const char **why);

/* After the answer to who saved: what can wait until then. */
void tree_tidy(struct tree *t);

/* Whether another process has changed the archive while it was open for reading. */
bool tree_is_shared(const struct tree *t);

/* Around everything that looks at the tree beside a writer, this process's or another's: nothing changes between the
 * two. Not to be nested. */
void tree_enter(struct tree *t);
void tree_leave(struct tree *t);
struct tree_counts tree_count(const struct tree *t);

struct tree_watcher {
	/* A node's attributes changed; called with any lock held. */
	void (*changed)(void *ctx, uint64_t id);
	/* Nodes that are open show other bytes; no lock is held but the commit's own. */
	void (*stale)(void *ctx, const uint64_t *ids, size_t n);
};
/* NULL: nobody. */
void tree_watch(struct tree *t, const struct tree_watcher *watcher, void *ctx);
/* Tells the watcher what tree_enter() found changed by another process; not inside. Before a request for a name or
 * attributes is answered, so that they are not taken for older than the news; after the answer to a read, because a
 * kernel that hears of a change while it reads takes the new bytes and keeps the old size. */
bool tree_has_found(const struct tree *t);
void tree_tell_found(struct tree *t);

/* A node's number and back; the root's is 1. A node that is given out has a reference if it is a host's, which
 * node_put() takes back. */
uint64_t node_id(struct node n);
bool node_from_id(struct tree *t, uint64_t id, struct node *out);
struct scratch *node_scratch(struct tree *t, uint64_t id);     /* that the number is one of; NULL */
/* The number of a host, that the number of a node is one of; 0. */
uint64_t node_host(const struct tree *t, uint64_t id);
void node_put(struct tree *t, struct node n);
/* Whether what lies behind a node changed while the tree was not told: leave it and enter it anew. Inside. */
bool node_is_outdated(struct tree *t, struct node n);

struct node_attr {
	bool dir;
	bool sized;                            /* size is known; always for directories (0) */
	uint16_t mode;                         /* permission bits */
	mode_t type;                           /* S_IFMT of a host; else 0 */
	uint64_t size, ino;
	struct timespec mtime;
	bool owned;                            /* by uid and gid; else by who mounted */
	uid_t uid;
	gid_t gid;
};

/* The directory that n lies in; the root's is the root. */
struct node node_parent(struct tree *t, struct node n);
/* exact: renders the text when its size is not known yet. A file that cannot be made has size 0. */
void node_attr(struct tree *t, struct node n, bool exact, struct node_attr *out);
/* ENOENT, ENOTDIR, ENOMEM. */
int node_lookup(struct tree *t, struct node dir, const char *name, struct node *out);
/* Where a symbolic link of a folder leads, at most `size` bytes with their end. */
int node_link(struct tree *t, struct node n, char *to, size_t size);
/* Whether a name that is absent now may be there at the next look. */
bool node_may_appear(const struct tree *t, const char *name);
/* Views only, also those that are absent for a while because somebody removed them. */
int node_lookup_view(struct tree *t, struct node dir, const char *name, struct node *out);
int node_resolve(struct tree *t, const char *path, struct node *out);

struct node_entry {
	const char *name;
	bool dir;
	uint8_t type;                          /* DT_... of a host; else 0 */
	uint64_t ino, next;                    /* next: where the listing goes on behind this entry */
	struct node node;                      /* unit NULL unless asked for; of a folder never */
};
/* Calls fn for the children of dir from position `from` on until it returns other than 0. nodes: fill in node too,
 * which makes the units of directories. */
int node_list(struct tree *t, struct node dir, uint64_t from, bool nodes,
	      int (*fn)(void *ctx, const struct node_entry *), void *ctx);

/* An open file: bytes of the archive, a rendered text, what is being written over either, or a scratch file. Counted:
 * one reference for who opened it, one for each reply that is under way. What is still open when the tree is closed
 * (the kernel sends no release at a forced unmount) goes then. */
struct handle;
int node_open(struct tree *t, struct node n, struct handle **out, struct err *e);      /* EISDIR, EIO and reasons */
/* For writing; empty: it is to be truncated, and what it held is not needed. Errors of node_may_write(). */
int node_open_write(struct tree *t, struct node n, bool empty, struct handle **out, struct err *e);
/* 0; EACCES: nobody can write it; EROFS, EIO: what it lies in is never written, and why. */
int node_may_write(struct tree *t, struct node n, struct err *e);
struct handle *handle_ref(struct handle *h);
/* The last reference saves what was written: not inside tree_enter() then. */
void handle_put(struct handle *h);
struct node handle_node(const struct handle *h);       /* what it shows now */
uint64_t handle_size(struct handle *h);
/* The bytes where they lie, or NULL: then handle_read() copies them. n is cut to what the file has; 0 at its end. */
const void *handle_map(struct handle *h, size_t *n, uint64_t at);
int handle_read(struct handle *h, void *buf, size_t n, uint64_t at);                   /* bytes read, or -errno */
/* EAGAIN: leave the tree, handle_wait(), try again. */
int handle_write(struct handle *h, const void *buf, size_t n, uint64_t at, struct err *e);
int handle_truncate(struct handle *h, uint64_t size, struct err *e);
void handle_wait(struct handle *h);
/* Saves what was written; not inside tree_enter(). */
int handle_save(struct handle *h, struct err *e);
/* Whether n bytes can be had without waiting for the disk. */
bool handle_ready(const struct handle *h, size_t n, uint64_t at);

/* Path of a node below the root, for messages. */
void node_path(struct tree *t, struct node n, struct buf *out);
/* The lines of a unit's errors.txt; empty when it is healthy. Unit of n. */
void node_errors(struct tree *t, struct node n, struct buf *out);

/* The children of a unit are known from then on. */
int unit_fill(struct tree *t, struct unit *u, struct err *e);
/* The opened entry behind a unit; it lasts until cached_put(*hold). */
int unit_object(struct tree *t, struct unit *u, struct cached **hold, struct object **out, struct err *e);

#endif
