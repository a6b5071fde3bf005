/* Pictures compressed in blocks of 4 x 4 texels, as Direct3D and the Khronos data format specification define them:
 * BC1 to BC5 and BC7, to RGBA of 8 bits. Colours are the stored numbers: nothing is done about sRGB. */
#ifndef MODELFS_BC_H
#define MODELFS_BC_H

#include "base.h"

enum bc_format { BC1, BC2, BC3, BC4, BC5, BC7 };

unsigned bc_block_size(enum bc_format f);      /* 8 or 16 bytes */
/* One block, top row first. BC4 is red, 0, 0, 255; BC5 is red, green, 0, 255. */
void bc_block(enum bc_format f, const uint8_t *block, uint8_t out[16][4]);
/* w * h texels of blocks that lie row by row; the texels of the last ones that are outside the picture are left out. */
void bc_image(enum bc_format f, const uint8_t *blocks, uint32_t w, uint32_t h, uint8_t *rgba);

void bc7_block(const uint8_t *block, uint8_t out[16][4]);

#endif
