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
 * A size counts its own head and all that is inside; reading a clip checks each against the one around it. Everything
 * that looks into a clip reads it into tracks, channels and keys first. */
#include "anm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "mhpbytes.h"

#define TAG_TRACK 0x8000u                      /* upper half of the word with the mask */
#define TAG_CHANNEL 0x8012u                    /* upper half of the word with the channel bit */

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
	RECORD("key", "Value of a channel at a frame", ANM_KEY_SIZE, key_fields);

/* ---- heads ---- */

static const struct anm_heads heads[] = {
	[ANM_MHFU] = { &anm_clip_mhfu, &anm_track_mhfu, &anm_channel_mhfu },
	[ANM_MHP3RD] = { &anm_clip_mhp3rd, &anm_track_mhp3rd, &anm_channel_mhp3rd },
};

const struct anm_heads *anm_heads_of(const struct object *o)
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
	const struct anm_heads *h = anm_heads_of(o);
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

/* ---- reading ---- */

/* The bytes of a clip whose head is sound. */
struct clip {
	struct object *o;
	uint32_t i;
	const struct anm_heads *heads;
	struct anm_clip head;
	const uint8_t *raw;
};

/* Whether channel k, whose head is read, can lie in `room` bytes. */
static int check_channel(const struct clip *c, uint32_t k, const struct anm_channel *ch, uint32_t at, uint32_t room,
			 struct err *e)
{
	uint32_t head = c->heads->channel->size;
	uint64_t expected = head + (uint64_t)ch->count * ANM_KEY_SIZE;

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

/* The channels of a track, which lie from `at` to `end`, into v; NULL: they are only checked. */
static int read_channels(const struct clip *c, const struct anm_track *t, uint32_t at, uint32_t end, struct anm_keys *v,
			 struct err *e)
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
		if (v)
			v[k] = (struct anm_keys){ ch.channel, ch.count, c->raw + at + r->size };
	}
	return at == end ? 0 : damaged(c->o, c->i, at, e, "%u bytes behind the %u channels of a track", end - at,
				       t->count);
}

static int read_track(const struct clip *c, const struct anm_track *t, uint32_t at, uint32_t end, struct anm_moves *out,
		      struct arena *a, struct err *e)
{
	int rc = read_channels(c, t, at, end, NULL, e);

	if (rc)
		return rc;
	*out = (struct anm_moves){ t->count, t->mask, arena_alloc(a, t->count, sizeof *out->v) };
	return out->v ? read_channels(c, t, at, end, out->v, e) : err_nomem(e);
}

static int read_tracks(const struct clip *c, struct anm_motion *m, struct arena *a, struct err *e)
{
	const struct record *r = c->heads->track;
	uint32_t at = c->heads->clip->size, end = c->head.size;
	struct anm_track t = { 0 };
	int rc;

	for (uint32_t k = 0; k < m->count; k++, at += t.size) {
		if (end - at < r->size)
			return damaged(c->o, c->i, at, e, "track %u of %u: %u bytes are left, expected at least %u", k,
				       m->count, end - at, r->size);
		rec_decode(r, false, c->raw + at, &t);
		rc = check_track(c, k, &t, at, end - at, e);
		rc = rc ? rc : read_track(c, &t, at + r->size, at + t.size, &m->v[k], a, e);
		if (rc)
			return rc;
	}
	return at == end ? 0 : damaged(c->o, c->i, at, e, "%u bytes behind the %u tracks", end - at, m->count);
}

int anm_read_clip(struct object *o, uint32_t i, struct anm_motion *m, struct arena *a, struct err *e)
{
	struct clip c = { .o = o, .i = i, .heads = anm_heads_of(o) };
	int rc = anm_check_clip(o, i, &c.head, e);

	rc = rc ? rc : object_read(o, a, ((const struct anm_pack *)o->priv)->at[i], c.head.size, anm_name(i).text,
				   &c.raw, e);
	if (rc)
		return rc;
	*m = (struct anm_motion){ c.head, c.raw, c.head.count, arena_alloc(a, c.head.count, sizeof *m->v) };
	return m->v ? read_tracks(&c, m, a, e) : err_nomem(e);
}

/* ---- writing ---- */

uint32_t anm_mask(const struct anm_moves *t)
{
	uint32_t mask = 0;

	for (uint32_t k = 0; k < t->count; k++)
		mask |= t->v[k].channel;
	return mask;
}

/* Adds the record at the end. */
static void append(struct buf *out, const struct record *r, const void *decoded)
{
	uint8_t *p = buf_room(out, r->size);

	if (!p)
		return;
	memset(p, 0, r->size);
	rec_encode(r, false, decoded, p);
	out->len += r->size;
}

uint64_t anm_track_size(const struct anm_heads *h, const struct anm_moves *t)
{
	uint64_t size = h->track->size;

	for (uint32_t k = 0; k < t->count; k++)
		size += h->channel->size + (uint64_t)t->v[k].count * ANM_KEY_SIZE;
	return size;
}

static void write_track(const struct anm_heads *h, const struct anm_moves *t, struct buf *out)
{
	struct anm_track head = { t->mask, TAG_TRACK, t->count, (uint32_t)anm_track_size(h, t) };

	append(out, h->track, &head);
	for (uint32_t k = 0; k < t->count; k++) {
		uint32_t n = t->v[k].count * ANM_KEY_SIZE;
		struct anm_channel channel = { t->v[k].channel, TAG_CHANNEL, t->v[k].count, h->channel->size + n };

		append(out, h->channel, &channel);
		buf_add(out, t->v[k].raw, n);
	}
}

void anm_write_clip(const struct anm_heads *h, const struct anm_motion *m, struct buf *out)
{
	struct anm_clip head = { ANM_TAG_CLIP, m->count, h->clip->size, m->head.loop, m->head.loop_start };
	size_t at = out->len;

	append(out, h->clip, &head);
	for (uint32_t k = 0; k < m->count; k++)
		write_track(h, &m->v[k], out);
	if (out->bad)
		return;
	head.size = (uint32_t)(out->len - at);
	rec_encode(h->clip, false, &head, out->p + at);
}

/* ---- document ---- */

/* Channels and keys are no values to be written one by one: masks, sizes and the order of frames hang on them. */
static void say_channel(struct doc *d, const struct record *r, const struct anm_keys *ch, struct source *src,
			uint64_t at, struct buf *name)
{
	uint8_t raw[4];

	put_le32(raw, ch->channel);
	name->len = 0;
	field_print(&r->fields[0], false, raw, name);
	buf_char(name, 0);
	doc_item(d);
	doc_text(d, r->fields[0].name, DOC_PLAIN, "%s", name->bad ? "" : (const char *)name->p);
	doc_rows(d, "keys", &anm_key_record, false, ch->raw, ch->count, src, at, DOC_BLOCK | DOC_SHOWN);
}

static int describe(struct object *o, uint32_t i, struct doc *d, struct arena *a, struct buf *name, struct err *e)
{
	const struct anm_heads *h = anm_heads_of(o);
	uint64_t at = ((const struct anm_pack *)o->priv)->at[i];
	struct anm_motion m;
	int rc = anm_read_clip(o, i, &m, a, e);

	if (rc)
		return rc;
	doc_record(d, h->clip, false, m.raw, o->src, at);
	doc_list(d, "tracks", m.count);
	for (uint32_t t = 0; t < m.count; t++) {
		doc_item(d);
		doc_list(d, "channels", m.v[t].count);
		for (uint32_t k = 0; k < m.v[t].count; k++) {
			const struct anm_keys *ch = &m.v[t].v[k];

			say_channel(d, h->channel, ch, o->src, at + (uint64_t)(ch->raw - m.raw), name);
		}
		doc_end(d);
	}
	doc_end(d);
	return name->bad ? err_nomem(e) : 0;
}

int anm_describe_clip(struct object *o, uint32_t i, struct doc *d, struct err *e)
{
	struct arena a = { 0 };
	struct buf name = { 0 };
	int rc = describe(o, i, d, &a, &name, e);

	buf_free(&name);
	arena_free(&a);
	return rc;
}

/* ---- verify ---- */

static int write_again(struct object *o, uint32_t i, struct buf *out, struct arena *a, struct err *e)
{
	struct anm_motion m;
	int rc = anm_read_clip(o, i, &m, a, e);

	if (rc)
		return rc;
	for (uint32_t k = 0; k < m.count; k++)
		m.v[k].mask = anm_mask(&m.v[k]);
	anm_write_clip(anm_heads_of(o), &m, out);
	if (out->bad)
		return err_nomem(e);
	return mhp_same(o->src, ((const struct anm_pack *)o->priv)->at[i], anm_name(i).text, m.raw, out->p, m.head.size,
			e);
}

int anm_verify_clip(struct object *o, uint32_t i, struct err *e)
{
	struct arena a = { 0 };
	struct buf out = { 0 };
	int rc = write_again(o, i, &out, &a, e);

	buf_free(&out);
	arena_free(&a);
	return rc;
}
