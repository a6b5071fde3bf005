/* Where the clips of an animation pack go when some of them are changed, removed or new.
 *
 * Clips lie back to back, in the order of their numbers, and other programs refuse packs where they do not. So a clip
 * that changes its size moves those behind it, the slots follow, and a gap that was there stays as it was. Behind the
 * last clip, zeros (or the padding of the entry) are room; anything else there moves along, and the entry grows. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "anm.h"
#include "bytes.h"

#define PIECE 4096u

struct placing {
	struct object *o;
	const struct anm_pack *pack;
	const struct anm_change *change;
	struct arena a;
	uint8_t *slots;                        /* as stored */
	uint8_t *number;                       /* as shown */
	uint32_t *size;                        /* of the clips */
	bool *used;                            /* clips that stay */
	uint32_t *now;                         /* new places, of the new clips too */
	const uint8_t *old;                    /* bytes of all clips */
	struct buf bytes;                      /* and the new ones */
};

/* ---- what is there ---- */

static int read_slots(struct placing *p, struct err *e)
{
	size_t n = (size_t)p->pack->nslots * 4;
	int rc;

	p->slots = arena_alloc(&p->a, n, 1);
	p->number = arena_alloc(&p->a, n, 1);
	if (!p->slots || !p->number)
		return err_nomem(e);
	rc = src_read(p->o->src, p->slots, n, p->pack->slots_at, "slots", e);
	if (rc)
		return rc;
	memcpy(p->number, p->slots, n);
	anm_number_slots(p->pack, p->number);
	return 0;
}

/* Sizes of the clips; EPERM when they are not told apart well enough to move any. */
static int read_sizes(struct placing *p, struct err *e)
{
	const struct anm_pack *pack = p->pack;
	uint64_t end = pack->clips_at;
	struct anm_clip head;
	struct err why = { 0 };

	p->size = arena_alloc(&p->a, pack->nclips, sizeof *p->size);
	if (!p->size)
		return err_nomem(e);
	for (uint32_t i = 0; i < pack->nclips; i++) {
		int rc = anm_check_clip(p->o, i, &head, &why);

		if (rc)
			return err_set(e, EPERM, "clips cannot change their sizes in a damaged pack: %.150s", why.text);
		if (pack->at[i] < end)
			return err_set(e, EPERM, "clips cannot change their sizes in this pack: clip %u at 0x%x "
				       "begins before 0x%" PRIx64 ", where the one before it ends", i, pack->at[i],
				       end);
		p->size[i] = head.size;
		end = pack->at[i] + (uint64_t)head.size;
	}
	return p->o->faults ? err_set(e, EPERM, "clips cannot change their sizes in a damaged pack: %.150s",
				      p->o->faults->text) : 0;
}

static uint32_t number_of(const struct placing *p, uint32_t slot)
{
	return p->change->slot ? p->change->slot[slot] : le_u32(p->number + 4 * (size_t)slot);
}

static int find_used(struct placing *p, struct err *e)
{
	uint32_t n = p->pack->nclips;

	p->used = arena_alloc(&p->a, n + p->change->fresh, sizeof *p->used);
	if (!p->used)
		return err_nomem(e);
	for (uint32_t i = 0; i < p->pack->nslots; i++)
		if (number_of(p, i) < n + p->change->fresh)
			p->used[number_of(p, i)] = true;
	return 0;
}

static uint32_t count_unused(const struct placing *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->pack->nclips; i++)
		n += !p->used[i];
	return n;
}

/* ---- the clips anew ---- */

static void add_fresh(struct placing *p)
{
	const struct record *r = anm_heads_of(p->o)->clip;
	struct anm_clip head = { .tag = ANM_TAG_CLIP, .size = r->size };
	uint8_t raw[0x14] = { 0 };

	rec_encode(r, false, &head, raw);
	buf_add(&p->bytes, raw, r->size);
}

static int gather(struct placing *p, struct err *e)
{
	const struct anm_pack *pack = p->pack;
	uint32_t from = pack->clips_at;
	uint64_t most = ANM_NO_CLIP;

	p->now = arena_alloc(&p->a, pack->nclips + p->change->fresh, sizeof *p->now);
	if (!p->now)
		return err_nomem(e);
	for (uint32_t i = 0; i < pack->nclips; i++) {
		buf_add(&p->bytes, p->old + (from - pack->clips_at), pack->at[i] - from);
		p->now[i] = pack->clips_at + (uint32_t)p->bytes.len;
		if (p->change->bytes && p->change->bytes[i].len)
			buf_add(&p->bytes, p->change->bytes[i].p, p->change->bytes[i].len);
		else if (p->used[i])
			buf_add(&p->bytes, p->old + (pack->at[i] - pack->clips_at), p->size[i]);
		from = pack->at[i] + p->size[i];
	}
	for (uint32_t i = 0; i < p->change->fresh; i++) {
		p->now[pack->nclips + i] = pack->clips_at + (uint32_t)p->bytes.len;
		add_fresh(p);
	}
	if (p->bytes.bad)
		return err_nomem(e);
	if (pack->clips_at + (uint64_t)p->bytes.len >= most)
		return err_set(e, EFBIG, "the clips end at 0x%" PRIx64 ", at most 0x%" PRIx64 " can be told",
			       pack->clips_at + (uint64_t)p->bytes.len, most - 1);
	return 0;
}

/* ---- writing ---- */

/* How many bytes from `at` on are zero. */
static int count_zeros(struct source *src, uint64_t at, uint64_t *n, struct err *e)
{
	uint8_t raw[PIECE];
	size_t piece, i;
	int rc;

	for (*n = 0; at + *n < src->size; *n += piece) {
		piece = src->size - at - *n < sizeof raw ? (size_t)(src->size - at - *n) : sizeof raw;
		rc = src_read(src, raw, piece, at + *n, "bytes behind the clips", e);
		if (rc)
			return rc;
		for (i = 0; i < piece && !raw[i]; i++)
			;
		if (i < piece) {
			*n += i;
			return 0;
		}
	}
	return 0;
}

/* Makes room for `more` bytes behind the last clip. */
static int make_room(struct placing *p, uint64_t more, struct err *e)
{
	struct object *o = p->o;
	uint64_t end = p->pack->clips_end, tail = o->src->size - end, zeros, size = o->src->size;
	const uint8_t *rest = NULL;
	int rc = 0;

	if (o->around && o->around->padded)
		zeros = tail;
	else
		rc = count_zeros(o->src, end, &zeros, e);
	if (rc || more <= zeros)
		return rc;
	more -= zeros;
	if (tail > zeros)
		rc = object_read(o, &p->a, end + zeros, tail - zeros, "bytes behind the clips", &rest, e);
	rc = rc ? rc : object_resize(o, 0, size + more, e);
	if (rc || !rest)
		return rc;
	return object_patch(o, 0, end + zeros + more, rest, (size_t)(tail - zeros), "bytes behind the clips", e);
}

static int write_clips(struct placing *p, struct err *e)
{
	uint64_t was = p->pack->clips_end - p->pack->clips_at;
	size_t less = p->bytes.len < was ? (size_t)(was - p->bytes.len) : 0;
	int rc = p->bytes.len > was ? make_room(p, p->bytes.len - was, e) : 0;

	if (rc)
		return rc;
	if (less) {
		uint8_t *zeros = buf_room(&p->bytes, less);

		if (!zeros)
			return err_nomem(e);
		memset(zeros, 0, less);
		p->bytes.len += less;
	}
	return object_patch(p->o, 0, p->pack->clips_at, p->bytes.p, p->bytes.len, "clips", e);
}

/* now NULL: clips stay where they are. A slot that stays empty, or leads to what is no clip, keeps its word. */
static int write_slots(struct placing *p, struct err *e)
{
	for (uint32_t i = 0; i < p->pack->nslots; i++) {
		uint32_t was = le_u32(p->number + 4 * (size_t)i), is = number_of(p, i);
		const uint32_t *at = p->now ? p->now : p->pack->at;

		if (is != ANM_NO_CLIP)
			put_le32(p->slots + 4 * (size_t)i, at[is]);
		else if (was != ANM_NO_CLIP)
			put_le32(p->slots + 4 * (size_t)i, ANM_NO_CLIP);
	}
	return object_patch(p->o, 0, p->pack->slots_at, p->slots, (size_t)p->pack->nslots * 4, "slots", e);
}

/* ---- changes ---- */

static int place_anew(struct placing *p, struct err *e)
{
	const struct anm_pack *pack = p->pack;
	int rc = read_sizes(p, e);

	rc = rc ? rc : object_read(p->o, &p->a, pack->clips_at, pack->clips_end - pack->clips_at, "clips", &p->old, e);
	rc = rc ? rc : gather(p, e);
	rc = rc ? rc : write_clips(p, e);
	return rc ? rc : write_slots(p, e);
}

/* Whether all clips that change keep their sizes. */
static bool sizes_stay(const struct placing *p)
{
	const struct buf *bytes = p->change->bytes;
	struct anm_clip head;

	for (uint32_t i = 0; i < p->pack->nclips; i++)
		if (bytes[i].len && (anm_check_clip(p->o, i, &head, NULL) || head.size != bytes[i].len))
			return false;
	return true;
}

static int patch_clips(struct placing *p, struct err *e)
{
	const struct buf *bytes = p->change->bytes;
	int rc = 0;

	for (uint32_t i = 0; i < p->pack->nclips && !rc; i++)
		if (bytes[i].len)
			rc = object_patch(p->o, 0, p->pack->at[i], bytes[i].p, bytes[i].len, anm_name(i).text, e);
	return rc;
}

static int place(struct placing *p, struct err *e)
{
	const struct anm_change *c = p->change;
	uint32_t unused;
	int rc;

	if (c->bytes && sizes_stay(p))
		return patch_clips(p, e);
	rc = read_slots(p, e);
	rc = rc ? rc : find_used(p, e);
	if (rc)
		return rc;
	unused = count_unused(p);
	if (c->bytes || c->fresh || (unused && !p->o->faults))
		rc = place_anew(p, e);
	else
		rc = write_slots(p, e);
	if (!rc && unused)
		object_say(p->o, "clips that no slot uses any more: %u; later ones are numbered anew", unused);
	return rc;
}

int anm_place(struct object *o, const struct anm_change *c, struct err *e)
{
	struct placing p = { .o = o, .pack = o->priv, .change = c };
	int rc = place(&p, e);

	buf_free(&p.bytes);
	arena_free(&p.a);
	return rc;
}
