/* Animation packs: what anm.c (the pack and its tables) and anmclip.c (the clips) share. */
#ifndef MODELFS_ANM_H
#define MODELFS_ANM_H

#include "format.h"

#define ANM_TAG_CLIP 0x80000002u               /* first word of every clip of MHFU */

enum anm_game { ANM_MHFU, ANM_MHP3RD, ANM_UNKNOWN };

/* Heads of the levels of a clip: how many parts they have, and their size with all they contain. */
struct anm_clip { uint32_t tag, count, size, loop; float loop_start; };
struct anm_track { uint32_t mask, tag, count, size; };
struct anm_channel { uint32_t channel, tag, count, size; };
struct anm_key { int16_t value, frame, ease_in, ease_out; };

extern const struct record anm_clip_mhfu, anm_clip_mhp3rd, anm_track_mhfu, anm_track_mhp3rd;
extern const struct record anm_channel_mhfu, anm_channel_mhp3rd, anm_key_record;

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

#endif
