/* The codes of a raw CD sector: EDC to find errors, ECC to mend them (ECMA-130).
 *
 *   mode 1          0x000 sync, 0x00c header, 0x010 data, 0x810 EDC of all before, 0x814 zeros, 0x81c P, 0x8c8 Q
 *   mode 2 form 1   0x010 subheader twice, 0x018 data, 0x818 EDC from 0x010 on, 0x81c P, 0x8c8 Q
 *   mode 2 form 2   0x010 subheader twice, 0x018 data, 0x92c EDC from 0x010 on, or 0: none
 *
 * EDC is a CRC-32 with the reflected polynomial 0xd8018001, from 0 on, not inverted. ECC takes the bytes from 0x00c on
 * as 16-bit words, whose low and high bytes are codes of their own over GF(256) with x^8 + x^4 + x^3 + x^2 + 1:
 *
 *   P  a column of 43 words for each row: words c, c + 43, ..., 24 of them, then two parities in rows 24 and 25
 *   Q  a diagonal: 43 words, each one column right of and one row below the last, of the 26 rows; then two parities
 *
 * The n symbols of each, parities last, add up to 0, and so they do when the i-th is times 2^(n - 1 - i). In mode 2 the
 * header counts as zeros. All columns, or diagonals, are summed side by side, eight bytes in a word. */
#include <string.h>

#include "bytes.h"
#include "disc.h"

const uint8_t sector_sync[12] = { 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0 };

/* ---- EDC ---- */

/* The state after a byte of which one bit is set, from 0x80 to 1, and so many zero bytes. Each is the one before it,
 * shifted on by a bit. */
#define AFTER0 0xd8018001, 0xb4014001, 0x82012001, 0x99011001, 0x94810801, 0x92410401, 0x91210201, 0x90910101
#define AFTER1 0x90490081, 0x90250041, 0x90130021, 0x90080011, 0x90058009, 0x90034005, 0x90002003, 0x90019000
#define AFTER2 0x4800c800, 0x24006400, 0x12003200, 0x09001900, 0x04800c80, 0x02400640, 0x01200320, 0x00900190
#define AFTER3 0x004800c8, 0x00240064, 0x00120032, 0x00090019, 0xd805000d, 0xb4030007, 0x82000002, 0x41000001
#define AFTER4 0xf8818001, 0xa4414001, 0x8a212001, 0x9d111001, 0x96890801, 0x93450401, 0x91a30201, 0x90d00101
#define AFTER5 0x90698081, 0x90354041, 0x901b2021, 0x900c1011, 0x90078809, 0x90024405, 0x9000a203, 0x9001d100
#define AFTER6 0x4800e880, 0x24007440, 0x12003a20, 0x09001d10, 0x04800e88, 0x02400744, 0x012003a2, 0x009001d1
#define AFTER7 0xd84980e9, 0xb4254075, 0x8213203b, 0x9908101c, 0x4c84080e, 0x26420407, 0xcb208202, 0x65904101

#define BIT(x, bit, state) ((x) & (bit) ? (state) : 0)
#define STATE(x, a, b, c, d, e, f, g, h) \
	(BIT(x, 128, a) ^ BIT(x, 64, b) ^ BIT(x, 32, c) ^ BIT(x, 16, d) ^ BIT(x, 8, e) ^ BIT(x, 4, f) ^ BIT(x, 2, g) ^ \
	 BIT(x, 1, h))
#define STATES4(x, ...) \
	STATE(x, __VA_ARGS__), STATE((x) + 1, __VA_ARGS__), STATE((x) + 2, __VA_ARGS__), STATE((x) + 3, __VA_ARGS__)
#define STATES16(x, ...) \
	STATES4(x, __VA_ARGS__), STATES4((x) + 4, __VA_ARGS__), STATES4((x) + 8, __VA_ARGS__), \
	STATES4((x) + 12, __VA_ARGS__)
#define STATES64(x, ...) \
	STATES16(x, __VA_ARGS__), STATES16((x) + 16, __VA_ARGS__), STATES16((x) + 32, __VA_ARGS__), \
	STATES16((x) + 48, __VA_ARGS__)
#define STATES(...) \
	{ STATES64(0, __VA_ARGS__), STATES64(64, __VA_ARGS__), STATES64(128, __VA_ARGS__), STATES64(192, __VA_ARGS__) }

static const uint32_t after[8][256] = {
	STATES(AFTER0), STATES(AFTER1), STATES(AFTER2), STATES(AFTER3),
	STATES(AFTER4), STATES(AFTER5), STATES(AFTER6), STATES(AFTER7),
};

uint32_t edc_add(uint32_t r, const uint8_t *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8) {
		uint32_t a = r ^ le_u32(p), b = le_u32(p + 4);

		r = after[7][a & 255] ^ after[6][a >> 8 & 255] ^ after[5][a >> 16 & 255] ^ after[4][a >> 24] ^
		    after[3][b & 255] ^ after[2][b >> 8 & 255] ^ after[1][b >> 16 & 255] ^ after[0][b >> 24];
	}
	for (; n; n--, p++)
		r = r >> 8 ^ after[0][(r ^ *p) & 255];
	return r;
}

/* ---- ECC ---- */

#define HEADER 0x00cu
#define P_AT 0x81cu
#define Q_AT 0x8c8u
#define COLUMNS 43u
#define ROWS 24u                               /* of data; Q has those of P too */
#define ROW (2 * COLUMNS)                      /* bytes */
#define P_BYTES ROW
#define Q_BYTES (2 * (ROWS + 2))
#define WORDS ((P_BYTES + 7) / 8)
#define EACH(byte) ((byte) * (uint64_t)0x0101010101010101)

/* Sums of the symbols so far, as they are and as the next power of 2 makes them. */
struct sums { uint64_t plain[WORDS], power[WORDS]; };

/* Eight bytes times 2. */
static inline uint64_t twice(uint64_t v)
{
	return (v & EACH(0x7f)) << 1 ^ (v >> 7 & EACH(1)) * 0x1d;
}

static inline void add(struct sums *s, const uint64_t *v, unsigned words)
{
	for (unsigned i = 0; i < words; i++) {
		s->plain[i] ^= v[i];
		s->power[i] = twice(s->power[i] ^ v[i]);
	}
}

/* Eight bytes divided by 1 + 2, which is times 0xf4. */
static inline uint64_t third(uint64_t v)
{
	uint64_t v4 = twice(twice(v)), v16 = twice(twice(v4)), v32 = twice(v16), v64 = twice(v32);

	return v4 ^ v16 ^ v32 ^ v64 ^ twice(v64);
}

/* The two parities, n bytes each. */
static void parities(const struct sums *s, uint8_t *out, size_t n)
{
	uint64_t first[WORDS], second[WORDS];

	for (unsigned i = 0; i < WORDS; i++) {
		first[i] = third(s->plain[i] ^ twice(s->power[i]));
		second[i] = first[i] ^ s->plain[i];
	}
	memcpy(out, first, n);
	memcpy(out + n, second, n);
}

static void make_p(uint8_t *s)
{
	struct sums sums = { 0 };
	uint64_t row[WORDS] = { 0 };

	for (unsigned r = 0; r < ROWS; r++) {
		memcpy(row, s + HEADER + r * ROW, ROW);
		add(&sums, row, WORDS);
	}
	parities(&sums, s + P_AT, P_BYTES);
}

static void make_q(uint8_t *s)
{
	struct sums sums = { 0 };
	uint64_t words[(Q_BYTES + 7) / 8] = { 0 };
	uint8_t *to = (uint8_t *)words;

	for (unsigned c = 0, row = 0; c < COLUMNS; c++, row = row == ROWS + 1 ? 0 : row + 1) {
		const uint8_t *column = s + HEADER + 2 * c;
		unsigned n = 0;

		for (unsigned r = row; r < ROWS + 2; r++, n += 2)
			memcpy(to + n, column + r * ROW, 2);
		for (unsigned r = 0; r < row; r++, n += 2)
			memcpy(to + n, column + r * ROW, 2);
		add(&sums, words, ARRAY_LEN(words));
	}
	parities(&sums, s + Q_AT, Q_BYTES);
}

/* ---- a sector ---- */

struct range { unsigned at, end; };

/* What its EDC is of, which follows. */
static struct range covered(const uint8_t *s)
{
	if (s[15] == 1)
		return (struct range){ 0, 0x810 };
	return (struct range){ 0x010, s[18] & 0x20 ? 0x92c : 0x818 };
}

bool sector_is_intact(const uint8_t s[RAW_SECTOR])
{
	struct range c = covered(s);
	uint32_t edc = le_u32(s + c.end);

	return edc == edc_add(0, s + c.at, c.end - c.at) || (c.end == 0x92c && !edc);
}

bool sector_has_codes(const uint8_t s[RAW_SECTOR])
{
	size_t at = covered(s).end;

	while (at < RAW_SECTOR && !s[at])
		at++;
	return at < RAW_SECTOR;
}

void sector_seal(uint8_t s[RAW_SECTOR])
{
	struct range c = covered(s);
	uint8_t header[4];

	put_le32(s + c.end, edc_add(0, s + c.at, c.end - c.at));
	memcpy(header, s + HEADER, sizeof header);
	if (s[15] != 1)
		memset(s + HEADER, 0, sizeof header);
	make_p(s);
	make_q(s);
	memcpy(s + HEADER, header, sizeof header);
}
