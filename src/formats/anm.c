/* Animation pack (spec/mhp.md 5.2 to 5.4). It has no magic: the chain of its tables is what it is recognised by.
 *
 *   0x00      {u32 slots, u32 table}[N]   one pair per stream; the first table's offset tells N
 *   8N        u32 0, u32 first clip       the tables end there
 *   8(N + 1)  u32[slots] per stream       offset of the slot's clip, or 0xffffffff; slots may share one
 *   then      clips
 *
 * Clips are in anmclip.c, what is written to packs in anm_edit.c and anm_place.c. The distinct offsets in the slots are
 * the clips, numbered in the order of the file. */
#include "anm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define MOST_STREAMS 63u                       /* the first table lies at 8 * 64 at most */
#define HEAD_MOST (8 * (MOST_STREAMS + 1))
#define MOST_SLOTS 65536u
#define MOST_NOTED 256u                        /* damaged clips with a line each; more show when they are opened */

/* ---- records ---- */

struct anm_stream { uint32_t slots, table; };
struct anm_slot { uint32_t clip; };

#define S struct anm_stream
static const struct field stream_fields[] = {
	U32(S, slots, 0x0, "Slots; 0 in the last pair"),
	U32(S, table, 0x4, "Offset of the slots; of the first clip in the last pair", .view = V_HEX),
};
#undef S
static const struct record stream_record = RECORD("stream", "Where the slots of a stream lie", 8, stream_fields);

#define S struct anm_slot
static const struct field slot_fields[] = {
	U32(S, clip, 0x0, "Offset of the clip from the start of the pack", .view = V_HEX,
	    .flags = FL_NULL),
};
static const struct field number_fields[] = {
	U32(S, clip, 0x0, "Number of the clip", .flags = FL_NULL),
};
#undef S
static const struct record slot_record = RECORD("slot", "What a slot plays", 4, slot_fields);
const struct record anm_number_record =
	RECORD("slot number", "A slot as header.yaml shows it", 4, number_fields);

static const struct section sections[] = {
	{ "header", "A pair per stream and one for the clips", SECTION_LIST, &stream_record, NULL },
	{ "slots", "Slots of all streams", SECTION_LIST, &slot_record, NULL },
	{ "clips", "All clips", SECTION_BYTES, NULL, NULL },
};
static const struct record *const records_mhfu[] = {
	&anm_clip_mhfu, &anm_track_mhfu, &anm_channel_mhfu, &anm_key_record, NULL
};
static const struct record *const records_mhp3rd[] = {
	&anm_clip_mhp3rd, &anm_track_mhp3rd, &anm_channel_mhp3rd, &anm_key_record, NULL
};

static const struct variant variants[] = {
	[ANM_MHFU] = { "mhfu", "Portable 2nd G and Freedom Unite", sections, ARRAY_LEN(sections), records_mhfu },
	[ANM_MHP3RD] = { "mhp3rd", "Portable 3rd", sections, ARRAY_LEN(sections), records_mhp3rd },
	[ANM_UNKNOWN] = { "unknown", "No clip tells the game", sections, ARRAY_LEN(sections), NULL },
};

/* ---- tables ---- */

/* Offset of the first table, which is also where the pairs end; 0 when it cannot be one. */
static uint32_t first_table(const uint8_t *head, uint64_t size)
{
	uint32_t at = le_u32(head + 4);

	return at % 8 || at < 16 || at > HEAD_MOST || at > size ? 0 : at;
}

/* Follows the chain of tables into p. head: the bytes up to the first table, which is at `end`. */
static int read_tables(const struct source *src, const uint8_t *head, uint32_t end, struct anm_pack *p, struct err *e)
{
	uint64_t at = end;

	*p = (struct anm_pack){ .nstreams = end / 8 - 1, .slots_at = end };
	for (uint32_t i = 0; i < p->nstreams; i++) {
		uint32_t slots = le_u32(head + 8 * i), table = le_u32(head + 8 * i + 4);

		if (table != at)
			return err_at(e, EBADMSG, src, 8 * i, "stream",
				      "slots of stream %u at 0x%x, expected 0x%" PRIx64, i, table, at);
		if (!span_ok(src->size, at, slots, 4))
			return err_at(e, EBADMSG, src, 8 * i, "stream",
				      "%u slots of 4 bytes in stream %u end past the %" PRIu64 " bytes of the pack",
				      slots, i, src->size);
		if (slots > MOST_SLOTS - p->nslots)
			return err_at(e, EBADMSG, src, 8 * i, "stream",
				      "%u slots in stream %u, at most %u in all are read", slots, i, MOST_SLOTS);
		p->nslots += slots;
		at += (uint64_t)slots * 4;
	}
	if (le_u32(head + end - 8) || le_u32(head + end - 4) != at)
		return err_at(e, EBADMSG, src, end - 8, "end of the streams", "0x%x, 0x%x, expected 0 and 0x%" PRIx64,
			      le_u32(head + end - 8), le_u32(head + end - 4), at);
	if (!p->nslots)
		return err_at(e, EBADMSG, src, 0, "streams", "0 slots, expected at least 1");
	p->clips_at = (uint32_t)at;
	return 0;
}

/* ---- detection ---- */

static bool lead_to_clips(struct source *src, const struct anm_pack *t)
{
	uint8_t raw[1024];
	uint32_t n, target;

	for (uint32_t at = t->slots_at; at < t->clips_at; at += n) {
		n = t->clips_at - at < sizeof raw ? t->clips_at - at : sizeof raw;
		if (src_pread(src, raw, n, at))
			return false;
		for (uint32_t k = 0; k < n; k += 4) {
			target = le_u32(raw + k);
			if (target != ANM_NO_CLIP && (target < t->clips_at || target >= src->size))
				return false;
		}
	}
	return true;
}

/* The chain of tables is evidence enough for a pack some of whose slots lead nowhere. */
static int probe(struct probe *p)
{
	struct anm_pack tables;
	uint32_t end;

	if (p->n < 16)
		return 0;
	end = first_table(p->head, p->size);
	if (!end || !probe_need(p, end) || read_tables(p->src, p->head, end, &tables, p->why))
		return 0;
	return lead_to_clips(p->src, &tables) ? 70 : 40;
}

/* ---- opening ---- */

/* Notes damaged clips. Clips do not overlap; a pack that lies about that could make a file of a few kilobytes cost
 * hours, so the clips behind the one that goes too far are left out. */
static int check_clips(struct object *o, struct anm_pack *p, struct err *e)
{
	struct err why = { 0 };
	struct anm_clip c;
	uint64_t sum = 0;
	int rc;

	for (uint32_t i = 0; i < p->nclips; i++) {
		rc = anm_check_clip(o, i, &c, &why);
		sum += rc ? 0 : c.size;
		if (sum / 2 > o->src->size) {
			err_at(&why, EBADMSG, o->src, p->at[i], anm_name(i).text, "overlaps others; up to here %" PRIu64
			       " bytes of clips in %" PRIu64, sum, o->src->size);
			object_fault(o, PART_OBJECT, 0, false, &why);
			p->nclips = i;
		} else if (!rc && p->at[i] + (uint64_t)c.size > p->clips_end) {
			p->clips_end = p->at[i] + (uint64_t)c.size;
		} else if (rc == -EBADMSG && p->noted++ < MOST_NOTED) {
			object_fault(o, PART_CLIP, i, true, &why);
		} else if (rc && rc != -EBADMSG) {
			*e = why;
			return rc;
		}
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The offsets in n slots, ascending and each once, into at. Slots are in order of first use, which mostly is the order
 * in the file. */
static uint32_t distinct_clips(uint32_t *at, const uint8_t *raw, uint32_t n)
{
	uint32_t used = 0, distinct = 0;
	bool sorted = true;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t target = le_u32(raw + 4 * (size_t)i);

		if (target == ANM_NO_CLIP || (used && target == at[used - 1]))
			continue;
		sorted = sorted && (!used || target > at[used - 1]);
		at[used++] = target;
	}
	if (!sorted)
		qsort(at, used, sizeof *at, ascending);
	for (uint32_t i = 0; i < used; i++)
		if (!distinct || at[i] != at[distinct - 1])
			at[distinct++] = at[i];
	return distinct;
}

static int find_clips(struct object *o, struct anm_pack *p, struct err *e)
{
	uint32_t *at = malloc((size_t)p->nslots * sizeof *at);
	uint8_t *raw = malloc((size_t)p->nslots * 4);
	int rc = raw && at ? src_read(o->src, raw, (size_t)p->nslots * 4, p->slots_at, "slots", e) : err_nomem(e);

	if (!rc) {
		p->nclips = distinct_clips(at, raw, p->nslots);
		p->at = arena_alloc(&o->arena, p->nclips, sizeof *at);
		if (p->at && p->nclips)
			memcpy(p->at, at, p->nclips * sizeof *at);
		rc = p->at ? 0 : err_nomem(e);
	}
	free(at);
	free(raw);
	return rc;
}

/* The first clip tells the game: MHP3rd has no tag. A second and third are asked so that one damaged clip costs only
 * itself. */
static int find_game(struct object *o, struct anm_pack *p, struct err *e)
{
	unsigned asked = 0;
	uint8_t word[4];
	int rc;

	p->game = ANM_UNKNOWN;
	for (uint32_t i = 0; i < p->nclips && asked < 3 && p->game != ANM_MHFU; i++) {
		if (p->at[i] < p->clips_at || !span_ok(o->src->size, p->at[i], sizeof word, 1))
			continue;
		rc = src_read(o->src, word, sizeof word, p->at[i], anm_name(i).text, e);
		if (rc)
			return rc;
		p->game = le_u32(word) == ANM_TAG_CLIP ? ANM_MHFU : ANM_MHP3RD;
		asked++;
	}
	return 0;
}

/* No slot leads to a clip. */
static void note_all(struct object *o, const struct anm_pack *p)
{
	struct err why;

	for (uint32_t i = 0; i < p->nclips && i < MOST_NOTED; i++) {
		err_at(&why, EBADMSG, o->src, p->at[i], anm_name(i).text,
		       "a slot leads here, expected 0x%x to 0x%" PRIx64, p->clips_at, o->src->size);
		object_fault(o, PART_CLIP, i, true, &why);
	}
}

static int open_tables(struct object *o, struct anm_pack *p, struct err *e)
{
	uint8_t head[HEAD_MOST];
	size_t n = o->src->size < sizeof head ? (size_t)o->src->size : sizeof head;
	uint32_t end;
	int rc;

	if (n < 16)
		return err_at(e, EBADMSG, o->src, 0, "streams", "%zu bytes, expected at least 16", n);
	rc = src_read(o->src, head, n, 0, "streams", e);
	if (rc)
		return rc;
	end = first_table(head, o->src->size);
	if (!end)
		return err_at(e, EBADMSG, o->src, 4, "stream",
			      "slots of stream 0 at 0x%x, expected a multiple of 8 from 0x10 to 0x%x", le_u32(head + 4),
			      HEAD_MOST);
	return read_tables(o->src, head, end, p, e);
}

static int open_pack(struct object *o, struct err *e)
{
	struct anm_pack *p = arena_alloc(&o->arena, 1, sizeof *p);
	int rc = p ? open_tables(o, p, e) : err_nomem(e);

	rc = rc ? rc : find_clips(o, p, e);
	rc = rc ? rc : find_game(o, p, e);
	if (rc)
		return rc;
	p->clips_end = p->clips_at;
	o->priv = p;
	o->variant = &variants[p->game];
	if (p->game != ANM_UNKNOWN)
		return check_clips(o, p, e);
	note_all(o, p);
	return 0;
}

static uint32_t count(const struct object *o, unsigned part)
{
	return part == PART_CLIP ? ((const struct anm_pack *)o->priv)->nclips : 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct anm_pack *p = o->priv;
	const uint64_t at[] = { 0, p->slots_at, p->clips_at, p->clips_end };

	*out = (struct span){ at[section], at[section + 1] - at[section], 0 };
	return 0;
}

/* ---- documents ---- */

void anm_number_slots(const struct anm_pack *p, uint8_t *raw)
{
	for (uint32_t i = 0; i < p->nslots; i++) {
		uint32_t target = le_u32(raw + 4 * (size_t)i);
		const uint32_t *found = bsearch(&target, p->at, p->nclips, sizeof target, ascending);

		put_le32(raw + 4 * (size_t)i, found ? (uint32_t)(found - p->at) : ANM_NO_CLIP);
	}
}

static int describe_header(struct object *o, struct doc *d, struct arena *a, struct err *e)
{
	const struct anm_pack *p = o->priv;
	uint8_t head[HEAD_MOST], *slots = arena_alloc(a, p->nslots, 4);
	uint64_t at = p->slots_at;
	int rc = slots ? src_read(o->src, head, p->slots_at, 0, "streams", e) : err_nomem(e);

	rc = rc ? rc : src_read(o->src, slots, (size_t)p->nslots * 4, at, "slots", e);
	if (rc)
		return rc;
	anm_number_slots(p, slots);
	doc_comment(d, "modelfs anm %s", o->variant->version);
	doc_text(d, "kind", DOC_DERIVED, "%s", p->game == ANM_UNKNOWN ? "null" : o->variant->version);
	doc_list(d, "streams", p->nstreams);
	for (uint32_t i = 0; i < p->nstreams; i++) {
		uint32_t n = le_u32(head + 8 * i);

		doc_item(d);
		doc_rows(d, "slots", &anm_number_record, false, slots, n, o->src, at, DOC_SHOWN);
		slots += 4 * (size_t)n;
		at += 4 * (uint64_t)n;
	}
	doc_end(d);
	return 0;
}

static bool has_clip(const struct object *o, uint32_t i)
{
	const struct anm_pack *p = o->priv;

	return p->game != ANM_UNKNOWN && i < p->nclips;
}

static int doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	struct arena a = { 0 };
	int rc = -ENOENT;

	if (kind == DOC_HEADER)
		rc = describe_header(o, d, &a, e);
	else if (kind == DOC_CLIP && has_clip(o, index))
		rc = anm_describe_clip(o, index, d, e);
	arena_free(&a);
	return rc;
}

static int verify(struct object *o, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; has_clip(o, i) && !rc; i++)
		if (!object_gone(o, PART_CLIP, i))
			rc = anm_verify_clip(o, i, e);
	return rc;
}

static const struct model_ops ops = {
	.open = open_pack, .count = count, .locate = locate, .doc = doc, .verify = verify,
	.doc_put = anm_doc_put, .clip = anm_clip, .motions = anm_motions, .clips_put = anm_clips_put,
};

const struct format fmt_anm = {
	.name = "anm", .title = "PSP Monster Hunter animation pack", .ext = "anm",
	.doc = "Animations of a skeleton. Streams of slots lead to clips; a clip moves bones by tracks of channels, "
	       "whose keys are joined by cubic curves. The games play 30 frames a second.",
	.role = ROLE_ANIMATIONS, .probe = probe, .variants = variants, .nvariants = ARRAY_LEN(variants),
	.docs = 1u << DOC_HEADER | 1u << DOC_CLIP, .model = &ops,
};
