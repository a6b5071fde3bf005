/* A mesh of a GLB as an edit of the stored one: what differs from what was shown is new, all else is given as it is
 * stored, so that no hook finds a change in it (views.md 4). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glbput.h"
#include "match.h"

bool glb_is_foreign(const struct geo_scene *scene)
{
	return strcmp(scene->generator, "modelfs") != 0;
}

/* ---- what was shown ---- */

static const struct geo_stream *find_stream(const struct geo_mesh *m, unsigned attr, unsigned set)
{
	for (unsigned i = 0; i < m->nstreams; i++)
		if (m->streams[i].attr == attr && m->streams[i].set == set)
			return &m->streams[i];
	return NULL;
}

/* The mesh goes through the same hands as when it was shown, so its numbers are those that were. */
static int show(struct making *x, struct err *e)
{
	const struct glb_shown *w = x->was;
	struct glb *g = NULL;
	uint64_t size;
	int rc = glb_begin(&g, w->skeleton, true, e);

	x->trace.a = x->a;
	if (!rc) {
		g->trace = &x->trace;
		rc = glb_mesh(g, w->number, w->name, w->full, w->of_part, e);
	}
	rc = rc ? rc : glb_end(g, &x->bytes, &size, e);
	glb_free(g);
	if (!rc && x->bytes.bad)
		rc = err_nomem(e);
	return rc ? rc : glb_read(x->bytes.p, x->bytes.len, &x->shown, x->a, e);
}

/* ---- places of nodes ---- */

static struct matrix rest_of(const struct scene_node *n)
{
	return matrix_placed(n->move, n->turn, n->scale);
}

/* False: it is where the model is. */
static bool find_world(const struct making *x, struct matrix *world)
{
	const struct scene_node *n = x->node;
	bool moved = false;

	/* What hangs on bones is where they are. */
	if (n->skin >= 0)
		return false;
	*world = rest_of(n);
	while (n->parent >= 0) {
		struct matrix up;

		n = &x->scene->node[n->parent];
		up = rest_of(n);
		*world = matrix_times(&up, world);
	}
	for (unsigned k = 0; k < 12; k++)
		moved |= !(fabs(world->v[k] - matrix_nowhere.v[k]) <= 1e-6);
	return moved;
}

/* ---- all of it ---- */

static double reach_of(const struct making *x)
{
	double most = 0;

	for (uint32_t i = 0; i < x->pair.was.nvertices; i++)
		for (unsigned k = 0; k < 3; k++)
			most = fmax(most, fabs((double)x->pair.was.position[i][k]));
	return x->pair.foreign ? 4e-6 * most : 0;
}

static int pair(struct making *x, struct err *e)
{
	static const struct scene_mesh nothing = { .name = "" };
	const struct scene_mesh *mesh = x->node->mesh < 0 ? &nothing : &x->scene->mesh[x->node->mesh];
	struct matrix world;
	bool moved = find_world(x, &world);
	int rc = soup_make(&x->pair.was, x->shown.nmeshes ? x->shown.mesh : &nothing, NULL, x->a, e);

	rc = rc ? rc : soup_make(&x->pair.now, mesh, moved ? &world : NULL, x->a, e);
	x->pair.trace = x->trace.prim;
	x->pair.scene_was = &x->shown;
	x->pair.scene_now = x->scene;
	x->pair.foreign = glb_is_foreign(x->scene);
	x->pair.reach = reach_of(x);
	return rc ? rc : glb_pair(&x->pair, x->a, e);
}

static int find_parts(struct making *x, struct err *e)
{
	const struct geo_mesh *m = x->was->plain;

	x->part_of = arena_alloc(x->a, (size_t)m->nfaces + 1, sizeof *x->part_of);
	if (!x->part_of)
		return err_nomem(e);
	for (uint32_t k = 0; k < m->nparts; k++)
		for (uint32_t f = m->parts[k].first_face; f < m->parts[k].first_face + m->parts[k].nfaces; f++)
			x->part_of[f] = k;
	x->uv = find_stream(m, GEO_UV, 0);
	x->normal = find_stream(m, GEO_NORMAL, 0);
	x->full_uv = find_stream(x->was->full, GEO_UV, 0);
	x->full_normal = find_stream(x->was->full, GEO_NORMAL, 0);
	return 0;
}

int glb_compare(const struct geo_scene *scene, uint32_t node, const struct glb_shown *was, const int32_t *bone,
		struct glb_edit *out, struct arena *a, struct err *e)
{
	struct making x = { .scene = scene, .node = &scene->node[node], .was = was, .out = out, .put = &out->put,
			    .a = a };
	int rc;

	*out = (struct glb_edit){ 0 };
	rc = show(&x, e);
	rc = rc ? rc : find_parts(&x, e);
	rc = rc ? rc : pair(&x, e);
	if (!rc) {
		out->same = x.pair.same;
		out->put.foreign_normals = x.pair.foreign;
		rc = put_find_mixed_up(&x) ? 0 : err_nomem(e);
	}
	if (!rc) {
		rc = x.pair.same ? put_keep_topology(&x, e) : put_change_topology(&x, e);
		out->tangents = x.turned;
	}
	if (!rc && x.torn[1])
		rc = err_set(e, EINVAL, "%.60s: vertices %u and %u are one vertex of the model, and have different "
			     "colours or texture coordinates of further sets", scene->node[node].name, x.torn[0],
			     x.torn[1]);
	rc = rc ? rc : glb_compare_weights(scene, &scene->node[node], was, bone, &x.pair, out, a, e);
	buf_free(&x.bytes);
	return rc;
}

void glb_say_where(const struct glb_edit *edit, const char *name, struct err *e)
{
	char was[sizeof e->text], *at = was, *line;
	size_t n;

	if (!e)
		return;
	memcpy(was, e->text, sizeof was);
	n = (size_t)snprintf(e->text, sizeof e->text, "%.60s: ", name);
	while ((line = strstr(at, "line ")) && n < sizeof e->text) {
		char *end;
		unsigned long number = strtoul(line + 5, &end, 10);
		bool vertex = number && number <= edit->put.nvertices;

		n += (size_t)snprintf(e->text + n, sizeof e->text - n, "%.*s", (int)(line - at), at);
		if (n < sizeof e->text && number && end > line + 5)
			n += (size_t)snprintf(e->text + n, sizeof e->text - n, "%s %lu", vertex ? "vertex" : "face",
					      vertex ? number - 1 : number - 1 - edit->put.nvertices);
		else if (n < sizeof e->text)
			n += (size_t)snprintf(e->text + n, sizeof e->text - n, "line ");
		at = end > line + 5 ? end : line + 5;
	}
	if (n < sizeof e->text)
		snprintf(e->text + n, sizeof e->text - n, "%s", at);
}
