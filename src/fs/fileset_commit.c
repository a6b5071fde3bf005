/* Commits to a folder: a set of the files below it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "filelock.h"
#include "fileset_in.h"

static struct fileset *of(struct set *s)
{
	return (struct fileset *)s;
}

/* ---- one file ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
	struct stamp x = stamp_of(a), y = stamp_of(b);

	return stamp_equal(&x, &y, false);
}

/* Whether path is still the file `was`. */
static int check_name(const struct fileset *fs, const char *path, const struct stat *was, struct err *e)
{
	int rc = 0, fd = beneath_open(fs->set.place.dir, path, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !is_same(&st, was))
		rc = err_set(e, ESTALE, "%s was %s by another program", path, fd == -ENOENT ? "removed" : "changed");
	if (fd >= 0)
		close(fd);
	return rc;
}

static int refuse_second(const struct fileset *fs, const char *path, const struct stat *st, struct err *e)
{
	struct buf whole = { 0 }, who = { 0 };
	int rc;

	buf_printf(&whole, "%s/%s", strcmp(fs->path, "/") ? fs->path : "", path);
	buf_char(&whole, 0);
	if (!whole.bad)
		filelock_holder((char *)whole.p, st, &who);
	buf_char(&who, 0);
	rc = whole.bad || who.bad ? err_nomem(e) : err_set(e, EBUSY, "%s %s", path, (char *)who.p);
	buf_free(&whole);
	buf_free(&who);
	return rc;
}

/* ---- the folder as a set ---- */

static int lock_file(struct fileset *fs, struct member *m, const struct stat *st, struct err *e)
{
	int rc = filelock_take(m->fd, LOCK_WRITER, true, false);

	if (rc == -EAGAIN)
		return refuse_second(fs, m->path, st, e);
	return rc ? err_set(e, -rc, "%s cannot be locked: %s", m->path, strerror(-rc)) : 0;
}

static int open_named(struct fileset *fs, struct member *m, struct err *e)
{
	const struct place *p = &fs->set.place;
	struct stat st;

	m->fd = p->io->openat(p->ctx, m->dir, m->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (m->fd < 0 && !(m->fd == -ENOENT && m->was.st_ino))
		return err_set(e, -m->fd, "%s cannot be written: %s", m->path, strerror(-m->fd));
	if (m->fd < 0)
		return check_name(fs, m->path, &m->was, e);
	if (fstat(m->fd, &st))
		return err_set(e, errno, "%s: %s", m->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is not a regular file", m->path);
	if (!m->was.st_ino)
		m->was = st;
	if (!is_same(&st, &m->was))
		return err_set(e, ESTALE, "%s was changed by another program", m->path);
	return lock_file(fs, m, &st, e);
}

static int open_member(struct set *s, const char *path, struct member *m, struct err *e)
{
	struct fileset *fs = of(s);
	int rc;

	if (!strchr(path, '/') && fileset_is_own(path))
		return err_set(e, EPERM, "%s belongs to modelfs itself", path);
	m->path = path;
	m->dir = beneath_parent(s->place.dir, path, &m->name);
	if (m->dir < 0)
		return err_set(e, -m->dir, "%s cannot be found: %s", path, strerror(-m->dir));
	rc = open_named(fs, m, e);
	if (!rc)
		rc = check_name(fs, path, &m->was, e);         /* a mount could be where the name is */
	if (!m->takes) {
		close(m->dir);
		m->dir = -1;
	}
	return rc;
}

static void close_member(struct set *s, struct member *m)
{
	place_close(&s->place, m->fd);
	if (m->dir >= 0)
		close(m->dir);
	m->fd = m->dir = -1;
}

static int check_member(struct set *s, const struct member *m, struct err *e)
{
	return check_name(of(s), m->path, &m->was, e);
}

static int lock(struct set *s, const struct member *m, size_t n, struct err *e)
{
	int rc = fileset_lock(of(s), e);

	for (size_t i = 0; i < n && !rc; i++) {
		rc = m[i].fd < 0 ? 0 : filelock_take(m[i].fd, LOCK_BYTES, true, true);
		if (rc)
			err_set(e, -rc, "%s cannot be locked: %s", m[i].path, strerror(-rc));
	}
	return rc;
}

static void unlock(struct set *s)
{
	fileset_unlock(of(s));
}

static int open_source(struct set *s, const char *path, struct source **out, struct err *e)
{
	int fd = beneath_open(s->place.dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return err_set(e, -fd, "%s", strerror(-fd));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return src_fd(fd, out, e);
	close(fd);
	return err_set(e, EINVAL, "not a regular file");
}

static int renew(struct set *s, struct err *e)
{
	(void)s;
	(void)e;
	return 0;
}

/* When that fails, the files show as much as they can. */
static void broke(struct set *s, const struct journal *j)
{
	struct journal own = *j;

	own.fd = fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
	fileset_read_through(of(s), &own, NULL);
}

const struct set_ops fileset_set_ops = {
	.open = open_member, .close = close_member, .check = check_member, .lock = lock, .unlock = unlock,
	.source = open_source, .renew = renew, .broke = broke,
};

/* ---- commits ---- */

static int ready(struct fileset *fs, struct err *e)
{
	if (fs->lock < 0 && !fs->set.broken)
		return err_set(e, EROFS, "%s", *fs->set.why ? fs->set.why : "it was opened for reading");
	return set_ready(&fs->set, e);
}

int fileset_check(struct fileset *fs, const char *path, const struct stat *was, struct err *e)
{
	int rc, fd;

	if (fs->set.broken)
		return 0;
	rc = check_name(fs, path, was, e);
	if (rc)
		return rc;
	fd = beneath_open(fs->set.place.dir, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -fd, "%s cannot be written: %s", path, strerror(-fd));
	if (filelock_held(fd, LOCK_WRITER))
		rc = refuse_second(fs, path, was, e);
	close(fd);
	return rc;
}

static bool changes(const struct file_change *c)
{
	return c->plan->moved || c->plan->n || c->plan->size != (uint64_t)c->was.st_size;
}

/* Journal and undo file hold bytes of the files: who cannot read those must not read them there. Both are the folder's
 * as far as that goes. */
static void choose_like(struct fileset *fs, const struct file_change *v, size_t n)
{
	const struct place *p = &fs->set.place;
	struct stat like, undo;

	if (fstat(p->dir, &like))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct stat *st = &v[i].was;

		if (!changes(&v[i]) || st->st_mode & S_IROTH)
			continue;
		like.st_mode &= ~(mode_t)(st->st_mode & S_IRGRP && st->st_gid == like.st_gid ? 07 : 077);
		if (st->st_uid != like.st_uid)
			like.st_uid = geteuid();
	}
	if (!fstatat(p->dir, p->undo, &undo, AT_SYMLINK_NOFOLLOW)) {
		like.st_mode &= undo.st_mode | 0600;
		like.st_uid = undo.st_uid == geteuid() ? undo.st_uid : like.st_uid;
	}
	fs->set.place.like = like;
}

/* Two names of one file cannot have a plan each. */
static int check_distinct(const struct file_change *v, size_t n, struct err *e)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (v[i].was.st_ino == v[k].was.st_ino && v[i].was.st_dev == v[k].was.st_dev)
				return err_set(e, EINVAL, "%s and %s are one file", v[k].path, v[i].path);
	return 0;
}

/* Part i of the commit. */
static int prepare(struct fileset *fs, struct job *job, uint32_t i, const struct file_change *c, struct err *e)
{
	struct journal_part *part = &job->part[i];
	struct member *m = &job->member[i];
	int rc, fd;

	if (strlen(c->path) >= JOURNAL_PATH)
		return err_set(e, ENAMETOOLONG, "the path of a file has more than %u bytes", JOURNAL_PATH - 1);
	part->f = (struct journal_file){
		.path = c->path, .old_size = (uint64_t)c->was.st_size, .new_size = c->plan->size
	};
	part->plan = c->plan;
	m->was = c->was;
	m->takes = c->plan->moved;
	rc = open_member(&fs->set, c->path, m, e);
	if (rc || c->plan->moved)
		return rc;
	fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? err_set(e, errno, "%s: %s", c->path, strerror(errno)) : src_fd(fd, &part->old, e);
}

static int commit(struct fileset *fs, struct job *job, struct file_change *v, size_t n,
		  void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	uint32_t k = 0;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (changes(&v[i]))
			rc = prepare(fs, job, k++, &v[i], e);
	rc = rc ? rc : set_commit(&fs->set, job, progress, ctx, e);
	k = 0;
	for (size_t i = 0; i < n; i++) {
		const struct member *m = &job->member[k];

		k += changes(&v[i]);
		if (!changes(&v[i]) || !m->path)
			v[i].now = v[i].was;
		else
			v[i].now = rc && !fs->set.broken ? m->was : m->now;
	}
	return rc;
}

int fileset_commit(struct fileset *fs, struct file_change *v, size_t n, const char *what,
		   void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	size_t changed = 0;
	struct job job;
	int rc;

	for (size_t i = 0; i < n; i++) {
		v[i].now = v[i].was;
		changed += changes(&v[i]);
	}
	rc = ready(fs, e);
	rc = rc ? rc : check_distinct(v, n, e);
	if (rc || !changed)
		return rc;
	choose_like(fs, v, n);
	rc = set_job(&job, changed, what, e);
	if (!rc)
		rc = commit(fs, &job, v, n, progress, ctx, e);
	set_job_free(&fs->set, &job);
	return rc;
}

void fileset_tidy(struct fileset *fs)
{
	set_tidy(&fs->set);
}

/* ---- the log ---- */

int fileset_undo(struct fileset *fs, unsigned n, unsigned *done, struct err *e)
{
	int rc = ready(fs, e);

	*done = 0;
	if (rc)
		return rc;
	choose_like(fs, NULL, 0);
	return set_undo(&fs->set, n, done, e);
}

int fileset_log(int dirfd, const char *path, int (*fn)(void *ctx, const struct commit_info *), void *ctx,
		struct err *e)
{
	struct fileset_options opt = { 0 };
	struct fileset *fs;
	bool changed;
	int rc = fileset_open(dirfd, path, &opt, &fs, e);

	if (rc)
		return rc;
	fileset_read_alone(fs, true);
	rc = fileset_read_begin(fs, &changed, e);
	if (!rc) {
		rc = set_log(&fs->set, fn, ctx, e);
		fileset_read_end(fs);
	}
	fileset_close(fs);
	return rc;
}
