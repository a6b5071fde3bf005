/*   0x00  magic "DDS "; header: 124, flags, height, width, pitch, depth, levels, 44 bytes
 *   0x4c  pixel format: 32, flags, four letters, bits of a pixel, masks of red, green, blue, alpha
 *   0x6c  caps, caps2, 12 bytes
 *   0x80  with the letters DX10: DXGI format, dimension, flags, array size, flags
 *
 * Older files have other letters, a number of a Direct3D 9 format in their place, or masks. */
#include "dds.h"

#include <errno.h>
#include <string.h>

#include "bytes.h"

#define HEAD_OLD 128u

enum {
	AT_FLAGS = 8, AT_HEIGHT = 12, AT_WIDTH = 16, AT_PITCH = 20, AT_DEPTH = 24, AT_LEVELS = 28,
	AT_FORMAT = 76, AT_FORMAT_FLAGS = 80, AT_LETTERS = 84, AT_BITS = 88, AT_MASKS = 92, AT_CAPS = 108,
	AT_CAPS2 = 112, AT_DXGI = 128, AT_DIMENSION = 132, AT_MISC = 136, AT_ARRAY = 140
};

#define FLAGS_ALWAYS 0x1007u                   /* caps, height, width, pixel format */
#define FLAG_PITCH 0x8u
#define FLAG_LEVELS 0x20000u
#define FLAG_LINEAR 0x80000u                   /* the pitch is the size of the first level */
#define FLAG_DEPTH 0x800000u
#define FORMAT_ALPHA 0x1u
#define FORMAT_LETTERS 0x4u
#define FORMAT_RGB 0x40u
#define FORMAT_LUMINANCE 0x20000u
#define CAPS_COMPLEX 0x8u
#define CAPS_TEXTURE 0x1000u
#define CAPS_LEVELS 0x400000u
#define CAPS2_CUBE 0x200u
#define CAPS2_FACES 0xfc00u
#define CAPS2_VOLUME 0x200000u
#define DIMENSION_2D 3u
#define DIMENSION_3D 4u
#define MISC_CUBE 4u

#define LETTERS(a, b, c, d) (uint32_t)((a) | (b) << 8 | (c) << 16 | (d) << 24)
#define DX10 LETTERS('D', 'X', '1', '0')

/* ---- writing ---- */

void dds_write(const struct dds *d, bool blocks, uint32_t pitch, uint8_t out[DDS_HEAD])
{
	bool volume = d->kind == DDS_VOLUME, cube = d->kind == DDS_CUBE, levels = d->levels > 1;

	memset(out, 0, DDS_HEAD);
	memcpy(out, "DDS ", 4);
	put_le32(out + 4, 124);
	put_le32(out + AT_FLAGS, FLAGS_ALWAYS | (levels ? FLAG_LEVELS : 0) | (blocks ? FLAG_LINEAR : FLAG_PITCH) |
				 (volume ? FLAG_DEPTH : 0));
	put_le32(out + AT_HEIGHT, d->height);
	put_le32(out + AT_WIDTH, d->width);
	put_le32(out + AT_PITCH, pitch);
	put_le32(out + AT_DEPTH, volume ? d->depth : 1);
	put_le32(out + AT_LEVELS, d->levels);
	put_le32(out + AT_FORMAT, 32);
	put_le32(out + AT_FORMAT_FLAGS, FORMAT_LETTERS);
	put_le32(out + AT_LETTERS, DX10);
	put_le32(out + AT_CAPS, CAPS_TEXTURE | (levels ? CAPS_LEVELS : 0) |
				(levels || cube || volume ? CAPS_COMPLEX : 0));
	put_le32(out + AT_CAPS2, (cube ? CAPS2_CUBE | CAPS2_FACES : 0) | (volume ? CAPS2_VOLUME : 0));
	put_le32(out + AT_DXGI, d->dxgi);
	put_le32(out + AT_DIMENSION, volume ? DIMENSION_3D : DIMENSION_2D);
	put_le32(out + AT_MISC, cube ? MISC_CUBE : 0);
	put_le32(out + AT_ARRAY, cube ? d->images / 6 : volume ? 1 : d->images);
}

/* ---- reading ---- */

/* Blue first, and red, green, blue in 32 bits. */
static void set_order(struct dds *d, uint32_t dxgi, unsigned r, unsigned g, unsigned b, unsigned a)
{
	d->dxgi = dxgi;
	d->reorder = true;
	memcpy(d->order, (const uint8_t[4]){ (uint8_t)r, (uint8_t)g, (uint8_t)b, (uint8_t)a }, 4);
}

static int read_extension(const uint8_t *raw, struct dds *d, struct err *e)
{
	uint32_t dimension = le_u32(raw + AT_DIMENSION), misc = le_u32(raw + AT_MISC), n = le_u32(raw + AT_ARRAY);

	d->head = DDS_HEAD;
	d->dxgi = le_u32(raw + AT_DXGI);
	if (dimension != DIMENSION_2D && dimension != DIMENSION_3D)
		return err_set(e, EINVAL, "DDS of dimension %u, expected 3 (2D) or 4 (3D)", dimension);
	if (!n || n > UINT32_MAX / 6 || (dimension == DIMENSION_3D && n != 1))
		return err_set(e, EINVAL, "DDS of %u images, expected %s", n,
			       dimension == DIMENSION_3D ? "1 for a volume" : "at least 1");
	d->kind = dimension == DIMENSION_3D ? DDS_VOLUME : misc & MISC_CUBE ? DDS_CUBE : DDS_2D;
	d->images = d->kind == DDS_CUBE ? 6 * n : n;
	switch (d->dxgi) {
	case DXGI_BGRA8: set_order(d, DXGI_RGBA8, 2, 1, 0, 3); break;
	case DXGI_BGRA8_SRGB: set_order(d, DXGI_RGBA8_SRGB, 2, 1, 0, 3); break;
	case DXGI_BGRX8: set_order(d, DXGI_RGBA8, 2, 1, 0, DDS_OPAQUE); break;
	case DXGI_BGRX8_SRGB: set_order(d, DXGI_RGBA8_SRGB, 2, 1, 0, DDS_OPAQUE); break;
	}
	return 0;
}

static bool read_letters(uint32_t letters, struct dds *d)
{
	static const struct { uint32_t letters, dxgi; } known[] = {
		{ LETTERS('D', 'X', 'T', '1'), DXGI_BC1 }, { LETTERS('D', 'X', 'T', '2'), DXGI_BC2 },
		{ LETTERS('D', 'X', 'T', '3'), DXGI_BC2 }, { LETTERS('D', 'X', 'T', '4'), DXGI_BC3 },
		{ LETTERS('D', 'X', 'T', '5'), DXGI_BC3 }, { LETTERS('A', 'T', 'I', '1'), DXGI_BC4 },
		{ LETTERS('B', 'C', '4', 'U'), DXGI_BC4 }, { LETTERS('B', 'C', '4', 'S'), DXGI_BC4_SIGNED },
		{ LETTERS('A', 'T', 'I', '2'), DXGI_BC5 }, { LETTERS('B', 'C', '5', 'U'), DXGI_BC5 },
		{ LETTERS('B', 'C', '5', 'S'), DXGI_BC5_SIGNED },
		{ 113, DXGI_RGBA16F }, { 116, DXGI_RGBA32F },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].letters != letters)
			continue;
		d->dxgi = known[i].dxgi;
		return true;
	}
	return false;
}

/* The byte of a pixel that a mask covers; 4: not just one. */
static unsigned byte_of(uint32_t mask)
{
	for (unsigned i = 0; i < 4; i++)
		if (mask == 0xffu << 8 * i)
			return i;
	return 4;
}

static bool read_masks(const uint8_t *raw, struct dds *d)
{
	uint32_t flags = le_u32(raw + AT_FORMAT_FLAGS), bits = le_u32(raw + AT_BITS);
	bool alpha = flags & FORMAT_ALPHA;
	unsigned r = byte_of(le_u32(raw + AT_MASKS)), g = byte_of(le_u32(raw + AT_MASKS + 4));
	unsigned b = byte_of(le_u32(raw + AT_MASKS + 8)), a = byte_of(le_u32(raw + AT_MASKS + 12));

	if (flags & FORMAT_RGB && bits == 32 && r < 4 && g < 4 && b < 4 && (a < 4 || !alpha)) {
		set_order(d, DXGI_RGBA8, r, g, b, alpha ? a : DDS_OPAQUE);
		d->reorder = r != 0 || g != 1 || b != 2 || !alpha || a != 3;
		return true;
	}
	d->dxgi = DXGI_RG8;
	return bits == 16 && r == 0 &&
	       (flags & FORMAT_LUMINANCE ? alpha && a == 1 : flags & FORMAT_RGB && g == 1 && b == 4 && !alpha);
}

static int read_old(const uint8_t *raw, struct dds *d, struct err *e)
{
	uint32_t caps2 = le_u32(raw + AT_CAPS2), letters = le_u32(raw + AT_LETTERS);

	d->head = HEAD_OLD;
	d->no_colour_space = true;
	d->images = 1;
	d->kind = caps2 & CAPS2_VOLUME ? DDS_VOLUME : caps2 & CAPS2_CUBE ? DDS_CUBE : DDS_2D;
	if (d->kind == DDS_CUBE) {
		if ((caps2 & CAPS2_FACES) != CAPS2_FACES)
			return err_set(e, EINVAL, "DDS of a cube without all of its faces");
		d->images = 6;
	}
	if (le_u32(raw + AT_FORMAT_FLAGS) & FORMAT_LETTERS)
		return read_letters(letters, d) ? 0 :
		       err_set(e, EINVAL, "DDS of unknown pixel format 0x%08x", letters);
	return read_masks(raw, d) ? 0 :
	       err_set(e, EINVAL, "DDS of %u bits with masks 0x%08x, 0x%08x, 0x%08x, 0x%08x; expected bytes of red, "
		       "green, blue and alpha", le_u32(raw + AT_BITS), le_u32(raw + AT_MASKS),
		       le_u32(raw + AT_MASKS + 4), le_u32(raw + AT_MASKS + 8), le_u32(raw + AT_MASKS + 12));
}

int dds_read(struct source *src, struct dds *out, struct err *e)
{
	uint64_t size = src->size;
	uint8_t raw[DDS_HEAD] = { 0 };
	bool extended;
	int rc;

	if (size < HEAD_OLD)
		return err_set(e, EINVAL, "no DDS: %llu bytes, its header alone has %u", (unsigned long long)size,
			       HEAD_OLD);
	rc = src_read(src, raw, size < DDS_HEAD ? HEAD_OLD : DDS_HEAD, 0, "DDS header", e);
	if (rc)
		return rc;
	if (memcmp(raw, "DDS ", 4) || le_u32(raw + 4) != 124 || le_u32(raw + AT_FORMAT) != 32)
		return err_set(e, EINVAL, "no DDS: its magic, or a size in its header, is another");
	*out = (struct dds){
		.width = le_u32(raw + AT_WIDTH), .height = le_u32(raw + AT_HEIGHT), .levels = le_u32(raw + AT_LEVELS),
	};
	out->levels += !out->levels;
	extended = le_u32(raw + AT_FORMAT_FLAGS) & FORMAT_LETTERS && le_u32(raw + AT_LETTERS) == DX10;
	if (extended && size < DDS_HEAD)
		return err_set(e, EINVAL, "no DDS: its header ends after %llu of %u bytes", (unsigned long long)size,
			       DDS_HEAD);
	rc = extended ? read_extension(raw, out, e) : read_old(raw, out, e);
	out->depth = out->kind == DDS_VOLUME ? le_u32(raw + AT_DEPTH) : 1;
	return rc;
}
