/* Where the MMP and the MGP of an MLP lie (spec/ps3-pak.md 7.2, rules 2 and 3), at multiples of 16.
 *
 * Few of all places are looked at. For the MMP a run of blocks is needed that may all be vertices, as many as the
 * largest of the tested meshes has; from the last of them back, the first that is none excludes all places up to it.
 * For the MGP the places of its gaps have to be zero, which is told of 64 places at once. */
#include "carve.h"

#define LOOK 8u                                /* what a place costs at least that is looked at */

static bool bit(const uint64_t *v, uint64_t i)
{
	return v[i / 64] >> i % 64 & 1;
}

/* ---- tests of one place ---- */

static bool in_box(const struct carve_mesh *m, const uint8_t *vertex)
{
	for (unsigned k = 0; k < 3; k++) {
		double v = (double)bits_f32(be_u32(vertex + 4 * k));

		if (!(v >= m->low[k] && v <= m->high[k]))      /* nor a NaN */
			return false;
	}
	return true;
}

/* From the last one back: the first that does not fit excludes all places up to it. */
static uint64_t miss_of_indices(struct carve_placing *p, const struct carve_mesh *m, uint64_t at)
{
	for (uint32_t i = m->nindices; i; i--) {
		const uint8_t *v = carve_look(&p->indices, at + m->indices + (uint64_t)(i - 1) * 2, 2);

		if (!v || be_u16(v) >= m->nvertices || !carve_afford(&p->work, 1))
			return (i - 1) / (CARVE_BLOCK / 2) + 1;
	}
	return 0;
}

static uint64_t miss_of_vertices(struct carve_placing *p, const struct carve_mesh *m, uint64_t at)
{
	for (uint32_t i = m->nvertices; i; i--) {
		const uint8_t *v = carve_look(&p->vertices, at + m->vertices + (uint64_t)(i - 1) * MLP_VERTEX_SIZE,
					      MLP_VERTEX_SIZE);

		if (!v || !in_box(m, v) || !carve_afford(&p->work, 1))
			return i;
	}
	return 0;
}

/* Zeros lie in most boxes, and are indices too. But no mesh consists of triangles that are none. */
static bool has_triangles(struct carve_placing *p, const struct carve_mesh *m, uint64_t at)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i + 3 <= m->nindices; i += 3) {
		const uint8_t *v = carve_look(&p->indices, at + m->indices + (uint64_t)i * 2, 6);
		unsigned a = v ? be_u16(v) : 0, b = v ? be_u16(v + 2) : 0, c = v ? be_u16(v + 4) : 0;

		n += a != b && b != c && c != a;
	}
	return n >= m->nindices / 3 / 2 && n && carve_afford(&p->work, m->nindices);
}

uint64_t carve_mmp_miss(struct carve_placing *p, const struct carve_mlp *m, uint64_t at)
{
	uint64_t miss = 0;

	if (!m->nmeshes || !span_ok(p->size, at, m->mmp_size, 1) || !carve_afford(&p->work, LOOK))
		return 1;
	for (unsigned k = 0; k < m->nmeshes && !miss; k++)
		miss = miss_of_indices(p, &m->mesh[k], at);
	for (unsigned k = 0; k < m->nmeshes && !miss; k++)
		miss = miss_of_vertices(p, &m->mesh[k], at);
	for (unsigned k = 0; k < m->nmeshes && !miss; k++)
		miss = !has_triangles(p, &m->mesh[k], at);
	return miss;
}

static bool are_zero(struct carve_placing *p, const struct carve_gaps *g, uint64_t at)
{
	for (uint32_t k = 0; k < g->n; k++) {
		for (uint64_t i = g->v[k].at; i < g->v[k].end; i++) {
			const uint8_t *v = carve_look(&p->vertices, at + i, 1);

			if (!carve_afford(&p->work, 1) || !v || *v)
				return false;
		}
	}
	return true;
}

bool carve_mmp_is_tidy(struct carve_placing *p, const struct carve_mlp *m, uint64_t at)
{
	return are_zero(p, &m->mmp_gaps, at);
}

bool carve_mgp_fits(struct carve_placing *p, const struct carve_mlp *m, uint64_t at)
{
	return m->mgp_size && span_ok(p->size, at, m->mgp_size, 1) && carve_afford(&p->work, LOOK) &&
	       are_zero(p, &m->mgp_gaps, at);
}

/* ---- MMP ---- */

/* The mesh that the fewest places have room for. */
static const struct carve_mesh *largest(const struct carve_mlp *m)
{
	const struct carve_mesh *best = &m->mesh[0];

	for (unsigned k = 1; k < m->nmeshes; k++)
		if (m->mesh[k].nvertices > best->nvertices)
			best = &m->mesh[k];
	return best;
}

/* Whether all vertices that can be in the box have bits: there are none for large coordinates, nor for vertices that
 * begin anywhere. */
static bool has_bits(const struct carve_mesh *m)
{
	const double most = 1 << 22;           /* such a float's first byte is likely */
	bool ok = m->vertices % CARVE_BLOCK == 0;

	for (unsigned k = 0; k < 3; k++)
		ok = ok && m->low[k] > -most && m->high[k] < most;
	return ok;
}

/* How many zero blocks there are from i on. */
static uint64_t count_zeros(const struct carve_bits *b, uint64_t i)
{
	uint64_t from = i, word;

	while (i < b->n) {
		word = ~b->zero[i / 64] >> i % 64;
		if (word)
			return i + (uint64_t)__builtin_ctzll(word) - from;
		i += 64 - i % 64;
	}
	return b->n - from;
}

/* 64 bits from bit i on; behind the last there are zeros. */
static uint64_t word_at(const uint64_t *v, uint64_t i, uint64_t n)
{
	uint64_t word = i < n ? v[i / 64] >> i % 64 : 0;

	return i % 64 && i / 64 + 1 <= (n - 1) / 64 && i < n ? word | v[i / 64 + 1] << (64 - i % 64) : word;
}

#define SHORT 3u                               /* blocks of a run that is looked for in a word */

/* The first block from i on that begins so many that may be vertices. */
static uint64_t next_short(struct carve_placing *p, uint64_t i)
{
	const struct carve_bits *b = p->bits;
	uint64_t word, next;

	for (; i < b->n; i = i - i % 64 + 64) {
		word = b->vertex[i / 64] >> i % 64 << i % 64;
		next = i / 64 < (b->n - 1) / 64 ? b->vertex[i / 64 + 1] : 0;
		word &= (word >> 1 | next << 63) & (word >> 2 | next << 62);
		if (!carve_afford(&p->work, 1))
			break;
		if (word)
			return i - i % 64 + (uint64_t)__builtin_ctzll(word);
	}
	return b->n;
}

/* The first block from `first` on, and at most `last`, that begins a run of n blocks of which all may be vertices, and
 * not all are zero; CARVE_NONE. *good: so many blocks from `first` on are known to be. */
static uint64_t next_run(struct carve_placing *p, uint64_t first, uint64_t last, uint64_t n, uint64_t *good)
{
	const struct carve_bits *b = p->bits;
	uint64_t k;

	while (first <= last && first + n <= b->n) {
		if (!*good && n >= SHORT && n < 64) {
			first = next_short(p, first);
			*good = SHORT;
			continue;
		}
		for (k = n; k > *good && bit(b->vertex, first + k - 1); k--)
			;
		if (!carve_afford(&p->work, n + 1 - k))
			return CARVE_NONE;
		if (k > *good) {               /* block first + k - 1 is none */
			*good = n - k;
			first += k;
			continue;
		}
		*good = n;
		k = count_zeros(b, first);
		if (!carve_afford(&p->work, k / 64))
			return CARVE_NONE;
		if (k < n)
			return first;
		first += k - n + 1;
		*good = n - 1;
	}
	return CARVE_NONE;
}

static uint64_t find_by_bits(struct carve_placing *p, const struct carve_mlp *m, const struct carve_mesh *mesh,
			     uint64_t from, uint64_t last)
{
	uint64_t shift = mesh->vertices / CARVE_BLOCK, good = 0, at = from / CARVE_BLOCK + shift, miss;

	for (;;) {
		at = next_run(p, at, last / CARVE_BLOCK + shift, mesh->nvertices, &good);
		if (at == CARVE_NONE)
			return CARVE_NONE;
		miss = carve_mmp_miss(p, m, (at - shift) * CARVE_BLOCK);
		if (!miss)
			return (at - shift) * CARVE_BLOCK;
		at += miss;
		good -= good < miss ? good : miss;
	}
}

uint64_t carve_find_mmp(struct carve_placing *p, const struct carve_mlp *m, uint64_t from)
{
	const struct carve_mesh *mesh = largest(m);
	uint64_t last = p->size - m->mmp_size, miss;

	if (!m->nmeshes || m->mmp_size > p->size || from > last)
		return CARVE_NONE;
	if (has_bits(mesh))
		return find_by_bits(p, m, mesh, from, last);
	for (uint64_t at = from; at <= last && p->work.left; at += miss * CARVE_BLOCK) {
		miss = carve_mmp_miss(p, m, at);
		if (!miss)
			return at;
	}
	return CARVE_NONE;
}

/* ---- MGP ---- */

/* Which of 64 places from block i on have zeros at the end of each block that lies in a gap there. */
static uint64_t tails_fit(struct carve_placing *p, const struct carve_mlp *m, uint64_t i)
{
	const struct carve_gaps *g = &m->mgp_gaps;
	uint64_t fit = UINT64_MAX;

	for (uint32_t k = 0; k < g->n && fit; k++) {
		uint64_t first = align_up(g->v[k].at + 4, CARVE_BLOCK) / CARVE_BLOCK - 1;

		for (uint64_t b = first; (b + 1) * CARVE_BLOCK <= g->v[k].end && fit; b++)
			fit &= carve_afford(&p->work, 1) ? word_at(p->bits->tail, i + b, p->bits->n) : 0;
	}
	return fit;
}

/* From block i on, the first of a multiple of 64 of places of which some may fit: mostly none do, because no block of all
 * those that the first gap could lie in has zeros at its end. */
static uint64_t next_tail(const struct carve_placing *p, const struct carve_mlp *m, uint64_t i)
{
	const struct carve_gaps *g = &m->mgp_gaps;
	const struct carve_bits *b = p->bits;
	uint64_t first = g->n ? align_up(g->v[0].at + 4, CARVE_BLOCK) / CARVE_BLOCK - 1 : 0, word;

	if (!g->n || (first + 1) * CARVE_BLOCK > g->v[0].end)
		return i;
	for (word = (i + first) / 64; word + 1 < (b->n + 63) / 64 && !(b->tail[word] | b->tail[word + 1]); word++)
		i += 64;
	return i;
}

uint64_t carve_find_mgp(struct carve_placing *p, const struct carve_mlp *m)
{
	uint64_t last = p->size - m->mgp_size, found = CARVE_NONE;

	if (!m->mgp_size || m->mgp_size > p->size)
		return CARVE_NONE;
	for (uint64_t i = 0; i * CARVE_BLOCK <= last; i += 64) {
		i = next_tail(p, m, i);
		for (uint64_t fit = tails_fit(p, m, i); fit; fit &= fit - 1) {
			uint64_t at = (i + (uint64_t)__builtin_ctzll(fit)) * CARVE_BLOCK;

			if (!carve_mgp_fits(p, m, at))
				continue;
			if (found != CARVE_NONE)
				return CARVE_NONE;
			found = at;
		}
		if (!p->work.left)             /* the rest may have another one */
			return CARVE_NONE;
	}
	return found;
}
