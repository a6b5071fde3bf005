/* Bytes of model files. A folder may hold more models than a process may have open: so a file is opened when somebody
 * reads it, and the one that was read longest ago is closed for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

struct pooled {
	struct source s;                       /* first */
	struct pool *pool;
	unsigned file;
	struct seen seen;
	/* Under the pool's lock: */
	struct pooled *prev, *next;            /* of those that are open, the one used last first */
	int fd;                                /* -1: not open */
	unsigned users;                        /* threads that read it */
};

struct pool {
	struct tree *tree;
	pthread_mutex_t lock;                  /* a leaf */
	struct pooled *first, *last;
	unsigned n;
};

struct pool *pool_new(struct tree *t)
{
	struct pool *p = calloc(1, sizeof *p);

	if (p) {
		p->tree = t;
		pthread_mutex_init(&p->lock, NULL);
	}
	return p;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- the open ones; with the lock held ---- */

static void take_out(struct pool *p, struct pooled *f)
{
	*(f->prev ? &f->prev->next : &p->first) = f->next;
	*(f->next ? &f->next->prev : &p->last) = f->prev;
	f->prev = f->next = NULL;
}

static void put_first(struct pool *p, struct pooled *f)
{
	f->next = p->first;
	*(f->next ? &f->next->prev : &p->last) = f;
	p->first = f;
}

static void shut(struct pool *p, struct pooled *f)
{
	take_out(p, f);
	close(f->fd);
	f->fd = -1;
	p->n--;
}

/* More are open only while more are read at once. */
static void shut_oldest(struct pool *p)
{
	struct pooled *f = p->last, *before;

	for (; f && p->n > POOL_MOST; f = before) {
		before = f->prev;
		if (!f->users)
			shut(p, f);
	}
}

/* ---- reading ---- */

/* Its time of change is not looked at: another name or mode changes no byte. */
static bool is_same(const struct pooled *f, const struct stat *st)
{
	struct seen now;

	see(&now, st);
	now.ctime = f->seen.ctime;
	return same_seen(&now, &f->seen);
}

/* Who owns the file need not have its access time written; others may not ask for that. */
static int open_at_name(const struct pooled *f)
{
	int flags = O_RDONLY | O_NONBLOCK, fd;
	struct tree *t = f->pool->tree;
	uid_t self = geteuid();

	fd = folder_open_file(t, tree_file(t, f->file), flags | (!self || self == f->seen.uid ? O_NOATIME : 0));
	return fd == -EPERM ? folder_open_file(t, tree_file(t, f->file), flags) : fd;
}

static int open_file(const struct pooled *f)
{
	int fd = open_at_name(f);
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -EXDEV ? -ESTALE : fd;
	if (fstat(fd, &st) || !is_same(f, &st)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* Its descriptor, which nobody closes until give_back(). */
static int borrow(struct pooled *f)
{
	struct pool *p = f->pool;
	int fd;

	pthread_mutex_lock(&p->lock);
	if (f->fd < 0) {
		pthread_mutex_unlock(&p->lock);
		fd = open_file(f);
		if (fd < 0)
			return fd;
		pthread_mutex_lock(&p->lock);
		if (f->fd >= 0) {              /* another thread was faster */
			close(fd);
		} else {
			f->fd = fd;
			p->n++;
			put_first(p, f);
		}
	}
	if (p->first != f) {
		take_out(p, f);
		put_first(p, f);
	}
	f->users++;
	fd = f->fd;
	shut_oldest(p);
	pthread_mutex_unlock(&p->lock);
	return fd;
}

static void give_back(struct pooled *f)
{
	struct pool *p = f->pool;

	pthread_mutex_lock(&p->lock);
	f->users--;
	shut_oldest(p);
	pthread_mutex_unlock(&p->lock);
}

/* What was written meanwhile has changed the stamp: then these bytes may be neither the old ones nor the new ones. */
static int pooled_pread(struct source *s, void *buf, size_t n, uint64_t at)
{
	struct pooled *f = (struct pooled *)s;
	struct stat st;
	int fd = borrow(f), rc;

	if (fd < 0)
		return fd;
	rc = src_fd_read(fd, buf, n, at);
	if (fstat(fd, &st) || !is_same(f, &st))
		rc = -ESTALE;
	give_back(f);
	return rc;
}

static void pooled_close(struct source *s)
{
	struct pooled *f = (struct pooled *)s;

	pthread_mutex_lock(&f->pool->lock);
	if (f->fd >= 0)
		shut(f->pool, f);
	pthread_mutex_unlock(&f->pool->lock);
}

static const struct source_ops pooled_ops = { .pread = pooled_pread, .close = pooled_close };

struct source *pool_source(struct pool *p, unsigned file, const struct seen *seen)
{
	struct pooled *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	*f = (struct pooled){ .s = { .ops = &pooled_ops, .size = (uint64_t)seen->size }, .pool = p, .file = file,
			      .seen = *seen, .fd = -1 };
	atomic_init(&f->s.refs, 1);
	return &f->s;
}
