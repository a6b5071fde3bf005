/* Animation pack: whatever the bytes, probe and open agree, the header can be described, a clip is refused or shown. */
#include "build.h"
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

/* Nothing can be written, but all that would be is worked out. */
static void wish(struct object *o, const struct geo_skeleton *s)
{
	double much = (double)(o->src->size % 16);
	struct geo_wish w[2] = { { "slot_000", GEO_NONE, 0.4, wander, &much }, { "clip", 0, 0.3, wander, &much } };
	struct geo_timing timing = { 0 };
	struct err e;

	if (!object_count(o, PART_CLIP))
		return;
	fmt_anm.model->clips_put(o, s, &w[0], 1, &timing, &e);
	fmt_anm.model->clips_put(o, s, &w[1], 1, &timing, &e);
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
