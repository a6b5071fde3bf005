/* What is written to the documents of a quartet beyond single values: the id of a material, which all submeshes follow
 * that have it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlp.h"

static const struct field id_field = { .name = "id", .count = 1, .type = F_U32, .view = V_HEX };

/* ---- ids ---- */

static int put_ids(struct object *o, const uint32_t *id, struct err *e)
{
	const struct mlp *m = o->priv;
	int rc = 0;

	for (uint32_t i = 0; i < m->head.mesh_count; i++)
		for (uint32_t k = 0; m->mesh[i].kind != MLP_BROKEN && k < m->mesh[i].nsubs && !rc; k++) {
			uint32_t material = m->sub[m->mesh[i].first_sub + k].material;
			uint8_t raw[4];

			put_be32(raw, id[material]);
			if (id[material] != m->material[material])
				rc = object_patch(o, MLP_LIBRARY, mlp_submesh_at(m, i, k) + MLP_AT_MATERIAL, raw,
						  sizeof raw, "material_id", e);
		}
	return rc;
}

static int take_ids(struct object *o, struct doc_change *change, unsigned n, struct err *e)
{
	const struct mlp *m = o->priv;
	uint32_t *id = malloc(((size_t)m->nmaterials + 1) * sizeof *id);
	uint8_t raw[4];
	int rc = id ? 0 : err_nomem(e);

	if (id && m->nmaterials)
		memcpy(id, m->material, m->nmaterials * sizeof *id);
	for (unsigned k = 0; k < n && !rc; k++) {
		struct doc_change *c = &change[k];

		if (c->kind != CHANGE_TEXT || c->depth != 1 || strcmp(c->key, "id") || c->item[0] >= m->nmaterials)
			continue;
		c->taken = true;
		rc = ynode_parse(c->value, &id_field, true, raw, e);
		id[c->item[0]] = rc ? 0 : be_u32(raw);
	}
	rc = rc ? rc : put_ids(o, id, e);
	free(id);
	return rc;
}

/* ---- a text that was applied before ---- */

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool all_in(const uint32_t *sorted, uint32_t n, const struct ynode *list)
{
	uint8_t raw[4];
	uint32_t id;

	for (const struct ynode *item = list->first; item; item = item->next) {
		const struct ynode *value = item->kind == Y_MAP ? ynode_get(item, "id") : NULL;

		if (!value || ynode_parse(value, &id_field, true, raw, NULL))
			return false;
		id = be_u32(raw);
		if (!bsearch(&id, sorted, n, sizeof id, by_value))
			return false;
	}
	return true;
}

/* Two materials that got one id are one now: the text that did it lists both. */
static int take_list(const struct mlp *m, struct doc_change *c, struct err *e)
{
	uint32_t *sorted = malloc(((size_t)m->nmaterials + 1) * sizeof *sorted);

	if (!sorted)
		return err_nomem(e);
	if (m->nmaterials) {
		memcpy(sorted, m->material, m->nmaterials * sizeof *sorted);
		qsort(sorted, m->nmaterials, sizeof *sorted, by_value);
	}
	c->taken = c->value->kind == Y_LIST && all_in(sorted, m->nmaterials, c->value);
	free(sorted);
	return 0;
}

int mlp_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e)
{
	int rc = 0;

	(void)index;
	(void)root;
	if (kind != DOC_OWN + MLP_OWN_MATERIALS)
		return 0;
	for (unsigned k = 0; k < n && !rc && object_again(o); k++)
		if (change[k].kind == CHANGE_LIST && !change[k].depth)
			rc = take_list(o->priv, &change[k], e);
	return rc ? rc : take_ids(o, change, n, e);
}
