#include "models.h"

#include <string.h>

#include "build_arc.h"
#include "build_jom.h"
#include "build_mhp.h"
#include "build_mlp.h"
#include "build_mod3.h"
#include "build_pak.h"
#include "build_pmo.h"
#include "build_tex.h"
#include "build_tmh.h"
#include "ge.h"

#define SIDE 3u                                /* vertices of a grid, each way */

/* ---- models ---- */

/* A component of `bytes` bytes, or nothing. */
static void put(struct buf *b, unsigned format, unsigned value)
{
	if (format == 1)
		put8(b, value);
	else if (format == 2)
		put16(b, value << 7);
	else if (format == 3)
		put_float(b, (float)value / 64);
}

static void align(struct buf *b, size_t start, unsigned to)
{
	while ((b->len - start) % to && !b->bad)
		put8(b, 0);
}

static unsigned size_of(const struct ge_field *f)
{
	return f->format == 3 ? 4 : f->format;
}

/* Fields in their order in a vertex, each at a multiple of its component's size. */
static void put_vertex(struct buf *b, const struct ge_vertex *v, unsigned x, unsigned y)
{
	size_t start = b->len;

	for (unsigned i = 0; i < v->weight.count && v->weight.format; i++)
		put(b, v->weight.format, i ? 32 : 96);
	if (v->uv.format)
		align(b, start, size_of(&v->uv));
	for (unsigned i = 0; i < 2 && v->uv.format; i++)
		put(b, v->uv.format, 20 * (i ? y : x) + 3);
	if (v->colour.format) {
		align(b, start, v->colour.format == 7 ? 4 : 2);
		put16(b, 0x4321 + x);
		if (v->colour.format == 7)
			put16(b, 0xff10 + y);
	}
	if (v->normal.format)
		align(b, start, size_of(&v->normal));
	for (unsigned i = 0; i < 3 && v->normal.format; i++)
		put(b, v->normal.format, i == 2 ? 127 : 0);
	align(b, start, size_of(&v->position));
	for (unsigned i = 0; i < 3; i++)
		put(b, v->position.format, i == 2 ? x * y : 30 * (i ? y : x));
	while (b->len - start < v->size && !b->bad)
		put8(b, 0);
}

static void add_grid(struct build_pmo *b, uint8_t material, uint32_t type)
{
	static const uint8_t corners[6][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 0 }, { 1, 1 }, { 0, 1 } };
	struct buf vertices = { 0 }, indices = { 0 };
	struct ge_vertex v;
	uint32_t n = 0;

	if (ge_vertex_type(type, &v))
		return;
	for (unsigned y = 0; y < SIDE; y++)
		for (unsigned x = 0; x < SIDE; x++)
			put_vertex(&vertices, &v, x, y);
	for (unsigned k = 0; k < 6 * (SIDE - 1) * (SIDE - 1) && v.index_size; k++, n++) {
		unsigned cell = k / 6, x = cell % (SIDE - 1) + corners[k % 6][0], y = cell / (SIDE - 1) + corners[k % 6][1];

		(v.index_size == 1 ? put8 : put16)(&indices, y * SIDE + x);
	}
	for (unsigned i = 0; i < v.weight.count && v.weight.format; i++)
		build_palette(b, (uint8_t)i, (uint8_t)(i + material));
	build_group(b, &(struct build_group){
		material, type, vertices.p, indices.p, vertices.len, indices.len,
		(const uint32_t[]){ n ? prim(GE_TRIANGLES, n) : prim(GE_STRIP, SIDE * SIDE), 0 } });
	buf_free(&vertices);
	buf_free(&indices);
}

static void add_mesh(struct build_pmo *b, const uint32_t *types)
{
	build_mesh(b, ones, ones, zeros);
	build_remap(b, 0);
	build_remap(b, 1);
	for (unsigned i = 0; types[i]; i++)
		add_grid(b, (uint8_t)(i % 2), types[i]);
}

/* Vertex types: weights, index size, normals, colours, s8 and s16 positions and UV. */
static void build_model(struct buf *out, struct buf *behind, bool v102)
{
	static const uint32_t first[] = { 0x0a21 | 1 << 11, 0x4b22, 0x0122, 0 }, second[] = { 0x091e, 0x1322, 0 };
	struct build_pmo b = { .v102 = v102, .behind = behind, .scale = { 2, 1, 1 } };

	build_material(&b, 0xffffffff, 0, 0, 0);
	build_material(&b, 0xff8040c0, 0x10, 1, 7);
	add_mesh(&b, first);
	add_mesh(&b, second);
	build_pmo(&b, out, behind);
}

/* ---- pictures ---- */

static void build_bank(struct buf *out)
{
	begin_bank(out, 8);
	add_image(out, (struct picture){ F5650, 16, 8, NULL, 256, 0, 0, NULL });
	add_image(out, (struct picture){ F5551, 8, 8, NULL, 128, 0, 0, NULL });
	add_image(out, (struct picture){ F4444, 8, 8, NULL, 128, 0, 0, NULL });
	add_image(out, (struct picture){ CLUT4, 32, 8, NULL, 128, F4444, 16, NULL });
	add_image(out, (struct picture){ CLUT8, 16, 8, NULL, 128, F8888, 256, NULL });
	add_image(out, (struct picture){ DXT1, 8, 8, NULL, 32, 0, 0, NULL });
	add_image(out, (struct picture){ DXT3, 8, 8, NULL, 64, 0, 0, NULL });
	add_image(out, (struct picture){ DXT5, 8, 8, NULL, 64, 0, 0, NULL });
}

/* ---- the archive ---- */

void models_databin(struct buf *out)
{
	struct buf whole = { 0 }, table = { 0 }, region = { 0 }, bank = { 0 }, pac = { 0 };

	build_model(&whole, NULL, false);
	build_model(&table, &region, true);
	build_bank(&bank);
	build_pac(&pac, (const struct build_bytes[]){ { whole.p, whole.len }, { bank.p, bank.len } }, 2, 16);
	build_databin(out, (const struct build_file[]){
		{ pac.p, pac.len, false, false, 1 }, { table.p, table.len, true }, { region.p, region.len, true },
		{ bank.p, bank.len, true }, { whole.p, whole.len } }, 5, true);
	out->bad |= whole.bad || table.bad || region.bad || bank.bad || pac.bad;
	buf_free(&whole);
	buf_free(&table);
	buf_free(&region);
	buf_free(&bank);
	buf_free(&pac);
}

/* ---- one model a file ---- */

void models_mod3(struct buf *out)
{
	struct build_mod3 b = { 0 };

	build_all_types(&b, out);
}

void models_jom(struct buf *out)
{
	build_jom_hut(out);
}

void models_quartet(struct buf out[3])
{
	struct build_mlp b;
	struct buf part[BUILD_PARTS];

	build_three(&b, part);
	memcpy(out, part, 3 * sizeof *out);
}

void models_tex(struct buf *out)
{
	*out = build_tex((struct build_tex){ .code = 7, .w = 8, .h = 4, .levels = 3 });
}

/* ---- packed ---- */

void models_arc(struct buf *out)
{
	static const char text[] = "a text that is no model, a text that is no model";
	struct buf model = { 0 }, picture = { 0 }, bank = { 0 }, pac = { 0 }, inner = { 0 };

	models_mod3(&model);
	models_tex(&picture);
	build_bank(&bank);
	build_pac(&pac, (const struct build_bytes[]){ { bank.p, bank.len } }, 1, 16);
	build_arc(&inner, &(struct build_arc){ 0x11 }, (const struct build_file_in_arc[]){
		{ "deep\\model", ARC_TYPE_MOD, model.p, model.len, 6 },
		{ "deep\\bank", 0x1234, pac.p, pac.len, 9 } }, 2);
	build_arc(out, &(struct build_arc){ 7, .gap = 30 }, (const struct build_file_in_arc[]){
		{ "pl\\body", ARC_TYPE_MOD, model.p, model.len, 9 },
		{ "pl\\body", ARC_TYPE_TEX, picture.p, picture.len, 1 },
		{ "in", ARC_TYPE_ARC, inner.p, inner.len, 9 }, { "text", ARC_TYPE_GMD, text, sizeof text - 1, 9 } }, 4);
	out->bad |= model.bad || picture.bad || bank.bad || pac.bad || inner.bad;
	buf_free(&model);
	buf_free(&picture);
	buf_free(&bank);
	buf_free(&pac);
	buf_free(&inner);
}

void models_pak(struct buf *out)
{
	struct buf part[3], model = { 0 }, picture = { 0 };

	models_quartet(part);
	models_mod3(&model);
	models_tex(&picture);
	build_pak(out, &(struct build_pak){ .align = 16, .gap = 100 }, (const struct build_file_in_pak[]){
		{ "x.mlp", part[0].p, part[0].len }, { "x.mmp", part[1].p, part[1].len },
		{ "x.mgp", part[2].p, part[2].len }, { "pl/body.mod3", model.p, model.len },
		{ "pl/body.tex", picture.p, picture.len } }, 5);
	out->bad |= part[0].bad || part[1].bad || part[2].bad || model.bad || picture.bad;
	for (unsigned k = 0; k < 3; k++)
		buf_free(&part[k]);
	buf_free(&model);
	buf_free(&picture);
}

/* ---- carved ---- */

void models_hidden(struct buf *out)
{
	static const size_t at[3] = { 100, 0x800, 0xa00 };
	struct build_mlp b;
	struct buf part[BUILD_PARTS];
	uint32_t seed = 1;

	for (unsigned i = 0; i < 0x1000; i++) {
		seed = seed * 1664525 + 1013904223;
		put8(out, seed >> 24);
	}
	build_three_apart(&b, part);
	for (unsigned k = 0; k < 3; k++) {
		out->bad |= part[k].bad || at[k] + part[k].len > (k < 2 ? at[k + 1] : out->len);
		if (!out->bad)
			memcpy(out->p + at[k], part[k].p, part[k].len);
		buf_free(&part[k]);
	}
}
