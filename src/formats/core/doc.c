/* Documents: the calls that describe one, and the description of a section that is nothing but records. */
#include "doc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"

#define PIECE 16384u                           /* bytes read at once from a list of records */

void doc_comment(struct doc *d, const char *fmt, ...)
{
	char text[DOC_TEXT_MAX];
	va_list ap;

	if (!d->ops->comment)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	d->ops->comment(d, text);
}

struct shown { struct doc *d; bool be; const uint8_t *raw; struct source *src; uint64_t at; };

static int show_field(void *ctx, const struct field *f)
{
	const struct shown *s = ctx;

	if (field_shown(f, s->be, s->raw))
		s->d->ops->field(s->d, f, s->be, s->raw, s->src, s->at);
	else if (s->d->ops->pad && field_is_pad(f) && !(f->flags & FL_HIDDEN))
		s->d->ops->pad(s->d, f, s->be, s->raw, s->src, s->at);
	return 0;
}

void doc_record(struct doc *d, const struct record *r, bool be, const uint8_t *raw, struct source *src, uint64_t at)
{
	struct shown s = { d, be, raw, src, at };

	if (d->ops->field)
		rec_each(r, show_field, &s);
}

void doc_rows(struct doc *d, const char *key, const struct record *r, bool be, const uint8_t *raw, uint32_t n,
	      struct source *src, uint64_t at, unsigned style)
{
	if (d->ops->rows)
		d->ops->rows(d, key, r, be, raw, n, src, at, style);
}

void doc_text(struct doc *d, const char *key, unsigned style, const char *fmt, ...)
{
	char text[DOC_TEXT_MAX];
	va_list ap;

	if (!d->ops->text)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	d->ops->text(d, key, text, style);
}

void doc_long_text(struct doc *d, const char *key, unsigned style, const char *text)
{
	if (d->ops->text)
		d->ops->text(d, key, text, style);
}

void doc_list(struct doc *d, const char *key, uint32_t n)
{
	if (d->ops->list)
		d->ops->list(d, key, n, DOC_PLAIN);
}

void doc_derived_list(struct doc *d, const char *key, uint32_t n)
{
	if (d->ops->list)
		d->ops->list(d, key, n, DOC_DERIVED);
}

void doc_item(struct doc *d)
{
	if (d->ops->item)
		d->ops->item(d);
}

void doc_end(struct doc *d)
{
	if (d->ops->end)
		d->ops->end(d);
}

/* ---- sections ---- */

/* How many records a section has; the bytes behind the last whole one belong to none. */
static int count_records(const struct object *o, unsigned s, struct span span, uint32_t *n, struct err *e)
{
	const struct section *section = &o->variant->sections[s];
	const struct source *src = object_part(o, span.part);
	uint32_t each = section->record->size;

	if (span.size > LIMIT_DECODED)
		return err_at(e, EFBIG, src, span.at, section->name, "%llu bytes, at most %zu are read",
			      (unsigned long long)span.size, LIMIT_DECODED);
	*n = (uint32_t)span.size / each;
	if (section->shape == SECTION_ONE && !*n)
		return err_at(e, EBADMSG, src, span.at, section->name, "%u bytes, expected %u",
			      (unsigned)span.size, each);
	if (section->shape == SECTION_ONE)
		*n = 1;
	return 0;
}

int object_section_records(struct object *o, unsigned s,
			   int (*fn)(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at),
			   void *ctx, struct err *e)
{
	struct span span = object_section(o, s);
	struct source *src = object_part(o, span.part);
	uint32_t n = 0, each = o->variant->sections[s].record->size, most = each < PIECE ? PIECE / each : 1, got;
	uint8_t *room;
	int rc = count_records(o, s, span, &n, e);

	if (rc || !n)
		return rc;
	room = malloc((size_t)each * most);
	if (!room)
		return err_nomem(e);
	for (uint32_t i = 0; i < n && !rc; i += got) {
		uint64_t at = span.at + (uint64_t)i * each;

		got = n - i < most ? n - i : most;
		rc = src_read(src, room, (size_t)got * each, at, o->variant->sections[s].name, e);
		for (uint32_t k = 0; k < got && !rc; k++)
			rc = fn(ctx, i + k, room + (size_t)k * each, src, at + (uint64_t)k * each);
	}
	free(room);
	return rc;
}

struct saying { struct object *o; const struct section *section; struct doc *d; };

static int say_record(void *ctx, uint32_t i, const uint8_t *raw, struct source *src, uint64_t at)
{
	const struct saying *s = ctx;

	if (s->section->shape == SECTION_LIST) {
		doc_comment(s->d, "%u at 0x%07llx", i, (unsigned long long)at);
		doc_item(s->d);
	} else if (!strcmp(s->section->name, "header")) {
		doc_comment(s->d, "modelfs %s %s", s->o->format->name, s->o->variant->version);
	}
	doc_record(s->d, s->section->record, s->o->format->be, raw, src, at);
	return 0;
}

int object_section_doc(struct object *o, unsigned s, struct doc *d, struct err *e)
{
	struct saying saying = { o, &o->variant->sections[s], d };
	uint32_t n = 0;
	int rc = count_records(o, s, object_section(o, s), &n, e);

	if (rc)
		return rc;
	if (saying.section->shape == SECTION_LIST)
		doc_list(d, NULL, n);
	rc = object_section_records(o, s, say_record, &saying, e);
	if (saying.section->shape == SECTION_LIST)
		doc_end(d);
	return rc;
}
