/* ISO 9660: the records of a tree.
 *
 * Directories are read in the order of their depth, each with one read. What a record says is taken as it is; what
 * cannot be a record costs the rest of its sector, and a name that is too long its record. A directory that is one of
 * its own parents, or that lies too deep, is empty, so the walk ends. */
#include "iso9660.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define PIECE ((size_t)1 << 20)                /* bytes of a directory that are read at once */
#define READ_MOST ((uint64_t)256 << 20)        /* of all of them together */
#define PATHS_MOST ((uint64_t)64 << 20)        /* bytes of all paths */

struct reading {
	struct iso *iso;
	const struct iso_descriptor *d;
	struct object *o;
	struct iso_tree *t;
	uint32_t dir;                          /* at hand */
	struct err *e;
};

void iso_tree_free(struct iso_tree *t)
{
	free(t->v);
	free(t->dir);
	buf_free(&t->text);
	memset(t, 0, sizeof *t);
}

/* ---- what a record says ---- */

static bool is_leap(unsigned year)
{
	return (year % 4 == 0 && year % 100) || year % 400 == 0;
}

#define LEAP_TO_1970 477                       /* years with a 29 February */

/* Days since 1970 of a day that there is, from 1970 on. */
static int64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
	static const uint16_t before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	unsigned past = year - 1, leap = past / 4 - past / 100 + past / 400;

	return (year - 1970) * (int64_t)365 + leap - LEAP_TO_1970 + before[month - 1] + (month > 2 && is_leap(year)) +
	       day - 1;
}

static bool is_day(unsigned year, unsigned month, unsigned day)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return month >= 1 && month <= 12 && day >= 1 &&
	       day <= (unsigned)days[month - 1] + (month == 2 && is_leap(year));
}

#define YEAR_LEAST 1980u
#define ZONE_MOST 52                           /* 13 hours */
#define ZONE_LEAST (-48)

static int64_t time_of(const struct iso_record *r)
{
	unsigned year = 1900u + r->years;
	int64_t seconds;

	if (year < YEAR_LEAST || !is_day(year, r->month, r->day) || r->hour > 23 || r->minute > 59 || r->second > 59 ||
	    r->zone[0] < ZONE_LEAST || r->zone[0] > ZONE_MOST)
		return ENTRY_NO_TIME;
	seconds = ((days_since_1970(year, r->month, r->day) * 24 + r->hour) * 60 + r->minute) * 60 + r->second;
	seconds -= r->zone[0] * (15 * 60);
	return seconds < 315532800 ? ENTRY_NO_TIME : seconds * 1000000000;     /* 1980 in Greenwich */
}

/* Attributes of an XA disc, behind the name. */
static uint16_t xa_of(const uint8_t *raw)
{
	unsigned at = ISO_RECORD_HEAD + raw[32] + !(raw[32] & 1);

	return at + 14 <= raw[0] && !memcmp(raw + at + 6, "XA", 2) ? be_u16(raw + at + 4) : 0;
}

static bool same_name(const struct iso_tree *t, const struct iso_item *a, const struct iso_item *b)
{
	return a->in == b->in && a->name_length == b->name_length &&
	       !memcmp(iso_stored_name(t, a), iso_stored_name(t, b), a->name_length);
}

uint32_t iso_pieces(const struct iso_tree *t, uint32_t i)
{
	uint32_t n = 1;

	while (t->v[i + n - 1].flags & ISO_MORE && i + n < t->n && !iso_is_dir(&t->v[i + n]) &&
	       same_name(t, &t->v[i], &t->v[i + n]))
		n++;
	return n;
}

/* ---- adding ---- */

static bool grow(void **v, uint32_t n, uint32_t *cap, size_t each)
{
	uint32_t more = *cap ? *cap * 2 : 64;
	void *p;

	if (n < *cap)
		return true;
	p = realloc(*v, more * each);
	if (!p)
		return false;
	*v = p;
	*cap = more;
	return true;
}

static bool is_own_parent(const struct iso_tree *t, uint32_t in, uint64_t lba)
{
	while (in && t->dir[in].lba != lba)
		in = t->dir[in].in;
	return t->dir[in].lba == lba;
}

static int add_dir(struct reading *r, struct iso_item *v, uint32_t item)
{
	struct iso_tree *t = r->t;
	const struct iso_dir *in = &t->dir[v->in];
	struct iso_dir d = {
		.lba = v->lba, .size = v->size, .in = v->in, .item = item, .path = in->path + v->name_length + 3,
		.depth = (uint8_t)(in->depth + 1),
	};

	if (is_own_parent(t, v->in, v->lba) || d.depth >= ISO_DEPTH_MOST) {
		iso_note(r->o, r->iso, v->at, "directory record", "%s %s: it is shown empty", iso_name_text(t, v).s,
			 d.depth < ISO_DEPTH_MOST ? "is one of its own parents" : "lies 64 levels down");
		d.size = 0;
	}
	if (!grow((void **)&t->dir, t->ndirs, &t->cap_dirs, sizeof *t->dir))
		return err_nomem(r->e);
	v->dir = t->ndirs;
	t->dir[t->ndirs++] = d;
	return 0;
}

static void cut(struct reading *r, uint64_t at, const char *what)
{
	iso_note(r->o, r->iso, at, "directory", "%s: what follows is not shown", what);
	r->t->cut = true;
}

static void check_halves(struct reading *r, const struct iso_record *rec, uint64_t at)
{
	if (rec->lba.le != rec->lba.be)
		iso_note(r->o, r->iso, at + 2, "directory record", "sector %u, but %u big-endian", rec->lba.le,
			 rec->lba.be);
	if (rec->size.le != rec->size.be)
		iso_note(r->o, r->iso, at + ISO_AT_SIZE, "directory record", "%u bytes, but %u big-endian",
			 rec->size.le, rec->size.be);
}

static int add_record(struct reading *r, const uint8_t *raw, uint64_t at)
{
	struct iso_tree *t = r->t;
	struct iso_record rec;
	struct iso_item *v;

	rec_decode(&iso_record_record, false, raw, &rec);
	t->paths += t->dir[r->dir].path + rec.name_length + 3u;
	if (t->n == LIMIT_ENTRIES || t->paths > PATHS_MOST) {
		cut(r, at, t->n == LIMIT_ENTRIES ? "more than 1048576 files" : "more than 64 MiB of paths");
		return 0;
	}
	if (!grow((void **)&t->v, t->n, &t->cap, sizeof *t->v))
		return err_nomem(r->e);
	check_halves(r, &rec, at);
	v = &t->v[t->n];
	*v = (struct iso_item){
		.at = at, .lba = (uint64_t)rec.lba.le + rec.xar, .mtime = time_of(&rec), .size = rec.size.le,
		.in = r->dir, .name = (uint32_t)t->text.len, .xa = xa_of(raw), .name_length = rec.name_length,
		.flags = rec.flags, .xar = rec.xar, .unit = rec.unit, .gap = rec.gap,
	};
	buf_add(&t->text, raw + ISO_RECORD_HEAD, rec.name_length);
	if (t->text.bad)
		return err_nomem(r->e);
	t->n++;
	return iso_is_dir(v) ? add_dir(r, v, t->n - 1) : 0;
}

/* ---- directories ---- */

static bool is_self_or_parent(const uint8_t *raw)
{
	return raw[32] == 1 && raw[33] <= 1;
}

static int read_sector(struct reading *r, const uint8_t *raw, uint64_t at)
{
	int rc = 0;

	for (unsigned i = 0; i < ISO_SECTOR && raw[i] && !rc && !r->t->cut; i += raw[i]) {
		const uint8_t *p = raw + i;

		if (*p < ISO_RECORD_LEAST || i + *p > ISO_SECTOR) {
			iso_note(r->o, r->iso, at + i, "directory record",
				 "%u bytes, expected %u to %u: the rest of its sector is skipped", *p,
				 ISO_RECORD_LEAST, ISO_SECTOR - i < 255 ? ISO_SECTOR - i : 255);
			r->t->unsure = true;
			break;
		}
		if (ISO_RECORD_HEAD + p[32] > *p) {
			iso_note(r->o, r->iso, at + i + 32, "directory record",
				 "a name of %u bytes in %u: it is skipped", p[32], *p);
			r->t->unsure = true;
		} else if (!is_self_or_parent(p)) {
			rc = add_record(r, p, at + i);
		}
	}
	return rc;
}

/* What cannot be read as a whole may be read in part. */
static int read_piece(struct reading *r, uint8_t *room, uint64_t at, size_t n)
{
	bool whole = !src_pread(r->iso->src, room, n, at);
	int rc = 0;

	for (size_t i = 0; i < n && !rc && !r->t->cut; i += ISO_SECTOR) {
		if (whole || !src_pread(r->iso->src, room + i, ISO_SECTOR, at + i)) {
			rc = read_sector(r, room + i, at + i);
			continue;
		}
		iso_note(r->o, r->iso, at + i, "directory", "the sector cannot be read: its records are not shown");
		r->t->unsure = true;
	}
	return rc;
}

/* Where it lies, as far as it does: the number of its sectors. */
static uint64_t find_dir(struct reading *r, const struct iso_dir *d, uint64_t *first)
{
	const struct iso_tree *t = r->t;
	uint64_t n = iso_sectors(d->size), most;

	if (!n)
		return 0;
	most = iso_sector(r->iso, d->lba, first) ? r->iso->sectors - *first : 0;
	if (n <= most)
		return n;
	r->t->unsure = true;
	iso_note(r->o, r->iso, r->dir ? t->v[d->item].at + 2 : (uint64_t)r->d->sector * ISO_SECTOR + 158, "directory",
		 "%s: %" PRIu64 " sectors at %" PRIu64 ", the image ends at %" PRIu64,
		 r->dir ? iso_name_text(t, &t->v[d->item]).s : "the root", n, d->lba, r->iso->base + r->iso->sectors);
	return most;
}

static int read_dir(struct reading *r)
{
	const struct iso_dir d = r->t->dir[r->dir];
	uint64_t first = 0, n = find_dir(r, &d, &first) * ISO_SECTOR;
	uint8_t *room;
	int rc = 0;

	if (!n)
		return 0;
	if (n > READ_MOST - r->t->read) {
		cut(r, first * ISO_SECTOR, "more than 256 MiB of directories");
		return 0;
	}
	r->t->read += n;
	room = malloc(n < PIECE ? (size_t)n : PIECE);
	if (!room)
		return err_nomem(r->e);
	for (uint64_t at = 0; at < n && !rc && !r->t->cut; at += PIECE)
		rc = read_piece(r, room, first * ISO_SECTOR + at, n - at < PIECE ? (size_t)(n - at) : PIECE);
	free(room);
	return rc;
}

int iso_tree_read(struct iso *iso, const struct iso_descriptor *d, struct object *o, struct iso_tree *out,
		  struct err *e)
{
	struct reading r = { iso, d, o, out, 0, e };
	int rc = 0;

	memset(out, 0, sizeof *out);
	if (!grow((void **)&out->dir, 0, &out->cap_dirs, sizeof *out->dir) || !buf_room(&out->text, 1))
		return err_nomem(e);
	out->dir[out->ndirs++] = (struct iso_dir){ .lba = d->lba, .size = d->size };
	for (; r.dir < out->ndirs && !rc && !out->cut; r.dir++)
		rc = read_dir(&r);
	return rc;
}
