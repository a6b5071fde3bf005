/* Journals written. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "bytes.h"

#define OUT ((size_t)64 << 10)                 /* written at once */

static const char magic[8] = { 'm', 'o', 'd', 'e', 'l', 'f', 's', 'J' };

static void put64(uint8_t *p, uint64_t v)
{
	put_le32(p, (uint32_t)v);
	put_le32(p + 4, (uint32_t)(v >> 32));
}

/* ---- records ---- */

/* Calls fn for every record of what plan writes over a file of `old` bytes, without the old bytes. */
static int each_write(const struct plan *plan, uint64_t old, int (*fn)(void *ctx, const struct record *), void *ctx)
{
	int rc = 0;

	for (size_t i = 0; i < plan->n && !rc; i++) {
		const struct write *w = &plan->v[i];

		for (size_t done = 0, part; done < w->len && !rc; done += part) {
			uint64_t at = w->at + done, left = at < old ? old - at : 0;

			part = w->len - done < JOURNAL_RECORD ? w->len - done : JOURNAL_RECORD;
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
		part = old - at < JOURNAL_RECORD ? old - at : JOURNAL_RECORD;
		rc = fn(ctx, &(struct record){ .at = at, .nold = (uint32_t)part });
	}
	return rc;
}

/* ---- lengths ---- */

struct measure { struct journal_head *h; struct journal_file *f; };

static int measure(void *ctx, const struct record *r)
{
	struct measure *m = ctx;

	m->f->nrecords++;
	m->h->changed += r->nnew > r->nold ? r->nnew : r->nold;
	m->h->length += JOURNAL_BEFORE + (uint64_t)r->nnew + r->nold;
	return 0;
}

/* A cut can be of any length, so it is not counted record by record. */
static void measure_part(struct journal_head *h, struct journal_part *part)
{
	struct journal_file *f = &part->f;
	uint64_t cut = part->plan && f->new_size < f->old_size ? f->old_size - f->new_size : 0;

	f->at = h->length;
	f->nrecords = cut / JOURNAL_RECORD + !!(cut % JOURNAL_RECORD);
	h->length += f->nrecords * JOURNAL_BEFORE + cut;
	h->changed += cut + (f->flags & JOURNAL_REWRITTEN ? f->new_size : 0);
	if (part->plan)
		each_write(part->plan, f->old_size, measure, &(struct measure){ h, f });
	h->nrecords += f->nrecords;
}

void journal_measure(struct journal_head *h, struct journal_part *v)
{
	h->ntable = 0;
	for (uint32_t i = 0; i < h->nfiles; i++)
		h->ntable += JOURNAL_ENTRY + (uint32_t)strlen(v[i].f.path) + 1;
	h->length = journal_records_at(h);
	h->nrecords = h->changed = 0;
	for (uint32_t i = 0; i < h->nfiles; i++) {
		v[i].f.index = i;
		measure_part(h, &v[i]);
	}
}

/* ---- bytes ---- */

struct out {
	const struct place *p;
	const struct journal_part *part;       /* whose records are written */
	int fd;
	uint64_t at;
	size_t len;
	uint32_t crc;
	uint8_t *buf, *bytes;                  /* OUT, JOURNAL_RECORD */
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
	uint8_t head[JOURNAL_BEFORE] = { 0 };
	int rc = r->nold ? src_pread(o->part->old, o->bytes, r->nold, r->at) : 0;

	put_le32(head, o->part->f.index);
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

static int add_file(struct out *o, const struct journal_file *f)
{
	uint8_t p[JOURNAL_ENTRY] = { 0 };
	size_t n = strlen(f->path) + 1;
	int rc;

	put_le32(p, (uint32_t)n);
	put_le32(p + 4, f->flags);
	put_le32(p + 8, f->number);
	put64(p + 16, f->inode);
	put64(p + 24, f->old_size);
	put64(p + 32, f->new_size);
	put64(p + 40, f->at);
	put64(p + 48, f->nrecords);
	rc = add(o, p, sizeof p);
	return rc ? rc : add(o, f->path, n);
}

static void make_head(const struct journal_head *h, uint8_t *p)
{
	memset(p, 0, JOURNAL_HEAD);
	memcpy(p, magic, sizeof magic);
	put_le32(p + 8, 2);
	put_le32(p + 12, h->flags);
	put64(p + 16, h->length);
	put64(p + 24, h->sequence);
	put64(p + 32, (uint64_t)h->time.tv_sec);
	put_le32(p + 40, (uint32_t)h->time.tv_nsec);
	put64(p + 48, h->cut);
	put64(p + 56, h->changed);
	put64(p + 88, h->nrecords);
	put_le32(p + 96, h->ncrcs);
	put_le32(p + 100, h->nwhat);
	put_le32(p + 104, h->nfiles);
	put_le32(p + 108, h->ntable);
	put_le32(p + 116, h->body_crc);
	put_le32(p + 120, (uint32_t)crc32_z(0, p, 120));
}

static int write_body(struct out *o, const struct journal_head *h, const char *what, const struct journal_part *v,
		      const uint32_t *crcs)
{
	int rc = add(o, what, h->nwhat);

	for (uint32_t i = 0; i < h->nfiles && !rc; i++)
		rc = add_file(o, &v[i].f);
	for (uint32_t i = 0; i < h->ncrcs && !rc; i++) {
		uint8_t four[4];

		put_le32(four, crcs[i]);
		rc = add(o, four, 4);
	}
	for (uint32_t i = 0; i < h->nfiles && !rc; i++) {
		o->part = &v[i];
		if (v[i].plan)
			rc = each_write(v[i].plan, v[i].f.old_size, add_record, o);
		if (v[i].plan && !rc)
			rc = each_cut(v[i].plan, v[i].f.old_size, add_record, o);
	}
	return rc ? rc : flush(o);
}

int journal_write(const struct place *p, struct journal_head *h, const char *what, const struct journal_part *v,
		  const uint32_t *crcs, struct journal *j, struct err *e)
{
	struct out o = { .p = p, .at = JOURNAL_HEAD, .buf = malloc(OUT), .bytes = malloc(JOURNAL_RECORD) };
	uint8_t head[JOURNAL_HEAD];
	int rc;

	j->fd = o.fd = o.buf && o.bytes ? place_open(p, p->journal, O_RDWR | O_CREAT | O_TRUNC) : -ENOMEM;
	rc = o.fd < 0 ? o.fd : write_body(&o, h, what, v, crcs);
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
