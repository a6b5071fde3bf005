/* Files of blocks that are packed one by one: a source of what they become, unpacked when it is read.
 *
 * A block read in parts is kept in one of some places, by its number, each under a lock of its own; a block read whole
 * goes to where it is wanted. Who unpacks needs a *worker*: its tables, room for packed bytes and what was read of the
 * image's table last. Some are kept for the next read. Nothing is as large as a header says, only as a block. */
#include <errno.h>
#include <libdeflate.h>
#include <lz4.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "disc.h"

#define KEPT ((uint32_t)4 << 20)               /* bytes of unpacked blocks, or one that is larger */
#define PLACES 128u
#define AHEAD 65536u                           /* packed bytes read at once, or a block's */
#define WORKERS 8u                             /* kept idle, of blocks up to AHEAD; of larger ones */
#define LARGE_WORKERS 1u
#define NO_BLOCK UINT64_MAX

struct worker {
	struct worker *next;
	struct libdeflate_decompressor *inflate;
	struct table_piece index;
	uint64_t at;                           /* in the file, of the n bytes in room */
	size_t n, cap;
	uint8_t room[];
};

struct place {
	pthread_mutex_t lock;
	uint8_t *p;                            /* NULL: nothing was kept yet */
	uint64_t block;                        /* NO_BLOCK: p is of none */
};

struct blocks_source {
	struct source s;                       /* parent: the file */
	struct block_index x;
	pthread_mutex_t lock;                  /* of the workers */
	struct worker *idle;
	unsigned nidle;
	uint32_t nplaces;
	struct place place[];
};

/* ---- workers ---- */

static void worker_free(struct worker *w)
{
	libdeflate_free_decompressor(w->inflate);
	free(w);
}

static struct worker *worker_new(const struct blocks_source *s)
{
	uint32_t most = slot_most(s->x.block);
	size_t cap = most > AHEAD ? most : AHEAD;
	struct worker *w;

	if (cap > s->s.parent->size)
		cap = (size_t)s->s.parent->size;
	w = malloc(sizeof *w + cap);
	if (!w)
		return NULL;
	memset(w, 0, sizeof *w);
	w->cap = cap;
	w->index.most = TABLE_PIECE;
	w->inflate = libdeflate_alloc_decompressor();
	if (w->inflate)
		return w;
	free(w);
	return NULL;
}

static struct worker *take_worker(struct blocks_source *s)
{
	struct worker *w;

	pthread_mutex_lock(&s->lock);
	w = s->idle;
	if (w) {
		s->idle = w->next;
		s->nidle--;
	}
	pthread_mutex_unlock(&s->lock);
	w = w ? w : worker_new(s);
	if (w)
		w->n = 0;
	return w;
}

static void give_worker(struct blocks_source *s, struct worker *w)
{
	unsigned most = slot_most(s->x.block) > AHEAD ? LARGE_WORKERS : WORKERS;
	bool keep;

	pthread_mutex_lock(&s->lock);
	keep = s->nidle < most;
	if (keep) {
		w->next = s->idle;
		s->idle = w;
		s->nidle++;
	}
	pthread_mutex_unlock(&s->lock);
	if (!keep)
		worker_free(w);
}

/* ---- unpacking ---- */

/* *done: so much came of the stream, at most n. What follows it in its slot does not matter. */
static int inflate(struct worker *w, uint8_t pack, const uint8_t *from, size_t nfrom, uint8_t *to, size_t n,
		   size_t *done)
{
	size_t taken;
	enum libdeflate_result rc = pack == PACK_ZLIB ?
		libdeflate_zlib_decompress_ex(w->inflate, from, nfrom, to, n, &taken, done) :
		libdeflate_deflate_decompress_ex(w->inflate, from, nfrom, to, n, &taken, done);

	return rc == LIBDEFLATE_SUCCESS ? 0 : -EIO;
}

/* A length of LZ4: 15 goes on with bytes of 255 and one that is less. False when it ends past the input. */
static bool lz4_length(const uint8_t **p, const uint8_t *end, size_t *n)
{
	uint8_t more = 255;

	for (bool on = *n == 15; on; on = more == 255) {
		if (*p == end)
			return false;
		more = *(*p)++;
		*n += more;
	}
	return true;
}

/* How many bytes the LZ4 block takes that n bytes are packed to, before the padding of its slot; 0: it is damaged or of
 * another length. The library has to be told: it would take padding for a part of the block, or drop what is too
 * much. */
static size_t lz4_measure(const uint8_t *from, size_t nfrom, size_t n)
{
	const uint8_t *p = from, *end = from + nfrom;

	for (size_t done = 0; p < end;) {
		uint8_t token = *p++;
		size_t literals = token >> 4, match = token & 15, back;

		if (!lz4_length(&p, end, &literals) || literals > n - done || literals > (size_t)(end - p))
			return 0;
		p += literals;
		done += literals;
		if (done == n)
			return (size_t)(p - from);
		if (end - p < 2)
			return 0;
		back = p[0] | (size_t)p[1] << 8;
		p += 2;
		if (!lz4_length(&p, end, &match) || !back || back > done || match + 4 > n - done)
			return 0;
		done += match + 4;
	}
	return 0;
}

static int unpack_lz4(const uint8_t *from, size_t nfrom, uint8_t *to, size_t n)
{
	size_t stream = lz4_measure(from, nfrom, n);

	return stream && LZ4_decompress_safe((const char *)from, (char *)to, (int)stream, (int)n) == (int)n ? 0 : -EIO;
}

/* The packed bytes of a slot that lies in the file, at w->room + the result. When they have to be read, so are those of
 * the blocks behind, up to `end`. */
static int read_packed(struct blocks_source *s, struct worker *w, const struct slot *slot, size_t n, uint64_t end,
		       size_t *from)
{
	size_t piece = n;
	int rc;

	if (slot->at >= w->at && span_ok(w->n, slot->at - w->at, n, 1)) {
		*from = (size_t)(slot->at - w->at);
		return 0;
	}
	if (end > slot->at + n && end <= s->s.parent->size)
		piece = end - slot->at < w->cap ? (size_t)(end - slot->at) : w->cap;
	rc = src_pread(s->s.parent, w->room, piece, slot->at);
	w->at = slot->at;
	w->n = rc ? 0 : piece;
	*from = 0;
	return rc;
}

/* All of block i, to where there is room for it. Of the last one less may come, and zeros follow. */
static int unpack(struct blocks_source *s, struct worker *w, uint64_t i, uint64_t end, uint8_t *to)
{
	size_t n = s->x.block, least = i == s->x.n - 1 ? s->x.last : n, done = n, from, have;
	struct slot slot;
	int rc = s->x.find(&s->x, s->s.parent, &w->index, i, &slot);

	if (rc)
		return rc;
	if (slot.pack == PACK_NONE) {
		done = slot.size < n ? (size_t)slot.size : n;
		rc = done < least ? -EIO : src_pread(s->s.parent, to, done, slot.at);
	} else {
		have = slot.size < slot_most(s->x.block) ? (size_t)slot.size : slot_most(s->x.block);
		rc = read_packed(s, w, &slot, have, end, &from);
		if (!rc && slot.pack == PACK_LZ4)
			rc = unpack_lz4(w->room + from, have, to, n);
		else if (!rc)
			rc = inflate(w, slot.pack, w->room + from, have, to, n, &done);
	}
	if (!rc && done != n && done != least)
		rc = -EIO;
	if (!rc)
		memset(to + done, 0, n - done);
	return rc;
}

/* ---- the table ---- */

int table_read(struct table_piece *p, struct source *file, uint64_t at, uint64_t all, uint64_t i, uint32_t n,
	       const uint8_t **out)
{
	uint64_t left = all - i;
	uint32_t many = left < p->most ? (uint32_t)left : p->most;
	int rc = 0;

	if (i < p->first || i - p->first + n > p->n) {
		rc = src_pread(file, p->raw, (size_t)many * 4, at + i * 4);
		p->first = i;
		p->n = rc ? 0 : many;
	}
	*out = p->raw + (i - p->first) * 4;
	return rc;
}

/* ---- reading ---- */

/* A read that goes on: its worker, once one is needed, and where the packed bytes of its blocks end, as far as one
 * piece of the table tells. */
struct reading { struct worker *w; uint64_t last, end; };

static int unpack_for(struct blocks_source *s, struct reading *r, uint64_t i, uint8_t *to)
{
	uint64_t last = r->last - i < TABLE_PIECE / 2 ? r->last : i + TABLE_PIECE / 2;
	struct slot slot;

	if (!r->w) {
		r->w = take_worker(s);
		if (!r->w)
			return -ENOMEM;
		if (last > i && !s->x.find(&s->x, s->s.parent, &r->w->index, i, &slot) &&
		    !s->x.find(&s->x, s->s.parent, &r->w->index, last, &slot))
			r->end = slot.at + slot.size;
	}
	return unpack(s, r->w, i, r->end, to);
}

static struct place *lock_place(struct blocks_source *s, uint64_t i)
{
	struct place *p = &s->place[i % s->nplaces];

	pthread_mutex_lock(&p->lock);
	return p;
}

static int read_whole(struct blocks_source *s, struct reading *r, uint64_t i, uint8_t *to)
{
	struct place *p = lock_place(s, i);
	bool held = p->block == i;

	if (held)
		memcpy(to, p->p, s->x.block);
	pthread_mutex_unlock(&p->lock);
	return held ? 0 : unpack_for(s, r, i, to);
}

static int read_part(struct blocks_source *s, struct reading *r, uint64_t i, size_t off, uint8_t *to, size_t n)
{
	struct place *p = lock_place(s, i);
	int rc = 0;

	if (p->block != i) {
		p->p = p->p ? p->p : malloc(s->x.block);
		rc = p->p ? unpack_for(s, r, i, p->p) : -ENOMEM;
		p->block = rc ? NO_BLOCK : i;
	}
	if (!rc)
		memcpy(to, p->p + off, n);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int blocks_pread(struct source *src, void *buf, size_t n, uint64_t at)
{
	struct blocks_source *s = (struct blocks_source *)src;
	struct reading r = { .last = (at + n - 1) / s->x.block };
	uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		size_t off = at % s->x.block, left = s->x.block - off;

		part = left < n ? left : n;
		if (part == s->x.block)
			rc = read_whole(s, &r, at / s->x.block, p);
		else
			rc = read_part(s, &r, at / s->x.block, off, p, part);
	}
	if (r.w)
		give_worker(s, r.w);
	return rc;
}

/* The place of its block. */
static uint64_t blocks_up(const struct source *src, uint64_t at)
{
	const struct blocks_source *s = (const struct blocks_source *)src;
	struct table_piece piece = { .most = 2 };
	uint64_t i = at / s->x.block;
	struct slot slot;

	return i >= s->x.n || s->x.find(&s->x, src->parent, &piece, i, &slot) ? 0 : slot.at;
}

static void blocks_close(struct source *src)
{
	struct blocks_source *s = (struct blocks_source *)src;

	while (s->idle) {
		struct worker *w = s->idle;

		s->idle = w->next;
		worker_free(w);
	}
	for (uint32_t i = 0; i < s->nplaces; i++) {
		pthread_mutex_destroy(&s->place[i].lock);
		free(s->place[i].p);
	}
	pthread_mutex_destroy(&s->lock);
	free(s->x.plain);
}

static const struct source_ops blocks_ops = {
	.pread = blocks_pread, .up = blocks_up, .close = blocks_close, .root = true,
};

struct source *src_unpacked_blocks(struct source *file, const struct block_index *x)
{
	uint32_t places = KEPT / x->block < 1 ? 1 : KEPT / x->block < PLACES ? KEPT / x->block : PLACES;
	struct blocks_source *s = calloc(1, sizeof *s + places * sizeof *s->place);

	if (!s) {
		free(x->plain);
		return NULL;
	}
	s->s.ops = &blocks_ops;
	s->s.parent = src_ref(file);
	s->s.size = x->bytes;
	atomic_init(&s->s.refs, 1);
	s->x = *x;
	pthread_mutex_init(&s->lock, NULL);
	s->nplaces = places;
	for (uint32_t i = 0; i < places; i++) {
		pthread_mutex_init(&s->place[i].lock, NULL);
		s->place[i].block = NO_BLOCK;
	}
	return &s->s;
}
