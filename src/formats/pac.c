/* PAC, the container of PSP Monster Hunter models and stages (spec/mhp.md 2).
 *
 *   0            u32                 n, number of entries, 1 to 256
 *   4            {offset, size}[n]   from the PAC's first byte; (0, 0) is an empty entry
 *   ..           the entries in table order, each at the next multiple of the alignment; gaps are zero
 *   ..           tail: disc or outer padding, part of no entry
 *
 * There is no magic, and the alignment (16, 8 or 4) is not stored. A file is taken for a PAC when its table fits: every
 * entry behind the table and inside the file, offsets ascending. Placeholders of stages have only empty entries; they
 * are known by the number a stage has, 6 to 8, because a small number and zeros are no table. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bytes.h"
#include "mhpbytes.h"
#include "pac.h"

/* ---- records ---- */

struct pac_header { uint32_t count; };
struct pac_entry { uint32_t offset, size; };

#define S struct pac_header
static const struct field header_fields[] = { U32(S, count, 0, "Number of entries, 1 to 256") };
#undef S

#define S struct pac_entry
static const struct field entry_fields[] = {
	U32(S, offset, 0, "From the first byte of the PAC; 0 when the entry is empty"),
	U32(S, size, 4, "Size in bytes, without padding; 0 when the entry is empty"),
};
#undef S

static const struct record header_record = RECORD("header", "What the file begins with", 4, header_fields);
static const struct record entry_record = RECORD("entry", "Place of an entry", 8, entry_fields);

static const struct section sections[] = {
	{ "header", "Number of entries", SECTION_ONE, &header_record },
	{ "table", "Places of the entries", SECTION_LIST, &entry_record },
	{ "entries", "The entries, each aligned to 16, 8 or 4 bytes, and what follows the last", SECTION_BYTES },
};

static const struct variant variant = {
	.version = "pac", .doc = "All games", .sections = sections, .nsections = ARRAY_LEN(sections),
};

/* ---- the table ---- */

struct check {
	struct source *src;
	uint64_t size;                         /* of the PAC */
	uint32_t n, used, i;                   /* entries, those that are not empty, those looked at */
	struct pac_entry last;                 /* the newest that is not empty */
	uint64_t bytes;                        /* of the entries so far */
};

static struct pac_entry entry_at(const uint8_t *table, uint32_t i)
{
	return (struct pac_entry){ le_u32(table + PAC_TABLE_SIZE(i)), le_u32(table + PAC_TABLE_SIZE(i) + 4) };
}

static int check_count(struct check *c, const uint8_t *head, size_t have, struct err *e)
{
	if (have < PAC_TABLE_SIZE(1))
		return err_at(e, EBADMSG, c->src, 0, "PAC", "%" PRIu64 " bytes, expected %zu or more", c->size,
			      PAC_TABLE_SIZE(1));
	c->n = le_u32(head);
	if (!c->n || c->n > PAC_COUNT_MAX)
		return err_at(e, EBADMSG, c->src, 0, "PAC entry count", "%u, expected 1 to %u", c->n, PAC_COUNT_MAX);
	if (PAC_TABLE_SIZE(c->n) > c->size)
		return err_at(e, EBADMSG, c->src, 4, "PAC table",
			      "%u entries of 8 bytes end past the %" PRIu64 " of the file", c->n, c->size);
	return 0;
}

/* Only for messages: a probe checks every entry of thousands of files. */
static const char *entry_label(char what[32], uint32_t i)
{
	snprintf(what, 32, "PAC entry %u", i);
	return what;
}

static int check_entry(struct check *c, struct pac_entry entry, struct err *e)
{
	uint64_t at = PAC_TABLE_SIZE(c->i), least = PAC_TABLE_SIZE(c->n);
	char what[32];

	if (!entry.offset && !entry.size)
		return 0;
	/* An entry of no bytes may share the offset of the one behind it. */
	if (c->used)
		least = (uint64_t)c->last.offset + (c->last.size != 0);
	if (entry.offset < least)
		return err_at(e, EBADMSG, c->src, at, entry_label(what, c->i),
			      "offset 0x%x, expected 0x%" PRIx64 " or more, %s", entry.offset, least,
			      c->used ? "as offsets ascend" : "the table's end");
	if (!span_ok(c->size, entry.offset, entry.size, 1))
		return err_at(e, EBADMSG, c->src, at, entry_label(what, c->i),
			      "0x%x bytes at 0x%x end past the 0x%" PRIx64 " of the file", entry.size, entry.offset,
			      c->size);
	/* Entries may overlap, but PACs of PACs must not hold more than they are long: a tree that grows with every
	 * level would never end. */
	c->bytes += entry.size;
	if (c->bytes > c->size)
		return err_at(e, EBADMSG, c->src, at, entry_label(what, c->i),
			      "entries of 0x%" PRIx64 " bytes in all, the file has 0x%" PRIx64, c->bytes, c->size);
	c->used++;
	c->last = entry;
	return 0;
}

/* Goes on with the entries that lie in the first `have` bytes; 0 while all is well. */
static int check_entries(struct check *c, const uint8_t *head, size_t have, struct err *e)
{
	int rc = 0;

	for (; !rc && c->i < c->n && PAC_TABLE_SIZE(c->i + 1) <= have; c->i += !rc)
		rc = check_entry(c, entry_at(head, c->i), e);
	if (!rc && c->i == c->n && !c->used && (c->n < PAC_STAGE_LEAST || c->n > PAC_STAGE_MOST))
		rc = err_at(e, EBADMSG, c->src, 4, "PAC table",
			    "all %u entries are empty, which only stages have, of %u to %u", c->n, PAC_STAGE_LEAST,
			    PAC_STAGE_MOST);
	return rc;
}

static int pac_probe(struct probe *p)
{
	struct check c = { .src = p->src, .size = p->size };
	int rc = check_count(&c, p->head, p->n, p->why);

	if (!rc)
		rc = check_entries(&c, p->head, p->n, p->why);
	/* What the first bytes hold has passed; only then the rest of a long table is worth a read. */
	if (!rc && c.i < c.n)
		rc = probe_need(p, PAC_TABLE_SIZE(c.n)) ? check_entries(&c, p->head, p->n, p->why) : -EIO;
	return rc ? 0 : 50;
}

/* ---- list ---- */

/* Where a writer puts entry v, the one before having ended at `end`. */
static uint64_t place(const struct entry *v, uint64_t end, uint32_t align)
{
	return v->at || v->size ? align_up(end, align) : 0;
}

static bool aligned(const struct entries *entries, uint32_t align)
{
	uint64_t end = PAC_TABLE_SIZE(entries->n);

	for (uint32_t i = 0; i < entries->n; i++) {
		const struct entry *v = &entries->v[i];

		if (place(v, end, align) != v->at)
			return false;
		end = v->at ? v->at + v->size : end;
	}
	return true;
}

static uint32_t find_alignment(const struct entries *entries)
{
	for (uint32_t align = 16; align >= 4; align /= 2)
		if (aligned(entries, align))
			return align;
	return 0;
}

void pac_describe(struct pac *pac, const struct entries *entries)
{
	pac->align = find_alignment(entries);
	pac->used = 0;
	pac->end = PAC_TABLE_SIZE(entries->n);
	for (uint32_t i = 0; i < entries->n; i++) {
		if (entries->v[i].at || entries->v[i].size) {
			pac->used++;
			pac->end = entries->v[i].at + entries->v[i].size;
		}
	}
}

static int pac_list(struct object *o, struct entries *out, struct err *e)
{
	struct check c = { .src = o->src, .size = o->src->size };
	uint8_t head[PAC_TABLE_SIZE(PAC_COUNT_MAX)];
	size_t have = c.size < sizeof head ? (size_t)c.size : sizeof head;
	struct pac *pac = arena_alloc(&o->arena, 1, sizeof *pac);
	int rc = pac ? src_read(o->src, head, have, 0, "PAC table", e) : err_nomem(e);

	rc = rc ? rc : check_count(&c, head, have, e);
	if (!rc)
		rc = check_entries(&c, head, have, e);
	if (rc)
		return rc;
	out->n = c.n;
	out->v = arena_alloc(&o->arena, c.n, sizeof *out->v);
	if (!out->v)
		return err_nomem(e);
	for (uint32_t i = 0; i < c.n; i++) {
		struct pac_entry entry = entry_at(head, i);

		out->v[i] = (struct entry){ .at = entry.offset, .size = entry.size };
	}
	pac_describe(pac, out);
	o->priv = pac;
	o->variant = &variant;
	return 0;
}

/* ---- verify, info ---- */

/* The table as a writer makes it: from the sizes and the alignment, or from the offsets when there is no alignment. */
static void encode_table(const struct pac *pac, const struct entries *entries, uint8_t *out)
{
	uint64_t end = PAC_TABLE_SIZE(entries->n), at;

	put_le32(out, entries->n);
	for (uint32_t i = 0; i < entries->n; i++) {
		const struct entry *v = &entries->v[i];

		at = pac->align ? place(v, end, pac->align) : v->at;
		put_le32(out + PAC_TABLE_SIZE(i), (uint32_t)at);
		put_le32(out + PAC_TABLE_SIZE(i) + 4, (uint32_t)v->size);
		end = at ? at + v->size : end;
	}
}

static int pac_verify(struct object *o, const struct entries *entries, struct err *e)
{
	uint8_t stored[PAC_TABLE_SIZE(PAC_COUNT_MAX)], mine[PAC_TABLE_SIZE(PAC_COUNT_MAX)];
	size_t n = PAC_TABLE_SIZE(entries->n);
	int rc = src_read(o->src, stored, n, 0, "PAC table", e);

	if (rc)
		return rc;
	encode_table(o->priv, entries, mine);
	return mhp_same(o->src, 0, "PAC table", stored, mine, n, e);
}

static int pac_info(struct object *o, const struct entries *entries, struct doc *doc, struct err *e)
{
	const struct pac *pac = o->priv;

	(void)e;
	doc_text(doc, "entry_count", DOC_PLAIN, "%u", entries->n);
	doc_text(doc, "empty_entries", DOC_PLAIN, "%u", entries->n - pac->used);
	if (pac->align)
		doc_text(doc, "alignment", DOC_PLAIN, "%u", pac->align);
	else
		doc_text(doc, "alignment", DOC_PLAIN, "null");
	doc_text(doc, "tail_bytes", DOC_PLAIN, "%" PRIu64, o->src->size - pac->end);
	return 0;
}

/* ---- format ---- */

static const struct container_ops container = {
	.list = pac_list, .verify = pac_verify, .info = pac_info, .resize = pac_resize, .digits = 2, .raw = true,
	.companions = true,
};

const struct format fmt_pac = {
	.name = "pac", .title = "PSP Monster Hunter container (PAC)", .ext = "pac",
	.doc = "The container of a model with its skeleton, textures and animations, of a stage, and of other files. "
	       "PACs may hold PACs.",
	.probe = pac_probe, .variants = &variant, .nvariants = 1, .container = &container,
};
