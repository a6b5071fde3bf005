/* What a text says of one vertex of a PMO's mesh, put over stored bytes: by edits that keep the topology (pmo_put.c)
 * and those that do not (pmo_regroup.c). */
#ifndef MODELFS_PMO_VERTEX_H
#define MODELFS_PMO_VERTEX_H

#include "pmo.h"
#include "weld.h"

/* Puts what is given into the bytes of a stored vertex, its first morph target: struct weld_type's put(). EINVAL: a
 * value outside its scale, or a normal without a direction. */
int pmo_vertex_put(const struct pmo *p, const struct pmo_mesh *m, const struct ge_vertex *type,
		   const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e);
/* The normal of a vertex once another one, of any length, is put over it, as it is shown; false: that has no direction.
 */
bool pmo_vertex_normal(const struct ge_vertex *type, const uint8_t *vertex, const struct geo_number given[3],
		       float shown[3]);
/* Position and texture coordinates as they are shown: world units; top-down. */
void pmo_vertex_position(const struct pmo *p, const struct pmo_mesh *m, const struct ge_vertex *type,
			 const uint8_t *vertex, float out[3]);
void pmo_vertex_uv(const struct pmo_mesh *m, const struct ge_vertex *type, const uint8_t *vertex, float out[2]);

#endif
