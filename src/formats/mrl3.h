/* Material libraries: what a model's materials are joined with. Read from a source, without an object. */
#ifndef MODELFS_MRL3_H
#define MODELFS_MRL3_H

#include "format.h"

#define MRL3_PATH_SIZE 256u
#define MRL3_FILE_MAX (MRL3_PATH_SIZE + 5u)    /* a path with ".tex" and its final zero */
#define MRL3_ALBEDO 0x52ad9u                   /* name id of tAlbedoMap */

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
	return l->textures_at + 272 * (uint64_t)texture + 16;
}

/* The file of a texture below the data root (`/` for `\`, with .tex); false: a path that is not looked up (empty, with
 * "..", a drive or a leading separator, or without its final zero). */
bool mrl3_file(const uint8_t path[MRL3_PATH_SIZE], char out[MRL3_FILE_MAX]);

/* JAMCRC of a name: up to its first zero, at most `most` bytes. */
uint32_t mrl3_hash(const void *name, size_t most);
/* "tAlbedoMap" of a name id, without __disclosure; NULL: not known. */
const char *mrl3_map_name(uint32_t name_id);

#endif
