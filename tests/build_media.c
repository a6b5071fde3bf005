#include "build_media.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "build.h"
#include "bytes.h"

/* ---- codes, a symbol at a time ---- */

static uint8_t times(uint8_t a, uint8_t b)
{
	unsigned r = 0;

	for (unsigned v = a; b; b >>= 1, v = v << 1 ^ (v & 128 ? 0x11d : 0))
		r ^= b & 1 ? v : 0;
	return (uint8_t)r;
}

static uint8_t power(unsigned n)
{
	uint8_t r = 1;

	while (n--)
		r = times(r, 2);
	return r;
}

uint32_t raw_edc(const uint8_t *p, size_t n)
{
	uint32_t r = 0;

	for (; n; n--, p++) {
		r ^= *p;
		for (unsigned bit = 0; bit < 8; bit++)
			r = r >> 1 ^ (r & 1 ? 0xd8018001u : 0);
	}
	return r;
}

/* Word of symbol i of the k-th code: 43 of P, then 26 of Q. */
static unsigned word_of(unsigned k, unsigned i)
{
	if (k < 43)
		return 43 * i + k;
	k -= 43;
	return i < 43 ? (43 * k + 44 * i) % 1118 : 1118 + 26 * (i - 43) + k;
}

static unsigned length_of(unsigned k)
{
	return k < 43 ? 26 : 45;
}

/* The two sums over the first n symbols. */
static void sums(const uint8_t *body, unsigned plane, unsigned k, unsigned n, uint8_t out[2])
{
	out[0] = out[1] = 0;
	for (unsigned i = 0; i < n; i++) {
		uint8_t v = body[2 * word_of(k, i) + plane];

		out[0] ^= v;
		out[1] ^= times(v, power(length_of(k) - 1 - i));
	}
}

static void body_of(const uint8_t s[RAW_SECTOR], uint8_t body[RAW_SECTOR - 12])
{
	memcpy(body, s + 12, RAW_SECTOR - 12);
	if (s[15] == 2)
		memset(body, 0, 4);
}

bool raw_codes_hold(const uint8_t s[RAW_SECTOR])
{
	unsigned at = s[15] == 1 ? 0 : 16, end = s[15] == 1 ? 0x810 : 0x818;
	uint8_t body[RAW_SECTOR - 12], sum[2];

	body_of(s, body);
	for (unsigned k = 0; k < 2 * (43 + 26); k++) {
		sums(body, k & 1, k / 2, length_of(k / 2), sum);
		if (sum[0] || sum[1])
			return false;
	}
	return le_u32(s + end) == raw_edc(s + at, end - at);
}

/* The pair of parities, by trying all values of the first. */
static void solve(uint8_t *s, uint8_t *body, unsigned plane, unsigned k)
{
	unsigned n = length_of(k);
	uint8_t sum[2];

	sums(body, plane, k, n - 2, sum);
	for (unsigned first = 0; first < 256; first++) {
		uint8_t second = sum[0] ^ (uint8_t)first;

		if (!(sum[1] ^ times((uint8_t)first, 2) ^ second)) {
			s[12 + 2 * word_of(k, n - 2) + plane] = body[2 * word_of(k, n - 2) + plane] = (uint8_t)first;
			s[12 + 2 * word_of(k, n - 1) + plane] = body[2 * word_of(k, n - 1) + plane] = second;
		}
	}
}

static uint8_t bcd(unsigned v)
{
	return (uint8_t)(v / 10 << 4 | v % 10);
}

void build_raw(struct buf *out, uint32_t lba, const uint8_t user[SECTOR], unsigned mode)
{
	uint8_t s[RAW_SECTOR] = { 0 }, body[RAW_SECTOR - 12];
	uint32_t f = lba + 150;

	memset(s + 1, 255, 10);
	s[12] = bcd(f / 4500);
	s[13] = bcd(f / 75 % 60);
	s[14] = bcd(f % 75);
	s[15] = (uint8_t)mode;
	s[18] = s[22] = mode == 2 ? 8 : 0;
	memcpy(s + (mode == 1 ? 16 : 24), user, SECTOR);
	put_le32(s + (mode == 1 ? 0x810 : 0x818), mode == 1 ? raw_edc(s, 0x810) : raw_edc(s + 16, 0x808));
	body_of(s, body);
	for (unsigned k = 0; k < 2 * (43 + 26); k++)
		solve(s, body, k & 1, k / 2);
	buf_add(out, s, sizeof s);
}

/* ---- packed blocks ---- */

static size_t by_zlib(const uint8_t *p, size_t n, int window, uint8_t *out, size_t room)
{
	z_stream z = { 0 };

	if (deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	z.next_in = (uint8_t *)(uintptr_t)p;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = (unsigned)room;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	deflateEnd(&z);
	return z.total_out;
}

/* The stream of a block, shorter than it, or 0. */
static size_t packed(const struct packing_form *how, uint64_t i, const uint8_t *block, uint8_t *out, bool *lz4)
{
	size_t room = 2 * (size_t)how->block + 100, n;

	*lz4 = how->magic[0] == 'Z' || (how->version == 2 && i % 2);
	if (how->plain && i % how->plain == 0)
		return 0;
	n = *lz4 ? (size_t)LZ4_compress_default((const char *)block, (char *)out, (int)how->block, (int)room) :
		   by_zlib(block, how->block, -15, out, room);
	return n + how->slack < how->block ? n : 0;
}

void build_cso(struct buf *out, const uint8_t *p, size_t n, const struct packing_form *how)
{
	size_t blocks = (n + how->block - 1) / how->block, unit = (size_t)1 << how->shift;
	uint8_t *block = malloc(how->block), *stream = malloc(2 * (size_t)how->block + 100);

	buf_add(out, how->magic, 4);
	put32(out, 24);
	put32(out, (uint32_t)n);
	put32(out, 0);
	put32(out, how->block);
	put8(out, how->version);
	put8(out, how->shift);
	put16(out, 0);
	buf_room(out, (blocks + 1) * 4);
	memset(out->p + out->len, 0, (blocks + 1) * 4);
	out->len += (blocks + 1) * 4;
	for (size_t i = 0; i <= blocks; i++) {
		size_t have = n - i * how->block < how->block ? n - i * how->block : how->block, k;
		bool lz4;

		put_zeros(out, unit);
		put_le32(out->p + 24 + 4 * i, (uint32_t)(out->len >> how->shift));
		if (i == blocks)
			break;
		memset(block, 0, how->block);
		memcpy(block, p + i * how->block, have);
		k = packed(how, i, block, stream, &lz4);
		if (how->version == 2 ? k && lz4 : !k)
			out->p[24 + 4 * i + 3] |= 0x80;
		buf_add(out, k ? stream : block, k ? k : how->block);
		for (uint32_t z = 0; z < (k ? how->slack : 0); z++)
			put8(out, 0);
	}
	free(block);
	free(stream);
}

void build_dax(struct buf *out, const uint8_t *p, size_t n, uint32_t plain, bool whole)
{
	size_t blocks = (n + 8191) / 8192, areas = plain ? (blocks + plain - 1) / plain : 0, head;
	uint8_t block[8192], stream[9000];

	buf_add(out, "DAX", 4);
	put32(out, (uint32_t)n);
	put32(out, plain ? 1 : 0);
	put32(out, plain ? (uint32_t)areas : 77);      /* says nothing in version 0 */
	for (unsigned i = 0; i < 16; i++)
		put8(out, 0xee);
	head = out->len;
	for (size_t i = 0; i < blocks * 6; i++)
		put8(out, 0);
	for (size_t i = 0; i < areas; i++) {
		put32(out, (uint32_t)i * plain);
		put32(out, 1);
	}
	for (size_t i = 0; i < blocks; i++) {
		size_t have = n - i * 8192 < 8192 ? n - i * 8192 : 8192, k;
		bool as_is = plain && i % plain == 0;

		memset(block, 0, sizeof block);
		memcpy(block, p + i * 8192, have);
		have = whole ? 8192 : have;
		k = as_is ? have : by_zlib(block, have, 15, stream, sizeof stream);
		put_le32(out->p + head + 4 * i, (uint32_t)out->len);
		put_le16(out->p + head + 4 * blocks + 2 * i, (uint16_t)k);
		buf_add(out, as_is ? block : stream, k);
	}
}

void build_text(uint8_t *p, size_t n, uint32_t seed)
{
	static const char words[] = "sector extent descriptor directory record volume path table ";

	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = seed >> 27 ? (uint8_t)words[(i * 3 + i / 977) % (sizeof words - 1)] : (uint8_t)(seed >> 16);
	}
}
