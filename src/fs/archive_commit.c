/* Commits to an archive, and the log of them. */
#include <errno.h>
#include <stdlib.h>

#include "archive_in.h"

/* ---- commits ---- */

int archive_check(struct archive *a, struct err *e)
{
	return archive_first(a)->set.broken ? 0 : archive_check_stamp(a, e);
}

static int ready(struct archive *a, struct err *e)
{
	struct archive *first = archive_first(a);
	int rc;

	if (a->s.fd < 0 && !first->set.broken)
		return err_set(e, EROFS, "%s%s%s", archive_subject(a), a->with ? ": " : "",
			       *a->set.why ? a->set.why : "it was opened for reading");
	rc = set_ready(&first->set, e);
	return rc ? rc : archive_check_stamp(a, e);
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

static bool changes(const struct archive_change *c)
{
	return c->plan->moved || c->plan->n || c->plan->size != c->archive->s.file->size;
}

/* Part i of the commit. */
static int prepare(struct archive *first, struct job *job, uint32_t i, const struct archive_change *c, struct err *e)
{
	struct journal_part *part = &job->part[i];

	part->f.path = archive_subject(c->archive);
	part->f.old_size = c->archive->s.file->size;
	part->f.new_size = c->plan->size;
	part->plan = c->plan;
	part->old = src_ref(c->archive->s.file);
	return first->set.ops->open(&first->set, part->f.path, &job->member[i], e);
}

static int commit(struct archive *first, const struct archive_change *v, size_t n, struct job *job,
		  void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	uint32_t k = 0;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (changes(&v[i]))
			rc = prepare(first, job, k++, &v[i], e);
	return rc ? rc : set_commit(&first->set, job, progress, ctx, e);
}

int archive_commit_all(const struct archive_change *v, size_t n, const char *what,
		       void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	struct archive *first = n ? archive_first(v[0].archive) : NULL;
	size_t changed = 0;
	struct job job;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = ready(v[i].archive, e);
		rc = rc ? rc : check_device(v[i].archive, v[i].plan, e);
		changed += changes(&v[i]);
	}
	if (rc || !changed)
		return rc;
	rc = set_job(&job, changed, what, e);
	rc = rc ? rc : commit(first, v, n, &job, progress, ctx, e);
	set_job_free(&first->set, &job);
	return rc;
}

int archive_commit(struct archive *a, const struct plan *plan, const char *what,
		   void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	const struct archive_change change = { a, plan };

	return archive_commit_all(&change, 1, what, progress, ctx, e);
}

bool archive_belong(struct archive *a, struct archive *b)
{
	return archive_first(a) == archive_first(b);
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
