/* PAK: entries of another length.
 *
 * An entry that becomes shorter stays where it is and leaves zeros behind. One that becomes longer takes what lies
 * between it and the next entry or the directory, whatever that was; one with nothing behind it may also end past the
 * archive's end, if what the archive lies in allows that. Else it moves to the end of the archive, which may grow only
 * if the user said so, and what was its place belongs to nobody. Nothing else moves, and nothing else is written than
 * the entry's numbers. */
#include "pak.h"

#include <errno.h>
#include <inttypes.h>

#include "bytes.h"

#define ALIGN_MOST 4096u

struct edit {
	struct object *o;
	struct pak *pak;
	struct entry *v;                       /* the entry */
	uint32_t i;
	uint64_t size;                         /* wanted */
	uint64_t room;                         /* bytes from where it is to what is somebody's; 0: it has no place */
	bool last;                             /* nothing of the archive lies behind it */
};

static struct path_text label(const struct edit *t)
{
	return path_text(t->pak->name[t->i], PAK_SEPARATOR);
}

/* ---- room ---- */

/* Takes away from the room what lies at [at, end). */
static void leave(struct edit *t, uint64_t at, uint64_t end)
{
	if (at >= end || end <= t->v->at)
		return;
	t->last = false;
	if (at <= t->v->at)
		t->room = 0;
	else if (at - t->v->at < t->room)
		t->room = at - t->v->at;
}

/* What is lost has an end that cannot be, but may well begin where it says. */
static void find_room(struct edit *t)
{
	const struct pak *pak = t->pak;
	uint64_t end = t->o->src->size;

	t->last = !t->v->lost;
	t->room = t->v->lost ? 0 : end - t->v->at;
	leave(t, 0, PAK_HEADER_SIZE);
	leave(t, pak->header.directory, (uint64_t)pak->header.directory + pak->header.size);
	for (uint32_t k = 0; k < pak->n; k++) {
		const struct entry *v = &pak->shown[k];

		if (k != t->i && !v->lost)
			leave(t, v->at, v->at + v->size);
		else if (k != t->i && pak->offset[k] > t->v->at && pak->offset[k] < end)
			leave(t, pak->offset[k], end);
	}
}

/* The largest power of two that the places of all entries are multiples of. */
static uint64_t find_alignment(const struct pak *pak)
{
	uint32_t bits = ALIGN_MOST;

	for (uint32_t k = 0; k < pak->n; k++)
		if (pak->shown[k].size)
			bits |= pak->offset[k];
	return bits & -bits;
}

/* ---- writing ---- */

static int write_numbers(const struct edit *t, struct err *e)
{
	uint8_t raw[8];

	put_le32(raw, (uint32_t)t->v->at);
	put_le32(raw + 4, (uint32_t)t->v->size);
	t->pak->offset[t->i] = (uint32_t)t->v->at;
	t->pak->size[t->i] = (uint32_t)t->v->size;
	return object_patch(t->o, 0, t->pak->header.directory + (uint64_t)t->i * PAK_ENTRY_SIZE + PAK_AT_OFFSET, raw,
			    sizeof raw, "PAK entry", e);
}

/* In its place: what it does not have any more, or has now, is zero. */
static int set_size(const struct edit *t, struct err *e)
{
	uint64_t was = t->v->size, from = was < t->size ? was : t->size, to = was < t->size ? t->size : was;
	int rc = src_clear(t->o->src, t->v->at + from, to - from, "PAK entry", e);

	t->v->size = t->size;
	return rc ? rc : write_numbers(t, e);
}

/* ---- longer than its place ---- */

static int no_room(const struct edit *t, const char *hint, struct err *e)
{
	return err_set(e, ENOSPC, "%s: its place has %" PRIu64 " bytes, %" PRIu64 " are needed: %" PRIu64
		       " bytes are missing%s", label(t).s, t->room, t->size, t->size - t->room, hint);
}

static int make_longer(const struct edit *t, uint64_t end, struct err *e)
{
	struct err why = { 0 };
	int rc;

	if (end > UINT32_MAX)
		return err_set(e, EFBIG, "the archive would end at 0x%" PRIx64 "; its offsets have 32 bits", end);
	rc = object_resize(t->o, 0, end, &why);
	if (rc == -ENOSPC || rc == -EROFS)
		return no_room(t, t->o->around && !t->o->around->grow ? "; -o grow would let the archive grow" : "", e);
	if (rc && e)
		*e = why;
	return rc;
}

static int move_to_end(struct edit *t, struct err *e)
{
	uint64_t at = align_up(t->o->src->size, find_alignment(t->pak)), was = t->v->size;
	int rc;

	if (!t->o->around || !t->o->around->grow)
		return no_room(t, "; -o grow would let it move to the end of the archive", e);
	rc = make_longer(t, at + t->size, e);
	rc = rc ? rc : src_move(t->o->src, t->v->at, at, was < t->size ? was : t->size, "PAK entry", e);
	if (rc)
		return rc;
	object_say(t->o, "%s is at the end of the archive now: its place had %" PRIu64 " bytes, %" PRIu64 " are needed",
		   label(t).s, t->room, t->size);
	t->pak->nlost -= t->v->lost;
	*t->v = (struct entry){ .at = at, .size = t->size };
	return write_numbers(t, e);
}

int pak_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	struct edit t = { .o = o, .pak = o->priv, .v = &v->v[i], .i = i, .size = size };
	int rc = 0;

	if (t.v->shared)
		return err_set(e, EPERM, "%s: something else of the archive has bytes of it too, so it stays as it is",
			       label(&t).s);
	if (size == t.v->size)
		return 0;
	find_room(&t);
	if (size > t.room && !t.last)
		return move_to_end(&t, e);
	if (size > t.room)
		rc = make_longer(&t, t.v->at + size, e);
	return rc ? rc : set_size(&t, e);
}
