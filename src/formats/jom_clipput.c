/* Animations of a JOM that are to move bones as somebody wrote.
 *
 * Keys lie at even distances and stay where they are: each is looked at for itself, and where it says something else by
 * more than a step, the numbers that differ are written. Only roots are moved, all by the same offset, and nothing is
 * scaled. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "jom.h"

#define ROUNDED 1e-6                           /* of a number that was a float for a while */
#define STAYS 1e-3
#define SCALED 1e-3
#define BENT GEO_DEGREE                        /* between keys, that is told */

struct putting {
	struct object *o;
	const struct jom_model *m;
	const struct geo_skeleton *s;
	const struct geo_wish *wish;
	struct jom_animation an;
	struct geo_clip clip;                  /* as it is stored */
	double tolerance;                      /* radians */
	uint8_t *raw;                          /* the key at hand, as it becomes */
	bool settled;                          /* its offset is what some root wants */
	bool bent;                             /* something happens between keys */
	struct err *e;
};

static double seconds_of(const struct putting *x, double key)
{
	return key * x->an.key_ticks / JOM_TICKS;
}

PRINTF(3, 4)
static int refuse(const struct putting *x, uint32_t bone, const char *fmt, ...)
{
	char why[120];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return err_set(x->e, EINVAL, "animation \"%.40s\", bone %.40s: %s", x->wish->name, x->s->joint[bone].name, why);
}

/* What programs move a bone by that they leave alone: they compute with floats, from bone to bone. */
static bool stays(const double *a, const double *b)
{
	for (unsigned k = 0; k < 3; k++)
		if (fabs(a[k] - b[k]) > STAYS * (1 + fabs(b[k])))
			return false;
	return true;
}

/* ---- one bone in one key ---- */

/* The first root says what the offset is, the others have to want the same. */
static int put_offset(struct putting *x, uint32_t bone, const struct geo_pose *was, const struct geo_pose *now)
{
	const struct geo_joint *j = &x->s->joint[bone];

	for (unsigned k = 0; k < 3; k++) {
		double sign = k ? -JOM_FIXED : JOM_FIXED, v = (now->move[k] - (double)j->move[k]) * sign;
		double near = 1 + ROUNDED * JOM_FIXED * fabs(was->move[k]);
		uint8_t *raw = x->raw + 4 * k;

		if (fabs(v - jom_i32(raw)) <= near)
			continue;
		if (x->settled)
			return refuse(x, bone, "it moves otherwise than another root, and all have one offset");
		if (!(v >= INT32_MIN - 0.5 && v < INT32_MAX + 0.5))
			return refuse(x, bone, "%g from its rest, at most 32767 can be stored", v / sign);
		put_be32(raw, (uint32_t)(int32_t)lround(v));
	}
	x->settled = true;
	return 0;
}

static void put_angles(struct putting *x, uint32_t bone, const struct geo_track *t, uint32_t key,
		       const struct geo_pose *was, const struct geo_pose *now)
{
	uint8_t *raw = x->raw + jom_root_record.size + bone * jom_angles_record.size;
	double to[3], angle[3];

	if (geo_turns_apart(was->turn, now->turn) <= JOM_ANGLE + x->tolerance)
		return;
	for (unsigned k = 0; k < 3; k++)
		to[k] = t->curve[GEO_TURN + k].key[key].value;
	geo_angles_near(now->turn, to, angle);
	for (unsigned k = 0; k < 3; k++)
		if (fabs(angle[k] - to[k]) > JOM_ANGLE)
			put_be16(raw + 2 * k, (uint16_t)lround(angle[k] / (k ? -JOM_ANGLE : JOM_ANGLE)));
}

static int put_bone(struct putting *x, uint32_t bone, uint32_t key)
{
	const struct geo_track *t = &x->clip.track[bone];
	const struct geo_joint *j = &x->s->joint[bone];
	struct geo_pose was, now;
	double frame = (double)key * x->an.key_ticks;

	geo_track_at(&x->clip, t, j, frame, &was);
	x->wish->at(x->wish, bone, seconds_of(x, key), &now);
	for (unsigned k = 0; k < 3; k++)
		if (fabs(now.scale[k] - 1) > SCALED)
			return refuse(x, bone, "scaled by %g, nothing is scaled in JOM", now.scale[k]);
	if (j->parent >= 0 && !stays(now.move, was.move))
		return refuse(x, bone, "it is moved, and only roots are in JOM");
	put_angles(x, bone, t, key, &was, &now);
	return j->parent < 0 ? put_offset(x, bone, &was, &now) : 0;
}

/* ---- between keys and behind them ---- */

static bool differ(const struct geo_pose *a, const struct geo_pose *b)
{
	bool moved = false;

	for (unsigned k = 0; k < 3; k++)
		moved |= fabs(a->move[k] - b->move[k]) > 0.01 * (1 + fabs(b->move[k]));
	return moved || geo_turns_apart(a->turn, b->turn) > BENT;
}

static void look_between(struct putting *x, uint32_t bone, uint32_t key)
{
	struct geo_pose a, b, mid, way;

	x->wish->at(x->wish, bone, seconds_of(x, key), &a);
	x->wish->at(x->wish, bone, seconds_of(x, key + 1), &b);
	x->wish->at(x->wish, bone, seconds_of(x, key + 0.5), &mid);
	for (unsigned k = 0; k < 3; k++)
		way.move[k] = (a.move[k] + b.move[k]) / 2;
	/* Of half a turn there is no telling which way it goes. */
	geo_turn_between(a.turn, b.turn, 0.5, way.turn);
	x->bent |= geo_turns_apart(a.turn, b.turn) < GEO_PI - BENT && differ(&mid, &way);
}

static int check_end(const struct putting *x, uint32_t bone)
{
	double end = seconds_of(x, x->an.key_count - 1.0);
	struct geo_pose a, b;

	if (!(x->wish->last > end))
		return 0;
	x->wish->at(x->wish, bone, end, &a);
	x->wish->at(x->wish, bone, x->wish->last, &b);
	if (!differ(&a, &b))
		return 0;
	return refuse(x, bone, "it moves up to %.3f s, the last of %u keys is at %.3f s", x->wish->last, x->an.key_count,
		      end);
}

/* ---- animations ---- */

static int put_key(struct putting *x, uint32_t key)
{
	const struct jom_table *t = &x->m->table[JOM_ANIM];
	uint64_t at = x->m->chunks[t->chunk].at + x->an.offset + (uint64_t)key * x->m->key_size;
	int rc = 0;

	memcpy(x->raw, x->m->bytes + at, x->m->key_size);
	x->settled = false;
	for (uint32_t i = 0; i < x->clip.ntracks && !rc; i++) {
		rc = put_bone(x, i, key);
		if (!rc && key + 1 < x->an.key_count && x->an.key_ticks)
			look_between(x, i, key);
	}
	return rc ? rc : object_patch(x->o, 0, at, x->raw, x->m->key_size, "key", x->e);
}

/* Keys that are all at one time: only the last is shown. */
static int put_animation(struct putting *x)
{
	uint32_t first = x->an.key_ticks || !x->an.key_count ? 0 : x->an.key_count - 1;
	int rc = 0;

	for (uint32_t i = 0; i < x->clip.ntracks && !rc; i++)
		rc = check_end(x, i);
	for (uint32_t k = first; k < x->an.key_count && x->clip.ntracks && !rc; k++)
		rc = put_key(x, k);
	if (!rc && x->bent)
		object_say(x->o, "animation \"%s\": keys lie %u ticks apart, what happens between them is not kept",
			   x->wish->name, x->an.key_ticks);
	return rc;
}

int jom_clips_put(struct object *o, const struct geo_skeleton *s, struct geo_wish *wish, uint32_t n,
		  const struct geo_timing *timing, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct arena a = { 0 };
		struct putting x = { .o = o, .m = m, .s = s, .wish = &wish[i], .e = e };

		if (wish[i].clip >= m->table[JOM_ANIM].n)
			continue;
		x.tolerance = timing->tolerance * GEO_DEGREE;
		rec_decode(&jom_animation_record, true, jom_row(m, JOM_ANIM, wish[i].clip), &x.an);
		x.raw = arena_alloc(&a, (size_t)m->key_size + 1, 1);
		rc = x.raw ? jom_clip(o, wish[i].clip, s, &x.clip, &a, e) : err_nomem(e);
		wish[i].taken = !rc;
		rc = rc ? rc : put_animation(&x);
		arena_free(&a);
	}
	return rc;
}
