/* PMO: what the files of this format share. */
#ifndef MODELFS_PMO_H
#define MODELFS_PMO_H

#include "bytes.h"
#include "format.h"
#include "ge.h"
#include "match.h"
#include "num.h"

#define PMO_HEADER_SIZE 0x40u
#define PMO_SLOTS 8                            /* matrix slots of the bone palette */

/* Limits of one mesh, far above what the console can draw; what passes them is damage. */
#define PMO_MESH_VERTICES (1u << 17)
#define PMO_MESH_CORNERS (1u << 19)            /* indices, or vertices drawn without indices */
/* Limits of one model. */
#define PMO_COMMANDS (1u << 21)
#define PMO_CORNERS (1u << 22)
#define PMO_PALETTE_ENTRIES (65535u + 255u)    /* first_palette has 16 bits, a count 8 */
#define PMO_BAD_MESHES 256u

enum pmo_section {
	PMO_HEADER, PMO_MESHES, PMO_GROUPS, PMO_REMAP, PMO_PALETTE, PMO_MATERIALS, PMO_GEOMETRY, PMO_SECTIONS
};

struct pmo_header {
	char magic[4], version[4];
	uint32_t size;
	float cull_radius, scale[3];
	uint16_t mesh_count, material_count;
	uint32_t mesh_table, group_table, remap_table, palette_table, material_table, geometry;
};

struct pmo_mesh {
	float scale[4];                        /* 102; 1.0 has it in the header */
	float uv_scale[2], uv_offset[2];
	uint32_t lighting, blend;
	uint8_t remap_count;
	uint16_t first_remap, group_count, first_group;
	/* Not stored: */
	bool bad;                              /* its fault has been noted */
};

struct pmo_group {
	uint8_t material, palette_count;
	uint16_t first_palette;
	uint32_t display_list, vertex_buffer, index_buffer;
	/* Not stored; from the palette and the display lists up to this one: */
	int16_t bone[PMO_SLOTS];               /* bone in each matrix slot; -1: none yet */
	uint32_t vertex_type;
	uint32_t indices;                      /* where the lists before left the index pointer; GE_NO_ADDRESS */
	uint32_t corners;                      /* sum of the counts of its PRIMs */
	bool bad;                              /* cannot be drawn: pmo_group_check() says why */
	bool draws;                            /* has a PRIM */
	bool hidden;                           /* has none, but NOPs in their places */
};

struct pmo_material {
	uint8_t colour[4], ambient[4], texture;
	uint32_t leftover;
};

struct pmo_table {
	uint32_t at, each;                     /* offset in the file, bytes of a record */
	uint32_t room;                         /* records that fit before the next table; 0 when the offset is wrong */
	uint32_t n;                            /* records used */
	const uint8_t *raw;                    /* n of them */
};

struct pmo {
	struct pmo_header head;
	const struct record *mesh_record;
	const uint8_t *tables;                 /* bytes from PMO_HEADER_SIZE on, read at once; NULL: table by table */
	uint32_t ntables;
	struct pmo_table table[PMO_SECTIONS];
	struct pmo_mesh *mesh;                 /* table[PMO_MESHES].n */
	struct pmo_group *group;               /* table[PMO_GROUPS].n */
	uint32_t nmeshes;                      /* that are shown */
	struct ge_region region;               /* src NULL: the geometry is not there, `missing` says why */
	const char *missing;
	bool mesh_scale;                       /* 102: every mesh has its own position scale */
	bool behind;                           /* the region is the entry's second part */
};

enum { PMO_10, PMO_102, PMO_VERSIONS };
extern const struct variant pmo_variants[PMO_VERSIONS];
extern const struct record pmo_group_record, pmo_remap_record, pmo_palette_record, pmo_material_record;

/* The version in the first 8 bytes; -1: an unknown one. */
int pmo_version(const uint8_t *header);
int pmo_open(struct object *o, struct err *e);

/* ---- groups ----------------------------------------------------------------------------------------------------- */

/* Starts a walk over the display list of group g. nops: as if its hidden PRIMs were there. */
void pmo_walk(const struct pmo *p, uint32_t g, bool nops, struct ge_walk *w);
/* The number that vertex 0 of a PRIM has in its group; EBADMSG when it lies elsewhere. */
int pmo_first_vertex(const struct pmo *p, const struct pmo_group *g, const struct ge_walk *w,
		     const struct ge_prim *prim, uint32_t *first, struct err *e);
/* EBADMSG and why group g, whose record is in `group`, cannot be drawn; 0 when all but its index values is sound. Fills
 * in what pmo_group says comes from the display list. *indices: where the list leaves the index pointer; *words grows
 * by the commands read. */
int pmo_group_check(const struct object *o, const struct pmo *p, uint32_t g, struct pmo_group *group, uint32_t *indices,
		    uint32_t *words, struct err *e);

/* Bytes of the region, read ahead. Zero-initialise to start; buf_free(&win.bytes) ends it. */
struct pmo_window {
	struct buf bytes;
	uint64_t at;
};
/* n bytes at `at`, which lie in the region; valid until the next call. */
int pmo_window(const struct pmo *p, struct pmo_window *win, uint64_t at, size_t n, const uint8_t **out, struct err *e);
#define PMO_PIECE 65536u                       /* vertices are read in pieces of at most so many bytes */

/* Index i of an index buffer; size 0: vertices drawn one after the other, so i itself. */
static inline uint32_t pmo_index(const uint8_t *p, unsigned size, uint32_t i)
{
	switch (size) {
	case 1: return p[i];
	case 2: return le_u16(p + 2 * (size_t)i);
	case 4: return le_u32(p + 4 * (size_t)i);
	default: return i;
	}
}

struct pmo_scan {
	struct ge_vertex vertex;               /* vertex.stride 0: the list has no PRIM */
	uint32_t vertices;                     /* highest index + 1, or the sum of the counts without indices */
	uint32_t faces;                        /* triangles without a repeated index */
};
/* Reads the index buffer of a group that pmo_group_check() passed. faces (may be NULL) gets three uint32_t per
 * triangle that is not hidden, vertex numbers counted from `base`; without it all are counted. EFBIG: more vertices
 * than a mesh may have. */
int pmo_group_scan(const struct pmo *p, uint32_t g, uint32_t base, struct buf *faces, struct pmo_window *win,
		   struct pmo_scan *out, struct err *e);
/* The same; nops: hidden triangles too. */
int pmo_group_scan_all(const struct pmo *p, uint32_t g, uint32_t base, bool nops, struct buf *faces,
		       struct pmo_window *win, struct pmo_scan *out, struct err *e);

/* ---- the rest --------------------------------------------------------------------------------------------------- */

/* Position scale x, y, z. */
static inline const float *pmo_scale(const struct pmo *p, const struct pmo_mesh *m)
{
	return p->mesh_scale ? m->scale : p->head.scale;
}
/* Index into the material table; -1 when a group names none that is there. */
int32_t pmo_material_index(const struct pmo *p, const struct pmo_mesh *m, const struct pmo_group *g);

/* The normal of a vertex with length 1, and the length it has as stored; a length of 0, or one that is no number,
 * leaves it as it is and counts as 1. */
double pmo_normal(const struct ge_field *f, const uint8_t *vertex, float out[3]);
int pmo_mesh_geometry(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e);
/* The same with the faces that are hidden. */
int pmo_full_geometry(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e);
int pmo_verify(struct object *o, struct err *e);

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* The vertices of one group among those of its mesh. */
struct pmo_run {
	struct pmo_scan scan;
	uint32_t group;                        /* in the group table */
	uint32_t first;                        /* number of its first vertex in the mesh */
	uint32_t uv, normal;                   /* likewise in the streams of pmo_mesh_geometry() */
};
/* Fills run[mesh->group_count] and tells how many vertices there are. */
int pmo_runs(const struct pmo *p, const struct pmo_mesh *mesh, struct pmo_run *run, struct pmo_window *win,
	     uint32_t *nvertices, struct err *e);
/* 1: two of the runs have bytes in common; 0; or ENOMEM. */
int pmo_runs_overlap(const struct pmo *p, const struct pmo_run *run, uint32_t n, struct err *e);
/* Sorts n spans; whether one of part 0 has bytes in common with one of part 1. */
bool pmo_spans_meet(struct span *v, uint32_t n);

/* What an edit wants bytes of the region to be. Groups can have vertices in common, which the views then show several
 * times: then `shared` has to be set, so that wishes for what is there already count too. Zero-initialise to start;
 * buf_free(&w.v) ends it. */
struct pmo_wishes {
	struct buf v;
	bool shared;
};
/* n bytes at offset `at` of the region, which are `was`, should be `want`. line: where it was asked for. weak: gives
 * way to others, because nothing draws this vertex. */
void pmo_wish(struct pmo_wishes *w, uint64_t at, const uint8_t *was, const uint8_t *want, size_t n, unsigned line,
	      bool weak);
/* Writes them. EINVAL, with both lines, when two of them differ. */
int pmo_grant(struct object *o, struct pmo_wishes *w, struct err *e);

static inline unsigned pmo_component_size(const struct ge_field *f)
{
	return f->format == 3 ? 4 : f->format;
}
/* The range of a component as ge_get() gives it; f32: all finite values. */
void pmo_range(const struct ge_field *f, double *least, double *most);
/* Whether ge_put() can store it. */
bool pmo_fits(const struct ge_field *f, double value);

/* 0, or why the geometry of that mesh cannot be decoded: EBADMSG, ENOENT. */
int pmo_mesh_sound(const struct object *o, uint32_t mesh, struct err *e);
int pmo_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);
/* New topology: display lists, vertex and index buffers of the mesh's groups are made anew and placed. */
int pmo_rebuild(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);
/* 1: what pmo_rebuild() would make of it is, byte for byte, what the mesh draws already, in whatever order; 0. */
int pmo_draws(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e);
/* Whether the document is the one that has a position scale. */
bool pmo_has_scale(const struct pmo *p, unsigned kind, uint32_t index);
/* Whether the cull radius is the largest component of the scale, as in shipped files of version 1.0. */
bool pmo_radius_follows(const struct pmo *p);
/* `rescale: [x, y, z]` of a document: the position scale becomes that, and the shape stays. */
int pmo_rescale(struct object *o, unsigned kind, uint32_t index, const struct ynode *value, struct err *e);
int pmo_weights_put(struct object *o, uint32_t mesh, const struct geo_weights *w, struct err *e);
int pmo_doc_tree(struct object *o, unsigned kind, uint32_t index, struct ynode *root, struct err *e);
int pmo_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e);
/* Those of the n changes that give a mesh's materials or a group's palette another length. */
int pmo_rows_put(struct object *o, uint32_t mesh, struct doc_change *change, unsigned n, struct err *e);
int pmo_check(struct object *o, struct err *e);

#endif
