/* What the parts of the fileset module share; not for others. */
#ifndef MODELFS_FILESET_IN_H
#define MODELFS_FILESET_IN_H

#include "fileset.h"
#include "reading.h"
#include "set.h"

struct fileset {
	struct set set;                        /* first: a set's calls lead back to the folder */
	struct reading reading;
	char *path;
	int lock;                              /* FILESET_LOCK, with LOCK_WRITER; -1: only reading */
	bool alone;                            /* nobody reads any more who did not find FILESET_LOCK */
	int read_lock;                         /* FILESET_LOCK of those who read, while they do; -1: they lock `dir` */
	struct stamp journal;                  /* as it was looked at last */
	struct journal pending;                /* to be read through; fd -1: none */
	struct journal_file *files;            /* of it */
};

extern const struct set_ops fileset_set_ops;

/* Takes over a journal that the files are to be read through. */
int fileset_read_through(struct fileset *fs, struct journal *j, struct err *e);
/* LOCK_BYTES of the folder, for a commit. */
int fileset_lock(struct fileset *fs, struct err *e);
void fileset_unlock(struct fileset *fs);

#endif
