/* CSO, a disc image of packed blocks, and ZSO. Little-endian:
 *
 *   0   "CISO" or "ZISO"        20  version
 *   4   header size, ignored    21  shift
 *   8   bytes u64               22  2 bytes, ignored
 *   16  bytes of a block        24  position of each block, and of the end: n + 1 u32
 *
 * A position is its lower 31 bits << shift; up to the next one is the slot of the block, padding included. Bit 31:
 *
 *   version 0, 1   the block is stored as it is          else a deflate stream
 *   version 2      LZ4, where the slot is shorter than a block; else as version 0 without the bit
 *   ZSO            the block is stored as it is          else LZ4
 *
 * In version 2 a slot of a block's length or more holds it as it is. The last block is padded with zeros before it is
 * packed. The positions are read when they are needed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bytes.h"
#include "disc.h"

#define SHIFT_MOST 31u

static uint8_t packed_as(const struct block_index *x, bool flag, uint64_t size)
{
	if (x->version == 2)
		return size >= x->block ? PACK_NONE : flag ? PACK_LZ4 : PACK_DEFLATE;
	return flag ? PACK_NONE : x->lz4 ? PACK_LZ4 : PACK_DEFLATE;
}

static int cso_find(const struct block_index *x, struct source *file, struct table_piece *p, uint64_t i,
		    struct slot *out)
{
	const uint8_t *raw;
	int rc = table_read(p, file, CSO_HEADER, x->n + 1, i, 2, &raw);
	uint64_t at, end;

	if (rc)
		return rc;
	at = cso_position(x, le_u32(raw));
	end = cso_position(x, le_u32(raw + 4));
	if (end < at || end > file->size)
		return -EIO;
	*out = (struct slot){ at, end - at, packed_as(x, le_u32(raw) & CSO_PLAIN, end - at) };
	return 0;
}

static int refuse(struct source *file, uint64_t at, const char *what, uint64_t found, const char *wanted, struct err *e)
{
	return err_at(e, EBADMSG, file, at, what, "%" PRIu64 ", expected %s", found, wanted);
}

int cso_open(struct source *file, struct block_index *x, struct err *e)
{
	uint8_t h[CSO_HEADER];
	int rc = src_read(file, h, sizeof h, 0, "CSO header", e);

	if (rc)
		return rc;
	*x = (struct block_index){
		.find = cso_find, .bytes = le_u64(h + 8), .block = le_u32(h + 16), .last = le_u32(h + 16),
		.version = h[20], .shift = h[21], .lz4 = h[0] == 'Z',
	};
	x->name = x->lz4 ? "zso" : x->version == 2 ? "cso2" : "cso";
	if (x->version > (x->lz4 ? 1 : 2))
		return refuse(file, 20, "version", x->version, x->lz4 ? "0 or 1" : "0, 1 or 2", e);
	if (x->block < SECTOR || x->block > BLOCK_MOST || (x->block & (x->block - 1)))
		return refuse(file, 16, "block size", x->block, "a power of two from 2048 to 16777216", e);
	if (x->shift > SHIFT_MOST)
		return refuse(file, 21, "shift", x->shift, "at most 31", e);
	if (!x->bytes || x->bytes > DISC_MOST)
		return refuse(file, 8, "unpacked bytes", x->bytes, "1 to 1099511627776", e);
	x->n = (x->bytes + x->block - 1) / x->block;
	return src_inside(file, CSO_HEADER, (x->n + 1) * 4, "positions of blocks", e);
}
