/* What writing a JOM is made of. */
#ifndef MODELFS_JOM_PUT_H
#define MODELFS_JOM_PUT_H

#include "jom.h"

/* ---- the file: jom_store.c --------------------------------------------------------------------------------------- */

/* New data of known chunks, the count in front; of a chunk that is not there yet too. */
struct jom_chunks { struct buf data[JOM_TAGS]; bool set[JOM_TAGS]; };

/* Writes them. Where a chunk changes its size or is new, later ones move, and the file with them; order, unknown
 * chunks and what lies behind END stay. A new chunk goes to its place in the order of enum jom_tag. */
int jom_store(struct object *o, const struct jom_chunks *v, struct err *e);
void jom_chunks_free(struct jom_chunks *v);
/* New data of a list: its count; and behind its records the padding, which keeps its bytes where there was some, and
 * what else the chunk has. */
void jom_begin_list(struct buf *out, uint32_t n);
void jom_end_list(const struct jom_model *m, enum jom_tag tag, uint32_t n, struct buf *out);
/* EINVAL when n is more than `most`: "70000 points, JOM holds 65535". */
int jom_count(uint64_t n, uint32_t most, const char *what, struct err *e);

/* ---- geometry as it is edited: jom_geometry.c -------------------------------------------------------------------- */

struct jom_point {
	int32_t at[3], colour[3];
	uint32_t old;                          /* number in PNTS; GEO_NONE: it is new */
	uint32_t from;                         /* vertex of the text; GEO_NONE: it has none */
	uint32_t like;                         /* of a new one: the old point nearest to it; GEO_NONE: there is none */
	bool moved, recoloured;
	bool gone;
};

struct jom_polygon {
	int32_t normal[3];
	uint32_t corner[4];                    /* numbers of jom_geometry.point */
	uint16_t material, normals[4], gouraud[4];     /* normals: CNRM */
	uint32_t old;                          /* number in QUAD; GEO_NONE: it is new */
	uint32_t face;                         /* of the text; GEO_NONE: it has none */
	uint32_t group;                        /* GEO_NONE: none */
	bool other;                            /* it has other corners than before */
	bool gone;
};

/* All of a model. Points and polygons that are added stand behind the old ones until jom_arrange(). */
struct jom_geometry {
	struct object *o;
	const struct jom_model *m;
	struct jom_point *point;
	uint32_t npoints;
	struct jom_polygon *polygon;
	uint32_t npolygons;
	int32_t (*normal)[3];                  /* NTAB */
	uint32_t nnormals;
	struct jom_group *group;
	uint32_t ngroups;
	bool has_normals, has_colours, has_gouraud;    /* CNRM, VCOL, GOUR are there, or will be */
	bool rearranged;                       /* points or polygons were added or are gone */
	struct arena *a;
};

/* Room for so many more points, polygons and normals. */
int jom_geometry_load(struct object *o, uint32_t more_points, uint32_t more_polygons, uint32_t more_normals,
		      struct jom_geometry *out, struct arena *a, struct err *e);
/* Writes what differs from the file. */
int jom_geometry_store(const struct jom_geometry *g, const int32_t sphere[4], struct err *e);

/* ---- texts: jom_text.c ------------------------------------------------------------------------------------------- */

/* A face of a text, its corners in the order of the file: clockwise. */
struct jom_face {
	uint8_t n;                             /* 3 or 4 different corners; 0: it is no face */
	bool starts;                           /* its vt tell that corner[0] is the texture's top left */
	struct geo_corner corner[4];
	uint32_t material;                     /* GEO_NONE: it says none */
	uint32_t group;                        /* likewise; JOM_UNGROUPED */
	uint32_t polygon;                      /* that it is, of jom_geometry; GEO_NONE: a new one */
};
#define JOM_UNGROUPED 0xfffffffeu

struct jom_text {
	const struct geo_put *put;
	uint32_t mesh;
	struct geo_number (*position)[3];      /* in the axes of the file */
	struct geo_number (*normal)[3];        /* likewise */
	struct jom_face *face;                 /* put->nfaces */
	uint32_t nfaces;                       /* that are faces */
	/* Of each vertex: the point that it is, of jom_geometry; GEO_NONE: a new one, or one that is left out. */
	uint32_t *point;
	uint8_t *stays;                        /* of each stored polygon: no face is it, but it is not gone */
	bool foreign;                          /* written by another program */
};
/* EINVAL for a material that is not there. */
int jom_text_read(const struct jom_model *m, uint32_t mesh, const struct geo_put *put, struct jom_text *out,
		  struct arena *a, struct err *e);

/* Whether each stored number could have been printed as that one. */
bool jom_all_stay(const struct geo_number given[3], const int32_t stored[3]);
/* A given number in the place of a stored one, which stays where it can; else the nearest to it, half away from zero.
 * EINVAL: "line 3: 40000.0 is outside -32768..32767.99998". */
int jom_take(const struct geo_number given[3], int32_t stored[3], unsigned line, struct err *e);
/* Likewise of a position or direction, whose y and z the text has the other way round. */
int jom_take_turned(const struct geo_number given[3], int32_t stored[3], unsigned line, struct err *e);
/* The same where nothing is stored yet. */
int jom_make(const struct geo_number given[3], int32_t out[3], unsigned line, struct err *e);
int jom_make_turned(const struct geo_number given[3], int32_t out[3], unsigned line, struct err *e);

/* ---- which is which: jom_match.c --------------------------------------------------------------------------------- */

/* Fills in text->point and face.polygon. *same: nothing was added or taken away, and every face has the corners it had.
 */
int jom_match(const struct jom_geometry *g, const struct jom_shown *shown, struct jom_text *text, bool *same,
	      struct err *e);

/* ---- a new topology: jom_arrange.c ------------------------------------------------------------------------------- */

/* Whether points and polygons can be added and taken away: EINVAL, and which tables contradict each other. */
int jom_can_arrange(const struct jom_geometry *g, struct err *e);
/* Puts added points and polygons where their groups are, in the order of the text, takes out what is gone, numbers
 * corners anew and brings the ranges of groups up to date. */
int jom_arrange(struct jom_geometry *g, const struct jom_text *text, struct err *e);

/* ---- normals of polygons, sphere: jom_normals.c ------------------------------------------------------------------ */

/* Of the polygons whose shape changed; before jom_arrange(). */
void jom_face_normals(struct jom_geometry *g);
/* Centre and radius that the header should have. */
void jom_sphere(const struct jom_geometry *g, int32_t out[4]);
/* Where the polygon faces, by the points as they are, of any length; false: it has no area. */
bool jom_direction(const struct jom_geometry *g, const struct jom_polygon *p, double out[3]);

/* ---- what points and corners have: jom_colour.c, jom_corner.c ---------------------------------------------------- */

/* VCOL, and GOUR that follows it. Of new points that the text gives none, that of the nearest old one. */
int jom_put_colours(struct jom_geometry *g, const struct jom_text *text, struct err *e);
/* NTAB and CNRM. */
int jom_put_normals(struct jom_geometry *g, const struct jom_text *text, struct err *e);
/* Whether a vn of the text leaves a stored normal as it is: another program's may be 1 degree off. */
bool jom_normal_stays(const struct jom_text *text, uint32_t normal, const int32_t stored[3]);

/* ---- lists of documents: jom_list.c, jom_keys.c ------------------------------------------------------------------ */

/* materials.yaml with more or fewer items: MATL, and numbers in QMAT. */
int jom_put_materials(struct object *o, const struct ynode *list, struct err *e);
/* skeleton.yaml likewise: BONE, and every key of ANIM. */
int jom_put_bones(struct object *o, const struct ynode *list, struct err *e);
/* Keys of an animation. */
int jom_put_keys(struct object *o, uint32_t clip, const struct ynode *list, struct err *e);

/* New data of ANIM: each animation has n keys of key_size bytes. EINVAL for animations that share bytes. */
struct jom_clip { const uint8_t *keys; uint32_t n; };
int jom_make_animations(const struct jom_model *m, const struct jom_clip *clip, uint32_t key_size, struct buf *out,
			struct err *e);
/* Bytes of a key of so many bones. */
uint32_t jom_key_size(uint32_t nbones);
/* Keys of a mapping as fields of r, over raw. EINVAL for others, EPERM for derived ones that differ. */
int jom_take_fields(const struct ynode *map, const struct record *r, uint8_t *raw, struct err *e);

/* ---- pictures: jom_imageput.c, jom_lutput.c ---------------------------------------------------------------------- */

/* RGBA as an rgb555 word. A half transparent pixel is a visible one or none, but where the word that was there is that
 * of a colour without the bit of visible ones. */
uint16_t jom_word_of(const uint8_t c[4], uint16_t was);
/* A picture of 16 colours over texture i; raw: its words and pixels. EINVAL: "17 colours, the table holds 15". Adds to
 * *lost how many pixels are shown otherwise than they were given. */
int jom_lut_put(const struct jom_model *m, uint32_t i, const struct geo_image *img, uint8_t *raw, uint32_t *lost,
		struct err *e);

#endif
