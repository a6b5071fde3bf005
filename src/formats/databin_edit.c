/* DATA.BIN: entries of another length.
 *
 * A file stays where its start word says as long as its slot has room; only its pair, if it has one, says how long it
 * is, and a pair has to end in the slot's last block, because readers take the first that does not for the end of the
 * pairs. A file that needs more blocks moves all files behind it, and the key of a file is its start block, so each of
 * them that is encrypted becomes other bytes. Nothing is copied for that: the archive's new bytes are pieces of the old
 * one, read through the old key and the new one. Behind the last file nothing moves, so the archive only gets longer,
 * as far as what it lies in lets it. */
#include "databin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bytes.h"
#include "mhpcipher.h"

#define BLOCK DATABIN_BLOCK

struct edit {
	struct object *o;
	struct databin *d;
	struct entry *v;
	uint32_t n, i;                         /* files; the one that gets another length */
};

/* Bytes up to where the next file starts; fewer when the archive is cut short there. */
static uint64_t slot_of(const struct edit *t, uint32_t i)
{
	return (i + 1 < t->n ? t->v[i + 1].at : t->d->blocks * BLOCK) - t->v[i].at;
}

static uint64_t room_of(const struct edit *t, uint32_t i)
{
	uint64_t slot = slot_of(t, i), left = t->o->src->size - t->v[i].at;

	return slot < left ? slot : left;
}

static struct databin_pair *find_pair(const struct databin *d, uint32_t id)
{
	for (uint32_t k = 0; k < d->npairs; k++)
		if (d->pairs[k].id == id)
			return &d->pairs[k];
	return NULL;
}

/* Whether a file is encrypted as it lies there; entries know that only as far as the lists of the games do. */
static bool is_coded(const struct edit *t, uint32_t i)
{
	struct probe p = { .name = "", .within = t->o->format, .index = i, .size = t->v[i].size };
	uint8_t raw[4], room[PROBE_MOST];
	const struct format *f;

	if (!t->v[i].coded || p.size < sizeof raw || src_pread(t->o->src, raw, sizeof raw, t->v[i].at) ||
	    !databin_plain_magic(raw))
		return t->v[i].coded;
	p.src = entry_source(t->o->src, t->o->format, &t->v[i]);
	p.room = room;
	f = p.src ? format_detect(&p, NULL) : NULL;
	src_put(p.src);
	return f;
}

/* ---- inside the slot ---- */

/* Zeros [from, to) of the file. */
static int clear(const struct edit *t, uint64_t from, uint64_t to, struct err *e)
{
	struct entry all = t->v[t->i];
	struct source *src;
	int rc;

	if (from >= to)
		return 0;
	all.size = room_of(t, t->i);
	all.coded = is_coded(t, t->i);
	src = entry_source(t->o->src, t->o->format, &all);
	rc = src ? src_clear(src, from, to - from, "rest of the file", e) : err_nomem(e);
	src_put(src);
	return rc;
}

static struct source *open_table(const struct edit *t)
{
	return t->d->coded ? src_blocks(t->o->src, &mhp_cipher, 0) : src_ref(t->o->src);
}

static int write_table(const struct edit *t, uint64_t at, const void *p, size_t n, struct err *e)
{
	struct source *src = open_table(t);
	int rc = src ? src_write(src, p, n, at, "table", e) : err_nomem(e);

	src_put(src);
	return rc;
}

/* The length nearest to `size` that the slot and the file's pair allow. */
static int set_size(const struct edit *t, uint64_t size, struct err *e)
{
	struct databin_pair *pair = find_pair(t->d, t->i);
	uint64_t slot = slot_of(t, t->i), room = room_of(t, t->i), old = t->v[t->i].size, stored;
	uint8_t raw[4];
	int rc;

	if (!pair) {
		t->v[t->i].size = room;
		return clear(t, size, old, e);
	}
	stored = databin_size_ok(size, slot) ? size : slot - (BLOCK - 1);
	put_le32(raw, (uint32_t)stored);
	rc = write_table(t, 4 * ((uint64_t)t->n + 1) + 8 * (uint64_t)(pair - t->d->pairs) + 4, raw, sizeof raw, e);
	rc = rc ? rc : clear(t, size < old ? size : old, stored > old ? stored : old, e);
	if (rc)
		return rc;
	pair->size = (uint32_t)stored;
	t->v[t->i].size = stored < room ? stored : room;
	return 0;
}

/* ---- a longer slot ---- */

static int no_room(const struct edit *t, uint64_t size, const char *why, struct err *e)
{
	uint64_t room = room_of(t, t->i);

	return err_set(e, ENOSPC, "entry %u needs %" PRIu64 " bytes, its slot has %" PRIu64 ": %" PRIu64
		       " bytes are missing%s", t->i, size, room, size - room, why);
}

/* What lies behind the pairs may have become one. */
static int check_leftover(const struct edit *t, uint64_t slot, struct err *e)
{
	const struct databin *d = t->d;
	uint64_t at = 4 * ((uint64_t)t->n + 1) + 8 * (uint64_t)d->npairs;
	struct source *src;
	uint8_t raw[8];
	int rc;

	if (!span_ok(d->len, at, 1, sizeof raw) || (d->npairs && d->pairs[d->npairs - 1].id >= t->i))
		return 0;
	src = open_table(t);
	rc = src ? src_read(src, raw, sizeof raw, at, "table", e) : err_nomem(e);
	src_put(src);
	if (rc || le_u32(raw) != t->i || !databin_size_ok(le_u32(raw + 4), slot))
		return rc;
	return err_set(e, EINVAL,
		       "with %" PRIu64 " bytes for entry %u the table's leftover would become its exact size, %u", slot,
		       t->i, le_u32(raw + 4));
}

/* Blocks that the slot lacks. */
static uint64_t blocks_missing(const struct edit *t, uint64_t size)
{
	return size / BLOCK + (size % BLOCK != 0) - slot_of(t, t->i) / BLOCK;
}

/* Whether all bytes of the archive end with those of the file's slot. */
static bool is_last(const struct edit *t)
{
	return t->v[t->i].at + slot_of(t, t->i) == t->d->blocks * BLOCK;
}

static int check_growth(const struct edit *t, uint64_t size, bool moves, struct err *e)
{
	const struct surroundings *around = t->o->around;
	uint64_t more = blocks_missing(t, size);

	if (moves && (!around || !around->rebase))
		return no_room(t, size, "", e);
	if (t->o->src->size % BLOCK)
		return no_room(t, size, "; an archive that is cut short cannot grow", e);
	if (moves && !around->grow)
		return no_room(t, size, "; -o grow would let the archive grow", e);
	if (more > UINT32_MAX - t->d->blocks || size > UINT32_MAX)
		return err_set(e, EFBIG, "entry %u: %" PRIu64 " bytes; lengths and start blocks have 32 bits", t->i,
			       size);
	return check_leftover(t, slot_of(t, t->i) + more * BLOCK, e);
}

/* The new archive's pieces, in order; neighbours that only move are one. */
struct pieces {
	struct source **v, *from;
	uint32_t n;
	uint64_t at, end;                      /* bytes of `from` that come next as they are */
	bool bad;                              /* out of memory */
};

/* Takes the reference. */
static void add_piece(struct pieces *p, struct source *piece)
{
	if (piece)
		p->v[p->n++] = piece;
	else
		p->bad = true;
}

static void flush(struct pieces *p)
{
	if (p->end > p->at)
		add_piece(p, src_slice(p->from, p->at, p->end - p->at));
	p->at = p->end;
}

/* Blocks that are zero once decrypted, at the end of a file's run. */
static struct source *new_blocks(uint64_t slot, uint64_t more, bool coded, uint32_t key)
{
	struct source *zeros = src_zeros(slot + more), *run, *out;

	if (!zeros)
		return NULL;
	run = coded ? src_coded(zeros, &mhp_cipher, key) : src_ref(zeros);
	out = run ? src_slice(run, slot, more) : NULL;
	src_put(run);
	src_put(zeros);
	return out;
}

static struct source *other_key(struct source *from, uint64_t at, uint64_t n, uint32_t key, uint32_t fresh)
{
	struct source *slice = src_slice(from, at, n), *plain, *out;

	plain = slice ? src_blocks(slice, &mhp_cipher, key) : NULL;
	out = plain ? src_coded(plain, &mhp_cipher, fresh) : NULL;
	src_put(plain);
	src_put(slice);
	return out;
}

static void add_pieces(const struct edit *t, uint32_t blocks, struct pieces *p)
{
	const struct entry *v = &t->v[t->i];
	uint64_t slot = slot_of(t, t->i);

	p->end = v->at + slot;
	flush(p);
	add_piece(p, new_blocks(slot, (uint64_t)blocks * BLOCK, is_coded(t, t->i), v->key));
	for (uint32_t j = t->i + 1; j < t->n && !p->bad; j++) {
		v = &t->v[j];
		slot = slot_of(t, j);
		if (slot && is_coded(t, j)) {
			flush(p);
			add_piece(p, other_key(p->from, v->at, slot, v->key, v->key + blocks));
			p->at += slot;
		}
		p->end = v->at + slot;
	}
	flush(p);
}

/* The archive with so many blocks more behind file i. NULL: out of memory. */
static struct source *moved(const struct edit *t, uint32_t blocks)
{
	struct pieces p = { .v = malloc((2 * (size_t)t->n + 2) * sizeof *p.v), .from = t->o->src };
	struct source *out = NULL;

	if (!p.v)
		return NULL;
	add_pieces(t, blocks, &p);
	if (!p.bad)
		out = src_pieces(p.v, p.n);
	for (uint32_t k = 0; k < p.n; k++)
		src_put(p.v[k]);
	free(p.v);
	return out;
}

/* The start words behind file i. */
static int write_starts(const struct edit *t, struct err *e)
{
	size_t n = t->n - t->i;
	uint8_t *raw = malloc(4 * n);
	int rc;

	if (!raw)
		return err_nomem(e);
	for (uint32_t j = t->i + 1; j < t->n; j++)
		put_le32(raw + 4 * (size_t)(j - t->i - 1), t->v[j].key);
	put_le32(raw + 4 * (n - 1), (uint32_t)t->d->blocks);
	rc = write_table(t, 4 * ((uint64_t)t->i + 1), raw, 4 * n, e);
	free(raw);
	return rc;
}

/* The archive has so many blocks more behind file i. */
static int take_blocks(const struct edit *t, uint32_t blocks, struct err *e)
{
	for (uint32_t j = t->i + 1; j < t->n; j++) {
		t->v[j].at += (uint64_t)blocks * BLOCK;
		t->v[j].key += blocks;
	}
	t->d->blocks += blocks;
	return write_starts(t, e);
}

static int grow(const struct edit *t, uint32_t blocks, struct err *e)
{
	struct object *o = t->o;
	struct source *shown = moved(t, blocks), *fresh;
	int rc = shown ? o->around->rebase(o->around, shown, &fresh, e) : err_nomem(e);

	src_put(shown);
	if (rc)
		return rc;
	src_put(o->src);
	o->src = fresh;
	return take_blocks(t, blocks, e);
}

/* The same behind the last file. */
static int extend(const struct edit *t, uint32_t blocks, struct err *e)
{
	uint64_t slot = slot_of(t, t->i), more = (uint64_t)blocks * BLOCK;
	int rc = object_resize(t->o, 0, t->o->src->size + more, e);

	rc = rc ? rc : take_blocks(t, blocks, e);
	return rc ? rc : clear(t, slot, slot + more, e);
}

int databin_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	struct edit t = { .o = o, .d = o->priv, .v = v->v, .n = v->n, .i = i };
	int rc = 0;

	if (size > room_of(&t, i)) {
		bool moves = !is_last(&t) || !o->around || !o->around->resize;
		uint32_t blocks;

		rc = check_growth(&t, size, moves, e);
		blocks = (uint32_t)blocks_missing(&t, size);
		if (!rc)
			rc = moves ? grow(&t, blocks, e) : extend(&t, blocks, e);
	}
	return rc ? rc : set_size(&t, size, e);
}
