#include "build_pmo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"
#include "ge.h"
#include "opened.h"

extern const struct format fmt_pmo;

/* ---- commands ---- */

uint32_t prim(unsigned type, uint32_t count)
{
	return ge_word(GE_PRIM, type << 16 | count);
}

uint32_t fface(unsigned reversed)
{
	return ge_word(GE_FFACE, reversed);
}

/* ---- tables ---- */

void build_material(struct build_pmo *b, uint32_t colour, uint32_t ambient, uint8_t texture, uint32_t leftover)
{
	put32(&b->materials, colour);
	put32(&b->materials, ambient);
	put32(&b->materials, texture);
	put32(&b->materials, leftover);
	b->nmaterials++;
}

void build_mesh(struct build_pmo *b, const float scale[4], const float uv_scale[2], const float uv_offset[2])
{
	for (unsigned i = 0; i < 4 && b->v102; i++)
		put_float(&b->meshes, scale[i]);
	for (unsigned i = 0; i < 2; i++)
		put_float(&b->meshes, uv_scale[i]);
	for (unsigned i = 0; i < 2 && b->v102; i++)
		put_float(&b->meshes, uv_offset[i]);
	put32(&b->meshes, 0x80000003);
	put32(&b->meshes, 0xdf000032);
	put16(&b->meshes, 0);                  /* remap entries */
	put16(&b->meshes, b->nremap);
	put16(&b->meshes, 0);                  /* groups */
	put16(&b->meshes, b->ngroups);
	b->nmeshes++;
}

/* The last 16 bytes of the last mesh record. */
static uint8_t *last_mesh(struct build_pmo *b)
{
	return b->meshes.p + b->meshes.len - 16;
}

void build_remap(struct build_pmo *b, uint8_t material)
{
	put8(&b->remap, material);
	b->nremap++;
	last_mesh(b)[8]++;
}

void build_palette(struct build_pmo *b, uint8_t slot, uint8_t bone)
{
	put8(&b->palette, slot);
	put8(&b->palette, bone);
	b->npalette++;
}

/* ---- geometry ---- */

static uint32_t place(struct build_pmo *b, const void *p, size_t n)
{
	uint32_t at;

	put_zeros(&b->region, b->v102 ? 4 : 16);
	at = (uint32_t)b->region.len;
	buf_add(&b->region, p, n);
	return at;
}

void build_group(struct build_pmo *b, const struct build_group *g)
{
	uint16_t k = b->ngroups++;
	uint32_t words[64], n = 0, list, iaddr = 0, vaddr;

	words[n++] = ge_word(GE_ORIGIN, 0);
	words[n++] = ge_word(GE_BASE, 0);
	if (g->indices && !g->no_iaddr)
		iaddr = n++;
	vaddr = n++;
	words[n++] = ge_word(GE_VTYPE, g->vertex_type);
	for (const uint32_t *w = g->draw; *w; w++)
		words[n++] = *w;
	words[n++] = ge_word(GE_OFFSETADDR, 0);
	words[n++] = ge_word(GE_RET, 0);

	list = place(b, words, n * 4);
	b->list[k] = list;
	b->words[k] = n;
	b->vertices[k] = place(b, g->vertices, g->nvertices);
	b->indices[k] = g->indices ? place(b, g->indices, g->nindices) : 0;
	if (iaddr)
		words[iaddr] = ge_word(GE_IADDR, b->indices[k] - list);
	words[vaddr] = ge_word(GE_VADDR, b->vertices[k] - list);
	for (uint32_t i = 0; i < n; i++)
		put_le32(b->region.p + list + 4 * i, words[i]);

	put8(&b->groups, g->material);
	put8(&b->groups, b->npalette - b->group_palette);
	put16(&b->groups, b->group_palette);
	put32(&b->groups, b->list[k]);
	put32(&b->groups, b->vertices[k]);
	put32(&b->groups, b->indices[k]);
	b->group_palette = b->npalette;
	put_le16(last_mesh(b) + 12, (uint16_t)(le_u16(last_mesh(b) + 12) + 1));
}

/* ---- the file ---- */

static uint32_t append(struct buf *out, struct buf *table)
{
	uint32_t at;

	put_zeros(out, 16);
	at = (uint32_t)out->len;
	buf_add(out, table->p, table->len);
	return at;
}

void build_pmo(struct build_pmo *b, struct buf *out, struct buf *behind)
{
	struct buf none = { 0 };
	const uint32_t *offsets[6] = { &b->at_meshes, &b->at_groups, &b->at_remap, &b->at_palette, &b->at_materials,
				       &b->at_geometry };

	memset(out, 0, sizeof *out);
	for (unsigned i = 0; i < 0x40; i++)
		put8(out, 0);
	put_zeros(&b->region, 16);
	b->at_meshes = append(out, &b->meshes);
	b->at_groups = append(out, &b->groups);
	b->at_remap = b->no_remap ? 0 : append(out, &b->remap);
	b->at_palette = append(out, &b->palette);
	b->at_materials = append(out, &b->materials);
	b->at_geometry = append(out, b->behind ? &none : &b->region);
	b->size = (uint32_t)(b->at_geometry + b->region.len);

	memcpy(out->p, b->v102 ? "pmo\0" "102" : "pmo\0" "1.0", 8);
	put_le32(out->p + 0x08, b->size);
	put_le32(out->p + 0x0c, f32_bits(20));
	for (unsigned i = 0; i < 3; i++)
		put_le32(out->p + 0x10 + 4 * i, f32_bits(b->scale[i]));
	put_le16(out->p + 0x1c, b->nmeshes);
	put_le16(out->p + 0x1e, b->nmaterials);
	for (unsigned i = 0; i < 6; i++)
		put_le32(out->p + 0x20 + 4 * i, *offsets[i]);
	if (behind) {
		*behind = b->region;
		b->region = none;
	}
	buf_free(&b->meshes);
	buf_free(&b->groups);
	buf_free(&b->remap);
	buf_free(&b->palette);
	buf_free(&b->materials);
	buf_free(&b->region);
}

/* ---- opened models ---- */

static struct source *following(const struct surroundings *s, unsigned k, struct err *e)
{
	const struct model *m = (const struct model *)s;

	(void)e;
	return k == 1 && m->next ? src_ref(m->next) : NULL;
}

void model_open_any(struct model *m)
{
	struct err why = { 0 };

	m->around.following = following;
	m->src = src_memory(m->bytes.p, m->bytes.len);
	m->next = m->behind.len ? src_memory(m->behind.p, m->behind.len) : NULL;
	if (object_open(&fmt_pmo, m->src, &m->around, &m->o, &why))
		fail_msg("%s", why.text);
	assert_non_null(m->o->variant);
}

void model_open(struct model *m)
{
	model_open_any(m);
	if (m->o->faults)
		fail_msg("%s", m->o->faults->text);
}

void model_build(struct model *m, struct build_pmo *b)
{
	*m = (struct model){ 0 };
	build_pmo(b, &m->bytes, b->behind ? &m->behind : NULL);
	model_open(m);
}

void model_close(struct model *m)
{
	if (!m->o->faults)
		sound(m->o);
	object_close(m->o);
	src_put(m->src);
	src_put(m->next);
	buf_free(&m->bytes);
	buf_free(&m->behind);
	arena_free(&m->arena);
}

void model_mesh(struct model *m, uint32_t i, struct geo_mesh *out)
{
	struct err why = { 0 };

	if (fmt_pmo.model->mesh(m->o, i, out, &m->arena, &why))
		fail_msg("%s", why.text);
	assert_int_equal(fmt_pmo.model->skinned(m->o, i), out->skinned);
}

void expect_floats(const float *got, const float *want, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (f32_bits(got[i]) != f32_bits(want[i]))
			fail_msg("value %u is %.9g, expected %.9g", i, got[i], want[i]);
}

void expect_faces(const struct geo_mesh *g, const uint32_t (*want)[3], uint32_t n)
{
	assert_int_equal(g->nfaces, n);
	for (uint32_t i = 0; i < n; i++)
		if (memcmp(g->face[i], want[i], sizeof *want))
			fail_msg("face %u is %u %u %u, expected %u %u %u", i, g->face[i][0], g->face[i][1],
				 g->face[i][2], want[i][0], want[i][1], want[i][2]);
}

const float ones[4] = { 1, 1, 1, 1 }, zeros[4] = { 0 };
const int8_t points[3 * 64];

void model_draw(struct model *m, const uint8_t *indices, size_t n, const uint32_t *draw)
{
	struct build_pmo b = { .scale = { 1, 1, 1 } };
	struct build_group group = { 0, indices ? 0x880 : 0x80, points, indices, sizeof points, n, draw };

	build_mesh(&b, ones, ones, zeros);
	build_group(&b, &group);
	model_build(m, &b);
}
