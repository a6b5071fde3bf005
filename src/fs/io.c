/* The write path's calls as the system makes them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io.h"

static int io_openat(void *ctx, int dirfd, const char *path, int flags, mode_t mode)
{
	int fd;

	(void)ctx;
	do
		fd = openat(dirfd, path, flags, mode);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static ssize_t io_pwrite(void *ctx, int fd, const void *p, size_t n, uint64_t at)
{
	ssize_t done;

	(void)ctx;
	do
		done = pwrite(fd, p, n, (off_t)at);
	while (done < 0 && errno == EINTR);
	return done < 0 ? -errno : done;
}

static int io_fsync(void *ctx, int fd)
{
	int rc;

	(void)ctx;
	do
		rc = fsync(fd);
	while (rc && errno == EINTR);
	return rc ? -errno : 0;
}

static int io_ftruncate(void *ctx, int fd, uint64_t size)
{
	int rc;

	(void)ctx;
	do
		rc = ftruncate(fd, (off_t)size);
	while (rc && errno == EINTR);
	return rc ? -errno : 0;
}

static int io_fallocate(void *ctx, int fd, uint64_t at, uint64_t n)
{
	int rc;

	(void)ctx;
	do
		rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n);
	while (rc && errno == EINTR);
	return rc ? -errno : 0;
}

static int io_space(void *ctx, int dirfd, uint64_t *bytes)
{
	struct statvfs v;

	(void)ctx;
	if (fstatvfs(dirfd, &v))
		return -errno;
	*bytes = v.f_blocks ? (uint64_t)v.f_bavail * v.f_frsize : UINT64_MAX;
	return 0;
}

static int io_renameat(void *ctx, int fromdir, const char *from, int todir, const char *to)
{
	(void)ctx;
	return renameat(fromdir, from, todir, to) ? -errno : 0;
}

static int io_linkat(void *ctx, int fromdir, const char *from, int todir, const char *to)
{
	(void)ctx;
	return linkat(fromdir, from, todir, to, 0) ? -errno : 0;
}

static int io_unlinkat(void *ctx, int dirfd, const char *path)
{
	(void)ctx;
	return unlinkat(dirfd, path, 0) ? -errno : 0;
}

static int io_close(void *ctx, int fd)
{
	(void)ctx;
	return close(fd) ? -errno : 0;
}

const struct io_ops io_system = {
	.openat = io_openat, .pwrite = io_pwrite, .fsync = io_fsync, .ftruncate = io_ftruncate,
	.fallocate = io_fallocate, .space = io_space, .renameat = io_renameat, .linkat = io_linkat,
	.unlinkat = io_unlinkat, .close = io_close,
};
