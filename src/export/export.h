/* Exporters: decoded things in, text or bytes out. Pure; they do no I/O and know no format. Every one leaves out->bad
 * set when the text grew past the limit or memory ran out. */
#ifndef MODELFS_EXPORT_H
#define MODELFS_EXPORT_H

#include "doc.h"
#include "format.h"
#include "geo.h"

/* Wavefront OBJ of mesh `number`; of_part[k]: material of m->parts[k], with a NULL name for none. */
void obj_write(struct buf *out, const struct geo_mesh *m, uint32_t number, const struct geo_material *of_part);
/* MTL of n materials, in order of first use, each name once; image -1: no map_Kd. */
void mtl_write(struct buf *out, const struct geo_material *v, uint32_t n);
/* meshes/N.weights.yaml: one line per vertex. */
void weights_write(struct buf *out, const struct geo_mesh *m);

/* PNG: indexed (4 or 8 bits, PLTE and tRNS) when the picture is, else RGBA. */
int png_write(struct buf *out, const struct geo_image *img, struct err *e);

/* A document printed as YAML. Initialise with ydoc_init(), describe the view to &y.doc, then ask out->bad. */
struct ydoc {
	struct doc doc;
	struct buf *out;
	unsigned depth;                        /* lists around what comes next */
	bool item;                             /* the next key opens a list item */
};
void ydoc_init(struct ydoc *y, struct buf *out);

/* The reference page of a format, in Markdown, from its record tables. */
void recdoc_write(struct buf *out, const struct format *f);

#endif
