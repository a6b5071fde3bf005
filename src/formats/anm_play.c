/* What clips do to a skeleton (spec/mhp.md 5.5).
 *
 * MHFU: stream 2k has the clips of part k of the skeleton, stream 2k + 1 a second set of them; track i of a clip moves
 * the i-th bone of the part. What the streams of one set have in the same slot plays together.
 * MHP3rd: every stream is a set of its own; tracks move the bones of all of the skeleton, in their order, from an
 * offset on and but for some that the species never moves.
 *
 * A slot's number counts on through the sets: those of the second begin at 100, and so on. */
#include "anm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define SET 100u                               /* slots of a set, at least */
#define READ_MOST LIMIT_DECODED                /* bytes of clips that motions() reads */

/* ---- which bones ---- */

/* Offset and bones that are left out, counted from the offset on (spec/mhp.md 5.5, 7). */
struct species {
	uint8_t number;
	bool disputed;                         /* sources disagree about the offset */
	uint16_t moveset;                      /* entry of DATA.BIN */
	uint8_t skipped[16];                   /* ends with 0 */
};
#define FIRST_BONE 2u
static const struct species species_table[] = {
	{ 1, false, 5143, { 8, 15, 25 } },
	{ 2, false, 5146, { 8, 15, 25 } },
	{ 7, false, 5171, { 21, 22 } },
	{ 15, false, 5209, { 8, 15, 25 } },
	{ 16, false, 5214, { 22, 23, 24 } },
	{ 18, false, 5224, { 8, 15, 25 } },
	{ 22, false, 5246, { 8 } },
	{ 40, true, 5342, { 9, 10, 16, 17, 24, 31, 37, 38, 42, 47 } },
	{ 41, false, 5347, { 8, 9, 15, 16, 25, 27, 30, 31, 32, 34, 43, 48 } },
	{ 47, false, 5375, { 17 } },
	{ 56, false, 5406, { 22, 23, 24 } },
	{ 58, true, 5412, { 0 } },
};

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(uint8_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* The number in "em040", wherever it stands in a name; 0: there is none. */
static unsigned named_species(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 5 <= n; i++)
		if ((p[i] | 0x20) == 'e' && (p[i + 1] | 0x20) == 'm' && is_digit(p[i + 2]) && is_digit(p[i + 3]) &&
		    is_digit(p[i + 4]) && (!i || !is_letter(p[i - 1])) && (i + 5 == n || !is_digit(p[i + 5])))
			return 100u * (p[i + 2] - '0') + 10u * (p[i + 3] - '0') + (p[i + 4] - '0');
	return 0;
}

/* By its name, else by its place among the files of the game; NULL: nothing is known about it. */
static const struct species *find_species(const struct object *o)
{
	struct buf name = { 0 };
	uint32_t entry = GEO_NONE;
	unsigned named = object_called(o, &name, &entry) ? named_species(name.p, name.len) : 0;
	const struct species *found = NULL;

	for (size_t i = 0; i < ARRAY_LEN(species_table) && !found; i++)
		if (named ? species_table[i].number == named : species_table[i].moveset == entry)
			found = &species_table[i];
	buf_free(&name);
	return found;
}

struct playing {
	struct object *o;
	const struct anm_pack *pack;
	const struct geo_skeleton *skeleton;
	const struct species *species;
	uint8_t *slots;                        /* numbers of clips, as anm_number_slots() makes them */
	uint32_t *count;                       /* slots of each stream */
	uint32_t *first;                       /* of its slots in `slots` */
	struct arena *a;
};

static bool mhfu(const struct playing *p)
{
	return p->pack->game == ANM_MHFU;
}

/* The bone behind bone `at` that the next track moves, the first one for GEO_NONE; GEO_NONE: there are no more. */
static uint32_t next_bone(const struct playing *p, uint32_t part, uint32_t at)
{
	for (at = at == GEO_NONE ? mhfu(p) ? 0 : FIRST_BONE : at + 1; at < p->skeleton->n; at++) {
		bool skipped = false;

		for (const uint8_t *s = p->species ? p->species->skipped : NULL; s && *s; s++)
			skipped |= at == FIRST_BONE + *s;
		if (mhfu(p) ? p->skeleton->joint[at].part == part : !skipped)
			return at;
	}
	return GEO_NONE;
}

/* ---- clips ---- */

static const struct { uint32_t bit; double unit; } channels[GEO_CHANNELS] = {
	[GEO_MOVE] = { 0x040, 1.0 / 16 }, { 0x080, 1.0 / 16 }, { 0x100, 1.0 / 16 },
	[GEO_TURN] = { 0x008, ANM_ANGLE }, { 0x010, ANM_ANGLE }, { 0x020, ANM_ANGLE },
	[GEO_SCALE] = { 0x200, 1.0 / 256 }, { 0x400, 1.0 / 256 }, { 0x800, 1.0 / 256 },
};

static unsigned channel_of(uint32_t bit)
{
	unsigned k = 0;

	while (k < GEO_CHANNELS && channels[k].bit != bit)
		k++;
	return k;
}

uint32_t anm_bit(unsigned channel)
{
	return channels[channel].bit;
}

double anm_unit(unsigned channel)
{
	return channels[channel].unit;
}

static int take_keys(const struct playing *p, uint32_t clip, const struct anm_motion *m, const struct anm_keys *keys,
		     double unit, struct geo_curve *out, struct err *e)
{
	const uint8_t *raw = keys->raw;
	struct anm_key key;

	out->key = arena_alloc(p->a, keys->count, sizeof *out->key);
	if (!out->key)
		return err_nomem(e);
	for (uint32_t i = 0; i < keys->count; i++, raw += ANM_KEY_SIZE) {
		rec_decode(&anm_key_record, false, raw, &key);
		out->key[i] = (struct geo_key){ key.frame, key.value * unit, key.ease_in * unit, key.ease_out * unit };
		if (i && out->key[i].frame < out->key[i - 1].frame)
			return err_at(e, EBADMSG, p->o->src, p->pack->at[clip] + (uint64_t)(raw - m->raw),
				      anm_name(clip).text, "key %u of a channel has frame %d, expected no less than "
				      "the %.0f before it", i, key.frame, out->key[i - 1].frame);
	}
	out->n = keys->count;
	return 0;
}

/* A channel that stands twice in a track counts once. */
static int take_track(const struct playing *p, uint32_t clip, const struct anm_motion *m, uint32_t number,
		      uint32_t joint, struct geo_track *out, struct err *e)
{
	const struct anm_moves *t = &m->v[number];
	int rc = 0;

	*out = (struct geo_track){ .joint = joint, .clip = clip, .track = number };
	for (uint32_t k = 0; k < t->count && !rc; k++) {
		unsigned channel = channel_of(t->v[k].channel);

		if (channel < GEO_CHANNELS && !out->curve[channel].n)
			rc = take_keys(p, clip, m, &t->v[k], channels[channel].unit, &out->curve[channel], e);
	}
	return rc;
}

/* Adds the tracks of a clip, as it moves that part, to out, which has room for as many as there are bones. */
static int add_clip(const struct playing *p, uint32_t clip, uint32_t part, struct geo_clip *out, struct err *e)
{
	struct anm_motion m;
	uint32_t bone = next_bone(p, part, GEO_NONE);
	int rc = anm_read_clip(p->o, clip, &m, p->a, e);

	for (uint32_t i = 0; !rc && i < m.count && bone != GEO_NONE && out->ntracks < p->skeleton->n; i++) {
		rc = take_track(p, clip, &m, i, bone, &out->track[out->ntracks], e);
		out->ntracks += !rc;
		bone = next_bone(p, part, bone);
	}
	if (rc || out->loops)
		return rc;
	out->loops = m.head.loop;
	out->loop_start = isfinite(m.head.loop_start) ? (double)m.head.loop_start : 0;
	return 0;
}

static int begin_clip(const struct playing *p, struct geo_clip *out, struct err *e)
{
	*out = (struct geo_clip){ .track = arena_alloc(p->a, (size_t)p->skeleton->n + 1, sizeof *out->track) };
	if (!mhfu(p) && !p->species)
		out->note = "which bones the tracks of this species move is not known: taken are all from bone 2 on";
	else if (!mhfu(p) && p->species->disputed)
		out->note = "sources disagree about the first bone that tracks of this species move: taken is bone 2";
	return out->track ? 0 : err_nomem(e);
}

/* ---- slots ---- */

static int begin(struct playing *p, struct object *o, const struct geo_skeleton *s, struct arena *a, struct err *e)
{
	const struct anm_pack *pack = o->priv;
	uint8_t raw[4];
	uint32_t first = 0;
	int rc;

	*p = (struct playing){ .o = o, .pack = pack, .skeleton = s, .a = a };
	p->slots = arena_alloc(a, pack->nslots, 4);
	p->count = arena_alloc(a, pack->nstreams, sizeof *p->count);
	p->first = arena_alloc(a, pack->nstreams, sizeof *p->first);
	if (!p->slots || !p->count || !p->first)
		return err_nomem(e);
	rc = src_read(o->src, p->slots, (size_t)pack->nslots * 4, pack->slots_at, "slots", e);
	for (uint32_t i = 0; i < pack->nstreams && !rc; i++) {
		rc = src_read(o->src, raw, sizeof raw, 8 * (uint64_t)i, "stream", e);
		p->count[i] = rc ? 0 : le_u32(raw);
		p->first[i] = first;
		first += p->count[i];
	}
	if (rc)
		return rc;
	anm_number_slots(pack, p->slots);
	if (!mhfu(p))
		p->species = find_species(o);
	return 0;
}

static uint32_t slot(const struct playing *p, uint32_t stream, uint32_t i)
{
	if (stream >= p->pack->nstreams || i >= p->count[stream])
		return ANM_NO_CLIP;
	return le_u32(p->slots + 4 * ((size_t)p->first[stream] + i));
}

/* The part of the first stream that has the clip. */
static uint32_t part_of(const struct playing *p, uint32_t clip)
{
	for (uint32_t s = 0; s < p->pack->nstreams; s++)
		for (uint32_t i = 0; i < p->count[s]; i++)
			if (slot(p, s, i) == clip)
				return s / 2;
	return 0;
}

int anm_clip(struct object *o, uint32_t i, const struct geo_skeleton *s, struct geo_clip *out, struct arena *a,
	     struct err *e)
{
	const struct anm_pack *pack = o->priv;
	struct playing p;
	int rc;

	if (pack->game == ANM_UNKNOWN || i >= pack->nclips)
		return -ENOENT;
	rc = begin(&p, o, s, a, e);
	rc = rc ? rc : begin_clip(&p, out, e);
	rc = rc ? rc : add_clip(&p, i, part_of(&p, i), out, e);
	out->name = arena_printf(a, "clip_%03u", i);
	return rc ? rc : out->name ? 0 : err_nomem(e);
}

/* ---- motions ---- */

/* What plays in a slot: a clip per part, or ANM_NO_CLIP. */
struct motion { uint32_t number, nparts, *clip; };

static int by_clips(const void *a, const void *b)
{
	const struct motion *x = a, *y = b;

	for (uint32_t k = 0; k < x->nparts; k++)
		if (x->clip[k] != y->clip[k])
			return x->clip[k] < y->clip[k] ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Of runs of motions that by_clips() put beside each other. */
struct run { const struct motion *first; uint32_t n; };

static int by_number(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->first->number < y->first->number ? -1 : x->first->number > y->first->number;
}

static bool same_clips(const struct motion *a, const struct motion *b)
{
	return !memcmp(a->clip, b->clip, a->nparts * sizeof *a->clip);
}

static int find_motions(const struct playing *p, struct motion **out, uint32_t *n, struct err *e)
{
	uint32_t sets = mhfu(p) ? 2 : p->pack->nstreams, parts = mhfu(p) ? (p->pack->nstreams + 1) / 2 : 1, most = 0;
	uint32_t each, *clips;

	for (uint32_t s = 0; s < p->pack->nstreams; s++)
		most = p->count[s] > most ? p->count[s] : most;
	each = most > SET ? (most + SET - 1) / SET * SET : SET;
	*out = arena_alloc(p->a, (size_t)sets * most + 1, sizeof **out);
	clips = arena_alloc(p->a, (size_t)sets * most + 1, parts * sizeof *clips);
	*n = 0;
	if (!*out || !clips)
		return err_nomem(e);
	for (uint32_t set = 0; set < sets; set++)
		for (uint32_t i = 0; i < most; i++, clips += parts) {
			bool any = false;

			for (uint32_t k = 0; k < parts; k++) {
				clips[k] = slot(p, mhfu(p) ? 2 * k + set : set, i);
				any |= clips[k] != ANM_NO_CLIP;
			}
			if (any)
				(*out)[(*n)++] = (struct motion){ set * each + i, parts, clips };
		}
	if (*n)
		qsort(*out, *n, sizeof **out, by_clips);
	return 0;
}

static int find_runs(const struct playing *p, struct run **out, uint32_t *n, struct err *e)
{
	struct motion *v;
	uint32_t motions;
	int rc = find_motions(p, &v, &motions, e);

	*n = 0;
	if (rc)
		return rc;
	*out = arena_alloc(p->a, (size_t)motions + 1, sizeof **out);
	if (!*out)
		return err_nomem(e);
	for (uint32_t i = 0; i < motions; i++) {
		if (!i || !same_clips(&v[i - 1], &v[i]))
			(*out)[(*n)++] = (struct run){ &v[i], 0 };
		(*out)[*n - 1].n++;
	}
	if (*n)
		qsort(*out, *n, sizeof **out, by_number);
	return 0;
}

static int make_motion(const struct playing *p, const struct run *r, struct geo_clip *out, struct err *e)
{
	int rc = begin_clip(p, out, e);

	for (uint32_t k = 0; k < r->first->nparts && !rc; k++)
		if (r->first->clip[k] != ANM_NO_CLIP)
			rc = add_clip(p, r->first->clip[k], k, out, e);
	if (rc)
		return rc;
	out->name = arena_printf(p->a, "slot_%03u", r->first->number);
	out->nslots = r->n;
	out->slot = arena_alloc(p->a, r->n, sizeof *out->slot);
	if (!out->name || !out->slot)
		return err_nomem(e);
	for (uint32_t i = 0; i < r->n; i++)
		out->slot[i] = r->first[i].number;
	return 0;
}

/* Slots may share clips so that a small file means a great many of them. */
static int check_cost(const struct playing *p, const struct run *r, uint64_t *cost, struct err *e)
{
	struct anm_clip head;

	for (uint32_t k = 0; k < r->first->nparts; k++)
		if (r->first->clip[k] != ANM_NO_CLIP && !anm_check_clip(p->o, r->first->clip[k], &head, NULL))
			*cost += head.size;
	return *cost > READ_MOST ? err_set(e, EFBIG, "the slots play more than %zu bytes of clips", READ_MOST) : 0;
}

int anm_motions(struct object *o, const struct geo_skeleton *s,
		int (*each)(void *ctx, const struct geo_clip *, int rc, const struct err *why), void *ctx,
		struct err *e)
{
	struct arena a = { 0 };
	struct playing p;
	struct run *run = NULL;
	uint32_t n = 0;
	uint64_t cost = 0;
	int rc = begin(&p, o, s, &a, e);

	rc = rc || p.pack->game == ANM_UNKNOWN ? rc : find_runs(&p, &run, &n, e);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct arena own = { 0 };
		struct geo_clip clip = { 0 };
		struct err why = { 0 };

		p.a = &own;
		rc = check_cost(&p, &run[i], &cost, e);
		if (!rc) {
			rc = make_motion(&p, &run[i], &clip, &why);
			rc = each(ctx, &clip, rc, &why);
		}
		arena_free(&own);
	}
	arena_free(&a);
	return rc;
}
