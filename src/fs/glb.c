/* model.glb: the meshes, bones and pictures of a model in one file. */
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

int glb_render(struct tree *t, struct unit *u, struct object *o, struct buf *out, uint64_t *size, struct err *e)
{
	struct assembly x = { .t = t, .u = u, .o = o };
	struct geo_skeleton s = { 0 };
	struct arena a = { 0 };
	struct glb *glb = NULL;
	int rc = assemble_skeleton(&x, &s, &a, e);

	rc = rc ? rc : glb_begin(&glb, &s, out, e);
	rc = rc ? rc : assemble_meshes(&x, add_mesh, glb, e);
	rc = rc ? rc : add_pictures(glb, t, u, e);
	rc = rc ? rc : glb_end(glb, out, size, e);
	glb_free(glb);
	arena_free(&a);
	return rc;
}
