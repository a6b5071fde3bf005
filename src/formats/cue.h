/* Cue sheets: a text that tells which tracks a disc has and where they lie in which file. */
#ifndef MODELFS_CUE_H
#define MODELFS_CUE_H

#include "format.h"

#define CUE_TRACKS_MOST 99u
#define CUE_TEXT_MOST ((size_t)1 << 20)        /* bytes that are read */
#define CUE_FRAMES 75u                         /* sectors of a second */

enum cue_mode { CUE_AUDIO, CUE_MODE1_2048, CUE_MODE1_2352, CUE_MODE2_2336, CUE_MODE2_2352, CUE_MODES };

/* Numbers of sectors; places count from the start of the file the track lies in. */
struct cue_track {
	uint8_t number, mode;
	uint16_t file;                         /* number of its FILE */
	uint32_t first;                        /* INDEX 00, the pause before it, if it has one, else INDEX 01 */
	uint32_t start;                        /* INDEX 01 */
	uint32_t pregap, postgap;              /* silence that no file has */
};

struct cue {
	uint32_t ntracks, data;                /* data: the first track that is none of audio */
	char name[LEAD_NAME_MAX];              /* of the file that one lies in */
	struct cue_track track[CUE_TRACKS_MOST];
};

extern const struct format fmt_cue;

/* EBADMSG when it tells of no data track, with the line where that is known; ENOENT when it is no cue sheet at all. */
int cue_parse(const char *text, size_t n, struct cue *out, struct err *e);
/* Where the bytes of track k begin in its file, and its sectors, 0: all up to the end of the file. */
void cue_place(const struct cue *c, uint32_t k, uint64_t *at, uint32_t *sectors);
/* What a track's first sector is called on the disc; false when that cannot be told: other files lie before it. */
bool cue_base(const struct cue *c, uint32_t k, uint32_t *base);
const char *cue_mode_name(unsigned mode);      /* "MODE1/2048", "AUDIO" */
unsigned cue_mode_bytes(unsigned mode);        /* of a sector in the file */

#endif
