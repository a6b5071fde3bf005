/* Vertices for a text that gives a mesh a new topology, where every given vertex is a stored one, in the order of the
 * text: where its corners have several texture coordinates or normals it becomes several, one behind the other. */
#ifndef MODELFS_RETOPO_H
#define MODELFS_RETOPO_H

#include "weld.h"

struct retopo {
	const struct weld_type *type;
	const struct geo_put *put;
	const uint8_t *stored;                 /* the old vertices */
	uint32_t nstored;
	/* Corners of the old faces, vertex numbers, in the order in which those of this text will be stored; of faces
	 * with three different corners where the text's others are not stored. */
	const uint32_t *was;
	size_t nwas;
	struct arena *a;

	/* Out: */
	bool applied;                          /* the text was applied before: what is stored is what it says */
	struct buf vertices;                   /* nvertices of type->stride bytes; buf_free() it, also after an error */
	uint32_t nvertices;
	uint32_t *of;                          /* of each corner of put->face: its vertex; not of flat faces */
	uint32_t guessed;                      /* as weld.guessed */
};

/* The fields up to `a` are set. */
int retopo(struct retopo *t, struct err *e);

#endif
