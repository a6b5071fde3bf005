/* Exporters: decoded things in, text or bytes out. Pure; they do no I/O and know no format. Every one leaves out->bad
 * set when the text grew past the limit or memory ran out. */
#ifndef MODELFS_EXPORT_H
#define MODELFS_EXPORT_H

#include "doc.h"
#include "format.h"
#include "geo.h"
#include "scene.h"

/* Wavefront OBJ of mesh `number`, or MESH_WHOLE; of_part[k]: material of m->parts[k], with a NULL name for none. */
void obj_write(struct buf *out, const struct geo_mesh *m, uint32_t number, const struct geo_material *of_part);
/* MTL of n materials, in that order, each name once; image -1: no map_Kd, unless there is a `map`. */
void mtl_write(struct buf *out, const struct geo_material *v, uint32_t n);
/* meshes/N.weights.yaml: one line per vertex. */
void weights_write(struct buf *out, const struct geo_mesh *m);

/* ---- glTF ----------------------------------------------------------------------------------------------------------
 *
 * A whole model as GLB, in steps. Without `write` nothing is kept, and glb_end() tells the size alone. Positions and
 * axes are the model's. Normals and tangents get length 1; weights that are no valid ones are mapped as
 * get_influences() says. EFBIG: it would be longer than LIMIT_DECODED. */
struct glb;
/* A settled skeleton, which must live as long; NULL: none. */
int glb_begin(struct glb **out, const struct geo_skeleton *s, bool write, struct err *e);
/* Mesh `number`, whose node has that name (NULL: mesh_NUMBER, as the mesh itself); of_part as for obj_write(). */
int glb_mesh(struct glb *g, uint32_t number, const char *name, const struct geo_mesh *m,
	     const struct geo_material *of_part, struct err *e);
/* A clip of the skeleton. One that moves nothing is left out. */
int glb_animation(struct glb *g, const struct geo_clip *clip, const struct geo_timing *timing, struct err *e);
/* The animations of a scene as poses of a settled skeleton, whose bones the nodes are by name: scene->nclips of them,
 * which last as long as both. Bones that lie otherwise in their parents than here, and parents that are moved as a
 * whole, make no difference: what counts is how a bone moves away from its rest. EINVAL: a bone is missing or there
 * twice, or something else moves. */
int glb_wishes(const struct geo_scene *scene, const struct geo_skeleton *s, struct geo_wish **out, struct arena *a,
	       struct err *e);
/* After the meshes: number of the i-th picture that materials want; false: there are no more. One that is not given
 * then is not there. */
bool glb_wants_picture(const struct glb *g, uint32_t i, uint32_t *number);
int glb_picture(struct glb *g, uint32_t i, const struct buf *png, enum geo_alpha alpha, struct err *e);
int glb_end(struct glb *g, struct buf *out, uint64_t *size, struct err *e);
void glb_free(struct glb *g);                  /* NULL is fine */

/* ---- preview.png ---------------------------------------------------------------------------------------------------
 *
 * A picture of a whole model, in steps as a GLB. Of all models it is as large, in pixels and in bytes. Hidden parts are
 * not drawn; what a damaged file makes of sizes costs at most two seconds and some 250 MiB: see preview.h. */
struct preview;
#define PREVIEW_SIDE 256u                      /* pixels */
#define PREVIEW_BYTES ((size_t)64 << 10)
/* A settled skeleton, which must live as long and is shown at rest; NULL: none. */
int preview_begin(struct preview **out, const struct geo_skeleton *s, struct err *e);
int preview_mesh(struct preview *p, const struct geo_mesh *m, const struct geo_material *of_part, struct err *e);
/* After the meshes: number of the i-th picture; false: no more are wanted. What has one that is not given is drawn in
 * its colours alone. */
bool preview_wants_picture(const struct preview *p, uint32_t i, uint32_t *number);
int preview_picture(struct preview *p, uint32_t i, const struct geo_image *img, struct err *e);
int preview_end(struct preview *p, struct buf *out, struct err *e);
void preview_free(struct preview *p);          /* NULL is fine */

/* ---- reading -----------------------------------------------------------------------------------------------------
 *
 * Texts that somebody wrote. Errors are EINVAL with line and column (err_line) and say what was found and expected;
 * EFBIG past a limit. `say` gets a line for the log about what was ignored; NULL: nobody wants to know. */
struct reader_log { void (*say)(void *ctx, const char *text); void *ctx; };

/* YAML as the views use it: one document; no aliases, anchors, tags, duplicate keys, tabs, broken UTF-8, nesting deeper
 * than YAML_DEPTH. An empty document is EINVAL. The tree is in a. */
#define YAML_MOST ((size_t)64 << 20)
#define YAML_DEPTH 16u
int yaml_read(const uint8_t *text, size_t n, struct ynode **out, struct arena *a, struct err *e);

/* What value by value editing could not do; in the arena of the edit. */
struct yedit_rest {
	struct doc_change *v;
	struct yedit_reason { unsigned line, column; const char *text; } *why;  /* of each: what refuses it */
	unsigned n, room;
	bool again;                            /* given: the text was applied before, and derived values followed */
};
/* Matches the tree with a document of o (kind DOC_SECTION: index is a section) and writes the values that differ from
 * what is stored to the object's sources. A key left out keeps its bytes; a derived one that differs is EPERM, or
 * passed over when rest->again; lists of another length, texts that are no stored values and unknown keys are left over
 * in *rest. Marks the keys it knows as used. After an error some values may have been written. */
int yedit_apply(struct object *o, unsigned kind, uint32_t index, struct ynode *root, struct yedit_rest *rest,
		struct arena *a, struct err *e);
/* EINVAL for the first change of rest that nobody has taken: another length, or an unknown key with the nearest known
 * one. */
int yedit_refuse(const struct yedit_rest *rest, struct err *e);

/* OBJ of mesh `number`, or MESH_WHOLE: the object `mesh_NUMBER`, or what `form`, which may be NULL, says (see views.md
 * 4). */
int obj_read(const uint8_t *text, size_t n, uint32_t number, const struct geo_form *form, struct geo_put *out,
	     struct arena *a, const struct reader_log *log, struct err *e);
/* meshes/N.weights.yaml. */
int weights_read(const uint8_t *text, size_t n, struct geo_weights *out, struct arena *a, struct err *e);
/* A GLB of any program. Pictures and texts of it may lie in `bytes`, the rest in a. */
int glb_read(const uint8_t *bytes, size_t n, struct geo_scene *out, struct arena *a, struct err *e);

/* A mesh as model.glb shows it. `plain` is what its OBJ shows, of the same vertices and faces. */
struct glb_shown {
	uint32_t number;
	const char *name;                      /* of its node; NULL: mesh_NUMBER */
	const struct geo_mesh *full, *plain;
	const struct geo_material *of_part;
	const struct geo_form *form;
	const struct geo_skeleton *skeleton;   /* settled; NULL: none */
};
/* What a GLB makes of it. */
struct glb_edit {
	bool mesh, weights;                    /* whether `put`, and `pairs`, say something new */
	bool same;                             /* the topology */
	bool tangents;                         /* they are others, which nothing takes */
	bool colours_lost;                     /* the program mixed them up: they are not taken */
	struct geo_put put;
	struct geo_weights pairs;
	uint32_t left_out;                     /* vertices whose further weights the program dropped, which stay */
};
/* Mesh of node `node` of the scene against what is shown; bone[k]: number in the skeleton of joint k of its skin, -1:
 * it has none of that name; GLB_UNTIED: what hangs on it has no weights. EINVAL says what cannot be. */
#define GLB_UNTIED (-2)
int glb_compare(const struct geo_scene *scene, uint32_t node, const struct glb_shown *was, const int32_t *bone,
		struct glb_edit *out, struct arena *a, struct err *e);
/* Bones of the scene against those that are shown, settled. node[i]: that of joint i + 1; 0: it is missing, and stays.
 * `now` gets all joints with what they should be, change[i] what of that is new. Other parents are EINVAL. */
int glb_compare_bones(const struct geo_scene *scene, const struct geo_skeleton *was, const uint32_t *node,
		      struct geo_skeleton *now, uint8_t *change, struct arena *a, struct err *e);
/* Lines of `put` and `pairs` are no lines of a text: what an error says of them becomes vertices and faces of a mesh
 * called so. */
void glb_say_where(const struct glb_edit *edit, const char *name, struct err *e);
/* Whether a program's name is that one, or has .001 behind it because the name was taken. */
bool glb_is_named(const char *have, const char *want);
/* Whether the file was written by another program, which rounds and turns what it leaves alone. */
bool glb_is_foreign(const struct geo_scene *scene);

/* How large a PNG is, from its first bytes. */
int png_size(const uint8_t *bytes, size_t n, uint32_t *w, uint32_t *h, struct err *e);
/* Any PNG of w x h, as RGBA of 8 bits; indexed and palette too when it has one (colours that it has no entry for are
 * 0). Another size is EINVAL "WxH needed, got WxH" before anything is decoded. */
int png_read(const uint8_t *bytes, size_t n, uint32_t w, uint32_t h, struct geo_image *out, struct arena *a,
	     struct err *e);

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* PNG: indexed (4 or 8 bits, PLTE and tRNS) when the picture is, else RGBA. */
int png_write(struct buf *out, const struct geo_image *img, struct err *e);
/* An RGBA picture in exactly `size` bytes, as exactly as they allow. EFBIG: in no way; half a byte for a pixel and
 * 1 KiB are always enough. */
int png_write_sized(struct buf *out, const struct geo_image *img, size_t size, struct err *e);

/* A picture made smaller, or larger, to side x side pixels: each the mean of those it covers. to: RGBA in rows of
 * `width` pixels. */
void image_fit(const struct geo_image *img, uint32_t side, uint8_t *to, uint32_t width);

/* A document printed as YAML. Initialise with ydoc_init(), describe the view to &y.doc, then ask out->bad. */
struct ydoc {
	struct doc doc;
	struct buf *out;
	unsigned depth;                        /* lists around what comes next */
	unsigned derived;                      /* depth inside a list that says it for its values; 0: in none */
	bool item;                             /* the next key opens a list item */
};
void ydoc_init(struct ydoc *y, struct buf *out);

/* The reference page of a format, in Markdown, from its record tables. */
void recdoc_write(struct buf *out, const struct format *f);

#endif
