#include "undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY ((size_t)64 << 10)

static int fail(struct err *e, int rc, const char *what)
{
	return err_set(e, -rc, "the undo file cannot be %s: %s", what, strerror(-rc));
}

/* ---- the file ---- */

/* Only the last commit can be torn: the others were on disc before the next began. */
static int scan(int fd, struct undo *u)
{
	struct journal j, last = { .fd = -1 };
	uint64_t before = 0;
	int rc;

	u->last = u->end = u->sequence = 0;
	while ((rc = journal_head(fd, u->end, &j)) == 1) {
		if (!span_ok(u->size, u->end, j.h.length, 1) || j.h.sequence <= u->sequence)
			break;
		before = u->sequence;
		u->sequence = j.h.sequence;
		u->last = u->end;
		u->end += j.h.length;
		last = j;
	}
	if (rc < 0 || last.fd < 0)
		return rc < 0 ? rc : 0;
	rc = journal_complete(&last);
	if (!rc) {
		u->end = last.at;
		u->sequence = before;
	}
	return rc < 0 ? rc : 0;
}

int undo_open(const struct place *p, struct undo *u, bool create, struct err *e)
{
	int rc, fd = place_open(p, p->undo, create ? O_RDWR | O_CREAT : O_RDWR);
	struct stat st;

	if (fd == -EACCES || fd == -EROFS)     /* for the log */
		fd = create ? fd : place_open(p, p->undo, O_RDONLY);
	if (fd == -ENOENT && !create) {
		*u = (struct undo){ 0 };
		return fd;
	}
	if (fd < 0)
		return fail(e, fd, "opened");
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!rc && (!u->ino || u->ino != st.st_ino || u->size != (uint64_t)st.st_size)) {
		u->size = (uint64_t)st.st_size;
		rc = scan(fd, u);
		u->ino = rc ? 0 : st.st_ino;
	}
	if (!rc)
		return fd;
	place_close(p, fd);
	if (rc == -ENOTSUP)
		return err_set(e, ENOTSUP, "the undo file was written by another version of modelfs");
	return fail(e, rc, "read");
}

static int copy(const struct place *p, const struct journal *j, int to, uint64_t at)
{
	uint8_t *buf = malloc(COPY);
	int rc = buf ? 0 : -ENOMEM;

	for (uint64_t done = 0, part; done < j->h.length && !rc; done += part) {
		part = j->h.length - done < COPY ? j->h.length - done : COPY;
		rc = src_fd_read(j->fd, buf, (size_t)part, j->at + done);
		if (!rc)
			rc = place_write(p, to, buf, (size_t)part, at + done);
	}
	free(buf);
	return rc;
}

/* What is there already is written again: after a failed sync it may be in memory only. */
static int append(const struct place *p, struct undo *u, const struct journal *j, int fd)
{
	uint64_t at = u->sequence == j->h.sequence ? u->last : u->end;
	struct stat st;
	int rc = u->size > at + j->h.length ? p->io->ftruncate(p->ctx, fd, at) : 0;

	u->ino = 0;                            /* to be read again, unless all goes well */
	if (!rc)
		rc = copy(p, j, fd, at);
	if (!rc)
		rc = p->io->fsync(p->ctx, fd);
	if (!rc && !fstat(fd, &st))
		*u = (struct undo){ st.st_ino, (uint64_t)st.st_size, at, at + j->h.length, j->h.sequence };
	return rc;
}

int undo_add(const struct place *p, struct undo *u, const struct journal *j, struct err *e)
{
	int rc = 0, fd = undo_open(p, u, true, e);

	if (fd < 0)
		return fd;
	if (u->sequence <= j->h.sequence)
		rc = append(p, u, j, fd);
	place_close(p, fd);
	return rc ? fail(e, rc, "written") : 0;
}

int undo_each(int fd, uint64_t end, int (*fn)(void *ctx, const struct journal *), void *ctx)
{
	struct journal j;
	int rc = 0;

	for (uint64_t at = 0; at < end && !rc; at += j.h.length) {
		rc = journal_head(fd, at, &j);
		rc = rc == 1 ? fn(ctx, &j) : rc ? rc : -EBADMSG;
	}
	return rc;
}

/* The number under which a commit keeps the file that it wrote anew; 0: it keeps none. */
static int kept_by(const struct journal *j, uint32_t *number)
{
	struct journal_file *v;
	int rc = 0;

	*number = 0;
	if (!(j->h.flags & JOURNAL_REWRITTEN))
		return 0;
	rc = journal_files(j, &v);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < j->h.nfiles; i++)
		if (v[i].flags & JOURNAL_REWRITTEN)
			*number = v[i].number;
	free(v);
	return 0;
}

static int is_kept(void *ctx, const struct journal *j)
{
	uint32_t number;
	int rc = kept_by(j, &number);

	return rc ? rc : number && number == *(const uint32_t *)ctx;
}

int undo_keeps(const struct place *p, struct undo *u, uint32_t number)
{
	int rc, fd = undo_open(p, u, false, NULL);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = undo_each(fd, u->end, is_kept, &number);
	place_close(p, fd);
	return rc;
}

struct cut { const struct place *p; uint64_t at; bool dropped; };

static int drop_kept(void *ctx, const struct journal *j)
{
	struct cut *c = ctx;
	uint32_t number;
	kept_name name;
	int rc;

	if (j->at < c->at)
		return 0;
	rc = kept_by(j, &number);
	if (rc || !number)
		return rc;
	place_kept(c->p, number, name);
	rc = c->p->io->unlinkat(c->p->ctx, c->p->dir, name);
	c->dropped |= !rc || rc == -ENOENT;    /* that may not be on disc yet, either */
	return rc == -ENOENT ? 0 : rc;
}

int undo_cut(const struct place *p, struct undo *u, uint64_t cut, struct err *e)
{
	struct cut c = { p, cut, false };
	int rc, fd = undo_open(p, u, false, e);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = undo_each(fd, u->end, drop_kept, &c);
	if (!rc && c.dropped)                  /* before the commits that name them go */
		rc = p->io->fsync(p->ctx, p->dir);
	if (!rc && u->size > cut)
		rc = p->io->ftruncate(p->ctx, fd, cut);
	if (!rc)
		rc = p->io->fsync(p->ctx, fd);         /* an empty one that comes back after a crash says nothing */
	if (!rc && !cut)
		rc = p->io->unlinkat(p->ctx, p->dir, p->undo);
	u->ino = 0;
	place_close(p, fd);
	return rc ? fail(e, rc, "cut") : 0;
}

uint64_t undo_space(const struct place *p, const struct journal *j)
{
	uint32_t number;
	kept_name name;
	struct stat st;

	if (kept_by(j, &number) || !number)
		return j->h.length;
	place_kept(p, number, name);
	return j->h.length + (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (uint64_t)st.st_size);
}
