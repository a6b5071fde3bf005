#include "hidden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void hidden_build(struct hidden *h)
{
	struct buf *mgp = &h->part[BUILD_MGP];

	build_three(&h->built, h->part);
	for (unsigned i = 0; i < 64; i++)
		put8(mgp, 0);
	memmove(mgp->p + 80, mgp->p + 16, 32);
	memset(mgp->p + 16, 0, 64);
	setb32(&h->part[BUILD_MLP], build_mlp_record(2) + 12, 80);
	assert_int_equal(h->part[BUILD_MLP].len, MLP_SIZE);
	assert_int_equal(h->part[BUILD_MMP].len, MMP_SIZE);
	assert_int_equal(mgp->len, MGP_SIZE);
}

void hidden_free(struct hidden *h)
{
	for (unsigned k = 0; k < BUILD_PARTS; k++)
		buf_free(&h->part[k]);
}

void lay(struct buf *b, size_t at, const struct buf *what)
{
	assert_true(at + what->len <= b->len);
	memcpy(b->p + at, what->p, what->len);
}

struct buf hidden_in_noise(const struct hidden *h, size_t size)
{
	struct buf b = { 0 };

	build_noise(&b, size, 7);
	lay(&b, MLP_AT, &h->part[BUILD_MLP]);
	lay(&b, MMP_AT, &h->part[BUILD_MMP]);
	lay(&b, MGP_AT, &h->part[BUILD_MGP]);
	return b;
}
