/* A mesh of a GLB as an edit of the stored one: what differs from what was shown is new, all else is given as it is
 * stored, so that no hook finds a change in it (views.md 4). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glbput.h"
#include "match.h"

/* What the corners of a vertex that has one normal say of it. */
enum renewed { SAME_NORMAL, NEW_NORMAL, NO_NORMAL };

struct making {
	const struct geo_scene *scene;
	const struct scene_node *node;
	const struct glb_shown *was;
	struct geo_scene shown;                /* the mesh alone, read back */
	struct pairing pair;
	struct glb_trace trace;
	struct buf bytes;
	const struct geo_stream *uv, *normal, *full_uv, *full_normal;  /* of `plain` and of `full` */
	struct glb_edit *out;
	struct geo_put *put;
	uint32_t *part_of;                     /* of each stored face */
	uint8_t *renewed;                      /* of each stored vertex: enum renewed; NULL */
	uint32_t *giver;                       /* of each vertex of `put`: the first of the file + 1 that is it */
	uint32_t torn[2];                      /* vertices that are one, and have different values; torn[1] 0: none */
	bool turned;                           /* tangents are others */
	bool mixed_up;                         /* colours are: see find_mixed_up() */
	struct arena *a;
};

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

static void times(const double *a, const double *b, double *out)
{
	for (unsigned c = 0; c < 4; c++)
		for (unsigned r = 0; r < 3; r++)
			out[3 * c + r] = a[r] * b[3 * c] + a[3 + r] * b[3 * c + 1] + a[6 + r] * b[3 * c + 2] +
					 (c == 3 ? a[9 + r] : 0);
}

static void rest_of(const struct scene_node *n, double m[12])
{
	double x = n->turn[0], y = n->turn[1], z = n->turn[2], w = n->turn[3];
	const double v[12] = {
		1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w),
		2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w),
		2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y),
		n->move[0], n->move[1], n->move[2],
	};

	for (unsigned k = 0; k < 12; k++)
		m[k] = k < 9 ? v[k] * n->scale[k / 3] : v[k];
}

void glb_world(const struct geo_scene *s, uint32_t node, double world[12])
{
	rest_of(&s->node[node], world);
	while (s->node[node].parent >= 0) {
		double up[12], all[12];

		node = (uint32_t)s->node[node].parent;
		rest_of(&s->node[node], up);
		times(up, world, all);
		memcpy(world, all, sizeof all);
	}
}

/* False: it is where the model is. */
static bool find_world(const struct making *x, double world[12])
{
	static const double nowhere[12] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	bool moved = false;

	/* What hangs on bones is where they are. */
	if (x->node->skin >= 0)
		return false;
	glb_world(x->scene, (uint32_t)(x->node - x->scene->node), world);
	for (unsigned k = 0; k < 12; k++)
		moved |= !(fabs(world[k] - nowhere[k]) <= 1e-6);
	return moved;
}

/* ---- numbers as they are stored ---- */

static double stored_number(const struct geo_mesh *m, const struct geo_stream *s, size_t i)
{
	return m->fixed_bits ? (double)s->fixed[i] / (double)(1u << m->fixed_bits) : (double)geo_shown(s->v[i]);
}

static double stored_place(const struct geo_mesh *m, uint32_t v, unsigned k)
{
	return m->fixed_bits ? (double)m->fixed[v][k] / (double)(1u << m->fixed_bits) :
			       (double)geo_shown(m->position[v][k]);
}

static void give(struct geo_number *to, const float *v, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		to[k] = (struct geo_number){ (double)v[k], 0 };
}

/* The stored values, and behind them room for one of each vertex of the file. In an OBJ, v is 0 at the bottom, and so
 * is a v that is no number. */
static struct geo_number *give_stream(const struct making *x, const struct geo_stream *s, unsigned comps)
{
	uint32_t n = s ? s->count : 0;
	struct geo_number *out = arena_alloc(x->a, (size_t)n + x->pair.now.nvertices + 1, comps * sizeof *out);

	for (size_t i = 0; out && i < (size_t)n * comps; i++)
		out[i].v = comps == 2 && i % 2 && s->v && !isfinite(s->v[i]) ? 1 : stored_number(x->was->plain, s, i);
	return out;
}

/* ---- values that stay ---- */

/* The square of a triangle's area, 4 times, in the numbers that programs reckon with. */
static float face_normal(const struct soup *s, uint32_t face, float out[3])
{
	float a[3], b[3];

	for (unsigned k = 0; k < 3; k++) {
		a[k] = s->position[s->face[face][1]][k] - s->position[s->face[face][0]][k];
		b[k] = s->position[s->face[face][2]][k] - s->position[s->face[face][0]][k];
	}
	for (unsigned k = 0; k < 3; k++)
		out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
	return out[0] * out[0] + out[1] * out[1] + out[2] * out[2];
}

/* Blender knows no normals of triangles without area, and writes one straight up for a vertex whose triangles cancel
 * each other. */
static bool tells_normal(const struct making *x, uint32_t face, const float *n)
{
	bool up = n[0] == 0 && n[1] == 1 && n[2] == 0;
	struct geo_number given[3];
	float v[3];

	if (face == GEO_NONE)
		return true;
	if (!(face_normal(&x->pair.now, face, v) > 0))
		return false;
	give(given, v, 3);
	return !up || geo_normal_near(given, n);
}

/* face: of the file, that the vertex is a corner of; GEO_NONE. */
static bool normal_stays(const struct making *x, uint32_t now, uint32_t was, uint32_t face)
{
	const float *a = x->pair.now.normal[now], *b = x->pair.was.normal[was];
	struct geo_number given[3];
	uint32_t i;

	if (!soup_vertex(&x->pair.now, now, &i)->normal || !memcmp(a, b, 3 * sizeof *a))
		return true;
	/* Of no direction, as programs write it that had to make it and could not. */
	if (a[0] == 0 && a[1] == 0 && a[2] == 0)
		return true;
	give(given, a, 3);
	return x->pair.foreign && (geo_normal_near(given, b) || !tells_normal(x, face, a));
}

/* The 8 bits that a program keeps of a colour, lighter ones finer. */
static long display_byte(double v)
{
	v = v < 0 ? 0 : v > 1 ? 1 : v;
	return lround(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055));
}

static bool colour_stays(const struct making *x, const float *a, const float *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (a[k] != b[k] && !(x->pair.foreign &&
				      (k == 3 ? lround(255.0 * (double)a[k]) == lround(255.0 * (double)b[k]) :
						display_byte((double)a[k]) == display_byte((double)b[k]))))
			return false;
	return true;
}

static bool more_uv_stays(const struct making *x, const float *a, const float *b)
{
	for (unsigned k = 0; k < 2; k++)
		if (a[k] != b[k] && !(x->pair.foreign &&
				      fabs((double)a[k] - (double)b[k]) <= 0x1p-23 * (1 + fabs((double)b[k]))))
			return false;
	return true;
}

/* ---- one vertex ---- */

static bool make_alpha(struct making *x)
{
	if (x->put->alpha)
		return true;
	x->put->alpha = arena_alloc(x->a, (size_t)x->put->nvertices + 1, sizeof *x->put->alpha);
	for (uint32_t i = 0; x->put->alpha && i < x->put->nvertices; i++)
		x->put->alpha[i].v = (double)NAN;
	return x->put->alpha;
}

static bool make_colours(struct making *x)
{
	if (x->put->colour)
		return true;
	x->put->colour = arena_alloc(x->a, (size_t)x->put->nvertices + 1, sizeof *x->put->colour);
	for (uint32_t i = 0; x->put->colour && i < x->put->nvertices; i++)
		x->put->colour[i][0].v = (double)NAN;
	return x->put->colour;
}

/* The colour that a vertex of `was` has; NULL. */
static const float *shown_colour(const struct making *x, uint32_t was)
{
	uint32_t i;
	const struct scene_primitive *p = soup_vertex(&x->pair.was, was, &i);

	return p->colour ? p->colour[i] : NULL;
}

/* Blender 3.4 gives vertex number N of a mesh the colour that the mesh's corner number N has. Such colours cannot be
 * taken, and where that explains them nobody has edited any. */
static bool find_mixed_up(struct making *x)
{
	const struct pairing *p = &x->pair;
	uint32_t *rank = arena_alloc(x->a, (size_t)p->was.nvertices + 1, sizeof *rank), n = 0, right = 0, mixed = 0;

	for (uint32_t f = 0; rank && f < p->was.nfaces; f++)
		for (unsigned c = 0; c < 3; c++)
			rank[p->was.face[f][c]] = 1;
	/* It imports the vertices that faces use. */
	for (uint32_t v = 0; rank && v < p->was.nvertices; v++)
		rank[v] = rank[v] ? n++ : GEO_NONE;
	for (uint32_t i = 0; rank && p->foreign && i < p->now.nvertices; i++) {
		uint32_t local, v = p->vertex_of[i], at = v == GEO_NONE ? GEO_NONE : rank[v];
		const struct scene_primitive *q = soup_vertex(&p->now, i, &local);
		const float *own = at == GEO_NONE ? NULL : shown_colour(x, v), *other;

		if (!own || !q->colour)
			continue;
		other = shown_colour(x, p->was.face[at / 3][at % 3]);
		right += colour_stays(x, q->colour[local], own, 3);
		mixed += other && colour_stays(x, q->colour[local], other, 3);
	}
	x->mixed_up = mixed > right;
	return rank;
}

static bool make_more(struct making *x, unsigned set)
{
	struct geo_number (**more)[2] = &x->put->more_uv[set - 1];

	if (*more)
		return true;
	*more = arena_alloc(x->a, (size_t)x->put->nvertices + 1, sizeof **more);
	for (uint32_t i = 0; *more && i < x->put->nvertices; i++)
		(*more)[i][0].v = (double)NAN;
	return *more;
}

/* Whether what a vertex has once is the same in two that are one; colours as programs keep them. */
static bool agree(const struct making *x, uint32_t a, uint32_t b)
{
	uint32_t i, j;
	const struct scene_primitive *p = soup_vertex(&x->pair.now, a, &i), *q = soup_vertex(&x->pair.now, b, &j);
	bool ok = x->mixed_up || !p->colour || !q->colour || colour_stays(x, p->colour[i], q->colour[j], 4);

	for (unsigned set = 1; ok && set < GEO_UV_SETS; set++)
		ok = !p->uv[set] || !q->uv[set] || more_uv_stays(x, p->uv[set][i], q->uv[set][j]);
	return ok;
}

static void take_giver(struct making *x, uint32_t now, uint32_t to)
{
	if (!x->giver[to])
		x->giver[to] = now + 1;
	else if (x->giver[to] != now + 1 && !x->torn[1] && !agree(x, now, x->giver[to] - 1)) {
		x->torn[0] = x->giver[to] - 1;
		x->torn[1] = now;
	}
}

static void look_at_tangent(struct making *x, const struct scene_primitive *p, uint32_t i,
			    const struct scene_primitive *q, uint32_t j)
{
	struct geo_number given[3];

	if (!p->tangent || !q || !q->tangent)
		return;
	give(given, p->tangent[i], 3);
	x->turned |= !geo_normal_near(given, q->tangent[j]) || p->tangent[i][3] != q->tangent[j][3];
}

/* Colours and further texture coordinates that differ from those of vertex `was`; GEO_NONE: it is a new one. */
static bool take_more(struct making *x, uint32_t now, uint32_t was, uint32_t to)
{
	uint32_t i, j = 0;
	const struct scene_primitive *p = soup_vertex(&x->pair.now, now, &i);
	const struct scene_primitive *q = was == GEO_NONE ? NULL : soup_vertex(&x->pair.was, was, &j);
	bool ok = true;

	take_giver(x, now, to);
	look_at_tangent(x, p, i, q, j);
	if (p->colour && !(x->mixed_up && q) && (!q || !q->colour || !colour_stays(x, p->colour[i], q->colour[j], 3))) {
		ok = make_colours(x);
		if (ok)
			give(x->put->colour[to], p->colour[i], 3);
		x->out->mesh = true;
	}
	if (ok && p->alpha && !(x->mixed_up && q) && (!q || (q->alpha && !colour_stays(x, p->colour[i] + 3, q->colour[j] + 3, 1) &&
				     lround(255.0 * (double)p->colour[i][3]) != lround(255.0 * (double)q->colour[j][3])))) {
		ok = make_alpha(x);
		if (ok)
			give(&x->put->alpha[to], p->colour[i] + 3, 1);
		x->out->mesh = true;
	}
	for (unsigned set = 1; ok && set < GEO_UV_SETS; set++) {
		if (!p->uv[set] || (q && (!q->uv[set] || more_uv_stays(x, p->uv[set][i], q->uv[set][j]))))
			continue;
		ok = make_more(x, set);
		if (ok)
			give(x->put->more_uv[set - 1][to], p->uv[set][i], 2);
		x->out->mesh = true;
	}
	return ok;
}

static void take_place(struct making *x, uint32_t now, uint32_t was, uint32_t to)
{
	for (unsigned k = 0; k < 3; k++) {
		double v = (double)x->pair.now.position[now][k], off = fabs(v - (double)x->pair.was.position[was][k]);

		if (off == 0 || off <= x->pair.reach)
			continue;
		x->put->position[to][k] = (struct geo_number){ v, 0 };
		x->out->mesh = true;
	}
}

/* Number of a corner's value: the stored one, or a new one. */
static uint32_t take_value(struct making *x, uint32_t now, uint32_t was, uint32_t face, const struct geo_stream *s,
			   uint32_t stored)
{
	bool uv = s == x->uv;
	uint32_t i, value;
	const struct scene_primitive *p = soup_vertex(&x->pair.now, now, &i);
	bool known = !uv && x->renewed && was != GEO_NONE;
	unsigned renewed = known ? x->renewed[pair_stored(&x->pair, was)] : SAME_NORMAL;

	if (renewed == NO_NORMAL)
		return stored;
	if (renewed && !tells_normal(x, face, x->pair.now.normal[now]))
		return GEO_NONE;
	if (!renewed && was != GEO_NONE && (uv ? pair_uv_stays(&x->pair, now, was) : normal_stays(x, now, was, face)))
		return stored;
	if (uv ? !p->uv[0] : !p->normal || !memcmp(x->pair.now.normal[now], (const float[3]){ 0 }, 12))
		return GEO_NONE;
	x->out->mesh = true;
	value = (s ? s->count : 0) + now;
	if (uv) {
		give(x->put->uv[value], p->uv[0][i], 2);
		x->put->nuvs = s->count + x->pair.now.nvertices;
	} else {
		give(x->put->normal[value], x->pair.now.normal[now], 3);
		x->put->nnormals = s->count + x->pair.now.nvertices;
	}
	return value;
}

/* ---- faces ---- */

static const char *part_material(const struct making *x, uint32_t part)
{
	return x->was->plain->parts[part].material < 0 ? NULL : x->was->of_part[part].name;
}

bool glb_is_named(const char *have, const char *want)
{
	size_t n = strlen(want), digits;

	if (strncmp(have, want, n))
		return false;
	if (!have[n])
		return true;
	digits = strspn(have + n + 1, "0123456789");
	return have[n] == '.' && digits >= 3 && !have[n + 1 + digits];
}

static const char *file_material(const struct making *x, uint32_t face)
{
	int32_t m = x->pair.now.mesh->primitive[x->pair.now.prim_of[face]].material;

	return m < 0 ? NULL : x->scene->material[m].name;
}

static uint32_t name_number(struct making *x, const char *name, unsigned line)
{
	struct geo_put *put = x->put;
	uint32_t i = 0;

	while (i < put->nnames && strcmp(put->names[i].text, name))
		i++;
	if (i == put->nnames)
		put->names[put->nnames++] = (struct geo_name){ name, line };
	return i;
}

/* The material of a face: as the part says it, or as the file does where it says another. */
static void take_material(struct making *x, uint32_t to, uint32_t now, uint32_t part)
{
	const struct geo_mesh *m = x->was->plain;
	const char *have = now == GEO_NONE ? NULL : file_material(x, now);
	const char *want = part == GEO_NONE ? NULL : part_material(x, part);
	struct geo_put *put = x->put;

	if (have && want && glb_is_named(have, want))
		have = NULL;
	x->out->mesh |= have && want;
	put->material[to] = have || part == GEO_NONE ? -1 : m->parts[part].material;
	for (unsigned k = 0; have && k < m->nparts; k++)
		if (part_material(x, k) && glb_is_named(have, part_material(x, k)))
			put->material[to] = m->parts[k].material;
	if (!put->usemtl)
		return;
	put->usemtl[to] = have || want ? name_number(x, have ? have : want, put->face_line[to]) : GEO_NONE;
	put->usemtl_line[to] = put->usemtl[to] == GEO_NONE ? 0 : put->face_line[to];
}

static struct geo_corner *corners_of(struct making *x, uint32_t face)
{
	return x->put->quad ? x->put->quad[face] : x->put->face[face];
}

/* Corner c of stored face f as it is stored. */
static struct geo_corner stored_corner(const struct making *x, uint32_t f, unsigned c)
{
	const struct geo_mesh *m = x->was->plain;
	size_t at = (size_t)f * (m->quad ? 4 : 3) + c;
	struct geo_corner out = { m->quad ? m->quad[f][c] : m->face[f][c], GEO_NONE, GEO_NONE };

	if (out.v == GEO_NONE)
		return out;
	if (x->uv)
		out.uv = x->uv->corner ? x->uv->corner[at] : out.v < x->uv->count ? out.v : GEO_NONE;
	if (x->normal)
		out.normal = x->normal->corner ? x->normal->corner[at] : out.v < x->normal->count ? out.v : GEO_NONE;
	return out;
}

static bool make_faces(struct making *x, uint32_t n)
{
	struct geo_put *put = x->put;
	size_t room = (size_t)n + 1;
	bool named = x->was->form->named;

	put->nfaces = n;
	put->group = arena_alloc(x->a, room, sizeof *put->group);
	put->material = arena_alloc(x->a, room, sizeof *put->material);
	put->face_line = arena_alloc(x->a, room, sizeof *put->face_line);
	if (x->was->form->quads)
		put->quad = arena_alloc(x->a, room, sizeof *put->quad);
	else
		put->face = arena_alloc(x->a, room, sizeof *put->face);
	if (named) {
		put->names = arena_alloc(x->a, (size_t)x->scene->nmaterials + x->was->plain->nparts + 1,
					 sizeof *put->names);
		put->object = arena_alloc(x->a, room, sizeof *put->object);
		put->usemtl = arena_alloc(x->a, room, sizeof *put->usemtl);
		put->usemtl_line = arena_alloc(x->a, room, sizeof *put->usemtl_line);
	}
	for (uint32_t f = 0; put->face_line && f < n; f++)
		put->face_line[f] = put->nvertices + 1 + f;
	if (named && put->object)
		memset(put->object, 0xff, room * sizeof *put->object);
	return put->group && put->material && put->face_line && (put->quad || put->face) &&
	       (!named || (put->names && put->object && put->usemtl && put->usemtl_line));
}

static bool make_vertices(struct making *x, uint32_t n)
{
	struct geo_put *put = x->put;

	put->nvertices = n;
	put->position = arena_alloc(x->a, (size_t)n + 1, sizeof *put->position);
	put->vertex_line = arena_alloc(x->a, (size_t)n + 1, sizeof *put->vertex_line);
	x->giver = arena_alloc(x->a, (size_t)n + 1, sizeof *x->giver);
	put->uv = (struct geo_number (*)[2])give_stream(x, x->uv, 2);
	put->normal = (struct geo_number (*)[3])give_stream(x, x->normal, 3);
	put->nuvs = x->uv ? x->uv->count : 0;
	put->nnormals = x->normal ? x->normal->count : 0;
	put->normal_line = arena_alloc(x->a, (size_t)put->nnormals + x->pair.now.nvertices + 1,
				       sizeof *put->normal_line);
	for (uint32_t i = 0; put->vertex_line && i < n; i++)
		put->vertex_line[i] = i + 1;
	return put->position && put->vertex_line && x->giver && put->uv && put->normal && put->normal_line;
}

/* ---- the topology it had ---- */

/* Corner c of an old triangle is which corner of its face? second: of the two that a quad becomes. */
static unsigned face_corner(unsigned c, bool second)
{
	return second && c ? c + 1 : c;
}

static bool take_corner(struct making *x, uint32_t now, uint32_t was, uint32_t face, struct geo_corner *to)
{
	take_place(x, now, was, to->v);
	if (x->uv)
		to->uv = take_value(x, now, was, face, x->uv, to->uv);
	if (x->normal)
		to->normal = take_value(x, now, was, face, x->normal, to->normal);
	return take_more(x, now, was, to->v);
}

/* Where a vertex has one normal, what its corners say is put together. All of that has to come from the file: what
 * comes out would be another one each time if stored normals had a part in it. */
static bool find_renewed(struct making *x)
{
	const struct pairing *p = &x->pair;
	uint8_t *renewed;
	float n[3];

	if (!x->normal || x->was->plain->quad || !p->foreign)
		return true;
	renewed = arena_alloc(x->a, (size_t)x->was->plain->nvertices + 1, 1);
	for (uint32_t g = 0; renewed && g < p->was.nfaces; g++) {
		uint32_t f = p->pair_of[g];

		for (unsigned c = 0; c < 3 && f != GEO_NONE; c++) {
			uint8_t *to = &renewed[pair_stored(p, p->was.face[g][c])];

			/* So large that nothing can be said around it. */
			if (!isfinite(face_normal(&p->now, f, n)))
				*to = NO_NORMAL;
			else if (!*to)
				*to = !normal_stays(x, p->now.face[f][(c + 3 - p->turn[f]) % 3], p->was.face[g][c], f);
		}
	}
	x->renewed = renewed;
	return renewed;
}

static bool take_faces(struct making *x)
{
	const struct pairing *p = &x->pair;
	bool ok = true;

	for (uint32_t g = 0; g < p->was.nfaces && ok; g++) {
		uint32_t k = p->was.prim_of[g], i = g - p->was.first_face[k], f = p->trace[k].face[i];
		bool second = i && p->trace[k].face[i - 1] == f;
		uint32_t now = p->pair_of[g];

		for (unsigned c = 0; c < 3 && now != GEO_NONE && ok; c++)
			ok = take_corner(x, p->now.face[now][(c + 3 - p->turn[now]) % 3], p->was.face[g][c], now,
					 &corners_of(x, f)[face_corner(c, second)]);
		if (!second)
			take_material(x, f, now, x->part_of[f]);
	}
	return ok;
}

/* Vertices that no face uses. */
static bool take_lone(struct making *x)
{
	const struct pairing *p = &x->pair;
	uint8_t *used = arena_alloc(x->a, (size_t)p->now.nvertices + 1, 1);
	bool ok = used;

	for (uint32_t f = 0; f < p->now.nfaces && ok; f++)
		for (unsigned c = 0; c < 3; c++)
			used[p->now.face[f][c]] = 1;
	for (uint32_t i = 0; i < p->now.nvertices && ok; i++) {
		if (used[i] || p->vertex_of[i] == GEO_NONE)
			continue;
		take_place(x, i, p->vertex_of[i], pair_stored(p, p->vertex_of[i]));
		ok = take_more(x, i, p->vertex_of[i], pair_stored(p, p->vertex_of[i]));
	}
	return ok;
}

static int keep_topology(struct making *x, struct err *e)
{
	const struct geo_mesh *m = x->was->plain;

	if (!make_vertices(x, m->nvertices) || !make_faces(x, m->nfaces))
		return err_nomem(e);
	for (uint32_t v = 0; v < m->nvertices; v++)
		for (unsigned k = 0; k < 3; k++)
			x->put->position[v][k].v = stored_place(m, v, k);
	for (uint32_t f = 0; f < m->nfaces; f++) {
		x->put->group[f] = x->part_of[f];
		for (unsigned c = 0; c < (m->quad ? 4u : 3u); c++)
			corners_of(x, f)[c] = stored_corner(x, f, c);
	}
	return find_renewed(x) && take_faces(x) && take_lone(x) ? 0 : err_nomem(e);
}

/* ---- another topology ---- */

/* New vertices that lie where an old one does, with all that it has, are that one. */
static void find_twins(struct making *x)
{
	struct pairing *p = &x->pair;

	for (uint32_t i = 0; i < p->now.nvertices; i++) {
		const struct near_spot *s = p->spot_now[i] == GEO_NONE ? NULL : &p->near.spot[p->spot_now[i]];

		for (uint32_t k = 0; s && p->vertex_of[i] == GEO_NONE && k < s->count && k < 64; k++) {
			uint32_t was = p->near.item[s->first + k];

			if (pair_uv_stays(p, i, was) && normal_stays(x, i, was, GEO_NONE))
				p->vertex_of[i] = was;
		}
	}
}

/* Numbers of the vertices: those that mean a stored one in stored order, then the others. Of two that mean the same one
 * and lie apart the second is a new one. */
static uint32_t *number_vertices(struct making *x, uint32_t **first_of, uint32_t *count)
{
	const struct pairing *p = &x->pair;
	uint32_t nstored = x->was->plain->nvertices, n = 0;
	uint32_t *number = arena_alloc(x->a, (size_t)p->now.nvertices + 1, sizeof *number);
	uint32_t *first = arena_alloc(x->a, (size_t)nstored + 1, sizeof *first);
	uint8_t *used = arena_alloc(x->a, (size_t)p->now.nvertices + 1, 1);

	if (!number || !first || !used)
		return NULL;
	for (uint32_t f = 0; f < p->now.nfaces; f++)
		for (unsigned c = 0; c < 3; c++)
			used[p->now.face[f][c]] = 1;
	for (uint32_t i = p->now.nvertices; i-- > 0;)
		if (used[i] && p->vertex_of[i] != GEO_NONE)
			first[pair_stored(p, p->vertex_of[i])] = i + 1;
	*first_of = arena_alloc(x->a, (size_t)p->now.nvertices + 1, sizeof **first_of);
	if (!*first_of)
		return NULL;
	for (uint32_t v = 0; v < nstored; v++)
		if (first[v]) {
			(*first_of)[n] = first[v] - 1;
			number[first[v] - 1] = n++;
		}
	for (uint32_t i = 0; i < p->now.nvertices; i++) {
		uint32_t same = p->vertex_of[i] == GEO_NONE ? 0 : first[pair_stored(p, p->vertex_of[i])];

		if (!used[i] || same == i + 1)
			continue;
		if (same && !memcmp(p->now.position[i], p->now.position[same - 1], sizeof *p->now.position)) {
			number[i] = number[same - 1];
			continue;
		}
		(*first_of)[n] = i;
		number[i] = n++;
	}
	*count = n;
	return number;
}

/* The number that a vertex of `was` has in a stream of `plain`. */
static uint32_t traced_value(const struct making *x, uint32_t was, const struct geo_stream *full,
			     const struct geo_stream *plain)
{
	uint32_t k, value;

	if (was == GEO_NONE || !full || !plain)
		return GEO_NONE;
	k = soup_prim(&x->pair.was, was);
	value = x->trace.prim[k].value[(size_t)(was - x->pair.was.first[k]) * x->was->full->nstreams +
				       (size_t)(full - x->was->full->streams)];
	return value < plain->count ? value : GEO_NONE;
}

static struct geo_corner new_corner(struct making *x, uint32_t face, unsigned corner, const uint32_t *number)
{
	uint32_t now = x->pair.now.face[face][corner], was = x->pair.vertex_of[now];
	struct geo_corner c = { number[now], GEO_NONE, GEO_NONE };

	if (x->uv)
		c.uv = take_value(x, now, was, face, x->uv, traced_value(x, was, x->full_uv, x->uv));
	if (x->normal)
		c.normal = take_value(x, now, was, face, x->normal,
				      traced_value(x, was, x->full_normal, x->normal));
	return c;
}

/* Two triangles that follow each other and are corners 1 2 3 and 1 3 4 of a quad; not where one of them is a stored
 * triangle. */
static bool is_quad(const struct making *x, uint32_t f, const uint32_t *number)
{
	const struct soup *s = &x->pair.now;
	const uint32_t *a = s->face[f], *b = s->face[f + 1];

	for (unsigned k = 0; k < 2; k++) {
		uint32_t g = x->pair.face_of[f + k], prim;

		if (g == GEO_NONE)
			continue;
		prim = x->pair.was.prim_of[g];
		if (x->was->plain->quad[x->trace.prim[prim].face[g - x->pair.was.first_face[prim]]][3] == GEO_NONE)
			return false;
	}
	return s->prim_of[f] == s->prim_of[f + 1] && number[a[0]] == number[b[0]] && number[a[2]] == number[b[1]] &&
	       number[b[2]] != number[a[1]];
}

static void new_faces(struct making *x, const uint32_t *number)
{
	const struct pairing *p = &x->pair;
	struct geo_put *put = x->put;
	uint32_t n = 0;

	for (uint32_t f = 0; f < p->now.nfaces; f++) {
		uint32_t g = p->face_of[f], part = GEO_NONE, prim = g == GEO_NONE ? 0 : p->was.prim_of[g];
		struct geo_corner *to = corners_of(x, n);

		if (g != GEO_NONE)
			part = x->part_of[p->trace[prim].face[g - p->was.first_face[prim]]];
		for (unsigned c = 0; c < 3; c++)
			to[c] = new_corner(x, f, c, number);
		if (put->quad)
			to[3] = (struct geo_corner){ GEO_NONE, GEO_NONE, GEO_NONE };
		put->group[n] = part;
		take_material(x, n, f, part);
		if (put->quad && f + 1 < p->now.nfaces && is_quad(x, f, number))
			to[3] = new_corner(x, ++f, 2, number);
		n++;
	}
	put->nfaces = n;
}

static int change_topology(struct making *x, struct err *e)
{
	const struct pairing *p = &x->pair;
	uint32_t *first, n = 0, *number;

	find_twins(x);
	number = number_vertices(x, &first, &n);
	if (!number || !make_vertices(x, n) || !make_faces(x, p->now.nfaces))
		return err_nomem(e);
	x->out->mesh = true;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t was = p->vertex_of[first[i]];
		bool stays = was != GEO_NONE && pair_place_stays(p, first[i], was);

		for (unsigned k = 0; k < 3; k++)
			x->put->position[i][k].v = stays ? stored_place(x->was->plain, pair_stored(p, was), k) :
							   (double)p->now.position[first[i]][k];
		if (!take_more(x, first[i], was, i))
			return err_nomem(e);
	}
	new_faces(x, number);
	return 0;
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
	double world[12];
	bool moved = find_world(x, world);
	int rc = soup_make(&x->pair.was, x->shown.nmeshes ? x->shown.mesh : &nothing, NULL, x->a, e);

	rc = rc ? rc : soup_make(&x->pair.now, mesh, moved ? world : NULL, x->a, e);
	x->pair.trace = x->trace.prim;
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
		rc = find_mixed_up(&x) ? 0 : err_nomem(e);
	}
	if (!rc) {
		rc = x.pair.same ? keep_topology(&x, e) : change_topology(&x, e);
		out->tangents = x.turned;
		out->colours_lost = x.mixed_up;
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
