/* One vertex of a quartet: what a text says over stored bytes (spec/ps3-pak.md 5). */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "mlp_write.h"

#define LONGEST 1.05                           /* that still is the length of a normal */

static bool stays(struct geo_number given, float shown, bool slack)
{
	if (!slack)
		given.slack = 0;
	return geo_stays(given, shown);
}

/* ---- positions ---- */

static void get_position(const void *ctx, const uint8_t *vertex, float out[3])
{
	(void)ctx;
	for (unsigned k = 0; k < 3; k++)
		out[k] = geo_shown(bits_f32(be_u32(vertex + 4 * k)));
}

static int put_position(const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e)
{
	float shown[3];

	get_position(NULL, vertex, shown);
	for (unsigned k = 0; k < 3; k++) {
		float v = (float)given->position[k].v;

		if (stays(given->position[k], shown[k], slack))
			continue;
		if (!isfinite(v))
			return err_line(e, EINVAL, given->line, 0, "not a finite number");
		put_be32(vertex + 4 * k, f32_bits(v));
	}
	return 0;
}

/* ---- normals ---- */

/* Longer ones get length 1; others are as somebody wrote them. False: it has no direction. */
static bool encode_normal(const struct geo_number n[3], uint32_t *out)
{
	double length = sqrt(n[0].v * n[0].v + n[1].v * n[1].v + n[2].v * n[2].v), by = length > LONGEST ? length : 1;

	*out = isfinite(length) ? mlp_normal_word((const double[]){ n[0].v / by, n[1].v / by, n[2].v / by }) : 0;
	return length > 0 && isfinite(length);
}

bool mlp_normal_kept(void *ctx, uint32_t vertex, const struct geo_number given[3], float shown[3])
{
	uint32_t word;

	(void)ctx;
	(void)vertex;
	if (!encode_normal(given, &word))
		return false;
	mlp_normal(word, shown);
	return true;
}

static void put_normal(const struct geo_given *given, bool slack, uint8_t *vertex)
{
	const struct geo_number *n = given->normal;
	uint32_t word;
	bool some = encode_normal(n, &word);
	float shown[3];

	mlp_normal(be_u32(vertex + MLP_NORMAL), shown);
	if (stays(n[0], shown[0], slack) && stays(n[1], shown[1], slack) && stays(n[2], shown[2], slack))
		return;
	/* Other programs write one for what has none, replace those of no direction and turn the others a little. */
	if (given->foreign_normals &&
	    (!some || geo_normal_near(n, shown) || (given->keeps_length && !shown[0] && !shown[1] && !shown[2])))
		return;
	put_be32(vertex + MLP_NORMAL, word);
}

/* ---- vertices ---- */

static int put_given(const void *ctx, const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e)
{
	const struct mlp *m = ctx;
	int rc = put_position(given, slack, vertex, e);

	if (!rc && given->normal && m->normals)
		put_normal(given, slack, vertex);
	return rc;
}

/* No mesh is without vertices. */
static void blank(const void *ctx, uint8_t *vertex)
{
	(void)ctx;
	memset(vertex, 0, MLP_WELD_SIZE);
}

struct weld_type mlp_weld_type(const struct mlp *m, bool rows)
{
	return (struct weld_type){
		.stride = MLP_WELD_SIZE, .has_normal = m->normals, .has_more = rows || !m->normals, .put = put_given,
		.position = get_position, .blank = blank, .ctx = m,
	};
}
