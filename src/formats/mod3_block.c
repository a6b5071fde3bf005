/* Block types of MOD3 vertices (spec/mod3.md 7.2). The elements stand in this order, without padding:
 *
 *   f32[3] position   i8[4] normal   i8[4] tangent   half[2] x 1..4 texture coordinates
 *   u32    weights 0, 1, 2 in 10 bits each, two spare bits; 8 weights: and u8[4] weights 3 to 6
 *   u8[4]  or u8[8] bones            u8[4] colour
 */
#include "mod3.h"

#define V(name_, at_, n, type_, doc_, ...) \
	{ .name = name_, .doc = doc_, .at = (at_), .count = (n), .type = type_, .member = FIELD_NO_MEMBER, __VA_ARGS__ }
#define COMMON \
	V("position", 0, 3, F_F32, "Position x, y, z", .flags = FL_HIDDEN), \
	V("normal", 12, 4, F_I8, "Normal x, y, z in 1/127, and 0"), \
	V("tangent", 16, 4, F_I8, "Tangent x, y, z in 1/127, and the handedness, 127 or -127"), \
	V("uv0", 20, 2, F_F16, "Texture coordinates u, v; v from the top down", .flags = FL_HIDDEN)
#define UV1 V("uv1", 24, 2, F_F16, "Second set of texture coordinates")
#define UV2 V("uv2", 28, 2, F_F16, "Third set")
#define UV3 V("uv3", 32, 2, F_F16, "Fourth set")
#define COLOUR(at) V("colour", at, 4, F_U8, "Colour", .view = V_COLOUR)
#define WEIGHT(k, at, bit_) \
	V("weight" #k, at, 1, F_U32, "Weight in 1/1023", .flags = FL_HIDDEN, .bit = bit_, .bits = 10)
#define WORD(at) \
	WEIGHT(0, at, 0), WEIGHT(1, at, 10), WEIGHT(2, at, 20), \
	V("spare", at, 1, F_U32, "Unknown, nearly always 0", .flags = FL_ODD, .bit = 30, .bits = 2)
#define SKIN4(at) \
	WORD(at), V("bones", at + 4, 4, F_U8, "Bones; the last one has what is left of 1023", .flags = FL_HIDDEN)
#define SKIN8(at) \
	WORD(at), V("weights", at + 4, 4, F_U8, "Weights 3 to 6 in 1/1023", .flags = FL_HIDDEN), \
	V("bones", at + 8, 8, F_U8, "Bones; the last one has what is left of 1023", .flags = FL_HIDDEN)

/* name, hash, bytes, texture coordinate sets, weights, offset of the weights and of the colour, elements */
#define BLOCKS(X) \
	X(IANonSkin1UV, 0xa756f2f9, 24, 1, 0, 0, 0, COMMON) \
	X(IANonSkin1UVColor, 0x818904dc, 28, 1, 0, 0, 24, COMMON, COLOUR(24)) \
	X(IANonSkin2UV, 0xa5104ca0, 28, 2, 0, 0, 0, COMMON, UV1) \
	X(IANonSkin2UVColor, 0x0f06033f, 32, 2, 0, 0, 28, COMMON, UV1, COLOUR(28)) \
	X(IANonSkin3UVColor, 0xc3ac03a1, 36, 3, 0, 0, 32, COMMON, UV1, UV2, COLOUR(32)) \
	X(IANonSkin4UVColor, 0xc9690ab8, 40, 4, 0, 0, 36, COMMON, UV1, UV2, UV3, COLOUR(36)) \
	X(IASkin4wt1UV, 0xf637401c, 32, 1, 4, 24, 0, COMMON, SKIN4(24)) \
	X(IASkin4wt1UVColor, 0x3c730760, 36, 1, 4, 24, 32, COMMON, COLOUR(32), SKIN4(24)) \
	X(IASkin4wt2UV, 0xf471fe45, 36, 2, 4, 28, 0, COMMON, UV1, SKIN4(28)) \
	X(IASkin4wt2UVColor, 0xb2fc0083, 40, 2, 4, 28, 36, COMMON, UV1, COLOUR(36), SKIN4(28)) \
	X(IASkin8wt1UV, 0x81f58067, 40, 1, 8, 24, 0, COMMON, SKIN8(24)) \
	X(IASkin8wt1UVColor, 0x366995a7, 44, 1, 8, 24, 40, COMMON, COLOUR(40), SKIN8(24)) \
	X(IASkin8wt2UV, 0x83b33e3e, 44, 2, 8, 28, 0, COMMON, UV1, SKIN8(28)) \
	X(IASkin8wt2UVColor, 0xb8e69244, 48, 2, 8, 28, 44, COMMON, UV1, COLOUR(44), SKIN8(28))

#define FIELDS(name_, hash_, size_, uvs_, slots_, weights_, colour_, ...) \
	static const struct field fields_##name_[] = { __VA_ARGS__ };
#define VERTEX(name_, hash_, size_, uvs_, slots_, weights_, colour_, ...) \
	static const struct record record_##name_ = \
		RECORD(#name_, "Vertex of block type " #hash_ ", the JAMCRC of this name", size_, fields_##name_);
#define BLOCK(name_, hash_, size_, uvs_, slots_, weights_, colour_, ...) \
	{ .name = #name_, .hash = hash_, .stride = size_, .uvs = uvs_, .slots = slots_, .normal = 12, .tangent = 16, \
	  .uv = 20, .weights = weights_, .ids = (slots_) ? (weights_) + (slots_) : 0, .colour = colour_, \
	  .record = &record_##name_ },
#define LABEL(name_, hash_, ...) { hash_, #name_ },
#define RECORD_OF(name_, ...) &record_##name_,

BLOCKS(FIELDS)
BLOCKS(VERTEX)

const struct mod3_block mod3_blocks[MOD3_BLOCKS] = { BLOCKS(BLOCK) };
const struct label mod3_block_labels[MOD3_BLOCKS + 1] = { BLOCKS(LABEL) { 0, NULL } };
const struct record *const mod3_other_records[MOD3_BLOCKS + 2] = { &mod3_envelope_record, BLOCKS(RECORD_OF) NULL };

const struct mod3_block *mod3_block(uint32_t hash)
{
	for (unsigned i = 0; i < MOD3_BLOCKS; i++)
		if (mod3_blocks[i].hash == hash)
			return &mod3_blocks[i];
	return NULL;
}
