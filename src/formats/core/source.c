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
#define WRITE_PIECE 4096u                      /* bytes encrypted at once; a multiple of every unit */

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

int src_pwrite(struct source *src, const void *buf, size_t n, uint64_t at)
{
	if (!span_ok(src->size, at, n, 1))
		return -EBADMSG;
	if (!src->ops->pwrite)
		return -EROFS;
	return n ? src->ops->pwrite(src, buf, n, at) : 0;
}

int src_write(struct source *src, const void *buf, size_t n, uint64_t at, const char *what, struct err *e)
{
	int rc = src_inside(src, at, n, what, e);

	if (rc)
		return rc;
	rc = src_pwrite(src, buf, n, at);
	return rc ? err_at(e, -rc, src, at, what, "%s",
			   rc == -EPERM ? "something else of the archive has these bytes too, so they stay" :
					  strerror(-rc)) : 0;
}

const void *src_map(struct source *src, size_t n, uint64_t at)
{
	if (!src->ops->map || !span_ok(src->size, at, n, 1))
		return NULL;
	return src->ops->map(src, n, at);
}

uint64_t src_where(const struct source *src, uint64_t at)
{
	for (; src->parent; src = src->parent)
		at = src->ops->up ? src->ops->up(src, at) : at;
	return at;
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

int src_fd_read(int fd, void *buf, size_t n, uint64_t at)
{
	uint8_t *p = buf;

	while (n) {
		ssize_t got = pread(fd, p, n, (off_t)at);

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

static int file_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return src_fd_read(((const struct file_source *)s)->fd, buf, n, at);
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
	int fd = open_file(path);

	return fd < 0 ? err_set(e, errno, "%s", strerror(errno)) : src_fd(fd, out, e);
}

int src_fd(int fd, struct source **out, struct err *e)
{
	struct file_source *f;
	uint64_t size;
	int rc = file_size(fd, &size);

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

static bool file_ready(const struct file_source *f, size_t n, uint64_t from)
{
	unsigned char pages[64];
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!f->map || !n || from >= f->s.size)
		return true;
	n = n < f->s.size - from ? n : (size_t)(f->s.size - from);
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

struct source *src_copy(const void *p, size_t n)
{
	struct memory_source *m = n <= LIMIT_DECODED ? new_source(sizeof *m + n, &memory_ops, NULL, n) : NULL;

	if (m) {
		m->p = (const uint8_t *)(m + 1);
		if (n)
			memcpy(m + 1, p, n);
	}
	return m ? &m->s : NULL;
}

static int zeros_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	(void)s;
	(void)at;
	memset(buf, 0, n);
	return 0;
}

static const struct source_ops zeros_ops = { .pread = zeros_pread };

struct source *src_zeros(uint64_t n)
{
	return new_source(sizeof(struct source), &zeros_ops, NULL, n);
}

static int lost_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	(void)s;
	(void)buf;
	(void)n;
	(void)at;
	return -EBADMSG;
}

static const struct source_ops lost_ops = { .pread = lost_pread };

struct source *src_lost(uint64_t n)
{
	return new_source(sizeof(struct source), &lost_ops, NULL, n);
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

static int slice_pwrite(struct source *s, const void *buf, size_t n, uint64_t at)
{
	return src_pwrite(s->parent, buf, n, ((struct slice_source *)s)->at + at);
}

static uint64_t slice_up(const struct source *s, uint64_t at)
{
	return ((const struct slice_source *)s)->at + at;
}

static const struct source_ops slice_ops = {
	.pread = slice_pread, .map = slice_map, .pwrite = slice_pwrite, .up = slice_up,
};

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

/* ---- bytes that belong to others too ---- */

static int shared_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return src_pread(s->parent, buf, n, at);
}

static const void *shared_map(struct source *s, size_t n, uint64_t at)
{
	return src_map(s->parent, n, at);
}

static int shared_pwrite(struct source *s, const void *buf, size_t n, uint64_t at)
{
	(void)s;
	(void)buf;
	(void)n;
	(void)at;
	return -EPERM;
}

static const struct source_ops shared_ops = { .pread = shared_pread, .map = shared_map, .pwrite = shared_pwrite };

struct source *src_shared(struct source *parent)
{
	return new_source(sizeof(struct source), &shared_ops, parent, parent->size);
}

static const struct source_ops fixed_ops = { .pread = shared_pread, .map = shared_map };

struct source *src_fixed(struct source *parent)
{
	return new_source(sizeof(struct source), &fixed_ops, parent, parent->size);
}

struct source *src_sliced(const struct source *src, uint64_t *at)
{
	if (src->ops != &slice_ops)
		return NULL;
	*at = ((const struct slice_source *)src)->at;
	return src->parent;
}

/* ---- encrypted blocks ---- */

struct blocks_source { struct source s; const struct cipher *cipher; uint32_t key; };
typedef void crypt_fn(uint32_t key, uint64_t at, uint8_t *p, size_t n);        /* one way of a cipher */

/* Part of one unit: read whole, sent through the cipher, cut. A unit cut off by the end of the run is padded with
 * zeros; its cipher text is incomplete, so what it gives past the end is not used. */
static int read_unit(struct blocks_source *b, crypt_fn *crypt, uint8_t *p, size_t n, uint64_t at)
{
	uint64_t unit = b->cipher->unit, start = at / unit * unit;
	uint8_t room[UNIT_MAX] = { 0 };
	uint64_t have = b->s.size - start < unit ? b->s.size - start : unit;
	int rc = src_pread(b->s.parent, room, (size_t)have, start);

	if (!rc) {
		crypt(b->key, start, room, (size_t)unit);
		memcpy(p, room + (at - start), n);
	}
	return rc;
}

/* A range in three parts: the end of a unit, whole units, the beginning of one. */
struct parts { size_t head, whole, tail; };

static struct parts split(unsigned unit, size_t n, uint64_t at)
{
	struct parts p = { .head = (unit - at % unit) % unit };

	p.head = p.head < n ? p.head : n;
	p.whole = (n - p.head) / unit * unit;
	p.tail = n - p.head - p.whole;
	return p;
}

static int read_through(struct source *s, crypt_fn *crypt, uint8_t *p, size_t n, uint64_t at)
{
	struct blocks_source *b = (struct blocks_source *)s;
	struct parts part = split(b->cipher->unit, n, at);
	int rc = part.head ? read_unit(b, crypt, p, part.head, at) : 0;

	p += part.head;
	at += part.head;
	if (!rc && part.whole) {
		rc = src_pread(s->parent, p, part.whole, at);
		if (!rc)
			crypt(b->key, at, p, part.whole);
	}
	if (!rc && part.tail)
		rc = read_unit(b, crypt, p + part.whole, part.tail, at + part.whole);
	return rc;
}

static int blocks_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return read_through(s, ((struct blocks_source *)s)->cipher->decrypt, buf, n, at);
}

/* Part of one unit: the unit is read, changed and encrypted again, as far as the run has it. */
static int blocks_put_unit(struct blocks_source *b, const uint8_t *p, size_t n, uint64_t at)
{
	uint64_t unit = b->cipher->unit, start = at / unit * unit;
	uint8_t room[UNIT_MAX] = { 0 };
	uint64_t have = b->s.size - start < unit ? b->s.size - start : unit;
	int rc = src_pread(b->s.parent, room, (size_t)have, start);

	if (rc)
		return rc;
	b->cipher->decrypt(b->key, start, room, (size_t)unit);
	memcpy(room + (at - start), p, n);
	b->cipher->encrypt(b->key, start, room, (size_t)unit);
	return src_pwrite(b->s.parent, room, (size_t)have, start);
}

static int blocks_put_whole(struct blocks_source *b, const uint8_t *p, size_t n, uint64_t at)
{
	uint8_t room[WRITE_PIECE];
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		part = n < sizeof room ? n : sizeof room;
		memcpy(room, p, part);
		b->cipher->encrypt(b->key, at, room, part);
		rc = src_pwrite(b->s.parent, room, part, at);
	}
	return rc;
}

static int blocks_pwrite(struct source *s, const void *buf, size_t n, uint64_t at)
{
	struct blocks_source *b = (struct blocks_source *)s;
	struct parts part = split(b->cipher->unit, n, at);
	const uint8_t *p = buf;
	int rc = part.head ? blocks_put_unit(b, p, part.head, at) : 0;

	if (!rc)
		rc = blocks_put_whole(b, p + part.head, part.whole, at + part.head);
	if (!rc && part.tail)
		rc = blocks_put_unit(b, p + part.head + part.whole, part.tail, at + part.head + part.whole);
	return rc;
}

static const struct source_ops blocks_ops = { .pread = blocks_pread, .pwrite = blocks_pwrite };

static struct source *new_blocks(const struct source_ops *ops, struct source *parent, const struct cipher *c,
				 uint32_t key)
{
	struct blocks_source *b = new_source(sizeof *b, ops, parent, parent->size);

	if (b) {
		b->cipher = c;
		b->key = key;
	}
	return b ? &b->s : NULL;
}

struct source *src_blocks(struct source *parent, const struct cipher *c, uint32_t key)
{
	return new_blocks(&blocks_ops, parent, c, key);
}

/* The inverse. A unit that the end of the source cuts off is padded with zeros, as a run of the cipher pads it. */
static int coded_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	return read_through(s, ((struct blocks_source *)s)->cipher->encrypt, buf, n, at);
}

static const struct source_ops coded_ops = { .pread = coded_pread };

struct source *src_coded(struct source *parent, const struct cipher *c, uint32_t key)
{
	return new_blocks(&coded_ops, parent, c, key);
}

/* ---- pieces ---- */

struct pieces_source { struct source s; uint32_t n; struct source **piece; uint64_t *end; };

/* The piece that byte `at` lies in. */
static uint32_t find_piece(const struct pieces_source *s, uint64_t at)
{
	uint32_t low = 0, high = s->n - 1;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->end[mid] > at)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static int pieces_pread(struct source *src, void *buf, size_t n, uint64_t at)
{
	struct pieces_source *s = (struct pieces_source *)src;
	uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (uint32_t i = find_piece(s, at); n && !rc; i++) {
		uint64_t left = s->end[i] - at;

		part = left < n ? (size_t)left : n;
		rc = src_pread(s->piece[i], p, part, s->piece[i]->size - left);
		p += part;
		at += part;
		n -= part;
	}
	return rc;
}

static const void *pieces_map(struct source *src, size_t n, uint64_t at)
{
	struct pieces_source *s = (struct pieces_source *)src;
	uint32_t i = s->n ? find_piece(s, at) : 0;
	uint64_t left = s->n ? s->end[i] - at : 0;

	return n <= left ? src_map(s->piece[i], n, s->piece[i]->size - left) : NULL;
}

static void pieces_close(struct source *src)
{
	struct pieces_source *s = (struct pieces_source *)src;

	for (uint32_t i = 0; i < s->n; i++)
		src_put(s->piece[i]);
	free(s->piece);
	free(s->end);
}

static const struct source_ops pieces_ops = { .pread = pieces_pread, .map = pieces_map, .close = pieces_close };

struct source *src_pieces(struct source *const *piece, uint32_t n)
{
	struct pieces_source *s = new_source(sizeof *s, &pieces_ops, NULL, 0);

	if (!s)
		return NULL;
	s->piece = malloc((n + (size_t)1) * sizeof(struct source *));
	s->end = malloc((n + (size_t)1) * sizeof(uint64_t));
	for (uint32_t i = 0; i < n && s->piece && s->end; i++) {
		s->piece[i] = src_ref(piece[i]);
		s->end[i] = s->s.size += piece[i]->size;
		s->n++;
	}
	if (!s->piece || !s->end) {
		src_put(&s->s);
		return NULL;
	}
	return &s->s;
}

/* The first pieces of a range tell for all of it, as the first pages do. */
static bool pieces_ready(const struct pieces_source *s, size_t n, uint64_t at)
{
	for (uint32_t i = at < s->s.size ? find_piece(s, at) : s->n, k = 0; n && i < s->n && k < 4; i++, k++) {
		uint64_t left = s->end[i] - at;
		size_t part = left < n ? (size_t)left : n;

		if (!src_ready(s->piece[i], part, s->piece[i]->size - left))
			return false;
		at += part;
		n -= part;
	}
	return true;
}

/* ---- waiting ---- */

bool src_ready(const struct source *src, size_t n, uint64_t at)
{
	const struct source *end = src;

	while (end->parent)
		end = end->parent;
	if (end->ops == &file_ops)
		return file_ready((const struct file_source *)end, n, src_where(src, at));
	return end->ops != &pieces_ops || pieces_ready((const struct pieces_source *)end, n, src_where(src, at));
}
