/* Writing an archive anew, beside the old one, when its data moves. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "archive_in.h"

#define HURRY ((uint64_t)16 << 20)             /* the disk begins to write after that many bytes, not only at the end */
#define XATTR_MOST 65536

/* ---- what is not bytes ---- */

static void copy_xattrs(int from, int to)
{
	char *names = malloc(XATTR_MOST), *value = malloc(XATTR_MOST);
	ssize_t n = names && value ? flistxattr(from, names, XATTR_MOST) : 0, got;

	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
		got = fgetxattr(from, names + i, value, XATTR_MOST);
		if (got >= 0)
			fsetxattr(to, names + i, value, (size_t)got, 0);
	}
	free(names);
	free(value);
}

/* Extended attributes as far as the system lets us; owner and mode must do, or others could read or write it. */
static int dress(const struct archive *a, int fd)
{
	const struct stat *st = &a->place.like;
	struct stat is;

	if (fstat(fd, &is))
		return -errno;
	if ((is.st_uid != st->st_uid || is.st_gid != st->st_gid) && fchown(fd, st->st_uid, st->st_gid))
		return -errno;
	copy_xattrs(a->s.fd, fd);
	return fchmod(fd, st->st_mode & 07777) ? -errno : 0;
}

/* ---- bytes ---- */

/* Pieces are read, encrypted anew and summed up by one thread while another gives them to the system: each takes about
 * as long. */
#define ROOMS 4u

struct pump {
	const struct plan *plan;
	uint32_t *crcs;
	uint64_t n;                            /* pieces */
	uint8_t *room;                         /* ROOMS of JOURNAL_PIECE bytes */
	size_t len[ROOMS];
	int rc[ROOMS];
	sem_t full, empty;
	_Atomic bool stop;
	pthread_t thread;
};

/* A signal must not let a piece through that is not there. */
static void wait_for(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void *produce(void *arg)
{
	struct pump *x = arg;
	int rc = 0;

	for (uint64_t i = 0; i < x->n && !rc; i++) {
		unsigned k = i % ROOMS;

		wait_for(&x->empty);
		if (atomic_load(&x->stop))
			break;
		rc = journal_piece(x->plan, i, x->room + (size_t)k * JOURNAL_PIECE, &x->len[k], &x->crcs[i]);
		x->rc[k] = rc;
		sem_post(&x->full);
	}
	return NULL;
}

static void free_pump(struct pump *x)
{
	sem_destroy(&x->full);
	sem_destroy(&x->empty);
	free(x->room);
}

static int start_pump(struct pump *x, const struct plan *plan, uint32_t *crcs)
{
	int rc;

	*x = (struct pump){ .plan = plan, .crcs = crcs, .n = journal_pieces(plan->size) };
	x->room = malloc(ROOMS * (size_t)JOURNAL_PIECE);
	if (!x->room)
		return -ENOMEM;
	sem_init(&x->full, 0, 0);
	sem_init(&x->empty, 0, ROOMS);
	rc = archive_thread(&x->thread, produce, x);
	if (rc)
		free_pump(x);
	return rc;
}

static void stop_pump(struct pump *x)
{
	atomic_store(&x->stop, true);
	sem_post(&x->empty);
	pthread_join(x->thread, NULL);
	free_pump(x);
}

static int stream(const struct place *p, int fd, const struct plan *plan, uint32_t *crcs,
		  void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	uint64_t begun = 0;
	struct pump x;
	int rc = start_pump(&x, plan, crcs);

	if (rc)
		return err_set(e, -rc, "the new archive cannot be made: %s", strerror(-rc));
	for (uint64_t i = 0; i < x.n && !rc; i++) {
		uint64_t at = i * JOURNAL_PIECE;
		unsigned k = i % ROOMS;

		wait_for(&x.full);
		rc = x.rc[k];
		if (rc) {
			err_set(e, -rc, "the archive cannot be read at 0x%llx: %s", (unsigned long long)at,
				strerror(-rc));
			break;
		}
		rc = place_write(p, fd, x.room + (size_t)k * JOURNAL_PIECE, x.len[k], at);
		if (rc)
			err_set(e, -rc, "the new archive cannot be written: %s", strerror(-rc));
		if (at - begun >= HURRY) {
			sync_file_range(fd, (off64_t)begun, (off64_t)(at - begun), SYNC_FILE_RANGE_WRITE);
			begun = at;
		}
		if (!rc && progress)
			progress(ctx, at + x.len[k], plan->size);
		sem_post(&x.empty);
	}
	stop_pump(&x);
	return rc;
}

static int make(struct archive *a, struct job *job, const struct plan *plan, uint32_t *crcs,
		void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	const struct place *p = &a->place;
	struct stat st = { 0 };
	int rc;

	p->io->unlinkat(p->ctx, p->dir, p->fresh);
	job->from = archive_open_locked(a, p->fresh, O_RDWR | O_CREAT | O_EXCL);
	if (job->from < 0)
		return err_set(e, -job->from, "%s cannot be created: %s", p->fresh, strerror(-job->from));
	rc = p->io->fallocate(p->ctx, job->from, 0, plan->size);
	if (archive_no_room(rc))
		return err_set(e, -rc, "the disk is full: the new archive needs %llu bytes",
			       (unsigned long long)plan->size);
	rc = stream(p, job->from, plan, crcs, progress, ctx, e);
	if (rc)
		return rc;
	rc = dress(a, job->from);
	if (!rc)
		rc = fstat(job->from, &st) ? -errno : p->io->fsync(p->ctx, job->from);
	job->h.inode = st.st_ino;
	return rc ? err_set(e, -rc, "the new archive cannot be finished: %s", strerror(-rc)) : 0;
}

/* ---- the old archive ---- */

/* Gives the archive a second name under which it stays: the next free number. Without hard links only the number is
 * chosen: archive_settle() renames. */
static int keep(struct archive *a, struct job *job, struct err *e)
{
	const struct place *p = &a->place;
	uint64_t n = job->h.sequence;
	kept_name name;
	int rc;

	do {
		if (n > UINT32_MAX)
			return err_set(e, EEXIST, "there is no free number for %s.N", p->undo);
		place_kept(p, (uint32_t)n++, name);
		rc = archive_stamp(a, name).there ? -EEXIST : p->io->linkat(p->ctx, p->dir, p->name, name);
	} while (rc == -EEXIST);
	job->h.number = (uint32_t)(n - 1);
	return rc == -EPERM || rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EMLINK || !rc ? 0 :
	       err_set(e, -rc, "the old archive cannot be kept as %s: %s", name, strerror(-rc));
}

/* A name in a sticky directory can only be taken over by its owner, the directory's, or root. */
static int check_sticky(const struct archive *a, struct err *e)
{
	uid_t me = geteuid();
	struct stat dir;

	if (fstat(a->place.dir, &dir) || !(dir.st_mode & S_ISVTX) || !me || me == dir.st_uid ||
	    me == a->place.like.st_uid)
		return 0;
	return err_set(e, EPERM, "the archive cannot be replaced: its directory lets only its owner do that");
}

static void drop(struct archive *a, const struct job *job)
{
	const struct place *p = &a->place;
	struct stamp kept;
	kept_name name;

	p->io->unlinkat(p->ctx, p->dir, p->fresh);
	if (!job->h.number)
		return;
	place_kept(p, job->h.number, name);
	kept = archive_stamp(a, name);
	if (kept.there && kept.ino == a->s.stamp.ino)
		p->io->unlinkat(p->ctx, p->dir, name);
}

int archive_rewrite(struct archive *a, struct job *job, const struct plan *plan,
		    void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	struct journal_head *h = &job->h;
	uint32_t *crcs;
	int rc = check_sticky(a, e);

	if (rc)
		return rc;
	if (journal_pieces(plan->size) > UINT32_MAX)
		return err_set(e, EFBIG, "%llu bytes are too many to write anew", (unsigned long long)plan->size);
	h->flags |= JOURNAL_REWRITTEN;
	h->ncrcs = (uint32_t)journal_pieces(plan->size);
	journal_measure(h, NULL);
	job->plan = NULL;
	rc = archive_room(a, plan->size + 2 * h->length, e);
	if (rc)
		return rc;
	crcs = calloc(h->ncrcs + (size_t)1, sizeof *crcs);
	if (!crcs)
		return err_nomem(e);
	job->crcs = crcs;
	rc = make(a, job, plan, crcs, progress, ctx, e);
	if (!rc && h->flags & JOURNAL_RECORDED)
		rc = keep(a, job, e);
	if (!rc) {                             /* the names must be on disc before a journal that speaks of them */
		rc = a->place.io->fsync(a->place.ctx, a->place.dir);
		if (rc)
			err_set(e, -rc, "the directory cannot be written: %s", strerror(-rc));
	}
	if (rc)
		place_close(&a->place, job->from);
	else
		rc = archive_do(a, job, e);
	if (rc && !a->s.broken)
		drop(a, job);
	free(crcs);
	return rc;
}
