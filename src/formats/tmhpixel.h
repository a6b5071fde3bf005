/* Pixels of a PSP texture bank (spec/mhp.md 4.1 to 4.3): formats, swizzle, colours, DXT blocks. Bytes in, bytes out;
 * the caller has checked the sizes with tmh_least(). Every step has its inverse, which writes over the stored bytes, so
 * what no pixel uses stays. */
#ifndef MODELFS_TMHPIXEL_H
#define MODELFS_TMHPIXEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tmh_format {
	TMH_5650, TMH_5551, TMH_4444, TMH_8888,
	TMH_CLUT4, TMH_CLUT8, TMH_CLUT16, TMH_CLUT32,
	TMH_DXT1, TMH_DXT3, TMH_DXT5,
	TMH_FORMATS
};

static inline bool tmh_is_clut(uint32_t format) { return format >= TMH_CLUT4 && format <= TMH_CLUT32; }
static inline bool tmh_is_dxt(uint32_t format) { return format >= TMH_DXT1 && format < TMH_FORMATS; }

const char *tmh_format_name(uint32_t format);                  /* as in the YAML view */
unsigned tmh_colour_size(uint32_t format);                     /* bytes of one colour of formats 0 to 3 */
unsigned tmh_block_size(uint32_t format);                      /* bytes of one 4x4 block of a DXT format */
/* Fewest bytes that hold w * h pixels. */
uint64_t tmh_least(uint32_t format, uint32_t w, uint32_t h);

/* ---- rows: how the pixels of all but the DXT formats are stored -------------------------------------------------- */

struct tmh_rows {
	uint32_t pitch;                        /* bytes from one row to the next, once they lie in order */
	uint32_t h;
	bool swizzled;
};

/* n: stored bytes, at least tmh_least(). */
struct tmh_rows tmh_rows(uint32_t format, uint32_t w, uint32_t h, size_t n);
/* The h * pitch bytes of the rows in order; stored bytes that a short last band lacks are zero. */
void tmh_rows_get(const struct tmh_rows *r, const uint8_t *stored, size_t n, uint8_t *rows);
void tmh_rows_put(const struct tmh_rows *r, const uint8_t *rows, uint8_t *stored, size_t n);

/* Palette numbers of CLUT4 and CLUT8, one byte per pixel, w * h of them. */
void tmh_indices_get(uint32_t format, const struct tmh_rows *r, uint32_t w, const uint8_t *rows, uint8_t *out);
void tmh_indices_put(uint32_t format, const struct tmh_rows *r, uint32_t w, const uint8_t *in, uint8_t *rows);
/* One palette number of any CLUT format. */
uint32_t tmh_index(uint32_t format, const uint8_t *row, uint32_t x);
void tmh_index_put(uint32_t format, uint8_t *row, uint32_t x, uint32_t v);

/* n colours of formats 0 to 3 to RGBA and back; back is exact for what came from the same format. */
void tmh_colours_get(uint32_t format, const uint8_t *stored, size_t n, uint8_t (*out)[4]);
void tmh_colours_put(uint32_t format, const uint8_t (*in)[4], size_t n, uint8_t *stored);

/* ---- DXT --------------------------------------------------------------------------------------------------------- */

struct tmh_block {
	uint8_t pick[16];                      /* 0..3, top row first, left pixel first */
	uint16_t end[2];                       /* red in the high bits */
	uint8_t alpha[16];                     /* DXT3: 0..15; DXT5: 0..7, which step; DXT1: unused */
	uint8_t alpha_end[2];                  /* DXT5 */
};

void tmh_block_get(uint32_t format, const uint8_t *stored, struct tmh_block *b);
void tmh_block_put(uint32_t format, const struct tmh_block *b, uint8_t *stored);
void tmh_block_colours(uint32_t format, const struct tmh_block *b, uint8_t out[16][4]);
/* What two end colours, and the two alphas of DXT5, give. */
void tmh_block_steps(const uint16_t end[2], uint8_t step[4][4]);
void tmh_alpha_steps(const uint8_t end[2], uint8_t step[8]);
/* The whole picture; blocks lie row by row. */
void tmh_dxt_get(uint32_t format, const uint8_t *stored, uint32_t w, uint32_t h, uint8_t *rgba);
/* Encodes the blocks that show something else; how many. A block that can be met no better than it is stays. */
size_t tmh_dxt_put(uint32_t format, const uint8_t *rgba, uint32_t w, uint32_t h, uint8_t *stored);

#endif
