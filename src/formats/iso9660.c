/* ISO 9660, the file system of discs (spec/disc.md 4), in sectors of 2048 bytes, whatever those lie in (disc.h).
 *
 *   0 .. 15     system area: the game's own
 *   16 ..       volume descriptors, a sector each: `CD001` at 1, type at 0: 1 primary, 2 supplementary (Joliet), 255
 *               end. The first two have a tree each: where its path tables and its root directory lie
 *   anywhere    path tables: all directories, once little-endian, once big-endian
 *   anywhere    directories: records of 33 bytes, name, pad byte, system use; none crosses the end of a sector
 *   anywhere    files
 *
 * Most numbers are stored twice, little-endian and big-endian; the first of them counts. Sector numbers count from the
 * start of the disc, so those in a track that is not the first do not begin at 0. The primary tree is what is shown. */
#include "iso9660.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bytes.h"

/* ---- records ---- */

#define WORDS(name_, at_, n, doc_) \
	{ .name = name_, .doc = doc_, .at = (at_), .count = (n), .type = F_TEXT, .member = FIELD_NO_MEMBER }

static const struct label flag_names[] = {
	{ ISO_HIDDEN, "hidden" }, { ISO_DIRECTORY, "directory" }, { ISO_ASSOCIATED, "associated" }, { 0x08, "record" },
	{ 0x10, "protection" }, { ISO_MORE, "more_extents" }, { 0, NULL }
};

#define S struct iso_record
static const struct field record_fields[] = {
	U8(S, length, 0, "Bytes of the record; 0: the rest of the sector has no records"),
	U8(S, xar, 1, "Sectors of extended attributes, which stand before the data"),
	BOTH32(S, lba, 2, "First sector of the extent"),
	BOTH32(S, size, 10, "Bytes of data"),
	U8(S, years, 18, "Year, less 1900"),
	U8(S, month, 19, "Month"),
	U8(S, day, 20, "Day"),
	U8(S, hour, 21, "Hour"),
	U8(S, minute, 22, "Minute"),
	U8(S, second, 23, "Second"),
	I8N(S, zone, 24, 1, "Quarters of an hour east of Greenwich"),
	U8(S, flags, 25, "Flags", .view = V_FLAGS, .labels = flag_names),
	U8(S, unit, 26, "Sectors of an interleaved file in one piece, or 0"),
	U8(S, gap, 27, "Sectors between those pieces"),
	BOTH16(S, volume, 28, "Number of the volume that has the extent"),
	U8(S, name_length, 32, "Bytes of the name that follows; the names 00 and 01 are the directory itself and its "
	   "parent"),
};
const struct record iso_record_record = RECORD("directory_record", "A file or a directory, without its name",
					       ISO_RECORD_HEAD, record_fields);
#undef S

#define S struct iso_volume
static const struct field volume_fields[] = {
	U8(S, type, 0, "1 primary, 2 supplementary, 255 the end of the descriptors"),
	RAW("magic", 1, 5, "`CD001`"),
	RAW("version", 6, 1, "1"),
	RAW("volume_flags", 7, 1, "0"),
	TEXT(S, system_id, 8, 32, "Which system it is for"),
	TEXT(S, volume_id, 40, 32, "Name of the disc"),
	PAD("zero_72", 72, 8),
	BOTH32(S, blocks, 80, "Sectors of the volume; the image may be longer or shorter"),
	U8N(S, escapes, 88, 32, "Characters of a supplementary tree: 25 2f and 40, 43 or 45 is Joliet, UCS-2 "
	    "big-endian"),
	BOTH16(S, set_size, 120, "Volumes of the set"),
	BOTH16(S, set_number, 124, "Number of this one"),
	BOTH16(S, block_size, 128, "Bytes of a sector, 2048"),
	BOTH32(S, table_size, 132, "Bytes of a path table"),
	U32(S, table, 140, "Sector of the little-endian path table"),
	U32(S, table_copy, 144, "Sector of its copy, or 0"),
	U8N(S, be_table, 148, 4, "Sector of the big-endian path table, a big-endian number"),
	U8N(S, be_table_copy, 152, 4, "Sector of its copy, or 0"),
	INLINE(156, &iso_record_record),
	RAW("root_name", 189, 1, "00"),
	WORDS("volume_set_id", 190, 128, "Name of the set"),
	WORDS("publisher", 318, 128, "Who publishes it"),
	WORDS("preparer", 446, 128, "Who made it"),
	WORDS("application", 574, 128, "What made it"),
	WORDS("copyright_file", 702, 37, "Name of a file"),
	WORDS("abstract_file", 739, 37, "Name of a file"),
	WORDS("bibliography_file", 776, 37, "Name of a file"),
	RAW("created", 813, 17, "16 digits, then quarters of an hour east of Greenwich"),
	RAW("modified", 830, 17, "Likewise"),
	RAW("expires", 847, 17, "Likewise"),
	RAW("effective", 864, 17, "Likewise"),
	RAW("structure_version", 881, 1, "1"),
	PAD("zero_882", 882, 1),
	RAW("application_use", 883, 512, "Anything; `CD-XA001` at 1024 on XA discs"),
	PAD("zero_1395", 1395, 653),
};
const struct record iso_volume_record = RECORD("volume_descriptor", "A tree of the disc", ISO_SECTOR, volume_fields);
#undef S

#define S struct iso_path
static const struct field path_fields[] = {
	U8(S, length, 0, "Bytes of the name that follows; a zero follows an odd one"),
	U8(S, xar, 1, "Sectors of extended attributes"),
	U32(S, lba, 2, "First sector of the directory"),
	U16(S, parent, 6, "Number of its parent in the table, counted from 1"),
};
const struct record iso_path_record = RECORD("path_record", "A directory in a path table, without its name", 8,
					     path_fields);
#undef S

static const struct field xa_fields[] = {
	RAW("group", 0, 2, "Owner's group, big-endian"),
	RAW("user", 2, 2, "Owner, big-endian"),
	RAW("attributes", 4, 2, "Big-endian: 0x0800 form 1, 0x1000 form 2, 0x2000 both, 0x4000 an audio track, 0x8000 "
	    "a directory"),
	RAW("signature", 6, 2, "`XA`"),
	RAW("file_number", 8, 1, "File number of the sectors"),
	PAD("zero_9", 9, 5),
};
static const struct record xa_record = RECORD("xa_record", "System use of a directory record on XA discs", 14,
					      xa_fields);

static const struct section sections[ISO_SECTIONS] = {
	[ISO_SYSTEM_AREA] = { "system_area", "Not touched: boot code and what the console looks for", SECTION_BYTES },
	[ISO_DESCRIPTORS] = { "descriptors", "Trees of the disc, up to the end mark", SECTION_LIST,
			      &iso_volume_record },
};
static const struct record *const further[] = { &iso_record_record, &xa_record, &iso_path_record, NULL };
static const struct variant variants[] = {
	{ .version = "1", .doc = "The only one", .sections = sections, .nsections = ISO_SECTIONS, .records = further },
};

/* ---- descriptors ---- */

static bool is_joliet(const struct iso_volume *v)
{
	return v->type == ISO_SUPPLEMENTARY && v->escapes[0] == 0x25 && v->escapes[1] == 0x2f &&
	       (v->escapes[2] == 0x40 || v->escapes[2] == 0x43 || v->escapes[2] == 0x45);
}

static struct iso_descriptor tree_of(const struct iso_volume *v, uint32_t sector)
{
	return (struct iso_descriptor){
		.type = v->type, .joliet = is_joliet(v), .block_size = v->block_size.le, .sector = sector,
		.lba = v->root.lba.le + v->root.xar,
		.size = v->root.size.le, .table_size = v->table_size.le,
		.table = { v->table, v->table_copy, be_u32(v->be_table), be_u32(v->be_table_copy) },
	};
}

/* Of the primary one, on which all depends. */
static int take_primary(struct iso *iso, const struct iso_volume *v, uint64_t at, struct err *e)
{
	if (v->block_size.le != ISO_SECTOR)
		return err_at(e, EBADMSG, iso->src, at + 128, "volume descriptor", "blocks of %u bytes, expected %u",
			      v->block_size.le, ISO_SECTOR);
	iso->volume = *v;
	iso->primary = iso->ntrees;
	return 0;
}

static int read_descriptors(struct iso *iso, struct err *e)
{
	uint8_t raw[ISO_SECTOR];
	struct iso_volume v;
	bool primary = false;
	int rc = 0;

	for (uint32_t s = ISO_SYSTEM; s < ISO_SYSTEM + ISO_DESCRIPTORS_MOST && !rc; s++) {
		uint64_t at = (uint64_t)s * ISO_SECTOR;

		rc = src_read(iso->src, raw, sizeof raw, at, "volume descriptor", e);
		if (!rc && memcmp(raw + 1, "CD001", 5))
			rc = err_at(e, EBADMSG, iso->src, at + 1, "volume descriptor", "no CD001 in sector %u", s);
		if (rc)
			return rc;
		iso->end = s + 1;
		if (*raw == ISO_END)
			return primary ? 0 : err_set(e, EBADMSG, "no primary volume descriptor before sector %u", s);
		rec_decode(&iso_volume_record, false, raw, &v);
		if (v.type != ISO_PRIMARY && v.type != ISO_SUPPLEMENTARY)
			continue;
		if (v.type == ISO_PRIMARY && !primary) {
			rc = take_primary(iso, &v, at, e);
			primary = true;
		}
		iso->tree[iso->ntrees++] = tree_of(&v, s);
	}
	return rc ? rc : err_set(e, EBADMSG, "no end of the volume descriptors up to sector %u", iso->end - 1);
}

/* ---- what the first sector is called ---- */

/* Whether the root directory would lie there, with a record of itself first. */
static bool root_lies_there(const struct iso *iso, uint32_t base)
{
	const struct iso_descriptor *root = &iso->tree[iso->primary];
	uint8_t raw[ISO_RECORD_LEAST];
	uint64_t at = (uint64_t)(root->lba - base) * ISO_SECTOR;

	return root->lba >= base && root->lba - base < iso->sectors && !src_pread(iso->src, raw, sizeof raw, at) &&
	       raw[0] >= ISO_RECORD_LEAST && raw[32] == 1 && raw[33] == 0;
}

/* Headers of raw sectors tell, or the cue sheet; there are images for which neither is true. */
static void find_base(struct iso *iso)
{
	uint32_t base = iso->kind.first > 0 ? (uint32_t)iso->kind.first : 0;

	if (iso->cue && !base)
		cue_base(iso->cue, iso->cue->data, &base);
	iso->base = base && root_lies_there(iso, base) ? base : 0;
}

static int check_root(const struct iso *iso, struct err *e)
{
	const struct iso_descriptor *root = &iso->tree[iso->primary];
	uint8_t byte;
	uint64_t s;

	if (iso_sector(iso, root->lba, &s))
		return src_read(iso->src, &byte, 1, s * ISO_SECTOR, "root directory", e);
	return err_at(e, EBADMSG, iso->src, (uint64_t)root->sector * ISO_SECTOR + 158, "root directory",
		      "sector %u is outside %" PRIu64, root->lba, iso->sectors);
}

/* ---- the medium ---- */

static const struct cue *cue_of(const struct lead *lead)
{
	return lead && lead->by == &fmt_cue ? lead->detail : NULL;
}

int iso_track(struct source *file, const struct lead *lead, struct source **out, struct err *e)
{
	const struct cue *cue = cue_of(lead);
	uint64_t at, n;
	uint32_t sectors;

	if (!cue) {
		*out = src_ref(file);
		return 0;
	}
	cue_place(cue, cue->data, &at, &sectors);
	if (at >= file->size)
		return err_set(e, EBADMSG, "track %u begins at byte %" PRIu64 " of a file that has %" PRIu64,
			       cue->track[cue->data].number, at, file->size);
	n = (uint64_t)sectors * cue_mode_bytes(cue->track[cue->data].mode);
	if (!n || n > file->size - at)
		n = file->size - at;
	*out = n == file->size ? src_ref(file) : src_slice(file, at, n);
	return *out ? 0 : err_nomem(e);
}

/* size: of what the medium is made of. */
static int open_medium(struct source *file, const struct lead *lead, struct disc_kind *kind, uint64_t *size,
		       struct source **out, struct err *e)
{
	struct source *track;
	int rc = iso_track(file, lead, &track, e);

	if (rc)
		return rc;
	*size = track->size;
	rc = disc_medium(track, kind, out, e);
	src_put(track);
	return rc;
}

static int medium(struct source *file, const struct lead *lead, struct source **out, struct err *e)
{
	struct disc_kind kind;
	uint64_t size;

	return open_medium(file, lead, &kind, &size, out, e);
}

static int medium_put(struct source *file, const struct lead *lead, const struct plan *now, bool grow,
		      struct source **moved, struct err *e)
{
	struct source *track;
	int rc = iso_track(file, lead, &track, e);

	*moved = NULL;
	if (rc)
		return rc;
	rc = disc_put(track, now, grow && track == file, moved, e);    /* other tracks have to stay */
	src_put(track);
	return rc;
}

/* What a cue sheet says of its sectors may be wrong, of their number it is right. */
static uint64_t sectors_of(const struct iso *iso)
{
	uint64_t n = iso->src->size / ISO_SECTOR, at;
	uint32_t most = 0;

	if (iso->cue)
		cue_place(iso->cue, iso->cue->data, &at, &most);
	return most && most < n ? most : n;
}

static int begin_disc(struct source *file, const struct lead *lead, struct source *medium, struct iso *out,
		      struct err *e)
{
	struct source *src;
	uint64_t size;
	int rc = open_medium(file, lead, &out->kind, &size, &src, e);

	if (rc)
		return rc;
	/* The caller has one that may be written. */
	out->src = medium ? medium : src;
	out->cue = cue_of(lead);
	out->sectors = sectors_of(out);
	out->there = out->sectors * ISO_SECTOR;
	if (out->kind.stride == ISO_SECTOR && size < out->there)
		out->there = size;
	rc = read_descriptors(out, e);
	if (!rc) {
		find_base(out);
		rc = check_root(out, e);
	}
	if (!medium)
		out->src = NULL;
	src_put(src);
	return rc;
}

/* ---- detection ---- */

static bool named_iso(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcasecmp(dot, ".iso");
}

/* Nothing packed is looked into so far from its start, and what has no name is no disc. */
static bool can_be(const struct probe *p)
{
	return !p->within || (p->within->container->separator && !p->within->container->packer);
}

static int probe(struct probe *p)
{
	struct err why = { 0 };
	struct iso *iso;
	int rc;

	if (!can_be(p))
		return 0;
	iso = calloc(1, sizeof *iso);
	rc = iso ? begin_disc(p->src, p->lead, NULL, iso, &why) : err_nomem(&why);
	if (rc && p->why && ((iso && iso->kind.name) || disc_begins(p->head, p->n, 0) || named_iso(p->name)))
		*p->why = why;
	free(iso);
	return rc ? 0 : 95;
}

/* ---- opening ---- */

static int open_iso(struct object *o, struct err *e)
{
	struct iso *iso = arena_alloc(&o->arena, 1, sizeof *iso);
	int rc = iso ? begin_disc(o->file, o->around ? o->around->lead : NULL, o->src, iso, e) : err_nomem(e);

	rc = rc ? rc : iso_entries(o, iso, e);
	if (rc)
		return rc;
	o->priv = iso;
	o->variant = &variants[0];
	return 0;
}

void iso_note(struct object *o, struct iso *iso, uint64_t at, const char *what, const char *fmt, ...)
{
	struct err why = { 0 };
	va_list ap;

	if (!o || iso->noted > ISO_NOTED_MOST)
		return;
	va_start(ap, fmt);
	if (iso->noted++ < ISO_NOTED_MOST)
		err_vat(&why, EBADMSG, iso->src, at, what, fmt, ap);
	else
		err_set(&why, EBADMSG, "there is more like this");
	va_end(ap);
	object_fault(o, PART_OBJECT, 0, false, &why);
}

static int list(struct object *o, struct entries *out, struct err *e)
{
	const struct iso *iso = o->priv;

	if (!o->variant)
		return err_set(e, EBADMSG, "%s", o->faults ? o->faults->text : "the disc cannot be read");
	*out = (struct entries){
		.v = iso->entry, .n = iso->n, .name = iso->name, .mtime = iso->mtime, .why = iso->why,
	};
	return 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct iso *iso = o->priv;

	*out = section == ISO_SYSTEM_AREA ? (struct span){ .size = ISO_SYSTEM * ISO_SECTOR } :
	       (struct span){ ISO_SYSTEM * ISO_SECTOR, (iso->end - ISO_SYSTEM) * (uint64_t)ISO_SECTOR, 0 };
	return 0;
}

/* ---- format ---- */

static const struct container_ops container = {
	.open = open_iso, .list = list, .locate = locate, .verify = iso_verify, .info = iso_info, .more = iso_more,
	.info_is_all = true, .medium = medium, .medium_put = medium_put, .resize = iso_resize,
	.tell_shared = iso_tell_shared, .separator = '/', .volume = true,
};

const struct format fmt_iso9660 = {
	.name = "iso9660", .title = "Disc image (ISO 9660)", .ext = "iso",
	.doc = "The file system of game discs, in an image of plain sectors, of raw ones, or of packed blocks.",
	.probe = probe, .tells = true, .variants = variants, .nvariants = ARRAY_LEN(variants), .container = &container,
	.demo = iso_demo,
};
