/* Files that objects ask for by name, of a SOURCE that is one file: they lie beside it, or below its folder. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "folder.h"

const struct format plain_format = { .name = "plain", .title = "file", .ext = "bin" };

/* ---- names ---- */

bool want_is_below(const char *path)
{
	if (strchr(path, ':') || strchr(path, '\\'))
		return false;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (!n || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

size_t want_bare_length(const char *name)
{
	size_t n = strlen(name);

	return n > 2 && name[n - 2] == ';' && name[n - 1] == '1' ? n - 2 : n;
}

bool want_is_name(const char *have, const char *name, size_t n)
{
	return want_bare_length(have) == n && !strncasecmp(have, name, n);
}

/* The first of `dir` that has that name, n bytes of it, without regard to case; the caller's to free. */
static char *any_case(const char *dir, const char *name, size_t n)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char *path = NULL;

	while (d && !path && (entry = readdir(d)))
		if (want_is_name(entry->d_name, name, n) && asprintf(&path, "%s/%s", dir, entry->d_name) < 0)
			path = NULL;
	if (d)
		closedir(d);
	return path;
}

/* dir/path, each part in any case. */
static char *below_any_case(const char *dir, const char *path)
{
	char *at = strdup(dir);

	while (at && *path) {
		size_t n = strcspn(path, "/");
		char *next = any_case(at, path, n);

		free(at);
		at = next;
		path += n + (path[n] == '/');
	}
	return at;
}

/* ---- folders ---- */

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? strdup("") : strndup(path, (size_t)(slash - path));
}

/* The nearest folder above that is called so; else the file's own. */
static char *data_root(const char *path, const char *name)
{
	char *own = folder_of(path), *at = own ? strdup(own) : NULL, *slash;

	while (at && (slash = strrchr(at, '/'))) {
		if (!strcasecmp(slash + 1, name)) {
			free(own);
			return at;
		}
		*slash = 0;
	}
	free(at);
	return own;
}

/* ---- finding ---- */

char *want_swap_ext(const char *path, const char *ext)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	char *out = NULL;

	if (asprintf(&out, "%.*s.%s", (int)(dot && dot > slash ? dot - path : (long)strlen(path)), path, ext) < 0)
		return NULL;
	return out;
}

/* Opens it when it is there; the path is the caller's, and freed. */
static int open_path(struct tree *t, char *path, unsigned *file)
{
	char *real = path ? realpath(path, NULL) : NULL;
	int rc = real ? tree_file_at(t, real, file) : -ENOENT;

	free(real);
	free(path);
	return rc;
}

static char *joined(const char *dir, const char *path)
{
	char *out = NULL;

	return dir && asprintf(&out, "%s/%s", dir, path) >= 0 ? out : NULL;
}

static int find_in(struct tree *t, const char *dir, const char *path, bool exact, unsigned *file)
{
	int rc = exact ? open_path(t, joined(dir, path), file) : -ENOENT;

	return rc && dir ? open_path(t, below_any_case(dir, path), file) : rc;
}

static int find_file(struct tree *t, const char *from, const struct want *w, unsigned *file)
{
	char *dir;
	int rc;

	if (w->where == WANT_SWAP_EXT)
		return open_path(t, want_swap_ext(from, w->path), file);
	if (!want_is_below(w->path))
		return -ENOENT;
	dir = w->where == WANT_BELOW_ROOT ? data_root(from, w->root) : folder_of(from);
	if (w->where == WANT_BESIDE)
		rc = open_path(t, joined(dir, w->path), file);
	else
		rc = find_in(t, dir, w->path, w->where == WANT_BELOW_ROOT, file);
	free(dir);
	return rc;
}

/* The unit of all of a file, made when there is none. */
static int unit_of_file(struct tree *t, unsigned file, struct unit **out, struct err *e)
{
	struct tree_file *f = tree_file(t, file);
	struct source *src = archive_source(f->archive);
	const char *name = strrchr(f->path, '/') + 1;
	const struct format *format;
	uint32_t id;
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	id = f->unit;
	pthread_mutex_unlock(&t->lock);
	if (!id) {
		format = tree_recognise(src, name, NULL);
		rc = unit_new(t, format ? format : &plain_format, src, 0, 0, hash_name(unit_at(t, 0)->hash, f->path), out, e);
		if (rc)
			return rc;
		(*out)->file = file;
		pthread_mutex_lock(&t->lock);
		if (!f->unit)
			f->unit = (*out)->id;  /* else another thread was faster */
		id = f->unit;
		pthread_mutex_unlock(&t->lock);
	}
	*out = unit_at(t, id);
	return 0;
}

static int find_unit(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e)
{
	const char *from = u->file ? tree_file(t, u->file)->path : t->path;
	unsigned file;
	int rc = u->id && !tree_is_file(t, u) ? -ENOENT : find_file(t, from, w, &file);

	return rc ? -ENOENT : unit_of_file(t, file, out, e);
}

int unit_find(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e)
{
	return t->folder ? folder_find(t, u, w, out, e) : find_unit(t, u, w, out, e);
}

int unit_file_beside(struct tree *t, const struct unit *u, const char *ext, unsigned *file)
{
	const struct want beside = { .where = WANT_SWAP_EXT, .path = ext };
	struct unit *found;
	int rc;

	if (!t->folder)
		return tree_file_beside(t, ext, file);
	rc = folder_find(t, unit_at(t, tree_file(t, u->file)->unit), &beside, &found, NULL);
	if (!rc)
		*file = found->file;
	return rc;
}
