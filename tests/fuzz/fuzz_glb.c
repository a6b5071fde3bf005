/* GLB files: what is read has numbers in range and finite values, curves can be sampled, and each of its meshes can be
 * compared with a small stored one; what comes out is an edit in range. */
#include <math.h>
#include <string.h>

#include "export.h"
#include "fuzz.h"

static void ensure(bool ok)
{
	if (!ok)
		abort();
}

static void check_floats(const float *v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		ensure(isfinite(v[i]));
}

static void check_primitive(const struct geo_scene *s, const struct scene_primitive *p)
{
	size_t n = p->nvertices;

	check_floats(n ? *p->position : NULL, 3 * n);
	check_floats(p->normal && n ? *p->normal : NULL, 3 * n);
	check_floats(p->tangent && n ? *p->tangent : NULL, 4 * n);
	check_floats(p->colour && n ? *p->colour : NULL, 4 * n);
	check_floats(p->weight && n ? *p->weight : NULL, 4 * n * p->nsets);
	for (unsigned k = 0; k < GEO_UV_SETS; k++)
		check_floats(p->uv[k] && n ? *p->uv[k] : NULL, 2 * n);
	for (uint32_t f = 0; f < p->nfaces; f++)
		for (unsigned c = 0; c < 3; c++)
			ensure(p->face[f][c] < n);
	ensure(p->material < (int32_t)s->nmaterials && p->nsets <= SCENE_JOINT_SETS);
}

static void check_node(const struct geo_scene *s, uint32_t i)
{
	const struct scene_node *n = &s->node[i];
	uint32_t steps = 0;

	check_floats(n->move, 3);
	check_floats(n->turn, 4);
	check_floats(n->scale, 3);
	ensure(n->mesh < (int32_t)s->nmeshes && n->skin < (int32_t)s->nskins);
	for (int32_t up = n->parent; up >= 0; up = s->node[up].parent)
		ensure(steps++ < s->nnodes);
}

static void check_clip(const struct geo_scene *s, const struct scene_clip *c)
{
	float out[4];

	for (uint32_t i = 0; i < c->nchannels; i++) {
		ensure(c->channel[i].node < s->nnodes && c->channel[i].path <= SCENE_SCALE);
		scene_sample(&c->channel[i], 0.5, out);
	}
}

static void check_scene(const struct geo_scene *s)
{
	for (uint32_t i = 0; i < s->nmeshes; i++)
		for (uint32_t k = 0; k < s->mesh[i].nprimitives; k++)
			check_primitive(s, &s->mesh[i].primitive[k]);
	for (uint32_t i = 0; i < s->nnodes && i < 1000; i++)
		check_node(s, i);
	for (uint32_t i = 0; i < s->nskins; i++)
		for (uint32_t k = 0; k < s->skin[i].njoints; k++)
			ensure(s->skin[i].joint[k] < s->nnodes);
	for (uint32_t i = 0; i < s->nclips; i++)
		check_clip(s, &s->clip[i]);
}

/* ---- against a stored mesh ---- */

static float position[5][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 }, { 2, 2, 2 } };
static float normal[15] = { 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0 };
static float uv[10] = { 0, 0, 1, 0, 1, 1, 0, 1, 0.5f, 0.5f };
static uint32_t face[2][3] = { { 0, 1, 2 }, { 0, 2, 3 } };
static struct geo_part parts[2] = { { 0, 0, 1, NULL, false }, { 1, 1, 1, NULL, false } };
static uint8_t ninfluences[5] = { 1, 2, 1, 1, 1 };
static uint32_t first[5] = { 0, 1, 3, 4, 5 };
static int32_t joint[6] = { 0, 0, 1, 1, 0, 1 };
static float weight[6] = { 1, 0.25f, 0.75f, 1, 1, 1 };
static struct geo_joint joints[2] = {
	{ .name = "bone_0", .parent = -1, .turn = { 0, 0, 0, 1 }, .scale = { 1, 1, 1 } },
	{ .name = "bone_1", .parent = 0, .move = { 0, 1, 0 }, .turn = { 0, 0, 0, 1 }, .scale = { 1, 1, 1 } },
};

static void check_edit(const struct glb_edit *edit)
{
	const struct geo_put *put = &edit->put;

	for (uint32_t i = 0; i < put->nvertices; i++)
		for (unsigned k = 0; k < 3; k++)
			ensure(isfinite(put->position[i][k].v));
	for (uint32_t f = 0; f < put->nfaces; f++)
		for (unsigned c = 0; c < 3; c++) {
			const struct geo_corner *n = &put->face[f][c];

			ensure(n->v < put->nvertices && (n->uv == GEO_NONE || n->uv < put->nuvs));
			ensure(n->normal == GEO_NONE || n->normal < put->nnormals);
		}
	for (uint32_t i = 0; edit->weights && i < edit->pairs.nvertices; i++)
		for (uint32_t k = 0; k < edit->pairs.npairs[i]; k++)
			ensure(isfinite(edit->pairs.weight[edit->pairs.first[i] + k].v));
}

static void compare(const struct geo_scene *s, uint32_t node)
{
	struct geo_stream streams[2] = { { .attr = GEO_UV, .comps = 2, .count = 5, .v = uv },
					 { .attr = GEO_NORMAL, .comps = 3, .count = 5, .v = normal } };
	const struct geo_mesh m = {
		.nvertices = 5, .nfaces = 2, .position = position, .face = face, .streams = streams, .nstreams = 2,
		.parts = parts, .nparts = 2, .skinned = true, .ninfluences = ninfluences, .first_influence = first,
		.joint = joint, .weight = weight,
	};
	const struct geo_material materials[2] = { { .name = "material_0", .image = -1 },
						   { .name = "material_1", .image = -1 } };
	const struct geo_form form = { 0 };
	const struct geo_skeleton skeleton = { 2, joints };
	const struct glb_shown was = { 0, NULL, &m, &m, materials, &form, &skeleton };
	struct arena a = { 0 };
	struct glb_edit edit;
	struct err why = { 0 };
	uint32_t n = s->node[node].skin < 0 ? 0 : s->skin[s->node[node].skin].njoints;
	int32_t *bone = arena_alloc(&a, (size_t)n + 1, sizeof *bone);
	int rc;

	for (uint32_t k = 0; bone && k < n; k++)
		bone[k] = (int32_t)(k % 3) - 1;
	rc = glb_compare(s, node, &was, bone, &edit, &a, &why);
	ensure(!rc || ((rc == -EINVAL || rc == -EFBIG || rc == -ENOMEM) && why.text[0]));
	if (!rc)
		check_edit(&edit);
	arena_free(&a);
}

static void compare_bones(const struct geo_scene *s)
{
	const struct geo_skeleton was = { 2, joints };
	struct geo_skeleton now;
	struct arena a = { 0 };
	uint32_t node[2] = { s->nnodes > 0, s->nnodes > 1 ? 2 : 0 };
	uint8_t change[3] = { 0 };

	glb_compare_bones(s, &was, node, &now, change, &a, NULL);
	arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct geo_scene s;
	struct err why = { 0 };
	int rc = glb_read(data, size, &s, &a, &why);

	ensure(!rc || ((rc == -EINVAL || rc == -EFBIG || rc == -ENOMEM) && why.text[0]));
	if (!rc) {
		check_scene(&s);
		for (uint32_t i = 0; i < s.nnodes && i < 4; i++)
			if (s.node[i].mesh >= 0)
				compare(&s, i);
		compare_bones(&s);
	}
	arena_free(&a);
	return 0;
}
