/* ARC archives of MT Framework (spec/mtf-arc.md 1). Little-endian `ARC` and a zero, big-endian a zero and `CRA`.
 *
 *   0x00  magic; u16 version, u16 entry count; from version 0x10 on u32, 0
 *   ....  entries of 80 bytes: path[64] with `\` and without extension; u32 type hash, which gives the extension;
 *         u32 packed size; u32 size in 29 bits and flags in 3; u32 offset
 *   ....  data, mostly one zlib stream for each entry; the first may be aligned, to 0x8000
 *
 * An entry is stored as it is when both sizes are equal and its bytes are no zlib stream. In big-endian archives the
 * flags are the highest or the lowest bits of their word, which nothing but the streams tells. An entry whose numbers
 * cannot be costs that entry only. ARCC, which is encrypted, and the LZX archives of version 0x11, which have a file
 * name where others have a zero, stay plain files. */
#include "arc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bytes.h"
#include "zstream.h"

/* ---- records ---- */

#define S struct arc_header
static const struct field short_fields[] = {
	{ .name = "magic", .doc = "`ARC` and a zero, reversed in big-endian archives", .at = 0x00, .count = 4,
	  .type = F_RAW, .member = FIELD_NO_MEMBER },
	U16(S, version, 0x04, "4, 7, 8, 0x10, 0x11, 0x13", .view = V_HEX),
	U16(S, count, 0x06, "Entries", .flags = FL_DERIVED),
};
const struct record arc_header_short = RECORD("header", "What an archive before version 0x10 begins with", 8,
					      short_fields);
static const struct field long_fields[] = {
	INLINE(0x00, &arc_header_short),
	U32(S, extra, 0x08, "0"),
};
const struct record arc_header_long = RECORD("long header", "What an archive from version 0x10 on begins with",
					     ARC_HEADER_MOST, long_fields);
#undef S

#define S struct arc_entry
static const struct field entry_fields[] = {
	TEXT(S, path, 0x00, ARC_PATH_SIZE, "Path, with `\\` between folders, without extension, padded with zeros"),
	U32(S, type, 0x40, "JAMCRC of the class name without its highest bit", .view = V_HEX),
	U32(S, packed, ARC_AT_PACKED, "Bytes of the stream"),
	U32(S, size, ARC_AT_SIZE, "Bytes that the stream becomes, in 29 bits; flags in the other three", .view = V_HEX),
	U32(S, offset, ARC_AT_OFFSET, "Where the stream begins", .view = V_HEX),
};
#undef S
const struct record arc_entry_record = RECORD("entry", "Name and place of a file", ARC_ENTRY_SIZE, entry_fields);

static const struct section short_sections[ARC_SECTIONS] = {
	[ARC_HEADER] = { "header", "Magic, version, number of entries", SECTION_ONE, &arc_header_short },
	[ARC_ENTRIES] = { "entries", "Names and places", SECTION_LIST, &arc_entry_record },
};
static const struct section long_sections[ARC_SECTIONS] = {
	[ARC_HEADER] = { "header", "Magic, version, number of entries", SECTION_ONE, &arc_header_long },
	[ARC_ENTRIES] = { "entries", "Names and places", SECTION_LIST, &arc_entry_record },
};

const struct variant arc_variants[2] = {
	{ "8", "Versions before 0x10, with a header of 8 bytes", short_sections, ARC_SECTIONS },
	{ "12", "Versions from 0x10 on, with a header of 12 bytes", long_sections, ARC_SECTIONS },
};

/* ---- detection ---- */

static bool has_magic(const uint8_t *head, size_t n)
{
	return n >= 4 && (!memcmp(head, "ARC", 4) || !memcmp(head, "\0CRA", 4));
}

uint32_t arc_header_size(const uint8_t *head, size_t n, const struct source *src, struct err *e)
{
	bool be = !head[0];
	uint16_t version = n < 8 ? 0 : be ? be_u16(head + 4) : le_u16(head + 4);
	uint32_t extra = n < ARC_HEADER_MOST ? 0 : be ? be_u32(head + 8) : le_u32(head + 8);

	if (version == ARC_LZX_VERSION && extra && extra <= INT32_MAX) {
		err_at(e, EBADMSG, src, 8, "ARC",
		       "0x%08x where other archives have 0: its data are packed with LZX, which modelfs cannot read",
		       extra);
		return 0;
	}
	return version < ARC_LONG_HEADER ? 8 : ARC_HEADER_MOST;
}

static int probe(struct probe *p)
{
	if (p->n >= 4 && !memcmp(p->head, "ARCC", 4))
		err_at(p->why, EBADMSG, p->src, 0, "ARC", "ARCC: it is encrypted, with a key of its game");
	if (!has_magic(p->head, p->n) || !arc_header_size(p->head, p->n, p->src, p->why))
		return 0;
	return 90;
}

/* ---- views ---- */

static int list(struct object *o, struct entries *out, struct err *e)
{
	const struct arc *arc = o->priv;

	if (!o->variant)
		return err_set(e, EBADMSG, "%s", o->faults ? o->faults->text : "the table cannot be read");
	out->v = arc->shown;
	out->name = arc->name;
	out->n = arc->n;
	return 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct arc *arc = o->priv;

	*out = section == ARC_HEADER ? (struct span){ .size = arc->start } :
	       (struct span){ .at = arc->start, .size = arc_table_end(arc) - arc->start };
	return 0;
}

static int info(struct object *o, const struct entries *entries, struct doc *doc, struct err *e)
{
	const struct arc *arc = o->priv;
	uint64_t packed = 0, size = 0;

	(void)e;
	for (uint32_t i = 0; i < entries->n; i++) {
		packed += arc->entry[i].packed;
		size += entries->v[i].size;
	}
	doc_text(doc, "archive_version", DOC_PLAIN, "0x%02x", arc->header.version);
	doc_text(doc, "byte_order", DOC_PLAIN, "%s", arc->be ? "big" : "little");
	doc_text(doc, "entry_count", DOC_PLAIN, "%u", arc->n);
	doc_text(doc, "packed_bytes", DOC_PLAIN, "%" PRIu64, packed);
	doc_text(doc, "unpacked_bytes", DOC_PLAIN, "%" PRIu64, size);
	return 0;
}

/* ---- verify ---- */

static int verify_entry(struct object *o, const struct arc *arc, uint32_t i, struct err *e)
{
	struct source *src = entry_source(o->src, o->format, &arc->shown[i]);
	struct err why = { 0 };
	struct pin pin;
	int rc = src ? src_pin(src, &pin, &why) : err_nomem(&why);

	if (!rc)
		src_unpin(&pin);
	src_put(src);
	return rc ? err_set(e, why.code, "%.60s: %.170s", path_text(arc->name[i], ARC_SEPARATOR).s, why.text) : 0;
}

/* The table from what was understood of it, and each stream. */
static int verify(struct object *o, const struct entries *entries, struct err *e)
{
	const struct arc *arc = o->priv;
	uint8_t stored[ARC_ENTRY_SIZE], mine[ARC_ENTRY_SIZE];
	int rc = 0;

	for (uint32_t i = 0; i < entries->n && !rc; i++) {
		struct arc_entry entry = arc->entry[i];
		uint64_t at = arc->start + (uint64_t)i * ARC_ENTRY_SIZE;

		rc = src_read(o->src, stored, sizeof stored, at, "ARC entry", e);
		if (rc)
			break;
		memcpy(mine, stored, sizeof mine);
		if (entry.packed && !entries->v[i].lost)
			entry.size = arc_size_word(arc->layout, entry.size, (uint32_t)entries->v[i].size);
		rec_encode(&arc_entry_record, arc->be, &entry, mine);
		if (memcmp(mine, stored, sizeof mine))
			rc = err_at(e, EILSEQ, o->src, at, "ARC entry", "entry %u is encoded otherwise than stored", i);
		rc = rc ? rc : verify_entry(o, arc, i, e);
	}
	return rc;
}

/* ---- format ---- */

static const struct container_ops container = {
	.open = arc_open, .list = list, .locate = locate, .verify = verify, .info = info, .put = arc_put,
	.packer = &zlib_packer, .separator = ARC_SEPARATOR, .raw = true,
};

const struct format fmt_arc = {
	.name = "arc", .title = "MT Framework archive (ARC)", .ext = "arc",
	.doc = "Files with their folders, each a zlib stream of its own, and named without extension: that follows "
	       "from the type. An archive may hold archives.",
	.probe = probe, .tells = true, .variants = arc_variants, .nvariants = ARRAY_LEN(arc_variants),
	.container = &container,
};
