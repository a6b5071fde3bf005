/* Taking commits of a set back, and telling what they were. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "set.h"

/* ---- taking back ---- */

static int prepare(struct set *s, struct job *job, uint32_t i, const struct back_file *b, struct err *e)
{
	struct journal_part *part = &job->part[i];
	struct member *m = &job->member[i];
	kept_name name;
	int rc;

	part->f = (struct journal_file){ .path = b->path, .old_size = b->plan.base->size, .new_size = b->plan.size };
	part->plan = &b->plan;
	part->old = src_ref(b->plan.base);
	m->was = b->was;
	m->takes = b->kept;
	rc = s->ops->open(s, b->path, m, e);
	if (rc || !b->kept)
		return rc;
	part->f.flags = JOURNAL_RESTORED;
	part->f.number = b->kept;
	place_kept(&s->place, b->kept, name);
	m->from = place_open_locked(&s->place, name, O_RDWR);
	return m->from >= 0 ? set_check_directory(&s->place, m, e) :
	       err_set(e, -m->from, "%s cannot be opened: %s", name, strerror(-m->from));
}

static int take_back(struct set *s, const struct back *b, struct err *e)
{
	struct job job;
	int rc = set_job(&job, b->n, "", e);

	job.h.flags = JOURNAL_CUTS;
	job.h.cut = b->cut;
	job.h.sequence = s->undo.sequence;
	for (uint32_t i = 0; i < job.h.nfiles && !rc; i++)
		rc = prepare(s, &job, i, &b->v[i], e);
	if (!rc) {
		journal_measure(&job.h, job.part);
		rc = set_do(s, &job, e);
	}
	set_job_free(s, &job);
	return rc;
}

static int open_now(void *ctx, const char *path, struct source **out, struct err *e)
{
	struct set *s = ctx;

	return s->ops->source(s, path, out, e);
}

int set_undo(struct set *s, unsigned n, unsigned *done, struct err *e)
{
	struct back b;
	int rc, fd = undo_open(&s->place, &s->undo, false, e);

	*done = 0;
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = undo_back(&s->place, &s->undo, fd, n, open_now, s, &b, e);
	place_close(&s->place, fd);
	if (!rc && b.commits)
		rc = take_back(s, &b, e);
	if (!rc)
		*done = b.commits;
	undo_back_free(&b);
	return rc;
}

/* ---- the log ---- */

struct log {
	struct set *s;
	int (*fn)(void *ctx, const struct commit_info *);
	void *ctx;
	uint64_t cut, last;
};

static int log_commit(void *ctx, const struct journal *j)
{
	struct log *l = ctx;
	struct commit_info c = {
		.sequence = j->h.sequence, .time = j->h.time, .changed = j->h.changed, .files = j->h.nfiles,
		.space = undo_space(&l->s->place, j), .rewritten = j->h.flags & JOURNAL_REWRITTEN,
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
int set_log(struct set *s, int (*fn)(void *ctx, const struct commit_info *), void *ctx, struct err *e)
{
	struct log l = { .s = s, .fn = fn, .ctx = ctx, .cut = UINT64_MAX };
	struct journal j;
	int rc = 0, fd, pending = journal_find(&s->place, &j, e);

	if (pending < 0)
		return pending;
	if (pending && j.h.flags & JOURNAL_CUTS)
		l.cut = j.h.cut;
	fd = undo_open(&s->place, &s->undo, false, e);
	if (fd >= 0) {
		rc = undo_each(fd, s->undo.end, log_commit, &l);
		place_close(&s->place, fd);
	} else if (fd != -ENOENT) {
		rc = fd;
	}
	if (!rc && pending && j.h.flags & JOURNAL_RECORDED && j.h.sequence > l.last)
		rc = log_commit(&l, &j);
	if (pending)
		place_close(&s->place, j.fd);
	return rc;
}
