/* Sources whose bytes are stored as one stream: they are unpacked as a whole when they are first read, and kept by
 * whoever knows how much memory there is for that. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "source.h"

#define PEEK_MOST 4096u                        /* bytes of a beginning; what is no longer is unpacked and kept */

struct packed_source {
	struct source s;                       /* parent: the stream */
	const struct packer *packer;
	struct keep keep;
	uint8_t *_Atomic own;                  /* all bytes, if nobody else keeps them */
};

static struct packed_source *packed(struct source *src)
{
	return (struct packed_source *)src;
}

/* ---- memory ---- */

/* Large ones in pages of their own, large too where the system has them: asking for 4 KiB at a time takes as long as a
 * third of the unpacking. */
#define LARGE ((size_t)4 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

static size_t mapped_size(uint64_t size)
{
	return (size_t)align_up(size + 1, LARGE_PAGE);
}

/* With room for one byte more. */
static uint8_t *unpacked_new(uint64_t size)
{
	size_t n = mapped_size(size);
	uint8_t *p, *at;

	if (size < LARGE)
		return malloc((size_t)size + 1);
	p = mmap(NULL, n + LARGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	at = (uint8_t *)align_up((uintptr_t)p, LARGE_PAGE);
	if (at > p)
		munmap(p, (size_t)(at - p));
	if (at < p + LARGE_PAGE)
		munmap(at + n, (size_t)(p + LARGE_PAGE - at));
	madvise(at, n, MADV_HUGEPAGE);         /* where there are none, small ones do */
	return at;
}

void unpacked_free(uint8_t *p, uint64_t size)
{
	if (size < LARGE)
		free(p);
	else if (p)
		munmap(p, mapped_size(size));
}

/* ---- unpacking ---- */

/* A size that no stream of that length could reach is not worth an attempt. */
static int check_size(const struct packed_source *s, struct err *e)
{
	uint64_t stream = s->s.parent->size, size = s->s.size;

	if (size > LIMIT_DECODED)
		return err_at(e, EFBIG, s->s.parent, 0, "stream",
			      "it becomes %" PRIu64 " bytes, at most %zu are allowed", size, LIMIT_DECODED);
	if (size / s->packer->ratio > stream)
		return err_at(e, EBADMSG, s->s.parent, 0, "stream", "%" PRIu64 " bytes cannot become %" PRIu64, stream,
			      size);
	return 0;
}

int src_unpack(struct source *src, uint8_t **out, struct err *e)
{
	struct packed_source *s = packed(src);
	size_t size = (size_t)src->size;
	int rc = check_size(s, e);
	uint8_t *p;

	if (rc)
		return rc;
	p = unpacked_new(size);
	if (!p)
		return err_nomem(e);
	rc = s->packer->unpack(src->parent, p, size, size, e);
	if (rc)
		unpacked_free(p, size);
	else
		*out = p;
	return rc;
}

/* Two threads may do it at once; then one of them has worked in vain. */
static int get_own(struct packed_source *s, struct unpacked *out, struct err *e)
{
	uint8_t *p = atomic_load_explicit(&s->own, memory_order_acquire), *none = NULL;
	int rc = p ? 0 : src_unpack(&s->s, &p, e);

	if (rc)
		return rc;
	if (p != atomic_load(&s->own) && !atomic_compare_exchange_strong(&s->own, &none, p)) {
		unpacked_free(p, s->s.size);
		p = none;
	}
	*out = (struct unpacked){ p, NULL };
	return 0;
}

static int get(struct packed_source *s, struct unpacked *out, struct err *e)
{
	const struct keeper *by = s->keep.by;

	return by ? by->get(by, &s->keep, &s->s, out, e) : get_own(s, out, e);
}

static void put(struct packed_source *s, struct unpacked *u)
{
	if (s->keep.by)
		s->keep.by->put(s->keep.by, u);
}

/* ---- reading ---- */

static int peek(struct packed_source *s, void *buf, size_t n, uint64_t at)
{
	uint8_t room[PEEK_MOST + 1];
	int rc = check_size(s, NULL);

	rc = rc ? rc : s->packer->unpack(s->s.parent, room, (size_t)at + n, s->s.size, NULL);
	if (!rc)
		memcpy(buf, room + at, n);
	return rc;
}

static int packed_pread(struct source *src, void *buf, size_t n, uint64_t at)
{
	struct packed_source *s = packed(src);
	struct unpacked u;
	int rc;

	if (s->keep.peek && src->size > PEEK_MOST && at + n <= PEEK_MOST)
		return peek(s, buf, n, at);
	rc = get(s, &u, NULL);
	if (!rc) {
		memcpy(buf, u.p + at, n);
		put(s, &u);
	}
	return rc;
}

static uint64_t packed_up(const struct source *src, uint64_t at)
{
	(void)src;
	(void)at;
	return 0;
}

static void packed_close(struct source *src)
{
	unpacked_free(packed(src)->own, src->size);
}

static const struct source_ops packed_ops = {
	.pread = packed_pread, .up = packed_up, .close = packed_close, .packed = true,
};

struct source *src_packed(struct source *stream, const struct packer *packer, uint64_t size, const struct keep *keep)
{
	struct packed_source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->s.ops = &packed_ops;
	s->s.parent = src_ref(stream);
	s->s.size = size;
	atomic_init(&s->s.refs, 1);
	s->packer = packer;
	if (keep)
		s->keep = *keep;
	return &s->s;
}

/* ---- where bytes come from ---- */

/* Of pieces, all that lies between the first and the last. */
static void range_up(const struct source *s, uint64_t *at, uint64_t *n)
{
	uint64_t first = s->ops->up(s, *at), last = *n ? s->ops->up(s, *at + (*n - 1)) : first;

	*at = first < last ? first : last;
	*n = *n ? (first < last ? last - first : first - last) + 1 : 0;
}

bool src_range(const struct source *src, uint64_t *at, uint64_t *n)
{
	bool packed = false;

	for (const struct source *s = src; s->parent && !s->ops->root; s = s->parent) {
		if (s->ops->packed) {
			packed = true;
			*at = 0;
			*n = s->parent->size;
		} else if (s->ops->up) {
			range_up(s, at, n);
		}
	}
	return packed;
}

/* ---- staying unpacked ---- */

int src_pin(struct source *src, struct pin *out, struct err *e)
{
	uint64_t at = 0;
	struct source *whole = src_sliced(src, &at), *s = src;
	int rc;

	*out = (struct pin){ 0 };
	while (s && !s->ops->packed)
		s = s->parent;
	if (!s)
		return 0;
	out->by = packed(s)->keep.by;
	rc = get(packed(s), &out->u, e);
	if (!rc && (s == src || s == whole))
		out->bytes = out->u.p + at;
	return rc;
}

void src_unpin(struct pin *p)
{
	if (p->by && p->u.p)
		p->by->put(p->by, &p->u);
	*p = (struct pin){ 0 };
}
