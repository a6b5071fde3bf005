/* What the files that read a GLB share. */
#ifndef MODELFS_GLBREAD_H
#define MODELFS_GLBREAD_H

#include <cjson/cJSON.h>

#include "export.h"
#include "scene.h"

/* The items of an array of the file, by number. */
struct glb_list { const cJSON **v; uint32_t n; };

struct glb_view { const uint8_t *p; uint64_t n; uint32_t stride; };     /* stride 0: items follow each other */

struct glb_file {
	struct arena *a;
	const cJSON *root;
	const uint8_t *bin;                    /* the binary chunk; NULL: there is none */
	size_t nbin;
	struct glb_list buffers, views, accessors, meshes, nodes, skins, materials, textures, images, clips;
	struct glb_view *buffer;               /* bytes of each; p NULL until they are needed */
	uint64_t decoded;                      /* numbers so far, in bytes */
	struct geo_scene *out;
};

/* Reading members. `what` names the object in messages: "mesh 3", or as `kind` has it when number is GEO_NONE. A member
 * that is not there leaves *out as it is; one of another kind, or out of range, is an error. */
struct glb_what { const char *kind; uint32_t number; };
int glb_get_index(const cJSON *o, const char *key, struct glb_what what, uint32_t n, int32_t *out, struct err *e);
int glb_get_count(const cJSON *o, const char *key, struct glb_what what, uint64_t most, uint64_t *out, struct err *e);
int glb_get_floats(const cJSON *o, const char *key, struct glb_what what, float *out, unsigned n, bool *there,
		   struct err *e);
/* A name in the arena; "" when there is none. */
int glb_get_name(struct glb_file *g, const cJSON *o, const char **out, struct err *e);
int glb_get_list(struct glb_file *g, const cJSON *o, const char *key, struct glb_what what, struct glb_list *out,
		 struct err *e);

/* glbnumbers.c: the numbers of an accessor. */
struct glb_accessor { uint32_t number; uint64_t count; unsigned comps, type; bool normalized, lax; };
int glb_accessor_get(struct glb_file *g, uint32_t number, struct glb_accessor *out, struct err *e);
/* comps numbers for each of its items; EINVAL unless it has so many, or one that is not finite. */
int glb_read_floats(struct glb_file *g, uint32_t number, unsigned comps, struct glb_accessor *about, float **out,
		    struct err *e);
/* The same, but numbers that are not finite are 0: programs make such normals of faces without area. */
int glb_read_directions(struct glb_file *g, uint32_t number, unsigned comps, struct glb_accessor *about, float **out,
			struct err *e);
/* Integers, not normalized. */
int glb_read_integers(struct glb_file *g, uint32_t number, unsigned comps, struct glb_accessor *about, uint32_t **out,
		      struct err *e);
int glb_view_get(struct glb_file *g, uint32_t number, struct glb_view *out, struct err *e);
/* The bytes of a data: URI. */
int glb_read_uri(struct glb_file *g, const char *uri, struct glb_what what, const uint8_t **out, size_t *n,
		 struct err *e);

/* glbmesh.c, glbscene.c, glbclip.c */
int glb_read_meshes(struct glb_file *g, struct err *e);
int glb_read_nodes(struct glb_file *g, struct err *e);
int glb_read_skins(struct glb_file *g, struct err *e);
int glb_read_pictures(struct glb_file *g, struct err *e);
int glb_read_clips(struct glb_file *g, struct err *e);

#endif
