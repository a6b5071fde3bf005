/* One vertex of a MOD3 mesh: what a text says over stored bytes (spec/mod3.md 7.3). */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "mod3_write.h"
#include "num.h"

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
		out[k] = geo_shown(le_f32(vertex + 4 * k));
}

static void put_position(const struct geo_given *given, bool slack, uint8_t *vertex)
{
	float shown[3];

	get_position(NULL, vertex, shown);
	for (unsigned k = 0; k < 3; k++)
		if (!stays(given->position[k], shown[k], slack))
			put_le32(vertex + 4 * k, f32_bits((float)given->position[k].v));
}

/* ---- texture coordinates ---- */

/* V is shown as 1 - v: what is not finite is a 0 there, which is 1 counted from the top. */
static void get_uv(const void *ctx, const uint8_t *vertex, float out[2])
{
	const struct mod3_block *b = ctx;

	for (unsigned k = 0; k < 2; k++) {
		float v = half_f32(le_u16(vertex + b->uv + 2 * k));

		out[k] = isfinite(v) ? v : (float)k;
	}
}

static int put_uv(const struct mod3_block *b, const struct geo_given *given, bool slack, uint8_t *vertex,
		  struct err *e)
{
	float shown[2];

	get_uv(b, vertex, shown);
	for (unsigned k = 0; k < 2; k++) {
		double v = given->uv[k].v;
		uint16_t h = f32_half((float)v);

		if (stays(given->uv[k], shown[k], slack) || half_f32(h) == shown[k])
			continue;
		if (!isfinite(half_f32(h)))
			return err_line(e, EINVAL, given->line, 0,
					"%c of this vertex, %s%s, is outside %s..%s", k ? 'v' : 'u', num_text(v).s,
					k ? " counted from the top" : "", num_text(-HALF_MOST).s,
					num_text(HALF_MOST).s);
		put_le16(vertex + b->uv + 2 * k, h);
	}
	return 0;
}

/* Of sets behind the first, which only a GLB says: what is not finite is 0 there. */
static int put_more_uv(const struct mod3_block *b, const struct geo_given *given, unsigned set, uint8_t *vertex,
		       struct err *e)
{
	for (unsigned k = 0; k < 2; k++) {
		double v = given->more_uv[set - 1][k].v;
		uint8_t *raw = vertex + b->uv + 4 * set + 2 * k;
		uint16_t h = f32_half((float)v);

		if ((float)v == geo_shown(half_f32(le_u16(raw))))
			continue;
		if (!isfinite(half_f32(h)))
			return err_line(e, EINVAL, given->line, 0, "texture coordinate %s of set %u is outside %s..%s",
					num_text(v).s, set, num_text(-HALF_MOST).s, num_text(HALF_MOST).s);
		put_le16(raw, h);
	}
	return 0;
}

/* ---- normals ---- */

/* As the game's files have them: cut off, not rounded. False: the given one has no direction. */
static bool encode_normal(const struct geo_number n[3], uint8_t out[3])
{
	double length = sqrt(n[0].v * n[0].v + n[1].v * n[1].v + n[2].v * n[2].v);

	if (!(length > 0) || !isfinite(length))
		return false;
	for (unsigned k = 0; k < 3; k++)
		out[k] = (uint8_t)(int8_t)(127 * (n[k].v / length));
	return true;
}

bool mod3_normal_kept(void *ctx, uint32_t vertex, const struct geo_number given[3], float shown[3])
{
	uint8_t raw[3];

	(void)ctx;
	(void)vertex;
	if (!encode_normal(given, raw))
		return false;
	mod3_normal(raw, shown);
	return true;
}

static int put_normal(const struct mod3_block *b, const struct geo_given *given, bool slack, uint8_t *vertex,
		      struct err *e)
{
	const struct geo_number *n = given->normal;
	uint8_t *raw = vertex + b->normal, now[3];
	bool some = encode_normal(n, now);
	float shown[3];

	mod3_normal(raw, shown);
	if (stays(n[0], shown[0], slack) && stays(n[1], shown[1], slack) && stays(n[2], shown[2], slack))
		return 0;
	/* Other programs write one for what has none, replace those of no direction and turn the others a little. */
	if (given->foreign_normals &&
	    (!some || geo_normal_near(n, shown) || (given->keeps_length && !raw[0] && !raw[1] && !raw[2])))
		return 0;
	if (!some)
		return err_line(e, EINVAL, given->line, 0, "the normal of this vertex, %s %s %s, has no direction",
				num_text(n[0].v).s, num_text(n[1].v).s, num_text(n[2].v).s);
	memcpy(raw, now, sizeof now);
	return 0;
}

/* ---- colours ---- */

static int put_colour(const struct mod3_block *b, const struct geo_given *given, bool slack, uint8_t *vertex,
		      struct err *e)
{
	static const char *const names[3] = { "red", "green", "blue" };

	for (unsigned k = 0; k < 3; k++) {
		double v = given->colour[k].v;
		uint8_t *byte = vertex + b->colour + k;

		if (stays(given->colour[k], (float)(*byte / 255.0), slack))
			continue;
		if (!(v >= 0 && v <= 1))
			return err_line(e, EINVAL, given->line, 0, "%s %s is outside 0.0..1.0", names[k],
					num_text(v).s);
		*byte = (uint8_t)lrint(v * 255);
	}
	return 0;
}

static int put_alpha(const struct mod3_block *b, const struct geo_given *given, bool slack, uint8_t *vertex,
		     struct err *e)
{
	double v = given->alpha->v;
	uint8_t *byte = vertex + b->colour + 3;

	if (stays(*given->alpha, (float)(*byte / 255.0), slack))
		return 0;
	if (!(v >= 0 && v <= 1))
		return err_line(e, EINVAL, given->line, 0, "alpha %s is outside 0.0..1.0", num_text(v).s);
	*byte = (uint8_t)lrint(v * 255);
	return 0;
}

/* ---- vertices ---- */

static int put_given(const void *ctx, const struct geo_given *given, bool slack, uint8_t *vertex, struct err *e)
{
	const struct mod3_block *b = ctx;
	int rc = 0;

	put_position(given, slack, vertex);
	if (given->uv)
		rc = put_uv(b, given, slack, vertex, e);
	if (!rc && given->normal)
		rc = put_normal(b, given, slack, vertex, e);
	if (!rc && given->colour && b->colour)
		rc = put_colour(b, given, slack, vertex, e);
	if (!rc && given->alpha && b->colour)
		rc = put_alpha(b, given, slack, vertex, e);
	for (unsigned set = 1; set < b->uvs && !rc; set++)
		if (given->more_uv[set - 1])
			rc = put_more_uv(b, given, set, vertex, e);
	return rc;
}

static void blank(const void *ctx, uint8_t *vertex)
{
	const struct mod3_block *b = ctx;
	static const int32_t weight[MOD3_SLOTS] = { MOD3_ALL_WEIGHTS };

	memset(vertex, 0, b->stride);
	if (b->slots)
		mod3_weights_store(b, weight, vertex);
	if (b->colour)
		memset(vertex + b->colour, 0xff, 4);
}

struct weld_type mod3_weld_type(const struct mod3_block *b)
{
	return (struct weld_type){
		.stride = b->stride, .has_uv = true, .has_normal = true, .has_more = true, .put = put_given,
		.position = get_position, .uv = get_uv, .blank = blank, .ctx = b,
	};
}

/* ---- weights ---- */

void mod3_weights_store(const struct mod3_block *b, const int32_t weight[MOD3_SLOTS], uint8_t *vertex)
{
	uint32_t word = le_u32(vertex + b->weights) & 0xc0000000;

	word |= (uint32_t)weight[0] | (uint32_t)weight[1] << 10 | (uint32_t)weight[2] << 20;
	put_le32(vertex + b->weights, word);
	for (unsigned k = 3; k + 1 < b->slots; k++)
		vertex[b->weights + 1 + k] = (uint8_t)weight[k];
}

unsigned mod3_weights_used(const struct mod3_block *b, const uint8_t *vertex)
{
	int32_t weight[MOD3_SLOTS];
	unsigned n = 0;

	mod3_weights(b, vertex, weight);
	for (unsigned k = 0; k < b->slots; k++)
		n += k + 1 < b->slots ? weight[k] != 0 : weight[k] < -1 || weight[k] > 1;
	return n;
}

/* ---- other block types ---- */

/* A fourth weight that does not fit its new slot stays the one that is what is left. */
static void widen(const int32_t was[MOD3_SLOTS], const uint8_t *ids, int32_t now[MOD3_SLOTS], uint8_t to[MOD3_SLOTS])
{
	unsigned last = was[3] < 0 || was[3] > 255 ? 7 : 3;

	memset(now, 0, MOD3_SLOTS * sizeof *now);
	memset(to, 0, MOD3_SLOTS);
	for (unsigned k = 0; k < 4; k++) {
		now[k < 3 ? k : last] = was[k];
		to[k < 3 ? k : last] = ids[k];
	}
}

static int recode_weights(const struct mod3_block *from, const uint8_t *was, const struct mod3_block *to, uint8_t *now,
			  struct err *e)
{
	int32_t weight[MOD3_SLOTS], wide[MOD3_SLOTS];
	uint8_t ids[MOD3_SLOTS];

	mod3_weights(from, was, weight);
	for (unsigned k = to->slots; k < from->slots; k++)
		if (weight[k])
			return err_set(e, EINVAL, "weight %d of bone %u, in slot %u, would be lost", weight[k],
				       was[from->ids + k], k);
	memcpy(ids, was + from->ids, from->slots);
	if (to->slots > from->slots) {
		widen(weight, was + from->ids, wide, ids);
		memcpy(weight, wide, sizeof weight);
	}
	put_le32(now + to->weights, le_u32(was + from->weights) & 0xc0000000);
	mod3_weights_store(to, weight, now);
	memcpy(now + to->ids, ids, to->slots);
	return 0;
}

int mod3_vertex_recode(const struct mod3_block *from, const uint8_t *was, const struct mod3_block *to, uint8_t *now,
		       struct err *e)
{
	unsigned uvs = from->uvs < to->uvs ? from->uvs : to->uvs;

	blank(to, now);
	memcpy(now, was, from->uv + 4u * uvs); /* position, normal, tangent: all types have them in one order */
	if (from->colour && to->colour)
		memcpy(now + to->colour, was + from->colour, 4);
	return from->slots && to->slots ? recode_weights(from, was, to, now, e) : 0;
}
