/* Where vertices and indices of a MOD3 lie after one mesh got others (spec/mod3.md 2, 7.1).
 *
 * The vertices of a mesh begin at vertexOffset + stride * (vertexBase + vertexSub) of the vertex buffer, and index
 * value vertexSub is the first of them. Files assign these by one rule over all meshes. A mesh whose place is what that
 * rule says gets what the rule says now; any other, such as one that shares the vertices of another mesh, gets the
 * place to which its vertices moved. Fields that nobody reads follow only where they were right. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mod3_write.h"

#define LAST_INDEX 0xffffu                     /* the highest value of an index */
#define INDICES_MOST (1u << 27)                /* of all meshes, where records may name the same ones again and again */

/* Offsets in a mesh record. */
enum {
	R_VERTICES = 0x02, R_STRIDE = 0x0e, R_SUB = 0x10, R_OFFSET = 0x14, R_TYPE = 0x18, R_FIRST = 0x1c,
	R_INDICES = 0x20, R_BASE = 0x24, R_MIN = 0x2c, R_MAX = 0x2e, R_TOTAL = 0x3c
};
/* And in the header. */
enum { H_VERTICES = 0x0c, H_INDICES = 0x10, H_SIZE = 0x18 };

struct address { uint64_t offset, base, sub, first, total; };
struct shape { uint32_t nvertices, nindices, stride; };

struct layout {
	struct object *o;
	const struct mod3 *m;
	uint32_t n;                            /* meshes */
	const struct mod3_reshape *r;
	struct shape *was, *now;               /* of each mesh */
	struct address *old_rule, *new_rule, *to;
	const uint8_t *indices;                /* all of the index buffer */
	uint64_t at, end;                      /* old vertices of the mesh, in the vertex buffer */
	uint64_t first;                        /* its first index */
	struct mod3_moves *moves;
};

/* ---- what must not be moved ---- */

/* The lowest and highest value of n indices. */
static void index_range(const uint8_t *p, uint32_t n, uint32_t *low, uint32_t *high)
{
	*low = LAST_INDEX;
	*high = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = le_u16(p + 2 * (size_t)i);

		*low = v < *low ? v : *low;
		*high = v > *high ? v : *high;
	}
}

static bool has_indices(const struct layout *x, const struct mod3_mesh *mesh)
{
	return mesh->index_count && span_ok(x->m->table[MOD3_INDICES].n, mesh->first_index, mesh->index_count, 1);
}

static const uint8_t *indices_of(const struct layout *x, const struct mod3_mesh *mesh)
{
	return x->indices + 2 * (size_t)mesh->first_index;
}

/* The bytes of the vertex buffer that a mesh shows: its own vertices, and those its indices reach. */
static void reach(const struct layout *x, const struct mod3_mesh *mesh, uint64_t *at, uint64_t *end)
{
	uint64_t run = mesh->vertex_offset + (uint64_t)mesh->vertex_base * mesh->stride, from, to;
	uint32_t low, high;

	*at = mod3_own_at(mesh);
	*end = *at + (uint64_t)mesh->vertex_count * mesh->stride;
	if (!mesh->vertex_count || !has_indices(x, mesh))
		return;
	index_range(indices_of(x, mesh), mesh->index_count, &low, &high);
	from = run + (uint64_t)low * mesh->stride;
	to = run + ((uint64_t)high + 1) * mesh->stride;
	*at = from < *at ? from : *at;
	*end = to > *end ? to : *end;
}

static int check_other(const struct layout *x, uint32_t i, struct err *e)
{
	const struct mod3_mesh *mesh = &x->m->mesh[x->r->mesh], *other = &x->m->mesh[i];
	uint64_t at, end;

	if (other->bad)
		return err_set(e, EINVAL, "mesh %u is damaged, so the vertices of mesh %u cannot be moved past it", i,
			       x->r->mesh);
	reach(x, other, &at, &end);
	if (other->vertex_count && mesh->vertex_count && at < x->end && end > x->at)
		return err_set(e, EINVAL, "mesh %u uses vertices of mesh %u: only their values can be changed", i,
			       x->r->mesh);
	if (other->index_count && mesh->index_count &&
	    other->first_index < (uint64_t)mesh->first_index + mesh->index_count &&
	    mesh->first_index < (uint64_t)other->first_index + other->index_count)
		return err_set(e, EINVAL, "mesh %u uses indices of mesh %u: they cannot be changed", i, x->r->mesh);
	return 0;
}

/* Whether a section that has no bytes could get some where it is said to be. */
static bool is_free(const struct mod3 *m, unsigned section, uint64_t size)
{
	uint64_t at = m->table[section].at;

	if (m->table[section].size)
		return true;
	for (unsigned k = 0; k < MOD3_SECTIONS; k++)
		if (at > m->table[k].at && at < m->table[k].at + m->table[k].size)
			return false;
	return at >= MOD3_HEADER_SIZE && at <= size;
}

static int check_mesh(const struct layout *x, struct err *e)
{
	const struct mod3_mesh *mesh = &x->m->mesh[x->r->mesh];
	const struct mod3_table *vertices = &x->m->table[MOD3_VERTICES], *indices = &x->m->table[MOD3_INDICES];
	uint64_t at, end, all = 0;
	int rc = 0;

	for (uint32_t i = 0; i < x->n; i++)
		all += has_indices(x, &x->m->mesh[i]) ? x->m->mesh[i].index_count : 0;
	if (all > INDICES_MOST)
		return err_set(e, EFBIG, "the meshes use %" PRIu64 " indices in all, more than %u", all, INDICES_MOST);
	if (vertices->size != x->m->head.vertex_buffer_size || !is_free(x->m, MOD3_VERTICES, x->o->src->size))
		return err_set(e, EINVAL, "the vertex buffer is damaged, so nothing in it can be moved");
	if (indices->n != x->m->head.index_count || !is_free(x->m, MOD3_INDICES, x->o->src->size))
		return err_set(e, EINVAL, "the index buffer is damaged, so nothing in it can be moved");
	reach(x, mesh, &at, &end);
	if (at < x->at || end > x->end)
		return err_set(e, EINVAL, "mesh %u uses vertices of other meshes: only their values can be changed",
			       x->r->mesh);
	if (mesh->index_count && !has_indices(x, mesh))
		return err_set(e, EINVAL, "the indices of mesh %u are not in the index buffer, which ends with %u",
			       x->r->mesh, indices->n);
	for (uint32_t i = 0; i < x->n && !rc; i++)
		if (i != x->r->mesh)
			rc = check_other(x, i, e);
	return rc;
}

/* ---- addresses ---- */

/* The rule by which they are assigned. */
static void assign(const struct shape *v, uint32_t n, struct address *out)
{
	struct address next = { 0 };
	uint32_t stride = 0;

	for (uint32_t i = 0; i < n; i++) {
		/* A record of zeros is no mesh and ends no run. */
		if (v[i].stride && stride && v[i].stride != stride) {
			next.offset += (next.sub + next.base) * stride;
			next.base = next.sub = 0;
		} else if (next.sub + v[i].nvertices > MOD3_RUN_MOST) {
			next.base += next.sub;
			next.sub = 0;
		}
		stride = v[i].stride ? v[i].stride : stride;
		out[i] = next;
		next.sub += v[i].nvertices;
		next.total += v[i].nvertices;
		next.first += v[i].nindices;
	}
}

static uint64_t place_of(const struct address *a, uint32_t stride)
{
	return a->offset + (a->base + a->sub) * stride;
}

static bool is_place(const struct address *a, const struct mod3_mesh *mesh)
{
	return a->offset == mesh->vertex_offset && a->base == mesh->vertex_base && a->sub == mesh->vertex_sub;
}

/* A run that begins anew: nothing else has to be known. */
static void begin_run(struct address *a, uint64_t at)
{
	a->offset = at;
	a->base = a->sub = 0;
}

/* Index values end at 65535. */
static void split_run(struct address *a, uint32_t nvertices)
{
	if (a->sub + nvertices <= MOD3_RUN_MOST)
		return;
	a->base += a->sub;
	a->sub = 0;
}

/* The place of a mesh that does not follow the rule, `by` bytes from where it was. */
static void shift(const struct layout *x, uint32_t i, uint64_t at, int64_t by, struct address *a)
{
	const struct mod3_mesh *mesh = &x->m->mesh[i];
	uint64_t base_at = mesh->vertex_offset + (uint64_t)mesh->vertex_base * mesh->stride;
	int64_t each = mesh->stride;

	*a = (struct address){ .offset = mesh->vertex_offset, .base = mesh->vertex_base, .sub = mesh->vertex_sub };
	if (!by || !each)
		return;
	if (mesh->vertex_offset >= x->end)
		a->offset += (uint64_t)by;
	else if (by % each)
		begin_run(a, at);
	else if (base_at >= x->end)
		a->base += (uint64_t)(by / each);
	else
		a->sub += (uint64_t)(by / each);
	split_run(a, mesh->vertex_count);
}

/* Where the vertices of the reshaped mesh begin. One that had none, in a place where none can be, gets the end. */
static uint64_t own_place(const struct layout *x)
{
	const struct mod3_mesh *mesh = &x->m->mesh[x->r->mesh];
	uint64_t at = mod3_own_at(mesh), size = x->m->table[MOD3_VERTICES].size;

	if (mesh->vertex_count)
		return at;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct mod3_mesh *other = &x->m->mesh[i];
		uint64_t from = mod3_own_at(other);

		if (at > from && at < from + (uint64_t)other->vertex_count * other->stride)
			return size;
	}
	return at < size ? at : size;
}

/* The first of its indices, likewise. */
static uint64_t own_first(const struct layout *x)
{
	const struct mod3_mesh *mesh = &x->m->mesh[x->r->mesh];
	uint64_t first = mesh->first_index, n = x->m->table[MOD3_INDICES].n;

	if (mesh->index_count)
		return first;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct mod3_mesh *other = &x->m->mesh[i];

		if (first > other->first_index && first < (uint64_t)other->first_index + other->index_count)
			return n;
	}
	return first < n ? first : n;
}

static void find_place(struct layout *x, uint32_t i)
{
	const struct mod3_mesh *mesh = &x->m->mesh[i];
	int64_t by = (int64_t)x->r->points.n * x->r->points.block->stride - (int64_t)(x->end - x->at);
	uint64_t at = mod3_own_at(mesh);
	struct address *to = &x->to[i], *rule = &x->new_rule[i];
	bool ruled = mesh->stride && is_place(&x->old_rule[i], mesh);

	if (i == x->r->mesh) {
		at = x->at;
		*to = (struct address){ mesh->vertex_offset, mesh->vertex_base, mesh->vertex_sub, 0, 0 };
		if (x->now[i].stride != mesh->stride || place_of(to, mesh->stride) != at)
			begin_run(to, at);
		split_run(to, x->now[i].nvertices);
	} else {
		by = at >= x->end ? by : 0;
		at += (uint64_t)by;
		shift(x, i, at, by, to);
	}
	if (ruled && (place_of(rule, x->now[i].stride) == at || !x->now[i].nvertices)) {
		to->offset = rule->offset;
		to->base = rule->base;
		to->sub = rule->sub;
	}
}

static void find_first_index(struct layout *x, uint32_t i)
{
	const struct mod3_mesh *mesh = &x->m->mesh[i];
	uint64_t old = x->was[x->r->mesh].nindices, new = x->now[x->r->mesh].nindices, first = mesh->first_index;

	if (i == x->r->mesh)
		first = x->first;
	else if (first >= x->first + old)
		first += new - old;
	if (x->old_rule[i].first == mesh->first_index && (x->new_rule[i].first == first || !x->now[i].nindices))
		first = x->new_rule[i].first;
	x->to[i].first = first;
}

/* Indices reach from `low` to `high`, and move with vertexSub. */
static int fit_indices(struct layout *x, uint32_t i, uint32_t low, uint32_t high, struct err *e)
{
	struct address *to = &x->to[i];
	uint64_t was = x->m->mesh[i].vertex_sub, need;

	if (to->sub + low < was) {
		need = was - to->sub - low;
		if (need > to->base)
			return err_set(e, EINVAL, "the indices of mesh %u would reach before the vertex buffer", i);
		to->base -= need;
		to->sub += need;
	}
	if (to->sub + high > was + LAST_INDEX) {
		need = to->sub + high - was - LAST_INDEX;
		if (need > to->sub || need > to->sub + low - was)
			return err_set(e, EFBIG, "the indices of mesh %u would reach past %u", i, LAST_INDEX);
		to->base += need;
		to->sub -= need;
	}
	return 0;
}

static int find_addresses(struct layout *x, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->n && !rc; i++) {
		const struct mod3_mesh *mesh = &x->m->mesh[i];
		uint32_t low, high;

		find_place(x, i);
		find_first_index(x, i);
		if (!mesh->vertex_count || !has_indices(x, mesh) || (i == x->r->mesh && x->r->corner))
			continue;
		index_range(indices_of(x, mesh), mesh->index_count, &low, &high);
		rc = fit_indices(x, i, low, high, e);
	}
	return rc;
}

/* Indices that some meshes have in common must move alike in all of them. */
struct shared { uint64_t first, end, by; };

static int by_first(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int check_shared(const struct layout *x, struct err *e)
{
	struct shared *v = calloc((size_t)x->n + 1, sizeof *v);
	uint32_t n = 0;
	uint64_t end = 0;
	bool alike = true;

	if (!v)
		return err_nomem(e);
	for (uint32_t i = 0; i < x->n; i++) {
		const struct mod3_mesh *mesh = &x->m->mesh[i];

		if (i != x->r->mesh && mesh->vertex_count && has_indices(x, mesh))
			v[n++] = (struct shared){ mesh->first_index, (uint64_t)mesh->first_index + mesh->index_count,
						  x->to[i].sub - mesh->vertex_sub };
	}
	qsort(v, n, sizeof *v, by_first);
	for (uint32_t i = 0; i < n; i++) {
		alike &= v[i].first >= end || v[i].by == v[i - 1].by;
		end = v[i].end > end ? v[i].end : end;
	}
	free(v);
	return alike ? 0 : err_set(e, EINVAL, "meshes have indices in common that would have to differ");
}

/* ---- writing ---- */

/* Fields nobody reads: what was right stays right. */
static void follow_stale(const struct layout *x, uint32_t i, uint8_t *raw)
{
	const struct mod3_mesh *mesh = &x->m->mesh[i];
	uint32_t last = mesh->vertex_sub + mesh->vertex_count - 1, sub = (uint32_t)x->to[i].sub;
	bool same = sub == mesh->vertex_sub && x->now[i].nvertices == mesh->vertex_count, own = i == x->r->mesh;

	if (mesh->min_vertex == (uint16_t)mesh->vertex_sub || (own && sub != mesh->vertex_sub))
		put_le16(raw + R_MIN, (uint16_t)sub);
	if (mesh->max_vertex == (uint16_t)last || (own && !same))
		put_le16(raw + R_MAX, (uint16_t)(sub + x->now[i].nvertices - 1));
	if (mesh->vertex_running_total == x->old_rule[i].total)
		put_le32(raw + R_TOTAL, (uint32_t)x->new_rule[i].total);
}

static int put_record(const struct layout *x, uint32_t i, struct err *e)
{
	const struct address *to = &x->to[i];
	uint8_t raw[MOD3_MESH_SIZE];
	uint64_t at = mod3_mesh_at(x->m, i);
	int rc = src_read(x->o->src, raw, sizeof raw, at, "mesh record", e);

	if (rc)
		return rc;
	if ((to->offset | to->base | to->first) > UINT32_MAX)
		return err_set(e, EFBIG, "the vertices of mesh %u would lie past 4 GiB", i);
	put_le32(raw + R_OFFSET, (uint32_t)to->offset);
	put_le32(raw + R_BASE, (uint32_t)to->base);
	put_le32(raw + R_SUB, (uint32_t)to->sub);
	put_le32(raw + R_FIRST, (uint32_t)to->first);
	if (i == x->r->mesh) {
		put_le16(raw + R_VERTICES, (uint16_t)x->now[i].nvertices);
		put_le32(raw + R_INDICES, x->now[i].nindices);
		raw[R_STRIDE] = x->r->points.block->stride;
		put_le32(raw + R_TYPE, x->r->points.block->hash);
	}
	follow_stale(x, i, raw);
	return object_patch(x->o, 0, at, raw, sizeof raw, "mesh record", e);
}

/* Indices that stay the same corners, when vertexSub is another one. */
static int put_indices(const struct layout *x, uint32_t i, struct err *e)
{
	const struct mod3_mesh *mesh = &x->m->mesh[i];
	uint32_t by = (uint32_t)x->to[i].sub - mesh->vertex_sub;
	uint8_t *raw;

	if (!by || !mesh->vertex_count || !has_indices(x, mesh) || (i == x->r->mesh && x->r->corner))
		return 0;
	raw = arena_alloc(x->moves->a, mesh->index_count, 2);
	if (!raw)
		return err_nomem(e);
	for (uint32_t k = 0; k < mesh->index_count; k++)
		put_le16(raw + 2 * (size_t)k, (uint16_t)(le_u16(indices_of(x, mesh) + 2 * (size_t)k) + by));
	return src_write(x->o->src, raw, 2 * (size_t)mesh->index_count, mod3_index_at(x->m, mesh), "indices", e);
}

/* The counts stay as much out of date as they were. */
static int put_header(const struct layout *x, struct err *e)
{
	const struct mod3_header *h = &x->m->head;
	const struct shape *was = &x->was[x->r->mesh], *now = &x->now[x->r->mesh];
	uint64_t vertices = (uint64_t)h->vertex_count + now->nvertices - was->nvertices;
	uint64_t indices = (uint64_t)h->index_count + now->nindices - was->nindices;
	uint64_t size = (uint64_t)h->vertex_buffer_size + (uint64_t)now->nvertices * now->stride - (x->end - x->at);
	uint8_t raw[4];
	int rc;

	if (size > UINT32_MAX || indices > UINT32_MAX)
		return err_set(e, EFBIG, "%" PRIu64 " bytes of vertices and %" PRIu64
			       " indices are more than the header can count", size, indices);
	put_le32(raw, vertices > UINT32_MAX ? 0 : (uint32_t)vertices);
	rc = object_patch(x->o, 0, H_VERTICES, raw, sizeof raw, "vertex count", e);
	put_le32(raw, (uint32_t)indices);
	rc = rc ? rc : object_patch(x->o, 0, H_INDICES, raw, sizeof raw, "index count", e);
	put_le32(raw, (uint32_t)size);
	return rc ? rc : object_patch(x->o, 0, H_SIZE, raw, sizeof raw, "vertex buffer size", e);
}

static int splice_indices(const struct layout *x, struct err *e)
{
	uint32_t n = x->r->ncorners;
	uint8_t *raw = arena_alloc(x->moves->a, (size_t)n + 1, 2);

	if (!raw)
		return err_nomem(e);
	for (uint32_t k = 0; k < n; k++)
		put_le16(raw + 2 * (size_t)k, (uint16_t)(x->r->corner[k] + x->to[x->r->mesh].sub));
	return mod3_move(x->moves, MOD3_INDICES,
			 (struct splice){ x->m->table[MOD3_INDICES].at + 2 * x->first,
					  2 * (uint64_t)x->was[x->r->mesh].nindices, 2 * (uint64_t)n, raw }, e);
}

static int write_all(const struct layout *x, struct err *e)
{
	const struct mod3_points *p = &x->r->points;
	int rc = put_header(x, e);

	for (uint32_t i = 0; i < x->n && !rc; i++) {
		if (!x->m->mesh[i].stride && i != x->r->mesh)
			continue;              /* a record of zeros stays one */
		rc = put_record(x, i, e);
		rc = rc ? rc : put_indices(x, i, e);
	}
	if (!rc)
		rc = mod3_move(x->moves, MOD3_VERTICES,
			       (struct splice){ x->m->table[MOD3_VERTICES].at + x->at, x->end - x->at,
						(uint64_t)p->n * p->block->stride, p->v }, e);
	return rc || !x->r->corner ? rc : splice_indices(x, e);
}

/* ---- all of it ---- */

static int begin(struct layout *x, struct object *o, const struct mod3_reshape *r, struct arena *a, struct err *e)
{
	const struct mod3 *m = o->priv;
	const struct mod3_table *t = &m->table[MOD3_INDICES];
	const struct mod3_mesh *mesh = &m->mesh[r->mesh];
	size_t n = m->table[MOD3_MESHES].n;

	*x = (struct layout){ .o = o, .m = m, .n = (uint32_t)n, .r = r };
	x->was = arena_alloc(a, n, sizeof *x->was);
	x->now = arena_alloc(a, n, sizeof *x->now);
	x->old_rule = arena_alloc(a, n, sizeof *x->old_rule);
	x->new_rule = arena_alloc(a, n, sizeof *x->new_rule);
	x->to = arena_alloc(a, n, sizeof *x->to);
	if (!x->was || !x->now || !x->old_rule || !x->new_rule || !x->to)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++)
		x->was[i] = (struct shape){ m->mesh[i].vertex_count, m->mesh[i].index_count, m->mesh[i].stride };
	assign(x->was, x->n, x->old_rule);
	x->at = own_place(x);
	x->end = x->at + (uint64_t)mesh->vertex_count * mesh->stride;
	x->first = own_first(x);
	return t->size ? object_read(o, a, t->at, t->size, "index buffer", &x->indices, e) : 0;
}

int mod3_reshape(struct object *o, const struct mod3_reshape *r, struct mod3_moves *moves, struct err *e)
{
	struct layout x;
	int rc = begin(&x, o, r, moves->a, e);

	rc = rc ? rc : check_mesh(&x, e);
	if (rc)
		return rc;
	x.moves = moves;
	memcpy(x.now, x.was, x.n * sizeof *x.now);
	x.now[r->mesh] = (struct shape){ r->points.n, r->corner ? r->ncorners : x.was[r->mesh].nindices,
					 r->points.block->stride };
	assign(x.now, x.n, x.new_rule);
	rc = find_addresses(&x, e);
	rc = rc ? rc : check_shared(&x, e);
	return rc ? rc : write_all(&x, e);
}
