/* Material libraries: what a model's materials are joined with (read from a source, without an object), and the tables
 * that mrl3.c shows. */
#ifndef MODELFS_MRL3_H
#define MODELFS_MRL3_H

#include "format.h"

#define MRL3_PATH_SIZE 256u
#define MRL3_FILE_MAX (MRL3_PATH_SIZE + 5u)    /* a path with ".tex" and its final zero */
#define MRL3_ALBEDO 0x52ad9u                   /* name id of tAlbedoMap */

#define MRL3_HEADER_SIZE 0x28u
#define MRL3_TEXTURE_SIZE 272u
#define MRL3_TEXTURE_PATH 16u                  /* in a texture record */
#define MRL3_MATERIAL_SIZE 56u
#define MRL3_RESOURCE_SIZE 16u

/* A resource record that is a texture in use. */
struct mrl3_map {
	uint32_t name_id;                      /* 20 bits of the resource name's hash */
	uint32_t texture;                      /* number in the texture list, from 0; below ntextures */
};

struct mrl3_material {
	uint32_t name_hash;                    /* JAMCRC of the model's material name */
	uint32_t first, n;                     /* maps, in the order of the resources */
};

struct mrl3_library {
	uint32_t ntextures, nmaterials, nmaps;
	const uint8_t (*path)[MRL3_PATH_SIZE]; /* of each texture: bytes as stored */
	uint64_t textures_at;                  /* of the texture records in the source: see mrl3_path_at() */
	const struct mrl3_material *material;
	const struct mrl3_map *map;
	const uint32_t *by_hash;               /* numbers of the materials, by hash, then by number */
};

/* All of it in arena a. EBADMSG: no library, or its tables lie outside; a material whose block is damaged has no maps,
 * and a map of a texture that is not there is left out. */
int mrl3_read(struct source *src, struct arena *a, struct mrl3_library *out, struct err *e);
/* The first material of that hash; -1: none. */
int64_t mrl3_find(const struct mrl3_library *l, uint32_t name_hash);

/* The table field of a path is this record, at this offset of the source: its view is the one of textures.yaml. */
extern const struct record mrl3_path_record;   /* one derived key, "path" */
static inline uint64_t mrl3_path_at(const struct mrl3_library *l, uint32_t texture)
{
	return l->textures_at + MRL3_TEXTURE_SIZE * (uint64_t)texture + MRL3_TEXTURE_PATH;
}

/* The file of a texture below the data root (`/` for `\`, with .tex); false: a path that is not looked up (empty, with
 * "..", a drive or a leading separator, or without its final zero). */
bool mrl3_file(const uint8_t path[MRL3_PATH_SIZE], char out[MRL3_FILE_MAX]);

/* JAMCRC of a name: up to its first zero, at most `most` bytes. */
uint32_t mrl3_hash(const void *name, size_t most);
/* "tAlbedoMap" of a name id, without __disclosure; NULL: not known. */
const char *mrl3_map_name(uint32_t name_id);
const char *mrl3_resource_name(uint32_t name_id);      /* that of a constant buffer too */

/* ---- tables ---- */

struct mrl3_header {
	uint32_t version, material_count, texture_count;
	uint64_t time, texture_off, material_off;
};
struct mrl3_texture { uint32_t type_hash; char path[MRL3_PATH_SIZE]; };
struct mrl3_stored {
	uint32_t type_hash, name_hash, shader_hash, second_hash, block_size;
	uint16_t surface_flags, resource_size;
	uint8_t alpha[4];
	uint64_t block_off;
};
struct mrl3_resource { uint32_t kind, kind_leftover, name_id, name_leftover, value, unknown_0c; };
enum mrl3_kind { MRL3_CONSTANTS, MRL3_SAMPLER, MRL3_TEXTURE };

extern const struct record mrl3_header_record, mrl3_texture_record, mrl3_material_record, mrl3_resource_record;

struct mrl3_block {
	uint64_t at, size;                     /* size 0: there is none, or it is damaged */
	uint32_t nresources, name_hash;
	bool damaged;
};

/* What of a library lies where it can. */
struct mrl3_tables {
	struct source *src;                    /* not held */
	struct mrl3_header head;
	uint32_t ntextures, nmaterials;
	uint32_t nresources;                   /* of all blocks */
	struct mrl3_block *block;              /* of each material */
};

/* Reads header and tables, in arena a. What is damaged is left out, and why goes to fault(). */
typedef void mrl3_fault(void *ctx, const struct err *why);
int mrl3_tables(struct source *src, struct mrl3_tables *out, mrl3_fault *fault, void *ctx, struct arena *a,
		struct err *e);
/* Calls fn for the resources of a material; stops at the first result that is not 0 and returns it. */
int mrl3_resources(const struct mrl3_tables *t, uint32_t material,
		   int (*fn)(void *ctx, uint32_t i, const uint8_t *raw, uint64_t at), void *ctx, struct err *e);

struct mrl3_name { char text[24]; };           /* "material 7", for messages */
struct mrl3_name mrl3_name(const char *what, uint32_t i);

#endif
