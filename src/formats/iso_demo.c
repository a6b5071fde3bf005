/* A disc of our own: what a PSP disc has, with the demo archive as its DATA.BIN and some sectors behind it for that to
 * grow into. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "iso9660.h"
#include "mhpdemo.h"

#define SPARE 8u                               /* free sectors behind the archive */

enum { ROOT, GAME, USER, DISC_ID, ARCHIVE, ITEMS };    /* directories first, in the order of a path table */
enum { L_TABLE = 18, M_TABLE, FIRST };         /* sectors; behind the two descriptors */

struct item { const char *name; uint8_t in; bool dir; uint32_t lba, size; };

static const char disc_id[] = "ULJM-00000|0000000000000001|0001|G";

static uint8_t *sector(struct buf *out, uint32_t lba)
{
	return out->p + (size_t)lba * ISO_SECTOR;
}

/* 2020-01-01, as long as nobody says otherwise: the same bytes each time. */
static size_t put_record(uint8_t *to, const struct item *v, const char *name, size_t n)
{
	size_t length = align_up(ISO_RECORD_HEAD + n, 2);
	struct iso_record r = {
		.length = (uint8_t)length, .lba = { v->lba, v->lba }, .size = { v->size, v->size }, .years = 120,
		.month = 1, .day = 1, .flags = v->dir ? ISO_DIRECTORY : 0, .volume = { 1, 1 },
		.name_length = (uint8_t)n,
	};

	rec_encode(&iso_record_record, false, &r, to);
	memcpy(to + ISO_RECORD_HEAD, name, n);
	return length;
}

static void put_dir(struct buf *out, const struct item *v, unsigned dir)
{
	uint8_t *to = sector(out, v[dir].lba);

	to += put_record(to, &v[dir], "\0", 1);
	to += put_record(to, &v[v[dir].in], "\1", 1);
	for (unsigned i = 0; i < ITEMS; i++)
		if (i != ROOT && v[i].in == dir)
			to += put_record(to, &v[i], v[i].name, strlen(v[i].name));
}

static uint32_t put_table(struct buf *out, const struct item *v, uint32_t lba, bool be)
{
	uint8_t *at = sector(out, lba), *to = at;

	for (unsigned i = ROOT; i <= USER; i++) {
		size_t n = i ? strlen(v[i].name) : 1;
		struct iso_path p = {
			.length = (uint8_t)n, .lba = v[i].lba, .parent = (uint16_t)(v[i].in + 1),
		};

		rec_encode(&iso_path_record, be, &p, to);
		memcpy(to + iso_path_record.size, v[i].name, n);
		to += iso_path_record.size + align_up(n, 2);
	}
	return (uint32_t)(to - at);
}

static void put_descriptors(struct buf *out, const struct item *v, uint32_t table_size)
{
	uint8_t *to = sector(out, ISO_SYSTEM);
	uint32_t blocks = (uint32_t)(out->len / ISO_SECTOR);
	struct iso_volume d = {
		.type = ISO_PRIMARY, .blocks = { blocks, blocks }, .table_size = { table_size, table_size },
		.set_size = { 1, 1 }, .set_number = { 1, 1 }, .block_size = { ISO_SECTOR, ISO_SECTOR },
		.table = L_TABLE, .be_table = { 0, 0, 0, M_TABLE },
	};

	memset(to + 8, ' ', 64);
	memset(to + 190, ' ', 623);            /* identifiers that say nothing */
	rec_decode(&iso_record_record, false, sector(out, v[ROOT].lba), &d.root);
	memcpy(d.system_id, "PSP GAME                        ", sizeof d.system_id);
	memcpy(d.volume_id, "MODELFS DEMO                    ", sizeof d.volume_id);
	rec_encode(&iso_volume_record, false, &d, to);
	memcpy(to + 1, "CD001\1", 6);
	memset(to + 813, '0', 68);             /* four dates: none */
	to[829] = to[846] = to[863] = to[880] = 0;
	to[881] = 1;
	memcpy(sector(out, ISO_SYSTEM + 1), "\xff" "CD001\1", 7);
}

static int write_disc(struct buf *out, const struct buf *archive, struct err *e)
{
	struct item v[ITEMS] = {
		[ROOT] = { "", ROOT, true, FIRST, ISO_SECTOR },
		[GAME] = { "PSP_GAME", ROOT, true, FIRST + 1, ISO_SECTOR },
		[USER] = { "USRDIR", GAME, true, FIRST + 2, ISO_SECTOR },
		[DISC_ID] = { "UMD_DATA.BIN", ROOT, false, FIRST + 3, sizeof disc_id - 1 },
		[ARCHIVE] = { "DATA.BIN", USER, false, FIRST + 4, (uint32_t)archive->len },
	};
	size_t size = (v[ARCHIVE].lba + iso_sectors(archive->len) + SPARE) * ISO_SECTOR;
	uint8_t *p = buf_room(out, size);

	if (!p)
		return err_nomem(e);
	memset(p, 0, size);
	out->len += size;
	for (unsigned i = ROOT; i <= USER; i++)
		put_dir(out, v, i);
	put_table(out, v, M_TABLE, true);
	put_descriptors(out, v, put_table(out, v, L_TABLE, false));
	memcpy(sector(out, v[DISC_ID].lba), disc_id, v[DISC_ID].size);
	memcpy(sector(out, v[ARCHIVE].lba), archive->p, archive->len);
	return 0;
}

int iso_demo(struct buf *out, struct err *e)
{
	struct buf archive = { 0 };
	int rc = mhpdemo_write(&archive, e);

	rc = rc ? rc : write_disc(out, &archive, e);
	buf_free(&archive);
	return rc;
}
