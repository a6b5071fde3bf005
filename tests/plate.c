/* Formats like those of discs, for tests. All numbers little-endian.
 *
 * plate and squashed, containers with folders:
 *
 *      0  4  "PLAT", or "SQUA" of one that is squashed
 *      4  4  enum plate_kind
 *      8  4  bytes of the medium
 *     12  4  0
 *     16     the medium from byte 16 on, which is bare here: the file is its own medium
 *            sectors of 64 bytes: number, 56 bytes of the medium, the sum of these
 *            or places of the n blocks and of their end, u32, then each block of 64 bytes of the medium: 'P' and the
 *            block, or 'R' and pairs of a count and a byte
 *
 *     medium: 16 bytes that nobody looks at; entries, u32; then 56 bytes each: name[32], place, size, place and size of
 *     the second piece, seconds since 1970, flags
 *
 * An entry grows up to the next one. A plate writes its sectors by itself, one that is squashed is put back by its
 * format. Squashing fits a slot or needs the file to be written anew.
 *
 * row, a container that moves its later entries: "ROWW", entries; then place and size of each.
 *
 * note, a text that leads to a file: "NOTE", the file's name, a new line. */
#include "plate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "bytes.h"
#include "plan.h"

#define HEAD 16u
#define RECORD_SIZE 56u
#define SECTOR 64u
#define USER 56u
#define BLOCK 64u

/* ---- sectors ---- */

static uint32_t sum_of(const uint8_t *p)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < USER; i++)
		sum += p[i];
	return sum;
}

static uint64_t sectors_up(const struct source *s, uint64_t at)
{
	(void)s;
	return HEAD + at / USER * SECTOR + 4 + at % USER;
}

static int sectors_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		part = USER - at % USER < n ? (size_t)(USER - at % USER) : n;
		rc = src_pread(s->parent, p, part, sectors_up(s, at));
	}
	return rc;
}

static int put_sector(struct source *s, const uint8_t *p, size_t n, uint64_t at)
{
	uint8_t user[USER + 4];
	uint64_t first = at - at % USER;
	int rc = src_pread(s->parent, user, USER, sectors_up(s, first));

	memcpy(user + at % USER, p, n);
	put_le32(user + USER, sum_of(user));
	return rc ? rc : src_pwrite(s->parent, user, sizeof user, sectors_up(s, first));
}

static int sectors_pwrite(struct source *s, const void *buf, size_t n, uint64_t at)
{
	const uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		part = USER - at % USER < n ? (size_t)(USER - at % USER) : n;
		rc = put_sector(s, p, part, at);
	}
	return rc;
}

static const struct source_ops sectors_ops = {
	.pread = sectors_pread, .pwrite = sectors_pwrite, .up = sectors_up, .root = true,
};

/* ---- blocks ---- */

struct blocks { struct source s; uint32_t n; uint8_t *index; };

static uint32_t place_of(const struct blocks *b, uint32_t i)
{
	return le_u32(b->index + 4 * i);
}

static size_t pack_block(const uint8_t *p, uint8_t *out)
{
	size_t n = 1;

	out[0] = 'R';
	for (unsigned i = 0, run; i < BLOCK; i += run) {
		for (run = 1; i + run < BLOCK && p[i + run] == p[i]; run++)
			;
		out[n++] = (uint8_t)run;
		out[n++] = p[i];
	}
	if (n <= BLOCK)
		return n;
	out[0] = 'P';
	memcpy(out + 1, p, BLOCK);
	return BLOCK + 1;
}

static int unpack_block(const struct blocks *b, uint32_t i, uint8_t out[BLOCK])
{
	uint8_t raw[2 * BLOCK + 1] = { 0 };
	uint32_t at = place_of(b, i), end = place_of(b, i + 1), n = 0;
	int rc = end < at || end - at > sizeof raw ? -EBADMSG : src_pread(b->s.parent, raw, end - at, at);

	if (!rc && raw[0] == 'P')
		memcpy(out, raw + 1, BLOCK);
	for (unsigned k = 1; !rc && raw[0] == 'R' && n < BLOCK; k += 2) {
		if (!raw[k] || n + raw[k] > BLOCK)
			return -EBADMSG;
		memset(out + n, raw[k + 1], raw[k]);
		n += raw[k];
	}
	return rc;
}

static int blocks_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	const struct blocks *b = (const struct blocks *)s;
	uint8_t block[BLOCK], *p = buf;
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		part = BLOCK - at % BLOCK < n ? (size_t)(BLOCK - at % BLOCK) : n;
		rc = unpack_block(b, (uint32_t)(at / BLOCK), block);
		if (!rc)
			memcpy(p, block + at % BLOCK, part);
	}
	return rc;
}

static uint64_t blocks_up(const struct source *s, uint64_t at)
{
	return place_of((const struct blocks *)s, (uint32_t)(at / BLOCK));
}

static void blocks_close(struct source *s)
{
	free(((struct blocks *)s)->index);
}

static const struct source_ops blocks_ops = {
	.pread = blocks_pread, .up = blocks_up, .close = blocks_close, .root = true,
};

/* ---- the medium ---- */

static int open_blocks(struct source *file, uint32_t size, struct source **out, struct err *e)
{
	struct blocks *b = calloc(1, sizeof *b);
	int rc = b ? 0 : err_nomem(e);

	if (rc)
		return rc;
	b->s = (struct source){ .ops = &blocks_ops, .parent = src_ref(file), .size = size };
	atomic_init(&b->s.refs, 1);
	b->n = (size + BLOCK - 1) / BLOCK;
	b->index = malloc(4 * ((size_t)b->n + 1));
	rc = b->index ? src_read(file, b->index, 4 * ((size_t)b->n + 1), HEAD, "index", e) : err_nomem(e);
	if (rc)
		src_put(&b->s);
	else
		*out = &b->s;
	return rc;
}

static int medium(struct source *file, const struct lead *lead, struct source **out, struct err *e)
{
	struct source *s;
	uint8_t head[HEAD];
	int rc = src_read(file, head, sizeof head, 0, "head", e);

	(void)lead;
	if (rc || le_u32(head + 4) == PLATE_SQUASHED)
		return rc ? rc : open_blocks(file, le_u32(head + 8), out, e);
	if (le_u32(head + 4) == PLATE_BARE) {
		*out = src_ref(file);
		return 0;
	}
	if (le_u32(head + 8) / USER * SECTOR + HEAD > file->size)
		return err_set(e, EBADMSG, "it is cut short");
	s = calloc(1, sizeof *s);
	if (!s)
		return err_nomem(e);
	*s = (struct source){ .ops = &sectors_ops, .parent = src_ref(file), .size = le_u32(head + 8) };
	atomic_init(&s->refs, 1);
	*out = s;
	return 0;
}

/* All of it, packed anew. */
static int pack_all(const struct plan *now, struct buf *out)
{
	uint32_t n = (uint32_t)((now->size + BLOCK - 1) / BLOCK);
	uint8_t block[BLOCK], packed[2 * BLOCK + 1];
	struct buf blocks = { 0 };
	int rc = 0;

	buf_add(out, "SQUA", 4);
	put32(out, PLATE_SQUASHED);
	put32(out, (uint32_t)now->size);
	put32(out, 0);
	for (uint32_t i = 0; i < n && !rc; i++) {
		put32(out, HEAD + 4 * (n + 1) + (uint32_t)blocks.len);
		rc = plan_read(now, block, BLOCK, (uint64_t)i * BLOCK);
		if (!rc)
			buf_add(&blocks, packed, pack_block(block, packed));
	}
	put32(out, HEAD + 4 * (n + 1) + (uint32_t)blocks.len);
	buf_add(out, blocks.p, blocks.len);
	buf_free(&blocks);
	return rc;
}

static int put_block(const struct blocks *b, struct source *file, const struct plan *now, uint32_t i, uint32_t *missing,
		     struct err *e)
{
	uint8_t block[BLOCK], packed[2 * BLOCK + 1] = { 0 };
	uint32_t at = place_of(b, i), slot = place_of(b, i + 1) - at;
	int rc = plan_read(now, block, BLOCK, (uint64_t)i * BLOCK);
	size_t n = pack_block(block, packed);

	if (n > slot) {
		*missing += (uint32_t)n - slot;
		return 0;
	}
	memset(packed + n, 0, sizeof packed - n);
	return rc ? err_set(e, -rc, "%s", strerror(-rc)) : src_write(file, packed, slot, at, "block", e);
}

static int medium_put(struct source *file, const struct lead *lead, const struct plan *now, bool grow,
		      struct source **moved, struct err *e)
{
	struct buf all = { 0 };
	struct source *src = NULL;
	uint32_t missing = 0;
	int rc = medium(file, lead, &src, e);

	for (uint32_t i = 0; !rc && !now->moved && i * BLOCK < now->size; i++)
		if (plan_touches(now, (uint64_t)i * BLOCK, BLOCK))
			rc = put_block((struct blocks *)src, file, now, i, &missing, e);
	src_put(src);
	if (rc || (!missing && !now->moved))
		return rc;
	if (!grow)
		return err_set(e, ENOSPC, "%u bytes are missing in slots of blocks", missing);
	rc = pack_all(now, &all);
	*moved = rc || all.bad ? NULL : src_copy(all.p, all.len);
	buf_free(&all);
	return rc || *moved ? rc : err_nomem(e);
}

/* ---- plates ---- */

static const struct section no_sections[] = { { "header", "Header", SECTION_BYTES, NULL, NULL } };
static const struct variant only[] = { { "1", "Only one", no_sections, 1, NULL } };

static int plate_probe(struct probe *p)
{
	return p->n >= HEAD && !memcmp(p->head, "PLAT", 4) ? 100 : 0;
}

static int squashed_probe(struct probe *p)
{
	return p->n >= HEAD && !memcmp(p->head, "SQUA", 4) ? 100 : 0;
}

static int open_table(struct object *o, uint32_t at, uint32_t each, const uint8_t **table, uint32_t *n, struct err *e)
{
	int rc = object_read(o, &o->arena, at, 4, "number of entries", table, e);

	if (rc)
		return rc;
	*n = le_u32(*table);
	o->variant = &only[0];
	return object_read(o, &o->arena, at + 4, (uint64_t)*n * each, "table", table, e);
}

static int plate_open(struct object *o, struct err *e)
{
	const uint8_t *table;
	uint32_t n;

	return open_table(o, HEAD, 0, &table, &n, e);
}

static bool set_pieces(struct object *o, struct entry *v, const uint8_t *p)
{
	struct extents *x = arena_alloc(&o->arena, sizeof *x + 2 * sizeof x->v[0], 1);

	if (!x)
		return false;
	x->n = 2;
	x->v[0] = (struct extent){ le_u32(p + 32), le_u32(p + 36) };
	x->v[1] = (struct extent){ le_u32(p + 40), le_u32(p + 44) };
	v->extents = x;
	v->size = x->v[0].size + x->v[1].size;
	v->in_pieces = v->fixed = true;
	return true;
}

static int plate_list(struct object *o, struct entries *out, struct err *e)
{
	const char **why;
	const uint8_t *p;
	int64_t *time;
	uint32_t n;
	int rc = open_table(o, HEAD, RECORD_SIZE, &p, &n, e);

	if (rc)
		return rc;
	out->n = n;
	out->v = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->v);
	out->name = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->name);
	out->mtime = time = arena_alloc(&o->arena, n + (size_t)1, sizeof *time);
	out->why = why = arena_alloc(&o->arena, n + (size_t)1, sizeof *why);
	if (!out->v || !out->name || !time || !why)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++, p += RECORD_SIZE) {
		uint32_t flags = le_u32(p + 52);

		out->name[i] = arena_printf(&o->arena, "%.32s", (const char *)p);
		out->v[i] = (struct entry){
			.at = le_u32(p + 32), .size = le_u32(p + 36), .folder = flags & PLATE_FOLDER,
			.fixed = flags & PLATE_FIXED, .lost = flags & PLATE_LOST,
		};
		time[i] = le_u32(p + 48) ? (int64_t)le_u32(p + 48) * 1000000000 : ENTRY_NO_TIME;
		if (le_u32(p + 44)) {
			why[i] = "two pieces";
			if (!set_pieces(o, &out->v[i], p))
				return err_nomem(e);
		} else if (out->v[i].lost || out->v[i].fixed) {
			why[i] = arena_printf(&o->arena, "place %u is none", le_u32(p + 32));
		}
	}
	return 0;
}

static int plate_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	uint64_t end = o->src->size, at = v->v[i].at, old = v->v[i].size;
	uint8_t raw[4];
	int rc = 0;

	for (uint32_t k = 0; k < v->n; k++)
		if (!v->v[k].folder && !v->v[k].in_pieces && v->v[k].at > at && v->v[k].at < end)
			end = v->v[k].at;
	if (size > end - at)
		return err_set(e, ENOSPC, "%" PRIu64 " bytes more than its %" PRIu64 ": so many bytes are missing",
			       size - (end - at), end - at);
	if (size != old)
		rc = src_clear(o->src, at + (size < old ? size : old), size < old ? old - size : size - old, "rest", e);
	put_le32(raw, (uint32_t)size);
	rc = rc ? rc : src_patch(o->src, raw, 4, HEAD + 4 + (uint64_t)i * RECORD_SIZE + 36, "size", e);
	if (!rc)
		v->v[i].size = size;
	return rc;
}

static int plate_info(struct object *o, const struct entries *v, struct doc *d, struct err *e)
{
	(void)e;
	doc_text(d, "kind", DOC_PLAIN, "%s", o->src == o->file ? "bare" : "wrapped");
	doc_text(d, "entries", DOC_PLAIN, "%u", v->n);
	doc_text(d, "led", DOC_PLAIN, "%s",
		 o->around && o->around->lead ? (const char *)o->around->lead->detail : "no");
	return 0;
}

static int plate_more(struct object *o, const struct entries *v, struct doc *d, struct err *e)
{
	(void)e;
	(void)v;
	doc_text(d, "medium_bytes", DOC_PLAIN, "%" PRIu64, o->src->size);
	return 0;
}

static const struct container_ops plate_ops = {
	.open = plate_open, .list = plate_list, .resize = plate_resize, .info = plate_info, .more = plate_more,
	.info_is_all = true, .medium = medium, .volume = true, .separator = '/',
};
const struct format fmt_plate = {
	.name = "plate", .title = "Plate", .ext = "plt", .doc = "A container.", .probe = plate_probe,
	.variants = only, .nvariants = 1, .strict = true, .container = &plate_ops,
};

static const struct container_ops squashed_ops = {
	.open = plate_open, .list = plate_list, .resize = plate_resize, .info = plate_info, .medium = medium,
	.medium_put = medium_put, .volume = true, .separator = '/',
};
const struct format fmt_squashed = {
	.name = "squashed", .title = "Squashed plate", .ext = "sqp", .doc = "A container.", .probe = squashed_probe,
	.variants = only, .nvariants = 1, .strict = true, .container = &squashed_ops,
};

/* ---- rows ---- */

static int row_probe(struct probe *p)
{
	return p->n >= 8 && !memcmp(p->head, "ROWW", 4) ? 100 : 0;
}

static int row_list(struct object *o, struct entries *out, struct err *e)
{
	const uint8_t *p;
	uint32_t n;
	int rc = open_table(o, 4, 8, &p, &n, e);

	if (rc)
		return rc;
	out->n = n;
	out->v = arena_alloc(&o->arena, n + (size_t)1, sizeof *out->v);
	if (!out->v)
		return err_nomem(e);
	for (uint32_t i = 0; i < n; i++, p += 8) {
		out->v[i] = (struct entry){ .at = le_u32(p), .size = le_u32(p + 4) };
		if (!span_ok(o->src->size, out->v[i].at, out->v[i].size, 1))
			return err_set(e, EBADMSG, "entry %u lies outside the row", i);
	}
	return 0;
}

static int row_grow(struct object *o, struct entries *v, uint32_t i, uint64_t end, uint64_t more, struct err *e)
{
	struct source *piece[3] = {
		src_slice(o->src, 0, end), src_zeros(more), src_slice(o->src, end, o->src->size - end)
	};
	struct source *moved = src_pieces(piece, 3), *fresh;
	int rc = o->around->rebase(o->around, moved, &fresh, e);

	src_put(moved);
	for (unsigned k = 0; k < 3; k++)
		src_put(piece[k]);
	if (rc)
		return rc;
	src_put(o->src);
	o->src = fresh;
	for (uint32_t k = i + 1; k < v->n; k++)
		v->v[k].at += more;
	return 0;
}

static int row_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	uint64_t end = i + 1 < v->n ? v->v[i + 1].at : o->src->size, room = end - v->v[i].at;
	uint8_t raw[8];
	int rc = 0;

	if (size > room && (!o->around->rebase || !o->around->grow))
		return err_set(e, ENOSPC, "%" PRIu64 " bytes are missing", size - room);
	if (size > room)
		rc = row_grow(o, v, i, end, size - room, e);
	v->v[i].size = size;
	for (uint32_t k = 0; k < v->n && !rc; k++) {
		put_le32(raw, (uint32_t)v->v[k].at);
		put_le32(raw + 4, (uint32_t)v->v[k].size);
		rc = src_patch(o->src, raw, 8, 8 + 8 * (uint64_t)k, "place", e);
	}
	return rc;
}

static const struct container_ops row_ops = { .list = row_list, .resize = row_resize, .digits = 1 };
const struct format fmt_row = {
	.name = "row", .title = "Row", .ext = "row", .doc = "A container.", .probe = row_probe,
	.variants = only, .nvariants = 1, .strict = true, .container = &row_ops,
};

/* ---- notes ---- */

static int note_probe(struct probe *p)
{
	return p->n >= 5 && !memcmp(p->head, "NOTE ", 5) ? 60 : 0;
}

static int note_leads(struct source *text, struct lead *out, struct arena *a, struct err *e)
{
	size_t n = text->size < LEAD_NAME_MAX ? (size_t)text->size : LEAD_NAME_MAX - 1;
	char *line = arena_alloc(a, n + 1, 1), *end;
	int rc = line ? src_read(text, line, n, 0, "note", e) : err_nomem(e);

	if (rc)
		return rc;
	line[n] = 0;
	end = strchr(line, '\n');
	if (!end)
		return err_set(e, EINVAL, "the note has no end");
	*end = 0;
	strcpy(out->name, line + 5);
	out->detail = "by a note";
	return 0;
}

const struct format fmt_note = {
	.name = "note", .title = "Note", .ext = "note", .doc = "A text.", .probe = note_probe, .leads = note_leads,
};

/* ---- building ---- */

static void build_medium(struct buf *out, const struct plate_entry *v, uint32_t n)
{
	uint32_t at = HEAD + 4 + n * RECORD_SIZE;

	for (unsigned i = 0; i < HEAD / 4; i++)
		put32(out, 0);
	put32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = v[i].split ? v[i].split : v[i].size;
		char name[32] = "";

		memcpy(name, v[i].name, strlen(v[i].name));
		buf_add(out, name, sizeof name);
		put32(out, at);
		put32(out, first);
		put32(out, v[i].split ? at + first + 8 : 0);
		put32(out, v[i].split ? v[i].size - first : 0);
		put32(out, v[i].time);
		put32(out, v[i].flags);
		at += (v[i].room > v[i].size ? v[i].room : v[i].size) + (v[i].split ? 8 : 0);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = v[i].split ? v[i].split : v[i].size;

		buf_add(out, v[i].bytes, first);
		for (unsigned k = 0; k < 8 && v[i].split; k++)
			put8(out, 0xee);
		if (v[i].split)
			buf_add(out, (const uint8_t *)v[i].bytes + first, v[i].size - first);
		for (uint32_t k = v[i].size; k < v[i].room; k++)
			put8(out, 0);
	}
}

static void wrap(struct buf *out, struct buf *medium_bytes)
{
	while (medium_bytes->len % USER)
		put8(medium_bytes, 0);
	buf_add(out, "PLAT", 4);
	put32(out, PLATE_SECTORS);
	put32(out, (uint32_t)medium_bytes->len);
	put32(out, 0);
	for (size_t at = 0; at < medium_bytes->len; at += USER) {
		put32(out, (uint32_t)(at / USER));
		buf_add(out, medium_bytes->p + at, USER);
		put32(out, sum_of(medium_bytes->p + at));
	}
}

static void squash(struct buf *out, struct buf *medium_bytes)
{
	struct source *src;
	struct plan all;

	while (medium_bytes->len % BLOCK)
		put8(medium_bytes, 0);
	src = src_memory(medium_bytes->p, medium_bytes->len);
	plan_init(&all, src);
	pack_all(&all, out);
	plan_free(&all);
	src_put(src);
}

void plate_build(struct buf *out, enum plate_kind kind, const struct plate_entry *v, uint32_t n)
{
	struct buf m = { 0 };

	build_medium(&m, v, n);
	if (kind == PLATE_SECTORS) {
		wrap(out, &m);
	} else if (kind == PLATE_SQUASHED) {
		squash(out, &m);
	} else {
		memcpy(m.p, "PLAT", 4);
		buf_add(out, m.p, m.len);
	}
	buf_free(&m);
}

void plate_medium(const struct buf *file, struct buf *out)
{
	struct source *src = src_memory(file->p, file->len), *m;

	out->len = 0;
	if (!medium(src, NULL, &m, NULL)) {
		src_pread(m, buf_room(out, m->size), m->size, 0);
		out->len = m->size;
		src_put(m);
	}
	src_put(src);
}

void row_build(struct buf *out, uint32_t n, uint32_t size, uint32_t slack)
{
	buf_add(out, "ROWW", 4);
	put32(out, n);
	for (uint32_t i = 0; i < n; i++) {
		put32(out, 8 + 8 * n + i * (size + slack));
		put32(out, size);
	}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < size + slack; k++)
			put8(out, k < size ? 'a' + i : 0);
	}
}
