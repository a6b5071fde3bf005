#include "carving.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void found(struct carve_finding *f, const struct place *v, uint32_t n)
{
	assert_int_equal(f->n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(f->v[i].mlp.at, v[i].mlp);
		assert_int_equal(f->v[i].mmp.at, v[i].mmp);
		assert_int_equal(f->v[i].mgp.at, v[i].mgp);
	}
	finding_put(&f->f);
}
