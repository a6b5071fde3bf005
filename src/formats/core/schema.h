/* Record tables: one table per record says which bytes mean what. It drives decoding, encoding, the YAML view, the
 * round-trip check and the reference page.
 *
 * Rules: a version is another table onto the same C struct; byte order is an argument; every byte belongs to a field
 * (unknown bytes are RAW, expected zeros are PAD); all values are handled as raw bits, so NaN payloads, negative zero
 * and unused flag bits survive. The order of a table is the order of the view, not of the bytes. */
#ifndef MODELFS_SCHEMA_H
#define MODELFS_SCHEMA_H

#include "base.h"

enum field_type {
	F_U8, F_U16, F_U32, F_U64, F_I8, F_I16, F_I32,
	F_F16,                                 /* IEEE half; shown as the f32 it is */
	F_F32,
	F_FIX32,                               /* an i32, 65536 of which are 1.0 */
	F_ANGLE,                               /* an i16, 65536 of which are the circle; shown in degrees */
	F_BOTH16, F_BOTH32,                    /* an integer stored twice: little-endian, then big-endian */
	F_TEXT,                                /* count bytes of text, padded with zeros */
	F_RAW,                                 /* count bytes nobody understands */
	F_PAD,                                 /* count bytes expected to be zero; shown only when they are not */
	F_INLINE                               /* the fields of `sub` at this offset */
};

enum field_view {
	V_NUMBER,                              /* decimal; f32 by num_f32() */
	V_HEX,                                 /* zero-padded 0x..., for integers; `digits` of them, 0: all */
	V_FLAGS,                               /* [name, name, 0x00000100]: labels name bits, the rest is one number */
	V_ENUM,                                /* a label's name, or hex (width of the bits) when it has none */
	V_COLOUR                               /* u8[4] or a u32 read as bytes: [r, g, b, a] */
};

enum field_flags {
	FL_DERIVED = 1,                        /* shown with "# derived"; follows from something else */
	FL_HIDDEN = 2,                         /* not in the YAML view, only in raw/: magics, table offsets */
	FL_NULL = 4,                           /* all bits set is shown as null: a missing reference */
	FL_ODD = 8,                            /* expected to be zero; shown only when it is not, as padding is */
	FL_TRIM = 16,                          /* F_TEXT as a list of bytes: without the zeros at its end */
	FL_PUT = 32,                           /* other bytes follow: an edit leaves it to model_ops.doc_put() */
	FL_ENDED = 64                          /* F_TEXT: a zero ends it, so that one byte less is text */
};

struct label { uint32_t value; const char *name; };    /* ends with a NULL name; V_FLAGS: the mask of one bit */
struct record;

struct field {
	const char *name;                      /* the C member, the YAML key and the word in the reference page */
	const char *doc;                       /* one sentence, without a final stop */
	uint32_t at;                           /* offset in the record */
	uint16_t count;                        /* elements; 1 for a scalar */
	uint16_t member;                       /* offsetof in the decoded struct; FIELD_NO_MEMBER */
	uint8_t type, view, flags;
	uint8_t bit, bits;                     /* part of an integer: lowest bit and width; bits 0: all of it */
	uint8_t digits;
	const struct label *labels;
	const struct record *sub;
	const char *comment;                   /* unit or range, printed behind the value; NULL: none */
};
#define FIELD_NO_MEMBER 0xffff

/* Both copies of such an integer, as they are stored. They are shown as one number, or as [le, be] when they differ. */
struct both16 { uint16_t le, be; };
struct both32 { uint32_t le, be; };

struct record {
	const char *name, *doc;
	uint32_t size;                         /* bytes in the file */
	const struct field *fields;
	unsigned nfields;
};

/* ---- tables ----------------------------------------------------------------------------------------------------
 *
 * #define S struct pmo_mesh
 * static const struct field fields[] = { U16(S, group_count, 0x0c, "Groups", .flags = FL_DERIVED), PAD(0x09, 1) };
 * #undef S
 *
 * The macros check the member's C type and array length when compiling. */
#define FIELD_TYPE_OK_(S, m, T) (sizeof(char[1 - 2 * !_Generic(((S *)0)->m, T: 1, default: 0)]) * 0)
#define FIELD_LENGTH_OK_(S, m, T, n) \
	(sizeof(char[1 - 2 * !(_Generic(&((S *)0)->m[0], T *: 1, default: 0) && \
			       sizeof(((S *)0)->m) == (n) * sizeof(T))]) * 0)
#define FIELD1_(S, m, T, F, at_, doc_, ...) \
	{ .name = #m, .doc = doc_, .at = (at_), .count = 1, .type = F, \
	  .member = offsetof(S, m) + FIELD_TYPE_OK_(S, m, T), __VA_ARGS__ }
#define FIELDN_(S, m, T, F, at_, n, doc_, ...) \
	{ .name = #m, .doc = doc_, .at = (at_), .count = (n), .type = F, \
	  .member = offsetof(S, m) + FIELD_LENGTH_OK_(S, m, T, n), __VA_ARGS__ }

#define U8(S, m, at, doc, ...) FIELD1_(S, m, uint8_t, F_U8, at, doc, __VA_ARGS__)
#define U16(S, m, at, doc, ...) FIELD1_(S, m, uint16_t, F_U16, at, doc, __VA_ARGS__)
#define U32(S, m, at, doc, ...) FIELD1_(S, m, uint32_t, F_U32, at, doc, __VA_ARGS__)
#define U64(S, m, at, doc, ...) FIELD1_(S, m, uint64_t, F_U64, at, doc, __VA_ARGS__)
#define I16(S, m, at, doc, ...) FIELD1_(S, m, int16_t, F_I16, at, doc, __VA_ARGS__)
#define I32(S, m, at, doc, ...) FIELD1_(S, m, int32_t, F_I32, at, doc, __VA_ARGS__)
#define F32(S, m, at, doc, ...) FIELD1_(S, m, float, F_F32, at, doc, __VA_ARGS__)
#define FIX32(S, m, at, doc, ...) FIELD1_(S, m, int32_t, F_FIX32, at, doc, __VA_ARGS__)
#define FIX32N(S, m, at, n, doc, ...) FIELDN_(S, m, int32_t, F_FIX32, at, n, doc, __VA_ARGS__)
#define ANGLEN(S, m, at, n, doc, ...) FIELDN_(S, m, int16_t, F_ANGLE, at, n, doc, __VA_ARGS__)
#define BOTH16(S, m, at, doc, ...) FIELD1_(S, m, struct both16, F_BOTH16, at, doc, __VA_ARGS__)
#define BOTH32(S, m, at, doc, ...) FIELD1_(S, m, struct both32, F_BOTH32, at, doc, __VA_ARGS__)
#define U8N(S, m, at, n, doc, ...) FIELDN_(S, m, uint8_t, F_U8, at, n, doc, __VA_ARGS__)
#define I8N(S, m, at, n, doc, ...) FIELDN_(S, m, int8_t, F_I8, at, n, doc, __VA_ARGS__)
#define I16N(S, m, at, n, doc, ...) FIELDN_(S, m, int16_t, F_I16, at, n, doc, __VA_ARGS__)
/* The member has the bits; half.h makes numbers of them. */
#define F16N(S, m, at, n, doc, ...) FIELDN_(S, m, uint16_t, F_F16, at, n, doc, __VA_ARGS__)
#define U16N(S, m, at, n, doc, ...) FIELDN_(S, m, uint16_t, F_U16, at, n, doc, __VA_ARGS__)
#define U32N(S, m, at, n, doc, ...) FIELDN_(S, m, uint32_t, F_U32, at, n, doc, __VA_ARGS__)
#define F32N(S, m, at, n, doc, ...) FIELDN_(S, m, float, F_F32, at, n, doc, __VA_ARGS__)
#define TEXT(S, m, at, n, doc, ...) FIELDN_(S, m, char, F_TEXT, at, n, doc, __VA_ARGS__)
/* Fields without a member. RAW's name is unknown_OFFSET by custom. */
#define RAW(name_, at_, n, doc_) \
	{ .name = name_, .doc = doc_, .at = (at_), .count = (n), .type = F_RAW, .member = FIELD_NO_MEMBER }
#define PAD(name_, at_, n) \
	{ .name = name_, .doc = "Zero", .at = (at_), .count = (n), .type = F_PAD, .member = FIELD_NO_MEMBER }
#define INLINE(at_, sub_) { .name = "", .doc = "", .at = (at_), .count = 1, .type = F_INLINE, .sub = (sub_) }
#define RECORD(name_, doc_, size_, fields_) \
	{ .name = name_, .doc = doc_, .size = (size_), .fields = (fields_), .nfields = ARRAY_LEN(fields_) }

/* ---- use -------------------------------------------------------------------------------------------------------- */

unsigned field_width(const struct field *f);                   /* bytes of one element */
unsigned field_bits(const struct field *f);                    /* of one element: its bit field's, or all */
uint64_t field_mask(const struct field *f);                    /* that many bits set */
uint64_t field_extend(const struct field *f, uint64_t bits);   /* with the sign bit of a signed type repeated */
static inline bool field_is_signed(const struct field *f)
{
	return f->type == F_I8 || f->type == F_I16 || f->type == F_I32 || f->type == F_FIX32 || f->type == F_ANGLE;
}
static inline bool field_is_integer(const struct field *f)
{
	return f->type < F_F16;
}
static inline bool field_is_both(const struct field *f)
{
	return f->type == F_BOTH16 || f->type == F_BOTH32;
}
static inline bool field_is_bytes(const struct field *f)
{
	return f->type == F_RAW || f->type == F_PAD;
}
/* Element i as raw bits (shifted down for a bit field; of an integer stored twice, the big-endian copy above the other),
 * and back; other bits of the bytes stay. raw: the record. */
uint64_t field_get(const struct field *f, bool be, const uint8_t *raw, unsigned i);
void field_set(const struct field *f, bool be, uint8_t *raw, unsigned i, uint64_t bits);
/* Whether the YAML view has it: not hidden, and padding only when it is not zero. */
bool field_shown(const struct field *f, bool be, const uint8_t *raw);
static inline bool field_is_pad(const struct field *f)
{
	return f->type == F_PAD || f->flags & FL_ODD;
}
/* The value as YAML text, a list for count > 1; and text of a value back into raw. EINVAL: not a value of this field,
 * with what was found and expected. Text equal to the printed one leaves the bytes as they are. */
void field_print(const struct field *f, bool be, const uint8_t *raw, struct buf *out);
int field_parse(const struct field *f, bool be, uint8_t *raw, const char *text, size_t n, struct err *e);

/* The label a misspelt word probably means: at most a third of its letters differ. NULL: none is near. */
const char *label_nearest(const struct label *l, const char *word, size_t n);
/* Their names, separated by commas, as many as a message has room for. */
struct label_names { char text[128]; };
struct label_names label_list(const struct label *l);

/* Record -> decoded struct and back. Members of INLINE records are members of the same struct. Encoding writes over
 * `raw`, so bytes without a member stay. */
void rec_decode(const struct record *r, bool be, const uint8_t *raw, void *out);
void rec_encode(const struct record *r, bool be, const void *in, uint8_t *raw);
/* Calls fn for every field that is not INLINE, in table order, with a copy whose `at` counts from the outer record.
 * Stops at the first result that is not 0 and returns it. */
int rec_each(const struct record *r, int (*fn)(void *ctx, const struct field *f), void *ctx);
/* The field of that name, `at` counting from the outer record; false when there is none. */
bool rec_field(const struct record *r, const char *name, struct field *out);
/* EINVAL unless the table's fields tile the record without gaps and overlaps, with unique names and docs. */
int rec_check(const struct record *r, struct err *e);

#endif
