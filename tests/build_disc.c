#include "build_disc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "bytes.h"

#define ROOT 20u

static void put_both16(struct buf *b, unsigned v)
{
	put16(b, v);
	put8(b, v >> 8 & 255);
	put8(b, v & 255);
}

static void put_both32(struct buf *b, uint32_t v)
{
	put32(b, v);
	for (int shift = 24; shift >= 0; shift -= 8)
		put8(b, v >> shift & 255);
}

static void put_text(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put8(b, i < strlen(s) ? (uint8_t)s[i] : ' ');
}

/* ---- user data ---- */

uint32_t disc_sector(const struct disc_file *files, uint32_t i)
{
	uint32_t at = ROOT + 1;

	for (uint32_t k = 0; k < i; k++)
		at += (uint32_t)(align_up(files[k].n, DISC_SECTOR) / DISC_SECTOR) + files[k].room;
	return at;
}

/* n bytes of name; 0 and 1 are those of the folder itself and of the one above. */
static void put_record(struct buf *b, const char *name, size_t n, uint32_t sector, uint32_t size, bool folder)
{
	static const uint8_t time[7] = { 118, 7, 6, 5, 4, 3, 8 };

	put8(b, (unsigned)(33 + n + (n & 1 ? 0 : 1)));
	put8(b, 0);
	put_both32(b, sector);
	put_both32(b, size);
	buf_add(b, time, sizeof time);
	put8(b, folder ? 2 : 0);
	put16(b, 0);
	put_both16(b, 1);
	put8(b, (unsigned)n);
	buf_add(b, name, n);
	if (!(n & 1))
		put8(b, 0);
}

static void put_descriptor(struct buf *b, uint32_t sectors)
{
	size_t start = b->len;

	buf_add(b, "\1CD001\1", 8);
	put_text(b, "", 32);
	put_text(b, "DISC", 32);
	buf_add(b, "\0\0\0\0\0\0\0", 8);
	put_both32(b, sectors);
	for (unsigned i = 0; i < 32; i++)
		put8(b, 0);
	put_both16(b, 1);
	put_both16(b, 1);
	put_both16(b, DISC_SECTOR);
	put_both32(b, 10);
	put32(b, 18);
	put32(b, 0);
	buf_add(b, "\0\0\0\x13\0\0\0", 8);             /* 19 */
	put_record(b, "", 1, ROOT, DISC_SECTOR, true);
	put_text(b, "", 4 * 128 + 3 * 37);
	for (unsigned i = 0; i < 4; i++)
		put_text(b, "0000000000000000", 17);
	b->p[start + 881] = 1;
	put_zeros(b, DISC_SECTOR);
}

static void put_tables(struct buf *b)
{
	static const uint8_t little[10] = { 1, 0, ROOT, 0, 0, 0, 1, 0 }, big[10] = { 1, 0, 0, 0, 0, ROOT, 0, 1 };

	buf_add(b, little, sizeof little);
	put_zeros(b, DISC_SECTOR);
	buf_add(b, big, sizeof big);
	put_zeros(b, DISC_SECTOR);
}

void build_disc(struct buf *out, const struct disc_file *files, uint32_t n)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i < 16 * DISC_SECTOR / 8; i++)
		buf_add(&b, "\0\0\0\0\0\0\0", 8);
	put_descriptor(&b, disc_sector(files, n));
	buf_add(&b, "\xff" "CD001\1", 7);
	put_zeros(&b, DISC_SECTOR);
	put_tables(&b);
	put_record(&b, "\0", 1, ROOT, DISC_SECTOR, true);
	put_record(&b, "\1", 1, ROOT, DISC_SECTOR, true);
	for (uint32_t i = 0; i < n; i++) {
		char name[64];

		snprintf(name, sizeof name, "%s;1", files[i].name);
		put_record(&b, name, strlen(name), disc_sector(files, i), (uint32_t)files[i].n, false);
	}
	put_zeros(&b, DISC_SECTOR);
	for (uint32_t i = 0; i < n; i++) {
		buf_add(&b, files[i].bytes, files[i].n);
		put_zeros(&b, DISC_SECTOR);
		for (uint32_t k = 0; k < files[i].room * DISC_SECTOR / 8; k++)
			buf_add(&b, "\0\0\0\0\0\0\0", 8);
	}
	buf_add(out, b.p, b.len);
	out->bad |= b.bad;
	buf_free(&b);
}

/* ---- raw sectors ---- */

static uint8_t twice(uint8_t x)
{
	return (uint8_t)(x << 1 ^ (x & 0x80 ? 0x1d : 0));
}

/* x / 3 in the field. */
static uint8_t third(uint8_t x)
{
	uint8_t y = 0;

	while ((twice(y) ^ y) != x)
		y++;
	return y;
}

/* The word of an EDC. */
static uint32_t edc(const uint8_t *p, size_t n)
{
	uint32_t c = 0;

	for (size_t i = 0; i < n; i++) {
		c ^= p[i];
		for (unsigned k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xd8018001 : 0);
	}
	return c;
}

/* Two symbols behind n of a code word, which begin at word `at` and lie `step` words apart, in a ring of `ring` words.
 * w: the sector from its header on; plane: which bytes of its words. */
static void put_parity(uint8_t *w, unsigned plane, unsigned at, unsigned step, unsigned n, unsigned ring,
		       unsigned first, unsigned second)
{
	uint8_t s0 = 0, s1 = 0, p;

	for (unsigned i = 0; i < n; i++) {
		uint8_t x = w[2 * ((at + step * i) % ring) + plane];

		s0 ^= x;
		s1 = twice(s1) ^ x;
	}
	s1 = twice(twice(s1));
	p = third(s0 ^ s1);
	w[2 * first + plane] = p;
	w[2 * second + plane] = s0 ^ p;
}

static void put_codes(uint8_t s[DISC_RAW])
{
	put_le32(s + 0x810, edc(s, 0x810));
	for (unsigned plane = 0; plane < 2; plane++)
		for (unsigned c = 0; c < 43; c++)
			put_parity(s + 12, plane, c, 43, 24, 1118, 1032 + c, 1075 + c);
	for (unsigned plane = 0; plane < 2; plane++)
		for (unsigned d = 0; d < 26; d++)
			put_parity(s + 12, plane, 43 * d, 44, 43, 1118, 1118 + d, 1144 + d);
}

static uint8_t decimal(uint32_t n)
{
	return (uint8_t)(n / 10 << 4 | n % 10);
}

void build_raw(struct buf *out, const struct buf *data)
{
	for (size_t at = 0; at < data->len; at += DISC_SECTOR) {
		uint32_t frame = (uint32_t)(at / DISC_SECTOR) + 150;
		uint8_t s[DISC_RAW] = { 0 };

		memset(s + 1, 0xff, 10);
		s[12] = decimal(frame / 4500);
		s[13] = decimal(frame / 75 % 60);
		s[14] = decimal(frame % 75);
		s[15] = 1;
		memcpy(s + 16, data->p + at, DISC_SECTOR);
		put_codes(s);
		buf_add(out, s, sizeof s);
	}
}

/* ---- CSO ---- */

/* Appends a block, packed if that makes it shorter; whether it is stored as it is. */
static bool put_block(struct buf *b, const uint8_t *p, uint32_t block, uint32_t slack)
{
	uint8_t *room = malloc(block);
	z_stream z = { .next_in = (Bytef *)p, .avail_in = block, .next_out = room, .avail_out = block };
	bool plain;

	if (!room || deflateInit2(&z, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY))
		abort();
	plain = deflate(&z, Z_FINISH) != Z_STREAM_END || z.total_out + slack >= block;
	buf_add(b, plain ? p : room, plain ? block : z.total_out);
	for (uint32_t i = 0; i < slack && !plain; i++)
		put8(b, 0);
	deflateEnd(&z);
	free(room);
	return plain;
}

void build_cso(struct buf *out, const struct buf *data, uint32_t block, uint32_t slack)
{
	uint32_t n = (uint32_t)((data->len + block - 1) / block), start = 24 + 4 * (n + 1);
	struct buf padded = { 0 }, body = { 0 };

	buf_add(&padded, data->p, data->len);
	put_zeros(&padded, block);
	buf_str(out, "CISO");
	put32(out, 24);
	put32(out, (uint32_t)data->len);
	put32(out, 0);
	put32(out, block);
	put32(out, 1);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = start + (uint32_t)body.len;

		put32(out, at | (put_block(&body, padded.p + (size_t)i * block, block, slack) ? 1u << 31 : 0));
	}
	put32(out, start + (uint32_t)body.len);
	buf_add(out, body.p, body.len);
	out->bad |= body.bad || padded.bad;
	buf_free(&padded);
	buf_free(&body);
}
