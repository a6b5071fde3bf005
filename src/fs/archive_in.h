/* What the parts of the archive module share; not for others. */
#ifndef MODELFS_ARCHIVE_IN_H
#define MODELFS_ARCHIVE_IN_H

#include "reading.h"
#include "set.h"

/* What goes and comes with the file behind the path. */
struct state {
	int fd;                                /* for writing, with LOCK_WRITER; -1: only reading */
	bool device;
	struct source *file, *shown;           /* the file; with a journal laid over it, if there is one */
	struct stat st;                        /* of what is shown */
	struct stamp stamp, journal;           /* of the path, of the journal */
};

struct archive {
	struct set set;                        /* first: a set's calls lead back to the archive */
	struct archive *beside;                /* options' `with` */
	struct archive *with;                  /* that it belongs to; its set is not used to commit */
	struct archive *_Atomic parts;         /* that belong to it, as far as they are open, */
	struct archive *next;                  /* one of which it is: */
	struct archive *in;                    /* of this one */
	struct reading reading;
	char *path;                            /* absolute, without symbolic links */
	bool want, dir_synced;                 /* dir_synced: the directory can be synced */
	struct state s;
};

/* ---- archive_set.c ---- */

extern const struct set_ops archive_set_ops;

/* Finds out whether it belongs to the one that was opened before, and names what is kept beside it. */
void archive_choose(struct archive *a);
void archive_join(struct archive *a);          /* what it belongs to now, if anything */
void archive_part(struct archive *a);          /* from all that it is together with */
/* How journals call it: the one whose journals they are has no name. */
const char *archive_subject(const struct archive *a);
struct archive *archive_first(struct archive *a);      /* whose journals they are */
int archive_check_stamp(const struct archive *a, struct err *e);

/* ---- archive.c ---- */

struct stamp archive_stamp(const struct archive *a);   /* of the path */
/* After a change of ours, or one that is accepted: a new stamp, and a new source where the size or the file is
 * another. */
int archive_renew(struct archive *a, struct err *e);
/* What the archive is once journal j is applied. */
int archive_through(struct archive *a, const struct journal *j, struct source **out, struct err *e);

#endif
