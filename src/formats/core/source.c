#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>

/* A coded range is decrypted in the caller's buffer; only the units cut at its ends need room of their own. */
#define UNIT_MAX 16u

struct source *src_ref(struct source *src)
{
	atomic_fetch_add_explicit(&src->refs, 1, memory_order_relaxed);
	return src;
}

void src_put(struct source *src)
{
	while (src && atomic_fetch_sub_explicit(&src->refs, 1, memory_order_acq_rel) == 1) {
		struct source *parent = src->parent;

		if (src->ops->close)
			src->ops->close(src);
		free(src);
		src = parent;
	}
}

int src_pread(struct source *src, void *buf, size_t n, uint64_t at)
{
	if (!span_ok(src->size, at, n, 1))
		return -EBADMSG;
	return n ? src->ops->pread(src, buf, n, at) : 0;
}

int src_inside(const struct source *src, uint64_t at, uint64_t n, const char *what, struct err *e)
{
	return span_ok(src->size, at, n, 1) ? 0 :
	       err_at(e, EBADMSG, src, at, what, "%llu bytes end past the %llu of the entry", (unsigned long long)n,
		      (unsigned long long)src->size);
}

int src_read(struct source *src, void *buf, size_t n, uint64_t at, const char *what, struct err *e)
{
	int rc = src_inside(src, at, n, what, e);

	if (rc)
		return rc;
	rc = src_pread(src, buf, n, at);
	return rc ? err_at(e, -rc, src, at, what, "%s", strerror(-rc)) : 0;
}

const void *src_map(struct source *src, size_t n, uint64_t at)
{
	if (!src->ops->map || !span_ok(src->size, at, n, 1))
		return NULL;
	return src->ops->map(src, n, at);
}

uint64_t src_where(const struct source *src, uint64_t at)
{
	return src->ops->where ? src->ops->where(src, at) : at;
}

static void *new_source(size_t bytes, const struct source_ops *ops, struct source *parent, uint64_t size)
{
	struct source *s = malloc(bytes);      /* calloc() is slower, and every entry that is probed makes two */

	if (s) {
		memset(s, 0, bytes);
		s->ops = ops;
		s->parent = parent ? src_ref(parent) : NULL;
		s->size = size;
		atomic_init(&s->refs, 1);
	}
	return s;
}

/* ---- file ---- */

struct file_source { struct source s; int fd; uint8_t *map; };

static int file_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	const struct file_source *f = (const struct file_source *)s;
	uint8_t *p = buf;

	while (n) {
		ssize_t got = pread(f->fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		p += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return 0;
}

static const void *file_map(struct source *s, size_t n, uint64_t at)
{
	const struct file_source *f = (const struct file_source *)s;

	(void)n;
	return f->map ? f->map + at : NULL;
}

static void file_close(struct source *s)
{
	struct file_source *f = (struct file_source *)s;

	if (f->map)
		munmap(f->map, s->size);
	close(f->fd);
}

static const struct source_ops file_ops = { .pread = file_pread, .map = file_map, .close = file_close };

static int file_size(int fd, uint64_t *size)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		*size = (uint64_t)st.st_size;
	else if (S_ISBLK(st.st_mode))
		return ioctl(fd, BLKGETSIZE64, size) ? -errno : 0;
	else
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	return 0;
}

/* Whoever owns the file need not have its access time written by every read; others may not ask for that. A FIFO would
 * wait for a writer. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOATIME);

	return fd < 0 && errno == EPERM ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : fd;
}

int src_file(const char *path, struct source **out, struct err *e)
{
	struct file_source *f;
	uint64_t size;
	int rc, fd = open_file(path);

	if (fd < 0)
		return err_set(e, errno, "%s", strerror(errno));
	rc = file_size(fd, &size);
	if (rc) {
		close(fd);
		return err_set(e, -rc, "%s",
			       rc == -EINVAL ? "neither a regular file nor a block device" : strerror(-rc));
	}
	f = new_source(sizeof *f, &file_ops, NULL, size);
	if (!f) {
		close(fd);
		return err_nomem(e);
	}
	f->fd = fd;
	if (size && size <= SIZE_MAX / 2) {
		f->map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
		if (f->map == MAP_FAILED)
			f->map = NULL;         /* then it is read */
	}
	*out = &f->s;
	return 0;
}

int src_file_fd(const struct source *src)
{
	return src->ops == &file_ops ? ((const struct file_source *)src)->fd : -1;
}

bool src_ready(const struct source *src, size_t n, uint64_t at)
{
	const struct source *end = src;
	const struct file_source *f;
	unsigned char pages[64];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t from;

	while (end->parent)
		end = end->parent;
	f = (const struct file_source *)end;
	if (end->ops != &file_ops || !f->map || !n)
		return true;
	from = src_where(src, at);
	if (from >= end->size)
		return true;
	n = n < end->size - from ? n : (size_t)(end->size - from);
	n += from % page;
	from -= from % page;
	n = n < sizeof pages * page ? n : sizeof pages * page;
	if (mincore(f->map + from, n, pages))
		return true;
	for (size_t i = 0; i * page < n; i++)
		if (!(pages[i] & 1))
			return false;
	return true;
}

/* ---- memory ---- */

struct memory_source { struct source s; const uint8_t *p; };

static int memory_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	memcpy(buf, ((struct memory_source *)s)->p + at, n);
	return 0;
}

static const struct source_ops memory_ops = { .pread = memory_pread };

struct source *src_memory(const void *p, size_t n)
{
	struct memory_source *m = new_source(sizeof *m, &memory_ops, NULL, n);

	if (m)
		m->p = p;
	return m ? &m->s : NULL;
}

/* ---- slice ---- */

struct slice_source { struct source s; uint64_t at; };

static int slice_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return src_pread(s->parent, buf, n, ((struct slice_source *)s)->at + at);
}

static const void *slice_map(struct source *s, size_t n, uint64_t at)
{
	return src_map(s->parent, n, ((struct slice_source *)s)->at + at);
}

static uint64_t slice_where(const struct source *s, uint64_t at)
{
	return src_where(s->parent, ((const struct slice_source *)s)->at + at);
}

static const struct source_ops slice_ops = { .pread = slice_pread, .map = slice_map, .where = slice_where };

struct source *src_slice(struct source *parent, uint64_t at, uint64_t n)
{
	struct slice_source *s;

	/* A slice of a slice is one slice: deep nesting costs no depth in reads. */
	while (parent->ops == &slice_ops) {
		at += ((struct slice_source *)parent)->at;
		parent = parent->parent;
	}
	s = new_source(sizeof *s, &slice_ops, parent, n);
	if (s)
		s->at = at;
	return s ? &s->s : NULL;
}

/* ---- encrypted blocks ---- */

struct blocks_source { struct source s; const struct cipher *cipher; uint32_t key; };

/* Part of one unit: read whole, decrypted, cut. A unit cut off by the end of the run is padded with zeros; its cipher
 * text is incomplete, so what it gives past the end is not used. */
static int blocks_unit(struct blocks_source *b, uint8_t *p, size_t n, uint64_t at)
{
	uint64_t unit = b->cipher->unit, start = at / unit * unit;
	uint8_t room[UNIT_MAX] = { 0 };
	uint64_t have = b->s.size - start < unit ? b->s.size - start : unit;
	int rc = src_pread(b->s.parent, room, (size_t)have, start);

	if (!rc) {
		b->cipher->decrypt(b->key, start, room, (size_t)unit);
		memcpy(p, room + (at - start), n);
	}
	return rc;
}

static int blocks_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	struct blocks_source *b = (struct blocks_source *)s;
	size_t unit = b->cipher->unit, head = (unit - at % unit) % unit, whole;
	uint8_t *p = buf;
	int rc = 0;

	if (head) {
		head = head < n ? head : n;
		rc = blocks_unit(b, p, head, at);
		p += head;
		at += head;
		n -= head;
	}
	whole = n / unit * unit;
	if (!rc && whole) {
		rc = src_pread(s->parent, p, whole, at);
		if (!rc)
			b->cipher->decrypt(b->key, at, p, whole);
	}
	if (!rc && n > whole)
		rc = blocks_unit(b, p + whole, n - whole, at + whole);
	return rc;
}

static uint64_t blocks_where(const struct source *s, uint64_t at)
{
	return src_where(s->parent, at);
}

static const struct source_ops blocks_ops = { .pread = blocks_pread, .where = blocks_where };

struct source *src_blocks(struct source *parent, const struct cipher *c, uint32_t key)
{
	struct blocks_source *b = new_source(sizeof *b, &blocks_ops, parent, parent->size);

	if (b) {
		b->cipher = c;
		b->key = key;
	}
	return b ? &b->s : NULL;
}
