/* GLB files: the meshes, bones, pictures and animations of a model in one file.
 *
 *   model.glb           all of it, but no animations
 *   animations/all.glb  all of it
 *   animations/N.glb    bones and one clip */
#include <errno.h>

#include "assemble.h"
#include "export.h"

static int add_mesh(void *ctx, uint32_t number, const char *name, const struct geo_mesh *m,
		    const struct geo_material *of_part, struct err *e)
{
	return glb_mesh(ctx, number, name, m, of_part, e);
}

/* One that cannot be decoded is not there. */
static int add_pictures(struct glb *glb, struct tree *t, struct unit *u, struct err *e)
{
	uint32_t number;
	int rc = 0;

	for (uint32_t i = 0; !rc && glb_wants_picture(glb, i, &number); i++) {
		struct leaf *l = picture_leaf(u, (int32_t)number);
		struct cached *png = NULL;

		rc = l ? render_leaf(t, u, l, &png, e) : -EBADMSG;
		if (!rc)
			rc = glb_picture(glb, i, rendered_text(png), rendered_alpha(png), e);
		else if (rc == -EBADMSG || rc == -EFBIG)
			rc = 0;
		cached_put(png);
	}
	return rc;
}

/* ---- animations ---- */

struct adding {
	struct tree *t;
	struct unit *u;
	struct glb *glb;
	const struct geo_skeleton *skeleton;
	uint32_t clips, damaged;
	struct err why;                        /* of the first damaged one */
	struct err *e;
};

static int put_clip(struct adding *x, const struct geo_clip *clip)
{
	return glb_animation(x->glb, clip, &x->t->timing, x->e);
}

/* A damaged clip costs itself only, as long as there is another one. */
static int add_motion(void *ctx, const struct geo_clip *clip, int rc, const struct err *why)
{
	struct adding *x = ctx;

	x->clips++;
	if (!rc)
		return put_clip(x, clip);
	if (rc != -EBADMSG && rc != -EFBIG) {
		*x->e = *why;
		return rc;
	}
	unit_note(x->t, x->u, why->text);
	x->why = x->damaged++ ? x->why : *why;
	return 0;
}

static int add_clip(struct adding *x, struct object *o, uint32_t i)
{
	struct arena a = { 0 };
	struct geo_clip clip = { 0 };
	int rc = o->format->model->clip(o, i, x->skeleton, &clip, &a, x->e);

	rc = rc ? rc : put_clip(x, &clip);
	arena_free(&a);
	return rc;
}

/* Each clip alone. */
static int add_each(struct adding *x, struct object *o)
{
	int rc = 0;

	for (uint32_t i = 0; i < object_count(o, PART_CLIP) && !rc; i++) {
		struct arena a = { 0 };
		struct geo_clip clip = { 0 };
		struct err why = { 0 };

		if (object_gone(o, PART_CLIP, i))
			continue;
		rc = o->format->model->clip(o, i, x->skeleton, &clip, &a, &why);
		rc = add_motion(x, &clip, rc, &why);
		arena_free(&a);
	}
	return rc;
}

static int add_all(struct adding *x, struct object *o)
{
	const struct model_ops *ops = o->format->model;
	int rc = ops->motions ? ops->motions(o, x->skeleton, add_motion, x, x->e) : add_each(x, o);

	if (rc || !x->clips || x->damaged < x->clips)
		return rc;
	*x->e = x->why;
	return -x->why.code;
}

/* Of the pack beside the model, or of the model. */
static int add_animations(struct adding *x, const struct leaf *l, struct object *o)
{
	struct unit *pack = unit_mate(x->t, x->u, ROLE_ANIMATIONS);
	struct cached *hold = NULL;
	int rc = pack ? unit_object(x->t, pack, &hold, &o, x->e) : 0;

	if (!rc && (!o->format->model || !o->format->model->clip))
		rc = err_set(x->e, EIO, "the clips are gone");
	else if (!rc)
		rc = l->arg == GLB_CLIP ? add_clip(x, o, l->index) : add_all(x, o);
	cached_put(hold);
	return rc;
}

/* ---- files ---- */

int glb_render(struct tree *t, struct unit *u, const struct leaf *l, struct object *o, struct buf *out, uint64_t *size,
	       struct err *e)
{
	struct assembly x = { .t = t, .u = u, .o = o };
	struct geo_skeleton s = { 0 };
	struct err why = { 0 };
	struct arena a = { 0 };
	struct glb *glb = NULL;
	int rc = assemble_skeleton(&x, &s, &a, &why);

	rc = rc ? rc : glb_begin(&glb, &s, out, &why);
	if (!rc && l->arg != GLB_CLIP)
		rc = assemble_meshes(&x, add_mesh, glb, &why);
	if (!rc && l->arg != GLB_MODEL)
		rc = add_animations(&(struct adding){ .t = t, .u = u, .glb = glb, .skeleton = &s, .e = &why }, l, o);
	rc = rc ? rc : add_pictures(glb, t, u, &why);
	rc = rc ? rc : glb_end(glb, out, size, &why);
	glb_free(glb);
	arena_free(&a);
	if (rc && e)
		*e = why;
	return rc;
}
