/* Textures for tests, built from the page of the format alone. */
#ifndef MODELFS_TESTS_BUILD_TEX_H
#define MODELFS_TESTS_BUILD_TEX_H

#include "base.h"

/* Zeros mean: 2D, one level, one image, depth 1. */
struct build_tex { uint32_t kind, code, w, h, levels, images, depth; };

/* Surfaces of bytes that differ from place to place. */
struct buf build_tex(struct build_tex t);
size_t build_tex_size(struct build_tex t, uint32_t level);     /* of a surface */
uint64_t build_tex_at(struct build_tex t, uint32_t surface);   /* its place, image-major */

#endif
