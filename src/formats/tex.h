/* Textures: what tex.c (the file and its views), texdds.c (DDS written) and texput.c (PNG written) share. */
#ifndef MODELFS_TEX_H
#define MODELFS_TEX_H

#include "dds.h"
#include "format.h"

#define TEX_HEADER_SIZE 0xb8u

enum tex_kind { TEX_2D = 2, TEX_VOLUME = 3, TEX_ARRAY = 5, TEX_CUBE = 6 };

struct tex_header { uint32_t version, kind, mip_count, width, height, image_count, format, depth, unknown_44; };
extern const struct record tex_header_record;

/* What a format code means. */
struct tex_code {
	uint8_t code;
	uint8_t dxgi;
	uint8_t bytes;                         /* of a texel, or of a block of 4 x 4 */
	bool blocks;
	bool picture;                          /* has a PNG */
	uint8_t bc;                            /* blocks with a PNG: enum bc_format */
	uint8_t srgb;                          /* code of the same with colours in sRGB; its own: it is that; 0: none */
};
const struct tex_code *tex_code(uint32_t code);                /* NULL: unknown */
const struct tex_code *tex_code_of_dxgi(uint32_t dxgi);
const char *tex_code_name(uint32_t code);

/* Of pictures that are not made of blocks and have a PNG: RGBA, or red and green. */
static inline bool tex_plain(const struct tex_code *c) { return c->picture && !c->blocks; }

/* Size of a level. */
static inline uint32_t tex_down(uint32_t size, uint32_t level) { return size >> level ? size >> level : 1; }
/* What is wrong with the kind, sizes and counts of a header: EINVAL. If nothing is, all surfaces together have less
 * than 2^54 bytes. */
int tex_check(const struct tex_header *h, struct err *e);
uint64_t tex_surface_size(const struct tex_header *h, uint32_t level);         /* of a header that passed */

struct tex {
	struct tex_header h;
	const struct tex_code *code;           /* NULL: the header is damaged, and there are no surfaces */
	uint32_t surfaces;                     /* images times levels, image-major */
	uint64_t *at;                          /* of each; 0: damaged */
	uint64_t end;                          /* of the last one */
	bool whole;                            /* none is damaged */
};

struct dds tex_dds(const struct tex_header *h, const struct tex_code *c);
/* n texels of a plain format to RGBA and back. */
void tex_texels_get(const struct tex_code *c, const uint8_t *stored, size_t n, uint8_t *rgba);
void tex_texels_put(const struct tex_code *c, const uint8_t *rgba, size_t n, uint8_t *stored);

/* ---- writing ---- */

int tex_file_put(struct object *o, unsigned k, uint32_t index, struct source *now, struct err *e);
int tex_image_put(struct object *o, uint32_t i, const struct geo_image *img, struct err *e);
bool tex_can_put(const struct object *o, unsigned part, uint32_t i);

#endif
