#include "ge.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"

/* ---- vertex types ----
 *
 * bits   field         values                                   bytes
 * 0-1    UV            0 none, 1 u8, 2 u16, 3 f32               x 2
 * 2-4    colour        0 none, 4 5650, 5 5551, 6 4444, 7 8888   2, 2, 2, 4
 * 5-6    normal        0 none, 1 s8, 2 s16, 3 f32               x 3
 * 7-8    position      1 s8, 2 s16, 3 f32                       x 3
 * 9-10   weights       0 none, 1 u8, 2 u16, 3 f32               x weight count
 * 11-12  index         0 none, 1 u8, 2 u16, 3 u32
 * 14-16  weight count - 1
 * 18-20  morph targets - 1
 * 23     through mode: screen coordinates
 *
 * Stored in the order weights, UV, colour, normal, position, each at a multiple of its component's size; a vertex is
 * rounded up to its largest component. */

static unsigned component_size(unsigned format)
{
	return format == 3 ? 4 : format;
}

struct place { unsigned at, most; };

static struct ge_field put_field(struct place *p, unsigned format, unsigned size, unsigned count, bool is_signed)
{
	if (!format)
		return (struct ge_field){ 0 };
	p->at = (p->at + size - 1) / size * size;
	p->most = size > p->most ? size : p->most;
	p->at += size * count;
	return (struct ge_field){ (uint8_t)format, (uint8_t)count, is_signed, (uint16_t)(p->at - size * count) };
}

const char *ge_vertex_type(uint32_t type, struct ge_vertex *out)
{
	unsigned uv = type & 3, colour = type >> 2 & 7, normal = type >> 5 & 3, position = type >> 7 & 3,
		 weight = type >> 9 & 3;
	struct place p = { 0, 1 };

	memset(out, 0, sizeof *out);
	if (type >> 23 & 1)
		return "screen coordinates (through mode)";
	if (!position)
		return "no position";
	if (colour > 0 && colour < 4)
		return "an unknown colour format";
	out->type = type;
	out->weight = put_field(&p, weight, component_size(weight), (type >> 14 & 7) + 1, false);
	out->uv = put_field(&p, uv, component_size(uv), 2, false);
	out->colour = put_field(&p, colour, colour == 7 ? 4 : 2, 1, false);
	out->normal = put_field(&p, normal, component_size(normal), 3, true);
	out->position = put_field(&p, position, component_size(position), 3, true);
	out->size = (uint16_t)((p.at + p.most - 1) / p.most * p.most);
	out->morphs = (uint8_t)((type >> 18 & 7) + 1);
	out->stride = (uint16_t)(out->size * out->morphs);
	out->index_size = (uint8_t)component_size(type >> 11 & 3);
	return NULL;
}

double ge_get(const struct ge_field *f, const uint8_t *vertex, unsigned i)
{
	const uint8_t *p = vertex + f->at;

	switch (f->format) {
	case 1:
		return (f->is_signed ? (int8_t)p[i] : p[i]) / 128.0;
	case 2:
		p += 2 * i;
		return (f->is_signed ? (int16_t)le_u16(p) : le_u16(p)) / 32768.0;
	default:
		return le_f32(p + 4 * i);
	}
}

static uint32_t quantise(double value, double least, double most)
{
	value = nearbyint(value);
	/* NaN ends at the lower bound. */
	return (uint32_t)(int32_t)(value > most ? most : value > least ? value : least);
}

void ge_put(const struct ge_field *f, uint8_t *vertex, unsigned i, double value)
{
	uint8_t *p = vertex + f->at;

	if (f->format == 1)
		p[i] = (uint8_t)quantise(value * 128, f->is_signed ? -128 : 0, f->is_signed ? 127 : 255);
	else if (f->format == 2)
		put_le16(p + 2 * i,
			 (uint16_t)quantise(value * 32768, f->is_signed ? -32768 : 0, f->is_signed ? 32767 : 65535));
	else
		put_le32(p + 4 * i, f32_bits((float)value));
}

/* ---- colours ---- */

static const uint8_t colour_bits[4][4] = { { 5, 6, 5, 0 }, { 5, 5, 5, 1 }, { 4, 4, 4, 4 }, { 8, 8, 8, 8 } };

static uint8_t widen(unsigned v, unsigned bits)
{
	switch (bits) {
	case 0: return 255;
	case 1: return v ? 255 : 0;
	case 8: return (uint8_t)v;
	default: return (uint8_t)(v << (8 - bits) | v >> (2 * bits - 8));
	}
}

void ge_colour_get(unsigned format, uint32_t stored, uint8_t rgba[4])
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned bits = colour_bits[format][i];

		rgba[i] = widen(stored & ((1u << bits) - 1), bits);
		stored >>= bits;
	}
}

uint32_t ge_colour_put(unsigned format, const uint8_t rgba[4])
{
	uint32_t stored = 0;

	for (unsigned i = 0, at = 0; i < 4; i++) {
		unsigned bits = colour_bits[format][i];
		uint32_t most = (1u << bits) - 1, v = bits == 1 ? rgba[i] >> 7 : (rgba[i] * most + 127) / 255;

		stored |= v << at;
		at += bits;
	}
	return stored;
}

uint32_t ge_colour_bits(const struct ge_field *f, const uint8_t *vertex)
{
	return f->format == 7 ? le_u32(vertex + f->at) : le_u16(vertex + f->at);
}

/* ---- display lists ---- */

void ge_address_follow(struct ge_address *a, uint32_t word, uint32_t at)
{
	switch (ge_op(word)) {
	case GE_ORIGIN:
		a->offset = at;
		break;
	case GE_OFFSETADDR:
		a->offset = ge_arg(word) << 8;
		break;
	case GE_BASE:
		a->base = (word & 0x000f0000) << 8;
		break;
	}
}

PRINTF(4, 5)
static int bad(const struct ge_walk *w, uint32_t at, struct err *e, const char *fmt, ...)
{
	char what[32];
	va_list ap;

	if (!e)
		return -EBADMSG;
	snprintf(what, sizeof what, "display list %u", w->number);
	va_start(ap, fmt);
	err_vat(e, EBADMSG, w->region->src, w->region->at + at, what, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

void ge_walk(struct ge_walk *w, const struct ge_region *region, uint32_t number, uint32_t list, uint64_t end,
	     uint32_t indices, bool nops)
{
	memset(w, 0, offsetof(struct ge_walk, room));
	w->region = region;
	w->number = number;
	w->pc = list;
	w->end = end < region->size ? end : region->size;
	w->vertices = GE_NO_ADDRESS;
	w->indices = indices;
	w->nops = nops;
	w->type = GE_POINTS;
}

static int fill_room(struct ge_walk *w, struct err *e)
{
	uint64_t n = w->end - w->pc;
	int rc;

	w->room_at = w->pc;
	w->room_n = (uint32_t)(n < sizeof w->room ? n : sizeof w->room);
	rc = src_read(w->region->src, w->room, w->room_n, w->region->at + w->pc, "display list", e);
	if (rc)
		w->room_n = 0;
	return rc;
}

static int next_word(struct ge_walk *w, uint32_t *word, struct err *e)
{
	int rc;

	if (!span_ok(w->end, w->pc, 1, 4))
		return bad(w, w->pc, e, "no RET before offset 0x%llx of the geometry, where it has to end",
			   (unsigned long long)w->end);
	if (w->words++ == GE_LIST_WORDS)
		return bad(w, w->pc, e, "no RET within %u commands", GE_LIST_WORDS);
	if (w->pc < w->room_at || (uint64_t)w->pc + 4 > (uint64_t)w->room_at + w->room_n) {
		rc = fill_room(w, e);
		if (rc)
			return rc;
	}
	*word = le_u32(w->room + (w->pc - w->room_at));
	w->pc += 4;
	return 0;
}

/* A vertex type that changes in mid-list would need vertices of two kinds in one buffer. */
static int take_vtype(struct ge_walk *w, uint32_t arg, uint32_t at, struct err *e)
{
	const char *why;

	if (w->vertex.stride && w->vertex.type != arg)
		return bad(w, at, e, "VTYPE 0x%06x after 0x%06x: one list has one vertex type", arg, w->vertex.type);
	why = ge_vertex_type(arg, &w->vertex);
	return why ? bad(w, at, e, "vertex type 0x%06x: %s", arg, why) : 0;
}

static int indexed(struct ge_walk *w, struct ge_prim *out, struct err *e)
{
	uint64_t size = w->region->size;
	unsigned each = w->vertex.index_size;

	if (w->indices == GE_NO_ADDRESS)
		return bad(w, out->at, e, "PRIM without IADDR, here or in a list before");
	if (!span_ok(size, w->indices, out->count, each))
		return bad(w, out->at, e,
			   "PRIM: %u indices of %u bytes at offset 0x%x of the geometry end past its %llu bytes",
			   out->count, each, w->indices, (unsigned long long)size);
	if (w->vertices > size)
		return bad(w, out->at, e, "PRIM: vertices at offset 0x%x of the geometry lie past its %llu bytes",
			   w->vertices, (unsigned long long)size);
	out->indices = w->indices;
	w->indices += out->count * each;
	return 1;
}

static int take_prim(struct ge_walk *w, uint32_t word, struct ge_prim *out, struct err *e)
{
	unsigned type = word >> 16 & 7;

	out->nop = ge_op(word) == GE_NOP;
	out->count = word & 0xffff;
	out->reversed = w->reversed;
	w->type = type == GE_CONTINUE ? w->type : (uint8_t)type;
	out->type = w->type;
	if (!w->vertex.stride)
		return bad(w, out->at, e, "PRIM without VTYPE");
	if (w->vertices == GE_NO_ADDRESS)
		return bad(w, out->at, e, "PRIM without VADDR");
	out->vertices = w->vertices;
	out->indices = GE_NO_ADDRESS;
	if (w->vertex.index_size)
		return indexed(w, out, e);
	if (!span_ok(w->region->size, w->vertices, out->count, w->vertex.stride))
		return bad(w, out->at, e,
			   "PRIM: %u vertices of %u bytes at offset 0x%x of the geometry end past its %llu bytes",
			   out->count, w->vertex.stride, w->vertices, (unsigned long long)w->region->size);
	w->vertices += out->count * w->vertex.stride;
	return 1;
}

int ge_walk_next(struct ge_walk *w, struct ge_prim *out, struct err *e)
{
	uint32_t word = 0;
	int rc;

	for (;;) {
		out->at = w->pc;
		rc = next_word(w, &word, e);
		if (rc)
			return rc;
		ge_address_follow(&w->address, word, out->at);
		switch (ge_op(word)) {
		case GE_NOP:
			w->nop_prims += ge_is_prim_arg(ge_arg(word));
			if (w->nops && ge_is_prim_arg(ge_arg(word)))
				return take_prim(w, word, out, e);
			break;
		case GE_PRIM:
			return take_prim(w, word, out, e);
		case GE_VADDR:
			w->vertices = ge_address_of(&w->address, ge_arg(word));
			break;
		case GE_IADDR:
			w->indices = ge_address_of(&w->address, ge_arg(word));
			break;
		case GE_VTYPE:
			rc = take_vtype(w, ge_arg(word), out->at, e);
			if (rc)
				return rc;
			break;
		case GE_FFACE:
			w->reversed = word & 1;
			break;
		case GE_JUMP:
		case GE_CALL:
			return bad(w, out->at, e, "%s, which the lists of models never have",
				   ge_op(word) == GE_JUMP ? "JUMP" : "CALL");
		case GE_RET:
		case GE_END:
		case GE_FINISH:
			return 0;
		}
	}
}
