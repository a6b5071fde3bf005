#include "assemble.h"

#include <errno.h>

struct unit *bones_unit(struct unit *u)
{
	return u->format->model->skeleton ? u : unit_mate(u->tree, u, ROLE_SKELETON);
}

int bones_get(struct object *o, int rc, struct geo_skeleton *out, struct arena *a, struct err *e)
{
	if (!rc && o && o->variant && o->format->model && o->format->model->skeleton)
		rc = o->format->model->skeleton(o, out, a, e);
	if (rc == -EBADMSG || rc == -EFBIG) {
		*out = (struct geo_skeleton){ 0 };
		rc = 0;
	}
	return rc ? rc : geo_settle(out, a, e);
}

int assemble_skeleton(const struct assembly *x, struct geo_skeleton *out, struct arena *a, struct err *e)
{
	struct unit *u = bones_unit(x->u);
	struct object *o = u == x->u ? x->o : NULL;
	struct cached *hold = NULL;
	int rc = u && !o ? unit_object(x->t, u, &hold, &o, e) : 0;

	rc = bones_get(o, rc, out, a, e);
	cached_put(hold);
	return rc;
}

static int get_mesh(const struct assembly *x, uint32_t i, struct geo_mesh *m, struct geo_material **materials,
		    struct geo_form *form, struct arena *a, struct err *e)
{
	const struct model_ops *ops = x->o->format->model;
	int rc = (ops->mesh_full ? ops->mesh_full : ops->mesh)(x->o, i, m, a, e);

	if (!rc && ops->form)
		rc = ops->form(x->o, i, form, a, e);
	return rc ? rc : part_materials(x->u, x->o, m, false, a, materials, e);
}

static int add_mesh(struct assembly *x, uint32_t i, assemble_mesh *take, void *ctx, struct err *e)
{
	struct arena a = { 0 };
	struct geo_mesh m = { 0 };
	struct geo_form form = { 0 };
	struct geo_material *materials = NULL;
	struct err why = { 0 };
	int rc = get_mesh(x, i, &m, &materials, &form, &a, &why);

	x->meshes++;
	if (!rc) {
		rc = take(ctx, i, form.object, &m, materials, e);
	} else if (rc == -EBADMSG || rc == -EFBIG) {
		note_mesh(x->t, x->u, i, why.text);
		x->why = x->damaged++ ? x->why : why;
		rc = 0;
	} else if (e) {
		*e = why;
	}
	arena_free(&a);
	return rc;
}

int assemble_meshes(struct assembly *x, assemble_mesh *take, void *ctx, struct err *e)
{
	uint32_t n = x->o->format->model->mesh ? object_count(x->o, PART_MESH) : 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		if (!object_gone(x->o, PART_MESH, i) && object_has(x->o, PART_MESH, i))
			rc = add_mesh(x, i, take, ctx, e);
	if (rc || x->damaged < x->meshes || !x->meshes)
		return rc;
	if (e)
		*e = x->why;
	return -x->why.code;
}
