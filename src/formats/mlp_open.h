/* Opening a quartet, mesh by mesh. */
#ifndef MODELFS_MLP_OPEN_H
#define MODELFS_MLP_OPEN_H

#include "mlp.h"

#define MLP_PIECE 65536u                       /* bytes read at once */

struct mlp_opening {
	struct object *o;
	struct mlp *m;
	uint8_t *room;                         /* MLP_PIECE */
	struct buf subs;                       /* struct mlp_sub; bad when memory ran out */
	uint64_t left[2];                      /* bytes of the MLP and the MMP that may still be read */
	uint64_t nnormals, nlikely;            /* of rigid meshes, so far */
};

/* Reads what mesh i of the table is, and checks it (spec 9.5). EBADMSG: it is broken. */
int mlp_read_mesh(struct mlp_opening *x, uint32_t i, struct err *e);

#endif
