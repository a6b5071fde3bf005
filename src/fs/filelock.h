/* Locks on an archive file, held by an open file description: they outlast a fork and go with the last descriptor. */
#ifndef MODELFS_FILELOCK_H
#define MODELFS_FILELOCK_H

#include <sys/stat.h>

#include "base.h"

/* Each is one byte far behind the end of any file. */
enum filelock {
	LOCK_WRITER,                           /* exclusively, as long as the archive is open for writing */
	LOCK_BYTES,                            /* exclusively while bytes change, shared by others while they read */
	LOCK_TURN,                             /* for filelock_take(), which queues for LOCK_BYTES with it */
};

/* fd must be open for writing for an exclusive lock, for reading for a shared one. Negative errno: EAGAIN when another
 * has it and wait is not set; ENOLCK, EINVAL and the like where there are no such locks. Who waits for LOCK_BYTES gets
 * it before those that come later, also when it is shared and they could have it at once. */
int filelock_take(int fd, enum filelock which, bool exclusive, bool wait);
/* Whether that error says that there are no such locks here. */
bool filelock_unknown(int rc);
void filelock_drop(int fd, enum filelock which);
bool filelock_held(int fd, enum filelock which);       /* by another, exclusively */
bool filelock_shared(int fd, enum filelock which);     /* by another, in either way */
/* Says who holds a lock for writing on the file at path, absolute and without symbolic links, as far as can be found
 * out: "is mounted writable at /mnt by process 12", "is open for writing in another program". */
void filelock_holder(const char *path, const struct stat *st, struct buf *out);

#endif
