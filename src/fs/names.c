/* Names files: lines "INDEX<tab>LABEL", "#" begins a comment line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define LABEL_MAX 200u                         /* with number and extension below NODE_NAME_MAX */

struct names { char **label; uint32_t n; };

void names_free(struct names *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->n; i++)
		free(n->label[i]);
	free(n->label);
	free(n);
}

const char *names_get(const struct names *n, uint32_t index)
{
	return n && index < n->n ? n->label[index] : NULL;
}

static int set_label(struct names *n, uint32_t index, const char *text)
{
	char *copy;

	if (index >= n->n) {
		uint32_t to = index + index / 2 + 64;
		char **v = realloc(n->label, to * sizeof *v);

		if (!v)
			return -ENOMEM;
		memset(v + n->n, 0, (to - n->n) * sizeof *v);
		n->label = v;
		n->n = to;
	}
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	for (char *p = copy; *p; p++)
		if (*p == '/' || (unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '_';
	free(n->label[index]);
	n->label[index] = copy;
	return 0;
}

static int read_line(struct names *n, char *line, unsigned number, const char *path, struct err *e)
{
	char *end, *label;
	unsigned long index;

	line[strcspn(line, "\r\n")] = 0;
	if (!*line || *line == '#')
		return 0;
	errno = 0;
	index = strtoul(line, &end, 10);
	if (end == line || *end != '\t' || *line < '0' || *line > '9')
		return err_set(e, EINVAL, "%s: line %u: found \"%.40s\", expected INDEX<tab>LABEL", path, number, line);
	if (errno || index >= LIMIT_ENTRIES)
		return err_set(e, EINVAL, "%s: line %u: index %.20s, expected at most %u", path, number, line,
			       LIMIT_ENTRIES - 1);
	label = end + 1;
	if (!*label)
		return 0;
	if (strlen(label) > LABEL_MAX)
		return err_set(e, EINVAL, "%s: line %u: a label of %zu bytes, at most %u", path, number, strlen(label),
			       LABEL_MAX);
	return set_label(n, (uint32_t)index, label) ? err_nomem(e) : 0;
}

int names_read(const char *path, struct names **out, struct err *e)
{
	struct names *n = calloc(1, sizeof *n);
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	unsigned number = 0;
	int rc = 0;

	if (!n || !f) {
		rc = n ? err_set(e, errno, "%s: %s", path, strerror(errno)) : err_nomem(e);
	} else {
		while (!rc && getline(&line, &room, f) >= 0)
			rc = read_line(n, line, ++number, path, e);
		if (!rc && ferror(f))
			rc = err_set(e, EIO, "%s: cannot be read", path);
	}
	free(line);
	if (f)
		fclose(f);
	if (rc)
		names_free(n);
	else
		*out = n;
	return rc;
}
