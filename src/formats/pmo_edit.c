/* What editing value by value cannot do to the documents of a PMO: hiding and showing a mesh, and what lies behind keys
 * that are never shown. And whether numbers lead somewhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmo.h"

/* ---- hiding ----
 *
 * A PRIM word that becomes a NOP with the same argument draws nothing and can be turned back (spec/mhp.md 3.10). So
 * that showing brings back exactly the old bytes, a list is hidden only when all NOPs that look like PRIMs will be
 * ours. */

struct hide {
	struct object *o;
	const struct pmo *p;
	const struct ynode *value;
	struct err *e;
};

PRINTF(2, 3)
static int cannot(const struct hide *x, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_line(x->e, EINVAL, x->value->line, x->value->column, "visible: %s", text);
}

static int read_word(const struct hide *x, uint32_t at, uint32_t *word)
{
	uint8_t bytes[4];
	int rc = src_read(x->p->region.src, bytes, sizeof bytes, x->p->region.at + at, "display list", x->e);

	*word = rc ? 0 : le_u32(bytes);
	return rc;
}

static int write_op(const struct hide *x, uint32_t at, uint8_t op)
{
	uint32_t word;
	uint8_t bytes[4];
	int rc = read_word(x, at, &word);

	put_le32(bytes, ge_word(op, ge_arg(word)));
	return rc ? rc
		  : object_patch(x->o, x->p->behind, x->p->region.at + at, bytes, sizeof bytes, "display list", x->e);
}

/* Whether the list of group g starts with the index pointer where the list before left it. */
static bool goes_on(const struct pmo *p, uint32_t g)
{
	const struct pmo_group *group = &p->group[g];
	struct ge_prim prim;
	struct ge_walk w;
	int rc;

	if (group->bad || !group->corners)
		return false;
	pmo_walk(p, g, group->hidden, &w);
	w.indices = GE_NO_ADDRESS;
	while ((rc = ge_walk_next(&w, &prim, NULL)) > 0)
		;
	return rc != 0;
}

/* Whether group g can be hidden and shown again. *end: where its list ends. */
static int check_list(const struct hide *x, uint32_t g, uint32_t *end)
{
	const struct pmo_group *group = &x->p->group[g];
	struct ge_prim prim;
	struct ge_walk w;
	uint32_t word;
	int rc, more;

	if (group->hidden)
		return cannot(x, "group %u is hidden already and would be shown with the others", g);
	pmo_walk(x->p, g, false, &w);
	while ((more = ge_walk_next(&w, &prim, x->e)) > 0) {
		rc = read_word(x, prim.at, &word);
		if (rc)
			return rc;
		if (!ge_is_prim_arg(ge_arg(word)))
			return cannot(x, "the PRIM 0x%08x of group %u could not be turned back", word, g);
	}
	*end = w.pc;
	if (more)
		return more;
	if (group->draws && w.nop_prims)
		return cannot(x, "group %u has a NOP that looks like a PRIM and would be shown with the others", g);
	if (g + 1 < x->p->table[PMO_GROUPS].n && group->draws && goes_on(x->p, g + 1))
		return cannot(x, "group %u goes on where group %u leaves the index pointer", g + 1, g);
	return 0;
}

static bool is_of(const struct pmo_mesh *m, uint32_t g)
{
	return g >= m->first_group && g - m->first_group < m->group_count;
}

static int check_lists(const struct hide *x, const struct pmo_mesh *m, struct span *v)
{
	uint32_t all = x->p->table[PMO_GROUPS].n, end;
	bool draws = false;
	int rc = 0;

	for (uint32_t g = 0; g < all && !rc; g++) {
		const struct pmo_group *group = &x->p->group[g];

		v[g] = (struct span){ group->display_list, 4, !is_of(m, g) };
		if (!is_of(m, g))
			continue;
		rc = check_list(x, g, &end);
		v[g].size = rc ? 0 : end - group->display_list;
		draws |= group->draws;
	}
	if (rc)
		return rc;
	if (!draws)
		return cannot(x, "the mesh draws nothing that could be hidden");
	return pmo_spans_meet(v, all) ? cannot(x, "another mesh has a display list in common with this one") : 0;
}

static int turn(const struct hide *x, uint32_t g, bool visible)
{
	struct ge_prim prim;
	struct ge_walk w;
	int rc, more;

	pmo_walk(x->p, g, visible, &w);
	while ((more = ge_walk_next(&w, &prim, x->e)) > 0) {
		rc = write_op(x, prim.at, visible ? GE_PRIM : GE_NOP);
		if (rc)
			return rc;
	}
	return more;
}

static int put_visible(const struct hide *x, const struct pmo_mesh *m)
{
	bool visible = !strcmp(x->value->text, "true");
	struct span *v = calloc((size_t)x->p->table[PMO_GROUPS].n + 1, sizeof *v);
	int rc = v ? 0 : err_nomem(x->e);

	if (!rc && !visible)
		rc = check_lists(x, m, v);
	free(v);
	for (uint32_t k = 0; k < m->group_count && !rc; k++) {
		uint32_t g = m->first_group + k;

		if (visible ? x->p->group[g].hidden : x->p->group[g].draws)
			rc = turn(x, g, visible);
	}
	return rc;
}

/* ---- rescale ---- */

/* Whether a text gives the n floats at v. */
static bool says(const struct ynode *value, const float *v, uint32_t n)
{
	const struct ynode *item = n == 1 ? value : ynode_item(value, 0);
	float f;

	if (n > 1 && value->count < n)
		return false;
	for (uint32_t i = 0; i < n; i++, item = item->next)
		if (item->kind != Y_SCALAR || !num_parse_f32(item->text, item->n, &f) || f != v[i])
			return false;
	return true;
}

static void take_out(struct object *o, struct ynode *root, const char *key)
{
	struct ynode *gone = ynode_key(root, key), **at = &root->first;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	root->count--;
	object_say(o, "line %u: %s is left out because of rescale", gone->line, key);
}

/* rescale stands for the scale, and for a cull radius that follows it: their lines say what was shown before. */
int pmo_doc_tree(struct object *o, unsigned kind, uint32_t index, struct ynode *root, struct err *e)
{
	const struct pmo *p = o->priv;
	const struct ynode *rescale = ynode_get(root, "rescale"), *scale = ynode_get(root, "scale"),
			   *radius = ynode_get(root, "cull_radius");
	const float *stored;
	bool done;

	if (!rescale || !pmo_has_scale(p, kind, index))
		return 0;
	stored = p->mesh_scale ? p->mesh[index].scale : p->head.scale;
	done = says(rescale, stored, 3);
	if (scale && !done && !says(scale, stored, 3))
		return err_line(e, EINVAL, scale->line, scale->column,
				"both scale and rescale are given, and scale is changed");
	if (scale)
		take_out(o, root, "scale");
	if (radius && pmo_radius_follows(p) && (done || says(radius, &p->head.cull_radius, 1)))
		take_out(o, root, "cull_radius");
	return 0;
}

/* ---- documents ---- */

static int put_change(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *c,
		      struct err *e)
{
	const struct pmo *p = o->priv;
	struct hide hide = { o, p, c->value, e };

	if (c->depth)
		return 0;
	if (c->kind == CHANGE_KEY && !strcmp(c->key, "rescale")) {
		const struct ynode *scale = ynode_key(root, "scale");

		c->taken = true;
		if (scale)
			return err_line(e, EINVAL, scale->line, scale->column, "both scale and rescale are given");
		return pmo_rescale(o, kind, index, c->value, e);
	}
	if (kind == DOC_MESH && c->kind == CHANGE_TEXT && !strcmp(c->key, "visible")) {
		c->taken = true;
		return put_visible(&hide, &p->mesh[index]);
	}
	return 0;
}

int pmo_doc_put(struct object *o, unsigned kind, uint32_t index, const struct ynode *root, struct doc_change *change,
		unsigned n, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++)
		rc = put_change(o, kind, index, root, &change[i], e);
	return rc || kind != DOC_MESH ? rc : pmo_rows_put(o, index, change, n, e);
}

/* ---- numbers that lead nowhere ---- */

static int check_group(const struct pmo *p, uint32_t mesh, uint32_t g, struct err *e)
{
	const struct pmo_mesh *m = &p->mesh[mesh];
	const struct pmo_group *group = &p->group[g];
	const struct pmo_table *palette = &p->table[PMO_PALETTE];
	uint32_t k = group->first_palette, end = k + group->palette_count;

	if (pmo_material_index(p, m, group) < 0) {
		if (!p->head.remap_table)
			return err_set(e, EINVAL, "mesh %u, group %u: material %u, the model has %u", mesh,
				       g - m->first_group, m->first_remap + group->material, p->table[PMO_MATERIALS].n);
		if (group->material >= m->remap_count)
			return err_set(e, EINVAL, "mesh %u, group %u: material %u, the mesh has %u", mesh,
				       g - m->first_group, group->material, m->remap_count);
		return err_set(e, EINVAL, "mesh %u: materials: entry %u leads to material %u, the model has %u", mesh,
			       group->material, p->table[PMO_REMAP].raw[m->first_remap + group->material],
			       p->table[PMO_MATERIALS].n);
	}
	for (; k < end && k < palette->n; k++)
		if (palette->raw[2 * k] >= PMO_SLOTS)
			return err_set(e, EINVAL, "mesh %u, group %u: palette: slot %u is outside 0..%u", mesh,
				       g - m->first_group, palette->raw[2 * k], PMO_SLOTS - 1);
	return 0;
}

int pmo_check(struct object *o, struct err *e)
{
	const struct pmo *p = o->priv;
	int rc = 0;

	for (uint32_t i = 0; i < p->nmeshes && !rc; i++) {
		const struct pmo_mesh *m = &p->mesh[i];

		for (uint32_t k = 0; k < m->group_count && !rc && !m->bad; k++) {
			const struct pmo_group *g = &p->group[m->first_group + k];

			if (g->draws || g->hidden || !p->region.src)
				rc = check_group(p, i, m->first_group + k, e);
		}
	}
	return rc;
}
