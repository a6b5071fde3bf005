#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bytes.h"

#define CHANGES_MOST 24u

char dir[64];
bool keeps_journal;

void in_dir(char path[400], const char *name)
{
	snprintf(path, 400, "%s/%s", dir, name);
}

/* ---- files ---- */

void forget(struct files *f)
{
	for (unsigned i = 0; i < f->n; i++)
		buf_free(&f->v[i].bytes);
	f->n = 0;
}

struct file *find(struct files *f, const char *name)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].name, name))
			return &f->v[i];
	return NULL;
}

struct file *add(struct files *f, const char *name, const void *p, size_t n)
{
	struct file *file = find(f, name);

	if (!file) {
		if (f->n == FILES_MOST)
			abort();
		file = &f->v[f->n++];
		*file = (struct file){ .size = 0 };
		snprintf(file->name, sizeof file->name, "%s", name);
	}
	buf_free(&file->bytes);
	buf_add(&file->bytes, p, n);
	file->size = n;
	return file;
}

static void each_below(const char *sub, void (*fn)(void *ctx, const char *name), void *ctx)
{
	char path[400];
	struct dirent *e;
	DIR *d;

	in_dir(path, sub);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char name[NAME_MAX + 8];

		snprintf(name, sizeof name, "%s%s", sub, e->d_name);
		if (e->d_type != DT_DIR)
			fn(ctx, name);
	}
	if (d)
		closedir(d);
}

static void each_name(void (*fn)(void *ctx, const char *name), void *ctx)
{
	each_below("", fn, ctx);
	each_below("s/", fn, ctx);
}

static void remove_file(void *ctx, const char *name)
{
	char path[400];

	(void)ctx;
	in_dir(path, name);
	unlink(path);
}

static void clean_up(void)
{
	char path[400];

	each_name(remove_file, NULL);
	in_dir(path, "s");
	rmdir(path);
	rmdir(dir);
}

void make_dir(void)
{
	char path[400];

	snprintf(dir, sizeof dir, "/dev/shm/modelfs-fuzz-XXXXXX");
	if (!mkdtemp(dir)) {
		snprintf(dir, sizeof dir, "/tmp/modelfs-fuzz-XXXXXX");
		if (!mkdtemp(dir))
			abort();
	}
	in_dir(path, "s");
	mkdir(path, 0700);
	atexit(clean_up);
}

static void read_file(void *ctx, const char *name)
{
	static uint8_t room[SEEN];
	char path[400];
	struct stat st;
	ssize_t n;
	int fd;

	in_dir(path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 || fstat(fd, &st) ? -1 : read(fd, room, sizeof room);
	if (n < 0)
		abort();
	close(fd);
	add(ctx, name, room, (size_t)n)->size = (uint64_t)st.st_size;
}

struct files look(void)
{
	struct files f = { .n = 0 };

	each_name(read_file, &f);
	return f;
}

void put_files(const struct files *f)
{
	char path[400];

	each_name(remove_file, NULL);
	for (unsigned i = 0; i < f->n; i++) {
		const struct buf *b = &f->v[i].bytes;
		int fd;

		in_dir(path, f->v[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || (b->len && write(fd, b->p, b->len) != (ssize_t)b->len))
			abort();
		close(fd);
	}
}

bool same(const struct file *a, const struct file *b)
{
	return a && b && a->size == b->size && a->bytes.len == b->bytes.len &&
	       (!a->bytes.len || !memcmp(a->bytes.p, b->bytes.p, a->bytes.len));
}

/* ---- calls ---- */

/* The clock of a file goes in steps of some milliseconds, for which a commit waits so that others see it; here it goes
 * with every write. */
static void tick(int fd)
{
	static long now;
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000 + ++now } };

	futimens(fd, t);
}

static ssize_t write_ticking(void *ctx, int fd, const void *p, size_t n, uint64_t at)
{
	ssize_t done = io_system.pwrite(ctx, fd, p, n, at);

	tick(fd);
	return done;
}

static int truncate_ticking(void *ctx, int fd, uint64_t size)
{
	int rc = io_system.ftruncate(ctx, fd, size);

	tick(fd);
	return rc;
}

static int unlink_some(void *ctx, int dirfd, const char *path)
{
	return keeps_journal && strstr(path, "-journal") ? -EIO : io_system.unlinkat(ctx, dirfd, path);
}

/* A file that was made long would be written down whole when it is cut again. */
static int little_space(void *ctx, int dirfd, uint64_t *bytes)
{
	(void)ctx;
	(void)dirfd;
	*bytes = 1 << 20;
	return 0;
}

const struct io_ops *ticking(void)
{
	static struct io_ops io;

	io = io_system;
	io.pwrite = write_ticking;
	io.ftruncate = truncate_ticking;
	io.unlinkat = unlink_some;
	io.space = little_space;
	return &io;
}

/* ---- bytes ---- */

uint64_t get64(const uint8_t *p)
{
	return le_u32(p) | (uint64_t)le_u32(p + 4) << 32;
}

void fix(struct buf *b)
{
	uint64_t len;

	for (size_t at = 0; at + HEAD <= b->len; at += (size_t)len) {
		uint8_t *p = b->p + at;

		len = get64(p + 16);
		if (len < HEAD || len > b->len - at)
			len = b->len - at;
		put_le32(p + 116, (uint32_t)crc32_z(0, p + HEAD, (size_t)len - HEAD));
		put_le32(p + 120, (uint32_t)crc32_z(0, p, 120));
	}
}

void change(struct files *f, const uint8_t *p, size_t n)
{
	for (unsigned i = 0; i < CHANGES_MOST && n >= 5 && f->n; i++) {
		struct file *file = &f->v[p[0] % f->n];
		struct buf *b = &file->bytes, out = { 0 };
		size_t at = b->len ? (size_t)(p[2] | p[3] << 8) % b->len : 0, len = p[4] < n - 5 ? p[4] : n - 5;
		size_t over = b->len - at < len ? b->len - at : len;

		switch (p[1] % 4) {
		case 0:
			if (over)
				memcpy(b->p + at, p + 5, over);
			break;
		case 1:
			b->len = at;
			break;
		case 2:
			buf_add(b, p + 5, len);
			break;
		default:                       /* out of the middle, or into it */
			buf_add(&out, b->p, at);
			buf_add(&out, p + 5, len % 2 ? len : 0);
			if (b->len > at + (len % 2 ? 0 : over))
				buf_add(&out, b->p + at + (len % 2 ? 0 : over), b->len - at - (len % 2 ? 0 : over));
			buf_free(b);
			*b = out;
		}
		file->size = b->len;
		p += 5 + len;
		n -= 5 + len;
	}
}

void expect_unchanged(struct files *was)
{
	struct files now = look();

	if (now.n != was->n)
		abort();
	for (unsigned i = 0; i < now.n; i++)
		if (!same(&now.v[i], find(was, now.v[i].name)))
			abort();
	forget(&now);
}

bool records_fit(const struct buf *j, uint64_t at, uint64_t len, uint64_t n, const struct buf *file)
{
	for (uint64_t i = n; i; i--) {
		uint64_t nnew, nold, to;
		const uint8_t *p, *old;

		if (at > len || len - at < 24)
			return false;
		p = j->p + at;
		nnew = le_u32(p + 4);
		nold = le_u32(p + 8);
		to = get64(p + 16);
		if (nnew + nold > len - at - 24)
			return false;
		old = p + 24 + nnew;
		for (uint64_t k = 0; k < nold && to + k < file->len; k++) {
			uint8_t is = file->p[to + k];

			if (is != old[k] && (k >= nnew || is != p[24 + k]))
				return false;
		}
		at += 24 + nnew + nold;
	}
	return true;
}

bool is_whole(const struct buf *j)
{
	uint64_t len = j->len < HEAD ? 0 : get64(j->p + 16);

	return len >= HEAD && len <= j->len && !memcmp(j->p, "modelfsJ", 8) &&
	       le_u32(j->p + 120) == crc32_z(0, j->p, 120) &&
	       le_u32(j->p + 116) == crc32_z(0, j->p + HEAD, (size_t)len - HEAD);
}
