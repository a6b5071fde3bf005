/* Bones of a skeleton with other places at rest (spec/mhp.md 5.1, 5.5): offsets from the parent, and angles around x,
 * then y, then z. */
#include <errno.h>

#include "ahi.h"
#include "bytes.h"

#define AHI_ROTATION 0x2cu
#define AHI_OFFSET 0x3cu

static int put_floats(struct object *o, uint64_t at, const float v[3], const char *what, struct err *e)
{
	uint8_t raw[12];

	for (unsigned k = 0; k < 3; k++)
		put_le32(raw + 4 * (size_t)k, f32_bits(v[k]));
	return object_patch(o, 0, at, raw, sizeof raw, what, e);
}

/* Numbers that the bone is shown with leave what is stored: a 0 in the place of what is not finite. */
static int put_offset(struct object *o, uint64_t at, const float move[3], struct err *e)
{
	uint8_t raw[12];
	float v[3];
	int rc = src_read(o->src, raw, sizeof raw, at, "offset of a bone", e);

	for (unsigned k = 0; k < 3; k++) {
		float stored = le_f32(raw + 4 * (size_t)k);

		v[k] = geo_shown(stored) == move[k] ? stored : move[k];
	}
	return rc ? rc : put_floats(o, at, v, "offset of a bone", e);
}

static int put_turn(struct object *o, uint64_t at, const float q[4], struct err *e)
{
	double turn[4] = { q[0], q[1], q[2], q[3] }, angle[3];

	geo_angles_of(turn, angle);
	return put_floats(o, at, (const float[]){ (float)angle[0], (float)angle[1], (float)angle[2] },
			  "rotation of a bone", e);
}

int ahi_skeleton_put(struct object *o, const struct geo_skeleton *now, const uint8_t *change, struct err *e)
{
	const struct ahi_skeleton *s = o->priv;
	int rc = 0;

	for (uint32_t i = 0; i < now->n && i < s->nbones && !rc; i++) {
		const struct geo_joint *j = &now->joint[i];
		uint64_t at = s->bones_at + (uint64_t)i * s->bone_size;

		if (change[i] & GEO_SCALED)
			return err_set(e, EINVAL, "bone %.60s is scaled by %g %g %g, and a skeleton has no scale at rest",
				       j->name, (double)j->scale[0], (double)j->scale[1], (double)j->scale[2]);
		if (change[i] & GEO_MOVED)
			rc = put_offset(o, at + AHI_OFFSET, j->move, e);
		if (!rc && (change[i] & GEO_TURNED))
			rc = put_turn(o, at + AHI_ROTATION, j->turn, e);
	}
	return rc;
}
