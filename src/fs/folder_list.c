/* Listing the directories of a folder. Names and places come from the system, in its order; which of the plain files
 * are models is found out for some thousands at a time, on two processors. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

#define BATCH ((size_t)128 << 10)              /* bytes of names that are had at once */
#define SHARED_LOOKS 500u                      /* a thread costs as much as some hundred files */

struct folder_dir {
	struct tree *t;
	struct host_open *open;                /* holds the directory and its descriptor; NULL: another mount's */
	struct host *dir;                      /* held */
	bool quick;                            /* nothing is searched */
	pthread_mutex_t lock;                  /* of all below */
	struct nameset hidden;                 /* members of models, once one of their names has been met */
	bool knows_hidden;
	uint64_t at;                           /* the position of the batch, and of what is behind it: */
	uint64_t next;
	size_t n;                              /* bytes of names */
	_Alignas(struct dirent64) char names[BATCH];
};

int folder_dir_open(struct tree *t, struct host *dir, bool quick, struct folder_dir **out)
{
	struct hosts *h = &t->folder->hosts;
	struct folder_dir *d = malloc(sizeof *d);
	int fd = -1, rc = d ? 0 : -ENOMEM;

	if (rc)
		return rc;
	*d = (struct folder_dir){ .t = t, .quick = quick };
	if (dir->dev) {
		fd = host_open(h, dir, O_RDONLY | O_DIRECTORY);
		rc = fd < 0 ? fd : host_open_begin(h, dir, fd, false, &d->open);
	}
	if (rc) {
		host_close(h, fd);
		free(d);
		return rc;
	}
	d->dir = host_ref(h, dir);
	pthread_mutex_init(&d->lock, NULL);
	*out = d;
	return 0;
}

void folder_dir_close(struct folder_dir *d)
{
	struct hosts *h = &d->t->folder->hosts;

	if (d->open)
		host_open_end(h, d->open);
	host_put(h, d->dir, 1);
	nameset_free(&d->hidden);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int folder_dir_fd(const struct folder_dir *d)
{
	return d->open ? d->open->fd : -1;
}

/* ---- what the names are ---- */

struct looking { struct folder_dir *d; size_t at, end; };

static struct dirent64 *entry_at(struct folder_dir *d, size_t at)
{
	return (struct dirent64 *)(void *)(d->names + at);
}

/* What some file systems do not tell, or another mount hides. */
static unsigned type_of(const struct found *found)
{
	return found->format ? DT_DIR : IFTODT(found->st.st_mode);
}

static void look_at(struct folder_dir *d, struct dirent64 *e)
{
	struct found found = { 0 };
	bool later = false;
	int fd = host_look(d->open->fd, e->d_name, &found.st);

	if (fd < 0) {
		e->d_type = fd == -EXDEV ? DT_DIR : e->d_type;
		return;
	}
	close(fd);
	if (S_ISREG(found.st.st_mode))
		found.format = folder_format(d->t, d->dir, d->open->fd, e->d_name, &found.st, d->quick ? &later : NULL);
	e->d_type = later ? DT_UNKNOWN : (unsigned char)type_of(&found);
}

static void *look_at_some(void *arg)
{
	struct looking *l = arg;

	for (size_t at = l->at; at < l->end; at += entry_at(l->d, at)->d_reclen) {
		struct dirent64 *e = entry_at(l->d, at);

		if (e->d_type == DT_REG || e->d_type == DT_UNKNOWN)
			look_at(l->d, e);
	}
	return NULL;
}

static bool second_processor(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 1;
}

static void look_at_all(struct folder_dir *d)
{
	struct looking a = { d, 0, d->n }, b = { d, d->n, d->n };
	unsigned files = 0, half = 0;
	pthread_t other;
	bool started;

	for (size_t at = 0; at < d->n; at += entry_at(d, at)->d_reclen)
		files += entry_at(d, at)->d_type == DT_REG || entry_at(d, at)->d_type == DT_UNKNOWN;
	if (files >= SHARED_LOOKS && second_processor()) {
		for (a.end = 0; half < files / 2; a.end += entry_at(d, a.end)->d_reclen)
			half += entry_at(d, a.end)->d_type == DT_REG || entry_at(d, a.end)->d_type == DT_UNKNOWN;
		b.at = a.end;
	}
	if (files && d->t->slow)
		d->t->slow();
	started = b.at < b.end && !pthread_create(&other, NULL, look_at_some, &b);
	look_at_some(&a);
	if (started)
		pthread_join(other, NULL);
	else
		look_at_some(&b);
}

/* ---- listing ---- */

/* The names from a position on. */
static int fill(struct folder_dir *d, uint64_t from)
{
	ssize_t n;

	d->n = 0;
	if (!d->open)
		return 0;
	if (lseek(d->open->fd, (off_t)from, SEEK_SET) < 0)
		return -errno;
	n = getdents64(d->open->fd, d->names, sizeof d->names);
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;           /* the directory was removed */
	d->n = (size_t)n;
	d->at = d->next = from;
	for (size_t at = 0; at < d->n; at += entry_at(d, at)->d_reclen)
		d->next = (uint64_t)entry_at(d, at)->d_off;
	look_at_all(d);
	return 0;
}

/* Where the entry at a position lies in the batch; false when it does not. */
static bool find(struct folder_dir *d, uint64_t from, size_t *at)
{
	uint64_t here = d->at;

	for (*at = 0; *at < d->n; *at += entry_at(d, *at)->d_reclen) {
		if (here == from)
			return true;
		here = (uint64_t)entry_at(d, *at)->d_off;
	}
	return false;
}

/* Few directories have models of several files: then each name would cost more than it says. */
static bool is_hidden(struct folder_dir *d, const char *name)
{
	if (!member_may_be(name))
		return folder_hides(name);
	if (!d->knows_hidden) {
		nameset_free(&d->hidden);
		d->knows_hidden = !folder_hidden(d->t, d->dir, d->open->fd, &d->hidden);
	}
	return nameset_has(&d->hidden, name);
}

static int list(struct folder_dir *d, uint64_t from,
		int (*fn)(void *ctx, const char *name, uint64_t ino, unsigned type, uint64_t next), void *ctx)
{
	size_t at;
	int rc = 0;

	/* The start is asked for by who wants to see what is there now. */
	if (!from || !find(d, from, &at)) {
		d->knows_hidden &= from > 0;
		rc = fill(d, from);
		at = 0;
	}
	while (!rc && d->n) {
		for (; at < d->n && !rc; at += entry_at(d, at)->d_reclen) {
			const struct dirent64 *e = entry_at(d, at);

			if (!is_hidden(d, e->d_name))
				rc = fn(ctx, e->d_name, e->d_ino, e->d_type, (uint64_t)e->d_off);
		}
		rc = rc ? rc : fill(d, d->next);
		at = 0;
	}
	return rc;
}

/* Positions of a folder of another mount: "." and "..". */
static int list_covered(struct folder_dir *d, uint64_t from,
			int (*fn)(void *ctx, const char *name, uint64_t ino, unsigned type, uint64_t next), void *ctx)
{
	int rc = from < 1 ? fn(ctx, ".", d->dir->ino, DT_DIR, 1) : 0;

	return !rc && from < 2 ? fn(ctx, "..", d->dir->ino, DT_DIR, 2) : rc;
}

int folder_dir_list(struct folder_dir *d, uint64_t from,
		    int (*fn)(void *ctx, const char *name, uint64_t ino, unsigned type, uint64_t next), void *ctx)
{
	int rc;

	if (!d->open)
		return list_covered(d, from, fn, ctx);
	pthread_mutex_lock(&d->lock);
	rc = list(d, from, fn, ctx);
	pthread_mutex_unlock(&d->lock);
	return rc;
}
