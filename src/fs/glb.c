/* model.glb: the meshes, bones and pictures of a model put together from what it and its companions hold. */
#include <errno.h>

#include "export.h"
#include "unit.h"

struct assembling {
	struct tree *t;
	struct unit *u;
	struct object *o;
	struct glb *glb;
	uint32_t meshes, damaged;
	struct err why;                        /* of the first damaged one */
};

/* ---- bones ---- */

/* The model's own, or those of the skeleton beside it. A damaged one is none. */
static int find_skeleton(struct assembling *x, struct geo_skeleton *out, struct arena *a, struct err *e)
{
	struct unit *mate = x->o->format->model->skeleton ? NULL : unit_mate(x->t, x->u, ROLE_SKELETON);
	struct object *o = x->o;
	struct cached *hold = NULL;
	int rc = mate ? unit_object(x->t, mate, &hold, &o, e) : 0;

	if (!rc && o->variant && o->format->model && o->format->model->skeleton)
		rc = o->format->model->skeleton(o, out, a, e);
	cached_put(hold);
	if (rc == -EBADMSG || rc == -EFBIG) {
		*out = (struct geo_skeleton){ 0 };
		rc = 0;
	}
	return rc ? rc : geo_settle(out, a, e);
}

/* ---- meshes ---- */

static int get_mesh(struct assembling *x, uint32_t i, struct geo_mesh *m, struct geo_material **materials,
		    struct geo_form *form, struct arena *a, struct err *e)
{
	const struct model_ops *ops = x->o->format->model;
	int rc = (ops->mesh_full ? ops->mesh_full : ops->mesh)(x->o, i, m, a, e);

	if (!rc && ops->form)
		rc = ops->form(x->o, i, form, a, e);
	return rc ? rc : part_materials(x->u, x->o, m, false, a, materials, e);
}

/* A damaged mesh costs itself only, as long as there is another one. */
static int add_mesh(struct assembling *x, uint32_t i, struct err *e)
{
	struct arena a = { 0 };
	struct geo_mesh m = { 0 };
	struct geo_form form = { 0 };
	struct geo_material *materials = NULL;
	struct err why = { 0 };
	int rc = get_mesh(x, i, &m, &materials, &form, &a, &why);

	x->meshes++;
	if (!rc) {
		rc = glb_mesh(x->glb, i, form.object, &m, materials, e);
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

static int add_meshes(struct assembling *x, struct err *e)
{
	uint32_t n = x->o->format->model->mesh ? object_count(x->o, PART_MESH) : 0;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		if (!object_gone(x->o, PART_MESH, i) && object_has(x->o, PART_MESH, i))
			rc = add_mesh(x, i, e);
	if (rc || x->damaged < x->meshes || !x->meshes)
		return rc;
	if (e)
		*e = x->why;
	return -x->why.code;
}

/* ---- pictures ---- */

/* One that cannot be decoded is not there. */
static int add_pictures(struct assembling *x, struct err *e)
{
	uint32_t number;
	int rc = 0;

	for (uint32_t i = 0; !rc && glb_wants_picture(x->glb, i, &number); i++) {
		struct leaf *l = picture_leaf(x->u, (int32_t)number);
		struct cached *png = NULL;

		rc = l ? render_leaf(x->t, x->u, l, &png, e) : -EBADMSG;
		if (!rc)
			rc = glb_picture(x->glb, i, rendered_text(png), rendered_alpha(png), e);
		else if (rc == -EBADMSG || rc == -EFBIG)
			rc = 0;
		cached_put(png);
	}
	return rc;
}

int glb_render(struct tree *t, struct unit *u, struct object *o, struct buf *out, uint64_t *size, struct err *e)
{
	struct assembling x = { .t = t, .u = u, .o = o };
	struct geo_skeleton s = { 0 };
	struct arena a = { 0 };
	int rc = find_skeleton(&x, &s, &a, e);

	rc = rc ? rc : glb_begin(&x.glb, &s, out, e);
	rc = rc ? rc : add_meshes(&x, e);
	rc = rc ? rc : add_pictures(&x, e);
	rc = rc ? rc : glb_end(x.glb, out, size, e);
	glb_free(x.glb);
	arena_free(&a);
	return rc;
}
