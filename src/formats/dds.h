/* DDS files: a header that says what the surfaces behind it are. Written with the header extension of Direct3D 10; read
 * as other programs write them too. */
#ifndef MODELFS_DDS_H
#define MODELFS_DDS_H

#include "source.h"

#define DDS_HEAD 148u                          /* bytes of a header with its extension */

enum dds_kind { DDS_2D, DDS_VOLUME, DDS_CUBE };

/* Numbers of DXGI formats. */
enum dxgi {
	DXGI_RGBA32F = 2, DXGI_RGBA16F = 10, DXGI_RGBA8 = 28, DXGI_RGBA8_SRGB = 29, DXGI_RG8 = 49, DXGI_BC1 = 71,
	DXGI_BC1_SRGB = 72, DXGI_BC2 = 74, DXGI_BC3 = 77, DXGI_BC4 = 80, DXGI_BC4_SIGNED = 81, DXGI_BC5 = 83,
	DXGI_BC5_SIGNED = 84, DXGI_BGRA8 = 87, DXGI_BGRX8 = 88, DXGI_BGRA8_SRGB = 91, DXGI_BGRX8_SRGB = 93,
	DXGI_BC6H = 95, DXGI_BC6H_SIGNED = 96, DXGI_BC7 = 98, DXGI_BC7_SRGB = 99
};

#define DDS_OPAQUE 4u                          /* in `order`: 255, whatever is stored */

struct dds {
	uint8_t kind;
	uint32_t width, height, depth, levels;
	uint32_t images;                       /* surfaces of the first level, all faces of cubes; 1 for volumes */
	uint32_t dxgi;
	uint32_t head;                         /* bytes before the surfaces */
	bool no_colour_space;                  /* the header does not say whether colours are sRGB */
	bool reorder;                          /* pixels of 4 bytes are not stored as red, green, blue, alpha: */
	uint8_t order[4];                      /* where each of them lies */
};

/* pitch: bytes of a row, or of the first level when it is made of blocks. */
void dds_write(const struct dds *d, bool blocks, uint32_t pitch, uint8_t out[DDS_HEAD]);
/* EINVAL: what is wrong with the header of a file. Sizes are as they are given: they may be of any size. */
int dds_read(struct source *src, struct dds *out, struct err *e);

#endif
