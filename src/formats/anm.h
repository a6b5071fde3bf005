/* Animation packs: what anm.c (the pack and its tables), anmclip.c (the clips), anm_play.c (what they do), anm_edit.c
 * and anm_put.c (what is written) and anm_place.c (where it goes) share. */
#ifndef MODELFS_ANM_H
#define MODELFS_ANM_H

#include "format.h"

#define ANM_TAG_CLIP 0x80000002u               /* first word of every clip of MHFU */
#define ANM_KEY_SIZE 8u
#define ANM_NO_CLIP 0xffffffffu                /* in a slot */

enum anm_game { ANM_MHFU, ANM_MHP3RD, ANM_UNKNOWN };

/* Heads of the levels of a clip: how many parts they have, and their size with all they contain. */
struct anm_clip { uint32_t tag, count, size, loop; float loop_start; };
struct anm_track { uint32_t mask, tag, count, size; };
struct anm_channel { uint32_t channel, tag, count, size; };
struct anm_key { int16_t value, frame, ease_in, ease_out; };

extern const struct record anm_clip_mhfu, anm_clip_mhp3rd, anm_track_mhfu, anm_track_mhp3rd;
extern const struct record anm_channel_mhfu, anm_channel_mhp3rd, anm_key_record, anm_number_record;

struct anm_pack {
	enum anm_game game;
	uint32_t nstreams, nslots;
	uint32_t slots_at, clips_at;           /* where the pairs and the slots end */
	uint32_t *at;                          /* of the clips, ascending */
	uint32_t nclips, noted;
	uint64_t clips_end;                    /* of the last sound clip */
};

struct anm_name { char text[24]; };            /* "clip 7", for messages */
struct anm_name anm_name(uint32_t i);

/* Whether the head of clip i can be true. The game must be known here and below. */
int anm_check_clip(const struct object *o, uint32_t i, struct anm_clip *c, struct err *e);
int anm_describe_clip(struct object *o, uint32_t i, struct doc *d, struct err *e);
/* Decodes the clip and encodes it again. */
int anm_verify_clip(struct object *o, uint32_t i, struct err *e);

/* ---- clips as tracks, channels and keys ---- */

/* Records of the three levels, which is what the games differ in. */
struct anm_heads { const struct record *clip, *track, *channel; };
const struct anm_heads *anm_heads_of(const struct object *o);

struct anm_keys { uint32_t channel, count; const uint8_t *raw; };      /* raw: the keys as stored */
struct anm_moves { uint32_t count, mask; struct anm_keys *v; };        /* a track; mask: MHFU only */
struct anm_motion {
	struct anm_clip head;
	const uint8_t *raw;                    /* the clip's bytes */
	uint32_t count;
	struct anm_moves *v;
};

/* In arena a. EBADMSG when a size does not fit the one around it. */
int anm_read_clip(struct object *o, uint32_t i, struct anm_motion *m, struct arena *a, struct err *e);
/* Adds the clip to out; counts and sizes are worked out, masks and loop words taken as they are. */
void anm_write_clip(const struct anm_heads *h, const struct anm_motion *m, struct buf *out);
uint32_t anm_mask(const struct anm_moves *t);  /* the bits of its channels */
uint64_t anm_track_size(const struct anm_heads *h, const struct anm_moves *t);

/* ---- what clips do to a skeleton; anm_play.c ---- */

#define ANM_ANGLE (GEO_PI / 8192)              /* radians */
/* The channel that a curve is, and what 1 means in it. */
uint32_t anm_bit(unsigned channel);
double anm_unit(unsigned channel);
int anm_clip(struct object *o, uint32_t i, const struct geo_skeleton *s, struct geo_clip *out, struct arena *a,
	     struct err *e);
int anm_motions(struct object *o, const struct geo_skeleton *s,
		int (*each)(void *ctx, const struct geo_clip *, int rc, const struct err *why), void *ctx,
		struct err *e);

/* ---- editing ---- */

/* Numbers of the clips in n = nslots words of slots; ANM_NO_CLIP: none. In place. */
void anm_number_slots(const struct anm_pack *p, uint8_t *raw);
int anm_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e);

/* How the clips of a pack change. */
struct anm_change {
	const struct buf *bytes;               /* of each clip that gets others; empty: it does not. NULL: none does */
	const uint32_t *slot;                  /* what the nslots slots play: old numbers, the next ones are new clips,
						* ANM_NO_CLIP; NULL: as before. Clips that none plays are removed */
	uint32_t fresh;                        /* new clips, without tracks */
};
/* The tracks of clips move bones as somebody wants; anm_put.c. */
int anm_clips_put(struct object *o, const struct geo_skeleton *s, struct geo_wish *wish, uint32_t n,
		  const struct geo_timing *timing, struct err *e);
/* Writes them: later clips move so that no gap opens, slots follow. */
int anm_place(struct object *o, const struct anm_change *c, struct err *e);

#endif
