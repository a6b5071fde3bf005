/* The clips of an animation pack (spec/mhp.md 5.4).
 *
 *   MHFU     clip     u32 0x80000002, u32 tracks, u32 size, u32 loop, f32 loop start
 *            track    u32 0x80000000 | mask of channel bits, u32 channels, u32 size
 *            channel  u32 0x80120000 | channel bit, u32 keys, u32 size
 *   MHP3rd   clip     u32 tracks, u32 size, u32 loop, f32 loop start
 *            track    u16 channels, u16 size
 *            channel  u16 channel bit, u16 keys, u32 size
 *   both     key      s16 value, s16 frame, s16 ease in, s16 ease out
 *
 * A size counts its own head and all that is inside. Everything that looks into a clip walks over it with a visitor;
 * the walk checks each size against the one around it. */
#include "anm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mhpbytes.h"

#define TAG_TRACK 0x8000u                      /* upper half of the word with the mask */
#define TAG_CHANNEL 0x8012u                    /* upper half of the word with the channel bit */
#define KEY_SIZE 8u

/* ---- records ---- */

static const struct label channel_labels[] = {
	{ 0x008, "rotation_x" }, { 0x010, "rotation_y" }, { 0x020, "rotation_z" },
	{ 0x040, "location_x" }, { 0x080, "location_y" }, { 0x100, "location_z" },
	{ 0x200, "scale_x" }, { 0x400, "scale_y" }, { 0x800, "scale_z" }, { 0, NULL }
};
#define CHANNEL_DOC \
	"What is moved: rotation in pi/8192 radians, location in 1/16 units, scale in 1/256; others are unknown"

#define S struct anm_clip
static const struct field clip_mhfu_fields[] = {
	U32(S, tag, 0x0, "0x80000002", .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, count, 0x4, "Tracks", .flags = FL_HIDDEN),
	U32(S, size, 0x8, "Bytes of the clip", .flags = FL_HIDDEN),
	U32(S, loop, 0xc, "Not 0: repeats from the loop start on"),
	F32(S, loop_start, 0x10, "Where the repetition begins", .comment = "frame"),
};
static const struct field clip_mhp3rd_fields[] = {
	U32(S, count, 0x0, "Tracks", .flags = FL_HIDDEN),
	U32(S, size, 0x4, "Bytes of the clip", .flags = FL_HIDDEN),
	U32(S, loop, 0x8, "Not 0: repeats from the loop start on"),
	F32(S, loop_start, 0xc, "Where the repetition begins", .comment = "frame"),
};
#undef S
const struct record anm_clip_mhfu =
	RECORD("clip mhfu", "Begins a clip of Freedom Unite", 0x14, clip_mhfu_fields);
const struct record anm_clip_mhp3rd =
	RECORD("clip mhp3rd", "Begins a clip of Portable 3rd", 0x10, clip_mhp3rd_fields);

#define S struct anm_track
static const struct field track_mhfu_fields[] = {
	U32(S, mask, 0x0, "Bits of all its channels", .bits = 16, .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, tag, 0x0, "0x8000", .bit = 16, .bits = 16, .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, count, 0x4, "Channels", .flags = FL_HIDDEN),
	U32(S, size, 0x8, "Bytes of the track", .flags = FL_HIDDEN),
};
static const struct field track_mhp3rd_fields[] = {
	U32(S, count, 0x0, "Channels", .bits = 16, .flags = FL_HIDDEN),
	U32(S, size, 0x0, "Bytes of the track", .bit = 16, .bits = 16, .flags = FL_HIDDEN),
};
#undef S
const struct record anm_track_mhfu =
	RECORD("track mhfu", "Begins a track of Freedom Unite", 0xc, track_mhfu_fields);
const struct record anm_track_mhp3rd =
	RECORD("track mhp3rd", "Begins a track of Portable 3rd", 4, track_mhp3rd_fields);

#define S struct anm_channel
static const struct field channel_mhfu_fields[] = {
	U32(S, channel, 0x0, CHANNEL_DOC, .bits = 16, .view = V_ENUM, .labels = channel_labels),
	U32(S, tag, 0x0, "0x8012", .bit = 16, .bits = 16, .view = V_HEX, .flags = FL_HIDDEN),
	U32(S, count, 0x4, "Keys", .flags = FL_HIDDEN),
	U32(S, size, 0x8, "Bytes of the channel", .flags = FL_HIDDEN),
};
static const struct field channel_mhp3rd_fields[] = {
	U32(S, channel, 0x0, CHANNEL_DOC, .bits = 16, .view = V_ENUM, .labels = channel_labels),
	U32(S, count, 0x0, "Keys", .bit = 16, .bits = 16, .flags = FL_HIDDEN),
	U32(S, size, 0x4, "Bytes of the channel", .flags = FL_HIDDEN),
};
#undef S
const struct record anm_channel_mhfu =
	RECORD("channel mhfu", "Begins a channel of Freedom Unite", 0xc, channel_mhfu_fields);
const struct record anm_channel_mhp3rd =
	RECORD("channel mhp3rd", "Begins a channel of Portable 3rd", 8, channel_mhp3rd_fields);

#define S struct anm_key
static const struct field key_fields[] = {
	I16(S, value, 0x0, "Value in the channel's unit", .comment = "value"),
	I16(S, frame, 0x2, "Frame", .comment = "frame"),
	I16(S, ease_in, 0x4, "Slope before the key, in units per frame", .comment = "ease in"),
	I16(S, ease_out, 0x6, "Slope behind the key, in units per frame", .comment = "ease out"),
};
#undef S
const struct record anm_key_record =
	RECORD("key", "Value of a channel at a frame", KEY_SIZE, key_fields);

/* ---- heads ---- */

/* What the two games differ in. */
struct heads { const struct record *clip, *track, *channel; };

static const struct heads heads[] = {
	[ANM_MHFU] = { &anm_clip_mhfu, &anm_track_mhfu, &anm_channel_mhfu },
	[ANM_MHP3RD] = { &anm_clip_mhp3rd, &anm_track_mhp3rd, &anm_channel_mhp3rd },
};

static const struct heads *heads_of(const struct object *o)
{
	return &heads[((const struct anm_pack *)o->priv)->game];
}

struct anm_name anm_name(uint32_t i)
{
	struct anm_name name;

	snprintf(name.text, sizeof name.text, "clip %u", i);
	return name;
}

/* offset: in the clip. */
PRINTF(5, 6)
static int damaged(const struct object *o, uint32_t i, uint32_t offset, struct err *e, const char *fmt, ...)
{
	uint64_t at = (uint64_t)((const struct anm_pack *)o->priv)->at[i] + offset;
	va_list ap;

	va_start(ap, fmt);
	err_vat(e, EBADMSG, o->src, at, anm_name(i).text, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int anm_check_clip(const struct object *o, uint32_t i, struct anm_clip *c, struct err *e)
{
	const struct anm_pack *p = o->priv;
	const struct heads *h = heads_of(o);
	uint64_t at = p->at[i], room = o->src->size - at;
	uint8_t raw[0x14];
	int rc;

	if (at < p->clips_at || !span_ok(o->src->size, at, h->clip->size, 1))
		return damaged(o, i, 0, e, "a slot leads here, expected 0x%x to 0x%" PRIx64, p->clips_at,
			       o->src->size - h->clip->size);
	rc = src_read(o->src, raw, h->clip->size, at, anm_name(i).text, e);
	if (rc)
		return rc;
	memset(c, 0, sizeof *c);
	rec_decode(h->clip, false, raw, c);
	if (p->game == ANM_MHFU && c->tag != ANM_TAG_CLIP)
		return damaged(o, i, 0, e, "tag 0x%08x, expected 0x%08x", c->tag, ANM_TAG_CLIP);
	if (c->size < h->clip->size || c->size > room)
		return damaged(o, i, 0, e, "size %u, expected %u to %" PRIu64, c->size, h->clip->size, room);
	if (!span_ok(c->size, h->clip->size, c->count, h->track->size))
		return damaged(o, i, 0, e, "%u tracks of at least %u bytes end past its %u", c->count, h->track->size,
			       c->size);
	return 0;
}

/* ---- walking ---- */

/* The bytes of a clip whose head is sound. */
struct clip {
	struct object *o;
	uint32_t i;
	const struct heads *heads;
	struct anm_clip head;
	uint64_t at;
	const uint8_t *raw;
};

/* What a walk over a clip meets. raw: the head, the keys behind it. */
struct visitor {
	void (*track)(void *ctx, const struct anm_track *t);
	void (*channel)(void *ctx, const struct anm_channel *ch, const uint8_t *raw, uint64_t at);
	void (*track_end)(void *ctx);
};

static int load(struct object *o, uint32_t i, struct clip *c, struct arena *a, struct err *e)
{
	int rc;

	*c = (struct clip){ .o = o, .i = i, .heads = heads_of(o), .at = ((const struct anm_pack *)o->priv)->at[i] };
	rc = anm_check_clip(o, i, &c->head, e);
	return rc ? rc : object_read(o, a, c->at, c->head.size, anm_name(i).text, &c->raw, e);
}

/* Whether channel k, whose head is read, can lie in `room` bytes. */
static int check_channel(const struct clip *c, uint32_t k, const struct anm_channel *ch, uint32_t at, uint32_t room,
			 struct err *e)
{
	uint32_t head = c->heads->channel->size;
	uint64_t expected = head + (uint64_t)ch->count * KEY_SIZE;

	if (c->heads->channel == &anm_channel_mhfu && ch->tag != TAG_CHANNEL)
		return damaged(c->o, c->i, at, e, "channel %u: tag 0x%04x, expected 0x%04x", k, ch->tag, TAG_CHANNEL);
	if (ch->size < head || ch->size > room)
		return damaged(c->o, c->i, at, e, "channel %u: size %u, expected %u to %u", k, ch->size, head, room);
	if (ch->size != expected)
		return damaged(c->o, c->i, at, e, "channel %u: size %u, expected %" PRIu64 " with %u keys", k, ch->size,
			       expected, ch->count);
	return 0;
}

static int check_track(const struct clip *c, uint32_t k, const struct anm_track *t, uint32_t at, uint32_t room,
		       struct err *e)
{
	uint32_t head = c->heads->track->size;

	if (c->heads->track == &anm_track_mhfu && t->tag != TAG_TRACK)
		return damaged(c->o, c->i, at, e, "track %u: tag 0x%04x, expected 0x%04x", k, t->tag, TAG_TRACK);
	if (t->size < head || t->size > room)
		return damaged(c->o, c->i, at, e, "track %u: size %u, expected %u to %u", k, t->size, head, room);
	return 0;
}

/* The channels of a track; they lie from `at` to `end`. */
static int walk_channels(const struct clip *c, const struct anm_track *t, uint32_t at, uint32_t end,
			 const struct visitor *v, void *ctx, struct err *e)
{
	const struct record *r = c->heads->channel;
	struct anm_channel ch = { 0 };
	int rc;

	for (uint32_t k = 0; k < t->count; k++, at += ch.size) {
		if (end - at < r->size)
			return damaged(c->o, c->i, at, e, "channel %u of %u: %u bytes are left, expected at least %u",
				       k, t->count, end - at, r->size);
		rec_decode(r, false, c->raw + at, &ch);
		rc = check_channel(c, k, &ch, at, end - at, e);
		if (rc)
			return rc;
		v->channel(ctx, &ch, c->raw + at, c->at + at);
	}
	return at == end ? 0 : damaged(c->o, c->i, at, e, "%u bytes behind the %u channels of a track", end - at,
				       t->count);
}

static int walk(const struct clip *c, const struct visitor *v, void *ctx, struct err *e)
{
	const struct record *r = c->heads->track;
	uint32_t at = c->heads->clip->size, end = c->head.size;
	struct anm_track t = { 0 };
	int rc;

	for (uint32_t k = 0; k < c->head.count; k++, at += t.size) {
		if (end - at < r->size)
			return damaged(c->o, c->i, at, e, "track %u of %u: %u bytes are left, expected at least %u", k,
				       c->head.count, end - at, r->size);
		rec_decode(r, false, c->raw + at, &t);
		rc = check_track(c, k, &t, at, end - at, e);
		if (rc)
			return rc;
		v->track(ctx, &t);
		rc = walk_channels(c, &t, at + r->size, at + t.size, v, ctx, e);
		if (rc)
			return rc;
		v->track_end(ctx);
	}
	return at == end ? 0 : damaged(c->o, c->i, at, e, "%u bytes behind the %u tracks", end - at, c->head.count);
}

/* ---- document ---- */

struct saying { const struct clip *c; struct doc *d; };

static void say_track(void *ctx, const struct anm_track *t)
{
	const struct saying *s = ctx;

	doc_item(s->d);
	doc_list(s->d, "channels", t->count);
}

static void say_channel(void *ctx, const struct anm_channel *ch, const uint8_t *raw, uint64_t at)
{
	const struct saying *s = ctx;
	const struct record *r = s->c->heads->channel;

	doc_item(s->d);
	doc_record(s->d, r, false, raw, s->c->o->src, at);
	doc_rows(s->d, "keys", &anm_key_record, false, raw + r->size, ch->count, s->c->o->src, at + r->size, DOC_BLOCK);
}

static void say_track_end(void *ctx)
{
	doc_end(((const struct saying *)ctx)->d);
}

static int describe(struct object *o, uint32_t i, struct doc *d, struct arena *a, struct err *e)
{
	static const struct visitor say = { say_track, say_channel, say_track_end };
	struct clip c;
	struct saying s = { &c, d };
	int rc = load(o, i, &c, a, e);

	if (rc)
		return rc;
	doc_record(d, c.heads->clip, false, c.raw, o->src, c.at);
	doc_list(d, "tracks", c.head.count);
	rc = walk(&c, &say, &s, e);
	doc_end(d);
	return rc;
}

int anm_describe_clip(struct object *o, uint32_t i, struct doc *d, struct err *e)
{
	struct arena a = { 0 };
	int rc = describe(o, i, d, &a, e);

	arena_free(&a);
	return rc;
}

/* ---- verify ---- */

/* A clip encoded anew from its channels and keys; counts, sizes and masks are worked out. */
struct encoding {
	const struct heads *heads;
	struct buf out;
	struct anm_clip clip;
	struct anm_track track;
	size_t track_at;
};

/* Room for the record at the end, zeroed; NULL when memory is short. */
static uint8_t *append(struct encoding *n, uint32_t size)
{
	uint8_t *p = buf_room(&n->out, size);

	if (p) {
		memset(p, 0, size);
		n->out.len += size;
	}
	return p;
}

static void encode_track(void *ctx, const struct anm_track *t)
{
	struct encoding *n = ctx;

	(void)t;
	n->track_at = n->out.len;
	n->track = (struct anm_track){ .tag = TAG_TRACK };
	n->clip.count++;
	append(n, n->heads->track->size);
}

static void encode_channel(void *ctx, const struct anm_channel *ch, const uint8_t *raw, uint64_t at)
{
	struct encoding *n = ctx;
	const struct record *r = n->heads->channel;
	struct anm_channel again = { ch->channel, TAG_CHANNEL, ch->count, r->size + ch->count * KEY_SIZE };
	uint8_t *p = append(n, again.size);
	struct anm_key key;

	(void)at;
	n->track.mask |= ch->channel;
	n->track.count++;
	if (!p)
		return;
	rec_encode(r, false, &again, p);
	for (uint32_t i = 0; i < ch->count; i++) {
		size_t k = r->size + (size_t)i * KEY_SIZE;

		rec_decode(&anm_key_record, false, raw + k, &key);
		rec_encode(&anm_key_record, false, &key, p + k);
	}
}

static void encode_track_end(void *ctx)
{
	struct encoding *n = ctx;

	n->track.size = (uint32_t)(n->out.len - n->track_at);
	if (!n->out.bad)
		rec_encode(n->heads->track, false, &n->track, n->out.p + n->track_at);
}

static int encode_again(struct object *o, uint32_t i, struct encoding *n, struct arena *a, struct err *e)
{
	static const struct visitor encode = { encode_track, encode_channel, encode_track_end };
	struct clip c;
	int rc = load(o, i, &c, a, e);

	if (rc)
		return rc;
	append(n, n->heads->clip->size);
	rc = walk(&c, &encode, n, e);
	if (rc)
		return rc;
	if (n->out.bad)
		return err_nomem(e);
	n->clip = (struct anm_clip){ ANM_TAG_CLIP, n->clip.count, (uint32_t)n->out.len, c.head.loop,
				     c.head.loop_start };
	rec_encode(n->heads->clip, false, &n->clip, n->out.p);
	return mhp_same(o->src, c.at, anm_name(i).text, c.raw, n->out.p, c.head.size, e);
}

int anm_verify_clip(struct object *o, uint32_t i, struct err *e)
{
	struct encoding n = { .heads = heads_of(o) };
	struct arena a = { 0 };
	int rc = encode_again(o, i, &n, &a, e);

	buf_free(&n.out);
	arena_free(&a);
	return rc;
}
