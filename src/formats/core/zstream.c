#include "zstream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zopfli/zopfli.h>

#include "bytes.h"

#define PIECE 131072u                          /* of a stream, read at once */
#define FIRST_PIECE 2048u                      /* where only the beginning is wanted: it mostly tells enough */
#define RATIO 1032u                            /* deflate: 258 bytes by 2 bits */

struct reading {
	z_stream z;
	struct source *src;
	uint8_t *room;
	size_t piece;
	uint64_t at;                           /* of the stream, read so far */
};

static int begin(struct reading *r, struct source *src, size_t piece, struct err *e)
{
	*r = (struct reading){ .src = src, .piece = src->size < piece ? (size_t)src->size : piece };
	r->room = malloc(r->piece + 1);
	if (r->room && inflateInit(&r->z) == Z_OK)
		return 0;
	free(r->room);
	return err_nomem(e);
}

static void end(struct reading *r)
{
	inflateEnd(&r->z);
	free(r->room);
}

static int fill(struct reading *r, struct err *e)
{
	uint64_t left = r->src->size - r->at;
	size_t n = left < r->piece ? (size_t)left : r->piece;
	int rc = n ? src_read(r->src, r->room, n, r->at, "zlib stream", e) :
		     err_at(e, EBADMSG, r->src, r->at, "zlib stream", "it is cut off, after %lu bytes unpacked",
			    r->z.total_out);

	if (rc)
		return rc;
	r->z.next_in = r->room;
	r->z.avail_in = (unsigned)n;
	r->at += n;
	return 0;
}

/* Unpacks up to n bytes; *done: so many came, fewer only where the stream ends. */
static int inflate_into(struct reading *r, uint8_t *to, size_t n, bool *ended, size_t *done, struct err *e)
{
	int rc = 0, z = Z_OK;

	r->z.next_out = to;
	r->z.avail_out = (unsigned)n;
	while (z != Z_STREAM_END && r->z.avail_out && !rc) {
		if (!r->z.avail_in)
			rc = fill(r, e);
		if (rc)
			break;
		/* When it ends with this piece, no window has to be kept for a next one. */
		z = inflate(&r->z, r->at == r->src->size ? Z_FINISH : Z_NO_FLUSH);
		if (z == Z_MEM_ERROR)
			rc = err_nomem(e);
		else if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			rc = err_at(e, EBADMSG, r->src, r->at - r->z.avail_in, "zlib stream",
				    "%s, after %lu bytes unpacked",
				    z == Z_NEED_DICT ? "it needs a dictionary" : r->z.msg ? r->z.msg : "damaged",
				    r->z.total_out);
	}
	*ended = z == Z_STREAM_END;
	*done = n - r->z.avail_out;
	return rc;
}

static int wrong_size(struct reading *r, const char *more, uint64_t n, uint64_t size, struct err *e)
{
	return err_at(e, EBADMSG, r->src, 0, "zlib stream", "it becomes %s%" PRIu64 " bytes, expected %" PRIu64, more,
		      n, size);
}

/* Room for one byte more than there should be, so that the end comes in the same call. */
static int zlib_unpack(struct source *stream, uint8_t *to, size_t n, uint64_t size, struct err *e)
{
	bool whole = n == size, ended = false;
	struct reading r;
	size_t done;
	int rc = begin(&r, stream, whole ? PIECE : FIRST_PIECE, e);

	if (rc)
		return rc;
	rc = inflate_into(&r, to, n + whole, &ended, &done, e);
	if (!rc && done < n)
		rc = wrong_size(&r, "", done, size, e);
	if (!rc && done > n)
		rc = wrong_size(&r, "more than ", size, size, e);
	end(&r);
	return rc;
}

const struct packer zlib_packer = { .ratio = RATIO, .unpack = zlib_unpack };

bool zlib_begins(const uint8_t head[2])
{
	return (head[0] & 15) == 8 && head[0] >> 4 <= 7 && !(head[1] & 32) && (head[0] << 8 | head[1]) % 31 == 0;
}

int zlib_measure(struct source *stream, uint64_t most, uint64_t *n, struct err *e)
{
	uint8_t room[16384];
	struct reading r;
	bool ended = false;
	size_t done;
	int rc = begin(&r, stream, PIECE, e);

	if (rc)
		return rc;
	*n = 0;
	while (!rc && !ended && *n <= most) {
		rc = inflate_into(&r, room, sizeof room, &ended, &done, e);
		*n += done;
	}
	if (*n > most)
		*n = most + 1;
	end(&r);
	return rc;
}

/* ---- packing ---- */

#define LEAST_WINDOW 9                         /* zlib makes no streams of less */
#define MOST_WINDOW 15
#define WAYS_MOST ((size_t)32 << 20)           /* bytes that are packed a second time, some seconds for all ways */

struct packing {
	const uint8_t *p;
	size_t n;
	int window;
	bool bare;                             /* without zlib's header and checksum */
	uint64_t room;
	uint8_t *best;                         /* the shortest stream so far */
	size_t nbest;
};

/* What else may come out shorter: smaller blocks, whose codes fit better, literals in place of short matches, or what a
 * game's own tools did. */
static const struct { int level, memory, strategy; } ways[] = {
	{ 9, 9, Z_DEFAULT_STRATEGY }, { 9, 8, Z_DEFAULT_STRATEGY }, { 9, 7, Z_DEFAULT_STRATEGY },
	{ 9, 6, Z_DEFAULT_STRATEGY }, { 9, 9, Z_FILTERED },         { 9, 8, Z_FILTERED },
	{ 9, 6, Z_FILTERED },         { 8, 8, Z_DEFAULT_STRATEGY }, { 7, 8, Z_DEFAULT_STRATEGY },
	{ 6, 8, Z_DEFAULT_STRATEGY },
};

/* How long zopfli looks for the shortest stream, and for how many bytes somebody can wait for that: a second or two,
 * and a minute for what is made of few different bytes in no order. In longer ones zlib's ways make up for a changed
 * value. No clock decides: an edit is planned twice and has to come out the same. */
static const struct { int rounds; size_t most; } searches[] = {
	{ 5, (size_t)512 << 10 }, { 15, (size_t)128 << 10 }, { 60, (size_t)64 << 10 },
};

static void keep_shorter(struct packing *k, uint8_t *out, size_t n)
{
	if (k->best && n >= k->nbest) {
		free(out);
		return;
	}
	free(k->best);
	k->best = out;
	k->nbest = n;
}

/* No way takes a quarter off what another one made. */
static bool is_worth_trying(const struct packing *k, size_t most)
{
	return !k->best || (k->n <= most && k->nbest > k->room && k->nbest - k->room <= k->nbest / 4);
}

static int pack_way(struct packing *k, unsigned way, struct err *e)
{
	z_stream z = { 0 };
	uint8_t *out;
	size_t cap;

	if (deflateInit2(&z, ways[way].level, Z_DEFLATED, k->bare ? -k->window : k->window, ways[way].memory,
			 ways[way].strategy) != Z_OK)
		return err_nomem(e);
	cap = deflateBound(&z, k->n);
	out = malloc(cap);
	if (out) {
		z.next_in = (uint8_t *)(uintptr_t)k->p;
		z.avail_in = (unsigned)k->n;
		z.next_out = out;
		z.avail_out = (unsigned)cap;
		deflate(&z, Z_FINISH);
		keep_shorter(k, out, z.total_out);
	}
	deflateEnd(&z);
	return out ? 0 : err_nomem(e);
}

/* Zopfli knows one window only, but no match reaches farther back than the bytes do. */
static bool can_search(const struct packing *k)
{
	return k->window == MOST_WINDOW || k->n <= (size_t)1 << k->window;
}

/* It ends the process when memory runs out. So it is called while there is more than twice what it takes, 40 MiB with
 * what comes out. Another thread may still take that meanwhile. */
static bool memory_is_left(void)
{
	size_t n = (size_t)80 << 20;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED && !munmap(p, n);
}

/* As zlib's header: deflate, the window, "slowest", and what makes it a multiple of 31. */
static void put_header(uint8_t *out, int window)
{
	uint16_t head = (uint16_t)((8 | (window - 8) << 4) << 8 | 3 << 6);

	put_be16(out, (uint16_t)(head + 31 - head % 31));
}

static int search(struct packing *k, int rounds, struct err *e)
{
	ZopfliOptions how;
	uint8_t *out = NULL;
	size_t n = 0;

	if (!memory_is_left())
		return err_nomem(e);
	ZopfliInitOptions(&how);
	how.numiterations = rounds;
	ZopfliCompress(&how, k->bare ? ZOPFLI_FORMAT_DEFLATE : ZOPFLI_FORMAT_ZLIB, k->p, k->n, &out, &n);
	if (!k->bare)
		put_header(out, k->window);
	keep_shorter(k, out, n);
	return 0;
}

static int pack(struct packing *k, uint8_t **out, size_t *nout, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < ARRAY_LEN(ways) && !rc && is_worth_trying(k, WAYS_MOST); i++)
		rc = pack_way(k, i, e);
	for (unsigned i = 0; i < ARRAY_LEN(searches) && !rc && can_search(k); i++)
		if (is_worth_trying(k, searches[i].most))
			rc = search(k, searches[i].rounds, e);
	if (rc) {
		free(k->best);
		return rc;
	}
	*out = k->best;
	*nout = k->nbest;
	return 0;
}

int zlib_pack(const uint8_t *p, size_t n, unsigned window, uint64_t room, uint8_t **out, size_t *nout, struct err *e)
{
	int bits = window < LEAST_WINDOW ? LEAST_WINDOW : window > MOST_WINDOW ? MOST_WINDOW : (int)window;
	struct packing k = { .p = p, .n = n, .window = bits, .room = room };

	return pack(&k, out, nout, e);
}

int deflate_pack(const uint8_t *p, size_t n, uint64_t room, uint8_t **out, size_t *nout, struct err *e)
{
	struct packing k = { .p = p, .n = n, .window = MOST_WINDOW, .bare = true, .room = room };

	return pack(&k, out, nout, e);
}
