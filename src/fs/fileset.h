/* The files below one folder, of which any number change together: all of them or none.
 *
 * * A folder has one journal and one undo file, .modelfs-journal and .modelfs-undo in it, as an archive has them
 * beside itself (archive.h); who writes holds a lock on .modelfs-lock there. Between commits nothing is open but the
 * folder and that lock: a commit opens the files it changes, locks them as an archive that is mounted alone is locked,
 * and closes them. */
#ifndef MODELFS_FILESET_H
#define MODELFS_FILESET_H

#include "archive.h"

struct fileset;

#define FILESET_LOCK ".modelfs-lock"

struct fileset_options {
	bool write;                            /* asked for; fileset_writable() tells whether it came true */
	bool noundo;
	const struct io_ops *io;               /* NULL: io_system */
	void *io_ctx;
	/* Called in a commit when all is prepared, right before the first byte of a file changes: from then on nobody
	 * may read until fileset_commit() has returned. NULL: nobody reads anyway. */
	void (*hold)(void *ctx);
	void *hold_ctx;
};

/* Opens the folder dirfd, which the caller keeps (O_PATH will do) and closes; path: its name, to tell who has it
 * mounted. A journal that a crash has left is finished or deleted. Like archive_open(), reading never fails because
 * writing cannot be had; only opt->write beside another writer is EBUSY ("is mounted writable at DIR by process N"). */
int fileset_open(int dirfd, const char *path, const struct fileset_options *opt, struct fileset **out, struct err *e);
void fileset_close(struct fileset *fs);
/* Whether files can be committed; if not, *why (may be NULL) says why not, also when it was not asked for. */
bool fileset_writable(const struct fileset *fs, const char **why);
/* Whether a name in the folder is one of the files that this module keeps there. */
bool fileset_is_own(const char *name);
/* beneath_open() from the folder. */
int fileset_open_file(const struct fileset *fs, const char *path, int flags);

/* ---- commits ---- */

struct file_change {
	const char *path;                      /* of a regular file, relative to the folder */
	struct stat was;                       /* of what the plan was made over: device, inode, size, time */
	const struct plan *plan;               /* settled */
	/* Set by a commit: the file as it is now. By one that fails before its commit point: `was`, but for the time,
	 * which making room can change. */
	struct stat now;
};

/* ESTALE when the file is not what `was` says, EBUSY when another program has it mounted writable, EACCES when it
 * cannot be written: what a commit of it would be refused for. */
int fileset_check(struct fileset *fs, const char *path, const struct stat *was, struct err *e);
/* Makes all plans the state of their files, like archive_commit(): an error before the commit point (ESTALE, EBUSY,
 * ENOSPC and others, naming the file) has changed no byte of any; EIO behind it: later commits are refused, and
 * fileset_through() shows the new state. At most one plan may be `moved`. Files whose plan changes nothing are left
 * out. progress (may be NULL): of a file written anew. */
int fileset_commit(struct fileset *fs, struct file_change *v, size_t n, const char *what,
		   void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e);
/* archive_tidy(). */
void fileset_tidy(struct fileset *fs);

/* ---- reading ---- */

/* Whether a complete journal is there that is not applied: when the folder is open for reading only, or a commit has
 * failed halfway. Then files are to be read through it. */
bool fileset_pending(const struct fileset *fs);
/* The bytes of a file as the pending journal leaves them: *out, one reference, over `file`, the file as it is on disc
 * (held; NULL when it is not there). `file` itself when there is no such journal, or none for this path. -ENOENT: the
 * file is not there, and no journal brings it. */
int fileset_through(struct fileset *fs, const char *path, struct source *file, struct source **out, struct err *e);

/* Beside a writer of another process, as archive_read_begin(): between the two no commit of another changes bytes.
 * *changed: a journal has come or gone; call fileset_read_end(), see to it that no thread is inside,
 * fileset_refresh(), begin again. Whether a file is what it was, its stat tells. A writer's own calls cost nothing. */
int fileset_read_begin(struct fileset *fs, bool *changed, struct err *e);
void fileset_read_end(struct fileset *fs);
void fileset_read_alone(struct fileset *fs, bool alone);       /* archive_read_alone() */
int fileset_refresh(struct fileset *fs, struct err *e);

/* ---- the log ---- */

/* archive_log(), archive_undo(): a commit is taken back with all its files, or not at all (ESTALE names the file). */
int fileset_log(int dirfd, const char *path, int (*fn)(void *ctx, const struct commit_info *), void *ctx,
		struct err *e);
int fileset_undo(struct fileset *fs, unsigned n, unsigned *done, struct err *e);

#endif
