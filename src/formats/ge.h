/* The graphics engine of the PSP as far as models need it (spec/mhp.md 8): display lists and vertex types. Shared by
 * the formats that store GE commands. */
#ifndef MODELFS_GE_H
#define MODELFS_GE_H

#include "base.h"
#include "source.h"

/* ---- commands: opcode in bits 24 to 31, argument in bits 0 to 23 ------------------------------------------------ */

enum ge_op {
	GE_NOP = 0x00, GE_VADDR = 0x01, GE_IADDR = 0x02, GE_PRIM = 0x04, GE_JUMP = 0x08, GE_CALL = 0x0a, GE_RET = 0x0b,
	GE_END = 0x0c, GE_FINISH = 0x0f, GE_BASE = 0x10, GE_VTYPE = 0x12, GE_OFFSETADDR = 0x13, GE_ORIGIN = 0x14,
	GE_FFACE = 0x9b
};

enum ge_prim_type {
	GE_POINTS, GE_LINES, GE_LINE_STRIP, GE_TRIANGLES, GE_STRIP, GE_FAN, GE_RECTANGLES,
	GE_CONTINUE                            /* the type of the PRIM before */
};

#define GE_ARG 0x00ffffffu
#define GE_NO_ADDRESS 0xffffffffu              /* addresses have 28 bits */

static inline uint8_t ge_op(uint32_t word) { return (uint8_t)(word >> 24); }
static inline uint32_t ge_arg(uint32_t word) { return word & GE_ARG; }
static inline uint32_t ge_word(uint8_t op, uint32_t arg) { return (uint32_t)op << 24 | (arg & GE_ARG); }

/* Whether a PRIM with that argument draws something and has no unknown bits: then a NOP can keep it. */
static inline bool ge_is_prim_arg(uint32_t arg) { return (arg & 0xffff) && !(arg >> 19); }

/* What turns the argument of VADDR and IADDR into an address. */
struct ge_address {
	uint32_t offset;                       /* ORIGIN: where that command lies; OFFSETADDR: argument << 8 */
	uint32_t base;                         /* BASE: address bits 24 to 27 */
};

/* Follows ORIGIN, OFFSETADDR and BASE; other commands change nothing. at: where the word lies. */
void ge_address_follow(struct ge_address *a, uint32_t word, uint32_t at);
static inline uint32_t ge_address_of(const struct ge_address *a, uint32_t arg)
{
	return (a->offset + (a->base | arg)) & 0x0fffffff;
}
static inline uint32_t ge_address_arg(const struct ge_address *a, uint32_t address)
{
	return (address - a->offset - a->base) & GE_ARG;
}

/* ---- vertices --------------------------------------------------------------------------------------------------- */

struct ge_field {
	uint8_t format;                        /* 0: not stored; 1, 2: integers of that size; 3: f32; colour: 4..7 */
	uint8_t count;                         /* components */
	bool is_signed;
	uint16_t at;                           /* offset in the vertex */
};

struct ge_vertex {
	uint32_t type;                         /* argument of VTYPE */
	uint16_t size, stride;                 /* bytes of one morph target, and of all of them */
	uint8_t morphs, index_size;            /* index_size 0: not indexed */
	struct ge_field weight, uv, colour, normal, position;
};

/* NULL, or why a model cannot have such vertices. */
const char *ge_vertex_type(uint32_t type, struct ge_vertex *out);

static inline bool ge_type_has_weights(uint32_t type) { return type >> 9 & 3; }

/* A component of a vertex: integers divided by 128 or 32768. */
double ge_get(const struct ge_field *f, const uint8_t *vertex, unsigned i);
/* Its inverse: rounded to the nearest stored value and kept in its range. */
void ge_put(const struct ge_field *f, uint8_t *vertex, unsigned i, double value);

/* Colours of format 0..3 (5650, 5551, 4444, 8888; red low), widened to 8 bits each, and back. */
void ge_colour_get(unsigned format, uint32_t stored, uint8_t rgba[4]);
uint32_t ge_colour_put(unsigned format, const uint8_t rgba[4]);
/* The colour of a vertex whose type has one, as stored. */
uint32_t ge_colour_bits(const struct ge_field *f, const uint8_t *vertex);

/* ---- display lists -------------------------------------------------------------------------------------------------
 *
 * Addresses count from the start of a region. A walk gives one PRIM after the other with the addresses its vertices and
 * indices have, both checked to lie inside the region; only index values are not looked at. */
struct ge_region {
	struct source *src;                    /* borrowed */
	uint64_t at, size;                     /* the region is [at, at + size) of src */
};

struct ge_prim {
	uint32_t at;                           /* of the command */
	uint8_t type;                          /* never GE_CONTINUE */
	bool reversed;                         /* FFACE 1: front faces are clockwise */
	bool nop;                              /* a NOP that holds the argument of a PRIM: draws nothing */
	uint32_t count;                        /* indices; vertices when not indexed */
	uint32_t vertices, indices;            /* addresses; indices GE_NO_ADDRESS when not indexed */
};

#define GE_LIST_WORDS 65536u                   /* commands of one list, at most */

struct ge_walk {
	const struct ge_region *region;
	uint32_t number;                       /* of the list, for messages */
	uint32_t pc, words;                    /* next command; commands read so far */
	uint64_t end;                          /* the list ends before this address */
	struct ge_address address;
	uint32_t vertices, indices;            /* the two pointers; GE_NO_ADDRESS before they are set */
	struct ge_vertex vertex;               /* by VTYPE; stride 0 before */
	bool reversed, nops;
	uint8_t type;
	uint32_t nop_prims;                    /* NOPs met that hold a PRIM's argument */
	uint32_t room_at, room_n;
	uint8_t room[256];
};

/* list: where it starts, a multiple of 4. end: it has to end before. indices: where an earlier list left the index
 * pointer, or GE_NO_ADDRESS. nops: take NOPs that hold a PRIM's argument for that PRIM. */
void ge_walk(struct ge_walk *w, const struct ge_region *region, uint32_t number, uint32_t list, uint64_t end,
	     uint32_t indices, bool nops);
/* 1 and the next PRIM; 0 and pc behind the command that ends the list; or an error, EBADMSG for a damaged list. */
int ge_walk_next(struct ge_walk *w, struct ge_prim *out, struct err *e);

#endif
