#include "build_iso.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define SECTOR 2048u

struct building {
	struct buf *out;
	struct build_iso *how;
	struct build_iso_node *v;
	unsigned n;
	uint32_t *dir[2], *size[2];            /* of node i's directory, n: the root; in either tree */
	uint32_t end;                          /* sectors so far */
};

static uint32_t sectors(size_t bytes)
{
	return (uint32_t)((bytes + SECTOR - 1) / SECTOR);
}

static void put_both16(struct buf *b, unsigned v)
{
	put16(b, v);
	put8(b, v >> 8);
	put8(b, v & 0xff);
}

static void put_both32(struct buf *b, uint32_t v)
{
	put32(b, v);
	for (int shift = 24; shift >= 0; shift -= 8)
		put8(b, v >> shift & 0xff);
}

void build_iso_both32(struct buf *b, size_t at, uint32_t v)
{
	put_le32(b->p + at, v);
	put_be32(b->p + at + 4, v);
}

/* ---- records ---- */

struct iso_line {
	uint32_t lba, size;
	uint8_t flags, xar, unit, gap;
	uint16_t xa;
	const uint8_t *name;
	unsigned n;
};

/* Where the record begins. */
static size_t put_line(struct buf *b, const struct iso_line *r)
{
	static const uint8_t day[] = { BUILD_ISO_DAY };
	unsigned use = r->xa ? 14 : 0, n = 33 + r->n + !(r->n & 1) + use;
	size_t at;

	if (b->len % SECTOR + n > SECTOR)
		put_zeros(b, SECTOR);
	at = b->len;
	put8(b, n);
	put8(b, r->xar);
	put_both32(b, r->lba);
	put_both32(b, r->size);
	buf_add(b, day, sizeof day);
	put8(b, r->flags);
	put8(b, r->unit);
	put8(b, r->gap);
	put_both16(b, 1);
	put8(b, r->n);
	buf_add(b, r->name, r->n);
	if (!(r->n & 1))
		put8(b, 0);
	if (use) {
		buf_add(b, "\0\0\0", 4);
		put8(b, r->xa >> 8);
		put8(b, r->xa & 0xff);
		buf_add(b, "XA\0\0\0\0\0", 8);
	}
	return at;
}

static unsigned stored_name(const struct build_iso_node *v, bool joliet, uint8_t name[256])
{
	const char *s = joliet && v->joliet ? v->joliet : v->name;
	unsigned n = (unsigned)strlen(s);

	for (unsigned i = 0; i < n && joliet; i++) {
		name[2 * i] = 0;
		name[2 * i + 1] = (uint8_t)s[i];
	}
	if (!joliet)
		memcpy(name, s, n);
	return joliet ? 2 * n : n;
}

static struct iso_line dir_line(const struct building *k, unsigned tree, unsigned dir, const uint8_t *name, unsigned n)
{
	return (struct iso_line){
		.lba = k->dir[tree][dir] + k->how->base, .size = k->size[tree][dir] * SECTOR, .flags = 2, .name = name,
		.n = n,
	};
}

static unsigned parent_of(const struct building *k, unsigned dir)
{
	return dir < k->n && k->v[dir].in ? k->v[dir].in - 1 : k->n;
}

static void put_file(const struct building *k, struct buf *b, unsigned tree, unsigned i)
{
	struct build_iso_node *v = &k->v[i];
	const struct build_iso_node *whose = v->link ? &k->v[v->link - 1] : v;
	uint8_t name[256];
	size_t first = whose->cut ? whose->cut * SECTOR : whose->n;
	struct iso_line r = {
		.lba = whose->lba + k->how->base - v->xar, .size = (uint32_t)first, .flags = v->flags, .xar = v->xar,
		.unit = v->unit, .gap = v->gap, .xa = v->xa, .name = name, .n = stored_name(v, tree, name),
	};

	r.flags |= whose->cut ? 0x80 : 0;
	v->record[tree] = put_line(b, &r);
	if (!whose->cut)
		return;
	r.flags &= 0x7f;
	r.lba = whose->later + k->how->base;
	r.size = (uint32_t)(whose->n - first);
	put_line(b, &r);
}

/* record[] counts from the start of the directory. */
static void put_dir(const struct building *k, struct buf *b, unsigned tree, unsigned dir)
{
	struct iso_line self = dir_line(k, tree, dir, (const uint8_t *)"\0", 1);
	struct iso_line parent = dir_line(k, tree, parent_of(k, dir), (const uint8_t *)"\1", 1);

	put_line(b, &self);
	put_line(b, &parent);
	for (unsigned i = 0; i < k->n; i++) {
		uint8_t name[256];
		struct iso_line r;

		if (parent_of(k, i) != dir)
			continue;
		if (!k->v[i].dir) {
			put_file(k, b, tree, i);
			continue;
		}
		r = dir_line(k, tree, i, name, stored_name(&k->v[i], tree, name));
		k->v[i].record[tree] = put_line(b, &r);
	}
	put_zeros(b, SECTOR);
}

/* ---- path tables ---- */

static void put_path(const struct building *k, struct buf *b, unsigned tree, bool be, unsigned dir, unsigned parent)
{
	uint8_t name[256] = { 0 };
	unsigned n = dir < k->n ? stored_name(&k->v[dir], tree, name) : 1;
	uint32_t lba = k->dir[tree][dir] + k->how->base;

	put8(b, n);
	put8(b, 0);
	for (unsigned i = 0; i < 4; i++)
		put8(b, lba >> (be ? 24 - 8 * i : 8 * i) & 0xff);
	for (unsigned i = 0; i < 2; i++)
		put8(b, parent >> (be ? 8 - 8 * i : 8 * i) & 0xff);
	buf_add(b, name, n);
	if (n & 1)
		put8(b, 0);
}

/* Breadth first. */
static void put_table(const struct building *k, struct buf *b, unsigned tree, bool be)
{
	unsigned *order = malloc((k->n + 1u) * sizeof *order), *number = calloc(k->n + 1u, sizeof *number), m = 0;

	if (!order || !number)
		abort();
	order[m++] = k->n;
	number[k->n] = 1;
	for (unsigned at = 0; at < m; at++) {
		put_path(k, b, tree, be, order[at], order[at] < k->n ? number[parent_of(k, order[at])] : 1);
		for (unsigned i = 0; i < k->n; i++) {
			if (!k->v[i].dir || parent_of(k, i) != order[at])
				continue;
			order[m++] = i;
			number[i] = m;
		}
	}
	free(order);
	free(number);
}

/* ---- places ---- */

static void place_dirs(struct building *k, unsigned tree)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i <= k->n; i++) {
		unsigned dir = i ? i - 1 : k->n;

		if (dir < k->n && !k->v[dir].dir)
			continue;
		b.len = 0;
		put_dir(k, &b, tree, dir);
		k->dir[tree][dir] = k->end;
		k->size[tree][dir] = sectors(b.len);
		k->end += k->size[tree][dir];
	}
	buf_free(&b);
}

static void place_files(struct building *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		struct build_iso_node *v = &k->v[i];

		if (v->dir || v->link)
			continue;
		v->lba = k->end + v->xar;
		k->end = v->lba + (v->cut ? v->cut : sectors(v->n)) + v->free;
	}
	for (unsigned i = 0; i < k->n; i++) {
		if (!k->v[i].cut)
			continue;
		k->v[i].later = k->end;
		k->end += sectors(k->v[i].n) - k->v[i].cut;
	}
	k->end += k->how->free;
}

/* ---- the image ---- */

static void copy_to(const struct building *k, uint32_t sector, const void *p, size_t n)
{
	if (n)
		memcpy(k->out->p + (size_t)sector * SECTOR, p, n);
}

static void put_text(struct buf *b, const char *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put8(b, s && *s ? (uint8_t)*s++ : ' ');
}

static void put_descriptor(const struct building *k, unsigned tree, uint32_t table_size)
{
	struct buf b = { 0 };
	struct iso_line root = dir_line(k, tree, k->n, (const uint8_t *)"\0", 1);

	put8(&b, tree ? 2 : 1);
	buf_add(&b, "CD001\1\0", 7);
	put_text(&b, k->how->system_id, 32);
	put_text(&b, k->how->volume_id, 32);
	buf_add(&b, "\0\0\0\0\0\0\0", 8);
	put_both32(&b, k->end);
	buf_add(&b, tree ? "%/E" : "\0\0\0", 4);
	while (b.len < 120)
		put8(&b, 0);
	put_both16(&b, 1);
	put_both16(&b, 1);
	put_both16(&b, SECTOR);
	put_both32(&b, table_size);
	put32(&b, k->how->table[tree] + k->how->base);
	put32(&b, 0);
	for (int shift = 24; shift >= 0; shift -= 8)
		put8(&b, (k->how->table[tree] + sectors(table_size) + k->how->base) >> shift & 0xff);
	put32(&b, 0);
	put_line(&b, &root);
	put_zeros(&b, SECTOR);
	b.p[881] = 1;
	copy_to(k, 16 + tree, b.p, b.len);
	buf_free(&b);
}

static void write_tree(struct building *k, unsigned tree, uint32_t table_size)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i <= k->n; i++) {
		if (i < k->n && !k->v[i].dir)
			continue;
		b.len = 0;
		put_dir(k, &b, tree, i);
		copy_to(k, k->dir[tree][i], b.p, b.len);
	}
	for (unsigned i = 0; i < k->n; i++)
		k->v[i].record[tree] += (size_t)k->dir[tree][parent_of(k, i)] * SECTOR;
	for (unsigned be = 0; be < 2; be++) {
		b.len = 0;
		put_table(k, &b, tree, be);
		copy_to(k, k->how->table[tree] + be * sectors(table_size), b.p, b.len);
	}
	put_descriptor(k, tree, table_size);
	buf_free(&b);
}

static void write_files(const struct building *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		const struct build_iso_node *v = &k->v[i];
		size_t first = v->cut ? v->cut * SECTOR : v->n;

		if (v->dir || v->link)
			continue;
		copy_to(k, v->lba, v->p, first);
		copy_to(k, v->later, (const char *)v->p + first, v->n - first);
	}
}

static void begin(struct building *k)
{
	for (unsigned tree = 0; tree < 2; tree++) {
		k->dir[tree] = calloc(k->n + 1u, sizeof **k->dir);
		k->size[tree] = calloc(k->n + 1u, sizeof **k->size);
		if (!k->dir[tree] || !k->size[tree])
			abort();
	}
}

void build_iso(struct buf *out, struct build_iso *how, struct build_iso_node *v, unsigned n)
{
	struct building k = { .out = out, .how = how, .v = v, .n = n };
	unsigned trees = how->joliet ? 2 : 1;
	uint32_t table_size[2] = { 0 };

	begin(&k);
	k.end = 16 + trees + 1;
	for (unsigned tree = 0; tree < trees; tree++) {
		struct buf b = { 0 };

		put_table(&k, &b, tree, false);
		table_size[tree] = (uint32_t)b.len;
		how->table[tree] = k.end;
		k.end += 2 * sectors(b.len);
		buf_free(&b);
	}
	for (unsigned tree = 0; tree < trees; tree++) {
		place_dirs(&k, tree);
		how->root[tree] = k.dir[tree][n];
	}
	place_files(&k);
	out->len = 0;
	if (!buf_room(out, (size_t)k.end * SECTOR))
		abort();
	out->len = (size_t)k.end * SECTOR;
	memset(out->p, 0, out->len);
	for (unsigned tree = 0; tree < trees; tree++)
		write_tree(&k, tree, table_size[tree]);
	copy_to(&k, 16 + trees, "\xff" "CD001\1", 7);
	write_files(&k);
	for (unsigned tree = 0; tree < 2; tree++) {
		free(k.dir[tree]);
		free(k.size[tree]);
	}
}
