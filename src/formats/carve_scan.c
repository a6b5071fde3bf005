/* Looking at all bytes of a large file: what costs something is done for runs of them at once. */
#include "carve.h"

#include <string.h>

#if defined __x86_64__
#include <immintrin.h>
#endif

/* ---- MLP headers ---- */

typedef uint32_t words __attribute__((vector_size(16)));       /* in the order of the machine */

static words load(const uint8_t *p)
{
	words w;

	memcpy(&w, p, sizeof w);
	return w;
}

static words all(const char bytes[4])
{
	uint32_t w;

	memcpy(&w, bytes, sizeof w);
	return (words){ w, w, w, w };
}

static bool any(words w)
{
	return w[0] | w[1] | w[2] | w[3];
}

static inline __attribute__((always_inline)) bool look_for_magic(const uint8_t *p)
{
	const words magic = all("\xfa\xfa\0\3");
	words found = { 0 };

	for (size_t i = 0; i < CARVE_RUN; i += sizeof(words))
		found |= (words)(load(p + i) == magic);
	return any(found);
}

#if defined __x86_64__

#define AVX2 __attribute__((target("avx2")))

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

AVX2 static inline __m256i load_32(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

AVX2 static bool magic_avx2(const uint8_t *p)
{
	const __m256i magic = _mm256_set1_epi32(0x0300fafa);   /* as it is loaded */
	__m256i found = _mm256_setzero_si256();

	for (size_t i = 0; i < CARVE_RUN; i += 32)
		found = _mm256_or_si256(found, _mm256_cmpeq_epi32(load_32(p + i), magic));
	return !_mm256_testz_si256(found, found);
}

static bool has_magic(const uint8_t *p)
{
	return has_avx2() ? magic_avx2(p) : look_for_magic(p);
}

#else

static bool has_magic(const uint8_t *p)
{
	return look_for_magic(p);
}

#endif

/* With the sizes of header and table, which stand 8 and 24 bytes behind the magic. */
bool carve_may_begin(const uint8_t p[CARVE_RUN])
{
	const words magic = all("\xfa\xfa\0\3"), half = all("\xff\xff\0\0"), size = all("\0\x1c\0\0");
	const words table = all("\0\0\0\x1c");
	words found = { 0 };

	if (!has_magic(p))
		return false;
	for (size_t i = 0; i < CARVE_RUN; i += sizeof(words))
		found |= (words)((load(p + i) == magic) & ((load(p + i + 8) & half) == size) &
				 (load(p + i + 24) == table));
	return any(found);
}

/* ---- zlib streams ---- */

/* With a window of 32 KiB, as all have. */
static bool has_header(const uint8_t *p)
{
	return p[0] == 0x78 && (p[1] == 0x01 || p[1] == 0x5e || p[1] == 0x9c || p[1] == 0xda);
}

/* Code lengths of the code of code lengths, 3 bits each from bit 17 of a block on, have to make a whole tree. */
static bool is_dynamic(const uint8_t *p)
{
	uint64_t bits = le_u64(p);
	unsigned n = 4 + (bits >> 13 & 15), space = 0;

	if ((bits >> 3 & 31) > 29 || (bits >> 8 & 31) > 29)
		return false;
	for (unsigned i = 0, at = 17; i < n; i++, at += 3) {
		unsigned length = le_u16(p + at / 8) >> at % 8 & 7;

		space += length ? 128u >> length : 0;
	}
	return space == 128;
}

bool carve_is_stream(const uint8_t *p)
{
	if (!has_header(p))
		return false;
	switch (p[2] >> 1 & 3) {
	case 0: return (le_u16(p + 3) ^ le_u16(p + 5)) == 0xffff;
	case 1: return true;
	case 2: return is_dynamic(p + 2);
	default: return false;
	}
}

static bool stream_plain(const uint8_t *run)
{
	const uint8_t *p = run, *end = run + CARVE_RUN;

	while ((p = memchr(p, 0x78, (size_t)(end - p))) && !has_header(p))
		p++;
	return p;
}

#if defined __x86_64__

AVX2 static bool stream_avx2(const uint8_t *p)
{
	const __m256i first = _mm256_set1_epi8(0x78), a = _mm256_set1_epi8(0x01), b = _mm256_set1_epi8(0x5e);
	const __m256i c = _mm256_set1_epi8((char)0x9c), d = _mm256_set1_epi8((char)0xda);
	__m256i found = _mm256_setzero_si256();

	for (size_t i = 0; i < CARVE_RUN; i += 32) {
		__m256i next = load_32(p + i + 1);
		__m256i level = _mm256_or_si256(
			_mm256_or_si256(_mm256_cmpeq_epi8(next, a), _mm256_cmpeq_epi8(next, b)),
			_mm256_or_si256(_mm256_cmpeq_epi8(next, c), _mm256_cmpeq_epi8(next, d)));

		found = _mm256_or_si256(found, _mm256_and_si256(_mm256_cmpeq_epi8(load_32(p + i), first), level));
	}
	return !_mm256_testz_si256(found, found);
}

bool carve_may_stream(const uint8_t run[CARVE_RUN])
{
	return has_avx2() ? stream_avx2(run) : stream_plain(run);
}

#else

bool carve_may_stream(const uint8_t run[CARVE_RUN])
{
	return stream_plain(run);
}

#endif

/* ---- blocks ---- */

/* A coordinate of a vertex is zero, or its exponent is such as models have: from 2^-63 up to 2^23. All that the first
 * byte of a big-endian float tells. */
#define LEAST 0x20
#define MOST 0x4a

static bool is_likely(uint8_t first)
{
	first &= 0x7f;
	return !first || (first >= LEAST && first <= MOST);
}

static struct carve_word bits_plain(const uint8_t *p)
{
	struct carve_word out = { 0 };

	for (unsigned k = 0; k < 64; k++, p += CARVE_BLOCK) {
		bool tail = !be_u32(p + 12);

		out.vertex |= (uint64_t)(is_likely(p[0]) && is_likely(p[4]) && is_likely(p[8])) << k;
		out.tail |= (uint64_t)tail << k;
		out.zero |= (uint64_t)(tail && !be_u32(p) && !be_u32(p + 4) && !be_u32(p + 8)) << k;
	}
	return out;
}

#if defined __x86_64__

/* Blocks k and k + 4. */
AVX2 static inline __m256i two_blocks(const uint8_t *p)
{
	const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)p);

	return _mm256_inserti128_si256(_mm256_castsi128_si256(low),
				       _mm_loadu_si128((const __m128i *)(const void *)(p + 4 * CARVE_BLOCK)), 1);
}

/* Bits 0, 4, 8, ... 28 as bits 0 to 7. */
static inline uint64_t gather(unsigned m)
{
	m &= 0x11111111;
	m |= m >> 3;
	m |= m >> 6;
	return (m & 15) | (m >> 12 & 0xf0);
}

/* A bit for each word of eight blocks, then one for each block. */
AVX2 static struct carve_word bits_avx2(const uint8_t *p)
{
	const __m256i first = _mm256_set1_epi32(0x7f), none = _mm256_setzero_si256();
	const __m256i least = _mm256_set1_epi8(LEAST - 1), most = _mm256_set1_epi8(MOST + 1);
	struct carve_word out = { 0 };

	for (unsigned k = 0; k < 64; k += 8, p += 8 * (size_t)CARVE_BLOCK) {
		__m256i a = two_blocks(p), b = two_blocks(p + 16), c = two_blocks(p + 32), d = two_blocks(p + 48);
		__m256i high = _mm256_packus_epi16(
			_mm256_packs_epi32(_mm256_and_si256(a, first), _mm256_and_si256(b, first)),
			_mm256_packs_epi32(_mm256_and_si256(c, first), _mm256_and_si256(d, first)));
		__m256i likely = _mm256_or_si256(_mm256_cmpeq_epi8(high, none), _mm256_and_si256(
			_mm256_cmpgt_epi8(high, least), _mm256_cmpgt_epi8(most, high)));
		__m256i zero = _mm256_packs_epi16(
			_mm256_packs_epi32(_mm256_cmpeq_epi32(a, none), _mm256_cmpeq_epi32(b, none)),
			_mm256_packs_epi32(_mm256_cmpeq_epi32(c, none), _mm256_cmpeq_epi32(d, none)));
		unsigned l = (unsigned)_mm256_movemask_epi8(likely), z = (unsigned)_mm256_movemask_epi8(zero);

		out.vertex |= gather(l & l >> 1 & l >> 2) << k;
		if (!z)
			continue;
		out.tail |= gather(z >> 3) << k;
		out.zero |= gather(z & z >> 1 & z >> 2 & z >> 3) << k;
	}
	return out;
}

struct carve_word carve_bits_of(const uint8_t run[CARVE_RUN])
{
	return has_avx2() ? bits_avx2(run) : bits_plain(run);
}

#else

struct carve_word carve_bits_of(const uint8_t run[CARVE_RUN])
{
	return bits_plain(run);
}

#endif
