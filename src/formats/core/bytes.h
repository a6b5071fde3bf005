/* Unaligned integers and floats in bytes, for what record tables do not describe: display lists, index buffers, offset
 * tables. le_ is little-endian, be_ big-endian. The caller has checked that the bytes are there. */
#ifndef MODELFS_BYTES_H
#define MODELFS_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t le_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t le_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t le_u64(const uint8_t *p) { return le_u32(p) | (uint64_t)le_u32(p + 4) << 32; }
static inline uint16_t be_u16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t be_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static inline void put_le16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)v; p[1] = (uint8_t)(v >> 8); }
static inline void put_le32(uint8_t *p, uint32_t v) { put_le16(p, (uint16_t)v); put_le16(p + 2, (uint16_t)(v >> 16)); }
static inline void put_be16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void put_be32(uint8_t *p, uint32_t v) { put_be16(p, (uint16_t)(v >> 16)); put_be16(p + 2, (uint16_t)v); }
static inline void put_le64(uint8_t *p, uint64_t v) { put_le32(p, (uint32_t)v); put_le32(p + 4, (uint32_t)(v >> 32)); }

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

#endif
