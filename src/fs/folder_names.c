/* Files of a folder by name alone, wherever they lie: for models that say no more than that. Made when the first one
 * asks, and again when a folder has changed. Whether one has takes a look at each: so answers that were given are
 * looked over once a second at most. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "folder.h"

#define LOOK_EVERY SECOND
#define NAMES_MOST 4000000u                    /* files and folders; what lies behind them is not found */

struct named { uint64_t hash; uint32_t dir; uint32_t name; };   /* of dirs; in text */
struct named_dir { uint32_t path; struct seen seen; };

/* Under `opening`, but for what is atomic. */
struct folder_names {
	struct buf text;
	struct named *v;                       /* by hash */
	struct named_dir *dirs;
	size_t n, room, ndirs, dirs_room;
	bool bad;                              /* memory was short */
	_Atomic int64_t looked;                /* when, on the clock that only runs */
	_Atomic uint32_t gen;                  /* grows when names have changed */
};

static int64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ns_of(&ts);
}

static uint64_t hash_of(const char *name, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; n--; name++)
		h = (h ^ (uint8_t)tolower((unsigned char)*name)) * 0x100000001b3u;
	return h;
}

/* ---- going through the folder ---- */

static void *grown(void *v, size_t n, size_t *room, size_t each)
{
	size_t more = *room ? *room * 2 : 64;
	void *p = n < *room ? v : more > NAMES_MOST ? NULL : realloc(v, more * each);

	if (p && n == *room)
		*room = more;
	return p;
}

static uint32_t add_text(struct folder_names *f, const char *a, const char *b)
{
	uint32_t at = (uint32_t)f->text.len;

	buf_str(&f->text, a);
	if (*a && b)
		buf_char(&f->text, '/');
	if (b)
		buf_str(&f->text, b);
	buf_char(&f->text, 0);
	f->bad |= f->text.bad || f->text.len > UINT32_MAX;
	return at;
}

static void add_dir(struct folder_names *f, uint32_t path)
{
	struct named_dir *v = grown(f->dirs, f->ndirs, &f->dirs_room, sizeof *v);

	f->bad |= !v;
	if (!v)
		return;
	f->dirs = v;
	f->dirs[f->ndirs++] = (struct named_dir){ .path = path };
}

static void add_file(struct folder_names *f, size_t dir, const char *name)
{
	struct named *v = grown(f->v, f->n, &f->room, sizeof *v);

	f->bad |= !v;
	if (!v)
		return;
	f->v = v;
	v[f->n++] = (struct named){ hash_of(name, want_bare_length(name)), (uint32_t)dir, add_text(f, name, NULL) };
}

static unsigned type_of(int fd, const struct dirent *e)
{
	struct stat st;
	int at = e->d_type == DT_UNKNOWN ? host_look(fd, e->d_name, &st) : -1;

	if (at < 0)
		return e->d_type;
	close(at);
	return IFTODT(st.st_mode);
}

static void read_dir(struct folder_names *f, size_t i, DIR *d)
{
	struct dirent *e;

	while (!f->bad && (e = readdir(d))) {
		unsigned type = type_of(dirfd(d), e);
		char path[PATH_MAX];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || folder_hides(e->d_name))
			continue;
		if (type == DT_REG)
			add_file(f, i, e->d_name);
		if (type != DT_DIR || strlen((char *)f->text.p + f->dirs[i].path) >= sizeof path)
			continue;
		strcpy(path, (char *)f->text.p + f->dirs[i].path);     /* the text may move */
		add_dir(f, add_text(f, path, e->d_name));
	}
}

static void look_into(const struct hosts *h, struct folder_names *f, size_t i)
{
	int fd = beneath_open(h->fd, (char *)f->text.p + f->dirs[i].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct stat st;
	DIR *d;

	if (fd >= 0 && !fstat(fd, &st))
		see(&f->dirs[i].seen, &st);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d) {
		read_dir(f, i, d);
		closedir(d);
	} else if (fd >= 0) {
		close(fd);
	}
}

static int by_hash(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static void make(const struct hosts *h, struct folder_names *f)
{
	f->text.len = f->n = f->ndirs = 0;
	f->bad = false;
	add_dir(f, add_text(f, "", NULL));
	for (size_t i = 0; i < f->ndirs && !f->bad; i++)
		look_into(h, f, i);
	qsort(f->v, f->n, sizeof *f->v, by_hash);
	atomic_fetch_add(&f->gen, 1);
}

/* ---- keeping it true ---- */

static bool dirs_changed(const struct hosts *h, const struct folder_names *f)
{
	struct seen now;

	for (size_t i = 0; i < f->ndirs; i++) {
		folder_see_path(h, (char *)f->text.p + f->dirs[i].path, &now);
		if (!same_seen(&now, &f->dirs[i].seen))
			return true;
	}
	return !f->ndirs;
}

static bool is_due(const struct folder_names *f)
{
	return !f || !f->ndirs || clock_now() - atomic_load(&f->looked) >= LOOK_EVERY;
}

uint32_t folder_names_look(struct tree *t, bool now)
{
	struct folder_names *f = t->folder->names;

	if (now || is_due(f)) {
		if (!f)
			f = t->folder->names = calloc(1, sizeof *f);
		if (!f)
			return 0;
		if (dirs_changed(&t->folder->hosts, f))
			make(&t->folder->hosts, f);
		atomic_store(&f->looked, clock_now());
	}
	return atomic_load(&f->gen);
}

void folder_names_free(struct folder_names *f)
{
	if (!f)
		return;
	buf_free(&f->text);
	free(f->v);
	free(f->dirs);
	free(f);
}

/* ---- finding ---- */

static size_t first_of(const struct folder_names *f, uint64_t hash)
{
	size_t first = 0, end = f->n;

	while (first < end) {
		size_t mid = first + (end - first) / 2;

		if (f->v[mid].hash < hash)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

char *folder_names_find(struct tree *t, const char *name)
{
	const struct folder_names *f = t->folder->names;
	uint64_t hash = hash_of(name, strlen(name));
	const struct named *only = NULL;
	const char *dir;
	char *path;

	for (size_t i = f ? first_of(f, hash) : 0; f && i < f->n && f->v[i].hash == hash; i++) {
		if (!want_is_name((char *)f->text.p + f->v[i].name, name, strlen(name)))
			continue;
		if (only)
			return NULL;
		only = &f->v[i];
	}
	if (!only)
		return NULL;
	dir = (char *)f->text.p + f->dirs[only->dir].path;
	return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", (char *)f->text.p + only->name) < 0 ? NULL : path;
}
