/* ISO 9660: files of another length.
 *
 * No file ever moves, because games read by sector number. A file has whole sectors, and those behind them up to the
 * next that something of the disc uses: a record of any tree, a path table, a descriptor. It may have them all; what it
 * does not fill is zero. Its size stands in every record with its extent: in those of other trees, and of other files
 * that are the same one. One of no bytes keeps its place as long as nothing else takes it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "iso9660.h"

#define OTHERS_TOLD 8u

/* Sectors that something else uses, from `at` to before `end`. */
struct use { uint64_t at, end; };

struct edit {
	struct object *o;
	struct iso *iso;
	struct entry *v;
	uint32_t i;
	uint64_t size;                         /* wanted */
	uint64_t first, own;                   /* its first sector, and how many it has */
	uint64_t limit;                        /* sector up to which it may have more */
	struct use *over;                      /* what uses sectors of its own */
	uint64_t *record;                      /* places of the records with its extent */
	uint32_t nover, cap_over, nrecords, cap_records;
	bool twice;                            /* some tree has more than one of them */
};

static const char *name_of(const struct edit *t)
{
	return t->iso->name[t->i];
}

/* ---- what uses sectors ---- */

static bool push(void **v, uint32_t *n, uint32_t *cap, const void *item, size_t each)
{
	uint32_t more = *cap ? *cap * 2 : 8;
	void *p = *n < *cap ? *v : realloc(*v, more * each);

	if (!p)
		return false;
	*cap = *n < *cap ? *cap : more;
	*v = p;
	memcpy((char *)p + *n * each, item, each);
	++*n;
	return true;
}

/* n sectors of the medium. */
static int use(struct edit *t, uint64_t at, uint64_t n, struct err *e)
{
	struct use u = { at, at + n };
	uint64_t behind = t->first + t->own;

	if (!n || u.end <= t->first)
		return 0;
	if (u.at >= behind) {
		t->limit = u.at < t->limit ? u.at : t->limit;
		return 0;
	}
	t->limit = behind < t->limit ? behind : t->limit;
	return push((void **)&t->over, &t->nover, &t->cap_over, &u, sizeof u) ? 0 : err_nomem(e);
}

/* n sectors from a stored number on; in front of the medium there are other tracks. */
static int use_stored(struct edit *t, uint64_t lba, uint64_t n, struct err *e)
{
	uint64_t base = t->iso->base, skip = lba < base ? base - lba : 0;

	return skip < n ? use(t, lba + skip - base, n - skip, e) : 0;
}

static uint64_t sectors_of(const struct iso_item *v)
{
	uint64_t n = iso_sectors(v->size), unit = v->unit ? v->unit : n;

	return v->xar + n + (n ? ((n - 1) / unit) * v->gap : 0);
}

static bool has_extent(const struct edit *t, const struct iso_item *v)
{
	return !iso_is_dir(v) && v->lba == t->iso->base + t->first && v->size == t->v[t->i].size && !v->xar &&
	       !v->unit && !v->gap;
}

static int use_tables(struct edit *t, const struct iso_descriptor *d, struct err *e)
{
	int rc = use_stored(t, d->lba, iso_sectors(d->size), e);

	for (unsigned k = 0; k < ARRAY_LEN(d->table) && !rc; k++)
		if (d->table[k])
			rc = use_stored(t, d->table[k], iso_sectors(d->table_size), e);
	return rc;
}

static int use_items(struct edit *t, const struct iso_tree *tree, struct err *e)
{
	uint32_t found = 0, pieces;
	int rc = 0;

	for (uint32_t i = 0; i < tree->n && !rc; i += pieces) {
		const struct iso_item *v = &tree->v[i];

		pieces = iso_is_dir(v) ? 1 : iso_pieces(tree, i);
		if (pieces == 1 && has_extent(t, v)) {
			found++;
			if (!push((void **)&t->record, &t->nrecords, &t->cap_records, &v->at, sizeof v->at))
				rc = err_nomem(e);
			continue;
		}
		for (uint32_t k = 0; k < pieces && !rc; k++)
			rc = use_stored(t, v[k].lba - v[k].xar, sectors_of(&v[k]), e);
	}
	t->twice |= found > 1;
	return rc;
}

static void keep_to_own(struct edit *t)
{
	t->limit = t->limit < t->first + t->own ? t->limit : t->first + t->own;
}

/* What could not be read may use any sector that seems to be free. */
static int use_tree(struct edit *t, const struct iso_descriptor *d, struct err *e)
{
	struct iso_tree tree;
	int rc;

	if (d->block_size != ISO_SECTOR) {
		keep_to_own(t);
		return 0;
	}
	rc = iso_tree_read(t->iso, d, NULL, &tree, e);
	rc = rc ? rc : use_tables(t, d, e);
	rc = rc ? rc : use_items(t, &tree, e);
	if (!rc && tree.cut)
		rc = err_set(e, EFBIG, "%s: the disc has more records than are read, so no size can change",
			     name_of(t));
	if (!rc && tree.unsure)
		keep_to_own(t);
	iso_tree_free(&tree);
	return rc;
}

/* Sectors of raw images need not have data. */
static void end_with_data(struct edit *t)
{
	uint64_t need = t->first + iso_sectors(t->size);
	uint8_t byte;

	for (uint64_t s = t->first + t->own; s < t->limit && s < need; s++)
		if (src_pread(t->iso->src, &byte, 1, s * ISO_SECTOR))
			t->limit = s;
}

static int find_room(struct edit *t, struct err *e)
{
	int rc;

	t->limit = t->iso->sectors;
	rc = use(t, 0, t->iso->end, e);
	for (uint32_t k = 0; k < t->iso->ntrees && !rc; k++)
		rc = use_tree(t, &t->iso->tree[k], e);
	if (!t->own && t->twice)               /* which of those of no bytes they belong to, nobody can tell */
		t->limit = t->first;
	end_with_data(t);
	return rc;
}

/* ---- room ---- */

static int check_size(const struct edit *t, struct err *e)
{
	uint64_t sectors = t->limit > t->first + t->own ? t->limit - t->first : t->own;
	uint64_t at = t->first * ISO_SECTOR, room = sectors * ISO_SECTOR;

	if (room > t->iso->there - at)         /* the image ends within the sector */
		room = t->iso->there - at;
	if (t->size > room && t->size > t->v[t->i].size)
		return err_set(e, ENOSPC, "%s: %" PRIu64 " bytes more than its %" PRIu64 " sectors", name_of(t),
			       t->size - room, sectors);
	if (t->size > UINT32_MAX)
		return err_set(e, EFBIG, "%s: %" PRIu64 " bytes; sizes have 32 bits", name_of(t), t->size);
	return 0;
}

/* ---- writing ---- */

static int by_start(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Zeros from one byte of the medium to another, but not in sectors that something else uses too. */
static int clear_own(const struct edit *t, uint64_t from, uint64_t to, struct err *e)
{
	int rc = 0;

	for (uint32_t k = 0; k <= t->nover && !rc && from < to; k++) {
		uint64_t stop = k < t->nover ? t->over[k].at * ISO_SECTOR : to, next = 0;

		if (k < t->nover)
			next = t->over[k].end * ISO_SECTOR;
		stop = stop < to ? stop : to;
		if (stop > from)
			rc = src_clear(t->o->src, from, stop - from, "file", e);
		from = next > from ? next : from;
	}
	return rc;
}

/* The bytes that are new, and the sectors that it does not fill. */
static int clear(const struct edit *t, struct err *e)
{
	uint64_t was = t->v[t->i].size, at = t->first * ISO_SECTOR, most = was > t->size ? was : t->size;
	int rc = was < t->size ? src_clear(t->o->src, at + was, t->size - was, "file", e) : 0;

	if (t->nover)
		qsort(t->over, t->nover, sizeof *t->over, by_start);
	return rc ? rc : clear_own(t, at + t->size, at + iso_sectors(most) * ISO_SECTOR, e);
}

static int write_sizes(const struct edit *t, struct err *e)
{
	uint8_t raw[8];
	int rc = 0;

	put_le32(raw, (uint32_t)t->size);
	put_be32(raw + 4, (uint32_t)t->size);
	for (uint32_t k = 0; k < t->nrecords && !rc; k++)
		rc = object_patch(t->o, 0, t->record[k] + ISO_AT_SIZE, raw, sizeof raw, "directory record", e);
	return rc;
}

/* ---- others ---- */

static bool overlaps(const struct edit *t, const struct entry *v)
{
	uint64_t at = t->first * ISO_SECTOR, end = at + t->own * ISO_SECTOR;

	if (v->folder || v->lost || !v->size)
		return false;
	for (uint32_t k = 0; v->in_pieces && k < v->extents->n; k++)
		if (v->extents->v[k].at < end && v->extents->v[k].at + v->extents->v[k].size > at)
			return true;
	return !v->in_pieces && v->at < end && v->at + v->size > at;
}

static void tell_others(const struct edit *t)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < t->iso->n; k++)
		if (k != t->i && overlaps(t, &t->v[k]) && n++ < OTHERS_TOLD)
			object_say(t->o, "%s and %s have the same sectors: both are changed", name_of(t),
				   t->iso->name[k]);
	if (n > OTHERS_TOLD)
		object_say(t->o, "%u more files have sectors of %s", n - OTHERS_TOLD, name_of(t));
}

/* The same extent under other names. */
static void set_sizes(const struct edit *t)
{
	uint64_t was = t->v[t->i].size;

	for (uint32_t k = 0; k < t->iso->n; k++) {
		struct entry *v = &t->v[k];

		if (k != t->i && (v->folder || v->lost || v->fixed || v->size != was ||
				  t->iso->lba[k] != t->iso->lba[t->i]))
			continue;
		v->at = t->first * ISO_SECTOR;
		v->size = t->size;
		t->iso->bytes += t->size - was;
	}
}

/* ---- all ---- */

static int check_entry(struct edit *t, struct err *e)
{
	const struct entry *v = &t->v[t->i];

	if (v->folder)
		return err_set(e, EISDIR, "%s: it is a directory", name_of(t));
	if (v->lost || v->fixed)
		return err_set(e, v->fixed ? EROFS : EIO, "%s: %s", name_of(t), t->iso->why[t->i]);
	t->own = iso_sectors(v->size);
	if (iso_sector(t->iso, t->iso->lba[t->i], &t->first))
		return 0;
	return err_set(e, ENOSPC, "%s: %" PRIu64 " bytes more than its 0 sectors", name_of(t), t->size);
}

int iso_resize(struct object *o, struct entries *v, uint32_t i, uint64_t size, struct err *e)
{
	struct edit t = { .o = o, .iso = o->priv, .v = v->v, .i = i, .size = size };
	int rc;

	if (size == v->v[i].size && !v->v[i].folder)
		return 0;
	rc = check_entry(&t, e);
	rc = rc ? rc : find_room(&t, e);
	rc = rc ? rc : check_size(&t, e);
	rc = rc ? rc : clear(&t, e);
	rc = rc ? rc : write_sizes(&t, e);
	if (!rc) {
		tell_others(&t);
		set_sizes(&t);
	}
	free(t.over);
	free(t.record);
	return rc;
}

void iso_tell_shared(struct object *o, const struct entries *v, uint32_t i)
{
	struct edit t = { .o = o, .iso = o->priv, .v = v->v, .i = i, .size = v->v[i].size };

	if (!check_entry(&t, NULL) && !object_again(o))
		tell_others(&t);
}
