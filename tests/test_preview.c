/* preview.png of small models: where they lie in it, how much light they get, what is left out; and its size. The
 * numbers follow from where preview.c says it looks from: right is (15/17, 0, -8/17), up (-56/425, 24/25, -105/425),
 * towards who looks (192/425, 7/25, 360/425); the light comes from -2/7 right, 3/7 up, 6/7 towards. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <spng.h>

#include "export.h"

#define RIGHT_X (15.0f / 17)
#define RIGHT_Z (-8.0f / 17)
#define UP_X (-56.0f / 425)
#define UP_Y (24.0f / 25)
#define UP_Z (-105.0f / 425)

static uint8_t shown[PREVIEW_SIDE * PREVIEW_SIDE][4];

/* A square that is seen straight from in front: corners at 1 to the left and right, above and below of a point. */
struct square {
	float position[4][3];
	uint32_t face[2][3];
	struct geo_part part;
	struct geo_mesh m;
};

static void place(float out[3], float right, float up, float x)
{
	out[0] = x + right * RIGHT_X + up * UP_X;
	out[1] = up * UP_Y;
	out[2] = right * RIGHT_Z + up * UP_Z;
}

static void square_at(struct square *s, float right)
{
	*s = (struct square){ .face = { { 0, 1, 2 }, { 0, 2, 3 } }, .part = { .material = 0, .nfaces = 2 } };
	place(s->position[0], right - 1, -1, 0);
	place(s->position[1], right + 1, -1, 0);
	place(s->position[2], right + 1, 1, 0);
	place(s->position[3], right - 1, 1, 0);
	s->m = (struct geo_mesh){ .nvertices = 4, .nfaces = 2, .position = s->position, .face = s->face,
				  .parts = &s->part, .nparts = 1 };
}

static void square_with(struct square *s, struct geo_stream *stream)
{
	square_at(s, 0);
	s->m.streams = stream;
	s->m.nstreams = 1;
}

static const struct geo_material red = { .name = "red", .colour = { 1, 0, 0, 1 }, .image = -1 };
static const struct geo_material white = { .name = "white", .colour = { 1, 1, 1, 1 }, .image = -1 };

static void decode(const struct buf *b)
{
	spng_ctx *ctx = spng_ctx_new(0);
	struct spng_ihdr ihdr;

	assert_int_equal(spng_set_crc_action(ctx, SPNG_CRC_ERROR, SPNG_CRC_ERROR), 0);
	assert_int_equal(spng_set_png_buffer(ctx, b->p, b->len), 0);
	assert_int_equal(spng_get_ihdr(ctx, &ihdr), 0);
	assert_int_equal(ihdr.width, PREVIEW_SIDE);
	assert_int_equal(ihdr.height, PREVIEW_SIDE);
	assert_int_equal(spng_decode_image(ctx, shown, sizeof shown, SPNG_FMT_RGBA8, SPNG_DECODE_TRNS), 0);
	assert_int_equal(spng_decode_chunks(ctx), 0);
	spng_ctx_free(ctx);
}

static void end(struct preview *p)
{
	struct buf b = { 0 };

	assert_int_equal(preview_end(p, &b, NULL), 0);
	assert_int_equal(b.len, PREVIEW_BYTES);
	decode(&b);
	buf_free(&b);
	preview_free(p);
}

static struct preview *begin(void)
{
	struct preview *p;

	assert_int_equal(preview_begin(&p, NULL, NULL), 0);
	return p;
}

static void show(const struct geo_mesh *m, const struct geo_material *of_part)
{
	struct preview *p = begin();

	assert_int_equal(preview_mesh(p, m, of_part, NULL), 0);
	end(p);
}

static void assert_pixel(unsigned x, unsigned y, unsigned r, unsigned g, unsigned b, unsigned a)
{
	const uint8_t *c = shown[y * PREVIEW_SIDE + x];
	uint32_t got = (uint32_t)c[0] << 24 | c[1] << 16 | c[2] << 8 | c[3];

	assert_int_equal(got, r << 24 | g << 16 | b << 8 | a);
}

static unsigned count_shown(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < PREVIEW_SIDE * PREVIEW_SIDE; i++)
		n += shown[i][3] != 0;
	return n;
}

/* ---- what is seen ---- */

/* It fills the picture but for 4 pixels on each side. It looks at who looks: 0.4 + 0.6 * 6/7 of the light is 0.914. */
static void test_square(void **state)
{
	struct square s;

	(void)state;
	square_at(&s, 0);
	show(&s.m, &red);
	assert_pixel(128, 128, 233, 0, 0, 255);
	assert_pixel(5, 5, 233, 0, 0, 255);
	assert_pixel(250, 250, 233, 0, 0, 255);
	assert_pixel(3, 128, 0, 0, 0, 0);
	assert_pixel(128, 3, 0, 0, 0, 0);
	assert_pixel(252, 128, 0, 0, 0, 0);
	assert_pixel(128, 252, 0, 0, 0, 0);
	/* White with no picture is 3/4 grey: 174.9. */
	show(&s.m, &white);
	assert_pixel(128, 128, 175, 175, 175, 255);
}

/* From behind nothing is seen, but for what has two sides, which is lit as if it faced who looks. */
static void test_behind(void **state)
{
	struct geo_material both = red;
	struct square s;

	(void)state;
	both.both_sides = true;
	square_at(&s, 0);
	s.face[0][1] = 2, s.face[0][2] = 1;
	s.face[1][1] = 3, s.face[1][2] = 2;
	show(&s.m, &red);
	assert_int_equal(count_shown(), 0);
	show(&s.m, &both);
	assert_pixel(128, 128, 233, 0, 0, 255);
}

/* A normal along x: -2/7 * 15/17 + 3/7 * -56/425 + 6/7 * 192/425 = 0.0787 of the light, 0.4 + 0.6 of that is 0.4472. */
static void test_normals(void **state)
{
	float normal[4][3] = { { 5, 0, 0 }, { 5, 0, 0 }, { 5, 0, 0 }, { 5, 0, 0 } };
	struct geo_stream stream = { .attr = GEO_NORMAL, .comps = 3, .count = 4, .v = normal[0] };
	struct square s;

	(void)state;
	square_with(&s, &stream);
	show(&s.m, &red);
	assert_pixel(128, 128, 114, 0, 0, 255);                /* 255 * 0.4472 = 114.04 */
}

/* Two squares beside each other, the right one hidden: the left one alone fills the picture. Nothing else is clear. */
static void test_hidden(void **state)
{
	struct square s, hidden;
	struct preview *p = begin();

	(void)state;
	square_at(&s, 0);
	square_at(&hidden, 4);
	hidden.part.hidden = true;
	assert_int_equal(preview_mesh(p, &s.m, &red, NULL), 0);
	assert_int_equal(preview_mesh(p, &hidden.m, &white, NULL), 0);
	end(p);
	assert_pixel(5, 128, 233, 0, 0, 255);
	assert_pixel(250, 128, 233, 0, 0, 255);
	/* Both: each 2 of 6 wide, 248 / 3 pixels, 82.67. */
	hidden.part.hidden = false;
	p = begin();
	assert_int_equal(preview_mesh(p, &s.m, &red, NULL), 0);
	assert_int_equal(preview_mesh(p, &hidden.m, &red, NULL), 0);
	end(p);
	assert_pixel(4 + 81, 128, 233, 0, 0, 255);
	assert_pixel(4 + 83, 128, 0, 0, 0, 0);
	assert_pixel(4 + 164, 128, 0, 0, 0, 0);
	assert_pixel(4 + 166, 128, 233, 0, 0, 255);
	assert_pixel(128, 128 - 42, 0, 0, 0, 0);
}

/* A quad in fixed point is two triangles, a triangle among quads is one. */
static void test_quads(void **state)
{
	/* Times 425: numbers that 1/65536 tells well enough. */
	int64_t fixed[4][3];
	uint32_t quad[1][4] = { { 0, 1, 2, 3 } };
	struct square s;

	(void)state;
	square_at(&s, 0);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 3; k++)
			fixed[i][k] = (int64_t)(s.position[i][k] * 425 * 65536);
	s.m.fixed_bits = 16;
	s.m.fixed = fixed;
	s.m.quad = quad;
	s.m.nfaces = s.part.nfaces = 1;
	s.m.face = NULL;
	s.m.position = NULL;
	show(&s.m, &red);
	assert_pixel(5, 5, 233, 0, 0, 255);
	assert_pixel(250, 250, 233, 0, 0, 255);
	quad[0][3] = GEO_NONE;
	show(&s.m, &red);
	assert_pixel(250, 250, 233, 0, 0, 255);
	assert_pixel(5, 5, 0, 0, 0, 0);
}

static void test_nothing(void **state)
{
	struct geo_mesh none = { 0 };
	struct square s;

	(void)state;
	show(&none, NULL);
	assert_int_equal(count_shown(), 0);
	square_at(&s, 0);
	for (unsigned i = 1; i < 4; i++)
		memcpy(s.position[i], s.position[0], sizeof s.position[0]);
	show(&s.m, &red);
	assert_int_equal(count_shown(), 0);
}

/* Numbers that are none count as 0, and the largest there are have a picture too. */
static void test_extremes(void **state)
{
	struct square s;

	(void)state;
	square_at(&s, 0);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 3; k++)
			s.position[i][k] *= 1.5e38f;
	show(&s.m, &red);
	assert_pixel(128, 128, 233, 0, 0, 255);
	square_at(&s, 0);
	s.position[0][0] = NAN;
	s.position[1][1] = INFINITY;
	show(&s.m, &red);
	assert_in_range(count_shown(), 1, PREVIEW_SIDE * PREVIEW_SIDE);
}

/* ---- pictures ---- */

/* Left half green, right half blue, 2 x 1 texels: at a quarter of the width there is the middle of the first one. The
 * red of the material counts only where it is told to. */
static void test_picture(void **state)
{
	float uv[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
	struct geo_stream stream = { .attr = GEO_UV, .comps = 2, .count = 4, .v = uv[0] };
	uint8_t texels[2][4] = { { 0, 255, 0, 255 }, { 255, 0, 255, 255 } };
	const struct geo_image img = { .w = 2, .h = 1, .rgba = texels[0] };
	struct geo_material m = red;
	struct square s;

	(void)state;
	square_with(&s, &stream);
	m.image = 7;
	for (unsigned bare = 0; bare < 2; bare++) {
		struct preview *p = begin();
		uint32_t number;

		m.bare_colour = bare;
		assert_int_equal(preview_mesh(p, &s.m, &m, NULL), 0);
		assert_int_equal(preview_mesh(p, &s.m, &m, NULL), 0);
		assert_true(preview_wants_picture(p, 0, &number));
		assert_int_equal(number, 7);
		assert_false(preview_wants_picture(p, 1, &number));
		assert_int_equal(preview_picture(p, 0, &img, NULL), 0);
		end(p);
		/* Its texels are 124 pixels wide: between pixels 65 and 66 is the middle of the first. */
		assert_in_range(shown[100 * PREVIEW_SIDE + 65][1], bare ? 231 : 0, bare ? 233 : 0);
		assert_in_range(shown[100 * PREVIEW_SIDE + 190][0], 231, 233);
		assert_in_range(shown[100 * PREVIEW_SIDE + 190][2], bare ? 231 : 0, bare ? 233 : 0);
	}
	/* A picture that is not given is not there. */
	m.bare_colour = true;
	show(&s.m, &m);
	assert_pixel(65, 100, 233, 0, 0, 255);
}

/* Vertex colours count too: half of red, half clear, before nothing. */
static void test_clear(void **state)
{
	float colour[4][4] = { { .5f, 1, 1, .5f }, { .5f, 1, 1, .5f }, { .5f, 1, 1, .5f }, { .5f, 1, 1, .5f } };
	struct geo_stream stream = { .attr = GEO_COLOUR, .comps = 4, .count = 4, .v = colour[0] };
	struct square s;

	(void)state;
	square_with(&s, &stream);
	show(&s.m, &red);
	assert_int_equal(shown[128 * PREVIEW_SIDE + 128][3], 128);
	/* 0.914 * 128 / 255 * 128 / 255 is 59 of 255, and 59 of 128 is 117.5. */
	assert_in_range(shown[128 * PREVIEW_SIDE + 128][0], 117, 118);
	colour[0][0] = NAN, colour[1][0] = NAN, colour[2][0] = NAN, colour[3][0] = NAN;
	show(&s.m, &red);
	assert_pixel(128, 128, 233, 0, 0, 255);
}

/* ---- bones ---- */

/* Two squares in one mesh, tied to bones 0 and 1. Bone 1 rests 6 to the left of where it was tied: the right square, 4
 * to the right of the left one, is 2 to the left of it then. */
static void test_bones(void **state)
{
	uint8_t one[4] = { 1, 1, 1, 1 };
	uint32_t first[4] = { 0, 1, 2, 3 };
	int32_t joint[4] = { 1, 1, 1, 1 };
	float weight[4] = { 2, 2, 2, 2 };                      /* a sum other than 1 is no scale */
	struct geo_joint joints[2];
	const struct geo_skeleton bones = { 2, joints };
	struct square left, right;
	struct preview *p;
	struct arena a = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		geo_joint_reset(&joints[i]);
		joints[i].parent = -1;
		joints[i].tied = i;
		memcpy(joints[i].inverse, (float[16]){ 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 }, 64);
	}
	joints[1].move[0] = -6 * RIGHT_X;
	joints[1].move[2] = -6 * RIGHT_Z;
	assert_int_equal(geo_settle(&(struct geo_skeleton){ 2, joints }, &a, NULL), 0);
	square_at(&left, 0);
	square_at(&right, 4);
	right.m.ninfluences = one;
	right.m.first_influence = first;
	right.m.joint = joint;
	right.m.weight = weight;
	assert_int_equal(preview_begin(&p, &bones, NULL), 0);
	assert_int_equal(preview_mesh(p, &left.m, &red, NULL), 0);
	assert_int_equal(preview_mesh(p, &right.m, &white, NULL), 0);
	end(p);
	/* Now they touch: 4 wide and 2 high. */
	assert_pixel(6, 128, 175, 175, 175, 255);
	assert_pixel(126, 128, 175, 175, 175, 255);
	assert_pixel(129, 128, 233, 0, 0, 255);
	assert_pixel(250, 128, 233, 0, 0, 255);
	assert_pixel(128, 64, 0, 0, 0, 0);
	arena_free(&a);
}

/* ---- the size ---- */

static void sized(const uint8_t *rgba, bool exact)
{
	const struct geo_image img = { .w = PREVIEW_SIDE, .h = PREVIEW_SIDE, .rgba = (uint8_t *)rgba };
	struct buf b = { 0 };

	assert_int_equal(png_write_sized(&b, &img, PREVIEW_BYTES, NULL), 0);
	assert_int_equal(b.len, PREVIEW_BYTES);
	decode(&b);
	if (exact)
		assert_memory_equal(shown, rgba, sizeof shown);
	buf_free(&b);
}

/* Noise of any depth fits, less exactly; what can be stored as it is stays as it is. */
static void test_sizes(void **state)
{
	static uint8_t rgba[PREVIEW_SIDE * PREVIEW_SIDE][4];
	const struct geo_image img = { .w = PREVIEW_SIDE, .h = PREVIEW_SIDE, .rgba = rgba[0] };
	uint32_t seed = 1, off = 0;
	struct buf b = { 0 };

	(void)state;
	sized(rgba[0], true);
	for (unsigned i = 0; i < PREVIEW_SIDE * PREVIEW_SIDE; i++)
		for (unsigned k = 0; k < 4; k++)
			rgba[i][k] = (uint8_t)(i * (k + 1) / PREVIEW_SIDE);
	sized(rgba[0], true);
	for (unsigned mask = 0x80; mask <= 0xff; mask |= mask >> 1) {
		for (unsigned i = 0; i < sizeof rgba; i++) {
			seed = seed * 1664525 + 1013904223;
			rgba[i / 4][i % 4] = seed >> 24 & mask ? (uint8_t)(seed >> 24 & mask) : 0;
		}
		sized(rgba[0], false);
		if (mask == 0xff)
			break;
	}
	/* A third of it is noise: a little less exact, and nowhere more than 1 / 8 off. */
	memset(rgba, 255, sizeof rgba);
	for (unsigned i = 0; i < sizeof rgba / 3; i++) {
		seed = seed * 1664525 + 1013904223;
		rgba[i / 4][i % 4] = i % 4 == 3 ? 255 : (uint8_t)(seed >> 24);
	}
	sized(rgba[0], false);
	for (unsigned i = 0; i < sizeof rgba; i++) {
		unsigned d = (unsigned)abs(rgba[i / 4][i % 4] - shown[i / 4][i % 4]);

		off = d > off ? d : off;
	}
	assert_in_range(off, 1, 32);
	assert_int_equal(png_write_sized(&b, &img, 100, NULL), -EFBIG);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_square), cmocka_unit_test(test_behind), cmocka_unit_test(test_normals),
		cmocka_unit_test(test_hidden), cmocka_unit_test(test_quads), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_extremes), cmocka_unit_test(test_picture), cmocka_unit_test(test_clear),
		cmocka_unit_test(test_bones), cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
