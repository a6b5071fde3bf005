/* Animation pack: whatever the bytes, probe and open agree, the header can be described, a clip is refused or shown.
 * Animations that are to be otherwise are refused or written: then a sound pack is still sound, and the same once more
 * changes nothing. */
#include <string.h>

#include "build.h"
#include "editing.h"
#include "export.h"
#include "fuzz.h"

#define BONES 6u
#define CLIPS 16u

extern const struct format fmt_anm;

static void describe(struct object *o)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };
	struct err why;

	if (fmt_anm.model->doc(o, DOC_HEADER, 0, &quiet, &why))
		abort();
	for (uint32_t i = 0; i < object_count(o, PART_CLIP); i++)
		if (!fmt_anm.model->doc(o, DOC_CLIP, i, &quiet, &why) && object_gone(o, PART_CLIP, i))
			abort();
}

static int show(void *ctx, const struct geo_clip *clip, int rc, const struct err *why)
{
	struct err e;

	(void)why;
	if (!rc && glb_animation(ctx, clip, NULL, &e) == -EBADMSG)
		abort();
	return 0;
}

/* Somewhere, by bone and time. */
static void wander(const struct geo_wish *w, uint32_t joint, double seconds, struct geo_pose *out)
{
	double angle[3] = { joint + seconds, *(const double *)w->ctx, 3 * seconds };

	for (unsigned k = 0; k < 3; k++) {
		out->move[k] = 10 * sin(seconds + joint) * angle[1];
		out->scale[k] = 1 + 0.1 * k * sin(seconds);
	}
	geo_turn_of(angle, out->turn);
}

static int put(struct editing *k, const struct geo_skeleton *s, struct geo_wish *w, const struct geo_timing *timing)
{
	struct object *o;
	struct err e = { 0 };
	int rc;

	must(!object_open(&fmt_anm, k->root, &k->around, &o, NULL) && o->variant);
	rc = fmt_anm.model->clips_put(o, s, w, 1, timing, &e);
	must(!rc || (e.code == -rc && *e.text));
	object_close(o);
	return rc;
}

static bool is_sound(struct editing *k)
{
	struct object *o;
	bool is;

	must(!object_open(&fmt_anm, k->root, &k->around, &o, NULL));
	is = o->variant && !o->faults && !object_verify(o, NULL);
	object_close(o);
	return is;
}

static void put_twice(struct object *o, const struct geo_skeleton *s, struct geo_wish w,
		      const struct geo_timing *timing)
{
	struct editing k = { .around = { .resize = editing_resize } };
	bool sound;
	uint8_t *was, *now;
	size_t size;

	plan_init(&k.plan, o->src);
	renew(&k);
	sound = is_sound(&k);
	if (!put(&k, s, &w, timing) && sound) {
		must(is_sound(&k));
		size = (size_t)k.plan.size;
		was = malloc(2 * size + 1);
		must(was);
		now = was + size;
		must(!plan_read(&k.plan, was, size, 0));
		k.around.again = true;
		must(!put(&k, s, &w, timing) && k.plan.size == size && !plan_read(&k.plan, now, size, 0) &&
		     !memcmp(was, now, size));
		free(was);
	}
	src_put(k.root);
	plan_free(&k.plan);
}

static void wish(struct object *o, const struct geo_skeleton *s)
{
	double much = (double)(o->src->size % 16);
	struct geo_timing timing = { .tolerance = o->src->size % 3 };

	if (!object_count(o, PART_CLIP))
		return;
	put_twice(o, s, (struct geo_wish){ "slot_000", GEO_NONE, 0.4, wander, &much }, &timing);
	put_twice(o, s, (struct geo_wish){ "clip", 0, 0.3, wander, &much, .slopeless = true }, &timing);
}

/* On a skeleton of two parts. */
static void play(struct object *o)
{
	struct geo_joint joint[BONES];
	struct geo_skeleton s = { BONES, joint };
	struct arena a = { 0 };
	struct glb *g = NULL;
	struct buf out = { 0 };
	struct err e;
	uint64_t size;

	for (unsigned i = 0; i < BONES; i++) {
		joint[i] = (struct geo_joint){ .name = "bone", .parent = (int32_t)i - 1 };
		geo_joint_reset(&joint[i]);
		joint[i].part = i % 2;
	}
	if (geo_settle(&s, &a, &e) || glb_begin(&g, &s, true, &e))
		abort();
	for (uint32_t i = 0; i < object_count(o, PART_CLIP) && i < CLIPS; i++) {
		struct geo_clip clip;

		if (!fmt_anm.model->clip(o, i, &s, &clip, &a, &e))
			show(g, &clip, 0, &e);
	}
	fmt_anm.model->motions(o, &s, show, g, &e);
	wish(o, &s);
	glb_end(g, &out, &size, &e);
	buf_free(&out);
	glb_free(g);
	arena_free(&a);
}

static void use(struct object *o)
{
	if ((o->variant != NULL) != (build_probe(&fmt_anm, o->src, "", NULL, 0, NULL) > 0))
		abort();
	if (!o->variant)
		return;
	describe(o);
	play(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_object(&fmt_anm, data, size, use, EILSEQ);        /* a mask that its channels do not tell */
	return 0;
}
