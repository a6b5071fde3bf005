/* Bounds-checked reading of what tables cannot describe: display lists, index buffers, chains of blocks. */
#ifndef MODELFS_CURSOR_H
#define MODELFS_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- unaligned integers; le_ is little-endian, be_ big-endian -------------------------------------------------- */

static inline uint16_t le_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t le_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint16_t be_u16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t be_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline void put_le16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)v; p[1] = (uint8_t)(v >> 8); }
static inline void put_le32(uint8_t *p, uint32_t v) { put_le16(p, (uint16_t)v); put_le16(p + 2, (uint16_t)(v >> 16)); }

static inline float bits_f32(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}
static inline uint32_t f32_bits(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}
static inline float le_f32(const uint8_t *p) { return bits_f32(le_u32(p)); }

/* ---- cursor: the first failure sticks, later reads give 0, so a decoder reads straight through and asks once ---- */

struct rd {
	const uint8_t *p;
	size_t len, pos;
	bool be, bad;
	size_t bad_at;                         /* where the first read that failed began */
};

static inline const uint8_t *rd_bytes(struct rd *r, size_t n)
{
	const uint8_t *p = r->p + r->pos;

	if (r->bad || n > r->len - r->pos) {
		if (!r->bad)
			r->bad_at = r->pos;
		r->bad = true;
		return NULL;
	}
	r->pos += n;
	return p;
}
static inline uint8_t rd_u8(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 1);

	return p ? *p : 0;
}
static inline uint16_t rd_u16(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 2);

	return !p ? 0 : r->be ? be_u16(p) : le_u16(p);
}
static inline uint32_t rd_u32(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 4);

	return !p ? 0 : r->be ? be_u32(p) : le_u32(p);
}
static inline float rd_f32(struct rd *r) { return bits_f32(rd_u32(r)); }

#endif
