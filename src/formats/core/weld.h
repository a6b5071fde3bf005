/* Vertices for the corners of a text that gives a mesh a new topology (views.md 4). A corner that means an old vertex
 * gets all its bytes; for a new one, what the text does not say comes from the old vertex at its place with the nearest
 * texture coordinates, else from the nearest. What a text makes does not depend on how often it was applied. */
#ifndef MODELFS_WELD_H
#define MODELFS_WELD_H

#include "near.h"

/* What a text gives one vertex; NULL: not given. The numbers belong to `put`. */
struct geo_given {
	const struct geo_put *put;
	const struct geo_number *position, *uv, *normal, *colour;      /* 3, 2, 3, 3 numbers */
	const struct geo_number *alpha;        /* 1 number */
	const struct geo_number *more_uv[GEO_UV_SETS - 1];     /* 2 numbers each */
	unsigned line;                         /* of the text, for messages */
	bool foreign_normals;                  /* the normals are another program's */
	bool keeps_length;                     /* a new normal is as long as the old one; a zero one stays */
};
struct geo_given geo_given(const struct geo_put *put, const struct geo_corner *c, unsigned line);

#define WELD_STRIDE 576u                       /* bytes of a vertex, at most */

/* How the stored vertices of a mesh are read and written. */
struct weld_type {
	unsigned stride;
	bool has_uv, has_normal;
	bool has_more;                         /* what no OBJ says: then taking it from another place is a guess */
	/* Puts what is given into the bytes of a vertex. What is not given, or has no place in it, stays; so does, with
	 * `slack`, a value whose text could come from the stored one. The same again over the result changes nothing.
	 */
	int (*put)(const void *ctx, const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e);
	/* As they are shown; texture coordinates top-down. */
	void (*position)(const void *ctx, const uint8_t *vertex, float out[3]);
	void (*uv)(const void *ctx, const uint8_t *vertex, float out[2]);
	/* A vertex for a mesh that has none. */
	void (*blank)(const void *ctx, uint8_t *vertex);
	const void *ctx;
};

/* Byte strings of one length, each once. */
struct pool {
	struct buf bytes;                      /* n of them; bad when memory ran out */
	unsigned each;
	uint32_t n, mask, *slot;               /* slot: number + 1 */
};
/* For `most` of them; false: out of memory. buf_free(&pool.bytes) ends it. */
bool pool_make(struct pool *p, unsigned each, size_t most, struct arena *a);
/* Its number. */
uint32_t pool_add(struct pool *p, const void *bytes);

struct weld {
	const struct weld_type *type;
	const struct geo_put *put;
	const uint8_t *stored;                 /* the old vertices */
	uint32_t nstored;
	/* Given vertices of different numbers stay apart, even when their bytes are equal: then a vertex is its number
	 * (uint32_t), and behind that the bytes. The corners are sorted by those numbers. */
	bool apart;
	struct arena *a;

	/* Out: */
	struct pool vertices;                  /* unless apart, the old ones come first */
	uint32_t *least;                       /* of each: the first given vertex that means it */
	uint32_t guessed;                      /* new ones that took from another place what no OBJ says */

	/* Inside: */
	struct near near;
	uint32_t *taken;                       /* of each old vertex: the given one + 1 that means it */
	uint32_t next;                         /* the old vertex behind the one that was meant last */
	uint8_t fresh[4 + WELD_STRIDE];        /* a vertex on its way */
};
/* The fields up to `a` are set. Finds the vertex of n corners; number[i] (may be NULL when there are none) is that of
 * corner i, and was[i] that of old vertex i (NULL, or when apart: nobody asks). buf_free(&w->vertices.bytes) ends it,
 * also after an error. */
int weld_corners(struct weld *w, const struct geo_corner *corner, size_t n, uint32_t *number, uint32_t *was,
		 struct err *e);

#endif
