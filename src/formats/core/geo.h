/* Geometry and pictures as tools understand them: formats fill these, exporters read them. Everything is float and
 * belongs to the caller's arena; axes and units are the file's own. */
#ifndef MODELFS_GEO_H
#define MODELFS_GEO_H

#include "base.h"

#define GEO_NONE 0xffffffffu

enum geo_attr { GEO_NORMAL, GEO_UV, GEO_COLOUR };

/* One attribute. Its values are written in stored order. A corner finds its value through `corner` (one number per
 * face corner, GEO_NONE: this corner has none); NULL: the corner's vertex number. A GEO_COLOUR has one value per vertex
 * (never a corner index), r NaN where the vertex has no colour. */
struct geo_stream {
	uint8_t attr, comps;
	uint32_t count;
	float *v;                              /* count * comps; UV top-down as stored, colours 0..1 */
	uint32_t *corner;
};

/* A run of faces with one material. */
struct geo_part {
	int32_t material;                      /* index in materials.yaml; -1: none */
	uint32_t first_face, nfaces;
};

struct geo_mesh {
	uint32_t nvertices, nfaces;
	float (*position)[3];                  /* world units, stored order */
	uint32_t (*face)[3];                   /* vertex numbers from 0; front counter-clockwise; no repeated index */
	struct geo_stream *streams;
	unsigned nstreams;
	struct geo_part *parts;
	unsigned nparts;

	/* Skinning: vertex v has ninfluences[v] pairs from first_influence[v] on, in stored order, zeros kept. */
	bool skinned;                          /* some vertex stores weights */
	uint8_t *ninfluences;
	uint32_t *first_influence;
	int32_t *joint;                        /* bone; -1: no bone is known for it */
	float *weight;
};

struct geo_material {
	const char *name;                      /* of usemtl; belongs to the arena */
	float colour[4];                       /* factor, 0..1 */
	int32_t image;                         /* of the textures; -1: none */
};

struct geo_image {
	uint32_t w, h;
	uint8_t *rgba;                         /* w * h * 4, top row first; NULL when indexed */
	uint8_t *indexed;                      /* w * h bytes */
	uint8_t (*palette)[4];
	uint32_t ncolours;                     /* 16 or 256: an indexed picture's depth is 4 or 8 bits */
};

#endif
