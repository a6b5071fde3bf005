/* Animations of a JOM that are to move bones as somebody wrote. Numbers are worked out by hand from spec/jom.md 4.11:
 * angles are 32768 to the half turn, places 65536 to one, y and z the other way round from what is shown. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "build_jom.h"
#include "bytes.h"
#include "edited.h"
#include "opened.h"

extern const struct format fmt_jom;

#define BONES 3u                               /* of the hut: hip, arm, hand, each one below the one before */
#define KEY_SIZE 32u
#define KEYS_AT 32u                            /* in the data of ANIM */
#define UNIT (GEO_PI / 32768)
#define KEY_SECONDS (10 / 60.0)

/* ---- what is wanted ---- */

/* Root offsets and angles at both keys of the hut's animation, as they are shown; between them the shortest way. */
struct walk { double move[2][BONES][3], angle[2][BONES][3], scale[BONES], bend; };

/* As build_jom.c has it: angles 0 to 8, then those times 8192; the root goes down by one. */
static struct walk as_stored(void)
{
	struct walk w = { .scale = { 1, 1, 1 } };

	for (unsigned i = 0; i < 9; i++) {
		double sign = i % 3 ? -UNIT : UNIT;

		w.angle[0][i / 3][i % 3] = i * sign;
		w.angle[1][i / 3][i % 3] = i * 8192 * sign;
	}
	for (unsigned b = 0; b < BONES; b++)
		w.move[0][b][1] = w.move[1][b][1] = b ? -1 : 0;
	w.move[1][0][1] = -1;
	return w;
}

/* bend: turns around x between the keys, as far as that in the middle. */
static void at(const struct geo_wish *wish, uint32_t joint, double seconds, struct geo_pose *out)
{
	const struct walk *w = wish->ctx;
	double s = seconds / KEY_SECONDS, turn[2][4], bent[2][3];

	s = s > 1 ? wish->last > KEY_SECONDS ? s : 1 : s;
	for (unsigned k = 0; k < 3; k++) {
		out->move[k] = w->move[0][joint][k] + s * (w->move[1][joint][k] - w->move[0][joint][k]);
		out->scale[k] = w->scale[joint];
	}
	for (unsigned k = 0; k < 2; k++) {
		memcpy(bent[k], w->angle[k][joint], sizeof bent[k]);
		bent[k][0] += w->bend * s * (1 - s) * 4;
		geo_turn_of(bent[k], turn[k]);
	}
	geo_turn_between(turn[0], turn[1], s < 1 ? s : 1, out->turn);
}

static struct geo_wish wish_of(struct walk *w)
{
	return (struct geo_wish){ .name = "WALK", .clip = 0, .last = KEY_SECONDS, .at = at, .ctx = w };
}

static void open_hut(struct edited *k)
{
	struct buf b = { 0 };

	build_jom_hut(&b);
	assert_false(b.bad);
	edited_open(k, &fmt_jom, b.p, b.len, b.len);
	buf_free(&b);
}

/* The same with two roots: hip and arm. */
static void open_two_roots(struct edited *k)
{
	struct buf b = { 0 };

	build_jom_hut(&b);
	put_be16(b.p + jom_data(b.p, b.len, "BONE") + 4 + 32 + 18, 0xffff);
	edited_open(k, &fmt_jom, b.p, b.len, b.len);
	buf_free(&b);
}

static int put(struct edited *k, struct geo_wish *wish, double tolerance)
{
	struct geo_timing timing = { .tolerance = tolerance };
	struct geo_skeleton s = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	int rc = fmt_jom.model->skeleton(k->o, &s, &a, &e);

	assert_int_equal(rc ? rc : geo_settle(&s, &a, &e), 0);
	assert_int_equal(s.n, BONES);
	rc = fmt_jom.model->clips_put(k->o, &s, wish, 1, &timing, &e);
	arena_free(&a);
	snprintf(k->why, sizeof k->why, "%s", rc ? e.text : "");
	if (!rc) {
		edited_settle(k);
		assert_int_equal(object_verify(k->o, &e), 0);
	}
	return rc;
}

/* It is taken, and taken once more it changes nothing. */
static void accepted(struct edited *k, struct walk *w, double tolerance)
{
	struct geo_wish wish = wish_of(w);
	struct kept was;

	if (put(k, &wish, tolerance))
		fail_msg("%s", k->why);
	assert_true(wish.taken);
	was = edited_keep(k);
	assert_int_equal(put(k, &wish, tolerance), 0);
	edited_same(k, &was);
}

static void refused(struct edited *k, struct geo_wish wish, const char *why)
{
	assert_int_equal(put(k, &wish, 0), -EINVAL);
	assert_string_equal(k->why, why);
	edited_settle(k);
	edited_only(k, 0, 0, 0);
	edited_close(k);
}

static size_t key_at(const struct edited *k, uint32_t key)
{
	return jom_data(k->bytes[0], k->size[0], "ANIM") + KEYS_AT + (size_t)key * KEY_SIZE;
}

static void offset_is(const struct edited *k, uint32_t key, int32_t x, int32_t y, int32_t z)
{
	const int32_t want[3] = { x, y, z };

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal((int32_t)be_u32(k->bytes[0] + key_at(k, key) + 4 * i), want[i]);
}

static void angles_are(const struct edited *k, uint32_t key, uint32_t bone, unsigned x, unsigned y, unsigned z)
{
	const unsigned want[3] = { x, y, z };

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(be_u16(k->bytes[0] + key_at(k, key) + 12 + 6 * bone + 2 * i), want[i]);
}

/* ---- tests ---- */

static void test_nothing(void **state)
{
	struct walk w = as_stored();
	struct geo_wish none = wish_of(&w);
	struct edited k;

	(void)state;
	open_hut(&k);
	accepted(&k, &w, 0);
	w.angle[1][2][0] += 0.9 * UNIT;                /* less than a step of an angle, and of a place */
	w.move[1][0][2] += 0.9 / 65536;
	accepted(&k, &w, 0);
	none.clip = 1;                                 /* there is no such clip, which is for others to say */
	w.angle[1][2][0] = 1;
	assert_int_equal(put(&k, &none, 0), 0);
	assert_false(none.taken);
	none.clip = GEO_NONE;
	assert_int_equal(put(&k, &none, 0), 0);
	assert_false(none.taken);
	assert_string_equal(k.said, "");
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

/* Only the numbers of the bone in that key. */
static void test_angles(void **state)
{
	struct walk w = as_stored();
	struct edited k;

	(void)state;
	memcpy(w.angle[0][2], (double[]){ 0, 0, GEO_PI / 2 }, sizeof w.angle[0][2]);
	open_hut(&k);
	accepted(&k, &w, 0);
	angles_are(&k, 0, 0, 0, 1, 2);
	angles_are(&k, 0, 1, 3, 4, 5);
	angles_are(&k, 0, 2, 0, 0, 0xc000);
	edited_only(&k, 0, key_at(&k, 0) + 12 + 12, 6);
	edited_close(&k);
}

/* An eighth turn around x is also 5/8 around x and a half around y and z, which is nearer to what is there: 3/8, and
 * a half, and 3/8. What need not change does not. */
static void test_nearest_angles(void **state)
{
	struct walk w = as_stored();
	struct edited k;

	(void)state;
	memcpy(w.angle[1][1], (double[]){ GEO_PI / 4, 0, 0 }, sizeof w.angle[1][1]);
	open_hut(&k);
	accepted(&k, &w, 0);
	angles_are(&k, 1, 0, 0, 0x2000, 0x4000);
	angles_are(&k, 1, 1, 0xa000, 0x8000, 0x8000);
	angles_are(&k, 1, 2, 0xc000, 0xe000, 0);
	edited_only(&k, 0, key_at(&k, 1) + 12 + 6, 6);
	edited_close(&k);
}

static void test_tolerance(void **state)
{
	struct walk w = as_stored();
	struct edited k;

	(void)state;
	w.angle[0][0][0] = 0.5 * GEO_DEGREE;           /* 91.02 */
	open_hut(&k);
	accepted(&k, &w, 1);
	edited_only(&k, 0, 0, 0);
	accepted(&k, &w, 0.25);
	angles_are(&k, 0, 0, 91, 1, 2);
	edited_close(&k);
}

static void test_offset(void **state)
{
	struct walk w = as_stored();
	struct edited k;

	(void)state;
	memcpy(w.move[1][0], (double[]){ 0.25, -2.5, 3 }, sizeof w.move[1][0]);
	open_hut(&k);
	accepted(&k, &w, 0);
	offset_is(&k, 0, 0, 0, 0);
	offset_is(&k, 1, ONE / 4, 5 * ONE / 2, -3 * ONE);
	edited_only(&k, 0, key_at(&k, 1), 12);
	edited_close(&k);
}

/* All roots have one offset: it is what they agree about. */
static void test_two_roots(void **state)
{
	struct walk w = as_stored(), apart;
	struct edited k;

	(void)state;
	for (unsigned b = 0; b < 2; b++) {
		w.move[0][b][1] = b ? -1 : 0;          /* the arm's pivot is one below */
		w.move[1][b][1] = w.move[0][b][1] - 4;
	}
	open_two_roots(&k);
	accepted(&k, &w, 0);
	offset_is(&k, 1, 0, 4 * ONE, 0);
	edited_close(&k);
	apart = w;
	apart.move[1][1][0] = 1;
	open_two_roots(&k);
	refused(&k, wish_of(&apart),
		"animation \"WALK\", bone arm: it moves otherwise than another root, and all have one offset");
}

static void test_between(void **state)
{
	struct walk w = as_stored();
	struct edited k;

	(void)state;
	w.bend = 0.5 * GEO_DEGREE;                     /* which nobody sees */
	open_hut(&k);
	accepted(&k, &w, 0);
	assert_string_equal(k.said, "");
	w.bend = 10 * GEO_DEGREE;
	accepted(&k, &w, 0);
	assert_non_null(strstr(k.said, "animation \"WALK\": keys lie 10 ticks apart, what happens between them is not "
			       "kept\n"));
	edited_only(&k, 0, 0, 0);
	edited_close(&k);
}

static void test_refused(void **state)
{
	struct walk scaled = as_stored(), moved = as_stored(), far = as_stored(), later = as_stored();
	struct geo_wish longer = wish_of(&later);
	struct edited k;

	(void)state;
	scaled.scale[1] = 2;
	open_hut(&k);
	refused(&k, wish_of(&scaled), "animation \"WALK\", bone arm: scaled by 2, nothing is scaled in JOM");
	moved.move[1][2][0] = 0.5;
	open_hut(&k);
	refused(&k, wish_of(&moved), "animation \"WALK\", bone hand: it is moved, and only roots are in JOM");
	far.move[1][0][0] = 40000;
	open_hut(&k);
	refused(&k, wish_of(&far),
		"animation \"WALK\", bone hip: 40000 from its rest, at most 32767 can be stored");
	longer.last = 1;
	open_hut(&k);
	refused(&k, longer, "animation \"WALK\", bone hip: it moves up to 1.000 s, the last of 2 keys is at 0.167 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_angles), cmocka_unit_test(test_nearest_angles),
		cmocka_unit_test(test_tolerance), cmocka_unit_test(test_offset), cmocka_unit_test(test_two_roots),
		cmocka_unit_test(test_between), cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
