/* GLB files, written over those that are shown. */
#ifndef MODELFS_APPLY_GLB_H
#define MODELFS_APPLY_GLB_H

#include "edit.h"

/* Writes to the edit what the GLB says otherwise than what is shown: meshes, weights, bones, pictures. */
int apply_glb(struct edit *ed, struct unit *u, struct store *text, struct err *e);
/* The same of animations/N.glb and all.glb, of which only the animations count. */
int apply_animations(struct edit *ed, struct unit *u, const struct leaf *l, struct store *text, struct err *e);
/* What has the clips that a model shows: the pack beside it, or the model. */
struct unit *apply_pack(struct unit *u);

#endif
