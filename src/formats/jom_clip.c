/* What animations of a JOM do to its bones (spec/jom.md 4.11).
 *
 * A key says where the root is moved and how each bone is turned around the axes of its parent, first around x, then y,
 * then z. How the engine gets from key to key is its own matter: keys are shown as they are, joined the shortest way.
 * The axes are turned as those of points: (x, -y, -z). */
#include <errno.h>

#include "jom.h"

struct reading {
	const struct jom_model *m;
	const struct geo_skeleton *s;
	const uint8_t *keys;
	uint32_t n, ticks;
	struct arena *a;
};

/* The three curves from `which` on of a bone, made of what lies at `offset` in each key: numbers of `size` bytes. */
static bool take_curves(const struct reading *r, struct geo_curve *curve, uint32_t offset, unsigned size, double unit,
			const float rest[3])
{
	for (unsigned k = 0; k < 3; k++) {
		double sign = k ? -unit : unit;

		curve[k].key = arena_alloc(r->a, r->n, sizeof *curve[k].key);
		if (!curve[k].key)
			return false;
		curve[k].n = r->n;
		for (uint32_t i = 0; i < r->n; i++) {
			const uint8_t *raw = r->keys + (size_t)i * r->m->key_size + offset + k * size;
			double v = size == 4 ? (double)jom_i32(raw) : (double)(int16_t)be_u16(raw);

			curve[k].key[i].frame = (double)i * r->ticks;
			curve[k].key[i].value = (rest ? (double)rest[k] : 0) + sign * v;
		}
	}
	return true;
}

static bool take_bone(const struct reading *r, uint32_t bone, struct geo_track *out)
{
	const struct geo_joint *j = &r->s->joint[bone];
	uint32_t angles = jom_root_record.size + bone * jom_angles_record.size;

	if (j->parent < 0 && !take_curves(r, out->curve + GEO_MOVE, 0, 4, 1 / JOM_FIXED, j->move))
		return false;
	return take_curves(r, out->curve + GEO_TURN, angles, 2, JOM_ANGLE, NULL);
}

/* A key takes 6 bytes for a bone, and a hundred when it is read. */
static int check_size(const struct reading *r, struct err *e)
{
	if (!span_ok(LIMIT_DECODED / 2, 0, (uint64_t)r->n * (r->m->nbones + 1), 3 * sizeof(struct geo_key)))
		return err_set(e, EFBIG, "an animation of %u keys for %u bones", r->n, r->m->nbones);
	return 0;
}

int jom_clip(struct object *o, uint32_t i, const struct geo_skeleton *s, struct geo_clip *out, struct arena *a,
	     struct err *e)
{
	const struct jom_model *m = jom_of(o);
	const struct jom_table *t = &m->table[JOM_ANIM];
	struct jom_animation an;
	struct reading r = { .m = m, .s = s, .a = a };
	uint32_t n = m->nbones < s->n ? m->nbones : s->n;
	int rc;

	if (i >= t->n)
		return -ENOENT;
	rec_decode(&jom_animation_record, true, jom_row(m, JOM_ANIM, i), &an);
	r.keys = m->bytes + m->chunks[t->chunk].at + an.offset;
	r.n = an.key_count;
	r.ticks = an.key_ticks;
	rc = check_size(&r, e);
	if (rc)
		return rc;
	*out = (struct geo_clip){ .name = m->clip_names[i], .rate = JOM_TICKS, .linear = true, .loops = an.flags & 1 };
	out->track = arena_alloc(a, (size_t)n + 1, sizeof *out->track);
	if (!out->track)
		return err_nomem(e);
	for (uint32_t k = 0; k < n && r.n; k++) {
		out->track[k] = (struct geo_track){ .joint = k, .clip = i, .track = k };
		if (!take_bone(&r, k, &out->track[k]))
			return err_nomem(e);
		out->ntracks++;
	}
	return 0;
}
