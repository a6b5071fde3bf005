/* The archive file under a tree: opening, locks, commits, the journal and the undo file.
 *
 * One file on disc is one archive. Opened for writing it is locked, a journal left by a crash is applied, and commits
 * go through a new journal; opened for reading, a journal that is there is laid over the file. Every step that changes
 * something on disc goes through a table of functions, so that tests can fail, tear and reorder it. */
#ifndef MODELFS_ARCHIVE_H
#define MODELFS_ARCHIVE_H

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "io.h"
#include "plan.h"

struct archive;

struct archive_options {
	bool write;                            /* asked for; archive_writable() tells whether it came true */
	bool noundo;
	const struct io_ops *io;               /* NULL: io_system */
	void *io_ctx;
	/* Called in a commit when all is prepared, right before the first byte of the archive changes: from then on
	 * nobody may read until archive_commit() has returned. NULL: nobody reads anyway. */
	void (*hold)(void *ctx);
	void *hold_ctx;
	/* Opened before, that the file belongs to if it lies in the same directory. Then it has no journal of its own,
	 * is open for writing only as long as the other one is, and can change together with it. NULL: it belongs to
	 * none, nor do hidden files whose names differ in more than the extension. */
	struct archive *with;
};

/* Opens path, which is a regular file or a block device. Reading never fails because writing cannot be had: a file,
 * directory or file system that cannot be written, or a journal that does not fit, makes it read-only. Only opt->write
 * beside another writer is EBUSY ("is mounted writable at DIR by process N"). */
int archive_open(const char *path, const struct archive_options *opt, struct archive **out, struct err *e);
void archive_close(struct archive *a);
/* Whether the archive is open for writing; if not, *why says why not, also when it was not asked for (may be NULL). */
bool archive_writable(const struct archive *a, const char **why);
/* ESTALE when the file is not what it was after the last commit or refresh. */
int archive_check(struct archive *a, struct err *e);
/* The bytes of the archive as they are after the last commit; borrowed, so who keeps it takes a reference. Another
 * source after a commit that changed the file's size, wrote it anew or failed with EIO, and after archive_refresh();
 * never in between. */
struct source *archive_source(const struct archive *a);
const struct stat *archive_stat(const struct archive *a);      /* as of the last commit or refresh */
int archive_fd(const struct archive *a);       /* for reading; -1 while a journal is laid over the file */

/* For those that only read beside a writer: between the two no commit of another process changes bytes. *changed: the
 * file, its stamp or its journal is not what it was when the archive was opened or last refreshed, so what is known of
 * it is void: call archive_read_end(), see to it that no thread is inside, archive_refresh(), begin again. A writer's
 * own calls cost nothing. Threads may be inside at the same time, each once; a call may wait for those inside to leave,
 * so that a writer gets its turn. After an error the caller is not inside. The lock is kept for some milliseconds, so
 * that calls that follow each other need no system call: that long a writer waits, and that long the change of a
 * program that does not lock may go unseen. A thread gives it back, so do not fork behind the first call. */
int archive_read_begin(struct archive *a, bool *changed, struct err *e);
void archive_read_end(struct archive *a);
/* While `alone`, reading starts no thread, which a fork would lose; then each archive_read_end() gives the lock
 * back. */
void archive_read_alone(struct archive *a, bool alone);
/* Looks at the path again: another file there is opened (and locked) instead, a changed one gets a new stamp and
 * source. The caller sees to it that nobody is inside. On an error everything stays as it was, and a
 * reader hears of the next change only. */
int archive_refresh(struct archive *a, struct err *e);

/* Makes plan, settled and not empty, the state of the archive: checks that the file is still the one that was opened
 * (ESTALE), that there is room (ENOSPC), writes the journal, the bytes, the undo file. 0: durable. An error before the
 * commit point has changed nothing; after it (EIO) the journal stays, later commits are refused, and archive_source()
 * shows the new state through it. An undo file that cannot be written then is no error: its journal is kept, and added
 * to it before the next commit, which is refused until that works. what: the path in the tree, for the log. The caller
 * sees to it that nobody reads meanwhile. plan->moved: the file is written anew and renamed over the old one; progress
 * may be NULL. */
int archive_commit(struct archive *a, const struct plan *plan, const char *what,
		   void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e);

/* The same for several, all or none: one archive and files that belong to it. At most one plan may be `moved`. */
struct archive_change { struct archive *archive; const struct plan *plan; };
int archive_commit_all(const struct archive_change *v, size_t n, const char *what,
		       void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e);
/* Whether those two can: not while one of them has a journal of its own left. */
bool archive_belong(struct archive *a, struct archive *b);

/* Lets go of what the last commit has used. That takes as long as a small write, so a commit leaves it for when nobody
 * waits any more; the next one does it otherwise. Not beside a commit. */
void archive_tidy(struct archive *a);

/* ---- the log ---- */

struct commit_info {
	uint64_t sequence;
	struct timespec time;
	const char *what;                      /* path in the tree */
	uint32_t files;                        /* on disc, that it changed */
	uint64_t changed;                      /* bytes */
	uint64_t space;                        /* what the undo file (and the old archive it keeps) takes for it */
	bool rewritten;                        /* the whole file was written anew */
};
/* The commits that can be taken back, oldest first, until fn returns other than 0. No commit is made meanwhile, so fn
 * should not wait. */
int archive_log(const char *path, int (*fn)(void *ctx, const struct commit_info *), void *ctx, struct err *e);
/* Takes back the last n of them, or as many as there are. Refused (ESTALE), naming the first range that differs, when
 * the archive was changed by another program. a: opened for writing. *done: how many were taken back. */
int archive_undo(struct archive *a, unsigned n, unsigned *done, struct err *e);

#endif
