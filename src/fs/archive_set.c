/* An archive as a set: its own file and those that belong to it, which lie beside it. Journals call them by their names
 * there; files that are not open here are opened for as long as they are needed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "archive_in.h"
#include "filelock.h"

static struct archive *of(struct set *s)
{
	return (struct archive *)s;
}

/* ---- what is together ---- */

static void leave(struct archive *a)
{
	struct archive *at = a->in ? atomic_load(&a->in->parts) : NULL;

	if (at == a)
		atomic_store(&a->in->parts, a->next);
	for (; at && at != a; at = at->next)
		if (at->next == a)
			at->next = a->next;
	a->in = NULL;
}

void archive_join(struct archive *a)
{
	if (a->in == a->with)
		return;
	leave(a);
	a->in = a->with;
	if (!a->in)
		return;
	a->next = atomic_load(&a->in->parts);
	atomic_store(&a->in->parts, a);
}

void archive_part(struct archive *a)
{
	for (struct archive *at = atomic_load(&a->parts); at; at = at->next)
		at->beside = at->with = at->in = NULL;
	leave(a);
	a->beside = a->with = NULL;
}

const char *archive_subject(const struct archive *a)
{
	return a->with ? a->set.place.name : "";
}

struct archive *archive_first(struct archive *a)
{
	return a->with ? a->with : a;
}

/* The open one that journals call so; NULL: it is not open. */
static struct archive *open_one(struct archive *a, const char *path)
{
	struct archive *first = archive_first(a), *at = atomic_load(&first->parts);

	if (!*path)
		return first;
	while (at && strcmp(at->set.place.name, path))
		at = at->next;
	return at;
}

static size_t stem_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name ? (size_t)(dot - name) : 0;
}

/* A journal may come from anywhere: it must not lead out of the folder, nor to what modelfs keeps there, nor to hidden
 * files, except for those that are called like a hidden archive but for the extension. */
static bool may_belong(const char *name, const char *first)
{
	size_t n = stem_of(first);

	if (strchr(name, '/') || strstr(name, ".modelfs-") || !strcmp(name, first))
		return false;
	return *name != '.' || (n && stem_of(name) == n && !strncmp(name, first, n));
}

static int check_path(struct archive *a, const char *path, struct err *e)
{
	if (!*path || may_belong(path, archive_first(a)->set.place.name))
		return 0;
	return err_set(e, EBADMSG, "its journal names %s, which does not belong to it", path);
}

static bool same_dir(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A journal of its own was left when it was opened by itself: until that is finished it belongs to nobody. */
void archive_choose(struct archive *a)
{
	struct place *p = &a->set.place;
	const struct place *to = a->beside ? &a->beside->set.place : NULL;

	a->with = NULL;
	place_name(p);
	if (!to || !may_belong(p->name, to->name) || !same_dir(p->dir, to->dir) || place_stamp(p, p->journal).there)
		return;
	a->with = a->beside;
	memcpy(p->journal, to->journal, sizeof p->journal);
	memcpy(p->fresh, to->fresh, sizeof p->fresh);
	memcpy(p->undo, to->undo, sizeof p->undo);
}

/* ---- one file ---- */

static int open_archive(struct archive *a, struct member *m)
{
	const struct stamp *is = &a->s.stamp;

	m->fd = a->s.fd;
	m->was = a->s.st;
	m->was.st_dev = is->dev;
	m->was.st_ino = is->ino;
	m->was.st_size = is->size;
	m->was.st_mtim = is->mtime;
	return 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	struct stamp x = stamp_of(a), y = stamp_of(b);

	return stamp_equal(&x, &y, false);
}

static int open_other(struct set *s, struct member *m, struct err *e)
{
	const struct place *p = &s->place;
	struct stat st;
	int rc;

	m->fd = p->io->openat(p->ctx, p->dir, m->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (m->fd < 0)
		return err_set(e, -m->fd, "%s cannot be written: %s", m->path, strerror(-m->fd));
	if (fstat(m->fd, &st) || !S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "%s is not a regular file", m->path);
	if (!m->was.st_ino)
		m->was = st;
	if (!is_same(&st, &m->was))
		return err_set(e, ESTALE, "%s was changed by another program", m->path);
	rc = filelock_take(m->fd, LOCK_WRITER, true, false);
	return rc == -EAGAIN ? err_set(e, EBUSY, "%s is open for writing in another program", m->path) :
	       rc ? err_set(e, -rc, "%s cannot be locked: %s", m->path, strerror(-rc)) : 0;
}

static int open_member(struct set *s, const char *path, struct member *m, struct err *e)
{
	struct archive *a = open_one(of(s), path);
	int rc = check_path(of(s), path, e);

	if (rc)
		return rc;
	m->path = path;
	m->dir = s->place.dir;
	m->name = *path ? path : archive_first(of(s))->set.place.name;
	return a ? open_archive(a, m) : open_other(s, m, e);
}

static void close_member(struct set *s, struct member *m)
{
	struct archive *a = m->path ? open_one(of(s), m->path) : NULL;

	if (m->fd < 0)
		return;
	if (!a) {
		place_close(&s->place, m->fd);
		return;
	}
	a->s.fd = m->fd;
	a->s.stamp.mtime = m->was.st_mtim;
}

int archive_check_stamp(const struct archive *a, struct err *e)
{
	struct stamp now = archive_stamp(a);

	return stamp_equal(&now, &a->s.stamp, a->s.device) ? 0 :
	       err_set(e, ESTALE, "%s was %s by another program", journal_subject(archive_subject(a)),
		       now.there ? "changed" : "removed");
}

static int check_member(struct set *s, const struct member *m, struct err *e)
{
	const struct archive *a = open_one(of(s), m->path);
	struct stamp now, was;

	if (a)
		return archive_check_stamp(a, e);
	now = place_stamp(&s->place, m->name);
	was = stamp_of(&m->was);
	return stamp_equal(&now, &was, false) ? 0 :
	       err_set(e, ESTALE, "%s was %s by another program", m->path, now.there ? "changed" : "removed");
}

/* ---- all of them ---- */

/* The archive's own lock first, whatever is changed: who reads has that one before all others. */
static int lock(struct set *s, const struct member *m, size_t n, struct err *e)
{
	int rc = filelock_take(of(s)->s.fd, LOCK_BYTES, true, true);

	for (size_t i = 0; i < n && !rc; i++)
		if (*m[i].path && m[i].fd >= 0)
			rc = filelock_take(m[i].fd, LOCK_BYTES, true, true);
	return rc ? err_set(e, -rc, "it cannot be locked: %s", strerror(-rc)) : 0;
}

static void unlock(struct set *s)
{
	filelock_drop(of(s)->s.fd, LOCK_BYTES);
	for (struct archive *a = atomic_load(&of(s)->parts); a; a = a->next)
		if (a->s.fd >= 0)
			filelock_drop(a->s.fd, LOCK_BYTES);
}

/* Where nothing is that a commit could have changed, it is as if nothing were there: the journal does not fit. */
static int open_source(struct set *s, const char *path, struct source **out, struct err *e)
{
	struct archive *a = open_one(of(s), path);
	struct stat st;
	int fd;

	if (check_path(of(s), path, e))
		return -ENOENT;
	if (a)
		return src_file(a->path, out, e);
	fd = openat(s->place.dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return err_set(e, errno == ELOOP ? ENOENT : errno, "%s", strerror(errno));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return src_fd(fd, out, e);
	close(fd);
	return err_set(e, ENOENT, "not a regular file");
}

static int renew(struct set *s, struct err *e)
{
	int rc = archive_renew(of(s), e);

	for (struct archive *a = atomic_load(&of(s)->parts); a && !rc; a = a->next)
		if (a->s.fd >= 0)
			rc = archive_renew(a, e);
	return rc;
}

/* What cannot be shown through the journal shows as much as it can. */
static void show_through(struct archive *a, const struct journal *j)
{
	struct source *src;

	if (archive_through(a, j, &src, NULL))
		return;
	a->s.st.st_size = (off_t)src->size;
	src_put(a->s.shown);
	a->s.shown = src;
}

static void broke(struct set *s, const struct journal *j)
{
	show_through(of(s), j);
	for (struct archive *a = atomic_load(&of(s)->parts); a; a = a->next)
		show_through(a, j);
}

const struct set_ops archive_set_ops = {
	.open = open_member, .close = close_member, .check = check_member, .lock = lock, .unlock = unlock,
	.source = open_source, .renew = renew, .broke = broke,
};
