/* Which stored vertex is meant by each vertex of an edited mesh (views.md 4). */
#ifndef MODELFS_MATCH_H
#define MODELFS_MATCH_H

#include "geo.h"

/* A stored mesh as it is shown, and what the shape of its streams does not tell. */
struct geo_stored {
	const struct geo_mesh *mesh;
	/* Number that each vertex has in the stream of its texture coordinates and normals; GEO_NONE: it stores none.
	 * NULL: the vertex's own number, where there is such a stream. */
	const uint32_t *uv, *normal;
	/* How a normal given to that vertex would be shown once it is stored; false: it cannot be. Texts whose normals
	 * would come out as they were given are no foreign ones. NULL: nobody knows. */
	bool (*normal_kept)(void *ctx, uint32_t vertex, const struct geo_number given[3], float shown[3]);
	void *ctx;
};

/* How the vertices of an edited mesh go with the stored ones; both arrays have one element per stored vertex. */
struct geo_match {
	struct geo_matched {
		uint32_t from;                 /* vertex of the geo_put; GEO_NONE: left out */
		uint32_t uv, normal;           /* its values there; GEO_NONE: none given, or none stored */
		unsigned line;
		bool drawn;                    /* a face uses it */
		bool mixed;                    /* another program gave its corners unlike normals: mean has theirs */
	} *v;
	struct geo_number (*mean)[3];          /* of mixed ones, of any length; NULL: there is none */
	bool foreign_normals;                  /* most normals are another program's */
	uint32_t no_uvs, no_normals;           /* corners with a value that their vertex has no place for */
	uint32_t other_material;               /* faces with another material than their part's */
	uint32_t stays;                        /* vertices that are where they were */
};
/* 1: the same topology (views.md 4), *out is filled in; 0: another one; or an error. */
int geo_match(const struct geo_stored *was, const struct geo_put *put, struct geo_match *out, struct arena *a,
	      struct err *e);

/* 1: the vertices are the stored ones in their order, whatever the faces are; *out is filled in, but for
 * other_material. There are as many, at least half of them are where they were, and no corner gives one a second value.
 * 0: they may be others; or an error. */
int geo_match_vertices(const struct geo_stored *was, const struct geo_put *put, struct geo_match *out, struct arena *a,
		       struct err *e);

/* Within 1 degree. given may have any length; shown has length 1, or 0: no direction, which goes with nothing. */
bool geo_normal_near(const struct geo_number given[3], const float shown[3]);
/* Whether all vertices have gone through one movement, scaling or swap of axes, and which. */
bool geo_moved(const struct geo_mesh *was, const struct geo_put *put, const struct geo_matched *v, char *text,
	       size_t n);

#endif
