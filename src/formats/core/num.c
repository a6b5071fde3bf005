/* Numbers as text and back.
 *
 * Printing a float32: the decimals that read back to it fill an interval around it, half way to its neighbours. Take
 * the power of ten 10^k just below the width of that interval. Of the multiples of 10^(k+1) at most one lies inside:
 * if there is one, it is the shortest; else at least one multiple of 10^k lies inside, none of them has fewer digits
 * than another, and the closest wins. This is the idea of R. Giulietti's Schubfach; here everything is scaled by 10^-k
 * and held in 64 bits with the point before the lowest 34.
 *
 * Parsing: 19 digits times 64 bits of the power of ten leave an interval so narrow that both its ends nearly always
 * round to the same float32. Else the text is compared exactly with the midpoint between the two candidates. */
#include "num.h"

#include <endian.h>
#include <string.h>

#include "bytes.h"

#define POW10_MIN (-64)
#define POW10_MAX 45

/* The first 64 bits of 10^e, cut off: floor(10^e / 2^log2_pow10(e)), from 2^63 up to below 2^64. For e >= 0 these are
 * the upper bits of the integer 10^e, for e < 0 those of the quotient 2^N / 10^-e with N large. tests/test_num.c
 * computes them again that way. */
static const uint64_t pow10_top[POW10_MAX - POW10_MIN + 1] = {
	0xa87fea27a539e9a5, 0xd29fe4b18e88640e, 0x83a3eeeef9153e89, 0xa48ceaaab75a8e2b, 0xcdb02555653131b6,
	0x808e17555f3ebf11, 0xa0b19d2ab70e6ed6, 0xc8de047564d20a8b, 0xfb158592be068d2e, 0x9ced737bb6c4183d,
	0xc428d05aa4751e4c, 0xf53304714d9265df, 0x993fe2c6d07b7fab, 0xbf8fdb78849a5f96, 0xef73d256a5c0f77c,
	0x95a8637627989aad, 0xbb127c53b17ec159, 0xe9d71b689dde71af, 0x9226712162ab070d, 0xb6b00d69bb55c8d1,
	0xe45c10c42a2b3b05, 0x8eb98a7a9a5b04e3, 0xb267ed1940f1c61c, 0xdf01e85f912e37a3, 0x8b61313bbabce2c6,
	0xae397d8aa96c1b77, 0xd9c7dced53c72255, 0x881cea14545c7575, 0xaa242499697392d2, 0xd4ad2dbfc3d07787,
	0x84ec3c97da624ab4, 0xa6274bbdd0fadd61, 0xcfb11ead453994ba, 0x81ceb32c4b43fcf4, 0xa2425ff75e14fc31,
	0xcad2f7f5359a3b3e, 0xfd87b5f28300ca0d, 0x9e74d1b791e07e48, 0xc612062576589dda, 0xf79687aed3eec551,
	0x9abe14cd44753b52, 0xc16d9a0095928a27, 0xf1c90080baf72cb1, 0x971da05074da7bee, 0xbce5086492111aea,
	0xec1e4a7db69561a5, 0x9392ee8e921d5d07, 0xb877aa3236a4b449, 0xe69594bec44de15b, 0x901d7cf73ab0acd9,
	0xb424dc35095cd80f, 0xe12e13424bb40e13, 0x8cbccc096f5088cb, 0xafebff0bcb24aafe, 0xdbe6fecebdedd5be,
	0x89705f4136b4a597, 0xabcc77118461cefc, 0xd6bf94d5e57a42bc, 0x8637bd05af6c69b5, 0xa7c5ac471b478423,
	0xd1b71758e219652b, 0x83126e978d4fdf3b, 0xa3d70a3d70a3d70a, 0xcccccccccccccccc, 0x8000000000000000,
	0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000, 0xc350000000000000,
	0xf424000000000000, 0x9896800000000000, 0xbebc200000000000, 0xee6b280000000000, 0x9502f90000000000,
	0xba43b74000000000, 0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000, 0xe35fa931a0000000,
	0x8e1bc9bf04000000, 0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000,
	0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400, 0xd3c21bcecceda100, 0x84595161401484a0,
	0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940984, 0xa18f07d736b90be5, 0xc9f2c9cd04674ede,
	0xfc6f7c4045812296, 0x9dc5ada82b70b59d, 0xc5371912364ce305, 0xf684df56c3e01bc6, 0x9a130b963a6c115c,
	0xc097ce7bc90715b3, 0xf0bdc21abb48db20, 0x96769950b50d88f4, 0xbc143fa4e250eb31, 0xeb194f8e1ae525fd,
	0x92efd1b8d0cf37be, 0xb7abc627050305ad, 0xe596b7b0c643c719, 0x8f7e32ce7bea5c6f, 0xb35dbf821ae4f38b,
};

/* floor(log10(2^q)), floor(log10(3/4 * 2^q)) and the exponent that goes with pow10_top; right shifts round down. */
static int log10_pow2(int q) { return q * 78913 >> 18; }
static int log10_pow2_34(int q) { return (q * 78913 - 32752) >> 18; }
static int log2_pow10(int e) { return (e * 217706 >> 16) - 63; }

static const uint32_t ten[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };

/* ---- integers ---- */

static const char pairs[] =
	"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
	"5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static unsigned count_digits(uint32_t v)
{
	unsigned n;

	v |= 1;                                /* 0 has a digit too; no other length changes */
	n = (32 - (unsigned)__builtin_clz(v)) * 1233 >> 12;
	return n + (v >= ten[n]);
}

size_t num_u32(char *p, uint32_t v)
{
	unsigned n = count_digits(v), at = n;

	for (; v >= 100; v /= 100)
		memcpy(p + (at -= 2), pairs + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(p, pairs + v * 2, 2);
	else
		*p = (char)('0' + v);
	return n;
}

size_t num_u64(char *p, uint64_t v)
{
	uint32_t low = (uint32_t)(v % ten[9]);
	unsigned zeros = 9 - count_digits(low);
	size_t n;

	if (v <= UINT32_MAX)
		return num_u32(p, (uint32_t)v);
	n = num_u64(p, v / ten[9]);
	memset(p + n, '0', zeros);
	return n + zeros + num_u32(p + n + zeros, low);
}

size_t num_i32(char *p, int32_t v)
{
	if (v >= 0)
		return num_u32(p, (uint32_t)v);
	*p = '-';
	return 1 + num_u32(p + 1, -(uint32_t)v);
}

/* ---- float32 to text ---- */

struct decimal {
	uint32_t digits;                       /* 7 to 9 of them; fewer for a subnormal */
	int exp;                               /* value = digits * 10^exp */
};

#define FIX(n) ((uint64_t)(n) << 34)

/* The finite, positive float32 with these bits; its shortest decimal may have zeros at the end. */
static struct decimal shortest(uint32_t bits)
{
	uint32_t frac = bits & 0x7fffff, biased = bits >> 23;
	uint32_t c = biased ? frac | 0x800000 : frac, odd = c & 1;
	int q = biased ? (int)biased - 150 : -149;              /* value = c * 2^q */
	bool narrow = !frac && biased > 1;                      /* the neighbour below is half as far */
	int k = narrow ? log10_pow2_34(q) : log10_pow2(q);
	int h = q + log2_pow10(-k) + 64;                        /* 1 to 4 */
	uint64_t g = pow10_top[-k - POW10_MIN] + 1;
	uint64_t x = (uint64_t)c << (h + 2);
	/* The value, and how far around it decimals may lie. g is rounded up, the rest cut off, so where the exact
	 * number ends before the lowest bit, v is exact, and lo and hi are off by 1 at most. No float32 has an
	 * end within 3 of a multiple, or lies within 2 of one or of a middle, without being on it; floor sums over c
	 * count none in any binade. An odd c excludes the ends themselves. */
	uint64_t v = (g >> 32) * x + ((g & 0xffffffff) * x >> 32);
	uint64_t lo = v - (g >> (31 - h + narrow)) - 1 + 2 * odd;
	uint64_t hi = v + (g >> (31 - h)) + 1 - 2 * odd;
	uint32_t s = (uint32_t)(v >> 34), s10 = s - s % 10;
	/* Each pair of neighbours: is the one at or below v inside, the one above? Without branches, as each is as
	 * likely as the other. */
	uint32_t below10 = lo <= FIX(s10), above10 = FIX(s10) + FIX(10) <= hi;
	uint32_t below = lo <= FIX(s), above = FIX(s) + FIX(1) <= hi;
	uint32_t nearer = v + (s & 1) > FIX(s) + FIX(1) / 2;    /* a tie goes to the even one */
	uint32_t one = below ^ above, one10 = below10 ^ above10;

	s += (above & one) | (nearer & ~one);
	s10 += above10 * 10;
	return (struct decimal){ s ^ ((s ^ s10) & -one10), k };
}

/* The 8 digits of v, the first one in the lowest byte. Each step splits all lanes at once: a quotient h of x takes the
 * place of x and x - h * d the lane above. */
static uint64_t eight_digits(uint32_t v)
{
	uint64_t h = v / 10000, x = ((uint64_t)v << 32) - h * (((uint64_t)10000 << 32) - 1);

	h = x * 10486 >> 20 & 0x7f0000007f;
	x = (x << 16) - h * ((100 << 16) - 1);
	h = x * 103 >> 10 & 0xf000f000f000f;
	return (x << 8) - h * ((10 << 8) - 1);
}

static void store_text(char *p, uint64_t text)
{
	text = htole64(text);
	memcpy(p, &text, sizeof text);
}

#define ZEROS 0x3030303030303030u

static size_t put_exponent(char *p, int e)
{
	p[0] = 'e';
	p[1] = e < 0 ? '-' : '+';
	memcpy(p + 2, pairs + (e < 0 ? -e : e) * 2, 2);
	return 4;
}

/* Digits are laid down eight at a time, so up to 17 bytes are touched whatever the length is. */
static size_t put_decimal(char *p, struct decimal d, bool dot)
{
	uint32_t nine;                         /* the first digit, then eight more */
	uint64_t rest;
	int n, len, e;
	char first;

	for (; d.digits < ten[6]; d.exp--)
		d.digits *= 10;
	n = (d.digits >= ten[7]) + (d.digits >= ten[8]);
	nine = d.digits * ten[2 - n];
	e = d.exp + n + 6;                /* power of ten of the first digit */
	first = (char)('0' + nine / ten[8]);
	rest = eight_digits(nine % ten[8]);
	len = (78 - __builtin_clzll(rest << 1 | 1)) / 8;        /* up to the last digit that is not 0 */
	rest |= ZEROS;
	if (e < -4 || e > 15) {
		p[0] = first;
		p[1] = '.';
		store_text(p + 2, rest);
		len = len > 1 ? len + 1 : dot ? 3 : 1;
		return (size_t)len + put_exponent(p + len, e);
	}
	if (e < 0) {
		memcpy(p, "0.000", 5);
		p[1 - e] = first;
		store_text(p + 2 - e, rest);
		return (size_t)(1 - e + len);
	}
	p[0] = first;
	store_text(p + 1, rest);
	if (len > e + 1) {
		p[e + 1] = '.';
		store_text(p + e + 2, rest >> 8 * e);
		return (size_t)len + 1;
	}
	if (e > 8)
		store_text(p + 9, ZEROS);
	if (!dot)
		return (size_t)e + 1;
	p[e + 1] = '.';
	p[e + 2] = '0';
	return (size_t)e + 3;
}

/* Zeros of both signs, infinities and NaN. */
static size_t put_special(char *p, uint32_t bits, bool dot)
{
	bool zero = !(bits << 1), nan = bits << 1 > 0xff000000;
	const char *text = zero ? dot ? "-0.0" : "-0" : dot ? "-.inf" : "0";
	size_t n;

	if (nan && dot) {
		memcpy(p, "0x", 2);
		for (n = 0; n < 8; n++)
			p[2 + n] = "0123456789abcdef"[bits >> (28 - 4 * n) & 15];
		return 10;
	}
	if (*text == '-' && !(bits >> 31))
		text++;
	n = strlen(text);
	memcpy(p, text, n);
	return n;
}

size_t num_f32(char *p, float v, bool dot)
{
	uint32_t bits = f32_bits(v), size = bits & 0x7fffffff, minus = bits >> 31;

	if (size - 1 >= 0x7f7fffff)
		return put_special(p, bits, dot);
	*p = '-';
	return minus + put_decimal(p + minus, shortest(size), dot);
}

/* ---- text to float32 ---- */

struct digits {
	const char *p, *end;                   /* digits, a dot may lie among them */
	int64_t exp;                           /* value = all digits as one integer * 10^exp */
	uint64_t top;                          /* that integer, if there are at most 19 digits */
	bool fits;
};

static bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/* false: no digit at p. */
static bool scan_digits(const char *p, const char *end, struct digits *d)
{
	const char *dot;
	uint64_t top = 0;

	d->p = p;
	for (; p < end && is_digit(*p); p++)
		top = top * 10 + (uint64_t)(*p - '0');
	dot = p;
	if (p < end && *p == '.')
		for (p++; p < end && is_digit(*p); p++)
			top = top * 10 + (uint64_t)(*p - '0');
	d->exp = p > dot ? dot + 1 - p : 0;
	d->end = p;
	d->top = top;
	d->fits = p - d->p <= 19;
	return p - d->p > (p > dot);
}

/* false: p to end is neither empty nor an exponent. */
static bool scan_exponent(const char *p, const char *end, int64_t *exp)
{
	int64_t e = 0;
	bool minus;

	if (p == end)
		return true;
	if (*p != 'e' && *p != 'E')
		return false;
	p++;
	minus = p < end && *p == '-';
	if (p < end && (*p == '-' || *p == '+'))
		p++;
	if (p == end)
		return false;
	for (; p < end && is_digit(*p); p++)
		if (e < (int64_t)1 << 56)      /* more than any number of digits makes up for */
			e = e * 10 + (*p - '0');
	*exp += minus ? -e : e;
	return p == end;
}

/* The first 19 digits that count; *exp follows them. What is left out is less than one unit. */
static uint64_t first_19(const struct digits *d, int64_t *exp)
{
	uint64_t top = 0;
	const char *p;

	*exp = d->exp;
	for (p = d->p; p < d->end; p++) {
		if (*p == '.')
			continue;
		if (top < 1000000000000000000u)
			top = top * 10 + (uint64_t)(*p - '0');
		else
			++*exp;
	}
	return top;
}

/* Upper half of a * b. */
static uint64_t mul_top(uint64_t a, uint64_t b)
{
	uint64_t ah = a >> 32, al = a & 0xffffffff, bh = b >> 32, bl = b & 0xffffffff;
	uint64_t mid = ah * bl + (al * bl >> 32), low = al * bh + (mid & 0xffffffff);

	return ah * bh + (mid >> 32) + (low >> 32);
}

/* Bits of the float32 nearest to v * 2^q, ties to even; v from 2^60 up to below 2^63. Past the largest float32 the
 * bits go on growing from those of infinity. */
static uint32_t round_bits(uint64_t v, int q)
{
	int drop = 40 - __builtin_clzll(v);    /* leaves 24 bits */
	uint64_t c, half;

	if (q + drop < -149)
		drop = -149 - q;
	if (drop > 63)
		return 0;
	half = (uint64_t)1 << (drop - 1);
	c = v >> drop;
	v -= c << drop;
	c += v > half || (v == half && (c & 1));
	/* The leading bit of c, absent from subnormals, counts the biased exponent up by one; so does its overflow. */
	return ((uint32_t)(q + drop + 149) << 23) + (uint32_t)c;
}

/* ---- the exact comparison ---- */

/* A midpoint is an odd multiple of 2^-150 or of a larger power of two, so it has at most 113 digits; what follows them
 * in the text only says "and more". The longest product is a midpoint's 25 bits times 10^(45 + DIGITS_MAX). */
#define DIGITS_MAX 114
#define BIG_WORDS 20
struct big { uint32_t w[BIG_WORDS]; };         /* lowest word first */

static void big_mul_add(struct big *b, uint32_t by, uint32_t carry)
{
	unsigned i;

	for (i = 0; i < BIG_WORDS; i++) {
		uint64_t x = (uint64_t)b->w[i] * by + carry;

		b->w[i] = (uint32_t)x;
		carry = (uint32_t)(x >> 32);
	}
}

static void big_pow10(struct big *b, int e)
{
	for (; e >= 9; e -= 9)
		big_mul_add(b, ten[9], 0);
	big_mul_add(b, ten[e], 0);
}

static void big_pow2(struct big *b, int e)
{
	for (; e >= 31; e -= 31)
		big_mul_add(b, (uint32_t)1 << 31, 0);
	big_mul_add(b, (uint32_t)1 << e, 0);
}

static int big_cmp(const struct big *a, const struct big *b)
{
	unsigned i;

	for (i = BIG_WORDS; i--;)
		if (a->w[i] != b->w[i])
			return a->w[i] < b->w[i] ? -1 : 1;
	return 0;
}

/* The text's value against the midpoint between the float32 with these bits and the next one: -1, 0 or 1. The value
 * is known to lie between these two, which bounds its exponent. */
static int cmp_midpoint(const struct digits *d, uint32_t bits)
{
	struct big text = { { 0 } }, mid = { { 0 } };
	int q = (bits >> 23 ? (int)(bits >> 23) - 150 : -149) - 1, e, order;
	int64_t exp = d->exp;
	bool more = false;
	size_t n = 0;
	const char *p;

	for (p = d->p; p < d->end; p++) {
		if (*p == '.')
			continue;
		n += n || *p != '0';
		if (n <= DIGITS_MAX) {
			big_mul_add(&text, 10, (uint32_t)(*p - '0'));
		} else {
			more |= *p != '0';
			exp++;
		}
	}
	e = (int)exp;
	mid.w[0] = 2 * (bits >> 23 ? (bits & 0x7fffff) | 0x800000 : bits) + 1;
	big_pow10(e < 0 ? &mid : &text, e < 0 ? -e : e);
	big_pow2(q < 0 ? &text : &mid, q < 0 ? -q : q);
	order = big_cmp(&text, &mid);
	return order ? order : more;
}

/* Bits of the nearest float32; not less than infinity's when the value is too large. */
static uint32_t nearest_bits(const struct digits *d)
{
	int64_t exp = d->exp;
	uint64_t top = d->fits ? d->top : first_19(d, &exp), v;
	uint32_t lo, hi;
	int q, shift, order;

	if (!top || exp < POW10_MIN)           /* top is below 2^64: less than half the smallest */
		return 0;
	if (exp > 38)
		return 0x7f800000;
	shift = __builtin_clzll(top);
	q = log2_pow10((int)exp) + 66 - shift;
	/* Cut off: 1 of the product, 1 for the power of ten, 16 for digits past the 19th, 3 by the shift; less than
	 * 4 * 6. */
	v = mul_top(top << shift, pow10_top[exp - POW10_MIN]) >> 2;
	lo = round_bits(v, q);
	hi = round_bits(v + 6, q);
	if (lo == hi || lo >= 0x7f800000)
		return lo;
	order = cmp_midpoint(d, lo);
	return lo + (order > 0 || (!order && (lo & 1)));
}

bool num_parse_f32(const char *p, size_t n, float *out)
{
	const char *end = p + n;
	struct digits d;
	bool minus = n && *p == '-';
	uint32_t bits;

	if (n && (*p == '-' || *p == '+'))
		p++;
	if (!scan_digits(p, end, &d) || !scan_exponent(d.end, end, &d.exp))
		return false;
	bits = nearest_bits(&d);
	if (bits >= 0x7f800000)
		return false;
	*out = bits_f32(bits | (uint32_t)minus << 31);
	return true;
}

struct num_text num_text(double v)
{
	struct num_text out;

	out.s[num_f32(out.s, (float)v, true)] = 0;
	return out;
}

int num_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
