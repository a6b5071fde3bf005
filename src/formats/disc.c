/* What a disc image is, told by its bytes; its sectors as one source, and writing to them. */
#include "disc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTOR 16u                         /* sector of the first one */
#define LEAD_IN 150                            /* frames before LBA 0 */

static bool is_packed(const uint8_t *head, size_t n)
{
	return n >= 4 && (!memcmp(head, "CISO", 4) || !memcmp(head, "ZISO", 4) || !memcmp(head, "DAX", 4));
}

static bool is_raw(const uint8_t *head, size_t n)
{
	return n >= DISC_FIRST && !memcmp(head, sector_sync, sizeof sector_sync) && (head[15] == 1 || head[15] == 2);
}

bool disc_begins(const uint8_t *head, size_t n, uint64_t size)
{
	return is_packed(head, n) || is_raw(head, n) || size > (DESCRIPTOR + 1) * SECTOR;
}

/* ---- plain sectors ---- */

/* "CD001" behind the type of a descriptor, `user` bytes into the sector. */
static bool has_descriptor(struct source *file, uint32_t stride, uint32_t user)
{
	uint8_t id[5];

	return !src_pread(file, id, sizeof id, (uint64_t)DESCRIPTOR * stride + user + 1) && !memcmp(id, "CD001", 5);
}

static int open_plain(struct source *file, struct disc_kind *kind, struct source **out, struct err *e)
{
	if (has_descriptor(file, SECTOR, 0)) {
		*kind = (struct disc_kind){ .name = "2048", .stride = SECTOR };
		*out = file->size % SECTOR ? src_padded(file, false) : src_ref(file);
	} else if (file->size % 2336 == 0 && has_descriptor(file, 2336, 8)) {
		*kind = (struct disc_kind){ .name = "MODE2/2336", .fixed = "MODE2/2336 is read-only", .stride = 2336 };
		*out = src_sectors(file, 2336);
	} else {
		return err_at(e, EBADMSG, file, DESCRIPTOR * SECTOR + 1, "volume descriptor", "no CD001 there");
	}
	return *out ? 0 : err_nomem(e);
}

/* ---- raw sectors ---- */

/* -1: it is no number. */
static int from_bcd(uint8_t v)
{
	return (v & 15) > 9 || v >> 4 > 9 ? -1 : (v >> 4) * 10 + (v & 15);
}

/* The LBA that a sector says it has; 0 when it says nothing. */
static int32_t first_lba(const uint8_t *head)
{
	int m = from_bcd(head[12]), s = from_bcd(head[13]), f = from_bcd(head[14]);

	return m < 0 || s < 0 || s > 59 || f < 0 || f > 74 ? 0 : (m * 60 + s) * 75 + f - LEAD_IN;
}

static bool has_sync(struct source *file, uint64_t at)
{
	uint8_t sync[sizeof sector_sync];

	return !src_pread(file, sync, sizeof sync, at) && !memcmp(sync, sector_sync, sizeof sync);
}

static int open_raw(struct source *file, const uint8_t *head, struct disc_kind *kind, struct source **out,
		    struct err *e)
{
	bool mode1 = head[15] == 1, subchannel = !has_sync(file, RAW_SECTOR) && has_sync(file, 2448);

	*kind = (struct disc_kind){
		.name = mode1 ? "MODE1/2352" : "MODE2/2352", .stride = RAW_SECTOR, .first = first_lba(head),
	};
	if (subchannel) {
		kind->name = mode1 ? "MODE1/2448" : "MODE2/2448";
		kind->fixed = mode1 ? "MODE1/2448 is read-only" : "MODE2/2448 is read-only";
		kind->stride = 2448;
	}
	*out = src_sectors(file, kind->stride);
	return *out ? 0 : err_nomem(e);
}

/* ---- packed blocks ---- */

static int open_index(struct source *file, const uint8_t *head, struct block_index *x, struct disc_kind *kind,
		      struct err *e)
{
	bool dax = head[0] == 'D';
	int rc = dax ? dax_open(file, x, e) : cso_open(file, x, e);

	if (rc)
		return rc;
	*kind = (struct disc_kind){ .name = x->name, .block = x->block };
	kind->fixed = dax ? "dax is read-only" : x->lz4 ? "zso is read-only" : x->version == 2 ? "cso2 is read-only" :
		      NULL;
	return 0;
}

static int open_packed(struct source *file, const uint8_t *head, struct disc_kind *kind, struct source **out,
		       struct err *e)
{
	struct block_index x;
	int rc = open_index(file, head, &x, kind, e);
	struct source *blocks;

	if (rc)
		return rc;
	blocks = src_unpacked_blocks(file, &x);
	if (!blocks)
		return err_nomem(e);
	*out = x.bytes % SECTOR ? src_padded(blocks, true) : src_ref(blocks);
	src_put(blocks);
	return *out ? 0 : err_nomem(e);
}

int disc_medium(struct source *file, struct disc_kind *kind, struct source **out, struct err *e)
{
	size_t n = file->size < DISC_FIRST ? (size_t)file->size : DISC_FIRST;
	uint8_t head[DISC_FIRST] = { 0 };
	int rc = src_read(file, head, n, 0, "first sector", e);

	*out = NULL;
	if (rc)
		return rc;
	if (is_packed(head, n))
		rc = open_packed(file, head, kind, out, e);
	else if (is_raw(head, n))
		rc = open_raw(file, head, kind, out, e);
	else
		rc = open_plain(file, kind, out, e);
	if (!rc)
		kind->sectors = (*out)->size / SECTOR;
	return rc;
}

/* ---- writing ---- */

#define PIECE 65536u                           /* compared at once, where any byte may be another */

static int put_run(struct source *medium, const struct plan *now, uint64_t at, uint64_t end, struct err *e)
{
	uint8_t *p = malloc(PIECE);
	int rc = p ? 0 : err_nomem(e);

	for (size_t n; at < end && !rc; at += n) {
		n = end - at < PIECE ? (size_t)(end - at) : PIECE;
		rc = plan_read(now, p, n, at);
		rc = rc ? err_set(e, -rc, "sector %" PRIu64 ": %s", at / SECTOR, strerror(-rc)) :
			  src_patch(medium, p, n, at, "sectors", e);
	}
	free(p);
	return rc;
}

static int put_sectors(struct source *medium, const struct plan *now, struct err *e)
{
	int rc = now->moved ? put_run(medium, now, 0, now->size, e) : 0;

	for (size_t i = 0; i < now->n && !rc && !now->moved; i++)
		rc = put_run(medium, now, now->v[i].at, now->v[i].at + now->v[i].len, e);
	return rc;
}

int disc_put(struct source *file, const struct plan *now, bool grow, struct source **moved, struct err *e)
{
	struct disc_kind kind;
	struct block_index x;
	struct source *medium;
	int rc = disc_medium(file, &kind, &medium, e);

	*moved = NULL;
	if (rc)
		return rc;
	if (kind.fixed)
		rc = err_set(e, EROFS, "%s", kind.fixed);
	else if (now->size != medium->size)
		rc = err_set(e, EINVAL, "%" PRIu64 " bytes for an image of %" PRIu64, now->size, medium->size);
	else if (kind.stride)
		rc = put_sectors(medium, now, e);
	else
		rc = cso_open(file, &x, e);
	if (!rc && !kind.stride)
		rc = cso_put(file, &x, medium, now, grow, moved, e);
	src_put(medium);
	return rc;
}
