/* GLB files, written over those that are shown. */
#ifndef MODELFS_GLBAPPLY_H
#define MODELFS_GLBAPPLY_H

#include "edit.h"
#include "export.h"

/* Writes to the edit what the GLB says otherwise than what is shown: meshes, weights, bones, pictures. */
int apply_glb(struct edit *ed, struct unit *u, struct store *text, struct err *e);
/* glbmove.c: the same of animations/N.glb and all.glb, of which only the animations count. */
int apply_animations(struct edit *ed, struct unit *u, const struct leaf *l, struct store *text, struct err *e);
/* What has the clips that a model shows: the pack beside it, or the model. */
struct unit *apply_pack(struct unit *u);

/* ---- a model.glb on its way ---- */

struct glb_material_name { struct glb_material_name *next; const char *name; int32_t image; };

struct putting {
	struct edit *ed;
	struct unit *u;
	struct geo_scene scene;
	struct geo_skeleton skeleton;          /* as it is shown */
	int32_t **bone;                        /* of each skin: what glb_compare() wants of each joint */
	uint32_t *bone_node;                   /* of each bone: its node + 1; 0: it is missing */
	const char **name;                     /* of each mesh's node, as it is shown; NULL: there is none */
	uint32_t nmeshes;
	uint32_t *node;                        /* of each mesh: that of the scene + 1; 0: it is missing */
	struct glb_material_name *material;    /* those that have a picture */
	uint32_t left_out, no_colours, no_tangents;    /* for the log */
	struct arena *a;
};

/* glbpictures.c: pictures of the materials that are others than those shown. */
int glb_put_pictures(struct putting *x, struct err *e);

#endif
