/* A SOURCE that is a folder: what lies in it, and which of its files are models.
 *
 * A file that a format opens is a *model file*: one of the tree's files, with a unit of its own. It is made when
 * somebody first looks at it, and stays for as long as the tree does; its unit is dead while the file is gone or
 * something else. Other programs change files at any time, so whoever is about to show something of a unit asks
 * folder_changed() whether its file, and those it depends on, still are what they were. */
#ifndef MODELFS_FOLDER_H
#define MODELFS_FOLDER_H

#include "host.h"
#include "kinds.h"
#include "unit.h"

struct pool;                                   /* descriptors of model files */
struct folder_names;                           /* its files by name alone */

struct folder {
	struct hosts hosts;
	struct kinds kinds;
	struct fileset *set;                   /* changes its files */
	struct pool *pool;
	struct folder_names *names;            /* NULL until somebody asks; under tree->opening */
	pthread_mutex_t lock;                  /* of suspects; a leaf */
	struct buf suspects;                   /* numbers of files that have to be looked at again, 4 bytes each */
	_Atomic bool suspicious;               /* there are some */
};

/* What an answer of folder_find() rests on: a file or a folder as it was, or that was not there (seen.ino 0). */
struct watch { char *path; struct seen seen; };

/* A file that a model asked for. */
struct wish {
	struct wish *next;
	unsigned file;                         /* what it got; NO_FILE: nothing */
	_Atomic uint32_t gen;                  /* of the names by which all of the folder was searched; 0: it was not */
	struct watch *watches;
	unsigned nwatches;
	uint8_t where;
	const char *root;                      /* or NULL */
	char path[];
};

/* tree->path is a folder: makes it the tree's root. hold: before bytes change. */
int folder_open(struct tree *t, void (*hold)(void *tree), struct err *e);
void folder_close(struct tree *t);

/* ---- names ---- */

/* What lies at a name, from outside the tree. */
struct found { struct stat st; const struct format *format; };
/* ENOENT, also for a file of modelfs' own. A mount point is a directory on device 0. */
int folder_look(struct tree *t, struct host *dir, const char *name, struct found *out);
/* Its node; a host's has a reference. Inside the tree. ESTALE: what was known of it is outdated; leave the tree, enter
 * it, try again. */
int folder_node(struct tree *t, struct host *dir, const char *name, const struct found *found, struct node *out);
/* Both, for who does not mind to read inside the tree. */
int folder_lookup(struct tree *t, struct host *dir, const char *name, struct node *out);
bool folder_hides(const char *name);
/* folder_hide.c: whether a name is that of a member of a model that is a directory: then it is not shown. Those that
 * look from outside the tree ask; what looks for itself does not. */
bool folder_has_member(struct tree *t, struct host *dir, const char *name);
/* All such names of a directory; none on an error. */
int folder_hidden(struct tree *t, struct host *dir, int dirfd, struct nameset *hidden);
/* What opens a regular file of the directory; NULL: it is a plain one. Why it was refused stands in the log. later, or
 * NULL: as of kinds_find(). */
const struct format *folder_format(struct tree *t, struct host *dir, int dirfd, const char *name,
				   const struct stat *st, bool *later);
const struct format *folder_format_in(struct tree *t, const struct in_dir *in, const char *name, const struct stat *st,
				      bool *later);

/* Renames, and what was known by one name is known by the other. Outside the tree. flags: renameat2()'s. While a
 * commit is under way files keep their names, and what is known of them. */
int folder_rename(struct tree *t, struct host *dir, const char *name, struct host *to, const char *to_name,
		  unsigned flags);

/* ---- listings ---- */

struct folder_dir;                             /* an open directory */
/* quick: files that would have to be searched are listed as DT_UNKNOWN. */
int folder_dir_open(struct tree *t, struct host *dir, bool quick, struct folder_dir **out);
void folder_dir_close(struct folder_dir *d);
int folder_dir_fd(const struct folder_dir *d);
/* Calls fn for the entries from position `from` on, "." and ".." too, until it returns other than 0. type: DT_...;
 * models are DT_DIR. */
int folder_dir_list(struct folder_dir *d, uint64_t from,
		    int (*fn)(void *ctx, const char *name, uint64_t ino, unsigned type, uint64_t next), void *ctx);

/* The bytes of a plain file, for who reads it once. */
int folder_open_source(struct tree *t, struct host *host, struct source **out, struct err *e);

/* ---- model files ---- */

/* Whether what is known of a unit may be outdated; inside the tree. Then leave it and enter it anew. */
bool folder_changed(struct tree *t, const struct unit *u);
/* folder_changed() has found something; tree_enter() calls folder_freshen(), with `state` held exclusively. */
bool folder_is_suspicious(const struct tree *t);
void folder_freshen(struct tree *t, struct buf *ids);
/* The file at a name, made known; ENOENT. Inside the tree, with `opening` held. seen: what it is known as, which may be
 * outdated; then it is suspected. */
int folder_file(struct tree *t, struct host *dir, const char *name, unsigned *file, struct seen *seen);
/* What lies at a file's name. flags: as for open(). */
int folder_open_file(struct tree *t, const struct tree_file *f, int flags);
/* The file a unit lies in, O_PATH; ESTALE when it is not the one that was seen. Inside the tree. */
int folder_unit_open(struct tree *t, const struct unit *u);
/* The unit's file path below the folder. */
int folder_unit_path(struct tree *t, const struct unit *u, struct buf *out);
/* After a commit, with `state` held exclusively: what the file is now. */
int folder_renew_file(struct tree *t, unsigned i, const struct stat *now);
/* The same for all files: a journal came or went that they are read through. */
void folder_freshen_all(struct tree *t, struct buf *ids);
/* Attributes of the file. */
const struct seen *folder_seen(const struct tree *t, const struct unit *u);

void folder_suspect(struct tree *t, unsigned file);
/* The number of the file that is known at a name, or NO_FILE. */
unsigned folder_file_at(struct tree *t, struct host *dir, const char *name);
bool folder_file_changed(struct tree *t, struct tree_file *f);

/* folder_commit.c: changes files that an edit has changed, all or none. ESTALE when one is not what it was. */
struct edit;
struct folder_commit;
int folder_check(struct tree *t, unsigned file, struct err *e);
int folder_commit_begin(struct tree *t, struct edit *ed, struct folder_commit **out, struct err *e);
int folder_commit_do(struct folder_commit *c, const char *what,
		     void (*progress)(void *tree, uint64_t done, uint64_t all), struct err *e);
/* With `state` held exclusively: the files are what they are now, and units show that. */
void folder_commit_refresh(struct folder_commit *c, struct buf *ids);
void folder_commit_end(struct folder_commit *c);

/* folder_find.c: unit_find() */
int folder_find(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e);
/* With `state` held exclusively. */
void folder_forget_wishes(struct tree_file *f);
bool folder_wishes_changed(struct tree *t, const struct tree_file *f);

/* folder_member.c: member k of a model; -ENOENT. As wishes, those it has may turn out to be others. */
int folder_member(struct tree *t, const struct unit *u, unsigned k, struct unit **out, struct err *e);
void folder_forget_members(struct tree_file *f);
bool folder_members_changed(struct tree *t, const struct tree_file *f);

/* What lies at a path; ino 0: nothing. */
void folder_see_path(const struct hosts *h, const char *path, struct seen *out);

/* folder_names.c: files by name alone; with `opening` held. folder_names_look() sees to it that what is known is true
 * now, or no older than a second, and gives a number that changes with it. folder_names_find(): the path of the only
 * file of a name, in any case; the caller's to free; NULL: there is none, or more than one. */
uint32_t folder_names_look(struct tree *t, bool now);
char *folder_names_find(struct tree *t, const char *name);
void folder_names_free(struct folder_names *f);

/* folder_source.c: bytes of a model file, as long as it is what `seen` says: else reading gives ESTALE. The file is
 * opened when it is read, and at most POOL_MOST are open. */
#define POOL_MOST 192u
struct pool *pool_new(struct tree *t);
void pool_free(struct pool *p);
struct source *pool_source(struct pool *p, unsigned file, const struct seen *seen);    /* NULL: no memory */

#endif
