/* Animations of a GLB that somebody wrote, as poses of the skeleton that is shown.
 *
 * Programs turn bones as they like to draw them, hang them on an object of their own and leave its place to it. Then
 * what a bone does is told from the way it goes in the scene: if R is where it rests there and M where it is moved to,
 * M R^-1 goes before where it rests here. Where nodes are as they were shown, their numbers are taken as they are.
 *
 * Blender takes the keys of a cubic curve and forgets its slopes. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "gltf.h"
#include "matrix.h"

#define SAME 1e-5                              /* of places and turns at rest, for 1 and what is more */
#define STILL 1e-4                             /* what does not count as moving */
#define FLAT 1e-6                              /* scales that are nothing */

struct bone {
	uint32_t node;
	int32_t parent;                        /* bone that the node hangs on in the scene; -1 */
	struct matrix before;                  /* from there to the node's parent */
	struct matrix after;                   /* from where it rests here to the node's own axes */
};

struct bones {
	const struct geo_scene *scene;
	const struct geo_skeleton *s;
	int32_t *of_node;                      /* bone that a node is; -1 */
	struct bone *v;
	bool direct;                           /* nodes are as they were shown */
};

/* The channels of one animation. */
struct motion {
	const struct bones *bones;
	const struct scene_channel *(*channel)[3];
};

/* ---- matrices ---- */

/* What has no inverse is left alone. */
static struct matrix inverse(const struct matrix *m)
{
	struct matrix out = *m;

	matrix_inverse(m, &out);
	return out;
}

static struct matrix rest_of_node(const struct scene_node *n)
{
	return matrix_placed(n->move, n->turn, n->scale);
}

static struct matrix rest_here(const struct geo_skeleton *s, int32_t i)
{
	struct matrix m = matrix_nowhere;

	for (; i >= 0; i = s->joint[i].parent) {
		struct matrix local = matrix_placed(s->joint[i].move, s->joint[i].turn, s->joint[i].scale);

		m = matrix_times(&local, &m);
	}
	return m;
}

/* ---- which node is which bone ---- */

static int find_node(struct bones *b, uint32_t bone, struct err *e)
{
	const struct geo_scene *scene = b->scene;
	int32_t found = -1, like = -1;

	for (uint32_t i = 0; i < scene->nnodes; i++) {
		if (scene->node[i].mesh >= 0)
			continue;
		if (!strcmp(scene->node[i].name, b->s->joint[bone].name)) {
			if (found >= 0)
				return err_set(e, EINVAL, "bone %.60s is there twice", b->s->joint[bone].name);
			found = (int32_t)i;
		} else if (glb_is_named(scene->node[i].name, b->s->joint[bone].name)) {
			like = (int32_t)i;
		}
	}
	found = found >= 0 ? found : like;
	if (found < 0)
		return err_set(e, EINVAL, "bone %.60s is missing", b->s->joint[bone].name);
	b->v[bone].node = (uint32_t)found;
	b->of_node[found] = (int32_t)bone;
	return 0;
}

static bool near(const float *a, const float *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (fabs((double)a[k] - (double)b[k]) > SAME * (1 + fabs((double)b[k])))
			return false;
	return true;
}

static bool same_turn(const float a[4], const float b[4])
{
	float other[4] = { -a[0], -a[1], -a[2], -a[3] };

	return near(a, b, 4) || near(other, b, 4);
}

/* What the nodes between a bone and the next one above do. */
static void find_parent(struct bones *b, uint32_t bone)
{
	static const float origin[3], unturned[4] = { 0, 0, 0, 1 }, unscaled[3] = { 1, 1, 1 };
	struct bone *v = &b->v[bone];
	const struct geo_joint *j = &b->s->joint[bone];
	const struct scene_node *n = &b->scene->node[v->node];
	int32_t at = n->parent;

	v->before = matrix_nowhere;
	b->direct &= near(n->move, j->move, 3) && same_turn(n->turn, j->turn) && near(n->scale, j->scale, 3);
	for (; at >= 0 && b->of_node[at] < 0; at = n->parent) {
		struct matrix m;

		n = &b->scene->node[at];
		m = rest_of_node(n);
		v->before = matrix_times(&m, &v->before);
		b->direct &= near(n->move, origin, 3) && same_turn(n->turn, unturned) && near(n->scale, unscaled, 3);
	}
	v->parent = at < 0 ? -1 : b->of_node[at];
	b->direct &= v->parent == j->parent;
}

static struct matrix world_at(const struct bones *b, int32_t bone, const struct motion *m, double seconds);

static int find_bones(struct bones *b, struct arena *a, struct err *e)
{
	int rc = 0;

	/* Each is looked for among all nodes, and goes up through as many. */
	if ((uint64_t)b->s->n * b->scene->nnodes > GLB_PLACES_MOST)
		return err_set(e, EFBIG, "%u nodes are too many for %u bones", b->scene->nnodes, b->s->n);
	b->v = arena_alloc(a, (size_t)b->s->n + 1, sizeof *b->v);
	b->of_node = arena_alloc(a, (size_t)b->scene->nnodes + 1, sizeof *b->of_node);
	if (!b->v || !b->of_node)
		return err_nomem(e);
	for (uint32_t i = 0; i < b->scene->nnodes; i++)
		b->of_node[i] = -1;
	for (uint32_t i = 0; i < b->s->n && !rc; i++)
		rc = find_node(b, i, e);
	b->direct = true;
	for (uint32_t i = 0; i < b->s->n && !rc; i++)
		find_parent(b, i);
	for (uint32_t i = 0; i < b->s->n && !rc; i++) {
		struct matrix there = world_at(b, (int32_t)i, NULL, 0), here = rest_here(b->s, (int32_t)i);

		there = inverse(&there);
		b->v[i].after = matrix_times(&there, &here);
	}
	return rc;
}

/* ---- poses ---- */

static void sample_node(const struct bones *b, uint32_t bone, const struct motion *m, double seconds, float move[4],
			float turn[4], float scale[4])
{
	const struct scene_node *n = &b->scene->node[b->v[bone].node];
	float *out[3] = { move, turn, scale };

	memcpy(move, n->move, sizeof n->move);
	memcpy(turn, n->turn, sizeof n->turn);
	memcpy(scale, n->scale, sizeof n->scale);
	for (unsigned k = 0; m && k < 3; k++)
		if (m->channel[bone][k])
			scene_sample(m->channel[bone][k], seconds, out[k]);
}

/* Where a bone is in the scene; m NULL: at rest. */
static struct matrix world_at(const struct bones *b, int32_t bone, const struct motion *m, double seconds)
{
	struct matrix world = matrix_nowhere;

	for (; bone >= 0; bone = b->v[bone].parent) {
		float move[4], turn[4], scale[4];
		struct matrix local;

		sample_node(b, (uint32_t)bone, m, seconds, move, turn, scale);
		local = matrix_placed(move, turn, scale);
		local = matrix_times(&b->v[bone].before, &local);
		world = matrix_times(&local, &world);
	}
	return world;
}

/* From the axes of its parent's node to those of the bone's, both at their place. */
static struct matrix local_at(const struct motion *m, uint32_t bone, double seconds)
{
	float move[4], turn[4], scale[4];
	struct matrix local;

	sample_node(m->bones, bone, m, seconds, move, turn, scale);
	local = matrix_placed(move, turn, scale);
	return matrix_times(&m->bones->v[bone].before, &local);
}

/* Where it goes here, in its parent. What hangs on the same bone in both is where its node is in that one's, however
 * much all of them are scaled. */
static struct matrix moved_here(const struct motion *m, uint32_t bone, double seconds)
{
	const struct bones *b = m->bones;
	int32_t up = b->s->joint[bone].parent;
	struct matrix w, from = matrix_nowhere;

	if (b->v[bone].parent == up) {
		w = local_at(m, bone, seconds);
		from = up < 0 ? matrix_nowhere : b->v[up].after;
	} else {
		w = world_at(b, (int32_t)bone, m, seconds);
		if (up >= 0) {
			from = world_at(b, up, m, seconds);
			from = matrix_times(&from, &b->v[up].after);
		}
	}
	w = matrix_times(&w, &b->v[bone].after);
	from = inverse(&from);
	return matrix_times(&from, &w);
}

static void pose_of(const float *move, const float *turn, const float *scale, struct geo_pose *out)
{
	for (unsigned k = 0; k < 4; k++) {
		out->turn[k] = turn[k];
		if (k == 3)
			break;
		out->move[k] = move[k];
		out->scale[k] = scale[k];
	}
}

static void cross(const float *a, const float *b, float *out)
{
	for (unsigned k = 0; k < 3; k++)
		out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static bool is_flat(const float *v)
{
	return fabs((double)v[0]) + fabs((double)v[1]) + fabs((double)v[2]) < FLAT;
}

/* Something at a right angle to v. */
static void side_of(const float *v, float *out)
{
	float axis[3] = { 0 };

	axis[fabsf(v[0]) < fabsf(v[1]) ? 0 : 1] = 1;
	cross(v, axis, out);
}

/* As geo_joint_place(), where axes can be scaled to nothing: they point anywhere. */
static void place_pose(const struct matrix *m, struct geo_joint *j)
{
	float whole[16] = { [15] = 1 }, *v[5];
	bool flat[3];

	for (unsigned k = 0; k < 12; k++)
		whole[k / 3 * 4 + k % 3] = (float)m->v[k];
	for (unsigned c = 0; c < 5; c++)
		v[c] = whole + 4 * (size_t)(c % 3);
	for (unsigned c = 0; c < 3; c++)
		flat[c] = is_flat(v[c]);
	for (unsigned c = 0; c < 3 && flat[0] && flat[1] && flat[2]; c++)
		v[c][c] = 1;
	for (unsigned c = 0; c < 3; c++)
		if (!is_flat(v[c]) && is_flat(v[c + 1]) && is_flat(v[c + 2]))
			side_of(v[c], v[c + 1]);
	for (unsigned c = 0; c < 3; c++)
		if (is_flat(v[c]))
			cross(v[c + 1], v[c + 2], v[c]);
	geo_joint_place(j, whole);
	for (unsigned c = 0; c < 3; c++)
		j->scale[c] = flat[c] ? 0 : j->scale[c];
}

static void at(const struct geo_wish *w, uint32_t joint, double seconds, struct geo_pose *out)
{
	const struct motion *m = w->ctx;
	const struct geo_joint *rest = &m->bones->s->joint[joint];
	float move[4], turn[4], scale[4];
	struct matrix own;
	struct geo_joint j = *rest;

	if (m->bones->direct) {
		sample_node(m->bones, joint, m, seconds, move, turn, scale);
		pose_of(move, turn, scale, out);
		return;
	}
	own = moved_here(m, joint, seconds);
	place_pose(&own, &j);
	pose_of(j.move, j.turn, j.scale, out);
}

/* ---- animations ---- */

static bool moves(const struct geo_scene *scene, const struct scene_channel *c)
{
	const struct scene_node *n = &scene->node[c->node];
	const float *rest = c->path == SCENE_MOVE ? n->move : c->path == SCENE_TURN ? n->turn : n->scale;
	unsigned comps = c->path == SCENE_TURN ? 4 : 3;

	for (uint32_t i = 0; i < c->nkeys; i++) {
		float v[4];
		double far = 0, other = 0;

		scene_sample(c, c->time[i], v);
		for (unsigned k = 0; k < comps; k++) {
			far += fabs((double)v[k] - (double)rest[k]);
			other += fabs((double)v[k] + (double)rest[k]);
		}
		if (far > STILL && (comps == 3 || other > STILL))
			return true;
	}
	return false;
}

static int take_channel(const struct bones *b, const struct scene_clip *clip, const struct scene_channel *c,
			struct motion *m, struct geo_wish *w, struct err *e)
{
	int32_t bone = b->of_node[c->node];

	if (bone < 0)
		return moves(b->scene, c) ? err_set(e, EINVAL, "animation \"%.60s\" moves \"%.60s\", which is no bone",
						    clip->name, b->scene->node[c->node].name) : 0;
	m->channel[bone][c->path] = c;
	if (c->nkeys && c->time[c->nkeys - 1] > w->last)
		w->last = c->time[c->nkeys - 1];
	return 0;
}

static int take_clip(const struct bones *b, const struct scene_clip *clip, struct geo_wish *w, struct arena *a,
		     struct err *e)
{
	struct motion *m = arena_alloc(a, 1, sizeof *m);
	int rc = 0;

	if (!m)
		return err_nomem(e);
	m->bones = b;
	m->channel = arena_alloc(a, (size_t)b->s->n + 1, sizeof *m->channel);
	if (!m->channel)
		return err_nomem(e);
	*w = (struct geo_wish){ .name = clip->name, .clip = GEO_NONE, .at = at, .ctx = m,
				.slopeless = strstr(b->scene->generator, "Blender") };
	for (uint32_t i = 0; i < clip->nchannels && !rc; i++)
		rc = take_channel(b, clip, &clip->channel[i], m, w, e);
	return rc;
}

int glb_wishes(const struct geo_scene *scene, const struct geo_skeleton *s, struct geo_wish **out, struct arena *a,
	       struct err *e)
{
	struct bones *b = arena_alloc(a, 1, sizeof *b);
	int rc;

	*out = arena_alloc(a, (size_t)scene->nclips + 1, sizeof **out);
	if (!b || !*out)
		return err_nomem(e);
	b->scene = scene;
	b->s = s;
	rc = find_bones(b, a, e);
	for (uint32_t i = 0; i < scene->nclips && !rc; i++)
		rc = take_clip(b, &scene->clip[i], &(*out)[i], a, e);
	return rc;
}
