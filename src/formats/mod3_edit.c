/* What is written to the records of a MOD3 beyond single values: bone functions with the remap table, and numbers that
 * must lead somewhere. */
#include <errno.h>
#include <string.h>

#include "mod3.h"

/* ---- values ---- */

/* The value of a field that was left to us, as its bits. */
static int value_of(const struct record *r, const struct doc_change *c, uint64_t *bits, struct err *e)
{
	struct field f;
	uint8_t raw[8];
	int rc;

	if (!rec_field(r, c->key, &f))
		return err_set(e, EINVAL, "%s: no such field", c->key);
	f.at = 0;
	rc = ynode_parse(c->value, &f, false, raw, e);
	*bits = rc ? 0 : field_get(&f, false, raw, 0);
	return rc;
}

/* ---- mesh records ---- */

static int put_material(struct object *o, uint32_t mesh, const struct doc_change *c, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint32_t n = m->table[MOD3_MATERIALS].n;
	uint8_t raw[2];
	uint64_t index = 0;
	int rc = value_of(&mod3_mesh_record, c, &index, e);

	if (rc)
		return rc;
	if (index >= n)
		return err_line(e, EINVAL, c->value->line, c->value->column, "material_index: material %u of %u",
				(unsigned)index, n);
	put_le16(raw, (uint16_t)index);
	return object_patch(o, 0, mod3_mesh_at(m, mesh) + 6, raw, sizeof raw, "material_index", e);
}

/* Another block type comes last: it moves what lies behind. */
static int put_mesh(struct object *o, uint32_t mesh, struct doc_change *change, unsigned n, struct err *e)
{
	const struct ynode *block_type = NULL;
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		struct doc_change *c = &change[i];

		if (c->kind != CHANGE_TEXT || c->depth)
			continue;
		if (!strcmp(c->key, "block_type"))
			block_type = c->value;
		else if (!strcmp(c->key, "material_index"))
			rc = put_material(o, mesh, c, e);
		else
			continue;
		c->taken = true;
	}
	return rc || !block_type ? rc : mod3_block_type_put(o, mesh, block_type, e);
}

/* ---- bones ---- */

static int set_remap(struct object *o, uint32_t function, uint8_t only_if, uint8_t bone, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint64_t at = m->table[MOD3_REMAP].at + function;
	uint8_t was;
	int rc;

	if (function >= MOD3_REMAP_SIZE)
		return 0;
	rc = src_read(o->src, &was, 1, at, "remap table", e);
	if (rc || (bone == MOD3_NO_BONE && was != only_if))
		return rc;
	return object_patch(o, 0, at, &bone, 1, "remap table", e);
}

/* The entry of the old function goes if it names this bone; that of the new one names it. */
static int put_function(struct object *o, const struct doc_change *c, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint32_t i = c->item[0];
	uint64_t function = 0;
	uint8_t raw[2];
	int rc = value_of(&mod3_bone_record, c, &function, e);

	if (rc)
		return rc;
	put_le16(raw, (uint16_t)function);
	rc = object_patch(o, 0, mod3_bone_at(m, i), raw, sizeof raw, "function of a bone", e);
	if (!rc && i < MOD3_NO_BONE)
		rc = set_remap(o, m->bone[i].function, (uint8_t)i, MOD3_NO_BONE, e);
	if (!rc && i < MOD3_NO_BONE)
		rc = set_remap(o, (uint32_t)function, 0, (uint8_t)i, e);
	return rc;
}

static int put_functions(struct object *o, struct doc_change *change, unsigned n, struct err *e)
{
	uint32_t nbones = ((const struct mod3 *)o->priv)->table[MOD3_BONES].n;
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		struct doc_change *c = &change[i];

		if (c->kind != CHANGE_TEXT || c->depth != 1 || c->item[0] >= nbones || strcmp(c->key, "function"))
			continue;
		c->taken = true;
		rc = put_function(o, c, e);
	}
	return rc;
}

int mod3_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		 unsigned n, struct err *e)
{
	int rc;

	(void)root;
	switch (kind) {
	case DOC_MESH:
		return put_mesh(o, index, change, n, e);
	case DOC_SKELETON:
		rc = put_functions(o, change, n, e);
		return rc ? rc : mod3_bones_put(o, change, n, e);
	default:
		return 0;
	}
}

/* ---- check ---- */

static int check_pairs(const struct mod3 *m, struct err *e)
{
	uint32_t n = m->table[MOD3_BONES].n;

	for (uint32_t i = 0; i < n; i++)
		if (m->bone[i].symmetric_pair != MOD3_NO_BONE && m->bone[i].symmetric_pair >= n)
			return err_set(e, EINVAL, "bone %u: symmetric_pair %u of %u bones", i,
				       m->bone[i].symmetric_pair, n);
	return 0;
}

#define PIECE 64u                              /* envelopes read at once */

static int check_envelopes(struct object *o, struct err *e)
{
	const struct mod3 *m = o->priv;
	uint32_t nbones = m->table[MOD3_BONES].n, n = m->table[MOD3_ENVELOPES].n, got;
	uint8_t raw[PIECE * MOD3_ENVELOPE_SIZE];

	for (uint32_t i = 0; i < n; i += got) {
		int rc;

		got = n - i < PIECE ? n - i : PIECE;
		rc = src_read(o->src, raw, (size_t)got * MOD3_ENVELOPE_SIZE, mod3_envelope_at(m, i), "envelopes", e);
		for (uint32_t k = 0; k < got && !rc; k++) {
			uint32_t bone = le_u32(raw + (size_t)k * MOD3_ENVELOPE_SIZE);

			if (bone != MOD3_NO_BONE && bone >= nbones)
				rc = err_set(e, EINVAL, "envelope %u: bone %d of %u bones", i + k, (int32_t)bone,
					     nbones);
		}
		if (rc)
			return rc;
	}
	return 0;
}

int mod3_check(struct object *o, struct err *e)
{
	int rc = check_pairs(o->priv, e);

	return rc ? rc : check_envelopes(o, e);
}
