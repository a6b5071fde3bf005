/* Bones of a JOM that are elsewhere at rest: a bone has a place in the model and nothing else, so what hangs on one
 * that moves goes with it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bytes.h"
#include "jom_put.h"

struct edit {
	struct object *o;
	const struct jom_model *m;
	int64_t (*off)[3];                     /* how far each bone moves, in the axes and units of the file */
	struct arena a;
};

/* The move that is wanted against the one that is shown, in numbers of the file. */
static int add_move(const struct geo_joint *now, const struct geo_joint *was, int64_t off[3], struct err *e)
{
	for (unsigned k = 0; k < 3; k++) {
		double v = round(((double)now->move[k] - (double)was->move[k]) * JOM_FIXED);

		if (!(fabs(v) <= (double)UINT32_MAX))
			return err_set(e, EINVAL, "bone %.60s: %g is outside -32768..32767.99998", now->name,
				       (double)now->move[k]);
		off[k] += (int64_t)(k ? -v : v);
	}
	return 0;
}

static int write_pivot(const struct edit *x, uint32_t i, const char *name, struct err *e)
{
	struct field f;
	uint8_t raw[12];

	rec_field(&jom_bone_record, "pivot", &f);
	for (unsigned k = 0; k < 3; k++) {
		int64_t v = jom_i32(jom_row(x->m, JOM_BONE, i) + f.at + 4 * (size_t)k) + x->off[i][k];

		if (v < INT32_MIN || v > INT32_MAX)
			return err_set(e, EINVAL, "bone %.60s: its place, %g, is outside -32768..32767.99998", name,
				       (double)v / JOM_FIXED);
		put_be32(raw + 4 * (size_t)k, (uint32_t)(int32_t)v);
	}
	return object_patch(x->o, 0, jom_row_at(x->m, JOM_BONE, i) + f.at, raw, sizeof raw, "pivot of a bone", e);
}

/* A parent comes before its bones; one that does not is none. */
static int put_bones(struct edit *x, const struct geo_skeleton *now, const uint8_t *change, struct err *e)
{
	struct geo_skeleton was = { 0 };
	int rc = jom_skeleton(x->o, &was, &x->a, e);

	x->off = arena_alloc(&x->a, (size_t)now->n + 1, sizeof *x->off);
	if (!rc && !x->off)
		rc = err_nomem(e);
	for (uint32_t i = 0; i < now->n && i < was.n && !rc; i++) {
		int32_t up = was.joint[i].parent;

		if (change[i] & (GEO_TURNED | GEO_SCALED))
			return err_set(e, EINVAL, "bone %.60s is %s, a bone of a JOM only has a place",
				       now->joint[i].name, change[i] & GEO_TURNED ? "turned" : "scaled");
		if (up >= 0)
			memcpy(x->off[i], x->off[up], sizeof x->off[i]);
		if (change[i] & GEO_MOVED)
			rc = add_move(&now->joint[i], &was.joint[i], x->off[i], e);
		if (!rc && (x->off[i][0] || x->off[i][1] || x->off[i][2]))
			rc = write_pivot(x, i, now->joint[i].name, e);
	}
	return rc;
}

int jom_skeleton_put(struct object *o, const struct geo_skeleton *now, const uint8_t *change, struct err *e)
{
	struct edit x = { .o = o, .m = jom_of(o) };
	int rc = put_bones(&x, now, change, e);

	arena_free(&x.a);
	return rc;
}
