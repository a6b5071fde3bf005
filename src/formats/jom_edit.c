/* What is written to the documents of a JOM beyond single values: rows of polygons, which need not lie side by side,
 * names of textures, which stand in two places, and lists of another length. */
#include "jom_put.h"

#include <errno.h>
#include <string.h>

/* ---- rows of polygons ---- */

struct rows { const char *key; enum jom_tag tag; const struct record *r; };

/* The first field of each row, from the list's items; as many as are shown. */
static int put_rows(struct object *o, const struct rows *rows, const struct jom_shown *s, const struct ynode *list,
		    struct err *e)
{
	const struct jom_model *m = jom_of(o);
	const struct field *f = &rows->r->fields[0];
	const struct ynode *item = list->first;
	int rc = 0;

	for (uint32_t i = 0; item && !rc; i++, item = item->next) {
		uint64_t at = (uint64_t)s->polygon[i] * rows->r->size;
		uint8_t raw[32];

		memcpy(raw, m->table[rows->tag].raw + at, rows->r->size);
		rc = ynode_parse(item, f, true, raw, e);
		rc = rc ? rc : object_patch(o, 0, m->table[rows->tag].at + at, raw, rows->r->size, rows->key, e);
	}
	return rc;
}

static int take_rows(struct object *o, uint32_t mesh, struct doc_change *c, struct err *e)
{
	static const struct rows all[] = {
		{ "normals", JOM_QUAD, &jom_quad_record }, { "gouraud", JOM_GOUR, &jom_gouraud_record },
	};
	const struct rows *rows = !strcmp(c->key, all[0].key) ? &all[0] : !strcmp(c->key, all[1].key) ? &all[1] : NULL;
	struct arena a = { 0 };
	struct jom_shown s;
	int rc = rows ? jom_mesh_shown(jom_of(o), mesh, &s, &a, e) : 0;

	if (rows && !rc && c->value->count == jom_rows_shown(jom_of(o), &s, rows->tag, rows->r->size)) {
		c->taken = true;
		rc = put_rows(o, rows, &s, c->value, e);
	}
	arena_free(&a);
	return rc;
}

/* ---- names of textures ---- */

/* The picture in TIMG has the name that TEXT gives it. */
static int take_texture_name(struct object *o, uint32_t i, struct doc_change *c, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	uint8_t raw[JOM_NAME] = { 0 };
	int rc = ynode_parse(c->value, &jom_text_record.fields[0], true, raw, e);

	c->taken = true;
	rc = rc ? rc : object_patch(o, 0, jom_row_at(m, JOM_TEXT, i), raw, sizeof raw, "name of a texture", e);
	if (!rc && m->textures[i].source == JOM_FROM_TIMG)
		rc = object_patch(o, 0, m->pictures[i].at, raw, sizeof raw, "name of a picture", e);
	return rc;
}

/* ---- lists of another length ---- */

static void take_out(struct ynode *root, const struct ynode *key)
{
	struct ynode **at = &root->first;

	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	root->count--;
}

/* A text that adds keys, or takes some away, says with its list how many there are: its key_count is of no account. */
int jom_doc_tree(struct object *o, unsigned kind, uint32_t index, struct ynode *root, struct err *e)
{
	const struct ynode *count = root->kind == Y_MAP ? ynode_key(root, "key_count") : NULL, *keys;
	uint8_t raw[JOM_ANIMATION_SIZE];
	struct field f;
	int rc;

	keys = kind == DOC_CLIP && count ? ynode_get(root, "keys") : NULL;
	if (!keys || keys->kind != Y_LIST || !rec_field(&jom_animation_record, "key_count", &f))
		return 0;
	memcpy(raw, jom_row(jom_of(o), JOM_ANIM, index), sizeof raw);
	if (be_u16(raw + f.at) == keys->count)
		return 0;
	rc = ynode_parse(count->value, &f, true, raw, e);
	if (!rc)
		take_out(root, count);
	return rc;
}

static int take_list(struct object *o, unsigned kind, uint32_t index, struct doc_change *c, struct err *e)
{
	c->taken = true;
	if (kind == JOM_DOC_MATERIALS && !*c->key)
		return jom_put_materials(o, c->value, e);
	if (kind == DOC_SKELETON && !strcmp(c->key, "bones"))
		return jom_put_bones(o, c->value, e);
	if (kind == DOC_CLIP && !strcmp(c->key, "keys"))
		return jom_put_keys(o, index, c->value, e);
	c->taken = false;
	return 0;
}

int jom_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e)
{
	int rc = 0;

	(void)root;
	for (unsigned k = 0; k < n && !rc; k++) {
		struct doc_change *c = &change[k];

		if (c->kind == CHANGE_LIST && !c->depth)
			rc = take_list(o, kind, index, c, e);
		else if (kind == DOC_MESH && c->kind == CHANGE_ROWS && !c->depth)
			rc = take_rows(o, index, c, e);
		else if (kind == DOC_IMAGE && c->kind == CHANGE_TEXT && !c->depth && !strcmp(c->key, "name"))
			rc = take_texture_name(o, index, c, e);
	}
	return rc;
}

/* ---- numbers that lead nowhere ---- */

/* A number that is -1 or one of n. */
static int check_number(const char *what, uint32_t i, const char *key, int32_t v, uint32_t n, struct err *e)
{
	if (v < -1)
		return err_set(e, EINVAL, "%s[%u].%s: %d is below 0", what, i, key, v);
	if (v >= 0 && (uint32_t)v >= n)
		return err_set(e, EINVAL, "%s[%u].%s: %d is not below %u", what, i, key, v, n);
	return 0;
}

int jom_check(struct object *o, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	int rc = 0;

	for (uint32_t i = 0; i < m->table[JOM_MATL].n && !rc; i++) {
		struct jom_material mat;

		rec_decode(&jom_material_record, true, jom_row(m, JOM_MATL, i), &mat);
		rc = check_number("materials", i, "texture", mat.texture, m->table[JOM_TEXT].n, e);
	}
	for (uint32_t i = 0; i < m->nbones && !rc; i++) {
		struct jom_bone bone;

		rec_decode(&jom_bone_record, true, jom_row(m, JOM_BONE, i), &bone);
		rc = check_number("bones", i, "parent", bone.parent, i, e);
		if (!rc && bone.group != JOM_NO_GROUP)
			rc = check_number("bones", i, "group", bone.group, m->table[JOM_GRUP].n, e);
	}
	return rc;
}
