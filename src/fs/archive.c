/* Opening an archive, for writing or beside a writer. */
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/vfs.h>

#include "archive_in.h"
#include "filelock.h"

#define TRIES 20u                              /* while the file is replaced under our hands */
#define LONGEST (NAME_MAX - 24)                /* "." and ".modelfs-undo.4294967295" fit */

/* ---- stamps ---- */

struct stamp archive_stamp(const struct archive *a, const char *name)
{
	struct stat st;

	if (fstatat(a->place.dir, name, &st, name == a->place.name ? 0 : AT_SYMLINK_NOFOLLOW))
		return (struct stamp){ 0 };
	return (struct stamp){ true, st.st_dev, st.st_rdev, st.st_ino, st.st_size, st.st_mtim };
}

bool stamp_equal(const struct stamp *a, const struct stamp *b, bool device)
{
	if (!a->there || !b->there)
		return a->there == b->there;
	if (a->dev != b->dev || a->ino != b->ino || a->rdev != b->rdev)
		return false;
	return device || (a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
			  a->mtime.tv_nsec == b->mtime.tv_nsec);
}

/* ---- the file ---- */

static void release(struct archive *a, struct state *s)
{
	src_put(s->shown);
	src_put(s->file);
	place_close(&a->place, s->fd);
	*s = (struct state){ .fd = -1 };
}

static int show(struct archive *a, struct source *src, struct err *e)
{
	int fd = src_file_fd(src);

	if (fstat(fd >= 0 ? fd : src_file_fd(a->s.file), &a->s.st))
		return err_set(e, errno, "%s", strerror(errno));
	a->s.st.st_size = (off_t)src->size;
	src_ref(src);
	src_put(a->s.shown);
	a->s.shown = src;
	return 0;
}

static int open_file(struct archive *a, struct err *e)
{
	int rc = src_file(a->path, &a->s.file, e);

	if (rc)
		return rc;
	rc = show(a, a->s.file, e);
	a->s.device = S_ISBLK(a->s.st.st_mode);
	a->place.like = a->s.st;
	if (a->s.device)
		a->place.like.st_mode &= ~(mode_t)0111;
	return rc;
}

int archive_renew(struct archive *a, struct err *e)
{
	char path[64];
	struct source *src;
	struct stat st, is;
	int rc;

	if (fstat(a->s.fd, &st) || fstat(src_file_fd(a->s.file), &is))
		return err_set(e, errno, "%s", strerror(errno));
	if (st.st_ino != is.st_ino || (!a->s.device && (uint64_t)st.st_size != a->s.file->size)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", a->s.fd);
		rc = src_file(path, &src, e);
		if (rc == -ENOENT)
			rc = src_file(a->path, &src, e);       /* no /proc */
		if (rc)
			return rc;
		src_put(a->s.file);
		a->s.file = src;
	}
	a->place.like = st;
	a->s.stamp = (struct stamp){ true, st.st_dev, st.st_rdev, st.st_ino, st.st_size, st.st_mtim };
	return show(a, a->s.file, e);
}

static bool same_file(const struct archive *a, const struct stamp *s)
{
	struct stat st;

	return s->there && !fstat(src_file_fd(a->s.file), &st) && st.st_dev == s->dev && st.st_ino == s->ino;
}

/* ---- for writing ---- */

static void PRINTF(2, 3) give_up(struct archive *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->s.why, sizeof a->s.why, fmt, ap);
	va_end(ap);
	place_close(&a->place, a->s.fd);
	a->s.fd = -1;
}

/* /dev is gone after a crash, and a journal there with it. */
static bool is_volatile(const struct archive *a)
{
	struct statfs f;

	return a->s.device && !fstatfs(a->place.dir, &f) && (f.f_type == TMPFS_MAGIC || f.f_type == RAMFS_MAGIC);
}

static int refuse_second(struct archive *a, struct err *e)
{
	struct buf who = { 0 };
	int rc;

	filelock_holder(a->path, &a->s.st, &who);
	buf_char(&who, 0);
	rc = who.bad ? err_nomem(e) : err_set(e, EBUSY, "%s", (char *)who.p);
	buf_free(&who);
	return rc;
}

/* Opens for writing and locks, or says in s.why why that cannot be. Errors: EBUSY, ESTALE. */
static int start_writing(struct archive *a, struct err *e)
{
	struct stamp now;
	int rc;

	a->s.fd = a->place.io->openat(a->place.ctx, a->place.dir, a->place.name, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
	if (a->s.fd == -EROFS)
		give_up(a, "its file system is read-only");
	else if (a->s.fd < 0)
		give_up(a, "it cannot be written: %s", strerror(-a->s.fd));
	else if (strlen(a->place.name) > LONGEST)
		give_up(a, "its name is too long for a journal beside it");
	else if (is_volatile(a))
		give_up(a, "a journal beside it would not outlast a crash of the system");
	else if (!a->dir_synced)
		give_up(a, "no journal can be written in its directory: it cannot be opened");
	else if (faccessat(a->place.dir, ".", W_OK | X_OK, AT_EACCESS))
		give_up(a, "no journal can be created in its directory: %s", strerror(errno));
	if (a->s.fd < 0)
		return 0;
	rc = filelock_take(a->s.fd, LOCK_WRITER, true, false);
	if (rc == -EAGAIN)
		return refuse_second(a, e);
	if (rc) {
		give_up(a, "it cannot be locked: %s", strerror(-rc));
		return 0;
	}
	now = archive_stamp(a, a->place.name);
	return same_file(a, &now) ? 0 : -ESTALE;
}

/* Removes what a commit that did not come to its commit point has left: a journal, an undo file with nothing in it, the
 * new file of a rewrite and the second name of the old one. */
static int clean(struct archive *a, struct err *e)
{
	const struct place *p = &a->place;
	int fd, rc = p->io->unlinkat(p->ctx, p->dir, p->journal);

	if (rc && rc != -ENOENT)
		return err_set(e, -rc, "an incomplete journal cannot be removed: %s", strerror(-rc));
	p->io->unlinkat(p->ctx, p->dir, p->fresh);
	fd = undo_open(p, &a->s.undo, false, NULL);
	place_close(p, fd);
	if (fd >= 0 && !a->s.undo.size)        /* made for a commit that did not come to pass */
		p->io->unlinkat(p->ctx, p->dir, p->undo);
	if (a->s.st.st_nlink < 2)
		return 0;
	for (uint64_t n = a->s.undo.sequence + 1; n <= UINT32_MAX; n++) {
		struct stamp kept;
		kept_name name;

		place_kept(p, (uint32_t)n, name);
		kept = archive_stamp(a, name);
		if (!kept.there)
			break;
		if (same_file(a, &kept))
			p->io->unlinkat(p->ctx, p->dir, name);
	}
	return 0;
}

static int recover_journal(struct archive *a, struct err *e)
{
	struct journal j;
	int rc = journal_find(&a->place, &j, e);

	if (!rc)
		return clean(a, e);
	if (rc < 0)
		return rc;
	rc = archive_fits(a, &j, e);
	if (rc == 1)
		rc = archive_settle(a, &j, -1, e);
	else if (!rc)
		rc = err_set(e, EBADMSG, "its journal does not fit it: another program has changed it since");
	place_close(&a->place, j.fd);
	return rc;
}

static int look(struct archive *a, struct err *e);

static int recover(struct archive *a, struct err *e)
{
	struct err why = { 0 };
	int rc;

	filelock_take(a->s.fd, LOCK_BYTES, true, true);
	rc = recover_journal(a, &why);
	filelock_drop(a->s.fd, LOCK_BYTES);
	if (!rc)
		return archive_renew(a, e);
	give_up(a, "%s", why.text);
	return look(a, e);
}

/* ---- for reading ---- */

static int look_through(struct archive *a, struct err *e)
{
	struct source *src;
	struct journal j;
	int rc = journal_find(&a->place, &j, e);

	if (rc != 1)
		return rc;
	rc = archive_fits(a, &j, e);
	if (!rc) {
		give_up(a, "its journal does not fit it: another program has changed it since");
	} else if (rc == 1) {
		rc = archive_through(a, &j, &src, e);
		if (!rc) {
			rc = show(a, src, e);
			src_put(src);
		}
	}
	place_close(&a->place, j.fd);
	return rc;
}

static int look(struct archive *a, struct err *e)
{
	int fd = src_file_fd(a->s.file);
	bool locked = !filelock_take(fd, LOCK_BYTES, false, true);
	int rc;

	a->s.stamp = archive_stamp(a, a->place.name);
	a->s.journal = archive_stamp(a, a->place.journal);
	rc = same_file(a, &a->s.stamp) ? look_through(a, e) : -ESTALE;
	if (locked)
		filelock_drop(fd, LOCK_BYTES);
	return rc;
}

/* ---- opening ---- */

static int attach(struct archive *a, struct err *e)
{
	int rc = -ESTALE;

	for (unsigned i = 0; i < TRIES && rc == -ESTALE; i++) {
		release(a, &a->s);
		rc = open_file(a, e);
		if (!rc && a->want)
			rc = start_writing(a, e);
		if (!rc)
			rc = a->s.fd >= 0 ? recover(a, e) : look(a, e);
	}
	if (rc == -ESTALE)
		err_set(e, ESTALE, "it is replaced again and again");
	if (rc)
		release(a, &a->s);
	return rc;
}

static int split(struct archive *a, char *path)
{
	char *slash = strrchr(path, '/');

	a->path = path;
	a->dir = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	if (!a->dir)
		return -ENOMEM;
	a->place.name = slash + 1;
	place_name(&a->place);
	a->place.dir = open(a->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	a->dir_synced = a->place.dir >= 0;
	if (!a->dir_synced)
		a->place.dir = open(a->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return a->place.dir < 0 ? -errno : 0;
}

/* Where there are no hard links, a rewrite renames the old file away before the new one takes its name; who dies in
 * between leaves none. path: where it should be, absolute. */
static void bring_back(struct archive *a)
{
	struct timespec wait = { .tv_nsec = 1000000 };
	struct journal j;
	int fd = -1;

	for (unsigned i = 0; i < 1000 && fd < 0; i++) {        /* a writer at work is through soon */
		fd = archive_open_locked(a, a->place.fresh, O_RDWR);
		if (fd == -EAGAIN)
			nanosleep(&wait, NULL);
		else if (fd < 0)
			return;
	}
	if (fd >= 0 && journal_find(&a->place, &j, NULL) == 1) {
		if (j.h.flags & JOURNAL_REWRITTEN && !archive_stamp(a, a->place.name).there &&
		    !a->place.io->fsync(a->place.ctx, a->place.dir))
			a->place.io->renameat(a->place.ctx, a->place.dir, a->place.fresh, a->place.name);
		place_close(&a->place, j.fd);
	}
	place_close(&a->place, fd);
}

/* The absolute path of a file that may not be there. */
static char *absolute(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *whole = NULL, *dir, *real;

	dir = slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	real = dir ? realpath(dir, NULL) : NULL;
	if (real && asprintf(&whole, "%s/%s", strcmp(real, "/") ? real : "", slash ? slash + 1 : path) < 0)
		whole = NULL;
	free(dir);
	free(real);
	return whole;
}

static int locate(struct archive *a, const char *path, struct err *e)
{
	char *real = realpath(path, NULL);
	int rc = -errno;

	if (real) {
		rc = split(a, real);
	} else if (rc == -ENOENT && (real = absolute(path))) {
		rc = split(a, real);
		if (!rc)
			bring_back(a);         /* attach() will see */
	}
	return rc ? err_set(e, -rc, "%s", strerror(-rc)) : 0;
}

int archive_open(const char *path, const struct archive_options *opt, struct archive **out, struct err *e)
{
	struct archive *a = calloc(1, sizeof *a);
	int rc;

	if (!a)
		return err_nomem(e);
	a->want = opt->write;
	a->noundo = opt->noundo;
	a->spent = -1;
	a->hold = opt->hold;
	a->hold_ctx = opt->hold_ctx;
	a->place.io = opt->io ? opt->io : &io_system;
	a->place.ctx = opt->io_ctx;
	a->place.dir = a->s.fd = -1;
	archive_read_init(a);
	rc = locate(a, path, e);
	if (!rc)
		rc = attach(a, e);
	if (rc)
		archive_close(a);
	else
		*out = a;
	return rc;
}

void archive_close(struct archive *a)
{
	archive_read_stop(a);
	archive_tidy(a);
	release(a, &a->s);
	if (a->place.dir >= 0)
		close(a->place.dir);
	free(a->path);
	free(a->dir);
	free(a);
}

int archive_refresh(struct archive *a, struct err *e)
{
	struct state before = a->s;
	struct stamp now = archive_stamp(a, a->place.name), journal = archive_stamp(a, a->place.journal);
	int rc;

	if (a->s.broken)
		return 0;
	archive_read_let_go(a);
	if (a->s.fd >= 0 && same_file(a, &now))
		return archive_renew(a, e);
	a->s = (struct state){ .fd = -1 };
	rc = attach(a, e);
	if (!rc) {
		release(a, &before);
		return 0;
	}
	a->s = before;
	if (a->s.fd < 0) {                     /* told once; a writer goes on to refuse */
		a->s.stamp = now;
		a->s.journal = journal;
	}
	return rc;
}

bool archive_writable(const struct archive *a, const char **why)
{
	if (why)
		*why = *a->s.why ? a->s.why : "it was opened for reading";
	return a->s.fd >= 0;
}

struct source *archive_source(const struct archive *a)
{
	return a->s.shown;
}

const struct stat *archive_stat(const struct archive *a)
{
	return &a->s.st;
}

int archive_fd(const struct archive *a)
{
	return src_file_fd(a->s.shown);
}
