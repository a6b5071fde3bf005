/* See mhpbuild.h. Section numbers are of spec/mhp.md. */
#include "mhpbuild.h"

#include <math.h>
#include <string.h>

#include "bytes.h"
#include "ge.h"
#include "mhpcipher.h"

#define BLOCK 2048u                            /* of DATA.BIN */

/* ---- appending, and filling in what is known later ---- */

static void add16(struct buf *b, uint32_t v)
{
	uint8_t raw[2];

	put_le16(raw, (uint16_t)v);
	buf_add(b, raw, sizeof raw);
}

static void add32(struct buf *b, uint32_t v)
{
	uint8_t raw[4];

	put_le32(raw, v);
	buf_add(b, raw, sizeof raw);
}

static void add_f32(struct buf *b, double v)
{
	add32(b, f32_bits((float)v));
}

static void add_zeros(struct buf *b, size_t n)
{
	uint8_t *room = buf_room(b, n);

	if (room) {
		memset(room, 0, n);
		b->len += n;
	}
}

/* Zeros up to a multiple of `to` behind `from`. */
static void add_padding(struct buf *b, size_t from, size_t to)
{
	add_zeros(b, align_up(b->len - from, to) - (b->len - from));
}

static void set32(struct buf *b, size_t at, size_t v)
{
	if (!b->bad)
		put_le32(b->p + at, (uint32_t)v);
}

/* The size of what began at `from` and ends here, into the word at `at`. */
static void set_size(struct buf *b, size_t at, size_t from)
{
	set32(b, at, b->len - from);
}

/* ---- model: vertices (3.7) ---- */

/* Unit normal: the cross product of the two derivatives. */
static void patch_normal(const struct mhp_patch *p, double u, double v, double n[3])
{
	const double step = 1e-3;
	double a[4][3], du[3], dv[3], length;

	p->at(u - step, v, p->k, a[0]);
	p->at(u + step, v, p->k, a[1]);
	p->at(u, v - step, p->k, a[2]);
	p->at(u, v + step, p->k, a[3]);
	for (unsigned i = 0; i < 3; i++) {
		du[i] = a[1][i] - a[0][i];
		dv[i] = a[3][i] - a[2][i];
	}
	for (unsigned i = 0; i < 3; i++)
		n[i] = dv[(i + 1) % 3] * du[(i + 2) % 3] - dv[(i + 2) % 3] * du[(i + 1) % 3];
	length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
	for (unsigned i = 0; i < 3 && length > 0; i++)
		n[i] /= length;
}

/* Daylight from above, for the models that store colours and no normals. */
static uint32_t shade(double up)
{
	uint32_t light = (uint32_t)(160 + 95 * fmax(up, 0));

	return light | light << 8 | (light - 16) << 16 | 0xff000000;
}

static void add_vertex(struct buf *b, const struct mhp_model *m, const struct ge_vertex *type,
		       const struct mhp_patch *p, double u, double v)
{
	double at[3], n[3], second = p->bind[0] + (p->bind[1] - p->bind[0]) * v, uv[2] = { u, v };
	size_t from = b->len;
	uint8_t *raw;

	p->at(u, v, p->k, at);
	/* The derivative along u vanishes in a fan's centre. */
	patch_normal(p, u, p->style == PATCH_FAN ? 1 : v, n);
	if (p->style == PATCH_FAN) {
		uv[0] = 0.5 + 0.5 * v * cos(2 * M_PI * u);
		uv[1] = 0.5 + 0.5 * v * sin(2 * M_PI * u);
	}
	add_zeros(b, type->stride);
	if (b->bad)
		return;
	raw = b->p + from;
	for (unsigned i = 0; i < type->weight.count; i++)
		ge_put(&type->weight, raw, i, i ? second : type->weight.count == 1 ? 1 : 1 - second);
	for (unsigned i = 0; i < type->uv.count; i++)
		ge_put(&type->uv, raw, i, uv[i]);
	if (type->colour.count)
		put_le32(raw + type->colour.at, shade(n[1]));
	for (unsigned i = 0; i < type->normal.count; i++)
		ge_put(&type->normal, raw, i, n[i]);
	for (unsigned i = 0; i < type->position.count; i++)
		ge_put(&type->position, raw, i, at[i] / (double)m->scale[i]);
}

static uint32_t patch_vertices(const struct mhp_patch *p)
{
	return p->style == PATCH_FAN ? p->cols + 1u : (uint32_t)p->rows * p->cols;
}

static void add_patch_vertices(struct buf *b, const struct mhp_model *m, const struct ge_vertex *type,
			       const struct mhp_patch *p)
{
	bool fan = p->style == PATCH_FAN;

	if (fan)
		add_vertex(b, m, type, p, 0, 0);
	for (unsigned i = 0; i < (fan ? 1u : p->rows); i++)
		for (unsigned j = 0; j < p->cols; j++)
			add_vertex(b, m, type, p, j / (p->cols - 1.0), fan ? 1 : i / (p->rows - 1.0));
}

/* ---- model: primitives ---- */

static void add_prim(struct buf *b, unsigned type, unsigned count)
{
	add32(b, ge_word(GE_PRIM, type << 16 | count));
}

static void add_patch_prims(struct buf *b, const struct mhp_patch *p)
{
	switch (p->style) {
	case PATCH_STRIPS:
		for (unsigned i = 1; i < p->rows; i++)
			add_prim(b, GE_STRIP, 2u * p->cols);
		break;
	case PATCH_LIST:
		add_prim(b, GE_TRIANGLES, 6u * (p->rows - 1u) * (p->cols - 1u));
		break;
	default:
		add_prim(b, GE_FAN, p->cols + 1u);
	}
}

static void add_indices(struct buf *b, const struct ge_vertex *type, const uint32_t *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (type->index_size == 1)
			buf_char(b, (char)v[i]);
		else
			add16(b, v[i]);
	}
}

static void add_patch_indices(struct buf *b, const struct ge_vertex *type, const struct mhp_patch *p, uint32_t first)
{
	bool list = p->style == PATCH_LIST;

	if (p->style == PATCH_FAN) {
		for (uint32_t i = first; i < first + patch_vertices(p); i++)
			add_indices(b, type, &i, 1);
		return;
	}
	for (unsigned i = 0; i + 1 < p->rows; i++) {
		for (unsigned j = 0; j + list < p->cols; j++) {
			uint32_t here = first + i * p->cols + j, below = here + p->cols;
			const uint32_t corners[6] = { here, below, here + 1, below, below + 1, here + 1 };

			add_indices(b, type, corners, list ? 6 : 2);
		}
	}
}

/* ---- model: groups and tables (3.1 to 3.6) ---- */

/* Display list, vertices, indices; and the group's record. Offsets count from the start of the region. */
static void add_group(struct buf *region, struct buf *record, const struct mhp_model *m, const struct mhp_group *g,
		      unsigned first_palette)
{
	struct ge_vertex type = { 0 };
	size_t list = region->len, vertices, indices;
	uint32_t first = 0;

	ge_vertex_type(g->vertex_type, &type);
	add32(region, ge_word(GE_ORIGIN, 0));          /* addresses count from this command */
	add32(region, ge_word(GE_BASE, 0));
	add32(region, 0);                              /* IADDR, VADDR: below */
	add32(region, 0);
	add32(region, ge_word(GE_VTYPE, g->vertex_type));
	add32(region, ge_word(GE_FFACE, 0));
	for (unsigned i = 0; i < g->npatches; i++)
		add_patch_prims(region, &g->patches[i]);
	add32(region, ge_word(GE_OFFSETADDR, 0));
	add32(region, ge_word(GE_RET, 0));
	add_padding(region, 0, 16);

	vertices = region->len;
	for (unsigned i = 0; i < g->npatches; i++)
		add_patch_vertices(region, m, &type, &g->patches[i]);
	add_padding(region, 0, 16);

	indices = region->len;
	for (unsigned i = 0; i < g->npatches; i++) {
		add_patch_indices(region, &type, &g->patches[i], first);
		first += patch_vertices(&g->patches[i]);
	}
	add_padding(region, 0, 16);
	set32(region, list + 8, ge_word(GE_IADDR, (uint32_t)(indices - list)));
	set32(region, list + 12, ge_word(GE_VADDR, (uint32_t)(vertices - list)));

	buf_char(record, (char)g->material);
	buf_char(record, (char)g->npalette);
	add16(record, first_palette);
	add32(record, (uint32_t)list);
	add32(record, (uint32_t)vertices);
	add32(record, (uint32_t)indices);
}

/* The tables of a model while they are filled, in file order. */
enum { T_MESH, T_GROUP, T_REMAP, T_PALETTE, T_MATERIAL, T_REGION, T_COUNT };

static void add_mesh(struct buf t[T_COUNT], const struct mhp_model *m, const struct mhp_mesh *mesh)
{
	add_f32(&t[T_MESH], (double)mesh->uv_scale[0]);
	add_f32(&t[T_MESH], (double)mesh->uv_scale[1]);
	add32(&t[T_MESH], mesh->lighting);
	add32(&t[T_MESH], mesh->blend);
	add16(&t[T_MESH], mesh->nmaterials);
	add16(&t[T_MESH], (uint32_t)t[T_REMAP].len);
	add16(&t[T_MESH], mesh->ngroups);
	add16(&t[T_MESH], (uint32_t)t[T_GROUP].len / 16);
	buf_add(&t[T_REMAP], mesh->materials, mesh->nmaterials);
	for (unsigned i = 0; i < mesh->ngroups; i++) {
		const struct mhp_group *g = &mesh->groups[i];

		add_group(&t[T_REGION], &t[T_GROUP], m, g, (unsigned)t[T_PALETTE].len / 2);
		buf_add(&t[T_PALETTE], g->palette, 2u * g->npalette);
	}
}

void mhp_build_pmo(struct buf *out, const struct mhp_model *m)
{
	struct buf t[T_COUNT] = { 0 };
	size_t start = out->len;

	for (unsigned i = 0; i < m->nmeshes; i++)
		add_mesh(t, m, &m->meshes[i]);
	for (unsigned i = 0; i < m->nmaterials; i++) {
		add32(&t[T_MATERIAL], m->materials[i].colour);
		add32(&t[T_MATERIAL], m->materials[i].ambient);
		add32(&t[T_MATERIAL], m->materials[i].image);
		add32(&t[T_MATERIAL], 0);
	}
	buf_add(out, "pmo\0" "1.0\0", 8);
	add32(out, 0);                                 /* size */
	add_f32(out, fmax(fmax((double)m->scale[0], (double)m->scale[1]), (double)m->scale[2]));       /* cull radius */
	for (unsigned i = 0; i < 3; i++)
		add_f32(out, (double)m->scale[i]);
	add16(out, m->nmeshes);
	add16(out, m->nmaterials);
	add_zeros(out, 0x20);                          /* six table offsets, and two words of zero */
	for (unsigned i = 0; i < T_COUNT; i++) {
		add_padding(out, start, 16);
		set_size(out, start + 0x20 + 4 * i, start);
		buf_add(out, t[i].p, t[i].len);
		out->bad |= t[i].bad;
		buf_free(&t[i]);
	}
	set_size(out, start + 8, start);
}

/* ---- texture bank (4) ---- */

/* Rows of 16 bytes or more are stored in blocks of 16 bytes x 8 rows (4.2); heights here are multiples of 8. */
static size_t swizzled(size_t x, size_t y, size_t pitch)
{
	return pitch % 16 ? y * pitch + x : y / 8 * pitch * 8 + x / 16 * 128 + y % 8 * 16 + x % 16;
}

static void add_pixels(struct buf *b, const struct mhp_picture *p)
{
	unsigned bits = p->format == 3 ? 32 : p->format == 4 ? 4 : 8;
	size_t pitch = p->w * bits / 8, from = b->len;

	add_zeros(b, pitch * p->h);
	for (unsigned y = 0; y < p->h && !b->bad; y++) {
		for (unsigned x = 0; x < p->w; x++) {
			uint8_t *at = b->p + from + swizzled(x * bits / 8, y, pitch);
			unsigned i = p->index(x, y);

			if (bits == 32)
				put_le32(at, p->colour(i, 0));
			else if (bits == 4)
				*at |= (uint8_t)(i << 4 * (x & 1));    /* the left pixel in the low nibble */
			else
				*at = (uint8_t)i;
		}
	}
}

static void add_clut(struct buf *b, const struct mhp_picture *p)
{
	unsigned ncolours = p->format == 4 ? 16 : 256;
	size_t from = b->len;

	add32(b, 0);
	add32(b, 2);
	add32(b, p->clut);
	add32(b, p->palettes * ncolours);
	for (unsigned k = 0; k < p->palettes; k++) {
		for (unsigned i = 0; i < ncolours; i++) {
			uint8_t rgba[4];

			put_le32(rgba, p->colour(i, k));
			if (p->clut == 3)
				buf_add(b, rgba, 4);
			else
				add16(b, ge_colour_put(p->clut, rgba));
		}
	}
	set_size(b, from, from);
}

void mhp_build_tmh(struct buf *out, const struct mhp_bank *bank)
{
	buf_str(out, ".TMH0.14");
	add32(out, bank->n);
	add32(out, 0);
	for (unsigned i = 0; i < bank->n; i++) {
		const struct mhp_picture *p = &bank->pictures[i];
		size_t image = out->len, pixels = image + 16;

		add_zeros(out, 8);
		add32(out, 1);
		add32(out, p->palettes != 0);
		add32(out, 0);
		add32(out, 1);
		add32(out, p->format);
		add16(out, p->w);
		add16(out, p->h);
		add_pixels(out, p);
		set_size(out, pixels, pixels);
		if (p->palettes)
			add_clut(out, p);
		set_size(out, image, image);
	}
}

/* ---- skeleton (5.1) ---- */

#define BONE_SIZE 0x10cu

static uint32_t next_with_parent(const struct mhp_skeleton *s, uint32_t from, int32_t parent)
{
	for (uint32_t i = from; i < s->n; i++)
		if (s->bones[i].parent == parent)
			return i;
	return UINT32_MAX;
}

static void add_vector(struct buf *b, const float v[3])
{
	for (unsigned i = 0; i < 3; i++)
		add_f32(b, (double)v[i]);
	add_f32(b, 1);
}

void mhp_build_ahi(struct buf *out, const struct mhp_skeleton *s)
{
	static const float one[3] = { 1, 1, 1 }, zero[3] = { 0 };
	size_t start = out->len;

	add32(out, 0xc0000000);
	add32(out, s->n + 1);
	add32(out, 0);
	/* The parameter section: tag, count, size; one root chain, at bone 0. */
	add32(out, 0);
	add32(out, 1);
	add32(out, 16);
	add32(out, 0);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mhp_bone *bone = &s->bones[i];
		size_t from = out->len;

		add32(out, 0x40000001);
		add32(out, 1);
		add32(out, BONE_SIZE);
		add32(out, i);
		add32(out, (uint32_t)bone->parent);
		add32(out, next_with_parent(s, i + 1, (int32_t)i));
		add32(out, next_with_parent(s, i + 1, bone->parent));
		add_vector(out, one);
		add_vector(out, zero);
		add_vector(out, bone->offset);
		add32(out, UINT32_MAX);
		add32(out, bone->part);
		add_zeros(out, BONE_SIZE - (out->len - from));
	}
	set_size(out, start + 8, start);
}

/* ---- animation pack (5.2, 5.4) ---- */

static void add_track(struct buf *b, const struct mhp_track *t)
{
	size_t track = b->len;
	uint32_t mask = 0x80000000;

	for (uint32_t i = 0; i < t->nchannels; i++)
		mask |= t->channels[i].bit;
	add32(b, mask);
	add32(b, t->nchannels);
	add32(b, 0);
	for (uint32_t i = 0; i < t->nchannels; i++) {
		const struct mhp_channel *c = &t->channels[i];

		add32(b, 0x80120000 | c->bit);
		add32(b, c->nkeys);
		add32(b, 12 + 8 * c->nkeys);
		for (uint32_t k = 0; k < 4 * c->nkeys; k++)
			add16(b, (uint32_t)c->keys[k / 4][k % 4]);
	}
	set_size(b, track + 8, track);
}

static void add_clip(struct buf *b, const struct mhp_clip *c)
{
	size_t clip = b->len;

	add32(b, 0x80000002);
	add32(b, c->ntracks);
	add32(b, 0);
	add32(b, c->loop);
	add_f32(b, 0);
	for (uint32_t i = 0; i < c->ntracks; i++)
		add_track(b, &c->tracks[i]);
	set_size(b, clip + 8, clip);
}

void mhp_build_anm(struct buf *out, const struct mhp_pack *p)
{
	const uint32_t table = 8 * 3;
	size_t start = out->len;

	for (uint32_t i = 0; i < 2; i++) {
		add32(out, p->nslots);
		add32(out, table + 4 * i * p->nslots);
	}
	add32(out, 0);
	add32(out, table + 8 * p->nslots);
	for (uint32_t i = 0; i < 2 * p->nslots; i++)
		add32(out, UINT32_MAX);
	for (uint32_t k = 0; k < p->nclips; k++) {
		for (uint32_t i = 0; i < p->nslots; i++)
			if (p->slots[i] == (int32_t)k)
				set_size(out, start + table + 4 * i, start);
		add_clip(out, &p->clips[k]);
	}
}

/* ---- containers (2, 1) ---- */

static void add_item(struct buf *out, const struct mhp_item *item)
{
	switch (item->kind) {
	case MHP_TEXT: buf_str(out, item->what); break;
	case MHP_PMO: mhp_build_pmo(out, item->what); break;
	case MHP_TMH: mhp_build_tmh(out, item->what); break;
	case MHP_AHI: mhp_build_ahi(out, item->what); break;
	case MHP_ANM: mhp_build_anm(out, item->what); break;
	case MHP_PAC: mhp_build_pac(out, item->what); break;
	case MHP_BYTES: {
		const struct mhp_bytes *bytes = item->what;

		buf_add(out, bytes->p, bytes->n);
		break;
	}
	default: break;
	}
}

void mhp_build_pac(struct buf *out, const struct mhp_list *entries)
{
	size_t start = out->len;

	add32(out, entries->n);
	add_zeros(out, 8u * entries->n);
	for (uint32_t i = 0; i < entries->n; i++) {
		size_t entry;

		if (entries->items[i].kind == MHP_NOTHING)
			continue;
		add_padding(out, start, 16);
		entry = out->len;
		add_item(out, &entries->items[i]);
		set32(out, start + 4 + 8 * i, entry - start);
		set_size(out, start + 8 + 8 * i, entry);
	}
}

static void encrypt(struct buf *b, size_t from, uint32_t start_block)
{
	if (!b->bad)
		mhp_cipher.encrypt(start_block, 0, b->p + from, b->len - from);
}

void mhp_build_databin(struct buf *out, const struct mhp_list *files)
{
	size_t start = out->len, pair = start + 4 * (files->n + 1u), npairs = 0, table;

	for (uint32_t i = 0; i < files->n; i++)
		npairs += files->items[i].exact;
	table = align_up(4 * (files->n + 1u) + 8 * npairs, BLOCK);
	add_zeros(out, table);
	for (uint32_t i = 0; i < files->n; i++) {
		size_t file = out->len;

		set32(out, start + 4 * i, (file - start) / BLOCK);
		add_item(out, &files->items[i]);
		if (files->items[i].exact) {
			set32(out, pair, i);
			set_size(out, pair + 4, file);
			pair += 8;
		}
		add_padding(out, start, BLOCK);
		add_zeros(out, files->items[i].slack * BLOCK);
		encrypt(out, file, (uint32_t)((file - start) / BLOCK));
	}
	set32(out, start + 4 * files->n, (out->len - start) / BLOCK);
	if (!out->bad)
		mhp_cipher.encrypt(0, 0, out->p + start, table);
}
