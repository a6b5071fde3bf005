/* Disc images of any kind: whatever the bytes, reads end; what is written to the medium reads back, and all else is
 * what it was. */
#include <errno.h>
#include <string.h>

#include "disc.h"
#include "fuzz.h"

#define LOOKED (64u * SECTOR)                  /* of a medium, which may claim to be a terabyte */

struct look { uint8_t p[LOOKED]; bool read[64]; };

static void look(struct source *medium, struct look *l)
{
	memset(l, 0, sizeof *l);
	for (unsigned k = 0; k < 64 && (uint64_t)k * SECTOR < medium->size; k++)
		l->read[k] = !src_pread(medium, l->p + k * SECTOR, SECTOR, (uint64_t)k * SECTOR);
}

/* A read of several sectors is one of each, and so is one of parts. */
static void check_reads(struct source *medium, const struct look *l, const uint8_t *data, size_t size)
{
	static uint8_t got[8 * SECTOR];

	for (size_t i = 0; i + 4 < size && i < 64; i += 4) {
		size_t at = (data[i] << 8 | data[i + 1]) % (LOOKED - sizeof got), n = data[i + 2] << 6 | data[i + 3];
		bool whole = true, ok;

		if (at + n > medium->size || !n)
			continue;
		for (size_t k = at / SECTOR; k <= (at + n - 1) / SECTOR; k++)
			whole = whole && l->read[k];
		ok = !src_pread(medium, got, n, at);
		if (whole && (!ok || memcmp(got, l->p + at, n) != 0))
			abort();
		/* What is missing of a last sector can be read all the same. */
		if (!whole && ok && at + SECTOR < medium->size)
			abort();
		src_map(medium, n, at);
		src_where(medium, at);
	}
}

static void check_put(const struct look *was, struct source *file, const struct plan *now)
{
	static struct look is;
	struct source *medium;
	struct disc_kind kind;

	if (disc_medium(file, &kind, &medium, NULL) || medium->size != now->size)
		abort();
	look(medium, &is);
	for (unsigned k = 0; k < 64 && (uint64_t)k * SECTOR < medium->size; k++) {
		uint8_t want[SECTOR];
		bool touched = plan_touches(now, (uint64_t)k * SECTOR, SECTOR);

		/* A block that cannot be read becomes one that can where all of it is written. */
		if (was->read[k] && !is.read[k])
			abort();
		if (touched && (plan_read(now, want, SECTOR, (uint64_t)k * SECTOR) ||
				memcmp(want, is.p + k * SECTOR, SECTOR) != 0))
			abort();
		if (!touched && was->read[k] && memcmp(was->p + k * SECTOR, is.p + k * SECTOR, SECTOR) != 0)
			abort();
	}
	src_put(medium);
}

/* Writes that the input chooses, at the end of it. */
static void put(struct source *src, const struct look *was, const uint8_t *data, size_t size, bool grow)
{
	struct source *file, *medium, *moved = NULL;
	struct disc_kind kind;
	struct plan plan, now;
	struct err why = { 0 };
	int rc;

	plan_init(&plan, src);
	file = src_overlay(&plan);
	if (disc_medium(file, &kind, &medium, NULL))
		abort();
	plan_init(&now, medium);
	for (size_t i = 0; i < 4 && i * 3 + 3 < size; i++) {
		const uint8_t *p = data + size - 3 * i - 3;
		uint64_t at = (p[0] << 9 | p[1]) % LOOKED;
		static uint8_t bytes[255];

		memset(bytes, i & 1 ? 0 : p[2], sizeof bytes);
		bytes[p[2] % 200] ^= p[0];
		if (span_ok(now.size, at, p[2], 1) && p[2])
			plan_write(&now, at, bytes, p[2]);
	}
	/* What cannot be read cannot be compared: such writes are refused before. */
	rc = plan_settle(&now, &why);
	rc = rc ? rc : disc_put(file, &now, grow, &moved, &why);
	if (rc && (!why.code || (moved && rc) || rc == -EBADMSG))
		abort();
	if (rc == -EROFS && !kind.fixed)
		abort();
	if (!rc)
		check_put(was, moved ? moved : file, &now);
	src_put(moved);
	plan_free(&now);
	src_put(medium);
	src_put(file);
	plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct look was;
	struct source *src = src_memory(data, size), *medium;
	struct sectors_wrong wrong;
	struct disc_kind kind;
	uint64_t n;

	if (!src)
		return 0;
	if (!disc_medium(src, &kind, &medium, NULL)) {
		if (!disc_begins(data, size, size) || medium->size != kind.sectors * SECTOR)
			abort();
		look(medium, &was);
		check_reads(medium, &was, data, size);
		if (kind.stride && sectors_count_data(src, kind.stride, 0, 64, &n, NULL))
			abort();
		if (kind.stride && sectors_verify(src, 0, 64, &wrong, NULL))
			abort();
		put(src, &was, data, size, false);
		put(src, &was, data, size, true);
		src_put(medium);
	}
	src_put(src);
	return 0;
}
