/* What giving a PMO's mesh a new topology (pmo_rebuild.c) is made of. */
#ifndef MODELFS_PMO_TOPOLOGY_H
#define MODELFS_PMO_TOPOLOGY_H

#include "near.h"
#include "place.h"
#include "pmo_vertex.h"

/* ---- strips ------------------------------------------------------------------------------------------------------ */

/* Draws n triangles as strips and lists: vertex numbers (uint32_t) in `corners`, arguments of PRIM (uint32_t) in
 * `prims`. cost: bytes that one more corner takes. most: PRIMs there is room for; more are made only where one cannot
 * count so many corners. */
int pmo_strips(const uint32_t (*face)[3], uint32_t n, unsigned cost, uint32_t most, struct buf *corners,
	       struct buf *prims, struct err *e);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Given triangles with three different vertices, sorted by the group of the mesh they go to, else in the order of the
 * text: those of group k are face[first[k]] up to face[first[k + 1]], numbers of put->face. */
struct pmo_assigned { uint32_t *face, *first; };
int pmo_assign(const struct pmo *p, uint32_t mesh, const struct geo_mesh *was, const struct geo_put *put,
	       struct pmo_assigned *out, struct arena *a, struct err *e);

enum pmo_change { PMO_UNCHANGED, PMO_VALUES, PMO_REBUILT };
struct pmo_regroup {
	const struct pmo_run *run;
	uint8_t change;
	struct buf vertices;                   /* all bytes, as they should be; unless PMO_UNCHANGED */
	struct buf face;                       /* PMO_REBUILT: three uint32_t per triangle, numbers of vertices */
	uint32_t guessed;                      /* vertices whose weights and colours are those of another place */
	uint32_t flat;                         /* triangles with two vertices that are one as they are stored */
};
/* What `n` given triangles make of a group that has the old ones was->face[first..] (nold of them). */
int pmo_regroup(const struct pmo *p, const struct pmo_mesh *mesh, const struct geo_mesh *was, uint32_t first,
		uint32_t nold, const struct geo_put *put, const uint32_t *face, uint32_t n, struct pmo_regroup *out,
		struct err *e);

/* ---- display lists ----------------------------------------------------------------------------------------------- */

/* A list without its PRIMs. */
struct pmo_list {
	uint32_t *word, nwords, size;          /* size: of the whole list as it is, in words */
	uint32_t prims;                        /* the PRIMs stand before this word */
	uint32_t *old, nold;                   /* their arguments */
	uint32_t vaddr, iaddr;                 /* words; iaddr GE_NO_ADDRESS: vertices are drawn without indices */
	bool hidden, reversed;
	struct ge_vertex vertex;
};
/* Takes the list of group g apart; EINVAL and why it cannot be put together again with other PRIMs. */
int pmo_list_read(const struct pmo *p, uint32_t g, struct pmo_list *out, struct arena *a, struct err *e);
/* Its bytes at `at`, with PRIMs of those arguments (0: a NOP), vertices and indices. EFBIG: an address out of reach. */
int pmo_list_write(const struct pmo_list *list, uint32_t at, uint32_t vertices, uint32_t indices,
		   const uint32_t *prims, uint32_t nprims, struct buf *out, struct err *e);

/* Three blocks per group of the whole model: list, vertices, indices. EINVAL: some group does not tell where its bytes
 * are, or goes on with the indices of another. */
int pmo_blocks(const struct object *o, struct block **out, struct arena *a, struct err *e);

#endif
