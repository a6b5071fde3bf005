/* Writers of small PSP Monster Hunter files (spec/mhp.md) from descriptions that are constant tables: what the demo
 * archive is made of. They follow the order and alignment of the shipped files. Each appends to `out`, whose `bad`
 * tells when memory ran out. */
#ifndef MODELFS_MHPBUILD_H
#define MODELFS_MHPBUILD_H

#include "base.h"

/* ---- model (PMO 1.0) -------------------------------------------------------------------------------------------- */

enum patch_style { PATCH_STRIPS, PATCH_LIST, PATCH_FAN };

/* A grid of rows * cols vertices on a surface; a fan is a centre (v = 0) and one row of cols vertices (v = 1).
 * The front side is where dP/dv x dP/du points. */
struct mhp_patch {
	void (*at)(double u, double v, unsigned k, double p[3]);       /* position in model units; u, v in 0..1 */
	unsigned k;                            /* passed on: which face, which segment */
	uint8_t style, rows, cols;
	float bind[2];                         /* weight of the second slot at v = 0 and v = 1 */
};

struct mhp_group {
	uint32_t vertex_type;                  /* indexed; up to 2 weights; colours as 8888 */
	uint8_t material;                      /* in the mesh's remap run */
	uint8_t npalette, palette[2][2];       /* slot, bone */
	unsigned npatches;
	const struct mhp_patch *patches;
};

struct mhp_mesh {
	float uv_scale[2];
	uint32_t lighting, blend;
	uint8_t nmaterials, materials[4];      /* the remap run */
	uint16_t ngroups;
	const struct mhp_group *groups;
};

struct mhp_material {
	uint32_t colour, ambient;              /* red in the low byte */
	uint8_t image;
};

struct mhp_model {
	float scale[3];                        /* largest extent along each axis */
	uint16_t nmeshes, nmaterials;
	const struct mhp_mesh *meshes;
	const struct mhp_material *materials;
};

void mhp_build_pmo(struct buf *out, const struct mhp_model *m);

/* ---- texture bank ----------------------------------------------------------------------------------------------- */

struct mhp_picture {
	uint8_t format;                        /* 3: 8888, 4: CLUT4, 5: CLUT8 */
	uint8_t clut;                          /* colour format of the CLUT: 1 (5551) or 3 (8888) */
	uint8_t palettes;                      /* 0 for 8888 */
	uint16_t w, h;
	unsigned (*index)(unsigned x, unsigned y);             /* colour number of a pixel */
	uint32_t (*colour)(unsigned i, unsigned palette);      /* its colour, red in the low byte */
};

struct mhp_bank {
	uint32_t n;
	const struct mhp_picture *pictures;
};

void mhp_build_tmh(struct buf *out, const struct mhp_bank *bank);

/* ---- skeleton and animation pack, as MHFU has them --------------------------------------------------------------- */

struct mhp_bone {
	int32_t parent;                        /* an earlier bone, or -1 */
	float offset[3];
	uint32_t part;                         /* of the animations */
};

struct mhp_skeleton {
	uint32_t n;
	const struct mhp_bone *bones;
};

void mhp_build_ahi(struct buf *out, const struct mhp_skeleton *s);

struct mhp_channel {
	uint32_t bit;
	uint32_t nkeys;
	int16_t keys[5][4];                    /* value, frame, ease in, ease out */
};

struct mhp_track {
	uint32_t nchannels;
	struct mhp_channel channels[2];
};

struct mhp_clip {
	uint32_t ntracks, loop;
	const struct mhp_track *tracks;
};

/* Two streams of nslots slots: slots[i] is the clip of slot i of the first, -1 for none; the second stream is empty.
 * Clips must be in the order in which the slots use them first. */
struct mhp_pack {
	uint32_t nslots, nclips;
	int32_t slots[4];
	const struct mhp_clip *clips;
};

void mhp_build_anm(struct buf *out, const struct mhp_pack *p);

/* ---- containers ------------------------------------------------------------------------------------------------- */

enum mhp_kind { MHP_NOTHING, MHP_TEXT, MHP_BYTES, MHP_PMO, MHP_TMH, MHP_AHI, MHP_ANM, MHP_PAC };

struct mhp_bytes {
	size_t n;
	const uint8_t *p;
};

struct mhp_item {
	uint8_t kind;
	bool exact;                            /* DATA.BIN: has an exact-size pair */
	uint8_t slack;                         /* DATA.BIN: blocks its slot is longer than needed; not with a pair */
	const void *what;                      /* the description: a string, mhp_bytes, mhp_model, .. mhp_list */
};

struct mhp_list {
	uint32_t n;
	const struct mhp_item *items;
};

void mhp_build_pac(struct buf *out, const struct mhp_list *entries);
/* Encrypted. The last file must not be empty: its end word would be taken for the end of the start words (1.1). */
void mhp_build_databin(struct buf *out, const struct mhp_list *files);

#endif
