/* Proof that the geometry of a MOD3 can be written back: every vertex goes through what the views show of it, and back.
 * What comes out has to be the stored bytes. What the record tables say is proved with the documents. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mod3.h"
#include "num.h"

struct check {
	struct object *o;
	const struct mod3_mesh *mesh;
	uint32_t index;                        /* of the mesh */
	struct err *e;
};

/* A float that is not finite is not in the text and stays. */
static void print_and_read(float v, uint8_t *out)
{
	char text[NUM_MAX];
	size_t n;

	put_le32(out, f32_bits(v));
	if (!isfinite(v))
		return;
	n = num_f32(text, v, false);
	if (!num_parse_f32(text, n, &v))
		v = NAN;
	put_le32(out, f32_bits(v));
}

static void put_weights(const struct mod3_block *b, const int32_t w[MOD3_SLOTS], uint32_t spare, uint8_t *vertex)
{
	put_le32(vertex + b->weights, (uint32_t)w[0] | (uint32_t)w[1] << 10 | (uint32_t)w[2] << 20 | spare << 30);
	for (unsigned k = 3; k + 1 < MOD3_SLOTS && k + 1 < b->slots; k++)
		vertex[b->weights + 1 + k] = (uint8_t)w[k];
}

/* The elements that go through other numbers on their way to an OBJ or to weights, made again from those. */
static void encode(const struct mod3_block *b, const uint8_t *stored, uint8_t *again)
{
	int32_t weight[MOD3_SLOTS];

	for (unsigned k = 0; k < 12; k += 4)
		print_and_read(le_f32(stored + k), again + k);
	for (unsigned k = b->uv; k < b->uv + 4u * b->uvs; k += 2)
		put_le16(again + k, f32_half(half_f32(le_u16(stored + k))));
	for (unsigned k = b->colour; b->colour && k < b->colour + 4u; k++)
		again[k] = (uint8_t)lround((float)(stored[k] / 255.0) * 255.0);
	if (!b->slots)
		return;
	mod3_weights(b, stored, weight);
	put_weights(b, weight, le_u32(stored + b->weights) >> 30, again);
}

static int check_bones(const struct check *c, uint32_t k, const uint8_t *vertex, uint64_t at)
{
	uint32_t n = ((const struct mod3 *)c->o->priv)->table[MOD3_BONES].n;
	const struct mod3_block *b = c->mesh->block;
	int32_t weight[MOD3_SLOTS];
	char what[48];

	mod3_weights(b, vertex, weight);
	for (unsigned slot = 0; slot < b->slots; slot++) {
		if (!weight[slot] || vertex[b->ids + slot] < n)
			continue;
		snprintf(what, sizeof what, "vertex %u of mesh %u", k, c->index);
		return err_at(c->e, EBADMSG, c->o->src, at + b->ids + slot, what, "bone %u of %u bones",
			      vertex[b->ids + slot], n);
	}
	return 0;
}

static int check_vertex(const struct check *c, uint32_t k, const uint8_t *stored, uint64_t at)
{
	const struct mod3_block *b = c->mesh->block;
	uint8_t again[64];
	unsigned i = 0;
	char what[48];

	memcpy(again, stored, b->stride);
	encode(b, stored, again);
	while (i < b->stride && stored[i] == again[i])
		i++;
	if (i == b->stride)
		return b->slots ? check_bones(c, k, stored, at) : 0;
	snprintf(what, sizeof what, "vertex %u of mesh %u", k, c->index);
	return err_at(c->e, EILSEQ, c->o->src, at + i, what, "0x%02x is stored, encoded again it is 0x%02x", stored[i],
		      again[i]);
}

static int check_mesh(const struct check *c)
{
	const struct mod3 *m = c->o->priv;
	struct mod3_window w;
	struct arena a = { 0 };
	int rc = mod3_window(c->o, c->index, &w, &a, c->e);

	for (uint32_t k = 0; k < w.n && !rc; k++)
		rc = check_vertex(c, k, w.vertices + (size_t)k * c->mesh->stride,
				  mod3_vertex_at(m, c->mesh, w.first + k));
	arena_free(&a);
	return rc;
}

int mod3_verify(struct object *o, struct err *e)
{
	const struct mod3 *m = o->priv;
	int rc = 0;

	for (uint32_t i = 0; i < m->table[MOD3_MESHES].n && !rc; i++) {
		struct check c = { o, &m->mesh[i], i, e };

		if (m->mesh[i].block && !m->mesh[i].bad)
			rc = check_mesh(&c);
	}
	return rc;
}
