#include "hidden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct hidden hidden;

int hidden_start(void **state)
{
	(void)state;
	build_three_apart(&hidden.built, hidden.part);
	assert_int_equal(hidden.part[BUILD_MLP].len, MLP_SIZE);
	assert_int_equal(hidden.part[BUILD_MMP].len, MMP_SIZE);
	assert_int_equal(hidden.part[BUILD_MGP].len, MGP_SIZE);
	return 0;
}

int hidden_end(void **state)
{
	(void)state;
	for (unsigned k = 0; k < BUILD_PARTS; k++)
		buf_free(&hidden.part[k]);
	return 0;
}

void lay(struct buf *b, size_t at, const struct buf *what)
{
	assert_true(at + what->len <= b->len);
	memcpy(b->p + at, what->p, what->len);
}

struct buf hidden_in_noise(size_t size)
{
	struct buf b = { 0 };

	build_noise(&b, size, 7);
	lay(&b, MLP_AT, &hidden.part[BUILD_MLP]);
	lay(&b, MMP_AT, &hidden.part[BUILD_MMP]);
	lay(&b, MGP_AT, &hidden.part[BUILD_MGP]);
	return b;
}
