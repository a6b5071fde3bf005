/* Commits: up to the point of no return, after which archive_settle() takes over. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "archive_in.h"
#include "filelock.h"

#define SLACK ((uint64_t)64 << 10)             /* blocks begun, directories, and what the file system writes itself */

/* ---- room ---- */

bool archive_no_room(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

int archive_room(const struct archive *a, uint64_t need, struct err *e)
{
	uint64_t free_bytes;

	need += SLACK;
	if (a->place.io->space(a->place.ctx, a->place.dir, &free_bytes) || need <= free_bytes)
		return 0;
	return err_set(e, ENOSPC, "the disk is full: %llu bytes are needed, %llu are missing", (unsigned long long)need,
		       (unsigned long long)(need - free_bytes));
}

static int allocate(const struct place *p, int fd, uint64_t at, uint64_t n)
{
	int rc = n ? p->io->fallocate(p->ctx, fd, at, n) : 0;

	return archive_no_room(rc) ? rc : 0;
}

/* A file with holes, or one that grows, needs room where it has none yet. */
static int allocate_target(struct archive *a, const struct job *job)
{
	uint64_t old = job->h.old_size, size = job->h.new_size;
	int rc, fd = job->from >= 0 ? job->from : a->s.fd;
	struct stat st;

	if (job->h.flags & JOURNAL_REWRITTEN || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	rc = size > old ? allocate(&a->place, fd, old, size - old) : 0;
	if ((uint64_t)st.st_blocks * 512 >= (uint64_t)st.st_size)
		return rc;
	for (size_t i = 0; job->plan && i < job->plan->n && !rc; i++)
		rc = allocate(&a->place, fd, job->plan->v[i].at, job->plan->v[i].len);
	return rc;
}

/* Sees to it that nothing after the commit point needs room that is not there. */
static int reserve(struct archive *a, struct job *job, struct err *e)
{
	bool recorded = job->h.flags & JOURNAL_RECORDED;
	uint64_t length = job->h.length < INT64_MAX / 4 ? job->h.length : INT64_MAX / 4;       /* no disk has that */
	uint64_t growth = job->h.new_size > job->h.old_size ? job->h.new_size - job->h.old_size : 0;
	int fd, rc;

	growth = job->h.flags & JOURNAL_REWRITTEN ? 0 : growth;
	rc = archive_room(a, length * (recorded ? 2 : 1) + growth, e);
	if (rc)
		return rc;
	if (recorded) {                        /* created now, so that its name is on disc before the commit point */
		fd = undo_open(&a->place, &a->s.undo, true, e);
		if (fd < 0)
			return fd;
		rc = allocate(&a->place, fd, a->s.undo.end, job->h.length);
		place_close(&a->place, fd);
	}
	if (!rc)
		rc = allocate_target(a, job);
	return rc ? err_set(e, -rc, "the disk is full: %s", strerror(-rc)) : 0;
}

/* ---- a commit ---- */

static int check_stamp(struct archive *a, struct err *e)
{
	struct stamp now = archive_stamp(a, a->place.name);

	return stamp_equal(&now, &a->s.stamp, a->s.device) ? 0 :
	       err_set(e, ESTALE, "the archive was %s by another program", now.there ? "changed" : "removed");
}

int archive_check(struct archive *a, struct err *e)
{
	return a->s.broken ? 0 : check_stamp(a, e);
}

static int ready(struct archive *a, struct err *e)
{
	int rc;

	if (a->s.broken)
		return err_set(e, EIO, "a commit failed halfway (%s): mount again to finish it", a->s.why);
	if (a->s.fd < 0)
		return err_set(e, EROFS, "%s", *a->s.why ? a->s.why : "it was opened for reading");
	rc = archive_pay(a, e);
	return rc ? rc : check_stamp(a, e);
}

static void break_down(struct archive *a, const struct journal *j, const struct err *why)
{
	struct source *src;

	a->s.broken = true;
	memcpy(a->s.why, why->text, sizeof a->s.why);
	if (archive_through(a, j, &src, NULL))
		return;                        /* then the old source shows as much as it can */
	a->s.st.st_size = (off_t)src->size;
	src_put(a->s.shown);
	a->s.shown = src;
}

/* The undo file may have been made for a commit that is not to be. */
static void unreserve(struct archive *a)
{
	const struct place *p = &a->place;
	struct stamp undo = archive_stamp(a, p->undo);

	if (undo.there && !undo.size)
		p->io->unlinkat(p->ctx, p->dir, p->undo);
	a->s.undo.ino = 0;
}

/* Up to the commit point; *point: it was reached, or nobody can tell. */
static int write_down(struct archive *a, struct job *job, struct journal *j, bool *point, struct err *e)
{
	const struct place *p = &a->place;
	struct stat st;
	int rc = check_stamp(a, e);

	if (!rc)
		rc = reserve(a, job, e);
	if (!rc && !fstat(a->s.fd, &st))       /* making room is a change, too */
		a->s.stamp.mtime = st.st_mtim;
	if (!rc) {
		rc = journal_write(p, &job->h, job->what, job->crcs, job->plan, job->old, j, e);
		if (!rc) {
			rc = p->io->fsync(p->ctx, j->fd);
			if (!rc)
				rc = p->io->fsync(p->ctx, p->dir);
			if (rc)
				err_set(e, -rc, "the journal cannot be written: %s", strerror(-rc));
		}
		*point = !rc || journal_drop(p, j);
	}
	if (rc)
		unreserve(a);
	return rc;
}

void archive_tidy(struct archive *a)
{
	place_close(&a->place, a->spent);
	a->spent = -1;
}

int archive_do(struct archive *a, struct job *job, struct err *e)
{
	struct err why = { 0 };
	struct journal j = { .fd = -1 };
	bool point = false;
	int rc = filelock_take(a->s.fd, LOCK_BYTES, true, true);

	if (rc)
		err_set(&why, -rc, "it cannot be locked: %s", strerror(-rc));
	else
		rc = write_down(a, job, &j, &point, &why);
	if (!rc) {
		if (a->hold)
			a->hold(a->hold_ctx);
		rc = archive_settle(a, &j, job->from, &why);
		job->from = -1;
	}
	if (!rc)
		rc = archive_renew(a, &why);
	if (rc && point) {
		break_down(a, &j, &why);
		rc = -EIO;
		why.code = EIO;
	}
	place_close(&a->place, job->from);
	archive_tidy(a);
	a->spent = j.fd;
	filelock_drop(a->s.fd, LOCK_BYTES);
	if (rc && e)
		*e = why;
	return rc;
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
	struct job job = { .what = what, .plan = plan, .from = -1, .old = a->s.file };
	struct journal_head *h = &job.h;
	int rc = ready(a, e), fd;

	if (!rc)
		rc = check_device(a, plan, e);
	if (rc || (!plan->moved && !plan->n && plan->size == a->s.file->size))
		return rc;
	h->old_size = a->s.file->size;
	h->new_size = plan->size;
	h->nwhat = (uint32_t)strnlen(what, JOURNAL_PATH);
	clock_gettime(CLOCK_REALTIME, &h->time);
	if (!a->noundo) {
		fd = undo_open(&a->place, &a->s.undo, false, e);
		if (fd < 0 && fd != -ENOENT)
			return fd;
		place_close(&a->place, fd);
		h->flags = JOURNAL_RECORDED;
		h->sequence = a->s.undo.sequence + 1;
		if (h->sequence > JOURNAL_SEQUENCES)
			return err_set(e, EOVERFLOW, "its undo file has no number left for another commit");
	}
	if (plan->moved)
		return archive_rewrite(a, &job, plan, progress, ctx, e);
	journal_measure(h, plan);
	return archive_do(a, &job, e);
}

/* ---- taking back ---- */

static int take_back(struct archive *a, const struct back *b, struct err *e)
{
	struct job job = { .what = "", .plan = &b->plan, .from = -1, .old = b->plan.base };
	struct journal_head *h = &job.h;
	kept_name name;

	h->flags = JOURNAL_CUTS;
	h->cut = b->cut;
	h->sequence = a->s.undo.sequence;
	h->old_size = b->plan.base->size;
	h->new_size = b->plan.size;
	clock_gettime(CLOCK_REALTIME, &h->time);
	if (b->kept) {
		h->flags |= JOURNAL_RESTORED;
		h->number = b->kept;
		place_kept(&a->place, b->kept, name);
		job.from = archive_open_locked(a, name, O_RDWR);
		if (job.from < 0)
			return err_set(e, -job.from, "%s cannot be opened: %s", name, strerror(-job.from));
	}
	journal_measure(h, &b->plan);
	return archive_do(a, &job, e);
}

int archive_undo(struct archive *a, unsigned n, unsigned *done, struct err *e)
{
	struct back b;
	int rc = ready(a, e), fd;

	*done = 0;
	if (rc)
		return rc;
	fd = undo_open(&a->place, &a->s.undo, false, e);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = undo_back(&a->place, a->dir, &a->s.undo, fd, a->s.file, n, &b, e);
	place_close(&a->place, fd);
	if (!rc && b.n)
		rc = take_back(a, &b, e);
	if (!rc)
		*done = b.n;
	plan_free(&b.plan);
	return rc;
}

/* ---- the log ---- */

struct log { struct archive *a; int (*fn)(void *ctx, const struct commit_info *); void *ctx; uint64_t cut, last; };

static int log_commit(void *ctx, const struct journal *j)
{
	struct log *l = ctx;
	struct commit_info c = {
		.sequence = j->h.sequence, .time = j->h.time, .changed = j->h.changed,
		.space = undo_space(&l->a->place, j), .rewritten = j->h.flags & JOURNAL_REWRITTEN,
	};
	char *what;
	int rc;

	if (j->at >= l->cut)
		return 0;
	what = journal_what(j);
	if (!what)
		return -ENOMEM;
	c.what = what;
	l->last = j->h.sequence;
	rc = l->fn(l->ctx, &c);
	free(what);
	return rc;
}

/* A commit whose journal is still there is one, or takes some back. */
static int log_all(struct log *l, struct err *e)
{
	struct archive *a = l->a;
	struct journal j;
	int rc = 0, fd, pending = journal_find(&a->place, &j, e);

	if (pending < 0)
		return pending;
	if (pending && j.h.flags & JOURNAL_CUTS)
		l->cut = j.h.cut;
	fd = undo_open(&a->place, &a->s.undo, false, e);
	if (fd >= 0) {
		rc = undo_each(fd, a->s.undo.end, log_commit, l);
		place_close(&a->place, fd);
	} else if (fd != -ENOENT) {
		rc = fd;
	}
	if (!rc && pending && j.h.flags & JOURNAL_RECORDED && j.h.sequence > l->last)
		rc = log_commit(l, &j);
	if (pending)
		place_close(&a->place, j.fd);
	return rc;
}

int archive_log(const char *path, int (*fn)(void *ctx, const struct commit_info *), void *ctx, struct err *e)
{
	struct archive_options opt = { 0 };
	struct log l = { .fn = fn, .ctx = ctx, .cut = UINT64_MAX };
	bool changed;
	int rc = archive_open(path, &opt, &l.a, e);

	if (rc)
		return rc;
	rc = archive_read_begin(l.a, &changed, e);
	if (!rc) {
		rc = log_all(&l, e);
		archive_read_end(l.a);
	}
	archive_close(l.a);
	return rc;
}
