/* ISO 9660: what `modelfs verify` checks: both copies of numbers, what directories begin with, path tables against the
 * tree, and the codes of raw sectors. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "iso9660.h"

#define TABLES 4u                              /* little-endian, its copy, big-endian, its copy */

/* ---- descriptors ---- */

struct halves { const struct iso *iso; const uint8_t *raw; uint64_t at; struct err *e; };

static int check_halves(void *ctx, const struct field *f)
{
	const struct halves *h = ctx;
	uint64_t bits;

	if (!field_is_both(f))
		return 0;
	bits = field_get(f, false, h->raw, 0);
	if ((bits & (field_mask(f) >> field_bits(f) / 2)) == bits >> field_bits(f) / 2)
		return 0;
	return err_at(h->e, EBADMSG, h->iso->src, h->at + f->at, f->name, "%" PRIu64 ", but %" PRIu64 " big-endian",
		      bits & (field_mask(f) >> field_bits(f) / 2), bits >> field_bits(f) / 2);
}

static int check_descriptor(struct iso *iso, const struct iso_descriptor *d, struct err *e)
{
	uint8_t raw[ISO_SECTOR];
	struct halves h = { iso, raw, (uint64_t)d->sector * ISO_SECTOR, e };
	int rc = src_read(iso->src, raw, sizeof raw, h.at, "volume descriptor", e);

	if (!rc && d->block_size != ISO_SECTOR)
		rc = err_at(e, EBADMSG, iso->src, h.at + 128, "volume descriptor", "blocks of %u bytes, expected %u",
			    d->block_size, ISO_SECTOR);
	return rc ? rc : rec_each(&iso_volume_record, check_halves, &h);
}

/* ---- path tables ---- */

/* A directory as a path table says it, or as the tree does. */
struct place { uint64_t lba, parent; };

struct table { uint8_t *p; uint32_t n; struct place *v; };

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->lba != y->lba)
		return x->lba < y->lba ? -1 : 1;
	return (x->parent > y->parent) - (x->parent < y->parent);
}

static int read_table(const struct iso *iso, const struct iso_descriptor *d, unsigned k, struct table *out,
		      struct err *e)
{
	uint64_t s;

	if (!iso_sector(iso, d->table[k], &s) || iso_sectors(d->table_size) > iso->sectors - s)
		return err_at(e, EBADMSG, iso->src, (uint64_t)d->sector * ISO_SECTOR + 140 + 4 * k, "path table",
			      "%u bytes in sector %u are outside %" PRIu64, d->table_size, d->table[k],
			      iso->base + iso->sectors);
	if (d->table_size > LIMIT_DECODED)
		return err_set(e, EFBIG, "a path table of %u bytes, at most %zu are read", d->table_size,
			       LIMIT_DECODED);
	out->p = malloc(d->table_size + (size_t)1);
	out->v = malloc((d->table_size / iso_path_record.size + (size_t)1) * sizeof *out->v);
	if (!out->p || !out->v)
		return err_nomem(e);
	return src_read(iso->src, out->p, d->table_size, s * ISO_SECTOR, "path table", e);
}

static int take_places(const struct iso *iso, const struct iso_descriptor *d, unsigned k, struct table *t,
		       struct err *e)
{
	uint64_t at = (uint64_t)(d->table[k] - iso->base) * ISO_SECTOR;
	struct iso_path p;

	for (uint32_t i = 0; i < d->table_size; i += iso_path_record.size + p.length + (p.length & 1)) {
		if (d->table_size - i < iso_path_record.size)
			return err_at(e, EBADMSG, iso->src, at + i, "path table", "%u bytes are no record",
				      d->table_size - i);
		rec_decode(&iso_path_record, k >= TABLES / 2, t->p + i, &p);
		if (!p.length || p.length > d->table_size - i - iso_path_record.size)
			return err_at(e, EBADMSG, iso->src, at + i, "path table", "a name of %u bytes", p.length);
		if (!p.parent || p.parent > t->n + !t->n)
			return err_at(e, EBADMSG, iso->src, at + i + 6, "path table",
				      "directory %u is in %u, expected one before it", t->n + 1, p.parent);
		t->v[t->n] = (struct place){ (uint64_t)p.lba + p.xar, 0 };
		t->v[t->n].parent = t->v[p.parent - 1].lba;
		t->n++;
	}
	return 0;
}

/* Both sorted. */
static int compare(const struct iso *iso, const struct iso_descriptor *d, unsigned k, const struct table *t,
		   const struct place *v, uint32_t n, struct err *e)
{
	uint64_t at = (uint64_t)(d->table[k] - iso->base) * ISO_SECTOR;

	if (t->n != n)
		return err_at(e, EBADMSG, iso->src, at, "path table", "%u directories, the tree has %u", t->n, n);
	for (uint32_t i = 0; i < n; i++)
		if (by_place(&t->v[i], &v[i]))
			return err_at(e, EBADMSG, iso->src, at, "path table", "a directory in sector %" PRIu64
				      " of one in %" PRIu64 ", the tree has one in %" PRIu64 " of one in %" PRIu64,
				      t->v[i].lba, t->v[i].parent, v[i].lba, v[i].parent);
	return 0;
}

static int check_table(const struct iso *iso, const struct iso_descriptor *d, unsigned k, const struct place *v,
		       uint32_t n, struct err *e)
{
	struct table t = { 0 };
	int rc = read_table(iso, d, k, &t, e);

	rc = rc ? rc : take_places(iso, d, k, &t, e);
	if (!rc && t.n)
		qsort(t.v, t.n, sizeof *t.v, by_place);
	rc = rc ? rc : compare(iso, d, k, &t, v, n, e);
	free(t.p);
	free(t.v);
	return rc;
}

/* ---- trees ---- */

/* The records 00 and 01 that a directory begins with. Where the parent is said to be, nobody looks: genisoimage and
 * xorriso write something else for some directories that lie deep. */
static int check_dir(const struct iso *iso, const struct iso_dir *d, struct err *e)
{
	uint8_t raw[ISO_SECTOR];
	unsigned at = 0;
	uint64_t s;
	int rc;

	if (!d->size || !iso_sector(iso, d->lba, &s))  /* that is noted already */
		return 0;
	rc = src_read(iso->src, raw, sizeof raw, s * ISO_SECTOR, "directory", e);
	for (unsigned k = 0; k < 2 && !rc; k++) {
		const uint8_t *p = raw + at;
		struct iso_record r;

		if (at + ISO_RECORD_LEAST > ISO_SECTOR || *p < ISO_RECORD_LEAST || p[32] != 1 || p[33] != k)
			return err_at(e, EBADMSG, iso->src, s * ISO_SECTOR + at, "directory record",
				      "record %u of the directory is not named %02u", k, k);
		rec_decode(&iso_record_record, false, p, &r);
		if (!k && (uint64_t)r.lba.le + r.xar != d->lba)
			rc = err_at(e, EBADMSG, iso->src, s * ISO_SECTOR + at + 2, "directory record",
				    "sector %u, expected %" PRIu64 ", where the directory begins", r.lba.le, d->lba);
		at += *p;
	}
	return rc;
}

static int check_tree(struct iso *iso, const struct iso_descriptor *d, struct err *e)
{
	struct place *v = NULL;
	struct iso_tree t;
	int rc = iso_tree_read(iso, d, NULL, &t, e);

	if (!rc)
		v = malloc(t.ndirs * sizeof *v);
	if (!rc && !v)
		rc = err_nomem(e);
	for (uint32_t i = 0; i < t.ndirs && !rc; i++) {
		v[i] = (struct place){ t.dir[i].lba, t.dir[t.dir[i].in].lba };
		rc = check_dir(iso, &t.dir[i], e);
	}
	if (!rc)
		qsort(v, t.ndirs, sizeof *v, by_place);
	for (unsigned k = 0; k < TABLES && !rc; k++)
		if (d->table[k] && d->table_size && !t.cut)
			rc = check_table(iso, d, k, v, t.ndirs, e);
	free(v);
	iso_tree_free(&t);
	return rc;
}

/* ---- raw sectors ---- */

static int check_codes(const struct object *o, const struct iso *iso, struct err *e)
{
	struct sectors_wrong wrong = { 0 };
	struct source *track;
	int rc;

	if (iso->kind.stride != RAW_SECTOR)
		return 0;
	rc = iso_track(o->file, o->around ? o->around->lead : NULL, &track, e);
	if (rc)
		return rc;
	rc = sectors_verify(track, 0, iso->sectors, &wrong, e);
	if (!rc && wrong.n)
		rc = err_at(e, EBADMSG, track, wrong.first * RAW_SECTOR, "sector",
			    "the EDC of %" PRIu64 " sectors is wrong, of %" PRIu64 " first", wrong.n, wrong.first);
	src_put(track);
	return rc;
}

int iso_verify(struct object *o, const struct entries *entries, struct err *e)
{
	struct iso *iso = o->priv;
	int rc = 0;

	(void)entries;
	for (uint32_t i = 0; i < iso->ntrees && !rc; i++) {
		rc = check_descriptor(iso, &iso->tree[i], e);
		rc = rc ? rc : check_tree(iso, &iso->tree[i], e);
	}
	return rc ? rc : check_codes(o, iso, e);
}
