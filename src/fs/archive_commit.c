/* Commits to an archive: a set of one file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "archive_in.h"
#include "filelock.h"

static struct archive *of(struct set *s)
{
	return (struct archive *)s;
}

/* ---- the archive as a set ---- */

static int open_member(struct set *s, const char *path, struct member *m, struct err *e)
{
	struct archive *a = of(s);
	const struct stamp *is = &a->s.stamp;

	if (*path)
		return err_set(e, EBADMSG, "its journal is that of a folder: it names %s", path);
	m->path = path;
	m->fd = a->s.fd;
	m->dir = s->place.dir;
	m->name = s->place.name;
	m->was = a->s.st;
	m->was.st_dev = is->dev;
	m->was.st_ino = is->ino;
	m->was.st_size = is->size;
	m->was.st_mtim = is->mtime;
	return 0;
}

static void close_member(struct set *s, struct member *m)
{
	struct archive *a = of(s);

	if (m->fd < 0)
		return;
	a->s.fd = m->fd;
	a->s.stamp.mtime = m->was.st_mtim;
}

static int check_stamp(const struct archive *a, struct err *e)
{
	struct stamp now = archive_stamp(a);

	return stamp_equal(&now, &a->s.stamp, a->s.device) ? 0 :
	       err_set(e, ESTALE, "the archive was %s by another program", now.there ? "changed" : "removed");
}

static int check_member(struct set *s, const struct member *m, struct err *e)
{
	(void)m;
	return check_stamp(of(s), e);
}

static int lock(struct set *s, const struct member *m, size_t n, struct err *e)
{
	int rc = filelock_take(of(s)->s.fd, LOCK_BYTES, true, true);

	(void)m;
	(void)n;
	return rc ? err_set(e, -rc, "it cannot be locked: %s", strerror(-rc)) : 0;
}

static void unlock(struct set *s)
{
	filelock_drop(of(s)->s.fd, LOCK_BYTES);
}

static int open_source(struct set *s, const char *path, struct source **out, struct err *e)
{
	return *path ? err_set(e, ENOENT, "%s is none of its files", path) : src_file(of(s)->path, out, e);
}

static int renew(struct set *s, struct err *e)
{
	return archive_renew(of(s), e);
}

static void broke(struct set *s, const struct journal *j)
{
	struct archive *a = of(s);
	struct source *src;

	if (archive_through(a, j, &src, NULL))
		return;                        /* then the old source shows as much as it can */
	a->s.st.st_size = (off_t)src->size;
	src_put(a->s.shown);
	a->s.shown = src;
}

const struct set_ops archive_set_ops = {
	.open = open_member, .close = close_member, .check = check_member, .lock = lock, .unlock = unlock,
	.source = open_source, .renew = renew, .broke = broke,
};

/* ---- commits ---- */

int archive_check(struct archive *a, struct err *e)
{
	return a->set.broken ? 0 : check_stamp(a, e);
}

static int ready(struct archive *a, struct err *e)
{
	int rc;

	if (a->s.fd < 0 && !a->set.broken)
		return err_set(e, EROFS, "%s", *a->set.why ? a->set.why : "it was opened for reading");
	rc = set_ready(&a->set, e);
	return rc ? rc : check_stamp(a, e);
}

static int check_device(const struct archive *a, const struct plan *plan, struct err *e)
{
	if (a->s.device && plan->moved)
		return err_set(e, ENOTSUP, "a block device cannot be written anew");
	if (a->s.device && plan->size != a->s.file->size)
		return err_set(e, ENOSPC, "a block device keeps its size: %llu bytes are needed, it has %llu",
			       (unsigned long long)plan->size, (unsigned long long)a->s.file->size);
	return 0;
}

int archive_commit(struct archive *a, const struct plan *plan, const char *what,
		   void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	struct job job;
	int rc = ready(a, e);

	if (!rc)
		rc = check_device(a, plan, e);
	if (rc || (!plan->moved && !plan->n && plan->size == a->s.file->size))
		return rc;
	rc = set_job(&job, 1, what, e);
	if (!rc) {
		job.part[0].f.path = "";
		job.part[0].f.old_size = a->s.file->size;
		job.part[0].f.new_size = plan->size;
		job.part[0].plan = plan;
		job.part[0].old = src_ref(a->s.file);
		rc = open_member(&a->set, "", &job.member[0], e);
	}
	rc = rc ? rc : set_commit(&a->set, &job, progress, ctx, e);
	set_job_free(&a->set, &job);
	return rc;
}

void archive_tidy(struct archive *a)
{
	set_tidy(&a->set);
}

int archive_undo(struct archive *a, unsigned n, unsigned *done, struct err *e)
{
	int rc = ready(a, e);

	*done = 0;
	return rc ? rc : set_undo(&a->set, n, done, e);
}

int archive_log(const char *path, int (*fn)(void *ctx, const struct commit_info *), void *ctx, struct err *e)
{
	struct archive_options opt = { 0 };
	struct archive *a;
	bool changed;
	int rc = archive_open(path, &opt, &a, e);

	if (rc)
		return rc;
	archive_read_alone(a, true);
	rc = archive_read_begin(a, &changed, e);
	if (!rc) {
		rc = set_log(&a->set, fn, ctx, e);
		archive_read_end(a);
	}
	archive_close(a);
	return rc;
}
