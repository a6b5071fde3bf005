/* MLPs as a search needs them: whether one begins at a place (spec/ps3-pak.md 7.2, rule 1), and what its tables say of
 * the MMP and MGP that lie somewhere else. What the format mlp makes of them is another matter. */
#include "carve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define HEADER 28u
#define RECORD_SIZE 28u
#define AT_ONCE 128u                           /* records read at once */
#define MESHES_MOST 65535u
#define SLACK 256u                             /* data_base is less than so far behind the table */
#define METADATA 0xc0u
#define SUBMESH 0x60u
#define SUBMESHES_MOST 4096u
#define TRIES 256u                             /* meshes that are looked at for some whose vertices can be tested */
#define STREAM 24u
#define VERTEX 16u
#define TOLERANCE 0.05
#define NONE 0xffffffffu

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
	uint8_t raw[HEADER];
	uint64_t end;

	if (src_pread(src, raw, sizeof raw, at))
		return false;
	out->n = be_u32(raw + 0x10);
	out->base = be_u32(raw + 0x14);
	end = HEADER + (uint64_t)out->n * RECORD_SIZE;
	return be_u32(raw) == 0xfafa0003 && be_u16(raw + 8) == HEADER && be_u32(raw + 0x18) == HEADER && out->n &&
	       out->n <= MESHES_MOST && out->base >= end && out->base < end + SLACK;
}

/* Calls fn for each record until it says something else than 0. */
static int each_record(struct source *src, uint64_t at, uint32_t n, int (*fn)(void *ctx, const uint8_t *raw), void *ctx)
{
	uint8_t room[AT_ONCE * RECORD_SIZE];
	uint32_t k;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i += k) {
		k = n - i < AT_ONCE ? n - i : AT_ONCE;
		rc = src_pread(src, room, k * (size_t)RECORD_SIZE, at + HEADER + (uint64_t)i * RECORD_SIZE);
		for (uint32_t j = 0; j < k && !rc; j++)
			rc = fn(ctx, room + j * (size_t)RECORD_SIZE);
	}
	return rc;
}

struct checking { struct source *src; struct carve_work *work; uint64_t data, end; };

/* Its metadata has the magic, and the id once more. */
static int check_record(void *ctx, const uint8_t *raw)
{
	struct checking *c = ctx;
	uint64_t at = c->data + be_u32(raw + 4), end = at + be_u32(raw + 16);
	uint8_t meta[0x84];

	if (!carve_afford(c->work, 1) || end > c->src->size || src_pread(c->src, meta, sizeof meta, at) ||
	    be_u32(meta) != 0xbaba0031 || be_u32(meta + 0x80) != be_u32(raw))
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
	uint32_t x = be_u32((const uint8_t *)a + 0x20), y = be_u32((const uint8_t *)b + 0x20);

	return (x > y) - (x < y);
}

/* Whether the submeshes divide the indices up. */
static bool is_partition(const struct meta *meta, const uint8_t *head, uint32_t nindices)
{
	uint32_t n = be_u32(head + 0xa4);
	size_t bytes = n <= SUBMESHES_MOST ? (size_t)n * SUBMESH : 0;
	uint8_t *v = bytes ? malloc(bytes) : NULL;
	uint64_t end = 0;
	bool ok = v && read_meta(meta, be_u32(head + 0xa0), v, bytes);

	if (ok)
		qsort(v, n, SUBMESH, by_first);
	for (uint32_t i = 0; i < n && ok; i++) {
		const uint8_t *sub = v + (size_t)i * SUBMESH;

		ok = be_u32(sub + 0x20) == end && end % 3 == 0 && be_u32(sub + 0x24) % 3 == 0;
		end += be_u32(sub + 0x24);
	}
	free(v);
	return ok && end == nindices;
}

static bool read_box(const uint8_t *head, struct carve_mesh *out)
{
	bool ok = true;

	for (unsigned k = 0; k < 3; k++) {
		out->low[k] = (double)bits_f32(be_u32(head + 0x60 + 4 * k)) - TOLERANCE;
		out->high[k] = (double)bits_f32(be_u32(head + 0x70 + 4 * k)) + TOLERANCE;
		ok = ok && out->low[k] <= out->high[k];
	}
	return ok;
}

/* Vertices and indices take the slice up, each with its size. */
static bool read_streams(const struct meta *meta, const uint8_t *head, const uint8_t *rec, struct carve_mesh *out)
{
	uint8_t primary[STREAM], index[STREAM];
	uint64_t start = be_u32(rec + 8), size = be_u32(rec + 20), vertices, indices;

	if (!read_meta(meta, be_u32(head + 0x90), primary, sizeof primary) ||
	    !read_meta(meta, be_u32(head + 0x98), index, sizeof index))
		return false;
	vertices = be_u32(primary + 16);
	indices = be_u32(index + 8);
	out->nvertices = be_u32(primary);
	out->nindices = be_u32(index);
	out->vertices = start + vertices;
	out->indices = start + indices;
	return out->nvertices && out->nindices && be_u32(primary + 8) == VERTEX &&
	       be_u32(primary + 20) == (uint64_t)out->nvertices * VERTEX &&
	       be_u32(index + 12) == (uint64_t)out->nindices * 2 &&
	       span_ok(size, vertices, out->nvertices, VERTEX) && span_ok(size, indices, out->nindices, 2) &&
	       (uint64_t)out->nvertices * VERTEX + (uint64_t)out->nindices * 2 == size;
}

/* The mesh of a record, if its vertices can be recognised. */
static bool read_mesh(const struct reading *r, const uint8_t *rec, struct carve_mesh *out)
{
	const struct meta meta = { r->src, r->data + be_u32(rec + 4), be_u32(rec + 16) };
	uint8_t head[METADATA];

	return read_meta(&meta, 0, head, sizeof head) && be_u32(head + 0x9c) == NONE && read_box(head, out) &&
	       read_streams(&meta, head, rec, out) && is_partition(&meta, head, out->nindices);
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

static int read_record(void *ctx, const uint8_t *rec)
{
	struct reading *r = ctx;
	struct carve_mlp *m = r->m;
	uint32_t mmp = be_u32(rec + 20), mgp = be_u32(rec + 24);

	if (m->nmeshes < CARVE_MESHES && r->tries++ < TRIES)
		m->nmeshes += read_mesh(r, rec, &m->mesh[m->nmeshes]);
	r->nomem = (mmp && !add_slice(&m->mmp_gaps, be_u32(rec + 8), mmp)) ||
		   (mgp && !add_slice(&m->mgp_gaps, be_u32(rec + 12), mgp));
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
