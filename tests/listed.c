#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "listed.h"

struct entries listed(struct object *o)
{
	struct entries v = { 0 };
	struct err e = { 0 };

	if (fmt_iso9660.container->list(o, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

uint32_t find(struct object *o, const char *name)
{
	struct entries v = listed(o);

	for (uint32_t i = 0; i < v.n; i++)
		if (!strcmp(v.name[i], name))
			return i;
	fail_msg("%s is not there", name);
	return 0;
}

void holds(struct object *o, const char *name, const void *p, size_t n)
{
	struct entries v = listed(o);
	uint32_t i = find(o, name);
	struct source *src = entry_source(o->src, &fmt_iso9660, &v.v[i]);
	char *got = malloc(n + 1);

	assert_non_null(src);
	assert_non_null(got);
	assert_int_equal(v.v[i].size, n);
	assert_int_equal(src->size, n);
	assert_int_equal(src_pread(src, got, n, 0), 0);
	assert_memory_equal(got, p, n);
	src_put(src);
	free(got);
}
