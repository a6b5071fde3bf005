/* PAK archives as id Software had them, which stand in for the unknown ones of the PS3 (design/views-ps3.md).
 *
 *   0x00  `PACK`; u32 offset and u32 size of the directory
 *   ....  directory, anywhere: entries of 64 bytes: name[56] with `/`, up to the first zero; u32 offset, u32 size
 *   ....  data, anywhere
 *
 * All numbers are little-endian. An entry whose numbers cannot be costs that entry only. Entries that overlap another
 * one, the header or the directory are read and never written. */
#include "pak.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define MOST_NOTED 256u                        /* lost entries with a line each */

/* ---- records ---- */

#define S struct pak_header
static const struct field header_fields[] = {
	{ .name = "magic", .doc = "`PACK`", .at = 0x00, .count = 4, .type = F_RAW, .member = FIELD_NO_MEMBER },
	U32(S, directory, 0x04, "Where the directory begins", .view = V_HEX),
	U32(S, size, 0x08, "Bytes of the directory, 64 for each entry", .flags = FL_DERIVED),
};
static const struct record header_record = RECORD("header", "What an archive begins with", PAK_HEADER_SIZE,
						  header_fields);
#undef S

#define S struct pak_entry
static const struct field entry_fields[] = {
	TEXT(S, name, 0x00, PAK_NAME_SIZE, "Path, with `/` between folders; what follows the first zero means nothing"),
	U32(S, offset, PAK_AT_OFFSET, "Where the file begins", .view = V_HEX),
	U32(S, size, PAK_AT_SIZE, "Bytes of the file"),
};
static const struct record entry_record = RECORD("entry", "Name and place of a file", PAK_ENTRY_SIZE, entry_fields);
#undef S

static const struct section sections[PAK_SECTIONS] = {
	[PAK_HEADER] = { "header", "Magic, place of the directory", SECTION_ONE, &header_record },
	[PAK_DIRECTORY] = { "directory", "Names and places", SECTION_LIST, &entry_record },
};
static const struct variant variants[] = {
	{ .version = "id", .doc = "The only one", .sections = sections, .nsections = PAK_SECTIONS },
};

/* ---- detection ---- */

static int check_header(const struct pak_header *h, const struct source *src, struct err *e)
{
	if (h->size % PAK_ENTRY_SIZE)
		return err_at(e, EBADMSG, src, 8, "PAK directory size", "0x%x is no multiple of %u", h->size,
			      PAK_ENTRY_SIZE);
	if (!span_ok(src->size, h->directory, h->size, 1))
		return err_at(e, EBADMSG, src, 4, "PAK directory", "0x%x bytes at 0x%x end past the 0x%" PRIx64
			      " of the file", h->size, h->directory, src->size);
	if (h->size / PAK_ENTRY_SIZE > LIMIT_ENTRIES)
		return err_at(e, EFBIG, src, 8, "PAK directory size", "%u entries, at most %u are read",
			      h->size / PAK_ENTRY_SIZE, LIMIT_ENTRIES);
	return 0;
}

static int probe(struct probe *p)
{
	struct pak_header h;

	if (p->n < 4 || memcmp(p->head, "PACK", 4))
		return 0;
	if (p->n < PAK_HEADER_SIZE) {
		err_at(p->why, EBADMSG, p->src, 0, "PAK header", "%zu bytes, expected %u", p->n, PAK_HEADER_SIZE);
		return 0;
	}
	rec_decode(&header_record, false, p->head, &h);
	return check_header(&h, p->src, p->why) ? 0 : 90;
}

/* ---- entries ---- */

static void lose(struct object *o, struct pak *pak, uint32_t i)
{
	struct err why = { 0 };

	pak->shown[i] = (struct entry){ .lost = true };
	if (pak->nlost++ < MOST_NOTED)
		err_at(&why, EBADMSG, o->src,
		       pak->header.directory + (uint64_t)i * PAK_ENTRY_SIZE + PAK_AT_OFFSET, "PAK entry",
		       "%s: 0x%x bytes at 0x%x, the file has 0x%" PRIx64, path_text(pak->name[i], PAK_SEPARATOR).s,
		       pak->size[i], pak->offset[i], o->src->size);
	else if (pak->nlost == MOST_NOTED + 1)
		err_set(&why, EBADMSG, "there are more entries like these");
	if (why.code)
		object_fault(o, PART_OBJECT, i, false, &why);
}

static int read_entry(struct object *o, struct pak *pak, uint32_t i, const uint8_t *raw, struct err *e)
{
	struct pak_entry entry;
	size_t n;
	char *name;

	rec_decode(&entry_record, false, raw, &entry);
	n = strnlen(entry.name, PAK_NAME_SIZE);
	name = arena_alloc(&o->arena, n + 1, 1);
	if (!name)
		return err_nomem(e);
	memcpy(name, entry.name, n);
	pak->name[i] = name;
	pak->offset[i] = entry.offset;
	pak->size[i] = entry.size;
	if (span_ok(o->src->size, entry.offset, entry.size, 1))
		pak->shown[i] = (struct entry){ .at = entry.offset, .size = entry.size };
	else
		lose(o, pak, i);
	return 0;
}

#define ENTRIES_AT_ONCE 128u

static int read_directory(struct object *o, struct pak *pak, struct err *e)
{
	uint8_t room[ENTRIES_AT_ONCE * PAK_ENTRY_SIZE];
	uint32_t n;
	int rc = 0;

	for (uint32_t i = 0; i < pak->n && !rc; i += n) {
		n = pak->n - i < ENTRIES_AT_ONCE ? pak->n - i : ENTRIES_AT_ONCE;
		rc = src_read(o->src, room, (size_t)n * PAK_ENTRY_SIZE,
			      pak->header.directory + (uint64_t)i * PAK_ENTRY_SIZE, "PAK directory", e);
		for (uint32_t k = 0; k < n && !rc; k++)
			rc = read_entry(o, pak, i + k, room + (size_t)k * PAK_ENTRY_SIZE, e);
	}
	return rc;
}

/* ---- who shares bytes ---- */

#define PAK_TABLE 0xffffffffu                  /* as an owner: header or directory */

/* All that has bytes; the number of them. What is lost has none: its numbers are wrong. */
static uint32_t list_claims(const struct pak *pak, struct claim *v)
{
	const uint64_t start = pak->header.directory;
	uint32_t n = 0;

	v[n++] = (struct claim){ 0, PAK_HEADER_SIZE, PAK_TABLE, false };
	if (pak->header.size)
		v[n++] = (struct claim){ start, start + pak->header.size, PAK_TABLE, false };
	for (uint32_t i = 0; i < pak->n; i++) {
		const struct entry *entry = &pak->shown[i];

		if (entry->size)
			v[n++] = (struct claim){ entry->at, entry->at + entry->size, i, false };
	}
	return n;
}

static int find_shared(struct pak *pak, struct err *e)
{
	struct claim *v = malloc((pak->n + (size_t)2) * sizeof *v);
	uint32_t n = v ? list_claims(pak, v) : 0;

	if (!v)
		return err_nomem(e);
	claims_compare(v, n);
	for (uint32_t k = 0; k < n; k++) {
		if (!v[k].shared || v[k].owner == PAK_TABLE)
			continue;
		pak->shown[v[k].owner].shared = true;
		pak->nshared++;
	}
	free(v);
	return 0;
}

/* ---- opening ---- */

static int read_header(struct object *o, struct pak *pak, struct err *e)
{
	uint8_t raw[PAK_HEADER_SIZE];
	int rc = src_read(o->src, raw, sizeof raw, 0, "PAK header", e);

	if (rc)
		return rc;
	rec_decode(&header_record, false, raw, &pak->header);
	pak->n = pak->header.size / PAK_ENTRY_SIZE;
	return check_header(&pak->header, o->src, e);
}

static int open_pak(struct object *o, struct err *e)
{
	struct pak *pak = arena_alloc(&o->arena, 1, sizeof *pak);
	int rc = pak ? read_header(o, pak, e) : err_nomem(e);

	if (rc)
		return rc;
	pak->shown = arena_alloc(&o->arena, pak->n + (size_t)1, sizeof *pak->shown);
	pak->offset = arena_alloc(&o->arena, pak->n + (size_t)1, sizeof *pak->offset);
	pak->size = arena_alloc(&o->arena, pak->n + (size_t)1, sizeof *pak->size);
	pak->name = arena_alloc(&o->arena, pak->n + (size_t)1, sizeof *pak->name);
	if (!pak->shown || !pak->offset || !pak->size || !pak->name)
		return err_nomem(e);
	rc = read_directory(o, pak, e);
	rc = rc ? rc : find_shared(pak, e);
	o->priv = pak;
	o->variant = &variants[0];
	return rc;
}

/* ---- views ---- */

static int list(struct object *o, struct entries *out, struct err *e)
{
	const struct pak *pak = o->priv;

	if (!o->variant)
		return err_set(e, EBADMSG, "%s", o->faults ? o->faults->text : "the directory cannot be read");
	*out = (struct entries){ .v = pak->shown, .n = pak->n, .name = pak->name };
	return 0;
}

static int locate(const struct object *o, unsigned section, struct span *out)
{
	const struct pak *pak = o->priv;

	*out = section == PAK_HEADER ? (struct span){ .size = PAK_HEADER_SIZE } :
	       (struct span){ .at = pak->header.directory, .size = pak->header.size };
	return 0;
}

static int info(struct object *o, const struct entries *entries, struct doc *doc, struct err *e)
{
	const struct pak *pak = o->priv;
	unsigned said = 0;
	uint64_t size = 0;

	(void)e;
	for (uint32_t i = 0; i < entries->n; i++)
		size += entries->v[i].size;
	doc_text(doc, "entry_count", DOC_PLAIN, "%u", pak->n);
	doc_text(doc, "directory", DOC_PLAIN, "0x%x", pak->header.directory);
	doc_text(doc, "entry_bytes", DOC_PLAIN, "%" PRIu64, size);
	if (pak->nlost)
		doc_text(doc, "lost_entries", DOC_PLAIN, "%u", pak->nlost);
	if (!pak->nshared)
		return 0;
	doc_text(doc, "shared_entries", DOC_PLAIN, "%u", pak->nshared);
	for (uint32_t i = 0; i < pak->n && said < MOST_NOTED; i++)
		if (pak->shown[i].shared && ++said)
			doc_comment(doc, "read-only: %s: something else of the archive has bytes of it too",
				    path_text(pak->name[i], PAK_SEPARATOR).s);
	return 0;
}

/* ---- verify ---- */

/* The directory from what was understood of it. */
static int verify(struct object *o, const struct entries *entries, struct err *e)
{
	const struct pak *pak = o->priv;
	uint8_t stored[PAK_ENTRY_SIZE], mine[PAK_ENTRY_SIZE];
	int rc = 0;

	for (uint32_t i = 0; i < entries->n && !rc; i++) {
		uint64_t at = pak->header.directory + (uint64_t)i * PAK_ENTRY_SIZE;
		struct pak_entry entry;

		rc = src_read(o->src, stored, sizeof stored, at, "PAK entry", e);
		if (rc)
			break;
		rec_decode(&entry_record, false, stored, &entry);
		memcpy(entry.name, entries->name[i], strlen(entries->name[i]));
		entry.offset = pak->offset[i];
		entry.size = pak->size[i];
		memcpy(mine, stored, sizeof mine);
		rec_encode(&entry_record, false, &entry, mine);
		if (memcmp(mine, stored, sizeof mine))
			rc = err_at(e, EILSEQ, o->src, at, "PAK entry", "entry %u is encoded otherwise than stored", i);
	}
	return rc;
}

/* ---- format ---- */

static const struct container_ops container = {
	.open = open_pak, .list = list, .locate = locate, .verify = verify, .info = info, .resize = pak_resize,
	.separator = PAK_SEPARATOR,
};

const struct format fmt_pak = {
	.name = "pak", .title = "Archive (PAK)", .ext = "pak",
	.doc = "Files with their paths, as id Software's games keep them. An archive may hold archives.",
	.probe = probe, .tells = true, .variants = variants, .nvariants = ARRAY_LEN(variants),
	.container = &container,
};
