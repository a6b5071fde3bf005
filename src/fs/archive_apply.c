/* From a complete journal to the archive it describes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "archive_in.h"
#include "filelock.h"

/* The file that journal j gives the archive's name to, or NULL when it patches the archive. */
static const char *taker(const struct place *p, const struct journal *j, kept_name room)
{
	if (j->h.flags & JOURNAL_REWRITTEN)
		return p->fresh;
	if (!(j->h.flags & JOURNAL_RESTORED))
		return NULL;
	place_kept(p, j->h.number, room);
	return room;
}

/* The file that journal j is about, and whether it has the archive's name (yet). */
static int subject(struct archive *a, const struct journal *j, struct source **out, bool *named, struct err *e)
{
	kept_name room;
	const char *name = taker(&a->place, j, room);
	struct buf path = { 0 };
	int rc = -ENOENT;

	if (name) {
		buf_printf(&path, "%s/%s", a->dir, name);
		buf_char(&path, 0);
		rc = path.bad ? err_nomem(e) : src_file((char *)path.p, out, e);
		buf_free(&path);
	}
	*named = rc == -ENOENT;
	return *named ? src_file(a->path, out, e) : rc;
}

/* ---- does it fit? ---- */

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

int archive_fits(struct archive *a, const struct journal *j, struct err *e)
{
	struct source *src;
	struct stat st;
	bool named;
	int rc = subject(a, j, &src, &named, e);

	if (rc)
		return rc;
	if (!(j->h.flags & JOURNAL_REWRITTEN))
		rc = journal_fits(j, src);
	else if (src->size != j->h.new_size)
		rc = 0;
	else if (!named)
		rc = a->s.file->size == j->h.old_size;
	else
		rc = !fstat(src_file_fd(src), &st) && st.st_ino == j->h.inode ? 1 : is_written(j, src);
	src_put(src);
	return rc < 0 ? err_set(e, -rc, "its journal cannot be compared with it: %s", strerror(-rc)) : rc;
}

int archive_through(struct archive *a, const struct journal *j, struct source **out, struct err *e)
{
	struct source *src;
	bool named;
	int rc = subject(a, j, &src, &named, e);

	if (rc)
		return rc;
	if (j->h.flags & JOURNAL_REWRITTEN) {
		*out = src;
		return 0;
	}
	rc = journal_overlay(j, src, out);
	src_put(src);
	return rc ? err_set(e, -rc, "it cannot be read through its journal: %s", strerror(-rc)) : 0;
}

/* ---- applying ---- */

int archive_open_locked(struct archive *a, const char *name, int flags)
{
	int rc, fd = place_open(&a->place, name, flags);

	if (fd < 0)
		return fd;
	rc = filelock_take(fd, LOCK_WRITER, true, false);
	if (!rc)
		return fd;
	place_close(&a->place, fd);
	return rc;
}

static int take_name(struct archive *a, const struct journal *j, const char *name, int from)
{
	const struct place *p = &a->place;
	kept_name kept;
	int rc = filelock_take(from, LOCK_BYTES, true, true);

	place_kept(p, j->h.number, kept);
	if (!rc && j->h.flags & JOURNAL_REWRITTEN && j->h.number && !archive_stamp(a, kept).there) {
		rc = p->io->renameat(p->ctx, p->dir, p->name, kept);   /* there are no hard links here */
		rc = rc && rc != -ENOENT ? rc : p->io->fsync(p->ctx, p->dir);
	}
	if (!rc)
		rc = p->io->renameat(p->ctx, p->dir, name, p->name);
	return rc ? rc : p->io->fsync(p->ctx, p->dir);
}

static int apply(struct archive *a, const struct journal *j, int from)
{
	const struct place *p = &a->place;
	kept_name room;
	const char *name = taker(p, j, room);
	int rc = 0;

	if (name && from < 0) {
		from = archive_open_locked(a, name, O_RDWR);
		if (from < 0 && from != -ENOENT)
			return from;
	}
	if (!(j->h.flags & JOURNAL_REWRITTEN))         /* that one was synced before */
		rc = journal_patch(p, j, from >= 0 ? from : a->s.fd);
	if (!rc && from >= 0)
		rc = take_name(a, j, name, from);
	else if (!rc && name)
		rc = p->io->fsync(p->ctx, p->dir);     /* the name may not be on disc */
	if (rc) {
		place_close(p, from);
	} else if (from >= 0) {
		place_close(p, a->s.fd);
		a->s.fd = from;
	}
	return rc;
}

static int record(struct archive *a, const struct journal *j, struct err *e)
{
	const struct place *p = &a->place;
	int rc = 0;

	if (j->h.flags & JOURNAL_CUTS)
		rc = undo_cut(p, &a->s.undo, j->h.cut, e);
	else if (j->h.flags & JOURNAL_RECORDED)
		rc = undo_add(p, &a->s.undo, j, e);
	if (!rc)
		p->io->unlinkat(p->ctx, p->dir, p->journal);   /* one that stays says what is true already */
	return rc;
}

int archive_settle(struct archive *a, const struct journal *j, int from, struct err *e)
{
	int rc = apply(a, j, from);

	if (rc)
		return err_set(e, -rc, "its journal cannot be applied: %s", strerror(-rc));
	a->s.owed = record(a, j, NULL) != 0;
	return 0;
}

int archive_pay(struct archive *a, struct err *e)
{
	struct journal j;
	int rc;

	if (!a->s.owed)
		return 0;
	rc = journal_find(&a->place, &j, e);
	if (rc == 1) {
		rc = record(a, &j, e);
		place_close(&a->place, j.fd);
	}
	a->s.owed = rc != 0;
	return rc;
}
