/* Documents of a quartet, but for the one of its scene. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp.h"

/* ---- header.yaml ---- */

/* One line per mesh, as if it were stored so. */
static void summarise(const struct mlp *m, uint8_t *raw)
{
	for (uint32_t i = 0; i < m->head.mesh_count; i++, raw += mlp_summary_record.size) {
		const struct mlp_mesh *mesh = &m->mesh[i];
		struct mlp_summary s = { .id = mesh->rec.mesh_id, .kind = mesh->kind };

		if (mesh->kind != MLP_BROKEN) {
			s.vertices = mesh->nvertices;
			s.triangles = mesh->nindices / 3;
			s.submeshes = mesh->nsubs;
		}
		rec_encode(&mlp_summary_record, true, &s, raw);
	}
}

static int say_header(struct object *o, struct doc *d, struct err *e)
{
	const struct mlp *m = o->priv;
	uint8_t raw[MLP_HEADER_SIZE], *summary = calloc((size_t)m->head.mesh_count + 1, mlp_summary_record.size);
	int rc = summary ? src_read(o->src, raw, sizeof raw, 0, "header", e) : err_nomem(e);

	if (!rc) {
		summarise(m, summary);
		doc_comment(d, "modelfs ps3q %s", o->variant->version);
		doc_record(d, &mlp_header_record, true, raw, o->src, 0);
		doc_text(d, "normals", DOC_DERIVED, "%s", m->normals ? "x11y11z10n" : "unknown");
		doc_rows(d, "meshes", &mlp_summary_record, true, summary, m->head.mesh_count, o->src, MLP_HEADER_SIZE,
			 DOC_BLOCK | DOC_SHOWN | DOC_DERIVED);
	}
	free(summary);
	return rc;
}

/* ---- materials.yaml ---- */

struct material { uint32_t id; };
struct pair { uint32_t mesh, submesh; };

/* Other submeshes follow an id. */
#define S struct material
static const struct field material_fields[] = {
	U32(S, id, 0x00, "Id", .view = V_HEX, .flags = FL_PUT),
};
#undef S
static const struct record material_record = RECORD("material", "Id of a material", 4, material_fields);
#define S struct pair
static const struct field pair_fields[] = {
	U32(S, mesh, 0x00, "Mesh"), U32(S, submesh, 0x04, "Submesh of it"),
};
#undef S
static const struct record pair_record = RECORD("pair", "Submesh that has a material", 8, pair_fields);

/* Submeshes by material: those of number i are pair[first[i]] up to pair[first[i + 1]]. */
struct uses { uint32_t *first; uint8_t *pair; };

static int list_uses(const struct mlp *m, struct uses *u, struct err *e)
{
	u->first = calloc((size_t)m->nmaterials + 2, sizeof *u->first);
	u->pair = malloc(((size_t)m->nsubs + 1) * pair_record.size);
	if (!u->first || !u->pair)
		return err_nomem(e);
	/* Where those of i begin stands in first[i + 1] until they are filled in, which makes it where they end. */
	for (uint32_t i = 0; i < m->nsubs; i++)
		u->first[m->sub[i].material + 2]++;
	for (uint32_t i = 2; i <= m->nmaterials; i++)
		u->first[i] += u->first[i - 1];
	for (uint32_t i = 0; i < m->head.mesh_count; i++)
		for (uint32_t k = 0; m->mesh[i].kind != MLP_BROKEN && k < m->mesh[i].nsubs; k++) {
			uint32_t to = u->first[m->sub[m->mesh[i].first_sub + k].material + 1]++;

			put_be32(u->pair + (size_t)to * pair_record.size, i);
			put_be32(u->pair + (size_t)to * pair_record.size + 4, k);
		}
	return 0;
}

static void say_material(struct object *o, uint32_t i, const struct uses *u, struct doc *d)
{
	const struct mlp *m = o->priv;
	const uint8_t *pair = u->pair + (size_t)u->first[i] * pair_record.size;
	uint64_t at = mlp_submesh_at(m, be_u32(pair), be_u32(pair + 4)) + MLP_AT_MATERIAL;
	uint8_t id[4];

	put_be32(id, m->material[i]);
	doc_item(d);
	doc_record(d, &material_record, true, id, o->src, at);
	doc_rows(d, "used_by", &pair_record, true, pair, u->first[i + 1] - u->first[i], o->src, at,
		 DOC_SHOWN | DOC_DERIVED);
}

static int say_materials(struct object *o, struct doc *d, struct err *e)
{
	const struct mlp *m = o->priv;
	struct uses u = { 0 };
	int rc = list_uses(m, &u, e);

	if (!rc) {
		doc_list(d, NULL, m->nmaterials);
		for (uint32_t i = 0; i < m->nmaterials; i++)
			say_material(o, i, &u, d);
		doc_end(d);
	}
	free(u.first);
	free(u.pair);
	return rc;
}

/* ---- meshes/N.yaml ---- */

static int say_submeshes(struct object *o, uint32_t mesh, struct doc *d, struct err *e)
{
	const struct mlp *m = o->priv;
	uint32_t n = m->mesh[mesh].nsubs;
	const uint8_t *raw = NULL;
	struct arena a = { 0 };
	int rc = object_read(o, &a, mlp_submesh_at(m, mesh, 0), (uint64_t)n * MLP_SUBMESH_SIZE, "submeshes", &raw, e);

	doc_list(d, "submeshes", rc ? 0 : n);
	for (uint32_t k = 0; k < n && !rc; k++) {
		doc_item(d);
		doc_record(d, &mlp_submesh_record, true, raw + (size_t)k * MLP_SUBMESH_SIZE, o->src,
			   mlp_submesh_at(m, mesh, k));
	}
	doc_end(d);
	arena_free(&a);
	return rc;
}

/* The records that follow each other in the view. */
struct mesh_bytes {
	uint8_t record[MLP_RECORD_SIZE], metadata[MLP_METADATA_SIZE], primary[MLP_STREAM_SIZE], index[MLP_STREAM_SIZE];
};

static int read_mesh(struct object *o, uint32_t i, struct mesh_bytes *b, struct err *e)
{
	const struct mlp *m = o->priv;
	uint64_t at = mlp_metadata_at(m, i);
	int rc = src_read(o->src, b->record, sizeof b->record, mlp_record_at(i), "record", e);

	rc = rc ? rc : src_read(o->src, b->metadata, sizeof b->metadata, at, "metadata", e);
	rc = rc ? rc : src_read(o->src, b->primary, sizeof b->primary, at + m->mesh[i].primary, "descriptor", e);
	return rc ? rc : src_read(o->src, b->index, sizeof b->index, at + m->mesh[i].index, "descriptor", e);
}

static int say_mesh(struct object *o, uint32_t i, struct doc *d, struct err *e)
{
	const struct mlp *m = o->priv;
	const struct mlp_mesh *mesh = &m->mesh[i];
	uint64_t at = mlp_metadata_at(m, i);
	struct mesh_bytes b;
	int rc = mesh->kind == MLP_BROKEN ? mlp_rigid(o, i, e) : read_mesh(o, i, &b, e);

	if (rc)
		return rc;
	doc_text(d, "id", DOC_DERIVED, "0x%08x", mesh->rec.mesh_id);
	doc_text(d, "kind", DOC_DERIVED, "%s", mesh->kind == MLP_RIGID ? "rigid" : "skinned");
	doc_record(d, &mlp_record_record, true, b.record, o->src, mlp_record_at(i));
	doc_record(d, &mlp_metadata_record, true, b.metadata, o->src, at);
	doc_record(d, &mlp_stream_record, true, b.primary, o->src, at + mesh->primary);
	doc_record(d, &mlp_index_record, true, b.index, o->src, at + mesh->index);
	if (mesh->attribute == MLP_NONE)
		doc_text(d, "stride", DOC_DERIVED, "null");
	else
		doc_text(d, "stride", DOC_DERIVED, "%u", mesh->stride);
	return say_submeshes(o, i, d, e);
}

int mlp_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	const struct mlp *m = o->priv;

	switch (kind) {
	case DOC_HEADER: return say_header(o, d, e);
	case DOC_OWN + MLP_OWN_MATERIALS: return say_materials(o, d, e);
	case DOC_OWN + MLP_OWN_SCENE: return o->member[MLP_SCP - 1] ? mlp_scene(o, d, e) : -ENOENT;
	case DOC_MESH: return index < m->head.mesh_count ? say_mesh(o, index, d, e) : -ENOENT;
	default: return -ENOENT;
	}
}
