/* Clips that are to move bones as somebody wrote: what of their channels and keys has to change for that.
 *
 * Somebody's animation is looked at frame by frame. A channel that is there what it was keeps its bytes; else its keys
 * are set anew where it is not (core/clipfit.c). A channel that a track did not have is added. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "anm.h"
#include "bytes.h"
#include "matrix.h"

#define FRAME_MOST 32767u                      /* of a key */
#define KEY_MOST 32767.0                       /* value and slopes of a key */
#define TRACK_MOST 0xffffu                     /* bytes of a track of MHP3rd */
#define TIME_SLACK 1e-3                        /* of a frame: times are floats */
#define SCALE_SLACK 1e-4                       /* of axes: much less than a step of their scale */

struct putting {
	struct object *o;
	const struct geo_skeleton *s;
	struct geo_wish *wish;
	uint32_t nwishes;
	double rate, tolerance;                /* radians */
	bool baked;                            /* as it is shown */
	struct buf *bytes;                     /* of each clip; empty: it stays */
	const char **by;                       /* of each clip: the animation that changed it */
	bool *agreed;                          /* of each clip: some animation has it as it is */
	struct arena a;
	struct err *e;
};

/* One animation that is to become one motion. */
struct changing {
	struct putting *x;
	const struct geo_clip *clip;
	const struct geo_wish *wish;
	uint32_t n;                            /* frames */
	uint32_t ignored, ignored_frame;       /* channels that were moved where only others have keys; of the first */
	uint32_t ignored_joint;
	struct anm_motion **motion;            /* of each clip of the pack: as it becomes; NULL: not read yet */
	struct arena *a;
};

/* ---- what is there and what is wanted ---- */

/* The values of a joint at each frame. */
struct samples { double *was[GEO_CHANNELS], *now[GEO_CHANNELS]; };

static bool sampled_room(struct samples *v, uint32_t n, struct arena *a)
{
	for (unsigned k = 0; k < GEO_CHANNELS; k++) {
		v->was[k] = arena_alloc(a, n, sizeof(double));
		v->now[k] = arena_alloc(a, n, sizeof(double));
		if (!v->was[k] || !v->now[k])
			return false;
	}
	return true;
}

static void rest_of(const struct geo_joint *j, double rest[GEO_CHANNELS])
{
	double turn[4] = { j->turn[0], j->turn[1], j->turn[2], j->turn[3] };

	for (unsigned k = 0; k < 3; k++) {
		rest[GEO_MOVE + k] = j->move[k];
		rest[GEO_SCALE + k] = j->scale[k];
	}
	geo_angles_of(turn, rest + GEO_TURN);
}

/* Whether both turn a bone of that scale to the same: what is scaled to nothing can be turned anyhow. */
static bool same_turn(const struct changing *c, const struct geo_pose *was, const struct geo_pose *now)
{
	double a[9], b[9], reach = ANM_ANGLE + c->x->tolerance;
	float turn[2][4];

	if (geo_turns_apart(was->turn, now->turn) <= reach)
		return true;
	for (unsigned k = 0; k < 4; k++) {
		turn[0][k] = (float)was->turn[k];
		turn[1][k] = (float)now->turn[k];
	}
	matrix_turn(turn[0], a);
	matrix_turn(turn[1], b);
	for (unsigned k = 0; k < 9; k++)
		if (!(fabs((a[k] - b[k]) * now->scale[k / 3]) <= reach * fabs(now->scale[k / 3]) + SCALE_SLACK))
			return false;
	return true;
}

/* Two axes scaled below zero are a half turn around the third, and programs tell neither from the other: of the ways
 * to say it, the one whose turn is nearest to what it was. */
static void turn_halfway(const struct geo_pose *was, struct geo_pose *now)
{
	double least = geo_turns_apart(was->turn, now->turn), q[4];
	unsigned best = 3;

	memcpy(q, now->turn, sizeof q);
	for (unsigned k = 0; k < 3; k++) {
		double half[4], apart;

		half[k] = q[3];
		half[3] = -q[k];
		half[(k + 1) % 3] = q[(k + 2) % 3];
		half[(k + 2) % 3] = -q[(k + 1) % 3];
		apart = geo_turns_apart(was->turn, half);
		if (apart >= least)
			continue;
		least = apart;
		best = k;
		memcpy(now->turn, half, sizeof half);
	}
	for (unsigned k = 0; k < 3 && best < 3; k++)
		now->scale[k] *= k == best ? 1 : -1;
}

/* Angles are those stored where both turns are the same, and else as near to those before as they can be. */
static void sample_turn(const struct changing *c, const struct geo_pose *was, const struct geo_pose *now, uint32_t f,
			struct samples *v, bool *apart)
{
	double angle[3], to[3];
	bool same = same_turn(c, was, now);

	for (unsigned k = 0; k < 3; k++) {
		angle[k] = v->was[GEO_TURN + k][f];
		to[k] = *apart ? v->now[GEO_TURN + k][f - 1] : angle[k];
	}
	if (!same)
		geo_angles_near(now->turn, to, angle);
	for (unsigned k = 0; k < 3; k++)
		v->now[GEO_TURN + k][f] = angle[k];
	*apart = !same;
}

static void sample(const struct changing *c, const struct geo_track *t, uint32_t joint, struct samples *v)
{
	const struct geo_joint *j = &c->x->s->joint[joint];
	double rest[GEO_CHANNELS];
	struct geo_pose was, now;
	struct geo_point p;
	bool apart = false, mirrored = false;

	rest_of(j, rest);
	for (uint32_t f = 0; f < c->n; f++)
		for (unsigned k = 0; k < GEO_CHANNELS; k++) {
			v->was[k][f] = rest[k];
			if (t->curve[k].n) {
				geo_curve_at(&t->curve[k], f, false, false, &p);
				v->was[k][f] = p.value;
			}
			mirrored |= k >= GEO_SCALE && v->was[k][f] < 0;
		}
	for (uint32_t f = 0; f < c->n; f++) {
		geo_track_at(c->clip, t, j, f, &was);
		c->wish->at(c->wish, joint, f / c->x->rate, &now);
		if (mirrored)
			turn_halfway(&was, &now);
		for (unsigned k = 0; k < 3; k++) {
			v->now[GEO_MOVE + k][f] = now.move[k];
			v->now[GEO_SCALE + k][f] = now.scale[k];
		}
		sample_turn(c, &was, &now, f, v, &apart);
	}
}

/* ---- tracks ---- */

static int refuse(const struct changing *c, uint32_t joint, const char *why)
{
	const char *bone = c->x->s->joint[joint].name;

	return err_set(c->x->e, EINVAL, "animation \"%.60s\", bone %.60s: %s", c->wish->name, bone, why);
}

/* The clip's tracks, to be changed in their place. */
static int get_motion(struct changing *c, uint32_t clip, struct anm_motion **out)
{
	struct anm_motion *m = c->motion[clip];
	int rc = 0;

	if (!m) {
		m = arena_alloc(c->a, 1, sizeof *m);
		rc = m ? anm_read_clip(c->x->o, clip, m, c->a, c->x->e) : err_nomem(c->x->e);
		c->motion[clip] = rc ? NULL : m;
	}
	*out = m;
	return rc;
}

/* The keys of a channel in a track, which is made when it has none. */
static struct anm_keys *get_keys(const struct changing *c, struct anm_moves *t, uint32_t bit)
{
	struct anm_keys *v, *found = NULL;
	uint32_t at = 0;

	for (uint32_t k = 0; k < t->count; k++)
		if (t->v[k].channel == bit && (!found || !found->count))
			found = found && !t->v[k].count ? found : &t->v[k];
	if (found)
		return found;
	v = arena_alloc(c->a, (size_t)t->count + 1, sizeof *v);
	if (!v)
		return NULL;
	while (at < t->count && t->v[at].channel < bit)
		at++;
	for (uint32_t i = 0; i < t->count; i++)
		v[i < at ? i : i + 1] = t->v[i];
	v[at].channel = bit;
	t->v = v;
	t->count++;
	t->mask |= bit;
	return &v[at];
}

static int16_t whole(double v, double unit)
{
	return (int16_t)lround(v / unit);
}

static int put_keys(const struct changing *c, struct anm_moves *t, unsigned channel, const struct geo_curve *curve)
{
	struct anm_keys *keys = get_keys(c, t, anm_bit(channel));
	uint8_t *raw = arena_alloc(c->a, (size_t)curve->n + 1, ANM_KEY_SIZE);
	double unit = anm_unit(channel);

	if (!keys || !raw)
		return err_nomem(c->x->e);
	keys->count = curve->n;
	keys->raw = raw;
	for (uint32_t i = 0; i < curve->n; i++, raw += ANM_KEY_SIZE) {
		const struct geo_key *k = &curve->key[i];
		struct anm_key key = { whole(k->value, unit), (int16_t)k->frame, whole(k->in, unit),
				       whole(k->out, unit) };

		rec_encode(&anm_key_record, false, &key, raw);
	}
	return 0;
}

static bool stays_at(const struct samples *v, unsigned k, double frame)
{
	return fabs(v->now[k][(uint32_t)frame] - v->was[k][(uint32_t)frame]) <= anm_unit(k);
}

/* Whether a channel keeps what it has around a frame although it was moved there: it has no key there, and those around
 * stay. */
static bool is_ignored(const struct changing *c, const struct geo_curve *curve, const struct samples *v, unsigned k,
		       double frame)
{
	uint32_t i = 0;

	while (i < curve->n && curve->key[i].frame <= frame)
		i++;
	return i && i < curve->n && curve->key[i - 1].frame >= 0 && curve->key[i].frame < c->n &&
	       !stays_at(v, k, frame) && stays_at(v, k, curve->key[i - 1].frame) && stays_at(v, k, curve->key[i].frame);
}

/* A program that knows no slopes has a key where one of three axes has one. What was moved at such a key of another
 * axis is no edit that could be told from a curve that has lost its slopes. */
static int count_ignored(struct changing *c, const struct geo_track *t, unsigned k, const struct samples *v)
{
	const struct geo_curve *curve = &t->curve[k - k % 3];
	size_t n = (size_t)curve[0].n + curve[1].n + curve[2].n;
	double *frame = arena_alloc(c->a, n + 1, sizeof *frame);
	bool any = false;

	if (!frame)
		return err_nomem(c->x->e);
	n = geo_key_frames(curve, frame);
	for (size_t i = 0; i < n && frame[i] < c->n && !any; i++) {
		any = is_ignored(c, &t->curve[k], v, k, frame[i]);
		if (any && !c->ignored++) {
			c->ignored_frame = (uint32_t)frame[i];
			c->ignored_joint = t->joint;
		}
	}
	return 0;
}

static void say_ignored(const struct changing *c)
{
	if (c->ignored)
		object_say(c->x->o, "animation \"%.60s\": %u places or scales were moved at keys that only their other axes "
			   "have, the first one at frame %u of bone %.60s; they stay. With -o baked all frames are keys",
			   c->wish->name, c->ignored, c->ignored_frame, c->x->s->joint[c->ignored_joint].name);
}

static int put_channel(struct changing *c, const struct geo_track *t, unsigned k, const struct samples *v)
{
	struct geo_fit how = { .unit = anm_unit(k), .most = KEY_MOST };
	struct geo_curve curve;
	struct anm_motion *m;
	struct err why = { 0 };
	bool changed;
	int rc;

	how.at_keys = c->wish->slopeless && !c->x->baked && (k < GEO_TURN || k >= GEO_SCALE);
	how.step = how.unit + (k >= GEO_TURN && k < GEO_SCALE ? c->x->tolerance : 0);
	rc = geo_curve_fit(&t->curve[k], v->was[k], v->now[k], c->n, &how, &curve, &changed, c->a, &why);
	if (rc == -EINVAL)
		return refuse(c, t->joint, why.text);
	if (rc)
		return err_nomem(c->x->e);
	rc = how.at_keys ? count_ignored(c, t, k, v) : 0;
	if (rc || !changed)
		return rc;
	if (k >= GEO_SCALE && !t->curve[k].n && ((const struct anm_pack *)c->x->o->priv)->game == ANM_MHFU)
		return refuse(c, t->joint, "it is scaled, and Freedom Unite crashes on channels that scale");
	rc = get_motion(c, t->clip, &m);
	return rc ? rc : put_keys(c, &m->v[t->track], k, &curve);
}

/* A bone that no track moves has to stay at rest. */
static int check_still(const struct changing *c, uint32_t joint, const struct samples *v)
{
	for (unsigned k = 0; k < GEO_CHANNELS; k++)
		for (uint32_t f = 0; f < c->n; f++)
			if (fabs(v->now[k][f] - v->was[k][f]) > anm_unit(k) + c->x->tolerance)
				return refuse(c, joint, "it moves, and the clip has no track for it");
	return 0;
}

static int put_joint(struct changing *c, const struct geo_track *t, uint32_t joint)
{
	static const struct geo_track none;
	struct arena own = { 0 };
	struct samples v;
	int rc = sampled_room(&v, c->n, &own) ? 0 : err_nomem(c->x->e);

	if (!rc) {
		sample(c, t ? t : &none, joint, &v);
		rc = t ? 0 : check_still(c, joint, &v);
	}
	for (unsigned k = 0; t && k < GEO_CHANNELS && !rc; k++)
		rc = put_channel(c, t, k, &v);
	arena_free(&own);
	return rc;
}

/* ---- clips ---- */

static int keep_bytes(struct changing *c, uint32_t clip)
{
	struct putting *x = c->x;
	const struct anm_heads *h = anm_heads_of(x->o);
	const struct anm_motion *m = c->motion[clip];
	struct buf out = { 0 };
	bool other;

	for (uint32_t i = 0; i < m->count && h->track == &anm_track_mhp3rd; i++) {
		uint64_t size = anm_track_size(h, &m->v[i]);

		if (size > TRACK_MOST)
			return err_set(x->e, EINVAL, "animation \"%.60s\": %" PRIu64 " bytes in track %u, at most %u "
				       "fit", c->wish->name, size, i, TRACK_MOST);
	}
	anm_write_clip(h, m, &out);
	other = x->bytes[clip].len && (x->bytes[clip].len != out.len || memcmp(x->bytes[clip].p, out.p, out.len));
	if (out.bad || other) {
		buf_free(&out);
		return other ? err_set(x->e, EINVAL, "animations \"%.60s\" and \"%.60s\" share clip %u and want it "
				       "otherwise each", x->by[clip], c->wish->name, clip) : err_nomem(x->e);
	}
	buf_free(&x->bytes[clip]);
	x->bytes[clip] = out;
	x->by[clip] = c->wish->name;
	return 0;
}

static uint32_t last_frame(const struct geo_clip *clip)
{
	double last = 0;

	for (uint32_t i = 0; i < clip->ntracks; i++)
		for (unsigned k = 0; k < GEO_CHANNELS; k++) {
			const struct geo_curve *c = &clip->track[i].curve[k];

			if (c->n && c->key[c->n - 1].frame > last)
				last = c->key[c->n - 1].frame;
		}
	return (uint32_t)last;
}

static int count_frames(struct changing *c)
{
	double last = ceil(c->wish->last * c->x->rate - TIME_SLACK);

	if (!(last <= FRAME_MOST))
		return err_set(c->x->e, EINVAL, "animation \"%.60s\" ends at frame %.0f, at most %u can be stored",
			       c->wish->name, last, FRAME_MOST);
	c->n = last_frame(c->clip) + 1;
	if (last >= c->n)
		c->n = (uint32_t)last + 1;
	return 0;
}

static int put_motion(struct putting *x, const struct geo_clip *clip, const struct geo_wish *wish)
{
	uint32_t nclips = ((const struct anm_pack *)x->o->priv)->nclips;
	struct arena a = { 0 };
	struct changing c = { .x = x, .clip = clip, .wish = wish, .a = &a };
	const struct geo_track **of = arena_alloc(&a, (size_t)x->s->n + 1, sizeof *of);
	int rc = count_frames(&c);

	c.motion = arena_alloc(&a, (size_t)nclips + 1, sizeof(struct anm_motion *));
	if (!of || !c.motion)
		rc = err_nomem(x->e);
	for (uint32_t i = 0; i < clip->ntracks && !rc; i++)
		of[clip->track[i].joint] = &clip->track[i];
	for (uint32_t j = 0; j < x->s->n && !rc; j++)
		rc = put_joint(&c, of[j], j);
	if (!rc)
		say_ignored(&c);
	for (uint32_t i = 0; i < clip->ntracks && !rc; i++)
		x->agreed[clip->track[i].clip] |= !c.motion[clip->track[i].clip];
	for (uint32_t i = 0; i < nclips && !rc; i++)
		if (c.motion[i])
			rc = keep_bytes(&c, i);
	arena_free(&a);
	return rc;
}

/* ---- all of them ---- */

/* The one that is called so; EINVAL: two are. */
static int find_wish(struct putting *x, const char *name, struct geo_wish **out)
{
	*out = NULL;
	for (int exact = 1; exact >= 0 && !*out; exact--)
		for (uint32_t i = 0; i < x->nwishes; i++) {
			struct geo_wish *w = &x->wish[i];

			if (w->clip != GEO_NONE || w->taken || !geo_wish_is(w, name, exact))
				continue;
			if (*out)
				return err_set(x->e, EINVAL, "two animations are called \"%.60s\"", name);
			*out = w;
		}
	return 0;
}

static int take_motion(void *ctx, const struct geo_clip *clip, int rc, const struct err *why)
{
	struct putting *x = ctx;
	struct geo_wish *wish;

	(void)why;
	if (rc)
		return rc == -ENOMEM ? err_nomem(x->e) : 0;    /* what is damaged is not shown */
	rc = find_wish(x, clip->name, &wish);
	if (rc || !wish)
		return rc;
	wish->taken = true;
	return put_motion(x, clip, wish);
}

static int take_clip(struct putting *x, struct geo_wish *wish)
{
	struct arena a = { 0 };
	struct geo_clip clip;
	int rc = anm_clip(x->o, wish->clip, x->s, &clip, &a, x->e);

	wish->taken = !rc;
	rc = rc ? rc : put_motion(x, &clip, wish);
	arena_free(&a);
	return rc == -ENOENT ? 0 : rc;         /* there is no such clip, which is for others to say */
}

static int take_all(struct putting *x)
{
	bool named = false;
	int rc = 0;

	for (uint32_t i = 0; i < x->nwishes && !rc; i++) {
		named |= x->wish[i].clip == GEO_NONE;
		if (x->wish[i].clip != GEO_NONE)
			rc = take_clip(x, &x->wish[i]);
	}
	return rc || !named ? rc : anm_motions(x->o, x->s, take_motion, x, x->e);
}

int anm_clips_put(struct object *o, const struct geo_skeleton *s, struct geo_wish *wish, uint32_t n,
		  const struct geo_timing *timing, struct err *e)
{
	uint32_t nclips = ((const struct anm_pack *)o->priv)->nclips;
	struct putting x = { .o = o, .s = s, .wish = wish, .nwishes = n, .e = e };
	struct anm_change change = { 0 };
	bool any = false;
	int rc = 0;

	x.rate = timing->fps > 0 ? timing->fps : GEO_FPS;
	x.baked = timing->baked;
	x.tolerance = timing->tolerance * GEO_DEGREE;
	x.bytes = arena_alloc(&x.a, (size_t)nclips + 1, sizeof *x.bytes);
	x.by = arena_alloc(&x.a, (size_t)nclips + 1, sizeof *x.by);
	x.agreed = arena_alloc(&x.a, (size_t)nclips + 1, sizeof *x.agreed);
	rc = x.bytes && x.by && x.agreed ? take_all(&x) : err_nomem(e);
	for (uint32_t i = 0; i < nclips && !rc; i++) {
		/* Of motions that share a clip one was edited, and the others still show what it was. */
		if (x.agreed[i] && object_again(o))
			buf_free(&x.bytes[i]);
		any |= x.bytes[i].len;
	}
	change.bytes = x.bytes;
	rc = rc || !any ? rc : anm_place(o, &change, e);
	for (uint32_t i = 0; x.bytes && i < nclips; i++)
		buf_free(&x.bytes[i]);
	arena_free(&x.a);
	return rc;
}
