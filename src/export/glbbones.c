/* Bones of a GLB against those that were shown. Blender has bones that point along their y, and turns the axes of
 * others by right angles until they do; and it reckons with places in the armature, which moves what it leaves alone by
 * a few bits. In its files axes are first turned back, and what lies where it was is as it was. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "gltf.h"
#include "matrix.h"

/* Columns x, y, z of length 1, and a place. */
struct place { double m[9], at[3]; };

struct boning {
	const struct geo_scene *scene;
	const struct geo_skeleton *was;
	const uint32_t *node;
	uint32_t *bone_of;                     /* of each node: the joint + 1; 0 */
	struct place *old, *given;             /* in the model: as shown, as the file has it */
	struct place *meant, *now;             /* the latter with its axes turned back, and where it is to rest */
	uint8_t *state;                        /* 1: placed, or on the way to it */
	uint8_t *apart;                        /* the file has it where the model is tied to it, not where it rests */
	uint8_t *moved;                        /* it, or one that it hangs on, is not where the file was to have it */
	uint32_t *path;
	double size, reach;
};

#define TURN_REACH 1e-3
#define APART 1e-3                             /* of the model's size: what is tied elsewhere than it rests */

/* ---- places ---- */

static void rotate(const double *m, const double *v, double *out)
{
	for (unsigned r = 0; r < 3; r++)
		out[r] = m[r] * v[0] + m[3 + r] * v[1] + m[6 + r] * v[2];
}

static void rotate_back(const double *m, const double *v, double *out)
{
	for (unsigned c = 0; c < 3; c++)
		out[c] = m[3 * c] * v[0] + m[3 * c + 1] * v[1] + m[3 * c + 2] * v[2];
}

/* What hangs at that place of a bone; scales of its parents stretch only where it lies. */
static struct place below(const struct place *up, const double scale[3], const float move[3], const float turn[4])
{
	struct place own, out;
	double at[3];

	matrix_turn(turn, own.m);
	for (unsigned k = 0; k < 3; k++)
		at[k] = move[k] * scale[k];
	rotate(up->m, at, out.at);
	for (unsigned k = 0; k < 3; k++) {
		out.at[k] += up->at[k];
		rotate(up->m, own.m + 3 * (size_t)k, out.m + 3 * (size_t)k);
	}
	return out;
}

static const struct place origin = { { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, { 0 } };

/* Axes of b in those of a. */
static void between(const double *a, const double *b, double out[9])
{
	for (unsigned c = 0; c < 3; c++)
		rotate_back(a, b + 3 * (size_t)c, out + 3 * (size_t)c);
}

static bool near_turn(const double *a, const double *b)
{
	for (unsigned k = 0; k < 9; k++)
		if (!(fabs(a[k] - b[k]) <= TURN_REACH))
			return false;
	return true;
}

/* ---- axes that were turned by right angles ---- */

/* The turn by right angles that is nearest to r. */
static void right_angles(const double r[9], double out[9])
{
	static const uint8_t order[6][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 0, 2, 1 }, { 2, 1, 0 },
					     { 1, 0, 2 } };
	double best = -4;
	unsigned found = 0;

	for (unsigned k = 0; k < 48; k++) {
		const uint8_t *axis = order[k / 8];
		unsigned minus = (k & 1) + (k >> 1 & 1) + (k >> 2 & 1);
		double trace = 0;

		/* Half of them are mirrors. */
		if ((minus + (k / 8 >= 3)) % 2)
			continue;
		for (unsigned c = 0; c < 3; c++)
			trace += (k >> c & 1 ? -1 : 1) * r[3 * c + axis[c]];
		if (trace > best + 1e-9) {
			best = trace;
			found = k;
		}
	}
	memset(out, 0, 9 * sizeof *out);
	for (unsigned c = 0; c < 3; c++)
		out[3 * c + order[found / 8][c]] = found >> c & 1 ? -1 : 1;
}

/* m x inverse(p). */
static void turn_back(double m[9], const double p[9])
{
	double out[9];

	for (unsigned r = 0; r < 3; r++)
		for (unsigned c = 0; c < 3; c++)
			out[3 * c + r] = m[r] * p[c] + m[3 + r] * p[3 + c] + m[6 + r] * p[6 + c];
	memcpy(m, out, sizeof out);
}

/* ---- parents ---- */

/* The nearest joint above a node; -1. */
static int32_t bone_above(const struct boning *x, uint32_t node)
{
	int32_t up = x->scene->node[node].parent;

	while (up >= 0 && !x->bone_of[up])
		up = x->scene->node[up].parent;
	return up < 0 ? -1 : (int32_t)x->bone_of[up] - 1;
}

static const char *name_of(const struct boning *x, int32_t bone)
{
	return bone < 0 ? "none" : x->was->joint[bone].name;
}

static int check_parents(const struct boning *x, struct err *e)
{
	for (uint32_t i = 0; i < x->was->n; i++) {
		int32_t want = x->was->joint[i].parent, have;

		if (!x->node[i])
			continue;
		while (want >= 0 && !x->node[want])
			want = x->was->joint[want].parent;
		have = bone_above(x, x->node[i] - 1);
		if (have != want)
			return err_set(e, EINVAL, "bone %.60s hangs on %.60s, expected %.60s", x->was->joint[i].name,
				       name_of(x, have), name_of(x, want));
	}
	return 0;
}

/* ---- files of other programs ---- */

static void scale_of(const float *v, double out[3])
{
	for (unsigned k = 0; k < 3; k++)
		out[k] = v ? (double)v[k] : 1;
}

/* Where the model was tied to a bone; false: nobody can tell. */
static bool tied_place(const struct geo_joint *j, struct place *out)
{
	const float *v = j->inverse;
	double rows[9], det = 0;

	for (unsigned c = 0; c < 3; c++)
		for (unsigned r = 0; r < 3; r++) {
			unsigned a = (c + 1) % 3, b = (c + 2) % 3, d = (r + 1) % 3, g = (r + 2) % 3;

			rows[3 * c + r] = (double)v[4 * a + d] * v[4 * b + g] - (double)v[4 * a + g] * v[4 * b + d];
		}
	for (unsigned k = 0; k < 3; k++)
		det += rows[k] * v[k];
	if (!(fabs(det) > 0) || !isfinite(det))
		return false;
	for (unsigned r = 0; r < 3; r++) {
		double length = 0, at = 0;

		/* Column r of the inverse lies across the rows. */
		for (unsigned c = 0; c < 3; c++) {
			out->m[3 * r + c] = rows[3 * c + r] / det;
			length += out->m[3 * r + c] * out->m[3 * r + c];
			at -= rows[3 * r + c] / det * v[12 + c];
		}
		out->at[r] = at;
		for (unsigned c = 0; c < 3; c++)
			out->m[3 * r + c] /= sqrt(length);
	}
	return true;
}

/* Where the file has a bone that was at `base`: with its axes turned back, and still there when it is not off by more
 * than programs move what they leave alone. How far off it is. */
static double settle(const struct boning *x, const struct place *base, const struct place *given, struct place *out)
{
	double r[9], p[9], m[9], off = 0, turned = 0;

	between(base->m, given->m, r);
	right_angles(r, p);
	memcpy(m, given->m, sizeof m);
	turn_back(m, p);
	for (unsigned k = 0; k < 9; k++)
		turned = fmax(turned, fabs(m[k] - base->m[k]));
	for (unsigned k = 0; k < 3; k++)
		off = fmax(off, fabs(given->at[k] - base->at[k]));
	*out = *base;
	if (turned > TURN_REACH)
		memcpy(out->m, m, sizeof m);
	if (off > x->reach)
		memcpy(out->at, given->at, sizeof out->at);
	return fmax(off, x->size * turned);
}

/* What hangs at `meant` of a parent, when that is at `to` in the place of `from`. */
static struct place carried(const struct place *from, const struct place *to, const struct place *meant)
{
	double at[3], own[3], m[9];
	struct place out;

	for (unsigned k = 0; k < 3; k++)
		at[k] = meant->at[k] - from->at[k];
	rotate_back(from->m, at, own);
	rotate(to->m, own, out.at);
	between(from->m, meant->m, m);
	for (unsigned k = 0; k < 3; k++) {
		out.at[k] += to->at[k];
		rotate(to->m, m + 3 * (size_t)k, out.m + 3 * (size_t)k);
	}
	return out;
}

/* Blender lays bones where the model was tied to them, also where they are elsewhere at rest, and forgets the rest.
 * Such a one that was moved rests and is tied in one place from then on: the one that the file has it at, seen from the
 * bone that it hangs on. */
static void settle_tied(struct boning *x, uint32_t i, double off)
{
	struct place tied, meant, none;
	int32_t up = x->was->joint[i].parent;
	const struct place *from = up < 0 ? &origin : &x->meant[up], *to = up < 0 ? &origin : &x->now[up];
	bool moved;

	if (off <= x->reach || !tied_place(&x->was->joint[i], &tied) || settle(x, &tied, &x->given[i], &meant) >= off)
		return;
	moved = memcmp(&meant, &tied, sizeof meant);
	/* What is tied to where it rests, but for the last bits, is moved like others. */
	if (moved && settle(x, &x->old[i], &tied, &none) <= APART * x->size)
		return;
	x->apart[i] = 1;
	x->moved[i] = moved || (up >= 0 && x->moved[up]);
	x->meant[i] = meant;
	x->now[i] = x->moved[i] ? carried(from, to, &meant) : x->old[i];
}

/* Parents come first. */
static void place_bone(struct boning *x, uint32_t i)
{
	const struct geo_joint *j = &x->was->joint[i];
	const struct scene_node *n = x->node[i] ? &x->scene->node[x->node[i] - 1] : NULL;
	const struct geo_joint *up = j->parent < 0 ? NULL : &x->was->joint[j->parent];
	int32_t file_up = n ? bone_above(x, x->node[i] - 1) : -1;
	double scale[3], off;

	scale_of(up ? up->scale : NULL, scale);
	x->old[i] = below(up ? &x->old[j->parent] : &origin, scale, j->move, j->turn);
	x->now[i] = x->meant[i] = x->given[i] = x->old[i];
	x->apart[i] = x->moved[i] = 0;
	if (!n)
		return;
	scale_of(file_up < 0 ? NULL : x->scene->node[x->node[file_up] - 1].scale, scale);
	x->given[i] = below(file_up < 0 ? &origin : &x->given[file_up], scale, n->move, n->turn);
	off = settle(x, &x->old[i], &x->given[i], &x->meant[i]);
	x->now[i] = x->meant[i];
	x->moved[i] = memcmp(&x->now[i], &x->old[i], sizeof *x->now) || (up && x->moved[j->parent]);
	settle_tied(x, i, off);
}

/* Without recursion: files can have chains of any length. */
static void place_bones(struct boning *x)
{
	for (uint32_t i = 0; i < x->was->n; i++) {
		uint32_t n = 0;
		int32_t at = (int32_t)i;

		while (at >= 0 && !x->state[at]) {
			x->state[at] = 1;
			x->path[n++] = (uint32_t)at;
			at = x->was->joint[at].parent;
		}
		while (n-- > 0)
			place_bone(x, x->path[n]);
	}
}

static void quaternion(const double *m, float out[4])
{
	struct geo_joint j;
	float columns[16] = { 0 };

	for (unsigned k = 0; k < 9; k++)
		columns[k / 3 * 4 + k % 3] = (float)m[k];
	columns[15] = 1;
	geo_joint_place(&j, columns);
	memcpy(out, j.turn, 4 * sizeof *out);
}

/* Where bone i is in its parent, from where both are. */
static uint8_t settle_bone(const struct boning *x, uint32_t i, struct geo_joint *to)
{
	int32_t up = to->parent;
	const struct place *p = up < 0 ? &origin : &x->now[up], *was = up < 0 ? &origin : &x->old[up];
	double off[3], at[3], m[9], old[9], scale[3];
	uint8_t change = 0;

	scale_of(up < 0 ? NULL : x->was->joint[up].scale, scale);
	if (!memcmp(p, was, sizeof *p) && !memcmp(&x->now[i], &x->old[i], sizeof *x->now))
		return 0;
	for (unsigned k = 0; k < 3; k++)
		off[k] = x->now[i].at[k] - p->at[k];
	rotate_back(p->m, off, at);
	for (unsigned k = 0; k < 3; k++) {
		float v = (float)(scale[k] != 0 ? at[k] / scale[k] : at[k]);

		if (fabs((double)v - (double)to->move[k]) <= x->reach)
			continue;
		to->move[k] = v;
		change |= GEO_MOVED;
	}
	between(p->m, x->now[i].m, m);
	matrix_turn(to->turn, old);
	if (!near_turn(m, old)) {
		quaternion(m, to->turn);
		change |= GEO_TURNED;
	}
	return change;
}

static double size_of(const struct boning *x)
{
	double most = 0;

	for (uint32_t i = 0; i < x->was->n; i++)
		for (unsigned k = 0; k < 3; k++)
			most = fmax(most, fabs(x->old[i].at[k]));
	return most;
}

static int compare_foreign(struct boning *x, struct geo_skeleton *now, uint8_t *change, struct arena *a, struct err *e)
{
	size_t n = (size_t)x->was->n + 1;

	x->old = arena_alloc(a, n, sizeof *x->old);
	x->given = arena_alloc(a, n, sizeof *x->given);
	x->meant = arena_alloc(a, n, sizeof *x->meant);
	x->now = arena_alloc(a, n, sizeof *x->now);
	x->state = arena_alloc(a, n, 1);
	x->apart = arena_alloc(a, n, 1);
	x->moved = arena_alloc(a, n, 1);
	x->path = arena_alloc(a, n, sizeof *x->path);
	if (!x->old || !x->given || !x->meant || !x->now || !x->state || !x->apart || !x->moved || !x->path)
		return err_nomem(e);
	/* Once to see how large all of it is. */
	place_bones(x);
	x->size = size_of(x);
	x->reach = 1e-5 * x->size;
	memset(x->state, 0, n);
	place_bones(x);
	for (uint32_t i = 0; i < x->was->n; i++) {
		if (x->node[i])
			change[i] = settle_bone(x, i, &now->joint[i]);
		if (change[i] && x->apart[i])
			change[i] |= GEO_TIED;
	}
	return 0;
}

/* ---- our own files ---- */

static uint8_t take_own(const struct scene_node *n, struct geo_joint *to)
{
	uint8_t change = 0;

	change |= memcmp(n->move, to->move, sizeof to->move) ? GEO_MOVED : 0;
	change |= memcmp(n->scale, to->scale, sizeof to->scale) ? GEO_SCALED : 0;
	/* The same turn can be written in two ways. */
	for (unsigned k = 0; k < 4; k++)
		if (n->turn[k] != to->turn[k] && n->turn[k] != -to->turn[k])
			change |= GEO_TURNED;
	memcpy(to->move, n->move, sizeof to->move);
	memcpy(to->scale, n->scale, sizeof to->scale);
	memcpy(to->turn, n->turn, sizeof to->turn);
	return change;
}

int glb_compare_bones(const struct geo_scene *scene, const struct geo_skeleton *was, const uint32_t *node,
		      struct geo_skeleton *now, uint8_t *change, struct arena *a, struct err *e)
{
	struct boning x = { .scene = scene, .was = was, .node = node };
	int rc;

	/* Each goes up through all nodes at most. */
	if ((uint64_t)was->n * scene->nnodes > GLB_PLACES_MOST)
		return err_set(e, EFBIG, "%u nodes are too many for %u bones", scene->nnodes, was->n);
	x.bone_of = arena_alloc(a, (size_t)scene->nnodes + 1, sizeof *x.bone_of);
	now->n = was->n;
	now->joint = arena_alloc(a, (size_t)was->n + 1, sizeof *now->joint);
	if (!x.bone_of || !now->joint)
		return err_nomem(e);
	for (uint32_t i = 0; i < was->n; i++) {
		now->joint[i] = was->joint[i];
		if (node[i])
			x.bone_of[node[i] - 1] = i + 1;
	}
	rc = check_parents(&x, e);
	if (rc || glb_is_foreign(scene))
		return rc ? rc : compare_foreign(&x, now, change, a, e);
	for (uint32_t i = 0; i < was->n; i++)
		if (node[i])
			change[i] = take_own(&scene->node[node[i] - 1], &now->joint[i]);
	return 0;
}
