/* Commits to a set: up to the point of no return, after which set_settle() takes over. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "set.h"

#define SLACK ((uint64_t)64 << 10)             /* blocks begun, directories, and what the file system writes itself */

/* ---- room ---- */

bool set_no_room(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG;
}

int set_room(const struct set *s, uint64_t need, struct err *e)
{
	uint64_t free_bytes;

	need += SLACK;
	if (s->place.io->space(s->place.ctx, s->place.dir, &free_bytes) || need <= free_bytes)
		return 0;
	return err_set(e, ENOSPC, "the disk is full: %llu bytes are needed, %llu are missing", (unsigned long long)need,
		       (unsigned long long)(need - free_bytes));
}

static int allocate(const struct place *p, int fd, uint64_t at, uint64_t n)
{
	int rc = n ? p->io->fallocate(p->ctx, fd, at, n) : 0;

	return set_no_room(rc) ? rc : 0;
}

/* A file with holes, or one that grows, needs room where it has none yet. */
static int allocate_file(const struct set *s, const struct journal_part *part, struct member *m)
{
	const struct plan *plan = part->plan;
	int rc, fd = m->from >= 0 ? m->from : m->fd;
	struct stat st;

	if (part->f.flags & JOURNAL_REWRITTEN || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	rc = part->f.new_size > part->f.old_size ?
	     allocate(&s->place, fd, part->f.old_size, part->f.new_size - part->f.old_size) : 0;
	if ((uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size)
		for (size_t i = 0; plan && i < plan->n && !rc; i++)
			rc = allocate(&s->place, fd, plan->v[i].at, plan->v[i].len);
	if (!fstat(m->fd, &st))                /* making room is a change, too */
		m->was.st_mtim = st.st_mtim;
	return rc;
}

static uint64_t growth(const struct job *job)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < job->h.nfiles; i++) {
		const struct journal_file *f = &job->part[i].f;

		if (!(f->flags & JOURNAL_REWRITTEN) && f->new_size > f->old_size)
			sum += f->new_size - f->old_size;
	}
	return sum;
}

/* Sees to it that nothing after the commit point needs room that is not there. */
static int reserve(struct set *s, struct job *job, struct err *e)
{
	bool recorded = job->h.flags & JOURNAL_RECORDED;
	uint64_t length = job->h.length < INT64_MAX / 4 ? job->h.length : INT64_MAX / 4;       /* no disk has that */
	uint64_t more = growth(job);
	int fd, rc;

	more = more < INT64_MAX / 4 ? more : INT64_MAX / 4;
	rc = set_room(s, length * (recorded ? 2 : 1) + more, e);
	if (rc)
		return rc;
	if (recorded) {                        /* created now, so that its name is on disc before the commit point */
		fd = undo_open(&s->place, &s->undo, true, e);
		if (fd < 0)
			return fd;
		rc = allocate(&s->place, fd, s->undo.end, job->h.length);
		place_close(&s->place, fd);
	}
	for (uint32_t i = 0; i < job->h.nfiles && !rc; i++)
		rc = allocate_file(s, &job->part[i], &job->member[i]);
	return rc ? err_set(e, -rc, "the disk is full: %s", strerror(-rc)) : 0;
}

/* ---- up to the commit point ---- */

/* The undo file may have been made for a commit that is not to be. */
static void unreserve(struct set *s)
{
	const struct place *p = &s->place;
	struct stamp undo = place_stamp(p, p->undo);

	if (undo.there && !undo.size)
		p->io->unlinkat(p->ctx, p->dir, p->undo);
	s->undo.ino = 0;
}

static int check_all(struct set *s, const struct job *job, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < job->h.nfiles && !rc; i++)
		rc = s->ops->check(s, &job->member[i], e);
	return rc;
}

/* Up to the commit point; *point: it was reached, or nobody can tell. */
static int write_down(struct set *s, struct job *job, struct journal *j, bool *point, struct err *e)
{
	const struct place *p = &s->place;
	int rc = check_all(s, job, e);

	for (uint32_t i = 0; i < job->h.nfiles; i++)
		job->file[i] = job->part[i].f;
	if (!rc)
		rc = reserve(s, job, e);
	if (!rc) {
		rc = journal_write(p, &job->h, job->what, job->part, job->crcs, j, e);
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
		unreserve(s);
	return rc;
}

/* ---- a commit ---- */

int set_ready(struct set *s, struct err *e)
{
	return s->broken ? err_set(e, EIO, "a commit failed halfway (%s): mount again to finish it", s->why) :
	       set_pay(s, e);
}

int set_job(struct job *job, size_t n, const char *what, struct err *e)
{
	*job = (struct job){ .what = what };
	if (n > JOURNAL_FILES)
		return err_set(e, EFBIG, "it would change %zu files at once, more than %u", n, JOURNAL_FILES);
	job->h.nwhat = (uint32_t)strnlen(what, JOURNAL_PATH);
	clock_gettime(CLOCK_REALTIME, &job->h.time);
	job->part = calloc(n + 1, sizeof *job->part);
	job->file = calloc(n + 1, sizeof *job->file);
	job->member = calloc(n + 1, sizeof *job->member);
	if (!job->part || !job->file || !job->member)
		return err_nomem(e);
	job->h.nfiles = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		job->member[i] = (struct member){ .fd = -1, .from = -1, .dir = -1 };
	return 0;
}

void set_job_free(struct set *s, struct job *job)
{
	for (uint32_t i = 0; i < job->h.nfiles; i++) {
		place_close(&s->place, job->member[i].from);
		s->ops->close(s, &job->member[i]);
		src_put(job->part[i].old);
	}
	free(job->part);
	free(job->file);
	free(job->member);
	free(job->crcs);
}

void set_tidy(struct set *s)
{
	place_close(&s->place, s->spent);
	s->spent = -1;
}

void set_reset(struct set *s)
{
	s->undo = (struct undo){ 0 };
	s->broken = s->owed = false;
	s->why[0] = 0;
}

/* What the files are now; then they may be opened by others. */
static void let_go(struct set *s, struct job *job)
{
	for (uint32_t i = 0; i < job->h.nfiles; i++) {
		struct member *m = &job->member[i];

		if (m->fd >= 0)
			fstat(m->fd, &m->now);
		place_close(&s->place, m->from);
		m->from = -1;
		s->ops->close(s, m);
		m->fd = -1;
	}
}

int set_do(struct set *s, struct job *job, struct err *e)
{
	struct err why = { 0 };
	struct journal j = { .fd = -1 };
	bool point = false;
	int rc = s->ops->lock(s, job->member, job->h.nfiles, &why);

	if (!rc)
		rc = write_down(s, job, &j, &point, &why);
	if (!rc) {
		if (s->hold)
			s->hold(s->hold_ctx);
		rc = set_settle(s, &j, job->file, job->member, &why);
	}
	let_go(s, job);
	if (!rc)
		rc = s->ops->renew(s, &why);
	if (rc && point) {
		s->broken = true;
		memcpy(s->why, why.text, sizeof s->why);
		s->ops->broke(s, &j);
		rc = -EIO;
		why.code = EIO;
	}
	set_tidy(s);
	s->spent = j.fd;
	s->ops->unlock(s);
	if (rc && e)
		*e = why;
	return rc;
}

/* Gives a new commit the number that the undo file has for it. */
static int number(struct set *s, struct job *job, struct err *e)
{
	int fd;

	if (s->noundo)
		return 0;
	fd = undo_open(&s->place, &s->undo, false, e);
	if (fd < 0 && fd != -ENOENT)
		return fd;
	place_close(&s->place, fd);
	job->h.flags |= JOURNAL_RECORDED;
	job->h.sequence = s->undo.sequence + 1;
	return job->h.sequence <= JOURNAL_SEQUENCES ? 0 :
	       err_set(e, EOVERFLOW, "its undo file has no number left for another commit");
}

/* The part that is written anew, if there is one: it has no records. */
static int find_moved(struct job *job, uint32_t *at, const struct plan **moved, struct err *e)
{
	*moved = NULL;
	for (uint32_t i = 0; i < job->h.nfiles; i++) {
		struct journal_part *part = &job->part[i];
		uint64_t pieces = journal_pieces(part->f.new_size);

		if (!part->plan->moved)
			continue;
		if (*moved)
			return err_set(e, EXDEV, "%s and %s would have to be written anew at once",
				       journal_subject(job->part[*at].f.path), journal_subject(part->f.path));
		if (pieces > UINT32_MAX)
			return err_set(e, EFBIG, "%llu bytes are too many to write anew",
				       (unsigned long long)part->f.new_size);
		*at = i;
		*moved = part->plan;
		part->plan = NULL;
		part->f.flags = JOURNAL_REWRITTEN;
		job->h.flags |= JOURNAL_REWRITTEN;
		job->h.ncrcs = (uint32_t)pieces;
	}
	return 0;
}

int set_commit(struct set *s, struct job *job, void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx,
	       struct err *e)
{
	const struct plan *moved;
	uint32_t at = 0;
	int rc = number(s, job, e);

	rc = rc ? rc : find_moved(job, &at, &moved, e);
	if (rc)
		return rc;
	journal_measure(&job->h, job->part);
	rc = moved ? set_rewrite(s, job, at, moved, progress, ctx, e) : 0;
	rc = rc ? rc : set_do(s, job, e);
	if (rc && !s->broken)
		set_drop(s, job);
	return rc;
}
