#include "decimal.h"

#include <math.h>

/* An exponent is cut off here, which is far outside what a double holds. */
#define EXPONENT_MOST 100000
/* Digits a uint64_t holds whatever they are. */
#define DIGITS_KEPT 19u
/* The greatest power of ten that 64 bits of mantissa hold exactly. */
#define TEN_MOST 27

static const long double ten[TEN_MOST + 1] = {
	1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L,
	1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
};

/* m * 10^e. Correctly rounded where both numbers are exact doubles, which is nearly always; else off by the rounding of
 * a few long double operations. */
static double scaled(uint64_t m, int e)
{
	long double v = (long double)m;

	if (!m || e < -400)
		return 0;
	if (e > 400)
		return INFINITY;
	if (m < (uint64_t)1 << 53 && e >= -22 && e <= 22)
		return e < 0 ? (double)m / (double)ten[-e] : (double)m * (double)ten[e];
	for (; e > TEN_MOST; e -= TEN_MOST)
		v *= ten[TEN_MOST];
	for (; e < -TEN_MOST; e += TEN_MOST)
		v /= ten[TEN_MOST];
	return (double)(e < 0 ? v / ten[-e] : v * ten[e]);
}

static bool is_digit(const uint8_t *p, const uint8_t *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

/* "e-05" at p, if that is what stands there. */
static const uint8_t *read_exponent(const uint8_t *p, const uint8_t *end, int *out)
{
	const uint8_t *q = p + 1;
	bool minus = false;
	int e = 0;

	*out = 0;
	if (p == end || (*p | 0x20) != 'e')
		return p;
	if (q < end && (*q == '-' || *q == '+'))
		minus = *q++ == '-';
	if (!is_digit(q, end))
		return p;
	for (; is_digit(q, end); q++)
		e = e < EXPONENT_MOST ? e * 10 + (*q - '0') : e;
	*out = minus ? -e : e;
	return q;
}

/* Digits so far: their value without the dot, how many were left out for want of room. */
struct digits { uint64_t m; unsigned count, left_out; };

static const uint8_t *read_digits(const uint8_t *p, const uint8_t *end, struct digits *d)
{
	for (; is_digit(p, end); p++) {
		if (!d->m && *p == '0')
			continue;
		d->count++;
		if (d->count <= DIGITS_KEPT)
			d->m = d->m * 10 + (uint64_t)(*p - '0');
		else
			d->left_out++;
	}
	return p;
}

const uint8_t *decimal_read(const uint8_t *p, const uint8_t *end, struct decimal *out)
{
	struct digits d = { 0 };
	const uint8_t *whole, *dot, *last;
	bool minus = false;
	int e, decimals = 0;

	if (p < end && (*p == '-' || *p == '+'))
		minus = *p++ == '-';
	whole = p;
	p = dot = read_digits(p, end, &d);
	last = p;
	if (p < end && *p == '.') {
		last = p = read_digits(p + 1, end, &d);
		decimals = (int)(p - dot - 1);
	}
	if (last - whole == 0 || (last - whole == 1 && *whole == '.'))
		return NULL;
	out->padded = last > dot && (last[-1] == '0' || last[-1] == '.');
	p = read_exponent(p, end, &e);
	out->decimals = decimals - e;
	out->digits = d.count;
	out->v = scaled(d.m, e - decimals + (int)d.left_out);
	out->v = minus ? -out->v : out->v;
	return p;
}

float decimal_half(int decimals)
{
	/* A little more: a text that lies exactly half a unit off, and its distance, are doubles and rounded. */
	const double half = 0.5 * (1 + 1e-6);

	if (decimals < 0 || decimals > TEN_MOST)
		return 0;
	return (float)(half / (double)ten[decimals]);
}

bool decimal_fits(double v)
{
	/* Half a step past the greatest one. */
	return fabs(v) < 0x1.ffffffp127;
}
