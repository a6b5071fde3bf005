/* The cipher of DATA.BIN: a substitution of bytes and a key stream.
 *
 *   decrypt   word = DEC[each byte] ^ key word          encrypt   byte = ENC[each byte of (word ^ key word)]
 *   start     hi = key >> 16, or 0x2345 when that is 0; lo = key & 0xffff, or 0x7f8d when that is 0
 *   step      hi = hi * 0x2345 mod 0xffd9; lo = lo * 0x7f8d mod 0xfff1; before each word
 *   key word  hi << 16 | lo
 *
 * Both halves are powers of a constant times their start, so the state of any word is one modular power away. That
 * also lets LANES states, those of consecutive words, go on side by side: each is multiplied by the LANES-th power of
 * the step and becomes the state LANES words on. Nothing has to be stored but the states, and vector instructions
 * advance all of them at once. A half that is a multiple of its modulus is 0 and stays it, as the step has it.
 *
 * Below: the key stream; how each kind of processor advances it and replaces bytes; and what joins them. */
#include "mhpcipher.h"

#include <string.h>

#include "bytes.h"

#if defined __x86_64__
#include <immintrin.h>
#endif

#define HI_START 0x2345u
#define HI_STEP 0x2345u
#define HI_MOD 0xffd9u
#define LO_START 0x7f8du
#define LO_STEP 0x7f8du
#define LO_MOD 0xfff1u

#define LANES 32u
#define CHUNK (4 * LANES)                      /* bytes that the lanes' key words cover */

/* LANES steps in one. Two residues multiply to less than 2^32. */
#define SQUARE(x, mod) ((x) * (x) % (mod))
#define POWER32(x, mod) SQUARE(SQUARE(SQUARE(SQUARE(SQUARE(x, mod), mod), mod), mod), mod)
#define HI_JUMP POWER32(HI_STEP, HI_MOD)
#define LO_JUMP POWER32(LO_STEP, LO_MOD)

static const uint8_t dec[256] = {
	0xcb, 0x96, 0x85, 0xa6, 0x5f, 0x3e, 0xab, 0x03, 0x50, 0xb7, 0x9c, 0x5c, 0xb2, 0x40, 0xef, 0xf6,
	0xff, 0x61, 0x15, 0x29, 0xa2, 0xf1, 0xec, 0x52, 0x35, 0x28, 0xd9, 0x68, 0x24, 0x36, 0xc4, 0x74,
	0x26, 0xe2, 0xd5, 0x8c, 0x47, 0x4d, 0x2c, 0xfa, 0x86, 0x66, 0xc1, 0x4f, 0x0b, 0x81, 0x5b, 0x1b,
	0xc0, 0x0a, 0xfd, 0x17, 0xa4, 0xa9, 0x6d, 0x63, 0xad, 0xf3, 0xf4, 0x6e, 0x8d, 0x89, 0x14, 0xdd,
	0x59, 0x87, 0x4a, 0x30, 0xce, 0xfe, 0x3f, 0x7e, 0x06, 0x49, 0xa5, 0x04, 0x5e, 0xd0, 0xde, 0xe8,
	0x0f, 0xd4, 0x13, 0x1f, 0xba, 0xb9, 0x69, 0x71, 0x3d, 0xe4, 0xdc, 0x58, 0x90, 0x34, 0x3a, 0x3c,
	0xca, 0x10, 0x76, 0xc7, 0xc8, 0x45, 0x33, 0xc3, 0x92, 0x1d, 0x2b, 0x1c, 0x8f, 0x6f, 0x05, 0x07,
	0x38, 0x57, 0x51, 0xd6, 0xda, 0x2d, 0xb3, 0xc6, 0x2e, 0x64, 0x32, 0x1e, 0x43, 0xb1, 0x5d, 0xe1,
	0xbb, 0x8e, 0x9d, 0x72, 0x77, 0xf2, 0x27, 0xc9, 0x7f, 0x9e, 0xaa, 0x6a, 0x2f, 0x6c, 0xf9, 0x48,
	0xe7, 0xa0, 0x09, 0x56, 0xb8, 0xbd, 0x20, 0x41, 0xcd, 0x95, 0x80, 0xd7, 0x23, 0x0c, 0x42, 0xe5,
	0xae, 0x8b, 0x7d, 0xbc, 0x54, 0x39, 0xbf, 0x65, 0x01, 0x88, 0xe0, 0x7b, 0xb6, 0x16, 0x18, 0x4b,
	0xcc, 0x22, 0x5a, 0xb5, 0xeb, 0xfc, 0xf8, 0x9b, 0x4e, 0xe6, 0xa8, 0xbe, 0x67, 0x73, 0x97, 0x94,
	0x00, 0x62, 0xb4, 0xd2, 0x21, 0x25, 0x11, 0x82, 0xdb, 0x93, 0x02, 0x84, 0x7c, 0xd3, 0xb0, 0xa3,
	0x91, 0xa7, 0xf7, 0x55, 0x70, 0x7a, 0x08, 0x75, 0x8a, 0x53, 0x79, 0xfb, 0x9f, 0x46, 0xf5, 0x83,
	0xd8, 0x0e, 0xe9, 0xed, 0x12, 0xd1, 0xdf, 0xf0, 0x37, 0x2a, 0x44, 0x19, 0x9a, 0x31, 0xcf, 0xa1,
	0xaf, 0xe3, 0x3b, 0x1a, 0x4c, 0x78, 0xc2, 0x60, 0xee, 0x98, 0x6b, 0x0d, 0x99, 0xea, 0xc5, 0xac,
};

/* ---- key stream ---- */

struct mhp_walk { uint16_t hi[LANES], lo[LANES]; };    /* state of each lane's word */

static inline uint32_t times(uint32_t a, uint32_t b, uint32_t mod)
{
	return a * b % mod;
}

static inline uint32_t power(uint32_t x, uint64_t e, uint32_t mod)
{
	uint32_t y = 1;

	for (e %= mod - 1; e; e >>= 1) {       /* the moduli are prime: x^(mod-1) is 1 */
		if (e & 1)
			y = times(y, x, mod);
		x = times(x, x, mod);
	}
	return y;
}

/* HI_STEP and LO_STEP to the powers 0 to 31: how far each lane is ahead of the first. A short read costs little more
 * than this, and every entry of an archive is one. */
static const uint16_t hi_powers[LANES] = {
	0x0001, 0x2345, 0xae1d, 0x8cd1, 0x7c54, 0x9af9, 0x1148, 0xdd2f, 0xafb6, 0xee96, 0xd303, 0xb729,
	0xd1a6, 0x9ac8, 0x5002, 0x849b, 0xb798, 0x1f01, 0x24ef, 0x67ec, 0x7541, 0xf3c4, 0x9e4a, 0x1af0,
	0xa36a, 0xf7fc, 0x8015, 0x1541, 0x0fc7, 0xca57, 0xae2f, 0x0820
};
static const uint16_t lo_powers[LANES] = {
	0x0001, 0x7f8d, 0xed19, 0xea1d, 0x2b0d, 0x6af5, 0x9374, 0x1128, 0xcb3c, 0xa344, 0x6ce7, 0xc246,
	0x66cd, 0x525e, 0x677a, 0x89b1, 0xaabf, 0xc88c, 0xc43b, 0x1464, 0x6f7b, 0xad11, 0xcf0e, 0x0886,
	0x6b7f, 0x5981, 0xe813, 0x064f, 0xd99f, 0x185f, 0x437e, 0xa6e4
};

/* The lanes for the words from `word` on. */
static void walk_start(struct mhp_walk *w, uint32_t key, uint64_t word)
{
	uint32_t hi = key >> 16 ? key >> 16 : HI_START, lo = key & 0xffff ? key & 0xffff : LO_START;

	hi = times(hi % HI_MOD, power(HI_STEP, word + 1, HI_MOD), HI_MOD);
	lo = times(lo % LO_MOD, power(LO_STEP, word + 1, LO_MOD), LO_MOD);
	for (unsigned i = 0; i < LANES; i++) {
		w->hi[i] = (uint16_t)times(hi, hi_powers[i], HI_MOD);
		w->lo[i] = (uint16_t)times(lo, lo_powers[i], LO_MOD);
	}
}

/* The key words of one chunk; the lanes move on to the next. */
static void walk_next(struct mhp_walk *w, uint32_t key[LANES])
{
	for (unsigned i = 0; i < LANES; i++) {
		key[i] = (uint32_t)w->hi[i] << 16 | w->lo[i];
		w->hi[i] = (uint16_t)times(w->hi[i], HI_JUMP, HI_MOD);
		w->lo[i] = (uint16_t)times(w->lo[i], LO_JUMP, LO_MOD);
	}
}

/* ---- any processor ---- */

static inline uint32_t substitute(const uint8_t table[256], uint32_t v)
{
	return table[v & 0xff] | (uint32_t)table[v >> 8 & 0xff] << 8 | (uint32_t)table[v >> 16 & 0xff] << 16
	       | (uint32_t)table[v >> 24] << 24;
}

static void run_portable(struct mhp_walk *w, const uint8_t table[256], bool decrypt, uint8_t *p, size_t n)
{
	uint32_t key[LANES], v;

	for (; n; p += CHUNK, n -= CHUNK) {
		walk_next(w, key);
		for (unsigned i = 0; i < LANES; i++) {
			v = le_u32(p + 4 * i);
			v = decrypt ? substitute(table, v) ^ key[i] : substitute(table, v ^ key[i]);
			put_le32(p + 4 * i, v);
		}
	}
}

static bool always(void)
{
	return true;
}

/* ---- x86-64 ----
 *
 * A product of two 16-bit residues is reduced as Montgomery does it: with J = jump * 2^16 mod m and Q = J / m mod 2^16,
 * the low halves of s*J and of (s*Q mod 2^16)*m are equal, so the difference of the high halves is s*J / 2^16 = s*jump
 * (mod m), between -m and m. Three multiplications of 16-bit lanes, and m is added where the difference is negative.
 *
 * Interleaving the halves with the unpack instructions takes, of each 128 bits, the first or the last four lanes. So
 * the quarters of a vector are put into such an order that the words come out in theirs. */
#if defined __x86_64__

#define HI_INVERSE 0x9069u                     /* of the moduli, mod 2^16 */
#define LO_INVERSE 0x1111u
_Static_assert(HI_INVERSE * HI_MOD % 0x10000 == 1 && LO_INVERSE * LO_MOD % 0x10000 == 1, "inverses of the moduli");

#define SCALED(jump, mod) ((short)((uint64_t)(jump) * 0x10000 % (mod)))
#define QUOTIENT(jump, mod, inverse) ((short)((uint64_t)(jump) * 0x10000 % (mod) * (inverse) % 0x10000))

/* ---- AVX2: half of the lanes in a register ---- */

#define AVX2 __attribute__((target("avx2")))

struct jump_avx2 { __m256i scaled, quotient, mod; };

AVX2 static inline __m256i jump_avx2(__m256i s, const struct jump_avx2 *j)
{
	__m256i a = _mm256_mulhi_epu16(s, j->scaled);
	__m256i b = _mm256_mulhi_epu16(_mm256_mullo_epi16(s, j->quotient), j->mod);
	__m256i fits = _mm256_cmpeq_epi16(_mm256_max_epu16(a, b), a);

	return _mm256_add_epi16(_mm256_sub_epi16(a, b), _mm256_andnot_si256(fits, j->mod));
}

/* A shuffle looks up 4 bits, so the table is sixteen tables, one for each high half of a byte. Bytes from 128 on are
 * negative, and for them a shuffle gives 0. Each round looks up in the next table and subtracts 16; the tables are
 * stored as differences, so what a byte has summed up when it turns negative is the entry of its own table. After the
 * eight tables of the bytes below 128 the same is done with the top bit flipped for the others. */
AVX2 static void tables_avx2(const uint8_t table[256], __m256i out[16])
{
	for (unsigned k = 0; k < 16; k++) {
		__m128i t = _mm_loadu_si128((const __m128i *)(table + 16 * k));

		if (k % 8)
			t = _mm_xor_si128(t, _mm_loadu_si128((const __m128i *)(table + 16 * k - 16)));
		out[k] = _mm256_broadcastsi128_si256(t);
	}
}

/* Four vectors at a time hide the latency and share the loads of the tables. */
struct four_avx2 { __m256i a, b, c, d; };

AVX2 static inline struct four_avx2 xor_avx2(struct four_avx2 x, struct four_avx2 y)
{
	return (struct four_avx2){ _mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b), _mm256_xor_si256(x.c, y.c),
		_mm256_xor_si256(x.d, y.d) };
}

AVX2 static inline struct four_avx2 lookup_avx2(__m256i table, struct four_avx2 x)
{
	return (struct four_avx2){ _mm256_shuffle_epi8(table, x.a), _mm256_shuffle_epi8(table, x.b),
		_mm256_shuffle_epi8(table, x.c), _mm256_shuffle_epi8(table, x.d) };
}

/* Exclusive or of what eight tables have for x. */
AVX2 static inline struct four_avx2 lookups_avx2(const __m256i tables[8], struct four_avx2 x)
{
	const __m256i sixteen = _mm256_set1_epi8(16);
	struct four_avx2 sum = lookup_avx2(tables[0], x);

	for (unsigned k = 1; k < 8; k++) {
		x = (struct four_avx2){ _mm256_subs_epi8(x.a, sixteen), _mm256_subs_epi8(x.b, sixteen),
			_mm256_subs_epi8(x.c, sixteen), _mm256_subs_epi8(x.d, sixteen) };
		sum = xor_avx2(sum, lookup_avx2(tables[k], x));
	}
	return sum;
}

AVX2 static inline struct four_avx2 substitute_avx2(const __m256i tables[16], struct four_avx2 x)
{
	const __m256i top = _mm256_set1_epi8((char)0x80);
	struct four_avx2 flipped = xor_avx2(x, (struct four_avx2){ top, top, top, top });

	return xor_avx2(lookups_avx2(tables, x), lookups_avx2(tables + 8, flipped));
}

/* Lanes in the order of memory to quarters 0 2 1 3, and back: the exchange is its own inverse. */
AVX2 static inline __m256i order_avx2(__m256i s)
{
	return _mm256_permute4x64_epi64(s, 0xd8);
}

AVX2 static void run_avx2(struct mhp_walk *w, const uint8_t table[256], bool decrypt, uint8_t *p, size_t n)
{
	const struct jump_avx2 hi_jump = { _mm256_set1_epi16(SCALED(HI_JUMP, HI_MOD)),
		_mm256_set1_epi16(QUOTIENT(HI_JUMP, HI_MOD, HI_INVERSE)), _mm256_set1_epi16((short)HI_MOD) };
	const struct jump_avx2 lo_jump = { _mm256_set1_epi16(SCALED(LO_JUMP, LO_MOD)),
		_mm256_set1_epi16(QUOTIENT(LO_JUMP, LO_MOD, LO_INVERSE)), _mm256_set1_epi16((short)LO_MOD) };
	__m256i *hi_lanes = (__m256i *)w->hi, *lo_lanes = (__m256i *)w->lo, tables[16];
	__m256i hi0 = order_avx2(_mm256_loadu_si256(hi_lanes)), hi1 = order_avx2(_mm256_loadu_si256(hi_lanes + 1));
	__m256i lo0 = order_avx2(_mm256_loadu_si256(lo_lanes)), lo1 = order_avx2(_mm256_loadu_si256(lo_lanes + 1));

	tables_avx2(table, tables);
	for (; n; p += CHUNK, n -= CHUNK) {
		__m256i *at = (__m256i *)p;
		struct four_avx2 x = { _mm256_loadu_si256(at), _mm256_loadu_si256(at + 1), _mm256_loadu_si256(at + 2),
			_mm256_loadu_si256(at + 3) };
		struct four_avx2 key = { _mm256_unpacklo_epi16(lo0, hi0), _mm256_unpackhi_epi16(lo0, hi0),
			_mm256_unpacklo_epi16(lo1, hi1), _mm256_unpackhi_epi16(lo1, hi1) };

		x = decrypt ? xor_avx2(substitute_avx2(tables, x), key) : substitute_avx2(tables, xor_avx2(x, key));
		_mm256_storeu_si256(at, x.a);
		_mm256_storeu_si256(at + 1, x.b);
		_mm256_storeu_si256(at + 2, x.c);
		_mm256_storeu_si256(at + 3, x.d);
		hi0 = jump_avx2(hi0, &hi_jump);
		hi1 = jump_avx2(hi1, &hi_jump);
		lo0 = jump_avx2(lo0, &lo_jump);
		lo1 = jump_avx2(lo1, &lo_jump);
	}
	_mm256_storeu_si256(hi_lanes, order_avx2(hi0));
	_mm256_storeu_si256(hi_lanes + 1, order_avx2(hi1));
	_mm256_storeu_si256(lo_lanes, order_avx2(lo0));
	_mm256_storeu_si256(lo_lanes + 1, order_avx2(lo1));
}

static bool have_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

/* ---- AVX-512 with VBMI: all lanes in a register, and a lookup of 7 bits in one instruction ---- */

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

struct jump_avx512 { __m512i scaled, quotient, mod; };

AVX512 static inline __m512i jump_avx512(__m512i s, const struct jump_avx512 *j)
{
	__m512i a = _mm512_mulhi_epu16(s, j->scaled);
	__m512i b = _mm512_mulhi_epu16(_mm512_mullo_epi16(s, j->quotient), j->mod);
	__m512i d = _mm512_sub_epi16(a, b);

	return _mm512_mask_add_epi16(d, _mm512_cmplt_epu16_mask(a, b), d, j->mod);
}

AVX512 static inline __m512i substitute_avx512(const __m512i table[4], __m512i v)
{
	__m512i low = _mm512_permutex2var_epi8(table[0], v, table[1]);
	__m512i high = _mm512_permutex2var_epi8(table[2], v, table[3]);

	return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

AVX512 static void run_avx512(struct mhp_walk *w, const uint8_t table[256], bool decrypt, uint8_t *p, size_t n)
{
	const struct jump_avx512 hi_jump = { _mm512_set1_epi16(SCALED(HI_JUMP, HI_MOD)),
		_mm512_set1_epi16(QUOTIENT(HI_JUMP, HI_MOD, HI_INVERSE)), _mm512_set1_epi16((short)HI_MOD) };
	const struct jump_avx512 lo_jump = { _mm512_set1_epi16(SCALED(LO_JUMP, LO_MOD)),
		_mm512_set1_epi16(QUOTIENT(LO_JUMP, LO_MOD, LO_INVERSE)), _mm512_set1_epi16((short)LO_MOD) };
	const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
	const __m512i back = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
	__m512i tables[4], key[2], v, hi, lo;

	for (unsigned i = 0; i < 4; i++)
		tables[i] = _mm512_loadu_si512(table + 64 * i);
	hi = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(w->hi));
	lo = _mm512_permutexvar_epi64(order, _mm512_loadu_si512(w->lo));
	for (; n; p += CHUNK, n -= CHUNK) {
		key[0] = _mm512_unpacklo_epi16(lo, hi);
		key[1] = _mm512_unpackhi_epi16(lo, hi);
		hi = jump_avx512(hi, &hi_jump);
		lo = jump_avx512(lo, &lo_jump);
		for (unsigned i = 0; i < 2; i++) {
			v = _mm512_loadu_si512(p + 64 * i);
			if (decrypt)
				v = _mm512_xor_si512(substitute_avx512(tables, v), key[i]);
			else
				v = substitute_avx512(tables, _mm512_xor_si512(v, key[i]));
			_mm512_storeu_si512(p + 64 * i, v);
		}
	}
	_mm512_storeu_si512(w->hi, _mm512_permutexvar_epi64(back, hi));
	_mm512_storeu_si512(w->lo, _mm512_permutexvar_epi64(back, lo));
}

static bool have_avx512(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
}
#endif

/* ---- joining ---- */

const struct mhp_method mhp_methods[] = {
#if defined __x86_64__
	{ "avx512", have_avx512, run_avx512 },
	{ "avx2", have_avx2, run_avx2 },
#endif
	{ "portable", always, run_portable },
};
const unsigned mhp_nmethods = ARRAY_LEN(mhp_methods);

void mhp_crypt(const struct mhp_method *m, bool decrypt, uint32_t key, uint64_t at, uint8_t *p, size_t n)
{
	size_t whole = n / CHUNK * CHUNK;
	uint8_t enc[256], rest[CHUNK] = { 0 };
	const uint8_t *table = decrypt ? dec : enc;
	struct mhp_walk w;

	if (!decrypt)
		for (unsigned i = 0; i < 256; i++)
			enc[dec[i]] = (uint8_t)i;
	walk_start(&w, key, at / 4);
	m->run(&w, table, decrypt, p, whole);
	if (n > whole) {
		memcpy(rest, p + whole, n - whole);
		m->run(&w, table, decrypt, rest, CHUNK);
		memcpy(p + whole, rest, n - whole);
	}
}

static const struct mhp_method *fastest(void)
{
	const struct mhp_method *m = mhp_methods;

	while (!m->usable())
		m++;
	return m;
}

static void decrypt_run(uint32_t key, uint64_t at, uint8_t *p, size_t n)
{
	mhp_crypt(fastest(), true, key, at, p, n);
}

static void encrypt_run(uint32_t key, uint64_t at, uint8_t *p, size_t n)
{
	mhp_crypt(fastest(), false, key, at, p, n);
}

const struct cipher mhp_cipher = { .unit = 4, .decrypt = decrypt_run, .encrypt = encrypt_run };
