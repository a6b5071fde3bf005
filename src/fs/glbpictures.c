/* The pictures of a GLB that is written over model.glb. They may lie in other entries or files: each goes to whoever
 * holds it, in the same edit. One whose pixels are those that are shown is not touched. */
#include <errno.h>
#include <string.h>

#include "glbapply.h"

/* The number in texture_NUMBER, also with .001 behind it; -1: it is no such name. */
static int32_t number_in(const char *name)
{
	int64_t n = 0;
	unsigned i = 8;

	if (strncmp(name, "texture_", 8))
		return -1;
	for (; name[i] >= '0' && name[i] <= '9' && n <= INT32_MAX; i++)
		n = n * 10 + (name[i] - '0');
	return i > 8 && n <= INT32_MAX && (!name[i] || name[i] == '.') ? (int32_t)n : -1;
}

/* Which picture of the model an image is: by its own name, else by that of the material. */
static struct leaf *find_leaf(const struct putting *x, const struct scene_material *m)
{
	struct leaf *l = picture_leaf(x->u, number_in(x->scene.image[m->image].name));

	for (const struct glb_material_name *k = x->material; k && !l; k = k->next)
		if (glb_is_named(m->name, k->name))
			l = picture_leaf(x->u, k->image);
	return l;
}

static bool same_pixels(const struct geo_image *was, const struct geo_image *now)
{
	size_t n = (size_t)was->w * was->h;

	if (was->rgba)
		return !memcmp(was->rgba, now->rgba, n * 4);
	for (size_t i = 0; i < n; i++)
		if (memcmp(was->palette[was->indexed[i]], now->rgba + 4 * i, 4))
			return false;
	return true;
}

static int put_image(struct putting *x, struct unit *owner, uint32_t i, const struct scene_image *image,
		     struct arena *a, struct err *e)
{
	const struct model_ops *m = owner->format->model;
	struct geo_image was = { 0 }, now = { 0 };
	struct object *o;
	uint32_t w, h;
	int rc = edit_object(x->ed, owner, &o, e);

	rc = rc ? rc : m->image(o, i, &was, a, e);
	rc = rc ? rc : png_size(image->bytes, image->n, &w, &h, e);
	if (!rc && (w != was.w || h != was.h) && m->image_fits)
		rc = m->image_fits(o, i, w, h, e);
	rc = rc ? rc : png_read(image->bytes, image->n, was.w, was.h, &now, a, e);
	if (rc || same_pixels(&was, &now))
		return rc;
	if (!m->image_put || (m->can_put && !m->can_put(o, PART_IMAGE, i)))
		return err_set(e, EINVAL, "this picture cannot be written");
	rc = m->image_put(o, i, &now, e);
	return rc ? rc : edit_touch(x->ed, owner, e);
}

static int named(const struct leaf *l, int rc, struct err *e)
{
	char why[sizeof e->text];

	if (rc != -EINVAL || !e)
		return rc;
	memcpy(why, e->text, sizeof why);
	return err_set(e, EINVAL, "texture_%u: %.200s", l->index, why);
}

static int put_picture(struct putting *x, const struct scene_material *m, const struct leaf *l, struct err *e)
{
	const struct scene_image *image = &x->scene.image[m->image];
	struct arena a = { 0 };
	struct leaf there;
	struct unit *owner = unit_of_leaf(x->u->tree, x->u, l, &there);
	int rc;

	if (!owner)
		return err_set(e, EIO, "the companion is gone");
	if (!image->png)
		return err_set(e, EINVAL, "texture_%u: image \"%.60s\" is no PNG inside the GLB", l->index,
			       image->name);
	rc = put_image(x, owner, there.index, image, &a, e);
	arena_free(&a);
	return named(l, rc, e);
}

static bool same_bytes(const struct scene_image *a, const struct scene_image *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->bytes, b->bytes, a->n));
}

/* The material before that has a picture for the same file; NULL. */
static const struct scene_material *find_twin(const struct putting *x, const struct leaf *l, struct leaf *const *of,
					      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (of[i] == l)
			return &x->scene.material[i];
	return NULL;
}

int glb_put_pictures(struct putting *x, struct err *e)
{
	struct geo_scene *s = &x->scene;
	struct leaf **of = arena_alloc(x->a, (size_t)s->nmaterials + 1, sizeof *of);
	int rc = 0;

	/* A picture of more colours than a palette holds is another one once it is stored. */
	if (edit_is_second(x->ed))
		return 0;
	if (!of)
		return err_nomem(e);
	if (s->nmaterials > 1u << 15)
		return err_set(e, EFBIG, "%u materials are too many", s->nmaterials);
	for (uint32_t i = 0; i < s->nmaterials && !rc; i++) {
		const struct scene_material *m = &s->material[i], *twin;

		if (m->image < 0)
			continue;
		of[i] = find_leaf(x, m);
		if (!of[i])
			return err_set(e, EINVAL, "material \"%.60s\": image \"%.60s\" is none of the model's, and the "
				       "material has no picture there", m->name, s->image[m->image].name);
		twin = find_twin(x, of[i], of, i);
		if (!twin)
			rc = put_picture(x, m, of[i], e);
		else if (!same_bytes(&s->image[twin->image], &s->image[m->image]))
			rc = err_set(e, EINVAL, "texture_%u is there twice, as \"%.60s\" and as \"%.60s\"",
				     of[i]->index, s->image[twin->image].name, s->image[m->image].name);
	}
	edit_reopen(x->ed);
	return rc;
}
