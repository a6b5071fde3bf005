/* Writing a MOD3's geometry: what edits of meshes, weights, block types and bones have in common. */
#ifndef MODELFS_MOD3_WRITE_H
#define MODELFS_MOD3_WRITE_H

#include "match.h"
#include "mod3.h"
#include "retopo.h"
#include "splice.h"
#include "weld.h"

/* ---- one vertex (mod3_vertex.c) ---------------------------------------------------------------------------------- */

/* How vertices of a block type are written; ctx is the block. */
struct weld_type mod3_weld_type(const struct mod3_block *b);
/* geo_stored.normal_kept. */
bool mod3_normal_kept(void *ctx, uint32_t vertex, const struct geo_number given[3], float shown[3]);
/* A mesh gets other block types by this: the elements that both types have keep their bytes; others are zero, a colour
 * white, weights all those of bone 0. EINVAL: weights other than 0 would be lost; of 8 and 4. */
int mod3_vertex_recode(const struct mod3_block *from, const uint8_t *was, const struct mod3_block *to, uint8_t *now,
		       struct err *e);
/* Stores weights; of all slots, their sum is MOD3_ALL_WEIGHTS and each fits its slot. */
void mod3_weights_store(const struct mod3_block *b, const int32_t weight[MOD3_SLOTS], uint8_t *vertex);
/* Weights that are not 0; one of +-1 in the last slot is rounding. */
unsigned mod3_weights_used(const struct mod3_block *b, const uint8_t *vertex);

/* ---- vertices of all meshes ------------------------------------------------------------------------------------- */

/* A mesh's own vertices; block NULL: nobody knows what they consist of. */
struct mod3_points { const struct mod3_block *block; const uint8_t *v; uint32_t n; };
/* What bounds follow from: before an edit, and after it. */
struct mod3_scene {
	struct mod3_points *mesh;              /* of each */
	const uint8_t *inverse;                /* matrices as stored, nbones of them; others are elsewhere */
	uint32_t nbones;
	const uint8_t *buffer;                 /* all of the vertex buffer; mesh[].v point into it */
};
int mod3_scene(struct object *o, struct mod3_scene *out, struct arena *a, struct err *e);
/* The same with a list and a buffer of its own, which can be changed. */
int mod3_scene_copy(const struct mod3 *m, const struct mod3_scene *was, struct mod3_scene *out, uint8_t **buffer,
		    struct arena *a, struct err *e);
/* Byte of the vertex buffer at which the mesh's own vertices begin. */
static inline uint64_t mod3_own_at(const struct mod3_mesh *mesh)
{
	return mesh->vertex_offset + ((uint64_t)mesh->vertex_base + mesh->vertex_sub) * mesh->stride;
}
/* The vertices of a window in a vertex buffer. */
static inline uint8_t *mod3_window_in(const struct mod3 *m, const struct mod3_mesh *mesh, const struct mod3_window *win,
				      uint8_t *buffer)
{
	return win->n ? buffer + (mod3_vertex_at(m, mesh, win->first) - m->table[MOD3_VERTICES].at) : buffer;
}

/* ---- blocks that grow and shrink (mod3_moves.c) ----------------------------------------------------------------- */

/* Runs of bytes that get another length, sorted; all of them in `a`. */
struct mod3_moves {
	struct splice *v;
	uint8_t *section;                      /* that each belongs to */
	unsigned n, room;
	struct arena *a;
};
int mod3_move(struct mod3_moves *m, unsigned section, struct splice s, struct err *e);

/* The last step of an edit: brings the header's offsets up to date and moves. Offsets from before are void then. */
int mod3_moves_do(struct object *o, struct mod3_moves *moves, struct err *e);

/* ---- meshes of another size (mod3_layout.c) ---------------------------------------------------------------------- */

/* What becomes of one mesh. */
struct mod3_reshape {
	uint32_t mesh;
	struct mod3_points points;
	/* Its vertices, counted from 0, three each; NULL: the faces stay what they are. */
	const uint32_t *corner;
	uint32_t ncorners;
};
/* Patches records, header and indices where they lie now, and adds what has to move. EINVAL: it shares vertices or
 * indices with another mesh. */
int mod3_reshape(struct object *o, const struct mod3_reshape *r, struct mod3_moves *moves, struct err *e);

/* ---- what follows from vertices (mod3_bounds.c) ------------------------------------------------------------------ */

/* Bounds of the header and envelopes, worked out from the vertices before and after: a number that is the same both
 * times stays what is stored. A bone that moves its first vertex of a mesh gets an envelope, unless the mesh
 * has none at all. Patches where things lie now, and adds what has to move. */
int mod3_follow(struct object *o, const struct mod3_scene *was, const struct mod3_scene *now,
		struct mod3_moves *moves, struct err *e);

/* weights_per_vertex, which never falls: to what the vertices have now, if that is more than they had, or if `all`.
 * (mod3_weights.c) */
int mod3_follow_weights(struct object *o, uint32_t mesh, const struct mod3_points *was, const struct mod3_points *now,
			bool all, struct err *e);

/* ---- meshes ------------------------------------------------------------------------------------------------------ */

/* Says that n vertices are given colours that have no place. (mod3_put.c) */
void mod3_say_colours(const struct object *o, uint32_t mesh, uint32_t n);
/* Vertices and faces are made anew. (mod3_rebuild.c) */
int mod3_rebuild(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);
/* The last steps of an edit of one mesh: its new shape, and what follows from it. */
int mod3_replace(struct object *o, const struct mod3_reshape *r, const struct mod3_scene *was, struct arena *a,
		 struct err *e);

#endif
