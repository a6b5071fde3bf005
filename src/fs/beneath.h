/* Opening files below a directory, and never anywhere else: not through a symbolic link, not over a mount point, not
 * back out of it. A mount at or inside the folder that it shows so never leads back into itself. */
#ifndef MODELFS_BENEATH_H
#define MODELFS_BENEATH_H

#include <sys/types.h>

#include "base.h"

/* Opens path, relative to dirfd; "" and "." are the directory itself. flags and mode are open()'s, with O_CLOEXEC.
 * Returns the descriptor or a negative errno: EXDEV for a path that leads out of dirfd or onto another file system,
 * ELOOP for one with a symbolic link in it. O_PATH | O_NOFOLLOW opens a link at the end of path. */
int beneath_open(int dirfd, const char *path, int flags, mode_t mode);
/* The directory that path lies in, for calls with a name: its descriptor, opened with O_RDONLY so that it can be
 * synced. *name: the last part of path. EINVAL when there is none. */
int beneath_parent(int dirfd, const char *path, const char **name);
/* beneath_open() where the system has no call for it. */
int beneath_walk(int dirfd, const char *path, int flags, mode_t mode);

#endif
