/* What archives and folders share: commits to a set of files.
 *
 * A set has one journal and one undo file. An archive is a set of one; a folder is a set of whatever files lie below
 * it. A commit writes its journal and then does what is done after a crash: set_settle(). So there is one piece of code
 * behind the commit point, and every commit runs it. For archive.c and fileset.c; not for others. */
#ifndef MODELFS_SET_H
#define MODELFS_SET_H

#include "archive.h"
#include "undo.h"

struct set;

/* One file of a set, while it is being changed. */
struct member {
	const char *path;                      /* as in journals */
	int fd;                                /* for writing, with LOCK_WRITER; -1: it is not there */
	int from;                              /* the file that takes its name, locked likewise; -1: none */
	bool takes;                            /* another file will take its name, so these are needed: */
	int dir;                               /* that the name is in */
	const char *name;
	struct stat was;                       /* what it has to be; making room for a commit changes the time */
	struct stat now;                       /* what it is after one */
};

struct set_ops {
	/* Opens a file: EBUSY, ESTALE when it is not what m->was says (all zero: nothing), ENOENT and others. */
	int (*open)(struct set *s, const char *path, struct member *m, struct err *e);
	/* m->fd may be another file by now. */
	void (*close)(struct set *s, struct member *m);
	/* ESTALE when another program has changed it, or given its name to another. */
	int (*check)(struct set *s, const struct member *m, struct err *e);
	/* LOCK_BYTES, so that nobody reads, and back. m, n: the files that will change. */
	int (*lock)(struct set *s, const struct member *m, size_t n, struct err *e);
	void (*unlock)(struct set *s);
	/* A file as it is on disc, for reading. */
	int (*source)(struct set *s, const char *path, struct source **out, struct err *e);
	/* After a commit, before unlock(): what is known of the files is known anew. */
	int (*renew)(struct set *s, struct err *e);
	/* A commit has failed halfway: from now on the files are shown through its journal. */
	void (*broke)(struct set *s, const struct journal *j);
};

struct set {
	const struct set_ops *ops;
	struct place place;
	bool noundo;
	void (*hold)(void *ctx);               /* archive_options */
	void *hold_ctx;
	int spent;                             /* the last commit's journal, which takes long to let go of */
	struct undo undo;
	bool broken;                           /* a commit failed halfway; only a new open may go on from there */
	bool owed;                             /* the journal is there because the undo file does not have it yet */
	char why[240];                         /* it cannot be written, or is broken */
};

/* ---- set_apply.c: from a complete journal to the files it describes ---- */

/* Whether the files are what journal j was made for, at any stage of applying it: 1, 0 or an error; e tells in either
 * case what does not fit. */
int set_fits(struct set *s, const struct journal *j, struct err *e);
/* What one of its files is once journal j is applied. file: it as it is on disc; NULL: to be opened. */
int set_through(struct set *s, const struct journal *j, const struct journal_file *f, struct source *file,
		struct source **out, struct err *e);
/* Does what journal j says, however much of it is done, and removes it. m: its files, opened, with LOCK_BYTES. When
 * only the undo file cannot be written, 0 and s->owed. */
int set_settle(struct set *s, const struct journal *j, const struct journal_file *v, struct member *m, struct err *e);
/* Tries again to add to the undo file what the last commit could not. */
int set_pay(struct set *s, struct err *e);
/* Finishes a journal that is there, or removes what a commit that did not come to its commit point has left. An error
 * leaves all as it is. */
int set_recover(struct set *s, struct err *e);

/* ---- set_commit.c ---- */

/* One commit. */
struct job {
	struct journal_head h;                 /* h.nfiles parts and members */
	const char *what;
	struct journal_part *part;             /* old: held */
	struct journal_file *file;             /* of the parts; filled in by set_do() */
	struct member *member;                 /* opened */
	uint32_t *crcs;                        /* of the file written anew; freed with the job */
};
/* For n files, whose parts and members are all zero and without descriptors; to be closed and freed also on an
 * error. */
int set_job(struct job *job, size_t n, const char *what, struct err *e);
void set_job_free(struct set *s, struct job *job);
/* Whether a commit may be made. */
int set_ready(struct set *s, struct err *e);
/* A commit of all that the job's parts have plans for, of which one may be moved. progress may be NULL. */
int set_commit(struct set *s, struct job *job, void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx,
	       struct err *e);
/* Writes down and does it. An error with s->broken is one behind the commit point. */
int set_do(struct set *s, struct job *job, struct err *e);
/* ENOSPC, with the number of bytes that are missing, unless `need` are free. */
int set_room(const struct set *s, uint64_t need, struct err *e);
/* Only those of fallocate's errors count that say there is no room. */
bool set_no_room(int rc);
/* archive_tidy(). */
void set_tidy(struct set *s);
/* Forgets what is known of the undo file, and what went wrong: the files are others now. */
void set_reset(struct set *s);

/* ---- set_rewrite.c ---- */

/* Writes file i anew, beside itself, and gives the old one a second name. set_drop() takes both back. */
int set_rewrite(struct set *s, struct job *job, uint32_t i, const struct plan *plan,
		void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e);
void set_drop(struct set *s, const struct job *job);
/* Whether m's name can be given to another file of the set: behind the commit point that must not fail. */
int set_check_directory(const struct place *p, const struct member *m, struct err *e);

/* ---- set_undo.c ---- */

int set_undo(struct set *s, unsigned n, unsigned *done, struct err *e);
int set_log(struct set *s, int (*fn)(void *ctx, const struct commit_info *), void *ctx, struct err *e);

#endif
