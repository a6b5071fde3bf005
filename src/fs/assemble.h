/* A whole model put together from what it and its companions hold: what model.glb and preview.png are made of. */
#ifndef MODELFS_ASSEMBLE_H
#define MODELFS_ASSEMBLE_H

#include "unit.h"

struct assembly {
	struct tree *t;
	struct unit *u;
	struct object *o;
	uint32_t meshes, damaged;
	struct err why;                        /* of the first damaged one */
};

/* What has the bones of a model: itself, or the skeleton beside it; NULL: nobody. */
struct unit *bones_unit(struct unit *u);
/* The bones of o, opened with result rc, settled. A damaged skeleton is none, as is o NULL. */
int bones_get(struct object *o, int rc, struct geo_skeleton *out, struct arena *a, struct err *e);
/* Those of the model. */
int assemble_skeleton(const struct assembly *x, struct geo_skeleton *out, struct arena *a, struct err *e);

/* A mesh with all that its format knows of it, only as long as it is being taken. name: of its object; NULL: it has
 * none. */
typedef int assemble_mesh(void *ctx, uint32_t number, const char *name, const struct geo_mesh *m,
			  const struct geo_material *of_part, struct err *e);
/* A damaged mesh costs itself only, as long as there is another one, and is noted. */
int assemble_meshes(struct assembly *x, assemble_mesh *take, void *ctx, struct err *e);

#endif
