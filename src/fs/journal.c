#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "bytes.h"

#define HEAD 124u
#define RECORD 24u
#define RECORD_MOST (1u << 16)                 /* bytes of each kind in one record */
#define OUT ((size_t)64 << 10)                 /* written at once */
#define TICKS 20u                              /* milliseconds */
#define VERSION 1u

static const char magic[8] = { 'm', 'o', 'd', 'e', 'l', 'f', 's', 'J' };

/* ---- files beside the archive ---- */

void place_name(struct place *p)
{
	snprintf(p->journal, sizeof p->journal, ".%s.modelfs-journal", p->name);
	snprintf(p->fresh, sizeof p->fresh, ".%s.modelfs-new", p->name);
	snprintf(p->undo, sizeof p->undo, "%s.modelfs-undo", p->name);
}

void place_kept(const struct place *p, uint32_t number, kept_name out)
{
	snprintf(out, sizeof(kept_name), "%s.modelfs-undo.%u", p->name, number);
}

int place_open(const struct place *p, const char *name, int flags)
{
	mode_t mode = p->like.st_mode & 0666;
	struct stat st;
	int fd = p->io->openat(p->ctx, p->dir, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0 || !(flags & O_CREAT) || fstat(fd, &st))
		return fd;
	if ((st.st_uid != p->like.st_uid || st.st_gid != p->like.st_gid) &&
	    fchown(fd, p->like.st_uid, p->like.st_gid) && fchown(fd, (uid_t)-1, p->like.st_gid))
		mode &= ~(mode_t)060;          /* its group is another one */
	if ((st.st_mode & 07777) != mode)
		fchmod(fd, mode);
	return fd;
}

void place_close(const struct place *p, int fd)
{
	if (fd >= 0)
		p->io->close(p->ctx, fd);
}

int place_write(const struct place *p, int fd, const void *buf, size_t n, uint64_t at)
{
	const uint8_t *from = buf;

	while (n) {
		ssize_t done = p->io->pwrite(p->ctx, fd, from, n, at);

		if (done <= 0)
			return done ? (int)done : -EIO;
		from += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static uint64_t get64(const uint8_t *p)
{
	return le_u32(p) | (uint64_t)le_u32(p + 4) << 32;
}

static void put64(uint8_t *p, uint64_t v)
{
	put_le32(p, (uint32_t)v);
	put_le32(p + 4, (uint32_t)(v >> 32));
}

/* ---- writing ---- */

/* Calls fn for every record of what plan writes over a file of `old` bytes, without the old bytes. */
static int each_write(const struct plan *plan, uint64_t old, int (*fn)(void *ctx, const struct record *), void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < plan->n && !rc; i++) {
		const struct write *w = &plan->v[i];

		for (size_t done = 0, part; done < w->len && !rc; done += part) {
			uint64_t at = w->at + done, left = at < old ? old - at : 0;

			part = w->len - done < RECORD_MOST ? w->len - done : RECORD_MOST;
			rc = fn(ctx, &(struct record){ .at = at, .nnew = (uint32_t)part, .new_bytes = w->bytes + done,
						       .nold = (uint32_t)(left < part ? left : part) });
		}
	}
	return rc;
}

/* The same for what it cuts off. */
static int each_cut(const struct plan *plan, uint64_t old, int (*fn)(void *ctx, const struct record *), void *ctx)
{
	int rc = 0;

	for (uint64_t at = plan->size, part; at < old && !rc; at += part) {
		part = old - at < RECORD_MOST ? old - at : RECORD_MOST;
		rc = fn(ctx, &(struct record){ .at = at, .nold = (uint32_t)part });
	}
	return rc;
}

static int measure(void *ctx, const struct record *r)
{
	struct journal_head *h = ctx;

	h->nrecords++;
	h->changed += r->nnew > r->nold ? r->nnew : r->nold;
	h->length += RECORD + (uint64_t)r->nnew + r->nold;
	return 0;
}

void journal_measure(struct journal_head *h, const struct plan *plan)
{
	uint64_t cut = plan && plan->size < h->old_size ? h->old_size - plan->size : 0;
	uint64_t cuts = cut / RECORD_MOST + !!(cut % RECORD_MOST);

	h->length = HEAD + h->nwhat + (uint64_t)4 * h->ncrcs + cuts * RECORD + cut;
	h->nrecords = cuts;
	h->changed = (h->flags & JOURNAL_REWRITTEN ? h->new_size : 0) + cut;
	if (plan)
		each_write(plan, h->old_size, measure, h);
}

struct out {
	const struct place *p;
	struct source *old;
	int fd;
	uint64_t at;
	size_t len;
	uint32_t crc;
	uint8_t *buf, *bytes;                  /* OUT, RECORD_MOST */
};

static int flush(struct out *o)
{
	int rc = o->len ? place_write(o->p, o->fd, o->buf, o->len, o->at) : 0;

	o->at += o->len;
	o->len = 0;
	return rc;
}

static int add(struct out *o, const void *p, size_t n)
{
	const uint8_t *from = p;
	int rc = 0;

	o->crc = (uint32_t)crc32_z(o->crc, from, n);
	while (n && !rc) {
		size_t part = OUT - o->len < n ? OUT - o->len : n;

		memcpy(o->buf + o->len, from, part);
		o->len += part;
		from += part;
		n -= part;
		if (o->len == OUT)
			rc = flush(o);
	}
	return rc;
}

static int add_record(void *ctx, const struct record *r)
{
	struct out *o = ctx;
	uint8_t head[RECORD] = { 0 };
	int rc = r->nold ? src_pread(o->old, o->bytes, r->nold, r->at) : 0;

	put_le32(head + 4, r->nnew);
	put_le32(head + 8, r->nold);
	put64(head + 16, r->at);
	if (!rc)
		rc = add(o, head, sizeof head);
	if (!rc && r->nnew)
		rc = add(o, r->new_bytes, r->nnew);
	if (!rc && r->nold)
		rc = add(o, o->bytes, r->nold);
	return rc;
}

static void make_head(const struct journal_head *h, uint8_t *p)
{
	memset(p, 0, HEAD);
	memcpy(p, magic, sizeof magic);
	put_le32(p + 8, VERSION);
	put_le32(p + 12, h->flags);
	put64(p + 16, h->length);
	put64(p + 24, h->sequence);
	put64(p + 32, (uint64_t)h->time.tv_sec);
	put_le32(p + 40, (uint32_t)h->time.tv_nsec);
	put_le32(p + 44, h->number);
	put64(p + 48, h->cut);
	put64(p + 56, h->changed);
	put64(p + 64, h->inode);
	put64(p + 72, h->old_size);
	put64(p + 80, h->new_size);
	put64(p + 88, h->nrecords);
	put_le32(p + 96, h->ncrcs);
	put_le32(p + 100, h->nwhat);
	put_le32(p + 104, 1);
	put_le32(p + 116, h->body_crc);
	put_le32(p + 120, (uint32_t)crc32_z(0, p, 120));
}

static int write_body(struct out *o, const struct journal_head *h, const char *what, const uint32_t *crcs,
		      const struct plan *plan)
{
	int rc = add(o, what, h->nwhat);

	for (uint32_t i = 0; i < h->ncrcs && !rc; i++) {
		uint8_t four[4];

		put_le32(four, crcs[i]);
		rc = add(o, four, 4);
	}
	if (!rc && plan)
		rc = each_write(plan, h->old_size, add_record, o);
	if (!rc && plan)
		rc = each_cut(plan, h->old_size, add_record, o);
	return rc ? rc : flush(o);
}

int journal_write(const struct place *p, struct journal_head *h, const char *what, const uint32_t *crcs,
		  const struct plan *plan, struct source *old, struct journal *j, struct err *e)
{
	struct out o = { .p = p, .old = old, .at = HEAD, .buf = malloc(OUT), .bytes = malloc(RECORD_MOST) };
	uint8_t head[HEAD];
	int rc;

	j->fd = o.fd = o.buf && o.bytes ? place_open(p, p->journal, O_RDWR | O_CREAT | O_TRUNC) : -ENOMEM;
	rc = o.fd < 0 ? o.fd : write_body(&o, h, what, crcs, plan);
	if (!rc) {
		h->body_crc = o.crc;
		make_head(h, head);
		rc = place_write(p, o.fd, head, sizeof head, 0);
	}
	free(o.buf);
	free(o.bytes);
	j->at = 0;
	j->h = *h;
	return rc ? err_set(e, -rc, "the journal cannot be written: %s", strerror(-rc)) : 0;
}

int journal_drop(const struct place *p, const struct journal *j)
{
	int cut = j->fd < 0 ? -ENOENT : p->io->ftruncate(p->ctx, j->fd, 0);
	int rc = p->io->unlinkat(p->ctx, p->dir, p->journal);

	return cut && rc && rc != -ENOENT ? rc : 0;
}

/* ---- reading ---- */

int journal_head(int fd, uint64_t at, struct journal *j)
{
	uint8_t p[HEAD];
	int rc = src_fd_read(fd, p, sizeof p, at);

	if (rc)
		return rc == -EIO ? 0 : rc;    /* too short is what a crash leaves */
	if (memcmp(p, magic, sizeof magic) || le_u32(p + 120) != (uint32_t)crc32_z(0, p, 120))
		return 0;
	if (le_u32(p + 8) != VERSION || le_u32(p + 104) != 1)
		return -ENOTSUP;
	j->fd = fd;
	j->at = at;
	j->h = (struct journal_head){
		.flags = le_u32(p + 12), .length = get64(p + 16), .sequence = get64(p + 24),
		.time = { .tv_sec = (time_t)get64(p + 32), .tv_nsec = le_u32(p + 40) }, .number = le_u32(p + 44),
		.cut = get64(p + 48), .changed = get64(p + 56), .inode = get64(p + 64), .old_size = get64(p + 72),
		.new_size = get64(p + 80), .nrecords = get64(p + 88), .ncrcs = le_u32(p + 96), .nwhat = le_u32(p + 100),
		.body_crc = le_u32(p + 116),
	};
	return j->h.nwhat <= JOURNAL_PATH && j->h.length >= HEAD && j->h.length <= INT64_MAX &&
	       span_ok(j->h.length - HEAD, j->h.nwhat, j->h.ncrcs, 4) &&
	       j->h.old_size <= INT64_MAX && j->h.new_size <= INT64_MAX && j->h.sequence <= JOURNAL_SEQUENCES &&
	       (!(j->h.flags & JOURNAL_REWRITTEN) || j->h.ncrcs == journal_pieces(j->h.new_size));
}

int journal_complete(const struct journal *j)
{
	uint8_t *buf = malloc(OUT);
	uint32_t crc = 0;
	int rc = buf ? 0 : -ENOMEM;

	for (uint64_t at = HEAD, part; at < j->h.length && !rc; at += part) {
		part = j->h.length - at < OUT ? j->h.length - at : OUT;
		rc = src_fd_read(j->fd, buf, (size_t)part, j->at + at);
		if (!rc)
			crc = (uint32_t)crc32_z(crc, buf, (size_t)part);
	}
	free(buf);
	return rc == -EIO ? 0 : rc ? rc : crc == j->h.body_crc;
}

int journal_find(const struct place *p, struct journal *j, struct err *e)
{
	struct stat st;
	int rc, fd = place_open(p, p->journal, O_RDONLY | O_NONBLOCK);

	j->fd = -1;
	if (fd == -ENOENT || fd == -ENAMETOOLONG)
		return 0;
	if (fd < 0)
		return err_set(e, -fd, "its journal cannot be opened: %s", strerror(-fd));
	rc = fstat(fd, &st) ? -errno : journal_head(fd, 0, j);
	if (rc == 1)
		rc = (uint64_t)st.st_size >= j->h.length ? journal_complete(j) : 0;
	j->fd = fd;
	if (rc == 1)
		return 1;
	place_close(p, fd);
	if (rc == -ENOTSUP)
		return err_set(e, ENOTSUP, "its journal was written by another version of modelfs");
	return rc ? err_set(e, -rc, "its journal cannot be read: %s", strerror(-rc)) : 0;
}

char *journal_what(const struct journal *j)
{
	char *s = calloc(1, j->h.nwhat + (size_t)1);

	if (s && src_fd_read(j->fd, s, j->h.nwhat, j->at + HEAD)) {
		free(s);
		return NULL;
	}
	return s;
}

uint32_t *journal_crcs(const struct journal *j)
{
	uint32_t *v = malloc(((size_t)j->h.ncrcs + 1) * 4);

	if (v && src_fd_read(j->fd, v, (size_t)j->h.ncrcs * 4, j->at + HEAD + j->h.nwhat)) {
		free(v);
		return NULL;
	}
	for (uint32_t i = 0; v && i < j->h.ncrcs; i++)
		v[i] = le_u32((uint8_t *)(v + i));
	return v;
}

static bool record_ok(const struct journal *j, const struct record *r, uint64_t left)
{
	return r->nnew <= RECORD_MOST && r->nold <= RECORD_MOST && (uint64_t)r->nnew + r->nold <= left &&
	       (!r->nnew || span_ok(j->h.new_size, r->at, r->nnew, 1)) &&
	       (!r->nold || span_ok(j->h.old_size, r->at, r->nold, 1));
}

int journal_each(const struct journal *j, int (*fn)(void *ctx, const struct record *), void *ctx)
{
	uint64_t at = HEAD + j->h.nwhat + (uint64_t)4 * j->h.ncrcs;
	uint8_t *bytes = malloc(2 * RECORD_MOST), head[RECORD];
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < j->h.nrecords && !rc; i++) {
		struct record r;

		rc = span_ok(j->h.length, at, RECORD, 1) ? src_fd_read(j->fd, head, RECORD, j->at + at) : -EBADMSG;
		if (rc)
			break;
		at += RECORD;
		r = (struct record){ .at = get64(head + 16), .nnew = le_u32(head + 4), .nold = le_u32(head + 8),
				     .new_bytes = bytes, .old_bytes = bytes + RECORD_MOST };
		if (le_u32(head) || !record_ok(j, &r, j->h.length - at)) {
			rc = -EBADMSG;
			break;
		}
		rc = src_fd_read(j->fd, bytes, r.nnew, j->at + at);
		if (!rc)
			rc = src_fd_read(j->fd, bytes + RECORD_MOST, r.nold, j->at + at + r.nnew);
		if (!rc)
			rc = fn(ctx, &r);
		at += (uint64_t)r.nnew + r.nold;
	}
	free(bytes);
	return rc;
}

/* ---- applying ---- */

struct fit { struct source *file; uint8_t *room; bool differs; };

static int fit_record(void *ctx, const struct record *r)
{
	struct fit *f = ctx;
	uint64_t left = r->at < f->file->size ? f->file->size - r->at : 0;
	size_t n = left < r->nold ? (size_t)left : r->nold;
	int rc = n ? src_pread(f->file, f->room, n, r->at) : 0;

	for (size_t i = 0; i < n && !rc; i++)
		if (f->room[i] != r->old_bytes[i] && (i >= r->nnew || f->room[i] != r->new_bytes[i]))
			f->differs = true;
	return rc ? rc : f->differs;
}

int journal_fits(const struct journal *j, struct source *file)
{
	uint64_t low = j->h.old_size < j->h.new_size ? j->h.old_size : j->h.new_size;
	uint64_t high = j->h.old_size < j->h.new_size ? j->h.new_size : j->h.old_size;
	struct fit f = { .file = file };
	int rc;

	if (file->size < low || file->size > high)
		return 0;
	f.room = malloc(RECORD_MOST);
	rc = f.room ? journal_each(j, fit_record, &f) : -ENOMEM;
	free(f.room);
	return rc < 0 ? rc : !f.differs;
}

struct patch { const struct place *p; int fd; };

static int patch_record(void *ctx, const struct record *r)
{
	const struct patch *t = ctx;

	return r->nnew ? place_write(t->p, t->fd, r->new_bytes, r->nnew, r->at) : 0;
}

static int patch_once(const struct place *p, const struct journal *j, int fd, const struct stat *before)
{
	struct patch t = { p, fd };
	int rc = 0;

	if (S_ISREG(before->st_mode) && (uint64_t)before->st_size != j->h.new_size)
		rc = p->io->ftruncate(p->ctx, fd, j->h.new_size);
	return rc ? rc : journal_each(j, patch_record, &t);
}

/* Others see a commit by the file's size and time, and the time may go in steps of some milliseconds. */
static bool seems_same(const struct stat *a, const struct stat *b)
{
	return S_ISREG(a->st_mode) && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int journal_patch(const struct place *p, const struct journal *j, int fd)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct stat before, after;
	int rc = fstat(fd, &before) ? -errno : patch_once(p, j, fd, &before);

	for (unsigned i = 0; i < TICKS && j->h.nrecords && !rc; i++) {
		if (fstat(fd, &after) || !seems_same(&before, &after))
			break;
		nanosleep(&pause, NULL);
		rc = patch_once(p, j, fd, &after);
	}
	return rc ? rc : p->io->fsync(p->ctx, fd);
}

/* ---- reading through ---- */

struct laid_source { struct source s; struct plan plan; };

static int laid_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return plan_read(&((struct laid_source *)s)->plan, buf, n, at);
}

static void laid_close(struct source *s)
{
	plan_free(&((struct laid_source *)s)->plan);
}

static const struct source_ops laid_ops = { .pread = laid_pread, .close = laid_close };

static int lay_record(void *ctx, const struct record *r)
{
	return plan_write(ctx, r->at, r->new_bytes, r->nnew);
}

int journal_overlay(const struct journal *j, struct source *base, struct source **out)
{
	struct laid_source *l = calloc(1, sizeof *l);
	int rc;

	if (!l)
		return -ENOMEM;
	l->s.ops = &laid_ops;
	l->s.size = j->h.new_size;
	atomic_init(&l->s.refs, 1);
	plan_init(&l->plan, base);
	l->plan.size = j->h.new_size;
	rc = journal_each(j, lay_record, &l->plan);
	if (rc)
		src_put(&l->s);
	else
		*out = &l->s;
	return rc;
}

int journal_piece(const struct plan *plan, uint64_t i, uint8_t *room, size_t *n, uint32_t *crc)
{
	uint64_t at = i * JOURNAL_PIECE;
	int rc;

	*n = (size_t)(plan->size - at < JOURNAL_PIECE ? plan->size - at : JOURNAL_PIECE);
	rc = plan_read(plan, room, *n, at);
	if (!rc)
		*crc = (uint32_t)crc32_z(0, room, *n);
	return rc;
}
