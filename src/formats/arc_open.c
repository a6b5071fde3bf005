/* ARC: the table of an archive, and what its numbers mean. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arc.h"
#include "zstream.h"

#define MOST_NOTED 256u                        /* lost entries with a line each */

/* ---- types ---- */

static const struct { uint32_t type; char ext[5]; } types[] = {
	{ 0x58a15856, "mod" },  { 0x2749c8a8, "mrl" },  { 0x241f5deb, "tex" },  { 0x7808ea10, "rtex" },
	{ 0x76820d81, "lmt" },  { 0x73850d05, "arc" },  { 0x0026e7ff, "ccl" },  { 0x535d969f, "ctc" },
	{ 0x51fc779f, "sbc" },  { 0x22948394, "gui" },  { 0x242bb29a, "gmd" },  { 0x2d462600, "gfd" },
	{ 0x15302ef4, "lyt" },  { 0x6d5ae854, "efl" },  { 0x4e397417, "ean" },  { 0x4c0db839, "sdl" },
	{ 0x39c52040, "lcm" },  { 0x15d782fb, "sbkr" }, { 0x14b5c8e6, "sbk" },  { 0x09e6b5f0, "mfx" },
};

/* Eight digits where it is not known. */
static void extension(uint32_t type, char out[9])
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (types[i].type == type) {
			strcpy(out, types[i].ext);
			return;
		}
	}
	snprintf(out, 9, "%08x", type);
}

/* ---- which bits are the size ---- */

#define TRIES 8u                               /* streams that are unpacked to find out */
#define TRY_STREAM 65536u                      /* bytes of one, at most */
#define TRY_MOST (1u << 20)                    /* bytes it becomes, at most */

/* Whether a stream that becomes n bytes is what the word says in one layout and not in the other. */
static bool agrees(uint32_t word, uint64_t n, uint8_t *layout)
{
	bool high = arc_size(ARC_FLAGS_HIGH, word) == n, low = arc_size(ARC_FLAGS_LOW, word) == n;

	if (high != low)
		*layout = high ? ARC_FLAGS_HIGH : ARC_FLAGS_LOW;
	return high != low;
}

static bool try_entry(struct object *o, const struct arc_entry *v, uint8_t *layout)
{
	struct source *stream = src_slice(o->src, v->offset, v->packed);
	uint8_t head[2];
	uint64_t n = v->packed;                /* when it is stored as it is */
	bool ok = stream && !src_pread(stream, head, sizeof head, 0);

	if (ok && zlib_begins(head))
		ok = !zlib_measure(stream, TRY_MOST, &n, NULL) && n <= TRY_MOST;
	src_put(stream);
	return ok && agrees(v->size, n, layout);
}

/* The shortest stream that is longer than that of entry `last`, or as long and behind it; arc->n: there is none. */
static uint32_t next_shortest(const struct object *o, const struct arc *arc, uint32_t last)
{
	uint32_t best = arc->n, least = last < arc->n ? arc->entry[last].packed : 1;

	for (uint32_t i = 0; i < arc->n; i++) {
		const struct arc_entry *v = &arc->entry[i];

		if (v->packed < least || (v->packed == least && last < arc->n && i <= last))
			continue;
		if ((best == arc->n || v->packed < arc->entry[best].packed) &&
		    span_ok(o->src->size, v->offset, v->packed, 1))
			best = i;
	}
	return best;
}

/* Short streams tell soonest. What none of them tells, the flags do: they are 2 in all known files. */
static void find_layout(struct object *o, struct arc *arc)
{
	uint32_t low = 0, high = 0, last = arc->n;

	for (uint32_t i = 0; i < arc->n; i++) {
		low += (arc->entry[i].size & 7) == 2 && !(arc->entry[i].size >> 29);
		high += arc->entry[i].size >> 29 == 2;
	}
	arc->layout = low > high ? ARC_FLAGS_LOW : ARC_FLAGS_HIGH;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		last = next_shortest(o, arc, last);
		if (last == arc->n || arc->entry[last].packed > TRY_STREAM ||
		    try_entry(o, &arc->entry[last], &arc->layout))
			return;
	}
}

/* ---- entries ---- */

static int check_entry(struct object *o, const struct arc *arc, uint32_t i, struct err *e)
{
	const struct arc_entry *v = &arc->entry[i];
	const struct entry *shown = &arc->shown[i];
	uint64_t at = arc->start + (uint64_t)i * ARC_ENTRY_SIZE;
	struct path_text name = path_text(arc->name[i], ARC_SEPARATOR);

	if (v->offset < arc_table_end(arc) || !span_ok(o->src->size, v->offset, v->packed, 1))
		return err_at(e, EBADMSG, o->src, at + ARC_AT_OFFSET, "ARC entry",
			      "%s: 0x%x bytes at 0x%x, expected between 0x%" PRIx64 " and 0x%" PRIx64, name.s,
			      v->packed, v->offset, arc_table_end(arc), o->src->size);
	if (shown->size > LIMIT_DECODED)
		return err_at(e, EFBIG, o->src, at + ARC_AT_SIZE, "ARC entry", "%s: %" PRIu64 " bytes, at most %zu "
			      "are read", name.s, shown->size, LIMIT_DECODED);
	if (shown->size / zlib_packer.ratio > v->packed)
		return err_at(e, EBADMSG, o->src, at + ARC_AT_SIZE, "ARC entry",
			      "%s: %" PRIu64 " bytes, which a stream of %u cannot become", name.s, shown->size,
			      v->packed);
	return 0;
}

static void lose(struct object *o, struct arc *arc, uint32_t i, const struct err *why)
{
	struct err more;

	arc->shown[i].lost = true;
	arc->shown[i].packed = false;
	if (arc->nlost++ < MOST_NOTED) {
		object_fault(o, PART_OBJECT, i, false, why);
	} else if (arc->nlost == MOST_NOTED + 1) {
		err_set(&more, EBADMSG, "there are more entries like these");
		object_fault(o, PART_OBJECT, i, false, &more);
	}
}

/* Stored as it is when both sizes are equal and it does not begin as a stream does. */
static int find_packed(struct object *o, struct entry *shown, const struct arc_entry *v, struct err *e)
{
	uint8_t head[2] = { 0 };
	int rc = 0;

	shown->packed = true;
	shown->stream = v->packed;
	if (shown->size != v->packed)
		return 0;
	if (v->packed >= sizeof head)
		rc = src_read(o->src, head, sizeof head, v->offset, "ARC entry", e);
	if (!rc && !zlib_begins(head))
		shown->packed = false;
	return rc;
}

static int read_entry(struct object *o, struct arc *arc, uint32_t i, struct err *e)
{
	const struct arc_entry *v = &arc->entry[i];
	struct entry *shown = &arc->shown[i];
	struct err why = { 0 };
	char ext[9];

	extension(v->type, ext);
	arc->name[i] = arena_printf(&o->arena, "%.*s.%s", (int)ARC_PATH_SIZE, v->path, ext);
	if (!arc->name[i])
		return err_nomem(e);
	if (!v->packed)
		return 0;
	shown->at = v->offset;
	shown->size = arc_size(arc->layout, v->size);
	if (!check_entry(o, arc, i, &why))
		return find_packed(o, shown, v, e);
	lose(o, arc, i, &why);
	return 0;
}

/* ---- opening ---- */

#define ENTRIES_AT_ONCE 128u

static int read_table(struct object *o, struct arc *arc, struct err *e)
{
	uint8_t room[ENTRIES_AT_ONCE * ARC_ENTRY_SIZE];
	uint32_t n;
	int rc = 0;

	for (uint32_t i = 0; i < arc->n && !rc; i += n) {
		n = arc->n - i < ENTRIES_AT_ONCE ? arc->n - i : ENTRIES_AT_ONCE;
		rc = src_read(o->src, room, (size_t)n * ARC_ENTRY_SIZE, arc->start + (uint64_t)i * ARC_ENTRY_SIZE,
			      "ARC table", e);
		for (uint32_t k = 0; k < n && !rc; k++)
			rec_decode(&arc_entry_record, arc->be, room + (size_t)k * ARC_ENTRY_SIZE, &arc->entry[i + k]);
	}
	return rc;
}

static int read_header(struct object *o, struct arc *arc, struct err *e)
{
	uint8_t head[ARC_HEADER_MOST];
	size_t n = o->src->size < sizeof head ? (size_t)o->src->size : sizeof head;
	int rc = src_read(o->src, head, n, 0, "ARC header", e);

	if (rc)
		return rc;
	arc->be = !head[0];
	arc->start = arc_header_size(head, n, o->src, e);
	if (!arc->start)
		return -EBADMSG;
	if (n < arc->start)
		return err_at(e, EBADMSG, o->src, 0, "ARC header", "%zu bytes, expected %u", n, arc->start);
	rec_decode(arc->start < ARC_HEADER_MOST ? &arc_header_short : &arc_header_long, arc->be, head, &arc->header);
	arc->n = arc->header.count;
	if (arc_table_end(arc) > o->src->size)
		return err_at(e, EBADMSG, o->src, arc->start, "ARC table",
			      "%u entries of %u bytes end past the %" PRIu64 " of the file", arc->n, ARC_ENTRY_SIZE,
			      o->src->size);
	return 0;
}

int arc_open(struct object *o, struct err *e)
{
	struct arc *arc = arena_alloc(&o->arena, 1, sizeof *arc);
	int rc = arc ? read_header(o, arc, e) : err_nomem(e);

	if (rc)
		return rc;
	arc->entry = arena_alloc(&o->arena, arc->n + (size_t)1, sizeof *arc->entry);
	arc->shown = arena_alloc(&o->arena, arc->n + (size_t)1, sizeof *arc->shown);
	arc->name = arena_alloc(&o->arena, arc->n + (size_t)1, sizeof *arc->name);
	rc = arc->entry && arc->shown && arc->name ? read_table(o, arc, e) : err_nomem(e);
	if (!rc && arc->be)
		find_layout(o, arc);
	for (uint32_t i = 0; i < arc->n && !rc; i++)
		rc = read_entry(o, arc, i, e);
	o->priv = arc;
	o->variant = &arc_variants[arc->start == ARC_HEADER_MOST];
	return rc;
}
