/* A text that is given as SOURCE and only leads to the file that is meant. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "unit.h"

/* By its bytes, or, if these are of no kind that opens, by its name: then the format says what is wrong with it. */
static const struct format *recognise(struct source *src, const char *path)
{
	const char *name = strrchr(path, '/') + 1, *dot = strrchr(name, '.');
	uint8_t room[PROBE_MOST];
	struct probe p = { .name = name, .size = src->size, .src = src, .room = room, .search = SEARCH_NOT };
	const struct format *f = format_detect(&p, NULL);

	if (f && (f->leads || format_opens(f)))
		return f;
	for (const struct format *const *k = formats; *k; k++)
		if ((*k)->leads && dot && !strcasecmp(dot + 1, (*k)->ext))
			return *k;
	return NULL;
}

/* The file is looked for as it is called, then in any case: such texts mostly come from systems that do not tell. */
static int find(const char *text, const struct lead *lead, char **out, struct err *e)
{
	char *dir = want_is_below(lead->name) ? want_folder(text) : NULL;
	struct stat from, to;

	if (!dir)
		return err_set(e, EINVAL, "it leads to \"%.120s\", which is no path below its own folder", lead->name);
	*out = want_file(dir, lead->name);
	free(dir);
	if (!*out)
		return err_set(e, ENOENT, "it leads to \"%.120s\", which is not there", lead->name);
	if (stat(text, &from) || stat(*out, &to) || from.st_dev != to.st_dev || from.st_ino != to.st_ino)
		return 0;
	free(*out);
	*out = NULL;
	return err_set(e, EINVAL, "it leads to itself");
}

int lead_follow(const char *path, char **out, struct lead *lead, struct arena *a, struct err *e)
{
	const struct format *f;
	struct source *text;
	int rc = src_file(path, &text, NULL);

	*out = NULL;
	if (rc)
		return 0;                      /* who opens it will say so */
	f = recognise(text, path);
	if (f && f->leads) {
		*lead = (struct lead){ .by = f };
		rc = f->leads(text, lead, a, e);
		rc = rc ? rc : find(path, lead, out, e);
	}
	src_put(text);
	return rc;
}
