/* An edited mesh with the topology it had: values are written over the stored vertices, and only those that changed
 * (views.md 4). Everything else of the geometry stays as it is. */
#include <string.h>

#include "pmo_vertex.h"

struct edit {
	struct object *o;
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	const struct geo_put *put;
	struct geo_mesh was;
	struct pmo_run *run;                   /* mesh->group_count */
	struct geo_match match;
	struct pmo_window win;
	struct pmo_wishes wishes;
	uint32_t no_colours;                   /* vertices that are given one and have no place for it */
	bool morphed;                          /* a vertex with further morph targets was changed */
	bool redrawn;                          /* a vertex that faces use was changed */
};

/* A vertex on its way. */
struct vertex {
	const struct pmo_run *run;
	const struct geo_matched *corner;
	uint32_t i;                            /* number in the mesh */
	uint64_t at;
	const uint8_t *was;
	uint8_t want[128];
};

/* ---- vertices ---- */

/* The bytes [from, from + n) of the vertex have been decided. */
static void wish(struct edit *x, struct vertex *v, unsigned from, unsigned n)
{
	bool changed = memcmp(v->was + from, v->want + from, n);

	x->morphed |= changed && v->run->scan.vertex.morphs > 1;
	x->redrawn |= changed && v->corner->drawn;
	pmo_wish(&x->wishes, v->at + from, v->was + from, v->want + from, n, v->corner->line, !v->corner->drawn);
}

/* `count` components of a field, likewise. */
static void wish_field(struct edit *x, struct vertex *v, const struct ge_field *f, unsigned count)
{
	wish(x, v, f->at, count * pmo_component_size(f));
}

static struct geo_given given_of(const struct edit *x, const struct vertex *v)
{
	const struct geo_matched *c = v->corner;
	const struct geo_corner numbers = { c->from, c->uv, c->normal };
	struct geo_given given = geo_given(x->put, &numbers, c->line);

	if (c->mixed)
		given.normal = x->match.mean[v->i];
	given.foreign_normals = x->match.foreign_normals;
	given.keeps_length = true;
	return given;
}

static int put_vertex(struct edit *x, struct vertex *v, struct err *e)
{
	const struct ge_vertex *type = &v->run->scan.vertex;
	const struct geo_given given = given_of(x, v);
	int rc = pmo_vertex_put(x->p, x->mesh, type, &given, true, v->want, e);

	if (rc)
		return rc;
	wish_field(x, v, &type->position, 3);
	if (given.uv)
		wish_field(x, v, &type->uv, 2);
	if (given.normal)
		wish_field(x, v, &type->normal, 3);
	if (given.colour && type->colour.format)
		wish(x, v, type->colour.at, type->colour.format == 7 ? 4 : 2);
	x->no_colours += given.colour && !type->colour.format;
	return 0;
}

static int put_run(struct edit *x, const struct pmo_run *r, struct err *e)
{
	const struct ge_vertex *type = &r->scan.vertex;
	int rc = 0;

	for (uint32_t i = 0; i < r->scan.vertices && !rc; i++) {
		struct vertex v = { .run = r, .i = r->first + i, .corner = &x->match.v[r->first + i] };

		if (v.corner->from == GEO_NONE)
			continue;
		v.at = x->p->group[r->group].vertex_buffer + (uint64_t)i * type->stride;
		rc = pmo_window(x->p, &x->win, v.at, type->size, &v.was, e);
		if (rc)
			return rc;
		memcpy(v.want, v.was, type->size);
		rc = put_vertex(x, &v, e);
	}
	return rc;
}

/* ---- meshes ---- */

static void tell(const struct edit *x, uint32_t mesh)
{
	if (x->match.no_uvs)
		object_say(x->o, "mesh %u: %u corners are given texture coordinates, their vertex type has none", mesh,
			   x->match.no_uvs);
	if (x->match.no_normals)
		object_say(x->o, "mesh %u: %u corners are given normals, their vertex type has none", mesh,
			   x->match.no_normals);
	if (x->no_colours)
		object_say(x->o, "mesh %u: %u vertices are given colours, their vertex type has none", mesh,
			   x->no_colours);
	if (x->match.other_material)
		object_say(x->o,
			   "mesh %u: %u faces name another material than their group's, which meshes/%u.yaml sets",
			   mesh, x->match.other_material, mesh);
	if (x->morphed)
		object_say(x->o, "mesh %u: only the first morph target was changed", mesh);
}

static int put_values(struct edit *x, uint32_t mesh, struct err *e)
{
	char text[160];
	int rc = pmo_runs_overlap(x->p, x->run, x->mesh->group_count, e);

	if (rc < 0)
		return rc;
	x->wishes.shared = rc > 0;
	rc = 0;
	if (geo_moved(&x->was, x->put, x->match.v, text, sizeof text))
		object_say(x->o, "mesh %u: %s", mesh, text);
	for (uint32_t k = 0; k < x->mesh->group_count && !rc; k++)
		rc = put_run(x, &x->run[k], e);
	/* Vertices can be matched in an order that only looks like the stored one, after an edit that added some. */
	if (!rc && x->redrawn)
		rc = pmo_draws(x->o, mesh, x->put, e);
	if (rc)
		return rc < 0 ? rc : 0;
	rc = pmo_grant(x->o, &x->wishes, e);
	if (!rc)
		tell(x, mesh);
	return rc;
}

/* The last one that begins at the vertex or before: those without vertices begin where the next one does. */
static const struct pmo_run *run_of(const struct edit *x, uint32_t vertex)
{
	uint32_t low = 0, high = x->mesh->group_count;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (x->run[mid].first <= vertex)
			low = mid;
		else
			high = mid;
	}
	return &x->run[low];
}

static bool normal_kept(void *ctx, uint32_t vertex, const struct geo_number given[3], float shown[3])
{
	struct edit *x = ctx;
	const struct pmo_run *r = run_of(x, vertex);
	const struct ge_vertex *type = &r->scan.vertex;
	const uint8_t *was;

	return !pmo_window(x->p, &x->win,
			   x->p->group[r->group].vertex_buffer + (uint64_t)(vertex - r->first) * type->stride,
			   type->size, &was, NULL) &&
	       pmo_vertex_normal(type, was, given, shown);
}

/* The vertices of groups whose type has no place for a value have no number in its stream. */
static int match(struct edit *x, struct arena *a, struct err *e)
{
	struct geo_stored stored = { .mesh = &x->was, .normal_kept = normal_kept, .ctx = x };
	uint32_t *uv = arena_alloc(a, (size_t)x->was.nvertices + 1, sizeof *uv);
	uint32_t *normal = arena_alloc(a, (size_t)x->was.nvertices + 1, sizeof *normal);

	if (!uv || !normal)
		return err_nomem(e);
	for (uint32_t k = 0; k < x->mesh->group_count; k++) {
		const struct pmo_run *r = &x->run[k];

		for (uint32_t i = 0; i < r->scan.vertices; i++) {
			uv[r->first + i] = r->scan.vertex.uv.format ? r->uv + i : GEO_NONE;
			normal[r->first + i] = r->scan.vertex.normal.format ? r->normal + i : GEO_NONE;
		}
	}
	stored.uv = uv;
	stored.normal = normal;
	return geo_match(&stored, x->put, &x->match, a, e);
}

static int put_mesh(struct edit *x, uint32_t mesh, struct arena *a, struct err *e)
{
	uint32_t n;
	int rc = pmo_mesh_geometry(x->o, mesh, &x->was, a, e);

	if (rc)
		return rc;
	x->run = arena_alloc(a, (size_t)x->mesh->group_count + 1, sizeof *x->run);
	rc = x->run ? pmo_runs(x->p, x->mesh, x->run, &x->win, &n, e) : err_nomem(e);
	if (!rc)
		rc = match(x, a, e);
	if (rc > 0)
		return put_values(x, mesh, e);
	return rc ? rc : pmo_rebuild(x->o, mesh, x->put, e);
}

int pmo_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct pmo *p = o->priv;
	struct edit x = { .o = o, .p = p, .put = put };
	struct arena a = { 0 };
	int rc = pmo_mesh_sound(o, mesh, e);

	if (rc)
		return rc;
	x.mesh = &p->mesh[mesh];
	rc = put_mesh(&x, mesh, &a, e);
	buf_free(&x.win.bytes);
	buf_free(&x.wishes.v);
	arena_free(&a);
	return rc;
}
