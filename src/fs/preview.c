/* preview.png: the meshes and pictures of a model, drawn. Its size is that of every other one, so only who reads it
 * waits for it. */
#include <errno.h>

#include "assemble.h"
#include "export.h"

bool preview_shown(const struct object *o)
{
	uint32_t n = o->format->model->mesh ? object_count(o, PART_MESH) : 0, gone = 0;

	for (uint32_t i = 0; i < n; i++)
		gone += object_gone(o, PART_MESH, i);
	return !n || gone < n;
}

static int add_mesh(void *ctx, uint32_t number, const char *name, const struct geo_mesh *m,
		    const struct geo_material *of_part, struct err *e)
{
	(void)number;
	(void)name;
	return preview_mesh(ctx, m, of_part, e);
}

/* As it is decoded: nobody needs the PNG of it for that. */
static int add_picture(struct preview *p, struct tree *t, struct unit *u, uint32_t i, uint32_t number, struct err *e)
{
	struct leaf *l = picture_leaf(u, (int32_t)number), there;
	struct unit *owner = l ? unit_of_leaf(t, u, l, &there) : NULL;
	struct geo_image img = { 0 };
	struct arena a = { 0 };
	struct cached *hold = NULL;
	struct object *o;
	int rc = owner ? unit_object(t, owner, &hold, &o, e) : -EBADMSG;

	rc = rc ? rc : o->format->model->image(o, there.index, &img, &a, e);
	rc = rc ? rc : preview_picture(p, i, &img, e);
	cached_put(hold);
	arena_free(&a);
	return rc;
}

int preview_render(struct tree *t, struct unit *u, struct object *o, struct buf *out, struct err *e)
{
	struct assembly x = { .t = t, .u = u, .o = o };
	struct geo_skeleton s = { 0 };
	struct arena a = { 0 };
	struct preview *p = NULL;
	uint32_t number;
	int rc = assemble_skeleton(&x, &s, &a, e);

	rc = rc ? rc : preview_begin(&p, &s, e);
	rc = rc ? rc : assemble_meshes(&x, add_mesh, p, e);
	for (uint32_t i = 0; !rc && preview_wants_picture(p, i, &number); i++) {
		rc = add_picture(p, t, u, i, number, e);
		/* What cannot be decoded is not there. */
		rc = rc == -EBADMSG || rc == -EFBIG ? 0 : rc;
	}
	rc = rc ? rc : preview_end(p, out, e);
	preview_free(p);
	arena_free(&a);
	return rc;
}
