/* Writing to a CSO of version 0 or 1: a block that changes is packed anew into its slot, zeros behind it, or stored as
 * it is where the slot has room for that.
 *
 * When one does not fit, the file can be written anew: what is longer takes a longer slot, and all behind it moves by a
 * multiple of 1 << shift, so that it can stay as it is. Positions are made when they are read. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "disc.h"
#include "zstream.h"

/* A block that no longer fits. */
struct grown {
	uint64_t i;
	struct slot old;
	uint8_t *bytes;
	size_t n;
	uint64_t size;                         /* of its new slot, of which n bytes are not zero */
	uint64_t sum;                          /* that positions behind it move by */
	bool plain;
};

struct putting {
	struct source *file, *medium;          /* the medium as it was */
	const struct block_index *x;
	const struct plan *now;
	bool grow;
	struct table_piece table;
	uint8_t *block, *was;                  /* what the one at hand becomes; was: where any may be another */
	struct grown *grown;
	size_t ngrown, cap;
};

/* ---- the table ---- */

/* Where the slots of blocks overlap, or the table, one cannot be written without another. */
static int check_table(struct putting *p, struct err *e)
{
	uint64_t last = CSO_HEADER + (p->x->n + 1) * 4;

	for (uint64_t i = 0; i <= p->x->n; i++) {
		const uint8_t *raw;
		int rc = table_read(&p->table, p->file, CSO_HEADER, p->x->n + 1, i, 1, &raw);
		uint64_t at = rc ? 0 : cso_position(p->x, le_u32(raw));

		if (rc)
			return err_at(e, -rc, p->file, CSO_HEADER + i * 4, "positions of blocks", "%s", strerror(-rc));
		if (at < last)
			return err_at(e, EIO, p->file, CSO_HEADER + i * 4, "position of a block",
				      "block %" PRIu64 " lies at %" PRIu64 ", what is before it ends at %" PRIu64, i,
				      at, last);
		last = at;
	}
	return last <= p->file->size ? 0 :
	       err_set(e, EIO, "the blocks end at %" PRIu64 ", the file at %" PRIu64, last, p->file->size);
}

static int put_flag(struct putting *p, uint64_t i, bool plain, struct err *e)
{
	uint64_t at = CSO_HEADER + i * 4 + 3;
	uint8_t high;
	int rc = src_read(p->file, &high, 1, at, "position of a block", e);

	high = plain ? high | 0x80 : high & 0x7f;
	return rc ? rc : src_patch(p->file, &high, 1, at, "position of a block", e);
}

/* ---- one block ---- */

/* What block i is to be, in p->block. */
static int read_block(struct putting *p, uint64_t i, struct err *e)
{
	uint64_t at = i * p->x->block, left = p->now->size - at;
	size_t n = left < p->x->block ? (size_t)left : p->x->block;
	uint64_t real = p->x->bytes - at;
	int rc = plan_read(p->now, p->block, n, at);

	if (rc)
		return err_set(e, -rc, "block %" PRIu64 ": %s", i, strerror(-rc));
	for (size_t k = real < n ? (size_t)real : n; k < n; k++)
		if (p->block[k])
			return err_set(e, ENOSPC, "the last sector of the image is cut: %" PRIu64 " bytes are missing",
				       at + n - p->x->bytes);
	memset(p->block + n, 0, p->x->block - n);
	return 0;
}

/* Zeros behind what is new, as far as anything was read of the slot. */
static int fill_slot(struct putting *p, const struct slot *slot, const uint8_t *bytes, size_t n, struct err *e)
{
	uint64_t most = slot->size < slot_most(p->x->block) ? slot->size : slot_most(p->x->block);
	uint8_t *all = calloc((size_t)most + 1, 1);
	int rc;

	if (!all)
		return err_nomem(e);
	memcpy(all, bytes, n);
	rc = src_patch(p->file, all, (size_t)most, slot->at, "block", e);
	free(all);
	return rc;
}

static int no_room(uint64_t i, const struct slot *slot, size_t n, struct err *e)
{
	return err_set(e, ENOSPC, "block %" PRIu64 " of the CSO is packed to %zu bytes, its slot has %" PRIu64
		       ": %" PRIu64 " bytes are missing; -o grow writes it anew", i, n, slot->size,
		       n - slot->size);
}

/* Takes bytes. */
static int add_grown(struct putting *p, const struct grown *g, struct err *e)
{
	size_t cap = p->cap ? p->cap * 2 : 16;
	struct grown *v = p->ngrown < p->cap ? p->grown : realloc(p->grown, cap * sizeof *v);

	if (!v) {
		free(g->bytes);
		return err_nomem(e);
	}
	if (p->ngrown == p->cap)
		p->cap = cap;
	p->grown = v;
	p->grown[p->ngrown++] = *g;
	return 0;
}

/* Packed, or as it is when that is not longer; *plain tells. From malloc(). Once the file is written anew all the same,
 * no time goes into making a block fit. */
static int pack(struct putting *p, const struct slot *slot, uint8_t **out, size_t *n, bool *plain, struct err *e)
{
	uint64_t room = slot->size < p->x->block && !p->ngrown ? slot->size : UINT64_MAX;
	int rc = deflate_pack(p->block, p->x->block, room, out, n, e);

	*plain = !rc && *n >= p->x->block;
	if (*plain) {
		memcpy(*out, p->block, p->x->block);   /* as long as the stream was, at least */
		*n = p->x->block;
	}
	return rc;
}

static int put_block(struct putting *p, uint64_t i, struct err *e)
{
	struct grown g = { .i = i };
	int rc = p->x->find(p->x, p->file, &p->table, i, &g.old);

	if (rc)
		return err_set(e, -rc, "block %" PRIu64 ": %s", i, strerror(-rc));
	rc = read_block(p, i, e);
	if (rc)
		return rc;
	/* What is stored as it is stays so. */
	if (g.old.pack == PACK_NONE && g.old.size >= p->x->block)
		return src_patch(p->file, p->block, p->x->block, g.old.at, "block", e);
	rc = pack(p, &g.old, &g.bytes, &g.n, &g.plain, e);
	if (rc)
		return rc;
	if (g.n > g.old.size && p->grow)
		return add_grown(p, &g, e);
	if (g.n > g.old.size)
		rc = no_room(i, &g.old, g.n, e);
	rc = rc ? rc : fill_slot(p, &g.old, g.bytes, g.n, e);
	rc = rc ? rc : put_flag(p, i, g.plain, e);
	free(g.bytes);
	return rc;
}

/* Where nobody knows which blocks change. One that cannot be read is none of them while its new bytes cannot be either,
 * as they come from there. */
static int put_changed(struct putting *p, struct err *e)
{
	int rc = 0;

	for (uint64_t i = 0; i < p->x->n && !rc; i++) {
		uint64_t at = i * p->x->block, left = p->now->size - at;
		size_t n = left < p->x->block ? (size_t)left : p->x->block;
		int old = src_pread(p->medium, p->was, n, at), new = plan_read(p->now, p->block, n, at);

		if (old && new == old)
			continue;
		if (new || old || memcmp(p->block, p->was, n) != 0)
			rc = put_block(p, i, e);
	}
	return rc;
}

static int put_blocks(struct putting *p, struct err *e)
{
	uint64_t next = 0;                     /* those before it are done */
	int rc = 0;

	for (size_t k = 0; k < p->now->n; k++) {
		const struct write *w = &p->now->v[k];
		uint64_t i = w->at / p->x->block, end = (w->at + w->len - 1) / p->x->block + 1;

		for (i = i < next ? next : i; i < end && !rc; i++)
			rc = put_block(p, i, e);
		next = end;
	}
	return rc;
}

/* ---- the file anew ---- */

/* Positions behind blocks that have grown: parent is the file, of whose table it shows all. */
struct moved_table {
	struct source s;
	unsigned shift;
	size_t n;
	struct { uint64_t i; uint32_t by; bool plain; } v[];
};

static void move_entry(const struct moved_table *t, size_t *next, uint64_t i, uint8_t *raw)
{
	uint32_t v = le_u32(raw), by;

	while (*next < t->n && t->v[*next].i < i)
		++*next;
	by = *next ? t->v[*next - 1].by : 0;
	if (*next < t->n && t->v[*next].i == i)
		v = (v & ~CSO_PLAIN) | (t->v[*next].plain ? CSO_PLAIN : 0);
	put_le32(raw, v + by);
}

static int moved_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	const struct moved_table *t = (const struct moved_table *)s;
	uint8_t *to = buf, raw[TABLE_PIECE * 4];
	size_t next = 0, part;
	int rc = 0;

	for (; n && !rc; n -= part, to += part, at += part) {
		uint64_t from = at / 4 * 4;
		size_t have = s->size - from < sizeof raw ? (size_t)(s->size - from) : sizeof raw;

		part = have - (size_t)(at - from) < n ? have - (size_t)(at - from) : n;
		rc = src_pread(s->parent, raw, have, CSO_HEADER + from);
		for (size_t k = 0; k < have && !rc; k += 4)
			move_entry(t, &next, (from + k) / 4, raw + k);
		memcpy(to, raw + (at - from), part);
	}
	return rc;
}

static uint64_t moved_up(const struct source *s, uint64_t at)
{
	(void)s;
	return CSO_HEADER + at;
}

static const struct source_ops moved_ops = { .pread = moved_pread, .up = moved_up };

static struct source *new_table(const struct putting *p)
{
	struct moved_table *t = calloc(1, sizeof *t + p->ngrown * sizeof t->v[0]);

	if (!t)
		return NULL;
	t->s.ops = &moved_ops;
	t->s.parent = src_ref(p->file);
	t->s.size = (p->x->n + 1) * 4;
	atomic_init(&t->s.refs, 1);
	for (; t->n < p->ngrown; t->n++) {
		const struct grown *g = &p->grown[t->n];

		t->v[t->n].i = g->i;
		t->v[t->n].by = (uint32_t)(g->sum >> p->x->shift);
		t->v[t->n].plain = g->plain;
	}
	return &t->s;
}

/* Lengths of the new slots, and how far what is behind them moves. */
static int arrange(struct putting *p, struct err *e)
{
	uint64_t sum = 0, unit = (uint64_t)1 << p->x->shift, last;
	const uint8_t *raw;
	int rc;

	for (size_t k = 0; k < p->ngrown; k++) {
		struct grown *g = &p->grown[k];

		g->size = align_up(g->n, unit);
		sum += g->size - g->old.size;
		g->sum = sum;
	}
	rc = table_read(&p->table, p->file, CSO_HEADER, p->x->n + 1, p->x->n, 1, &raw);
	if (rc)
		return err_set(e, -rc, "positions of blocks: %s", strerror(-rc));
	last = cso_position(p->x, le_u32(raw)) + sum;
	return last >> p->x->shift < CSO_PLAIN ? 0 :
	       err_set(e, EFBIG, "blocks would end at %" PRIu64 ", the positions of this image reach to %" PRIu64, last,
		       cso_position(p->x, CSO_PLAIN - 1));
}

/* Takes the piece. */
static bool add_piece(struct source **v, uint32_t *n, struct source *piece)
{
	if (piece)
		v[(*n)++] = piece;
	return piece;
}

/* Header, table; then, for each block that has grown, what lies before it, the block and zeros; then the rest. */
static bool add_pieces(struct putting *p, struct source **v, uint32_t *n)
{
	uint64_t at = CSO_HEADER + (p->x->n + 1) * 4;
	bool ok = add_piece(v, n, src_slice(p->file, 0, CSO_HEADER)) && add_piece(v, n, new_table(p));

	for (size_t k = 0; k < p->ngrown && ok; k++) {
		struct grown *g = &p->grown[k];

		ok = add_piece(v, n, src_slice(p->file, at, g->old.at - at)) &&
		     add_piece(v, n, src_copy(g->bytes, g->n)) && add_piece(v, n, src_zeros(g->size - g->n));
		free(g->bytes);
		g->bytes = NULL;
		at = g->old.at + g->old.size;
	}
	return ok && add_piece(v, n, src_slice(p->file, at, p->file->size - at));
}

static int make_moved(struct putting *p, struct source **moved, struct err *e)
{
	struct source **v;
	uint32_t n = 0;
	int rc = arrange(p, e);

	if (rc)
		return rc;
	v = malloc((3 + 3 * p->ngrown) * sizeof(struct source *));
	if (v && add_pieces(p, v, &n))
		*moved = src_pieces(v, n);
	while (n)
		src_put(v[--n]);
	free(v);
	return *moved ? 0 : err_nomem(e);
}

int cso_put(struct source *file, const struct block_index *x, struct source *medium, const struct plan *now, bool grow,
	    struct source **moved, struct err *e)
{
	struct putting p = {
		.file = file, .medium = medium, .x = x, .now = now, .grow = grow, .table.most = TABLE_PIECE,
		.block = malloc(x->block), .was = now->moved ? malloc(x->block) : NULL,
	};
	int rc = p.block && (p.was || !now->moved) ? check_table(&p, e) : err_nomem(e);

	*moved = NULL;
	rc = rc ? rc : now->moved ? put_changed(&p, e) : put_blocks(&p, e);
	if (!rc && p.ngrown)
		rc = make_moved(&p, moved, e);
	for (size_t k = 0; k < p.ngrown; k++)
		free(p.grown[k].bytes);
	free(p.grown);
	free(p.block);
	free(p.was);
	return rc;
}
