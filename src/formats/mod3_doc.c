/* Documents of a MOD3 that are more than one list of records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mod3.h"

#define PIECE 64u                              /* envelopes read at once */

/* ---- envelopes ---- */

/* n envelopes from number `first` on, as a list. */
static int say_envelopes(struct object *o, const char *key, uint32_t first, uint32_t n, struct doc *d, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint8_t raw[PIECE * MOD3_ENVELOPE_SIZE];
	uint32_t got;
	int rc = 0;

	doc_list(d, key, n);
	for (uint32_t i = 0; i < n && !rc; i += got) {
		uint64_t at = mod3_envelope_at(m, first + i);

		got = n - i < PIECE ? n - i : PIECE;
		rc = src_read(o->src, raw, (size_t)got * MOD3_ENVELOPE_SIZE, at, "envelopes", e);
		for (uint32_t k = 0; k < got && !rc; k++, at += MOD3_ENVELOPE_SIZE) {
			doc_item(d);
			doc_record(d, &mod3_envelope_record, false, raw + (size_t)k * MOD3_ENVELOPE_SIZE, o->src, at);
		}
	}
	doc_end(d);
	return rc;
}

/* ---- materials ---- */

static void say_texture(struct object *o, const struct mrl3_map *map, struct doc *d)
{
	const struct mod3 *m = o->priv;
	const struct mrl3_library *l = m->library;
	const char *name = mrl3_map_name(map->name_id);

	doc_item(d);
	if (name)
		doc_text(d, "map", DOC_DERIVED, "%s", name);
	else
		doc_text(d, "map", DOC_DERIVED, "\"%05x\"", map->name_id);
	doc_record(d, &mrl3_path_record, false, l->path[map->texture], o->links[m->library_link].src,
		   mrl3_path_at(l, map->texture));
	if (mod3_texture_found(o, map->texture))
		doc_text(d, "image", DOC_DERIVED, "%u", map->texture);
	else
		doc_text(d, "image", DOC_DERIVED, "null");
}

static void say_material(struct object *o, uint32_t i, struct doc *d)
{
	const struct mod3 *m = o->priv;
	const uint8_t *raw = m->material_raw + (size_t)i * MOD3_NAME_SIZE;
	const struct mrl3_material *found;
	int64_t number;

	doc_item(d);
	doc_record(d, &mod3_material_record, false, raw, o->src,
		   m->table[MOD3_MATERIALS].at + (uint64_t)i * MOD3_NAME_SIZE);
	doc_text(d, "hash", DOC_DERIVED, "0x%08x", mrl3_hash(raw, MOD3_NAME_SIZE));
	found = mod3_library_material(m, i, &number);
	if (found)
		doc_text(d, "mrl3", DOC_DERIVED, "%lld", (long long)number);
	else
		doc_text(d, "mrl3", DOC_DERIVED, "null");
	doc_derived_list(d, "textures", found ? found->n : 0);
	for (uint32_t k = 0; found && k < found->n; k++)
		say_texture(o, &m->library->map[found->first + k], d);
	doc_end(d);
}

static int say_materials(struct object *o, struct doc *d)
{
	uint32_t n = ((const struct mod3 *)o->priv)->table[MOD3_MATERIALS].n;

	doc_list(d, NULL, n);
	for (uint32_t i = 0; i < n; i++)
		say_material(o, i, d);
	doc_end(d);
	return 0;
}

/* ---- bones ---- */

static int say_skeleton(struct object *o, struct doc *d, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_BONES].n;
	const uint8_t *matrices;
	struct arena a = { 0 };
	int rc = object_read(o, &a, mod3_local_at(m, 0), (uint64_t)n * 2 * MOD3_MATRIX_SIZE, "matrices", &matrices, e);

	doc_text(d, "kind", DOC_DERIVED, "mod3");
	doc_list(d, "bones", rc ? 0 : n);
	for (uint32_t i = 0; i < n && !rc; i++) {
		const uint8_t *local = matrices + (size_t)i * MOD3_MATRIX_SIZE;

		doc_item(d);
		doc_text(d, "name", DOC_DERIVED, "bone_%u", i);
		doc_record(d, &mod3_bone_record, false, m->bone_raw + (size_t)i * MOD3_BONE_SIZE, o->src,
			   mod3_bone_at(m, i));
		doc_record(d, &mod3_local_record, false, local, o->src, mod3_local_at(m, i));
		doc_record(d, &mod3_inverse_record, false, local + (size_t)n * MOD3_MATRIX_SIZE, o->src,
			   mod3_inverse_at(m, i));
	}
	doc_end(d);
	arena_free(&a);
	return rc;
}

/* ---- meshes ---- */

static int say_mesh(struct object *o, uint32_t i, struct doc *d, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_mesh *mesh = &m->mesh[i];
	int rc = mesh->bad ? mod3_mesh_sound(o, i, e) : 0;

	if (rc)
		return rc;
	doc_record(d, &mod3_mesh_record, false, m->mesh_raw + (size_t)i * MOD3_MESH_SIZE, o->src, mod3_mesh_at(m, i));
	return say_envelopes(o, "envelopes", mesh->first_envelope, mesh->nenvelopes, d, e);
}

static int say_vertices(struct object *o, uint32_t i, struct doc *d, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_mesh *mesh = &m->mesh[i];
	struct mod3_window w;
	struct arena a = { 0 };
	int rc = mod3_window(o, i, &w, &a, e);

	if (!rc) {
		doc_comment(d, "one line per vertex, in the order of the v lines");
		doc_rows(d, NULL, mesh->block->record, false, w.vertices, w.n, o->src,
			 mod3_vertex_at(m, mesh, w.first), DOC_BLOCK | DOC_MAPS);
	}
	arena_free(&a);
	return rc;
}

int mod3_doc(struct object *o, unsigned kind, uint32_t index, struct doc *d, struct err *e)
{
	const struct mod3 *m = o->priv;
	bool mesh = index < m->table[MOD3_MESHES].n;

	switch (kind) {
	case MOD3_DOC_MATERIALS:
		return say_materials(o, d);
	case MOD3_DOC_ENVELOPES:
		return say_envelopes(o, NULL, m->nclaimed, m->table[MOD3_ENVELOPES].n - m->nclaimed, d, e);
	case DOC_SKELETON:
		return m->table[MOD3_BONES].n ? say_skeleton(o, d, e) : -ENOENT;
	case DOC_MESH:
		return mesh ? say_mesh(o, index, d, e) : -ENOENT;
	case MOD3_DOC_VERTICES:
		return mesh ? say_vertices(o, index, d, e) : -ENOENT;
	default:
		return -ENOENT;
	}
}
