/* Faces of a GLB as an edit: those the mesh had, with other values; or others. */
#include <errno.h>
#include <string.h>

#include "glbput.h"

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
	bool objects = x->was->form->named, named = objects || x->was->form->materials;

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
		put->object = objects ? arena_alloc(x->a, room, sizeof *put->object) : NULL;
		put->usemtl = arena_alloc(x->a, room, sizeof *put->usemtl);
		put->usemtl_line = arena_alloc(x->a, room, sizeof *put->usemtl_line);
	}
	for (uint32_t f = 0; put->face_line && f < n; f++)
		put->face_line[f] = put->nvertices + 1 + f;
	if (put->object)
		memset(put->object, 0xff, room * sizeof *put->object);
	return put->group && put->material && put->face_line && (put->quad || put->face) &&
	       (!named || (put->names && put->usemtl && put->usemtl_line && (put->object || !objects)));
}

static bool make_vertices(struct making *x, uint32_t n)
{
	struct geo_put *put = x->put;

	put->nvertices = n;
	put->position = arena_alloc(x->a, (size_t)n + 1, sizeof *put->position);
	put->vertex_line = arena_alloc(x->a, (size_t)n + 1, sizeof *put->vertex_line);
	x->giver = arena_alloc(x->a, (size_t)n + 1, sizeof *x->giver);
	put->uv = (struct geo_number (*)[2])put_give_stream(x, x->uv, 2);
	put->normal = (struct geo_number (*)[3])put_give_stream(x, x->normal, 3);
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
	put_take_place(x, now, was, to->v);
	if (x->uv)
		to->uv = put_take_value(x, now, was, face, x->uv, to->uv);
	if (x->normal)
		to->normal = put_take_value(x, now, was, face, x->normal, to->normal);
	return put_take_more(x, now, was, to->v);
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
			if (!isfinite(put_face_normal(&p->now, f, n)))
				*to = NO_NORMAL;
			else if (!*to)
				*to = !put_normal_stays(x, p->now.face[f][(c + 3 - p->turn[f]) % 3],
							p->was.face[g][c], f);
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
		put_take_place(x, i, p->vertex_of[i], pair_stored(p, p->vertex_of[i]));
		ok = put_take_more(x, i, p->vertex_of[i], pair_stored(p, p->vertex_of[i]));
	}
	return ok;
}

int put_keep_topology(struct making *x, struct err *e)
{
	const struct geo_mesh *m = x->was->plain;

	if (!make_vertices(x, m->nvertices) || !make_faces(x, m->nfaces))
		return err_nomem(e);
	for (uint32_t v = 0; v < m->nvertices; v++)
		for (unsigned k = 0; k < 3; k++)
			x->put->position[v][k].v = geo_place_number(m, v, k);
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

			if (pair_uv_stays(p, i, was) && put_normal_stays(x, i, was, GEO_NONE))
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
		c.uv = put_take_value(x, now, was, face, x->uv, traced_value(x, was, x->full_uv, x->uv));
	if (x->normal)
		c.normal = put_take_value(x, now, was, face, x->normal,
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

int put_change_topology(struct making *x, struct err *e)
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
			x->put->position[i][k].v = stays ? geo_place_number(x->was->plain, pair_stored(p, was), k) :
							   (double)p->now.position[first[i]][k];
		if (!put_take_more(x, first[i], was, i))
			return err_nomem(e);
	}
	new_faces(x, number);
	return 0;
}
