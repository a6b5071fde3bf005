/* From a complete journal to the files it describes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filelock.h"
#include "set.h"

/* The file that takes f's name, or NULL when f is patched. */
static const char *taker(const struct place *p, const struct journal_file *f, kept_name room)
{
	if (f->flags & JOURNAL_REWRITTEN)
		return p->fresh;
	if (!(f->flags & JOURNAL_RESTORED))
		return NULL;
	place_kept(p, f->number, room);
	return room;
}

/* The file that f is about, and whether it has the name (yet). file: what has it, if that is known. */
static int subject(struct set *s, const struct journal_file *f, struct source *file, struct source **out, bool *named,
		   struct err *e)
{
	kept_name room;
	const char *name = taker(&s->place, f, room);
	int fd = name ? openat(s->place.dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;

	*named = !name || (fd < 0 && errno == ENOENT);
	if (fd >= 0)
		return src_fd(fd, out, e);
	if (!*named)
		return err_set(e, errno, "%s cannot be opened: %s", name, strerror(errno));
	if (!file)
		return s->ops->source(s, f->path, out, e);
	*out = src_ref(file);
	return 0;
}

/* ---- does it fit? ---- */

static ino_t inode_of(const struct source *src)
{
	struct stat st;

	return fstat(src_file_fd(src), &st) ? 0 : st.st_ino;
}

static int is_written(const struct journal *j, struct source *src)
{
	uint32_t crc = 0, *crcs = journal_crcs(j);
	uint8_t *room = malloc(JOURNAL_PIECE);
	struct plan plan;
	bool same = true;
	size_t n;
	int rc = crcs && room ? 0 : -ENOMEM;

	plan_init(&plan, src);
	for (uint32_t i = 0; i < j->h.ncrcs && !rc && same; i++) {
		rc = journal_piece(&plan, i, room, &n, &crc);
		same = crc == crcs[i];
	}
	plan_free(&plan);
	free(room);
	free(crcs);
	return rc ? rc : same;
}

/* Whether the new file `fresh` may take the name of what is there. It can have it already and its own name as well,
 * when two directories were not written together; and it can be that nothing is there, where old files are renamed. */
static int fits_before(struct set *s, const struct journal_file *f, struct source *fresh)
{
	struct source *now;
	kept_name kept;
	int rc = s->ops->source(s, f->path, &now, NULL);

	if (rc == -ENOENT) {
		place_kept(&s->place, f->number, kept);
		return f->number && place_stamp(&s->place, kept).there;
	}
	if (rc)
		return rc;
	rc = now->size == f->old_size || inode_of(now) == inode_of(fresh);
	src_put(now);
	return rc;
}

static int fits_file(struct set *s, const struct journal *j, const struct journal_file *f)
{
	struct source *src;
	bool named;
	int rc = subject(s, f, NULL, &src, &named, NULL);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (!(f->flags & JOURNAL_REWRITTEN))
		rc = journal_fits(j, f, src);
	else if (src->size != f->new_size)
		rc = 0;
	else if (!named)
		rc = fits_before(s, f, src);
	else
		rc = inode_of(src) == f->inode ? 1 : is_written(j, src);
	src_put(src);
	return rc;
}

int set_fits(struct set *s, const struct journal *j, struct err *e)
{
	struct journal_file *v;
	int rc = journal_files(j, &v), fits = 1;

	if (rc == -EBADMSG) {
		err_set(e, -rc, "its journal is damaged");
		return 0;
	}
	for (uint32_t i = 0; !rc && i < j->h.nfiles && fits == 1; i++) {
		const char *it = *v[i].path ? v[i].path : "it";

		fits = fits_file(s, j, &v[i]);
		if (!fits)
			err_set(e, EBADMSG, "its journal does not fit %s: another program has changed it since", it);
		else if (fits < 0)
			err_set(e, -fits, "its journal cannot be compared with %s: %s", it, strerror(-fits));
	}
	if (rc)
		return err_set(e, -rc, "its journal cannot be read: %s", strerror(-rc));
	free(v);
	return fits;
}

int set_through(struct set *s, const struct journal *j, const struct journal_file *f, struct source *file,
		struct source **out, struct err *e)
{
	struct source *src;
	bool named;
	int rc = subject(s, f, file, &src, &named, e);

	if (rc)
		return rc;
	if (f->flags & JOURNAL_REWRITTEN) {
		*out = src;
		return 0;
	}
	rc = journal_overlay(j, f, src, out);
	src_put(src);
	return rc ? err_set(e, -rc, "it cannot be read through its journal: %s", strerror(-rc)) : 0;
}

/* ---- applying ---- */

/* Opens the file that is to take m's name, if it has not yet. With both names, it only loses its own. */
static int find_taker(struct set *s, const char *name, struct member *m)
{
	const struct place *p = &s->place;
	struct stamp there = place_stamp(p, name);
	struct stat st;
	int rc;

	if (!there.there)
		return 0;
	if (m->fd >= 0 && !fstat(m->fd, &st) && st.st_ino == there.ino) {
		rc = p->io->unlinkat(p->ctx, p->dir, name);
		return rc == -ENOENT ? 0 : rc;
	}
	m->from = place_open_locked(p, name, O_RDWR);
	return m->from < 0 ? m->from : 0;
}

static int take_name(struct set *s, const struct journal_file *f, const char *name, struct member *m)
{
	const struct place *p = &s->place;
	kept_name kept;
	int rc = filelock_take(m->from, LOCK_BYTES, true, true);

	place_kept(p, f->number, kept);
	if (!rc && f->flags & JOURNAL_REWRITTEN && f->number && !place_stamp(p, kept).there) {
		rc = p->io->renameat(p->ctx, m->dir, m->name, p->dir, kept);   /* there are no hard links here */
		rc = rc && rc != -ENOENT ? rc : p->io->fsync(p->ctx, p->dir);
	}
	if (!rc)
		rc = p->io->renameat(p->ctx, p->dir, name, m->dir, m->name);
	return rc ? rc : p->io->fsync(p->ctx, m->dir);
}

static int apply(struct set *s, const struct journal *j, const struct journal_file *f, struct member *m)
{
	const struct place *p = &s->place;
	kept_name room;
	const char *name = taker(p, f, room);
	int rc = 0;

	if (name && m->from < 0)
		rc = find_taker(s, name, m);
	if (!rc && m->fd < 0 && m->from < 0)
		rc = -ENOENT;
	if (!rc && !(f->flags & JOURNAL_REWRITTEN))    /* that one was synced before */
		rc = journal_patch(p, j, f, m->from >= 0 ? m->from : m->fd);
	if (!rc && m->from >= 0)
		rc = take_name(s, f, name, m);
	else if (!rc && name)
		rc = p->io->fsync(p->ctx, m->dir);     /* the name may not be on disc */
	if (!rc && m->from >= 0) {
		place_close(p, m->fd);
		m->fd = m->from;
		m->from = -1;
	}
	return rc;
}

static int record(struct set *s, const struct journal *j, struct err *e)
{
	const struct place *p = &s->place;
	int rc = 0;

	if (j->h.flags & JOURNAL_CUTS)
		rc = undo_cut(p, &s->undo, j->h.cut, e);
	else if (j->h.flags & JOURNAL_RECORDED)
		rc = undo_add(p, &s->undo, j, e);
	if (!rc)
		p->io->unlinkat(p->ctx, p->dir, p->journal);   /* one that stays says what is true already */
	return rc;
}

int set_settle(struct set *s, const struct journal *j, const struct journal_file *v, struct member *m, struct err *e)
{
	for (uint32_t i = 0; i < j->h.nfiles; i++) {
		int rc = apply(s, j, &v[i], &m[i]);

		if (rc)
			return err_set(e, -rc, "its journal cannot be applied%s%s: %s", *v[i].path ? " to " : "",
				       v[i].path, strerror(-rc));
	}
	s->owed = record(s, j, NULL) != 0;
	return 0;
}

int set_pay(struct set *s, struct err *e)
{
	struct journal j;
	int rc;

	if (!s->owed)
		return 0;
	rc = journal_find(&s->place, &j, e);
	if (rc == 1) {
		rc = record(s, &j, e);
		place_close(&s->place, j.fd);
	}
	s->owed = rc != 0;
	return rc;
}

/* ---- after a crash ---- */

/* Removes what a commit that did not come to its commit point has left: a journal, an undo file with nothing in it, the
 * file it wrote anew and the second name of its old one. */
static int clean(struct set *s, struct err *e)
{
	const struct place *p = &s->place;
	int fd, rc = p->io->unlinkat(p->ctx, p->dir, p->journal);

	if (rc && rc != -ENOENT)
		return err_set(e, -rc, "an incomplete journal cannot be removed: %s", strerror(-rc));
	p->io->unlinkat(p->ctx, p->dir, p->fresh);
	fd = undo_open(p, &s->undo, false, NULL);
	place_close(p, fd);
	if (fd >= 0 && !s->undo.size)          /* made for a commit that did not come to pass */
		p->io->unlinkat(p->ctx, p->dir, p->undo);
	for (uint64_t n = s->undo.sequence + 1; n <= UINT32_MAX; n++) {
		struct stat st;
		kept_name name;

		place_kept(p, (uint32_t)n, name);
		if (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW))
			break;
		if (S_ISREG(st.st_mode) && st.st_nlink > 1 && !undo_keeps(p, &s->undo, (uint32_t)n))
			p->io->unlinkat(p->ctx, p->dir, name);
	}
	return 0;
}

static void close_all(struct set *s, const struct journal *j, struct member *m)
{
	for (uint32_t i = 0; i < j->h.nfiles; i++) {
		place_close(&s->place, m[i].from);
		s->ops->close(s, &m[i]);
	}
}

static int open_all(struct set *s, const struct journal *j, const struct journal_file *v, struct member *m,
		    struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < j->h.nfiles; i++)
		m[i] = (struct member){ .path = v[i].path, .fd = -1, .from = -1, .dir = -1,
					.takes = v[i].flags & (JOURNAL_REWRITTEN | JOURNAL_RESTORED) };
	for (uint32_t i = 0; i < j->h.nfiles && !rc; i++) {
		rc = s->ops->open(s, v[i].path, &m[i], e);
		if (rc == -ENOENT && m[i].takes && m[i].dir >= 0)
			rc = 0;                /* the old one has another name, the new one not yet this one */
	}
	return rc;
}

static int finish(struct set *s, const struct journal *j, struct err *e)
{
	struct journal_file *v = NULL;
	struct member *m = calloc(j->h.nfiles + (size_t)1, sizeof *m);
	int rc = m ? journal_files(j, &v) : -ENOMEM;

	if (rc) {
		free(m);
		return err_set(e, -rc, "its journal cannot be read: %s", strerror(-rc));
	}
	rc = open_all(s, j, v, m, e);
	if (!rc)
		rc = s->ops->lock(s, m, j->h.nfiles, e);
	if (!rc)
		rc = set_settle(s, j, v, m, e);
	close_all(s, j, m);
	s->ops->unlock(s);
	free(m);
	free(v);
	return rc;
}

int set_recover(struct set *s, struct err *e)
{
	struct journal j;
	int rc = journal_find(&s->place, &j, e);

	if (rc < 0)
		return rc;
	if (!rc) {
		rc = s->ops->lock(s, NULL, 0, e);
		rc = rc ? rc : clean(s, e);
		s->ops->unlock(s);
		return rc;
	}
	rc = set_fits(s, &j, e);
	rc = rc == 1 ? finish(s, &j, e) : rc ? rc : -EBADMSG;
	place_close(&s->place, j.fd);
	return rc;
}
