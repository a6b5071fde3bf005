/* DAX, a disc image of packed blocks. Little-endian:
 *
 *   0   "DAX" 00   8   version, 0 or 1     16  16 bytes, ignored
 *   4   bytes      12  areas, of version 1
 *   32  place of each block u32; then the size of each u16; then areas: first block, number of blocks, u32 each
 *
 * Blocks become 8192 bytes, the last one what is left or as many. They are zlib streams, but those in areas, which are
 * stored as they are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bytes.h"
#include "disc.h"

#define HEADER 32u
#define BLOCK 8192u
#define AREA 8u

static bool is_plain(const struct block_index *x, uint64_t i)
{
	return x->plain && x->plain[i / 8] >> i % 8 & 1;
}

static int dax_find(const struct block_index *x, struct source *file, struct table_piece *p, uint64_t i,
		    struct slot *out)
{
	const uint8_t *at;
	uint8_t size[2];
	int rc = table_read(p, file, HEADER, x->n, i, 1, &at);

	rc = rc ? rc : src_pread(file, size, sizeof size, HEADER + x->n * 4 + i * 2);
	if (rc)
		return rc;
	*out = (struct slot){ le_u32(at), le_u16(size), is_plain(x, i) ? PACK_NONE : PACK_ZLIB };
	return span_ok(file->size, out->at, out->size, 1) ? 0 : -EIO;
}

/* Areas do not overlap, so there are no more of them, nor blocks in them, than blocks. */
static int read_areas(struct source *file, struct block_index *x, uint32_t n, struct err *e)
{
	uint64_t at = HEADER + x->n * 6, sum = 0;
	uint8_t raw[AREA];
	int rc = 0;

	x->plain = calloc((size_t)x->n / 8 + 1, 1);
	if (!x->plain)
		return err_nomem(e);
	for (uint32_t i = 0; i < n && !rc; i++, at += AREA) {
		uint32_t first, many;

		rc = src_read(file, raw, sizeof raw, at, "area", e);
		if (rc)
			break;
		first = le_u32(raw);
		many = le_u32(raw + 4);
		sum += many;
		if (!many || !span_ok(x->n, first, many, 1) || sum > x->n)
			rc = err_at(e, EBADMSG, file, at, "area", "%u blocks from %u on, of %" PRIu64, many, first,
				    x->n);
		for (uint32_t k = 0; k < many && !rc; k++)
			x->plain[(first + k) / 8] |= (uint8_t)(1u << (first + k) % 8);
	}
	if (rc) {
		free(x->plain);
		x->plain = NULL;
	}
	return rc;
}

int dax_open(struct source *file, struct block_index *x, struct err *e)
{
	uint8_t h[HEADER];
	uint32_t areas;
	int rc = src_read(file, h, sizeof h, 0, "DAX header", e);

	if (rc)
		return rc;
	*x = (struct block_index){
		.find = dax_find, .bytes = le_u32(h + 4), .block = BLOCK, .version = h[8], .name = "dax",
	};
	if (le_u32(h + 8) > 1)
		return err_at(e, EBADMSG, file, 8, "version", "%u, expected 0 or 1", le_u32(h + 8));
	if (!x->bytes)
		return err_at(e, EBADMSG, file, 4, "unpacked bytes", "0");
	x->n = (x->bytes + BLOCK - 1) / BLOCK;
	x->last = (uint32_t)(x->bytes - (x->n - 1) * BLOCK);
	areas = x->version ? le_u32(h + 12) : 0;
	rc = src_inside(file, HEADER, x->n * 6, "places of blocks", e);
	rc = rc || !areas ? rc : src_inside(file, HEADER + x->n * 6, areas * (uint64_t)AREA, "areas", e);
	return rc || !areas ? rc : read_areas(file, x, areas, e);
}
