/* Sources of several pieces of one parent. */
#include <stdlib.h>
#include <string.h>

#include "source.h"

/* Pieces by where they begin in the source. */
struct extents_source { struct source s; uint32_t n; struct piece { uint64_t start, at; } v[]; };

/* The piece that byte `at` lies in; that is the last one which begins there or before. */
static uint32_t find(const struct extents_source *s, uint64_t at)
{
	uint32_t low = 0, high = s->n - 1;

	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (s->v[mid].start <= at)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

static uint64_t left_in(const struct extents_source *s, uint32_t i, uint64_t at)
{
	return (i + 1 < s->n ? s->v[i + 1].start : s->s.size) - at;
}

static uint64_t extents_up(const struct source *src, uint64_t at)
{
	const struct extents_source *s = (const struct extents_source *)src;
	const struct piece *p = s->n ? &s->v[find(s, at)] : NULL;

	return p ? p->at + (at - p->start) : 0;
}

static int extents_pread(struct source *src, void *buf, size_t n, uint64_t at)
{
	const struct extents_source *s = (const struct extents_source *)src;
	uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (uint32_t i = find(s, at); n && !rc; i++) {
		uint64_t left = left_in(s, i, at);

		part = left < n ? (size_t)left : n;
		rc = part ? src_pread(src->parent, p, part, extents_up(src, at)) : 0;
		p += part;
		at += part;
		n -= part;
	}
	return rc;
}

static const void *extents_map(struct source *src, size_t n, uint64_t at)
{
	const struct extents_source *s = (const struct extents_source *)src;

	return s->n && n <= left_in(s, find(s, at), at) ? src_map(src->parent, n, extents_up(src, at)) : NULL;
}

static const struct source_ops extents_ops = { .pread = extents_pread, .map = extents_map, .up = extents_up };

struct source *src_extents(struct source *parent, const struct extent *v, uint32_t n)
{
	struct extents_source *s = calloc(1, sizeof *s + n * sizeof s->v[0]);

	if (!s)
		return NULL;
	s->s.ops = &extents_ops;
	s->s.parent = src_ref(parent);
	atomic_init(&s->s.refs, 1);
	for (uint32_t i = 0; i < n; i++) {
		s->v[s->n++] = (struct piece){ s->s.size, v[i].at };
		s->s.size += v[i].size;
	}
	return &s->s;
}
