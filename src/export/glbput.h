/* A mesh of a GLB that somebody wrote against the same mesh as it is stored now: what the files share that tell what
 * has been edited. Vertices and triangles of all primitives are numbered through. */
#ifndef MODELFS_GLBPUT_H
#define MODELFS_GLBPUT_H

#include "gltf.h"
#include "matrix.h"
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
	const struct geo_scene *scene_was, *scene_now;
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
/* world: where the mesh is; NULL: where the model is. */
int soup_make(struct soup *s, const struct scene_mesh *mesh, const struct matrix *world, struct arena *a,
	      struct err *e);
/* was, now, trace, foreign and reach are set. */
int glb_pair(struct pairing *x, struct arena *a, struct err *e);
/* Number in the stored mesh of vertex i of `was`. */
uint32_t pair_stored(const struct pairing *x, uint32_t i);
/* Whether texture coordinates, or all of a place, can be the same. */
bool pair_uv_stays(const struct pairing *x, uint32_t now, uint32_t was);
bool pair_place_stays(const struct pairing *x, uint32_t now, uint32_t was);

/* ---- an edit on its way ---- */

/* What the corners of a vertex that has one normal say of it. */
enum renewed { SAME_NORMAL, NEW_NORMAL, NO_NORMAL };

struct making {
	const struct geo_scene *scene;
	const struct scene_node *node;
	const struct glb_shown *was;
	struct geo_scene shown;                /* the mesh alone, read back */
	struct pairing pair;
	struct glb_trace trace;
	struct buf bytes;
	const struct geo_stream *uv, *normal, *full_uv, *full_normal;  /* of `plain` and of `full` */
	struct glb_edit *out;
	struct geo_put *put;
	uint32_t *part_of;                     /* of each stored face */
	uint8_t *renewed;                      /* of each stored vertex: enum renewed; NULL */
	uint32_t *giver;                       /* of each vertex of `put`: the first of the file + 1 that is it */
	uint32_t torn[2];                      /* vertices that are one, and have different values; torn[1] 0: none */
	bool turned;                           /* tangents are others */
	bool mixed_up;                         /* colours are: see put_find_mixed_up() */
	struct arena *a;
};

/* glbvalues.c */
/* The stored values, and behind them room for one of each vertex of the file. In an OBJ, v is 0 at the bottom, and so
 * is a v that is no number. NULL: out of memory. */
struct geo_number *put_give_stream(const struct making *x, const struct geo_stream *s, unsigned comps);
/* The square of a triangle's area, 4 times, in the numbers that programs reckon with. */
float put_face_normal(const struct soup *s, uint32_t face, float out[3]);
/* face: of the file, that the vertex is a corner of; GEO_NONE. */
bool put_normal_stays(const struct making *x, uint32_t now, uint32_t was, uint32_t face);
/* Sets mixed_up; false: out of memory. */
bool put_find_mixed_up(struct making *x);
/* What vertex `to` of the edit gets from vertex `now` of the file, where that differs from vertex `was` of what was
 * shown (GEO_NONE: it is a new one): its place; colours and further texture coordinates, false when memory is short.
 */
void put_take_place(struct making *x, uint32_t now, uint32_t was, uint32_t to);
bool put_take_more(struct making *x, uint32_t now, uint32_t was, uint32_t to);
/* Number of a corner's value in `put`: the stored one, or a new one. s: the stream of texture coordinates or
 * normals. */
uint32_t put_take_value(struct making *x, uint32_t now, uint32_t was, uint32_t face, const struct geo_stream *s,
			uint32_t stored);

/* glbfaces.c: all of `put`, once vertices and faces are paired. */
int put_keep_topology(struct making *x, struct err *e);
int put_change_topology(struct making *x, struct err *e);

/* glbweights.c: fills in `weights` and `pairs`. */
int glb_compare_weights(const struct geo_scene *scene, const struct scene_node *node, const struct glb_shown *was,
			const int32_t *bone, const struct pairing *pair, struct glb_edit *out, struct arena *a,
			struct err *e);

#endif
