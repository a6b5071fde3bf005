/* Writing a quartet's geometry: what edits of meshes have in common. */
#ifndef MODELFS_MLP_WRITE_H
#define MODELFS_MLP_WRITE_H

#include "match.h"
#include "mlp.h"
#include "retopo.h"

struct mlp_edit {
	struct object *o;
	const struct mlp *m;
	uint32_t number;
	const struct mlp_mesh *mesh;
	struct geo_put put;                    /* material: numbers in mlp.material of what the mesh has; else -1 */
	const struct mlp_named *named;         /* of each name in put.names */
	struct mlp_slices s;
	struct geo_mesh was;
	struct arena *a;
};

/* ---- vertices (mlp_vertex.c) ------------------------------------------------------------------------------------- */

/* How vertices are written. Behind their stored bytes stands, for vertices that are made anew, the number (u32) of the
 * old one whose MGP row they get. */
#define MLP_WELD_SIZE (MLP_VERTEX_SIZE + 4)
struct weld_type mlp_weld_type(const struct mlp *m, bool rows);
/* geo_stored.normal_kept. */
bool mlp_normal_kept(void *ctx, uint32_t vertex, const struct geo_number given[3], float shown[3]);

/* ---- materials and groups (mlp_assign.c) ------------------------------------------------------------------------- */

/* What a name of usemtl means; known: it is mat_XXXXXXXX. */
struct mlp_named { bool known; uint32_t id; };

/* Fills in x->put and x->named from what was given; EINVAL: a group that the mesh does not have. */
int mlp_names(struct mlp_edit *x, const struct geo_put *put, struct err *e);
/* Submesh of each face; GEO_NONE of flat ones. EINVAL: one is in no group. */
int mlp_assign(struct mlp_edit *x, uint32_t **part, struct err *e);
/* The same of a text with the topology that is stored, for those faces whose material nobody else tells. */
int mlp_parts_of(struct mlp_edit *x, const struct geo_match *match, uint32_t **part, struct err *e);
/* Gives whole submeshes the materials that the text names. EINVAL: it names several for one. */
int mlp_materials_put(struct mlp_edit *x, const uint32_t *part, struct err *e);

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* A mesh as it becomes. */
struct mlp_shape {
	const uint8_t *vertices, *indices;     /* as stored */
	const uint8_t *rows;                   /* NULL: none */
	uint32_t nvertices, nindices;
	const struct mlp_sub *sub;             /* of each submesh: first_index and index_count count */
};
static inline uint64_t mlp_shape_size(const struct mlp_shape *s)
{
	return (uint64_t)s->nvertices * MLP_VERTEX_SIZE + (uint64_t)s->nindices * 2;
}

/* Boxes and spheres of the mesh where they do not hold what they have to any more (spec 9.4; mlp_bounds.c). */
int mlp_bounds_put(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e);
/* Writes the mesh in its place, or in slices of other sizes (spec 9.2; mlp_place.c). */
int mlp_shape_put(const struct mlp_edit *x, const struct mlp_shape *now, struct err *e);
/* A text with another topology (mlp_rebuild.c). */
int mlp_rebuild(struct mlp_edit *x, struct err *e);
int mlp_too_many(uint32_t nvertices, struct err *e);           /* EINVAL */

/* The stored vertices with the values that the text gives them. */
int mlp_put_vertices(const struct mlp_edit *x, const struct geo_match *match, uint8_t **out, struct err *e);

#endif
