/* What an OBJ cannot say of a JOM: which bone a mesh hangs on, and where the corners of a triangle lie in its texture.
 *
 * A bone moves its group, all of it: a skin whose vertices have one weight. The texture of a triangle ends in the place
 * that two of its four corners share, so that place lies between both. */
#include "jom.h"

#include <errno.h>
#include <string.h>

#define FIXED_BITS 16u

/* ---- texture coordinates ---- */

/* A, B, C, D, then the middles of AB, BC, CD, DA. */
static int64_t *all_corners(struct arena *a)
{
	static const uint8_t twice[8][2] = {
		{ 0, 0 }, { 2, 0 }, { 2, 2 }, { 0, 2 }, { 1, 0 }, { 2, 1 }, { 1, 2 }, { 0, 1 }
	};
	int64_t *v = arena_alloc(a, 16, sizeof *v);

	for (unsigned i = 0; v && i < 16; i++)
		v[i] = (int64_t)twice[i / 2][i % 2] << (FIXED_BITS - 1);
	return v;
}

static uint32_t place_of(const struct jom_model *m, uint32_t k, unsigned c)
{
	if (jom_corner(m, k, c) == jom_corner(m, k, (c + 1) % 4))
		return 4 + c;
	if (jom_corner(m, k, c) == jom_corner(m, k, (c + 3) % 4))
		return 4 + (c + 3) % 4;
	return c;
}

static int add_places(const struct jom_model *m, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	struct geo_stream *uv = out->streams;
	struct jom_shown shown;
	uint32_t face = 0;
	int rc = jom_mesh_shown(m, mesh, &shown, a, e);

	uv->fixed = all_corners(a);
	uv->count = 8;
	if (rc || !uv->fixed)
		return rc ? rc : err_nomem(e);
	for (uint32_t i = 0; i < shown.npolygons; i++) {
		unsigned c[4], n = jom_face(m, shown.polygon[i], c);

		for (unsigned k = 0; n == 3 && k < 3; k++)
			uv->corner[(size_t)face * 4 + k] = place_of(m, shown.polygon[i], c[k]);
		face += n > 0;
	}
	return 0;
}

/* ---- bones ---- */

static void get_bone(const struct jom_model *m, uint32_t i, struct jom_bone *out)
{
	rec_decode(&jom_bone_record, true, jom_row(m, JOM_BONE, i), out);
}

static bool tie(struct geo_mesh *out, int32_t bone, struct arena *a)
{
	size_t n = (size_t)out->nvertices + 1;

	out->ninfluences = arena_alloc(a, n, sizeof *out->ninfluences);
	out->first_influence = arena_alloc(a, n, sizeof *out->first_influence);
	out->joint = arena_alloc(a, n, sizeof *out->joint);
	out->weight = arena_alloc(a, n, sizeof *out->weight);
	if (!out->ninfluences || !out->first_influence || !out->joint || !out->weight)
		return false;
	for (uint32_t i = 0; i < out->nvertices; i++) {
		out->ninfluences[i] = 1;
		out->first_influence[i] = i;
		out->joint[i] = bone;
		out->weight[i] = 1;
	}
	return true;
}

int jom_mesh_full(struct object *o, uint32_t mesh, struct geo_mesh *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	int32_t bone = mesh == MESH_WHOLE ? -1 : m->meshes[mesh].bone;
	int rc = jom_mesh(o, mesh, out, a, e);

	rc = rc ? rc : add_places(m, mesh, out, a, e);
	return rc || bone < 0 || tie(out, bone, a) ? rc : err_nomem(e);
}

/* Pivots are places in the model, with the axes turned as those of points are. */
int jom_skeleton(struct object *o, struct geo_skeleton *out, struct arena *a, struct err *e)
{
	const struct jom_model *m = jom_of(o);
	struct stored_name *stored = arena_alloc(a, (size_t)m->nbones + 1, sizeof *stored);
	const char **names = arena_alloc(a, (size_t)m->nbones + 1, sizeof *names);
	int rc;

	out->joint = arena_alloc(a, (size_t)m->nbones + 1, sizeof *out->joint);
	if (!stored || !names || !out->joint)
		return err_nomem(e);
	for (uint32_t i = 0; i < m->nbones; i++) {
		struct geo_joint *j = &out->joint[i];
		struct jom_bone b, parent = { 0 };

		get_bone(m, i, &b);
		geo_joint_reset(j);
		j->parent = b.parent >= 0 && (uint32_t)b.parent < i ? b.parent : -1;
		if (j->parent >= 0)
			get_bone(m, (uint32_t)j->parent, &parent);
		for (unsigned k = 0; k < 3; k++) {
			double off = ((double)b.pivot[k] - parent.pivot[k]) / (1u << FIXED_BITS);

			j->move[k] = (float)(k ? 0 - off : off);
		}
		stored[i] = (struct stored_name){ jom_row(m, JOM_BONE, i), strnlen(b.name, JOM_NAME) };
	}
	rc = names_safe(stored, m->nbones, "bone", names, a, e);
	for (uint32_t i = 0; i < m->nbones && !rc; i++)
		out->joint[i].name = names[i];
	out->n = rc ? 0 : m->nbones;
	return rc;
}
