/* Proof that the geometry of a quartet can be written back: every vertex goes through the texts of the views and back,
 * and every count and size through what it follows from. What the record tables say is proved with the documents. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mlp.h"

struct check {
	struct object *o;
	const struct mlp *m;
	const struct mlp_mesh *mesh;
	uint32_t index;                        /* of the mesh */
	struct arena *a;
	struct err *e;
};

static int compare(const struct check *c, unsigned part, uint64_t at, const uint8_t *was, const uint8_t *is, size_t n,
		   const char *what)
{
	char name[48];
	size_t i = 0;

	while (i < n && was[i] == is[i])
		i++;
	if (i == n)
		return 0;
	snprintf(name, sizeof name, "mesh %u: %s", c->index, what);
	return err_at(c->e, EILSEQ, object_part(c->o, part), at + i, name,
		      "0x%02x is stored, encoded again it is 0x%02x", was[i], is[i]);
}

/* ---- vertices ---- */

static double through_text(float v)
{
	char text[NUM_MAX];
	size_t n = num_f32(text, v, false);

	return num_parse_f32(text, n, &v) ? v : NAN;
}

static void encode_vertex(const uint8_t *stored, uint8_t again[MLP_VERTEX_SIZE])
{
	float normal[3];
	double text[3];

	for (unsigned k = 0; k < 3; k++)
		put_be32(again + 4 * k, f32_bits((float)through_text(bits_f32(be_u32(stored + 4 * k)))));
	mlp_normal(be_u32(stored + MLP_NORMAL), normal);
	for (unsigned k = 0; k < 3; k++)
		text[k] = through_text(normal[k]);
	put_be32(again + MLP_NORMAL, mlp_normal_word(text));
}

static int check_vertices(const struct check *c, const struct mlp_slices *s)
{
	uint64_t at = (uint64_t)c->mesh->rec.mmp_offset + c->mesh->vertices_at;
	uint8_t again[MLP_VERTEX_SIZE];
	int rc = 0;

	for (size_t i = 0; i < c->mesh->nvertices && !rc; i++) {
		const uint8_t *stored = s->vertices + i * MLP_VERTEX_SIZE;

		encode_vertex(stored, again);
		rc = compare(c, MLP_MMP, at + i * MLP_VERTEX_SIZE, stored, again, sizeof again, "vertex");
	}
	return rc;
}

/* ---- rows ---- */

static int check_rows(const struct check *c, const struct mlp_slices *s)
{
	size_t nvertices = (size_t)c->mesh->nvertices * MLP_VERTEX_SIZE;
	uint8_t *vertices = arena_alloc(c->a, nvertices + 1, 1);
	uint8_t *rows = arena_alloc(c->a, (size_t)c->mesh->rec.mgp_size + 1, 1);
	struct buf text = { 0 };
	int rc;

	if (!vertices || !rows)
		return err_nomem(c->e);
	for (size_t i = 0; i < nvertices; i++)         /* normals come from the text alone */
		vertices[i] = i % MLP_VERTEX_SIZE < MLP_NORMAL ? s->vertices[i] : (uint8_t)~s->vertices[i];
	rc = mlp_rows_text(c->mesh, s, &text) ? err_nomem(c->e) :
	     mlp_rows_read(c->index, c->mesh, text.p, text.len, vertices, s->rows ? rows : NULL, c->a, c->e);
	buf_free(&text);
	if (!rc)
		rc = compare(c, MLP_MMP, (uint64_t)c->mesh->rec.mmp_offset + c->mesh->vertices_at, s->vertices,
			     vertices, nvertices, "vertices");
	if (!rc && s->rows)
		rc = compare(c, MLP_MGP, c->mesh->rec.mgp_offset, s->rows, rows, c->mesh->rec.mgp_size, "MGP rows");
	return rc;
}

/* ---- descriptors ---- */

static int check_stream(const struct check *c, uint32_t offset, uint32_t stride, uint32_t first)
{
	uint64_t at = mlp_metadata_at(c->m, c->index) + offset;
	uint8_t raw[MLP_STREAM_SIZE], again[MLP_STREAM_SIZE];
	struct mlp_stream s;
	int rc = src_read(c->o->src, raw, sizeof raw, at, "descriptor", c->e);

	if (rc)
		return rc;
	rec_decode(&mlp_stream_record, true, raw, &s);
	s.vertex_count = c->mesh->nvertices;
	s.stride = stride;
	s.offset = first;
	s.size = c->mesh->nvertices * stride;
	rec_encode(&mlp_stream_record, true, &s, again);
	return compare(c, MLP_LIBRARY, at, raw, again, sizeof raw, "descriptor");
}

static int check_indices(const struct check *c)
{
	uint64_t at = mlp_metadata_at(c->m, c->index) + c->mesh->index;
	uint8_t raw[MLP_STREAM_SIZE], again[MLP_STREAM_SIZE];
	struct mlp_indices s;
	int rc = src_read(c->o->src, raw, sizeof raw, at, "descriptor", c->e);

	if (rc)
		return rc;
	rec_decode(&mlp_index_record, true, raw, &s);
	s.index_count = c->mesh->nindices;
	s.offset = c->mesh->indices_at;
	s.size = c->mesh->nindices * 2;
	rec_encode(&mlp_index_record, true, &s, again);
	return compare(c, MLP_LIBRARY, at, raw, again, sizeof raw, "descriptor");
}

static int check_mesh(const struct check *c)
{
	struct mlp_slices s;
	int rc = mlp_slices(c->o, c->index, &s, c->a, c->e);

	rc = rc ? rc : check_vertices(c, &s);
	rc = rc ? rc : check_rows(c, &s);
	rc = rc ? rc : check_stream(c, c->mesh->primary, MLP_VERTEX_SIZE, c->mesh->vertices_at);
	if (!rc && c->mesh->attribute != MLP_NONE)
		rc = check_stream(c, c->mesh->attribute, c->mesh->stride, 0);
	return rc ? rc : check_indices(c);
}

int mlp_verify(struct object *o, struct err *e)
{
	const struct mlp *m = o->priv;
	int rc = 0;

	for (uint32_t i = 0; i < m->head.mesh_count && !rc; i++) {
		struct arena a = { 0 };
		struct check c = { o, m, &m->mesh[i], i, &a, e };

		if (m->mesh[i].kind == MLP_RIGID)
			rc = check_mesh(&c);
		arena_free(&a);
	}
	return rc;
}
