/* What the files that write a GLB share, and what those that read one know of it. */
#ifndef MODELFS_GLTF_H
#define MODELFS_GLTF_H

#include <cjson/cJSON.h>

#include "export.h"

#define GLB_MAGIC 0x46546c67u                  /* "glTF" */
#define GLB_VERSION 2u
#define GLB_HEADER_SIZE 12u
#define GLB_CHUNK_HEAD 8u
#define GLB_TAG_JSON 0x4e4f534au
#define GLB_TAG_BIN 0x004e4942u

/* Component types and targets, as the numbers glTF knows them by. */
enum gltf_type {
	GLTF_I8 = 5120, GLTF_U8, GLTF_I16, GLTF_U16, GLTF_U32 = 5125, GLTF_F32
};
enum gltf_target { GLTF_NO_TARGET, GLTF_VERTICES = 34962, GLTF_INDICES = 34963 };

struct glb_material {
	struct geo_material m;                 /* its name is in the arena */
	bool used, clear;                      /* clear: some vertex colour of its faces has an alpha below 1 */
	uint32_t number;                       /* in the file */
	uint32_t picture;                      /* in glb.picture; GEO_NONE */
};

/* number: in textures/; texture: in the file, once it is there. */
struct glb_picture { uint32_t number, texture; bool there; enum geo_alpha alpha; };

/* JSON takes kilobytes for a primitive and hundreds of bytes for a joint: damaged files could have any number. */
#define GLB_PRIMITIVES_MOST 16384u
#define GLB_SAMPLERS_MOST 131072u
#define GLB_FRAMES_MOST (1u << 20)             /* of one turn */
#define GLB_JOINTS_MOST 65536u                 /* and they are numbered in 16 bits */
/* Bones times nodes that they are looked for among: twice what a file with the most bones has. */
#define GLB_PLACES_MOST ((uint64_t)1 << 33)

/* Which stored numbers the vertices and triangles of a mesh's primitives come from: for who reads it back. */
struct glb_traced {
	uint32_t nvertices, nfaces;
	uint32_t *vertex, *value;              /* as in geo_flat */
	uint32_t *face;                        /* of each triangle: its face in the mesh */
};
struct glb_trace { struct arena *a; uint32_t nprims; struct glb_traced *prim; };

struct glb {
	bool write;                            /* else all is counted, and nothing kept */
	int bad;                               /* ENOMEM, EFBIG */
	uint64_t size;                         /* of the binary chunk so far */
	struct buf bin;
	struct arena arena;
	const struct geo_skeleton *skeleton;   /* NULL: no bones */
	struct glb_trace *trace;               /* of the next mesh; NULL: nobody asks */
	cJSON *root, *scene, *nodes, *meshes, *accessors, *views, *images, *animations;
	uint32_t nnodes, nmeshes, nprimitives, naccessors, nviews, nsamplers;
	uint64_t nkeys;                        /* of animations */
	struct glb_material *material;         /* by number in the model */
	uint32_t materials_room, *material_order, nmaterials, order_room;
	struct glb_picture *picture;           /* in order of first use */
	uint32_t npictures, pictures_room, ntextures;
	uint32_t *picture_of, picture_of_room; /* by number in textures/: that in `picture`, and 1 */
};

/* The first failure counts; after it nothing is kept any more. */
static inline void glb_fail(struct glb *g, int code)
{
	g->bad = g->bad ? g->bad : code;
}
int glb_failed(const struct glb *g, struct err *e);    /* g->bad as an error */
/* n bytes of the binary chunk, to be filled in before the next ones are asked for, when they are not NULL; *view is
 * their number. */
uint8_t *glb_view(struct glb *g, uint64_t n, enum gltf_target target, uint32_t *view);
/* The next accessor, whose number comes back in *number; NULL when memory ran out. */
cJSON *glb_accessor(struct glb *g, uint32_t view, enum gltf_type type, uint32_t count, const char *shape,
		    uint32_t *number);
/* Members and items, which they own at once. A failure is kept in g->bad. */
void glb_put(struct glb *g, cJSON *object, const char *key, cJSON *value);
void glb_push(struct glb *g, cJSON *array, cJSON *value);
void glb_put_number(struct glb *g, cJSON *object, const char *key, double value);
void glb_put_text(struct glb *g, cJSON *object, const char *key, const char *text);
void glb_put_floats(struct glb *g, cJSON *object, const char *key, const float *v, unsigned n);
/* extras.visible: false. */
void glb_put_hidden(struct glb *g, cJSON *object);
/* Number of a material in the file. */
uint32_t glb_material(struct glb *g, int32_t index, const struct geo_material *m, bool clear);

/* gltfmesh.c: the primitives of a mesh; an empty array when it has no vertices. *skinned: they have joints and weights.
 */
int glb_primitives(struct glb *g, const struct geo_mesh *m, const struct geo_material *of_part, cJSON *primitives,
		   bool *skinned, struct err *e);

#endif
