/* Speed of a packed entry, read whole: against zlib's own loop over the same stream, as zpipe.c has it, and against one
 * call of uncompress() into memory that is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "zstream.h"

#define ROUNDS 9u
#define CHUNK 16384u
#define LEAST 0.9

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct input { const char *what; uint8_t *stream, *room; size_t nstream, n; };

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

/* ---- three ways ---- */

static void ours(const struct input *in)
{
	struct source *stream = src_memory(in->stream, in->nstream);
	struct source *src = src_packed(stream, &zlib_packer, in->n, NULL);
	struct pin pin;

	src_put(stream);
	if (src_pin(src, &pin, NULL))
		fail("it does not unpack");
	src_unpin(&pin);
	src_put(src);
}

static void loop(const struct input *in)
{
	z_stream z = { 0 };
	uint8_t piece[CHUNK], out[CHUNK];
	size_t at = 0;
	int rc = inflateInit(&z);

	while (rc == Z_OK) {
		z.avail_in = (unsigned)(in->nstream - at < CHUNK ? in->nstream - at : CHUNK);
		memcpy(piece, in->stream + at, z.avail_in);
		at += z.avail_in;
		z.next_in = piece;
		do {
			z.next_out = out;
			z.avail_out = CHUNK;
			rc = inflate(&z, Z_NO_FLUSH);
		} while (rc == Z_OK && !z.avail_out);
		rc = rc == Z_BUF_ERROR ? Z_OK : rc;
	}
	if (rc != Z_STREAM_END || z.total_out != in->n)
		fail("zlib's loop fails");
	inflateEnd(&z);
}

static void one_call(const struct input *in)
{
	uLongf n = in->n;

	if (uncompress(in->room, &n, in->stream, in->nstream) != Z_OK || n != in->n)
		fail("uncompress() fails");
}

/* ---- measuring ---- */

/* Bytes a second; the best of several rounds, in which all take turns. */
static void measure(const struct input *in, double best[3])
{
	static void (*const ways[])(const struct input *) = { ours, loop, one_call };
	unsigned calls = (unsigned)((16u << 20) / (in->n + 1)) + 1;

	best[0] = best[1] = best[2] = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned k = 0; k < 3; k++) {
			double took = now(), rate;

			for (unsigned i = 0; i < calls; i++)
				ways[k](in);
			took = (now() - took) / calls;
			rate = (double)in->n / took;
			best[k] = rate > best[k] ? rate : best[k];
		}
	}
}

/* Floats as vertices have them, words, or noise. */
static uint8_t byte_of(unsigned kind, size_t i, uint32_t noise)
{
	static const char words[] = "vertex normal tangent weight material skeleton texture ";

	switch (kind) {
	case 0: return i % 4 == 3 ? 0x3f + (noise & 1) : i % 4 == 2 ? noise % 61 : i % 4 ? noise & 0xf0 : 0;
	case 1: return (uint8_t)(words[i * 7 / 5 % (sizeof words - 1)] + (noise % 31 == 0));
	default: return (uint8_t)noise;
	}
}

static void make(struct input *in, unsigned kind, size_t n, int level)
{
	uLongf size = compressBound(n);
	uint32_t seed = 1;

	in->n = n;
	in->room = malloc(n + 1);
	in->stream = malloc(size);
	if (!in->room || !in->stream)
		fail("out of memory");
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		in->room[i] = byte_of(kind, i, seed >> 16);
	}
	if (compress2(in->stream, &size, in->room, n, level) != Z_OK)
		fail("compress2() fails");
	in->nstream = size;
}

int main(void)
{
	static const struct { const char *what; unsigned kind; size_t n; int level; } inputs[] = {
		{ "floats", 0, 64 << 10, 9 },      { "floats", 0, 1 << 20, 9 }, { "floats", 0, 64 << 20, 9 },
		{ "words", 1, 64 << 10, 9 },       { "words", 1, 1 << 20, 9 },  { "words", 1, 64 << 20, 9 },
		{ "noise, level 0", 2, 1 << 20, 0 }, { "noise, level 0", 2, 64 << 20, 0 },
	};
	double best[3];
	int missed = 0;

	for (unsigned i = 0; i < ARRAY_LEN(inputs); i++) {
		struct input in = { .what = inputs[i].what };

		make(&in, inputs[i].kind, inputs[i].n, inputs[i].level);
		measure(&in, best);
		printf("%-15s %9zu bytes: %5.0f MB/s, zlib's loop %5.0f MB/s: %.2f, uncompress() %5.0f MB/s: %.2f\n",
		       in.what, in.n, best[0] / 1e6, best[1] / 1e6, best[0] / best[1], best[2] / 1e6,
		       best[0] / best[2]);
		missed += inputs[i].level && best[0] < LEAST * best[1];        /* else nothing is packed */
		free(in.room);
		free(in.stream);
	}
	return missed != 0;
}
