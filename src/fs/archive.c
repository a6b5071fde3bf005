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

struct stamp archive_stamp(const struct archive *a)
{
	struct stat st;

	return fstatat(a->set.place.dir, a->set.place.name, &st, 0) ? (struct stamp){ 0 } : stamp_of(&st);
}

static bool same_file(const struct archive *a, const struct stamp *s)
{
	struct stat st;

	return s->there && !fstat(src_file_fd(a->s.file), &st) && st.st_dev == s->dev && st.st_ino == s->ino;
}

/* ---- the file ---- */

static void release(struct archive *a, struct state *s)
{
	src_put(s->shown);
	src_put(s->file);
	place_close(&a->set.place, s->fd);
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
	a->set.place.like = a->s.st;
	if (a->s.device)
		a->set.place.like.st_mode &= ~(mode_t)0111;
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
	a->set.place.like = st;
	a->s.stamp = stamp_of(&st);
	return show(a, a->s.file, e);
}

/* ---- for writing ---- */

static void PRINTF(2, 3) give_up(struct archive *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->set.why, sizeof a->set.why, fmt, ap);
	va_end(ap);
	place_close(&a->set.place, a->s.fd);
	a->s.fd = -1;
}

/* /dev is gone after a crash, and a journal there with it. */
static bool is_volatile(const struct archive *a)
{
	struct statfs f;

	return a->s.device && !fstatfs(a->set.place.dir, &f) && (f.f_type == TMPFS_MAGIC || f.f_type == RAMFS_MAGIC);
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

/* Opens for writing and locks, or says in set.why why that cannot be. Errors: EBUSY, ESTALE. */
static int start_writing(struct archive *a, struct err *e)
{
	const struct place *p = &a->set.place;
	struct stamp now;
	int rc;

	a->s.fd = p->io->openat(p->ctx, p->dir, p->name, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
	if (a->s.fd == -EROFS)
		give_up(a, "its file system is read-only");
	else if (a->s.fd < 0)
		give_up(a, "it cannot be written: %s", strerror(-a->s.fd));
	else if (strlen(p->name) > LONGEST)
		give_up(a, "its name is too long for a journal beside it");
	else if (is_volatile(a))
		give_up(a, "a journal beside it would not outlast a crash of the system");
	else if (!a->dir_synced)
		give_up(a, "no journal can be written in its directory: it cannot be opened");
	else if (faccessat(p->dir, ".", W_OK | X_OK, AT_EACCESS))
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
	now = archive_stamp(a);
	return same_file(a, &now) ? 0 : -ESTALE;
}

static int look(struct archive *a, struct err *e);

static int recover(struct archive *a, struct err *e)
{
	struct err why = { 0 };

	if (a->with || !set_recover(&a->set, &why))    /* its journal is another's, who has seen to it */
		return archive_renew(a, e);
	give_up(a, "%s", why.text);
	return look(a, e);
}

/* ---- for reading ---- */

int archive_through(struct archive *a, const struct journal *j, struct source **out, struct err *e)
{
	struct journal_file *v;
	uint32_t i = 0;
	int rc = journal_files(j, &v);

	if (rc)
		return err_set(e, -rc, "its journal cannot be read: %s", strerror(-rc));
	while (i < j->h.nfiles && strcmp(v[i].path, archive_subject(a)))
		i++;
	if (i < j->h.nfiles)
		rc = set_through(&a->set, j, &v[i], NULL, out, e);
	else
		*out = src_ref(a->s.file);
	free(v);
	return rc;
}

static int look_through(struct archive *a, struct err *e)
{
	struct source *src;
	struct journal j;
	struct err why = { 0 };
	int rc = journal_find(&a->set.place, &j, e);

	if (rc != 1)
		return rc;
	rc = set_fits(&a->set, &j, &why);
	if (!rc) {
		give_up(a, "%s", why.text);
	} else if (rc == 1) {
		rc = archive_through(a, &j, &src, e);
		if (!rc) {
			rc = show(a, src, e);
			src_put(src);
		}
	} else if (e) {
		*e = why;
	}
	place_close(&a->set.place, j.fd);
	return rc;
}

static int look(struct archive *a, struct err *e)
{
	int fd = src_file_fd(a->s.file);
	bool locked = !filelock_take(fd, LOCK_BYTES, false, true);
	int rc;

	a->s.stamp = archive_stamp(a);
	a->s.journal = place_stamp(&a->set.place, a->set.place.journal);
	rc = same_file(a, &a->s.stamp) ? look_through(a, e) : -ESTALE;
	if (locked)
		filelock_drop(fd, LOCK_BYTES);
	return rc;
}

/* ---- beside a writer ---- */

static int take(void *ctx, bool *changed, bool *locked, struct err *e)
{
	struct archive *a = ctx;
	int rc = filelock_take(src_file_fd(a->s.file), LOCK_BYTES, false, true);
	struct stamp now;

	if (rc && !filelock_unknown(rc))
		return err_set(e, -rc, "it cannot be locked: %s", strerror(-rc));
	*locked = !rc;                         /* where there are no locks, nobody writes */
	now = archive_stamp(a);
	*changed = !stamp_equal(&now, &a->s.stamp, a->s.device);
	now = place_stamp(&a->set.place, a->set.place.journal);
	*changed |= !stamp_equal(&now, &a->s.journal, false);
	return 0;
}

static void drop(void *ctx)
{
	filelock_drop(src_file_fd(((struct archive *)ctx)->s.file), LOCK_BYTES);
}

static const struct reading_ops beside = { .take = take, .drop = drop };

int archive_read_begin(struct archive *a, bool *changed, struct err *e)
{
	*changed = false;
	return a->s.fd >= 0 ? 0 : reading_begin(&a->reading, changed, e);
}

void archive_read_end(struct archive *a)
{
	if (a->s.fd < 0)
		reading_end(&a->reading);
}

void archive_read_alone(struct archive *a, bool alone)
{
	a->reading.alone = alone;
}

/* ---- opening ---- */

static bool wants_to_write(const struct archive *a)
{
	return a->want && (!a->with || a->with->s.fd >= 0);
}

static int attach(struct archive *a, struct err *e)
{
	int rc = -ESTALE;

	for (unsigned i = 0; i < TRIES && rc == -ESTALE; i++) {
		release(a, &a->s);
		set_reset(&a->set);
		archive_choose(a);
		rc = open_file(a, e);
		if (!rc && wants_to_write(a))
			rc = start_writing(a, e);
		if (!rc)
			rc = a->s.fd >= 0 ? recover(a, e) : look(a, e);
	}
	if (rc == -ESTALE)
		err_set(e, ESTALE, "it is replaced again and again");
	if (rc)
		release(a, &a->s);
	else if (a->s.fd >= 0 && !a->with) {   /* its own journal is finished */
		archive_choose(a);
		if (a->with)
			set_reset(&a->set);
	}
	return rc;
}

static int split(struct archive *a, char *path)
{
	char *slash = strrchr(path, '/'), *dir;
	struct place *p = &a->set.place;

	a->path = path;
	dir = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
	if (!dir)
		return -ENOMEM;
	p->name = slash + 1;
	p->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	a->dir_synced = p->dir >= 0;
	if (!a->dir_synced)
		p->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(dir);
	if (p->dir < 0)
		return -errno;
	archive_choose(a);
	return 0;
}

static bool is_rewritten(const struct archive *a, const struct journal *j)
{
	struct journal_file *v;
	bool is = false;

	if (!(j->h.flags & JOURNAL_REWRITTEN) || journal_files(j, &v))
		return false;
	for (uint32_t i = 0; i < j->h.nfiles && !is; i++)
		is = v[i].flags & JOURNAL_REWRITTEN && !strcmp(v[i].path, archive_subject(a));
	free(v);
	return is;
}

/* Where there are no hard links, a rewrite renames the old file away before the new one takes its name; who dies in
 * between leaves none. path: where it should be, absolute. */
static void bring_back(struct archive *a)
{
	const struct place *p = &a->set.place;
	struct timespec wait = { .tv_nsec = 1000000 };
	struct journal j;
	int fd = -1;

	for (unsigned i = 0; i < 1000 && fd < 0; i++) {        /* a writer at work is through soon */
		fd = place_open_locked(p, p->fresh, O_RDWR);
		if (fd == -EAGAIN)
			nanosleep(&wait, NULL);
		else if (fd < 0)
			return;
	}
	if (fd >= 0 && journal_find(p, &j, NULL) == 1) {
		if (is_rewritten(a, &j) && !archive_stamp(a).there && !p->io->fsync(p->ctx, p->dir))
			p->io->renameat(p->ctx, p->dir, p->fresh, p->dir, p->name);
		place_close(p, j.fd);
	}
	place_close(p, fd);
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
	a->set = (struct set){
		.ops = &archive_set_ops, .noundo = opt->noundo, .spent = -1,
		.hold = opt->hold, .hold_ctx = opt->hold_ctx,
		.place = { .io = opt->io ? opt->io : &io_system, .ctx = opt->io_ctx, .dir = -1 },
	};
	a->s.fd = -1;
	reading_init(&a->reading, &beside, a);
	a->beside = opt->with ? archive_first(opt->with) : NULL;
	rc = locate(a, path, e);
	if (!rc)
		rc = attach(a, e);
	if (rc) {
		archive_close(a);
		return rc;
	}
	archive_join(a);
	*out = a;
	return 0;
}

void archive_close(struct archive *a)
{
	archive_part(a);
	reading_stop(&a->reading);
	archive_tidy(a);
	release(a, &a->s);
	if (a->set.place.dir >= 0)
		close(a->set.place.dir);
	free(a->path);
	free(a);
}

int archive_refresh(struct archive *a, struct err *e)
{
	struct state before = a->s;
	struct set set = a->set;
	struct archive *with = a->with;
	struct stamp now = archive_stamp(a), journal = place_stamp(&a->set.place, a->set.place.journal);
	int rc;

	if (archive_first(a)->set.broken)
		return 0;
	reading_let_go(&a->reading);
	if (a->s.fd >= 0 && same_file(a, &now))
		return archive_renew(a, e);
	a->s = (struct state){ .fd = -1 };
	rc = attach(a, e);
	if (!rc) {
		release(a, &before);
		archive_join(a);
		return 0;
	}
	a->s = before;
	a->set = set;
	a->with = with;
	if (a->s.fd < 0) {                     /* told once; a writer goes on to refuse */
		a->s.stamp = now;
		a->s.journal = journal;
	}
	return rc;
}

bool archive_writable(const struct archive *a, const char **why)
{
	if (why)
		*why = *a->set.why ? a->set.why : "it was opened for reading";
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
