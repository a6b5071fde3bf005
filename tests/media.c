#include "media.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bytes.h"

struct source *media_open(const void *p, size_t n, struct disc_kind *kind)
{
	struct source *file = src_memory(p, n), *medium;
	struct err e = { 0 };

	assert_non_null(file);
	if (disc_medium(file, kind, &medium, &e))
		fail_msg("%s", e.text);
	src_put(file);
	return medium;
}

void media_same(struct source *src, const uint8_t *want, size_t size, unsigned rounds)
{
	uint8_t *got = malloc(size);

	assert_int_equal(src->size, size);
	assert_int_equal(src_pread(src, got, size, 0), 0);
	assert_memory_equal(got, want, size);
	for (unsigned round = 0; round < rounds; round++) {
		size_t at = (size_t)rand() % size, n = (size_t)rand() % (size - at + 1);

		n = round & 3 ? n % 6000 : n;
		assert_int_equal(src_pread(src, got, n, at), 0);
		assert_memory_equal(got, want + at, n);
	}
	free(got);
}

uint32_t cso_entry(const struct buf *b, unsigned i)
{
	return le_u32(b->p + 24 + 4 * i) & 0x7fffffff;
}
