/* ISO 9660, damaged where the input says: whatever the bytes, entries lie in the image or are lost, and a file of
 * another length changes no record but those with its extent, no sector that is somebody else's, and no other file.
 *
 *     0  1  1: with a Joliet tree; 2: the rest of the input is the image, from its first descriptor on
 *     1  1  which entry gets another length
 *     2  2  how many bytes, in units of 8
 *     ..    changes of 4 bytes: place (3), value; a place past the image is one in descriptors, tables, directories */
#include <string.h>

#include "build_iso.h"
#include "bytes.h"
#include "fuzz.h"
#include "growing.h"
#include "iso9660.h"

extern const struct format fmt_iso9660;

#define HEAD 4u

static uint8_t noise[5 * ISO_SECTOR];

static void make(bool joliet, struct buf *out)
{
	struct build_iso how = { .joliet = joliet, .free = 2 };
	struct build_iso_node v[] = {
		{ "A.TXT;1", noise, 100, .free = 2 }, { "B.DAT;1", noise, 3000 }, { "C.DAT;1", .link = 1 },
		{ "D", .dir = true }, { "E.DAT;1", noise, 2048, .in = 4, .free = 1 }, { "F", .dir = true, .in = 4 },
		{ "G.DAT;1", noise, 9, .in = 6 }, { "H.DAT;1", noise, 5000, .cut = 1 }, { "I;1", "", 0, .free = 1 },
		{ "J.DAT;1", noise, 50, .xar = 1 }, { "K.DAT;1", noise, 2049, .unit = 1, .gap = 1 },
	};

	for (size_t i = 0; i < sizeof noise; i++)
		noise[i] = (uint8_t)(i % 255 + 1);
	build_iso(out, &how, v, ARRAY_LEN(v));
}

static void damage(struct buf *b, const uint8_t *p, size_t n)
{
	const size_t from = ISO_SYSTEM * ISO_SECTOR, room = 14 * ISO_SECTOR;

	for (; n >= 4; p += 4, n -= 4) {
		size_t at = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;

		b->p[at < b->len ? at : from + at % room] = p[3];
	}
}

/* ---- reading ---- */

/* From malloc(); NULL: it cannot be read. */
static uint8_t *contents(struct object *o, const struct entry *v)
{
	struct source *src = entry_source(o->src, &fmt_iso9660, v);
	uint8_t *p = v->size < 1 << 24 ? malloc((size_t)v->size + 1) : NULL;

	if (!src || src->size != v->size)
		abort();
	if (p && src_pread(src, p, (size_t)v->size, 0)) {
		if (!v->lost)
			abort();
		free(p);
		p = NULL;
	}
	src_put(src);
	return p;
}

static void use(struct object *o, const struct entries *v)
{
	struct doc quiet = { &(const struct doc_ops){ 0 } };

	for (uint32_t i = 0; i < v->n; i++) {
		const struct entry *x = &v->v[i];

		if (!v->name[i] || !*v->name[i] || (x->folder && x->size) || ((x->fixed || x->lost) && !v->why[i]))
			abort();
		if (!x->lost && !x->in_pieces && !span_ok(o->src->size, x->at, x->size, 1))
			abort();
		if (v->n < 64)
			free(contents(o, x));
	}
	fmt_iso9660.container->verify(o, v, NULL);
	if (fmt_iso9660.container->info(o, v, &quiet, NULL))
		abort();
	fmt_iso9660.container->more(o, v, &quiet, NULL);
}

/* ---- another length ---- */

static uint8_t *all_of(struct source *src)
{
	uint8_t *p = malloc((size_t)src->size + 1);

	if (!p || src_pread(src, p, (size_t)src->size, 0))
		abort();
	return p;
}

/* Sectors that a byte lies in and that the file had, or has now. */
static bool is_own(const struct entry *v, uint64_t at, uint64_t now)
{
	uint64_t n = v->size > now ? v->size : now;

	return at >= v->at && at < v->at + iso_sectors(n) * ISO_SECTOR;
}

/* Marks the sizes that have to change, and sees that they have. */
static void mark_sizes(struct iso *iso, const struct entry *v, uint64_t size, const uint8_t *now, uint8_t *marks)
{
	for (uint32_t k = 0; k < iso->ntrees; k++) {
		struct iso_tree t;

		if (iso->tree[k].block_size != ISO_SECTOR)
			continue;
		if (iso_tree_read(iso, &iso->tree[k], NULL, &t, NULL))
			abort();
		for (uint32_t i = 0, n; i < t.n; i += n) {
			const struct iso_item *x = &t.v[i];

			n = iso_is_dir(x) ? 1 : iso_pieces(&t, i);
			if (iso_is_dir(x) || n > 1 || x->xar || x->unit || x->gap || x->size != v->size ||
			    (x->lba - iso->base) * ISO_SECTOR != v->at)
				continue;
			if (le_u32(now + x->at + 10) != size || be_u32(now + x->at + 14) != size)
				abort();
			memset(marks + x->at + 10, 1, 8);
		}
		iso_tree_free(&t);
	}
}

static void check(struct object *was, struct entry v, struct source *then, uint64_t size)
{
	uint8_t *a = all_of(was->src), *b = all_of(then), *marks = calloc(1, (size_t)was->src->size + 1);

	if (!marks)
		abort();
	mark_sizes(was->priv, &v, size, b, marks);
	for (uint64_t at = 0; at < was->src->size; at++) {
		uint64_t in = at - v.at;

		if (is_own(&v, at, size)) {
			if (in < v.size && in < size ? a[at] != b[at] : in < size && b[at])
				abort();
		} else if (a[at] != b[at] && !marks[at]) {
			abort();
		}
	}
	free(a);
	free(b);
	free(marks);
}

static bool overlap(const struct entry *a, const struct entry *b, uint64_t n)
{
	uint64_t end = a->at + iso_sectors(a->size > n ? a->size : n) * ISO_SECTOR;

	for (uint32_t k = 0; b->in_pieces && k < b->extents->n; k++)
		if (b->extents->v[k].at < end && b->extents->v[k].at + b->extents->v[k].size > a->at)
			return true;
	return !b->in_pieces && b->size && b->at < end && b->at + b->size > a->at;
}

/* Other files are what they were, unless they have the same sectors. */
static void check_others(struct object *was, struct object *now, uint32_t i, uint64_t size)
{
	struct entries a, b;

	if (fmt_iso9660.container->list(was, &a, NULL) || fmt_iso9660.container->list(now, &b, NULL) || a.n != b.n ||
	    b.v[i].size != size)
		abort();
	for (uint32_t k = 0; k < a.n && a.n < 64; k++) {
		uint8_t *x, *y;

		if (k == i || a.v[k].folder || a.v[k].lost || overlap(&a.v[i], &a.v[k], size) || !a.v[k].size)
			continue;
		x = contents(was, &a.v[k]);
		y = contents(now, &b.v[k]);
		if (a.v[k].size != b.v[k].size || !x != !y || (x && memcmp(x, y, (size_t)a.v[k].size)))
			abort();
		free(x);
		free(y);
	}
}

static void change(struct source *src, struct object *was, const struct entries *all, uint32_t i, uint64_t size)
{
	struct growing g = { .around = { .resize = growing_resize } };
	struct object *o, *again;
	struct entries v, now;
	struct entry old = all->v[i];
	int rc;

	plan_init(&g.plan, src);
	o = growing_open(&g, &fmt_iso9660, &g.around, &v);
	rc = fmt_iso9660.container->resize(o, &v, i, size, NULL);
	if (rc && rc != -ENOSPC && rc != -EFBIG && (rc != -EROFS || !old.fixed) && (rc != -EIO || !old.lost) &&
	    (rc != -EISDIR || !old.folder))
		abort();
	if (!rc && size != old.size) {
		again = growing_open(&g, &fmt_iso9660, NULL, &now);
		old.at = v.v[i].at;
		check(was, old, again->src, size);
		check_others(was, again, i, size);
		object_close(again);
	}
	object_close(o);
	plan_free(&g.plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = { 0 };
	struct source *src;
	struct entries v;
	struct object *o;
	struct err why;

	if (size < HEAD)
		return 0;
	if (data[0] & 2) {
		if (!buf_room(&b, ISO_SYSTEM * ISO_SECTOR))
			return 0;
		memset(b.p, 0, b.len = ISO_SYSTEM * ISO_SECTOR);
		buf_add(&b, data + HEAD, size - HEAD);
	} else {
		make(data[0] & 1, &b);
		damage(&b, data + HEAD, size - HEAD);
	}
	src = src_memory(b.p, b.len);
	if (src && build_probe(&fmt_iso9660, src, "", NULL, 0, &why) > 0) {
		if (object_open(&fmt_iso9660, src, NULL, &o, &why) || fmt_iso9660.container->list(o, &v, &why))
			abort();
		use(o, &v);
		if (v.n)
			change(src, o, &v, data[1] % v.n, (data[2] | data[3] << 8) * (uint64_t)8);
		object_close(o);
	}
	src_put(src);
	buf_free(&b);
	return 0;
}
