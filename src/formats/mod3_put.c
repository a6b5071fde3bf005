/* An edited MOD3 mesh with the topology it had: values are written over the stored vertices, and only those that
 * changed (views.md 4). Its indices may reach vertices of its neighbours, which are then moved with it. */
#include <string.h>

#include "mod3_write.h"

struct edit {
	struct object *o;
	const struct mod3 *m;
	uint32_t number;
	const struct mod3_mesh *mesh;
	const struct geo_put *put;
	struct mod3_window win;
	struct geo_mesh was;
	struct geo_match match;
	struct arena *a;
	uint32_t no_colours;                   /* vertices that are given one and have no place for it */
};

/* ---- vertices ---- */

static int put_vertex(struct edit *x, const struct weld_type *type, uint32_t i, uint8_t *vertex, struct err *e)
{
	const struct geo_matched *c = &x->match.v[i];
	const struct geo_corner numbers = { c->from, c->uv, c->normal };
	struct geo_given given = geo_given(x->put, &numbers, c->line);

	if (c->mixed)
		given.normal = x->match.mean[i];
	given.foreign_normals = x->match.foreign_normals;
	given.keeps_length = true;
	x->no_colours += given.colour && !x->mesh->block->colour;
	return type->put(type->ctx, &given, true, vertex, e);
}

/* The window's vertices, in the vertex buffer of the edit. */
static int put_vertices(struct edit *x, uint8_t *buffer, struct err *e)
{
	struct weld_type type = mod3_weld_type(x->mesh->block);
	uint8_t *v = mod3_window_in(x->m, x->mesh, &x->win, buffer);
	int rc = 0;

	for (uint32_t i = 0; i < x->win.n && !rc; i++)
		if (x->match.v[i].from != GEO_NONE)
			rc = put_vertex(x, &type, i, v + (size_t)i * type.stride, e);
	return rc;
}

/* ---- meshes ---- */

void mod3_say_colours(const struct object *o, uint32_t mesh, uint32_t n)
{
	const struct mod3_block *b = ((const struct mod3 *)o->priv)->mesh[mesh].block;
	const char *with = "";

	for (unsigned k = 0; k < MOD3_BLOCKS; k++)
		if (mod3_blocks[k].colour && mod3_blocks[k].uvs == b->uvs && mod3_blocks[k].slots == b->slots)
			with = mod3_blocks[k].name;
	object_say(o, "mesh %u: %u vertices are given colours, which %s has no place for; `block_type: %s` in "
		   "meshes/%u.yaml first makes room", mesh, n, b->name, with, mesh);
}

static void tell(const struct edit *x)
{
	if (x->no_colours)
		mod3_say_colours(x->o, x->number, x->no_colours);
	if (x->match.other_material)
		object_say(x->o,
			   "mesh %u: %u faces name another material, which `material_index` in meshes/%u.yaml sets",
			   x->number, x->match.other_material, x->number);
}

static int put_values(struct edit *x, struct err *e)
{
	const struct mod3_table *t = &x->m->table[MOD3_VERTICES];
	struct mod3_moves moves = { .a = x->a };
	struct mod3_scene was, now;
	uint8_t *buffer;
	char text[160];
	int rc = mod3_scene(x->o, &was, x->a, e);

	if (geo_moved(&x->was, x->put, x->match.v, text, sizeof text))
		object_say(x->o, "mesh %u: %s", x->number, text);
	rc = rc ? rc : mod3_scene_copy(x->m, &was, &now, &buffer, x->a, e);
	rc = rc ? rc : put_vertices(x, buffer, e);
	if (!rc && t->size)
		rc = object_patch(x->o, 0, t->at, buffer, t->size, "vertices", e);
	rc = rc ? rc : mod3_follow(x->o, &was, &now, &moves, e);
	rc = rc ? rc : mod3_moves_do(x->o, &moves, e);
	if (!rc)
		tell(x);
	return rc;
}

static int put_mesh(struct edit *x, struct err *e)
{
	struct geo_stored stored = { .mesh = &x->was, .normal_kept = mod3_normal_kept };
	int rc = mod3_geometry(x->o, x->number, &x->win, &x->was, x->a, e);

	rc = rc ? rc : geo_match(&stored, x->put, &x->match, x->a, e);
	if (rc > 0)
		return put_values(x, e);
	return rc ? rc : mod3_rebuild(x->o, x->number, x->put, e);
}

int mod3_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct mod3 *m = o->priv;
	struct arena a = { 0 };
	struct edit x = { .o = o, .m = m, .number = mesh, .put = put, .a = &a };
	int rc = mod3_mesh_sound(o, mesh, e);

	if (rc)
		return rc;
	x.mesh = &m->mesh[mesh];
	rc = put_mesh(&x, e);
	arena_free(&a);
	return rc;
}
