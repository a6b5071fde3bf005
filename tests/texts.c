#include "texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export.h"

enum what { SHAPE, NAMED_SHAPE, WEIGHTS };

static char *written(struct object *o, uint32_t mesh, enum what what)
{
	struct geo_material mat[64] = { { 0 } };
	struct geo_mesh m;
	struct arena a = { 0 };
	struct buf out = { 0 };
	struct err e;

	if (o->format->model->mesh(o, mesh, &m, &a, &e))
		fail_msg("%s", e.text);
	assert_true(m.nparts <= ARRAY_LEN(mat));
	for (unsigned k = 0; k < m.nparts && what == NAMED_SHAPE; k++)
		if (o->format->model->material(o, (uint32_t)m.parts[k].material, &mat[k], &a, &e))
			fail_msg("%s", e.text);
	if (what == WEIGHTS)
		weights_write(&out, &m);
	else
		obj_write(&out, &m, mesh, mat);
	buf_char(&out, 0);
	assert_false(out.bad);
	arena_free(&a);
	return (char *)out.p;
}

char *obj_text(struct object *o, uint32_t mesh)
{
	return written(o, mesh, SHAPE);
}

char *named_obj_text(struct object *o, uint32_t mesh)
{
	return written(o, mesh, NAMED_SHAPE);
}

char *weights_text(struct object *o, uint32_t mesh)
{
	return written(o, mesh, WEIGHTS);
}

char *with_line(char *text, const char *begins, unsigned n, const char *line)
{
	size_t length = strlen(line);
	char *at = text, *end, *out;

	while (strncmp(at, begins, strlen(begins)) || n--) {
		at = strchr(at, '\n');
		assert_non_null(at);
		at++;
	}
	end = strchr(at, '\n') + 1;
	out = malloc(strlen(text) + length + 2);
	assert_non_null(out);
	sprintf(out, "%.*s%s%s%s", (int)(at - text), text, line, length && line[length - 1] != '\n' ? "\n" : "", end);
	free(text);
	return out;
}
