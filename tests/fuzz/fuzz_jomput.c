/* Texts and pictures that are written to a JOM: an edit that is accepted leaves a model that opens, is sound and gives
 * the same bytes when the same is written again. Where vertices lie at one place, it may be hard to tell which is which
 * a second time: then a save is refused, and the last is not asked for here.
 *
 *     0  1  what is written: an OBJ, a document, a picture, an animation
 *     ..    the text; or pixels, RGBA, as far as they go; or tolerance, how long it is, and eighths by which it differs
 *           at both keys: of each bone three places, three angles */
#include <math.h>
#include <string.h>

#include "build_jom.h"
#include "editing.h"
#include "export.h"
#include "fuzz.h"

extern const struct format fmt_jom;

static const struct target { enum { OBJ, YAML, PICTURE, CLIP } what; unsigned kind; uint32_t index; } targets[] = {
	{ OBJ, 0, 0 }, { OBJ, 0, 1 }, { OBJ, 0, 2 }, { OBJ, 0, MESH_WHOLE },
	{ YAML, DOC_HEADER, 0 }, { YAML, DOC_OWN, 0 }, { YAML, DOC_MESH, 0 }, { YAML, DOC_IMAGE, 1 },
	{ YAML, DOC_SKELETON, 0 }, { YAML, DOC_CLIP, 0 },
	{ PICTURE, 0, 0 }, { PICTURE, 0, 1 }, { CLIP, 0, 0 },
};

static struct object *open_model(struct editing *k)
{
	struct object *o;

	must(!object_open(&fmt_jom, k->root, &k->around, &o, NULL));
	must(o->variant && !o->faults);
	return o;
}

/* ---- what is written ---- */

static int write_obj(struct editing *k, const struct target *t, const uint8_t *p, size_t n, struct arena *a,
		     struct err *e)
{
	struct object *o = open_model(k);
	struct geo_form form;
	struct geo_put put;
	int rc = fmt_jom.model->form(o, t->index, &form, a, e);

	rc = rc ? rc : obj_read(p, n, t->index, &form, &put, a, NULL, e);
	rc = rc ? rc : fmt_jom.model->mesh_put(o, t->index, &put, e);
	object_close(o);
	return rc;
}

static int write_yaml(struct editing *k, const struct target *t, const uint8_t *p, size_t n, bool again,
		      struct arena *a, struct err *e)
{
	const struct model_ops *m = fmt_jom.model;
	struct yedit_rest rest = { .again = again };
	struct object *o = open_model(k);
	struct ynode *root;
	int rc = yaml_read(p, n, &root, a, e);

	rc = rc ? rc : m->doc_tree(o, t->kind, t->index, root, e);
	rc = rc ? rc : yedit_apply(o, t->kind, t->index, root, &rest, a, e);
	object_close(o);
	if (rc || !rest.n)
		return rc;
	/* Values that lead nowhere may be written before they are checked. */
	o = open_model(k);
	rc = m->doc_put(o, t->kind, t->index, root, rest.v, rest.n, e);
	object_close(o);
	return rc ? rc : yedit_refuse(&rest, e);
}

static int write_picture(struct editing *k, const struct target *t, const uint8_t *p, size_t n, struct arena *a,
			 struct err *e)
{
	struct object *o = open_model(k);
	struct geo_image img = { 0 };
	size_t i, room;
	int rc;

	must(!fmt_jom.model->image(o, t->index, &img, a, e));
	room = (size_t)img.w * img.h * 4;
	img = (struct geo_image){ .w = img.w, .h = img.h, .rgba = arena_alloc(a, room, 1) };
	must(img.rgba);
	for (i = 0; i < room && i < n; i++)
		img.rgba[i] = p[i];
	rc = fmt_jom.model->image_put(o, t->index, &img, e);
	object_close(o);
	return rc;
}

/* The stored animation with something added that grows from its first key to its last one. */
struct moving { struct geo_clip clip; const struct geo_skeleton *s; double last; const uint8_t *p; size_t n; };

static double eighths(const struct moving *m, size_t i)
{
	return i < m->n ? (int8_t)m->p[i] / 8.0 : 0;
}

static void moved(const struct geo_wish *w, uint32_t joint, double seconds, struct geo_pose *out)
{
	const struct moving *m = w->ctx;
	double s = seconds / m->last, angle[3], by[4], was[4];

	geo_track_at(&m->clip, &m->clip.track[joint], &m->s->joint[joint], seconds * m->clip.rate, out);
	for (unsigned k = 0; k < 3; k++) {
		out->move[k] += (1 - s) * eighths(m, 12 * joint + k) + s * eighths(m, 12 * joint + 3 + k);
		angle[k] = (1 - s) * eighths(m, 12 * joint + 6 + k) + s * eighths(m, 12 * joint + 9 + k);
	}
	memcpy(was, out->turn, sizeof was);
	geo_turn_of(angle, by);
	out->turn[0] = by[3] * was[0] + by[0] * was[3] + by[1] * was[2] - by[2] * was[1];
	out->turn[1] = by[3] * was[1] - by[0] * was[2] + by[1] * was[3] + by[2] * was[0];
	out->turn[2] = by[3] * was[2] + by[0] * was[1] - by[1] * was[0] + by[2] * was[3];
	out->turn[3] = by[3] * was[3] - by[0] * was[0] - by[1] * was[1] - by[2] * was[2];
}

static int write_clip(struct editing *k, const struct target *t, const uint8_t *p, size_t n, struct arena *a,
		      struct err *e)
{
	struct object *o = open_model(k), *before;
	struct geo_skeleton s = { 0 };
	struct moving m = { .s = &s, .last = 10 / 60.0, .p = n > 2 ? p + 2 : p, .n = n > 2 ? n - 2 : 0 };
	struct geo_timing timing = { .tolerance = n ? p[0] / 32.0 : 0 };
	struct geo_wish w = { "WALK", t->index, n > 1 ? p[1] / 60.0 : m.last, moved, &m, false, false };
	int rc;

	must(!fmt_jom.model->skeleton(o, &s, a, e) && !geo_settle(&s, a, e));
	must(!object_open(&fmt_jom, k->plan.base, NULL, &before, NULL));
	must(!fmt_jom.model->clip(before, t->index, &s, &m.clip, a, e) && m.clip.ntracks == s.n);
	rc = fmt_jom.model->clips_put(o, &s, &w, 1, &timing, e);
	must(w.taken);
	object_close(before);
	object_close(o);
	return rc;
}

static int write_it(struct editing *k, const struct target *t, const uint8_t *p, size_t n, bool again)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	int rc;

	if (t->what == OBJ)
		rc = write_obj(k, t, p, n, &a, &e);
	else if (t->what == YAML)
		rc = write_yaml(k, t, p, n, again, &a, &e);
	else if (t->what == CLIP)
		rc = write_clip(k, t, p, n, &a, &e);
	else
		rc = write_picture(k, t, p, n, &a, &e);
	must(!rc || (e.code == -rc && *e.text));
	arena_free(&a);
	return rc;
}

/* ---- the same once more ---- */

static bool has_twins(struct editing *k, const struct target *t, const uint8_t *p, size_t n)
{
	struct object *o = open_model(k);
	struct arena a = { 0 };
	struct geo_form form;
	struct geo_put put = { 0 };
	bool twins = false;

	must(!fmt_jom.model->form(o, t->index, &form, &a, NULL) &&
	     !obj_read(p, n, t->index, &form, &put, &a, NULL, NULL));
	for (uint32_t i = 0; i < put.nvertices; i++)
		for (uint32_t j = 0; j < i; j++) {
			bool same = true;

			for (unsigned c = 0; c < 3; c++)
				same &= fabs(put.position[i][c].v - put.position[j][c].v) < 1.0 / 32768 +
					put.position[i][c].slack + put.position[j][c].slack;
			twins |= same;
		}
	arena_free(&a);
	object_close(o);
	return twins;
}

static void check(struct editing *k, const struct target *t, const uint8_t *p, size_t n)
{
	struct object *o = open_model(k);
	size_t size = (size_t)k->plan.size;
	uint8_t *was = malloc(2 * size + 1), *now = was + size;
	bool sound = !fmt_jom.model->check(o, NULL);

	must(was && !object_verify(o, NULL));
	object_close(o);
	must(!plan_read(&k->plan, was, size, 0));
	if (sound && t->what != PICTURE && (t->what != OBJ || !has_twins(k, t, p, n))) {
		must(!write_it(k, t, p, n, true));
		must(k->plan.size == size && !plan_read(&k->plan, now, size, 0) && !memcmp(was, now, size));
	}
	free(was);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct editing k = { .around = { .resize = editing_resize } };
	struct source *memory;
	struct buf b = { 0 };

	if (!size)
		return 0;
	build_jom_hut(&b);
	memory = src_memory(b.p, b.len);
	must(memory);
	plan_init(&k.plan, memory);
	renew(&k);
	if (!write_it(&k, &targets[data[0] % ARRAY_LEN(targets)], data + 1, size - 1, false))
		check(&k, &targets[data[0] % ARRAY_LEN(targets)], data + 1, size - 1);
	src_put(k.root);
	plan_free(&k.plan);
	src_put(memory);
	buf_free(&b);
	return 0;
}
