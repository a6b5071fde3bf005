/* Looking at all bytes of a large file: what costs something is done for runs of them at once. */
#include "carve.h"

#include <string.h>

#include "bytes.h"

#ifdef __SSE2__
#include <emmintrin.h>
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

static bool has_magic(const uint8_t *p)
{
	const words magic = all("\xfa\xfa\0\3");
	words found = { 0 };

	for (size_t i = 0; i < CARVE_RUN; i += 4 * sizeof(words))
		found |= (words)((load(p + i) == magic) | (load(p + i + 16) == magic) |
				 (load(p + i + 32) == magic) | (load(p + i + 48) == magic));
	return any(found);
}

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

/* ---- blocks ---- */

/* A coordinate of a vertex is zero, or its exponent is such as models have: from 2^-63 up to 2^23. All that the first
 * byte of a big-endian float tells. */
#define LEAST 0x20
#define MOST 0x4a

#ifdef __SSE2__

static __m128i load_block(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static __m128i pack(__m128i a, __m128i b, __m128i c, __m128i d)
{
	return _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
}

/* Bits 0, 4, 8, 12 as bits 0 to 3. */
static unsigned gather(unsigned m)
{
	m |= m >> 3;
	return (m | m >> 6) & 15;
}

/* Four blocks; a bit for each of their words, then one for each block. */
static void look_at_four(const uint8_t *p, unsigned shift, struct carve_word *out)
{
	const __m128i first = _mm_set1_epi32(0xff), none = _mm_setzero_si128();
	__m128i a = load_block(p), b = load_block(p + 16), c = load_block(p + 32), d = load_block(p + 48);
	__m128i high = _mm_and_si128(pack(_mm_and_si128(a, first), _mm_and_si128(b, first), _mm_and_si128(c, first),
					  _mm_and_si128(d, first)), _mm_set1_epi8(0x7f));
	__m128i likely = _mm_or_si128(_mm_cmpeq_epi8(high, none),
				      _mm_and_si128(_mm_cmpgt_epi8(high, _mm_set1_epi8(LEAST - 1)),
						    _mm_cmplt_epi8(high, _mm_set1_epi8(MOST + 1))));
	__m128i zero = _mm_packs_epi16(_mm_packs_epi32(_mm_cmpeq_epi32(a, none), _mm_cmpeq_epi32(b, none)),
				       _mm_packs_epi32(_mm_cmpeq_epi32(c, none), _mm_cmpeq_epi32(d, none)));
	unsigned l = (unsigned)_mm_movemask_epi8(likely), z = (unsigned)_mm_movemask_epi8(zero);

	out->vertex |= (uint64_t)gather(l & l >> 1 & l >> 2 & 0x1111) << shift;
	if (!z)
		return;
	out->tail |= (uint64_t)gather(z >> 3 & 0x1111) << shift;
	out->zero |= (uint64_t)gather(z & z >> 1 & z >> 2 & z >> 3 & 0x1111) << shift;
}

#else

static bool is_likely(uint8_t first)
{
	first &= 0x7f;
	return !first || (first >= LEAST && first <= MOST);
}

static void look_at_four(const uint8_t *p, unsigned shift, struct carve_word *out)
{
	for (unsigned k = 0; k < 4; k++, p += CARVE_BLOCK, shift++) {
		bool tail = !be_u32(p + 12);

		out->vertex |= (uint64_t)(is_likely(p[0]) && is_likely(p[4]) && is_likely(p[8])) << shift;
		out->tail |= (uint64_t)tail << shift;
		out->zero |= (uint64_t)(tail && !be_u32(p) && !be_u32(p + 4) && !be_u32(p + 8)) << shift;
	}
}

#endif

struct carve_word carve_bits_of(const uint8_t run[CARVE_RUN])
{
	struct carve_word out = { 0 };

	for (unsigned k = 0; k < 64; k += 4)
		look_at_four(run + k * (size_t)CARVE_BLOCK, k, &out);
	return out;
}
