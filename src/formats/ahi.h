/* Skeletons: what ahi.c (what is shown) and ahi_edit.c (what is written) share. */
#ifndef MODELFS_AHI_H
#define MODELFS_AHI_H

#include "format.h"

#define AHI_BONE_MHFU 0x10cu                   /* bytes of a bone */
#define AHI_BONE_MHP3RD 0x5cu
#define AHI_SHARED 0x54u                       /* of them the same in both games */
#define AHI_PARENT 0x10u                       /* s32 parent, s32 first child, s32 next sibling */
#define AHI_PARAMETERS_AT 0x18u               /* the first parameter */
#define AHI_NAME AHI_SHARED
#define AHI_NAME_SIZE 8u

struct ahi_bone {
	uint32_t tag, unknown_04, section_size;
	int32_t index, parent, first_child, next_sibling;
	float scale[4], rotation[4], offset[4];
	int32_t link;
	uint32_t part;
	char name[AHI_NAME_SIZE];
};

struct ahi_skeleton {
	uint32_t nparameters, nbones, bone_size;
	uint32_t noted;
	uint64_t bones_at;
};

int ahi_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e);
int ahi_skeleton(struct object *o, struct geo_skeleton *out, struct arena *a, struct err *e);
int ahi_skeleton_put(struct object *o, const struct geo_skeleton *now, const uint8_t *change, struct err *e);
int ahi_check(struct object *o, struct err *e);

#endif
