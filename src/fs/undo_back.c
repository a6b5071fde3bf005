/* The way back over the last commits of an undo file: what they changed must still be what they made of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "undo.h"

struct way {
	const struct place *p;
	int (*open)(void *ctx, const char *path, struct source **out, struct err *e);
	void *ctx;
	struct back *b;
	size_t cap;
	uint8_t *room;                         /* JOURNAL_PIECE bytes */
	struct err *e;
};

/* A file of a commit that is being taken back. */
struct step { struct way *w; struct back_file *file; const struct journal *j; const struct journal_file *f; };

static unsigned long long sequence(const struct step *s)
{
	return s->j->h.sequence;
}

static int differs(const struct step *s, uint64_t from, uint64_t to)
{
	return err_set(s->w->e, ESTALE, "%s was changed by another program: bytes 0x%llx to 0x%llx are not what commit "
		       "%llu wrote", journal_subject(s->f->path), (unsigned long long)from, (unsigned long long)to,
		       sequence(s));
}

/* ---- one file of one commit ---- */

static int back_record(void *ctx, const struct record *r)
{
	struct step *s = ctx;
	struct plan *plan = &s->file->plan;
	uint8_t *room = s->w->room;
	int rc = r->nnew ? plan_read(plan, room, r->nnew, r->at) : 0;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < r->nnew; i++) {
		uint32_t end = i + 1;

		if (room[i] == r->new_bytes[i])
			continue;
		while (end < r->nnew && room[end] != r->new_bytes[end])
			end++;
		return differs(s, r->at + i, r->at + end - 1);
	}
	return r->nold ? plan_write(plan, r->at, r->old_bytes, r->nold) : 0;
}

/* Back over a patch. What is cut off at the end cannot show again: where a file grows back, the records have every
 * byte. */
static int back_patched(struct step *s)
{
	struct plan *plan = &s->file->plan;
	int rc;

	if (s->f->old_size > plan->size)
		plan->size = s->f->old_size;
	rc = journal_each(s->j, s->f, back_record, s);
	plan->size = s->f->old_size;
	return rc;
}

static int check_rewritten(struct step *s)
{
	uint32_t crc = 0, *crcs = journal_crcs(s->j);
	int rc = crcs ? 0 : -EIO;
	size_t n;

	for (uint32_t i = 0; i < s->j->h.ncrcs && !rc; i++) {
		rc = journal_piece(&s->file->plan, i, s->w->room, &n, &crc);
		if (!rc && crc != crcs[i])
			rc = differs(s, i * JOURNAL_PIECE, i * JOURNAL_PIECE + n - 1);
	}
	free(crcs);
	return rc;
}

static int open_kept(const struct place *p, const char *name, struct source **out, struct err *e)
{
	int fd = place_open(p, name, O_RDONLY | O_NONBLOCK);

	return fd < 0 ? err_set(e, -fd, "%s", strerror(-fd)) : src_fd(fd, out, e);
}

/* Back over a file that was written anew: its old one, if it is what the commit wrote. */
static int back_rewritten(struct step *s)
{
	const char *subject = journal_subject(s->f->path);
	struct err why = { 0 };
	struct source *old;
	kept_name name;
	int rc = check_rewritten(s);

	if (rc)
		return rc;
	place_kept(s->w->p, s->f->number, name);
	rc = open_kept(s->w->p, name, &old, &why);
	if (rc)
		return err_set(s->w->e, -rc, "%s from before commit %llu, %s, cannot be read: %s", subject, sequence(s),
			       name, why.text);
	if (old->size != s->f->old_size) {
		rc = err_set(s->w->e, ESTALE, "%s has %llu bytes, but %s had %llu before commit %llu", name,
			     (unsigned long long)old->size, subject, (unsigned long long)s->f->old_size, sequence(s));
	} else {
		plan_free(&s->file->plan);
		plan_init(&s->file->plan, old);
		s->file->kept = s->f->number;
	}
	src_put(old);
	return rc;
}

static int back_one(struct step *s)
{
	uint64_t size = s->file->plan.size;

	if (size != s->f->new_size)
		return err_set(s->w->e, ESTALE, "%s was changed by another program: it has %llu bytes, but commit %llu "
			       "left %llu", journal_subject(s->f->path), (unsigned long long)size, sequence(s),
			       (unsigned long long)s->f->new_size);
	return s->f->flags & JOURNAL_REWRITTEN ? back_rewritten(s) : back_patched(s);
}

/* ---- one commit ---- */

static struct back_file *find_file(const struct back *b, const char *path)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->v[i].path, path))
			return &b->v[i];
	return NULL;
}

static int make_room(struct way *w)
{
	size_t cap = w->cap ? w->cap * 2 : 16;
	struct back_file *v;

	if (w->b->n < w->cap)
		return 0;
	v = realloc(w->b->v, cap * sizeof *v);
	if (!v)
		return -ENOMEM;
	w->b->v = v;
	w->cap = cap;
	return 0;
}

static int add_file(struct way *w, const char *path, uint64_t commit, struct back_file **out)
{
	struct back_file *file;
	struct err why = { 0 };
	struct source *now;
	int rc = make_room(w);

	if (rc)
		return rc;
	file = &w->b->v[w->b->n];
	*file = (struct back_file){ .path = strdup(path) };
	if (!file->path)
		return -ENOMEM;
	rc = w->open(w->ctx, path, &now, &why);
	if (rc) {
		free(file->path);
		return err_set(w->e, rc == -ENOENT ? ESTALE : -rc, "%s, which commit %llu changed, cannot be opened: "
			       "%s", journal_subject(path), (unsigned long long)commit, why.text);
	}
	fstat(src_file_fd(now), &file->was);
	plan_init(&file->plan, now);
	src_put(now);
	w->b->n++;
	*out = file;
	return 0;
}

static int back_commit(struct way *w, const struct journal *j)
{
	struct journal_file *v;
	int rc = journal_complete(j);

	if (!rc)
		return err_set(w->e, EBADMSG, "the undo file is damaged between 0x%llx and 0x%llx",
			       (unsigned long long)j->at, (unsigned long long)(j->at + j->h.length - 1));
	rc = rc < 0 ? rc : journal_files(j, &v);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < j->h.nfiles && !rc; i++) {
		struct step s = { w, find_file(w->b, v[i].path), j, &v[i] };

		rc = s.file ? 0 : add_file(w, v[i].path, j->h.sequence, &s.file);
		rc = rc ? rc : back_one(&s);
	}
	free(v);
	return rc;
}

/* ---- all of them ---- */

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

static void free_file(struct back_file *file)
{
	plan_free(&file->plan);
	free(file->path);
}

/* What several commits did to a file may come to nothing. */
static int settle(struct back *b, struct err *e)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < b->n && !rc; i++) {
		trim(&b->v[i].plan);
		rc = plan_settle(&b->v[i].plan, e);
	}
	for (size_t i = 0; i < b->n && !rc; i++) {
		const struct plan *plan = &b->v[i].plan;

		if (b->v[i].kept || plan->n || plan->size != plan->base->size)
			b->v[n++] = b->v[i];
		else
			free_file(&b->v[i]);
	}
	b->n = rc ? b->n : n;
	return rc;
}

int undo_back(const struct place *p, const struct undo *u, int fd, unsigned n,
	      int (*open)(void *ctx, const char *path, struct source **out, struct err *e), void *ctx, struct back *b,
	      struct err *e)
{
	struct err why = { 0 };
	struct list all = { 0 };
	struct way w = { .p = p, .open = open, .ctx = ctx, .b = b, .room = malloc(JOURNAL_PIECE), .e = &why };
	struct journal j;
	int rc = w.room ? undo_each(fd, u->end, list_commit, &all) : -ENOMEM;

	*b = (struct back){ .cut = u->end };
	while (!rc && b->commits < n && b->commits < all.n) {
		b->cut = all.at[all.n - ++b->commits];
		rc = journal_head(fd, b->cut, &j) == 1 ? back_commit(&w, &j) : -EIO;
	}
	if (!rc)
		rc = settle(b, &why);
	free(w.room);
	free(all.at);
	if (rc && e) {
		*e = why;
		if (!why.code)
			err_set(e, -rc, "the undo file cannot be read: %s", strerror(-rc));
	}
	return rc;
}

void undo_back_free(struct back *b)
{
	for (size_t i = 0; i < b->n; i++)
		free_file(&b->v[i]);
	free(b->v);
	*b = (struct back){ 0 };
}
