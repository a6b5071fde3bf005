#include "zstream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

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
		z = inflate(&r->z, Z_NO_FLUSH);
		if (z == Z_MEM_ERROR)
			rc = err_nomem(e);
		else if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
			rc = err_at(e, EBADMSG, r->src, r->at - r->z.avail_in, "zlib stream", "%s, after %lu bytes unpacked",
				    z == Z_NEED_DICT ? "it needs a dictionary" : r->z.msg ? r->z.msg : "damaged",
				    r->z.total_out);
	}
	*ended = z == Z_STREAM_END;
	*done = n - r->z.avail_out;
	return rc;
}

static int wrong_size(struct reading *r, const char *more, uint64_t n, uint64_t size, struct err *e)
{
	return err_at(e, EBADMSG, r->src, 0, "zlib stream", "it becomes %s%" PRIu64 " bytes, expected %" PRIu64, more, n,
		      size);
}

static int zlib_unpack(struct source *stream, uint8_t *to, size_t n, uint64_t size, struct err *e)
{
	struct reading r;
	bool ended = false;
	uint8_t more;
	size_t done, extra = 0;
	int rc = begin(&r, stream, n < size ? FIRST_PIECE : PIECE, e);

	if (rc)
		return rc;
	rc = inflate_into(&r, to, n, &ended, &done, e);
	if (!rc && done < n)
		rc = wrong_size(&r, "", done, size, e);
	if (!rc && n == size && !ended) {
		rc = inflate_into(&r, &more, 1, &ended, &extra, e);
		if (!rc && extra)
			rc = wrong_size(&r, "more than ", size, size, e);
	}
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

/* What else may come out shorter: smaller blocks, whose codes fit better, or literals in place of short matches. */
static const struct { int memory, strategy; } ways[] = {
	{ 9, Z_DEFAULT_STRATEGY }, { 8, Z_DEFAULT_STRATEGY }, { 7, Z_DEFAULT_STRATEGY }, { 6, Z_DEFAULT_STRATEGY },
	{ 9, Z_FILTERED }, { 8, Z_FILTERED }, { 6, Z_FILTERED },
};

static int pack_way(const uint8_t *p, size_t n, int window, unsigned way, uint8_t **out, size_t *nout, struct err *e)
{
	z_stream z = { 0 };
	size_t cap;

	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, window, ways[way].memory, ways[way].strategy) != Z_OK)
		return err_nomem(e);
	cap = deflateBound(&z, n);
	*out = malloc(cap);
	if (*out) {
		z.next_in = (uint8_t *)(uintptr_t)p;
		z.avail_in = (unsigned)n;
		z.next_out = *out;
		z.avail_out = (unsigned)cap;
		deflate(&z, Z_FINISH);
		*nout = z.total_out;
	}
	deflateEnd(&z);
	return *out ? 0 : err_nomem(e);
}

int zlib_pack(const uint8_t *p, size_t n, unsigned window, uint64_t room, uint8_t **out, size_t *nout, struct err *e)
{
	int bits = window < LEAST_WINDOW ? LEAST_WINDOW : window > MOST_WINDOW ? MOST_WINDOW : (int)window;
	uint8_t *best = NULL, *other = NULL;
	size_t nbest = 0, nother = 0;
	int rc = 0;

	for (unsigned way = 0; way < ARRAY_LEN(ways) && !rc && (!best || nbest > room); way++) {
		rc = pack_way(p, n, bits, way, &other, &nother, e);
		if (rc)
			break;
		if (best && nother >= nbest) {
			free(other);
			continue;
		}
		free(best);
		best = other;
		nbest = nother;
	}
	if (rc) {
		free(best);
		return rc;
	}
	*out = best;
	*nout = nbest;
	return 0;
}
