/* Journals applied: to files, or laid over them. */
#include "journal.h"

#include <errno.h>
#include <stdlib.h>

#include <zlib.h>

#define TICKS 20u                              /* milliseconds */

/* ---- does it fit? ---- */

struct fit { struct source *file; uint8_t *room; bool differs; };

static int fit_record(void *ctx, const struct record *r)
{
	struct fit *f = ctx;
	uint64_t left = r->at < f->file->size ? f->file->size - r->at : 0;
	size_t n = left < r->nold ? (size_t)left : r->nold;
	int rc = n ? src_pread(f->file, f->room, n, r->at) : 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (f->room[i] != r->old_bytes[i] && (i >= r->nnew || f->room[i] != r->new_bytes[i]))
			f->differs = true;
	return rc ? rc : f->differs;
}

int journal_fits(const struct journal *j, const struct journal_file *f, struct source *file)
{
	uint64_t low = f->old_size < f->new_size ? f->old_size : f->new_size;
	uint64_t high = f->old_size < f->new_size ? f->new_size : f->old_size;
	struct fit fit = { .file = file };
	int rc;

	if (file->size < low || file->size > high)
		return 0;
	fit.room = malloc(JOURNAL_RECORD);
	rc = fit.room ? journal_each(j, f, fit_record, &fit) : -ENOMEM;
	free(fit.room);
	return rc < 0 ? rc : !fit.differs;
}

/* ---- applying ---- */

struct patch { const struct place *p; int fd; };

static int patch_record(void *ctx, const struct record *r)
{
	const struct patch *t = ctx;

	return r->nnew ? place_write(t->p, t->fd, r->new_bytes, r->nnew, r->at) : 0;
}

static int patch_once(struct patch *t, const struct journal *j, const struct journal_file *f,
		      const struct stat *before)
{
	int rc = 0;

	if (S_ISREG(before->st_mode) && (uint64_t)before->st_size != f->new_size)
		rc = t->p->io->ftruncate(t->p->ctx, t->fd, f->new_size);
	return rc ? rc : journal_each(j, f, patch_record, t);
}

/* Others see a commit by the file's size and time, and the time may go in steps of some milliseconds. */
static bool seems_same(const struct stat *a, const struct stat *b)
{
	return S_ISREG(a->st_mode) && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int journal_patch(const struct place *p, const struct journal *j, const struct journal_file *f, int fd)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct patch t = { p, fd };
	struct stat before, after;
	int rc = fstat(fd, &before) ? -errno : patch_once(&t, j, f, &before);

	for (unsigned i = 0; i < TICKS && f->nrecords && !rc; i++) {
		if (fstat(fd, &after) || !seems_same(&before, &after))
			break;
		nanosleep(&pause, NULL);
		rc = patch_once(&t, j, f, &after);
	}
	return rc ? rc : p->io->fsync(p->ctx, fd);
}

/* ---- reading through ---- */

struct laid_source { struct source s; struct plan plan; };

static int laid_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return plan_read(&((struct laid_source *)s)->plan, buf, n, at);
}

static void laid_close(struct source *s)
{
	plan_free(&((struct laid_source *)s)->plan);
}

static const struct source_ops laid_ops = { .pread = laid_pread, .close = laid_close };

static int lay_record(void *ctx, const struct record *r)
{
	return plan_write(ctx, r->at, r->new_bytes, r->nnew);
}

int journal_overlay(const struct journal *j, const struct journal_file *f, struct source *base, struct source **out)
{
	struct laid_source *l = calloc(1, sizeof *l);
	int rc;

	if (!l)
		return -ENOMEM;
	l->s.ops = &laid_ops;
	l->s.size = f->new_size;
	atomic_init(&l->s.refs, 1);
	plan_init(&l->plan, base);
	l->plan.size = f->new_size;
	rc = journal_each(j, f, lay_record, &l->plan);
	if (rc)
		src_put(&l->s);
	else
		*out = &l->s;
	return rc;
}

int journal_piece(const struct plan *plan, uint64_t i, uint8_t *room, size_t *n, uint32_t *crc)
{
	uint64_t at = i * JOURNAL_PIECE;
	int rc;

	*n = (size_t)(plan->size - at < JOURNAL_PIECE ? plan->size - at : JOURNAL_PIECE);
	rc = plan_read(plan, room, *n, at);
	if (!rc)
		*crc = (uint32_t)crc32_z(0, room, *n);
	return rc;
}
