/* Bones of a skeleton as they are at rest (spec/mhp.md 5.1, 5.5, 5.6): a bone's place is its parent's and its offset.
 * Its scale is no part of that, nor are the angles of next to nothing that bones of armour have. */
#include <math.h>
#include <string.h>

#include "ahi.h"
#include "bytes.h"
#include "names.h"

#define NOISE 1e-5                             /* radians */

struct gathering {
	const struct record *record;
	uint32_t moved;                        /* how many of them animations move */
	struct geo_joint *joint;
	struct stored_name *name;
	uint8_t (*text)[AHI_NAME_SIZE];
};

static void turn(const float angle[3], float out[4])
{
	double wide[3], q[4];
	bool any = false;

	for (unsigned k = 0; k < 3; k++) {
		any |= isfinite(angle[k]) && fabs((double)angle[k]) > NOISE;
		wide[k] = angle[k];
	}
	if (!any)
		return;
	geo_turn_of(wide, q);
	for (unsigned k = 0; k < 4; k++)
		out[k] = (float)q[k];
}

static int gather(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	struct gathering *g = ctx;
	struct geo_joint *j = &g->joint[i];
	struct ahi_bone b = { 0 };

	(void)src;
	(void)at;
	rec_decode(g->record, false, raw, &b);
	geo_joint_reset(j);
	for (unsigned k = 0; k < 3; k++)
		j->move[k] = b.offset[k];
	turn(b.rotation, j->turn);
	j->parent = b.parent;
	j->part = i < g->moved ? b.part : GEO_NONE;
	memcpy(g->text[i], b.name, sizeof b.name);
	g->name[i] = (struct stored_name){ g->text[i], strnlen(b.name, sizeof b.name) };
	return 0;
}

/* The second parameter of a monster is the first bone of the parts that come off, which have no tracks. */
static int find_moved(struct object *o, uint32_t *n, struct err *e)
{
	const struct ahi_skeleton *s = o->priv;
	uint8_t raw[4];
	int rc;

	*n = s->nbones;
	if (s->nparameters < 2 || s->bone_size != AHI_BONE_MHFU)
		return 0;
	rc = src_read(o->src, raw, sizeof raw, AHI_PARAMETERS_AT + 4, "second parameter", e);
	if (!rc && le_u32(raw) && le_u32(raw) < s->nbones)
		*n = le_u32(raw);
	return rc;
}

int ahi_skeleton(struct object *o, struct geo_skeleton *out, struct arena *a, struct err *e)
{
	uint32_t n = ((const struct ahi_skeleton *)o->priv)->nbones;
	struct gathering g = { .record = o->variant->sections[1].record };
	const char **names = arena_alloc(a, (size_t)n + 1, sizeof *names);
	int rc;

	g.joint = arena_alloc(a, (size_t)n + 1, sizeof *g.joint);
	g.name = arena_alloc(a, (size_t)n + 1, sizeof *g.name);
	g.text = arena_alloc(a, (size_t)n + 1, sizeof *g.text);
	if (!names || !g.joint || !g.name || !g.text)
		return err_nomem(e);
	rc = find_moved(o, &g.moved, e);
	rc = !rc && n ? object_section_records(o, 1, gather, &g, e) : rc;
	/* Bones of the older game store none, and become bone_0, bone_1, ... */
	rc = rc ? rc : names_safe(g.name, n, "bone", names, a, e);
	for (uint32_t i = 0; i < n && !rc; i++)
		g.joint[i].name = names[i];
	*out = (struct geo_skeleton){ rc ? 0 : n, g.joint };
	return rc;
}
