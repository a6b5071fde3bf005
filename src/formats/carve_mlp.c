/* MLPs as a search needs them: whether one begins at a place (spec/ps3-pak.md 7.2, rule 1), and what its tables say of
 * the MMP and MGP that lie somewhere else. What the format mlp makes of them is another matter. */
#include "carve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE 128u                           /* records read at once */
#define MESHES_MOST 65535u
#define SLACK 256u                             /* data_base is less than so far behind the table */
#define SUBMESHES_MOST 4096u
#define TRIES 256u                             /* meshes that are looked at for some whose vertices can be tested */
#define TOLERANCE 0.05

const uint8_t *carve_look(struct carve_window *w, uint64_t at, size_t n)
{
	uint64_t size = w->src->size;

	if (at >= w->at && at + n <= w->at + w->n)
		return w->p + (at - w->at);
	w->n = 0;
	if (!span_ok(size, at, n, 1))
		return NULL;
	w->at = at - (at < sizeof w->p / 2 ? at : sizeof w->p / 2);
	w->n = size - w->at < sizeof w->p ? (size_t)(size - w->at) : sizeof w->p;
	if (src_pread(w->src, w->p, w->n, w->at))
		w->n = 0;
	return w->n ? w->p + (at - w->at) : NULL;
}

/* ---- the table ---- */

struct head { uint32_t n; uint64_t base; };

static bool read_head(struct source *src, uint64_t at, struct head *out)
{
	uint8_t raw[MLP_HEADER_SIZE];
	struct mlp_header h;
	uint64_t end;

	if (src_pread(src, raw, sizeof raw, at) || !carve_is_head(raw))
		return false;
	rec_decode(&mlp_header_record, true, raw, &h);
	*out = (struct head){ h.mesh_count, h.data_base };
	end = mlp_record_at(out->n);
	return out->n && out->n <= MESHES_MOST && out->base >= end && out->base < end + SLACK;
}

/* Calls fn for each record until it says something else than 0. */
static int each_record(struct source *src, uint64_t at, uint32_t n, int (*fn)(void *ctx, const struct mlp_record *),
		       void *ctx)
{
	uint8_t room[AT_ONCE * MLP_RECORD_SIZE];
	struct mlp_record rec;
	uint32_t k;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i += k) {
		k = n - i < AT_ONCE ? n - i : AT_ONCE;
		rc = src_pread(src, room, k * (size_t)MLP_RECORD_SIZE, at + mlp_record_at(i));
		for (uint32_t j = 0; j < k && !rc; j++) {
			rec_decode(&mlp_record_record, true, room + j * (size_t)MLP_RECORD_SIZE, &rec);
			rc = fn(ctx, &rec);
		}
	}
	return rc;
}

struct checking { struct source *src; struct carve_work *work; uint64_t data, end; };

/* Its metadata has the magic, and the id once more. */
static int check_record(void *ctx, const struct mlp_record *rec)
{
	struct checking *c = ctx;
	uint64_t at = c->data + rec->metadata_offset, end = at + rec->metadata_size;
	uint8_t meta[MLP_AT_ID + 4];

	if (!carve_afford(c->work, 1) || end > c->src->size || src_pread(c->src, meta, sizeof meta, at) ||
	    be_u32(meta) != MLP_METADATA_MAGIC || be_u32(meta + MLP_AT_ID) != rec->mesh_id)
		return 1;
	c->end = end > c->end ? end : c->end;
	return 0;
}

int carve_mlp_check(struct source *src, uint64_t at, struct carve_work *records, uint64_t *size)
{
	struct checking c = { .src = src, .work = records };
	struct head head;

	if (!carve_afford(records, 1) || !read_head(src, at, &head))
		return 0;
	c.data = c.end = at + head.base;
	if (each_record(src, at, head.n, check_record, &c))
		return 0;
	*size = c.end - at;
	return 1;
}

/* ---- rigid meshes ---- */

struct reading {
	struct source *src;
	struct carve_mlp *m;
	uint64_t data;
	unsigned tries;
	bool nomem;
};

/* A piece of a mesh's metadata, which is `n` bytes at `at` of the file. */
struct meta { struct source *src; uint64_t at, n; };

static bool read_meta(const struct meta *m, uint64_t at, void *p, size_t n)
{
	return span_ok(m->n, at, n, 1) && !src_pread(m->src, p, n, m->at + at);
}

static int by_first(const void *a, const void *b)
{
	uint32_t x = be_u32((const uint8_t *)a + MLP_AT_FIRST_INDEX);
	uint32_t y = be_u32((const uint8_t *)b + MLP_AT_FIRST_INDEX);

	return (x > y) - (x < y);
}

/* Whether the submeshes divide the indices up. */
static bool is_partition(const struct meta *meta, const struct mlp_metadata *head, uint32_t nindices)
{
	uint32_t n = head->submesh_count;
	size_t bytes = n <= SUBMESHES_MOST ? (size_t)n * MLP_SUBMESH_SIZE : 0;
	uint8_t *v = bytes ? malloc(bytes) : NULL;
	uint64_t end = 0;
	bool ok = v && read_meta(meta, head->submesh_offset, v, bytes);

	if (ok)
		qsort(v, n, MLP_SUBMESH_SIZE, by_first);
	for (uint32_t i = 0; i < n && ok; i++) {
		struct mlp_submesh sub;

		rec_decode(&mlp_submesh_record, true, v + (size_t)i * MLP_SUBMESH_SIZE, &sub);
		ok = sub.first_index == end && end % 3 == 0 && sub.index_count % 3 == 0;
		end += sub.index_count;
	}
	free(v);
	return ok && end == nindices;
}

static bool read_box(const struct mlp_metadata *head, struct carve_mesh *out)
{
	bool ok = true;

	for (unsigned k = 0; k < 3; k++) {
		out->low[k] = (double)head->aabb_min[k] - TOLERANCE;
		out->high[k] = (double)head->aabb_max[k] + TOLERANCE;
		ok = ok && out->low[k] <= out->high[k];
	}
	return ok;
}

/* Vertices and indices take the slice up, each with its size. */
static bool read_streams(const struct meta *meta, const struct mlp_metadata *head, const struct mlp_record *rec,
			 struct carve_mesh *out)
{
	uint8_t raw[2][MLP_STREAM_SIZE];
	struct mlp_stream v;
	struct mlp_indices i;

	if (!read_meta(meta, head->primary_stream, raw[0], sizeof raw[0]) ||
	    !read_meta(meta, head->index_stream, raw[1], sizeof raw[1]))
		return false;
	rec_decode(&mlp_stream_record, true, raw[0], &v);
	rec_decode(&mlp_index_record, true, raw[1], &i);
	*out = (struct carve_mesh){ .vertices = (uint64_t)rec->mmp_offset + v.offset,
				    .indices = (uint64_t)rec->mmp_offset + i.offset,
				    .nvertices = v.vertex_count, .nindices = i.index_count };
	return v.vertex_count && i.index_count && v.stride == MLP_VERTEX_SIZE &&
	       v.size == (uint64_t)v.vertex_count * MLP_VERTEX_SIZE && i.size == (uint64_t)i.index_count * 2 &&
	       span_ok(rec->mmp_size, v.offset, v.size, 1) && span_ok(rec->mmp_size, i.offset, i.size, 1) &&
	       (uint64_t)v.size + i.size == rec->mmp_size;
}

/* The mesh of a record, if its vertices can be recognised. */
static bool read_mesh(const struct reading *r, const struct mlp_record *rec, struct carve_mesh *out)
{
	const struct meta meta = { r->src, r->data + rec->metadata_offset, rec->metadata_size };
	uint8_t raw[MLP_METADATA_SIZE];
	struct mlp_metadata head;

	if (!read_meta(&meta, 0, raw, sizeof raw))
		return false;
	rec_decode(&mlp_metadata_record, true, raw, &head);
	return head.embedded_stream == MLP_NONE && read_streams(&meta, &head, rec, out) && read_box(&head, out) &&
	       is_partition(&meta, &head, out->nindices);
}

/* ---- all of it ---- */

static bool add_slice(struct carve_gaps *g, uint64_t at, uint64_t size)
{
	if (g->n + 1 >= g->cap) {              /* one more for invert() */
		uint32_t cap = g->cap ? g->cap * 2 : 64;
		struct carve_span *v = realloc(g->v, cap * sizeof *v);

		if (!v)
			return false;
		g->v = v;
		g->cap = cap;
	}
	g->v[g->n++] = (struct carve_span){ at, at + size };
	return true;
}

static int read_record(void *ctx, const struct mlp_record *rec)
{
	struct reading *r = ctx;
	struct carve_mlp *m = r->m;

	if (m->nmeshes < CARVE_MESHES && r->tries++ < TRIES)
		m->nmeshes += read_mesh(r, rec, &m->mesh[m->nmeshes]);
	r->nomem = (rec->mmp_size && !add_slice(&m->mmp_gaps, rec->mmp_offset, rec->mmp_size)) ||
		   (rec->mgp_size && !add_slice(&m->mgp_gaps, rec->mgp_offset, rec->mgp_size));
	return r->nomem;
}

static int by_place(const void *a, const void *b)
{
	const struct carve_span *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Slices become what lies between them, up to the size of the file, which is returned. */
static uint64_t invert(struct carve_gaps *g)
{
	uint32_t n = 0;
	uint64_t at = 0, size;

	if (!g->n)
		return 0;
	qsort(g->v, g->n, sizeof *g->v, by_place);
	for (uint32_t i = 0; i < g->n; i++) {
		struct carve_span slice = g->v[i];

		if (slice.at > at)
			g->v[n++] = (struct carve_span){ at, slice.at };
		at = slice.end > at ? slice.end : at;
	}
	size = align_up(at, CARVE_BLOCK);
	if (size > at)
		g->v[n++] = (struct carve_span){ at, size };
	g->n = n;
	return size;
}

int carve_mlp_read(struct source *src, uint64_t at, struct carve_mlp *out, struct err *e)
{
	struct carve_work enough = { UINT64_MAX };
	struct reading r = { .src = src, .m = out };
	struct head head;

	*out = (struct carve_mlp){ .at = at };
	if (!read_head(src, at, &head) || !carve_mlp_check(src, at, &enough, &out->size))
		return err_at(e, EBADMSG, src, at, "MLP", "it is none any more");
	r.data = at + head.base;
	out->table = head.base;
	each_record(src, at, head.n, read_record, &r);
	if (r.nomem) {
		carve_mlp_free(out);
		return err_nomem(e);
	}
	out->mmp_size = invert(&out->mmp_gaps);
	out->mgp_size = invert(&out->mgp_gaps);
	return 0;
}

void carve_mlp_free(struct carve_mlp *m)
{
	free(m->mmp_gaps.v);
	free(m->mgp_gaps.v);
	m->mmp_gaps.v = m->mgp_gaps.v = NULL;
}
