/* Nodes, skins, materials and pictures of a GLB. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "glbread.h"

/* ---- nodes ---- */

/* Turns of any length are one of length 1. */
static void make_unit(float q[4])
{
	double length = sqrt((double)q[0] * q[0] + (double)q[1] * q[1] + (double)q[2] * q[2] + (double)q[3] * q[3]);

	/* What is as long as 1 up to rounding stays as it was written. */
	if (fabs(length - 1) < 1e-6)
		return;
	for (unsigned k = 0; k < 4; k++)
		q[k] = length > 0 && isfinite(length) ? (float)(q[k] / length) : k == 3;
}

static int get_place(const cJSON *o, struct glb_what what, struct scene_node *n, struct err *e)
{
	struct geo_joint j;
	float m[16];
	bool there;
	int rc;

	geo_joint_reset(&j);
	rc = glb_get_floats(o, "matrix", what, m, 16, &there, e);
	if (!rc && there)
		geo_joint_place(&j, m);
	memcpy(n->move, j.move, sizeof n->move);
	memcpy(n->turn, j.turn, sizeof n->turn);
	memcpy(n->scale, j.scale, sizeof n->scale);
	rc = rc ? rc : glb_get_floats(o, "translation", what, n->move, 3, &there, e);
	rc = rc ? rc : glb_get_floats(o, "rotation", what, n->turn, 4, &there, e);
	rc = rc ? rc : glb_get_floats(o, "scale", what, n->scale, 3, &there, e);
	make_unit(n->turn);
	return rc;
}

static int read_node(struct glb_file *g, uint32_t i, struct err *e)
{
	const struct glb_what what = { "node", i };
	struct scene_node *n = &g->out->node[i];
	const cJSON *o = g->nodes.v[i];
	int rc = glb_get_name(g, o, &n->name, e);

	n->mesh = n->skin = -1;
	rc = rc ? rc : get_place(o, what, n, e);
	rc = rc ? rc : glb_get_index(o, "mesh", what, g->meshes.n, &n->mesh, e);
	return rc ? rc : glb_get_index(o, "skin", what, g->skins.n, &n->skin, e);
}

static int adopt(struct glb_file *g, uint32_t i, struct err *e)
{
	struct geo_scene *s = g->out;
	struct glb_list kids;
	int rc = glb_get_list(g, g->nodes.v[i], "children", (struct glb_what){ "node", i }, &kids, e);

	for (uint32_t k = 0; k < kids.n && !rc; k++) {
		const cJSON *v = kids.v[k];
		struct scene_node *kid;

		if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble >= s->nnodes)
			return err_set(e, EINVAL, "node %u: child %u is no node, there are %u", i, k, s->nnodes);
		kid = &s->node[(uint32_t)v->valuedouble];
		if (kid->parent >= 0)
			return err_set(e, EINVAL, "node %u is a child of node %d and of node %u",
				       (uint32_t)v->valuedouble, kid->parent, i);
		kid->parent = (int32_t)i;
	}
	return rc;
}

/* Each node has one parent, so a walk up ends at a root, or goes round for ever. */
static int find_circles(struct glb_file *g, struct err *e)
{
	struct geo_scene *s = g->out;
	uint32_t *seen = arena_alloc(g->a, (size_t)s->nnodes + 1, sizeof *seen);

	if (!seen)
		return err_nomem(e);
	for (uint32_t i = 0; i < s->nnodes; i++) {
		uint32_t at = i;

		while (!seen[at]) {
			seen[at] = i + 1;
			if (s->node[at].parent < 0)
				break;
			at = (uint32_t)s->node[at].parent;
			if (seen[at] == i + 1)
				return err_set(e, EINVAL, "node %u is its own ancestor", at);
		}
	}
	return 0;
}

int glb_read_nodes(struct glb_file *g, struct err *e)
{
	struct geo_scene *s = g->out;
	int rc = 0;

	s->nnodes = g->nodes.n;
	s->node = arena_alloc(g->a, (size_t)s->nnodes + 1, sizeof *s->node);
	if (!s->node)
		return err_nomem(e);
	for (uint32_t i = 0; i < s->nnodes; i++)
		s->node[i].parent = -1;
	for (uint32_t i = 0; i < s->nnodes && !rc; i++)
		rc = read_node(g, i, e);
	for (uint32_t i = 0; i < s->nnodes && !rc; i++)
		rc = adopt(g, i, e);
	return rc ? rc : find_circles(g, e);
}

/* ---- skins ---- */

static int get_joints(struct glb_file *g, uint32_t i, struct scene_skin *skin, struct err *e)
{
	struct geo_scene *s = g->out;
	struct glb_list list;
	uint32_t *mine = arena_alloc(g->a, (size_t)s->nnodes + 1, sizeof *mine);
	int rc = glb_get_list(g, g->skins.v[i], "joints", (struct glb_what){ "skin", i }, &list, e);

	skin->joint = rc ? NULL : arena_alloc(g->a, (size_t)list.n + 1, sizeof *skin->joint);
	if (rc || !skin->joint || !mine)
		return rc ? rc : err_nomem(e);
	for (uint32_t k = 0; k < list.n; k++) {
		const cJSON *v = list.v[k];
		uint32_t node;

		if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble >= s->nnodes)
			return err_set(e, EINVAL, "skin %u: joint %u is no node, there are %u", i, k, s->nnodes);
		node = (uint32_t)v->valuedouble;
		if (mine[node]++)
			return err_set(e, EINVAL, "skin %u: node %u is a joint twice", i, node);
		skin->joint[skin->njoints++] = node;
	}
	return 0;
}

/* The matrices have to be right, but nobody needs them: bones are where their nodes are. */
static int read_skin(struct glb_file *g, uint32_t i, struct scene_skin *skin, struct err *e)
{
	struct glb_accessor about;
	int32_t number = -1;
	float *v;
	int rc = get_joints(g, i, skin, e);

	rc = rc ? rc : glb_get_index(g->skins.v[i], "inverseBindMatrices", (struct glb_what){ "skin", i },
				     g->accessors.n, &number, e);
	if (rc || number < 0)
		return rc;
	rc = glb_read_floats(g, (uint32_t)number, 16, &about, &v, e);
	if (!rc && about.count < skin->njoints)
		rc = err_set(e, EINVAL, "skin %u: %llu matrices (accessor %d), it has %u joints", i,
			     (unsigned long long)about.count, number, skin->njoints);
	return rc;
}

/* What has a weight has to be a joint. */
static int check_joints(const struct geo_scene *s, const struct scene_node *n, struct err *e)
{
	const struct scene_mesh *m = &s->mesh[n->mesh];
	uint32_t joints = n->skin < 0 ? 0 : s->skin[n->skin].njoints;

	for (uint32_t i = 0; i < m->nprimitives && n->skin >= 0; i++) {
		const struct scene_primitive *p = &m->primitive[i];

		for (size_t k = 0; k < (size_t)p->nvertices * p->nsets * 4; k++)
			if (p->joint[k / 4][k % 4] >= joints && p->weight[k / 4][k % 4] > 0)
				return err_set(e, EINVAL, "mesh %.60s, primitive %u: vertex %zu hangs on joint %u, "
					       "skin %d has %u", m->name, i, k / 4 / p->nsets, p->joint[k / 4][k % 4],
					       n->skin, joints);
	}
	return 0;
}

int glb_read_skins(struct glb_file *g, struct err *e)
{
	struct geo_scene *s = g->out;
	uint64_t work = 0;
	int rc = 0;

	s->nskins = g->skins.n;
	s->skin = arena_alloc(g->a, (size_t)s->nskins + 1, sizeof *s->skin);
	if (!s->skin)
		return err_nomem(e);
	for (uint32_t i = 0; i < s->nskins && !rc; i++) {
		/* Each needs a mark for every node. */
		work += s->nnodes;
		if (work * sizeof(uint32_t) > LIMIT_DECODED / 4)
			return err_set(e, EFBIG, "%u skins and %u nodes are too many", s->nskins, s->nnodes);
		rc = read_skin(g, i, &s->skin[i], e);
	}
	work = 0;
	for (uint32_t i = 0; i < s->nnodes && !rc; i++) {
		if (s->node[i].mesh < 0)
			continue;
		for (uint32_t k = 0; k < s->mesh[s->node[i].mesh].nprimitives && work <= LIMIT_DECODED; k++)
			work += s->mesh[s->node[i].mesh].primitive[k].nvertices + (uint64_t)1;
		rc = work <= LIMIT_DECODED ? check_joints(s, &s->node[i], e) :
		     err_set(e, EFBIG, "the nodes show more than %zu vertices", LIMIT_DECODED);
	}
	return rc;
}

/* ---- pictures ---- */

static int read_image(struct glb_file *g, uint32_t i, struct scene_image *image, struct err *e)
{
	const struct glb_what what = { "image", i };
	const cJSON *o = g->images.v[i], *uri = cJSON_GetObjectItemCaseSensitive(o, "uri");
	struct glb_view view;
	int32_t number = -1;
	int rc = glb_get_name(g, o, &image->name, e);

	rc = rc ? rc : glb_get_index(o, "bufferView", what, g->views.n, &number, e);
	if (!rc && number >= 0) {
		rc = glb_view_get(g, (uint32_t)number, &view, e);
		image->bytes = rc ? NULL : view.p;
		image->n = rc ? 0 : (size_t)view.n;
	} else if (!rc && cJSON_IsString(uri)) {
		rc = glb_read_uri(g, uri->valuestring, what, &image->bytes, &image->n, e);
	}
	image->png = image->n >= 8 && !memcmp(image->bytes, "\x89PNG\r\n\x1a\n", 8);
	return rc;
}

static int read_material(struct glb_file *g, uint32_t i, struct scene_material *m, struct err *e)
{
	const struct glb_what what = { "material", i };
	const cJSON *o = g->materials.v[i];
	const cJSON *surface = cJSON_GetObjectItemCaseSensitive(o, "pbrMetallicRoughness");
	const cJSON *colour = cJSON_GetObjectItemCaseSensitive(surface, "baseColorTexture");
	int32_t texture = -1;
	int rc = glb_get_name(g, o, &m->name, e);

	m->image = -1;
	rc = rc ? rc : glb_get_index(colour, "index", what, g->textures.n, &texture, e);
	if (!rc && texture >= 0)
		rc = glb_get_index(g->textures.v[texture], "source", (struct glb_what){ "texture", (uint32_t)texture },
				   g->images.n, &m->image, e);
	return rc;
}

int glb_read_pictures(struct glb_file *g, struct err *e)
{
	struct geo_scene *s = g->out;
	int rc = 0;

	s->nimages = g->images.n;
	s->nmaterials = g->materials.n;
	s->image = arena_alloc(g->a, (size_t)s->nimages + 1, sizeof *s->image);
	s->material = arena_alloc(g->a, (size_t)s->nmaterials + 1, sizeof *s->material);
	if (!s->image || !s->material)
		return err_nomem(e);
	for (uint32_t i = 0; i < s->nimages && !rc; i++)
		rc = read_image(g, i, &s->image[i], e);
	for (uint32_t i = 0; i < s->nmaterials && !rc; i++)
		rc = read_material(g, i, &s->material[i], e);
	return rc;
}
