/* Inside of jom_match(): points and faces of a text and of a mesh, on their way to each other. */
#ifndef MODELFS_JOM_MATCH_H
#define MODELFS_JOM_MATCH_H

#include "jom_put.h"
#include "near.h"

/* A face by its points, in their order; v[3] of a triangle is GEO_NONE. */
struct jom_key { uint32_t v[4], number; };

struct jom_match {
	const struct jom_geometry *g;
	const struct jom_shown *shown;
	struct jom_text *text;
	struct jom_key *ours;                  /* polygons that are shown as faces, in their order */
	uint32_t nours;
	uint32_t *to;                          /* of each vertex: number among shown->point; GEO_NONE */
	uint32_t *from;                        /* of each shown point: its first vertex; GEO_NONE */
	struct near near;                      /* of the shown points */
	struct jom_face *faces;                /* as the text has them, before points that are one were found */
	uint32_t nfaces;
	uint32_t *taken;                       /* of each spot: how many of its first points are vertices already */
	struct arena *a;
	struct err *e;
};

static inline bool jom_is_face(const struct jom_match *x, uint32_t f)
{
	return x->text->face[f].n;
}

static inline unsigned jom_key_corners(const struct jom_key *k)
{
	return k->v[3] == GEO_NONE ? 3 : 4;
}

/* Pairs faces with polygons of the same points, turned as they may be: face.polygon becomes a number among ours, or
 * GEO_NONE. How many pairs; *failed: no memory. ours, theirs: what counts as the same, of each shown point (NULL: its
 * number) and each vertex. */
uint32_t jom_pair_equal(struct jom_match *x, const uint32_t *ours, const uint32_t *theirs, bool *failed);
/* 1: every face is a polygon, and every polygon is one; by x->to. */
int jom_same_faces(struct jom_match *x);
/* What is left over between two neighbours that are paired, as many here as there, goes together in its order: it was
 * changed. to[i]: of ntheirs, which of n it is. False: no memory. */
bool jom_pair_gaps(uint32_t *to, uint32_t ntheirs, uint32_t n, struct arena *a);
/* Corners that x->to makes one point count once from now on; a face of fewer than three is none. */
void jom_collapse(struct jom_match *x);
/* Faces of a new topology, by x->to. False: no memory. */
bool jom_pair_changed(struct jom_match *x);
/* Fills in text->stays. */
bool jom_keep_twins(struct jom_match *x);

#endif
