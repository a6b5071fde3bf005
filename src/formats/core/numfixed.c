/* Fixed point numbers as text and back. All digits are printed: v / 2^bits has at most `bits` of them behind the dot.
 * Reading is exact, because a value half way between two neighbours has one digit more, and what follows that decides
 * nothing. */
#include <string.h>

#include "num.h"

#define MOST ((int64_t)1 << 40)

static size_t put_whole(char *p, uint64_t v)
{
	char text[20];
	size_t n = 0;

	do
		text[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (size_t i = 0; i < n; i++)
		p[i] = text[n - 1 - i];
	return n;
}

size_t num_fixed(char *p, int64_t v, unsigned bits)
{
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v, mask = ((uint64_t)1 << bits) - 1, rest = u & mask;
	size_t n = 0;

	if (v < 0)
		p[n++] = '-';
	n += put_whole(p + n, u >> bits);
	p[n++] = '.';
	do {
		rest *= 10;
		p[n++] = (char)('0' + (rest >> bits));
		rest &= mask;
	} while (rest);
	return n;
}

/* Digits of a text, the dot left out. */
struct digits {
	const char *p;
	size_t n, dot;                         /* digits; how many of them before the dot */
	int64_t point;                         /* how many before it with the exponent */
};

static unsigned digit(const struct digits *d, int64_t i)
{
	size_t at = (size_t)i;

	if (i < 0 || at >= d->n)
		return 0;
	return (unsigned)(d->p[at < d->dot ? at : at + 1] - '0');
}

static size_t count_digits(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && p[n] >= '0' && p[n] <= '9')
		n++;
	return n;
}

/* "e-05"; false: something else stands there. */
static bool read_exponent(const char *p, const char *end, int64_t *e)
{
	bool minus;
	size_t n;

	*e = 0;
	if (p == end)
		return true;
	if ((*p++ | 0x20) != 'e')
		return false;
	minus = p < end && *p == '-';
	p += p < end && (*p == '-' || *p == '+');
	n = count_digits(p, end);
	if (!n || p + n != end)
		return false;
	for (; p < end; p++)
		*e = *e < MOST ? *e * 10 + (*p - '0') : *e;
	*e = minus ? -*e : *e;
	return true;
}

static bool read_digits(const char *p, const char *end, struct digits *d)
{
	int64_t e;

	d->p = p;
	d->n = d->dot = count_digits(p, end);
	p += d->n;
	if (p < end && *p == '.') {
		size_t behind = count_digits(p + 1, end);

		d->n += behind;
		p += 1 + behind;
	}
	if (!d->n || !read_exponent(p, end, &e))
		return false;
	d->point = (int64_t)d->dot + e;
	return true;
}

static uint64_t whole_part(const struct digits *d)
{
	uint64_t v = 0;
	int64_t i;

	for (i = 0; i < d->point && i < (int64_t)d->n && v < (uint64_t)MOST; i++)
		v = v * 10 + digit(d, i);
	for (; i < d->point && v && v < (uint64_t)MOST; i++)
		v *= 10;
	return v < (uint64_t)MOST ? v : (uint64_t)MOST;
}

bool num_parse_fixed(const char *p, size_t n, unsigned bits, unsigned over, int64_t *out)
{
	uint64_t part = 0, fives = 1, k;
	bool minus = n && *p == '-';
	size_t sign = n && (minus || *p == '+');
	struct digits d;

	if (!read_digits(p + sign, p + n, &d))
		return false;
	for (unsigned i = 0; i <= bits; i++) {
		part = part * 10 + digit(&d, d.point + i);
		fives *= 5;
	}
	/* Twice the value in units of 2^-bits, cut off; a whole number of `over` halves is exact in it. */
	k = (((whole_part(&d) << (bits + 1)) + part / fives) + over) / (2 * over);
	*out = k < (uint64_t)MOST ? (int64_t)k : MOST;
	*out = minus ? -*out : *out;
	return true;
}
