#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* ---- a path's parts ---- */

/* The next part of a path, from *at on; false at its end. Doubled slashes and "." count for nothing. */
static bool next_part(const char **at, const char **part, size_t *n)
{
	do {
		*at += strspn(*at, "/");
		*part = *at;
		*n = strcspn(*at, "/");
		*at += *n;
	} while (*n == 1 && **part == '.');
	return *n;
}

/* Refuses what leads out by its words alone. */
static int check_path(const char *path)
{
	const char *at = path, *part;
	size_t n;

	if (*path == '/')
		return -EXDEV;
	while (next_part(&at, &part, &n))
		if (n == 2 && !memcmp(part, "..", 2))
			return -EXDEV;
	return 0;
}

/* ---- without a call for it ---- */

static int same_device(int dirfd, int fd)
{
	struct stat dir, st;

	if (fstat(dirfd, &dir) || fstat(fd, &st))
		return -errno;
	return dir.st_dev == st.st_dev ? 0 : -EXDEV;
}

/* One part of a path in dir; root: what it all has to be on one file system with. */
static int open_part(int root, int dir, const char *name, int flags, mode_t mode)
{
	struct stat st;
	int rc, fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0) {
		rc = -errno;
		if (rc == -ENOTDIR && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode))
			rc = -ELOOP;
		return rc;
	}
	rc = same_device(root, fd);
	if (!rc && (flags & (O_PATH | O_NOFOLLOW)) == O_PATH && !fstat(fd, &st) && S_ISLNK(st.st_mode))
		rc = -ELOOP;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int beneath_walk(int dirfd, const char *path, int flags, mode_t mode)
{
	const char *at = path, *part, *next;
	size_t n, nnext;
	int dir = dirfd, fd, rc = check_path(path);
	bool more;

	if (rc)
		return rc;
	if (!next_part(&at, &part, &n)) {
		fd = openat(dirfd, ".", flags | O_CLOEXEC, mode);
		return fd < 0 ? -errno : fd;
	}
	do {
		char *name = strndup(part, n);

		more = next_part(&at, &next, &nnext);
		fd = !name ? -ENOMEM : more ? open_part(dirfd, dir, name, O_PATH | O_DIRECTORY, 0) :
		     open_part(dirfd, dir, name, flags, mode);
		free(name);
		if (dir != dirfd)
			close(dir);
		dir = fd;
		part = next;
		n = nnext;
	} while (more && fd >= 0);
	return fd;
}

/* ---- with it ---- */

static int open_short(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = flags & O_CREAT ? mode & 07777 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	int fd;

	do
		fd = (int)syscall(SYS_openat2, dirfd, *path ? path : ".", &how, sizeof how);
	while (fd < 0 && errno == EINTR);
	if (fd >= 0)
		return fd;
	return errno == ENOSYS || errno == EPERM ? beneath_walk(dirfd, path, flags, mode) : -errno;
}

/* The first folders of a path that is too long for one call; *path is what is left of it. */
static int open_folders(int dirfd, const char **path)
{
	const char *slash = memrchr(*path, '/', PATH_MAX - 1);
	char part[PATH_MAX];

	if (!slash)
		return -ENAMETOOLONG;
	memcpy(part, *path, (size_t)(slash - *path));
	part[slash - *path] = 0;
	*path = slash + 1;
	return open_short(dirfd, part, O_PATH | O_DIRECTORY, 0);
}

int beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	int dir = dirfd, next, rc = check_path(path);

	if (rc)
		return rc;
	while (strlen(path) >= PATH_MAX) {
		next = open_folders(dir, &path);
		if (dir != dirfd)
			close(dir);
		if (next < 0)
			return next;
		dir = next;
	}
	next = open_short(dir, path, flags, mode);
	if (dir != dirfd)
		close(dir);
	return next;
}

int beneath_parent(int dirfd, const char *path, const char **name)
{
	const char *at = path, *part, *last = NULL;
	size_t n;
	char *dir;
	int fd = check_path(path);

	if (fd)
		return fd;
	while (next_part(&at, &part, &n))
		last = part;
	if (!last || strchr(last, '/'))
		return -EINVAL;
	dir = strndup(path, (size_t)(last - path));
	if (!dir)
		return -ENOMEM;
	*name = last;
	fd = beneath_open(dirfd, dir, O_RDONLY | O_DIRECTORY, 0);
	free(dir);
	return fd;
}
