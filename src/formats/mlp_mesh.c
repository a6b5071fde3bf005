/* One mesh of a quartet: its metadata, and whether its slices are what that says (spec/ps3-pak.md 4, 5 and 9.5). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_open.h"

#define PRIMITIVE 5u                           /* list of triangles */
#define INDEX_TYPE 1u                          /* 16 bits */
#define SUBMESHES_MOST (1u << 22)              /* of all meshes */
#define INFINITE 0x7f800000u                   /* a float32 with this exponent is not finite */

struct reading {
	struct mlp_opening *x;
	uint32_t i;
	struct mlp_mesh *mesh;
	uint64_t at;                           /* of the metadata */
	struct mlp_metadata meta;
	struct mlp_stream primary, attribute;
	struct mlp_indices index;
	struct err *e;
};

/* What is wrong with it at `at` of a part. */
PRINTF(5, 6)
static int wrong(const struct reading *r, unsigned part, uint64_t at, const char *what, const char *fmt, ...)
{
	char name[48];
	va_list ap;
	int rc;

	snprintf(name, sizeof name, "mesh %u: %s", r->i, what);
	va_start(ap, fmt);
	rc = err_vat(r->e, EBADMSG, object_part(r->x->o, part), at, name, fmt, ap);
	va_end(ap);
	return rc;
}

/* n bytes; a file whose slices lie over each other is not read as often as they say. */
static int take(const struct reading *r, unsigned part, void *to, size_t n, uint64_t at, const char *what)
{
	if (n > r->x->left[part])
		return wrong(r, part, at, what, "slices lie over each other too often: %" PRIu64 " bytes of a file of %"
			     PRIu64 " were read", r->x->left[part], object_part(r->x->o, part)->size);
	r->x->left[part] -= n;
	return src_read(object_part(r->x->o, part), to, n, at, what, r->e);
}

/* ---- slices ---- */

static int check_slice(const struct reading *r, unsigned part, uint64_t at, uint32_t size, const char *what)
{
	const struct source *src = object_part(r->x->o, part);

	if (!size || !src || span_ok(src->size, at, size, 1))
		return 0;
	return wrong(r, MLP_LIBRARY, mlp_record_at(r->i), what, "0x%x bytes at 0x%" PRIx64 " end past the 0x%" PRIx64
		     " of the file", size, at, src->size);
}

static int check_slices(const struct reading *r)
{
	const struct mlp_record *rec = &r->mesh->rec;
	int rc = check_slice(r, MLP_LIBRARY, r->at, rec->metadata_size, "metadata");

	rc = rc ? rc : check_slice(r, MLP_MMP, rec->mmp_offset, rec->mmp_size, "MMP slice");
	rc = rc ? rc : check_slice(r, MLP_MGP, rec->mgp_offset, rec->mgp_size, "MGP slice");
	if (!rc && rec->metadata_size < MLP_METADATA_SIZE + MLP_SUBMESH_SIZE)
		rc = wrong(r, MLP_LIBRARY, mlp_record_at(r->i) + 0x10, "metadata", "%u bytes, expected %u at least",
			   rec->metadata_size, MLP_METADATA_SIZE + MLP_SUBMESH_SIZE);
	return rc;
}

/* ---- metadata ---- */

static int check_metadata(const struct reading *r)
{
	const struct mlp_metadata *h = &r->meta;
	uint32_t size = r->mesh->rec.metadata_size;

	if (h->magic != MLP_METADATA_MAGIC)
		return wrong(r, MLP_LIBRARY, r->at, "magic", "0x%08x, expected 0x%08x", h->magic,
			     MLP_METADATA_MAGIC);
	if (h->header_size != MLP_METADATA_SIZE)
		return wrong(r, MLP_LIBRARY, r->at + 0x08, "header size", "%u, expected %u", h->header_size,
			     MLP_METADATA_SIZE);
	if (h->mesh_id != r->mesh->rec.mesh_id)
		return wrong(r, MLP_LIBRARY, r->at + 0x80, "id", "0x%08x, the table says 0x%08x", h->mesh_id,
			     r->mesh->rec.mesh_id);
	if (h->submesh_offset != MLP_METADATA_SIZE)
		return wrong(r, MLP_LIBRARY, r->at + 0xa0, "submesh offset", "0x%x, expected 0x%x", h->submesh_offset,
			     MLP_METADATA_SIZE);
	if (!h->submesh_count || !span_ok(size, MLP_METADATA_SIZE, h->submesh_count, MLP_SUBMESH_SIZE))
		return wrong(r, MLP_LIBRARY, r->at + 0xa4, "submesh count", "%u, expected 1 to %u in %u bytes",
			     h->submesh_count, (size - MLP_METADATA_SIZE) / MLP_SUBMESH_SIZE, size);
	return 0;
}

static int read_metadata(struct reading *r)
{
	uint8_t raw[MLP_METADATA_SIZE];
	int rc = take(r, MLP_LIBRARY, raw, sizeof raw, r->at, "metadata");

	if (rc)
		return rc;
	rec_decode(&mlp_metadata_record, true, raw, &r->meta);
	return check_metadata(r);
}

/* ---- descriptors ---- */

static int read_descriptor(const struct reading *r, uint32_t offset, const struct record *record, const char *what,
			   void *out)
{
	uint8_t raw[MLP_STREAM_SIZE];
	int rc;

	if (!span_ok(r->mesh->rec.metadata_size, offset, 1, sizeof raw))
		return wrong(r, MLP_LIBRARY, r->at, what, "at 0x%x, outside the 0x%x bytes of the metadata", offset,
			     r->mesh->rec.metadata_size);
	rc = take(r, MLP_LIBRARY, raw, sizeof raw, r->at + offset, what);
	if (!rc)
		rec_decode(record, true, raw, out);
	return rc;
}

static int read_descriptors(struct reading *r)
{
	struct mlp_mesh *mesh = r->mesh;
	int rc;

	mesh->primary = r->meta.primary_stream;
	mesh->attribute = r->meta.attribute_stream;
	mesh->index = r->meta.index_stream;
	rc = read_descriptor(r, mesh->primary, &mlp_stream_record, "descriptor of the vertices", &r->primary);
	if (!rc)
		rc = read_descriptor(r, mesh->index, &mlp_index_record, "descriptor of the indices", &r->index);
	if (!rc && mesh->attribute != MLP_NONE)
		rc = read_descriptor(r, mesh->attribute, &mlp_stream_record, "descriptor of the MGP rows",
				     &r->attribute);
	mesh->nvertices = r->primary.vertex_count;
	mesh->nindices = r->index.index_count;
	mesh->nsubs = r->meta.submesh_count;
	mesh->stride = r->attribute.stride;
	mesh->vertices_at = r->primary.offset;
	mesh->indices_at = r->index.offset;
	return rc;
}

static int check_primary(const struct reading *r)
{
	const struct mlp_stream *p = &r->primary;
	const struct mlp_indices *i = &r->index;
	uint64_t vertices = (uint64_t)p->vertex_count * MLP_VERTEX_SIZE, indices = (uint64_t)i->index_count * 2;
	uint64_t at = r->at + r->mesh->primary, index_at = r->at + r->mesh->index;

	if (!object_part(r->x->o, MLP_MMP))
		return wrong(r, MLP_LIBRARY, mlp_record_at(r->i) + 0x14, "MMP slice", "the MMP was not found");
	if (p->stride != MLP_VERTEX_SIZE)
		return wrong(r, MLP_LIBRARY, at + 0x08, "stride", "%u, expected %u", p->stride, MLP_VERTEX_SIZE);
	if (p->size != vertices)
		return wrong(r, MLP_LIBRARY, at + 0x14, "vertices", "%u of %u bytes in %u", p->vertex_count,
			     MLP_VERTEX_SIZE, p->size);
	if (i->size != indices)
		return wrong(r, MLP_LIBRARY, index_at + 0x0c, "indices", "%u of 2 bytes in %u", i->index_count,
			     i->size);
	if (i->primitive != PRIMITIVE)
		return wrong(r, MLP_LIBRARY, index_at + 0x04, "primitive", "%u, expected %u", i->primitive, PRIMITIVE);
	if (i->index_type != INDEX_TYPE)
		return wrong(r, MLP_LIBRARY, index_at + 0x10, "index type", "%u, expected %u", i->index_type,
			     INDEX_TYPE);
	/* One behind the other, whichever comes first. */
	if (vertices + indices != r->mesh->rec.mmp_size ||
	    ((p->offset || i->offset != vertices) && (i->offset || p->offset != indices)))
		return wrong(r, MLP_LIBRARY, at, "MMP slice", "its %u bytes are not %u vertices at 0x%x and %u indices "
			     "at 0x%x", r->mesh->rec.mmp_size, p->vertex_count, p->offset, i->index_count, i->offset);
	return 0;
}

static int check_attribute(const struct reading *r)
{
	const struct mlp_stream *a = &r->attribute;
	uint32_t size = r->mesh->rec.mgp_size;
	uint64_t at = r->at + r->mesh->attribute;

	if (r->mesh->attribute == MLP_NONE)
		return size ? wrong(r, MLP_LIBRARY, mlp_record_at(r->i) + 0x18, "MGP slice",
				    "%u bytes, but no descriptor", size) : 0;
	if (!a->stride)
		return wrong(r, MLP_LIBRARY, at + 0x08, "stride of the MGP rows", "0");
	if (a->vertex_count != r->primary.vertex_count)
		return wrong(r, MLP_LIBRARY, at, "MGP rows", "%u of %u vertices", a->vertex_count,
			     r->primary.vertex_count);
	if (a->offset || a->size != size || (uint64_t)a->vertex_count * a->stride != size)
		return wrong(r, MLP_LIBRARY, at, "MGP slice", "its %u bytes are not %u rows of %u at 0x%x", size,
			     a->vertex_count, a->stride, a->offset);
	return 0;
}

/* ---- submeshes ---- */

static int read_submeshes(struct reading *r)
{
	uint32_t n = r->mesh->nsubs, most = MLP_PIECE / MLP_SUBMESH_SIZE, got;
	int rc = 0;

	r->mesh->first_sub = (uint32_t)(r->x->subs.len / sizeof(struct mlp_sub));
	if (n > SUBMESHES_MOST - r->mesh->first_sub)
		return wrong(r, MLP_LIBRARY, r->at + 0xa4, "submesh count", "%u, with %u of other meshes more than %u",
			     n, r->mesh->first_sub, SUBMESHES_MOST);
	for (uint32_t k = 0; k < n && !rc; k += got) {
		got = n - k < most ? n - k : most;
		rc = take(r, MLP_LIBRARY, r->x->room, (size_t)got * MLP_SUBMESH_SIZE,
			  mlp_submesh_at(r->x->m, r->i, k), "submeshes");
		for (uint32_t i = 0; i < got && !rc; i++) {
			const uint8_t *raw = r->x->room + (size_t)i * MLP_SUBMESH_SIZE;
			struct mlp_sub s = { be_u32(raw + MLP_AT_FIRST_INDEX), be_u32(raw + MLP_AT_FIRST_INDEX + 4),
					     be_u32(raw + MLP_AT_MATERIAL), 0 };

			buf_add(&r->x->subs, &s, sizeof s);
		}
	}
	return rc || !r->x->subs.bad ? rc : err_nomem(r->e);
}

struct run { uint32_t first, count, k; };

static int by_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->k > y->k) - (x->k < y->k);
}

/* They share out all indices, whole triangles, in any order. */
static int check_runs(const struct reading *r, struct run *v)
{
	const struct mlp_sub *sub = (const struct mlp_sub *)(const void *)r->x->subs.p + r->mesh->first_sub;
	uint64_t next = 0;

	for (uint32_t k = 0; k < r->mesh->nsubs; k++)
		v[k] = (struct run){ sub[k].first_index, sub[k].index_count, k };
	qsort(v, r->mesh->nsubs, sizeof *v, by_first);
	for (uint32_t k = 0; k < r->mesh->nsubs; k++) {
		if (v[k].first != next || v[k].count % 3 || !v[k].count)
			return wrong(r, MLP_LIBRARY, mlp_submesh_at(r->x->m, r->i, v[k].k) + MLP_AT_FIRST_INDEX,
				     "submesh", "%u has %u indices from %u on, expected a multiple of 3 from %" PRIu64
				     " on", v[k].k, v[k].count, v[k].first, next);
		next += v[k].count;
	}
	if (next == r->mesh->nindices)
		return 0;
	return wrong(r, MLP_LIBRARY, r->at + MLP_METADATA_SIZE, "submeshes", "they have %" PRIu64 " of %u indices",
		     next, r->mesh->nindices);
}

static int check_submeshes(const struct reading *r)
{
	struct run *v = malloc((size_t)r->mesh->nsubs * sizeof *v);
	int rc = v ? check_runs(r, v) : err_nomem(r->e);

	free(v);
	return rc;
}

/* ---- vertices and indices ---- */

static int check_vertices(const struct reading *r)
{
	struct mlp_opening *x = r->x;
	uint64_t at = (uint64_t)r->mesh->rec.mmp_offset + r->mesh->vertices_at;
	uint32_t most = MLP_PIECE / MLP_VERTEX_SIZE, got;

	for (uint32_t i = 0; i < r->mesh->nvertices; i += got) {
		uint64_t here = at + (uint64_t)i * MLP_VERTEX_SIZE;
		int rc;

		got = r->mesh->nvertices - i < most ? r->mesh->nvertices - i : most;
		rc = take(r, MLP_MMP, x->room, (size_t)got * MLP_VERTEX_SIZE, here, "vertices");
		if (rc)
			return rc;
		for (size_t k = 0; k < (size_t)got * MLP_VERTEX_SIZE; k += 4) {
			uint32_t word = be_u32(x->room + k);

			if (k % MLP_VERTEX_SIZE == MLP_NORMAL)
				x->nlikely += mlp_normal_likely(word);
			else if ((word & INFINITE) == INFINITE)
				return wrong(r, MLP_MMP, here + k, "position", "0x%08x is not finite", word);
		}
		x->nnormals += got;
	}
	return 0;
}

static int check_indices(const struct reading *r)
{
	uint64_t at = (uint64_t)r->mesh->rec.mmp_offset + r->mesh->indices_at;
	uint32_t most = MLP_PIECE / 2, got;

	for (uint32_t i = 0; i < r->mesh->nindices; i += got) {
		int rc;

		got = r->mesh->nindices - i < most ? r->mesh->nindices - i : most;
		rc = take(r, MLP_MMP, r->x->room, (size_t)got * 2, at + (uint64_t)i * 2, "indices");
		if (rc)
			return rc;
		for (uint32_t k = 0; k < got; k++)
			if (be_u16(r->x->room + (size_t)k * 2) >= r->mesh->nvertices)
				return wrong(r, MLP_MMP, at + ((uint64_t)i + k) * 2, "index", "%u of %u vertices",
					     be_u16(r->x->room + (size_t)k * 2), r->mesh->nvertices);
	}
	return 0;
}

/* Normals of a mesh that turns out to be broken do not count. */
static int check_slice_bytes(const struct reading *r)
{
	uint64_t nnormals = r->x->nnormals, nlikely = r->x->nlikely;
	int rc = check_vertices(r);

	rc = rc ? rc : check_indices(r);
	if (rc) {
		r->x->nnormals = nnormals;
		r->x->nlikely = nlikely;
	}
	return rc;
}

int mlp_read_mesh(struct mlp_opening *x, uint32_t i, struct err *e)
{
	struct reading r = { .x = x, .i = i, .mesh = &x->m->mesh[i], .at = mlp_metadata_at(x->m, i), .e = e };
	int rc = check_slices(&r);

	rc = rc ? rc : read_metadata(&r);
	rc = rc ? rc : read_descriptors(&r);
	rc = rc ? rc : read_submeshes(&r);
	r.mesh->kind = r.meta.embedded_stream == MLP_NONE ? MLP_RIGID : MLP_SKINNED;
	if (rc || r.mesh->kind == MLP_SKINNED)
		return rc;
	rc = check_primary(&r);
	rc = rc ? rc : check_attribute(&r);
	rc = rc ? rc : check_submeshes(&r);
	return rc ? rc : check_slice_bytes(&r);
}
