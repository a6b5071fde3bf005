/* Files of sectors: the user data of raw ones, and plain ones whose last is cut.
 *
 *   2352   sync 12, minute second frame in BCD, mode; then as edcecc.c has it
 *   2448   the same, 96 bytes of subchannel behind each
 *   2336   mode 2 without sync and header
 *
 * The mode stands in each sector, the form in the submode of its subheader. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disc.h"

#define RAW_MOST 2448u
#define BARE 2336u
#define LOOK 24u                               /* bytes from the start that tell what a sector is */
#define FORM_2 0x20u                           /* of the submode */

struct sectors_source { struct source s; uint32_t stride; };

/* Where the user data of a sector begin; 0: it has none. */
static size_t user_data(uint32_t stride, const uint8_t *s)
{
	if (stride == BARE)
		return s[2] & FORM_2 ? 0 : 8;
	if (memcmp(s, sector_sync, sizeof sector_sync) != 0)
		return 0;
	if (s[15] == 2)
		return s[18] & FORM_2 ? 0 : 24;
	return s[15] == 1 ? 16 : 0;
}

/* ---- reading ---- */

static int read_part(struct sectors_source *s, uint8_t *p, size_t n, uint64_t k, size_t off)
{
	uint8_t raw[RAW_MOST];
	int rc = src_pread(s->s.parent, raw, s->stride, k * s->stride);
	size_t user = rc ? 0 : user_data(s->stride, raw);

	if (rc)
		return rc;
	if (!user)
		return -EIO;
	memcpy(p, raw + user + off, n);
	return 0;
}

/* Whole sectors, by one read to where their data go: they take more room raw, so each moves towards the start. */
static int read_whole(struct sectors_source *s, uint8_t *p, size_t sectors, uint64_t k)
{
	int rc = src_pread(s->s.parent, p, sectors * s->stride, k * s->stride);

	for (size_t i = 0; i < sectors && !rc; i++) {
		size_t user = user_data(s->stride, p + i * s->stride);

		if (!user)
			return -EIO;
		memmove(p + i * SECTOR, p + i * s->stride + user, SECTOR);
	}
	return rc;
}

static int sectors_pread(struct source *src, void *buf, size_t n, uint64_t at)
{
	struct sectors_source *s = (struct sectors_source *)src;
	uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		size_t off = at % SECTOR, whole = n / s->stride;

		if (!off && whole > 1) {
			part = whole * SECTOR;
			rc = read_whole(s, p, whole, at / SECTOR);
		} else {
			part = SECTOR - off < n ? SECTOR - off : n;
			rc = read_part(s, p, part, at / SECTOR, off);
		}
	}
	return rc;
}

static const void *sectors_map(struct source *src, size_t n, uint64_t at)
{
	struct sectors_source *s = (struct sectors_source *)src;
	uint64_t raw = at / SECTOR * s->stride, off = at % SECTOR;
	uint8_t look[LOOK];
	size_t user;

	if (n > SECTOR - off || src_pread(src->parent, look, sizeof look, raw))
		return NULL;
	user = user_data(s->stride, look);
	return user ? src_map(src->parent, n, raw + user + off) : NULL;
}

static uint64_t sectors_up(const struct source *src, uint64_t at)
{
	const struct sectors_source *s = (const struct sectors_source *)src;
	uint64_t raw = at / SECTOR * s->stride;
	uint8_t look[LOOK];
	size_t user = src_pread(src->parent, look, sizeof look, raw) ? 0 : user_data(s->stride, look);

	return raw + user + at % SECTOR;
}

/* ---- writing ---- */

/* An EDC that is wrong stays: nobody knows what it is of, and the sector may have none. */
static int write_part(struct source *raw, const uint8_t *p, size_t n, uint64_t k, size_t off)
{
	uint8_t s[RAW_SECTOR];
	int rc = src_pread(raw, s, sizeof s, k * RAW_SECTOR);
	size_t user = rc ? 0 : user_data(RAW_SECTOR, s);
	bool intact;

	if (rc)
		return rc;
	if (!user)
		return -EIO;
	if (!memcmp(s + user + off, p, n))
		return 0;
	intact = sector_is_intact(s);
	memcpy(s + user + off, p, n);
	if (intact)
		sector_seal(s);
	return src_patch(raw, s, sizeof s, k * RAW_SECTOR, "sector", NULL);
}

static int sectors_pwrite(struct source *src, const void *buf, size_t n, uint64_t at)
{
	const uint8_t *p = buf;
	size_t part;
	int rc = 0;

	for (; n && !rc; n -= part, p += part, at += part) {
		size_t off = at % SECTOR;

		part = SECTOR - off < n ? SECTOR - off : n;
		rc = write_part(src->parent, p, part, at / SECTOR, off);
	}
	return rc;
}

static const struct source_ops sectors_ops = {
	.pread = sectors_pread, .map = sectors_map, .pwrite = sectors_pwrite, .up = sectors_up, .root = true,
};
static const struct source_ops sectors_fixed_ops = {
	.pread = sectors_pread, .map = sectors_map, .up = sectors_up, .root = true,
};

struct source *src_sectors(struct source *file, uint32_t stride)
{
	struct sectors_source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->s.ops = stride == RAW_SECTOR ? &sectors_ops : &sectors_fixed_ops;
	s->s.parent = src_ref(file);
	s->s.size = file->size / stride * SECTOR;
	atomic_init(&s->s.refs, 1);
	s->stride = stride;
	return &s->s;
}

/* ---- looking through ---- */

#define PIECE 16u                              /* sectors read at once */

/* Calls each for n sectors from the k-th on that are in the file, until it returns false. */
static int walk(struct source *file, uint32_t stride, uint64_t k, uint64_t n,
		bool (*each)(void *ctx, uint64_t k, const uint8_t *raw), void *ctx, struct err *e)
{
	uint64_t all = file->size / stride, piece;
	uint8_t raw[PIECE * RAW_MOST];

	for (n = k > all ? 0 : n < all - k ? n : all - k; n; n -= piece, k += piece) {
		int rc;

		piece = n < PIECE ? n : PIECE;
		rc = src_read(file, raw, (size_t)piece * stride, k * stride, "sectors", e);
		if (rc)
			return rc;
		for (uint64_t i = 0; i < piece; i++)
			if (!each(ctx, k + i, raw + i * stride))
				return 0;
	}
	return 0;
}

struct counting { uint32_t stride; uint64_t n; };

static bool count_data(void *ctx, uint64_t k, const uint8_t *raw)
{
	struct counting *c = ctx;
	bool data = user_data(c->stride, raw);

	(void)k;
	c->n += data;
	return data;
}

int sectors_count_data(struct source *file, uint32_t stride, uint64_t k, uint64_t n, uint64_t *data, struct err *e)
{
	struct counting c = { stride, 0 };
	int rc = walk(file, stride, k, n, count_data, &c, e);

	*data = c.n;
	return rc;
}

static bool look_at_edc(void *ctx, uint64_t k, const uint8_t *raw)
{
	struct sectors_wrong *w = ctx;
	bool typed = !memcmp(raw, sector_sync, sizeof sector_sync) && (raw[15] == 1 || raw[15] == 2);

	if (typed && sector_has_codes(raw) && !sector_is_intact(raw) && !w->n++)
		w->first = k;
	return true;
}

int sectors_verify(struct source *file, uint64_t k, uint64_t n, struct sectors_wrong *out, struct err *e)
{
	*out = (struct sectors_wrong){ 0 };
	return walk(file, RAW_SECTOR, k, n, look_at_edc, out, e);
}

/* ---- a last sector that is cut ---- */

/* How many of n bytes at `at` the parent has. */
static size_t stored(const struct source *s, size_t n, uint64_t at)
{
	uint64_t end = s->parent->size;

	return at >= end ? 0 : end - at < n ? (size_t)(end - at) : n;
}

static int padded_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	size_t have = stored(s, n, at);

	memset((uint8_t *)buf + have, 0, n - have);
	return have ? src_pread(s->parent, buf, have, at) : 0;
}

static const void *padded_map(struct source *s, size_t n, uint64_t at)
{
	return src_map(s->parent, n, at);
}

static int padded_pwrite(struct source *s, const void *buf, size_t n, uint64_t at)
{
	size_t have = stored(s, n, at);

	for (size_t i = have; i < n; i++)
		if (((const uint8_t *)buf)[i])
			return -ENOSPC;
	return have ? src_pwrite(s->parent, buf, have, at) : 0;
}

static const struct source_ops padded_ops = {
	.pread = padded_pread, .map = padded_map, .pwrite = padded_pwrite, .root = true,
};

static const struct source_ops padded_fixed_ops = { .pread = padded_pread, .map = padded_map, .root = true };

struct source *src_padded(struct source *parent, bool fixed)
{
	struct source *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->ops = fixed ? &padded_fixed_ops : &padded_ops;
	s->parent = src_ref(parent);
	s->size = align_up(parent->size, SECTOR);
	atomic_init(&s->refs, 1);
	return s;
}
