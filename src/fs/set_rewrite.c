/* Writing a file anew, beside the old one, when its data moves. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "reading.h"
#include "set.h"

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
static int dress(int fd, int old, const struct stat *st)
{
	struct stat is;

	if (fstat(fd, &is))
		return -errno;
	if ((is.st_uid != st->st_uid || is.st_gid != st->st_gid) && fchown(fd, st->st_uid, st->st_gid))
		return -errno;
	copy_xattrs(old, fd);
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
	rc = reading_thread(&x->thread, produce, x);
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
		return err_set(e, -rc, "the new file cannot be made: %s", strerror(-rc));
	for (uint64_t i = 0; i < x.n && !rc; i++) {
		uint64_t at = i * JOURNAL_PIECE;
		unsigned k = i % ROOMS;

		wait_for(&x.full);
		rc = x.rc[k];
		if (rc) {
			err_set(e, -rc, "the old one cannot be read at 0x%llx: %s", (unsigned long long)at,
				strerror(-rc));
			break;
		}
		rc = place_write(p, fd, x.room + (size_t)k * JOURNAL_PIECE, x.len[k], at);
		if (rc)
			err_set(e, -rc, "the new file cannot be written: %s", strerror(-rc));
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

/* place: where it is made, with the mode and owner it will have. */
static int make(const struct place *p, struct member *m, struct journal_file *f, const struct plan *plan,
		uint32_t *crcs, void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	struct stat st = { 0 };
	int rc;

	p->io->unlinkat(p->ctx, p->dir, p->fresh);
	m->from = place_open_locked(p, p->fresh, O_RDWR | O_CREAT | O_EXCL);
	if (m->from < 0)
		return err_set(e, -m->from, "%s cannot be created: %s", p->fresh, strerror(-m->from));
	rc = p->io->fallocate(p->ctx, m->from, 0, plan->size);
	if (set_no_room(rc))
		return err_set(e, -rc, "the disk is full: the new file needs %llu bytes",
			       (unsigned long long)plan->size);
	rc = stream(p, m->from, plan, crcs, progress, ctx, e);
	if (rc)
		return rc;
	rc = dress(m->from, m->fd, &p->like);
	if (!rc)
		rc = fstat(m->from, &st) ? -errno : p->io->fsync(p->ctx, m->from);
	f->inode = st.st_ino;
	return rc ? err_set(e, -rc, "the new file cannot be finished: %s", strerror(-rc)) : 0;
}

/* ---- the old file ---- */

/* Gives it a second name under which it stays: the next free number. Without hard links only the number is chosen:
 * set_settle() renames. */
static int keep(const struct place *p, const struct member *m, struct journal_file *f, uint64_t n, struct err *e)
{
	kept_name name;
	int rc;

	do {
		if (n > UINT32_MAX)
			return err_set(e, EEXIST, "there is no free number for %s.N", p->undo);
		place_kept(p, (uint32_t)n++, name);
		rc = place_stamp(p, name).there ? -EEXIST : p->io->linkat(p->ctx, m->dir, m->name, p->dir, name);
	} while (rc == -EEXIST);
	f->number = (uint32_t)(n - 1);
	return rc == -EPERM || rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -EMLINK || !rc ? 0 :
	       err_set(e, -rc, "the old file cannot be kept as %s: %s", name, strerror(-rc));
}

/* A name in a sticky directory can only be taken over by its owner, the directory's, or root. */
int set_check_directory(const struct place *p, const struct member *m, struct err *e)
{
	uid_t me = geteuid();
	struct stat dir, here;

	if (fstat(m->dir, &dir) || fstat(p->dir, &here))
		return err_set(e, errno, "%s", strerror(errno));
	if (dir.st_dev != here.st_dev)
		return err_set(e, EXDEV, "%s cannot be replaced: it is on another file system than its folder",
			       journal_subject(m->path));
	if (faccessat(m->dir, ".", W_OK | X_OK, AT_EACCESS))
		return err_set(e, errno, "%s cannot be replaced: its directory cannot be written: %s",
			       journal_subject(m->path), strerror(errno));
	if (!(dir.st_mode & S_ISVTX) || !me || me == dir.st_uid || me == m->was.st_uid)
		return 0;
	return err_set(e, EPERM, "%s cannot be replaced: its directory lets only its owner do that",
		       journal_subject(m->path));
}

void set_drop(struct set *s, const struct job *job)
{
	const struct place *p = &s->place;

	for (uint32_t i = 0; i < job->h.nfiles; i++) {
		const struct journal_file *f = &job->part[i].f;
		struct stamp kept;
		kept_name name;

		if (!(f->flags & JOURNAL_REWRITTEN))
			continue;
		p->io->unlinkat(p->ctx, p->dir, p->fresh);
		if (!f->number)
			continue;
		place_kept(p, f->number, name);
		kept = place_stamp(p, name);
		if (kept.there && kept.ino == job->member[i].was.st_ino)
			p->io->unlinkat(p->ctx, p->dir, name);
	}
}

int set_rewrite(struct set *s, struct job *job, uint32_t i, const struct plan *plan,
		void (*progress)(void *ctx, uint64_t done, uint64_t all), void *ctx, struct err *e)
{
	struct journal_head *h = &job->h;
	struct journal_file *f = &job->part[i].f;
	struct member *m = &job->member[i];
	struct place place = s->place;
	int rc;

	place.like = m->was;
	rc = set_check_directory(&place, m, e);
	if (rc)
		return rc;
	job->crcs = calloc(h->ncrcs + (size_t)1, sizeof *job->crcs);
	if (!job->crcs)
		return err_nomem(e);
	rc = set_room(s, plan->size + 2 * h->length, e);
	if (!rc)
		rc = make(&place, m, f, plan, job->crcs, progress, ctx, e);
	if (!rc && h->flags & JOURNAL_RECORDED)
		rc = keep(&place, m, f, h->sequence, e);
	if (!rc) {                             /* the names must be on disc before a journal that speaks of them */
		rc = place.io->fsync(place.ctx, place.dir);
		if (rc)
			err_set(e, -rc, "the directory cannot be written: %s", strerror(-rc));
	}
	return rc;
}
