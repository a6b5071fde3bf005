/* Files that models of a folder ask for by name. An answer is remembered with what it rests on, files and folders as
 * they were or were not there: so it is known at each look whether it still holds. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "folder.h"

/* ---- what answers rest on ---- */

void folder_see_path(const struct hosts *h, const char *path, struct seen *out)
{
	int fd = beneath_open(h->fd, path, O_PATH | O_NOFOLLOW, 0);
	struct stat st;

	*out = (struct seen){ 0 };
	if (fd >= 0 && !fstat(fd, &st))
		see(out, &st);
	host_close((struct hosts *)(uintptr_t)h, fd);
}

static void free_wish(struct wish *w)
{
	for (unsigned i = 0; i < w->nwatches; i++)
		free(w->watches[i].path);
	free(w->watches);
	free(w);
}

void folder_forget_wishes(struct tree_file *f)
{
	struct wish *w = atomic_load(&f->wishes);

	atomic_store(&f->wishes, NULL);
	while (w) {
		struct wish *next = w->next;

		free_wish(w);
		w = next;
	}
}

static bool watch_changed(const struct hosts *h, const struct watch *w)
{
	struct seen now;

	folder_see_path(h, w->path, &now);
	return !same_seen(&now, &w->seen);
}

/* Whether a search of all of the folder would find something else now. */
static bool search_changed(struct tree *t, struct wish *w)
{
	uint32_t gen = atomic_load(&w->gen), now;
	const char *had = w->file == NO_FILE ? NULL : w->watches[0].path;
	char *path;
	bool same = true;

	if (!gen)
		return false;
	pthread_mutex_lock(&t->opening);
	now = folder_names_look(t, false);
	if (now != gen) {
		path = folder_names_find(t, w->path);
		same = had && path ? !strcmp(had, path) : !had && !path;
		free(path);
	}
	pthread_mutex_unlock(&t->opening);
	if (same)
		atomic_store(&w->gen, now);
	return !same;
}

bool folder_wishes_changed(struct tree *t, const struct tree_file *f)
{
	bool any = false;

	for (struct wish *w = atomic_load(&f->wishes); w; w = w->next) {
		any |= search_changed(t, w);
		for (unsigned i = 0; i < w->nwatches; i++) {
			if (!watch_changed(&t->folder->hosts, &w->watches[i]))
				continue;
			any = true;
			if (!i && w->file != NO_FILE)
				folder_suspect(t, w->file);
		}
	}
	return any;
}

/* ---- searching ---- */

struct search {
	struct tree *t;
	char *own;                             /* path of the file that asks */
	struct watch *v;
	unsigned n;
	unsigned file;                         /* found */
	uint32_t gen;                          /* of the names it was looked for among; 0: it was not */
};

static int watch(struct search *s, const char *path, const struct seen *seen)
{
	struct watch *v = realloc(s->v, (s->n + 1) * sizeof *v);
	char *copy = v ? strdup(path) : NULL;

	if (v)
		s->v = v;
	if (!copy)
		return -ENOMEM;
	/* That of the file itself comes first. */
	v[s->n++] = (struct watch){ copy, *seen };
	if (s->file != NO_FILE && s->n > 1) {
		struct watch last = v[s->n - 1];

		v[s->n - 1] = v[0];
		v[0] = last;
	}
	return 0;
}

/* The directory at a path, with a reference. */
static int find_dir(struct tree *t, const char *path, size_t left, struct host **out)
{
	struct hosts *h = &t->folder->hosts;
	struct host *at = h->root;
	int rc = 0;

	while (left && !rc) {
		char name[NAME_MAX + 1];
		size_t n = strcspn(path, "/");
		struct found found;
		struct host *next;

		n = n < left ? n : left;
		if (n > NAME_MAX)
			rc = -ENOENT;
		if (rc)
			break;
		memcpy(name, path, n);
		name[n] = 0;
		rc = folder_look(t, at, name, &found);
		if (!rc && !S_ISDIR(found.st.st_mode))
			rc = -ENOENT;
		rc = rc ? rc : host_seen(h, at, name, &found.st, &next);
		if (rc)
			break;
		host_put(h, at, 1);
		at = next;
		path += n + (n < left);
		left -= n + (n < left);
	}
	if (rc)
		host_put(h, at, 1);
	else
		*out = at;
	return rc;
}

/* ENOENT: it is not there, which is remembered. */
static int try_path(struct search *s, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct seen seen = { 0 };
	struct host *dir;
	unsigned file;
	int rc = find_dir(s->t, path, slash ? (size_t)(slash - path) : 0, &dir);

	if (!rc) {
		rc = folder_file(s->t, dir, name, &file, &seen);
		host_put(&s->t->folder->hosts, dir, 1);
	}
	if (rc == -ENOTDIR || rc == -ENAMETOOLONG || rc == -ELOOP || rc == -EXDEV)
		rc = -ENOENT;
	if (rc && rc != -ENOENT)
		return rc;
	s->file = rc ? NO_FILE : file;
	if (rc)
		folder_see_path(&s->t->folder->hosts, path, &seen);   /* there may be a directory */
	return watch(s, path, &seen) ? -ENOMEM : rc;
}

/* dir/name; the caller's to free. */
static char *joined(const char *dir, const char *name, size_t n)
{
	char *out;

	return asprintf(&out, "%s%s%.*s", dir, *dir ? "/" : "", (int)n, name) < 0 ? NULL : out;
}

/* The path of the name in a directory that is n bytes of `name` in any case. ENOENT; the directory is watched. */
static int any_case(struct search *s, const char *dir, const char *name, size_t n, char **out)
{
	int fd = beneath_open(s->t->folder->hosts.fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0), rc;
	struct seen seen = { 0 };
	char found[NAME_MAX + 1];
	struct stat st;
	DIR *d;

	if (fd >= 0 && !fstat(fd, &st))
		see(&seen, &st);
	rc = watch(s, dir, &seen);
	d = fd >= 0 && !rc ? fdopendir(fd) : NULL;
	if (!d) {
		if (fd >= 0)
			close(fd);
		return rc ? rc : -ENOENT;
	}
	rc = want_in_dir(d, name, n, found) ? 0 : -ENOENT;
	closedir(d);
	if (rc)
		return rc;
	*out = joined(dir, found, strlen(found));
	return *out ? 0 : -ENOMEM;
}

static int try_any_case(struct search *s, const char *dir, const char *path)
{
	char *at = strdup(dir), *next;
	int rc = at ? 0 : -ENOMEM;

	while (!rc && *path) {
		size_t n = strcspn(path, "/");

		rc = any_case(s, at, path, n, &next);
		if (!rc) {
			free(at);
			at = next;
		}
		path += n + (path[n] == '/');
	}
	rc = rc ? rc : try_path(s, at);
	free(at);
	return rc;
}

static int try_exact(struct search *s, const char *dir, const char *path)
{
	char *all = joined(dir, path, strlen(path));
	int rc = all ? try_path(s, all) : -ENOMEM;

	free(all);
	return rc;
}

static int search_swapped(struct search *s, const char *ext)
{
	char *path = want_swap_ext(s->own, ext);
	int rc = path ? try_path(s, path) : -ENOMEM;

	free(path);
	return rc;
}

static int search_everywhere(struct search *s, const char *name)
{
	char *path;
	int rc;

	if (strchr(name, '/'))
		return -ENOENT;
	s->gen = folder_names_look(s->t, true);
	path = folder_names_find(s->t, name);
	rc = path ? try_path(s, path) : -ENOENT;
	free(path);
	return rc;
}

static int search(struct search *s, const struct want *w)
{
	char *dir;
	int rc;

	if (w->where == WANT_SWAP_EXT)
		return search_swapped(s, w->path);
	if (!want_is_below(w->path))
		return -ENOENT;
	/* Where no folder is called so, the root is what is shown. */
	dir = w->where == WANT_BELOW_ROOT ? strndup(s->own, want_root(s->own, w->root)) : want_folder(s->own);
	if (!dir)
		return -ENOMEM;
	rc = w->where == WANT_LOOSE ? -ENOENT : try_exact(s, dir, w->path);
	if (rc == -ENOENT && w->where != WANT_BESIDE)
		rc = try_any_case(s, dir, w->path);
	if (rc == -ENOENT && w->where == WANT_LOOSE && *dir)
		rc = try_any_case(s, "", w->path);
	if (rc == -ENOENT && w->where == WANT_LOOSE)
		rc = search_everywhere(s, w->path);
	free(dir);
	return rc;
}

/* ---- answers ---- */

static struct wish *find_wish(const struct tree_file *f, const struct want *w)
{
	struct wish *wish = atomic_load_explicit(&f->wishes, memory_order_acquire);

	while (wish && (wish->where != w->where || strcmp(wish->path, w->path) ||
			(w->where == WANT_BELOW_ROOT && strcmp(wish->root, w->root))))
		wish = wish->next;
	return wish;
}

static struct wish *new_wish(const struct want *w)
{
	size_t n = strlen(w->path) + 1, root = w->where == WANT_BELOW_ROOT ? strlen(w->root) + 1 : 0;
	struct wish *wish = calloc(1, sizeof *wish + n + root);

	if (!wish)
		return NULL;
	wish->where = w->where;
	memcpy(wish->path, w->path, n);
	if (root)
		wish->root = memcpy(wish->path + n, w->root, root);
	return wish;
}

/* With `opening` held. */
static int answer(struct tree *t, struct tree_file *f, const struct want *w, struct wish **out)
{
	struct search s = { .t = t, .file = NO_FILE };
	struct wish *wish = new_wish(w);
	struct buf own = { 0 };
	int rc = wish ? spot_path(&t->folder->hosts, f->spot, &own) : -ENOMEM;

	buf_char(&own, 0);
	s.own = (char *)own.p;
	rc = rc ? rc : own.bad ? -ENOMEM : search(&s, w);
	buf_free(&own);
	if (wish) {
		wish->watches = s.v;
		wish->nwatches = s.n;
		wish->file = s.file;
		atomic_init(&wish->gen, s.gen);
	}
	if (rc && rc != -ENOENT) {
		if (wish)
			free_wish(wish);
		return rc;
	}
	wish->next = atomic_load(&f->wishes);
	atomic_store_explicit(&f->wishes, wish, memory_order_release);
	*out = wish;
	return 0;
}

int folder_find(struct tree *t, const struct unit *u, const struct want *w, struct unit **out, struct err *e)
{
	struct tree_file *f;
	struct wish *wish;
	int rc = 0;

	if (u->file == NO_FILE || !tree_is_file(t, u))
		return -ENOENT;
	f = tree_file(t, u->file);
	wish = find_wish(f, w);
	if (!wish) {
		pthread_mutex_lock(&t->opening);
		wish = find_wish(f, w);
		rc = wish ? 0 : answer(t, f, w, &wish);
		pthread_mutex_unlock(&t->opening);
	}
	if (rc)
		return err_set(e, -rc, "%s: %s", w->path, strerror(-rc));
	if (wish->file == NO_FILE || tree_file(t, wish->file)->gone)
		return -ENOENT;
	*out = unit_at(t, tree_file(t, wish->file)->unit);
	return 0;
}
