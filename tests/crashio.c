#include "crashio.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512u
#define NAMES 64u
#define DIRS 8u
#define PATH 300u

struct op { bool cut; uint64_t at; size_t n; uint8_t *bytes; };

struct inode {
	struct inode *next;
	ino_t ino;
	struct { uint8_t *p; size_t n; } disc;
	struct op *op;                         /* since the last sync */
	size_t nops;
};

enum change { LINK, UNLINK, RENAME };
/* A name that goes from one directory to another is a LINK in that one and an UNLINK here, which cannot be on the disc
 * before: `after` the operation before it in the list. */
struct dir_op { enum change change; char *from, *to; struct inode *inode; unsigned dir; bool after; };

struct crashio {
	struct inode *inodes;                  /* newest first: the system gives numbers again */
	struct { char *name; ino_t ino; } dirs[DIRS];  /* all there are; "" is the first, the others end in a slash */
	unsigned ndirs;
	struct { char *name; struct inode *inode; } disc[NAMES];
	size_t nnames;
	struct dir_op *op;
	size_t nops;
	int dir;
	unsigned steps, syncs, die, fail;
	int error;
	bool no_links;
	uint64_t space, written;
};

/* ---- files ---- */

static void read_file(int dir, const char *name, uint8_t **p, size_t *n)
{
	int fd = openat(dir, name, O_RDONLY);
	struct stat st;

	assert(fd >= 0 && !fstat(fd, &st));
	*n = (size_t)st.st_size;
	*p = malloc(*n + 1);
	assert(*p && read(fd, *p, *n) == (ssize_t)*n);
	close(fd);
}

static void write_file(int dir, const char *name, const uint8_t *p, size_t n)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	close(fd);
}

static void each_in(const char *path, void (*fn)(void *ctx, const char *path, const struct stat *st), void *ctx)
{
	DIR *d = opendir(path);
	struct dirent *entry;

	assert(d);
	while ((entry = readdir(d))) {
		char below[PATH];
		struct stat st;

		snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && !lstat(below, &st))
			fn(ctx, below, &st);
	}
	closedir(d);
}

static void remove_one(void *ctx, const char *path, const struct stat *st)
{
	(void)ctx;
	if (S_ISDIR(st->st_mode))
		empty_dir(path);
	assert(!remove(path));
}

void empty_dir(const char *path)
{
	each_in(path, remove_one, NULL);
}

static void count_one(void *ctx, const char *path, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		each_in(path, count_one, ctx);
	else
		++*(unsigned *)ctx;
}

unsigned files_in(const char *path)
{
	unsigned n = 0;

	each_in(path, count_one, &n);
	return n;
}

void copy_dir(const char *from, const char *to)
{
	struct crashio *c = crashio_new(from);

	crashio_crash(c, to, CRASH_KEPT, 0);
	crashio_free(c);
}

/* ---- what is on the disc ---- */

static struct inode *new_inode(struct crashio *c, ino_t ino)
{
	struct inode *i = calloc(1, sizeof *i);

	assert(i);
	i->ino = ino;
	i->next = c->inodes;
	c->inodes = i;
	return i;
}

static struct inode *find_inode(const struct crashio *c, ino_t ino)
{
	struct inode *i = c->inodes;

	while (i && i->ino != ino)
		i = i->next;
	return i;
}

static struct inode *of_fd(const struct crashio *c, int fd)
{
	struct stat st;

	return fstat(fd, &st) ? NULL : find_inode(c, st.st_ino);
}

static struct inode *of_name(const struct crashio *c, int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) ? NULL : find_inode(c, st.st_ino);
}

static unsigned dir_of(const struct crashio *c, int dirfd)
{
	struct stat st;
	unsigned i = 0;

	assert(!fstat(dirfd, &st));
	while (i < c->ndirs && c->dirs[i].ino != st.st_ino)
		i++;
	assert(i < c->ndirs);
	return i;
}

struct walk { struct crashio *c; size_t root; };

static void add_one(void *ctx, const char *path, const struct stat *st)
{
	struct walk *w = ctx;
	struct crashio *c = w->c;
	const char *name = path + w->root;
	struct inode *i = find_inode(c, st->st_ino);
	char dir[PATH];

	if (S_ISDIR(st->st_mode)) {
		snprintf(dir, sizeof dir, "%s/", name);
		assert(c->ndirs < DIRS);
		c->dirs[c->ndirs].name = strdup(dir);
		c->dirs[c->ndirs++].ino = st->st_ino;
		each_in(path, add_one, w);
		return;
	}
	if (!i) {
		i = new_inode(c, st->st_ino);
		read_file(c->dir, name, &i->disc.p, &i->disc.n);
	}
	assert(S_ISREG(st->st_mode) && c->nnames < NAMES);
	c->disc[c->nnames].name = strdup(name);
	c->disc[c->nnames++].inode = i;
}

struct crashio *crashio_new(const char *path)
{
	struct crashio *c = calloc(1, sizeof *c);
	struct walk w = { c, strlen(path) + 1 };
	struct stat st;

	assert(c);
	c->dir = open(path, O_RDONLY | O_DIRECTORY);
	c->space = UINT64_MAX;
	assert(!fstat(c->dir, &st));
	c->dirs[0].name = strdup("");
	c->dirs[c->ndirs++].ino = st.st_ino;
	each_in(path, add_one, &w);
	return c;
}

static void forget_ops(struct inode *i)
{
	for (size_t k = 0; k < i->nops; k++)
		free(i->op[k].bytes);
	free(i->op);
	i->op = NULL;
	i->nops = 0;
}

static void free_dir_op(struct dir_op *op)
{
	free(op->from);
	free(op->to);
}

static void forget_dir_ops(struct crashio *c)
{
	for (size_t k = 0; k < c->nops; k++)
		free_dir_op(&c->op[k]);
	free(c->op);
	c->op = NULL;
	c->nops = 0;
}

void crashio_free(struct crashio *c)
{
	struct inode *next;

	for (struct inode *i = c->inodes; i; i = next) {
		next = i->next;
		forget_ops(i);
		free(i->disc.p);
		free(i);
	}
	for (size_t k = 0; k < c->nnames; k++)
		free(c->disc[k].name);
	for (unsigned k = 0; k < c->ndirs; k++)
		free(c->dirs[k].name);
	forget_dir_ops(c);
	close(c->dir);
	free(c);
}

void crashio_die(struct crashio *c, unsigned step)
{
	c->die = step;
	c->steps = 0;
}

void crashio_fail(struct crashio *c, unsigned step, int error)
{
	c->fail = step;
	c->error = error;
	c->steps = 0;
}

void crashio_no_links(struct crashio *c) { c->no_links = true; }
void crashio_space(struct crashio *c, uint64_t free_bytes) { c->space = free_bytes; }
unsigned crashio_steps(const struct crashio *c) { return c->steps; }
unsigned crashio_syncs(const struct crashio *c) { return c->syncs; }
uint64_t crashio_written(const struct crashio *c) { return c->written; }

/* ---- the calls ---- */

static int step(struct crashio *c)
{
	c->steps++;
	if (c->die && c->steps >= c->die)
		return -EIO;
	return c->fail && c->steps == c->fail ? c->error : 0;
}

static void add_op(struct inode *i, bool cut, uint64_t at, const void *p, size_t n)
{
	struct op *op;

	assert(i);
	i->op = realloc(i->op, (i->nops + 1) * sizeof *op);
	assert(i->op);
	op = &i->op[i->nops++];
	*op = (struct op){ cut, at, n, malloc(n + 1) };
	assert(op->bytes);
	if (n)
		memcpy(op->bytes, p, n);
}

static char *whole(const struct crashio *c, unsigned dir, const char *name)
{
	char path[PATH];

	snprintf(path, sizeof path, "%s%s", c->dirs[dir].name, name);
	return strdup(path);
}

static struct dir_op *add_dir_op(struct crashio *c, enum change change, int dirfd, const char *name,
				 struct inode *inode)
{
	unsigned dir = dir_of(c, dirfd);

	assert(inode);
	c->op = realloc(c->op, (c->nops + 1) * sizeof *c->op);
	assert(c->op);
	c->op[c->nops] = (struct dir_op){ change, whole(c, dir, name), NULL, inode, dir, false };
	return &c->op[c->nops++];
}

static int crash_openat(void *ctx, int dirfd, const char *path, int flags, mode_t mode)
{
	struct crashio *c = ctx;
	struct inode *there = of_name(c, dirfd, path);
	int fd, rc = step(c);
	struct stat st;

	if (rc)
		return rc;
	fd = io_system.openat(NULL, dirfd, path, flags, mode);
	if (fd < 0)
		return fd;
	assert(!fstat(fd, &st));
	if (!there)
		add_dir_op(c, LINK, dirfd, path, new_inode(c, st.st_ino));
	else if (flags & O_TRUNC)
		add_op(there, true, 0, NULL, 0);
	return fd;
}

static ssize_t crash_pwrite(void *ctx, int fd, const void *p, size_t n, uint64_t at)
{
	struct crashio *c = ctx;
	ssize_t done = step(c);

	if (done)
		return done;
	done = io_system.pwrite(NULL, fd, p, n, at);
	if (done > 0) {
		add_op(of_fd(c, fd), false, at, p, (size_t)done);
		c->written += (size_t)done;
	}
	return done;
}

static int crash_ftruncate(void *ctx, int fd, uint64_t size)
{
	struct crashio *c = ctx;
	int rc = step(c);

	if (!rc)
		rc = io_system.ftruncate(NULL, fd, size);
	if (!rc)
		add_op(of_fd(c, fd), true, size, NULL, 0);
	return rc;
}

static int crash_fallocate(void *ctx, int fd, uint64_t at, uint64_t n)
{
	struct crashio *c = ctx;
	int rc = step(c);

	return rc ? rc : io_system.fallocate(NULL, fd, at, n);
}

static int crash_space(void *ctx, int dirfd, uint64_t *bytes)
{
	struct crashio *c = ctx;

	(void)dirfd;
	*bytes = c->space;
	return 0;
}

static int crash_renameat(void *ctx, int fromdir, const char *from, int todir, const char *to)
{
	struct crashio *c = ctx;
	struct inode *i = of_name(c, fromdir, from), *there = of_name(c, todir, to);
	int rc = step(c);

	if (!rc)
		rc = io_system.renameat(NULL, fromdir, from, todir, to);
	if (rc || i == there)                  /* two names of one file: nothing happens */
		return rc;
	if (dir_of(c, fromdir) == dir_of(c, todir)) {
		add_dir_op(c, RENAME, fromdir, from, i)->to = whole(c, dir_of(c, todir), to);
	} else {
		add_dir_op(c, LINK, todir, to, i);
		add_dir_op(c, UNLINK, fromdir, from, i)->after = true;
	}
	return 0;
}

static int crash_linkat(void *ctx, int fromdir, const char *from, int todir, const char *to)
{
	struct crashio *c = ctx;
	struct inode *i = of_name(c, fromdir, from);
	int rc = step(c);

	if (!rc)
		rc = c->no_links ? -EPERM : io_system.linkat(NULL, fromdir, from, todir, to);
	if (!rc)
		add_dir_op(c, LINK, todir, to, i);
	return rc;
}

static int crash_unlinkat(void *ctx, int dirfd, const char *path)
{
	struct crashio *c = ctx;
	struct inode *i = of_name(c, dirfd, path);
	int rc = step(c);

	if (!rc)
		rc = io_system.unlinkat(NULL, dirfd, path);
	if (!rc)
		add_dir_op(c, UNLINK, dirfd, path, i);
	return rc;
}

static int crash_close(void *ctx, int fd)
{
	(void)ctx;
	return io_system.close(NULL, fd);
}

/* ---- what the disc holds ---- */

struct dice { uint64_t state; };

static bool toss(struct dice *d)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return d->state >> 63;
}

struct content { uint8_t *p; size_t n; };

static void set_size(struct content *b, uint64_t size)
{
	b->p = realloc(b->p, (size_t)size + 1);
	assert(b->p);
	if (size > b->n)
		memset(b->p + b->n, 0, (size_t)size - b->n);
	b->n = (size_t)size;
}

static void put(struct content *b, uint64_t at, const uint8_t *p, size_t n)
{
	if (at + n > b->n)
		set_size(b, at + n);
	memcpy(b->p + at, p, n);
}

static void put_sectors(struct content *b, const struct op *op, struct dice *dice)
{
	for (size_t done = 0, part; done < op->n; done += part) {
		part = SECTOR - (op->at + done) % SECTOR;
		part = part < op->n - done ? part : op->n - done;
		if (toss(dice))
			put(b, op->at + done, op->bytes + done, part);
	}
}

static struct content content(const struct inode *i, enum crash how, struct dice *dice)
{
	struct content b = { 0 };

	set_size(&b, i->disc.n);
	if (i->disc.n)
		memcpy(b.p, i->disc.p, i->disc.n);
	for (size_t k = 0; k < i->nops; k++) {
		const struct op *op = &i->op[k];

		if (how == CRASH_TORN && !op->cut)
			put_sectors(&b, op, dice);
		else if (how == CRASH_KEPT || (how != CRASH_LOST && toss(dice))) {
			if (op->cut)
				set_size(&b, op->at);
			else
				put(&b, op->at, op->bytes, op->n);
		}
	}
	return b;
}

struct names { struct { const char *name; struct inode *inode; } v[NAMES]; size_t n; };

static void set_name(struct names *n, const char *name, struct inode *inode)
{
	size_t i = 0;

	while (i < n->n && strcmp(n->v[i].name, name))
		i++;
	if (i == n->n) {
		if (!inode)
			return;
		assert(n->n < NAMES);
		n->n++;
	}
	n->v[i].name = name;
	n->v[i].inode = inode;
	if (!inode)
		n->v[i] = n->v[--n->n];
}

static void do_dir_op(struct names *n, const struct dir_op *op)
{
	set_name(n, op->from, op->change == LINK ? op->inode : NULL);
	if (op->change == RENAME)
		set_name(n, op->to, op->inode);
}

static struct names names(const struct crashio *c, enum crash how, struct dice *dice)
{
	struct names n = { 0 };
	bool more = true, before = false;

	for (size_t i = 0; i < c->nnames; i++)
		set_name(&n, c->disc[i].name, c->disc[i].inode);
	for (size_t i = 0; i < c->nops && how != CRASH_LOST; i++) {
		if (how == CRASH_TORN)         /* a file system that keeps the order */
			more = more && toss(dice);
		else if (how == CRASH_SOME)
			more = toss(dice) && (!c->op[i].after || before);
		if (more)
			do_dir_op(&n, &c->op[i]);
		before = more;
	}
	return n;
}

void crashio_crash(struct crashio *c, const char *to, enum crash how, unsigned seed)
{
	struct dice dice = { seed * 2654435761u + 12345 };
	struct names n = names(c, how, &dice);
	int dir = open(to, O_RDONLY | O_DIRECTORY);

	assert(dir >= 0);
	empty_dir(to);
	for (unsigned i = 1; i < c->ndirs; i++)
		assert(!mkdirat(dir, c->dirs[i].name, 0700));
	for (size_t i = 0; i < n.n; i++) {
		struct content b;
		size_t k = 0;

		while (n.v[k].inode != n.v[i].inode)
			k++;
		if (k < i) {
			assert(!linkat(dir, n.v[k].name, dir, n.v[i].name, 0));
			continue;
		}
		b = content(n.v[i].inode, how, &dice);
		write_file(dir, n.v[i].name, b.p, b.n);
		free(b.p);
	}
	close(dir);
}

static void sync_file(struct inode *i)
{
	struct dice none = { 0 };
	struct content b = content(i, CRASH_KEPT, &none);

	free(i->disc.p);
	i->disc.p = b.p;
	i->disc.n = b.n;
	forget_ops(i);
}

/* Only the names in that directory, and a name that left it only if it is where it went to. */
static void sync_dir(struct crashio *c, unsigned dir)
{
	struct names n = { 0 };
	size_t left = 0;
	bool kept = false;

	for (size_t i = 0; i < c->nnames; i++)
		set_name(&n, c->disc[i].name, c->disc[i].inode);
	for (size_t i = 0; i < c->nops; i++) {
		c->op[i].after = c->op[i].after && kept;
		kept = c->op[i].dir != dir || c->op[i].after;
		if (!kept)
			do_dir_op(&n, &c->op[i]);
	}
	for (size_t i = 0; i < n.n; i++)
		n.v[i].name = strdup(n.v[i].name);
	for (size_t i = 0; i < c->nnames; i++)
		free(c->disc[i].name);
	for (size_t i = 0; i < n.n; i++) {
		c->disc[i].name = (char *)n.v[i].name;
		c->disc[i].inode = n.v[i].inode;
	}
	c->nnames = n.n;
	for (size_t i = 0; i < c->nops; i++)
		if (c->op[i].dir != dir || c->op[i].after)
			c->op[left++] = c->op[i];
		else
			free_dir_op(&c->op[i]);
	c->nops = left;
}

static int crash_fsync(void *ctx, int fd)
{
	struct crashio *c = ctx;
	struct inode *i = of_fd(c, fd);
	struct stat st;
	int rc = step(c);

	if (rc)
		return rc;
	c->syncs++;
	assert(!fstat(fd, &st));
	if (S_ISDIR(st.st_mode))
		sync_dir(c, dir_of(c, fd));
	else
		sync_file(i);
	return 0;
}

const struct io_ops crashio_ops = {
	.openat = crash_openat, .pwrite = crash_pwrite, .fsync = crash_fsync, .ftruncate = crash_ftruncate,
	.fallocate = crash_fallocate, .space = crash_space, .renameat = crash_renameat, .linkat = crash_linkat,
	.unlinkat = crash_unlinkat, .close = crash_close,
};
