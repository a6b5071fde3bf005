/* DDS files written over a texture: in place when kind, sizes, levels and format are the same, else the file is built
 * anew with the header's other bytes as they were. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "tex.h"

#define PIECE 65536u                           /* bytes copied at once; a multiple of every texel and block */

struct copy {
	struct object *o;
	struct source *now;
	struct dds dds;
	struct tex_header h;                   /* what the texture is to be */
	uint8_t *room;                         /* PIECE bytes */
};

/* ---- what the DDS is as a texture ---- */

static uint32_t kind_of(const struct dds *d, const struct tex_header *old)
{
	if (d->kind == DDS_VOLUME)
		return TEX_VOLUME;
	if (d->kind == DDS_CUBE)
		return TEX_CUBE;
	/* A DDS does not tell an array of one image from a picture. */
	if (old->kind == TEX_ARRAY || (old->kind == TEX_2D && old->image_count == d->images))
		return old->kind;
	return d->images > 1 ? TEX_ARRAY : TEX_2D;
}

/* Old headers know no sRGB: then colours stay what they were. */
static const struct tex_code *code_of(const struct dds *d, const struct tex *t)
{
	const struct tex_code *c = tex_code_of_dxgi(d->dxgi);

	if (c && d->no_colour_space && c->srgb && t->code->srgb == t->code->code)
		return tex_code(c->srgb);
	return c;
}

static int refuse_format(const struct dds *d, struct err *e)
{
	static const struct { uint32_t dxgi; const char *name; } known[] = {
		{ DXGI_BC2, "BC2 (DXT2, DXT3)" }, { DXGI_BC3, "BC3 (DXT4, DXT5)" },
		{ DXGI_BC4_SIGNED, "signed BC4" }, { DXGI_BC5_SIGNED, "signed BC5" },
	};
	static const char can[] = "expected RGBA32F, RGBA16F, RGBA8, RG8, BC1, BC4, BC5, BC6H or BC7";

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].dxgi == d->dxgi)
			return err_set(e, EINVAL, "DDS of %s, which no texture has; %s", known[i].name, can);
	return err_set(e, EINVAL, "DDS of DXGI format %u, which no texture has; %s", d->dxgi, can);
}

static uint64_t surfaces_size(const struct tex_header *h)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < h->mip_count; k++)
		sum += tex_surface_size(h, k);
	return sum * h->image_count;
}

static int take_dds(struct copy *c, const struct tex *t, struct err *e)
{
	const struct tex_code *code;
	const struct dds *d = &c->dds;
	uint64_t need;
	int rc = dds_read(c->now, &c->dds, e);

	if (rc)
		return rc;
	code = code_of(d, t);
	if (!code)
		return refuse_format(d, e);
	c->h = t->h;
	c->h.kind = kind_of(d, &t->h);
	c->h.width = d->width;
	c->h.height = d->height;
	c->h.mip_count = d->levels;
	c->h.image_count = d->images;
	c->h.format = code->code;
	if (c->h.kind == TEX_VOLUME || t->h.kind == TEX_VOLUME)
		c->h.depth = d->depth;
	rc = tex_check(&c->h, e);
	if (rc)
		return rc;
	need = surfaces_size(&c->h);
	if (c->now->size - d->head < need)
		return err_set(e, EINVAL, "DDS of %" PRIu64 " bytes behind its header, but %u x %u texels of %s, %u "
			       "levels and %u images are %" PRIu64, c->now->size - d->head, d->width, d->height,
			       tex_code_name(code->code), d->levels, d->images, need);
	if (c->now->size - d->head > need)
		object_say(c->o, "DDS: %" PRIu64 " bytes behind its surfaces are left out",
			   c->now->size - d->head - need);
	return 0;
}

/* ---- bytes ---- */

static void reorder(const struct dds *d, uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint8_t old[5];

		memcpy(old, p + i, 4);
		old[DDS_OPAQUE] = 255;
		for (unsigned k = 0; k < 4; k++)
			p[i + k] = old[d->order[k]];
	}
}

static int copy_bytes(struct copy *c, uint64_t from, uint64_t to, uint64_t n, struct err *e)
{
	size_t piece;
	int rc = 0;

	for (; n && !rc; n -= piece, from += piece, to += piece) {
		piece = n < PIECE ? (size_t)n : PIECE;
		rc = src_read(c->now, c->room, piece, from, "DDS", e);
		if (!rc && c->dds.reorder)
			reorder(&c->dds, c->room, piece);
		rc = rc ? rc : object_patch(c->o, 0, to, c->room, piece, "surface", e);
	}
	return rc;
}

/* ---- in place ---- */

static bool same_layout(const struct tex_header *a, const struct tex_header *b)
{
	return a->kind == b->kind && a->mip_count == b->mip_count && a->width == b->width && a->height == b->height &&
	       a->image_count == b->image_count && a->format == b->format && a->depth == b->depth;
}

static int put_in_place(struct copy *c, const struct tex *t, struct err *e)
{
	uint64_t from = c->dds.head;
	int rc = 0;

	for (uint32_t i = 0; i < t->surfaces && !rc; i++) {
		uint64_t n = tex_surface_size(&t->h, i % t->h.mip_count);

		rc = copy_bytes(c, from, t->at[i], n, e);
		from += n;
	}
	return rc;
}

/* ---- anew ---- */

static int put_header(struct copy *c, struct err *e)
{
	uint8_t raw[TEX_HEADER_SIZE];
	int rc = src_read(c->o->src, raw, sizeof raw, 0, "texture header", e);

	if (rc)
		return rc;
	rec_encode(&tex_header_record, false, &c->h, raw);
	return object_patch(c->o, 0, 0, raw, sizeof raw, "texture header", e);
}

static int put_offsets(struct copy *c, uint64_t at, struct err *e)
{
	uint32_t n = c->h.image_count * c->h.mip_count;
	uint8_t raw[8];
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		put_le64(raw, at);
		rc = object_patch(c->o, 0, TEX_HEADER_SIZE + 8 * (uint64_t)i, raw, sizeof raw, "surface offsets", e);
		at += tex_surface_size(&c->h, i % c->h.mip_count);
	}
	return rc;
}

static int put_anew(struct copy *c, const struct tex *t, struct err *e)
{
	uint64_t at = TEX_HEADER_SIZE + 8 * (uint64_t)c->h.image_count * c->h.mip_count, n = surfaces_size(&c->h);
	const struct tex_header *old = &t->h;
	int rc = c->o->src->size != at + n ? object_resize(c->o, 0, at + n, e) : 0;

	rc = rc ? rc : put_header(c, e);
	rc = rc ? rc : put_offsets(c, at, e);
	rc = rc ? rc : copy_bytes(c, c->dds.head, at, n, e);
	if (!rc)
		object_say(c->o, "texture of %u x %u, %u levels, %u images of %s built anew as %u x %u, %u levels, %u "
			   "images of %s", old->width, old->height, old->mip_count, old->image_count,
			   tex_code_name(old->format), c->h.width, c->h.height, c->h.mip_count, c->h.image_count,
			   tex_code_name(c->h.format));
	return rc;
}

int tex_file_put(struct object *o, unsigned k, uint32_t index, struct source *now, struct err *e)
{
	const struct tex *t = o->priv;
	struct copy c = { .o = o, .now = now };
	int rc;

	(void)k;
	(void)index;
	if (!t->whole)
		return err_set(e, EACCES, "a texture whose surfaces are damaged cannot be written as DDS");
	rc = take_dds(&c, t, e);
	if (rc)
		return rc;
	c.room = malloc(PIECE);
	if (!c.room)
		return err_nomem(e);
	rc = same_layout(&t->h, &c.h) ? put_in_place(&c, t, e) : put_anew(&c, t, e);
	free(c.room);
	return rc;
}
