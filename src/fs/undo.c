#include "undo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY ((size_t)64 << 10)

static int fail(struct err *e, int rc, const char *what)
{
	return err_set(e, -rc, "the undo file cannot be %s: %s", what, strerror(-rc));
}

/* ---- the file ---- */

/* Only the last commit can be torn: the others were on disc before the next began. */
static int scan(int fd, struct undo *u)
{
	struct journal j, last = { .fd = -1 };
	uint64_t before = 0;
	int rc;

	u->last = u->end = u->sequence = 0;
	while ((rc = journal_head(fd, u->end, &j)) == 1) {
		if (!span_ok(u->size, u->end, j.h.length, 1) || j.h.sequence <= u->sequence)
			break;
		before = u->sequence;
		u->sequence = j.h.sequence;
		u->last = u->end;
		u->end += j.h.length;
		last = j;
	}
	if (rc < 0 || last.fd < 0)
		return rc < 0 ? rc : 0;
	rc = journal_complete(&last);
	if (!rc) {
		u->end = last.at;
		u->sequence = before;
	}
	return rc < 0 ? rc : 0;
}

int undo_open(const struct place *p, struct undo *u, bool create, struct err *e)
{
	int rc, fd = place_open(p, p->undo, create ? O_RDWR | O_CREAT : O_RDWR);
	struct stat st;

	if (fd == -EACCES || fd == -EROFS)     /* for the log */
		fd = create ? fd : place_open(p, p->undo, O_RDONLY);
	if (fd == -ENOENT && !create) {
		*u = (struct undo){ 0 };
		return fd;
	}
	if (fd < 0)
		return fail(e, fd, "opened");
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!rc && (!u->ino || u->ino != st.st_ino || u->size != (uint64_t)st.st_size)) {
		u->size = (uint64_t)st.st_size;
		rc = scan(fd, u);
		u->ino = rc ? 0 : st.st_ino;
	}
	if (!rc)
		return fd;
	place_close(p, fd);
	if (rc == -ENOTSUP)
		return err_set(e, ENOTSUP, "the undo file was written by another version of modelfs");
	return fail(e, rc, "read");
}

static int copy(const struct place *p, const struct journal *j, int to, uint64_t at)
{
	uint8_t *buf = malloc(COPY);
	int rc = buf ? 0 : -ENOMEM;

	for (uint64_t done = 0, part; done < j->h.length && !rc; done += part) {
		part = j->h.length - done < COPY ? j->h.length - done : COPY;
		rc = src_fd_read(j->fd, buf, (size_t)part, j->at + done);
		if (!rc)
			rc = place_write(p, to, buf, (size_t)part, at + done);
	}
	free(buf);
	return rc;
}

/* What is there already is written again: after a failed sync it may be in memory only. */
static int append(const struct place *p, struct undo *u, const struct journal *j, int fd)
{
	uint64_t at = u->sequence == j->h.sequence ? u->last : u->end;
	struct stat st;
	int rc = u->size > at + j->h.length ? p->io->ftruncate(p->ctx, fd, at) : 0;

	u->ino = 0;                            /* to be read again, unless all goes well */
	if (!rc)
		rc = copy(p, j, fd, at);
	if (!rc)
		rc = p->io->fsync(p->ctx, fd);
	if (!rc && !fstat(fd, &st))
		*u = (struct undo){ st.st_ino, (uint64_t)st.st_size, at, at + j->h.length, j->h.sequence };
	return rc;
}

int undo_add(const struct place *p, struct undo *u, const struct journal *j, struct err *e)
{
	int rc = 0, fd = undo_open(p, u, true, e);

	if (fd < 0)
		return fd;
	if (u->sequence <= j->h.sequence)
		rc = append(p, u, j, fd);
	place_close(p, fd);
	return rc ? fail(e, rc, "written") : 0;
}

int undo_each(int fd, uint64_t end, int (*fn)(void *ctx, const struct journal *), void *ctx)
{
	struct journal j;
	int rc = 0;

	for (uint64_t at = 0; at < end && !rc; at += j.h.length) {
		rc = journal_head(fd, at, &j);
		rc = rc == 1 ? fn(ctx, &j) : rc ? rc : -EBADMSG;
	}
	return rc;
}

struct cut { const struct place *p; uint64_t at; bool dropped; };

static int drop_kept(void *ctx, const struct journal *j)
{
	struct cut *c = ctx;
	kept_name name;
	int rc;

	if (j->at < c->at || !j->h.number)
		return 0;
	place_kept(c->p, j->h.number, name);
	rc = c->p->io->unlinkat(c->p->ctx, c->p->dir, name);
	c->dropped |= !rc || rc == -ENOENT;    /* that may not be on disc yet, either */
	return rc == -ENOENT ? 0 : rc;
}

int undo_cut(const struct place *p, struct undo *u, uint64_t cut, struct err *e)
{
	struct cut c = { p, cut, false };
	int rc, fd = undo_open(p, u, false, e);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = undo_each(fd, u->end, drop_kept, &c);
	if (!rc && c.dropped)                  /* before the commits that name them go */
		rc = p->io->fsync(p->ctx, p->dir);
	if (!rc && u->size > cut)
		rc = p->io->ftruncate(p->ctx, fd, cut);
	if (!rc)
		rc = p->io->fsync(p->ctx, fd);         /* an empty one that comes back after a crash says nothing */
	if (!rc && !cut)
		rc = p->io->unlinkat(p->ctx, p->dir, p->undo);
	u->ino = 0;
	place_close(p, fd);
	return rc ? fail(e, rc, "cut") : 0;
}

uint64_t undo_space(const struct place *p, const struct journal *j)
{
	kept_name name;
	struct stat st;

	if (!j->h.number)
		return j->h.length;
	place_kept(p, j->h.number, name);
	return j->h.length + (fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? 0 : (uint64_t)st.st_size);
}

/* ---- the way back ---- */

struct step { struct back *b; const struct journal *j; uint8_t *room; struct err *e; };

static int differs(const struct step *s, uint64_t from, uint64_t to)
{
	return err_set(s->e, ESTALE, "the archive was changed by another program: bytes 0x%llx to 0x%llx are not what "
		       "commit %llu wrote", (unsigned long long)from, (unsigned long long)to,
		       (unsigned long long)s->j->h.sequence);
}

static int back_record(void *ctx, const struct record *r)
{
	struct step *s = ctx;
	int rc = r->nnew ? plan_read(&s->b->plan, s->room, r->nnew, r->at) : 0;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < r->nnew; i++) {
		uint32_t end = i + 1;

		if (s->room[i] == r->new_bytes[i])
			continue;
		while (end < r->nnew && s->room[end] != r->new_bytes[end])
			end++;
		return differs(s, r->at + i, r->at + end - 1);
	}
	return r->nold ? plan_write(&s->b->plan, r->at, r->old_bytes, r->nold) : 0;
}

/* Back over a commit that patched the archive. What is cut off at the end cannot show again: where a file grows back,
 * the records have every byte. */
static int back_patched(struct step *s)
{
	struct plan *plan = &s->b->plan;
	int rc;

	if (s->j->h.old_size > plan->size)
		plan->size = s->j->h.old_size;
	rc = journal_each(s->j, back_record, s);
	plan->size = s->j->h.old_size;
	return rc;
}

/* Back over one that wrote it anew: its old file, if the archive is what the commit wrote. */
static int back_rewritten(struct step *s, const struct place *p, const char *dir)
{
	uint32_t crc = 0, *crcs = journal_crcs(s->j);
	struct source *old;
	struct buf path = { 0 };
	kept_name name;
	size_t n;
	int rc = crcs ? 0 : -EIO;

	for (uint32_t i = 0; i < s->j->h.ncrcs && !rc; i++) {
		rc = journal_piece(&s->b->plan, i, s->room, &n, &crc);
		if (!rc && crc != crcs[i])
			rc = differs(s, i * JOURNAL_PIECE, i * JOURNAL_PIECE + n - 1);
	}
	free(crcs);
	if (rc)
		return rc;
	place_kept(p, s->j->h.number, name);
	buf_printf(&path, "%s/%s", dir, name);
	buf_char(&path, 0);
	rc = path.bad ? err_nomem(s->e) : src_file((char *)path.p, &old, s->e);
	buf_free(&path);
	if (rc)
		return err_set(s->e, -rc, "the archive from before commit %llu, %s, cannot be read: %s",
			       (unsigned long long)s->j->h.sequence, name, strerror(-rc));
	if (old->size != s->j->h.old_size) {
		rc = err_set(s->e, ESTALE, "%s has %llu bytes, but the archive had %llu before commit %llu", name,
			     (unsigned long long)old->size, (unsigned long long)s->j->h.old_size,
			     (unsigned long long)s->j->h.sequence);
	} else {
		plan_free(&s->b->plan);
		plan_init(&s->b->plan, old);
		s->b->kept = s->j->h.number;
	}
	src_put(old);
	return rc;
}

static int back_one(struct step *s, const struct place *p, const char *dir)
{
	const struct journal *j = s->j;
	int rc = journal_complete(j);

	if (!rc)
		return err_set(s->e, EBADMSG, "the undo file is damaged between 0x%llx and 0x%llx",
			       (unsigned long long)j->at, (unsigned long long)(j->at + j->h.length - 1));
	if (rc < 0)
		return rc;
	if (s->b->plan.size != j->h.new_size)
		return err_set(s->e, ESTALE, "the archive was changed by another program: it has %llu bytes, but "
			       "commit %llu left %llu", (unsigned long long)s->b->plan.size,
			       (unsigned long long)j->h.sequence, (unsigned long long)j->h.new_size);
	return j->h.flags & JOURNAL_REWRITTEN ? back_rewritten(s, p, dir) : back_patched(s);
}

/* Leaves out what was written behind the end. */
static void trim(struct plan *plan)
{
	while (plan->n && plan->v[plan->n - 1].at + plan->v[plan->n - 1].len > plan->size) {
		struct write *w = &plan->v[plan->n - 1];
		size_t keep = w->at < plan->size ? (size_t)(plan->size - w->at) : 0;

		plan->bytes -= w->len - keep;
		w->len = keep;
		if (!keep) {
			free(w->bytes);
			plan->n--;
		}
	}
}

struct list { uint64_t *at; size_t n, cap; };

static int list_commit(void *ctx, const struct journal *j)
{
	struct list *l = ctx;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		uint64_t *v = realloc(l->at, cap * sizeof *v);

		if (!v)
			return -ENOMEM;
		l->at = v;
		l->cap = cap;
	}
	l->at[l->n++] = j->at;
	return 0;
}

int undo_back(const struct place *p, const char *dir, const struct undo *u, int fd, struct source *now, unsigned n,
	      struct back *b, struct err *e)
{
	struct err why = { 0 };
	struct list all = { 0 };
	struct journal j;
	struct step s = { .b = b, .j = &j, .room = malloc(JOURNAL_PIECE), .e = &why };
	int rc = s.room ? undo_each(fd, u->end, list_commit, &all) : -ENOMEM;

	*b = (struct back){ .cut = u->end };
	plan_init(&b->plan, now);
	while (!rc && b->n < n && b->n < all.n) {
		b->cut = all.at[all.n - ++b->n];
		rc = journal_head(fd, b->cut, &j) == 1 ? back_one(&s, p, dir) : -EIO;
	}
	if (!rc) {
		trim(&b->plan);
		rc = plan_settle(&b->plan, &why);
	}
	free(s.room);
	free(all.at);
	if (rc && e) {
		*e = why;
		if (!why.code)
			fail(e, rc, "read");
	}
	return rc;
}
