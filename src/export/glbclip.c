/* Animations of a GLB, and where their curves are at a time. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "glbread.h"

static unsigned comps_of(unsigned path)
{
	return path == SCENE_TURN ? 4 : 3;
}

/* ---- reading ---- */

struct reading {
	struct glb_file *g;
	uint32_t clip, channel;
	struct glb_list samplers;
};

static int get_word(const cJSON *o, const char *key, const char *const *words, unsigned n, uint8_t *out)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	for (unsigned i = 0; i < n && cJSON_IsString(v); i++)
		if (!strcmp(v->valuestring, words[i])) {
			*out = (uint8_t)i;
			return 0;
		}
	return v ? -EINVAL : -ENOENT;
}

static int get_times(const struct reading *x, struct scene_channel *c, uint32_t accessor, struct err *e)
{
	struct glb_accessor about;
	int rc = glb_read_floats(x->g, accessor, 1, &about, &c->time, e);

	if (rc)
		return rc;
	c->nkeys = (uint32_t)about.count;
	for (uint32_t i = 1; i < c->nkeys; i++)
		if (!(c->time[i] > c->time[i - 1]))
			return err_set(e, EINVAL, "animation %u, channel %u: key %u is not later than the one before "
				       "(accessor %u)", x->clip, x->channel, i, accessor);
	return 0;
}

static int get_curve(const struct reading *x, struct scene_channel *c, const cJSON *sampler, struct err *e)
{
	static const char *const curves[] = { "STEP", "LINEAR", "CUBICSPLINE" };
	const struct glb_what what = { "a sampler of animation", x->clip };
	struct glb_accessor about;
	int32_t input = -1, output = -1;
	uint64_t want;
	int rc = glb_get_index(sampler, "input", what, x->g->accessors.n, &input, e);

	rc = rc ? rc : glb_get_index(sampler, "output", what, x->g->accessors.n, &output, e);
	if (!rc && (input < 0 || output < 0))
		rc = err_set(e, EINVAL, "animation %u, channel %u: its sampler has no times or no values", x->clip,
			     x->channel);
	c->curve = SCENE_LINEAR;
	if (!rc && get_word(sampler, "interpolation", curves, 3, &c->curve) == -EINVAL)
		rc = err_set(e, EINVAL, "animation %u, channel %u: the interpolation is none of STEP, LINEAR, "
			     "CUBICSPLINE", x->clip, x->channel);
	rc = rc ? rc : get_times(x, c, (uint32_t)input, e);
	rc = rc ? rc : glb_read_floats(x->g, (uint32_t)output, comps_of(c->path), &about, &c->value, e);
	if (rc)
		return rc;
	want = (uint64_t)c->nkeys * (c->curve == SCENE_CUBIC ? 3 : 1);
	return about.count == want ? 0 :
	       err_set(e, EINVAL, "animation %u, channel %u: %" PRIu64 " values (accessor %d), %" PRIu64 " needed",
		       x->clip, x->channel, about.count, output, want);
}

/* Weights of morph targets, and channels without a node, are nothing that a bone has: *out is left alone. */
static int read_channel(const struct reading *x, const cJSON *o, struct scene_channel *out, bool *there, struct err *e)
{
	static const char *const paths[] = { "translation", "rotation", "scale" };
	const struct glb_what what = { "a channel of animation", x->clip };
	const cJSON *target = cJSON_GetObjectItemCaseSensitive(o, "target");
	int32_t node = -1, sampler = -1;
	int rc = glb_get_index(target, "node", what, x->g->nodes.n, &node, e);

	*there = false;
	rc = rc ? rc : glb_get_index(o, "sampler", what, x->samplers.n, &sampler, e);
	if (rc || node < 0 || get_word(target, "path", paths, 3, &out->path))
		return rc;
	if (sampler < 0)
		return err_set(e, EINVAL, "animation %u, channel %u has no sampler", x->clip, x->channel);
	out->node = (uint32_t)node;
	*there = true;
	return get_curve(x, out, x->samplers.v[sampler], e);
}

static int read_clip(struct glb_file *g, uint32_t number, struct scene_clip *clip, struct err *e)
{
	const struct glb_what what = { "animation", number };
	struct reading x = { .g = g, .clip = number };
	struct glb_list list;
	int rc = glb_get_name(g, g->clips.v[number], &clip->name, e);

	rc = rc ? rc : glb_get_list(g, g->clips.v[number], "samplers", what, &x.samplers, e);
	rc = rc ? rc : glb_get_list(g, g->clips.v[number], "channels", what, &list, e);
	clip->channel = rc ? NULL : arena_alloc(g->a, (size_t)list.n + 1, sizeof *clip->channel);
	if (rc || !clip->channel)
		return rc ? rc : err_nomem(e);
	for (uint32_t i = 0; i < list.n && !rc; i++) {
		bool there;

		x.channel = i;
		rc = read_channel(&x, list.v[i], &clip->channel[clip->nchannels], &there, e);
		clip->nchannels += there;
	}
	return rc;
}

int glb_read_clips(struct glb_file *g, struct err *e)
{
	struct geo_scene *s = g->out;
	int rc = 0;

	s->nclips = g->clips.n;
	s->clip = arena_alloc(g->a, (size_t)s->nclips + 1, sizeof *s->clip);
	if (!s->clip)
		return err_nomem(e);
	for (uint32_t i = 0; i < s->nclips && !rc; i++)
		rc = read_clip(g, i, &s->clip[i], e);
	return rc;
}

/* ---- sampling ---- */

static void make_unit(double q[4])
{
	double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);

	for (unsigned k = 0; k < 4; k++)
		q[k] = length > 0 && isfinite(length) ? q[k] / length : k == 3;
}

/* Along the shorter arc. */
static void blend_turns(const float *a, const float *b, double t, double out[4])
{
	double dot = (double)a[0] * b[0] + (double)a[1] * b[1] + (double)a[2] * b[2] + (double)a[3] * b[3];
	double side = dot < 0 ? -1 : 1, angle, wa = 1 - t, wb = t;

	dot *= side;
	if (dot < 1 - 1e-9) {
		angle = acos(dot);
		wa = sin((1 - t) * angle) / sin(angle);
		wb = sin(t * angle) / sin(angle);
	}
	for (unsigned k = 0; k < 4; k++)
		out[k] = wa * a[k] + side * wb * b[k];
}

static void blend_cubic(const struct scene_channel *c, uint32_t i, double t, double out[4])
{
	unsigned n = comps_of(c->path);
	const float *a = c->value + 3 * (size_t)n * i, *b = a + 3 * (size_t)n;
	double span = (double)c->time[i + 1] - c->time[i], t2 = t * t, t3 = t2 * t;

	for (unsigned k = 0; k < n; k++)
		out[k] = (2 * t3 - 3 * t2 + 1) * a[n + k] + span * (t3 - 2 * t2 + t) * a[2 * n + k] +
			 (3 * t2 - 2 * t3) * b[n + k] + span * (t3 - t2) * b[k];
}

/* The last key that is not later. */
static uint32_t key_before(const struct scene_channel *c, double seconds)
{
	uint32_t low = 0, high = c->nkeys;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if ((double)c->time[mid] <= seconds)
			low = mid;
		else
			high = mid;
	}
	return low;
}

void scene_sample(const struct scene_channel *c, double seconds, float out[4])
{
	bool cubic = c->curve == SCENE_CUBIC;
	unsigned n = comps_of(c->path), each = cubic ? 3 * n : n, at = cubic ? n : 0;
	double v[4] = { 0 }, t;
	uint32_t i;

	if (!c->nkeys) {
		for (unsigned k = 0; k < 4; k++)
			out[k] = c->path == SCENE_SCALE || (c->path == SCENE_TURN && k == 3);
		return;
	}
	i = key_before(c, seconds);
	for (unsigned k = 0; k < n; k++)
		v[k] = c->value[(size_t)i * each + at + k];
	if (c->curve != SCENE_STEP && i + 1 < c->nkeys && seconds > (double)c->time[i]) {
		t = (seconds - c->time[i]) / ((double)c->time[i + 1] - c->time[i]);
		if (c->curve == SCENE_CUBIC)
			blend_cubic(c, i, t, v);
		else if (c->path == SCENE_TURN)
			blend_turns(c->value + (size_t)i * 4, c->value + (size_t)(i + 1) * 4, t, v);
		else
			for (unsigned k = 0; k < n; k++)
				v[k] += t * ((double)c->value[(size_t)(i + 1) * n + k] - v[k]);
	}
	if (c->path == SCENE_TURN)
		make_unit(v);
	for (unsigned k = 0; k < 4; k++)
		out[k] = (float)v[k];
}
