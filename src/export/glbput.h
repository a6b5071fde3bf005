/* A mesh of a GLB that somebody wrote against the same mesh as it is stored now: what the files share that tell what
 * has been edited. Vertices and triangles of all primitives are numbered through. */
#ifndef MODELFS_GLBPUT_H
#define MODELFS_GLBPUT_H

#include "gltf.h"
#include "near.h"

/* All primitives of one mesh. */
struct soup {
	const struct scene_mesh *mesh;
	uint32_t nvertices, nfaces;
	uint32_t *first;                       /* of each primitive, its first vertex; one more behind the last */
	uint32_t *first_face;                  /* likewise */
	float (*position)[3], (*normal)[3];    /* in the space of the model */
	uint32_t (*face)[3];
	uint32_t *prim_of;                     /* of each face */
};

struct pairing {
	struct soup was, now;
	const struct glb_traced *trace;        /* of each primitive of `was` */
	bool foreign;
	double reach;                          /* as far as other programs move what they leave alone */
	struct near near;                      /* vertices of `was` */
	uint32_t *spot_was, *spot_now;         /* of each vertex; GEO_NONE: nothing of `was` is there */

	/* Out: */
	bool same;                             /* the topology */
	uint32_t *face_of;                     /* of each face of `now`: that of `was`; GEO_NONE */
	uint8_t *turn;                         /* its corner c is corner (c + turn) % 3 of that */
	uint32_t *vertex_of;                   /* of each vertex of `now`: that of `was`; GEO_NONE */
	uint32_t *pair_of;                     /* of each face of `was`: that of `now`; GEO_NONE */
};

uint32_t soup_prim(const struct soup *s, uint32_t vertex);
/* What vertex i has in its primitive, number `local`. */
const struct scene_primitive *soup_vertex(const struct soup *s, uint32_t i, uint32_t *local);
int soup_make(struct soup *s, const struct scene_mesh *mesh, const double *world, struct arena *a, struct err *e);
/* was, now, trace, foreign and reach are set. */
int glb_pair(struct pairing *x, struct arena *a, struct err *e);
/* Number in the stored mesh of vertex i of `was`. */
uint32_t pair_stored(const struct pairing *x, uint32_t i);
/* Whether texture coordinates, or all of a place, can be the same. */
bool pair_uv_stays(const struct pairing *x, uint32_t now, uint32_t was);
bool pair_place_stays(const struct pairing *x, uint32_t now, uint32_t was);

/* Columns x, y, z and translation of a node in the scene. */
void glb_world(const struct geo_scene *s, uint32_t node, double world[12]);

/* glbweights.c: fills in `weights` and `pairs`. */
int glb_compare_weights(const struct geo_scene *scene, const struct scene_node *node, const struct glb_shown *was,
			const int32_t *bone, const struct pairing *pair, struct glb_edit *out, struct arena *a,
			struct err *e);

#endif
