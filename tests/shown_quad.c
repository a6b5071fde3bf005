#include "shown_quad.h"

#include <stdio.h>

#define ENOUGH 96u

void write_quad(const struct quad_files *q, const char *base)
{
	char name[ENOUGH];

	for (unsigned k = 0; k < 4; k++) {
		snprintf(name, sizeof name, "%s.%s", base, quad_ext[k]);
		if (q->f[k].len)
			shown_write(name, &q->f[k]);
	}
}

bool files_are(const struct quad_files *q, const char *base)
{
	char name[ENOUGH];
	bool are = true;

	for (unsigned k = 0; k < 4; k++) {
		snprintf(name, sizeof name, "%s.%s", base, quad_ext[k]);
		are &= !q->f[k].len || shown_file_is(name, &q->f[k]);
	}
	return are;
}

bool wholes_are(struct tree *t, const struct quad_files *q, const char *dir)
{
	char name[ENOUGH];
	bool are = true;

	for (unsigned k = 0; k < 4; k++) {
		snprintf(name, sizeof name, "%s%sraw/whole.%s", dir, *dir ? "/" : "", quad_ext[k]);
		are &= !q->f[k].len || shown_is(t, name, q->f[k].p, q->f[k].len);
	}
	return are;
}
