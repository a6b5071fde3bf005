/* Deflated MLPs in bytes of unknown layout (spec/ps3-pak.md 7.2, rule 4): they are told of, and never shown. Wherever a
 * zlib stream may begin, a little of it is unpacked; all of it only if an MLP begins there. */
#include "carve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define IN 16384u                              /* of a stream, read at once */
#define BEGINNING 65536u                       /* bytes in which the MLP begins */
#define LARGEST ((size_t)64 << 20)             /* of a stream that is unpacked as a whole */
#define OUT_MOST ((uint64_t)512 << 20)         /* unpacked in all */
#define NAMED 4u                               /* of those that are found, in the message */

struct deflated {
	struct source *src;
	uint64_t size;
	z_stream z;
	struct carve_work out;
	uint8_t in[IN];
	uint8_t *room;                         /* BEGINNING */
	uint64_t n;                            /* found */
	char names[160];
};

/* Unpacks up to `most` bytes; how many it were. *used: bytes of the stream, once it has ended. */
static size_t unpack(struct deflated *d, uint64_t at, uint8_t *to, size_t most, uint64_t *used)
{
	int rc = inflateReset(&d->z);

	*used = 0;
	d->z.avail_in = 0;
	d->z.next_out = to;
	d->z.avail_out = (uInt)most;
	while (rc == Z_OK && d->z.avail_out) {
		uint64_t from = at + d->z.total_in, left = d->size - from;
		size_t n = left < IN ? (size_t)left : d->z.total_in ? IN : 512;        /* most end soon */

		if (!n || src_pread(d->src, d->in, n, from))
			break;
		d->z.next_in = d->in;
		d->z.avail_in = (uInt)n;
		rc = inflate(&d->z, Z_NO_FLUSH);
	}
	if (rc == Z_STREAM_END)
		*used = d->z.total_in;
	return most - d->z.avail_out;
}

static bool has_header(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + MLP_HEADER_SIZE <= n; i += 4)
		if (carve_is_head(p + i))
			return true;
	return false;
}

static bool has_mlp(const uint8_t *p, size_t n)
{
	struct source *src = src_memory(p, n);
	struct carve_finding *f = NULL;
	bool found = src && !carve_search(src, 0, true, NULL, &f, NULL) && f->any;

	finding_put(f ? &f->f : NULL);
	src_put(src);
	return found;
}

static void note(struct deflated *d, uint64_t at, uint64_t used)
{
	size_t n = strlen(d->names);

	if (d->n++ >= NAMED)
		return;
	snprintf(d->names + n, sizeof d->names - n, "%s0x%" PRIx64, n ? ", " : "", at);
	n = strlen(d->names);
	if (used)
		snprintf(d->names + n, sizeof d->names - n, " (0x%" PRIx64 " bytes)", used);
}

/* A stream that is longer than its beginning; *used as of unpack(). */
static bool has_mlp_later(struct deflated *d, uint64_t at, uint64_t *used)
{
	size_t most = BEGINNING, n = most;
	uint8_t *whole = NULL;
	bool found;

	while (n == most && most < LARGEST && d->out.left) {
		free(whole);
		most *= 4;
		whole = malloc(most);
		if (!whole)
			return false;
		n = unpack(d, at, whole, most, used);
		carve_afford(&d->out, n);
	}
	found = whole && has_mlp(whole, n);
	free(whole);
	return found;
}

/* Where the search goes on. */
static uint64_t look_at(struct deflated *d, uint64_t at)
{
	uint64_t used;
	size_t n = unpack(d, at, d->room, BEGINNING, &used);

	carve_afford(&d->out, n + 64);
	if (has_header(d->room, n) && (n < BEGINNING ? has_mlp(d->room, n) : has_mlp_later(d, at, &used)))
		note(d, at, used);
	return used ? at + used : at + 1;
}

static void look_at_all(struct deflated *d, const struct buf *streams)
{
	uint64_t at, next = 0;

	for (size_t i = 0; i < streams->len && d->out.left; i += sizeof at) {
		memcpy(&at, streams->p + i, sizeof at);
		if (at >= next)                /* else it lies in another one */
			next = look_at(d, at);
	}
}

bool carve_deflated(struct source *src, const struct buf *streams, struct err *e)
{
	struct deflated *d = calloc(1, sizeof *d);
	bool found = false;

	if (d)
		d->room = malloc(BEGINNING);
	if (d && d->room && inflateInit(&d->z) == Z_OK) {
		d->src = src;
		d->size = src->size < CARVE_END ? src->size : CARVE_END;
		d->out.left = OUT_MOST;
		look_at_all(d, streams);
		inflateEnd(&d->z);
		found = d->n;
		if (found)
			err_set(e, EBADMSG, "%" PRIu64 " deflated model libraries, at %s%s: they have to be unpacked to "
				"be shown", d->n, d->names, d->n > NAMED ? ", ..." : "");
	}
	if (d)
		free(d->room);
	free(d);
	return found;
}
