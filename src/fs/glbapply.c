/* A model.glb that somebody wrote over the one that is shown: its meshes go with those of the model by name, and what
 * differs from what is shown becomes edits of the model and of whatever else it shows, all of one save. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "assemble.h"
#include "glbapply.h"

static int get_object(struct putting *x, struct object **out, struct err *e)
{
	return edit_object(x->ed, x->u, out, e);
}

/* ---- bones ---- */

/* With what the edit has written. */
static int get_skeleton(struct putting *x, struct err *e)
{
	struct unit *u = bones_unit(x->u);
	struct object *o = NULL;
	int rc = u ? edit_object(x->ed, u, &o, e) : 0;

	return bones_get(o, rc, &x->skeleton, x->a, e);
}

/* Exactly that name before one with .001 behind it. */
static int32_t find_bone(const struct geo_skeleton *s, const char *name)
{
	int32_t like = -1;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!strcmp(s->joint[i].name, name))
			return (int32_t)i;
		if (glb_is_named(name, s->joint[i].name))
			like = (int32_t)i;
	}
	return like;
}

static int match_skin(struct putting *x, uint32_t i, struct err *e)
{
	const struct scene_skin *skin = &x->scene.skin[i];
	uint32_t *node = x->bone_node;
	int32_t *bone = arena_alloc(x->a, (size_t)skin->njoints + 1, sizeof *bone);

	x->bone[i] = bone;
	if (!bone)
		return err_nomem(e);
	for (uint32_t k = 0; k < skin->njoints; k++) {
		const char *name = x->scene.node[skin->joint[k]].name;

		bone[k] = find_bone(&x->skeleton, name);
		/* Blender hangs on it what has no weights. */
		if (bone[k] < 0 && !strcmp(name, "neutral_bone"))
			bone[k] = GLB_UNTIED;
		if (bone[k] < 0)
			continue;
		/* Skins can share bones. */
		if (node[bone[k]] && node[bone[k]] != skin->joint[k] + 1)
			return err_set(e, EINVAL, "bone %.60s is there twice, as \"%.60s\" and as \"%.60s\"",
				       x->skeleton.joint[bone[k]].name, x->scene.node[node[bone[k]] - 1].name, name);
		node[bone[k]] = skin->joint[k] + 1;
	}
	return 0;
}

static int match_bones(struct putting *x, struct err *e)
{
	uint64_t work = 0;
	int rc = 0;

	x->bone = arena_alloc(x->a, (size_t)x->scene.nskins + 1, sizeof *x->bone);
	x->bone_node = arena_alloc(x->a, (size_t)x->skeleton.n + 1, sizeof *x->bone_node);
	if (!x->bone || !x->bone_node)
		return err_nomem(e);
	for (uint32_t i = 0; i < x->scene.nskins && !rc; i++) {
		work += (uint64_t)x->scene.skin[i].njoints * x->skeleton.n;
		rc = work < (uint64_t)1 << 32 ? match_skin(x, i, e) :
		     err_set(e, EFBIG, "%u skins with so many joints are too many", x->scene.nskins);
	}
	return rc;
}

static const char *first_changed(const struct geo_skeleton *s, const uint8_t *change)
{
	uint32_t i = 0;

	while (i < s->n && !change[i])
		i++;
	return i < s->n ? s->joint[i].name : NULL;
}

static void say_tied(struct putting *x, const struct geo_skeleton *s, const uint8_t *change)
{
	uint32_t n = 0, first = 0;
	char text[200];

	for (uint32_t i = s->n; i-- > 0;)
		if (change[i] & GEO_TIED) {
			first = i;
			n++;
		}
	if (!n)
		return;
	snprintf(text, sizeof text, "%u bones (%.60s) rested elsewhere than the model was tied to them, which the file "
		 "does not know; both are where it has them now", n, s->joint[first].name);
	edit_say(x->ed, text);
}

static int put_bones(struct putting *x, struct err *e)
{
	uint8_t *change = arena_alloc(x->a, (size_t)x->skeleton.n + 1, 1);
	struct unit *u = bones_unit(x->u);
	struct geo_skeleton now;
	struct object *o;
	int rc = change ? glb_compare_bones(&x->scene, &x->skeleton, x->bone_node, &now, change, x->a, e) :
			  err_nomem(e);
	const char *name = rc ? NULL : first_changed(&now, change);

	if (!name)
		return rc;
	if (!u->format->model->skeleton_put)
		return err_set(e, EINVAL, "bone %.60s is another one, and bones of this model cannot be written", name);
	rc = edit_object(x->ed, u, &o, e);
	rc = rc ? rc : u->format->model->skeleton_put(o, &now, change, e);
	if (!rc)
		say_tied(x, &now, change);
	rc = rc || u == x->u ? rc : edit_touch(x->ed, u, e);
	edit_reopen(x->ed);
	return rc;
}

/* ---- which mesh is which ---- */

static int name_meshes(struct putting *x, struct object *o, struct err *e)
{
	const struct model_ops *m = o->format->model;
	int rc = 0;

	x->nmeshes = m->mesh ? object_count(o, PART_MESH) : 0;
	x->name = arena_alloc(x->a, (size_t)x->nmeshes + 1, sizeof *x->name);
	x->node = arena_alloc(x->a, (size_t)x->nmeshes + 1, sizeof *x->node);
	if (!x->name || !x->node)
		return err_nomem(e);
	for (uint32_t i = 0; i < x->nmeshes && !rc; i++) {
		struct geo_form form = { 0 };

		if (object_gone(o, PART_MESH, i) || !object_has(o, PART_MESH, i))
			continue;
		rc = m->form ? m->form(o, i, &form, x->a, e) : 0;
		x->name[i] = form.object ? form.object : arena_printf(x->a, "mesh_%u", i);
		if (!rc && !x->name[i])
			rc = err_nomem(e);
	}
	return rc;
}

/* The mesh that is called so; GEO_NONE: none, or several. */
static uint32_t find_name(const struct putting *x, const char *name, bool exact)
{
	uint32_t found = GEO_NONE;

	for (uint32_t i = 0; i < x->nmeshes; i++) {
		if (!x->name[i] || !(exact ? !strcmp(name, x->name[i]) : glb_is_named(name, x->name[i])))
			continue;
		if (found != GEO_NONE)
			return GEO_NONE;
		found = i;
	}
	return found;
}

/* Behind mesh_; GEO_NONE: it has another name. */
static uint32_t find_number(const struct putting *x, const char *name)
{
	uint64_t n = 0;
	unsigned i = 5;

	if (strncmp(name, "mesh_", 5))
		return GEO_NONE;
	for (; name[i] >= '0' && name[i] <= '9' && n <= UINT32_MAX; i++)
		n = n * 10 + (unsigned)(name[i] - '0');
	return i > 5 && n < x->nmeshes && x->name[n] && (!name[i] || name[i] == '.') ? (uint32_t)n : GEO_NONE;
}

/* By the node's name, else by the mesh's own. */
static uint32_t find_mesh(const struct putting *x, const struct scene_node *n)
{
	const char *mesh = x->scene.mesh[n->mesh].name;
	uint32_t i = find_name(x, n->name, true);

	i = i == GEO_NONE ? find_number(x, mesh) : i;
	i = i == GEO_NONE ? find_name(x, n->name, false) : i;
	return i == GEO_NONE ? find_name(x, mesh, false) : i;
}

static int unknown_mesh(const struct putting *x, const struct scene_node *n, struct err *e)
{
	char text[100] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < x->nmeshes && len < sizeof text; i++)
		if (x->name[i])
			len += (size_t)snprintf(text + len, sizeof text - len, "%s%.40s", len ? ", " : "", x->name[i]);
	return err_set(e, EINVAL, "mesh \"%.60s\" is none of the model's: %s%s", *n->name ? n->name :
		       x->scene.mesh[n->mesh].name, text, len < sizeof text ? "" : "...");
}

static int match_meshes(struct putting *x, struct err *e)
{
	if ((uint64_t)x->scene.nnodes * x->nmeshes > (uint64_t)1 << 32)
		return err_set(e, EFBIG, "%u nodes are too many", x->scene.nnodes);
	for (uint32_t k = 0; k < x->scene.nnodes; k++) {
		const struct scene_node *n = &x->scene.node[k];
		uint32_t i;

		if (n->mesh < 0)
			continue;
		i = find_mesh(x, n);
		if (i == GEO_NONE)
			return unknown_mesh(x, n, e);
		if (x->node[i])
			return err_set(e, EINVAL, "mesh %.60s is there twice, as \"%.60s\" and as \"%.60s\"",
				       x->name[i], x->scene.node[x->node[i] - 1].name, n->name);
		x->node[i] = k + 1;
	}
	return 0;
}

/* ---- one mesh ---- */

struct shown {
	struct geo_mesh full, plain;
	struct geo_form form;
	struct geo_material *materials;
	struct glb_shown was;
};

static int get_shown(struct putting *x, struct object *o, uint32_t i, struct shown *s, struct arena *a, struct err *e)
{
	const struct model_ops *m = o->format->model;
	int rc = m->mesh(o, i, &s->plain, a, e);

	if (!rc && m->mesh_full)
		rc = m->mesh_full(o, i, &s->full, a, e);
	else if (!rc)
		s->full = s->plain;
	if (!rc && m->form)
		rc = m->form(o, i, &s->form, a, e);
	rc = rc ? rc : part_materials(x->u, o, &s->full, false, a, &s->materials, e);
	s->was = (struct glb_shown){ i, s->form.object, &s->full, &s->plain, s->materials, &s->form, &x->skeleton };
	return rc;
}

/* Materials that meshes are shown with, each once. */
static int keep_materials(struct putting *x, const struct shown *s, struct err *e)
{
	for (unsigned k = 0; k < s->full.nparts; k++) {
		const struct geo_material *m = &s->materials[k];
		struct glb_material_name *to = x->material;

		if (!m->name || m->image < 0)
			continue;
		while (to && strcmp(to->name, m->name))
			to = to->next;
		if (to)
			continue;
		to = arena_alloc(x->a, 1, sizeof *to);
		if (!to)
			return err_nomem(e);
		*to = (struct glb_material_name){ x->material, arena_printf(x->a, "%s", m->name), m->image };
		if (!to->name)
			return err_nomem(e);
		x->material = to;
	}
	return 0;
}

static int compare(struct putting *x, uint32_t i, struct glb_edit *out, struct arena *a, struct err *e)
{
	int32_t skin = x->scene.node[x->node[i] - 1].skin;
	struct shown s = { 0 };
	struct object *o;
	int rc = get_object(x, &o, e);

	rc = rc ? rc : get_shown(x, o, i, &s, a, e);
	rc = rc ? rc : keep_materials(x, &s, e);
	return rc ? rc : glb_compare(&x->scene, x->node[i] - 1, &s.was, skin < 0 ? NULL : x->bone[skin], out, a, e);
}

static bool can_put(struct object *o, uint32_t i)
{
	const struct model_ops *m = o->format->model;

	return !m->can_put || m->can_put(o, PART_MESH, i);
}

/* Writes one of the two, through an object that sees what was written before. */
static int put(struct putting *x, uint32_t i, const struct glb_edit *edit, bool weights, struct err *e)
{
	const struct model_ops *m = x->u->format->model;
	struct object *o;
	int rc = get_object(x, &o, e);

	if (rc)
		return rc;
	if (!(weights ? m->weights_put != NULL : m->mesh_put != NULL) || !can_put(o, i))
		return err_set(e, EINVAL, "%.60s: %s of this mesh cannot be written", x->name[i],
			       weights ? "weights" : "vertices and faces");
	rc = weights ? m->weights_put(o, i, &edit->pairs, e) : m->mesh_put(o, i, &edit->put, e);
	edit_reopen(x->ed);
	if (rc)
		glb_say_where(edit, x->name[i], e);
	return rc;
}

static void count_lost(struct putting *x, const struct glb_edit *edit)
{
	x->left_out += edit->left_out;
	x->no_colours += edit->colours_lost;
	x->no_tangents += edit->tangents && !glb_is_foreign(&x->scene);
}

static void say(struct putting *x, uint32_t n, const char *fmt)
{
	char text[200];

	if (!n)
		return;
	snprintf(text, sizeof text, "%u %s", n, fmt);
	edit_say(x->ed, text);
}

static void say_all_lost(struct putting *x)
{
	say(x, x->no_tangents, "meshes have other tangents, which are not taken");
	say(x, x->no_colours, "meshes have their colours at the wrong vertices, as Blender 3.4 writes them; they are "
	    "not taken");
	say(x, x->left_out, "vertices came back with four weights only; they keep all they have");
}

/* Weights go to vertices that may not be there before the mesh is. */
static int put_mesh(struct putting *x, uint32_t i, struct err *e)
{
	struct arena a = { 0 };
	struct glb_edit edit;
	int rc = compare(x, i, &edit, &a, e);

	if (!rc && edit.mesh) {
		rc = put(x, i, &edit, false, e);
		arena_free(&a);
		a = (struct arena){ 0 };
		rc = rc ? rc : compare(x, i, &edit, &a, e);
	}
	if (!rc && edit.weights)
		rc = put(x, i, &edit, true, e);
	if (!rc)
		count_lost(x, &edit);
	arena_free(&a);
	return rc;
}

/* ---- all of it ---- */

static int put_all(struct putting *x, struct err *e)
{
	struct object *o;
	int rc = get_object(x, &o, e);

	if (!rc && !o->variant)
		rc = err_set(e, EINVAL, "the model is damaged");
	rc = rc ? rc : name_meshes(x, o, e);
	rc = rc ? rc : match_meshes(x, e);
	rc = rc ? rc : get_skeleton(x, e);
	rc = rc ? rc : match_bones(x, e);
	for (uint32_t i = 0; i < x->nmeshes && !rc; i++)
		if (x->node[i])
			rc = put_mesh(x, i, e);
	say_all_lost(x);
	rc = rc ? rc : put_bones(x, e);
	return rc ? rc : glb_put_pictures(x, e);
}

int apply_glb(struct edit *ed, struct unit *u, struct store *text, struct err *e)
{
	struct arena a = { 0 };
	struct putting x = { .ed = ed, .u = u, .a = &a };
	struct buf b = { 0 };
	int rc = store_text(text, LIMIT_DECODED, &b, e);

	rc = rc ? rc : glb_read(b.p, b.len, &x.scene, &a, e);
	rc = rc ? rc : put_all(&x, e);
	arena_free(&a);
	buf_free(&b);
	return rc;
}
