/* The YAML text of a field and back.
 *
 * Both ways go through the raw bits of one element, so parsing what was printed gives the same bytes for every bit
 * pattern: what has no name is a number, what is no text is a list, a NaN is its bits. */
#include "schema.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "half.h"
#include "num.h"

/* A degree is 8192/45 of an angle's units, so its digits are those of 45 times the stored number over 2^13. */
#define ANGLE_BITS 13u
#define ANGLE_OVER 45

/* A colour stored as one u32 is shown as its four bytes. */
static struct field as_shown(const struct field *f)
{
	struct field shown = *f;

	if (f->view == V_COLOUR && f->type == F_U32) {
		shown.type = F_U8;
		shown.count = 4;
	}
	return shown;
}

/* ---- printing ---- */

static unsigned hex_digits(const struct field *f)
{
	return f->digits ? f->digits : (field_bits(f) + 3) / 4;
}

/* More digits where the value has them. */
static void print_hex(struct buf *out, uint64_t v, unsigned digits)
{
	uint8_t *p;

	while (digits < 16 && v >> 4 * digits)
		digits++;
	p = buf_room(out, digits + 2);

	if (!p)
		return;
	p[0] = '0';
	p[1] = 'x';
	for (unsigned i = digits; i--; v >>= 4)
		p[2 + i] = (uint8_t)"0123456789abcdef"[v & 15];
	out->len += digits + 2;
}

static bool is_float(const struct field *f)
{
	return f->type == F_F32 || f->type == F_F16;
}

static bool is_nan(const struct field *f, uint64_t bits)
{
	return f->type == F_F16 ? (bits & 0x7fff) > 0x7c00 : (bits & 0x7fffffff) > 0x7f800000;
}

static void print_number(const struct field *f, uint64_t bits, struct buf *out)
{
	char *p = (char *)buf_room(out, NUM_MAX);

	if (!p)
		return;
	if (f->type == F_F32)
		out->len += num_f32(p, bits_f32((uint32_t)bits), true);
	else if (f->type == F_F16)
		out->len += num_f32(p, half_f32((uint16_t)bits), true);
	else if (f->type == F_FIX32)
		out->len += num_fixed(p, (int32_t)bits, 16);
	else if (f->type == F_ANGLE)
		out->len += num_fixed(p, (int64_t)field_extend(f, bits) * ANGLE_OVER, ANGLE_BITS);
	else if (field_is_signed(f))
		out->len += num_i32(p, (int32_t)field_extend(f, bits));
	else
		out->len += num_u64(p, bits);
}

static void print_flags(const struct field *f, uint64_t bits, struct buf *out)
{
	const char *sep = "";

	buf_char(out, '[');
	for (const struct label *l = f->labels; l->name; l++) {
		if (!(bits & l->value))
			continue;
		bits &= ~l->value;
		buf_str(out, sep);
		buf_str(out, l->name);
		sep = ", ";
	}
	if (bits) {
		buf_str(out, sep);
		print_hex(out, bits, hex_digits(f));
	}
	buf_char(out, ']');
}

static void print_enum(const struct field *f, uint64_t bits, struct buf *out)
{
	const struct label *l = f->labels;

	while (l->name && l->value != bits)
		l++;
	if (l->name)
		buf_str(out, l->name);
	else
		print_hex(out, bits, hex_digits(f));
}

/* One of the two copies of an integer stored twice. */
static struct field copy_of(const struct field *f)
{
	struct field one = *f;

	one.type = f->type == F_BOTH16 ? F_U16 : F_U32;
	return one;
}

static void print_both(const struct field *f, uint64_t bits, struct buf *out)
{
	struct field one = copy_of(f);
	uint64_t le = bits & field_mask(&one), be = bits >> field_bits(&one);

	if (le != be)
		buf_char(out, '[');
	print_number(&one, le, out);
	if (le == be)
		return;
	buf_str(out, ", ");
	print_number(&one, be, out);
	buf_char(out, ']');
}

static void print_element(const struct field *f, uint64_t bits, struct buf *out)
{
	if (field_is_both(f))
		print_both(f, bits, out);
	else if ((f->flags & FL_NULL) && bits == field_mask(f))
		buf_str(out, "null");
	else if (f->view == V_FLAGS)
		print_flags(f, bits, out);
	else if (f->view == V_ENUM)
		print_enum(f, bits, out);
	else if (f->view == V_HEX || (is_float(f) && is_nan(f, bits)))
		print_hex(out, bits, hex_digits(f));
	else
		print_number(f, bits, out);
}

/* Text that is a list is one even when it has one byte. */
static bool is_list(const struct field *f)
{
	return f->count > 1 || f->type == F_TEXT;
}

static void print_elements(const struct field *f, bool be, const uint8_t *raw, struct buf *out)
{
	unsigned n = f->count;

	while (n && f->flags & FL_TRIM && !raw[f->at + n - 1])
		n--;
	if (!is_list(f)) {
		print_element(f, field_get(f, be, raw, 0), out);
		return;
	}
	buf_char(out, '[');
	for (unsigned i = 0; i < n; i++) {
		if (i)
			buf_str(out, ", ");
		print_element(f, field_get(f, be, raw, i), out);
	}
	buf_char(out, ']');
}

static bool is_printable(uint8_t c)
{
	return c >= 0x20 && c < 0x7f;
}

static void print_text(const struct field *f, const uint8_t *raw, struct buf *out)
{
	const uint8_t *p = raw + f->at;
	unsigned n = 0, end;

	while (n < f->count && is_printable(p[n]))
		n++;
	for (end = n; end < f->count && !p[end]; end++)
		;
	if (end < f->count || (n == f->count && f->flags & FL_ENDED)) {
		print_elements(f, false, raw, out);
		return;
	}
	buf_char(out, '"');
	for (unsigned i = 0; i < n; i++) {
		if (p[i] == '"' || p[i] == '\\')
			buf_char(out, '\\');
		buf_char(out, (char)p[i]);
	}
	buf_char(out, '"');
}

/* Hex digits that some YAML reader takes for a number: 0123, 1e5, and 0b01, which is binary in YAML 1.1. */
static bool reads_as_number(const char *p, size_t n)
{
	size_t mantissa = strspn(p, "0123456789");

	if (n > 2 && p[0] == '0' && p[1] == 'b')
		return strspn(p + 2, "01") == n - 2;
	if (mantissa == n)
		return true;
	return mantissa && p[mantissa] == 'e' && mantissa + 1 < n &&
	       strspn(p + mantissa + 1, "0123456789") == n - mantissa - 1;
}

static void print_bytes(const struct field *f, const uint8_t *raw, struct buf *out)
{
	size_t n = (size_t)f->count * 2;
	char *p = (char *)buf_room(out, n + 3);
	bool quote;

	if (!p)
		return;
	for (unsigned i = 0; i < f->count; i++) {
		p[i * 2] = "0123456789abcdef"[raw[f->at + i] >> 4];
		p[i * 2 + 1] = "0123456789abcdef"[raw[f->at + i] & 15];
	}
	p[n] = '\0';
	quote = reads_as_number(p, n);
	if (quote) {
		memmove(p + 1, p, n);
		p[0] = p[n + 1] = '"';
	}
	out->len += n + (quote ? 2 : 0);
}

void field_print(const struct field *f, bool be, const uint8_t *raw, struct buf *out)
{
	struct field shown = as_shown(f);

	if (field_is_bytes(f))
		print_bytes(f, raw, out);
	else if (f->type == F_TEXT)
		print_text(f, raw, out);
	else
		print_elements(&shown, be, raw, out);
}

/* ---- parsing ---- */

struct scan { const char *p, *end; struct err *e; };
struct word { const char *p; size_t n; };

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
}

static bool at_char(const struct scan *s, char c)
{
	return s->p < s->end && *s->p == c;
}

static bool take_char(struct scan *s, char c)
{
	skip_blanks(s);
	if (!at_char(s, c))
		return false;
	s->p++;
	return true;
}

/* Up to a blank, a comma or a bracket. */
static struct word take_word(struct scan *s)
{
	struct word w;

	skip_blanks(s);
	w.p = s->p;
	while (s->p < s->end && (!*s->p || !strchr(" \t\r\n,[]{}", *s->p)))
		s->p++;
	w.n = (size_t)(s->p - w.p);
	return w;
}

static bool word_is(struct word w, const char *text)
{
	return w.n == strlen(text) && !memcmp(w.p, text, w.n);
}

/* A word as messages quote it: short, and nothing in it that could disturb a terminal. */
struct quoted { char text[44]; };

static struct quoted quote(struct word w)
{
	struct quoted q;
	size_t n = w.n < sizeof q.text - 4 ? w.n : sizeof q.text - 4;

	for (size_t i = 0; i < n; i++)
		q.text[i] = is_printable((uint8_t)w.p[i]) ? w.p[i] : '?';
	strcpy(q.text + n, n < w.n ? "..." : "");
	return q;
}

static int refuse(const struct scan *s, struct word w, const char *why)
{
	return err_set(s->e, EINVAL, "\"%s\" %s", quote(w).text, why);
}

static int refuse_rest(struct scan *s, const char *expected)
{
	struct word rest = { s->p, (size_t)(s->end - s->p) };

	if (!rest.n)
		return err_set(s->e, EINVAL, "nothing found, expected %s", expected);
	return err_set(s->e, EINVAL, "\"%s\" found, expected %s", quote(rest).text, expected);
}

static bool looks_octal(struct word w)
{
	size_t sign = w.n && (w.p[0] == '-' || w.p[0] == '+');

	return w.n > sign + 1 && w.p[sign] == '0' && w.p[sign + 1] >= '0' && w.p[sign + 1] <= '9';
}

static bool has_hex_prefix(struct word w)
{
	return w.n > 2 && w.p[0] == '0' && (w.p[1] == 'x' || w.p[1] == 'X');
}

/* An integer of any length: its size, `more` when 64 bits cannot hold it. */
struct integer { uint64_t v; bool minus, more; };

static int parse_digits(const struct scan *s, struct word w, struct integer *out)
{
	bool hex = has_hex_prefix(w), minus = w.n && w.p[0] == '-';
	size_t i = hex ? 2 : w.n && (minus || w.p[0] == '+');
	uint64_t base = hex ? 16 : 10;

	*out = (struct integer){ 0, minus, false };

	if (looks_octal(w))
		return refuse(s, w, "looks like an octal number; write it without leading zeros");
	if (i == w.n)
		return refuse(s, w, "is not a number");
	for (; i < w.n; i++) {
		int digit = num_hex_digit(w.p[i]);

		if (digit < 0 || (!hex && digit > 9))
			return refuse(s, w, "is not a number");
		out->more |= out->v > (UINT64_MAX - (unsigned)digit) / base;
		out->v = out->v * base + (unsigned)digit;
	}
	return 0;
}

static int parse_integer(const struct field *f, const struct scan *s, struct word w, uint64_t *bits)
{
	bool minus = field_is_signed(f) && f->view == V_NUMBER;
	uint64_t mask = field_mask(f), high = minus ? mask >> 1 : mask, low = minus ? high + 1 : 0;
	struct integer i;
	int rc = parse_digits(s, w, &i);

	if (rc)
		return rc;
	if (!i.more && i.v <= (i.minus ? low : high)) {
		*bits = i.minus ? -i.v & mask : i.v;
		return 0;
	}
	if (f->view == V_HEX || f->view == V_FLAGS)
		return err_set(s->e, EINVAL, "%s is outside 0x%0*x..0x%" PRIx64, quote(w).text, (int)hex_digits(f), 0u,
			       high);
	return err_set(s->e, EINVAL, "%s is outside %s%" PRIu64 "..%" PRIu64, quote(w).text, minus ? "-" : "", low,
		       high);
}

static int parse_nan(const struct field *f, const struct scan *s, struct word w, uint64_t *bits)
{
	struct integer i;
	int rc = parse_digits(s, w, &i);

	if (rc)
		return rc;
	if (i.more || i.v > field_mask(f) || !is_nan(f, i.v))
		return refuse(s, w, "is not the bits of a NaN; other floats are decimal");
	*bits = i.v;
	return 0;
}

static int parse_float(const struct field *f, const struct scan *s, struct word w, uint64_t *bits)
{
	bool half = f->type == F_F16;
	float v;

	if (has_hex_prefix(w))
		return parse_nan(f, s, w, bits);
	if (word_is(w, ".inf") || word_is(w, "+.inf") || word_is(w, "-.inf")) {
		v = w.p[0] == '-' ? -INFINITY : INFINITY;
		*bits = half ? f32_half(v) : f32_bits(v);
		return 0;
	}
	if (looks_octal(w))
		return refuse(s, w, "looks like an octal number; write it without leading zeros");
	if (!num_parse_f32(w.p, w.n, &v))
		return refuse(s, w, "is not a number that a 32-bit float can hold");
	*bits = half ? f32_half(v) : f32_bits(v);
	if (half && isinf(half_f32((uint16_t)*bits)))
		return err_set(s->e, EINVAL, "%s is outside -65504..65504, what a 16-bit float can hold",
			       quote(w).text);
	return 0;
}

static int parse_fixed(const struct field *f, const struct scan *s, struct word w, uint64_t *bits)
{
	bool angle = f->type == F_ANGLE;
	int64_t v, low = angle ? -65536 : INT32_MIN, high = angle ? 65536 : INT32_MAX;

	if (looks_octal(w))
		return refuse(s, w, "looks like an octal number; write it without leading zeros");
	if (!num_parse_fixed(w.p, w.n, angle ? ANGLE_BITS : 16, angle ? ANGLE_OVER : 1, &v))
		return refuse(s, w, "is not a number");
	if (v < low || v > high)
		return err_set(s->e, EINVAL, "%s is outside %s", quote(w).text,
			       angle ? "-360..360" : "-32768..32767.99998");
	*bits = (uint64_t)v & field_mask(f);
	return 0;
}

/* ---- names ---- */

#define NAME_MAX_ 32u

/* Letters to change, add or take away to make b of a; at most NAME_MAX_ letters each. */
static unsigned distance(struct word a, const char *b)
{
	unsigned row[NAME_MAX_ + 1], n = (unsigned)strlen(b);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; i < a.n; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned j = 0; j < n; j++) {
			unsigned change = diagonal + (a.p[i] != b[j]), shorter = row[j + 1] + 1, longer = row[j] + 1;

			diagonal = row[j + 1];
			row[j + 1] = change < shorter ? change : shorter;
			row[j + 1] = row[j + 1] < longer ? row[j + 1] : longer;
		}
	}
	return row[n];
}

const char *label_nearest(const struct label *l, const char *word, size_t n)
{
	struct word w = { word, n };
	unsigned best = (unsigned)(n + 2) / 3 + 1;
	const char *name = NULL;

	for (; n <= NAME_MAX_ && l->name; l++) {
		unsigned d = strlen(l->name) <= NAME_MAX_ ? distance(w, l->name) : best;

		if (d < best) {
			best = d;
			name = l->name;
		}
	}
	return name;
}

struct label_names label_list(const struct label *l)
{
	struct label_names names = { "" };
	size_t n = 0;

	for (const struct label *first = l; l->name; l++) {
		if (n + strlen(l->name) + sizeof ", ..." > sizeof names.text) {
			strcpy(names.text + n, ", ...");
			break;
		}
		n = (size_t)(stpcpy(stpcpy(names.text + n, l > first ? ", " : ""), l->name) - names.text);
	}
	return names;
}

static int refuse_name(const struct scan *s, const struct label *l, struct word w)
{
	const char *near = label_nearest(l, w.p, w.n);

	return err_set(s->e, EINVAL, "\"%s\" is none of %s%s%s", quote(w).text, label_list(l).text,
		       near ? "; nearest is " : "", near ? near : "");
}

static int parse_name(const struct field *f, const struct scan *s, struct word w, uint64_t *bits)
{
	for (const struct label *l = f->labels; l->name; l++) {
		if (word_is(w, l->name)) {
			*bits = l->value;
			return 0;
		}
	}
	if (w.n && strchr("+-0123456789", w.p[0]) && w.p[0])
		return parse_integer(f, s, w, bits);
	return refuse_name(s, f->labels, w);
}

/* ---- values ---- */

static int parse_element(const struct field *f, struct scan *s, uint64_t *bits);

static int parse_flags(const struct field *f, struct scan *s, uint64_t *bits)
{
	*bits = 0;
	while (!take_char(s, ']')) {
		struct word w = take_word(s);
		uint64_t one = 0;
		int rc = w.n ? parse_name(f, s, w, &one) : refuse_rest(s, "a name, a number or ]");

		if (rc)
			return rc;
		*bits |= one;
		skip_blanks(s);
		if (!at_char(s, ']') && !take_char(s, ','))
			return refuse_rest(s, "a comma or ]");
	}
	return 0;
}

/* A number for both copies, or [one, other]. */
static int parse_both(const struct field *f, struct scan *s, uint64_t *bits)
{
	struct field one = copy_of(f);
	uint64_t le, be;
	bool two = take_char(s, '[');
	int rc = parse_element(&one, s, &le);

	be = le;
	if (!rc && two && !take_char(s, ','))
		return refuse_rest(s, "a comma and another value");
	if (!rc && two)
		rc = parse_element(&one, s, &be);
	if (!rc && two && !take_char(s, ']'))
		return refuse_rest(s, "]");
	if (!rc)
		*bits = le | be << field_bits(&one);
	return rc;
}

static int parse_element(const struct field *f, struct scan *s, uint64_t *bits)
{
	struct word w;

	if (field_is_both(f))
		return parse_both(f, s, bits);
	if (f->view == V_FLAGS && take_char(s, '['))
		return parse_flags(f, s, bits);
	w = take_word(s);
	if (!w.n)
		return refuse_rest(s, "one value");
	if ((f->flags & FL_NULL) && (word_is(w, "null") || word_is(w, "~"))) {
		*bits = field_mask(f);
		return 0;
	}
	if (f->view == V_FLAGS && !strchr("0123456789", w.p[0]))
		return refuse(s, w, "is not a list of names");
	if (f->view == V_ENUM)
		return parse_name(f, s, w, bits);
	if (f->type == F_FIX32 || f->type == F_ANGLE)
		return parse_fixed(f, s, w, bits);
	return is_float(f) ? parse_float(f, s, w, bits) : parse_integer(f, s, w, bits);
}

static int parse_elements(const struct field *f, bool be, uint8_t *raw, struct scan *s)
{
	bool list = is_list(f);
	unsigned i = 0;
	uint64_t bits = 0;
	int rc;

	if (list && !take_char(s, '['))
		return refuse_rest(s, "a list: [...]");
	while (!list || !take_char(s, ']')) {
		if (i == f->count)
			return err_set(s->e, EINVAL, "more than %u values in the list", f->count);
		rc = parse_element(f, s, &bits);
		if (rc)
			return rc;
		if (raw)
			field_set(f, be, raw, i, bits);
		i++;
		if (!list)
			return 0;
		skip_blanks(s);
		if (!at_char(s, ']') && !take_char(s, ','))
			return refuse_rest(s, "a comma or ]");
	}
	if (f->flags & FL_TRIM && i < f->count) {
		if (raw)
			memset(raw + f->at + i, 0, f->count - i);
		return 0;
	}
	return i == f->count ? 0 : err_set(s->e, EINVAL, "%u values in the list, expected %u", i, f->count);
}

#define TEXT_END 256

/* The next character of a quoted text, or TEXT_END, or an error. */
static int text_char(struct scan *s, char mark)
{
	uint8_t c;

	if (s->p == s->end)
		return err_set(s->e, EINVAL, "the text has no closing %c", mark);
	c = (uint8_t)*s->p++;
	if (c == mark && !(mark == '\'' && at_char(s, mark)))
		return TEXT_END;
	if (!is_printable(c))
		return err_set(s->e, EINVAL, "byte 0x%02x is not printable; give the text as a list of bytes", c);
	if (c == '\\' && mark == '"' && !at_char(s, '"') && !at_char(s, '\\'))
		return refuse_rest(s, "\" or \\ behind a backslash");
	if (c == mark || (c == '\\' && mark == '"'))
		c = (uint8_t)*s->p++;
	return c;
}

static int parse_text(const struct field *f, uint8_t *raw, struct scan *s)
{
	char mark = take_char(s, '"') ? '"' : take_char(s, '\'') ? '\'' : '\0';
	unsigned n = 0, most = f->count - !!(f->flags & FL_ENDED);
	int c;

	if (!mark && at_char(s, '['))
		return parse_elements(f, false, raw, s);
	if (!mark)
		return refuse_rest(s, "a quoted text or a list of bytes");
	while ((c = text_char(s, mark)) >= 0 && c != TEXT_END) {
		if (n < f->count && raw)
			raw[f->at + n] = (uint8_t)c;
		n++;
	}
	if (c < 0)
		return c;
	if (n > most && most < f->count)
		return err_set(s->e, EINVAL, "%u bytes, at most %u", n, most);
	if (n > most)
		return err_set(s->e, EINVAL, "the text has %u characters, at most %u fit", n, most);
	if (raw)
		memset(raw + f->at + n, 0, f->count - n);
	return 0;
}

static int parse_bytes(const struct field *f, uint8_t *raw, struct scan *s)
{
	struct word w = take_word(s), all = w;
	bool bad;

	if (w.n > 1 && (w.p[0] == '"' || w.p[0] == '\'') && w.p[w.n - 1] == w.p[0]) {
		w.p++;
		w.n -= 2;
	}
	bad = w.n != (size_t)f->count * 2;
	for (size_t i = 0; i < w.n && !bad; i++)
		bad = num_hex_digit(w.p[i]) < 0;
	if (bad)
		return err_set(s->e, EINVAL, "\"%s\" is not %u hex digits", quote(all).text, f->count * 2);
	for (unsigned i = 0; i < f->count && raw; i++)
		raw[f->at + i] = (uint8_t)(num_hex_digit(w.p[i * 2]) << 4 | num_hex_digit(w.p[i * 2 + 1]));
	return 0;
}

/* raw NULL: only whether the text is a value of this field. */
static int parse_value(const struct field *f, bool be, uint8_t *raw, struct scan *s)
{
	int rc;

	if (field_is_bytes(f))
		rc = parse_bytes(f, raw, s);
	else if (f->type == F_TEXT)
		rc = parse_text(f, raw, s);
	else
		rc = parse_elements(f, be, raw, s);
	skip_blanks(s);
	return rc || s->p == s->end ? rc : refuse_rest(s, "nothing behind the value");
}

int field_parse(const struct field *f, bool be, uint8_t *raw, const char *text, size_t n, struct err *e)
{
	struct field shown = as_shown(f);
	const char *from = n ? text : "";      /* an empty buffer has no address */
	struct scan s = { from, from + n, e }, again = s;
	int rc = parse_value(&shown, be, NULL, &s);

	return rc ? rc : parse_value(&shown, be, raw, &again);
}
