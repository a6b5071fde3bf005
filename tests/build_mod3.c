#include "build_mod3.h"

#include <math.h>
#include <string.h>

#include "bytes.h"

const struct build_type build_types[BUILD_TYPES] = {
	{ "IANonSkin1UV", 0xa756f2f9, 24, 1, 0, false }, { "IANonSkin1UVColor", 0x818904dc, 28, 1, 0, true },
	{ "IANonSkin2UV", 0xa5104ca0, 28, 2, 0, false }, { "IANonSkin2UVColor", 0x0f06033f, 32, 2, 0, true },
	{ "IANonSkin3UVColor", 0xc3ac03a1, 36, 3, 0, true }, { "IANonSkin4UVColor", 0xc9690ab8, 40, 4, 0, true },
	{ "IASkin4wt1UV", 0xf637401c, 32, 1, 4, false }, { "IASkin4wt1UVColor", 0x3c730760, 36, 1, 4, true },
	{ "IASkin4wt2UV", 0xf471fe45, 36, 2, 4, false }, { "IASkin4wt2UVColor", 0xb2fc0083, 40, 2, 4, true },
	{ "IASkin8wt1UV", 0x81f58067, 40, 1, 8, false }, { "IASkin8wt1UVColor", 0x366995a7, 44, 1, 8, true },
	{ "IASkin8wt2UV", 0x83b33e3e, 44, 2, 8, false }, { "IASkin8wt2UVColor", 0xb8e69244, 48, 2, 8, true },
};

const struct build_type *build_type(const char *name)
{
	for (unsigned i = 0; i < BUILD_TYPES; i++)
		if (!strcmp(build_types[i].name, name))
			return &build_types[i];
	return NULL;
}

/* ---- changing ---- */

void set8(struct buf *b, size_t at, unsigned v)
{
	b->p[at] = (uint8_t)v;
}

void set16(struct buf *b, size_t at, unsigned v)
{
	put_le16(b->p + at, (uint16_t)v);
}

void set32(struct buf *b, size_t at, uint32_t v)
{
	put_le32(b->p + at, v);
}

void set64(struct buf *b, size_t at, uint64_t v)
{
	put_le64(b->p + at, v);
}

static void fill(struct buf *b, unsigned v, unsigned n)
{
	while (n--)
		put8(b, v);
}

/* ---- bones ---- */

static void put_matrix(struct buf *b, float x, float y, float z)
{
	for (unsigned i = 0; i < 12; i++)
		put_float(b, i % 5 ? 0 : 1);
	put_float(b, x);
	put_float(b, y);
	put_float(b, z);
	put_float(b, 1);
}

void build_bone(struct build_mod3 *b, unsigned parent, float x, float y, float z)
{
	unsigned i = b->nbones++;
	float *world = b->world[i];

	if (!i)
		memset(b->remap, 0xff, sizeof b->remap);
	put16(&b->bones, i);
	put8(&b->bones, parent);
	put8(&b->bones, 255);
	put_float(&b->bones, 10);
	put_float(&b->bones, sqrtf(x * x + y * y + z * z));
	put_float(&b->bones, x);
	put_float(&b->bones, y);
	put_float(&b->bones, z);
	put_matrix(&b->local, x, y, z);
	world[0] = x + (parent < i ? b->world[parent][0] : 0);
	world[1] = y + (parent < i ? b->world[parent][1] : 0);
	world[2] = z + (parent < i ? b->world[parent][2] : 0);
	put_matrix(&b->inverse, -world[0], -world[1], -world[2]);
	b->remap[i] = (uint8_t)i;
}

/* ---- small records ---- */

void build_group_of(struct build_mod3 *b, uint32_t id)
{
	b->ngroups++;
	put32(&b->groups, id);
	fill(&b->groups, 0xcd, 12);
	put_float(&b->groups, 1);
	put_float(&b->groups, 2);
	put_float(&b->groups, 3);
	put_float(&b->groups, 4.5f);
}

void build_name(struct build_mod3 *b, const char *name)
{
	b->nmaterials++;
	buf_str(&b->materials, name);
	fill(&b->materials, 0, 128 - (unsigned)strlen(name));
}

static void put_four(struct buf *b, float x, float w)
{
	put_float(b, x);
	put_float(b, x);
	put_float(b, x);
	put_float(b, w);
}

void build_envelope(struct build_mod3 *b, uint32_t bone, bool own)
{
	b->nenvelopes++;
	if (own)
		b->meshes.p[b->meshes.len - 80 + 0x29]++;
	put32(&b->envelopes, bone);
	fill(&b->envelopes, 0xcd, 12);
	put_four(&b->envelopes, 0, sqrtf(3));
	put_four(&b->envelopes, -1, 0);
	put_four(&b->envelopes, 1, 0);
	put_matrix(&b->envelopes, 0, 0, 0);
	put_four(&b->envelopes, 1, 0);
}

/* ---- meshes ---- */

/* k / 8 as a half, k < 2048. */
static unsigned half_of_eighths(unsigned k)
{
	unsigned exp = 22, bits = k;           /* k / 8 = bits * 2^(exp - 25) */

	if (!k)
		return 0;
	for (; bits < 1024; exp--)
		bits *= 2;
	return exp << 10 | (bits & 1023);
}

static void put_weights(struct buf *out, const struct build_type *t)
{
	if (t->weights == 4) {
		put32(out, 600 | 300 << 10 | 100 << 20);
	} else {
		put32(out, 400 | 300 << 10 | 200 << 20);
		put32(out, 60 | 30 << 8 | 20 << 16 | 10 << 24);
	}
	for (unsigned i = 0; i < t->weights; i++)
		put8(out, i < 3 ? i : 0);
}

void build_vertex(struct buf *out, const struct build_type *t, unsigned k)
{
	put_float(out, (float)k);
	put_float(out, (float)k / 2);
	put_float(out, -(float)k);
	put32(out, 127 << 16);
	put32(out, 127u << 24 | 127);
	for (unsigned s = 0; s < t->uvs; s++) {
		put16(out, half_of_eighths(k + s));
		put16(out, 0x3400);
	}
	if (t->weights)
		put_weights(out, t);
	if (t->colour)
		put32(out, (10 + k) | 20 << 8 | 30 << 16 | 40u << 24);
}

/* The rule of spec/mod3.md 7.1. */
static void place_mesh(struct build_mod3 *b, const struct build_type *t, const struct build_mod3_mesh *m)
{
	if (b->stride != t->stride) {
		b->run = (uint32_t)b->vertices.len;
		b->base = b->sub = 0;
		b->stride = t->stride;
	} else if (m->new_base) {
		b->base += b->sub;
		b->sub = 0;
	}
}

static void put_record(struct build_mod3 *b, const struct build_type *t, const struct build_mod3_mesh *m, uint32_t sub)
{
	struct buf *r = &b->meshes;

	put16(r, 0x13);
	put16(r, m->nvertices);
	put16(r, 0);
	put16(r, 0);
	put16(r, 0xffff);
	put16(r, 0);
	put16(r, 1 + 8 * t->weights);
	put8(r, t->stride);
	put8(r, 0xc3);
	put32(r, sub);
	put32(r, b->run);
	put32(r, t->hash);
	put32(r, (uint32_t)(b->indices.len / 2));
	put32(r, m->nindices);
	put32(r, b->base);
	put16(r, 0);
	put16(r, b->nmeshes + 1u);
	put16(r, sub);
	put16(r, sub + m->nvertices - 1);
	put32(r, 0xffffffff);
	put32(r, 0);
	put32(r, t->weights == 8 ? 0x40000000 : t->weights ? 0x30000000 : 0);
	put32(r, b->nvertices);
	fill(r, 0, 16);
}

void build_mod3_mesh(struct build_mod3 *b, const struct build_mod3_mesh *m)
{
	const struct build_type *t = build_type(m->type);
	uint32_t sub;

	place_mesh(b, t, m);
	sub = m->same ? b->sub - m->nvertices : b->sub;
	b->first[b->nmeshes] = b->run + (b->base + sub) * t->stride;
	b->first_index[b->nmeshes] = (uint32_t)(b->indices.len / 2);
	put_record(b, t, m, sub);
	for (unsigned i = 0; i < m->nindices; i++)
		put16(&b->indices, (unsigned)(m->indices[i] + (int32_t)sub));
	b->nmeshes++;
	b->nvertices += m->nvertices;
	for (unsigned k = 0; k < m->nvertices && !m->same; k++)
		build_vertex(&b->vertices, t, k);
	b->sub += m->same ? 0 : m->nvertices;
}

void build_no_mesh(struct build_mod3 *b)
{
	b->nmeshes++;
	fill(&b->meshes, 0, 80);
}

/* ---- the file ---- */

static uint32_t append(struct buf *out, struct buf *part)
{
	uint32_t at = (uint32_t)out->len;

	buf_add(out, part->p, part->len);
	buf_free(part);
	return at;
}

static void put_header(struct build_mod3 *b, struct buf *out)
{
	set32(out, 0x00, 0x00444f4d);
	set8(out, 0x04, 237);
	set16(out, 0x06, b->nbones);
	set16(out, 0x08, b->nmeshes);
	set16(out, 0x0a, b->nmaterials);
	set32(out, 0x0c, b->nvertices);
	set32(out, 0x10, (b->at_trailer - b->at_indices) / 2);
	set32(out, 0x14, 0xffff);
	set32(out, 0x18, b->at_indices - b->at_vertices);
	set64(out, 0x20, b->ngroups);
	set64(out, 0x28, 1516924800);
	set64(out, 0x30, b->at_bones);
	set64(out, 0x38, b->at_groups);
	set64(out, 0x40, b->at_materials);
	set64(out, 0x48, b->at_meshes);
	set64(out, 0x50, b->at_vertices);
	set64(out, 0x58, b->at_indices);
	set64(out, 0x60, b->at_trailer);
	set32(out, 0x7c, f32_bits(2.5f));
	set32(out, 0x90, f32_bits(1.5f));
	set32(out, 0xa0, f32_bits(15000));
	set16(out, 0xa4, 1);
	set16(out, 0xa6, 5);
	set32(out, 0xec, f32_bits(720));
	set8(out, 0x100, 1);
}

void build_mod3(struct build_mod3 *b, struct buf *out)
{
	uint8_t count[4];

	*out = (struct buf){ 0 };
	fill(out, 0, 0x140);
	b->at_bones = b->nbones ? append(out, &b->bones) : 0;
	b->at_local = append(out, &b->local);
	b->at_inverse = append(out, &b->inverse);
	b->at_remap = (uint32_t)out->len;
	buf_add(out, b->remap, b->nbones ? sizeof b->remap : 0);
	put_zeros(out, 16);
	b->at_groups = append(out, &b->groups);
	b->at_materials = append(out, &b->materials);
	b->at_meshes = append(out, &b->meshes);
	b->at_envelopes = (uint32_t)out->len;
	put_le32(count, b->nenvelopes);
	buf_add(out, count, sizeof count);
	append(out, &b->envelopes);
	b->at_vertices = append(out, &b->vertices);
	b->at_indices = append(out, &b->indices);
	b->at_trailer = (uint32_t)out->len;
	put_header(b, out);
	put_zeros(out, 4);
	set64(out, 0x60, out->len);
	b->at_trailer = (uint32_t)out->len;
	put32(out, 4);
	fill(out, 0, 20);
	b->size = (uint32_t)out->len;
}

void build_all_types(struct build_mod3 *b, struct buf *out)
{
	static const int32_t faces[] = { 0, 1, 2, 2, 1, 3 };

	*b = (struct build_mod3){ 0 };
	build_bone(b, 255, 0, 8, 0);
	build_bone(b, 0, 3, 0, 4);
	build_bone(b, 1, 0, -1, 0);
	build_group_of(b, 0);
	build_group_of(b, 7);
	build_name(b, "skin");
	build_name(b, "cloth");
	build_name(b, "skin");
	for (unsigned i = 0; i < BUILD_TYPES; i++) {
		build_mod3_mesh(b, &(struct build_mod3_mesh){ build_types[i].name, 4, faces, ARRAY_LEN(faces) });
		build_envelope(b, build_types[i].weights ? 1 : 255, true);
	}
	build_mod3(b, out);
}
