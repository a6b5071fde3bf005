/* An edited OBJ of a JOM: values are written over those stored, faces that are others, new or gone change their
 * polygons (views-jom.md, edits). Everything else of the geometry stays as it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jom_put.h"
#include "match.h"
#include "near.h"

struct put {
	struct object *o;
	const struct jom_model *m;
	struct jom_geometry g;
	struct jom_shown shown;
	struct jom_text text;
	struct near points, faces;             /* of the mesh as it is stored; built when they are needed */
	uint32_t nfaces;                       /* polygons that are shown as faces */
	uint32_t guessed;                      /* faces whose group or material is that of a neighbour */
	struct arena a;
	struct err *e;
};

/* ---- neighbours ---- */

static void middle(const struct put *x, uint32_t polygon, float out[3])
{
	for (unsigned k = 0; k < 3; k++) {
		double sum = 0;

		for (unsigned c = 0; c < 4; c++)
			sum += jom_i32(jom_row(x->m, JOM_PNTS, jom_corner(x->m, polygon, c)) + 4 * (size_t)k);
		out[k] = (float)(sum / (4 * JOM_FIXED));
	}
}

static int build_faces(struct put *x)
{
	float (*at)[3] = arena_alloc(&x->a, (size_t)x->shown.npolygons + 1, sizeof *at);

	if (x->faces.spot)
		return 0;
	for (uint32_t i = 0; i < x->shown.npolygons && at; i++)
		middle(x, x->shown.polygon[i], at[i]);
	if (!at || !near_build(&x->faces, (const float (*)[3])at, NULL, x->shown.npolygons, &x->a))
		return err_nomem(x->e);
	return 0;
}

static int build_points(struct put *x)
{
	float (*at)[3] = arena_alloc(&x->a, (size_t)x->shown.npoints + 1, sizeof *at);

	if (x->points.spot)
		return 0;
	for (uint32_t i = 0; i < x->shown.npoints && at; i++) {
		const uint8_t *raw = jom_row(x->m, JOM_PNTS, x->shown.point[i]);

		for (unsigned k = 0; k < 3; k++)
			at[i][k] = (float)(jom_i32(raw + 4 * (size_t)k) / JOM_FIXED);
	}
	if (!at || !near_build(&x->points, (const float (*)[3])at, NULL, x->shown.npoints, &x->a))
		return err_nomem(x->e);
	return 0;
}

/* Of corner c; a triangle has its last one twice. */
static uint32_t vertex_of(const struct jom_face *f, unsigned c)
{
	return f->corner[c == 3 && f->n == 3 ? 2 : c].v;
}

/* The stored polygon nearest to a face; NULL: the mesh has none. */
static const struct jom_polygon *nearest_polygon(struct put *x, const struct jom_face *f)
{
	const struct near_spot *spot;
	float at[3];

	for (unsigned k = 0; k < 3; k++) {
		double sum = 0;

		for (unsigned c = 0; c < 4; c++)
			sum += x->text.position[vertex_of(f, c)][k].v;
		at[k] = (float)(sum / 4);
	}
	spot = near_find(&x->faces, at);
	return spot ? &x->g.polygon[x->shown.polygon[x->faces.item[spot->first]]] : NULL;
}

/* ---- points ---- */

static int put_points(struct put *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->text.put->nvertices && !rc; i++) {
		struct jom_point *p = x->text.point[i] == GEO_NONE ? NULL : &x->g.point[x->text.point[i]];
		int32_t was[3];

		if (!p || p->from != GEO_NONE)
			continue;
		p->from = i;
		memcpy(was, p->at, sizeof was);
		rc = jom_take_turned(x->text.position[i], p->at, x->text.put->vertex_line[i], x->e);
		p->moved = memcmp(was, p->at, sizeof was) != 0;
	}
	return rc;
}

static int add_point(struct put *x, uint32_t vertex)
{
	struct jom_point *p = &x->g.point[x->g.npoints];
	const struct near_spot *spot;
	float at[3];
	int rc = build_points(x);

	*p = (struct jom_point){ .old = GEO_NONE, .from = vertex, .like = GEO_NONE };
	rc = rc ? rc : jom_make_turned(x->text.position[vertex], p->at, x->text.put->vertex_line[vertex], x->e);
	if (rc)
		return rc;
	for (unsigned k = 0; k < 3; k++)
		at[k] = (float)(p->at[k] / JOM_FIXED);
	spot = near_find(&x->points, at);
	if (spot)
		p->like = x->shown.point[x->points.item[spot->first]];
	x->text.point[vertex] = x->g.npoints++;
	x->g.rearranged = true;
	return 0;
}

/* A mesh of polygons without a group shows no point that they do not use: it would be lost. */
static int add_points(struct put *x)
{
	uint32_t n = x->text.put->nvertices, mesh = x->text.mesh;
	bool all = mesh == MESH_WHOLE || x->m->meshes[mesh].whole || x->m->meshes[mesh].group != GEO_NONE;
	uint8_t *used = arena_alloc(&x->a, (size_t)n + 1, 1);
	int rc = used ? 0 : err_nomem(x->e);

	for (uint32_t f = 0; f < x->text.put->nfaces && used; f++)
		for (unsigned c = 0; c < x->text.face[f].n; c++)
			used[x->text.face[f].corner[c].v] = 1;
	for (uint32_t i = 0; i < n && !rc; i++)
		if (x->text.point[i] == GEO_NONE && (all || used[i]))
			rc = add_point(x, i);
	return rc;
}

/* ---- faces ---- */

/* Corners of the face as points; of a triangle the last one twice. */
static void points_of(const struct put *x, const struct jom_face *f, uint32_t out[4])
{
	for (unsigned c = 0; c < 4; c++)
		out[c] = x->text.point[vertex_of(f, c)];
}

/* The corner of a polygon that has a point; 4: none. */
static unsigned corner_at(const uint32_t corner[4], uint32_t point)
{
	unsigned c = 0;

	while (c < 4 && corner[c] != point)
		c++;
	return c;
}

/* Whether the polygon shows the face, whichever corner comes first. */
static bool shows(const struct put *x, const struct jom_polygon *p, const struct jom_face *f)
{
	unsigned c[4], n = jom_face(x->m, p->old, c), first = 0;

	while (first < n && p->corner[c[first ? n - first : 0]] != x->text.point[f->corner[0].v])
		first++;
	if (n != f->n || first == n)
		return false;
	for (unsigned k = 1; k < n; k++) {
		unsigned at = (first + k) % n;

		if (p->corner[c[at ? n - at : 0]] != x->text.point[f->corner[k].v])
			return false;
	}
	return true;
}

/* How far to turn the face so that most of its corners are where the polygon has them. */
static unsigned best_turn(const struct jom_face *f, const uint32_t point[4], const struct jom_polygon *p)
{
	unsigned best = 0, most = 0;

	for (unsigned first = 0; first < f->n && !f->starts; first++) {
		unsigned same = 0;

		for (unsigned c = 0; c < f->n; c++)
			same += p->corner[c] == point[(first + c) % f->n];
		if (same > most) {
			most = same;
			best = first;
		}
	}
	return best;
}

/* New corners; what a corner has goes with its point. */
static void set_corners(const struct jom_face *f, const uint32_t point[4], unsigned first, struct jom_polygon *p)
{
	const struct jom_polygon was = *p;

	for (unsigned c = 0; c < 4; c++) {
		unsigned at = c < f->n ? c : f->n - 1u, from;

		p->corner[c] = point[(first + at) % f->n];
		from = corner_at(was.corner, p->corner[c]);
		p->normals[c] = was.normals[from < 4 ? from : c];
		p->gouraud[c] = was.gouraud[from < 4 ? from : c];
	}
}

static void put_face(struct put *x, uint32_t i)
{
	struct jom_face *f = &x->text.face[i];
	struct jom_polygon *p = &x->g.polygon[f->polygon];
	uint32_t point[4];

	p->face = i;
	if (f->material != GEO_NONE)
		p->material = (uint16_t)f->material;
	points_of(x, f, point);
	if (shows(x, p, f)) {
		if (f->starts && p->corner[0] != point[0])
			set_corners(f, point, 0, p);
		return;
	}
	p->other = true;
	set_corners(f, point, best_turn(f, point, p), p);
}

static int add_face(struct put *x, uint32_t i)
{
	struct jom_face *f = &x->text.face[i];
	struct jom_polygon *p = &x->g.polygon[x->g.npolygons];
	bool whole = x->text.mesh == MESH_WHOLE, grouped = !whole || f->group != GEO_NONE || !x->g.ngroups;
	bool named = f->material != GEO_NONE || x->m->table[JOM_MATL].n == 1, guess = !grouped || !named;
	const struct jom_polygon *like;

	if (!x->m->table[JOM_MATL].n)
		return err_line(x->e, EINVAL, x->text.put->face_line[i], 0,
				"there is no material; add one in materials.yaml");
	if (guess && build_faces(x))
		return -ENOMEM;
	like = guess ? nearest_polygon(x, f) : NULL;
	x->guessed += guess && like;
	*p = (struct jom_polygon){ .old = GEO_NONE, .face = i, .other = true };
	p->material = (uint16_t)(f->material != GEO_NONE ? f->material : like ? like->material : 0);
	if (!whole)
		p->group = x->m->meshes[x->text.mesh].group;
	else if (f->group == GEO_NONE)
		p->group = like ? like->group : GEO_NONE;
	else
		p->group = f->group == JOM_UNGROUPED ? GEO_NONE : f->group;
	points_of(x, f, p->corner);
	f->polygon = x->g.npolygons++;
	x->g.rearranged = true;
	return 0;
}

static int put_faces(struct put *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->text.put->nfaces && !rc; i++) {
		if (!x->text.face[i].n)
			continue;
		if (x->text.face[i].polygon != GEO_NONE)
			put_face(x, i);
		else
			rc = add_face(x, i);
	}
	return rc;
}

/* ---- what is gone ---- */

static void remove_polygons(struct put *x)
{
	unsigned c[4];

	for (uint32_t i = 0; i < x->shown.npolygons; i++) {
		struct jom_polygon *p = &x->g.polygon[x->shown.polygon[i]];

		p->gone = p->face == GEO_NONE && !x->text.stays[p->old] && jom_face(x->m, p->old, c);
		x->g.rearranged |= p->gone;
	}
}

/* Points that faces used, that the text has no more and nothing else needs. Those that no face used are dropped by
 * programs, which is no edit. */
static int remove_points(struct put *x)
{
	uint8_t *used = arena_alloc(&x->a, (size_t)x->g.npoints + 1, 1);

	if (!used)
		return err_nomem(x->e);
	for (uint32_t i = 0; i < x->g.npolygons; i++)
		for (unsigned c = 0; c < 4; c++) {
			if (x->g.polygon[i].old != GEO_NONE)
				used[jom_corner(x->m, x->g.polygon[i].old, c)] |= 1;
			if (!x->g.polygon[i].gone)
				used[x->g.polygon[i].corner[c]] |= 2;
		}
	for (uint32_t i = 0; i < x->shown.npoints; i++) {
		struct jom_point *p = &x->g.point[x->shown.point[i]];

		p->gone = p->from == GEO_NONE && used[x->shown.point[i]] == 1;
		x->g.rearranged |= p->gone;
	}
	return 0;
}

/* ---- messages ---- */

/* Axes and units of the text. */
static bool say_moved(struct put *x)
{
	uint32_t n = x->shown.npoints;
	float (*position)[3] = arena_alloc(&x->a, (size_t)n + 1, sizeof *position);
	struct geo_matched *v = arena_alloc(&x->a, (size_t)n + 1, sizeof *v);
	struct geo_mesh was = { .nvertices = n, .position = position };
	char text[160];
	bool any = false;

	if (!position || !v)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *raw = jom_row(x->m, JOM_PNTS, x->shown.point[i]);

		v[i].from = x->g.point[x->shown.point[i]].from;
		any |= x->g.point[x->shown.point[i]].moved;
		for (unsigned k = 0; k < 3; k++)
			position[i][k] = (float)((k ? -1 : 1) * (jom_i32(raw + 4 * (size_t)k) / JOM_FIXED));
	}
	if (!any || !geo_moved(&was, x->text.put, v, text, sizeof text))
		return true;
	if (x->text.mesh == MESH_WHOLE)
		object_say(x->o, "model: %s", text);
	else
		object_say(x->o, "mesh %u: %s", x->text.mesh, text);
	return true;
}

static void say_left_out(const struct put *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->text.put->nvertices; i++)
		n += x->text.point[i] == GEO_NONE;
	if (n)
		object_say(x->o, "%u vertices that no face uses are left out", n);
	if (x->guessed)
		object_say(x->o, "%u faces do not say their group or material: they are those of the nearest polygon",
			   x->guessed);
}

/* ---- all of it ---- */

static int check_text(const struct put *x)
{
	const struct geo_put *put = x->text.put;
	int rc = jom_count(put->nvertices, x->shown.npoints > JOM_MOST ? x->shown.npoints : JOM_MOST, "points", x->e);

	return rc ? rc : jom_count(put->nfaces, x->shown.npolygons > JOM_MOST ? x->shown.npolygons : JOM_MOST,
				   "polygons", x->e);
}

/* Rather a text that was cut off than meant. */
static int check_faces(const struct put *x)
{
	if (!x->nfaces || x->text.nfaces)
		return 0;
	return err_set(x->e, EINVAL, "no faces, there are %u", x->nfaces);
}

static int load(struct put *x, uint32_t mesh, const struct geo_put *put)
{
	unsigned c[4];
	int rc = jom_mesh_shown(x->m, mesh, &x->shown, &x->a, x->e);

	x->text.put = put;
	rc = rc ? rc : check_text(x);
	rc = rc ? rc : jom_geometry_load(x->o, put->nvertices, put->nfaces, put->nnormals + 4 * put->nfaces, &x->g,
					 &x->a, x->e);
	rc = rc ? rc : jom_text_read(x->m, mesh, put, &x->text, &x->a, x->e);
	for (uint32_t i = 0; i < x->shown.npolygons && !rc; i++)
		x->nfaces += jom_face(x->m, x->shown.polygon[i], c) > 0;
	return rc ? rc : check_faces(x);
}

static int change(struct put *x)
{
	bool same = false;
	int rc = jom_match(&x->g, &x->shown, &x->text, &same, x->e);

	rc = rc ? rc : check_faces(x);
	rc = rc ? rc : put_points(x);
	if (!rc && !same)
		rc = add_points(x);
	rc = rc ? rc : put_faces(x);
	if (!rc && !same) {
		remove_polygons(x);
		rc = remove_points(x);
	}
	if (!rc && x->g.rearranged)
		rc = jom_can_arrange(&x->g, x->e);
	rc = rc ? rc : jom_put_colours(&x->g, &x->text, x->e);
	return rc ? rc : jom_put_normals(&x->g, &x->text, x->e);
}

static int put_mesh(struct put *x, uint32_t mesh, const struct geo_put *put)
{
	int32_t sphere[4];
	int rc = load(x, mesh, put);

	rc = rc ? rc : change(x);
	if (rc)
		return rc;
	if (!say_moved(x))
		return err_nomem(x->e);
	say_left_out(x);
	jom_face_normals(&x->g);
	jom_sphere(&x->g, sphere);
	if (x->g.rearranged)
		rc = jom_arrange(&x->g, &x->text, x->e);
	return rc ? rc : jom_geometry_store(&x->g, sphere, x->e);
}

int jom_mesh_put(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	struct put x = { .o = o, .m = jom_of(o), .e = e };
	int rc = put_mesh(&x, mesh, put);

	arena_free(&x.a);
	return rc;
}
