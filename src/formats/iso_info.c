/* ISO 9660: what `modelfs info` says of a disc. */
#include <inttypes.h>
#include <string.h>

#include "iso9660.h"

static const char *const games[] = { [ISO_UNKNOWN] = "unknown", [ISO_SATURN] = "saturn", [ISO_PSP] = "psp" };

/* Mode of the data track as a cue sheet says it; what the bytes are, decides. */
static const char *mode_of(const struct iso *iso)
{
	return strncmp(iso->kind.name, "MODE", 4) ? "MODE1/2048" : iso->kind.name;
}

/* An identifier without the blanks behind it. */
static void say_id(struct doc *d, const char *key, const char *id, size_t n)
{
	struct field f = { .name = key, .count = (uint16_t)n, .type = F_TEXT, .flags = FL_TRIM };
	struct buf text = { 0 };
	uint8_t raw[64] = { 0 };

	memcpy(raw, id, iso_trimmed(id, n));
	field_print(&f, false, raw, &text);
	buf_char(&text, 0);
	if (!text.bad)
		doc_text(d, key, DOC_PLAIN, "%s", (char *)text.p);
	buf_free(&text);
}

static bool has_joliet(const struct iso *iso)
{
	for (uint32_t i = 0; i < iso->ntrees; i++)
		if (iso->tree[i].joliet)
			return true;
	return false;
}

/* ---- tracks ---- */

/* Sectors of a track; false: they lie in a file that nobody has opened. */
static bool count_sectors(const struct object *o, const struct iso *iso, uint32_t k, uint64_t *n)
{
	const struct cue *cue = iso->cue;
	const struct cue_track *t = &cue->track[k];
	uint64_t at;
	uint32_t sectors;

	cue_place(cue, k, &at, &sectors);
	*n = sectors;
	if (sectors || t->file != cue->track[cue->data].file)
		return sectors;
	*n = at < o->file->size ? (o->file->size - at) / cue_mode_bytes(t->mode) : 0;
	return true;
}

static void put_track(struct buf *out, const struct object *o, const struct iso *iso, uint32_t k)
{
	const struct cue_track *t = &iso->cue->track[k];
	uint64_t n = iso->sectors;
	bool data = k == iso->cue->data, known = data || count_sectors(o, iso, k, &n);

	buf_printf(out, "%s[%u, %s, %u, ", k ? ", " : "", t->number, data ? mode_of(iso) : cue_mode_name(t->mode),
		   t->start);
	if (known)
		buf_printf(out, "%" PRIu64 "]", n);
	else
		buf_str(out, "null]");
}

static int say_tracks(const struct object *o, const struct iso *iso, struct doc *d, struct err *e)
{
	struct buf text = { 0 };
	bool bad;

	buf_char(&text, '[');
	for (uint32_t k = 0; iso->cue && k < iso->cue->ntracks; k++)
		put_track(&text, o, iso, k);
	if (!iso->cue)
		buf_printf(&text, "[1, %s, 0, %" PRIu64 "]", mode_of(iso), iso->sectors);
	buf_char(&text, ']');
	buf_char(&text, 0);
	bad = text.bad;
	if (!bad)
		doc_long_text(d, "tracks", DOC_PLAIN, (char *)text.p);
	buf_free(&text);
	return bad ? err_nomem(e) : 0;
}

/* ---- all ---- */

int iso_info(struct object *o, const struct entries *entries, struct doc *d, struct err *e)
{
	const struct iso *iso = o->priv;

	(void)entries;
	doc_text(d, "kind", DOC_PLAIN, "%s", iso->kind.name);
	doc_text(d, "sectors", DOC_PLAIN, "%" PRIu64, iso->sectors);
	doc_text(d, "game", DOC_PLAIN, "%s", games[iso->game]);
	say_id(d, "system_id", iso->volume.system_id, sizeof iso->volume.system_id);
	say_id(d, "volume_id", iso->volume.volume_id, sizeof iso->volume.volume_id);
	if (iso->kind.block)
		doc_text(d, "block_size", DOC_PLAIN, "%u", iso->kind.block);
	doc_text(d, "joliet", DOC_PLAIN, "%s", has_joliet(iso) ? "true" : "false");
	doc_text(d, "files", DOC_PLAIN, "%u", iso->nfiles);
	doc_text(d, "directories", DOC_PLAIN, "%u", iso->ndirs);
	doc_text(d, "bytes", DOC_PLAIN, "%" PRIu64, iso->bytes);
	return say_tracks(o, iso, d, e);
}
