/* What a text says of one vertex of a PMO's mesh, put over stored bytes: by edits that keep the topology (pmo_put.c)
 * and those that do not (pmo_regroup.c). */
#ifndef MODELFS_PMO_VERTEX_H
#define MODELFS_PMO_VERTEX_H

#include "pmo.h"

/* What a text gives one vertex; NULL: not given. The numbers belong to `put`. */
struct pmo_given {
	const struct geo_put *put;
	const struct geo_number *position, *uv, *normal, *colour;      /* 3, 2, 3, 3 numbers */
	unsigned line;                         /* of the text, for messages */
	bool foreign_normals;                  /* the normals are another program's */
	bool keeps_length;                     /* a new normal is as long as the old one; a zero one stays */
};
struct pmo_given pmo_given(const struct geo_put *put, const struct geo_corner *c, unsigned line);
/* Puts that into the bytes of a stored vertex, its first morph target. What is not given, or has no place in the vertex
 * type, stays; so does, with `slack`, a value whose text could come from the stored one. The same again over the result
 * changes nothing. EINVAL: a value outside its scale, or a normal without a direction. */
int pmo_vertex_put(const struct pmo *p, const struct pmo_mesh *m, const struct ge_vertex *type,
		   const struct pmo_given *given, bool slack, uint8_t *vertex, struct err *e);
/* Position and texture coordinates as they are shown: world units; top-down. */
void pmo_vertex_position(const struct pmo *p, const struct pmo_mesh *m, const struct ge_vertex *type,
			 const uint8_t *vertex, float out[3]);
void pmo_vertex_uv(const struct pmo_mesh *m, const struct ge_vertex *type, const uint8_t *vertex, float out[2]);

#endif
