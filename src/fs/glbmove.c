/* animations/N.glb or all.glb that somebody wrote over the one that is shown: its animations go with the clips by name,
 * and how they move the bones becomes keys of those. Meshes, pictures and bones at rest in it are not looked at. */
#include <errno.h>
#include <string.h>

#include "assemble.h"
#include "glbapply.h"

struct moving {
	struct edit *ed;
	struct unit *u, *pack;                 /* pack: what has the clips */
	const struct leaf *l;
	struct geo_scene scene;
	struct geo_skeleton skeleton;
	struct geo_wish *wish;
	uint32_t n;
	struct arena *a;
};

/* Not without one, and not with a damaged one: nobody could tell what is to move. */
static int get_skeleton(struct moving *x, struct err *e)
{
	struct unit *u = bones_unit(x->u);
	struct object *o;
	int rc = u ? edit_object(x->ed, u, &o, e) : err_set(e, EINVAL, "there is no skeleton");

	if (!rc && (!o->variant || !o->format->model->skeleton))
		rc = err_set(e, EINVAL, "the skeleton is damaged");
	rc = rc ? rc : o->format->model->skeleton(o, &x->skeleton, x->a, e);
	return rc ? rc : geo_settle(&x->skeleton, x->a, e);
}

/* ---- which clip is meant ---- */

/* As it is shown in its file. */
static int name_of_clip(struct moving *x, struct object *o, const char **name, struct err *e)
{
	struct geo_clip clip = { 0 };
	int rc = o->format->model->clip(o, x->l->index, &x->skeleton, &clip, x->a, e);

	*name = clip.name;
	return rc;
}

/* The only one there is, or the one of that name. */
static int choose_one(struct moving *x, struct object *o, struct err *e)
{
	const char *name = "";
	uint32_t found = GEO_NONE;
	int rc = x->n > 1 ? name_of_clip(x, o, &name, e) : 0;

	if (rc || !x->n)
		return rc;
	for (int exact = 1; exact >= 0 && found == GEO_NONE && x->n > 1; exact--)
		for (uint32_t i = 0; i < x->n; i++)
			if (geo_wish_is(&x->wish[i], name, exact))
				found = i;
	if (x->n > 1 && found == GEO_NONE)
		return err_set(e, EINVAL, "%u animations, and none is called \"%.60s\"", x->n, name);
	x->wish = &x->wish[x->n > 1 ? found : 0];
	x->wish->clip = x->l->index;
	x->n = 1;
	return 0;
}

/* Of clips that play alone: by their own names. */
static int choose_clips(struct moving *x, struct object *o, struct err *e)
{
	for (int exact = 1; exact >= 0; exact--)
		for (uint32_t i = 0; i < object_count(o, PART_CLIP); i++) {
			char name[PART_NAME_MAX] = "";

			if (o->format->model->part_name)
				o->format->model->part_name(o, PART_CLIP, i, name);
			for (uint32_t k = 0; k < x->n; k++) {
				if (x->wish[k].clip != GEO_NONE || !geo_wish_is(&x->wish[k], name, exact))
					continue;
				for (uint32_t other = 0; other < x->n; other++)
					if (x->wish[other].clip == i)
						return err_set(e, EINVAL, "two animations are called \"%.60s\"", name);
				x->wish[k].clip = i;
			}
		}
	return 0;
}

static int choose(struct moving *x, struct object *o, struct err *e)
{
	if (x->l->arg == GLB_CLIP)
		return choose_one(x, o, e);
	return o->format->model->motions ? 0 : choose_clips(x, o, e);
}

/* ---- all of it ---- */

static int put_all(struct moving *x, struct err *e)
{
	struct geo_timing timing = x->u->tree->timing;
	struct object *o;
	int rc = get_skeleton(x, e);

	rc = rc ? rc : glb_wishes(&x->scene, &x->skeleton, &x->wish, x->a, e);
	rc = rc ? rc : edit_object(x->ed, x->pack, &o, e);
	if (!rc && (!o->variant || !o->format->model->clips_put))
		rc = err_set(e, EINVAL, "the animations are damaged");
	x->n = x->scene.nclips;
	rc = rc ? rc : choose(x, o, e);
	if (!rc && !x->n)
		edit_say(x->ed, "there is no animation in it: nothing is changed");
	rc = rc || !x->n ? rc : o->format->model->clips_put(o, &x->skeleton, x->wish, x->n, &timing, e);
	for (uint32_t i = 0; i < x->n && !rc; i++)
		if (!x->wish[i].taken)
			rc = err_set(e, EINVAL, "animation \"%.60s\" is none of those that are here", x->wish[i].name);
	return rc;
}

struct unit *apply_pack(struct unit *u)
{
	struct unit *pack = unit_mate(u->tree, u, ROLE_ANIMATIONS);

	return pack ? pack : u;
}

int apply_animations(struct edit *ed, struct unit *u, const struct leaf *l, struct store *text, struct err *e)
{
	struct arena a = { 0 };
	struct moving x = { .ed = ed, .u = u, .pack = apply_pack(u), .l = l, .a = &a };
	struct buf b = { 0 };
	int rc = store_text(text, LIMIT_DECODED, &b, e);

	rc = rc ? rc : glb_read(b.p, b.len, &x.scene, &a, e);
	rc = rc ? rc : put_all(&x, e);
	arena_free(&a);
	buf_free(&b);
	return rc;
}
