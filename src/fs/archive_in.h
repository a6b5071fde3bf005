/* What the parts of the archive module share; not for others.
 *
 * A commit writes its journal and then does what a mount after a crash does: archive_settle(). So there is one piece of
 * code behind the commit point, and every commit runs it. */
#ifndef MODELFS_ARCHIVE_IN_H
#define MODELFS_ARCHIVE_IN_H

#include <pthread.h>

#include "undo.h"

struct stamp {
	bool there;
	dev_t dev, rdev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

/* What goes and comes with the file behind the path. */
struct state {
	int fd;                                /* for writing, with LOCK_WRITER; -1: only reading */
	bool device;
	bool broken;                           /* a commit failed halfway; only a new open may go on from there */
	bool owed;                             /* the journal is there because the undo file does not have it yet */
	struct source *file, *shown;           /* the file; with a journal laid over it, if there is one */
	struct stat st;                        /* of what is shown */
	struct stamp stamp, journal;           /* of the path, of the journal */
	struct undo undo;
	char why[240];                         /* not for writing, or broken */
};

struct archive {
	struct place place;
	char *path, *dir;                      /* absolute, without symbolic links */
	bool want, noundo, dir_synced;         /* dir_synced: place.dir can be synced */
	void (*hold)(void *ctx);               /* archive_options */
	void *hold_ctx;
	int spent;                             /* the last commit's journal; see archive_tidy() */
	struct state s;
	pthread_mutex_t mutex;                 /* readers: */
	pthread_cond_t empty, taken;
	unsigned inside;
	bool held;                             /* the lock, from `since` on; as long as it is: */
	bool changed, locked;                  /* locked: it could be had */
	struct timespec since;
	pthread_t warden;                      /* gives the lock back when nobody comes any more */
	bool guarded, awake, stop;             /* there is one; it looks without being called; it is to end */
	bool alone;                            /* none is to be started */
};

void archive_read_init(struct archive *a);
/* Gives back the lock that outlasts those inside; nobody is inside. */
void archive_read_let_go(struct archive *a);
void archive_read_stop(struct archive *a);     /* the same, for good */

/* Starts a thread that no signal goes to; 0 or a negative errno. */
int archive_thread(pthread_t *thread, void *(*run)(void *), void *arg);

struct stamp archive_stamp(const struct archive *a, const char *name);
bool stamp_equal(const struct stamp *a, const struct stamp *b, bool device);
/* After a change of ours, or one that is accepted: a new stamp, and a new source where the size or the file is
 * another. */
int archive_renew(struct archive *a, struct err *e);

/* Whether the archive is what journal j was made for, at any stage of applying it: 1, 0 or an error. */
int archive_fits(struct archive *a, const struct journal *j, struct err *e);
/* What the archive is once journal j is applied. */
int archive_through(struct archive *a, const struct journal *j, struct source **out, struct err *e);
/* Does what journal j says, however much of it is done, and removes it. With LOCK_WRITER and LOCK_BYTES; from: the file
 * that takes the name, locked likewise, closed here; -1: opened when it is there. When only the undo file cannot be
 * written, 0 and s.owed. */
int archive_settle(struct archive *a, const struct journal *j, int from, struct err *e);
/* Tries again to add to the undo file what the last commit could not. */
int archive_pay(struct archive *a, struct err *e);
/* Opens and locks (LOCK_WRITER) a file that is to take the name; a negative errno. */
int archive_open_locked(struct archive *a, const char *name, int flags);

/* One commit. */
struct job {
	struct journal_head h;
	const char *what;
	const struct plan *plan;               /* NULL: only the name changes */
	struct source *old;                    /* where the bytes from before are */
	const uint32_t *crcs;
	int from;                              /* the file that takes the name, closed in any case; -1: none */
};
/* An error with s.broken is one behind the commit point. */
int archive_do(struct archive *a, struct job *job, struct err *e);
int archive_rewrite(struct archive *a, struct job *job, const struct plan *plan,
		    void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e);
/* ENOSPC, with the number of bytes that are missing, unless `need` are free. */
int archive_room(const struct archive *a, uint64_t need, struct err *e);
/* Only those of fallocate's errors count that say there is no room. */
bool archive_no_room(int rc);

#endif
