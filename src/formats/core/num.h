/* Numbers as text: shortest decimals that read back to the same bits. */
#ifndef MODELFS_NUM_H
#define MODELFS_NUM_H

#include "base.h"

#define NUM_MAX 32                             /* bytes any of these writes at most; no terminating zero */

/* Each writes to p and returns the length. */
/* Shortest decimal that reads back to the same float32. Fixed notation from 1e-4 to below 1e16, else an exponent.
 * dot: always with a dot, exponents with a sign and two digits (YAML): 1.0, 1.0e-05; else bare (OBJ): 1, 1e-05.
 * Infinity is .inf, NaN its bits (0x7fc00001) with dot; without dot both print 0. */
size_t num_f32(char *p, float v, bool dot);
size_t num_u32(char *p, uint32_t v);
size_t num_u64(char *p, uint64_t v);
size_t num_i32(char *p, int32_t v);
/* All digits of v / 2^bits, which are finite, with a dot and no exponent: 0.0, -1.5. |v| < 2^40, bits up to
 * NUM_FIXED_BITS. */
#define NUM_FIXED_BITS 16u
size_t num_fixed(char *p, int64_t v, unsigned bits);

/* Nearest float32 of decimal text, correctly rounded (ties to even): [+-]digits[.digits][e[+-]digits]; one side of the
 * dot may have no digits (.5, 1.). All n bytes must belong to the number. false: not a number, or too large for a
 * float32. */
bool num_parse_f32(const char *p, size_t n, float *out);
/* Nearest k of decimal text with k * over / 2^bits = text, half away from zero; over is at most 64. Exact, however many
 * digits there are. Values past 2^40 are given as that. false: not a number. */
bool num_parse_fixed(const char *p, size_t n, unsigned bits, unsigned over, int64_t *out);

/* -1: it is no hex digit. */
int num_hex_digit(char c);

/* A number with a dot, for messages. */
struct num_text { char s[NUM_MAX + 1]; };
struct num_text num_text(double v);

#endif
