/* Record tables: text of every kind of field and back, what is refused and how, the check of a table, and the tables of
 * every registered format over random bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format.h"

#define ROOM 64

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* Whole runs of equal bytes are what files hold and what special values are made of. */
static void random_bytes(uint8_t *p, size_t n)
{
	static const uint8_t common[] = { 0x00, 0xff, 0x7f, 0x80, 'a', '1', 'e', '"', '\\' };
	uint32_t kind = next_random() % 4;

	for (size_t i = 0; i < n; i++)
		p[i] = kind ? (uint8_t)next_random() : common[next_random() % ARRAY_LEN(common)];
	if (kind == 1)
		memset(p, common[next_random() % ARRAY_LEN(common)], n);
	if (kind == 2)
		memset(p + n / 2, 0, n - n / 2);
}

/* ---- fields of all kinds ---- */

static const struct label bit_names[] = {
	{ 1u << 0, "lighting" }, { 1u << 1, "fog" }, { 1u << 2, "alpha_blend" }, { 1u << 31, "enable" }, { 0, NULL }
};
static const struct label low_bits[] = { { 1, "one" }, { 4, "three" }, { 0, NULL } };
static const struct label channels[] = { { 8, "rotation_x" }, { 16, "rotation_y" }, { 64, "location_x" }, { 0, NULL } };
static const struct label kinds[] = { { 0, "zero" }, { 2, "2d" }, { 3, "three" }, { 0, NULL } };

#define FIELD(...) LIST(1, __VA_ARGS__)
#define LIST(n, ...) (struct field){ .name = "f", .doc = "Doc", .count = n, .member = FIELD_NO_MEMBER, __VA_ARGS__ }

enum {
	NUM_U8, NUM_U16, NUM_U32, NUM_I8, NUM_I16, NUM_I32, NUM_F32, HEX_U8, HEX_U16, HEX_U32, HEX_BITS, BITS,
	BITS_SIGNED, BITS_ALL, FLAGS, FLAGS_BITS, FLAGS_TWO, FLAGS_NULL, ENUM, ENUM_BITS, ENUM_SIGNED,
	ENUM_TWO, NULL_U8, NULL_I16, NULL_F32, NULL_BITS, COLOUR_BYTES, COLOUR_WORD, LIST_I16, LIST_F32,
	LIST_HEX, LIST_BITS, NUM_U64, HEX_U64, HEX_U64_8, BITS_U64, NUM_F16, LIST_F16, FIX, ANGLE, LIST_FIX, TEXT_1,
	TEXT_8, TEXT_TRIM, TEXT_ENDED, RAW_1, RAW_2, RAW_8, PAD_3, BOTH_16, BOTH_32,
	ALL_FIELDS
};

static const struct field fields[ALL_FIELDS] = {
	[NUM_U8] = FIELD(.at = 3, .type = F_U8),
	[NUM_U16] = FIELD(.at = 3, .type = F_U16),
	[NUM_U32] = FIELD(.at = 3, .type = F_U32),
	[NUM_I8] = FIELD(.type = F_I8),
	[NUM_I16] = FIELD(.type = F_I16),
	[NUM_I32] = FIELD(.type = F_I32),
	[NUM_F32] = FIELD(.type = F_F32),
	[HEX_U8] = FIELD(.type = F_U8, .view = V_HEX),
	[HEX_U16] = FIELD(.type = F_U16, .view = V_HEX),
	[HEX_U32] = FIELD(.type = F_U32, .view = V_HEX),
	[HEX_BITS] = FIELD(.type = F_U32, .view = V_HEX, .bit = 3, .bits = 9),
	[BITS] = FIELD(.type = F_U16, .bit = 4, .bits = 5),
	[BITS_SIGNED] = FIELD(.type = F_I16, .bit = 4, .bits = 5),
	[BITS_ALL] = FIELD(.type = F_I32, .bit = 0, .bits = 32),
	[FLAGS] = FIELD(.type = F_U32, .view = V_FLAGS, .labels = bit_names),
	[FLAGS_BITS] = FIELD(.type = F_U8, .view = V_FLAGS, .labels = low_bits, .bit = 2, .bits = 6),
	[FLAGS_TWO] = LIST(2, .type = F_U8, .view = V_FLAGS, .labels = low_bits),
	[FLAGS_NULL] = FIELD(.type = F_U8, .view = V_FLAGS, .labels = low_bits, .flags = FL_NULL),
	[ENUM] = FIELD(.type = F_U16, .view = V_ENUM, .labels = channels),
	[ENUM_BITS] = FIELD(.type = F_U8, .view = V_ENUM, .labels = kinds, .bit = 6, .bits = 2),
	[ENUM_SIGNED] = FIELD(.type = F_I32, .view = V_ENUM, .labels = kinds),
	[ENUM_TWO] = LIST(2, .type = F_U8, .view = V_ENUM, .labels = channels),
	[NULL_U8] = FIELD(.type = F_U8, .flags = FL_NULL),
	[NULL_I16] = FIELD(.type = F_I16, .flags = FL_NULL),
	[NULL_F32] = FIELD(.type = F_F32, .flags = FL_NULL),
	[NULL_BITS] = FIELD(.type = F_U8, .flags = FL_NULL, .bit = 1, .bits = 3),
	[COLOUR_BYTES] = LIST(4, .type = F_U8, .view = V_COLOUR),
	[COLOUR_WORD] = FIELD(.type = F_U32, .view = V_COLOUR),
	[LIST_I16] = LIST(4, .type = F_I16),
	[LIST_F32] = LIST(3, .type = F_F32),
	[LIST_HEX] = LIST(2, .type = F_U16, .view = V_HEX),
	[LIST_BITS] = LIST(3, .type = F_U8, .bit = 4, .bits = 4),
	[NUM_U64] = FIELD(.at = 3, .type = F_U64),
	[HEX_U64] = FIELD(.type = F_U64, .view = V_HEX),
	[HEX_U64_8] = FIELD(.type = F_U64, .view = V_HEX, .digits = 8),
	[BITS_U64] = FIELD(.type = F_U64, .bit = 30, .bits = 34),
	[NUM_F16] = FIELD(.type = F_F16),
	[LIST_F16] = LIST(2, .type = F_F16),
	[TEXT_1] = LIST(1, .type = F_TEXT),
	[TEXT_8] = LIST(8, .type = F_TEXT),
	[TEXT_TRIM] = LIST(8, .type = F_TEXT, .flags = FL_TRIM),
	[FIX] = FIELD(.type = F_FIX32),
	[ANGLE] = FIELD(.type = F_ANGLE),
	[LIST_FIX] = LIST(2, .type = F_FIX32),
	[TEXT_ENDED] = LIST(4, .type = F_TEXT, .flags = FL_ENDED),
	[RAW_1] = LIST(1, .type = F_RAW),
	[RAW_2] = LIST(2, .type = F_RAW),
	[RAW_8] = LIST(8, .type = F_RAW),
	[PAD_3] = LIST(3, .at = 1, .type = F_PAD),
	[BOTH_16] = FIELD(.at = 3, .type = F_BOTH16),
	[BOTH_32] = FIELD(.type = F_BOTH32),
};

static void flip(const struct field *f, bool be, uint8_t *raw)
{
	for (unsigned i = 0; i < f->count; i++)
		field_set(f, be, raw, i, ~field_get(f, be, raw, i));
}

/* Printed, then parsed over bytes where every bit of the field is another; the bits around it keep their values. */
static void assert_identity(const struct field *f, bool be, const uint8_t *raw, size_t n, struct buf *text)
{
	uint8_t *again = malloc(n);
	struct err e = { 0 };

	assert_non_null(again);
	memcpy(again, raw, n);
	flip(f, be, again);
	text->len = 0;
	field_print(f, be, raw, text);
	buf_char(text, '\0');
	assert_false(text->bad);
	if (field_parse(f, be, again, (char *)text->p, text->len - 1, &e) || memcmp(raw, again, n))
		fail_msg("%s: %s: %s", f->name, (char *)text->p, e.text);
	free(again);
}

static void test_identity(void **state)
{
	struct buf text = { 0 };
	uint8_t raw[ROOM];

	(void)state;
	for (unsigned i = 0; i < ALL_FIELDS; i++) {
		for (unsigned k = 0; k < 4000; k++) {
			random_bytes(raw, sizeof raw);
			assert_identity(&fields[i], k & 1, raw, sizeof raw, &text);
		}
	}
	buf_free(&text);
}

/* All values of everything that has at most 16 bits. */
static void test_identity_of_all_values(void **state)
{
	struct buf text = { 0 };
	uint8_t raw[ROOM] = { 0 };

	(void)state;
	for (unsigned i = 0; i < ALL_FIELDS; i++) {
		const struct field *f = &fields[i];

		if (f->type >= F_TEXT ? f->count > 2 : f->count > 1 || field_width(f) > 2)
			continue;
		for (uint32_t v = 0; v < 0x10000; v++) {
			raw[f->at] = (uint8_t)v;
			raw[f->at + 1] = (uint8_t)(v >> 8);
			assert_identity(f, false, raw, sizeof raw, &text);
		}
	}
	buf_free(&text);
}

static void test_bits_of_both_byte_orders(void **state)
{
	uint8_t raw[4] = { 0x12, 0x34, 0x56, 0x78 };

	(void)state;
	assert_int_equal(field_get(&fields[HEX_U32], false, raw, 0), 0x78563412);
	assert_int_equal(field_get(&fields[HEX_U32], true, raw, 0), 0x12345678);
	assert_int_equal(field_get(&fields[LIST_HEX], true, raw, 1), 0x5678);
	assert_int_equal(field_get(&fields[HEX_BITS], true, raw, 0), 0x12345678 >> 3 & 0x1ff);
	field_set(&fields[HEX_BITS], true, raw, 0, 0xffffffff);
	assert_int_equal(field_get(&fields[HEX_U32], true, raw, 0), 0x12345678 | 0xff8);
	field_set(&fields[HEX_BITS], false, raw, 0, 0);
	assert_int_equal(field_get(&fields[HEX_U32], false, raw, 0), 0xf85f3412 & ~0xff8u);
	assert_true(field_extend(&fields[BITS_SIGNED], 0x10) == 0xfffffffffffffff0);
	assert_int_equal(field_extend(&fields[BITS], 0x10), 0x10);
}

/* ---- exact texts ---- */

struct text_case { unsigned field; const char *bytes; size_t n; const char *text; };

#define CASE(field, bytes, text) { field, bytes, sizeof bytes - 1, text }

static const struct text_case printed[] = {
	CASE(NUM_U8, "...\xff", "255"), CASE(NUM_U16, "...\x34\x12", "4660"),
	CASE(NUM_U32, "...\xff\xff\xff\xff", "4294967295"), CASE(NUM_I8, "\x80", "-128"),
	CASE(NUM_I32, "\0\0\0\x80", "-2147483648"),
	CASE(NUM_F32, "\0\0\x80\x3f", "1.0"), CASE(NUM_F32, "\xac\xc5\x27\x37", "1.0e-05"),
	CASE(NUM_F32, "\0\0\0\x80", "-0.0"), CASE(NUM_F32, "\0\0\x80\x7f", ".inf"),
	CASE(NUM_F32, "\0\0\x80\xff", "-.inf"),
	CASE(NUM_F32, "\x01\0\xc0\x7f", "0x7fc00001"), CASE(NUM_F32, "\x01\0\x80\xff", "0xff800001"),
	CASE(HEX_U8, "\x05", "0x05"), CASE(HEX_U16, "\xab\0", "0x00ab"), CASE(HEX_U32, "\0\0\0\xdf", "0xdf000000"),
	CASE(HEX_BITS, "\x18\0\0\0", "0x003"), CASE(BITS, "\xf0\x01", "31"), CASE(BITS_SIGNED, "\xf0\x01", "-1"),
	CASE(FLAGS, "\0\0\0\0", "[]"), CASE(FLAGS, "\x03\0\0\x80", "[lighting, fog, enable]"),
	CASE(FLAGS, "\x03\x01\0\0", "[lighting, fog, 0x00000100]"), CASE(FLAGS, "\x08\0\0\0", "[0x00000008]"),
	CASE(FLAGS_BITS, "\x14", "[one, three]"), CASE(FLAGS_BITS, "\x84", "[one, 0x20]"),
	CASE(FLAGS_TWO, "\x01\x04", "[[one], [three]]"), CASE(FLAGS_NULL, "\xff", "null"),
	CASE(ENUM, "\x08\0", "rotation_x"), CASE(ENUM, "\x01\0", "0x0001"), CASE(ENUM_BITS, "\xc0", "three"),
	CASE(ENUM_BITS, "\x40", "0x1"), CASE(ENUM_BITS, "\x80", "2d"), CASE(ENUM_SIGNED, "\xff\xff\xff\xff", "0xffffffff"),
	CASE(NULL_U8, "\xff", "null"), CASE(NULL_U8, "\xfe", "254"), CASE(NULL_I16, "\xff\xff", "null"),
	CASE(NULL_I16, "\xfe\xff", "-2"), CASE(NULL_BITS, "\x0e", "null"),
	CASE(COLOUR_BYTES, "\x01\x02\x03\xff", "[1, 2, 3, 255]"),
	CASE(COLOUR_WORD, "\x7f\x7f\x7f\0", "[127, 127, 127, 0]"),
	CASE(LIST_I16, "\x00\x10\xff\xff\0\0\0\0", "[4096, -1, 0, 0]"),
	CASE(LIST_F32, "\0\0\x20\x41\0\0\xa0\x41\0\0\xa0\x40", "[10.0, 20.0, 5.0]"),
	CASE(LIST_HEX, "\x01\0\xff\xff", "[0x0001, 0xffff]"), CASE(LIST_BITS, "\x1f\x2f\xff", "[1, 2, 15]"),
	CASE(FIX, "\0\0\xff\xff", "-1.0"), CASE(FIX, "\x01\0\0\0", "0.0000152587890625"),
	CASE(FIX, "\xff\xff\xff\x7f", "32767.9999847412109375"), CASE(FIX, "\0\0\0\x80", "-32768.0"),
	CASE(ANGLE, "\0\x20", "45.0"), CASE(ANGLE, "\0\x80", "-180.0"), CASE(ANGLE, "\x01\0", "0.0054931640625"),
	CASE(LIST_FIX, "\0\x80\0\0\0\0\0\0", "[0.5, 0.0]"),
	CASE(TEXT_ENDED, "abc\0", "\"abc\""), CASE(TEXT_ENDED, "abcd", "[97, 98, 99, 100]"),
	CASE(TEXT_8, "COG\0\0\0\0\0", "\"COG\""), CASE(TEXT_8, "\0\0\0\0\0\0\0\0", "\"\""),
	CASE(TEXT_8, "a\"b\\c d~", "\"a\\\"b\\\\c d~\""),
	CASE(TEXT_8, "COG\0x\0\0\0", "[67, 79, 71, 0, 120, 0, 0, 0]"),
	CASE(TEXT_8, "\xe5\0\0\0\0\0\0\0", "[229, 0, 0, 0, 0, 0, 0, 0]"),
	CASE(TEXT_TRIM, "COG\0\0\0\0\0", "\"COG\""), CASE(TEXT_TRIM, "\xe5\0\0\0\0\0\0\0", "[229]"),
	CASE(TEXT_TRIM, "a\0\x01\0\0\0\0\0", "[97, 0, 1]"), CASE(TEXT_TRIM, "\0\0\0\0\0\0\0\0", "\"\""),
	CASE(NUM_U64, "...\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"),
	CASE(NUM_U64, "...\0\x94\x35\x77\0\0\0\0", "2000000000"),
	CASE(NUM_U64, "...\0\0\x64\xa7\xb3\xb6\xe0\x0d", "1000000000000000000"),
	CASE(NUM_U64, "...\x01\0\0\0\x01\0\0\0", "4294967297"),
	CASE(HEX_U64, "\x01\0\0\0\0\0\0\0", "0x0000000000000001"),
	CASE(HEX_U64_8, "\x40\x01\0\0\0\0\0\0", "0x00000140"),
	CASE(HEX_U64_8, "\xf8\xff\xff\xff\xff\xff\xff\xff", "0xfffffffffffffff8"),
	CASE(HEX_U64_8, "\0\0\0\0\x01\0\0\0", "0x100000000"), CASE(BITS_U64, "\0\0\0\xc0\0\0\0\x80", "8589934595"),
	CASE(NUM_F16, "\0\x3c", "1.0"), CASE(NUM_F16, "\x55\x35", "0.33325195"), CASE(NUM_F16, "\0\x80", "-0.0"),
	CASE(NUM_F16, "\x01\0", "5.9604645e-08"),
	CASE(NUM_F16, "\xff\x7b", "65504.0"), CASE(NUM_F16, "\0\xfc", "-.inf"),
	CASE(NUM_F16, "\x01\x7e", "0x7e01"), CASE(LIST_F16, "\0\x38\0\xc0", "[0.5, -2.0]"),
	CASE(RAW_8, "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd", "cdcdcdcdcdcdcdcd"),
	CASE(RAW_8, "\0\0\0\0\0\0\0\0", "\"0000000000000000\""),
	CASE(RAW_2, "\x01\x23", "\"0123\""), CASE(RAW_2, "\x12\xe4", "\"12e4\""), CASE(RAW_2, "\xe1\x23", "e123"),
	CASE(RAW_2, "\x12\x3e", "123e"), CASE(RAW_2, "\x1e\xe4", "1ee4"), CASE(RAW_2, "\x0b\x10", "\"0b10\""),
	CASE(RAW_2, "\x0b\x12", "0b12"), CASE(RAW_1, "\x0b", "0b"), CASE(PAD_3, ".\0\0\x01", "\"000001\""),
	CASE(BOTH_16, "...\x34\x12\x12\x34", "4660"), CASE(BOTH_16, "...\x34\x12\x34\x12", "[4660, 13330]"),
	CASE(BOTH_32, "\x01\0\0\0\0\0\0\x01", "1"), CASE(BOTH_32, "\xff\xff\xff\xff\0\0\0\x05", "[4294967295, 5]"),
};

static void test_printed(void **state)
{
	struct buf out = { 0 };
	uint8_t raw[ROOM];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(printed); i++) {
		memset(raw, 0, sizeof raw);
		memcpy(raw, printed[i].bytes, printed[i].n);
		out.len = 0;
		field_print(&fields[printed[i].field], false, raw, &out);
		buf_char(&out, '\0');
		assert_string_equal((char *)out.p, printed[i].text);
	}
	buf_free(&out);
}

static const struct text_case accepted[] = {
	CASE(NUM_U8, "...\x10", "0x10"), CASE(NUM_U8, "...\x07", " +7 "), CASE(NUM_I8, "\xff", "-1"),
	CASE(NUM_I8, "\0", "-0"),
	CASE(HEX_U16, "\x0a\0", "10"), CASE(HEX_U16, "\xfa\0", "0XFA"), CASE(HEX_U16, "\x01\0", "0x00000001"),
	CASE(NUM_F32, "\0\0\x80\x3f", "1"), CASE(NUM_F32, "\0\0\0\x3f", ".5"), CASE(NUM_F32, "\0\0\0\xbf", "-5e-1"),
	CASE(NUM_F32, "\xac\xc5\x27\x37", "1E-5"), CASE(NUM_F32, "\0\0\0\x40", "2."),
	CASE(NUM_F32, "\0\0\x80\x7f", "+.inf"),
	CASE(NUM_F32, "\0\0\xc0\xff", "0xffc00000"), CASE(NULL_U8, "\xff", "~"), CASE(NULL_U8, "\xff", "255"),
	CASE(FLAGS, "\x03\0\0\0", "[ fog,lighting ]"), CASE(FLAGS, "\x01\x01\0\0", "[0x100, lighting]"),
	CASE(FLAGS, "\x03\0\0\x80", "0x80000003"), CASE(FLAGS, "\x03\0\0\0", "[3]"),
	CASE(FLAGS, "\x04\0\0\0", "[alpha_blend,]"),
	CASE(ENUM, "\x08\0", "8"), CASE(ENUM, "\x10\0", "0x10"),
	CASE(LIST_I16, "\1\0\2\0\3\0\4\0", "[1,\n  2,\t3, 0x4]"),
	CASE(LIST_F32, "\0\0\x80\x3f\0\0\0\0\0\0\0\x80", "[1, 0, -0]"),
	CASE(FIX, "\0\0\x01\0", "1"), CASE(FIX, "\x01\0\0\0", "0.00000762939453125"),
	CASE(FIX, "\xff\xff\xff\xff", "-0.00000762939453125"), CASE(FIX, "\0\0\0\0", "0.0000076293945312499"),
	CASE(FIX, "\xff\xff\xff\x7f", "32767.99999"), CASE(FIX, "\x01\0\0\0", "1e-5"),
	CASE(ANGLE, "\0\0", "360"), CASE(ANGLE, "\0\x80", "180.0"), CASE(ANGLE, "\0\xc0", "270"),
	CASE(ANGLE, "\x39\0", "0.3136"),
	CASE(TEXT_ENDED, "abcd", "[97, 98, 99, 100]"),
	CASE(TEXT_8, "NULL\0\0\0\0", "'NULL'"), CASE(TEXT_8, "it's\0\0\0\0", "'it''s'"),
	CASE(TEXT_8, "a b\\\0\0\0\0", "'a b\\'"),
	CASE(TEXT_8, "\1\2\3\4\5\6\7\x08", "[1, 2, 3, 4, 5, 6, 7, 8]"),
	CASE(TEXT_TRIM, "\xe5\x80\0\0\0\0\0\0", "[229, 128]"), CASE(TEXT_TRIM, "\0\0\0\0\0\0\0\0", "[]"),
	CASE(NUM_U64, "...\xff\xff\xff\xff\xff\xff\xff\x7f", "9223372036854775807"),
	CASE(NUM_U64, "...\xff\xff\xff\xff\xff\xff\xff\xff", "0xffffffffffffffff"),
	CASE(NUM_F16, "\x66\x2e", "0.1"), CASE(NUM_F16, "\x01\x7c", "0x7c01"), CASE(NUM_F16, "\xff\x7b", "65519.9"),
	CASE(NUM_F16, "\0\0", "1e-8"), CASE(NUM_F16, "\0\xfc", "-.inf"),
	CASE(BOTH_16, "...\x10\0\0\x10", "0x10"), CASE(BOTH_32, "\x07\0\0\0\0\0\0\x07", "[7, 7]"),
	CASE(BOTH_32, "\x07\0\0\0\0\0\0\x08", " [ 7 , 8 ] "),
	CASE(RAW_2, "\xab\xcd", "ABcd"), CASE(RAW_2, "\x12\x34", "1234"), CASE(RAW_2, "\x12\x34", "'1234'"),
};

static void test_accepted(void **state)
{
	uint8_t raw[ROOM];
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		const struct text_case *t = &accepted[i];

		memset(raw, '.', sizeof raw);
		if (field_parse(&fields[t->field], false, raw, t->text, strlen(t->text), &e))
			fail_msg("%s: %s", t->text, e.text);
		assert_memory_equal(raw, t->bytes, t->n);
		assert_int_equal(raw[t->n], '.');
	}
}

/* ---- refusals ---- */

static const struct { unsigned field; const char *text, *message; } refused[] = {
	{ NUM_U8, "300", "300 is outside 0..255" },
	{ NUM_U8, "-1", "-1 is outside 0..255" },
	{ NUM_U8, "0x100", "0x100 is outside 0..255" },
	{ NUM_U32, "4294967296", "4294967296 is outside 0..4294967295" },
	{ NUM_U32, "99999999999999999999999999", "99999999999999999999999999 is outside 0..4294967295" },
	{ NUM_I16, "32768", "32768 is outside -32768..32767" },
	{ NUM_I16, "0xffff", "0xffff is outside -32768..32767" },
	{ NUM_I32, "-2147483649", "-2147483649 is outside -2147483648..2147483647" },
	{ BITS, "32", "32 is outside 0..31" },
	{ BITS_SIGNED, "16", "16 is outside -16..15" },
	{ HEX_U16, "0x10000", "0x10000 is outside 0x0000..0xffff" },
	{ HEX_BITS, "0x200", "0x200 is outside 0x000..0x1ff" },
	{ NUM_U64, "18446744073709551616", "18446744073709551616 is outside 0..18446744073709551615" },
	{ NUM_U64, "-1", "-1 is outside 0..18446744073709551615" },
	{ HEX_U64_8, "0x10000000000000000", "0x10000000000000000 is outside 0x00000000..0xffffffffffffffff" },
	{ NUM_F16, "65520", "65520 is outside -65504..65504, what a 16-bit float can hold" },
	{ NUM_F16, "0x3c00", "\"0x3c00\" is not the bits of a NaN; other floats are decimal" },
	{ NUM_F16, "0x17c01", "\"0x17c01\" is not the bits of a NaN; other floats are decimal" },
	{ TEXT_TRIM, "[1, 2, 3, 4, 5, 6, 7, 8, 9]", "more than 8 values in the list" },
	{ NUM_U8, "010", "\"010\" looks like an octal number; write it without leading zeros" },
	{ NUM_F32, "-01.5", "\"-01.5\" looks like an octal number; write it without leading zeros" },
	{ NUM_U8, "0o10", "\"0o10\" is not a number" },
	{ NUM_U8, "0x", "\"0x\" is not a number" },
	{ NUM_U8, "5abc", "\"5abc\" is not a number" },
	{ NUM_U8, "-", "\"-\" is not a number" },
	{ NUM_U8, "1.0", "\"1.0\" is not a number" },
	{ NUM_U8, "", "nothing found, expected one value" },
	{ NUM_U8, "[1]", "\"[1]\" found, expected one value" },
	{ NUM_U8, "5 6", "\"6\" found, expected nothing behind the value" },
	{ NUM_U8, "null", "\"null\" is not a number" },
	{ NUM_U8, "\"5\"", "\"\"5\"\" is not a number" },
	{ NUM_U8, "1\x1b[2J", "\"1?\" is not a number" },
	{ NUM_F32, "0x3f800000", "\"0x3f800000\" is not the bits of a NaN; other floats are decimal" },
	{ NUM_F32, "0x7f800000", "\"0x7f800000\" is not the bits of a NaN; other floats are decimal" },
	{ NUM_F32, "0x17fc00001", "\"0x17fc00001\" is not the bits of a NaN; other floats are decimal" },
	{ NUM_F32, ".nan", "\".nan\" is not a number that a 32-bit float can hold" },
	{ NUM_F32, "1e39", "\"1e39\" is not a number that a 32-bit float can hold" },
	{ NUM_F32, "1,5", "\",5\" found, expected nothing behind the value" },
	{ NUM_F32, "1.0x", "\"1.0x\" is not a number that a 32-bit float can hold" },
	{ FLAGS, "[fogg]", "\"fogg\" is none of lighting, fog, alpha_blend, enable; nearest is fog" },
	{ FLAGS, "[shadow]", "\"shadow\" is none of lighting, fog, alpha_blend, enable" },
	{ FLAGS, "[lightning, fog]",
	  "\"lightning\" is none of lighting, fog, alpha_blend, enable; nearest is lighting" },
	{ FLAGS, "fog", "\"fog\" is not a list of names" },
	{ FLAGS, "[fog lighting]", "\"lighting]\" found, expected a comma or ]" },
	{ FLAGS, "[fog", "nothing found, expected a comma or ]" },
	{ FLAGS, "[,]", "\",]\" found, expected a name, a number or ]" },
	{ FLAGS, "[] 1", "\"1\" found, expected nothing behind the value" },
	{ FLAGS_BITS, "[0x40]", "0x40 is outside 0x00..0x3f" },
	{ ENUM, "rotation_z", "\"rotation_z\" is none of rotation_x, rotation_y, location_x; nearest is rotation_x" },
	{ ENUM, "65536", "65536 is outside 0..65535" },
	{ COLOUR_WORD, "[1, 2, 3]", "3 values in the list, expected 4" },
	{ COLOUR_WORD, "[1, 2, 3, 256]", "256 is outside 0..255" },
	{ COLOUR_WORD, "0x01020304", "\"0x01020304\" found, expected a list: [...]" },
	{ LIST_I16, "[1, 2, 3, 4, 5]", "more than 4 values in the list" },
	{ LIST_I16, "[1, 2, [3], 4]", "\"[3], 4]\" found, expected one value" },
	{ LIST_I16, "[]", "0 values in the list, expected 4" },
	{ FIX, "40000.0", "40000.0 is outside -32768..32767.99998" },
	{ FIX, "32767.999993", "32767.999993 is outside -32768..32767.99998" },
	{ FIX, "-1e300", "-1e300 is outside -32768..32767.99998" },
	{ FIX, "0x10", "\"0x10\" is not a number" },
	{ FIX, "01.5", "\"01.5\" looks like an octal number; write it without leading zeros" },
	{ ANGLE, "361", "361 is outside -360..360" },
	{ ANGLE, "-400.5", "-400.5 is outside -360..360" },
	{ TEXT_ENDED, "\"abcd\"", "4 bytes, at most 3" },
	{ TEXT_8, "COG", "\"COG\" found, expected a quoted text or a list of bytes" },
	{ TEXT_8, "\"123456789\"", "the text has 9 characters, at most 8 fit" },
	{ TEXT_8, "\"abc", "the text has no closing \"" },
	{ TEXT_8, "\"a\\n\"", "\"n\"\" found, expected \" or \\ behind a backslash" },
	{ TEXT_8, "\"\xe5\"", "byte 0xe5 is not printable; give the text as a list of bytes" },
	{ TEXT_8, "\"a\" b", "\"b\" found, expected nothing behind the value" },
	{ TEXT_8, "[1, 2]", "2 values in the list, expected 8" },
	{ BOTH_16, "65536", "65536 is outside 0..65535" },
	{ BOTH_16, "[1, 65536]", "65536 is outside 0..65535" },
	{ BOTH_32, "4294967296", "4294967296 is outside 0..4294967295" },
	{ BOTH_32, "-1", "-1 is outside 0..4294967295" },
	{ BOTH_32, "[1]", "\"]\" found, expected a comma and another value" },
	{ BOTH_32, "[1, 2, 3]", "\", 3]\" found, expected ]" },
	{ BOTH_32, "[1, 2", "nothing found, expected ]" },
	{ BOTH_32, "", "nothing found, expected one value" },
	{ RAW_2, "12345", "\"12345\" is not 4 hex digits" },
	{ RAW_2, "12g4", "\"12g4\" is not 4 hex digits" },
	{ RAW_2, "0x12", "\"0x12\" is not 4 hex digits" },
	{ RAW_2, "", "\"\" is not 4 hex digits" },
};

static void test_refused(void **state)
{
	uint8_t raw[ROOM], before[ROOM];
	struct err e;

	(void)state;
	memset(before, 0x5a, sizeof before);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		const char *text = refused[i].text;

		memcpy(raw, before, sizeof raw);
		e.text[0] = '\0';
		if (field_parse(&fields[refused[i].field], false, raw, text, strlen(text), &e) != -EINVAL)
			fail_msg("\"%s\" was accepted", text);
		assert_string_equal(e.text, refused[i].message);
		assert_memory_equal(raw, before, sizeof raw);
	}
}

static void test_long_words_are_cut_in_messages(void **state)
{
	struct label many[64] = { { 0 } };
	char names[63][24], text[600];
	struct field f = FIELD(.type = F_U16, .view = V_ENUM, .labels = many);
	uint8_t raw[2] = { 0 };
	struct err e;

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(names[i], sizeof names[i], "name_number_%u", i);
		many[i] = (struct label){ i, names[i] };
	}
	memset(text, 'x', sizeof text);
	assert_int_equal(field_parse(&f, false, raw, text, sizeof text, &e), -EINVAL);
	assert_string_equal(e.text, "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\" is none of name_number_0, "
				    "name_number_1, name_number_2, name_number_3, name_number_4, name_number_5, "
				    "name_number_6, name_number_7, ...");
	assert_int_equal(field_parse(&f, false, raw, "nane_number_62", 14, &e), -EINVAL);
	assert_non_null(strstr(e.text, ", ...; nearest is name_number_62"));
	assert_int_equal(field_parse(&f, false, raw, text, sizeof text, NULL), -EINVAL);
}

static uint8_t damage(bool any)
{
	static const char letters[] = " ,[]\"'\\0123456789abcdefx.-+eE~\n\t";

	return any ? (uint8_t)next_random() : (uint8_t)letters[next_random() % (sizeof letters - 1)];
}

/* Damaged text is refused, or it is a value that prints and parses like any other. */
static void test_damaged_text(void **state)
{
	struct buf text = { 0 };
	uint8_t raw[ROOM], before[ROOM];

	(void)state;
	for (unsigned k = 0; k < 200000; k++) {
		const struct field *f = &fields[next_random() % ALL_FIELDS];
		size_t n;
		char *copy;

		random_bytes(raw, sizeof raw);
		text.len = 0;
		field_print(f, false, raw, &text);
		for (unsigned i = 0; i < 1 + k % 3; i++)
			text.p[next_random() % text.len] = damage(k & 4);
		n = k & 8 ? next_random() % (text.len + 1) : text.len;
		copy = malloc(n + !n);         /* of its exact length, so that reading past it is seen */
		assert_non_null(copy);
		memcpy(copy, text.p, n);
		memcpy(before, raw, sizeof raw);
		if (field_parse(f, false, raw, copy, n, NULL))
			assert_memory_equal(raw, before, sizeof raw);
		else
			assert_identity(f, false, raw, sizeof raw, &text);
		free(copy);
	}
	buf_free(&text);
}

/* ---- records ---- */

struct outer {
	float scale[2];
	int16_t key, next_key;
	char name[4];
	uint32_t flags;
	int32_t tag, delta;
	uint16_t count;
	uint8_t low, high;
};

#define S struct outer
static const struct field inner_fields[] = {
	U16(S, count, 0x0, "Count"),
	U8(S, low, 0x2, "Low half", .bit = 0, .bits = 4),
	U8(S, high, 0x2, "High half", .bit = 4, .bits = 4),
	PAD("zero_03", 0x3, 1),
};
static const struct record inner_record = RECORD("inner", "Inner", 4, inner_fields);
static const struct field outer_fields[] = {
	TEXT(S, name, 0x10, 4, "Name"),
	F32N(S, scale, 0x00, 2, "Scale"),
	INLINE(0x08, &inner_record),
	I16(S, key, 0x0c, "Key"),
	I16(S, next_key, 0x0e, "Next key"),
	U32(S, flags, 0x14, "Flags", .view = V_FLAGS, .labels = bit_names),
	RAW("unknown_18", 0x18, 2, "Unknown"),
	I32(S, tag, 0x1c, "Tag", .bit = 0, .bits = 8),
	I32(S, delta, 0x1c, "Delta", .bit = 8, .bits = 24, .flags = FL_HIDDEN),
	PAD("zero_1a", 0x1a, 2),
};
#undef S
static const struct record outer_record = RECORD("outer", "Outer", 0x20, outer_fields);

static const uint8_t outer_bytes[0x20] = {
	0x00, 0x00, 0x80, 0x3f, 0x01, 0x00, 0x80, 0x7f, 0x34, 0x12, 0xa5, 0x00, 0xff, 0xff, 0x00, 0x80,
	'B', 'D', 0x00, 0x01, 0x03, 0x00, 0x00, 0x80, 0x11, 0x22, 0x00, 0x00, 0x77, 0xfe, 0xff, 0xff,
};

static void test_decode_and_encode(void **state)
{
	uint8_t raw[0x20];
	struct outer o;
	uint32_t nan;

	(void)state;
	rec_decode(&outer_record, false, outer_bytes, &o);
	memcpy(&nan, &o.scale[1], 4);
	assert_true(o.scale[0] == 1.0f);
	assert_int_equal(nan, 0x7f800001);
	assert_int_equal(o.count, 0x1234);
	assert_int_equal(o.low, 5);
	assert_int_equal(o.high, 10);
	assert_int_equal(o.key, -1);
	assert_int_equal(o.next_key, -32768);
	assert_memory_equal(o.name, "BD\0\1", 4);
	assert_int_equal(o.flags, 0x80000003);
	assert_int_equal(o.tag, 0x77);
	assert_int_equal(o.delta, -2);

	memset(raw, 0xee, sizeof raw);
	rec_encode(&outer_record, false, &o, raw);
	assert_int_equal(raw[0x0b], 0xee);     /* bytes without a member stay */
	assert_memory_equal(raw + 0x18, "\xee\xee\xee\xee", 4);
	memcpy(raw + 0x18, outer_bytes + 0x18, 4);
	raw[0x0b] = 0;
	assert_memory_equal(raw, outer_bytes, sizeof raw);

	rec_decode(&outer_record, true, outer_bytes, &o);
	assert_int_equal(o.count, 0x3412);
	assert_int_equal(o.tag, -1);
	assert_int_equal(o.delta, 0x77feff);
}

struct twice { struct both16 small; struct both32 large; };

/* Both copies are kept, whatever the byte order of the rest is. */
static void test_integers_stored_twice(void **state)
{
#define S struct twice
	static const struct field twice_fields[] = { BOTH16(S, small, 0, "Small"), BOTH32(S, large, 4, "Large") };
#undef S
	static const struct record r = RECORD("twice", "Twice", 12, twice_fields);
	static const uint8_t bytes[12] = { 0x34, 0x12, 0x12, 0x34, 1, 0, 0, 0, 0, 0, 0, 2 };
	uint8_t raw[12] = { 0 };
	struct twice t;

	(void)state;
	for (int be = 0; be < 2; be++) {
		memset(&t, 0, sizeof t);
		rec_decode(&r, be, bytes, &t);
		assert_int_equal(t.small.le, 0x1234);
		assert_int_equal(t.small.be, 0x1234);
		assert_int_equal(t.large.le, 1);
		assert_int_equal(t.large.be, 2);
		memset(raw, 0xff, sizeof raw);
		rec_encode(&r, be, &t, raw);
		assert_memory_equal(raw, bytes, sizeof raw);
	}
}

static int collect_name(void *ctx, const struct field *f)
{
	buf_printf(ctx, "%s@%x ", f->name, f->at);
	return 0;
}

static int stop_at_count(void *ctx, const struct field *f)
{
	unsigned *calls = ctx;

	++*calls;
	return strcmp(f->name, "count") ? 0 : -7;
}

static void test_each_and_by_name(void **state)
{
	struct buf b = { 0 };
	struct field f;
	unsigned calls = 0;

	(void)state;
	assert_int_equal(rec_each(&outer_record, collect_name, &b), 0);
	buf_char(&b, '\0');
	assert_string_equal((char *)b.p, "name@10 scale@0 count@8 low@a high@a zero_03@b key@c next_key@e flags@14 "
					 "unknown_18@18 tag@1c delta@1c zero_1a@1a ");
	buf_free(&b);
	assert_int_equal(rec_each(&outer_record, stop_at_count, &calls), -7);
	assert_int_equal(calls, 3);
	assert_true(rec_field(&outer_record, "high", &f));
	assert_int_equal(f.at, 0x0a);
	assert_int_equal(f.bit, 4);
	assert_false(rec_field(&outer_record, "height", &f));
}

static void test_shown(void **state)
{
	uint8_t raw[0x20];
	struct field f;

	(void)state;
	memcpy(raw, outer_bytes, sizeof raw);
	assert_true(rec_field(&outer_record, "zero_03", &f));
	assert_false(field_shown(&f, false, raw));
	raw[0x0b] = 1;
	assert_true(field_shown(&f, false, raw));
	assert_true(rec_field(&outer_record, "delta", &f));
	assert_false(field_shown(&f, false, raw));
	assert_true(rec_field(&outer_record, "unknown_18", &f));
	assert_true(field_shown(&f, false, raw));
}

static void test_numbers_shown_when_they_are_odd(void **state)
{
	struct field f = FIELD(.at = 1, .type = F_U16, .flags = FL_ODD);
	uint8_t raw[4] = { 1, 0, 0, 1 };

	(void)state;
	assert_false(field_shown(&f, false, raw));
	raw[2] = 1;
	assert_true(field_shown(&f, false, raw));
	f.bits = 8;
	assert_false(field_shown(&f, false, raw));
	assert_true(field_shown(&f, true, raw));
	f.bit = 8;
	assert_true(field_shown(&f, false, raw));
	assert_false(field_shown(&f, true, raw));
	f.flags |= FL_HIDDEN;
	assert_false(field_shown(&f, false, raw));
}

/* ---- the check of a table ---- */

#define BAD(size, ...) (struct record)RECORD("bad", "Bad", size, ((const struct field[]){ __VA_ARGS__ }))
#define AT(name_, at_, ...) \
	{ .name = name_, .doc = "Doc", .at = (at_), .count = 1, .member = FIELD_NO_MEMBER, __VA_ARGS__ }
#define LABELS(...) .labels = (const struct label[]){ __VA_ARGS__, { 0, NULL } }

static void refuse_table(struct record r, const char *message)
{
	struct err e = { 0 };

	assert_int_equal(rec_check(&r, &e), -EINVAL);
	assert_string_equal(e.text, message);
}

static void test_check_of_tables(void **state)
{
	struct record r;
	struct err e;

	(void)state;
	assert_int_equal(rec_check(&outer_record, &e), 0);

	refuse_table(BAD(4, AT("a", 0, .type = F_U16), AT("b", 3, .type = F_U8)), "bad at 0x2: a byte no field has");
	refuse_table(BAD(4, AT("a", 0, .type = F_U16)), "bad at 0x2: a byte no field has");
	refuse_table(BAD(4, AT("a", 0, .type = F_U32), AT("b", 3, .type = F_U8)),
		     "bad.b at 0x3: overlaps an earlier field");
	refuse_table(BAD(2, AT("a", 0, .type = F_U32)), "bad.a at 0x0: not inside the record");
	refuse_table(BAD(2, AT("a", 0xfffffffe, .type = F_U16)), "bad.a at 0xfffffffe: not inside the record");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .bits = 4), AT("b", 0, .type = F_U8, .bit = 5, .bits = 3)),
		     "bad at 0x0: bits no field has");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .bits = 4), AT("b", 0, .type = F_U8, .bit = 3, .bits = 5)),
		     "bad.b at 0x0: overlaps an earlier field");
	refuse_table(BAD(2, AT("a", 0, .type = F_U8), AT("b", 0, .type = F_U16, .bit = 8, .bits = 8)),
		     "bad.b at 0x0: overlaps an earlier field");      /* big-endian; little-endian they fit */
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .bit = 4, .bits = 5)), "bad.a at 0x0: bits outside the integer");
	refuse_table(BAD(1, AT("a", 0, .type = F_TEXT, .bits = 4)), "bad.a at 0x0: bits outside the integer");
	refuse_table(BAD(2, AT("a", 0, .type = F_U8), AT("a", 1, .type = F_U8)), "bad.a at 0x1: a name used twice");
	refuse_table(BAD(8, AT("count", 0, .type = F_U32), INLINE(4, &inner_record)),
		     "bad.count at 0x4: a name used twice");
	refuse_table(BAD(1, AT("", 0, .type = F_U8)), "bad at 0x0: a field whose name is not a word");
	refuse_table(BAD(1, AT("Upper", 0, .type = F_U8)), "bad at 0x0: a field whose name is not a word");
	refuse_table(BAD(1, AT("y", 0, .type = F_U8)), "bad at 0x0: a field whose name is not a word");
	refuse_table(BAD(1, { .name = "a", .count = 1, .type = F_U8 }), "bad.a at 0x0: no doc");
	refuse_table(BAD(1, { .name = "a", .doc = "Doc.", .count = 1, .type = F_U8 }),
		     "bad.a at 0x0: a doc with a final stop");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM)), "bad.a at 0x0: no labels");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "8888" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "1e5" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "0x1" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "2001-01-01" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "1_000" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "0b" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "off" }))),
		     "bad.a at 0x0: a label YAML would not read as a word");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 256, "big" }))),
		     "bad.a at 0x0: a label outside the field");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_ENUM, LABELS({ 1, "one" }, { 1, "two" }))),
		     "bad.a at 0x0: a label given twice");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, .view = V_FLAGS, LABELS({ 3, "both" }))),
		     "bad.a at 0x0: a flag that is not one bit");
	refuse_table(BAD(1, AT("a", 0, .type = F_U8, LABELS({ 1, "one" }))),
		     "bad.a at 0x0: labels that no view shows");
	refuse_table(BAD(4, AT("a", 0, .type = F_F32, .view = V_HEX)), "bad.a at 0x0: a view for integers only");
	refuse_table(BAD(2, AT("a", 0, .type = F_F16, .view = V_HEX)), "bad.a at 0x0: a view for integers only");
	refuse_table(BAD(4, AT("a", 0, .type = F_U32, .digits = 4)), "bad.a at 0x0: digits of a view that has none");
	refuse_table(BAD(4, AT("a", 0, .type = F_U32, .flags = FL_TRIM)),
		     "bad.a at 0x0: only texts are trimmed");
	refuse_table(BAD(1, AT("a", 0, .type = F_RAW, .flags = FL_NULL)),
		     "bad.a at 0x0: a view for numbers only");
	refuse_table(BAD(1, AT("a", 0, .type = F_RAW, .flags = FL_ENDED)),
		     "bad.a at 0x0: an end that only texts have");
	refuse_table(BAD(4, AT("a", 0, .type = F_FIX32, .view = V_HEX)), "bad.a at 0x0: a view for integers only");
	refuse_table(BAD(2, AT("a", 0, .type = F_U16, .view = V_COLOUR)),
		     "bad.a at 0x0: a colour that is neither u8[4] nor u32");
	refuse_table(BAD(8, { .name = "a", .doc = "Doc", .count = 2, .type = F_BOTH16 }),
		     "bad.a at 0x0: an integer stored twice is one plain number");
	refuse_table(BAD(4, AT("a", 0, .type = F_BOTH16, .view = V_HEX)), "bad.a at 0x0: a view for integers only");
	refuse_table(BAD(4, AT("a", 0, .type = F_BOTH16), AT("b", 3, .type = F_U8)),
		     "bad.b at 0x3: overlaps an earlier field");
	refuse_table(BAD(4, INLINE(1, &inner_record)), "bad at 0x1: not a record inside this one");
	refuse_table(BAD(4, INLINE(0, NULL)), "bad at 0x0: not a record inside this one");
	r = inner_record;
	r.doc = NULL;
	refuse_table(r, "record inner: no name or no doc");
}

/* ---- every registered record ---- */

static int assert_field_identity(void *ctx, const struct field *f)
{
	struct buf *text = ctx;
	uint8_t *raw = malloc(f->at + (size_t)f->count * field_width(f));

	assert_non_null(raw);
	for (unsigned k = 0; k < 400; k++) {
		random_bytes(raw, f->at + (size_t)f->count * field_width(f));
		assert_identity(f, k & 1, raw, f->at + (size_t)f->count * field_width(f), text);
	}
	free(raw);
	return 0;
}

static int clear_member(void *ctx, const struct field *f)
{
	for (unsigned i = 0; i < f->count && f->member != FIELD_NO_MEMBER; i++)
		field_set(f, false, ctx, i, 0);
	return 0;
}

/* Encoding what was decoded brings back every byte that has a member, and no other. Decoded structs are small: none
 * reaches the end of the room it is given here. */
static void assert_record_identity(const struct record *r)
{
	uint8_t *raw = malloc(r->size), *again = malloc(r->size);
	static uint8_t decoded[8192];

	assert_non_null(raw);
	assert_non_null(again);
	for (unsigned k = 0; k < 200; k++) {
		random_bytes(raw, r->size);
		memset(decoded, k, sizeof decoded);
		rec_decode(r, false, raw, decoded);
		memcpy(again, raw, r->size);
		rec_encode(r, false, decoded, again);
		assert_memory_equal(raw, again, r->size);
		rec_each(r, clear_member, again);
		rec_encode(r, false, decoded, again);
		assert_memory_equal(raw, again, r->size);
		rec_decode(r, true, raw, decoded);
		rec_encode(r, true, decoded, again);
		assert_memory_equal(raw, again, r->size);
	}
	free(raw);
	free(again);
}

static void assert_record(const struct format *f, const struct record *r, struct buf *text)
{
	struct err e = { 0 };

	if (rec_check(r, &e))
		fail_msg("%s: %s", f->name, e.text);
	rec_each(r, assert_field_identity, text);
	assert_record_identity(r);
}

static void test_registered_records(void **state)
{
	struct buf text = { 0 };
	unsigned n = 0;

	(void)state;
	for (const struct format *const *f = formats; *f; f++) {
		for (unsigned i = 0; i < (*f)->nvariants; i++) {
			const struct variant *v = &(*f)->variants[i];

			for (unsigned k = 0; k < v->nsections; k++) {
				if (v->sections[k].shape != SECTION_BYTES)
					assert_record(*f, v->sections[k].record, &text);
				n += v->sections[k].shape != SECTION_BYTES;
			}
			for (const struct record *const *r = v->records; r && *r; r++, n++)
				assert_record(*f, *r, &text);
		}
	}
	assert_true(n > 0);
	buf_free(&text);
}

/* What the reference page and the tree take for granted. */
static void test_registered_sections(void **state)
{
	(void)state;
	for (const struct format *const *f = formats; *f; f++) {
		assert_true((*f)->name[0] && (*f)->title[0] && (*f)->doc[0]);
		for (unsigned i = 0; i < (*f)->nvariants; i++) {
			const struct variant *v = &(*f)->variants[i];

			assert_true(v->version[0] && v->doc[0]);
			for (unsigned k = 0; k < v->nsections; k++) {
				const struct section *s = &v->sections[k];

				assert_true(s->name[0] && s->doc[0]);
				assert_true(s->shape != SECTION_BYTES || !s->yaml);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits_of_both_byte_orders),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_words_are_cut_in_messages),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_identity_of_all_values),
		cmocka_unit_test(test_damaged_text),
		cmocka_unit_test(test_decode_and_encode),
		cmocka_unit_test(test_integers_stored_twice),
		cmocka_unit_test(test_each_and_by_name),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_numbers_shown_when_they_are_odd),
		cmocka_unit_test(test_check_of_tables),
		cmocka_unit_test(test_registered_records),
		cmocka_unit_test(test_registered_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
