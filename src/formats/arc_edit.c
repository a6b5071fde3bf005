/* ARC: entries that hold something else.
 *
 * The new stream goes where the old one was, if need be into zeros behind it, up to what belongs to another entry. What
 * it does not fill becomes zeros. One that is longer however it is packed goes into a hole between entries that was
 * left so, else to the end of the archive, which what the archive lies in has to allow. Nothing else moves. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arc.h"
#include "bytes.h"
#include "zstream.h"

/* What entry i is to hold, as it is and as it is stored. */
struct arc_edit {
	struct object *o;
	struct arc *arc;
	uint32_t i;
	uint8_t *now;
	size_t nnow;
	uint8_t *stored;                       /* may be `now` */
	size_t nstored;
	uint64_t at, room;                     /* of its old place; room 0: it has none */
};

/* ---- places ---- */

struct place { uint64_t at, end; };

/* Bytes that an entry says are its own. */
static struct place place_of(const struct arc_edit *t, uint32_t i)
{
	const struct arc_entry *v = &t->arc->entry[i];

	return (struct place){ v->offset, v->packed ? (uint64_t)v->offset + v->packed : 0 };
}

static bool can_be(const struct arc_edit *t, struct place v)
{
	return v.end && v.at >= arc_table_end(t->arc) && v.end <= t->o->src->size;
}

/* The old place, with as many of the zeros behind it as could be of use. What others use too cannot be written. */
static int find_room(struct arc_edit *t, struct err *e)
{
	struct place own = place_of(t, t->i);
	uint64_t end = t->o->src->size, most = t->nnow + t->nnow / 1000 + 64, zeros;
	int rc;

	t->at = own.at;
	t->room = 0;
	if (!can_be(t, own))
		return 0;
	for (uint32_t k = 0; k < t->arc->n; k++) {
		struct place other = place_of(t, k);

		if (k == t->i || !other.end)
			continue;
		if (other.at < own.end && other.end > own.at)
			return 0;
		if (other.at >= own.end && other.at < end)
			end = other.at;
	}
	end = end - own.end < most ? end : own.end + most;
	rc = src_count_zeros(t->o->src, own.end, end - own.end, &zeros, "ARC data", e);
	t->room = own.end - own.at + zeros;
	return rc;
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* A run of zeros between two entries that holds the stream; 0: there is none. In front of the first entry the archive
 * may be aligned. */
static int find_hole(struct arc_edit *t, uint64_t *at, struct err *e)
{
	struct place *v = malloc((t->arc->n + (size_t)1) * sizeof *v);
	uint64_t end = 0, zeros;
	uint32_t n = 0;
	int rc = v ? 0 : err_nomem(e);

	*at = 0;
	for (uint32_t k = 0; k < t->arc->n && v; k++)
		if (can_be(t, place_of(t, k)))
			v[n++] = place_of(t, k);
	if (n)
		qsort(v, n, sizeof *v, by_place);
	for (uint32_t k = 0; k < n && !rc && !*at; k++) {
		if (end && v[k].at > end && v[k].at - end >= t->nstored) {
			rc = src_count_zeros(t->o->src, end, t->nstored, &zeros, "ARC data", e);
			*at = zeros == t->nstored ? end : 0;
		}
		end = v[k].end > end ? v[k].end : end;
	}
	free(v);
	return rc;
}

/* The end of the archive, or the old place when nothing lies behind it. */
static int find_end(struct arc_edit *t, uint64_t *at, struct err *e)
{
	uint64_t size = t->o->src->size, end;
	struct err why = { 0 };
	int rc;

	*at = t->room && t->at + t->room == size ? t->at : size;
	end = *at + t->nstored;
	if (end > UINT32_MAX)
		return err_set(e, EFBIG, "the archive would end at 0x%" PRIx64 "; its offsets have 32 bits", end);
	rc = object_resize(t->o, 0, end, &why);
	if (!rc && *at != t->at)
		object_say(t->o, "%s is at the end of the archive now: its place had %" PRIu64 " bytes, %zu are needed",
			   path_text(t->arc->name[t->i], ARC_SEPARATOR).s, t->room, t->nstored);
	if (rc == -ENOSPC || rc == -EROFS)
		return err_set(e, ENOSPC, "%s: the place of its stream has %" PRIu64 " bytes, %zu are needed: %" PRIu64
			       " bytes are missing; -o grow would let the archive grow",
			       path_text(t->arc->name[t->i], ARC_SEPARATOR).s, t->room, t->nstored,
			       t->nstored - t->room);
	if (rc && e)
		*e = why;
	return rc;
}

/* ---- streams ---- */

/* The window that the old stream has: a game may have no more memory. */
static unsigned window_of(const struct arc_edit *t)
{
	uint8_t head[2];
	const struct arc_entry *v = &t->arc->entry[t->i];
	bool known = v->packed >= sizeof head && !src_pread(t->o->src, head, sizeof head, v->offset);

	return known && zlib_begins(head) ? zlib_window(head[0]) : 15;
}

/* What is stored as it is stays so, unless it would be taken for a stream, or fits only as one. Nothing needs no
 * stream. */
static int make_stream(struct arc_edit *t, struct err *e)
{
	const struct entry *was = &t->arc->shown[t->i];
	bool plain = !was->packed && !was->lost && t->nnow <= t->room;

	if (plain && (t->nnow < 2 || !zlib_begins(t->now))) {
		t->stored = t->now;
		t->nstored = t->nnow;
		return 0;
	}
	return zlib_pack(t->now, t->nnow, window_of(t), t->room, &t->stored, &t->nstored, e);
}

static int read_now(struct arc_edit *t, struct source *now, struct err *e)
{
	if (now->size > LIMIT_DECODED)
		return err_set(e, EFBIG, "%" PRIu64 " bytes, at most %zu can be packed", now->size, LIMIT_DECODED);
	t->nnow = (size_t)now->size;
	t->now = malloc(t->nnow + 1);
	return t->now ? src_read(now, t->now, t->nnow, 0, "new contents", e) : err_nomem(e);
}

/* ---- writing ---- */

static int write_numbers(const struct arc_edit *t, struct err *e)
{
	const struct arc_entry *v = &t->arc->entry[t->i];
	const uint32_t numbers[] = { v->packed, v->size, v->offset };
	uint8_t raw[sizeof numbers];

	for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
		if (t->arc->be)
			put_be32(raw + 4 * k, numbers[k]);
		else
			put_le32(raw + 4 * k, numbers[k]);
	}
	return object_patch(t->o, 0, t->arc->start + (uint64_t)t->i * ARC_ENTRY_SIZE + ARC_AT_PACKED, raw, sizeof raw,
			    "ARC entry", e);
}

static int store(struct arc_edit *t, uint64_t at, struct err *e)
{
	struct arc_entry *v = &t->arc->entry[t->i];
	struct entry *shown = &t->arc->shown[t->i];
	uint64_t keep = at == t->at ? t->nstored : 0;
	int rc = 0;

	if (t->room && keep < v->packed)
		rc = src_clear(t->o->src, t->at + keep, v->packed - keep, "ARC data", e);
	if (!rc && t->nstored)                 /* nothing may have a place that cannot be */
		rc = src_write(t->o->src, t->stored, t->nstored, at, "ARC data", e);
	if (rc)
		return rc;
	v->packed = (uint32_t)t->nstored;
	v->size = arc_size_word(t->arc->layout, v->size, (uint32_t)t->nnow);
	v->offset = (uint32_t)at;
	*shown = (struct entry){
		.at = t->nstored ? at : 0, .size = t->nnow, .stream = v->packed, .packed = t->stored != t->now,
	};
	return write_numbers(t, e);
}

int arc_put(struct object *o, struct entries *v, uint32_t i, struct source *now, struct err *e)
{
	struct arc_edit t = { .o = o, .arc = o->priv, .i = i };
	uint64_t at;
	int rc = read_now(&t, now, e);

	(void)v;                               /* the archive's own */
	rc = rc ? rc : find_room(&t, e);
	rc = rc ? rc : make_stream(&t, e);
	at = t.at;
	if (!rc && t.nstored > t.room) {
		rc = find_hole(&t, &at, e);
		if (!rc && !at)
			rc = find_end(&t, &at, e);
	}
	rc = rc ? rc : store(&t, at, e);
	if (t.stored != t.now)
		free(t.stored);
	free(t.now);
	return rc;
}
