/* The calls that change something on disc, in a table, so that tests can fail, tear and reorder them. */
#ifndef MODELFS_IO_H
#define MODELFS_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Every call the write path makes. Each returns 0 (or a descriptor, or bytes) or a negative errno. Names are in the
 * directory before them. */
struct io_ops {
	int (*openat)(void *ctx, int dirfd, const char *path, int flags, mode_t mode);
	ssize_t (*pwrite)(void *ctx, int fd, const void *p, size_t n, uint64_t at);
	int (*fsync)(void *ctx, int fd);               /* of files and of directories */
	int (*ftruncate)(void *ctx, int fd, uint64_t size);
	int (*fallocate)(void *ctx, int fd, uint64_t at, uint64_t n);  /* room on disc; the file's size stays */
	int (*space)(void *ctx, int dirfd, uint64_t *bytes);   /* that are free; UINT64_MAX: not known */
	int (*renameat)(void *ctx, int fromdir, const char *from, int todir, const char *to);
	int (*linkat)(void *ctx, int fromdir, const char *from, int todir, const char *to);
	int (*unlinkat)(void *ctx, int dirfd, const char *path);
	int (*close)(void *ctx, int fd);
};
extern const struct io_ops io_system;

#endif
