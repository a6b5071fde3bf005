/* TMH texture bank, the same in all PSP Monster Hunter games (spec/mhp.md 4).
 *
 *   0x00  .TMH0.14, image count, zero
 *   0x10  the images, one behind the other; no offset table: each says its own size
 *
 *   image 0x00  size (from here to the end of its CLUT), 0, 1, 1 when a CLUT block follows
 *         0x10  pixel block: size with these 16 bytes, tag 1, format, width, height
 *         0x20  pixels
 *         then  CLUT block: size with these 16 bytes, tag 2, colour format, entries; the entries
 *
 * The chain of sizes is walked when the bank is opened. An image that its headers show to be damaged costs only itself;
 * a size that leads nowhere costs all images behind it. */
#include "tmh.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HEADER_SIZE 16u
#define MOST_IMAGES 65536u
#define MOST_NOTED 256u                        /* damaged images with a line each; more show when they are opened */

/* ---- records ---- */

static const struct label format_labels[] = {
	{ TMH_5650, "rgb5650" }, { TMH_5551, "rgba5551" }, { TMH_4444, "rgba4444" }, { TMH_8888, "rgba8888" },
	{ TMH_CLUT4, "clut4" }, { TMH_CLUT8, "clut8" }, { TMH_CLUT16, "clut16" }, { TMH_CLUT32, "clut32" },
	{ TMH_DXT1, "dxt1" }, { TMH_DXT3, "dxt3" }, { TMH_DXT5, "dxt5" }, { 0, NULL }
};
static const struct label colour_labels[] = {
	{ TMH_5650, "rgb5650" }, { TMH_5551, "rgba5551" }, { TMH_4444, "rgba4444" }, { TMH_8888, "rgba8888" },
	{ 0, NULL }
};

struct tmh_header { char magic[8]; uint32_t image_count; };

#define S struct tmh_header
static const struct field header_fields[] = {
	TEXT(S, magic, 0x0, 8, "`.TMH0.14`", .flags = FL_HIDDEN),
	U32(S, image_count, 0x8, "Images", .flags = FL_DERIVED),
	PAD("zero_0c", 0xc, 4),
};
#undef S
static const struct record header_record = RECORD("bank header", "Begins a texture bank", HEADER_SIZE, header_fields);

#define S struct tmh_image
static const struct field image_fields[] = {
	U32(S, size, 0x00, "Bytes of the image, from here to the end of its CLUT", .flags = FL_HIDDEN),
	PAD("zero_04", 0x04, 4),
	U32(S, unknown_08, 0x08, "Always 1", .flags = FL_HIDDEN),
	U32(S, has_clut, 0x0c, "1: a CLUT block follows the pixels", .flags = FL_HIDDEN),
	U32(S, pixel_size, 0x10, "Bytes of the pixel block, with its header of 16 bytes", .flags = FL_HIDDEN),
	U32(S, pixel_tag, 0x14, "1: pixel block", .flags = FL_HIDDEN),
	U16(S, width, 0x1c, "Pixels in a row", .flags = FL_DERIVED),
	U16(S, height, 0x1e, "Rows", .flags = FL_DERIVED),
	U32(S, format, 0x18, "Pixel format", .view = V_ENUM, .labels = format_labels, .flags = FL_DERIVED),
};
#undef S
const struct record tmh_image_record =
	RECORD("image header", "Begins an image and its pixel block", TMH_IMAGE_SIZE, image_fields);

#define S struct tmh_clut
static const struct field clut_fields[] = {
	U32(S, size, 0x0, "Bytes of the CLUT block, with its header of 16 bytes", .flags = FL_HIDDEN),
	U32(S, tag, 0x4, "2: CLUT block", .flags = FL_HIDDEN),
	U32(S, palette_format, 0x8, "Format of the colours", .view = V_ENUM, .labels = colour_labels,
	    .flags = FL_DERIVED),
	U32(S, palette_entries, 0xc, "Colours; several palettes lie back to back", .flags = FL_DERIVED),
};
#undef S
const struct record tmh_clut_record = RECORD("clut header", "Begins a CLUT block", TMH_BLOCK_SIZE, clut_fields);

static const struct section sections[] = {
	{ "header", "Magic and image count", SECTION_ONE, &header_record, "header.yaml" },
	{ "images", "All images, each with its pixel block and CLUT block", SECTION_BYTES, NULL, NULL },
};
static const struct record *const other_records[] = { &tmh_image_record, &tmh_clut_record, NULL };
static const struct variant variants[] = {
	{ "0.14", "Monster Hunter Portable 2nd, Freedom 2, Portable 2nd G, Freedom Unite, Portable 3rd",
	  sections, ARRAY_LEN(sections), other_records },
};

/* ---- opening ---- */

struct bank {
	uint64_t *at;                          /* of the images */
	uint32_t n, cap, noted;
	uint64_t end;                          /* of the last image that the chain has */
};

struct tmh_name tmh_name(uint32_t i)
{
	struct tmh_name name;

	snprintf(name.text, sizeof name.text, "image %u", i);
	return name;
}

PRINTF(5, 6)
static int damaged(const struct object *o, uint32_t i, uint64_t at, struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vat(e, EBADMSG, o->src, at, tmh_name(i).text, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

/* The hardware's palette numbers of CLUT16 and CLUT32 have 8 bits too. */
uint32_t tmh_palette_size(uint32_t format, uint32_t entries)
{
	return format == TMH_CLUT4 ? 16 : format == TMH_CLUT8 || entries > 256 ? 256 : entries;
}

static int check_pixels(const struct object *o, uint32_t i, const struct tmh_stored *m, struct err *e)
{
	const struct tmh_image *h = &m->h;
	uint32_t most = h->size - TMH_PIXEL_BLOCK_AT;
	uint64_t least;

	if (h->pixel_size < TMH_BLOCK_SIZE || h->pixel_size > most)
		return damaged(o, i, m->at, e, "pixel block of %u bytes, expected %u to %u", h->pixel_size,
			       TMH_BLOCK_SIZE, most);
	if (h->format >= TMH_FORMATS)
		return damaged(o, i, m->at, e, "pixel format %u, expected 0 to %d", h->format, TMH_FORMATS - 1);
	if (!h->width || !h->height)
		return damaged(o, i, m->at, e, "%u x %u pixels, expected at least 1 x 1", h->width, h->height);
	least = tmh_least(h->format, h->width, h->height);
	if (h->pixel_size - TMH_BLOCK_SIZE < least)
		return damaged(o, i, m->at, e, "%u bytes of pixels, but %u x %u pixels of %s are %" PRIu64,
			       h->pixel_size - TMH_BLOCK_SIZE, h->width, h->height, tmh_format_name(h->format), least);
	if (!span_ok(LIMIT_DECODED, 0, (uint64_t)h->width * h->height, 4))
		return damaged(o, i, m->at, e, "%u x %u pixels are more than %zu bytes", h->width, h->height,
			       LIMIT_DECODED);
	return 0;
}

static int check_clut(const struct object *o, uint32_t i, const struct tmh_stored *m, const struct tmh_clut *c,
		      struct err *e)
{
	uint32_t most = m->h.size - TMH_PIXEL_BLOCK_AT - m->h.pixel_size, least = tmh_palette_size(m->h.format, 1);
	uint64_t at = tmh_clut_at(m);

	if (c->size < TMH_BLOCK_SIZE || c->size > most)
		return damaged(o, i, at, e, "CLUT block of %u bytes, expected %u to %u", c->size, TMH_BLOCK_SIZE, most);
	if (c->palette_format > TMH_8888)
		return damaged(o, i, at, e, "CLUT of colour format %u, expected 0 to 3", c->palette_format);
	if (!span_ok(c->size, TMH_BLOCK_SIZE, c->palette_entries, tmh_colour_size(c->palette_format)))
		return damaged(o, i, at, e, "CLUT of %u colours of %u bytes ends past the %u bytes of its block",
			       c->palette_entries, tmh_colour_size(c->palette_format), c->size);
	if (c->palette_entries < least)
		return damaged(o, i, at, e, "CLUT of %u colours, but %s needs at least %u", c->palette_entries,
			       tmh_format_name(m->h.format), least);
	return 0;
}

/* Everything the headers of an image can tell. Images without palette numbers leave c empty and raw alone. */
static int check_image(const struct object *o, uint32_t i, const struct tmh_stored *m, struct tmh_clut *c,
		       uint8_t raw[TMH_BLOCK_SIZE], struct err *e)
{
	int rc = check_pixels(o, i, m, e);

	memset(c, 0, sizeof *c);
	if (rc || !tmh_is_clut(m->h.format))
		return rc;
	if (!m->h.has_clut)
		return damaged(o, i, m->at, e, "%s without a CLUT block", tmh_format_name(m->h.format));
	if (!span_ok(m->h.size, TMH_PIXEL_BLOCK_AT + (uint64_t)m->h.pixel_size, TMH_BLOCK_SIZE, 1))
		return damaged(o, i, m->at, e, "no room for a CLUT block behind the pixel block of %u bytes in %u",
			       m->h.pixel_size, m->h.size);
	rc = src_read(o->src, raw, TMH_BLOCK_SIZE, tmh_clut_at(m), tmh_name(i).text, e);
	if (rc)
		return rc;
	rec_decode(&tmh_clut_record, false, raw, c);
	return check_clut(o, i, m, c, e);
}

static int add_image(struct object *o, struct bank *b, const struct tmh_stored *m, struct err *e)
{
	if (b->n == b->cap) {
		uint32_t cap = b->cap ? b->cap * 2 : 4;
		uint64_t *at = arena_alloc(&o->arena, cap, sizeof *at);

		if (!at)
			return err_nomem(e);
		if (b->n)
			memcpy(at, b->at, b->n * sizeof *at);
		b->at = at;
		b->cap = cap;
	}
	b->at[b->n++] = m->at;
	b->end = m->at + m->h.size;
	return 0;
}

/* The header of the image at b->end. -EBADMSG: the chain leads no further. */
static int next_header(const struct object *o, const struct bank *b, uint32_t count, struct tmh_stored *m,
		       struct err *e)
{
	static const char lost[] = "images this and the later ones cannot be found";
	uint64_t room = o->src->size - b->end;
	uint8_t raw[TMH_IMAGE_SIZE];
	int rc;

	if (b->n == MOST_IMAGES)
		return damaged(o, b->n, b->end, e, "at most %u of %u images are read", MOST_IMAGES, count);
	if (room < TMH_IMAGE_SIZE)
		return damaged(o, b->n, b->end, e, "header of %u bytes, but %" PRIu64 " are left; of %u %s",
			       TMH_IMAGE_SIZE, room, count, lost);
	rc = src_read(o->src, raw, sizeof raw, b->end, tmh_name(b->n).text, e);
	if (rc)
		return rc;
	m->at = b->end;
	rec_decode(&tmh_image_record, false, raw, &m->h);
	if (m->h.size < TMH_IMAGE_SIZE || m->h.size > room)
		return damaged(o, b->n, b->end, e, "size %u, expected %u to %" PRIu64 "; of %u %s", m->h.size,
			       TMH_IMAGE_SIZE, room, count, lost);
	return 0;
}

/* One image further; `done` when there is none. */
static int step(struct object *o, struct bank *b, uint32_t count, bool *done, struct err *e)
{
	struct err why = { 0 };
	struct tmh_stored m;
	uint8_t raw[TMH_BLOCK_SIZE];
	struct tmh_clut c;
	int rc = next_header(o, b, count, &m, &why);

	*done = rc == -EBADMSG;
	if (*done) {
		object_fault(o, PART_OBJECT, 0, false, &why);
		return 0;
	}
	rc = rc ? rc : add_image(o, b, &m, &why);
	rc = rc ? rc : check_image(o, b->n - 1, &m, &c, raw, &why);
	if (rc == -EBADMSG) {
		if (b->noted++ < MOST_NOTED)
			object_fault(o, PART_IMAGE, b->n - 1, true, &why);
		rc = 0;
	}
	if (rc)
		*e = why;
	return rc;
}

static int walk(struct object *o, struct bank *b, uint32_t count, struct err *e)
{
	bool done = false;
	int rc = 0;

	while (b->n < count && !done && !rc)
		rc = step(o, b, count, &done, e);
	return rc;
}

static int open_bank(struct object *o, struct err *e)
{
	uint8_t raw[HEADER_SIZE];
	struct tmh_header h;
	struct bank *b;
	int rc = src_read(o->src, raw, sizeof raw, 0, "bank header", e);

	if (rc)
		return rc;
	if (memcmp(raw, ".TMH0.14", 8))
		return err_at(e, EBADMSG, o->src, 0, "bank header", "magic .TMH0.14 not found");
	rec_decode(&header_record, false, raw, &h);
	b = arena_alloc(&o->arena, 1, sizeof *b);
	if (!b)
		return err_nomem(e);
	b->end = HEADER_SIZE;
	o->priv = b;
	o->variant = &variants[0];
	return walk(o, b, h.image_count, e);
}

static int probe(struct probe *p)
{
	return p->n >= 8 && !memcmp(p->head, ".TMH0.14", 8) ? 100 : 0;
}

static uint32_t count(const struct object *o, unsigned part)
{
	return part == PART_IMAGE ? ((const struct bank *)o->priv)->n : 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	uint64_t end = ((const struct bank *)o->priv)->end;

	*out = section ? (struct span){ HEADER_SIZE, end - HEADER_SIZE, 0 } : (struct span){ 0, HEADER_SIZE, 0 };
	return 0;
}

/* ---- pictures ---- */

static int read_bytes(const struct tmh_loaded *l, uint64_t at, uint64_t n, const uint8_t **out, struct arena *a,
		      struct err *e)
{
	return object_read(l->o, a, at, n, tmh_name(l->i).text, out, e);
}

/* All but the pixels. */
static int load_headers(struct object *o, uint32_t i, struct tmh_loaded *l, struct arena *a, struct err *e)
{
	const struct bank *b = o->priv;
	int rc;

	*l = (struct tmh_loaded){ .o = o, .i = i, .m.at = b->at[i] };
	rc = src_read(o->src, l->raw, sizeof l->raw, l->m.at, tmh_name(i).text, e);
	if (rc)
		return rc;
	rec_decode(&tmh_image_record, false, l->raw, &l->m.h);
	rc = check_image(o, i, &l->m, &l->c, l->clut_raw, e);
	if (rc)
		return rc;
	l->npixels = l->m.h.pixel_size - TMH_BLOCK_SIZE;
	l->rows = tmh_rows(l->m.h.format, l->m.h.width, l->m.h.height, l->npixels);
	if (!tmh_is_clut(l->m.h.format))
		return 0;
	return read_bytes(l, tmh_clut_at(&l->m) + TMH_BLOCK_SIZE, tmh_clut_bytes(&l->c), &l->colours, a, e);
}

int tmh_load(struct object *o, uint32_t i, struct tmh_loaded *l, struct arena *a, struct err *e)
{
	int rc = load_headers(o, i, l, a, e);

	return rc ? rc : read_bytes(l, l->m.at + TMH_IMAGE_SIZE, l->npixels, &l->pixels, a, e);
}

/* A picture without swizzle lies in order already. */
const uint8_t *tmh_rows_in_order(const struct tmh_loaded *l, struct arena *a)
{
	uint8_t *rows;

	if (!l->rows.swizzled)
		return l->pixels;
	rows = arena_alloc(a, l->rows.h, l->rows.pitch);
	if (rows)
		tmh_rows_get(&l->rows, l->pixels, l->npixels, rows);
	return rows;
}

uint8_t (*tmh_palette(const struct tmh_loaded *l, struct arena *a))[4]
{
	uint8_t (*c)[4] = arena_alloc(a, l->c.palette_entries, sizeof *c);

	if (c)
		tmh_colours_get(l->c.palette_format, l->colours, l->c.palette_entries, c);
	return c;
}

static int decode_indexed(const struct tmh_loaded *l, struct geo_image *out, struct arena *a, struct err *e)
{
	const uint8_t *rows = tmh_rows_in_order(l, a);

	out->indexed = arena_alloc(a, out->h, out->w);
	out->palette = tmh_palette(l, a);
	out->ncolours = tmh_palette_size(l->m.h.format, 0);
	if (!rows || !out->indexed || !out->palette)
		return err_nomem(e);
	tmh_indices_get(l->m.h.format, &l->rows, out->w, rows, out->indexed);
	return 0;
}

/* CLUT16 and CLUT32: pictures of more palette numbers than a PNG can have. */
static int decode_looked_up(const struct tmh_loaded *l, struct geo_image *out, struct arena *a, struct err *e)
{
	const uint8_t *rows = tmh_rows_in_order(l, a);
	uint8_t (*palette)[4] = tmh_palette(l, a), *p = out->rgba;

	if (!rows || !palette)
		return err_nomem(e);
	for (uint32_t y = 0; y < out->h; y++, rows += l->rows.pitch) {
		for (uint32_t x = 0; x < out->w; x++, p += 4) {
			uint32_t n = tmh_index(l->m.h.format, rows, x);

			if (n >= l->c.palette_entries)
				return damaged(l->o, l->i, l->m.at, e, "pixel %u, %u has colour %u of a CLUT of %u",
					       x, y, n, l->c.palette_entries);
			memcpy(p, palette[n], 4);
		}
	}
	return 0;
}

static int decode_direct(const struct tmh_loaded *l, struct geo_image *out, struct arena *a, struct err *e)
{
	const uint8_t *rows = tmh_rows_in_order(l, a);

	if (!rows)
		return err_nomem(e);
	for (uint32_t y = 0; y < out->h; y++)
		tmh_colours_get(l->m.h.format, rows + (size_t)y * l->rows.pitch, out->w,
				(uint8_t (*)[4])(out->rgba + (size_t)y * out->w * 4));
	return 0;
}

static int image(struct object *o, uint32_t i, struct geo_image *out, struct arena *a, struct err *e)
{
	struct tmh_loaded l;
	uint32_t format;
	int rc = tmh_load(o, i, &l, a, e);

	if (rc)
		return rc;
	format = l.m.h.format;
	*out = (struct geo_image){ .w = l.m.h.width, .h = l.m.h.height };
	if (format == TMH_CLUT4 || format == TMH_CLUT8)
		return decode_indexed(&l, out, a, e);
	out->rgba = arena_alloc(a, (size_t)out->w * out->h, 4);
	if (!out->rgba)
		return err_nomem(e);
	if (tmh_is_clut(format))
		return decode_looked_up(&l, out, a, e);
	if (!tmh_is_dxt(format))
		return decode_direct(&l, out, a, e);
	tmh_dxt_get(format, l.pixels, out->w, out->h, out->rgba);
	return 0;
}

/* ---- documents ---- */

/* Every palette is a row of its own: a record of as many colours, as they are shown. */
static int describe_palettes(const struct tmh_loaded *l, struct doc *d, struct arena *a, struct err *e)
{
	uint32_t each = tmh_palette_size(l->m.h.format, l->c.palette_entries), n = l->c.palette_entries / each;
	struct field *fields = arena_alloc(a, each, sizeof *fields);
	struct record row = { "palette", "Colours of a palette", 4 * each, fields, each };
	uint8_t (*colours)[4] = tmh_palette(l, a);

	if (!fields || !colours)
		return err_nomem(e);
	for (uint32_t i = 0; i < each; i++)
		fields[i] = (struct field){ .name = "colour", .doc = "Colour", .at = 4 * i, .count = 1, .type = F_U32,
					    .member = FIELD_NO_MEMBER, .view = V_COLOUR };
	doc_rows(d, "palettes", &row, false, colours[0], n, l->o->src, tmh_clut_at(&l->m) + TMH_BLOCK_SIZE,
		 DOC_SHOWN | DOC_BLOCK);
	return 0;
}

static int describe_image(struct object *o, uint32_t i, struct doc *d, struct arena *a, struct err *e)
{
	struct tmh_loaded l;
	int rc = load_headers(o, i, &l, a, e);

	if (rc)
		return rc;
	doc_record(d, &tmh_image_record, false, l.raw, o->src, l.m.at);
	doc_text(d, "swizzled", DOC_DERIVED, "%s", l.rows.swizzled ? "true" : "false");
	if (!tmh_is_clut(l.m.h.format))
		return 0;
	doc_record(d, &tmh_clut_record, false, l.clut_raw, o->src, tmh_clut_at(&l.m));
	return describe_palettes(&l, d, a, e);
}

static int doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	struct arena a = { 0 };
	int rc;

	if (kind != DOC_IMAGE || index >= count(o, PART_IMAGE))
		return -ENOENT;
	rc = describe_image(o, index, d, &a, e);
	arena_free(&a);
	return rc;
}

static const struct model_ops ops = {
	.open = open_bank, .count = count, .locate = locate, .doc = doc, .image = image, .verify = tmh_verify,
	.doc_put = tmh_doc_put, .image_put = tmh_image_put,
};

const struct format fmt_tmh = {
	.name = "tmh", .title = "PSP Monster Hunter texture bank", .ext = "tmh",
	.doc = "Pictures of a model: palette numbers with one or more palettes, colours, or DXT blocks. Rows of a "
	       "multiple of 16 bytes are swizzled in blocks of 16 bytes by 8 rows.",
	.role = ROLE_TEXTURES, .probe = probe, .variants = variants, .nvariants = ARRAY_LEN(variants),
	.docs = 1u << DOC_IMAGE, .model = &ops,
};
