/* JOM: what the files of this format share. */
#ifndef MODELFS_JOM_H
#define MODELFS_JOM_H

#include "bytes.h"
#include "format.h"
#include "names.h"

#define JOM_HEADER_SIZE 24u
#define JOM_CHUNK_HEAD 8u                      /* tag and size, before the data of a chunk */
#define JOM_NAME 16u                           /* char[16]; 15 of them are text */
#define JOM_SIZE_MOST ((uint64_t)64 << 20)     /* bytes of a model that is read */
#define JOM_CHUNKS_MOST 65536u
#define JOM_MOST 65535u                        /* points, polygons, materials: their numbers have 16 bits */
#define JOM_BONES_MOST 32u
#define JOM_NO_GROUP 0xffffu
#define JOM_WIDTH_MOST 504u                    /* of a texture; a multiple of 8 */
#define JOM_HEIGHT_MOST 255u

/* Chunks whose layout is known, in the order of files made by the converter. */
enum jom_tag {
	JOM_TIMG, JOM_PNTS, JOM_QUAD, JOM_QMAT, JOM_MATL, JOM_TEXT, JOM_NTAB, JOM_CNRM, JOM_VCOL, JOM_GOUR, JOM_GRUP,
	JOM_BONE, JOM_ANIM, JOM_TAGS,
	JOM_OTHER = JOM_TAGS                   /* a tag nobody knows, or one that came before */
};
extern const char jom_tag_names[JOM_TAGS][5];

/* Bits of jom_material.flags. */
enum jom_flag {
	JOM_DUAL_PLANE = 1u << 0, JOM_SORT_MIN = 1u << 1, JOM_SORT_MAX = 1u << 2, JOM_GOURAUD = 1u << 3,
	JOM_HALF_TRANSPARENT = 1u << 4, JOM_FLIP_H = 1u << 7, JOM_FLIP_V = 1u << 8,
	JOM_END_CODES = 1u << 9, JOM_SUBDIVISION = 1u << 11, JOM_SUBDIVISION_NEAR = 1u << 12
};

/* ---- records; all big-endian ---- */

#define JOM_TICKS 60.0                         /* a second */
#define JOM_ANGLE (GEO_PI / 32768)             /* radians */
#define JOM_FIXED 65536.0                      /* 1 in a fixed-point number */

struct jom_header {
	char magic[4];
	uint16_t version, reserved;
	int32_t sphere_centre[3], sphere_radius;
};
struct jom_quad { int32_t normal[3]; uint16_t corners[4]; };
struct jom_material {
	char name[JOM_NAME];
	uint8_t colour[3], shine;
	int16_t texture;
	uint16_t subdivision_error;
	uint32_t flags, user;
};
struct jom_image { char name[JOM_NAME]; uint16_t width, height, format, reserved; };
struct jom_group { char name[JOM_NAME]; uint16_t first_point, point_count, first_polygon, polygon_count; };
struct jom_bone { char name[JOM_NAME]; uint16_t group; int16_t parent; int32_t pivot[3]; };
struct jom_animation {
	char name[JOM_NAME];
	uint16_t key_count, key_ticks, flags, duplicate;
	uint32_t offset;                       /* of the first key, from the start of the chunk's data */
};

#define JOM_ANIMATION_SIZE 28u                 /* of a record of ANIM, before the keys of all */
#define JOM_IMAGE_SIZE 24u                     /* of a record of TIMG, before its pixels */
#define JOM_PALETTE_SIZE 32u                   /* 16 rgb555, before the pixels of a lut16 */
enum { JOM_RGB555, JOM_LUT16 };                /* jom_image.format */

/* Of a list of records: bytes of one. TIMG: 0. */
extern const uint8_t jom_record_sizes[JOM_TAGS];
extern const struct record jom_header_record, jom_point_record, jom_quad_record, jom_polygon_material_record,
	jom_material_record, jom_text_record, jom_image_record, jom_palette_record, jom_normal_record,
	jom_corner_normals_record, jom_vertex_colour_record, jom_gouraud_record, jom_group_record, jom_bone_record,
	jom_animation_record, jom_root_record, jom_angles_record;

/* ---- an opened model: all its bytes, and what was found in them ---- */

struct jom_chunk {
	char tag[4];
	uint8_t known;                         /* enum jom_tag */
	uint32_t size;                         /* of the data */
	uint64_t at;                           /* of the data, JOM_CHUNK_HEAD behind the chunk */
	const char *name;                      /* raw/NAME.bin */
};

/* The records of a known chunk. */
struct jom_table {
	bool there;                            /* the chunk is */
	uint32_t chunk;                        /* its number */
	uint32_t n;                            /* records; TIMG: those of `pictures` */
	uint64_t at;                           /* of the first one, behind the count */
	const uint8_t *raw;                    /* of the first one */
};

/* A record of TIMG. */
struct jom_picture {
	uint64_t at;
	const uint8_t *raw;                    /* JOM_IMAGE_SIZE, palette of a lut16, pixels */
	struct jom_image h;
	uint32_t size;                         /* of all three, without the padding to 4 */
};

enum jom_source { JOM_MISSING, JOM_FROM_TIMG, JOM_FROM_BIN, JOM_FROM_TGA };

/* An entry of TEXT. */
struct jom_texture {
	uint8_t source;                        /* enum jom_source */
	bool big;                              /* BIN: big-endian */
	uint16_t width, height;                /* unless missing */
	uint32_t link;                         /* of a file: o->links[link] */
};

/* A mesh: a group; the polygons of no group; or without GRUP the whole model. */
struct jom_mesh {
	uint32_t group;                        /* GEO_NONE: none */
	bool whole;                            /* all points and polygons */
	int32_t bone;                          /* the first that has the group; -1 */
};

struct jom_model {
	const uint8_t *bytes;                  /* all of the entry */
	uint64_t size, end;                    /* of it; behind END, whose data belongs to it */
	struct jom_header head;
	struct jom_chunk *chunks;              /* nchunks, and END behind them */
	uint32_t nchunks;
	struct jom_table table[JOM_TAGS];
	uint32_t npolygons;                    /* of QUAD that have a material in QMAT: those that are shown */
	uint32_t ntriangles;                   /* of them shown with three corners */
	uint32_t nbones, key_size;             /* bytes of a key of ANIM with its padding */
	struct jom_picture *pictures;
	struct jom_texture *textures;          /* table[JOM_TEXT].n */
	struct jom_mesh *meshes;
	uint32_t nmeshes;
	const char **material_names, **group_names, **clip_names;     /* for OBJ, MTL and files */
};

static inline const struct jom_model *jom_of(const struct object *o)
{
	return o->priv;
}

static inline const uint8_t *jom_row(const struct jom_model *m, enum jom_tag tag, uint32_t i)
{
	return m->table[tag].raw + (size_t)i * jom_record_sizes[tag];
}

static inline uint64_t jom_row_at(const struct jom_model *m, enum jom_tag tag, uint32_t i)
{
	return m->table[tag].at + (uint64_t)i * jom_record_sizes[tag];
}

static inline int32_t jom_i32(const uint8_t *p)
{
	return (int32_t)be_u32(p);
}

/* Point c (0..3, A to D) of polygon k, and its material. */
static inline uint16_t jom_corner(const struct jom_model *m, uint32_t k, unsigned c)
{
	return be_u16(jom_row(m, JOM_QUAD, k) + 12 + 2 * c);
}

static inline uint16_t jom_material_of(const struct jom_model *m, uint32_t k)
{
	return be_u16(jom_row(m, JOM_QMAT, k));
}

/* Words of CNRM or GOUR, 4 per polygon: the one of a corner; -1 where the chunk does not reach so far. */
static inline int32_t jom_word(const struct jom_model *m, enum jom_tag tag, uint32_t k, unsigned c)
{
	uint64_t i = (uint64_t)k * 4 + c;

	return i < m->table[tag].n ? be_u16(jom_row(m, tag, (uint32_t)i)) : -1;
}

/* The corners of polygon k that its face has, in the order of the OBJ: 3 or 4 of 0..3 (A to D) in c; 0: it has no
 * face. Neighbours that are the same point count once, as the first place where that point stands. */
unsigned jom_face(const struct jom_model *m, uint32_t k, unsigned c[4]);

/* What a mesh (or MESH_WHOLE) shows. */
struct jom_shown {
	uint32_t npolygons, *polygon;          /* of QUAD, ascending */
	uint32_t npoints, *point;              /* of PNTS, ascending: its v lines */
	uint32_t *line;                        /* of every point of PNTS: number of its v line from 0; GEO_NONE */
};
int jom_mesh_shown(const struct jom_model *m, uint32_t mesh, struct jom_shown *out, struct arena *a, struct err *e);
/* For how many of its polygons a chunk has `each` bytes: the first ones, as they ascend. */
uint32_t jom_rows_shown(const struct jom_model *m, const struct jom_shown *s, enum jom_tag tag, uint32_t each);

int jom_open(struct object *o, struct err *e);
/* Finds the pictures of TEXT: in TIMG, or in files; jom_texture.c. */
int jom_find_textures(struct object *o, struct jom_model *m, struct err *e);

/* ---- pictures; jom_texture.c, jom_image.c ---- */

/* A .TGA as the engine reads it (spec/jom.md 12.2). */
#define JOM_TGA_HEAD 18u
struct jom_tga {
	uint16_t width, height;
	uint8_t depth;                         /* bits per pixel: 8, 24, 32 */
	bool top_first;
	uint32_t ncolours;                     /* of the map, 3 bytes each behind the head; 0: 8 bits are grey */
	uint64_t pixels_at;
};
/* False: it is none that the engine reads, or does not fit its file. */
bool jom_tga_head(const uint8_t raw[JOM_TGA_HEAD], uint64_t size, struct jom_tga *out);

#define JOM_BIN_HEAD 4u                        /* u16 width, u16 height, then rgb555 words */

/* An rgb555 word as RGBA (spec/jom.md 12.3). */
void jom_rgba(uint16_t word, uint8_t out[4]);

int jom_image(struct object *o, uint32_t i, struct geo_image *out, struct arena *a, struct err *e);

/* ---- geometry; jom_mesh.c ---- */

int jom_mesh(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e);
/* The same with bones as joints, and texture coordinates for triangles too; and the bones. */
int jom_mesh_full(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e);
int jom_skeleton(struct object *o, struct geo_skeleton *out, struct arena *a, struct err *e);
int jom_skeleton_put(struct object *o, const struct geo_skeleton *now, const uint8_t *change, struct err *e);
/* An animation; jom_clip.c. */
int jom_clip(struct object *o, uint32_t i, const struct geo_skeleton *s, struct geo_clip *out, struct arena *a,
	     struct err *e);
/* jom_clipput.c */
int jom_clips_put(struct object *o, const struct geo_skeleton *s, struct geo_wish *wish, uint32_t n,
		  const struct geo_timing *timing, struct err *e);
int jom_form(struct object *o, uint32_t mesh, struct geo_form *out, struct arena *a, struct err *e);
int jom_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e);

/* ---- documents, editing, verify ---- */

int jom_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e);
int jom_doc_tree(struct object *o, unsigned kind, uint32_t index, struct ynode *root, struct err *e);
int jom_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e);
int jom_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);
int jom_image_put(struct object *o, uint32_t i, const struct geo_image *img, struct err *e);
int jom_image_fits(struct object *o, uint32_t i, uint32_t w, uint32_t h, struct err *e);
int jom_check(struct object *o, struct err *e);
int jom_verify(struct object *o, struct err *e);
enum { JOM_DOC_MATERIALS = DOC_OWN };          /* format->own[0] */

#endif
