/* Texture banks: headers, pixels and palettes through what the views show and back into bytes. */
#include "tmh.h"

#include <string.h>

#include "mhpbytes.h"

static int same(const struct tmh_loaded *l, uint64_t at, const uint8_t *stored, const uint8_t *again, size_t n,
		struct err *e)
{
	return mhp_same(l->o->src, at, tmh_name(l->i).text, stored, again, n, e);
}

static int verify_headers(const struct tmh_loaded *l, struct err *e)
{
	uint8_t again[TMH_IMAGE_SIZE] = { 0 }, clut[TMH_BLOCK_SIZE] = { 0 };
	int rc;

	memcpy(again + 4, l->raw + 4, 4);      /* no member has it */
	rec_encode(&tmh_image_record, false, &l->m.h, again);
	rc = same(l, l->m.at, l->raw, again, sizeof again, e);
	if (rc || !l->colours)
		return rc;
	rec_encode(&tmh_clut_record, false, &l->c, clut);
	return same(l, tmh_clut_at(&l->m), l->clut_raw, clut, sizeof clut, e);
}

/* Pixels through the picture and back. Palette numbers of CLUT16 and CLUT32 are looked up as they are stored. */
static void repack_rows(const struct tmh_loaded *l, const uint8_t *rows, uint8_t *again, uint8_t *room)
{
	const struct tmh_image *h = &l->m.h;
	uint8_t (*colours)[4] = (uint8_t (*)[4])room;

	if (h->format == TMH_CLUT4 || h->format == TMH_CLUT8) {
		tmh_indices_get(h->format, &l->rows, h->width, rows, room);
		tmh_indices_put(h->format, &l->rows, h->width, room, again);
		return;
	}
	for (uint32_t y = 0; y < h->height; y++, rows += l->rows.pitch, again += l->rows.pitch) {
		if (tmh_is_clut(h->format)) {
			memcpy(again, rows, (size_t)tmh_least(h->format, h->width, 1));
			continue;
		}
		tmh_colours_get(h->format, rows, h->width, colours);
		tmh_colours_put(h->format, (const uint8_t (*)[4])colours, h->width, again);
	}
}

/* Encodes over bytes that are wrong wherever a pixel must set them; only what no pixel uses is right from the start. */
static int verify_rows(const struct tmh_loaded *l, struct arena *a, struct err *e)
{
	const struct tmh_image *h = &l->m.h;
	const uint8_t *rows = tmh_rows_in_order(l, a);
	size_t used = (size_t)tmh_least(h->format, h->width & ~1u, 1), pitch = l->rows.pitch, all = pitch * h->height;
	size_t full = l->rows.swizzled ? h->height / 8 * 8 * pitch : all;
	uint8_t *again = arena_alloc(a, all, 1), *stored = arena_alloc(a, l->npixels, 1);
	uint8_t *room = arena_alloc(a, h->width, h->height + 4u);

	if (!rows || !again || !stored || !room)
		return err_nomem(e);
	for (size_t k = 0; k < all; k++)
		again[k] = (uint8_t)(k % pitch < used ? ~rows[k] : rows[k]);
	for (size_t k = 0; k < l->npixels; k++)
		stored[k] = (uint8_t)(k < full ? ~l->pixels[k] : l->pixels[k]);
	repack_rows(l, rows, again, room);
	tmh_rows_put(&l->rows, again, stored, l->npixels);
	return same(l, l->m.at + TMH_IMAGE_SIZE, l->pixels, stored, l->npixels, e);
}

static int verify_blocks(const struct tmh_loaded *l, struct err *e)
{
	const struct tmh_image *h = &l->m.h;
	size_t size = tmh_block_size(h->format), n = (size_t)tmh_least(h->format, h->width, h->height);
	struct tmh_block b;
	uint8_t again[16];
	int rc = 0;

	for (size_t at = 0; at < n && !rc; at += size) {
		tmh_block_get(h->format, l->pixels + at, &b);
		tmh_block_put(h->format, &b, again);
		rc = same(l, l->m.at + TMH_IMAGE_SIZE + at, l->pixels + at, again, size, e);
	}
	return rc;
}

static int verify_palettes(const struct tmh_loaded *l, struct arena *a, struct err *e)
{
	size_t n = l->c.palette_entries, size = (size_t)tmh_clut_bytes(&l->c);
	uint8_t (*colours)[4] = tmh_palette(l, a), *again = arena_alloc(a, size, 1);

	if (!colours || !again)
		return err_nomem(e);
	tmh_colours_put(l->c.palette_format, (const uint8_t (*)[4])colours, n, again);
	return same(l, tmh_clut_at(&l->m) + TMH_BLOCK_SIZE, l->colours, again, size, e);
}

static int verify_image(struct object *o, uint32_t i, struct arena *a, struct err *e)
{
	struct tmh_loaded l;
	int rc = tmh_load(o, i, &l, a, e);

	rc = rc ? rc : verify_headers(&l, e);
	if (!rc)
		rc = tmh_is_dxt(l.m.h.format) ? verify_blocks(&l, e) : verify_rows(&l, a, e);
	return !rc && l.colours ? verify_palettes(&l, a, e) : rc;
}

int tmh_verify(struct object *o, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < object_count(o, PART_IMAGE) && !rc; i++) {
		struct arena a = { 0 };

		if (!object_gone(o, PART_IMAGE, i))
			rc = verify_image(o, i, &a, e);
		arena_free(&a);
	}
	return rc;
}
