/* The reference page of a format in Markdown: what `modelfs describe` prints and docs/formats/ holds. */
#include <inttypes.h>
#include <string.h>

#include "export.h"

/* Text between bars and blanks, with what Markdown would take for markup escaped. */
static void put_words(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("|<*", *text))
			buf_char(out, '\\');
		buf_char(out, *text);
	}
}

/* Docs come without a final stop, but the longer ones of formats are sentences. */
static void put_sentence(struct buf *out, const char *text)
{
	size_t n = strlen(text);

	put_words(out, text);
	if (!n || text[n - 1] != '.')
		buf_char(out, '.');
}

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- fields ---- */

static void put_type(struct buf *out, const struct field *f)
{
	static const char *const names[] = {
		[F_U8] = "u8", [F_U16] = "u16", [F_U32] = "u32", [F_U64] = "u64", [F_I8] = "s8", [F_I16] = "s16",
		[F_I32] = "s32", [F_F16] = "f16", [F_F32] = "f32", [F_FIX32] = "fixed", [F_ANGLE] = "angle",
		[F_BOTH16] = "both16", [F_BOTH32] = "both32",
		[F_TEXT] = "char", [F_RAW] = "byte", [F_PAD] = "byte",
	};

	buf_str(out, names[f->type]);
	if (f->count > 1 || f->type >= F_TEXT)
		buf_printf(out, "[%u]", f->count);
	if (f->bits == 1)
		buf_printf(out, ", bit %u", f->bit);
	else if (f->bits)
		buf_printf(out, ", bits %u-%u", f->bit, f->bit + f->bits - 1);
}

static unsigned lowest_bit(uint32_t v)
{
	unsigned bit = 0;

	while (bit < 31 && !(v >> bit & 1))
		bit++;
	return bit;
}

static void put_labels(struct buf *out, const struct field *f)
{
	const char *sep = f->view == V_FLAGS ? "; bits: " : "; ";

	for (const struct label *l = f->labels; l && l->name; l++, sep = ", ") {
		buf_str(out, sep);
		if (f->view == V_FLAGS)
			buf_printf(out, "%u `%s`", lowest_bit(l->value), l->name);
		else if (l->value > 999)
			buf_printf(out, "0x%0*x `%s`", (int)(field_bits(f) + 3) / 4, l->value, l->name);
		else
			buf_printf(out, "%u `%s`", l->value, l->name);
	}
}

static void put_meaning(struct buf *out, const struct field *f)
{
	put_words(out, f->doc);
	if (field_is_pad(f))
		buf_str(out, "; shown when it is not");
	if (f->comment) {
		buf_str(out, "; ");
		put_words(out, f->comment);
	}
	put_labels(out, f);
	if (f->view == V_COLOUR)
		buf_str(out, "; r, g, b, a");
	if (f->flags & FL_NULL)
		buf_printf(out, "; %" PRId64 " is `null`", field_is_signed(f) ? -1 : (int64_t)field_mask(f));
	if (f->flags & (FL_DERIVED | FL_HIDDEN))
		buf_str(out, !(f->flags & FL_HIDDEN) ? " (derived)" : f->flags & FL_DERIVED ? " (derived, not shown)" :
			     " (not shown)");
}

/* ---- records ---- */

static uint64_t place(const struct field *f)
{
	return (uint64_t)f->at << 8 | f->bit;
}

struct next { uint64_t from; struct field field; bool found; };

static int take_lower(void *ctx, const struct field *f)
{
	struct next *next = ctx;

	if (place(f) >= next->from && (!next->found || place(f) < place(&next->field))) {
		next->field = *f;
		next->found = true;
	}
	return 0;
}

/* By offset, while the table is in the order of the view. */
static void put_record(struct buf *out, const struct record *r)
{
	struct next next = { 0 };
	int digits = r->size > 0x100 ? 3 : 2;

	buf_str(out, "| Offset | Type | Name | Meaning |\n|---|---|---|---|\n");
	for (rec_each(r, take_lower, &next); next.found; rec_each(r, take_lower, &next)) {
		buf_printf(out, "| 0x%0*x | ", digits, next.field.at);
		put_type(out, &next.field);
		buf_printf(out, " | `%s` | ", next.field.name);
		put_meaning(out, &next.field);
		buf_str(out, " |\n");
		next.from = place(&next.field) + 1;
		next.found = false;
	}
}

/* The variant that already printed r, when an earlier one did. */
static const struct variant *printed_in(const struct format *f, const struct variant *before, const struct record *r)
{
	for (const struct variant *v = f->variants; v < before; v++) {
		for (unsigned i = 0; i < v->nsections; i++)
			if (v->sections[i].record == r)
				return v;
		for (const struct record *const *p = v->records; p && *p; p++)
			if (*p == r)
				return v;
	}
	return NULL;
}

static void put_record_once(struct buf *out, const struct format *f, const struct variant *v, const struct record *r)
{
	const struct variant *first = printed_in(f, v, r);

	if (first) {
		buf_printf(out, "\nThe record is that of version %s.\n", first->version);
		return;
	}
	buf_char(out, '\n');
	put_record(out, r);
}

/* ---- sections ---- */

static void put_section(struct buf *out, const struct format *f, const struct variant *v, const struct section *s)
{
	buf_printf(out, "\n### %s\n\n", s->name);
	put_sentence(out, s->doc);
	buf_char(out, '\n');
	if (s->shape != SECTION_BYTES) {
		buf_str(out, s->shape == SECTION_LIST ? "A list of records of " : "One record of ");
		buf_printf(out, "%u byte%s (0x%x): ", s->record->size, plural(s->record->size), s->record->size);
		put_sentence(out, s->record->doc);
		buf_char(out, '\n');
	}
	if (f->model) {
		buf_printf(out, "Files: `raw/%s.bin`", s->name);
		if (s->yaml)
			buf_printf(out, ", `%s`", s->yaml);
		buf_str(out, ".\n");
	}
	if (s->shape != SECTION_BYTES)
		put_record_once(out, f, v, s->record);
}

static void put_variant(struct buf *out, const struct format *f, const struct variant *v)
{
	buf_printf(out, "\n## Version %s\n\n", v->version);
	put_sentence(out, v->doc);
	buf_char(out, '\n');
	for (unsigned i = 0; i < v->nsections; i++)
		put_section(out, f, v, &v->sections[i]);
	for (const struct record *const *r = v->records; r && *r; r++) {
		buf_printf(out, "\n### Record %s\n\n", (*r)->name);
		put_sentence(out, (*r)->doc);
		buf_printf(out, " %u byte%s (0x%x).\n", (*r)->size, plural((*r)->size), (*r)->size);
		put_record_once(out, f, v, *r);
	}
}

/* Files that only this format has. */
static void put_own(struct buf *out, const struct format *f)
{
	static const char *const of_part[] = {
		[PART_OBJECT] = "", [PART_MESH] = "meshes/N", [PART_IMAGE] = "textures/K", [PART_CLIP] = "clips/N",
		[PART_BONE] = "",
	};

	if (f->nown || f->nmembers)
		buf_str(out, "\n| File | |\n|---|---|\n");
	for (unsigned i = 0; i < f->nown; i++) {
		const struct own_file *own = &f->own[i];

		buf_printf(out, "| `%s%s` | ", own->stem ? "NAME" : of_part[own->part], own->name);
		put_sentence(out, own->doc);
		buf_str(out, " |\n");
	}
	for (unsigned i = 0; i < f->nmembers; i++) {
		buf_printf(out, "| `raw/whole.%s` | `NAME.%s`: ", f->members[i].ext, f->members[i].ext);
		put_sentence(out, f->members[i].doc);
		buf_str(out, " |\n");
	}
}

void recdoc_write(struct buf *out, const struct format *f)
{
	buf_printf(out, "# %s: ", f->name);
	put_words(out, f->title);
	buf_str(out, "\n\n");
	put_sentence(out, f->doc);
	buf_char(out, '\n');
	if (f->nvariants)
		buf_printf(out, "\nIntegers and floats are %s-endian.", f->be ? "big" : "little");
	if (f->nvariants && f->model)
		buf_str(out, " Names are the keys of the YAML files; there, *derived* values follow from others, and "
			     "those *not shown* are only in `raw/`.");
	buf_str(out, f->nvariants ? "\n" : "");
	put_own(out, f);
	for (unsigned i = 0; i < f->nvariants; i++)
		put_variant(out, f, &f->variants[i]);
}
