#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"

#define KEPT_MOST 32u                          /* descriptors of what has no name any more */
#define TABLE_FIRST 64u
#define MOMENT 2000                            /* milliseconds */
#define DEEPEST (16u * PATH_MAX)               /* programs that go down by steps get deeper than any path they give */

/* ---- tables; with the lock held, as all that follows unless it says otherwise ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;

	return h ^ h >> 31;
}

static struct chain *table_first(const struct table *t, uint64_t hash)
{
	struct chain *l = t->size ? t->v[hash & (t->size - 1)] : NULL;

	while (l && l->hash != hash)
		l = l->next;
	return l;
}

static struct chain *table_next(const struct chain *l)
{
	uint64_t hash = l->hash;

	do
		l = l->next;
	while (l && l->hash != hash);
	return (struct chain *)(uintptr_t)l;
}

static void table_grow(struct table *t)
{
	size_t size = t->size ? t->size * 2 : TABLE_FIRST;
	struct chain **v = calloc(size, sizeof *v);

	if (!v)
		return;
	for (size_t i = 0; i < t->size; i++) {
		while (t->v[i]) {
			struct chain *l = t->v[i], **to = &v[l->hash & (size - 1)];

			t->v[i] = l->next;
			l->next = *to;
			*to = l;
		}
	}
	free(t->v);
	t->v = v;
	t->size = size;
}

static bool table_add(struct table *t, struct chain *l, uint64_t hash)
{
	if (t->n >= t->size)
		table_grow(t);
	if (!t->size)
		return false;
	l->hash = hash;
	l->next = t->v[hash & (t->size - 1)];
	t->v[hash & (t->size - 1)] = l;
	t->n++;
	return true;
}

static void table_remove(struct table *t, struct chain *l)
{
	struct chain **p = &t->v[l->hash & (t->size - 1)];

	while (*p != l)
		p = &(*p)->next;
	*p = l->next;
	t->n--;
}

static struct host *host_of_inode(struct chain *l)
{
	return (struct host *)(void *)((char *)l - offsetof(struct host, by_inode));
}

/* ---- hosts and their names ---- */

static uint64_t spot_hash(const struct host *dir, const char *name)
{
	uint64_t h = dir->by_serial.hash;

	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
	return mix(h, dir->by_serial.hash);
}

struct spot *spot_find(struct hosts *h, struct host *dir, const char *name)
{
	struct chain *l = table_first(&h->spots, spot_hash(dir, name));

	for (; l; l = table_next(l)) {
		struct spot *s = (struct spot *)l;

		if (s->dir == dir && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

struct spot *spot_make(struct hosts *h, struct host *dir, const char *name)
{
	struct spot *s = spot_find(h, dir, name);

	if (s)
		return s;
	s = calloc(1, sizeof *s + strlen(name) + 1);
	if (!s)
		return NULL;
	strcpy(s->name, name);
	if (!table_add(&h->spots, &s->link, spot_hash(dir, name))) {
		free(s);
		return NULL;
	}
	s->dir = dir;
	dir->refs++;
	return s;
}

static void detach(struct spot *s)
{
	struct spot **p = &s->host->spots;

	while (*p != s)
		p = &(*p)->other;
	*p = s->other;
	s->host = NULL;
}

static void attach(struct spot *s, struct host *host)
{
	s->host = host;
	s->other = host->spots;
	host->spots = s;
}

static void unref(struct hosts *h, struct host *host, uint64_t n);
static void shut_dir(struct hosts *h, const struct host *host);

void spot_drop(struct hosts *h, struct spot *s)
{
	struct host *dir = s->dir;

	if (s->host || s->file)
		return;
	table_remove(&h->spots, &s->link);
	free(s);
	unref(h, dir, 1);
}

static void lose_name(struct hosts *h, struct spot *s)
{
	detach(s);
	spot_drop(h, s);
}

/* Recursion goes up the folder, and ends where a directory is still known otherwise. */
static void unref(struct hosts *h, struct host *host, uint64_t n)
{
	host->refs -= n;
	if (host->refs)
		return;
	table_remove(&h->serials, &host->by_serial);
	table_remove(&h->inodes, &host->by_inode);
	shut_dir(h, host);
	if (host->kept >= 0) {
		close(host->kept);
		h->nkept--;
	}
	while (host->spots)
		lose_name(h, host->spots);
	free(host);
}

static struct host *find_inode(struct hosts *h, const struct stat *st)
{
	struct chain *l = table_first(&h->inodes, mix(st->st_ino, st->st_dev));

	for (; l; l = table_next(l)) {
		struct host *host = host_of_inode(l);

		if (host->ino == st->st_ino && host->dev == st->st_dev && host->type == (st->st_mode & S_IFMT))
			return host;
	}
	return NULL;
}

static struct host *new_host(struct hosts *h, const struct stat *st)
{
	struct host *host = calloc(1, sizeof *host);

	if (!host)
		return NULL;
	host->dev = st->st_dev;
	host->ino = st->st_ino;
	host->type = st->st_mode & S_IFMT;
	host->kept = -1;
	if (!table_add(&h->serials, &host->by_serial, h->serial + 1)) {
		free(host);
		return NULL;
	}
	if (!table_add(&h->inodes, &host->by_inode, mix(host->ino, host->dev))) {
		table_remove(&h->serials, &host->by_serial);
		free(host);
		return NULL;
	}
	h->serial++;
	return host;
}

static bool is_it(const struct host *host, const struct stat *st)
{
	return host->ino == st->st_ino && host->dev == st->st_dev && host->type == (st->st_mode & S_IFMT);
}

/* ---- opening and closing the folder; without the lock ---- */

int hosts_open(struct hosts *h, const char *path, struct err *e)
{
	struct stat st;

	*h = (struct hosts){ .fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	pthread_mutex_init(&h->lock, NULL);
	/* Who may not list it may still go through. */
	if (h->fd < 0 && errno == EACCES)
		h->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (h->fd < 0 || fstat(h->fd, &st))
		return err_set(e, errno, "%s", strerror(errno));
	h->root = new_host(h, &st);
	if (!h->root)
		return err_nomem(e);
	h->root->refs = 1;
	return 0;
}

void hosts_close(struct hosts *h)
{
	for (unsigned i = 0; i < HOST_DIRS; i++)
		if (h->dirs[i].host)
			close(h->dirs[i].fd);
	for (size_t i = 0; i < h->spots.size; i++) {
		for (struct chain *l = h->spots.v[i], *next; l; l = next) {
			next = l->next;
			free(l);
		}
	}
	for (size_t i = 0; i < h->serials.size; i++) {
		for (struct chain *l = h->serials.v[i], *next; l; l = next) {
			struct host *host = (struct host *)l;

			next = l->next;
			if (host->kept >= 0)
				close(host->kept);
			free(host);
		}
	}
	free(h->spots.v);
	free(h->serials.v);
	free(h->inodes.v);
	if (h->fd >= 0)
		close(h->fd);
	pthread_mutex_destroy(&h->lock);
}

/* ---- references ---- */

/* For somebody outside; with the lock held. */
static struct host *lend(struct hosts *h, struct host *host)
{
	if (host && host != h->root)
		host->refs++;
	return host;
}

struct host *host_ref(struct hosts *h, struct host *host)
{
	pthread_mutex_lock(&h->lock);
	lend(h, host);
	pthread_mutex_unlock(&h->lock);
	return host;
}

void host_put(struct hosts *h, struct host *host, uint64_t n)
{
	if (!host || !n || host == h->root)
		return;
	pthread_mutex_lock(&h->lock);
	unref(h, host, n);
	pthread_mutex_unlock(&h->lock);
}

struct host *host_by_serial(struct hosts *h, uint64_t serial)
{
	struct host *host;

	pthread_mutex_lock(&h->lock);
	host = lend(h, (struct host *)table_first(&h->serials, serial));
	pthread_mutex_unlock(&h->lock);
	return host;
}

/* ---- paths ---- */

/* Writes backwards: *at is where the path begins so far. */
static int add_before(char *room, size_t *at, const char *name, bool slash)
{
	size_t n = strlen(name);

	if (n + slash > *at)
		return -ENAMETOOLONG;
	if (slash)
		room[--*at] = '/';
	*at -= n;
	memcpy(room + *at, name, n);
	return 0;
}

/* The path of a name in dir, or with name NULL of dir itself; at most `size` bytes with its end, so names that others
 * have moved into each other end as well. */
static int build_path(const struct hosts *h, const struct host *dir, const char *name, char *room, size_t size,
		      const char **path)
{
	size_t at = size;
	int rc = 0;

	room[--at] = 0;
	if (name)
		rc = add_before(room, &at, name, false);
	for (; dir != h->root && !rc; dir = dir->spots->dir) {
		if (!dir->spots)
			return -ESTALE;
		rc = add_before(room, &at, dir->spots->name, room[at]);
	}
	*path = room + at;
	return rc;
}

static int add_path(struct hosts *h, const struct host *dir, const char *name, struct buf *out)
{
	char room[PATH_MAX];
	const char *path;
	int rc;

	pthread_mutex_lock(&h->lock);
	rc = build_path(h, dir, name, room, sizeof room, &path);
	pthread_mutex_unlock(&h->lock);
	if (!rc)
		buf_str(out, path);
	return rc;
}

int host_path(struct hosts *h, struct host *host, struct buf *out)
{
	return add_path(h, host, NULL, out);
}

int spot_path(struct hosts *h, const struct spot *s, struct buf *out)
{
	return add_path(h, s->dir, s->name, out);
}

struct host *host_parent(struct hosts *h, struct host *host)
{
	struct host *dir = NULL;

	pthread_mutex_lock(&h->lock);
	if (host == h->root)
		dir = host;
	else if (host->spots)
		dir = host->spots->dir;
	lend(h, dir);
	pthread_mutex_unlock(&h->lock);
	return dir;
}

/* ---- descriptors ---- */

static int open_again(int fd, int flags)
{
	char path[64];
	int again;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* A copy of a descriptor of the host that is open anyway; -1 when there is none. */
static int copy_open(const struct host *host)
{
	int fd = host->open ? host->open->fd : host->kept;

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* By its names, newest first; those that lead to something else by now are forgotten. */
static int open_by_name(struct hosts *h, struct host *host, int flags)
{
	char room[DEEPEST];
	const char *path;
	struct stat st;
	int fd, rc;

	for (;;) {
		pthread_mutex_lock(&h->lock);
		rc = host->spots ? build_path(h, host->spots->dir, host->spots->name, room, sizeof room,
						  &path) : -ESTALE;
		pthread_mutex_unlock(&h->lock);
		if (rc)
			return rc;
		fd = beneath_open(h->fd, path, flags | O_NOFOLLOW, 0);
		if (fd >= 0 && !fstat(fd, &st) && is_it(host, &st))
			return fd;
		if (fd >= 0)
			close(fd);
		else if (fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP && fd != -EXDEV && fd != -ENXIO)
			return fd;
		pthread_mutex_lock(&h->lock);
		if (host->spots)
			lose_name(h, host->spots);
		pthread_mutex_unlock(&h->lock);
	}
}

int host_open(struct hosts *h, struct host *host, int flags)
{
	int fd, again;

	if (!host->dev)
		return -EXDEV;
	if (host == h->root) {
		if ((flags & O_PATH) == O_PATH)
			return h->fd;
		fd = openat(h->fd, ".", flags | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = open_by_name(h, host, flags);
	if (fd != -ESTALE)
		return fd;
	pthread_mutex_lock(&h->lock);
	fd = copy_open(host);
	pthread_mutex_unlock(&h->lock);
	if (fd < 0)
		return -ESTALE;
	again = open_again(fd, flags);
	close(fd);
	return again;
}

int host_any(struct hosts *h, struct host *host)
{
	int fd;

	pthread_mutex_lock(&h->lock);
	fd = copy_open(host);
	pthread_mutex_unlock(&h->lock);
	return fd >= 0 ? fd : host_open(h, host, O_PATH);
}

void host_close(struct hosts *h, int fd)
{
	if (fd >= 0 && fd != h->fd)
		close(fd);
}

/* ---- directories that are kept open ---- */

static void shut_dir(struct hosts *h, const struct host *host)
{
	for (unsigned i = 0; i < HOST_DIRS; i++) {
		struct host_dir *d = &h->dirs[i];

		if (d->host != host)
			continue;
		d->host = NULL;
		if (!d->users)
			close(d->fd);
	}
}

static int use_dir(struct hosts *h, const struct host *host)
{
	for (unsigned i = 0; i < HOST_DIRS; i++) {
		struct host_dir *d = &h->dirs[i];

		if (d->host == host) {
			d->users++;
			d->used = ++h->tick;
			return d->fd;
		}
	}
	return -1;
}

/* The one that was used longest ago, and by nobody now; NULL: all are in use. */
static struct host_dir *oldest_dir(struct hosts *h)
{
	struct host_dir *best = NULL;

	for (unsigned i = 0; i < HOST_DIRS; i++) {
		struct host_dir *d = &h->dirs[i];

		if (!d->users && (!best || d->used < best->used))
			best = d;
	}
	return best;
}

static void keep_dir(struct hosts *h, struct host *host, int fd)
{
	struct host_dir *d = oldest_dir(h);

	if (!d)
		return;
	if (d->host)
		close(d->fd);
	*d = (struct host_dir){ host, fd, 1, ++h->tick };
}

int host_dir(struct hosts *h, struct host *host)
{
	int fd, known;

	if (!host->dev)
		return -EXDEV;
	if (host == h->root)
		return h->fd;
	pthread_mutex_lock(&h->lock);
	fd = use_dir(h, host);
	pthread_mutex_unlock(&h->lock);
	if (fd >= 0)
		return fd;
	fd = host_open(h, host, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&h->lock);
	known = use_dir(h, host);              /* another thread may have been faster */
	if (known < 0)
		keep_dir(h, host, fd);
	pthread_mutex_unlock(&h->lock);
	if (known >= 0)
		close(fd);
	return known >= 0 ? known : fd;
}

void host_dir_done(struct hosts *h, int fd)
{
	struct host_dir *d = NULL;

	if (fd < 0 || fd == h->fd)
		return;
	pthread_mutex_lock(&h->lock);
	for (unsigned i = 0; i < HOST_DIRS && !d; i++)
		if (h->dirs[i].users && h->dirs[i].fd == fd)
			d = &h->dirs[i];
	if (!d || (!--d->users && !d->host))   /* there was no room for it, or it is gone */
		close(fd);
	pthread_mutex_unlock(&h->lock);
}

int host_look(int dirfd, const char *name, struct stat *st)
{
	int fd;

	if (strchr(name, '/') || !*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return -ENOENT;
	fd = beneath_open(dirfd, name, O_PATH | O_NOFOLLOW, 0);
	if (fd >= 0 && fstat(fd, st)) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Nobody can tell what lies below a mount point. */
static void covered_stat(const struct host *host, struct stat *st)
{
	*st = (struct stat){ .st_ino = host->ino, .st_mode = S_IFDIR | 0555, .st_nlink = 2 };
}

int host_stat(struct hosts *h, struct host *host, struct stat *st)
{
	int fd = host->dev ? host_any(h, host) : -EXDEV, rc = 0;

	if (fd == -EXDEV && !host->dev)
		covered_stat(host, st);
	else if (fd < 0)
		rc = fd;
	else if (fstat(fd, st))
		rc = -errno;
	host_close(h, fd);
	return rc;
}

int host_target(struct hosts *h, struct host *host, char *to, size_t size)
{
	int fd = host_any(h, host), rc = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", to, size - 1);
	if (n < 0)
		rc = errno == ENOENT ? -EINVAL : -errno;       /* it is no link */
	else
		to[n] = 0;
	host_close(h, fd);
	return rc;
}

int host_open_begin(struct hosts *h, struct host *host, int fd, bool writing, struct host_open **out)
{
	struct host_open *o = malloc(sizeof *o);

	if (!o)
		return -ENOMEM;
	*o = (struct host_open){ .host = host, .fd = fd };
	pthread_mutex_lock(&h->lock);
	host->refs++;
	o->next = host->open;
	host->open = o;
	pthread_mutex_unlock(&h->lock);
	host_open_write(h, o, writing);
	*out = o;
	return 0;
}

static int64_t clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void host_open_write(struct hosts *h, struct host_open *o, bool writing)
{
	bool was;

	pthread_mutex_lock(&h->lock);
	was = o->writing;
	if (was != writing)
		o->host->writers += writing ? 1u : -1u;
	o->writing = writing;
	if (was && !writing)
		o->host->written = clock_now();
	pthread_mutex_unlock(&h->lock);
}

void host_open_end(struct hosts *h, struct host_open *o)
{
	struct host_open **p = &o->host->open;

	host_open_write(h, o, false);
	pthread_mutex_lock(&h->lock);
	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
	unref(h, o->host, 1);
	pthread_mutex_unlock(&h->lock);
	close(o->fd);
	free(o);
}

/* ---- names ---- */

static int see_at(struct hosts *h, struct host *dir, const char *name, const struct stat *st, struct host **out)
{
	struct spot *s = spot_make(h, dir, name);
	struct host *host = s ? s->host : NULL;

	if (!s)
		return -ENOMEM;
	if (host && !is_it(host, st))
		detach(s);
	if (!s->host) {
		host = find_inode(h, st);
		host = host ? host : new_host(h, st);
		if (!host) {
			spot_drop(h, s);
			return -ENOMEM;
		}
		attach(s, host);
	} else if (host->spots != s) {
		detach(s);
		attach(s, host);
	}
	*out = lend(h, host);
	return 0;
}

int host_seen(struct hosts *h, struct host *dir, const char *name, const struct stat *st, struct host **out)
{
	int rc;

	pthread_mutex_lock(&h->lock);
	rc = see_at(h, dir, name, st, out);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

void host_unseen(struct hosts *h, struct host *dir, const char *name)
{
	struct spot *s;

	pthread_mutex_lock(&h->lock);
	s = spot_find(h, dir, name);
	if (s && s->host)
		lose_name(h, s);
	pthread_mutex_unlock(&h->lock);
}

void host_keep(struct hosts *h, struct host *dir, const char *name)
{
	struct host *host = NULL;
	struct spot *s;
	int fd;

	pthread_mutex_lock(&h->lock);
	s = spot_find(h, dir, name);
	if (s && s->host && !s->host->open && s->host->kept < 0 && s->host->dev && h->nkept < KEPT_MOST) {
		host = s->host;
		host->refs++;
		h->nkept++;
	}
	pthread_mutex_unlock(&h->lock);
	if (!host)
		return;
	fd = host_open(h, host, O_PATH);
	pthread_mutex_lock(&h->lock);
	if (fd >= 0 && host->kept < 0) {
		host->kept = fd;
		fd = -1;
	} else {
		h->nkept--;
	}
	unref(h, host, 1);
	pthread_mutex_unlock(&h->lock);
	host_close(h, fd);
}

void spot_move_host(struct spot *from, struct spot *to, bool swap)
{
	struct host *host = from->host, *other = to->host;

	if (host)
		detach(from);
	if (other)
		detach(to);
	if (host)
		attach(to, host);
	if (other && swap)
		attach(from, other);
}

bool host_was_written(struct hosts *h, struct host *dir, const char *name)
{
	struct spot *s;
	bool was;

	pthread_mutex_lock(&h->lock);
	s = spot_find(h, dir, name);
	was = s && s->host && s->host->written && clock_now() - s->host->written < MOMENT;
	pthread_mutex_unlock(&h->lock);
	return was;
}

bool host_is_written(struct hosts *h, struct host *dir, const char *name)
{
	struct spot *s;
	bool is;

	pthread_mutex_lock(&h->lock);
	s = spot_find(h, dir, name);
	is = s && s->host && s->host->writers;
	pthread_mutex_unlock(&h->lock);
	return is;
}
