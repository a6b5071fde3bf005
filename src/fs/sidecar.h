/* The files that are kept beside an archive, or in a folder: its journal, its undo file, what is written anew. */
#ifndef MODELFS_SIDECAR_H
#define MODELFS_SIDECAR_H

#include <limits.h>
#include <sys/stat.h>

#include "base.h"
#include "io.h"

/* The directory they lie in, and their names. */
struct place {
	const struct io_ops *io;
	void *ctx;
	int dir;
	const char *name;                      /* of the archive; NULL: they are a folder's */
	char journal[NAME_MAX + 32], fresh[NAME_MAX + 32], undo[NAME_MAX + 32];
	struct stat like;                      /* the archive or folder: new files get its owner and mode */
};

typedef char kept_name[NAME_MAX + 48];

void place_name(struct place *p);              /* fills in the names from p->name */
void place_kept(const struct place *p, uint32_t number, kept_name out);        /* the undo file's with .N behind it */
/* Opens one of them; O_CREAT gives it the mode and owner of p->like as far as possible. */
int place_open(const struct place *p, const char *name, int flags);
/* The same for a file that is to take another's name, with LOCK_WRITER; EAGAIN when somebody has that. */
int place_open_locked(const struct place *p, const char *name, int flags);
void place_close(const struct place *p, int fd);       /* -1 is fine */
int place_write(const struct place *p, int fd, const void *buf, size_t n, uint64_t at);        /* all of it */

/* What a name stands for. */
struct stamp {
	bool there;
	dev_t dev, rdev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};
struct stamp stamp_of(const struct stat *st);
struct stamp place_stamp(const struct place *p, const char *name);
/* device: whatever is in it, it is the same. */
bool stamp_equal(const struct stamp *a, const struct stamp *b, bool device);

#endif
