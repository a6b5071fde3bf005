#include "build_mlp.h"

#include <string.h>

#include "bytes.h"

static void putb16(struct buf *b, unsigned v)
{
	put8(b, v >> 8 & 0xff);
	put8(b, v & 0xff);
}

static void putb32(struct buf *b, uint32_t v)
{
	putb16(b, v >> 16);
	putb16(b, v & 0xffff);
}

static void put_floats(struct buf *b, const float *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		putb32(b, f32_bits(v[i]));
}

void setb16(struct buf *b, size_t at, unsigned v)
{
	put_be16(b->p + at, (uint16_t)v);
}

void setb32(struct buf *b, size_t at, uint32_t v)
{
	put_be32(b->p + at, v);
}

/* ---- metadata ---- */

static void put_header(struct buf *b, const struct build_mlp_mesh *m)
{
	static const float matrix[16] = { [0] = 1, [5] = 1, [10] = 1, [15] = 1 }, sphere[4] = { 0, 0, 0, 100 };
	float last = (float)m->nvertices - 1;
	uint32_t at = 0xc0 + 0x60 * m->nsubs, rows = m->stride ? 24 : 0;

	putb32(b, 0xbaba0031);
	putb32(b, 0xffffffff);
	putb32(b, 0x00c0ffff);
	putb32(b, 0xffffffff);
	put_floats(b, matrix, 16);
	put_floats(b, sphere, 4);
	put_floats(b, (const float[]){ 0, 0, -last, 1 }, 4);
	put_floats(b, (const float[]){ last, last / 2, 0, 1 }, 4);
	putb32(b, m->id);
	putb32(b, 0xcdcdcdcd);
	putb32(b, 0xffffffff);
	putb32(b, 0x13);
	putb32(b, at);
	putb32(b, m->stride ? at + 24 : 0xffffffff);
	putb32(b, at + 24 + rows);
	putb32(b, m->skinned ? at + 48 + rows : 0xffffffff);
	putb32(b, 0xc0);
	putb32(b, m->nsubs);
	putb32(b, m->nsubs);
	for (unsigned i = 0; i < 3; i++)
		putb32(b, i == 2 && m->skinned);
	putb32(b, 0x00ff00cd);
	putb32(b, 0x01020304);
}

static void put_submesh(struct buf *b, unsigned first, unsigned count, uint32_t material)
{
	put_floats(b, (const float[]){ 0, 0, 0, 100 }, 4);
	for (unsigned i = 0; i < 16; i++)
		put8(b, i);
	putb32(b, first);
	putb32(b, count);
	putb32(b, 0);
	putb32(b, 0xffffffff);
	putb32(b, 7);
	putb32(b, material);
	putb32(b, 0x00010203);
	for (unsigned i = 0; i < 36; i++)
		put8(b, 0xff);
}

static void put_stream(struct buf *b, unsigned n, unsigned stride, uint32_t unknown, uint32_t at)
{
	putb32(b, n);
	putb32(b, n);
	putb32(b, stride);
	putb32(b, unknown);
	putb32(b, at);
	putb32(b, n * stride);
}

static void put_metadata(struct buf *b, const struct build_mlp_mesh *m)
{
	put_header(b, m);
	for (unsigned k = 0; k < m->nsubs; k++)
		put_submesh(b, m->sub[k].first, m->sub[k].count, m->sub[k].material);
	put_stream(b, m->nvertices, 16, 0x40321000, m->indices_first ? 2 * m->nindices : 0);
	if (m->stride)
		put_stream(b, m->nvertices, m->stride, 7, 0);
	putb32(b, m->nindices);
	putb32(b, 5);
	putb32(b, m->indices_first ? 0 : 16 * m->nvertices);
	putb32(b, 2 * m->nindices);
	putb32(b, 1);
	putb32(b, 0);
	if (m->skinned)
		build_noise(b, 32, 5);
}

/* ---- slices ---- */

static void put_vertices(struct buf *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		put_floats(b, (const float[]){ (float)k, (float)k / 2, k ? -(float)k : 0 }, 3);
		putb32(b, 0x7fc00000);
	}
}

static void put_indices(struct buf *b, const struct build_mlp_mesh *m)
{
	for (unsigned i = 0; i < m->nindices; i++)
		putb16(b, m->indices[i]);
}

void build_mlp_mesh(struct build_mlp *b, const struct build_mlp_mesh *m)
{
	unsigned i = b->nmeshes++;

	put_zeros(&b->metadata, 16);
	put_zeros(&b->mmp, 16);
	put_zeros(&b->mgp, 16);
	b->nsubs[i] = m->nsubs;
	b->record[i].id = m->id;
	b->record[i].metadata = (uint32_t)b->metadata.len;
	b->record[i].mmp = (uint32_t)b->mmp.len;
	b->record[i].mgp = (uint32_t)b->mgp.len;
	put_metadata(&b->metadata, m);
	if (m->indices_first)
		put_indices(&b->mmp, m);
	put_vertices(&b->mmp, m->nvertices);
	if (!m->indices_first)
		put_indices(&b->mmp, m);
	for (unsigned k = 0; k < m->nvertices * m->stride; k++)
		put8(&b->mgp, 16 * (k / m->stride) + k % m->stride);
	b->record[i].metadata_size = (uint32_t)b->metadata.len - b->record[i].metadata;
	b->record[i].mmp_size = (uint32_t)b->mmp.len - b->record[i].mmp;
	b->record[i].mgp_size = (uint32_t)b->mgp.len - b->record[i].mgp;
}

void build_mlp(struct build_mlp *b, struct buf part[BUILD_PARTS])
{
	struct buf *mlp = &part[BUILD_MLP];

	for (unsigned i = 0; i < BUILD_PARTS; i++)
		part[i] = (struct buf){ 0 };
	b->base = (0x1c + 28 * b->nmeshes + 15) / 16 * 16;
	putb32(mlp, 0xfafa0003);
	putb32(mlp, 0);
	putb32(mlp, 0x001c0000);
	putb32(mlp, 0x1234);
	putb32(mlp, b->nmeshes);
	putb32(mlp, b->base);
	putb32(mlp, 0x1c);
	for (unsigned i = 0; i < b->nmeshes; i++) {
		putb32(mlp, b->record[i].id);
		putb32(mlp, b->record[i].metadata);
		putb32(mlp, b->record[i].mmp);
		putb32(mlp, b->record[i].mgp);
		putb32(mlp, b->record[i].metadata_size);
		putb32(mlp, b->record[i].mmp_size);
		putb32(mlp, b->record[i].mgp_size);
	}
	put_zeros(mlp, 16);
	buf_add(mlp, b->metadata.p, b->metadata.len);
	put_zeros(&b->mmp, 16);
	put_zeros(&b->mgp, 16);
	part[BUILD_MMP] = b->mmp;
	part[BUILD_MGP] = b->mgp;
	buf_free(&b->metadata);
	b->mmp = b->mgp = (struct buf){ 0 };
}

/* ---- places ---- */

uint32_t build_mlp_record(unsigned i)
{
	return 0x1c + 28 * i;
}

uint32_t build_mlp_metadata(const struct build_mlp *b, unsigned i)
{
	return b->base + b->record[i].metadata;
}

uint32_t build_mlp_submesh(const struct build_mlp *b, unsigned i, unsigned k)
{
	return build_mlp_metadata(b, i) + 0xc0 + 0x60 * k;
}

uint32_t build_mlp_stream(const struct build_mlp *b, unsigned i, unsigned k)
{
	return build_mlp_submesh(b, i, b->nsubs[i]) + 24 * k;
}

/* ---- models ---- */

void build_three(struct build_mlp *b, struct buf part[BUILD_PARTS])
{
	static const uint16_t four[] = { 0, 1, 2, 0, 2, 3, 1, 1, 3, 3, 2, 1 }, three[] = { 0, 1, 2 };

	*b = (struct build_mlp){ 0 };
	build_mlp_mesh(b, &(struct build_mlp_mesh){ 0x11111111, 4, 12, 4, four, 2,
						    { { 0, 6, 0xaa }, { 6, 6, 0xbb } }, false, false });
	build_mlp_mesh(b, &(struct build_mlp_mesh){ 0x22222222, 3, 3, 0, three, 1, { { 0, 3, 0xaa } }, false, false });
	build_mlp_mesh(b, &(struct build_mlp_mesh){ 0x33333333, 3, 3, 8, three, 1, { { 0, 3, 0xcc } }, false, true });
	build_mlp(b, part);
}

void build_three_apart(struct build_mlp *b, struct buf part[BUILD_PARTS])
{
	struct buf *mgp = &part[BUILD_MGP];

	build_three(b, part);
	for (unsigned i = 0; i < 64; i++)
		put8(mgp, 0);
	memmove(mgp->p + 80, mgp->p + 16, 32);
	memset(mgp->p + 16, 0, 64);
	setb32(&part[BUILD_MLP], build_mlp_record(2) + 12, 80);
}
