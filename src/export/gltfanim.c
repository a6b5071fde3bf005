/* Animations of a GLB.
 *
 * The cubic curves of places and scales are those of glTF, but for one thing: there x, y and z have their keys
 * together. So each is split where another has a key, which leaves its shape alone. Three angles are no curve of
 * quaternions: turns are baked, a key for each frame, or as few as stay within a tolerance. */
#include <errno.h>
#include <string.h>

#include "bytes.h"
#include "gltf.h"

#define INPUTS_KEPT 32u                        /* times of samplers that others may share */
#define LOOK_AHEAD 64u                         /* frames that one key may stand for, with a tolerance */

/* Times of keys that were written. */
struct input { const float *time; uint32_t n, accessor; };

struct animating {
	struct glb *g;
	const struct geo_clip *clip;
	double rate, tolerance;                /* radians */
	bool baked;
	struct arena *a, own;                  /* own: of the track at hand */
	cJSON *channels, *samplers;
	uint32_t nsamplers;
	struct input input[INPUTS_KEPT];
	uint32_t ninputs;
};

/* The keys of one sampler: v has `each` numbers for every key. */
struct keys { uint32_t n, each; float *time, *v; const char *shape, *interpolation; };

static float time_of(const struct animating *x, double frame)
{
	return (float)(frame / x->rate);
}

/* ---- writing ---- */

static uint32_t put_times(struct animating *x, const struct keys *k)
{
	struct glb *g = x->g;
	uint32_t view, number;
	uint8_t *p;
	cJSON *a;

	for (uint32_t i = 0; i < x->ninputs; i++)
		if (x->input[i].n == k->n && !memcmp(x->input[i].time, k->time, k->n * sizeof *k->time))
			return x->input[i].accessor;
	p = glb_view(g, (uint64_t)k->n * 4, GLTF_NO_TARGET, &view);
	for (uint32_t i = 0; p && i < k->n; i++, p += 4)
		put_le32(p, f32_bits(k->time[i]));
	a = glb_accessor(g, view, GLTF_F32, k->n, "SCALAR", &number);
	if (!a)
		return 0;
	glb_put_floats(g, a, "min", &k->time[0], 1);
	glb_put_floats(g, a, "max", &k->time[k->n - 1], 1);
	if (x->ninputs < INPUTS_KEPT)
		x->input[x->ninputs++] = (struct input){ k->time, k->n, number };
	return number;
}

static void put_channel(struct animating *x, uint32_t joint, const char *path)
{
	struct glb *g = x->g;
	cJSON *channel = cJSON_CreateObject(), *target = cJSON_CreateObject();

	glb_put_number(g, channel, "sampler", x->nsamplers++);
	glb_put_number(g, target, "node", joint);
	glb_put_text(g, target, "path", path);
	glb_put(g, channel, "target", target);
	glb_push(g, x->channels, channel);
}

/* v NULL: it is only measured. */
static void put_keys(struct animating *x, uint32_t joint, const char *path, const struct keys *k)
{
	struct glb *g = x->g;
	bool cubic = !strcmp(k->interpolation, "CUBICSPLINE");
	uint32_t input = put_times(x, k), view, output, comps = k->each / (cubic ? 3 : 1);
	uint8_t *p = glb_view(g, (uint64_t)k->n * k->each * 4, GLTF_NO_TARGET, &view);
	cJSON *sampler = cJSON_CreateObject();

	for (uint64_t i = 0; p && i < (uint64_t)k->n * k->each; i++, p += 4)
		put_le32(p, f32_bits(k->v[i]));
	glb_accessor(g, view, GLTF_F32, k->n * k->each / comps, k->shape, &output);
	glb_put_number(g, sampler, "input", input);
	glb_put_text(g, sampler, "interpolation", k->interpolation);
	glb_put_number(g, sampler, "output", output);
	glb_push(g, x->samplers, sampler);
	put_channel(x, joint, path);
}

/* Times outlive the track. */
static bool make_room(struct animating *x, struct keys *k, uint64_t n)
{
	if (n > LIMIT_DECODED / 4 / (k->each + 1) - x->g->nkeys) {
		glb_fail(x->g, EFBIG);
		return false;
	}
	x->g->nkeys += n;
	k->time = arena_alloc(x->a, n, sizeof *k->time);
	k->v = arena_alloc(&x->own, n, k->each * sizeof *k->v);
	if (!k->time || !k->v)
		glb_fail(x->g, ENOMEM);
	return k->time && k->v;
}

/* ---- frames ---- */

/* The frames of what is baked: those of its keys, or all from the first key to the last. NULL: there are none, or no
 * memory. */
static double *find_frames(struct animating *x, const struct geo_curve curve[3], uint32_t *n)
{
	size_t room = (size_t)curve[0].n + curve[1].n + curve[2].n;
	double *key = arena_alloc(&x->own, room + 1, sizeof *key), *frame, last;

	*n = key ? geo_key_frames(curve, key) : 0;
	if (!key)
		glb_fail(x->g, ENOMEM);
	if (*n < 2 || x->clip->linear)
		return *n ? key : NULL;
	last = key[*n - 1];
	if (last - key[0] > (double)GLB_FRAMES_MOST) {
		glb_fail(x->g, EFBIG);
		return NULL;
	}
	frame = arena_alloc(&x->own, (size_t)(last - key[0]) + 2, sizeof *frame);
	if (!frame) {
		glb_fail(x->g, ENOMEM);
		return NULL;
	}
	frame[0] = key[0];
	for (*n = 1; floor(frame[*n - 1]) + 1 < last; ++*n)
		frame[*n] = floor(frame[*n - 1]) + 1;
	frame[(*n)++] = last;
	return frame;
}

/* ---- places and scales ---- */

/* A number as it is kept; what is too large for that is as good as any. */
static float kept(double v)
{
	float f = (float)v;

	return isfinite(f) ? f + 0.0f : 0;
}

/* The three curves at a frame; true when one of them jumps there. */
static bool curves_at(const struct animating *x, const struct geo_curve curve[3], const float rest[3], double frame,
		      bool before, struct geo_point out[3])
{
	bool jumps = false;

	for (unsigned k = 0; k < 3; k++) {
		struct geo_point was;

		out[k] = (struct geo_point){ .value = rest[k] };
		if (!curve[k].n)
			continue;
		geo_curve_at(&curve[k], frame, x->clip->linear, true, &was);
		geo_curve_at(&curve[k], frame, x->clip->linear, false, &out[k]);
		jumps |= was.value < out[k].value || was.value > out[k].value;
		out[k].value = before ? was.value : out[k].value;
	}
	return jumps;
}

static void add_key(struct keys *k, const struct animating *x, float time, const struct geo_point at[3])
{
	float *v = k->v + (size_t)k->n * k->each;
	bool cubic = k->each == 9;

	for (unsigned c = 0; c < 3; c++) {
		v[cubic ? 3 + c : c] = kept(at[c].value);
		if (cubic) {
			v[c] = kept(at[c].in * x->rate);
			v[6 + c] = kept(at[c].out * x->rate);
		}
	}
	k->time[k->n++] = time;
}

/* Baked, a jump needs no key of its own. */
static void put_baked(struct animating *x, uint32_t joint, const char *path, const struct geo_curve curve[3],
		      const float rest[3])
{
	struct keys k = { .shape = "VEC3", .each = 3, .interpolation = "LINEAR" };
	struct geo_point at[3];
	uint32_t n;
	double *frame = find_frames(x, curve, &n);

	if (!frame || !make_room(x, &k, n))
		return;
	for (uint32_t i = 0; i < n; i++) {
		curves_at(x, curve, rest, frame[i], false, at);
		add_key(&k, x, time_of(x, frame[i]), at);
	}
	put_keys(x, joint, path, &k);
}

/* Frames of all keys; where the value jumps, a key stands as shortly before it as times can be told apart. */
static void put_curves(struct animating *x, uint32_t joint, const char *path, const struct geo_curve curve[3],
		       const float rest[3])
{
	struct keys k = { .shape = "VEC3", .each = 9, .interpolation = "CUBICSPLINE" };
	size_t room = (size_t)curve[0].n + curve[1].n + curve[2].n;
	double *frame = arena_alloc(&x->own, room + 1, sizeof *frame);
	struct geo_point at[3];
	uint32_t n;

	if (!frame)
		glb_fail(x->g, ENOMEM);
	if (!frame || !room)
		return;
	n = geo_key_frames(curve, frame);
	if (n < 2 || x->clip->linear) {        /* cubic ones take two keys at least */
		k.each = 3;
		k.interpolation = "LINEAR";
	}
	if (!make_room(x, &k, 2 * (uint64_t)n))
		return;
	for (uint32_t i = 0; i < n; i++) {
		float time = time_of(x, frame[i]);

		if (i && curves_at(x, curve, rest, frame[i], true, at))
			add_key(&k, x, nextafterf(time, 0), at);
		curves_at(x, curve, rest, frame[i], false, at);
		add_key(&k, x, time, at);
	}
	put_keys(x, joint, path, &k);
}

/* ---- turns ---- */

/* Whether the way from key a to key b passes what lies between them. */
static bool passes(const struct animating *x, const double (*turn)[4], const double *frame, uint32_t a, uint32_t b)
{
	for (uint32_t i = a + 1; i < b; i++) {
		double way[4];

		geo_turn_between(turn[a], turn[b], (frame[i] - frame[a]) / (frame[b] - frame[a]), way);
		if (geo_turns_apart(way, turn[i]) > x->tolerance)
			return false;
	}
	return true;
}

/* Each key on the side of the one before it, so that the way between them is the short one. */
static void add_turn(struct keys *k, float time, const double turn[4])
{
	float *v = k->v + (size_t)k->n * 4;
	const float *was = k->n ? v - 4 : NULL;
	double dot = 0;

	for (unsigned c = 0; c < 4 && was; c++)
		dot += turn[c] * (double)was[c];
	for (unsigned c = 0; c < 4; c++)
		v[c] = kept(dot < 0 ? -turn[c] : turn[c]);
	k->time[k->n++] = time;
}

static void thin_out(struct animating *x, struct keys *k, const double *frame, uint32_t n, const double (*turn)[4])
{
	for (uint32_t i = 0, next; i < n; i = next) {
		add_turn(k, time_of(x, frame[i]), turn[i]);
		next = i + 1;
		while (x->tolerance > 0 && next + 1 < n && next - i < LOOK_AHEAD && passes(x, turn, frame, i, next + 1))
			next++;
	}
}

static void put_turns(struct animating *x, const struct geo_track *t, const struct geo_joint *j)
{
	struct keys k = { .shape = "VEC4", .each = 4, .interpolation = "LINEAR" };
	uint32_t n;
	double *frame = find_frames(x, t->curve + GEO_TURN, &n);
	double (*turn)[4];
	struct geo_pose pose;

	if (!frame || !make_room(x, &k, n))
		return;
	if (!x->g->write && !(x->tolerance > 0)) {
		for (k.n = 0; k.n < n; k.n++)
			k.time[k.n] = time_of(x, frame[k.n]);
		put_keys(x, t->joint, "rotation", &k);
		return;
	}
	turn = arena_alloc(&x->own, n, sizeof *turn);
	if (!turn) {
		glb_fail(x->g, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		geo_track_at(x->clip, t, j, frame[i], &pose);
		memcpy(turn[i], pose.turn, sizeof pose.turn);
	}
	thin_out(x, &k, frame, n, (const double (*)[4])turn);
	put_keys(x, t->joint, "rotation", &k);
}

/* ---- animations ---- */

static void put_track(struct animating *x, const struct geo_track *t)
{
	const struct geo_joint *j = &x->g->skeleton->joint[t->joint];

	(x->baked ? put_baked : put_curves)(x, t->joint, "translation", t->curve + GEO_MOVE, j->move);
	put_turns(x, t, j);
	(x->baked ? put_baked : put_curves)(x, t->joint, "scale", t->curve + GEO_SCALE, j->scale);
	arena_free(&x->own);
}

/* What glTF has no place for. */
static void put_extras(struct glb *g, cJSON *animation, const struct geo_clip *clip)
{
	cJSON *extras = cJSON_CreateObject(), *slots;

	if (clip->loops) {
		glb_put(g, extras, "loop", cJSON_CreateTrue());
		if (clip->loop_start > 0)
			glb_put_number(g, extras, "loop_start", clip->loop_start);
	}
	if (clip->nslots) {
		slots = cJSON_CreateArray();
		for (uint32_t i = 0; i < clip->nslots; i++)
			glb_push(g, slots, cJSON_CreateNumber(clip->slot[i]));
		glb_put(g, extras, "slots", slots);
	}
	if (clip->note)
		glb_put_text(g, extras, "note", clip->note);
	if (extras && extras->child)
		glb_put(g, animation, "extras", extras);
	else
		cJSON_Delete(extras);
}

static void put_animation(struct animating *x)
{
	struct glb *g = x->g;
	cJSON *animation = cJSON_CreateObject();

	glb_put_text(g, animation, "name", x->clip->name);
	glb_put(g, animation, "channels", x->channels);
	glb_put(g, animation, "samplers", x->samplers);
	put_extras(g, animation, x->clip);
	glb_push(g, g->animations, animation);
}

int glb_animation(struct glb *g, const struct geo_clip *clip, const struct geo_timing *timing, struct err *e)
{
	struct arena a = { 0 };
	struct animating x = { .g = g, .clip = clip, .a = &a };

	x.rate = clip->rate > 0 ? clip->rate : timing && timing->fps > 0 ? timing->fps : GEO_FPS;
	/* Keys that are shown as they are stored stay. */
	x.tolerance = timing && !clip->linear ? timing->tolerance * GEO_DEGREE : 0;
	x.baked = timing && timing->baked;
	x.channels = cJSON_CreateArray();
	x.samplers = cJSON_CreateArray();
	for (uint32_t i = 0; i < clip->ntracks && !g->bad && g->skeleton; i++)
		put_track(&x, &clip->track[i]);
	g->nsamplers += x.nsamplers;
	if (g->nsamplers > GLB_SAMPLERS_MOST)
		glb_fail(g, EFBIG);
	/* An animation that moves nothing is none. */
	if (x.nsamplers) {
		put_animation(&x);
	} else {
		cJSON_Delete(x.channels);
		cJSON_Delete(x.samplers);
	}
	arena_free(&a);
	return glb_failed(g, e);
}
