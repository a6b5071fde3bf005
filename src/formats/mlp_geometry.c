/* The geometry of a rigid mesh (spec/ps3-pak.md 5), and packed normals. Their words are never floats: many would be
 * NaN. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mlp.h"

/* ---- normals ----
 *
 *   bits 0-10 x, 11-21 y: signed, in 32/32767
 *   bits 22-31 z: signed, in 64/32767 */

#define XY_BITS 11u
#define Z_BITS 10u
#define XY_UNIT 32
#define Z_UNIT 64
#define ONE 32767

static int32_t extend(uint32_t v, unsigned bits)
{
	uint32_t sign = 1u << (bits - 1);

	return (int32_t)((v & (2 * sign - 1)) ^ sign) - (int32_t)sign;
}

void mlp_normal(uint32_t word, float out[3])
{
	out[0] = (float)(extend(word, XY_BITS) * XY_UNIT / (double)ONE);
	out[1] = (float)(extend(word >> XY_BITS, XY_BITS) * XY_UNIT / (double)ONE);
	out[2] = (float)(extend(word >> 2 * XY_BITS, Z_BITS) * Z_UNIT / (double)ONE);
}

/* 0.95 and 1.05, squared, in hundredths of hundredths. */
bool mlp_normal_likely(uint32_t word)
{
	int64_t x = extend(word, XY_BITS) * XY_UNIT, y = extend(word >> XY_BITS, XY_BITS) * XY_UNIT;
	int64_t z = extend(word >> 2 * XY_BITS, Z_BITS) * Z_UNIT, length = 10000 * (x * x + y * y + z * z);

	return length >= (int64_t)9025 * ONE * ONE && length <= (int64_t)11025 * ONE * ONE;
}

static uint32_t quantise(double v, int unit, unsigned bits)
{
	double most = 1 << (bits - 1), q = round(v * ONE / unit);

	q = q < -most ? -most : q > most - 1 ? most - 1 : q;
	return (uint32_t)(int32_t)q & ((1u << bits) - 1);
}

uint32_t mlp_normal_word(const double n[3])
{
	return quantise(n[0], XY_UNIT, XY_BITS) | quantise(n[1], XY_UNIT, XY_BITS) << XY_BITS |
	       quantise(n[2], Z_UNIT, Z_BITS) << 2 * XY_BITS;
}

/* ---- slices ---- */

static int read_slice(const struct object *o, unsigned part, uint64_t at, uint32_t n, const char *what, uint8_t **out,
		      struct arena *a, struct err *e)
{
	*out = arena_alloc(a, (size_t)n + 1, 1);
	if (!*out)
		return err_nomem(e);
	return src_read(object_part(o, part), *out, n, at, what, e);
}

int mlp_slices(struct object *o, uint32_t mesh, struct mlp_slices *out, struct arena *a, struct err *e)
{
	const struct mlp_mesh *r = &((const struct mlp *)o->priv)->mesh[mesh];
	uint8_t *mmp, *mgp = NULL;
	int rc = mlp_rigid(o, mesh, e);

	rc = rc ? rc : read_slice(o, MLP_MMP, r->rec.mmp_offset, r->rec.mmp_size, "MMP slice", &mmp, a, e);
	if (!rc && r->stride && object_part(o, MLP_MGP))
		rc = read_slice(o, MLP_MGP, r->rec.mgp_offset, r->rec.mgp_size, "MGP slice", &mgp, a, e);
	if (!rc)
		*out = (struct mlp_slices){ mmp + r->vertices_at, mmp + r->indices_at, mgp };
	return rc;
}

/* ---- meshes ---- */

/* Positions are finite: that was seen when the quartet was opened. */
static int fill_vertices(const struct mlp *m, const uint8_t *vertex, struct geo_mesh *out, struct arena *a,
			 struct err *e)
{
	size_t n = out->nvertices;
	struct geo_stream *normal = arena_alloc(a, 1, sizeof *normal);

	out->position = arena_alloc(a, n + 1, sizeof *out->position);
	if (!normal || !out->position)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 3; k++)
			out->position[i][k] = bits_f32(be_u32(vertex + i * MLP_VERTEX_SIZE + 4 * k));
	if (!m->normals)
		return 0;
	*normal = (struct geo_stream){ .attr = GEO_NORMAL, .comps = 3, .count = out->nvertices };
	normal->v = arena_alloc(a, n + 1, 3 * sizeof *normal->v);
	if (!normal->v)
		return err_nomem(e);
	for (size_t i = 0; i < n; i++)
		mlp_normal(be_u32(vertex + i * MLP_VERTEX_SIZE + MLP_NORMAL), normal->v + 3 * i);
	out->streams = normal;
	out->nstreams = 1;
	return 0;
}

/* Triangles with three different corners; the others are only in the file. */
static void fill_part(const struct mlp_sub *sub, const uint8_t *indices, struct geo_mesh *out, struct geo_part *part)
{
	const uint8_t *p = indices + (size_t)sub->first_index * 2;

	*part = (struct geo_part){ .material = (int32_t)sub->material, .first_face = out->nfaces };
	for (uint32_t i = 0; i < sub->index_count; i += 3, p += 6) {
		uint32_t *v = out->face[out->nfaces];

		for (unsigned k = 0; k < 3; k++)
			v[k] = be_u16(p + 2 * k);
		out->nfaces += v[0] != v[1] && v[1] != v[2] && v[2] != v[0];
	}
	part->nfaces = out->nfaces - part->first_face;
}

static int fill_parts(const struct mlp *m, const struct mlp_mesh *r, const uint8_t *indices, struct geo_mesh *out,
		      struct arena *a, struct err *e)
{
	out->nparts = r->nsubs;
	out->parts = arena_alloc(a, r->nsubs, sizeof *out->parts);
	out->face = arena_alloc(a, (size_t)r->nindices / 3 + 1, sizeof *out->face);
	if (!out->parts || !out->face)
		return err_nomem(e);
	for (uint32_t k = 0; k < r->nsubs; k++)
		fill_part(&m->sub[r->first_sub + k], indices, out, &out->parts[k]);
	return 0;
}

int mlp_geometry(struct object *o, uint32_t mesh, struct mlp_slices *s, struct geo_mesh *out, struct arena *a,
		 struct err *e)
{
	const struct mlp *m = o->priv;
	const struct mlp_mesh *r = &m->mesh[mesh];
	struct mlp_slices own;
	int rc = mlp_slices(o, mesh, s ? s : &own, a, e);

	if (rc)
		return rc;
	s = s ? s : &own;
	*out = (struct geo_mesh){ .nvertices = r->nvertices };
	rc = fill_vertices(m, s->vertices, out, a, e);
	return rc ? rc : fill_parts(m, r, s->indices, out, a, e);
}

int mlp_geometry_of(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	return mlp_geometry(o, mesh, NULL, out, a, e);
}

/* ---- materials ---- */

/* The banks they are in are unknown: all are grey. So is which side of a triangle is its front. */
int mlp_material(struct object *o, uint32_t i, struct geo_material *out, struct arena *a, struct err *e)
{
	const struct mlp *m = o->priv;

	*out = (struct geo_material){ .colour = { 0.8f, 0.8f, 0.8f, 1 }, .image = -1, .both_sides = true };
	if (i >= m->nmaterials)
		return err_set(e, ENOENT, "material %u of %u", i, m->nmaterials);
	out->name = arena_printf(a, "mat_%08x", m->material[i]);
	return out->name ? 0 : err_nomem(e);
}
