/* Opening a folder, for writing or beside a writer. */
#include "fileset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "filelock.h"
#include "fileset_in.h"

#define TRIES 20u                              /* while the lock's file is removed under our hands */
#define LET_GO_MS 50u                          /* that those who read are waited for when the folder is closed */

static const struct timespec millisecond = { .tv_nsec = 1000000 };

/* ---- names ---- */

bool fileset_is_own(const char *name)
{
	static const char undo[] = ".modelfs-undo";
	size_t n = sizeof undo - 1;

	if (!strcmp(name, FILESET_LOCK) || !strcmp(name, ".modelfs-journal") || !strcmp(name, ".modelfs-new"))
		return true;
	if (strncmp(name, undo, n))
		return false;
	name += n;
	return !*name || (*name == '.' && name[1] && !name[1 + strspn(name + 1, "0123456789")]);
}

int fileset_open_file(const struct fileset *fs, const char *path, int flags)
{
	return beneath_open(fs->set.place.dir, path, flags, 0);
}

/* ---- a journal that is there ---- */

static void forget_pending(struct fileset *fs)
{
	place_close(&fs->set.place, fs->pending.fd);
	fs->pending.fd = -1;
	free(fs->files);
	fs->files = NULL;
}

int fileset_read_through(struct fileset *fs, struct journal *j, struct err *e)
{
	int rc = journal_files(j, &fs->files);

	if (!rc) {
		fs->pending = *j;
		return 0;
	}
	place_close(&fs->set.place, j->fd);
	return err_set(e, -rc, "its journal cannot be read: %s", strerror(-rc));
}

/* Of a journal that does not fit, or cannot be compared, it says so in set.why; then the files as they are are all
 * there is. */
static int load_pending(struct fileset *fs, struct err *e)
{
	struct journal j;
	struct err why = { 0 };
	int rc;

	forget_pending(fs);
	fs->journal = place_stamp(&fs->set.place, fs->set.place.journal);
	rc = journal_find(&fs->set.place, &j, e);
	if (rc != 1)
		return rc;
	rc = set_fits(&fs->set, &j, &why);
	if (rc == 1)
		return fileset_read_through(fs, &j, e);
	place_close(&fs->set.place, j.fd);
	memcpy(fs->set.why, why.text, sizeof fs->set.why);
	return rc == -ENOMEM ? err_nomem(e) : 0;
}

bool fileset_pending(const struct fileset *fs)
{
	return fs->pending.fd >= 0;
}

int fileset_through(struct fileset *fs, const char *path, struct source *file, struct source **out, struct err *e)
{
	for (uint32_t i = 0; fs->files && i < fs->pending.h.nfiles; i++)
		if (!strcmp(fs->files[i].path, path))
			return set_through(&fs->set, &fs->pending, &fs->files[i], file, out, e);
	if (!file)
		return err_set(e, ENOENT, "%s", strerror(ENOENT));
	*out = src_ref(file);
	return 0;
}

/* ---- for writing ---- */

/* The lock's file goes when nobody reads: then whoever has it open finds that it lost its name. */
static void leave_folder(struct fileset *fs)
{
	const struct place *p = &fs->set.place;
	int rc = -EAGAIN;

	if (fs->lock < 0)
		return;
	for (unsigned i = 0; i < LET_GO_MS && rc == -EAGAIN; i++) {
		rc = filelock_take(fs->lock, LOCK_BYTES, true, false);
		if (rc == -EAGAIN)
			nanosleep(&millisecond, NULL);
	}
	if (!rc || filelock_unknown(rc))
		p->io->unlinkat(p->ctx, p->dir, FILESET_LOCK);
	place_close(p, fs->lock);
	fs->lock = -1;
}

static void PRINTF(2, 3) give_up(struct fileset *fs, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fs->set.why, sizeof fs->set.why, fmt, ap);
	va_end(ap);
	leave_folder(fs);
}

static bool has_name(const struct fileset *fs, int fd)
{
	struct stamp there = place_stamp(&fs->set.place, FILESET_LOCK);
	struct stat st;

	return there.there && !fstat(fd, &st) && st.st_dev == there.dev && st.st_ino == there.ino;
}

static int refuse_second(const struct fileset *fs, struct err *e)
{
	struct buf who = { 0 };
	struct stat st = { 0 };
	int rc;

	fstat(fs->lock, &st);
	filelock_holder(fs->path, &st, &who);
	buf_char(&who, 0);
	rc = who.bad ? err_nomem(e) : err_set(e, EBUSY, "%s", (char *)who.p);
	buf_free(&who);
	return rc;
}

/* Takes the lock, or says in set.why why that cannot be. Errors: EBUSY, ESTALE. */
static int take_folder(struct fileset *fs, struct err *e)
{
	int rc;

	fs->lock = place_open(&fs->set.place, FILESET_LOCK, O_RDWR | O_CREAT | O_NONBLOCK);
	if (fs->lock == -EROFS)
		give_up(fs, "its file system is read-only");
	else if (fs->lock < 0)
		give_up(fs, "no journal can be created in it: %s", strerror(-fs->lock));
	if (fs->lock < 0)
		return 0;
	rc = filelock_take(fs->lock, LOCK_WRITER, true, false);
	if (rc == -EAGAIN)
		return refuse_second(fs, e);
	if (rc)
		give_up(fs, "it cannot be locked: %s", strerror(-rc));
	return rc || has_name(fs, fs->lock) ? 0 : -ESTALE;
}

static int start_writing(struct fileset *fs, struct err *e)
{
	struct err why = { 0 };
	int rc = -ESTALE;

	for (unsigned i = 0; i < TRIES && rc == -ESTALE; i++) {
		rc = take_folder(fs, e);
		if (rc) {                      /* the file is another's */
			place_close(&fs->set.place, fs->lock);
			fs->lock = -1;
		}
	}
	if (rc)
		return rc == -ESTALE ? err_set(e, ESTALE, "its lock is removed again and again") : rc;
	if (fs->lock >= 0 && set_recover(&fs->set, &why))
		give_up(fs, "%s", why.text);
	return 0;
}

/* Those who began to read when there was no FILESET_LOCK yet have locked the folder itself, which can only be shared. */
static void wait_for_first(struct fileset *fs)
{
	while (!fs->alone && filelock_shared(fs->set.place.dir, LOCK_BYTES))
		nanosleep(&millisecond, NULL);
	fs->alone = true;
}

int fileset_lock(struct fileset *fs, struct err *e)
{
	int rc;

	wait_for_first(fs);
	rc = filelock_take(fs->lock, LOCK_BYTES, true, true);
	return rc ? err_set(e, -rc, "it cannot be locked: %s", strerror(-rc)) : 0;
}

void fileset_unlock(struct fileset *fs)
{
	filelock_drop(fs->lock, LOCK_BYTES);
}

/* ---- beside a writer ---- */

/* Without the lock's file there is no writer; one that comes later waits for those that hold the folder. Negative
 * errno: ESTALE when it came or went meanwhile. */
static int share(struct fileset *fs)
{
	int rc, fd = openat(fs->set.place.dir, FILESET_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int on = fd < 0 ? fs->set.place.dir : fd;

	if (fd < 0 && errno != ENOENT)
		return -errno;
	rc = filelock_take(on, LOCK_BYTES, false, true);
	if (!rc && (fd < 0 ? place_stamp(&fs->set.place, FILESET_LOCK).there : !has_name(fs, fd))) {
		filelock_drop(on, LOCK_BYTES);
		rc = -ESTALE;
	}
	if (rc && fd >= 0)
		close(fd);
	else if (!rc)
		fs->read_lock = fd;
	return rc;
}

static int take(void *ctx, bool *changed, bool *locked, struct err *e)
{
	struct fileset *fs = ctx;
	struct stamp now;
	int rc = -ESTALE;

	for (unsigned i = 0; i < TRIES && rc == -ESTALE; i++)
		rc = share(fs);
	if (rc && rc != -EACCES && !filelock_unknown(rc))
		return err_set(e, -rc, "it cannot be locked: %s", strerror(-rc));
	*locked = !rc;
	now = place_stamp(&fs->set.place, fs->set.place.journal);
	*changed = !stamp_equal(&now, &fs->journal, false);
	return 0;
}

static void drop(void *ctx)
{
	struct fileset *fs = ctx;

	if (fs->read_lock < 0)
		filelock_drop(fs->set.place.dir, LOCK_BYTES);
	else
		close(fs->read_lock);
	fs->read_lock = -1;
}

static const struct reading_ops beside = { .take = take, .drop = drop };

int fileset_read_begin(struct fileset *fs, bool *changed, struct err *e)
{
	*changed = false;
	return fs->lock >= 0 ? 0 : reading_begin(&fs->reading, changed, e);
}

void fileset_read_end(struct fileset *fs)
{
	if (fs->lock < 0)
		reading_end(&fs->reading);
}

void fileset_read_alone(struct fileset *fs, bool alone)
{
	fs->reading.alone = alone;
}

static int look(struct fileset *fs, struct err *e)
{
	bool changed, locked = false;
	int rc = take(fs, &changed, &locked, e);

	rc = rc ? rc : load_pending(fs, e);
	if (locked)
		drop(fs);
	return rc;
}

int fileset_refresh(struct fileset *fs, struct err *e)
{
	if (fs->lock >= 0)
		return 0;
	reading_let_go(&fs->reading);
	return look(fs, e);
}

/* ---- opening ---- */

static int open_folder(struct fileset *fs, int dirfd, const char *path, struct err *e)
{
	struct place *p = &fs->set.place;

	fs->path = realpath(path, NULL);
	if (!fs->path)
		fs->path = strdup(path);
	if (!fs->path)
		return err_nomem(e);
	place_name(p);
	p->dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0 || fstat(p->dir, &p->like))
		return err_set(e, errno, "%s", strerror(errno));
	return 0;
}

int fileset_open(int dirfd, const char *path, const struct fileset_options *opt, struct fileset **out, struct err *e)
{
	struct fileset *fs = calloc(1, sizeof *fs);
	int rc;

	if (!fs)
		return err_nomem(e);
	fs->set = (struct set){
		.ops = &fileset_set_ops, .noundo = opt->noundo, .spent = -1,
		.hold = opt->hold, .hold_ctx = opt->hold_ctx,
		.place = { .io = opt->io ? opt->io : &io_system, .ctx = opt->io_ctx, .dir = -1 },
	};
	fs->lock = fs->read_lock = fs->pending.fd = -1;
	reading_init(&fs->reading, &beside, fs);
	rc = open_folder(fs, dirfd, path, e);
	if (!rc && opt->write)
		rc = start_writing(fs, e);
	if (!rc && fs->lock < 0)
		rc = look(fs, e);
	if (rc)
		fileset_close(fs);
	else
		*out = fs;
	return rc;
}

void fileset_close(struct fileset *fs)
{
	reading_stop(&fs->reading);
	fileset_tidy(fs);
	forget_pending(fs);
	leave_folder(fs);
	if (fs->set.place.dir >= 0)
		close(fs->set.place.dir);
	free(fs->path);
	free(fs);
}

bool fileset_writable(const struct fileset *fs, const char **why)
{
	if (why)
		*why = *fs->set.why ? fs->set.why : "it was opened for reading";
	return fs->lock >= 0;
}
