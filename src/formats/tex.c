/* TEX texture, Monster Hunter World (spec/mod3.md 14). Little-endian.
 *
 *   0x00  magic TEX and a zero; version 16; 8 zeros; kind (2: 2D, 3: volume, 5: array, 6: cube)
 *   0x14  levels, width, height, images, format code, depth; 12 zeros
 *   0x38  0xffffffff; 8 zeros; 0 or 1; 16 zeros; 32 bytes 0xff; 32 bytes of size hints; 32 zeros
 *   0xb8  u64 offset of each surface: all levels of the first image, then of the next
 *   then  the surfaces, tightly packed: rows without padding, or blocks of 4 x 4 texels
 *
 * A surface has to begin at or behind the end of the one before it. One that does not lie in the file costs its picture
 * and the DDS; a header that cannot be right costs all of them. Nothing is read or allocated because a header says so
 * before its surfaces have been found to fit. */
#include "tex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bc.h"
#include "bytes.h"

#define MOST_SIDE 65536u                       /* texels; more is damage */
#define MOST_SURFACES 65536u
#define OFFSETS 128u                           /* read at once */

/* ---- formats ---- */

static const struct label code_labels[] = {
	{ 0x01, "RGBA32F" }, { 0x02, "RGBA16F" }, { 0x07, "RGBA8" }, { 0x09, "RGBA8_SRGB" }, { 0x13, "RG8" },
	{ 0x16, "BC1" }, { 0x17, "BC1_SRGB" }, { 0x18, "BC4" }, { 0x1a, "BC5" }, { 0x1c, "BC6H" },
	{ 0x1d, "BC6H_SIGNED" }, { 0x1e, "BC7" }, { 0x1f, "BC7_SRGB" }, { 0, NULL }
};

static const struct tex_code codes[] = {
	{ 0x01, DXGI_RGBA32F, 16 }, { 0x02, DXGI_RGBA16F, 8 },
	{ 0x07, DXGI_RGBA8, 4, .picture = true, .srgb = 0x09 },
	{ 0x09, DXGI_RGBA8_SRGB, 4, .picture = true, .srgb = 0x09 },
	{ 0x13, DXGI_RG8, 2, .picture = true },
	{ 0x16, DXGI_BC1, 8, true, true, BC1, 0x17 }, { 0x17, DXGI_BC1_SRGB, 8, true, true, BC1, 0x17 },
	{ 0x18, DXGI_BC4, 8, true, true, BC4, 0 }, { 0x1a, DXGI_BC5, 16, true, true, BC5, 0 },
	{ 0x1c, DXGI_BC6H, 16, true }, { 0x1d, DXGI_BC6H_SIGNED, 16, true },
	{ 0x1e, DXGI_BC7, 16, true, true, BC7, 0x1f }, { 0x1f, DXGI_BC7_SRGB, 16, true, true, BC7, 0x1f },
};

const struct tex_code *tex_code(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const struct tex_code *tex_code_of_dxgi(uint32_t dxgi)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].dxgi == dxgi)
			return &codes[i];
	return NULL;
}

const char *tex_code_name(uint32_t code)
{
	for (const struct label *l = code_labels; l->name; l++)
		if (l->value == code)
			return l->name;
	return "unknown";
}

void tex_texels_get(const struct tex_code *c, const uint8_t *stored, size_t n, uint8_t *rgba)
{
	if (c->bytes == 4) {
		memcpy(rgba, stored, n * 4);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(rgba + 4 * i, (const uint8_t[4]){ stored[2 * i], stored[2 * i + 1], 0, 255 }, 4);
}

void tex_texels_put(const struct tex_code *c, const uint8_t *rgba, size_t n, uint8_t *stored)
{
	if (c->bytes == 4) {
		memcpy(stored, rgba, n * 4);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(stored + 2 * i, rgba + 4 * i, 2);
}

/* ---- records ---- */

static const struct label kind_labels[] = {
	{ TEX_2D, "2d" }, { TEX_VOLUME, "volume" }, { TEX_ARRAY, "array" }, { TEX_CUBE, "cube" }, { 0, NULL }
};

#define RAW_HIDDEN(name_, at_, n, doc_) \
	{ .name = name_, .doc = doc_, .at = (at_), .count = (n), .type = F_RAW, .member = FIELD_NO_MEMBER, \
	  .flags = FL_HIDDEN }

#define S struct tex_header
static const struct field header_fields[] = {
	RAW_HIDDEN("magic", 0x00, 4, "`TEX` and a zero"),
	U32(S, version, 0x04, "16", .flags = FL_DERIVED),
	PAD("zero_08", 0x08, 8),
	U32(S, kind, 0x10, "What the surfaces are", .view = V_ENUM, .labels = kind_labels, .flags = FL_DERIVED),
	U32(S, mip_count, 0x14, "Levels of each image", .flags = FL_DERIVED),
	U32(S, width, 0x18, "Texels in a row", .flags = FL_DERIVED),
	U32(S, height, 0x1c, "Rows", .flags = FL_DERIVED),
	U32(S, image_count, 0x20, "Images: 1, 6 of a cube, or those of an array", .flags = FL_DERIVED),
	U32(S, format, 0x24, "Format of the texels", .view = V_ENUM, .labels = code_labels, .flags = FL_DERIVED),
	U32(S, depth, 0x28, "Slices of a volume, or 1", .flags = FL_DERIVED),
	PAD("zero_2c", 0x2c, 12),
	RAW_HIDDEN("unknown_38", 0x38, 4, "All bits set"),
	PAD("zero_3c", 0x3c, 8),
	U32(S, unknown_44, 0x44, "0 or 1 seen"),
	PAD("zero_48", 0x48, 16),
	RAW_HIDDEN("unknown_58", 0x58, 32, "All bits set"),
	RAW_HIDDEN("unknown_78", 0x78, 32, "Hints at the original size, pairs of u16"),
	PAD("zero_98", 0x98, 32),
};
#undef S
const struct record tex_header_record = RECORD("texture header", "Begins the file", TEX_HEADER_SIZE, header_fields);

struct offset { uint64_t offset; };
#define S struct offset
static const struct field offset_fields[] = {
	U64(S, offset, 0, "Place of a surface in the file", .view = V_HEX, .digits = 8),
};
#undef S
static const struct record offset_record = RECORD("surface offset", "Leads to a surface", 8, offset_fields);

enum { SECTION_HEADER, SECTION_OFFSETS, SECTION_SURFACES };
static const struct section sections[] = {
	{ "header", "What the surfaces are", SECTION_ONE, &tex_header_record, "header.yaml" },
	{ "offsets", "Places of the surfaces, all levels of one image after the other", SECTION_LIST, &offset_record,
	  NULL },
	{ "surfaces", "The surfaces, from the first to the end of the last", SECTION_BYTES, NULL, NULL },
};
static const struct variant variants[] = {
	{ "16", "Base game and Iceborne", sections, ARRAY_LEN(sections), NULL },
};

static bool has_dds(const struct object *o, uint32_t index)
{
	(void)index;
	return ((const struct tex *)o->priv)->whole;
}

enum { OWN_DDS };
static const struct own_file own[] = {
	{ .name = ".dds", .bytes = true, .stem = true, .there = has_dds,
	  .doc = "All surfaces as they are stored, behind a DDS header with the extension of Direct3D 10. Written with "
		 "the same kind, sizes, levels and format they are changed in place, else the file is built anew. "
		 "Older headers are read too (DXT1, ATI1, ATI2, BC4U, BC5U, masks of bytes): they do not tell sRGB, so "
		 "colours stay what they were" },
};

/* ---- sizes ---- */

static uint32_t most_levels(const struct tex_header *h)
{
	uint32_t side = h->width > h->height ? h->width : h->height, n = 1;

	if (h->kind == TEX_VOLUME && h->depth > side)
		side = h->depth;
	while (side >>= 1)
		n++;
	return n;
}

static int check_sizes(const struct tex_header *h, struct err *e)
{
	bool volume = h->kind == TEX_VOLUME;

	if (!h->width || !h->height || h->width > MOST_SIDE || h->height > MOST_SIDE)
		return err_set(e, EINVAL, "%u x %u texels, expected 1 to %u each way", h->width, h->height, MOST_SIDE);
	if (volume && (!h->depth || h->depth > MOST_SIDE))
		return err_set(e, EINVAL, "a volume of %u slices, expected 1 to %u", h->depth, MOST_SIDE);
	if (!h->mip_count || h->mip_count > most_levels(h))
		return err_set(e, EINVAL, "%u levels of %u x %u texels, expected 1 to %u", h->mip_count, h->width,
			       h->height, most_levels(h));
	return 0;
}

int tex_check(const struct tex_header *h, struct err *e)
{
	uint32_t n = h->image_count;
	int rc;

	if (h->kind != TEX_2D && h->kind != TEX_VOLUME && h->kind != TEX_ARRAY && h->kind != TEX_CUBE)
		return err_set(e, EINVAL, "kind %u, expected 2, 3, 5 or 6", h->kind);
	if (!tex_code(h->format))
		return err_set(e, EINVAL, "format code 0x%02x, which is not known", h->format);
	rc = check_sizes(h, e);
	if (rc)
		return rc;
	if (h->kind == TEX_VOLUME && n != 1)
		return err_set(e, EINVAL, "%u images of a volume, expected 1", n);
	if (!n || (h->kind == TEX_CUBE && n % 6))
		return err_set(e, EINVAL, "%u images, expected %s", n,
			       h->kind == TEX_CUBE ? "a multiple of 6 for a cube" : "at least 1");
	if (n > MOST_SURFACES / h->mip_count)
		return err_set(e, EINVAL, "%u images of %u levels, more than %u surfaces", n, h->mip_count,
			       MOST_SURFACES);
	return 0;
}

/* Bytes of a slice. */
static uint64_t slice_size(const struct tex_header *h, uint32_t level)
{
	const struct tex_code *c = tex_code(h->format);
	uint64_t w = tex_down(h->width, level), rows = tex_down(h->height, level);

	return c->blocks ? (w + 3) / 4 * ((rows + 3) / 4) * c->bytes : w * rows * c->bytes;
}

uint64_t tex_surface_size(const struct tex_header *h, uint32_t level)
{
	return slice_size(h, level) * (h->kind == TEX_VOLUME ? tex_down(h->depth, level) : 1);
}

/* ---- opening ---- */

PRINTF(4, 5)
static void damaged(struct object *o, uint64_t at, const char *what, const char *fmt, ...)
{
	struct err why;
	va_list ap;

	va_start(ap, fmt);
	err_vat(&why, EBADMSG, o->src, at, what, fmt, ap);
	va_end(ap);
	object_fault(o, PART_OBJECT, 0, false, &why);
}

/* The first surface that is damaged has a line; the others show by what is missing. */
static void take_surface(struct object *o, struct tex *t, uint32_t i, uint64_t at, uint64_t least)
{
	uint32_t image = i / t->h.mip_count, level = i % t->h.mip_count;
	uint64_t size = tex_surface_size(&t->h, level), entry = TEX_HEADER_SIZE + 8 * (uint64_t)i;
	bool inside = span_ok(o->src->size, at, size, 1);

	if (inside && at >= least) {
		t->at[i] = at;
		t->end = at + size;
		return;
	}
	if (t->whole && !inside)
		damaged(o, entry, "surface", "level %u of image %u: %" PRIu64 " bytes at 0x%" PRIx64 " end past the %"
			PRIu64 " of the entry", level, image, size, at, o->src->size);
	else if (t->whole)
		damaged(o, entry, "surface", "level %u of image %u lies at 0x%" PRIx64 ", expected 0x%" PRIx64
			" or behind", level, image, at, least);
	t->whole = false;
}

static int find_surfaces(struct object *o, struct tex *t, struct err *e)
{
	uint64_t table = TEX_HEADER_SIZE + 8 * (uint64_t)t->surfaces;
	uint8_t raw[8 * OFFSETS];
	uint32_t got;
	int rc = 0;

	t->at = arena_alloc(&o->arena, t->surfaces, sizeof *t->at);
	if (!t->at)
		return err_nomem(e);
	t->whole = true;
	for (uint32_t i = 0; i < t->surfaces && !rc; i += got) {
		got = t->surfaces - i < OFFSETS ? t->surfaces - i : OFFSETS;
		rc = src_read(o->src, raw, 8 * got, TEX_HEADER_SIZE + 8 * (uint64_t)i, "surface offsets", e);
		for (uint32_t k = 0; k < got && !rc; k++)
			take_surface(o, t, i + k, le_u64(raw + 8 * k), t->end > table ? t->end : table);
	}
	return rc;
}

static int take_header(struct object *o, struct tex *t, const uint8_t *raw, struct err *e)
{
	struct err why;
	uint64_t n;

	rec_decode(&tex_header_record, false, raw, &t->h);
	if (tex_check(&t->h, &why)) {
		damaged(o, 0x10, "texture header", "%s", why.text);
		return 0;
	}
	n = (uint64_t)t->h.image_count * t->h.mip_count;
	if (!span_ok(o->src->size, TEX_HEADER_SIZE, n, 8)) {
		damaged(o, TEX_HEADER_SIZE, "surface offsets", "%" PRIu64 " of them end past the %" PRIu64
			" of the entry", n, o->src->size);
		return 0;
	}
	t->code = tex_code(t->h.format);
	t->surfaces = (uint32_t)n;
	return find_surfaces(o, t, e);
}

static int open_texture(struct object *o, struct err *e)
{
	uint8_t raw[TEX_HEADER_SIZE];
	struct tex *t = arena_alloc(&o->arena, 1, sizeof *t);
	int rc = t ? src_read(o->src, raw, sizeof raw, 0, "texture header", e) : err_nomem(e);

	if (rc)
		return rc;
	if (memcmp(raw, "TEX", 4) || le_u32(raw + 4) != 16)
		return err_at(e, EBADMSG, o->src, 0, "texture header", "magic TEX, a zero and version 16 not found");
	o->priv = t;
	o->variant = &variants[0];
	return take_header(o, t, raw, e);
}

static int probe(struct probe *p)
{
	return p->n >= 8 && !memcmp(p->head, "TEX\0\x10\0\0", 8) ? 100 : 0;
}

static uint32_t count(const struct object *o, unsigned part)
{
	const struct tex *t = o->priv;

	return part == PART_IMAGE && t->code ? t->h.image_count : 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct tex *t = o->priv;
	uint64_t table = TEX_HEADER_SIZE + 8 * (uint64_t)t->surfaces, first = t->end;

	for (uint32_t i = 0; i < t->surfaces && first == t->end; i++)
		first = t->at[i] ? t->at[i] : first;
	switch (section) {
	case SECTION_HEADER: *out = (struct span){ 0, TEX_HEADER_SIZE, 0 }; break;
	case SECTION_OFFSETS: *out = (struct span){ TEX_HEADER_SIZE, table - TEX_HEADER_SIZE, 0 }; break;
	default: *out = (struct span){ first, t->end - first, 0 };
	}
	return 0;
}

/* ---- pictures ---- */

static bool has(const struct object *o, unsigned part, uint32_t i)
{
	const struct tex *t = o->priv;

	return part == PART_IMAGE && i < count(o, part) && t->code->picture &&
	       t->at[(uint64_t)i * t->h.mip_count] && span_ok(LIMIT_DECODED, 0, (uint64_t)t->h.width * t->h.height, 4);
}

/* Rows of blocks, one after the other, or rows of texels. */
static int decode(const struct object *o, const struct tex *t, uint64_t at, uint8_t *rgba, struct err *e)
{
	uint32_t w = t->h.width, h = t->h.height, step = t->code->blocks ? 4 : 1;
	size_t n = t->code->blocks ? ((size_t)w + 3) / 4 * t->code->bytes : (size_t)w * t->code->bytes;
	uint8_t *room = malloc(n);
	int rc = room ? 0 : err_nomem(e);

	for (uint32_t y = 0; y < h && !rc; y += step, at += n, rgba += (size_t)w * 4 * step) {
		rc = src_read(o->src, room, n, at, "surface", e);
		if (!rc && t->code->blocks)
			bc_image(t->code->bc, room, w, h - y < 4 ? h - y : 4, rgba);
		else if (!rc)
			tex_texels_get(t->code, room, w, rgba);
	}
	free(room);
	return rc;
}

/* The first level; of a volume, its first slice. */
static int image(struct object *o, uint32_t i, struct geo_image *out, struct arena *a, struct err *e)
{
	const struct tex *t = o->priv;
	uint64_t at = t->at[(uint64_t)i * t->h.mip_count];

	if (!has(o, PART_IMAGE, i))
		return err_set(e, EBADMSG, "image %u has no picture", i);
	*out = (struct geo_image){ .w = t->h.width, .h = t->h.height };
	out->rgba = arena_alloc(a, (size_t)out->w * out->h, 4);
	return out->rgba ? decode(o, t, at, out->rgba, e) : err_nomem(e);
}

/* ---- DDS ---- */

struct dds tex_dds(const struct tex_header *h, const struct tex_code *c)
{
	return (struct dds){
		.kind = h->kind == TEX_VOLUME ? DDS_VOLUME : h->kind == TEX_CUBE ? DDS_CUBE : DDS_2D,
		.width = h->width, .height = h->height, .depth = h->kind == TEX_VOLUME ? h->depth : 1,
		.levels = h->mip_count, .images = h->image_count, .dxgi = c->dxgi, .head = DDS_HEAD,
	};
}

/* Surfaces that follow each other are one piece. piece: room for all of them and the header. */
static uint32_t cut_pieces(const struct object *o, const struct tex *t, struct source **piece)
{
	uint32_t n = 0;

	for (uint32_t i = 0, next; i < t->surfaces; i = next) {
		uint64_t end = t->at[i] + tex_surface_size(&t->h, i % t->h.mip_count);

		for (next = i + 1; next < t->surfaces && t->at[next] == end; next++)
			end += tex_surface_size(&t->h, next % t->h.mip_count);
		piece[n] = src_slice(o->src, t->at[i], end - t->at[i]);
		if (!piece[n++])
			break;
	}
	return n;
}

static struct source *make_dds(const struct object *o, const struct tex *t)
{
	struct source **piece = calloc((size_t)t->surfaces + 1, sizeof *piece), *all = NULL;
	uint64_t pitch = t->code->blocks ? slice_size(&t->h, 0) : (uint64_t)t->h.width * t->code->bytes;
	struct dds d = tex_dds(&t->h, t->code);
	uint8_t head[DDS_HEAD];
	uint32_t n = 0;

	if (!piece)
		return NULL;
	dds_write(&d, t->code->blocks, pitch < UINT32_MAX ? (uint32_t)pitch : 0, head);
	piece[0] = src_copy(head, sizeof head);
	if (piece[0])
		n = 1 + cut_pieces(o, t, piece + 1);
	if (n && piece[n - 1])
		all = src_pieces(piece, n);
	for (uint32_t i = 0; i < n; i++)
		src_put(piece[i]);
	free(piece);
	return all;
}

static int file(struct object *o, unsigned k, uint32_t index, struct source **out, struct err *e)
{
	const struct tex *t = o->priv;

	(void)index;
	if (k != OWN_DDS || !t->whole)
		return -ENOENT;
	*out = make_dds(o, t);
	return *out ? 0 : err_nomem(e);
}

/* ---- verifying ---- */

/* The DDS says what the texture says. */
static int verify_dds(struct object *o, const struct tex *t, struct err *e)
{
	struct dds want = tex_dds(&t->h, t->code), got;
	struct source *src = make_dds(o, t);
	int rc = src ? dds_read(src, &got, e) : err_nomem(e);
	uint8_t a[DDS_HEAD], b[DDS_HEAD];

	src_put(src);
	if (rc)
		return rc;
	dds_write(&want, t->code->blocks, 0, a);
	dds_write(&got, t->code->blocks, 0, b);
	return !memcmp(a, b, sizeof a) && got.head == DDS_HEAD && !got.reorder ? 0 :
	       err_at(e, EILSEQ, o->src, 0, "texture header", "its DDS reads back as another texture");
}

/* Texels through the picture and back, row by row. */
static int verify_picture(struct object *o, const struct tex *t, uint32_t i, struct err *e)
{
	size_t w = t->h.width, n = w * t->code->bytes;
	uint64_t at = t->at[(uint64_t)i * t->h.mip_count];
	uint8_t *stored = malloc(2 * n + 4 * w), *again, *rgba;
	int rc = 0;

	if (!stored)
		return err_nomem(e);
	again = stored + n;
	rgba = again + n;
	for (uint32_t y = 0; y < t->h.height && !rc; y++, at += n) {
		rc = src_read(o->src, stored, n, at, "surface", e);
		if (rc)
			break;
		tex_texels_get(t->code, stored, w, rgba);
		tex_texels_put(t->code, rgba, w, again);
		if (memcmp(stored, again, n))
			rc = err_at(e, EILSEQ, o->src, at, "surface", "row %u of image %u is another one encoded again",
				    y, i);
	}
	free(stored);
	return rc;
}

static int verify(struct object *o, struct err *e)
{
	const struct tex *t = o->priv;
	int rc = t->whole ? verify_dds(o, t, e) : 0;

	for (uint32_t i = 0; i < count(o, PART_IMAGE) && !rc; i++)
		if (has(o, PART_IMAGE, i) && tex_plain(t->code))
			rc = verify_picture(o, t, i, e);
	return rc;
}

static const struct model_ops ops = {
	.open = open_texture, .count = count, .locate = locate, .image = image, .has = has, .can_put = tex_can_put,
	.file = file, .file_put = tex_file_put, .image_put = tex_image_put, .verify = verify,
};

const struct format fmt_tex = {
	.name = "tex", .title = "Monster Hunter World texture", .ext = "tex",
	.doc = "Surfaces of a texture: images, each with its levels. `K.png` is the first level of image K, for "
	       "formats of 8 bits and for BC1, BC4, BC5 and BC7; red and green of RG8 and BC5 come with blue 0 and "
	       "alpha 255. It can be written for RGBA8, RGBA8_SRGB and RG8: the texels of further levels that show "
	       "something changed are made anew, each the mean of those of the level before that it covers; colours of "
	       "RGBA8_SRGB are averaged in linear light, alpha and the other formats as stored.",
	.role = ROLE_TEXTURES, .sure = 1u << PART_IMAGE, .probe = probe, .variants = variants,
	.nvariants = ARRAY_LEN(variants), .own = own, .nown = ARRAY_LEN(own), .model = &ops,
};
