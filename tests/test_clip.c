/* Animations: curves, turns and poses against numbers worked out by hand; what packs do to bones, what a GLB says of
 * that, and what is set in a pack when somebody wants it otherwise. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "export.h"
#include "opened.h"

extern const struct format fmt_anm;

#define NONE 0xffffffffu
#define QUARTER 1.5707963267948966
#define HALF_ROOT 0.70710678118654752
#define KEYS(v) { ARRAY_LEN(v), v }

static void near(double have, double want)
{
	if (!(fabs(have - want) < 1e-9))
		fail_msg("%.12g, expected %.12g", have, want);
}

static void all_near(const double *have, const double *want, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		near(have[i], want[i]);
}

/* ---- curves ---- */

static void point_is(const struct geo_curve *c, double frame, bool linear, double value, double in, double out)
{
	struct geo_point p;

	geo_curve_at(c, frame, linear, false, &p);
	near(p.value, value);
	near(p.in, in);
	near(p.out, out);
}

static void test_curve(void **state)
{
	struct geo_key v[] = { { 0, 0, 9, 1 }, { 10, 20, 2, -3 }, { 14, 0, 0, 7 } };
	struct geo_curve c = KEYS(v);

	(void)state;
	/* half way: 20 / 2 + 1 * 5 / 4 - 2 * 5 / 2 / 2; slope 6 / 4 * 20 / 10 + 1 / 2 * -1 / 2 + 2 / 2 * -1 / 2 */
	point_is(&c, 5, false, 8.75, 2.25, 2.25);
	/* s = 1/4: 20 * 5/32 + 10 * 1/4 * 9/16 - 2 * 10 * 1/16 * 3/4; slope 9/4 + 3/4 * 1/4 - 2 * 1/4 * 5/4 */
	point_is(&c, 2.5, false, 3.59375, 1.8125, 1.8125);
	/* from -3 over 4 frames: s = 1/2: 10 - 3 * 2 / 4 */
	point_is(&c, 12, false, 8.5, -7.5 + 0.75, -6.75);
	point_is(&c, 10, false, 20, 2, -3);
	point_is(&c, 0, false, 0, 0, 1);
	point_is(&c, -3, false, 0, 0, 0);
	point_is(&c, 14, false, 0, 0, 0);
	point_is(&c, 99, false, 0, 0, 0);
	point_is(&c, 2.5, true, 5, 2, 2);
	point_is(&c, 10, true, 20, 2, -5);
}

static void test_one_key(void **state)
{
	struct geo_key v[] = { { 7, 3, 5, 5 } };
	struct geo_curve c = KEYS(v);

	(void)state;
	point_is(&c, 0, false, 3, 0, 0);
	point_is(&c, 7, false, 3, 0, 0);
	point_is(&c, 8, true, 3, 0, 0);
}

static void test_jump(void **state)
{
	struct geo_key v[] = { { 0, 0, 0, 0 }, { 4, 8, 0, 0 }, { 4, 100, 0, 0 }, { 8, 100, 0, 0 } };
	struct geo_curve c = KEYS(v);
	struct geo_point p;

	(void)state;
	geo_curve_at(&c, 4, true, true, &p);
	near(p.value, 8);
	near(p.in, 2);
	geo_curve_at(&c, 4, true, false, &p);
	near(p.value, 100);
	near(p.out, 0);
}

static void test_key_frames(void **state)
{
	struct geo_key x[] = { { -4, 0, 0, 0 }, { 6, 0, 0, 0 } };
	struct geo_key y[] = { { 2, 0, 0, 0 }, { 6, 0, 0, 0 }, { 6, 1, 0, 0 } };
	struct geo_curve v[3] = { KEYS(x), KEYS(y) }, none[3] = { { 0 } };
	double frame[5];

	(void)state;
	assert_int_equal(geo_key_frames(v, frame), 3);
	all_near(frame, (const double[]){ 0, 2, 6 }, 3);
	assert_int_equal(geo_key_frames(none, frame), 0);
}

/* ---- turns ---- */

static void test_turns(void **state)
{
	double q[4], angle[3];

	(void)state;
	geo_turn_of((const double[]){ 0, 0, QUARTER }, q);
	all_near(q, (const double[]){ 0, 0, HALF_ROOT, HALF_ROOT }, 4);
	/* x first: y goes to z, then a quarter around z takes x to y: the product is (1, 1, 1, 1) / 2 */
	geo_turn_of((const double[]){ QUARTER, 0, QUARTER }, q);
	all_near(q, (const double[]){ 0.5, 0.5, 0.5, 0.5 }, 4);
	geo_angles_of(q, angle);
	all_near(angle, (const double[]){ QUARTER, 0, QUARTER }, 3);
	/* y up: x and z turn around one axis, by their difference */
	geo_turn_of((const double[]){ 0.25, QUARTER, 1 }, q);
	geo_angles_of(q, angle);
	all_near(angle, (const double[]){ 0, QUARTER, 0.75 }, 3);
	geo_turn_of((const double[]){ 0.3, -1.2, 2.5 }, q);
	geo_angles_of(q, angle);
	all_near(angle, (const double[]){ 0.3, -1.2, 2.5 }, 3);
	geo_turn_between((const double[]){ 0, 0, 0, 1 }, (const double[]){ 0, 0, -HALF_ROOT, -HALF_ROOT }, 0.5, q);
	all_near(q, (const double[]){ 0, 0, sin(QUARTER / 4), cos(QUARTER / 4) }, 4);
}

/* Turns made of floats, with y up, down, or nearly so, stay what they are: their angles make them again. */
static void test_upright(void **state)
{
	static const double off[] = { 0, 1e-8, 3e-7, 2e-6, 1e-4, 0.01 };
	double q[4], again[4], angle[3];

	(void)state;
	for (size_t i = 0; i < sizeof off / sizeof *off; i++)
		for (unsigned k = 0; k < 400; k++) {
			double x = k % 20 * 0.3 - 3, z = k / 20 * 0.3 - 3;

			geo_turn_of((const double[]){ x, k % 2 ? QUARTER - off[i] : off[i] - QUARTER, z }, q);
			for (unsigned c = 0; c < 4; c++)
				q[c] = (double)(float)q[c];
			geo_angles_of(q, angle);
			geo_turn_of(angle, again);
			assert_true(geo_turns_apart(q, again) < 5e-6);
			assert_true(fabs(angle[1]) <= QUARTER + 1e-15);
		}
	geo_turn_of((const double[]){ 0.25, -QUARTER, 0.5 }, q);       /* by their sum */
	geo_angles_of(q, angle);
	all_near(angle, (const double[]){ 0, -QUARTER, 0.75 }, 3);
}

/* ---- poses ---- */

static void test_pose(void **state)
{
	struct geo_key move[] = { { 0, 5, 0, 0 } }, turn[] = { { 0, 0, 0, 0 }, { 10, 2 * QUARTER, 0, 0 } };
	struct geo_track t = { .curve = { [GEO_MOVE + 1] = KEYS(move), [GEO_TURN + 2] = KEYS(turn) } };
	struct geo_joint j = { .move = { 1, 2, 3 }, .turn = { 0, 0, 0, 1 }, .scale = { 1, 2, 1 } };
	struct geo_clip clip = { 0 };
	struct geo_pose p;

	(void)state;
	geo_track_at(&clip, &t, &j, 5, &p);
	all_near(p.move, (const double[]){ 1, 5, 3 }, 3);
	all_near(p.scale, (const double[]){ 1, 2, 1 }, 3);
	all_near(p.turn, (const double[]){ 0, 0, HALF_ROOT, HALF_ROOT }, 4);
	/* an angle without keys is that of the bone at rest */
	j.turn[0] = (float)HALF_ROOT;
	j.turn[3] = (float)HALF_ROOT;
	t.curve[GEO_TURN + 2].n = 0;
	geo_track_at(&clip, &t, &j, 5, &p);
	assert_true(fabs(p.turn[0] - HALF_ROOT) < 1e-6 && fabs(p.turn[3] - HALF_ROOT) < 1e-6);
}

static void test_linear_turn(void **state)
{
	struct geo_key x[] = { { 0, 0, 0, 0 }, { 10, QUARTER, 0, 0 } }, z[] = { { 0, 0, 0, 0 }, { 10, QUARTER, 0, 0 } };
	struct geo_track t = { .curve = { [GEO_TURN] = KEYS(x), [GEO_TURN + 2] = KEYS(z) } };
	struct geo_joint j = { .turn = { 0, 0, 0, 1 } };
	struct geo_clip clip = { .linear = true };
	struct geo_pose p;
	double s = sin(QUARTER / 3) / sqrt(3);

	(void)state;
	/* 120 degrees around (1, 1, 1): half of that, not both angles halved */
	geo_track_at(&clip, &t, &j, 5, &p);
	all_near(p.turn, (const double[]){ s, s, s, cos(QUARTER / 3) }, 4);
}

/* ---- packs ---- */

/* The minimal pack of spec/mhp.md 5.7. */
static const uint32_t p3rd[] = {
	2, 0x10, 0, 0x18, 0x18, NONE,
	2, 0x38, 1, 0x40800000, 0x00040000, 0x00240001, 0x00030020, 0x20,
	0x00000000, 0, 0x000f1000, 0, 0x001e0000, 0
};
/* Parts 0 and 1 in a stream each, whose second sets are empty; slots 0 and 2 play the same, clip 1 has frames that go
 * back. */
static const uint32_t mhfu[] = {
	3, 0x28, 3, 0x34, 3, 0x40, 3, 0x4c, 0, 0x58,
	0x58, 0xc0, 0x58, NONE, NONE, NONE, 0x94, NONE, 0x94, NONE, NONE, NONE,
	0x80000002, 1, 0x3c, 0, 0,                                     /* 0x58: x from 1 to 2 in 10 frames */
	0x80000040, 1, 0x28, 0x80120040, 2, 28, 0x00000010, 0x00100000, 0x000a0020, 0xfff00000,
	0x80000002, 1, 0x2c, 0, 0, 0x80000010, 1, 0x18,                /* 0x94: y turns */
	0x80120010, 0, 12,
	0x80000002, 1, 0x3c, 0, 0,                                     /* 0xc0 */
	0x80000040, 1, 0x28, 0x80120040, 2, 28, 0x000a0010, 0, 0x00090020, 0,
};

static struct opened open_words(const uint32_t *words, size_t n)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < n; i++)
		put32(&b, words[i]);
	assert_false(b.bad);
	return open_buf(&fmt_anm, &b);
}

static struct geo_skeleton bones(uint32_t n, const uint32_t *part, struct arena *a)
{
	struct geo_skeleton s = { n, arena_alloc(a, n, sizeof *s.joint) };

	assert_non_null(s.joint);
	for (uint32_t i = 0; i < n; i++) {
		geo_joint_reset(&s.joint[i]);
		s.joint[i].name = arena_printf(a, "b%u", i);
		s.joint[i].parent = (int32_t)i - 1;
		s.joint[i].move[1] = 10;
		s.joint[i].part = part ? part[i] : 0;
	}
	assert_int_equal(geo_settle(&s, a, NULL), 0);
	return s;
}

static void test_tracks_of_mhp3rd(void **state)
{
	struct opened k = open_words(p3rd, ARRAY_LEN(p3rd));
	struct arena a = { 0 };
	struct geo_skeleton s = bones(5, NULL, &a), small = bones(3, NULL, &a);
	struct geo_clip clip;
	struct err e;

	(void)state;
	assert_int_equal(fmt_anm.model->clip(k.o, 0, &s, &clip, &a, &e), 0);
	assert_int_equal(clip.ntracks, 2);
	assert_int_equal(clip.track[1].joint, 3);      /* track 1, two bones on */
	assert_int_equal(clip.track[1].track, 1);
	assert_int_equal(clip.track[1].curve[GEO_TURN + 2].n, 3);
	near(clip.track[1].curve[GEO_TURN + 2].key[1].value, QUARTER);
	near(clip.track[1].curve[GEO_TURN + 2].key[1].frame, 15);
	assert_true(clip.loops);
	near(clip.loop_start, 4);
	assert_string_equal(clip.name, "clip_000");
	assert_non_null(clip.note);
	assert_int_equal(fmt_anm.model->clip(k.o, 0, &small, &clip, &a, &e), 0);
	assert_int_equal(clip.ntracks, 1);             /* the empty one */
	assert_int_equal(fmt_anm.model->clip(k.o, 1, &s, &clip, &a, &e), -ENOENT);
	arena_free(&a);
	close_opened(&k);
}

static void test_parts_of_mhfu(void **state)
{
	static const uint32_t part[] = { 1, 0, 1, NONE };
	struct opened k = open_words(mhfu, ARRAY_LEN(mhfu));
	struct arena a = { 0 };
	struct geo_skeleton s = bones(4, part, &a);
	struct geo_clip clip;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(object_count(k.o, PART_CLIP), 3);
	assert_int_equal(fmt_anm.model->clip(k.o, 0, &s, &clip, &a, &e), 0);
	assert_int_equal(clip.ntracks, 1);
	assert_int_equal(clip.track[0].joint, 1);      /* the first of part 0 */
	near(clip.track[0].curve[GEO_MOVE].key[0].value, 1);
	near(clip.track[0].curve[GEO_MOVE].key[0].out, 1);
	near(clip.track[0].curve[GEO_MOVE].key[1].in, 0);
	near(clip.track[0].curve[GEO_MOVE].key[1].out, -1);
	assert_null(clip.note);
	assert_int_equal(fmt_anm.model->clip(k.o, 1, &s, &clip, &a, &e), 0);
	assert_int_equal(clip.ntracks, 1);
	assert_int_equal(clip.track[0].curve[GEO_TURN + 1].n, 0);      /* a channel without keys */
	assert_int_equal(fmt_anm.model->clip(k.o, 2, &s, &clip, &a, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "key 1 of a channel has frame 9, expected no less than the 10 before it"));
	arena_free(&a);
	close_opened(&k);
}

struct heard { unsigned n, bad; char names[64]; uint32_t slots; };

static int hear(void *ctx, const struct geo_clip *clip, int rc, const struct err *why)
{
	struct heard *h = ctx;

	(void)why;
	h->n++;
	h->bad += rc == -EBADMSG;
	if (rc)
		return 0;
	strcat(strcat(h->names, clip->name), " ");
	h->slots = clip->nslots > 1 ? clip->slot[1] : h->slots;
	return 0;
}

static void test_motions(void **state)
{
	static const uint32_t part[] = { 1, 0, 1, NONE };
	struct opened k = open_words(mhfu, ARRAY_LEN(mhfu)), other = open_words(p3rd, ARRAY_LEN(p3rd));
	struct arena a = { 0 };
	struct geo_skeleton s = bones(4, part, &a);
	struct heard h = { 0 }, g = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(fmt_anm.model->motions(k.o, &s, hear, &h, &e), 0);
	assert_int_equal(h.n, 2);
	assert_int_equal(h.bad, 1);                    /* slot 1 */
	assert_string_equal(h.names, "slot_000 ");
	assert_int_equal(h.slots, 2);
	assert_int_equal(fmt_anm.model->motions(other.o, &s, hear, &g, &e), 0);
	assert_string_equal(g.names, "slot_000 ");
	arena_free(&a);
	close_opened(&k);
	close_opened(&other);
}

/* ---- GLB ---- */

struct written { struct buf b; cJSON *json; const uint8_t *bin; };

static struct written write_clip(const struct geo_skeleton *s, const struct geo_clip *clip,
				 const struct geo_timing *timing)
{
	struct written w = { 0 };
	struct glb *g;
	struct err e = { 0 };
	uint64_t size, measured;

	for (int write = 0; write < 2; write++) {
		assert_int_equal(glb_begin(&g, s, write, &e), 0);
		assert_int_equal(glb_animation(g, clip, timing, &e), 0);
		assert_int_equal(glb_end(g, write ? &w.b : NULL, write ? &size : &measured, &e), 0);
		glb_free(g);
	}
	assert_int_equal(size, measured);
	assert_int_equal(size, w.b.len);
	w.json = cJSON_ParseWithLength((const char *)w.b.p + 20, le_u32(w.b.p + 12));
	assert_non_null(w.json);
	w.bin = w.b.p + 28 + le_u32(w.b.p + 12);
	return w;
}

static void written_free(struct written *w)
{
	cJSON_Delete(w->json);
	buf_free(&w->b);
}

static const cJSON *item(const cJSON *o, const char *list, int i)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(o, list), i);
}

static int whole(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	assert_true(cJSON_IsNumber(v));
	return v->valueint;
}

/* The floats of an accessor. */
static void floats_are(const struct written *w, int accessor, const double *want, int n, int comps)
{
	const cJSON *a = item(w->json, "accessors", accessor);
	const uint8_t *p = w->bin + whole(item(w->json, "bufferViews", whole(a, "bufferView")), "byteOffset");

	assert_int_equal(whole(a, "count") * comps, n);
	for (int i = 0; i < n; i++)
		if (!(fabs((double)le_f32(p + 4 * i) - want[i]) < 1e-6))
			fail_msg("accessor %d, number %d: %g, expected %g", accessor, i, (double)le_f32(p + 4 * i),
				 want[i]);
}

static void sampler_is(const struct written *w, int i, const char *interpolation, const double *times, int ntimes,
		       const double *values, int nvalues, int comps)
{
	const cJSON *s = item(item(w->json, "animations", 0), "samplers", i);

	assert_string_equal(cJSON_GetObjectItemCaseSensitive(s, "interpolation")->valuestring, interpolation);
	floats_are(w, whole(s, "input"), times, ntimes, 1);
	floats_are(w, whole(s, "output"), values, nvalues, comps);
}
#define SAMPLER_IS(w, i, interpolation, times, values, comps) \
	sampler_is(w, i, interpolation, times, ARRAY_LEN(times), values, ARRAY_LEN(values), comps)

/* x from 0 to 20 in 10 frames as in test_curve(), y with one key amid: split there. */
static void test_cubic(void **state)
{
	static const double times[] = { 0, 0.5, 1 };
	static const double values[] = {
		0, 0, 0, 0, 6, 0, 10, 0, 0,            /* in-tangent, value, out-tangent */
		22.5, 0, 0, 8.75, 6, 0, 22.5, 0, 0,
		20, 0, 0, 20, 6, 0, 0, 0, 0,
	};
	struct geo_key x[] = { { 0, 0, 9, 1 }, { 10, 20, 2, -3 } }, y[] = { { 5, 6, 1, 1 } };
	struct geo_track t = { .joint = 1, .curve = { [GEO_MOVE] = KEYS(x), [GEO_MOVE + 1] = KEYS(y) } };
	struct geo_clip clip = { .name = "walk", .ntracks = 1, .track = &t, .loops = true };
	struct arena a = { 0 };
	struct geo_skeleton s = bones(2, NULL, &a);
	struct written w = write_clip(&s, &clip, &(struct geo_timing){ .fps = 10 });
	const cJSON *anim = item(w.json, "animations", 0);
	const cJSON *target = cJSON_GetObjectItemCaseSensitive(item(anim, "channels", 0), "target"), *extras;

	(void)state;
	SAMPLER_IS(&w, 0, "CUBICSPLINE", times, values, 3);
	assert_int_equal(whole(target, "node"), 1);
	assert_string_equal(cJSON_GetObjectItemCaseSensitive(target, "path")->valuestring, "translation");
	extras = cJSON_GetObjectItemCaseSensitive(anim, "extras");
	assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(extras, "loop")));
	assert_null(cJSON_GetObjectItemCaseSensitive(w.json, "meshes"));
	written_free(&w);
	arena_free(&a);
}

/* A quarter in 2 frames and a half turn on: baked, 30 frames a second when nobody tells. */
static void test_baked(void **state)
{
	static const double times[] = { 0, 1 / 30.0, 2 / 30.0 };
	const double values[] = { 0, 0, 0, 1, 0, 0, sin(QUARTER / 4), cos(QUARTER / 4), 0, 0, HALF_ROOT, HALF_ROOT };
	struct geo_key z[] = { { 0, 4 * QUARTER, 0, 0 }, { 2, 5 * QUARTER, 0, 0 } };
	struct geo_track t = { .curve = { [GEO_TURN + 2] = KEYS(z) } };
	struct geo_clip clip = { .name = "turn", .ntracks = 1, .track = &t };
	struct arena a = { 0 };
	struct geo_skeleton s = bones(1, NULL, &a);
	struct written w = write_clip(&s, &clip, NULL);
	const uint8_t *p;
	double side;

	(void)state;
	/* a full turn has the opposite sign, for all keys alike */
	p = w.bin + whole(item(w.json, "bufferViews", 2), "byteOffset");
	side = le_f32(p + 12) < 0 ? -1 : 1;
	for (unsigned i = 0; i < 12; i++)
		assert_true(fabs(side * (double)le_f32(p + 4 * i) - values[i]) < 1e-6);
	floats_are(&w, 1, times, 3, 1);
	written_free(&w);
	/* both ends are enough for a turn that is even */
	z[0].out = z[1].in = QUARTER / 2;
	w = write_clip(&s, &clip, &(struct geo_timing){ .tolerance = 0.01 });
	assert_int_equal(whole(item(w.json, "accessors", 1), "count"), 2);
	written_free(&w);
	arena_free(&a);
}

/* One key, a jump, keys before the first frame, none at all. */
static void test_odd_clips(void **state)
{
	static const double once[] = { 0.3 }, place[] = { 0, 4, 0 };
	struct geo_key one[] = { { 9, 4, 1, 1 } }, jump[] = { { -3, 0, 0, 0 }, { 3, 1, 0, 0 }, { 3, 2, 0, 0 } };
	struct geo_track t[2] = { { .joint = 0, .curve = { [GEO_MOVE + 1] = KEYS(one) } },
				  { .joint = 1, .curve = { [GEO_SCALE] = KEYS(jump) } } };
	struct geo_clip clip = { .name = "odd", .ntracks = 1, .track = t };
	struct arena a = { 0 };
	struct geo_skeleton s = bones(2, NULL, &a);
	struct written w = write_clip(&s, &clip, NULL);
	const uint8_t *p;

	(void)state;
	SAMPLER_IS(&w, 0, "LINEAR", once, place, 3);
	written_free(&w);
	clip.track = &t[1];
	w = write_clip(&s, &clip, NULL);
	assert_int_equal(whole(item(w.json, "accessors", 1), "count"), 3);      /* 0, before 3, 3 */
	p = w.bin + whole(item(w.json, "bufferViews", 1), "byteOffset");
	near(le_f32(p), 0);
	assert_true(le_f32(p + 4) < 0.1f && le_f32(p + 4) > 0.0999f);
	assert_true(le_f32(p + 8) == 0.1f);
	p = w.bin + whole(item(w.json, "bufferViews", 2), "byteOffset");
	near(le_f32(p + 12), 0.5);                     /* half way from frame -3 to 3 */
	near(le_f32(p + 36 + 12), 1);
	near(le_f32(p + 72 + 12), 2);
	written_free(&w);
	clip.ntracks = 0;
	w = write_clip(&s, &clip, NULL);
	assert_null(cJSON_GetObjectItemCaseSensitive(w.json, "animations"));
	written_free(&w);
	arena_free(&a);
}

static void test_too_long(void **state)
{
	struct geo_key far[] = { { 0, 0, 0, 0 }, { 1e9, 1, 0, 0 } };
	struct geo_track t = { .curve = { [GEO_TURN] = KEYS(far) } };
	struct geo_clip clip = { .name = "far", .ntracks = 1, .track = &t };
	struct arena a = { 0 };
	struct geo_skeleton s = bones(1, NULL, &a);
	struct glb *g;
	struct err e;

	(void)state;
	assert_int_equal(glb_begin(&g, &s, false, &e), 0);
	assert_int_equal(glb_animation(g, &clip, NULL, &e), -EFBIG);
	glb_free(g);
	arena_free(&a);
}

/* ---- what somebody wants otherwise ---- */

#define FRAMES 31u

/* A curve of two stretches that are straight: 0 to 10 to 30, by 16 a frame and 0. */
static struct geo_key straight[] = { { 0, 0, 0, 16 }, { 10, 160, 16, 0 }, { 30, 160, 0, 0 } };
static const struct geo_fit units = { .unit = 1, .most = 32767, .step = 1 };

static void sample_straight(double *v)
{
	for (unsigned f = 0; f < FRAMES; f++)
		v[f] = f < 10 ? 16 * f : 160;
}

/* That curve, wanted as it is but for what a test changes. */
struct fitting { struct geo_curve c, out; struct arena a; double was[FRAMES], now[FRAMES]; bool changed; };

static void want_straight(struct fitting *f)
{
	*f = (struct fitting){ .c = KEYS(straight) };
	sample_straight(f->was);
	sample_straight(f->now);
}

static void fit(struct fitting *f)
{
	assert_int_equal(geo_curve_fit(&f->c, f->was, f->now, FRAMES, &units, &f->out, &f->changed, &f->a, NULL), 0);
}

static void test_fit_nothing(void **state)
{
	struct fitting f;

	(void)state;
	want_straight(&f);
	f.now[5] += 1;                         /* as far as a step */
	fit(&f);
	assert_false(f.changed);
	assert_ptr_equal(f.out.key, straight);
	arena_free(&f.a);
}

/* The second stretch goes down evenly: the slopes of both ends towards each other are set, the rest stays. */
static void test_fit_stretch(void **state)
{
	struct fitting f;

	(void)state;
	want_straight(&f);
	for (unsigned i = 10; i < FRAMES; i++)
		f.now[i] = 160 - 8.0 * (i - 10);
	fit(&f);
	assert_true(f.changed);
	assert_int_equal(f.out.n, 3);
	assert_memory_equal(&f.out.key[0], &straight[0], sizeof *straight);
	all_near((const double[]){ f.out.key[1].frame, f.out.key[1].value, f.out.key[1].in, f.out.key[1].out },
		 (const double[]){ 10, 160, 16, -8 }, 4);
	all_near((const double[]){ f.out.key[2].frame, f.out.key[2].value, f.out.key[2].in, f.out.key[2].out },
		 (const double[]){ 30, 0, -8, 0 }, 4);
	arena_free(&f.a);
}

/* Whatever is wanted is come close to, and keys on the other side of a key that stays are kept. */
static void test_fit_anything(void **state)
{
	struct fitting f;
	struct geo_point p;

	(void)state;
	want_straight(&f);
	for (unsigned i = 11; i < 20; i++)
		f.now[i] = (i * 7919) % 401;
	fit(&f);
	assert_memory_equal(&f.out.key[0], &straight[0], sizeof *straight);
	near(f.out.key[1].in, 16);
	assert_true(f.out.n <= 3 + 19);
	for (unsigned i = 0; i < FRAMES; i++) {
		geo_curve_at(&f.out, i, false, false, &p);
		assert_true(fabs(p.value - f.now[i]) <= 1);
	}
	for (uint32_t i = 1; i < f.out.n; i++)
		assert_true(f.out.key[i].frame > f.out.key[i - 1].frame);
	/* fitted once more nothing is left to do */
	f.c = f.out;
	memcpy(f.was, f.now, sizeof f.was);
	fit(&f);
	assert_false(f.changed);
	arena_free(&f.a);
}

/* Without keys so far; one key when it does not move; none when it stays. What is too large is told. */
static void test_fit_new(void **state)
{
	struct geo_curve none = { 0 }, out;
	struct arena a = { 0 };
	double was[FRAMES] = { 0 }, now[FRAMES];
	struct err e;
	bool changed;

	(void)state;
	for (unsigned f = 0; f < FRAMES; f++)
		now[f] = 7;
	assert_int_equal(geo_curve_fit(&none, was, now, FRAMES, &units, &out, &changed, &a, &e), 0);
	assert_int_equal(out.n, 1);
	near(out.key[0].value, 7);
	for (unsigned f = 0; f < FRAMES; f++)
		now[f] = 2.0 * f;
	assert_int_equal(geo_curve_fit(&none, was, now, FRAMES, &units, &out, &changed, &a, &e), 0);
	assert_int_equal(out.n, 2);
	near(out.key[0].out, 2);
	near(out.key[1].value, 60);
	near(out.key[1].frame, 30);
	now[9] = 40000;
	assert_int_equal(geo_curve_fit(&none, was, now, FRAMES, &units, &out, &changed, &a, &e), -EINVAL);
	assert_string_equal(e.text, "40000 at frame 9, at most 32767 can be stored");
	arena_free(&a);
}

/* A first key that is not at the start, and more frames than there were. */
static void test_fit_ends(void **state)
{
	struct geo_key v[] = { { 5, 10, 0, 0 }, { 8, 10, 0, 3 } };
	struct geo_curve c = KEYS(v), out;
	struct arena a = { 0 };
	double was[12], now[12];
	bool changed;

	(void)state;
	for (unsigned f = 0; f < 12; f++) {
		was[f] = 10;
		now[f] = f < 5 ? 2.0 * f : f > 8 ? 10 + 5.0 * (f - 8) : 10;
	}
	assert_int_equal(geo_curve_fit(&c, was, now, 12, &units, &out, &changed, &a, NULL), 0);
	assert_int_equal(out.n, 4);
	all_near((const double[]){ out.key[0].frame, out.key[0].value, out.key[0].out, out.key[1].in },
		 (const double[]){ 0, 0, 2, 2 }, 4);
	all_near((const double[]){ out.key[1].out, out.key[2].in, out.key[2].out, out.key[3].in },
		 (const double[]){ 0, 0, 5, 5 }, 4);
	near(out.key[3].value, 25);
	/* between keys that agree, of a program that knows no slopes */
	now[6] = now[7] = 99;
	for (unsigned f = 0; f < 12; f++)
		now[f] = f < 5 || f > 8 ? 10 : now[f];
	assert_int_equal(geo_curve_fit(&c, was, now, 12, &(struct geo_fit){ 1, 32767, 1, true }, &out, &changed, &a,
				       NULL), 0);
	assert_int_equal(out.n, 2);
	assert_memory_equal(out.key, v, sizeof v);
	arena_free(&a);
}

static void test_angles_near(void **state)
{
	double q[4], angle[3];

	(void)state;
	/* more than a quarter around y, which would also be half a turn around x and z and less around y */
	geo_turn_of((const double[]){ 0, 2.5, 0 }, q);
	geo_angles_near(q, (const double[]){ 0.1, 2.4, 0 }, angle);
	all_near(angle, (const double[]){ 0, 2.5, 0 }, 3);
	geo_angles_near(q, (const double[]){ 0, 2.4 + 4 * QUARTER, 0 }, angle);
	all_near(angle, (const double[]){ 0, 2.5 + 4 * QUARTER, 0 }, 3);
	near(geo_turns_apart(q, q), 0);
	near(geo_turns_apart((const double[]){ 0, 0, 0, 1 }, (const double[]){ 0, 0, -HALF_ROOT, -HALF_ROOT }),
	     QUARTER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curve), cmocka_unit_test(test_one_key), cmocka_unit_test(test_jump),
		cmocka_unit_test(test_key_frames), cmocka_unit_test(test_turns), cmocka_unit_test(test_upright),
		cmocka_unit_test(test_pose),
		cmocka_unit_test(test_linear_turn), cmocka_unit_test(test_tracks_of_mhp3rd),
		cmocka_unit_test(test_parts_of_mhfu), cmocka_unit_test(test_motions), cmocka_unit_test(test_cubic),
		cmocka_unit_test(test_baked), cmocka_unit_test(test_odd_clips), cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_fit_nothing), cmocka_unit_test(test_fit_stretch),
		cmocka_unit_test(test_fit_anything), cmocka_unit_test(test_fit_new), cmocka_unit_test(test_fit_ends),
		cmocka_unit_test(test_angles_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
