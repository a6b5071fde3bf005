/* An edited mesh with the topology it had: values are written over the stored vertices, and only those that changed
 * (views.md 4). */
#include <errno.h>
#include <string.h>

#include "mlp_write.h"

int mlp_form(struct object *o, uint32_t mesh, struct geo_form *out, struct arena *a, struct err *e)
{
	(void)mesh;
	(void)o;
	(void)a;
	(void)e;
	*out = (struct geo_form){ .materials = true, .triangles = true, .holds = "only triangles" };
	return 0;
}

/* ---- vertices ---- */

static int put_vertex(const struct mlp_edit *x, const struct geo_match *match, uint32_t i, uint8_t *vertex,
		      struct err *e)
{
	const struct geo_matched *c = &match->v[i];
	const struct geo_corner numbers = { c->from, c->uv, c->normal };
	const struct weld_type type = mlp_weld_type(x->m, false);
	struct geo_given given = geo_given(&x->put, &numbers, c->line);

	if (c->mixed)
		given.normal = match->mean[i];
	given.foreign_normals = match->foreign_normals;
	given.keeps_length = true;
	return type.put(type.ctx, &given, true, vertex, e);
}

int mlp_put_vertices(const struct mlp_edit *x, const struct geo_match *match, uint8_t **out, struct err *e)
{
	size_t n = (size_t)x->mesh->nvertices * MLP_VERTEX_SIZE;
	int rc = 0;

	*out = arena_alloc(x->a, n + 1, 1);
	if (!*out)
		return err_nomem(e);
	memcpy(*out, x->s.vertices, n);
	for (uint32_t i = 0; i < x->mesh->nvertices && !rc; i++)
		if (match->v[i].from != GEO_NONE)
			rc = put_vertex(x, match, i, *out + (size_t)i * MLP_VERTEX_SIZE, e);
	return rc;
}

/* ---- meshes ---- */

static int put_values(struct mlp_edit *x, const struct geo_match *match, struct err *e)
{
	struct mlp_shape now = { .indices = x->s.indices, .nvertices = x->mesh->nvertices,
				 .nindices = x->mesh->nindices, .sub = x->m->sub + x->mesh->first_sub };
	uint32_t *part;
	uint8_t *vertices;
	char text[160];
	int rc = mlp_put_vertices(x, match, &vertices, e);

	now.vertices = vertices;
	rc = rc ? rc : mlp_shape_put(x, &now, e);
	rc = rc ? rc : mlp_parts_of(x, match, &part, e);
	rc = rc ? rc : mlp_materials_put(x, part, e);
	if (!rc && geo_moved(&x->was, &x->put, match->v, text, sizeof text))
		object_say(x->o, "mesh %u: %s", x->number, text);
	return rc;
}

/* 1: it has the topology that is stored. Faces with other corners can look like the same faces over other vertices that
 * are used; which of both is meant is what leaves more vertices where they are. */
static int match_mesh(struct mlp_edit *x, struct geo_match *match, struct err *e)
{
	struct geo_stored stored = { .mesh = &x->was, .normal_kept = mlp_normal_kept };
	struct geo_match by_number;
	int rc = geo_match(&stored, &x->put, match, x->a, e), other;

	if (rc <= 0)
		return rc;
	other = geo_match_vertices(&stored, &x->put, &by_number, x->a, e);
	return other < 0 ? other : !other || by_number.stays <= match->stays;
}

static int put_mesh(struct mlp_edit *x, const struct geo_put *put, struct err *e)
{
	struct geo_match match;
	int rc = mlp_geometry(x->o, x->number, &x->s, &x->was, x->a, e);

	if (!rc && put->nvertices > MLP_VERTICES_MOST && put->nvertices > x->mesh->nvertices)
		rc = mlp_too_many(put->nvertices, e);
	if (!rc && put->nnormals && !x->m->normals)
		object_say(x->o, "mesh %u: vn lines change nothing, as it is unknown how normals are packed; "
			   "meshes/%u.attr.csv has their words", x->number, x->number);
	rc = rc ? rc : mlp_names(x, put, e);
	rc = rc ? rc : match_mesh(x, &match, e);
	if (rc > 0)
		return put_values(x, &match, e);
	return rc ? rc : mlp_rebuild(x, e);
}

int mlp_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct mlp *m = o->priv;
	struct arena a = { 0 };
	struct mlp_edit x = { .o = o, .m = m, .number = mesh, .a = &a };
	int rc = mlp_rigid(o, mesh, e);

	if (rc)
		return rc;
	x.mesh = &m->mesh[mesh];
	rc = put_mesh(&x, put, e);
	arena_free(&a);
	return rc;
}
