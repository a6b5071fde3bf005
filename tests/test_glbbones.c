/* Bones of a GLB of another program against those that were shown: which of them lie elsewhere, also where the program
 * lays them where the model was tied to them and not where they rest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"

#define HALF_ROOT 0.70710678f
#define AT(x, y, z) { x, y, z }
#define UNTURNED .turn = { 0, 0, 0, 1 }, .scale = { 1, 1, 1 }
#define TIED(x, y, z) .tied = true, .inverse = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -(x), -(y), -(z), 1 }

/* A hip at rest where it is tied. An arm that hangs on it, and rests 10 along x but is tied 5 along y; a hand that
 * hangs on the arm, 2 along x in both. */
static struct geo_joint joints[] = {
	{ .name = "hip", .parent = -1, .move = AT(0, 0, 1), UNTURNED, TIED(0, 0, 1) },
	{ .name = "arm", .parent = 0, .move = AT(10, 0, 0), UNTURNED, TIED(0, 5, 1) },
	{ .name = "hand", .parent = 1, .move = AT(2, 0, 0), UNTURNED, TIED(2, 5, 1) },
};

struct result {
	struct geo_skeleton now;
	uint8_t change[4];
	struct arena a;
};

#define NODE(label, up, ...) \
	{ .name = label, .parent = up, .mesh = -1, .skin = -1, .move = __VA_ARGS__, .turn = { 0, 0, 0, 1 }, \
	  .scale = { 1, 1, 1 } }

/* Nodes are in the order of the joints. */
static void compare(struct scene_node *node, struct result *r)
{
	const struct geo_scene scene = { .generator = "another program", .nnodes = 3, .node = node };
	const struct geo_skeleton was = { 3, joints };
	const uint32_t of[3] = { 1, 2, 3 };
	struct err e = { 0 };

	*r = (struct result){ 0 };
	if (glb_compare_bones(&scene, &was, of, &r->now, r->change, &r->a, &e))
		fail_msg("%s", e.text);
}

static void is(const struct result *r, unsigned bone, unsigned change, float x, float y, float z)
{
	const float *v = r->now.joint[bone].move;

	assert_int_equal(r->change[bone], change);
	assert_float_equal(v[0], x, 1e-4);
	assert_float_equal(v[1], y, 1e-4);
	assert_float_equal(v[2], z, 1e-4);
}

static void test_unmoved(void **state)
{
	/* as it was shown, and as it is tied */
	struct scene_node shown[] = { NODE("hip", -1, AT(0, 0, 1)), NODE("arm", 0, AT(10, 0, 0)),
				      NODE("hand", 1, AT(2, 0, 0)) };
	struct scene_node tied[] = { NODE("hip", -1, AT(0, 0, 1)), NODE("arm", 0, AT(0, 5, 0)),
				     NODE("hand", 1, AT(2, 0, 0)) };
	struct result r;

	(void)state;
	compare(shown, &r);
	assert_memory_equal(r.change, ((const uint8_t[]){ 0, 0, 0 }), 3);
	arena_free(&r.a);
	compare(tied, &r);
	assert_memory_equal(r.change, ((const uint8_t[]){ 0, 0, 0 }), 3);
	is(&r, 1, 0, 10, 0, 0);
	arena_free(&r.a);
}

/* It rests where the file has it from then on, and so does the hand, which went with it. */
static void test_tied_moved(void **state)
{
	struct scene_node n[] = { NODE("hip", -1, AT(0, 0, 1)), NODE("arm", 0, AT(1, 5, 0)),
				  NODE("hand", 1, AT(2, 0, 0)) };
	struct result r;

	(void)state;
	compare(n, &r);
	is(&r, 0, 0, 0, 0, 1);
	is(&r, 1, GEO_MOVED | GEO_TIED, 1, 5, 0);
	is(&r, 2, 0, 2, 0, 0);
	arena_free(&r.a);
	/* the hand stayed where it was */
	n[2] = (struct scene_node)NODE("hand", 1, AT(1, 0, 0));
	compare(n, &r);
	is(&r, 1, GEO_MOVED | GEO_TIED, 1, 5, 0);
	is(&r, 2, GEO_MOVED | GEO_TIED, 1, 0, 0);
	arena_free(&r.a);
}

/* The arm rests where it did, and the hand on it where the file has it on its arm. */
static void test_hand_moved(void **state)
{
	struct scene_node n[] = { NODE("hip", -1, AT(0, 0, 1)), NODE("arm", 0, AT(0, 5, 0)),
				  NODE("hand", 1, AT(2, 0, 3)) };
	struct result r;

	(void)state;
	compare(n, &r);
	is(&r, 1, 0, 10, 0, 0);
	is(&r, 2, GEO_MOVED | GEO_TIED, 2, 0, 3);
	arena_free(&r.a);
}

/* What is tied where it rests is moved like any bone. What hangs on it stays in the model, and so the arm, which the
 * file has where it is tied, rests there too. */
static void test_hip_moved(void **state)
{
	struct scene_node n[] = { NODE("hip", -1, AT(4, 0, 1)), NODE("arm", 0, AT(-4, 5, 0)),
				  NODE("hand", 1, AT(2, 0, 0)) };
	struct result r;

	(void)state;
	compare(n, &r);
	is(&r, 0, GEO_MOVED, 4, 0, 1);
	is(&r, 1, GEO_MOVED | GEO_TIED, -4, 5, 0);
	is(&r, 2, 0, 2, 0, 0);
	arena_free(&r.a);
}

/* Axes turned by a right angle around x, as Blender turns them, and turned back in what hangs on the bone. */
static void test_right_angles(void **state)
{
	struct scene_node n[] = { NODE("hip", -1, AT(0, 0, 1)), NODE("arm", 0, AT(1, 5, 0)),
				  NODE("hand", 1, AT(2, 0, 0)) };
	struct result r;

	(void)state;
	memcpy(n[1].turn, ((const float[]){ HALF_ROOT, 0, 0, HALF_ROOT }), sizeof n[1].turn);
	memcpy(n[2].turn, ((const float[]){ -HALF_ROOT, 0, 0, HALF_ROOT }), sizeof n[2].turn);
	compare(n, &r);
	is(&r, 1, GEO_MOVED | GEO_TIED, 1, 5, 0);
	is(&r, 2, 0, 2, 0, 0);
	assert_float_equal(r.now.joint[1].turn[3], 1, 1e-6);
	arena_free(&r.a);
}

/* A hair's breadth between rest and tie, as files have it, is none: the hip is moved as if they were one. */
static void test_nearly_tied(void **state)
{
	struct scene_node n[] = { NODE("hip", -1, AT(3, 0, 1)), NODE("arm", 0, AT(7, 0, 0)),
				  NODE("hand", 1, AT(2, 0, 0)) };
	struct geo_joint whole[3];
	struct result r;

	(void)state;
	memcpy(whole, joints, sizeof whole);
	joints[0].inverse[12] = -0.002f;
	joints[1] = (struct geo_joint){ .name = "arm", .parent = 0, .move = AT(10, 0, 0), UNTURNED, TIED(10, 0, 1) };
	joints[2] = (struct geo_joint){ .name = "hand", .parent = 1, .move = AT(2, 0, 0), UNTURNED, TIED(12, 0, 1) };
	compare(n, &r);
	is(&r, 0, GEO_MOVED, 3, 0, 1);
	is(&r, 1, GEO_MOVED, 7, 0, 0);
	is(&r, 2, 0, 2, 0, 0);
	arena_free(&r.a);
	memcpy(joints, whole, sizeof whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unmoved), cmocka_unit_test(test_tied_moved), cmocka_unit_test(test_hand_moved),
		cmocka_unit_test(test_hip_moved), cmocka_unit_test(test_right_angles),
		cmocka_unit_test(test_nearly_tied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
