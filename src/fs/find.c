/* Files that objects ask for by name: those of a SOURCE that is one file, which lie beside it or below its folder, and
 * entries of a container that stores names. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

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

bool want_in_dir(DIR *d, const char *name, size_t n, char found[NAME_MAX + 1])
{
	struct dirent *entry;

	*found = 0;
	while ((entry = readdir(d)))
		if (want_is_name(entry->d_name, name, n) && (!*found || strcmp(entry->d_name, found) < 0))
			strcpy(found, entry->d_name);
	return *found;
}

size_t want_root(const char *path, const char *name)
{
	size_t n = strlen(name), at;

	for (const char *end = strrchr(path, '/'); end; end = memrchr(path, '/', at)) {
		at = (size_t)(end - path);
		if (at >= n && !strncasecmp(end - n, name, n) && (at == n || path[at - n - 1] == '/'))
			return at;
	}
	return 0;
}

char *want_folder(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

/* The path of the name in `dir` that is n bytes of `name` in any case; the caller's to free. */
static char *any_case(const char *dir, const char *name, size_t n)
{
	DIR *d = opendir(*dir ? dir : "/");
	char found[NAME_MAX + 1], *path = NULL;

	if (d && want_in_dir(d, name, n, found) && asprintf(&path, "%s/%s", dir, found) < 0)
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

char *want_file(const char *dir, const char *path)
{
	char *exact = NULL;

	if (asprintf(&exact, "%s/%s", dir, path) < 0)
		return NULL;
	if (!access(exact, F_OK))
		return exact;
	free(exact);
	return below_any_case(dir, path);
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
	size_t root = w->where == WANT_BELOW_ROOT ? want_root(from, w->root) : 0;
	char *dir;
	int rc;

	if (w->where == WANT_SWAP_EXT)
		return open_path(t, want_swap_ext(from, w->path), file);
	if (!want_is_below(w->path))
		return -ENOENT;
	dir = root ? strndup(from, root) : want_folder(from);
	if (w->where == WANT_BESIDE)
		rc = open_path(t, joined(dir, w->path), file);
	else
		rc = find_in(t, dir, w->path, w->where == WANT_BELOW_ROOT, file);
	free(dir);
	return rc;
}

int unit_of_file(struct tree *t, unsigned file, struct unit **out, struct err *e)
{
	struct tree_file *f = tree_file(t, file);
	struct source *src = archive_source(f->archive);
	const struct format *format;
	uint32_t id;
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	id = f->unit;
	pthread_mutex_unlock(&t->lock);
	if (!id) {
		format = tree_recognise(t, src, f->path, NULL, NULL);
		rc = unit_new(t, format ? format : &plain_format, src, 0, 0,
			      hash_name(unit_at(t, 0)->hash, f->path), out, e);
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
	unsigned file;
	int rc = find_file(t, tree_file_path(t, u->file), w, &file);

	return rc ? -ENOENT : unit_of_file(t, file, out, e);
}

static int find_outside(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e)
{
	return t->folder ? folder_find(t, u, w, out, e) : find_unit(t, u, w, out, e);
}

/* ---- in a container that stores names ---- */

/* The entry at a path below a folder; each part as it is, or in any case. */
static uint32_t walk(const struct stored *s, uint32_t dir, const char *path, bool exact)
{
	char name[NODE_NAME_MAX];

	for (;;) {
		size_t n = strcspn(path, "/");
		uint32_t item;

		if (n >= sizeof name)
			return STORED_NONE;
		memcpy(name, path, n);
		name[n] = 0;
		item = exact ? stored_find(s, dir, name) : stored_find_any_case(s, dir, name, n);
		if (item == STORED_NONE || !path[n] == !!stored_dir_of(s, item))
			return STORED_NONE;
		if (!path[n])
			return item;
		dir = stored_dir_of(s, item);
		path += n + 1;
	}
}

static uint32_t walk_any(const struct stored *s, uint32_t dir, const char *path)
{
	uint32_t item = walk(s, dir, path, true);

	return item == STORED_NONE ? walk(s, dir, path, false) : item;
}

/* The only entry of that name, wherever it lies. */
static uint32_t only_one(const struct unit *in, const char *name)
{
	const struct stored *s = in->stored;
	uint32_t found = STORED_NONE;

	for (uint32_t i = 0; i < s->nentries; i++) {
		if (in->kids[i].entry.folder || !want_is_name(stored_name(s, i), name, strlen(name)))
			continue;
		if (found != STORED_NONE)
			return STORED_NONE;
		found = i;
	}
	return found;
}

static uint32_t find_swapped(const struct stored *s, uint32_t own, const char *ext)
{
	char *name = want_swap_ext(stored_name(s, own), ext);
	uint32_t item = name ? walk(s, stored_in(s, own), name, true) : STORED_NONE;

	free(name);
	return item;
}

/* Beside entry `own`, or wherever names alone lead. */
static uint32_t find_near(const struct unit *in, uint32_t own, const struct want *w)
{
	const struct stored *s = in->stored;
	uint32_t item;

	switch (w->where) {
	case WANT_SWAP_EXT: return find_swapped(s, own, w->path);
	case WANT_BESIDE: return walk(s, stored_in(s, own), w->path, true);
	case WANT_LOOSE: break;
	default: return STORED_NONE;
	}
	item = walk(s, stored_in(s, own), w->path, false);
	item = item == STORED_NONE ? walk(s, 0, w->path, false) : item;
	return item == STORED_NONE ? only_one(in, w->path) : item;
}

/* The nearest folder above an entry that is called so; 0: none is. */
static uint32_t root_above(const struct stored *s, uint32_t own, const char *name)
{
	uint32_t dir = stored_in(s, own);

	while (dir && strcasecmp(s->text + s->dirs[dir].name, name))
		dir = s->dirs[dir].in;
	return dir;
}

static bool is_below_root(struct tree *t, const struct unit *file, const char *root)
{
	struct buf path = { 0 };
	bool is;

	if (t->folder)
		folder_unit_path(t, file, &path);
	else
		buf_str(&path, tree_file_path(t, file->file));
	buf_char(&path, 0);
	is = !path.bad && want_root((const char *)path.p, root);
	buf_free(&path);
	return is;
}

/* The nearest folder with the root's name is the root, within containers or around them; where there is none, each
 * container is its own. */
static int find_below_root(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e)
{
	const struct unit *file = u;
	struct unit *in;
	uint32_t dir = 0, item;
	bool outside;

	for (; !tree_is_file(t, file) && !dir; file = dir ? file : in) {
		in = unit_at(t, file->parent);
		dir = in->stored ? root_above(in->stored, file->index, w->root) : 0;
	}
	item = dir ? walk_any(in->stored, dir, w->path) : STORED_NONE;
	if (item != STORED_NONE)
		return unit_of_kid(t, in, item, out, e);
	while (!tree_is_file(t, file))
		file = unit_at(t, file->parent);
	outside = !dir && is_below_root(t, file, w->root);
	if (outside && !find_outside(t, file, w, out, e))
		return 0;
	for (; !tree_is_file(t, u); u = in) {
		in = unit_at(t, u->parent);
		item = in->stored ? walk_any(in->stored, 0, w->path) : STORED_NONE;
		if (item != STORED_NONE)
			return unit_of_kid(t, in, item, out, e);
	}
	return outside ? -ENOENT : find_outside(t, file, w, out, e);
}

int unit_find(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e)
{
	struct unit *in = unit_at(t, u->parent);
	uint32_t item;

	if (tree_is_file(t, u))
		return find_outside(t, u, w, out, e);
	if (w->where != WANT_SWAP_EXT && !want_is_below(w->path))
		return -ENOENT;
	if (w->where == WANT_BELOW_ROOT)
		return find_below_root(t, u, w, out, e);
	item = in->stored ? find_near(in, u->index, w) : STORED_NONE;
	return item == STORED_NONE ? -ENOENT : unit_of_kid(t, in, item, out, e);
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
