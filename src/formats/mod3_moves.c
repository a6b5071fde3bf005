/* Blocks of a MOD3 that get longer or shorter: what lies behind moves, and the header's offsets with it (spec/mod3.md
 * 2). Bytes of no block move along; an offset of 0 or past the end of the file means no place and stays. */
#include <string.h>

#include "mod3_write.h"

#define H_OFFSETS 0x30u                        /* in the header, of `section` below */

static bool make_room(struct mod3_moves *m)
{
	unsigned room = m->room ? 2 * m->room : 16;
	struct splice *v = arena_alloc(m->a, room, sizeof *v);
	uint8_t *section = arena_alloc(m->a, room, 1);

	if (!v || !section)
		return false;
	if (m->n) {
		memcpy(v, m->v, m->n * sizeof *v);
		memcpy(section, m->section, m->n);
	}
	m->v = v;
	m->section = section;
	m->room = room;
	return true;
}

int mod3_move(struct mod3_moves *m, unsigned section, struct splice s, struct err *e)
{
	unsigned i;

	if (m->n == m->room && !make_room(m))
		return err_nomem(e);
	for (i = m->n++; i && (m->v[i - 1].at > s.at || (m->v[i - 1].at == s.at && m->section[i - 1] > section)); i--) {
		m->v[i] = m->v[i - 1];
		m->section[i] = m->section[i - 1];
	}
	m->v[i] = s;
	m->section[i] = (uint8_t)section;
	return 0;
}

/* Whether what begins at `at`, a section of its own, lies behind what is put in there. An empty section that gets bytes
 * lies before what begins at the same place, but for empty ones that come earlier in a file. */
static bool makes_way(const struct mod3 *m, const struct splice *s, unsigned of, unsigned section)
{
	if (section == of)
		return false;
	return s->was || s->at > m->table[of].at || m->table[section].size || section > of;
}

static uint64_t moved(const struct mod3 *m, const struct mod3_moves *moves, uint64_t at, unsigned section)
{
	uint64_t to = at;

	for (unsigned i = 0; i < moves->n; i++) {
		const struct splice *s = &moves->v[i];

		if (s->at + s->was < at || (s->at + s->was == at && makes_way(m, s, moves->section[i], section)))
			to += s->now - s->was;
	}
	return to;
}

/* Where the block behind the index buffer begins, or the file ends. */
static uint64_t behind_indices(const struct object *o)
{
	const struct mod3 *m = o->priv;
	const struct mod3_table *t = &m->table[MOD3_INDICES];
	uint64_t end = t->at + t->size, next = o->src->size;

	for (unsigned k = 0; k < MOD3_SECTIONS; k++)
		if (m->table[k].size && m->table[k].at >= end && m->table[k].at < next)
			next = m->table[k].at;
	return next;
}

/* Indices have 2 bytes, and what lies behind them begins at a multiple of 4. Zeros make up for that; where other bytes
 * lie between, they come behind those. */
static int align(struct object *o, struct mod3_moves *moves, struct err *e)
{
	static const uint8_t zero[4];
	const struct mod3 *m = o->priv;
	const struct mod3_table *t = &m->table[MOD3_INDICES];
	uint64_t end = t->at + t->size, next = behind_indices(o), off = 0;
	uint8_t gap[4] = { 0 };
	bool pad;
	int rc;

	for (unsigned i = 0; i < moves->n; i++)
		if (moves->section[i] == MOD3_INDICES)
			off += moves->v[i].now - moves->v[i].was;
	if (next % 4 || off % 4 == 0)
		return 0;
	pad = next - end < 4;
	rc = pad && next > end ? src_read(o->src, gap, (size_t)(next - end), end, "bytes behind the indices", e) : 0;
	if (rc)
		return rc;
	if (pad && !memcmp(gap, zero, sizeof gap))
		return mod3_move(moves, MOD3_INDICES, (struct splice){ end, next - end, (next - end) ^ 2, zero }, e);
	return next < o->src->size ? mod3_move(moves, MOD3_INDICES, (struct splice){ next, 0, 2, zero }, e) : 0;
}

int mod3_moves_do(struct object *o, struct mod3_moves *moves, struct err *e)
{
	static const uint8_t section[] = { MOD3_BONES, MOD3_GROUPS, MOD3_MATERIALS, MOD3_MESHES, MOD3_VERTICES,
					   MOD3_INDICES, MOD3_TRAILER };
	uint8_t raw[8 * ARRAY_LEN(section)];
	int rc = align(o, moves, e);

	rc = rc ? rc : src_read(o->src, raw, sizeof raw, H_OFFSETS, "offsets of the header", e);
	if (rc || !moves->n)
		return rc;
	for (unsigned k = 0; k < ARRAY_LEN(section); k++) {
		uint64_t at = le_u64(raw + 8 * k);

		if (at && at <= o->src->size)
			put_le64(raw + 8 * k, moved(o->priv, moves, at, section[k]));
	}
	rc = object_patch(o, 0, H_OFFSETS, raw, sizeof raw, "offsets of the header", e);
	return rc ? rc : object_splice(o, 0, moves->v, moves->n, e);
}
