/* Record tables: fields as bits, decoding and encoding, the check of a table. Their text is fieldtext.c. */
#include "schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bytes.h"

#define INLINE_DEPTH 4u

/* ---- bits ---- */

unsigned field_width(const struct field *f)
{
	switch (f->type) {
	case F_U16:
	case F_I16:
	case F_F16:
	case F_ANGLE:
		return 2;
	case F_U32:
	case F_I32:
	case F_F32:
	case F_FIX32:
	case F_BOTH16:
		return 4;
	case F_U64:
	case F_BOTH32:
		return 8;
	case F_INLINE:
		return f->sub->size;
	default:
		return 1;
	}
}

unsigned field_bits(const struct field *f)
{
	return f->bits ? f->bits : field_width(f) * 8;
}

uint64_t field_mask(const struct field *f)
{
	unsigned bits = field_bits(f);

	return bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

uint64_t field_extend(const struct field *f, uint64_t bits)
{
	uint64_t mask = field_mask(f);

	return field_is_signed(f) && (bits & (mask ^ mask >> 1)) ? bits | ~mask : bits;
}

static uint64_t word_get(unsigned width, bool be, const uint8_t *p)
{
	if (width == 1)
		return *p;
	if (width == 2)
		return be ? be_u16(p) : le_u16(p);
	if (width == 4)
		return be ? be_u32(p) : le_u32(p);
	return be ? (uint64_t)be_u32(p) << 32 | be_u32(p + 4) : le_u64(p);
}

static void word_set(unsigned width, bool be, uint8_t *p, uint64_t v)
{
	for (unsigned i = 0; i < width; i++, v >>= 8)
		p[be ? width - 1 - i : i] = (uint8_t)v;
}

uint64_t field_get(const struct field *f, bool be, const uint8_t *raw, unsigned i)
{
	unsigned width = field_width(f), half = width / 2;
	const uint8_t *p = raw + f->at + (size_t)i * width;

	if (field_is_both(f))
		return word_get(half, false, p) | word_get(half, true, p + half) << half * 8;
	return word_get(width, be, p) >> f->bit & field_mask(f);
}

void field_set(const struct field *f, bool be, uint8_t *raw, unsigned i, uint64_t bits)
{
	unsigned width = field_width(f);
	uint8_t *p = raw + f->at + (size_t)i * width;
	uint64_t mask = field_mask(f) << f->bit;

	if (field_is_both(f)) {
		word_set(width / 2, false, p, bits);
		word_set(width / 2, true, p + width / 2, bits >> width * 4);
		return;
	}
	word_set(width, be, p, (word_get(width, be, p) & ~mask) | (bits << f->bit & mask));
}

bool field_shown(const struct field *f, bool be, const uint8_t *raw)
{
	bool any = !field_is_pad(f);

	for (unsigned i = 0; i < f->count && !any; i++)
		any = field_get(f, be, raw, i);
	return any && !(f->flags & FL_HIDDEN);
}

/* ---- records ---- */

static int each(const struct record *r, uint32_t at, int (*fn)(void *, const struct field *), void *ctx)
{
	int rc = 0;

	for (unsigned i = 0; i < r->nfields && !rc; i++) {
		struct field f = r->fields[i];

		f.at += at;
		rc = f.type == F_INLINE ? each(f.sub, f.at, fn, ctx) : fn(ctx, &f);
	}
	return rc;
}

int rec_each(const struct record *r, int (*fn)(void *ctx, const struct field *f), void *ctx)
{
	return each(r, 0, fn, ctx);
}

struct by_name { const char *name; struct field *out; };

static int match_name(void *ctx, const struct field *f)
{
	struct by_name *want = ctx;

	if (strcmp(f->name, want->name))
		return 0;
	*want->out = *f;
	return 1;
}

bool rec_field(const struct record *r, const char *name, struct field *out)
{
	struct by_name want = { name, out };

	return rec_each(r, match_name, &want) != 0;
}

struct decoding { bool be; const uint8_t *raw; uint8_t *out; };
struct encoding { bool be; const uint8_t *in; uint8_t *raw; };

static void member_set(unsigned width, uint8_t *to, uint64_t v)
{
	if (width == 1)
		*to = (uint8_t)v;
	else if (width == 2)
		memcpy(to, &(uint16_t){ (uint16_t)v }, 2);
	else if (width == 4)
		memcpy(to, &(uint32_t){ (uint32_t)v }, 4);
	else
		memcpy(to, &v, 8);
}

static uint64_t member_get(unsigned width, const uint8_t *from)
{
	uint16_t half;
	uint32_t word;
	uint64_t v = *from;

	if (width == 2) {
		memcpy(&half, from, 2);
		v = half;
	} else if (width == 4) {
		memcpy(&word, from, 4);
		v = word;
	} else if (width == 8) {
		memcpy(&v, from, 8);
	}
	return v;
}

static int decode_field(void *ctx, const struct field *f)
{
	const struct decoding *d = ctx;
	unsigned width = field_width(f), half = width / 2;

	for (unsigned i = 0; i < f->count && f->member != FIELD_NO_MEMBER; i++) {
		uint64_t v = field_extend(f, field_get(f, d->be, d->raw, i));
		uint8_t *to = d->out + f->member + (size_t)i * width;

		if (field_is_both(f)) {
			member_set(half, to, v);
			member_set(half, to + half, v >> half * 8);
		} else {
			member_set(width, to, v);
		}
	}
	return 0;
}

static int encode_field(void *ctx, const struct field *f)
{
	const struct encoding *d = ctx;
	unsigned width = field_width(f), half = width / 2;

	for (unsigned i = 0; i < f->count && f->member != FIELD_NO_MEMBER; i++) {
		const uint8_t *from = d->in + f->member + (size_t)i * width;
		uint64_t v = field_is_both(f) ? member_get(half, from) | member_get(half, from + half) << half * 8 :
						member_get(width, from);

		field_set(f, d->be, d->raw, i, v);
	}
	return 0;
}

void rec_decode(const struct record *r, bool be, const uint8_t *raw, void *out)
{
	struct decoding d = { be, raw, out };

	rec_each(r, decode_field, &d);
}

void rec_encode(const struct record *r, bool be, const void *in, uint8_t *raw)
{
	struct encoding d = { be, in, raw };

	rec_each(r, encode_field, &d);
}

/* ---- the check of a table ---- */

struct checking {
	const struct record *r;
	uint8_t *used;                         /* a bit of the record each: 1 when a field has it */
	bool be;
	struct err *e;
};

static int wrong(const struct checking *c, const struct field *f, const char *why)
{
	return err_set(c->e, EINVAL, "%s.%s at 0x%x: %s", c->r->name, f->name, f->at, why);
}

static bool is_reserved(const char *word)
{
	static const char *const reserved[] = { "null", "true", "false", "yes", "no", "on", "off", "y", "n" };

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (!strcasecmp(word, reserved[i]))
			return true;
	return false;
}

/* A name that every YAML reader takes for text. */
static bool is_plain_word(const char *word, const char *letters)
{
	return word[0] && strspn(word, letters) == strlen(word) && !strchr("0123456789-./", word[0]) &&
	       !is_reserved(word);
}

/* 2d is text too, but 8888, 1e5, 0b1 and 2001-01-01 are not. */
static bool is_plain_label(const char *word, const char *letters)
{
	const char *behind = word + strspn(word, "0123456789");

	return behind == word ? is_plain_word(word, letters) :
	       !strchr("eExXoObB_", *behind) && is_plain_word(behind, letters);
}

static int check_labels(const struct checking *c, const struct field *f)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
	bool flags = f->view == V_FLAGS;

	if (!flags && f->view != V_ENUM)
		return f->labels ? wrong(c, f, "labels that no view shows") : 0;
	if (!f->labels)
		return wrong(c, f, "no labels");
	for (const struct label *l = f->labels; l->name; l++) {
		if (!is_plain_label(l->name, letters))
			return wrong(c, f, "a label YAML would not read as a word");
		if (l->value & ~field_mask(f))
			return wrong(c, f, "a label outside the field");
		if (flags && (!l->value || (l->value & (l->value - 1))))
			return wrong(c, f, "a flag that is not one bit");
		for (const struct label *k = f->labels; k < l; k++)
			if (k->value == l->value || !strcmp(k->name, l->name))
				return wrong(c, f, "a label given twice");
	}
	return 0;
}

static int check_form(const struct checking *c, const struct field *f)
{
	bool integer = field_is_integer(f), bytes = f->type == F_TEXT || field_is_bytes(f);

	if (f->type > F_PAD || f->view > V_COLOUR)
		return wrong(c, f, "no such type or view");
	if ((f->bit || f->bits) && (!integer || !f->bits || f->bit + f->bits > field_width(f) * 8))
		return wrong(c, f, "bits outside the integer");
	if ((f->view == V_HEX || f->view == V_FLAGS || f->view == V_ENUM) && !integer)
		return wrong(c, f, "a view for integers only");
	if (f->digits && f->view != V_HEX)
		return wrong(c, f, "digits of a view that has none");
	if (f->flags & FL_TRIM && f->type != F_TEXT)
		return wrong(c, f, "only texts are trimmed");
	if (f->view == V_COLOUR && (f->bits || f->flags & FL_NULL ||
				    !((f->type == F_U8 && f->count == 4) || (f->type == F_U32 && f->count == 1))))
		return wrong(c, f, "a colour that is neither u8[4] nor u32");
	if (bytes && (f->view || f->flags & FL_NULL))
		return wrong(c, f, "a view for numbers only");
	if (field_is_both(f) && (f->count != 1 || f->view || f->flags & (FL_NULL | FL_ODD)))
		return wrong(c, f, "an integer stored twice is one plain number");
	if (f->flags & FL_ENDED && (f->type != F_TEXT || f->count < 2))
		return wrong(c, f, "an end that only texts have");
	return check_labels(c, f);
}

static int check_words(const struct checking *c, const struct field *f)
{
	struct field first;

	if (!f->name || !is_plain_word(f->name, "abcdefghijklmnopqrstuvwxyz0123456789_"))
		return err_set(c->e, EINVAL, "%s at 0x%x: a field whose name is not a word", c->r->name, f->at);
	if (!f->doc || !f->doc[0])
		return wrong(c, f, "no doc");
	if (f->doc[strlen(f->doc) - 1] == '.')
		return wrong(c, f, "a doc with a final stop");
	if (rec_field(c->r, f->name, &first) && (first.at != f->at || first.bit != f->bit))
		return wrong(c, f, "a name used twice");
	return 0;
}

static int check_field(void *ctx, const struct field *f)
{
	const struct checking *c = ctx;
	int rc = check_words(c, f);

	if (!rc)
		rc = check_form(c, f);
	if (rc)
		return rc;
	if (!f->count || !span_ok(c->r->size, f->at, f->count, field_width(f)))
		return wrong(c, f, "not inside the record");
	for (unsigned i = 0; i < f->count; i++) {
		if (field_get(f, c->be, c->used, i))
			return wrong(c, f, "overlaps an earlier field");
		field_set(f, c->be, c->used, i, UINT64_MAX);
	}
	return 0;
}

static int check_inlines(const struct record *r, unsigned depth, struct err *e)
{
	int rc = 0;

	if (!r->name || !r->name[0] || !r->doc || !r->doc[0])
		return err_set(e, EINVAL, "record %s: no name or no doc", r->name ? r->name : "");
	for (unsigned i = 0; i < r->nfields && !rc; i++) {
		const struct field *f = &r->fields[i];

		if (f->type != F_INLINE)
			continue;
		if (depth == INLINE_DEPTH || !f->sub || f->count != 1 || !span_ok(r->size, f->at, 1, f->sub->size))
			return err_set(e, EINVAL, "%s at 0x%x: not a record inside this one", r->name, f->at);
		rc = check_inlines(f->sub, depth + 1, e);
	}
	return rc;
}

static int check_tiles(struct checking *c)
{
	int rc = rec_each(c->r, check_field, c);

	for (uint32_t i = 0; i < c->r->size && !rc; i++)
		if (c->used[i] != 0xff)
			rc = err_set(c->e, EINVAL, "%s at 0x%x: %s no field has", c->r->name, i,
				     c->used[i] ? "bits" : "a byte");
	return rc;
}

/* In both byte orders: bit fields of one integer tile it in either, fields of unequal width do not. */
int rec_check(const struct record *r, struct err *e)
{
	struct checking c = { .r = r, .e = e };
	int rc = check_inlines(r, 0, e);

	for (int be = 0; be < 2 && !rc; be++) {
		c.be = be;
		c.used = calloc(1, (size_t)r->size + 1);
		rc = c.used ? check_tiles(&c) : err_nomem(e);
		free(c.used);
	}
	return rc;
}
