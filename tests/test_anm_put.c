/* Animations that are to move bones as somebody wrote: which keys of a pack change for that. Numbers are worked out by
 * hand from spec/mhp.md 5: angles are 8192 to the half turn, places 16 to one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_anm;

#define NONE 0xffffffffu
#define FPS 30.0
#define QUARTER (GEO_PI / 2)
#define BONES 5u
#define ROOM 1024u

/* ---- packs ---- */

/* Portable 3rd: track 1, which moves bone 3, turns it about z: a quarter turn there and back in 15 frames each. */
static const uint32_t p3rd[] = {
	2, 0x10, 0, 0x18, 0x18, NONE,
	2, 0x38, 1, 0,                                 /* 0x18: tracks, size, loop, start */
	0x00040000, 0x00240001,                        /* 0x28, 0x2c */
	0x00030020, 0x20,                              /* 0x30 */
	0x00000000, 0, 0x000f1000, 0, 0x001e0000, 0    /* 0x38 */
};
/* Freedom Unite: slots 0 and 1 of part 0 play clip 0, slot 0 of part 1 plays clip 1. Both move a bone by x, clip 0 from
 * 1 to 2, clip 1 from 1 to 3, in 10 frames. */
static const uint32_t mhfu[] = {
	2, 0x20, 0, 0x28, 1, 0x28, 0, 0x2c,
	0x2c, 0x2c, 0x68,
	0x80000002, 1, 0x3c, 0, 0,                     /* 0x2c */
	0x80000040, 1, 0x28, 0x80120040, 2, 28,        /* 0x40, 0x4c */
	0x00000010, 0x00100000, 0x000a0020, 0xfff00000,        /* 0x58 */
	0x80000002, 1, 0x3c, 0, 0,                     /* 0x68 */
	0x80000040, 1, 0x28, 0x80120040, 2, 28,
	0x00000010, 0, 0x000a0030, 0,                  /* 0x94 */
};

static void open_words(struct edited *k, const uint32_t *words, size_t n)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < n; i++)
		put32(&b, words[i]);
	assert_false(b.bad);
	edited_open(k, &fmt_anm, b.p, b.len, ROOM);
	buf_free(&b);
}
#define OPEN(k, words) open_words(k, words, ARRAY_LEN(words))

static void words_are(const struct edited *k, uint32_t at, const uint32_t *want, size_t n)
{
	assert_true(at + 4 * n <= k->size[0]);
	for (size_t i = 0; i < n; i++)
		if (le_u32(k->bytes[0] + at + 4 * i) != want[i])
			fail_msg("0x%zx: 0x%08x, expected 0x%08x", at + 4 * i, le_u32(k->bytes[0] + at + 4 * i),
				 want[i]);
}
#define WORDS_ARE(k, at, ...) \
	words_are(k, at, (const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* Bones that lie in a row, at rest at y 10 of the one before. part NULL: all are of part 0. */
static struct geo_skeleton bones(const uint32_t *part, struct arena *a)
{
	struct geo_skeleton s = { BONES, arena_alloc(a, BONES, sizeof *s.joint) };

	assert_non_null(s.joint);
	for (uint32_t i = 0; i < BONES; i++) {
		geo_joint_reset(&s.joint[i]);
		s.joint[i].name = arena_printf(a, "b%u", i);
		s.joint[i].parent = (int32_t)i - 1;
		s.joint[i].move[1] = 10;
		s.joint[i].part = part ? part[i] : 0;
	}
	assert_int_equal(geo_settle(&s, a, NULL), 0);
	return s;
}

/* ---- what is wanted ---- */

/* One number of a bone, by frame. */
struct moving { uint32_t joint; unsigned channel; double (*value)(double frame); };

/* All the others are at rest. v ends with no function. */
static void at(const struct geo_wish *w, uint32_t joint, double seconds, struct geo_pose *out)
{
	double angle[3] = { 0 };

	*out = (struct geo_pose){ .move = { 0, 10, 0 }, .scale = { 1, 1, 1 } };
	for (const struct moving *m = w->ctx; m->value; m++) {
		double v = m->value(seconds * FPS);

		if (m->joint != joint)
			continue;
		if (m->channel < GEO_TURN)
			out->move[m->channel] = v;
		else if (m->channel < GEO_SCALE)
			angle[m->channel - GEO_TURN] = v;
		else
			out->scale[m->channel - GEO_SCALE] = v;
	}
	geo_turn_of(angle, out->turn);
}

#define WISH(name, clip, frames, ...) \
	{ name, clip, (frames) / FPS, at, (struct moving[]){ __VA_ARGS__, { 0, 0, NULL } }, false, false }

static int put(struct edited *k, const uint32_t *part, struct geo_wish *wish, uint32_t n, double tolerance)
{
	struct geo_timing timing = { .tolerance = tolerance };
	struct arena a = { 0 };
	struct geo_skeleton s = bones(part, &a);
	struct err e = { 0 };
	int rc = fmt_anm.model->clips_put(k->o, &s, wish, n, &timing, &e);

	arena_free(&a);
	snprintf(k->why, sizeof k->why, "%s", rc ? e.text : "");
	if (!rc) {
		edited_settle(k);
		sound(k->o);
	}
	return rc;
}

/* It is taken, and taken once more it changes nothing. */
static void accepted(struct edited *k, const uint32_t *part, struct geo_wish *wish, uint32_t n, double tolerance)
{
	struct kept was;

	if (put(k, part, wish, n, tolerance))
		fail_msg("%s", k->why);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(wish[i].taken);
		wish[i].taken = false;
	}
	was = edited_keep(k);
	assert_int_equal(put(k, part, wish, n, tolerance), 0);
	edited_same(k, &was);
}

static void refused(struct edited *k, const uint32_t *part, struct geo_wish *wish, uint32_t n, const char *why)
{
	assert_int_equal(put(k, part, wish, n, 0), -EINVAL);
	assert_string_equal(k->why, why);
	edited_settle(k);
	edited_only(k, 0, 0, 0);
	edited_close(k);
}

/* ---- curves of Portable 3rd ---- */

/* A cubic with flat ends. */
static double smooth(double s)
{
	s = s < 0 ? 0 : s > 1 ? 1 : s;
	return s * s * (3 - 2 * s);
}

static double there_and_back(double f)
{
	return QUARTER * (f < 15 ? smooth(f / 15) : smooth((30 - f) / 15));
}

static double half_as_far(double f)
{
	return there_and_back(f) / 2;
}

static double tent(double f)
{
	return QUARTER * fmax(0, 1 - fabs(f - 15) / 15);
}

/* 2040 of 8192 from frame 30 to 60: 68 a frame. */
static double goes_on(double f)
{
	return f <= 30 ? there_and_back(f) : 68 * (f - 30) * GEO_PI / 8192;
}

static double a_bit_more(double f)
{
	return there_and_back(f) + 0.5 * GEO_DEGREE * smooth(f / 15);
}

static double two(double f)
{
	(void)f;
	return 2;
}

static double three_thousand(double f)
{
	(void)f;
	return 3000;
}

static double stands(double f)
{
	(void)f;
	return 0;
}

/* A jump from 0 to 4 between two frames. */
static double step(double f)
{
	return f < 20 ? 0 : 4;
}

#define ON_3(value) { 3, GEO_TURN + 2, value }

static void test_nothing(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 30, ON_3(there_and_back)) };
	struct geo_wish named[] = { WISH("slot_000", GEO_NONE, 30, ON_3(there_and_back)) };
	struct geo_wish other[] = { WISH("slot_007", GEO_NONE, 30, ON_3(tent)) };
	struct geo_wish none[] = { WISH("clip_001", 1, 30, ON_3(tent)) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	assert_int_equal(put(&k, NULL, none, 1, 0), 0);
	assert_false(none->taken);
	accepted(&k, NULL, wish, 1, 0);
	accepted(&k, NULL, named, 1, 0);
	assert_int_equal(put(&k, NULL, other, 1, 0), 0);       /* there is no such motion, which is for others to say */
	assert_false(other->taken);
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void test_value(void **state)
{
	struct geo_wish wish[] = { WISH("slot_000.001", GEO_NONE, 30, ON_3(half_as_far)) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	accepted(&k, NULL, wish, 1, 0);
	WORDS_ARE(&k, 0x40, 0x000f0800, 0);
	edited_only(&k, 0, 0x40, 4);
	edited_close(&k);
}

/* 4096 in 15 frames are 273.07 a frame. */
static void test_slopes(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 30, ON_3(tent)) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	accepted(&k, NULL, wish, 1, 0);
	WORDS_ARE(&k, 0x38, 0x00000000, 0x01110000, 0x000f1000, 0xfeef0111, 0x001e0000, 0x0000feef);
	edited_close(&k);
}

static void test_tolerance(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 30, ON_3(a_bit_more)) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	accepted(&k, NULL, wish, 1, 1);
	edited_only(&k, 0, 0, 0);
	accepted(&k, NULL, wish, 1, 0.25);             /* half a degree are 22.76 */
	WORDS_ARE(&k, 0x40, 0x000f1017);
	edited_close(&k);
}

/* Longer than the clip was: a key behind the last one. */
static void test_longer(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 60, ON_3(goes_on)) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	accepted(&k, NULL, wish, 1, 0);
	assert_int_equal(k.size[0], k.size_was[0] + 8);
	WORDS_ARE(&k, 0x18, 2, 0x40, 1, 0, 0x00040000, 0x002c0001, 0x00040020, 0x28, 0x00000000, 0, 0x000f1000, 0,
		  0x001e0000, 0x00440000, 0x003c07f8, 0x00000044);
	edited_close(&k);
}

/* A channel of its own; the other one keeps its keys. */
static void test_new_channel(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 30, ON_3(there_and_back), { 3, GEO_MOVE, two }) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	accepted(&k, NULL, wish, 1, 0);
	assert_int_equal(k.size[0], k.size_was[0] + 16);
	WORDS_ARE(&k, 0x18, 2, 0x48, 1, 0, 0x00040000, 0x00340002, 0x00030020, 0x20);
	WORDS_ARE(&k, 0x50, 0x00010040, 0x10, 0x00000020, 0);
	edited_close(&k);

	/* In a track that had none, before what follows. */
	struct geo_wish first[] = { WISH("clip_000", 0, 30, ON_3(there_and_back), { 2, GEO_SCALE + 1, two }) };

	OPEN(&k, p3rd);
	accepted(&k, NULL, first, 1, 0);
	WORDS_ARE(&k, 0x18, 2, 0x48, 1, 0, 0x00140001, 0x00010400, 0x10, 0x00000200, 0, 0x00240001, 0x00030020);
	edited_close(&k);
}

/* What keys are at a frame, by the formula of the specification. */
static double hermite(const uint8_t *key, unsigned n, double f)
{
	int16_t v[2][4];
	unsigned i = 0;
	double d, t;

	while (i + 2 < n && (int16_t)le_u16(key + 8 * (i + 1) + 2) <= f)
		i++;
	for (unsigned k = 0; k < 8; k++)
		v[k / 4][k % 4] = (int16_t)le_u16(key + 8 * i + 2 * k);
	d = v[1][1] - v[0][1];
	t = (f - v[0][1]) / d;
	return (2 * t * t * t - 3 * t * t + 1) * v[0][0] + (3 - 2 * t) * t * t * v[1][0] +
	       d * (t * (1 - t) * (1 - t) * v[0][3] - t * t * (1 - t) * v[1][2]);
}

/* What no curve of a few keys is: at each frame it is what it should be, within a step. */
static void test_jump(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 30, ON_3(there_and_back), { 3, GEO_MOVE + 2, step }) };
	struct edited k;
	const uint8_t *p;

	(void)state;
	OPEN(&k, p3rd);
	accepted(&k, NULL, wish, 1, 0);
	p = k.bytes[0] + 0x50;
	assert_int_equal(le_u16(p), 0x100);
	for (unsigned f = 0; f <= 30; f++)
		assert_true(fabs(hermite(p + 8, le_u16(p + 2), f) - 16 * step(f)) <= 1);
	assert_true(le_u16(p + 2) < 12);
	edited_close(&k);
}

static void test_refused(void **state)
{
	struct geo_wish without[] = { WISH("clip_000", 0, 30, ON_3(there_and_back), { 4, GEO_MOVE, two }) };
	struct geo_wish too_far[] = { WISH("clip_000", 0, 30, ON_3(there_and_back), { 3, GEO_MOVE, three_thousand }) };
	struct geo_wish too_long[] = { WISH("clip_000", 0, 60000, ON_3(there_and_back)) };
	struct geo_wish twice[] = { WISH("slot_000.001", GEO_NONE, 30, ON_3(tent)),
				    WISH("slot_000.002", GEO_NONE, 30, ON_3(stands)) };
	struct edited k;

	(void)state;
	OPEN(&k, p3rd);
	refused(&k, NULL, without, 1, "animation \"clip_000\", bone b4: it moves, and the clip has no track for it");
	OPEN(&k, p3rd);
	refused(&k, NULL, too_far, 1,
		"animation \"clip_000\", bone b3: 3000 at frame 0, at most 2047.94 can be stored");
	OPEN(&k, p3rd);
	refused(&k, NULL, too_long, 1,
		"animation \"clip_000\" ends at frame 60000, at most 32767 can be stored");
	OPEN(&k, p3rd);
	refused(&k, NULL, twice, 2, "two animations are called \"slot_000\"");
}

/* Keys cannot be read back from a frame before the first. */
static void test_early_key(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 30, ON_3(tent)) };
	uint32_t words[ARRAY_LEN(p3rd)];
	struct edited k;

	(void)state;
	memcpy(words, p3rd, sizeof words);
	words[14] = 0xfffe0000;                        /* the first key, at frame -2 */
	open_words(&k, words, ARRAY_LEN(words));
	refused(&k, NULL, wish, 1, "animation \"clip_000\", bone b3: a stored key is at frame -2, which comes before "
		"all that can be shown");
}

/* ---- parts of Freedom Unite ---- */

static const uint32_t parts[BONES] = { 1, 0, NONE, NONE, NONE };

/* As clip 0 has it: slopes 1 a frame at the start, none at the end. */
static double clip_0(double f)
{
	double s = f < 10 ? f / 10 : 1;

	return 1 + smooth(s) + 10 * s * (1 - s) * (1 - s);
}

static double clip_1(double f)
{
	return 1 + 2 * smooth(f / 10);
}

static double straight(double f)
{
	return 1 + (f < 10 ? f / 10 : 1);
}

static double backwards(double f)
{
	return 3 - clip_0(f);
}

#define ON_1(value) { 1, GEO_MOVE, value }
#define ON_0(value) { 0, GEO_MOVE, value }

static void test_parts(void **state)
{
	struct geo_wish wish[] = { WISH("slot_000", GEO_NONE, 10, ON_1(clip_0), ON_0(clip_1)),
				   WISH("slot_001", GEO_NONE, 10, ON_1(clip_0)) };
	struct geo_wish other[] = { WISH("slot_000", GEO_NONE, 10, ON_1(clip_0), ON_0(straight)) };
	struct edited k;

	(void)state;
	OPEN(&k, mhfu);
	accepted(&k, parts, wish, 2, 0);
	edited_only(&k, 0, 0, 0);
	/* 16 in 10 frames are 1.6 a frame; the part that stays keeps its bytes. */
	accepted(&k, parts, other, 1, 0);
	WORDS_ARE(&k, 0x94, 0x00000010, 0x00020000, 0x000a0020, 0x00000002);
	edited_only(&k, 0, 0x94, 16);
	edited_close(&k);
}

/* What programs without slopes write is true at keys alone. */
static void test_slopeless(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 10, ON_1(straight)) };
	struct edited k;

	(void)state;
	OPEN(&k, mhfu);
	wish->slopeless = true;
	accepted(&k, parts, wish, 1, 0);
	edited_only(&k, 0, 0, 0);
	wish->slopeless = false;
	accepted(&k, parts, wish, 1, 0);
	WORDS_ARE(&k, 0x58, 0x00000010, 0x00020000, 0x000a0020, 0xfff00002);
	edited_close(&k);
}

/* Of motions that share a clip, one may be edited, but not both in different ways. */
static void test_shared_clip(void **state)
{
	struct geo_wish one[] = { WISH("slot_000", GEO_NONE, 10, ON_1(straight), ON_0(clip_1)),
				  WISH("slot_001", GEO_NONE, 10, ON_1(clip_0)) };
	struct geo_wish both[] = { WISH("slot_000", GEO_NONE, 10, ON_1(straight), ON_0(clip_1)),
				   WISH("slot_001", GEO_NONE, 10, ON_1(backwards)) };
	struct edited k;

	(void)state;
	OPEN(&k, mhfu);
	assert_int_equal(put(&k, parts, one, 2, 0), 0);
	WORDS_ARE(&k, 0x58, 0x00000010, 0x00020000, 0x000a0020, 0xfff00002);
	edited_close(&k);
	OPEN(&k, mhfu);
	refused(&k, parts, both, 2,
		"animations \"slot_000\" and \"slot_001\" share clip 0 and want it otherwise each");
}

static void test_no_scale(void **state)
{
	struct geo_wish wish[] = { WISH("clip_000", 0, 10, ON_1(clip_0), { 1, GEO_SCALE, two }) };
	struct edited k;

	(void)state;
	OPEN(&k, mhfu);
	refused(&k, parts, wish, 1, "animation \"clip_000\", bone b1: it is scaled, and Freedom Unite crashes on "
		"channels that scale");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_value), cmocka_unit_test(test_slopes),
		cmocka_unit_test(test_tolerance), cmocka_unit_test(test_longer), cmocka_unit_test(test_new_channel),
		cmocka_unit_test(test_jump), cmocka_unit_test(test_refused), cmocka_unit_test(test_early_key),
		cmocka_unit_test(test_parts), cmocka_unit_test(test_slopeless), cmocka_unit_test(test_shared_clip),
		cmocka_unit_test(test_no_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
