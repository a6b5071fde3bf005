#include "sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "filelock.h"

void place_name(struct place *p)
{
	const char *name = p->name ? p->name : "", *dot = p->name ? "." : "";

	snprintf(p->journal, sizeof p->journal, "%s%s.modelfs-journal", dot, name);
	snprintf(p->fresh, sizeof p->fresh, "%s%s.modelfs-new", dot, name);
	snprintf(p->undo, sizeof p->undo, "%s.modelfs-undo", name);
}

void place_kept(const struct place *p, uint32_t number, kept_name out)
{
	snprintf(out, sizeof(kept_name), "%s.%u", p->undo, number);
}

int place_open(const struct place *p, const char *name, int flags)
{
	mode_t mode = p->like.st_mode & 0666;
	struct stat st;
	int fd = p->io->openat(p->ctx, p->dir, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0 || !(flags & O_CREAT) || fstat(fd, &st))
		return fd;
	if ((st.st_uid != p->like.st_uid || st.st_gid != p->like.st_gid) &&
	    fchown(fd, p->like.st_uid, p->like.st_gid) && fchown(fd, (uid_t)-1, p->like.st_gid))
		mode &= ~(mode_t)060;          /* its group is another one */
	if ((st.st_mode & 07777) != mode)
		fchmod(fd, mode);
	return fd;
}

int place_open_locked(const struct place *p, const char *name, int flags)
{
	int rc, fd = place_open(p, name, flags);

	if (fd < 0)
		return fd;
	rc = filelock_take(fd, LOCK_WRITER, true, false);
	if (!rc)
		return fd;
	place_close(p, fd);
	return rc;
}

void place_close(const struct place *p, int fd)
{
	if (fd >= 0)
		p->io->close(p->ctx, fd);
}

int place_write(const struct place *p, int fd, const void *buf, size_t n, uint64_t at)
{
	const uint8_t *from = buf;

	while (n) {
		ssize_t done = p->io->pwrite(p->ctx, fd, from, n, at);

		if (done <= 0)
			return done ? (int)done : -EIO;
		from += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

/* ---- stamps ---- */

struct stamp stamp_of(const struct stat *st)
{
	return (struct stamp){ true, st->st_dev, st->st_rdev, st->st_ino, st->st_size, st->st_mtim };
}

struct stamp place_stamp(const struct place *p, const char *name)
{
	struct stat st;

	return fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? (struct stamp){ 0 } : stamp_of(&st);
}

bool stamp_equal(const struct stamp *a, const struct stamp *b, bool device)
{
	if (!a->there || !b->there)
		return a->there == b->there;
	if (a->dev != b->dev || a->ino != b->ino || a->rdev != b->rdev)
		return false;
	return device || (a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
			  a->mtime.tv_nsec == b->mtime.tv_nsec);
}
