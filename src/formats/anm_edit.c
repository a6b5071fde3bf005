/* What is written to an animation pack: the channels and keys of a clip, and what the slots play.
 *
 * Keys hang on each other (frames ascend), channels on their track (MHFU: a mask of them; no channel twice), and sizes
 * on all of it. So a clip whose tracks, channels or keys changed is taken whole from the text, what the text leaves out
 * from the stored clip, and encoded anew. What is stored against the rules may stay, but not be written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "anm.h"
#include "bytes.h"

#define SCALES 0xe00u                          /* channel bits of scale_x, scale_y, scale_z */
#define MHP3RD_TRACK_MOST 0xffffu              /* bytes */

struct editing {
	struct arena *a;
	const struct anm_heads *heads;
	uint32_t clip, track, channel;         /* at hand */
	struct anm_motion old, now;
	struct err *e;
};

static bool mhfu(const struct editing *d)
{
	return d->heads->clip == &anm_clip_mhfu;
}

/* ---- the text ---- */

static int expect(const struct editing *d, const struct ynode *node, unsigned kind, const char *what)
{
	if (node->kind == kind)
		return 0;
	return err_line(d->e, EINVAL, node->line, node->column, "%s found, expected %s", ynode_quote(node).text, what);
}

/* Only these keys; b may be NULL. */
static int expect_keys(const struct editing *d, const struct ynode *map, const char *a, const char *b)
{
	int rc = expect(d, map, Y_MAP, "a mapping");

	for (const struct ynode *k = rc ? NULL : map->first; k; k = k->next)
		if (strcmp(k->text, a) && (!b || strcmp(k->text, b)))
			return err_line(d->e, EINVAL, k->line, k->column, "unknown key %s, expected %s%s%s",
					ynode_quote(k).text, a, b ? " or " : "", b ? b : "");
	return rc;
}

static int missing(const struct editing *d, const struct ynode *map, const char *key)
{
	return err_line(d->e, EINVAL, map->line, map->column, "%s is missing, and nothing stored stands for it", key);
}

/* ---- keys ---- */

static int16_t frame(const struct anm_keys *k, uint32_t i)
{
	return (int16_t)le_u16(k->raw + ANM_KEY_SIZE * (size_t)i + 2);
}

/* How many frames of both lists are alike from the start, and from the end as far as the former leave any. */
static void alike(const struct anm_keys *now, const struct anm_keys *was, uint32_t *head, uint32_t *tail)
{
	uint32_t most = now->count < was->count ? now->count : was->count;

	*head = *tail = 0;
	while (*head < most && frame(now, *head) == frame(was, *head))
		++*head;
	while (*tail < most - *head && frame(now, now->count - 1 - *tail) == frame(was, was->count - 1 - *tail))
		++*tail;
}

/* Frames that are not as stored have to follow on each other. */
static int check_frames(const struct editing *d, const struct ynode *list, const struct anm_keys *now,
			const struct anm_keys *was)
{
	const struct ynode *row = list->first;
	uint32_t head, tail;

	alike(now, was, &head, &tail);
	for (uint32_t i = 0; i < now->count; i++, row = row->next) {
		if (i < head || i > now->count - tail)
			continue;
		if (i < now->count - tail && frame(now, i) < 0)
			return err_line(d->e, EINVAL, row->line, row->column,
					"clip %u, track %u, channel %u: key %u has frame %d, expected 0 or more",
					d->clip, d->track, d->channel, i, frame(now, i));
		if (i && frame(now, i) <= frame(now, i - 1))
			return err_line(d->e, EINVAL, row->line, row->column,
					"clip %u, track %u, channel %u: key %u has frame %d, expected more than the %d "
					"of key %u", d->clip, d->track, d->channel, i, frame(now, i),
					frame(now, i - 1), i - 1);
	}
	return 0;
}

static int take_key(const struct editing *d, const struct ynode *row, uint8_t *raw)
{
	const struct record *r = &anm_key_record;
	const struct ynode *value = row->first;
	int rc = expect(d, row, Y_LIST, "[value, frame, ease in, ease out]");

	if (!rc && row->count != r->nfields)
		return err_line(d->e, EINVAL, row->line, row->column,
				"%u values in the key, expected 4: [value, frame, ease in, ease out]", row->count);
	for (unsigned i = 0; i < r->nfields && !rc; i++, value = value->next)
		rc = ynode_parse(value, &r->fields[i], false, raw, d->e);
	return rc;
}

static int take_keys(const struct editing *d, const struct ynode *list, const struct anm_keys *was,
		     struct anm_keys *now)
{
	static const struct anm_keys none;
	uint8_t *raw;
	int rc = expect(d, list, Y_LIST, "a list of keys");

	if (rc)
		return rc;
	raw = arena_alloc(d->a, list->count, ANM_KEY_SIZE);
	if (!raw)
		return err_nomem(d->e);
	now->count = list->count;
	now->raw = raw;
	for (const struct ynode *row = list->first; row && !rc; row = row->next, raw += ANM_KEY_SIZE)
		rc = take_key(d, row, raw);
	return rc ? rc : check_frames(d, list, now, was ? was : &none);
}

/* ---- channels ---- */

static int take_channel(const struct editing *d, const struct ynode *item, const struct anm_keys *was,
			struct anm_keys *now)
{
	const struct field *f = &d->heads->channel->fields[0];
	const struct ynode *channel = ynode_get(item, f->name), *keys = ynode_get(item, "keys");
	uint8_t raw[ANM_KEY_SIZE] = { 0 };
	int rc = expect_keys(d, item, f->name, "keys");

	if (rc)
		return rc;
	if (!was && (!channel || !keys))
		return missing(d, item, channel ? "keys" : f->name);
	if (was)
		*now = *was;
	rc = channel ? ynode_parse(channel, f, false, raw, d->e) : 0;
	if (rc)
		return rc;
	if (channel)
		now->channel = le_u16(raw);
	return keys ? take_keys(d, keys, was, now) : 0;
}

static bool same_channels(const struct anm_moves *was, const struct anm_moves *now)
{
	if (!was || was->count != now->count)
		return false;
	for (uint32_t i = 0; i < now->count; i++)
		if (was->v[i].channel != now->v[i].channel)
			return false;
	return true;
}

static int check_channel(const struct editing *d, const struct ynode *item, uint32_t i, const struct anm_moves *was,
			 const struct anm_moves *now, uint8_t seen[0x10000 / 8])
{
	uint32_t channel = now->v[i].channel;
	uint8_t bit = (uint8_t)(1u << channel % 8);

	if (seen[channel / 8] & bit)
		return err_line(d->e, EINVAL, item->line, item->column,
				"clip %u, track %u, channel %u: the track has a channel 0x%04x already", d->clip,
				d->track, i, channel);
	seen[channel / 8] |= bit;
	if (mhfu(d) && channel & SCALES && (!was || i >= was->count || was->v[i].channel != channel))
		return err_line(d->e, EINVAL, item->line, item->column, "clip %u, track %u, channel %u: Freedom Unite "
				"crashes on channels that scale (0x%04x)", d->clip, d->track, i, channel);
	return 0;
}

static int check_track(const struct editing *d, const struct ynode *list, const struct anm_moves *was,
		       const struct anm_moves *now)
{
	uint64_t size = anm_track_size(d->heads, now);
	uint8_t seen[0x10000 / 8] = { 0 };
	const struct ynode *item = list->first;
	bool same = same_channels(was, now);
	int rc = 0;

	if (!mhfu(d) && size > MHP3RD_TRACK_MOST)
		return err_line(d->e, EINVAL, list->line, list->column,
				"clip %u, track %u: %llu bytes of channels and keys, at most %u fit", d->clip, d->track,
				(unsigned long long)size, MHP3RD_TRACK_MOST);
	for (uint32_t i = 0; i < now->count && !rc && !same; i++, item = item->next)
		rc = check_channel(d, item, i, was, now, seen);
	return rc;
}

/* ---- tracks ---- */

static int take_channels(struct editing *d, const struct ynode *list, const struct anm_moves *was,
			 struct anm_moves *now)
{
	const struct ynode *item = list->first;
	int rc = expect(d, list, Y_LIST, "a list of channels");

	if (rc)
		return rc;
	*now = (struct anm_moves){ .count = list->count, .v = arena_alloc(d->a, list->count, sizeof *now->v) };
	if (!now->v)
		return err_nomem(d->e);
	for (d->channel = 0; d->channel < now->count && !rc; d->channel++, item = item->next)
		rc = take_channel(d, item, was && d->channel < was->count ? &was->v[d->channel] : NULL,
				  &now->v[d->channel]);
	rc = rc ? rc : check_track(d, list, was, now);
	now->mask = same_channels(was, now) ? was->mask : anm_mask(now);
	return rc;
}

static int take_track(struct editing *d, const struct ynode *item, const struct anm_moves *was, struct anm_moves *now)
{
	const struct ynode *channels = ynode_get(item, "channels");
	int rc = expect_keys(d, item, "channels", NULL);

	if (rc)
		return rc;
	if (channels)
		return take_channels(d, channels, was, now);
	if (!was)
		return missing(d, item, "channels");
	*now = *was;
	return 0;
}

static int take_tracks(struct editing *d, const struct ynode *list)
{
	struct anm_motion *now = &d->now;
	const struct ynode *item = list->first;
	int rc = expect(d, list, Y_LIST, "a list of tracks");

	if (rc)
		return rc;
	*now = (struct anm_motion){ .head = d->old.head, .count = list->count,
				    .v = arena_alloc(d->a, list->count, sizeof *now->v) };
	if (!now->v)
		return err_nomem(d->e);
	for (d->track = 0; d->track < now->count && !rc; d->track++, item = item->next)
		rc = take_track(d, item, d->track < d->old.count ? &d->old.v[d->track] : NULL, &now->v[d->track]);
	return rc;
}

/* ---- a clip ---- */

static int put_clip(struct object *o, uint32_t i, const struct ynode *tracks, struct arena *a, struct err *e)
{
	struct editing d = { .a = a, .heads = anm_heads_of(o), .clip = i, .e = e };
	struct buf *bytes = arena_alloc(a, ((const struct anm_pack *)o->priv)->nclips, sizeof *bytes);
	struct anm_change change = { .bytes = bytes };
	int rc = bytes ? anm_read_clip(o, i, &d.old, a, e) : err_nomem(e);

	rc = rc ? rc : take_tracks(&d, tracks);
	if (!rc) {
		anm_write_clip(d.heads, &d.now, &bytes[i]);
		rc = bytes[i].bad ? err_nomem(e) : anm_place(o, &change, e);
		buf_free(&bytes[i]);
	}
	return rc;
}

static bool is_tracks(const struct doc_change *c)
{
	static const char *const keys[] = { "tracks", "channels", "channel", "keys" };

	for (size_t i = 0; i < ARRAY_LEN(keys) && c->kind != CHANGE_KEY; i++)
		if (!strcmp(c->key, keys[i]))
			return true;
	return false;
}

/* ---- slots ---- */

struct slots {
	const struct anm_pack *pack;
	uint32_t *was, *now;                   /* numbers */
	const struct ynode **node;             /* of now; NULL: the text leaves the stream out */
	uint32_t *distinct, ndistinct;         /* numbers in the text, ascending */
	uint32_t fresh;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int read_numbers(struct object *o, struct slots *s, struct arena *a, struct err *e)
{
	const struct anm_pack *p = o->priv;
	uint8_t *raw = arena_alloc(a, p->nslots, 4);
	int rc;

	*s = (struct slots){ .pack = p, .was = arena_alloc(a, p->nslots, 4), .now = arena_alloc(a, p->nslots, 4),
			     .node = arena_alloc(a, p->nslots, sizeof *s->node),
			     .distinct = arena_alloc(a, p->nslots, 4) };
	if (!raw || !s->was || !s->now || !s->node || !s->distinct)
		return err_nomem(e);
	rc = src_read(o->src, raw, (size_t)p->nslots * 4, p->slots_at, "slots", e);
	if (rc)
		return rc;
	anm_number_slots(p, raw);
	for (uint32_t i = 0; i < p->nslots; i++)
		s->was[i] = s->now[i] = le_u32(raw + 4 * (size_t)i);
	return 0;
}

/* The slots of a stream, n from `first` on; fits: the text has as many. */
static int take_stream(struct slots *s, const struct ynode *list, uint32_t first, uint32_t n, bool *fits, struct err *e)
{
	const struct ynode *item;
	uint8_t raw[4];
	int rc = 0;

	*fits = list->kind == Y_LIST && list->count == n;
	if (!*fits)
		return 0;
	item = list->first;
	for (uint32_t i = first; i < first + n && !rc; i++, item = item->next) {
		rc = ynode_parse(item, &anm_number_record.fields[0], false, raw, e);
		s->now[i] = rc ? s->now[i] : le_u32(raw);
		s->node[i] = item;
	}
	return rc;
}

static int take_streams(struct object *o, struct slots *s, const struct ynode *streams, bool *fits, struct err *e)
{
	const struct ynode *item = streams && streams->kind == Y_LIST ? streams->first : NULL, *list;
	uint32_t first = 0;
	uint8_t raw[4];
	int rc = 0;

	*fits = item && streams->count == s->pack->nstreams;
	for (uint32_t i = 0; *fits && i < s->pack->nstreams && !rc; i++, item = item->next) {
		uint32_t n;

		rc = src_read(o->src, raw, sizeof raw, 8 * (uint64_t)i, "stream", e);
		n = rc ? 0 : le_u32(raw);
		list = ynode_get(item, "slots");
		if (!rc && list)
			rc = take_stream(s, list, first, n, fits, e);
		first += n;
	}
	return rc;
}

static void find_distinct(struct slots *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->pack->nslots; i++)
		if (s->now[i] != ANM_NO_CLIP)
			s->distinct[n++] = s->now[i];
	qsort(s->distinct, n, sizeof *s->distinct, by_number);
	for (uint32_t i = 0; i < n; i++)
		if (!i || s->distinct[i] != s->distinct[s->ndistinct - 1])
			s->distinct[s->ndistinct++] = s->distinct[i];
}

/* Whether the text was written to the pack already: removing clips has since closed the gaps that it leaves between the
 * numbers, and filled in anew it says what is stored. */
static bool is_done(const struct slots *s)
{
	if (s->ndistinct != s->pack->nclips || !s->ndistinct || s->distinct[s->ndistinct - 1] < s->ndistinct)
		return false;
	for (uint32_t i = 0; i < s->pack->nslots; i++) {
		const uint32_t *found = bsearch(&s->now[i], s->distinct, s->ndistinct, sizeof *found, by_number);

		if (s->was[i] != (found ? (uint32_t)(found - s->distinct) : ANM_NO_CLIP))
			return false;
	}
	return true;
}

/* Numbers behind the last clip are new clips, in the order of the slots. */
static int count_fresh(struct slots *s, struct err *e)
{
	uint32_t n = s->pack->nclips;

	for (uint32_t i = 0; i < s->pack->nslots; i++) {
		if (s->now[i] == ANM_NO_CLIP || s->now[i] < n + s->fresh)
			continue;
		if (s->pack->game == ANM_UNKNOWN)
			return err_line(e, EINVAL, s->node[i]->line, s->node[i]->column,
					"clip %u is not there, and none can be added: no clip tells which game the "
					"pack is for", s->now[i]);
		if (s->now[i] > n + s->fresh)
			return err_line(e, EINVAL, s->node[i]->line, s->node[i]->column,
					"clip %u is not there: expected 0 to %u, null, or %u for a new clip", s->now[i],
					n + s->fresh - 1, n + s->fresh);
		s->fresh++;
	}
	return 0;
}

static int put_slots(struct object *o, const struct ynode *root, bool *taken, struct arena *a, struct err *e)
{
	struct anm_change change = { 0 };
	struct slots s;
	int rc = read_numbers(o, &s, a, e);

	rc = rc ? rc : take_streams(o, &s, ynode_get(root, "streams"), taken, e);
	if (rc || !*taken)
		return rc;
	find_distinct(&s);
	if (is_done(&s))
		return 0;
	rc = count_fresh(&s, e);
	change.slot = s.now;
	change.fresh = s.fresh;
	return rc ? rc : anm_place(o, &change, e);
}

/* ---- changes ---- */

static int put_changes(struct object *o, unsigned kind, uint32_t index, const struct ynode *root,
		       struct doc_change *change, unsigned n, struct arena *a, struct err *e)
{
	const struct ynode *tracks = ynode_get(root, "tracks");
	bool taken = false;
	int rc = 0;

	for (unsigned i = 0; i < n; i++) {
		if (kind == DOC_CLIP && tracks && is_tracks(&change[i])) {
			rc = taken ? 0 : put_clip(o, index, tracks, a, e);
			taken = true;
		} else if (kind == DOC_HEADER && change[i].kind == CHANGE_ROWS && !strcmp(change[i].key, "slots")) {
			rc = taken ? 0 : put_slots(o, root, &taken, a, e);
		} else {
			continue;
		}
		if (rc)
			return rc;
		change[i].taken = taken;
	}
	return 0;
}

int anm_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e)
{
	struct arena a = { 0 };
	int rc = put_changes(o, kind, index, root, change, n, &a, e);

	arena_free(&a);
	return rc;
}
