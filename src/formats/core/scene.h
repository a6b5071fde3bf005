/* A whole model as another program wrote it: meshes, nodes, skins, pictures and animations under the names they have
 * there. Everything belongs to the reader's arena; numbers in it are in range, and all floats are finite. */
#ifndef MODELFS_SCENE_H
#define MODELFS_SCENE_H

#include "geo.h"

#define SCENE_JOINT_SETS 8u                    /* of 4 joints each */

/* One run of triangles with one material. Attributes that are not there are NULL. */
struct scene_primitive {
	uint32_t nvertices, nfaces;
	float (*position)[3];
	float (*normal)[3];                    /* of any length */
	float (*tangent)[4];
	float (*uv[GEO_UV_SETS])[2];           /* top-down */
	float (*colour)[4];                    /* 0..1; alpha 1 where none is given */
	bool alpha;                            /* it is given */
	/* Of vertex v, set s: nsets * v + s. Joints are numbers in the skin of the mesh's node. */
	unsigned nsets;
	uint16_t (*joint)[4];
	float (*weight)[4];
	uint32_t (*face)[3];
	int32_t material;                      /* of the scene; -1: none */
};

struct scene_mesh {
	const char *name;                      /* "": it has none */
	uint32_t nprimitives;
	struct scene_primitive *primitive;
};

/* A node at rest: scaled, turned, moved, in the space of its parent. Parents never lead round in a circle. */
struct scene_node {
	const char *name;
	int32_t parent;                        /* -1: none */
	int32_t mesh, skin;                    /* -1: none */
	float move[3], turn[4], scale[3];
};

struct scene_skin {
	uint32_t njoints;
	uint32_t *joint;                       /* nodes, each once */
};

struct scene_material {
	const char *name;
	int32_t image;                         /* of its base colour; -1: none */
};

/* As the file has it, coded. Pictures that lie in files of their own are not there: n is 0. */
struct scene_image {
	const char *name;
	const uint8_t *bytes;
	size_t n;
	bool png;                              /* else something else */
};

enum scene_path { SCENE_MOVE, SCENE_TURN, SCENE_SCALE };
enum scene_curve { SCENE_STEP, SCENE_LINEAR, SCENE_CUBIC };

/* One curve. Values of a key are 3 or 4 numbers; of a cubic one three times as many: in-tangent, value, out-tangent. */
struct scene_channel {
	uint32_t node;
	uint8_t path, curve;
	uint32_t nkeys;
	float *time;                           /* seconds, ascending, each once */
	float *value;
};

struct scene_clip {
	const char *name;
	uint32_t nchannels;
	struct scene_channel *channel;
};

struct geo_scene {
	const char *generator;                 /* "": not said */
	uint32_t nmeshes, nnodes, nskins, nmaterials, nimages, nclips;
	struct scene_mesh *mesh;
	struct scene_node *node;
	struct scene_skin *skin;
	struct scene_material *material;
	struct scene_image *image;
	struct scene_clip *clip;
};

/* Where a channel is at a time, 3 or 4 numbers: before the first key as there, behind the last as there. Turns have
 * length 1. */
void scene_sample(const struct scene_channel *c, double seconds, float out[4]);

#endif
