/* A mesh with a new topology: its groups' display lists, vertex and index buffers are made anew where triangles or
 * vertices changed, and placed so that nothing else moves (spec/mhp.md 3.6, 9). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmo_topology.h"

/* The blocks of a group, in the order of pmo_blocks(). */
enum { LIST, VERTICES, INDICES, BLOCKS };
static const char *const block_names[BLOCKS] = { "display list", "vertex buffer", "index buffer" };

struct group {
	struct pmo_regroup made;
	struct pmo_list list;
	struct block *block;                   /* BLOCKS of them */
	struct buf vertices, indices;          /* bytes */
	struct buf prims;                      /* uint32_t */
	bool whole;                            /* the three blocks move as one, */
	bool tried;                            /* because that may save growing */
};

struct rebuild {
	struct object *o;
	const struct pmo *p;
	const struct pmo_mesh *mesh;
	uint32_t number, ngroups;              /* of the mesh */
	const struct geo_put *put;
	struct geo_mesh was;
	struct pmo_run *run;
	struct group *group;
	struct block *block;                   /* of the whole model */
	struct arena arena;
	struct err *e;
};

/* ---- what the mesh may be ---- */

static int check_put(const struct rebuild *x)
{
	const struct pmo_mesh *m = x->mesh;

	if (x->put->nfaces > PMO_MESH_CORNERS)
		return err_set(x->e, EFBIG, "%u faces are more than the %u corners that a mesh may draw",
			       x->put->nfaces, PMO_MESH_CORNERS);
	for (uint32_t i = 0; i < x->p->nmeshes; i++) {
		const struct pmo_mesh *other = &x->p->mesh[i];

		if (i != x->number && other->group_count && m->group_count &&
		    other->first_group < m->first_group + m->group_count &&
		    m->first_group < other->first_group + other->group_count)
			return err_set(x->e, EINVAL,
				       "mesh %u shares groups with mesh %u: neither can be given a new topology",
				       x->number, i);
	}
	return 0;
}

static int check_size(const struct rebuild *x)
{
	uint64_t vertices = 0, corners = 0;

	for (uint32_t k = 0; k < x->ngroups; k++) {
		const struct group *g = &x->group[k];
		bool anew = g->made.change == PMO_REBUILT;
		unsigned stride = x->run[k].scan.vertex.stride, each = x->run[k].scan.vertex.index_size;
		uint64_t n = anew ? g->vertices.len / stride : x->run[k].scan.vertices;

		vertices += n;
		corners += !anew ? x->p->group[x->run[k].group].corners : each ? g->indices.len / each : n;
		if (anew && g->list.nwords + g->prims.len / 4 > GE_LIST_WORDS)
			return err_set(x->e, EFBIG, "the display list of group %u would have more than %u commands", k,
				       GE_LIST_WORDS);
	}
	if (vertices > PMO_MESH_VERTICES)
		return err_set(x->e, EFBIG, "mesh %u would have %llu vertices, more than %u", x->number,
			       (unsigned long long)vertices, PMO_MESH_VERTICES);
	if (corners > PMO_MESH_CORNERS)
		return err_set(x->e, EFBIG, "mesh %u would draw %llu corners, more than %u", x->number,
			       (unsigned long long)corners, PMO_MESH_CORNERS);
	return 0;
}

static unsigned alignment(const struct rebuild *x)
{
	return x->p->mesh_scale ? 4 : 16;
}

/* ---- bytes of a group ---- */

static void add_index(struct buf *b, unsigned size, uint32_t v)
{
	uint8_t p[4];

	put_le32(p, v);
	buf_add(b, p, size);
}

/* PRIMs that the display list has room for where it lies: in the place of the old ones, and in what aligns the next
 * block. */
static uint32_t prim_room(const struct rebuild *x, const struct group *g)
{
	uint64_t end = g->block[LIST].at + g->block[LIST].size;

	return g->list.size - g->list.nwords + (uint32_t)(align_up(end, alignment(x)) - end) / 4;
}

/* Triangles become strips and lists. A group without indices stores its vertices as they are drawn. */
static int draw(struct rebuild *x, struct group *g)
{
	const struct ge_vertex *type = &g->made.run->scan.vertex;
	uint32_t n = (uint32_t)(g->made.face.len / 12), *v;
	uint32_t (*face)[3] = (uint32_t (*)[3])(void *)g->made.face.p;
	struct buf corners = { 0 };
	int rc;

	for (uint32_t i = 0; i < n && g->list.reversed; i++) {
		uint32_t second = face[i][1];

		face[i][1] = face[i][2];
		face[i][2] = second;
	}
	rc = pmo_strips((const uint32_t (*)[3])face, n, type->index_size ? type->index_size : type->stride,
			prim_room(x, g), &corners, &g->prims, x->e);
	v = (uint32_t *)(void *)corners.p;
	for (size_t i = 0; i < corners.len / 4 && !rc; i++)
		if (type->index_size)
			add_index(&g->indices, type->index_size, v[i]);
		else
			buf_add(&g->vertices, g->made.vertices.p + (size_t)v[i] * type->stride, type->stride);
	if (!rc && type->index_size)
		buf_add(&g->vertices, g->made.vertices.p, g->made.vertices.len);
	if (!n)
		add_index(&g->prims, 4, 0);    /* a NOP, which keeps the room for others */
	buf_free(&corners);
	return rc ? rc : g->indices.bad || g->vertices.bad ? err_nomem(x->e) : 0;
}

static int make_group(struct rebuild *x, uint32_t k, const struct pmo_assigned *to)
{
	const struct geo_part *part = &x->was.parts[k];
	struct group *g = &x->group[k];
	int rc;

	g->made.run = &x->run[k];
	/* Its triangles are not shown, so a text cannot have them. */
	if (x->p->group[x->run[k].group].hidden)
		return 0;
	rc = pmo_regroup(x->p, x->mesh, &x->was, part->first_face, part->nfaces, x->put, to->face + to->first[k],
			 to->first[k + 1] - to->first[k], &g->made, x->e);
	if (rc || g->made.change != PMO_VALUES)
		return rc;
	buf_add(&g->vertices, g->made.vertices.p, g->made.vertices.len);
	return g->vertices.bad ? err_nomem(x->e) : 0;
}

/* What the text makes of each group. */
static int make_groups(struct rebuild *x)
{
	struct pmo_assigned to;
	struct pmo_window win = { 0 };
	uint32_t n;
	int rc = pmo_mesh_geometry(x->o, x->number, &x->was, &x->arena, x->e);

	if (!rc && !x->put->nfaces && x->was.nfaces)
		return err_set(x->e, EINVAL, "no faces, the mesh has %u; `visible: false` in meshes/%u.yaml hides it",
			       x->was.nfaces, x->number);      /* rather a text that was cut off than meant */
	x->group = arena_alloc(&x->arena, (size_t)x->ngroups + 1, sizeof *x->group);
	x->run = arena_alloc(&x->arena, (size_t)x->ngroups + 1, sizeof *x->run);
	if (!rc && (!x->group || !x->run))
		rc = err_nomem(x->e);
	rc = rc ? rc : pmo_runs(x->p, x->mesh, x->run, &win, &n, x->e);
	buf_free(&win.bytes);
	rc = rc ? rc : pmo_assign(x->p, x->number, &x->was, x->put, &to, &x->arena, x->e);
	for (uint32_t k = 0; k < x->ngroups && !rc; k++)
		rc = make_group(x, k, &to);
	return rc;
}

static int make_blocks(struct rebuild *x)
{
	int rc = pmo_blocks(x->o, &x->block, &x->arena, x->e);

	for (uint32_t k = 0; k < x->ngroups && !rc; k++) {
		struct group *g = &x->group[k];

		g->block = x->block + BLOCKS * (size_t)x->run[k].group;
		if (g->made.change != PMO_REBUILT)
			continue;
		rc = pmo_list_read(x->p, x->run[k].group, &g->list, &x->arena, x->e);
		rc = rc ? rc : draw(x, g);
	}
	return rc ? rc : check_size(x);
}

/* ---- places ---- */

static uint64_t list_size(const struct group *g)
{
	return 4 * (uint64_t)g->list.nwords + g->prims.len;
}

/* A block whose bytes come out as they are is left where it is. */
static int want_bytes(struct rebuild *x, struct block *b, const struct buf *bytes)
{
	uint8_t *was;
	int rc;

	b->want = bytes->len;
	b->changed = true;
	if (b->size != bytes->len || !b->size)
		return 0;
	was = malloc(bytes->len);
	if (!was)
		return err_nomem(x->e);
	rc = src_read(x->p->region.src, was, bytes->len, x->p->region.at + b->at, "geometry region", x->e);
	b->changed = rc || memcmp(was, bytes->p, bytes->len);
	free(was);
	return rc;
}

/* The list, and behind it the buffers, as one block that moves. */
static void want_whole(struct rebuild *x, struct group *g)
{
	struct block *b = g->block;
	uint64_t end = align_up(list_size(g), alignment(x));

	for (unsigned k = LIST; k < BLOCKS; k++) {
		b[k].changed = true;
		b[k].want = 0;
	}
	b[LIST].want = align_up(end + g->vertices.len, alignment(x)) + g->indices.len;
}

static int want_blocks(struct rebuild *x, struct group *g)
{
	struct block *b = g->block;
	int rc = want_bytes(x, &b[VERTICES], &g->vertices);

	if (!rc && g->made.change == PMO_REBUILT) {
		rc = want_bytes(x, &b[INDICES], &g->indices);
		b[LIST].want = list_size(g);
		b[LIST].changed = true;
	}
	/* Distances from the list count forward only. */
	b[VERTICES].least = b[INDICES].least = b[LIST].at + b[LIST].want;
	return rc;
}

/* A list that has to leave its place takes its buffers with it, so that they lie behind it again. */
static int arrange(struct rebuild *x, uint64_t *end)
{
	const struct pmo *p = x->p;
	bool again;
	int rc = 0;

	do {
		again = false;
		for (uint32_t k = 0; k < x->ngroups && !rc; k++) {
			struct group *g = &x->group[k];

			if (g->whole)
				want_whole(x, g);
			else if (g->made.change != PMO_UNCHANGED)
				rc = want_blocks(x, g);
		}
		/* An index buffer at 0 would mean none. */
		if (!rc)
			rc = place_blocks(x->block, BLOCKS * p->table[PMO_GROUPS].n, p->region.src, p->region.at, 1,
					  p->region.size, alignment(x), end, x->e);
		for (uint32_t k = 0; k < x->ngroups && !rc; k++) {
			struct group *g = &x->group[k];

			if (g->whole || g->made.change != PMO_REBUILT || g->block[LIST].now == g->block[LIST].at)
				continue;
			again = g->whole = true;
		}
	} while (again && !rc);
	return rc;
}

/* Groups with a buffer past the end of the region, which a hole in front of the list might hold if that moved too. */
static bool try_whole(struct rebuild *x)
{
	uint64_t size = x->p->region.size;
	bool any = false;

	for (uint32_t k = 0; k < x->ngroups; k++) {
		struct group *g = &x->group[k];
		const struct block *b = g->block;

		g->tried = g->made.change == PMO_REBUILT && !g->whole &&
			   (b[VERTICES].now + b[VERTICES].want > size || b[INDICES].now + b[INDICES].want > size);
		g->whole |= g->tried;
		any |= g->tried;
	}
	return any;
}

/* The places of what moved as one. */
static void take_apart(struct rebuild *x, struct group *g)
{
	struct block *b = g->block;

	b[LIST].want = list_size(g);
	b[VERTICES].now = align_up(b[LIST].now + b[LIST].want, alignment(x));
	b[VERTICES].want = g->vertices.len;
	b[INDICES].now = align_up(b[VERTICES].now + b[VERTICES].want, alignment(x));
	b[INDICES].want = g->indices.len;
}

/* Vertices that only got other values, but whose place is another group's too, moved: so their list has to follow. */
static int follow_values(struct rebuild *x)
{
	int rc = 0;

	for (uint32_t k = 0; k < x->ngroups && !rc; k++) {
		struct group *g = &x->group[k];

		if (g->made.change != PMO_VALUES || g->block[VERTICES].now == g->block[VERTICES].at)
			continue;
		rc = pmo_list_read(x->p, x->run[k].group, &g->list, &x->arena, x->e);
		if (rc)
			break;
		buf_add(&g->prims, g->list.old, 4 * (size_t)g->list.nold);
		rc = g->prims.bad ? err_nomem(x->e) : 0;
	}
	return rc;
}

/* An empty buffer has no place: it is said to be where the list ends, which leaves the list its room. */
static void place_empty(struct rebuild *x)
{
	for (uint32_t k = 0; k < x->ngroups; k++) {
		struct group *g = &x->group[k];
		const struct block *list = &g->block[LIST];

		for (unsigned b = VERTICES; b < BLOCKS; b++)
			if (g->made.change == PMO_REBUILT && !g->block[b].want)
				g->block[b].now = list->now + list->want;
	}
}

/* ---- writing ---- */

/* Whole blocks: where many bytes change, patching run by run would make a plan of countless writes. */
static int write_at(struct rebuild *x, uint64_t at, const void *p, size_t n, const char *what)
{
	return src_write(object_part(x->o, x->p->behind), p, n, x->p->region.at + at, what, x->e);
}

/* The region becomes `end` bytes long, in the room the entry has or what it can get. */
static int grow(struct rebuild *x, uint64_t end)
{
	const struct pmo *p = x->p;
	uint64_t size = align_up(end, 16), has = object_part(x->o, p->behind)->size - p->region.at;
	uint8_t raw[4];
	int rc = 0;

	if (end <= p->region.size)
		return 0;
	if (p->head.geometry + size > UINT32_MAX)
		return err_set(x->e, EFBIG, "the model would have %llu bytes, more than its header can count",
			       (unsigned long long)(p->head.geometry + size));
	if (size > has)
		rc = object_resize(x->o, p->behind, p->region.at + size, x->e);
	rc = rc ? rc : src_clear(object_part(x->o, p->behind), p->region.at + p->region.size, size - p->region.size,
				 "geometry region", x->e);
	put_le32(raw, (uint32_t)(p->head.geometry + size));
	return rc ? rc : object_patch(x->o, 0, 8, raw, sizeof raw, "size", x->e);
}

static int write_list(struct rebuild *x, struct group *g)
{
	struct buf words = { 0 };
	int rc = pmo_list_write(&g->list, (uint32_t)g->block[LIST].now, (uint32_t)g->block[VERTICES].now,
				(uint32_t)g->block[INDICES].now, (const uint32_t *)(const void *)g->prims.p,
				(uint32_t)(g->prims.len / 4), &words, x->e);

	rc = rc ? rc : write_at(x, g->block[LIST].now, words.p, words.len, block_names[LIST]);
	buf_free(&words);
	return rc;
}

static int write_record(struct rebuild *x, struct group *g)
{
	const struct pmo_table *t = &x->p->table[PMO_GROUPS];
	uint8_t raw[4 * BLOCKS];

	for (unsigned b = 0; b < BLOCKS; b++)
		put_le32(raw + 4 * (size_t)b, (uint32_t)g->block[b].now);
	if (!g->list.vertex.index_size)
		put_le32(raw + 4 * INDICES, x->p->group[g->made.run->group].index_buffer);
	return object_patch(x->o, 0, t->at + (uint64_t)g->made.run->group * t->each + 4, raw, sizeof raw, "group",
			    x->e);
}

static int write_group(struct rebuild *x, struct group *g)
{
	int rc = 0;

	if (g->made.change == PMO_UNCHANGED)
		return 0;
	if (g->vertices.len)
		rc = write_at(x, g->block[VERTICES].now, g->vertices.p, g->vertices.len, block_names[VERTICES]);
	if (!rc && g->indices.len)
		rc = write_at(x, g->block[INDICES].now, g->indices.p, g->indices.len, block_names[INDICES]);
	if (rc || !g->list.nwords)
		return rc;
	rc = write_list(x, g);
	return rc ? rc : write_record(x, g);
}

/* A region in a file of its own is known by the ORIGIN it begins with, so that word stays when its list moves away. */
static int keep_first_word(struct rebuild *x)
{
	uint8_t raw[4];

	if (!x->p->behind)
		return 0;
	for (uint32_t k = 0; k < x->ngroups; k++)
		if (!x->group[k].block[LIST].at && x->group[k].block[LIST].now) {
			put_le32(raw, ge_word(GE_ORIGIN, 0));
			return write_at(x, 0, raw, sizeof raw, "geometry region");
		}
	return 0;
}

static int place(struct rebuild *x, uint64_t *end)
{
	uint64_t first;
	int rc = arrange(x, end);

	first = *end;
	if (!rc && *end > x->p->region.size && try_whole(x)) {
		rc = arrange(x, end);
		for (uint32_t k = 0; k < x->ngroups && *end >= first; k++)
			x->group[k].whole &= !x->group[k].tried;
		if (!rc && *end >= first)
			rc = arrange(x, end);
	}
	for (uint32_t k = 0; k < x->ngroups && !rc; k++)
		if (x->group[k].whole)
			take_apart(x, &x->group[k]);
	return rc ? rc : follow_values(x);
}

static int write_all(struct rebuild *x, uint64_t end)
{
	const struct pmo *p = x->p;
	int rc = grow(x, end);

	rc = rc ? rc : place_clear(x->block, BLOCKS * p->table[PMO_GROUPS].n, object_part(x->o, p->behind),
				   p->region.at, x->e);
	place_empty(x);
	for (uint32_t k = 0; k < x->ngroups && !rc; k++)
		rc = write_group(x, &x->group[k]);
	return rc ? rc : keep_first_word(x);
}

/* ---- all of it ---- */

static void tell(const struct rebuild *x)
{
	uint32_t guessed = 0, flat = 0;

	for (uint32_t k = 0; k < x->ngroups; k++) {
		guessed += x->group[k].made.guessed;
		flat += x->group[k].made.flat;
	}
	if (guessed)
		object_say(x->o, "mesh %u: %u new vertices took the weights and colours of the nearest old vertex",
			   x->number, guessed);
	if (flat)
		object_say(x->o, "mesh %u: %u triangles are left out, as two of their vertices are stored as one",
			   x->number, flat);
}

static void free_groups(struct rebuild *x)
{
	for (uint32_t k = 0; k < x->ngroups && x->group; k++) {
		struct group *g = &x->group[k];

		buf_free(&g->made.vertices);
		buf_free(&g->made.face);
		buf_free(&g->vertices);
		buf_free(&g->indices);
		buf_free(&g->prims);
	}
	arena_free(&x->arena);
}

static bool any_change(const struct rebuild *x)
{
	bool any = false;

	for (uint32_t k = 0; k < x->ngroups; k++)
		any |= x->group[k].made.change != PMO_UNCHANGED;
	return any;
}

static struct rebuild rebuild_of(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	const struct pmo *p = o->priv;

	return (struct rebuild){ .o = o, .p = p, .mesh = &p->mesh[mesh], .number = mesh,
				 .ngroups = p->mesh[mesh].group_count, .put = put, .e = e };
}

int pmo_draws(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	struct rebuild x = rebuild_of(o, mesh, put, e);
	int rc = check_put(&x);

	rc = rc ? rc : make_groups(&x);
	rc = rc ? rc : !any_change(&x);
	free_groups(&x);
	return rc;
}

int pmo_rebuild(struct object *o, uint32_t mesh, const struct geo_put *put, struct err *e)
{
	struct rebuild x = rebuild_of(o, mesh, put, e);
	uint64_t end = 0;
	int rc = check_put(&x);

	rc = rc ? rc : make_groups(&x);
	if (!rc && any_change(&x)) {
		rc = make_blocks(&x);
		rc = rc ? rc : place(&x, &end);
		rc = rc ? rc : write_all(&x, end);
	}
	if (!rc)
		tell(&x);
	free_groups(&x);
	return rc;
}
