/* Journals read, of both versions. Anybody may have written them. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "bytes.h"

#define IN ((size_t)64 << 10)                  /* read at once */

static uint64_t get64(const uint8_t *p)
{
	return le_u32(p) | (uint64_t)le_u32(p + 4) << 32;
}

/* ---- the head ---- */

static bool sizes_ok(const struct journal_file *f)
{
	return f->old_size <= INT64_MAX && f->new_size <= INT64_MAX;
}

static struct journal_head common(const uint8_t *p)
{
	return (struct journal_head){
		.flags = le_u32(p + 12), .length = get64(p + 16), .sequence = get64(p + 24),
		.time = { .tv_sec = (time_t)get64(p + 32), .tv_nsec = le_u32(p + 40) }, .cut = get64(p + 48),
		.changed = get64(p + 56), .nrecords = get64(p + 88), .ncrcs = le_u32(p + 96), .nwhat = le_u32(p + 100),
		.nfiles = le_u32(p + 104), .ntable = le_u32(p + 108), .body_crc = le_u32(p + 116),
	};
}

/* The one file of version 1. */
static struct journal_file lone(const struct journal_head *h, const uint8_t *p)
{
	return (struct journal_file){
		.path = "", .flags = h->flags & (JOURNAL_REWRITTEN | JOURNAL_RESTORED), .number = le_u32(p + 44),
		.inode = get64(p + 64), .old_size = get64(p + 72), .new_size = get64(p + 80),
		.at = journal_records_at(h), .nrecords = h->nrecords,
	};
}

int journal_head(int fd, uint64_t at, struct journal *j)
{
	struct journal_head *h = &j->h;
	uint8_t p[JOURNAL_HEAD];
	int rc = src_fd_read(fd, p, sizeof p, at);
	uint32_t version;

	if (rc)
		return rc == -EIO ? 0 : rc;    /* too short is what a crash leaves */
	if (memcmp(p, "modelfsJ", 8) || le_u32(p + 120) != (uint32_t)crc32_z(0, p, 120))
		return 0;
	version = le_u32(p + 8);
	j->fd = fd;
	j->at = at;
	*h = common(p);
	if (version < 1 || version > 2 || (version == 1 && (h->nfiles != 1 || h->ntable)))
		return -ENOTSUP;
	if (version == 1)
		h->lone = lone(h, p);
	return h->nwhat <= JOURNAL_PATH && h->length >= JOURNAL_HEAD && h->length <= INT64_MAX &&
	       span_ok(h->length, journal_crcs_at(h), h->ncrcs, 4) && h->nfiles <= JOURNAL_FILES &&
	       h->sequence <= JOURNAL_SEQUENCES;
}

int journal_complete(const struct journal *j)
{
	uint8_t *buf = malloc(IN);
	uint32_t crc = 0;
	int rc = buf ? 0 : -ENOMEM;

	for (uint64_t at = JOURNAL_HEAD, part; at < j->h.length && !rc; at += part) {
		part = j->h.length - at < IN ? j->h.length - at : IN;
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

/* ---- its parts ---- */

char *journal_what(const struct journal *j)
{
	char *s = calloc(1, j->h.nwhat + (size_t)1);

	if (s && src_fd_read(j->fd, s, j->h.nwhat, j->at + JOURNAL_HEAD)) {
		free(s);
		return NULL;
	}
	return s;
}

uint32_t *journal_crcs(const struct journal *j)
{
	uint32_t *v = malloc(((size_t)j->h.ncrcs + 1) * 4);

	if (v && src_fd_read(j->fd, v, (size_t)j->h.ncrcs * 4, j->at + journal_crcs_at(&j->h))) {
		free(v);
		return NULL;
	}
	for (uint32_t i = 0; v && i < j->h.ncrcs; i++)
		v[i] = le_u32((uint8_t *)(v + i));
	return v;
}

/* One entry of the table at p, of which n bytes are left; how many it takes, 0 if it does not add up. */
static size_t read_entry(const struct journal_head *h, const uint8_t *p, size_t n, struct journal_file *f)
{
	size_t len = n >= JOURNAL_ENTRY ? le_u32(p) : 0;

	if (!len || len > JOURNAL_PATH || len > n - JOURNAL_ENTRY)
		return 0;
	f->path = (const char *)p + JOURNAL_ENTRY;
	f->flags = le_u32(p + 4);
	f->number = le_u32(p + 8);
	f->inode = get64(p + 16);
	f->old_size = get64(p + 24);
	f->new_size = get64(p + 32);
	f->at = get64(p + 40);
	f->nrecords = get64(p + 48);
	if (memchr(f->path, 0, len) != f->path + len - 1 || !sizes_ok(f) || f->at < journal_records_at(h))
		return 0;
	return JOURNAL_ENTRY + len;
}

/* At most one file is written anew, and the CRCs are its own. */
static bool crcs_ok(const struct journal_head *h, const struct journal_file *v)
{
	uint64_t n = 0, pieces = 0;

	for (uint32_t i = 0; i < h->nfiles; i++)
		if (v[i].flags & JOURNAL_REWRITTEN) {
			n++;
			pieces = journal_pieces(v[i].new_size);
		}
	return n <= 1 && h->ncrcs == pieces && n == !!(h->flags & JOURNAL_REWRITTEN);
}

static int read_table(const struct journal *j, struct journal_file *v, uint8_t *p)
{
	const struct journal_head *h = &j->h;
	size_t at = 0, n;
	int rc = src_fd_read(j->fd, p, h->ntable, j->at + journal_table_at(h));

	for (uint32_t i = 0; i < h->nfiles && !rc; i++) {
		v[i].index = i;
		n = read_entry(h, p + at, h->ntable - at, &v[i]);
		at += n;
		rc = n ? 0 : -EBADMSG;
	}
	return rc;
}

int journal_files(const struct journal *j, struct journal_file **out)
{
	const struct journal_head *h = &j->h;
	size_t room = h->nfiles * sizeof(struct journal_file);
	struct journal_file *v;
	int rc = 0;

	if (h->ntable > (uint64_t)JOURNAL_FILES * (JOURNAL_ENTRY + JOURNAL_PATH))
		return -EBADMSG;
	v = calloc(1, room + h->ntable + 1);   /* paths stay where they are read to */
	if (!v)
		return -ENOMEM;
	if (h->lone.path)
		*v = h->lone;
	else
		rc = read_table(j, v, (uint8_t *)v + room);
	if (!rc && (!crcs_ok(h, v) || (h->lone.path && !sizes_ok(v))))
		rc = -EBADMSG;
	if (rc)
		free(v);
	else
		*out = v;
	return rc;
}

/* ---- records ---- */

static bool record_ok(const struct journal_file *f, const struct record *r, uint64_t left)
{
	return r->nnew <= JOURNAL_RECORD && r->nold <= JOURNAL_RECORD && (uint64_t)r->nnew + r->nold <= left &&
	       (!r->nnew || span_ok(f->new_size, r->at, r->nnew, 1)) &&
	       (!r->nold || span_ok(f->old_size, r->at, r->nold, 1));
}

int journal_each(const struct journal *j, const struct journal_file *f, int (*fn)(void *ctx, const struct record *),
		 void *ctx)
{
	uint8_t *bytes = malloc(2 * JOURNAL_RECORD), head[JOURNAL_BEFORE];
	uint64_t at = f->at;
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < f->nrecords && !rc; i++) {
		struct record r;

		rc = span_ok(j->h.length, at, sizeof head, 1) ? src_fd_read(j->fd, head, sizeof head, j->at + at) :
		     -EBADMSG;
		if (rc)
			break;
		at += sizeof head;
		r = (struct record){ .at = get64(head + 16), .nnew = le_u32(head + 4), .nold = le_u32(head + 8),
				     .new_bytes = bytes, .old_bytes = bytes + JOURNAL_RECORD };
		if (le_u32(head) != f->index || !record_ok(f, &r, j->h.length - at)) {
			rc = -EBADMSG;
			break;
		}
		rc = src_fd_read(j->fd, bytes, r.nnew, j->at + at);
		if (!rc)
			rc = src_fd_read(j->fd, bytes + JOURNAL_RECORD, r.nold, j->at + at + r.nnew);
		if (!rc)
			rc = fn(ctx, &r);
		at += (uint64_t)r.nnew + r.nold;
	}
	free(bytes);
	return rc;
}
