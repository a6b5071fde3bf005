/* model.glb, written over the one that is shown. */
#ifndef MODELFS_APPLY_GLB_H
#define MODELFS_APPLY_GLB_H

#include "edit.h"

/* Writes to the edit what the GLB says otherwise than what is shown: meshes, weights, bones, pictures. */
int apply_glb(struct edit *ed, struct unit *u, struct store *text, struct err *e);

#endif
