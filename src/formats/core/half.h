/* IEEE halves: 1 bit sign, 5 exponent, 10 fraction. */
#ifndef MODELFS_HALF_H
#define MODELFS_HALF_H

#include "bytes.h"

#define HALF_MOST 65504.0f                     /* the largest that is finite */

/* Exact; a NaN keeps its bits. */
static inline float half_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;

	if (rest >= 0x0f800000)
		return bits_f32(sign | 0x7f800000 | rest);
	/* With the bias of a float32 the value is 2^112 times too small, subnormals too. */
	return bits_f32(sign | f32_bits(bits_f32(rest) * 0x1p112f));
}

/* The nearest half, ties to even; past HALF_MOST by half a unit or more: infinity. A NaN keeps the upper bits of its
 * payload and stays one. */
static inline uint16_t f32_half(float v)
{
	uint32_t bits = f32_bits(v), rest = bits & 0x7fffffff;
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);

	if (rest > 0x7f800000)
		return (uint16_t)(sign | 0x7c00 | (rest >> 13 & 0x3ff) | !(rest >> 13 & 0x3ff));
	if (rest >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	/* Below 2^-14 a unit is 2^-24, as it is of a float32 from 0.5 on: the sum is rounded like the half. */
	if (rest < 0x38800000)
		return (uint16_t)(sign | (f32_bits(bits_f32(rest) + 0.5f) - f32_bits(0.5f)));
	rest += 0xfff + (rest >> 13 & 1);
	return (uint16_t)(sign | (rest - 0x38000000) >> 13);
}

#endif
